"""From tensors to Python and NumPy: numbers, lists, arrays, iteration, ``len``, ``bool`` and what
DLPack asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ...autograd.grad_mode import MODE, is_grad_enabled
from ...core import Tensor, alias_of, contiguous_strides, detached, lazy_bits, share_host
from ..bind.cores import composite
from ..engine import META, SPECIAL, Lifted, Several, array_of, note_read, numbers_of, read
from ..facts import dtypes
from ..facts.errors import not_offered
from ..facts.warned_once import warn_of_scalar
from ..ops._facts import schemas
from .cells import HOST_LOCK, ForeignStorage, host_view
from .printing import tensor_repr


def _data(t: Tensor, what: str) -> jax.Array | np.ndarray:
    v = t._v or t._read()
    while isinstance(v, Lifted):
        v = v.plain(what)
    if v.trace is SPECIAL and v.array is not None:
        raise (
            jax.errors.TracerArrayConversionError(v.array)
            if what == "numpy"
            else jax.errors.ConcretizationTypeError(v.array)
        )
    return array_of(v)


def _number(t: Tensor) -> float | int | None:
    """The only element where it is at hand, for the commonest tensors; None if it has to be had
    another way."""
    v = t._v
    if v is not None:
        array = v.array
        if type(array) is not np.ndarray or array.size != 1:
            return None
        found = array.item()
    else:
        al = t._al
        if (
            al is None
            or not al.direct
            or al.aval.size != 1
            or (found := al.storage.number(al)) is None
        ):
            return None
    note_read()
    return found


@composite(namespace="Tensor", operands=("self",), implicit=True)
@schemas("(Tensor self) -> Scalar")
def item(self: Tensor) -> Any:
    """The only element as a Python number.

    Raises:
        RuntimeError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([2.5]).item()
        2.5
    """
    if (found := _number(self)) is not None:
        return found
    v = self._v or self._read()
    if v.aval.size != 1:
        raise RuntimeError(f"a Tensor with {v.aval.size} elements cannot be converted to Scalar")
    if v.aval.device == META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return _data(self, "item").item()


@composite(namespace="Tensor", operands=("self",))
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers (a number for a 0-dim tensor).

    Raises:
        RuntimeError: for tensors on the meta device.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
    """
    array = np.asarray(_data(self, "tolist"))
    if array.dtype.kind not in "biufc":
        array = array.astype(np.float32)
    return array.tolist()


