"""Parts of graphs as modules."""

from __future__ import annotations

from . import common, fuser_utils
from .common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "common", "compare_graphs", "fuser_utils", "lift_subgraph_as_module"]
