"""Tensors without data."""

from __future__ import annotations

from typing import Any

from jtorch._src.refusals import stand_ins as _refusals


def __getattr__(name: str) -> Any:
    if name in (
        "FakeTensor",
        "FakeTensorMode",
        "UnsupportedFakeTensorException",
        "DynamicOutputShapeException",
    ):
        from . import fake_tensor

        return getattr(fake_tensor, name)
    return _refusals.find(__name__, name)
