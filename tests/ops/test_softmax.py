"""softmax, log_softmax and logsumexp."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch
import jtorch.nn.functional as F


def test_values_and_range() -> None:
    x = torch.tensor([[1000.0, 1000.0], [-1000.0, 0.0]])
    assert torch.softmax(x, 1).tolist() == [[0.5, 0.5], [0, 1]]
    np.testing.assert_allclose(
        torch.log_softmax(x, 1).numpy(), [[-math.log(2), -math.log(2)], [-1000, 0]], rtol=1e-6
    )
    assert F.softmin(torch.tensor([0.0, 1000.0]), 0).tolist() == [1, 0]
    assert torch.softmax(torch.tensor(3.0), 0).item() == 1


def test_dtype() -> None:
    assert torch.softmax(torch.arange(3), 0, dtype=torch.float64).dtype is torch.float64
    assert torch.softmax(torch.ones(3, dtype=torch.bfloat16), 0).dtype is torch.bfloat16
    with pytest.raises(
        NotImplementedError, match="\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"
    ):
        torch.softmax(torch.arange(3), 0)


def test_gradients() -> None:
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    y = np.exp(x.detach().numpy())
    y /= y.sum()
    (g,) = torch.autograd.grad((torch.softmax(x, 0) * w).sum(), x)
    np.testing.assert_allclose(g.numpy(), y * (w.numpy() - (y * w.numpy()).sum()), rtol=1e-12)
    (g,) = torch.autograd.grad((torch.log_softmax(x, 0) * w).sum(), x)
    np.testing.assert_allclose(g.numpy(), w.numpy() - 6 * y, rtol=1e-12)
    (g,) = torch.autograd.grad(torch.logsumexp(x, 0), x)
    np.testing.assert_allclose(g.numpy(), y, rtol=1e-12)


def test_the_result_is_what_is_saved() -> None:
    x = torch.ones(3, requires_grad=True)
    h = x * 1
    y = torch.softmax(h, 0)
    h.add_(1)  # the input is not needed any more
    y.sum().backward()
    y = torch.softmax(x, 0)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_dimension_is_chosen_with_a_warning() -> None:
    with pytest.warns(
        UserWarning, match="Implicit dimension choice for softmax has been deprecated"
    ):
        assert F.softmax(torch.zeros(2, 4)).tolist() == [[0.25] * 4] * 2
    with pytest.raises(TypeError, match="must be int, not NoneType"):
        torch.softmax(torch.zeros(2), None)


def test_logsumexp() -> None:
    inf = math.inf
    assert torch.logsumexp(torch.tensor([[1000.0, 1000.0], [-inf, -inf], [inf, 1.0]]),
                           1).tolist() == [
        pytest.approx(1000 + math.log(2)), -inf, inf,
    ]  # fmt: skip
    assert torch.logsumexp(torch.ones(0, 3), 0).tolist() == [-inf] * 3
    assert torch.logsumexp(torch.arange(3), 0).dtype is torch.float32
    assert torch.logsumexp(torch.ones(2, 3), (0, 1), keepdim=True).shape == (1, 1)
