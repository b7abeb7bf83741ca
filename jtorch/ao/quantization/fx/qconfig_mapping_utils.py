"""Which configuration each node of a graph gets."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn.intrinsic import _FusedModule
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule

from ..backend_config import BackendConfig
from ..backend_config.utils import get_module_to_qat_module
from ..observer import _is_activation_post_process
from ..qconfig import _add_module_to_qconfig_obs_ctr, qconfig_equals
from ..qconfig_mapping import _STYLES, QConfigMapping
from ..utils import _parent_name


def _update_qconfig_for_fusion(model: GraphModule, qconfig_mapping: QConfigMapping) -> None:
    """Gives classes of layers that belong together what the first of them has.

    Raises:
        LookupError: if the others have another configuration.
    """
    by_type = qconfig_mapping.object_type_qconfigs
    if not by_type:
        return
    modules = dict(model.named_modules())
    for node in model.graph.nodes:
        module = modules.get(str(node.target)) if node.op == "call_module" else None
        if not isinstance(module, _FusedModule):
            continue
        first, *rest = module._modules.values()
        qconfig = by_type.get(type(first))
        for other in rest:
            if not qconfig_equals(by_type.get(type(other)), qconfig):
                raise LookupError(
                    "During fusion, we need to specify the same qconfigs for all module types in "
                    f"{type(module)} offending type: {type(other)}"
                )
        if qconfig is not None:
            by_type[type(module)] = qconfig


def _update_qconfig_for_qat(qconfig_mapping: QConfigMapping, backend_config: BackendConfig) -> None:
    """Gives classes that take the place of others in training what these have."""
    trained = get_module_to_qat_module(backend_config)
    by_type = qconfig_mapping.object_type_qconfigs
    for kind, qconfig in list(by_type.items()):
        if kind in trained:
            by_type[trained[kind]] = qconfig


def _get_flattened_qconfig_dict(qconfig_mapping: QConfigMapping) -> dict[Any, Any]:
    """What ``propagate_qconfig_`` takes: all, by class and by name."""
    m = qconfig_mapping
    return {"": m.global_qconfig, **m.object_type_qconfigs, **m.module_name_qconfigs}


def _by_name(mapping: QConfigMapping, path: str, otherwise: Any) -> Any:
    """What a module or one around it has by its name."""
    while path:
        if path in mapping.module_name_qconfigs:
            return mapping.module_name_qconfigs[path]
        path = _parent_name(path)[0]
    return otherwise


def _of(mapping: QConfigMapping, kind: Any, path: str, otherwise: Any) -> Any:
    """By class, by an expression for its name, by its name: the last of these counts."""
    found = mapping.object_type_qconfigs.get(kind, otherwise)
    for expression, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.match(expression, path):
            found = qconfig
            break
    return _by_name(mapping, path, found)


def _generate_node_name_to_qconfig(
    root: Any,
    modules: dict[str, Any],
    input_graph: Graph,
    qconfig_mapping: QConfigMapping,
    node_name_to_scope: dict[str, tuple[str, Any]],
) -> dict[str, Any]:
    """For each node the configuration that a mapping gives it. Modules get theirs as ``qconfig``,
    too."""
    del root
    mapping, overall = qconfig_mapping, qconfig_mapping.global_qconfig
    found: dict[str, Any] = {}
    seen: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))

    def ordered(path: str, kind: Any, qconfig: Any) -> Any:
        at = seen[path][kind]
        seen[path][kind] += 1
        return mapping.module_name_object_type_order_qconfigs.get((path, kind, at), qconfig)

    for node in input_graph.nodes:
        qconfig = None
        if node.op == "get_attr":
            path = _parent_name(str(node.target))[0]
            qconfig = _of(mapping, type(modules[path]), path, overall)
        elif node.op == "call_function":
            path, kind = node_name_to_scope[node.name]
            own = mapping.object_type_qconfigs.get(node.target, overall)
            qconfig = ordered(path, node.target, _of(mapping, kind, path, own))
        elif node.op == "call_method":
            path, kind = node_name_to_scope[node.name]
            qconfig = _of(mapping, kind, path, _of(mapping, node.target, path, overall))
        elif node.op == "call_module":
            target = str(node.target)
            if _is_activation_post_process(modules[target]):
                continue
            qconfig = _of(mapping, type(modules[target]), target, overall)
            path, kind = node_name_to_scope[node.name]
            qconfig = ordered(_parent_name(path)[0], kind, qconfig)
        if isinstance(node.target, str) and node.op in ("get_attr", "call_module", "call_method"):
            qconfig = _add_module_to_qconfig_obs_ctr(qconfig, modules.get(node.target))
        if node.op == "call_module":
            # by an expression it may be another than was handed on from the module around it
            modules[str(node.target)].qconfig = qconfig
        found[node.name] = qconfig
    return found


def _compare_prepare_convert_qconfig_mappings(
    prepare_qconfig_mapping: QConfigMapping, convert_qconfig_mapping: QConfigMapping
) -> None:
    """Checks that a mapping says what another said, or None.

    Raises:
        AssertionError: if not.
    """
    first, second = prepare_qconfig_mapping, convert_qconfig_mapping
    if not qconfig_equals(first.global_qconfig, second.global_qconfig):
        raise AssertionError(
            "Expected global qconfigs to be the same in the prepare and convert quantization "
            "configs"
        )
    for key in ("object_type", "module_name", "module_name_regex"):
        before, after = getattr(first, _STYLES[key]), getattr(second, _STYLES[key])
        for name in before:
            if name not in after:
                raise AssertionError(
                    f"Missing key {key} {name} in convert QConfigMapping when it was present in "
                    "prepare"
                )
            if after[name] is not None and not qconfig_equals(before[name], after[name]):
                raise AssertionError(
                    "Expected convert QConfigMapping to have the same qconfig as prepare for key "
                    f"{key} {name}; prepare: {before[name]}; convert: {after[name]}"
                )


__getattr__ = _refusals.missing(__name__)
