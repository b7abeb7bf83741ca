"""The Tensor methods that fill with random numbers, and what all sampling shares: draws, and the
order of memory they go in."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ...autograd.dual import has_tangent
from ...autograd.grad_mode import MODE
from ...autograd.names import camel, written
from ...core import Tensor, contiguous_strides, from_value, is_contiguous
from ...random import Generator, examples, next_key, refuse_same, twister_of, undisturbed
from ..bind.cores import composite
from ..draws import key_sampling as _key_sampling
from ..draws import sampling as _sampling
from ..draws.by_dtype import (
    C_NAMES,
    FLOAT_NAMES,
    Draw,
    KeyDraw,
    integer_draw,
    keyed,
    need,
    normal_draw,
    serial,
    uniform_draw,
)
from ..draws.mt19937 import Twister
from ..engine import (
    META,
    SPECIAL,
    concrete,
    default_device,
    forking,
    limits,
    meta_value,
    numbers_of,
    outside_jax,
    put,
    settled,
    values,
)
from ..facts import devices, dtypes
from ..facts.errors import must_be_tensor
from ..facts.warned_once import warn_once
from ..ops._facts import schemas
from ..tensor.running import inplace
from ..tensor.writing import check_inplace

if TYPE_CHECKING:
    from ..facts.kinds import Function


# ---- arrays in the order of memory ---------------------------------------------------------------


def drawn(
    draw: Draw, twister: Twister, shape: Sequence[int], strides: Sequence[int] | None = None
) -> np.ndarray:
    """An array of ``shape`` whose elements are drawn in the order in which a tensor of these
    strides has them in memory."""
    n = math.prod(shape)
    if strides is None or is_contiguous(tuple(shape), tuple(strides)):
        with twister.lock:
            return draw(twister, n, True).reshape(shape)
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    with twister.lock:
        found = draw(twister, n, False).reshape([shape[d] for d in order])
    return found.transpose(np.argsort(order))


_WITH_KEY = "put jtorch.jax.with_key(key) around the code that draws them"


def key_for(generator: Generator | None) -> None:
    """The JAX key for one draw, or None: then PyTorch's generator serves, of which a function that
    JAX compiles sees the numbers once."""
    key = next_key(generator)
    if key is None and not outside_jax():
        warn_once(
            (
                "Random numbers are drawn while JAX traces a function: a compiled one has the same "
                "numbers in every run. For new ones, "
            )
            + _WITH_KEY
        )
    return key


def from_key(
    key: object, by_key: KeyDraw, shape: tuple[int, ...], dtype: np.dtype, device: object
) -> Tensor:
    """A tensor of numbers drawn from a JAX key."""
    made = from_value(concrete(by_key(key, shape).astype(dtype)))
    return made if device is None or isinstance(made._aval.device, str) else made.to(device)


def taken(array: np.ndarray, device: devices.device | None = None) -> Tensor:
    """A tensor of an array that nobody else holds: its memory may be taken over, which is many
    times faster than a copy of a small one."""
    place = devices.placement(device)
    if place == default_device() and not values.on_host(place) and not forking.cannot_run():
        # JAX's shorter way compiles a program for each shape, which pays off where very many arrays
        # of one shape come.
        seen = _taken.get((array.shape, array.dtype), 0) + 1
        if seen == 1 and len(_taken) > _MANY:
            _taken.clear()
        _taken[array.shape, array.dtype] = seen
        if seen > _OFTEN:
            return from_value(concrete(jnp.asarray(array)))
    return from_value(put(array, place))


#: How often arrays of a shape and dtype came, and how many of them may cost 20 us more each before
#: 15 ms are well spent.
_taken: dict[Any, int] = {}
_OFTEN = 500
#: More shapes than this are not counted at once.
_MANY = 10_000


def numbers(
    draw: Draw, generator: Generator | None, shape: Sequence[int], strides: Sequence[int] | None,
    dtype: np.dtype, device: devices.device | None, apart: bool = False, place: object = None,
) -> Tensor:  # fmt: skip
    """A tensor of drawn numbers on ``device``, or where JAX has it, if ``place`` is given. Where a
    ``vmap`` wants different ones for its examples they are drawn all at once, or each ``apart``."""
    if not 0 < math.prod(shape) * dtype.itemsize <= limits.SMALL:
        limits.check_size(shape, dtype.itemsize)
    twister = twister_of(generator)
    if undisturbed() and outside_jax():
        found = drawn(draw, twister, shape, strides)
        if found.dtype != dtype:
            found = found.astype(dtype)
        if place is not None and values.on_host(place):
            return from_value(put(found, place))
        return taken(found, device if place is None else devices.of_placement(place))
    levels = examples()
    key = key_for(generator)
    if key is not None:
        made = from_key(
            key,
            draw.by_key,  # type: ignore[attr-defined]
            (*[level.size for level in levels], *shape),
            dtype,
            device,
        )
        for level in levels:
            made = level.spread(made)
        return made
    if not levels and place is not None and values.on_host(place):
        return from_value(
            put(drawn(draw, twister, shape, strides).astype(dtype, copy=False), place)
        )
    if place is not None:
        device = devices.of_placement(place)
    if not levels:
        return taken(drawn(draw, twister, shape, strides).astype(dtype, copy=False), device)
    sizes = [level.size for level in levels]
    if apart:
        found = np.stack(
            [drawn(draw, twister, shape, strides) for _ in range(math.prod(sizes))]
        ).reshape(*sizes, *shape)
    else:
        if strides is not None:
            strides = whole_strides(sizes, shape, strides)
        found = drawn(draw, twister, (*sizes, *shape), strides)
    made = taken(found.astype(dtype, copy=False), device)
    for level in levels:
        made = level.spread(made)
    return made


def whole_strides(
    sizes: Sequence[int], shape: Sequence[int], strides: Sequence[int]
) -> tuple[int, ...]:
    """Strides of all examples of a ``vmap``, of which one has the given ones: where its elements
    lie apart, others lie in between."""
    found: dict[int, int] = {}
    reach = 1
    for stride, size in sorted(zip(strides, shape, strict=True)):
        for i in reversed(range(len(sizes))):
            if (
                i not in found
                and size != 1
                and reach * sizes[i] <= stride
                and not stride % (reach * sizes[i])
            ):
                found[i] = reach
                reach *= sizes[i]
        if size != 1 and stride:
            reach = stride * size
    for i in reversed(range(len(sizes))):
        if i not in found:
            found[i] = reach
            reach *= sizes[i]
    return (*(found[i] for i in range(len(sizes))), *strides)


def blank(like: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor to fill with random numbers, with a place for each of the examples that get numbers
    of their own."""
    levels = examples()
    if like.is_meta:
        return from_value(meta_value((*[level.size for level in levels], *shape), _np(like)))
    limits.check_size(shape, _np(like).itemsize)
    made: Any = taken(np.zeros((*[level.size for level in levels], *shape), _np(like)), like.device)
    for level in levels:
        made = level.spread(made)
    return made


