"""``torch._dynamo``: the names that programs reach for. The work is done in ``torch.compiler``."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals
from jtorch.compiler import (
    allow_in_graph,
    assume_constant_result,
    config,
    disable,
    graph_break,
    is_compiling,
    list_backends,
    lookup_backend,
    register_backend,
    reset,
    substitute_in_graph,
)

from . import eval_frame, exc, utils
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable",
    "disallow_in_graph", "eval_frame", "exc", "graph_break", "is_compiling", "is_dynamo_supported",
    "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "nonstrict_trace", "optimize", "register_backend", "reset", "run",
    "substitute_in_graph", "utils",
]  # fmt: skip


def is_dynamo_supported() -> bool:
    """True: functions can be compiled."""
    return True


def optimize(
    backend: str = "inductor",
    *,
    nopython: bool = False,
    dynamic: bool | None = None,
    disable: bool = False,
    **unused: object,
) -> object:
    """``torch.compile`` as a decorator, with its older names of arguments."""
    import jtorch as torch

    if unused:
        raise TypeError(f"optimize() got an unexpected keyword argument '{next(iter(unused))}'")
    return torch.compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def run(fn: object = None) -> Any:
    """``fn`` itself: programs that were made are used whenever they fit."""
    return fn


def disallow_in_graph(fn: object) -> object:
    """As ``disable``: a function that calls ``fn`` stays as written."""
    return [disable(f) for f in fn] if isinstance(fn, (list, tuple)) else disable(fn)


def nonstrict_trace(traceable_fn: object) -> Any:
    """The function, wrapped: it is recorded as it runs, as all are."""
    if not callable(traceable_fn):
        raise AssertionError("nonstrict_trace expects a callable")

    @functools.wraps(traceable_fn)
    def call(*args: object, **kwargs: object) -> Any:
        return traceable_fn(*args, **kwargs)

    return call


def mark_dynamic(
    t: object,
    index: object,
    *,
    hint_override: int | None = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: object = None,
) -> None:
    """Nothing: each shape has a program of its own."""
    del t, index, hint_override, min, max, specialize_on


def maybe_mark_dynamic(t: object, index: object) -> None:
    """Nothing: each shape has a program of its own."""
    del t, index


def mark_static(t: object, index: object = None) -> None:
    """Nothing: every shape is static."""
    del t, index


def reset_code_caches() -> None:
    """Nothing: programs are found by what they compute, and none is wrong."""


def mark_static_address(t: object, guard: bool = True) -> None:
    """Nothing: parameters and buffers are recognised as such."""
    del t, guard


# a module to import, though it is an object that looks at what is written to it
sys.modules[config.__name__] = config

_missing = _refusals.missing(__name__)
_LATER = {"explain": "explaining", "export": "exporting"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    return _missing(name)
