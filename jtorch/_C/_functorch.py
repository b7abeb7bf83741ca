"""What programs ask about PyTorch's own function transforms, whose place JAX's take."""

from __future__ import annotations

from enum import Enum as _Enum
from typing import Any

from .._src.engine import Lifted
from .._src.refusals import stand_ins as _refusals
from ..core import Tensor as _Tensor
from ..func import stages
from ..func.levels import RUNNING, Batched


class TransformType(_Enum):
    """The kinds of transformations of functions."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


def is_batchedtensor(tensor: _Tensor) -> bool:
    """Whether a tensor is one example inside of a running ``vmap``."""
    return type(tensor._read()) is Batched


def is_legacy_batchedtensor(tensor: _Tensor) -> bool:
    """False: there is one ``vmap``."""
    del tensor
    return False


def is_functorch_wrapped_tensor(tensor: _Tensor) -> bool:
    """Whether a tensor is one example inside of a running ``vmap``."""
    return is_batchedtensor(tensor)


def is_gradtrackingtensor(tensor: _Tensor) -> bool:
    """False: ``torch.func.grad`` records on the tape."""
    del tensor
    return False


def _add_batch_dim(self: _Tensor, batch_dim: int, level: int) -> _Tensor:
    """One example of ``self``, whose examples lie along ``batch_dim``, inside of the running
    ``vmap`` of that number."""
    return stages._add_batch_dim(self, batch_dim, level)


def _remove_batch_dim(self: _Tensor, level: int, batch_size: int, out_dim: int) -> _Tensor:
    """All examples of ``self`` along ``out_dim``."""
    return stages._remove_batch_dim(self, level, batch_size, out_dim)


def maybe_current_level() -> int | None:
    """The number of the innermost running ``vmap``; None outside of one."""
    return len(RUNNING) or None


def maybe_get_level(tensor: _Tensor) -> int:
    """The number of the ``vmap`` that the tensor is an example of; -1 for others."""
    return tensor._read().depth if is_batchedtensor(tensor) else -1


def maybe_get_bdim(tensor: _Tensor) -> int:
    """0, along which all examples lie; -1 for a tensor that is no example."""
    return 0 if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: _Tensor) -> object:
    """All examples along the first dimension, for one example inside of a ``vmap``.

    Raises:
        RuntimeError: for any other tensor.
    """
    if not is_batchedtensor(tensor):
        raise RuntimeError("No wrappers present!")
    level: Any = tensor._read().level
    return _remove_batch_dim(tensor, level.depth, level.size, 0)


def reshape_dim_into(src: int, dst: int, tensor: _Tensor) -> _Tensor:
    """``tensor`` with dimension ``src`` merged into ``dst`` (counted without ``src``), as the
    slower of the two."""
    moved: Any = tensor
    ndim = moved.dim()
    src %= ndim
    dst %= ndim - 1
    moved = moved.movedim(src, dst)
    return moved.flatten(dst, dst + 1)


def reshape_dim_outof(src: int, size1: int, tensor: _Tensor) -> _Tensor:
    """``tensor`` with dimension ``src`` split into two, the first of ``size1``.

    Raises:
        RuntimeError: if the dimension is no multiple of ``size1``.
    """
    whole: Any = tensor
    src %= whole.dim()
    size = whole.shape[src]
    if not size1 or size % size1:
        raise RuntimeError(
            f"dimension {src} of size {size} cannot be split into {size1} parts of one size"
        )
    return whole.reshape(*whole.shape[:src], size1, size // size1, *whole.shape[src + 1 :])


#: Whether a ``vmap`` may run example by example where it has no better rule. There always is one:
#: the switch is kept and changes nothing.
_FALLBACK: list[bool] = [True]


def _is_vmap_fallback_enabled() -> bool:
    """What ``_set_vmap_fallback_enabled`` was given last; True before."""
    return _FALLBACK[0]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Changes nothing but what ``_is_vmap_fallback_enabled`` answers: no ``vmap`` runs example by
    example."""
    _FALLBACK[0] = bool(enabled)


def dlevel(tensor: _Tensor) -> int:
    """How many running transformations the tensor belongs to; -1 if its innermost one has ended.

    Differs from torch: ``torch.func.grad`` and ``vjp`` record on the tape, and do not count.
    """
    v: Any = tensor._read()
    if not isinstance(v, Lifted):
        return 0
    running = v.level in RUNNING if isinstance(v, Batched) else bool(v.level.alive)
    count = 0
    while running and isinstance(v, Lifted):
        count += 1
        v = v.physical if isinstance(v, Batched) else v.primal
    return count if running else -1


__getattr__ = _refusals.missing(__name__)
