"""Helpers of ``torch.optim.optimizer`` that optimisers written elsewhere import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jtorch as torch

_F = TypeVar("_F", bound=Callable[..., Any])

_params_doc = (
    "params (iterable): iterable of parameters or named_parameters to optimize or iterable of "
    "dicts defining parameter groups"
)
_foreach_doc = "foreach (bool, optional): accepted; a step is one program either way"
_fused_doc = "fused (bool, optional): accepted; a step is one program either way"
_capturable_doc = "capturable (bool, optional): accepted; a step never reads values on the host"
_differentiable_doc = "differentiable (bool, optional): whether autograd goes through the step"
_maximize_doc = "maximize (bool, optional): maximize the objective, instead of minimizing it"


def _get_value(x: object) -> object:
    """A step count as a number; itself while a program is being recorded."""
    if isinstance(x, torch.Tensor):
        return x if torch.compiler.is_compiling() else x.item()
    return x


def _stack_if_compiling(x: Sequence[torch.Tensor]) -> object:
    """A list of tensors as one while a program is being recorded; itself otherwise."""
    return torch.stack(x) if torch.compiler.is_compiling() else x


def _disable_dynamo_if_unsupported(single_tensor_fn: object = None) -> Callable[[_F], _F]:
    """A decorator that returns what it is given: every step may be part of a program."""
    del single_tensor_fn
    return lambda func: func


def _default_to_fused_or_foreach(
    params: list[torch.Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Which of PyTorch's implementations to take, as (fused, foreach): neither, since recorded
    loops fuse by themselves."""
    del params, differentiable, use_fused
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The types of devices on which a step need not read values on the host."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _view_as_real(params: list[torch.Tensor], *state_and_grads: list[torch.Tensor]) -> None:
    """Replaces complex parameters, and the tensors that go with them, by real views of them, in
    place."""
    for i, p in enumerate(params):
        if torch.is_complex(p):
            params[i] = torch.view_as_real(p)
            for tensors in state_and_grads:
                tensors[i] = torch.view_as_real(tensors[i])
