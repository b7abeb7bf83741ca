"""Linear algebra that is written with other public functions."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.names import named
from ...core import Tensor
from ...return_types import make
from ..bind.cores import composite, facts_of
from ..bind.everything import _C, L, T
from ..facts import dtypes
from ..facts.errors import LinAlgError, broadcast_shapes
from ..facts.warned_once import warn_once
from ..ops._derivatives import A, derivative
from ..ops._facts import schemas
from ..ops.norms import norm_formula
from ..tensor.result_strides import columns
from ..tensor.running import write_out


def _square(A: Tensor, function: str) -> None:
    if A.dim() < 2:
        raise RuntimeError(f"{function}: The input tensor A must have at least 2 dimensions.")
    if A.size(-1) != A.size(-2):
        raise RuntimeError(
            f"{function}: A must be batches of square matrices, but they are {A.size(-2)} by "
            f"{A.size(-1)} matrices"
        )


def _check_floating(A: Tensor, function: str) -> None:
    if A.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got "
            f"{A.dtype.scalar_name}"
        )


@composite(
    namespace="linalg",
    operands=("input",),
    out_dtype="expected",
    castable="matrix_power",
    autocast="lower",
    implicit=True,
)
@schemas(".")
def matrix_power(input: Tensor, n: int, *, out: Any = None) -> Any:
    """The ``n``-th powers of square matrices; for a negative ``n`` of their inverses.

    Shapes: (*, n, n) -> (*, n, n).

    Raises:
        LinAlgError: if ``n`` is negative and a matrix is singular.
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    _square(input, "linalg.matrix_power")
    base = L.inv(input) if n < 0 else input
    found = base if n == -1 else _C._matrix_power(base, abs(n))
    return (
        found
        if out is None
        else write_out(found, out, "linalg_matrix_power", facts=facts_of(matrix_power))
    )


