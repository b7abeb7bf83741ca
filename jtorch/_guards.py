"""What a trace that is running knows: the mode of its fake tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._src.refusals import stand_ins as _refusals
from .utils import _pytree as pytree

if TYPE_CHECKING:
    from types import ModuleType

    from .core import Tensor


def detect_fake_mode(inputs: tuple[Tensor, ...] | None = None) -> Any:
    """The fake mode that is on, or that made fake tensors among ``inputs``; None if there is none.

    Raises:
        AssertionError: if there are several.
    """
    FakeTensor = _fakes().FakeTensor
    found = [(m, "active fake mode") for m in (active_fake_mode(),) if m is not None]
    found += [
        (t.fake_mode, f"fake tensor input {i}")
        for i, t in enumerate(pytree.tree_leaves(inputs))
        if isinstance(t, FakeTensor)
    ]
    if not found:
        return None
    first, where = found[0]
    for mode, other in found[1:]:
        if mode is not first:
            raise AssertionError(
                f"fake mode ({first}) from {where} doesn't match mode ({mode}) from {other}"
            )
    return first


def active_fake_mode() -> None:
    """The innermost fake mode that is on; None if there is none."""
    return _fakes().active_mode()


def _fakes() -> ModuleType:
    """Loaded when a fake tensor may be there."""
    from ._subclasses import fake_tensor

    return fake_tensor


__getattr__ = _refusals.missing(__name__)
