"""Traces that note the common equations themselves: what JAX asks for each takes most of the time
of tracing a small kernel. Floor 1.

For an equation JAX looks up meshes, shardings, memory spaces and the place in the source, and an
operator of ``jax.numpy`` promotes its operands before. Kernels are traced for arrays on one device,
mostly alike, so what an equation gives follows from shapes and dtypes. A rule here tells it where
operands and parameters are plainly right, and says nothing otherwise: then JAX's own way is taken,
with its errors. The equations are the same either way. Operators learn from JAX which equation they
are when they are first used.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax
from jax._src import core, literals, mesh, source_info_util
from jax._src.dtypes import canonicalize_value
from jax._src.interpreters.partial_eval import (
    DynamicJaxprTrace,
    DynamicJaxprTracer,
    TracingEqn,
    const_fold_rules,
)
from jax.extend import core as jex

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jax

    from ..facts.kinds import Named, Operand


#: Python integers that fit every dtype of integers.
_SMALL = 128
_BOOL = np.dtype(bool)
_FLOATS = frozenset("float16 bfloat16 float32 float64".split())
_REALS = _FLOATS | frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
_INTEGERS = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())

Rule = Callable[[Sequence[Any], dict[str, Any]], Any]
#: What gives the aval of an equation's result from those of its operands and its parameters; None
#: where JAX is to be asked. The aval of an operand itself may stand for a result that is this
#: operand.
RULES: dict[object, Rule] = {}
#: Primitives that JAX does not note where an operand is the result already.
_FORWARDED = {lax.convert_element_type_p, lax.broadcast_in_dim_p}


def rule(*primitives: object) -> Callable[[Rule], Rule]:
    """Makes a function the rule of primitives."""

    def add(f: Rule) -> Rule:
        RULES.update(dict.fromkeys(primitives, f))
        return f

    return add


@functools.lru_cache(4096)
def aval_of(shape: tuple[int, ...], dtype: np.dtype, weak: bool = False) -> jax.core.ShapedArray:
    """JAX's aval of an array; JAX keeps one of each, which takes ten times as long to find."""
    return core.ShapedArray(shape, dtype, weak)


@functools.cache
def _is_of(dtype: np.dtype, names: frozenset[str]) -> bool:
    return dtype.name in names


def _alike(
    avals: Sequence[jax.core.ShapedArray], names: frozenset[str]
) -> jax.core.ShapedArray | None:
    """The aval of operands that are all alike, but for numbers of the same dtype, if that is one of
    some."""
    found = avals[0]
    if not _is_of(found.dtype, names):
        return None
    for a in avals:
        if a is not found:
            if (
                a.dtype != found.dtype
                or a.weak_type
                or found.weak_type
                or (a.shape and found.shape)
            ):
                return None
            found = a if a.shape else found
    return found


@rule(
    lax.add_p,
    lax.sub_p,
    lax.mul_p,
    lax.div_p,
    lax.rem_p,
    lax.max_p,
    lax.min_p,
    lax.neg_p,
    lax.sign_p,
    lax.square_p,
)
def _real(avals: Sequence[jax.core.ShapedArray], params: dict[str, object]) -> object:
    return None if params.get("out_dtype") is not None else _alike(avals, _REALS)


@rule(
    lax.exp_p, lax.log_p, lax.log1p_p, lax.expm1_p, lax.sqrt_p, lax.rsqrt_p, lax.tanh_p,
    lax.logistic_p, lax.floor_p, lax.ceil_p, lax.sin_p, lax.cos_p, lax.pow_p, lax.atan2_p,
    lax.abs_p,
)  # fmt: skip
def _floating(
    avals: Sequence[jax.core.ShapedArray], params: dict[str, object]
) -> jax.core.ShapedArray | None:
    return None if params.get("accuracy") is not None else _alike(avals, _FLOATS)


