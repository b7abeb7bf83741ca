"""What programs do beside calling functions, with a function as backend of ``torch.compile``: as
without it, in few graphs."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn
from jtorch._dynamo.exc import Unsupported
from jtorch.autograd import forward_ad
from jtorch.nn import functional as F
from jtorch.utils._pytree import tree_leaves
from jtorch.utils.checkpoint import checkpoint


class Scaled(torch.autograd.Function):
    """A gradient that no formula of ``forward`` has."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, k: float = 2) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.k = k
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * ctx.k, None


class Called(torch.autograd.Function):
    """One that is given what no graph can hold."""

    @staticmethod
    def forward(ctx: Any, f: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
        return f(x)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return None, g * 7


class Written(torch.autograd.Function):
    """One that writes to its argument."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * 7


def by_a_tensor(x: torch.Tensor, i: torch.Tensor) -> Any:
    y = x.clone()
    y[i] += 1
    y[:, i] = 4
    y[i, 0] *= 2
    return x[i] * 2, x[..., i], x[None, i], x[i, 1:], y


def by_masks(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[y > 0] = 3
    y[torch.tensor([True, False, True])] = 1
    return y


def in_other_precision(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = F.linear(x, x)
        b = a.softmax(-1)
        with torch.autocast("cpu", enabled=False):
            c = x @ x.t()
        with torch.autocast("cpu", dtype=torch.float16):
            d = x @ x.t()
    return a, b, c, d, x @ x.t()


def custom(x: torch.Tensor) -> torch.Tensor:
    y = Scaled.apply(x * 2) + Scaled.apply(x, 5.0)
    with torch.no_grad():
        z = Scaled.apply(x)
    return Scaled.apply(y) * z


def checkpointed(x: torch.Tensor) -> torch.Tensor:
    y = checkpoint(lambda t: t.sin() * 2, x, use_reentrant=True)
    return checkpoint(lambda t: t.cos(), y, use_reentrant=False) + 1


def numbers_of_numpy(x: torch.Tensor) -> Any:
    return x * np.float32(2) + np.int64(3), x * np.float64(1.5)


def hooked(x: torch.Tensor) -> torch.Tensor:
    net = nn.Linear(3, 3)
    with torch.no_grad():
        net.weight.fill_(0.5)
    net.register_full_backward_hook(lambda m, grads, given: (grads[0] * 5,))
    return net(x) - net.bias


def called(x: torch.Tensor) -> torch.Tensor:
    return Called.apply(lambda t: t.sin(), x * 2) + 1


def written(x: torch.Tensor) -> Any:
    y = x * 1
    return Written.apply(y) * 2, y


def packed(x: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        return (x + 1).sin()


def walked(x: torch.Tensor) -> Any:
    y = (x * 2).detach().clone().requires_grad_()
    z = torch.ones(3, requires_grad=True)
    (y * z * 3).sum().backward()
    return y.grad, z.grad, y * x, torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]


def trained(x: torch.Tensor) -> Any:
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(0.3)
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x.detach()), x.detach())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net[0].weight.detach()


def transformed(x: torch.Tensor) -> Any:
    s = x * 2
    value, pull = torch.func.vjp(torch.sin, s)
    gradient = torch.func.grad(lambda t: (t**2 * s).sum())(x)
    second = torch.func.hessian(lambda t: (t**3).sum())(s[0])
    pushed = torch.func.jvp(torch.sin, (s,), (s * 1,))
    return (
        torch.vmap(lambda r: (r * s).sum(0))(x) + s,
        gradient,
        second,
        pull(torch.ones_like(value) * s)[0],
        pushed,
    )


LAYER = nn.Linear(3, 2)


def transformed_more(x: torch.Tensor) -> Any:
    k = x.sum(0)
    with torch.no_grad():
        flat = torch.func.grad(lambda t: (t**3).sum())(x)
    state = {name: p.detach() for name, p in LAYER.named_parameters()}
    loss = torch.func.grad(lambda p, r: torch.func.functional_call(LAYER, p, (r,)).pow(2).sum())
    picked = torch.vmap(lambda d, i: d["a"][i] * 2, in_dims=({"a": 0}, 0), out_dims=0)(
        {"a": x * k}, torch.tensor([2, 0, 1])
    )
    out, push = torch.func.linearize(torch.sin, x)
    return (
        torch.vmap(loss, in_dims=(None, 0))(state, x),
        picked,
        flat.requires_grad,
        flat,
        out,
        push(x * 1),
        torch.vmap(torch.dot)(x, x),
    )


def by_jacobian(x: torch.Tensor) -> Any:
    return torch.autograd.functional.jacobian(lambda t: t.sum(0), x.detach() * 2)


def branched(x: torch.Tensor) -> Any:
    y = x * 3
    a = torch.cond(x.sum() > 0, lambda t: t * y, lambda t: t - y, (x,))
    return (
        a,
        torch.cond(x.shape[0] > 1, lambda t: t.sin(), lambda t: t.cos(), (x,)),
        torch.cond(x.sum() < 0, lambda: y * 2, lambda: y - 1),
    )


def hooked_results(x: torch.Tensor) -> torch.Tensor:
    w = x.detach() * 3
    x.register_hook(lambda g: g * 2)
    y = x * 2
    y.register_hook(lambda g: g * w)
    gone = y.register_hook(lambda g: g * 100)
    gone.remove()
    return y.sin()


_AS_WRITTEN: dict[str, Any] = {"torch": torch, "__name__": __name__}
exec(  # (pytest rewrites what is asserted in this file)
    """
def asserted(x):
    assert torch.isfinite(x).all(), "finite"
    torch._assert_async(x.sum() > -9)
    return x + 1
""",
    _AS_WRITTEN,
)
asserted = _AS_WRITTEN["asserted"]


def described(x: torch.Tensor) -> Any:
    y = x * 2
    return (
        y.shape,
        y.shape[1:],
        str(y.size()),
        type(y.shape).__name__,
        y.type(),
        y,
        x.grad is None,
        x + torch.tensor(2.0).item(),
    )


def from_numpy(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor(np.arange(3, dtype=np.float32))


def with_tangents(x: torch.Tensor) -> torch.Tensor:
    y = x.detach() * 2
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(y, y + 1).sin() * 2).tangent


def read(x: torch.Tensor) -> Any:
    y = (x * 2).detach()
    file = io.BytesIO()
    torch.save(y, file)
    file.seek(0)
    z = (x * 3).detach()
    return (
        str(y), f"{y[0, 0]:.3f}", (y * 1).tolist(), y.numpy().tolist(),
        y.data_ptr() == y.data_ptr() != 0, torch.load(file) + 1, copy.deepcopy(z) + 1,
        copy.copy(z) + 1,
    )  # fmt: skip


def begun_elsewhere(x: torch.Tensor, i: torch.Tensor) -> Any:
    return x[i].storage_offset(), x[i] + 1


def drawn(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand(3, generator=torch.Generator().manual_seed(1))


def made_parameter(x: torch.Tensor) -> torch.Tensor:
    return x * nn.Parameter(torch.ones(3)) + nn.ParameterList([torch.ones(3)])[0]


TWO = torch.tensor(2)


@pytest.mark.parametrize(
    ("f", "given"),
    [(by_a_tensor, (TWO,)), (by_a_tensor, (torch.tensor(-1),)), (by_masks, ()),
     (in_other_precision, ()), (custom, ()), (checkpointed, ()),
     (numbers_of_numpy, ()), (transformed, ()), (transformed_more, ()), (branched, ()),
     (hooked_results, ()), (asserted, ()), (described, ()), (from_numpy, ())],
)  # fmt: skip
def test_one_graph(f: Any, given: Any) -> None:
    assert compared(f, given, fullgraph=True) == 1


@pytest.mark.parametrize(
    ("f", "given"),
    [(hooked, ()), (called, ()), (written, ()), (packed, ()), (walked, ()), (trained, ()),
     (transformed, ()), (by_jacobian, ()),
     (with_tangents, ()), (read, ()), (begun_elsewhere, (TWO,)), (drawn, ()), (made_parameter, ())],
)  # fmt: skip
def test_as_without_a_backend(f: Any, given: Any) -> None:
    compared(f, given)


def compared(f: Any, given: Any, fullgraph: bool = False) -> int:
    """Results and gradients, twice, with as many graphs the second time as the first, which is
    returned."""
    graphs: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return module.forward

    compiled = torch.compile(f, backend=backend, fullgraph=fullgraph)
    for _ in range(2):
        x, y = (torch.linspace(-1, 2, 9).reshape(3, 3).requires_grad_() for _ in range(2))
        found, wanted = tree_leaves(compiled(x, *given)), tree_leaves(f(y, *given))
        for a, b in zip(found, wanted, strict=True):
            assert type(a) is type(b)
            assert (
                a == b
                if not isinstance(a, torch.Tensor)
                else torch.testing.assert_close(a, b) is None
            )
        for out in (found, wanted):
            parts = [
                p.float().sum() for p in out if isinstance(p, torch.Tensor) and p.requires_grad
            ]
            if parts:
                sum(parts[1:], parts[0]).backward()
        torch.testing.assert_close(x.grad, y.grad)
    return len({id(g) for g in graphs})


@pytest.mark.parametrize("f", [by_jacobian, packed, with_tangents, drawn, made_parameter])
def test_what_no_graph_holds_is_named(f: Any) -> None:
    with pytest.raises(
        Unsupported,
        match=r"cannot be one graph: "
        r"(torch\.autograd|saved|forward|rand|nn\.Parameter|__set|.*Generator)",
    ):
        torch.compile(f, backend=lambda module, inputs: module.forward, fullgraph=True)(
            torch.ones(3, 3)
        )


def test_graphs_begun_in_other_precision_are_others() -> None:
    compiled = torch.compile(lambda x: x @ x, backend=lambda module, inputs: module.forward)
    x = torch.eye(2)
    with torch.autocast("cpu"):
        assert compiled(x).dtype is torch.bfloat16
    assert compiled(x).dtype is torch.float32


def test_inside_transformations_the_function_is_run_as_it_is() -> None:
    compiled = torch.compile(lambda x: x.sin() * 2, backend=lambda module, inputs: module.forward)
    x = torch.linspace(0, 1, 6).reshape(2, 3)
    torch.testing.assert_close(torch.vmap(compiled)(x), x.sin() * 2)
    torch.testing.assert_close(torch.func.grad(lambda t: compiled(t).sum())(x), x.cos() * 2)


def test_what_a_graph_asserts_is_checked() -> None:
    compiled = torch.compile(
        asserted, backend=lambda module, inputs: module.forward, fullgraph=True
    )
    assert compiled(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="finite"):
        compiled(torch.tensor([float("nan")]))


@pytest.mark.parametrize(
    ("f", "words"),
    [(lambda x: torch.func.vjp(torch.sin, x), "is a result"),
     (torch.vmap(lambda r: r if r.sum() > 0 else -r), "Eq"),
     (torch.vmap(lambda r: r + torch.rand(3)), "randomness"),
     (torch.func.grad(torch.sin), "scalar Tensor")],
)  # fmt: skip
def test_functions_that_no_graph_holds_are_refused(f: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        torch.compile(f, backend=lambda module, inputs: module.forward, fullgraph=True)(
            torch.ones(2, 3)
        )


def test_functions_of_arrays_take_tensors() -> None:
    doubled = torch.compiler.wrap_numpy(lambda a, more: {"a": np.sin(a) * 2, "n": more["b"].sum()})
    found = doubled(torch.zeros(2), {"b": torch.ones(3)})
    assert found["a"].tolist() == [0, 0]
    assert found["n"] == 3


def test_compilers_of_operators_see_hooks_and_branches() -> None:
    from jtorch._functorch.aot_autograd import aot_autograd, make_boxed_func

    def f(x: torch.Tensor, scale: float | None) -> torch.Tensor:
        torch._assert_async((x < 9).all())
        y = torch.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (x,)) + torch.vmap(
            torch.func.grad(lambda t: (t**3).sum())
        )(x)
        w = x.detach() * 5
        y.register_hook((lambda g: g * w) if scale is None else (lambda g: g * scale))
        return y

    compiled = torch.compile(
        f,
        backend=aot_autograd(fw_compiler=lambda module, inputs: make_boxed_func(module.forward)),
        fullgraph=True,
    )
    for start, scale in ((1, 3.0), (-3, 3.0), (1, 2.0)):
        x, y = (torch.arange(start, start + 2.0)[:, None].requires_grad_() for _ in range(2))
        compiled(x, scale).sum().backward()
        f(y, scale).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
    with pytest.raises(NotImplementedError, match="uses tensors from outside"):
        compiled(torch.ones(2, 1, requires_grad=True), None)


def test_gradients_of_custom_functions_reach_compilers_of_operators() -> None:
    from jtorch._functorch.aot_autograd import aot_autograd, make_boxed_func

    compiled = torch.compile(
        lambda x: Scaled.apply(x * 2),
        backend=aot_autograd(fw_compiler=lambda module, inputs: make_boxed_func(module.forward)),
    )
    x = torch.linspace(0, 1, 3).requires_grad_()
    compiled(x).sum().backward()
    torch.testing.assert_close(x.grad, (2 * x.detach()) * 2 * 2)
