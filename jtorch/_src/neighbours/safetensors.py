"""What ``safetensors.torch`` does by addresses of memory, done with arrays: applied to it when it
is imported under PyTorch's name."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from ...core import Tensor


def _to_ndarray(tensor: Tensor) -> tuple[np.ndarray, object]:
    """The bytes of a tensor's elements, in their order, and what must stay alive as long."""
    array = np.ascontiguousarray(np.asarray(tensor.detach().jax()))
    return array.reshape(-1).view(np.uint8), array


def adapt(module: ModuleType) -> None:
    """Replaces, in ``safetensors.torch``, the function that makes arrays of tensors."""
    if hasattr(module, "_to_ndarray"):
        module._to_ndarray = _to_ndarray
    if hasattr(module, "_tobytes"):  # of older versions
        module._tobytes = lambda tensor, name: _to_ndarray(tensor)[0].tobytes()  # noqa: ARG005
