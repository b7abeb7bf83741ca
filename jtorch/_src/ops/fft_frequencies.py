"""The frequencies that the results of Fourier transforms stand for, and their order."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..facts import dtypes
from ..facts.errors import canonical_dim
from ._declare import Array, Dtype, op
from ._facts import schemas
from .creation import factory


def _frequencies(name: str, n: int, numbers: np.ndarray, d: float, dtype: Dtype | None) -> Array:
    wanted = dtypes.get_default_dtype().np if dtype is None else np.dtype(dtype)
    category = dtypes.from_np(wanted).category
    if category < dtypes.FLOATING:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if category == dtypes.COMPLEX:
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{dtypes.from_np(wanted).scalar_name}'"
        )
    with np.errstate(all="ignore"):
        step = np.float64(1.0) / np.float64(n * d)
    # As in torch, the step is rounded before it is multiplied.
    return jnp.asarray(numbers, wanted) * jnp.asarray(step, wanted)


@factory(namespace="fft", sequence="counted", aten="fft_fftfreq")
@schemas(". ;")
def fftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> Array:
    """The frequencies of the ``n`` points of ``fft`` for samples that are ``d`` apart: from 0 up,
    then the negative ones.

    Shapes: (n).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if ``n`` is negative or ``dtype`` integral.
        NotImplementedError: for complex ones.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.fftfreq(5, d=0.1)
        tensor([ 0.,  2.,  4., -4., -2.])
    """
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    return _frequencies(
        "fftfreq", n, np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]), d, dtype
    )


@factory(namespace="fft", sequence="counted", aten="fft_rfftfreq")
@schemas(". ;")
def rfftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> Array:
    """The frequencies of the ``n // 2 + 1`` points of ``rfft`` for samples that are ``d`` apart.

    Shapes: (n // 2 + 1).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if ``dtype`` is integral.
        NotImplementedError: for complex ones.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.rfftfreq(5, d=0.1)
        tensor([0., 2., 4.])
    """
    return _frequencies("rfftfreq", n, np.arange(n // 2 + 1), d, dtype)


def _shift(input: Array, dim: int | tuple[int, ...] | None, halves: str) -> Array:
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    if not dims:
        raise RuntimeError("`shifts` required")
    dims = tuple(canonical_dim(d, input.ndim) for d in dims)
    shifts = tuple(
        input.shape[d] // 2 if halves == "down" else -(input.shape[d] // 2) for d in dims
    )
    return jnp.roll(input, shifts, dims)


@op(
    namespace="fft",
    saves=(),
    family="fft",
    aten="fft_fftshift",
    node="RollBackward0",
    implicit=True,
)
def fftshift(input: Array, dim: int | tuple[int, ...] | None = None) -> Array:
    """Brings the zero frequency to the middle of ``dim`` (all dimensions by default).

    Shapes: input (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.fftshift(torch.tensor([0, 1, 2, -2, -1]))
        tensor([-2, -1,  0,  1,  2])
    """
    return _shift(input, dim, "down")


@op(
    namespace="fft",
    saves=(),
    family="fft",
    aten="fft_ifftshift",
    node="RollBackward0",
    implicit=True,
)
def ifftshift(input: Array, dim: int | tuple[int, ...] | None = None) -> Array:
    """The inverse of ``fftshift``.

    Shapes: input (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _shift(input, dim, "up")
