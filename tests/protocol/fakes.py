"""What stands for Tensor, its handlers and modes in tests of the override protocol alone."""

from __future__ import annotations

import pytest

from jtorch import dispatch
from jtorch._src.protocol.overridable import specialise
from jtorch.dispatch import ACTIVE, TorchFunctionMode


class Plain:
    """Stands for Tensor."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return dispatch.default_handler(cls, func, types, args, kwargs)

    def as_subclass(self, cls):
        return object.__new__(cls)


class Param(Plain):
    __torch_function__ = dispatch.disabled_torch_function_impl


@pytest.fixture(autouse=True)
def _plain_is_the_tensor(monkeypatch):
    """Plain takes Tensor's place for the test, and all tables are as before after it."""
    for name in ("PLAIN", "STATIC", "TENSORS"):
        table = getattr(dispatch, name)
        before = set(table)
        monkeypatch.setitem(_saved, name, before)
    monkeypatch.setattr(dispatch, "_tensor_type", dispatch._tensor_type)
    monkeypatch.setattr(dispatch, "_warned_plain_method", False)
    public, names = dict(dispatch.PUBLIC), dict(dispatch.NAMES)
    dispatch.set_tensor_type(Plain)
    dispatch.add_plain(Param)
    yield
    for name in ("PLAIN", "STATIC", "TENSORS"):
        table = getattr(dispatch, name)
        table.clear()
        table.update(_saved[name])
    for table, before in ((dispatch.PUBLIC, public), (dispatch.NAMES, names)):
        table.clear()
        table.update(before)
    assert (
        ACTIVE.modes == [] and dispatch.mode_stack() == [] and dispatch.is_torch_function_enabled()
    )


_saved: dict[str, set[type]] = {}


def duck(result="ducked", base=object, name="Duck"):
    def handler(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, types, args, kwargs))
        return result

    return type(name, (base,), {"calls": [], "__torch_function__": classmethod(handler)})


def make(public="torch.add", **options):
    def impl(input, other, *, alpha=1):
        """Adds."""
        return ("plain", input, other, alpha)

    return specialise(impl, public, ("input", "other"), **options)


class Log(TorchFunctionMode):
    def __init__(self, log):
        self.log = log

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append((func, types, args, kwargs))
        return func(*args, **(kwargs or {}))
