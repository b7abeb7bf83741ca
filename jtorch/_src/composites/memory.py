"""Methods that give a tensor other memory, another size, or elements that Python computes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.dual import has_tangent
from ...autograd.grad_mode import MODE
from ...core import Tensor, alias_of, contiguous_strides, detached, from_host
from ..bind.arguments import sizes as whole_sizes
from ..bind.bound import BOUND
from ..bind.cores import composite
from ..bind.everything import T
from ..bind.factories import unwritten
from ..engine import SPECIAL, limits
from ..facts import devices, dtypes
from ..facts.determinism import ASKED
from ..facts.errors import CPP_NAMES, check_longs, given_twice, must_be_tensor
from ..facts.layouts import (
    channels_last,
    channels_last_3d,
    format_strides,
    in_format,
    is_contiguous,
    preserve_format,
)
from ..facts.warned_once import outside
from ..ops._facts import schemas
from ..tensor.cells import Alias, Counter, Storage
from ..tensor.creation import values_of
from ..tensor.resizing import look_at, nbytes_of
from ..tensor.running import inplace, rebind
from ..tensor.writing import INFERENCE, check_captured, check_inplace, check_lifted, overlapping

if TYPE_CHECKING:
    from ..facts.kinds import Function, Row


@composite(namespace="Tensor", operands=("self",), lays_out=True)
def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Gives the tensor another size; its elements are those of its memory from its first one on, in
    order.

    Where the memory ends it grows, by zeros, for all tensors on it (as ``empty`` fills it, where
    deterministic algorithms are asked for).

    Shapes: the sizes, spread or in one tuple.

    Raises:
        RuntimeError: for tensors that require grad (save in inference mode), for sizes that cannot
            be had, and where memory cannot grow.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4).resize_(2, 1)
        tensor([[0],
                [1]])
    """
    if size is not None:
        if sizes:
            raise given_twice("resize_", "size")
        sizes = (tuple(size),)
    if not sizes:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    size = whole_sizes(
        "resize_",
        "size",
        sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes,
    )
    check_longs("resize_", "size", size)
    if MODE.starts:
        check_captured(self)
    if self.requires_grad and not MODE.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if has_tangent(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    if tuple(self.shape) == size and memory_format is None:
        return self
    if min(size, default=0) < 0:
        raise RuntimeError(limits.UNCOUNTABLE)
    limits.check_size(size, 1, view=True)
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    strides = (
        contiguous_strides(size) if memory_format is None else format_strides(size, memory_format)
    )
    if self._inference and not MODE.inference:
        raise RuntimeError(INFERENCE)
    al = alias_of(self)
    held = nbytes_of(al.storage) if ASKED.fills and not self.is_meta else limits.MOST
    look_at(self, al, size, strides, al.offset)
    if nbytes_of(self._al.storage) > held:
        _fill_from(self, held)
    al.counter.n += 1
    self._al.gen = al.counter.n
    return self


def _fill_from(t: Tensor, held: int) -> None:
    """Fills the memory of a tensor beyond what it held, in bytes, as nobody wrote it."""
    size = t._aval.dtype.itemsize
    part = detached(t)
    look_at(part, t._al, (nbytes_of(t._al.storage) // size - held // size,), (1,), held // size)
    t._al.storage.put(part._al, unwritten(part)._read())


@composite(method=True, operands=("input", "the_template"), lays_out=True)
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Any:
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
    if memory_format is preserve_format:
        shape, strides = tuple(the_template.shape), the_template.stride()
        fits = (
            f
            for f in (channels_last, channels_last_3d)
            if f is not None and in_format(shape, strides, f)
        )
        memory_format = None if is_contiguous(shape, strides) else next(fits, None)
    return resize_(input, tuple(the_template.shape), memory_format=memory_format)


@composite(namespace="Tensor", operands=("self",), native=False)
@schemas("(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor ; _ =out")
def resize(self: Tensor, *sizes: Any) -> Tensor:
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
    warnings.warn("non-inplace resize is deprecated", stacklevel=outside())
    return _resized(self, sizes)


def _resized(self: Tensor, sizes: Row) -> Tensor:
    size = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    wanted = int(np.prod(size, dtype=np.int64))
    if wanted != self.numel() and -1 not in size:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, size))} ({wanted} elements in total), but the "
            f"given tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} "
            "elements). autograd's resize can only change the shape of a given tensor, while "
            "preserving the number of elements. "
        )
    return self.contiguous().view(size)


