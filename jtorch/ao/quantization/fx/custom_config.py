"""What a program may say about how its graph is prepared and converted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals

from ..backend_config import BackendConfig
from ..qconfig_mapping import QConfigMapping
from ..quant_type import QuantType, _get_quant_type_to_str, _quant_type_from_str

__all__ = [
    "ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "StandaloneModuleConfigEntry",
]  # fmt: skip

#: Keys of the dictionaries, and the attributes that they are for, as they are.
_PLAIN = {
    "non_traceable_module_name": "non_traceable_module_names",
    "non_traceable_module_class": "non_traceable_module_classes",
    "input_quantized_idxs": "input_quantized_indexes",
    "output_quantized_idxs": "output_quantized_indexes",
    "preserved_attributes": "preserved_attributes",
}


@dataclass
class StandaloneModuleConfigEntry:
    """How a module is prepared that stays a module of its own in the graph."""

    qconfig_mapping: QConfigMapping | None
    example_inputs: tuple[Any, ...]
    prepare_custom_config: PrepareCustomConfig | None
    backend_config: BackendConfig | None


def _told(self: Any, name: str) -> str:
    filled = {k: v for k, v in self.__dict__.items() if len(v) > 0}
    return f"{name}({filled})"


def _made(kind: Any, given: Any, key: str) -> Any:
    """``given``, made of a dictionary if it is one.

    Raises:
        ValueError: for what is neither.
    """
    if given is None or isinstance(given, kind):
        return given
    if isinstance(given, dict):
        return kind.from_dict(given)
    raise ValueError(
        f"Expected {kind.__name__} in prepare_custom_config_dict[\"{key}\"], got '{type(given)}'"
    )


class PrepareCustomConfig:
    """What is to be kept as it is, is prepared by itself, or is quantised already."""

    def __init__(self) -> None:
        self.standalone_module_names: dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: dict[type, StandaloneModuleConfigEntry] = {}
        self.float_to_observed_mapping: dict[Any, dict[type, type]] = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []
        self.preserved_attributes: list[str] = []

    def __repr__(self) -> str:
        return _told(self, "PrepareCustomConfig")

    def set_standalone_module_name(
        self,
        module_name: str,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> PrepareCustomConfig:
        """Says how a module is prepared that stays one, by its name."""
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_standalone_module_class(
        self,
        module_class: type,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> PrepareCustomConfig:
        """The same by its class."""
        self.standalone_module_classes[module_class] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_float_to_observed_mapping(
        self, float_class: type, observed_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> PrepareCustomConfig:
        """Says which class takes the place of a program's own: it has ``from_float``.

        Raises:
            ValueError: for other kinds than static quantisation.
        """
        if quant_type != QuantType.STATIC:
            raise ValueError(
                "set_float_to_observed_mapping is currently only supported for static quantization"
            )
        self.float_to_observed_mapping.setdefault(quant_type, {})[float_class] = observed_class
        return self

    def set_non_traceable_module_names(self, module_names: list[str]) -> PrepareCustomConfig:
        """Says which modules are not traced, by names."""
        self.non_traceable_module_names = module_names
        return self

    def set_non_traceable_module_classes(self, module_classes: list[type]) -> PrepareCustomConfig:
        """The same by classes."""
        self.non_traceable_module_classes = module_classes
        return self

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

    @classmethod
    def from_dict(cls, prepare_custom_config_dict: dict[str, Any]) -> PrepareCustomConfig:
        """What a dictionary says.

        Raises:
            ValueError: for entries of other classes.
        """
        given, found = prepare_custom_config_dict, cls()
        for key in ("standalone_module_name", "standalone_module_class"):
            for which, mapping, inputs, custom, table in given.get(key, []):
                getattr(found, f"set_{key}")(
                    which, _made(QConfigMapping, mapping, key), inputs,
                    _made(PrepareCustomConfig, custom, key), _made(BackendConfig, table, key),
                )  # fmt: skip
        for word, classes in given.get("float_to_observed_custom_module_class", {}).items():
            for one, other in classes.items():
                found.set_float_to_observed_mapping(one, other, _quant_type_from_str(word))
        for key, name in _PLAIN.items():
            setattr(found, name, given.get(key, []))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        found: dict[str, Any] = {}
        for key, entries in (
            ("standalone_module_name", self.standalone_module_names),
            ("standalone_module_class", self.standalone_module_classes),
        ):
            for which, e in entries.items():
                found.setdefault(key, []).append(
                    (
                        which, e.qconfig_mapping and e.qconfig_mapping.to_dict(), e.example_inputs,
                        e.prepare_custom_config and e.prepare_custom_config.to_dict(),
                        e.backend_config,
                    )
                )  # fmt: skip
        for kind, classes in self.float_to_observed_mapping.items():
            words = found.setdefault("float_to_observed_custom_module_class", {})
            words[_get_quant_type_to_str(kind)] = classes
        return found | {k: getattr(self, n) for k, n in _PLAIN.items() if getattr(self, n)}


class ConvertCustomConfig:
    """Which classes take the place of observed ones, and which attributes are to be kept."""

    def __init__(self) -> None:
        self.observed_to_quantized_mapping: dict[Any, dict[type, type]] = {}
        self.preserved_attributes: list[str] = []

    def __repr__(self) -> str:
        return _told(self, "ConvertCustomConfig")

    def set_observed_to_quantized_mapping(
        self, observed_class: type, quantized_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> ConvertCustomConfig:
        """Says which class takes the place of an observed one: it has ``from_observed``."""
        known = self.observed_to_quantized_mapping.setdefault(quant_type, {})
        known[observed_class] = quantized_class
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> ConvertCustomConfig:
        """Says which attributes the new module is to have too."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, convert_custom_config_dict: dict[str, Any]) -> ConvertCustomConfig:
        """What a dictionary says."""
        found = cls()
        given = convert_custom_config_dict.get("observed_to_quantized_custom_module_class", {})
        for word, classes in given.items():
            for one, other in classes.items():
                found.set_observed_to_quantized_mapping(one, other, _quant_type_from_str(word))
        return found.set_preserved_attributes(
            convert_custom_config_dict.get("preserved_attributes", [])
        )

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        found: dict[str, Any] = {}
        for kind, classes in self.observed_to_quantized_mapping.items():
            words = found.setdefault("observed_to_quantized_custom_module_class", {})
            words[_get_quant_type_to_str(kind)] = classes
        if self.preserved_attributes:
            found["preserved_attributes"] = self.preserved_attributes
        return found


class FuseCustomConfig:
    """Which attributes are to be kept."""

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []

    def __repr__(self) -> str:
        return _told(self, "FuseCustomConfig")

    def set_preserved_attributes(self, attributes: list[str]) -> FuseCustomConfig:
        """Says which attributes the new module is to have too."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, fuse_custom_config_dict: dict[str, Any]) -> FuseCustomConfig:
        """What a dictionary says."""
        return cls().set_preserved_attributes(
            fuse_custom_config_dict.get("preserved_attributes", [])
        )

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        kept = self.preserved_attributes
        return {"preserved_attributes": kept} if kept else {}


__getattr__ = _refusals.missing(__name__)
