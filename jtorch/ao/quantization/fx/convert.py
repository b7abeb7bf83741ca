"""Making a quantised model of a graph with observers.

Each observer becomes the quantising of a value and its reverse, and layers with weights become ones
that round these; then ``_lower_to_native_backend`` puts quantised layers and operators in the place
of what lies between.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn import quantizable as nnqa
from jtorch.ao.nn.intrinsic import _FusedModule, _kind
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node
from jtorch.nn import functional as F

from ..backend_config import BackendConfig, get_native_backend_config
from ..backend_config.utils import (
    get_fused_module_classes,
    get_pattern_to_dtype_configs,
    get_qat_module_classes,
    get_root_module_to_quantized_reference_module,
)
from ..observer import _is_activation_post_process
from ..qconfig import qconfig_equals
from ..qconfig_mapping import QConfigMapping
from ..quantize import _remove_qconfig
from ..stubs import DeQuantStub
from ..utils import (
    _parent_name,
    activation_is_statically_quantized,
    get_qconfig_dtypes,
    get_qparam_dict,
    get_swapped_custom_module_class,
    is_per_channel,
    weight_is_quantized,
)
from ._lower_to_native_backend import lower
from .custom_config import ConvertCustomConfig
from .graph_module import _is_observed_module, _is_observed_standalone_module
from .prepare import _from_dict
from .qconfig_mapping_utils import (
    _compare_prepare_convert_qconfig_mappings,
    _generate_node_name_to_qconfig,
    _update_qconfig_for_fusion,
    _update_qconfig_for_qat,
)
from .utils import (
    assert_and_get_unique_device,
    collect_producer_nodes,
    create_getattr_from_value,
    get_custom_module_class_keys,
    graph_module_from_producer_nodes,
    node_arg_is_weight,
)

_STATIC = (torch.quint8, torch.qint8, torch.qint32, torch.float8_e5m2, torch.float8_e4m3fn)


def _fits(qconfig: Any, config: Any) -> bool:
    """Whether a configuration has the dtypes of an entry of a table."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    given, taken, kept, bias = (
        d or torch.float
        for d in (config.input_dtype, config.output_dtype, config.weight_dtype, config.bias_dtype)
    )
    if config.is_dynamic:
        return dynamic and (given, taken, kept) == (activation, torch.float, weight)
    halves = activation is torch.float16 and weight is torch.float16
    return (given, taken, kept, bias) == (
        activation, activation, weight, torch.float16 if halves else torch.float,
    )  # fmt: skip


