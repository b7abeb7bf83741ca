"""``torch.jit``: scripted and traced functions are the Python functions themselves; recorded execution compiles them.

There is no TorchScript, hence nothing to save or load.
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
import typing
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _refusals
from ..errors import not_offered
from ..futures import Future as Future
from . import annotations as annotations

_WHY = "TorchScript is a program format of its own; keep the module's code and save its state_dict"


class ScriptModule:
    """The type of scripted modules; nothing is one here, as ``script`` returns the module itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise not_offered("torch.jit.ScriptModule", _WHY)


class ScriptFunction:
    """The type of scripted functions; nothing is one here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise not_offered("torch.jit.ScriptFunction", _WHY)


class TracerWarning(Warning):
    """Tracing may have fixed what depends on data; nothing is traced here, so nothing warns."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silences these warnings where libraries trace their own functions."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="torch.(?!jit)")


class TracingCheckError(Exception):
    """A traced function gave other results than the function."""


Error = RuntimeError
Final = typing.Final
RecursiveScriptModule = TopLevelTracedModule = ScriptModule


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """``obj`` itself: it runs as Python, and is compiled as it is recorded."""
    return obj


def trace(
    func: Any = None,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """``func`` itself, after it was run once on the example inputs, so that its errors show here.

    Differs from torch: control flow that depends on values stays.
    """
    if example_inputs is not None or example_kwarg_inputs is not None:
        args = () if example_inputs is None else tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        func(*args, **(example_kwarg_inputs or {}))
    return func


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """``mod`` itself, after the named methods were run on their inputs."""
    for name, given in inputs.items():
        getattr(mod, name)(*(given if isinstance(given, (tuple, list)) else (given,)))
    return mod


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` itself."""
    return fn


def _marker(fn: Any = None, **options: Any) -> Any:
    return fn if callable(fn) else _marker


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """``@ignore`` or ``@ignore(...)``: the function itself."""
    return _marker(drop)


def unused(fn: Any) -> Any:
    """The function itself."""
    return fn


def export(fn: Any) -> Any:
    """The function itself."""
    return fn


def interface(obj: Any) -> Any:
    """The class itself."""
    return obj


def _overload(func: Any) -> Any:
    return func


def _overload_method(func: Any) -> Any:
    return func


def _script_if_tracing(fn: Any) -> Any:
    return fn


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """``mod`` itself."""
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """``mod`` itself."""
    return mod


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value itself."""
    return the_value


def isinstance_(obj: Any, target_type: Any) -> bool:
    """Python's ``isinstance``."""
    return isinstance(obj, target_type)


class Attribute:
    """A value with a type, for modules that were to be scripted."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


def is_scripting() -> bool:
    """False: code runs as Python."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs ``func`` at once; ``wait`` gives its result."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """The result of what ``fork`` ran."""
    return future.wait()


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Not offered."""
    raise not_offered("torch.jit.save", _WHY)


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Not offered."""
    raise not_offered("torch.jit.load", _WHY)


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    """A block without effect."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Any:
    """A block without effect."""
    yield


strict_fusion = contextlib.nullcontext


def set_fusion_strategy(strategy: Any) -> Any:
    """Without effect: XLA fuses by its own rules."""
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Without effect."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


def __getattr__(name: str) -> Any:
    if name == "isinstance":  # not a global, where it would hide Python's own
        return isinstance_
    return _refusals.find(__name__, name)
