"""cuDNN's switches. XLA decides itself where it uses cuDNN, so they are remembered only."""

from __future__ import annotations

from typing import Any

from .. import cuda
from ..core import Tensor
from ._flags import flags as _flags
from ._flags import freezing

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"
_SWITCHES = freezing(
    __name__,
    "enabled",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "allow_tf32",
    "fp32_precision",
)


def is_available() -> bool:
    """Whether there is a GPU, with which JAX brings its cuDNN."""
    return cuda.is_available()


def version() -> int | None:
    """None: JAX does not tell its version of cuDNN."""
    return None


def is_acceptable(tensor: Tensor) -> bool:
    """Whether XLA may use cuDNN for a tensor."""
    return bool(enabled) and is_available() and tensor.is_cuda


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: object = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Any:
    """A block in which the switches are set."""
    return _flags(globals(), dict(locals()))


def set_flags(
    _enabled: object = None,
    _benchmark: object = None,
    _benchmark_limit: object = None,
    _deterministic: object = None,
    _allow_tf32: object = None,
) -> tuple[bool, bool, int, bool, bool]:
    """Sets switches, and returns what they were."""
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    globals().update({n: v for n, v in zip(names, given, strict=True) if v is not None})
    return before
