"""Putting quantised layers and operators in the place of what lies between quantised values.

A pattern is the numbers of quantised values, a layer or function of them, and the quantising of its
result: with the quantised one in its place, values stay quantised from one to the next.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.quantised.packed import ScriptObject
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn import intrinsic as nni
from jtorch.ao.nn import quantized as nnq
from jtorch.ao.nn.intrinsic import quantized as nniq
from jtorch.ao.nn.intrinsic.quantized import dynamic as nniqd
from jtorch.ao.nn.quantized import dynamic as nnqd
from jtorch.ao.nn.quantized import reference as nnqr
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node
from jtorch.nn import functional as F

from ..quantization_mappings import get_quantized_operator
from ..utils import _parent_name
from .utils import (
    collect_producer_nodes,
    get_new_attr_name_with_prefix,
    graph_module_from_producer_nodes,
)

_Q: Any = torch.ops.quantized

# ---- what stands for what ------------------------------------------------------------------------

STATIC_LOWER_MODULE_MAP: dict[Any, Any] = {
    nnqr.Linear: nnq.Linear, nnqr.Conv1d: nnq.Conv1d, nnqr.Conv2d: nnq.Conv2d,
    nnqr.Conv3d: nnq.Conv3d,
}  # fmt: skip
DYNAMIC_LOWER_MODULE_MAP: dict[Any, Any] = {
    nnqr.Linear: nnqd.Linear, nnqr.GRUCell: nnqd.GRUCell, nnqr.LSTMCell: nnqd.LSTMCell,
    nnqr.RNNCell: nnqd.RNNCell, nnqr.LSTM: nnqd.LSTM, nnqr.GRU: nnqd.GRU,
}  # fmt: skip
WEIGHT_ONLY_LOWER_MODULE_MAP: dict[Any, Any] = {
    nnqr.Embedding: nnq.Embedding, nnqr.EmbeddingBag: nnq.EmbeddingBag,
}  # fmt: skip
SPECIAL_PATTERN_LOWER_MODULE_MAP: dict[Any, Any] = {
    nn.BatchNorm2d: nnq.BatchNorm2d, nn.BatchNorm3d: nnq.BatchNorm3d,
    nnqr.ConvTranspose1d: nnq.ConvTranspose1d, nnqr.ConvTranspose2d: nnq.ConvTranspose2d,
    nnqr.ConvTranspose3d: nnq.ConvTranspose3d, nn.ELU: nnq.ELU, nn.LeakyReLU: nnq.LeakyReLU,
    nn.Hardswish: nnq.Hardswish, nn.InstanceNorm1d: nnq.InstanceNorm1d,
    nn.InstanceNorm2d: nnq.InstanceNorm2d, nn.InstanceNorm3d: nnq.InstanceNorm3d,
    nn.LayerNorm: nnq.LayerNorm, nn.Dropout: nnq.Dropout, nn.Softmax: nnq.Softmax,
    nn.PReLU: nnq.PReLU, nni.BNReLU2d: nniq.BNReLU2d, nni.BNReLU3d: nniq.BNReLU3d,
}  # fmt: skip
#: For layers that belong together, the class that the first of them must have, and what stands for
#: all.
STATIC_LOWER_FUSED_MODULE_MAP: dict[Any, Any] = {
    nni.LinearReLU: (nnqr.Linear, nniq.LinearReLU),
    nni.LinearLeakyReLU: (nnqr.Linear, nniq.LinearLeakyReLU),
    nni.LinearTanh: (nnqr.Linear, nniq.LinearTanh),
    nni.ConvReLU1d: (nnqr.Conv1d, nniq.ConvReLU1d),
    nni.ConvReLU2d: (nnqr.Conv2d, nniq.ConvReLU2d),
    nni.ConvReLU3d: (nnqr.Conv3d, nniq.ConvReLU3d),
}
STATIC_LOWER_FUSED_MODULE_TWO_INPUTS_MAP: dict[Any, Any] = {
    nni.ConvAdd2d: (nnqr.Conv2d, nniq.ConvAdd2d),
    nni.ConvAddReLU2d: (nnqr.Conv2d, nniq.ConvAddReLU2d),
}
DYNAMIC_LOWER_FUSED_MODULE_MAP: dict[Any, Any] = {nni.LinearReLU: (nnqr.Linear, nniqd.LinearReLU)}
#: For functions with weights the operator, and the one with a ReLU.
STATIC_LOWER_FUNCTIONAL_MAP: dict[Any, Any] = {
    F.linear: (_Q.linear, _Q.linear_relu), F.conv1d: (_Q.conv1d, _Q.conv1d_relu),
    F.conv2d: (_Q.conv2d, _Q.conv2d_relu), F.conv3d: (_Q.conv3d, _Q.conv3d_relu),
    F.conv_transpose1d: (_Q.conv_transpose1d, None),
    F.conv_transpose2d: (_Q.conv_transpose2d, None),
    F.conv_transpose3d: (_Q.conv_transpose3d, None),
}  # fmt: skip
#: The same by the dtypes of activation and weight, for inputs that are quantised as they come.
DYNAMIC_LOWER_FUNCTIONAL_MAP: dict[Any, Any] = {
    F.linear: {
        (torch.quint8, torch.qint8): (_Q.linear_dynamic, _Q.linear_relu_dynamic),
        (torch.float16, torch.float16): (_Q.linear_dynamic_fp16, _Q.linear_relu_dynamic_fp16),
    },
    F.conv1d: {}, F.conv2d: {}, F.conv3d: {},
}  # fmt: skip
_PREPACK = {
    F.conv1d: _Q.conv1d_prepack, F.conv2d: _Q.conv2d_prepack, F.conv3d: _Q.conv3d_prepack,
    F.conv_transpose1d: _Q.conv_transpose1d_prepack,
    F.conv_transpose2d: _Q.conv_transpose2d_prepack,
    F.conv_transpose3d: _Q.conv_transpose3d_prepack,
}  # fmt: skip
WEIGHT_PREPACK_OPS: set[Any] = {_Q.linear_prepack, _Q.linear_prepack_fp16, *_PREPACK.values()}
QBIN_OP_MAPPING: dict[Any, Any] = {
    operator.add: _Q.add, torch.add: _Q.add, operator.mul: _Q.mul, torch.mul: _Q.mul,
    operator.matmul: _Q.matmul, torch.matmul: _Q.matmul,
}  # fmt: skip
QBIN_RELU_OP_MAPPING: dict[Any, Any] = {
    operator.add: _Q.add_relu, torch.add: _Q.add_relu, operator.mul: _Q.mul_relu,
    torch.mul: _Q.mul_relu,
}  # fmt: skip
#: Keywords that functions have and their operators do not.
_ONLY_OF_FLOATS: dict[Any, tuple[str, ...]] = {
    F.hardswish: ("inplace",), F.elu: ("inplace",), F.dropout: ("inplace",),
    F.instance_norm: ("running_mean", "running_var", "use_input_stats", "momentum"),
}  # fmt: skip

#: Functions, methods and classes whose results lie on known grids.
_FIXED = (
    (F.hardsigmoid, torch.sigmoid, torch.tanh),
    ("hardsigmoid", "hardsigmoid_", "sigmoid", "sigmoid_", "tanh", "tanh_"),
    (nn.Hardsigmoid, nn.Sigmoid, nn.Tanh, nn.Softmax),
)
#: Those that have operators with grids for results.
_WITH_GRIDS = (
    (F.elu, F.hardswish, F.instance_norm, F.layer_norm, F.leaky_relu, F.dropout),
    (),
    (
        nnqr.ConvTranspose1d, nnqr.ConvTranspose2d, nnqr.ConvTranspose3d, nn.ELU, nn.LeakyReLU,
        nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LayerNorm,
        nn.Dropout, nn.PReLU, nn.BatchNorm2d, nn.BatchNorm3d, nni.BNReLU2d, nni.BNReLU3d,
    ),
)  # fmt: skip
#: Those that take quantised values as they are, and give such on the same grid.
_ON_ITS_GRID = (
    (
        torch.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh,
        F.hardtanh_, F.interpolate, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.relu, F.relu6,
        torch.avg_pool1d, F.avg_pool2d, F.avg_pool3d, torch.clamp, torch.flatten, torch.mean,
        operator.floordiv, torch.channel_shuffle, torch.narrow, torch.transpose,
        torch.repeat_interleave, torch.squeeze, torch.stack, torch.unsqueeze, F.pixel_shuffle,
        F.pixel_unshuffle, torch.cat,
    ),
    (
        "clamp", "mean", "relu", "relu_", "contiguous", "detach", "detach_", "permute", "repeat",
        "repeat_interleave", "reshape", "resize_", "shape", "size", "squeeze", "squeeze_",
        "transpose", "unsqueeze", "unsqueeze_", "view",
    ),
    (
        nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d,
        nn.AvgPool2d, nn.AvgPool3d, nn.Hardtanh, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.ReLU,
        nn.ReLU6, nn.ChannelShuffle, nn.Identity, nn.PixelShuffle, nn.PixelUnshuffle,
    ),
)  # fmt: skip


# ---- nodes ---------------------------------------------------------------------------------------


def _is_dequantized(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_method" and node.target == "dequantize"


def _calls(node: Any, *functions: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target in functions


def _first(node: Node) -> Any:
    return node.args[0]


class _Lowering:
    """A graph while quantised layers and operators are put into it."""

    def __init__(self, model: GraphModule, qconfigs: dict[str, Any]) -> None:
        self.model, self.graph, self.qconfigs = model, model.graph, qconfigs
        self.modules: dict[str, Any] = dict(model.named_modules(remove_duplicate=False))

    def module(self, node: Any) -> Any:
        """The module that a node calls; None if it calls none."""
        return self.modules.get(str(node.target)) if node.op == "call_module" else None

    def put(self, node: Node, module: Any) -> None:
        """Puts a module in the place of the one that a node calls."""
        parent, name = _parent_name(str(node.target))
        setattr(self.modules[parent], name, module)

    def refuses(self, node: Node) -> bool:
        """Whether a node is known to have no configuration."""
        return self.qconfigs.get(node.name, 0) is None

    def number(self, node: Any) -> Any:
        """What the node of a scale or zero point fetches."""
        return getattr(self.model, node.target)

    def before_quantizing(self) -> Iterator[tuple[Node, Node | None, Node]]:
        """For each quantising of one grid: its node, that of a ReLU before it if there is one, and
        that of what comes before."""
        for q in self.graph.nodes:
            if not _calls(q, torch.quantize_per_tensor) or not isinstance(_first(q), Node):
                continue
            node: Any = _first(q)
            relu = None
            if _calls(node, F.relu, torch.relu) or type(self.module(node)) is nn.ReLU:
                relu, node = node, _first(node)
            if isinstance(node, Node) and not self.refuses(node):
                yield q, relu, node

    def takes_quantized(self, node: Node, indexes: tuple[int, ...]) -> bool:
        """Whether those arguments that are values are numbers of quantised ones, and one is."""
        given = [node.args[i] for i in indexes if i < len(node.args)]
        nodes = [a for a in given if isinstance(a, Node)]
        return bool(nodes) and all(map(_is_dequantized, nodes))

    # ---- layers ----------------------------------------------------------------------------------

    def kind_for(self, module: Any, single: dict[Any, Any], fused: dict[Any, Any]) -> Any:
        """The class that stands for a layer; None if none does."""
        kind = type(module)
        if kind in fused:
            first, found = fused[kind]
            return found if type(module[0]) is first else None
        return single.get(kind)

    def static_layers(self) -> None:
        """Layers with weights between quantised values."""
        two = STATIC_LOWER_FUSED_MODULE_TWO_INPUTS_MAP
        for q, relu, node in self.before_quantizing():
            if relu is not None:
                continue
            module = self.module(node)
            kind = self.kind_for(module, STATIC_LOWER_MODULE_MAP, STATIC_LOWER_FUSED_MODULE_MAP)
            several = type(module) in two
            if several:
                kind = self.kind_for(module, {}, two)
            indexes = tuple(range(len(node.args)))
            if kind is None or not self.takes_quantized(node, indexes):
                continue
            if len(node.args) != (2 if several else 1):
                continue
            _, scale, zero, _ = q.args
            self.put(node, kind.from_reference(module, self.number(scale), self.number(zero)))
            for arg in node.args:
                node.replace_input_with(arg, _first(arg))
            q.replace_all_uses_with(node)
            for one in (q, scale, zero):
                self.graph.erase_node(one)

    def dynamic_layers(self) -> None:
        """Layers with weights whose inputs are quantised as they come."""
        for node in self.graph.nodes:
            kind = None
            if node.op == "call_module":
                kind = self.kind_for(
                    self.module(node), DYNAMIC_LOWER_MODULE_MAP, DYNAMIC_LOWER_FUSED_MODULE_MAP
                )
            if kind is None or not node.args or not _is_dequantized(node.args[0]):
                continue
            quantised = _first(node.args[0])
            if not _calls(quantised, torch.quantize_per_tensor_dynamic):
                continue
            if quantised.args[1] not in (torch.quint8, torch.qint8, torch.float16):
                continue
            self.put(node, kind.from_reference(self.module(node)))
            node.replace_input_with(node.args[0], _first(quantised))

    def tables(self) -> None:
        """Embeddings."""
        for node in self.graph.nodes:
            module = self.module(node)
            kind = WEIGHT_ONLY_LOWER_MODULE_MAP.get(type(module))
            if kind is not None:
                self.put(node, kind.from_reference(module))

    # ---- functions with weights ------------------------------------------------------------------

    def packed(self, node: Node, before: Node) -> Node:
        """The node of a function's packed weight."""
        _, weight, *rest = node.args
        quantised: Any = _first(weight)
        args, kwargs = [quantised, *rest], dict(node.kwargs)
        if node.target is F.linear:
            halves = quantised.args[-1] is torch.float16
            pack = _Q.linear_prepack_fp16 if halves else _Q.linear_prepack
            if "bias" in kwargs:
                kwargs["B"] = kwargs.pop("bias")
        else:
            pack = _PREPACK[node.target]
            if node.target in (F.conv1d, F.conv_transpose1d):
                # groups are one number, all others one for each dimension
                groups = 5
                args = [
                    (a,) if isinstance(a, int) and i > 1 and i != groups else a
                    for i, a in enumerate(args)
                ]
            if "transpose" in str(node.target) and len(args) > 6:
                args[5], args[6] = args[6], args[5]
        with self.graph.inserting_before(before):
            return self.graph.create_node("call_function", pack, tuple(args), kwargs)

    def static_functions(self) -> None:
        """Functions with weights between quantised values."""
        for q, relu, node in self.before_quantizing():
            if not _calls(node, *STATIC_LOWER_FUNCTIONAL_MAP) or len(node.args) < 2:
                continue
            if not self.takes_quantized(node, (0, 1)) or not _is_dequantized(node.args[1]):
                continue
            weight = _first(node.args[1])
            if not _calls(weight, torch.quantize_per_tensor, torch.quantize_per_channel):
                continue
            plain, with_relu = STATIC_LOWER_FUNCTIONAL_MAP[node.target]
            if relu is not None and with_relu is None:
                continue
            _, scale, zero, _ = q.args
            packed = self.packed(node, scale)
            node.target = plain if relu is None else with_relu
            node.args = (_first(node.args[0]), packed, scale, zero)
            node.kwargs = {}
            q.replace_all_uses_with(node)
            zero.append(node)
            self.graph.erase_node(q)
            if relu is not None:
                self.graph.erase_node(relu)

    def dynamic_functions(self) -> None:
        """Functions with weights whose inputs are quantised as they come."""
        for node in reversed(list(self.graph.nodes)):
            relu = None
            if _calls(node, F.relu) or type(self.module(node)) is nn.ReLU:
                relu, node = node, _first(node)
            if not _calls(node, *DYNAMIC_LOWER_FUNCTIONAL_MAP) or self.refuses(node):
                continue
            if len(node.args) < 2 or not all(map(_is_dequantized, node.args[:2])):
                continue
            quantised, weight = _first(node.args[0]), _first(node.args[1])
            if not _calls(quantised, torch.quantize_per_tensor_dynamic):
                continue
            value, dtype, reduces = quantised.args
            pair = DYNAMIC_LOWER_FUNCTIONAL_MAP[node.target].get((dtype, weight.args[-1]))
            if pair is None:
                continue
            packed = self.packed(node, node)
            node.target = pair[relu is not None]
            node.args = (value, packed) if dtype is torch.float16 else (value, packed, reduces)
            node.kwargs = {}
            if relu is not None:
                relu.replace_all_uses_with(node)
                self.graph.erase_node(relu)

    # ---- other functions -------------------------------------------------------------------------

    def pairs(self) -> None:
        """Sums and products."""
        kinds = (operator.add, torch.add, operator.mul, torch.mul, torch.matmul)
        for q, relu, node in self.before_quantizing():
            table = QBIN_OP_MAPPING if relu is None else QBIN_RELU_OP_MAPPING
            if not _calls(node, *kinds) or node.target not in table or len(node.args) < 2:
                continue
            if not self.takes_quantized(node, (0, 1)):
                continue
            args = [_first(a) if _is_dequantized(a) else a for a in node.args]
            if sum(map(_is_dequantized, node.args)) == 2:
                args += q.args[1:3]
            with self.graph.inserting_after(q):
                made = self.graph.call_function(table[node.target], tuple(args), {})
            made.stack_trace = node.stack_trace
            q.replace_all_uses_with(made)
            for one in (q, relu, node):
                if one is not None:
                    self.graph.erase_node(one)

    def questions(self) -> None:
        """What tells of a value without its numbers is asked of the quantised one."""
        for node in self.graph.nodes:
            asks = (
                node.op == "call_method" and node.target in ("shape", "size")
            ) or (_calls(node, getattr) and node.args[1] == "shape")  # fmt: skip
            if asks and _is_dequantized(node.args[0]):
                node.args = (_first(node.args[0]), *node.args[1:])

    def among(self, node: Any, kinds: tuple[Any, Any, Any]) -> str:
        """Whether a node is of some functions, methods or classes: what it calls, or nothing."""
        if not isinstance(node, Node):
            return ""
        functions, methods, classes = kinds
        found = (
            (node.op == "call_function" and node.target in functions)
            or (node.op == "call_method" and node.target in methods)
            or (node.op == "call_module" and type(self.module(node)) in classes)
        )
        return node.op if found else ""

    def others(self) -> None:
        """All else that has an operator for quantised values, or takes them as they are."""
        for q in self.graph.nodes:
            is_grid = q.target is torch.quantize_per_tensor
            halves = q.op == "call_method" and q.target == "to" and q.args[1:] == (torch.float16,)
            if not is_grid and not halves:
                continue
            node: Any = _first(q)
            special = self.among(node, _FIXED) or self.among(node, _WITH_GRIDS)
            if (halves and special) or not (special or self.among(node, _ON_ITS_GRID)):
                continue
            first = node.args[0] if node.args else next(iter(node.kwargs.values()))
            values = [first] if isinstance(first, Node) else list(first)
            if not all(map(_is_dequantized, values)):
                continue
            self.lower_one(q, node, values, is_grid)

    def lower_one(self, q: Node, node: Node, values: list[Node], is_grid: bool) -> None:
        """Lets a node take quantised values and give such."""
        grid = list(q.args[1:])
        if node.op == "call_module" and is_grid:
            module = self.module(node)
            kind = SPECIAL_PATTERN_LOWER_MODULE_MAP.get(type(module))
            if kind is not None:
                scale, zero = (self.number(n) for n in grid[:2])
                self.put(node, kind.from_reference(module, scale, zero))
        for value in values:
            node.replace_input_with(value, _first(value))
        q.replace_all_uses_with(node)
        self.graph.erase_node(q)
        if self.among(node, _WITH_GRIDS) == "call_function":
            dropped = _ONLY_OF_FLOATS.get(node.target, ())
            kwargs = {k: v for k, v in node.kwargs.items() if k not in dropped}
            kwargs |= {"output_scale": grid[0], "output_zero_point": grid[1]}
            with self.graph.inserting_after(grid[1]):
                made = self.graph.call_function(
                    get_quantized_operator(node.target), node.args, kwargs
                )
            made.stack_trace = node.stack_trace
            node.replace_all_uses_with(made)
            self.graph.erase_node(node)
        else:
            for one in grid:
                if isinstance(one, Node):
                    self.graph.erase_node(one)


