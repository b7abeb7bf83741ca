"""The order of contractions in ``einsum``."""

from __future__ import annotations

from typing import Any

from ._flags import flags as _flags

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """True: JAX brings opt_einsum."""
    return True


def set_flags(
    _enabled: bool | None = None, _strategy: str | None = None
) -> tuple[bool, str | None]:
    """Sets what is given; returns what was set before.

    Raises:
        ValueError: for a strategy without the package, or one that is not known.
    """
    global enabled, strategy
    before = (enabled, strategy)
    if _strategy not in (None, "auto", "greedy", "optimal"):
        raise ValueError(
            f"`strategy` must be one of the following: [auto, greedy, optimal] but is {_strategy}"
        )
    enabled = enabled if _enabled is None else _enabled
    strategy = strategy if _strategy is None else _strategy
    return before


def flags(enabled: bool | None = None, strategy: str | None = None) -> Any:
    """A block in which the switches are set: ``with
    torch.backends.opt_einsum.flags(strategy="greedy"):``."""
    if strategy not in (None, "auto", "greedy", "optimal"):
        raise ValueError(
            f"`strategy` must be one of the following: [auto, greedy, optimal] but is {strategy}"
        )
    return _flags(globals(), {"enabled": enabled, "strategy": strategy})
