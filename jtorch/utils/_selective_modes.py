"""The two contexts of selective checkpointing, as dispatch modes.

The first sees each operator and keeps the results that it is told to; the second gives these in
place of computing them, by operator and by how often it has been called.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

if TYPE_CHECKING:
    from typing import Self


#: What is kept of the calls of each operator, by their numbers.
Storage = dict[Any, dict[int, Any]]

#: Operators that are never kept.
IGNORED = frozenset(
    """
    aten.detach.default aten.dim.default aten.is_contiguous.default aten.is_contiguous.memory_format
    aten.is_non_overlapping_and_dense.default aten.is_strides_like_format.default aten.numel.default
    aten.size.default aten.storage_offset.default aten.stride.default aten.sym_numel.default
    aten.sym_size.default aten.sym_storage_offset.default aten.sym_stride.default
    prim.device.default
    """.split()
)
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)
_MUTATED = "Tensor cached during selective activation checkpoint has been mutated"
#: Stand for results: one that is computed again, one that has been given, and one that lies in an
#: operand, which keeping would not write.
_RECOMPUTED, _GIVEN, _WRITTEN = object(), object(), object()


class _Kept:
    """A tensor that is kept, with the version that it had."""

    def __init__(self, value: torch.Tensor) -> None:
        self.val = value.detach() if isinstance(value, torch.Tensor) else value
        self.version = self.val._version if isinstance(value, torch.Tensor) else None

    def given(self, mutated: bool) -> Any:
        if self.version is not None and not mutated and self.val._version != self.version:
            raise RuntimeError(_MUTATED)
        return self.val


class CachingMode(TorchDispatchMode):
    """The first computation: keeps the results of which ``kept(result, operator, args, kwargs)`` is
    true."""

    def __init__(self, kept: Callable[..., bool], storage: Storage) -> None:
        super().__init__()
        self.kept, self.storage = kept, storage
        self.calls = Counter()

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Runs the operator, and keeps its result or the fact that it is to be computed again."""
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if str(func) in IGNORED:
            return out
        kept = self.kept(out, func, args, kwargs)
        index = self.calls[func]
        self.calls[func] += 1
        if kept:
            self.storage[func][index] = (
                _WRITTEN if func._schema.is_mutable else tree_map(_Kept, out)
            )
        else:
            self.storage[func][index] = _RECOMPUTED
        return out


class CachedMode(TorchDispatchMode):
    """The second computation: gives what was kept."""

    def __init__(self, storage: Storage, mutated: bool) -> None:
        super().__init__()
        self.storage, self.allow_cache_entry_mutation = storage, mutated
        self.calls = Counter()

    def __enter__(self) -> Self:
        self.calls.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Gives the result that was kept for this call of the operator, or computes it."""
        if str(func) in IGNORED:
            return func(*args, **(kwargs or {}))
        index = self.calls[func]
        self.calls[func] += 1
        if func not in self.storage:
            raise RuntimeError(
                f"{func} encountered during backward but not found in storage. {_MISMATCH}"
            )
        results = self.storage[func]
        if index not in results:
            raise RuntimeError(
                f"{func} invocation index {index} encountered during backward but not found in "
                f"storage. {_MISMATCH}"
            )
        if results[index] is _GIVEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        if results[index] is _WRITTEN and not self.allow_cache_entry_mutation:
            raise RuntimeError(_MUTATED)
        if results[index] is _RECOMPUTED or results[index] is _WRITTEN:
            return func(*args, **(kwargs or {}))
        out = tree_map(lambda kept: kept.given(self.allow_cache_entry_mutation), results[index])
        results[index] = _GIVEN
        return out


class Passing(TorchDispatchMode):
    """Has functions computed as operators, as under any mode."""

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Runs the operator."""
        return func(*args, **(kwargs or {}))


def new_storage() -> Storage:
    """What the two modes share."""
    return defaultdict(dict)
