"""Apple's GPUs."""

from __future__ import annotations

from .._src.facts.devices import jax_devices


def is_built() -> bool:
    """Whether JAX has a backend for them here."""
    return is_available()


def is_available() -> bool:
    """Whether JAX found one."""
    return bool(jax_devices("mps"))


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of at least a version."""
    import platform

    found = platform.mac_ver()[0]
    return bool(found) and tuple(int(n) for n in found.split(".")[:2]) >= (major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13 or newer."""
    return is_macos_or_newer(13, minor)
