"""Apple's GPUs."""

from __future__ import annotations

from jtorch import _C


def is_built() -> bool:
    """Whether JAX has a backend for them here."""
    return is_available()


def is_available() -> bool:
    """Whether JAX found one, which programs may replace as ``torch._C._mps_is_available``."""
    return _C._mps_is_available()


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of at least a version."""
    return _C._mps_is_on_macos_or_newer(major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13 or newer."""
    return is_macos_or_newer(13, minor)
