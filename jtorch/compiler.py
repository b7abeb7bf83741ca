"""``torch.compile`` and ``torch.compiler``.

Recorded execution captures, fuses and compiles eager code by itself, across function boundaries, so ``compile`` hands the function back:
it is a promise that has been kept already. Options are checked, and have no other effect.
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """``model`` itself, or a decorator that returns what it is given: what a function records is compiled whether or not it asks for it.

    Differs from torch: a module is returned as it is, not wrapped, so its state dict has no ``_orig_mod.`` prefix; ``fullgraph=True`` does
    not refuse functions that read values, which split what is compiled in two; backends other than XLA are not called.

    Raises:
        RuntimeError: for an unknown mode, or if both ``mode`` and ``options`` are given.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return lambda given: given
    if not callable(model):
        raise TypeError(f"compile(): expected a callable, got {type(model).__name__}")
    return model


def reset() -> None:
    """Forgets what was recorded: programs are compiled (or taken from the cache on disk) anew."""
    from .ops._kernel import forget_calls

    forget_calls()


def is_compiling() -> bool:
    """False: functions run as they are written."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """XLA, which is always used."""
    return ["xla"]


def _returned(fn: Any = None) -> Any:
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` itself, or a decorator that returns what it is given."""
    return _returned if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """``fn`` itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """``fn`` itself."""
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that returns what it is given: nothing is replaced, because Python code is not analysed."""
    return _returned


def cudagraph_mark_step_begin() -> None:
    """Says that a step begins: what is pending runs."""
    from . import engine

    engine.flush()


@contextlib.contextmanager
def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Iterator[None]:
    """A block without effect: there is nothing to compile differently."""
    yield
