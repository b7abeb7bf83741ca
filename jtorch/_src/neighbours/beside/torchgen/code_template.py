"""``torchgen.code_template``."""

from __future__ import annotations

from jtorch._src.neighbours.beside.torchgen import _refusing

__getattr__ = _refusing("torchgen.code_template")
