"""From a declaration to calls the engine can run: operands assembled and promoted inside the traced
kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import Aval, Call, Guarded, any_size, flush, trie
from ..engine.calls import MANY
from ..engine.programs import identity
from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from . import _families, _pieces
from ._declare import (
    DTYPE,
    NUMBER,
    OPS,
    STATIC,
    TENSOR_LIST,
    TENSOR_OR_STATIC,
    UNLESS_ROUNDED,
    Op,
    collecting,
)
from ._flags import flags_of
from ._numeric import zeros_and_ones

if TYPE_CHECKING:
    from ..facts.kinds import Operands, Row, Values
    from ._declare import Guard, Param


#: Entries of a layout: how one parameter was given. Statics stand as ``Fixed``.
T = "T"  # a tensor
ABSENT = None  # None, or left at its default
FLOAT, INT, BOOL, COMPLEX = "f", "i", "b", "c"  # Python numbers that are inputs of the trace
NUMBERS = {float: FLOAT, int: INT, bool: BOOL, complex: COMPLEX}
_HALVES = (dtypes.float16.np, dtypes.bfloat16.np)
_NUMBER_DTYPES = {INT: dtypes.int64, BOOL: dtypes.bool_}
_KINDS = {
    FLOAT: np.dtype(np.float64),
    INT: np.dtype(np.int64),
    BOOL: np.dtype(np.bool_),
    COMPLEX: np.dtype(np.complex128),
}


#: Stands for ``-0.0`` in keys, where it would be the same as zero.
MINUS_ZERO = "-0.0"


def apart(number: float) -> Any:
    """A number as it stands in a key, which is told from those that equal it: ``-0.0`` from
    ``0.0``, and ``2 + 0j`` from ``2.0``."""
    if type(number) is complex:
        return Fixed(number)
    return number if number or str(number) != MINUS_ZERO else MINUS_ZERO


def as_given(
    entry: tuple[float, ...] | float | str | None,
) -> tuple[float, ...] | float | str | None:
    """The number that stands in a key so."""
    return -0.0 if entry is MINUS_ZERO else entry.value if type(entry) is Fixed else entry


class Fixed:
    """A static argument in a layout, compared by value and type (``2`` is not ``2.0``, nor ``0.0``
    ``-0.0``)."""

    __slots__ = ("value", "key")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = (
            type(value),
            "nan" if value != value else apart(value) if type(value) is float else value,
        )

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self.key == other.key

    def __repr__(self) -> str:
        return f"={self.value!r}"


class Info:
    """What a call is made of: kept in ``Call.extra``.

    Attributes:
        kernel: the call's function of flat arrays and numbers.
        saved: for each operand, whether its value may be kept for the derivative; ``masks`` refines
            it (see ``kept_for``).
        checked: for each operand, whether torch saves it, so that an in-place change must be
            refused.
        saves_result: whether it needs the results.
        saves_number: whether an operand that torch saves was given as a number: nothing is kept for
            it, but walking twice is refused.
        shown: which of these residuals are results that the caller sees, by their numbers.
        hidden: how many results at the end are residuals that the caller never sees.
        vjps: derivative calls by (operand avals, needed operands, given cotangents).
        known: by operand avals, these themselves and those of the results: nodes of histories share
            them.
    """

    __slots__ = (
        "op",
        "layout",
        "kernel",
        "saved",
        "checked",
        "saves_result",
        "saves_number",
        "hidden",
        "single",
        "vjps",
        "known",
        "tracked",
        "differentiable",
        "name",
        "masks",
        "shown",
    )

    def __init__(self, op: Op, layout: Row) -> None:
        self.op, self.layout = op, layout
        self.vjps = {}
        self.known: dict[Any, tuple[tuple[Aval, ...], tuple[Aval, ...]]] = {}
        self.kernel: Any = None
        self.saved: tuple[bool, ...] = ()
        self.checked: tuple[bool, ...] = ()
        self.saves_result = False
        self.saves_number = False
        self.hidden = 0
        self.single = True
        self.tracked: Call | None = None
        self.differentiable = op.differentiable
        self.name = op.name
        self.shown = op.shown
        self.masks = {}


_calls: dict[tuple[Op, Row], Call] = {}
#: Caches of calls that the binding keeps for each op, emptied with ``_calls``.
caches: list[dict[Any, Any]] = [_families.families]


def forget_calls() -> None:
    """Forgets every call: kernels traced under another default dtype are stale."""
    flush()
    _calls.clear()
    for cache in caches:
        cache.clear()
    trie.clear()


dtypes.on_default_change.append(forget_calls)


def call_of(op: Op, layout: tuple[object, ...]) -> Call:
    """The call of ``op`` with its parameters given as ``layout`` says."""
    found = _calls.get((op, layout))
    if found is None:
        found = _make(op, layout, forward=False)
        info: Info = found.extra
        # run in place of the kernel where a gradient is needed; keeps residuals
        if op.fwd is not None:
            info.tracked = _make(op, layout, forward=True)
        # whole, and the first: another thread may have made it, too
        found = _calls.setdefault((op, layout), found)
    return found


def _make(op: Op, layout: Row, forward: bool) -> Call:
    info = Info(op, layout)
    names = _operand_names(op, layout)
    saves = op.saves
    needed = tuple(saves is None or n in saves for n in names)
    info.checked = tuple(
        need and n not in op.unchecked for need, n in zip(needed, names, strict=True)
    )
    # Residuals are recomputed from the operands for a second derivative, so ops that have them keep
    # all.
    info.saved = (True,) * len(names) if forward else needed
    info.saves_result = saves is not None and "result" in saves
    kinds = tuple(_number_kinds(op, layout))
    info.saves_number = op.wraps and any(
        _is_number(p, e) and p.name in (saves or ()) for p, e in zip(op.params, layout, strict=True)
    )
    n = len(names)
    body = op.fwd if forward else op.body

    def fn(*flat: object) -> tuple[jax.Array, ...] | jax.Array | Guarded:
        operands = GivenOperands(op, layout, flat[:n], flat[n:])
        guards = []
        with collecting(guards):
            out = body(*operands.args, **operands.kwargs)  # type: ignore[misc]
        if operands.narrow is not None:
            out = cast(out, operands.narrow)
        if forward:
            result, residuals = out
            info.single = not isinstance(result, (tuple, list))
            residuals = tuple(r for r in residuals)
            info.hidden = len(residuals)
            out = ((result,) if info.single else tuple(result)) + residuals
        else:
            info.single = not isinstance(out, (tuple, list))
        out = (
            strongly_typed(out)
            if not isinstance(out, (tuple, list))
            else tuple([strongly_typed(o) for o in out])
        )
        if guards:
            return Guarded(
                out,
                flags_of(guards),
                tuple([(g.exc_type, g.message, operands.span(g)) for g in guards]),
            )
        return out

    fn.__name__ = fn.__qualname__ = op.name
    info.kernel = fn
    call = Call(op.name, fn, kinds, info, _identity(op, layout, forward))
    call.whole = op.family == "program"
    call.apart = op.apart
    call.bounds = op.bounds
    call.view = op.family == "view"
    if op.elementwise and not forward:
        call.general = any_size.general
    call.kin = _families.kin_of(op, layout, forward, lambda given: _made_of(op, given, forward))
    if not forward and (piecewise := _pieces.FORWARD.get(op.path)) is not None:
        call.jitted = _pieces.InPieces(call.jitted, piecewise, statics_of(layout))
    return call


def _made_of(op: Op, layout: tuple[Fixed, ...], forward: bool) -> Call:
    """As ``call_of``, or what runs in its place where a gradient is needed."""
    call = call_of(op, layout)
    return call.extra.tracked if forward else call


def _identity(op: Op, layout: tuple[object, ...], forward: bool) -> str | None:
    """What the call is in every process; None for ops that are not this package's."""
    if OPS.get(op.path) is not op or op.module.partition(".")[0] not in ("jtorch", "torch"):
        return None
    return identity(
        op.path,
        forward,
        tuple([("fixed", entry.value) if isinstance(entry, Fixed) else entry for entry in layout]),
    )


