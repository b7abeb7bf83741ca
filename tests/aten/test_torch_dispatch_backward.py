"""Autograd above ``__torch_dispatch__``: history on wrappers, backward operators, and gradients
that are wrappers."""

from __future__ import annotations

from typing import Any

import pytest
from dispatching import Noting, names, wrapper  # type: ignore[import-not-found]

import jtorch as torch
import jtorch.nn.functional as F


def operators(log: list[Any]) -> list[str]:
    """The names in a log, without ``detach``."""
    return [n.removeprefix("aten.") for n in names(log) if n != "aten.detach.default"]


def leaf(W: Any, *values: float) -> Any:
    return W(torch.tensor(values), requires_grad=True)


def test_history_is_the_wrappers():
    W = wrapper()
    x = leaf(W, 3.0)
    y = x * x
    assert (x.is_leaf, y.is_leaf, y.requires_grad, y.elem.requires_grad) == (
        True,
        False,
        True,
        False,
    )
    assert y.grad_fn.name() == "MulBackward0"
    assert x.exp().grad_fn.name() == "ExpBackward0"
    with torch.no_grad():
        assert not (x * 2).requires_grad
    assert not (x > 1).requires_grad


def test_square_and_its_gradient():
    W = wrapper()
    x = leaf(W, 3.0)
    y = x * x
    W.log.clear()
    (g,) = torch.autograd.grad(y, x, W(torch.ones(1)))
    assert operators(W.log) == ["mul.Tensor", "mul.Tensor", "add.Tensor"]
    assert type(g) is W
    assert g.elem.tolist() == [6.0]


def test_backward_stores_a_wrapper():
    W = wrapper()
    x = leaf(W, 1.0, 2.0)
    y = (x * 2).sum()
    W.log.clear()
    y.backward()
    assert [n.removeprefix("aten.") for n in names(W.log)] == [
        "ones_like.default", "expand.default", "mul.Tensor", "detach.default"
    ]  # fmt: skip
    assert type(x.grad) is W
    assert x.grad.elem.tolist() == [2.0, 2.0]
    grad = x.grad
    (x * 3).sum().backward()
    assert x.grad is grad
    assert names(W.log)[-1] == "aten.add_.Tensor"
    assert grad.elem.tolist() == [5.0, 5.0]


def test_saving_results_detaches():
    W = wrapper()
    x = leaf(W, 1.0)
    x.exp()
    assert names(W.log) == ["aten.exp.default", "aten.detach.default"]
    W.log.clear()
    x.sin()
    assert names(W.log) == ["aten.sin.default"]


FORMULAS: dict[str, Any] = {
    "threshold_backward.default": F.relu,
    "gelu_backward.default": F.gelu,
    "tanh_backward.default": torch.tanh,
    "sigmoid_backward.default": torch.sigmoid,
    "_softmax_backward_data.default": lambda x: F.softmax(x, 1),
    "_log_softmax_backward_data.default": lambda x: F.log_softmax(x, 1),
    "native_layer_norm_backward.default": lambda x: F.layer_norm(x, (3,)),
    "select_backward.default": lambda x: x[0],
    "slice_backward.default": lambda x: x[:, 1:],
    "new_zeros.default index_put.default": lambda x: x[torch.tensor([0, 0])],
    "div.Scalar": lambda x: x.mean(1, keepdim=True).expand(2, 3),
    "t.default mm.default t.default": lambda x: F.linear(torch.ones(5, 3), x),
    "neg.default": lambda x: 1 - x,
    "pow.Tensor_Scalar mul.Scalar mul.Tensor": lambda x: x**3,
    "view.default": lambda x: x.view(6),
    "permute.default": lambda x: x.permute(1, 0),
    "unsqueeze.default expand.default": lambda x: x.sum(1),
    "sin.default neg.default mul.Tensor": torch.cos,
    "max_pool2d_with_indices_backward.default": lambda x: F.max_pool2d(x.view(1, 1, 2, 3), 2),
}


