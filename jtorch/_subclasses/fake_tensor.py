"""Tensors without data that claim to lie on a device, which are not offered; that none is one can be asked."""

from __future__ import annotations

from typing import Any

from .. import _refusals


class UnsupportedFakeTensorException(RuntimeError):
    """A fake tensor cannot do this."""


class DynamicOutputShapeException(RuntimeError):
    """The shape of a fake tensor would depend on data."""


class DataDependentOutputException(RuntimeError):
    """What was asked of a fake tensor depends on data."""


def is_fake(x: Any) -> bool:
    """False: nothing is a fake tensor."""
    del x
    return False


def unset_fake_temporarily() -> Any:
    """A block outside of fake modes, as all code is."""
    import contextlib

    return contextlib.nullcontext()


__getattr__ = _refusals.missing(__name__)
