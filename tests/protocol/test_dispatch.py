"""The override protocol alone, on fake types: no Tensor, no JAX."""

from __future__ import annotations

import inspect
import pickle
import traceback
import warnings

import numpy as np
import pytest

from jtorch import dispatch
from jtorch._src.protocol import overridable
from jtorch._src.protocol.overridable import (
    specialise,
    specialise_property,
    torch_function_dispatch,
    verify_matching_signatures,
)
from jtorch.dispatch import MISSING, override
from tests.protocol.fakes import Log, Param, Plain, duck, make
from tests.protocol.fakes import _plain_is_the_tensor as _plain_is_the_tensor

# ---------------------------------------------------------------- the call as it was given


def test_plain_operands_run_the_implementation():
    add, t = make(), Plain()
    assert add(t, 2) == ("plain", t, 2, 1)
    assert add(t, other=3, alpha=4) == ("plain", t, 3, 4)
    assert add(input=t, other=3) == ("plain", t, 3, 1)


def test_handler_is_told_the_call_as_given():
    add, D = make(), duck()
    d, t = D(), Plain()
    assert add(t, d) == "ducked"
    assert D.calls.pop() == (add, (D,), (t, d), None)
    add(d, other=1, alpha=1)
    assert D.calls.pop() == (add, (D,), (d,), {"other": 1, "alpha": 1})
    add(other=d, input=t)
    assert D.calls.pop() == (add, (D,), (), {"input": t, "other": d})
    add(t, 1, alpha=d)
    assert D.calls.pop()[3] == {"alpha": d}


@pytest.mark.parametrize("result", [None, 0, False, (), NotImplementedError, MISSING.__class__])
def test_any_answer_is_the_result(result):
    assert make()(duck(result)(), 1) is result


def test_optional_operand_by_position_and_by_keyword():
    def impl(input, weight, bias=None):
        return (input, weight, bias)

    linear, D, t = (
        specialise(impl, "torch.nn.functional.linear", ("input", "weight", "bias")),
        duck(),
        Plain(),
    )
    d = D()
    assert linear(t, t) == (t, t, None) and linear(t, t, t) == linear(t, t, bias=t) == (t, t, t)
    assert linear(t, t, d) == linear(t, t, bias=d) == linear(t, weight=t, bias=d) == "ducked"
    assert [c[2:] for c in D.calls] == [
        ((t, t, d), None),
        ((t, t), {"bias": d}),
        ((t,), {"weight": t, "bias": d}),
    ]


def test_lists_are_looked_into_one_level_deep_and_arrive_as_they_are():
    def impl(tensors, dim=0):
        return ("plain", tensors, dim)

    cat, D, t = specialise(impl, "torch.cat", (), ("tensors",)), duck(), Plain()
    items = [t, D()]
    assert cat(items, 1) == "ducked" and D.calls[0][2][0] is items
    assert cat((t, t), dim=1) == ("plain", (t, t), 1)
    assert cat(tensors=[D()] + [t] * 99) == "ducked"
    nested = [[D()]]
    assert cat(nested) == ("plain", nested, 0)


def test_varargs():
    def impl(equation, *operands):
        return ("plain", equation, operands)

    einsum, D, t = specialise(impl, "torch.einsum", ("operands",)), duck(), Plain()
    d = D()
    assert einsum("i,i", t, t) == ("plain", "i,i", (t, t))
    assert einsum("i,i", t, d) == "ducked" and D.calls[0][2] == ("i,i", t, d)
    assert einsum("i,i", [t, d]) == "ducked"


def test_open_keywords_reach_handlers_and_implementation():
    def impl(*tensors, **options):
        return ("plain", tensors, options)

    f, D, t = specialise(impl, "torch.f", ("tensors",)), duck(), Plain()
    assert f(t, a=1) == ("plain", (t,), {"a": 1})
    assert f(t, a=D()) == "ducked"


