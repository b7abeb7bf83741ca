"""``context_parallel``: each process has a part of the sequence, and attention is over all of it.

Keys and values are gathered, queries stay where they are. Gradients of keys and values come back by
the transposed collective.
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jtorch as torch
import jtorch.nn.functional as F
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.backends import mha

from ..._done_collectives import all_gather_tensor

if TYPE_CHECKING:
    from ...._src.facts.kinds import Function, Values


__all__ = [
    "_HeadTailLoadBalancer",
    "_context_parallel_shard",
    "context_parallel",
    "context_parallel_unshard",
    "set_rotate_method",
]


class _RotateMethod(enum.Enum):
    """How keys and values come to all processes; one collective gathers them here, whichever is
    asked for."""

    ALL_TO_ALL = enum.auto()
    ALL_GATHER = enum.auto()


@dataclass
class _Options:
    convert_to_f32: bool = True
    enable_load_balance: bool = True
    rotate_method: _RotateMethod = _RotateMethod.ALL_GATHER


_cp_options = _Options()


class _HeadTailLoadBalancer:
    """Gives each process a stretch of the sequence and the one as far from its end: with a causal
    mask all have as much to do.

    Args:
        seq_length: how long the whole sequence is, a multiple of twice the number of processes.
        world_size: how many processes there are.
        device: where the indices are made.

    Raises:
        ValueError: for another length.
    """

    def __init__(self, seq_length: int, world_size: int, device: Any) -> None:
        if seq_length % (2 * world_size):
            raise ValueError(
                f"a sequence of {seq_length} cannot be cut into {2 * world_size} equal stretches"
            )
        self.seq_length, self.world_size, self.device = seq_length, world_size, device

    def _generate_indices(self, restore: bool = False) -> torch.Tensor:
        """The places in the sequence of what the processes have, in their order; with ``restore``
        the inverse. Shape ``(1, length)``."""
        stretches = torch.arange(self.seq_length, device=self.device).chunk(2 * self.world_size)
        pairs = zip(
            stretches[: self.world_size], reversed(stretches[self.world_size :]), strict=True
        )
        order = torch.cat([t for pair in pairs for t in pair])
        return (order.argsort() if restore else order).unsqueeze(0)


def _balancer(length: int, mesh: Any, device: object) -> _HeadTailLoadBalancer | None:
    balanced = _cp_options.enable_load_balance and length % (2 * mesh.size()) == 0
    return _HeadTailLoadBalancer(length, mesh.size(), device) if balanced else None


def _context_parallel_shard(
    mesh: Any,
    buffers: Sequence[torch.Tensor],
    seq_dims: Sequence[int],
    load_balancer: _HeadTailLoadBalancer | None = None,
) -> Values:
    """This process's parts of tensors that all have, along their dimensions of the sequence."""
    found = []
    for buffer, dim in zip(buffers, seq_dims, strict=True):
        if not isinstance(buffer, torch.Tensor):
            raise not_offered(
                "context_parallel of a BlockMask", "flex_attention is not among what it spreads"
            )
        if load_balancer is not None:
            buffer = buffer.index_select(
                dim, load_balancer._generate_indices()[0].to(buffer.device)
            )
        parts = buffer.chunk(mesh.size(), dim)
        if len(parts) != mesh.size():
            raise ValueError(
                f"a sequence of {buffer.shape[dim]} has no part for each of {mesh.size()} processes"
            )
        found.append(parts[mesh.get_local_rank()])
    return found


