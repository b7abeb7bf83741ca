"""Parameters that are wrappers of tensors, as the tensors that they are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, TypeVar

import jtorch as torch
from jtorch import Tensor
from jtorch.nn.utils import parametrize
from jtorch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..._src.refusals import stand_ins as _refusals

Module = TypeVar("Module", bound=torch.nn.Module)


def _taken_apart(t: Any, found: list[Tensor]) -> Any:
    """How a wrapper is put together of the plain tensors, which are added to ``found``."""
    if not is_traceable_wrapper_subclass(t):
        found.append(t)
        return None
    names, context = t.__tensor_flatten__()
    parts = [(n, _taken_apart(getattr(t, n), found)) for n in names]
    return type(t), context, parts, t.size(), t.stride()


def _put_together(plan: Any, left: list[Tensor]) -> Tensor:
    if plan is None:
        return left.pop(0)
    kind, context, parts, size, stride = plan
    inner = {n: _put_together(part, left) for n, part in parts}
    return kind.__tensor_unflatten__(inner, context, size, stride)


class UnwrapTensorSubclass(torch.nn.Module):
    """Makes a wrapper of its tensors, those that wrappers inside it wrap included."""

    def forward(self, *tensors: Tensor) -> Tensor:
        """The wrapper."""
        return _put_together(self.plan, list(tensors))

    def right_inverse(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of a wrapper, which also says how it is made."""
        found: list[Tensor] = []
        self.plan = _taken_apart(tensor, found)
        return found


def unwrap_tensor_subclass_parameters(module: Module) -> Module:
    """Replaces parameters that are wrappers by the tensors in them, from which a parametrisation
    makes the wrapper again: ``weight`` becomes ``parametrizations.weight.original0`` and so on.

    The module is changed and returned; its ``state_dict`` is no longer what it was.
    """
    for part in list(module.modules()):
        for name, parameter in list(part.named_parameters(recurse=False)):
            if is_traceable_wrapper_subclass(parameter):
                parametrize.register_parametrization(part, name, UnwrapTensorSubclass())
    return module


@contextlib.contextmanager
def taken_apart(module: torch.nn.Module) -> Iterator[None]:
    """A block in which a module has the tensors inside its wrappers for parameters."""
    before = [
        (part, part.__class__, dict(part._parameters))
        for part in module.modules()
        if any(map(is_traceable_wrapper_subclass, part._parameters.values()))
    ]
    try:
        unwrap_tensor_subclass_parameters(module)
        yield
    finally:
        for part, kind, parameters in before:
            if part.__class__ is not kind:
                part.__class__ = kind
                del part._modules["parametrizations"]
            part._parameters.clear()
            part._parameters.update(parameters)


__getattr__ = _refusals.missing(__name__)
