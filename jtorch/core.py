"""``Tensor``: storage, views, versions and autograd metadata. Knows no single op; floor 3 binds the ops as methods."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import jax
import numpy as np

from ._src import hooks
from ._src.engine import (
    LOCAL,
    META,
    SPECIAL,
    THREADS,
    Aval,
    Meta,
    Transformed,
    Value,
    aval_of,
    leaf,
    meta_value,
    put,
    read,
    record,
    shapes_of,
    unbound,
    unrecorded,
)
from ._src.facts import devices, dtypes
from ._src.facts.errors import canonical_dim
from ._src.facts.layouts import contiguous_format, in_format
from ._src.facts.layouts import contiguous_strides as contiguous_strides
from ._src.facts.layouts import format_strides as format_strides
from ._src.facts.layouts import is_contiguous as is_contiguous
from ._src.facts.layouts import is_dense as is_dense
from ._src.facts.size import Size
from ._src.facts.warned_once import outside
from ._src.tensor.cells import Alias, Counter, ForeignStorage, Step, Storage, bits_of, follow
from ._src.tensor.module_state import check_state
from ._src.tensor.own_attributes import TensorBase, without
from ._src.tensor.view_history import check_origin, refresh_history
from ._src.tensor.view_steps import detaching, memory_steps
from .autograd import grad_mode
from .autograd.grad_mode import MODE
from .autograd.nodes import shown
from .autograd.tape import SAVING, Node
from .dispatch import LAYOUTS

#: Where counting the changes of a tensor made in inference mode begins. It never gets to 0, and a count below 0 is the mark of such
#: tensors: views share their base's counter, so that they need no mark of their own and other tensors no look at it.
UNCOUNTED = -(1 << 60)
#: The same for ``detach()`` and ``data`` of such tensors outside of inference mode: torch gives these a count of their own, so that they,
#: but none of their views, may be written to.
DETACHED = -(1 << 50)

_new = object.__new__
_references = sys.getrefcount

#: An item for each derivative of a function that is running, in any thread. Only while there are any, new tensors are told their births, so
#: that those that the function captured can be told from its own.
BIRTHS: list[None] = []
_clock = itertools.count(1)


def born() -> int:
    """A number greater than all that were given before."""
    return next(_clock)


#: The names of a tensor's own attributes, which its ``__dict__`` does not show.
INTERNAL: set[str] = set()


class TensorMeta(type):
    """The class of tensor classes: lets a mixin that comes before ``Tensor`` among the bases not bring its own ``__dict__`` instead."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """Makes a class."""
        if bases and not issubclass(bases[0], TensorBase):
            namespace.setdefault("__dict__", _attributes)
        return super().__new__(cls, name, bases, namespace, **options)


_attributes = without(INTERNAL)


class Tensor(TensorBase, metaclass=TensorMeta):
    """A multi-dimensional array with torch's semantics on a JAX array.

    A tensor has elements of one type (``dtype``) in a number of dimensions (``shape``) on one device (``device``). It is made by
    ``torch.tensor`` of numbers, by factories such as ``torch.zeros`` and ``torch.randn``, by ``torch.as_tensor`` of an array of NumPy or
    JAX, and by operations on tensors, which are functions of ``torch``, methods and operators.

    - *Views*: indexing with numbers and slices, ``view``, ``transpose`` and others give tensors that look at the same memory. What is
      written into one, by methods ending in ``_`` and by assignment to indices, is seen in all.
    - *Gradients*: of what is computed from a tensor with ``requires_grad=True``, ``backward`` adds the derivatives to its ``grad``.
    - *When it runs*: operations are recorded, and run when a value is read: by ``item``, ``tolist``, ``numpy``, ``jax``, printing, or
      where Python needs a number or truth value. ``torch.synchronize`` runs what is pending.

    ``Tensor(2, 3)`` has undefined numbers, ``Tensor([1, 2])`` those of the list, of the default dtype; prefer ``torch.empty`` and
    ``torch.tensor``.

    Args:
        args: sizes, or nested sequences of numbers, as old programs write it; ``torch.tensor`` and ``torch.empty`` say which is meant.
        kwargs: ``device``, which must be the CPU.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([[2., 4.],
                [6., 8.]])
    """

    # ``_v`` is the value of a tensor that shares its data with no other; otherwise it is None and ``_al`` says which storage is looked at
    # and how. The other attributes have class-level defaults, so that making a result costs one attribute.
    _v: Value | None = None
    _al: Alias | None = None
    _rg: bool = False
    _node: Node | None = None
    _nr: int = 0
    _grad: Any = None
    _strides: tuple[int, ...] | None = None
    _ver: int = 0
    _hooks: Any = None
    _post_hooks: Any = None
    _end: Any = None
    _retains: bool = False
    _address: int = 0
    _borrowed: bool = False
    _state: bool = False  # belongs to a module
    _birth: int = 0
    _passed: Any = None  # to a function that JAX traces: what its trees share

    __array_priority__ = 1000
    __hash__ = object.__hash__  # by identity, although == compares elements
    __dict__ = _attributes  # type: ignore[assignment]

    if TYPE_CHECKING:  # the ops are bound as methods by floor 3; the public stubs describe them one by one

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __iter__(self) -> Any: ...
        def __len__(self) -> int: ...
        def __bool__(self) -> bool: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...

    # ---- reading ---------------------------------------------------------------------------------------------------------------

    def _read(self) -> Value:
        """The tensor's current value, with its history brought up to date."""
        v = self._v
        if v is not None:
            return v
        al = self._al
        if al is None:
            raise RuntimeError("this tensor has no data")
        base = al.base
        if base is not None and base._rg:
            self._sync()
        storage = al.storage
        if (
            not al.chain
            and storage.host is None
            and _references(storage) <= _ALONE
            and al.version == storage.version
            and not THREADS.many  # one of them may be about to share it
            and not (al.counter.heeded and _references(al.counter) > 2)  # views of what its data was count with it
        ):
            # Nobody shares the storage any more: hold the value directly again.
            self._v, self._ver, self._address, self._al = storage.value, al.counter.n, storage.address, None
            if storage.birth:
                self._birth = storage.birth
            return storage.value  # type: ignore[return-value]
        version = storage.version
        if al.version != version or storage.host is not None:
            if storage.moved is not None:
                follow(al)
                return self._read()
            value = storage.get(al)
            whole = storage.value
            if whole is None:
                if storage.seen is None:
                    storage.seen = WeakSet()
                storage.seen.add(value)
            else:
                if al.chain:
                    _from(value, whole)
                if value.trace is SPECIAL and whole.trace is not SPECIAL:
                    return value  # read inside a JAX transformation: a tracer, which must not outlive it
            if type(n := value.aval.nbytes) is int and n > WIDE and wide(al):
                return value  # not kept: it would have to be computed as a whole
            al.now(value, version)
            return value
        return al.value  # type: ignore[return-value]

    @property
    def _aval(self) -> Aval:
        v = self._v
        if v is not None:
            return v.aval
        return self._al.aval  # type: ignore[union-attr]

    def jax(self) -> jax.Array:
        """The tensor's data as a ``jax.Array`` (running what is pending); inside a JAX transformation, its tracer.

        Example:
            >>> import jtorch as torch
            >>> torch.tensor([1, 2]).jax()
            Array([1, 2], dtype=int64)
        """
        v = self._read()
        found = read(v)
        if v.trace is not SPECIAL:
            v.meta = Meta(keep=True, stale=v.meta.stale if v.meta else None, source=v.meta.source if v.meta else None)
            found = v.array = unbound(found)
        return found

    # ---- metadata --------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
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
    def dtype(self) -> dtypes.dtype:
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
    def device(self) -> devices.device:
        """Where the data lies.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, device="cpu").device
            device(type='cpu')
        """
        return devices.of_placement(self._aval.device)

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, 3).ndim
            2
        """
        return self._aval.ndim

    def dim(self) -> int:
        """The number of dimensions.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, 3).dim()
            2
        """
        return self._aval.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
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

    def numel(self) -> int:
        """The number of elements.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, 3).numel()
            6
        """
        return self._aval.size

    nelement = numel

    @property
    def itemsize(self) -> int:
        """Bytes of one element.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, dtype=torch.int16).itemsize
            2
        """
        return self._aval.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of one element.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, dtype=torch.int16).element_size()
            2
        """
        return self._aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, 3, dtype=torch.int16).nbytes
            12
        """
        return self._aval.nbytes

    def stride(self, dim: int | None = None) -> Any:
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
        strides = self._strides or contiguous_strides(self._aval.shape)
        return strides if dim is None else strides[_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """Elements before the first one in the storage.

        Example:
            >>> import jtorch as torch
            >>> torch.arange(4)[2:].storage_offset()
            2
        """
        al = self._al
        if al is None:
            return 0
        value = al.storage.value
        return al.offset if value is None or value.trace is not SPECIAL else al.offset + start_of(al)

    def data_ptr(self) -> int:
        """A number that two tensors share exactly if their first elements are the same memory; not a real address.

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
        if al.storage.host is not None and not al.storage.adopt():
            return al.storage.host.ctypes.data + al.offset * self._aval.dtype.itemsize  # type: ignore[union-attr]
        return al.storage.address + al.offset * self._aval.dtype.itemsize

    @property
    def _version(self) -> int:
        """How often the data was changed in place, through this tensor or another on the same storage.

        Raises:
            RuntimeError: if the tensor was made in inference mode.

        Example:
            >>> import jtorch as torch
            >>> x = torch.zeros(2)
            >>> _ = x.add_(1)
            >>> x._version
            1
        """
        al = self._al
        found = self._ver if al is None else al.counter.n
        if found < 0:
            if found < DETACHED or (al is not None and al.base is not None):
                raise RuntimeError("Inference tensors do not track version counter.")
            return found - DETACHED
        return found

    @property
    def _writes(self) -> int:
        """``_version`` where there is one, and below 0 otherwise (see ``UNCOUNTED``)."""
        al = self._al
        return self._ver if al is None else al.counter.n

    @property
    def _inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._writes < 0

    def _uncount(self) -> None:
        """Marks a tensor that nobody has seen yet as made in inference mode."""
        if self._al is None:
            self._ver = UNCOUNTED
        elif self._al.counter.n >= 0:
            self._al.counter.n = UNCOUNTED

    def _written(self, times: int) -> Tensor:
        """This new tensor, which shows ``times`` as its version: so often torch writes into what it is made in."""
        if self._writes >= 0:
            if self._al is None:
                self._ver = times
            else:
                self._al.counter.n = times
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user rather than by a recorded operation.

        Example:
            >>> import jtorch as torch
            >>> x = torch.tensor([1.0], requires_grad=True)
            >>> x.is_leaf, (2 * x).is_leaf
            (True, False)
        """
        if self._v is None and self._al is not None:
            self._sync()
            if self._al.origin is not None:
                self._check_origin()
        return self._node is None

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made this tensor, or None.

        Example:
            >>> import jtorch as torch
            >>> x = torch.tensor([1.0], requires_grad=True)
            >>> (2 * x).grad_fn.name(), x.grad_fn
            ('MulBackward0', None)
        """
        if self._v is None and self._al is not None:
            self._sync()
            if self._al.origin is not None:
                self._check_origin()
        node = self._node
        return None if node is None else shown(node)

    @property
    def output_nr(self) -> int:
        """Which result of ``grad_fn`` this is.

        Example:
            >>> import jtorch as torch
            >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
            >>> x.unbind()[1].output_nr
            1
        """
        return self._nr

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded, so that gradients reach it.

        Raises:
            RuntimeError: on setting, if the tensor is not floating-point or complex, or is no leaf and shall stop to require grad.

        Example:
            >>> import jtorch as torch
            >>> x = torch.tensor([1.0])
            >>> x.requires_grad = True
            >>> (2 * x).requires_grad
            True
        """
        if self._v is None and self._al is not None:
            self._sync()
        return self._rg

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, got {type(value).__name__}")
        if self._node is not None and not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
                "doesn't require differentiation use var_no_grad = var.detach()."
            )
        if value and not self._aval.differentiable:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if value and self._inference and not MODE.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._rg = value
        self._borrowed = False
        if value and MODE.transforms:
            adopted(self)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets ``requires_grad`` in place and returns the tensor.

        Args:
            requires_grad: whether autograd is to record what is done with the tensor.

        Raises:
            RuntimeError: as setting ``requires_grad``.

        Example:
            >>> import jtorch as torch
            >>> torch.tensor([1.0]).requires_grad_()
            tensor([1.], requires_grad=True)
        """
        if MODE.transforms:
            raise RuntimeError(inside_transform("Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)"))
        if requires_grad and not self._aval.differentiable:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.requires_grad = requires_grad
        return self

    def _sync(self) -> None:
        """Brings a view's history up to date with its base's."""
        al = self._al
        base = al.base  # type: ignore[union-attr]
        if base is not None and base._rg:
            if al.gen != al.counter.n and al.origin is None:  # type: ignore[union-attr]
                refresh_history(self, al)  # type: ignore[arg-type]
                if self._retains and self._node is not None:
                    hooks.retain(self)
            elif not self._rg and self._aval.differentiable and not base._inference:
                # The base was told to require grad after this view was made: torch says that the view does too, and gives it no gradient.
                self._rg = self._borrowed = True

    def _check_origin(self) -> None:
        """Raises torch's error for views whose history cannot follow a change of their base."""
        check_origin(self, self._al)  # type: ignore[arg-type]

    @property
    def grad(self) -> Any:
        """The gradient that ``backward`` has accumulated, or None.

        Raises:
            TypeError, RuntimeError: on setting, unless it is None or a tensor of the same shape, dtype and device.

        Example:
            >>> import jtorch as torch
            >>> x = torch.tensor([3.0], requires_grad=True)
            >>> (x * x).backward()
            >>> x.grad
            tensor([6.])
        """
        if self._node is not None and not self._retains and self._grad is None:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
                "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
                ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
                "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
                stacklevel=outside(),
            )
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            mine, its = self._aval, value._aval
            if its.dtype != mine.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{dtype_name(its)}' to a tensor with grad_dtype "
                    f"'{mine.torch_dtype.scalar_name if mine.torch_dtype else mine.dtype}'. The gradient must match the tensor's "
                    "grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or "
                    "None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
                    "downstream systems that assume they match."
                )
            if its.device != mine.device:
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
                    f"'{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
                )
            if its.shape != mine.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(its.shape)}' to a tensor of size '{list(mine.shape)}'. Please ensure "
                    "that the gradient and the tensor are the same size"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same data without history: changes are seen in both, and not by the version check.

        Raises:
            TypeError: on setting, if it is no tensor.
            RuntimeError: on setting, if the tensor requires grad and the data has no floating-point or complex dtype.

        Example:
            >>> import jtorch as torch
            >>> x = torch.tensor([1.0], requires_grad=True)
            >>> _ = x.data.mul_(5)
            >>> x
            tensor([5.], requires_grad=True)
        """
        made = detached(self)
        made._al.counter = Counter(count_apart(self))  # type: ignore[union-attr]
        return made

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if type(value) in LAYOUTS and type(self) not in LAYOUTS:
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.")
        if self._rg and not value._aval.differentiable:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self._state and value._v is not None and value._v.trace is SPECIAL:
            check_state(self, value._v)
        version = self._writes
        counter = Counter(version, True) if self._al is None else self._al.counter
        source = detached(value)
        if source._al is not None and source._al.storage.host is None and not source._al.chain and value._al is not None:
            self._al, self._v, self._strides = source._al, None, source._strides
        else:
            al = alias_of(value)
            mine = Alias(al.storage, al.chain, al.value, None, 0, al.offset)
            mine.version, mine.aval, mine.strides = al.version, al.aval, al.strides
            self._al, self._v, self._strides = mine, None, value._strides
        if version >= 0 and value._writes >= 0:  # the count is the tensor's, and that of the views that it had, not its data's
            counter.heeded = True
            self._al.counter = counter

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in row-major order (or in the order of ``memory_format``).

        Args:
            memory_format: the order in memory that is asked for; ``torch.contiguous_format`` if it is None.

        Example:
            >>> import jtorch as torch
            >>> torch.zeros(2, 3).is_contiguous(), torch.zeros(2, 3).t().is_contiguous()
            (True, False)
        """
        if memory_format is None or memory_format is contiguous_format or str(memory_format) == "torch.contiguous_format":
            return self._strides is None or is_contiguous(self._aval.shape, self._strides)
        if hasattr(self._v, "physical"):
            raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format")
        return in_format(self._aval.shape, self.stride(), memory_format)

    # ---- plumbing --------------------------------------------------------------------------------------------------------------

    def __dir__(self) -> list[str]:
        """The names of attributes, without those of the implementation.

        Example:
            >>> import jtorch as torch
            >>> "add" in dir(torch.zeros(1)), "_v" in dir(torch.zeros(1))
            (True, False)
        """
        absent = {"volatile"} if self.is_cuda else {"volatile", "__cuda_array_interface__"}  # which torch leaves out, too
        return sorted(set(super().__dir__()).difference(INTERNAL - {"_grad"}, absent))

    def _edge(self) -> Any:
        """Where this tensor's gradient goes: its node's output, itself if it is a leaf, or None."""
        if not self._rg:
            return None
        if self._node is not None:
            return (self._node, self._nr)
        return None if self._borrowed else self


