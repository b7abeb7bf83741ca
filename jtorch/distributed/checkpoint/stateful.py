"""Objects that say what is to be saved of them."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """What has ``state_dict`` and ``load_state_dict``: it is saved as the former, and given what
    was loaded by the latter."""

    def state_dict(self) -> dict[str, Any]:
        """What is to be saved. It should hold the object's own tensors, so that loading into them
        needs no copy."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what was loaded."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
