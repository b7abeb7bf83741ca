"""Tensors of random numbers, and the Tensor methods that fill with them. The numbers themselves are made in ``_sampling``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import _sampling, devices, dtypes
from .._mt19937 import Twister
from ..applying import inplace, write_out
from ..autograd.grad_mode import MODE
from ..binding import composite
from ..core import Tensor, check_inplace, contiguous_strides, from_host, from_value, is_contiguous
from ..engine import META, concrete, default_device, read
from ..errors import broadcast_shapes, must_be_tensor
from ..factories import check_dtype, check_options
from ..functional import PUBLIC
from ..random import Generator, twister_of

Draw = Callable[[Twister, int, bool], np.ndarray]

# ---- arrays in the order of memory -----------------------------------------------------------------------------------------------


def drawn(draw: Draw, twister: Twister, shape: Sequence[int], strides: Sequence[int] | None = None) -> np.ndarray:
    """An array of ``shape`` whose elements are drawn in the order in which a tensor of these strides has them in memory."""
    n = math.prod(shape)
    if strides is None or is_contiguous(tuple(shape), tuple(strides)):
        return draw(twister, n, True).reshape(shape)
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    found = draw(twister, n, False).reshape([shape[d] for d in order])
    return found.transpose(np.argsort(order))


def taken(array: np.ndarray, device: Any = None) -> Tensor:
    """A tensor of an array that nobody else holds: its memory may be taken over, which is many times faster than a copy of a small one."""
    place = devices.placement(device)
    return from_value(concrete(jnp.asarray(array) if place == default_device() else jax.device_put(array, place)))


def on_host(t: Tensor) -> np.ndarray:
    """A tensor's values in NumPy."""
    return np.asarray(read(t._read()))


def strides_of(t: Tensor) -> tuple[int, ...]:
    """A tensor's strides in elements."""
    return t._strides or contiguous_strides(t._aval.shape)


