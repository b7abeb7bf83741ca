"""``Tensor``, which holds a value or looks at a storage, and the ways to make one of a value or an
array. Floor 3 binds the ops as methods.

What it tells of itself and of its history is in ``_src/tensor/described.py`` and ``recorded.py``,
views of it are made in ``looking.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

import jax
import numpy as np

from ._src.engine import (
    META,
    SPECIAL,
    THREADS,
    Aval,
    Meta,
    Value,
    aval_of,
    leaf,
    meta_value,
    put,
    read,
    record,
    unbound,
)
from ._src.facts import devices
from ._src.facts.layouts import contiguous_strides as contiguous_strides
from ._src.facts.layouts import format_strides as format_strides
from ._src.facts.layouts import is_contiguous as is_contiguous
from ._src.facts.layouts import is_dense as is_dense
from ._src.facts.size import Size
from ._src.tensor import described, recorded
from ._src.tensor.aliases import BIRTHS as BIRTHS
from ._src.tensor.aliases import DETACHED as DETACHED
from ._src.tensor.aliases import UNCOUNTED, WIDE, derived, wide
from ._src.tensor.aliases import alias_of as alias_of
from ._src.tensor.aliases import born as born
from ._src.tensor.aliases import lazy_bits as lazy_bits
from ._src.tensor.cells import Alias, ForeignStorage, Storage, follow, look_below, rejoin
from ._src.tensor.own_attributes import TensorBase, without
from ._src.tensor.recorded import adopted as adopted
from ._src.tensor.recorded import inside_transform as inside_transform
from ._src.tensor.view_steps import detaching
from .autograd import grad_mode
from .autograd.grad_mode import MODE
from .autograd.tape import SAVING, Node

if TYPE_CHECKING:
    from typing import Self

    from ._src.facts.kinds import Named, Tree


_new = object.__new__
_references = sys.getrefcount


#: The names of a tensor's own attributes, which its ``__dict__`` does not show.
INTERNAL: set[str] = set()


class TensorMeta(type):
    """The class of tensor classes: lets a mixin that comes before ``Tensor`` among the bases not
    bring its own ``__dict__`` instead."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: Named, **options: object
    ) -> Any:
        """Makes a class."""
        if bases and not issubclass(bases[0], TensorBase):
            namespace.setdefault("__dict__", _attributes)
        # type("Mine", (Tensor,), {})
        namespace.setdefault("__module__", sys._getframe(1).f_globals.get("__name__", "builtins"))
        return super().__new__(cls, name, bases, namespace, **options)


_attributes = without(INTERNAL)


