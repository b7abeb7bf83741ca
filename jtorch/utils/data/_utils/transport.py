"""Pickles between the main process and its workers: tensors as raw arrays, and what cannot be found by name by value."""

from __future__ import annotations

import functools
import io
import pickle
from typing import Any

import cloudpickle

import jtorch as torch


def _rebuild(array: Any, requires_grad: bool, dtype: Any) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    if dtype is not None:
        tensor = tensor.view(dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def _named(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), torch)


class _Pickler(cloudpickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Plain tensors as arrays: views do not carry their whole storage along, and nothing is shared between processes."""
        if isinstance(obj, type) and obj.__module__ == "torch" and getattr(torch, obj.__qualname__, None) is obj:
            return _named, (obj.__qualname__,)  # found by name only where `torch` stands for jtorch
        if type(obj) is torch.Tensor:
            data = obj.detach().cpu()
            bits = torch.uint8 if data.element_size() == 1 else torch.uint16
            no_numpy = data.is_floating_point() and data.element_size() < 4 and data.dtype is not torch.float16
            array = (data.contiguous().view(bits) if no_numpy else data).numpy()
            return _rebuild, (array, obj.requires_grad, data.dtype if no_numpy else None)
        return super().reducer_override(obj)


def dumps(obj: Any) -> bytes:
    """The pickle of ``obj``."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    return buffer.getvalue()


loads = pickle.loads
