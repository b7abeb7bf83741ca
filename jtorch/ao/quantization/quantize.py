"""Quantising modules one by one, which is left out but for what cleans up after it."""

from __future__ import annotations

from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals


def _remove_qconfig(module: nn.Module) -> None:
    """Takes what was to be quantised how from a module and those in it."""
    for inner in module.modules():
        there: Any = inner.__dict__
        there.pop("qconfig", None)
        inner._modules.pop("activation_post_process", None)


__getattr__ = _refusals.missing(__name__)
