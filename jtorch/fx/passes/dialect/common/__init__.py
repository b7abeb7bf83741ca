"""Passes over graphs of any operators."""

from __future__ import annotations
