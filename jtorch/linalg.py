"""``torch.linalg``: the functions that ops of namespace ``linalg`` declare."""

from __future__ import annotations

from ._namespace import fill as _fill
from .errors import LinAlgError as LinAlgError

__all__: list[str] = []
_fill(globals(), "linalg")
