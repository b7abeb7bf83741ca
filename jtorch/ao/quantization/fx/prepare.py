"""Putting observers into graphs."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node

from ..backend_config import BackendConfig, get_native_backend_config
from ..backend_config.utils import get_module_to_qat_module
from ..observer import _is_activation_post_process
from ..qconfig_mapping import QConfigMapping
from ..quantize import _converted, propagate_qconfig_
from ..utils import (
    _parent_name,
    activation_is_statically_quantized,
    get_swapped_custom_module_class,
)
from ._sequences import dequantise_states, lstm_behind
from ._targets import INFO, choose_dtypes, dtype_of, is_supported, maker_for, maker_for_result
from .custom_config import PrepareCustomConfig, StandaloneModuleConfigEntry
from .match_utils import Match, _find_matches
from .qconfig_mapping_utils import (
    _generate_node_name_to_qconfig,
    _get_flattened_qconfig_dict,
    _update_qconfig_for_fusion,
    _update_qconfig_for_qat,
)
from .utils import (
    ObservedGraphModuleAttrs,
    assert_and_get_unique_device,
    get_custom_module_class_keys,
    get_new_attr_name_with_prefix,
)

#: The dtypes that values are observed for.
_OBSERVED = (
    torch.quint8, torch.qint8, torch.qint32, torch.float16, torch.uint8, torch.int8, torch.int16,
    torch.int32, torch.float8_e5m2, torch.float8_e4m3fn,
)  # fmt: skip


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


# ---- where observers go --------------------------------------------------------------------------


def _needs(before: Any, wanted: tuple[Any, bool], reuses: bool, is_first: bool = False) -> bool:
    """Whether a value of one dtype is to be observed for another. What is quantised as it comes is
    so for the first argument alone."""
    dtype, dynamic = wanted
    if dynamic:
        if dtype not in _OBSERVED:
            raise AssertionError(f"Expected cur_target_dtype to be torch.float, but got: {dtype}")
        if before in (None, int, float, torch.bool):
            raise AssertionError("prev_output_dtype must not be in _DO_NOT_OBS_DTYPE_LIST")
        return is_first
    known = dtype in _OBSERVED and before in (*_OBSERVED, torch.float)
    return not reuses and known and dtype != before


class _Observing:
    """A graph while observers are put into it."""

    def __init__(
        self,
        model: GraphModule,
        matches: dict[str, Match],
        table: BackendConfig,
        custom: PrepareCustomConfig,
    ) -> None:
        self.model, self.graph, self.matches = model, model.graph, matches
        self.table, self.custom = table, custom
        self.modules: dict[str, Any] = dict(model.named_modules(remove_duplicate=False))
        self.device = assert_and_get_unique_device(model)
        self.swapped: set[str] = set()
        self.observed: set[str] = set()

    def is_observer(self, node: Any) -> bool:
        """Whether a node calls an observer."""
        return (
            isinstance(node, Node)
            and node.op == "call_module"
            and _is_activation_post_process(self.modules[str(node.target)])
        )

    def dtype_given(self, arg: Node) -> Any:
        """The dtype of a value as it is now."""
        node: Any = lstm_behind(arg, self.modules)
        if node is None:
            node = arg.args[0] if self.is_observer(arg) else arg
        return dtype_of(maker_for_result(node))[0]

    def insert(self, node: Node, observer: Any) -> Node:
        """A node after ``node`` that observes it."""
        return _insert_obs_or_fq(node, observer, self.model, self.modules, self.graph, self.device)

    # ---- arguments -------------------------------------------------------------------------------

    def observed_argument(self, node: Node, arg: Any, match: Match) -> Any:
        """What a node is to be given in the place of an argument."""
        if isinstance(arg, list | tuple):
            return type(arg)([self.observed_argument(node, a, match) for a in arg])
        if not isinstance(arg, Node):
            return arg
        if match.standalone:
            make = self.maker_for_standalone(node, arg, match)
            if make is None:
                return arg
        else:
            make = maker_for(node, arg)
            reuses = node.meta[INFO].get("reuse_input_obs_or_fq", False)
            first = len(node.args) > 0 and arg is node.args[0]
            if not _needs(self.dtype_given(arg), dtype_of(make), reuses, first):
                return arg
        observer = make()
        for user in arg.users:
            if user.op != "call_module":
                continue
            there = self.modules[str(user.target)]
            if type(there) is type(observer) and there.dtype == observer.dtype:
                return user
        return self.insert(arg, observer)

    def maker_for_standalone(self, node: Node, arg: Node, match: Match) -> Any:
        """What observes an argument of a module that is prepared by itself; None for nothing."""
        entry = self.entry(str(node.target))
        known = (entry.prepare_custom_config or PrepareCustomConfig()).input_quantized_indexes
        at = next((i for i, a in enumerate(node.args) if a is arg), None)
        if at is None or at not in known or self.dtype_given(arg) == torch.quint8:
            return None
        return match.qconfig.activation

    def observe_arguments(self, node: Node, match: Match) -> None:
        """Observes what a node is given, where it needs it."""
        args = [self.observed_argument(node, a, match) for a in node.args]
        kwargs = {k: self.observed_argument(node, a, match) for k, a in node.kwargs.items()}
        node.args, node.kwargs = tuple(args), kwargs

    # ---- results ---------------------------------------------------------------------------------

    def observe_result(self, node: Node, match: Match) -> None:
        """Observes what a node gives, where it needs it."""
        info = node.meta[INFO]
        own = match.custom and activation_is_statically_quantized(match.qconfig)
        if own and isinstance(self.modules[str(node.target)], nn.LSTM):
            dequantise_states(node, self.model, self.modules, self.graph)
            self.swap(node, match)
            return
        make = info.get("output_act_obs_or_fq_ctr")
        wanted = dtype_of(make)
        if info.get("_is_standalone_module") or wanted[1] or not _needs(torch.float, wanted, False):
            return
        observer = self.insert(node, make())
        for user in list(node.users):
            if user is not observer:
                user.replace_input_with(node, observer)
        shares = info.get("input_output_share_observers") and not self.observed_elsewhere(node)
        if (shares or info.get("reuse_input_obs_or_fq")) and not self.share(node):
            for one in list(node.users):
                one.replace_all_uses_with(node)
                self.graph.erase_node(one)
        if match.custom:
            self.swap(node, match)

    def observed_elsewhere(self, node: Node) -> bool:
        """Whether a node's input is an input of the graph that is quantised already."""
        first = node.args[0] if node.args else None
        return (
            isinstance(first, Node)
            and first.op == "placeholder"
            and self.dtype_given(node) in (torch.quint8, torch.uint8)
        )

    def observer_behind(self, node: Any, *, all_the_way: bool) -> Node | None:
        """The node of the observer that a value has come from; None if there is none."""
        while not self.is_observer(node):
            if not isinstance(node, Node) or (all_the_way and node.op == "placeholder"):
                return None
            if not node.args:
                return None
            # the first argument that is a node, or else the last
            nodes = [a for a in node.args if isinstance(a, Node)] if all_the_way else node.args[:1]
            node = nodes[0] if nodes else node.args[-1]
        return node

    def share(self, node: Node) -> bool:
        """Lets all inputs of a node and its result have the first input's observer; tells whether
        it has one."""
        first = next((a for a in node.args if isinstance(a, Node | list | tuple)), None)
        if first is None:
            return False
        several = list(first) if isinstance(first, list | tuple) else [first]
        found = self.observer_behind(several[0], all_the_way=True)
        if found is None:
            return False
        observer = self.modules[str(found.target)]
        places = []
        for other in several[1:]:
            place = self.observer_behind(other, all_the_way=False)
            if place is None:
                return False
            self.put(place, observer)
        places.extend(node.users)
        for place in places:
            self.put(place, observer)
        return True

    def put(self, place: Node, module: Any) -> None:
        """Puts a module in the place of the one that a node calls."""
        parent, name = _parent_name(str(place.target))
        setattr(self.modules[parent], name, module)

    # ---- modules of their own --------------------------------------------------------------------

    def entry(self, path: str) -> StandaloneModuleConfigEntry:
        """How a module is prepared that stays one."""
        none = StandaloneModuleConfigEntry(None, (), None, None)
        by_class = self.custom.standalone_module_classes.get(type(self.modules[path]), none)
        return self.custom.standalone_module_names.get(path, by_class)

    def swap(self, node: Node, match: Match) -> None:
        """Puts the observed class in the place of a program's own."""
        path = str(node.target)
        if path in self.swapped:
            return
        self.swapped.add(path)
        module = self.modules[path]
        kind = get_swapped_custom_module_class(
            module, self.custom.float_to_observed_mapping, match.qconfig
        )
        self.put(node, kind.from_float(module))

    # ---- all of it -------------------------------------------------------------------------------

    def run(self) -> Node | None:
        """Puts observers where they belong; gives the graph's output."""
        result = None
        for node in list(self.graph.nodes):
            if node.op == "output":
                result = node
                node.args = tuple(self.observed_output(a) for a in node.args)
                continue
            match = self.matches.get(node.name)
            if match is None or match.qconfig is None or not is_supported(match):
                continue
            self.modules = dict(self.model.named_modules(remove_duplicate=False))
            self.observed.update(n.name for n in match.nodes)
            if node is match.root:
                self.observe_arguments(node, match)
            if node is match.last:
                self.observe_result(node, match)
        return result

    def observed_output(self, value: Any) -> Any:
        """What the graph gives, observed where it is to be quantised and is not."""
        if isinstance(value, list | tuple):
            return type(value)([self.observed_output(v) for v in value])
        if isinstance(value, dict):
            return {k: self.observed_output(v) for k, v in value.items()}
        if value is None:
            return None
        if not isinstance(value, Node):
            raise Exception("Unhandled type for returned node:", value)
        make: Any = value.meta.get(INFO, {}).get("input_act_obs_or_fq_ctr")
        wanted = torch.float if make is None else dtype_of(make)[0]
        if make is None or wanted in (torch.float, self.dtype_given(value)):
            return value
        return self.insert(value, make())