class _Converting:
    """A graph while its observers are replaced."""

    def __init__(
        self,
        model: GraphModule,
        table: BackendConfig,
        qconfigs: dict[str, Any],
        scopes: dict[str, tuple[str, Any]],
        observed: set[str],
        is_reference: bool,
    ) -> None:
        self.model, self.graph, self.table = model, model.graph, table
        self.qconfigs, self.scopes, self.observed = qconfigs, scopes, observed
        self.is_reference = is_reference
        # one observer may have several names
        self.modules: dict[str, Any] = dict(model.named_modules(remove_duplicate=False))
        self.device = assert_and_get_unique_device(model)
        self.roots = get_root_module_to_quantized_reference_module(table)
        self.trained = get_qat_module_classes(table)
        self.together = get_fused_module_classes(table)
        self.own: set[Node] = set()

    def refuses(self, node: Any) -> bool:
        """Whether a node is known to have no configuration."""
        return isinstance(node, Node) and self.qconfigs.get(node.name, 0) is None

    def put(self, node: Node, module: Any) -> None:
        """Puts a module in the place of the one that a node calls."""
        parent, name = _parent_name(str(node.target))
        setattr(self.modules[parent], name, module)

    # ---- observers -------------------------------------------------------------------------------

    def name_for(self, node: Node) -> str:
        """What the names of an observer's scale and zero point begin with: the path of the module
        whose value it is, or whose input."""
        observed: Any = node.args[0]
        if observed.name not in self.qconfigs or self.qconfigs[observed.name] is not None:
            user, end = observed, ""
        else:
            users = list(node.users)
            linear = [u for u in users if u.op == "call_function" and u.target is F.linear]
            user, end = next(iter(linear or users), None), "_input"
        path = self.scopes[user.name][0] if user is not None and user.name in self.scopes else ""
        return path + end

    def replace_observer(self, node: Node) -> None:
        """Puts the quantising of a value and its reverse in the place of its observer."""
        observer, value = self.modules[str(node.target)], node.args[0]
        dtype, dynamic = observer.dtype, getattr(observer, "is_dynamic", False)
        known = dynamic or dtype in _STATIC or dtype is torch.float16
        if not known or all(map(self.refuses, [*node.args, *node.users])):
            node.replace_all_uses_with(value)
            self.graph.erase_node(node)
            return
        name = self.name_for(node)
        with self.graph.inserting_before(node):
            quantised = self.quantised(observer, value, name, dynamic)
            found = self.graph.call_method("dequantize", (quantised,))
        node.replace_all_uses_with(found)
        self.graph.erase_node(node)

    def kept(self, name: str, value: Any) -> Node:
        """A node that fetches a number that the model keeps."""
        return create_getattr_from_value(self.model, self.graph, name, value, self.device)

    def grid(self, observer: Any, name: str) -> tuple[Any, list[Node]]:
        """Whether an observer has grids for channels, and the nodes of its scale and zero point."""
        scale, zero = observer.calculate_qparams()
        by_channel = is_per_channel(observer.qscheme)
        if not by_channel:
            scale, zero = float(scale), int(zero)
        nodes = [self.kept(f"{name}_scale_", scale), self.kept(f"{name}_zero_point_", zero)]
        return by_channel, nodes

    def quantised(self, observer: Any, value: Any, name: str, dynamic: bool) -> Node:
        """The node of a quantised value."""
        dtype, graph = observer.dtype, self.graph
        if dynamic:
            reduces = torch.backends.quantized.engine in ("fbgemm", "x86")
            return graph.call_function(torch.quantize_per_tensor_dynamic, (value, dtype, reduces))
        if dtype is torch.float16:
            return graph.call_method("to", (value, dtype))
        by_channel, nodes = self.grid(observer, name)
        if by_channel:
            return graph.call_function(
                torch.quantize_per_channel, (value, *nodes, int(observer.ch_axis), dtype)
            )
        return graph.call_function(torch.quantize_per_tensor, (value, *nodes, dtype))

    def dequantise(self, node: Node) -> None:
        """Lets all that use a quantised value have its numbers."""
        with self.graph.inserting_after(node):
            made = self.graph.call_method("dequantize", (node,))
        for user in list(node.users):
            if user is not made:
                user.replace_input_with(node, made)

    def leave_quantised(self, value: Any, user: Node) -> None:
        """Lets the graph's output have quantised values in the place of their numbers."""
        if isinstance(value, Node) and value.op == "call_method" and value.target == "dequantize":
            quantised: Any = value.args[0]
            user.replace_input_with(value, quantised)
        elif isinstance(value, list | tuple):
            for one in value:
                self.leave_quantised(one, user)
        elif isinstance(value, dict):
            for one in value.values():
                self.leave_quantised(one, user)
        else:
            warnings.warn(
                f"Unsupported node type in recursive remove dequantize: {type(value)}", stacklevel=5
            )

    # ---- layers ----------------------------------------------------------------------------------

    def convert_weighted(self, node: Node) -> None:
        """Puts a layer that rounds its weights in the place of one with floats, or of one that was
        trained so."""
        module = self.modules[str(node.target)]
        qconfig, observer = module.qconfig, None
        if isinstance(module, self.trained):
            observer = module.weight_fake_quant
            module = module.to_float()
            self.put(node, module)
        if qconfig is None or self.refuses(node) or node.name not in self.observed:
            return
        configs = get_pattern_to_dtype_configs(self.table).get(type(module), [])
        if not any(_fits(qconfig, c) for c in configs) or not weight_is_quantized(qconfig):
            return
        inner = module[0] if isinstance(module, _FusedModule) else module
        grids = {"is_decomposed": False, **self.grids(inner, qconfig, observer)}
        kind: Any = self.roots.get(_kind(inner))
        if kind is None:
            raise AssertionError(
                f"No reference quantized module class configured for {_kind(inner)}"
            )
        made = kind.from_float(inner, grids)
        if inner is not module:
            module[0] = made
        else:
            self.put(node, made)

    def grids(self, layer: Any, qconfig: Any, observer: Any) -> dict[str, Any]:
        """The grids of a layer's weights; of one weight its entries."""
        if isinstance(layer, nn.RNNCellBase | nn.LSTM | nn.GRU):
            names = (
                ["weight_ih", "weight_hh"]
                if isinstance(layer, nn.RNNCellBase)
                else [n for n in layer._flat_weights_names if n.startswith("weight")]
            )
            found = {}
            for name in names:
                observer = qconfig.weight()
                if observer.dtype is torch.qint8 or isinstance(layer, nn.RNNCellBase):
                    observer(getattr(layer, name))
                found[name] = get_qparam_dict(observer)
            return found
        if observer is None:
            observer = qconfig.weight()
            if self.device is not None:
                observer.to(self.device)
        observer(layer.weight)
        return get_qparam_dict(observer)

    def convert_standalone(self, node: Node, convert_one: Callable[..., GraphModule]) -> None:
        """Converts a module that was prepared by itself."""
        module = self.modules[str(node.target)]
        facts = module.meta["_observed_graph_module_attrs"]
        for at in facts.standalone_module_input_quantized_idxs:
            if at < len(node.args):
                self.take_quantised(node, node.args[at])
        quantised = facts.standalone_module_output_quantized_idxs
        if quantised:
            if quantised[0] != 0:
                raise AssertionError("Currently only quantized output idxs = [0] is supported")
            self.dequantise(node)
        made = convert_one(module, self.is_reference, self.table)
        self.put(node, made)
        self.modules[str(node.target)] = made

    def take_quantised(self, node: Node, arg: Any) -> None:
        """Lets a node have a quantised value in the place of its numbers."""
        if isinstance(arg, Node) and arg.op == "call_method" and arg.target == "dequantize":
            quantised: Any = arg.args[0]
            node.replace_input_with(arg, quantised)
            if not arg.users:
                self.graph.erase_node(arg)

    def convert_own(self, node: Node, mapping: Any) -> None:
        """Puts the quantised class in the place of a program's own observed one."""
        module = self.modules[str(node.target)]
        if activation_is_statically_quantized(module.qconfig):
            self.own.add(node)
            self.give_quantised(node, module)
        kind = get_swapped_custom_module_class(module, mapping, module.qconfig)
        self.put(node, kind.from_observed(module))

    def give_quantised(self, node: Node, module: Any) -> None:
        """Lets a program's own observed module have quantised values, and the observer of what it
        gives. LSTMs and attention have observers in them."""
        given: Any = node.args
        if isinstance(module, nnqa.LSTM):
            if len(given) != 2 or not isinstance(given[1], tuple) or len(given[1]) != 2:
                raise AssertionError(
                    "Expected LSTM custom module inputs to be (input, (hidden0, hidden1))"
                )
            given = (given[0], *given[1])
        elif isinstance(module, nnqa.MultiheadAttention) and len(given) != 3:
            raise AssertionError("Expected MHA custom module inputs to be (query, key, value)")
        for arg in given:
            self.take_quantised(node, arg)
        if isinstance(module, nnqa.LSTM | nnqa.MultiheadAttention):
            return
        observers = (self.modules[str(u.target)] for u in node.users if u.op == "call_module")
        found = next((o for o in observers if _is_activation_post_process(o)), None)
        if found is None:
            raise AssertionError(
                "Expected activation_post_process to be present for observed custom module"
            )
        module.activation_post_process = found

    def follow(self, node: Node) -> None:
        """Puts the numbers of a quantised value in the place of its observer or stub."""
        value: Any = node.args[0]
        node.replace_all_uses_with(value)
        self.graph.erase_node(node)
        self.dequantise(value)

    # ---- all of it -------------------------------------------------------------------------------

    def run(
        self,
        quantized_inputs: list[int],
        quantized_results: list[int],
        own: Any,
        convert_one: Callable[..., GraphModule],
    ) -> None:
        """Replaces all observers and layers."""
        inputs = 0
        own_classes = get_custom_module_class_keys(own)
        for node in list(self.graph.nodes):
            if node.op == "placeholder":
                if inputs in quantized_inputs:
                    self.dequantise(node)
                inputs += 1
            elif node.op == "output":
                self.finish(node, quantized_results)
            elif node.op == "call_module":
                module = self.modules[str(node.target)]
                if _is_activation_post_process(module):
                    if node.args[0] in self.own:
                        self.follow(node)
                    else:
                        self.replace_observer(node)
                elif isinstance(module, DeQuantStub):
                    self.follow(node)
                elif _is_observed_standalone_module(module):
                    self.convert_standalone(node, convert_one)
                elif self.is_weighted(module):
                    self.convert_weighted(node)
                elif _kind(module) in own_classes:
                    self.convert_own(node, own)

    def is_weighted(self, module: Any) -> bool:
        """Whether a layer has weights that are quantised."""
        kind = _kind(module)
        if kind in self.together and kind not in self.trained:
            return _kind(module[0]) in self.roots
        return kind in self.roots or kind in self.trained

    def finish(self, node: Node, quantized_results: list[int]) -> None:
        """Leaves what is named of the graph's output quantised."""
        if not quantized_results:
            return
        value = node.args[0]
        if isinstance(value, list | tuple):
            for at in quantized_results:
                self.leave_quantised(value[at], node)
        elif isinstance(value, Node | dict):
            if 0 in quantized_results:
                self.leave_quantised(value, node)
        else:
            warnings.warn(
                f"Unsupported node type for output_quantized_idxs: {type(value)}", stacklevel=4
            )


