"""``inference_mode``: which tensors it marks, and what marked tensors refuse outside."""

from __future__ import annotations

import copy
import io
import threading
from typing import Any

import numpy as np
import pytest

import jtorch as torch

INPLACE = "Inplace update to inference tensor outside InferenceMode is not allowed"
SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode"
)


@pytest.fixture
def made() -> Any:
    """A tensor made in inference mode."""
    with torch.inference_mode():
        return torch.ones(3)


@pytest.fixture
def weight() -> Any:
    """A leaf made outside."""
    return torch.ones(3, requires_grad=True)


MAKERS = {
    "factory": lambda n: torch.ones(3),
    "data": lambda n: torch.tensor([1.0, 2.0]),
    "legacy": lambda n: torch.Tensor([1.0]),
    "numpy": lambda n: torch.from_numpy(np.ones(2)),
    "random": lambda n: torch.randn(2),
    "pointwise": lambda n: n + 1,
    "reflected": lambda n: 1 + n,
    "reduction": lambda n: n.sum(),
    "several": lambda n: n.sort()[1],
    "index": lambda n: n[torch.tensor([0])],
    "joined": lambda n: torch.cat([n, n]),
    "composite": lambda n: torch.nn.functional.softmax(n, 0),
    "layer": lambda n: torch.nn.Linear(3, 1)(n[None])[0],
    "parameter": lambda n: torch.nn.Parameter(torch.ones(2)),
    "weight": lambda n: torch.nn.Linear(2, 2).weight,
    "out": lambda n: torch.add(n, n, out=torch.empty(3)),
    "cast": lambda n: n.to(torch.float64),
    "copied": copy.deepcopy,
    "split of one": lambda n: torch.ones(4).split(2)[1],
    "host": lambda n: n.nonzero(),
    "detached": lambda n: torch.ones(2).detach(),
    "data of one": lambda n: torch.ones(2).data,
    "mapped": torch.func.vmap(lambda x: x * 2),
    "recording asked for": lambda n: _with_grad(lambda: torch.ones(2) * n[0]),
}
KEEPERS = {
    "slice": lambda n: n[1:],
    "views": lambda n: n.unbind()[0],
    "reshaped": lambda n: n.reshape(3, 1),
    "expanded": lambda n: n.expand(2, 3),
    "itself": lambda n: n.contiguous(),
    "same dtype": lambda n: n.to(torch.float32),
    "in place": lambda n: n.mul_(1),
    "detached": lambda n: n.detach(),
    "data": lambda n: n.data,
    "transposed": lambda n: n.T,
    "parameter": torch.nn.Parameter,
    "outside again": lambda n: _outside(lambda: torch.ones(2)),
}


def _with_grad(f: Any) -> Any:
    with torch.enable_grad():
        assert torch.is_grad_enabled()
        found = f()
        assert not found.requires_grad
        return found


def _outside(f: Any) -> Any:
    with torch.inference_mode(False):
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        return f()


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("how", MAKERS)
def test_what_is_made_inside_is_marked(how: str) -> None:
    n = torch.ones(3)
    with torch.inference_mode():
        x = MAKERS[how](n)
    assert x.is_inference() and torch.is_inference(x) and not n.is_inference()
    assert not x._is_view()


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("how", KEEPERS)
def test_views_of_ordinary_tensors_are_ordinary(how: str) -> None:
    with torch.inference_mode():
        pass
    n = torch.ones(3)
    with torch.inference_mode():
        x = KEEPERS[how](n)
    assert not x.is_inference()


def test_outside_views_stay_marked_and_results_are_not(made: Any) -> None:
    for same in (
        made.view(-1),
        made[0],
        made.detach(),
        made.data,
        made.contiguous(),
        made.expand(2, -1),
        made.cpu(),
    ):
        assert same.is_inference()
    for other in (
        made.clone(),
        made + 1,
        made.exp(),
        made.to(torch.float64),
        copy.deepcopy(made),
        copy.copy(made),
    ):
        assert not other.is_inference()
    with _file(made) as f:
        assert not torch.load(f).is_inference()


def _file(t: Any) -> io.BytesIO:
    f = io.BytesIO()
    torch.save(t, f)
    f.seek(0)
    return f


