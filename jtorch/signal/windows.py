"""Window functions of a length ``M``, symmetric or, with ``sym=False``, periodic. Constants of
their arguments, computed in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import jtorch as torch

__path__: list[str] = []  # it has submodules in PyTorch

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _check(name: str, M: int, dtype: object, layout: object) -> Any:
    """The dtype of a window.

    Raises:
        ValueError: for a negative length, or a dtype or layout that has no windows.
    """
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    wanted = torch.get_default_dtype() if dtype is None else dtype
    if wanted not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {wanted}")
    return wanted


def _made(
    M: int,
    values: Callable[..., object],
    dtype: torch.dtype | None,
    device: torch.device | int | str | None,
    requires_grad: bool,
) -> torch.Tensor:
    """The window; of one element it is 1, whatever the formula says."""
    array = np.ones(M) if M <= 1 else np.asarray(values(np.arange(M, dtype=np.float64)))
    return torch.tensor(array, dtype=dtype, device=device, requires_grad=requires_grad)


def _last(M: int, sym: bool) -> int:
    """Where the window ends: on its last element, or one after it if it is periodic."""
    return M - 1 if sym else M


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """``exp(-|n - center| / tau)``: it falls off on both sides of its centre.

    Raises:
        ValueError: if ``tau`` is not positive, or a symmetric window is given a centre.
    """
    dtype = _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _last(M, sym) / 2 if center is None else center
    return _made(M, lambda n: np.exp(-np.abs(n - middle) / tau), dtype, device, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """``sin(pi * (n + 1/2) / M)``: half a wave."""
    dtype = _check("cosine", M, dtype, layout)
    return _made(
        M,
        lambda n: np.sin(math.pi * (n + 0.5) / (M if sym else M + 1)),
        dtype,
        device,
        requires_grad,
    )


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A Gaussian of standard deviation ``std`` around the middle.

    Raises:
        ValueError: if ``std`` is not positive.
    """
    dtype = _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = _last(M, sym) / 2
    return _made(
        M, lambda n: np.exp(-(((n - middle) / std) ** 2) / 2), dtype, device, requires_grad
    )


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The Kaiser window: a ratio of Bessel functions of shape ``beta``.

    Raises:
        ValueError: if ``beta`` is negative.
    """
    dtype = _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(n: np.ndarray) -> np.ndarray:
        inside = np.maximum(1 - (2 * n / _last(M, sym) - 1) ** 2, 0)
        return np.i0(beta * np.sqrt(inside)) / np.i0(np.float64(beta))

    return _made(M, values, dtype, device, requires_grad)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A triangle that reaches zero at its ends."""
    dtype = _check("bartlett", M, dtype, layout)
    return _made(M, lambda n: 1 - np.abs(2 * n / _last(M, sym) - 1), dtype, device, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """``a[0] - a[1] * cos(x) + a[2] * cos(2 * x) - ...`` over one turn.

    Raises:
        TypeError: if ``a`` is no iterable.
        ValueError: if it is empty.
    """
    dtype = _check("general_cosine", M, dtype, layout)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    terms = list(a)
    if not terms:
        raise ValueError("Coefficients cannot be empty")

    def values(n: np.ndarray) -> np.ndarray:
        turn = 2 * math.pi * n / _last(M, sym)
        return sum(((-1) ** k * c * np.cos(k * turn) for k, c in enumerate(terms)), np.zeros(M))

    return _made(M, values, dtype, device, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """``alpha - (1 - alpha) * cos``."""
    return general_cosine(
        M,
        a=[alpha, 1 - alpha],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The Hamming window, a raised cosine that ends at 0.08."""
    return general_hamming(
        M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The Hann window, a raised cosine that ends at zero."""
    return general_hamming(
        M,
        alpha=0.5,
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The Blackman window: three cosine terms."""
    return general_cosine(
        M,
        a=[0.42, 0.5, 0.08],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: object = torch.strided,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """Nuttall's minimum four-term Blackman-Harris window."""
    terms = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(
        M, a=terms, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )
