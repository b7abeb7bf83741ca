"""Operators that take functions: control flow, and scans."""

from __future__ import annotations

from typing import Any

from jtorch._src.composites import control
from jtorch._src.refusals import stand_ins as _refusals

from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .map import map as map  # noqa: A004  (PyTorch's name)
from .scan import scan as scan
from .while_loop import while_loop as while_loop


def _captured(name: str, *args: Any) -> Any:
    from .capturing import captured  # late: tracing a program loads this package

    return captured(name, *args)


control.captured = _captured

__getattr__ = _refusals.missing(__name__)
