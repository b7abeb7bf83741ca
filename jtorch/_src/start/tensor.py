"""Makes all public forms in order, and gives the class ``Tensor`` its methods and properties."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import core as core_module
from ... import dispatch, random
from ...core import Tensor
from ...dispatch import ACTIVE, LAYOUTS, MISSING, PLAIN, TENSORS, override
from .. import composites, hooks
from ..bind import cores as binding
from ..bind import everything as functional
from ..bind.everything import CORE_METHODS, PROPERTIES, PROPERTY_SETTERS, PUBLIC
from ..facts import layouts
from ..ops import views as view_ops
from ..protocol.overridable import specialise, specialise_property
from ..protocol.slow_path import Caller, Layout
from ..refusals import functions as _not_offered
from ..tensor import creation, reshaping, view_splits, views
from ..tensor import methods as tensor_methods
from ..tensor import numbers as tensor_numbers
from ..tensor import objects as tensor_objects
from ..tensor.indexing import getitem, setitem

if TYPE_CHECKING:
    from types import ModuleType


#: They declare as they are imported.
DECLARING = (creation, random, reshaping, tensor_numbers, view_splits)


def bind_everything() -> None:
    """Makes the public forms of all declarations, and gives Tensor its methods."""
    tensor_methods.install_cast()
    binding.bind_all()
    for info in pkgutil.iter_modules(composites.__path__):  # they declare as they are imported
        importlib.import_module(f"{composites.__name__}.{info.name}")
    functional.bind_forms()
    for record in view_ops.VIEWS.values():
        for path, made in views.bind_view(record).items():
            if path.startswith("_C."):
                setattr(functional._C, path.removeprefix("_C."), made)
            else:
                PUBLIC[path] = made
    PUBLIC.update(_not_offered.public())
    _bind_indexing()
    _bind_tensor(tensor_objects)


def _bind_tensor(methods: ModuleType) -> None:
    for path, made in PUBLIC.items():
        if path.startswith("Tensor."):
            setattr(Tensor, path.removeprefix("Tensor."), made)
    for name in ("__copy__", "as_subclass"):
        setattr(Tensor, name, getattr(methods, name))
    Tensor.__hash__ = object.__hash__
    Tensor._make_subclass = staticmethod(methods._make_subclass)
    Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
    Tensor.__torch_dispatch__ = dispatch.disabled_torch_dispatch_impl
    Tensor._python_dispatch = property(_python_dispatch)
    Tensor.__init_subclass__ = classmethod(_init_subclass)
    Tensor.__new__ = staticmethod(methods._new_tensor)
    Tensor.__init__ = _init
    Tensor.__torch_function__ = classmethod(dispatch.default_handler)
    for name in CORE_METHODS:
        body = core_module.Tensor.__dict__[name]
        me, *rest = (told := inspect.signature(body)).parameters.values()
        told = told.replace(parameters=[me.replace(annotation=inspect.Parameter.empty), *rest])
        setattr(
            Tensor,
            name,
            specialise(
                body,
                f"torch.Tensor.{name}",
                ["self"],
                signature=told,
                doc=body.__doc__,
                wrapped=body,
            ),
        )
    for name in (
        "shape",
        "dtype",
        "device",
        "ndim",
        "itemsize",
        "nbytes",
        "is_leaf",
        "grad_fn",
        "output_nr",
        "requires_grad",
        "grad",
        "data",
        "_version",
    ):
        old = core_module.Tensor.__dict__[name]
        setattr(Tensor, name, specialise_property(name, old.fget, old.fset, old.fdel, old.__doc__))
    setters = {**OWN_SETTERS, **PROPERTY_SETTERS}
    transposed = {"T": _T, "mT": _mT, "H": _H, "mH": _mH}
    for name, get in {**transposed, **OWN_PROPERTIES, **PROPERTIES}.items():
        setattr(
            Tensor,
            name,
            specialise_property(
                name, get, setters.get(name), PROPERTY_DELETERS.get(name), get.__doc__
            ),
        )
    dispatch.set_tensor_type(Tensor)


def _bind_indexing() -> None:
    """``t[index]`` and ``t[index] = value``: handlers are looked for inside tuples and nested lists
    of the index too."""
    all_plain = PLAIN.issuperset

    def __getitem__(self: Tensor, index: Any) -> Any:
        kind = type(index)
        if (
            ACTIVE.modes
            or type(self) not in TENSORS
            or (kind not in PLAIN and not (kind is tuple and all_plain(map(type, index))))
        ):
            answer = override(Tensor.__getitem__, [self, *_inside(index)], (self, index), None)
            if answer is not MISSING:
                return answer
            if (
                ACTIVE.below is not None
                and (answer := ACTIVE.below(callers[0], (self, index), {})) is not MISSING
            ):
                return answer
            if type(self) in LAYOUTS:
                return LAYOUTS[type(self)].item(self, index)
            if (mark := dispatch._state.mark) is not None:
                return mark(getitem(self, index), (self,))
        return getitem(self, index)

    def __setitem__(self: Tensor, index: Any, value: Any) -> None:
        kind = type(index)
        if (
            ACTIVE.modes
            or type(self) not in TENSORS
            or type(value) not in PLAIN
            or (kind not in PLAIN and not (kind is tuple and all_plain(map(type, index))))
        ):
            answer = override(
                Tensor.__setitem__, [self, *_inside(index), value], (self, index, value), None
            )
            if answer is not MISSING:
                return
            if (
                ACTIVE.below is not None
                and ACTIVE.below(callers[1], (self, index, value), {}) is not MISSING
            ):
                return
            if type(self) in LAYOUTS:
                LAYOUTS[type(self)].set_item(self, index, value)
                return
        setitem(self, index, value)

    callers = [
        _body_of(body, made) for body, made in ((getitem, __getitem__), (setitem, __setitem__))
    ]
    for made, body in ((__getitem__, getitem), (__setitem__, setitem)):
        made.__doc__, made.__qualname__ = body.__doc__, f"Tensor.{made.__name__}"
        PUBLIC[f"Tensor.{made.__name__}"] = made
        dispatch.register(f"torch.Tensor.{made.__name__}", made)


def _body_of(body: Callable[..., object], public: Any) -> Caller:
    """A function's body as those below ``__torch_function__`` are told of it."""
    caller = Caller(
        body, body.__name__, Layout(inspect.signature(body), True, {}), True, True, True
    )
    caller.func, caller.all_positional = public, True
    return caller


