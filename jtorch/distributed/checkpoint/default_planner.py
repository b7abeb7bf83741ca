"""The planners that are used where a program gives none: every value under its name, replicas
written once, boxes read where they are."""

from __future__ import annotations

import dataclasses
import io
import itertools
import math
from collections import ChainMap
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ..tensor import DTensor
from ._nested_dict import FLATTEN_MAPPING, flatten_state_dict, set_element
from .metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from .planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .planner_helpers import (
    _create_read_items,
    _create_write_items,
    _overlap,
    narrow_tensor_by_index,
)
from .utils import find_state_dict_object

if TYPE_CHECKING:
    from ..._src.facts.kinds import Tree


__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan",
    "create_default_global_save_plan", "create_default_local_load_plan",
    "create_default_local_save_plan",
]  # fmt: skip


def _dedup_save_plans(all_plans: list[SavePlan], save_to_lowest_rank: bool) -> list[SavePlan]:
    """Leaves each piece to one of the plans that have it: the one with the fewest bytes so far, or
    the first."""
    holders: dict[MetadataIndex, list[int]] = {}
    weights: dict[MetadataIndex, int] = {}
    for number, plan in enumerate(all_plans):
        for item in plan.items:
            holders.setdefault(item.index, []).append(number)
            weights[item.index] = item.tensor_storage_size() or 1
    sizes = [0] * len(all_plans)
    chosen = {}
    for index, numbers in holders.items():
        best = (
            min(numbers)
            if save_to_lowest_rank
            else min(numbers, key=lambda number: (sizes[number], number))
        )
        sizes[best] += weights[index]
        chosen[index] = best
    return [
        dataclasses.replace(
            plan, items=[item for item in plan.items if chosen[item.index] == number]
        )
        for number, plan in enumerate(all_plans)
    ]