@composite(name="matrix_power", method=True, operands=("input",), autocast="lower", implicit=True)
@schemas(".")
def _torch_matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """``linalg.matrix_power``.

    Shapes: (*, n, n) -> (*, n, n).

    Raises:
        RuntimeError: as ``linalg.matrix_power``.

    Example:
        >>> import jtorch as torch
        >>> torch.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    return L.matrix_power(input, n, out=out)


@composite(namespace="linalg", operands=("input",), implicit=True)
@schemas(
    "(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
    "dtype=None) -> Tensor ; =out",
    ".ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
    "dtype=None) -> Tensor ; =ord_str_out",
)
def norm(
    input: Tensor,
    ord: Any = None,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
) -> Any:
    """A matrix norm over two dimensions or a vector norm over one: that of ``ord``, by default the
    2-norm of all elements in ``dim``.

    Shapes: that of ``input`` without the dimensions ``dim`` (all by default), which are 1 with
    ``keepdim``.

    Dtypes: floating-point and complex ones -> the real type; ``dtype`` converts first.

    Raises:
        RuntimeError: if ``ord`` is given without ``dim`` for more than two dimensions, or ``dim``
            holds more than two.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
        >>> torch.linalg.norm(torch.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1)
        tensor(6.)
    """
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if dims is not None:
        if len(dims) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
            )
    elif ord is not None and input.dim() not in (1, 2) and not isinstance(ord, str):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.dim()}D."
        )
    options = {"dtype": dtype} if dtype is not None else {}
    if out is not None:
        options["out"] = out
    if isinstance(ord, str) or (
        ord is not None and (len(dims) == 2 if dims is not None else input.dim() == 2)
    ):
        return L.matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, **options)
    return L.vector_norm(input, 2 if ord is None else ord, dims, keepdim, **options)


derivative(
    A.norm.Scalar, self=lambda g, self, p, result: norm_formula(g, self, p, None, False, result)
)
derivative(
    A.norm.ScalarOpt_dim,
    self=lambda g, self, p, dim, keepdim, result: norm_formula(
        g, self, 2 if p is None else p, dim, keepdim, result
    ),
)


def _tolerance(driver: str, eps: float, larger: int, rcond: float | None) -> float:
    """Up to which part of the largest singular value others count as 0, as LAPACK's drivers
    understand ``rcond``."""
    if rcond is None or driver == "gels":  # which ignores it
        return eps * larger
    if driver == "gelsd":
        return rcond if 0 < rcond < 1 else eps
    if driver == "gelss":
        return eps if rcond < 0 else rcond
    # gelsy keeps those that are as large, and the first
    return min(max(rcond, 0.0), 1.0) * (1 - 4 * eps)


@composite(
    namespace="linalg",
    operands=("input", "b"),
    castable="torch.linalg.lstsq",
    autocast="cpu float32",
)
@schemas(
    "(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor "
    "residuals, Tensor rank, Tensor singular_values) ; "
    "=out:solution,residuals,rank,singular_values",
)
def lstsq(
    input: Tensor, b: Any, rcond: float | None = None, *, driver: str | None = None, out: Any = None
) -> Any:
    """The least squares solution of ``input X = b``, the one of least norm if there are many; by
    the pseudoinverse for every ``driver``.

    Also the sums of squared residuals (for the drivers but gelsy, if there are more equations than
    unknowns and the rank is full), the rank (not for gels) and the singular values (for gelsd and
    gelss); what is left out is empty.

    Shapes: input (*, m, n), b (*, m, k) or (*, m) -> solution (*, n, k) or (*, n);
    residuals (*, k); rank (*) and singular values (*, min(m, n)) of ``input``'s own batch.

    Dtypes: float32, float64 and their complex types, both the same.

    Raises:
        RuntimeError: if the shapes do not fit or the driver is unknown.

    Example:
        >>> import jtorch as torch
        >>> a = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> torch.linalg.lstsq(a, torch.tensor([[1.0], [3.0], [5.0]])).solution.round(decimals=3)
        tensor([[1.],
                [2.]])
    """
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if input.dtype is not b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {input.dtype.scalar_name} and other's dtype {b.dtype.scalar_name}")  # fmt: skip
    m, n = input.shape[-2:]
    vector = input.dim() - b.dim() == 1
    if not (vector or input.dim() == b.dim()):
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    is_vector = b.dim() == 1 or (vector and b.shape == input.shape[:-1])
    if m != b.shape[-1 if is_vector else -2]:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if is_vector else -2})"
        )
    right = b.unsqueeze(-1) if vector else b
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    broadcast_shapes(input.shape[:-2], right.shape[:-2])
    if input.dtype.to_real() not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("This function doesn't handle types other than float and double")
    rtol = _tolerance(driver, dtypes.finfo(input.dtype).eps, max(m, n), rcond)
    solution = L.pinv(input, rtol=rtol) @ right
    columns([solution], ())  # before views of it are made, which take on its strides
    rank = (
        input.new_empty((0,), dtype=dtypes.int64)
        if driver == "gels"
        else L.matrix_rank(input, rtol=rtol)
    )
    values = (
        L.svdvals(input.detach())
        if driver in ("gelsd", "gelss")
        else input.new_empty((0,), dtype=input.dtype.to_real())
    )
    residuals = solution.reshape(-1)[:0].abs()  # empty, but with a history, as in torch
    if m > n and driver != "gelsy" and (driver == "gels" or bool((rank == n).all())):
        residuals = (input @ solution - right).abs().square().sum(-2)
    found = (
        *named((solution.squeeze(-1) if vector else solution, residuals), "LinalgLstsqBackward0"),
        rank,
        values,
    )
    made = make("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))(found)
    return made if out is None else write_out(made, out, "linalg_lstsq", facts=facts_of(lstsq))


@composite(
    namespace="linalg",
    operands=("input",),
    castable="tensorinv",
    autocast="cpu float32",
    dispatched="in parts",
)
@schemas(".")
def tensorinv(input: Tensor, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse of ``input`` as a map between tensors of its last dimensions and of its first
    ``ind``.

    Shapes: input (*A, *B), A of ``ind`` dimensions and as many elements as B -> (*B, *A).

    Raises:
        RuntimeError: if ``ind`` is not positive, or the products of sizes differ.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.tensorinv(torch.eye(4).reshape(4, 2, 2), ind=1).shape
        torch.Size([2, 2, 4])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = input.shape[:ind], input.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(last)} != {math.prod(first)}"
        )
    found = L.inv(input.reshape(math.prod(last), -1 if input.numel() else 0)).reshape(
        (*last, *first)
    )
    named(found, "ReshapeAliasBackward0")
    return (
        found
        if out is None
        else write_out(found, out, "linalg_tensorinv", facts=facts_of(tensorinv))
    )


@composite(
    namespace="linalg",
    operands=("input", "other"),
    castable="tensorsolve",
    autocast="cpu float32",
    dispatched="in parts",
)
@schemas(".")
def tensorsolve(
    input: Tensor, other: Any, dims: tuple[int, ...] | None = None, *, out: Any = None
) -> Any:
    """The ``X`` with ``tensordot(input, X, X.ndim) == other``; the dimensions ``dims`` of ``input``
    are moved to the end first.

    Shapes: input (*B, *X), other (*B) -> (*X), with as many elements in B as in X.

    Raises:
        RuntimeError: if the products of sizes differ.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.tensorsolve(
        ...     2 * torch.eye(4).reshape(4, 2, 2), torch.tensor([2.0, 4.0, 6.0, 8.0])
        ... )
        tensor([[1., 2.],
                [3., 4.]])
    """
    if dims is not None:
        input = input.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    kept = input.shape[other.dim() :]
    if math.prod(kept) != other.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(kept)} != {other.numel()}"
        )
    found = L.solve(input.reshape(other.numel(), math.prod(kept)), other.reshape(-1)).reshape(kept)
    return (
        found
        if out is None
        else write_out(found, out, "linalg_tensorsolve", facts=facts_of(tensorsolve))
    )


@composite(name="lu", operands=("A",), method=True, native=False, home="functional")
def _torch_lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """``linalg.lu_factor_ex`` as a plain tuple, its info only with ``get_infos``; deprecated.

    Shapes: A (*, m, n) -> LU (*, m, n), pivots (*, min(m, n)), info (*).

    Raises:
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.lu(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
        (tensor([[4.0000, 2.0000],
                [0.5000, 2.0000]]), tensor([1, 2], dtype=torch.int32))
    """
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and "
        "will be removed in a future PyTorch release.\n"
        "LU, pivots = torch.lu(A, compute_pivots)\n"
        "should be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    found = tuple(L.lu_factor_ex(A, pivot=pivot))  # a zero pivot is no error here
    found = make("_lu_with_info", ("LU", "pivots", "info"))(found) if get_infos else found[:2]
    return found if out is None else write_out(found, out, "lu")


@composite(namespace="linalg", operands=("input",), out_dtype="expected")
@schemas(
    "(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, "
    "Tensor info) ; =out:LD,pivots,info"
)
def ldl_factor_ex(
    input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """The LDL factorisation of symmetric (or ``hermitian``) matrices, packed, with pivots and for
    each matrix LAPACK's info.

    Runs on the host.

    Shapes: (*, n, n) -> LD (*, n, n), pivots (*, n), info (*).

    Dtypes: float32, float64 and their complex types; pivots and info are int32.

    Raises:
        LinAlgError: with ``check_errors``, if the factorisation failed.
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.ldl_factor_ex(torch.tensor([[4.0, 2.0], [2.0, 3.0]])).LD
        tensor([[4.0000, 0.0000],
                [0.5000, 2.0000]])
    """
    function = "torch.linalg.ldl_factor_ex"
    _square(input, function)
    _check_floating(input, function)
    if input.dtype in (dtypes.float16, dtypes.bfloat16):
        raise NotImplementedError(
            f'"ldl_factor_kernel_cpu" not implemented for {input.dtype.scalar_name!r}'
        )
    if input.is_meta:
        found = (
            input.new_empty(input.shape),
            *[input.new_empty(s, dtype=dtypes.int32) for s in (input.shape[:-1], input.shape[:-2])],
        )
    else:
        found = _C._ldl_factor(input, hermitian)
    if check_errors and not input.is_meta and bool((found[2] != 0).any()):
        raise LinAlgError(
            f"{function}: The factorization could not be completed because a diagonal block is "
            "exactly zero."
        )
    made = make("linalg_ldl_factor_ex", ("LD", "pivots", "info"))(found)
    return (
        made
        if out is None
        else write_out(made, out, "linalg_ldl_factor_ex", facts=facts_of(ldl_factor_ex))
    )


@composite(namespace="linalg", operands=("input",), out_dtype="expected", dispatched="in parts")
@schemas("(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots) ; =out:LD,pivots")
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """``ldl_factor_ex`` without the info.

    Shapes: (*, n, n) -> LD (*, n, n), pivots (*, n).

    Dtypes: float32, float64 and their complex types; pivots are int32.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.ldl_factor(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
        torch.return_types.linalg_ldl_factor(
        LD=tensor([[4.0000, 0.0000],
                [0.5000, 2.0000]]),
        pivots=tensor([1, 2], dtype=torch.int32))
    """
    found = L.ldl_factor_ex(input, hermitian=hermitian)
    made = make("linalg_ldl_factor", ("LD", "pivots"))(tuple(found)[:2])
    return (
        made
        if out is None
        else write_out(made, out, "linalg_ldl_factor", facts=facts_of(ldl_factor))
    )


@composite(namespace="linalg", operands=("LD", "pivots", "B"), out_dtype="expected")
@schemas(".")
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """The solution of ``A X = B`` from ``ldl_factor(A)``. Runs on the host.

    Shapes: LD (*, n, n), pivots (*, n), B (*, n, k) -> (*, n, k).

    Dtypes: ``LD`` and ``B`` of one floating-point or complex type, integer pivots.

    Raises:
        RuntimeError: if the matrices are not square, the shapes do not fit, or a pivot is no row.

    Example:
        >>> import jtorch as torch
        >>> factors = torch.linalg.ldl_factor(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
        >>> torch.linalg.ldl_solve(*factors, torch.tensor([[8.0], [8.0]]))
        tensor([[1.],
                [2.]])
    """
    _square(LD, "torch.linalg.ldl_solve")
    _check_floating(LD, "torch.linalg.ldl_solve")
    if B.dtype is not LD.dtype:
        both = f"b of type {B.dtype.scalar_name} and A of type {LD.dtype.scalar_name}"
        raise RuntimeError(f"Expected b and A to have the same dtype, but found {both} instead.")
    if B.size(-2) != LD.size(-1):
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {LD.size(-1)} "
            f"by {LD.size(-1)} but each b matrix is {B.size(-2)} by {B.size(-1)}"
        )
    if pivots.dtype.category != dtypes.INTEGRAL:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected pivots to be integers. Got "
            f"{pivots.dtype.scalar_name}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
            f"got pivots with shape {list(pivots.shape)} instead"
        )
    if LD.is_meta:
        found = B.new_empty((*broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]))
    else:
        found = _C._ldl_solve(LD, pivots, B, hermitian)
    return (
        found
        if out is None
        else write_out(found, out, "linalg_ldl_solve", facts=facts_of(ldl_solve))
    )


@composite(namespace="linalg", operands=("A",), implicit=True)
@schemas("(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """``torch.diagonal`` with the last two dimensions by default.

    Shapes: (*, m, n) -> (*, k), a view.

    Raises:
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return T.diagonal(A, offset, dim1, dim2)


@composite(operands=("input",), dispatched="in parts")
@schemas(".dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor ; =out")
def frobenius_norm(
    input: Tensor, dim: tuple[int, ...], keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The square roots of the sums of squares over ``dim``.

    Shapes: that of ``input`` without the dimensions ``dim``, which are 1 with ``keepdim``; no
    dimensions for an empty ``dim``.

    Dtypes: floating-point and complex ones -> the real type.

    Raises:
        RuntimeError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> torch.frobenius_norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{input.dtype.scalar_name} instead."
        )
    options = {} if out is None else {"out": out}
    return named(L.vector_norm(input, 2.0, dim or None, keepdim, **options), "NormBackward1")


@composite(operands=("input",), autocast="cuda float32", dispatched="in parts")
@schemas(
    "(Tensor self, bool keepdim=False) -> Tensor ; =out",
    ".dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor ; =dim_out",
)
def nuclear_norm(
    input: Tensor, dim: tuple[int, ...] = (-2, -1), keepdim: bool = False, *, out: Any = None
) -> Any:
    """The sums of the singular values of the matrices in ``dim``.

    Shapes: that of ``input`` without the two dimensions ``dim``, which are 1 with ``keepdim``.

    Dtypes: floating-point and complex ones -> the real type.

    Raises:
        RuntimeError: unless ``dim`` names two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor(7.)
    """
    if isinstance(dim, bool):  # the overload of matrices has no dimensions
        dim, keepdim = (-2, -1), dim
    options = {} if out is None else {"out": out}
    return L.matrix_norm(input, "nuc", dim, keepdim, **options)
