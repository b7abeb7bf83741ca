"""``torch.fft``: the functions that ops of namespace ``fft`` declare."""

from __future__ import annotations

from .._src.bind.namespace import fill as _fill

__all__: list[str] = []
_fill(globals(), "fft")
