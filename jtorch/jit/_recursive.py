"""What libraries reach for in TorchScript's compiler: the record of the types that it made, which
stays empty."""

from __future__ import annotations


class _ConcreteTypeStore:
    def __init__(self) -> None:
        self.type_store: dict[type, list[object]] = {}
        self.methods_compiled: set[object] = set()


concrete_type_store = _ConcreteTypeStore()
