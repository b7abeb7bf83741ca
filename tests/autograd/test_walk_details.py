"""What a walk tells programs: callbacks at its end, hooks of results without gradients, saved
tensors, anomalies, tangents."""

import importlib
import itertools
import threading
import warnings
from contextlib import nullcontext

import pytest

import jtorch as torch
from jtorch.autograd import Function, Variable, detect_anomaly
from jtorch.autograd import forward_ad as fw
from jtorch.utils._python_dispatch import TorchDispatchMode


def test_callbacks_run_at_the_end_of_the_walk():
    called = []
    engine = Variable._execution_engine

    class Queuing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            engine.queue_callback(
                lambda: (
                    called.append(x.grad is not None),
                    engine.queue_callback(lambda: called.append("last")),
                )
            )
            called.append("walk")
            return g

    x = torch.ones(2, requires_grad=True)
    Queuing.apply(x).sum().backward()
    assert called == ["walk", True, "last"]
    with pytest.raises(RuntimeError, match="only be installed during backward pass"):
        engine.queue_callback(print)


def test_callbacks_run_at_the_end_of_walks_that_modes_see():
    called = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    for walk in (torch.autograd.backward, lambda y: torch.autograd.grad(y, x)):
        y = (x * 3).sum()
        y.register_hook(
            lambda _: Variable._execution_engine.queue_callback(
                lambda: called.append(x.grad is not None)
            )
        )
        with Mode():
            walk(y)
    assert called == [True, True]


def test_callbacks_of_a_walk_within_a_walk_run_at_its_end():
    order = []

    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Variable._execution_engine.queue_callback(lambda: order.append("inner done"))
            return g

    class Outer(Inner):
        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                Inner.apply(torch.ones(1, requires_grad=True)).backward()
            order.append("outer goes on")
            return g

    Outer.apply(torch.ones(1, requires_grad=True)).backward()
    assert order == ["inner done", "outer goes on"]


def test_hooks_of_other_results_are_told_of_no_gradient():
    seen = []
    parts = torch.ones(3, requires_grad=True).unbind()
    parts[0].register_hook(seen.append)
    parts[1].backward(retain_graph=True)
    parts[0].backward()
    assert seen[0] is None and seen[1].item() == 1.0


def test_views_that_keep_their_gradients_do_so_after_changes_of_their_base():
    base = torch.tensor([1.0], requires_grad=True).clone()
    view, other = base[:], base[:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    assert view.grad.tolist() == other.grad.tolist() == [1.0]


class Saving(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_saved_inputs_can_be_packed():
    x = torch.tensor([3.0], requires_grad=True)
    y = Saving.apply(x)
    first, nothing = y.grad_fn._raw_saved_tensors
    assert isinstance(first, torch._C._autograd.SavedTensor)
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        nothing.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        first.register_hooks(1, 1)
    first.register_hooks(lambda t: t * 2, lambda t: t)
    with pytest.raises(RuntimeError, match="already been set"):
        first.register_hooks(lambda t: t, lambda t: t)
    y.backward()
    assert x.grad.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = y.grad_fn._raw_saved_tensors
    with pytest.raises(RuntimeError, match="from Python is forbidden"):
        torch.autograd.SavedTensor()


def test_saved_variables_are_deprecated():
    y = Saving.apply(torch.ones(1, requires_grad=True))
    with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
        assert len(y.grad_fn.saved_variables) == 2


def test_saved_results_keep_their_node_through_hooks():
    y = torch.ones(2, requires_grad=True).exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


class NotANumber(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g / 0 * 0


class Nested(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return NotANumber.apply(g)


def test_anomalies_of_functions():
    x = torch.ones(2, requires_grad=True)
    out = NotANumber.apply(x).sum()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with (
            pytest.raises(
                RuntimeError, match="'NotANumberBackward' returned nan values in its 0th output"
            ),
            detect_anomaly(),
        ):
            out.backward()
    assert "No forward pass information" in str(seen[-1].message)


def test_anomalies_name_what_induced_them():
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="'NotANumberBackward'"), detect_anomaly():
            (g,) = torch.autograd.grad(
                Nested.apply(x), x, torch.ones(2, requires_grad=True), create_graph=True
            )
            g.sum().backward()
    words = [str(w.message) for w in seen]
    assert (
        "NotANumber.apply" in words[-2]
        and "induced by NestedBackward" in words[-1]
        and "Nested.apply" in words[-1]
    )


def test_tangents_are_the_tensors_that_were_given():
    x, t = torch.rand(2, 3), torch.rand(2, 3)
    with fw.dual_level():
        assert fw.unpack_dual(fw.make_dual(x, t)).tangent is t
        assert fw.unpack_dual(fw.make_dual(x, torch.rand(3, 2).t())).tangent.shape == (2, 3)
        z = torch.rand(2, dtype=torch.complex64)
        assert fw.unpack_dual(fw.make_dual(z, z.conj())).tangent is not z
        y, before = fw.make_dual(x, t), t.clone()
        y.mul_(2)
        assert fw.unpack_dual(y).tangent is t and torch.equal(t, 2 * before)
        with pytest.raises(RuntimeError, match="itself has a forward gradient"):
            fw.make_dual(torch.rand(2, 3), y)


class InPlace(Function):
    @staticmethod
    def forward(ctx, x, faithful):
        ctx.mark_dirty(x)
        ctx.faithful = faithful
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, t, _):
        return t.mul_(2) if ctx.faithful else 2 * t


@pytest.mark.parametrize("requires_grad", [False, True])
def test_functions_that_write_have_to_write_into_tangents(requires_grad):
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2, requires_grad=requires_grad).clone(), torch.ones(2))
        found = InPlace.apply(x, True)
        assert (
            found is x
            and fw.unpack_dual(x).tangent.tolist() == [2.0, 2.0]
            and x.requires_grad == requires_grad
        )
        with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
            InPlace.apply(fw.make_dual(torch.ones(2), torch.ones(2)), False)


