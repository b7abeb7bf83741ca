"""What the code of archives defines: modules, classes, named tuples and enumerations; and how it
reads and writes their attributes."""

from __future__ import annotations

import collections
import traceback
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn
from jtorch.futures import Future

from ..._src.quantised.packed import Packed
from .._script import RecursiveScriptModule
from .builtins import Interrupted, builtin
from .kinds import CodeError, Kind, belongs, fitted
from .source import Function, Late

_HEAD = "The following operation failed in the TorchScript interpreter.\n"


class Error(Exception):
    """What code of an archive raised."""


Error.__module__ = "torch.jit"


class Spec:
    """What a class of an archive has.

    Attributes:
        name: its name with its path.
        attributes: the types of its attributes.
        parameters, buffers: which of them are those of modules.
        constants: attributes that are the same for all.
        methods: its functions.
        text: the text of the file.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.attributes: dict[str, Kind] = {}
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.constants: dict[str, Any] = {}
        self.methods: dict[str, Function] = {}

    def has(self, name: str) -> bool:
        """Whether there is such an attribute."""
        return name in self.attributes or name in self.constants


def _place(error: BaseException) -> str:
    """Where in the code of the archive something went wrong."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("code/")
    ]
    lines = [
        f'  File "{f.filename}", line {f.lineno}, in {f.name.removeprefix("v_")}\n' for f in frames
    ]
    return (
        f"{_HEAD}Traceback of TorchScript, serialized code (most recent call last):\n"
        f"{''.join(lines)}"
    )


