"""``Module``: a tree of modules that hold parameters and buffers, and the attribute protocol that
registers them."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import jtorch as torch
from jtorch import Tensor

from ..._src.tensor.module_state import owned
from ..parameter import Buffer, Parameter
from ._calling import Calling
from ._hooks import Registry as _Registry
from ._hooks import (  # noqa: F401 (programs look for the registries here)
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _has_any_global_hook,
    _WrappedHook,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._moving import Moving
from ._state import _EXTRA_STATE_KEY_SUFFIX, Stateful, _IncompatibleKeys  # noqa: F401

if TYPE_CHECKING:
    from typing import Self

    from ..._src.facts.kinds import Function


__all__ = [
    "register_module_forward_pre_hook", "register_module_forward_hook",
    "register_module_full_backward_pre_hook", "register_module_backward_hook",
    "register_module_full_backward_hook", "register_module_buffer_registration_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
    "Module",
]  # fmt: skip

sys.modules[__name__].__class__ = _Registry

T = TypeVar("T", bound="Module")
_grad_t = tuple[Tensor, ...] | Tensor

_HOOK_TABLES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip


def _addindent(text: str, spaces: int) -> str:
    """``text`` with all lines but the first indented."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


def _forward_unimplemented(self: Module, *input: object) -> None:
    """What the module computes; every subclass defines it.

    Args:
        input: what the module is called with.
    """
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


def _run(
    hooks: OrderedDict[int, Function],
    module: Module,
    name: str,
    value: Tensor | Module | None,
) -> Module | Tensor | None:
    """``value``, or what the registration hooks make of it."""
    for hook in hooks.values():
        found = hook(module, name, value)
        if found is not None:
            value = found
    return value


