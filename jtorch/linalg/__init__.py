"""``torch.linalg``: the functions that ops of namespace ``linalg`` declare."""

from __future__ import annotations

from .._src.bind.namespace import fill as _fill
from .._src.facts.errors import LinAlgError as LinAlgError

__all__: list[str] = []
_fill(globals(), "linalg")
