"""``Library``, ``define`` and ``impl``: operators from their schemas, and what is registered for
them by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._C._keys import DispatchKey
from .._src.facts.devices import device
from .._src.facts.errors import not_offered
from . import overriding, registry, texts
from .custom import CustomOpDef
from .kernels import JaxKernel
from .registry import KEYS, UserOverload

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


_RESERVED = frozenset(("prim", "prims", "aten", "at", "torch", "jtorch"))
_owners: set[str] = set()


class Library:
    """Operators of one namespace: ``"DEF"`` may exist once for it, ``"FRAGMENT"`` adds more,
    ``"IMPL"`` only registers kernels.

    Raises:
        ValueError: for another kind, or a namespace that is PyTorch's own.
        RuntimeError: for a second ``"DEF"``.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if kind == "DEF":
            if ns in _owners:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; "
                    "please put all of your definitions in a single TORCH_LIBRARY block.  If you "
                    "were trying to specify implementations, consider using TORCH_LIBRARY_IMPL "
                    "(which can be duplicated).  If you really intended to define operators for a "
                    "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to "
                    "explicitly indicate this."
                )
            _owners.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._mine: list[UserOverload] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator, ``"name(Tensor x) -> Tensor"``, and gives its name.

        Raises:
            RuntimeError: for an operator that is defined already, or in a library of kind
                ``"IMPL"``.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                "def(): cannot define an operator in a library of kind IMPL; use DEF or FRAGMENT"
            )
        made = registry.define(self.ns, schema, tags)
        self._mine.append(made)
        return (
            made._opname
            if made._overloadname == "default"
            else f"{made._opname}.{made._overloadname}"
        )

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Registers the kernel of an operator for a dispatch key: ``"CPU"``, ``"CUDA"``,
        ``"Meta"``, ``"Autograd"``, ``"Composite..."``.

        An operator of PyTorch's own gets another kernel for a device, below its derivative, as long
        as this library is there. All calls of the program then look for such kernels, in this
        thread and in those that begin later, which makes them slow.

        Raises:
            TypeError: if ``fn`` is no function.
            RuntimeError: for another key than that of the library.
            NotImplementedError: for an operator of PyTorch's own, and another key than that of a
                device, or one that PyTorch writes with others.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        if with_keyset:
            raise not_offered("Library.impl(with_keyset=True)", "there are no dispatch key sets")
        del allow_override
        if dispatch_key and self.dispatch_key and dispatch_key != self.dispatch_key:
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided dispatch key ({dispatch_key}) is '
                "inconsistent with the dispatch key of the "
                f"enclosing TORCH_LIBRARY_IMPL block ({self.dispatch_key}).  Please declare a "
                "separate TORCH_LIBRARY_IMPL block for this "
                "dispatch key and move your impl() there."
            )
        if self.ns in _RESERVED:
            overriding.override(self, op_name, fn, dispatch_key or self.dispatch_key)
            return
        name = (
            op_name if not isinstance(op_name, str) or "::" in op_name else f"{self.ns}::{op_name}"
        )
        key = dispatch_key or self.dispatch_key
        registry.when_defined(name, lambda overload: _implement(overload, key, fn))

    def fallback(
        self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False
    ) -> None:
        """Not offered: kernels are registered for one operator each."""
        del fn, dispatch_key, with_keyset
        raise not_offered(
            "Library.fallback()",
            "kernels are registered for one operator each; use a dispatch mode",
        )

    def _destroy(self) -> None:
        """Takes the operators that were defined here out again."""
        for overload in self._mine:
            registry.forget(overload)
        self._mine.clear()
        overriding.forget(id(self))
        if self.kind == "DEF":
            _owners.discard(self.ns)


class _scoped_library(Library):
    """A ``Library`` that exists within a block."""

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exc: object) -> None:
        self._destroy()


