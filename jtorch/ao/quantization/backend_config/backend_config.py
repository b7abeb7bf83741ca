"""Tables of what a backend can quantise: patterns of layers and functions, and for each the dtypes
and how it is observed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

__all__ = [
    "BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints",
    "ObservationType",
]  # fmt: skip


class ObservationType(Enum):
    """How a pattern is observed: its result by another observer than its input, by the same, or not
    at all."""

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    INPUT_OUTPUT_NOT_OBSERVED = 2


@dataclasses.dataclass
class DTypeWithConstraints:
    """A dtype, and which grids of it a backend knows: bounds of integers, the least scale, or the
    one scale and zero point."""

    dtype: Any = None
    quant_min_lower_bound: int | float | None = None
    quant_max_upper_bound: int | float | None = None
    scale_min_lower_bound: int | float | None = None
    scale_max_upper_bound: int | float | None = None
    scale_exact_match: float | None = None
    zero_point_exact_match: int | None = None


def _constrained(dtype: Any) -> DTypeWithConstraints:
    return dtype if isinstance(dtype, DTypeWithConstraints) else DTypeWithConstraints(dtype=dtype)


@dataclasses.dataclass
class DTypeConfig:
    """The dtypes of a pattern: of its input, result, weight and bias. None for any.

    Args:
        input_dtype: a dtype, or one with constraints.
        output_dtype: likewise.
        weight_dtype: likewise.
        bias_dtype: a dtype.
        is_dynamic: whether inputs are quantised as they come.
    """

    input_dtype_with_constraints: DTypeWithConstraints
    output_dtype_with_constraints: DTypeWithConstraints
    weight_dtype_with_constraints: DTypeWithConstraints
    bias_dtype: Any
    is_dynamic: bool | None

    def __init__(
        self, input_dtype: Any = None, output_dtype: Any = None, weight_dtype: Any = None,
        bias_dtype: Any = None, is_dynamic: bool | None = None,
    ) -> None:  # fmt: skip
        self.input_dtype_with_constraints = _constrained(input_dtype)
        self.output_dtype_with_constraints = _constrained(output_dtype)
        self.weight_dtype_with_constraints = _constrained(weight_dtype)
        self.bias_dtype, self.is_dynamic = bias_dtype, is_dynamic

    @property
    def input_dtype(self) -> Any:
        """The dtype of inputs."""
        return self.input_dtype_with_constraints.dtype

    @property
    def output_dtype(self) -> Any:
        """The dtype of results."""
        return self.output_dtype_with_constraints.dtype

    @property
    def weight_dtype(self) -> Any:
        """The dtype of weights."""
        return self.weight_dtype_with_constraints.dtype

    @classmethod
    def from_dict(cls, dtype_config_dict: dict[str, Any]) -> DTypeConfig:
        """The dtypes that a dictionary has under the names of the parameters.

        Raises:
            ValueError: for values that are no dtypes.
        """
        given = dtype_config_dict
        for name in ("input_dtype", "output_dtype", "weight_dtype"):
            value = given.get(name)
            if value is not None and not isinstance(value, torch.dtype | DTypeWithConstraints):
                raise ValueError(f"Expected {name} to be a torch.dtype or DTypeWithConstraints")
        return cls(
            given.get("input_dtype"), given.get("output_dtype"), given.get("weight_dtype"),
            given.get("bias_dtype"), given.get("is_dynamic"),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        found: dict[str, Any] = {}
        for name in ("input_dtype", "output_dtype", "weight_dtype"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, f"{name}_with_constraints")
        if self.bias_dtype is not None:
            found["bias_dtype"] = self.bias_dtype
        if self.is_dynamic is not None:
            found["is_dynamic"] = self.is_dynamic
        return found


#: Keys of the dictionaries, and the attributes that they are for.
_FIELDS = {
    "root_module": "root_module", "qat_module": "qat_module",
    "reference_quantized_module_for_root": "reference_quantized_module",
    "fused_module": "fused_module", "fuser_method": "fuser_method",
    "root_node_getter": "_root_node_getter", "extra_inputs_getter": "_extra_inputs_getter",
}  # fmt: skip


class BackendPatternConfig:
    """What a backend does with a pattern.

    Args:
        pattern: a class of modules, a function, the name of a method, or a tuple of those that
            follow each other.
    """

    def __init__(self, pattern: Any = None) -> None:
        self.pattern = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module: Any = None
        self.qat_module: Any = None
        self.reference_quantized_module: Any = None
        self.fused_module: Any = None
        self.fuser_method: Any = None
        self._root_node_getter: Any = None
        self._extra_inputs_getter: Any = None
        self._num_tensor_args_to_observation_type: dict[int, ObservationType] = {}
        self._input_type_to_index: dict[str, int] = {}
        self._pattern_complex_format: Any = None

    def __repr__(self) -> str:
        told = {
            k: v for k, v in self.__dict__.items()
            if (len(v) > 0 if isinstance(v, list | dict) else v is not None)
        }  # fmt: skip
        return f"BackendPatternConfig({told})"

    def set_pattern(self, pattern: Any) -> BackendPatternConfig:
        """Says what the pattern is.

        Raises:
            ValueError: if it was said in the other format.
        """
        if self._pattern_complex_format is not None:
            raise ValueError("Only one of 'pattern' or 'pattern_complex_format' can be set")
        self.pattern = pattern
        return self

    def set_observation_type(self, observation_type: ObservationType) -> BackendPatternConfig:
        """Says how it is observed."""
        self.observation_type = observation_type
        return self

    def add_dtype_config(self, dtype_config: DTypeConfig) -> BackendPatternConfig:
        """Adds dtypes that it can be computed in."""
        self.dtype_configs.append(dtype_config)
        return self

    def set_dtype_configs(self, dtype_configs: list[DTypeConfig]) -> BackendPatternConfig:
        """Says which dtypes it can be computed in."""
        self.dtype_configs = dtype_configs
        return self

    def set_root_module(self, root_module: Any) -> BackendPatternConfig:
        """Says which class of modules has the weights."""
        self.root_module = root_module
        return self

    def set_qat_module(self, qat_module: Any) -> BackendPatternConfig:
        """Says which class takes its place in training."""
        self.qat_module = qat_module
        return self

    def set_reference_quantized_module(self, reference_quantized_module: Any) -> Any:
        """Says which class rounds the weights of the root module and computes with floats; gives
        itself."""
        self.reference_quantized_module = reference_quantized_module
        return self

    def set_fused_module(self, fused_module: Any) -> BackendPatternConfig:
        """Says which class holds the modules of the pattern."""
        self.fused_module = fused_module
        return self

    def set_fuser_method(self, fuser_method: Any) -> BackendPatternConfig:
        """Says what makes one module of those of the pattern:
        ``fuser_method(is_qat, *modules)``."""
        self.fuser_method = fuser_method
        return self

    def _set_root_node_getter(self, root_node_getter: Any) -> BackendPatternConfig:
        self._root_node_getter = root_node_getter
        return self

    def _set_extra_inputs_getter(self, extra_inputs_getter: Any) -> BackendPatternConfig:
        self._extra_inputs_getter = extra_inputs_getter
        return self

    def _set_num_tensor_args_to_observation_type(
        self, num_tensor_args_to_observation_type: dict[int, ObservationType]
    ) -> BackendPatternConfig:
        self._num_tensor_args_to_observation_type = num_tensor_args_to_observation_type
        return self

    def _set_input_type_to_index(self, input_type_to_index: Any) -> BackendPatternConfig:
        self._input_type_to_index = input_type_to_index
        return self

    def _set_pattern_complex_format(self, pattern: Any) -> BackendPatternConfig:
        if self.pattern is not None:
            raise ValueError("Only one of 'pattern' or 'pattern_complex_format' can be set")
        self._pattern_complex_format = pattern
        return self

    def _nested(self) -> Any:
        """The pattern from its end: ``(relu, (bn, conv))`` for ``(conv, bn, relu)``.

        Raises:
            ValueError: for tuples of other lengths than 2 and 3.
        """
        if self._pattern_complex_format is not None:
            return self._pattern_complex_format
        if not isinstance(self.pattern, tuple):
            if self.pattern is None:
                raise ValueError("Either 'pattern' or 'pattern_complex_format' must be specified")
            return self.pattern
        if len(self.pattern) == 2:
            return self.pattern[1], self.pattern[0]
        if len(self.pattern) == 3:
            return self.pattern[2], (self.pattern[1], self.pattern[0])
        raise ValueError("Expected a tuple with 2 or 3 elements, got: ", self.pattern)

    @classmethod
    def from_dict(cls, backend_pattern_config_dict: dict[str, Any]) -> BackendPatternConfig:
        """What a dictionary says under the names of the attributes.

        Raises:
            ValueError: for ``dtype_configs`` that are none.
        """
        given, found = backend_pattern_config_dict, cls()
        if "pattern" in given:
            found.set_pattern(given["pattern"])
        if "observation_type" in given:
            found.set_observation_type(given["observation_type"])
        for d in given.get("dtype_configs", []):
            if not isinstance(d, DTypeConfig | dict):
                raise ValueError(
                    "Expected a list of DTypeConfigs in "
                    f"backend_pattern_config_dict[\"dtype_configs\"], got '{type(d)}'"
                )
            found.add_dtype_config(DTypeConfig.from_dict(d) if isinstance(d, dict) else d)
        for key, name in _FIELDS.items():
            setattr(found, name, given.get(key))
        found._num_tensor_args_to_observation_type = given.get(
            "num_tensor_args_to_observation_type", {}
        )
        found._input_type_to_index = given.get("input_type_to_index", {})
        if "pattern_complex_format" in given:
            found._set_pattern_complex_format(given["pattern_complex_format"])
        return found

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        found: dict[str, Any] = {
            "observation_type": self.observation_type,
            "dtype_configs": [c.to_dict() for c in self.dtype_configs],
        }
        if self.pattern is not None:
            found["pattern"] = self.pattern
        for key, name in _FIELDS.items():
            if getattr(self, name) is not None:
                found[key] = getattr(self, name)
        if self._num_tensor_args_to_observation_type:
            found["num_tensor_args_to_observation_type"] = self._num_tensor_args_to_observation_type
        if self._input_type_to_index:
            found["input_type_to_index"] = self._input_type_to_index
        if self._pattern_complex_format is not None:
            found["pattern_complex_format"] = self._pattern_complex_format
        return found


class BackendConfig:
    """A table of patterns that a backend can quantise.

    Args:
        name: what it is called.

    Examples:
        >>> from jtorch.ao.quantization.backend_config import BackendConfig, BackendPatternConfig
        >>> table = BackendConfig("mine").set_backend_pattern_config(BackendPatternConfig("relu"))
        >>> [c.pattern for c in table.configs]
        ['relu']
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._pattern_complex_format_to_config: dict[Any, BackendPatternConfig] = {}

    def __repr__(self) -> str:
        return f"BackendConfig({self.__dict__})"

    def set_name(self, name: str) -> BackendConfig:
        """Gives it another name."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> BackendConfig:
        """Adds a pattern, in the place of the same one."""
        self._pattern_complex_format_to_config[config._nested()] = config
        return self

    def set_backend_pattern_configs(self, configs: list[BackendPatternConfig]) -> BackendConfig:
        """Adds patterns."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """The patterns."""
        return [*self._pattern_complex_format_to_config.values()]

    @classmethod
    def from_dict(cls, backend_config_dict: dict[str, Any]) -> BackendConfig:
        """The table that a dictionary has as ``name`` and ``configs``.

        Raises:
            ValueError: for patterns that are none.
        """
        made = cls(backend_config_dict.get("name", ""))
        for d in backend_config_dict.get("configs", []):
            if not isinstance(d, BackendPatternConfig | dict):
                raise ValueError("Expected backend_config_dict['configs'] to be a dictionary")
            made.set_backend_pattern_config(
                BackendPatternConfig.from_dict(d) if isinstance(d, dict) else d
            )
        return made

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        return {"name": self.name, "configs": [c.to_dict() for c in self.configs]}


#: What gives, of nodes that a pattern matched, the one that others are read from.
NodeGetter = Callable[[Any], Any]

__getattr__ = _refusals.missing(__name__)
