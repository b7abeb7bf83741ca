"""Methods that give a tensor other memory, another size, or elements that Python computes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..applying import inplace, rebind
from ..arguments import sizes as whole_sizes
from ..binding import BOUND, composite
from ..core import Tensor, alias_of, contiguous_strides, detached, from_host, lazy_bits
from ..engine import SPECIAL, limits
from ..errors import check_longs, must_be_tensor, not_offered
from ..functional import PUBLIC
from ..storage import Alias
from ..views import with_bits
from ..writing import check_inplace, check_lifted, overlapping


@composite(namespace="Tensor", operands=("self",))
def resize_(self: Any, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
    """Gives the tensor another size; its elements are those of its memory from its first one on, in order, and zeros where that ends.

    Shapes: the sizes, spread or in one tuple.

    Raises:
        RuntimeError: for tensors that require grad, and sizes that cannot be had.

    Differs from torch: memory that has to grow is new memory, which other tensors on the old one do not share.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4).resize_(2, 1)
        tensor([[0],
                [1]])
    """
    if size is not None:
        sizes = (tuple(size),)
    size = whole_sizes("resize_", "size", sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
    check_longs("resize_", "size", size)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if tuple(self.shape) == size:
        return self
    if min(size, default=0) < 0:
        raise RuntimeError(limits.UNCOUNTABLE)
    limits.check_size(size, 1, view=True)
    strides, numel, offset = contiguous_strides(size), math.prod(size), self.storage_offset()
    whole = detached(self)
    memory = alias_of(whole).storage.aval.nbytes // self.itemsize
    if numel and offset + numel > memory:  # all of the old memory, in new memory
        limits.check_bytes((offset + numel) * self.itemsize, self._aval.device)
        whole = _grown(PUBLIC["as_strided"](whole, (memory,), (1,), 0), offset + numel)
    made = detached(PUBLIC["as_strided"](whole, size, strides, offset))
    version = self._writes
    self._v, self._al, self._strides = made._v, made._al, made._strides
    if self._al is not None:
        self._al.base = None
    self._ver = version + 1
    return self


def _grown(flat: Tensor, numel: int) -> Tensor:
    return BOUND["cat"].core([flat, flat.new_zeros(numel - flat.numel())])  # type: ignore[attr-defined]


@composite(method=True, operands=("input", "the_template"))
def resize_as_(input: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """``resize_`` to the size of another tensor.

    Shapes: that of ``the_template``.

    Raises:
        RuntimeError: for tensors that require grad.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4).resize_as_(torch.zeros(2, 1))
        tensor([[0],
                [1]])
    """
    return resize_(input, tuple(the_template.shape), memory_format=memory_format)


@composite(namespace="Tensor", operands=("self",), native=False)
def resize(self: Any, *sizes: Any) -> Any:
    """The tensor in another size of as many elements; an old name of ``reshape``.

    Shapes: the sizes, spread or in one tuple.

    Raises:
        RuntimeError: if the number of elements would change.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.arange(4).resize(2, 2)
        tensor([[0, 1],
                [2, 3]])
    """
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    size = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    wanted = int(np.prod(size, dtype=np.int64))
    if wanted != self.numel() and -1 not in size:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, size))} ({wanted} elements in total), but the given tensor has a size of "
            f"{'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only change the shape of a given tensor, "
            "while preserving the number of elements. "
        )
    return self.contiguous().view(size)


@composite(namespace="Tensor", operands=("self", "tensor"), native=False)
def resize_as(self: Any, tensor: Any) -> Any:
    """``resize`` to the size of another tensor.

    Shapes: that of ``tensor``.

    Raises:
        RuntimeError: as ``resize``.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.arange(4).resize_as(torch.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return resize(self, *tensor.shape)


def _memory_of(source: Any, dtype: dtypes.dtype) -> Any:
    """All of a storage as a flat tensor."""
    untyped = getattr(source, "_untyped_storage", source)
    kind = getattr(source, "dtype", dtype)
    if not hasattr(untyped, "_storage"):
        raise must_be_tensor("set_", "source", 1, source)
    if kind is not dtype:
        raise RuntimeError(f"Could not set tensor of type {kind} to a tensor of type {dtype}")
    storage = untyped._storage
    whole: Any = object.__new__(Tensor)
    whole._al = Alias(storage, (), storage.value, None, 0, 0)
    whole._strides = storage.strides
    flat = whole if whole.dim() == 1 else PUBLIC["as_strided"](whole, (whole.numel(),), (1,))
    return flat if flat.dtype is dtype else flat.view(dtype)


def _within(source: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    """A strided look at a storage.

    Raises:
        NotImplementedError: where PyTorch would let the storage grow.
    """
    if min(size, default=0) >= 0 <= min(stride, default=0) and offset >= 0 and 0 not in size:
        limits.check_size(size, 1, view=True)
        end = (offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=False)])) * source.itemsize
        memory = alias_of(source).storage.aval.nbytes
        if memory < end <= limits.MOST:
            raise not_offered("set_() beyond the end of a storage", f"it has {memory} bytes, {end} are asked for, and its size is fixed")
    return source.as_strided(size, stride, offset)