def fallthrough_kernel() -> None:
    """Not to be called: PyTorch passes it to ``Library.impl``."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _implement(overload: UserOverload, key: str, fn: Callable[..., Any]) -> None:
    user = overload.user
    if fn is fallthrough_kernel:
        return
    if key == "Meta":
        user.fake = fn
    elif key in KEYS:
        user.kernels[KEYS[key]] = fn
    elif key in ("", "CompositeImplicitAutograd"):
        user.composite = fn
    elif key in ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"):
        user.kernels[None] = fn
        user.fake = user.fake or fn  # it is written with operators, which run without data, too
    elif key.startswith("Autograd"):
        user.autograd_key = fn
    elif key.startswith("Autocast"):
        user.autocast_keys[key.removeprefix("Autocast").lower()] = fn
    elif key == "JAX":
        user.jax = JaxKernel(overload._schema, fn)
    else:
        raise not_offered(
            f"Library.impl(dispatch_key={key!r})", "there is no such step in a call here"
        )


def _keep(lib: Any, overload: UserOverload) -> None:
    if lib is not None:
        lib._mine.append(overload)


def define(
    qualname: object,
    schema: Any,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: object = (),
) -> Any:
    """Defines ``torch.ops.<namespace>.<name>`` from its name and its schema
    ``"(Tensor x) -> Tensor"``.

    With a ``Library`` and a schema that has the name, a decorator for the operator's kernel: an
    older form.

    Raises:
        ValueError: if they are no such things.
    """
    if isinstance(qualname, Library):

        def decorate(fn: Callable[..., object]) -> Callable[..., Any]:
            qualname.impl(qualname.define(schema, alias_analysis, tags=tags), fn)
            return fn

        return decorate
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    namespace, name, overload = texts.split_name(qualname)
    if not isinstance(schema, str) or not re.fullmatch(r"\s*\(.*\) -> .*", schema, re.DOTALL):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> '
            f'Tensor" but got "{schema}"'
        )
    full = name if overload == "default" else f"{name}.{overload}"
    _keep(lib, registry.define(namespace, f"{full}{schema.strip()}", tags))
    return None


def impl(qualname: object, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Registers the kernel of an operator for device types, or ``"default"`` for all; also a
    decorator.

    With a ``Library``, the operator's name and a dispatch key, a decorator for ``Library.impl``: an
    older form.

    Raises:
        RuntimeError: for what is neither a type of devices nor a dispatch key.
    """
    if isinstance(qualname, Library):

        def decorate(fn: Callable[..., object]) -> Callable[..., Any]:
            qualname.impl(types, fn, func or "")
            return fn

        return decorate
    del lib
    kinds = (types,) if isinstance(types, str) else tuple(types)
    for kind in kinds:
        if kind != "default" and not hasattr(DispatchKey, kind):
            device(kind)  # raises where there is no such type

    def register(fn: Callable[..., object]) -> Function:
        for kind in kinds:
            if kind == "default":
                key = "CompositeExplicitAutograd"
            else:
                key = {v: k for k, v in KEYS.items()}.get(kind, kind)
            registry.when_defined(qualname, lambda overload, key=key: _implement(overload, key, fn))
        return fn

    if func is None:
        return register
    register(func)
    return None


def register_kernel(
    op: object,
    device_types: str | Sequence[str] | None,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """The kernel of an operator for some device types; also a decorator.

    ``None``, and ``"default"`` for an operator that was not made by ``custom_op``, stand for all;
    ``"jax"`` for a function of JAX arrays. Keys such as ``"CPU"`` are taken as by ``impl``, and the
    operator may be defined later.

    Raises:
        ValueError: for something else than types of devices.
        RuntimeError: for a type that there is not.
    """
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    if not isinstance(op, (str, UserOverload)):
        raise ValueError(f"register_kernel({op}): got unexpected type for op: {type(op)}")
    if isinstance(op, UserOverload):
        op = op._name

    def register(fn: Callable[..., object]) -> Function:
        types = (
            [device_types]
            if device_types is None or isinstance(device_types, str)
            else list(device_types)
        )
        if "jax" in types:
            registry.when_defined(
                op, lambda overload: setattr(overload.user, "jax", JaxKernel(overload._schema, fn))
            )
        impl(
            op,
            ["default" if kind is None else kind for kind in types if kind != "jax"],
            fn,
            lib=lib,
        )
        return fn

    return register if func is None else register(func)


def register_fake(
    op: object,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """The function that gives an operator's results for tensors without data; also a decorator."""
    del lib, _stacklevel, allow_override
    overload = registry.found(op)

    def register(fn: Callable[..., object]) -> Function:
        overload.user.fake = fn
        return fn

    return register if func is None else register(func)


def impl_abstract(
    qualname: str,
    func: Callable[..., object] | None = None,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
) -> Any:
    """The old name of ``register_fake``."""
    return register_fake(qualname, func, lib=lib, _stacklevel=_stacklevel)


def register_autograd(
    op: object,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """The derivative of an operator: see ``CustomOpDef.register_autograd``."""
    del lib
    overload = registry.found(op)
    schema = overload._schema
    if schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {overload} with schema "
            f"{schema}. Please create a functional operator and register an autograd formula for "
            "that."
        )
    texts.refuse_named_tensors(schema, str(schema), "register_autograd")
    overload.user.rule = (backward, setup_context)


def register_vmap(
    op: object, func: Callable[..., object] | None = None, /, *, lib: Library | None = None
) -> Any:
    """The rule of an operator for ``vmap``: see ``CustomOpDef.register_vmap``; also a decorator."""
    del lib
    overload = registry.found(op)
    texts.refuse_named_tensors(overload._schema, str(overload._schema), "register_vmap")

    def register(fn: Callable[..., object]) -> None:
        overload.user.vmap = fn

    return register if func is None else register(func)


def register_torch_dispatch(
    op: object,
    torch_dispatch_class: Any,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """What a dispatch mode or a tensor class does with an operator; also a decorator."""
    del lib
    overload = registry.found(op)

    def register(fn: Callable[..., object]) -> Function:
        overload.user.dispatch[torch_dispatch_class] = fn
        return fn

    return register if func is None else register(func)


def register_autocast(
    op: object, device_type: str, cast_inputs: object, /, *, lib: Library | None = None
) -> None:
    """Makes floating point arguments of an operator ``cast_inputs`` where autocasting is on for a
    device type."""
    del lib
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    registry.found(op).user.autocast[device_type] = cast_inputs


def get_kernel(op: object, dispatch_key: object) -> None:
    """Not offered: kernels have no calling convention of their own."""
    del op, dispatch_key
    raise not_offered(
        "get_kernel()", "there is no dispatcher whose kernels could be called past it"
    )
