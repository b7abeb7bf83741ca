"""What authors of modes use: a test for modes that are all one, and a block without handlers of
operators."""

from __future__ import annotations

from collections.abc import Sequence

from jtorch._C._answers import _DisableTorchDispatch

no_dispatch = _DisableTorchDispatch


def all_same_mode(modes: Sequence[object]) -> bool:
    """Whether all of the modes are the first of them."""
    return all(mode == modes[0] for mode in modes)
