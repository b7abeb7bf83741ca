"""``torch.jit``: scripted and traced functions run as the Python that they are; recorded execution
compiles them.

``save`` and ``load`` write and read the archives of TorchScript that PyTorch does
(``_torchscript/``).
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
import functools
import importlib
import types
import typing
import warnings
from collections.abc import Callable
from typing import Any

from .._C import _answers
from .._src.refusals import stand_ins as _refusals
from ..futures import Future as Future
from . import _script
from . import annotations as annotations
from ._script import RecursiveScriptModule as RecursiveScriptModule
from ._script import ScriptFunction as ScriptFunction
from ._script import ScriptModule as ScriptModule
from ._script import TopLevelTracedModule as TopLevelTracedModule
from ._script import TracedModule as TracedModule
from ._units import CompilationUnit as CompilationUnit


class TracerWarning(Warning):
    """A graph of a trace has a constant in place of what depends on data; traced functions
    themselves run as they are."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silences these warnings where libraries trace their own functions."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="torch.(?!jit)")


class TracingCheckError(Exception):
    """A traced function gave other results than the function."""


def _deprecated(name: str, instead: str = "use `torch.compile` instead") -> None:
    """The warning of a public call; as PyTorch's it names a line in here, so that filters hide it
    unless they are told otherwise."""
    warnings.warn(
        f"`torch.jit.{name}` is deprecated. Please {instead}.", DeprecationWarning, stacklevel=2
    )


_SWITCH = "switch to `torch.compile` or `torch.export`"


Final = typing.Final


def script(
    obj: object,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: object = None,
    example_inputs: object = None,
) -> Any:
    """A scripted copy of a module, a function as a ``ScriptFunction``, a class itself: all run as
    Python, and are compiled as recorded. Modules with ``__prepare_scriptable__`` are replaced by
    what it gives.

    Raises:
        TypeError, RuntimeError: for what is neither.

    Differs from torch: a scripted module is an instance of the module's class too, and what
    TorchScript cannot compile runs.
    """
    _deprecated("script", _SWITCH)
    from jtorch import nn

    if isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if isinstance(obj, nn.Module):
        module = _script.prepared(obj)
        if isinstance(module, ScriptModule):
            return module
        _script.check_initialised(module)
        return _script.scripted(module)
    if isinstance(obj, type):
        if issubclass(obj, nn.Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an "
                "instance instead"
            )
        return obj
    if isinstance(obj, (dict, list)):
        return obj
    if not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class")
    return ScriptFunction(obj)


def script_method(fn: Callable[..., object]) -> Callable[..., Any]:
    """The method itself."""
    _deprecated("script_method", _SWITCH)
    return fn


