"""What products of matrices and vectors share: checks in torch's words, the fastest forms of
products, ``beta`` and ``alpha``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import CPP_NAMES
from ._declare import Array, Number
from ._kernel import cast
from ._numeric import conj, is_bool, is_float, scalar_name, unsupported
from ._sizes import fewer
from ._whole import whole_product


def cpp_name(x: Array) -> str:
    """The C++ name of an element type, which some of torch's messages use."""
    name = scalar_name(x.dtype)
    return CPP_NAMES.get(name, name)


def size_of(x: Array) -> str:
    """A matrix' size in torch's messages: ``2x3``."""
    return "x".join(map(str, x.shape))


def check_mm(mat1: Array, mat2: Array) -> None:
    """Raises torch's errors for two matrices that cannot be multiplied."""
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {cpp_name(mat1)} != "
            f"{cpp_name(mat2)}"
        )
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({size_of(mat1)} and {size_of(mat2)})"
        )
    if is_bool(mat1):
        raise unsupported("addmm_impl_cpu_", mat1)


def check_same_types(addend: Array, mat1: Array, mat2: Array) -> None:
    """Raises torch's errors if a product and what is added to it are not all of one dtype."""
    for name, x in (("self", addend), ("mat1", mat1)):
        if x.dtype != mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {scalar_name(x.dtype)} and "
                f"{scalar_name(mat2.dtype)}"
            )


def check_mv(mat: Array, vec: Array, rows: int | None = None) -> None:
    """Raises torch's errors for a matrix and a vector that cannot be multiplied; ``rows`` is the
    size of what is added to the product."""
    if mat.shape[1] != vec.shape[0] or (rows is not None and rows not in (1, mat.shape[0])):
        given = mat.shape[0] if rows is None else rows
        raise RuntimeError(
            f"size mismatch, got input ({given}), mat ({size_of(mat)}), vec ({vec.shape[0]})"
        )
    if mat.dtype != vec.dtype:
        names = ", ".join(scalar_name(x.dtype) for x in (vec, mat))
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names}, and "
            f"{scalar_name(vec.dtype)}"
        )
    if is_bool(mat):
        raise unsupported("addmv_impl_cpu", mat)


def check_bmm(batch1: Array, batch2: Array, count1: int, count2: int) -> None:
    """Raises torch's errors for stacks of ``count1`` and ``count2`` matrices that cannot be
    multiplied one by one."""
    expected, given = [count1, batch1.shape[-1]], [count2, batch2.shape[-2]]
    if given != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{given}."
        )
    if batch1.dtype != batch2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(batch1.dtype)} but found "
            f"{scalar_name(batch2.dtype)}"
        )
    if is_bool(batch1):
        raise unsupported("bmm", batch1)


def check_dot(input: Array, other: Array) -> None:
    """Raises torch's errors for two vectors that have no inner product."""
    if input.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {other.ndim}D tensors")
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {scalar_name(input.dtype)} "
            f"and {scalar_name(other.dtype)}"
        )
    if input.shape != other.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.size}] and src [{other.size}] to "
            f"have the same number of elements, but got {input.size} and {other.size} elements "
            "respectively"
        )
    if is_bool(input):
        raise unsupported("dot", input)


def expanded(x: Array, shape: Sequence[int]) -> Array:
    """``x`` expanded to ``shape``.

    Raises:
        RuntimeError: if it does not fit, in torch's words.
    """
    shape = tuple(shape)
    if x.ndim > len(shape):
        raise RuntimeError(
            f"The number of sizes provided ({len(shape)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({x.ndim})"
        )
    lead = len(shape) - x.ndim
    for i in range(len(shape) - 1, lead - 1, -1):
        if x.shape[i - lead] not in (1, shape[i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[i]}) must match the existing size "
                f"({x.shape[i - lead]}) at non-singleton dimension {i}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(x.shape)}"
            )
    return jnp.broadcast_to(x, shape)


#: How C++ calls floating types; integers have their own names.
_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
}


def times(number: Number, x: Array) -> Array:
    """``number * x`` in the dtype of ``x``; without a multiplication where the number is the
    default 1."""
    if isinstance(number, (int, float)) and number == 1:
        return x
    factor = jnp.asarray(number)
    if jnp.issubdtype(factor.dtype, jnp.complexfloating) and not jnp.issubdtype(
        x.dtype, jnp.complexfloating
    ):
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES.get(x.dtype.name, f'{x.dtype.name}_t')} "
            "without overflow"
        )
    return cast(factor, x.dtype) * x


