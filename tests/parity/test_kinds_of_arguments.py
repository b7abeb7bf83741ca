"""Arguments of slightly other kinds than a function takes, refused and accepted as by PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity

#: Expressions in ``t`` (the package), ``x`` of 2 by 3 and ``i`` of one index.
SAMPLES = """
t.full(3, 1.0) | t.full((3,), 1.0) | t.full(range(2), 1.0) | t.reshape(x, 6) | t.reshape(x, -1)
t.hann_window(n.array([1, 1]))
t.hamming_window(4, True, (2,), 0.4) | t.hann_window(4, 3) | t.fft.fftfreq(4, (2,))
t.tril_indices(t.tensor([1]), 2) | t.eye(3, None) | t.eye(3) | t.zeros(t.tensor(True))
t.rand(2, requires_grad='z') | t.linspace(0, 1, 3, requires_grad=None).shape
t.sum(x, keepdim=True) | x.sum(0, keepdim=True) | x.sum(axis=0, keepdims=True) | x.sum(dim=None)
t.mean(x, keepdim=True) | t.prod(x, None) | t.prod(x, keepdim=True) | t.max(x, None)
x.max(keepdim=True) | t.median(x, None) | t.median(x, 0, keepdim=True)[0] | t.var(x, 0, None)
t.squeeze(x, None) | t.where(x > 0, None) | t.trapz(x, None) | x.expand(range(2)) | x.view(range(2))
t.bernoulli(x, None) | t.scatter(x, 0, i, x, reduce=None) | t.masked_select(x, n.int64(1))
t.is_same_size(x, n.int64(1)) | x.type_as(n.float32(1)) | t.mul(x, n.float64(2)) | x.to(t.int8, 5)
x.to('cpu', t.float64, False, True) | x.to(t.float64, non_blocking=True) | x.to(x, True, True, 3)
t.get_autocast_dtype(None) | t.get_autocast_dtype('cuda:0') | t.get_autocast_dtype('zz')
t.get_autocast_dtype('mtia') | t.is_autocast_enabled(1) | t.set_autocast_enabled('cpu')
t.set_autocast_enabled('cpu', 1) | t.set_autocast_dtype('cpu', None)
t.asarray([1], copy='z') | t.result_type(x, 'z') | t.result_type(x, n.float32(1))
t.nn.functional.elu(x, t.tensor(1.0)) | t.hamming_window(4, True, t.tensor([0.5]))
t.nn.functional.local_response_norm(x[None], 2, k=t.tensor([1.0]))
"""


def _answer(t: Any, sample: str) -> Any:
    names = {"t": t, "n": np, "x": t.ones(2, 3), "i": t.zeros(1, 1, dtype=t.int64)}
    try:
        return repr(eval(sample, names))
    except Exception as e:
        return type(e)


def test_kinds_are_refused_and_accepted_alike() -> None:
    samples = [s.strip() for line in SAMPLES.strip().splitlines() for s in line.split(" | ")]
    expected = {s: _answer(torch, s) for s in samples}
    assert {s: _answer(jtorch, s) for s in samples} == expected
