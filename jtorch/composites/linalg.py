"""Linear algebra that is written with other public functions."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtypes
from ..applying import write_out
from ..binding import composite
from ..errors import LinAlgError, broadcast_shapes
from ..functional import _C, PUBLIC
from ..return_types import make


def _square(A: Any, function: str) -> None:
    if A.dim() < 2:
        raise RuntimeError(f"{function}: The input tensor A must have at least 2 dimensions.")
    if A.size(-1) != A.size(-2):
        raise RuntimeError(f"{function}: A must be batches of square matrices, but they are {A.size(-2)} by {A.size(-1)} matrices")


@composite(namespace="linalg", operands=("input",))
def matrix_power(input: Any, n: int, *, out: Any = None) -> Any:
    """The ``n``-th powers of square matrices; for a negative ``n`` of their inverses.

    Raises:
        LinAlgError: if ``n`` is negative and a matrix is singular.
        RuntimeError: if the matrices are not square.
    """
    _square(input, "linalg.matrix_power")
    found = _C._matrix_power(PUBLIC["linalg.inv"](input) if n < 0 else input, abs(n))
    return found if out is None else write_out(found, out, "linalg_matrix_power")


@composite(name="matrix_power", method=True, operands=("input",))
def _torch_matrix_power(input: Any, n: int, *, out: Any = None) -> Any:
    """``linalg.matrix_power``."""
    return PUBLIC["linalg.matrix_power"](input, n, out=out)


@composite(namespace="linalg", operands=("input",))
def norm(input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None) -> Any:
    """A matrix norm over two dimensions or a vector norm over one: that of ``ord``, by default the 2-norm of all elements in ``dim``.

    Raises:
        RuntimeError: if ``ord`` is given without ``dim`` for more than two dimensions, or ``dim`` holds more than two.
    """
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if dims is not None:
        if len(dims) not in (1, 2) and ord is not None:
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    elif ord is not None and input.dim() not in (1, 2) and not isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.dim()}D.")
    options = {"dtype": dtype} if dtype is not None else {}
    if out is not None:
        options["out"] = out
    if isinstance(ord, str) or (ord is not None and (len(dims) == 2 if dims is not None else input.dim() == 2)):
        return PUBLIC["linalg.matrix_norm"](input, ord, (-2, -1) if dims is None else dims, keepdim, **options)
    return PUBLIC["linalg.vector_norm"](input, 2 if ord is None else ord, dims, keepdim, **options)


@composite(namespace="linalg", operands=("input", "b"))
def lstsq(input: Any, b: Any, rcond: float | None = None, *, driver: str | None = None, out: Any = None) -> Any:
    """The least squares solution of ``input X = b``, the one of least norm if there are many; by the pseudoinverse for every ``driver``.

    Also the sums of squared residuals (for the drivers but gelsy, if there are more equations than unknowns and the rank is full), the
    rank (not for gels) and the singular values (for gelsd and gelss); what is left out is empty.

    Raises:
        RuntimeError: if the shapes do not fit or the driver is unknown.
    """
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if input.dtype is not b.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                           f"{input.dtype.scalar_name} and other's dtype {b.dtype.scalar_name}")  # fmt: skip
    m, n = input.shape[-2:]
    vector = b.dim() == 1 or (input.dim() - 1 == b.dim() and b.shape == input.shape[:-1])
    right = b.unsqueeze(-1) if vector else b
    if m != right.shape[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    batch = broadcast_shapes(input.shape[:-2], right.shape[:-2])
    rtol = dtypes.finfo(input.dtype).eps * max(m, n) if rcond is None else rcond
    solution = PUBLIC["linalg.pinv"](input, rtol=rtol) @ right
    rank = input.new_empty((0,), dtype=dtypes.int64) if driver == "gels" else PUBLIC["linalg.matrix_rank"](input, rtol=rtol).expand(batch)
    values = PUBLIC["linalg.svdvals"](input) if driver in ("gelsd", "gelss") else input.new_empty((0,), dtype=input.dtype.to_real())
    residuals = solution.reshape(-1)[:0].abs()  # empty, but with a history, as in torch
    if m > n and driver != "gelsy" and (driver == "gels" or bool((rank == n).all())):
        residuals = (input @ solution - right).abs().square().sum(-2)
    found = (solution.squeeze(-1) if vector else solution, residuals, rank, values)
    made = make("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))(found)
    return made if out is None else write_out(made, out, "linalg_lstsq")


@composite(namespace="linalg", operands=("input",))
def tensorinv(input: Any, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse of ``input`` as a map between tensors of its last dimensions and of its first ``ind``.

    Raises:
        RuntimeError: if ``ind`` is not positive, or the products of sizes differ.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = input.shape[:ind], input.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {math.prod(last)} != {math.prod(first)}"
        )
    found = PUBLIC["linalg.inv"](input.reshape(math.prod(last), -1 if input.numel() else 0)).reshape((*last, *first))
    return found if out is None else write_out(found, out, "linalg_tensorinv")


@composite(namespace="linalg", operands=("input", "other"))
def tensorsolve(input: Any, other: Any, dims: Any = None, *, out: Any = None) -> Any:
    """The ``X`` with ``tensordot(input, X, X.ndim) == other``; the dimensions ``dims`` of ``input`` are moved to the end first.

    Raises:
        RuntimeError: if the products of sizes differ.
    """
    if dims is not None:
        input = input.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    kept = input.shape[other.dim() :]
    if math.prod(kept) != math.prod(input.shape[: other.dim()]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {math.prod(kept)} != {math.prod(input.shape[: other.dim()])}"
        )
    found = PUBLIC["linalg.solve"](input.reshape(other.numel(), math.prod(kept)), other.reshape(-1)).reshape(kept)
    return found if out is None else write_out(found, out, "linalg_tensorsolve")


@composite(name="lu", operands=("A",), method=True, native=False)
def _torch_lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """``linalg.lu_factor`` as a plain tuple, with ``get_infos`` also the info; deprecated."""
    warnings.warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
        "PyTorch release.",
        stacklevel=2,
    )
    found = tuple(PUBLIC["linalg.lu_factor"](A, pivot=pivot))
    if get_infos:
        found = make("_lu_with_info", ("LU", "pivots", "info"))(tuple(PUBLIC["linalg.lu_factor_ex"](A, pivot=pivot)))
    return found if out is None else write_out(found, out, "lu")


@composite(namespace="linalg", operands=("input",))
def ldl_factor_ex(input: Any, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """The LDL factorisation of symmetric (or ``hermitian``) matrices, packed, with pivots and for each matrix LAPACK's info.

    Runs on the host.
    """
    function = "torch.linalg.ldl_factor_ex"
    _square(input, function)
    found = _C._ldl_factor(input, hermitian)
    if check_errors and bool((found[2] != 0).any()):
        raise LinAlgError(f"{function}: The factorization could not be completed because a diagonal block is exactly zero.")
    made = make("linalg_ldl_factor_ex", ("LD", "pivots", "info"))(found)
    return made if out is None else write_out(made, out, "linalg_ldl_factor_ex")


@composite(namespace="linalg", operands=("input",))
def ldl_factor(input: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """``ldl_factor_ex`` without the info."""
    found = PUBLIC["linalg.ldl_factor_ex"](input, hermitian=hermitian)
    made = make("linalg_ldl_factor", ("LD", "pivots"))(tuple(found)[:2])
    return made if out is None else write_out(made, out, "linalg_ldl_factor")


@composite(namespace="linalg", operands=("LD", "pivots", "B"))
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """The solution of ``A X = B`` from ``ldl_factor(A)``. Runs on the host."""
    _square(LD, "torch.linalg.ldl_solve")
    found = _C._ldl_solve(LD, pivots, B, hermitian)
    return found if out is None else write_out(found, out, "linalg_ldl_solve")


@composite(namespace="linalg", operands=("A",))
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """``torch.diagonal`` with the last two dimensions by default."""
    return PUBLIC["diagonal"](A, offset, dim1, dim2)


@composite(operands=("input",))
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The square roots of the sums of squares over ``dim``."""
    options = {} if out is None else {"out": out}
    return PUBLIC["linalg.vector_norm"](input, 2.0, dim or None, keepdim, **options)


@composite(operands=("input",))
def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None) -> Any:
    """The sums of the singular values of the matrices in ``dim``."""
    options = {} if out is None else {"out": out}
    return PUBLIC["linalg.matrix_norm"](input, "nuc", dim, keepdim, **options)