def blend(input: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """``beta * input + alpha * product``, ``input`` expanded to the product's shape; ``beta`` 0
    hides even nan in ``input``.

    A product that was not rounded to half precision is rounded at the end.
    """
    dtype = input.dtype
    scaled = times(alpha, product)
    input = expanded(input, product.shape).astype(product.dtype)
    if isinstance(beta, (int, float)):
        return (scaled if beta == 0 else times(beta, input) + scaled).astype(dtype)
    zero = jnp.zeros((), input.dtype)
    return (
        jnp.where(cast(jnp.asarray(beta), input.dtype) == zero, zero, times(beta, input)) + scaled
    ).astype(dtype)


def conj_number(number: Number) -> object:
    """The complex conjugate of a scalar argument."""
    return number if isinstance(number, (int, float)) else conj(jnp.asarray(number))


def transposed(x: Array) -> Array:
    """``x`` with its last two dimensions swapped, and conjugated: what the gradients of products
    multiply by."""
    return conj(jnp.swapaxes(x, -1, -2))


def rows(x: Array) -> Array:
    """All dimensions but the last as one."""
    return x if x.ndim == 2 else x.reshape(-1 if x.size else math.prod(x.shape[:-1]), x.shape[-1])


def unrounded(x: Array) -> np.dtype | None:
    """The dtype of products of ``x`` to which something is to be added before they are rounded:
    float32 for halves."""
    return np.dtype(np.float32) if is_float(x) and x.dtype.itemsize < 4 else None


def product(a: Array, b: Array, dtype: np.dtype | None = None) -> Array:
    """``a @ b`` for arrays of rank two or more whose shapes are known to fit, as they are or in a
    wider ``dtype``.

    A stack times one matrix is a single matrix product. Others are left to ``jnp.matmul``, which
    keeps batches apart without copies.
    """

    def multiply(a: Array, b: Array) -> Array:
        if b.ndim == 2:
            return lax.dot_general(
                a, b, (((a.ndim - 1,), (0,)), ((), ())), preferred_element_type=dtype
            )
        return jnp.matmul(a, b, preferred_element_type=dtype)

    if a.dtype.kind not in "iu":
        return multiply(a, b)
    return whole_product(multiply, a, b, a.shape[-1], math.prod(a.shape[:-1]) * b.shape[-1])


#: Of so few rows with a weight of so many elements XLA's product on CPU takes 0.6 to 0.8 of the
#: time if the weight comes first, and the result is turned around.
_FEW_ROWS, _LARGE_WEIGHT = 32, 1 << 16


def by_weight(x: Array, weight: Array, dtype: np.dtype | None = None) -> Array:
    """``x weightᵀ``, as it is or in a wider ``dtype``: what a layer makes of its input.

    Shapes: ``(*, k)``, ``(n, k)`` -> ``(*, n)``.
    """
    count, last = math.prod(x.shape[:-1]), x.ndim - 1
    few = (
        fewer(count, _FEW_ROWS + 1)
        and not fewer(weight.size, _LARGE_WEIGHT)
        and x.dtype == np.float32
    )
    if not few or not count or jax.default_backend() != "cpu":
        return lax.dot_general(x, weight, (((last,), (1,)), ((), ())), preferred_element_type=dtype)
    # The barrier keeps XLA from exchanging the operands again.
    found = lax.optimization_barrier(
        lax.dot_general(weight, x.reshape(count, x.shape[-1]), (((1,), (1,)), ((), ())))
    )
    return found.T.reshape((*x.shape[:-1], weight.shape[0]))


#: XLA's product on CPU reads the left operand of ``aᵀ b`` down its columns. Where rows follow each
#: other at a multiple of so many bytes, the elements of a column compete for the same few lines of
#: the cache, and the product takes up to three times as long.
_CROWDED_BYTES = 2048
#: So few rows fit all the same.
_CROWDED_ROWS = 64


def over_rows(a: Array, b: Array) -> Array:
    """``aᵀ b`` for matrices of as many rows: the gradient of a weight, a sum over the batch.

    Shapes: ``(n, p)``, ``(n, q)`` -> ``(p, q)``.
    """
    n, p = a.shape
    contract = (((0,), (0,)), ((), ()))
    crowded = (
        not fewer(n, _CROWDED_ROWS)
        and p > 1
        and not _width(a) % _CROWDED_BYTES
        and jax.default_backend() == "cpu"
    )
    if not crowded or fewer(b.shape[1], 8):
        return lax.dot_general(a, b, contract)
    # The barriers keep XLA from turning either form into the slow one again.
    if _width(b) % _CROWDED_BYTES and not fewer(n, b.shape[1]):
        return lax.optimization_barrier(lax.dot_general(b, a, contract)).T
    return lax.dot_general(lax.optimization_barrier(a.T), b, (((1,), (0,)), ((), ())))


def _width(x: Array) -> int:
    """Bytes of a row."""
    return x.shape[-1] * x.dtype.itemsize
