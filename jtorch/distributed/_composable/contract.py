"""``contract``: what functions that change modules in place promise, and what they keep of each
module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jtorch import nn

from .._composable_state import _State

#: Where a module's ``__dict__`` has the states, by function, and the marks, by the function's name.
STATE_KEY, REGISTRY_KEY = "__composable_api_state_key", "__composable_api_registry_key"


class RegistryItem:
    """The mark of one function on a module."""


def _outermost(modules: Sequence[nn.Module]) -> list[nn.Module]:
    """Those that are not parts of others among them."""
    inner = {part for module in modules for part in module.modules() if part is not module}
    return [module for module in modules if module not in inner]


def _names(module: nn.Module) -> dict[str, list[str]]:
    named = {
        "parameters": module.named_parameters,
        "buffers": module.named_buffers,
        "modules": module.named_modules,
    }
    return {kind: [name for name, _ in find()] for kind, find in named.items()}


def contract(state_cls: type = _State) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for functions whose first argument is a module, or several, that they change in
    place and may return.

    Each can be applied to a module once, and must leave the names of parameters, buffers and
    modules as they are. ``function.state(module)`` is what it keeps: one ``state_cls()`` a call.
    """

    def decorated(func: Callable[..., object]) -> Callable[..., object]:
        name: str = func.__name__

        @functools.wraps(func)
        def wrapper(module: Any, *args: object, **kwargs: object) -> Any:
            single = isinstance(module, nn.Module)
            modules = [module] if single else _outermost(list(module))
            if any(name in (_get_registry(one) or {}) for one in modules):
                raise AssertionError(
                    "Each distinct composable distributed API can only be applied to a module "
                    f"once. {name} has already been applied to the following module:\n"
                    f"{module}"
                )
            state, mark = state_cls(), RegistryItem()
            for one in modules:
                one.__dict__.setdefault(STATE_KEY, {})[func] = state
                one.__dict__.setdefault(REGISTRY_KEY, {})[name] = mark
            before = [_names(one) for one in modules]
            updated = func(module, *args, **kwargs)
            updated = module if updated is None else updated
            after = [
                _names(one) for one in ([updated] if isinstance(updated, nn.Module) else modules)
            ]
            if len(before) != len(after):
                counts = f"Inputs: {len(before)} modules\nOutputs: {len(after)} modules"
                raise AssertionError(
                    f"{name} should return the same number of modules as input modules{counts}"
                )
            for old, new in zip(before, after, strict=True):
                for kind, names in old.items():
                    _check(kind, names, new[kind])
            return updated

        def get_state(module: nn.Module) -> Any:
            """What the function keeps of a module; None if it has not been applied to it."""
            return module.__dict__.get(STATE_KEY, {}).get(func)

        wrapper.state = get_state
        return wrapper

    return decorated


def _check(kind: str, old: list[str], new: list[str]) -> None:
    if old != new:
        words = f"Checking {kind}: Composable distributed API implementations cannot modify "
        gone, come = set(old) - set(new), set(new) - set(old)
        if gone or come:
            raise RuntimeError(
                f"{words}FQNs.\nFQNs only in original: {gone}\nFQNs only in new: {come}"
            )
        raise RuntimeError(f"{words}the order of FQNs.\nOriginal FQNs: {old}\nNew FQNs: {new}")


def _get_registry(module: nn.Module) -> dict[str, RegistryItem] | None:
    """Which functions have been applied to a module, by their names; None if none has."""
    return module.__dict__.get(REGISTRY_KEY)