class Tensor(TensorBase, metaclass=TensorMeta):
    """A multi-dimensional array with torch's semantics on a JAX array.

    A tensor has elements of one type (``dtype``) in a number of dimensions (``shape``) on one
    device (``device``). It is made by ``torch.tensor`` of numbers, by factories such as
    ``torch.zeros`` and ``torch.randn``, by ``torch.as_tensor`` of an array of NumPy or JAX, and by
    operations on tensors, which are functions of ``torch``, methods and operators.

    - *Views*: indexing with numbers and slices, ``view``, ``transpose`` and others give tensors
      that look at the same memory. What is written into one, by methods ending in ``_`` and by
      assignment to indices, is seen in all.
    - *Gradients*: of what is computed from a tensor with ``requires_grad=True``, ``backward`` adds
      the derivatives to its ``grad``.
    - *When it runs*: operations are recorded, and run when a value is read: by ``item``,
      ``tolist``, ``numpy``, ``jax``, printing, or where Python needs a number or truth value.
      ``torch.synchronize`` runs what is pending.

    ``Tensor(2, 3)`` has undefined numbers, ``Tensor([1, 2])`` those of the list, of the default
    dtype; prefer ``torch.empty`` and ``torch.tensor``.

    Args:
        args: sizes, or nested sequences of numbers, as old programs write it; ``torch.tensor`` and
            ``torch.empty`` say which is meant.
        kwargs: ``device``, which must be the CPU.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([[2., 4.],
                [6., 8.]])
    """

    # ``_v`` is the value of a tensor that shares its data with no other; otherwise it is None and
    # ``_al`` says which storage is looked at and how. The other attributes have class-level
    # defaults, so that making a result costs one attribute.
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
    _grad_kind: object = None  # the dtype of its gradients where it is another, False for any
    _end: object = None
    _retains: bool = False
    _address: int = 0
    _borrowed: bool = False
    _lent: tuple[ref[Tensor], ...] = ()  # the views that require grad because this does
    _state: bool = False  # belongs to a module
    _birth: int = 0
    _passed: object = None  # to a function that JAX traces: what its trees share

    __array_priority__ = 1000
    __hash__ = object.__hash__  # by identity, although == compares elements
    __dict__ = _attributes  # type: ignore[assignment]

    # the ops are bound as methods by floor 3; the public stubs describe them one by one
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> None: ...
        def __setitem__(self, index: object, value: Any) -> None: ...
        def __add__(self, other: Any) -> None: ...
        def __radd__(self, other: object) -> None: ...
        def __sub__(self, other: Any) -> None: ...
        def __rsub__(self, other: Any) -> None: ...
        def __mul__(self, other: Any) -> None: ...
        def __rmul__(self, other: Any) -> None: ...
        def __truediv__(self, other: Any) -> None: ...
        def __rtruediv__(self, other: Any) -> None: ...
        def __floordiv__(self, other: Any) -> None: ...
        def __mod__(self, other: object) -> None: ...
        def __pow__(self, other: object) -> None: ...
        def __matmul__(self, other: object) -> None: ...
        def __and__(self, other: object) -> None: ...
        def __or__(self, other: object) -> None: ...
        def __xor__(self, other: object) -> None: ...
        def __lt__(self, other: object) -> None: ...
        def __le__(self, other: Any) -> None: ...
        def __gt__(self, other: object) -> None: ...
        def __ge__(self, other: object) -> None: ...
        def __neg__(self) -> None: ...
        def __invert__(self) -> None: ...
        def __abs__(self) -> None: ...
        def __iter__(self) -> None: ...
        def __len__(self) -> int: ...
        def __bool__(self) -> bool: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self) -> Value:
        """The tensor's current value, with its history brought up to date."""
        v = self._v
        if v is not None:
            return v
        al = self._al
        if al is None:
            raise RuntimeError("this tensor has no data")
        # The base may have been written into under autograd since: then the view's history is that
        # of the new base.
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
            # views of what its data was count with it
            and not (al.counter.heeded and _references(al.counter) > 2)
            and not storage.seen
        ):
            # Nobody shares the storage any more: hold the value directly again.
            self._v, self._ver, self._address, self._al = (
                storage.value,
                al.counter.n,
                storage.address,
                None,
            )
            if storage.birth:
                self._birth = storage.birth
            return storage.value  # type: ignore[return-value]
        version = storage.version
        if al.version != version or storage.host is not None:
            if storage.moved is not None:
                follow(al)
                return self._read()
            if (
                base is not None
                and base._al is not None
                and base._al.storage is not storage
                and rejoin(al)
            ):
                return self._read()
            value = storage.get(al)
            whole = storage.value
            if whole is None:
                if storage.seen is None:
                    storage.seen = WeakSet()
                storage.seen.add(value)
            else:
                if al.chain:
                    derived(value, whole)
                if value.trace is SPECIAL and whole.trace is not SPECIAL:
                    # read inside a JAX transformation: a tracer, which must not outlive it
                    return value
            # An expanded view's numbers as a whole may not fit into memory; what uses it becomes
            # one program with it.
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
        return self._al.aval

    def jax(self) -> jax.Array:
        """The tensor's data as a ``jax.Array`` (running what is pending); inside a JAX
        transformation, its tracer.

        Example:
            >>> import jtorch as torch
            >>> torch.tensor([1, 2]).jax()
            Array([1, 2], dtype=int64)
        """
        v = self._read()
        found = read(v)
        if v.trace is not SPECIAL:
            if v.meta is None:
                v.meta = Meta(keep=True)
            else:
                v.meta.keep = True
            found = v.array = unbound(found)
        return found

    # ---- metadata: tensor/described.py -----------------------------------------------------------

    shape = described.shape
    dtype = described.dtype
    device = described.device
    ndim = described.ndim
    dim = ndimension = described.dim
    size = described.size
    numel = nelement = described.numel
    itemsize = described.itemsize
    element_size = described.element_size
    nbytes = described.nbytes
    stride = described.stride
    storage_offset = described.storage_offset
    data_ptr = described.data_ptr
    is_contiguous = described.is_contiguous

    # ---- history: tensor/recorded.py -------------------------------------------------------------

    is_leaf = recorded.is_leaf
    grad_fn = recorded.grad_fn
    output_nr = recorded.output_nr
    requires_grad = recorded.requires_grad
    requires_grad_ = recorded.requires_grad_
    grad = recorded.grad
    data = recorded.data
    _version = recorded._version
    _writes = recorded._writes
    _inference = recorded._inference
    _uncount = recorded._uncount
    _written = recorded._written
    _sync = recorded._sync
    _check_origin = recorded._check_origin

    # ---- plumbing --------------------------------------------------------------------------------

    def __dir__(self) -> list[str]:
        """The names of attributes, without those of the implementation.

        Example:
            >>> import jtorch as torch
            >>> "add" in dir(torch.zeros(1)), "_v" in dir(torch.zeros(1))
            (True, False)
        """
        # as in torch
        absent = {"volatile", "__numpy_dtype__"} | (
            set() if self.is_cuda else {"__cuda_array_interface__"}
        )
        return sorted(set(super().__dir__()).difference(INTERNAL - {"_grad"}, absent))

    def _edge(self) -> tuple[Node, int] | Self | None:
        """Where this tensor's gradient goes: its node's output, itself if it is a leaf, or None."""
        if not self._rg:
            return None
        if self._node is not None:
            return (self._node, self._nr)
        return None if self._borrowed else self

    def _detached(self) -> Tensor:
        """A tensor on the same data without history."""
        return detached(self)


