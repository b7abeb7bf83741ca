"""Calling a module: the plain path straight to ``forward``, and the one with hooks."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor
from jtorch.dispatch import NAMES
from jtorch.utils.hooks import RemovableHandle

from ..._src.facts.warned_once import outside
from . import _hooks
from ._backward import BackwardHook
from ._hooks import (
    _MIXED,
    _add,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _WrappedHook,
)

if TYPE_CHECKING:
    from ..._src.facts.kinds import Arguments, Tree
    from ...autograd.tape import Node


Hook = Callable[..., Any]


class Calling:
    """The part of ``Module`` that registers call hooks and runs ``forward`` between them."""

    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _compiled_call_impl: Callable[..., Any] | None = None
    forward: Callable[..., Any]

    # ---- registering -----------------------------------------------------------------------------

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_output)`` is called before the module's gradients; a result other
        than None replaces ``grad_output``."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The old form of ``register_full_backward_hook``: sees only the last operation of
        ``forward``."""
        self._set_kind(False)
        return _add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` is called when the gradients of the inputs are
        there; its result may replace them."""
        self._set_kind(True)
        return _add(self._backward_hooks, hook, prepend)

    def _set_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED.format("on a single Module"))
        self._is_full_backward_hook = full

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """``hook(module, args)`` is called before ``forward``; a result other than None replaces
        the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)`` and may return the pair of both.

        Args:
            hook: ``hook(module, args)``, whose result, if it is not None, takes the arguments'
                place.
            prepend: run it before those that are there.
            with_kwargs: call it with the keyword arguments too: ``hook(module, args, kwargs)``,
                which then returns both.
        """
        return _add(
            self._forward_pre_hooks,
            hook,
            prepend,
            ((self._forward_pre_hooks_with_kwargs, with_kwargs),),
        )

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """``hook(module, args, output)`` is called after ``forward``; a result other than None
        replaces the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``; with ``always_call`` it
        runs even if ``forward`` raised.

        Args:
            hook: ``hook(module, args, output)``, whose result, if it is not None, takes the
                output's place.
            prepend: run it before those that are there.
            with_kwargs: call it with the keyword arguments too:
                ``hook(module, args, kwargs, output)``.
            always_call: call it even if ``forward`` raises.
        """
        flags = (
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return _add(self._forward_hooks, hook, prepend, flags)

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """The full hooks and the others, global ones first."""
        full: list[Hook] = []
        other: list[Hook] = []
        kinds = (
            (_hooks._global_is_full_backward_hook, _global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        )
        for is_full, hooks in kinds:
            (full if is_full else other).extend(hooks.values())
        return full, other

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    # ---- calling ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Tree:
        # One function for the plain path: every layer of calls costs as much as all these looks
        # together.
        if self._compiled_call_impl is None and not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _global_backward_pre_hooks
            or _global_backward_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return self._wrapped_call_impl(*args, **kwargs)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        # a class with its own way to call is called that way
        if "_call_impl" in vars(cls) or "_wrapped_call_impl" in vars(cls):
            cls.__call__ = lambda self, *args, **kwargs: self._wrapped_call_impl(*args, **kwargs)
        # `act = torch.relu` in a class: PyTorch's functions in C do not become methods.
        for name, value in list(vars(cls).items()):
            if (
                type(value) is FunctionType
                and value in NAMES
                and torch.overrides._is_builtin(value)
            ):
                setattr(cls, name, staticmethod(value))

    def _wrapped_call_impl(
        self, *args: Tensor | int, **kwargs: Any
    ) -> tuple[object, ...] | dict[str, object] | Tensor:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _slow_forward(self, *input: object, **kwargs: object) -> object:
        return self.forward(*input, **kwargs)

    def _call_impl(
        self, *args: Tensor | int, **kwargs: Any
    ) -> tuple[object, ...] | dict[str, object] | Tensor:
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _global_backward_pre_hooks
            or _global_backward_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        call = _HookedCall(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.run_always_called()
            raise

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Makes calls of this module go through ``torch.compile``, which gets the arguments."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)


class _HookedCall:
    """One call of a module that has hooks."""

    def __init__(
        self, module: Any, args: tuple[Tensor | int, ...], kwargs: dict[str, object]
    ) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.started: set[int] = set()  # always-called hooks that have run

    def run(self) -> Tree:
        module = self.module
        backward_pre_hooks = module._get_backward_pre_hooks()
        full_backward_hooks, old_backward_hooks = module._get_backward_hooks()
        self._run_pre_hooks()
        around = None
        if full_backward_hooks or backward_pre_hooks:
            around = BackwardHook(module, full_backward_hooks, backward_pre_hooks)
            self.args = around.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for hook_id, hook, with_kwargs, always in self._forward_hooks():
            if always:
                self.started.add(hook_id)
            self._run_forward_hook(hook, with_kwargs)
        if around is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                    stacklevel=outside(),
                )
            self.result = around.setup_output_hook(self.result)
        if old_backward_hooks:
            self._attach_old_backward_hooks(old_backward_hooks)
        return self.result

    def _run_pre_hooks(self) -> None:
        module = self.module
        for hook_id, hook in (
            *_global_forward_pre_hooks.items(),
            *module._forward_pre_hooks.items(),
        ):
            if hook_id in module._forward_pre_hooks_with_kwargs:
                found = hook(module, self.args, self.kwargs)
                if found is None:
                    continue
                if not (isinstance(found, tuple) and len(found) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {found}."
                    )
                self.args, self.kwargs = found
            else:
                found = hook(module, self.args)
                if found is not None:
                    self.args = found if isinstance(found, tuple) else (found,)

    def _forward_hooks(self) -> list[tuple[int, Hook, bool, bool]]:
        """``(id, hook, with_kwargs, always_call)`` of the global hooks, then of the module's
        own."""
        module = self.module
        return [
            (i, hook, i in with_kwargs, i in always)
            for hooks, with_kwargs, always in (
                (
                    _global_forward_hooks,
                    _global_forward_hooks_with_kwargs,
                    _global_forward_hooks_always_called,
                ),
                (
                    module._forward_hooks,
                    module._forward_hooks_with_kwargs,
                    module._forward_hooks_always_called,
                ),
            )
            for i, hook in hooks.items()
        ]

    def _run_forward_hook(self, hook: Hook, with_kwargs: bool) -> None:
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        found = hook(self.module, *given, self.result)
        if found is not None:
            self.result = found

    def run_always_called(self) -> None:
        """Runs the ``always_call`` hooks that an exception has left out; what they raise themselves
        becomes a warning."""
        for hook_id, hook, with_kwargs, always in self._forward_hooks():
            if not always or hook_id in self.started:
                continue
            try:
                self._run_forward_hook(hook, with_kwargs)
            except Exception as e:
                kind = "global module" if hook_id in _global_forward_hooks else "module"
                warnings.warn(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {e!s}",
                    stacklevel=outside(),
                )

    def _attach_old_backward_hooks(self, hooks: list[Hook]) -> None:
        first = self.result
        while not isinstance(first, Tensor):
            first = (
                next(v for v in first.values() if isinstance(v, Tensor))
                if isinstance(first, dict)
                else first[0]
            )
        grad_fn = first.grad_fn
        if grad_fn is not None:
            for hook in hooks:
                grad_fn.register_hook(_WrappedHook(hook, self.module))
            _warn_of_old_backward_hook(self.args, self.result, grad_fn)


_NON_FULL = (
    "Using {} is deprecated and will be removed in future versions. This hook will be missing some "
    "{}."
)
_USE_FULL = " Please use register_full_backward_hook to get the documented behavior."


def _warn_of_old_backward_hook(inputs: Arguments, result: object, grad_fn: Node) -> None:
    """Says what an old backward hook will not see, as torch does."""

    def warn(what: str, missing: str, advice: str = _USE_FULL) -> None:
        warnings.warn(_NON_FULL.format(what, missing) + advice, FutureWarning, stacklevel=outside())

    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all(isinstance(r, Tensor) for r in results)):
        return warn(
            "non-full backward hooks on a Module that does not return a single Tensor or a tuple "
            "of Tensors",
            "of the grad_output",
        )
    if not all(isinstance(i, Tensor) for i in inputs):
        what = (
            "non-full backward hooks on a Module that does not take as input a single Tensor or a "
            "tuple of Tensors"
        )
        return warn(what, "of the grad_input")
    nodes = {r.grad_fn for r in results if r.grad_fn is not None}
    if len(nodes) == 0 or (len(nodes) == 1 and grad_fn not in nodes):
        return warn(
            "a non-full backward hook when outputs are nested in python data structure",
            "grad_output",
            "",
        )
    if len(nodes) > 1:
        return warn(
            "a non-full backward hook when outputs are generated by different autograd Nodes",
            "grad_output",
        )
    if {i.grad_fn for i in inputs if i.grad_fn is not None} != {
        n[0] for n in grad_fn.next_functions
    }:
        return warn(
            "a non-full backward hook when the forward contains multiple autograd Nodes",
            "grad_input",
        )
    return None
