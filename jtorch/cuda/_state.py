"""What ``torch.cuda`` tells of driver, allocator and card. JAX drives the GPU, so that most of it
is about what there is not."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import enum
from collections import OrderedDict
from typing import Any

from . import _need, current_device, max_memory_reserved, memory_reserved, memory_stats

has_half = True
has_magma = False
_sync_debug_mode = 0


class cudaStatus:
    """Codes that CUDA's functions return."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


class CudaError(RuntimeError):
    """A function of CUDA returned ``code``."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code})")


class DeferredCudaCallError(Exception):
    """A call that waited for CUDA to start failed."""


def check_error(res: int) -> None:
    """Raises ``CudaError`` unless ``res`` is ``cudaStatus.SUCCESS``.

    Raises:
        CudaError: for any other code.
    """
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


def get_gencode_flags() -> str:
    """The flags for CUDA's compiler: none, as nothing is compiled with it."""
    return ""


def current_blas_handle() -> int:
    """The handle of cuBLAS: 0, as XLA keeps its own.

    Raises:
        RuntimeError: if there is no GPU.
    """
    _need()
    return 0


class _Level(enum.IntEnum):
    default, warn, error = 0, 1, 2


def get_sync_debug_mode() -> int:
    """What ``set_sync_debug_mode`` was told."""
    return _sync_debug_mode


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Remembers what shall happen on synchronising operations: 0 or ``"default"``, 1 or ``"warn"``,
    2 or ``"error"``.

    Differs from torch: nothing is warned of, as XLA waits by itself where it has to.

    Raises:
        RuntimeError: for another text.
    """
    global _sync_debug_mode
    if isinstance(debug_mode, str):
        if debug_mode not in _Level.__members__:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`"
            )
        debug_mode = _Level[debug_mode].value
    _sync_debug_mode = int(debug_mode)


# ---- memory --------------------------------------------------------------------------------------


def get_allocator_backend() -> str:
    """Who allocates: XLA's pool, which is none of PyTorch's kinds."""
    return "native"


def get_per_process_memory_fraction(device: object = None) -> float:
    """The part of the memory that the process may take: of all that XLA's pool may hold.

    Raises:
        RuntimeError: if there is no GPU.
    """
    _need()
    return 1.0


def memory_stats_as_nested_dict(device: object = None) -> dict[str, Any]:
    """``memory_stats`` with a dictionary for each part of the names."""
    found: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return found


def host_memory_stats() -> dict[str, Any]:
    """Figures of the allocator of pinned memory: none, as there is no such allocator."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """``host_memory_stats`` with a dictionary for each part of the names."""
    return {}


def reset_peak_host_memory_stats() -> None:
    """Nothing to do: there is no allocator of pinned memory."""


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


def memory_snapshot(mempool_id: object = None, include_traces: bool = True) -> list[Any]:
    """The segments of the allocator: none that XLA tells of."""
    return []


def memory_cached(device: object = None) -> int:
    """The old name of ``memory_reserved``."""
    return memory_reserved(device)


def max_memory_cached(device: object = None) -> int:
    """The old name of ``max_memory_reserved``."""
    return max_memory_reserved(device)


def list_gpu_processes(device: object = None) -> str:
    """The processes on the GPU and their memory, as far as its driver's library for Python
    tells."""
    return "pynvml module not found, please install nvidia-ml-py"


# ---- the card ------------------------------------------------------------------------------------


def _ask(what: str, device: object) -> int:
    """A figure of the card, from its driver's library for Python.

    Raises:
        ModuleNotFoundError: if that is not installed.
        RuntimeError: if there is no GPU.
    """
    try:
        import pynvml  # type: ignore[import-not-found]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported."
        ) from error
    _need()
    pynvml.nvmlInit()
    index = (
        device
        if isinstance(device, int)
        else current_device()
        if device is None
        else getattr(device, "index", None) or 0
    )
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return int(
        {
            "memory": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used,
            "memory_usage": lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).memory,
            "utilization": lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
            "temperature": lambda: pynvml.nvmlDeviceGetTemperature(handle, 0),
            "power_draw": lambda: pynvml.nvmlDeviceGetPowerUsage(handle),
            "clock_rate": lambda: pynvml.nvmlDeviceGetClockInfo(handle, 1),
        }[what]()
    )


def device_memory_used(device: object = None) -> int:
    """Bytes in use on the card, by all processes.

    Raises:
        ModuleNotFoundError: if nvidia-ml-py is not installed.
    """
    return _ask("memory", device)


def memory_usage(device: object = None) -> int:
    """Percent of the time in which the card's memory was read or written.

    Raises:
        ModuleNotFoundError: if nvidia-ml-py is not installed.
    """
    return _ask("memory_usage", device)


def utilization(device: object = None) -> int:
    """Percent of the time in which the card computed.

    Raises:
        ModuleNotFoundError: if nvidia-ml-py is not installed.
    """
    return _ask("utilization", device)


def temperature(device: object = None) -> int:
    """The card's temperature in degrees Celsius.

    Raises:
        ModuleNotFoundError: if nvidia-ml-py is not installed.
    """
    return _ask("temperature", device)


def power_draw(device: object = None) -> int:
    """The card's power in milliwatts.

    Raises:
        ModuleNotFoundError: if nvidia-ml-py is not installed.
    """
    return _ask("power_draw", device)


def clock_rate(device: object = None) -> int:
    """The clock of the card's multiprocessors in megahertz.

    Raises:
        ModuleNotFoundError: if nvidia-ml-py is not installed.
    """
    return _ask("clock_rate", device)


#: The names that ``torch.cuda`` and ``torch.cuda.memory`` hand out.
NAMES = frozenset(
    """has_half has_magma cudaStatus CudaError DeferredCudaCallError check_error get_gencode_flags
    current_blas_handle get_sync_debug_mode set_sync_debug_mode get_allocator_backend
    get_per_process_memory_fraction memory_stats_as_nested_dict host_memory_stats
    host_memory_stats_as_nested_dict reset_peak_host_memory_stats
    reset_accumulated_host_memory_stats memory_snapshot memory_cached max_memory_cached
    list_gpu_processes device_memory_used memory_usage utilization temperature power_draw
    clock_rate""".split()
)
