"""Making one batch of many samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch

if TYPE_CHECKING:
    from ...._src.facts.kinds import Tree, Values


np_str_obj_array_pattern = re.compile(r"[SaUO]")

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

FnMap = dict[Any, Callable[..., Any]]


def _mapped(like: Any, items: dict[str, object]) -> object:
    """A mapping of the type of ``like`` with new values, or a dict where the type cannot be made
    so."""
    try:
        if isinstance(like, MutableMapping):
            made = copy.copy(like)  # keeps attributes and defaults of subclasses
            made.update(items)
            return made
        return type(like)(items)
    except TypeError:
        return items


def _sequenced(like: Any, items: Values) -> object:
    try:
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(like)(items)
    except TypeError:
        return items


def default_convert(data: object) -> Any:
    """``data`` with NumPy arrays and scalars as tensors, and nothing stacked. Tuples become lists,
    named tuples stay."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if (
            isinstance(data, np.ndarray)
            and np_str_obj_array_pattern.search(data.dtype.str) is not None
        ):
            return data
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapped(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        items = [default_convert(d) for d in data]
        return kind(*items) if hasattr(data, "_fields") else items
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _sequenced(data, [default_convert(d) for d in data])
    return data


def collate(batch: Tree, *, collate_fn_map: FnMap | None = None) -> Any:
    """One batch of samples that are alike, by the function that ``collate_fn_map`` has for the
    first one's type.

    Mappings and sequences of samples become one mapping or sequence of batches.

    Raises:
        RuntimeError: for sequences of unequal length.
        TypeError: for types nothing is known of.
    """
    elem = batch[0]
    kind = type(elem)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, fn in collate_fn_map.items():
            if isinstance(elem, known):
                return fn(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        return _mapped(
            elem,
            {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in elem},
        )
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return kind(*(collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)))
    if isinstance(elem, Sequence):
        if any(len(other) != len(elem) for other in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)]
        return columns if isinstance(elem, tuple) else _sequenced(elem, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(
    batch: tuple[torch.Tensor, ...],
    *,
    collate_fn_map: FnMap | None = None,  # noqa: ARG001
) -> torch.Tensor:
    """Tensors stacked along a new first dimension."""
    elem = batch[0]
    what = (
        "nested"
        if getattr(elem, "is_nested", False)
        else "sparse"
        if elem.layout is not torch.strided
        else None
    )
    if what is not None:
        raise RuntimeError(
            f"Batches of {what} tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    return torch.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> object:
    """Arrays as tensors, stacked."""
    elem = batch[0]
    if np_str_obj_array_pattern.search(elem.dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(elem.dtype))
    if all(other.shape == elem.shape and other.dtype == elem.dtype for other in batch):
        return torch.as_tensor(np.stack(batch))  # one transfer instead of one for each sample
    return collate([torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: object, *, collate_fn_map: FnMap | None = None) -> torch.Tensor:  # noqa: ARG001
    """Scalars as one tensor of their dtype."""
    return torch.as_tensor(np.array(batch))


def collate_float_fn(batch: object, *, collate_fn_map: FnMap | None = None) -> torch.Tensor:  # noqa: ARG001
    """Numbers as one float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(
    batch: tuple[int, ...] | list[int],
    *,
    collate_fn_map: FnMap | None = None,  # noqa: ARG001
) -> torch.Tensor:
    """Numbers as one tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch: object, *, collate_fn_map: FnMap | None = None) -> object:  # noqa: ARG001
    """Strings as they are."""
    return batch


default_collate_fn_map: FnMap = {
    torch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """One batch of samples: tensors, arrays and numbers stacked, in the mappings and sequences they
    came in."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