@pytest.mark.parametrize("want", FORMULAS)
def test_formulas_are_operators(want):
    W, f = wrapper(), FORMULAS[want]
    data = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
    x = W(data, requires_grad=True)
    y = f(x)
    g = torch.ones(y.shape) * 2
    W.log.clear()
    (found,) = torch.autograd.grad(y, x, W(g))
    assert want in " ".join(operators(W.log))
    p = data.clone().requires_grad_()
    (expected,) = torch.autograd.grad(f(p), p, g)
    assert torch.allclose(found.elem, expected, atol=1e-6)


def test_a_filled_value_has_a_gradient_once_per_place():
    W = wrapper()
    value = W(torch.tensor(2.0), requires_grad=True)
    y = torch.ones(4, 3).index_fill(0, torch.tensor([0, 2, 2]), value)
    (found,) = torch.autograd.grad(y, value, W(torch.ones(4, 3)))
    assert found.elem.item() == 6


@pytest.mark.parametrize("wanted", [(False, False), (True, False), (False, True)])
def test_unique_gives_what_is_asked_for(wanted):
    x = torch.tensor([3, 1, 3, 2])
    found, inverse, counts = torch.ops.aten._unique2(x, True, *wanted)
    assert found.tolist() == [1, 2, 3]
    assert inverse.tolist() == ([2, 0, 2, 1] if wanted[0] else [])
    assert counts.tolist() == ([1, 1, 2] if wanted[1] else [])
    assert torch.ops.aten._unique(x, True, wanted[0])[1].tolist() == inverse.tolist()


GENERIC = {
    "logcumsumexp": lambda x: torch.logcumsumexp(x, 1),
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "cov": torch.cov,
    "digamma": torch.digamma,
    "prod": lambda x: x.prod(1),
    "fft": lambda x: torch.fft.rfft(x).abs(),
    "solve": lambda x: torch.linalg.solve(x @ x.T + torch.eye(2), x),
    "trapezoid": lambda x: torch.trapezoid(x, dim=1),
    "gather": lambda x: x.gather(1, torch.tensor([[0], [2]])),
}


@pytest.mark.parametrize("name", GENERIC)
def test_any_other_function_has_right_gradients(name):
    W, f = wrapper(), GENERIC[name]
    data = torch.tensor([[0.5, 1.0, 2.0], [1.5, 0.25, 0.75]])
    x, p = W(data, requires_grad=True), data.clone().requires_grad_()
    y, z = f(x), f(p)
    assert type(y) is W
    assert torch.allclose(y.elem, z.detach(), atol=1e-5)
    (g,) = torch.autograd.grad((y * y).sum(), x)
    (h,) = torch.autograd.grad((z * z).sum(), p)
    assert torch.allclose(g.elem, h, rtol=1e-4, atol=1e-4)


def test_second_derivatives():
    W = wrapper()
    for f, second in (
        (lambda x: x**3, 12.0),
        (torch.exp, 7.389056),
        (lambda x: torch.logcumsumexp(x * x, 0), 2.0),
    ):
        x = leaf(W, 2.0)
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        assert g.requires_grad
        (h,) = torch.autograd.grad(g.sum(), x)
        assert h.elem.item() == pytest.approx(second, rel=1e-5)


def test_modules_on_wrappers():
    W = wrapper()
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.fill_(0.5)
    x = W(torch.ones(4, 3))
    layer(x).sum().backward()
    assert type(layer.weight.grad) is W
    assert layer.weight.grad.elem.tolist() == [[4.0] * 3] * 2
    assert layer.bias.grad.elem.tolist() == [4.0, 4.0]


def test_gradients_that_meet_plain_history():
    W = wrapper()
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    (torch.sin(p * 2) * W(torch.ones(2))).sum().backward()
    assert type(p.grad) is W
    assert torch.allclose(p.grad.elem, 2 * torch.cos(2 * p.detach()))


