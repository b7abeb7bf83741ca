"""What a tensor tells about itself beyond its metadata, and calls that exist for other runtimes."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

from ...autograd.accumulate import KINDS
from ...core import Tensor, alias_of, lazy_bits
from .. import hooks
from ..bind.cores import composite
from ..bind.everything import PROPERTIES, PROPERTY_SETTERS, T
from ..engine import META
from ..facts import dtypes
from ..facts.devices import accelerator_type
from ..facts.errors import must_be_tensor
from ..facts.layouts import channels_last, in_format, memory_format
from ..facts.warned_once import outside
from ..ops._facts import schemas
from ..tensor.described import cpp_name
from ..tensor.untyped_storage import storage_of

if TYPE_CHECKING:
    from ..tensor.untyped_storage import UntypedStorage


#: What is said of storages with a dtype.
DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the "
    "only storage class. This should only matter to you if you are using storages directly.  To "
    "access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)


@composite(namespace="Tensor", operands=("self",), dispatched="never")
def untyped_storage(self: Tensor) -> Any:
    """The memory the tensor looks at.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2).untyped_storage().nbytes()
        8
    """
    return storage_of(self)


@composite(namespace="Tensor", operands=("self",), dispatched="never", native=False)
def storage(self: Tensor) -> Any:
    """The memory the tensor looks at, with its dtype. Warns, once, that ``untyped_storage()`` is
    what will stay.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.arange(3)[1:].storage().tolist()
        [0, 1, 2]
    """
    return hooks.storage_class("TypedStorage")(wrap_storage=storage_of(self), dtype=self.dtype)


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> bool")
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point type.

    Args:
        input: the tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.is_floating_point(torch.tensor(1))
        False
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("is_floating_point", "input", 1, input)
    return input.dtype.is_floating_point


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> bool")
def is_complex(input: Tensor) -> Any:
    """Whether the dtype is complex.

    Example:
        >>> import jtorch as torch
        >>> torch.is_complex(torch.tensor(1j))
        True
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("is_complex", "input", 1, input)
    return input.dtype.is_complex


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> bool")
def is_signed(input: Tensor) -> bool:
    """Whether the dtype holds negative numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.is_signed(torch.tensor([1], dtype=torch.uint8))
        False
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("is_signed", "input", 1, input)
    return input.dtype.is_signed


@composite(operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> int")
def numel(input: Tensor) -> Any:
    """The number of elements.

    Example:
        >>> import jtorch as torch
        >>> torch.numel(torch.zeros(2, 3))
        6
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("numel", "input", 1, input)
    return input.numel()


@composite(method=True, operands=("input",), dispatched="never")
@schemas("(Tensor self) -> bool")
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero.

    Raises:
        RuntimeError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> torch.is_nonzero(torch.tensor([2.0]))
        True
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("is_nonzero", "input", 1, input)
    if input.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            f"{'no values' if input.numel() == 0 else 'more than one value'} is ambiguous"
        )
    return bool(input)


@composite(method=True, operands=("input",))
@schemas("(Tensor self) -> bool")
def is_distributed(input: Tensor) -> bool:
    """False: no tensor here is one of several parts that processes hold for each other.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1).is_distributed()
        False
    """
    return False


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> bool")
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a view that shows the conjugates of the numbers in memory.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1j])
        >>> x.is_conj(), x.conj().is_conj()
        (False, True)
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("is_conj", "input", 1, input)
    return lazy_bits(input)[0]


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> bool")
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is a view that shows the negatives of the numbers in memory.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1j])
        >>> x.imag.is_neg(), x.conj().imag.is_neg()
        (False, True)
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("is_neg", "input", 1, input)
    return lazy_bits(input)[1]


@composite(method=True, operands=("input",))
@schemas("(Tensor(a) self) -> Tensor(a)")
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy of a view that shows the conjugates of what is in memory.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1j]).conj().resolve_conj()
        tensor([0.-1.j])
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("resolve_conj", "input", 1, input)
    return T.clone(input) if lazy_bits(input)[0] else input


