"""Views made before their base came to require grad: what is taken of them later has a history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import jtorch as torch
from jtorch import Tensor

OF_VIEWS = {
    "view": lambda t: t.view(3, 2),
    "row": lambda t: t[0],
    "part": lambda t: t[1:],
    "diagonal": lambda t: t.diagonal(),
    "split": lambda t: t.split(2)[1],
    "narrow": lambda t: t.narrow(0, 1, 2),
    "transposed": lambda t: t.t(),
    "expanded": lambda t: t.expand(6, 3),
    "strided": lambda t: t.as_strided((2, 2), (1, 1)),
}


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
@pytest.mark.parametrize("name", OF_VIEWS)
def test_views_of_views_written_to(name: str, mode: str) -> None:
    take: Callable[[Tensor], Tensor] = OF_VIEWS[name]
    with torch.execution(mode):
        base = torch.tensor([1.0, 2, 3, 4, 5, 6])
        part = base.view(6, 1)
        part.add_(1)
        base.requires_grad_()
        found = take(part)
        assert found.requires_grad and not found.is_leaf
        found.sum().backward()
        counts = torch.zeros(6, 1)
        take(counts).add_(1) if name not in ("expanded", "strided") else counts.add_(3)
        if name == "strided":
            counts = torch.tensor([1.0, 2, 1, 0, 0, 0])
        assert base.grad.tolist() == counts.flatten().tolist()


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_views_of_views_not_written_to_have_a_history_that_ends_there(mode: str) -> None:
    with torch.execution(mode):
        base = torch.arange(6.0)
        part = base.view(3, 2)
        base.requires_grad_()
        found = part[0]
        assert found.requires_grad and found.grad_fn is not None
        found.sum().backward()


@pytest.mark.parametrize("turn", ["t_", "unsqueeze_"])
def test_base_that_has_become_like_its_view(turn):
    x = torch.arange(6.0).reshape(2, 3).clone()
    view = x.t() if turn == "t_" else x.unsqueeze(0)
    x.t_() if turn == "t_" else x.unsqueeze_(0)
    x.requires_grad_()
    assert (
        view.requires_grad
        and not view.is_leaf
        and type(view.grad_fn).__name__ == "AsStridedBackward0"
    )
    (view * view).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


@pytest.mark.parametrize(
    "write",
    [lambda v: v.bitwise_left_shift_(1), lambda v: v.zero_(), lambda v: v.__setitem__(0, 1)],
)
def test_integers_of_a_late_base_may_be_written(write):
    x = torch.tensor([1.0, 2.0])
    view = x.view(torch.int32)
    x.requires_grad_()
    write(view)
    assert not view.requires_grad and x.tolist() != [1.0, 2.0]
    assert torch.equal(x.detach().view(torch.int32), view)


@pytest.mark.parametrize(
    "stop",
    [lambda x: x.detach_(), lambda x: x.requires_grad_(False)],
    ids=["detach_", "requires_grad_"],
)
@pytest.mark.parametrize("asked", [True, False])
def test_views_stop_with_a_base_that_came_to_require_grad(
    stop: Callable[[Tensor], object], asked: bool
) -> None:
    x = torch.ones(2, 3)
    v = x[:1]
    x.requires_grad_()
    if asked:
        assert v.requires_grad
    assert (v * 2).requires_grad
    stop(x)
    assert not v.requires_grad
    assert not (v * 2).requires_grad
    v.exp_()  # no view of a leaf that requires grad
    assert x[0, 0].item() == pytest.approx(2.7182817)
    assert x.requires_grad_() is x
    assert v.requires_grad


def test_a_view_that_a_write_into_its_base_gave_a_history_is_no_leaf_any_more() -> None:
    base = torch.ones(3, 2)
    v = base[:2].requires_grad_()
    loss = (v * 2).sum()
    base[2] = v[0] * 3
    assert not v.is_leaf
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        loss.backward()
