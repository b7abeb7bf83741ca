"""Steps that one operation computes for all parameters, beside the rules by public operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch.optim import _functional

CASES: list[tuple[str, dict[str, Any]]] = [
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "maximize": True}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"maximize": True}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "betas": (0.8, 0.9)}),
    ("ASGD", {"t0": 3, "lambd": 0.01, "weight_decay": 0.1}),
    ("Rprop", {"step_sizes": (1e-3, 0.02)}),
    ("Rprop", {"maximize": True}),
    ("Adafactor", {"lr": 0.1}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "maximize": True, "beta2_decay": -0.5}),
    ("Adafactor", {"eps": (1e-4, 0.5), "d": 2.0}),
]


class Other(torch.Tensor):
    """Parameters of this class are updated by public operations."""


def train(
    kind: type[torch.Tensor], name: str, options: dict[str, Any], steps: int = 8
) -> tuple[Any, list[torch.Tensor]]:
    random = np.random.RandomState(0)
    params = [
        torch.tensor(random.randn(*size), dtype=torch.float32).as_subclass(kind).requires_grad_()
        for size in ((3, 2), (5,), ())
    ]
    optimizer = getattr(torch.optim, name)(params, **options)
    for k in range(steps):
        for i, p in enumerate(params):
            grad = torch.tensor(random.randn(*p.shape), dtype=torch.float32)
            p.grad = None if i == k % 4 else grad  # so that counts of steps differ
        optimizer.param_groups[0]["lr"] *= 0.9
        optimizer.step()
    return optimizer, params


@pytest.mark.parametrize(("name", "options"), CASES)
def test_one_operation_does_what_the_rule_does(name: str, options: dict[str, Any]) -> None:
    found, expected = train(torch.Tensor, name, options), train(Other, name, options)
    for p, q in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-5, 1e-6)
        assert p._version == q._version
        own, others = found[0].state[p], expected[0].state[q]
        assert list(own) == list(others)
        for key, value in own.items():
            np.testing.assert_allclose(value.numpy(), others[key].numpy(), 1e-5, 1e-6, err_msg=key)
            assert (value.dtype, value._version) == (others[key].dtype, others[key]._version), key


@pytest.mark.parametrize(
    "name",
    ["RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor"],
)
def test_a_step_is_one_operation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    params = [torch.ones(3, requires_grad=True) for _ in range(4)]
    for p in params:
        p.grad = torch.ones(3)
    optimizer = getattr(torch.optim, name)(params)
    calls = []
    operation = getattr(torch._C, f"_fused_{name.lower()}")
    monkeypatch.setattr(
        torch._C,
        operation.__name__,
        lambda *args, **options: calls.append(len(args[0])) or operation(*args, **options),
    )
    optimizer.step()
    optimizer.step()
    assert calls == [4, 4]


def test_buffers_of_another_dtype_take_the_rule() -> None:
    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.RMSprop([p], lr=0.1)
    p.grad = torch.ones(3)
    optimizer.step()
    optimizer.state[p]["square_avg"] = optimizer.state[p]["square_avg"].double()
    optimizer.step()
    assert p.dtype is torch.float32 and optimizer.state[p]["square_avg"].dtype is torch.float64
    assert optimizer.state[p]["step"].item() == 2


def test_infinite_gradients_rest_in_rprop() -> None:
    """Where the sign changes the gradient counts as zero, whatever it is; NaN stays."""
    p = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Rprop([p], lr=0.1)
    for grad in ([1.0, 1.0, 1.0], [-np.inf, np.inf, np.nan]):
        p.grad = torch.tensor(grad)
        optimizer.step()
    assert p.tolist()[:2] == pytest.approx([-0.1, -0.22]) and p[2].isnan()
    assert optimizer.state[p]["prev"].tolist()[:2] == [0.0, np.inf]


def test_gradients_become_zero_together() -> None:
    """All at once, but for those that share memory; versions and what graphs have saved know of
    it."""
    params = [torch.ones(2, requires_grad=True) for _ in range(12)]
    grads = [torch.ones(2) for _ in params]
    for p, g in zip(params, grads, strict=True):
        p.grad = g
    view = grads[3].view(2, 1)
    params[5].grad = grads[4]  # one tensor for two parameters
    w = torch.ones(2, requires_grad=True)
    product = w * grads[0]
    grads[1].requires_grad_()
    params[2].grad = (w * 2).clone()
    optimizer = torch.optim.SGD(params, lr=1.0)
    for expected in (1, 2):
        optimizer.zero_grad(set_to_none=False)
        assert [p.grad.tolist() for p in params] == [[0.0, 0.0]] * 12  # pyright: ignore[reportOptionalMemberAccess]
        assert [grads[i]._version for i in (0, 1, 3, 4)] == [expected] * 3 + [2 * expected]
    assert view.tolist() == [[0.0], [0.0]]
    assert not any(p.grad.requires_grad for p in params)  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_scaling_gradients_of_which_one_is_shared() -> None:
    params = [torch.ones(2, requires_grad=True) for _ in range(12)]
    for p in params:
        p.grad = torch.ones(2)
    view = params[3].grad.view(2, 1)  # pyright: ignore[reportOptionalMemberAccess]
    torch.nn.utils.clip_grad_norm_(params, 24**0.5 / 2)
    np.testing.assert_allclose(view.numpy(), 0.5, 1e-5)
    torch.nn.utils.clip_grad_value_(params, 0.25)
    assert view.tolist() == [[0.25], [0.25]] and all(
        p.grad.tolist() == [0.25, 0.25] for p in params
    )  # pyright: ignore[reportOptionalMemberAccess]


@pytest.mark.parametrize("options", [{}, {"lr": 0.1, "betas": (0.5, 0.6), "maximize": True}])
def test_tables_step_at_once_as_by_the_rule(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained() -> tuple[Any, list[torch.Tensor]]:
        random = np.random.RandomState(0)
        params = [
            torch.tensor(random.randn(*size)).requires_grad_() for size in ((7, 3), (6,), (4, 5))
        ]
        optimizer = torch.optim.SparseAdam(params, **options)
        for k in range(4):
            for p, dims in zip(params, (1, 1, 2), strict=True):
                # some of them twice
                at = np.stack([random.randint(0, n, 3 + k) for n in p.shape[:dims]])
                values = random.randn(3 + k, *p.shape[dims:])
                p.grad = torch.sparse_coo_tensor(
                    torch.tensor(at), torch.tensor(values), tuple(p.shape)
                )
            optimizer.step()
        return optimizer, params

    found = trained()
    monkeypatch.setattr(_functional, "_is_plain", lambda *_: False)
    expected = trained()
    for p, q in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-12, 1e-12)
        assert p._version == q._version
        for key in ("exp_avg", "exp_avg_sq"):
            own, other = found[0].state[p][key], expected[0].state[q][key]
            np.testing.assert_allclose(own.numpy(), other.numpy(), 1e-12, 1e-12)
            assert own._version == other._version
