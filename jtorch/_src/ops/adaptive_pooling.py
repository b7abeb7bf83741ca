"""Pooling whose windows follow from the size of the result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._declare import Array, defvjp, op
from ._derivatives import A, derivative
from ._extrema import extremum
from ._facts import schemas
from ._nodes import Rule
from ._pooling import (
    Windows,
    add_at,
    flat_index,
    lowest,
    spread_evenly,
    spread_to_tap,
    take_over,
    window_argmax,
    window_max,
    window_sum,
)
from ._sizes import counted, counting, fewer, numbers

if TYPE_CHECKING:
    from ..facts.kinds import Operand, Tree


Sizes = int | tuple[int | None, ...] | None

# ---------------------------------------------------------------------------------------- arguments


def _sizes(function: str, output_size: Sizes, input: Array, n: int) -> tuple[int, ...]:
    """``output_size`` for each of ``n`` dimensions; None keeps the input's."""
    if isinstance(output_size, int):
        return (output_size,) * n
    if output_size is None:
        raise TypeError("object of type 'NoneType' has no len()")
    given = tuple(output_size)
    if n == 1:
        if len(given) != 1:
            raise RuntimeError(
                f"{function}() argument 'output_size' should contain one int (got {len(given)})"
            )
        return given  # type: ignore[return-value]
    if input.ndim <= len(given):  # torch looks before the kernel does
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    given = tuple(
        size if want is None else want
        for want, size in zip(given, input.shape[input.ndim - len(given) :], strict=True)
    )
    if len(given) != n:
        raise RuntimeError(
            f"{function}(): internal error: output_size.size() must be {n}"
            if "max" in function
            else f"{function}: output_size must be {n}"
        )
    return given


def _negative(name: str, out: tuple[int, ...]) -> RuntimeError:
    # As torch writes them: without a blank before the last of three.
    listed = f"{out[0]}, {out[1]},{out[2]}" if len(out) == 3 else ", ".join(map(str, out))
    return RuntimeError(
        f"{name}: elements of output_size must be greater than or equal to 0 but received "
        f"{{{listed}}}"
    )


def _check(function: str, input: Array, out: tuple[int, ...], n: int) -> None:
    name = function
    if n == 1:
        if input.ndim not in (2, 3):
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument "
                f"#1 'self' (while checking arguments for {function})"
            )
        if function == "adaptive_avg_pool1d":  # torch runs it as a two-dimensional one of height 1
            name, out = "adaptive_avg_pool2d", (1, *out)
            if any(o < 0 for o in out):
                raise _negative(name, out)
            _check_filled(name, (*input.shape[:-1], 1, input.shape[-1]), 2)
            return
    elif "avg" in function and any(o < 0 for o in out):
        raise _negative(name, out)
    elif input.ndim not in (n + 1, n + 2):
        colon = ":" if "max" in function else ""
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(input.shape)}"
        )
    channels = input.ndim == n + 2 and ("max" in function or n == 3)  # must be there too
    _check_filled(name, input.shape, n + channels)
    if any(o < 0 for o in out):
        bad = next(o for o in out if o < 0)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {bad}: "
            f"{[*input.shape[:-n], *(1,) * (n == 1), *out]}"
        )


def _check_filled(name: str, shape: tuple[int, ...], n: int) -> None:
    for axis in range(len(shape) - n, len(shape)):
        if shape[axis] == 0:
            shown = list(shape)
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but input has sizes {shown} with dimension {axis} being empty"
            )


def _refuse(name: str, input: Array) -> None:
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{dtypes.from_np(input.dtype).scalar_name}'"
        )


# ------------------------------------------------------------------------------------------ windows


def _bounds(size: int, out: int) -> tuple[Any, Any]:
    """Where each of ``out`` windows over ``size`` elements begins and ends: values of the program
    where one of the two varies."""
    i, whole = counting(out), np.dtype(np.int64)
    return i * counted(size, whole) // counted(out, whole), -(
        -(i + 1) * counted(size, whole) // counted(out, whole)
    )


