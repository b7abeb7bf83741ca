"""Generators of random numbers, and ``torch.random``. For the same seed a generator gives the
numbers that PyTorch's CPU generator gives.

Numbers are drawn on the host, at once, in program order, whatever device the tensor is on.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ._src.draws.mt19937 import Twister
from ._src.engine import THREADS, numbers_of
from ._src.engine.keys import KEYS, drawing_from, key_now
from ._src.facts import devices, dtypes
from .autograd.grad_mode import MODE
from .core import Tensor, from_host, wrap

if TYPE_CHECKING:
    from ._src.facts.kinds import Values


__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

_DEFAULT_SEED = 67280421310721


def _seed_of(value: int) -> int:
    """A seed as 64 bits; negative ones count from the end.

    Raises:
        ValueError: if it has more bits.
    """
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return value % (1 << 64)


class Generator:
    """A source of random numbers: pass it as ``generator=`` to the functions that draw.

    Args:
        device: the device whose random functions it serves; the CPU if it is None.

    Differs from torch: generators of other devices than the CPU give the CPU's numbers too.

    Example:
        >>> import jtorch as torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> torch.randn(2, generator=generator)
        tensor([ 1.5410, -0.2934])
    """

    def __init__(self, device: Any = None) -> None:
        self._device = devices.as_device("cpu" if device is None else device, "Generator")
        if self._device.type not in ("cpu", "cuda", "xpu", "mps", "mtia", "xla", "tpu"):
            raise RuntimeError(f"{self._device.type.upper()} device type not an accelerator.")
        self._twister = Twister(_DEFAULT_SEED)

    @property
    def device(self) -> Any:
        """The device that it is meant for.

        Example:
            >>> import jtorch as torch
            >>> torch.Generator().device
            device(type='cpu')
        """
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Starts anew from ``seed``; returns the generator.

        Raises:
            ValueError: if it does not fit 64 bits.
            RuntimeError: if it is no integer.

        Example:
            >>> import jtorch as torch
            >>> torch.Generator().manual_seed(7).initial_seed()
            7
        """
        if not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self._twister.reseed(_seed_of(seed.__index__()))
        return self

    def seed(self) -> int:
        """Starts anew from a seed that the operating system gives, and returns that.

        Example:
            >>> import jtorch as torch
            >>> generator = torch.Generator()
            >>> generator.seed() == generator.initial_seed()
            True
        """
        found = secrets.randbits(53)
        self._twister.reseed(found)
        return found

    def initial_seed(self) -> int:
        """The seed that it started from.

        Example:
            >>> import jtorch as torch
            >>> torch.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
            True
        """
        return self._twister.seed

    def get_state(self) -> Tensor:
        """The state in a tensor of bytes, in the form that PyTorch's CPU generators have.

        Example:
            >>> import jtorch as torch
            >>> generator = torch.Generator()
            >>> state = generator.get_state()
            >>> before = torch.rand(1, generator=generator)
            >>> _ = generator.set_state(state)
            >>> torch.equal(before, torch.rand(1, generator=generator))
            True
        """
        return from_host(self._twister.get_state(), "cpu")

    def set_state(self, new_state: Tensor) -> Generator:
        """Takes over a state; returns the generator.

        Raises:
            RuntimeError: if it is none.
            TypeError: if it is no tensor of bytes.

        Example:
            >>> import jtorch as torch
            >>> a, b = torch.Generator().manual_seed(1), torch.Generator()
            >>> _ = b.set_state(a.get_state())
            >>> torch.equal(torch.rand(1, generator=a), torch.rand(1, generator=b))
            True
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self._twister.set_state(numbers_of(new_state._read()))
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state.

        Example:
            >>> import jtorch as torch
            >>> a = torch.Generator().manual_seed(1)
            >>> b = a.clone_state()
            >>> torch.equal(torch.rand(1, generator=a), torch.rand(1, generator=b))
            True
        """
        made = Generator(self._device)
        made._twister.set_state(self._twister.get_state())
        return made

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Takes over another generator's state; returns this one.

        Example:
            >>> import jtorch as torch
            >>> a, b = torch.Generator().manual_seed(1), torch.Generator()
            >>> _ = b.graphsafe_set_state(a)
            >>> torch.equal(torch.rand(1, generator=a), torch.rand(1, generator=b))
            True
        """
        self._twister.set_state(state._twister.get_state())
        return self

    def get_offset(self) -> int:
        """CPU generators have no offset.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """CPU generators have no offset.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("CPU Generator does not use offset")

    def __setstate__(self, state: tuple[int, int | None, Tensor]) -> None:
        seed, _offset, numbers = state  # CPU generators have no offset
        self.manual_seed(seed)
        self.set_state(numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (str(self._device), self._twister.get_state().tobytes()))


Generator.__module__ = "torch._C"


def _restored(device: str, state: bytes) -> Generator:
    made = Generator(device)
    made._twister.set_state(np.frombuffer(state, np.uint8))
    return made


#: The generator that serves where none is given.
default_generator: Generator = Generator()
THREADS.locks.append(default_generator._twister.lock)


class _Restrictions(threading.local):
    """What the ``vmap`` calls that this thread is inside allow, outermost first."""

    def __init__(self) -> None:
        self.modes = []


_restrictions = _Restrictions()


@contextlib.contextmanager
def restricted(randomness: str, level: object) -> Iterator[None]:
    """The body of a ``vmap``: in ``"error"`` mode drawing raises, in ``"same"`` mode all examples
    get the same numbers.

    In ``"different"`` mode numbers are drawn for all examples at once, and ``level`` tells how many
    there are and takes them in.
    """
    _restrictions.modes.append((randomness, level))
    try:
        yield
    finally:
        _restrictions.modes.pop()


@contextlib.contextmanager
def unrestricted() -> Iterator[None]:
    """A block outside of every ``vmap``, as far as random numbers go."""
    before, _restrictions.modes = _restrictions.modes, []
    try:
        yield
    finally:
        _restrictions.modes = before


def examples() -> Values:
    """The running ``vmap`` levels whose examples get numbers of their own, outermost first."""
    return [level for mode, level in _restrictions.modes if mode == "different"]


def undisturbed() -> bool:
    """Whether no ``vmap`` and no block of ``with_key`` has a say in where random numbers come
    from."""
    return not _restrictions.modes and key_now() is None


def _refuse_batching() -> None:
    """Raises torch's error inside the ``vmap`` that autograd uses itself."""
    if MODE.batching:
        raise RuntimeError(
            "vmap: We do not yet support calling random operations inside of vmap. Please perform "
            "random operations outside of vmap as a workaround"
        )