def of_examples(t: Tensor, v: Any) -> Tensor:
    """A copy of ``t`` for each of the examples that the value ``v`` is one of: what is written into
    it may differ between them."""
    levels = []
    while hasattr(v, "physical"):
        levels.append(v.level)
        v = v.physical
    levels.reverse()
    made = t.expand(*[level.size for level in levels], *t.shape).clone()
    for level in levels:
        made = level.spread(made)
    return made


def is_example(t: Tensor) -> bool:
    """Whether a tensor is one example of a running ``vmap``, whose values are not known one by
    one."""
    return hasattr(t._read(), "physical")


def is_traced(t: Tensor) -> bool:
    """Whether a tensor's values are not known because JAX traces."""
    return isinstance(t._read().array, jax.core.Tracer)


def sampled(
    sample: Callable[..., np.ndarray],
    by_key: Function,
    generator: Generator | None,
    *tensors: Tensor,
) -> Tensor:
    """Numbers that ``sample(twister, *arrays)`` draws for the values of ``tensors``, whose examples
    (in a ``vmap``) come first.

    From a JAX key ``by_key(key, *arrays)`` draws them, which looks at no value.

    Raises:
        RuntimeError: if a ``vmap`` wants the same numbers for examples that differ.
    """
    twister = twister_of(generator)
    given = [plain_numbers(t) for t in tensors]
    if all(v is not None for v in given):
        with twister.lock:
            return drawn_by(tensors[0], sample(twister, *given))
    refuse_same(*tensors)
    levels = examples()
    whole = [t.detach() for t in tensors]
    for level in reversed(levels):
        whole = [level.gathered(t) for t in whole]
    key = key_for(generator)
    if key is None and any(map(is_traced, whole)):
        raise RuntimeError(
            "random numbers that depend on values which JAX traces can only come from a key: "
            f"{_WITH_KEY}"
        )
    if key is not None:
        made = from_value(concrete(by_key(key, *[t.jax() for t in whole])))
    else:
        given = [on_host(t) for t in whole]
        with twister.lock:
            found = sample(twister, *given)
        made = taken(found, tensors[0].device)
    for level in levels:
        made = level.spread(made)
    return made


