"""Products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from .kinds import FLOAT32, kind
from .rules import BYTE, CALL, Compute, Equation, nbytes, rule

if TYPE_CHECKING:
    from ...facts.kinds import Arguments, Operand
    from .recipes import Spec


#: Seconds for a multiplication and an addition: of float32 by BLAS, and of integers by NumPy's own
#: loops.
FLOP, SLOW_FLOP = 2e-11, 1e-9
#: Products of integers with more multiplications than this go through BLAS where float64 holds them
#: exactly.
_FEW = 4096
#: Matrices of so many elements are worth a call of BLAS each, where a copy would make them one.
_WORTH = 4096


def seconds(dtype: np.dtype, flops: float) -> float:
    """About how long a product takes."""
    dtype = np.dtype(dtype)
    k = kind(dtype)
    if k in "biu":
        return flops * (SLOW_FLOP if dtype.itemsize > 2 or k == "b" else 4 * FLOP)
    return flops * FLOP * {"f": dtype.itemsize // 4, "c": dtype.itemsize // 2}.get(k, 1)


def exact_in(a: np.dtype, b: np.dtype, k: int) -> np.dtype | None:
    """The floating-point dtype in which sums of ``k`` products of these integers are exact."""
    bits = sum([d.itemsize * 8 - (d.kind == "i") for d in (a, b)]) + math.ceil(math.log2(max(k, 1)))
    return FLOAT32 if bits <= 24 else np.dtype(np.float64) if bits <= 53 else None


def _dot_cost(e: Equation) -> float:
    a, b = e.ins
    (ca, _), (ba, _) = e.params["dimension_numbers"]
    flops = e.out.size * math.prod([a.shape[i] for i in ca])
    halves = sum([a.size for a in (*e.ins, e.out) if kind(a.dtype) == "h"])
    return (
        3 * CALL
        + BYTE * (nbytes((a, b)) + 8 * halves)
        + seconds(e.out.dtype, flops)
        + 1e-7 * math.prod([a.shape[i] for i in ba])
    )


def default_precision(precision: object) -> bool:
    """Whether XLA's CPU backend ignores this ``precision``."""
    return precision is None or all(
        isinstance(p, lax.Precision)
        for p in (precision if isinstance(precision, tuple) else (precision,))
    )


def even_in(dtype: np.dtype) -> bool:
    """Whether products of a dtype are BLAS's, which takes no longer for them than XLA's code: for
    large ones often less."""
    return np.dtype(dtype).kind in "fc" and np.dtype(dtype).itemsize > 2


def _dot_even(e: Equation) -> float:
    (ca, _), _ = e.params["dimension_numbers"]
    return (
        seconds(e.out.dtype, e.out.size * math.prod([e.ins[0].shape[i] for i in ca]))
        if even_in(e.out.dtype)
        else 0.0
    )


@rule("dot_general", cost=_dot_cost, even=_dot_even)
def _dot_general(e: Equation) -> Compute | None:
    a, b = e.ins
    p = e.params
    da, db, out = np.dtype(a.dtype), np.dtype(b.dtype), np.dtype(e.out.dtype)
    if not (kind(da) and kind(db) and kind(out)) or not default_precision(p["precision"]):
        return None
    contract = math.prod([a.shape[i] for i in p["dimension_numbers"][0][0]])
    if kind(da) in "biu" or kind(db) in "biu" or kind(out) in "biu":
        if not (kind(da) in "biu" and kind(db) in "biu"):
            return None
        through: Any = out
        if (
            e.out.size * contract > _FEW
            and kind(out) != "b"
            and (exact := exact_in(da, db, contract)) is not None
        ):
            through = exact
    else:
        through = np.result_type(*[FLOAT32 if kind(d) == "h" else d for d in (da, db, out)])
        if through.kind == "c" and out.kind != "c":
            return None
    product = contraction(a, b, p["dimension_numbers"], e.out.shape)
    casts = (da != through, db != through, out != through)
    return cast_around(product, casts, through, out)


def cast_around(
    product: Compute, casts: tuple[bool, bool, bool], through: np.dtype, out: np.dtype
) -> Compute:
    """``product`` with its first, its second operand or its result cast where ``casts`` says so."""
    if not any(casts):
        return product
    first, second, last = casts
    back = _wrap(out) if through.kind == "f" and out.kind in "iu" else lambda x: x.astype(out)

    def compute(a: np.ndarray, b: np.ndarray) -> Operand:
        found = product(a.astype(through) if first else a, b.astype(through) if second else b)
        return back(found) if last else found

    return compute


def _wrap(out: np.dtype) -> Callable[..., object]:
    """From whole floating-point numbers to integers modulo their size."""
    return lambda x: x.astype(np.int64).astype(out)


