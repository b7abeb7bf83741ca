"""From the dimensions of a jagged tensor to those of its packed values, with torch's refusals."""

from __future__ import annotations

from typing import Any

from ..._src.facts.errors import canonical_dim
from .tensor import NestedTensor


def inner(nt: NestedTensor, dim: int) -> int:
    """The dimension of the values that an outer dimension is; the batch dimension counts as the
    packed one."""
    return nt._ragged_idx - 1 if dim == 0 else dim - 1


def outer(nt: NestedTensor, dim: Any, more: int = 0) -> int:
    """A dimension counted from the front; ``more`` is how many dimensions the result has more than
    ``nt``."""
    return canonical_dim(int(dim), len(nt._size) + more)


def dense(nt: NestedTensor, dim: object, name: str, more: int = 0) -> int:
    """The values' dimension for an outer one that must be neither the batch nor the ragged one.

    Raises:
        RuntimeError: if it is.
    """
    found = outer(nt, dim, more)
    if found == nt._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    if found == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    return found - 1


def require_jagged(nt: object, schema: str, argument: str, contiguous: bool = True) -> None:
    """Raises torch's error unless an operand is a jagged tensor (without holes and with the ragged
    dimension next to the batch)."""
    if isinstance(nt, NestedTensor) and not (
        contiguous and (nt._cut.lengths is not None or nt._ragged_idx != 1)
    ):
        return
    kind = "contiguous jagged layout NestedTensor" if contiguous else "jagged layout NestedTensor"
    raise ValueError(f"NestedTensor {schema}: expected {argument} to be a {kind}")
