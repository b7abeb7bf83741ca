"""Constants that a compiler may take for fixed. Nothing is marked: what a program computes with is
looked at each time."""

from __future__ import annotations

from typing import Any

import jtorch as torch


def maybe_set_is_frozen_param(t: torch.Tensor) -> None:
    """Nothing, as outside of a block in which PyTorch's compiler freezes a model."""
    del t


def is_frozen_param(t: torch.Tensor) -> bool:
    """False."""
    del t
    return False


def has_frozen_params(gm: object) -> bool:
    """Whether a compiled graph was said to have constants that are fixed."""
    return getattr(gm, "_has_frozen_params", False)


def record_has_frozen_params(gm: Any) -> None:
    """Says so."""
    gm._has_frozen_params = True