class DefaultSavePlanner(SavePlanner):
    """Writes every value under its name; nested states by the keys that lead to a value.

    Args:
        flatten_state_dict: name the values of nested states one by one.
        flatten_sharded_tensors: of no effect, as there are no nested sharded tensors.
        dedup_replicated_tensors: of no effect, as in PyTorch; replicas are always written once.
        dedup_save_to_lowest_rank: let the first process that has a replica write it, not the one
            with the least to write.
        enable_plan_caching: of no effect: plans are sent each time.
    """

    mappings: FLATTEN_MAPPING

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        del dedup_replicated_tensors
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self._enable_plan_caching = enable_plan_caching
        self.mappings = {}

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Flattens the state."""
        del storage_meta
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        """All that this process has."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Leaves each replica to one process.

        Raises:
            ValueError: if the boxes of a tensor overlap, are not within it or leave something out.
        """
        plans, metadata = create_default_global_save_plan(
            _dedup_save_plans(all_plans, self.dedup_save_to_lowest_rank)
        )
        if self.flatten_state_dict:
            metadata = dataclasses.replace(
                metadata, planner_data=dict(ChainMap(*[plan.planner_data for plan in plans]))
            )
        errors = _validate_global_plan(plans, metadata)
        if errors:
            summary = "; ".join(errors)
            raise ValueError(
                "Failed to validate global plan: "
                f"{summary if len(summary) <= 500 else f'{summary[:500]}... (truncated)'}"
            )
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Takes the coordinator's plan as it is."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        """The value, pickled if it is no tensor."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of a name; to be overridden."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written for a value; to be overridden."""
        if write_item.type is WriteItemType.BYTE_IO:
            buffer = io.BytesIO()
            torch.save(object, buffer)
            buffer.seek(0)
            object = buffer
        return object


def _init_state_dict(state_dict: dict[str, object]) -> None:
    """Gives tensors without data some, on the current device."""

    def made(value: object) -> Tree:
        if isinstance(value, dict):
            for key, inner in value.items():
                value[key] = made(inner)
        elif isinstance(value, list):
            value[:] = [made(inner) for inner in value]
        elif isinstance(value, torch.Tensor) and value.device.type == "meta":
            device = torch.get_default_device()
            if isinstance(value, DTensor):
                device = torch.device(value.device_mesh.device_type)
            return torch.empty_like(value, device="cpu" if device.type == "meta" else device)
        return value

    for key, value in state_dict.items():
        state_dict[key] = made(value)


class DefaultLoadPlanner(LoadPlanner):
    """Reads every value of the given state, in place where it is a tensor.

    Args:
        flatten_state_dict: the values of nested states have names of their own.
        flatten_sharded_tensors: of no effect, as there are no nested sharded tensors.
        allow_partial_load: leave values as they are that the checkpoint does not have.
    """

    original_state_dict: STATE_DICT_TYPE
    mappings: FLATTEN_MAPPING

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.original_state_dict = {}
        self.mappings = {}
        self.allow_partial_load = allow_partial_load

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Flattens the state; tensors on ``meta`` get data."""
        _init_state_dict(state_dict)
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """All that this process holds of the state.

        Raises:
            RuntimeError: if the checkpoint lacks something.
            ValueError: if a tensor was saved with another size.
        """
        assert self.metadata is not None
        saved = self.metadata.state_dict_metadata
        if self.flatten_state_dict and saved.keys() - self.state_dict.keys():
            older, paths = flatten_state_dict(self.original_state_dict, before_2_4=True)
            if older.keys() & (saved.keys() - self.state_dict.keys()):
                self.state_dict, self.mappings = older, paths
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load
        )

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Leaves the plans as they are."""
        return create_default_global_load_plan(global_plan)

    # as in PyTorch
    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Takes the coordinator's plan as it is."""
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Puts an object that is no tensor into the state."""
        loaded = torch.load(value, weights_only=False)
        name = read_item.dest_index.fqn
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        """The box of the state's tensor."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """Nothing is left to do."""

    def lookup_tensor(self, index: MetadataIndex) -> torch.Tensor:
        """The tensor of a name; to be overridden."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> torch.Tensor:
        """The part of a tensor that is written into; to be overridden."""
        return narrow_tensor_by_index(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Makes the state from what the checkpoint says of itself: all of it, or what lies under some
    keys."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: object) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _should_include_key(self, key: str, metadata: Metadata) -> bool:
        if self.keys is None or key in self.keys:
            return True
        path = (metadata.planner_data or {}).get(key, ())
        return any(
            start in self.keys
            for start in itertools.accumulate(map(str, path), lambda a, b: f"{a}.{b}")
        )

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Fills the state with tensors of the saved sizes."""
        assert not state_dict, "the state must be empty"
        assert metadata is not None
        for name, md in metadata.state_dict_metadata.items():
            if not self._should_include_key(name, metadata):
                continue
            value: Any = md
            if isinstance(md, TensorStorageMetadata):
                value = torch.empty(md.size, dtype=md.properties.dtype)
            path = (metadata.planner_data or {}).get(name, (name,))
            set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def _holds(value: torch.Tensor | float | str) -> bool:
    """Whether this process has a part of a value."""
    return not isinstance(value, DTensor) or value.device_mesh.get_coordinate() is not None


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """What a process reads for a flat state.

    Raises:
        RuntimeError: if the checkpoint lacks a name, unless not ``strict``.
        ValueError: if a tensor was saved with another size.
    """
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        if name not in metadata.state_dict_metadata:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        md = metadata.state_dict_metadata[name]
        if (
            isinstance(md, TensorStorageMetadata)
            and getattr(value, "size", None) is not None
            and md.size != value.size()
        ):
            raise ValueError(
                f"Size mismatch between saved {md.size} and current: {value.size()} for {name}"
            )
        if _holds(value):
            items += _create_read_items(name, md, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans, unchanged."""
    return all_plans


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """What a process has of a flat state. Plain tensors and objects are in the plan of all; one
    process then writes them."""
    del is_coordinator
    return SavePlan(
        [
            item
            for name, value in state_dict.items()
            if _holds(value)
            for item in _create_write_items(name, value)
        ]
    )


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans with hints where each box is in its tensor's list, and the description that they
    make."""
    found: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name = item.index.fqn
            if item.type is not WriteItemType.SHARD and name in found:
                raise AssertionError(f"{name} is written twice")
            if item.type is WriteItemType.BYTE_IO:
                found[name] = BytesStorageMetadata()
            else:
                data = item.tensor_data
                assert data is not None, f"a tensor without bounds: {name}"
                md = found.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
                if rewrite_index_hints:
                    item = dataclasses.replace(
                        item, index=dataclasses.replace(item.index, index=len(md.chunks))
                    )
                md.chunks.append(data.chunk)
            items.append(item)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(found)


def _overlapping(
    chunks: list[ChunkStorageMetadata],
) -> list[tuple[ChunkStorageMetadata, ChunkStorageMetadata]]:
    """Pairs of boxes that share elements, found along the dimension in which they begin at the most
    places."""
    dims = range(len(chunks[0].offsets))
    sweep = max(dims, key=lambda d: len({chunk.offsets[d] for chunk in chunks}))
    open_ones: list[ChunkStorageMetadata] = []
    found = []
    for chunk in sorted(chunks, key=lambda c: c.offsets[sweep]):
        open_ones = [
            other
            for other in open_ones
            if other.offsets[sweep] + other.sizes[sweep] > chunk.offsets[sweep]
        ]
        found += [(chunk, other) for other in open_ones if _overlap(chunk, other)]
        open_ones.append(chunk)
    return found


def _validate_global_plan(global_plan: list[SavePlan], metadata: Metadata) -> list[str]:
    """What is wrong with the boxes that tensors are written in."""
    errors = []
    for key, md in metadata.state_dict_metadata.items():
        if isinstance(md, BytesStorageMetadata) or not md.size:
            continue
        errors += [
            f"key:{key} has out of bounds chunk: tensor-size:{md.size} chunk: {chunk}"
            for chunk in md.chunks
            if any(
                o < 0 or n < 0 or o + n > size
                for o, n, size in zip(chunk.offsets, chunk.sizes, md.size, strict=True)
            )
        ]
        if len(md.chunks) > 1:
            errors += [
                f"key:{key} has overlapping chunks: {one} {other}"
                for one, other in _overlapping(md.chunks)
            ]
        volume, written = math.prod(md.size), sum(math.prod(chunk.sizes) for chunk in md.chunks)
        if len(global_plan) > 1 and volume != written:
            errors.append(
                f"key:{key} invalid fill tensor-volume: {volume} chunks-volume: {written}"
            )
    return errors
