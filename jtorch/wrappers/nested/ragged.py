"""Ragged dimensions: their symbolic sizes, how offsets cut a packed dimension into items, and the
way to padded form and back."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.size import SymInt
from ...dispatch import add_plain

if TYPE_CHECKING:
    from ...autograd.function_node import FunctionCtx


_ids = count(1)


class NestedInt(SymInt):
    """The size of a ragged dimension, printed ``j1``: equal to itself (and to what has the same
    offsets), to no int and no other size.

    It is known to be at least 2, as torch assumes; comparisons that this does not decide raise. It
    can be multiplied by an int.
    """

    __slots__ = ("coefficient", "number")

    def __init__(self, number: int, coefficient: int = 1) -> None:
        self.number = number
        self.coefficient = coefficient

    def __repr__(self) -> str:
        return f"j{self.number}" if self.coefficient == 1 else f"{self.coefficient}*j{self.number}"

    def __hash__(self) -> int:
        return hash((self.number, self.coefficient))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (other.number, other.coefficient) == (
            self.number,
            self.coefficient,
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.coefficient >= other.coefficient
        if isinstance(other, int) and other <= 2:
            return True
        return _undecided(other)

    def __lt__(self, other: Any) -> bool:
        found = self.__ge__(other)
        return found if found is NotImplemented else not found

    def __le__(self, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.coefficient <= other.coefficient
        if isinstance(other, int) and other < 2:
            return False
        return _undecided(other)

    def __gt__(self, other: Any) -> bool:
        found = self.__le__(other)
        return found if found is NotImplemented else not found

    def __mul__(self, other: Any) -> NestedInt:
        if isinstance(other, NestedInt):
            raise ValueError(f"unsupported: {type(other)}")
        if isinstance(other, float):
            raise _unknown("sym_float")
        return (
            NestedInt(self.number, self.coefficient * int(other))
            if isinstance(other, int)
            else NotImplemented
        )

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        raise _unknown("add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        raise _unknown("sub")

    __rsub__ = __sub__

    def __floordiv__(self, other: Any) -> Any:
        raise _unknown("int_floordiv")

    def __mod__(self, other: Any) -> Any:
        raise _unknown("mod")

    def __neg__(self) -> Any:
        raise _unknown("neg")

    def __int__(self) -> int:
        raise _unknown("int_")

    __index__ = __float__ = __int__

    def __bool__(self) -> bool:
        return True


def _undecided(other: object) -> Any:
    if isinstance(other, (int, NestedInt)):
        raise ValueError("ge: relation is indeterminate")
    return NotImplemented


def _unknown(what: str) -> AttributeError:
    return AttributeError(f"'NestedIntNode' object has no attribute '{what}'")


add_plain(NestedInt)


class Ragged:
    """How a packed dimension is cut into the items of a batch; one object for all nested tensors on
    the same offsets and lengths.

    It does not hold the offsets, so that it does not keep them alive; what is computed from them is
    kept.
    """

    __slots__ = ("_cache", "_extremes", "_version", "batch", "holes", "size")

    def __init__(self, offsets: Tensor, lengths: Tensor | None, size: NestedInt) -> None:
        self.size = size
        self.batch = offsets.shape[0] - 1
        self.holes = lengths is not None
        self._cache = {}
        self._extremes: tuple[int, int] | None = None
        self._version = 0

    def know(self, smallest: int | None, largest: int | None) -> None:
        """Takes extreme lengths that the caller states, instead of reading them from the device."""
        if self._extremes is None and smallest is not None and largest is not None:
            self._extremes = (smallest, largest)
        elif largest is not None:
            self._cache.setdefault("largest", largest)

    @property
    def knows_extremes(self) -> bool:
        """Whether the smallest and largest length are known without reading the device."""
        return self._extremes is not None

    def largest(self, cut: Cut) -> int:
        """The length of the longest item."""
        if self._extremes is None and "largest" in self._cache:
            return self._cache["largest"]
        return self._both(cut)[1]

    def smallest(self, cut: Cut) -> int:
        """The length of the shortest item."""
        return self._both(cut)[0]

    def _both(self, cut: Cut) -> tuple[int, int]:
        if self._extremes is None:
            found = self.host(cut)[1]
            self._extremes = (min(found, default=0), max(found, default=0))
        return self._extremes

    def host(self, cut: Cut) -> tuple[list[int], list[int]]:
        """Starts and lengths of the items as numbers."""
        version = cut.offsets._version
        if "host" not in self._cache or version != self._version:
            self._version = version
            offsets = cut.offsets.tolist()
            lengths = (
                [b - a for a, b in pairwise(offsets)]
                if cut.lengths is None
                else cut.lengths.tolist()
            )
            self._cache["host"] = (offsets[:-1], lengths)
        return self._cache["host"]

    def kept(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gave the first time it was asked for under ``key``."""
        found = self._cache.get(key)
        if found is None:
            with torch.no_grad():
                found = compute()
            self._cache[key] = found
        return found