def _tiles(size: tuple[int, ...], out: tuple[int, ...]) -> Windows | None:
    """The windows as equal tiles, where sizes divide."""
    if not numbers(*size, *out) or any(o == 0 or s % o for s, o in zip(size, out, strict=True)):
        return None
    kernel = tuple(s // o for s, o in zip(size, out, strict=True))
    n = len(size)
    return Windows(size, kernel, kernel, (0,) * n, (1,) * n, out)


def _ranges_sum(x: Array, axis: int, start: np.ndarray, end: np.ndarray) -> Array:
    """The sums of ``x[start:end]`` along ``axis``, one for each pair of bounds."""
    if not isinstance(end, np.ndarray):
        each, inside = _each_window(x, axis, start, end)
        return jnp.where(inside, each, jnp.zeros((), x.dtype)).sum(axis + 1)
    total = None
    for t in range(int((end - start).max(initial=0))):
        inside = start + t < end
        term = jnp.take(x, np.minimum(start + t, x.shape[axis] - 1), axis)
        if not inside.all():
            term = jnp.where(
                inside.reshape([-1 if i == axis else 1 for i in range(x.ndim)]),
                term,
                jnp.zeros((), x.dtype),
            )
        total = term if total is None else total + term
    if total is None:
        return jnp.zeros((*x.shape[:axis], len(start), *x.shape[axis + 1 :]), x.dtype)
    return total


def _each_window(x: Array, axis: int, start: Array, end: Array) -> tuple[Array, Array]:
    """All of ``axis`` for each window, along an axis behind that of the windows, and which of it
    lies in the window."""
    place = lax.broadcasted_iota(np.int64, (start.shape[0], x.shape[axis]), 1)
    inside = (place >= start[:, None]) & (place < end[:, None])
    shape = [1] * (x.ndim + 1)
    shape[axis : axis + 2] = inside.shape
    return jnp.expand_dims(x, axis), inside.reshape(shape)


# ------------------------------------------------------------------------------------------ average


def _adaptive_avg(function: str, n: int, input: Array, output_size: Sizes) -> Array:
    out = _sizes(function, output_size, input, n)
    if n > 1 and function == "adaptive_avg_pool2d" and out == (1, 1) and input.ndim >= 2:
        if not jnp.issubdtype(input.dtype, jnp.inexact):  # torch takes the mean here
            name = dtypes.from_np(input.dtype).scalar_name
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point "
                f"or complex dtype. Got: {name}"
            )
        if 0 not in input.shape[-2:]:
            return jnp.mean(input, (-2, -1), keepdims=True)
    _check(function, input, out, n)
    _refuse("adaptive_avg_pool2d" if n < 3 else "adaptive_avg_pool3d_cpu", input)
    size = input.shape[-n:]
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    tiles = _tiles(size, out)
    if tiles is not None:
        return (window_sum(wide, tiles) / tiles.taps).astype(input.dtype)
    first = input.ndim - n
    for i, (s, o) in reversed(list(enumerate(zip(size, out, strict=True)))):
        start, end = _bounds(s, o)
        wide = _ranges_sum(wide, first + i, start, end) / _along(end - start, first + i, wide)
    return wide.astype(input.dtype)


def _along(values: Array | np.ndarray, axis: int, like: Array) -> Array:
    return jnp.asarray(
        values.reshape([-1 if i == axis else 1 for i in range(like.ndim)]), like.dtype
    )


def _check_gradient(function: str, n: int, g: Array) -> None:
    """Raises for windows of which there are none, as torch does in the backward pass alone."""
    shape = g.shape if n > 1 else (*g.shape[:-1], 1, g.shape[-1])  # torch adds a dimension to one
    for d in range(1 if g.ndim == n + 1 else 2, len(shape)):
        if fewer(shape[d], 1):
            raise RuntimeError(
                f"{function.replace('1d', '2d')}_backward(): Expected grad_output to have non-zero "
                f"size for non-batch dimensions, but grad_output has sizes {list(shape)} with "
                f"dimension {d} being empty"
            )


def _adaptive_avg_rule(function: str, n: int):
    def rule(g: Array, _result: None, input: Array, output_size: Sizes) -> tuple[Array]:
        _check_gradient(function, n, g)
        out = _sizes(function, output_size, input, n)
        size = input.shape[-n:]
        wide = g.astype(np.float32) if g.dtype.itemsize == 2 else g
        tiles = _tiles(size, out)
        if tiles is not None:
            return (spread_evenly(wide / tiles.taps, tiles).astype(g.dtype),)
        if not numbers(*size, *out):
            return jax.vjp(lambda x: _adaptive_avg(function, n, x, output_size), input)[1](g)
        first = g.ndim - n
        for i, (s, o) in enumerate(zip(size, out, strict=True)):
            start, end = _bounds(s, o)
            share = wide / _along(end - start, first + i, wide)
            element = np.arange(s)  # the windows that an element lies in follow each other
            wide = _ranges_sum(
                share,
                first + i,
                np.searchsorted(end, element, "right"),
                np.searchsorted(start, element, "right"),
            )
        return (wide.astype(g.dtype),)

    return rule


