"""Checks of indices that cost a look at all of them, made where a program asks for them:
``check_sparse_tensor_invariants``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._src.facts import layouts
from ..core import Tensor
from ._tensor import BY_ROW, host, nnz

BLOCKS = (layouts.sparse_bsr, layouts.sparse_bsc)

_enabled = [False]


def wanted(check: bool | None) -> bool:
    """Whether a constructor with this ``check_invariants`` argument checks."""
    return _enabled[0] if check is None else bool(check)


class check_sparse_tensor_invariants:
    """A block, or a function decorated, in which constructors check their indices; also as plain
    functions that switch for good."""

    @staticmethod
    def is_enabled() -> bool:
        """Whether constructors check their indices."""
        return _enabled[0]

    @staticmethod
    def enable() -> None:
        """Makes constructors check their indices from here on."""
        _enabled[0] = True

    @staticmethod
    def disable() -> None:
        """Makes constructors trust their indices from here on."""
        _enabled[0] = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved: bool | None = None

    def __enter__(self) -> None:
        if self.saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved, _enabled[0] = _enabled[0], self.state

    def __exit__(self, *exc: object) -> None:
        assert self.saved is not None
        _enabled[0], self.saved = self.saved, None

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """``func`` within such a block."""

        @functools.wraps(func)
        def checked(*args: object, **kwargs: object) -> Any:
            with type(self)(self.state):
                return func(*args, **kwargs)

        return checked


def coo(indices: Tensor, size: tuple[int, ...], coalesced: bool) -> None:
    """Checks that indices lie within the size, and are sorted and unique where that was claimed.

    Raises:
        RuntimeError: if not.
    """
    found = host(indices)
    if not found.shape[1]:
        return
    for d in range(found.shape[0]):
        low, high = int(found[d].min()), int(found[d].max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found "
                f"index {high}"
            )
    if coalesced and found.shape[1] > 1:
        order = np.lexsort(found[::-1])
        ascending = (order[1:] > order[:-1]).all()
        unique = np.unique(found, axis=1).shape[1] == found.shape[1]
        if not (ascending and unique):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )


def _shapes(t: Tensor, a: str, b: str) -> None:
    """Checks that the parts of a compressed layout, whose indices are called ``a`` and ``b``, fit
    each other and the size.

    Raises:
        RuntimeError: if not.
    """
    (starts, others), values, size = t._at, t._vals, tuple(t._dims)
    if not starts.dim():
        raise RuntimeError(f"{a} must have dimensionality >= 1 but got 0")
    if starts.dim() != others.dim():
        raise RuntimeError(
            f"{a} and {b} dimensionalities must be equal but got {starts.dim()} and "
            f"{others.dim()}, respectively"
        )
    batch, block = starts.dim() - 1, 2 if t._kind in BLOCKS else 0
    dense = values.dim() - batch - block - 1
    if dense < 0:
        counts = f"(={batch} + {block}) but got {values.dim()}"
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities {counts}"
        )
    if len(size) != batch + 2 + dense:
        counts = f"(={batch} + 2 + {dense}) but got {len(size)}"
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities {counts}"
        )
    found = [list(x.shape[:batch]) for x in (starts, others, values)]
    if any(x != list(size[:batch]) for x in found):
        raise RuntimeError(
            f"all batch dimensions of {a} (={found[0]}), {b} (={found[1]}), and values "
            f"(={found[2]}) must be equal to tensor batch dimensions (={list(size[:batch])})"
        )
    for d in range(block):
        n = values.shape[batch + 1 + d]
        if n == 0 or size[batch + d] % n:
            raise RuntimeError(
                f"tensor shape[{d}] (={size[batch + d]}) must be divisible with blocksize[{d}] "
                f"(={n}) as defined by values shape"
            )


def in_pieces(first: Tensor, second: Tensor, kind: object) -> None:
    """Checks that the indices of a compressed layout are in one piece for each matrix of a batch.

    Raises:
        RuntimeError: if not.
    """
    for x, name in zip((first, second), _names(kind), strict=True):
        one = x
        while one.dim() > 1 and one.numel():
            one = one.select(0, 0)
        if not one.is_contiguous():
            raise RuntimeError(f"expected {name} to be a contiguous tensor per batch")


def _names(kind: object) -> tuple[str, str]:
    return ("crow_indices", "col_indices") if kind in BY_ROW else ("ccol_indices", "row_indices")


def _dtypes(t: Tensor, a: str, b: str) -> None:
    first, second = [i.dtype.scalar_name for i in t._at]
    if first != second:
        raise RuntimeError(
            f"{a} and {b} must have the same dtype, bot got {first} and {second}, respectively"
        )
    if first not in ("Int", "Long"):
        raise RuntimeError(f"{a} and {b} dtype must be Int or Long, but got {first}")


def compressed(t: Any) -> None:
    """Checks the indices of a compressed layout, in the order in which torch names what is wrong.

    Raises:
        RuntimeError: if they do not fit the size or the values.
    """
    by_row = t._kind in BY_ROW
    a, b = _names(t._kind)
    _shapes(t, a, b)
    _dtypes(t, a, b)
    starts, others = host(t._at[0]), host(t._at[1])
    batch = starts.ndim - 1
    blocks = t._vals.shape[batch + 1 : batch + 3] if t._kind in BLOCKS else (1, 1)
    rows, cols = t._dims[batch] // blocks[0], t._dims[batch + 1] // blocks[1]
    n, m = (rows, cols) if by_row else (cols, rows)
    count = t._vals.shape[batch]
    if starts.shape[-1] != n + 1:
        counted = ("row" if by_row else "column") + (" blocks" if t._kind in BLOCKS else "s")
        raise RuntimeError(
            f"{a}.shape[-1] must be equal to the number of {counted} + 1 (={n + 1}), but got "
            f"{starts.shape[-1]}"
        )
    if nnz(t) != count:
        raise RuntimeError(
            f"{b}.shape[-1] must be equal to nnz (={count}) as defined by values.shape[{batch}], "
            f"but got {nnz(t)}"
        )
    dim, other = ("nrows", "ncols") if by_row else ("ncols", "nrows")
    if others.size and ((others < 0) | (others >= m)).any():
        raise RuntimeError(f"`0 <= {b} < {other}` is not satisfied.")
    if (starts[..., 0] != 0).any():
        raise RuntimeError(f"`{a}[..., 0] == 0` is not satisfied.")
    if (starts[..., -1] != count).any():
        raise RuntimeError(f"`{a}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(starts)
    if ((steps < 0) | (steps > m)).any():
        raise RuntimeError(f"`0 <= {a}[..., 1:] - {a}[..., :-1] <= {other}` is not satisfied.")
    matrices = math.prod(starts.shape[:-1])
    for s, o in zip(starts.reshape(matrices, n + 1), others.reshape(matrices, count), strict=True):
        for k in range(n):
            if (np.diff(o[s[k] : s[k + 1]]) <= 0).any():
                raise RuntimeError(
                    f"`{b}[..., {a}[..., i - 1]:{a}[..., i]] for all i = 1, ..., {dim} are sorted "
                    "and distinct along the last dimension values` is not satisfied."
                )
