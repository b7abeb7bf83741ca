"""``make_fx``: functions as graphs of operators."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx


def targets(graph_module):
    return [str(n.target) for n in graph_module.graph.nodes if n.op == "call_function"]


def test_operators_of_a_function():
    found = make_fx(lambda x, y: (x @ y).relu() + 1)(torch.ones(2, 3), torch.ones(3, 2))
    assert targets(found) == ["aten.mm.default", "aten.relu.default", "aten.add.Tensor"]
    assert [n.name for n in found.graph.nodes if n.op == "placeholder"] == ["x_1", "y_1"]
    assert found(-torch.ones(2, 3), torch.ones(3, 2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_gradients_are_operators_too():
    def f(x):
        return torch.func.grad(lambda z: (z.sin() * z).sum())(x)

    found = make_fx(f)(torch.zeros(3))
    assert "aten.cos.default" in targets(found)
    assert [n.op for n in found.graph.nodes].count("get_attr") == 0
    x = torch.tensor([0.5, 1.0, 2.0])
    assert torch.allclose(found(x), x.sin() + x * x.cos())


def test_tensors_from_outside():
    linear, shift = torch.nn.Linear(3, 2), torch.ones(2)
    found = make_fx(lambda x: linear(x) + shift)(torch.ones(1, 3))
    assert [n.target for n in found.graph.nodes if n.op == "get_attr"] == [
        "_param_constant0",
        "_param_constant1",
        "_tensor_constant0",
    ]
    assert found._param_constant0 is linear.weight
    x = torch.rand(4, 3)
    assert torch.equal(found(x), linear(x) + 1)


def test_nested_arguments_and_results():
    found = make_fx(lambda d: (d["a"] + d["b"][0], {"o": d["a"]}))(
        {"a": torch.ones(2), "b": [torch.ones(2)]}
    )
    total, rest = found({"a": torch.tensor([1.0, 2.0]), "b": [torch.tensor([3.0, 4.0])]})
    assert (total.tolist(), rest["o"].tolist()) == ([4.0, 6.0], [1.0, 2.0])


def test_changes_in_place_stay():
    def f(x):
        y = x.clone()
        y.t()[0].mul_(3)
        return y

    found = make_fx(f)(torch.ones(2, 2))
    assert "aten.mul_.Tensor" in targets(found)
    assert found(torch.ones(2, 2)).tolist() == [[3.0, 1.0], [3.0, 1.0]]


def test_decompositions():
    table = {torch.ops.aten.relu.default: lambda x: x.clamp(min=0)}
    assert targets(make_fx(torch.relu, table)(torch.ones(2))) == ["aten.clamp.default"]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(lambda x: x if x.sum() > 0 else -x)(torch.ones(1))
    assert get_proxy_mode() is None
    with pytest.raises(ValueError, match="Unexpected tracing type: x"):
        make_fx(torch.sin, tracing_mode="x")
    scale = make_fx(lambda x: x * torch.tensor(2.0).item())(torch.ones(1))
    assert scale(torch.ones(1)).item() == 2.0


def test_tracing_without_data_and_without_sizes():
    def f(x, y):
        return (x.view(-1) * x.shape[0]).sum() + (x @ y.t()).sum(), torch.zeros(
            x.shape[0] * 2 + 1, x.shape[1] // 2
        )

    fake = make_fx(f, tracing_mode="fake")(torch.ones(3, 4), torch.ones(5, 4))
    assert "aten.sym_size.int" not in targets(fake)
    graph = make_fx(f, tracing_mode="symbolic")(torch.ones(3, 4), torch.ones(5, 4))
    assert targets(graph).count("aten.sym_size.int") == 2
    assert graph.shape_env.guards == []
    for shape in ((3, 4), (2, 7)):
        x, y = torch.randn(shape), torch.randn(3, shape[1])
        torch.testing.assert_close(graph(x, y), f(x, y))
    net = torch.nn.Linear(4, 2)
    guarded = make_fx(net, tracing_mode="symbolic")(torch.ones(3, 4))
    assert [str(g) for g in guarded.shape_env.guards] == ["s1 == 4"]


def test_gradients_that_are_given_have_symbolic_sizes():
    def f(x):
        y = torch.cond(x.sum() > 0, lambda x: x * x, lambda x: x.clone(), (x,))
        return torch.autograd.grad((x * 3, y), (x,), (torch.ones_like(x), torch.full_like(y, 2.0)))

    graph = make_fx(f, tracing_mode="symbolic")(torch.ones(4, requires_grad=True))
    assert graph.shape_env.guards == []
    assert graph(torch.tensor([1.0, 2.0], requires_grad=True))[0].tolist() == [7.0, 11.0]
    with pytest.raises(
        RuntimeError,
        match=r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[2\]\) and "
        r"output\[0\] has",
    ):
        make_fx(lambda x: torch.autograd.grad(x * 3, x, torch.ones(2)), tracing_mode="symbolic")(
            torch.ones(4, requires_grad=True)
        )


def test_composite_operators_can_stay_whole():
    net = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Dropout())
    graph = make_fx(net, tracing_mode="fake", pre_dispatch=True)(torch.ones(3, 4))
    assert targets(graph) == ["aten.linear.default", "aten.dropout.default"]


def test_gradients_of_branches_are_branches():
    w = torch.tensor(2.0, requires_grad=True)

    def f(x):
        y = x * 2
        out, _ = torch.cond(
            x.sum() > 0,
            lambda t, k: (t.sin() * y * w, k + 1),
            lambda t, k: (t * w, k - 1),
            (x, torch.tensor(3)),
        )
        return torch.autograd.grad(out.sum(), (x, w))

    ahead, back = (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([-1.0, -2.0], requires_grad=True),
    )
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(f, tracing_mode=mode)(ahead)
        for x in (ahead, back):
            for found, wanted in zip(graph(x), f(x), strict=True):
                torch.testing.assert_close(found, wanted)


def test_sizes_that_are_equal_in_the_example_may_be_symbols_of_their_own():
    def sizes(x, y):
        return x.shape[0], x.shape[1], y.shape[0]

    given = torch.ones(3, 3), torch.ones(3)
    others = torch.ones(4, 5), torch.ones(6)
    assert make_fx(sizes, tracing_mode="symbolic")(*given)(*others) == (4, 4, 4)
    with torch.fx.experimental._config.patch(use_duck_shape=False):
        graph = make_fx(sizes, tracing_mode="symbolic")(*given)
    assert graph(*others) == (4, 5, 6)


def test_orders_of_products_and_dimensions_given_as_arguments_under_symbolic_sizes():
    a, b, c, d = (torch.rand(n, n + 1) for n in range(5, 9))
    for factors in ([a, b, c], [a, b, c, d]):
        graph = make_fx(lambda *x: torch.linalg.multi_dot(x), tracing_mode="symbolic")(*factors)
        assert torch.allclose(graph(*factors), torch.linalg.multi_dot(factors))
    for f in (
        lambda x, dim: torch.fft.fftshift(x, dim=(dim, 0)),
        lambda x, dim: torch.masked.var(x, dim=dim),
    ):
        assert torch.allclose(make_fx(f, tracing_mode="symbolic")(a, -1)(a, -1), f(a, -1))
