"""Quantising models by their graphs: a model is traced, layers that follow each other are put
together, observers inserted, values passed, and quantised layers and operators put in."""

from __future__ import annotations

import copy
from typing import Any

from jtorch import fx, nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn.quantized import FloatFunctional, FXFloatFunctional
from jtorch.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY, GraphModule

from .backend_config import BackendConfig
from .fx.convert import convert
from .fx.custom_config import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig
from .fx.fuse import fuse
from .fx.prepare import _from_dict, prepare
from .fx.tracer import QuantizationTracer as QuantizationTracer
from .fx.tracer import Scope as Scope
from .fx.tracer import ScopeContextManager as ScopeContextManager
from .fx.utils import get_custom_module_class_keys as get_custom_module_class_keys
from .qconfig_mapping import QConfigMapping
from .quantize import _deprecated


def attach_preserved_attrs_to_model(model: Any, preserved_attrs: dict[str, Any]) -> None:
    """Gives a module attributes that copies of it have, too."""
    model.meta[_USER_PRESERVED_ATTRIBUTES_KEY] = copy.copy(preserved_attrs)
    for name, value in preserved_attrs.items():
        setattr(model, name, value)


def _preserved(model: Any, names: list[str]) -> dict[str, Any]:
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def _swap_ff_with_fxff(model: Any) -> None:
    """Puts what can be traced in the place of operations as modules."""
    for name, module in list(model.named_children()):
        if isinstance(module, FloatFunctional):
            del model._modules[name]
            model._modules[name] = FXFloatFunctional()
        else:
            _swap_ff_with_fxff(module)


def get_skipped_module_name_and_classes(
    prepare_custom_config: PrepareCustomConfig, is_standalone_module: bool
) -> tuple[list[str], list[Any]]:
    """The modules that stay whole when a model is traced: by name, by class."""
    custom = prepare_custom_config
    names, classes = [*custom.non_traceable_module_names], [*custom.non_traceable_module_classes]
    if not is_standalone_module:
        names += custom.standalone_module_names
        classes += custom.standalone_module_classes
        classes += get_custom_module_class_keys(custom.float_to_observed_mapping)
    return names, classes


def _prepare_fx(
    model: Any,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
    is_standalone_module: bool = False,
) -> GraphModule:
    custom = _from_dict(
        PrepareCustomConfig, prepare_custom_config,
        "Passing a prepare_custom_config_dict to prepare", 4,
    )  # fmt: skip
    custom = custom or PrepareCustomConfig()
    table = _from_dict(BackendConfig, backend_config, "Passing a backend_config_dict to prepare", 4)
    _swap_ff_with_fxff(model)
    kept = _preserved(model, custom.preserved_attributes)
    tracer = QuantizationTracer(*get_skipped_module_name_and_classes(custom, is_standalone_module))
    traced = GraphModule(model, tracer.trace(model))
    prepared = prepare(
        fuse(traced, is_qat, None, table),
        qconfig_mapping,
        is_qat,
        tracer.node_name_to_scope,
        example_inputs=example_inputs,
        prepare_custom_config=custom,
        _equalization_config=_equalization_config,
        backend_config=table,
        is_standalone_module=is_standalone_module,
        prepare_one=_prepare_standalone_module_fx,
    )
    attach_preserved_attrs_to_model(prepared, kept)
    return prepared


