"""Small questions about schemes, dtypes and configurations, and the ranges of grids."""

from __future__ import annotations

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