@composite(namespace="Tensor", operands=("self", "tensor"), native=False)
@schemas(
    "(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor ; _ =out"
)
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
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
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=outside())
    return _resized(self, (tuple(tensor.shape),))


def _storage_of(source: object, dtype: dtypes.dtype) -> Storage:
    """The storage that a program gives, which must be of the dtype or of none."""
    untyped = getattr(source, "_untyped_storage", source)
    kind = getattr(source, "dtype", dtype)
    if not hasattr(untyped, "_storage"):
        raise must_be_tensor("set_", "source", 1, source)
    if kind is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {CPP_NAMES.get(dtype.scalar_name, dtype.scalar_name)} or "
            f"an UntypedStorage, but got type {kind.scalar_name} for argument 1 'storage'"
        )
    return untyped._storage


def _check_place(
    t: Tensor, storage: Storage, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> tuple[int, ...]:
    """The strides of a look at a storage, after torch's checks.

    Raises:
        RuntimeError: for impossible ones, and a place beyond the end for a tensor that has this
            size and these strides already; for others the storage grows.
    """
    if stride is not None and len(stride) != len(size):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if min(size, default=0) < 0:
        raise RuntimeError(limits.UNCOUNTABLE)
    limits.check_size(size, 1, view=True)
    strides = contiguous_strides(size) if stride is None else tuple(stride)
    if min(strides, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(strides)}"
        )
    if size == tuple(t.shape) and (stride is None or strides == t.stride()) and 0 not in size:
        end = (
            offset + 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])
        ) * t.itemsize
        if end > nbytes_of(storage):
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride or ())}, storage offset "
                f"{offset}, and itemsize {t.itemsize} requiring a storage size of {end} are out of "
                f"bounds for storage of size {nbytes_of(storage)}"
            )
    return strides


