"""The distinct elements of a tensor, or its distinct slices along a dimension, with their places
and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C
from ..facts.errors import type_name
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Tree


def _chosen(found: tuple[Tensor, ...], return_inverse: bool, return_counts: bool) -> Tree:
    distinct, inverse, counts = found
    asked = [distinct, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return asked[0] if len(asked) == 1 else tuple(asked)


@composite(method=True, operands=("input",), native=False, home="functional")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along ``dim``) in ascending order, with ``sorted=False``
    too.

    ``return_inverse`` adds where each element stands among them, ``return_counts`` how often each
    occurs. NaNs are all distinct.

    Args:
        input: the tensor.
        sorted: accepted: the result is sorted.
        return_inverse: also give, for each element, its place in the result.
        return_counts: also give how often each occurs.
        dim: compare whole slices along this dimension; None compares elements.

    Shapes: (k), or along ``dim`` the input's with k in its place; the inverse has the input's
    shape, or (n) along ``dim``; counts (k).

    Dtypes: any; inverse and counts are int64.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.unique(torch.tensor([3, 1, 3]))
        tensor([1, 3])
        >>> torch.unique(torch.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
        (tensor([1, 3]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    name = "_unique2" if dim is None else "unique_dim"
    _check_flags(
        name, dim, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts
    )
    if dim is None:
        found = _C._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = _C._unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _chosen(found, return_inverse, return_counts)


def _check_flags(name: str, dim: int | None, **flags: object) -> None:
    """Raises torch's error for flags that are none, which Python's parameters would take for true
    or false."""
    if dim is not None and (isinstance(dim, bool) or not hasattr(type(dim), "__index__")):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {type_name(dim)}")
    for flag, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name}(): argument '{flag}' must be bool, not {type_name(value)}")


@composite(method=True, operands=("input",), native=False, home="functional")
@schemas(
    "(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, "
    "Tensor, Tensor) ; =out:out0,out1,out2",
)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal neighbours, in the flattened input or among slices along
    ``dim``; see ``unique``.

    Shapes: as ``unique``.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), return_counts=True)
        (tensor([1, 2, 1]), tensor([2, 1, 1]))
    """
    _check_flags(
        "unique_consecutive", dim, return_inverse=return_inverse, return_counts=return_counts
    )
    return _chosen(
        _C._unique_consecutive(input, return_inverse, return_counts, dim),
        return_inverse,
        return_counts,
    )
