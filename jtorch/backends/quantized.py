"""Quantised operations: there are no engines for them here."""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
