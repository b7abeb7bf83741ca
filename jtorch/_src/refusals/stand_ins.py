"""Names and modules of PyTorch that are left out: they can be imported, subclassed and compared
with, and raise when they are used.

``refusals/names.py`` lists them. Modules that are not files of this package are made from the list
when they are imported; modules that lack some of their names end with
``__getattr__ = missing(__name__)``.
"""

# ruff: noqa: ARG001  (a refusal takes any arguments)

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from types import GenericAlias, ModuleType
from typing import Any

from ..facts.errors import not_offered

_ROOT = __name__.partition(".")[0]


def _function(path: str, why: str) -> Callable[..., object]:
    def refused(*args: object, **kwargs: object) -> Any:
        raise not_offered(path, why)

    module, _, name = path.rpartition(".")
    refused.__name__, refused.__module__ = name, module
    refused.__qualname__ = name
    refused.__doc__ = f"Not offered: {why}."
    return refused


def _class(path: str, members: list[str], why: str) -> type:
    def __new__(cls: type, *args: object, **kwargs: object) -> Any:
        raise not_offered(
            path
            if cls.__module__ == module and cls.__name__ == name
            else f"{cls.__qualname__}, a subclass of {path},",
            why,
        )

    module, _, name = path.rpartition(".")
    body = {member: staticmethod(_function(f"{path}.{member}", why)) for member in members}
    body |= {
        "__new__": __new__,
        "__module__": module,
        "__doc__": f"Not offered: {why}.",
        "__class_getitem__": classmethod(GenericAlias),
    }
    # Programs name errors in `except`, which takes classes of errors only.
    return type(name, (Exception,) if name.endswith(("Error", "Exception")) else (), body)


def make(path: str, why: str) -> Any:
    """The refusal that stands for ``path``: ``torch.x.y`` a function, ``torch.x.Y`` a class;
    ``(a b)`` after it names static methods."""
    path, _, inside = path.partition("(")
    members = inside.rstrip(")").split()
    if path.rpartition(".")[2].lstrip("_")[:1].isupper():
        return _class(path, members, why)
    made = _function(path, why)
    for member in members:
        setattr(made, member, _function(f"{path}.{member}", why))
    return made


def _tables() -> ModuleType:
    # Not `from . import`, which would first ask the package for such a name, and so this module.
    return importlib.import_module(f"{__package__}.names")


def _own(module: str) -> str:
    """``nn.functional`` for ``jtorch.nn.functional`` and for ``torch.nn.functional``."""
    return module.partition(".")[2]


def find(module: str, name: str) -> Any:
    """What stands for ``name`` in a module: a refusal, a name of the module it is another name of,
    a module of Python's library that PyTorch shows there, or a module that is itself left out.

    Raises:
        AttributeError: if PyTorch has no such name either, or nobody has decided about it.
    """
    _refused = _tables()
    own = _own(module)
    listed = _refused.names().get(own, {})
    if name in listed:
        entry, why = listed[name]
        return make(f"torch.{own}.{entry}" if own else f"torch.{entry}", why)
    home = _refused.same().get(own)
    if home is not None and not name.startswith("__"):
        same = importlib.import_module(f"{_ROOT}.{home}")
        if hasattr(same, name):
            return getattr(same, name)
    if name in importlib.import_module(f"{__package__}.shown").shown().get(own, ()):
        return importlib.import_module(name)
    path = f"{own}.{name}" if own else name
    # PyTorch has most of its modules loaded once it is imported, so that programs use them as
    # attributes without importing them.
    if path in _refused.modules() or (own and not name.startswith("__") and _has_file(own, name)):
        return importlib.import_module(f"{_ROOT}.{path}")
    raise AttributeError(f"module 'torch{'.' if own else ''}{own}' has no attribute '{name}'")


def _has_file(own: str, name: str) -> bool:
    folders = getattr(sys.modules.get(f"{_ROOT}.{own}"), "__path__", None)
    return (
        folders is not None
        and importlib.machinery.PathFinder.find_spec(f"{_ROOT}.{own}.{name}", folders) is not None
    )


def missing(module: str) -> Callable[..., object]:
    """The ``__getattr__`` of a module some of whose names are left out: each is made once, and then
    is the module's."""

    def __getattr__(name: str) -> Any:
        # which imports ask of every module: the tables need not be read for them
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.{_own(module)}' has no attribute '{name}'")
        found = find(module, name)
        setattr(sys.modules[module], name, found)
        return found

    return __getattr__


class _Called(ModuleType):
    """A module whose parent has a function of the same name: the import of the one puts it in the
    place of the other."""

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Refuses, as the function does."""
        parent, _, name = _own(self.__name__).rpartition(".")
        entry, why = _tables().names()[parent][name]
        raise not_offered(f"torch.{parent}.{entry}", why)


class _Loader(importlib.abc.Loader):
    """Makes a module of the list."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        _refused = _tables()
        own = _own(module.__name__)
        module.__doc__ = (
            f"``torch.{own}``: what it holds is not offered, and says so when it is used."
        )
        listed = _refused.names().get(own, {})
        parent, _, name = own.rpartition(".")
        if name in _refused.names().get(parent, {}):
            module.__class__ = _Called
        home = _refused.same().get(own)
        if home is not None:
            module.__all__ = _public(importlib.import_module(f"{_ROOT}.{home}"))
        else:
            module.__all__ = [name for name in listed if not name.startswith("_")]
        module.__getattr__ = missing(f"{_ROOT}.{own}")


def _public(module: ModuleType) -> list[str]:
    """The names that a module says are public, or else those that come from it or its parts."""
    names = vars(module)
    if "__all__" in names:
        return list(names["__all__"])
    own = f"{module.__name__}."
    return [
        name
        for name, value in names.items()
        if name[0] != "_" and f"{getattr(value, '__module__', '')}.".startswith(own)
    ]


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules of the list; asked after all others, so that files come first."""

    @staticmethod
    def find_spec(
        fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec, if it is in the list."""
        if not fullname.startswith(f"{_ROOT}."):
            return None
        if _own(fullname) not in _tables().modules():
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)
