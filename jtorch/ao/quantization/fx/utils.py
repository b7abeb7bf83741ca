"""What passes over graphs with observers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.node import Node


@dataclass
class ObservedGraphModuleAttrs:
    """What preparing a graph leaves for converting it."""

    node_name_to_qconfig: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, type]]
    prepare_custom_config: Any
    equalization_node_name_to_qconfig: dict[str, Any]
    qconfig_mapping: Any
    is_qat: bool
    observed_node_names: set[str]
    is_observed_standalone_module: bool = False
    standalone_module_input_quantized_idxs: list[int] | None = None
    standalone_module_output_quantized_idxs: list[int] | None = None


def get_new_attr_name_with_prefix(prefix: str) -> Callable[[nn.Module], str]:
    """What gives, for a module, the first name made of ``prefix`` and a number that it has no
    attribute of."""
    prefix = prefix.replace(".", "_")

    def free(module: nn.Module) -> str:
        number = 0
        while hasattr(module, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    return free


def _get_module(node: Node, named_modules: dict[str, nn.Module]) -> nn.Module | None:
    """The module that a node calls; None if it calls none."""
    return named_modules.get(str(node.target)) if node.op == "call_module" else None


def node_arg_is_weight(node: Node, arg: object) -> bool:
    """Whether an argument of a node is said to be its weight, by the table of a backend: there is
    none that names any."""
    index = node.meta.get("target_dtype_info", {}).get("weight_index")
    return index is not None and index < len(node.args) and node.args[index] is arg


__getattr__ = _refusals.missing(__name__)
