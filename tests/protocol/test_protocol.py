"""The override protocol on real tensors: ducks, subclasses and modes
(``tests/protocol/test_dispatch.py`` has the machinery alone)."""

from __future__ import annotations

import collections
import copy
import pickle

import pytest

import jtorch as torch
from jtorch import overrides

DECLINED = r"Multiple dispatch failed|no implementation found"


def make_duck(result="ducked", base=object, name="Duck"):
    def handler(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, tuple(types), args, kwargs))
        return result

    return type(name, (base,), {"calls": [], "__torch_function__": classmethod(handler)})


def make_recorder():
    """A Tensor subclass that records and then does the default."""

    class Recorded(torch.Tensor):
        calls: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append((func, args, kwargs))
            return super().__torch_function__(func, types, args, kwargs)

    return Recorded


def T(*values):
    return torch.tensor([float(v) for v in values])


class Log(overrides.TorchFunctionMode):
    def __init__(self):
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, tuple(types), args, kwargs))
        return func(*args, **(kwargs or {}))


# ---------------------------------------------------------------- ducks


def test_functions_ask_and_pass_the_call():
    D = make_duck()
    d, t = D(), T(1)
    torch.add(input=t, other=d)
    torch.add(t, t, out=d)
    torch.narrow(t, 0, 0, d)
    torch.where(d, 1, 2)
    assert [c[0] for c in D.calls] == [torch.add, torch.add, torch.narrow, torch.where]
    assert (
        D.calls[0][2:] == ((), {"input": t, "other": d})
        and D.calls[1][3] == {"out": d}
        and D.calls[2][2] == (t, 0, 0, d)
    )
    assert torch.zeros(d) == "ducked" and torch.zeros(2, d) == "ducked"


def test_out_tuples_lists_and_index_lists_are_looked_into():
    D = make_duck()
    d, t = D(), T(1, 2)
    assert torch.max(t, 0, out=(d, d)) == "ducked"
    assert torch.stack([t, d]) == torch.hstack((d, t)) == torch.index_put(t, (d,), t) == "ducked"
    assert torch.cat([t] * 1000 + [d]) == "ducked"


@pytest.mark.parametrize(
    "name", ["zeros_like", "ones_like", "empty_like", "full_like", "rand_like"]
)
def test_like_factories_ask_their_operand(name):
    D = make_duck()
    if hasattr(torch, name):
        args = (D(), 1) if name == "full_like" else (D(),)
        assert getattr(torch, name)(*args) == "ducked" and D.calls[0][0] is getattr(torch, name)


def test_data_constructors_refuse_ducks():
    D = make_duck(name="D")
    for make in (torch.tensor, torch.as_tensor):
        with pytest.raises(RuntimeError, match="Could not infer dtype of D"):
            make(D())
    with pytest.raises(TypeError):
        torch.from_numpy(D())
    assert D.calls == [] and torch.is_tensor(D()) is False


def test_arguments_without_handler():
    class Nothing:
        pass

    with pytest.raises(
        TypeError, match=r"add\(\): argument 'other' \(position 2\) must be Tensor, not Nothing"
    ):
        torch.add(T(1), Nothing())
    with pytest.raises(TypeError):
        torch.add(make_duck()(), 1, foo=3)


OPERATORS = {
    "+": ("add", "__add__"), "-": ("sub", "__sub__"), "*": ("mul", "__mul__"),
    "/": ("div", "__truediv__"), "@": ("matmul", "__matmul__"), "%": ("remainder", "__mod__"),
    "**": ("__pow__",), "//": ("__floordiv__",), "&": ("__and__",), "|": ("__or__",),
    "^": ("__xor__",), "<<": ("__lshift__",), ">>": ("__rshift__",), "==": ("eq", "__eq__"),
    "!=": ("ne", "__ne__"), "<": ("lt", "__lt__"), "<=": ("le", "__le__"), ">": ("gt", "__gt__"),
    ">=": ("ge", "__ge__"),
}  # fmt: skip
REFLECTED = {
    "+": ("add", "__radd__"), "-": ("__rsub__",), "*": ("mul", "__rmul__"),
    "/": ("__rtruediv__", "__rdiv__"), "@": ("__rmatmul__",), "%": ("__rmod__",),
    "**": ("__rpow__",), "//": ("__rfloordiv__",), "&": ("bitwise_and", "__rand__"),
    "|": ("bitwise_or", "__ror__"), "^": ("bitwise_xor", "__rxor__"), "<": ("gt", "__gt__"),
    "<=": ("ge", "__ge__"), ">": ("lt", "__lt__"), ">=": ("le", "__le__"),
}  # fmt: skip


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators(sign):
    D = make_duck()
    d, t = D(), T(1).long()
    assert eval(f"t {sign} d") == "ducked"
    func, _, args, _ = D.calls[0]
    assert (
        func in [getattr(torch.Tensor, n) for n in OPERATORS[sign]]
        and args[0] is t
        and args[1] is d
    )


