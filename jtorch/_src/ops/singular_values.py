"""Singular values and what follows from them: pseudoinverses, ranks, matrix norms, condition
numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.lax import linalg as lapack

from ..facts.errors import canonical_dim
from ._declare import Array, Dtype, defvjp, op
from ._derivatives import A, D, derivative
from ._extrema import extremum
from ._facts import schemas
from ._kernel import cast
from ._linalg import (
    adjoint,
    check_asked,
    check_float,
    check_matrix,
    check_square,
    diagonal,
    embedded,
    off_diagonal,
    zero_where_zero,
)
from ._nodes import Made
from ._numeric import is_complex, is_integral, scalar_name
from .linalg_solve import linear_solve, zero_pivot
from .linalg_spectral import _NOT_FINITE, _eigh, _guard_finite, _real_dtype, phase_free

if TYPE_CHECKING:
    from ...core import Tensor


aten = A  # where ``A`` is the matrix


def _svd(a: Array, full: bool, function: str) -> tuple[Array, Array, Array]:
    check_matrix(a, function)
    check_float(a, function, kernel="linalg_svd_cpu")
    m, n = a.shape[-2:]
    if a.size == 0:
        batch, k = a.shape[:-2], min(m, n)
        u = jnp.broadcast_to(
            jnp.eye(m, m if full else k, dtype=a.dtype), (*batch, m, m if full else k)
        )
        vh = jnp.broadcast_to(
            jnp.eye(n if full else k, n, dtype=a.dtype), (*batch, n if full else k, n)
        )
        return u, jnp.zeros((*batch, k), _real_dtype(a)), vh
    _guard_finite(a, function, _NOT_FINITE)
    return lapack.svd(a, full_matrices=full, compute_uv=True)


_DEPENDS = (
    "svd_backward: The singular vectors in the complex case are specified up to multiplication by "
    "e^{i phi}. The specified loss function depends on this phase term, making it ill-defined."
)


def _svd_grad(
    gu: Array | None, gs: Array, gvh: Array | None, u: Array, s: Array, vh: Array
) -> Array:
    """The gradient through the first ``min(m, n)`` singular vectors: those beyond are no function
    of the input."""
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    u, vh = u[..., :, :k], vh[..., :k, :]
    inner = embedded(cast(gs, u.dtype))
    if gu is None or gvh is None:
        return u @ inner @ vh
    gu, gvh = gu[..., :, :k], gvh[..., :k, :]
    scale = cast(s, u.dtype)
    left, right = adjoint(u) @ gu, vh @ adjoint(gvh)
    left, right = left - adjoint(left), right - adjoint(right)
    if is_complex(u):
        turned, back = jnp.imag(diagonal(left)), -jnp.imag(diagonal(right))
        phase_free((turned - back) / (1 + jnp.abs(back)), _DEPENDS)
    difference = (s[..., None, :] - s[..., :, None]) * (s[..., None, :] + s[..., :, None])
    both = left * scale[..., None, :] + scale[..., :, None] * right
    inner = inner + zero_where_zero(off_diagonal(both), cast(difference, both.dtype))
    if is_complex(u):
        inner = inner + embedded(zero_where_zero(diagonal(left), 2 * scale))
    grad = u @ inner @ vh
    if m > k:
        part = zero_where_zero(gu, jnp.broadcast_to(scale[..., None, :], gu.shape))
        grad = grad + (part - u @ (adjoint(u) @ part)) @ vh
    if n > k:
        part = zero_where_zero(gvh, jnp.broadcast_to(scale[..., :, None], gvh.shape))
        grad = grad + u @ (part - (part @ adjoint(vh)) @ vh)
    return grad


@op(
    namespace="linalg",
    out=True,
    returns="linalg_svd",
    fields=("U", "S", "Vh"),
    aten="linalg_svd",
    saves=("result",),
    strides="columns:0,2",
    out_dtype="expected",
    node="LinalgSvdBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas(". ; =U:U,S,Vh")
def svd(
    A: Array, full_matrices: bool = True, *, driver: str | None = None
) -> tuple[Array, Array, Array]:
    """``A = U @ diag(S) @ Vh``: singular values in descending order, and orthonormal singular
    vectors.

    Shapes: A (*, m, n) -> U (*, m, m), S (*, k), Vh (*, n, n) with ``k = min(m, n)``; U (*, m, k)
    and Vh (*, k, n) without ``full_matrices``.

    Dtypes: float32, float64 and complex ones -> the same; others are refused. Singular values are
    real.

    Raises:
        LinAlgError: if the input is not finite.
        RuntimeError: for a ``driver``, which chooses between CUDA's algorithms.

    Example:
        >>> import jtorch as torch
        >>> u, s, vh = torch.linalg.svd(
        ...     torch.tensor([[2.5, 0.0], [0.0, 4.0], [0.0, 0.0]]), full_matrices=False
        ... )
        >>> (
        ...     s,
        ...     torch.dist(u @ s.diag() @ vh, torch.tensor([[2.5, 0.0], [0.0, 4.0], [0.0, 0.0]]))
        ...     < 1e-5,
        ... )
        (tensor([4.0000, 2.5000]), tensor(True))
    """
    _check_driver(driver)
    return _svd(A, full_matrices, "linalg.svd")


def _svd_formula(
    A: Tensor,
    grads: Any,
    node: object,
    full_matrices: bool,
    compute_uv: bool,
    driver: object,
    result: object,
    result2: object,
) -> object:
    u, s, v = grads
    if u is not None or v is not None or s is None:
        return D.general(grads, node, A, full_matrices, compute_uv, driver)
    m, n = A._aval.shape[-2:]
    if full_matrices and m != n:
        k = min(m, n)
        result, result2 = aten.slice.Tensor(result, -1, 0, k), aten.slice.Tensor(result2, -2, 0, k)
    if m >= n:
        return D.matmul(result, aten.mul.Tensor(aten.unsqueeze.default(s, -1), result2))
    return D.matmul(aten.mul.Tensor(result, aten.unsqueeze.default(s, -2)), result2)


derivative(A._linalg_svd, results=(0, 1, 2), A=_svd_formula)


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


defvjp(svd, lambda g, result, A, full_matrices=True, *, driver=None: (_svd_grad(*g, *result),))


def _svdvals_fwd(
    A: Array, *, driver: str | None = None
) -> tuple[Array, tuple[Array, Array, Array]]:
    _check_driver(driver)
    u, s, vh = _svd(A, False, "linalg.svd")
    return s, (u, s, vh)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_svdvals",
    out_dtype="expected",
    node="LinalgSvdBackward0",
    autocast="cpu float32",
    implicit=True,
    unchecked=("A",),
)
def svdvals(A: Array, *, driver: str | None = None) -> Array:
    """The singular values in descending order.

    Shapes: A (*, m, n) -> (*, min(m, n)).
    Dtypes: float32 and complex64 -> float32, float64 and complex128 -> float64; others are refused.

    Raises:
        LinAlgError: if the input is not finite.
        RuntimeError: for a ``driver``, which chooses between CUDA's algorithms.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.svdvals(torch.tensor([[0.0, 2.5], [4.0, 0.0]]))
        tensor([4.0000, 2.5000])
    """
    _check_driver(driver)
    return _singular_values(A, "linalg.svd")


def _singular_values(a: Array, function: str) -> Array:
    check_matrix(a, function)
    check_float(a, function, kernel="linalg_svd_cpu")
    if a.size == 0:
        return jnp.zeros((*a.shape[:-2], min(a.shape[-2:])), _real_dtype(a))
    _guard_finite(a, function, _NOT_FINITE)
    return lapack.svd(a, full_matrices=False, compute_uv=False)


defvjp(
    svdvals,
    lambda g, residuals, A, *, driver=None: (_svd_grad(None, g, None, *residuals),),
    fwd=_svdvals_fwd,
)


@op(
    name="svd",
    out=True,
    returns="svd",
    fields=("U", "S", "V"),
    aten="svd",
    saves=("result",),
    strides="columns:0 if compute_uv",
    out_dtype="expected",
    node="LinalgSvdBackward0",
    autocast="cpu float32",
    implicit=True,
)
@schemas(". ; =U:U,S,V")
def torch_svd(
    input: Array, some: bool = True, compute_uv: bool = True
) -> tuple[Array, Array, Array]:
    """``linalg.svd`` with ``V`` for ``Vh``, complete unless ``some``; without ``compute_uv`` the
    vectors are zeros.

    Shapes: input (*, m, n) -> U (*, m, k), S (*, k), V (*, n, k) with ``k = min(m, n)``; U (*, m,
    m) and V (*, n, n) unless ``some``, or without ``compute_uv``.

    Dtypes: float32, float64 and complex ones -> the same; others are refused. Singular values are
    real.

    Raises:
        LinAlgError: if the input is not finite.

    Example:
        >>> import jtorch as torch
        >>> torch.svd(torch.tensor([[0.0, 2.5], [4.0, 0.0]])).S
        tensor([4.0000, 2.5000])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions "
            "instead"
        )
    u, s, vh = _svd(input, not some, "linalg.svd")
    if not compute_uv:
        m, n = input.shape[-2:]
        return (
            jnp.zeros((*input.shape[:-2], m, m), input.dtype),
            s,
            jnp.zeros((*input.shape[:-2], n, n), input.dtype),
        )
    return u, s, adjoint(vh)


