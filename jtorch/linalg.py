"""``torch.linalg``: the functions that ops of namespace ``linalg`` declare."""

from __future__ import annotations

from ._namespace import fill as _fill

__all__: list[str] = []
__all__ += _fill(globals(), "linalg")

from .errors import LinAlgError as LinAlgError
