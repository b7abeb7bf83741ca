"""Matrix products that are added to something: ``addmm``, ``addmv``, ``addbmm``, ``baddbmm``,
``addr``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, Number, defvjp, op
from ._derivative_calls import unbroadcast
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._matrix import (
    blend,
    check_mm,
    check_mv,
    conj_number,
    cpp_name,
    expanded,
    product,
    times,
    unrounded,
)
from ._numeric import scalar_name
from .matmul import _check_addend, _check_batches, _matmul_rule, _mm_first, _mm_second, _mT, _t

if TYPE_CHECKING:
    from ...core import Tensor


@op(
    out=True,
    inplace=True,
    aten="addmm",
    single=("beta", "alpha"),
    truncates=True,
    saves=("mat1", "mat2"),
    out_dtype="expected",
    autocast="lower",
    old_orders=("beta input alpha mat1 mat2", "beta input mat1 mat2"),
    lazy="conj",
)
@schemas(
    ".",
    ".dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar "
    "alpha=1) -> Tensor ; =dtype_out",
)
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * (mat1 @ mat2)``, ``input`` expanded to the product's shape.

    Shapes: mat1 (n, k), mat2 (k, m), input any shape that expands to (n, m) -> (n, m).

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if dimensions, shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.addmm(
        ...     torch.tensor([1.0, 1.0]),
        ...     torch.eye(2),
        ...     torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        ...     alpha=10,
        ... )
        tensor([[11., 21.],
                [31., 41.]])
    """
    if mat1.ndim != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    if mat2.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    _check_addend(input, mat2)
    _check_addend(mat1, mat2, "mat1")
    check_mm(mat1, mat2)
    return blend(input, product(mat1, mat2, unrounded(mat1)), beta, alpha)


