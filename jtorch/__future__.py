"""How ``Module.to`` and its kin replace parameters: switches of behaviour that is to change one
day."""

from __future__ import annotations

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions of modules make new parameters, instead of changing the data of the old
    ones."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions of modules make new parameters."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether parameters stay the same objects through every conversion, also from the meta
    device."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether parameters stay the same objects through every conversion."""
    return _swap
