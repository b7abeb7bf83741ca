"""Factories: constants, ranges, identity, triangle positions and windows. Their kernels take no
tensor, or one to be like.

Whatever the binding adds for all of them (``out``, ``layout``, ``device``, ``pin_memory``,
``requires_grad``) is not seen here.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..facts.dtypes import default_complex, from_np, get_default_dtype
from ._declare import Array, Dtype, Number, op
from ._facts import schemas
from ._fitting import number_as
from ._kernel import cast
from ._numeric import multiply_add, rounded
from ._sizes import counted, fewer


def factory(**options: object):
    """Declares an op of the factory family."""
    return op(
        **{"family": "factory", "differentiable": False, "method": False, "out": True, **options}
    )


def like(**options: object):
    """Declares a factory that takes shape and dtype from a tensor, whose values it never reads."""
    return op(
        **{
            "family": "like",
            "differentiable": False,
            "elementwise": True,
            "saves": (),
            "method": False,
            **options,
        }
    )


def _sizes(name: str, size: tuple[int, ...]) -> tuple[int, ...]:
    for n in size:
        if n < 0:
            if name == "zeros":
                raise RuntimeError("zeros: Dimension size must be non-negative.")
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    return tuple(size)


def _default(dtype: Dtype | None) -> np.dtype:
    return get_default_dtype().np if dtype is None else dtype


@factory(varargs="size", aten="zeros")
@schemas("(SymInt[] size, ...) -> Tensor")
def zeros(size: tuple[int, ...], *, dtype: Dtype | None = None) -> Array:
    """A tensor of zeros.

    Args:
        size: the sizes, spread or in one tuple.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: the sizes given, spread or as one sequence.
    Dtypes: the default dtype unless ``dtype`` says otherwise.

    Raises:
        RuntimeError: if a size is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
    return jnp.zeros(_sizes("zeros", size), _default(dtype))


@factory(varargs="size", aten="ones")
@schemas("(SymInt[] size, ...) -> Tensor")
def ones(size: tuple[int, ...], *, dtype: Dtype | None = None) -> Array:
    """A tensor of ones.

    Args:
        size: the sizes, spread or in one tuple.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: the sizes given, spread or as one sequence.
    Dtypes: the default dtype unless ``dtype`` says otherwise.

    Raises:
        RuntimeError: if a size is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.ones(3, dtype=torch.int64)
        tensor([1, 1, 1])
    """
    return jnp.ones(_sizes("ones", size), _default(dtype))


@factory(varargs="size", aten="empty.memory_format", unwritten=True)
@schemas(".memory_format(SymInt[] size, ..., MemoryFormat? memory_format=None) -> Tensor")
def empty(size: tuple[int, ...], *, dtype: Dtype | None = None) -> Array:
    """A tensor whose values the caller means to overwrite.

    Args:
        size: the sizes, spread or in one tuple.
        memory_format: how the result's dimensions lie in memory.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: the sizes given, spread or as one sequence.
    Dtypes: the default dtype unless ``dtype`` says otherwise.

    Raises:
        RuntimeError: if a size is negative.

    Differs from torch: they are zeros, unless deterministic algorithms are asked for.

    Example:
        >>> import jtorch as torch
        >>> torch.empty(2, 0).shape
        torch.Size([2, 0])
    """
    return jnp.zeros(_sizes("empty", size), _default(dtype))


@op(namespace="_C", name="_unwritten", differentiable=False, elementwise=True, saves=())
def _unwritten(input: Array) -> Array:
    """What memory holds in the place of ``input`` that nobody wrote, where deterministic algorithms
    are asked for.

    Dtypes: NaN of numbers that have it (complex: as the real part), True, else the largest number.
    """
    dtype = input.dtype
    if dtype == np.bool_:
        return jnp.ones(input.shape, dtype)
    return jnp.full(
        input.shape, jnp.iinfo(dtype).max if jnp.issubdtype(dtype, jnp.integer) else np.nan, dtype
    )