class Cut:
    """Offsets, lengths (None unless there are holes) and what is known of them: all of a ragged
    dimension but its data."""

    __slots__ = ("lengths", "offsets", "ragged")

    def __init__(
        self, offsets: Tensor, lengths: Tensor | None = None, ragged: Ragged | None = None
    ) -> None:
        self.offsets = offsets
        self.lengths = lengths
        self.ragged = _ragged(offsets, lengths) if ragged is None else ragged

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and other.ragged is self.ragged

    def __hash__(self) -> int:
        return id(self.ragged)

    @property
    def size(self) -> NestedInt:
        """The symbolic size."""
        return self.ragged.size

    @property
    def batch(self) -> int:
        """The number of items."""
        return self.ragged.batch

    @property
    def largest(self) -> int:
        """The length of the longest item."""
        return self.ragged.largest(self)

    @property
    def smallest(self) -> int:
        """The length of the shortest item."""
        return self.ragged.smallest(self)

    @property
    def host(self) -> tuple[list[int], list[int]]:
        """Starts and lengths of the items as numbers."""
        return self.ragged.host(self)

    def counts(self) -> Tensor:
        """The lengths of the items, ``(B,)``."""
        return self.offsets.diff() if self.lengths is None else self.lengths

    def rows(self, total: int) -> Tensor:
        """For each of the ``total`` packed positions the item that it belongs to, ``(total,)``; in
        a hole, the item before it."""
        at = self.offsets.device

        def compute() -> Tensor:
            places = torch.arange(total, device=at, dtype=self.offsets.dtype)
            found = torch.searchsorted(self.offsets[1:].contiguous(), places, right=True)
            return found.clamp(max=max(self.batch - 1, 0)) if self.ragged.holes else found

        return self.ragged.kept(("rows", total, at), compute)

    def present(self, width: int) -> Tensor:
        """Which places of the padded form hold data, bool ``(B, width)``."""
        at = self.offsets.device

        def compute() -> Tensor:
            return torch.arange(width, device=at, dtype=torch.int64) < self.counts().unsqueeze(1)

        return self.ragged.kept(("present", width, at), compute)

    def into_padded(self, width: int, total: int) -> Tensor:
        """For each place of the padded form the packed position it comes from (any, where it is
        padding), ``(B * width,)``."""
        at = self.offsets.device

        def compute() -> Tensor:
            places = torch.arange(width, device=at, dtype=torch.int64)
            return (
                (self.offsets[:-1].unsqueeze(1) + places).clamp(max=max(total - 1, 0)).reshape(-1)
            )

        return self.ragged.kept(("padded", width, total, at), compute)

    def into_packed(self, width: int, total: int) -> Tensor:
        """For each packed position its place in the padded form, ``(total,)``; not for holes."""
        at = self.offsets.device

        def compute() -> Tensor:
            rows = self.rows(total)
            return (
                rows * width
                + torch.arange(total, device=at, dtype=torch.int64)
                - self.offsets.index_select(0, rows)
            )

        return self.ragged.kept(("packed", width, total, at), compute)

    def moved(self, device: Any) -> Cut:
        """The same structure on another device: its size stays equal."""
        offsets = self.offsets.to(device)
        if offsets is self.offsets:
            return self
        lengths = None if self.lengths is None else self.lengths.to(device)
        made = Ragged(offsets, lengths, self.size)
        made._extremes = self.ragged._extremes
        _remember(offsets, lengths, made)
        return Cut(offsets, lengths, made)