@composite(namespace="Tensor", operands=("self",))
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The data as a NumPy array on the same memory: changes made on either side are seen on the
    other.

    Of a tensor that is spread over several devices, a copy that cannot be written into.

    Args:
        force: convert what cannot be shared: detach, copy to the CPU, resolve what is put off.

    Raises:
        RuntimeError: if the tensor requires grad, where gradients are recorded (unless ``force``).
        TypeError: if it lies on an accelerator (unless ``force``), or NumPy has no such dtype.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1, 2])
        >>> array = x.numpy()
        >>> array[0] = 5
        >>> x
        tensor([5, 2])
    """
    if force:
        return np.array(_data(detached(self), "numpy"))
    if (self._rg or self.requires_grad) and is_grad_enabled():
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if self.device.type != "cpu":
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    conj, neg = lazy_bits(self)
    if conj or neg:
        word, short = ("conjugate", "conj") if conj else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {word} bit set. Use "
            f"tensor.resolve_{short}().numpy() instead."
        )
    if self._aval.dtype.kind not in "biufc" or self._aval.dtype.name.startswith(
        ("bfloat", "float8")
    ):
        raise TypeError(f"Got unsupported ScalarType {self.dtype.scalar_name}")
    if self._al is not None and (plain := getattr(self._al.storage, "plain", None)) is not None:
        self = plain(self)  # of a dual tensor NumPy shares the value
    found = host_memory(self)
    if type(self._aval.device) is not Several:
        alias_of(self).storage.__class__ = ForeignStorage
    return found


def host_memory(t: Tensor) -> np.ndarray:
    """A NumPy array that shares memory with ``t``: from here on the storage lives in NumPy until
    the array is dropped."""
    v = t._v or t._read()
    if v.trace is SPECIAL:
        _data(t, "numpy")
    # there is no one memory to share: a copy, which nobody can write into in vain
    if type(v.aval.device) is Several:
        return np.asarray(read(v))
    al = alias_of(t)
    storage = al.storage
    with HOST_LOCK:
        while (host := storage.lent()) is None:
            value: Any = storage.value
            array = np.array(numbers_of(value), copy=True)
            if storage.strides is not None:
                order = sorted(range(len(storage.strides)), key=lambda i: -storage.strides[i])  # type: ignore[index]
                array = np.transpose(
                    np.ascontiguousarray(np.transpose(array, order)), np.argsort(order)
                )
            storage.aval = value.aval
            if storage.hosted(array, value):
                host = array
                break
    al.aval, al.strides = t._aval, t._strides or contiguous_strides(t._aval.shape)
    view = host_view(host, al)
    if view is None:
        raise not_offered(
            "Tensor.numpy()",
            "the tensor is a view of another dtype, which NumPy memory cannot follow; use "
            ".clone().numpy()",
        )
    return view[...] if view is host else view


@composite(namespace="Tensor", operands=("self",), native=False)
def __array__(self: Tensor, dtype: dtypes.dtype | None = None, copy: Any = None) -> Any:
    """What ``numpy.asarray`` sees: the tensor's own memory, or a copy in ``dtype``.

    Example:
        >>> import jtorch as torch
        >>> import numpy as np
        >>> np.asarray(torch.tensor([1, 2]))
        array([1, 2])
    """
    if dtype is None and not copy:
        return numpy._plain(self)  # type: ignore[attr-defined]
    found = numpy._plain(self)  # type: ignore[attr-defined]
    return np.array(found, dtype=dtype, copy=True) if copy else np.asarray(found, dtype=dtype)


@composite(namespace="Tensor", operands=("self",), dispatched="never", native=False)
def __array_wrap__(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """The result of a NumPy function as a tensor again; truth as ``uint8``.

    Example:
        >>> import jtorch as torch
        >>> import numpy as np
        >>> np.sqrt(torch.tensor([4.0]))
        tensor([2.])
    """
    found = np.asarray(array)
    dtypes.from_np(found.dtype)  # a TypeError for what is none of PyTorch's
    return share_host(found.astype(np.uint8) if found.dtype == np.bool_ else found)


@composite(namespace="Tensor", operands=("self",))
def __bool__(self: Tensor) -> Any:
    """The truth of the only element.

    Raises:
        RuntimeError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> bool(torch.tensor([0.5]))
        True
    """
    if (found := _number(self)) is not None:
        return bool(found)
    v = self._v or self._read()
    if v.aval.size != 1:
        if v.aval.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if v.aval.device == META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return bool(_data(self, "bool").item())


def _scalar(t: Tensor, name: str, real: str = "") -> Any:
    """The only element as a Python number; ``real`` is C's name of the type that it must have,
    unless it may be complex."""
    v = t._v or t._read()
    if v.aval.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if v.aval.device == META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    found = _data(t, name).item()
    if real and isinstance(found, complex):
        if found.imag:
            raise RuntimeError(f"value cannot be converted to type {real} without overflow")
        return found.real
    return found


@composite(namespace="Tensor", operands=("self",))
def __float__(self: Tensor) -> Any:
    """The only element as a float.

    Raises:
        ValueError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> float(torch.tensor([3]))
        3.0
    """
    if self.requires_grad and MODE.enabled:
        warn_of_scalar()
    return float(_scalar(self, "float", "double"))


@composite(namespace="Tensor", operands=("self",))
def __int__(self: Tensor) -> int:
    """The only element as an int, towards zero.

    Raises:
        ValueError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> int(torch.tensor(-2.7))
        -2
    """
    return int(_scalar(self, "int", "int64_t"))


@composite(namespace="Tensor", operands=("self",))
def __complex__(self: Tensor) -> Any:
    """The only element as a complex number.

    Raises:
        ValueError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> complex(torch.tensor(2.0))
        (2+0j)
    """
    if self.requires_grad and MODE.enabled:
        warn_of_scalar()
    return complex(_scalar(self, "complex"))


@composite(namespace="Tensor", operands=("self",))
def __index__(self: Tensor) -> Any:
    """The only element of an integer tensor, as an index.

    Raises:
        TypeError: for other dtypes, and unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> [10, 20, 30][torch.tensor(1)]
        20
    """
    if self.dtype.category > dtypes.INTEGRAL or self._aval.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_scalar(self, "index"))


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def __len__(self: Tensor) -> int:
    """The size of the first dimension.

    Raises:
        TypeError: for 0-dim tensors.

    Example:
        >>> import jtorch as torch
        >>> len(torch.zeros(3, 2))
        3
    """
    if not self._aval.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._aval.shape[0]


@composite(
    namespace="Tensor",
    operands=("self",),
    native=False,
    dispatched="never",
    asks="nobody",
    ignored=True,
)
def __iter__(self: Tensor) -> Iterator[Any]:
    """An iterator over the first dimension, as ``unbind`` gives it.

    Returns: an iterator of tensors without that dimension.

    Raises:
        TypeError: for 0-dim tensors.

    Example:
        >>> import jtorch as torch
        >>> [row.tolist() for row in torch.tensor([[1, 2], [3, 4]])]
        [[1, 2], [3, 4]]
    """
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def __reversed__(self: Tensor) -> Tensor:
    """The tensor flipped along its first dimension.

    Example:
        >>> import jtorch as torch
        >>> reversed(torch.tensor([1, 2, 3]))
        tensor([3, 2, 1])
    """
    return self if self.dim() == 0 else self.flip(0)


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def __contains__(self: Tensor, element: Any) -> Any:
    """Whether an element equals ``element``.

    Raises:
        RuntimeError: for what is neither tensor nor number.

    Example:
        >>> import jtorch as torch
        >>> 2 in torch.tensor([1, 2])
        True
    """
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool((element == self).any().item())
    raise RuntimeError(
        "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
        f"{element.__class__}."
    )


@composite(namespace="Tensor", operands=("self",), native=False)
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> Any:
    """The text that torch prints.

    Example:
        >>> import jtorch as torch
        >>> print(repr(torch.tensor([1.0])))
        tensor([1.])
    """
    return tensor_repr(self, tensor_contents=tensor_contents)


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def __format__(self: Tensor, format_spec: str) -> str:
    """The only element of a 0-dim tensor in that format; the repr of other tensors.

    Example:
        >>> import jtorch as torch
        >>> f"{torch.tensor(3.14159):.2f}"
        '3.14'
    """
    if self.__class__ is Tensor and self.dim() == 0 and self.device.type != META:
        return self.item().__format__(format_spec)
    return object.__format__(self, format_spec)


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def __dlpack__(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """The data as a DLPack capsule; on the CPU the memory is shared with whoever takes it, if NumPy
    has the dtype.

    Raises:
        BufferError: if the tensor requires grad, or shows the conjugates of what is in memory.

    Example:
        >>> import jtorch as torch
        >>> torch.from_dlpack(torch.tensor([1, 2]))
        tensor([1, 2])
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if lazy_bits(self)[0]:
        raise BufferError("Can't export tensors with the conjugate bit set")
    known = self._aval.dtype.kind in "biufc" and not self._aval.dtype.name.startswith(
        ("bfloat", "float8")
    )
    if stream is None and known and self.device.type == "cpu":
        v = self._v or self._read()
        # the memory itself, so that what is written is seen here, too
        if v.trace is not SPECIAL and type(v.aval.device) is not Several:
            return host_memory(self).__dlpack__(
                max_version=max_version, dl_device=dl_device, copy=copy
            )
    array: Any = self.jax()  # whose stubs know none of these
    return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def __dlpack_device__(self: Tensor) -> Any:
    """The DLPack device of the data.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1, device="cpu").__dlpack_device__()[1]
        0
    """
    return self.jax().__dlpack_device__()
