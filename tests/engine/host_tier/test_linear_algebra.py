"""The LAPACK of SciPy gives the same bits as the LAPACK that XLA's programs call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jtorch.engine.host import Unstaged, stage

from .agreement import compare

# JAX gives these names to few of its own primitives.
la = jax.lax.linalg
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
#: A single matrix, a batch, matrices of one element and empty ones, and one large enough for LAPACK to work in blocks.
SQUARES = ((3, 3), (2, 5, 5), (1, 1), (3, 0, 0), (0, 4, 4), (70, 70))
RECTANGLES = ((2, 5, 3), (3, 5), (2, 40, 70), (70, 40))

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)


def random(dtype: Any, *shape: int) -> np.ndarray:
    """Normally distributed numbers."""
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def positive(a: np.ndarray) -> np.ndarray:
    """Matrices that are positive definite."""
    return a @ np.conj(a).swapaxes(-1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


def broken(a: np.ndarray) -> np.ndarray:
    """The same with a NaN in the last matrix."""
    a = a.copy()
    a.reshape(-1, *a.shape[-2:])[-1:, :1, -1:] = np.nan
    return a


def over_all(fn: Callable[..., Any], *cases: tuple[np.ndarray, ...]) -> None:
    """Compares what ``fn`` gives for each of the cases; one program for all."""
    counts = [len(case) for case in cases]

    def every(*operands: jax.Array) -> Any:
        found, start = [], 0
        for n in counts:
            found.append(fn(*operands[start : start + n]))
            start += n
        return found

    compare(every, *[x for case in cases for x in case])


@each_dtype
def test_cholesky(dtype: Any) -> None:
    matrices = [positive(random(dtype, *shape)) for shape in SQUARES]
    indefinite = matrices[1].copy()
    indefinite[1, 2, 2] = -1
    # What stands above the diagonal is not looked at.
    skewed = matrices[0] + np.triu(random(dtype, 3, 3), 1)
    over_all(lambda a: la.cholesky(a, symmetrize_input=False), *[(a,) for a in (*matrices, indefinite, skewed, broken(matrices[1]))])


@each_dtype
def test_lu(dtype: Any) -> None:
    singular = np.zeros((2, 4, 4), dtype)
    singular[1, 0, 2] = 1
    matrices = [random(dtype, *shape) for shape in (*SQUARES, *RECTANGLES, (4, 0), (0, 4))]
    over_all(la.lu, *[(a,) for a in (*matrices, singular, broken(matrices[1]))])


def test_permutations_of_pivots() -> None:
    pivots = np.array([[2, 1, 3], [0, 2, 4]], np.int32)
    over_all(lambda p: la.lu_pivots_to_permutation(p, 5), (pivots,), (pivots[0],), (pivots[:0],), (pivots[:, :0],))


@each_dtype
def test_qr(dtype: Any) -> None:
    matrices = [random(dtype, *shape) for shape in (*SQUARES, *RECTANGLES, (4, 0), (0, 4))]

    def fn(a: jax.Array) -> Any:
        thin, full = la.qr(a, full_matrices=False), la.qr(a, full_matrices=True)
        return thin, full, la.qr(a, pivoting=True, full_matrices=False), *([jnp.linalg.qr(a, mode="raw")] if a.size else [])

    over_all(fn, *[(a,) for a in (*matrices, broken(matrices[1]))])


@each_dtype
def test_products_of_reflectors(dtype: Any) -> None:
    cases = []
    for shape, k in (((2, 5, 3), 3), ((5, 5), 2), ((4, 3), 0), ((70, 40), 40)):
        *batch, m, _ = shape
        cases.append((random(dtype, *shape), random(dtype, *batch, k), random(dtype, *batch, m, 2), random(dtype, *batch, 2, m)))

    def fn(a: jax.Array, taus: jax.Array, right: jax.Array, left: jax.Array) -> Any:
        if not taus.size:  # which XLA's cannot apply
            return la.householder_product(a, taus)
        applied = [la.ormqr(a, taus, right, transpose=t) for t in (False, True)]
        return la.householder_product(a, taus), *applied, *[la.ormqr(a, taus, left, left=False, transpose=t) for t in (False, True)]

    over_all(fn, *cases)


@each_dtype
def test_triangular_solves(dtype: Any) -> None:
    shapes = ((3, 3), (2, 5, 5), (1, 1), (0, 4, 4), (40, 40))
    cases = [(random(dtype, *s), random(dtype, *s[:-1], 3), random(dtype, *s[:-2], 3, s[-1])) for s in shapes]
    singular, empty = np.triu(random(dtype, 3, 3), 1), random(dtype, 2, 3, 0)
    cases += [(singular, *cases[0][1:]), (random(dtype, 2, 3, 3), empty, empty.reshape(2, 0, 3))]

    def fn(a: jax.Array, right: jax.Array, left: jax.Array) -> Any:
        options = [
            dict(lower=lower, transpose_a=transposed, conjugate_a=conjugated, unit_diagonal=lower != transposed)
            for lower in (False, True)
            for transposed in (False, True)
            for conjugated in (False, True)
        ]
        solved = [la.triangular_solve(a, right, left_side=True, **o) for o in options]
        return solved, [la.triangular_solve(a, left, left_side=False, **o) for o in options]

    over_all(fn, *cases)


@each_dtype
def test_spectra_of_symmetric_matrices(dtype: Any) -> None:
    matrices = [positive(random(dtype, *shape)) for shape in SQUARES]

    def fn(a: jax.Array) -> Any:
        return [la.eigh(a, lower=lower, symmetrize_input=False) for lower in (False, True)]

    # Only the triangle that was named is looked at.
    over_all(fn, *[(a,) for a in (*matrices, random(dtype, 3, 4, 4), broken(matrices[1]))])


@each_dtype
def test_singular_values(dtype: Any) -> None:
    matrices = [random(dtype, *shape) for shape in (*SQUARES[:-1], *RECTANGLES, (4, 0), (2, 0, 4))]

    def fn(a: jax.Array) -> Any:
        with_qr = la.svd(a, algorithm=la.SvdAlgorithm.QR) if 0 < a.size < 99 else ()
        return la.svd(a, full_matrices=True), la.svd(a, full_matrices=False), la.svd(a, compute_uv=False), with_qr

    over_all(fn, *[(a,) for a in (*matrices, np.zeros((3, 3), dtype), broken(matrices[1]))])


@each_dtype
def test_spectra(dtype: Any) -> None:
    matrices = [random(dtype, *shape) for shape in (*SQUARES[:-1], (40, 40))]

    def fn(a: jax.Array) -> Any:
        values = la.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
        return la.eig(a), values, la.schur(a), la.schur(a, compute_schur_vectors=False)

    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 2]], dtype)  # eigenvalues without real parts
    over_all(fn, *[(a,) for a in (*matrices, turned, broken(matrices[1]))])


@each_dtype
def test_reductions_to_bands(dtype: Any) -> None:
    matrices = [random(dtype, *shape) for shape in ((3, 3), (2, 5, 5), (1, 1), (0, 4, 4), (40, 40))]

    def fn(a: jax.Array) -> Any:
        return la.hessenberg(a), la.tridiagonal(a, lower=True), la.tridiagonal(a, lower=False)

    over_all(fn, *[(a,) for a in (*matrices, broken(matrices[1]))])


@each_dtype
def test_tridiagonal_solves(dtype: Any) -> None:
    cases = []
    for shape in ((4,), (2, 3), (2, 1), (0, 3)):
        below, diagonal, above = random(dtype, 3, *shape)
        cases.append((below, diagonal + 3, above, random(dtype, *shape, 2)))
    zero = np.zeros((2, 3), dtype)
    over_all(la.tridiagonal_solve, *cases, (zero, zero, zero, random(dtype, 2, 3, 2)))


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=lambda d: d.__name__)
def test_updates(dtype: Any) -> None:
    r, w, a, c = np.triu(random(dtype, 4, 4)), random(dtype, 4), random(dtype, 2, 4, 3), random(dtype, 2, 4, 4)
    w[2] = 0

    def fn(r: jax.Array, w: jax.Array, a: jax.Array, c: jax.Array) -> Any:
        return la.cholesky_update(r, w), la.cholesky_update(r, w * 0), la.symmetric_product(a, c, alpha=2.0, beta=0.5)

    # XLA fuses multiplications and additions in these; they call no routine.
    found = stage(jax.make_jaxpr(fn)(r, w, a, c))(r, w, a, c)
    for g, x in zip(found, jax.jit(fn)(r, w, a, c), strict=True):
        assert (g.dtype, g.shape) == (x.dtype, x.shape)
        np.testing.assert_allclose(g, x, rtol=0, atol=8 * np.finfo(dtype).eps)


def test_what_solves_and_gradients_of_them_need() -> None:
    a, b = random(np.float64, 2, 4, 4), random(np.float64, 2, 4, 3)

    def fn(a: jax.Array, b: jax.Array) -> Any:
        l = jnp.tril(la.cholesky(a @ a.swapaxes(-1, -2)))
        return lax.linalg.triangular_solve(l, b, left_side=True, lower=True)

    try:
        compare(fn, a, b, ulp=64)
    except Unstaged:
        pytest.skip("products have no rules yet")


def test_halves_and_other_algorithms_are_left_to_the_compiler() -> None:
    half = np.ones((2, 2), np.float16)
    with pytest.raises(Unstaged, match="triangular_solve"):
        stage(jax.make_jaxpr(lambda a: la.triangular_solve(a, a))(half))
    with pytest.raises(Unstaged, match="eigh"):
        stage(jax.make_jaxpr(lambda a: la.eigh(a, implementation=la.EighImplementation.JACOBI))(np.ones((2, 2))))
