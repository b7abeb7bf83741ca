"""``autograd.Function``: the classes of PyTorch's page on extending autograd, contexts, errors,
transformations."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.autograd import Function, gradcheck, gradgradcheck
from jtorch.autograd import forward_ad as fw


class LinearFunction(Function):
    @staticmethod
    def forward(input: Any, weight: Any, bias: Any) -> Any:
        output = input.mm(weight.t())
        return output if bias is None else output + bias.unsqueeze(0).expand_as(output)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        input, weight, bias = ctx.saved_tensors
        grads: list[Any] = [None, None, None]
        if ctx.needs_input_grad[0]:
            grads[0] = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grads[1] = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grads[2] = grad_output.sum(0)
        return tuple(grads)


class MulConstant(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: Any, constant: Any) -> Any:
        return tensor * constant

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.constant = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return grad_output * ctx.constant, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
        return tangent * ctx.constant


def doubles(*size: int) -> Any:
    return (
        torch.linspace(0.5, 2.0, steps=torch.Size(size).numel(), dtype=torch.float64)
        .reshape(size)
        .requires_grad_()
    )


def test_linear() -> None:
    args = (doubles(3, 4), doubles(2, 4), doubles(2))
    assert gradcheck(LinearFunction.apply, args)
    assert gradgradcheck(LinearFunction.apply, args)
    assert gradcheck(lambda a, b: LinearFunction.apply(a, b, None), args[:2])
    made = LinearFunction.apply(*args)
    assert made.grad_fn.name() == "LinearFunctionBackward"
    assert made.grad_fn.saved_tensors[0] is args[0]
    assert made.grad_fn.needs_input_grad == (True, True, True)


def test_constant() -> None:
    x = doubles(3)
    assert gradcheck(
        lambda a: MulConstant.apply(a, 5.0), x, check_forward_ad=True, check_batched_grad=True
    )
    assert (
        torch.func.vmap(lambda a: MulConstant.apply(a, 5.0))(torch.ones(2, 3)).tolist()
        == [[5.0] * 3] * 2
    )
    assert (
        torch.func.vmap(torch.func.grad(lambda a: MulConstant.apply(a, 5.0).sum()))(
            torch.ones(2, 3)
        ).tolist()
        == [[5.0] * 3] * 2
    )


def test_own_rule_for_vmap() -> None:
    seen: list[Any] = []

    class Sorted(Function):
        @staticmethod
        def forward(x: Any, dim: int) -> Any:
            return x.sort(dim).values

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.order = inputs[0].argsort(inputs[1])
            ctx.dim = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.zeros_like(g).scatter(ctx.dim, ctx.order, g), None

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, dim: int) -> Any:
            seen.append((info.batch_size, in_dims))
            x = x.movedim(in_dims[0], 0)
            return Sorted.apply(x, dim + 1 if dim >= 0 else dim), 0

    x = torch.tensor([[3.0, 1.0], [0.0, 2.0]], requires_grad=True)
    y = torch.func.vmap(lambda a: Sorted.apply(a, 0))(x)
    (g,) = torch.autograd.grad((y * torch.tensor([1.0, 10.0])).sum(), x)
    assert seen == [(2, (0, None))]
    assert (y.tolist(), g.tolist()) == ([[1.0, 3.0], [0.0, 2.0]], [[10.0, 1.0], [1.0, 10.0]])


def test_contexts_are_shared_with_the_node() -> None:
    class F(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.kept = ctx.edges = "mine"  # names that the node uses itself
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert (ctx.kept, ctx.name(), len(ctx.next_functions)) == ("mine", "FBackward", 1)
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = F.apply(x)
    assert y.grad_fn.edges == "mine"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_views_made_inside_are_protected() -> None:
    class Flat(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view(-1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.view(2, 2)

    x = torch.ones(2, 2, requires_grad=True)
    y = Flat.apply(x)
    assert y._base is x
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        Flat.apply(x * 1).add_(1)


def test_saved_tensors_pass_through_hooks() -> None:
    log: list[str] = []

    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: log.append("pack") or t * 2, lambda t: log.append("unpack") or t
    ):
        y = Cube.apply(x)
    y.sum().backward()
    assert (log, x.grad.tolist()) == (["pack", "unpack"], [12.0, 12.0])


def test_gradients_inside_vmap_of_functions_with_a_rule_of_their_own() -> None:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * 10, g * x * 10

        @staticmethod
        def vmap(info, in_dims, x, y):
            return x * y, 0

    x, y = torch.arange(6.0).view(2, 3), torch.full((3,), 2.0)
    of_each = torch.vmap(
        torch.func.grad(lambda x, y: Scaled.apply(x, y).sum(), argnums=(0, 1)), (0, None)
    )(x, y)
    assert of_each[0].tolist() == [[20.0] * 3] * 2 and of_each[1].tolist() == (10 * x).tolist()
    assert (
        torch.vmap(torch.func.jacrev(lambda x: Scaled.apply(x, y)))(x)[1].tolist()
        == (20 * torch.eye(3)).tolist()
    )
    # Gradients of all examples are those of the rule.
    assert (
        torch.func.grad(lambda x: torch.vmap(Scaled.apply, (0, None))(x, y).sum())(x).tolist()
        == [[2.0] * 3] * 2
    )


class Named(torch.Tensor):
    """A class that hears of functions, and keeps what it was told."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, cls) and func is torch.Tensor.view_as:
            out.word = args[0].word
        return out


