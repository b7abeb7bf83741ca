"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor
from jtorch.func import functional_call
from jtorch.nn import Module

if TYPE_CHECKING:
    from typing import Self


def _names(named: Any) -> tuple[tuple[str, ...], tuple[Tensor, ...]]:
    pairs = list(named)
    return tuple(name for name, _ in pairs), tuple(value for _, value in pairs)


class FunctionalModuleWithBuffers(Module):
    """A module without state: called with parameters, buffers and the arguments."""

    def __init__(
        self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @classmethod
    def _create_from(
        cls, model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[Self, tuple[Tensor, ...], tuple[Tensor, ...]]:
        names, params = _parameters(model, disable_autograd_tracking)
        buffer_names, buffers = _names(model.named_buffers())
        return cls(_emptied(model), names, buffer_names), params, buffers

    def forward(
        self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: object, **kwargs: object
    ) -> Any:
        state = dict(zip(self.param_names, params, strict=True)) | dict(
            zip(self.buffer_names, buffers, strict=True)
        )
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A module without parameters: called with them and the arguments."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    @classmethod
    def _create_from(
        cls, model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[Self, tuple[Tensor, ...]]:
        names, params = _parameters(model, disable_autograd_tracking)
        return cls(_emptied(model), names), params

    def forward(self, params: Sequence[Tensor], *args: object, **kwargs: object) -> Any:
        return functional_call(
            self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs
        )


def _parameters(model: Module, detached: bool) -> tuple[tuple[str, ...], tuple[Tensor, ...]]:
    names, params = _names(model.named_parameters())
    return names, tuple(p.detach() for p in params) if detached else params


def _emptied(model: Module) -> Module:
    """A copy of a module whose parameters and buffers are without data."""
    state = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(t): _without_data(t) for t in state})


def _without_data(t: Tensor) -> Tensor:
    empty = torch.empty_like(t, device="meta")
    return (
        torch.nn.Parameter(empty, requires_grad=t.requires_grad)
        if isinstance(t, torch.nn.Parameter)
        else empty
    )


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module as a function ``f(params, *args)``, and its parameters.

    Raises:
        RuntimeError: for a module with buffers.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function ``f(params, buffers, *args)``, its parameters and its buffers."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Modules of one class as one function, with their parameters and buffers stacked along a new
    first dimension.

    Raises:
        RuntimeError: for no modules, and for modules of several classes or modes.
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    made = [make_functional_with_buffers(m) for m in models]
    params = tuple(
        torch.stack(group).detach().requires_grad_()
        for group in zip(*(p for _, p, _ in made), strict=True)
    )
    return (
        made[0][0],
        params,
        tuple(torch.stack(group) for group in zip(*(b for _, _, b in made), strict=True)),
    )
