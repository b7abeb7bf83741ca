"""Sampling of images and volumes at given places: ``grid_sampler`` and the grids of affine maps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.host.direct import count_nonzero, where
from ..facts import dtypes
from ..facts.native import extension
from ._declare import Array, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._hosted import hosted
from ._sizes import counted, counting, fewer, numbers

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


def _check(input: Array, grid: Array, mode: int) -> None:
    n = input.ndim - 2
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with "
            f"sizes {list(grid.shape)}"
        )
    for axis in range(2, input.ndim):
        if input.shape[axis] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(input.shape)} with dimension {axis} being empty"
            )
    if n not in (2, 3) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
            f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if n == 3 and mode == BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype != grid.dtype:
        expected, found = (
            dtypes.from_np(input.dtype).scalar_name,
            dtypes.from_np(grid.dtype).scalar_name,
        )
        raise RuntimeError(f"expected scalar type {expected} but found {found}")
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise NotImplementedError(
            f'"grid_sampler_{n}d_cpu_kernel_impl" not implemented for '
            f"'{dtypes.from_np(input.dtype).scalar_name}'"
        )


def _unnormalized(x: Array, size: int, align_corners: bool) -> Array:
    """From [-1, 1] to places in the input."""
    return (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2


def _clip(x: Array, size: int) -> Array:
    """Clipped to the input, without gradient where that takes effect."""
    low, high = jnp.zeros((), x.dtype), jnp.asarray(size - 1, x.dtype)
    return jnp.where(x > 0, jnp.where(x < high, x, high), low)


def _reflected(x: Array, size: int, align_corners: bool) -> Array:
    """Mirrored at the middles of the outermost elements, or at their outer edges."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span <= 0:
        return jnp.zeros_like(x)
    away = jnp.abs(x - low)
    turns = jnp.floor(away / span)
    rest = away - jax.lax.stop_gradient(turns) * span
    back = jnp.mod(turns, 2) == 1
    return jnp.where(back, span - rest + low, rest + low)


def _place(x: Array, size: int, padding: int, align_corners: bool) -> Array:
    if padding == BORDER:
        return _clip(x, size)
    if padding == REFLECTION:
        return _clip(_reflected(x, size, align_corners), size)
    return x


def _picked(input: Array, places: list[Array]) -> Array:
    """The input at whole-numbered ``places`` (given as floats, one array (N, P) for each
    dimension), zero outside: ``(N, C, P)``."""
    inside = None
    flat = jnp.zeros(places[0].shape, np.int32 if fewer(input.size, 2**31) else np.int64)
    for size, p in zip(input.shape[2:], places, strict=True):
        within = (p >= 0) & (p <= size - 1)
        inside = within if inside is None else inside & within
        flat = flat * size + jnp.clip(jnp.nan_to_num(p), 0, size - 1).astype(flat.dtype)
    assert inside is not None
    rows = input.reshape(*input.shape[:2], -1)
    found = jax.vmap(lambda plane, at: plane[:, at])(rows, flat)
    return jnp.where(inside[:, None], found, jnp.zeros((), input.dtype))


def _multilinear(input: Array, places: list[Array]) -> Array:
    lows = [jax.lax.stop_gradient(jnp.floor(p)) for p in places]
    parts = [p - low for p, low in zip(places, lows, strict=True)]
    total = None
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight = None
        for part, side in zip(parts, corner, strict=True):
            factor = part if side else 1 - part
            weight = factor if weight is None else weight * factor
        assert weight is not None
        term = (
            _picked(input, [low + side for low, side in zip(lows, corner, strict=True)])
            * weight[:, None]
        )
        total = term if total is None else total + term
    assert total is not None
    return total


def _cubic_weights(part: Array) -> list[Array]:
    """Keys' cubic convolution with a = -0.75 at the four neighbours."""
    a = -0.75

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _bicubic(input: Array, places: list[Array], padding: int, align_corners: bool) -> Array:
    """Neighbours, not places, are brought back into the input."""
    lows = [jax.lax.stop_gradient(jnp.floor(p)) for p in places]
    weights = [_cubic_weights(p - low) for p, low in zip(places, lows, strict=True)]
    total = None
    for i, j in itertools.product(range(4), repeat=2):
        at = [
            jax.lax.stop_gradient(_place(low + (t - 1), size, padding, align_corners))
            for low, t, size in zip(lows, (i, j), input.shape[2:], strict=True)
        ]
        if padding != ZEROS:  # a reflection about an edge can fall between elements
            at = [jnp.floor(p) for p in at]
        term = _picked(input, at) * (weights[0][i] * weights[1][j])[:, None]
        total = term if total is None else total + term
    assert total is not None
    return total


