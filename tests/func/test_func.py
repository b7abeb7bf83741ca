"""``torch.func``: values by hand, nesting, history across the border of a transformation."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import jtorch as torch
from jtorch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)
from jtorch.func.rearranging import DimensionBindError

X = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_grad_nests_without_confusing_variables():
    assert grad(grad(lambda x: x**3))(torch.tensor(2.0)).item() == 12
    assert (
        grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))(torch.tensor(1.0)).item() == 1
    )


def test_grad_honours_detach_and_no_grad():
    assert grad(lambda x: (x * x.detach()).sum())(torch.arange(3.0)).tolist() == [0, 1, 2]

    def f(x):
        with torch.no_grad():
            c = x * 2
        return (x * c).sum()

    assert grad(f)(torch.arange(3.0)).tolist() == [0, 2, 4]


def test_grad_of_several_arguments_with_aux():
    (gx, gy), (value, aux) = grad_and_value(
        lambda x, y: ((x * y).sum(), y), argnums=(0, 1), has_aux=True
    )(torch.ones(2), torch.arange(2.0))
    assert gx.tolist() == [0, 1]
    assert gy.tolist() == [1, 1]
    assert value.item() == 1
    assert not aux.requires_grad


def test_grad_refuses_what_is_no_scalar():
    with pytest.raises(RuntimeError, match="got tensor with 1 dims"):
        grad(lambda x: x)(torch.ones(2))
    with pytest.raises(RuntimeError, match="only 1 positional inputs"):
        grad(lambda x: x, argnums=1)(torch.tensor(1.0))


def test_results_keep_the_history_that_leads_out():
    p = torch.tensor(2.0, requires_grad=True)
    found = grad(lambda x: (x**2 * p).sum())(torch.arange(3.0))
    found.sum().backward()
    assert p.grad.item() == 6
    assert not grad(lambda x: (x**2).sum())(torch.arange(3.0)).requires_grad


def test_vmap_places_the_batch():
    x = torch.tensor(X)
    assert vmap(lambda a: a.sum())(x).tolist() == [1, 5, 9]
    assert vmap(lambda a: a.sum(), in_dims=1)(x).tolist() == [6, 9]
    assert vmap(lambda a: a * 2, out_dims=1)(x).shape == (2, 3)
    assert vmap(lambda a, b: a @ b, in_dims=(0, None))(x, torch.ones(2)).tolist() == [1, 5, 9]
    assert vmap(lambda d: {"s": d["a"].sum()})({"a": x})["s"].tolist() == [1, 5, 9]
    assert vmap(lambda a: torch.ones(2))(x).shape == (3, 2)
    assert vmap(lambda a: a.sum(), chunk_size=2)(x).tolist() == [1, 5, 9]
    assert vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(
        torch.arange(2.0), torch.arange(3.0)
    ).tolist() == [[0, 0, 0], [0, 1, 2]]


def test_vmap_writes_in_place():
    def f(a):
        out = a.clone()
        out[0] = a[1] * 3
        return out.add_(1)

    assert vmap(f)(torch.tensor(X)).tolist() == [[4, 2], [10, 4], [16, 6]]
    assert vmap(grad(lambda a: (f(a) ** 2).sum()))(torch.tensor(X)).tolist() == [
        [0, 28],
        [0, 68],
        [0, 108],
    ]


def test_gradients_leave_vmap_for_inputs_leaves_and_nodes_outside():
    x = torch.tensor(X, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    out = vmap(lambda a: (a * w * h).sum())(x)
    out.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 3
    assert w.grad.tolist() == [24, 36]  # 4 w times the sum over the examples


def test_second_derivatives_through_vmap():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(vmap(lambda a: a**3)(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6, 12]
    assert hessian(lambda z: vmap(lambda a: a * z.sum())(z).sum())(torch.ones(2)).tolist() == [
        [2, 2],
        [2, 2],
    ]


def test_jacobians_agree():
    def f(x, y):
        return {"u": x * y.sum(), "v": y**2}

    x, y = torch.arange(2.0), torch.tensor([3.0])
    for transform in (jacrev, jacfwd):
        found = transform(f, argnums=(0, 1))(x, y)
        assert found["u"][0].tolist() == [[3, 0], [0, 3]]
        assert found["u"][1].tolist() == [[0], [1]]
        assert found["v"][0].tolist() == [[0, 0]]
        assert found["v"][1].tolist() == [[6]]
    assert jacrev(lambda a: a**2, chunk_size=1)(x).tolist() == [[0, 0], [0, 2]]


def test_directional_derivatives():
    x = torch.arange(3.0)
    value, tangent = jvp(lambda a: a**2, (x,), (torch.ones(3),))
    assert (value.tolist(), tangent.tolist()) == ([0, 1, 4], [0, 2, 4])
    assert linearize(lambda a: a**2, x)[1](torch.ones(3)).tolist() == [0, 2, 4]
    value, pull = vjp(lambda a: a**2, x)
    assert pull(torch.ones(3))[0].tolist() == [0, 2, 4]
    assert pull(torch.ones(3))[0].tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(lambda a: a, (x,), (x, x))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda a: a.item(), "calling .item"),
        (lambda a: a if a > 0 else -a, "data-dependent control flow"),
        (lambda a: a + torch.rand(1), "randomness error mode"),
    ],
)
def test_vmap_refuses_what_needs_one_value(f, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(f)(torch.arange(2.0))


def test_vmap_refuses_wrong_dimensions():
    with pytest.raises(ValueError, match="got no inputs"):
        vmap(lambda: 1)()
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        vmap(lambda a, b: a)(torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="expected in_dim to satisfy"):
        vmap(lambda a: a, in_dims=1)(torch.ones(2))
    with pytest.raises(ValueError, match="must only return Tensors"):
        vmap(lambda a: 1.0)(torch.ones(2))


def test_vmap_checks_every_example():
    table = torch.zeros(4, 2)
    with pytest.raises(IndexError):
        vmap(lambda i: torch.nn.functional.embedding(i, table))(torch.tensor([1, 7])).tolist()


def test_same_randomness_for_all():
    found = vmap(lambda a: torch.rand(2) + 0 * a, randomness="same")(torch.zeros(3))
    assert torch.equal(found[0], found[1])
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(torch.bernoulli, randomness="same")(torch.full((3, 2), 0.5))


def drawn_as_a_batch(function, batch):
    """Whether examples that draw numbers of their own get those that a draw of the whole batch
    would get."""
    torch.manual_seed(3)
    found = vmap(function, randomness="different")(batch)
    torch.manual_seed(3)
    return torch.equal(found, function(batch))


@pytest.mark.parametrize(
    "function",
    [
        torch.bernoulli, torch.poisson, torch.rand_like, torch.randn_like, torch._standard_gamma,
        torch._sample_dirichlet, lambda p: torch.multinomial(p, 4, replacement=True),
        lambda p: torch.multinomial(p, 2), lambda x: torch.normal(x, 2.0),
        lambda x: x.clone().exponential_(), lambda x: x.clone().bernoulli_(x),
        lambda x: torch.nn.functional.dropout(x, 0.5),
        lambda x: torch.binomial(10 * torch.ones_like(x), x),
    ],
)  # fmt: skip
def test_different_randomness(function):
    batch = torch.linspace(0.1, 0.9, 12).view(3, 4)
    assert drawn_as_a_batch(function, batch)
    torch.manual_seed(3)
    nested = vmap(vmap(function, randomness="different"), randomness="different")(
        batch[:, None].expand(3, 2, 4)
    )
    assert nested.shape[:2] == (3, 2)


def test_different_randomness_without_operands():
    torch.manual_seed(0)
    found = vmap(lambda a: torch.randn(2, 3) + 0 * a, randomness="different")(torch.zeros(4))
    torch.manual_seed(0)
    assert torch.equal(found, torch.randn(4, 2, 3))
    orders = vmap(lambda a: torch.randperm(9) + 0 * a.long(), randomness="different")(
        torch.zeros(3)
    )
    assert orders.sort(1)[0].tolist() == [list(range(9))] * 3
    assert not torch.equal(orders[0], orders[1])

    def inner(a):
        return vmap(lambda b: torch.rand(()) + 0 * (a + b), randomness="different")(torch.zeros(2))

    same = vmap(inner, randomness="same")(torch.zeros(3))
    assert torch.equal(same[0], same[1])
    assert same[0, 0] != same[0, 1]


def test_different_randomness_keeps_gradients():
    p = torch.full((3, 5), 2.0, requires_grad=True)
    found = vmap(torch._standard_gamma, randomness="different")(p)
    found.sum().backward()
    assert p.grad.shape == (3, 5)
    assert (p.grad > 0).all()


def test_results_with_names_and_sizes():
    found = vmap(lambda x: x.max(0))(torch.tensor([[1.0, 3.0], [5.0, 2.0]]))
    assert type(found) is torch.return_types.max
    assert (found.values.tolist(), found.indices.tolist()) == ([3.0, 5.0], [1, 0])


def test_ensemble_of_modules():
    models = [torch.nn.Linear(2, 1) for _ in range(3)]
    params, buffers = stack_module_state(models)
    assert params["weight"].shape == (3, 1, 2)
    assert params["weight"].is_leaf
    x = torch.ones(4, 2)
    found = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(params, buffers)
    for i, model in enumerate(models):
        assert torch.allclose(found[i], model(x))
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        functional_call(models[0], ({"weight": x}, {"weight": x}), (x,))


CAPTURED = {
    "add_": (lambda y, a: y.add_(a), "inplace arithmetic"),
    "mul_": (lambda y, a: y.mul_(a), "inplace arithmetic"),
    "+=": (lambda y, a: y.__iadd__(a), "inplace arithmetic"),
    "pow_": (lambda y, a: y.pow_(a), "aten::pow_"),
    "item": (lambda y, a: y.__setitem__(0, a[0]), "inplace arithmetic"),
    "positions": (lambda y, a: y.__setitem__(torch.tensor([0]), a[:1]), "index_put_"),
    "view": (lambda y, a: y[1:].add_(a[1:]), "inplace arithmetic"),
    "copy_": (lambda y, a: y.copy_(a), "inplace arithmetic"),
    "fill_": (lambda y, a: y.fill_(a[0]), "fill_"),
    "index_put_": (lambda y, a: y.index_put_((torch.tensor([0]),), a[:1]), "index_put_"),
    "index_add_": (lambda y, a: y.index_add_(0, torch.tensor([0]), a[:1]), "index_add_"),
    "scatter_": (lambda y, a: y.scatter_(0, torch.tensor([0]), a[:1]), "aten::scatter_"),
    "masked_fill_": (lambda y, a: y.masked_fill_(a > 1, 2.0), "aten::masked_fill_"),
    "made inside": (lambda y, a: torch.zeros(3).add_(a), "inplace arithmetic"),
    "set_": (lambda y, a: y.set_(a), "aten::set_"),
    "multiply_": (lambda y, a: y.multiply_(a), "inplace arithmetic"),
    "true_divide_": (lambda y, a: y.true_divide_(a), "inplace arithmetic"),
    "**=": (lambda y, a: y.__ipow__(a), "aten::pow_"),
    "//=": (lambda y, a: y.__ifloordiv__(a), "aten::floor_divide_"),
}


@pytest.mark.parametrize("how", CAPTURED)
def test_writing_an_example_into_a_shared_tensor_raises(how):
    write, name = CAPTURED[how]
    y = torch.full((3,), 7.0)
    where = "at level 1" if name.startswith("aten") else "in a vmap"
    with pytest.raises(
        RuntimeError,
        match=rf"vmap: {name}\(self, \*extra_args\) is not possible because .* vmapped over "
        rf"{where}",
    ):
        vmap(lambda a: (write(y, a), a)[1])(torch.arange(6.0).reshape(2, 3))
    assert y.tolist() == [7.0, 7.0, 7.0]


def test_drawing_into_a_shared_tensor_raises_as_the_function_that_draws_does():
    y = torch.zeros(3, 1)
    for draw in (torch.nn.init.kaiming_uniform_, torch.Tensor.normal_):
        with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness"):
            vmap(lambda a: (draw(y), a)[1], randomness="different")(torch.zeros(2, 3))  # noqa: B023
    # torch multiplies by what it has drawn
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        vmap(
            lambda a: (torch.feature_dropout_(y.view(1, 3, 1), 0.5, True), a)[1],
            randomness="different",
        )(torch.zeros(2, 3))
    assert y.tolist() == [[0.0]] * 3


def test_writing_an_example_into_shared_results_raises():
    y = torch.zeros(3)
    for write, name in (
        (lambda a: torch.add(a, 1, out=y), "add.out"),
        (lambda a: torch._foreach_add_([y], [a]), "_foreach_add_"),
    ):
        with pytest.raises(RuntimeError, match=f"Batching rule not implemented for aten::{name}"):
            vmap(write)(torch.ones(2, 3))
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_writing_an_example_into_an_outer_one_raises():
    def inner(a):
        z = a.clone()
        vmap(z.pow_)(a)
        return z

    with pytest.raises(RuntimeError, match="at level 2"):
        vmap(inner)(torch.ones(2, 3))


def test_examples_are_written_into_what_has_a_place_for_each():
    def f(a):
        y = a.new_zeros(3)
        y.add_(a)
        y[0] = a[1]
        z = torch.zeros_like(a).copy_(a)
        return y + a.new_full((3,), 1.0).mul_(z)

    def outer(a):
        return vmap(lambda b: a.new_zeros(3).add_(a) + b.new_zeros(()).add_(b.sum()))(a)

    x = torch.arange(6.0).reshape(2, 3)
    assert vmap(f)(x).tolist() == [[1.0, 2.0, 4.0], [7.0, 8.0, 10.0]]
    assert vmap(outer)(x).tolist() == [[[b + a for a in row] for b in row] for row in x.tolist()]


def test_captured_tensors_change_for_all_examples_alike():
    y = torch.zeros(3)
    vmap(lambda a: (y.add_(1), a)[1])(torch.ones(2, 3))
    assert y.tolist() == [1.0, 1.0, 1.0]


def in_transforms(f):
    """Calls that run ``f`` inside each transformation."""
    x = torch.ones(3)
    return [
        lambda: torch.func.grad(f)(x), lambda: vjp(f, x), lambda: jvp(f, (x,), (x,)),
        lambda: jacrev(f)(x), lambda: jacfwd(f)(x), lambda: vmap(f)(torch.ones(2, 3)),
        lambda: linearize(f, x), lambda: torch.func.functionalize(f)(x),
    ]  # fmt: skip


def test_what_is_refused_inside():
    def backward(a):
        w = torch.ones(3, requires_grad=True)
        (w * a).sum().backward()
        return a.sum()

    def kept(a):
        y = a * 2
        y.retain_grad()
        return y.sum()

    cases = {
        r"You are attempting to call Tensor.requires_grad_\(\)": lambda a: (
            torch.ones(3).requires_grad_().mul(a).sum()
        ),
        r"backward\(\) called inside a functorch transform": backward,
        r"You are attempting to call Tensor.retain_grad\(\) inside": kept,
    }
    for words, f in cases.items():
        for call in in_transforms(f):
            with pytest.raises(RuntimeError, match=words):
                call()
    assert torch.ones(1).requires_grad_().requires_grad


def test_leaves_made_inside_lead_nowhere():
    x = torch.ones(3)
    makers = (
        lambda: torch.ones(3, requires_grad=True), lambda: torch.nn.Parameter(torch.ones(3)),
        lambda: torch.tensor([1.0], requires_grad=True),
    )  # fmt: skip
    for w in makers:
        found = torch.func.grad(lambda a, w=w: (w() * a).sum())(x)
        assert found.tolist() == [1.0, 1.0, 1.0] and not found.requires_grad


def test_gradients_inside():
    g = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    assert torch.func.grad(
        lambda a: torch.autograd.grad((a * a).sum(), a, create_graph=True)[0].sum()
    )(x).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="at index 0 appears to not have been used in the graph"):
        torch.func.grad(lambda a: torch.autograd.grad((g * a).sum(), g)[0].sum())(x)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        vmap(lambda a: torch.autograd.grad((g * a).sum(), g)[0])(torch.ones(2, 3))


def test_wider_tangents():
    x, d = torch.ones(3), torch.ones(3, dtype=torch.float64)
    value, tangent = jvp(torch.sin, (x,), (d,))
    assert (value.dtype, tangent.dtype) == (torch.float32, torch.float64)
    assert jvp(torch.sin, (d,), (x,))[1].dtype is torch.float64
    assert jvp(torch.sin, (x,), (x.half(),))[1].dtype is torch.float32
    assert jvp(torch.sin, (x,), (x + 0j,))[1].dtype is torch.float32
    assert jvp(lambda a: torch.ones(2), (x,), (d,))[1].dtype is torch.float32


def test_words_of_errors():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"cotangents: \(\*,\), primal output: \*"):
        vjp(torch.sin, x)[1]((x,))
    with pytest.raises(RuntimeError, match=r"non-empty output \(got output = \[None\]\)"):
        jvp(lambda a: None, (x,), (x,))
    with pytest.raises(
        ValueError, match=r"Expected primal to be floating point or complex, but got: torch\.int64"
    ):
        linearize(torch.sin, torch.ones(3, dtype=torch.int64))


def test_debug_unwrap():
    seen = []
    x = torch.arange(6.0).reshape(2, 3)
    vmap(lambda a: (seen.append(torch.func.debug_unwrap(a)), a)[1])(x)
    vmap(
        vmap(
            lambda a: (
                seen.extend(
                    [torch.func.debug_unwrap(a), torch.func.debug_unwrap(a, recurse=False).shape]
                ),
                a,
            )[1]
        )
    )(x)
    torch.func.grad(lambda a: (seen.append(torch.func.debug_unwrap(a)), a.sum())[1])(x)
    assert (
        torch.equal(seen[0], x)
        and torch.equal(seen[1], x)
        and torch.equal(seen[3], x)
        and seen[2] == (3,)
    )
    assert not seen[3].requires_grad and torch.func.debug_unwrap(x) is x


def test_examples_are_printed():
    seen = []
    vmap(lambda a: (seen.append(repr(a)), a)[1])(torch.ones(2, 3))
    assert seen == [
        (
            "BatchedTensor(lvl=1, bdim=0, value=\n"
            "    tensor([[1., 1., 1.],\n"
            "            [1., 1., 1.]])\n"
            ")"
        )
    ]


REARRANGED = [
    ("b c h->b (c h)", {}, (2, 12)), ("b (d c) h -> d b c h", {"d": 3}, (3, 2, 1, 4)),
    ("... h -> h ...", {}, (4, 2, 3)), ("b c h -> b c h 1", {}, (2, 3, 4, 1)),
    ("b c h -> () b c h", {}, (1, 2, 3, 4)), ("b ... -> (b ...)", {}, (24,)),
    ("b c (h k) -> (k b) c h", {"h": 2}, (4, 3, 2)),
]  # fmt: skip
WRONG = [
    ("b (d c) h -> d b c h", {}, "cannot infer the sizes of two dimensions at once d1 and d2"),
    (
        "b c h -> b c",
        {},
        r"Identifiers only on one side of rearrange expression \(should be on both\): \{'h'\}",
    ),
    ("b c h -> b c h", {"z": 2}, r"Identifiers not found in rearrange expression: \{'z'\}"),
    ("b c h -> b b h", {}, "Indexing expression contains duplicate dimension 'b'"),
    (
        "b c -> c b",
        {},
        (
            r"Number of dimensions in pattern \(2\) must be equal to the number of dimensions in "
            r"the tensor \(3\)"
        ),
    ),
    ("b c h", {}, "Pattern must contain a single '->' separator"),
    ("b c h -> 2 b c h", {}, "rearrange only supports unnamed axes of size 1"),
    ("b _c h -> b h _c", {}, "Invalid axis identifier: _c"),
    (
        "b c (h k) -> b c h k",
        {"h": 3},
        "inferred dimension does not evenly fit into larger dimension: 4 vs",
    ),
    ("(...) h -> h", {}, "Ellipsis is parenthesis in the left side is not allowed"),
]


@pytest.mark.parametrize(("pattern", "sizes", "shape"), REARRANGED)
def test_rearrange(pattern, sizes, shape):
    x = torch.arange(24).view(2, 3, 4)
    found = torch.func.rearrange(x, pattern, **sizes)
    assert found.shape == shape and sorted(found.flatten().tolist()) == list(range(24))
    back = " -> ".join(reversed(pattern.split("->")))
    extent = {
        "d": 3,
        "h": 2 if sizes.get("h") else 4,
        "c": 1 if "d" in sizes else 3,
        "b": 2,
        "k": 2,
    }
    used = {n: s for n, s in extent.items() if n in pattern}
    if "..." not in pattern or "(" not in pattern:
        assert torch.equal(torch.func.rearrange(found, back, **used), x)


@pytest.mark.parametrize(("pattern", "sizes", "words"), WRONG)
def test_rearrange_refuses(pattern, sizes, words):
    with pytest.raises((ValueError, DimensionBindError), match=words):
        torch.func.rearrange(torch.arange(24).view(2, 3, 4), pattern, **sizes)


def test_where_of_examples_is_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match="Attempted to vmap over aten::where"):
        vmap(torch.where)(torch.ones(2, 3))


@pytest.mark.parametrize(
    "read",
    [lambda v: v.index_select(0, torch.tensor([1])), lambda v: v.gather(0, torch.tensor([1]))],
)
def test_checked_reads_of_no_examples(read):
    assert vmap(read)(torch.zeros(0, 2)).shape == (0, 1)


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty"])
def test_new_tensors_of_examples_with_tangents_are_examples(name):
    x = torch.ones(2, 3)

    def f(v):
        return getattr(v, name)(v.shape).zero_().add_(v, alpha=2)

    assert vmap(lambda v: jvp(f, (v,), (v,))[1])(x).tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("inner", [grad, jacrev])
@pytest.mark.parametrize("outer", [grad, jacrev])
def test_nested_derivatives_require_nothing(inner, outer):
    """The inner transformation's own leaves are nothing that the results' history leads out by."""
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])

    def f(x, y):
        return ((x * y) * (x + y)).sum()

    found = outer(lambda x, y: inner(f)(x, y).sum(), 1)(x, y)
    assert found.tolist() == [8.0, 14.0] and not found.requires_grad
    y.requires_grad_()
    found = outer(lambda x, z: (inner(f)(x, z) * y).sum(), 1)(x, y.detach())
    assert found.requires_grad
    assert torch.autograd.grad(found.sum(), y)[0].tolist() == [8.0, 14.0]


def test_functions_of_tangents_lead_nowhere_from_inside_a_transformation() -> None:
    x, ones = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)

    def pushed(v: torch.Tensor) -> torch.Tensor:
        return linearize(lambda w: w**3, v)[1](ones)

    assert not grad(lambda v: pushed(v).sum())(x).requires_grad
    assert not vjp(pushed, x)[1](ones)[0].requires_grad
    push, back = linearize(lambda w: w**3, x)[1], vjp(lambda w: w**3, x)[1]
    for f in (push, lambda t: back(t)[0]):
        for _ in range(2):  # what the first call has made is used again
            found = grad(lambda t, f=f: (f(t) ** 2).sum())(ones)
            assert not found.requires_grad and found.tolist() == [18.0, 288.0, 1458.0]
    w = x.clone().requires_grad_()
    outside = linearize(lambda q: q * q * w, x)[1]
    found = grad(lambda t: (outside(t) ** 2).sum())(ones)
    assert torch.autograd.grad(found.sum(), w)[0].tolist() == [16.0, 128.0, 432.0]


@pytest.mark.parametrize("jacobian", [torch.func.jacfwd, torch.func.jacrev])
def test_jacobians_of_numbers_by_numbers(jacobian: Any) -> None:
    x = torch.tensor(3.0)
    assert torch.equal(jacobian(lambda t: t**2)(x), torch.tensor(6.0))
    both = jacobian(lambda t, u: {"product": t * u, "sum": t + u}, argnums=(0, 1))(
        x, torch.tensor(5.0)
    )
    assert {name: [d.item() for d in found] for name, found in both.items()} == {
        "product": [5.0, 3.0],
        "sum": [1.0, 1.0],
    }
    assert torch.func.hessian(lambda t: t**3)(x).item() == 18


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_of_numbers_taken_at_once(strategy: str) -> None:
    found = torch.autograd.functional.jacobian(
        lambda t: t**2, torch.tensor(3.0), vectorize=True, strategy=strategy
    )
    assert torch.equal(found, torch.tensor(6.0))


def test_jacobians_row_by_row_let_backward_functions_look_at_data():
    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * len(g.nonzero())

    x = torch.tensor(X)
    found = jacrev(lambda x: (Looks.apply(x) ** 2, {"sums": x.sum(1)}), chunk_size=1)(x)
    assert torch.equal(found[0].reshape(6, 6), torch.diag(2 * x.flatten())) and found[1][
        "sums"
    ].shape == (3, 3, 2)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        jacrev(Looks.apply, chunk_size=2)(x)
    y = x.clone().requires_grad_()
    jacrev(jacrev(lambda x: (x**3).sum(), chunk_size=1), chunk_size=1)(y).sum().backward()
    assert torch.equal(y.grad, torch.full((3, 2), 6.0))
    assert jacrev(lambda x: x[:0], chunk_size=1)(x).shape == (0, 2, 3, 2)


@pytest.mark.parametrize("out_dims", ["first", ("first",), 1.5, (0, 1.5)])
def test_places_of_examples_that_are_no_numbers(out_dims: Any) -> None:
    with pytest.raises(
        ValueError, match="`out_dims` must be an int, None or a python collection of ints"
    ):
        torch.vmap(lambda x: x, out_dims=out_dims)(torch.ones(2, 3))


def test_anomalies_inside_vmap() -> None:
    with torch.autograd.set_detect_anomaly(True):
        per_example = torch.vmap(torch.func.grad(lambda x: (x * x).sum()))
        assert per_example(torch.ones(3)).tolist() == [2, 2, 2]
        with (
            pytest.raises(
                RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output"
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            torch.vmap(torch.func.grad(lambda x: x.sqrt().sum()))(-torch.ones(3))


@pytest.mark.parametrize("name", ["vmap", "jvp", "jacfwd", "functionalize"])
def test_modules_with_backward_hooks_are_run_without_them(name):
    # PyTorch's examples of ``vmap``, and operands of ``jvp``, require no gradient, so that there is
    # nothing to hook.
    layer, x, calls = torch.nn.Linear(3, 2), torch.arange(12.0).reshape(4, 3), []
    layer.register_full_backward_hook(lambda *_: calls.append(1))
    found = {
        "vmap": lambda: vmap(layer)(x),
        "jvp": lambda: jvp(layer, (x,), (torch.ones_like(x),))[1],
        "jacfwd": lambda: jacfwd(layer)(x).sum((2, 3)),
        "functionalize": lambda: torch.func.functionalize(layer)(x),
    }[name]()
    plain = {"vmap": layer(x), "functionalize": layer(x)}.get(
        name, layer.weight.sum(1).expand(4, 2)
    )
    torch.testing.assert_close(found.detach(), plain.detach())
    calls.clear()
    found.sum().backward()
    assert calls == []
