"""Sparse tensors that get another size in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._src.facts import layouts
from ..core import Tensor
from ._from_parts import empty
from ._make import dense_dim
from ._tensor import (
    COMPRESSED,
    NAMES,
    SparseTensor,
    become,
    coo,
    could_not_run,
    make,
    nnz,
    sparse_dim,
    sparse_op,
)

#: What torch says after each refusal to resize.
_ADVICE = (
    "You could try the following options:\n"
    "1. If you need an empty sparse tensor of this size, call `x = "
    "torch.sparse_coo_tensor(size)`.\n"
    "2. If you need to resize this tensor, you have the following options:\n"
    "    1. For both sparse and dense dimensions, keep the number of them constant and the size of "
    "them non-shrinking, and then try the same call again.\n"
    "    2. Or, create a new sparse tensor with the correct indices and values from this sparse "
    "tensor."
)


def may_resize(input: SparseTensor, size: Sequence[int], sparse: int, dense: int) -> None:
    """Raises torch's errors for sizes that a COO tensor with specified elements cannot get in
    place."""
    if not nnz(input):
        return
    if (sparse, dense) != (sparse_dim(input), dense_dim(input)):
        raise RuntimeError(
            f"changing the number of sparse dimensions (from {sparse_dim(input)} to {sparse}) on a "
            "non-empty sparse tensor is not supported.\n"
            f"{_ADVICE}"
            if sparse != sparse_dim(input)
            else f"changing the number of dense dimensions (from {dense_dim(input)} to {dense}) on "
            "a non-empty sparse tensor is not supported.\n"
            f"{_ADVICE}"
        )
    old, new = input._dims, tuple(size)
    if any(n < o for n, o in zip(new[:sparse], old[:sparse], strict=False)):
        raise RuntimeError(
            f"shrinking the size of sparse dimensions (from {list(old[:sparse])} to "
            f"{list(new[:sparse])}) on a non-empty sparse tensor is not supported.\n"
            f"{_ADVICE}"
        )
    if any(n < o for n, o in zip(new[sparse:], old[sparse:], strict=True)):
        raise RuntimeError(
            f"shrinking the size of dense dimensions (from {list(old[sparse:])} to "
            f"{list(new[sparse:])}) on a non-empty sparse tensor is not supported.\n"
            f"{_ADVICE}"
        )


@sparse_op("sparse_resize_")
def sparse_resize_(input: SparseTensor, size: Sequence[int], sparse: int, dense: int) -> Tensor:
    """Changes the size in place; the specified elements stay."""
    _coo_alone("sparse_resize_", input)
    may_resize(input, size, sparse, dense)
    if nnz(input):
        old, new = input._dims, tuple(size)
        values = input._vals
        if new[sparse:] != tuple(old[sparse:]):  # in the order of memory, as resize_ does
            values = values.detach().clone().resize_((nnz(input), *new[sparse:]))
        return become(input, coo(input._at[0], values, new, input._sorted))
    return sparse_resize_and_clear_(input, size, sparse, dense)


@sparse_op("sparse_resize_and_clear_")
def sparse_resize_and_clear_(
    input: SparseTensor, size: Sequence[int], sparse: int, dense: int
) -> SparseTensor:
    """Changes the size in place and forgets all elements."""
    _coo_alone("sparse_resize_and_clear_", input)
    if sparse + dense != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {sparse}, dense_dim = {dense}"
        )
    return become(input, empty(size, layouts.sparse_coo, input.dtype, input.device, dense))


@sparse_op("resize_as_", "resize_as_sparse_")
def resize_as_sparse_(
    input: Any, the_template: object, *, memory_format: layouts.memory_format | None = None
) -> Any:
    """Changes the size in place to that of another sparse tensor."""
    if (
        not isinstance(input, SparseTensor)
        or not isinstance(the_template, SparseTensor)
        or memory_format is not None
    ):
        if isinstance(input, SparseTensor) and input._kind in COMPRESSED and memory_format is None:
            raise RuntimeError(_OTHER.format("Strided"))
        raise could_not_run("resize_as_", input)
    if input._kind in COMPRESSED:
        return _resize_compressed(input, the_template)
    return sparse_resize_(
        input, tuple(the_template._dims), sparse_dim(the_template), dense_dim(the_template)
    )


_OTHER = "resize_as_sparse_compressed_: src  expected sparse compressed tensor layout but got {}"


def _resize_compressed(input: SparseTensor, template: SparseTensor) -> SparseTensor:
    """Takes over size and places of a template in the same layout; values stay in their order, and
    zeros follow."""
    if template._kind not in COMPRESSED:
        raise RuntimeError(_OTHER.format("Sparse"))
    if template._kind is not input._kind:
        mine, its = NAMES[input._kind], NAMES[template._kind]
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: "
            f"self ({mine}) and source ({its})"
        )
    values = input._vals.detach().new_zeros(template._vals.shape)
    count = min(values.numel(), input._vals.numel())
    values.view(-1)[:count] = input._vals.detach().reshape(-1)[:count]
    places = tuple([x.to(input._at[0].dtype).clone() for x in template._at])
    return become(input, make(input._kind, places, values, template._dims))


def _coo_alone(name: str, input: Tensor) -> None:
    if input._kind in COMPRESSED:
        raise could_not_run(name, input)