@pytest.mark.parametrize("sign", REFLECTED)
def test_reflected_operators_put_the_tensor_first(sign):
    D = make_duck()
    d, t = D(), T(1).long()
    assert eval(f"d {sign} t") == "ducked"
    func, _, args, _ = D.calls[0]
    assert (
        func in [getattr(torch.Tensor, n, None) for n in REFLECTED[sign]]
        and args[0] is t
        and args[1] is d
    )


INPLACE = {
    "+": ("add_", "__iadd__"), "-": ("sub_", "__isub__"), "*": ("mul_", "__imul__"),
    "/": ("div_", "__idiv__"),
    "**": ("pow_",), "//": ("floor_divide_", "__ifloordiv__"), "%": ("remainder_", "__imod__"),
    "&": ("__iand__",), "|": ("__ior__",), "^": ("__ixor__",),
    "<<": ("__ilshift__",), ">>": ("__irshift__",),
}  # fmt: skip


@pytest.mark.parametrize("sign", INPLACE)
def test_inplace_operators(sign):
    D = make_duck()
    scope = {"t": T(1).long(), "d": D()}
    exec(f"t {sign}= d", scope)
    assert scope["t"] == "ducked" and len(D.calls) == 1 and D.calls[0][0].__name__ in INPLACE[sign]


@pytest.mark.parametrize("sign", ["-", "~", "abs", "+"])
def test_unary_operators_of_a_subclass(sign):
    S = make_duck("hit", torch.Tensor)
    s = T(1).long().as_subclass(S)
    assert (abs(s) if sign == "abs" else eval(f"{sign}s")) == "hit"


def test_declined_operators_go_on_to_the_other_operand():
    class R:
        @classmethod
        def __torch_function__(cls, *args):
            return NotImplemented

        def __rsub__(self, other):
            return "reflected"

    t = T(1)
    assert t - R() == "reflected" and (t == R()) is False and (t != R()) is True
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'R'"):
        t + R()
    with pytest.raises(TypeError, match="not supported between instances of 'Tensor' and 'R'"):
        t < R()  # noqa: B015
    with pytest.raises(TypeError, match=r"torch\.Tensor\.add"):
        t.add(R())
    with pytest.raises(TypeError):
        t[R()]


def test_type_errors_of_handlers_inside_operators():
    class Boom:
        @classmethod
        def __torch_function__(cls, *args):
            raise TypeError("mine")

    with pytest.raises(TypeError, match="unsupported operand"):
        T(1) + Boom()
    with pytest.raises(TypeError, match="mine"):
        torch.add(T(1), Boom())


def test_indexing():
    D = make_duck()
    d, t = D(), T(1, 2)
    assert t[d] == t[..., d] == t[[d, 0]] == t[[0], [d]] == "ducked"
    assert D.calls[0][0] == torch.Tensor.__getitem__ and D.calls[0][2] == (t, d)
    D.calls.clear()
    t[d] = 1.0
    t[0] = d
    t[[d]] = 2.0
    assert (
        [c[0] for c in D.calls] == [torch.Tensor.__setitem__] * 3
        and D.calls[1][2][2] is d
        and t.tolist() == [1, 2]
    )


