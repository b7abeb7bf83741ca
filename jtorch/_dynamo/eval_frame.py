"""``OptimizedModule``: a module whose calls run by programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jtorch import nn
from jtorch.compiler import compiled_function, disable

from ..core import Tensor

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


def is_dynamo_supported() -> bool:
    """True: functions can be compiled."""
    return True


class OptimizeContext:
    """How a module was compiled, as ``OptimizedModule.dynamo_ctx``: called with a function or
    another module, it compiles that likewise."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def __call__(self, fn: Callable[..., object]) -> Function:
        if isinstance(fn, nn.Module):
            return OptimizedModule(fn, self.settings)
        return fn if self.settings is None else compiled_function(fn, self.settings)


class OptimizedModule(nn.Module):
    """What ``torch.compile`` makes of a module, which stays reachable as ``_orig_mod``; attributes
    are read from and written to it."""

    _orig_mod: nn.Module
    _inside = ("_orig_mod", "forward", "dynamo_ctx", "training", "__class__")

    def __init__(self, mod: nn.Module, settings: object = None) -> None:
        nn.Module.__init__(self)
        self._modules["_orig_mod"] = mod
        object.__setattr__(self, "dynamo_ctx", OptimizeContext(settings))
        object.__setattr__(self, "forward", self._compiled())

    def _compiled(self) -> Function:
        settings = self.__dict__["dynamo_ctx"].settings
        mod = self._modules["_orig_mod"]
        assert mod is not None
        return mod.__call__ if settings is None else compiled_function(mod.__call__, settings)

    def __call__(self, *args: Tensor, **kwargs: object) -> object:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
        ):
            return super().__call__(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def __reduce__(self) -> object:
        return OptimizedModule, (self._orig_mod, self.__dict__["dynamo_ctx"].settings)

    @property
    def training(self) -> bool:
        """The wrapped module's."""
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, value: bool) -> None:  # type: ignore[override]
        mod = self.__dict__.get("_modules", {}).get("_orig_mod")
        if mod is not None:
            mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: object) -> None:
        if (
            name in OptimizedModule._inside
            or "_modules" not in self.__dict__
            or "_orig_mod" not in self._modules
        ):
            if name == "_orig_mod":
                self._modules["_orig_mod"] = value
                object.__setattr__(self, "forward", self._compiled())
            elif name == "training":
                type(self).training.fset(self, value)  # type: ignore[attr-defined]
            else:
                object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]

    def __getitem__(self, index: object) -> Any:
        return self._orig_mod[index]  # type: ignore[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)  # type: ignore[call-overload]

    def __dir__(self) -> list[str]:
        return [*self._orig_mod.__dir__(), *("_orig_mod", "forward")]


__all__ = ["OptimizedModule", "disable", "is_dynamo_supported"]
