"""How deterministic algorithms behave."""

from __future__ import annotations

import sys
from types import ModuleType

import jtorch as torch


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory that nobody wrote (``torch.empty``) is filled while deterministic
        algorithms are asked for."""
        return torch._C._get_deterministic_fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        torch._C._set_deterministic_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Deterministic