def test_methods_and_functions_are_different_funcs():
    D, R = make_duck(), make_recorder()
    t, s = T(1), T(1).as_subclass(R)
    assert t.mul(D()) == "ducked" and D.calls[0][0] == torch.Tensor.mul
    R.calls.clear()
    torch.exp(s), s.exp()
    assert [c[0] for c in R.calls] == [torch.exp, torch.Tensor.exp]
    for wrong in (D(), 3):
        with pytest.raises(TypeError):
            torch.Tensor.add(wrong, 1)


# ---------------------------------------------------------------- subclasses


def test_results_keep_the_subclass():
    class S(torch.Tensor):
        pass

    s, t = torch.ones(2, 2).as_subclass(S), torch.ones(2, 2)
    made = [
        s + 1,
        1 + s,
        t + s,
        s + t,
        s @ t,
        t @ s,
        -s,
        s[0],
        s[0, 0],
        s.T,
        s.data,
        s.detach(),
        s.clone(),
        s.sum(),
        s.to(torch.float64),
    ]
    made += [
        torch.exp(s),
        s.new_zeros(2),
        torch.zeros_like(s),
        s.reshape(4),
        s > 0,
        torch.cat([s, t]),
        s.max(0)[0],
    ]
    assert {type(x) for x in made} == {S}
    assert all(type(row) is S for row in s) and all(type(row) is S for row in reversed(s))
    assert (
        type(s.shape) is torch.Size
        and s.sum().item() == 4.0
        and type(s.numpy()).__name__ == "ndarray"
        and len(s) == 2
    )
    assert [type(x) for x in torch.split(s, 1)] == [S, S] and type(s.unbind()) is tuple
    named = torch.max(s, 0)
    assert type(named.values) is S and type(named.indices) is S


def test_related_and_unrelated_subclasses():
    class A(torch.Tensor):
        pass

    class B(A):
        pass

    class C(torch.Tensor):
        pass

    a, b, c = T(1).as_subclass(A), T(1).as_subclass(B), T(1).as_subclass(C)
    assert type(a + b) is type(b + a) is B
    with pytest.raises(TypeError, match="unsupported operand"):
        a + c
    with pytest.raises(TypeError, match=DECLINED):
        torch.add(a, c)


def test_conversion_of_containers():
    class S(torch.Tensor):
        pass

    two = collections.namedtuple("two", "a b")
    s, results = (
        T(1).as_subclass(S),
        {"list": [T(1)], "dict": {"a": T(1)}, "named": two(T(1), T(1))},
    )

    def f(x, kind):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(f, (x,), x, kind)
        return results[kind]

    assert type(f(s, "list")[0]) is S and type(f(s, "dict")["a"]) is torch.Tensor
    with pytest.raises(TypeError):
        f(s, "named")


def test_attributes_stay_and_constructors():
    class S(torch.Tensor):
        pass

    s = T(1, 2).as_subclass(S)
    s.tag = "mine"
    assert not hasattr(s + 1, "tag") and s.tag == "mine"
    assert type(S([1.0, 2.0])) is S and S([1.0, 2.0]).tolist() == [1, 2] and S(3).shape == (3,)
    t = T(1, 2)
    u = t.as_subclass(S)
    u.add_(1)
    assert t.tolist() == [2, 3] and u is not t and u.add_(1) is u
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        t.as_subclass(int)
    made = torch.Tensor._make_subclass(S, t, True)
    assert type(made) is S and made.requires_grad and made.is_leaf
    with pytest.raises(
        RuntimeError, match="floating point and complex dtype can require gradients"
    ):
        torch.Tensor._make_subclass(S, torch.tensor([1]), True)


def test_gradients_through_subclasses():
    class S(torch.Tensor):
        pass

    x = T(1, 2).requires_grad_()
    (x.as_subclass(S) * 3).sum().backward()
    assert type(x.grad) is torch.Tensor and x.grad.tolist() == [3, 3]
    s = T(1, 2).as_subclass(S).requires_grad_()
    (s * 2).sum().backward()
    assert type(s.grad) is torch.Tensor and s.grad is s.grad