@rule(lax.and_p, lax.or_p, lax.xor_p, lax.not_p)
def _bitwise(avals: Sequence[jax.core.ShapedArray], params: dict[str, object]) -> object:
    return None if params else _alike(avals, _INTEGERS)


@rule(lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p)
def _compared(avals: Sequence[jax.core.ShapedArray], params: dict[str, object]) -> object:
    found = None if params else _alike(avals, _REALS)
    return None if found is None or found.weak_type else aval_of(found.shape, _BOOL)


@rule(lax.is_finite_p)
def _finite(avals: Sequence[jax.core.ShapedArray], params: dict[str, object]) -> object:
    (a,) = avals
    return (
        None if params or a.weak_type or not _is_of(a.dtype, _FLOATS) else aval_of(a.shape, _BOOL)
    )


@rule(lax.select_n_p)
def _selected(avals: Sequence[jax.core.ShapedArray], params: dict[str, object]) -> object:
    which, case = avals[0], avals[1]
    right = (
        len(avals) == 3
        and avals[2] is case
        and which.dtype == _BOOL
        and which.shape in ((), case.shape)
    )
    return case if right and not params and not case.weak_type else None


@rule(lax.convert_element_type_p)
def _converted(avals: Sequence[jax.core.ShapedArray], params: Mapping[str, object]) -> Any:
    (a,), dtype = avals, params["new_dtype"]
    if (
        params["sharding"] is not None
        or not isinstance(dtype, np.dtype)
        or not isinstance(a.dtype, np.dtype)
        or a.dtype.kind == "c"
    ):
        return None
    return (
        a
        if dtype == a.dtype and params["weak_type"] == a.weak_type
        else aval_of(a.shape, dtype, params["weak_type"])
    )


@rule(lax.broadcast_in_dim_p)
def _broadcast(avals: Sequence[jax.core.ShapedArray], params: Named) -> object:
    a, shape, dims = avals[0], params["shape"], params["broadcast_dimensions"]
    if (
        len(avals) > 1
        or params["sharding"] is not None
        or not _are_sizes(shape)
        or len(dims) != len(a.shape)
    ):
        return None
    last = -1
    for d, n in zip(dims, a.shape, strict=True):
        if not (last < d < len(shape) and (n == 1 or n == shape[d])):
            return None
        last = d
    return a if a.shape == shape else aval_of(tuple(shape), a.dtype, a.weak_type)


@rule(lax.reshape_p)
def _reshaped(avals: Sequence[jax.core.ShapedArray], params: Named) -> Any:
    a, shape = avals[0], params["new_sizes"]
    if (
        len(avals) > 1
        or params["dimensions"] is not None
        or params["sharding"] is not None
        or not _are_sizes(shape)
    ):
        return None
    return (
        aval_of(tuple(shape), a.dtype, a.weak_type)
        if _are_sizes(a.shape) and math.prod(shape) == math.prod(a.shape)
        else None
    )


