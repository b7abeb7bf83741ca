"""Hooks of tensors that a graph of ``torch.compile`` gives: each call registers its own, so that
old graphs run with them."""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._subclasses.fake_tensor import FakeTensor
from jtorch.fx.experimental.proxy_tensor import get_proxy_mode

from .arguments import fingerprint

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["Hooks", "identity", "running"]


class _Running(threading.local):
    """``hooks``: those of the call whose graph is being compiled or run."""

    hooks: Hooks | None = None


_RUNNING = _Running()


class Hooks:
    """The hooks that are registered in one piece, in order, and the handles once the graph has
    run."""

    def __init__(self) -> None:
        self.functions = []
        self.handles = {}

    def register(self, recorder: Any, tensor: object, hook: object) -> _Handle:
        """Adds the node that registers a hook on a result; gives what stands for its handle."""
        number = len(self.functions)
        self.functions.append(hook)
        piece = recorder.piece
        recorder.add(
            "call_function",
            _register,
            (recorder._argument(tensor), number),
            {},
            ("hook", identity(recorder, hook, piece.kept)),
        )
        return _Handle(recorder, piece, self, number)


class _Handle:
    """The handle of a hook that the graph registers when it runs."""

    def __init__(self, recorder: Any, piece: Any, hooks: Hooks, number: int) -> None:
        self.recorder, self.piece, self.hooks, self.number = recorder, piece, hooks, number

    def remove(self) -> None:
        """Takes the hook away: in the graph while it is recorded, afterwards at once."""
        if self.recorder.piece is self.piece:
            self.recorder.add("call_function", _remove, (self.number,), {})
        elif self.number in self.hooks.handles:
            self.hooks.handles[self.number].remove()

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _register(tensor: torch.Tensor, number: int) -> None:
    hooks = _RUNNING.hooks
    if hooks is None:
        raise RuntimeError(
            "a graph that registers hooks runs in calls of the function that was compiled, which "
            "has them"
        )
    hook = hooks.functions[number]
    traced = isinstance(tensor, FakeTensor) or get_proxy_mode() is not None
    if traced and not tensor.requires_grad:
        return  # what is traced without gradients goes nowhere back
    if traced and any(isinstance(x, torch.Tensor) for x in _inside(hook)):
        raise NotImplementedError(
            "a hook that uses tensors from outside cannot be traced into the graph of the backward "
            "pass"
        )
    hooks.handles[number] = tensor.register_hook(hook)


def _remove(number: int) -> None:
    if _RUNNING.hooks is not None:
        _RUNNING.hooks.handles.pop(number).remove()


@contextlib.contextmanager
def running(hooks: Hooks) -> Iterator[None]:
    """A block in which graphs register these hooks."""
    before, _RUNNING.hooks = _RUNNING.hooks, hooks
    try:
        yield
    finally:
        _RUNNING.hooks = before


def _inside(hook: object) -> Values:
    """What a function was given when it was made."""
    cells = [
        c.cell_contents for c in getattr(hook, "__closure__", None) or () if c != types.CellType()
    ]
    return [
        *cells,
        *(getattr(hook, "__defaults__", None) or ()),
        *(getattr(hook, "__kwdefaults__", None) or {}).values(),
    ]


def identity(recorder: Any, function: object, kept: list[object]) -> object:
    """What a function does: its code and what it was made with."""
    if not isinstance(function, types.FunctionType):
        return fingerprint(function, kept)
    kept.append(function.__code__)
    results = recorder.piece.results
    inside = [
        ("result", results[id(x)][1].name) if id(x) in results else fingerprint(x, kept)
        for x in _inside(function)
    ]
    return id(function.__code__), tuple(inside)
