"""Tensors that belong to modules: no value of a JAX transformation may be left behind in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from ..engine import SPECIAL, Value
from ..engine import outside_jax as outside_jax
from .own_attributes import TensorBase

if TYPE_CHECKING:
    from ...core import Tensor


STATE = (
    "the state of a module would change inside a JAX transformation, whose values do not outlive "
    "it. Have the new state returned: apply, params, buffers = jtorch.jax.functionalize(module); "
    "output, buffers = apply(params, buffers, *args)"
)


def check_state(t: Tensor, v: Value) -> None:
    """Raises if ``v``, which is to be written into ``t``, is a tracer of JAX and ``t`` part of a
    module that was made outside.

    Raises:
        RuntimeError: which says how the new state can be had.
    """
    owner = t if t._al is None or t._al.base is None else t._al.base
    if (
        type(v) is Value
        and isinstance(v.array, jax.core.Tracer)
        and owner._state
        and owner._read().trace is not SPECIAL
    ):
        raise RuntimeError(STATE)


def check_buffer(owner: Tensor) -> None:
    """Raises if a part of a module that was made outside is about to be written to while JAX
    traces, though with a value that is none of JAX's: what happens in tracing happens once, however
    often the compiled function is called.

    Raises:
        RuntimeError: which says how the new state can be had.
    """
    if not outside_jax() and owner._read().trace is not SPECIAL:
        raise RuntimeError(STATE)


def owned(before: Tensor | None, tensor: object) -> Any:
    """``tensor``, from now on part of a module in the place of ``before``. A module made inside a
    transformation ends with it.

    Raises:
        RuntimeError: as ``check_state``.
    """
    if isinstance(tensor, TensorBase):
        v = tensor._v
        if v is not None and v.trace is SPECIAL and isinstance(before, TensorBase):
            check_state(before, v)
        outside = outside_jax()
        if (
            not outside
            and tensor is not before
            and isinstance(before, TensorBase)
            and before._state
        ):
            check_buffer(before)
        tensor._state = outside or (isinstance(before, TensorBase) and before._state)
    return tensor
