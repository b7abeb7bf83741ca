"""Places in sorted sequences, and membership."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import jax.numpy as jnp
import numpy as np

from ..engine.host.direct import count_nonzero
from ..engine.intervals import in_range
from ..facts import dtypes
from ._axes import take_along
from ._declare import Array, Number, guard_range, op
from ._facts import schemas
from ._hosted import FEW, INT64, REALS, hosted
from ._numeric import is_bool, is_complex, scalar_name, unsupported
from ._order import argsort_along
from ._sizes import counted, fewer
from .indexing import fetch


def list_text(shape: Iterable[object]) -> str:
    """A shape as torch's messages show it."""
    return f"[{', '.join(str(n) for n in shape)}]"


def _right(side: str | None, right: bool) -> bool:
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            f"torch.searchsorted(): side and right can't be set to opposites, got side of {side} "
            "while right was True"
        )
    return side == "right"


_OUT_WORDS = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
    "{mine} and out_int32 flag is {flag}"
)


def _by_numpy(right: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    side = "right" if right else "left"

    def compute(boundaries: np.ndarray, values: np.ndarray) -> np.ndarray:
        last = boundaries[..., -1]
        # where NaN stands among the boundaries, the way of the search matters
        if count_nonzero(last != last):
            return _bisected(boundaries, values, bool(right))
        if boundaries.ndim == 1:
            return boundaries.searchsorted(values, side)
        n = boundaries.shape[-1]
        rows = zip(boundaries.reshape(-1, n), values.reshape(-1, values.shape[-1]), strict=True)
        return np.stack([row.searchsorted(v, side) for row, v in rows]).reshape(values.shape)

    return compute


def _bisected(boundaries: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """``_by_bisection`` of NumPy's arrays."""
    n = boundaries.shape[-1]
    low = np.zeros(values.shape, np.int64)
    for k in range(n.bit_length() - 1, -1, -1):
        following = low + 2**k
        at = np.minimum(following, n) - 1
        found = boundaries[at] if boundaries.ndim == 1 else np.take_along_axis(boundaries, at, -1)
        before = ~(found > values) if right else ~(found >= values)
        low = np.where(before & (following <= n), following, low)
    return low


def _shape(boundaries: object, values: Array, *, right: int) -> tuple[int, ...]:
    del boundaries, right
    return values.shape


@hosted(
    _by_numpy,
    ns=60,
    calls=3,
    dtypes=REALS,
    elementwise=False,
    alike=False,
    most=FEW,
    shape=_shape,
    gives=INT64,
)
def _ranks(boundaries: Array, values: Array, *, right: int) -> Array:
    return _by_bisection(boundaries, values, bool(right))


def ranks(boundaries: Array, values: Array, right: bool) -> Array:
    """Where ``values`` (*A, m) belong in the rows of ``boundaries`` (*A, n), or in ``boundaries``
    (n), which are sorted.

    NaN belongs behind everything.
    """
    if boundaries.shape[-1] == 0 or values.size == 0:
        return jnp.zeros(values.shape, np.int64)
    return in_range(_ranks(boundaries, values, right=int(right)), 0, boundaries.shape[-1])


#: As many as any number of boundaries needs.
_MOST_STEPS = 48


def _by_bisection(boundaries: Array, values: Array, right: bool) -> Array:
    """A binary search over all values at once, by steps of falling powers of two: each is one
    gather."""
    n = boundaries.shape[-1]
    dtype = np.dtype(np.int32 if fewer(n, 2**30) else np.int64)
    last = counted(n, dtype)
    low = jnp.zeros(values.shape, dtype)  # that many boundaries are known to come before
    steps = next((k for k in range(_MOST_STEPS) if fewer(n, 2**k)), _MOST_STEPS)
    for k in range(steps - 1, -1, -1):
        following = low + dtype.type(2**k)
        at = jnp.minimum(following, last) - dtype.type(1)
        found = (
            fetch(boundaries, (at,))
            if boundaries.ndim == 1
            else take_along(boundaries, at, boundaries.ndim - 1)
        )
        # Written with "not", so that NaN goes to the end.
        before = ~(found > values) if right else ~(found >= values)
        low = jnp.where(before & (following <= last), following, low)
    return low.astype(np.int64)


def _common(a: Array, b: Array) -> tuple[Array, Array]:
    entries = tuple(
        (dtypes.from_np(x.dtype), dtypes.DIMENSIONED if x.ndim else dtypes.ZERO_DIM) for x in (a, b)
    )
    target = dtypes.result_type_of(entries).np
    return a.astype(target), b.astype(target)


@op(
    method=False,
    out=True,
    differentiable=False,
    aten="searchsorted.Tensor",
    out_dtype=_OUT_WORDS,
)
@schemas(
    ".Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
    "side=None, Tensor? sorter=None) -> Tensor ; =Tensor_out",
    ".Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
    "side=None, Tensor? sorter=None) -> Tensor ; =Scalar_out",
)
def searchsorted(
    sorted_sequence: Array,
    input: Array | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """The places where ``input`` would be inserted into the innermost dimension of
    ``sorted_sequence`` to keep it sorted.

    ``right`` or ``side="right"`` chooses the last such place, else it is the first. ``sorter``
    holds the order that sorts the sequence.

    Args:
        sorted_sequence: numbers that ascend along the last dimension.
        input: the numbers to find places for.
        out_int32: give int32 instead of int64.
        right: the place behind equal numbers instead of before them.
        side: the same as a word, ``"left"`` or ``"right"``.
        sorter: indices that sort ``sorted_sequence``, where it is not sorted.

    Shapes: sorted_sequence (n) with any input, or (*A, n) with input (*A, m) -> that of the input.

    Dtypes: real ones, compared in their common one -> int64, or int32 if ``out_int32``.

    Raises:
        RuntimeError: if shapes, ``side`` and ``right``, or ``sorter`` do not fit.
        NotImplementedError: for complex tensors, or if both are bool.

    Example:
        >>> import jtorch as torch
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([0, 3, 9]))
        tensor([0, 1, 3])
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), 3, side="right")
        tensor(2)
    """
    last = _right(side, right)
    name = "torch.searchsorted()"
    if sorted_sequence.ndim == 0:
        raise RuntimeError(
            f"{name}: boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if input.ndim == 0 and sorted_sequence.ndim != 1:
        raise RuntimeError(
            f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but "
            f"we got boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) "
            "numel(1)"
        )
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list_text(sorted_sequence.shape)} and input value tensor {list_text(input.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                f"{list_text(sorted_sequence.shape)}and got sorter tensor {list_text(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(
                f"{name}: sorter must be a tensor of long dtype but got dtype "
                f"{scalar_name(sorter.dtype)}"
            )
        guard_range(
            sorter,
            0,
            max(sorted_sequence.shape[-1], 1) - 1,
            RuntimeError,
            f"{name}: sorter index out of range",
        )
        index = jnp.clip(sorter, 0, max(sorted_sequence.shape[-1] - 1, 0))
        sorted_sequence = (
            take_along(sorted_sequence, index, sorted_sequence.ndim - 1)
            if sorter.size
            else sorted_sequence
        )
    boundaries, values = _common(sorted_sequence, input)
    if is_bool(boundaries) or is_complex(boundaries):
        raise unsupported("searchsorted_out_cpu", boundaries)
    found = ranks(boundaries, values if values.ndim else values.reshape(1), last).reshape(
        input.shape
    )
    return found.astype(np.int32) if out_int32 else found


@op(
    method=False,
    out=True,
    differentiable=False,
    aten="bucketize.Tensor",
    out_dtype=_OUT_WORDS,
)
@schemas(
    ".Tensor",
    ".Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor "
    "; =Scalar_out",
)
def bucketize(
    input: Array | Number, boundaries: Array, *, out_int32: bool = False, right: bool = False
) -> Array:
    """The bucket of each element among those that the sorted ``boundaries`` (n) separate; ``right``
    closes buckets on the left side.

    Shapes: boundaries (n) -> that of ``input``.

    Dtypes: real ones, compared in their common one -> int64, or int32 if ``out_int32``.

    Raises:
        RuntimeError: if ``boundaries`` are no vector.
        NotImplementedError: for complex tensors, or if both are bool.

    Example:
        >>> import jtorch as torch
        >>> torch.bucketize(torch.tensor([0, 3, 9]), torch.tensor([1, 3, 5]))
        tensor([0, 1, 3])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op(out=True, method=False, differentiable=False, aten="isin.Tensor_Tensor", out_dtype="expected")
@schemas(
    ".Tensor_Tensor",
    ".Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool "
    "invert=False) -> Tensor ; =Tensor_Scalar_out",
    ".Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool "
    "invert=False) -> Tensor ; =Scalar_Tensor_out",
)
def isin(
    elements: Array | Number,
    test_elements: Array | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Array:
    """Whether each of ``elements`` is among ``test_elements`` (or is not, with ``invert``).
    ``assume_unique`` changes nothing.

    Shapes: that of ``elements``.

    Dtypes: real ones but bool -> bool.

    Raises:
        RuntimeError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.isin(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 3]))
        tensor([[False,  True],
                [ True, False]])
    """
    for x in (elements, test_elements):
        if x.dtype == np.bool_ or is_complex(x):
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {scalar_name(x.dtype)}"
            )
    shape = elements.shape
    if not elements.size:
        return jnp.zeros(shape, np.bool_)
    x, y = (a.reshape(-1) for a in _common(elements, test_elements))
    if y.size <= 16:
        found = jnp.any(x[:, None] == y[None, :], axis=1)
    else:
        ordered = y[argsort_along(y, 0)]
        place = ranks(ordered, x, right=False)
        found = (place < y.size) & (ordered[jnp.minimum(place, y.size - 1)] == x)
    return (~found if invert else found).reshape(shape)