def contraction(a: Spec, b: Spec, numbers: Arguments, shape: tuple[int, ...]) -> Compute:
    """What multiplies arrays with the shapes of ``a`` and ``b`` as ``dot_general`` does, in their
    common dtype."""
    (ca, cb), (ba, bb) = numbers
    ca, cb, ba, bb = tuple(ca), tuple(cb), tuple(ba), tuple(bb)
    fa = tuple([i for i in range(a.ndim) if i not in ca and i not in ba])
    fb = tuple([i for i in range(b.ndim) if i not in cb and i not in bb])
    if all(a.shape[i] == 1 for i in ca):
        return _outer(a, b, ba, bb, fa, fb)
    if not ba and a.ndim <= 2 and b.ndim <= 2 and len(ca) == 1:
        return _plain(a.ndim, ca[0], cb[0])
    if not ba and b.ndim == 2 and ca == (a.ndim - 2,) and math.prod(a.shape[-2:]) >= _WORTH:
        # (..., k, m) and (k, n), or (n, k): the matrices are taken the other way round as they lie.
        return lambda a, b: np.matmul(a.swapaxes(-1, -2), b if cb == (0,) else b.T)
    # The dimensions to sum over come in the order in which the larger operand has them.
    order = sorted(range(len(ca)), key=(ca if a.size >= b.size else cb).__getitem__)
    ca, cb = tuple([ca[i] for i in order]), tuple([cb[i] for i in order])
    batch = tuple([a.shape[i] for i in ba])
    left = _matrix(a, ba, fa, ca)
    right = _matrix(b, bb, cb, fb)
    natural = (
        *batch,
        *([math.prod([a.shape[i] for i in fa])] if fa else []),
        *([math.prod([b.shape[i] for i in fb])] if fb else []),
    )
    matmul = _matmul(bool(fa), bool(fb), bool(batch))
    return _steps(left, right, matmul, None if natural == shape else shape)


class Product:
    """``numpy.dot`` of two matrices or vectors, of which the first, the second or both are
    transposed before."""

    __slots__ = ("first", "second")

    def __init__(self, first: bool, second: bool) -> None:
        self.first, self.second = first, second

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Multiplies."""
        return np.dot(a.T if self.first else a, b.T if self.second else b)


def _plain(ndim: int, ca: int, cb: int) -> Compute:
    """Products of two matrices or vectors."""
    first, second = ca != ndim - 1, cb != 0  # (k, m) and (k, n); (m, k) and (n, k)
    return Product(first, second) if first or second else np.dot


def _outer(
    a: Spec,
    b: Spec,
    ba: tuple[int, ...],
    bb: tuple[int, ...],
    fa: tuple[int, ...],
    fb: tuple[int, ...],
) -> Compute:
    """Products without a sum; what there is to sum over has one element."""
    multiply = np.multiply
    sa = (*[a.shape[i] for i in (*ba, *fa)], *(1,) * len(fb))
    sb = (*[b.shape[i] for i in bb], *(1,) * len(fa), *[b.shape[i] for i in fb])
    pa, pb = [
        (*x, *y, *[i for i in range(n.ndim) if i not in (*x, *y)])
        for x, y, n in ((ba, fa, a), (bb, fb, b))
    ]
    if not a.ndim or not b.ndim:
        return multiply
    return lambda a, b: multiply(a.transpose(pa).reshape(sa), b.transpose(pb).reshape(sb))


def _matrix(
    a: Spec, batch: tuple[int, ...], rows: tuple[int, ...], columns: tuple[int, ...]
) -> Callable[[Any], Any] | None:
    """What makes an operand a stack of matrices; a vector where ``rows`` or ``columns`` are none.
    None where it is one already."""
    sizes = [math.prod([a.shape[i] for i in part]) for part in (rows, columns)]
    kept = [n for n, part in zip(sizes, (rows, columns), strict=True) if part]
    lead = tuple([a.shape[i] for i in batch])
    perm, swapped = (*batch, *rows, *columns), (*batch, *columns, *rows)
    shape = (*lead, *kept)
    plain = tuple(range(a.ndim))
    simple = tuple([a.shape[i] for i in perm]) == shape
    if perm == plain:
        return None if simple else lambda x: x.reshape(shape)
    if simple:
        return lambda x: x.transpose(perm)
    if swapped == plain and len(kept) == 2:
        # The other way round no data moves.
        other = (*lead, *kept[::-1])
        return lambda x: x.reshape(other).swapaxes(-1, -2)
    return lambda x: x.transpose(perm).reshape(shape)


def _matmul(rows: bool, columns: bool, batch: bool) -> Callable[[Any, Any], Any]:
    if not batch:
        return np.dot
    if rows and columns:
        return np.matmul
    if rows:
        return lambda a, b: np.matmul(a, b[..., None])[..., 0]
    if columns:
        return lambda a, b: np.matmul(a[..., None, :], b)[..., 0, :]
    return lambda a, b: np.matmul(a[..., None, :], b[..., None])[..., 0, 0]


def _steps(
    left: Callable[..., object] | None,
    right: Callable[..., object] | None,
    matmul: Any,
    shape: tuple[int, ...] | None,
) -> Compute:
    """``matmul`` of what ``left`` and ``right`` make of the operands, in ``shape``."""
    if shape is None:
        if left is None:
            return matmul if right is None else lambda a, b: matmul(a, right(b))
        return (
            (lambda a, b: matmul(left(a), b))
            if right is None
            else (lambda a, b: matmul(left(a), right(b)))
        )
    if left is None:
        return lambda a, b: matmul(a, b if right is None else right(b)).reshape(shape)
    return lambda a, b: matmul(left(a), b if right is None else right(b)).reshape(shape)
