"""Copies of states that may hold distributed tensors: gathered, on the host, or written into others
of the same structure."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jtorch as torch

from .checkpoint._nested_dict import FLATTEN_MAPPING
from .checkpoint._nested_dict import set_element as _set_element  # noqa: F401
from .checkpoint._nested_dict import unflatten_state_dict as _unflatten_state_dict  # noqa: F401
from .collectives import broadcast
from .group import get_rank, world
from .objects import broadcast_object_list
from .tensor import DTensor, Replicate
from .tensor._utils import compute_local_shape_and_global_offset

if TYPE_CHECKING:
    from .._src.facts.kinds import Named, Values


class CompanionMismatch(Exception):
    """Two states have different structures."""


def _same(value: object, companion: object) -> object:
    del companion
    return value


def _walked(
    value: object,
    of_dtensor: Callable[[Any, Any], Any],
    of_tensor: Callable[[Any, Any], Any],
    *,
    companion: object = None,
    finish: Callable[[Any, Any], Any] = _same,
    ranks_only: tuple[int, ...] = (),
    group: Any = None,
    type_check: bool = True,
) -> Any:
    """The state with each tensor changed. ``finish`` is for tensors alone, on the processes of
    ``ranks_only`` (all, if it is empty)."""

    def walk(value: object, other: object) -> object:
        if isinstance(value, torch.Tensor):
            made = (of_dtensor if isinstance(value, DTensor) else of_tensor)(value, other)
        elif isinstance(value, dict):
            if other is not None and not (isinstance(other, dict) and other.keys() == value.keys()):
                raise CompanionMismatch(
                    f"{list(value)} and {list(other) if isinstance(other, dict) else type(other)}"
                )
            made = {
                key: walk(item, None if other is None else other[key])
                for key, item in value.items()
            }
        elif isinstance(value, (list, tuple)):
            if other is not None and not (
                isinstance(other, (list, tuple)) and len(other) == len(value)
            ):
                raise CompanionMismatch
            items = [
                walk(item, None if other is None else other[i]) for i, item in enumerate(value)
            ]
            made = tuple(items) if isinstance(value, tuple) else items
        elif value is None or isinstance(value, (int, float, str, bytes, io.BytesIO)):
            made = value
        elif type_check:
            raise ValueError(f"Unexpected value type {type(value)}")
        else:
            made = copy.deepcopy(value)
        if ranks_only and get_rank(group) not in ranks_only:
            return {} if isinstance(made, dict) else None
        return finish(made, other) if isinstance(made, torch.Tensor) else made

    return walk(value, companion)


def _to_host(value: Any, companion: object) -> object:
    del companion
    return value.to(torch.device("cpu"))


def _gather_state_dict(
    state_dict: Mapping[str, object],
    *,
    pg: object = None,
    device: torch.device | None = None,
    cpu_offload: bool = False,
    ranks_only: tuple[int, ...] = (),
    type_check: bool = True,
) -> dict[str, object]:
    """The state with whole tensors in place of distributed ones, which all processes of their
    meshes call.

    Args:
        state_dict: the state.
        pg: the group in which ``ranks_only`` counts.
        device: accepted: distributed tensors are gathered on the devices of their meshes.
        cpu_offload: whether tensors come to the host.
        ranks_only: the processes that get the state, others an empty one; all, if it is empty.
        type_check: raise for values that checkpoints do not hold, in place of copying them.

    Raises:
        ValueError: for such a value.
    """
    del device

    def whole(value: Any, companion: object) -> Any:
        del companion
        return value.redistribute(
            value.device_mesh, [Replicate()] * value.device_mesh.ndim
        ).to_local()

    finish = _to_host if cpu_offload else _same
    return _walked(
        state_dict,
        whole,
        _same,
        finish=finish,
        ranks_only=ranks_only,
        group=pg,
        type_check=type_check,
    )


def _offload_state_dict_to_cpu(
    state_dict: Mapping[str, object], *, ranks_only: tuple[int, ...] = (), type_check: bool = True
) -> dict[str, object]:
    """The state with its tensors on the host."""
    return _walked(
        state_dict, _same, _same, finish=_to_host, ranks_only=ranks_only, type_check=type_check
    )


def _written(value: object, companion: Any) -> Any:
    """``companion``, into which ``value`` was written; ``value`` where there is none."""
    if companion is None:
        return value
    if isinstance(companion, DTensor):
        if not isinstance(value, DTensor):
            raise AssertionError("ret must be a DTensor when companion_obj is a DTensor")
        companion.to_local().copy_(value.to_local())
    else:
        companion.copy_(value)
    return companion


@torch.no_grad()
def _copy_state_dict(
    state_dict: Mapping[str, object],
    copy_state_dict: Mapping[str, object],
    non_blocking: bool = False,
    type_check: bool = True,
) -> dict[str, object]:
    """Writes the tensors of a state into those of another of the same structure, and gives a dict
    of these.

    Raises:
        CompanionMismatch: for another structure.
    """
    del non_blocking  # nothing waits for copies before they are read
    return _walked(
        state_dict, _same, _same, companion=copy_state_dict, finish=_written, type_check=type_check
    )


@torch.no_grad()
def _create_cpu_state_dict(
    state_dict: Mapping[str, object], pin_memory: bool = False, share_memory: bool = False
) -> dict[str, object]:
    """A state of the same structure whose tensors are new ones on the host, to be written into.

    Args:
        state_dict: the state.
        pin_memory: ask for memory that accelerators read faster.
        share_memory: ask for memory that processes share.
    """

    def fresh(value: Any, companion: object) -> torch.Tensor:
        del companion
        made = torch.zeros(value.size(), dtype=value.dtype)
        if value.ndim == 0:
            return made
        if share_memory:
            return made.share_memory_()
        return made.pin_memory() if pin_memory and made.numel() else made

    def fresh_shard(value: Any, companion: object) -> object:
        if value.ndim == 0:
            return value
        local = fresh(value.to_local(), companion)
        return DTensor.from_local(
            local,
            value.device_mesh,
            value.placements,
            run_check=False,
            shape=value.size(),
            stride=value.stride(),
        )

    return _walked(state_dict, fresh_shard, fresh, type_check=False)


def _check_state_dict_similarity(
    state_dict: dict[str, object], compared_state_dict: dict[str, object]
) -> bool:
    """Whether two states have one structure, and their tensors the same sizes and dtypes."""

    def compare(value: Any, other: object) -> object:
        if (
            not isinstance(other, torch.Tensor)
            or other.dtype != value.dtype
            or other.size() != value.size()
        ):
            raise CompanionMismatch
        return value

    try:
        _walked(state_dict, compare, compare, companion=compared_state_dict, type_check=False)
    except CompanionMismatch:
        return False
    return True


class _TensorInfo(NamedTuple):
    """What is sent of a tensor before its elements."""

    size: torch.Size
    dtype: torch.dtype


def _set_from_whole(
    local_state_dict: dict[str, object], key: str, whole: torch.Tensor, device: object
) -> None:
    """Enters a whole tensor under a key, cut as the tensor that is there."""
    held = local_state_dict.get(key)
    if held is None:
        return
    whole = whole.detach().to(device)
    if not isinstance(held, DTensor):
        local_state_dict[key] = whole
        return
    sizes, offsets = compute_local_shape_and_global_offset(
        held.shape, held.device_mesh, held.placements
    )
    part = whole[tuple(slice(at, at + n) for at, n in zip(offsets, sizes, strict=True))]
    if held.is_meta:
        local_state_dict[key] = DTensor.from_local(
            part.clone(),
            held.device_mesh,
            held.placements,
            run_check=False,
            shape=held.shape,
            stride=held.stride(),
        )
    else:
        with torch.no_grad():
            held.to_local().copy_(part)


def _broadcast_state_dict(
    full_state_dict: Named,
    local_state_dict: Named,
    device: object,
    pg: object = None,
    strict: bool = False,
    cpu_offload: bool = False,
) -> None:
    """Gives every process's flat state the values that rank 0 has in another, each its part where
    tensors are distributed.

    Args:
        full_state_dict: what rank 0 has; not looked at elsewhere.
        local_state_dict: what is written into, by the same names.
        device: where whole tensors go.
        pg: the group, in which rank 0 takes part.
        strict: take out names that rank 0 does not have.
        cpu_offload: bring what was set to the host.
    """
    group, mine = world(pg), get_rank() == 0
    held: Values = [None]
    if mine:
        held = [
            {
                key: (_TensorInfo(value.size(), value.dtype) if value.ndim else value.cpu())
                if isinstance(value, torch.Tensor)
                else value
                for key, value in full_state_dict.items()
            }
        ]
    broadcast_object_list(held, src=0, group=group)
    sent: dict[str, object] = held[0]
    for key, value in sent.items():
        if not isinstance(value, _TensorInfo):
            if key in local_state_dict:
                local_state_dict[key] = value
            continue
        whole = (
            full_state_dict[key].detach().contiguous()
            if mine
            else torch.empty(value.size, dtype=value.dtype)
        )
        broadcast(whole, src=0, group=group)
        _set_from_whole(local_state_dict, key, whole, device)
        if cpu_offload and key in local_state_dict:
            local_state_dict[key] = local_state_dict[key].cpu()
    if strict:
        for key in local_state_dict.keys() - sent.keys():
            del local_state_dict[key]


def _distribute_state_dict(
    full_state_dict: dict[str, object],
    local_state_dict: dict[str, object],
    device: torch.device,
    pg: object = None,
) -> None:
    """Gives this process's flat state the values of one that all processes have whole, cut where
    tensors are distributed."""
    del pg
    for key, value in full_state_dict.items():
        if isinstance(value, torch.Tensor) and value.ndim:
            _set_from_whole(local_state_dict, key, value, device)
        else:
            local_state_dict[key] = value.cpu() if isinstance(value, torch.Tensor) else value


def _traverse_state_dict(
    state_dict: dict[str, object], visitor: Callable[[tuple[str | int, ...], Any], None]
) -> None:
    """Calls ``visitor`` with the path and the value of each leaf of nested dicts, lists and
    tuples."""

    def visit(path: tuple[str | int, ...], value: object) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                visit((*path, str(key)), item)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                visit((*path, i), item)
        else:
            visitor(path, value)

    for key, value in state_dict.items():
        visit((str(key),), value)


def _flatten_state_dict(state_dict: dict[str, object]) -> tuple[dict[str, object], FLATTEN_MAPPING]:
    """The leaves by the dotted names of their paths, and these paths; unlike in checkpoints the
    items of all lists are leaves.

    Raises:
        ValueError: if two leaves get one name.
    """
    flat = {}
    paths: FLATTEN_MAPPING = {}

    def enter(path: tuple[str | int, ...], value: object) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    _traverse_state_dict(state_dict, enter)
    return flat, paths
