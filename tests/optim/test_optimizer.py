"""The base of optimisers, and the fused steps of SGD and Adam, against the formulas in NumPy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import jtorch as torch


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values), requires_grad=True)


def step(opt: Any, *pairs: tuple[torch.Tensor, list[float] | None]) -> None:
    for p, g in pairs:
        p.grad = None if g is None else torch.tensor(g)
    opt.step()


def test_sgd_with_momentum_by_hand() -> None:
    p = leaf(1.0, 2.0)
    opt = torch.optim.SGD([p], lr=0.1, momentum=0.5, dampening=0.25, weight_decay=0.1)
    expected, buffer = np.array([1.0, 2.0]), None
    for g in ([1.0, -1.0], [0.5, 2.0], [0.0, 1.0]):
        step(opt, (p, g))
        d = np.array(g) + 0.1 * expected
        buffer = d if buffer is None else 0.5 * buffer + 0.75 * d
        expected = expected - 0.1 * buffer
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(opt.state[p]["momentum_buffer"].numpy(), buffer, rtol=1e-6)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_by_hand(decoupled: bool, amsgrad: bool) -> None:
    p = leaf(1.0, -2.0)
    cls = torch.optim.AdamW if decoupled else torch.optim.Adam
    opt = cls([p], lr=0.1, betas=(0.8, 0.9), weight_decay=0.1, amsgrad=amsgrad)
    x, m, v, top = np.array([1.0, -2.0]), 0.0, 0.0, 0.0
    for t, grad in enumerate(([1.0, 3.0], [0.1, -1.0], [0.0, 0.5]), 1):
        step(opt, (p, grad))
        g = np.array(grad) if decoupled else np.array(grad) + 0.1 * x
        x = x * (1 - 0.1 * 0.1) if decoupled else x
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
        top = np.maximum(top, v)
        second = top if amsgrad else v
        x = x - 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(second / (1 - 0.9**t)) + 1e-8)
        np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-5)
    assert opt.state[p]["step"].item() == 3.0


def test_parameters_without_gradients_rest() -> None:
    p, q = leaf(1.0), leaf(1.0)
    opt = torch.optim.Adam([p, q], lr=0.1)
    for with_q in (True, False, False, True):
        step(opt, (p, [1.0]), (q, [1.0] if with_q else None))
    assert (opt.state[p]["step"].item(), opt.state[q]["step"].item()) == (4.0, 2.0)
    alone = leaf(1.0)
    other = torch.optim.Adam([alone], lr=0.1)
    for _ in range(2):
        step(other, (alone, [1.0]))
    assert q.item() == pytest.approx(alone.item())


def test_counts_of_steps_are_tensors_of_their_own() -> None:
    p, q = leaf(1.0), leaf(1.0)
    opt = torch.optim.Adam([p, q])
    step(opt, (p, [1.0]), (q, [1.0]))
    opt.state[p]["step"].add_(10)
    step(opt, (p, [1.0]), (q, [1.0]))
    assert (opt.state[p]["step"].item(), opt.state[q]["step"].item()) == (12.0, 2.0)


def test_state_replaced_by_the_program_is_used() -> None:
    p = leaf(0.0)
    opt = torch.optim.SGD([p], lr=1.0, momentum=1.0)
    step(opt, (p, [1.0]))
    step(opt, (p, [0.0]))
    assert p.item() == -2.0
    opt.state[p]["momentum_buffer"] = torch.tensor([5.0])
    step(opt, (p, [0.0]))
    assert p.item() == -7.0
    opt.state[p] = {"momentum_buffer": torch.tensor([1.0])}
    step(opt, (p, [0.0]))
    assert p.item() == -8.0
    opt.state.clear()
    step(opt, (p, [0.0]))
    assert p.item() == -8.0


def test_options_may_change_between_steps() -> None:
    p = leaf(0.0)
    opt = torch.optim.SGD([p], lr=1.0)
    step(opt, (p, [1.0]))
    opt.param_groups[0]["lr"] = 10.0
    step(opt, (p, [1.0]))
    assert p.item() == -11.0
    opt.param_groups[0]["momentum"] = 0.5
    step(opt, (p, [1.0]))
    step(opt, (p, [0.0]))
    assert p.item() == -26.0
    q = leaf(0.0)
    opt.add_param_group({"params": [q], "lr": 1.0, "momentum": 0})
    step(opt, (p, None), (q, [2.0]))
    assert (p.item(), q.item()) == (-26.0, -2.0)


def test_learning_rate_as_a_tensor() -> None:
    p = leaf(1.0)
    rate = torch.tensor(0.5)
    opt = torch.optim.SGD([p], lr=rate)
    step(opt, (p, [1.0]))
    rate.fill_(2.0)
    step(opt, (p, [1.0]))
    assert p.item() == -1.5


def test_views_and_aliases_see_the_step() -> None:
    flat = torch.zeros(4)
    p = torch.nn.Parameter(flat[1:3])
    opt = torch.optim.SGD([p], lr=1.0)
    seen = p.detach()
    step(opt, (p, [1.0, 2.0]))
    assert seen.tolist() == [-1.0, -2.0]
    assert flat.tolist() == [0.0, -1.0, -2.0, 0.0]


def test_a_step_makes_saved_tensors_stale() -> None:
    p = leaf(3.0)
    loss = (p * p).sum()
    opt = torch.optim.SGD([p], lr=1.0)
    step(opt, (p, [1.0]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_closures_and_zero_grad() -> None:
    p = leaf(1.0)
    opt = torch.optim.SGD([p], lr=0.25)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert opt.step(closure).item() == 1.0
    assert p.item() == 0.5
    opt.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0]
    opt.zero_grad()
    assert p.grad is None


def test_hooks_in_order() -> None:
    p, calls = leaf(1.0), []
    opt = torch.optim.SGD([p], lr=1.0)
    handles = [
        torch.optim.optimizer.register_optimizer_step_pre_hook(
            lambda o, a, k: calls.append("global pre")
        ),
        torch.optim.optimizer.register_optimizer_step_post_hook(
            lambda o, a, k: calls.append("global post")
        ),
        opt.register_step_pre_hook(lambda o, a, k: calls.append("pre")),
        opt.register_step_post_hook(lambda o, a, k: calls.append("post")),
    ]
    opt.register_state_dict_pre_hook(lambda o: calls.append("state pre"))
    opt.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1})
    opt.register_load_state_dict_pre_hook(lambda o, s: {k: v for k, v in s.items() if k != "extra"})
    opt.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    opt.step()
    assert calls == ["global pre", "pre", "post", "global post"]
    for handle in handles:
        handle.remove()
    opt.step()
    state = opt.state_dict()
    assert state["extra"] == 1
    opt.load_state_dict(state)
    assert calls[4:] == ["state pre", "loaded"]


def test_hooks_that_return_the_wrong_thing() -> None:
    opt = torch.optim.SGD([leaf(1.0)], lr=1.0)
    opt.register_step_pre_hook(lambda o, a, k: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        opt.step()


def test_optimisers_of_others() -> None:
    """A class written for PyTorch: state by hand, in-place updates, a hooked step."""

    class Lion(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float = 0.1) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    average = state.setdefault("average", torch.zeros_like(p))
                    p.add_((average * 0.9 + p.grad * 0.1).sign(), alpha=-group["lr"])
                    average.lerp_(p.grad, 0.01)

    p = leaf(1.0, 1.0)
    opt = Lion([p])
    step(opt, (p, [5.0, -3.0]))
    np.testing.assert_allclose(p.detach().numpy(), [0.9, 1.1], rtol=1e-6)
    assert opt.state_dict()["state"][0].keys() == {"average"}


def test_copies_go_on_alone() -> None:
    p = leaf(1.0)
    opt = torch.optim.Adam([p], lr=0.1)
    step(opt, (p, [1.0]))
    other = copy.deepcopy(opt)
    q = other.param_groups[0]["params"][0]
    assert q is not p
    step(opt, (p, [1.0]))
    step(other, (q, [1.0]))
    assert p.item() == q.item()
    assert other.state[q]["step"].item() == 2.0


def test_subclasses_of_tensors_are_asked() -> None:
    """Parameters that override functions do so within a step too."""
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(getattr(func, "__name__", ""))
            return super().__torch_function__(func, types, args, kwargs or {})

    p = torch.zeros(2).as_subclass(Watched).requires_grad_()
    opt = torch.optim.SGD([p], lr=1.0)
    p.grad = torch.ones(2)
    seen.clear()
    opt.step()
    assert "add_" in seen
    assert p.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("name", torch.optim.__all__)
def test_signatures_have_docstrings(name: str) -> None:
    assert getattr(torch.optim, name).__doc__


def test_lbfgs_without_gradients_takes_its_first_step() -> None:
    x = torch.ones(2)
    opt = torch.optim.LBFGS([x], 0.1, tolerance_grad=-1.0)
    assert opt.step(lambda: torch.tensor([3])).tolist() == [3] and x.tolist() == [1.0, 1.0]


def test_the_line_search_that_libraries_call():
    from jtorch.optim.lbfgs import _strong_wolfe

    def value_and_gradient(x, t, d):
        y = (x + t * d).requires_grad_()
        value = ((y - 1) ** 2).sum()
        return value.item(), torch.autograd.grad(value, y)[0]

    x = torch.zeros(2)
    f, g = value_and_gradient(x, 0, x)
    f_new, g_new, t, evaluations = _strong_wolfe(value_and_gradient, x, 1.0, -g, f, g, -g.dot(g))
    assert (
        t == pytest.approx(0.5)
        and f_new == pytest.approx(0, abs=1e-6)
        and g_new.abs().max() < 1e-3
        and evaluations == 2
    )


def test_lbfgs_searches_along_straight_lines() -> None:
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([x], 1, max_iter=1, max_eval=4, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = -x.sum()
        loss.backward()
        return loss

    opt.step(closure)
    assert x.tolist() == [1000.0]  # each step is ten times the last, as no minimum lies in between
