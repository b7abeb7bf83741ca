"""Whether Triton can be used by PyTorch's compiler, which is not there: no."""

from __future__ import annotations


def has_triton() -> bool:
    """False: XLA makes the kernels."""
    return False


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton_tma() -> bool:
    """False."""
    return False
