"""Small questions about schemes, dtypes and configurations, and the ranges of grids."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from .quant_type import QuantType


def _parent_name(target: str) -> tuple[str, str]:
    """A dotted path as that of the parent, and the last name."""
    parent, _, name = target.rpartition(".")
    return parent, name


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a whole tensor has one scale."""
    return qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric)


def is_per_channel(qscheme: Any) -> bool:
    """Whether each channel has a scale of its own."""
    return qscheme in (
        torch.per_channel_affine,
        torch.per_channel_affine_float_qparams,
        torch.per_channel_symmetric,
    )


def to_underlying_dtype(qdtype: torch.dtype) -> torch.dtype:
    """The integers that a quantised dtype stores.

    Raises:
        AssertionError: for a dtype that is none.
    """
    table = {
        torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32,
        torch.quint4x2: torch.uint8, torch.quint2x4: torch.uint8,
    }  # fmt: skip
    plain = (
        torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.float8_e5m2,
        torch.float8_e4m3fn,
    )  # fmt: skip
    if qdtype not in table and qdtype not in plain:
        raise AssertionError(f"Unsupported dtype: {qdtype}")
    return table.get(qdtype, qdtype)


# ---- ranges --------------------------------------------------------------------------------------


def check_min_max_valid(min_val: torch.Tensor, max_val: torch.Tensor) -> bool:
    """Whether an observer has seen anything; warns if not.

    Raises:
        AssertionError: if the least value is above the largest.
    """
    unseen = "must run observer before calling calculate_qparams. Returning default values."
    if min_val.numel() == 0 or max_val.numel() == 0:
        warnings.warn(unseen, stacklevel=2)
        return False
    if min_val.dim() == 0 or max_val.dim() == 0:
        if min_val == float("inf") and max_val == float("-inf"):
            warnings.warn(unseen, stacklevel=2)
            return False
        if min_val > max_val:
            raise AssertionError(f"min {min_val} should be less than max {max_val}")
    elif torch.any(min_val > max_val):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """Checks a grid that a program has chosen.

    Raises:
        AssertionError: if 0 is not in it, or it is empty.
    """
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified range.")


def calculate_qmin_qmax(
    quant_min: Any, quant_max: Any, has_customized_qrange: bool, dtype: Any, reduce_range: bool
) -> tuple[int, int]:
    """The least and the largest integer of a grid: what a program has chosen, or all that a dtype
    has; half of them for ``reduce_range``.

    Raises:
        AssertionError: if the dtype does not hold what was chosen.
    """
    if has_customized_qrange:
        most = 2**8 if dtype in (torch.qint8, torch.int8, torch.quint8, torch.uint8) else 2**32
        if not 0 < quant_max - quant_min + 1 <= most:
            raise AssertionError(
                "quantization range should be positive and not exceed the maximum bit range "
                f"(={most})."
            )
        if reduce_range:
            quant_min, quant_max = quant_min // 2, quant_max // 2
        return quant_min, quant_max
    if dtype in (torch.qint8, torch.int8):
        return (-64, 63) if reduce_range else (-128, 127)
    if dtype in (torch.quint8, torch.uint8):
        return (0, 127) if reduce_range else (0, 255)
    if dtype in (torch.qint32, torch.int32):
        return -(2**31), 2**31 - 1
    if dtype is torch.uint16:
        return 0, 2**16 - 1
    if dtype is torch.int16:
        return -(2**15), 2**15 - 1
    return 0, 15


# ---- configurations ------------------------------------------------------------------------------


def weight_dtype(qconfig: Any) -> Any:
    """The dtype that a configuration gives weights."""
    return qconfig.weight().dtype


def activation_dtype(qconfig: Any) -> Any:
    """The dtype that a configuration gives activations."""
    return qconfig.activation().dtype


def get_qconfig_dtypes(qconfig: Any) -> tuple[Any, Any, bool]:
    """The dtypes of activations and weights, and whether activations are quantised as they come."""
    activation = qconfig.activation()
    return activation.dtype, qconfig.weight().dtype, getattr(activation, "is_dynamic", False)


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> Any:
    """Entries of both; the second's count."""
    return {**default_dict, **additional_dict}


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    """Whether a module has no modules in it but parametrisations."""
    names = [*module._modules]
    return not names or names == ["parametrizations"]


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether a configuration puts activations on grids found before."""
    return activation_dtype(qconfig) in (
        torch.quint8, torch.qint8, torch.qint32, torch.float16, torch.uint8, torch.int8,
        torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn,
    ) and not activation_is_dynamically_quantized(qconfig)  # fmt: skip


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether a configuration quantises activations as they come."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig: Any) -> bool:
    """Whether a configuration gives activations 8 bits."""
    return activation_dtype(qconfig) in (torch.quint8, torch.qint8, torch.uint8, torch.int8)


def activation_is_int32_quantized(qconfig: Any) -> bool:
    """Whether a configuration gives activations 32 bits."""
    return activation_dtype(qconfig) in (torch.qint32, torch.int32)


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether a configuration gives weights less than single precision."""
    return weight_dtype(qconfig) in (
        torch.quint8, torch.qint8, torch.float16, torch.quint4x2, torch.uint8, torch.int8,
        torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn,
    )  # fmt: skip