def _run_weight_observers(observed: GraphModule) -> None:
    """Lets the observers of weights that functions are given see these."""
    for node in list(observed.graph.nodes):
        if node.op != "call_function":
            continue
        for arg in node.args:
            if isinstance(arg, Node) and node_arg_is_weight(node, arg):
                nodes = collect_producer_nodes(arg)
                if nodes is not None:
                    graph_module_from_producer_nodes(observed, nodes)()


def _configurations(
    model: GraphModule, facts: Any, mapping: QConfigMapping, table: BackendConfig
) -> dict[str, Any]:
    """What each node gets by another mapping than it was prepared with: the same or nothing.

    Raises:
        AssertionError: for anything else.
    """
    modules = copy.deepcopy(dict(model.named_modules(remove_duplicate=False)))
    if facts.is_qat:
        _update_qconfig_for_qat(mapping, table)
    _update_qconfig_for_fusion(model, mapping)
    _compare_prepare_convert_qconfig_mappings(facts.qconfig_mapping, mapping)
    found = _generate_node_name_to_qconfig(
        model, modules, model.graph, mapping, facts.node_name_to_scope
    )
    for name, before in facts.node_name_to_qconfig.items():
        if name not in found:
            raise AssertionError(f"Expected key {name} in convert node_name_to_qconfig")
        if found[name] is not None and not qconfig_equals(before, found[name]):
            raise AssertionError(
                f"Expected k {name} to have the same value in prepare and convert QConfigMappings, "
                f"but {before} was updated to {found[name]}"
            )
    return found


