"""Function modes on fake types: in which order they are asked, what turns them off, and threads."""

from __future__ import annotations

import gc
import threading

import pytest

import jtorch
from jtorch import dispatch
from jtorch._src.protocol.overridable import specialise
from jtorch.dispatch import ACTIVE, TorchFunctionMode
from tests.protocol.fakes import Log, Plain, duck, make
from tests.protocol.fakes import _plain_is_the_tensor as _plain_is_the_tensor


def test_modes_innermost_first_and_off_in_their_handler():
    order, add = [], make()

    class M(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append((self.name, [m.name for m in dispatch.mode_stack()]))
            add(1, 1)
            return func(*args, **(kwargs or {}))

    with M("outer") as outer, M("inner") as inner:
        assert dispatch.mode_stack() == [outer, inner] and dispatch.current_mode() is inner
        add(Plain(), 1)
        assert dispatch.mode_stack() == [outer, inner]
    assert (
        [name for name, _ in order] == ["inner", "outer", "outer"]
        and order[0][1] == ["outer"]
        and order[1][1] == []
    )


def test_mode_sees_types_and_functions_without_operands():
    log, add, D = [], make(), duck()
    zeros = specialise(lambda *size: ("zeros", size), "torch.zeros", overridable=False)
    t = Plain()
    with Log(log):
        assert zeros(2, 3) == ("zeros", (2, 3))
        add(t, t)
        assert add(D(), t) == "ducked"
    assert [(c[0], c[1]) for c in log] == [(zeros, ()), (add, ()), (add, (D,))] and len(
        D.calls
    ) == 1


def test_mode_is_restored_after_exceptions():
    class Bad(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    add = make()
    with pytest.raises(KeyError), Bad() as bad:
        try:
            add(1, 1)
        finally:
            assert dispatch.mode_stack() == [bad]
    assert dispatch.mode_stack() == []


def test_entering_self_in_the_handler():
    seen = []

    class M(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            if func is f:
                with self:
                    return g(*args)
            return func(*args, **(kwargs or {}))

    f = specialise(lambda input: "f", "torch.f", ("input",))
    g = specialise(lambda input: "g", "torch.g", ("input",))
    with M():
        assert f(Plain()) == "g"
    assert seen == [f, g]


def test_mode_that_declines():
    class No(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    add, outer = make(), []
    with Log(outer), No() as no:
        assert add(duck("d")(), 1) == "d" and outer == []
        with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.add'") as e:
            add(1, 1)
        assert f"  - mode object {no!r}\n" in str(e.value)
        with pytest.raises(TypeError, match=r"no implementation found for .* nor in mode"):
            make(native=False)(duck(NotImplemented)(), 1)


def test_classmethod_and_base_handlers():
    class Bad(TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    add = make()
    with Bad(), pytest.raises(RuntimeError, match="as a classmethod is not supported"):
        add(1, 1)
    with TorchFunctionMode(), pytest.raises(NotImplementedError):
        add(1, 1)
    with dispatch.BaseTorchFunctionMode():
        assert add(1, 2) == ("plain", 1, 2, 1)
    with pytest.warns(UserWarning, match="no longer necessary"):
        assert isinstance(dispatch.BaseTorchFunctionMode.push(), dispatch.BaseTorchFunctionMode)


def test_mode_with_a_restricted_interest():
    """A mode that does not act on a function is passed over, but the modes further in are off while
    an outer one runs."""
    log, add, zeros = [], make(), specialise(lambda *size: size, "torch.zeros", overridable=False)

    class Factories(Log):
        acts_on = {zeros}

    with Factories(log) as inner:
        add(1, 1)
        assert log == []
        zeros(1)
        assert log.pop()[0] is zeros
    outer = []

    class Outer(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            outer.append((func, dispatch.mode_stack()))
            return func(*args)

    with Outer() as o, inner:
        add(1, 1)
        assert dispatch.mode_stack() == [o, inner]
    assert outer == [(add, [])] and log == []
    composite = make("torch.composite", opaque=False)
    with inner:
        composite(1, 1)
    assert log[0][0] is composite


def test_disabling_contexts():
    class Sub(Plain):
        pass

    add, log, D = make(), [], duck()
    with dispatch.DisableTorchFunctionSubclass():
        assert not dispatch.is_torch_function_enabled() and not dispatch.has_torch_function((D(),))
        assert add(D(), 1)[0] == "plain"
        with Log(log):
            add(Sub(), 1)
        assert [c[1] for c in log] == [()]
    with Log(log), dispatch.DisableTorchFunction():
        add(D(), 1)
    with dispatch.DisableTorchFunction(), Log(log):
        add(D(), 1)
        with dispatch.DisableTorchFunctionSubclass():
            add(D(), 1)
        with dispatch.EnableTorchFunction():
            assert add(D(), 1) == "ducked"
    assert len(log) == 2
    with pytest.raises(KeyError), dispatch.DisableTorchFunctionSubclass():
        raise KeyError
    assert dispatch.is_torch_function_enabled()


def test_modes_are_per_thread():
    log, add, seen = [], make(), []

    def other():
        add(1, 1)
        with Log([]) as mode:
            seen.append(dispatch.mode_stack() == [mode])

    with Log(log):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert log == [] and seen == [True]


def test_thread_that_ends_inside_a_mode_leaves_the_fast_path_on():
    thread = threading.Thread(target=lambda: Log([]).__enter__())
    thread.start()
    thread.join()
    del thread
    gc.collect()
    assert ACTIVE.modes == []


def test_generator_suspended_inside_a_mode():
    def suspended(mode):
        with mode:
            yield 1
            yield 2

    a, b, add = Log([]), Log([]), make()
    gen = suspended(a)
    next(gen)
    with b:
        assert list(gen) == [2]  # the generator leaves its own mode, not the one entered since
        assert dispatch.mode_stack() == [b]
        add(1, 1)
    assert a.log == [] and len(b.log) == 1
    gen = suspended(a)
    next(gen)
    gen.close()
    assert dispatch.mode_stack() == []


def test_leaving_a_mode_that_was_not_entered():
    with pytest.raises(RuntimeError, match="has not entered it"):
        Log([]).__exit__(None, None, None)


def test_stacks_of_modes_are_looked_at_place_by_place():
    _C = jtorch._C
    a, b = Log([]), Log([])
    assert _C._len_torch_function_stack() == 0
    with a, b:
        assert [_C._get_function_stack_at(i) for i in range(2)] == [a, b]
        assert _C._pop_torch_function_stack() is b
        _C._push_on_torch_function_stack(b)
        assert _C._len_torch_function_stack() == 2
    for place in (0, -1):
        with pytest.raises(RuntimeError, match="Tried to get stack at idx that's too big"):
            _C._get_function_stack_at(place)
        with pytest.raises(RuntimeError, match="Tried to get stack at idx that's too big"):
            _C._get_dispatch_stack_at(place)
    with pytest.raises(RuntimeError, match="empty mode stack"):
        _C._pop_torch_function_stack()
    with (mode := jtorch.utils._python_dispatch.BaseTorchDispatchMode()):
        assert _C._len_torch_dispatch_stack() == 1
        assert _C._get_dispatch_stack_at(0) is mode


def test_who_is_asked_is_told_and_set():
    _C = jtorch._C
    states = _C._TorchFunctionState
    assert [int(s) for s in states] == [0, 1, 2]
    assert str(states.ENABLED) == "_TorchFunctionState.ENABLED"
    assert repr(states.ALL_DISABLED) == "<_TorchFunctionState.ALL_DISABLED: 2>"
    assert _C._get_torch_function_state() == states.ENABLED
    with _C.DisableTorchFunctionSubclass():
        assert _C._get_torch_function_state() == states.SUBCLASSES_DISABLED
        _C._set_torch_function_state(states.ENABLED)
        assert _C._is_torch_function_enabled()
    _C._set_torch_function_state(states.ALL_DISABLED)
    try:
        add, log = make(), Log([])
        with log:
            add(1, 1)
        assert log.log == []
    finally:
        _C._set_torch_function_state(states.ENABLED)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _C._set_torch_function_state(1)
