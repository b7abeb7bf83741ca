"""Wrappers of users' classes where ``FakeTensorMode`` is on: their handlers are asked, and what
they hold are fake tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core import Tensor
from ..utils._python_dispatch import is_traceable_wrapper_subclass, transform_subclass

if TYPE_CHECKING:
    from .fake_tensor import FakeTensorMode


def takes_over(types: Iterable[type], own: type) -> bool:
    """Whether another class than ``own`` is among those of the operands that say themselves what
    operators do."""
    return any(not issubclass(cls, own) for cls in types)


def around_fakes(mode: FakeTensorMode, t: Tensor, static_shapes: bool | None) -> None:
    """The counterpart of a wrapper that says what it holds: one of its class around the
    counterparts; None for other tensors."""
    if not is_traceable_wrapper_subclass(t):
        return None
    static = mode.static_shapes if static_shapes is None else static_shapes
    size, stride = t.size(), t.stride()
    if not static and mode.shape_env is not None:
        outer = mode.from_tensor(t.new_empty_strided(size, stride, device="meta"))
        size, stride = outer.size(), outer.stride()
    made = transform_subclass(
        t, lambda _, inner: mode.from_tensor(inner, static_shapes=static_shapes), size, stride
    )
    if t.requires_grad and t.is_leaf and not made.requires_grad:
        made.requires_grad_()
    mode.fake_tensor_converter.put(t, made)
    return made