@composite(method=True, operands=("input",))
@schemas("(Tensor(a) self) -> Tensor(a)")
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy of a view that shows the negatives of what is in memory.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1j]).conj().imag.resolve_neg()
        tensor([-1.])
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("resolve_neg", "input", 1, input)
    return T.clone(input) if lazy_bits(input)[1] else input


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> bool")
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode.

    Views are as what they look at, wherever they are made.

    Example:
        >>> import jtorch as torch
        >>> with torch.inference_mode():
        ...     x = torch.zeros(1)
        >>> x.is_inference(), x[0].is_inference(), (x + 1).is_inference()
        (True, True, False)
    """
    return input._inference


@composite(namespace="Tensor", operands=("self", "tensor"), dispatched="never")
@schemas("(Tensor self, Tensor tensor) -> bool")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same memory in the same way.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2)
        >>> x.is_set_to(x.detach()), x.is_set_to(x.clone())
        (True, False)
    """
    if any(lazy_bits(self)) or any(lazy_bits(tensor)):
        return False
    a, b = alias_of(self), alias_of(tensor)
    return (
        a.storage is b.storage
        and a.offset == b.offset
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


@composite(operands=("input", "from_"), dispatched="never")
@schemas("(Tensor self, Tensor from) -> bool")
def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> Any:
    """Whether ``input.data = from_`` is possible: both are strided, or both sparse in the same way,
    and none or both of them have data.

    Example:
        >>> import jtorch as torch
        >>> x = torch.ones(2, 2)
        >>> (
        ...     torch._has_compatible_shallow_copy_type(x, x.double()),
        ...     torch._has_compatible_shallow_copy_type(x, x.to_sparse()),
        ... )
        (True, False)
    """
    return input.layout == from_.layout and input.is_meta == from_.is_meta


@composite(method=True, operands=("input", "other"), dispatched="never")
@schemas("(Tensor self, Tensor other) -> bool")
def is_same_size(input: Tensor, other: Tensor) -> Any:
    """Whether both have one shape.

    Example:
        >>> import jtorch as torch
        >>> torch.is_same_size(torch.zeros(2), torch.zeros(3))
        False
    """
    return tuple(input.shape) == tuple(other.shape)


@composite(method=True, operands=("input",), dispatched="never", implicit=True)
@schemas("(Tensor self) -> int")
def get_device(input: Tensor) -> int:
    """The index of the accelerator, or -1 on the CPU.

    Example:
        >>> import jtorch as torch
        >>> torch.get_device(torch.zeros(1, device="cpu"))
        -1
    """
    d = input.device
    if d.type in ("cpu", META):
        return -1
    return d.index or 0


def _from_outermost(strides: Any, shape: Any) -> tuple[int, ...]:
    """Dimensions by falling strides; those whose stride is 0 are neither before nor after others,
    and stay where they are among these."""
    inner = list(reversed(range(len(strides))))
    for i in range(1, len(inner)):
        at = i
        for j in reversed(range(i)):
            a, b = inner[j], inner[at]
            if not strides[a] or not strides[b]:
                continue
            if (strides[a], shape[a]) > (strides[b], shape[b]):
                inner[j], inner[at] = b, a
                at = j
            elif strides[a] < strides[b]:
                break
    return tuple(reversed(inner))


@composite(namespace="Tensor", operands=("self",), dispatched="never", native=False)
def dim_order(self: Tensor, *, ambiguity_check: bool | list[memory_format] = False) -> Any:
    """The dimensions from the outermost in memory to the innermost.

    Raises:
        RuntimeError: with ``ambiguity_check=True``, where strides allow more than one order; with a
            list of memory formats, where that is so and the tensor has not exactly one of them.
        TypeError: if ``ambiguity_check`` is something else.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).t().dim_order()
        (1, 0)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(
        isinstance(f, memory_format) for f in formats
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    if ambiguity_check is not False:
        alike = 1 in self.shape or any(a == b for a, b in itertools.pairwise(strides))
        if alike and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
        if ambiguity_check and len(strides) > 1 and 0 in strides and self.numel():
            raise RuntimeError("The tensor does not have unique dim order.")
    if self.is_contiguous() and not (
        len(strides) == 4 and in_format(self.shape, strides, channels_last)
    ):
        return tuple(range(len(strides)))
    return _from_outermost(strides, self.shape)


@composite(namespace="Tensor", operands=("self",), dispatched="never")
@schemas("(Tensor self, Device? device=None) -> bool")
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: JAX manages host memory itself.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1).is_pinned()
        False
    """
    return False


@composite(namespace="Tensor", operands=("self",), dispatched="in parts")
@schemas("(Tensor(a) self, Device? device=None) -> Tensor(a)")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself where there is an accelerator, for which JAX manages the host's memory
    itself.

    Raises:
        RuntimeError: where there is none.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1])
        >>> x.pin_memory() if torch.cuda.is_available() else x
        tensor([1])
    """
    if accelerator_type() is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def is_shared(self: Tensor) -> bool:
    """Whether other processes may look at the memory: it was shared, is an accelerator's, or is
    mapped from a file.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1).is_shared(), torch.zeros(1).share_memory_().is_shared()
        (False, True)
    """
    return _memory_of(self).is_shared()


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def share_memory_(self: Tensor) -> Tensor:
    """Moves the tensor's memory, with all tensors that share it, to where other processes can look
    at it: what one writes all see.

    Processes that are forked find it where it is; to others it is sent with queues, pipes or the
    arguments of ``torch.multiprocessing.Process``. Each read copies what is there then.
    Accelerators' memory stays as it is.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: on the meta device, or if there is not that much shared memory.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(3)
        >>> x.share_memory_() is x, x[1:].is_shared()
        (True, True)
    """
    _memory_of(self).share_memory_()
    return self


def _memory_of(t: Tensor) -> UntypedStorage:
    """The storage; of a dual tensor that of its value."""
    if t._al is not None and (plain := getattr(t._al.storage, "plain", None)) is not None:
        t = plain(t)
    return storage_of(t)


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor(a!) self, Stream s) -> ()")
def record_stream(self: Tensor, s: Any) -> None:
    """Nothing to do: XLA keeps memory alive as long as it is used. It is accepted so that programs
    for CUDA run.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1).record_stream(None)
    """


# ---- what the runtime tells about a tensor -------------------------------------------------------


@composite(namespace="Tensor", operands=("self",), dispatched="never")
def _is_view(self: Tensor) -> bool:
    """Whether the tensor is a view of another one.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2)
        >>> x._is_view(), x[0]._is_view()
        (False, True)
    """
    return self._base is not None


@composite(namespace="Tensor", operands=("self",), ignored=True)
@schemas("(Tensor self) -> bool")
def _is_zerotensor(self: Tensor) -> bool:
    """Whether the tensor stands for zeros without memory: never, here.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2)._is_zerotensor()
        False
    """
    return False


@composite(namespace="Tensor", operands=("self",), ignored=True)
def _is_all_true(self: Tensor) -> Any:
    """Whether all elements of a bool tensor are true, as a tensor.

    Shapes: self (*) -> ().
    Dtypes: bool.

    Raises:
        RuntimeError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([True, False])._is_all_true()
        tensor(False)
    """
    return T._is_all_true(self)


@composite(namespace="Tensor", operands=("self",), ignored=True)
def _is_any_true(self: Tensor) -> Any:
    """Whether an element of a bool tensor is true, as a tensor.

    Shapes: self (*) -> ().
    Dtypes: bool.

    Raises:
        RuntimeError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([True, False])._is_any_true()
        tensor(True)
    """
    return T._is_any_true(self)


@composite(namespace="Tensor", operands=("self",))
def const_data_ptr(self: Tensor) -> int:
    """``data_ptr()``, for readers.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
    """
    return self.data_ptr()


@composite(namespace="Tensor", operands=("self",), ignored=True)
def _use_count(self: Tensor) -> int:
    """The number of references that the runtime counts: 1, for Python counts the references to a
    tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1)._use_count()
        1
    """
    return 1


@composite(namespace="Tensor", operands=("self",), ignored=True)
def _fix_weakref(self: Tensor) -> None:
    """Nothing to do: tensors are ordinary objects, whose weak references stay right.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1)._fix_weakref()
    """


@composite(namespace="Tensor", operands=("self",), native=False)
def _clear_non_serializable_cached_data(self: Tensor) -> None:
    """Nothing to do: tensors cache nothing that cannot be saved.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1)._clear_non_serializable_cached_data()
    """


@composite(namespace="Tensor", operands=("self",), native=False)
def storage_type(self: Tensor) -> Any:
    """The old class for storages of the tensor's dtype.

    Raises:
        KeyError: for dtypes that had none.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.zeros(1).storage_type().__name__
        'FloatStorage'
    """
    found = self.storage()
    return found._get_legacy_storage_class() or type(found)


@composite(namespace="Tensor", operands=("self",), native=False, ignored=True)
def _typed_storage(self: Tensor) -> Any:
    """``storage()``, without a warning.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2)._typed_storage().size()
        2
    """
    return hooks.storage_class("TypedStorage")(
        wrap_storage=storage_of(self), dtype=self.dtype, _internal=True
    )


def _grad_dtype(t: Tensor) -> Any:
    """The dtype to which gradients of a leaf are converted before they are added up: that of the
    tensor, unless another one was set; None leaves them as they are.

    Raises:
        RuntimeError: if the tensor is no leaf, and on setting, if it has a gradient of another
            dtype, or for what is no dtype.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(1, dtype=torch.bfloat16, requires_grad=True)
        >>> x.grad_dtype = torch.float32
        >>> (x * 2).sum().backward()
        >>> x.grad
        tensor([2.])
    """
    if not t.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    kind = t._grad_kind
    return t.dtype if kind is None else kind or None


def _set_grad_dtype(t: Tensor, dtype: Any) -> None:
    if not t.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}"
        )
    have = t._grad
    if have is not None and dtype is not None and have.dtype is not dtype:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype.scalar_name}' because there is already a gradient "
            f"with dtype '{cpp_name(have._aval)}'. Please clear the gradient (.grad = None) "
            "before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype."
        )
    t._grad_kind = False if dtype is None else dtype
    KINDS[0] += 1


def _no_name(t: Tensor) -> None:
    """None: tensors have no names."""


def _volatile(t: Tensor) -> bool:
    """False: it has no effect; use ``no_grad``."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=outside())
    return False


