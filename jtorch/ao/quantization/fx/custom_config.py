"""What a program may say about how its graph is prepared and converted."""

from __future__ import annotations

from typing import Any

from jtorch._src.refusals import stand_ins as _refusals


class PrepareCustomConfig:
    """What is to be kept as it is, or is quantised already. What names classes of modules is not
    offered."""

    def __init__(self) -> None:
        self.standalone_module_names: dict[str, Any] = {}
        self.standalone_module_classes: dict[type, Any] = {}
        self.float_to_observed_mapping: dict[Any, dict[type, type]] = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []
        self.preserved_attributes: list[str] = []

    def set_input_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Says which arguments are quantised."""
        self.input_quantized_indexes = indexes
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Says which results are to be left quantised."""
        self.output_quantized_indexes = indexes
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> PrepareCustomConfig:
        """Says which attributes the new module is to have too."""
        self.preserved_attributes = attributes
        return self


class ConvertCustomConfig:
    """Which attributes are to be kept."""

    def __init__(self) -> None:
        self.observed_to_quantized_mapping: dict[Any, dict[type, type]] = {}
        self.preserved_attributes: list[str] = []

    def set_preserved_attributes(self, attributes: list[str]) -> ConvertCustomConfig:
        """Says which attributes the new module is to have too."""
        self.preserved_attributes = attributes
        return self


__getattr__ = _refusals.missing(__name__)