def statics_of(layout: tuple[object, ...]) -> Row:
    return tuple([entry.value for entry in layout if isinstance(entry, Fixed)])


def strongly_typed(x: jax.Array) -> jax.Array:
    x = jnp.asarray(x)
    return lax.convert_element_type(x, x.dtype) if x.weak_type else x


def _operand_names(op: Op, layout: Row) -> list[str]:
    """The parameter of each tensor operand, in flat order."""
    names: list[str] = []
    for p, entry in zip(op.params, layout, strict=True):
        if entry is T:
            names.append(p.name)
        elif p.kind == TENSOR_LIST and entry is not None:
            names.extend([p.name] * sum(entry))
    return names


def _is_number(p: Param, entry: tuple[bool, ...] | Fixed | str | None) -> bool:
    return isinstance(entry, str) and entry is not T and p.kind not in (STATIC, DTYPE)


def _number_kinds(op: Op, layout: Row) -> list[str]:
    return [e for p, e in zip(op.params, layout, strict=True) if _is_number(p, e)]


class GivenOperands:
    """A kernel's arguments assembled from flat arrays and numbers, promoted and aligned as the op
    declares.

    ``slots`` describes each tensor operand for the way back: (original shape, original dtype,
    promoted dtype). ``narrow`` is the dtype of the result where the op computes in float32 for it.
    """

    __slots__ = ("args", "kwargs", "narrow", "slots", "origins")

    def __init__(self, op: Op, layout: Row, arrays: Operands, numbers: Sequence[object]) -> None:
        if op.admits is not None:
            op.admits(dict(zip(_operand_names(op, layout), arrays, strict=True)))
        target = _target(op, layout, arrays)
        self.narrow: np.dtype | None = None
        if (
            op.wide
            and target in _HALVES
            and (numbers or (len(arrays) > 1 and not arrays[1].ndim and arrays[1].dtype != target))
        ):
            # A number is not rounded to half precision before it is used; nor is a second operand
            # of no dimensions and another dtype.
            self.narrow, target = target, np.dtype(np.float32)
        shape_ndim = self._ndim(op, layout, arrays) if op.broadcast else 0
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        self.slots = []
        #: What the kernel gets of each operand and number, in the order in which the engine counts
        #: them, with the dtype it came in.
        self.origins = []
        taken = []
        next_array, next_number = iter(arrays).__next__, iter(numbers).__next__

        promoted = op.promote if isinstance(op.promote, tuple) else None

        def take(name: str) -> jax.Array:
            a = next_array()
            self.slots.append((a.shape, a.dtype))
            if target is not None and a.dtype != target and (promoted is None or name in promoted):
                a = cast(a, target)
            if op.broadcast and a.ndim < shape_ndim:
                a = lax.expand_dims(a, range(shape_ndim - a.ndim))
            self.origins.append((a, self.slots[-1][1]))
            return a

        for p, entry in zip(op.params, layout, strict=True):
            if p.kind in (STATIC, DTYPE):
                value = entry.value
            elif entry is T:
                value = take(p.name)
            elif p.kind == TENSOR_LIST:
                value = (
                    None
                    if entry is None
                    else [take(p.name) if present else None for present in entry]
                )
            elif entry is ABSENT:
                if p.required or p.default is None:
                    value = None
                else:
                    value = p.default
                    if p.kind != TENSOR_OR_STATIC and target is not None and p.kind != NUMBER:
                        value = jnp.asarray(value, target)
            elif isinstance(entry, Fixed):
                value = entry.value
            else:
                value = _number(
                    f"{op.name}.{p.name}", entry, next_number(), target, p.kind, op.truncates
                )
                taken.append((value, _KINDS[entry]))
            if p.keyword_only:
                if not (entry is ABSENT and not p.required):
                    self.kwargs[p.name] = value
            else:
                self.args.append(value)
        self.origins += taken

    def span(self, g: Guard) -> tuple[object, ...] | None:
        """The span of a guard as the engine wants it: which operand or number it is about. None
        where that is not told by its elements."""
        for at, (a, given) in enumerate(self.origins):
            if a is g.array and g.span is not None:
                low, high, hole, skip = g.span
                exact = g.exact
                # what does not fit was changed by converting it
                if given != a.dtype and not np.can_cast(given, a.dtype):
                    if (
                        hole is None
                        and jnp.issubdtype(given, jnp.floating)
                        and jnp.issubdtype(a.dtype, jnp.floating)
                    ):
                        return at, low, high, hole, skip, False  # rounding keeps the order
                    if a.dtype.kind not in "iu" or given.kind not in "iub":
                        return None
                    info = np.iinfo(a.dtype)
                    low, high, skip, exact = (
                        max(low, int(info.min)),
                        min(high, int(info.max)),
                        None,
                        False,
                    )
                return at, low, high, hole, skip, exact
        return None

    @staticmethod
    def _ndim(op: Op, layout: tuple[object, ...], arrays: Sequence[jax.Array]) -> int:
        return len(broadcast_shapes(*[a.shape for a in arrays]))


