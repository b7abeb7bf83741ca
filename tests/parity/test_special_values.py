"""Special values and mixed dtypes: what ``logit`` and ``ldexp`` give at their edges, and the dtypes
of results of several operands."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_logit_clamps_by_bounds_in_the_dtype(dtype: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, NAN, INF, -INF]
    for eps in (None, 0.0, 0.1, 1e-6, 0.5, 0.6, 1.0, NAN, -0.1):
        found, expected = (
            t.logit(t.tensor(values, dtype=getattr(t, dtype)), eps).double().numpy()
            for t in (jtorch, torch)
        )
        rtol = {"float16": 2e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
        np.testing.assert_allclose(found, expected, rtol, err_msg=f"{dtype}, eps={eps}")


def test_the_power_of_ldexp_may_be_beyond_the_range() -> None:
    x, n = (
        [0.0, 1e-300, 1.0, -3.0, 1e300, INF, NAN, 1.7e308],
        [2000, 1500, 1023, -1000, -1500, -9999, 3, -1],
    )
    found, expected = (
        t.ldexp(t.tensor(x, dtype=t.float64), t.tensor(n)).numpy() for t in (jtorch, torch)
    )
    np.testing.assert_array_equal(found, expected)
    found, expected = (
        t.ldexp(t.tensor([1e-30, 0.0, 3.0, 1.0]), t.tensor([200, 300, -100, 128])).numpy()
        for t in (jtorch, torch)
    )
    np.testing.assert_array_equal(found, expected)
    found, expected = (
        t.ldexp(t.tensor([3.0, 1.0], dtype=t.float16), t.tensor([-20, 20])).float().numpy()
        for t in (jtorch, torch)
    )
    np.testing.assert_array_equal(found, expected)
    found, expected = (
        t.ldexp(t.tensor([1.0, 0.0, INF, NAN]), t.tensor([NAN, INF, -INF, 1.0])).numpy()
        for t in (jtorch, torch)
    )
    np.testing.assert_array_equal(found, expected)


#: Functions of two operands; ``f`` is the functional namespace of the library ``t``.
MIXED = """f.mse_loss(x, y) | f.l1_loss(x, y) | f.smooth_l1_loss(x, y) | f.huber_loss(x, y)
f.hinge_embedding_loss(x, y) | t.kron(x, y)
f.cosine_similarity(x, y, 0) | t.inner(x, y) | f.mse_loss(x, x, weight=y)
f.huber_loss(x, x, weight=y)"""


def _kind(t: Any, call: str, kinds: tuple[str, str], scalar: int) -> Any:
    x, y = (t.tensor([0.25, 0.5, 1.0]).to(getattr(t, kind)) for kind in kinds)
    x, y = (x[0] if scalar == 0 else x), (y[0] if scalar == 1 else y)
    try:
        return str(eval(call, {"t": t, "f": t.nn.functional, "x": x, "y": y}).dtype)
    except Exception as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("call", [call.strip() for call in MIXED.replace("\n", "|").split("|")])
def test_results_of_mixed_dtypes(call: str) -> None:
    for kinds in itertools.product(["float16", "float32", "float64", "int64"], repeat=2):
        for scalar in (0, 1, 2):  # the first operand without dimensions, the second, or none
            assert _kind(jtorch, call, kinds, scalar) == _kind(torch, call, kinds, scalar), (
                kinds,
                scalar,
            )


#: Parts of numbers; every pair of them is one.
PARTS = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -2.5]
COMPLEX = "exp sinh cosh tanh sin cos tan sqrt log log2 log10 abs".split()


def _alike(x: Any, y: Any, rtol: float) -> Any:
    """Where parts are equal, are both NaN, or both zero: C leaves the signs of some zeros open."""
    if np.iscomplexobj(x):
        return _alike(x.real, y.real, rtol) & _alike(x.imag, y.imag, rtol)
    with np.errstate(invalid="ignore"):
        return (np.isnan(x) & np.isnan(y)) | (x == y) | (np.abs(x - y) <= rtol * np.abs(y) + 1e-12)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_at_infinities_and_nan(name: str) -> None:
    for dtype, rtol in (("complex64", 3e-5), ("complex128", 1e-10)):
        z = np.array([complex(a, b) for a in PARTS for b in PARTS], dtype)
        found = getattr(jtorch, name)(jtorch.tensor(z)).numpy()
        given = torch.from_numpy(z)
        whole = getattr(torch, name)(given).numpy()
        alone = np.array(
            [getattr(torch, name)(given[i : i + 1].clone()).numpy()[0] for i in range(z.size)]
        )
        # torch computes rows of numbers by other formulas than single ones; where the two differ,
        # either will do.
        right = _alike(found, whole, rtol) | _alike(found, alone, rtol)
        assert right.all(), (dtype, [(z[i], found[i], whole[i]) for i in np.flatnonzero(~right)])


def test_branch_cuts_of_the_square_root_lie_where_the_sign_of_zero_says() -> None:
    assert jtorch.sqrt(jtorch.tensor([complex(-4, -0.0), complex(-4, 0.0)])).tolist() == [-2j, 2j]


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives_on_the_real_line(name: str) -> None:
    def derivatives(t: Any) -> list[Any]:
        z = t.tensor([0.5 + 0j, 2.0 + 0j, 0.5 + 1j], dtype=t.complex128, requires_grad=True)
        found = getattr(t, name)(z)
        first = t.autograd.grad(
            (found.real * 2 + found.imag if found.is_complex() else found).sum(),
            z,
            create_graph=True,
        )[0]
        second = t.autograd.grad((first.real + first.imag * 3).sum(), z)[0]
        return [first.detach().resolve_conj().numpy(), second.resolve_conj().numpy()]

    for mine, its in zip(derivatives(jtorch), derivatives(torch), strict=True):
        np.testing.assert_allclose(mine, its, 1e-9, 1e-12)
