"""What ``Tensor`` tells of itself without being read: sizes, strides, dtype, device, and its place
in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine import META, SPECIAL, Aval
from ..facts import devices, dtypes
from ..facts.errors import CPP_NAMES, canonical_dim
from ..facts.layouts import contiguous_format, contiguous_strides, in_format
from ..facts.layouts import is_contiguous as in_row_major_order
from ..facts.size import Size
from .aliases import alias_of, start_of
from .shape_env import visible

if TYPE_CHECKING:
    from ...core import Tensor


@property
def shape(self: Tensor) -> Size:
    """The sizes of the dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
    """
    aval = self._aval
    found = aval.torch_size
    if found is None:
        found = aval.torch_size = Size(aval.shape)
    return found


@property
def dtype(self: Tensor) -> dtypes.dtype:
    """The type of the elements.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2).dtype
        torch.float32
    """
    found = self._aval.torch_dtype
    if found is None:
        raise TypeError(f"torch has no dtype for {self._aval.dtype}")
    return found


@property
def device(self: Tensor) -> devices.device:
    """Where the data lies.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, device="cpu").device
        device(type='cpu')
    """
    return devices.of_placement(self._aval.device)


@property
def ndim(self: Tensor) -> int:
    """The number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).ndim
        2
    """
    return self._aval.ndim


def dim(self: Tensor) -> int:
    """The number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).dim()
        2
    """
    return self._aval.ndim


ndimension = dim


def size(self: Tensor, dim: int | None = None) -> Any:
    """The sizes of all dimensions, or of one.

    Args:
        dim: the dimension whose size is wanted; all, as a ``torch.Size``, if it is None.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)
        (torch.Size([2, 3]), 3)
    """
    shape = self.shape
    if dim is None:
        return shape
    return shape[_dim(dim, len(shape))]


def numel(self: Tensor) -> int:
    """The number of elements.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).numel()
        6
    """
    found = self._aval.size
    if type(found) is int:
        return found
    al = self._al
    return visible(found) if al is not None and al.asks else found


nelement = numel


@property
def itemsize(self: Tensor) -> int:
    """Bytes of one element.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, dtype=torch.int16).itemsize
        2
    """
    return self._aval.dtype.itemsize


def element_size(self: Tensor) -> int:
    """Bytes of one element.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, dtype=torch.int16).element_size()
        2
    """
    return self._aval.dtype.itemsize


@property
def nbytes(self: Tensor) -> int:
    """Bytes of all elements.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3, dtype=torch.int16).nbytes
        12
    """
    aval = self._aval
    return aval.size * aval.dtype.itemsize


def stride(self: Tensor, dim: int | None = None) -> Any:
    """Elements to step in memory from one index to the next, for each dimension or one.

    Args:
        dim: the dimension whose stride is wanted; all, in a tuple, if it is None.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).t().stride()
        ((3, 1), (1, 3))
    """
    al = self._al
    if al is not None and al.asks and (found := al.told("stride")) is not None:
        strides = tuple(found)
    else:
        strides = self._strides or contiguous_strides(self._aval.shape)
    return strides if dim is None else strides[_dim(dim, len(strides))]


def storage_offset(self: Tensor) -> int:
    """Elements before the first one in the storage.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4)[2:].storage_offset()
        2
    """
    al = self._al
    if al is None:
        return 0
    if al.asks and (found := al.told("storage_offset")) is not None:
        return found
    value = al.storage.value
    return al.offset if value is None or value.trace is not SPECIAL else al.offset + start_of(al)


def data_ptr(self: Tensor) -> int:
    """A number that two tensors share exactly if their first elements are the same memory; not a
    real address.

    0 without elements; on the meta device, which has no memory, the place in the storage.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2)
        >>> x.data_ptr() == x.view(1, 2).data_ptr()
        True
    """
    if not self._aval.size:
        return 0
    al = alias_of(self)
    if self._aval.device == META:
        return al.offset * self._aval.dtype.itemsize
    if (host := al.storage.lent()) is not None:
        return host.ctypes.data + al.offset * self._aval.dtype.itemsize
    return al.storage.address + al.offset * self._aval.dtype.itemsize


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory in row-major order (or in the order of ``memory_format``).

    Args:
        memory_format: the order in memory that is asked for; ``torch.contiguous_format`` if it is
            None.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).is_contiguous(), torch.zeros(2, 3).t().is_contiguous()
        (True, False)
    """
    plain = (
        memory_format is None
        or memory_format is contiguous_format
        or str(memory_format) == "torch.contiguous_format"
    )
    al = self._al
    if (
        al is not None
        and al.asks
        and (found := al.told("is_contiguous", *(() if plain else (memory_format,)))) is not None
    ):
        return found
    if plain:
        return self._strides is None or in_row_major_order(self._aval.shape, self._strides)
    if hasattr(self._v, "physical"):
        raise RuntimeError(
            "NYI: querying is_contiguous inside of vmap for memory_format other than "
            "torch.contiguous_format"
        )
    return in_format(self._aval.shape, self.stride(), memory_format)


def _dim(dim: int, ndim: int) -> int:
    return (
        canonical_dim(int(dim), ndim, wrap_scalar=False)
        if ndim == 0
        else canonical_dim(int(dim), ndim)
    )


def cpp_name(aval: Aval) -> str:
    """The C++ name of an element type, which some of torch's messages use."""
    name = aval.torch_dtype.scalar_name if aval.torch_dtype else str(aval.dtype)
    return CPP_NAMES.get(name, name)
