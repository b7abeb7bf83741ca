"""Assertions that handlers and tracers can see."""

from __future__ import annotations

from typing import Any

from ..bind.cores import composite


@composite(operands=("condition",), native=False)
def _assert(condition: Any, message: Any) -> None:
    """Raises ``AssertionError(message)`` unless ``condition`` holds; a traced condition is
    recorded.

    Raises:
        AssertionError: unless it holds.

    Example:
        >>> import jtorch as torch
        >>> torch._assert(torch.tensor(True), "must hold")
    """
    if not condition:
        raise AssertionError(message)
