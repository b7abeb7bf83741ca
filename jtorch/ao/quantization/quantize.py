"""Quantising models: observers are put into them, values passed, and layers replaced."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn import quantizable as nnqa
from jtorch.ao.nn import quantized as nnq
from jtorch.ao.nn.intrinsic import _FusedModule, _kind

from .observer import _is_activation_post_process as is_activation_post_process
from .qconfig import (
    _activation_is_memoryless,
    _add_module_to_qconfig_obs_ctr,
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
    float_qparams_weight_only_qconfig_4bit,
)
from .quantization_mappings import (
    _get_special_act_post_process,
    _has_special_act_post_process,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    get_default_static_quant_reference_module_mappings,
    no_observer_set,
)
from .stubs import DeQuantStub, QuantWrapper
from .utils import get_qparam_dict, has_no_children_ignoring_parametrizations

F = TypeVar("F", bound=Callable[..., Any])

_MOVED = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \n"
    "For migrations of users: \n"
    "1. Eager mode quantization (torch.ao.quantization.quantize, "
    "torch.ao.quantization.quantize_dynamic), please migrate to use torchao eager mode quantize_ "
    "API instead \n"
    "2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,"
    "torch.ao.quantization.quantize_fx.convert_fx, please migrate to use torchao pt2e quantization "
    "API instead (prepare_pt2e, convert_pt2e) \n"
    "3. pt2e quantization has been migrated to torchao "
    "(https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \n"
    "see https://github.com/pytorch/ao/issues/2259 for more details"
)


def _deprecated(function: F) -> F:
    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(_MOVED, DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    found: Any = warned
    found.__deprecated__ = _MOVED
    return found


_CUSTOM: dict[str, Any] = {
    "float_to_observed_custom_module_class": {
        nn.LSTM: nnqa.LSTM,
        nn.MultiheadAttention: nnqa.MultiheadAttention,
    },
    "observed_to_quantized_custom_module_class": {
        nnqa.LSTM: nnq.LSTM,
        nnqa.MultiheadAttention: nnq.MultiheadAttention,
    },
}


def get_default_custom_config_dict() -> dict[str, Any]:
    """Which modules have ways of their own to be observed and quantised: those that are written
    out in ``torch.ao.nn.quantizable``."""
    return _CUSTOM


# ---- configurations ------------------------------------------------------------------------------


def _propagate(
    module: Any, by_name: dict[Any, Any], parent: Any, prefix: str, custom: dict[str, Any]
) -> None:
    found = by_name.get(_kind(module), parent)
    found = by_name.get(prefix, found)
    found = getattr(module, "qconfig", found)
    _assert_valid_qconfig(found, module)
    own = _add_module_to_qconfig_obs_ctr(found, module)
    module.qconfig = own
    for name, child in module.named_children():
        path = f"{prefix}.{name}" if prefix else name
        if name in custom.get("non_traceable_module_name", ()) or type(child) in custom.get(
            "non_traceable_module_class", ()
        ):
            continue
        _propagate(child, by_name, own, path, custom)


def propagate_qconfig_(
    module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None
) -> None:
    """Gives each module in another its configuration as attribute ``qconfig``: its own, that of its
    name or class in ``qconfig_dict``, or that of the module around it."""
    _propagate(module, qconfig_dict or {}, None, "", prepare_custom_config_dict or {})


# ---- observers -----------------------------------------------------------------------------------


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:  # noqa: ARG001
    """Passes a module's result through its observer."""
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:
    """Passes a module's input through its observer."""
    return self.activation_post_process(input[0])


def _register_activation_post_process_hook(module: Any, pre_hook: bool = False) -> None:
    if not hasattr(module, "activation_post_process"):
        raise AssertionError(
            "Expect activation_post_process attribute already attached to the module"
        )
    if pre_hook:
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _wants(module: Any) -> bool:
    return hasattr(module, "qconfig") and module.qconfig is not None


def _made(qconfig: Any, device: Any, special: Any = None) -> Any:
    observer = (special or qconfig.activation)()
    if device is not None:
        observer.to(device)
    return observer


def _device_of(module: Any) -> Any:
    devices = {p.device for p in module.parameters()} | {b.device for b in module.buffers()}
    if len(devices) > 1:
        raise AssertionError(
            "_add_observer_ only works with cpu or single-device CUDA modules, but got devices "
            f"{devices}"
        )
    return next(iter(devices), None)


