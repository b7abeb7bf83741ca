"""``Parameter``, ``Buffer`` and their uninitialized forms: tensors that modules register by their
class."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import jtorch as torch
from jtorch import Tensor

from .._C import _disabled_torch_function_impl
from .._src.protocol.recorded import recorder
from .._src.tensor.module_state import outside_jax
from ..types import Device, _dtype

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]


class _ParameterMeta(type(Tensor)):
    """Lets instances of other Tensor subclasses that ``Parameter(...)`` has marked count as
    Parameters."""

    def __instancecheck__(cls, instance: object) -> bool:
        if (
            cls is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        ):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter: assigned as attribute of a module, it is registered
    there.

    It shares the data of ``data`` (default: an empty tensor) and is a leaf. Given an instance of a
    Tensor subclass, the result keeps that class, and ``isinstance(result, Parameter)`` holds all
    the same. Results of operations on a Parameter are plain tensors.

    Args:
        data: the tensor whose memory it shares; an empty one if it is None.
        requires_grad: whether autograd records what is done with it.
    """

    __torch_function__ = _disabled_torch_function_impl
    _state = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """``data`` as a parameter that shares its memory."""
        if data is None:
            data = torch.empty(0)
        if (found := recorder()) is not None:
            # gradients gather in the object itself, which so must have data
            found.finish("nn.Parameter")
        kind = type(data)
        if kind is Tensor or kind is Parameter:
            made = Tensor._make_subclass(cls, data, requires_grad)
            if not outside_jax():
                made._state = False  # it ends with the transformation that it is made in
            return made
        made = data.detach().requires_grad_(requires_grad)
        if type(made) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that "
                "detach() returns an instance of the same type, but return type "
                f"{type(made).__name__} was found instead. To use the type as a Parameter, please "
                "correct the detach() semantics defined by its __torch_dispatch__() implementation."
            )
        made._is_param = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(
                self.data.clone(memory_format=torch.preserve_format), self.requires_grad
            )
        return found

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        state = _instance_state(self)
        if not state:
            return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())
        return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), state)


def _instance_state(parameter: Tensor) -> dict[str, object]:
    """What a program has set on the instance: the attributes that are not the Tensor class's
    own."""
    return {k: v for k, v in vars(parameter).items() if not hasattr(Tensor, k)}


# always empty
def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: object) -> Parameter:  # noqa: ARG001
    """Makes a Parameter again when one is unpickled."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor,
    requires_grad: bool,
    backward_hooks: object,  # noqa: ARG001 (always empty)
    state: dict[str, object],
) -> Parameter:
    """Makes a Parameter again, with the attributes that were set on it."""
    made = Parameter(data, requires_grad)
    for name, value in state.items():
        setattr(made, name, value)
    return made


class UninitializedTensorMixin:
    """What tensors without a known shape have in common: nearly everything but ``materialize`` is
    refused."""

    _allowed_methods = [
        Tensor.__hash__, Tensor.size, Tensor.copy_, Tensor.is_complex, Tensor.is_floating_point,
        Tensor.half, Tensor.float, Tensor.double, Tensor.char, Tensor.short, Tensor.int,
        Tensor.long, Tensor.cuda, Tensor.cpu, Tensor.to, Tensor.get_device,
    ]  # fmt: skip
    cls_to_become: type[Any]

    def materialize(self, shape: Any, device: Device = None, dtype: _dtype | None = None) -> None:
        """Turns this object, in place, into an initialized one of ``shape`` with undefined values;
        device and dtype default to its own."""
        data = self.data
        self.data = torch.empty(
            shape,
            device=data.device if device is None else device,
            dtype=data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # Property getters are method-wrappers in torch; here they are told by their name.
        if func in cls._allowed_methods or getattr(func, "__name__", "") in (
            "__get__",
            "__set__",
            "__delete__",
        ):
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` "
            "with a dummy batch to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Tensor) -> bool:
    """Whether ``param`` is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; ``materialize(shape)`` turns it into a Parameter.

    Args:
        requires_grad: whether the parameter will require grad.
        device: where it will lie; ``materialize`` may say otherwise.
        dtype: the type of its elements; ``materialize`` may say otherwise.

    Example:
        >>> import jtorch as torch
        >>> p = torch.nn.UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> type(p).__name__, p.shape
        ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device = None, dtype: _dtype | None = None
    ) -> UninitializedParameter:
        """An empty parameter of unknown shape."""
        return Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(
                self.requires_grad, self.data.device, self.data.dtype
            )
        return found


class _BufferMeta(type(Tensor)):
    """Lets the tensors that ``Buffer(...)`` returns count as Buffers."""

    def __instancecheck__(cls, instance: object) -> bool:
        if (
            cls is Buffer
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_buffer", False)
        ):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is a module's buffer: assigned as attribute of a module, it is registered
    there.

    ``Buffer(data)`` is a detached tensor of the class of ``data``; ``isinstance(it, Buffer)`` holds
    by a mark it carries.

    Args:
        data: the tensor, whose memory is shared; by default an empty one.
        persistent: whether it is part of the module's ``state_dict``.

    Example:
        >>> import jtorch as torch
        >>> module = torch.nn.Module()
        >>> module.mean = torch.nn.Buffer(torch.zeros(2))
        >>> list(module.state_dict())
        ['mean']
    """

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """``data``, detached and marked as a buffer."""
        if data is None:
            data = torch.empty(0)
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; ``materialize(shape)`` turns it into a plain tensor.

    Args:
        requires_grad: whether the buffer will require grad.
        device: where it will lie; ``materialize`` may say otherwise.
        dtype: the type of its elements; ``materialize`` may say otherwise.
        persistent: whether it is part of the module's ``state_dict``.
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device = None,
        dtype: _dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        """An empty buffer of unknown shape."""
        made = Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
