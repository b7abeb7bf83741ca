"""Tensors as Python objects: how they are constructed, copied and pickled, and given another
class."""

from __future__ import annotations

import copy as copy_module
from typing import Any

import numpy as np

from ...autograd.grad_mode import MODE
from ...autograd.tape import Node
from ...core import Tensor, adopted, alias_of, detached, from_host, from_value, lazy_bits
from ...dispatch import ACTIVE, PLAIN, disabled_torch_function_impl
from .. import hooks
from ..bind.cores import composite
from ..borders.pytree import known
from ..engine import META, record
from ..facts import dtypes
from ..facts.errors import not_offered
from ..ops._declare import OPS
from ..ops._kernel import T, call_of
from . import old_constructors
from .cells import Alias, Counter
from .numbers import _data
from .running import preserve_layout
from .state import PARTS, restored, slots_of, state_of
from .untyped_storage import copied_storage
from .views import with_bits

_new = object.__new__


# ---- copying and pickling ------------------------------------------------------------------------


def __copy__(self: Tensor) -> Tensor:
    if self._al is not None and self._al.storage.detach is not None:  # no data of its own
        return hooks.copied_wrapper(self)
    if _has_own_handler(type(self)):
        reduced = self.__reduce_ex__(4)  # who takes part is asked as by pickle
        if reduced[0] is not _rebuild_from_array:
            return copy_module._reconstruct(self, None, *reduced)  # type: ignore[attr-defined]
    made = detached(self) if type(self) is Tensor else _retyped(self, type(self))
    if made._al.counter.n < 0 and not MODE.inference:
        made._al.counter = Counter()
    made.requires_grad = (self.requires_grad and self.is_leaf) or self.requires_grad
    return restored(made, state_of(self))


def _has_own_handler(cls: type) -> bool:
    handler = cls.__torch_function__
    return cls not in PLAIN and getattr(handler, "__func__", handler) not in (
        Tensor.__torch_function__.__func__,
        disabled_torch_function_impl,
    )


@composite(namespace="Tensor", operands=("self",), native=False)
def __deepcopy__(self: Tensor, memo: Any) -> Tensor:
    """A copy with its own memory.

    Raises:
        RuntimeError: for tensors that have a history.

    Example:
        >>> import jtorch as torch
        >>> import copy
        >>> x = torch.tensor([1.0])
        >>> copy.deepcopy(x) is x
        False
    """
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    cls = type(self)
    if cls is Tensor:
        made = _deep(self, memo)
    elif self.is_meta:  # no data of its own
        made = self.clone()
        if type(made) is not cls:
            raise RuntimeError(_UNCOPIED.format("wrapper", "clone()", "cloning"))
    else:
        if type(self.new_empty([])) is not cls:
            raise RuntimeError(_UNCOPIED.format("non-wrapper", "new_empty()", "that function"))
        made = _retyped(_deep(self, memo), cls)
    memo[id(self)] = made
    made._rg = self._rg
    if self._grad is not None:
        made._grad = self._grad.__deepcopy__(memo)
    for k, v in self.__dict__.items():
        if k not in PARTS:
            made.__dict__[k] = copy_module.deepcopy(v, memo)
    for k in slots_of(cls):
        if hasattr(self, k):
            setattr(made, k, copy_module.deepcopy(getattr(self, k), memo))
    return made


_UNCOPIED = (
    "The default implementation of __deepcopy__() for {0} subclasses only works for subclass types "
    "that implement {1} and for which {2} returns another instance of the same subclass. You "
    "should either properly implement {1} for your subclass or override __deepcopy__() if it is "
    "intended behavior for {1} to return an instance of a different type."
)


def _deep(t: Tensor, memo: dict[int | str, object]) -> Tensor:
    v = t._v or t._read()
    al = t._al
    if al is None or v.aval.device == META or any(lazy_bits(t)):
        r = from_value(v if v.aval.device == META else record(call_of(OPS["clone"], (T,)), (v,)))
        if al is not None and any(lazy_bits(t)):  # what torch clones, and so in dense memory
            return preserve_layout(r, t)
        r._strides = t._strides
        return r if v.aval.device == META else r._written(1)
    # Tensors that shared memory share it in the copy too.
    whole = alias_of(copied_storage(al.storage, memo))
    r = _new(Tensor)
    r._al = Alias(whole.storage, al.chain, None, None, 0, al.offset)
    r._al.aval, r._al.strides = al.aval, al.strides
    r._al.counter = Counter(1)  # torch sets the memory of a new tensor, which counts by itself
    r._strides = t._strides
    return r


def _rebuild_from_array(
    array: np.ndarray,
    dtype: dtypes.dtype,
    requires_grad: bool,
    cls: object,
    state: tuple[object, ...] | dict[str, object],
    *bits: bool,
) -> Tensor:
    t = from_host(array.view(dtype.np) if array.dtype != dtype.np else array)
    if bits:  # the array is then what is in memory
        t = with_bits(t, bits)  # type: ignore[arg-type]
    if cls is not None:
        t = t.as_subclass(cls)
    t._rg = requires_grad
    return restored(t, state)


def _rebuild_on_meta(
    dtype: dtypes.dtype,
    shape: object,
    strides: object,
    requires_grad: bool,
    state: dict[str, object],
) -> Tensor:
    return restored(
        hooks.rebuilding.get()._rebuild_meta_tensor_no_storage(
            dtype, shape, strides, requires_grad
        ),
        state,
    )


# where pickles find them
_rebuild_from_array.__module__ = _rebuild_on_meta.__module__ = "jtorch._utils"