def _add_observer_(
    module: Any,
    qconfig_propagation_list: Any = None,
    non_leaf_module_list: Any = None,
    device: Any = None,
    custom_module_class_mapping: Any = None,
) -> None:
    """Puts observers at the results of the leaves of a module that have configurations."""
    listed = qconfig_propagation_list or get_default_qconfig_propagation_list()
    custom = custom_module_class_mapping or {}
    device = _device_of(module) if device is None else device

    def insert(m: Any, special: Any = None) -> None:
        if _wants(m) and not isinstance(m, DeQuantStub):
            m.add_module("activation_post_process", _made(m.qconfig, device, special))
            _register_activation_post_process_hook(m, _activation_is_memoryless(m.qconfig))

    for name, child in [*module.named_children()]:
        kind = _kind(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, nnq.FloatFunctional | nnq.QFunctional):
            if _wants(child):
                child.activation_post_process = _made(child.qconfig, device)
        elif isinstance(child, _FusedModule) or kind in (non_leaf_module_list or ()):
            if _wants(child):
                insert(child)
        elif _has_special_act_post_process(child):
            insert(child, _get_special_act_post_process(child))
        elif _wants(child) and kind in custom:
            observed = custom[kind].from_float(child)
            setattr(module, name, observed)
            # these observe what they give themselves
            if not issubclass(custom[kind], tuple(no_observer_set())):
                insert(observed)
        else:
            _add_observer_(child, listed, non_leaf_module_list, device, custom)
    if (
        has_no_children_ignoring_parametrizations(module)
        and not isinstance(module, nn.Sequential)
        and _kind(module) in listed
    ):
        insert(module)


def _prepared(model: Any, inplace: bool, allow_list: Any, non_leaf: Any, custom_config: Any) -> Any:
    config = custom_config or get_default_custom_config_dict()
    custom = config.get("float_to_observed_custom_module_class", {})
    if not inplace:
        model = copy.deepcopy(model)
    listed = get_default_qconfig_propagation_list() if allow_list is None else allow_list
    propagate_qconfig_(model, None)
    if not any(hasattr(m, "qconfig") and m.qconfig for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration "
            "through `qconfig_dict` or by assigning the `.qconfig` attribute directly on "
            "submodules",
            stacklevel=4,
        )
    _add_observer_(model, listed, non_leaf, custom_module_class_mapping=custom)
    return model