def detached(t: Any, stops: bool = True) -> Tensor:
    """A tensor on the same data without history; inside a transformation, derivatives do not pass
    through it if it ``stops`` them."""
    al = alias_of(t)
    if al.storage.detach is not None:  # there is no data here: the tensor's class knows
        return al.storage.detach(t)
    r = _new(Tensor)
    if stops and al.storage.primal is not None:
        return _without_tangents(t, al)
    if al.storage.host is None and al.version != al.storage.version:
        t._read()
        al = alias_of(t)
    al.storage.apart = True
    chain, value, version = al.chain, al.value, al.version
    if stops and value is not None and value.trace is SPECIAL and value.aval.device != META:
        step = detaching()
        chain, value = (*chain, step), record(step.get, (value,))
    r._al = mine = Alias(al.storage, chain, value, None, 0, al.offset)
    mine.version, mine.aval, mine.strides, mine.counter = version, al.aval, al.strides, al.counter
    r._strides = t._strides
    return r


def _without_tangents(t: Tensor, al: Alias) -> Tensor:
    """``detached`` of a tensor that has other memory for its tangents."""
    r = _new(Tensor)
    r._al = mine = Alias(al.storage, al.chain, None, None, 0, al.offset)
    mine.aval, mine.strides, mine.counter = al.aval, al.strides, al.counter
    r._strides = t._strides
    while mine.storage.primal is not None:
        look_below(mine)
    return detached(r)


def requiring(t: Tensor) -> Tensor:
    """``t``, which requires grad from now on; also inside function transformations, where
    ``requires_grad_`` is refused. What makes tensors says of integers what PyTorch's factories do.
    """
    if not t._aval.differentiable:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t.requires_grad = True
    return t


INTERNAL.update(Tensor.__annotations__)


# ---- making tensors ------------------------------------------------------------------------------


def from_value(v: Value) -> Tensor:
    """A tensor of a value that nothing else holds."""
    t = _new(Tensor)
    t._v = v
    if BIRTHS:
        t._birth = born()
    return t


def wrap(array: object) -> Tensor:
    """A tensor of a ``jax.Array`` (or tracer), without a copy; the array stays valid."""
    return from_value(leaf(array))


def from_host(array: object, device: Any = None, requires_grad: bool = False) -> Tensor:
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
    """A tensor on a NumPy array's own memory: what either side writes the other sees. It may get
    another size if it is ``owned``."""
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


def _marked(result: Tree, arguments: Iterable[Any]) -> object:
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


def _is_known(t: Tensor, arguments: Iterable[object], depth: int = 1) -> bool:
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
