"""Gradients sample by sample: `torch.nn.utils._per_sample_grad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn.utils._per_sample_grad import call_for_per_sample_grads


def _convolutions(nn: Any) -> Any:
    first = nn.Conv2d(4, 6, 3, padding="same")
    return nn.Sequential(first, nn.GroupNorm(2, 6), nn.Conv2d(6, 4, 3, 2, groups=2))


def _instances(nn: Any) -> Any:
    norm = nn.InstanceNorm1d(4, affine=True, track_running_stats=True)
    return nn.Sequential(nn.Conv1d(2, 4, 3, dilation=2), norm)


CASES = {
    "linear": (
        lambda nn: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2, bias=False)),
        (3, 4),
    ),
    "shared": (lambda nn: nn.Sequential(*[nn.Linear(4, 4)] * 2), (3, 4)),
    "sequence": (lambda nn: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), (3, 2, 4)),
    "conv": (_convolutions, (3, 4, 6, 6)),
    "conv1d": (_instances, (3, 2, 9)),
    "embedding": (
        lambda nn: nn.Sequential(nn.Embedding(5, 4, padding_idx=1), nn.Linear(4, 2)),
        None,
    ),
}


@pytest.mark.parity
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_samples_are_torchs(case: str, reduction: str) -> None:
    real = pytest.importorskip("torch")
    import torch.nn.utils._per_sample_grad as theirs

    make, shape = CASES[case]
    rng = np.random.default_rng(0)
    x = (
        np.array([[0, 1, 1], [2, 4, 2]])
        if shape is None
        else rng.normal(size=shape).astype(np.float32)
    )
    reals, ours = make(real.nn), make(torch.nn)
    for p, q in zip(reals.parameters(), ours.parameters(), strict=True):
        value = rng.normal(size=p.shape).astype(np.float32)
        p.data.copy_(real.from_numpy(value))
        q.data.copy_(torch.from_numpy(value))
    sides: tuple[Any, ...] = (
        (real, reals, theirs.call_for_per_sample_grads),
        (torch, ours, call_for_per_sample_grads),
    )
    inputs, parameters = [], [dict(m.named_parameters()) for m in (reals, ours)]
    for lib, module, call in sides:
        input = lib.from_numpy(x.copy())
        inputs.append(input.requires_grad_() if shape else input)
        out = call(module, loss_reduction=reduction)(input)
        (out**2 if reduction == "sum" else out.pow(3)).sum().backward()
    for name, p in parameters[0].items():
        q: Any = parameters[1][name]
        assert q.grad is None and q.grad_sample.shape == (len(x), *q.shape)
        np.testing.assert_allclose(
            q.grad_sample.numpy(), p.grad_sample.numpy(), rtol=2e-4, atol=2e-4, err_msg=name
        )
    if shape:
        np.testing.assert_allclose(
            inputs[1].grad.numpy(), inputs[0].grad.numpy(), rtol=2e-4, atol=2e-4
        )
    for b, c in zip(reals.buffers(), ours.buffers(), strict=True):
        np.testing.assert_allclose(c.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_what_cannot_be_taken_apart_raises() -> None:
    linear = torch.nn.Linear(4, 2)
    with pytest.raises(RuntimeError, match="sum or mean, got max"):
        call_for_per_sample_grads(linear, loss_reduction="max")
    with pytest.raises(RuntimeError, match="must be positive, got -1"):
        call_for_per_sample_grads(linear, batch_size=-1)
    with pytest.raises(
        RuntimeError, match="input batch size of 3 with ExpandedWeight of batch size 5"
    ):
        call_for_per_sample_grads(linear, batch_size=5)(torch.randn(3, 4))
    with pytest.raises(RuntimeError, match="at least rank 2, got of rank 1"):
        call_for_per_sample_grads(linear)(torch.randn(4))
    with pytest.raises(RuntimeError, match="cannot handle function batch_norm"):
        call_for_per_sample_grads(torch.nn.BatchNorm1d(4))(torch.randn(3, 4))
    with pytest.raises(NotImplementedError, match="lstm"):
        call_for_per_sample_grads(torch.nn.LSTM(4, 2, batch_first=True))(torch.randn(3, 2, 4))


def test_frozen_parameters_get_none_and_a_second_call_is_refused() -> None:
    linear: Any = torch.nn.Linear(4, 2)
    linear.bias.requires_grad_(False)
    call_for_per_sample_grads(linear)(torch.randn(3, 4)).sum().backward()
    assert not hasattr(linear.bias, "grad_sample") and linear.weight.grad_sample.shape == (3, 2, 4)
    with pytest.raises(RuntimeError, match="Please clear out the grad_sample parameter"):
        call_for_per_sample_grads(linear)
