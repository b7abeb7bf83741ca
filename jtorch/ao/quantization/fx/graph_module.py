"""Questions about modules with observers in their graphs."""

from __future__ import annotations

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph_module import GraphModule


def _is_observed_module(module: object) -> bool:
    return isinstance(module, nn.Module) and "_observed_graph_module_attrs" in (
        getattr(module, "meta", None) or {}
    )


def _is_observed_standalone_module(module: object) -> bool:
    return (
        isinstance(module, GraphModule)
        and _is_observed_module(module)
        and module.meta["_observed_graph_module_attrs"].is_observed_standalone_module
    )


__getattr__ = _refusals.missing(__name__)
