"""The graph: nodes, hooks, edges, memory, depth, threads."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import jtorch as torch
from jtorch.autograd import graph


def leaf(*values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_nodes_are_named_as_torch_names_them() -> None:
    x = leaf()
    linear = torch.nn.functional.linear(x, torch.ones(2, 3))
    made = [x * 2, x.sum(), x.sum(0), x.view(3, 1), x[0], x @ x, x**2, x.log1p(), linear]
    assert [type(t.grad_fn).__name__ for t in made] == [
        "MulBackward0", "SumBackward0", "SumBackward1", "ViewBackward0", "SelectBackward0",
        "DotBackward0", "PowBackward0", "Log1PBackward0", "SqueezeBackward4",
    ]  # fmt: skip
    y = x * 1
    y[0:2] = 0.0
    assert y.grad_fn.name() == "torch::autograd::CopySlices"


def test_nodes_print_as_classes_without_a_module() -> None:
    y = leaf() * 2
    assert repr(type(y.grad_fn)) == "<class 'MulBackward0'>"
    assert repr(type(y.grad_fn.next_functions[0][0])) == "<class 'AccumulateGrad'>"


def test_windows_of_images_are_named_apart_from_windows_of_a_dimension() -> None:
    x = torch.ones(1, 2, 4, 4, requires_grad=True)
    assert torch.nn.functional.unfold(x, 2).grad_fn.name() == "Im2ColBackward0"
    assert x.unfold(2, 2, 1).grad_fn.name() == "UnfoldBackward0"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (1, TypeError, "expected Variable, but hook returned 'int'"),
        (torch.ones(3), RuntimeError, "Tensor post accumulate grad hooks should return None."),
        (torch.ones(2), RuntimeError, "has changed the size of value"),
    ],
)
def test_hooks_for_complete_gradients_give_nothing_back(
    given: Any, error: type[Exception], words: str
) -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda _: given)
    with pytest.raises(error, match=words):
        (x * 2).sum().backward()


def test_a_hook_for_complete_gradients_may_give_the_leaf() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda t: t)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_what_a_node_shows() -> None:
    x = leaf()
    y = x * x
    node = y.grad_fn
    assert isinstance(node, graph.Node)
    assert node is y.grad_fn
    node.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    (end, zero), other = node.next_functions
    assert (end.name(), zero, end.variable is x, other[0] is end) == (
        "torch::autograd::AccumulateGrad",
        0,
        True,
        True,
    )
    assert (x * 3).grad_fn.next_functions == ((end, 0), (None, 0))
    assert node._saved_self is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        _ = node._saved_self


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 1 - x,
        lambda x: torch.rsub(x, 1.5),
        lambda x: x % 2,
        lambda x: torch.fmod(x, 2.0),
        lambda x: torch.xlogy(2.0, x),
        lambda x: torch.copysign(x, -1.0),
    ],
)
def test_a_number_that_has_an_overload_is_no_operand(f: Any) -> None:
    x = leaf()
    ((end, _),) = f(x).grad_fn.next_functions
    assert end.variable is x


def test_a_number_that_becomes_a_tensor_counts() -> None:
    x = leaf()
    assert [e[0] is None for e in (x - 1).grad_fn.next_functions] == [False, True]


def test_hooks_run_in_order() -> None:
    x = leaf()
    y = x * 2
    log: list[Any] = []
    y.grad_fn.register_prehook(lambda outs: log.append("node before"))
    y.register_hook(lambda g: log.append("tensor") or g * 2)
    y.grad_fn.register_hook(lambda ins, outs: log.append(("node after", outs[0].tolist())))
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda t: log.append(("accumulated", t.grad.tolist())))
    y.sum().backward()
    assert log == [
        "tensor",
        "node before",
        ("node after", [2.0] * 3),
        "leaf",
        ("accumulated", [4.0] * 3),
    ]


def test_a_leaf_is_finished_before_what_comes_later() -> None:
    w, x = leaf(2.0), leaf(3.0)
    log: list[str] = []
    y = x * x
    y.register_hook(lambda g: log.append("inner"))
    w.register_hook(lambda g: log.append("outer leaf"))
    (w * y).backward()
    assert log == ["outer leaf", "inner"]


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_hooks_see_values(mode: str) -> None:
    from jtorch._src.engine import execution

    with execution(mode):
        x = leaf()
        seen: list[Any] = []
        y = x.exp()
        y.register_hook(lambda g: seen.append(g.sum().item()))
        (y * 2).sum().backward()
        assert seen == [6.0]


def test_node_hooks_replace_gradients_and_are_removed() -> None:
    x = leaf()
    y = x * x
    handle = y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 10, ins[1]))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [11.0, 22.0, 33.0]
    handle.remove()
    x.grad = None
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    y.grad_fn.register_hook(lambda ins, outs: ins[:1])
    with pytest.raises(RuntimeError, match=r"incorrect number of values \(got 1, but expected 2\)"):
        y.sum().backward()


def test_kept_gradients_follow_in_place_changes() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([5.0] * 3, [30.0] * 3)


def test_gradient_edges_stand_for_tensors() -> None:
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    (at_y,) = torch.autograd.grad(z, graph.get_gradient_edge(y), retain_graph=True)
    assert at_y.tolist() == [4.0, 8.0, 12.0]
    torch.autograd.backward(
        graph.get_gradient_edge(z), torch.tensor(1.0), inputs=[graph.get_gradient_edge(x)]
    )
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_hooks_on_several_gradients() -> None:
    x, y = leaf(), leaf()
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook((x, y), seen.append)
    (x * 2 + y).sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    (x + y).sum().backward()
    assert [[None if g is None else g.tolist() for g in gs] for gs in seen] == [
        [[2.0] * 3, [1.0] * 3],
        [[2.0] * 3, None],
    ]


def test_mutation_of_saved_tensors_may_be_allowed() -> None:
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        y.add_(1)
        z.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_walk_that_frees_nothing_can_be_repeated() -> None:
    x = leaf()
    y = (x + x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0] * 3


def test_batched_gradients() -> None:
    x = leaf()
    y = x * x
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, create_graph=True)
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    (second,) = torch.autograd.grad(rows.sum(), x)
    assert second.tolist() == [2.0] * 3


def test_deep_graphs() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_wide_graphs() -> None:
    leaves = [leaf(1.0) for _ in range(3000)]
    total = torch.zeros(1)
    for t in leaves:
        total = total + t
    total.backward()
    assert {t.grad.item() for t in leaves} == {1.0}


def test_memory_is_freed_as_soon_as_nothing_refers_to_it() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = (x * 2).exp()
        z = y.sum()
        z.item()
        value, node = weakref.ref(y._v), weakref.ref(y.grad_fn)
        del y
        assert value() is not None
        z.backward()
        x.grad.tolist()
        assert value() is None  # what was saved goes with the walk, ...
        assert node() is not None
        del z
        assert node() is None  # ... and the graph with the last tensor that has it as its history
    finally:
        gc.enable()


def test_custom_functions_leave_no_cycle() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = Double.apply(x)
        seen = y.grad_fn
        assert seen.saved_tensors[1].grad_fn is seen
        node = weakref.ref(y._node)
        del y, seen
        assert node() is None
    finally:
        gc.enable()


def test_walks_of_several_threads_at_once() -> None:
    x = leaf()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                (x * x).sum().backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    assert x.grad.tolist() == [160.0, 320.0, 480.0]


def test_detach_stops_derivatives_of_jax() -> None:
    import jax

    def f(a: Any) -> Any:
        t = torch.from_jax(a)
        return (t * t.detach()).sum().jax()

    assert jax.grad(f)(jax.numpy.asarray([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_anomalies_name_the_line() -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly()
    with mode:
        x = torch.zeros(1, requires_grad=True)
        y = x.sqrt() * 0  # the line
        with (
            pytest.warns(UserWarning, match="the line"),
            pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"),
        ):
            y.sum().backward()


def test_views_that_borrow_their_requirement_are_unused() -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        view = x[:2]
    y = (x * x).sum()
    assert (
        view.requires_grad
        and torch.autograd.grad(y, [view, x], allow_unused=True, retain_graph=True)[0] is None
    )
    with pytest.raises(RuntimeError, match="index 0 appears to not have been used"):
        torch.autograd.grad(y, view)


def test_nodes_tell_what_the_gradients_that_they_take_are_like() -> None:
    x = torch.rand(2, 3, requires_grad=True)
    (found,) = (x * x).grad_fn._input_metadata
    assert (found.shape, found.dtype, found.device) == ([2, 3], torch.float32, x.device)
    variance, _ = torch.var_mean(x, dim=0)
    assert [m.shape for m in variance.grad_fn._input_metadata] == [[3], [3]]

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.double(), x.sum()

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g.float() + h

    made = Both.apply(x)[0].grad_fn._input_metadata
    assert [(m.shape, m.dtype) for m in made] == [([2, 3], torch.float64), ([], torch.float32)]
    end = (x * x).grad_fn.next_functions[0][0]
    assert [m.shape for m in end._input_metadata] == [[2, 3]]


def test_nodes_tell_of_operands_that_they_do_not_keep() -> None:
    x = torch.rand(3, requires_grad=True)
    assert (x * 2).grad_fn._saved_self is None
    for made in (x.sum(), x.view(3, 1), x[0], x.expand(2, 3)):
        assert made.grad_fn._saved_self_sym_sizes == (3,)
    for name in ("_saved_other", "_saved_nothing_sym_sizes", "_raw_saved_self"):
        with pytest.raises(AttributeError, match=name):
            getattr(x.sum().grad_fn, name)
