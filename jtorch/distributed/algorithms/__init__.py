"""What programs for several processes are made of."""

from __future__ import annotations

from jtorch import _refusals

__getattr__ = _refusals.missing(__name__)
