"""The order of contractions in ``einsum``."""

from __future__ import annotations

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """True: JAX brings opt_einsum."""
    return True
