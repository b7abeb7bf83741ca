"""Linear algebra: factors that multiply back, equations that hold, and the errors of operands that
cannot be solved."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops.linalg_solve import solve

R = np.random.RandomState(0)
SQUARE, TALL, WIDE = (torch.tensor(R.randn(*s)) for s in ((2, 4, 4), (2, 5, 3), (2, 3, 5)))
POSITIVE = SQUARE @ SQUARE.mT + torch.eye(4, dtype=torch.float64)
COMPLEX = torch.tensor(R.randn(3, 3) + 1j * R.randn(3, 3))


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-9, 1e-10)


@pytest.mark.parametrize("a", [TALL, WIDE, SQUARE, COMPLEX])
def test_factors_multiply_back(a: torch.Tensor) -> None:
    for full in (False, True):
        u, s, vh = torch.linalg.svd(a, full_matrices=full)
        k = s.shape[-1]
        close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
        close(torch.linalg.svdvals(a), s)
    for mode in ("reduced", "complete"):
        q, r = torch.linalg.qr(a, mode)
        close(q @ r, a)
        close(q.mH @ q, torch.eye(q.shape[-1], dtype=a.dtype).expand(*a.shape[:-2], -1, -1))
    p, lower, upper = torch.linalg.lu(a)
    close(p @ lower @ upper, a)
    x = torch.linalg.pinv(a)
    close(a @ x @ a, a)
    close(x @ a @ x, x)


def test_cholesky() -> None:
    lower, upper = torch.linalg.cholesky(POSITIVE), torch.linalg.cholesky(POSITIVE, upper=True)
    close(lower @ lower.mT, POSITIVE)
    close(upper.mT @ upper, POSITIVE)
    close(
        POSITIVE @ torch.cholesky_inverse(lower), torch.eye(4, dtype=torch.float64).expand(2, 4, 4)
    )
    close(POSITIVE @ torch.cholesky_solve(SQUARE, upper, upper=True), SQUARE)
    half = POSITIVE.clone()
    half[..., 0, 3] = 99.0  # the other triangle is not read
    close(torch.linalg.cholesky(half), lower)
    x = POSITIVE.clone().requires_grad_()
    torch.linalg.cholesky(x)[..., 2, 1].sum().backward()
    close(x.grad, x.grad.mT)


def test_eigenvalues() -> None:
    values, vectors = torch.linalg.eigh(POSITIVE)
    close(POSITIVE @ vectors, vectors * values.unsqueeze(-2))
    close(torch.linalg.eigvalsh(POSITIVE), values)
    found = torch.linalg.eig(SQUARE)
    close(
        SQUARE.to(torch.complex128) @ found.eigenvectors,
        found.eigenvectors * found.eigenvalues.unsqueeze(-2),
    )
    assert found.eigenvalues.dtype is torch.complex128


def test_solutions() -> None:
    b = torch.tensor(R.randn(4, 3))
    close(SQUARE @ torch.linalg.solve(SQUARE, b), b.expand(2, 4, 3))
    close(torch.linalg.solve(SQUARE, b.T, left=False) @ SQUARE, b.T.expand(2, 3, 4))
    close(SQUARE @ torch.linalg.inv(SQUARE), torch.eye(4, dtype=torch.float64).expand(2, 4, 4))
    lu, pivots = torch.linalg.lu_factor(SQUARE)
    assert pivots.dtype is torch.int32
    assert pivots.min().item() >= 1
    close(SQUARE @ torch.linalg.lu_solve(lu, pivots, b), b.expand(2, 4, 3))
    close(SQUARE.mT @ torch.linalg.lu_solve(lu, pivots, b, adjoint=True), b.expand(2, 4, 3))
    close(torch.linalg.lu_solve(lu, pivots, b.T, left=False) @ SQUARE, b.T.expand(2, 3, 4))
    close(
        torch.linalg.matrix_power(SQUARE, -2) @ SQUARE @ SQUARE,
        torch.eye(4, dtype=torch.float64).expand(2, 4, 4),
    )


def test_least_squares() -> None:
    b = torch.tensor(R.randn(2, 5, 1))
    found = torch.linalg.lstsq(TALL, b, driver="gelsd")
    normal = TALL.mT @ (TALL @ found.solution - b)
    close(normal, torch.zeros_like(normal))
    assert found.rank.tolist() == [3, 3]
    close(found.residuals, (TALL @ found.solution - b).square().sum(-2))
    assert torch.linalg.lstsq(TALL, b).singular_values.shape == (0,)


def test_views_of_solutions() -> None:
    solution = torch.linalg.lstsq(
        torch.eye(2).mul(0.5), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    ).solution
    assert solution.stride() == (1, 2)
    np.testing.assert_allclose(solution.t().numpy(), [[2, 8], [4, 10], [6, 12]], rtol=1e-5)
    np.testing.assert_allclose(solution[1].numpy(), [8, 10, 12], rtol=1e-5)


def test_determinants() -> None:
    sign, logarithm = torch.linalg.slogdet(SQUARE)
    close(sign * logarithm.exp(), torch.linalg.det(SQUARE))
    assert torch.logdet(-torch.eye(3)).isnan()
    assert torch.linalg.det(torch.ones(2, 2)).item() == 0


def test_norms() -> None:
    a = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    found = [
        torch.linalg.matrix_norm(a, o).item() for o in ("fro", 1, -1, float("inf"), -float("inf"))
    ]
    assert found == pytest.approx([30**0.5, 6, 4, 7, 3])
    s = torch.linalg.svdvals(a)
    assert [torch.linalg.matrix_norm(a, o).item() for o in ("nuc", 2, -2)] == pytest.approx(
        [s.sum().item(), s[0].item(), s[1].item()]
    )
    assert torch.linalg.cond(torch.zeros(2, 2), 1).item() == float("inf")
    assert torch.linalg.matrix_rank(torch.ones(3, 3)).item() == 1


@pytest.mark.parametrize("a", [TALL, WIDE])
def test_gradient_of_the_singular_values_is_orthogonal(a: torch.Tensor) -> None:
    """The sum of the singular values grows along U @ Vh, also where some are equal."""
    x = a.clone().requires_grad_()
    torch.linalg.svdvals(x).sum().backward()
    u, _, vh = torch.linalg.svd(a, full_matrices=False)
    close(x.grad, u @ vh)
    same = torch.eye(3, dtype=torch.float64).requires_grad_()
    torch.linalg.matrix_norm(same, "nuc").backward()
    close(same.grad, torch.eye(3, dtype=torch.float64))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: torch.linalg.svd(a, full_matrices=False)[0].abs(),
        lambda a: torch.linalg.svd(a)[1],
        lambda a: torch.linalg.qr(a)[0],
        torch.linalg.pinv,
        lambda a: torch.linalg.eigh(a @ a.mT)[1].abs(),
        lambda a: torch.linalg.eig(a @ a.mT + torch.diag(torch.arange(a.shape[0])))[0].abs(),
        lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(a.shape[0])),
        lambda a: torch.linalg.inv(a @ a.mT + torch.eye(a.shape[0])),
        lambda a: torch.linalg.det(a @ a.mT),
    ],
)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_gradients_by_differences(function, shape: tuple[int, int]) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        r = np.random.RandomState(3)
        a, direction = r.randn(*shape), r.randn(*shape)
        if shape[0] > shape[1]:
            a, direction = (
                x.T.copy() if function(torch.tensor(x)).ndim == 0 else x for x in (a, direction)
            )
        x = torch.tensor(a, requires_grad=True)
        y = function(x)
        weights = torch.tensor(r.randn(*y.shape))
        (y * weights).sum().backward()
        up, down = (
            (function(torch.tensor(a + e * direction)) * weights).sum().item()
            for e in (1e-6, -1e-6)
        )
        assert (x.grad.numpy() * direction).sum() == pytest.approx(
            (up - down) / 2e-6, rel=2e-5, abs=1e-7
        )
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.linalg.inv(torch.zeros(2, 2)),
            "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed",
        ),
        (
            lambda: torch.linalg.inv(torch.stack([torch.eye(2), torch.ones(2, 2)])),
            "(Batch element 1): The diagonal element 2 is zero",
        ),
        (
            lambda: torch.linalg.solve(torch.zeros(2, 2), torch.ones(2)),
            "torch.linalg.solve: The solver failed because the input matrix is",
        ),
        (
            lambda: torch.linalg.cholesky(torch.diag(torch.tensor([1.0, -1.0]))),
            "(the leading minor of order 2 is not positive-definite)",
        ),
        (
            lambda: torch.linalg.svdvals(torch.full((2, 2), float("nan"))),
            "contained non-finite values",
        ),
    ],
)
def test_values_that_cannot_be_solved(call, text: str) -> None:
    with pytest.raises(torch.linalg.LinAlgError) as caught:
        call().tolist()
    assert text in str(caught.value)


def test_ex_variants_report_instead() -> None:
    singular = torch.stack([torch.eye(2), torch.ones(2, 2)])
    assert torch.linalg.inv_ex(singular).info.tolist() == [0, 2]
    assert torch.linalg.lu_factor_ex(singular).info.tolist() == [0, 2]
    assert torch.linalg.cholesky_ex(-torch.eye(2)).info.item() == 1
    assert torch.linalg.cholesky_ex(torch.eye(2)).info.item() == 0


def test_ldl_multiplies_back() -> None:
    b = torch.tensor(R.randn(2, 4, 1))
    found = torch.linalg.ldl_factor(POSITIVE)
    close(POSITIVE @ torch.linalg.ldl_solve(found.LD, found.pivots, b), b)


def test_householder() -> None:
    packed, tau = torch.geqrf(TALL)
    q = torch.linalg.householder_product(packed, tau)
    close(q @ packed.triu()[..., :3, :], TALL)
    close(torch.ormqr(packed, tau, packed.triu()), TALL)
    close(torch.ormqr(packed, tau, TALL, transpose=True), packed.triu())


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda a: torch.cholesky_solve(a, a),
            NotImplementedError,
            "\"cholesky_solve_cpu\" not implemented for 'Long'",
        ),
        (
            lambda a: torch.triangular_solve(a, a),
            NotImplementedError,
            "\"triangular_solve_cpu\" not implemented for 'Long'",
        ),
        (
            lambda a: torch.linalg.householder_product(a, a[0]),
            NotImplementedError,
            "\"orgqr_cpu\" not implemented for 'Long'",
        ),
        (torch.linalg.lu_factor, NotImplementedError, "\"lu_cpu\" not implemented for 'Long'"),
        (
            lambda a: torch.linalg.svd(a.half()),
            NotImplementedError,
            "\"linalg_svd_cpu\" not implemented for 'Half'",
        ),
        (torch.linalg.eig, RuntimeError, "Unknown Complex ScalarType for Long"),
        (
            torch.linalg.matrix_rank,
            RuntimeError,
            "This function doesn't handle types other than float and double",
        ),
        (
            lambda a: torch.triangular_solve(a.float(), a.double()),
            RuntimeError,
            "Expected b and A to have the same dtype",
        ),
    ],
)
def test_refused_dtypes(call, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call(torch.eye(2, dtype=torch.int64))
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("name", ["rcond", "atol", "rtol"])
def test_bounds_of_singular_values_are_real(name):
    with pytest.raises(
        RuntimeError,
        match=f"linalg.pinv: {name} tensor of complex type is not supported. Got ComplexFloat",
    ):
        torch.linalg.pinv(torch.eye(2), **{name: torch.tensor(1j)})
    with pytest.raises(RuntimeError, match=r"linalg\.matrix_rank: atol tensor of complex type"):
        torch.linalg.matrix_rank(torch.eye(2), tol=torch.tensor(1j))


def test_what_the_results_of_tensor_equations_are_written_into():
    a = torch.eye(6).reshape(2, 3, 2, 3)
    for name, call in (("tensorsolve", lambda out: torch.linalg.tensorsolve(a, torch.ones(2, 3),
        out=out)),
                       ("tensorinv", lambda out: torch.linalg.tensorinv(a, out=out)),
                       ("matrix_power", lambda out: torch.linalg.matrix_power(torch.eye(2), 2,
                           out=out))):  # fmt: skip
        with pytest.raises(
            RuntimeError, match=f"{name}: Expected result to be safely castable from Float dtype"
        ):
            call(torch.empty(2, 3, dtype=torch.int32))
    sums = torch.ones(1, 2)
    torch._compute_linear_combination(torch.ones(3, 2), torch.ones(1, 3), out=sums)
    assert sums.tolist() == [[4.0, 4.0]]


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2)])
def test_exponentials_of_large_matrices_keep_the_digits_of_single_precision(
    shape: tuple[int, ...],
) -> None:
    a = torch.tensor([[3.0, 15.0], [21.0, 6.0]]).expand(shape)
    np.testing.assert_allclose(
        torch.linalg.matrix_exp(a).numpy(), torch.linalg.matrix_exp(a.double()).numpy(), 3e-6
    )
    z = a.to(torch.complex64) * (0.5 + 0.5j)
    np.testing.assert_allclose(
        torch.linalg.matrix_exp(z).numpy(),
        torch.linalg.matrix_exp(z.to(torch.complex128)).numpy(),
        3e-5,
    )


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_ex_leaves_what_could_be_factored(upper: bool) -> None:
    """Trust-region methods go on with it. What PyTorch gives for this matrix."""
    bad = torch.tensor([[4.0, 2.0, 6.0], [2.0, -3.0, 5.0], [6.0, 5.0, 20.0]])
    good = torch.eye(3) * 4
    factors, info = torch.linalg.cholesky_ex(torch.stack([bad, good]), upper=upper)
    assert info.tolist() == [2, 0]
    first = factors[0].mT if upper else factors[0]
    assert first.tolist() == [[2.0, 0.0, 0.0], [1.0, -4.0, 0.0], [3.0, 5.0, 20.0]]
    assert torch.equal(factors[1], torch.eye(3) * 2)


@pytest.mark.parametrize("left", [True, False])
def test_one_factorisation_serves_a_system_its_flaws_and_a_batch_of_right_sides(left: bool) -> None:
    a, b = SQUARE[0].numpy(), R.randn(2, 4, 4)
    program = jax.make_jaxpr(lambda a, b: solve(a, b, left=left))(a, b)
    (factors,) = [line for line in str(program).splitlines() if "= lu" in line]
    assert "2,4,4" not in factors

    def both(ways: list[np.ndarray]) -> list[np.ndarray]:
        x = solve(ways[0], ways[1], left=left)
        return jax.numpy.matmul(ways[0], x) if left else jax.numpy.matmul(x, ways[0])

    # A X is B whatever A is, also in second derivatives and in transposed systems
    rows = jax.jit(jax.jacrev(jax.jacfwd(both)))([a, b])
    assert all(abs(x).max() < 1e-8 for pair in rows for x in pair)


def test_a_matrix_without_an_inverse_is_told_of_without_right_sides() -> None:
    zeros = torch.zeros(2, 2)
    for left, none in ((True, torch.ones(2, 0)), (False, torch.ones(0, 2))):
        assert torch.linalg.solve_ex(zeros, none, left=left).info == 1
        with pytest.raises(torch.linalg.LinAlgError, match="input matrix is singular"):
            torch.linalg.solve(zeros, none, left=left)
    result, info = torch.linalg.solve_ex(zeros, torch.ones(0, 2, 3))
    assert result.shape == (0, 2, 3)
    assert info == 1
