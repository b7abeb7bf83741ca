"""Which observers the parts of a model get: by class, by name, by order."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from .fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from .observer import (
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = ["get_default_qconfig_mapping", "get_default_qat_qconfig_mapping", "QConfigMapping"]

_GLOBAL_DICT_KEY = ""
_OBJECT_TYPE_DICT_KEY = "object_type"
_MODULE_NAME_REGEX_DICT_KEY = "module_name_regex"
_MODULE_NAME_DICT_KEY = "module_name"
_MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY = "module_name_object_type_order"

_F = torch.nn.functional
_BELOW_1 = default_fixed_qparams_range_0to1_observer
_AROUND_0 = default_fixed_qparams_range_neg1to1_observer
#: What gives numbers of a known interval.
_FIXED_QPARAMS_OP_TO_OBSERVER: dict[Any, Any] = {
    torch.nn.Hardsigmoid: _BELOW_1, _F.hardsigmoid: _BELOW_1, "hardsigmoid": _BELOW_1,
    "hardsigmoid_": _BELOW_1, torch.nn.Sigmoid: _BELOW_1, torch.sigmoid: _BELOW_1,
    "sigmoid": _BELOW_1, "sigmoid_": _BELOW_1, torch.nn.Softmax: _BELOW_1,
    torch.nn.Tanh: _AROUND_0, torch.tanh: _AROUND_0, "tanh": _AROUND_0,
    "tanh_": _AROUND_0,
}  # fmt: skip

#: Keys of the dictionaries, and the attributes that hold their entries.
_STYLES = {
    _OBJECT_TYPE_DICT_KEY: "object_type_qconfigs",
    _MODULE_NAME_REGEX_DICT_KEY: "module_name_regex_qconfigs",
    _MODULE_NAME_DICT_KEY: "module_name_qconfigs",
    _MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY: "module_name_object_type_order_qconfigs",
}


class QConfigMapping:
    """Which configuration the operations of a model get. What is said later in this list counts
    more: for all, for a class of modules or a function, for names that match an expression, for a
    name, for the place of an operation among its like in a module. None for none.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.ao.quantization import QConfigMapping, default_qconfig
        >>> mapping = QConfigMapping().set_global(default_qconfig)
        >>> list(mapping.set_module_name("head", None).module_name_qconfigs.items())
        [('head', None)]
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[Any, Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """Says what all get."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """Says what a class of modules, a function or a method by its name gets."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """Says what modules get whose names match an expression: the first that does."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """Says what a module, and what is in it, gets."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        """Says what one of the operations of a class or function in a module gets, by its
        number."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self) -> str:
        text = f"QConfigMapping (\n global_qconfig\n  {self.global_qconfig}"
        for name in _STYLES.values():
            entries = getattr(self, name)
            lines = [f"  {key}: {qconfig}" for key, qconfig in entries.items()]
            text += "\n ".join(["", name]) + "\n" + "\n".join(lines or [f"  {entries}"])
        return text + "\n)"

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that ``from_dict`` takes."""
        found: dict[str, Any] = {_GLOBAL_DICT_KEY: self.global_qconfig}
        for key, name in _STYLES.items():
            entries = getattr(self, name).items()
            found[key] = [
                (*k, qconfig) if isinstance(k, tuple) else (k, qconfig) for k, qconfig in entries
            ]
        return found

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """What a dictionary says: under ``""`` for all, under ``"object_type"`` and the like as
        lists of tuples."""
        found = cls()
        if _GLOBAL_DICT_KEY in qconfig_dict:
            found.set_global(qconfig_dict[_GLOBAL_DICT_KEY])
        for key in _STYLES:
            for entry in qconfig_dict.get(key, []):
                getattr(found, f"set_{key}")(*entry)
        return found


def _default(is_qat: bool, backend: str, version: int) -> QConfigMapping:
    qconfig = (get_default_qat_qconfig if is_qat else get_default_qconfig)(backend, version)
    weight = default_weight_fake_quant if is_qat else default_weight_observer
    # FBGEMM has no grids for each channel of transposed convolutions.
    transposed = qconfig
    if backend in ("fbgemm", "x86"):
        transposed = QConfig(activation=qconfig.activation, weight=weight)
    norm = QConfig(activation=qconfig.activation, weight=default_placeholder_observer)
    found = QConfigMapping().set_global(qconfig)
    found.set_object_type("reshape", default_reuse_input_qconfig)
    for kind in (
        torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d,
        _F.conv_transpose1d, _F.conv_transpose2d, _F.conv_transpose3d,
    ):  # fmt: skip
        found.set_object_type(kind, transposed)
    found.set_object_type(_F.layer_norm, norm).set_object_type(torch.nn.LayerNorm, norm)
    found.set_object_type(torch.nn.PReLU, default_quint8_weight_qconfig)
    known: dict[int, QConfig] = {}
    for kind, observer in _FIXED_QPARAMS_OP_TO_OBSERVER.items():
        if id(observer) not in known:
            make = FixedQParamsFakeQuantize.with_args(observer=observer) if is_qat else observer
            known[id(observer)] = QConfig(activation=make, weight=weight)
        found.set_object_type(kind, known[id(observer)])
    return found


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """What a model gets that is quantised after training.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: of the configuration.
    """
    return _default(False, backend, version)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """What a model gets that is quantised in training.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: of the configuration.
    """
    return _default(True, backend, version)


def _of_all(found: QConfigMapping, qconfig: QConfig) -> QConfigMapping:
    found.set_global(qconfig)
    for pattern in list(found.object_type_qconfigs):
        if pattern not in _FIXED_QPARAMS_OP_TO_OBSERVER:
            found.set_object_type(pattern, qconfig)
    return found


def _get_symmetric_qnnpack_qconfig_mapping() -> QConfigMapping:
    return _of_all(get_default_qconfig_mapping("qnnpack"), default_symmetric_qnnpack_qconfig)


def _get_symmetric_qnnpack_qat_qconfig_mapping() -> QConfigMapping:
    return _of_all(
        get_default_qat_qconfig_mapping("qnnpack"), default_symmetric_qnnpack_qat_qconfig
    )


__getattr__ = _refusals.missing(__name__)
