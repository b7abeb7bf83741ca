"""What programs ask about PyTorch's own function transforms, whose place JAX's take."""

from __future__ import annotations

from typing import Any

from .. import _refusals
from ..core import Tensor


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor is one example inside of a running ``vmap``."""
    from ..func.levels import Batched

    return type(tensor._read()) is Batched


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: there is one ``vmap``."""
    del tensor
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is one example inside of a running ``vmap``."""
    return is_batchedtensor(tensor)


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """False: ``torch.func.grad`` records on the tape."""
    del tensor
    return False


def get_unwrapped(tensor: Tensor) -> Any:
    """Not offered for examples of a ``vmap``, which no other tensor lies in.

    Raises:
        RuntimeError: for any other tensor.
    """
    if is_batchedtensor(tensor):
        return _refusals.find(__name__, "_remove_batch_dim")(tensor)
    raise RuntimeError("No wrappers present!")


__getattr__ = _refusals.missing(__name__)
