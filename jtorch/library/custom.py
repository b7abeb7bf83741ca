"""``custom_op`` and ``jax_op``: operators defined by decorating their kernel."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .._src.facts.errors import not_offered
from . import registry, texts
from .kernels import JaxKernel
from .registry import UserOverload
from .schemas import infer_schema
from .tags import Tag

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


_defined: dict[str, CustomOpDef] = {}


def _types(device_types: Any) -> list[str | None]:
    """Device types as a list; None stands for all.

    Raises:
        RuntimeError: for a type that there is not.
    """
    found = (
        [device_types]
        if device_types is None or isinstance(device_types, str)
        else list(device_types)
    )
    for kind in found:
        if kind is not None and kind != "jax":
            torch.device(kind)
    return found


class CustomOpDef:
    """A user operator: call it, or register for it how it runs elsewhere, its derivative, its
    shapes, its rule for ``vmap``."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Any = None
    ) -> None:
        self._namespace, self._name, self._init_fn, self._tags = (
            namespace,
            name,
            fn,
            list(tags or ()),
        )
        self._schema = schema
        previous = _defined.get(self._qualname)
        if previous is not None:
            registry.forget(previous._opoverload)
        self._opoverload: UserOverload = registry.define(
            namespace, f"{name}{schema}", [Tag.pt2_compliant_tag, *self._tags]
        )
        self._user.opaque = True
        self._user.where = str(sys.modules.get(fn.__module__, fn.__module__))
        _defined[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _user(self) -> registry.UserOp:
        return self._opoverload.user

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator."""
        return self._opoverload(*args, **kwargs)

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """The kernel for some device types (None: all); also a decorator. For ``"jax"`` it is a
        function of JAX arrays, for all devices."""

        def register(fn: Callable[..., Any]) -> Function:
            schema = self._opoverload._schema
            if (
                device_types is not None
                and not schema.tensors
                and not any(a.type == "Device" and a.name == "device" for a in schema.arguments)
            ):
                raise ValueError(
                    "Functions without tensor inputs are required to have a `device: torch.device` "
                    "argument"
                )
            for device in _types(device_types):
                if device == "jax":
                    self._user.jax = JaxKernel(self._opoverload._schema, fn)
                    self._user.kernels.pop(None, None)
                else:
                    self._user.kernels[device] = fn
            return fn

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """The function that gives results of the right shape and dtype for tensors without data;
        also a decorator."""
        self._user.fake = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The derivative: ``backward(ctx, *grads)`` gives one gradient for each argument;
        ``setup_context(ctx, inputs, output)`` saves.

        Raises:
            RuntimeError: if the operator changes its arguments.
        """
        schema = self._opoverload._schema
        if schema.is_mutable:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema "
                f"{schema}. Please create a functional operator and register an autograd formula "
                "for that."
            )
        texts.refuse_named_tensors(schema, str(schema), "register_autograd")
        self._user.rule = (backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """The rule for ``vmap``: ``func(info, in_dims, *args)`` gives ``(output, out_dims)``; also
        a decorator."""

        def register(func: Callable[..., object]) -> None:
            self._user.vmap = func

        return register if func is None else register(func)

    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """What a dispatch mode or a tensor class does with the operator; also a decorator."""

        def register(fn: Callable[..., object]) -> Function:
            self._user.dispatch[torch_dispatch_class] = fn
            return fn

        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Makes floating point arguments ``cast_inputs`` where autocasting is on for a device
        type."""
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}")
        self._user.autocast[device_type] = cast_inputs

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A block in which the kernel for a device type is used, or not."""
        off = self._user.disabled
        before = device_type in off
        (off.discard if enabled else off.add)(device_type)
        try:
            yield
        finally:
            (off.add if before else off.discard)(device_type)


def custom_op(
    name: str,
    fn: Callable[..., object] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> Any:
    """Makes a function of tensors an operator, which autograd and other transformations do not see
    into; also a decorator.

    ``name`` is ``"namespace::name"``; the schema follows from the annotations unless it is given.
    ``mutates_args`` names the arguments that the function changes in place.

    Raises:
        ValueError: for a name without namespace, and for annotations that no schema can have.
        NotImplementedError: for tensors that are given by name alone.
    """

    def define(fn: Callable[..., object]) -> CustomOpDef:
        namespace, opname, _ = texts.split_name(name)
        text = schema if schema is not None else infer_schema(fn, mutates_args=mutates_args)
        texts.refuse_named_tensors(
            texts.parsed(namespace, f"{opname}{text}"), f"{opname}{text}", "custom_op"
        )
        made = CustomOpDef(namespace, opname, text, fn, tags)
        expected = set() if isinstance(mutates_args, str) else set(mutates_args)
        if schema is not None and not isinstance(mutates_args, str):
            mutated = {a.name for a in made._opoverload._schema.arguments if a.is_write}
            if mutated != expected:
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
                    f"`schema={schema}. The schema suggests that the op mutates {mutated} which is "
                    "different from what was provided to us in `mutates_args`. Please make these "
                    "consistent."
                )
        made.register_kernel(device_types)(fn)
        return made

    return define if fn is None else define(fn)


def jax_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    schema: str | None = None,
    differentiable: bool = True,
) -> Any:
    """Makes a function of JAX arrays an operator on tensors; also a decorator. Only in jtorch.

    Tensors (annotated ``jax.Array``) come as arrays, everything else is fixed when the kernel is
    traced. Calls are recorded and fused like those of any function; gradients, shapes and ``vmap``
    follow from JAX, unless registered. Kernels of Pallas or of XLA's FFI serve as well; they mostly
    need ``register_autograd``.

    Examples:
        >>> import jax, jtorch as torch
        >>> @torch.library.jax_op("doc::cube")
        ... def cube(x: jax.Array) -> jax.Array:
        ...     return x**3
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> cube(x).sum().backward()
        >>> x.grad
        tensor([ 3., 12.])
        >>> torch.ops.doc.cube(x.detach())
        tensor([1., 8.])
    """

    def define(fn: Callable[..., Any]) -> CustomOpDef:
        namespace, opname, _ = texts.split_name(name)
        made = CustomOpDef(
            namespace,
            opname,
            schema if schema is not None else infer_schema(fn, mutates_args=()),
            fn,
        )
        made._user.jax = JaxKernel(made._opoverload._schema, fn, differentiable)
        return made

    return define if fn is None else define(fn)


_NO_TRITON = (
    "there is no Triton for XLA's arrays here; write the kernel with jax.experimental.pallas and "
    "jax_op()"
)


def triton_op(
    name: str,
    fn: Callable[..., object] | None = None,
    /,
    *,
    mutates_args: Any,
    schema: str | None = None,
) -> Any:
    """Makes a function of tensors an operator, as ``custom_op`` does; also a decorator. It runs as
    long as it calls no Triton kernel.

    Packages define operators so that have other kernels for the CPU, by ``register_kernel`` or in
    the function itself.
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Callable[..., object], /) -> None:
    """Not offered: Triton kernels run on PyTorch's memory."""
    del triton_kernel
    raise not_offered("wrap_triton()", _NO_TRITON)
