"""Tensors to and from other libraries by DLPack."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch.utils import dlpack


def test_capsules_are_taken_once() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert dlpack.from_dlpack(dlpack.to_dlpack(x)).tolist() == x.tolist()
    half = torch.ones(2, dtype=torch.bfloat16)
    assert dlpack.from_dlpack(half.__dlpack__()).dtype is torch.bfloat16
    with pytest.raises(RuntimeError, match="invalid capsule"):
        dlpack.from_dlpack(3)
    with pytest.raises(BufferError, match="require gradient"):
        x.clone().requires_grad_().__dlpack__()


def test_memory_of_numpy_is_shared() -> None:
    a = np.zeros(3, np.float32)
    t = dlpack.from_dlpack(a)
    a[0] = 5
    t[1] = 7
    assert t.tolist() == [5, 7, 0] and a.tolist() == [5, 7, 0]
    assert torch.from_dlpack(a, copy=True).add_(1).tolist() != a.tolist()


def test_arrays_of_jax_and_back() -> None:
    assert torch.from_dlpack(jnp.arange(3)).tolist() == [0, 1, 2]
    assert jnp.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2]
    assert torch.ones(1).__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)