def _torch_svd_rule(
    g: tuple[Array, Array, Array],
    result: tuple[Array, Array, Array],
    input: Array,
    some: bool = True,
    compute_uv: bool = True,
) -> tuple[Array]:
    if not compute_uv:
        u, s, vh = _svd(input, False, "linalg.svd")
        return (_svd_grad(None, g[1], None, u, s, vh),)
    return (_svd_grad(g[0], g[1], adjoint(g[2]), result[0], result[1], adjoint(result[2])),)


defvjp(torch_svd, _torch_svd_rule, saves=("input", "result"))


def _tolerance(
    values: Array, a: Array, atol: Array | float | None, rtol: Array | float | None
) -> Array:
    """The size up to which singular values count as zero, ready to compare with ``values``, whose
    first dimensions are the batch."""
    dtype = values.dtype
    top = jnp.max(jnp.abs(values), -1, initial=0)
    default = np.asarray(jnp.finfo(dtype).eps * max(a.shape[-2:]), dtype)
    absolute = jnp.asarray(0.0 if atol is None else atol).astype(dtype)
    if rtol is None:
        relative = (
            default if atol is None else jnp.where(absolute > 0, np.zeros((), dtype), default)
        )
    else:
        relative = jnp.asarray(rtol).astype(dtype)
    shape = jnp.broadcast_shapes(top.shape, absolute.shape, relative.shape)
    parts = [jnp.broadcast_to(x, shape) for x in (top, absolute, relative)]
    return jnp.maximum(parts[1], parts[2] * parts[0])[..., None]


