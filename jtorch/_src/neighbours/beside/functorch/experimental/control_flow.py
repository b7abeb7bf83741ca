"""``functorch.experimental.control_flow``: branches and loops that may be traced."""

from __future__ import annotations

from jtorch import cond
from jtorch._higher_order_ops.map import map  # noqa: A004 (the name that programs import)

__all__ = ["cond", "map"]