def _add_product_rule(
    g: Array,
    result: Array,
    input: Array,
    mat1: Array,
    mat2: Array,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> tuple[Array, Array, Array]:
    grad1, grad2 = _matmul_rule(times(conj_number(alpha), g), result, mat1, mat2)
    return _folded(times(conj_number(beta), g), input), grad1, grad2


def _folded(g: Array, input: Array) -> Array:
    return unbroadcast(g, input.shape, g.dtype)


defvjp(addmm, _add_product_rule)
derivative(
    A.addmm,
    self=lambda g, beta: D.times(g, D.conj(beta)),
    mat1=lambda g, mat2, mat1_, alpha: _mm_first(g, mat2, mat1_, alpha),
    mat2=lambda g, mat1, mat2_, alpha: _mm_second(g, mat1, mat2_, alpha),
)


def _half(number: Number, dtype: np.dtype) -> Number:
    """A number as a half, but for those that are refused later on."""
    if isinstance(number, (int, complex)) or jnp.iscomplexobj(number):
        return number
    return jnp.asarray(number).astype(dtype).astype(np.float32)


@op(
    out=True,
    inplace="both",
    aten="addmv",
    truncates=True,
    saves=("mat", "vec"),
    out_dtype="expected",
    out_apart="partly",
    autocast="cuda lower",
    old_orders=("beta input alpha mat vec", "beta input mat vec"),
)
def addmv(input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * (mat @ vec)``, ``input`` expanded to the product's shape.

    Shapes: mat (n, k), vec (k), input any shape that expands to (n) -> (n).

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if dimensions, shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.addmv(
        ...     torch.ones(2),
        ...     torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        ...     torch.tensor([1.0, 1.0]),
        ...     beta=0.5,
        ... )
        tensor([3.5000, 7.5000])
    """
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}"
        )
    check_mv(mat, vec, input.shape[0] if input.ndim else 1)
    if input.dtype != mat.dtype:
        names = ", ".join(scalar_name(x.dtype) for x in (input, mat))
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names}, and "
            f"{scalar_name(vec.dtype)}"
        )
    if unrounded(mat) is not None:  # unlike with other products, the numbers are halves too
        beta, alpha = (_half(x, mat.dtype) for x in (beta, alpha))
    return blend(
        input,
        lax.dot_general(mat, vec, (((1,), (0,)), ((), ())), preferred_element_type=unrounded(mat)),
        beta,
        alpha,
    )


defvjp(addmv, _add_product_rule)
derivative(
    A.addmv,
    self=lambda g, beta: D.times(g, D.conj(beta)),
    mat=lambda g, vec, alpha: D.times(
        A.mul.Tensor(A.view.default(g, [g._aval.shape[0], 1]), D.conj(vec)), D.conj(alpha)
    ),
    vec=lambda g, mat, alpha: D.times(A.mv.default(_t(mat), g), D.conj(alpha)),
)


@op(
    out=True,
    inplace=True,
    aten="addbmm",
    single=("beta", "alpha"),
    truncates=True,
    saves=("batch1", "batch2"),
    autocast="lower",
    old_orders=("beta input alpha batch1 batch2", "beta input batch1 batch2"),
)
def addbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """``beta * input + alpha * (batch1 @ batch2).sum(0)``, ``input`` expanded to the shape of one
    product.

    Shapes: batch1 (b, n, k), batch2 (b, k, m), input any shape that expands to (n, m) -> (n, m).

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if dimensions, shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.addbmm(torch.zeros(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
        tensor([[6.]])
    """
    if batch1.ndim == batch2.ndim == 3:
        expanded(input, (batch1.shape[1], batch2.shape[2]))
    _check_addend(input, batch2)
    _check_addend(batch1, batch2, "mat1")
    _check_batches(batch1, batch2)
    return blend(
        input,
        jnp.einsum("bij,bjk->ik", batch1, batch2, preferred_element_type=unrounded(batch1)),
        beta,
        alpha,
    )


def _repeated(g: Tensor, batch: Tensor) -> Any:
    return A.expand.default(A.unsqueeze.default(g, 0), [batch._aval.shape[0], *g._aval.shape])


def _batch1(g: Any, batch2: Any, alpha: object) -> object:
    wide = _repeated(g, batch2)
    return D.times(A.bmm.default(wide, D.conj(A.transpose.int(batch2, 1, 2))), D.conj(alpha))


def _batch2(g: Any, batch1: Any, alpha: object) -> object:
    first = D.conj(A.transpose.int(batch1, 1, 2))
    return D.times(A.bmm.default(first, _repeated(g, batch1)), D.conj(alpha))


derivative(A.addbmm, self=lambda g, beta: D.times(g, D.conj(beta)), batch1=_batch1, batch2=_batch2)


def _addbmm_rule(
    g: Array,
    result: Array,
    input: Array,
    batch1: Array,
    batch2: Array,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> tuple[Array, Array, Array]:
    spread = jnp.broadcast_to(g[None], (batch1.shape[0], *g.shape))
    grad1, grad2 = _matmul_rule(times(conj_number(alpha), spread), result, batch1, batch2)
    return _folded(times(conj_number(beta), g), input), grad1, grad2


defvjp(addbmm, _addbmm_rule)


@op(
    out=True,
    inplace=True,
    aten="baddbmm",
    single=("beta", "alpha"),
    truncates=True,
    saves=("batch1", "batch2"),
    out_dtype="expected",
    autocast="lower",
    old_orders=("beta input alpha batch1 batch2", "beta input batch1 batch2"),
    lazy="conj",
)
@schemas(
    ".",
    ".dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor ; =dtype_out",
)
def baddbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices, ``input`` expanded to
    the products' shape.

    Shapes: batch1 (b, n, k), batch2 (b, k, m), input any shape that expands to (b, n, m) -> (b, n,
    m).

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if dimensions, shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.baddbmm(torch.ones(1, 1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
        tensor([4., 4.])
    """
    if input.dtype != batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {cpp_name(input)}, batch1: "
            f"{cpp_name(batch1)}, batch2: {cpp_name(batch2)}"
        )
    _check_batches(batch1, batch2)
    return blend(input, product(batch1, batch2, unrounded(batch1)), beta, alpha)


defvjp(baddbmm, _add_product_rule)
derivative(
    A.baddbmm,
    self=lambda g, beta: D.times(g, D.conj(beta)),
    batch1=lambda g, batch2, alpha: D.times(A.bmm.default(g, _mT(batch2)), D.conj(alpha)),
    batch2=lambda g, batch1, alpha: D.times(A.bmm.default(_mT(batch1), g), D.conj(alpha)),
)


@op(
    out=True,
    inplace=True,
    promote="common",
    aten="addr",
    saves=("vec1", "vec2"),
    strides="order",
    out_apart="partly",
    autocast="cuda lower",
    old_orders=("beta input alpha vec1 vec2", "beta input vec1 vec2"),
)
def addr(input: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * outer(vec1, vec2)``, ``input`` expanded to the product's shape.

    Shapes: vec1 (n), vec2 (m), input any shape that expands to (n, m) -> (n, m).

    Dtypes: the operands' common one; of bool operands it is the logical or of ``input`` and the
    logical and of the vectors.

    Raises:
        RuntimeError: if dimensions or shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        tensor([[ 1., 10.],
                [ 2., 20.]])
    """
    if vec1.ndim != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec1, but got {vec1.ndim}-D")
    if vec2.ndim != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    found = vec1[:, None] * vec2[None, :]
    if found.dtype == jnp.bool_:
        return jnp.logical_or(
            _switched(input, beta, found.shape), _switched(found, alpha, found.shape)
        )
    return blend(input, found, beta, alpha)


derivative(
    A.addr,
    self=lambda g, beta: D.times(g, D.conj(beta)),
    vec1=lambda g, vec2, alpha: D.times(A.mv.default(g, D.conj(vec2)), D.conj(alpha)),
    vec2=lambda g, vec1, alpha: D.times(A.mv.default(A.t.default(g), D.conj(vec1)), D.conj(alpha)),
)


def _switched(x: Array, on: Number, shape: tuple[int, ...]) -> Array:
    return jnp.logical_and(expanded(x, shape), jnp.asarray(on).astype(bool))
