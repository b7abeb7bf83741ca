"""Numbers that the dtype of a call cannot hold: PyTorch's values, or its type of error and
words."""

from __future__ import annotations

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity

NUMBERS = (-2.5, -1.0, 300.0, 70000, 65520.0, 3e9, 1e30, 1e39, float("inf"), float("nan"))
DTYPES = ("float16", "bfloat16", "float32", "uint8", "int32")


def _matrices(T, d):
    return T.ones(2, 2, dtype=d)


CALLS = {
    "addcmul": lambda T, x, v: T.addcmul(x, x, x, value=v),
    "addcmul_": lambda T, x, v: x.clone().addcmul_(x, x, value=v),
    "addcmul small": lambda T, x, v: T.addcmul(x, x, x * 0, value=v),
    "addcdiv": lambda T, x, v: T.addcdiv(x, x, x, value=v),
    "addmm alpha": lambda T, x, v: T.addmm(
        _matrices(T, x.dtype), _matrices(T, x.dtype), _matrices(T, x.dtype), alpha=v
    ),
    "addmm beta": lambda T, x, v: T.addmm(
        _matrices(T, x.dtype), _matrices(T, x.dtype), _matrices(T, x.dtype), beta=v
    ),
    "addmv alpha": lambda T, x, v: T.addmv(x, _matrices(T, x.dtype), x, alpha=v),
    "addbmm": lambda T, x, v: T.addbmm(
        _matrices(T, x.dtype), _matrices(T, x.dtype)[None], _matrices(T, x.dtype)[None], alpha=v
    ),
    "baddbmm": lambda T, x, v: T.baddbmm(*[_matrices(T, x.dtype)[None]] * 3, beta=v),
    "index_add": lambda T, x, v: T.index_add(x, 0, T.tensor([1]), x[:1], alpha=v),
    "lerp": lambda T, x, v: T.lerp(x, x * 2, v),
    "leaky_relu": lambda T, x, v: T.nn.functional.leaky_relu(-x, v),
    "elu": lambda T, x, v: T.nn.functional.elu(-x, v),
    "celu": lambda T, x, v: T.nn.functional.celu(-x, v),
    "softplus beta": lambda T, x, v: T.nn.functional.softplus(x, v),
    "softplus threshold": lambda T, x, v: T.nn.functional.softplus(x, 1, v),
    "threshold": lambda T, x, v: T.nn.functional.threshold(x, v, 1),
    "threshold value": lambda T, x, v: T.nn.functional.threshold(x, 5, v),
    "softshrink": lambda T, x, v: T.nn.functional.softshrink(x, v),
    "smooth_l1_loss": lambda T, x, v: T.nn.functional.smooth_l1_loss(x * 3, x * 0, beta=v),
    "logit": lambda T, x, v: T.logit(x, v),
    "trapezoid": lambda T, x, v: T.trapezoid(x, dx=v),
    "where": lambda T, x, v: T.where(T.tensor([True, False]), x, v),
    "renorm": lambda T, x, v: T.renorm(_matrices(T, x.dtype), 2, 0, v),
    "rrelu": lambda T, x, v: T.nn.functional.rrelu(-x, v, v),
    "histc": lambda T, x, v: T.histc(x, 4, 0, v),
    "histc of both": lambda T, x, v: T.histc(x, 4, -v, v),
}
#: Which of several errors comes first, and places where rounding of halves differs in the last
#: place.
OTHERWISE = {
    ("renorm", "nan"),
    ("rrelu", "nan"),
    ("smooth_l1_loss", "1e+30"),
    ("smooth_l1_loss", "-1.0"),
}


def outcome(T, call, dtype, number):
    try:
        with T.no_grad():
            return (
                call(T, T.tensor([1, 2], dtype=getattr(T, dtype)), number)
                .to(T.float64)
                .flatten()
                .tolist()
            )
    except (RuntimeError, TypeError, ValueError, OverflowError, NotImplementedError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_beyond_a_dtype(name: str, dtype: str) -> None:
    for number in NUMBERS:
        theirs, mine = (outcome(T, CALLS[name], dtype, number) for T in (torch, jtorch))
        if (name, str(number)) in OTHERWISE:
            assert isinstance(theirs, tuple) == isinstance(mine, tuple)
        else:
            assert (
                mine == pytest.approx(theirs, rel=1e-6, nan_ok=True)
                if isinstance(theirs, list)
                else mine == theirs
            ), number


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float32", "bool"])
@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1])
def test_whole_numbers_of_more_than_64_bits_are_not_written(dtype: str, number: int) -> None:
    for T in (torch, jtorch):
        for index in (0, ..., slice(None), T.tensor([0])):
            x = T.ones(2, dtype=getattr(T, dtype))
            with pytest.raises(ValueError, match="Overflow when unpacking long long"):
                x[index] = number
            assert x.tolist() == [1, 1]


@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
def test_unsigned_numbers_keep_their_sign_where_whole_numbers_become_fractions(number: int) -> None:
    for name in ("copysign", "xlogy"):
        theirs, mine = (getattr(T, name)(T.tensor([1, -2, 3]), number) for T in (torch, jtorch))
        assert mine.tolist() == pytest.approx(theirs.tolist())
    assert jtorch.tensor([True]).masked_fill(jtorch.tensor([True]), number).tolist() == [True]
