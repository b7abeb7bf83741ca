"""What libraries reach for in TorchScript's compiler: the record of the types that it made, which stays empty."""

from __future__ import annotations

from typing import Any


class _ConcreteTypeStore:
    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = _ConcreteTypeStore()
