"""Passes over graphs."""

from __future__ import annotations

from . import infra, shape_prop, split_module

__all__ = ["infra", "shape_prop", "split_module"]
