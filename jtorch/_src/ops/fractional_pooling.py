"""Maximum pooling over windows at places that are drawn, after Graham (2014), *Fractional
Max-Pooling*."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, defvjp, op
from ._pooling import add_at, take_over


def _fractional_check(
    n: int, input: Array, samples: Array, kernel: tuple[int, ...], out: tuple[int, ...]
) -> None:
    names = ("time", "height", "width")[-n:]
    function = "fractional_max_pool2d()" if n == 2 else "fractional_max_pool3d_out()"
    ints = "Ints" if n == 2 else "three Ints"
    if len(kernel) != n:
        raise RuntimeError(
            f"fractional_max_pool{n}d: kernel_size must either be a single Int or tuple of {ints}"
        )
    if len(out) != n:
        raise RuntimeError(
            f"fractional_max_pool{n}d: output_size must either be a single Int or tuple of {ints}"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"{function}: Expected {n + 1}D or {n + 2}D tensor, but got: {list(input.shape)}"
        )
    if 0 in input.shape[-n - 1 :]:
        raise RuntimeError(
            f"{function}: Expected input to have non-zero size for non-batch dimensions, but got "
            f"{list(input.shape)}"
        )
    for name, size, k, o in zip(names, input.shape[-n:], kernel, out, strict=True):
        # torch looks for the maximum of nothing, and names places that need not lie in the input
        if k < 1:
            raise RuntimeError(
                f"fractional_max_pool{n}d: kernel_size must be greater than zero, but got "
                f"{list(kernel)}"
            )
        if o + k - 1 > size - (n == 3):  # torch wants one more in volumes
            raise RuntimeError(
                f"{function}: pool {name} {k} too large relative to input {name} {size}"
            )
    if min(out) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(out)}: "
            f"{[*input.shape[:-n], *out]}"
        )
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = input.shape[0] if input.ndim == n + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[-n - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n} got {samples.shape[2]}.")


def _fractional(
    n: int, input: Array, samples: Array, kernel: tuple[int, ...], out: tuple[int, ...]
) -> tuple[Array, Array]:
    _fractional_check(n, input, samples, kernel, out)
    size, lead = input.shape[-n:], input.shape[:-n]
    planes = math.prod(lead)
    if 0 in (*lead, *out):
        return jnp.zeros((*lead, *out), input.dtype), jnp.zeros((*lead, *out), np.int64)
    samples = samples[: lead[0] if input.ndim == n + 2 else 1].reshape(planes, n)
    if n == 2:  # torch takes the first number for the width
        samples = samples[:, ::-1]
    values = input.reshape(planes, *size)
    places = jnp.broadcast_to(
        jnp.arange(math.prod(size), dtype=np.int64).reshape(size), values.shape
    )
    for i in reversed(range(n)):
        start = _fractional_starts(samples[:, i], size[i], out[i], kernel[i])
        start = start.reshape(planes, *[out[i] if j == i else 1 for j in range(n)])
        best = where = None
        for t in range(kernel[i]):
            value = jnp.take_along_axis(values, start + t, i + 1)
            place = jnp.take_along_axis(places, start + t, i + 1)
            if best is None or where is None:
                best, where = value, place
                continue
            better = take_over(value, best)
            best, where = jnp.where(better, value, best), jnp.where(better, place, where)
        assert best is not None
        assert where is not None
        values, places = best, where
    return values.reshape(*lead, *out), places.reshape(*lead, *out)


def _fractional_starts(sample: Array, size: int, out: int, kernel: int) -> Array:
    """Where each plane's windows begin, ``(planes, out)``."""
    last = jnp.full((sample.shape[0], 1), size - kernel, np.int64)
    if out == 1:
        return last
    alpha = jnp.asarray((size - kernel) / (out - 1), sample.dtype)
    steps = jnp.arange(out - 1, dtype=sample.dtype)
    begin = lax.convert_element_type(jnp.trunc((steps[None] + sample[:, None]) * alpha), np.int64)
    begin = begin - lax.convert_element_type(jnp.trunc(sample * alpha), np.int64)[:, None]
    return jnp.concatenate([begin, last], 1)


def _fractional_gradient(kernel_function, n: int) -> None:
    def fwd(input, random_samples, kernel_size, output_size):
        values, places = _fractional(n, input, random_samples, kernel_size, output_size)
        return (values, places), (places,)

    def rule(g, residuals, input, random_samples, _kernel_size, _output_size):
        return add_at(g[0], residuals[0], input.shape[-n:]), None

    defvjp(kernel_function, rule, fwd=fwd, shown=(1,))


@op(
    namespace="_C",
    aten="fractional_max_pool2d",
    underivable={"random_samples": lambda: "fractional_max_pool2d"},
)
def fractional_max_pool2d(
    input: Array, random_samples: Array, kernel_size: tuple[int, ...], output_size: tuple[int, ...]
) -> tuple[Array, Array]:
    """The maxima over windows of ``kernel_size`` at pseudo-random places, and their flat places;
    ``random_samples (N, C, 2)`` chooses."""
    return _fractional(2, input, random_samples, kernel_size, output_size)


@op(
    namespace="_C",
    aten="fractional_max_pool3d",
    underivable={"random_samples": lambda: "fractional_max_pool3d"},
)
def fractional_max_pool3d(
    input: Array, random_samples: Array, kernel_size: tuple[int, ...], output_size: tuple[int, ...]
) -> tuple[Array, Array]:
    """As ``fractional_max_pool2d``, over volumes; ``random_samples (N, C, 3)`` chooses."""
    return _fractional(3, input, random_samples, kernel_size, output_size)


_fractional_gradient(fractional_max_pool2d, 2)


_fractional_gradient(fractional_max_pool3d, 3)
