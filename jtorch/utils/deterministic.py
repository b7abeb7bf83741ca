"""How deterministic algorithms behave."""

from __future__ import annotations

#: Whether memory that nothing was written to is filled with a known value: it is here, in any case, as ``empty`` gives zeros.
fill_uninitialized_memory = True
