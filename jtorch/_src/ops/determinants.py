"""Determinants of matrices, and their logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.dtypes import finfo
from ._declare import Array, op
from ._derivatives import A, D, derivative
from ._linalg import check_float, check_square
from ._numeric import is_complex

if TYPE_CHECKING:
    from ...core import Tensor


aten = A  # where ``A`` is the matrix


def _check_det(a: Array, function: str) -> None:
    check_square(a, function)
    check_float(a, function, kernel="lu_cpu" if function == "linalg.det" else None)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_det",
    out_dtype="expected",
    node="LinalgDetBackward0",
    implicit=True,
)
def det(A: Array) -> Array:
    """The determinants of square matrices.

    Shapes: A (*, n, n) -> (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.5]]))
        tensor(-1.5000)
    """
    _check_det(A, "linalg.det")
    return jnp.linalg.det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)


@op(name="det", aten="det", node="LinalgDetBackward0", through="linalg_det")
def torch_det(input: Array) -> Array:
    """The determinants of square matrices: ``linalg.det``.

    Shapes: input (*, n, n) -> (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.det(torch.tensor([[[2.5, 0.0], [0.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]]]))
        tensor([ 7.5000, -1.0000])
    """
    return det(input)


def _slogdet(a: Array) -> tuple[Array, Array]:
    sign, logarithm = jnp.linalg.slogdet(a)
    return sign.astype(a.dtype), logarithm.astype(jnp.finfo(a.dtype).dtype)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_slogdet",
    fields=("sign", "logabsdet"),
    aten="linalg_slogdet",
    out_dtype="expected",
    node="LinalgSlogdetBackward0",
    implicit=True,
)
def slogdet(A: Array) -> tuple[Array, Array]:
    """The signs of the determinants (complex numbers of modulus 1 for complex matrices) and the
    logarithms of their magnitudes.

    Shapes: A (*, n, n) -> sign (*), logabsdet (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Logarithms are real.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.slogdet(torch.tensor([[0.0, 2.0], [3.0, 0.0]]))
        torch.return_types.linalg_slogdet(
        sign=tensor(-1.),
        logabsdet=tensor(1.7918))
    """
    _check_det(A, "linalg.slogdet")
    return _slogdet(A)


@op(
    name="slogdet",
    out=True,
    returns="slogdet",
    fields=("sign", "logabsdet"),
    aten="slogdet",
    out_dtype="expected",
    node="LinalgSlogdetBackward0",
    implicit=True,
)
def torch_slogdet(input: Array) -> tuple[Array, Array]:
    """The signs of determinants and the logarithms of their magnitudes: ``linalg.slogdet``.

    Shapes: input (*, n, n) -> sign (*), logabsdet (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Logarithms are real.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.slogdet(torch.tensor([[0.0, 2.0], [3.0, 0.0]])).sign
        tensor(-1.)
    """
    return slogdet(input)


@op(
    aten="logdet",
    node=lambda made: "AddBackward0" if made.is_complex else "WhereBackward0",
    implicit=True,
)
def logdet(input: Array) -> Array:
    """The logarithms of the determinants; nan where one is negative.

    Shapes: input (*, n, n) -> (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.logdet(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor(1.7918)
    """
    _check_det(input, "logdet")
    sign, logarithm = _slogdet(input)
    if is_complex(input):
        return lax.complex(logarithm, jnp.angle(sign))
    return jnp.where(sign == -1, np.asarray(np.nan, logarithm.dtype), logarithm)


# ---- derivatives as operators --------------------------------------------------------------------


def _diagonal_system(
    scale: object, A: Tensor, LU: Tensor, pivots: object, perturbed: bool
) -> object:
    """The matrix ``X`` with ``A^H X = scale I``, by the factors that the determinant was computed
    with."""
    shape = list(A._aval.shape[:-1])
    diagonal = aten.diag_embed.default(
        aten.expand.default(aten.unsqueeze.default(scale, -1), shape)
    )
    transposed = D.is_contiguous(A) and not A._aval.torch_dtype.is_complex
    if transposed:
        aten.transpose.int(A, -2, -1)  # what was factored
    if perturbed:
        at_zero = aten.eq.Scalar(aten.diagonal.default(LU, 0, -2, -1), 0.0)
        zero = D.number_like(0.0, LU)
        small = D.number_like(finfo(LU._aval.torch_dtype).eps, LU)
        LU = aten.add.Tensor(LU, aten.diag_embed.default(aten.where.self(at_zero, small, zero)))
    return aten.linalg_lu_solve.default(LU, pivots, diagonal, adjoint=not transposed)


def _det_formula(
    g: object, A: Tensor, result: object, result1: Any, result2: object, grads: object, node: object
) -> object:
    if D.recorded() or not A._aval.size:
        return D.general(grads, node, A)
    return _diagonal_system(aten.mul.Tensor(g, D.conj(result)), A, result1, result2, True)


def _slogdet_formula(A: Tensor, grads: Any, node: object, result2: Any, result3: object) -> object:
    if D.recorded() or A._aval.torch_dtype.is_complex or grads[1] is None or not A._aval.size:
        return D.general(grads, node, A)
    return _diagonal_system(grads[1], A, result2, result3, False)


derivative(A._linalg_det, results=(0,), A=_det_formula)
derivative(A._linalg_slogdet, results=(0, 1), A=_slogdet_formula)