def test_plain_history_that_meets_wrappers():
    class Leaving(wrapper()):
        """Results are plain tensors."""

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            r = super().__torch_dispatch__(func, types, args, kwargs)
            return r.elem if isinstance(r, cls) else r

    x = Leaving(torch.tensor([1.0]), requires_grad=True)
    y = x * 3
    assert type(y) is torch.Tensor
    (y * y).sum().backward()
    assert x.grad.item() == 18.0


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_of_a_plain_loss_add_up_in_wrappers(create_graph: bool) -> None:
    log: list[Any] = []
    W = wrapper(log=log)

    class Out(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.elem * 2

        @staticmethod
        def backward(ctx, grad):
            return W(grad * 2)

    x = leaf(W, 3.0, 4.0)
    Out.apply(x).sum().backward(create_graph=create_graph)
    first = x.grad
    assert type(first) is W and first.elem.tolist() == [2.0, 2.0]
    log.clear()
    Out.apply(x).sum().backward(create_graph=create_graph)
    assert (x.grad is first, first._version) == ((False, 0) if create_graph else (True, 1))
    assert type(x.grad) is W and x.grad.elem.tolist() == [4.0, 4.0]
    assert operators(log)[-1] == ("add.Tensor" if create_graph else "add_.Tensor")


def test_modes_see_backward_only_around_it():
    forward: list[str] = []
    p = torch.ones(2, 3, requires_grad=True)
    w = torch.ones(4, 3, requires_grad=True)
    with Noting(forward):
        y = F.linear(p, w).relu().sum()
    assert forward == [
        "aten.t.default",
        "aten.mm.default",
        "aten.relu.default",
        "aten.detach.default",
        "aten.sum.default",
    ]
    y.backward()
    assert len(forward) == 5
    assert p.grad.tolist() == [[4.0] * 3] * 2
    backward: list[str] = []
    z = F.linear(p, w).relu().sum()  # recorded as plain operations
    with Noting(backward):
        z.backward()
    assert sorted(operators(backward)) == sorted(
        [
            "ones_like.default",
            "expand.default",
            "threshold_backward.default",
            "mm.default",
            "mm.default",
            "add_.Tensor",
            "add_.Tensor",
        ]
        + ["t.default"] * 4
    )
    assert p.grad.tolist() == [[8.0] * 3] * 2
    assert w.grad.tolist() == [[4.0] * 3] * 4


def test_operands_may_require_grad_in_a_handler_results_not_yet():
    seen = []

    class Look(Noting):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            r = func(*args, **(kwargs or {}))
            seen.append((args[0].requires_grad, r.requires_grad))
            return r

    p = torch.ones(1, requires_grad=True)
    with Look([]):
        y = p * 3
    assert seen == [(True, False)]
    assert y.requires_grad


def test_in_place_history():
    W = wrapper()
    x = leaf(W, 1.0, 2.0)
    y = x.clone()
    y.mul_(3).add_(1)
    y.sum().backward()
    assert x.grad.elem.tolist() == [3.0, 3.0]
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        x.add_(1)
    z = x * 1
    w = z.pow(2)
    z.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"\[torch\.FloatTensor \[2\]\], which is output 0 of Add, is at version 1; expected "
        r"version 0",
    ):
        w.sum().backward()


@pytest.mark.parametrize("make", [wrapper, lambda: None], ids=["wrapper", "mode"])
def test_in_place_changes_of_views(make):
    W = make()
    data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def program(x: Any) -> None:
        y = x * 1
        row = y[0]
        row.mul_(3)
        y[1, 0] = 5.0
        (y.sum() + row.sum()).backward()

    p = data.clone().requires_grad_()
    program(p)
    if W is None:
        q: Any = data.clone().requires_grad_()
        with Noting([]):
            program(q)
        found = q.grad
    else:
        q = W(data, requires_grad=True)
        program(q)
        found = q.grad.elem
    assert found.tolist() == p.grad.tolist() == [[6.0, 6.0], [0.0, 1.0]]


def test_hooks_get_wrappers():
    W = wrapper()
    x = leaf(W, 1.0)
    y = x * 2
    y.retain_grad()
    seen = []
    x.register_hook(lambda g: seen.append(type(g)) or g * 10)
    y.register_hook(lambda g: seen.append(type(g)))
    (y * 3).sum().backward()
    assert seen == [W, W]
    assert (x.grad.elem.item(), y.grad.elem.item()) == (60.0, 3.0)


def test_own_functions_get_wrappers():
    W = wrapper()
    seen = []

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.extend((type(x), type(g)))
            return g * 3 * x * x

    x = leaf(W, 2.0)
    y = Cube.apply(x)
    assert type(y) is W
    y.sum().backward()
    assert seen == [W, W]
    assert x.grad.elem.item() == 12.0


