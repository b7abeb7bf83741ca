"""``torch.overrides``: its lists agree with what is bound, and each listed function really asks."""

from __future__ import annotations

import inspect
import warnings

import pytest

import jtorch as torch
from jtorch import overrides

FUNCTIONS = overrides.get_overridable_functions()
DUMMIES = overrides.get_testing_overrides()


class Duck:
    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        return "hit"


def call_with_ducks(func):
    """Calls a function with ducks for all required parameters."""
    args, kwargs = [], {}
    for p in inspect.signature(DUMMIES[func]).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            args += [Duck(), Duck()]
        elif p.default is p.empty and p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = Duck()
        elif p.default is p.empty and p.kind is not p.VAR_KEYWORD:
            args.append(Duck())
    Duck.calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return func(*args, **kwargs)


MODULE_FUNCTIONS = [
    (overrides.resolve_name(f), f)
    for key, fs in FUNCTIONS.items()
    if inspect.ismodule(key)
    for f in fs
]
PROPERTIES = [key for key in FUNCTIONS if isinstance(key, property)]


def test_every_listed_function_asks_its_operands():
    bad = []
    for name, func in MODULE_FUNCTIONS:
        try:
            hit = call_with_ducks(func) == "hit" and Duck.calls == [func]
        except Exception as e:
            hit = repr(e)
        if hit is not True:
            bad.append((name, hit))
    assert bad == [] and len(MODULE_FUNCTIONS) > 150


def test_a_duck_in_any_position_is_asked():
    """One duck at a time, in each parameter and in a list in each parameter; the others are
    numbers, which the duck's answer makes moot."""
    bad, count = [], 0
    for name, func in MODULE_FUNCTIONS:
        parameters = inspect.signature(DUMMIES[func]).parameters.values()
        required = [
            p
            for p in parameters
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        for p in parameters:
            if p.kind is p.VAR_KEYWORD:
                continue
            for duck in (Duck(), [Duck()]):
                args, kwargs = [duck if q is p else 1 for q in required], {}
                if p.kind is p.VAR_POSITIONAL:
                    args.append(duck)
                elif p not in required:
                    kwargs[p.name] = duck
                Duck.calls.clear()
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        hit = func(*args, **kwargs) == "hit" and Duck.calls == [func]
                except Exception as e:
                    hit = repr(e)
                count += 1
                holds_list = p.kind is not p.VAR_POSITIONAL and (
                    p.name in LISTS or (p.name == "indices" and "index_put" in name)
                )
                if hit is not True and (holds_list or duck.__class__ is Duck):
                    bad.append((name, p.name, type(duck).__name__, hit))
    assert bad == [] and count > 4000


#: Parameters that hold lists of tensors, by name.
LISTS = {"tensors", "operands", "matrices", "arrays"}


def test_the_lists_are_what_is_bound():
    """Each public callable that asks somebody is in one of the two lists, under its own name."""
    from jtorch._src.bind.everything import PUBLIC

    listed = {f for fs in FUNCTIONS.values() for f in fs}
    ignored = overrides.get_ignored_functions()
    namespaces = {"", "Tensor", "functional", "nn.functional", "linalg", "fft", "special"}
    missing = []
    for path, function in PUBLIC.items():
        namespace, _, name = path.rpartition(".")
        private = (name.startswith("_") or name.endswith("_")) and namespace != "Tensor"
        if (
            namespace in namespaces
            and not private
            and function not in listed
            and function not in ignored
        ):
            missing.append(path)
    assert missing == []
    bound = set(PUBLIC.values()) | {v for v in vars(torch.nn.functional).values() if callable(v)}
    unknown = [
        overrides.resolve_name(f)
        for key, fs in FUNCTIONS.items()
        for f in fs
        if not isinstance(key, property) and f not in bound
    ]
    assert all(
        getattr(torch.Tensor, name.rsplit(".", 1)[-1], None) is not None for name in unknown
    ), unknown


def test_every_listed_method_and_property_asks():
    class Sub(torch.Tensor):
        calls: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func)
            return "hit"

    s, bad = torch.ones(1).as_subclass(Sub), []
    for get in (key.__get__ for key in PROPERTIES):
        Sub.calls.clear()
        if get(s) != "hit" or Sub.calls != [get]:
            bad.append(overrides.resolve_name(get))
    for method in FUNCTIONS[torch.Tensor]:
        Sub.calls.clear()
        parameters = list(inspect.signature(method).parameters.values())[1:]
        given = [
            Duck()
            for p in parameters
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        try:
            method(s, *given)
        except Exception as e:
            bad.append((overrides.resolve_name(method), repr(e)))
        if not Sub.calls:
            bad.append(overrides.resolve_name(method))
    assert bad == [] and len(PROPERTIES) > 15


def test_dummies_have_the_functions_parameters():
    assert len(DUMMIES) > 500
    for func, dummy in DUMMIES.items():
        if getattr(func, "__name__", "") == "__get__":
            continue
        assert list(inspect.signature(dummy).parameters) == list(
            inspect.signature(func).parameters
        ), func
    assert DUMMIES[torch.add](1, 2) == -1
    with pytest.raises(TypeError):
        DUMMIES[torch.add]()


def test_every_overridable_function_has_a_dummy_and_none_is_ignored():
    listed = {f for fs in FUNCTIONS.values() for f in fs}
    assert listed <= set(DUMMIES) and not listed & overrides.get_ignored_functions()
    ignored = overrides.get_ignored_functions()
    for name in (
        "zeros",
        "ones",
        "arange",
        "is_tensor",
        "manual_seed",
        "from_numpy",
        "tensor",
        "as_tensor",
    ):
        if hasattr(torch, name):
            assert getattr(torch, name) in ignored, name
    assert torch.Tensor.as_subclass in ignored and torch.Tensor.__torch_function__ in ignored


def test_names_evaluate_to_their_functions():
    for fs in FUNCTIONS.values():
        for f in fs:
            assert eval(overrides.resolve_name(f), {"torch": torch}) == f
    assert overrides.resolve_name(torch.add) == "torch.add" and overrides.resolve_name(len) is None
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"


def test_methods_and_functions_are_told_apart():
    for f in (torch.Tensor.add, torch.Tensor.__getitem__, torch.Tensor.shape.__get__):
        assert overrides.is_tensor_method_or_property(f) is True
    for f in (torch.add, len):
        assert overrides.is_tensor_method_or_property(f) is False


def test_is_tensor_like():
    assert (
        overrides.is_tensor_like(torch.ones(1))
        and overrides.is_tensor_like(Duck())
        and overrides.is_tensor_like(Duck)
    )
    assert not any(map(overrides.is_tensor_like, (1, None, [torch.ones(1)], "x")))


def test_stored_tensors_are_not_converted():
    assert {
        torch.Tensor.grad.__get__,
        torch.Tensor._base.__get__,
    } <= overrides.get_default_nowrap_functions()


def test_the_old_module_name():
    from jtorch import _overrides

    names = [n for n in overrides.__all__ if n != "enable_reentrant_dispatch"]
    assert [n for n in names if getattr(_overrides, n) is not getattr(overrides, n)] == []
    assert _overrides.handle_torch_function is overrides.handle_torch_function
