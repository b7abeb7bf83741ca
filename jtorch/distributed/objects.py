"""Collectives on Python's objects, which travel as pickles."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from ..core import Tensor
from ._arrays import made, taken
from ._operands import outside, root_of
from .group import world
from .works import start


def _pickled(obj: object) -> np.ndarray:
    buffer = io.BytesIO()
    pickle.Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _unpickled(data: np.ndarray) -> object:
    return pickle.loads(data.tobytes())


def _gathered(name: str, pg: object, data: np.ndarray) -> list[np.ndarray]:
    found: list[Any] = []
    start(name, pg, lambda lane: lane.gather(name, data, strict=False), found.extend, None, False)
    return found


def all_gather_object(object_list: list[Any], obj: object, group: object = None) -> None:
    """Puts each process's object into ``object_list``, which has a place for each."""
    if outside(group):
        return
    pg = world(group)
    for i, row in enumerate(_gathered("all_gather_object", pg, _pickled(obj))):
        object_list[i] = _unpickled(row)


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: object = None,
    group_dst: int | None = None,
) -> None:
    """Puts each process's object into a list of one of them.

    Raises:
        ValueError: if the list is not given there, or is given elsewhere.
    """
    if outside(group):
        return
    pg = world(group)
    root = root_of(pg, dst, group_dst, "gather_object")
    if pg.rank() == root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if pg.rank() != root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    rows = _gathered(f"gather_object to {root}", pg, _pickled(obj))
    if pg.rank() == root:
        assert object_gather_list is not None
        for i, row in enumerate(rows):
            object_gather_list[i] = _unpickled(row)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: object = None,
    device: object = None,
    group_src: int | None = None,
) -> None:
    """Replaces the objects of a list, of the same length everywhere, by those of one process."""
    del device
    if outside(group):
        return
    pg = world(group)
    root = root_of(pg, src, group_src, "broadcast_object_list")
    mine = [_pickled(obj) for obj in object_list] if pg.rank() == root else []
    head = np.array([len(object_list), *(p.size for p in mine)], np.int64)
    data = (
        np.concatenate([head.view(np.uint8), *mine]) if pg.rank() == root else np.empty(0, np.uint8)
    )
    row = _gathered(f"broadcast_object_list from {root}", pg, data)[root].copy()
    if pg.rank() == root:
        return
    count = int(row[:8].view(np.int64)[0])
    if count != len(object_list):
        raise RuntimeError(
            f"broadcast_object_list: rank {pg.ranks[root]} sends {count} objects for a list of "
            f"{len(object_list)}"
        )
    sizes, at = row[8 : 8 + 8 * count].view(np.int64), 8 + 8 * count
    for i, n in enumerate(sizes.tolist()):
        object_list[i] = _unpickled(row[at : at + n])
        at += n


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: object = None,
    group_src: int | None = None,
) -> None:
    """Gives each process one object of one process's list, as the first item of
    ``scatter_object_output_list``.

    Raises:
        ValueError: if there is no place for it, or the list has not one object for each process.
    """
    if outside(group):
        return
    pg = world(group)
    root = root_of(pg, src, group_src, "scatter_object_list")
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if pg.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        if len(scatter_object_input_list) != pg.size():
            raise ValueError(
                f"scatter_object_list needs an object for each of the {pg.size()} processes"
            )
        parts = [_pickled(obj) for obj in scatter_object_input_list]
    else:
        parts = [np.empty(0, np.uint8)] * pg.size()
    name = f"scatter_object_list from {root}"
    found: list[Any] = []
    start(
        name, pg, lambda lane: lane.exchange(name, parts, strict=False), found.extend, None, False
    )
    scatter_object_output_list[0] = _unpickled(found[root])


def _object_to_tensor(
    obj: object, device: Any = None, group: object = None
) -> tuple[Tensor, Tensor]:
    """The pickle of an object as bytes in a tensor, and how many they are."""
    from .. import tensor

    del group
    data = made(_pickled(obj)).to(device or "cpu")
    return data, tensor([data.numel()], device=device or "cpu")


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: object = None) -> object:
    """The object whose pickle a tensor holds."""
    del group
    return _unpickled(taken(tensor)[: int(tensor_size)])
