"""What packages decorate with when they are imported: functions that need remote procedure calls,
and so refuse to run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._src.refusals import stand_ins as _refusals

#: What stands for a time limit that nobody set.
UNSET_RPC_TIMEOUT = -1.0


def _require_initialized(func: Callable[..., object]) -> Callable[..., object]:
    """A function that says that there are no remote procedure calls yet, as there never are."""

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:  # noqa: ARG001
        raise RuntimeError(
            "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
        )

    return wrapper


__getattr__ = _refusals.missing(__name__)