# ---- by NumPy ------------------------------------------------------------------------------------

#: Of more elements than this, in all the neighbours together, one neighbour is taken after the
#: other.
_AT_ONCE = 1 << 15


def _placed(x: np.ndarray, sizes: np.ndarray, padding: int, align_corners: bool) -> np.ndarray:
    """``_place`` of all dimensions: coordinates (n, ...), sizes (n, 1, ...)."""
    if padding == ZEROS:
        return x
    if padding == REFLECTION:
        low, span = (0.0, sizes - 1) if align_corners else (-0.5, sizes)
        away = np.absolute(x - x.dtype.type(low))
        turns = np.floor(away / span)
        rest = away - turns * span
        x = np.where(np.equal(np.remainder(turns, 2), 1), span - rest, rest) + x.dtype.type(low)
        x = np.where(span <= 0, x.dtype.type(0), x)
    return np.fmin(np.fmax(x, 0), sizes - 1)  # NaN is at 0


def _cubic(part: np.ndarray) -> np.ndarray:
    """``_cubic_weights``: (n, ...) -> (n, 4, ...)."""
    a, number = -0.75, part.dtype.type
    away = np.absolute(
        np.subtract(
            np.array([-1, 0, 1, 2], part.dtype).reshape(4, *(1,) * (part.ndim - 1)), part[:, None]
        )
    )
    x, y = away[:, 1:3], away[:, ::3]
    found = np.empty_like(away)
    np.add((number(a + 2) * x - number(a + 3)) * x * x, number(1), found[:, 1:3])
    np.subtract(
        ((number(a) * y - number(5 * a)) * y + number(8 * a)) * y, number(4 * a), found[:, ::3]
    )
    return found


#: The same in C (``native/sampling.c``); None without the extension.
_native: Any = getattr(extension(), "sampled", None)
#: Of so many shapes at most it is remembered.
_MANY = 64


class _Sizes:
    """What of an input's shape alone is needed: sizes and last places of the dimensions, and where
    the planes begin."""

    __slots__ = ("base", "last", "less", "sizes")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        size = shape[2:]
        self.sizes = np.array(size, dtype).reshape(len(size), 1, 1)
        self.less = self.sizes - 1
        self.last = self.less[:, None]
        self.base = (np.arange(shape[0] * shape[1]) * math.prod(size)).reshape(*shape[:2], 1)


