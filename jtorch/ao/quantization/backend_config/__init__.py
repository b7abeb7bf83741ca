"""What a backend can quantise, of which there is nothing here: backends that read graphs of
operators need no such table."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals


class BackendConfig:
    """A table of patterns that a backend can quantise; empty ones only.

    Args:
        name: what it is called.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    @property
    def configs(self) -> list[object]:
        """The patterns: none."""
        return []

    def set_name(self, name: str) -> BackendConfig:
        """Gives it another name."""
        self.name = name
        return self


def get_native_backend_config() -> BackendConfig:
    """A table without patterns, as there are no quantised modules."""
    return BackendConfig("native")


__getattr__ = _refusals.missing(__name__)
