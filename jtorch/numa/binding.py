"""Which memory node processes are bound to: settings are values as in PyTorch, binding is not
offered."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .._src.refusals import stand_ins as _refusals


class AffinityMode(str, enum.Enum):  # noqa: UP042 (StrEnum would print otherwise)
    """How processes are spread."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """How processes are bound, and whether it matters if they cannot be."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


__getattr__ = _refusals.missing(__name__)