WRITES = {
    "add_": lambda a: a.add_(1),
    "+=": lambda a: a.__iadd__(1),
    "zero_": lambda a: a.zero_(),
    "fill_": lambda a: a.fill_(2),
    "copy_": lambda a: a.copy_(torch.zeros(3)),
    "item": lambda a: a.__setitem__(0, 1.0),
    "view": lambda a: a[1:].add_(1),
    "out": lambda a: torch.add(a, a, out=a),
    "foreach": lambda a: torch._foreach_add_([a], 1),
    "random": lambda a: a.uniform_(),
    "reshaped": lambda a: a.unsqueeze_(0),
    "set_": lambda a: a.set_(torch.ones(3)),
}


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("recording", [True, False])
def test_writing_outside_raises(made: Any, how: str, recording: bool) -> None:
    with torch.set_grad_enabled(recording), pytest.raises(RuntimeError, match=INPLACE):
        WRITES[how](made)
    with torch.inference_mode():
        WRITES[how](made)
        assert made.is_inference()
        with torch.inference_mode(False), pytest.raises(RuntimeError, match=INPLACE):
            WRITES[how](made)


SAVERS = {
    "mul": lambda a, g: a * g,
    "view": lambda a, g: a.view(3) * g,
    "div": lambda a, g: g / a,
    "matmul": lambda a, g: a @ g,
    "loss": lambda a, g: torch.nn.functional.mse_loss(g, a),
    "where": lambda a, g: torch.where(a > 0, g, a) * a,
    "function": lambda a, g: _Saving.apply(g, a),
}


class _Saving(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


@pytest.mark.parametrize("how", SAVERS)
def test_saving_for_backward_raises(made: Any, weight: Any, how: str) -> None:
    with pytest.raises(RuntimeError, match=SAVED):
        SAVERS[how](made, weight)
    SAVERS[how](made.clone(), weight)
    with torch.no_grad():
        SAVERS[how](made, weight)


def test_what_saves_nothing_is_recorded(made: Any, weight: Any) -> None:
    y = made + weight
    y.sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0, 1.0]


def test_weights_made_inside(weight: Any) -> None:
    with torch.inference_mode():
        layer = torch.nn.Linear(3, 2)
    assert layer.weight.requires_grad
    layer(torch.ones(1, 3)).sum().backward()  # saves the input alone
    assert layer.weight.grad is not None
    with pytest.raises(RuntimeError, match=SAVED):
        layer(weight)
    with pytest.raises(RuntimeError, match=INPLACE):
        layer.load_state_dict(torch.nn.Linear(3, 2).state_dict())


def test_requiring_grad(made: Any) -> None:
    message = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
    for change in (
        made.requires_grad_,
        lambda: setattr(made, "requires_grad", True),
        lambda: torch.nn.Parameter(made),
    ):
        with pytest.raises(RuntimeError, match=message):
            change()
    assert not made.requires_grad_(False).requires_grad
    assert torch.nn.Parameter(made, requires_grad=False).is_inference()
    with torch.inference_mode():
        assert made.requires_grad_().requires_grad


def test_no_version(made: Any) -> None:
    n = torch.ones(3)
    with torch.inference_mode():
        n.add_(1)
        assert n._version == 1
    for t in (made, made[1:]):
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            _ = t._version


def test_views_made_inside_of_a_leaf(weight: Any) -> None:
    with torch.inference_mode():
        v = weight[1:]
    assert not v.is_inference()
    with pytest.raises(
        RuntimeError,
        match="A view was created in inference mode and is being modified inplace in normal mode",
    ):
        v.add_(1)
    with torch.no_grad():
        v.add_(1)
    assert weight.tolist() == [1.0, 2.0, 2.0]


def test_setting_data(made: Any) -> None:
    n = torch.zeros(3)
    n.data = made
    assert n.is_inference()
    made.data = torch.zeros(3)
    assert not made.is_inference()


def test_gradients_are_not_added_to_marked_ones(made: Any, weight: Any) -> None:
    weight.grad = made
    with pytest.raises(RuntimeError, match=INPLACE):
        (2 * weight).sum().backward()


