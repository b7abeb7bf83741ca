"""Choosing how a kernel computes by how large its operands are, where sizes may be symbols that are not known yet."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def fewer(n: Any, limit: int) -> bool:
    """Whether ``n < limit``; a size that is not known counts as large. Ask only where what is done for large sizes is right for all."""
    return type(n) is int and n < limit


def counted(n: Any, dtype: Any) -> Any:
    """A size as a number of ``dtype``."""
    return dtype.type(n) if type(n) is int else jnp.asarray(n, dtype)
