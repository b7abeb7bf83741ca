"""Flags of ``torch.distributed``, of which there is nothing to switch on here."""

from __future__ import annotations

import sys
from types import ModuleType

from jtorch._src.facts.errors import not_offered

__all__ = ["compile_on_one_rank", "use_torchcomms"]

#: False: each process compiles its own programs, or finds them among those that are kept.
compile_on_one_rank: bool = False
#: False: collectives are XLA's.
use_torchcomms: bool = False


class _Flags(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        if name in __all__:
            if value:
                raise not_offered(
                    f"torch.distributed.config.{name}",
                    "there is one engine, the collectives of XLA",
                )
        elif not name.startswith("__"):
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Flags
