"""Tracing models whose layers stay whole."""

from __future__ import annotations

from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn.intrinsic import _FusedModule
from jtorch.fx._symbolic_trace import Tracer
from jtorch.fx.proxy import Scope as Scope
from jtorch.fx.proxy import ScopeContextManager as ScopeContextManager

__all__ = ["QuantizationTracer"]


class QuantizationTracer(Tracer):
    """Traces a model; layers of PyTorch, those that belong together and those that are named stay
    whole.

    Args:
        skipped_module_names: modules that stay whole.
        skipped_module_classes: classes of modules that do.
    """

    def __init__(self, skipped_module_names: list[str], skipped_module_classes: list[Any]) -> None:
        super().__init__()
        self.skipped_module_names = skipped_module_names
        self.skipped_module_classes = skipped_module_classes
        self.record_stack_traces = True

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module stays whole."""
        name = m.__module__
        layer = name.startswith(("torch.nn", "torch.ao.nn", "jtorch.nn", "jtorch.ao.nn"))
        return (
            (layer and not isinstance(m, nn.Sequential))
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
            or isinstance(m, _FusedModule)
        )


__getattr__ = _refusals.missing(__name__)
