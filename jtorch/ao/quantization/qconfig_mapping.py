"""Which observers a model gets: nothing, where a quantiser annotates its graph."""

from __future__ import annotations

from typing import Any

from jtorch._src.refusals import stand_ins as _refusals


class QConfigMapping:
    """Which observers a model gets, by names and classes of modules. Only an empty one is
    offered: what fills it raises."""

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: dict[Any, Any] = {}
        self.module_name_regex_qconfigs: dict[str, Any] = {}
        self.module_name_qconfigs: dict[str, Any] = {}
        self.module_name_object_type_order_qconfigs: dict[Any, Any] = {}


_fill = _refusals.make(
    "torch.ao.quantization.QConfigMapping(set_global set_object_type set_module_name_regex "
    "set_module_name set_module_name_object_type_order from_dict to_dict)",
    "observers are put where a quantiser annotates a graph, as torchao's prepare_pt2e does",
)
for _name in (
    "set_global",
    "set_object_type",
    "set_module_name_regex",
    "set_module_name",
    "set_module_name_object_type_order",
):
    setattr(QConfigMapping, _name, getattr(_fill, _name))

__getattr__ = _refusals.missing(__name__)
