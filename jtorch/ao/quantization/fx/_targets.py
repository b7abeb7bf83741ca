"""Which dtypes each node of a graph shall have: what its observers are chosen by.

They are kept in ``node.meta["target_dtype_info"]``: what makes observers of inputs, weights, biases
and results.
"""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.fx.graph import Graph
from jtorch.fx.node import Node

from ..backend_config import BackendConfig, DTypeConfig
from ..observer import PlaceholderObserver
from ..qconfig import (
    _default_fp32_placeholder_qconfig,
    _default_quint8_placeholder_qconfig,
    _is_reuse_input_qconfig,
)
from ..utils import get_qconfig_dtypes
from .match_utils import Match
from .utils import (
    NON_QUANTIZABLE_WEIGHT_OPS,
    _qconfig_satisfies_dtype_config_constraints,
    all_node_args_have_no_tensors,
    get_non_observable_arg_indexes_and_types,
    node_arg_is_bias,
    node_arg_is_weight,
)

INFO = "target_dtype_info"
_FLOATS = PlaceholderObserver.with_args(dtype=torch.float)


def _both(make: Any) -> dict[str, Any]:
    return {"input_act_obs_or_fq_ctr": make, "output_act_obs_or_fq_ctr": make}


def dtype_of(make: Any) -> tuple[Any, bool]:
    """The dtype of what makes an observer, and whether it is for values as they come."""
    if make is None:
        return None, False
    made = make()
    return made.dtype, getattr(made, "is_dynamic", False)


def maker_for_result(node: Node) -> Any:
    """What makes the observer of a node's result."""
    return node.meta.get(INFO, {}).get("output_act_obs_or_fq_ctr", _FLOATS)


def maker_for(node: Node, arg: Node) -> Any:
    """What makes the observer of an argument of a node."""
    info = node.meta[INFO]
    if node_arg_is_weight(node, arg):
        if node.target in NON_QUANTIZABLE_WEIGHT_OPS:
            return None
        return info.get("weight_obs_or_fq_ctr", _FLOATS)
    word = "bias_obs_or_fq_ctr" if node_arg_is_bias(node, arg) else "input_act_obs_or_fq_ctr"
    return info.get(word, _FLOATS)


def _info(
    node: Node,
    qconfig: Any,
    match: Match | None,
    table: BackendConfig,
    modules: dict[str, nn.Module],
    cache: dict[Node, bool],
) -> dict[str, Any]:
    """What a configuration says of a node."""
    if all_node_args_have_no_tensors(node, modules, cache):
        return _both(None)
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    halves = activation is torch.float16 and weight is torch.float16 and not dynamic
    indexes = {}
    if node.op == "call_function":
        own = table._pattern_complex_format_to_config.get(node.target)
        indexes = {} if own is None else own._input_type_to_index
    return {
        **_both(qconfig.activation),
        "weight_obs_or_fq_ctr": qconfig.weight,
        "bias_obs_or_fq_ctr": PlaceholderObserver.with_args(
            dtype=torch.float16 if halves else torch.float
        ),
        "weight_index": indexes.get("weight"),
        "bias_index": indexes.get("bias"),
        "reuse_input_obs_or_fq": _is_reuse_input_qconfig(qconfig),
        "input_output_share_observers": match is not None and match.shares,
        "_is_standalone_module": match is not None and match.standalone,
    }


def _of_argument(arg: Any, node: Node, qconfig: Any, config: DTypeConfig) -> bool:
    """Whether an argument has a dtype that a table allows."""
    if isinstance(arg, list | tuple):
        return all(_of_argument(a, node, qconfig, config) for a in arg)
    if not isinstance(arg, Node):
        return True
    info = node.meta[INFO]
    if node_arg_is_weight(node, arg):
        wanted = config.weight_dtype
        return wanted is None or (
            dtype_of(info.get("weight_obs_or_fq_ctr"))[0] == wanted
            and _qconfig_satisfies_dtype_config_constraints(
                qconfig, config.weight_dtype_with_constraints, is_activation=False
            )
        )
    if node_arg_is_bias(node, arg):
        wanted = config.bias_dtype
        return wanted is None or dtype_of(info.get("bias_obs_or_fq_ctr"))[0] == wanted
    dtype, dynamic = dtype_of(info.get("input_act_obs_or_fq_ctr"))
    return config.input_dtype is None or (
        config.input_dtype == dtype
        and bool(config.is_dynamic) == bool(dynamic)
        and _qconfig_satisfies_dtype_config_constraints(
            qconfig, config.input_dtype_with_constraints
        )
    )