def _number_dtype(value: Array | Number) -> np.dtype:
    """The dtype that a number gives a tensor made of it: bool, int64, or the default floating or
    complex type."""
    kind = jnp.asarray(value).dtype.kind
    if kind == "b":
        return np.dtype(bool)
    if kind in "iu":
        return np.dtype(np.int64)
    return default_complex().np if kind == "c" else get_default_dtype().np


@factory(aten="full")
@schemas("(SymInt[] size, Scalar fill_value, ...) -> Tensor")
def full(size: tuple[int, ...], fill_value: Number, *, dtype: Dtype | None = None) -> Array:
    """A tensor of one number.

    Args:
        size: the sizes in a tuple.
        fill_value: the number that all elements have.
        dtype: the dtype of the result; that of the number (bool, int64, the default dtype, a
            complex one) if it is None.

    Shapes: ``size``.
    Dtypes: ``dtype``, by default that of the number's kind: bool, int64, or the default floating or
    complex type.

    Raises:
        RuntimeError: if the number does not fit the dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """
    wanted = _number_dtype(fill_value) if dtype is None else dtype
    return jnp.broadcast_to(number_as(fill_value, wanted), _sizes("full", size))


@factory(out=False, aten="scalar_tensor")
def scalar_tensor(s: Number, *, dtype: Dtype | None = None) -> Array:
    """A 0-dim tensor of one number, of the default floating type unless ``dtype`` says otherwise.

    Shapes: ().
    Dtypes: ``dtype``, by default the default floating type.

    Raises:
        RuntimeError: if the number does not fit the dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.scalar_tensor(3)
        tensor(3.)
    """
    return number_as(s, _default(dtype))


@factory(namespace="_C", aten="scalar_tensor")
def _scalar(s: Number, *, dtype: Dtype) -> Array:
    """A 0-dim tensor of a number that is known to fit ``dtype``."""
    return _cast(s, dtype)


@factory(namespace="_C", sequence=True, aten="arange.start_step")
def _arange(start: Number, step: Number, length: int, *, dtype: Dtype | None = None) -> Array:
    """``start + step * i`` for ``i`` below ``length``. The public function counts the length.

    Floats are computed as PyTorch does it on processors with registers of 32 bytes: pairs of
    registers are filled from a first number that is rounded to the dtype, and what is left over one
    by one.
    """
    wanted = np.dtype(_default(dtype))
    if wanted.kind in "iu":
        whole = np.dtype(np.int64)
        place = lax.broadcasted_iota(whole, (length,), 0)  # (of a size that may not be known)
        return (_cast(start, whole) + _cast(step, whole) * place).astype(wanted)
    wide = np.dtype(np.float32 if wanted.itemsize < 4 else np.float64)
    start, step = _cast(start, wide), _cast(step, wide)

    def moved(start: Array, count: Array) -> Array:
        count = count.astype(wide)
        # beside single precision the second rounding of doubles is nothing
        found = start + step * count if wanted == np.float32 else multiply_add(step, count, start)
        return found.astype(wanted)

    lanes = 32 // wanted.itemsize
    if type(length) is int:
        registers = length // (2 * lanes) * 2
        first = moved(start, lanes * lax.iota(np.int64, registers)).astype(wide)
        together = moved(first[:, None], lax.iota(np.int64, lanes)[None]).reshape(-1)
        left = registers * lanes + lax.iota(np.int64, length - registers * lanes)
        return jnp.concatenate([together, moved(start, left)])
    place = lax.broadcasted_iota(np.int64, (length,), 0)
    filled = place // lanes * lanes
    together = moved(moved(start, filled).astype(wide), place - filled)
    whole = counted(length, np.dtype(np.int64)) // (2 * lanes) * (2 * lanes)
    return jnp.where(place < whole, together, moved(start, place))


def _cast(number: Array | Number, dtype: np.dtype) -> Array:
    return jnp.asarray(number).astype(dtype)


def _steps(steps: int) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