def plain_numbers(t: Tensor) -> np.ndarray | None:
    """The values of a tensor on the host, where drawing by them needs no more than these: no
    ``vmap``, no JAX key, nothing traced."""
    if not (undisturbed() and outside_jax()):
        return None
    v = t._read()
    if v.trace is SPECIAL or not values.on_host(v.aval.device):
        return None
    return on_host(t)


def drawn_by(t: Tensor, array: np.ndarray) -> Tensor:
    """Numbers drawn by what ``plain_numbers`` gave, as a tensor beside ``t``."""
    return from_value(put(array, t._aval.device))


def on_host(t: Tensor) -> np.ndarray:
    """A tensor's values in NumPy."""
    if t._aval.nbytes > limits.SMALL:
        limits.check_bytes(t._aval.nbytes)
    return numbers_of(t._read())


def strides_of(t: Tensor) -> tuple[int, ...]:
    """A tensor's strides in elements."""
    return t._strides or contiguous_strides(t._aval.shape)


def _check_overlap(t: Tensor) -> None:
    if t._aval.size and any(
        s == 0 and n > 1 for s, n in zip(strides_of(t), t._aval.shape, strict=True)
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def fill(name: str, self: Tensor, generator: Generator | None, draw: Draw) -> Tensor:
    """Writes drawn numbers into a tensor, with no gradient from before."""
    if not isinstance(self, Tensor):
        raise must_be_tensor(name, "self", 1, self)
    check_inplace(self)
    aval, strides = self._aval, self._strides
    if (
        strides is None
        and values.on_host(aval.device)
        and aval.nbytes <= limits.SMALL
        and undisturbed()
        and outside_jax()
    ):
        # the short way of ``numbers``, for what it knows of a tensor that is there
        twister = twister_of(generator)
        with twister.lock:
            found = draw(twister, aval.size, True)
        if found.dtype != aval.dtype:
            found = found.astype(aval.dtype)
        return _put(name, self, from_value(settled(found.reshape(aval.shape), aval)))
    if aval.device == META:
        twister_of(generator)  # refused there too
        return self
    if strides is not None:
        _check_overlap(self)
    if examples():
        strides = strides_of(self)
    elif strides is not None and is_example(self):
        # where examples get the same numbers, these are drawn for one of them by itself
        strides = None
    return _put(
        name,
        self,
        numbers(draw, generator, aval.shape, strides, aval.torch_dtype.np, None, place=aval.device),
    )


def _put(name: str, self: Tensor, fresh: Tensor) -> Tensor:
    if self._rg and MODE.enabled:
        number = {"bernoulli_": 2, "random_": 2}.get(name, 0)
        return written(self.copy_(fresh), f"{camel(name)}Backward{number}")
    return self.copy_(fresh) if has_tangent(self) else inplace(self, fresh)


def _np(t: Tensor) -> np.dtype:
    return t.dtype.np


# ---- filling -------------------------------------------------------------------------------------


@functools.cache
def _largest(dtype: dtypes.dtype) -> float:
    return dtypes.finfo(dtype).max


def _check_uniform(dtype: dtypes.dtype, low: float, high: float) -> None:
    """Raises unless the bounds, and what lies between them, are numbers of a real dtype."""
    largest = _largest(dtype)
    for name, bound in (("from", low), ("to", high)):
        if not abs(bound) <= largest:
            raise RuntimeError(f"{name} is out of bounds for {FLOAT_NAMES[dtype.np.name]}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype.scalar_name}>::max(), but "
            f"found to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas(
    "uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor ; _ "
    "=out"
)
def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fills with numbers drawn evenly from [from, to).

    Args:
        from_: the lower end of the interval.
        to: the upper end, which is not reached.
        generator: where random numbers come from; the default generator if it is None.

    Dtypes: floating-point and complex ones.

    Raises:
        RuntimeError: if ``from`` exceeds ``to``, or the range does not fit the dtype.
        NotImplementedError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(3).uniform_(2, 4)
        tensor([2.9925, 3.5364, 2.1770])
    """
    low, high = float(from_), float(to)
    draw = uniform_draw(self.dtype, low, high)
    if (low, high) != (0.0, 1.0):
        _check_uniform(self.dtype.to_real(), low, high)
    return fill("uniform_", self, generator, draw)


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas(
    "(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)"
)
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fills with normal numbers.

    Args:
        mean: the mean.
        std: the standard deviation.
        generator: where random numbers come from; the default generator if it is None.

    Dtypes: floating-point and complex ones.

    Raises:
        RuntimeError: if ``std`` is negative.
        NotImplementedError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(3).normal_(10, 2)
        tensor([13.0820,  9.4131,  5.6424])
    """
    return fill("normal_", self, generator, normal_draw(self.dtype, float(mean), float(std)))


#: Stands for the second bound of ``random_`` where none was given: None is a bound.
_LEFT_OUT: Any = object()


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas(
    "random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor ; _ "
    "=from_out",
    "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor ; _ =to_out",
    "random(Tensor self, *, Generator? generator=None) -> Tensor ; _ =out",
)
def random_(
    self: Tensor,
    from_: Any = None,
    to: int | None = _LEFT_OUT,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fills with integers drawn evenly from [from, to); ``random_(to)`` begins at 0; without bounds
    all that the dtype holds exactly.

    Dtypes: all real ones and bool.

    Raises:
        RuntimeError: if the range is empty or has bounds that the dtype does not hold.
        NotImplementedError: for complex tensors without bounds (with bounds: RuntimeError).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.zeros(4, dtype=torch.int64).random_(10)
        tensor([4, 9, 3, 0])
    """
    for bound in (from_, to):
        if isinstance(bound, float):
            raise TypeError("random_() received an invalid combination of arguments - got (float)")
    dtype = self.dtype
    if from_ is None and to is _LEFT_OUT:
        need("random_kernel_cpu", dtype, (dtypes.BOOL, dtypes.INTEGRAL, dtypes.FLOATING))
        return fill("random_", self, generator, serial(_sampling.whole_range, dtype.np))
    # random_(5) says "below 5", random_(5, None) "from 5 on"
    low, high = (0, from_) if to is _LEFT_OUT else (from_ or 0, to)
    return fill(
        "random_",
        self,
        generator,
        integer_draw(dtype, int(low or 0), None if high is None else int(high)),
    )


@composite(namespace="Tensor", operands=("self", "p"), refused_as="randomness")
@schemas(".float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills with ones of probability ``p`` (a number, or a tensor that broadcasts) and zeros.

    Dtypes: all real ones and bool; a tensor ``p`` is of a floating-point type.

    Raises:
        RuntimeError: if a probability is not between 0 and 1.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(5).bernoulli_(0.5)
        tensor([0., 0., 1., 0., 0.])
    """
    if isinstance(p, Tensor):
        _check_real("bernoulli_tensor_cpu_self_", self)
        if p.is_meta:
            return self
        if is_example(p) or examples() or is_traced(p):
            return _bernoulli_of_examples(self, p, generator)
        return fill(
            "bernoulli_", self, generator, _bernoulli_each(p, self._aval.shape, strides_of(self))
        )
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    _check_real("bernoulli_scalar_cpu_", self)
    return fill("bernoulli_", self, generator, serial(_sampling.below, float(p)))


def _check_real(kernel: str, t: Tensor) -> None:
    if t.dtype.is_complex:
        raise NotImplementedError(f'"{kernel}" not implemented for {t.dtype.scalar_name!r}')


def _bernoulli_of_examples(self: Tensor, p: Tensor, generator: Generator | None) -> Tensor:
    """``bernoulli_`` with the probabilities of all examples of a ``vmap``."""
    check_inplace(self)
    twister_of(generator)
    refuse_same(p)
    if is_example(p) and not p._read().may_replace(self._read()):
        raise RuntimeError(
            "vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a "
            "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
            "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
            "use out-of-place operators instead of inplace bernoulli. If said operator is being "
            "called inside the PyTorch framework, please file a bug report instead."
        )
    strides = whole_strides(
        [level.size for level in examples()], self._aval.shape, strides_of(self)
    )

    def sample(twister: Twister, each: np.ndarray) -> np.ndarray:
        check_probabilities(each)
        order = sorted(range(each.ndim), key=lambda d: -strides[d])
        flat = each.transpose(order)
        return (
            _sampling.below_each(twister, flat.reshape(-1))
            .reshape(flat.shape)
            .transpose(np.argsort(order))
        )

    made = sampled(sample, _key_sampling.below_each, generator, p.expand(self.shape))
    return _put("bernoulli_", self, made.to(self.dtype))


def check_probabilities(values: np.ndarray) -> None:
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message "
            "be improved?  If so, please report an enhancement request to PyTorch.)"
        )


def _bernoulli_each(p: Tensor, shape: Sequence[int], strides: Sequence[int]) -> Draw:
    """Draws with a probability for each element, given in the order of memory too."""
    if not p.dtype.is_floating_point:
        raise NotImplementedError(
            f'"bernoulli_tensor_cpu_p_" not implemented for {p.dtype.scalar_name!r}'
        )
    values = on_host(p.detach())
    check_probabilities(values)
    for d in range(1, values.ndim + 1):
        if d > len(shape) or values.shape[-d] not in (1, shape[-d]):
            size = shape[-d] if d <= len(shape) else 1
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size "
                f"({values.shape[-d]}) at non-singleton dimension {len(shape) - d}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(values.shape)}"
            )
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    flat = np.broadcast_to(values, tuple(shape)).transpose(order).reshape(-1)

    def draw(twister: Twister, n: int, contiguous: bool) -> np.ndarray:
        del n, contiguous
        return _sampling.below_each(twister, flat)

    return keyed(
        draw, lambda key, shape: _key_sampling.below_each(key, np.broadcast_to(values, shape))
    )