def _set_volatile(t: Tensor, value: object) -> None:
    _volatile(t)


def _cdata(t: Tensor) -> int:
    """A number that names the object."""
    return id(t)


def _grad_fn(t: Tensor) -> Any:
    """As ``grad_fn``."""
    return t.grad_fn


def _post_accumulate_grad_hooks(t: Tensor) -> Any:
    """The hooks that run after a gradient was added to ``grad``, or None."""
    return t._post_hooks


def _never_symbolic(t: Tensor) -> bool:
    """False: shapes are numbers here."""
    return False


def _cuda_array_interface(t: Tensor) -> Any:
    """What libraries that speak CUDA's array interface read.

    Raises:
        AttributeError: off CUDA devices, or for what the protocol cannot say.
    """
    kind = f"{t.type()}"
    if t.device.type != "cuda":
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {kind} If CUDA data is "
            "required use tensor.cuda() to copy tensor to device memory."
        )
    if t.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    return t.contiguous().jax().__cuda_array_interface__


PROPERTIES.update({
    "name": _no_name, "volatile": _volatile, "grad_dtype": _grad_dtype, "_cdata": _cdata,
    "_grad_fn": _grad_fn, "_post_accumulate_grad_hooks": _post_accumulate_grad_hooks,
    "_has_symbolic_sizes_strides": _never_symbolic,
    "__cuda_array_interface__": _cuda_array_interface,
})  # fmt: skip
PROPERTY_SETTERS.update({"volatile": _set_volatile, "grad_dtype": _set_grad_dtype})
