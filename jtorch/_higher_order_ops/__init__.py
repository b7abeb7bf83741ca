"""Operators that take functions: control flow, and scans."""

from __future__ import annotations

from jtorch._src import hooks
from jtorch._src.composites import control
from jtorch._src.refusals import stand_ins as _refusals

from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .map import map as map  # noqa: A004  (PyTorch's name)
from .out_dtype import out_dtype as out_dtype
from .scan import scan as scan
from .while_loop import while_loop as while_loop

control.captured = hooks.captured

__getattr__ = _refusals.missing(__name__)
