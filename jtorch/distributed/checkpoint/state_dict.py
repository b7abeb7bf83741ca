"""States of models and optimisers keyed by parameters' names, whatever wrappers are around the
model, and whole where that is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn
from jtorch.nn.modules.module import _IncompatibleKeys
from jtorch.nn.parallel import DistributedDataParallel

from ..collectives import broadcast
from ..group import get_rank, is_initialized
from ..objects import broadcast_object_list
from ..tensor import DTensor
from ..tensor._utils import compute_local_shape_and_global_offset

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, Row


__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


# What states are made of, for annotations.
FQNS_T = set[str]
PrimitiveType = DTensor | torch.Tensor | int | float | str
ValueType = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType] | dict[str, "ValueType"]
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]


@dataclass
class StateDictOptions:
    """How states are collected and set.

    Attributes:
        full_state_dict: whole tensors in place of shards.
        cpu_offload: tensors on the host; together with ``full_state_dict`` on rank 0 alone, the
            others get an empty dict.
        ignore_frozen_params: leave out parameters that need no gradient.
        keep_submodule_prefixes: with ``submodules``, keep the names that values have in the model.
        strict: refuse names that the model does not know, or that lack.
        broadcast_from_rank0: with ``full_state_dict``, take the state of rank 0, and send to each
            process what it needs.
        flatten_optimizer_state_dict: ``state.<name>.<key>`` and ``param_groups.<name>.<key>`` in
            place of nested dicts.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


#: Names of a wrapper's module in it.
_INSIDE = {"_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"}


def _plain_name(model: nn.Module, name: str) -> str:
    """A name without the parts that wrappers add."""
    kept, at = [], model
    parts = name.split(".")
    for i, part in enumerate(parts):
        if not (part in _INSIDE or (part == "module" and isinstance(at, DistributedDataParallel))):
            kept.append(part)
        found = at._modules.get(part) if isinstance(at, nn.Module) else None
        if found is None and part in _INSIDE:
            found = getattr(at, part, None)
        if not isinstance(found, nn.Module):
            kept += [rest for rest in parts[i + 1 :] if rest not in _INSIDE]
            break
        at = found
    return ".".join(kept)


def _sharded_again(model: nn.Module) -> None:
    """Brings parameters that are whole at the moment back to their shards, whose names and objects
    states go by."""
    for module in model.modules():
        reshard = getattr(module, "_reshard_for_state", None)
        if reshard is not None:
            reshard()


def _names(model: nn.Module) -> dict[nn.Parameter, str]:
    _sharded_again(model)
    return {parameter: _plain_name(model, name) for name, parameter in model.named_parameters()}


def _placed(value: object, options: StateDictOptions) -> Any:
    """A value as the options want it: whole, on the host. All processes call it with the same names
    in the same order."""
    if isinstance(value, dict):
        return {k: _placed(v, options) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_placed(v, options) for v in value)
    if not isinstance(value, torch.Tensor):
        return value
    if options.full_state_dict and isinstance(value, DTensor):
        value = value.full_tensor()
    return value.cpu() if options.cpu_offload else value


def _collected(state: Mapping[str, object], options: StateDictOptions) -> dict[str, object]:
    with torch.no_grad():
        found = _placed(state, options)
    if options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() != 0:
        return {}
    return found


def _shard_of(whole: torch.Tensor, like: Any) -> torch.Tensor:
    """This process's part of a whole tensor, as ``like`` is sharded."""
    sizes, offsets = compute_local_shape_and_global_offset(
        like.shape, like.device_mesh, like.placements
    )
    local = whole
    for dim, (start, size) in enumerate(zip(offsets, sizes, strict=True)):
        local = local.narrow(dim, min(start, whole.size(dim)), size)
    home = like.to_local().device
    if home.type == "meta":  # nothing lies there yet
        home = torch.device(like.device_mesh.device_type)
    local = local.to(home).contiguous().clone()
    return DTensor.from_local(
        local,
        like.device_mesh,
        like.placements,
        run_check=False,
        shape=like.size(),
        stride=like.stride(),
    )