#: ``id(offsets), id(lengths)`` -> the structure, as long as the tensor that names the size lives.
_known: dict[tuple[int, int], tuple[Any, Any, Ragged]] = {}


def _key(offsets: Tensor, lengths: Tensor | None) -> tuple[int, int]:
    return (id(offsets), 0 if lengths is None else id(lengths))


def _ragged(offsets: Tensor, lengths: Tensor | None) -> Ragged:
    key = _key(offsets, lengths)
    found = _known.get(key)
    if found is not None and found[0]() is offsets and (lengths is None or found[1]() is lengths):
        return found[2]
    size = None
    if lengths is not None:  # the lengths name the size, whatever the offsets
        size = next(
            (r.size for _, own, r in list(_known.values()) if own is not None and own() is lengths),
            None,
        )
    made = Ragged(offsets, lengths, NestedInt(next(_ids)) if size is None else size)
    _remember(offsets, lengths, made)
    return made


def _remember(offsets: Tensor, lengths: Tensor | None, made: Ragged) -> None:
    key = _key(offsets, lengths)

    def forget(_: object, known: Any = _known) -> None:
        known.pop(key, None)

    _known[key] = (
        weakref.ref(offsets, forget),
        None if lengths is None else weakref.ref(lengths, forget),
        made,
    )


# ---- padded form ---------------------------------------------------------------------------------


class _Pad(torch.autograd.Function):
    """Packed ``(S, *)`` -> padded ``(B, width, *)``. Forward and backward are gathers, which run
    faster than a scatter."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, cut: Cut, width: int, padding: Any) -> Tensor:
        ctx.cut, ctx.width, ctx.total, ctx.options = cut, width, packed.shape[0], packed.shape[1:]
        return _gathered(packed, cut, width, padding)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return pack(grad, ctx.cut, ctx.total), None, None, None


def _gathered(packed: Tensor, cut: Cut, width: int, padding: float) -> Tensor:
    total, rest = packed.shape[0], packed.shape[1:]
    shape = (cut.batch, width, *rest)
    if not total or not width or not cut.batch:
        return torch.full(shape, padding, dtype=packed.dtype, device=packed.device)
    found = packed.index_select(0, cut.into_padded(width, total)).view(shape)
    return found.masked_fill(~cut.present(width).view(cut.batch, width, *(1,) * len(rest)), padding)


def pad(packed: Tensor, cut: Cut, padding: float = 0.0, width: int | None = None) -> Tensor:
    """Packed ``(S, *)`` as ``(B, width, *)``, filled up with ``padding``; longer items are cut."""
    if width is None:
        width = cut.largest
    if not packed.requires_grad or cut.ragged.holes or width < cut.largest:
        return _gathered(packed, cut, width, padding)
    return _Pad.apply(packed, cut, width, padding)


class _Pack(torch.autograd.Function):
    """Padded ``(B, width, *)`` -> packed ``(total, *)``, the transpose of ``_Pad``."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, cut: Cut, total: int) -> Tensor:
        ctx.cut, ctx.width = cut, padded.shape[1]
        return _scattered(padded, cut, total)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        return pad(grad, ctx.cut, 0, ctx.width), None, None


def _scattered(padded: Tensor, cut: Cut, total: int) -> Tensor:
    width = padded.shape[1]
    return padded.reshape(-1, *padded.shape[2:]).index_select(0, cut.into_packed(width, total))


def pack(padded: Tensor, cut: Cut, total: int) -> Tensor:
    """Padded ``(B, width, *)`` as packed ``(total, *)``: what ``pad`` does, undone."""
    if not padded.requires_grad or padded.shape[1] < cut.largest:
        return _scattered(padded, cut, total)
    return _Pack.apply(padded, cut, total)


def spread(rows: Tensor, cut: Cut, total: int) -> Tensor:
    """One row for each item, ``(B, *)``, as one for each packed position, ``(total, *)``."""
    return rows.index_select(0, cut.rows(total))


def segment_sum(packed: Tensor, cut: Cut) -> Tensor:
    """The sums of the items' rows, ``(S, *)`` -> ``(B, *)``."""
    zeros = torch.zeros((cut.batch, *packed.shape[1:]), dtype=packed.dtype, device=packed.device)
    return zeros.index_add(0, cut.rows(packed.shape[0]), packed)