def _by_numpy(mode: int, padding: int, align_corners: int) -> Callable[..., np.ndarray]:
    """What samples on the host: the formulas' operations, of all neighbours and dimensions at
    once."""
    known: dict[Any, _Sizes] = {}
    numbers = {np.dtype(t): [np.array(n, t) for n in (0, 1, 2)] for t in (np.float32, np.float64)}
    next_ones = {t: np.array([0, 1], t).reshape(2, 1, 1) for t in numbers}
    sides = {t: next_ones[t][::-1] for t in numbers}

    def neighbours(x: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """From coordinates (n, N, P) to those of the neighbours, (n, T, N, P), and their weights in
        each dimension."""
        if mode != BICUBIC:
            x = _placed(x, sizes, padding, bool(align_corners))
        if mode == NEAREST:
            return np.rint(x)[:, None], None
        low = np.floor(x)
        part = np.subtract(x, low)
        if mode == BILINEAR:
            # (A distance from 1 or 0 is what 1 less it, or it, is.)
            return np.add(low[:, None], next_ones[x.dtype]), np.absolute(
                np.subtract(sides[x.dtype], part[:, None])
            )
        at = np.add(low[:, None], np.arange(-1, 3).astype(x.dtype).reshape(4, 1, 1))
        at = _placed(at, sizes[:, None], padding, bool(align_corners))
        return at if padding == ZEROS else np.floor(at), _cubic(part)

    def compute(input: np.ndarray, grid: np.ndarray) -> np.ndarray:
        (batch, channels, *size), dtype = input.shape, input.dtype
        zero, one, two = numbers[dtype]
        of = known.get((input.shape, dtype))
        if of is None:
            if len(known) >= _MANY:
                known.clear()
            of = known[input.shape, dtype] = _Sizes(input.shape, dtype)
        x = grid.transpose(2, 0, 1)[::-1] + one
        if align_corners:
            x /= two
            x *= of.less
        else:
            x *= of.sizes
            x -= one
            x /= two
        at, weights = neighbours(x, of.sizes)
        inside = np.bitwise_and(np.greater_equal(at, zero), np.less_equal(at, of.last))
        whole = np.fmin(np.fmax(at, zero), of.last).astype(np.int64)
        # The neighbours of all dimensions, combined: the last dimension's change fastest.
        flat, within, weight = whole[0], inside[0], None if weights is None else weights[0]
        for d in range(1, len(size)):
            shape = (-1, *x.shape[1:])
            flat = np.add((flat * size[d])[:, None], whole[d]).reshape(shape)
            within = np.bitwise_and(within[:, None], inside[d]).reshape(shape)
            if weight is not None and weights is not None:
                weight = np.multiply(weight[:, None], weights[d]).reshape(shape)
        planes = input.reshape(-1)

        def picked(k: object) -> np.ndarray:
            found, counts = planes.take(flat[k][..., None, :] + of.base), within[k]
            if count_nonzero(counts) != counts.size:
                found = where(counts[..., None, :], found, zero)
            return found if weight is None else np.multiply(found, weight[k][..., None, :])

        if len(flat) * batch * channels * x.shape[2] <= _AT_ONCE:
            terms = picked(slice(None))
            return np.add.reduce(terms, 0) if weight is not None else terms[0]
        total = picked(0)
        for k in range(1, len(flat)):
            total += picked(k)
        return total

    return compute


def _on_host(mode: int, padding: int, align_corners: int) -> Callable[..., np.ndarray]:
    by_numpy, native = _by_numpy(mode, padding, align_corners), _native

    def compute(input: np.ndarray, grid: np.ndarray) -> np.ndarray:
        if native is None or math.prod(input.shape[2:]) >= 1 << 31:
            return by_numpy(input, grid)
        return native(input, grid, mode, padding, align_corners)

    return compute


def _shape(input: Array, grid: Array, **_: object) -> tuple[int, ...]:
    return (*input.shape[:2], *grid.shape[1:-1])


@hosted(
    _on_host,
    ns=60 if _native is None else 8,
    calls=40 if _native is None else 1,
    elementwise=False,
    alike=False,
    kept=_native is not None,
    shape=_shape,
)
def _sampled(input: Array, grid: Array, *, mode: int, padding: int, align_corners: int) -> Array:
    """The input at the places of a grid (N, P, n): (N, C, P)."""
    n = input.ndim - 2
    places = [
        _unnormalized(grid[..., n - 1 - i], input.shape[2 + i], bool(align_corners))
        for i in range(n)
    ]
    if mode == BICUBIC:
        return _bicubic(input, places, padding, bool(align_corners))
    places = [
        _place(p, size, padding, bool(align_corners))
        for p, size in zip(places, input.shape[2:], strict=True)
    ]
    if mode == NEAREST:
        # halves go to the even neighbour, as in torch
        return _picked(input, [jnp.round(p) for p in places])
    return _multilinear(input, places)


# ---- functions -----------------------------------------------------------------------------------


@op(
    method=False,
    aten="grid_sampler",
    node=lambda made: f"GridSampler{made.ndims[0] - 2}DBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas(
    "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
    "Tensor"
)
def grid_sampler(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Samples ``input`` at the places that ``grid`` names by coordinates in [-1, 1], x first.

    ``interpolation_mode``: 0 bilinear, 1 nearest, 2 bicubic. ``padding_mode`` for places outside: 0
    zeros, 1 border, 2 reflection.

    Shapes: input (N, C, H, W), grid (N, H', W', 2) -> (N, C, H', W'); with one dimension more for
    volumes.
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: if shapes, dtypes or modes do not fit together.

    Example:
        >>> import jtorch as torch
        >>> grid = torch.tensor([[[[0.0, 0.0], [-0.5, 0.5]]]])
        >>> torch.grid_sampler(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), grid, 0, 0, False)
        tensor([[[[2.5000, 3.0000]]]])
    """
    _check(input, grid, interpolation_mode)
    shape = (*input.shape[:2], *grid.shape[1:-1])
    if any(type(n) is int and n == 0 for n in shape):
        return jnp.zeros(shape, input.dtype)
    flat = grid.reshape(grid.shape[0], -1, input.ndim - 2)
    result = _sampled(
        input, flat, mode=interpolation_mode, padding=padding_mode, align_corners=int(align_corners)
    )
    return result.reshape(shape)


@op(method=False, aten="grid_sampler_2d")
@schemas(
    "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
    "Tensor ; =out"
)
def grid_sampler_2d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """``grid_sampler`` of images.

    Shapes: input (N, C, H, W), grid (N, H', W', 2) -> (N, C, H', W').
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.grid_sampler_2d(
        ...     torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]),
        ...     torch.tensor([[[[0.5, 0.5]]]]),
        ...     1,
        ...     0,
        ...     False,
        ... )
        tensor([[[[4.]]]])
    """
    return _of_rank(4, input, grid, interpolation_mode, padding_mode, align_corners)


@op(method=False, aten="grid_sampler_3d")
@schemas(
    "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
    "Tensor ; =out"
)
def grid_sampler_3d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """``grid_sampler`` of volumes.

    Shapes: input (N, C, D, H, W), grid (N, D', H', W', 3) -> (N, C, D', H', W').
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.grid_sampler_3d(
        ...     torch.arange(8.0).reshape(1, 1, 2, 2, 2), torch.zeros(1, 1, 1, 1, 3), 0, 0, False
        ... )
        tensor([[[[[3.5000]]]]])
    """
    return _of_rank(5, input, grid, interpolation_mode, padding_mode, align_corners)


derivative(
    A.grid_sampler_2d,
    input__grid=lambda g, input, grid, interpolation_mode, padding_mode, align_corners, wants: (
        A.grid_sampler_2d_backward.default(
            g, input, grid, interpolation_mode, padding_mode, align_corners, wants
        )
    ),
)
derivative(
    A.grid_sampler_3d,
    input__grid=lambda g, input, grid, interpolation_mode, padding_mode, align_corners, wants: (
        A.grid_sampler_3d_backward.default(
            g, input, grid, interpolation_mode, padding_mode, align_corners, wants
        )
    ),
)


def _of_rank(
    ndim: int,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Array:
    if input.ndim != ndim:
        _check(input, grid, interpolation_mode)
        raise RuntimeError(
            f"grid_sampler_{ndim - 2}d(): expected {ndim}D input and grid with same number of "
            f"dimensions, but got input with sizes {list(input.shape)} and grid with sizes "
            f"{list(grid.shape)}"
        )
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@op(method=False, aten="affine_grid_generator", saves=())
@schemas("(Tensor theta, SymInt[] size, bool align_corners) -> Tensor ; =out")
def affine_grid_generator(theta: Array, size: tuple[int, ...], align_corners: bool) -> Array:
    """The grid, for ``grid_sampler``, of the affine maps ``theta`` applied to the places of an
    output of ``size``.

    Shapes: theta (N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); theta (N, 3, 4), size (N, C, D, H,
    W) -> (N, D, H, W, 3).
    Dtypes: that of ``theta``.

    Example:
        >>> import jtorch as torch
        >>> torch.affine_grid_generator(
        ...     torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.5]]]), [1, 1, 1, 2], False
        ... )
        tensor([[[[-0.5000,  0.5000],
                  [ 0.5000,  0.5000]]]])
    """
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {n + 1}] "
            f"but got: [{theta.shape[0]}, {n + 1}]."
        )
    lines = [_line(length, align_corners) for length in size[2:]]
    if numbers(*size[2:]):
        base = jnp.asarray(
            np.stack(
                [*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(size[2:])], -1
            ).reshape(-1, n + 1),
            theta.dtype,
        )
    else:
        mesh = reversed(jnp.meshgrid(*map(jnp.asarray, lines), indexing="ij"))
        base = (
            jnp.stack([*mesh, jnp.ones(size[2:], np.float64)], -1)
            .reshape(-1, n + 1)
            .astype(theta.dtype)
        )
    return jnp.einsum("pk,njk->npj", base, theta).reshape(size[0], *size[2:], n)


def _line(length: object, align_corners: bool) -> Array | np.ndarray:
    """The places of the middles of so many elements, or of them between both ends: of NumPy where
    their number is known."""
    if type(length) is int:
        line = np.linspace(-1, 1, length) if length > 1 else np.zeros(1)
        return line if align_corners else line * (length - 1) / length
    n = counted(length, np.dtype(np.float64))
    line = jnp.where(
        n > 1, counting(length).astype(np.float64) * (2 / jnp.maximum(n - 1, 1)) - 1, 0
    )
    return line if align_corners else line * (n - 1) / n
