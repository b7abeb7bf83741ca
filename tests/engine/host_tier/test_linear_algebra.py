"""The LAPACK of SciPy gives the same bits as the LAPACK that XLA's programs call."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtorch._src.engine.host import Unstaged, stage

from .agreement import compare

la = jax.lax.linalg
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
#: Large enough for LAPACK to work in blocks.
LARGE = (70, 70)

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)


def random(dtype: Any, *shape: int) -> np.ndarray:
    """Normally distributed numbers."""
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def positive(a: np.ndarray) -> np.ndarray:
    """Matrices that are positive definite."""
    return a @ np.conj(a).swapaxes(-1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


def with_nan(a: np.ndarray) -> np.ndarray:
    """The batch, and its first matrix with a NaN."""
    bad = a[:1].copy()
    bad[0, 0, -1] = np.nan
    return np.concatenate([a, bad])


def over_all(fns: Any, *cases: tuple[np.ndarray, ...]) -> None:
    """Compares what each of the functions gives for each of the cases, in some dtypes only for the
    first.

    Each is a program by itself: JAX has a call of LAPACK wait for work that it hands to the threads
    which run the calls, so that a program with as many independent calls as threads may wait for
    ever.
    """
    few = cases[0][0].dtype in (np.float64, np.complex64)
    for fn in [fns] if callable(fns) else fns:
        for case in cases[: 1 if few else None]:
            compare(fn, *case)


@each_dtype
def test_cholesky(dtype: Any) -> None:
    batch = np.concatenate([positive(random(dtype, 2, 5, 5))] * 2)
    batch[1, 2, 2] = -1
    batch[2] += np.triu(random(dtype, 5, 5), 1)  # what stands above the diagonal is not looked at
    shapes = (LARGE, (1, 1), (3, 0, 0), (0, 4, 4))
    over_all(
        functools.partial(la.cholesky, symmetrize_input=False),
        (with_nan(batch).swapaxes(-1, -2),),
        (with_nan(batch),),
        *[(positive(random(dtype, *shape)),) for shape in shapes],
    )


@each_dtype
def test_lu(dtype: Any) -> None:
    batch = random(dtype, 3, 5, 5)
    batch[0] = 0
    batch[1, :, 2] = batch[1, :, 1]
    shapes = (LARGE, (2, 5, 3), (3, 5), (1, 1), (3, 0, 0), (0, 4, 4), (4, 0), (0, 4))
    over_all(la.lu, (with_nan(batch),), *[(random(dtype, *shape),) for shape in shapes])


def test_permutations_of_pivots() -> None:
    pivots = np.array([[2, 1, 3], [0, 2, 4]], np.int32)
    over_all(
        lambda p: la.lu_pivots_to_permutation(p, 5),
        (pivots,),
        (pivots[0],),
        (pivots[:0],),
        (pivots[:, :0],),
    )


@each_dtype
def test_qr(dtype: Any) -> None:
    def reflectors(a: jax.Array) -> Any:
        return jnp.linalg.qr(a, mode="raw") if a.size else a

    shapes = ((2, 5, 3), (3, 5), (70, 40), (4, 0))
    kinds = [{"full_matrices": False}, {"full_matrices": True}, {"pivoting": True}]
    fns = [reflectors, *[functools.partial(la.qr, **options) for options in kinds]]
    over_all(
        fns, (with_nan(random(dtype, 1, 4, 4)),), *[(random(dtype, *shape),) for shape in shapes]
    )


@each_dtype
def test_products_of_reflectors(dtype: Any) -> None:
    cases = []
    for shape, k in (((2, 5, 3), 3), ((5, 5), 2), ((4, 3), 0)):
        *batch, m, _ = shape
        cases.append(
            (
                random(dtype, *shape),
                random(dtype, *batch, k),
                random(dtype, *batch, 2, m),
                random(dtype, *batch, m, 2),
            )
        )

    def fns(left: bool, transpose: bool) -> Any:
        return lambda a, taus, *c: (
            la.ormqr(a, taus, c[left], left=left, transpose=transpose) if taus.size else a
        )

    options = itertools.product((False, True), repeat=2)
    over_all(
        [lambda a, taus, *_: la.householder_product(a, taus), *[fns(*each) for each in options]],
        *cases,
    )


@each_dtype
def test_triangular_solves(dtype: Any) -> None:
    def operands(*shape: int) -> tuple[np.ndarray, ...]:
        return (
            random(dtype, *shape),
            random(dtype, *shape[:-2], 3, shape[-1]),
            random(dtype, *shape[:-1], 3),
        )

    def fn(
        left_side: bool, lower: bool, transposed: bool, conjugated: bool, unit: bool = False
    ) -> Any:
        options = {
            "lower": lower,
            "transpose_a": transposed,
            "conjugate_a": conjugated,
            "unit_diagonal": unit,
        }
        return lambda a, *b: la.triangular_solve(a, b[left_side], left_side=left_side, **options)

    ordinary = operands(2, 5, 5)
    ordinary[0][1, 2, 2] = 0
    over_all([fn(*each) for each in itertools.product((False, True), repeat=4)], ordinary)
    a, left, right = operands(2, 3, 3)
    some = [fn(False, True, False, True, True), fn(True, False, True, False, True)]
    over_all(some, ordinary, operands(40, 40), operands(0, 4, 4), (a, left[:, :0], right[..., :0]))


@each_dtype
def test_spectra_of_symmetric_matrices(dtype: Any) -> None:
    fns = [
        functools.partial(la.eigh, lower=lower, symmetrize_input=False) for lower in (False, True)
    ]
    # Only the triangle that was named is looked at.
    over_all(
        fns,
        (with_nan(random(dtype, 2, 4, 4)),),
        *[(positive(random(dtype, *s)),) for s in (LARGE, (1, 1), (3, 0, 0))],
    )


@each_dtype
def test_singular_values(dtype: Any) -> None:
    def by_qr(a: jax.Array) -> Any:
        return la.svd(a, algorithm=la.SvdAlgorithm.QR) if 0 < a.size < 99 else a

    batch = with_nan(random(dtype, 2, 4, 4))
    batch[0] = 0
    kinds = [{"full_matrices": True}, {"full_matrices": False}, {"compute_uv": False}]
    fns = [by_qr, *[functools.partial(la.svd, **options) for options in kinds]]
    over_all(
        fns,
        (batch,),
        *[(random(dtype, *shape),) for shape in ((2, 5, 3), (3, 5), (70, 40), (2, 0, 4))],
    )


@each_dtype
def test_spectra(dtype: Any) -> None:
    values = functools.partial(
        la.eig, compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )
    batch = random(dtype, 2, 3, 3)
    batch[0] = [[0, -1, 0], [1, 0, 0], [0, 0, 2]]  # eigenvalues without real parts
    fns = [la.eig, values, la.schur, functools.partial(la.schur, compute_schur_vectors=False)]
    over_all(
        fns,
        (with_nan(batch),),
        *[(random(dtype, *shape),) for shape in ((40, 40), (1, 1), (3, 0, 0))],
    )


@each_dtype
def test_reductions_to_bands(dtype: Any) -> None:
    fns = [
        la.hessenberg,
        *[functools.partial(la.tridiagonal, lower=lower) for lower in (False, True)],
    ]
    over_all(
        fns,
        (with_nan(random(dtype, 2, 5, 5)),),
        *[(random(dtype, *shape),) for shape in ((40, 40), (1, 1), (0, 4, 4))],
    )


@each_dtype
def test_tridiagonal_solves(dtype: Any) -> None:
    cases = []
    for shape in ((2, 3), (4,), (0, 3)):
        below, diagonal, above = random(dtype, 3, *shape)
        cases.append((below, diagonal + 3, above, random(dtype, *shape, 2)))
    zero = np.zeros((2, 3), dtype)
    over_all(la.tridiagonal_solve, *cases, (zero, zero, zero, random(dtype, 2, 3, 2)))


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=lambda d: d.__name__)
def test_updates(dtype: Any) -> None:
    r, w, a, c = (
        np.triu(random(dtype, 4, 4)),
        random(dtype, 4),
        random(dtype, 2, 4, 3),
        random(dtype, 2, 4, 4),
    )
    w[2] = 0

    def fn(r: jax.Array, w: jax.Array, a: jax.Array, c: jax.Array) -> Any:
        return (
            la.cholesky_update(r, w),
            la.cholesky_update(r, w * 0),
            la.symmetric_product(a, c, alpha=2.0, beta=0.5),
        )

    # XLA fuses multiplications and additions in these; they call no routine.
    found = stage(jax.make_jaxpr(fn)(r, w, a, c))(r, w, a, c)
    for g, x in zip(found, jax.jit(fn)(r, w, a, c), strict=True):
        assert (g.dtype, g.shape) == (x.dtype, x.shape)
        np.testing.assert_allclose(g, x, rtol=0, atol=8 * np.finfo(dtype).eps)


def test_halves_and_other_algorithms_are_left_to_the_compiler() -> None:
    half = np.ones((2, 2), np.float16)
    with pytest.raises(Unstaged, match="triangular_solve"):
        stage(jax.make_jaxpr(lambda a: la.triangular_solve(a, a))(half))
    with pytest.raises(Unstaged, match="eigh"):
        stage(
            jax.make_jaxpr(lambda a: la.eigh(a, implementation=la.EighImplementation.JACOBI))(
                np.ones((2, 2))
            )
        )