@op(
    namespace="nn.functional",
    aliases=("adaptive_avg_pool1d",),
    aten="adaptive_avg_pool1d",
    strides="signal",
    node="SqueezeBackward1",
    implicit=True,
)
@schemas(". ; =out")
def adaptive_avg_pool1d(input: Array, output_size: int | tuple[int, ...]) -> Array:
    """Averages a sequence over ``output_size`` windows that cover it evenly.

    Shapes: input (N, C, L) or (C, L) -> (N, C, output_size) or (C, output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: for another rank, an empty sequence, or a negative size.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
        tensor([[1.5000, 3.5000]])
    """
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


def _node_of_average(n: int) -> Rule:
    whole = (1, (1,), (1,) * n)
    return lambda made: (
        "MeanBackward1" if made.given("output_size") in whole else f"AdaptiveAvgPool{n}DBackward0"
    )


@op(
    namespace="nn.functional",
    aten="adaptive_avg_pool2d",
    strides="image",
    native=False,
    node=_node_of_average(2),
    implicit=True,
    opaque=True,
)
@schemas("(Tensor self, SymInt[2] output_size) -> Tensor ; =out")
def adaptive_avg_pool2d(input: Array, output_size: int | tuple[int | None, ...] | None) -> Array:
    """Averages an image over windows that cover it evenly; None keeps the size of a dimension.

    Shapes: input (N, C, H, W) or (C, H, W) -> (N, C, *output_size) or (C, *output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: for another rank, an empty image, or a negative size.
        ValueError: for a tuple ``output_size``, if there are too few dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(8.0).reshape(1, 2, 4), (1, 2))
        tensor([[[2.5000, 4.5000]]])
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


derivative(
    A._adaptive_avg_pool2d, self=lambda g, self: A._adaptive_avg_pool2d_backward.default(g, self)
)


@op(
    namespace="nn.functional",
    aten="adaptive_avg_pool3d",
    native=False,
    node=_node_of_average(3),
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[3] output_size) -> Tensor ; =out")
def adaptive_avg_pool3d(input: Array, output_size: int | tuple[int | None, ...] | None) -> Array:
    """Averages a volume over windows that cover it evenly; None keeps the size of a dimension.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size) or (C, *output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: for another rank, an empty volume, or a negative size.
        ValueError: for a tuple ``output_size``, if there are too few dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_avg_pool3d(
        ...     torch.arange(8.0).reshape(1, 2, 2, 2), (2, 1, 1)
        ... ).flatten()
        tensor([1.5000, 5.5000])
    """
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


derivative(
    A._adaptive_avg_pool3d, self=lambda g, self: A._adaptive_avg_pool3d_backward.default(g, self)
)


for _n, _kernel in enumerate((adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d), 1):
    defvjp(_kernel, _adaptive_avg_rule(_kernel.__name__, _n), saves=())


# ------------------------------------------------------------------------------------------ maximum


def _sizes_of_maxima(function: str, n: int, input: Array, output_size: Sizes) -> tuple[int, ...]:
    """The output size, of an input that is what it must be."""
    out = _sizes(function, output_size, input, n)
    _check(function, input, out, n)
    _refuse("adaptive_max_pool2d" if n < 3 else "adaptive_max_pool3d_cpu", input)
    return out


def _adaptive_argmax(
    function: str, n: int, input: Array, output_size: Sizes
) -> tuple[Array, Array]:
    """The maxima and their flat places."""
    out = _sizes_of_maxima(function, n, input, output_size)
    size = input.shape[-n:]
    tiles = _tiles(size, out)
    if tiles is not None:
        values, tap = window_argmax(input, tiles)
        return values, flat_index(tap, tiles)
    if 0 in out:
        shape = (*input.shape[:-n], *out)
        return jnp.zeros(shape, input.dtype), jnp.zeros(shape, np.int64)
    first = input.ndim - n
    values = input
    places = jnp.broadcast_to(
        lax.iota(np.int64, math.prod(size)).reshape((1,) * first + size), input.shape
    )
    for i, (s, o) in reversed(list(enumerate(zip(size, out, strict=True)))):
        values, places = _ranges_argmax(values, places, first + i, *_bounds(s, o))
    return values, places


def _ranges_argmax(
    x: Array, places: Array, axis: int, start: Operand, end: Array | np.ndarray
) -> tuple[Array, Array]:
    if not isinstance(end, np.ndarray):
        return _varying_argmax(x, places, axis, start, end)
    best, where = jnp.take(x, start, axis), jnp.take(places, start, axis)
    for t in range(1, int((end - start).max(initial=0))):
        at = np.minimum(start + t, end - 1)
        value, place = jnp.take(x, at, axis), jnp.take(places, at, axis)
        inside = (start + t < end).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        better = take_over(value, best) & inside
        best, where = jnp.where(better, value, best), jnp.where(better, place, where)
    return best, where


def _varying_argmax(
    x: Array, places: Array, axis: int, start: Array, end: Array
) -> tuple[Array, Array]:
    """``_ranges_argmax`` where sizes vary: the first of equal values, the last nan."""
    each, inside = _each_window(x, axis, start, end)
    each, inside = jnp.broadcast_arrays(each, inside)
    chosen = jnp.where(inside, each, jnp.asarray(lowest(x.dtype), x.dtype))
    place = lax.broadcasted_iota(np.int64, inside.shape, axis + 1)
    best = extremum(chosen, axis + 1, keepdims=True, largest=True)
    found = inside & jnp.where(jnp.isnan(best), jnp.isnan(each), chosen == best)
    last, first = (
        jnp.where(found, place, -1).max(axis + 1),
        jnp.where(found, place, np.iinfo(np.int64).max).min(axis + 1),
    )
    at = jnp.where(jnp.isnan(best).squeeze(axis + 1), last, first)
    return jnp.take_along_axis(x, at, axis), jnp.take_along_axis(places, at, axis)


def _adaptive_max(
    function: str, n: int, input: Array, output_size: Sizes, return_indices: bool
) -> Tree:
    if not return_indices:
        out = _sizes_of_maxima(function, n, input, output_size)
        tiles = _tiles(input.shape[-n:], out)
        if tiles is not None:
            return window_max(input, tiles)
    values, places = _adaptive_argmax(function, n, input, output_size)
    return (values, places) if return_indices else values


def _adaptive_max_gradient(kernel, function: str, n: int, always_indices: bool) -> None:
    def fwd(input, output_size, return_indices=False):
        values, places = _adaptive_argmax(function, n, input, output_size)
        return (values, places) if always_indices or return_indices else values, (places,)

    def rule(g, residuals, input, output_size, return_indices=False):
        g = g[0] if always_indices or return_indices else g
        _check_gradient(function.removesuffix("_with_indices"), n, g)
        out, size = _sizes(function, output_size, input, n), input.shape[-n:]
        tiles = _tiles(size, out)
        if tiles is None:
            return (add_at(g, residuals[0], size),)
        return (spread_to_tap(g, _tap_of(residuals[0], tiles), tiles),)

    defvjp(kernel, rule, fwd=fwd, saves=("input",), shown=(1,))


def _tap_of(places: Array, tiles: Windows) -> Array:
    """The inverse of ``flat_index`` where windows are tiles."""
    tap, scale = jnp.zeros(places.shape, np.int32), 1
    rest = places
    for size, k in zip(reversed(tiles.size), reversed(tiles.kernel), strict=True):
        tap = tap + (rest % size % k * scale).astype(np.int32)
        rest, scale = rest // size, scale * k
    return tap


@op(
    namespace="nn.functional",
    aten="adaptive_max_pool1d",
    strides="signal",
    native=False,
    node="SqueezeBackward1",
    implicit=True,
)
@schemas("(Tensor self, int[1] output_size) -> (Tensor, Tensor)")
def adaptive_max_pool1d(
    input: Array, output_size: int | tuple[int, ...], return_indices: bool = False
) -> Array | tuple[Array, Array]:
    """The maxima of a sequence over ``output_size`` windows that cover it evenly, with
    ``return_indices`` also their places.

    Shapes: input (N, C, L) or (C, L) -> (N, C, output_size) or (C, output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). The places are
    int64.

    Raises:
        RuntimeError: for another rank, an empty sequence, or a negative size.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_max_pool1d(
        ...     torch.tensor([[1.0, 4.0, 3.0, 2.0]]), 2, return_indices=True
        ... )
        (tensor([[4., 3.]]), tensor([[1, 2]]))
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


@op(namespace="nn.functional", aten="adaptive_max_pool2d", strides="image", native=False)
@schemas("(Tensor self, int[2] output_size) -> (Tensor, Tensor) ; =out:out,indices")
def adaptive_max_pool2d(
    input: Array, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False
) -> Array | tuple[Array, Array]:
    """The maxima of an image over windows that cover it evenly, with ``return_indices`` also their
    places: ``row * W + column``.

    Shapes: input (N, C, H, W) or (C, H, W) -> (N, C, *output_size) or (C, *output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). The places are
    int64.

    Raises:
        RuntimeError: for another rank, an empty image, or a negative size.
        ValueError: for a tuple ``output_size``, if there are too few dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(8.0).reshape(1, 2, 4), (1, 2))
        tensor([[[5., 7.]]])
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


derivative(
    A.adaptive_max_pool2d,
    results=(0,),
    self=lambda g, self, result1: A.adaptive_max_pool2d_backward.default(g, self, result1),
)


@op(namespace="nn.functional", aten="adaptive_max_pool3d", native=False, autocast="cpu float32")
@schemas("(Tensor self, int[3] output_size) -> (Tensor, Tensor) ; =out:out,indices")
def adaptive_max_pool3d(
    input: Array, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False
) -> Array | tuple[Array, Array]:
    """The maxima of a volume over windows that cover it evenly, with ``return_indices`` also their
    places, counted in row-major order.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size) or (C, *output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). The places are
    int64.

    Raises:
        RuntimeError: for another rank, an empty volume, or a negative size.
        ValueError: for a tuple ``output_size``, if there are too few dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_max_pool3d(
        ...     torch.arange(8.0).reshape(1, 2, 2, 2), (2, 1, 1)
        ... ).flatten()
        tensor([3., 7.])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


