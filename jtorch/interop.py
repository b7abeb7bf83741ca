"""Borders with JAX, DLPack and Python: functions of ``torch`` that are no ops and that only modes may see."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import dtypes
from .core import Tensor, wrap
from .engine import check, flush

__all__ = [
    "are_deterministic_algorithms_enabled", "compiled_with_cxx11_abi", "from_dlpack", "from_jax", "get_num_interop_threads",
    "get_num_threads", "is_complex", "is_floating_point", "is_nonzero", "is_storage", "is_tensor", "numel", "result_type", "can_cast",
    "set_num_interop_threads", "set_num_threads", "synchronize", "to_dlpack", "use_deterministic_algorithms",
    "get_float32_matmul_precision", "set_float32_matmul_precision", "is_inference", "is_same_size", "typename", "set_flush_denormal",
]  # fmt: skip


def from_jax(x: Any) -> Tensor:
    """A tensor on a ``jax.Array``, without a copy; the array stays valid and unchanged.

    >>> import jax.numpy as jnp, jtorch
    >>> jtorch.from_jax(jnp.arange(3)).tolist()
    [0, 1, 2]
    """
    if not isinstance(x, jax.Array):
        raise TypeError(f"from_jax(): expected jax.Array, got {type(x).__name__}")
    return wrap(x)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of any object that speaks DLPack, without a copy where the platform allows."""
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.detach()  # type: ignore[attr-defined]
    made = wrap(jnp.from_dlpack(ext_tensor, copy=copy))
    return made if device is None else made.to(device)  # type: ignore[attr-defined]


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor as a DLPack capsule."""
    return tensor.__dlpack__()  # type: ignore[attr-defined]


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point type."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input._inference


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return tuple(input.shape) == tuple(other.shape)


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero."""
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'no values' if input.numel() == 0 else 'more than one value'} is ambiguous")
    return bool(input)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype that an arithmetic operation on the two would give."""
    operands = []
    for x in (tensor1, tensor2):
        if isinstance(x, Tensor):
            operands.append((x.dtype, dtypes.DIMENSIONED if x.dim() else dtypes.ZERO_DIM))
        else:
            operands.append((dtypes.of_number(x), dtypes.NUMBER))
    return dtypes.result_type_of(tuple(operands))


def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether torch allows the conversion as the result of an operation."""
    return dtypes.can_cast(from_, to)


def typename(obj: Any, /) -> str:
    """The name of an object's type, as torch spells it."""
    if isinstance(obj, Tensor):
        return obj.type()  # type: ignore[attr-defined]
    cls = obj if isinstance(obj, type) else type(obj)
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", None) else f"{module}.{cls.__qualname__}"


def synchronize() -> None:
    """Runs what is pending in this thread and waits for it."""
    flush()
    check()
    jax.effects_barrier()


_threads = {"intra": 0, "inter": 0}


def set_num_threads(value: int) -> None:
    """Accepted for compatibility: XLA chooses its threads when the process starts (``XLA_FLAGS``, ``OMP_NUM_THREADS``)."""
    if not isinstance(value, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(value).__name__}")
    if value <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads["intra"] = value


def get_num_threads() -> int:
    """The number last set, or that of the machine's cores."""
    import os

    return _threads["intra"] or os.cpu_count() or 1


def set_num_interop_threads(value: int) -> None:
    """Accepted for compatibility, see ``set_num_threads``."""
    if value <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _threads["inter"] = value


def get_num_interop_threads() -> int:
    """The number last set, or that of the machine's cores."""
    import os

    return _threads["inter"] or os.cpu_count() or 1


_deterministic = {"on": False, "warn": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembers the wish: XLA's CPU programs are deterministic anyway."""
    _deterministic["on"], _deterministic["warn"] = bool(mode), warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What was last asked for."""
    return _deterministic["on"]


_precisions = {"highest": "float32", "high": "tensorfloat32", "medium": "bfloat16"}


def set_float32_matmul_precision(precision: str) -> None:
    """``highest``, ``high`` or ``medium``: how exactly accelerators multiply float32 matrices."""
    if precision not in _precisions:
        raise RuntimeError(f"invalid float32 matmul precision: {precision}")
    _precisions["now"] = precision
    jax.config.update("jax_default_matmul_precision", None if precision == "highest" else _precisions[precision])


def get_float32_matmul_precision() -> str:
    """What was last set."""
    return _precisions.get("now", "highest")


def set_flush_denormal(mode: bool) -> bool:
    """Not supported by XLA: tells so by returning False, as torch does on processors without it."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True, as of all recent builds."""
    return True
