"""Grouping of lists of tensors by device and dtype, for the functions that take lists."""

from __future__ import annotations

from typing import Any

from jtorch import Tensor

Indices = list[int]


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> dict[tuple[object, object], tuple[list[list[Tensor | None]], Indices]]:
    """``(device, dtype)`` of the tensors in the first list -> the rows of all lists that go with
    them, and their numbers.

    Raises:
        RuntimeError: for lists of different lengths, and None in the first one.
    """
    first = tensorlistlist[0]
    if any(column and len(column) != len(first) for column in tensorlistlist):
        raise RuntimeError(
            "Tensors of the same index must be on the same device and the same dtype: the lists "
            "have different lengths"
        )
    groups: dict[tuple[Any, Any], tuple[list[list[Tensor | None]], Indices]] = {}
    for i, t in enumerate(first):
        if t is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined but "
                f"the {i}-th Tensor is not."
            )
        columns, indices = groups.setdefault(
            (t.device, t.dtype), ([[] for _ in tensorlistlist], [])
        )
        for rows, column in zip(columns, tensorlistlist, strict=True):
            if column:
                rows.append(column[i])
        if with_indices:
            indices.append(i)
    return groups
