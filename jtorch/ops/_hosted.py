"""Functions with a formulation for each tier: JAX's for XLA, and NumPy's or SciPy's for the host, where long polynomials are slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine.host.rules import Compute, Equation, by_elements, rule
from ._declare import Array

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def hosted(
    make: Callable[[], Compute], *, ns: float = 10, calls: int = 1, dtypes: tuple[np.dtype, ...] = _FLOATS
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Decorator of a formula on JAX arrays of one dtype and shape, which it keeps, element by element: on the host what ``make`` gives
    computes it.

    In jaxprs it is one equation, that XLA sees as the formula. Derivatives are the formula's. Other dtypes than ``dtypes``, and operands
    that differ, are left to the formula.

    Args:
        make: called when the first kernel with it is staged, so that SciPy is not loaded before. NumPy is silent while what it gives runs.
        ns, calls: nanoseconds an element, and calls of NumPy, that it takes, about (see ``rules.by_elements``).
    """

    def declare(formula: Callable[..., Array]) -> Callable[..., Array]:
        primitive = Primitive(f"jtorch.{formula.__name__.lstrip('_')}")
        primitive.def_impl(jax.jit(formula))
        primitive.def_abstract_eval(lambda *avals: jax.core.ShapedArray(avals[0].shape, avals[0].dtype))
        mlir.register_lowering(primitive, mlir.lower_fun(formula, multiple_results=False))

        def batched(operands: Any, dims: Any) -> Any:
            size = next(x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None)
            moved = [
                jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True)
            ]
            return primitive.bind(*moved), 0

        batching.primitive_batchers[primitive] = batched

        def jvp(primals: Any, tangents: Any) -> Any:
            return jax.jvp(formula, primals, [ad.instantiate_zeros(t) for t in tangents])

        ad.primitive_jvps[primitive] = jvp

        @rule(primitive.name, cost=by_elements(ns, None, calls), broadcasts=True)
        def _(_: Equation) -> Compute:
            return make()

        def function(*operands: Array) -> Array:
            first = operands[0]
            if first.dtype not in dtypes or any(x.dtype != first.dtype or x.shape != first.shape for x in operands):
                return formula(*operands)
            return primitive.bind(*operands)

        function.__name__, function.__doc__ = formula.__name__, formula.__doc__
        return function

    return declare


def by_scipy(name: str) -> Callable[[], Compute]:
    """A function of ``scipy.special``, for ``hosted``."""

    def make() -> Compute:
        import scipy.special

        return getattr(scipy.special, name)

    return make
