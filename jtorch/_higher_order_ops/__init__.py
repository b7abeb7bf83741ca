"""Operators that take functions: control flow, and scans."""

from __future__ import annotations

from jtorch import _refusals

from .associative_scan import associative_scan as associative_scan

__getattr__ = _refusals.missing(__name__)
