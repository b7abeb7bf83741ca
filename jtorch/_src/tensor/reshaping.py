"""Views in another shape, and copies where there is none: ``view``, ``reshape``, ``flatten`` and
their relatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import Tensor, contiguous_strides, detached, lazy_bits
from ..bind.bound import BOUND
from ..bind.cores import composite
from ..engine import Aval, Call
from ..facts import dtypes
from ..facts.errors import canonical_dim, check_longs, type_name
from ..ops import views as view_ops
from ..ops._declare import OPS
from ..ops._facts import schemas
from ..ops._kernel import Fixed, T, caches, call_of
from .cells import Step
from .looking import small_view, view
from .running import apply
from .view_steps import step_of
from .views import _EXPAND, _VIEW_DTYPE, _VIEW_SHAPE, _check_tensor, _size, make_view


def viewed(t: Tensor, size: tuple[int, ...], name: str = "view") -> Tensor | None:
    """``t`` in another shape on the same memory, or None if that needs a copy."""
    aval = t._aval
    key = (aval, t._strides, size)
    found = _shapes.get(key, key)
    if found is key:
        found = _seen_as(aval, t._strides, size, name)
        if len(_shapes) < _MOST_SHAPES:
            _shapes[key] = found
    if found is None:
        return None
    strides, step, small = found
    offset = t._al.offset if t._al is not None else 0
    if (
        small is not None
        and not t._rg
        and (made := small_view(t, (step,), strides, offset, small)) is not None
    ):
        return made
    made = view(t, step, strides, offset)
    if small is None and made._al.direct and key in _shapes:
        _shapes[key] = strides, step, made._aval
    return made


#: Strides, steps and, once it was a small view, the description of tensors in another shape, by
#: what they are and the sizes that were asked for; None where memory forbids it.
_shapes: dict[Any, Any] = {}
caches.append(_shapes)
_MOST_SHAPES = 4096


def _seen_as(
    aval: Aval, strides: tuple[int, ...] | None, size: tuple[int, ...], name: str
) -> tuple[tuple[int, ...], Step, None] | None:
    """The strides in another shape, the step to it, and no description; None if there are none."""
    try:
        size = view_ops.infer_size(size, aval.size)
    except RuntimeError:
        check_longs(name, "shape" if name == "reshape" else "size", size)
        raise
    found = view_ops.view_strides(aval.shape, strides or contiguous_strides(aval.shape), size)
    return None if found is None else (found, step_of(_VIEW_SHAPE, (size,)), None)


@composite(namespace="Tensor", name="view", operands=("self",))
@schemas(
    "(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    ".dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
)
def view_(self: Tensor, *size: Any, **kwargs: Any) -> Tensor:
    """The same memory in another shape, or as another dtype.

    Args:
        size: the sizes, spread or in one tuple, or a dtype.
        kwargs: ``size`` or ``dtype`` by name.

    Shapes: ``size``, of as many elements; one size may be -1 and follows from the others. As
    another dtype, the last dimension grows or shrinks with the number of bytes.

    Raises:
        RuntimeError: if the memory's strides do not allow the shape; use ``reshape`` then.

    Example:
        >>> import jtorch as torch
        >>> x = torch.arange(4)
        >>> x.view(2, -1)
        tensor([[0, 1],
                [2, 3]])
        >>> torch.tensor([1.0]).view(torch.int32)
        tensor([1065353216], dtype=torch.int32)
    """
    if kwargs:
        if size or len(kwargs) > 1:
            told = [type_name(x) for x in size] + [f"{k}={type_name(x)}" for k, x in kwargs.items()]
            raise TypeError(_VIEW_OTHERWISE.format(", ".join(told)))
        size = (kwargs.pop("size", kwargs.pop("dtype", None)),)
    if not size:
        raise TypeError(_VIEW_OTHERWISE.format(""))
    if (
        len(size) == 1
        and isinstance(size[0], (dtypes.dtype, type))
        and isinstance(dtype := dtypes.meant(size[0]), dtypes.dtype)
    ):
        return _view_as_dtype(self, dtype)
    found = viewed(self, _size("view", size))
    if found is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return found


_VIEW_OTHERWISE = """view() received an invalid combination of arguments - got ({}), but expected \
one of:
 * (torch.dtype dtype)
 * (tuple of ints size)
"""


def _view_as_dtype(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    old, new = t._aval.dtype.itemsize, dtype.itemsize
    _VIEW_DTYPE.bits(*lazy_bits(t))  # type: ignore[misc]
    shape, strides = t._aval.shape, t.stride()
    offset = t._al.offset if t._al is not None else 0
    if old != new:
        if not shape:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {t.dtype.scalar_name} as {dtype.scalar_name} "
                "(different element sizes)"
            )
        if strides[-1] != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {t.dtype.scalar_name} as {dtype.scalar_name} "
                f"(different element sizes), but got {strides[-1]}"
            )
        if old > new:
            ratio = old // new
            strides = (*(s * ratio for s in strides[:-1]), 1)
            offset *= ratio
        else:
            ratio = new // old
            if shape[-1] % ratio:
                raise RuntimeError(
                    f"self.size(-1) must be divisible by {ratio} to view {t.dtype.scalar_name} as "
                    f"{dtype.scalar_name} (different element sizes), but got {shape[-1]}"
                )
            for what, n in (
                ("storage_offset()", offset),
                *((f"stride({d})", s) for d, s in enumerate(strides[:-1])),
            ):
                if n % ratio:
                    raise RuntimeError(
                        f"self.{what} must be divisible by {ratio} to view {t.dtype.scalar_name} "
                        f"as {dtype.scalar_name} (different element sizes), but got {n}"
                    )
            strides = (*(s // ratio for s in strides[:-1]), 1)
            offset //= ratio
    if t._rg:  # the numbers that other bits mean have no derivative
        t = detached(t)
    made = view(t, step_of(_VIEW_DTYPE, (dtype.np,)), strides, offset)
    # torch does not take it for a view: it may be detached in place, and views of it end here
    made._al.base = None
    return made


@composite(method=True, operands=("input",), varargs="shape", opaque=True)
@schemas("(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
def reshape(input: Tensor, shape: Sequence[int]) -> Any:
    """The elements in another shape: a view where strides allow it, else a copy.

    Args:
        input: the tensor.
        shape: the new sizes, one of which may be -1.
        args: as a method: the sizes, spread or in one tuple.
        kwargs: as a method: ``shape`` by name.

    Shapes: ``shape``, of as many elements; one size may be -1 and follows from the others.

    Raises:
        RuntimeError: if the number of elements would change.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    _check_tensor("reshape", input)
    size = _size("reshape", (shape,))
    found = viewed(input, size, "reshape")
    if found is not None:
        return found
    return apply(
        _reshaping(view_ops.infer_size(size, input._aval.size)),
        (input,),
        (input._v or input._read(),),
    )


