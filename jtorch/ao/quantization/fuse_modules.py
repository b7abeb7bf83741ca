"""Putting layers that follow each other together."""

from __future__ import annotations

import copy
from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn.intrinsic import _kind

from .fuser_method_mappings import get_fuser_method as get_fuser_method


def _get_module(model: Any, submodule_key: str) -> Any:
    for part in submodule_key.split("."):
        model = getattr(model, part)
    return model


def _set_module(model: Any, submodule_key: str, module: Any) -> None:
    parent, _, name = submodule_key.rpartition(".")
    setattr(_get_module(model, parent) if parent else model, name, module)


def fuse_known_modules(
    mod_list: Any, is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """Layers as one, followed by modules that do nothing.

    Raises:
        AssertionError: if nothing is known for their classes.
    """
    kinds = tuple(map(_kind, mod_list))
    fused = get_fuser_method(kinds, additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = [nn.Identity() for _ in mod_list[1:]]
    for identity in rest:
        identity.training = mod_list[0].training
    return [fused, *rest]


def _fuse_modules(
    model: Any, modules_to_fuse: Any, is_qat: bool, inplace: bool, fuser_func: Any, config: Any
) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    more = (config or {}).get("additional_fuser_method_mapping", {})
    groups = modules_to_fuse
    if all(isinstance(name, str) for name in modules_to_fuse):
        groups = [modules_to_fuse]
    for names in groups:
        found = fuser_func([_get_module(model, name) for name in names], is_qat, more)
        for name, module in zip(names, found, strict=False):
            _set_module(model, name, module)
    return model


def fuse_modules(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """Puts layers of a model together, for quantisation after training: the first becomes all of
    them, the others do nothing.

    Args:
        model: the model, in evaluation mode.
        modules_to_fuse: names of layers that follow each other, or a list of such lists.
        inplace: whether the model itself is changed.
        fuser_func: what puts a list of layers together.
        fuse_custom_config_dict: ``additional_fuser_method_mapping`` in it adds to what is known.

    Examples:
        >>> import jtorch as torch
        >>> m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
        >>> torch.ao.quantization.fuse_modules(m, ["0", "1"])
        Sequential(
          (0): LinearReLU(
            (0): Linear(in_features=2, out_features=2, bias=True)
            (1): ReLU()
          )
          (1): Identity()
        )
    """
    return _fuse_modules(
        model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict
    )


def fuse_modules_qat(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """The same for quantisation in training, for models in training mode."""
    return _fuse_modules(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)


__getattr__ = _refusals.missing(__name__)
