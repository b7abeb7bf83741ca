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


class Exporter:
    """What has nothing but the protocol."""

    def __init__(self, t: torch.Tensor) -> None:
        self.t = t

    def __dlpack__(self, **options: object) -> object:
        return self.t.__dlpack__(**options)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> object:
        return self.t.__dlpack_device__()


def test_factories_take_what_has_the_protocol() -> None:
    x = torch.arange(3.0)
    copied, other, shared = (
        torch.tensor(Exporter(x)),
        x.long().new_tensor(Exporter(x)),
        torch.as_tensor(Exporter(x)),
    )
    x[0] = 5
    assert copied.tolist() == [0, 1, 2] and shared.tolist() == [5, 1, 2]
    assert other.tolist() == [0, 1, 2] and other.dtype is torch.int64
    assert torch.as_tensor(Exporter(x), dtype=torch.int32).dtype is torch.int32
    assert torch.tensor(Exporter(x), requires_grad=True).requires_grad