def _reshaping(size: tuple[int, ...]) -> Call:
    """The call that copies into another shape."""
    return call_of(OPS["_C._unsafe_view"], (T, Fixed(size)))


def contiguous_copy(t: Tensor) -> Tensor:
    """A contiguous copy with history."""
    r = BOUND["clone"].core(t)
    r._strides = None
    return r


@composite(method=True, operands=("input",))
@schemas(".using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Joins the dimensions from ``start_dim`` to ``end_dim`` into one; a view where possible.

    Args:
        input: the tensor.
        start_dim: the first of the dimensions that become one.
        end_dim: the last of them.

    Shapes: (*, a, ..., b, *) -> (*, a * ... * b, *); () -> (1).

    Raises:
        RuntimeError: if ``start_dim`` comes after ``end_dim``.
        IndexError: if one is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.flatten(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        >>> torch.flatten(torch.zeros(2, 3, 4), start_dim=1).shape
        torch.Size([2, 12])
    """
    _check_tensor("flatten", input)
    shape = input._aval.shape
    a, b = canonical_dim(start_dim, len(shape)), canonical_dim(end_dim, len(shape))
    if not shape:
        return reshape(input, (1,))
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if a == b:
        return input
    joined = math.prod(shape[a : b + 1])
    return reshape(input, (*shape[:a], joined, *shape[b + 1 :]))


@composite(method=True, operands=("input",), implicit=True)
@schemas("(Tensor(a) self) -> Tensor(a)")
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension; a view where possible.

    Shapes: any -> (n).

    Gradient: has the shape of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
    """
    # Not ``reshape``: elements with gaps between them are copied.
    return reshape(input if input.is_contiguous() else contiguous_copy(input), (-1,))


@composite(method=True, operands=("input",), ignored=("Tensor.unflatten",))
@schemas(".int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
def unflatten(input: Tensor, dim: int, sizes: tuple[int, ...]) -> Any:
    """Splits one dimension into several; a view.

    Shapes: (*, n, *) -> (*, *sizes, *), where one size may be -1 and follows from the others.

    Raises:
        RuntimeError: if the sizes do not multiply up to the dimension's.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.unflatten(torch.arange(4), 0, (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    _check_tensor("unflatten", input)
    shape = input._aval.shape
    if not shape:
        raise RuntimeError(
            "unflatten got an unexpected error:\n"
            "Dimension specified as 0 but tensor has no dimensions"
        )
    d = canonical_dim(dim, len(shape))
    sizes = _size("unflatten", (sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    n = shape[d]
    known = 1
    for s in sizes:
        known *= s if s != -1 else 1
    if (-1 in sizes and (known == 0 or n % known)) or (-1 not in sizes and known != n):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({n}) in the input tensor"
        )
    return view_._core(input, (*shape[:d], *view_ops.infer_size(sizes, n), *shape[d + 1 :]))  # type: ignore[attr-defined]


view_._core = view_  # type: ignore[attr-defined]


@composite(method=True, operands=("input",), varargs="size", implicit=True)
@schemas("(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """``input`` repeated along dimensions of size 1 to ``size``; a view.

    Shapes: ``size``.

    Raises:
        RuntimeError: if ``input`` does not broadcast to it.

    Example:
        >>> import jtorch as torch
        >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    _check_tensor("broadcast_to", input)
    return make_view(_EXPAND, input, (_size("broadcast_to", (size,)), False))


@composite(namespace="Tensor", operands=("self", "other"), implicit=True)
@schemas("(Tensor(a) self, Tensor other) -> Tensor(a)")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``self.expand(other.size())``.

    Args:
        other: the tensor whose shape is wanted.

    Shapes: that of ``other``.

    Raises:
        RuntimeError: if the tensor does not broadcast to it.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).expand_as(torch.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return make_view(_EXPAND, self, (tuple(other._aval.shape), False))


@composite(namespace="Tensor", operands=("self", "other"), implicit=True)
@schemas("(Tensor(a) self, Tensor other) -> Tensor(a)")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``self.view(other.size())``.

    Args:
        other: the tensor whose shape is wanted.

    Shapes: that of ``other``.

    Raises:
        RuntimeError: as ``view``.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4).view_as(torch.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return view_(self, tuple(other._aval.shape))


@composite(namespace="Tensor", operands=("self", "other"), implicit=True)
@schemas("(Tensor(a) self, Tensor other) -> Tensor(a)")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``self.reshape(other.size())``.

    Shapes: that of ``other``.

    Raises:
        RuntimeError: as ``reshape``.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return reshape(self, tuple(other._aval.shape))
