"""torch-worded errors and the argument checks that raise them. Knows no Tensor and no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def canonical_dim(dim: int, ndim: int, *, wrap_scalar: bool = True) -> int:
    """``dim`` counted from the front.

    Raises:
        IndexError: if it is out of range. A 0-dim tensor has dimensions -1 and 0 if ``wrap_scalar``.
    """
    if ndim == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        low, high = -1, 0
    else:
        low, high = -ndim, ndim - 1
    if not low <= dim <= high:
        check_long(dim)
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim + max(ndim, 1) if dim < 0 else dim


#: The limits of whole numbers in arguments.
LOWEST_LONG, HIGHEST_LONG = -(2**63), 2**63 - 1
OVERFLOW = "Overflow when unpacking long long"


def check_long(value: int) -> None:
    """Refuses an argument of more than 64 bits where a whole number is due.

    Raises:
        ValueError: in torch's words.
    """
    if not LOWEST_LONG <= value <= HIGHEST_LONG:
        raise ValueError(OVERFLOW)


def check_longs(name: str, argument: str, values: Any) -> None:
    """``check_long`` for an argument that may be a list of whole numbers; what is no whole number is not looked at.

    Raises:
        ValueError: for a number that is too large.
        TypeError: for one in a list.
    """
    if type(values) is int:
        check_long(values)
    elif isinstance(values, (tuple, list)):
        for k, x in enumerate(values):
            if type(x) is int and not LOWEST_LONG <= x <= HIGHEST_LONG:
                raise TypeError(f"{name}(): argument '{argument}' failed to unpack the object at pos {k + 1} with error \"{OVERFLOW}\"")


def check_scalar(value: int) -> None:
    """Refuses a Python int that no number of 64 bits can hold where any number may stand.

    Raises:
        OverflowError: in the words that torch passes on from Python.
    """
    if value < LOWEST_LONG:
        raise OverflowError("can't convert negative int to unsigned")
    if value > 2 * HIGHEST_LONG + 1:
        raise OverflowError("int too big to convert")


def canonical_dims(dims: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Dimensions of a reduction, counted from the front and sorted as given; None (and an empty list) mean all.

    Raises:
        IndexError: if one is out of range.
        RuntimeError: if one appears twice, or of more than 64.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if not dims and empty_is_all:
        return tuple(range(ndim))
    if ndim > 64:  # torch counts them in the bits of a word
        raise RuntimeError("only tensors with up to 64 dims are supported")
    seen: list[int] = []
    for dim in dims:
        found = canonical_dim(dim, ndim)
        if found in seen:
            raise RuntimeError(f"dim {found} appears multiple times in the list of dims")
        seen.append(found)
    return tuple(seen) if ndim else ()


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all ``shapes`` broadcast to.

    Raises:
        RuntimeError: in torch's words, naming the first pair and dimension that disagree.
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        result = _broadcast_two(result, tuple(shape))
    return result


def _broadcast_two(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    ndim = max(len(a), len(b))
    out = [1] * ndim
    for i in range(ndim - 1, -1, -1):
        size_a = a[i - ndim + len(a)] if i >= ndim - len(a) else 1
        size_b = b[i - ndim + len(b)] if i >= ndim - len(b) else 1
        if size_a != size_b and size_a != 1 and size_b != 1:
            raise RuntimeError(f"The size of tensor a ({size_a}) must match the size of tensor b ({size_b}) at non-singleton dimension {i}")
        out[i] = size_b if size_a == 1 else size_a
    return tuple(out)


#: Functions whose ``out`` must have the result's dtype exactly, by what torch says otherwise. ``{its}`` is the result's dtype, ``{mine}``
#: that of ``out``; in lower case they are the names of C++.
_EXACT_OUT: dict[str, str] = {
    name: words
    for names, words in (
        (
            """addmm addmv aminmax baddbmm bmm cross cumsum cumprod diag gather index_add index_copy cholesky cholesky_ex det eigh eigvalsh
            inv sum prod inv_ex ldl_factor ldl_factor_ex ldl_solve lu_factor lu_factor_ex lu_solve qr slogdet solve solve_ex svd svdvals
            vector_norm log_softmax lu_unpack matmul mm msort renorm scatter scatter_add softmax sort take_along_dim topk
            triangular_solve tril triu""",
            "Expected out tensor to have dtype {its_cpp}, but got {mine_cpp} instead",
        ),
        ("abs ceil conj_physical floor frac neg round sgn sign trunc", "Found dtype {mine} but expected {its}"),
        ("cummax cummin logcumsumexp", "expected scalar_type {its} but found {mine}"),
        ("dot vdot", "result dtype {mine} does not match input dtype {its}"),
        ("index_select masked_select", "{name}(): self and result must have the same scalar type"),
        ("take", "take(): self and out expected to have the same dtype, but got self.dtype = {its} and out.dtype = {mine}"),
        ("amax amin", "Expected the dtype for input and out to match, but got {its} for input's dtype and {mine} for out's dtype."),
        ("where", "Expected out type to be {its} but got {mine}"),
        ("complex", "Expected object of scalar type {its} but got scalar type {mine} for argument 'out'"),
        ("polar", "Expected object of scalar type {its} but got scalar type {mine} for argument 'out'"),
        ("nan_to_num", "nan_to_num: dtype of out: {mine} should be same as input: {its}"),
        ("kthvalue", "output values must be of same type as input"),
        ("mode", "expected scalar type '{its}' but got '{mine}' for values output"),
        ("quantile nanquantile", "quantile() out tensor must be same dtype as the input tensor"),
        ("solve_triangular logsigmoid", "expected scalar type {its} but found {mine}"),
        ("tensordot inner", "tensordot: Expected the output tensor to have dtype {its}, but got an output tensor with dtype {mine}"),
        ("vecdot", "linalg.vecdot: Expected out of dtype{its} but found {mine}"),
        ("multi_dot", "multi_dot(): expected out tensor to have dtype {its_cpp} but got {mine_cpp}"),
        ("matrix_norm", "linalg.matrix_norm expected out tensor dtype {its} but got: {mine}"),
        ("argmax argmin isin", "Expected out tensor to have dtype {its_cpp}, but got {mine_cpp} instead"),
        ("all any", "{name} only supports bool tensor for result, got: {mine}"),
        ("isneginf isposinf signbit", "{name} does not support non-boolean outputs."),
        ("bitwise_not clamp", "Found dtype {mine} but expected {its}"),
        ("nonzero nonzero_static", "{name}: Expected out tensor to have scalar type {its} but got scalar type{mine}"),
        ("inverse", "Expected out tensor to have dtype {its_cpp}, but got {mine_cpp} instead"),
        ("ormqr", "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{its} and result has dtype {mine}"),
        ("frexp.mantissa", "torch.frexp() expects mantissa to have dtype {its_cpp} but got {mine_cpp}"),
        ("frexp.exponent", "torch.frexp() expects exponent to have int dtype but got {mine_cpp}"),
        ("float_power", "the output given to float_power has dtype {mine} but the operation's result requires dtype {its}"),
        ("hash_tensor", "Expected result to be of dtype uint64, but got {mine}"),
        ("histc", "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {its_cpp} and hist {mine_cpp}"),
        (
            "searchsorted bucketize",
            (
                "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
                "out_int32 flag is True, but we got output tensor's dtype {mine} and out_int32 flag is {flag}"
            ),
        ),
    )
    for name in names.split()
}  # fmt: skip


#: The name by which a function refuses an ``out`` that its result cannot be cast to.
_CASTABLE = {
    "householder_product": "torch.linalg.householder_product", "orgqr": "torch.linalg.householder_product", "tensorinv": "tensorinv",
    "tensorsolve": "tensorsolve", "eig": "torch.linalg.eig", "eigvals": "torch.linalg.eigvals", "cholesky_inverse": "cholesky_inverse",
    "cholesky_solve": "cholesky_solve", "pinv": "linalg.pinv", "matrix_rank": "torch.linalg.matrix_rank", "cond": "linalg.cond",
    "lstsq": "torch.linalg.lstsq", "matrix_power": "matrix_power", "geqrf": "torch.geqrf",
}  # fmt: skip


def uncastable(name: str, field: str, result: str, out: str) -> str | None:
    """What a function says of an ``out`` that its result cannot be cast to, if it has words of its own."""
    name = name.removeprefix("linalg_")
    if name not in _CASTABLE:
        return None
    word = field or ("eigenvalues" if name == "eigvals" else "result")
    return f"{_CASTABLE[name]}: Expected {word} to be safely castable from {result} dtype, but got {word} with dtype {out}"


CPP_NAMES = {
    "Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int", "Int": "int",
    "Short": "short int", "Char": "signed char", "Byte": "unsigned char", "Bool": "bool", "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>",
}  # fmt: skip


def check_out_dtype(name: str, result: str, out: str, field: str = "") -> None:
    """Refuses ``out`` of another dtype where a function does not convert; dtypes by their names in messages, ``Float``.

    ``field`` is the result's name, where there are several.

    Raises:
        RuntimeError: in the function's own words.
    """
    words = _EXACT_OUT.get(name) or _EXACT_OUT.get(f"{name}.{field}")
    if words is not None and not (out == "Byte" and name in ("all", "any")):
        cpp = {"its_cpp": CPP_NAMES.get(result, result), "mine_cpp": CPP_NAMES.get(out, out)}
        raise RuntimeError(words.format(name=name, its=result, mine=out, flag="True" if result == "Int" else "False", **cpp))


#: The types whose C counterparts PyTorch names with their module.
_NAMED = {"dtype": "torch.dtype", "device": "torch.device", "layout": "torch.layout", "memory_format": "torch.memory_format",
          "Size": "torch.Size", "Generator": "torch._C.Generator"}  # fmt: skip


def type_name(value: Any) -> str:
    """The name of a value's type, as messages give it: C types of other packages with their modules."""
    kind = type(value)
    if kind.__module__.startswith("jtorch"):
        return _NAMED.get(kind.__name__, "Tensor" if kind.__module__.startswith("jtorch.sparse") else kind.__name__)
    heap_type = kind.__flags__ & (1 << 9)
    return kind.__name__ if heap_type or kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def must_be_tensor(function: str, argument: str, position: int, value: object) -> TypeError:
    """The TypeError for a wrong operand: ``add(): argument 'other' (position 2) must be Tensor, not str``."""
    return TypeError(f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type_name(value)}")


def not_offered(name: str, why: str) -> NotImplementedError:
    """The error of everything that jtorch leaves out: it names the function and the reason."""
    return NotImplementedError(f"{name} is not offered by jtorch: {why}")


class LinAlgError(RuntimeError):
    """A linear algebra function was given an operand that it cannot solve, such as a singular matrix."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # as it says in what programs print
LinAlgError.__module__ = "torch._C"