def test_aliases_of_keywords():
    def impl(input, dim=None, keepdim=False):
        return (input, dim, keepdim)

    f = specialise(
        impl, "torch.sum", ("input",), aliases={"dim": ("axis",), "keepdim": ("keepdims",)}
    )
    D, t = duck(), Plain()
    assert f(t, axis=1, keepdims=True) == (t, 1, True) and f(t, 2, keepdims=True) == (t, 2, True)
    assert f(D(), axis=1) == "ducked" and D.calls[0][3] == {"axis": 1}
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        f(t, 1, axis=1)


@pytest.mark.parametrize("all_positional", [False, True])
def test_implementation_called_by_position(all_positional):
    if all_positional:

        def impl(input, other, alpha):
            return (input, other, alpha)
    else:

        def impl(input, other, *, alpha):
            return (input, other, alpha)

    signature = inspect.signature(lambda input, other, *, alpha=1: None)
    f, t = (
        specialise(
            impl, "torch.f", ("input", "other"), signature=signature, all_positional=all_positional
        ),
        Plain(),
    )
    assert f(t, 2) == (t, 2, 1) and f(t, other=2, alpha=3) == (t, 2, 3)


def test_inlined_body():
    seen = []
    f = make(body="note((input, other, alpha))\nreturn alpha", names={"note": seen.append})
    t = Plain()
    assert f(t, 2) == 1 and f(t, 2, alpha=5) == 5 and seen == [(t, 2, 1), (t, 2, 5)]
    assert f(t, other=2) == ("plain", t, 2, 1)


def test_reports_another_function():
    add = make("torch.Tensor.add")
    op = specialise(
        lambda self, other, /: "plain",
        "torch.Tensor.__add__",
        ("self", "other"),
        operator=True,
        reports=add,
    )
    D, t = duck(), Plain()
    assert op(t, t) == "plain" and op(t, D()) == "ducked" and D.calls[0][0] is add


def test_constructors_ask_modes_only_and_some_functions_nobody():
    tensor, log, D = (
        specialise(lambda data, *, dtype=None: ("made", data), "torch.tensor", asks="modes"),
        [],
        duck(),
    )
    assert tensor(D())[0] == "made" and D.calls == []
    from_numpy = specialise(lambda ndarray: "made", "torch.from_numpy", asks="nobody")
    with Log(log):
        assert tensor(3) == ("made", 3) and from_numpy(D()) == "made"
    assert [c[0] for c in log] == [tensor]