def _from_rank_0(state: object) -> Any:
    """The state of rank 0, on all processes: first what it is made of, then tensor by tensor."""
    if not is_initialized():
        return state
    tensors: list[torch.Tensor] = []

    def outlined(value: object) -> object:
        if isinstance(value, dict):
            return {k: outlined(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(outlined(v) for v in value)
        if isinstance(value, torch.Tensor):
            tensors.append(value.detach().cpu().contiguous())
            return _Place(len(tensors) - 1, tuple(value.shape), value.dtype)
        return value

    def filled(value: object) -> Any:
        if isinstance(value, dict):
            return {k: filled(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(filled(v) for v in value)
        if isinstance(value, _Place):
            tensor = (
                tensors[value.number].clone()
                if get_rank() == 0
                else torch.empty(value.shape, dtype=value.dtype)
            )
            broadcast(tensor, src=0)
            return tensor
        return value

    held = [outlined(state) if get_rank() == 0 else None]
    broadcast_object_list(held, src=0)
    return filled(held[0])


@dataclass
class _Place:
    """Stands for a tensor in an outline."""

    number: int
    shape: tuple[int, ...]
    dtype: torch.dtype


def _fitted(value: Any, like: object) -> object:
    """A value for a place that holds ``like``: a shard of it where that is sharded."""
    whole = isinstance(value, torch.Tensor) and not isinstance(value, DTensor)
    return (
        _shard_of(value, like)
        if whole and isinstance(like, DTensor) and value.shape == like.shape
        else value
    )


def get_model_state_dict(
    model: nn.Module,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The model's state_dict, or the part of it that belongs to some submodules."""
    options = _checked(options)
    found: dict[str, Any] = {
        _plain_name(model, name): value for name, value in _own_state(model).items()
    }
    if submodules:
        parts: dict[str, Any] = {}
        for prefix, module in model.named_modules():
            if module in submodules:
                start = f"{_plain_name(model, prefix)}."
                cut = 0 if options.keep_submodule_prefixes else len(start)
                parts |= {key[cut:]: value for key, value in found.items() if key.startswith(start)}
        found = parts
    if options.ignore_frozen_params:
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                found.pop(_plain_name(model, name), None)
    if not submodules:
        _not_empty(found, options)
    return _collected(found, options)


def _not_empty(state: dict[str, object], options: StateDictOptions) -> None:
    may = options.ignore_frozen_params or not options.strict or options.broadcast_from_rank0
    if not (state or may or (options.cpu_offload and options.full_state_dict)):
        rank = get_rank() if is_initialized() else 0
        raise RuntimeError(
            "The option indicates that model state_dict is required to save or load, but model "
            f"state_dict is empty.rank = dist.get_rank()={rank}."
        )


def _own_state(model: nn.Module) -> dict[str, object]:
    """The model's state as it lies in it, sharded where parameters are."""
    from ..fsdp._wrapper import as_shards

    _sharded_again(model)
    with as_shards(model):
        return dict(model.state_dict())


def set_model_state_dict(
    model: nn.Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Loads what ``get_model_state_dict`` gave. Whole tensors are cut where the model is sharded.

    Raises:
        ValueError: for ``broadcast_from_rank0`` without ``full_state_dict``.
        RuntimeError: for an empty state where none is expected, and for names that lack or are too
            many, if ``strict`` (in whole states that are not sent from rank 0: that are too many).
    """
    from ..fsdp._wrapper import as_shards

    options = _checked(options)
    _not_empty(model_state_dict, options)
    given = _from_rank_0(model_state_dict) if options.broadcast_from_rank0 else model_state_dict
    if not given:
        return _IncompatibleKeys([], [])
    own = _own_state(model)
    raw = {_plain_name(model, name): name for name in own}
    if options.strict:
        for name, inner in raw.items():
            if name != inner and name not in given:
                raise RuntimeError(f"Missing key: {name}.")
    state = {raw.get(name, name): value for name, value in given.items()}
    assign = False
    if options.full_state_dict:
        assign = any(
            isinstance(value, torch.Tensor) and value.device.type == "meta"
            for value in own.values()
        )
        state = {name: _fitted(value, own.get(name)) for name, value in state.items()}
        # what lacks in a whole state stays as it is, as in PyTorch
        if not options.broadcast_from_rank0:
            state = {**own, **state}
    with as_shards(model):
        return model.load_state_dict(state, strict=options.strict, assign=assign)


def _all(optimizers: Any) -> Row:
    return (optimizers,) if isinstance(optimizers, torch.optim.Optimizer) else tuple(optimizers)


def _init_optim_state(optimizer: Any) -> None:
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
    optimizers: object,
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of the optimisers, keyed by the names of the model's parameters."""
    options = _checked(options)
    names = _names(model)
    wanted: set[Any] | None = (
        None if not submodules else {p for module in submodules for p in module.parameters()}  # pyright: ignore[reportUnhashable]
    )
    state = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _all(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            chosen = [p for p in group["params"] if wanted is None or p in wanted]
            for p in chosen:
                if p in optimizer.state:
                    state[names[p]] = dict(optimizer.state[p])
            groups.append(
                {
                    **{k: v for k, v in group.items() if k != "params"},
                    "params": [names[p] for p in chosen],
                }
            )
    if any(getattr(module, "_gives_copies", False) for module in model.modules()):
        state = _copied(state)
    found: dict[str, Any] = {"state": state, "param_groups": groups}
    return _collected(
        dict(_flattened(found)) if options.flatten_optimizer_state_dict else found, options
    )


def _copied(state: dict[Any, Any]) -> dict[Any, Any]:
    """The state of an optimiser in tensors of its own, which training does not go on with."""
    with torch.no_grad():
        return {
            name: {
                k: v.detach().clone() if isinstance(v, torch.Tensor) else v
                for k, v in values.items()
            }
            for name, values in state.items()
        }


def _by_path(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _by_path(f"{prefix}.{key}", inner)
    else:
        yield prefix, value


def _flattened(found: Named) -> Iterator[tuple[str, Any]]:
    for name, values in found["state"].items():
        yield from _by_path(f"state.{name}", values)
    for group in found["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    yield f"param_groups.{name}.{key}", value


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: object,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Gives the optimisers what ``get_optimizer_state_dict`` gave. Whole tensors are cut where
    parameters are sharded."""
    options = _checked(options)
    if not (
        optim_state_dict
        or options.broadcast_from_rank0
        or (options.cpu_offload and options.full_state_dict)
    ):
        raise RuntimeError(
            "The option indicates that model state_dict is required to save, or load but optim "
            f"state_dict is empty. {optim_state_dict}"
        )
    names = _names(model)
    given = _from_rank_0(optim_state_dict) if options.broadcast_from_rank0 else optim_state_dict
    for optimizer in _all(optimizers):
        _init_optim_state(optimizer)
        if given:
            optimizer.load_state_dict(_for_optimizer(optimizer, names, given, options))


def _states_in(flat: dict[str, object], names: Iterable[str]) -> dict[str, Named]:
    """The states by parameters' names of what ``_flattened`` gave."""
    known, found = set(names), {}
    for path, value in flat.items():
        parts = path.split(".")
        if parts[0] != "state":
            continue
        cut = next((i for i in range(len(parts) - 1, 0, -1) if ".".join(parts[1:i]) in known), None)
        if cut is not None:
            at = found.setdefault(".".join(parts[1:cut]), {})
            for part in parts[cut:-1]:
                at = at.setdefault(part, {})
            at[parts[-1]] = value
    return found


def _for_optimizer(
    optimizer: Any, names: dict[nn.Parameter, str], given: Named, options: StateDictOptions
) -> Named:
    """A state_dict as ``Optimizer.load_state_dict`` takes it.

    Raises:
        RuntimeError: for parameters without a state where others have one, if ``strict``.
        KeyError: for a group of parameters that lacks something.
    """
    own, flat = optimizer.state_dict(), options.flatten_optimizer_state_dict
    saved_states = _states_in(given, names.values()) if flat else given["state"]
    state = {}
    groups: list[dict[str, Any]] = []
    for group, mine in zip(optimizer.param_groups, own["param_groups"], strict=True):
        called = [names[p] for p in group["params"]]
        new = dict(mine)
        if flat:
            new |= {k: given[f"param_groups.{called[0]}.{k}"] for k in mine if k != "params"}
        else:
            for saved in given["param_groups"]:
                if called and called[0] in saved["params"]:
                    new |= {k: v for k, v in saved.items() if k != "params"}
        groups.append(new)
        for index, p, name in zip(mine["params"], group["params"], called, strict=True):
            values = saved_states.get(name)
            if values:
                state[index] = {key: _fitted(value, p) for key, value in values.items()}
            elif p.requires_grad and options.strict and saved_states and name not in saved_states:
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter "
                    "requires gradients but has no saved optimizer state. To load anyway, use "
                    "StateDictOptions(strict=False)."
                )
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: nn.Module,
    optimizers: object,
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
    optimizers: object | Iterable[object],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """Gives the model and its optimisers their states."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
