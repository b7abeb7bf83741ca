"""How a module is quantised."""

from __future__ import annotations

import enum


class QuantType(enum.IntEnum):
    """How a module is quantised: its inputs as they come, by a grid found before, in training, or
    its weights alone."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


_NAMES = {
    QuantType.STATIC: "static",
    QuantType.DYNAMIC: "dynamic",
    QuantType.QAT: "qat",
    QuantType.WEIGHT_ONLY: "weight_only",
}


def _get_quant_type_to_str(quant_type: QuantType) -> str:
    return _NAMES[quant_type]


def _quant_type_from_str(name: str) -> QuantType:
    for quant_type, word in _NAMES.items():
        if word == name:
            return quant_type
    raise ValueError(f"Unknown QuantType name '{name}'")
