"""Decompositions that are read from kernels: what an operator computes, as JAX traces it, written
with operators of the core set.

So an operator has one formula, its kernel's. Where that needs something that has no operator of the
core set (loops, sorting, gathers of windows), the operator stays: the function gives
``NotImplemented``, as PyTorch's decompositions do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

import jtorch as torch
from jtorch._src.aten.kernels import formula_of, kernel_of
from jtorch._src.tensor.shape_env import visible
from jtorch._src.tensor.symbols import exact
from jtorch._subclasses.fake_tensor import unset_fake_temporarily
from jtorch.core import wrap
from jtorch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload
    from .._src.facts.kinds import Named, Operand, Tree, Values


aten = torch.ops.aten
#: Primitives of JAX's whose operands are all arrays, and the operators that they are.
_DIRECT = {
    "neg": aten.neg.default, "sign": aten.sign.default, "floor": aten.floor.default,
    "ceil": aten.ceil.default, "abs": aten.abs.default, "exp": aten.exp.default,
    "expm1": aten.expm1.default, "log": aten.log.default, "log1p": aten.log1p.default,
    "tanh": aten.tanh.default, "sin": aten.sin.default, "cos": aten.cos.default,
    "tan": aten.tan.default, "asin": aten.asin.default, "acos": aten.acos.default,
    "atan": aten.atan.default, "sinh": aten.sinh.default, "cosh": aten.cosh.default,
    "asinh": aten.asinh.default, "acosh": aten.acosh.default, "atanh": aten.atanh.default,
    "atan2": aten.atan2.default, "logistic": aten.sigmoid.default, "erf": aten.erf.default,
    "sqrt": aten.sqrt.default, "rsqrt": aten.rsqrt.default, "add": aten.add.Tensor,
    "add_any": aten.add.Tensor, "sub": aten.sub.Tensor, "mul": aten.mul.Tensor,
    "max": aten.maximum.default, "min": aten.minimum.default, "pow": aten.pow.Tensor_Tensor,
    "eq": aten.eq.Tensor, "ne": aten.ne.Tensor, "lt": aten.lt.Tensor, "le": aten.le.Tensor,
    "gt": aten.gt.Tensor, "ge": aten.ge.Tensor, "copy": aten.clone.default,
    "copy_p": aten.clone.default,
}  # fmt: skip
_REDUCED = {"reduce_max": aten.amax.default, "reduce_min": aten.amin.default}
_LOGIC = {
    "and": (aten.logical_and.default, aten.bitwise_and.Tensor),
    "or": (aten.logical_or.default, aten.bitwise_or.Tensor),
    "not": (aten.logical_not.default, aten.bitwise_not.default),
    "xor": (aten.logical_xor.default, aten.bitwise_xor.Tensor),
}  # fmt: skip
#: Primitives around a program of their own.
_CALLS = frozenset(
    (
        "pjit",
        "jit",
        "closed_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "remat",
        "checkpoint",
    )
)
_SAME = frozenset(("stop_gradient", "optimization_barrier", "copy", "sharding_constraint"))


class Inexpressible(Exception):
    """A primitive that no operator of the core set computes."""


def by_kernel(func: OpOverload) -> Callable[..., torch.Tensor]:
    """The decomposition of an operator."""

    def decomposed(*args: object, **kwargs: object) -> torch.Tensor:
        values = func.complete(args, kwargs)
        flat, tree = jax.tree.flatten(
            values, is_leaf=lambda x: isinstance(x, torch.Tensor) or x is None
        )
        tensors = [x for x in flat if isinstance(x, torch.Tensor)]
        if not tensors or any(x.dtype.is_complex for x in tensors):
            return NotImplemented
        avals = [jax.ShapeDtypeStruct(tuple(exact(tuple(t.shape))), t.dtype.np) for t in tensors]

        def run(*arrays: object) -> Tree:
            given = iter(arrays)
            filled = [wrap(next(given)) if isinstance(x, torch.Tensor) else exact(x) for x in flat]
            with torch.no_grad():
                out = kernel_of(func)(jax.tree.unflatten(tree, filled))
            return tuple([t.jax() for t in out]) if isinstance(out, (tuple, list)) else out.jax()

        try:
            with disable_proxy_modes_tracing(), unset_fake_temporarily():
                closed, shapes = jax.make_jaxpr(run, return_shape=True)(*avals)
            found = _program(
                closed.jaxpr, [_constant(c, tensors[0]) for c in closed.consts], tensors, tensors[0]
            )
        except (Inexpressible, jax.errors.JAXTypeError, NotImplementedError):
            return NotImplemented
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return decomposed


def _constant(value: object, like: torch.Tensor) -> torch.Tensor | float:
    array = np.asarray(value)
    if array.ndim == 0:
        return array.item()
    if array.size and (array == array.flat[0]).all():
        return _full(array.shape, array.flat[0].item(), array.dtype, like)
    raise Inexpressible("an array of constants")


def _full(
    shape: tuple[object, ...], value: object, dtype: object, like: torch.Tensor
) -> torch.Tensor:
    return aten.full.default(_sizes(shape), value, dtype=_dtype(dtype), device=like.device)


def _dtype(dtype: Any) -> torch.dtype:
    return _BY_NAME[np.dtype(dtype).name]


_BY_NAME = {d.np.name: d for d in (getattr(torch, n) for n in (
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool uint16 uint32 uint64".split()  # noqa: E501
))}  # fmt: skip


def _sizes(shape: tuple[object, ...]) -> Values:
    return [visible(n) for n in shape]


def _program(
    jaxpr: Any,
    consts: Sequence[object],
    inputs: Sequence[object],
    like: torch.Tensor,
    wanted: Sequence[bool] | None = None,
) -> list[torch.Tensor | None]:
    """What a traced program gives, computed with operators. Numbers without dimensions stay numbers
    for as long as they can.

    Results that are not ``wanted`` are None.
    """
    outs = [v if wanted is None or wanted[i] else None for i, v in enumerate(jaxpr.outvars)]
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, inputs, strict=True))

    def read(v: object) -> torch.Tensor | int:
        return np.asarray(v.val).item() if hasattr(v, "val") else env[v]

    needed: set[Any] = {v for v in outs if v is not None and not hasattr(v, "val")}
    for eqn in reversed(jaxpr.eqns):  # checks of values are no part of the result
        if any(v in needed for v in eqn.outvars):
            needed.update(v for v in eqn.invars if not hasattr(v, "val"))
    for eqn in jaxpr.eqns:
        if not any(v in needed for v in eqn.outvars):
            continue
        name, args = eqn.primitive.name, [read(v) for v in eqn.invars]
        if name in _CALLS:
            inner = (
                eqn.params.get("jaxpr")
                or eqn.params.get("call_jaxpr")
                or eqn.params.get("fun_jaxpr")
            )
            consts = [_constant(c, like) for c in getattr(inner, "consts", [])]
            found = _program(
                getattr(inner, "jaxpr", inner),
                consts,
                args,
                like,
                [v in needed for v in eqn.outvars],
            )
        elif name in _SAME:
            found = args
        elif name not in _DIRECT and (formula := formula_of(name)) is not None:
            inner = jax.make_jaxpr(functools.partial(formula, **eqn.params))(
                *[v.aval for v in eqn.invars]
            )
            found = _program(inner.jaxpr, [_constant(c, like) for c in inner.consts], args, like)
        else:
            found = [_primitive(name, eqn, args, like)]
        env.update(zip(eqn.outvars, found, strict=True))
    return [None if v is None else _tensor(read(v), v.aval, like) for v in outs]


def _tensor(x: torch.Tensor | float, aval: jax.Array, like: torch.Tensor) -> torch.Tensor:
    return x if isinstance(x, torch.Tensor) else _full(aval.shape, x, aval.dtype, like)


def _primitive(name: str, eqn: Any, args: list[Operand], like: torch.Tensor) -> object:
    params, out = eqn.params, eqn.outvars[0].aval
    ins = [v.aval for v in eqn.invars]
    if all(not isinstance(a, torch.Tensor) for a in args) and name in (
        "broadcast_in_dim",
        "convert_element_type",
        "reshape",
        "squeeze",
    ):
        return (
            _full(out.shape, args[0], out.dtype, like)
            if out.shape
            else np.asarray(args[0], out.dtype).item()
        )
    if name == "iota":
        line = aten.arange.start_step(
            0,
            visible(params["shape"][params["dimension"]]),
            1,
            dtype=_dtype(out.dtype),
            device=like.device,
        )
        return _broadcast(line, params["shape"], (params["dimension"],))
    if name == "dim_as_value":  # a size that varies, as a number to compute with
        return aten.full.default(
            [], visible(params["dim"]), dtype=_dtype(out.dtype), device=like.device
        )
    given = [_tensor(a, v, like) for a, v in zip(args, ins, strict=True)]
    if name in _LOGIC:
        return _LOGIC[name][out.dtype != jnp.bool_](*given)
    if name in _DIRECT:
        return _DIRECT[name](*given)
    handler = _HANDLERS.get(name)
    if handler is None:
        if name in _REDUCED:
            return _REDUCED[name](given[0], list(params["axes"])) if params["axes"] else given[0]
        raise Inexpressible(name)
    return handler(given, params, out)


def _broadcast(x: torch.Tensor, shape: tuple[object, ...], dims: tuple[int, ...]) -> torch.Tensor:
    middle = [1] * len(shape)
    for at, n in zip(dims, x.shape, strict=True):
        middle[at] = n
    if list(exact(tuple(x.shape))) != list(exact(tuple(middle))):
        x = aten.view.default(x, middle)
    return (
        x if tuple(exact(tuple(middle))) == tuple(shape) else aten.expand.default(x, _sizes(shape))
    )


def _division(given: list[object], params: object, out: jax.Array) -> object:
    del params
    if jnp.issubdtype(out.dtype, jnp.floating):
        return aten.div.Tensor(*given)
    return aten.div.Tensor_mode(*given, rounding_mode="trunc")


def _select(given: list[torch.Tensor], params: object, out: jax.Array) -> torch.Tensor:
    del params, out
    which, *cases = given
    if len(cases) != 2:
        raise Inexpressible("select_n of more than two")
    if which.dtype is not torch.bool:
        which = aten.ne.Scalar(which, 0)
    return aten.where.self(which, cases[1], cases[0])


def _sum(given: list[torch.Tensor], params: Named, out: jax.Array) -> torch.Tensor:
    return (
        aten.sum.dim_IntList(given[0], list(params["axes"]), dtype=_dtype(out.dtype))
        if params["axes"]
        else given[0]
    )


def _slice(given: list[torch.Tensor], params: Named, out: jax.core.ShapedArray) -> torch.Tensor:
    x = given[0]
    steps = params["strides"] or (1,) * len(out.shape)
    for dim, (a, b, step) in enumerate(
        zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    ):
        if (type(a) is not int or a != 0) or step != 1 or exact(x.shape[dim]) != b:
            x = aten.slice.Tensor(x, dim, visible(a), visible(b), step)
    return x


def _product(given: list[torch.Tensor], params: Named, out: jax.core.ShapedArray) -> torch.Tensor:
    """Matrix products: batch dimensions, then those of the left, then those of the right
    operand."""
    a, b = given
    (sum_a, sum_b), (batch_a, batch_b) = params["dimension_numbers"]
    if a.dtype is not b.dtype or a.dtype is not _dtype(out.dtype):
        raise Inexpressible("dot_general of several dtypes")
    free_a = [d for d in range(a.dim()) if d not in (*sum_a, *batch_a)]
    free_b = [d for d in range(b.dim()) if d not in (*sum_b, *batch_b)]

    def size(x: Any, dims: Iterable[object]) -> Any:
        n: Any = 1
        for d in dims:
            n = n * x.shape[d]
        return n

    left = aten.permute.default(a, [*batch_a, *free_a, *sum_a])
    right = aten.permute.default(b, [*batch_b, *sum_b, *free_b])
    many, inner = size(a, batch_a), size(a, sum_a)
    left = _viewed(left, [many, size(a, free_a), inner])
    right = _viewed(right, [many, inner, size(b, free_b)])
    return aten.view.default(aten.bmm.default(left, right), _sizes(out.shape))


def _viewed(x: object, shape: list[object]) -> object:
    return aten.view.default(aten.clone.default(x, memory_format=torch.contiguous_format), shape)


def _pad(given: list[torch.Tensor], params: Named, out: object) -> object:
    del out
    x, value = given
    config = params["padding_config"]
    if any(inner or low < 0 or high < 0 for low, high, inner in config):
        raise Inexpressible("pad with dilation")
    for dim, (low, high, _) in enumerate(config):
        parts = []
        for n in (low, high):
            shape = list(x.shape)
            shape[dim] = n
            parts.append(aten.expand.default(value, shape) if n else None)
        kept = [p for p in (parts[0], x, parts[1]) if p is not None]
        x = aten.cat.default(kept, dim) if len(kept) > 1 else x
    return x


def _over(reduce: Callable[..., object], x: object, axes: tuple[int, ...]) -> object:
    for axis in sorted(axes, reverse=True):
        x = reduce(x, axis)
    return x


def _rounded(given: Sequence[object], params: Named) -> torch.Tensor:
    if int(params["rounding_method"]) != 1:  # to even, as PyTorch's
        raise Inexpressible("round away from zero")
    return aten.round.default(given[0])


def _cumulative(given: Sequence[object], params: Any, out: Any) -> object:
    if params["reverse"]:
        raise Inexpressible("cumsum in reverse")
    return aten.cumsum.default(given[0], params["axis"], dtype=_dtype(out.dtype))


_HANDLERS: dict[str, Callable[[list[Any], Any, Any], Any]] = {
    "div": _division, "select_n": _select, "reduce_sum": _sum, "slice": _slice,
    "dot_general": _product, "pad": _pad, "convert_element_type": lambda g, p,
    o: g[0] if g[0].dtype is _dtype(o.dtype) else aten._to_copy.default(g[0],
        dtype=_dtype(o.dtype)), "broadcast_in_dim": lambda g, p,
    o: _broadcast(g[0], o.shape, p["broadcast_dimensions"]),
    "reshape": lambda g, p,
    o: aten.view.default(aten.clone.default(g[0], memory_format=torch.contiguous_format),
                         _sizes(o.shape)), "squeeze": lambda g, p,
    o: aten.squeeze.dims(g[0], list(p["dimensions"])),
    "expand_dims": lambda g, p, o: aten.view.default(g[0], _sizes(o.shape)),
    "transpose": lambda g, p, o: aten.permute.default(g[0], list(p["permutation"])),
    "rev": lambda g, p, o: aten.flip.default(g[0], list(p["dimensions"])),
    "concatenate": lambda g, p, o: aten.cat.default(list(g), p["dimension"]),
    "reduce_and": lambda g, p,
    o: aten.logical_not.default(_over(aten.any.dim, aten.logical_not.default(g[0]), p["axes"])),
    "reduce_or": lambda g, p, o: _over(aten.any.dim, g[0], p["axes"]), "reduce_prod": lambda g, p,
    o: _over(aten.prod.dim_int, g[0], p["axes"]), "integer_pow": lambda g, p,
    o: aten.pow.Tensor_Scalar(g[0], p["y"]), "square": lambda g, p, o: aten.mul.Tensor(g[0], g[0]),
    "exp2": lambda g, p, o: aten.pow.Scalar(2, g[0]),
    "erfc": lambda g, p, o: aten.add.Scalar(aten.neg.default(aten.erf.default(g[0])), 1),
    "rem": lambda g, p, o: aten.fmod.Tensor(g[0], g[1]),
    "round": lambda g, p, o: _rounded(g, p),
    "clamp": lambda g, p, o: aten.minimum.default(aten.maximum.default(g[1], g[0]), g[2]),
    "is_finite": lambda g, p,
    o: aten.logical_not.default(aten.logical_or.default(aten.isinf.default(g[0]),
                                                        aten.isnan.default(g[0]))),
    "cumsum": _cumulative,
}  # fmt: skip