def _of_result(node: Node, qconfig: Any, config: DTypeConfig) -> bool:
    """Whether a node's result has a dtype that a table allows."""
    dtype, dynamic = dtype_of(maker_for_result(node))
    wanted = config.output_dtype
    return wanted is None or (
        (torch.float32 if dynamic else dtype) == wanted
        and _qconfig_satisfies_dtype_config_constraints(
            qconfig, config.output_dtype_with_constraints
        )
    )


def is_supported(match: Match | None) -> bool:
    """Whether a pattern can be computed with the dtypes of its configuration."""
    if match is None or match.pattern is None:
        return True
    root, first = match.root, match.nodes[0]
    given = (*root.args, *root.kwargs.values())
    return any(
        all(_of_argument(arg, root, match.qconfig, config) for arg in given)
        and _of_result(first, match.qconfig, config)
        for config in match.config.dtype_configs
    )


def _spread(node: Any, matches: dict[str, Match]) -> None:
    """Notes that a node gives no floats, and what it is made of neither, if that is on its grid."""
    node.meta[INFO].update(_both(None))
    match = matches.get(node.name)
    if match is not None and match.shares and isinstance(node.args[0], Node):
        _spread(node.args[0], matches)


def _note_what_is_no_float(graph: Graph, matches: dict[str, Match]) -> None:
    for node in graph.nodes:
        for which in get_non_observable_arg_indexes_and_types(node).values():
            for index in which(node):
                arg = node.args[index] if index < len(node.args) else None
                for one in arg if isinstance(arg, tuple | list) else [arg]:
                    if isinstance(one, Node):
                        _spread(one, matches)


def choose_dtypes(
    graph: Graph,
    matches: dict[str, Match],
    table: BackendConfig,
    modules: dict[str, nn.Module],
    quantized_inputs: list[int],
    quantized_results: list[int],
) -> None:
    """Notes for each node which dtypes it shall have: floats, or what its configuration says if the
    table knows it."""
    cache: dict[Node, bool] = {}
    plain, unsigned = (
        _both(q.activation)
        for q in (_default_fp32_placeholder_qconfig, _default_quint8_placeholder_qconfig)
    )
    for node in graph.nodes:
        node.meta[INFO] = dict(plain)
    done: set[Node] = set()
    for match in matches.values():
        for node in match.nodes:
            if node not in done and match.qconfig is not None:
                node.meta[INFO] = _info(node, match.qconfig, match, table, modules, cache)
            done.add(node)
    inputs = results = 0
    last = None
    for node in graph.nodes:
        last = node
        if node.op == "placeholder":
            if inputs in quantized_inputs:
                node.meta[INFO] = dict(unsigned)
            inputs += 1
        elif node.op == "output":
            if results in quantized_results:
                node.meta[INFO] = dict(unsigned)
            results += 1
        elif node.op.startswith("call") and all_node_args_have_no_tensors(node, modules, cache):
            node.meta[INFO] = _both(None)
    _note_what_is_no_float(graph, matches)
    # As in PyTorch, whether what is not supported becomes floats is asked of the graph's output.
    if last is None or dtype_of(maker_for_result(last))[0] in (None, int, float, torch.bool):
        return
    done = set()
    for match in matches.values():
        if is_supported(match):
            continue
        for node in match.nodes:
            if node not in done:
                node.meta[INFO] = _info(
                    node, _default_fp32_placeholder_qconfig, None, table, modules, cache
                )
            done.add(node)