@_deprecated
def prepare(
    model: Any,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:
    """Puts observers into a model, for quantisation after training: values are to be passed then,
    and ``convert`` called.

    Args:
        model: a model whose modules have ``qconfig``.
        inplace: whether the model itself is changed.
        allow_list: the classes that get observers.
        observer_non_leaf_module_list: classes that get one although they have modules in them.
        prepare_custom_config_dict: classes with ways of their own.
    """
    return _prepared(
        model, inplace, allow_list, observer_non_leaf_module_list, prepare_custom_config_dict
    )


@_deprecated
def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Puts what rounds to grids into a model that is to be trained so.

    Raises:
        AssertionError: for models in evaluation mode.
    """
    return _prepared_for_training(model, mapping, inplace)


def _prepared_for_training(model: Any, mapping: Any, inplace: bool) -> Any:
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    if mapping is None:
        mapping = get_default_qat_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model, None)
    _converted(model, mapping, True, False, False, None, False)
    return _prepared(model, True, None, set(mapping.values()), None)


# ---- replacing -----------------------------------------------------------------------------------


def swap_module(
    mod: Any,
    mapping: Any,
    custom_module_class_mapping: Any,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """The quantised module of one with a configuration; others as they are. Its hooks go with it,
    but for those of observers."""
    if not (hasattr(mod, "qconfig") and mod.qconfig is not None):
        return mod
    kind = _kind(mod)
    if kind in custom_module_class_mapping:
        made = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        target = mapping[kind]
        if isinstance(mod, nn.utils.parametrize.ParametrizationList):
            return mod
        if getattr(target, "_IS_REFERENCE", False):
            observer = mod.qconfig.weight()
            observer(mod.weight)
            grid = get_qparam_dict(observer)
            return _hooked(target.from_float(mod, grid), mod)
        made = (
            target.from_float(mod, use_precomputed_fake_quant=True)
            if use_precomputed_fake_quant
            else target.from_float(mod)
        )
    else:
        return mod
    return _hooked(made, mod)


def _hooked(made: Any, mod: Any) -> Any:
    """A module with the hooks of another but for those of observers, on its device."""
    for hook in mod._forward_pre_hooks.values():
        if hook is not _observer_forward_pre_hook:
            made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    device = _device_of(mod)
    if device is not None and device.type != "cpu":
        made.to(device)
    return made


def _swap_all(module: Any, mapping: Any, custom: Any, precomputed: bool) -> None:
    swapped = {}
    for name, child in module.named_children():
        if not isinstance(child, _FusedModule) and _kind(child) not in custom:
            _swap_all(child, mapping, custom, precomputed)
        swapped[name] = swap_module(child, mapping, custom, precomputed)
    for name, child in swapped.items():
        module._modules[name] = child


def _converted(
    module: Any,
    mapping: Any,
    inplace: bool,
    remove_qconfig: bool,
    is_reference: bool,
    custom_config: Any,
    precomputed: bool,
) -> Any:
    config = custom_config or get_default_custom_config_dict()
    custom = config.get("observed_to_quantized_custom_module_class", {})
    if not inplace:
        module = copy.deepcopy(module)
    if mapping is None and is_reference:
        mapping = get_default_static_quant_reference_module_mappings()
    elif mapping is None:
        mapping = get_default_static_quant_module_mappings()
    _swap_all(module, mapping, custom, precomputed)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


@_deprecated
def convert(
    module: Any,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """Replaces the layers of a prepared model by quantised ones.

    Args:
        module: the model.
        mapping: class -> class that takes its place; PyTorch's default for observed models if None.
        inplace: whether the model itself is changed.
        remove_qconfig: whether configurations and observers are taken from it.
        is_reference: whether layers round their weights and compute with floats.
        convert_custom_config_dict: classes with ways of their own.
        use_precomputed_fake_quant: whether grids of weights stay as they were trained.
    """
    return _converted(
        module, mapping, inplace, remove_qconfig, is_reference, convert_custom_config_dict,
        use_precomputed_fake_quant,
    )  # fmt: skip


def _remove_activation_post_process(module: Any) -> None:
    observer = getattr(module, "activation_post_process", None)
    if observer is not None and is_activation_post_process(observer):
        delattr(module, "activation_post_process")
    for hooks, ours in (
        (module._forward_pre_hooks, _observer_forward_pre_hook),
        (module._forward_hooks, _observer_forward_hook),
    ):
        for key in [k for k, hook in hooks.items() if hook is ours]:
            hooks.pop(key)


def _remove_qconfig(module: Any) -> None:
    """Takes configurations and observers from a module and those in it."""
    for inner in module.modules():
        inner.__dict__.pop("qconfig", None)
        _remove_activation_post_process(inner)


# ---- all in one ----------------------------------------------------------------------------------


def add_quant_dequant(module: Any) -> Any:
    """Puts modules with a configuration and none in them between a ``QuantStub`` and a
    ``DeQuantStub``."""
    if has_no_children_ignoring_parametrizations(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


@_deprecated
def quantize(
    model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False
) -> Any:
    """Quantises a model after training.

    Args:
        model: the model.
        run_fn: passes values through the prepared model: ``run_fn(model, *run_args)``.
        run_args: what it is given.
        mapping: as in ``convert``.
        inplace: whether the model itself is changed.
    """
    if mapping is None:
        mapping = get_default_static_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    _prepared(model, True, None, None, None)
    run_fn(model, *run_args)
    return _converted(model, mapping, True, True, False, None, False)


@_deprecated
def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """Trains a model so that it can be quantised, and quantises it.

    Args:
        model: the model.
        run_fn: trains the prepared model: ``run_fn(model, *run_args)``.
        run_args: what it is given.
        inplace: whether the model itself is changed.
    """
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    _prepared_for_training(model, None, True)
    run_fn(model, *run_args)
    return _converted(model, None, True, True, False, None, False)


_RECURRENT = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)


def _specification(qconfig_spec: Any, dtype: Any) -> Any:
    defaults = {
        torch.qint8: default_dynamic_qconfig, torch.float16: float16_dynamic_qconfig,
        torch.quint8: float_qparams_weight_only_qconfig,
        torch.quint4x2: float_qparams_weight_only_qconfig_4bit,
    }  # fmt: skip
    if qconfig_spec is None:
        if dtype in (torch.qint8, torch.float16):
            return dict.fromkeys(_RECURRENT, defaults[dtype])
        if dtype is torch.quint8:
            return dict.fromkeys((nn.EmbeddingBag, nn.Embedding), defaults[dtype])
        if dtype is torch.quint4x2:
            return {nn.EmbeddingBag: defaults[dtype]}
        raise ValueError(
            f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig "
            "please"
        )
    if isinstance(qconfig_spec, set):
        if dtype not in defaults:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        return dict.fromkeys(qconfig_spec, defaults[dtype])
    return qconfig_spec


@_deprecated
def quantize_dynamic(
    model: Any,
    qconfig_spec: Any = None,
    dtype: Any = torch.qint8,
    mapping: Any = None,
    inplace: bool = False,
) -> Any:
    """Quantises the weights of a model; inputs of layers are quantised as they come.

    Args:
        model: the model.
        qconfig_spec: classes or names of modules, in a set or with a configuration each; linear and
            recurrent layers if None.
        dtype: of weights: ``qint8``, ``float16``, or ``quint8`` for embeddings.
        mapping: class -> class that takes its place.
        inplace: whether the model itself is changed.

    Raises:
        ValueError: for dtypes without default.

    Examples:
        >>> import jtorch as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
        >>> torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)[1]
        ReLU()
    """
    spec = _specification(qconfig_spec, dtype)
    if mapping is None:
        mapping = get_default_dynamic_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, spec)
    return _converted(model, mapping, True, True, False, None, False)


def _get_observer_dict(mod: Any, target_dict: dict[str, Any], prefix: str = "") -> None:
    """Enters the observers of a module by their paths."""
    if hasattr(mod, "activation_post_process"):
        path = f"{prefix}.activation_post_process" if prefix else "activation_post_process"
        target_dict[path] = mod.activation_post_process
    for name, child in mod.named_children():
        _get_observer_dict(child, target_dict, f"{prefix}.{name}" if prefix else name)


__getattr__ = _refusals.missing(__name__)