def test_out_and_history_do_not_go_together():
    W = wrapper()
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.abs(leaf(W, 1.0), out=W(torch.ones(1)))


def test_freed_graphs():
    W = wrapper()
    x = leaf(W, 1.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.elem.item() == 4.0
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_parameters_and_optimisers():
    W = wrapper()
    p = torch.nn.Parameter(W(torch.ones(2)))
    assert type(p) is W
    assert isinstance(p, torch.nn.Parameter)
    step = torch.optim.SGD([p], lr=0.5)
    (p * p).sum().backward()
    step.step()
    assert p.elem.tolist() == [0.0, 0.0]


def test_checkpoints_under_a_mode():
    from jtorch.utils.checkpoint import checkpoint

    x = torch.ones(3, requires_grad=True)
    log: list[str] = []
    with Noting(log):
        checkpoint(lambda t: t.exp() * 2, x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, 2 * torch.ones(3).exp())
    assert log.count("aten.exp.default") == 2  # computed again for the derivative


def test_kept_gradients_are_copies():
    W = wrapper()
    x = leaf(W, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    W.log.clear()
    y.sum().backward()
    assert [n.removeprefix("aten.") for n in names(W.log)] == [
        "sum.default", "ones_like.default", "expand.default", "clone.default", "mul.Tensor",
        "detach.default"
    ]  # fmt: skip
    assert y.grad.elem.tolist() == [1.0, 1.0]


def test_only_what_is_asked_for_is_differentiated():
    W = wrapper()
    x, w = leaf(W, 1.0, 2.0), leaf(W, 3.0, 4.0)
    y = (x * w).sum()
    W.log.clear()
    torch.autograd.grad(y, x)
    assert names(W.log).count("aten.mul.Tensor") == 1


def test_functions_that_unwrap_get_wrappers_for_their_operands():
    W, seen = wrapper(), []

    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.elem.view_as(x.elem)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return W(g)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return W(x.elem * 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(type(g))
            return W(g.elem * 2)

    for tracked in (False, True):
        x = leaf(W, 3.0)
        loss = (Inside.apply(Twice.apply(x)) * 5).sum()  # the walk begins on plain history
        (g,) = torch.autograd.grad(loss, x, create_graph=tracked)
        assert type(g) is W and g.elem.tolist() == [10]
    assert seen == [W, W]


@pytest.mark.parametrize("logits", [False, True])
def test_targets_of_cross_entropies_have_gradients(logits: bool) -> None:
    W = wrapper()
    weight = torch.tensor([0.3, 0.7])
    loss = F.binary_cross_entropy_with_logits if logits else F.binary_cross_entropy
    for options in (
        {},
        {"weight": weight, "reduction": "sum"},
        *([{"pos_weight": weight}] if logits else []),
    ):
        found = []
        for make in (lambda t: t, W):
            x, y = make(torch.tensor([0.25, 0.5])), make(torch.tensor([0.75, 0.5]))
            y.requires_grad_()
            loss(
                x, y, **{k: make(v) if k.endswith("weight") else v for k, v in options.items()}
            ).backward()
            found.append(y.grad)
        assert torch.allclose(found[0], getattr(found[1], "elem", found[1]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w, b: F.layer_norm(x, (2, 3), w.view(2, 3), b.view(2, 3), 0.5),
        lambda x, w, b: F.layer_norm(x, (3,), None, None, 0.5),
        lambda x, w, b: F.layer_norm(x[0].flatten(), (6,), w, b, 0.5),
        lambda x, w, b: F.group_norm(x.view(2, 2, 3), 2, w[:2], b[:2], 0.5),
        lambda x, w, b: F.group_norm(x.view(2, 6), 3, w, b, 0.5),
    ],
)
def test_normalizing_takes_the_epsilon_of_the_call(call):
    x, w, b = [
        torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((2, 2, 3), (6,), (6,))
    ]
    out = call(x, w, b)
    g = torch.randn(out.shape, dtype=torch.float64)
    wanted = torch.autograd.grad(out, (x, w, b), g, allow_unused=True, create_graph=True)
    with torch.utils._python_dispatch.BaseTorchDispatchMode():
        found = torch.autograd.grad(
            call(x, w, b), (x, w, b), g, allow_unused=True, create_graph=True
        )
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) == (other is None) and (one is None or torch.allclose(one, other))
    again, second = [torch.autograd.grad(t[0].square().sum(), x)[0] for t in (found, wanted)]
    assert torch.allclose(again, second)


def test_real_parts_of_conjugates_under_modes():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (wanted,) = torch.autograd.grad(torch.fft.hfft(x).sum(), x)
    with torch.utils._python_dispatch.BaseTorchDispatchMode():
        (found,) = torch.autograd.grad(torch.fft.hfft(x).sum(), x)
    assert torch.allclose(found, wanted)


def test_transformations_of_wrappers():
    W = wrapper()
    x, rows = torch.tensor([1.0, 2.0, 4.0]), torch.arange(6.0).view(2, 3)
    calls = [
        torch.func.jacrev(lambda v: v * v.sin()),
        torch.func.jacrev(lambda v: F.layer_norm(v, (3,))),
        torch.func.hessian(lambda v: (v**3).sum()),
        lambda x: torch.vmap(torch.dot, (0, None))(x * rows, x),
        lambda x: torch.vmap(lambda row: torch.where(row > 1, row, x.sum()))(rows),
        lambda x: torch.vmap(torch.func.grad(lambda row: (row * x).sin().sum()))(rows),
    ]
    for call in calls:
        found = call(W(x))
        assert type(found) is W and torch.allclose(found.elem, call(x), atol=1e-5)
    log = W.log
    log.clear()
    torch.vmap(lambda row: row * W(x))(rows)
    # the class sees all examples
    assert operators(log) == ["mul.Tensor"] and log[0][1][0].shape == (2, 3)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_views_of_wrappers_know_their_base(requires_grad):
    x = wrapper()(torch.arange(4.0), requires_grad=requires_grad)
    seen = x.view(2, 2)
    assert seen._base is x and seen._is_view() and seen.select(0, 1)._base is x
    assert x._base is None and (x * 2)._base is None


@pytest.mark.parametrize(
    ("name", "call"),
    [
        (
            "grid_sampler_2d_backward.default",
            lambda x: F.grid_sample(
                x.view(1, 1, 2, 4), torch.zeros(1, 2, 2, 2), align_corners=False
            ),
        ),
        (
            "grid_sampler_3d_backward.default",
            lambda x: F.grid_sample(
                x.view(1, 1, 2, 2, 2), torch.zeros(1, 1, 2, 2, 3), align_corners=False
            ),
        ),
        (
            "adaptive_max_pool3d_backward.default",
            lambda x: F.adaptive_max_pool3d(x.view(1, 2, 2, 2), 1),
        ),
        (
            "reflection_pad3d_backward.default",
            lambda x: F.pad(x.view(1, 1, 2, 2, 2), (1, 1, 1, 1, 1, 1), "reflect"),
        ),
        (
            "replication_pad3d_backward.default",
            lambda x: F.pad(x.view(1, 1, 2, 2, 2), (1, 1, 1, 1, 1, 1), "replicate"),
        ),
        (
            "upsample_trilinear3d_backward.default",
            lambda x: F.interpolate(x.view(1, 1, 2, 2, 2), 3, mode="trilinear"),
        ),
        (
            "_upsample_bilinear2d_aa_backward.default",
            lambda x: F.interpolate(x.view(1, 1, 2, 4), 2, mode="bilinear", antialias=True),
        ),
        ("soft_margin_loss_backward.default", lambda x: F.soft_margin_loss(x, torch.ones(8))),
        (
            "gather.default",
            lambda x: F.max_unpool2d(
                x.view(1, 2, 2, 2), torch.tensor([0, 2, 8, 10] * 2).view(1, 2, 2, 2), 2
            ),
        ),
    ],
)
def test_gradients_of_windows_are_operators(name, call):
    W = wrapper()
    values = torch.linspace(-1, 1, 8)
    plain, x = values.clone().requires_grad_(), W(values).requires_grad_()
    (wanted,) = torch.autograd.grad(call(plain).square().sum(), plain)
    W.log.clear()
    (found,) = torch.autograd.grad(call(x).square().sum(), x)
    assert name in operators(W.log) and torch.allclose(found.elem, wanted)