# ---------------------------------------------------------------- wrong calls


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, t: f(t), r'add\(\) missing 1 required positional arguments: "other"'),
        (lambda f, t: f(), r'add\(\) missing 2 required positional arguments: "input", "other"'),
        (lambda f, t: f(t, t, t), r"add\(\) takes 2 positional arguments but 3 were given"),
        (lambda f, t: f(t, t, input=t), r"add\(\) got multiple values for argument 'input'"),
        (lambda f, t: f(t, t, foo=3), r"add\(\) got an unexpected keyword argument 'foo'"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(TypeError, match=message):
        call(make(), Plain())


def test_operands_are_never_compared():
    class Proud:
        def __eq__(self, other):
            raise AssertionError("compared")

        __torch_function__ = classmethod(lambda cls, *args: "asked")

    add, p = make(), Proud()
    assert add(p, 1) == add(1, p, alpha=p) == add(input=p, other=p) == "asked"
    assert (
        specialise(lambda tensors, dim=0: None, "torch.cat", (), ("tensors",))([1, p], dim=p)
        == "asked"
    )


def test_doubled_optional_argument():
    def impl(input, dim=0):
        return dim

    f = specialise(impl, "torch.f", ("input",))
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        f(Plain(), 1, dim=1)


def test_method_wants_a_tensor_as_self():
    method, D = make("torch.Tensor.add"), duck()
    for wrong in (D(), 3):
        with pytest.raises(
            TypeError,
            match=r"descriptor 'add' for 'torch._C.TensorBase' objects doesn't apply to a "
            r"'(Duck|int)' object",
        ):
            method(wrong, 1)
    assert D.calls == []


# ---------------------------------------------------------------- order and declining


def test_order_of_asking():
    Base = duck(NotImplemented, name="Base")
    One, Two = duck(NotImplemented, Base, "One"), duck(NotImplemented, Base, "Two")
    OneOne = duck(NotImplemented, One, "OneOne")
    order = []
    for cls in (Base, One, Two, OneOne):
        cls.__torch_function__ = classmethod(lambda cls, *a: (order.append(cls), NotImplemented)[1])
    cat = specialise(lambda tensors, dim=0: None, "torch.cat", (), ("tensors",))
    with pytest.raises(TypeError) as e:
        cat([Base(), Two(), One(), OneOne(), Base()])
    assert order == [Two, OneOne, One, Base]
    assert str(e.value) == (
        (
            "Multiple dispatch failed for 'torch.cat'; all __torch_function__ handlers returned "
            "NotImplemented:\n"
            "\n"
        )
        + "".join(f"  - tensor subclass {c!r}\n" for c in order)
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def test_order_follows_the_parameters_not_the_caller():
    A, B = duck("a"), duck("b")
    assert make()(other=B(), input=A()) == "a" and A.calls[0][1] == (A, B)
    spread = specialise(
        lambda *tensors, first=None, second=None: None,
        "torch.spread",
        ("tensors", "first", "second"),
    )
    assert spread(1, second=B(), first=A()) == "a"


def test_declining_passes_the_call_on():
    A, B = duck(NotImplemented), duck("b")
    assert make()(A(), B()) == "b" and A.calls[0][1] == B.calls[0][1] == (A, B)


def test_exception_goes_to_the_caller():
    B = duck("b")

    class Boom:
        @classmethod
        def __torch_function__(cls, *args):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        make()(Boom(), B())
    assert B.calls == []


def test_python_level_function():
    def impl(input, p=0.5, training=True):
        return "plain"

    dropout, D, t = (
        specialise(impl, "torch.nn.functional.dropout", ("input",), native=False),
        duck(),
        Plain(),
    )
    d = D()
    assert dropout(d, training=False) == "ducked"
    assert D.calls[0] == (dropout, (D,), (d,), {"p": 0.5, "training": False})
    add = make(native=False)
    add(t, d)
    assert D.calls[1][1] == (Plain, D)
    R = duck(NotImplemented)
    with pytest.raises(TypeError) as e:
        dropout(R())
    assert str(e.value) == (
        "no implementation found for 'torch.nn.functional.dropout' on types that implement "
        f"__torch_function__: [{R!r}]"
    )
    assert dropout(t) == "plain"


def test_disabled_handler_is_never_asked_and_hides_nobody():
    D, add = duck(), make()
    assert add(Param(), 1)[0] == "plain" and add(Param(), D()) == "ducked" and D.calls[0][1] == (D,)

    class Off:
        __torch_function__ = dispatch.disabled_torch_function_impl

    assert add(Off(), 1)[0] == "plain"
    assert dispatch.disabled_torch_function_impl(add, (), (D(), 1), None)[0] == "plain"
    assert (
        Off.__torch_function__
        is Off().__torch_function__
        is pickle.loads(pickle.dumps(Off.__torch_function__))
    )


def test_disabled_classes_of_the_package_become_plain():
    mine = type(
        "Parameter",
        (Plain,),
        {
            "__torch_function__": dispatch.disabled_torch_function_impl,
            "__module__": "jtorch.nn.parameter",
        },
    )
    users = type(
        "Users",
        (Plain,),
        {"__torch_function__": dispatch.disabled_torch_function_impl, "__module__": "users"},
    )
    assert make()(mine(), users())[0] == "plain"
    assert mine in dispatch.PLAIN and mine in dispatch.TENSORS and users not in dispatch.PLAIN


def test_plain_method_handler_warns():
    class Old:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return self

    old = Old()
    with pytest.warns(UserWarning, match="`__torch_function__` as a plain method is deprecated"):
        assert make()(old, 1) is old
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make()(old, 1) is old
    dropout = specialise(lambda input: None, "torch.dropout", ("input",), native=False)
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="`__torch_function__ as a plain method"):
            dropout(old)


def test_operator_turns_type_errors_into_notimplemented():
    op = specialise(
        lambda self, other, /: "plain", "torch.Tensor.__add__", ("self", "other"), operator=True
    )
    assert op(Plain(), 1) == "plain" and op(Plain(), duck(NotImplemented)()) is NotImplemented

    class Boom:
        @classmethod
        def __torch_function__(cls, *args):
            raise ValueError("shape")

    with pytest.raises(ValueError, match="shape"):
        op(Plain(), Boom())


# ---------------------------------------------------------------- the default handler


def test_default_handler_converts_results():
    class Sub(Plain):
        pass

    results = [Plain(), 3, (Plain(), 1), [Plain()], {"a": Plain()}]
    for result in results:
        f = specialise(lambda input, result=result: result, "torch.f", ("input",))
        got = f(Sub())
        if isinstance(result, Plain):
            assert type(got) is Sub
        elif isinstance(result, (tuple, list)):
            assert type(got) is type(result) and type(got[0]) is Sub
        else:
            assert got is result


def test_default_handler_keeps_the_most_derived_class_and_declines_for_strangers():
    class A(Plain):
        pass

    class B(A):
        pass

    class C(Plain):
        pass

    f = specialise(lambda input, other: Plain(), "torch.f", ("input", "other"))
    assert type(f(A(), B())) is type(f(B(), A())) is B
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        f(A(), C())
    assert A.__torch_function__(f, (duck(),), (A(), 1)) is NotImplemented


def test_nowrap(monkeypatch):
    class Sub(Plain):
        pass

    f = specialise(lambda input: Plain(), "torch.f", ("input",))
    monkeypatch.setattr(dispatch, "NOWRAP", {f})
    assert type(f(Sub())) is Plain


# ---------------------------------------------------------------- properties


def test_property():
    stored = {}

    class Sub(Plain):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append((func, args))
            return super().__torch_function__(func, types, args, kwargs)

    def delete(self):
        del stored["v"]

    prop = specialise_property(
        "data", lambda self: stored["v"], lambda self, v: stored.update(v=v), delete
    )
    Plain.data = prop
    try:
        t, s = Plain(), Sub()
        t.data = 1
        assert (
            t.data == 1
            and prop.__get__ == prop.__get__
            and hash(prop.__get__) == hash(prop.__get__)
        )
        s.data = 2
        assert s.data == 2
        del s.data
        assert (
            Sub.calls == [(prop.__set__, (s, 2)), (prop.__get__, (s,)), (prop.__delete__, (s,))]
            and stored == {}
        )
        assert (
            prop.__get__.__self__.__name__ == "data"
            and dispatch.name_of(prop.__get__) == "torch.Tensor.data.__get__"
        )
        log = []
        t.data = 3
        with Log(log):
            assert t.data == 3 and s.data == 3
        assert [c[1] for c in log][:2] == [(Plain,), (Sub,)]
        with pytest.raises(TypeError, match="doesn't apply"):
            prop.__get__(duck()())
    finally:
        del Plain.data


# ---------------------------------------------------------------- helpers


def test_has_torch_function():
    D = duck()
    has = dispatch.has_torch_function
    assert has((Plain(), D())) is True and has(x for x in [D()]) is True
    assert has((Plain(), 1, None, Param())) is False and has(()) is False and has(([D()],)) is False
    assert (
        dispatch.has_torch_function_unary(D()) is True
        and dispatch.has_torch_function_unary(1) is False
    )
    assert (
        dispatch.has_torch_function_variadic(1, D()) is True
        and dispatch.has_torch_function_variadic() is False
    )
    with Log([]):
        assert has(()) is True and dispatch.has_torch_function_unary(1) is True
    with pytest.raises(TypeError):
        has(1)


def test_handle_torch_function_lists_the_exact_tensor_but_no_parameter():
    def f(*a):
        return dispatch.handle_torch_function(f, a, *a)

    D = duck()
    f(Plain(), D()), f(D(), Plain()), f(Param(), D())
    assert [c[1] for c in D.calls] == [(Plain, D), (D, Plain), (D,)] and D.calls[0][3] == {}


def test_wrap_torch_function():
    @dispatch.wrap_torch_function(lambda a, b=None: (a, b), verify=True)
    def g(a, b=None):
        "doc of g"
        return ("plain", a, b)

    D = duck()
    d = D()
    assert g(1, 2) == ("plain", 1, 2) and g(1, b=d) == "ducked"
    assert (
        D.calls[0] == (g, (D,), (1,), {"b": d})
        and g.__name__ == "g"
        and g._implementation(d) == ("plain", d, None)
    )


def test_redispatch_skips_one_handler():
    class Logged(Plain):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func)
            return dispatch.redispatch_function(func, types, args, kwargs)

    inner = specialise(lambda input: "inner", "torch.inner", ("input",))
    outer = specialise(lambda input: [inner(input)], "torch.outer", ("input",))
    assert outer(Logged()) == ["inner"] and Logged.calls == [outer, inner]
    # A call on plain operands takes the flag down too.
    D = duck()
    plain = specialise(lambda input: inner(D()), "torch.plain", ("input",))
    assert dispatch.redispatch_function(plain, (), (Plain(),), None) == "ducked"