@composite(namespace="Tensor", operands=("self", "source"), lays_out=True, lazy="conj neg")
@schemas(
    "set.source_Storage(Tensor self, Storage source) -> Tensor ; _ =source_Storage_out",
    "set.source_Storage_storage_offset(Tensor self, Storage source, SymInt storage_offset, "
    "SymInt[] size, SymInt[] stride=[]) -> Tensor ; _ =source_Storage_storage_offset_out",
    "set.source_Tensor(Tensor self, Tensor source) -> Tensor ; _ =source_Tensor_out",
    "set(Tensor self) -> Tensor ; _ =out",
    ".source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] "
    "size, SymInt[] stride=[]) -> Tensor(a!)",
)
def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Makes the tensor look at the memory of another tensor, of a storage, or at none.

    Raises:
        RuntimeError: if the dtypes or devices differ, or the memory ends before and cannot grow.

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.zeros(2), torch.tensor([1.0, 2.0, 3.0])
        >>> x.set_(y).add_(1)
        tensor([2., 3., 4.])
        >>> y
        tensor([2., 3., 4.])
    """
    if isinstance(source, Tensor):
        if source._aval.torch_dtype is not self._aval.torch_dtype:
            scalar = [
                CPP_NAMES.get(n, n) for n in (source.dtype.scalar_name, self.dtype.scalar_name)
            ]
            raise RuntimeError(
                f"Could not set tensor of type {scalar[0]} to a tensor of type {scalar[1]}"
            )
        if (v := source._read()).trace is SPECIAL:
            check_lifted(self, v)
        al = alias_of(detached(source))
        if size is None:
            size, stride, storage_offset = tuple(source.shape), source.stride(), al.offset
    elif source is None:
        al = alias_of(detached(self.new_empty(0)))
        size, stride, storage_offset = (0,), (1,), 0
    else:
        storage = _storage_of(source, self.dtype)
        al = Alias(storage, (), storage.value, None, 0, 0)
        if size is None:
            size = (nbytes_of(storage) // self.itemsize,)
    storage = al.storage
    device = storage.aval.device
    if device != self._aval.device:
        names = [devices.of_placement(d) for d in (self._aval.device, device)]
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{names[0]}" to a storage on '
            f'different device "{names[1]}".  This is no '
            "longer allowed; the devices must match."
        )
    size = tuple(size)
    stride = _check_place(self, storage, size, stride, storage_offset)
    check_inplace(self, idempotent=True)
    version = self._writes
    look_at(self, al, size, stride, storage_offset)
    self._al.counter = Counter(version + 1)
    return self


def _as_strided_into(
    input: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
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
    return rebind(input, T.as_strided(input, size, stride, storage_offset))


composite(name="as_strided_", method=True, operands=("input",), lazy="conj neg")(_as_strided_into)


@composite(namespace="Tensor", operands=("self",), implicit=True)
@schemas("(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Writes a number along the main diagonal; in tall matrices, with ``wrap``, it begins again
    below.

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
    whole = T.zeros(shape, dtype=dtypes.bool_, device=self.device)
    step = sum(whole.stride())
    end = whole.numel() if wrap or shape[0] <= shape[-1] else step * shape[-1]
    whole.view(-1)[:end:step] = True
    # allowed here, and not worth a warning
    if self._strides is not None and overlapping(shape, self._strides):
        check_inplace(self, True)
        return inplace(self, BOUND["masked_fill"].core(self, whole, fill_value))
    return self.masked_fill_(whole, fill_value)


# ---- elements that Python computes ---------------------------------------------------------------


def _computed(name: str, self: Tensor, others: dict[str, Tensor], function: Function) -> Tensor:
    for t in (self, *others.values()):
        if isinstance(t, Tensor) and t.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                "instead."
            )
    if self.device.type == "meta":
        return self
    for argument, t in others.items():
        if not isinstance(t, Tensor):
            raise must_be_tensor(name, argument, 1 + (argument == "y"), t)
        if t.dtype is not self.dtype:
            word = "argument " if name == "map2_" else ""
            raise TypeError(
                f"{name}: expected {self.type()} for {word}'{argument}' (got {t.type()})"
            )
    rows = [
        t.detach().cpu().expand(self.shape).reshape(-1).tolist() for t in (self, *others.values())
    ]
    found: Any = from_host(
        values_of([function(*row) for row in zip(*rows, strict=True)], self.dtype).reshape(
            self.shape
        )
    )
    if self._strides is not None and overlapping(tuple(self.shape), self._strides):  # allowed here
        check_inplace(self, True)
        return inplace(self, found)
    return self.copy_(found)


@composite(namespace="Tensor", operands=("self",))
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replaces each element by what a Python function gives for it; slow, on the host.

    Raises:
        RuntimeError: if the tensor requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).apply_(lambda x: x * 10)
        tensor([10, 20])
    """
    return _computed("apply_", self, {}, callable)


@composite(namespace="Tensor", operands=("self", "other"))
def map_(self: Tensor, other: Tensor, callable: Any) -> Tensor:
    """Replaces each element by what a Python function gives for it and its counterpart in
    ``other``; slow, on the host.

    Shapes: ``other`` broadcasts to that of the tensor.

    Raises:
        RuntimeError: if a tensor requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda a, b: a * b)
        tensor([3, 8])
    """
    return _computed("map_", self, {"other": other}, callable)


@composite(namespace="Tensor", operands=("self", "x", "y"))
def map2_(self: Tensor, x: Any, y: Tensor, callable: Any) -> Tensor:
    """Replaces each element by what a Python function gives for it and its counterparts in ``x``
    and ``y``; slow, on the host.

    Shapes: ``x`` and ``y`` broadcast to that of the tensor.

    Raises:
        RuntimeError: if a tensor requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).map2_(
        ...     torch.tensor([3, 4]), torch.tensor([5, 6]), lambda a, b, c: a + b * c
        ... )
        tensor([16, 26])
    """
    return _computed("map2_", self, {"x": x, "y": y}, callable)
