"""Functionalised tensors, of which there are none: arrays are immutable underneath anyway."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .._src.refusals import stand_ins as _refusals
from ..core import Tensor


@contextlib.contextmanager
def disable_functional_mode() -> Iterator[None]:
    """A block without functionalisation, as all code is."""
    yield


def mb_unwrap_functional_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself."""
    return tensor


__getattr__ = _refusals.missing(__name__)
