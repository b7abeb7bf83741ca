"""``torch.cuda`` on what JAX offers: devices, synchronisation and memory figures of GPUs, where
there are any."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .. import random as _all_random
from .._src import engine as _engine
from .._src import hooks as _hooks
from .._src.borders import interop as _interop
from .._src.engine import OutOfMemoryError as OutOfMemoryError
from .._src.facts import devices as _devices
from .._src.facts.errors import not_offered
from .._src.refusals import stand_ins as _refusals
from ..core import Tensor
from .streams import Event as Event
from .streams import Stream as Stream
from .streams import need as _need


def is_available() -> bool:
    """Whether JAX found a GPU."""
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs that JAX found."""
    return len(_devices.jax_devices("cuda"))


def is_initialized() -> bool:
    """Whether there is a GPU: JAX starts with it."""
    return is_available()


def init() -> None:
    """Nothing to do: JAX starts by itself."""


#: What waits for a GPU that is not there.
_queued_calls: list[object] = []


def _lazy_call(callable: Callable[..., object], **kwargs: object) -> None:
    """Calls a function once CUDA is in use: at once if there is a GPU, else never."""
    if is_available():
        callable()
    else:
        _queued_calls.append(callable)


def current_device() -> int:
    """The index of the GPU that ``cuda`` without index means."""
    _need()
    return _devices.current_index("cuda")


def set_device(device: device | str | int | None) -> None:
    """Sets the GPU that ``cuda`` without index means."""
    index = device if isinstance(device, int) else _devices.as_device(device).index
    _devices.set_current_index("cuda", index or 0)


def _device(device: Any = None) -> Any:
    _need()
    if device is None:
        return _devices.placement("cuda")
    return _devices.placement(
        _devices.device("cuda", device) if isinstance(device, int) else device
    )


def synchronize(device: device | str | int | None = None) -> None:
    """Runs what is pending and waits for the GPU."""
    _need()
    _interop.synchronize()


def get_device_name(device: device | str | int | None = None) -> str:
    """The GPU's name."""
    return _device(device).device_kind


def _stats(device: object = None) -> dict[str, int]:
    return _device(device).memory_stats() or {} if is_available() else {}


def memory_allocated(device: object = None) -> int:
    """Bytes in use on the GPU; 0 without one."""
    return _stats(device).get("bytes_in_use", 0)


def max_memory_allocated(device: object = None) -> int:
    """The most bytes that were in use on the GPU; 0 without one."""
    return _stats(device).get("peak_bytes_in_use", 0)


def memory_reserved(device: object = None) -> int:
    """Bytes that the allocator holds on the GPU; 0 without one."""
    return _stats(device).get("pool_bytes", memory_allocated(device))


def empty_cache() -> None:
    """Runs what is pending; XLA keeps its pool."""
    _engine.flush()


def manual_seed(seed: int) -> None:
    """Seeds the generator; one generator serves all devices here."""
    if is_available():
        _all_random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds the generator from the operating system."""
    if is_available():
        _all_random.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed that the generator started from."""
    _need()
    return _all_random.initial_seed()


def get_rng_state(device: int | str | device = "cuda") -> Tensor:
    """The generator's state: one serves all devices."""
    _need()
    return _all_random.get_rng_state()


