"""Handlers and modes that misbehave: nothing leaks, nothing hangs, and errors are the caller's
own."""

from __future__ import annotations

import copy
import gc
import threading
import weakref

import pytest

import jtorch as torch
from jtorch import dispatch
from jtorch.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode_stack,
    has_torch_function,
)

T = torch.tensor([1.0, 2.0])


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert _get_current_function_mode_stack() == [] and dispatch.ACTIVE.modes == []
    assert (
        dispatch.is_torch_function_enabled()
        and not has_torch_function((T,))
        and (T + 1).tolist() == [2, 3]
    )


def duck(answer):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return answer(func, types, args, kwargs)

    return Duck()


class Mode(TorchFunctionMode):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.answer(func, types, args, kwargs or {})


class Sub(torch.Tensor):
    pass


class Boom(BaseException):
    pass


def boom(*_):
    raise Boom


# ---- handlers that raise -------------------------------------------------------------------------

CALLS = [
    lambda d: torch.add(d, 1), lambda d: torch.add(T, other=d), lambda d: T + d,
    lambda d: torch.cat([T, d]), lambda d: T[d], torch.nn.functional.dropout,
    lambda d: torch.add(T, T, out=d), lambda d: torch.einsum("i,i", T, d), torch.nn.Linear(2, 2),
    lambda d: torch.autograd.grad(d, d), lambda d: T.__setitem__(0, d), T.add_,
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "error",
    [ValueError("mine"), KeyError("k"), KeyboardInterrupt(), StopIteration(), Boom()],
    ids=repr,
)
def test_errors_of_handlers_go_to_the_caller(call, error):
    def fail(*_):
        raise error

    with pytest.raises(type(error)) as caught:
        call(duck(fail))
    assert caught.value is error and T.tolist() == [1, 2]


def test_a_typeerror_of_a_handler_keeps_its_words():
    def fail(*_):
        raise TypeError("mine")

    for call in (
        lambda d: torch.add(d, 1),
        lambda d: torch.add(T, d),
        T.add,
        lambda d: torch.sum(d, dim=0),
    ):
        with pytest.raises(TypeError, match=r"^mine$"):
            call(duck(fail))


def test_an_error_in_the_default_handler_restores_the_level():
    s = T.as_subclass(Sub)
    for call in (
        lambda: s + torch.ones(3),
        lambda: s.reshape(7),
        lambda: torch.stack([s, torch.ones(3)]),
        lambda: s[5],
    ):
        with pytest.raises((RuntimeError, IndexError)):
            call()
        assert dispatch.is_torch_function_enabled() and type(s + 1) is Sub


def test_errors_in_blocks_restore_what_was_before():
    for block in (torch._C.DisableTorchFunctionSubclass, torch._C.DisableTorchFunction):
        with pytest.raises(Boom), block(), block():
            assert not torch._C._is_torch_function_enabled()
            raise Boom
        assert torch._C._is_torch_function_enabled()


# ---- handlers that recurse, answer nonsense, or change what they are given -----------------------


def test_endless_recursion_is_a_recursion_error():
    def again(func, types, args, kwargs):
        return func(*args, **(kwargs or {}))

    d = duck(again)
    for call in (
        lambda: torch.add(d, 1),
        lambda: T + d,
        lambda: torch.cat([d]),
        lambda: torch.nn.functional.softmax(d, 0),
    ):
        with pytest.raises(RecursionError):
            call()

    class Loop(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError):
        torch.exp(T.as_subclass(Loop))


@pytest.mark.parametrize(
    "answer",
    [None, "text", 3.5, [1], {"a": 1}, object(), type, False],
    ids=lambda answer: type(answer).__name__,
)
def test_foreign_answers_are_handed_on(answer):
    d = duck(lambda *_: answer)
    assert (
        torch.add(d, 1) is answer
        and (T + d) is answer
        and torch.sort(d) is answer
        and torch.add(T, T, out=d) is answer
    )
    with Mode(lambda *_: answer):
        assert (
            torch.add(T, T) is answer
            and torch.zeros(2) is answer
            and T.shape is answer
            and T[0] is answer
        )


