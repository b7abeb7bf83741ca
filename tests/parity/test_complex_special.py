"""Complex functions at infinities, NaN and signed zeros, part by part beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch

pytestmark = pytest.mark.parity

VALUES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-30, 1e30]
NUMBERS = [complex(a, b) for a in VALUES for b in VALUES]
FEW = [
    complex(a, b)
    for a in (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan)
    for b in (0.0, -0.0, 3.5, -1.0, np.inf, -np.inf, np.nan)
]


def assert_same(found: np.ndarray, wanted: np.ndarray, what: list) -> None:
    tolerance = 1e-5 if found.dtype == np.complex64 else 1e-12
    for mine, its in ((found.real, wanted.real), (found.imag, wanted.imag)):
        with np.errstate(invalid="ignore"):
            near = np.abs(mine - its) <= tolerance * np.maximum(1, np.abs(its))
        near |= (mine == its) | (np.isnan(mine) & np.isnan(its))
        same = np.where((its == 0) & (mine == 0), np.signbit(mine) == np.signbit(its), near)
        assert same.all(), [
            (z, a, b) for z, a, b, fine in zip(what, found, wanted, same, strict=True) if not fine
        ]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_inverses(name: str, dtype: str) -> None:
    import torch

    z = np.array(NUMBERS, dtype)
    assert_same(
        getattr(jtorch, name)(jtorch.tensor(z)).numpy(),
        getattr(torch, name)(torch.tensor(z)).numpy(),
        NUMBERS,
    )


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients(dtype: str) -> None:
    import torch

    pairs = [(x, y) for x in FEW for y in FEW]
    x, y = (np.array([p[i] for p in pairs], dtype) for i in (0, 1))
    assert_same(
        (jtorch.tensor(x) / jtorch.tensor(y)).numpy(),
        (torch.tensor(x) / torch.tensor(y)).numpy(),
        pairs,
    )


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["exp2", "expm1", "log1p"])
def test_beside_one(name: str, dtype: str) -> None:
    """Where PyTorch's loops over vectors and over single numbers agree: not at both parts infinite,
    nor tiny ones beside infinity."""
    import torch

    numbers = [
        z
        for z in NUMBERS
        if not (np.isinf(z.real) and np.isinf(z.imag))
        and not (z.real == 1e-30 and np.isinf(z.imag))
    ]
    z = np.array(numbers, dtype)
    assert_same(
        getattr(jtorch, name)(jtorch.tensor(z)).numpy(),
        getattr(torch, name)(torch.tensor(z)).numpy(),
        numbers,
    )