def _check_name(kind: str, name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


class Module(Calling, Stateful, Moving):
    """The base class of all neural network modules.

    A subclass calls ``super().__init__()`` and defines ``forward``. Parameters, Buffers and modules
    that are assigned as attributes are registered: ``parameters()``, ``state_dict()``, ``to()`` and
    the rest act on the whole tree.

    Args:
        *args, **kwargs: none, but for classes that accept them.
    """

    dump_patches: bool = False
    training: bool
    call_super_init: bool = False
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: object, **kwargs: object) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(
                    f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        # not self.x = …: Module.__setattr__ needs these tables
        put = object.__setattr__
        put(self, "training", True)
        put(self, "_parameters", {})
        put(self, "_buffers", {})
        put(self, "_non_persistent_buffers_set", set())
        put(self, "_is_full_backward_hook", None)
        for table in _HOOK_TABLES:
            put(self, table, OrderedDict())
        put(self, "_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- registering -----------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer: a tensor that is part of the module but no parameter; ``state_dict`` holds
        it if ``persistent``.

        Args:
            name: the attribute that holds it.
            tensor: the tensor, or None.
            persistent: whether it is in the state dict.

        Raises:
            KeyError: for a name that is empty, has a dot or is taken.
            TypeError: if ``tensor`` is neither a tensor nor None.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not (
            isinstance(tensor, Tensor) or hasattr(tensor, "__torch_function__")
        ):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor "
                "or None required)"
            )
        self._buffers[name] = owned(
            self._buffers.get(name), _run(_global_buffer_registration_hooks, self, name, tensor)
        )
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; None makes the attribute None and leaves it out of ``parameters()`` and
        ``state_dict()``.

        Args:
            name: the attribute that holds it.
            param: the parameter, or None.

        Raises:
            KeyError: for a name that is empty, has a dot or is taken.
            TypeError: if ``param`` is neither a Parameter nor None.
            ValueError: if it is no leaf.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = _run(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child module.

        Args:
            name: the attribute that holds it.
            module: the module, or None.

        Raises:
            KeyError: for a name that is empty, has a dot or is taken.
            TypeError: if ``module`` is neither a module nor None.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _run(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as ``add_module``."""
        self.add_module(name, module)

    # ---- attributes ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        d = self.__dict__
        table = d.get("_parameters")
        if table is not None and name in table:
            return table[name]
        table = d.get("_buffers")
        if table is not None and name in table:
            return table[name]
        table = d.get("_modules")
        if table is not None and name in table:
            return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        d = self.__dict__
        params = d.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, d, self._buffers, self._modules)
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = d.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, d, self._parameters, self._buffers)
            modules[name] = _run(_global_module_registration_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            modules[name] = _run(_global_module_registration_hooks, self, name, value)
            return
        buffers = d.get("_buffers")
        if (buffers is not None and name in buffers) or isinstance(value, Buffer):
            self._assign_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, *tables: dict[str, object]) -> None:
        """Makes room for a registration under ``name``."""
        for table in tables:
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _assign_buffer(self, name: str, value: Tensor | None) -> None:
        if value is not None and not (
            isinstance(value, Tensor) or hasattr(value, "__torch_function__")
        ):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                "torch.Tensor or None expected)"
            )
        persistent = (
            value.persistent
            if isinstance(value, Buffer)
            else name not in self._non_persistent_buffers_set
        )
        own = getattr(self.register_buffer, "__func__", None) is not Module.register_buffer
        if own and "persistent" not in inspect.signature(self.register_buffer).parameters:
            if not persistent:
                raise RuntimeError(
                    "Registering a non-persistent buffer on a Module subclass that implements "
                    "register_buffer() without the persistent argument is not allowed."
                )
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, persistent)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        keys = [
            *dir(self.__class__),
            *self.__dict__,
            *self._parameters,
            *self._modules,
            *self._buffers,
        ]
        # digits: no attribute syntax for them
        return sorted(key for key in keys if not key[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:  # absent from modules that older versions have pickled
            self.__dict__.setdefault(table, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ---- finding by path -------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule at the dotted path ``target``; the module itself for "".

        Raises:
            AttributeError: if the path leads nowhere or to something else.
        """
        found: Any = self
        for name in target.split(".") if target else ():
            found = found._get_attribute(name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def _get_attribute(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts ``module`` at the dotted path ``target``; with ``strict`` something must be there
        already.

        Raises:
            ValueError: for an empty path, or if ``module`` is no module.
            AttributeError: if the path's beginning leads nowhere, or its end to something that is
                no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path ``target``.

        Raises:
            AttributeError: if the path leads nowhere or to something else.
        """
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._get_attribute(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path ``target``.

        Raises:
            AttributeError: if the path leads nowhere or to something else.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = module._get_attribute(name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # ---- walking the tree ------------------------------------------------------------------------

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Calls ``fn`` with every submodule, children first, and with the module itself.

        Args:
            fn: a function of a module.
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        memo = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_prefix, module in modules:
            for k, v in get_members_fn(module):
                if v is None or v in memo:
                    continue
                if remove_duplicate:
                    memo.add(v)
                yield (f"{module_prefix}.{k}" if module_prefix else k), v

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; of the whole tree if ``recurse``.

        Args:
            recurse: also those of modules inside.
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names, which ``prefix`` precedes.

        Args:
            prefix: what all names begin with.
            recurse: also those of modules inside.
            remove_duplicate: give a parameter with several names once.
        """
        yield from self._named_members(
            lambda m: m._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; of the whole tree if ``recurse``.

        Args:
            recurse: also those of modules inside.
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names, which ``prefix`` precedes."""
        yield from self._named_members(
            lambda m: m._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """The immediate child modules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The immediate child modules with their names, each once."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all submodules, each once.

        Args:
            remove_duplicate: give a module that is found several times once.
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module itself (named ``prefix``) and all submodules with their dotted names.

        Args:
            memo: modules that were given already, which are left out.
            prefix: what all names begin with.
            remove_duplicate: give a module with several names once.
        """
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    # ---- modes and gradients ---------------------------------------------------------------------

    def train(self: T, mode: bool = True) -> T:
        """Sets ``training`` of the whole tree to ``mode``.

        Args:
            mode: whether to train; False is ``eval()``.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Sets evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Sets ``requires_grad`` of all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters, to None or to zeros.

        Args:
            set_to_none: set gradients to None, instead of filling them with zeros.
        """
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. "
                "The parameters are copied (in a differentiable manner) from the original module. "
                "This means they are not leaf nodes in autograd and so don't accumulate gradients. "
                "If you need gradients in your forward method, consider using autograd.grad "
                "instead.",
                stacklevel=2,
            )
        for p in self.parameters():
            grad = p.grad
            if grad is None:
                continue
            if set_to_none:
                p.grad = None
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

    # ---- printing --------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What ``repr`` shows of the module's own settings; subclasses override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        lines = extra_lines + [
            f"({key}): {_addindent(repr(module), 2)}" for key, module in self._modules.items()
        ]
        name = self._get_name()
        if not lines:
            return f"{name}()"
        if len(lines) == 1 and extra_lines:
            return f"{name}({lines[0]})"
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)"

    def _replicate_for_data_parallel(self) -> Self:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        # copies of parameters are no leaves, so they are set as plain attributes
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica
