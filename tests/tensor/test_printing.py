"""Printed tensors: literal texts."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.facts import dtypes
from jtorch._src.tensor import printing


def show(values, dtype=dtypes.float32, **options):
    array = np.asarray(values, dtype.np)
    return printing.describe(array, array.shape, dtype, **options)


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        ([1, 2, 3], dtypes.float32, "tensor([1., 2., 3.])"),
        (
            [1.5, -2, math.nan, math.inf],
            dtypes.float32,
            "tensor([ 1.5000, -2.0000,     nan,     inf])",
        ),
        ([1, math.nan, -math.inf], dtypes.float32, "tensor([1., nan, -inf])"),
        (3.25, dtypes.float32, "tensor(3.2500)"),
        ([1e-5, 1.0], dtypes.float32, "tensor([1.0000e-05, 1.0000e+00])"),
        ([1.5, 1500.0], dtypes.float32, "tensor([   1.5000, 1500.0000])"),
        ([1.5, 1500.75], dtypes.float32, "tensor([1.5000e+00, 1.5008e+03])"),
        ([123456789.0], dtypes.float32, "tensor([1.2346e+08])"),
        ([0.1], dtypes.float64, "tensor([0.1000], dtype=torch.float64)"),
        ([1, -20], dtypes.int64, "tensor([  1, -20])"),
        ([1, 2], dtypes.uint8, "tensor([1, 2], dtype=torch.uint8)"),
        ([True, False], dtypes.bool_, "tensor([ True, False])"),
        ([1 + 2j, -0.5j], dtypes.complex64, "tensor([1.+2.0000j, -0.-0.5000j])"),
        ([], dtypes.float32, "tensor([])"),
        ([], dtypes.int64, "tensor([], dtype=torch.int64)"),
        (np.zeros((2, 0)), dtypes.float32, "tensor([], size=(2, 0))"),
        ([[1, 2], [3, 4]], dtypes.float32, "tensor([[1., 2.],\n        [3., 4.]])"),
        (
            [[[1], [2]], [[3], [4]]],
            dtypes.int32,
            "tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]], dtype=torch.int32)",
        ),
        (ml_dtypes.bfloat16(1.0078125), dtypes.bfloat16, "tensor(1.0078, dtype=torch.bfloat16)"),
    ],
)
def test_text(values, dtype, text):
    assert show(values, dtype) == text


def test_summary():
    assert (
        show(np.arange(1001), dtypes.int64) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    )
    rows = "[  0,   1,   2,  ...,  97,  98,  99]", "[100, 101, 102,  ..., 197, 198, 199]"
    text = show(np.arange(2000).reshape(20, 100), dtypes.int64)
    assert (
        text.startswith("tensor([[   0,    1,    2,  ...,   97,   98,   99],\n")
        and "\n        ...,\n" in text
        and rows[0] not in text
    )


def test_suffixes():
    assert show([1], requires_grad=True) == "tensor([1.], requires_grad=True)"
    assert (
        show([1], grad_fn="AddBackward0", requires_grad=True)
        == "tensor([1.], grad_fn=<AddBackward0>)"
    )
    assert show([1], device="cuda:0") == "tensor([1.], device='cuda:0')"
    assert show([1, 2], name="Named") == "Named([1., 2.])"
    assert (
        printing.describe(None, (2, 3), dtypes.float32, device="meta")
        == "tensor(..., device='meta', size=(2, 3))"
    )
    long = show(np.arange(13) * 1.5, grad_fn="MulBackward0")
    assert long.endswith(
        "10.5000,\n        12.0000, 13.5000, 15.0000, 16.5000, 18.0000], grad_fn=<MulBackward0>)"
    )
    broken = show([[1.5] * 7], grad_fn="MulBackward0")
    assert broken.endswith("1.5000]],\n       grad_fn=<MulBackward0>)")


def test_options():
    before = printing.get_printoptions()
    with printing.printoptions(precision=2, sci_mode=True):
        assert show([1.5]) == "tensor([1.50e+00])"
    with printing.printoptions(threshold=2, edgeitems=1):
        assert show([1, 2, 3]) == "tensor([1.,  ..., 3.])"
    with printing.printoptions(profile="full"):
        assert "..." not in show(np.arange(2000))
    with printing.printoptions(linewidth=20):
        assert show(range(6)) == "tensor([0., 1., 2.,\n        3., 4., 5.])"
    assert (
        printing.get_printoptions()
        == before
        == {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    )


def test_elements_that_are_repeated_beyond_memory() -> None:
    x = torch.tensor([[1.0], [2.0]]).expand(3, 2, 2**40)
    assert (
        repr(x[0])
        == "tensor([[1., 1., 1.,  ..., 1., 1., 1.],\n        [2., 2., 2.,  ..., 2., 2., 2.]])"
    )
    assert (
        repr(torch.ones(1, requires_grad=True).expand(2**40))
        == "tensor([1., 1., 1.,  ..., 1., 1., 1.], grad_fn=<ExpandBackward0>)"
    )
