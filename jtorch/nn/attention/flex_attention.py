"""Attention whose scores a function changes and whose mask a function describes; masks by blocks.

``score_mod(score, batch, head, q, kv)`` and ``mask_mod(batch, head, q, kv)`` are written for one
element; they are called once, with tensors that broadcast to all elements.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import jtorch as torch
from jtorch import Tensor
from jtorch.utils import _pytree as pytree

from ...types import Device

if TYPE_CHECKING:
    from ..._src.facts.kinds import Row


__all__ = ["BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions",
           "create_block_mask", "create_mask", "or_masks",
           "and_masks", "noop_mask"]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128
#: The size of a block that is everything.
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30
_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class FlexKernelOptions(TypedDict, total=False):
    """Sizes and choices of PyTorch's GPU kernels: accepted, since XLA makes its own."""

    BACKEND: str


class AuxRequest(NamedTuple):
    """What ``flex_attention`` is to return besides the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an ``AuxRequest``."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that masks nothing."""
    del head, token_q, token_kv
    return batch.new_ones(size=(), dtype=torch.bool)


def _callables(mask_mods: tuple[Callable[..., object], ...]) -> None:
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def or_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """The mask that shows what any of the masks shows."""
    _callables(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """The mask that shows what all of the masks show."""
    _callables(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _indices(sizes: tuple[int, int, int, int], device: Device) -> list[Tensor]:
    """Batch, head, query and key numbers, each along its own axis of four."""
    found = []
    for axis, n in enumerate(sizes):
        shape = [1, 1, 1, 1]
        shape[axis] = n
        found.append(torch.arange(n, device=device).view(shape))
    return found


def _takes_scores(mod_fn: Callable[..., object]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(
        p.kind in kinds and p.default is p.empty
        for p in inspect.signature(mod_fn).parameters.values()
    )
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Device = None
) -> Tensor:
    """The mask ``(B, H, Q_LEN, KV_LEN)`` that a ``mask_mod`` describes (a ``score_mod``: where
    scores of 0 stay above minus infinity)."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    takes_scores = _takes_scores(mod_fn)
    b, h, q, kv = _indices(shape, device)
    if takes_scores:
        scores = mod_fn(torch.zeros(shape, device=device), b, h, q, kv)
        return (~torch.isneginf(scores)).expand(shape).contiguous()
    return mod_fn(b, h, q, kv).to(torch.bool).expand(shape).contiguous()


def _cdiv(n: int, k: int) -> int:
    return -(-n // k)


def _to_dense(num_blocks: Tensor, indices: Tensor) -> Tensor:
    """Which blocks ordered lists name."""
    columns = indices.shape[-1]
    named = torch.arange(columns, device=indices.device, dtype=torch.int32) < num_blocks[..., None]
    dense = torch.zeros(*indices.shape[:-1], columns + 1, dtype=torch.int32, device=indices.device)
    where = torch.where(named, indices, columns).long()
    return dense.scatter(-1, where, torch.ones_like(where, dtype=torch.int32))[
        ..., :columns
    ].contiguous()


def _to_ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks each row has, and which, followed by those that it has not."""
    dense = dense.to(torch.int32)
    return dense.sum(dim=-1).to(torch.int32), torch.argsort(
        dense, dim=-1, descending=True, stable=True
    ).to(torch.int32).contiguous()


_FIELDS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
           "q_indices", "full_q_num_blocks",
           "full_q_indices")  # fmt: skip


class BlockMask:
    """A mask as lists of blocks: those that are shown in part (``kv_indices``), and those shown
    whole (``full_kv_indices``)."""

    _TENSOR_ATTRS = _FIELDS
    _CONTEXT_ATTRS = ("seq_lengths", "BLOCK_SIZE", "mask_mod")

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: _mask_mod_signature = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: _mask_mod_signature | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from its lists of key blocks for each query block."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        q: tuple[Any, Any] = (None, None)
        full_q = (None, None)
        if compute_q_blocks:
            q = _to_ordered(_to_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                full_q = _to_ordered(
                    _to_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1)  # type: ignore[arg-type]
                )
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q,
            *full_q, BLOCK_SIZE=size, mask_mod=noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All that the mask is made of."""
        sizes: Row = (*self.seq_lengths,) if flatten else (self.seq_lengths,)
        blocks = (*self.BLOCK_SIZE,) if flatten else (self.BLOCK_SIZE,)
        return (*sizes, *[getattr(self, n) for n in _FIELDS], *blocks, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many elements the mask has."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How much of the mask needs no computation, in percent."""
        computed = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            computed += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - computed * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """Which blocks are shown at all, as ``(B, H, query blocks, key blocks)``."""
        dense = _to_dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            dense = dense | _to_dense(self.full_kv_num_blocks, self.full_kv_indices)  # type: ignore[arg-type]
        return dense

    def __getitem__(self, index: Any) -> BlockMask:
        index = index if isinstance(index, tuple) else (index,)
        # A number keeps its axis, so that the result is a mask still.
        index = tuple([slice(i, i + 1 or None) if isinstance(i, int) else i for i in index])
        parts = [None if getattr(self, n) is None else getattr(self, n)[index] for n in _FIELDS[:4]]
        return BlockMask.from_kv_blocks(
            *parts,  # type: ignore[arg-type]
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=self.seq_lengths,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask's upper left corner, of another size."""
        rows, columns = _cdiv(new_q_len, self.BLOCK_SIZE[0]), _cdiv(new_kv_len, self.BLOCK_SIZE[1])

        def cut(num: Tensor | None, indices: Tensor | None) -> tuple[Any, Any]:
            if num is None or indices is None:
                return None, None
            return num[:, :, :rows].clamp(max=columns), indices[:, :, :rows, :columns]

        partly, full = (
            cut(self.kv_num_blocks, self.kv_indices),
            cut(self.full_kv_num_blocks, self.full_kv_indices),
        )
        lengths = (new_q_len, new_kv_len)
        return BlockMask.from_kv_blocks(
            *partly, *full, self.BLOCK_SIZE, self.mask_mod, seq_lengths=lengths
        )

    def to(self, device: Device) -> BlockMask:
        """The mask with its lists on a device."""
        parts = [None if getattr(self, n) is None else getattr(self, n).to(device) for n in _FIELDS]
        return BlockMask(
            self.seq_lengths,
            *parts,  # type: ignore[arg-type]
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture: what is shown, shown in part, and not shown."""
        dense = self.to_dense()
        while dense.dim() < 4:
            dense = dense[None]
        *batches, rows, columns = dense.shape
        if isinstance(grid_size, int):
            grid_size = (rows, columns) if grid_size == -1 else (grid_size, grid_size)
        down, across = (
            _cdiv(rows, min(grid_size[0], rows)),
            _cdiv(columns, min(grid_size[1], columns)),
        )
        pictures = []
        cells = dense.float().tolist()
        for b in range(batches[0]):
            for h in range(batches[1]):
                if len(pictures) == limit:
                    more = "...\nTo print out more, set BlockMask.to_string(limit=N)\n"
                    pictures.append(
                        more
                        + (
                            "You can also index (BlockMask[batch, head]) to choose a specific "
                            "batch or head"
                        )
                    )
                    return "\n\n".join(pictures)
                lines = []
                for i in range(0, rows, down):
                    line = ""
                    for j in range(0, columns, across):
                        part = [x for row in cells[b][h][i : i + down] for x in row[j : j + across]]
                        shown = sum(part) / len(part)
                        line += "██" if shown == 1 else "░░" if shown > 0 else "  "
                    lines.append(line)
                pictures.append(f"({b}, {h})\n" + "\n".join(lines))
        return "\n\n".join(pictures)

    def __repr__(self) -> str:
        lines = [
            f"{n}={'None' if (part := getattr(self, n)) is None else part.shape}" for n in _FIELDS
        ]
        lines += [
            f"BLOCK_SIZE={self.BLOCK_SIZE}",
            f"shape={self.shape}",
            f"sparsity={self.sparsity():.2f}%",
        ]
        lines.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"

    def __str__(self) -> str:
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string()}\n"
            ")"
        )


def _flat(mask: BlockMask) -> tuple[list[Any], Any]:
    return [getattr(mask, n) for n in _FIELDS], (mask.seq_lengths, mask.BLOCK_SIZE, mask.mask_mod)


def _unflat(parts: Any, context: Any) -> BlockMask:
    return BlockMask(context[0], *parts, BLOCK_SIZE=context[1], mask_mod=context[2])


pytree.register_pytree_node(BlockMask, _flat, _unflat)


def create_block_mask(
    mask_mod: _mask_mod_signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Device = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,  # noqa: ARG001 (the order in which a GPU kernel writes)
) -> BlockMask:
    """The ``BlockMask`` of a ``mask_mod``; ``B`` or ``H`` None: the same for all batches or heads.

    Raises:
        TypeError: if ``mask_mod`` cannot be called.
        NotImplementedError: for ``compute_dq_write_order``, which serves a GPU kernel of PyTorch's.
    """
    if not callable(mask_mod):
        raise TypeError(f"{mask_mod} is not a callable object")
    if compute_dq_write_order:
        raise NotImplementedError(
            "create_block_mask(compute_dq_write_order=True): XLA decides in which order gradients "
            "are written"
        )
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = _cdiv(Q_LEN, size[0]), _cdiv(KV_LEN, size[1])
    mask = torch.nn.functional.pad(mask, (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN))
    shown = mask.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum(dim=(3, 5))
    full = shown == size[0] * size[1]
    if separate_full_blocks:
        parts = (*_to_ordered((shown > 0) & ~full), *_to_ordered(full))
    else:
        parts = (*_to_ordered(shown > 0), None, None)
    return BlockMask.from_kv_blocks(
        *parts, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )


def _create_empty_block_mask(query: Tensor, key: Tensor) -> BlockMask:  # noqa: ARG001
    """A ``BlockMask`` of one block that is all queries and keys, and hides nothing."""
    return BlockMask.from_kv_blocks(
        torch.ones(1, 1, 1, dtype=torch.int32, device=query.device),
        torch.zeros(1, 1, 1, 1, dtype=torch.int32, device=query.device),
        BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE,
        seq_lengths=(1, 1),
    )


def _check(
    query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool
) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )  # fmt: skip
    hq, hkv = query.size(1), key.size(1)
    if not enable_gqa and hq != hkv:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={hq} and "
            f"Hkv={hkv}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and hq % hkv:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={hq} "
            f"and Hkv={hkv}."
        )
    if query.size(0) != key.size(0):
        if block_mask is None:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, "
                f"but got block_mask=None, Bq={query.size(0)}, and Bkv={key.size(0)}."
            )
        if block_mask.kv_num_blocks.size(0) != query.size(0):
            raise ValueError(
                "Expect query and key/value to have the same batch size, or block_mask and query "
                f"to have the same batch size, but got Bq={query.size(0)}, Bkv={key.size(0)}, "
                f"B_block_mask={block_mask.kv_num_blocks.size(0)}."
            )
    if block_mask is None or block_mask.BLOCK_SIZE == (_LARGE_SPARSE_BLOCK_SIZE,) * 2:
        return
    q_len, kv_len = query.size(-2), key.size(-2)
    mask_q, mask_kv = block_mask.shape[-2:]
    start = (
        f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={q_len} and "
        f"kv_len={kv_len}. "
    )
    if q_len > mask_q or kv_len > mask_kv:
        raise ValueError(
            start
            + "As the block mask was created for a smaller length than you're using it for, you "
            "likely need to create a new block mask."
        )
    if (q_len < mask_q and kv_len <= mask_kv) or (q_len <= mask_q and kv_len < mask_kv):
        raise ValueError(
            start
            + "As the block mask was created for a larger length than you're using it for, you can "
            "either 1. create a new block mask with the correct length, or 2. 'adjust' the "
            "existing block mask to the correct length by calling block_mask._adjust(q_len, "
            "kv_len). This essentially 'crops' the block mask to the upper left corner, which "
            "does not work for all mask_mods!"
        )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _score_mod_signature | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Tensor | tuple[Tensor, Tensor] | tuple[Tensor, AuxOutput]:
    """``softmax(score_mod(query @ keyᵀ * scale)) @ value``, the softmax over what the mask shows;
    rows that show nothing give zeros.

    Scores are computed as a whole and masked; XLA fuses what it can. ``kernel_options`` concern GPU
    kernels of PyTorch's and have no effect here.

    Shapes: query ``(B, Hq, L, E)``, key ``(B, Hkv, S, E)``, value ``(B, Hkv, S, Ev)`` ->
    ``(B, Hq, L, Ev)``, and with ``return_lse`` the logarithms of the sums of exponentials
    ``(B, Hq, L)``.

    Raises:
        ValueError: for sizes that do not fit.
        NotImplementedError: for tensors of other than 4 dimensions.
    """
    del kernel_options
    _check(query, key, value, block_mask, enable_gqa)
    if query.size(0) != key.size(0):
        key, value = (t.expand(query.size(0), -1, -1, -1) for t in (key, value))
    if enable_gqa and query.size(1) != key.size(1):
        groups = query.size(1) // key.size(1)
        key, value = (t.repeat_interleave(groups, dim=1) for t in (key, value))
    working = torch.float64 if query.dtype is torch.float64 else torch.float32
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)).to(working) * factor
    b, h, q, kv = _indices(tuple(scores.shape), query.device)  # type: ignore[arg-type]
    if score_mod is not None:
        scores = score_mod(scores, b, h, q, kv).expand(scores.shape).to(working)
    if block_mask is not None:
        scores = torch.where(block_mask.mask_mod(b, h, q, kv), scores, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    empty = torch.isneginf(lse)
    weights = torch.exp(scores - lse.masked_fill(empty, 0.0)[..., None])
    out = (weights.to(query.dtype) @ value.to(query.dtype)).to(query.dtype)
    if return_aux is not None:
        largest = scores.amax(dim=-1) if return_aux.max_scores else None
        return out, AuxOutput(lse=lse if return_aux.lse else None, max_scores=largest)
    return (out, lse) if return_lse else out