def weight_is_statically_quantized(qconfig: Any) -> bool:
    """Whether a configuration gives weights 8 bits."""
    return weight_dtype(qconfig) in (torch.quint8, torch.qint8, torch.uint8, torch.int8)


def op_is_int8_dynamically_quantized(qconfig: Any) -> bool:
    """Whether a configuration gives weights 8 bits, and activations as they come."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return (
        activation in (torch.quint8, torch.uint8) and weight in (torch.qint8, torch.int8)
        and dynamic
    )  # fmt: skip


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """What a dotted path leads to."""
    for name in fqn.split("."):
        obj = getattr(obj, name)
    return obj


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """The grid that an observer has found: ``qscheme``, ``dtype``, ``scale``, ``zero_point``, and
    what else it tells.

    Raises:
        RuntimeError: for schemes that are none.
    """
    observer = observer_or_fake_quant
    scheme, dtype = getattr(observer, "qscheme", None), observer.dtype
    if not scheme or type(observer).__name__ == "PlaceholderObserver":
        return {"qscheme": None, "dtype": dtype}
    found: dict[str, Any] = {"qscheme": scheme, "dtype": dtype}
    # no tensor has a symmetric scheme
    if is_per_tensor(scheme):
        found["qscheme"] = torch.per_tensor_affine
    elif is_per_channel(scheme):
        if scheme is torch.per_channel_symmetric:
            found["qscheme"] = torch.per_channel_affine
        found["axis"] = observer.ch_axis
    else:
        raise RuntimeError(f"Unrecognized qscheme: {scheme}")
    found["scale"], found["zero_point"] = observer.calculate_qparams()
    for name in ("quant_min", "quant_max"):
        if hasattr(observer, name):
            found[name] = getattr(observer, name)
    return found


def get_swapped_custom_module_class(
    custom_module: Any, custom_module_class_mapping: Any, qconfig: Any
) -> Any:
    """The class that takes the place of a program's own class, by kind of quantisation.

    Raises:
        AssertionError: if none does.
    """
    mapping = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    if type(custom_module) not in mapping:
        raise AssertionError(
            f"did not find corresponding observed module class for {type(custom_module)} in "
            f"mapping: {mapping}"
        )
    return mapping[type(custom_module)]


def get_fqn_to_example_inputs(model: Any, example_inputs: tuple[Any, ...]) -> dict[str, Any]:
    """What each module in a model is called with when the model is called with
    ``example_inputs``: defaults and keywords as positional arguments."""
    found: dict[str, tuple[Any, ...]] = {}
    handles = []

    def note(path: str) -> Any:
        def hook(module: Any, args: Any, kwargs: Any) -> None:
            signature = inspect.signature(module.forward)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            found[path] = tuple(bound.arguments.values())

        return hook

    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(note(path), with_kwargs=True))
    try:
        model(*example_inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _assert_and_get_unique_device(module: Any) -> Any:
    """The device of a module; None if it has no tensors.

    Raises:
        AssertionError: if it lies on several.
    """
    devices = {p.device for p in module.parameters()} | {b.device for b in module.buffers()}
    if devices == {torch.device("cpu"), torch.device("meta")}:
        warnings.warn(
            "Both 'meta' and 'cpu' are present in the list of devices. Module can have one device. "
            "We Select 'cpu'.",
            stacklevel=2,
        )
        return torch.device("cpu")
    if len(devices) > 1:
        raise AssertionError(
            f"prepare only works with cpu or single-device CUDA modules, but got devices {devices}"
        )
    return next(iter(devices), None)


class MatchAllNode:
    """In a pattern of a graph: any node."""


def get_quant_type(qconfig: Any) -> Any:
    """How a configuration quantises: statically, dynamically or weights only.

    Raises:
        Exception: for dtypes that are none of these.
    """
    activation, weight = qconfig.activation(), qconfig.weight()
    small = (torch.quint8, torch.qint8, torch.quint4x2, torch.qint32, torch.uint8, torch.int8)
    if weight.dtype in small:
        if getattr(activation, "is_dynamic", False):
            return QuantType.DYNAMIC
        return QuantType.STATIC if activation.dtype in small else QuantType.WEIGHT_ONLY
    if weight.dtype is torch.float16:
        if getattr(activation, "is_dynamic", False):
            return QuantType.DYNAMIC
        if activation.dtype is torch.float16:
            return QuantType.STATIC
    raise Exception(
        f"Unrecognized dtype combination in get_quant_type: activation({activation.dtype}),"
        f"weight({weight.dtype})"
    )


__getattr__ = _refusals.missing(__name__)
