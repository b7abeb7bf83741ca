"""Apple's GPUs, where JAX has a backend for them."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from ._src import engine as _engine
from ._src.borders.interop import synchronize as wait
from ._src.facts import devices as _devices
from ._src.facts.errors import not_offered
from ._src.refusals import stand_ins as _refusals
from .core import Tensor
from .random import get_rng_state as state
from .random import manual_seed as seed_all
from .random import set_rng_state as give

__path__: list[str] = []  # it has submodules in PyTorch, which are left out


def is_available() -> bool:
    """Whether JAX found one."""
    return device_count() > 0


def device_count() -> int:
    """How many JAX found."""
    return len(_devices.jax_devices("mps"))


def synchronize() -> None:
    """Runs what is pending and waits for it."""
    wait()


def empty_cache() -> None:
    """Runs what is pending; XLA keeps its pool."""
    _engine.flush()


def manual_seed(seed: int) -> None:
    """Seeds the generator: one serves all devices."""
    seed_all(seed)


def seed() -> None:
    """Seeds the generator from the operating system."""
    from .random import seed as seed_all

    seed_all()


def get_rng_state() -> Tensor:
    """The generator's state."""
    return state()


def set_rng_state(new_state: Tensor) -> None:
    """Gives the generator a state."""
    give(new_state)


def _stat(name: str) -> int:
    return (_devices.placement("mps").memory_stats() or {}).get(name, 0) if is_available() else 0


def current_allocated_memory() -> int:
    """Bytes in use."""
    return _stat("bytes_in_use")


def driver_allocated_memory() -> int:
    """Bytes that the allocator holds."""
    return _stat("pool_bytes")


def recommended_max_memory() -> int:
    """Bytes that may be used."""
    return _stat("bytes_limit")


def set_per_process_memory_fraction(fraction: float) -> None:
    """Not offered."""
    raise not_offered(
        "torch.mps.set_per_process_memory_fraction",
        "XLA takes its share when the process starts: XLA_PYTHON_CLIENT_MEM_FRACTION",
    )


__getattr__ = _refusals.missing(__name__)
