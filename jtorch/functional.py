"""Binds every declaration to its public forms and keeps them by path. The module ``torch.functional`` re-exports some by name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import types
from collections.abc import Callable
from typing import Any

from . import binding, dispatch, factories, ops, public_forms
from . import core as core_module
from .binding import BOUND, COMPOSITES, Composite, bind_all
from .core import Tensor
from .devices import FACTORIES
from .ops import views as view_ops
from .ops._declare import OPS, Op
from .overridable import signature_of as function_signature
from .overridable import specialise

#: Every public callable by its path without ``torch.``: ``add``, ``Tensor.add_``, ``nn.functional.relu``, ``_C._slice``.
PUBLIC: dict[str, Any] = {}

#: Internal ops, as composites and optimisers call them: ``_C._max_dim(...)``. No override checks.
_C = types.SimpleNamespace()


def _import_all(package: Any) -> None:
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")


def _add(path: str, made: Any) -> None:
    PUBLIC[path] = made
    dispatch.register(
        f"torch.{path}", made, overridable=dispatch.PUBLIC[f"torch.{path}"].overridable if f"torch.{path}" in dispatch.PUBLIC else True
    )


def _bind_op(op: Op) -> None:
    if op.family == "factory":
        _bind_factory(op)
        return
    if op.family == "like":
        PUBLIC[op.path] = factories.like(op, op.path)
        return
    core = BOUND[op.path].core
    if op.namespace == "_C":
        setattr(_C, op.name, core)
        return
    method_name = None
    if op.namespace != "Tensor":
        made = public_forms.public_function(op)
        PUBLIC[op.path] = made
        for alias in op.aliases:
            _bind_alias(op, alias)
        if op.method:
            method_name = op.method if isinstance(op.method, str) else op.name
    else:
        method_name = op.name
        for alias in op.aliases:
            _bind_alias(op, alias)
    made_method: Any = None
    if method_name:
        names = [method_name]
        if op.namespace in ("torch", "Tensor") and op.method is not False:
            names += [a for a in op.aliases if "." not in a]
        for name in names:
            found = public_forms.method(op, name)
            PUBLIC[f"Tensor.{name}"] = found
            made_method = made_method or found
    if op.inplace:
        for name in [op.name, *[a for a in op.aliases if "." not in a]]:
            if op.namespace == "Tensor" or (op.namespace == "torch" and op.method is not False):
                PUBLIC[f"Tensor.{name}_"] = public_forms.inplace_method(op, f"{name}_")
            if op.namespace == "torch" and (op.inplace == "both" or (isinstance(op.inplace, tuple) and name in op.inplace)):
                PUBLIC[f"{name}_"] = public_forms.inplace_method(op, f"{name}_", "torch")
            if op.namespace == "nn.functional":
                PUBLIC[f"nn.functional.{name}_"] = public_forms.inplace_method(op, f"{name}_", "torch.nn.functional")
    for sign in op.operators:
        for name, found in public_forms.operator_methods(op, sign, made_method or PUBLIC[op.path]).items():
            PUBLIC[f"Tensor.{name}"] = found


def _bind_alias(op: Op, alias: str) -> None:
    if alias.startswith("Tensor."):
        PUBLIC[alias] = public_forms.method(op, alias.removeprefix("Tensor."))
    elif "." not in alias and op.namespace != "torch":
        PUBLIC[alias if op.namespace != "Tensor" else f"Tensor.{alias}"] = (
            public_forms.public_function(op, alias) if op.namespace != "Tensor" else public_forms.method(op, alias)
        )
    else:
        path = alias if "." in alias or op.namespace == "torch" else f"{op.namespace}.{alias}"
        PUBLIC[path] = public_forms.public_function(op, path)


def _bind_factory(op: Op) -> None:
    if op.namespace == "_C":
        setattr(_C, op.name, factories.factory(op, op.path))
        return
    made = factories.factory(op, op.path)
    PUBLIC[op.path] = made
    FACTORIES.add(made)
    for alias in op.aliases:
        PUBLIC[alias] = made


def _bind_composite(c: Composite) -> None:
    operands, lists = list(c.operands), list(c.lists)
    if c.namespace == "_C":
        setattr(_C, c.name, c.body)
        return
    body = c.body
    doc = body.__doc__
    path = c.name if c.namespace == "torch" else f"{c.namespace}.{c.name}"
    options: dict[str, Any] = {"native": c.native, "opaque": c.native, "doc": doc, "wrapped": body, "aliases": _spellings(c)}
    options["asks"] = c.asks
    if c.namespace != "Tensor":
        PUBLIC[path] = specialise(body, f"torch.{path}", operands, lists, **options)
        if c.factory:
            FACTORIES.add(PUBLIC[path])
        for alias in c.aliases:
            PUBLIC[alias] = (
                _method_form(c, alias.removeprefix("Tensor."), options)
                if alias.startswith("Tensor.")
                else specialise(body, f"torch.{alias}", operands, lists, **options)
            )
    if c.method or c.namespace == "Tensor":
        names = [c.method if isinstance(c.method, str) else c.name, *[a for a in c.aliases if "." not in a]]
        for name in names:
            PUBLIC[f"Tensor.{name}"] = _method_form(c, name, options)
    if c.inplace:
        PUBLIC[f"Tensor.{c.name}_"] = _inplace_form(c, options)


def _spellings(c: Composite) -> dict[str, tuple[str, ...]]:
    names = function_signature(c.body).parameters
    if not c.native:
        return {n: binding.ALIASES[n] for n in ("dim", "keepdim") if n in names}
    return {n: tuple([a for a in others if a not in names]) for n, others in binding.ALIASES.items() if n in names}


def _method_form(c: Composite, name: str, options: dict[str, Any]) -> Any:
    body = c.body
    signature = function_signature(body)
    params = list(signature.parameters.values())
    first = params[0]
    operands = ["self" if n == first.name else n for n in c.operands]
    params[0] = first.replace(name="self")
    impl = body
    if c.varargs:

        def spread(self: Any, *args: Any, **kwargs: Any) -> Any:
            if c.varargs in kwargs:
                return body(self, kwargs.pop(c.varargs), **kwargs)
            return body(self, public_forms.packed(args), **kwargs)

        spread.__name__ = name
        return specialise(spread, f"torch.Tensor.{name}", ["self"], **{**options, "aliases": None})
    if any(p.name == "out" for p in params):
        params = [p for p in params if p.name != "out"]
    return specialise(impl, f"torch.Tensor.{name}", operands, list(c.lists), signature=signature.replace(parameters=params), **options)


def _inplace_form(c: Composite, options: dict[str, Any]) -> Any:
    from .applying import inplace
    from .writing import check_inplace, check_overlap

    body = c.body
    signature = function_signature(body)
    params = [p for p in signature.parameters.values() if p.name != "out"]
    params[0] = params[0].replace(name="self")

    idempotent = f"{c.name}_" if c.repeats == "warned" else False

    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_inplace(self, idempotent)
        if c.inplace == "unshared":
            check_overlap(self, [t for x in (*args, *kwargs.values()) for t in (x if isinstance(x, (list, tuple)) else (x,))], True)
        return inplace(self, body(self, *args, **kwargs))

    operands = ["self", *c.operands[1:]]
    return specialise(
        update,
        f"torch.Tensor.{c.name}_",
        operands,
        list(c.lists),
        signature=signature.replace(parameters=params),
        **{**options, "doc": public_forms.inplace_doc(c.name, c.name)},
    )


def bind_everything() -> None:
    """Imports all declarations, makes their public forms, and gives Tensor its methods."""
    _import_all(ops)
    from . import tensor_methods, tensor_numbers, tensor_objects, view_splits, views  # noqa: F401 (they declare as they are imported)

    tensor_methods.install_cast()
    bind_all()
    for name in ("creation", "indexing", "random", "composites"):
        if importlib.util.find_spec(f"{__package__}.{name}"):
            importlib.import_module(f"{__package__}.{name}")
    from . import composites

    _import_all(composites)
    for op in list(OPS.values()):
        if op.family != "view":
            _bind_op(op)
    for record in view_ops.VIEWS.values():
        for path, made in views.bind_view(record).items():
            if path.startswith("_C."):
                setattr(_C, path.removeprefix("_C."), made)
            else:
                PUBLIC[path] = made
    for c in COMPOSITES:
        _bind_composite(c)
    from . import _not_offered

    PUBLIC.update(_not_offered.public())
    globals().update({name: PUBLIC[name] for name in binding.written_in("functional")})
    _bind_indexing()
    _bind_tensor(tensor_objects)


#: Methods of the class itself that are public functions too; none is an operator.
CORE_METHODS = (
    "dim", "ndimension", "size", "numel", "nelement", "element_size", "stride", "storage_offset", "data_ptr", "is_contiguous",
    "requires_grad_",
)  # fmt: skip


def _bind_tensor(methods: Any) -> None:
    from .overridable import specialise_property

    for path, made in PUBLIC.items():
        if path.startswith("Tensor."):
            setattr(Tensor, path.removeprefix("Tensor."), made)
    for name in ("__copy__", "as_subclass"):
        setattr(Tensor, name, getattr(methods, name))
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]
    Tensor._make_subclass = staticmethod(methods._make_subclass)  # type: ignore[attr-defined]
    Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)  # type: ignore[attr-defined]
    Tensor.__torch_dispatch__ = dispatch.disabled_torch_dispatch_impl  # type: ignore[attr-defined]
    Tensor._python_dispatch = property(_python_dispatch)  # type: ignore[attr-defined]
    Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment,method-assign]
    Tensor.__new__ = staticmethod(methods._new_tensor)  # type: ignore[assignment,method-assign]
    Tensor.__init__ = _init  # type: ignore[method-assign]
    Tensor.__torch_function__ = classmethod(dispatch.default_handler)  # type: ignore[attr-defined]
    for name in CORE_METHODS:
        body = core_module.Tensor.__dict__[name]
        setattr(Tensor, name, specialise(body, f"torch.Tensor.{name}", ["self"], doc=body.__doc__, wrapped=body))
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
    transposed = {"T": _T, "mT": _mT, "H": _H, "mH": _mH}
    for name, get in {**transposed, **PROPERTIES}.items():
        setattr(Tensor, name, specialise_property(name, get, PROPERTY_SETTERS.get(name), PROPERTY_DELETERS.get(name), get.__doc__))
    dispatch.set_tensor_type(Tensor)


def _bind_indexing() -> None:
    """``t[index]`` and ``t[index] = value``: handlers are looked for inside tuples and nested lists of the index too."""
    from .dispatch import ACTIVE, LAYOUTS, MISSING, PLAIN, TENSORS, override
    from .indexing import getitem, setitem

    all_plain = PLAIN.issuperset

    def __getitem__(self: Any, index: Any) -> Any:
        kind = type(index)
        if ACTIVE.modes or type(self) not in TENSORS or (kind not in PLAIN and not (kind is tuple and all_plain(map(type, index)))):
            answer = override(Tensor.__getitem__, [self, *_inside(index)], (self, index), None)  # type: ignore[attr-defined]
            if answer is not MISSING:
                return answer
            if ACTIVE.below is not None and (answer := ACTIVE.below(callers[0], (self, index), {})) is not MISSING:
                return answer
            if type(self) in LAYOUTS:
                return LAYOUTS[type(self)].item(self, index)
            if (mark := dispatch._state.mark) is not None:
                return mark(getitem(self, index), (self,))
        return getitem(self, index)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        kind = type(index)
        if (
            ACTIVE.modes
            or type(self) not in TENSORS
            or type(value) not in PLAIN
            or (kind not in PLAIN and not (kind is tuple and all_plain(map(type, index))))
        ):
            answer = override(Tensor.__setitem__, [self, *_inside(index), value], (self, index, value), None)  # type: ignore[attr-defined]
            if answer is not MISSING:
                return
            if ACTIVE.below is not None and ACTIVE.below(callers[1], (self, index, value), {}) is not MISSING:
                return
            if type(self) in LAYOUTS:
                LAYOUTS[type(self)].set_item(self, index, value)
                return
        setitem(self, index, value)

    callers = [_body_of(body, made) for body, made in ((getitem, __getitem__), (setitem, __setitem__))]
    for made, body in ((__getitem__, getitem), (__setitem__, setitem)):
        made.__doc__, made.__qualname__ = body.__doc__, f"Tensor.{made.__name__}"
        PUBLIC[f"Tensor.{made.__name__}"] = made
        dispatch.register(f"torch.Tensor.{made.__name__}", made)


def _body_of(body: Callable[..., Any], public: Any) -> Any:
    """A function's body as those below ``__torch_function__`` are told of it."""
    from .callers import Caller, Layout

    caller = Caller(body, body.__name__, Layout(inspect.signature(body), True, {}), True, True, True)
    caller.func, caller.all_positional = public, True
    return caller


