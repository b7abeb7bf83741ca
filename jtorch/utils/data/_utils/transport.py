"""Pickles between the main process and its workers: tensors as raw arrays, and what cannot be found by name by value."""

from __future__ import annotations

import functools
import io
import pickle
import types
from typing import Any

import jtorch as torch

_Base: Any
try:
    from cloudpickle import Pickler as _Base
except ImportError:  # the extra 'workers': without it, what workers get has to be importable by name
    from pickle import Pickler as _Base


def _rebuild(array: Any, requires_grad: bool, dtype: Any) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    if dtype is not None:
        tensor = tensor.view(dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def _named(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), torch)


#: Whether lambdas and classes of the main program can be sent.
_BY_VALUE = _Base is not pickle.Pickler


class _Pickler(_Base):
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
        if _BY_VALUE:
            return super().reducer_override(obj)
        if isinstance(obj, (type, types.FunctionType)) and (obj.__module__ == "__main__" or "<" in obj.__qualname__):
            raise RuntimeError(
                f"DataLoader workers cannot find {obj.__qualname__} of {obj.__module__} by name. Install cloudpickle (the extra "
                "'workers' of "
                "jtorch-jax) to send lambdas and what the main program defines, or move it into a module."
            )
        return NotImplemented


def dumps(obj: Any) -> bytes:
    """The pickle of ``obj``."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    return buffer.getvalue()


loads = pickle.loads
