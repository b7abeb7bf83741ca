"""Functions with a formulation for each tier: JAX's for XLA, and NumPy's or SciPy's for the host,
where long polynomials are slow."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine import intervals
from ..engine.host.direct import special
from ..engine.host.many import MANY
from ..engine.host.rules import Compute, Equation, by_elements, rule
from ..engine.intervals import Interval
from ._declare import Array
from ._mapped import on_mesh
from ._sizes import fewer

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
INTEGERS = tuple([np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)])
INT64 = np.dtype(np.int64)
#: The real numbers that are NumPy's own, but for halves.
REALS = (*_FLOATS, *INTEGERS)
#: By the names of their equations, the formulas that have a form for the host.
FORMULAS: dict[str, Callable[..., Array]] = {}


def reduced(x: Array, *, axis: int, **_: object) -> tuple[int, ...]:
    """The shape of what has one element along ``axis``."""
    return tuple([1 if d == axis else n for d, n in enumerate(x.shape)])


#: Sorting more elements than this is faster as the formula does it.
FEW = 1 << 12


def hosted(
    make: Callable[..., Compute],
    *,
    ns: float = 10,
    calls: int = 1,
    many: Compute | None = None,
    of_many: float | None = None,
    dtypes: tuple[np.dtype, ...] = _FLOATS,
    elementwise: bool = True,
    alike: bool = True,
    mixed: bool = False,
    cost: Callable[[Equation], float] | None = None,
    most: int | None = None,
    kept: bool = False,
    keeps: bool | None = None,
    shape: Callable[..., tuple[int, ...]] | None = None,
    gives: np.dtype | None = None,
    linear: Callable[..., Array] | None = None,
    bounds: Callable[..., Interval | None] | None = None,
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Decorator of a formula on JAX arrays of one dtype and shape (but ``mixed``, ``alike``): on
    the host what ``make`` gives computes it.

    In jaxprs it is one equation, that XLA sees as the formula. Derivatives are the formula's. Other
    dtypes than ``dtypes``, operands that differ, and what lies on a mesh of devices, whose type
    tells more than a shape, are left to the formula.

    Args:
        make: called when the first kernel with it is staged, so that SciPy is not loaded before.
            NumPy is silent while what it gives runs. The formula's keyword arguments, which must be
            numbers, are given to it.
        ns, calls: nanoseconds an element, and calls of NumPy, that it takes, about (see
            ``rules.by_elements``).
        many: what computes many float32 in place of what ``make`` gives.
        of_many: the nanoseconds that an element takes it; ``ns`` if it is None.
        elementwise: that it computes element by element.
        alike: that the operands must have one shape.
        mixed: that the operands behind the first may have other dtypes than it.
        cost: the seconds that an equation takes, about, where ``ns`` for each element of the result
            does not tell.
        keeps: that it keeps shape and dtype, as what is elementwise does.
        shape: gives the result's shape from the operands' avals and the keyword arguments: what
            tracing the formula would show, which takes many times as long.
        gives: the dtype of such a result; that of the first operand if it is None.
        linear: the same in another formulation, whose derivative is the better one, for what is
            linear.
        bounds: between which numbers results lie (see ``engine/intervals.py``); the limits of their
            dtype if it is None.
        most: larger operands are left to the formula.
        kept: that XLA's code for the formula takes longer than what ``make`` gives, however large
            the operands are.
    """

    def declare(formula: Callable[..., Array]) -> Callable[..., Array]:
        primitive = Primitive(f"jtorch.{formula.__name__.lstrip('_')}")
        FORMULAS[primitive.name] = formula
        if bounds is not None:
            intervals.RULES[primitive.name] = bounds
        primitive.def_impl(
            lambda *operands, **params: jax.jit(functools.partial(formula, **params))(*operands)
        )

        def described(
            *avals: Array | jax.core.ShapedArray, **params: object
        ) -> jax.core.ShapedArray:
            if elementwise if keeps is None else keeps:
                return jax.core.ShapedArray(avals[0].shape, avals[0].dtype)
            if shape is not None:
                return jax.core.ShapedArray(
                    shape(*avals, **params), avals[0].dtype if gives is None else gives
                )
            found = jax.eval_shape(
                functools.partial(formula, **params),
                *[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals],
            )
            return jax.core.ShapedArray(found.shape, found.dtype)

        def batched(operands: tuple[Array, ...], dims: tuple[int, ...], **params: object) -> object:
            if not elementwise:
                return jax.vmap(functools.partial(formula, **params), in_axes=tuple(dims))(
                    *operands
                ), 0
            size = next(x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None)
            moved = [
                jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
                for x, d in zip(operands, dims, strict=True)
            ]
            return primitive.bind(*moved, **params), 0

        def jvp(
            primals: tuple[Array, ...], tangents: tuple[object, ...], **params: object
        ) -> object:
            if described(*primals, **params).dtype.kind in "iub":  # places and orders
                found = primitive.bind(*primals, **params)
                return found, ad.Zero(jax.core.ShapedArray(found.shape, jax.dtypes.float0))
            whole = tuple([ad.instantiate_zeros(t) for t in tangents])
            if linear is not None:
                return primitive.bind(*primals, **params), linear(*whole, **params)
            return jax.jvp(functools.partial(formula, **params), tuple(primals), whole)

        primitive.def_abstract_eval(described)
        mlir.register_lowering(primitive, mlir.lower_fun(formula, multiple_results=False))
        batching.primitive_batchers[primitive] = batched
        ad.primitive_jvps[primitive] = jvp

        few = by_elements(ns, None, calls)
        more = few if of_many is None else by_elements(of_many, None, calls)

        def estimated(e: Equation) -> float:
            return (more if _are_many(e) else few)(e)

        @rule(
            primitive.name,
            cost=cost or (few if more is few else estimated),
            broadcasts=elementwise,
            kept=kept,
        )
        def _(e: Equation) -> Compute:
            return many if many is not None and _are_many(e) else make(**e.params)

        def function(*operands: Array, **params: object) -> Array:
            first = operands[0]
            if first.dtype not in dtypes or any(
                (x.dtype != first.dtype and not mixed) or (alike and x.shape != first.shape)
                for x in operands
            ):
                return formula(*operands, **params)
            if any(
                not x.size or (most is not None and not fewer(x.size, most + 1)) for x in operands
            ):
                return formula(*operands, **params)
            if on_mesh(operands):
                return formula(*operands, **params)
            return primitive.bind(*operands, **params)

        function.__name__, function.__doc__ = formula.__name__, formula.__doc__
        return function

    return declare


def _are_many(e: Equation) -> bool:
    return e.out.size >= MANY and e.out.dtype == np.float32


def by_scipy(name: str) -> Callable[[], Compute]:
    """A function of ``scipy.special``, for ``hosted``."""

    return lambda: special(name)
