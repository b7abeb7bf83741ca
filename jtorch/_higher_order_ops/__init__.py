"""Operators that take functions: control flow, and scans."""

from __future__ import annotations

from .associative_scan import associative_scan as associative_scan
