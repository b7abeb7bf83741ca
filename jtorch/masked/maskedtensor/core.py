"""``MaskedTensor``, and what those who write functions of it ask of its two parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ...wrappers.masked import MaskedTensor as MaskedTensor
from ...wrappers.masked import is_masked_tensor as is_masked_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = ["MaskedTensor", "is_masked_tensor"]

#: What a layout's tensors consist of.
_PARTS: dict[object, tuple[str, ...]] = {
    torch.sparse_coo: ("values", "indices"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
}


def _tensors_match(
    a: torch.Tensor, b: torch.Tensor, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Whether two plain tensors have the same elements, or nearly so, whatever their dtypes.

    Raises:
        ValueError: for masked tensors, or two layouts.
    """
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.dtype != b.dtype:
        b = b.type(a.dtype)
    if a.layout in _PARTS:
        return all(
            _tensors_match(getattr(a, part)(), getattr(b, part)(), exact)
            for part in _PARTS[a.layout]
        )
    if a.dim() != b.dim():
        return False
    return (
        bool(torch.eq(a, b).all().item()) if exact else torch.allclose(a, b, rtol=rtol, atol=atol)
    )


def _masks_match(a: object, b: object) -> bool:
    """Whether two masked tensors have the same elements present; True if one of them is no masked
    tensor."""
    return not (is_masked_tensor(a) and is_masked_tensor(b)) or _tensors_match(
        a.get_mask(), b.get_mask()
    )


def _map_mt_args_kwargs(
    args: Iterable[object], kwargs: Any, map_fn: Callable[[MaskedTensor], object]
) -> tuple[list[object], dict[str, object]]:
    """Arguments with ``map_fn`` of each masked tensor in its place, in lists and tuples too."""

    def mapped(x: Any) -> Any:
        if is_masked_tensor(x):
            return map_fn(x)
        return type(x)([mapped(i) for i in x]) if type(x) in (list, tuple) else x

    return [mapped(x) for x in args], {name: mapped(x) for name, x in (kwargs or {}).items()}


def _wrap_result(result_data: object, result_mask: Any) -> object:
    """A masked tensor of the two, or a list or tuple of them; ``NotImplemented`` for what is no
    tensor."""
    if isinstance(result_data, (list, tuple)):
        kind = list if isinstance(result_data, list) else tuple
        return kind(_wrap_result(d, m) for d, m in zip(result_data, result_mask, strict=False))
    return (
        MaskedTensor(result_data, result_mask) if torch.is_tensor(result_data) else NotImplemented
    )


def _get_data(a: object) -> object:
    """The data of a masked tensor; anything else itself."""
    return a.get_data() if is_masked_tensor(a) else a


def _maybe_get_mask(a: object) -> object:
    """The mask of a masked tensor; None of anything else."""
    return a.get_mask() if is_masked_tensor(a) else None
