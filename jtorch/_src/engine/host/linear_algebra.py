"""Factorisations and solvers, by the LAPACK that SciPy brings.

JAX needs SciPy for the same routines: what it compiles for the CPU calls them through pointers that
SciPy gives it. So the same routine with the same options and the same workspace, by which LAPACK
sets the size of its blocks, gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .direct import routine, where
from .rules import CALL, Compute, Equation, by_bytes, rule

if TYPE_CHECKING:
    from ...facts.kinds import Function, Operand, Row


#: Seconds for a call of LAPACK through SciPy, and for an operation of its.
_ROUTINE, _FLOP = 3e-6, 0.06e-9

#: For larger matrices LAPACK looks for eigenvalues by a method that may not come back from numbers
#: that are not finite.
_SMALL = 75

#: Computes for one matrix: gives its results.
_One = Callable[..., tuple[Any, ...]]


def _flops(weight: float) -> Callable[[Equation], float]:
    """The seconds of ``weight`` n³ operations for each matrix."""

    def cost(e: Equation) -> float:
        *batch, m, n = e.ins[0].shape
        return math.prod(batch) * weight * _FLOP * m * n * min(m, n)

    return cost


def _lapack(*names: str, weight: float, routines: int = 1) -> Function:
    """A rule by routines of LAPACK that take ``weight`` n³ operations for a matrix. Compiled
    programs call the same: large matrices are no reason to wait for a compiler."""
    flops = _flops(weight)

    def cost(e: Equation) -> float:
        return CALL + math.prod(e.ins[0].shape[:-2]) * routines * _ROUTINE + flops(e)

    return rule(*names, cost=cost, even=flops)


def _of_kind(real: str, hermitian: str, dtype: np.dtype) -> Any:
    """The routine that has another name for complex matrices."""
    return routine(hermitian if np.dtype(dtype).kind == "c" else real, dtype)


def _size(work: np.ndarray | float) -> int:
    """The size of the workspace that a routine asks for, from what it has answered."""
    return int(np.asarray(work).ravel()[0].real)


def _asked(routine: Any, dtype: np.dtype, *shapes: Sequence[int]) -> int:
    """The size of the workspace that a routine asks for when called with arrays of these shapes."""
    found = routine(*[np.zeros(shape, dtype, order="F") for shape in shapes], lwork=-1)
    return max(1, _size(found[-2]))


def _each(e: Equation, one: _One) -> Compute:
    """Computes ``one`` for each matrix of a batch."""
    if not any(a.size for a in e.outs):
        empty = [np.empty(a.shape, a.dtype) for a in e.outs]
        return lambda *_: list(empty)
    ndim = len(e.ins[0].shape) - 2
    if not ndim:
        return one
    count = math.prod(e.ins[0].shape[:ndim])
    parts = [((count, *a.shape[ndim:]), a.shape, a.dtype) for a in e.outs]
    ins = [(count, *a.shape[ndim:]) for a in e.ins]

    def each(*operands: np.ndarray) -> list[np.ndarray]:
        flat = [x.reshape(shape) for x, shape in zip(operands, ins, strict=True)]
        found = [np.empty(flat_shape, dtype) for flat_shape, _, dtype in parts]
        for i in range(count):
            for stack, x in zip(found, one(*[x[i] for x in flat]), strict=True):
                stack[i] = x
        return [stack.reshape(shape) for stack, (_, shape, _) in zip(found, parts, strict=True)]

    return each


def _only(compute: Compute) -> Compute:
    """For primitives with a single result."""
    return lambda *operands: compute(*operands)[0]


def _nans(e: Equation) -> tuple[np.ndarray, ...]:
    """The results for a matrix with which LAPACK has failed."""
    ndim = len(e.ins[0].shape) - 2
    found = []
    for a in e.outs:
        x = np.empty(a.shape[ndim:], a.dtype)
        x.fill(complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan)
        x.flags.writeable = False
        found.append(x)
    return tuple(found)


@_lapack("cholesky", weight=0.33)
def _cholesky(e: Equation) -> Compute | None:
    potrf, failed = routine("potrf", e.out.dtype), _nans(e)
    if potrf is None:
        return None

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        factor, info = potrf(a, lower=1, clean=0)
        return failed if info else (factor,)

    return _only(_each(e, one))


@rule("cholesky_update", weight=16)
def _cholesky_update(e: Equation) -> Compute | None:
    n = e.out.shape[-1]
    if e.out.dtype.char not in "fd":
        return None

    def update(factor: Operand, vector: Operand) -> np.ndarray:
        factor, unit = np.array(factor), factor.dtype.type(1)
        for k in range(n):
            x, y = factor[k, k], vector[k]
            if y == 0:
                continue
            larger = np.maximum(np.abs(x), np.abs(y))
            x, y = x / larger, y / larger
            scale = unit / np.sqrt(x * x + y * y)
            c, s = x * scale, -y * scale
            row = factor[k].copy()
            factor[k] = c * row - s * vector
            vector = c * vector + s * row
        return factor

    return update


@rule("symmetric_product", cost=lambda e: CALL + _flops(1)(e))
def _symmetric_product(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype.char not in "fd":
        return None
    alpha, beta = dtype.type(e.params["alpha"]), dtype.type(e.params["beta"])
    return lambda a, c: alpha * np.matmul(a, a.swapaxes(-1, -2)) + beta * c


@_lapack("lu", weight=0.67)
def _lu(e: Equation) -> Compute | None:
    getrf, rows = routine("getrf", e.outs[0].dtype), e.ins[0].shape[-2]
    if getrf is None:
        return None
    if not e.ins[0].size:
        unmoved = [np.empty(e.outs[0].shape, e.outs[0].dtype), np.empty(e.outs[1].shape, np.int32)]
        unmoved.append(np.broadcast_to(np.arange(rows, dtype=np.int32), e.outs[2].shape))
        return lambda _: list(unmoved)

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        # SciPy counts pivots from 0, as JAX does; singular is no failure
        factors, pivots, _ = getrf(a)
        return factors, pivots, _permutation(pivots, rows)

    return _each(e, one)


def _permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    """Where rows come from that are interchanged one after the other. Pivots that are no rows count
    as the nearest: checks refuse them."""
    rows = list(range(size))
    # one by one anyway: ``np.clip`` takes as long as a small factorisation
    for i, j in enumerate(pivots.tolist()):
        if not 0 <= j < size:
            j = min(max(j, 0), size - 1)
        if i != j:
            rows[i], rows[j] = rows[j], rows[i]
    return np.array(rows, np.int32)


@rule("lu_pivots_to_permutation", weight=64)
def _lu_pivots_to_permutation(e: Equation) -> Compute | None:
    shape, size = e.out.shape, e.params["permutation_size"]

    def convert(pivots: Any) -> np.ndarray:
        flat = pivots.reshape(math.prod(shape[:-1]), pivots.shape[-1])
        found = np.empty((len(flat), size), np.int32)
        for i, row in enumerate(flat):
            found[i] = _permutation(row, size)
        return found.reshape(shape)

    return convert


def _flops_of_triangular(e: Equation) -> float:
    *batch, m, n = e.ins[1].shape
    return math.prod(batch) * _FLOP * m * n * e.ins[0].shape[-1]


def _cost_of_triangular(e: Equation) -> float:
    return CALL + math.prod(e.ins[1].shape[:-2]) * _ROUTINE + _flops_of_triangular(e)


@rule("triangular_solve", cost=_cost_of_triangular, even=_flops_of_triangular)
def _triangular_solve(e: Equation) -> Compute | None:
    trsm, p = routine("trsm", e.out.dtype), e.params
    if trsm is None:
        return None
    conjugated = p["conjugate_a"] and not p["transpose_a"]
    transposed = 0 if not p["transpose_a"] else 2 if p["conjugate_a"] else 1
    side, lower, unit = int(not p["left_side"]), int(p["lower"]), int(p["unit_diagonal"])

    def one(a: np.ndarray, b: np.ndarray) -> tuple[Operand, ...]:
        return (trsm(1.0, np.conj(a) if conjugated else a, b, side, lower, transposed, unit),)

    return _only(_each(e, one))


def _eye(aval: Any) -> np.ndarray:
    """Batches of matrices that are one on their diagonal."""
    return np.broadcast_to(np.eye(*aval.shape[-2:], dtype=aval.dtype), aval.shape)


@_lapack("geqrf", weight=1.33)
def _geqrf(e: Equation) -> Compute | None:
    factor = _householder(e)
    return None if factor is None else _each(e, factor)


def _householder(e: Equation) -> _One | None:
    """Gives the reflectors and their factors of one matrix."""
    m, n = e.ins[0].shape[-2:]
    geqrf = routine("geqrf", e.ins[0].dtype)
    if geqrf is None:
        return None
    room = _asked(geqrf, e.ins[0].dtype, (m, n)) if m and n else 1

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        packed, taus, _, _ = geqrf(a, lwork=room)
        return packed, taus

    return one


def _product(dtype: np.dtype, m: int, n: int, k: int) -> Callable[[Any, Any], Any] | None:
    """Multiplies k reflectors out to the first n columns of their product."""
    orgqr = _of_kind("orgqr", "ungqr", dtype)
    if orgqr is None:
        return None
    if not k:
        return lambda *_: np.eye(m, n, dtype=dtype)
    room = _asked(orgqr, dtype, (m, n), (k,))
    return lambda a, taus: orgqr(a, taus, lwork=room)[0]


@_lapack("householder_product", weight=1.33)
def _householder_product(e: Equation) -> Compute | None:
    m, n = e.out.shape[-2:]
    multiply = _product(e.out.dtype, m, n, e.ins[1].shape[-1])
    return None if multiply is None else _only(_each(e, lambda a, taus: (multiply(a, taus),)))


@_lapack("ormqr", weight=2)
def _ormqr(e: Equation) -> Compute | None:
    ormqr, transposed = _of_kind("ormqr", "unmqr", e.out.dtype), e.params["transpose"]
    if ormqr is None:
        return None
    side, k = "L" if e.params["left"] else "R", e.ins[1].shape[-1]
    if not k or not e.out.size:
        return lambda *operands: operands[2]
    how = "N" if not transposed else "C" if e.out.dtype.kind == "c" else "T"
    shapes = [a.shape[-2:] for a in (e.ins[0], e.ins[2])]
    a, c = [np.zeros(shape, e.out.dtype, order="F") for shape in shapes]
    room = max(1, _size(ormqr(side, how, a[:, :k], np.zeros(k, a.dtype), c, -1)[1]))
    return _only(_each(e, lambda a, taus, c: (ormqr(side, how, a[:, :k], taus, c, room)[0],)))


@_lapack("qr", weight=2.67, routines=3)
def _qr(e: Equation) -> Compute | None:
    m, n = e.ins[0].shape[-2:]
    dtype, pivoting = e.ins[0].dtype, e.params["pivoting"]
    k = e.outs[0].shape[-1]
    if not m or not n:
        empty = [_eye(e.outs[0]), *[np.zeros(a.shape, a.dtype) for a in e.outs[1:]]]
        return lambda _: list(empty)
    factor = _pivoted(dtype, m, n) if pivoting else _householder(e)
    multiply = _product(dtype, m, k, min(m, n))
    if factor is None or multiply is None:
        return None
    upper, zero = ~np.tri(k, n, -1, dtype=np.bool_), np.zeros((), dtype)

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        packed, taus, *places = factor(a)
        reflectors = packed[:, :k]
        if k > n:
            reflectors = np.zeros((m, k), dtype, order="F")
            reflectors[:, :n] = packed
        return multiply(reflectors, taus), where(upper, packed[:k], zero), *places

    return _each(e, one)


def _pivoted(dtype: np.dtype, m: int, n: int) -> _One | None:
    """As ``_householder``, with the columns in the order of their norms."""
    geqp3 = routine("geqp3", dtype)
    if geqp3 is None:
        return None
    room = _asked(geqp3, dtype, (m, n))

    def one(a: np.ndarray) -> Row:
        packed, places, taus, _, _ = geqp3(a, lwork=room)
        return packed, taus, places - np.int32(1)

    return one


@_lapack("eigh", weight=9)
def _eigh(e: Equation) -> Compute | None:
    n, p = e.ins[0].shape[-1], e.params
    evd, failed = _of_kind("syevd", "heevd", e.ins[0].dtype), _nans(e)
    if (
        evd is None
        or _name(p["algorithm"]) not in (None, "QR")
        or p["subset_by_index"] not in (None, (0, n))
    ):
        return None
    lower = int(p["lower"])

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        values, vectors, info = evd(a, compute_v=1, lower=lower)
        return failed if info else (vectors, values)

    return _each(e, one)


def _name(algorithm: object) -> str | None:
    """What an algorithm is called; None where JAX chooses."""
    return getattr(algorithm, "name", None)


@_lapack("svd", weight=20)
def _svd(e: Equation) -> Compute | None:
    m, n = e.ins[0].shape[-2:]
    p = e.params
    driver = {None: "gesdd", "DEFAULT": "gesdd", "DIVIDE_AND_CONQUER": "gesdd", "QR": "gesvd"}.get(
        _name(p["algorithm"])
    )
    if driver is None or p["subset_by_index"] not in (None, (0, min(m, n))):
        return None
    decompose, asked, failed = (
        routine(driver, e.ins[0].dtype),
        routine(driver + "_lwork", e.ins[0].dtype),
        _nans(e),
    )
    if decompose is None:
        return None
    if not m or not n:
        # JAX gives one square matrix of the larger size where both should be square.
        empty = [_eye(a) if i else np.zeros(a.shape, a.dtype) for i, a in enumerate(e.outs)]
        return lambda _: list(empty)
    vectors, full = int(p["compute_uv"]), int(bool(p["full_matrices"]))
    room = _size(asked(m, n, compute_uv=vectors, full_matrices=full)[0])

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        u, s, vt, info = decompose(a, compute_uv=vectors, full_matrices=full, lwork=room)
        if info:
            return failed
        return (s, u, vt) if vectors else (s,)

    return _each(e, one)


@_lapack("eig", weight=25)
def _eig(e: Equation) -> Compute | None:
    n, dtype, p = e.ins[0].shape[-1], e.ins[0].dtype, e.params
    geev, asked, failed = routine("geev", dtype), routine("geev_lwork", dtype), _nans(e)
    if geev is None or _name(p["implementation"]) not in (None, "LAPACK"):
        return None
    left, right = int(p["compute_left_eigenvectors"]), int(p["compute_right_eigenvectors"])
    real, result = dtype.kind != "c", e.outs[0].dtype
    room = _size(asked(n, compute_vl=left, compute_vr=right)[0]) if n else 1

    def one(a: np.ndarray) -> tuple[Operand, ...]:
        # JAX's, too, does not ask LAPACK, which may not come back from these
        if not np.isfinite(a).all():
            return failed
        *values, vl, vr, info = geev(a, compute_vl=left, compute_vr=right, lwork=room)
        if info:
            return failed
        found = [x for x, wanted in ((vl, left), (vr, right)) if wanted]
        if not real:
            return values[0], *found
        w = np.empty(n, result)
        w.real, w.imag = values
        return w, *[_unpacked(x, values[1], result) for x in found]

    return _each(e, one)


def _unpacked(vectors: np.ndarray, imaginary: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The eigenvectors of a real matrix: of conjugate pairs LAPACK gives the real parts, then the
    imaginary ones."""
    found = vectors.astype(dtype)
    first = np.flatnonzero(imaginary > 0)
    found.real[:, first + 1] = vectors[:, first]
    found.imag[:, first] = vectors[:, first + 1]
    found.imag[:, first + 1] = -vectors[:, first + 1]
    return found


