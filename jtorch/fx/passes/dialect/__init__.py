"""Passes over graphs of operators."""

from __future__ import annotations