def refuse_out(out: object) -> None:
    """Raises torch's error for random numbers that a ``vmap`` is to write into a tensor that is
    given."""
    if out is not None and _restrictions.modes:
        _refuse_batching()
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. "
            "Please use non-out variants as a workaround"
        )


def refuse_same(*tensors: Any) -> None:
    """Raises torch's error where a ``vmap`` wants the same numbers for examples whose parameters
    differ."""
    levels = [level for mode, level in _restrictions.modes if mode == "same"]
    if not levels:
        return
    for t in tensors:
        v = t._read()
        while hasattr(v, "physical"):
            if v.level in levels:
                raise RuntimeError(
                    "Vmap does not currently support same randomness with a batched tensor input. "
                    "Please file an issue with functorch"
                )
            v = v.physical


def refuse_vmap(operator: str) -> None:
    """Raises torch's error for an operation that no ``vmap`` takes."""
    if _restrictions.modes:
        raise RuntimeError(f"vmap: we do not yet support {operator}. Please file an issue")


def twister_of(generator: Generator | None) -> Twister:
    """The twister to draw from.

    Raises:
        TypeError: if ``generator`` is none.
        RuntimeError: inside a ``vmap`` that does not allow it.
    """
    for mode, _ in _restrictions.modes:
        if mode == "error":
            _refuse_batching()
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap"
            )
    if generator is None:
        return default_generator._twister
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be Generator, not {type(generator).__name__}")
    return generator._twister


@contextlib.contextmanager
def with_key(key: Any) -> Iterator[None]:
    """Inside the block, random functions that are given no generator draw from a JAX key, under
    ``jax.jit`` and ``jax.vmap`` too.

    Each draw splits the key: the numbers depend on the key and on the order of the draws, and on
    nothing else; ``manual_seed`` has no say. Blocks nest; each thread has its own.

    Args:
        key: of ``jax.random.key``, or of the old kind, two 32-bit words.

    Raises:
        TypeError: for anything else, or several keys.

    Example:
        >>> import jax
        >>> import jtorch as torch
        >>> @jax.jit
        ... def noise(key):
        ...     with torch.jax.with_key(key):
        ...         return torch.rand(2), torch.rand(2)
        >>> one, two = noise(jax.random.key(0))
        >>> torch.equal(one, noise(jax.random.key(0))[0]), torch.equal(one, two)
        (True, False)
    """
    typed = isinstance(key, jax.Array) and jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
    old = not typed and getattr(key, "dtype", None) == np.uint32 and getattr(key, "ndim", 0) == 1
    if not (old or (typed and key.ndim == 0)):
        raise TypeError(
            f"with_key(): expected one key of jax.random.key(), got {type(key).__name__}"
        )
    with drawing_from(jax.random.wrap_key_data(jax.numpy.asarray(key)) if old else key):
        yield