def requiring(t: Tensor) -> Tensor:
    """``t``, which requires grad from now on; also inside function transformations, where ``requires_grad_`` is refused."""
    t.requires_grad = True
    return t


def adopted(t: Tensor) -> None:
    """Tells running function transformations that a leaf was made inside them."""
    for transform in MODE.transforms:
        if transform is not None:
            transform.adopt(t)


def inside_transform(what: str) -> str:
    """torch's words for what cannot be done inside a function transformation."""
    short = what.partition(" (")[0].rpartition(".")[2]
    return (
        f"You are attempting to call {what} inside of a function being transformed by a functorch transform. This is unsupported, please "
        f"attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {short} outside of a function being "
        "transformed instead."
    )


INTERNAL.update(Tensor.__annotations__)


def _dim(dim: int, ndim: int) -> int:
    return canonical_dim(int(dim), ndim, wrap_scalar=False) if ndim == 0 else canonical_dim(int(dim), ndim)


def dtype_name(aval: Aval) -> str:
    """``Float``, as torch's messages name a dtype."""
    return {"Float": "float", "Double": "double"}.get(
        n := (aval.torch_dtype.scalar_name if aval.torch_dtype else str(aval.dtype)), n.lower()
    )


# ---- making tensors --------------------------------------------------------------------------------------------------------------


