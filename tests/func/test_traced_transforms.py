"""Dispatch modes around ``vmap``, ``jvp`` and their like: they see what runs on the tensors
outside, so that graphs hold nothing back."""

import pytest

import jtorch as torch
from jtorch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.utils._python_dispatch import TorchDispatchMode

W = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-2.0, 1.0, 0.75]])


def rows(x):
    return (x @ x.T).softmax(-1).sum(0)


def normed(x):
    return torch.nn.functional.layer_norm(x @ W, (3,)).square().sum()


def written(x):
    y = x.clone()
    y[0] = 3
    y[1:].mul_(x[1:])
    return y.sum()


def several(x):
    return x.topk(2, -1)[0] * x.max(), torch.where(x > 0, x, x.exp()).cumsum(0)[
        torch.tensor([1, 0])
    ]


def pushed(x):
    return jvp(rows, (x,), (x * 2,))


TRACED = {
    "vmap": (vmap(rows), (2, 4, 3)),
    "vmap along the second": (vmap(rows, in_dims=1), (4, 2, 3)),
    "vmap in vmap": (vmap(vmap(several)), (2, 2, 4, 3)),
    "vmap that writes": (vmap(written), (2, 4, 3)),
    "vmap of grad": (vmap(grad(normed)), (2, 4, 3)),
    "grad that writes": (grad(written), (4, 3)),
    "jvp": (pushed, (4, 3)),
    "jacrev": (jacrev(rows), (4, 3)),
    "jacfwd": (jacfwd(several), (4, 3)),
    "jacrev twice": (jacrev(jacrev(lambda x: x.sin().sum())), (3,)),
    "hessian": (hessian(normed), (2, 3)),
}


def flat(x):
    return torch.utils._pytree.tree_leaves(x)


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", TRACED)
def test_graphs_of_transformed_functions_compute_with_their_own_inputs(name, mode):
    f, shape = TRACED[name]
    traced = make_fx(f, tracing_mode=mode)(torch.randn(shape))
    x = torch.randn(shape)
    for found, expected in zip(flat(traced(x)), flat(f(x)), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(
            (str(func), [tuple(a.shape) for a in args if isinstance(a, torch.Tensor)])
        )
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_the_tensors_of_all_examples():
    a, b = torch.ones(4, 3), torch.ones(2, 3)
    with Seen() as outside:
        vmap(torch.mul, in_dims=(0, None))(a, b)
    assert outside.calls == [
        ("aten.view.default", [(4, 3)]),
        ("aten.mul.Tensor", [(4, 1, 3), (2, 3)]),
    ]


def test_a_mode_entered_inside_sees_them_too():
    seen = Seen()

    def f(x):
        with seen:
            return x.sin()

    out = vmap(f)(torch.ones(4, 3))
    assert seen.calls == [("aten.sin.default", [(4, 3)])]
    assert out.shape == (4, 3)


def test_what_a_mode_answers_goes_on_inside():
    class Negative(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return -out if func is torch.ops.aten.sin.default else out

    x = torch.tensor([0.5, 1.0])
    with Negative():
        out = vmap(lambda a: a.sin() + 1)(x)
    torch.testing.assert_close(out, 1 - x.sin())


def test_tangents_are_seen_as_values_are():
    x, t = torch.zeros(3), torch.ones(3)
    with Seen() as seen:
        value, tangent = jvp(torch.sin, (x,), (t,))
    assert len(seen.calls) == 2
    assert seen.calls[0] == ("aten.sin.default", [(3,)])
    torch.testing.assert_close((value, tangent), (torch.zeros(3), torch.ones(3)))


def test_forward_derivatives_pass_through_operators_of_backward():
    x, t = torch.randn(2, 3, dtype=torch.double), torch.randn(2, 3, dtype=torch.double)
    g = torch.randn(2, 3, dtype=torch.double)

    def back(a):
        _, mean, rstd = torch.ops.aten.native_layer_norm(a, [3], None, None, 1e-5)
        return torch.ops.aten.native_layer_norm_backward(
            g, a, [3], mean, rstd, None, None, [True, False, False]
        )[0]

    _, tangent = jvp(back, (x,), (t,))
    step = 1e-6
    torch.testing.assert_close(
        tangent, (back(x + step * t) - back(x - step * t)) / (2 * step), rtol=1e-5, atol=1e-6
    )
