"""``autograd.functional``, ``gradcheck`` and anomaly detection."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.autograd import functional, gradcheck, gradgradcheck


def product(x, y):
    return (x**3 * y).sum()


@pytest.fixture
def pair():
    return torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True), torch.ones(
        2, dtype=torch.float64, requires_grad=True
    )


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_and_hessian(pair, vectorize):
    found = functional.jacobian(lambda x, y: x * y.sum(), pair, vectorize=vectorize)
    assert [t.tolist() for t in found] == [[[2, 0], [0, 2]], [[1, 1], [2, 2]]]
    (xx, xy), (_, yy) = functional.hessian(product, pair, vectorize=vectorize)
    assert xx.tolist() == [[6, 0], [0, 12]]
    assert xy.tolist() == [[3, 0], [0, 12]]
    assert yy.tolist() == [[0, 0], [0, 0]]
    assert not xx.requires_grad


def test_products(pair):
    ones = (torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))
    assert functional.jvp(product, pair, ones)[1].item() == 15
    assert functional.vhp(product, pair, ones)[1][0].tolist() == [6, 12]
    assert functional.hvp(product, pair, ones)[1][1].tolist() == [3, 12]
    assert functional.vjp(lambda x, y: x * y, pair, ones[0])[1][0].tolist() == [1, 1]


def test_wrong_vectors_and_strict_mode(pair):
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(lambda x, y: x * y, pair, torch.ones(3))
    with pytest.raises(RuntimeError, match="does not require gradients"):
        functional.jacobian(lambda x: torch.ones(2), pair[0], strict=True)
    with pytest.raises(TypeError, match="either a Tensor or a tuple"):
        functional.jacobian(product, (pair[0], 3))


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


def test_gradcheck_tells_right_from_wrong(pair):
    assert gradcheck(lambda x, y: x.exp() * y, pair, check_batched_grad=True, check_forward_ad=True)
    assert gradgradcheck(lambda x, y: x.exp() * y, pair)
    with pytest.raises(
        torch.autograd.GradcheckError,
        match="Jacobian mismatch for output 0 with respect to input 0",
    ):
        gradcheck(Wrong.apply, (pair[0],))
    assert not gradcheck(Wrong.apply, (pair[0],), raise_exception=False)
    assert gradcheck(
        lambda z: z * z.conj() * z,
        torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True),
    )
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (torch.ones(2, dtype=torch.float64),))


def test_gradcheck_leaves_its_inputs_alone(pair):
    before = pair[0].tolist()
    gradcheck(lambda x, y: x * y, pair)
    assert pair[0].tolist() == before


@pytest.mark.filterwarnings("ignore")
def test_anomalies_are_found_and_no_longer_looked_for():
    x = torch.zeros(1, requires_grad=True)
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError, match="SqrtBackward0' returned nan values"),
    ):
        (x.sqrt() * 0).sum().backward()
    (x.sqrt() * 0).sum().backward()
