"""Functions of NumPy arrays as functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch as torch

__all__ = ["wrap_numpy"]


def wrap_numpy(fn: Callable[..., object]) -> Any:
    """A function of NumPy arrays as one of tensors, which gives tensors. NumPy runs, so it is not
    part of programs and has no gradients.

    Raises:
        RuntimeError: in calls with tensors that require grad.

    Example:
        >>> import jtorch as torch, numpy as np
        >>> torch.compiler.wrap_numpy(lambda a: np.sin(a) * 2)(torch.zeros(2))
        tensor([0., 0.])
    """

    @functools.wraps(fn)
    def wrapped(*args: object, **kwargs: object) -> Any:
        pytree = torch.utils._pytree
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.Tensor.numpy, (args, kwargs))
        return pytree.tree_map_only(np.ndarray, torch.as_tensor, fn(*args, **kwargs))

    return wrapped
