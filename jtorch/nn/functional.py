"""``torch.nn.functional``: the functions that ops of namespace ``nn.functional`` declare."""

from __future__ import annotations

from .._namespace import fill as _fill

__all__: list[str] = []
_fill(globals(), "nn.functional")