def _pseudoinverse(
    a: Array, atol: Array | float | None, rtol: Array | float | None, hermitian: bool
) -> Array:
    if a.ndim < 2 or is_integral(a) or a.dtype.itemsize < 4:
        kind = f"{scalar_name(a.dtype)}{{{list(a.shape)}}}"
        raise RuntimeError(
            f"linalg.pinv({kind}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    if hermitian:
        values, vectors = _eigh(a, "L", "linalg.eigh")
        left, right = vectors, adjoint(vectors)
    else:
        u, values, vh = _svd(a, False, "linalg.svd")
        left, right = adjoint(vh), adjoint(u)
    if a.size == 0:
        return jnp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    large = jnp.abs(values) > _tolerance(values, a, atol, rtol)
    inverse = jnp.where(
        large, 1 / jnp.where(large, values, np.ones((), values.dtype)), np.zeros((), values.dtype)
    )
    return (left * cast(inverse, a.dtype)[..., None, :]) @ right


def _pinv_grad(g: Array, pinv: Array, a: Array) -> Array:
    h, gh = adjoint(pinv), adjoint(g)
    if a.shape[-2] <= a.shape[-1]:
        k = gh @ pinv
        kh = k @ h
        return -adjoint(pinv @ k) + kh - (a @ pinv) @ kh + (h @ pinv) @ (gh - k @ a)
    k = pinv @ gh
    hk = h @ k
    return -adjoint(k @ pinv) + ((gh - a @ k) @ pinv) @ h + hk - (hk @ pinv) @ a


@op(
    namespace="linalg",
    out=True,
    aten="linalg_pinv",
    saves=("A", "result"),
    castable="linalg.pinv",
    node="LinalgPinvBackward0",
    underivable={
        "atol": lambda: "linalg_pinv",
        "rtol": lambda: "linalg_pinv",
        "rcond": lambda: "linalg_pinv",
    },
    autocast="cpu result",
    spelled={"A": "input"},
)
@schemas(
    "(Tensor self, float rcond, bool hermitian=False) -> Tensor ; =out",
    ".atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> "
    "Tensor ; =atol_rtol_float_out",
    ".atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) "
    "-> Tensor ; =atol_rtol_tensor_out",
    ".rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor ; =out_rcond_tensor",
)
def pinv(
    A: Array,
    rcond: Array | float | None = None,
    hermitian: bool = False,
    *,
    atol: Array | float | None = None,
    rtol: Array | float | None = None,
) -> Array:
    """The pseudoinverses; singular values up to ``max(atol, rtol * largest)`` count as zero.

    ``rtol`` is ``max(m, n)`` machine epsilons by default, 0 if ``atol`` is given; ``rcond`` is its
    old name. Of ``hermitian`` matrices the lower triangle is read.

    Shapes: A (*, m, n), atol and rtol broadcast with (*) -> (*, n, m).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: for other dtypes, or fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.pinv(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))
        tensor([[1.0000, 0.0000, 0.0000],
                [0.0000, 0.0000, 0.5000]])
    """
    _check_real("torch.linalg.pinv", rcond=rcond, atol=atol, rtol=rtol)
    return _pseudoinverse(A, atol, rtol if rcond is None else rcond, hermitian)


def _pinv_formula(g: object, self: Tensor, result: object) -> object:
    inverse = D.adjoint(result)
    g = D.adjoint(g)
    m, n = self._aval.shape[-2:]
    if m <= n:
        k = D.matmul(g, result)
        right = D.matmul(k, inverse)
        outer = D.matmul(inverse, result)
        last = D.matmul(outer, A.sub.Tensor(g, D.matmul(k, self)))
        third = D.matmul(D.matmul(self, result), right)
        first = A.neg.default(D.adjoint(D.matmul(result, k)))
        return A.add.Tensor(A.sub.Tensor(A.add.Tensor(first, right), third), last)
    k = D.matmul(result, g)
    left = D.matmul(inverse, k)
    last = D.matmul(D.matmul(left, result), self)
    second = D.matmul(D.matmul(A.sub.Tensor(g, D.matmul(self, k)), result), inverse)
    first = A.neg.default(D.adjoint(D.matmul(k, result)))
    return A.sub.Tensor(A.add.Tensor(A.add.Tensor(first, second), left), last)


derivative(A.linalg_pinv.atol_rtol_tensor, self=_pinv_formula)


def _check_real(name: str, **bounds: Array | float | None) -> None:
    """Refuses complex bounds for singular values."""
    for argument, bound in bounds.items():
        if (
            bound is not None
            and not isinstance(bound, (bool, int, float))
            and jnp.iscomplexobj(bound)
        ):
            dtype = scalar_name(jnp.asarray(bound).dtype)
            raise RuntimeError(
                f"{name}: {argument} tensor of complex type is not supported. Got {dtype}"
            )


def _pinv_rule(
    g: Array,
    result: Array,
    A: Array,
    rcond: object = None,
    hermitian: bool = False,
    *,
    atol: object = None,
    rtol: object = None,
) -> tuple[Array | None, ...]:
    return _pinv_grad(g, result, A), None, None, None


defvjp(pinv, _pinv_rule)


@op(
    aten="pinverse",
    saves=("input", "result"),
    node="LinalgPinvBackward0",
    autocast="cpu float32",
    dispatched="in parts",
)
def pinverse(input: Array, rcond: float = 1e-15) -> Array:
    """The pseudoinverses: ``linalg.pinv`` with ``rtol=rcond``.

    Shapes: input (*, m, n) -> (*, n, m).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: for other dtypes, or fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.pinverse(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    return _pseudoinverse(input, None, rcond, False)


defvjp(pinverse, lambda g, result, input, rcond=1e-15: (_pinv_grad(g, result, input),))


@op(
    namespace="linalg",
    out=True,
    differentiable=False,
    aten="linalg_matrix_rank",
    castable="torch.linalg.matrix_rank",
    autocast="cpu float32",
    spelled={"A": "input"},
    dispatched="in parts",
)
@schemas(
    "(Tensor self, float tol, bool hermitian=False) -> Tensor ; =out",
    ".tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor ; =out_tol_tensor",
    ".atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
    "hermitian=False) -> Tensor ; =atol_rtol_tensor_out",
    ".atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> "
    "Tensor ; =atol_rtol_float_out",
)
def matrix_rank(
    A: Array,
    tol: Array | float | None = None,
    hermitian: bool = False,
    *,
    atol: Array | float | None = None,
    rtol: Array | float | None = None,
) -> Array:
    """How many singular values (or absolute eigenvalues of ``hermitian`` matrices) exceed
    ``max(atol, rtol * largest)``.

    ``rtol`` is ``max(m, n)`` machine epsilons by default, 0 if ``atol`` is given; ``tol`` is the
    old name of ``atol``.

    Shapes: A (*, m, n), atol and rtol broadcast with (*) -> (*).
    Dtypes: float32, float64 and complex ones -> int64.

    Raises:
        RuntimeError: for other dtypes, or fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    atol = atol if tol is None else tol
    _check_real("torch.linalg.matrix_rank", atol=atol, rtol=rtol)
    check_matrix(A, "torch.linalg.matrix_rank", "input")
    if is_integral(A) or A.dtype.itemsize < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    values = (
        jnp.abs(_eigh(A, "L", "linalg.eigh")[0]) if hermitian else _singular_values(A, "linalg.svd")
    )
    if A.size == 0:
        return jnp.zeros(A.shape[:-2], np.int64)
    return jnp.sum(values > _tolerance(values, A, atol, rtol), -1, dtype=np.int64)


_INF = float("inf")


def _matrix_norm(a: Array, ord: float | str) -> Array:
    """The norm over the last two dimensions."""
    if ord == "fro":
        squares = jnp.sum(jnp.real(a * jnp.conj(a)) if is_complex(a) else a * a, (-2, -1))
        zero = squares == 0
        root = jnp.sqrt(jnp.where(zero, np.ones((), squares.dtype), squares))
        return jnp.where(zero, np.zeros((), squares.dtype), root)
    if ord == "nuc":
        return jnp.sum(_values_with_gradient(a), -1)
    if abs(ord) == 2:  # type: ignore[arg-type]
        values = _values_with_gradient(a)
        return extremum(values, -1, largest=ord > 0)  # type: ignore[operator]
    sums = jnp.sum(_magnitude(a), -2 if abs(ord) == 1 else -1)  # type: ignore[arg-type]
    return extremum(sums, -1, largest=ord > 0)  # type: ignore[operator]


def _magnitude(a: Array) -> Array:
    return jnp.abs(a) if is_complex(a) else a * lax.stop_gradient(jnp.sign(a))


def _values_with_gradient(a: Array) -> Array:
    """Singular values whose first derivative needs no differences between them: that of
    ``diag(Uh @ a @ V)``."""
    check_matrix(a, "linalg.svd")
    check_float(a, "linalg.svd", kernel="linalg_svd_cpu")
    if a.size == 0:
        return jnp.zeros((*a.shape[:-2], min(a.shape[-2:])), _real_dtype(a))
    _guard_finite(lax.stop_gradient(a), "linalg.svd", _NOT_FINITE)
    return _smooth_values(a)


@jax.custom_jvp
def _smooth_values(a: Array) -> Array:
    return lapack.svd(a, full_matrices=False, compute_uv=False)


@_smooth_values.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    u, s, vh = lapack.svd(primals[0], full_matrices=False)
    return s, jnp.real(diagonal(adjoint(u) @ tangents[0] @ adjoint(vh))).astype(s.dtype)


def _node_of_norm(made: Made) -> str:
    order = made.given("ord")
    if order in (None, "fro"):
        return "LinalgVectorNormBackward0"
    if made.given("keepdim") and order in ("nuc", 2, -2):
        return "PermuteBackward0"
    return (
        "SumBackward1"
        if order == "nuc"
        else "AmaxBackward0"
        if float(order) > 0
        else "AminBackward0"
    )


@op(
    namespace="linalg",
    out=True,
    aten="linalg_matrix_norm",
    out_dtype="linalg.matrix_norm expected out tensor dtype {its} but got: {mine}",
    node=_node_of_norm,
    spelled={"A": "input"},
    implicit=True,
)
@schemas(
    "(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor ; =out",
    '.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? '
    "dtype=None) -> Tensor ; =str_ord_out",
)
def matrix_norm(
    A: Array,
    ord: float | str = "fro",
    dim: tuple[int, ...] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Array:
    """A norm of the matrices in two dimensions.

    ``ord``: ``"fro"``, ``"nuc"`` (the sum of singular values), 2 and -2 (the largest and smallest
    one), inf and -inf (the largest and smallest sum of a row), 1 and -1 (of a column).

    Shapes: A (*, m, n) -> (*), or (*, 1, 1) with ``keepdim``, for the last two dimensions.
    Dtypes: floating-point -> the same, complex -> real; ``dtype`` is what the elements are cast to
    first.

    Raises:
        RuntimeError: for other orders, integers, or dimensions that are not two different ones.

    Example:
        >>> import jtorch as torch
        >>> A = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
        >>> torch.linalg.matrix_norm(A), torch.linalg.matrix_norm(A, 1)
        (tensor(5.), tensor(4.))
    """
    check_matrix(A, "linalg.matrix_norm")
    check_float(A, "linalg.matrix_norm", low=True)
    if len(dim) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dim))}"
        )
    rows, columns = (canonical_dim(d, A.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord not in ("fro", "nuc", 1, -1, 2, -2, _INF, -_INF):
        if isinstance(ord, complex):
            raise RuntimeError(
                "linalg.matrix_norm: Expected a non-complex scalar as the order of norm."
            )
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    check_asked("linalg.matrix_norm", A, dtype)
    if ord in ("nuc", 2, -2):
        check_float(A, "linalg.matrix_norm")
    if dtype is not None:
        A = cast(A, dtype)
    found = _matrix_norm(jnp.moveaxis(A, (rows, columns), (-2, -1)), ord)
    return lax.expand_dims(found, sorted((rows, columns))) if keepdim else found


def _node_of_condition(made: Made) -> str:
    order = made.given("p")
    return (
        "SqueezeBackward1"
        if order in (None, 2, -2)
        else "MulBackward0"
        if order == "nuc"
        else "NanToNumBackward0"
    )


@op(
    namespace="linalg",
    out=True,
    aten="linalg_cond",
    castable="linalg.cond",
    node=_node_of_condition,
    autocast="cpu float32",
    spelled={"A": "input"},
    dispatched="in parts",
    unchecked=("A",),
)
@schemas(
    "(Tensor self, Scalar? p=None) -> Tensor ; =out",
    ".p_str(Tensor self, str p) -> Tensor ; =p_str_out",
)
def cond(A: Array, p: float | str | None = None) -> Array:
    """The condition numbers: the norm of a matrix times that of its inverse, inf for a singular
    one; by default the 2-norm.

    Shapes: A (*, m, n) -> (*).
    Dtypes: float32 and complex64 -> float32, float64 and complex128 -> float64; others are refused.

    Raises:
        RuntimeError: for an unknown norm, or for non-square matrices unless ``p`` is 2 or -2.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.cond(torch.tensor([[3.0, 0.0], [0.0, 0.4]]))
        tensor(7.5000)
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        values = _values_with_gradient_checked(A)
        if A.size == 0:
            return jnp.zeros(A.shape[:-2], _real_dtype(A))
        large, small = values[..., 0], values[..., -1]
        return large / small if p != -2 else small / large
    if p not in ("fro", "nuc", 1, -1, _INF, -_INF):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_square(
        A, f"linalg.cond(ord={p:g})" if not isinstance(p, str) else f"linalg.cond(ord={p})"
    )
    if p == "nuc":
        check_float(A, "linalg.svd", kernel="linalg_svd_cpu")
    check_float(A, "linalg.inv")
    if A.size == 0:
        return jnp.zeros(A.shape[:-2], _real_dtype(A))
    singular = (zero_pivot(lapack.lu(lax.stop_gradient(A))[0]) > 0)[..., None, None]
    identity = jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    safe = jnp.where(singular, identity, A)
    found = _matrix_norm(A, p) * _matrix_norm(linear_solve(safe, identity)[0], p)
    return jnp.where(singular[..., 0, 0], np.asarray(np.inf, found.dtype), found)


def _values_with_gradient_checked(a: Array) -> Array:
    check_float(a, "linalg.svd", kernel="linalg_svd_cpu")
    return _values_with_gradient(a)
