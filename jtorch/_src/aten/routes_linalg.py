"""Linear algebra, ``einsum`` and Fourier transforms as operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import return_types
from ...core import Tensor
from ..bind.everything import FFT, L, T
from ..engine import Transformed
from ..facts import dtypes
from ..facts.size import SymInt
from ..ops._sizes import fewer
from ..tensor.shape_env import visible
from .calling import requires_grad
from .functions import route
from .overloads import aten
from .routes_math import matmul
from .routes_shape import _as_tensor, movedim, reshape
from .values import tensor_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..facts.kinds import Values


A = aten

# ---- einsum --------------------------------------------------------------------------------------


def _labels(text: str) -> list[str]:
    """The labels of one operand or of the result; an ellipsis is one of them."""
    text = text.replace(" ", "")
    head, dots, tail = text.partition("...")
    return [*head, *(["..."] if dots else []), *tail]


def _aligned(inputs: list[list[str]], arrow: bool, output: list[str], operands: Values) -> Any:
    """Operands with equal dimensions in one order, how many of them the result has, and how often
    each counts."""
    wide = max(
        [
            t._aval.ndim - len(names) + 1
            for t, names in zip(operands, inputs, strict=True)
            if "..." in names
        ],
        default=0,
    )
    seen = sorted({name for names in inputs for name in names if name != "..."})
    if not arrow:
        flat = [name for names in inputs for name in names]
        output = [*(["..."] if wide else []), *[name for name in seen if flat.count(name) == 1]]
    places: dict[str, int] = {}
    dots, count = -1, 0
    for name in output:
        if name == "...":
            dots, count = count, count + wide
        else:
            places[name], count = count, count + 1
    kept = count
    if dots < 0:
        dots, count = count, count + wide
    for name in seen:
        if name not in places:
            places[name], count = count, count + 1
    counts = [0] * count
    made = []
    for t, names in zip(operands, inputs, strict=True):
        order = [-1] * count
        dim, whole = 0, t._aval.ndim
        for name in names:
            if name == "...":
                covered = whole - (len(names) - 1)
                for j in range(wide - covered, wide):
                    counts[dots + j] += t._aval.shape[dim] != 1
                    order[dots + j], dim = dim, dim + 1
            elif order[places[name]] == -1:
                counts[places[name]] += t._aval.shape[dim] != 1
                order[places[name]], dim = dim, dim + 1
            else:
                before = order[places[name]]
                t = movedim(A.diagonal.default(t, 0, before, dim), -1, before)
        for i, d in enumerate(order):
            if d == -1:
                t = A.unsqueeze.default(t, dim)
                order[i], dim = dim, dim + 1
        made.append(A.permute.default(t, order))
    return made, kept, counts


def _pair(a: Any, b: Tensor, summed: Sequence[int]) -> Any:
    """The product of two aligned operands, summed over some dimensions: one ``bmm``."""
    if not summed:
        return A.mul.Tensor(a, b)
    both, left, right = [], [], []
    sizes = [1, 1, 1, 1]  # of both, left, right, summed
    for d, (n, m) in enumerate(zip(a._aval.shape, b._aval.shape, strict=True)):
        if d in summed:
            if n != 1 and m != 1:
                sizes[3] *= n
            elif n != 1:
                a = A.sum.dim_IntList(a, [d], True)
            elif m != 1:
                b = A.sum.dim_IntList(b, [d], True)
        elif n != 1 and m != 1:
            both.append(d)
            sizes[0] *= n
        elif n != 1:
            left.append(d)
            sizes[1] *= n
        else:
            right.append(d)
            sizes[2] *= m
    shape_a, shape_b = a._aval.shape, b._aval.shape
    out = [*[shape_a[d] for d in both + left], *[1] * len(summed), *[shape_b[d] for d in right]]
    order = [*both, *left, *summed, *right]
    first = reshape(A.permute.default(a, order), [sizes[0], sizes[1], sizes[3]])
    second = reshape(
        A.permute.default(b, [*both, *summed, *right, *left]), [sizes[0], sizes[3], sizes[2]]
    )
    back = [order.index(d) for d in range(len(order))]
    return A.permute.default(A.view.default(A.bmm.default(first, second), out), back)


@route("nn.functional.grouped_mm")
def _grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    return A._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


@route(T.einsum, "functional.einsum")
def einsum(*args: Any) -> Any:
    """Permutations and ``bmm``, operands in the order that ``opt_einsum`` finds."""
    equation, operands = args[0], args[1:]
    if not isinstance(equation, str):
        return NotImplemented
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    left, arrow, right = equation.partition("->")
    inputs = [_labels(part) for part in left.split(",")]
    if len(inputs) != len(operands) or any(
        (len(names) != t._aval.ndim and "..." not in names) or len(names) - 1 > t._aval.ndim
        for names, t in zip(inputs, operands, strict=True)
    ):
        return NotImplemented
    ops, kept, counts = _aligned(inputs, bool(arrow), _labels(right), list(operands))
    steps = _steps(equation, operands) if len(operands) > 2 else [(0, 1)] * (len(operands) - 1)
    for i, j in steps:
        i, j = min(i, j), max(i, j)
        a, b = ops[i], ops[j]
        del ops[j], ops[i]
        summed, only_a, only_b = [], [], []
        for d in range(kept, len(counts)):
            in_a, in_b = a._aval.shape[d] != 1, b._aval.shape[d] != 1
            if in_a and in_b:
                counts[d] -= 1
                if counts[d] == 1:
                    summed.append(d)
                    counts[d] = 0
            elif counts[d] == 1 and (in_a or in_b):
                (only_a if in_a else only_b).append(d)
                counts[d] = 0
        a = A.sum.dim_IntList(a, only_a, True) if only_a else a
        b = A.sum.dim_IntList(b, only_b, True) if only_b else b
        ops.append(_pair(a, b, summed))
    (out,) = ops
    if len(counts) > kept:
        if len(operands) > 1:
            return A.view.default(out, list(out._aval.shape[:kept]))
        return A.sum.dim_IntList(out, list(range(kept, len(counts))))
    return out


def _steps(equation: str, operands: Sequence[Any]) -> list[tuple[int, int]]:
    import opt_einsum

    path, _ = opt_einsum.contract_path(equation, *[t._aval.shape for t in operands], shapes=True)
    return [(step[0], step[1]) for step in path]


# ---- solutions and determinants ------------------------------------------------------------------


def _checked(info: Tensor, name: str, of: Tensor) -> None:
    v = info._read()
    while isinstance(v, Transformed):  # a vmap looks at those of all examples
        v = v.apart()[0][0]
    A._linalg_check_errors.default(tensor_of(v), name, is_matrix=of._aval.ndim == 2)


@route(L.solve)
def solve(A: Tensor, B: object, *, left: bool = True, out: object = None) -> Any:
    """``_linalg_solve_ex``, whose failures are looked at."""
    if out is not None:
        return NotImplemented
    found = aten._linalg_solve_ex.default(A, B, left=left)
    _checked(found[3], "torch.linalg.solve", A)
    return found[0]


@route(L.inv, T.inverse, "linalg.inverse")
def inverse(A: Any = None, *, input: Any = None, out: object = None) -> Any:
    """``linalg_inv_ex``, whose failures are looked at."""
    if out is not None:
        return NotImplemented
    A = input if A is None else A
    found, info = aten.linalg_inv_ex.default(A)
    _checked(info, "linalg.inv", A)
    return found


@route(L.det, T.det)
def det(A: object = None, *, input: object = None, out: object = None) -> Any:
    """The first result of ``_linalg_det``."""
    return (
        NotImplemented
        if out is not None
        else aten._linalg_det.default(input if A is None else A)[0]
    )


def _signed(name: str) -> Callable[..., object]:
    def run(A: object = None, *, input: object = None, out: object = None) -> Any:
        if out is not None:
            return NotImplemented
        found = aten._linalg_slogdet.default(input if A is None else A)
        return return_types.make(name, ("sign", "logabsdet"))(found[:2])

    return run


route(L.slogdet)(_signed("linalg_slogdet"))
route(T.slogdet)(_signed("slogdet"))


@route(T.logdet)
def logdet(input: Tensor) -> Tensor:
    """The logarithm from ``_linalg_slogdet``, not a number where the determinant is negative."""
    if input._aval.torch_dtype.is_complex:
        return NotImplemented
    sign, size = A._linalg_slogdet.default(input)[:2]
    return A.where.self(
        A.eq.Scalar(sign, -1.0), A.lift_fresh.default(_as_tensor(math.nan, size)), size
    )


@route(L.cholesky)
def cholesky(A: Tensor, *, upper: bool = False, out: object = None) -> Any:
    """``linalg_cholesky_ex``, whose failures are looked at."""
    if out is not None:
        return NotImplemented
    found, info = aten.linalg_cholesky_ex.default(A, upper=upper)
    _checked(info, "linalg.cholesky", A)
    return found


# ---- factorisations ------------------------------------------------------------------------------


@route(L.eigh)
def eigh(A: object, UPLO: str = "L", *, out: object = None) -> Any:
    """``_linalg_eigh``."""
    if out is not None:
        return NotImplemented
    return return_types.make("linalg_eigh", ("eigenvalues", "eigenvectors"))(
        aten._linalg_eigh.default(A, UPLO)
    )


@route(L.eigvalsh)
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: object = None) -> Any:
    """The first result of ``_linalg_eigh``."""
    return (
        NotImplemented if out is not None else aten._linalg_eigh.default(A, UPLO, _requires(A))[0]
    )


def _requires(t: Tensor) -> bool:
    """Whether a derivative will ask for the vectors, too."""
    return requires_grad(t)


@route(L.svd)
def linalg_svd(
    A: object, full_matrices: bool = True, *, driver: object = None, out: object = None
) -> object:
    """``_linalg_svd``."""
    if out is not None:
        return NotImplemented
    return return_types.make("linalg_svd", ("U", "S", "Vh"))(
        aten._linalg_svd.default(A, full_matrices, driver=driver)
    )


@route(T.svd)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: object = None) -> Any:
    """``_linalg_svd`` and the adjoint of its last result."""
    if out is not None or not compute_uv:
        return NotImplemented
    u, s, vh = A._linalg_svd.default(input, not some)
    return return_types.make("svd", ("U", "S", "V"))((u, s, _mH(vh)))


def _mH(x: object) -> object:
    found = A.transpose.int(x, -2, -1)
    return A._conj.default(found) if found._aval.torch_dtype.is_complex else found


@route(L.svdvals)
def svdvals(A: Tensor, *, driver: object = None, out: object = None) -> Any:
    """The second result of ``_linalg_svd``."""
    return (
        NotImplemented
        if out is not None
        else aten._linalg_svd.default(A, False, _requires(A), driver=driver)[1]
    )


@route(L.pinv)
def pinv(
    A: object,
    rcond: object = None,
    hermitian: bool = False,
    *,
    atol: object = None,
    rtol: object = None,
    out: object = None,
) -> Tensor:
    """``linalg_pinv.atol_rtol_tensor``."""
    if (
        out is not None
        or rcond is not None
        or not all(x is None or isinstance(x, Tensor) for x in (atol, rtol))
    ):
        return NotImplemented
    return aten.linalg_pinv.atol_rtol_tensor(A, atol=atol, rtol=rtol, hermitian=hermitian)


# ---- products and norms --------------------------------------------------------------------------


@route(L.matrix_power, T.matrix_power)
def matrix_power(A: object = None, n: int = 0, *, input: object = None, out: object = None) -> Any:
    """Products of a matrix, or of its inverse, with itself."""
    x = input if A is None else A
    if out is not None or n == 0:
        return NotImplemented
    if n < 0:
        x, n = inverse(x), -n
        if n == 1:
            return x
    if n == 1:
        return aten.clone.default(x)
    if n == 2:
        return matmul(x, x)
    if n == 3:
        return matmul(matmul(x, x), x)
    power = result = None
    while n:
        power = x if power is None else matmul(power, power)
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else matmul(result, power)
    return result


@route(L.matrix_norm)
def matrix_norm(
    A: Tensor,
    ord: object = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: object = None,
    out: object = None,
) -> Tensor:
    """``linalg_vector_norm`` over two dimensions for the Frobenius norm, singular values for the
    nuclear one."""
    if out is not None or len(dim) != 2:
        return NotImplemented
    dims = [d % A._aval.ndim for d in dim]
    if ord == "fro":
        return aten.linalg_vector_norm.default(A, 2, dims, keepdim, dtype=dtype)
    if ord != "nuc" or keepdim or dtype is not None:
        return NotImplemented
    order = [*[d for d in range(A._aval.ndim) if d not in dims], *dims]
    values = svdvals(aten.permute.default(A, order))
    return aten.sum.dim_IntList(values, [-1])


@route(L.vecdot)
def vecdot(x: Tensor, y: object, *, dim: int = -1, out: object = None) -> Tensor:
    """A product, summed."""
    if out is not None or x._aval.torch_dtype.is_complex:
        return NotImplemented
    return A.sum.dim_IntList(A.mul.Tensor(x, y), [dim])


def _chain(tensors: Sequence[Any]) -> object:
    if len(tensors) != 3 or any(t._aval.ndim != 2 for t in tensors):
        return NotImplemented
    a, b, c = tensors
    (p, q), (r, s) = a._aval.shape, c._aval.shape
    if fewer(q * r * s + p * q * s, p * q * r + p * r * s):
        out = A.mm.default(a, A.mm.default(b, c))
    else:
        out = A.mm.default(A.mm.default(a, b), c)
    return A.view.default(out, [p, s])


@route(L.multi_dot)
def multi_dot(tensors: Any, *, out: object = None) -> Any:
    """The cheaper order of three factors."""
    if out is not None:
        return NotImplemented
    if len(tensors) == 2 and all(t._aval.ndim == 2 for t in tensors):
        return A.view.default(
            A.mm.default(*tensors), [tensors[0]._aval.shape[0], tensors[1]._aval.shape[1]]
        )
    return _chain(tensors)


@route(T.chain_matmul, "functional.chain_matmul")
def chain_matmul(*matrices: object, out: object = None) -> Any:
    """``multi_dot``; a single matrix is itself."""
    return multi_dot(matrices, out=out)


@route(T.kron)
def kron(input: Tensor, other: Tensor, *, out: object = None) -> Tensor:
    """A product of operands with their dimensions interleaved."""
    if out is not None:
        return NotImplemented
    n = max(input._aval.ndim, other._aval.ndim)
    a = [1] * (n - input._aval.ndim) + list(input._aval.shape)
    b = [1] * (n - other._aval.ndim) + list(other._aval.shape)
    first = A._unsafe_view.default(input, [m for size in a for m in (size, 1)])
    second = A._unsafe_view.default(other, [m for size in b for m in (1, size)])
    return A._unsafe_view.default(
        A.mul.Tensor(first, second), [i * j for i, j in zip(a, b, strict=True)]
    )


# ---- Fourier transforms --------------------------------------------------------------------------

_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_BACKWARD = {None: 2, "backward": 2, "ortho": 1, "forward": 0}


def _floating(x: Tensor, as_complex: bool = False) -> Tensor:
    dtype = x._aval.torch_dtype
    if dtype.category < dtypes.FLOATING:
        dtype = dtypes.get_default_dtype()
    if as_complex and not dtype.is_complex:
        dtype = dtype.to_complex()
    return x if dtype is x._aval.torch_dtype else A._to_copy.default(x, dtype=dtype)


def _resized(x: Any, dims: Sequence[int], sizes: Sequence[int]) -> Any:
    """Dimensions cut, or padded with zeros, to sizes; -1 leaves one as it is."""
    pads = [0] * (2 * x._aval.ndim)
    for d, n in zip(dims, sizes, strict=True):
        if n == -1 or n == x._aval.shape[d]:
            continue
        if n < x._aval.shape[d]:
            x = A.slice.Tensor(x, d, 0, n)
        else:
            pads[2 * (x._aval.ndim - 1 - d) + 1] = n - x._aval.shape[d]
    return A.constant_pad_nd.default(x, pads, 0) if any(pads) else x


def _dim_of(x: Tensor, dim: int) -> int:
    return dim % x._aval.ndim if x._aval.ndim else dim


def _one(name: str, norms: dict[str | None, int], forward: bool) -> None:
    def transform(
        input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: object = None
    ) -> Tensor:
        if out is not None or not input._aval.ndim:
            return NotImplemented
        d = _dim_of(input, dim)
        x = _resized(_floating(input), [d], [-1 if n is None else n])
        if x._aval.torch_dtype.is_complex:
            return A._fft_c2c.default(x, [d], norms[norm], forward)
        found = A._fft_r2c.default(x, [d], norms[norm], False)
        return found if forward else A._conj.default(found)

    route(f"fft.{name}")(transform)


_one("fft", _FORWARD, True)
_one("ifft", _BACKWARD, False)


@route(FFT.rfft)
def rfft(
    input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: object = None
) -> Tensor:
    """``_fft_r2c``, one side."""
    if out is not None or input._aval.torch_dtype.is_complex:
        return NotImplemented
    d = _dim_of(input, dim)
    return A._fft_r2c.default(
        _resized(_floating(input), [d], [-1 if n is None else n]), [d], _FORWARD[norm], True
    )


@route(FFT.irfft)
def irfft(
    input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: object = None
) -> Tensor:
    """``_fft_c2r``."""
    if out is not None:
        return NotImplemented
    d = _dim_of(input, dim)
    size = 2 * (input._aval.shape[d] - 1) if n is None else n
    x = _resized(_floating(input, True), [d], [-1 if n is None else n // 2 + 1])
    return A._fft_c2r.default(x, [d], _BACKWARD[norm], size)


@route(FFT.hfft)
def hfft(
    input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: object = None
) -> Tensor:
    """``_fft_c2r`` of the conjugate."""
    if out is not None:
        return NotImplemented
    d = _dim_of(input, dim)
    size = 2 * (input._aval.shape[d] - 1) if n is None else n
    x = _resized(_floating(input, True), [d], [-1 if n is None else n // 2 + 1])
    return A._fft_c2r.default(A._conj.default(x), [d], _FORWARD[norm], size)


@route(FFT.ihfft)
def ihfft(
    input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: object = None
) -> Tensor:
    """The conjugate of ``_fft_r2c``, one side."""
    if out is not None or input._aval.torch_dtype.is_complex:
        return NotImplemented
    d = _dim_of(input, dim)
    x = _resized(_floating(input), [d], [-1 if n is None else n])
    return A._conj.default(A._fft_r2c.default(x, [d], _BACKWARD[norm], True))


def _dims_and_sizes(x: Tensor, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    if dim is not None:
        dims = [_dim_of(x, d) for d in ((dim,) if isinstance(dim, int) else dim)]
    else:
        dims = (
            list(range(x._aval.ndim - len(s), x._aval.ndim))
            if s is not None
            else list(range(x._aval.ndim))
        )
    return dims, [-1] * len(dims) if s is None else list(s)


def _several(name: str, dims_default: tuple[int, ...] | None) -> None:
    forward = not name.startswith("i")
    norms = _FORWARD if forward else _BACKWARD

    def whole(
        input: Tensor,
        s: object = None,
        dim: object = dims_default,
        norm: Any = None,
        *,
        out: object = None,
    ) -> Any:
        if out is not None:
            return NotImplemented
        dims, sizes = _dims_and_sizes(input, s, dim)
        x = _resized(_floating(input, True), dims, sizes)
        return A._fft_c2c.default(x, dims, norms[norm], forward)

    def to_half(
        input: Tensor,
        s: object = None,
        dim: object = dims_default,
        norm: Any = None,
        *,
        out: object = None,
    ) -> object:
        if out is not None or input._aval.torch_dtype.is_complex:
            return NotImplemented
        dims, sizes = _dims_and_sizes(input, s, dim)
        return A._fft_r2c.default(_resized(_floating(input), dims, sizes), dims, norms[norm], True)

    def from_half(
        input: Tensor,
        s: object = None,
        dim: object = dims_default,
        norm: Any = None,
        *,
        out: object = None,
    ) -> object:
        if out is not None:
            return NotImplemented
        dims, sizes = _dims_and_sizes(input, s, dim)
        last = sizes[-1]
        size = 2 * (input._aval.shape[dims[-1]] - 1) if last == -1 else last
        sizes = [*sizes[:-1], -1 if last == -1 else last // 2 + 1]
        return A._fft_c2r.default(
            _resized(_floating(input, True), dims, sizes), dims, norms[norm], size
        )

    route(f"fft.{name}")(whole if "rfft" not in name else to_half if forward else from_half)


for _name in ("fft", "ifft", "rfft", "irfft"):
    _several(f"{_name}2", (-2, -1))
    _several(f"{_name}n", None)


def _shift(name: str, extra: int) -> None:
    def shift(input: Tensor, dim: Any = None) -> object:
        given: Any = visible(dim)  # which becomes a guard where it is a symbol
        if given is None:
            given = range(input._aval.ndim)
        elif isinstance(given, (int, SymInt)):
            given = [given]
        dims = [int(d) for d in given]
        return A.roll.default(input, [(input._aval.shape[d] + extra) // 2 for d in dims], dims)

    route(f"fft.{name}")(shift)


_shift("fftshift", 0)
_shift("ifftshift", 1)