def test_a_handler_may_change_what_it_is_given():
    def spoil(func, types, args, kwargs):
        args[0].append("more")
        if kwargs is not None:
            kwargs.clear()
            kwargs["dim"] = 7

    d = duck(spoil)
    tensors, options = [T, d], {"dim": 0}
    torch.cat(tensors, **options)
    # the caller's list is the one that was given
    assert tensors == [T, d, "more"] and options == {"dim": 0}
    assert torch.cat([T, T], dim=0).shape == (4,)


def test_instances_with_odd_attributes():
    class Liar:
        __torch_function__ = None

    class Raising:
        def __getattr__(self, name):
            raise Boom

    class Comparing:
        def __eq__(self, other):
            raise Boom

        __hash__ = None

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    with pytest.raises(TypeError):
        torch.add(Liar(), 1)
    with pytest.raises(Boom):
        torch.add(Raising(), 1)
    assert (
        torch.add(Comparing(), Comparing()) == "asked"
        and torch.sum(Comparing(), dim=Comparing()) == "asked"
    )


def test_a_class_that_changes_its_handler():
    class Changing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "first"

    c = Changing()
    assert torch.add(c, 1) == "first"
    Changing.__torch_function__ = classmethod(lambda cls, *_: "second")
    assert torch.add(c, 1) == "second"
    del Changing.__torch_function__
    with pytest.raises(TypeError):
        torch.add(c, 1)


# ---- modes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.add(T, T),
        lambda: torch.zeros(2),
        lambda: T.shape,
        lambda: torch.cat([T]),
        lambda: T[0],
    ],
)
def test_errors_of_modes_leave_the_stack_as_it_was(call):
    outer, inner = BaseTorchFunctionMode(), Mode(boom)
    with outer:
        with inner:
            with pytest.raises(Boom):
                call()
            assert _get_current_function_mode_stack() == [outer, inner]
        assert (T + 1).tolist() == [2, 3]
    with pytest.raises(Boom), outer, inner:
        call()


def test_a_mode_that_pops_and_pushes_modes():
    outer = Mode(lambda func, types, args, kwargs: func(*args, **kwargs))

    def mutate(func, types, args, kwargs):
        extra = BaseTorchFunctionMode()
        with extra:  # entered and left properly
            torch.add(T, T)
        seen.append(list(_get_current_function_mode_stack()))
        return func(*args, **kwargs)

    seen = []
    with outer, Mode(mutate) as inner:
        torch.add(T, 1)
        assert _get_current_function_mode_stack() == [outer, inner] and seen == [[outer]]

    def leak(func, types, args, kwargs):
        BaseTorchFunctionMode().__enter__()  # never left
        return func(*args, **kwargs)

    with Mode(leak) as mode:
        torch.add(T, 1)
        assert mode in _get_current_function_mode_stack()
    while _get_current_function_mode_stack():
        torch.overrides._pop_mode()


