"""Whether ``torch.jit`` is on: functions run as the Python that they are either way."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals


class EnabledProxy:
    """The switch, true while it is on."""

    def __init__(self) -> None:
        self.enabled = True

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """Turns ``torch.jit`` off, which changes nothing that runs."""
    _enabled.enabled = False


def enable() -> None:
    """Turns ``torch.jit`` on."""
    _enabled.enabled = True


__getattr__ = _refusals.missing(__name__)