def _given(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call from Python, one for each parameter, of its type."""
    wanted, name = function.arguments, function.name
    if len(args) > len(wanted):
        raise RuntimeError(
            f"{name}() expected at most {len(wanted)} argument(s) but received "
            f"{len(args) + len(kwargs)} argument(s). Declaration: {function.declaration()}"
        )
    values, used = [], 0
    for i, (parameter, kind) in enumerate(wanted):
        if i < len(args):
            value = args[i]
        elif parameter in kwargs:
            value, used = kwargs[parameter], used + 1
        elif parameter in function.defaults:
            values.append(function.defaults[parameter])
            continue
        else:
            raise RuntimeError(
                f"{name}() is missing value for argument '{parameter}'. Declaration: "
                f"{function.declaration()}"
            )
        value = fitted(value, kind)
        if not belongs(value, kind) and not _takes_part(value, kind):
            found, inner = type(value).__name__, kind.items[0] if kind.name == "Optional" else kind
            raise RuntimeError(
                f"{name}() Expected a value of type '{kind}' for argument '{parameter}' but "
                f"instead found type '{found}'.\nPosition: {i}\nValue: {value}\nDeclaration: "
                f"{function.declaration()}\nCast error details: Unable to cast {value} to {inner}"
            )
        values.append(value)
    if used < len(kwargs):
        unknown = [k for k in kwargs if k not in dict(wanted[len(args) :])]
        raise RuntimeError(
            f"Unknown keyword argument '{(unknown or list(kwargs))[0]}' for operator '{name}'. "
            f"Schema: {function.declaration()}"
        )
    return values


def _takes_part(value: Any, kind: Kind) -> bool:
    """Whether something else may stand for a type: sizes that are symbols, and what handles calls
    of functions."""
    if kind.name == "int":
        return type(value).__name__ == "SymInt" or isinstance(value, torch.dtype)
    return hasattr(type(value), "__torch_function__") and "Tensor" in str(kind)


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function of an archive from Python.

    Raises:
        torch.jit.Error: for what its code raises.
        RuntimeError: for what fails in it, with the place.
    """
    values = _given(function, args, kwargs)
    try:
        return function.run(*values)
    except Interrupted as e:
        raise Error(f"{_place(e)}{e}\n") from None
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as e:
        if type(e).__module__ != "builtins" or isinstance(e, (NotImplementedError, RecursionError)):
            raise
        raise RuntimeError(f"{_place(e)}RuntimeError: {e}\n") from e


def public(function: Function) -> Callable[..., Any]:
    """The method of a class for callers in Python."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(function, (self, *args), kwargs)

    method.__name__ = method.__qualname__ = function.name
    return method


class LoadedModule(RecursiveScriptModule):
    """A module that was read from an archive."""

    _spec: ClassVar[Spec]
    _unit: ClassVar[Any]
    _script_name: ClassVar[str]
    _script_methods: ClassVar[dict[str, Callable[..., Any]]]

    @property
    def original_name(self) -> str:
        """The name of the class that was written."""
        return self._spec.name.rpartition(".")[2]

    @property
    def code(self) -> Any:
        """The text of ``forward``, as the archive has it."""
        spec = self._spec
        if "forward" not in spec.methods:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute 'forward'")
        return spec.methods["forward"].code(spec.text)

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get("_parameters", {})
        if name in held and isinstance(value, torch.Tensor):  # they are plain tensors here
            held[name] = value
            return
        kind = type(self)._spec.attributes.get(name)
        if kind is not None and kind.name in ("int", "float", "bool", "str"):
            value = fitted(value, kind)
            if not belongs(value, kind):
                raise RuntimeError(
                    f"Could not cast attribute '{name}' to type {kind}: Unable to cast Python "
                    f"instance of type {type(value)}"
                )
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        fill(self, state)


def fill(module: LoadedModule, state: dict[str, Any]) -> None:
    """Gives a module what the archive has for it."""
    spec = type(module)._spec
    nn.Module.__init__(module)
    own = module.__dict__
    for name, value in state.items():
        if not spec.has(name):
            raise CodeError(f"{spec.name} has no attribute {name}")
        if isinstance(value, LoadedModule):
            own["_modules"][name] = value
        elif name in spec.parameters:
            own["_parameters"][name] = value
        elif name in spec.buffers:
            own["_buffers"][name] = value
        elif name not in _HIDDEN:
            own[name] = value


#: Attributes of modules in files that say nothing of a loaded one.
_HIDDEN = ("_is_full_backward_hook",)


class ScriptObject:
    """An instance of a class that is no module."""

    _spec: ClassVar[Spec]
    _script_name: ClassVar[str]
    _script_methods: ClassVar[dict[str, Callable[..., Any]]]

    def __repr__(self) -> str:
        return f"<torch.ScriptObject {self._script_name}>"


#: Names with two underscores that methods may have as seen from Python.
_MAGIC = (
    "__len__", "__contains__", "__getitem__", "__eq__", "__ne__", "__lt__", "__gt__", "__le__",
    "__ge__", "__add__", "__sub__", "__mul__", "__truediv__", "__neg__", "__str__", "__call__",
    "__setitem__", "__delitem__", "__enter__", "__exit__",
)  # fmt: skip


def module_class(spec: Spec) -> type:
    """The class of modules of an archive."""
    members = _members(spec)
    members["_original"] = type(spec.name.rpartition(".")[2], (), {})
    members.update(spec.constants)
    return type("RecursiveScriptModule", (LoadedModule,), members)


def object_class(spec: Spec) -> type:
    """The class of other objects of an archive."""
    return type(spec.name.rpartition(".")[2], (ScriptObject,), {**_members(spec), **spec.constants})


def _members(spec: Spec) -> dict[str, Any]:
    members: dict[str, Any] = {
        name: public(function)
        for name, function in spec.methods.items()
        if not name.startswith("__") or name in _MAGIC
    }
    members["_spec"], members["_script_name"] = spec, spec.name
    members["_script_methods"] = {n: f.run for n, f in spec.methods.items()}
    members["__module__"] = "torch.jit._script"
    return members


def tuple_class(name: str, fields: list[str], defaults: list[Any]) -> type:
    """The class of named tuples of an archive."""
    made: Any = collections.namedtuple(
        name.rpartition(".")[2], fields, defaults=defaults, rename=True
    )
    made._script_name = name
    made.__module__ = "torch._jit_internal"
    return made


# ---- what code does with them ------------------------------------------------------------------


def get(obj: Any, name: str) -> Any:
    """``obj.name`` in code."""
    kind = type(obj)
    spec = getattr(kind, "_spec", None)
    if spec is not None:
        if spec.has(name):
            return getattr(obj, name, None) if name in _HIDDEN else getattr(obj, name)
    elif issubclass(kind, tuple):
        if name in getattr(kind, "_fields", ()):
            return getattr(obj, name)
    elif issubclass(kind, (torch.Tensor, torch.device)):
        return builtin("prim", name)(obj)
    elif issubclass(kind, Enum) and name in ("name", "value"):
        return getattr(obj, name)
    raise RuntimeError(
        f"'{getattr(kind, '_script_name', kind.__name__)}' has no attribute '{name}'"
    )


def put(obj: Any, name: str, value: Any) -> None:
    """``obj.name = value`` in code."""
    spec = getattr(type(obj), "_spec", None)
    if spec is None or name not in spec.attributes:
        raise RuntimeError(f"cannot assign to '{name}' of '{type(obj).__name__}'")
    own = obj.__dict__
    for place in ("_parameters", "_buffers", "_modules"):
        if name in own.get(place, ()):
            own[place][name] = value
            return
    own[name] = value


def has(obj: Any, name: str) -> bool:
    """``hasattr`` in code."""
    spec = getattr(type(obj), "_spec", None)
    return spec is not None and (spec.has(name) or name in spec.methods)


#: What has the operators as methods.
_PLAIN = (torch.Tensor, list, dict, str, tuple, int, float)


#: Methods of packed weights.
_OF_PACKED = (
    "unpack", "bias", "stride", "padding", "output_padding", "dilation", "groups", "transpose",
)  # fmt: skip


def invoke(obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """``obj.name(...)`` in code."""
    methods = getattr(type(obj), "_script_methods", None)
    if isinstance(obj, Packed) and name in _OF_PACKED and hasattr(obj, name):
        return getattr(obj, name)()
    if methods is None and isinstance(obj, _PLAIN):
        if name == "tolist" and isinstance(obj, torch.Tensor):
            return obj.tolist()
        return builtin("aten", name)(
            obj, *args, **{n.removeprefix("v_"): x for n, x in kwargs.items()}
        )
    if methods is None or name not in methods:
        raise RuntimeError(
            f"Tried to access nonexistent attribute or method '{name}' of type "
            f"'{getattr(type(obj), '_script_name', type(obj).__name__)}'"
        )
    return methods[name](obj, *args, **kwargs)


def new(late: Late) -> Any:
    """``Class.__new__(Class)`` in code."""
    made = late.found()
    if not (isinstance(made, type) and issubclass(made, ScriptObject)):
        raise RuntimeError(f"{made} is no class of the archive")
    return object.__new__(made)


def is_one(obj: Any, kinds: tuple[Kind, ...]) -> bool:
    """``isinstance`` in code."""
    plain = {"list": list, "tuple": tuple, "dict": dict, "List": list, "Tuple": tuple}
    return any(
        isinstance(obj, plain[k.name]) if k.name in plain and not k.items else belongs(obj, k)
        for k in kinds
    )


def fork(function: Any, *args: Any, **kwargs: Any) -> Any:
    """``fork`` in code: the call is made at once."""
    future: Any = Future()
    future.set_result(function(*args, **kwargs))
    return future


HELPERS: dict[str, Any] = {
    "G": get, "S": put, "H": has, "C": invoke, "N": new, "I": is_one, "F": fork,
}  # fmt: skip
