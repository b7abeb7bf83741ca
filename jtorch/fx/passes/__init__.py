"""Passes over graphs."""

from __future__ import annotations

from . import (
    fake_tensor_prop,
    graph_manipulation,
    graph_transform_observer,
    infra,
    operator_support,
    shape_prop,
    split_module,
    split_utils,
    tools_common,
    utils,
)

__all__ = [
    "fake_tensor_prop", "graph_manipulation", "graph_transform_observer", "infra",
    "operator_support", "shape_prop", "split_module", "split_utils", "tools_common", "utils",
]  # fmt: skip