def test_properties_and_python_protocols_ask():
    R, Tensor = make_recorder(), torch.Tensor
    s = T(1).as_subclass(R)
    cases = [
        (lambda: s.shape, Tensor.shape.__get__), (lambda: s.dtype, Tensor.dtype.__get__),
        (lambda: bool(s), Tensor.__bool__), (lambda: float(s), Tensor.__float__),
        (lambda: int(s), Tensor.__int__), (lambda: len(s), Tensor.__len__), (s.item, Tensor.item),
        (lambda: repr(s), Tensor.__repr__), (lambda: f"{s}", Tensor.__format__),
        (lambda: 1 in s, Tensor.__contains__), (s.numpy, Tensor.numpy), (s.tolist, Tensor.tolist),
        (lambda: s.__reduce_ex__(2), Tensor.__reduce_ex__),
        (lambda: list(reversed(s)), Tensor.__reversed__), (lambda: list(iter(s)), Tensor.dim),
    ]  # fmt: skip
    for call, func in cases:
        R.calls.clear()
        call()
        assert R.calls[0][0] == func, func
    R.calls.clear()
    assert isinstance(hash(s), int) and isinstance(s, torch.Tensor) and s.__class__ is R
    assert s.as_subclass(torch.Tensor) is not None and R.calls == []
    s.requires_grad = True
    del s.grad
    assert [c[0] for c in R.calls] == [Tensor.requires_grad.__set__, Tensor.grad.__delete__]
    getter = Tensor.shape.__get__
    assert (
        getter == Tensor.shape.__get__
        and hash(getter) == hash(Tensor.shape.__get__)
        and getter.__self__.__name__ == "shape"
    )
    assert Tensor.__pow__.__name__ == "pow" and Tensor.__rtruediv__.__name__ == "__rdiv__"


class Kept(torch.Tensor):
    """At module level, where pickle finds it."""


def test_pickling_and_copying():
    s = T(1, 2).as_subclass(Kept)
    s.tag = "kept"
    for r in (pickle.loads(pickle.dumps(s)), copy.copy(s)):
        assert type(r) is Kept and r.tag == "kept" and r.tolist() == [1, 2] and r is not s
    with pytest.raises(RuntimeError, match="new_empty"):
        copy.deepcopy(s)

    class Own(torch.Tensor):
        def new_empty(self, shape):
            return Own(shape)

    assert type(copy.deepcopy(T(1).as_subclass(Own))) is Own


def test_conversion_constructors_and_subclasses():
    class S(torch.Tensor):
        pass

    s = T(1).as_subclass(S)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        assert type(torch.tensor(s)) is torch.Tensor
    assert torch.as_tensor(s) is s
    assert repr(T(1, 2).as_subclass(type("Named", (torch.Tensor,), {}))) == "Named([1., 2.])"