def test_jvp_sees_what_was_saved_for_it_alone():
    seen = []

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            seen.append(len(ctx.saved_tensors))
            return 2 * t

        @staticmethod
        def backward(ctx, g):
            seen.append(len(ctx.saved_tensors))
            return 2 * g

    with fw.dual_level():
        Twice.apply(fw.make_dual(torch.ones(1, requires_grad=True), torch.ones(1))).backward()
    assert seen == [0, 1]


def test_what_cannot_be_deleted():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Delete tensor instead"):
        del x.data
    with pytest.raises(RuntimeError, match="must be a bool"):
        del x.requires_grad
    with pytest.raises(RuntimeError, match="Detach tensor instead"):
        del x._grad_fn
    with pytest.raises(RuntimeError, match="_backwards_hooks not allowed"):
        del x._backward_hooks


def test_numpy_where_nothing_is_recorded():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()


def test_names_of_the_engine():
    x = torch.ones(1, requires_grad=True)
    assert isinstance((x + 1).grad_fn.next_functions[0][0], torch._C._functions.AccumulateGrad)
    torch._C._functions.UndefinedGrad()(x).backward()
    assert x.grad is None
    ref = torch._C._WeakTensorRef(x)
    assert not ref.expired()
    del x
    assert ref.expired()
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()
    with torch.autograd.graph.disable_saved_tensors_hooks("not now"):
        assert torch._C._autograd._saved_tensors_hooks_get_disabled_error_message() == "not now"
        others = []
        thread = threading.Thread(
            target=lambda: others.append(torch._C._autograd._saved_tensors_hooks_is_enabled())
        )
        thread.start()
        thread.join()
        assert others == [True] and not torch._C._autograd._saved_tensors_hooks_is_enabled()
    from jtorch._vmap_internals import _vmap

    assert _vmap(lambda a: (a * 2, None), allow_none_pass_through=True)(torch.ones(2))[1] is None
    assert torch.jit._wait(torch.jit._fork(torch.neg, torch.tensor(3))).item() == -3


