"""Tensors as the bytes that travel, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._src.tensor.methods import is_of_plain_memory
from .._src.tensor.running import host_array, inplace, of_host_array
from .._src.tensor.writing import check_inplace
from ..autograd.grad_mode import no_grad
from ..core import Tensor


def taken(t: Tensor) -> np.ndarray:
    """The elements of a tensor in row-major order; reads it, so that what is pending runs. Not to
    be written into."""
    if t.is_sparse:
        raise NotImplementedError(
            "collectives of sparse tensors are not offered by jtorch: use .to_dense()"
        )
    array = host_array(t)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """An array's memory."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def written(target: Tensor, array: np.ndarray) -> None:
    """Writes an array of the target's dtype and number of elements into it, whatever its strides;
    the array is nobody else's."""
    with no_grad():
        found = made(array.reshape(tuple(target.shape)), target)
        # the array becomes its memory: there is nothing to copy
        if found._aval is target._aval and is_of_plain_memory(target):
            check_inplace(target)
            inplace(target, found)
        else:
            target.copy_(found)


def made(array: np.ndarray, like: Tensor | None = None) -> Tensor:
    """A tensor with an array's elements, on the device of another."""
    return of_host_array(array, None if like is None else like.device)


def numpy_dtype(t: Tensor) -> Any:
    """NumPy's dtype of a tensor's elements."""
    return t._aval.dtype