def whole(a: jax.Array, target: np.dtype) -> jax.Array:
    """Floating-point numbers as integers, as the processors convert that torch is mostly run on.

    They know int32 and int64, and give the smallest number of these for all that is beyond their
    range and for NaN, where XLA stops at the limits and gives 0. What is narrower takes the lowest
    bits of that; torch goes to uint8 by way of int64.
    """
    native = np.dtype(np.int32 if target in (np.int8, np.int16, np.uint16, np.int32) else np.int64)
    if a.dtype.itemsize < 4:
        a = lax.convert_element_type(a, np.float32)
    limit = np.asarray(2.0 ** (8 * native.itemsize - 1), a.dtype)
    high = a >= limit
    if target == np.uint64:  # what is in its upper half is converted without the highest bit
        a = jnp.where(high, a - limit, a)
    # Numbers below the range are stopped at the smallest one already.
    found = lax.convert_element_type(jnp.where(a < limit, a, -limit), native)
    if target == np.uint64:
        return jnp.where(high, found ^ np.int64(-(2**63)), found).astype(target)
    return lax.convert_element_type(found, target)


def cast(a: jax.Array, target: np.dtype) -> jax.Array:
    """Converts as torch does: complex to real drops the imaginary part, numbers to bool by
    comparison with zero."""
    if a.dtype == target:
        return a
    if target == np.bool_:
        return a != jnp.zeros((), a.dtype)
    # floating-point types of a byte need not have a zero
    if a.dtype == np.bool_ and target.kind not in "iu" and target.itemsize > 1:
        return zeros_and_ones(a, target)
    if jnp.issubdtype(a.dtype, jnp.complexfloating) and not jnp.issubdtype(
        target, jnp.complexfloating
    ):
        a = jnp.real(a)
    if target.kind in "iu" and jnp.issubdtype(a.dtype, jnp.floating):
        return whole(a, target)
    if target == np.float16 and a.dtype == np.float64:
        # rounded twice, as in PyTorch: some processors, and XLA for them, do it at once
        a = lax.convert_element_type(a, np.float32)
    if target == dtypes.float8_e4m3fn.np:
        limit = np.asarray(448, a.dtype) if a.dtype.itemsize > 1 else None
        a = (
            a
            if limit is None or not jnp.issubdtype(a.dtype, jnp.floating)
            else jnp.clip(a, -limit, limit)
        )
    elif target == dtypes.float8_e8m0fnu.np:
        # There is no sign and no zero: torch takes the smallest number.
        return jnp.where(
            a == 0, np.asarray(2.0**-127, target), lax.convert_element_type(jnp.abs(a), target)
        )
    return lax.convert_element_type(a, target)


