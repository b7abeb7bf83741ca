"""The same calls draw the same numbers in PyTorch and here, and leave the generator in the same
state."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

_X = np.random.RandomState(0).randn(4, 5).astype(np.float32)
_P = np.random.RandomState(1).rand(3, 7).astype(np.float32)

EXACT = """
t.rand(3)
t.rand(40, dtype=t.float16)
t.rand(40, dtype=t.bfloat16)
t.rand(4, 5, dtype=t.float64)
t.rand(37, dtype=t.complex64)
t.rand(37, dtype=t.complex128)
t.randn(15)
t.randn(16)
t.randn(5000)
t.randn(524301)
t.randn(37)
t.randn(37, dtype=t.float16)
t.randn(37, dtype=t.bfloat16)
t.randn(37, dtype=t.complex64)
t._sample_dirichlet(t.tensor([1e-3, 1e-4], dtype=t.float64).expand(9, 2))
t.empty(5, 4).t().uniform_(2, 3)
t.empty(1000, dtype=t.bfloat16).uniform_(-3, 5.1)
t.empty(1000).uniform_(-3, 5.1)
t.empty(9000).uniform_(-3, 5.1)
t.rand(9000, dtype=t.float64)
t.empty(5, 4, 6).permute(2, 0, 1).normal_(2, 3)
t.empty(37).normal_(1.7, 2.3)
t.zeros(8, 9)[::2, 1::3].normal_()
t.randint(10, (3, 4))
t.randint(77, (70000,))
t.randint(high=3, size=(2,))
t.randint(0, 2**28 - 1, (50,))
t.randint(0, 2**28, (50,))
t.randint(-5, 2**40, (3, 4))
t.randint(-2**62, 2**62, (9,))
t.randint(0, 2, (7,), dtype=t.bool)
t.randint(0, 5, (7,), dtype=t.float32)
t.randperm(0)
t.randperm(1)
t.randperm(1000)
t.randperm(20000)
t.randperm(9, dtype=t.float16)
t.normal(X, 2.0)
t.normal(X, X.abs())
t.normal(1.0, X.abs())
t.normal(0, 2, (5, 6))
t.normal(X, X[0].abs())
t.normal(X.t(), X.t().abs())
t.normal(X.double(), X.double().abs())
t.normal(t.tensor(0.7, dtype=t.bfloat16), t.tensor(0.3))
t.normal(t.tensor([0.7, 0.1], dtype=t.float16), t.tensor([0.3, 3.0], dtype=t.float64))
t.normal(t.zeros(0, 3), t.ones(3))
t.bernoulli(P[:, :1].expand(3, 4))
t.bernoulli(P.bfloat16())
t.bernoulli(t.tensor(0.5))
t.bernoulli(P)
t.bernoulli(P.t())
t.bernoulli(P.double())
t.bernoulli(P.half())
t.bernoulli(X, 0.3)
X.clone().t().bernoulli_(0.3)
t.zeros(3, 7, dtype=t.int64).bernoulli_(P[0])
t.multinomial(P, 3)
t.multinomial(P, 30, True)
t.multinomial(P[0], 1)
t.multinomial(P.double(), 4)
t.multinomial(P.t(), 2)
t.empty(500).exponential_(3)
t.empty(500).geometric_(0.2)
t.empty(500, dtype=t.int32).geometric_(0.2)
t.empty(500).log_normal_()
t.empty(501).cauchy_()
t.empty(30, dtype=t.uint8).random_()
t.empty(30, dtype=t.int8).random_()
t.empty(30, dtype=t.int16).random_()
t.empty(30, dtype=t.int32).random_()
t.empty(30, dtype=t.int64).random_()
t.empty(30, dtype=t.bool).random_()
t.empty(30, dtype=t.float16).random_()
t.empty(30, dtype=t.float32).random_()
t.empty(30, dtype=t.float64).random_()
t.empty(30, dtype=t.int64).random_(-2**63, None)
t.empty(30, dtype=t.int32).random_(7)
t.empty(30).random_(3, None)
t.empty(30).random_(3, 9)
t.rand_like(X)
t.rand_like(X.t())
t.randn_like(X.t())
t.randint_like(X, 3, 9)
t.randint_like(X, 9)
F.dropout(X, 0.3)
F.dropout(X.t(), 0.3)
F.dropout(X.half(), 0.3)
F.dropout(X.double(), 0.3)
F.dropout(X, 1.0)
F.dropout(X, 0.0)
F.dropout(X, 0.3, False)
F.dropout(X.clone(), 0.5, inplace=True)
F.dropout1d(X, 0.3)
F.dropout1d(X[None], 0.3)
F.dropout2d(X[None, None], 0.3)
F.dropout3d(X[None, None, None], 0.3)
F.dropout3d(X[None, :, None], 0.3)
F.gumbel_softmax(X, hard=True)
t.cat([t.randn(3), t.randn(1), t.randn(4), t.randn(20), t.randn(2)])
""".strip().splitlines()

#: Arithmetic of several roundings, in which the last digit may differ.
CLOSE = """
t.randn(1000, dtype=t.float64)
t.empty(1000, dtype=t.float64).normal_(1.7, 2.3)
t.empty(1000, dtype=t.float64).uniform_(-3, 5.1)
t.empty(500, dtype=t.float64).exponential_()
F.alpha_dropout(X, 0.3, True)
F.feature_alpha_dropout(X, 0.3, True)
F.gumbel_softmax(X)
t._C._rrelu_slopes(X, 0.125, 1 / 3) if t.__name__ == "jtorch" else t.where(X > 0, 1.0, F.rrelu(X, \
training=True) / X)
""".strip().splitlines()


REFUSED = """
t.multinomial(t.rand(0), 0)
t.multinomial(t.rand(3, 0), 1)
t.multinomial(t.rand(0), 2, True)
t.multinomial(-P, 1)
t.normal(X, X)
t.normal(X, -1.0)
t.normal(X, X + 0j)
t.bernoulli(X)
t.bernoulli(X.long())
t.poisson(X)
""".strip().splitlines()


def _run(t, call: str):
    t.manual_seed(5)
    found = eval(call, {"t": t, "F": t.nn.functional, "X": t.tensor(_X), "P": t.tensor(_P)})
    array = (found.float() if found.dtype is t.bfloat16 else found).numpy()
    return array, str(found.dtype), t.get_rng_state().numpy()


@pytest.mark.parametrize("call", EXACT)
def test_exact(call: str) -> None:
    theirs, ours = _run(torch, call), _run(jtorch, call)
    assert theirs[1] == ours[1]
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[2], theirs[2])


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as theirs:
        _run(torch, call)
    with pytest.raises(type(theirs.value)) as ours:
        _run(jtorch, call)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]


@pytest.mark.parametrize("call", CLOSE)
def test_close(call: str) -> None:
    theirs, ours = _run(torch, call), _run(jtorch, call)
    eps = np.finfo(theirs[0].dtype).eps
    np.testing.assert_allclose(ours[0], theirs[0], rtol=4 * eps, atol=eps)
    np.testing.assert_array_equal(ours[2], theirs[2])


def test_states_cross() -> None:
    torch.manual_seed(3)
    torch.randn(1001)
    jtorch.set_rng_state(jtorch.tensor(torch.get_rng_state().numpy()))
    np.testing.assert_array_equal(jtorch.randn(33).numpy(), torch.randn(33).numpy())
    torch.set_rng_state(torch.tensor(jtorch.get_rng_state().numpy()))
    np.testing.assert_array_equal(jtorch.rand(700).numpy(), torch.rand(700).numpy())


def test_generators_of_no_device_are_the_cpus() -> None:
    for given in ({"device": None}, {"device": "cpu"}, {}):
        drawn = [
            lib.rand(3, generator=lib.Generator(**given).manual_seed(5)).numpy()
            for lib in (torch, jtorch)
        ]
        np.testing.assert_array_equal(*drawn)
    for lib in (torch, jtorch):
        assert lib.Generator(None).device == lib.device("cpu")
        with pytest.raises(
            TypeError, match=r"^Generator\(\): argument 'device' must be torch.device, not float"
        ):
            lib.Generator(device=1.5)
