"""Archives of TorchScript: their code, their constants, and the module."""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

import jtorch as torch

from ... import _weights_only_unpickler
from ..._src.facts.errors import not_offered
from ..._src.files.archive import Archive
from ..._src.files.pickles import storage_id, text
from ..._src.files.raw_storage import LoadedStorage, brief
from ..._src.quantised.packed import Packed, packed_class
from ..._weights_only_unpickler import UnpicklingError
from .builtins import builtin
from .kinds import CodeError, dotted, kind_of, parsed
from .objects import (
    HELPERS,
    LoadedModule,
    ScriptObject,
    Spec,
    fill,
    module_class,
    object_class,
    tuple_class,
)
from .operators import operator
from .source import Function, Late, Translator, parse

#: The newest version of files that is known.
NEWEST = 10


class Unit:
    """The code of one archive, read file by file as it is needed."""

    helpers = HELPERS

    def __init__(self, archive: Archive, version: int, place: str | None) -> None:
        self.version, self._place = version, place
        self._files: dict[str, tuple[str, str, dict[str, ast.stmt]]] = {}
        self._found: dict[str, Any] = {}
        self.constants: tuple[Any, ...] = ()
        self._texts = {
            name: archive.record(name).decode("utf-8", "replace")
            for name in archive.names()
            if name.startswith("code/") and name.endswith(".py")
        }

    def texts(self) -> dict[str, str]:
        """The texts of all files, as the archive has them."""
        return self._texts

    def constant(self, name: str) -> Any:
        """``CONSTANTS.c0`` and its like."""
        number = name[1:]
        if not name.startswith("c") or not number.isdigit() or int(number) >= len(self.constants):
            raise CodeError(f"CONSTANTS.{name} is not in the archive")
        return self.constants[int(number)]

    def device(self, name: str) -> torch.device:
        """A device that the code names: where the caller wants tensors, if they say."""
        return torch.device(name if self._place is None else self._place)

    def _file(self, module: str) -> tuple[str, str, dict[str, ast.stmt]]:
        if module not in self._files:
            name = f"code/{module.replace('.', '/')}.py"
            if name not in self._texts:
                self._files[module] = ("", name, {})
            else:
                source = self._texts[name]
                found: dict[str, ast.stmt] = {
                    node.name: node
                    for node in parse(source, name).body
                    if isinstance(node, (ast.ClassDef, ast.FunctionDef))
                }
                self._files[module] = (source, name, found)
        return self._files[module]

    def _node(self, path: str) -> ast.stmt | None:
        module, _, name = path.rpartition(".")
        return self._file(module)[2].get(name) if module else None

    def find(self, path: str) -> Any:
        """The class or function of a path.

        Raises:
            RuntimeError: if the archive has none.
        """
        if path not in self._found:
            node = self._node(path)
            if node is None:
                raise CodeError(f"Unknown type name '{path}'")
            source, file, _ = self._file(path.rpartition(".")[0])
            if isinstance(node, ast.FunctionDef):
                self._found[path] = Translator(self, file).function(node)
            else:
                assert isinstance(node, ast.ClassDef)
                self._found[path] = self._class(path, node, source, file)
        return self._found[path]

    def member(self, path: str) -> Any:
        """The member of an enumeration, None if it is none."""
        above, _, name = path.rpartition(".")
        node = self._node(above)
        if isinstance(node, ast.ClassDef) and _base(node) == "Enum":
            return self.find(above).__members__[name]
        return None

    def upgraded(self, namespace: str, name: str) -> Callable[..., Any] | None:
        """What an operator was in the version that the archive was written in, where that was
        something else."""
        if namespace != "aten":
            return None
        return next((f(name) for v, n, f in _BEFORE if n == name and self.version < v), None)

    def _class(self, path: str, node: ast.ClassDef, source: str, file: str) -> Any:
        base = _base(node)
        if base == "Enum":
            return Enum(path.rpartition(".")[2], _members(node))
        if base == "NamedTuple":
            fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
            names = [s.target.id for s in fields if isinstance(s.target, ast.Name)]
            given = [ast.literal_eval(s.value) for s in fields if s.value is not None]
            return tuple_class(path, names, given)
        spec = Spec(path, source)
        for statement in node.body:
            self._declare(spec, statement)
        if base in ("Interface", "ModuleInterface"):
            return object_class(spec)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                made = Translator(self, file).function(statement)
                spec.methods[statement.name] = made
        made: Any = module_class(spec) if base == "Module" else object_class(spec)
        made._unit = self
        return made

    def _declare(self, spec: Spec, node: ast.stmt) -> None:
        """Notes an attribute of a class."""
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = kind_of(node.annotation)
            if node.value is None:
                spec.attributes[node.target.id] = kind
            else:
                spec.constants[node.target.id] = _literal(node.value)
        elif isinstance(node, ast.Assign):
            (target,) = node.targets
            if isinstance(target, ast.Subscript) and dotted(target.value) == "__annotations__":
                spec.attributes[str(ast.literal_eval(target.slice))] = kind_of(node.value)
            elif isinstance(target, ast.Name) and target.id == "__parameters__":
                spec.parameters = list(ast.literal_eval(node.value))
            elif isinstance(target, ast.Name) and target.id == "__buffers__":
                spec.buffers = list(ast.literal_eval(node.value))
            elif (
                isinstance(target, ast.Name)
                and target.id.startswith("__forward")
                and ast.literal_eval(node.value)
            ):
                raise not_offered(
                    "torch.jit.load of a module with scripted hooks",
                    f"{spec.name} has {target.id}",
                )