def from_value(v: Value) -> Tensor:
    """A tensor of a value that nothing else holds."""
    t = _new(Tensor)
    t._v = v
    if BIRTHS:
        t._birth = born()
    return t


def wrap(array: Any) -> Tensor:
    """A tensor of a ``jax.Array`` (or tracer), without a copy; the array stays valid."""
    return from_value(leaf(array))


def from_host(array: Any, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of a NumPy array's data."""
    array = np.asarray(array)
    place = devices.placement(device)
    if place == META:
        t = from_value(meta_value(array.shape, array.dtype))
    else:
        # The copy is the device's own from here on: no one else refers to it.
        t = from_value(put(np.array(array), place))
    if requires_grad:
        t.requires_grad = True
    return t


def share_host(array: np.ndarray, owned: bool = False) -> Tensor:
    """A tensor on a NumPy array's own memory: what either side writes the other sees. It may get another size if it is ``owned``."""
    t = _new(Tensor)
    aval = aval_of(array.shape, array.dtype, devices.cpu_placement())
    storage = (Storage if owned else ForeignStorage)(None, None, 0, host=array, aval=aval)
    if BIRTHS:
        storage.birth = born()
    t._al = Alias(storage, (), None, None, 0, 0)
    itemsize = array.dtype.itemsize
    strides = tuple(s // itemsize for s in array.strides)
    if strides != contiguous_strides(array.shape):
        t._strides = storage.strides = strides
    if MODE.inference:
        t._uncount()
    return t


def _count_alone() -> int:
    """References to a storage that one alias alone has, as ``Tensor._read`` counts them."""
    al = Alias(Storage(None, None, 0), (), None, None, 0, 0)
    storage = al.storage
    return _references(storage)


_ALONE = _count_alone()


type(SAVING).wrap = staticmethod(from_value)  # the tape knows no Tensor
type(SAVING).tensor = Tensor


def _marked(result: Any, arguments: Iterable[Any]) -> Any:
    kind = type(result)
    if kind is Tensor and result._al is None:
        if result._ver >= 0:
            for a in arguments:
                if a is result or (type(a) in (tuple, list) and any(item is result for item in a)):
                    return result
            result._ver = UNCOUNTED
    elif issubclass(kind, Tensor):
        if result._writes >= 0 and not _is_known(result, arguments):
            result._uncount()
    elif issubclass(kind, (tuple, list)) and kind is not Size:
        arguments = [*arguments]
        for item in result:
            _marked(item, arguments)
    return result


def _is_known(t: Tensor, arguments: Iterable[Any], depth: int = 1) -> bool:
    """Whether a tensor is among the arguments of a call, or looks at the memory of one of them."""
    address = None if t._al is None else t._al.storage.address
    for a in arguments:
        if a is t:
            return True
        if isinstance(a, Tensor):
            if address is not None and a._al is not None and a._al.storage.address == address:
                return True
        elif depth and isinstance(a, (tuple, list)) and _is_known(t, a, depth - 1):
            return True
    return False


grad_mode.marked = _marked


# ---- views -----------------------------------------------------------------------------------------------------------------------


def alias_of(t: Tensor) -> Alias:
    """How ``t`` looks at its storage; gives it one if it had none."""
    al = t._al
    if al is not None:
        if al.storage.moved is not None:
            follow(al)
        return al
    while al is None:
        v = t._v
        storage = Storage(v, t._strides, t._ver)
        if t._address:
            storage.address = t._address
        if t._birth:
            storage.birth = t._birth
        made = Alias(storage, (), v, None, 0, 0)
        # No call between the question and the answer: no other thread comes in between. They look for the value first, so it goes last.
        al = t._al
        if al is None and t._v is v:
            t._al = al = made
            t._v = None
    return al


def start_of(al: Alias) -> int:
    """Where the storage begins in the memory of all examples, in elements as the alias has them, if it is that of one example; else 0."""
    storage = al.storage
    value = storage.value
    found = value.start(storage) if isinstance(value, Transformed) else None
    return found * value.aval.dtype.itemsize // al.aval.dtype.itemsize if found else 0


def lazy_bits(t: Tensor) -> tuple[bool, bool]:
    """Whether the tensor shows the conjugates of the numbers in memory, and whether it shows their negatives."""
    return (False, False) if t._al is None else bits_of(t._al.chain)


def view(
    t: Tensor, step: Step, strides: tuple[int, ...], offset: int, value: Value | None = None, edge: Any = None, source: Value | None = None
) -> Tensor:
    """The view of ``t`` that ``step`` describes. Where one op makes several views, ``value`` and ``edge`` are given, and of what value."""
    al = t._al
    if al is not None and al.base is not None and al.base._rg:
        t._sync()  # the base may have come to require grad since
    if value is None and not t._rg and (small := small_view(t, (step,), strides, offset)) is not None:
        return small
    v = t._v
    al = t._al
    if v is None:
        if al.storage.host is not None and not al.storage.adopt():  # type: ignore[union-attr]
            return _unread_view(t, al, step, strides, offset)  # type: ignore[arg-type]
        if al.value is None and wide(al):  # type: ignore[union-attr, arg-type]
            return _part_of_wide(t, al, step, strides, offset)  # type: ignore[arg-type]
        v = t._read()
        al = t._al  # reading may find that nobody shares the storage any more
    r = _new(Tensor)
    grad = t._rg and MODE.enabled and v.aval.differentiable
    if grad and al is not None and al.origin is not None:
        t._check_origin()
    if value is None:
        if LOCAL.trace is None and unread(t, v):  # (asked twice: deferred mode pays for one look)
            return _unread_view(t, alias_of(t), step, strides, offset)
        if 0 in strides and v.trace is not SPECIAL and _widens(t, step):
            return _part_of_wide(t, alias_of(t), step, strides, offset)
        seen: Value = record(step.get, (v,), step.numbers)
        value = seen
        if grad and seen.aval.differentiable:
            r._node = Node(step.get, (v,), (t._edge(),), step.numbers, (seen,))
            r._rg = True
    elif edge is not None:
        r._node, r._nr = edge
        r._rg = True
    if al is None:
        al = alias_of(t)
    base = al.base if al.base is not None else t
    r._al = mine = Alias(al.storage, (*al.chain, step), value, base, al.counter.n, offset)
    mine.counter, mine.strides = al.counter, strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    if al.value is not (source or v) and value.trace is not SPECIAL:
        mine.version = -1  # another thread has written into ``t`` meanwhile: to be read again
    _from(value, al.storage.value)
    if strides != contiguous_strides(value.aval.shape):
        r._strides = strides
    return r


def small_view(t: Tensor, steps: tuple[Step, ...], strides: tuple[int, ...], offset: int) -> Tensor | None:
    """A small view of memory that NumPy's array is, to be computed from that when it is read, however many views lie between; None where
    it would have to be another way. (Reading it runs no kernel, so that it is no question whether to record one.)
    """
    al = t._al
    if al is None:
        whole = t._v
        aval = whole.aval  # type: ignore[union-attr]
    else:
        if not (al.direct or not al.chain):
            return None
        storage = al.storage
        whole, aval = storage.value, t._aval
        if whole is None or storage.strides is not None:
            return None
    array = whole.array  # type: ignore[union-attr]
    if type(array) is not np.ndarray:
        return None
    recording = LOCAL.trace is not None
    for step in steps:
        if not step.geometric or type(step) is not Step:
            return None
        get = step.get
        found: Any = unrecorded(get, aval) if recording else get.shapes.get((aval,))
        if found is None:
            return None
        aval = found.outs
    if aval.nbytes > SMALL_VIEW or aval.dtype != array.dtype:
        return None
    if al is None:
        al = alias_of(t)
        if al.storage.strides is not None:
            return None
    r = _new(Tensor)
    r._al = mine = _new(Alias)  # as ``Alias`` makes it, each attribute once
    mine.storage = al.storage
    mine.chain = (*al.chain, *steps)
    mine.value = None
    mine.version = -1
    base = al.base
    mine.base = t if base is None else base
    mine.counter = counter = al.counter
    mine.gen = counter.n
    mine.offset, mine.aval, mine.strides = offset, aval, strides
    mine.direct = True
    mine.contiguous = contiguous = strides == contiguous_strides(aval.shape)
    if not contiguous:
        r._strides = strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    return r


#: Views of no more bytes are read from NumPy's memory at once.
SMALL_VIEW = 1 << 15
#: Views of more bytes that repeat their memory's elements are computed where they are used, mostly as a part of what uses them.
WIDE = 1 << 26


def wide(al: Alias) -> bool:
    """Whether a view is large, and larger than its memory."""
    nbytes = al.aval.nbytes  # of sizes that vary, an expression
    return type(nbytes) is int and nbytes > WIDE and 0 in al.strides and al.aval.size > al.storage.aval.size


def _widens(t: Tensor, step: Step) -> bool:
    aval: Any = shapes_of(step.get, (t._aval,), t._aval.device).outs
    return type(aval.nbytes) is int and aval.nbytes > WIDE and aval.size > (t._aval if t._al is None else t._al.storage.aval).size


def _part_of_wide(t: Tensor, al: Alias, step: Step, strides: tuple[int, ...], offset: int) -> Tensor:
    """A view that is wide, or of one that is: read by its strides where they tell, so that the wide one is never computed."""
    aval: Any = shapes_of(step.get, (t._aval,), t._aval.device).outs
    chain: tuple[Step, ...] = (*al.chain, step)
    if al.chain and all(s.geometric for s in chain):
        chain = tuple(memory_steps(al.storage.aval, al.storage.strides, aval.shape, strides, offset, aval.dtype))
    r = _new(Tensor)
    r._al = mine = Alias(al.storage, chain, None, al.base if al.base is not None else t, al.counter.n, offset)
    mine.aval, mine.strides, mine.counter = aval, strides, al.counter
    if strides != contiguous_strides(aval.shape):
        r._strides = strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    if t._rg and MODE.enabled and aval.differentiable:
        if al.origin is not None:
            t._check_origin()
        r._node = Node(step.get, (_described(t._aval),), (t._edge(),), step.numbers, (_described(aval),))
        r._rg = True
    return r


def _described(aval: Aval) -> Value:
    """A value to make a node of which keeps none: only its shape and dtype are known."""
    v = _new(Value)
    v.aval, v.array, v.index, v.trace, v.meta = aval, None, 0, None, None
    return v


def unread(t: Tensor, v: Value) -> bool:
    """Whether views of ``t``, whose value is ``v``, are left to be computed when they are read: immediate mode would copy each at once.

    Only those of whole tensors: views of a view would each compute that one anew.
    """
    if LOCAL.trace is not None or t._rg or v.trace is SPECIAL:
        return False
    al = t._al
    return al is None or not (al.chain or al.base is not None)


def _unread_view(t: Tensor, al: Alias, step: Step, strides: tuple[int, ...], offset: int) -> Tensor:
    """A view whose value is computed when it is needed: of NumPy's memory, and in immediate mode of any tensor that is no view itself."""
    aval = shapes_of(step.get, (t._aval,), t._aval.device).outs
    r = _new(Tensor)
    base = al.base if al.base is not None else t
    r._al = mine = Alias(al.storage, (*al.chain, step), None, base, al.counter.n, offset)
    mine.aval, mine.strides, mine.counter = aval, strides, al.counter  # type: ignore[assignment]
    if strides != contiguous_strides(aval.shape):  # type: ignore[union-attr]
        r._strides = strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    if t._rg and MODE.enabled:
        v = t._read()
        value = record(step.get, (v,), step.numbers)
        r._node = Node(step.get, (v,), (t._edge(),), step.numbers, (value,))
        r._rg = True
    return r


def _from(value: Value, source: Value | None) -> None:
    if value.meta is None:
        value.meta = Meta(source=source)
    else:
        value.meta.source = source


def count_apart(t: Tensor) -> int:
    """Where a tensor without history on the data of ``t`` begins to count its changes, if it does so by itself."""
    return 0 if not t._inference else UNCOUNTED if MODE.inference else DETACHED


def detached(t: Tensor, stops: bool = True) -> Tensor:
    """A tensor on the same data without history; inside a transformation, derivatives do not pass through it if it ``stops`` them."""
    al = alias_of(t)
    if al.storage.detach is not None:  # there is no data here: the tensor's class knows
        return al.storage.detach(t)
    r = _new(Tensor)
    if al.storage.host is None and al.version != al.storage.version:
        t._read()
        al = alias_of(t)
    chain, value, version = al.chain, al.value, al.version
    if stops and value is not None and value.trace is SPECIAL and value.aval.device != META:
        step = detaching()
        chain, value = (*chain, step), record(step.get, (value,))
    r._al = mine = Alias(al.storage, chain, value, None, 0, al.offset)
    mine.version, mine.aval, mine.strides, mine.counter = version, al.aval, al.strides, al.counter
    r._strides = t._strides
    return r


def same_memory(t: Tensor, source: Tensor, origin: str) -> Tensor:
    """A tensor on the memory of ``t``, counted as a view of ``source``; ``origin`` says what made it (see ``Alias``)."""
    r = detached(t)
    al = alias_of(source)
    if r._al.storage.detach is not None:  # type: ignore[union-attr]  # no data: its class keeps count of views itself
        return r
    r._al.base = source if al.base is None else al.base  # type: ignore[union-attr]
    r._al.gen, r._al.origin = al.counter.n, origin  # type: ignore[union-attr]
    return r
