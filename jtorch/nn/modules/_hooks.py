"""Hook registries shared by all modules, and the wrapper that keeps a hook's module weakly."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jtorch.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, Row
    from .module import Module

Hook = Callable[..., Any]

_global_buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()


class Registry(ModuleType):
    """The class of ``nn.modules.module``, in which programs find the registries, and put others in
    their place.

    Those who look into a registry hold it, so that plain calls of modules find it fast: they are
    all told.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "_global_is_full_backward_hook":  # a flag, which _hooks changes
            return _global_is_full_backward_hook
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_global_is_full_backward_hook":
            super().__setattr__(name, value)
        if name.startswith("_global_"):
            package = __name__.rpartition(".")[0]
            for user in ("_hooks", "_calling"):
                names = vars(sys.modules[f"{package}.{user}"])
                if name in names:
                    names[name] = value


_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of "
    "them."
)


class _WrappedHook:
    """A hook that gets its module as first argument, without keeping the module alive."""

    __module__ = "jtorch.nn.modules.module"  # the name that files know it by

    def __init__(self, hook: Hook, module: Module | None = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module: weakref.ReferenceType[Module] = weakref.ref(module)

    def __call__(self, *args: object, **kwargs: object) -> int | None:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> Named:
        state: Named = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: Named) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _add(
    hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False, flags: Row = ()
) -> RemovableHandle:
    """Enters ``hook``; ``flags`` are pairs (dictionary of flags, whether this hook has it), cleaned
    up with the handle."""
    handle = RemovableHandle(hooks, extra_dict=[flag for flag, _ in flags])
    hooks[handle.id] = hook
    for flag, wanted in flags:
        if wanted:
            flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _has_any_global_hook() -> bool:
    return bool(
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, name, buffer)`` is called at every registration of a buffer; a result other
    than None replaces the buffer."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, name, submodule)`` is called at every registration of a module; a result other
    than None replaces it."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, name, param)`` is called at every registration of a parameter; a result other
    than None replaces it."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, args)`` is called before every module's forward; a result other than None
    replaces ``args``."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., None], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """``hook(module, args, output)`` is called after every module's forward; a result other than
    None replaces ``output``."""
    flags = (
        (_global_forward_hooks_with_kwargs, with_kwargs),
        (_global_forward_hooks_always_called, always_call),
    )
    return _add(_global_forward_hooks, hook, flags=flags)


def _set_global_kind(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED.format("as a global Module hook"))
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """The old form of ``register_module_full_backward_hook``: sees only the last operation of each
    module's forward."""
    _set_global_kind(False)
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """``hook(module, grad_output)`` is called for every module before its gradients; a result other
    than None replaces ``grad_output``."""
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` is called for every module; a result other than
    None replaces ``grad_input``."""
    _set_global_kind(True)
    return _add(_global_backward_hooks, hook)
