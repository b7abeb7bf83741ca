"""The flags of a kernel's checks: one equation for all of them, as nearly always there is nothing
to tell."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine.host.direct import count_nonzero
from ..engine.host.rules import BYTE, CALL, Compute, Equation, nbytes, rule
from ._declare import Array, Guard
from ._hosted import FORMULAS
from ._sizes import counted, fewer

_flags_p = Primitive("jtorch.flags")


def flags_of(guards: list[Guard]) -> Array:
    """``int64[n, 2]``: of each check whether it failed, and the value at the first place where it
    did."""
    bads = [jnp.asarray(g.bad, bool) for g in guards]
    valued = tuple(
        [
            g.value is not None and bool(jnp.size(g.value)) and bool(b.size)
            for g, b in zip(guards, bads, strict=True)
        ]
    )
    return _flags_p.bind(
        *bads,
        *[jnp.asarray(g.value) for g, has in zip(guards, valued, strict=True) if has],
        valued=valued,
    )


def _formula(*operands: Array, valued: tuple[bool, ...]) -> Array:
    values = iter(operands[len(valued) :])
    return jnp.stack(
        [
            _flag(bad, next(values) if has else None)
            for bad, has in zip(operands, valued, strict=False)
        ]
    )


def _flag(bad: Array, value: Array | None) -> Array:
    bad = jnp.ravel(bad)
    n = bad.size
    if value is None:
        return jnp.stack([jnp.any(bad).astype(np.int64), jnp.zeros((), np.int64)])
    values = jnp.ravel(value).astype(np.int64)
    if n == 1:
        return jnp.stack([bad[0].astype(np.int64), values[0]])
    first = _first(bad, n)
    found = values[jnp.minimum(first, n - 1)] if values.size > 1 else values[0]
    return jnp.stack([(first < n).astype(np.int64), found])


def _first(bad: Array, n: int) -> Array:
    """The first place where ``bad`` holds, else ``n``: one pass that vectorises, as "any" and
    "argmax" do not.

    Large arrays are taken in columns, whose rows are counted in 16 bits: half the time.
    """
    dtype = np.int32 if fewer(n, 2**31) else np.int64
    width = next(
        (
            w
            for w in (256, 1024)
            if fewer(n, 2**31)
            and fewer(n % w, 1)
            and not fewer(n // w, 16)
            and fewer(n // w, 2**15)
        ),
        0,
    )
    if not width:
        return jnp.min(
            jnp.where(bad, lax.broadcasted_iota(dtype, (n,), 0), counted(n, np.dtype(dtype)))
        )
    count = n // width
    rows = lax.broadcasted_iota(np.int16, (count, width), 0)
    row = jnp.min(jnp.where(bad.reshape(count, width), rows, np.int16(count)), axis=0).astype(dtype)
    return jnp.min(jnp.where(row < count, row * dtype(width) + lax.iota(dtype, width), dtype(n)))


def _batched(
    operands: Iterable[object], dims: tuple[int, ...], **params: Any
) -> tuple[Array | int, ...]:
    return jax.vmap(lambda *xs: _formula(*xs, **params), in_axes=tuple(dims))(*operands), 0


def _jvp(primals: Iterable[object], tangents: object, **params: object) -> object:
    del tangents
    found = _flags_p.bind(*primals, **params)
    return found, ad.Zero(jax.core.ShapedArray(found.shape, jax.dtypes.float0))


FORMULAS[_flags_p.name] = _formula
_flags_p.def_impl(_formula)
_flags_p.def_abstract_eval(
    lambda *_, valued: jax.core.ShapedArray((len(valued), 2), np.dtype(np.int64))
)
mlir.register_lowering(_flags_p, mlir.lower_fun(_formula, multiple_results=False))
batching.primitive_batchers[_flags_p] = _batched
ad.primitive_jvps[_flags_p] = _jvp


def _cost(e: Equation) -> float:
    return CALL + BYTE * nbytes(e.ins[: len(e.params["valued"])])


@rule("jtorch.flags", cost=_cost, quiet=True)
def _by_numpy(e: Equation) -> Compute:
    valued = e.params["valued"]
    n = len(valued)
    # Where the value of each check stands among the operands.
    places = [
        n - 1 + k if has else -1
        for has, k in zip(valued, itertools.accumulate(valued), strict=True)
    ]
    nothing = np.zeros((n, 2), np.int64)
    nothing.flags.writeable = False

    def told(operands: tuple[object, ...]) -> np.ndarray:
        found = np.zeros((n, 2), np.int64)
        for k, at in enumerate(places):
            bad = np.asarray(operands[k]).reshape(-1)
            if count_nonzero(bad):
                values = np.asarray(operands[at]).reshape(-1) if at >= 0 else nothing[0, :1]
                found[k] = 1, values[bad.argmax() if values.size > 1 else 0]
        return found

    def compute(*operands: object) -> np.ndarray:
        for bad in operands[:n]:
            if count_nonzero(bad):
                return told(operands)
        return nothing

    return compute