def _line(
    start: Array | Number, end: Array | Number, steps: int, dtype: np.dtype, wide: np.dtype
) -> Array:
    """Evenly spaced values counted from the nearer end, as torch does, so that both ends are exact.
    Of integers, the ends are cut first."""
    first, last = _cast(start, wide), _cast(end, wide)
    if dtype.kind in "iu":
        first, last = jnp.trunc(first), jnp.trunc(last)
    if steps == 1:
        return first.reshape(1)
    real = np.zeros((), wide).real.dtype
    step = _parted(last - first, steps - 1)
    i = lax.iota(np.int64, steps)

    def moved(place: Array, step: Array, count: Array) -> Array:
        if wide.kind == "c":
            parts = zip(*[(jnp.real(v), jnp.imag(v)) for v in (step, place)], strict=True)
            return lax.complex(*(multiply_add(a, count, b) for a, b in parts))
        return multiply_add(step, count, place)

    forth = moved(first, step, i.astype(real))
    back = moved(last, -step, (steps - 1 - i).astype(real))
    return jnp.where(i < steps // 2, forth, back)


def _parted(x: Array, count: int) -> Array:
    """``x / count`` as the processor divides: XLA multiplies by the reciprocal of a constant."""
    if x.dtype.kind == "c":
        return lax.complex(_parted(jnp.real(x), count), _parted(jnp.imag(x), count))
    if x.dtype == np.float32:  # a quotient of doubles is as if it had been rounded once
        return (x.astype(np.float64) / counted(count, np.dtype(np.float64))).astype(np.float32)
    return x / lax.optimization_barrier(jnp.asarray(counted(count, x.dtype)))


def _line_dtype(start: Array | Number, end: Array | Number, dtype: Dtype | None) -> np.dtype:
    if dtype is not None:
        return np.dtype(dtype)
    kinds = {jnp.asarray(x).dtype.kind for x in (start, end)}
    return default_complex().np if "c" in kinds else get_default_dtype().np


def _wide(dtype: np.dtype) -> np.dtype:
    """The type a line is computed in: float64 for integers, float32 for halves."""
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


@factory(namespace="_C", sequence=True, aten="linspace")
def _linspace(start: Number, end: Number, steps: int, *, dtype: Dtype | None = None) -> Array:
    """``steps`` evenly spaced values from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: if ``steps`` is negative.
    """
    _steps(steps)
    wanted = _line_dtype(start, end, dtype)
    wide = _wide(wanted)
    if wide != wanted and wanted.kind not in "biu":
        return _half_line(_cast(start, wide), _cast(end, wide), steps, wanted)
    return cast(_line(start, end, steps, wanted, wide), wanted)


def _half_line(first: Array, last: Array, steps: int, dtype: np.dtype) -> Array:
    """A line of halves: torch rounds after each operation, also the positions."""

    def half(x: Array) -> Array:
        return rounded(x, dtype).astype(np.float32)

    first, last = half(first), half(last)
    if steps == 1:
        return first.reshape(1).astype(dtype)
    step = half(half(last - first) / half(jnp.asarray(steps - 1, np.float32)))
    i = lax.iota(np.int64, steps)
    forth = first + half(step * half(i.astype(np.float32)))
    back = last - half(step * half((steps - 1 - i).astype(np.float32)))
    return rounded(jnp.where(i < steps // 2, forth, back), dtype)


def _exponents(start: Array | Number, end: Array | Number, steps: int, dtype: np.dtype) -> Array:
    """A line in double precision between numbers of a real ``dtype``, whose difference is of it,
    too, if it has fractions; the start alone is as it was given."""
    wide = np.dtype(np.float64)
    if steps == 1:
        return _cast(start, wide).reshape(1)
    first, last = (cast(_cast(x, wide), dtype).astype(wide) for x in (start, end))
    apart = last - first if dtype.kind in "biu" else (last - first).astype(dtype).astype(wide)
    step = apart / counted(steps - 1, wide)
    i = lax.iota(np.int64, steps)
    forth = first + step * i.astype(np.float64)
    back = last - step * (steps - 1 - i).astype(np.float64)
    return jnp.where(i < steps // 2, forth, back)


@factory(namespace="_C", sequence=True, aten="logspace")
def _logspace(
    start: Number, end: Number, steps: int, base: float = 10.0, *, dtype: Dtype | None = None
) -> Array:
    """``base`` to the power of ``steps`` evenly spaced exponents from ``start`` to ``end``, both
    included. The ends are of the dtype, exponents and powers in double precision."""
    _steps(steps)
    wanted = _line_dtype(start, end, dtype)
    if wanted.kind == "c":
        wide = np.dtype(np.complex128)
        line = _line(start, end, steps, wanted, wide)
        return jnp.power(jnp.asarray(base, wide), line).astype(wanted)
    wide = np.dtype(np.float64)
    line = _exponents(start, end, steps, wanted)
    powers = jnp.power(jnp.asarray(base, wide), line)
    if wanted.kind not in "biu":
        return powers.astype(wanted)
    # Powers such as 10 ** 3 come out a hair below the integer; nothing that torch rounds down is
    # that close.
    nearest = jnp.round(powers)
    return cast(
        jnp.where(jnp.abs(powers - nearest) <= 1e-9 * jnp.abs(nearest), nearest, powers), wanted
    )


@factory(aten="eye")
@schemas("(SymInt n, ...) -> Tensor", ".m(SymInt n, SymInt m, ...) -> Tensor")
def eye(n: int, m: int | None = None, *, dtype: Dtype | None = None) -> Array:
    """An ``n`` by ``m`` matrix (square by default) with ones on the diagonal and zeros elsewhere.

    Args:
        n: the number of rows.
        m: the number of columns; ``n`` if it is None.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: (n, m).
    Dtypes: the default dtype unless ``dtype`` says otherwise.

    Raises:
        RuntimeError: if a size is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2, 3)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    columns = n if m is None else m
    for name, size in (("n", n), ("m", columns)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    wanted = _default(dtype)
    if fewer(limits.MOST, n * columns):
        raise RuntimeError(limits.UNCOUNTABLE)
    if not n * columns:
        return jnp.zeros((n, columns), wanted)  # neither are the positions that would be compared
    return (
        lax.broadcasted_iota(np.int32, (n, columns), 0)
        == lax.broadcasted_iota(np.int32, (n, columns), 1)
    ).astype(wanted)


def _triangle_positions(
    name: str, row: int, col: int, offset: int, dtype: Dtype | None, lower: bool
) -> Array:
    for axis, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{axis} must be non-negative, got{size}")
    wanted = np.dtype(np.int64) if dtype is None else np.dtype(dtype)
    if wanted not in (np.int32, np.int64):
        raise NotImplementedError(f"\"{name}\" not implemented for '{from_np(wanted).scalar_name}'")
    offset = max(-row, min(offset, col))
    count = _triangle_count(row, col, offset if lower else offset - 1)
    count = count if lower else row * col - count
    limits.check_size((2, count), wanted.itemsize)
    # In row ``i``: columns from ``first`` on, ``width`` many.
    i = np.arange(row if col else 0, dtype=np.int64)
    edge = np.clip(i + offset + (1 if lower else 0), 0, col)
    first, width = (np.zeros_like(edge), edge) if lower else (edge, col - edge)
    rows = np.repeat(i, width)
    columns = np.arange(len(rows), dtype=np.int64) - np.repeat(
        np.cumsum(width) - width - first, width
    )
    return jnp.asarray(np.stack((rows, columns)).astype(wanted))


def _triangle_count(row: int, col: int, offset: int) -> int:
    """How many elements of a matrix lie on or below a diagonal:
    ``sum(clip(i + offset + 1, 0, col))``."""
    # rows that grow, from the first with an element to the first full one
    begin, end = max(0, -offset), max(0, min(row, col - offset))
    growing = max(0, end - begin)
    return growing * (begin + offset + 1 + end + offset) // 2 + max(0, row - max(end, 0)) * col


@factory(out=False, aten="tril_indices")
@schemas(
    "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
)
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None) -> Array:
    """Rows and columns, ``(2, n)``, of the lower triangle of a ``row`` by ``col`` matrix, up to
    diagonal ``offset``.

    Shapes: (2, n) for n elements.
    Dtypes: int64, or int32 if ``dtype`` says so.

    Raises:
        RuntimeError: if ``row`` or ``col`` is negative.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _triangle_positions("tril_indices", row, col, offset, dtype, True)


@factory(out=False, aten="triu_indices")
@schemas(
    "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
)
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Dtype | None = None) -> Array:
    """Rows and columns, ``(2, n)``, of the upper triangle of a ``row`` by ``col`` matrix, from
    diagonal ``offset`` on.

    Shapes: (2, n) for n elements.
    Dtypes: int64, or int32 if ``dtype`` says so.

    Raises:
        RuntimeError: if ``row`` or ``col`` is negative.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.triu_indices(2, 3, 1)
        tensor([[0, 0, 1],
                [1, 2, 2]])
    """
    return _triangle_positions("triu_indices", row, col, offset, dtype, False)


# ---- windows: constants of their length, computed by NumPy in float64 ----------------------------


def _window(name: str, length: int, periodic: bool, dtype: Dtype | None, formula) -> Array:
    """A window of ``length``; a periodic one is the longer symmetric one without its last value.
    ``formula(i, last)``."""
    if length < 0:
        raise RuntimeError(
            f"{name}_window requires non-negative window_length, got window_length={length}"
        )
    wanted = np.dtype(_default(dtype))
    if wanted.kind in "biuc":
        raise RuntimeError(f"{name}_window expects floating point dtypes, got: {from_np(wanted)!r}")
    if length <= 1:
        return jnp.ones((length,), wanted)
    limits.check_size((length,), wanted.itemsize)
    last = length if periodic else length - 1
    return jnp.asarray(np.asarray(formula(np.arange(length, dtype=np.float64), last)), wanted)


def _cosines(*coefficients: float):
    """``c0 - c1 cos(x) + c2 cos(2x) - ...`` over one turn."""

    def formula(i: np.ndarray, last: int) -> np.ndarray:
        return sum(
            (
                (-1) ** k * c * np.cos(2 * math.pi * k * i / last)
                for k, c in enumerate(coefficients)
            ),
            np.zeros(len(i)),
        )

    return formula


@factory(aten="hann_window")
@schemas(
    "(int window_length, ...) -> Tensor",
    ".periodic(int window_length, bool periodic, ...) -> Tensor",
)
def hann_window(window_length: int, periodic: bool = True, *, dtype: Dtype | None = None) -> Array:
    """The Hann window: a raised cosine. A ``periodic`` one is the symmetric one of one value more,
    without its last.

    Shapes: (window_length).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if the length is negative or the dtype not floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
        >>> torch.hann_window(3, periodic=False)
        tensor([0., 1., 0.])
    """
    return _window("hann", window_length, periodic, dtype, _cosines(0.5, 0.5))


@factory(aten="hamming_window")
@schemas(
    "(int window_length, ...) -> Tensor",
    ".periodic(int window_length, bool periodic, ...) -> Tensor",
    ".periodic_alpha(int window_length, bool periodic, float alpha, ...) -> Tensor",
    ".periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, ...) -> "
    "Tensor",
)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Dtype | None = None,
) -> Array:
    """The Hamming window: ``alpha - beta * cos``. ``periodic`` as for ``hann_window``.

    Shapes: (window_length).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if the length is negative or the dtype not floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window("hamming", window_length, periodic, dtype, _cosines(alpha, beta))


@factory(aten="blackman_window")
@schemas(
    "(int window_length, ...) -> Tensor",
    ".periodic(int window_length, bool periodic, ...) -> Tensor",
)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Dtype | None = None
) -> Array:
    """The Blackman window: three cosine terms. ``periodic`` as for ``hann_window``.

    Shapes: (window_length).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if the length is negative or the dtype not floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return _window("blackman", window_length, periodic, dtype, _cosines(0.42, 0.5, 0.08))


@factory(aten="bartlett_window")
@schemas(
    "(int window_length, ...) -> Tensor",
    ".periodic(int window_length, bool periodic, ...) -> Tensor",
)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Dtype | None = None
) -> Array:
    """The Bartlett window: a triangle that reaches zero. ``periodic`` as for ``hann_window``.

    Shapes: (window_length).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if the length is negative or the dtype not floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett", window_length, periodic, dtype, lambda i, last: 1 - np.abs(2 * i / last - 1)
    )


@factory(aten="kaiser_window")
@schemas(
    "(int window_length, ...) -> Tensor",
    ".periodic(int window_length, bool periodic, ...) -> Tensor",
    ".beta(int window_length, bool periodic, float beta, ...) -> Tensor",
)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Dtype | None = None
) -> Array:
    """The Kaiser window: a ratio of Bessel functions of shape ``beta``. ``periodic`` as for
    ``hann_window``.

    Shapes: (window_length).
    Dtypes: the default dtype unless ``dtype`` names another floating-point one.

    Raises:
        RuntimeError: if the length is negative or the dtype not floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.kaiser_window(4, True, 2.0)
        tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """

    def formula(i: np.ndarray, last: int) -> np.ndarray:
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * i / last - 1) ** 2, 0))) / np.i0(
            np.float64(beta)
        )

    return _window("kaiser", window_length, periodic, dtype, formula)


# ---- like another tensor -------------------------------------------------------------------------


@like(aten="zeros_like")
def zeros_like(input: Array, *, dtype: Dtype | None = None) -> Array:
    """Zeros in the form of another tensor.

    Args:
        input: the tensor whose shape the result has.

    Shapes: that of ``input``.
    Dtypes: that of ``input`` unless ``dtype`` says otherwise.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros_like(torch.tensor([1, 2]))
        tensor([0, 0])
    """
    return jnp.zeros(input.shape, input.dtype if dtype is None else dtype)


@like(aten="ones_like")
def ones_like(input: Array, *, dtype: Dtype | None = None) -> Array:
    """Ones in the form of another tensor.

    Args:
        input: the tensor whose shape the result has.

    Shapes: that of ``input``.
    Dtypes: that of ``input`` unless ``dtype`` says otherwise.

    Example:
        >>> import jtorch as torch
        >>> torch.ones_like(torch.tensor([1, 2]), dtype=torch.float32)
        tensor([1., 1.])
    """
    return jnp.ones(input.shape, input.dtype if dtype is None else dtype)


@like(aten="empty_like", lazy="conj neg", unwritten=True)
def empty_like(input: Array, *, dtype: Dtype | None = None) -> Array:
    """A tensor in the form of another one whose values the caller means to overwrite.

    Args:
        input: the tensor whose shape the result has.

    Shapes: that of ``input``.
    Dtypes: that of ``input`` unless ``dtype`` says otherwise.

    Differs from torch: they are zeros, unless deterministic algorithms are asked for.

    Example:
        >>> import jtorch as torch
        >>> torch.empty_like(torch.ones(2, 0)).shape
        torch.Size([2, 0])
    """
    return jnp.zeros(input.shape, input.dtype if dtype is None else dtype)


@like(aten="full_like", lazy="conj neg")
def full_like(input: Array, fill_value: Number, *, dtype: Dtype | None = None) -> Array:
    """One number in the form of another tensor.

    Args:
        fill_value: the number that all elements have.
        input: the tensor whose shape the result has.

    Shapes: that of ``input``.
    Dtypes: that of ``input`` unless ``dtype`` says otherwise.

    Raises:
        RuntimeError: if the number does not fit the dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.full_like(torch.zeros(3), 7)
        tensor([7., 7., 7.])
    """
    return jnp.broadcast_to(
        number_as(fill_value, input.dtype if dtype is None else dtype), input.shape
    )