def _attention(mesh: Any, plain: Function) -> Callable[..., torch.Tensor]:
    """The function that stands for ``scaled_dot_product_attention`` while a block is entered."""

    def scaled_dot_product_attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: object = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if attn_mask is not None:
            raise not_offered(
                "scaled_dot_product_attention(attn_mask=) in context_parallel",
                "each process has a part of the sequence; use is_causal",
            )
        if is_causal and query.shape[-2] != key.shape[-2]:
            raise ValueError("in context_parallel is_causal wants as many queries as keys")
        whole_key, whole_value = (
            all_gather_tensor(t.contiguous(), t.dim() - 2, mesh) for t in (key, value)
        )
        mask = None
        if is_causal:
            length = whole_key.shape[-2]
            places = torch.arange(length, device=query.device)
            balancer = _balancer(length, mesh, query.device)
            if balancer is not None:
                places = balancer._generate_indices()[0]
            mine = places.chunk(mesh.size())[mesh.get_local_rank()]
            mask = mine.unsqueeze(1) >= places
        return plain(
            query,
            whole_key,
            whole_value,
            attn_mask=mask,
            dropout_p=dropout_p,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    return scaled_dot_product_attention


def _multi_head(plain: Callable[..., object]) -> Any:
    """The function that stands for ``multi_head_attention_forward`` while a block is entered:
    weights would be those of the part alone."""

    @functools.wraps(plain)
    def multi_head_attention_forward(*args: object, **kwargs: object) -> Any:
        if signature.bind(*args, **kwargs).arguments.get("need_weights", True):
            raise not_offered(
                "MultiheadAttention(need_weights=True) in context_parallel",
                "no process has all weights; use need_weights=False",
            )
        return plain(*args, **kwargs)

    signature = inspect.signature(plain)
    return multi_head_attention_forward


@contextmanager
def context_parallel(
    mesh: object,
    *,
    buffers: list[torch.Tensor] | None = None,
    buffer_seq_dims: list[int] | None = None,
    no_restore_buffers: set[torch.Tensor] | None = None,
) -> Iterator[None]:
    """A block in which tensors have this process's part of the sequence, and attention is over the
    whole sequence.

    ``torch.nn.functional.scaled_dot_product_attention`` is another function in it, with gradients:
    queries, keys and values ``(..., length of the part, features)`` give this process's part of the
    result. A part is a stretch from the beginning and one from the end where the length allows it,
    so that causal masks cost all processes as much. Modules of attention call it too, without their
    shorter way of inference, which PyTorch leaves to attend to the part alone.

    Args:
        mesh: the processes, a mesh of one dimension.
        buffers: tensors that all processes have whole; changed in place, and restored at the end.
        buffer_seq_dims: the dimension of the sequence of each.
        no_restore_buffers: those that need not be restored.

    Raises:
        ValueError: if lists do not fit, or a sequence is shorter than the mesh.
        NotImplementedError: in the block, for attention with a mask, and for modules that are asked
            for weights.
    """
    buffers, dims, left = buffers or [], buffer_seq_dims or [], no_restore_buffers or set()
    if len(buffers) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    if not all(any(b is buffer for b in buffers) for buffer in left):
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    before = [None if any(b is buffer for buffer in left) else b.detach().clone() for b in buffers]
    balancer = _balancer(buffers[0].shape[dims[0]], mesh, buffers[0].device) if buffers else None
    if any(b.shape[dim] != buffers[0].shape[dims[0]] for b, dim in zip(buffers, dims, strict=True)):
        raise ValueError("the sequences of `buffers` must be equally long")
    _replace(
        buffers,
        [t.detach().clone() for t in _context_parallel_shard(mesh, buffers, dims, balancer)],
    )
    plain, multi_head, shorter = (
        F.scaled_dot_product_attention,
        F.multi_head_attention_forward,
        mha.get_fastpath_enabled(),
    )
    balanced, _cp_options.enable_load_balance = (
        _cp_options.enable_load_balance,
        balancer is not None or not buffers,
    )
    F.scaled_dot_product_attention, F.multi_head_attention_forward = (
        _attention(mesh, plain),
        _multi_head(multi_head),
    )
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        F.scaled_dot_product_attention, F.multi_head_attention_forward = plain, multi_head
        mha.set_fastpath_enabled(shorter)
        _cp_options.enable_load_balance = balanced
        _replace(buffers, before)


def _replace(buffers: Sequence[Any], others: Sequence[Any]) -> None:
    with torch.no_grad():
        for buffer, other in zip(buffers, others, strict=True):
            if other is not None:
                buffer.resize_(other.shape)
                buffer.copy_(other)


@torch.no_grad()
def context_parallel_unshard(
    mesh: Any, buffers: list[torch.Tensor], seq_dims: list[int], load_balancer: Any = None
) -> list[torch.Tensor]:
    """The whole tensors of which the processes have parts, without history.

    Args:
        mesh: the processes.
        buffers: this process's parts.
        seq_dims: the dimension of the sequence of each.
        load_balancer: how parts were chosen; as ``context_parallel`` does if it is None.
    """
    found = []
    for part, dim in zip(buffers, seq_dims, strict=True):
        whole = all_gather_tensor(part.contiguous(), dim, mesh)
        balancer = load_balancer or _balancer(whole.shape[dim], mesh, whole.device)
        found.append(
            whole
            if balancer is None
            else whole.index_select(dim, balancer._generate_indices(restore=True)[0])
        )
    return found


def set_rotate_method(rotate_method: str) -> None:
    """Says how keys and values come to all processes: ``"allgather"`` or ``"alltoall"``, of the
    same result.

    Raises:
        NotImplementedError: for another name.
    """
    known = {"allgather": _RotateMethod.ALL_GATHER, "alltoall": _RotateMethod.ALL_TO_ALL}
    if rotate_method not in known:
        raise NotImplementedError(
            f"Context Parallel does not support using {rotate_method} for kv shards rotation"
        )
    _cp_options.rotate_method = known[rotate_method]


__getattr__ = _refusals.missing(__name__)
