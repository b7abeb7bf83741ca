"""Conversions, copies, reading on the host, and other methods of Tensor as operators."""

from __future__ import annotations

import copy
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core import Tensor
from ..bind.everything import M, T
from ..facts import devices, dtypes
from ..facts.asserted import asserted
from ..facts.layouts import preserve_format, strided
from ..tensor.methods import _parse_to
from .calling import handles
from .functions import route
from .overloads import aten
from .routes_shape import clone, is_contiguous
from .state import STATE, Kernel

A = aten


def is_wrapper(t: Tensor) -> bool:
    """Whether a tensor's class takes part in ``__torch_dispatch__``."""
    return type(t) is not Tensor and handles(type(t))


@route(M.to, aten=A.to)
def to(self: Tensor, *args: devices.device | dtypes.dtype | bool | None, **kwargs: Any) -> Any:
    """``_to_copy.default`` where dtype, device or memory format change; else the tensor itself."""
    device, dtype, copied, memory_format = _parse_to(args, dict(kwargs))
    return _moved(self, device, dtype, copied, memory_format)


def _moved(
    t: Tensor, device: Any, dtype: object, copied: bool = False, memory_format: object = None
) -> Tensor:
    aval = t._aval
    options = {}
    if dtype is not None and (dtype is not aval.torch_dtype or copied):
        options["dtype"] = dtype
    if device is not None and (devices.placement(device) != aval.device or copied):
        options["device"] = (
            devices.device(device) if not isinstance(device, devices.device) else device
        )
    if memory_format not in (None, preserve_format) and not is_contiguous(t, memory_format):
        options["memory_format"] = memory_format
    if not options and not copied:
        return t
    if dtype is not None and "dtype" not in options and options:
        options = {"dtype": dtype, **options}
    return A._to_copy.default(t, **options)


def _conversion(name: str, dtype: dtypes.dtype) -> None:
    def convert(self: Tensor, memory_format: object = preserve_format) -> object:
        return _moved(self, None, dtype, False, memory_format)

    route(f"Tensor.{name}")(convert)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16,
    "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    _conversion(_name, _dtype)


@route(M.type_as)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """``to`` another tensor's dtype and device."""
    if (
        self._aval.torch_dtype is other._aval.torch_dtype
        and self._aval.device == other._aval.device
    ):
        return self
    return A._to_copy.default(
        self, dtype=other._aval.torch_dtype, layout=strided, device=other.device
    )


@route(M.cpu)
def cpu(self: Tensor, memory_format: object = None) -> Tensor:
    """``to`` the CPU."""
    return _moved(self, "cpu", None, False, memory_format)


@route("_C._to_copy")
def _to_copy(input: Tensor, dtype: object = None) -> Tensor:
    return A._to_copy.default(input, dtype=dtype)


@route("_C._copy")
def _copy(input: Tensor, src: Tensor) -> object:
    return A.copy.default(input, src)


@route("_C._accumulate")
def _accumulate(a: object, b: object) -> object:
    return A.add.Tensor(a, b)


@route("_C._ones_like")
def _ones_like(input: Tensor) -> object:
    return A.ones_like.default(input)


# ---- on the host ---------------------------------------------------------------------------------


def _number(t: object) -> Any:
    return A._local_scalar_dense.default(t)


@route(M.item)
def item(self: Tensor) -> Any:
    """``_local_scalar_dense.default``."""
    if self._aval.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._aval.size} elements cannot be converted to Scalar"
        )
    return _number(self)


@route("Tensor.__bool__", M.is_nonzero, T.is_nonzero)
def __bool__(self: Tensor) -> bool:
    if self._aval.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self._aval.size != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if STATE.asserting and (message := asserted()) is not None:
        A._assert_async.msg(self, message)
        return True
    return bool(_number(self))


@route("Tensor.__float__")
def __float__(self: Tensor) -> object:
    return float(item(self))


@route("Tensor.__int__")
def __int__(self: Tensor) -> object:
    return int(item(self))


@route("Tensor.__complex__")
def __complex__(self: Tensor) -> object:
    return complex(item(self))