def convert(
    model: GraphModule,
    is_reference: bool = False,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    is_standalone_module: bool = False,
    _remove_qconfig_flag: bool = True,
    qconfig_mapping: QConfigMapping | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
    is_decomposed: bool = False,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The quantised model of one with observers.

    Args:
        is_reference: leaves it with layers that round their weights, and functions of floats.
        is_decomposed: not offered.

    Raises:
        AssertionError: for models that were not prepared.
    """
    del is_standalone_module
    if is_decomposed:
        raise not_offered("convert(is_decomposed=True)", "values are quantised by tensors of types")
    custom = _from_dict(
        ConvertCustomConfig, convert_custom_config,
        "Passing a convert_custom_config_dict to convert", 2,
    )  # fmt: skip
    custom = custom or ConvertCustomConfig()
    mapping = copy.deepcopy(
        _from_dict(QConfigMapping, qconfig_mapping, "Passing a QConfig dictionary to convert", 2)
    )
    if not (mapping is None or isinstance(mapping, QConfigMapping)):
        raise AssertionError("qconfig_mapping must be None or a QConfigMapping")
    table = _from_dict(BackendConfig, backend_config, "Passing a backend_config_dict to prepare", 2)
    table = table or get_native_backend_config()
    if not _is_observed_module(model):
        raise AssertionError("incoming model must be produced by prepare_fx")
    facts = model.meta["_observed_graph_module_attrs"]
    qconfigs = facts.node_name_to_qconfig
    if mapping:
        qconfigs = _configurations(model, facts, mapping, table)
    _run_weight_observers(model)
    converting = _Converting(
        model, table, qconfigs, facts.node_name_to_scope, facts.observed_node_names,
        is_reference,
    )  # fmt: skip
    prepared = facts.prepare_custom_config

    def convert_one(module: GraphModule, reference: bool, backend: BackendConfig) -> GraphModule:
        return convert(module, reference, backend_config=backend)

    converting.run(
        prepared.input_quantized_indexes, prepared.output_quantized_indexes,
        custom.observed_to_quantized_mapping, convert_one,
    )  # fmt: skip
    model.graph.eliminate_dead_code()
    made = GraphModule(model, model.graph)
    if not is_reference:
        made = lower(made, qconfigs, facts.node_name_to_scope, keep_original_weights)
    if _remove_qconfig_flag:
        _remove_qconfig(made)
    made.delete_all_unused_submodules()
    made.meta.pop("_observed_graph_module_attrs", None)
    return made


__getattr__ = _refusals.missing(__name__)
