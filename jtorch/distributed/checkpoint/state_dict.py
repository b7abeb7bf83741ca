"""States of models and optimisers keyed by parameters' names, whatever wrappers are around the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.nn.modules.module import _IncompatibleKeys
from jtorch.nn.parallel import DistributedDataParallel

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """How states are collected and set. What is about several processes changes nothing here."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _inner(model: nn.Module) -> nn.Module:
    """The model inside of wrappers that add to its names."""
    while isinstance(model, DistributedDataParallel) or hasattr(model, "_orig_mod"):
        model = model.module if isinstance(model, DistributedDataParallel) else model._orig_mod  # type: ignore[assignment]
    return model


def _names(model: nn.Module) -> dict[nn.Parameter, str]:
    return {parameter: name.replace("_checkpoint_wrapped_module.", "") for name, parameter in _inner(model).named_parameters()}


def _offloaded(value: Any, options: StateDictOptions) -> Any:
    if isinstance(value, dict):
        return {k: _offloaded(v, options) for k, v in value.items()}
    return value.cpu() if options.cpu_offload and isinstance(value, torch.Tensor) else value


def get_model_state_dict(
    model: nn.Module, *, submodules: set[nn.Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's state_dict, or the part of it that belongs to some submodules."""
    options = options or StateDictOptions()
    inner = _inner(model)
    found: dict[str, Any] = dict(inner.state_dict())
    if options.ignore_frozen_params:
        for name, parameter in inner.named_parameters():
            if not parameter.requires_grad:
                found.pop(name, None)
    if submodules:
        parts: dict[str, Any] = {}
        for prefix, module in inner.named_modules():
            if module in submodules:
                start = f"{prefix}."
                cut = 0 if options.keep_submodule_prefixes else len(start)
                parts |= {key[cut:]: value for key, value in found.items() if key.startswith(start)}
        found = parts
    return _offloaded(found, options)


def set_model_state_dict(
    model: nn.Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Loads what ``get_model_state_dict`` gave."""
    options = options or StateDictOptions()
    if not model_state_dict:
        return _IncompatibleKeys([], [])
    return _inner(model).load_state_dict(model_state_dict, strict=options.strict)


def _all(optimizers: Any) -> tuple[Any, ...]:
    return (optimizers,) if isinstance(optimizers, torch.optim.Optimizer) else tuple(optimizers)


def _have_state(optimizer: Any) -> None:
    """Gives an optimiser that has not stepped yet its state, by a step that changes nothing."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = torch.tensor(0.0) if isinstance(rate, torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of the optimisers, keyed by the names of the model's parameters."""
    options = options or StateDictOptions()
    names = _names(model)
    wanted: set[Any] | None = None if not submodules else {p for module in submodules for p in module.parameters()}  # pyright: ignore[reportUnhashable]
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _all(optimizers):
        _have_state(optimizer)
        for group in optimizer.param_groups:
            chosen = [p for p in group["params"] if wanted is None or p in wanted]
            for p in chosen:
                if p.requires_grad and p in optimizer.state:
                    state[names[p]] = dict(optimizer.state[p])
            groups.append({**{k: v for k, v in group.items() if k != "params"}, "params": [names[p] for p in chosen]})
    found = _offloaded({"state": state, "param_groups": groups}, options)
    return dict(_flattened(found)) if options.flatten_optimizer_state_dict else found


def _flattened(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, values in found["state"].items():
        for key, value in values.items():
            yield f"state.{name}.{key}", value
    for group in found["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    yield f"param_groups.{name}.{key}", value


def set_optimizer_state_dict(
    model: nn.Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Gives the optimisers what ``get_optimizer_state_dict`` gave."""
    options = options or StateDictOptions()
    names = _names(model)
    for optimizer in _all(optimizers):
        _have_state(optimizer)
        if not optim_state_dict:
            continue
        optimizer.load_state_dict(_for_optimizer(optimizer, names, optim_state_dict, options.flatten_optimizer_state_dict))


def _for_optimizer(optimizer: Any, names: dict[nn.Parameter, str], given: dict[str, Any], flat: bool) -> dict[str, Any]:
    """A state_dict as ``Optimizer.load_state_dict`` takes it."""
    own = optimizer.state_dict()
    state: dict[int, Any] = {}
    groups: list[dict[str, Any]] = []
    for group, mine in zip(optimizer.param_groups, own["param_groups"], strict=True):
        called = [names[p] for p in group["params"]]
        new = dict(mine)
        if flat:
            new |= {k: given[f"param_groups.{called[0]}.{k}"] for k in mine if k != "params" and f"param_groups.{called[0]}.{k}" in given}
        else:
            for saved in given["param_groups"]:
                if called[0] in saved["params"]:
                    new |= {k: v for k, v in saved.items() if k != "params"}
        groups.append(new)
        for index, p, name in zip(mine["params"], group["params"], called, strict=True):
            if flat:
                start = f"state.{name}."
                values = {k: given[f"{start}{k}"] for k in optimizer.state.get(p, {}) if f"{start}{k}" in given}
            else:
                values = given["state"].get(name)
            if values:
                state[index] = dict(values)
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of the model and of its optimisers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: nn.Module,
    optimizers: Any | Iterable[Any],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """Gives the model and its optimisers their states."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
