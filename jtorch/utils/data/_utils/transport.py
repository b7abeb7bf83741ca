"""Pickles between the main process and its workers: tensors as raw arrays, and what cannot be found by name by value."""

from __future__ import annotations

import functools
import io
import pickle
import sys
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


class Unsendable(Exception):
    """Raised for what a process that is started afresh could not find by its name."""


@functools.cache
def _is_elsewhere(top: str) -> bool:
    """Whether another process finds a package or module too: whether any finder does, whatever has been loaded here."""
    for finder in sys.meta_path:
        try:
            if finder.find_spec(top, None) is not None:
                return True
        except (AttributeError, ImportError):
            continue
    return False


def _check_findable(obj: Any) -> None:
    """Refuses classes and functions of modules that a program has made or loaded in ways of its own."""
    module = obj.__module__
    if module == "__main__" or module is None or "<" in obj.__qualname__ or module not in sys.modules:
        return  # goes by value, or fails in words of its own
    if not _is_elsewhere(module.partition(".")[0]):
        raise Unsendable(f"{module}.{obj.__qualname__}")


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
        if isinstance(obj, (type, types.FunctionType)):
            _check_findable(obj)
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
