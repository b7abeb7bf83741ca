"""Discrete Fourier transforms over XLA's, in torch's conventions for sizes, norms and errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.errors import canonical_dim
from ._declare import Array, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._nodes import Made, Rule

if TYPE_CHECKING:
    from ...core import Tensor


Sizes = int | tuple[int, ...] | None


def transform(**options: object):
    """Declares an op of the transforms: linear, so nothing is saved for its gradient."""
    return op(**{"namespace": "fft", "saves": (), "out": True, "family": "fft", **options})


# ---------------------------------------------------------------------------------------- arguments


def _scale(norm: str | None, inverse: bool, points: int) -> float:
    """What an unscaled transform over ``points`` is multiplied by."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return float(1 / np.sqrt(points))
    return 1.0 / points if inverse == (norm in (None, "backward")) else 1.0


def _inexact(x: Array) -> Array:
    """Integers and bool in the default dtype.

    Raises:
        RuntimeError: for types that there is no transform of.
    """
    d = dtypes.from_np(x.dtype)
    if d.category < dtypes.FLOATING:
        return x.astype(dtypes.get_default_dtype().np)
    if d.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {d.scalar_name}")
    return x


def _complex(x: Array) -> Array:
    x = _inexact(x)
    return (
        x
        if jnp.iscomplexobj(x)
        else x.astype(np.complex64 if x.dtype == np.float32 else np.complex128)
    )


def _real(x: Array, message: str) -> Array:
    if jnp.iscomplexobj(x):
        raise RuntimeError(message + dtypes.from_np(x.dtype).scalar_name)
    return _inexact(x)


def _dim(x: Array, dim: int) -> int:
    return canonical_dim(dim, x.ndim, wrap_scalar=False)