def _inside(index: Any) -> list[Any]:
    """The parts of an index that may have a handler."""
    if isinstance(index, (tuple, list)) and not hasattr(index, "__torch_function__"):
        return [found for item in index for found in _inside(item)]
    return [index]


def _make_wrapper_subclass(cls: Any, size: Any, *args: Any, **kwargs: Any) -> Any:
    """An instance of ``cls`` with this metadata and no data: what ``__torch_dispatch__`` gives a meaning to.

    Args:
        cls: a subclass of Tensor that defines ``__torch_dispatch__``.
        size: the shape; ``strides``, ``storage_offset``, ``memory_format``, ``dtype`` (default: the default dtype), ``layout``, ``device``
            and ``requires_grad`` may follow.

    Raises:
        TypeError: if the class does not define ``__torch_dispatch__``.
        RuntimeError: if an integer tensor is to require grad.
    """
    from .aten.wrapping import make_wrapper_subclass

    return make_wrapper_subclass(cls, size, *args, **kwargs)


def _python_dispatch(t: Tensor) -> bool:
    """Whether operators on the tensor go to ``__torch_dispatch__`` of its class."""
    return type(t).__torch_dispatch__ is not dispatch.disabled_torch_dispatch_impl  # type: ignore[attr-defined]


def _init_subclass(cls: Any, **kwargs: Any) -> None:
    """A class with ``__torch_dispatch__`` and no ``__torch_function__`` of its own takes no part in the latter."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if cls.__torch_dispatch__ is dispatch.disabled_torch_dispatch_impl:
        return
    importlib.import_module(f"{__package__}.aten.lowering")  # who runs such classes' operators
    handler = cls.__torch_function__
    if getattr(handler, "__func__", handler) is dispatch.default_handler:
        cls.__torch_function__ = dispatch.disabled_torch_function_impl


def _init(self: Tensor, *args: Any, **kwargs: Any) -> None:
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
        views_module().warn_of_reversal(t)
    return views_module().make_view(view_ops.VIEWS["permute"], t, (tuple(range(t._aval.ndim))[::-1],))


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
        views_module().warn_of_number("Tensor.mT", "This function is the identity in these cases.")
        return t
    if t._aval.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {t._aval.ndim}-D tensor.")
    return views_module().make_view(view_ops.VIEWS["transpose"], t, (-2, -1))


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
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {t._aval.ndim}-D tensor.")
    return views_module()._adjoint(t, "Tensor.H")


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
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return views_module()._adjoint(t, "Tensor.mH")


def views_module() -> Any:
    """The floor's view functions, imported late because they need the ops bound."""
    from . import views

    return views