def _must_be_continuous(name: str, dtype: dtypes.dtype, names: dict[str, str]) -> None:
    if not dtype.is_floating_point:
        text = names.get(dtype.np.name) or dtype.scalar_name
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {text}"
        )


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas("exponential. ; _ =out")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills with numbers of the exponential distribution with rate ``lambd``.

    Dtypes: floating-point ones.

    Raises:
        RuntimeError: if ``lambd`` is not positive, or for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(3).exponential_(2.0)
        tensor([1.7542, 0.6152, 0.3075])
    """
    _must_be_continuous("Exponential", self.dtype, {})
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return fill("exponential_", self, generator, serial(_sampling.exponential, float(lambd)))


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas("geometric. ; _ =out")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fills with the numbers of trials up to the first success of probability ``p``.

    Dtypes: all real ones but bool.

    Raises:
        RuntimeError: if ``p`` is not between 0 and 1.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(5).geometric_(0.25)
        tensor([1., 2., 3., 1., 2.])
    """
    need("geometric_cpu", self.dtype, (dtypes.INTEGRAL, dtypes.FLOATING))
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return fill("geometric_", self, generator, serial(_sampling.geometric, float(p)))


#: GCC's names of types, as one message gives them.
_TYPE_NAMES = {
    **C_NAMES, "int16": "short int", "int64": "long int", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas("cauchy. ; _ =out")
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fills with numbers of the Cauchy distribution.

    Dtypes: floating-point ones.

    Raises:
        RuntimeError: if ``sigma`` is not positive, or for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(3).cauchy_(10.0, 0.5)
        tensor([15.2989, 10.3824,  9.9359])
    """
    _must_be_continuous("Cauchy", self.dtype, _TYPE_NAMES)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return fill("cauchy_", self, generator, serial(_sampling.cauchy, float(median), float(sigma)))


@composite(namespace="Tensor", operands=("self",), refused_as="randomness")
@schemas("log_normal. ; _ =out")
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Fills with numbers whose logarithms are normal with ``mean`` and ``std``.

    Dtypes: floating-point ones.

    Raises:
        RuntimeError: if ``std`` is not positive.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.empty(3).log_normal_(0.0, 1.0)
        tensor([4.6692, 0.7457, 0.1132])
    """
    need("log_normal_cpu", self.dtype, (dtypes.FLOATING,))
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    mean, std = float(mean), float(std)
    return fill("log_normal_", self, generator, serial(_sampling.log_normal, mean, std))
