"""Rewritings of traced modules for evaluation: folding normalizations into convolutions, removing
dropout, cutting out a part."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import jtorch.fx as fx
from jtorch import nn
from jtorch.nn.utils.fusion import fuse_conv_bn_eval

from ..._src.refusals import stand_ins as _refusals

if TYPE_CHECKING:
    pass


__all__ = [
    "matches_module_pattern",
    "replace_node_module",
    "fuse",
    "remove_dropout",
    "extract_subgraph",
    "optimize_for_inference",
]

_FOLDED = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d))


def _parent_name(target: str) -> tuple[str, str]:
    """The path of the module that holds ``target``, and the name under which it does."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: fx.Node, modules: dict[str, Any]) -> bool:
    """Whether ``node`` calls a module of the last type of ``pattern``, and its first argument one
    of the first."""
    if not node.args:
        return False
    for expected, called in zip(pattern, (node.args[0], node), strict=False):
        if (
            not isinstance(called, fx.Node)
            or called.op != "call_module"
            or not isinstance(called.target, str)
        ):
            return False
        if type(modules.get(called.target)) is not expected:
            return False
    return True


def replace_node_module(node: fx.Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Puts ``new_module`` in the place of the module that ``node`` calls."""
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """``model`` traced, with batch normalizations folded into the convolutions whose only use they
    are; for evaluation.

    ``no_trace`` says that ``model`` is a graph module already; ``inplace`` changes it instead of a
    copy.

    Raises:
        AssertionError: if a convolution or normalization to be folded is in training mode.
    """
    model = model if inplace else copy.deepcopy(model)
    traced: Any = (
        model if no_trace and isinstance(model, fx.GraphModule) else fx.symbolic_trace(model)
    )
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _FOLDED:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            before = node.args[0]
            norm = modules[node.target]
            if len(before.users) > 1 or not norm.track_running_stats:
                continue
            replace_node_module(before, modules, fuse_conv_bn_eval(modules[before.target], norm))
            node.replace_all_uses_with(before)
            graph.erase_node(node)
    return fx.GraphModule(traced, graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """``model`` traced, without its dropout modules."""
    traced = fx.symbolic_trace(model)

    class Remover(fx.Transformer):
        def call_module(
            self, target: str, args: tuple[object, ...], kwargs: dict[str, object]
        ) -> object:
            if isinstance(self.submodules[target], nn.Dropout):
                if len(args) != 1:
                    raise AssertionError(f"Expected 1 arg for Dropout, got {len(args)}")
                return args[0]
            return super().call_module(target, args, kwargs)

    return Remover(traced).transform()


def extract_subgraph(
    orig_module: nn.Module, nodes: list[fx.Node], inputs: list[fx.Node], outputs: list[fx.Node]
) -> fx.GraphModule:
    """A graph module of its own of some ``nodes``: a function from the values of ``inputs`` to the
    list of those of ``outputs``."""
    graph = fx.Graph()
    made = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        made[node] = graph.node_copy(node, lambda n: made[n])
    graph.output([made[node] for node in outputs])
    graph.lint()
    return fx.GraphModule(orig_module, graph)


def optimize_for_inference(
    model: nn.Module, pass_config: dict[str, Any] | None = None, tracer: object = fx.Tracer
) -> nn.Module:
    """Not offered beyond what ``fuse`` and ``remove_dropout`` do.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "optimize_for_inference: layouts of MKL-DNN are not offered, since kernels are compiled by "
        "XLA; use fuse and remove_dropout"
    )


__getattr__ = _refusals.missing(__name__)