def _real(t: Tensor) -> Tensor:
    """The real parts, as a view.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1 + 2j])
        >>> x.real = 5.0
        >>> x
        tensor([5.+2.j])
    """
    return views_module().real(t)


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
    return views_module().imag(t)


def _set_real(t: Tensor, value: Any) -> None:
    _real(t).copy_(value)  # type: ignore[attr-defined]


def _set_imag(t: Tensor, value: Any) -> None:
    _imag(t).copy_(value)  # type: ignore[attr-defined]


def _base(t: Tensor) -> Any:
    """The tensor that this one is a view of, or None."""
    al = t._al
    return al.base if al is not None and al.counter.n >= 0 else None


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
    from . import layouts

    return layouts.strided


def _hooks_dict(t: Tensor) -> Any:
    """The tensor's backward hooks, or None."""
    from .tensor_methods import hooks_of

    return hooks_of(t)


def _grad_fn(t: Tensor) -> Any:
    """The node of the operation that made the tensor, or None."""
    return t.grad_fn


def _set_hooks_dict(t: Tensor, hooks: Any) -> None:
    t._hooks = hooks


PROPERTIES: dict[str, Callable[[Tensor], Any]] = {
    "real": _real, "imag": _imag, "_base": _base, "is_cuda": _type_is("cuda"), "is_cpu": _type_is("cpu"), "is_meta": _type_is("meta"),
    "is_mps": _type_is("mps"), "is_xla": _type_is("xla", "tpu"), "is_xpu": _type_is("xpu"), "is_sparse": _never("sparse"),
    "is_sparse_csr": _never("sparse"), "is_quantized": _never("quantised"), "is_mkldnn": _never("in MKLDNN's layout"),
    "is_nested": _never("nested"), "is_vulkan": _never("on Vulkan"), "is_ipu": _never("on an IPU"), "is_maia": _never("on MAIA"),
    "is_mtia": _never("on MTIA"),
    "retains_grad": _retains_grad, "layout": _layout, "_backward_hooks": _hooks_dict, "_grad_fn": _grad_fn,
}  # fmt: skip


def _refuse_deletion(message: str) -> Callable[[Tensor], None]:
    def delete(t: Tensor) -> None:
        raise RuntimeError(message)

    return delete


PROPERTY_DELETERS = {
    "_grad_fn": _refuse_deletion("Deletion of _grad_fn not allowed. Detach tensor instead!"),
    "_backward_hooks": _refuse_deletion("Deletion of _backwards_hooks not allowed!"),
}
PROPERTY_SETTERS: dict[str, Callable[[Tensor, Any], None]] = {"real": _set_real, "imag": _set_imag, "_backward_hooks": _set_hooks_dict}


def __getattr__(name: str) -> Any:
    if name == "F":  # what the module is called in PyTorch's file, and read from there by programs
        return importlib.import_module(f"{__package__}.nn.functional")
    raise AttributeError(f"module 'torch.functional' has no attribute '{name}'")
