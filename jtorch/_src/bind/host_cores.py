"""The bodies of cores whose ops are computed from values, by NumPy at once: what they read, run and
give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...autograd.grad_mode import MODE
from ...autograd.names import camel
from ...core import Tensor, from_host, from_value
from .. import hooks
from ..engine import SPECIAL, Lifted, Value, limits, note_read, numbers_of, put
from ..engine.values import on_host
from ..facts import devices
from ..facts.errors import must_be_tensor
from ..ops._declare import (
    DTYPE,
    NUMBER,
    OPTIONAL_TENSOR,
    STATIC,
    TENSOR,
    TENSOR_LIST,
    TENSOR_OR_NUMBER,
    TENSOR_OR_STATIC,
    Op,
    Param,
)
from ..tensor import result_strides
from .arguments import number, static
from .bound import Bound

if TYPE_CHECKING:
    from ..facts.kinds import Operand


def host_code(op: Op, names: dict[str, object], words: str) -> list[str]:
    """Source lines that run a value-dependent op on the host; ``words``: the arguments that tell
    what is said of an ``out``."""
    lines: list[str] = []
    given: list[str] = []
    names |= {
        "_op": op, "_body": op.body, "_translated": limits.translated, "_note_read": read_at_hand,
        "_ndarray": np.ndarray, "_host_array": _host_array, "_host_value": _host_value,
        "_given_back": _given_back,
    }  # fmt: skip
    for i, p in enumerate(op.params):
        n = p.name
        names[f"_p_{n}"] = p
        given.append(f"{n}=a_{n}" if p.keyword_only else f"a_{n}")
        if p.kind == TENSOR:
            lines += [
                f"v_{n} = {n}._v if type({n}) is _Tensor else None",
                f"a_{n} = v_{n}.array if v_{n} is not None and v_{n}.trace is None else None",
                f"if type(a_{n}) is _ndarray and a_{n}.flags.c_contiguous: _note_read(v_{n})",
                f"else: a_{n} = _host_array(_op, _p_{n}, {i + 1}, {n})",
            ]
        elif p.kind in (STATIC, DTYPE) and not p.required:
            names[f"_e_{n}"] = static(op, p, i + 1, p.default)
            names[f"_d_{n}"] = p.default
            lines.append(
                f"a_{n} = _e_{n} if {n} is _d_{n} else _host_value(_op, _p_{n}, {i + 1}, {n})"
            )
        else:
            lines.append(f"a_{n} = _host_value(_op, _p_{n}, {i + 1}, {n})")
    operands = "".join([f"{p.name}, " for p in op.params if p.kind not in (STATIC, DTYPE, NUMBER)])
    lines += [
        "try:",
        f"    _r = _body({', '.join(given)})",
        "except (MemoryError, ValueError) as _error:",
        "    raise _translated(_error) or _error from None",
        f"_r = _given_back(_bound, _r, ({operands}))",
    ]
    if op.strides is not None:
        lines += result_strides.code(op.strides, names, "()")
    if op.out:
        lines += ["if out is not None:", f"    return _write_out(_r, out, {op.name!r}{words})"]
    return [*lines, "return _r"]


def read_at_hand(v: Value) -> None:
    """Notes that a value-dependent op reads a value that is at hand."""
    del v  # which whoever watches the program sees
    note_read()


def _host_array(op: Op, p: Param, position: int, x: object) -> np.ndarray:
    """A tensor's elements in row-major order, for what computes by values."""
    if not isinstance(x, Tensor):
        raise must_be_tensor(op.name, p.name, position, x)
    v = x._read()
    if v.trace is SPECIAL and isinstance(v, Lifted):
        v = v.plain(
            "a boolean mask" if op.name == "index_by_mask" else f"aten::{op.aten.partition('.')[0]}"
        )
    if v.trace is SPECIAL and v.array is not None:
        raise RuntimeError(
            f"{op.name}() has a result whose shape depends on values, which a JAX transformation "
            "does not know while tracing; use an operation of static shape instead, such as "
            "where() or masking"
        )
    return numbers_of(v)


def _host_value(op: Op, p: Param, position: int, value: Operand) -> object:
    """An argument as a value-dependent op gets it."""
    if p.kind in (TENSOR, OPTIONAL_TENSOR, TENSOR_OR_NUMBER, TENSOR_OR_STATIC):
        if p.kind != TENSOR and (
            value is None
            or (not isinstance(value, Tensor) and isinstance(value, (bool, int, float, complex)))
        ):
            return value
        return _host_array(op, p, position, value)
    if p.kind == TENSOR_LIST:
        return (
            None
            if value is None
            else [None if x is None else _host_array(op, p, position, x) for x in value]
        )
    if p.kind == NUMBER:
        return None if value is None else number(op.name, p.name, value)
    return static(op, p, position, value)


def _given_back(
    bound: Bound, out: tuple[np.ndarray, ...] | np.ndarray, operands: tuple[Tensor, ...]
) -> tuple[Tensor, ...] | Tensor:
    """What a value-dependent op gave as tensors, where the first operand is."""
    op = bound.op
    tensors = [
        t
        for x in operands
        for t in (x if isinstance(x, (list, tuple)) else (x,))
        if isinstance(t, Tensor)
    ]
    place = tensors[0]._aval.device if tensors else None
    several = isinstance(out, (tuple, list))
    made = tuple([_on(x, place) for x in (out if several else (out,))])
    if op.refusal is not None and MODE.enabled and any(t._rg for t in tensors):
        name = (
            "NotImplemented"
            if type(op.refusal) is RuntimeError
            else f"{camel(op.aten or op.name)}Backward0"
        )
        hooks.refuse_gradients(tensors, made, name, op.refusal)
    if not several:
        return made[0]
    return bound.returns(made) if bound.returns is not None else made


def _on(x: np.ndarray, place: object) -> Tensor:
    if not isinstance(x, (np.ndarray, np.generic)):
        return x
    if place is not None and on_host(place):
        return from_value(put(np.array(x), place))
    return from_host(x, None if place is None else devices.of_placement(place))