@pytest.mark.parametrize("requires_grad", [False, True])
def test_arguments_that_are_returned_keep_their_class(requires_grad):
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2).as_subclass(Named).requires_grad_(requires_grad)
    x.word = "kept"
    y = Same.apply(x)
    assert (
        type(y) is Named
        and y is not x
        and y.word == "kept"
        and y.data_ptr() == x.data_ptr()
        and y.requires_grad is requires_grad
    )
    if requires_grad:
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0] and y.grad_fn.name() == "SameBackward"
    assert type(Same.apply(torch.nn.Parameter(torch.ones(1)))) is torch.Tensor


@pytest.mark.parametrize("materialize", [False, True])
def test_results_without_gradient_may_come_as_none(materialize):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            ctx._materialize_non_diff_grads = materialize
            return x.clone(), out

        @staticmethod
        def backward(ctx, g, h):
            assert (h is not None) is materialize
            return g

    Two.apply(torch.ones(1, requires_grad=True))[0].backward()


def test_gradients_of_what_takes_no_part_may_be_differentiated():
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    for create_graph in (False, True):
        (zeros,) = torch.autograd.grad(
            (x * 2).sum(), [y], create_graph=create_graph, materialize_grads=True
        )
        assert zeros.tolist() == [0.0] * 3 and zeros.requires_grad is create_graph
    assert torch.autograd.grad(zeros.sum(), y, materialize_grads=True)[0].tolist() == [0.0] * 3
    with pytest.raises(
        RuntimeError,
        match="materialize_grads cannot be used when the given input is a GradientEdge",
    ):
        torch.autograd.grad(
            (x * 2).sum(), [torch.autograd.graph.get_gradient_edge(y * 2)], materialize_grads=True
        )


def test_own_rule_for_vmap_hears_of_tensors_in_containers() -> None:
    class Weighed(torch.autograd.Function):
        @staticmethod
        def forward(parts: Any, scale: float) -> Any:
            return parts[0] + scale * parts[1]["b"]

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, parts: Any, scale: float) -> Any:
            assert in_dims == ([0, {"b": 0, "c": None}], None)
            assert parts[0].shape == (3, 2)
            # ten times, to see that it was this one
            return parts[0] + 10 * scale * parts[1]["b"], 0

    x = torch.arange(6.0).reshape(3, 2)
    whole = torch.ones(2)
    found = torch.vmap(lambda a: Weighed.apply([a, {"b": a, "c": whole}], 2.0))(x)
    assert found.tolist() == (21 * x).tolist()


