"""What is read from tables of what backends can quantise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals

from .backend_config import BackendConfig, BackendPatternConfig, DTypeConfig

__all__ = [
    "get_pattern_to_dtype_configs", "get_qat_module_classes", "get_fused_module_classes",
    "get_pattern_to_input_type_to_index", "get_root_module_to_quantized_reference_module",
    "get_fuser_method_mapping", "get_module_to_qat_module",
    "get_fusion_pattern_to_root_node_getter", "get_fusion_pattern_to_extra_inputs_getter",
    "remove_boolean_dispatch_from_name", "pattern_to_human_readable", "entry_to_pretty_str",
]  # fmt: skip


def _by_pattern(table: BackendConfig, name: str) -> dict[Any, Any]:
    """For each pattern its attribute, where it has one."""
    found = {p: getattr(c, name) for p, c in table._pattern_complex_format_to_config.items()}
    return {p: value for p, value in found.items() if value is not None}


def get_pattern_to_dtype_configs(backend_config: BackendConfig) -> dict[Any, list[DTypeConfig]]:
    """For each pattern the dtypes that it can be computed in."""
    return _by_pattern(backend_config, "dtype_configs")


def get_qat_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The classes of modules that round their weights as they train."""
    return tuple(set(_by_pattern(backend_config, "qat_module").values()))


def get_fused_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The classes of modules that hold several."""
    return tuple(set(_by_pattern(backend_config, "fused_module").values()))


def get_pattern_to_input_type_to_index(backend_config: BackendConfig) -> dict[Any, dict[str, int]]:
    """For each pattern, which arguments are weight and bias."""
    return _by_pattern(backend_config, "_input_type_to_index")


def get_root_module_to_quantized_reference_module(
    backend_config: BackendConfig,
) -> dict[type, type]:
    """For each class of modules with weights the one that rounds them and computes with floats."""
    return {
        c.root_module: c.reference_quantized_module
        for c in backend_config.configs
        if c.root_module is not None and c.reference_quantized_module is not None
    }


def get_fuser_method_mapping(backend_config: BackendConfig) -> dict[Any, Callable[..., Any]]:
    """For each pattern what makes one module of its modules, which are given from the end."""
    return {
        pattern: _from_the_end(config)
        for pattern, config in backend_config._pattern_complex_format_to_config.items()
        if config.fuser_method is not None
    }


def _from_the_end(config: BackendPatternConfig) -> Callable[..., Any]:
    method = config.fuser_method
    if config._pattern_complex_format is not None:
        return method

    def fuser_method(is_qat: bool, *nested: Any) -> Any:
        flat: list[Any] = []
        while nested:
            flat.insert(0, nested[0])
            rest = nested[1:]
            nested = rest[0] if rest and isinstance(rest[0], tuple) else rest
        return method(is_qat, *flat)

    return fuser_method


def get_module_to_qat_module(backend_config: BackendConfig) -> dict[Any, type]:
    """For each class of modules the one that takes its place in training."""
    return _by_pattern(backend_config, "qat_module")


def get_fusion_pattern_to_root_node_getter(backend_config: BackendConfig) -> dict[Any, Any]:
    """For patterns that say so: what gives, of the nodes that they matched, the one of the module
    with the weights."""
    return _by_pattern(backend_config, "_root_node_getter")


def get_fusion_pattern_to_extra_inputs_getter(backend_config: BackendConfig) -> dict[Any, Any]:
    """For patterns that say so: what gives, of the nodes that they matched, more arguments for
    the one module."""
    return _by_pattern(backend_config, "_extra_inputs_getter")


def remove_boolean_dispatch_from_name(p: Any) -> Any:
    """The part of a pattern as it is: functions have their names here."""
    return p


def pattern_to_human_readable(p: Any) -> Any:
    """A pattern with texts for what has no readable one."""
    if isinstance(p, tuple):
        return tuple(map(pattern_to_human_readable, p))
    return p if isinstance(p, str) else remove_boolean_dispatch_from_name(p)


def entry_to_pretty_str(entry: dict[str, Any]) -> str:
    """The text of a pattern as a dictionary."""
    lines = ["{"]
    if "pattern" in entry:
        lines.append(f"  'pattern': {pattern_to_human_readable(entry['pattern'])},")
    if "dtype_configs" in entry:
        lines.append("  'dtype_configs': [")
        for config in entry["dtype_configs"]:
            lines += ["    {", *(f"      '{k}': {v}," for k, v in config.items()), "    },"]
        lines.append("  ],")
    numbers = "num_tensor_args_to_observation_type"
    if numbers in entry:
        lines += [f"  '{numbers}': {{", *(f"    {k}: {v}," for k, v in entry[numbers].items()),
                  "  },"]  # fmt: skip
    for name, value in entry.items():
        if name not in ("pattern", "dtype_configs", numbers):
            lines.append(f"  '{name}': {value},")
    return "\n".join([*lines, "}"])


__getattr__ = _refusals.missing(__name__)
