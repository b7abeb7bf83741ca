"""Arguments of the right types and wrong values: what PyTorch refuses is refused, what it takes is
taken, and the results are its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

NAN = float("nan")

#: What is called, by the package.
CASES: dict[str, Callable[[Any], Any]] = {
    "abs_": lambda t: t.ones(2, dtype=t.complex64).abs_(),
    "absolute_": lambda t: t.ones(2, dtype=t.complex64).absolute_(),
    "abs_real": lambda t: t.tensor([-1.0, 2.0]).abs_(),
    "cosine_similarity": lambda t: t.nn.functional.cosine_similarity(
        t.ones(2, 3), t.ones(2, 3), eps=-1.0
    ),
    "cosine_similarity_nan": lambda t: t.nn.functional.cosine_similarity(
        t.ones(2, 3), t.ones(2, 3), eps=NAN
    ),
    "isclose": lambda t: t.isclose(t.ones(2), t.ones(2), rtol=NAN),
    "allclose": lambda t: t.allclose(t.ones(2), t.ones(2), atol=NAN),
    "huber_loss": lambda t: t.nn.functional.huber_loss(t.ones(2), t.ones(2), delta=NAN),
    "cdist": lambda t: t.cdist(t.ones(2, 3), t.ones(2, 3), p=NAN),
    "dist": lambda t: t.dist(t.tensor([True]), t.ones(1)),
    "cumulative_trapezoid": lambda t: t.cumulative_trapezoid(t.tensor([True, False]), t.ones(2)),
    "trapezoid": lambda t: t.trapezoid(t.ones(2), t.tensor([True, False])),
    "gaussian_nll_loss": lambda t: t.nn.functional.gaussian_nll_loss(
        t.tensor([True]), t.ones(1), t.ones(1)
    ),
    "tensor_split": lambda t: t.tensor_split(t.ones(2, 3), t.tensor([1], dtype=t.int32)),
    "unfold": lambda t: t.ones(3).unfold(0, -1, 1),
    "movedim": lambda t: t.movedim(t.tensor(1.0), 1, 1),
    "movedim_scalar": lambda t: t.movedim(t.tensor(1.0), 0, 0),
    "flatten": lambda t: t.flatten(t.tensor(1.0), 1),
    "soft_margin_loss": lambda t: t.nn.functional.soft_margin_loss(t.tensor(1.0), t.ones(5)),
    "soft_margin_loss_smaller": lambda t: t.nn.functional.soft_margin_loss(
        t.ones(5), t.tensor(1.0)
    ),
    "index_put": lambda t: t.index_put(t.ones(3), t.tensor([0]), t.ones(1)),
    "index_put_dims": lambda t: t.index_put(t.ones(2, 3), (t.tensor([0]),), t.ones(1, 1, 3)),
    "index_put_fits": lambda t: t.index_put(t.ones(2, 3), (t.tensor([0]),), t.zeros(3)),
    "cumsum": lambda t: t.cumsum(t.ones(2), 0, dtype=t.bool),
    "cumprod": lambda t: t.cumprod(t.ones(2), 0, dtype=t.bool),
    "fold": lambda t: t.nn.functional.fold(t.ones(1, 4, 9), [4], 2),
    "im2col": lambda t: t.nn.functional.unfold(t.ones(1, 1, 4, 4), 2, dilation=[1]),
    "pairwise_distance": lambda t: t.nn.functional.pairwise_distance(t.ones(2, 3), 1),
    "diff_of_order_0": lambda t: t.diff(t.ones(2, 3), 0, 9),
    "diff_prepended": lambda t: t.diff(t.ones(2, 3), 0, 9, prepend=t.ones(2, 3)),
    "instance_norm": lambda t: t.nn.functional.instance_norm(t.ones(2, 3, 4), t.ones(3), None),
    "native_batch_norm": lambda t: t.native_batch_norm(
        t.ones(2, 3), None, None, t.ones(3), None, True, 0.1, 1e-5
    ),
    "native_batch_norm_empty": lambda t: t.native_batch_norm(
        t.ones(0, 3), None, None, None, None, True, 0.1, 1e-5
    ),
    "adaptive_avg_pool2d": lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(1, 2, 4, 4), [2]),
    "adaptive_max_pool3d": lambda t: t.nn.functional.adaptive_max_pool3d(
        t.ones(1, 2, 4, 4, 4), (2,)
    ),
    "zeros_like": lambda t: t.zeros_like(t.ones(2), 1),
    "full_like": lambda t: t.full_like(t.ones(2), 1, t.int64),
    "nonzero": lambda t: t.nonzero(None),
    "argwhere": lambda t: t.argwhere(None),
    "amax": lambda t: t.ones(2, 3).amax(dim=None),
    "amin": lambda t: t.amin(t.ones(2, 3), None, True),
}


def _outcome(package: Any, call: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call(package)
            return found.tolist() if hasattr(found, "tolist") else found
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("name", CASES)
def test_values_are_taken_and_refused_alike(name: str) -> None:
    expected = _outcome(torch, CASES[name])
    assert _outcome(jtorch, CASES[name]) == (
        pytest.approx(expected, rel=1e-6) if isinstance(expected, float) else expected
    )


NUMBERS = [
    300,
    -1,
    -300,
    -200,
    2**40,
    2.5,
    -2.5,
    1e6,
    1e40,
    1e300,
    float("inf"),
    NAN,
    -1e9,
    True,
    1j,
]


def _writings(t: Any, dtype: str, value: Any) -> dict[str, Callable[[Any], Any]]:
    def assigned(index: Any) -> Any:
        x = t.zeros(3, dtype=getattr(t, dtype))
        x[index] = value
        return x

    new = {"dtype": getattr(t, dtype)}
    found = {
        "fill_": lambda _: t.zeros(2, **new).fill_(value),
        "item": lambda _: assigned(0),
        "slice": lambda _: assigned(slice(0, 2)),
        "mask": lambda _: assigned(t.tensor([True, False, True])),
        "masked_fill": lambda _: t.zeros(2, **new).masked_fill(t.tensor([True, False]), value),
        "index_fill": lambda _: t.zeros(2, **new).index_fill(0, t.tensor([1]), value),
        "full": lambda _: t.full((2,), value, **new),
    }
    if dtype in ("uint8", "int32"):
        found["pad"] = lambda _: t.nn.functional.pad(t.zeros(2, **new), (1, 1), value=value)
        found["threshold"] = lambda _: t.nn.functional.threshold(t.zeros(2, **new), 0.5, value)
    return found


@pytest.mark.parametrize(
    "dtype",
    ["uint8", "int8", "int32", "int64", "bool", "float16", "bfloat16", "float32", "float64"],
)
def test_numbers_that_a_dtype_cannot_hold_are_refused(dtype: str) -> None:
    for value in NUMBERS:
        mine, theirs = _writings(jtorch, dtype, value), _writings(torch, dtype, value)
        for name, call in mine.items():
            if name == "pad" and value == 1j:
                continue  # pad takes a float, by another check
            found, expected = _outcome(jtorch, call), _outcome(torch, theirs[name])
            assert repr(found) == repr(expected), (name, value)


def _written(t: Any) -> dict[str, Callable[[Any], Any]]:
    x = t.tensor([[1.0, -2.0], [0.0, 3.0]])
    return {
        "argmax": lambda o: t.argmax(x, out=o), "argmin": lambda o: t.argmin(x, 0, out=o),
        "isin": lambda o: t.isin(x, x, out=o), "all": lambda o: t.all(x, out=o),
        "any": lambda o: t.any(x, 0, out=o), "nonzero": lambda o: t.nonzero(x, out=o),
        "nonzero_static": lambda o: t.nonzero_static(x, size=2, out=o),
        "isneginf": lambda o: t.isneginf(x, out=o), "isposinf": lambda o: t.isposinf(x, out=o),
        "signbit": lambda o: t.signbit(x, out=o), "bitwise_not": lambda o: t.bitwise_not(x.long(),
            out=o), "clamp": lambda o: t.clamp(x, 0, out=o),
        "float_power": lambda o: t.float_power(x, 2, out=o),
        "histc": lambda o: t.histc(x, 4, out=o),
        "searchsorted": lambda o: t.searchsorted(t.tensor([0.0, 1.0]), x, out=o),
        "bucketize": lambda o: t.bucketize(x, t.tensor([0.0, 1.0]), out_int32=True, out=o),
    }  # fmt: skip


@pytest.mark.parametrize("name", _written(jtorch))
def test_results_of_other_types_are_refused_by_out(name: str) -> None:
    for dtype in ("float32", "float64", "int64", "int32", "uint8", "bool"):
        found, expected = (
            _outcome(t, lambda t, d=dtype: _written(t)[name](t.empty(0, dtype=getattr(t, d))))
            for t in (jtorch, torch)
        )
        assert found == expected, dtype


def test_positions_of_small_types_are_counted_in_int64() -> None:
    found, expected = (
        t.unravel_index(t.tensor([5, 200], dtype=t.uint8), (2, 300)) for t in (jtorch, torch)
    )
    assert [(x.tolist(), str(x.dtype)) for x in found] == [
        (x.tolist(), str(x.dtype)) for x in expected
    ]


def test_results_written_into_out_have_classes_of_their_own() -> None:
    for t in (torch, jtorch):
        found = t.sort(t.tensor([2.0, 1.0]), out=(t.empty(0), t.empty(0, dtype=t.int64)))
        assert type(found) is t.return_types.sort_out
        assert repr(found).startswith("torch.return_types.sort_out(\nvalues=tensor([1., 2.])")
    for name in ("linalg_lstsq", "linalg_ldl_factor_out", "max_out", "svd_out"):
        assert (
            getattr(jtorch.return_types, name).__name__
            == getattr(torch.return_types, name).__name__
        )
