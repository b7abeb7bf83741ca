"""What passes over graphs with observers share."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node, map_arg
from jtorch.nn import functional as F

from ..backend_config import DTypeWithConstraints
from ..fake_quantize import FakeQuantizeBase, FixedQParamsFakeQuantize
from ..observer import FixedQParamsObserver, _is_activation_post_process
from ..qconfig import float16_dynamic_qconfig, float16_static_qconfig, qconfig_equals
from ..quant_type import QuantType
from ..utils import _assert_and_get_unique_device

#: Functions whose weights stay as they are.
NON_QUANTIZABLE_WEIGHT_OPS: set[Any] = {F.layer_norm, F.group_norm, F.instance_norm}


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


def _arg_is(node: Node, arg: object, word: str) -> bool:
    index = node.meta.get("target_dtype_info", {}).get(f"{word}_index")
    if index is not None and index < len(node.args) and node.args[index] is arg:
        return True
    return node.kwargs.get(word) is arg


def node_arg_is_weight(node: Node, arg: object) -> bool:
    """Whether an argument of a node is its weight, by the table of a backend or its name."""
    return _arg_is(node, arg, "weight")


def node_arg_is_bias(node: Node, arg: object) -> bool:
    """Whether an argument of a node is its bias."""
    return _arg_is(node, arg, "bias")


def get_custom_module_class_keys(custom_module_mapping: dict[Any, dict[type, type]]) -> list[Any]:
    """The classes that have others in their place, of all kinds of quantisation."""
    kinds = (QuantType.STATIC, QuantType.DYNAMIC, QuantType.WEIGHT_ONLY)
    return [*dict.fromkeys(c for k in kinds for c in custom_module_mapping.get(k, {}))]


def assert_and_get_unique_device(module: nn.Module) -> Any:
    """The device of a module; None if it has no tensors.

    Raises:
        AssertionError: if it lies on several.
    """
    return _assert_and_get_unique_device(module)


def create_getattr_from_value(
    module: nn.Module, graph: Graph, prefix: str, value: Any, device: Any = None
) -> Node:
    """A node that fetches a value, which becomes a buffer of the module."""
    name = get_new_attr_name_with_prefix(prefix)(module)
    if isinstance(value, torch.Tensor):
        kept = value.detach().clone()
    else:
        where = assert_and_get_unique_device(module) if device is None else device
        kept = torch.tensor(value, device=where)
    module.register_buffer(name, kept)
    return graph.create_node("get_attr", name)


def collect_producer_nodes(node: Node) -> list[Node] | None:
    """A node and all that it is made of, from the end; None if an input of the graph is among
    them."""
    found, left = [node], [node]
    while left:
        one = left.pop()
        for arg in (*one.args, *one.kwargs.values()):
            if not isinstance(arg, Node):
                continue
            if arg.op == "placeholder":
                return None
            found.append(arg)
            if not (arg.op == "call_function" and arg.target is getattr):
                left.append(arg)
    return found


def graph_module_from_producer_nodes(root: GraphModule, producer_nodes: list[Node]) -> GraphModule:
    """A module that computes what ``collect_producer_nodes`` was asked for.

    Raises:
        AssertionError: for no nodes.
    """
    if not producer_nodes:
        raise AssertionError("list of producer nodes can not be empty")
    producer_nodes.reverse()
    graph, values = Graph(), {}
    for node in producer_nodes:
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph.output(map_arg(producer_nodes[-1], lambda n: values[n]))
    return GraphModule(root, graph)


def all_node_args_have_no_tensors(
    node: Any, modules: dict[str, nn.Module], cache: dict[Node, bool]
) -> bool:
    """Whether what a node gives is known to be made of numbers alone. False if it is not known."""
    if not isinstance(node, Node):
        return True
    if node not in cache:
        cache[node] = _no_tensors(node, modules, cache)
    return cache[node]


def _no_tensors(node: Node, modules: dict[str, nn.Module], cache: dict[Node, bool]) -> bool:
    if node.op in ("placeholder", "get_attr"):
        return False
    if node.op == "call_module":
        observed = _is_activation_post_process(modules[str(node.target)])
        return observed and all_node_args_have_no_tensors(node.args[0], modules, cache)
    if node.op == "call_function" and node.target is operator.getitem:
        return all_node_args_have_no_tensors(node.args[0], modules, cache)
    if node.target is getattr and node.args[1] in ("ndim", "shape"):
        return True
    if node.op == "call_method" and node.target == "size":
        return True
    for arg in node.args:
        if isinstance(arg, list):
            if any(isinstance(a, Node) and not all_node_args_have_no_tensors(a, modules, cache)
                   for a in arg):  # fmt: skip
                return False
        elif isinstance(arg, Node):
            if not all_node_args_have_no_tensors(arg, modules, cache):
                return False
        elif not isinstance(arg, int):
            return False
    return True


def _after_first(node: Node) -> list[int]:
    return [*range(1, len(node.args))]


#: Methods that are given what is no tensor of floats: which arguments, by what they are.
_NO_FLOATS: dict[Any, dict[Any, Callable[[Node], list[int]]]] = {
    "masked_fill": {torch.bool: lambda _: [1], float: lambda _: [2]},
    **{name: {int: lambda _: [1]} for name in ("size", "unsqueeze", "unsqueeze_")},
    **{name: {int: _after_first} for name in ("permute", "repeat", "reshape", "transpose", "view")},
}


def get_non_observable_arg_indexes_and_types(node: Node) -> dict[Any, Any]:
    """What gives, for each type, the numbers of the arguments of a node that are of it, and so no
    tensors of floats."""
    return _NO_FLOATS.get(node.target, {}) if node.op == "call_method" else {}


def _satisfies(qconfig: Any, made: Any, wanted: DTypeWithConstraints, word: str) -> bool:
    """Whether an observer's grids are among those that a table allows; warns if not."""

    def ignored(text: str, more: str = "") -> bool:
        warnings.warn(f"{text}, ignoring {qconfig}{more}", stacklevel=4)
        return False

    observer = made.activation_post_process if isinstance(made, FakeQuantizeBase) else made
    low, high = getattr(observer, "quant_min", None), getattr(observer, "quant_max", None)
    least, most = wanted.quant_min_lower_bound, wanted.quant_max_upper_bound
    if least is not None and most is not None:
        if low is None or high is None:
            return ignored(f"QConfig {word} must specify 'quant_min' and 'quant_max'")
        if low < least or high > most:
            return ignored(
                f"QConfig {word} quantization range must fall within the backend's:\n"
                f"QConfig range = ({low}, {high}), BackendConfig range = ({least}, {most})"
            )
    if wanted.scale_min_lower_bound is not None:
        eps = getattr(observer, "eps", None)
        if eps is None:
            return ignored(f"QConfig {word} must specify 'eps'")
        if eps < wanted.scale_min_lower_bound:
            return ignored(
                f"QConfig {word} eps ({eps}) must be greater than or equal to the backend's min "
                f"scale value ({wanted.scale_min_lower_bound})"
            )
    if wanted.scale_exact_match is None or wanted.zero_point_exact_match is None:
        return True
    if any(qconfig_equals(qconfig, q) for q in (float16_static_qconfig, float16_dynamic_qconfig)):
        return True
    advice = (
        ".\nPlease use torch.ao.quantization.get_default_qconfig_mapping or "
        "torch.ao.quantization.get_default_qat_qconfig_mapping. Example:\n"
        '    qconfig_mapping = get_default_qconfig_mapping("fbgemm")\n'
        "    model = prepare_fx(model, qconfig_mapping, example_inputs)"
    )
    if not isinstance(made, FixedQParamsObserver | FixedQParamsFakeQuantize):
        return ignored(
            "QConfig must specify a FixedQParamsObserver or a FixedQParamsFakeQuantize for fixed "
            "qparams ops", advice,
        )  # fmt: skip
    grid: Any = observer
    if grid.scale != wanted.scale_exact_match or grid.zero_point != wanted.zero_point_exact_match:
        return ignored(
            f"QConfig fixed scale ({grid.scale}) and zero point ({grid.zero_point}) do not match "
            f"the backend's ({wanted.scale_exact_match} and {wanted.zero_point_exact_match})",
            advice,
        )
    return True


def _qconfig_satisfies_dtype_config_constraints(
    qconfig: Any, dtype_with_constraints: DTypeWithConstraints, is_activation: bool = True
) -> bool:
    """Whether the grids of a configuration's observer are among those that a table allows for its
    dtype. True where there is nothing to compare."""
    if qconfig is None or dtype_with_constraints.dtype is None:
        return True
    make = qconfig.activation if is_activation else qconfig.weight
    made = None if make is None else make()
    if made is None or made.dtype != dtype_with_constraints.dtype:
        return True
    word = "activation" if is_activation else "weight"
    return _satisfies(qconfig, made, dtype_with_constraints, word)


__getattr__ = _refusals.missing(__name__)
