"""Gradients of branches and loops in traced graphs: the graph knows the operator, whatever the
example's data decided."""

import pytest

import jtorch as torch
from jtorch._higher_order_ops import map as mapped
from jtorch._higher_order_ops import scan, while_loop
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.fx.experimental.proxy_tensor import make_fx


def cond(x, y):
    return torch.cond(
        x.sum() > 0,
        lambda a: torch.cond(y.sum() > 100, lambda b: b * y, lambda b: b.sin() - y * b, (a,)),
        torch.cos,
        (x,),
    )


def scanned(x, y):
    last, all_ = scan(lambda c, r: (c * r + y, c.sin() * r), torch.ones(4), x)
    return last + all_


def lines(x, y):
    return mapped(lambda r, v: (r * v).sin() + r, x, y)


def first(f):
    def gradients(x, y):
        out = f(x, y)
        return torch.autograd.grad((out * out).sum(), (x, y), materialize_grads=True)

    return gradients


def second(f):
    def gradients(x, y):
        (g,) = torch.autograd.grad(f(x, y).sum(), x, create_graph=True)
        return torch.autograd.grad((g * g).sum(), (x, y), materialize_grads=True)

    return gradients


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize(
    "gradients", [first(cond), first(lines), first(scanned), second(cond), second(lines)]
)
def test_gradients_are_those_of_the_branch_that_is_taken(gradients, mode):
    x, y = (
        (torch.arange(1.0, 13.0).reshape(3, 4) / 6).requires_grad_(),
        (torch.arange(4.0) / 3 + 0.1).requires_grad_(),
    )
    graph = make_fx(gradients, tracing_mode=mode, _allow_non_fake_inputs=True)(x, y)
    for sign in (1.0, -1.0):
        given = (x.detach() * sign).requires_grad_()
        for found, wanted in zip(graph(given, y), gradients(given, y), strict=True):
            torch.testing.assert_close(found, wanted)


def test_what_has_no_gradient_is_refused_when_it_is_asked_for():
    def looped(x):
        return while_loop(lambda v: v.sum() < 10, lambda v: (v + x,), (x * 1,))[0]

    x = torch.ones(3, requires_grad=True)
    assert make_fx(looped)(x)(x).tolist() == [4.0, 4.0, 4.0]
    with pytest.raises(NotImplementedError, match=r"the gradient of torch\.while_loop"):
        make_fx(lambda x: torch.autograd.grad(looped(x).sum(), x))(x)
    with pytest.raises(NotImplementedError, match=r"the gradient of a gradient of torch\.scan"):
        make_fx(second(scanned))(
            torch.ones(3, 4, requires_grad=True), torch.ones(4, requires_grad=True)
        )


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach() * 2, x.detach() * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * 3


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_functions_with_results_that_are_not_used(mode):
    x = torch.ones(2, 3, requires_grad=True)
    graph = make_fx(lambda x: torch.autograd.grad(Twice.apply(x)[1].sum(), x), tracing_mode=mode)(x)
    assert graph(torch.ones(2, 3))[0].tolist() == [[3.0] * 3] * 2


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_functionalized_loops_are_loops(mode):
    def moved(x):
        y = x.clone()
        y.view(-1).add_(1)
        return (y,)

    def looped(x):
        return while_loop(lambda v: v.clone().add_(1).sum() < 10, moved, (x,))[0]

    graph = make_fx(torch.func.functionalize(looped), tracing_mode=mode)(torch.zeros(1))
    assert graph(torch.zeros(1)).tolist() == [9.0] and graph(torch.full((1,), 20.0)).tolist() == [
        20.0
    ]
    assert "add_" not in graph.code + graph.while_loop_body_graph_0.code


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_conditions_from_outside_of_tensors_without_data(mode):
    holds = torch.tensor(False)
    graph = make_fx(
        lambda x: torch.cond(holds, torch.sin, torch.cos, (x,)),
        tracing_mode=mode,
        _allow_non_fake_inputs=True,
    )(torch.zeros(2))
    assert graph(torch.zeros(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("f", [cond, lines, scanned])
def test_gradients_of_tensors_without_data(f):
    with FakeTensorMode(allow_non_fake_inputs=True):
        x, y = torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        assert [g.shape for g in first(f)(x, y)] == [x.shape, y.shape]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_branches_in_branches_take_several_tensors_from_outside(mode):
    holds, x = [torch.tensor(b) for b in (False, True, False)], torch.ones(2, 3)

    def chosen(level=0):
        if level == 3:
            return x.sum()
        return torch.cond(
            holds[level], lambda: chosen(level + 1) + 1, lambda: chosen(level + 1) * 3, ()
        )

    graph = make_fx(chosen, tracing_mode=mode, _allow_non_fake_inputs=True)()
    assert graph().item() == chosen().item() == 57.0
    assert "detach" not in graph.code