@_lapack("schur", weight=15)
def _schur(e: Equation) -> Compute | None:
    n, p = e.ins[0].shape[-1], e.params
    gees, failed = routine("gees", e.ins[0].dtype), _nans(e)
    if gees is None or p["sort_eig_vals"]:
        return None
    vectors = int(p["compute_schur_vectors"])

    def select(*eigenvalue: object) -> None:
        """Is not called where eigenvalues are not sorted."""

    room = (
        _size(
            gees(select, np.zeros((n, n), e.ins[0].dtype, order="F"), compute_v=vectors, lwork=-1)[
                -2
            ]
        )
        if n
        else 1
    )

    def one(a: np.ndarray) -> Row:
        if n > _SMALL and not np.isfinite(a).all():
            return failed
        found = gees(select, a, compute_v=vectors, lwork=room)
        return failed if found[-1] else (found[0], found[-3]) if vectors else (found[0],)

    return _each(e, one)


@_lapack("hessenberg", weight=3.33)
def _hessenberg(e: Equation) -> Compute | None:
    n, dtype = e.ins[0].shape[-1], e.ins[0].dtype
    gehrd, asked, failed = routine("gehrd", dtype), routine("gehrd_lwork", dtype), _nans(e)
    if gehrd is None:
        return None
    if n <= 1:
        no_factors = np.zeros(e.outs[1].shape, dtype)
        return lambda a: [a, no_factors]
    room = _size(asked(n, 0, n - 1)[0])

    def one(a: np.ndarray) -> Row:
        packed, taus, info = gehrd(a, lo=0, hi=n - 1, lwork=room)
        return failed if info else (packed, taus)

    return _each(e, one)