def _base(node: ast.ClassDef) -> str:
    return (dotted(node.bases[0]) or "") if node.bases else ""


def _members(node: ast.ClassDef) -> dict[str, Any]:
    return {
        s.targets[0].id: ast.literal_eval(s.value)
        for s in node.body
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
    }


def _literal(node: ast.expr) -> Any:
    words = {"inf": float("inf"), "nan": float("nan")}
    if isinstance(node, ast.Name) and node.id in words:
        return words[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
        return -_literal(node.operand)
    if isinstance(node, (ast.Tuple, ast.List)):
        kind = tuple if isinstance(node, ast.Tuple) else list
        return kind([_literal(n) for n in node.elts])
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as e:
        raise CodeError(f"a constant in line {node.lineno} is none") from e


# ---- versions ----------------------------------------------------------------------------------


def _old_div(name: str) -> Callable[..., Any]:
    now, in_place = builtin("aten", name), name.endswith("_")

    def div(a: Any, b: Any) -> Any:
        floats = [
            x.is_floating_point() or x.is_complex()
            if isinstance(x, torch.Tensor)
            else isinstance(x, float)
            for x in (a, b)
        ]
        if any(floats) or not any(isinstance(x, torch.Tensor) for x in (a, b)):
            return now(a, b)
        made = torch.div(a, b, rounding_mode="trunc")
        return a.copy_(made) if in_place else made

    return div


def _old_full(name: str) -> Callable[..., Any]:
    now = operator("aten", name)
    assert now is not None

    def full(size: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and kwargs.get("dtype") is None:
            kwargs["dtype"] = 6
        return now(size, value, *args, **kwargs)

    return full


def _old_steps(name: str) -> Callable[..., Any]:
    now = operator("aten", name)
    assert now is not None

    def spaced(start: Any, end: Any, steps: Any = None, *args: Any, **kwargs: Any) -> Any:
        return now(start, end, 100 if steps is None else steps, *args, **kwargs)

    return spaced


#: Until which version operators were something else.
_BEFORE = [
    (4, "div", _old_div), (4, "div_", _old_div), (5, "full", _old_full),
    (8, "linspace", _old_steps), (8, "logspace", _old_steps),
]  # fmt: skip


# ---- pickles -----------------------------------------------------------------------------------


def _tagged(value: Any, kind: str) -> Any:
    """A list or dict with its type."""
    if not isinstance(value, (list, dict)):
        raise UnpicklingError(f"restore_type_tag of {brief(value)}")
    parsed(kind)
    return value


def _listed(items: Any) -> list[Any]:
    return list(items)


_MAKERS = {
    "restore_type_tag": _tagged, "build_intlist": _listed, "build_doublelist": _listed,
    "build_boollist": _listed, "build_tensorlist": _listed,
}  # fmt: skip


#: What is made empty, and given its state then.
_EMPTY = (LoadedModule, ScriptObject, Packed)


class Reader(_weights_only_unpickler.Unpickler):
    """Reads a pickle of an archive: tensors, containers, and instances of classes that the archive
    defines."""

    def __init__(self, data: bytes, unit: Unit, storage: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self._unit, self._storage = unit, storage
        self._made: set[int] = set()

    def persistent_load(self, pid: Any) -> Any:
        """A storage."""
        return self._storage(pid)

    def find_class(self, module: str, name: str) -> Any:
        """A class of the archive, or an allowed one."""
        packed = packed_class(f"{module}.{name}")
        if packed is not None:
            return packed
        if module == "__torch__" or module.startswith("__torch__."):
            found = self._unit.find(f"{module}.{name}")
            if not isinstance(found, type):
                raise UnpicklingError(f"{module}.{name} is no class")
            return found
        if module == "torch.jit._pickle" and name in _MAKERS:
            return _MAKERS[name]
        return super().find_class(module, name)

    def load_newobj(self) -> None:
        """An empty object of a class of the archive."""
        args, cls = self.stack.pop(), self.stack.pop()
        if isinstance(cls, type) and issubclass(cls, _EMPTY) and args == ():
            made = object.__new__(cls)
            if isinstance(made, LoadedModule):
                torch.nn.Module.__init__(made)
            self._made.add(id(made))
            self.append(made)
            return
        self.stack.extend([cls, args])
        super().load_newobj()

    def load_build(self) -> None:
        """The attributes of an object."""
        inst = self.stack[-2]
        if id(inst) not in self._made:
            super().load_build()
            return
        state = self.stack.pop()
        if isinstance(inst, Packed):
            inst._restore(state)
            return
        restore = type(inst)._script_methods.get("__setstate__")
        if restore is not None:
            restore(inst, state)
        elif not isinstance(state, dict) or not all(isinstance(n, str) for n in state):
            raise UnpicklingError(f"The attributes of an object are {brief(state)}")
        elif isinstance(inst, LoadedModule):
            fill(inst, state)
        else:
            inst.__dict__.update({n: x for n, x in state.items() if inst._spec.has(n)})

    def load_reduce(self) -> None:
        """A list with its type, a named tuple, a member of an enumeration."""
        args, func = self.stack[-1], self.stack[-2]
        own = isinstance(func, type) and (
            issubclass(func, Enum) or (issubclass(func, tuple) and hasattr(func, "_script_name"))
        )
        if not own and func not in _MAKERS.values():
            super().load_reduce()
            return
        self.stack.pop()
        self._afford(args)
        self.stack[-1] = func(*args) if isinstance(args, tuple) else func(args)

    dispatch = {
        **_weights_only_unpickler.Unpickler.dispatch,
        ord("\x81"): load_newobj, ord("b"): load_build, ord("R"): load_reduce,
    }  # fmt: skip


def _storages(archive: Archive, folder: str, place: str | None) -> Callable[[Any], Any]:
    restore = torch.serialization._get_restore_location(place)
    known: dict[str, Any] = {}
    order = archive.record("byteorder") if archive.has("byteorder") else b"little"

    def storage(pid: Any) -> Any:
        kind, key, location, _ = storage_id(pid, 5)
        if key not in known:
            data = archive.array(f"{folder}/{key}")
            if order.decode() != sys.byteorder and kind.dtype is not None:
                data = data.view(kind.dtype.np).byteswap().view(np.uint8)
            known[key] = restore(LoadedStorage(data, kind.dtype, "cpu"), text(location))
        return known[key]

    return storage


# ---- loading -----------------------------------------------------------------------------------


def place_of(location: Any) -> str | None:
    """``map_location`` as text.

    Raises:
        ValueError: for what is no device.
    """
    if location is None:
        return None
    if not isinstance(location, (str, torch.device)):
        raise ValueError(
            "map_location should be either None, string or torch.device, but got type: "
            f"{type(location)}"
        )
    place = str(torch.device(location))
    if place.startswith("cuda"):
        torch.serialization.validate_cuda_device(place)
    return place


def load(f: Any, map_location: Any = None, extra: Any = None) -> LoadedModule:
    """Reads a module from a path, or from what can be read."""
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {os.fspath(f)} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {os.fspath(f)} is a directory")
    place = place_of(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _loaded(file, place, extra)
    return _loaded(io.BytesIO(f.read()), place, extra)


def _loaded(file: Any, place: str | None, extra: Any) -> LoadedModule:
    with Archive(file) as archive:
        version = _version(archive)
        unit = Unit(archive, version, place)
        constants = archive.record("constants.pkl")
        found = _read(constants, unit, _storages(archive, "constants", place), "constants.pkl")
        unit.constants = tuple(found) if isinstance(found, tuple) else ()
        module = _read(
            archive.record("data.pkl"), unit, _storages(archive, "data", place), "data.pkl"
        )
        if not isinstance(module, LoadedModule):
            raise RuntimeError("Expected a module in the archive")
        _whole(unit)
        for name in extra or ():
            record = f"extra/{name}"
            extra[name] = archive.record(record) if archive.has(record) else b""
    return module


def _whole(unit: Unit) -> None:
    """Finds what the code names and nobody has asked for yet, since errors belong here."""
    seen: set[int] = set()
    while True:
        lates = [
            x
            for found in list(unit._found.values())
            for run in (
                [found.run]
                if isinstance(found, Function)
                else [f.run for f in found._spec.methods.values()]
                if hasattr(found, "_spec")
                else []
            )
            for x in run.__globals__.values()
            if isinstance(x, Late) and id(x) not in seen
        ]
        if not lates:
            return
        for late in lates:
            seen.add(id(late))
            late.found()


def _read(data: bytes, unit: Unit, storage: Callable[[Any], Any], name: str) -> Any:
    try:
        return Reader(data, unit, storage).load()
    except (UnpicklingError, EOFError) as e:
        raise RuntimeError(f"torch.jit.load: the archive's {name} is damaged: {e}") from e


def _version(archive: Archive) -> int:
    for name in (".data/version", "version"):
        if archive.has(name):
            text_of = archive.record(name).strip()
            if text_of.isdigit():
                version = int(text_of)
                if version > NEWEST:
                    raise RuntimeError(
                        f"Attempted to read a PyTorch file with version {version}, but the maximum "
                        f"supported version for reading is {NEWEST}. The version of your PyTorch "
                        "installation may be too old, please update your PyTorch installation."
                    )
                return version
    raise RuntimeError("PytorchStreamReader failed reading the version of the archive")