def _check_overlap(t: Tensor) -> None:
    if any(s == 0 and n > 1 for s, n in zip(strides_of(t), t._aval.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def _fill(name: str, self: Any, generator: Generator | None, draw: Draw) -> Any:
    """Writes drawn numbers into a tensor, with no gradient from before."""
    if not isinstance(self, Tensor):
        raise must_be_tensor(name, "self", 1, self)
    check_inplace(self)
    twister = twister_of(generator)
    if self._aval.device == META:
        return self
    _check_overlap(self)
    fresh = taken(drawn(draw, twister, self._aval.shape, strides_of(self)).astype(_np(self), copy=False), self.device)
    if self._rg and MODE.enabled:
        return self.copy_(fresh)  # type: ignore[attr-defined]
    return inplace(self, fresh)


def _np(t: Tensor) -> np.dtype:
    return t.dtype.np


# ---- draws -----------------------------------------------------------------------------------------------------------------------


def _need(kernel: str, dtype: dtypes.dtype, categories: tuple[int, ...]) -> None:
    if dtype.category not in categories or (dtype.is_floating_point and dtype.itemsize == 1):
        raise NotImplementedError(f'"{kernel}" not implemented for {dtype.scalar_name!r}')


def _paired(draw: Draw) -> Draw:
    """Complex numbers from pairs of real ones."""

    def made(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        real = draw(twister, 2 * n, contiguous)
        return real.view(np.complex64 if real.dtype == np.float32 else np.complex128)

    return made


def uniform_draw(dtype: dtypes.dtype, low: float = 0.0, high: float = 1.0) -> Draw:
    """Draws numbers of ``dtype`` in [low, high)."""
    _need("check_uniform_bounds", dtype, (dtypes.FLOATING, dtypes.COMPLEX))
    real = dtype.to_real().np

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del contiguous
        return _sampling.uniform(twister, n, low, high, real)

    return _paired(draw) if dtype.is_complex else draw


def normal_draw(dtype: dtypes.dtype, mean: float = 0.0, std: float = 1.0) -> Draw:
    """Draws normal numbers of ``dtype``; complex ones have half of the variance in either part."""
    _need("normal_kernel_cpu", dtype, (dtypes.FLOATING, dtypes.COMPLEX))
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    real = dtype.to_real().np
    if dtype.is_complex:
        if isinstance(mean, complex) and mean.imag:
            raise NotImplementedError("normal_() with a complex mean is not offered by jtorch: PyTorch takes real means only")
        std = std / math.sqrt(2)

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        return _sampling.normal(twister, n, mean, std, real, contiguous)

    return _paired(draw) if dtype.is_complex else draw


#: C++ names of types, as the messages on bounds give them.
_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long", "bool": "bool"}


def integer_draw(dtype: dtypes.dtype, low: int, high: int | None) -> Draw:
    """Draws integers of ``dtype`` in [low, high), or up to the largest there is."""
    _need("random_from_to_kernel_cpu" if high is not None else "random_kernel_cpu", dtype, (dtypes.BOOL, dtypes.INTEGRAL, dtypes.FLOATING))
    if high is None:
        span = _sampling.largest_whole(dtype.np) - low + 1
    else:
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        span = high - low
        if not dtype.is_floating_point:
            smallest, largest = (0, 1) if dtype is dtypes.bool_ else (int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max))
            for name, value in (("from", low), ("to - 1", high - 1)):
                if not smallest <= value <= largest:
                    raise RuntimeError(f"{name} is out of bounds for {_C_NAMES.get(dtype.np.name, dtype.np.name)}")

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del contiguous
        return _sampling.integers(twister, n, low, span, dtype.np)

    return draw


def _serial(function: Callable[..., np.ndarray], *parameters: float) -> Draw:
    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del contiguous
        return function(twister, n, *parameters)

    return draw


# ---- filling ---------------------------------------------------------------------------------------------------------------------


@composite(namespace="Tensor", operands=("self",))
def uniform_(self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Any:
    """Fills with numbers drawn evenly from [from, to)."""
    low, high = float(from_), float(to)
    draw = uniform_draw(self.dtype, low, high)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return _fill("uniform_", self, generator, draw)


@composite(namespace="Tensor", operands=("self",))
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fills with normal numbers."""
    return _fill("normal_", self, generator, normal_draw(self.dtype, float(mean), float(std)))


#: Stands for the second bound of ``random_`` where none was given: None is a bound.
_LEFT_OUT = type("_LeftOut", (), {"__repr__": lambda self: "..."})()


@composite(namespace="Tensor", operands=("self",))
def random_(self: Any, from_: Any = None, to: Any = _LEFT_OUT, *, generator: Any = None) -> Any:
    """Fills with integers drawn evenly from [from, to); ``random_(to)`` begins at 0; without bounds all that the dtype holds exactly."""
    for bound in (from_, to):
        if isinstance(bound, float):
            raise TypeError("random_() received an invalid combination of arguments - got (float)")
    dtype = self.dtype
    if from_ is None and to is _LEFT_OUT:
        _need("random_kernel_cpu", dtype, (dtypes.BOOL, dtypes.INTEGRAL, dtypes.FLOATING))
        return _fill("random_", self, generator, lambda twister, n, _: _sampling.whole_range(twister, n, dtype.np))
    low, high = (0, from_) if to is _LEFT_OUT else (from_ or 0, to)  # random_(5) says "below 5", random_(5, None) "from 5 on"
    return _fill("random_", self, generator, integer_draw(dtype, int(low or 0), None if high is None else int(high)))


@composite(namespace="Tensor", operands=("self", "p"))
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fills with ones of probability ``p`` (a number, or a tensor that broadcasts) and zeros."""
    if isinstance(p, Tensor):
        return _fill("bernoulli_", self, generator, _bernoulli_each(p, self._aval.shape, strides_of(self)))
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return _fill("bernoulli_", self, generator, _serial(_sampling.below, float(p)))


def _bernoulli_each(p: Tensor, shape: Sequence[int], strides: Sequence[int]) -> Draw:
    """Draws with a probability for each element, given in the order of memory too."""
    if not p.dtype.is_floating_point:
        raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for {p.dtype.scalar_name!r}')
    values = on_host(p.detach())  # type: ignore[attr-defined]
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    for d in range(1, values.ndim + 1):
        if d > len(shape) or values.shape[-d] not in (1, shape[-d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[-d] if d <= len(shape) else 1}) must match the existing size ({values.shape[-d]}) at "
                f"non-singleton dimension {len(shape) - d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(values.shape)}"
            )
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    flat = np.broadcast_to(values, tuple(shape)).transpose(order).reshape(-1)

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del n, contiguous
        return _sampling.below_each(twister, flat)

    return draw


def _must_be_continuous(name: str, dtype: dtypes.dtype, text: str) -> None:
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you specified {text}")


@composite(namespace="Tensor", operands=("self",))
def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Fills with numbers of the exponential distribution with rate ``lambd``."""
    _must_be_continuous("Exponential", self.dtype, self.dtype.scalar_name)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _fill("exponential_", self, generator, _serial(_sampling.exponential, float(lambd)))


@composite(namespace="Tensor", operands=("self",))
def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Fills with the numbers of trials up to the first success of probability ``p``."""
    _need("geometric_cpu", self.dtype, (dtypes.INTEGRAL, dtypes.FLOATING))
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _fill("geometric_", self, generator, _serial(_sampling.geometric, float(p)))


@composite(namespace="Tensor", operands=("self",))
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Fills with numbers of the Cauchy distribution."""
    _must_be_continuous("Cauchy", self.dtype, "long int" if self.dtype is dtypes.int64 else self.dtype.scalar_name)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _fill("cauchy_", self, generator, _serial(_sampling.cauchy, float(median), float(sigma)))


@composite(namespace="Tensor", operands=("self",))
def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Fills with numbers whose logarithms are normal with ``mean`` and ``std``."""
    _need("log_normal_cpu", self.dtype, (dtypes.FLOATING,))
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    mean, std = float(mean), float(std)
    return _fill("log_normal_", self, generator, lambda twister, n, _: np.exp(_sampling.normal_serial(twister, n) * std + mean))


# ---- factories -------------------------------------------------------------------------------------------------------------------


def _sizes(name: str, size: Any) -> tuple[int, ...]:
    """Sizes given spread or packed.

    Raises:
        TypeError: for anything but integers.
        RuntimeError: for negative ones.
    """
    packed = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    found = []
    for i, n in enumerate(packed):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{name}(): argument 'size' (position {i + 1}) must be tuple of ints, not {type(n).__name__}")
        found.append(n.__index__())
    for n in found:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {found}")
    return tuple(found)


def _given_sizes(name: str, spread: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    if (size is None) == (not spread):
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(type(n).__name__ for n in spread)})")
    return _sizes(name, spread if size is None else (tuple(size) if isinstance(size, (tuple, list)) else size,))


def _made(
    name: str, shape: tuple[int, ...], draw: Draw, dtype: dtypes.dtype, generator: Any, out: Any, layout: Any, device: Any, requires_grad: bool
) -> Any:
    """A new tensor of drawn numbers, or ``out`` filled with them."""
    check_options(name, layout, False)
    twister = twister_of(generator)
    if out is None and devices.placement(device) == META:
        return from_host(np.broadcast_to(np.zeros((), dtype.np), shape), device, requires_grad)
    fresh = drawn(draw, twister, shape).astype(dtype.np, copy=False)
    if out is not None:
        return write_out(taken(fresh, out.device), out, name)
    made = taken(fresh, device)
    if requires_grad:
        made.requires_grad = True
    return made


def _wanted(name: str, dtype: Any, out: Any, default: dtypes.dtype) -> dtypes.dtype:
    given = check_dtype(name, dtype)
    return given or (out.dtype if isinstance(out, Tensor) else default)


@composite(operands=("out",))
def rand(
    *sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A tensor of numbers drawn evenly from [0, 1)."""
    del pin_memory
    kind = _wanted("rand", dtype, out, dtypes.get_default_dtype())
    return _made("rand", _given_sizes("rand", sizes, size), uniform_draw(kind), kind, generator, out, layout, device, requires_grad)


@composite(operands=("out",))
def randn(
    *sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A tensor of standard normal numbers."""
    del pin_memory
    kind = _wanted("randn", dtype, out, dtypes.get_default_dtype())
    return _made("randn", _given_sizes("randn", sizes, size), normal_draw(kind), kind, generator, out, layout, device, requires_grad)


@composite(operands=("out",))
def randint(
    *bounds: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A tensor of integers drawn evenly from [low, high): ``randint(high, size)`` or ``randint(low, high, size)``. int64 by default."""
    del pin_memory
    given = list(bounds)
    if size is None and given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    names = [n for n, v in (("low", low), ("high", high)) if v is None]
    if len(given) == 1 and low is None:
        names = ["high"] if high is None else ["low"]
    if size is None or len(given) > len(names):
        raise TypeError(f"randint() received an invalid combination of arguments - got ({', '.join(type(b).__name__ for b in bounds)})")
    placed = dict(zip(names, given, strict=False))
    low, high = placed.get("low", low), placed.get("high", high)
    if high is None:
        raise TypeError('randint() missing 1 required positional arguments: "high"')
    kind = _wanted("randint", dtype, out, dtypes.int64)
    draw = integer_draw(kind, int(low or 0), int(high))
    return _made("randint", _sizes("randint", (tuple(size),)), draw, kind, generator, out, layout, device, requires_grad)


@composite(operands=("out",))
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The integers below ``n`` in random order. int64 by default."""
    del pin_memory
    kind = _wanted("randperm", dtype, out, dtypes.int64)
    shape = _sizes("randperm", (n,))
    _need("randperm", kind, (dtypes.INTEGRAL, dtypes.FLOATING))
    if n - 1 > _sampling.largest_whole(kind.np):
        if not kind.is_floating_point:
            raise RuntimeError(f"value cannot be converted to type {kind.np.name}_t without overflow")
        raise RuntimeError(f"n is too large for result tensor type: '{kind.legacy}'")
    return _made("randperm", shape, lambda twister, n, _: _sampling.permutation(twister, n), kind, generator, out, layout, device, requires_grad)


def _like(input: Any, options: dict[str, Any], requires_grad: bool, fill: Callable[[Any], Any]) -> Any:
    made = fill(PUBLIC["empty_like"](input, **options))
    return made.requires_grad_(True) if requires_grad else made


@composite(operands=("input",))
def rand_like(
    input: Any, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """``rand`` of the shape, dtype and device of ``input``."""
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    return _like(input, options, requires_grad, lambda t: t.uniform_(generator=generator))


@composite(operands=("input",))
def randn_like(
    input: Any, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """``randn`` of the shape, dtype and device of ``input``."""
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    return _like(input, options, requires_grad, lambda t: t.normal_(generator=generator))


@composite(operands=("input",))
def randint_like(
    input: Any, low: Any = None, high: Any = None, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """``randint`` of the shape, dtype and device of ``input``: ``randint_like(input, high)`` or ``randint_like(input, low, high)``."""
    low, high = (0, low) if high is None else (low or 0, high)
    if high is None:
        raise TypeError('randint_like() missing 1 required positional arguments: "high"')
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    return _like(input, options, requires_grad, lambda t: _fill("random_", t, generator, integer_draw(t.dtype, int(low), int(high))))


# ---- draws that depend on tensors ------------------------------------------------------------------------------------------------


def _finished(name: str, made: Any, out: Any) -> Any:
    return made if out is None else write_out(made, out, name)


@composite(operands=("mean", "std", "out"))
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Normal numbers with a ``mean`` and ``std`` each, numbers or tensors that broadcast; of two numbers as many as ``size`` says."""
    del pin_memory
    if size is not None:
        kind = _wanted("normal", dtype, out, dtypes.get_default_dtype())
        draw = normal_draw(kind, float(mean), float(std))
        return _made("normal", _sizes("normal", (tuple(size),)), draw, kind, generator, out, layout, device, requires_grad)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise must_be_tensor("normal", "mean", 1, mean)
    tensors = [t.detach() for t in (mean, std) if isinstance(t, Tensor)]  # type: ignore[attr-defined]
    shape = broadcast_shapes(*(t._aval.shape for t in tensors))
    noise = PUBLIC["empty"](shape, dtype=tensors[0].dtype, device=tensors[0].device)
    if not isinstance(std, Tensor):
        return _finished("normal", noise.normal_(0, std, generator=generator) + tensors[0], out)
    if on_host(tensors[-1]).min(initial=0) < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")
    made = noise.normal_(generator=generator) * tensors[-1] + (tensors[0] if isinstance(mean, Tensor) else mean)
    return _finished("normal", made, out)


@composite(method=True, operands=("input", "out"))
def bernoulli(input: Any, p: float | None = None, *, generator: Any = None, out: Any = None) -> Any:
    """Ones with the probabilities that ``input`` holds (or all with ``p``), and zeros."""
    if isinstance(p, Tensor):
        raise TypeError("bernoulli() received an invalid combination of arguments - got (Tensor, Tensor)")
    source = input.detach()
    made = PUBLIC["empty"](source.shape, dtype=source.dtype, device=source.device)
    return _finished("bernoulli", made.bernoulli_(source if p is None else p, generator=generator), out)


@composite(method=True, operands=("input", "out"))
def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None) -> Any:
    """Indices drawn with the probabilities, in whatever scale, that the rows of ``input`` hold.

    Shapes: input (n) or (m, n) -> (num_samples) or (m, num_samples).

    Raises:
        RuntimeError: if probabilities are negative, not finite or all zero, or there are too few to draw without replacement.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.scalar_name}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    p = on_host(input.detach())
    rows = p.reshape(-1, p.shape[-1])
    if not (np.isfinite(rows) & (rows >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (rows.sum(axis=1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    twister = twister_of(generator)
    if replacement:
        found = _sampling.categories(twister, rows, num_samples)
    else:
        # The largest of p / Exp(1) is drawn with probability p, the next from the rest likewise, and so on.
        draw = _serial(_sampling.exponential, 1.0)
        races = (rows / drawn(draw, twister, p.shape, strides_of(input)).astype(p.dtype).reshape(rows.shape)).astype(np.float64)
        found = races.argmax(1)[:, None] if num_samples == 1 else np.argsort(-races, axis=1, kind="stable")[:, :num_samples]
    made = taken(found.reshape(*p.shape[:-1], num_samples).astype(np.int64), input.device)
    return _finished("multinomial", made, out)


@composite(namespace="_C", operands=("input",))
def _rrelu_slopes(input: Any, lower: float, upper: float, generator: Any = None) -> Any:
    """Slopes in [lower, upper) for the elements of ``input`` that are not positive, drawn one after the other, and 1 for the others."""
    values = on_host(input.detach())
    flat = np.ones(values.size, values.dtype)
    places = np.flatnonzero(values.reshape(-1) <= 0)
    flat[places] = _sampling.uniform(twister_of(generator), places.size, float(lower), float(upper), np.dtype(np.float64)).astype(values.dtype)
    return taken(flat.reshape(values.shape), input.device)