derivative(
    A.adaptive_max_pool3d,
    results=(0,),
    self=lambda g, self, result1: A.adaptive_max_pool3d_backward.default(g, self, result1),
)


@op(
    namespace="nn.functional",
    aliases=("adaptive_max_pool1d",),
    native=("adaptive_max_pool1d",),
    aten="adaptive_max_pool1d",
    strides="signal",
    node="SqueezeBackward1",
    spelled={"adaptive_max_pool1d": {"return_indices": ""}},
)
def adaptive_max_pool1d_with_indices(
    input: Array,
    output_size: int | tuple[int, ...],
    return_indices: bool = False,
) -> tuple[Array, Array]:
    """``adaptive_max_pool1d`` that always returns the indices too; ``torch.adaptive_max_pool1d`` is
    this one.

    Shapes: input (N, C, L) or (C, L) -> twice (N, C, output_size) or (C, output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). The places are
    int64.

    Example:
        >>> import jtorch as torch
        >>> torch.adaptive_max_pool1d(torch.tensor([[1.0, 4.0, 3.0, 2.0]]), 2)
        (tensor([[4., 3.]]), tensor([[1, 2]]))
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, True)


@op(
    namespace="nn.functional",
    aten="adaptive_max_pool2d",
    strides="image",
    native=False,
    node="AdaptiveMaxPool2DBackward0",
)
def adaptive_max_pool2d_with_indices(
    input: Array,
    output_size: int | tuple[int | None, ...] | None,
    return_indices: bool = False,
) -> tuple[Array, Array]:
    """``adaptive_max_pool2d`` that always returns the indices too.

    Shapes: input (N, C, H, W) or (C, H, W) -> twice (N, C, *output_size) or (C, *output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). The places are
    int64.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_max_pool2d_with_indices(
        ...     torch.tensor([[[1.0, 4.0], [3.0, 2.0]]]), 1
        ... )
        (tensor([[[4.]]]), tensor([[[1]]]))
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, True)


@op(
    namespace="nn.functional",
    aten="adaptive_max_pool3d",
    native=False,
    node="AdaptiveMaxPool3DBackward0",
    autocast="cpu float32",
)
def adaptive_max_pool3d_with_indices(
    input: Array,
    output_size: int | tuple[int | None, ...] | None,
    return_indices: bool = False,
) -> tuple[Array, Array]:
    """``adaptive_max_pool3d`` that always returns the indices too.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> twice (N, C, *output_size) or (C,
    *output_size).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). The places are
    int64.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.adaptive_max_pool3d_with_indices(
        ...     torch.tensor([[[[1.0, 4.0], [3.0, 2.0]]]]), 1
        ... )
        (tensor([[[[4.]]]]), tensor([[[[1]]]]))
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, True)


for _n, _kernels in enumerate(
    (
        (adaptive_max_pool1d, adaptive_max_pool1d_with_indices),
        (adaptive_max_pool2d, adaptive_max_pool2d_with_indices),
        (adaptive_max_pool3d, adaptive_max_pool3d_with_indices),
    ),
    1,
):
    for _kernel in _kernels:
        _adaptive_max_gradient(_kernel, f"adaptive_max_pool{_n}d", _n, _kernel is _kernels[1])
