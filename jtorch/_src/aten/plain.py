"""Kernels of operators that no public function computes: the inner halves of functions, and
derivatives that are operators themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind import assertions
from ..bind.bound import BOUND
from ..bind.everything import _C, L, M, T
from ..facts import dtypes
from ..facts.devices import device
from ..facts.layouts import preserve_format
from ..ops.distance import DISTANCE_MODES
from ..tensor.indexing import as_positions, getitem, mask_of_bytes, setitem
from ..tensor.views import _slice
from .kernels import kernel
from .overloads import aten
from .pulling import through

if TYPE_CHECKING:
    from ..facts.kinds import Tree, Values
    from .overloads import OpOverloadPacket


A = aten


# ---- copies and conversions ----------------------------------------------------------------------


@kernel(A._to_copy)
def _to_copy(
    self: Tensor, *, dtype: dtypes.dtype | None = None, layout: object = None,
    device: device | None = None,
    pin_memory: object = None, non_blocking: bool = False, memory_format: object = None,
) -> Tensor:  # fmt: skip
    del layout, pin_memory, non_blocking
    made = self.to(device=device, dtype=dtype, memory_format=memory_format)
    return T.clone(made) if made is self else made


@kernel(A.alias)
def alias(self: Tensor) -> Tensor:
    return self.view(self._aval.shape) if self._aval.ndim else self.view(())


@kernel(A.lift_fresh, A.lift)
def lift(self: Tensor) -> Any:
    return self


@kernel(A.resize)
def resize(self: Tensor, size: list[int], *, memory_format: Any = None) -> Tensor:
    """Unlike the method of that name, it may give another number of elements."""
    return self.clone().resize_(
        tuple(size), **({} if memory_format is None else {"memory_format": memory_format})
    )


@kernel(A.lift_fresh_copy)
def lift_fresh_copy(self: Tensor) -> Tensor:
    return T.clone(self)


@kernel(A._unsafe_view, A._reshape_alias)
def _unsafe_view(self: Tensor, size: Values, stride: object = None) -> Tensor:
    del stride
    return self.view(size)


@kernel(A.view.dtype)
def view_dtype(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    return self.view(dtype)


@kernel(A._conj)
def _conj(self: Tensor) -> Tensor:
    return T.conj(self)


@kernel(A._conj_physical)
def _conj_physical(self: Tensor) -> Tensor:
    return T.conj_physical(self)


@kernel(A._local_scalar_dense)
def _local_scalar_dense(self: Tensor) -> float | int:
    return self.detach().item()


@kernel(A._assert_scalar)
def _assert_scalar(self: Tensor, assert_msg: str) -> None:
    if not self:
        raise RuntimeError(assert_msg)


@kernel(A._assert_async)
def _assert_async(self: Tensor) -> None:
    assertions._assert_async(self)


@kernel(A._assert_async.msg)
def _assert_async_msg(self: Tensor, assert_msg: str) -> None:
    assertions._assert_async(self, assert_msg)


@kernel(A._assert_tensor_metadata)
def _assert_tensor_metadata(
    a: Tensor,
    size: list[int] | None = None,
    stride: list[int] | None = None,
    dtype: dtypes.dtype | None = None,
    *,
    device: object = None,
    layout: object = None,
) -> None:
    assertions._assert_tensor_metadata(a, size, stride, dtype, device=device, layout=layout)


@kernel(A.slice)
def slice_(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    return _slice(self, dim % self._aval.ndim if self._aval.ndim else dim, start, end, step)


@kernel(A.clone)
def clone(self: Tensor, *, memory_format: object = preserve_format) -> Any:
    return T.clone(self, memory_format=preserve_format if memory_format is None else memory_format)


@kernel(A.split.Tensor)
def split(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    return list(T.split(self, split_size, dim))


@kernel(A.split_with_sizes, A.unsafe_split_with_sizes)
def split_with_sizes(self: Tensor, split_sizes: list[int], dim: int = 0) -> list[Tensor]:
    return list(T.split_with_sizes(self, split_sizes, dim))


@kernel(A.squeeze.dims)
def squeeze_dims(self: Tensor, dim: list[int]) -> object:
    return T.squeeze(self, tuple(dim))


@kernel(A.detach_)
def detach_(self: Tensor) -> Tensor:
    return self


def _filled(name: str, functional: str | None = None) -> None:
    """The form that does not write of an operator that fills a tensor."""

    @kernel(getattr(A, functional or name))
    def fill(self: Tensor, *args: object, **kwargs: object) -> Tensor:
        return getattr(T.clone(self), f"{name}_")(*args, **kwargs)


for _name in ("cauchy", "exponential", "geometric", "log_normal", "random", "uniform", "zero"):
    _filled(_name)
_filled("normal", "normal_functional")


@kernel(A.copy)
def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Any:
    del non_blocking
    return BOUND["_C._copy"].core(self, src)


@kernel(A.diagonal_copy)
def diagonal_copy(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return T.diagonal(self, offset, dim1, dim2).clone()


@kernel(A.as_strided)
def as_strided(self: Tensor, size: object, stride: object, storage_offset: object = None) -> Tensor:
    return T.as_strided(self, size, stride, storage_offset)


@kernel(A.scalar_tensor)
def scalar_tensor(
    s: float,
    *,
    dtype: dtypes.dtype | None = None,
    layout: dtypes.layout | None = None,
    device: device | None = None,
    pin_memory: object = None,
) -> Tensor:
    del layout, pin_memory
    return T.tensor(s, dtype=dtypes.get_default_dtype() if dtype is None else dtype, device=device)


@kernel(A.arange, A.arange.start, A.arange.start_step)
def arange(*args: object, **kwargs: object) -> Any:
    return T.arange(*args, **kwargs)


@kernel(A.eye.m)
def eye(n: int, m: int, **kwargs: object) -> Any:
    return T.eye(n, m, **kwargs)


@kernel(A.randint, A.randint.low)
def randint(*args: object, **kwargs: object) -> Any:
    return T.randint(*args, **kwargs)


# ---- indexing ------------------------------------------------------------------------------------


@kernel(A.index, A._unsafe_index)
def index(self: Tensor, indices: list[Tensor | None]) -> Tensor:
    return getitem(self, tuple(_full(indices)))


def _full(indices: Iterable[object]) -> list[object]:
    return [slice(None) if i is None else i for i in indices]


@kernel(A.index_put)
def index_put(self: Tensor, indices: object, values: object, accumulate: bool = False) -> Tensor:
    made = T.clone(self)
    return index_put_(made, indices, values, accumulate)


@kernel(A.index_put_, A._index_put_impl_)
def index_put_(
    self: Tensor,
    indices: list[Tensor],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor:
    del unsafe
    if all(i is not None for i in indices):
        return self.index_put_(tuple(indices), values, accumulate)
    if not accumulate:
        setitem(self, tuple(_full(indices)), values)
        return self
    advanced, dim = [], 0
    for i in indices:
        if i is not None:
            i = mask_of_bytes(i) if i.dtype is dtypes.uint8 else i
            advanced.append((dim, i))
        dim += max(i.dim(), 1) if i is not None and i.dtype is dtypes.bool_ else 1
    # which counts repeated positions
    return self.copy_(_C._index_put(self, as_positions(self, advanced), values, True))


@kernel(A.select_backward)
def select_backward(grad_output: Tensor, input_sizes: list[int], dim: int, index: int) -> Tensor:
    return T.select_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, index)


@kernel(A.slice_backward)
def slice_backward(
    grad_output: Tensor, input_sizes: list[int], dim: int, start: int, end: int, step: int
) -> Tensor:
    return T.slice_scatter(
        grad_output.new_zeros(input_sizes),
        grad_output,
        dim,
        start,
        min(end, input_sizes[dim]),
        step,
    )


@kernel(A.diagonal_backward)
def diagonal_backward(
    grad_output: Tensor, input_sizes: list[int], offset: int, dim1: int, dim2: int
) -> Tensor:
    return T.diagonal_scatter(grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


@kernel(A.unfold)
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return M.unfold(self, dimension, size, step)


# ---- products, norms, statistics -----------------------------------------------------------------


@kernel(A._cdist_forward, A.cdist)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    if compute_mode not in (None, 0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    return T.cdist(x1, x2, p, DISTANCE_MODES[compute_mode or 0])


@kernel(A.tensordot)
def tensordot(self: Tensor, other: object, dims_self: Any, dims_other: Any) -> Any:
    return T.tensordot(self, other, (tuple(dims_self), tuple(dims_other)))


@kernel(A.stft.default)
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: object = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    return T.stft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        center=False,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )


@kernel(A._cdist_backward)
def _cdist_backward(grad: object, x1: Tensor, x2: Tensor, p: float, cdist: object) -> Any:
    del cdist
    return through(lambda x: T.cdist(x, x2, p, DISTANCE_MODES[2]), x1, grad)


@kernel(A._trilinear)
def _trilinear(
    i1: Any,
    i2: Any,
    i3: Any,
    expand1: Iterable[object],
    expand2: Iterable[object],
    expand3: Iterable[object],
    sumdim: object,
    unroll_dim: int = 1,
) -> Any:
    del unroll_dim
    a, b, c = i1, i2, i3
    for d in expand1:
        a = a.unsqueeze(d)
    for d in expand2:
        b = b.unsqueeze(d)
    for d in expand3:
        c = c.unsqueeze(d)
    return (a * b * c).sum(sumdim)


@kernel(A.linalg_vector_norm)
def linalg_vector_norm(
    self: Tensor,
    ord: object = 2,
    dim: list[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
) -> Tensor:
    return L.vector_norm(self, ord, None if dim is None else tuple(dim), keepdim, dtype=dtype)


@kernel(A.norm.ScalarOpt_dim, A.norm.Scalar, A.norm.ScalarOpt_dim_dtype)
def norm(
    self: Tensor,
    p: object = None,
    dim: list[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
) -> Tensor:
    return L.vector_norm(
        self, 2 if p is None else p, None if dim is None else tuple(dim), keepdim, dtype=dtype
    )


@kernel(A.var.correction)
def var(
    self: Tensor, dim: list[int] | None = None, *, correction: object = None, keepdim: bool = False
) -> Tensor:
    return T.var(
        self,
        None if dim is None else tuple(dim),
        correction=1 if correction is None else correction,
        keepdim=keepdim,
    )


@kernel(A.std.correction)
def std(
    self: Tensor, dim: list[int] | None = None, *, correction: object = None, keepdim: bool = False
) -> Tensor:
    return T.std(
        self,
        None if dim is None else tuple(dim),
        correction=1 if correction is None else correction,
        keepdim=keepdim,
    )


@kernel(A.var_mean.correction)
def var_mean(
    self: Tensor, dim: list[int] | None = None, *, correction: object = None, keepdim: bool = False
) -> tuple[Tensor, ...]:
    return T.var_mean(
        self,
        None if dim is None else tuple(dim),
        correction=1 if correction is None else correction,
        keepdim=keepdim,
    )


@kernel(A.std_mean.correction)
def std_mean(
    self: Tensor, dim: Any = None, *, correction: object = None, keepdim: bool = False
) -> tuple[Tensor, ...]:
    return T.std_mean(
        self,
        None if dim is None else tuple(dim),
        correction=1 if correction is None else correction,
        keepdim=keepdim,
    )


def _by_correction(packet: OpOverloadPacket) -> None:
    """The older overloads of a statistic: they say whether it is that of a sample."""

    @kernel(packet.default)
    def whole(self: Tensor, unbiased: bool = True) -> Tree:
        return packet.correction(self, correction=int(unbiased))

    @kernel(packet.dim)
    def along(
        self: Tensor, dim: object, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, ...] | Tensor:
        return packet.correction(self, dim, correction=int(unbiased), keepdim=keepdim)


for _packet in (A.var, A.std, A.var_mean, A.std_mean):
    _by_correction(_packet)


@kernel(A._unique)
def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    return _unique2(self, sorted, return_inverse)[:2]


@kernel(A._unique2)
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, ...]:
    return _asked(
        BOUND["_C._unique2"].core(self, sorted, return_inverse, return_counts),
        return_inverse,
        return_counts,
    )


@kernel(A.unique_consecutive)
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, ...]:
    found = BOUND["_C._unique_consecutive"].core(self, return_inverse, return_counts, dim)
    rows = dim is not None and (dim, self._aval.ndim) != (0, 1)
    return found if rows else _asked(found, return_inverse, return_counts)


def _asked(found: tuple[Tensor, ...], inverse: bool, counts: bool) -> tuple[Tensor, ...]:
    """What was not asked for is empty."""
    values, at, numbers = found
    return (
        values,
        at if inverse else at.new_empty((0,)),
        numbers if counts else numbers.new_empty((0,)),
    )


@kernel(A.unique_dim)
def unique_dim(
    self: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, ...]:
    del sorted, return_inverse, return_counts
    return T.unique(self, True, True, True, dim)


@kernel(A.floor_divide)
def floor_divide(self: Tensor, other: object) -> Any:
    return T.floor_divide(self, other) if hasattr(self, "_aval") else M.__rfloordiv__(other, self)


for _operator, _function in (
    (A.__and__, T.bitwise_and), (A.__or__, T.bitwise_or), (A.__xor__, T.bitwise_xor),
    (A.__lshift__, T.bitwise_left_shift), (A.__rshift__, T.bitwise_right_shift),
):  # fmt: skip
    kernel(_operator)(lambda self, other, function=_function: function(self, other))
