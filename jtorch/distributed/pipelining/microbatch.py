"""Batches in parts: how arguments are cut for the passes of a pipeline, and results put together
again."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ...nn.attention.flex_attention import BlockMask
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from ..tensor import DTensor

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


#: Along which dimension what is not described is cut.
DEFAULT_CHUNK_DIM = 0


class _CustomReducer:
    """Combines results of parts: beginning with ``init_value``, ``reduce_fn(so far, next)``."""

    def __init__(self, init_value: torch.Tensor, reduce_fn: Any) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    """One for losses."""


#: Adds up.
sum_reducer = _LossReducer(torch.tensor(0.0), operator.add)


class TensorChunkSpec:
    """Says along which dimension a tensor is cut into parts.

    >>> from jtorch.distributed.pipelining.microbatch import TensorChunkSpec
    >>> TensorChunkSpec.from_tuple((0, 1))[1].split_dim
    1
    """

    split_dim: int

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """Of each number in a tuple, which may hold tuples, one of these."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """Of each number in a dictionary one of these."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Says that each part has the whole value."""


def _is_mask(value: object) -> bool:
    return isinstance(value, BlockMask)


def _is_whole(spec: object) -> bool:
    return spec is _Replicate or isinstance(spec, _Replicate)


def _split_tensor(
    tensor: torch.Tensor, spec: TensorChunkSpec, num_chunks: int
) -> Sequence[torch.Tensor]:
    """The parts of a tensor, as ``tensor_split`` makes them. Of a DTensor the local parts are cut,
    and lie as it does.

    Raises:
        AssertionError: if there are fewer elements along the dimension than parts.
    """
    if tensor.size(spec.split_dim) < num_chunks:
        raise AssertionError(
            f"Tensor size {tensor.size(spec.split_dim)} is smaller than num_chunks"
        )
    parts: Sequence[torch.Tensor]
    if isinstance(tensor, DTensor):
        parts = []
        base, more = divmod(tensor.size(spec.split_dim), num_chunks)
        for i, local in enumerate(
            torch.tensor_split(tensor.to_local(), num_chunks, spec.split_dim)
        ):
            shape = list(tensor.shape)
            shape[spec.split_dim] = base + (i < more)
            parts.append(
                DTensor.from_local(
                    local,
                    tensor.device_mesh,
                    tensor.placements,
                    shape=torch.Size(shape),
                    stride=tensor.stride(),
                    run_check=False,
                )
            )
    else:
        parts = torch.tensor_split(tensor, num_chunks, spec.split_dim)
    if tensor.requires_grad and tensor.is_leaf:
        for part in parts:
            part.retain_grad()
    return parts


def _split_block_mask(mask: BlockMask, num_chunks: int) -> list[BlockMask]:
    """A mask for each part of a batch.

    Raises:
        AssertionError: if there are fewer masks than parts, and more than one.
    """
    count = mask.kv_num_blocks.size(0)
    if count == 1:
        return [mask] * num_chunks
    if count < num_chunks:
        raise AssertionError("Block mask has fewer batch size than the number of chunks. ")

    def cut(t: torch.Tensor | None) -> Sequence[Any]:
        return [None] * num_chunks if t is None else torch.tensor_split(t, num_chunks, 0)

    def later(first: int) -> Any:
        return lambda b, h, q, kv: mask.mask_mod(b + first, h, q, kv)

    made, first = [], 0
    for numbers, indices, whole_numbers, whole_indices in zip(
        cut(mask.kv_num_blocks),
        cut(mask.kv_indices),
        cut(mask.full_kv_num_blocks),
        cut(mask.full_kv_indices),
        strict=True,
    ):
        made.append(
            BlockMask.from_kv_blocks(
                numbers,
                indices,
                whole_numbers,
                whole_indices,
                BLOCK_SIZE=mask.BLOCK_SIZE,
                mask_mod=later(first),
                seq_lengths=mask.seq_lengths,
            )
        )
        first += numbers.size(0)
    return made


def _possible_chunks(value: object, spec: object, wanted: int) -> int:
    """Into how many parts a value can be cut."""
    if _is_whole(spec):
        return wanted
    if not isinstance(value, (torch.Tensor, BlockMask)):
        raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
    if not isinstance(spec, TensorChunkSpec):
        raise AssertionError(f"Expected TensorChunkSpec, got {type(spec)}")
    if isinstance(value, torch.Tensor):
        return value.size(spec.split_dim)
    if spec.split_dim != 0:
        raise AssertionError("BlockMask only supports split_dim=0")
    count = value.kv_num_blocks.size(0)
    return wanted if count == 1 else count