def test_decorators_and_nesting(weight: Any) -> None:
    @torch.inference_mode()
    def inside(x: Any) -> Any:
        return 2 * x

    @torch.inference_mode
    def bare(x: Any) -> Any:
        return 2 * x

    @torch.inference_mode(mode=False)
    def outside(x: Any) -> Any:
        return 2 * x

    @torch.inference_mode()
    def several() -> Any:
        yield torch.ones(1)
        yield torch.ones(1)

    assert inside(weight).is_inference() and bare(weight).is_inference()
    with torch.no_grad():
        assert outside(weight).requires_grad
    assert all(t.is_inference() for t in several())
    with torch.inference_mode(), torch.no_grad(), torch.inference_mode(False):
        assert torch.is_grad_enabled()
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    assert not torch.ones(1).is_inference()


def test_a_function_called_by_a_plain_call_may_leave_the_mode() -> None:
    from jtorch.dispatch import ACTIVE

    def f(x: float) -> float:
        with torch.inference_mode(False):
            assert not torch.ones(1).is_inference()
        with torch.inference_mode():
            assert torch.ones(1).is_inference()
        return 2 * x

    before = len(ACTIVE.modes)
    with torch.inference_mode():
        x = torch.ones(2)
        x.apply_(f)
        assert torch.ones(1).is_inference()
    assert len(ACTIVE.modes) == before and x.tolist() == [2.0, 2.0]


def test_it_belongs_to_the_thread() -> None:
    found: list[bool] = []
    with torch.inference_mode():
        thread = threading.Thread(target=lambda: found.append(torch.ones(1).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]


def test_modes_and_handlers_inside() -> None:
    from jtorch.overrides import TorchFunctionMode

    seen = []

    class Watching(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with torch.inference_mode(), Watching():
        x = torch.ones(2)
        y = x + 1
    assert seen == ["ones", "add"] and x.is_inference() and y.is_inference()


def test_compiled_results_are_marked() -> None:
    f = torch.compile(lambda x: (x * 2, x[1:]))
    n = torch.ones(3)
    for _ in range(3):
        with torch.inference_mode():
            y, v = f(n)
        assert y.is_inference() and not v.is_inference()


@pytest.mark.parametrize("apart", [lambda x: x.detach(), lambda x: x.data])
def test_detached_tensors_count_for_themselves_outside(made: Any, apart: Any) -> None:
    x = apart(made)
    assert x.is_inference() and x._version == 0
    assert (
        x.add_(1)._version == 1 and made.tolist() == [2, 2, 2] and x.unsqueeze_(0).shape == (1, 3)
    )
    torch.mul(torch.ones(1, 3), 5, out=x)
    assert made.tolist() == [5, 5, 5]
    for refused in (x[0], x.view(-1), made):
        with pytest.raises(RuntimeError, match=INPLACE):
            refused.add_(1)
    with torch.inference_mode():
        inside = apart(made)
    with pytest.raises(RuntimeError, match=INPLACE):
        inside.add_(1)


LOOKS = [
    lambda x: x.view(-1),
    lambda x: x[0],
    lambda x: x.split(1)[1],
    lambda x: x.t()[1:],
    lambda x: x.unbind()[0],
]


@pytest.mark.parametrize("look", LOOKS)
def test_views_made_outside_have_no_history(look: Any) -> None:
    with torch.inference_mode():
        made = torch.ones(2, 3, requires_grad=True)
    found = look(made)
    assert (
        found.is_inference() and not found.requires_grad and found.is_leaf and not found._is_view()
    )
    assert not (found * 2).requires_grad


def test_operands_that_pytorch_does_not_save_may_be_inference_tensors() -> None:
    with torch.inference_mode():
        x = torch.tensor([1.0, -2.0])
    y = torch.tensor([0.5, 0.5], requires_grad=True)
    torch.nn.functional.l1_loss(x, y, reduction="sum").backward()
    assert y.grad is not None
    assert y.grad.tolist() == [-1, 1]
    torch.nn.functional.rms_norm(x, (2,), y).sum().backward()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        torch.nn.functional.mse_loss(x, y)
