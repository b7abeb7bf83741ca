"""JAX's loops and branches. Loops stay loops where kernels are traced with ``jax.numpy`` as plain
Python (``engine/tracing.py``): JAX would take their rounds one by one there. What they carry and
give differs between devices where anything that they look at does (``_mapped.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from ._mapped import axes_of_types, in_mesh, varying, varying_alike

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Row, Tree


def _settled(body: Any, init: object) -> Any:
    """What a loop starts from, differing wherever a round makes it do so by what it looks at beside
    what is carried."""
    while True:
        found = jax.eval_shape(body, init)
        grown = jax.tree.map(lambda x, r: varying(x, axes_of_types([r])), init, found)
        if all(a is b for a, b in zip(jax.tree.leaves(grown), jax.tree.leaves(init), strict=True)):
            return init
        init = grown


def scan(f: Function, init: Tree, xs: object = None, *args: Any, **kwargs: object) -> Row:
    """``jax.lax.scan``."""
    with jax.disable_jit(False):
        init = varying_alike(init, xs)
        if in_mesh():
            item = jax.tree.map(lambda x: x[0], xs)
            init = _settled(lambda carry: f(carry, item)[0], init)
        return lax.scan(f, init, xs, *args, **kwargs)


def fori_loop(
    lower: object, upper: object, body_fun: Callable[..., object], init_val: Any, **kwargs: Any
) -> Any:
    """``jax.lax.fori_loop``."""
    with jax.disable_jit(False):
        init = varying_alike(init_val, (lower, upper))
        if in_mesh():
            init = _settled(lambda carry: body_fun(jnp.asarray(lower), carry), init)
        return lax.fori_loop(lower, upper, body_fun, init, **kwargs)


def while_loop(cond_fun: Operand, body_fun: Operand, init_val: Any) -> Any:
    """``jax.lax.while_loop``."""
    with jax.disable_jit(False):
        init = varying_alike(init_val, ())
        return lax.while_loop(cond_fun, body_fun, _settled(body_fun, init) if in_mesh() else init)


def over_rows(*args: Any, **kwargs: Any) -> Any:
    """``jax.lax.map``."""
    with jax.disable_jit(False):
        return lax.map(*args, **kwargs)


def cond(
    pred: object,
    true_fun: Callable[..., object],
    false_fun: Callable[..., object],
    *operands: object,
) -> Row:
    """``jax.lax.cond``, whose results differ between devices wherever those of one branch do."""
    if not in_mesh():
        return lax.cond(pred, true_fun, false_fun, *operands)
    found = [jax.eval_shape(f, *operands) for f in (true_fun, false_fun)]

    def alike(f: Callable[..., object]) -> Any:
        return lambda *given: jax.tree.map(
            lambda x, *rs: varying(x, axes_of_types(rs)), f(*given), *found
        )

    return lax.cond(pred, alike(true_fun), alike(false_fun), *operands)
