"""Softmax, normalization, cumulative sums and orders along one dimension of jagged tensors, the
ragged one in padded form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from .dims import outer
from .jagged import TABLE
from .pointwise import wrapped
from .ragged import NestedInt, pack, segment_sum, spread
from .reductions import highest, lowest
from .tensor import NestedTensor

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Values


def _on_padded(nt: NestedTensor, padding: Any, func: Callable[[Tensor], Any]) -> Any:
    """``func`` of the padded form with the ragged dimension at place 1, its results packed
    again."""
    rows = nt._rows()
    found = func(
        nt._padded(padding)
        if nt._ragged_idx == 1
        else nt._padded(padding).movedim(nt._ragged_idx, 1)
    )
    if isinstance(found, Tensor):
        return nt._from_rows(pack(found, nt._cut, rows.shape[0]))
    return type(found)([nt._from_rows(pack(x, nt._cut, rows.shape[0])) for x in found])


def _no_batch_no_holes(nt: NestedTensor, place: int, name: str) -> None:
    if place == 0:
        raise RuntimeError(
            f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
        )
    if place == nt._ragged_idx and nt._cut.lengths is not None:
        raise RuntimeError(
            f"{name}(): not supported where lengths is not None if reducing across the ragged "
            "dimension for NestedTensor"
        )


def _softmax(
    name: str, func: Function, input: NestedTensor, dim: object, dtype: object
) -> NestedTensor:
    if isinstance(dim, (tuple, list)):
        raise RuntimeError(
            f"{name}(): not supported for dimensions of type 'tuple' for NestedTensor"
        )
    if dim is None:
        raise TypeError(f"{name}() of a nested tensor needs a dim")
    place = outer(input, dim)
    _no_batch_no_holes(input, place, name)
    nt = input if dtype is None else wrapped(input._values.to(dtype), input)
    if place != nt._ragged_idx:
        return nt._like(func(nt._values, place - 1))
    if nt._ragged_idx > 1:
        raise RuntimeError(
            f"{name}(): not supported when reducing along the ragged dimension for ragged_idx > 1 "
            "for NestedTensor"
        )
    return _on_padded(nt, lowest(nt.dtype), functools.partial(func, dim=1))


@TABLE.implements("softmax", "special.softmax")
def softmax(
    input: NestedTensor, dim: object = None, dtype: torch.dtype | None = None
) -> NestedTensor:
    """Softmax over a dense dimension, or over the ragged one."""
    return _softmax("softmax", torch.softmax, input, dim, dtype)


@TABLE.implements("log_softmax", "special.log_softmax")
def log_softmax(
    input: NestedTensor, dim: object = None, dtype: torch.dtype | None = None
) -> NestedTensor:
    """The logarithm of softmax."""
    return _softmax("log_softmax", torch.log_softmax, input, dim, dtype)


@TABLE.implements("nn.functional.softmax")
def functional_softmax(
    input: NestedTensor, dim: object = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> NestedTensor:
    """``softmax`` with the parameters of nn.functional."""
    return softmax(input, dim, dtype)


@TABLE.implements("nn.functional.log_softmax")
def functional_log_softmax(
    input: NestedTensor, dim: object = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> NestedTensor:
    """``log_softmax`` with the parameters of nn.functional."""
    return log_softmax(input, dim, dtype)


# ---- layer norm ----------------------------------------------------------------------------------


@TABLE.implements("layer_norm")
def layer_norm(
    input: NestedTensor,
    normalized_shape: tuple[int, ...] | list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> NestedTensor:
    """Normalizes the trailing dense dimensions of each item, or all of an item where
    ``normalized_shape`` begins with the ragged size.

    Raises:
        RuntimeError: over the batch, of 2-dim tensors, over the ragged dimension with holes.
    """
    nt = input
    shape: Values = (
        [normalized_shape]
        if isinstance(normalized_shape, (int, NestedInt))
        else list(normalized_shape)
    )
    if len(nt._size) <= 2:
        raise RuntimeError(
            "layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions"
        )
    if len(shape) >= len(nt._size):
        raise RuntimeError(
            "layer_norm(): not supported when normalizing over the batch dimension for NestedTensor"
        )
    if nt._cut.size not in shape:
        return nt._like(torch.nn.functional.layer_norm(nt._values, shape, weight, bias, eps))
    if nt._cut.lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged "
            "dimension for NestedTensor"
        )
    if nt._ragged_idx != 1 or tuple(shape) != tuple(nt._size[1:]):
        raise RuntimeError(
            f"layer_norm(): normalized_shape {tuple(shape)} does not end the shape "
            f"{tuple(nt._size)}"
        )
    if weight is not None or bias is not None:
        raise RuntimeError(
            "layer_norm(): weight and bias cannot have the ragged size of a NestedTensor"
        )
    return _item_norm(nt, eps)


def _item_norm(nt: NestedTensor, eps: float) -> NestedTensor:
    """Each item normalized as a whole."""
    rows, cut, total = nt._values, nt._cut, nt._total()
    dims = tuple(range(1, rows.dim()))
    counts = cut.counts() * (rows[0:1].numel() if total else 1)

    def mean(x: Tensor) -> Tensor:
        each = segment_sum(x.sum(dims), cut) / counts
        return spread(each, cut, total).view(-1, *(1,) * len(dims))

    off = rows - mean(rows)
    return nt._like(off / (mean(off.square()) + eps).sqrt())


@TABLE.implements("rms_norm")
def rms_norm(
    input: NestedTensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> NestedTensor:
    """Divides by the root mean square over the trailing dense dimensions."""
    shape: Values = (
        [normalized_shape]
        if isinstance(normalized_shape, (int, NestedInt))
        else list(normalized_shape)
    )
    if len(shape) > len(input._size) - input._ragged_idx - 1:
        raise ValueError(
            "rms_norm(): Normalization over the ragged dim not supported for nested tensors"
        )
    return input._like(torch.nn.functional.rms_norm(input._values, shape, weight, eps))


# ---- along one dimension (extensions: torch has these for dense tensors only) --------------------


def _along(name: str, padding: object, default: int | None = None) -> None:
    """``name(x, ..., dim)`` on a dense dimension, and on the ragged one if ``padding`` tells what
    may stand behind the items."""
    func = getattr(torch, name)
    before = {"topk": 1, "kthvalue": 1, "diff": 1}.get(name, 0)

    def handler(input: NestedTensor, *args: object, **options: object) -> object:
        given = list(args)
        if "dim" in options:
            place = outer(input, options.pop("dim"))
        elif len(given) > before:
            place = outer(input, given.pop(before))
        elif default is not None:
            place = outer(input, default)
        else:
            raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
        _no_batch_no_holes(input, place, name)
        if place != input._ragged_idx:
            found = func(input._values, *given, dim=place - 1, **options)
            # the dimension is gone
            if isinstance(found, Tensor) and found.dim() < input._values.dim():
                return input._like(found, input._ragged_idx - (place < input._ragged_idx))
            return wrapped(found, input)
        if padding is None:
            raise NotImplementedError(
                f"{name}() along the ragged dimension of a nested tensor is not offered by jtorch: "
                "use unbind()"
            )
        value = padding(input.dtype) if callable(padding) else padding
        if name in ("sort", "argsort") and (
            options.get("descending") or (given and given[0] is True)
        ):
            value = lowest(input.dtype)
        return _on_padded(input, value, lambda x: func(x, *given, dim=1, **options))

    handler.__name__ = name
    handler.__doc__ = f"``{name}`` along a dense dimension" + (
        "." if padding is None else ", or the ragged one."
    )
    TABLE.implements(name)(handler)


for _name, _padding in {
    "cumsum": 0,
    "cumprod": 1,
    "logcumsumexp": lowest,
    "cummax": lowest,
    "cummin": highest,
}.items():
    _along(_name, _padding)
_along("sort", highest, -1)
_along("argsort", highest, -1)
_along("diff", None, -1)
_along("trapezoid", None, -1)
_along("trapz", None, -1)
_along("topk", None, -1)
_along("kthvalue", None, -1)


@TABLE.implements("linalg.vecdot")
def vecdot(x: Tensor, y: Any, *, dim: int = -1) -> NestedTensor:
    """The sums of products along a dense dimension."""
    product = (x.conj() if x.is_complex() else x) * y
    place = outer(product, dim)
    _no_batch_no_holes(product, place, "vecdot")
    return product.sum(place)


@TABLE.implements("nn.functional.glu")
def glu(input: NestedTensor, dim: int = -1) -> NestedTensor:
    """The first half of a dense dimension times the sigmoid of the second."""
    place = outer(input, dim)
    if place in (0, input._ragged_idx):
        raise RuntimeError(
            "glu(): not supported for NestedTensor on " + ("ragged dim" if place else "dim=0")
        )
    return input._like(torch.nn.functional.glu(input._values, place - 1))
