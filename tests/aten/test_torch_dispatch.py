"""``__torch_dispatch__``: wrapper classes, the order of asking, modes, and what handlers may
return."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
from dispatching import Noting, names, wrapper  # type: ignore[import-not-found]

import jtorch as torch
import jtorch.nn.functional as F
from jtorch.overrides import TorchFunctionMode, enable_reentrant_dispatch
from jtorch.utils import _python_dispatch as pd
from jtorch.utils._pytree import tree_map


def answering(answer: Any) -> Any:
    """A class whose handler always gives ``answer``."""

    class Answer(wrapper()):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return answer

    return Answer


# ---- instances -----------------------------------------------------------------------------------


def test_metadata_costs_no_memory():
    W = wrapper()
    w = torch.Tensor._make_wrapper_subclass(W, (10**6, 10**6), dtype=torch.float64)
    assert type(w) is W
    assert w.shape == (10**6, 10**6)
    assert w.numel() == 10**12
    assert w.stride() == (10**6, 1)
    assert (w.dtype, w.dim(), w.is_contiguous(), w.storage_offset()) == (torch.float64, 2, True, 0)
    assert W.log == []


def test_strides_and_offset_are_those_given():
    w = torch.Tensor._make_wrapper_subclass(wrapper(), (2, 3), strides=(1, 2), storage_offset=5)
    assert (w.stride(), w.storage_offset(), w.is_contiguous()) == ((1, 2), 5, False)


def test_refusals_of_construction():
    with pytest.raises(TypeError, match="Sub must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(type("Sub", (torch.Tensor,), {}), (2,))
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        torch.Tensor._make_wrapper_subclass(wrapper(), (2,), dtype=torch.int64, requires_grad=True)


def test_instances_of_inference_mode():
    W = wrapper()
    with torch.inference_mode():
        w = W(torch.ones(2, 2))
        assert w.is_inference() and (w + 1).is_inference() and w.t().is_inference()
    assert w.is_inference() and not W(torch.ones(2)).is_inference()
    # a view made outside is an ordinary tensor
    assert not w.t().is_inference() and torch.nn.Parameter(w).requires_grad
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor"):
        w.requires_grad_()


def test_python_dispatch_tells_who_takes_part():
    W = wrapper()
    assert W(torch.ones(1))._python_dispatch
    assert not torch.ones(1)._python_dispatch
    assert torch.Tensor.__torch_dispatch__ is torch._C._disabled_torch_dispatch_impl


def test_function_handler_is_disabled_unless_the_class_has_its_own():
    W = wrapper()
    disabled = torch._C._disabled_torch_function_impl

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

        __torch_dispatch__ = W.__dict__["__torch_dispatch__"]

    assert W.__torch_function__ is disabled
    assert type("Below", (W,), {}).__torch_function__ is disabled
    assert Own.__torch_function__ is not disabled


def test_copies():
    W = wrapper()
    w = W(torch.ones(2), requires_grad=True)
    w.tag = "here"
    twin = copy.copy(w)
    assert type(twin) is W
    assert (twin.tag, twin.elem is w.elem, twin.requires_grad) == ("here", True, True)
    assert W.log == []
    deep = copy.deepcopy(w)
    assert names(W.log) == ["aten.clone.default"]
    assert type(deep) is W
    assert deep.requires_grad
    assert deep.is_leaf
    with pytest.raises(RuntimeError, match=r"wrapper subclasses only works .* clone\(\)"):
        copy.deepcopy(answering(torch.ones(2))(torch.ones(2)))


def test_conversions_to_the_host_are_refused():
    w = wrapper()(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses"):
        w.tolist()
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        w.numpy()


def test_traceable_classes():
    W = wrapper()

    class Pair(W):
        def __tensor_flatten__(self):
            return ["elem"], "context"

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            assert context == "context"
            assert (tuple(size), tuple(stride)) == ((2,), (1,))
            return Pair(inner["elem"])

    p = Pair(torch.tensor([1.0, 2.0]))
    assert pd.is_traceable_wrapper_subclass(p)
    assert not pd.is_traceable_wrapper_subclass(W(torch.ones(1)))
    assert not pd.is_traceable_wrapper_subclass(torch.ones(1))
    assert pd.transform_subclass(
        p, lambda name, t: t * 3 if name == "elem" else None
    ).elem.tolist() == [3.0, 6.0]
    with pytest.raises(RuntimeError, match="to have shape equal to"):
        pd.transform_subclass(p, lambda name, t: t[:1])


# ---- asking --------------------------------------------------------------------------------------


def test_spellings_are_one_operator():
    W = wrapper()
    x = W(torch.ones(1))
    torch.add(x, 2), x.add(2), x + 2, 2 + x, torch.add(input=x, other=2)
    assert names(W.log) == ["aten.add.Tensor"] * 5
    assert all(args[0] is x and args[1] == 2 and kwargs == {} for _, args, kwargs in W.log)


def test_arguments_are_those_of_the_schema():
    W = wrapper()
    x = W(torch.ones(2, 3))
    (
        torch.sum(x, dim=1, keepdim=True),
        torch.sum(x, axis=0),
        torch.add(x, x, alpha=2),
        x.view(3, 2),
        x.permute(1, 0),
    )
    given = [(args[1:], kwargs) for _, args, kwargs in W.log]
    assert given[0] == (([1], True), {})
    assert given[1] == (([0],), {})
    assert given[2][1] == {"alpha": 2}
    assert given[3] == (([3, 2],), {})
    assert given[4] == (([1, 0],), {})


def test_defaults_are_dropped_even_if_given():
    W = wrapper()
    x, v, m = W(torch.ones(2, 3)), W(torch.ones(1)), W(torch.ones(1, 1))
    torch.add(x, x, alpha=1), torch.sum(x, dim=1, keepdim=False), torch.cumsum(x, 0, dtype=None)
    assert [(len(args), kwargs) for _, args, kwargs in W.log] == [(2, {}), (2, {}), (2, {})]
    W.log.clear()
    for more in ({}, {"beta": 1}, {"beta": 2}, {"alpha": 2, "beta": 1}):
        torch.addmv(v, m, v, **more)
    assert [kwargs for _, _, kwargs in W.log] == [{}, {}, {"beta": 2}, {"alpha": 2}]


def test_out_and_in_place_give_the_very_object():
    W = wrapper()
    x, o = W(torch.ones(2)), W(torch.zeros(2))
    assert torch.abs(x, out=o) is o
    name, args, kwargs = W.log[-1]
    assert (name, len(args), list(kwargs), kwargs["out"] is o) == ("aten.abs.out", 1, ["out"], True)
    assert x.add_(1) is x
    assert x.__imul__(2) is x
    assert x.elem.tolist() == [4.0, 4.0]
    assert [x._version, o._version] == [2, 1]
    assert answering(torch.ones(5))(torch.ones(2)).add_(1).shape == (2,)
    with pytest.raises(RuntimeError, match="Unable to cast arf to Tensor"):
        answering("arf")(torch.ones(2)).add_(1)


def test_types_and_order():
    seen = []

    class A(wrapper()):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((cls.__name__, tuple(t.__name__ for t in types)))
            return NotImplemented

    class B(A):
        pass

    t = torch.ones(1)
    with pytest.raises(
        TypeError,
        match=r"(?s)Multiple dispatch failed for 'torch\._ops\.aten\.cat\.default'; all "
        r"__torch_dispatch__ .*A",
    ):
        torch.cat([A(t), t, B(t)])
    assert seen == [("B", ("B", "A")), ("A", ("B", "A"))]


def test_wrappers_of_wrappers():
    log: list[Any] = []
    A, B = wrapper(log, "A"), wrapper(log, "B")
    r = A(B(torch.ones(1))) + 1
    assert names(log) == ["aten.add.Tensor"] * 2
    assert (type(r), type(r.elem), r.elem.elem.tolist()) == (A, B, [2.0])
    assert A(A(A(torch.ones(2)))).sum().item() == 2.0


def test_unusable_answers():
    t = torch.ones(2, 3)
    for bad in ("arf", 3):
        with pytest.raises(RuntimeError, match=f"Unable to cast {bad} to Tensor"):
            torch.exp(answering(bad)(t))
    with pytest.raises(TypeError, match="unsupported operand"):
        answering(NotImplemented)(t) + 1
    with pytest.raises(RuntimeError, match="is not an instance of 'sequence'"):
        torch.max(answering(None)(t), 1)
    found = torch.max(answering([t, t])(t), 1)
    assert found.values is t
    assert found.indices is t


def test_handler_errors_pass_through():
    class Boom(wrapper()):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Boom(torch.ones(1)) * 2


def test_default_handler_runs_on_data():
    class S(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs)

    s = torch.Tensor._make_subclass(S, torch.tensor([1.0, 2.0]))
    r = s + s
    assert type(r) is torch.Tensor
    assert r.tolist() == [2.0, 4.0]
    assert type(s.sum()) is torch.Tensor


def test_no_data_to_run_on():
    class Loop(wrapper()):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return torch.Tensor.__torch_dispatch__(func, types, args, kwargs)

    with pytest.raises(RuntimeError, match="has no data of its own"):
        Loop(torch.ones(1)).exp()


def test_function_without_an_operator_reaches_its_parts():
    W = wrapper()
    x = W(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    r = torch.cov(x)
    assert type(r) is W
    assert torch.allclose(r.elem, torch.cov(x.elem))
    assert W.log


def test_views_share_the_version():
    W = wrapper()
    w = W(torch.zeros(2, 2))
    w[0].add_(1)
    assert names(W.log) == ["aten.select.int", "aten.add_.Tensor"]
    assert w._version == 1
    assert w.elem.tolist() == [[1.0, 1.0], [0.0, 0.0]]


# ---- modes ---------------------------------------------------------------------------------------


def test_modes_see_plain_tensors_and_factories():
    log: list[str] = []
    seen = []

    class Args(pd.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(
                (str(func), types, list(args[0]) if isinstance(args[0], list) else args[0], kwargs)
            )
            return func(*args, **(kwargs or {}))

    with Noting(log):
        (torch.ones(1) + 1) * 2
    assert log == ["aten.ones.default", "aten.add.Tensor", "aten.mul.Tensor"]
    with Args():
        torch.zeros(2, 3, dtype=torch.int64), torch.arange(3), torch.empty(1), torch.tensor([1.0])
    cpu = torch.device("cpu")
    assert seen[0] == (
        "aten.zeros.default",
        (),
        [2, 3],
        {"dtype": torch.int64, "device": cpu, "pin_memory": False},
    )
    assert [s[0] for s in seen] == [
        "aten.zeros.default",
        "aten.arange.default",
        "aten.empty.memory_format",
        "aten.lift_fresh.default",
    ]
    torch.ones(1)
    assert len(seen) == 4


def test_stack_of_modes():
    log = []

    class Named(pd.TorchDispatchMode):
        def __init__(self, name):
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append((self.name, len(pd._get_current_dispatch_mode_stack())))
            return func(*args, **(kwargs or {}))

    outer, inner = Named("outer"), Named("inner")
    with outer as entered, inner:
        assert entered is outer
        assert pd._get_current_dispatch_mode() is inner
        assert pd._get_current_dispatch_mode_stack() == [outer, inner]
        assert pd.is_in_torch_dispatch_mode()
        torch.ones(1)
    assert log == [("inner", 1), ("outer", 0)]
    assert pd._get_current_dispatch_mode() is None
    assert not pd.is_in_torch_dispatch_mode()


def test_mode_may_put_itself_on_again():
    class Deep(pd.TorchDispatchMode):
        depth = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.depth += 1
            if self.depth < 3:
                with self:
                    return func(*args, **(kwargs or {}))
            return func(*args, **(kwargs or {}))

    mode = Deep()
    with mode:
        torch.ones(1)
    assert mode.depth == 3


def test_mode_before_class_and_declining():
    W = wrapper()
    asked = []

    class Mode(pd.TorchDispatchMode):
        def __init__(self, declines):
            self.declines = declines

        def __repr__(self):
            return "<the mode>"

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            asked.append((str(func), types))
            return NotImplemented if self.declines else func(*args, **(kwargs or {}))

    x = W(torch.ones(1))
    with Mode(False):
        assert type(x + 1) is W
    assert asked == [("aten.add.Tensor", (W,))]
    asked.clear()
    with pytest.raises(TypeError, match=r"(?s)mode object <the mode>"), Mode(True):
        x + torch.ones(1)
    with (
        pytest.raises(TypeError, match=r"(?s)aten\.mul\.Tensor.*mode object <the mode>"),
        Mode(True),
    ):
        torch.mul(x, 2)
    # the class's own call is seen by the mode
    assert asked[-2:] == [("aten.mul.Tensor", (W,)), ("aten.mul.Tensor", ())]
    assert pd._get_current_dispatch_mode_stack() == []


def test_mode_may_wrap_results():
    W = wrapper()

    class Wrapping(pd.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            inside = lambda x: x.elem if isinstance(x, W) else x  # noqa: E731
            out = func(*tree_map(inside, args), **tree_map(inside, kwargs or {}))
            return tree_map(lambda t: W(t) if isinstance(t, torch.Tensor) else t, out)

    with Wrapping():
        y = torch.ones(2) + 1
    assert type(y) is W
    assert y.elem.tolist() == [2.0, 2.0]


def test_errors_leave_no_mode_behind():
    class Boom(pd.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"), Boom(), Noting([]):
        torch.ones(1)
    assert pd._get_current_dispatch_mode_stack() == []
    assert torch.ones(1).tolist() == [1.0]


def test_refused_handlers_of_modes():
    class Wrong(pd.TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return 1

    with (
        pytest.raises(
            RuntimeError,
            match="Defining your mode's `__torch_dispatch__` as a classmethod is not supported",
        ),
        Wrong(),
    ):
        torch.ones(1)
    with pytest.raises(NotImplementedError), pd.TorchDispatchMode():
        torch.ones(1)
    with pytest.warns(UserWarning, match="no longer necessary"):
        assert isinstance(Noting.push([]), Noting)


def test_modes_belong_to_their_thread():
    log: list[str] = []
    found: list[Any] = []
    with Noting(log):
        thread = threading.Thread(
            target=lambda: found.append((torch.ones(1) + 1, pd._get_current_dispatch_mode()))
        )
        thread.start()
        thread.join()
    assert log == []
    assert found[0][1] is None


def test_function_modes_are_above():
    above, below = [], []

    class Above(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            above.append(func)
            return func(*args, **(kwargs or {}))

    x, w = torch.ones(2, 3), torch.ones(4, 3)
    with Noting(below), Above():
        F.linear(x, w)
    assert above == [F.linear]
    assert below == ["aten.t.default", "aten.mm.default"]


def test_a_function_handler_is_asked_before():
    log: list[Any] = []

    class Both(wrapper(log)):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.exp:
                log.append("function")
            return super().__torch_function__(func, types, args, kwargs)

    r = torch.exp(Both(torch.zeros(1)))
    assert names(log)[:2] == ["function", "aten.exp.default"]
    assert type(r) is Both


# ---- below autograd ------------------------------------------------------------------------------


def test_nothing_is_recorded_inside_a_handler():
    found = []

    class Inner(wrapper()):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args = tree_map(lambda x: x.elem if isinstance(x, cls) else x, args)
            found.append(func(*args).requires_grad)
            with torch.enable_grad():
                found.append((func(*args).requires_grad, torch.is_grad_enabled()))
            with enable_reentrant_dispatch():
                inner = func(*args)
            found.append((inner.requires_grad, inner.grad_fn is not None))
            return cls(inner.detach())

    Inner(torch.ones(1, requires_grad=True)) + 1
    assert found == [False, (False, True), (True, True)]
    assert (torch.ones(1, requires_grad=True) + 1).requires_grad


def test_return_and_correct_aliasing():
    aten = torch.ops.aten
    x, o = torch.ones(1), torch.zeros(1)
    assert pd.return_and_correct_aliasing(aten.add_.Tensor, (x, 1), {}, "out") is x
    assert pd.return_and_correct_aliasing(aten.add.out, (x, 1), {"out": o}, "out") is o
    assert pd.return_and_correct_aliasing(aten.add.Tensor, (x, 1), {}, "out") == "out"


class Follower(torch.Tensor):
    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), requires_grad=requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs))
        out = tree_map(
            lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*given[0], **given[1])
        )
        return pd.return_and_correct_aliasing(func, args, kwargs, out)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_views_of_wrappers_lie_in_their_storage(requires_grad):
    t = Follower(torch.arange(6.0).reshape(2, 3), requires_grad)
    views = (t.view(3, 2), t.t(), t[0], *t.split(1), t.detach(), t.unsqueeze(0), t.view(6)[1:])
    copies = (t.clone(), t + 1, t.t().contiguous())
    assert all(v.untyped_storage()._cdata == t.untyped_storage()._cdata for v in views)
    assert all(v.untyped_storage()._cdata != t.untyped_storage()._cdata for v in copies)


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda y: y.transpose_(0, 1), (3, 2)),
        (lambda y: torch.ops.aten.transpose_.default(y, 0, 1), (3, 2)),
        (lambda y: y.unsqueeze_(0), (1, 2, 3)),
        (lambda y: y.unsqueeze_(0).squeeze_(), (2, 3)),
        (lambda y: y.as_strided_((2, 2), (1, 2)), (2, 2)),
    ],
)
def test_wrappers_follow_changes_of_their_size(change, shape):
    x, plain = (
        Follower(torch.arange(6.0).reshape(2, 3), True),
        torch.arange(6.0).reshape(2, 3).requires_grad_(),
    )
    y, expected = x * 2, plain * 2
    assert change(y) is y
    change(expected)
    assert (
        tuple(y.shape) == shape
        and y.stride() == expected.stride()
        and y.inner.tolist() == expected.tolist()
    )
    weights = torch.arange(1.0, y.numel() + 1).reshape(shape)
    (found,) = torch.autograd.grad((y * Follower(weights)).sum(), x)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), plain)
    assert found.inner.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("add.Tensor", []),
        ("transpose.int", []),
        ("transpose_.default", ["inplace_view"]),
        ("resize_.default", ["inplace_view"]),
        ("rand.default", ["nondeterministic_seeded"]),
        ("bernoulli_.float", ["nondeterministic_seeded"]),
        ("native_dropout.default", ["nondeterministic_seeded"]),
        ("native_dropout_backward.default", []),
    ],
)
def test_operators_tell_what_is_said_of_them(name, tags):
    packet, overload = name.split(".")
    assert [tag.name for tag in getattr(getattr(torch.ops.aten, packet), overload).tags] == tags


def test_generators_suspended_inside_a_mode():
    def numbers(mode):
        with mode:
            yield torch.ones(2) + 1
            yield torch.ones(2) + 2

    log: list[str] = []
    mode, other = Noting(log), Noting([])
    it = numbers(mode)
    assert next(it).tolist() == [2, 2]
    assert pd._get_current_dispatch_mode_stack() == [mode]  # the block has not been left
    with other:
        assert next(it).tolist() == [3, 3]
        assert next(it, None) is None
        assert pd._get_current_dispatch_mode_stack() == [other]
    abandoned = numbers(mode)
    next(abandoned)
    abandoned.close()
    assert pd._get_current_dispatch_mode_stack() == []
    assert "aten.add.Tensor" in log


def test_a_thread_that_dies_inside_a_mode():
    def enter():
        Noting([]).__enter__()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert pd._get_current_dispatch_mode() is None
    assert (torch.ones(1) + 1).tolist() == [2]


def test_handlers_that_change_their_arguments_or_the_stack():
    class Greedy(pd.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            (kwargs if kwargs is not None else {}).clear()
            for mode in pd._get_current_dispatch_mode_stack():
                mode.seen = True
            return out

    class Leaves(pd.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with Noting([]):
                raise ValueError("inside another mode")

    outer = Greedy()
    with outer:
        with Greedy():
            assert (torch.ones(2) * 3).tolist() == [3, 3]
        assert pd._get_current_dispatch_mode_stack() == [outer] and outer.seen
        with pytest.raises(ValueError, match="inside another mode"), Leaves():
            torch.ones(2)
        assert pd._get_current_dispatch_mode_stack() == [outer]
    assert pd._get_current_dispatch_mode_stack() == []


def test_endless_recursion_is_a_recursion_error():
    class Again(pd.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with self:
                return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError), Again():
        torch.ones(2)
    assert pd._get_current_dispatch_mode_stack() == []
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_functions_with_several_results_before_they_ran_on_plain_tensors():
    W = wrapper()
    x = W(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    assert [type(t) for t in torch.linalg.qr(x)] == [W, W]
    assert [type(t) for t in torch.linalg.svd(x)] == [W, W, W]
    out, hidden = torch.nn.GRU(2, 2)(x)
    assert type(out) is W and type(hidden) is W


def test_attention_of_wrappers():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.arange(24.0).reshape(2, 3, 4) * 0.1
    W = wrapper()
    got, want = layer(W(x), W(x), W(x))[0], layer(x, x, x)[0]
    assert torch.allclose(got.elem, want, atol=1e-6)


def test_wrappers_show_what_they_are_told_and_that_they_are_parameters() -> None:
    class Held(torch.Tensor):
        @staticmethod
        def __new__(cls, inner: torch.Tensor) -> torch.Tensor:
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            found = func(*[a.inner if isinstance(a, Held) else a for a in args], **(kwargs or {}))
            return Held(found) if isinstance(found, torch.Tensor) else found

        def __repr__(self) -> str:
            return super().__repr__(tensor_contents=f"inner={self.inner}")

    assert repr(Held(torch.ones(1))) == "Held(inner=tensor([1.]))"
    assert (
        repr(torch.nn.Parameter(Held(torch.ones(1))))
        == "Parameter(Held(inner=tensor([1.]), requires_grad=True))"
    )


def test_results_that_are_not_what_was_written_to() -> None:
    W = wrapper()
    x = W(torch.tensor([-1.0, 2.0]))
    assert torch.allclose(
        torch.nn.functional.rrelu(x).elem, torch.tensor([-(1 / 8 + 1 / 3) / 2, 2.0])
    )

    @torch.library.custom_op("tests_dispatch::doubled_into", mutates_args={"out"})
    def doubled_into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        out.copy_(x * 2)
        return x + 1

    y, out = W(torch.tensor([1.0])), W(torch.tensor([0.0]))
    given = torch.ops.tests_dispatch.doubled_into(y, out)
    assert given is not out and given.elem.tolist() == [2.0] and out.elem.tolist() == [2.0]