def test_verify_matching_signatures():
    def implementation(a, b=3, *, c=1):
        pass

    verify_matching_signatures(implementation, lambda a, b=None, *, c=None: (a,))
    for wrong in (
        lambda a, c=None: (a,),
        lambda a, b: (a,),
        lambda a, b=None, *args, c=None: (a,),
        lambda a, b=None: (a,),
    ):
        with pytest.raises(RuntimeError, match="have different function signatures"):
            verify_matching_signatures(implementation, wrong)
    with pytest.raises(RuntimeError, match="can only use None for default argument values"):
        verify_matching_signatures(implementation, lambda a, b=3, *, c=None: (a,))


def test_torch_function_dispatch():
    @torch_function_dispatch(lambda xs, n=None: xs[0], public="torch.g")
    def g(xs, n=2):
        return ("plain", n)

    D = duck()
    assert (
        g([[D()]]) == "ducked"
        and g([[1]], 3) == ("plain", 3)
        and dispatch.PUBLIC["torch.g"].function is g
    )
    with pytest.raises(RuntimeError):
        torch_function_dispatch(lambda ys, n=None: ys)(lambda xs, n=2: xs)


def test_what_the_public_callable_shows():
    add = make()
    assert (
        str(inspect.signature(add)) == "(input, other, *, alpha=1)"
        and add.__name__ == "add"
        and add.__doc__ == "Adds."
    )
    assert (
        add.__module__ == "jtorch"
        and dispatch.PUBLIC["torch.add"].function is add
        and dispatch.name_of(add) == "torch.add"
    )
    assert "def impl" in inspect.getsource(add)
    method = make("torch.Tensor.add")
    assert method.__qualname__ == "Tensor.add" and dispatch.name_of(method) == "torch.Tensor.add"


def test_generated_text_is_in_tracebacks():
    f = specialise(lambda input: 1 / 0, "torch.broken", ("input",))
    with pytest.raises(ZeroDivisionError) as e:
        f(Plain())
    assert "<torch.broken>" in "".join(
        traceback.format_tb(e.value.__traceback__)
    ) and "return _impl(_0)" in "".join(traceback.format_tb(e.value.__traceback__))


def test_types_without_any_handler_become_plain():
    add = make()
    add(1, np.float32(2))
    assert np.float32 in dispatch.PLAIN

    class Open:
        pass

    add(1, Open())
    assert Open not in dispatch.PLAIN and tuple not in dispatch.PLAIN


def test_override_directly():
    assert override(print, (1, [2]), (1,), None) is MISSING
    assert override(print, (1, [duck()()]), (1,), None) == "ducked"
    assert not MISSING and overridable.MISSING is MISSING