def _prepare_standalone_module_fx(
    model: Any,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """A module with observers that stays a module of its own in another."""
    return _prepare_fx(
        model, qconfig_mapping, is_qat, example_inputs, prepare_custom_config,
        backend_config=backend_config, is_standalone_module=True,
    )  # fmt: skip


def fuse_fx(
    model: nn.Module,
    fuse_custom_config: FuseCustomConfig | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """A model as a graph in which layers that follow each other are one.

    Args:
        model: the model, in evaluation mode.
        fuse_custom_config: which attributes are kept.
        backend_config: which layers are put together; PyTorch's own table if None.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.ao.quantization.quantize_fx import fuse_fx
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
        >>> type(fuse_fx(model).get_submodule("0")).__name__
        'LinearReLU'
    """
    custom = _from_dict(
        FuseCustomConfig, fuse_custom_config, "Passing a fuse_custom_config_dict to fuse", 2
    )
    kept = _preserved(model, (custom or FuseCustomConfig()).preserved_attributes)
    made = fuse(fx.symbolic_trace(model), False, custom, backend_config)
    attach_preserved_attrs_to_model(made, kept)
    return made


@_deprecated
def prepare_fx(
    model: nn.Module,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    _equalization_config: QConfigMapping | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """A model as a graph with observers, for quantisation after training: values are to be passed
    then, and ``convert_fx`` called.

    Args:
        model: the model, in evaluation mode.
        qconfig_mapping: which observers its parts get.
        example_inputs: what it could be called with.
        prepare_custom_config: what is kept as it is, prepared by itself, or quantised already.
        backend_config: what can be quantised; what PyTorch's operators can do if None.

    Raises:
        NotImplementedError: for ``_equalization_config``.
    """
    return _prepare_fx(
        model, qconfig_mapping, False, example_inputs, prepare_custom_config, _equalization_config,
        backend_config,
    )  # fmt: skip


@_deprecated
def prepare_qat_fx(
    model: nn.Module,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """The same for quantisation in training: values and weights are rounded to grids. The model is
    to be trained then."""
    return _prepare_fx(
        model, qconfig_mapping, True, example_inputs, prepare_custom_config,
        backend_config=backend_config,
    )  # fmt: skip


def _convert_fx(
    graph_module: Any,
    is_reference: bool,
    convert_custom_config: Any = None,
    is_standalone_module: bool = False,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    is_decomposed: bool = False,
    keep_original_weights: bool = False,
) -> GraphModule:
    custom = _from_dict(
        ConvertCustomConfig, convert_custom_config,
        "Passing a convert_custom_config_dict to convert", 4,
    )  # fmt: skip
    if not isinstance(graph_module, GraphModule):
        raise ValueError(
            f"input model must be a GraphModule, Got type:{type(graph_module)} Please make sure to "
            "follow the tutorials."
        )
    kept = _preserved(graph_module, (custom or ConvertCustomConfig()).preserved_attributes)
    made = convert(
        graph_module,
        is_reference,
        custom,
        is_standalone_module,
        _remove_qconfig_flag=_remove_qconfig,
        qconfig_mapping=qconfig_mapping,
        backend_config=backend_config,
        is_decomposed=is_decomposed,
        keep_original_weights=keep_original_weights,
    )
    attach_preserved_attrs_to_model(made, kept)
    return made


@_deprecated
def convert_fx(
    graph_module: GraphModule,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: QConfigMapping | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The quantised model of a prepared one whose observers have seen values, or which was trained.
    The prepared one is not to be used any more.

    Args:
        graph_module: the prepared model.
        convert_custom_config: what takes the place of a program's own classes.
        _remove_qconfig: whether configurations are taken from it.
        qconfig_mapping: what it was prepared with, with None for what is not to be quantised.
        backend_config: what can be quantised.
        keep_original_weights: whether weights of functions stay as ``original_weights_lookup``.

    Raises:
        ValueError: for what is no graph.
        AssertionError: for models that were not prepared.

    Examples:
        >>> import warnings
        >>> warnings.simplefilter("ignore", DeprecationWarning)
        >>> import jtorch as torch
        >>> from jtorch.ao.quantization import get_default_qconfig_mapping
        >>> from jtorch.ao.quantization.quantize_fx import convert_fx, prepare_fx
        >>> x = torch.randn(4, 3)
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
        >>> prepared = prepare_fx(model, get_default_qconfig_mapping(), (x,))
        >>> y = prepared(x)
        >>> convert_fx(prepared).get_submodule("0")._get_name()
        'QuantizedLinearReLU'
    """
    return _convert_fx(
        graph_module, False, convert_custom_config, False, _remove_qconfig, qconfig_mapping,
        backend_config, False, keep_original_weights,
    )  # fmt: skip


def convert_to_reference_fx(
    graph_module: GraphModule,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: QConfigMapping | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """The same with layers that round their weights and functions of floats, between values that
    are quantised and made numbers again: what other backends are given."""
    return _convert_fx(
        graph_module, True, convert_custom_config, False, _remove_qconfig, qconfig_mapping,
        backend_config,
    )  # fmt: skip


def _convert_standalone_module_fx(
    graph_module: GraphModule, is_reference: bool = False, convert_custom_config: Any = None
) -> GraphModule:
    return _convert_fx(graph_module, is_reference, convert_custom_config, True)


__getattr__ = _refusals.missing(__name__)