@composite(namespace="Tensor", operands=("self",), native=False)
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    """Pickles data, dtype, ``requires_grad``, class and the attributes set on the instance; history
    is left out.

    Returns: what ``pickle`` makes the tensor of again: a function and its arguments.

    Example:
        >>> import jtorch as torch
        >>> import pickle
        >>> pickle.loads(pickle.dumps(torch.tensor([1, 2])))
        tensor([1, 2])
    """
    # a wrapper: what it stands for are its attributes
    if self._al is not None and self._al.storage.detach is not None:
        _utils = hooks.rebuilding.get()
        shape = tuple(self.size()), tuple(self.stride()), self.storage_offset()
        made = (type(self), self.dtype, *shape, self.layout, self.device, self.requires_grad)
        return _utils._rebuild_from_type_v2, (
            _utils._rebuild_wrapper_subclass,
            type(self),
            made,
            state_of(self),
        )
    # The plain class is left out: under its public name, torch.Tensor, pickle may find PyTorch's
    # own.
    cls = None if type(self) is Tensor else type(self)
    if cls is not None and self.is_meta:  # no data of its own
        _utils = hooks.rebuilding.get()
        args = (self.dtype, tuple(self.shape), self.stride(), self.requires_grad)
        return _utils._rebuild_from_type_v2, (
            _utils._rebuild_meta_tensor_no_storage,
            cls,
            args,
            state_of(self),
        )
    if self.is_meta:
        return _rebuild_on_meta, (
            self.dtype,
            tuple(self.shape),
            self.stride(),
            self.requires_grad,
            state_of(self),
        )
    bits = lazy_bits(self)
    plain = with_bits(detached(self), (False, False)) if any(bits) else self
    array = np.array(_data(plain, "pickle"))
    if array.dtype.kind not in "biufc":
        array = array.view(f"u{array.dtype.itemsize}")
    return _rebuild_from_array, (
        array,
        self.dtype,
        self.requires_grad,
        cls,
        state_of(self),
        *(bits if any(bits) else ()),
    )


# ---- subclasses ----------------------------------------------------------------------------------


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same data and history as an instance of a Tensor subclass.

    Raises:
        TypeError: for a class that does not inherit from Tensor.

    Example:
        >>> import jtorch as torch
        >>> class Named(torch.Tensor):
        ...     pass
        >>> type(torch.ones(1).as_subclass(Named)).__name__
        'Named'
    """
    _check_subclass(cls)
    known(cls)
    r = _retyped(self, cls, False)
    # its class has made it, and keeps count of views and history itself
    if r._al.storage.detach is not None:
        return r
    v = self._v or self._read()
    own, mine = self._al, r._al
    mine.base, mine.gen = self if own is None or own.base is None else own.base, mine.counter.n
    if self._rg and MODE.enabled:
        call = call_of(OPS["clone"], (T,))
        r._node = Node(call, (v,), (self._edge(),), (), (v,))
        r._node.label = "AliasBackward0"
        r._rg = True
    return r


def _check_subclass(cls: type) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )


def _retyped(t: Tensor, cls: type, stops: bool = True) -> Tensor:
    plain = detached(t, stops)
    made = type(plain)
    if made is not Tensor:  # what a handler of operators made is an object already
        if issubclass(made, cls):
            return plain
        raise RuntimeError(
            f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already "
            f"associated to a python object of type {made.__name__} which is not a subclass of the "
            "requested type"
        )
    r = _new(cls)
    r._al, r._v, r._strides = plain._al, None, plain._strides
    return r


def _make_subclass(
    cls: type,
    data: Tensor,
    require_grad: bool = False,
    *,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    device_for_backend_keys: object = None,
) -> Tensor:
    """``data`` detached, as a leaf of class ``cls``; ``device_for_backend_keys`` steers PyTorch's
    dispatcher and means nothing here."""
    del device_for_backend_keys
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        raise not_offered(
            "Tensor._make_subclass with computed metadata",
            "only wrappers without data of their own may compute what they tell",
        )
    if not isinstance(data, Tensor):
        raise TypeError(
            "_make_subclass(): argument 'data' (position 2) must be Tensor, not "
            f"{type(data).__name__}"
        )
    _check_subclass(cls)
    if require_grad and not data._aval.differentiable:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    known(cls)
    if type(data) is Tensor and data._al is None and not data._rg:
        r = _new(cls)
        # The usual case, ``Parameter(torch.empty(...))``: shares the storage only if somebody keeps
        # ``data``.
        al = alias_of(data)
        r._al, r._strides = _fresh_alias(al), data._strides
    else:
        r = _retyped(data, cls)
    if require_grad and r._al.counter.n < 0 and not MODE.inference:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )
    r._rg = require_grad
    if require_grad and MODE.transforms:
        adopted(r)
    return r


def _fresh_alias(al: Alias) -> Alias:
    mine = Alias(al.storage, al.chain, al.value, None, 0, al.offset)
    mine.version, mine.aval, mine.strides = al.version, al.aval, al.strides
    return mine


def _new_tensor(cls: type, *args: Any, **kwargs: object) -> Tensor:
    """``Tensor()``, ``Tensor(2, 3)``, ``Tensor([1., 2.])``, ``Tensor(tensor)``: default dtype;
    sizes give uninitialised data."""
    if len(args) == 1 and isinstance(args[0], Tensor) and not kwargs:
        if ACTIVE.modes and cls is Tensor:
            return hooks.seen_making(lambda: as_subclass(args[0], cls), other=args[0])
        return as_subclass(args[0], cls)
    made = old_constructors.made(args, kwargs, dtypes.get_default_dtype(), None)
    return made if cls is Tensor else _retyped(made, cls)
