"""Products of matrices of integers on the CPU, by way of float64.

XLA and NumPy multiply matrices of integers with plain loops (but for XLA's of int32), 40 times
slower than those of floats. Sums of products that stay within 2**53 are exact in float64. Whether
they do, the operands' largest elements tell; where they do not, numbers of 64 bits are taken apart
into limbs, whose products do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._columns import in_columns
from ._declare import Array

#: Products of fewer multiplications are left to the plain loop.
FEW = 1 << 18
#: Bits of whole numbers that float64 holds, and float32.
_EXACT, _EXACT32 = 53, 24

Product = Callable[[Array, Array], Array]


def whole_product(product: Product, a: Array, b: Array, terms: int, results: int) -> Array:
    """``product(a, b)``, ``results`` sums of ``terms`` products, modulo the integers' size."""
    dtype = a.dtype
    if (
        b.dtype != dtype
        or type(terms) is not int
        or type(results) is not int
        or terms * results < FEW
    ):
        return product(a, b)
    signed = np.dtype(f"i{dtype.itemsize}")  # modulo the size it is the same, and a bit less
    bits = 8 * dtype.itemsize - 1
    sums = math.ceil(math.log2(terms))

    def through(kind: type) -> Product:
        return lambda a, b: (
            product(a.astype(signed).astype(kind), b.astype(signed).astype(kind))
            .astype(np.int64)
            .astype(dtype)
        )

    def by_float(a: Array, b: Array) -> Array:
        if 2 * bits + sums <= _EXACT32:
            return through(np.float32)(a, b)
        if 2 * bits + sums <= _EXACT:
            return through(np.float64)(a, b)
        width = 22 if sums <= 11 else 16
        if dtype.itemsize < 8:
            otherwise = product
        elif 2 * (width - 1) + sums <= _EXACT:
            otherwise = _by_limbs(product, width)
        else:
            return product(a, b)
        fits = _largest(a) * _largest(b) * terms < 2.0**_EXACT
        return lax.cond(fits, through(np.float64), otherwise, a, b)

    return lax.platform_dependent(a, b, cpu=by_float, default=product)


def _largest(x: Array) -> Array:
    """The largest absolute value, rounded."""
    return in_columns(jnp.max, jnp.abs(x.astype(np.float64)), tuple(range(x.ndim)), False)


def _by_limbs(product: Product, width: int) -> Product:
    """The product of integers of 64 bits modulo 2**64, each of them a sum of limbs of so many bits,
    from -2**(width-1) on."""
    count = -(-64 // width)

    def limbs(x: Array) -> list[Array]:
        found, rest = [], x.astype(np.int64)
        for _ in range(count):
            low = ((rest << (64 - width)) >> (64 - width)) if len(found) < count - 1 else rest
            found.append(low.astype(np.float64))
            rest = (rest - low) >> width
        return found

    def multiply(a: Array, b: Array) -> Array:
        left, right = limbs(a), limbs(b)
        total = None
        for i, x in enumerate(left):
            for j, y in enumerate(right[: count - i]):  # what is left out is a multiple of 2**64
                part = product(x, y).astype(np.int64) << (width * (i + j))
                total = part if total is None else total + part
        assert total is not None
        return total.astype(a.dtype)

    return multiply