def _chunks_of(
    arguments: dict[Any, Any], specs: dict[Any, Any], chunks: int
) -> list[dict[Any, Any]]:
    """The parts of a dictionary of arguments: as many as were asked for, or as the smallest
    allows."""
    if not arguments:
        return [{} for _ in range(chunks)]
    if len(arguments) != len(specs):
        raise AssertionError(
            f"args_dict.keys() = {list(arguments)} args_chunk_spec.keys() = {list(specs)}"
        )
    values, tree = tree_flatten(arguments, is_leaf=_is_mask)
    flat = tree_flatten(specs, is_leaf=_is_mask)[0]
    pairs = list(zip(values, flat, strict=True))
    count = min([chunks, *(_possible_chunks(value, spec, chunks) for value, spec in pairs)])
    columns = []
    for value, spec in pairs:
        if _is_whole(spec):
            columns.append([value] * count)
        elif isinstance(value, torch.Tensor):
            columns.append(_split_tensor(value, spec, count))
        else:
            columns.append(_split_block_mask(value, count))
    return [tree_unflatten([column[i] for column in columns], tree) for i in range(count)]


def _default_spec(value: object) -> object:
    return (
        TensorChunkSpec(DEFAULT_CHUNK_DIM)
        if isinstance(value, (torch.Tensor, BlockMask))
        else _Replicate()
    )


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
    kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """The arguments of a call in parts.

    Args:
        args: positional arguments.
        kwargs: arguments by name.
        chunks: how many parts; there are fewer if some tensor has fewer elements along its
            dimension.
        args_chunk_spec: along which dimension each is cut; without it tensors are cut along their
            first, and what is no tensor is given whole.
        kwargs_chunk_spec: the same by name.

    Returns:
        a list of tuples and one of dictionaries, a part each.

    >>> from jtorch.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
    >>> parts, _ = split_args_kwargs_into_chunks((torch.arange(4), "x"), None, 2)
    >>> parts
    [(tensor([0, 1]), 'x'), (tensor([2, 3]), 'x')]
    """
    kwargs = {} if kwargs is None else kwargs
    specs: Any = (
        tree_map(_default_spec, args, is_leaf=_is_mask)
        if args_chunk_spec is None
        else args_chunk_spec
    )
    named: Any = (
        tree_map(_default_spec, kwargs, is_leaf=_is_mask)
        if kwargs_chunk_spec is None
        else kwargs_chunk_spec
    )
    positional, numbered = dict(enumerate(args)), dict(enumerate(specs))
    first = _chunks_of(positional, numbered, chunks)
    second = _chunks_of(kwargs, named, len(first))
    if len(second) < len(first):
        first = _chunks_of(positional, numbered, len(second))
    if len(first) != len(second):
        raise RuntimeError(
            f"args and kwargs are split into different number of chunks: {len(first)}, "
            f"{len(second)}"
        )
    return [tuple(part[i] for i in range(len(part))) for part in first], second


def _joined(values: Values, dim: int) -> torch.Tensor:
    """Parts one behind another; of DTensors the local ones."""
    of_mesh = [isinstance(v, DTensor) for v in values]
    if not any(of_mesh):
        return torch.cat(values, dim=dim)
    if not all(of_mesh):
        raise AssertionError(
            "merge_chunks: expected all values to be DTensors or none to be DTensors, got a mix"
        )
    first = values[0]
    for i, v in enumerate(values):
        if v.placements != first.placements:
            raise AssertionError(
                f"merge_chunks: placement mismatch at chunk {i}: expected {first.placements}, got "
                f"{v.placements}"
            )
    shape = list(first.shape)
    shape[dim] = sum(v.shape[dim] for v in values)
    local = torch.cat([v.to_local() for v in values], dim=dim)
    return DTensor.from_local(
        local,
        first.device_mesh,
        first.placements,
        shape=torch.Size(shape),
        stride=first.stride(),
        run_check=False,
    )


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """Results of parts as one: what ``split_args_kwargs_into_chunks`` does, backwards.

    Args:
        chunks: the results, alike in structure.
        chunk_spec: of their structure: along which dimension tensors are joined, or a reducer; what
            has neither must be equal in all. None joins everything along the first dimension.

    Raises:
        ValueError: if a result has another structure.
        AssertionError: if what must be equal is not.

    >>> from jtorch.distributed.pipelining.microbatch import merge_chunks
    >>> merge_chunks([(torch.tensor([0]),), (torch.tensor([1]),)], None)
    (tensor([0, 1]),)
    """
    if chunk_spec is None:
        specs, tree = tree_flatten(chunks[0])
        specs = [TensorChunkSpec(DEFAULT_CHUNK_DIM)] * len(specs)
    else:
        specs, tree = tree_flatten(chunk_spec)
    rows = []
    for chunk in chunks:
        row = tree_flatten(chunk)[0]
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
        rows.append(row)
    merged = []
    for spec, *values in zip(specs, *rows, strict=True):
        if isinstance(spec, TensorChunkSpec):
            merged.append(_joined(values, spec.split_dim))
        elif isinstance(spec, _CustomReducer):
            found = spec.init_value
            for value in values:
                found = spec.reduce_fn(found, value)
            merged.append(found)
        else:
            for value in values:
                if not value == values[0]:
                    raise AssertionError(f"Expected {values[0]}, got {value}")
            merged.append(values[0])
    return tree_unflatten(merged, tree)
