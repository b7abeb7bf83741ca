"""Passes over graphs."""

from __future__ import annotations

from . import infra, operator_support, shape_prop, split_module, tools_common

__all__ = ["infra", "operator_support", "shape_prop", "split_module", "tools_common"]