def _inside(index: object) -> list[object]:
    """The parts of an index that may have a handler."""
    if isinstance(index, (tuple, list)) and not hasattr(index, "__torch_function__"):
        return [found for item in index for found in _inside(item)]
    return [index]


def _make_wrapper_subclass(cls: object, size: object, *args: object, **kwargs: object) -> object:
    """An instance of ``cls`` with this metadata and no data: what ``__torch_dispatch__`` gives a
    meaning to.

    Args:
        cls: a subclass of Tensor that defines ``__torch_dispatch__``.
        size: the shape; ``strides``, ``storage_offset``, ``memory_format``, ``dtype`` (default: the
            default dtype), ``layout``, ``device`` and ``requires_grad`` may follow.

    Raises:
        TypeError: if the class does not define ``__torch_dispatch__``.
        RuntimeError: if an integer tensor is to require grad.
    """
    return hooks.make_wrapper_subclass(cls, size, *args, **kwargs)


def _python_dispatch(t: Tensor) -> bool:
    """Whether operators on the tensor go to ``__torch_dispatch__`` of its class."""
    return type(t).__torch_dispatch__ is not dispatch.disabled_torch_dispatch_impl


def _init_subclass(cls: Any, **kwargs: object) -> None:
    """A class with ``__torch_dispatch__`` and no ``__torch_function__`` of its own takes no part in
    the latter."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if cls.__torch_dispatch__ is dispatch.disabled_torch_dispatch_impl:
        return
    hooks.lowering.get()  # who runs such classes' operators
    handler = cls.__torch_function__
    if getattr(handler, "__func__", handler) is dispatch.default_handler:
        cls.__torch_function__ = dispatch.disabled_torch_function_impl


def _init(self: Tensor, *args: object, **kwargs: object) -> None:
    """Everything happens in ``__new__``; subclasses may take more arguments."""


def _T(t: Tensor) -> Tensor:
    """The tensor with its dimensions reversed; a view.

    Shapes: (a, ..., z) -> (z, ..., a).

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).T
        tensor([[1, 3],
                [2, 4]])
    """
    if t._aval.ndim != 2:
        views.warn_of_reversal(t)
    return views.make_view(view_ops.VIEWS["permute"], t, (tuple(range(t._aval.ndim))[::-1],))


def _mT(t: Tensor) -> Tensor:
    """The tensor with its last two dimensions exchanged; a view.

    Shapes: (*, m, n) -> (*, n, m).

    Raises:
        RuntimeError: for vectors.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(5, 2, 3).mT.shape
        torch.Size([5, 3, 2])
    """
    if t._aval.ndim == 0:
        views.warn_of_number("Tensor.mT", "This function is the identity in these cases.")
        return t
    if t._aval.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {t._aval.ndim}-D "
            "tensor."
        )
    return views.make_view(view_ops.VIEWS["transpose"], t, (-2, -1))


def _H(t: Tensor) -> Tensor:
    """The conjugate transpose of a matrix.

    Shapes: (m, n) -> (n, m); numbers as they are.

    Raises:
        RuntimeError: for another number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1 + 1j, 2 + 0j]]).H
        tensor([[1.-1.j],
                [2.-0.j]])
    """
    if t._aval.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {t._aval.ndim}-D tensor."
        )
    return views._adjoint(t, "Tensor.H")


def _mH(t: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions.

    Shapes: (*, m, n) -> (*, n, m).

    Raises:
        RuntimeError: for vectors.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1 + 1j, 2 + 0j]]).mH
        tensor([[1.-1.j],
                [2.-0.j]])
    """
    if t._aval.ndim == 1:
        raise RuntimeError(
            "tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return views._adjoint(t, "Tensor.mH")


def _real(t: Tensor) -> Tensor:
    """The real parts, as a view.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1 + 2j])
        >>> x.real = 5.0
        >>> x
        tensor([5.+2.j])
    """
    return views.real(t)


def _imag(t: Tensor) -> Tensor:
    """The imaginary parts, as a view.

    Raises:
        RuntimeError: for real tensors.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1 + 2j])
        >>> x.imag
        tensor([2.])
    """
    return views.imag(t)


def _set_real(t: Tensor, value: Tensor | bool | complex | float | int) -> None:
    _real(t).copy_(value)


def _set_imag(t: Tensor, value: Tensor | bool | complex | float | int) -> None:
    _imag(t).copy_(value)


def _base(t: Tensor) -> Any:
    """The tensor that this one is a view of, or None."""
    al = t._al
    if al is None or al.counter.n < 0:
        return None
    # a wrapper's memory is not known, but what it was taken of
    if al.base is None and (seen := getattr(al, "seen", None)) is not None:
        return seen[0]
    return al.base


def _type_is(*types: str) -> Callable[[Tensor], bool]:
    def get(t: Tensor) -> bool:
        return t.device.type in types

    get.__doc__ = f"""Whether the data lies on {types[0]}.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1, device="cpu").is_{types[0]}
        {"cpu" in types}
    """
    return get


def _never(what: str) -> Callable[[Tensor], bool]:
    def get(t: Tensor) -> bool:
        return False

    get.__doc__ = f"Whether the tensor is {what}: never, of this class."
    return get


def _retains_grad(t: Tensor) -> bool:
    """Whether ``retain_grad`` was called on a tensor that is no leaf.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> y = 2 * x
        >>> y.retain_grad()
        >>> y.retains_grad
        True
    """
    return t._retains


def _layout(t: Tensor) -> Any:
    """``torch.strided``.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1).layout
        torch.strided
    """
    al = t._al
    return (
        layouts.strided
        if al is None or not al.asks or (found := al.told("layout")) is None
        else found
    )


def _hooks_dict(t: Tensor) -> Any:
    """The tensor's backward hooks, or None."""
    return tensor_methods.hooks_of(t)


def _grad_fn(t: Tensor) -> object:
    """The node of the operation that made the tensor, or None."""
    return t.grad_fn


def _set_hooks_dict(t: Tensor, hooks: object) -> None:
    t._hooks = hooks


OWN_PROPERTIES: dict[str, Callable[[Tensor], object]] = {
    "real": _real, "imag": _imag, "_base": _base, "is_cuda": _type_is("cuda"),
    "is_cpu": _type_is("cpu"), "is_meta": _type_is("meta"), "is_mps": _type_is("mps"),
    "is_xla": _type_is("xla", "tpu"), "is_xpu": _type_is("xpu"), "is_sparse": _never("sparse"),
    "is_sparse_csr": _never("sparse"), "is_quantized": _never("quantised"),
    "is_mkldnn": _never("in MKLDNN's layout"), "is_nested": _never("nested"),
    "is_vulkan": _never("on Vulkan"), "is_ipu": _never("on an IPU"), "is_maia": _never("on MAIA"),
    "is_mtia": _never("on MTIA"), "retains_grad": _retains_grad, "layout": _layout,
    "_backward_hooks": _hooks_dict, "_grad_fn": _grad_fn,
}  # fmt: skip


def _refuse_deletion(message: str) -> Callable[[Tensor], None]:
    def delete(t: Tensor) -> None:
        raise RuntimeError(message)

    return delete


PROPERTY_DELETERS = {
    "_grad_fn": _refuse_deletion("Deletion of _grad_fn not allowed. Detach tensor instead!"),
    "_backward_hooks": _refuse_deletion("Deletion of _backwards_hooks not allowed!"),
}
OWN_SETTERS: dict[str, Callable[[Tensor, Any], None]] = {
    "real": _set_real,
    "imag": _set_imag,
    "_backward_hooks": _set_hooks_dict,
}