@route("Tensor.__index__")
def __index__(self: Tensor) -> int:
    if self.dtype.category > dtypes.INTEGRAL or self._aval.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_number(self))


def _refused(name: str) -> None:
    def refuse(self: Tensor, *args: object, **kwargs: object) -> list[float]:
        if not is_wrapper(self):
            with Kernel():
                return getattr(Tensor, name)(self, *args, **kwargs)
        got = f", got {type(self).__name__}" if name == "tolist" else "."
        raise RuntimeError(f".{name}() is not supported for tensor subclasses{got}")

    route(f"Tensor.{name}")(refuse)


for _name in ("tolist", "numpy"):
    _refused(_name)


@route("Tensor.__array__")
def __array__(self: Tensor, dtype: dtypes.dtype | None = None, copy: object = None) -> object:
    if is_wrapper(self):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    with Kernel():
        return Tensor.__array__(self, dtype, copy)


@route("Tensor.__repr__")
def __repr__(self: Tensor, *, tensor_contents: object = None) -> object:
    if is_wrapper(self):
        shown = (
            f"..., size={tuple(self._aval.shape)}"
            if tensor_contents is None
            else str(tensor_contents)
        )
        text = f"{type(self).__name__}({shown}"
        text += (
            ""
            if self._aval.torch_dtype is dtypes.get_default_dtype()
            else f", dtype={self._aval.torch_dtype}"
        )
        node = self.grad_fn
        text += (
            f", grad_fn=<{node.name()}>"
            if node is not None
            else ", requires_grad=True"
            if self._rg
            else ""
        ) + ")"
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text
    with Kernel():
        return Tensor.__repr__(self, tensor_contents=tensor_contents)


# ---- copies --------------------------------------------------------------------------------------


@route("Tensor.__deepcopy__")
def __deepcopy__(self: Tensor, memo: dict[int, object]) -> object:
    if not is_wrapper(self):
        with Kernel():
            return Tensor.__deepcopy__(self, memo)
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    with no_grad():
        made = clone(self)
    if type(made) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for "
            "subclass types that implement clone() and for which cloning returns another instance "
            "of the same subclass. You should either properly implement clone() for your subclass "
            "or override __deepcopy__() if it is intended behavior for clone() to return an "
            "instance of a different type."
        )
    memo[id(self)] = made
    if self._rg:
        made._rg = True
    if self._grad is not None:
        made._grad = copy.deepcopy(self._grad, memo)
    for k, v in self.__dict__.items():
        if k not in Tensor.__annotations__ and k not in made.__dict__:
            made.__dict__[k] = copy.deepcopy(v, memo)
    return made


@route("Tensor.__reduce_ex__")
def __reduce_ex__(self: Tensor, protocol: object) -> object:
    with Kernel():  # a wrapper's attributes are pickled after this, as the operands that they are
        return Tensor.__reduce_ex__(self, protocol)


@route(M.detach_, "detach_")
def detach_(self: Tensor) -> Tensor:
    """Cuts the history, which belongs to the wrapper itself."""
    A.detach_.default(self)
    self._node, self._nr, self._rg = None, 0, False
    return self


@route(M.copy_)
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Any:
    """``copy_.default``; a number is filled in."""
    if not isinstance(src, Tensor):
        return A.fill_.Scalar(self, src)
    return A.copy_.default(self, src, non_blocking)


@route(M.zero_, T.zero_)
def zero_(self: Tensor) -> Tensor:
    """``zero_.default``."""
    return A.zero_.default(self)


@route(T.fill)
def fill(self: Tensor, value: object) -> Tensor:
    """``fill.Scalar`` or ``fill.Tensor``."""
    return A.fill.Tensor(self, value) if isinstance(value, Tensor) else A.fill.Scalar(self, value)


@route(M.fill_, "fill_")
def fill_(self: Tensor, value: object) -> Tensor:
    """``fill_.Scalar`` or ``fill_.Tensor``."""
    return A.fill_.Tensor(self, value) if isinstance(value, Tensor) else A.fill_.Scalar(self, value)


@route("_C._fill")
def _fill(input: Tensor, value: object) -> object:
    return fill(input, value)
