"""Modules and parameters in lists and dictionaries."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, islice
from typing import Any, TypeVar

import jtorch as torch
from jtorch import Tensor

from ..parameter import Parameter
from .module import Module

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]

Self = TypeVar("Self", bound=Module)


class Container(Module):
    """The deprecated base class of models with children given by keyword.

    Args:
        **kwargs: the children by name.
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


def _position(idx: int, size: int) -> int:
    """``idx`` counted from the front.

    Raises:
        IndexError: if it is out of range.
    """
    idx = operator.index(idx)
    if not -size <= idx < size:
        raise IndexError(f"index {idx} is out of range")
    return idx % size


def _without_digits(keys: Iterable[str]) -> list[str]:
    return [key for key in keys if not key.isdigit()]


def _each_pair(what: str, items: Iterable[object]) -> Iterator[tuple[Any, Any]]:
    """The (key, value) pairs of ``items``, checked."""
    for j, item in enumerate(items):
        if not isinstance(item, Iterable):
            raise TypeError(
                f"{what} update sequence element #{j} should be Iterable; is{type(item).__name__}"
            )
        if not len(item) == 2:  # type: ignore[arg-type]
            raise ValueError(
                f"{what} update sequence element #{j} has length {len(item)}; 2 is required"  # type: ignore[arg-type]
            )
        key, value = item
        yield key, value


class Sequential(Module):
    """Calls its modules one after the other. They are given as arguments, or named in one
    OrderedDict.

    Args:
        *args: the modules in order, or one dict of them by name.
    """

    _modules: dict[str, Module]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = (
            args[0].items()
            if len(args) == 1 and isinstance(args[0], OrderedDict)
            else ((str(i), m) for i, m in enumerate(args))
        )
        for key, module in named:
            self.add_module(key, module)

    def _get_item_by_idx(self, iterator: Iterable[object], idx: int) -> Any:
        return next(islice(iterator, _position(idx, len(self)), None))

    def __getitem__(self, idx: slice | int) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_item_by_idx(self._modules.keys(), idx), module)

    def __delitem__(self, idx: slice | int) -> None:
        keys = (
            list(self._modules)[idx]
            if isinstance(idx, slice)
            else [self._get_item_by_idx(self._modules.keys(), idx)]
        )
        for key in keys:
            delattr(self, key)
        self._modules = OrderedDict(
            (str(i), module) for i, module in enumerate(self._modules.values())
        )

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return _without_digits(super().__dir__())

    def _check_addend(self, other: Module | int) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)!s} is "
                "given."
            )

    def __add__(self, other: Sequential) -> Sequential:
        self._check_addend(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Any:
        self._check_addend(other)
        return self.extend(list(other))

    def _check_factor(self, other: int) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    def __rmul__(self, other: int) -> Sequential:
        return self.__mul__(other)

    def __imul__(self, other: int) -> Any:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def forward(self, input: Any) -> Any:
        """What the last module makes of what the one before it makes, and so on, of ``input``."""
        for module in self:
            input = module(input)
        return input

    def append(self: Self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)  # type: ignore[arg-type]
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module in before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self._modules)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules.update((str(i), m) for i, m in enumerate(modules))
        return self

    def pop(self, key: int | slice) -> Any:
        """Takes a module out."""
        found = self[key]
        del self[key]
        return found

    def extend(self, sequential: Iterable[Module]) -> Any:
        """Adds several modules at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(Module):
    """A list of modules, all of them registered.

    Args:
        modules: the modules to begin with.
    """

    _modules: dict[str, Module]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_position(idx, len(self)))

    def __getitem__(self, idx: int | slice) -> Module | ModuleList:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        keys = (
            [str(k) for k in range(len(self))[idx]]
            if isinstance(idx, slice)
            else [self._get_abs_string_index(idx)]
        )
        for key in keys:
            delattr(self, key)
        self._modules = OrderedDict(
            (str(i), module) for i, module in enumerate(self._modules.values())
        )

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return _without_digits(super().__dir__())

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Equal neighbours are printed once, with their number."""
        blocks = []  # first index, last index, text
        for i, text in enumerate(repr(item) for item in self):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        if not blocks:
            return self._get_name() + "()"
        lines = []
        for first, last, text in blocks:
            head = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append((head + text).replace("\n", "\n  "))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def insert(self, index: int, module: Module) -> None:
        """Puts a module in before the one at ``index``."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self: Self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)  # type: ignore[arg-type]
        return self

    def pop(self, key: int | slice) -> Any:
        """Takes a module out."""
        found = self[key]
        del self[key]
        return found

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds several modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self


class ModuleDict(Module):
    """A dictionary of modules in order of insertion, all of them registered.

    Args:
        modules: the modules by name: a mapping or pairs.
    """

    _modules: dict[str, Module]

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Takes a module out."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """The (name, module) pairs."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds the modules of a mapping or of (name, module) pairs, in order."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        pairs = (
            modules.items()
            if isinstance(modules, (ModuleDict, Mapping))
            else _each_pair("ModuleDict", modules)
        )
        for key, module in pairs:
            self[key] = module


def _as_parameter(value: Tensor | int) -> Tensor | int:
    return (
        Parameter(value)
        if isinstance(value, Tensor) and not isinstance(value, Parameter)
        else value
    )


def _summary(key: object, value: object, kind: Callable[[Tensor], object]) -> str:
    """A line of a parameter container's repr; ``kind`` says what is shown as a tensor's type."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(s) for s in value.size())
    device = f" ({value.device})" if value.device.type == "cuda" else ""
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {what} containing: [{kind(value)} of size {size}{device}]"


class ParameterList(Module):
    """A list of parameters, all of them registered. Tensors become Parameters; other values are
    kept as they are.

    Args:
        values: the parameters in order.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_position(idx, len(self)))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return self.__class__(self[i] for i in range(len(self))[idx])
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._get_abs_string_index(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Any:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return _without_digits(super().__dir__())

    def append(self: Self, value: Any) -> Self:
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value  # type: ignore[index, attr-defined]
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Adds several values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return "\n".join(_summary(k, p, lambda t: t.dtype) for k, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it holds values and computes nothing."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters in order of insertion, all registered. Tensors become Parameters;
    other values are kept.

    Args:
        parameters: the parameters by name: a mapping or pairs.
    """

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None  # first: an attribute that shadows a method is found by it
        setattr(self, self._key_to_attr(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def copy(self) -> ParameterDict:
        """A new dictionary of the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, which is set to ``default`` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes a value out."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Takes the last (key, value) pair out."""
        key = next(reversed(self._keys), None)
        if key is None:
            raise KeyError("popitem(): dictionary is empty")
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        return getattr(self, key) if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with the same value for all ``keys``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The (name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds the values of a mapping (sorted by key if it is no OrderedDict or ParameterDict) or
        of (name, value) pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but "
                f"got {type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[tuple[Any, Any]] = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items(), key=operator.itemgetter(0))
        else:
            pairs = _each_pair("ParameterDict", parameters)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return "\n".join(_summary(k, p, torch.typename) for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        """Refused: it holds values and computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: ParameterDict) -> Any:
        self.update(other)
        return self
