"""Switches of backends. Those that JAX has a counterpart for act; the others are remembered, and change nothing."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

#: The precision of float32 products, by default that of each backend.
fp32_precision = "none"
_SUBMODULES = frozenset("cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp opt_einsum quantized xnnpack".split())


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.backends' has no attribute '{name}'")


@contextlib.contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """A block in which switches may be set one by one, as they may everywhere here: nothing freezes them."""
    yield
