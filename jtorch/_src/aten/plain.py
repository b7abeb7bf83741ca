"""Kernels of operators that no public function computes: the inner halves of functions, and derivatives that are operators themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd import engine as autograd_engine
from ...autograd.grad_mode import MODE
from ...core import detached
from ..bind.cores import BOUND
from ..bind.everything import PUBLIC
from ..facts import dtypes
from ..facts.layouts import preserve_format
from ..tensor.indexing import getitem, setitem
from ..tensor.views import _slice
from .kernels import kernel

P = PUBLIC


def vjp(fn: Callable[..., Any], tensors: Sequence[Any], grads: Any, mask: Sequence[bool] | None = None) -> list[Any]:
    """The gradients of ``fn``'s tensors (those that ``mask`` wants) from those of its results; differentiable where recording is on."""
    create = MODE.enabled
    wanted: list[Any] = []
    given: list[Any] = []
    for i, t in enumerate(tensors):
        if t is None or (mask is not None and not mask[i]):
            given.append(t)
            continue
        if not (create and t._rg):
            t = detached(t, stops=False)  # forward derivatives go through
            t._rg = t._aval.differentiable
        given.append(t)
        wanted.append(t)
    enabled, MODE.enabled = MODE.enabled, True
    try:
        out = fn(*given)
    finally:
        MODE.enabled = enabled
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    given_grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
    pairs = [(o, g) for o, g in zip(outs, given_grads, strict=False) if g is not None and o._rg]
    found = iter(
        autograd_engine.grad([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=create, allow_unused=True)
        if pairs
        else [None] * len(wanted)
    )
    return [None if t is None or (mask is not None and not mask[i]) else next(found) for i, t in enumerate(tensors)]


def through(fn: Callable[..., Any], x: Any, g: Any) -> Any:
    """The gradient of a function of one tensor."""
    return vjp(fn, [x], g)[0]


# ---- copies and conversions ------------------------------------------------------------------------------------------------------


@kernel("_to_copy")
def _to_copy(
    self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None, non_blocking: bool = False,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    del layout, pin_memory, non_blocking
    made = self.to(device=device, dtype=dtype, memory_format=memory_format)
    return P["clone"](made) if made is self else made


@kernel("alias")
def alias(self: Any) -> Any:
    return self.view(self._aval.shape) if self._aval.ndim else self.view(())


@kernel("lift_fresh", "lift")
def lift(self: Any) -> Any:
    return self


@kernel("lift_fresh_copy")
def lift_fresh_copy(self: Any) -> Any:
    return P["clone"](self)


@kernel("_unsafe_view", "_reshape_alias")
def _unsafe_view(self: Any, size: Any, stride: Any = None) -> Any:
    del stride
    return self.view(size)


@kernel("view.dtype")
def view_dtype(self: Any, dtype: Any) -> Any:
    return self.view(dtype)


@kernel("_conj")
def _conj(self: Any) -> Any:
    return P["conj"](self)


@kernel("_conj_physical")
def _conj_physical(self: Any) -> Any:
    return P["conj_physical"](self)


@kernel("_local_scalar_dense")
def _local_scalar_dense(self: Any) -> Any:
    return self.detach().item()


@kernel("slice")
def slice_(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return _slice(self, dim % self._aval.ndim if self._aval.ndim else dim, start, end, step)


@kernel("clone")
def clone(self: Any, *, memory_format: Any = preserve_format) -> Any:
    return P["clone"](self, memory_format=preserve_format if memory_format is None else memory_format)


@kernel("split.Tensor")
def split(self: Any, split_size: int, dim: int = 0) -> Any:
    return list(P["split"](self, split_size, dim))


@kernel("split_with_sizes", "unsafe_split_with_sizes")
def split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> Any:
    return list(P["split_with_sizes"](self, split_sizes, dim))


@kernel("squeeze.dims")
def squeeze_dims(self: Any, dim: Any) -> Any:
    return P["squeeze"](self, tuple(dim))


@kernel("detach_")
def detach_(self: Any) -> Any:
    return self


@kernel("copy")
def copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    del non_blocking
    return BOUND["_C._copy"].core(self, src)


@kernel("diagonal_copy")
def diagonal_copy(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return P["diagonal"](self, offset, dim1, dim2).clone()


@kernel("as_strided")
def as_strided(self: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    return P["as_strided"](self, size, stride, storage_offset)


@kernel("scalar_tensor")
def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Any:
    del layout, pin_memory
    return P["tensor"](s, dtype=dtypes.get_default_dtype() if dtype is None else dtype, device=device)


@kernel("arange", "arange.start", "arange.start_step")
def arange(*args: Any, **kwargs: Any) -> Any:
    return P["arange"](*args, **kwargs)


@kernel("eye.m")
def eye(n: int, m: int, **kwargs: Any) -> Any:
    return P["eye"](n, m, **kwargs)


@kernel("randint", "randint.low")
def randint(*args: Any, **kwargs: Any) -> Any:
    return P["randint"](*args, **kwargs)


# ---- indexing --------------------------------------------------------------------------------------------------------------------


@kernel("index", "_unsafe_index")
def index(self: Any, indices: Any) -> Any:
    return getitem(self, tuple(_full(indices)))


def _full(indices: Any) -> list[Any]:
    return [slice(None) if i is None else i for i in indices]


@kernel("index_put")
def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    made = P["clone"](self)
    return index_put_(made, indices, values, accumulate)


@kernel("index_put_", "_index_put_impl_")
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    del unsafe
    if all(i is not None for i in indices):
        return self.index_put_(tuple(indices), values, accumulate)
    where = tuple(_full(indices))
    setitem(self, where, getitem(self, where) + values if accumulate else values)
    return self


@kernel("select_backward")
def select_backward(grad_output: Any, input_sizes: Any, dim: int, index: int) -> Any:
    return P["select_scatter"](grad_output.new_zeros(input_sizes), grad_output, dim, index)


@kernel("slice_backward")
def slice_backward(grad_output: Any, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    return P["slice_scatter"](grad_output.new_zeros(input_sizes), grad_output, dim, start, min(end, input_sizes[dim]), step)


@kernel("diagonal_backward")
def diagonal_backward(grad_output: Any, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
    return P["diagonal_scatter"](grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


@kernel("unfold")
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    return P["Tensor.unfold"](self, dimension, size, step)


# ---- products, norms, statistics -------------------------------------------------------------------------------------------------


@kernel("_cdist_forward")
def _cdist_forward(x1: Any, x2: Any, p: float, compute_mode: Any) -> Any:
    del compute_mode
    return P["cdist"](x1, x2, p)


@kernel("cdist")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    del compute_mode  # which way to compute it
    return P["cdist"](x1, x2, p)


@kernel("tensordot")
def tensordot(self: Any, other: Any, dims_self: Any, dims_other: Any) -> Any:
    return P["tensordot"](self, other, (tuple(dims_self), tuple(dims_other)))


@kernel("stft.default")
def stft(
    self: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    return P["stft"](
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


@kernel("_cdist_backward")
def _cdist_backward(grad: Any, x1: Any, x2: Any, p: float, cdist: Any) -> Any:
    del cdist
    return through(lambda x: P["cdist"](x, x2, p), x1, grad)


@kernel("_trilinear")
def _trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int = 1) -> Any:
    del unroll_dim
    a, b, c = i1, i2, i3
    for d in expand1:
        a = a.unsqueeze(d)
    for d in expand2:
        b = b.unsqueeze(d)
    for d in expand3:
        c = c.unsqueeze(d)
    return (a * b * c).sum(sumdim)


@kernel("linalg_vector_norm")
def linalg_vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return P["linalg.vector_norm"](self, ord, None if dim is None else tuple(dim), keepdim, dtype=dtype)


@kernel("norm.ScalarOpt_dim", "norm.Scalar", "norm.ScalarOpt_dim_dtype")
def norm(self: Any, p: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return P["linalg.vector_norm"](self, 2 if p is None else p, None if dim is None else tuple(dim), keepdim, dtype=dtype)


@kernel("var.correction")
def var(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return P["var"](self, None if dim is None else tuple(dim), correction=1 if correction is None else correction, keepdim=keepdim)


@kernel("std.correction")
def std(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return P["std"](self, None if dim is None else tuple(dim), correction=1 if correction is None else correction, keepdim=keepdim)


@kernel("var_mean.correction")
def var_mean(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return P["var_mean"](self, None if dim is None else tuple(dim), correction=1 if correction is None else correction, keepdim=keepdim)


@kernel("std_mean.correction")
def std_mean(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return P["std_mean"](self, None if dim is None else tuple(dim), correction=1 if correction is None else correction, keepdim=keepdim)


@kernel("_unique2")
def _unique2(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    del sorted, return_inverse, return_counts
    return P["unique"](self, True, True, True)


@kernel("unique_dim")
def unique_dim(self: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    del sorted, return_inverse, return_counts
    return P["unique"](self, True, True, True, dim)


@kernel("floor_divide")
def floor_divide(self: Any, other: Any) -> Any:
    return P["floor_divide"](self, other) if hasattr(self, "_aval") else P["Tensor.__rfloordiv__"](other, self)


def _bitwise() -> None:
    for sign, name in {
        "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    }.items():  # fmt: skip
        kernel(f"__{sign}__")(lambda self, other, name=name: P[name](self, other))


_bitwise()
