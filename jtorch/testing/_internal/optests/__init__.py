"""Checks of what is registered for user operators: one by one, and of every call that a package's
tests make (``generate_opcheck_tests``)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import threading
import unittest
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jtorch as torch
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.library import opcheck as opcheck
from jtorch.library.checking import OpCheckError as OpCheckError
from jtorch.overrides import TorchFunctionMode
from jtorch.testing import assert_close

DEFAULT_TEST_UTILS = [
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
]


def fake_check(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Whether an operator's results without data are like those with it."""
    opcheck(op, args, kwargs, test_utils="test_faketensor")


def schema_check(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Whether an operator changes what its schema says, and nothing else."""
    opcheck(op, args, kwargs, test_utils="test_schema")


def autograd_registration_check(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Whether an operator has a derivative where its arguments require grad."""
    opcheck(op, args, kwargs, test_utils="test_autograd_registration")


def make_fx_check(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tracing_mode: str,
    assert_close: Callable[..., Any] = assert_close,
    randomize_data: bool = False,
) -> None:
    """Whether a function's trace computes what the function does."""
    del randomize_data

    def run(*given: Any) -> Any:
        return func(*given, **kwargs)

    traced = make_fx(run, tracing_mode=tracing_mode)(*args)
    assert_close(traced(*args), run(*args))


def aot_autograd_check(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: bool,
    assert_raises_regex_fn: Any = None,
    assert_equals_fn: Callable[..., Any] = assert_close,
    check_gradients: bool | str = True,
    try_check_data_specialization: bool = False,
    skip_correctness_check: bool = False,
    disable_functionalization: bool = False,
) -> None:
    """Whether a compiled function gives the results and gradients of the function."""
    del assert_raises_regex_fn, try_check_data_specialization, disable_functionalization
    compiled = torch.compile(func, dynamic=dynamic, fullgraph=True)
    found = []
    for call in (func, compiled):
        own = [
            x.detach().clone().requires_grad_(x.requires_grad) if torch.is_tensor(x) else x
            for x in args
        ]
        results = call(*own, **kwargs)
        outs = [t for t in torch.utils._pytree.tree_leaves(results) if torch.is_tensor(t)]
        leaves = [x for x in own if torch.is_tensor(x) and x.requires_grad]
        roots = [t for t in outs if t.requires_grad]
        grads: Sequence[Any] = ()
        if check_gradients and leaves and roots:
            total = sum((t.abs().sum() for t in roots), torch.zeros(()))
            grads = torch.autograd.grad(total, leaves, allow_unused=True)
        found.append([t.detach() for t in (*outs, *(g for g in grads if g is not None))])
    if not skip_correctness_check:
        assert_equals_fn(found[0], found[1])


# ---- every call of a package's tests -------------------------------------------------------------


class _Inside(threading.local):
    on = False


_inside = _Inside()


def is_inside_opcheck_mode() -> bool:
    """Whether a test runs for the calls that it makes."""
    return _inside.on


def dontGenerateOpCheckTests(reason: str) -> Callable[[Any], Any]:
    """Leaves a test out of ``generate_opcheck_tests``."""
    del reason

    def mark(test: Any) -> Any:
        test._torch_dont_generate_opcheck_tests = True
        return test

    return mark


class _Checking(TorchFunctionMode):
    """Checks each call of an operator before it runs."""

    def __init__(
        self, namespaces: Sequence[str], util: str, told: Callable[[str], str], found: list[str]
    ) -> None:
        super().__init__()
        self.namespaces, self.util, self.told, self.found = namespaces, util, told, found

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        overload = getattr(func, "default", func) if hasattr(func, "overloads") else func
        schema = getattr(overload, "_schema", None)
        name = "" if schema is None else schema.name
        if name.partition("::")[0] in self.namespaces:
            expected = self.told(name)
            if expected != "skip":
                result = opcheck(
                    overload, args, named, test_utils=self.util, raise_exception=False
                )[self.util]
                if (result == "SUCCESS") == (expected == "xfail"):
                    self.found.append(f"{name}: {result}, where {expected} is noted")
        return func(*args, **named)


def generate_opcheck_tests(
    testcase: Any,
    namespaces: list[str],
    failures_dict_path: str | None = None,
    additional_decorators: dict[str, Callable[..., Any]] | None = None,
    test_utils: list[str] = DEFAULT_TEST_UTILS,
) -> None:
    """Gives a class of tests more of them: for each test and each kind of check one that runs the
    test and checks every call of an operator of the namespaces.

    Args:
        testcase: the class.
        namespaces: whose operators are checked.
        failures_dict_path: a JSON file that notes by operator and test which checks are known to
            fail (``"xfail"``) or are left out (``"skip"``); by default ``failures_dict.json``
            beside the class's file.
        additional_decorators: decorators by the names of the new tests.
        test_utils: the kinds of checks, as in ``torch.library.opcheck``.
    """
    if not issubclass(testcase, unittest.TestCase):
        raise ValueError(f"Expected testcase to be subclass of unittest.TestCase, got {testcase}")
    notes: dict[str, Any] = {}
    beside = Path(inspect.getfile(testcase)).with_name("failures_dict.json")
    known = Path(failures_dict_path) if failures_dict_path is not None else beside
    if known.exists():
        notes = json.loads(known.read_text()).get("data", {})
    for attr in [n for n in dir(testcase) if n.startswith("test_")]:
        method = getattr(testcase, attr)
        if not callable(method) or getattr(method, "_torch_dont_generate_opcheck_tests", False):
            continue
        if attr.partition("__")[0] in test_utils:
            continue  # made here before
        for util in test_utils:
            name = f"{util}__{attr}"
            test = _checked(method, f"{testcase.__name__}.{name}", namespaces, util, notes)
            decorate = (additional_decorators or {}).get(name)
            if isinstance(decorate, (list, tuple)):
                for one in decorate:
                    test = one(test)
            elif decorate is not None:
                test = decorate(test)
            setattr(testcase, name, test)


def _checked(
    method: Callable[..., Any], name: str, namespaces: list[str], util: str, notes: dict[str, Any]
) -> Callable[..., Any]:
    def told(operator: str) -> str:
        return notes.get(operator, {}).get(name, {}).get("status", "xsuccess")

    @functools.wraps(method)
    def test(self: Any, *args: Any, **kwargs: Any) -> None:
        found: list[str] = []
        with _marked(), _Checking(namespaces, util, told, found):
            method(self, *args, **kwargs)
        if found:
            raise OpCheckError(f"{name}: " + "; ".join(found))

    return test


@contextlib.contextmanager
def _marked() -> Iterator[None]:
    _inside.on = True
    try:
        yield
    finally:
        _inside.on = False
