"""Reductions, scans, sorts and counts give PyTorch's values, dtypes, shapes, gradients and
errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

nan, inf = float("nan"), float("inf")
_X = np.random.RandomState(0).randn(4, 5)
_T = np.random.RandomState(1).randint(-3, 4, (4, 5)).astype(np.float64)  # many ties and zeros
_N = np.where(np.random.RandomState(2).rand(4, 5) < 0.3, nan, _X)
_I = np.random.RandomState(3).randint(-9, 9, (4, 5))
_U = np.random.RandomState(4).randint(0, 9, (4, 5)).astype(np.uint8)

VALUES = """
{x}.sum()
{x}.sum(0, True)
{x}.sum((0, 1))
t.nansum({x}, 1)
{x}.prod()
{x}.prod(1)
{x}.amax(0)
{x}.amin()
t.aminmax({x}, dim=1)
{x}.max()
{x}.min(1, True)
{x}.argmax()
{x}.argmin(0)
{x}.all(0)
{x}.any()
t.count_nonzero({x}, 1)
{x}.cumsum(0)
{x}.cumprod(1)
{x}.cummax(1)
{x}.cummin(0)
{x}.diff(n=2)
{x}.sort(dim=1, stable=True)
{x}.sort(dim=0, descending=True, stable=True)
t.argsort({x}, dim=1, stable=True)
t.msort({x})
{x}.topk(2).values
{x}.topk(3, 0, False).values
{x}.kthvalue(2).values
{x}.median()
{x}.median(1).values
{x}.nanmedian()
{x}.mode()
t.unique({x}, return_inverse=True, return_counts=True)
t.unique_consecutive({x})
t.isin({x}, {x}[0])
t.searchsorted({x}.sort(1).values, {x})
t.bucketize({x}, t.tensor([-1, 0, 2]))
t.trapezoid({x})
t.logsumexp({x}, 0)
""".strip().splitlines()

FLOATS = """
{x}.mean()
{x}.mean(1, dtype=t.float64)
t.nanmean({x}, 0)
{x}.std()
{x}.var(0, correction=2)
t.std_mean({x}, 1, False)
t.var_mean({x}, correction=0)
t.softmax({x}, 1)
t.log_softmax({x}, 0)
t.logcumsumexp({x}, 1)
t.linalg.vector_norm({x}, 3, 1)
{x}.norm(0.5)
{x}.norm(-inf, 0)
t.dist({x}, {x}[0], 1)
t.quantile({x}, 0.3, 1)
t.nanquantile({x}, t.tensor([0.0, 0.4, 1.0]).to({x}.dtype), 0, keepdim=True)
t.quantile({x}, 0.7, interpolation="nearest")
t.histogram({x}, 4, range=(-2.0, 2.0))
t.cumulative_trapezoid({x}, {x})
""".strip().splitlines()

GRADIENTS = """
{x}.sum(1)
{x}.mean()
{x}.prod()
{x}.prod(0)
{x}.amax(1)
{x}.amin()
t.aminmax({x}, dim=0)[0]
{x}.max()
{x}.max(0).values
{x}.min(1).values
{x}.std(1)
{x}.var()
t.std_mean({x}, 0)[1]
{x}.cumsum(1)
{x}.cumprod(0)
{x}.cummax(1).values
t.logcumsumexp({x}, 0)
t.logsumexp({x}, (0, 1))
t.softmax({x}, 0)
t.log_softmax({x}, 1)
{x}.sort(dim=0, stable=True).values
t.msort({x})
{x}.diff()
t.trapezoid({x}, {x} * 2)
t.quantile({x}, 0.3, 1)
{x}.median()
t.linalg.vector_norm({x}, 2, 0)
t.linalg.vector_norm({x}, 0.5)
t.linalg.vector_norm({x}, 1, 1)
t.linalg.vector_norm({x}, inf, 1)
t.linalg.vector_norm({x}, 3)
t.dist({x}, {x}[0].detach(), 3)
""".strip().splitlines()

ERRORS = """
t.arange(3).mean()
t.ones(3).mean(dtype=t.int64)
t.ones(3, 3).sum(5)
t.ones(3, 3).sum((0, -2))
t.ones(0, 3).amax(0)
t.ones(0, 3).amin()
t.aminmax(t.ones(0, 3))
t.ones(0).max()
t.ones(0, 3).min(0)
t.ones(0).argmax()
t.tensor([1j]).max()
t.tensor([1j]).argmax()
t.tensor([True]).argmin()
t.tensor([1j]).amax()
t.nansum(t.tensor([1j]))
t.arange(3).std()
t.var_mean(t.arange(3))
t.ones(0, 3).median(0)
t.tensor([True]).median()
t.ones(3).kthvalue(4)
t.tensor([1j]).mode()
t.quantile(t.arange(3), 0.5)
t.quantile(t.arange(3.0), 1.5)
t.quantile(t.arange(3.0), t.tensor([[0.5]]))
t.quantile(t.arange(3.0), 0.5, interpolation="foo")
t.linalg.vector_norm(t.ones(0, 3), inf)
t.linalg.vector_norm(t.arange(3))
t.linalg.vector_norm(t.ones(3).double(), dtype=t.float32)
t.dist(t.arange(3), t.arange(3))
t.softmax(t.arange(3), 0)
t.softmax(t.ones(3), 2)
t.softmax(t.ones(3), None)
t.logcumsumexp(t.arange(3), 0)
t.tensor([1j]).cummax(0)
t.tensor(1.0).diff()
t.ones(2, 3).diff(prepend=t.ones(3, 3))
t.trapezoid(t.arange(4.0), t.arange(5.0))
t.trapezoid(t.tensor([True, False]))
t.tensor([1j]).sort()
t.ones(3).topk(4)
t.searchsorted(t.ones(3), 2, side="left", right=True)
t.searchsorted(t.ones(2, 3), t.ones(3, 2))
t.bucketize(t.ones(2), t.ones(2, 2))
t.unique(t.ones(0, 3), dim=1)
t.histc(t.ones(3), 0)
t.bincount(t.tensor([-1]))
t.histogram(t.ones(3), 2, range=(3.0, 1.0))
t.histogramdd(t.ones(5, 2), [2])
t.isin(t.tensor([True]), t.tensor([True]))
""".strip().splitlines()


def _evaluate(t: Any, call: str, x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call.format(x="x"), {"t": t, "x": x, "inf": inf})


def _compare(ours: Any, theirs: Any, rtol: float, atol: float) -> None:
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            _compare(a, b, rtol, atol)
        return
    assert str(ours.dtype) == str(theirs.dtype)
    a, b = (
        v.detach().float() if "16" in str(v.dtype) and v.dtype.is_floating_point else v.detach()
        for v in (ours, theirs)
    )
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=atol)


INPUTS = {
    "float32": (_X, "float32"), "float64": (_X, "float64"), "ties": (_T, "float32"),
    "nan": (_N, "float32"), "bfloat16": (_T, "bfloat16"), "int64": (_I, "int64"),
    "uint8": (_U, "uint8"),
}  # fmt: skip


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("call", VALUES + FLOATS)
def test_values(call: str, kind: str) -> None:
    data, dtype = INPUTS[kind]
    if call in FLOATS and dtype in ("int64", "uint8", "bfloat16"):
        pytest.skip("of floating-point numbers of full precision")
    theirs, ours = (t.tensor(data).to(getattr(t, dtype)) for t in (torch, jtorch))
    if kind == "nan" and any(name in call for name in ("topk", "searchsorted", "unique(")):
        pytest.skip("PyTorch leaves the order open")
    try:
        expected = _evaluate(torch, call, theirs)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        with pytest.raises(type(error)):
            _evaluate(jtorch, call, ours)
        return
    tolerance = {"float64": 1e-12, "bfloat16": 1e-2}.get(dtype, 2e-6)
    _compare(_evaluate(jtorch, call, ours), expected, tolerance, tolerance)


@pytest.mark.parametrize("data", [_X, _T, np.abs(_T)], ids=["distinct", "ties", "zeros"])
@pytest.mark.parametrize("call", GRADIENTS)
def test_gradients(call: str, data: np.ndarray) -> None:
    found = []
    for t in (torch, jtorch):
        x = t.tensor(data, requires_grad=True)
        y = _evaluate(t, call, x)
        weight = t.tensor(np.random.RandomState(5).randn(*y.shape))
        (y * weight).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call: str) -> None:
    found = []
    for t in (torch, jtorch):
        with pytest.raises(Exception) as caught:
            _evaluate(t, call, None)
        found.append((caught.type, str(caught.value).splitlines()[0].split(" (in ")[0]))
    assert found[1] == found[0]