@rule(lax.slice_p)
def _sliced(avals: Sequence[jax.core.ShapedArray], params: Named) -> object:
    (a,), begin, end, steps = (
        avals,
        params["start_indices"],
        params["limit_indices"],
        params["strides"] or (1,) * len(avals[0].shape),
    )
    if not (
        _are_sizes(begin)
        and _are_sizes(end)
        and _are_sizes(steps)
        and len(begin) == len(end) == len(steps) == len(a.shape)
    ):
        return None
    if not all(i <= j <= n and s for i, j, s, n in zip(begin, end, steps, a.shape, strict=True)):
        return None
    return aval_of(
        tuple([-((i - j) // s) for i, j, s in zip(begin, end, steps, strict=True)]),
        a.dtype,
        a.weak_type,
    )


@rule(lax.squeeze_p)
def _squeezed(avals: Sequence[jax.core.ShapedArray], params: Named) -> object:
    (a,), dims = avals, params["dimensions"]
    if len(set(dims)) != len(dims) or not all(
        0 <= d < len(a.shape) and a.shape[d] == 1 for d in dims
    ):
        return None
    return aval_of(tuple([n for d, n in enumerate(a.shape) if d not in dims]), a.dtype, a.weak_type)


@rule(lax.transpose_p)
def _transposed(
    avals: Sequence[jax.core.ShapedArray], params: Named
) -> jax.core.ShapedArray | None:
    (a,), order = avals, params["permutation"]
    return (
        aval_of(tuple([a.shape[d] for d in order]), a.dtype, a.weak_type)
        if sorted(order) == list(range(len(a.shape)))
        else None
    )


@rule(lax.reduce_sum_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p)
def _reduced(avals: Sequence[jax.core.ShapedArray], params: Named) -> object:
    a, axes = avals[0], params["axes"]
    if (
        params.get("out_sharding") is not None
        or len(avals) > 1
        or not _is_of(a.dtype, _REALS)
        or a.weak_type
    ):
        return None
    if len(set(axes)) != len(axes) or not all(0 <= d < len(a.shape) for d in axes):
        return None
    return aval_of(tuple([n for d, n in enumerate(a.shape) if d not in axes]), a.dtype)


@rule(lax.concatenate_p)
def _joined(avals: Sequence[jax.core.ShapedArray], params: dict[str, int]) -> object:
    a, axis = avals[0], params["dimension"]
    if not 0 <= axis < len(a.shape):
        return None
    around = a.shape[:axis], a.shape[axis + 1 :]
    if any(
        b.dtype != a.dtype or b.weak_type or (b.shape[:axis], b.shape[axis + 1 :]) != around
        for b in avals
    ):
        return None
    sizes = [b.shape[axis] for b in avals]
    return aval_of((*around[0], sum(sizes), *around[1]), a.dtype) if _are_sizes(sizes) else None


def _are_sizes(shape: Sequence[object]) -> bool:
    return all(type(n) is int and n >= 0 for n in shape)


# ---- traces --------------------------------------------------------------------------------------


class Trace(DynamicJaxprTrace):
    """JAX's trace, which notes equations that have a rule by itself; not where a program has set a
    mesh, which results would lie on."""

    __slots__ = ("alone", "context", "info")

    def __init__(self, described: Any) -> None:
        super().__init__(described, parent_trace=core.trace_ctx.trace)
        self.alone = mesh.get_abstract_mesh().empty
        self.info, self.context = source_info_util.current(), core.current_jaxpr_eqn_context()

    def new_arg(self, aval: jax.core.ShapedArray, source_info: Any) -> Tracer:
        """An operand of what is traced."""
        var = self.frame.newvar(aval)
        self.frame.invars.append(var)
        return Tracer(self, aval, var, source_info)

    def var_to_tracer(
        self, var: Any, source_info: Any, parent: TracingEqn | None = None
    ) -> Operand:
        """A result of an equation."""
        if getattr(var.aval, "has_qdd", False):
            return super().var_to_tracer(var, source_info, parent)
        return Tracer(self, var.aval, var, source_info, parent)

    def _new_const(self, aval: jax.core.ShapedArray, c: Any, source_info: Any) -> Operand:
        found: Any = super()._new_const(aval, c, source_info)
        # of two classes Python asks the inner one first, which turns comparisons around
        found.__class__ = Tracer
        return found

    def process_primitive(
        self, primitive: Any, tracers: Sequence[object], params: dict[str, object], /
    ) -> Any:
        """Notes an equation; its result."""
        known = RULES.get(primitive) if self.alone else None
        if known is not None:
            ins = [
                x
                if isinstance(x, DynamicJaxprTracer) and x._trace is self
                else self.to_jaxpr_tracer(x, self.info)
                for x in tracers
            ]
            avals = [x.aval for x in ins]
            found = known(avals, params)
            if (
                found is not None
                and primitive is lax.convert_element_type_p
                and (constant := self.get_const(ins[0])) is not None
            ):
                # JAX converts numbers at once
                folded = const_fold_rules[primitive]([constant], params, [found])
                if folded is not None:
                    return self.new_const(folded[0], self.info, found)
            elif found is not None:
                return (
                    ins[0]
                    if found is avals[0] and primitive in _FORWARDED
                    else self.noted(primitive, ins, params, found)
                )
        return super().process_primitive(primitive, tracers, params)

    def noted(
        self,
        primitive: object,
        ins: Sequence[object],
        params: dict[str, object],
        aval: jax.core.ShapedArray,
    ) -> Tracer:
        """The result of an equation, which is noted."""
        var = jex.Var(aval)
        equation = TracingEqn(
            ins, [var], primitive, params, core.no_effects, self.info, self.context
        )
        self.frame.tracing_eqns.append(equation)
        return Tracer(self, aval, var, self.info, equation)

    def number(self, x: float, dtype: np.dtype) -> jax.Array:
        """A Python number as an operand of a dtype."""
        aval, made = (
            aval_of((), dtype),
            np.asarray(x, dtype) if type(x) is float else np.asarray(x).astype(dtype),
        )
        return Tracer(
            self, aval, jex.Literal(literals.TypedNdArray(made, aval=aval), aval), self.info
        )


class Tracer(DynamicJaxprTracer):
    """A value in a trace of this module."""

    __slots__ = ()


def _is_exact(x: float, dtype: np.dtype) -> bool:
    """Whether a Python number becomes one of the dtype beside arrays of it, as which it has a
    value."""
    if _is_of(dtype, _FLOATS):
        return True
    return type(x) is int and (0 if dtype.kind == "u" else -_SMALL) <= x < _SMALL


def _operator(
    name: str, names: frozenset[str], compares: bool = False
) -> Callable[[Any, Any], Any]:
    """An operator for operands that are alike, or one of which is a Python number."""
    plain = getattr(DynamicJaxprTracer, name)
    reflected = name.startswith("__r")
    learnt = []

    def operator(self: jax.Array, other: Any) -> jax.Array:
        trace, aval, kind = self._trace, self.aval, type(other)
        if (
            core.trace_ctx.trace is not trace
            or not trace.alone
            or aval.weak_type
            or not _is_of(aval.dtype, names)
        ):
            return plain(self, other)
        if kind is Tracer:
            if other.aval is not aval or other._trace is not trace:
                return plain(self, other)
        elif kind is float or kind is int:
            if not _is_exact(other, aval.dtype):
                return plain(self, other)
            if learnt:
                other = trace.number(other, aval.dtype)
        else:
            return plain(self, other)
        if not learnt:
            found = plain(self, other)
            equation = found.parent
            if (
                type(found) is Tracer
                and equation is not None
                and equation.in_tracers[1 if reflected else 0] is self
            ):
                learnt.append((equation.primitive, equation.params))
            return found
        primitive, params = learnt[0]
        out = aval_of(aval.shape, _BOOL) if compares else aval
        return trace.noted(primitive, [other, self] if reflected else [self, other], params, out)

    operator.__name__ = operator.__qualname__ = name
    return operator


for _name in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"):
    setattr(Tracer, _name, _operator(_name, _REALS))
for _name in ("__truediv__", "__rtruediv__"):
    setattr(Tracer, _name, _operator(_name, _FLOATS))
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Tracer, _name, _operator(_name, _REALS, compares=True))
_class = Tracer
_class.__hash__ = None


def trace(
    fn: Callable[..., Sequence[object]], ins: Sequence[jax.core.ShapedArray], described: Any
) -> tuple[Any, Sequence[Any]]:
    """The jaxpr of a function of arrays with certain avals, which gives a list, and its
    constants."""
    found = Trace(described)
    with source_info_util.reset_name_stack():
        operands = [found.new_arg(aval, found.info) for aval in ins]
        with core.set_current_trace(found):
            results = fn(*operands)
        outs = [found.to_jaxpr_tracer(canonicalize_value(x), found.info) for x in results]
        return found.frame.to_jaxpr(found, outs, described, found.info)
