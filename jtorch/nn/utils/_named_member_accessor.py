"""A module's tensors by dotted name: read, set, taken out and put back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jtorch import Tensor
from jtorch.nn import Module

_MISSING: Any = object()


def _check(module: object, name: str, value: object, *, kind: str = "tensor") -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if (
        kind == "tensor"
        and value is not _MISSING
        and value is not None
        and not isinstance(value, Tensor)
    ):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    if kind == "submodule" and not isinstance(value, Module):
        raise TypeError(f"{value} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


def _holder(module: Module, name: str) -> dict[str, object] | None:
    return (
        module._parameters
        if name in module._parameters
        else module._buffers
        if name in module._buffers
        else None
    )


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Sets a parameter, buffer or attribute, as what it was."""
    _check(module, name, tensor)
    holder = _holder(module, name)
    if holder is None:
        setattr(module, name, tensor)
    else:
        holder[name] = tensor


def swap_tensor(module: Module, name: str, tensor: Tensor, allow_missing: bool = False) -> object:
    """Sets a parameter, buffer or attribute, or takes it out, and returns what was there.

    Raises:
        AttributeError: if there is none, unless ``allow_missing``.
        TypeError: if what is there is no tensor.
    """
    _check(module, name, tensor)
    holder = _holder(module, name)
    if holder is not None:
        before = holder[name]
        if tensor is _MISSING:
            del holder[name]
        else:
            holder[name] = tensor
        return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING:
        if not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    elif before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif hasattr(module, name):
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Puts another submodule in a place, and returns the one that was there.

    Raises:
        KeyError: if there is none.
    """
    _check(module, name, submodule, kind="submodule")
    before = module._modules.get(name, _MISSING)
    if before is _MISSING:
        raise KeyError(f"submodule {name} does not exist")
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """The tensors and submodules of a module by dotted name."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def _owner(self, name: str) -> tuple[Module, str]:
        prefix, _, last = name.rpartition(".")
        return self.get_submodule(prefix), last

    def get_submodule(self, name: str) -> Module:
        """The submodule of that name; the module itself for the empty one."""
        return self.module.get_submodule(name)

    def swap_submodule(self, path: str, value: Module) -> Module:
        """``swap_submodule`` at a dotted name."""
        owner, name = self._owner(path)
        return swap_submodule(owner, name, value)

    def get_tensor(self, name: str) -> object:
        """The tensor of that name."""
        owner, last = self._owner(name)
        found = getattr(owner, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        if found is not None and not isinstance(found, Tensor):
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Tensor) -> None:
        """``set_tensor`` at a dotted name."""
        owner, last = self._owner(name)
        set_tensor(owner, last, value)

    def del_tensor(self, name: str) -> None:
        """Takes a tensor out."""
        owner, last = self._owner(name)
        swap_tensor(owner, last, _MISSING)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> object:
        """``swap_tensor`` at a dotted name."""
        owner, last = self._owner(name)
        return swap_tensor(owner, last, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[object]:
        """Several tensors."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Sets several tensors."""
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise ValueError("names and values must have the same length")
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Sets several tensors."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Takes several tensors out."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False
    ) -> list[object]:
        """Swaps several tensors."""
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise ValueError("names and values must have the same length")
        return [
            self.swap_tensor(name, value, allow_missing)
            for name, value in zip(names, values, strict=True)
        ]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, object], list[str]]:
        """Swaps several tensors; returns those that were there, and the names where there was none.
        After an error all is as before."""
        before = {}
        absent: list[str] = []
        try:
            for name, tensor in named_tensors.items():
                found = self.swap_tensor(name, tensor, allow_missing=True)
                before[name] = found
                if found is _MISSING:
                    absent.append(name)
            if absent and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, absent))}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, absent

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names that ``keys`` lacks, and those that the module lacks."""
        given, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """The module's parameters."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """The module's buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """The module's parameters and buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module's submodules."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
