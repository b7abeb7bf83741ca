"""Switches of backends. Those that JAX has a counterpart for act; the others are remembered, and
change nothing."""

from __future__ import annotations

import importlib
from typing import Any

from . import _flags

#: The precision of float32 products, by default that of each backend.
fp32_precision = "none"
_SUBMODULES = frozenset(
    (
        "cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp opt_einsum "
        "quantized xnnpack"
    ).split()
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.backends' has no attribute '{name}'")


def disable_global_flags() -> None:
    """From now on the switches of ``cudnn`` and ``mkldnn`` are refused one by one, and set by
    ``flags()`` and ``set_flags()`` only."""
    _flags.freeze()


def flags_frozen() -> bool:
    """Whether ``disable_global_flags`` was called."""
    return _flags.frozen()


__allow_nonbracketed_mutation = _flags.thawed
