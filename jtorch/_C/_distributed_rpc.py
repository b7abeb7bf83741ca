"""What programs ask about remote procedure calls, which there are none of."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals


def _is_current_rpc_agent_set() -> bool:
    """False."""
    return False


__getattr__ = _refusals.missing(__name__)