def test_disabled_handlers():
    class Off(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    o = T(1).as_subclass(Off)
    assert (
        type(o + 1) is type(o[0]) is torch.Tensor
        and not overrides.has_torch_function((o,))
        and overrides.is_tensor_like(o)
    )
    D = make_duck()
    assert torch.add(o, D()) == "ducked" and D.calls[0][1] == (D,)


def test_disabling_blocks():
    class S(torch.Tensor):
        pass

    s, D, log = T(1).as_subclass(S), make_duck(), Log()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(s + 1) is torch.Tensor and not torch._C._is_torch_function_enabled()
        with pytest.raises(TypeError, match="must be Tensor, not Duck"):
            torch.add(T(1), D())
        with log:
            torch.sum(s)
    assert [c[:2] for c in log.calls] == [(torch.sum, ())] and torch._C._is_torch_function_enabled()
    with torch._C.DisableTorchFunction(), log:
        torch.sum(s)
    assert len(log.calls) == 1


# ---------------------------------------------------------------- modes


def test_modes_see_factories_methods_and_properties():
    log, t = Log(), T(1)
    with log:
        (
            torch.zeros(2),
            torch.tensor([1]),
            torch.arange(3),
            torch.as_tensor([1]),
            torch.eye(2),
            torch.device("cpu"),
        )
    assert [c[0] for c in log.calls] == [
        torch.zeros,
        torch.tensor,
        torch.arange,
        torch.as_tensor,
        torch.eye,
        torch.device,
    ]
    log = Log()
    with log:
        t + t, t.exp(), t[0], t.shape, torch.add(t, t)
    methods = [
        torch.Tensor.add,
        torch.Tensor.exp,
        torch.Tensor.__getitem__,
        torch.Tensor.shape.__get__,
    ]
    assert [c[0] for c in log.calls] == [*methods, torch.add]
    assert log.calls[-1][1] == () and log.calls[3][1] == (torch.Tensor,)


def test_modes_do_not_see_these():
    import numpy as np

    class S(torch.Tensor):
        pass

    log, t = Log(), T(1)
    with log:
        (
            torch.is_tensor(t),
            torch.from_numpy(np.ones(2)),
            torch.Tensor([1.0]),
            torch.manual_seed(0),
            t.as_subclass(S),
        )
    assert log.calls == []


def test_mode_that_declines_and_subclasses():
    class No(overrides.TorchFunctionMode):
        seen: list = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(tuple(types))
            return NotImplemented

    class S(torch.Tensor):
        pass

    s, No.seen = T(1).as_subclass(S), []
    with No() as no:
        assert torch.add(make_duck("d")(), 1) == "d"
        no.seen.clear()
        with pytest.raises(TypeError, match=DECLINED):
            torch.neg(s)
        assert no.seen == [(S,), ()]


def test_device_contexts():
    with torch.device("meta") as d:
        made = [
            torch.zeros(2),
            torch.ones(2),
            torch.arange(3),
            torch.full((2,), 1.0),
            torch.eye(2),
            torch.tensor([1]),
        ]
        assert {t.device for t in [*made, torch.linspace(0, 1, 3)]} == {d} and torch.zeros(
            2, device="cpu"
        ).device.type == "cpu"
        with torch.device("cpu"):
            assert torch.zeros(2).device.type == "cpu" and torch.zeros_like(made[0]).device == d
    assert torch.zeros(2).device.type == "cpu"
    try:
        torch.set_default_device("meta")
        assert torch.ones(2).device.type == "meta" and torch.get_default_device().type == "meta"
        assert torch.ones(2, device="cpu").device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert torch.get_default_device().type == "cpu"


def test_equality_asks_the_left_operand_alone():
    recorder, other, duck = make_recorder(), type("Other", (torch.Tensor,), {}), make_duck()
    x, y = T(1, 2).as_subclass(recorder), T(1, 3).as_subclass(other)
    equal = x == y
    assert type(equal) is recorder and equal.tolist() == [True, False] and type(y == x) is other
    func, args, _ = recorder.calls[0]
    assert func is torch.Tensor.__eq__ and args[0] is x and args[1] is y

    # nobody is asked below the left operand's handler
    assert (x == duck()) is False and not duck.calls
    assert (T(1) == duck()) == "ducked" and duck.calls[0][0] is torch.Tensor.eq
    with Log() as mode:
        T(1) == T(2)  # noqa: B015
    assert mode.calls[-1][:2] == (torch.Tensor.__eq__, ())


def test_copies_ask_as_pickle_does():
    recorder = make_recorder()
    x = T(1, 2).as_subclass(recorder)
    x.tag = "tag"
    made = copy.copy(x)
    assert (torch.Tensor.__reduce_ex__, 4) in [(func, args[-1]) for func, args, _ in recorder.calls]
    made.add_(1)
    # on the same memory
    assert type(made) is recorder and made.tag == "tag" and x.tolist() == [2.0, 3.0]

    class Rebuilt(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.Tensor.__reduce_ex__:
                return str, ("rebuilt",)
            return super().__torch_function__(func, types, args, kwargs)

    assert copy.copy(T(1).as_subclass(Rebuilt)) == "rebuilt"


def test_what_is_no_subclass_is_refused():
    with pytest.raises(TypeError, match=r"cls must be a type \(got int\)"):
        T(1).as_subclass(3)
    for cls in (int, object):
        with pytest.raises(TypeError, match="does not inherit from Tensor"):
            torch.Tensor._make_subclass(cls, T(1))
    with pytest.raises(TypeError, match=r"argument 'data' \(position 2\) must be Tensor, not list"):
        torch.Tensor._make_subclass(torch.nn.Parameter, [1.0])


def test_dlpack_gives_plain_tensors():
    assert (
        type(torch.from_dlpack(T(1, 2).as_subclass(type("Sub", (torch.Tensor,), {}))))
        is torch.Tensor
    )