# ---- packed weights ------------------------------------------------------------------------------


def _save_packed_weight(self: Any, destination: Any, prefix: str, keep_vars: Any) -> None:
    del keep_vars
    for name, value in vars(self).items():
        if "_packed_weight" in name and isinstance(value, ScriptObject):
            destination[prefix + name] = value


def _load_packed_weight(
    self: Any, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
) -> None:
    del local_metadata, strict, rest
    for name, value in list(vars(self).items()):
        if isinstance(value, ScriptObject) and prefix + name in state_dict:
            setattr(self, name, state_dict.pop(prefix + name))


def _fold_weights(
    model: GraphModule, scopes: dict[str, tuple[str, Any]], keep: bool
) -> GraphModule:
    """Computes weights that are packed from parameters alone: what was computed becomes an
    attribute."""
    graph = model.graph
    kept: dict[str, list[Any]] = {}
    for node in list(graph.nodes):
        if not _calls(node, *WEIGHT_PREPACK_OPS):
            continue
        nodes = collect_producer_nodes(node)
        if nodes is None:
            continue
        packing = graph_module_from_producer_nodes(model, nodes)
        user = next(iter(node.users))
        path = scopes[user.name][0] if user.name in scopes else ""
        name = get_new_attr_name_with_prefix(path + "_packed_weight_")(model)
        setattr(model, name, packing())
        if keep:
            found = sorted(packing.state_dict().values(), key=lambda x: x.numel(), reverse=True)
            kept[name.lower()] = [*found, None] if len(found) == 1 else found
        with graph.inserting_before(node):
            fetched = graph.create_node("get_attr", name, (), {})
        node.replace_all_uses_with(fetched)
        graph.erase_node(node)
    graph.eliminate_dead_code()
    made: Any = GraphModule(model, graph)
    made._register_state_dict_hook(_save_packed_weight)
    made.register_load_state_dict_pre_hook(_load_packed_weight)
    if keep:
        made.original_weights_lookup = kept
    return made


def lower(
    model: GraphModule,
    qconfigs: dict[str, Any],
    scopes: dict[str, tuple[str, Any]],
    keep_original_weights: bool = False,
) -> GraphModule:
    """The model with quantised layers and operators.

    Args:
        model: a graph whose values are quantised and made numbers again.
        qconfigs: for each node its configuration.
        scopes: for each node the path and class of the module that it was traced in.
        keep_original_weights: whether weights of functions stay as ``original_weights_lookup``.
    """
    lowering = _Lowering(model, qconfigs)
    steps: tuple[Callable[[], None], ...] = (
        lowering.static_layers, lowering.dynamic_layers, lowering.tables,
        lowering.static_functions, lowering.dynamic_functions, lowering.pairs, lowering.questions,
        lowering.others,
    )  # fmt: skip
    for step in steps:
        step()
    model.graph.eliminate_dead_code()
    made = _fold_weights(model, scopes, keep_original_weights)
    made.recompile()
    made.graph.lint()
    return made


__getattr__ = _refusals.missing(__name__)
