"""Full backward hooks: identity functions around a module's inputs and outputs that see the
gradients passing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor
from jtorch.autograd import Function
from jtorch.autograd.engine import check_changed
from jtorch.autograd.grad_mode import MODE

if TYPE_CHECKING:
    from ..._src.facts.kinds import Arguments, Operand, Values
    from ...autograd.function_node import FunctionCtx


class BackwardHookFunction(Function):
    """The identity on tensors whose backward hands the gradients to a function and goes on with
    what it returns."""

    @staticmethod
    def forward(
        ctx: Any, on_backward: Callable[..., object], materialize: bool, *args: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.on_backward = on_backward
        ctx.set_materialize_grads(materialize)
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return (None, None, *ctx.on_backward(grads))


class BackwardHook:
    """The full backward hooks of one call of a module."""

    def __init__(self, module: Any, user_hooks: list[Any], user_pre_hooks: list[Any]) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple[Tensor | None, ...] | None = None
        self.n_inputs = -1
        self.input_tensors_index: list[int] | None = None
        self.n_outputs = -1
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: Arguments) -> tuple[Tensor, ...]:
        """``args`` with the tensors passed through the identity that calls the hooks."""
        self.n_inputs = len(args)
        result, self.input_tensors_index = _through(self._at_inputs, True, args)
        return result

    def setup_output_hook(self, args: Any) -> Any:
        """The module's output with its tensors passed through the identity that calls the
        pre-hooks."""
        outputs = args if isinstance(args, tuple) else (args,)
        self.n_outputs = len(outputs)
        result, self.output_tensors_index = _through(self._at_outputs, False, outputs)
        return result if isinstance(args, tuple) else result[0]

    def _at_outputs(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        index = self.output_tensors_index
        grad_outputs = _spread(index, grads, self.n_outputs)
        for hook in self.user_pre_hooks:
            found = hook(self.module, grad_outputs)
            if found is None:
                continue
            if len(found) != len(grad_outputs):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(found)}, but expected {len(grad_outputs)}"
                )
            grad_outputs = found
        self.grad_outputs = grad_outputs
        if self.input_tensors_index is None:  # nothing to wait for: no input requires a gradient
            self._without_inputs(grad_outputs)
        return _replaced(grads, grad_outputs, index or ())

    def _without_inputs(self, grad_outputs: tuple[Tensor | None, ...]) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
            "register_full_backward_hook for more details.",
            stacklevel=5,
        )
        for hook in self.user_hooks:
            found = hook(self.module, (None,) * self.n_inputs, grad_outputs)
            if found is not None and not (
                isinstance(found, tuple) and all(g is None for g in found)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None

    def _at_inputs(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        # a gradient arrived that did not come through the module's output
        if self.grad_outputs is None:
            return grads
        grad_inputs = _spread(self.input_tensors_index, grads, self.n_inputs)
        for hook in self.user_hooks:
            found = hook(self.module, grad_inputs, self.grad_outputs)
            if found is None:
                continue
            if len(found) != len(grad_inputs):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(found)}, "
                    f"but expected {len(grad_inputs)}"
                )
            grad_inputs = found
        self.grad_outputs = None
        return _replaced(grads, grad_inputs, self.input_tensors_index or ())


def _through(
    on_backward: Callable[..., object], materialize: bool, args: tuple[Tensor, ...]
) -> tuple[tuple[Tensor, ...], list[int]] | tuple[tuple[Tensor, ...], None]:
    """``args`` with tensors through the identity and the tensors' places; None for the places if
    there is nothing to differentiate.

    ``materialize``: gradients that do not arrive are zeros, otherwise None.
    """
    index = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (torch.is_grad_enabled() and any(args[i].requires_grad for i in index)):
        return args, None
    # examples of ``vmap``, and ``jvp``: in PyTorch these require no gradient
    if MODE.transforms and MODE.transforms[-1] is None:
        return args, None
    result = list(args)
    for i, new in zip(
        index,
        BackwardHookFunction.apply(on_backward, materialize, *(args[i] for i in index)),
        strict=True,
    ):
        result[i] = new
    return (tuple(result) if type(args) is tuple else type(args)(*result)), index


def _replaced(
    grads: tuple[Tensor | None, ...], found: tuple[Tensor, ...], index: Sequence[int]
) -> tuple[Tensor | None, ...]:
    """What the hooks gave in place of ``grads``, once it is seen that it can stand there."""
    result = tuple(found[i] for i in index)
    for before, after in zip(grads, result, strict=True):
        if before is not None and after is not None and after is not before:
            check_changed(_hook, before, after)
    return result


def _hook() -> None:
    """The name of all of a module's hooks in messages."""


_hook.__name__ = "hook"


def _spread(index: list[int] | None, values: Arguments, size: int) -> tuple[Operand, ...]:
    """The ``values`` at the places ``index`` of a tuple of length ``size``, None elsewhere."""
    result: Values = [None] * size
    for i, value in zip(index or (), values, strict=True):
        result[i] = value
    return tuple(result)