def set_rng_state(new_state: Tensor, device: int | str | device = "cuda") -> None:
    """Gives the generator a state."""
    if is_available():
        _all_random.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The generator's state, for each GPU."""
    return [get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Gives the generator the state of the last GPU."""
    for state in new_states:
        set_rng_state(state)


class device:
    """A block in which another GPU is the current one; without GPUs (or for None or a negative
    index), a block without effect."""

    def __init__(self, device: object) -> None:
        index = (
            device
            if isinstance(device, int) or device is None
            else _devices.as_device(device).index
        )
        self.index = -1 if index is None else index
        self.before = -1

    def __enter__(self) -> None:
        if self.index >= 0:
            self.before = current_device()
            set_device(self.index)

    def __exit__(self, *exc: object) -> None:
        if self.index >= 0:
            set_device(self.before)


class device_of(device):
    """A block in which a tensor's GPU is the current one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.is_cuda else None)


def max_memory_reserved(device: object = None) -> int:
    """The most bytes that the allocator held on the GPU; 0 without one."""
    return _stats(device).get("peak_pool_bytes", max_memory_allocated(device))


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Bytes free for this process on the GPU, and all that it may use."""
    _need()
    found = _stats(device)
    limit = found.get("bytes_limit", 0)
    return limit - found.get("bytes_in_use", 0), limit


def memory_stats(device: object = None) -> dict[str, int]:
    """The allocator's figures under torch's names, as far as XLA keeps them; empty without a
    GPU."""
    found = _stats(device)
    names = {
        "allocated_bytes.all.current": "bytes_in_use",
        "allocated_bytes.all.peak": "peak_bytes_in_use",
        "reserved_bytes.all.current": "pool_bytes",
        "reserved_bytes.all.peak": "peak_pool_bytes",
        "allocation.all.allocated": "num_allocs",
    }
    return {name: found[key] for name, key in names.items() if key in found}


def memory_summary(device: object = None, abbreviated: bool = False) -> str:
    """The figures of ``memory_stats``, one a line."""
    return "\n".join(f"{name}: {value}" for name, value in memory_stats(device).items())


def reset_peak_memory_stats(device: object = None) -> None:
    """Warns where there is a GPU and resets nothing: the peaks of XLA's allocator count from the
    start of the process."""
    if is_available():
        warnings.warn(
            "torch.cuda.reset_peak_memory_stats(): XLA's allocator keeps its peaks from the start "
            "of the process; they are not reset.",
            stacklevel=2,
        )


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = (
    reset_peak_memory_stats
)


def get_device_capability(device: device | str | int | None = None) -> tuple[int, int]:
    """The compute capability, such as (9, 0)."""
    major, _, minor = str(getattr(_device(device), "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


class _DeviceProperties:
    """What is known of a GPU."""

    def __init__(self, place: Any, capability: tuple[int, int]) -> None:
        self.name = place.device_kind
        self.major, self.minor = capability
        self.total_memory = (place.memory_stats() or {}).get("bytes_limit", 0)
        self.multi_processor_count = getattr(place, "core_count", 0)

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: device | str | int | None = None) -> _DeviceProperties:
    """Name, compute capability, memory (that this process may use) and the number of
    multiprocessors."""
    return _DeviceProperties(_device(device), get_device_capability(device))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: XLA computes bfloat16 on all of them."""
    return is_available()


def is_tf32_supported() -> bool:
    """Whether the GPU has TF32, from compute capability 8 on."""
    return is_available() and get_device_capability()[0] >= 8


def can_device_access_peer(
    device: device | str | int | None, peer_device: device | str | int | None
) -> bool:
    """Whether XLA copies between two GPUs: always, if they are there."""
    _device(device)
    _device(peer_device)
    return True


def get_arch_list() -> list[str]:
    """Empty: XLA compiles for the GPU it finds."""
    return []


def ipc_collect() -> None:
    """Nothing to do: memory is not shared between processes."""


def is_current_stream_capturing() -> bool:
    """False."""
    return False


def current_stream(device: device | str | int | None = None) -> Stream:
    """The only stream."""
    return Stream(device)


default_stream = current_stream


def set_stream(stream: Stream) -> None:
    """Nothing to do: there is one stream."""


class StreamContext:
    """A block without effect: there is one stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


stream = StreamContext


def set_per_process_memory_fraction(fraction: float, device: object = None) -> None:
    """Not offered: XLA takes its share when the process starts."""
    raise not_offered(
        "torch.cuda.set_per_process_memory_fraction",
        "XLA takes its share when the process starts: XLA_PYTHON_CLIENT_MEM_FRACTION",
    )


class CUDAGraph:
    """Not offered: XLA makes CUDA graphs of its programs by itself."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise not_offered("torch.cuda.CUDAGraph", "XLA makes CUDA graphs of its programs by itself")


def make_graphed_callables(callables: object, *args: object, **kwargs: object) -> Any:
    """Not offered: XLA makes CUDA graphs of its programs by itself."""
    raise not_offered(
        "torch.cuda.make_graphed_callables", "XLA makes CUDA graphs of its programs by itself"
    )


def _is_in_bad_fork() -> bool:
    """False: whether a fork lost CUDA is not known here."""
    return False


_SUBMODULES = ("amp", "memory", "nvtx", "random", "streams")


def _lazy_init() -> None:
    """Starts nothing: JAX drives the GPU.

    Raises:
        AssertionError: if there is no GPU, as in a PyTorch without CUDA.
    """
    if not is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    from .._src.tensor.legacy_classes import NAMES, tensor_type

    if name in NAMES:
        return tensor_type(name, "cuda")
    if name.endswith("Storage"):
        classes = _hooks.storage_class("CUDA")
        if name in classes:
            return classes[name]
    if name == "_initialized":
        return is_initialized()
    if name == "default_generators":
        return (_all_random.default_generator,) * device_count()
    if not name.startswith("_"):
        state = importlib.import_module(f"{__name__}._state")
        if name in state.NAMES:
            return getattr(state, name)
    return _refusals.find(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_hooks.storage_class("CUDA")})
