"""The tables of PyTorch's own backends."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from . import _patterns as patterns
from .backend_config import BackendConfig, DTypeConfig, DTypeWithConstraints

__all__ = [
    "get_test_only_legacy_native_backend_config", "default_op_quint8_dtype_config",
    "default_op_fp16_dtype_config", "default_dynamic_int8_dtype_config",
    "default_dynamic_float16_dtype_config", "input_output_only_quint8_dtype_config",
    "weight_only_quint8_dtype_config", "weight_only_quint4x2_dtype_config",
    "get_native_backend_config", "get_native_backend_config_dict",
    "get_test_only_legacy_native_backend_config_dict",
]  # fmt: skip

weighted_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
default_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
default_op_fp16_dtype_config = DTypeConfig(
    torch.float16, torch.float16, torch.float16, torch.float16
)
default_dynamic_int8_dtype_config = DTypeConfig(
    torch.quint8, torch.float, torch.qint8, torch.float, True
)
default_dynamic_float16_dtype_config = DTypeConfig(
    torch.float16, torch.float, torch.float16, torch.float, True
)
# The kernel has weights and biases of floats only.
input_output_only_quint8_dtype_config = DTypeConfig(
    torch.quint8, torch.quint8, torch.float, torch.float
)
weight_only_quint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint8)
weight_only_quint4x2_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint4x2)

_DYNAMIC = [default_dynamic_int8_dtype_config, default_dynamic_float16_dtype_config]
_ROWS = [weight_only_quint8_dtype_config, weight_only_quint4x2_dtype_config]
_COARSE = DTypeWithConstraints(torch.qint8, scale_min_lower_bound=2**-12)
_COARSE_WEIGHT = DTypeWithConstraints(torch.qint8, -127, 127, 2**-12)


def _table(
    name: str,
    weighted: list[DTypeConfig],
    other: list[DTypeConfig],
    halves: list[DTypeConfig],
    with_norms: bool,
    with_questions: bool = True,
) -> BackendConfig:
    """A table of all families: ``weighted`` dtypes for those with weights, ``other`` for the rest,
    and ``halves`` beside them where there are functions of halves."""
    made = BackendConfig(name)
    made.set_backend_pattern_configs(patterns.convolutions(weighted))
    made.set_backend_pattern_configs(patterns.linear([*weighted, *_DYNAMIC, *halves]))
    made.set_backend_pattern_configs(patterns.binary([*other, *halves]))
    made.set_backend_pattern_config(patterns.cat(other))
    made.set_backend_pattern_configs(patterns.activations(other))
    made.set_backend_pattern_configs(patterns.fixed([*other, *halves]))
    made.set_backend_pattern_configs(patterns.shared([*other, *halves]))
    if with_questions:
        made.set_backend_pattern_configs(patterns.questions(other))
    made.set_backend_pattern_configs(patterns.norms(other))
    if with_norms:
        norms = [input_output_only_quint8_dtype_config]
        made.set_backend_pattern_configs(patterns.layer_norms(norms))
    made.set_backend_pattern_configs(patterns.recurrent(_DYNAMIC))
    return made.set_backend_pattern_configs(patterns.embeddings(_ROWS))


_WEIGHTED, _OTHER = [weighted_op_quint8_dtype_config], [default_op_quint8_dtype_config]


def get_native_backend_config() -> BackendConfig:
    """What PyTorch's operators for quantised tensors can do: the table that is used if none is
    given."""
    return _table("native", _WEIGHTED, _OTHER, [], True)


def get_native_backend_config_dict() -> dict[str, Any]:
    """The same as a dictionary."""
    return get_native_backend_config().to_dict()


def get_test_only_legacy_native_backend_config() -> BackendConfig:
    """The same with functions of halves."""
    return _table("_native_and_fp16", _WEIGHTED, _OTHER, [default_op_fp16_dtype_config], True)


def get_test_only_legacy_native_backend_config_dict() -> dict[str, Any]:
    """The same as a dictionary."""
    return get_test_only_legacy_native_backend_config().to_dict()


def get_fbgemm_backend_config() -> BackendConfig:
    """What FBGEMM can do."""
    return _table("fbgemm", _WEIGHTED, _OTHER, [], False)


def get_x86_backend_config() -> BackendConfig:
    """What is offered on x86 processors."""
    return _table("x86", _WEIGHTED, _OTHER, [], False)


def get_qnnpack_backend_config() -> BackendConfig:
    """What QNNPACK can do: signed numbers on symmetric grids, too."""
    symmetric = DTypeConfig(_COARSE, _COARSE, _COARSE_WEIGHT, torch.float)
    return _table(
        "qnnpack", [symmetric, *_WEIGHTED], [DTypeConfig(_COARSE, _COARSE), *_OTHER], [], False,
        with_questions=False,
    )  # fmt: skip


__getattr__ = _refusals.missing(__name__)
