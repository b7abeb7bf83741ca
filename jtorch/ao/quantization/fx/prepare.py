"""Putting observers into graphs."""

from __future__ import annotations

from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node

from ..qconfig_mapping import QConfigMapping
from .custom_config import PrepareCustomConfig
from .utils import ObservedGraphModuleAttrs, get_new_attr_name_with_prefix


def _insert_obs_or_fq(
    node: Node,
    obs_or_fq: nn.Module,
    model: nn.Module,
    named_modules: dict[str, nn.Module],
    graph: Graph,
    model_device: object = None,
) -> Node:
    """Makes an observer a submodule, and a node right after ``node`` that calls it."""
    device: Any = model_device or next(
        (t.device for some in (model.parameters(), model.buffers()) for t in some), None
    )
    if device is not None:
        obs_or_fq.to(device)
    prefix = "activation_post_process_"
    if (
        getattr(obs_or_fq, "_is_equalization", False)
        or "EqualizationObserver" in type(obs_or_fq).__name__
    ):
        prefix = f"{node.name}_equalization_process_"
    name = get_new_attr_name_with_prefix(prefix)(model)
    setattr(model, name, obs_or_fq)
    named_modules[name] = obs_or_fq
    with graph.inserting_after(node):
        return graph.create_node("call_module", name, (node,), {})


def _save_state(
    observed: GraphModule,
    node_name_to_qconfig: dict[str, object],
    node_name_to_scope: dict[str, tuple[str, type]],
    prepare_custom_config: PrepareCustomConfig,
    equalization_node_name_to_qconfig: dict[str, object],
    qconfig_mapping: QConfigMapping,
    is_qat: bool,
    observed_node_names: set[str],
) -> None:
    """Notes in ``observed.meta`` what converting it will ask for."""
    observed.meta["_observed_graph_module_attrs"] = ObservedGraphModuleAttrs(
        node_name_to_qconfig=node_name_to_qconfig,
        node_name_to_scope=node_name_to_scope,
        prepare_custom_config=prepare_custom_config,
        equalization_node_name_to_qconfig=equalization_node_name_to_qconfig,
        qconfig_mapping=qconfig_mapping,
        is_qat=is_qat,
        observed_node_names=observed_node_names,
    )


__getattr__ = _refusals.missing(__name__)