def _dims(x: Array, s: Sizes, dim: Sizes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions to transform and their sizes."""
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is None:
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions."
            )
        dims = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    else:
        dims = tuple(_dim(x, d) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = (
        tuple(x.shape[d] for d in dims)
        if s is None
        else tuple(x.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True))
    )
    return dims, sizes


def _check_points(*points: int) -> None:
    for n in points:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _resize(x: Array, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """``x`` cut off or filled up with zeros at the end of ``dims``."""
    config = [(0, 0, 0)] * x.ndim
    for d, n in zip(dims, sizes, strict=True):
        config[d] = (0, n - x.shape[d], 0)
    return lax.pad(x, jnp.zeros((), x.dtype), config) if any(map(any, config)) else x


# --------------------------------------------------------------------------------------- transforms


def _scaled(x: Array, factor: float) -> Array:
    return x if factor == 1 else x * jnp.asarray(factor, x.dtype)


def _on_last(x: Array, dims: tuple[int, ...], kind: lax.FftType, lengths: tuple[int, ...]) -> Array:
    """XLA's transform over ``dims`` (three at most), brought to the end and back."""
    last = tuple(range(x.ndim - len(dims), x.ndim))
    moved = jnp.moveaxis(x, dims, last) if dims != last else x
    result = lax.fft(moved, kind, lengths)
    return jnp.moveaxis(result, last, dims) if dims != last else result


def _c2c(x: Array, dims: tuple[int, ...], norm: str | None, inverse: bool) -> Array:
    points = 1
    for d in dims:
        points *= x.shape[d]
    factor = _scale(norm, inverse, points)
    if inverse:  # XLA divides by the number of points
        factor *= points
        factor = 1.0 if norm in (None, "backward") else factor
    kind = lax.FftType.IFFT if inverse else lax.FftType.FFT
    if not x.size:
        return x
    for at in range(0, len(dims), 3):
        some = dims[at : at + 3]
        x = _on_last(x, some, kind, tuple(x.shape[d] for d in some))
    return _scaled(x, factor)


def _r2c(x: Array, dims: tuple[int, ...]) -> Array:
    """The unscaled spectrum of a real array over up to three dimensions, of which the last is
    halved."""
    if not x.size:
        shape = [n // 2 + 1 if d == dims[-1] else n for d, n in enumerate(x.shape)]
        return jnp.zeros(shape, np.complex64 if x.dtype == np.float32 else np.complex128)
    return _on_last(x, dims, lax.FftType.RFFT, tuple(x.shape[d] for d in dims))


def _c2r(x: Array, dim: int, n: int, factor: float) -> Array:
    """The real array of ``n`` points whose half spectrum is ``x``, times ``factor`` over what XLA
    does: dividing by ``n``."""
    if not x.size:
        shape = [n if d == dim else k for d, k in enumerate(x.shape)]
        return jnp.zeros(shape, np.float32 if x.dtype == np.complex64 else np.float64)
    return _scaled(_on_last(x, (dim,), lax.FftType.IRFFT, (n,)), factor)


def _along(
    name: str, input: Array, n: int | None, dim: int, norm: str | None, inverse: bool
) -> Array:
    del name
    x = _complex(input)
    d = _dim(x, dim)
    points = x.shape[d] if n is None else n
    _check_points(points)
    return _c2c(_resize(x, (d,), (points,)), (d,), norm, inverse)


def _real_along(
    name: str, input: Array, n: int | None, dim: int, norm: str | None, inverse: bool
) -> Array:
    x = _real(input, f"{name} expects a real input tensor, but got ")
    d = _dim(x, dim)
    points = x.shape[d] if n is None else n
    _check_points(points)
    result = _scaled(_r2c(_resize(x, (d,), (points,)), (d,)), _scale(norm, inverse, points))
    return jnp.conj(result) if inverse else result


def _to_real_along(input: Array, n: int | None, dim: int, norm: str | None, inverse: bool) -> Array:
    x = _complex(input)
    d = _dim(x, dim)
    points = 2 * (x.shape[d] - 1) if n is None else n
    _check_points(points)
    x = _resize(x, (d,), (points // 2 + 1,))
    return _c2r(x if inverse else jnp.conj(x), d, points, _over_xla(norm, inverse, points))


def _over_xla(norm: str | None, inverse: bool, points: int) -> float:
    """The scale of a complex-to-real transform beyond XLA's division by ``points``."""
    factor = _scale(norm, inverse, points) * points
    return 1.0 if inverse and norm in (None, "backward") else factor


@transform(
    aten="fft_fft",
    strides="fft",
    node=lambda made: "FftC2CBackward0" if made.is_complex else "FftR2CBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out")
def fft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along ``dim``, of the input cut off or zero-padded to ``n``
    points.

    ``norm`` is ``"backward"`` (the default: the inverse divides by n), ``"forward"`` or ``"ortho"``
    (both by its root).

    Shapes: input (*) -> (*), of n elements along ``dim``.
    Dtypes: float32 -> complex64, float64 -> complex128, complex -> the same; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: for half precision, no points, or an unknown ``norm``.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.fft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _along("fft", input, n, dim, norm, False)


@transform(
    aten="fft_ifft",
    strides="fft",
    node=lambda made: "FftC2CBackward0" if made.is_complex else "ConjBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out")
def ifft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``fft``.

    Shapes: as for ``fft``.
    Dtypes: float32 -> complex64, float64 -> complex128, complex -> the same; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fft``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ifft(torch.tensor([10 + 0j, -2 + 2j, -2 + 0j, -2 - 2j])).real
        tensor([1., 2., 3., 4.])
    """
    return _along("ifft", input, n, dim, norm, True)


@transform(
    aten="fft_rfft", strides="rfft", node="FftR2CBackward0", autocast="cpu float32", implicit=True
)
@schemas("(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out")
def rfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The transform of a real input: only the ``n // 2 + 1`` frequencies that are not negative.

    Shapes: input (*) -> (*), of ``n // 2 + 1`` elements along ``dim``.
    Dtypes: float32 -> complex64, float64 -> complex128; integers and bool count as the default
    dtype.

    Raises:
        RuntimeError: for complex numbers, and as for ``fft``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _real_along("rfft", input, n, dim, norm, False)


@transform(
    aten="fft_irfft", strides="irfft", node="FftC2RBackward0", autocast="cpu float32", implicit=True
)
@schemas("(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out")
def irfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``rfft``; ``n``, by default ``2 * (m - 1)`` for m frequencies, is the size of
    the real result.

    Shapes: input (*) -> (*), of n elements along ``dim``.
    Dtypes: complex64 and float32 -> float32, complex128 and float64 -> float64; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fft``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.irfft(torch.tensor([10 + 0j, -2 + 2j, -2 + 0j]))
        tensor([1., 2., 3., 4.])
    """
    return _to_real_along(input, n, dim, norm, True)


@transform(
    aten="fft_hfft", strides="irfft", node="FftC2RBackward0", autocast="cpu float32", implicit=True
)
@schemas("(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out")
def hfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The real transform of a signal that is Hermitian in time and given by its half.

    The result has ``n`` points, by default ``2 * (m - 1)`` for m elements.

    Shapes: input (*) -> (*), of n elements along ``dim``.
    Dtypes: complex64 and float32 -> float32, complex128 and float64 -> float64; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fft``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.hfft(torch.tensor([1 + 0j, 1j, 0j]))
        tensor([ 1.,  3.,  1., -1.])
    """
    return _to_real_along(input, n, dim, norm, False)


@transform(
    aten="fft_ihfft", strides="ihfft", node="ConjBackward0", autocast="cpu float32", implicit=True
)
@schemas("(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out")
def ihfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``hfft``.

    Shapes: input (*) -> (*), of ``n // 2 + 1`` elements along ``dim``.
    Dtypes: float32 -> complex64, float64 -> complex128; integers and bool count as the default
    dtype.

    Raises:
        RuntimeError: for complex numbers, and as for ``fft``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ihfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([ 2.5000-0.0000j, -0.5000-0.5000j, -0.5000-0.0000j])
    """
    return _real_along("ihfft", input, n, dim, norm, True)


def _complex_nd(input: Array, s: Sizes, dim: Sizes, norm: str | None, inverse: bool) -> Array:
    x = _complex(input)
    dims, sizes = _dims(x, s, dim)
    _check_points(*sizes)
    return _c2c(_resize(x, dims, sizes), dims, norm, inverse)


def _real_nd(
    name: str, input: Array, s: Sizes, dim: Sizes, norm: str | None, inverse: bool
) -> Array:
    message = (
        "Only supports floating-point dtypes, but found: "
        if inverse
        else f"{name} expects a real-valued input tensor, but got "
    )
    x = _real(input, message)
    dims, sizes = _dims(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    _check_points(*sizes)
    x = _resize(x, dims, sizes)
    # the inverse of several would be their conjugate, but for the signs of zeros
    first = 1 if inverse else 3
    half = _scaled(_r2c(x, dims[-first:]), _scale(norm, inverse, math.prod(sizes[-first:])))
    return _c2c(jnp.conj(half) if inverse else half, dims[:-first], norm, inverse)


def _to_real_nd(
    name: str, input: Array, s: Sizes, dim: Sizes, norm: str | None, inverse: bool
) -> Array:
    x = _complex(input)
    dims, sizes = _dims(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    given = None if s is None else (s,) if isinstance(s, int) else s
    points = 2 * (x.shape[dims[-1]] - 1) if given is None or given[-1] == -1 else sizes[-1]
    _check_points(points, *sizes[:-1])
    x = _c2c(_resize(x, dims, (*sizes[:-1], points // 2 + 1)), dims[:-1], norm, inverse)
    return _c2r(x if inverse else jnp.conj(x), dims[-1], points, _over_xla(norm, inverse, points))


def _node_of_transform(real: str, dims: str = "dim") -> Rule:
    """A Fourier transform of complex numbers, or of real ones: then ``real`` if it is along one
    dimension only."""

    def rule(made: Made) -> str:
        if made.is_complex:
            return "FftC2CBackward0"
        several = made.given(dims)
        if several is None:
            several = made.given("s") or range(made.avals[0].ndim)
        return real if isinstance(several, int) or len(several) == 1 else "FftC2CBackward0"

    return rule


@transform(
    aten="fft_fftn",
    strides="fftn",
    node=_node_of_transform("FftC2CBackward0"),
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out")
def fftn(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] | None = None,
    norm: str | None = None,
) -> Array:
    """The discrete Fourier transform over ``dim`` (all dimensions, or the last ``len(s)``), with
    sizes ``s``.

    Shapes: input (*) -> (*), of the sizes ``s`` along ``dim``.
    Dtypes: float32 -> complex64, float64 -> complex128, complex -> the same; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: if ``s`` and ``dim`` do not fit, and as for ``fft``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.fftn(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])
    """
    return _complex_nd(input, s, dim, norm, False)


@transform(
    aten="fft_ifftn",
    strides="fftn",
    node=_node_of_transform("FftC2CBackward0"),
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out")
def ifftn(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``fftn``.

    Shapes: as for ``fftn``.
    Dtypes: float32 -> complex64, float64 -> complex128, complex -> the same; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ifftn(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])
    """
    return _complex_nd(input, s, dim, norm, True)


@transform(
    aten="fft_rfftn", strides="rfftn", node="FftR2CBackward0", autocast="cpu float32", implicit=True
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out")
def rfftn(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] | None = None,
    norm: str | None = None,
) -> Array:
    """The transform of a real input over ``dim``; the last of these keeps only the frequencies that
    are not negative.

    Shapes: input (*) -> (*), of the sizes ``s`` along ``dim`` but the last, along which it has
    ``s[-1] // 2 + 1`` elements.
    Dtypes: float32 -> complex64, float64 -> complex128; integers and bool count as the default
    dtype.

    Raises:
        RuntimeError: for complex numbers, and as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.rfftn(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).shape
        torch.Size([2, 2])
    """
    return _real_nd("rfftn", input, s, dim, norm, False)


@transform(
    aten="fft_irfftn",
    strides="irfftn",
    node="FftC2RBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out")
def irfftn(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``rfftn``; ``s`` is the shape of the real result, whose last size is even by
    default.

    Shapes: input (*) -> (*), of the sizes ``s`` along ``dim``.
    Dtypes: complex64 and float32 -> float32, complex128 and float64 -> float64; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.irfftn(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    return _to_real_nd("irfftn", input, s, dim, norm, True)


@transform(aten="fft_hfftn", strides="irfftn", node="FftC2RBackward0", dispatched="in parts")
@schemas("(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out")
def hfftn(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] | None = None,
    norm: str | None = None,
) -> Array:
    """The real transform of a signal that is Hermitian in time and given by its half along the last
    of ``dim``.

    Shapes: input (*) -> (*), of the sizes ``s`` along ``dim``.
    Dtypes: complex64 and float32 -> float32, complex128 and float64 -> float64; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.hfftn(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10., -2.],
                [-4.,  0.]])
    """
    return _to_real_nd("hfftn", input, s, dim, norm, False)


@transform(
    aten="fft_ihfftn",
    strides="ihfftn",
    node=_node_of_transform("ConjBackward0"),
    dispatched="in parts",
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out")
def ihfftn(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``hfftn``.

    Shapes: input (*) -> (*), of the sizes ``s`` along ``dim`` but the last, along which it has
    ``s[-1] // 2 + 1`` elements.
    Dtypes: float32 -> complex64, float64 -> complex128; integers and bool count as the default
    dtype.

    Raises:
        RuntimeError: for complex numbers, and as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ihfftn(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1.-0.j, 2.-0.j],
                [3.+0.j, 4.+0.j]])
    """
    return _real_nd("ihfftn", input, s, dim, norm, True)


@transform(
    aten="fft_fft2",
    strides="fftn",
    node=_node_of_transform("FftR2CBackward0"),
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out")
def fft2(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``fftn`` over two dimensions.

    Shapes: as for ``fftn``.
    Dtypes: float32 -> complex64, float64 -> complex128, complex -> the same; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.fft2(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])
    """
    return _complex_nd(input, s, dim, norm, False)


@transform(
    aten="fft_ifft2",
    strides="fftn",
    node=_node_of_transform("ConjBackward0"),
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out")
def ifft2(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``ifftn`` over two dimensions.

    Shapes: as for ``ifftn``.
    Dtypes: float32 -> complex64, float64 -> complex128, complex -> the same; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ifft2(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])
    """
    return _complex_nd(input, s, dim, norm, True)


@transform(
    aten="fft_rfft2", strides="rfftn", node="FftR2CBackward0", autocast="cpu float32", implicit=True
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out")
def rfft2(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``rfftn`` over two dimensions.

    Shapes: as for ``rfftn``.
    Dtypes: float32 -> complex64, float64 -> complex128; integers and bool count as the default
    dtype.

    Raises:
        RuntimeError: for complex numbers, and as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.rfft2(torch.ones(2, 2))
        tensor([[4.+0.j, 0.+0.j],
                [0.+0.j, 0.+0.j]])
    """
    return _real_nd("rfftn", input, s, dim, norm, False)


@transform(
    aten="fft_irfft2",
    strides="irfftn",
    node="FftC2RBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out")
def irfft2(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``irfftn`` over two dimensions.

    Shapes: as for ``irfftn``.
    Dtypes: complex64 and float32 -> float32, complex128 and float64 -> float64; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.irfft2(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    return _to_real_nd("irfftn", input, s, dim, norm, True)


@transform(aten="fft_hfft2", strides="irfftn", node="FftC2RBackward0", dispatched="in parts")
@schemas("(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out")
def hfft2(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``hfftn`` over two dimensions.

    Shapes: as for ``hfftn``.
    Dtypes: complex64 and float32 -> float32, complex128 and float64 -> float64; integers and bool
    count as the default dtype.

    Raises:
        RuntimeError: as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.hfft2(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10., -2.],
                [-4.,  0.]])
    """
    return _to_real_nd("hfftn", input, s, dim, norm, False)


@transform(
    aten="fft_ihfft2",
    strides="ihfftn",
    node=_node_of_transform("ConjBackward0"),
    dispatched="in parts",
)
@schemas("(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out")
def ihfft2(
    input: Array,
    s: int | tuple[int, ...] | None = None,
    dim: int | tuple[int, ...] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``ihfftn`` over two dimensions.

    Shapes: as for ``ihfftn``.
    Dtypes: float32 -> complex64, float64 -> complex128; integers and bool count as the default
    dtype.

    Raises:
        RuntimeError: for complex numbers, and as for ``fftn``.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ihfft2(torch.ones(2, 2))
        tensor([[1.-0.j, 0.-0.j],
                [0.+0.j, 0.+0.j]])
    """
    return _real_nd("ihfftn", input, s, dim, norm, True)


# ------------------------------------------------------------------------- derivatives as operators


def _fft_r2c(g: Tensor, self_: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if onesided:
        last = dim[-1] % self_.ndim
        half, whole = g._aval.shape[last], self_.shape[last]
        if whole > half:
            shape = list(g._aval.shape)
            shape[last] = whole
            made = A.new_zeros.default(g, shape)
            A.copy_.default(A.slice.Tensor(made, last, 0, half), g)
            g = made
    return D.real(A._fft_c2c.default(g, dim, normalization, False))


def _fft_c2r(g: Tensor, dim: Any, normalization: int) -> Any:
    found = A._fft_r2c.default(g, dim, normalization, True)
    twice = g._aval.shape[dim[-1]] - found._aval.shape[dim[-1]]
    if twice > 0:
        A.mul_.Scalar(A.slice.Tensor(found, dim[-1], 1, 1 + twice), 2)
    return found


derivative(A._fft_r2c, self=_fft_r2c)
derivative(A._fft_c2r, self=_fft_c2r)
derivative(
    A._fft_c2c,
    self=lambda g, dim, normalization, forward: A._fft_c2c.default(
        g, dim, normalization, not forward
    ),
)