def test_a_mode_inside_its_own_handler():
    depth = []

    class Self(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            depth.append(len(_get_current_function_mode_stack()))
            if len(depth) < 3:
                with self:
                    return func(*args, **(kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Self():
        r = torch.add(T, 1)
    assert r.tolist() == [2, 3]
    assert depth == [0, 0, 0]


def test_leaving_what_was_not_entered():
    mode = BaseTorchFunctionMode()
    with pytest.raises(RuntimeError, match="not entered"):
        mode.__exit__(None, None, None)


def test_modes_left_out_of_order():
    a, b = BaseTorchFunctionMode(), BaseTorchFunctionMode()
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    assert _get_current_function_mode_stack() == [b]
    b.__exit__(None, None, None)


def test_threads_have_modes_of_their_own():
    seen, inside, go = {}, threading.Event(), threading.Event()

    def count(name):
        def answer(func, types, args, kwargs):
            seen.setdefault(name, []).append(func)
            return func(*args, **kwargs)

        return Mode(answer)

    def work(name):
        with count(name):
            torch.add(T, 1)
            if name == "slow":
                inside.set()
                assert go.wait(30)
            torch.mul(T, 2)

    slow = threading.Thread(target=work, args=("slow",))
    slow.start()
    assert inside.wait(30)
    # another thread is inside a mode
    assert torch.exp(T).shape == (2,) and _get_current_function_mode_stack() == []
    fast = [threading.Thread(target=work, args=(f"fast {i}",)) for i in range(4)]
    for thread in fast:
        thread.start()
    for thread in fast:
        thread.join(30)
    go.set()
    slow.join(30)
    assert seen == {
        name: [torch.add, torch.mul] for name in ("slow", "fast 0", "fast 1", "fast 2", "fast 3")
    }


def test_a_thread_that_dies_inside_a_mode():
    def work():
        BaseTorchFunctionMode().__enter__()
        torch._C.DisableTorchFunction().__enter__()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    del thread
    gc.collect()
    assert dispatch.ACTIVE.modes == []


def test_generators_suspended_inside_a_mode():
    def numbers(mode):
        with mode:
            yield torch.add(T, 1)
            yield torch.add(T, 2)

    seen = []
    mode = Mode(lambda func, types, args, kwargs: seen.append(func) or func(*args, **kwargs))
    it = numbers(mode)
    next(it)
    # as in PyTorch: the block has not been left
    assert _get_current_function_mode_stack() == [mode]
    with BaseTorchFunctionMode() as other:
        # leaves its mode although another one is further in
        assert next(it).tolist() == [3, 4] and next(it, None) is None
        assert _get_current_function_mode_stack() == [other]
    it = numbers(mode)
    next(it)
    it.close()
    abandoned = numbers(mode)
    next(abandoned)
    del abandoned
    gc.collect()
    assert torch.add in seen


def test_modes_and_ducks_are_collected():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            pass

    d, mode = Duck(), BaseTorchFunctionMode()
    torch.add(d, 1)
    torch.cat([T, d])
    with mode:
        torch.add(T, T)
    kept = [weakref.ref(d), weakref.ref(mode), weakref.ref(Duck)]
    del d, mode, Duck
    gc.collect()
    assert [r() for r in kept] == [None] * 3


def test_copying_a_mode_and_a_failing_deepcopy():
    mode = copy.copy(BaseTorchFunctionMode())
    with mode:
        assert (T * 2).tolist() == [2, 4]
    with pytest.raises(Boom):
        copy.deepcopy([duck(boom), T, _Uncopyable()])


class _Uncopyable:
    def __deepcopy__(self, memo):
        raise Boom


def test_redispatch_after_an_error():
    with pytest.raises(TypeError):
        torch.overrides.redispatch_function(torch.add, (), (duck(boom), 1), {})
    s = T.as_subclass(Sub)
    assert torch.overrides.redispatch_function(torch.add, (Sub,), (s, 1), {}).tolist() == [2, 3]
    with pytest.raises(Boom):
        torch.add(duck(boom), 1)


class Marked(torch.Tensor):
    pass


def test_pickling_keeps_private_attributes_too():
    import pickle

    x = T.clone().as_subclass(Marked)
    x.note, x._secret = "n", {"a": 1}
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Marked and y.note == "n" and y._secret == {"a": 1} and y.tolist() == [1, 2]


def test_questions_about_dtypes_ask():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, args

    duck = Duck()
    assert torch.result_type(duck, T) == (torch.result_type, (duck, T))
    assert torch.result_type(T, other=duck) == (torch.result_type, (T,))
    assert torch.can_cast(duck, torch.float32) == (torch.can_cast, (duck, torch.float32))
    assert torch.promote_types(torch.int8, duck) == (torch.promote_types, (torch.int8, duck))
    seen = []
    with Mode(lambda func, types, args, kwargs: seen.append(func) or func(*args, **(kwargs or {}))):
        assert torch.result_type(T, 1.0) is torch.float32
        assert torch.can_cast(torch.int8, torch.float32)
        assert torch.promote_types(torch.int8, torch.int16) is torch.int16
    assert seen == [torch.result_type, torch.can_cast, torch.promote_types]
