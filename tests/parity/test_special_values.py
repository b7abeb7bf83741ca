"""Special values and mixed dtypes: what ``logit`` and ``ldexp`` give at their edges, and the dtypes of results of several operands."""

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
            t.logit(t.tensor(values, dtype=getattr(t, dtype)), eps).double().numpy() for t in (jtorch, torch)
        )
        rtol = {"float16": 2e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
        np.testing.assert_allclose(found, expected, rtol, err_msg=f"{dtype}, eps={eps}")


def test_the_power_of_ldexp_may_be_beyond_the_range() -> None:
    x, n = [0.0, 1e-300, 1.0, -3.0, 1e300, INF, NAN, 1.7e308], [2000, 1500, 1023, -1000, -1500, -9999, 3, -1]
    found, expected = (t.ldexp(t.tensor(x, dtype=t.float64), t.tensor(n)).numpy() for t in (jtorch, torch))
    np.testing.assert_array_equal(found, expected)
    found, expected = (t.ldexp(t.tensor([1e-30, 0.0, 3.0, 1.0]), t.tensor([200, 300, -100, 128])).numpy() for t in (jtorch, torch))
    np.testing.assert_array_equal(found, expected)
    found, expected = (t.ldexp(t.tensor([3.0, 1.0], dtype=t.float16), t.tensor([-20, 20])).float().numpy() for t in (jtorch, torch))
    np.testing.assert_array_equal(found, expected)
    found, expected = (t.ldexp(t.tensor([1.0, 0.0, INF, NAN]), t.tensor([NAN, INF, -INF, 1.0])).numpy() for t in (jtorch, torch))
    np.testing.assert_array_equal(found, expected)


#: Functions of two operands; ``f`` is the functional namespace of the library ``t``.
MIXED = """f.mse_loss(x, y) | f.l1_loss(x, y) | f.smooth_l1_loss(x, y) | f.huber_loss(x, y) | f.hinge_embedding_loss(x, y) | t.kron(x, y)
f.cosine_similarity(x, y, 0) | t.inner(x, y) | f.mse_loss(x, x, weight=y) | f.huber_loss(x, x, weight=y)"""


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
            assert _kind(jtorch, call, kinds, scalar) == _kind(torch, call, kinds, scalar), (kinds, scalar)
