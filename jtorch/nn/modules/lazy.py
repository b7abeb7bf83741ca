"""``LazyModuleMixin``: modules that learn their sizes from the first input."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

import jtorch as torch

from ..parameter import is_lazy

if TYPE_CHECKING:
    from .module import Module


__all__ = ["LazyModuleMixin"]

C = TypeVar("C", bound="type[LazyModuleMixin]")


def documented(cls: C) -> C:
    """Describes the arguments of a lazy class as those of the class that it turns into, but for the
    first, which it learns."""
    _, section, told = (inspect.getdoc(cls.cls_to_become) or "").partition("\nArgs:\n")
    if section and cls.__doc__:
        _, *rest = told.partition("\n\n")[0].splitlines()
        cls.__doc__ += "\n\n    Args:\n" + "".join(f"    {line}\n" for line in rest) + "    "
    return cls


class LazyModuleMixin:
    """Makes a module lazy: its uninitialized parameters are made by
    ``initialize_parameters(*inputs)`` before the first forward.

    A subclass inherits this before the module class, sets its parameters to
    ``UninitializedParameter`` and defines ``initialize_parameters``. After the first call the
    module turns into ``cls_to_become``, if that is set.
    """

    cls_to_become: type[Any] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # An uninitialized parameter has nothing to detach: it is saved as it is.
        buffers = {
            k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set
        }
        for name, value in (*self._parameters.items(), *buffers.items()):
            if value is not None:
                destination[prefix + name] = (
                    value if keep_vars or is_lazy(value) else value.detach()
                )

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: object,
        strict: bool,
        missing_keys: object,
        unexpected_keys: object,
        error_msgs: object,
    ) -> None:
        """Gives uninitialized parameters the shapes found in the state dict."""
        for name, param in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(param) and not is_lazy(given):
                with torch.no_grad():
                    param.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Makes the parameters for the inputs of the first call; every lazy class defines it."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer is still uninitialized."""
        return any(is_lazy(p) for p in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(
        self,
        module: Module,
        args: tuple[torch.Tensor, ...],
        kwargs: dict[str, object] | None = None,
    ) -> None:
        """The forward pre-hook that initializes, then removes itself and turns the module into its
        ordinary class."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        delattr(module, "_initialize_hook")
        delattr(module, "_load_hook")
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )
