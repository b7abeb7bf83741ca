"""Masked tensors whose data and mask are sparse, with elements in the same places.

They are sparse tensors themselves: what floors below ask of one, they answer alike. Functions of
single elements run on the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor, dispatch

from ...sparse._tensor import SparseTensor, like
from .tensor import JOINING, MaskedTensor, joined

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function

#: What a layout's positions are, and its name in messages.
_POSITIONS: dict[object, tuple[str, tuple[str, ...]]] = {
    torch.sparse_coo: ("sparse_coo", ("indices",)),
    torch.sparse_csr: ("sparse_csr", ("crow_indices", "col_indices")),
}


class SparseMasked(MaskedTensor, SparseTensor):
    """A masked tensor of sparse data. Programs see a ``MaskedTensor``."""

    __class__ = property(lambda _: MaskedTensor)

    def get_data(self) -> Tensor:
        """The data, a sparse tensor; gradients flow through it."""
        data = like(self, self._vals)
        data._whole = self._whole
        return data

    def is_sparse_coo(self) -> bool:
        """Whether the data are in COO layout."""
        return self._kind is torch.sparse_coo

    def is_sparse_csr(self) -> bool:
        """Whether the data are in CSR layout."""
        return self._kind is torch.sparse_csr

    @property
    def is_sparse(self) -> bool:
        """True."""
        return True

    def __repr__(self) -> str:
        return repr(to_dense(self))

    __str__ = __repr__


dispatch.LAYOUTS[SparseMasked] = dispatch.LAYOUTS[SparseTensor]


def made(data: Any, mask: Tensor) -> SparseMasked:
    """Sparse data, a result that nobody else holds, and their mask as one object."""
    both = object.__new__(SparseMasked)
    both.__dict__.update(data.__dict__)
    both._masked_mask = mask
    return both


JOINING[SparseTensor] = made


def matching(a: Any, b: Any) -> bool:
    """Whether sparse tensors have the same elements in the same places."""
    return a.size() == b.size() and _placed_alike(a, b) and torch.equal(a.values(), b.values())


def _placed_alike(a: Any, b: Any) -> bool:
    return a.layout is b.layout and all(
        torch.equal(getattr(a, part)(), getattr(b, part)()) for part in _POSITIONS[a.layout][1]
    )


def over_values(func: Callable[..., Tensor], data: Any, *args: Any, **kwargs: Any) -> Any:
    """``func`` of the values of sparse data, in the same places."""
    return like(data, func(data.values(), *args, **kwargs))


def values_beside(data: Any, other: object) -> object:
    """What a function of the values of ``data`` gets for its other operand.

    Raises:
        ValueError: for sparse data that lie in other places.
    """
    if not isinstance(other, SparseTensor) or data.layout is not other.layout:
        return other
    if not _placed_alike(data, other):
        raise ValueError(
            f"{_POSITIONS[data.layout][0]} indices must match. If you need support for this, "
            "please open an issue on Github."
        )
    if data.size() != other.size():
        raise ValueError("input1 and input2 must have the same size for binary functions.")
    return other.values()


def reduced(name: str, reduce: Function, input: Any) -> MaskedTensor:
    """A reduction of all present elements; the place of a greatest or least one of COO data is
    counted as in a dense tensor."""
    data, mask = input.get_data(), input.get_mask().values()
    result = reduce(data.values(), mask)
    if name in ("argmin", "argmax") and data.layout is torch.sparse_coo:
        place, result = data.indices()[:, result.long()], torch.zeros(())
        for at, size in zip(place, data.size(), strict=True):
            result = result * size + at
    return joined(result, mask.any())


# ---- layouts -------------------------------------------------------------------------------------


def to_dense(input: Any, *_args: object, **_kwargs: object) -> Any:
    """A masked tensor of dense data: absent where nothing is stored."""
    if not isinstance(input, SparseMasked):
        return input
    return joined(input.get_data().to_dense(), input.get_mask().to_dense())


def to_sparse(input: Any, *_args: object, **_kwargs: object) -> Any:
    """A masked tensor in COO layout, in which the present elements are stored."""
    if input.is_sparse_coo():
        return input
    mask = input.get_mask().to_sparse_coo().coalesce()
    return joined(input.get_data().sparse_mask(mask), mask)


def to_sparse_csr(input: Any, *_args: object, **_kwargs: object) -> Any:
    """A masked tensor in CSR layout, in which the present elements are stored.

    Raises:
        ValueError: for other than two dimensions.
    """
    if input.dim() != 2:
        raise ValueError(
            "Only 2D tensors can be converted to the SparseCsr layout but got shape: "
            f"{input.size()}"
        )
    if input.is_sparse_csr():
        return input
    mask = input.get_mask().to_sparse_csr()
    return joined(input.get_data().sparse_mask(mask), mask)


def part(func: Function, input: Any) -> MaskedTensor:
    """Values or indices, all of them present."""
    found = func(input.get_data())
    return joined(found.clone(), torch.ones_like(found, dtype=torch.bool))