@_lapack("tridiagonal", weight=1.33)
def _tridiagonal(e: Equation) -> Compute | None:
    n, dtype = e.ins[0].shape[-1], e.ins[0].dtype
    trd, asked, failed = (
        _of_kind("sytrd", "hetrd", dtype),
        _of_kind("sytrd_lwork", "hetrd_lwork", dtype),
        _nans(e),
    )
    if trd is None:
        return None
    lower = int(e.params["lower"])
    room = _size(asked(n, lower=lower)[0])

    def one(a: np.ndarray) -> Row:
        packed, d, off, taus, info = trd(a, lower=lower, lwork=room)
        return failed if info else (packed, d, off, taus)

    return _each(e, one)


@rule("tridiagonal_solve", cost=by_bytes(16))
def _tridiagonal_solve(e: Equation) -> Compute | None:
    gtsv = routine("gtsv", e.out.dtype)
    if gtsv is None or e.params["perturb_singular"] or e.out.shape[-2] < 2:
        return None
    shape, n = e.out.shape, e.out.shape[-2]
    count = math.prod(shape[:-2])
    failed = np.full(
        shape[-2:], complex(np.nan, np.nan) if e.out.dtype.kind == "c" else np.nan, e.out.dtype
    )

    def solve(below: Any, diagonal: Any, above: Any, b: np.ndarray) -> np.ndarray:
        lines = [x.reshape(count, n) for x in (below, diagonal, above)]
        sides = b.reshape(count, *shape[-2:])
        found = np.empty(sides.shape, sides.dtype)
        for i in range(count):
            *_, x, info = gtsv(lines[0][i, 1:], lines[1][i], lines[2][i, :-1], sides[i])
            found[i] = failed if info else x
        return found.reshape(shape)

    return solve