def _number(
    name: str, kind: str, value: object, target: np.dtype | None, param_kind: int, truncates: bool
) -> jax.Array:
    value = jnp.asarray(value)
    if target is None:
        return lax.convert_element_type(value, value.dtype)
    if param_kind == NUMBER and (not truncates or kind != FLOAT):
        full, name = name, name.rpartition(".")[2]
        if kind == FLOAT and not jnp.issubdtype(target, jnp.inexact):
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
        if kind == COMPLEX and not jnp.issubdtype(target, jnp.complexfloating):
            raise RuntimeError(
                f"For non-complex input tensors, argument {name} must not be a complex number."
            )
        if kind == BOOL and target != np.bool_ and (name == "alpha" or full == "addr.beta"):
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    return cast(value, target)


def _given(op: Op, layout: tuple[object, ...]) -> Values:
    """The entries of the operands that are either all tensors or all numbers."""
    return [e for p, e in zip(op.params, layout, strict=True) if p.name in op.alike]


def _target(op: Op, layout: Row, arrays: Sequence[jax.Array]) -> np.dtype | None:
    """The dtype that the op's operands are cast to, or None if it takes them as they come."""
    if op.promote is None:
        return None
    entries: list[tuple[dtypes.dtype, int]] = []
    next_array = iter(arrays).__next__
    promoted = op.promote if isinstance(op.promote, tuple) else None
    scalar = dtypes.DIMENSIONED if op.promote == "expanded" else dtypes.ZERO_DIM
    for p, entry in zip(op.params, layout, strict=True):
        if p.kind in (STATIC, DTYPE, NUMBER):
            continue
        if promoted is not None and p.name not in promoted:
            if entry is T:
                next_array()
            continue
        if entry is T:
            a = next_array()
            entries.append(
                (dtypes.BY_NP[np.dtype(a.dtype)], dtypes.DIMENSIONED if a.ndim else scalar)
            )
            if (
                a.ndim
                and p.name in op.alike
                and any(e is not T and e is not ABSENT for e in _given(op, layout))
            ):
                raise TypeError(
                    f"{op.name}() takes tensors or numbers as {' and '.join(op.alike)}, not one of "
                    "each"
                )
        elif p.kind == TENSOR_LIST:
            for present in entry or ():
                if present:
                    a = next_array()
                    entries.append(
                        (dtypes.BY_NP[np.dtype(a.dtype)], dtypes.DIMENSIONED if a.ndim else scalar)
                    )
        elif isinstance(entry, Fixed):
            if entry.value is not None:
                entries.append((dtypes.of_number(entry.value), dtypes.NUMBER))
        elif entry is not ABSENT:
            kind_dtype = _NUMBER_DTYPES.get(entry) or (
                dtypes.get_default_dtype() if entry == FLOAT else dtypes.default_complex()
            )
            entries.append((kind_dtype, dtypes.NUMBER))
    if op.check is not None:
        op.check([kind for kind, _ in entries])
    check = None if op.check_if is None else op.check_if(_options(op, layout))
    if check is not None:
        check([kind for kind, _ in entries])
    try:
        found = dtypes.result_type_of(tuple(entries))
    except RuntimeError:
        if op.broadcast:
            broadcast_shapes(*[a.shape for a in arrays])  # PyTorch looks at sizes first
        raise
    if found.category < dtypes.FLOATING and _becomes_float(op, layout):
        found = dtypes.get_default_dtype()
    return found.np


def _options(op: Op, layout: tuple[object, ...]) -> dict[str, object]:
    """The arguments that are no arrays."""
    return {
        p.name: entry.value
        for p, entry in zip(op.params, layout, strict=True)
        if isinstance(entry, Fixed)
    }


def _becomes_float(op: Op, layout: Row) -> bool:
    """Whether integers and bool are promoted to the default dtype."""
    if op.promote == UNLESS_ROUNDED:
        return all(
            entry.value is None
            for p, entry in zip(op.params, layout, strict=True)
            if p.name == "rounding_mode"
        )
    return op.promote == "float"


def put_into(
    cache: dict[Any, Any], key: tuple[object, ...], found: tuple[object, ...] | Call
) -> None:
    """Keeps something that belongs to shapes, of which a program may meet ever new ones: the older
    half goes when there are too many."""
    cache[key] = found
    if len(cache) > MANY:
        for old in list(cache)[: MANY // 2]:
            cache.pop(old, None)
