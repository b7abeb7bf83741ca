"""Dictionaries whose keys are tensors, contexts that decorate, and tensors that are exchanged."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import jtorch as torch
from jtorch.utils._contextlib import (
    _DecoratorContextManager,
    _NoParamDecoratorContextManager,
    context_decorator,
)
from jtorch.utils.weak import TensorWeakRef, WeakIdRef, WeakTensorKeyDictionary


def test_keys_are_compared_by_identity_and_go_with_their_tensors() -> None:
    a: Any = torch.ones(2)
    b: Any = torch.ones(2)
    d = WeakTensorKeyDictionary({a: 1})
    d[b] = 2
    assert (
        (d[a], d[b], len(d)) == (1, 2, 2)
        and torch.ones(2) not in d
        and {id(k) for k in d} == {id(a), id(b)}
    )
    merged = d | {a: 5}
    assert merged[a] == 5 and d[a] == 1 and merged[b] == 2
    reference = TensorWeakRef(a)
    assert reference() is a and WeakIdRef(a) == WeakIdRef(a) != WeakIdRef(b)
    del a
    gc.collect()
    assert len(d) == 1 and reference() is None and list(d.values()) == [2]


class noting(_DecoratorContextManager):
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def clone(self) -> noting:
        return noting(self.log)

    def __enter__(self) -> None:
        self.log.append("in")

    def __exit__(self, *exc: object) -> None:
        self.log.append("out")


def test_each_call_and_each_step_of_a_generator_has_its_own_block() -> None:
    log: list[str] = []

    @noting(log)
    def numbers() -> Iterator[int]:
        yield 1
        log.append("between")
        yield 2

    for n in numbers():
        log += [str(n)]
    assert log == ["in", "out", "1", "in", "between", "out", "2", "in", "out"]


def test_decorators_that_need_no_parentheses() -> None:
    entered: list[int] = []

    class block(_NoParamDecoratorContextManager):
        def __enter__(self) -> None:
            entered.append(1)

        def __exit__(self, *exc: object) -> None:
            pass

    assert block(lambda: 3)() == 3 and block()(lambda: 4)() == 4 and len(entered) == 2
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        context_decorator(block().clone, block)


def test_exchanged_tensors() -> None:
    a, b = torch.ones(2), torch.nn.Parameter(torch.zeros(3))
    torch.utils.swap_tensors(a, b)
    assert (
        isinstance(a, torch.nn.Parameter)
        and a.tolist() == [0, 0, 0]
        and a.requires_grad
        and b.tolist() == [1, 1]
    )
    r = TensorWeakRef(a)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        torch.utils.swap_tensors(b, a)
    assert r() is a


def test_parameters_that_were_used_are_exchanged() -> None:
    model, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    hidden = model.weight * 2  # of which nobody else knows
    hidden.retain_grad()
    model(torch.ones(1, 2)).sum().backward()
    expected = other.weight.tolist()
    torch.utils.swap_tensors(model.weight, other.weight)
    torch.utils.swap_tensors(hidden, torch.zeros(2))
    assert model.weight.tolist() == expected and hidden.tolist() == [0, 0]


def test_wrappers_are_exchanged() -> None:
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner: torch.Tensor) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner: torch.Tensor) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))

    a, b = torch.ones(2), Wrapper(torch.zeros(3))
    torch.utils.swap_tensors(a, b)
    assert type(a) is Wrapper and (a + 1).tolist() == [1, 1, 1] and b.tolist() == [1, 1]
    r = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref"):
        torch.utils.swap_tensors(a, b)
    assert r() is a