def _prepare_standalone(
    observing: _Observing, prepare_one: Callable[..., GraphModule], is_qat: bool
) -> None:
    """Prepares the modules by themselves that stay modules of their own."""
    for match in {m.last.name: m for m in observing.matches.values() if m.standalone}.values():
        path = str(match.last.target)
        entry = observing.entry(path)
        observing.put(
            match.last,
            prepare_one(
                observing.modules[path],
                entry.qconfig_mapping or QConfigMapping().set_global(match.qconfig),
                is_qat,
                example_inputs=entry.example_inputs,
                prepare_custom_config=entry.prepare_custom_config or PrepareCustomConfig(),
                backend_config=entry.backend_config or observing.table,
            ),
        )


def _from_dict(kind: Any, given: Any, words: str, level: int) -> Any:
    """``given``, made of a dictionary if it is one, with PyTorch's warning."""
    if not isinstance(given, dict):
        return given
    warnings.warn(
        f"{words} is deprecated and will not be supported in a future version. Please pass in a "
        f"{kind.__name__} instead.",
        FutureWarning,
        stacklevel=level + 1,
    )
    return kind.from_dict(given)


def prepare(
    model: GraphModule,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    is_qat: bool,
    node_name_to_scope: dict[str, tuple[str, Any]],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    _equalization_config: Any = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
    is_standalone_module: bool = False,
    *,
    prepare_one: Callable[..., GraphModule] | None = None,
) -> GraphModule:
    """A graph with observers, where a mapping and a backend's table say so.

    Args:
        node_name_to_scope: for each node the path and class of the module that it was traced in.
        prepare_one: what prepares modules that stay modules of their own.

    Raises:
        NotImplementedError: for ``_equalization_config``.
        AssertionError: for a mapping that is none.
    """
    del example_inputs
    mapping = _from_dict(
        QConfigMapping, qconfig_mapping, "Passing a QConfig dictionary to prepare", 2
    )
    custom = _from_dict(
        PrepareCustomConfig, prepare_custom_config,
        "Passing a prepare_custom_config_dict to prepare", 2,
    )  # fmt: skip
    table = _from_dict(BackendConfig, backend_config, "Passing a backend_config_dict to prepare", 2)
    if _equalization_config is not None and _equalization_config.to_dict() != (
        QConfigMapping().to_dict()
    ):
        raise not_offered("prepare_fx(_equalization_config)", "layers are not scaled")
    if not isinstance(mapping, QConfigMapping):
        raise AssertionError("qconfig_mapping must be a QConfigMapping")
    custom, table = custom or PrepareCustomConfig(), table or get_native_backend_config()
    mapping = copy.deepcopy(mapping)
    _update_qconfig_for_fusion(model, mapping)
    propagate_qconfig_(model, _get_flattened_qconfig_dict(mapping), custom.to_dict())
    if is_qat:
        _converted(model, get_module_to_qat_module(table), True, False, False, None, False)
        _update_qconfig_for_qat(mapping, table)
    modules = dict(model.named_modules(remove_duplicate=False))
    qconfigs = _generate_node_name_to_qconfig(
        model, modules, model.graph, mapping, node_name_to_scope
    )
    matches = _find_matches(
        model.graph, modules, table, custom.standalone_module_names,
        custom.standalone_module_classes,
        get_custom_module_class_keys(custom.float_to_observed_mapping),
    )  # fmt: skip
    matches = {name: m.configured(qconfigs[name]) for name, m in matches.items()}
    observing = _Observing(model, matches, table, custom)
    if prepare_one is not None:
        _prepare_standalone(observing, prepare_one, is_qat)
        modules = dict(model.named_modules(remove_duplicate=False))
        observing.modules = modules
    choose_dtypes(
        model.graph, matches, table, modules, custom.input_quantized_indexes,
        custom.output_quantized_indexes,
    )  # fmt: skip
    result = observing.run()
    made = GraphModule(model, model.graph)
    _save_state(made, qconfigs, node_name_to_scope, custom, {}, mapping, is_qat, observing.observed)
    if is_standalone_module:
        if result is None:
            raise AssertionError("result_node must not be None for standalone modules")
        if not isinstance(result.args[0], Node):
            raise AssertionError(
                "standalone module only supports returning simple value currently (not tuple, dict "
                "etc.)"
            )
        attributes = made.meta["_observed_graph_module_attrs"]
        attributes.is_observed_standalone_module = True
        attributes.standalone_module_input_quantized_idxs = custom.input_quantized_indexes
        attributes.standalone_module_output_quantized_idxs = custom.output_quantized_indexes
    return made


__getattr__ = _refusals.missing(__name__)