def next_key(generator: Generator | None) -> None:
    """A key for one draw, where a block of ``with_key`` is what it comes from; else None."""
    if generator is not None or key_now() is None:
        return None
    KEYS.stack[-1], key = jax.random.split(KEYS.stack[-1])
    return key


def manual_seed(seed: Any) -> Generator:
    """Starts the default generator anew from ``seed``, and returns it.

    Args:
        seed: a whole number; negative ones count from 2**64.

    Raises:
        ValueError: if it does not fit 64 bits.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.rand(2)
        tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Starts the default generator anew from a seed that the operating system gives, and returns
    that.

    Example:
        >>> import jtorch as torch
        >>> torch.seed() == torch.initial_seed()
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator started from.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(7)
        >>> torch.initial_seed()
        7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state in a tensor of bytes.

    Example:
        >>> import jtorch as torch
        >>> state = torch.get_rng_state()
        >>> before = torch.rand(1)
        >>> torch.set_rng_state(state)
        >>> torch.equal(before, torch.rand(1))
        True

    Differs from torch: inside ``jtorch.jax.with_key``, where draws come from a key, the state is
    that key.
    """
    key = key_now()
    if key is None:
        return default_generator.get_state()
    words = jax.lax.bitcast_convert_type(jax.random.key_data(key), np.uint8).reshape(-1)
    return wrap(jax.numpy.concatenate([_mark(key), words]))


def _mark(key: Any) -> np.ndarray:
    """What the state of a key begins with: its kind, whose length tells the kinds apart where the
    numbers are not known."""
    return np.frombuffer(f"jax.random.key of {jax.random.key_impl(key)}:".encode(), np.uint8)


def _key_of(state: Tensor, now: Any) -> Any:
    """The key that a state holds, of the same kind as ``now``."""
    if not isinstance(state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if state.dtype is not dtypes.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    numbers, mark, words = state.jax(), _mark(now), jax.random.key_data(now)
    fits = numbers.shape == (len(mark) + words.nbytes,)
    if fits and not isinstance(numbers, jax.core.Tracer):
        fits = np.array_equal(numbers[: len(mark)], mark)
    if not fits:
        raise RuntimeError(
            "set_rng_state(): inside jtorch.jax.with_key draws come from a key, so it takes what "
            "get_rng_state() gave in such a block with a key of the same kind "
            f"({jax.random.key_impl(now)}); other states are for code outside of it"
        )
    found = jax.lax.bitcast_convert_type(numbers[len(mark) :].reshape(-1, 4), np.uint32).reshape(
        words.shape
    )
    return jax.random.wrap_key_data(found, impl=jax.random.key_impl(now))


def set_rng_state(new_state: Tensor) -> None:
    """Gives the default generator a state.

    Differs from torch: inside ``jtorch.jax.with_key`` it takes the state of a key, and the draws
    that follow come from that.

    Raises:
        RuntimeError, TypeError: if it is no state, or one of the other kind.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> state = torch.get_rng_state()
        >>> _ = torch.rand(3)
        >>> torch.set_rng_state(state)
        >>> torch.rand(1)
        tensor([0.4963])
    """
    if (key := key_now()) is None:
        default_generator.set_state(new_state)
    else:
        KEYS.stack[-1] = _key_of(new_state, key)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[object] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: object = None,
) -> Iterator[None]:
    """A block after which the default generator, or the key that draws come from, is as it was
    before.

    One generator serves all devices, so ``devices`` and ``device_type`` change nothing.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> with torch.random.fork_rng():
        ...     inside = torch.rand(1)
        >>> torch.equal(inside, torch.rand(1))
        True
    """
    del devices, _caller, _devices_kw, device_type
    if not enabled:
        yield
        return
    state = default_generator._twister.get_state()
    try:
        with drawing_from(key_now()):
            yield
    finally:
        default_generator._twister.set_state(state)


def thread_safe_generator() -> Generator | None:
    """A generator of the calling worker thread, or None: there are none here, so None."""
    return None
