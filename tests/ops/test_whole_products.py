"""Products of matrices of integers, which go through floats where these are exact."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import _whole

SIZES = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


def _numbers(dtype: str, shape: tuple[int, ...], bits: int, seed: int = 0) -> np.ndarray:
    info = np.iinfo(dtype)
    low = max(info.min, -(2**bits)) if info.min else 0
    x = np.random.default_rng(seed).integers(
        low, min(info.max, 2**bits - 1), shape, dtype, endpoint=True
    )
    x.reshape(-1)[:3] = low, min(info.max, 2**bits - 1), 0
    return x


@pytest.mark.parametrize("bits", [3, 20, 21, 22, 31, 43, 63])
@pytest.mark.parametrize("dtype", list(SIZES))
@pytest.mark.parametrize("inner", [64, 2500])
def test_products_are_those_of_integers(dtype: str, bits: int, inner: int) -> None:
    if bits > SIZES[dtype]:
        return
    a, b = _numbers(dtype, (70, inner), bits), _numbers(dtype, (inner, 70), bits, 1)
    found = torch.mm(torch.tensor(a), torch.tensor(b))
    assert found.numpy().dtype == dtype
    np.testing.assert_array_equal(found.numpy(), a @ b)


def test_products_one_beyond_what_floats_hold() -> None:
    a = np.full((64, 64), 1 << 24, np.int64)
    b = np.full((64, 64), 1 << 23, np.int64)  # 2**53 in all
    a[:, 0] += 1
    b[0] += 1
    np.testing.assert_array_equal((torch.tensor(a) @ torch.tensor(b)).numpy(), a @ b)


@pytest.mark.parametrize("bits", [10, 63])
def test_products_of_stacks_and_chosen_dimensions(bits: int) -> None:
    a, b = _numbers("int64", (3, 70, 64), bits), _numbers("int64", (3, 64, 70), bits, 1)
    p, q = torch.tensor(a), torch.tensor(b)
    np.testing.assert_array_equal((p @ q).numpy(), a @ b)
    np.testing.assert_array_equal(
        torch.baddbmm(torch.ones(1, dtype=torch.int64), p, q, beta=2, alpha=3).numpy(),
        2 + 3 * (a @ b),
    )
    np.testing.assert_array_equal(
        torch.tensordot(p, q, ([0, 2], [0, 1])).numpy(), np.tensordot(a, b, ((0, 2), (0, 1)))
    )
    np.testing.assert_array_equal(
        torch.einsum("bij,bjk->ki", p, q).numpy(), np.einsum("bij,bjk->ki", a, b)
    )
    np.testing.assert_array_equal(torch.vmap(torch.mm)(p, q).numpy(), a @ b)


def test_all_is_compiled_by_floats(monkeypatch) -> None:
    """Neither branch has a product of 64-bit integers, which would take forty times as long."""
    text = (
        jax.jit(lambda a: _whole.whole_product(jax.numpy.matmul, a, a, 128, 128 * 128))
        .lower(np.ones((128, 128), np.int64))
        .as_text()
    )
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert len(products) == 1 + 6 and all("f64" in line for line in products)
