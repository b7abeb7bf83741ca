"""Functions and operators that raise unless a tensor is what it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import Tensor
from ..facts.devices import as_device
from ..facts.dtypes import meant
from ..facts.errors import CPP_NAMES
from ..protocol.recorded import recorder
from .factories import layout_name

if TYPE_CHECKING:
    from ..facts import dtypes


__all__ = ["_assert_async", "_assert_tensor_metadata"]


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raises unless the one element of ``input`` is not zero; the value is read at once, where
    there is one.

    Raises:
        RuntimeError: if it is zero, or there is not one element.
    """
    found = recorder()
    if found is not None and found.asserted(input, assert_msg):
        return
    if input.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            f"{'no values' if input.numel() == 0 else 'more than one value'} is ambiguous"
        )
    if not input.is_meta and not input.bool().item():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _assert_tensor_metadata(
    a: Tensor,
    size: list[int] | None = None,
    stride: list[int] | None = None,
    dtype: dtypes.dtype | None = None,
    *,
    device: object = None,
    layout: object = None,
) -> None:
    """Raises unless the tensor has the sizes, strides, dtype, device and layout that are given.

    Raises:
        RuntimeError: if one differs.
    """

    def same(what: str, asked: object, its: object, shown: tuple[str, ...] | None) -> None:
        if asked != its:
            expected, got = shown or (asked, its)
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {expected}, Got: {got}")

    if size is not None:
        same("sizes", list(size), list(a.shape), None)
    if stride is not None:
        same("strides", list(stride), list(a.stride()), None)
    if dtype is not None:
        dtype = meant(dtype)
        same(
            "dtype",
            dtype,
            a.dtype,
            (dtype.scalar_name, CPP_NAMES.get(a.dtype.scalar_name, a.dtype.scalar_name)),
        )
    if device is not None:
        place = as_device(device)
        if place.type != a.device.type or None not in (place.index, a.device.index):
            same("device", place, a.device, None)
    if layout is not None:
        same("layout", layout, a.layout, (layout_name(layout), layout_name(a.layout)))