def trace(
    func: Any = None,
    example_inputs: object = None,
    optimize: object = None,
    check_trace: bool = True,
    check_inputs: object = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: object = None,
    _compilation_unit: object = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """``func`` as a traced module or function, after it was run on the example inputs, so that its
    errors show here. With ``strict`` it is warned of lists among what it returns.

    Raises:
        RuntimeError: if it returns something else than tensors in tuples, lists, or, without
            ``strict``, dicts.

    Differs from torch: control flow that depends on values stays, as do the modes of layers.
    """
    _deprecated("trace", _SWITCH)
    args = (
        ()
        if example_inputs is None
        else tuple(example_inputs)
        if isinstance(example_inputs, (tuple, list))
        else (example_inputs,)
    )
    run = lambda: func(*args, **(example_kwarg_inputs or {}))  # noqa: E731
    made = _traced(func, [run], check_trace, strict)
    if made is not func:
        object.__setattr__(made, "_example", (args, dict(example_kwarg_inputs or {})))
    return made


def _traced(func: Any, runs: list[Callable[[], object]], check: bool, strict: bool) -> object:
    from jtorch import nn

    if isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    owner = getattr(func, "__self__", None)
    if isinstance(owner, nn.Module) and getattr(func, "__name__", None) == "forward":
        func = owner
    for run in runs:
        _script.traced_runs(func, run, check, strict)
    if isinstance(func, nn.Module):
        return _script.scripted(func, TopLevelTracedModule, TracedModule)
    return ScriptFunction(func)


def trace_module(
    mod: Any,
    inputs: dict[str, Any],
    optimize: object = None,
    check_trace: bool = True,
    check_inputs: object = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: object = None,
    _compilation_unit: object = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """``mod`` as a traced module, after the named methods were run on their inputs."""
    _deprecated("trace_method", _SWITCH)

    def runner(name: str, given: Any) -> Callable[[], Any]:
        method = mod if name == "forward" else getattr(mod, name)
        if example_inputs_is_kwarg:
            return lambda: method(**given)
        return lambda: method(*(given if isinstance(given, (tuple, list)) else (given,)))

    runs = [runner(name, given) for name, given in inputs.items()]
    made = _traced(mod, runs, check_trace, strict)
    if made is not mod and list(inputs) == ["forward"]:
        given = inputs["forward"]
        example = ((), given) if example_inputs_is_kwarg else (given, {})
        if isinstance(example[0], list):
            example = (tuple(example[0]), {})
        elif not isinstance(example[0], tuple):
            example = ((example[0],), {})
        object.__setattr__(made, "_example", example)
    return made


def script_if_tracing(fn: Callable[..., object]) -> Callable[..., Any]:
    """``fn`` itself, which a trace that is saved can hold only if it has no branches."""

    @functools.wraps(fn)
    def called(*args: object, **kwargs: object) -> Any:
        _script.seen_whole(fn)
        return fn(*args, **kwargs)

    return called


def _marker(fn: object = None, **options: object) -> object:
    return fn if callable(fn) else _marker


def ignore(drop: bool = False, **kwargs: object) -> Any:
    """``@ignore`` or ``@ignore(...)``: the function itself."""
    return _marker(drop)


def _drop(fn: object) -> Any:
    """The function itself, which no file holds."""
    return fn


def _unwrap_optional(x: Any) -> Any:
    """``x``.

    Raises:
        AssertionError: if it is None.
    """
    assert x is not None, "Unwrapping null optional"
    return x


def unused(fn: object) -> Any:
    """The function itself."""
    return fn


def export(fn: Any) -> Any:
    """The function itself, which is written with the module it is a method of."""
    setattr(fn, _script.EXPORTED, True)
    return fn


def interface(obj: object) -> Any:
    """The class itself."""
    _deprecated("interface")
    return obj


def _overload(func: object) -> object:
    return func


def _overload_method(func: object) -> object:
    return func


def _script_if_tracing(fn: object) -> object:
    return fn


def freeze(
    mod: object, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Any:
    """A scripted module, in evaluation mode, that has no parameters and submodules of its own;
    ``preserved_attrs`` stay attributes.

    Raises:
        RuntimeError: if ``mod`` is not scripted, or in training mode.
    """
    _deprecated("freeze")
    return _script.frozen(mod, preserved_attrs)


def optimize_for_inference(mod: ScriptModule, other_methods: list[str] | None = None) -> Any:
    """``freeze(mod)``: recorded execution does what else there is to be done."""
    _deprecated("optimize_for_inference")
    return _script.frozen(mod, other_methods)


def run_frozen_optimizations(
    mod: object, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Without effect: recorded execution optimizes what it compiles."""


def annotate(the_type: object, the_value: object) -> Any:
    """The value itself."""
    return the_value


def isinstance_(obj: Any, target_type: Any) -> bool:
    """Whether ``obj`` is of a type, which may be a container with the types of its items, and all
    of those are of theirs.

    Example:
        >>> import jtorch as torch
        >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
        (True, False)
    """
    if isinstance(target_type, tuple):
        return any(isinstance_(obj, t) for t in target_type)
    origin, items = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return obj is None if target_type in (None, type(None)) else isinstance(obj, target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance_(obj, t) for t in items)
    if not isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(items) and all(map(isinstance_, obj, items))
    if origin is dict:
        return all(isinstance_(k, items[0]) and isinstance_(v, items[1]) for k, v in obj.items())
    return all(isinstance_(item, items[0]) for item in obj)


class Attribute:
    """A value with a type, for modules that were to be scripted."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


def is_scripting() -> bool:
    """False: code runs as Python."""
    return False


def is_tracing() -> bool:
    """Whether a graph is being made of what is called."""
    return _answers._is_tracing()


def fork(func: Callable[..., object], *args: object, **kwargs: object) -> Any:
    """Runs ``func`` at once; ``wait`` gives its result."""
    _deprecated("fork")
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """The result of what ``fork`` ran."""
    if future is None:
        raise RuntimeError("Future can't be None")
    return future.wait()


def save(m: object, f: object, _extra_files: Any = None) -> None:
    """Writes a scripted or traced module to a path or a file-like object, as an archive that
    PyTorch loads.

    A scripted module or function is written from its source, with its branches.

    A traced module is written as the operators that a call on its example calls, with sizes that
    follow those of the inputs; its submodules have their parameters and buffers there, and no
    ``forward`` of their own.

    Args:
        m: what ``script``, ``trace`` or ``load`` gave.
        f: where it goes. A file at a path is replaced when the new one is whole.
        _extra_files: texts or bytes by their names, written beside it.

    Raises:
        AttributeError: for a module that is not scripted.
        NotImplementedError: for what the archive could not say, such as a trace that reads the
            values of tensors.
    """
    _deprecated("save", "switch to `torch.export`")
    _script.writing().save(m, f, _extra_files)


def load(
    f: object,
    map_location: object = None,
    _extra_files: object = None,
    _restore_shapes: bool = False,
) -> Any:
    """A module that ``save`` wrote, here or in PyTorch: its parameters, buffers and attributes, and
    its methods, whose code runs as Python that can reach nothing but operators.

    Args:
        f: a path, or something to read bytes from.
        map_location: the device that all tensors go to.
        _extra_files: a dict, whose values become the bytes of the further files that it names.

    Raises:
        ValueError: if there is no such file, or ``map_location`` is no device.
        RuntimeError: if it is no archive of TorchScript, or is damaged.
        NotImplementedError: for scripted hooks.

    Differs from torch: lists and dicts among the attributes are those of the module, not copies.
    """
    _deprecated("load", "switch to `torch.export`")
    return _script.archives().load(f, map_location, _extra_files)


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    """A block without effect."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Any:
    """A block without effect."""
    yield


strict_fusion = contextlib.nullcontext


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Without effect: XLA fuses by its own rules."""
    _deprecated("set_fusion_strategy")
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Without effect."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


_fork, _wait = fork, wait


def __getattr__(name: str) -> Any:
    if name == "Error":
        return importlib.import_module("jtorch.jit._torchscript.objects").Error
    if name == "_get_trace_graph":
        return _script.tracing().get_trace_graph
    if name == "isinstance":  # not a global, where it would hide Python's own
        return isinstance_
    return _refusals.find(__name__, name)
