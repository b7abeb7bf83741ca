"""What is read from tables of what backends can quantise."""

from __future__ import annotations

from typing import Any

from jtorch._src.refusals import stand_ins as _refusals

from . import BackendConfig


def get_pattern_to_dtype_configs(backend_config: BackendConfig) -> dict[Any, list[Any]]:
    """For each pattern the dtypes that it can be computed in: of an empty table, nothing."""
    return {pattern: [] for pattern in backend_config.configs}


def get_qat_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The modules that are trained as if they were quantised: of an empty table, none."""
    return tuple(type(c) for c in backend_config.configs)


def get_fused_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The modules that stand for several: of an empty table, none."""
    return tuple(type(c) for c in backend_config.configs)


def get_root_module_to_quantized_reference_module(
    backend_config: BackendConfig,
) -> dict[type, type]:
    """For each module the one that stands for it in a quantised model: of an empty table,
    nothing."""
    return {type(c): type(c) for c in backend_config.configs}


__getattr__ = _refusals.missing(__name__)
