"""Gives a module the public callables of its part of the namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cores import written_in
from .everything import PUBLIC

if TYPE_CHECKING:
    from ..facts.kinds import Named


def fill(module: Named, prefix: str) -> None:
    """Puts ``torch.<prefix>.x`` into a module's globals for every bound x, and the names into its
    ``__all__``."""
    names = []
    for path, made in PUBLIC.items():
        if path.startswith(f"{prefix}.") and "." not in (name := path[len(prefix) + 1 :]):
            module[name] = made
            names.append(name)
    module["__all__"] += sorted(names)


def fill_home(module: Named, home: str) -> None:
    """The same for the functions that PyTorch writes in the module ``torch.<home>``."""
    names = sorted(written_in(home))
    module |= {name: PUBLIC[name] for name in names}
    module["__all__"] += names
