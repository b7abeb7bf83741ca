"""Hashes of bits: values by NumPy, dimensions, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bfloat16", "bool"])
def test_is_the_exclusive_or_of_widened_bits(dtype: str) -> None:
    x = torch.tensor([[3, 5, -7], [1, 0, 2]]).to(getattr(torch, dtype))
    wide = x.to(torch.float64 if x.is_floating_point() else torch.int64).numpy()
    expected = np.bitwise_xor.reduce(wide.view(np.uint64), axis=0)
    assert torch.hash_tensor(x, 0).tolist() == expected.tolist()
    assert torch.hash_tensor(x).item() == np.bitwise_xor.reduce(expected)
    assert torch.hash_tensor(x, 1, keepdim=True).shape == (2, 1)


def test_refuses_other_modes_dtypes_and_empty_dimensions() -> None:
    with pytest.raises(RuntimeError, match="Unknown hash_tensor mode: 1"):
        torch.hash_tensor(torch.zeros(2), mode=1)
    with pytest.raises(
        NotImplementedError, match="\"xor_sum_cpu\" not implemented for 'ComplexFloat'"
    ):
        torch.hash_tensor(torch.zeros(2) * 1j)
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        torch.hash_tensor(torch.zeros(0, 2), 0)
    assert torch.hash_tensor(torch.zeros(0, 2), 1).shape == (0,)