def test_out_dims_of_a_rule_that_do_not_fit() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x, (None,)

    with pytest.raises(
        RuntimeError,
        match=r"returned an incompatible \(output, out_dims\) tuple. Expected out_dims=\(None,\)",
    ):
        torch.vmap(Wrong.apply)(torch.ones(2, 3))


def _forward_mode(forward: Any, jvp: Any) -> Any:
    """What a function with these methods gives for a dual tensor and a plain one."""
    made = type(
        "Made",
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "jvp": staticmethod(jvp)},
    )
    with fw.dual_level():
        return made.apply(fw.make_dual(torch.tensor(2.0), torch.tensor(1.0)), torch.tensor(3.0))


@pytest.mark.parametrize(
    ("jvp", "words"),
    [
        (lambda _, x, y: x, r"invalid number of forward gradients \(expected 2 but got 1\)"),
        (
            lambda _, x, y: (x, y, x),
            r"invalid number of forward gradients \(expected 2 but got 3\)",
        ),
        (
            lambda _, x, y: (x, x),
            (
                r"gradient at position 1, but  the corresponding forward output is not a "
                r"differentiable Tensor"
            ),
        ),
        (lambda _, x, y: (3, None), r"expected Variable or None \(got int\) for grad output 0."),
        (
            lambda _, x, y: (x.expand(2), None),
            r"Tensor is of size \[\] while the given forward gradient is of size \[2\]",
        ),
    ],
)
def test_tangents_that_do_not_fit_their_results(jvp: Any, words: str) -> None:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        other = y.clone()
        ctx.mark_non_differentiable(other)
        return x.clone(), other

    with pytest.raises(RuntimeError, match=words):
        _forward_mode(forward, jvp)


def test_tangents_of_what_is_no_tensor_are_left_out() -> None:
    assert _forward_mode(lambda _ctx, x, y: (x + y, 3), lambda _ctx, x, y: (x + y, x))[1] == 3


def test_contexts_are_nodes() -> None:
    node = torch.autograd.graph.Node
    seen: list[bool] = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(isinstance(ctx, node))
            return 2 * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(isinstance(ctx, node))
            return 2 * g

    y = Twice.apply(torch.ones(2, requires_grad=True))
    y.sum().backward()
    assert seen == [True, True]
    assert (
        issubclass(type(y.grad_fn), node)
        and issubclass(node, node)
        and node not in type(y.grad_fn).mro()
    )
    assert (
        isinstance(y.exp().grad_fn, node)
        and not isinstance(node, node)
        and not isinstance(None, node)
    )


class Handed(Function):
    """Gives its argument back, as it is or doubled in place."""

    @staticmethod
    def forward(ctx: Any, x: Any, writes: bool) -> Any:
        if writes:
            x.mul_(2)
            ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


def test_what_is_handed_back_without_a_history_refuses_one() -> None:
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    y = Handed.apply(x, False)
    assert y._is_view()
    assert y.mul_(2).tolist() == x.tolist() == [2.0, 2.0]
    with pytest.raises(
        RuntimeError,
        match=r"created in no_grad mode .* This view was created inside a custom Function",
    ):
        y.add_(w)  # ``x`` would not know of it
    assert x.tolist() == [2.0, 2.0]


def test_views_written_by_a_function_take_a_history() -> None:
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    y = Handed.apply(x[...], True)
    y.add_(w)
    assert x.requires_grad
    x.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_trees_are_mapped_as_pytorchs_functions_do():
    mapped = torch.autograd.function._nested_map(
        lambda x: isinstance(x, int), lambda x: x + 1, "int"
    )
    assert mapped([1, (2, None), {"a": 3}]) == [2, (3, None), {"a": 4}]
    with pytest.raises(ValueError, match=r"type str\. Accepted types: int, or lists"):
        mapped(["x"])