@composite(namespace="Tensor", operands=("self", "source"))
def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Makes the tensor look at the memory of another tensor, of a storage, or at none.

    Raises:
        RuntimeError: if the dtypes differ.
        NotImplementedError: if the size and strides reach beyond the memory: PyTorch lets it grow.

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.zeros(2), torch.tensor([1.0, 2.0, 3.0])
        >>> x.set_(y).add_(1)
        tensor([2., 3., 4.])
        >>> y
        tensor([2., 3., 4.])
    """
    if source is None:
        made = detached(self)[:0] if self.dim() else detached(self).reshape(1)[:0]  # type: ignore[index]
    elif isinstance(source, Tensor):
        made = detached(source) if size is None else _within(source, tuple(size), tuple(stride), storage_offset).detach()
    else:
        whole = _memory_of(source, self.dtype)
        if size is not None:
            whole = _within(whole, tuple(size), contiguous_strides(tuple(size)) if stride is None else tuple(stride), storage_offset)
        made = detached(whole)
    made = with_bits(made, lazy_bits(self))  # torch gives the tensor other memory and keeps these
    if made._aval.torch_dtype is not self._aval.torch_dtype:
        raise RuntimeError(f"Could not set tensor of type {made.dtype} to a tensor of type {self.dtype}")
    check_inplace(self, idempotent=True)
    if (v := made._read()).trace is SPECIAL:
        check_lifted(self, v)
    self._al, self._v, self._strides = alias_of(made), None, made._strides
    return self


def _as_strided_into(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Makes the tensor look at its storage by other strides.

    Raises:
        RuntimeError: if it would reach beyond the storage.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4).as_strided_((2, 2), (1, 1))
        tensor([[0, 1],
                [1, 2]])
    """
    check_inplace(input, idempotent=True)
    return rebind(input, PUBLIC["as_strided"](input, size, stride, storage_offset))


composite(name="as_strided_", method=True, operands=("input",))(_as_strided_into)


@composite(namespace="Tensor", operands=("self",))
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Writes a number along the main diagonal; in tall matrices, with ``wrap``, it begins again below.

    Shapes: self of two dimensions, or of more that are all equal.

    Raises:
        RuntimeError: for other shapes.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 2).fill_diagonal_(3)
        tensor([[3., 0.],
                [0., 3.]])
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    shape = tuple(self.shape)
    if self.dim() > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    whole = PUBLIC["zeros"](shape, dtype=dtypes.bool_, device=self.device)
    step = sum(whole.stride())
    end = whole.numel() if wrap or shape[0] <= shape[-1] else step * shape[-1]
    whole.view(-1)[:end:step] = True
    if self._strides is not None and overlapping(shape, self._strides):  # allowed here, and not worth a warning
        check_inplace(self, True)
        return inplace(self, BOUND["masked_fill"].core(self, whole, fill_value))
    return self.masked_fill_(whole, fill_value)


# ---- elements that Python computes -------------------------------------------------------------------------------------------------


def _computed(name: str, self: Any, others: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    for t in (self, *others):
        if t.requires_grad:
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    array = np.array(self.detach().cpu().numpy())
    rows = [np.broadcast_to(np.asarray(t.detach().cpu().numpy()), array.shape).reshape(-1).tolist() for t in others]
    found = [function(*row) for row in zip(array.reshape(-1).tolist(), *rows, strict=True)]
    return self.copy_(from_host(np.array(found, array.dtype).reshape(array.shape)))


@composite(namespace="Tensor", operands=("self",))
def apply_(self: Any, callable: Any) -> Any:
    """Replaces each element by what a Python function gives for it; slow, on the host.

    Raises:
        RuntimeError: if the tensor requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).apply_(lambda x: x * 10)
        tensor([10, 20])
    """
    return _computed("apply_", self, (), callable)


@composite(namespace="Tensor", operands=("self", "other"))
def map_(self: Any, other: Any, callable: Any) -> Any:
    """Replaces each element by what a Python function gives for it and its counterpart in ``other``; slow, on the host.

    Shapes: ``other`` broadcasts to that of the tensor.

    Raises:
        RuntimeError: if a tensor requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda a, b: a * b)
        tensor([3, 8])
    """
    return _computed("map_", self, (other,), callable)


@composite(namespace="Tensor", operands=("self", "x", "y"))
def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:
    """Replaces each element by what a Python function gives for it and its counterparts in ``x`` and ``y``; slow, on the host.

    Shapes: ``x`` and ``y`` broadcast to that of the tensor.

    Raises:
        RuntimeError: if a tensor requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).map2_(torch.tensor([3, 4]), torch.tensor([5, 6]), lambda a, b, c: a + b * c)
        tensor([16, 26])
    """
    return _computed("map2_", self, (x, y), callable)