def test_functions_in_batches_of_gradients_need_no_setup_context():
    class Squared(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return Through.apply(g) * 2 * ctx.saved_tensors[0]

    class Through(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([3.0, 4.0], requires_grad=True)
    (found,) = torch.autograd.grad(Squared.apply(x), x, torch.eye(2), is_grads_batched=True)
    assert found.tolist() == [[6.0, 0.0], [0.0, 8.0]]


def test_gradcheck_calls_functions_as_programs_do():
    def hooked(x):
        y = x.clone()
        y.register_hook(lambda g: g + 0.01)
        return y

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        torch.autograd.gradcheck(hooked, (x,))

    tangents = []

    def second(x, y):
        tangents.append(fw._current_level < 0 or fw.unpack_dual(y).tangent is not None)
        return x * y

    assert torch.autograd.gradcheck(
        second,
        (x, x.detach().clone().requires_grad_()),
        check_forward_ad=True,
        check_undefined_grad=False,
    )
    assert all(tangents)


def test_views_in_inference_mode_require_no_gradients():
    with torch.inference_mode():
        x = torch.ones(2, 3, requires_grad=True)
        assert x.requires_grad and not x.view(-1).requires_grad
    y = torch.ones(2, 3, requires_grad=True)
    with torch.inference_mode():
        assert y.view(-1).requires_grad


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        x.mul_(factor)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 5, g * 7


def test_what_a_function_does_to_a_view_becomes_part_of_the_base():
    a, factor = torch.ones(4, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    base = a.clone()
    part, other = base[1:3], base[:2]
    assert Scaled.apply(part, factor) is part
    assert (base.grad_fn.name(), part.grad_fn.name()) == (
        "torch::autograd::CopySlices",
        "AsStridedBackward0",
    )
    (base * torch.arange(1.0, 5.0)).sum().backward(retain_graph=True)
    assert a.grad.tolist() == [1.0, 10.0, 15.0, 4.0]
    assert factor.grad.tolist() == [14.0, 21.0]
    (other * 2).sum().backward()  # views of the base follow
    assert a.grad.tolist() == [3.0, 20.0, 15.0, 4.0]
    assert factor.grad.tolist() == [28.0, 21.0]
    plain = torch.ones(3)
    Scaled.apply(plain[1:], factor)
    assert plain.grad_fn.name() == "torch::autograd::CopySlices"


def test_what_a_function_may_not_do_to_a_view():
    leaf = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        Scaled.apply(leaf[:2], torch.ones(2))
    with pytest.raises(
        RuntimeError, match="is the output of a function that returns multiple views"
    ):
        Scaled.apply((leaf * 1).split(2)[0], torch.ones(2))

    class Two(Scaled):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.mark_dirty(x)
            return x, x * factor

    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        Two.apply((leaf * 1)[:2], torch.ones(2))

    class Stray(Scaled):
        @staticmethod
        def forward(ctx, x, factor):
            y = x * factor
            ctx.mark_dirty(y)
            return y

    with pytest.warns(UserWarning, match="a tensor that was not an input"):
        Stray.apply(leaf, torch.ones(4))


def test_other_data_leave_the_count_of_writes():
    x, y = torch.ones(2), torch.zeros(2)
    x.add_(1)
    view = x[:1]
    y.add_(1).add_(1).add_(1)
    x.data = y
    assert (x._version, y._version, view._version) == (1, 3, 1)
    y.add_(1)
    assert (x.tolist(), x._version) == ([4.0, 4.0], 1)
    w = torch.ones(2, requires_grad=True)
    z = (x * w).sum()
    x.add_(1)
    assert (x._version, y._version, view._version) == (2, 4, 2)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1"):
        z.backward()
    del y
    view.add_(1)
    assert (x.tolist(), x._version) == ([5.0, 5.0], 3)


def test_gradients_of_leaves_have_their_strides():
    for x in (torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.ones(3, 4).t()):
        x.requires_grad_()
        for _ in range(2):
            (x.sin() * 2).sum().backward()
            assert x.grad.stride() == x.stride()
        assert torch.equal(x.grad, 4 * x.detach().cos())
    gaps = torch.ones(4, 4)[:, ::2].requires_grad_()
    gaps.sum().backward()
    assert gaps.grad.is_contiguous()


class Watching(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("watching", [nullcontext, Watching])
def test_inputs_that_are_no_leaves_keep_gradients_from_then_on(watching) -> None:
    with watching():
        x = torch.arange(4.0, requires_grad=True)
        y = x * 2
        loss = y.sum()
        loss.backward(inputs=[y], retain_graph=True)
        assert y.retains_grad and y.grad.tolist() == [1.0] * 4 and x.grad is None
        loss.backward()
        assert y.grad.tolist() == [2.0] * 4 and x.grad.tolist() == [2.0] * 4


@pytest.mark.parametrize(
    "use",
    [
        lambda part, x: part.backward(torch.ones(2)),
        lambda part, x: torch.autograd.grad(part, x, torch.ones(2)),
        lambda part, x: torch.autograd.grad(x.sum(), part, allow_unused=True),
        lambda part, x: part.register_hook(print),
    ],
)
def test_parts_of_what_was_written_are_no_roots(use) -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    part = y.chunk(2)[0]
    y.mul_(2)
    assert part.tolist() == [0.0, 2.0]
    with pytest.raises(
        RuntimeError,
        match=r"Output 0 of Split.* is a view and its base or another view of its base has been "
        r"modified inplace",
    ):
        use(part, x)
    assert x.grad is None


def test_an_anomaly_goes_on_where_warnings_are_errors(capsys):
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anomalies = detect_anomaly()
    with anomalies, warnings.catch_warnings():
        warnings.simplefilter("error")
        y = x + 1
        z = y**2
        y += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_the_class_of_a_functions_node_is_that_of_its_contexts():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Other(Twice):
        pass

    x = torch.ones(2, requires_grad=True)
    node = Twice.apply(x).grad_fn
    assert (
        node.__class__ is Twice._backward_cls
        and Other.apply(x).grad_fn.__class__ is Other._backward_cls
    )
    assert isinstance(node, torch.autograd.graph.Node) and isinstance(
        node, torch.autograd.function.BackwardCFunction
    )


def test_whether_a_walk_comes_to_a_node():
    will = torch._C._will_engine_execute_node
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    c = a * b
    d = c.cos()

    class Passed(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    e = Passed.apply(c)
    ends = [t.view_as(t).grad_fn.next_functions[0][0] for t in (a, b)]
    seen = []
    c.register_hook(
        lambda g: seen.append([will(n) for n in (*ends, c.grad_fn, d.grad_fn, e.grad_fn)])
    )
    e.sum().backward(inputs=[a], retain_graph=True)
    e.sum().backward(retain_graph=True)
    assert seen == [[True, False, True, False, True], [True, True, True, False, True]]
    with pytest.raises(RuntimeError, match=r"currently running autograd\.grad"):
        torch.autograd.grad(e.sum(), a)
    with pytest.raises(RuntimeError, match="only be called during the backward pass"):
        will(e.grad_fn)
    with pytest.raises(RuntimeError, match="expects an grad_fn, but got Tensor"):
        will(e)


def test_the_number_of_a_walk() -> None:
    numbers: list[int] = []
    x = torch.ones(2, requires_grad=True)
    y = 2 * x
    y.register_hook(lambda g: numbers.append(torch._C._current_graph_task_id()))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert -1 < numbers[0] < numbers[1]
    assert torch._C._current_graph_task_id() == -1


def test_classes_are_no_longer_to_be_decorated() -> None:
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Made:
            def __init__(self) -> None:
                self.enabled = torch.is_grad_enabled()

    assert not Made().enabled


def test_tangents_switched_off_by_the_inner_name() -> None:
    assert torch._C._is_fwd_grad_enabled()
    torch._C._set_fwd_grad_enabled(False)
    try:
        assert not torch.autograd.forward_ad._is_fwd_grad_enabled()
    finally:
        torch._C._set_fwd_grad_enabled(True)


@pytest.mark.parametrize(("until", "fails"), [(5, False), (10**6, True)])
def test_gradcheck_of_walks_that_round_otherwise_from_some_time_on(until, fails):
    walks = itertools.count()

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            n = next(walks)
            return g * (2 + 1e-12 * (n % 3 + 1) * (n < until))

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    if fails:
        with pytest.raises(torch.autograd.gradcheck.GradcheckError, match="not reentrant"):
            torch.autograd.gradcheck(Double.apply, x)
    else:
        assert torch.autograd.gradcheck(Double.apply, x)


@pytest.mark.parametrize(
    "stop",
    [lambda x: x.detach_(), lambda x: x.requires_grad_(False)],
    ids=["detach_", "requires_grad_"],
)
@pytest.mark.parametrize("below", [False, True])
def test_a_leaf_that_stopped_to_require_grad_gets_none(stop, below):
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    ran = []
    x.register_hook(lambda g: ran.append("hook"))
    x.register_post_accumulate_grad_hook(lambda p: ran.append("after"))
    loss = (x * y).sum()
    stop(x)
    with Watching() if below else nullcontext():
        loss.backward()
    assert x.grad is None
    assert ran == ["hook", "after"]
    assert y.grad is not None
    assert y.grad.tolist() == [1, 1]


def test_gradcheck_says_which_check_a_batch_failed():
    class Alone(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return torch.tensor(g.tolist(), dtype=g.dtype)

    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    words = "failed while testing batched gradient"
    with pytest.raises(RuntimeError, match=words):
        torch.autograd.gradcheck(Alone.apply, (x,), check_batched_grad=True)


def test_jacobians_by_differences_are_found_under_pytorchs_names():
    module = importlib.import_module("jtorch.autograd.gradcheck")
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.ones(1, dtype=torch.float64)
    assert [list(module._iter_tensors(t, True)) for t in ([x, (y,)], "ab", 3)] == [[x], [], []]
    ((found,),) = module._get_numerical_jacobian(lambda x, y: x * x + y, (x, y), eps=1e-6)
    assert torch.allclose(found, torch.diag(2 * x.detach()))
    with pytest.raises(ValueError, match="Expected output to be non-complex"):
        module._get_numerical_jacobian(lambda x: x + 1j, (x,))
