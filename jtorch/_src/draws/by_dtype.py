"""Draws of a dtype: functions of a generator's state and a count, which say too how the same is
drawn from a JAX key."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..facts import dtypes
from ..facts.warned_once import outside
from . import key_sampling as _key_sampling
from . import sampling as _sampling
from .mt19937 import Twister

Draw = Callable[[Twister, int, bool], np.ndarray]
#: The same draw from a JAX key: the key and a shape give an array, which may be a tracer.
KeyDraw = Callable[[Any, tuple[int, ...]], Any]
#: C++ names of types, as the messages on bounds give them.
C_NAMES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "bool": "bool",
}
FLOAT_NAMES = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
}


def keyed(draw: Draw, by_key: KeyDraw) -> Draw:
    """``draw``, which says how it is done from a JAX key."""
    draw.by_key = by_key  # type: ignore[attr-defined]
    return draw


def need(kernel: str, dtype: dtypes.dtype, categories: tuple[int, ...]) -> None:
    """Refuses dtypes of other categories, in torch's words."""
    if dtype.category not in categories or (dtype.is_floating_point and dtype.itemsize == 1):
        raise NotImplementedError(f'"{kernel}" not implemented for {dtype.scalar_name!r}')


def _paired(draw: Draw) -> Draw:
    """Complex numbers from pairs of real ones."""

    def made(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        real = draw(twister, 2 * n, contiguous)
        return real.view(np.complex64 if real.dtype == np.float32 else np.complex128)

    def by_key(key: object, shape: tuple[int, ...]) -> jax.Array:
        pair = draw.by_key(key, (2, *shape))  # type: ignore[attr-defined]
        return jax.lax.complex(pair[0], pair[1])

    return keyed(made, by_key)


def uniform_draw(dtype: dtypes.dtype, low: float = 0.0, high: float = 1.0) -> Draw:
    """Draws numbers of ``dtype`` in [low, high)."""
    if low == 0.0 and high == 1.0:
        return _unit_draw(dtype)
    return _uniform_draw(dtype, low, high)


@functools.cache
def _unit_draw(dtype: dtypes.dtype) -> Draw:
    return _uniform_draw(dtype, 0.0, 1.0)


def _uniform_draw(dtype: dtypes.dtype, low: float, high: float) -> Draw:
    need("check_uniform_bounds", dtype, (dtypes.FLOATING, dtypes.COMPLEX))
    real = dtype.to_real().np

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del contiguous
        return _sampling.uniform(twister, n, low, high, real)

    keyed(draw, lambda key, shape: _key_sampling.uniform(key, shape, low, high, real))
    return _paired(draw) if dtype.is_complex else draw


def normal_draw(dtype: dtypes.dtype, mean: float = 0.0, std: float = 1.0) -> Draw:
    """Draws normal numbers of ``dtype``; complex ones have half of the variance in either part."""
    if std == 1.0 and type(mean) is float and not mean and math.copysign(1, mean) > 0:
        return _standard_draw(dtype)
    return _normal_draw(dtype, mean, std)


@functools.cache
def _standard_draw(dtype: dtypes.dtype) -> Draw:
    return _normal_draw(dtype, 0.0, 1.0)


def _normal_draw(dtype: dtypes.dtype, mean: float, std: float) -> Draw:
    need("normal_kernel_cpu", dtype, (dtypes.FLOATING, dtypes.COMPLEX))
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    real = dtype.to_real().np
    if dtype.is_complex:
        if isinstance(mean, complex) and mean.imag:
            raise NotImplementedError(
                "normal_() with a complex mean is not offered by jtorch: PyTorch takes real means "
                "only"
            )
        std = std / math.sqrt(2)

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        return _sampling.normal(twister, n, mean, std, real, contiguous)

    keyed(draw, lambda key, shape: _key_sampling.normal(key, shape, mean, std, real))
    return _paired(draw) if dtype.is_complex else draw


def integer_draw(dtype: dtypes.dtype, low: int, high: int | None) -> Draw:
    """Draws integers of ``dtype`` in [low, high), or up to the largest there is."""
    return (_warned_integers if dtype.is_floating_point else _integers)(dtype, low, high)


def _warned_integers(dtype: dtypes.dtype, low: int, high: int | None) -> Draw:
    if dtype.is_complex:
        check = "check_random_bounds" if high is not None else "random_from_to_impl"
        raise RuntimeError(f"{check} handles only integral, floating-point and boolean types")
    need(
        "random_from_to_kernel_cpu" if high is not None else "random_kernel_cpu",
        dtype,
        (dtypes.BOOL, dtypes.INTEGRAL, dtypes.FLOATING),
    )
    if high is None:
        span = _sampling.largest_whole(dtype.np) - low + 1
    else:
        if low >= high:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
            )
        span = high - low
        if not dtype.is_floating_point:
            smallest, largest = (
                (0, 1)
                if dtype is dtypes.bool_
                else (int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max))
            )
            for name, value in (("from", low), ("to - 1", high - 1)):
                if not smallest <= value <= largest:
                    raise RuntimeError(
                        f"{name} is out of bounds for {C_NAMES.get(dtype.np.name, dtype.np.name)}"
                    )
        else:
            exact = _sampling.largest_whole(dtype.np)
            digits = exact.bit_length() - 1
            for name, value in (("from", low), ("to - 1", high - 1)):
                if abs(value) > exact:
                    warnings.warn(
                        f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                        f"limitations {FLOAT_NAMES[dtype.np.name]} can support discrete uniform "
                        "distribution only within this range. This warning will become an error in "
                        "version 1.7 release, please fix the code in advance",
                        stacklevel=outside(),
                    )

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del contiguous
        return _sampling.integers(twister, n, low, span, dtype.np)

    return keyed(draw, lambda key, shape: _key_sampling.integers(key, shape, low, span, dtype.np))


#: How many draws with certain parameters are kept.
_DRAWS = 256
#: Of other types than floating-point ones, of which nothing is warned.
_integers = functools.lru_cache(_DRAWS)(_warned_integers)


@functools.lru_cache(_DRAWS)
def serial(function: Callable[..., np.ndarray], *parameters: object) -> Draw:
    """Draws one element after the other by a function of ``_sampling``, or by that of
    ``_key_sampling`` of the same name."""

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del contiguous
        return function(twister, n, *parameters)

    by_key = getattr(_key_sampling, function.__name__)
    return keyed(draw, lambda key, shape: by_key(key, shape, *parameters))
