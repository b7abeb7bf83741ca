"""What a tensor tells of itself, as operators; and wrapper classes that compute what their tensors
tell.

``Tensor._make_wrapper_subclass`` may say that sizes, strides, device or layout are computed. Each
question of that kind is then put to the class's ``__torch_dispatch__`` as the operator of its name;
the answer None stands for what the tensor was made with. Inside kernels, and where nobody is asked,
all tensors tell what they were made with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from ...core import Tensor, contiguous_strides
from ..engine import Aval
from ..facts import devices
from ..facts.layouts import is_dense, suggests_channels_last
from ..facts.size import Size
from ..tensor.shape_env import visible
from ..tensor.symbols import exact
from .calling import dispatched
from .kernels import kernel
from .overloads import OpOverload, aten, namespace_of
from .state import STATE
from .values import Look, NoData

if TYPE_CHECKING:
    from ..facts import layouts
    from ..facts.kinds import Row, Values


A = aten
_prim = namespace_of("prim")
DEVICE = _prim.define("device(Tensor a) -> Device")
LAYOUT = _prim.define("layout(Tensor a) -> Layout")
_FORMATS = {"torch.channels_last": 4, "torch.channels_last_3d": 5}


# ---- the operators -------------------------------------------------------------------------------


def _strides(t: Tensor) -> Row:
    return t._strides or contiguous_strides(t._aval.shape)


@kernel(A.size.default)
@kernel(A.sym_size.default)
def _sizes(self: Tensor) -> Values:
    return list(self._aval.shape)


@kernel(A.size.int)
@kernel(A.sym_size.int)
def _size(self: Tensor, dim: int) -> Any:
    return self._aval.shape[dim]


@kernel(A.stride.default)
@kernel(A.sym_stride.default)
def _all_strides(self: Tensor) -> list[int]:
    return list(_strides(self))


@kernel(A.stride.int)
@kernel(A.sym_stride.int)
def _stride(self: Tensor, dim: int) -> object:
    return _strides(self)[dim]


@kernel(A.dim.default)
def _dim(self: Tensor) -> int:
    return self._aval.ndim


@kernel(A.sym_numel.default)
def _numel(self: Tensor) -> object:
    return self._aval.size


@kernel(A.storage_offset.default)
@kernel(A.sym_storage_offset.default)
def _offset(self: Tensor) -> int:
    return self.storage_offset()


@kernel(A.is_contiguous.default)
def _is_contiguous(self: Tensor) -> bool:
    return self.is_contiguous()


@kernel(A.is_contiguous.memory_format)
def _is_in_format(self: Tensor, memory_format: layouts.memory_format | None) -> bool:
    return self.is_contiguous(memory_format=memory_format)


@kernel(A.is_strides_like_format.default)
def _is_like_format(self: Tensor, memory_format: object) -> bool:
    ndim = _FORMATS.get(str(memory_format))
    return (
        ndim is not None
        and self._aval.ndim == ndim
        and suggests_channels_last(self._aval.shape, _strides(self))
    )


@kernel(A.is_non_overlapping_and_dense.default)
def _is_dense(self: Tensor) -> bool:
    return is_dense(self._aval.shape, _strides(self))


@kernel(DEVICE)
def _device(a: Tensor) -> devices.device:
    return a.device


@kernel(LAYOUT)
def _layout(a: Tensor) -> object:
    return a.layout


# ---- computed answers ----------------------------------------------------------------------------


class Asking(Look):
    """How a wrapper looks at its storage whose class computes some of what it tells."""

    __slots__ = ("asks", "given")

    def __init__(
        self, t: Tensor, storage: NoData, aval: Aval, offset: int, asks: frozenset[str]
    ) -> None:
        #: Which of "sizes", "strides", "device" and "layout" are computed.
        self.asks = asks
        super().__init__(t, storage, aval, offset)

    @property
    def aval(self) -> Any:
        """What the wrapper was made with, or what asks its class."""
        t = None if STATE.off or not (self.asks & _WHOLE) else self.tensor()
        return self.given if t is None else Asked(t, self)

    @aval.setter
    def aval(self, aval: Aval) -> None:
        self.given = aval

    def told(self, what: str, *more: object) -> object:
        """What the class says to a question that is put for itself; None if it is not asked."""
        kind, func, another = _QUESTIONS[what]
        t = None if STATE.off or kind not in self.asks else self.tensor()
        return None if t is None else _answer(t, another if more else func, *more)


def _answer(t: Tensor, func: OpOverload, *more: object) -> Any:
    """What a wrapper's class, or a mode, says."""
    return dispatched(func, func.complete((t, *more), {}), (t,), f"torch.ops.{func.overloadpacket}")


_QUESTIONS: dict[str, tuple[str, OpOverload, OpOverload]] = {
    "stride": ("strides", A.sym_stride.default, A.sym_stride.int),
    "is_contiguous": ("strides", A.is_contiguous.default, A.is_contiguous.memory_format),
    "storage_offset": ("sizes", A.sym_storage_offset.default, A.sym_storage_offset.default),
    "layout": ("layout", LAYOUT, LAYOUT),
}
#: What the floors below read as one: computed in part, it is asked for part by part.
_WHOLE = frozenset(("sizes", "device"))


class Asked:
    """An aval of a wrapper whose class computes some of it. Who keeps this keeps the wrapper, which
    is asked."""

    __slots__ = ("asks", "differentiable", "dtype", "given", "nbytes", "tensor", "torch_dtype")

    def __init__(self, t: Tensor, look: Asking) -> None:
        self.tensor, self.asks, self.given = t, look.asks, look.given
        self.dtype, self.torch_dtype, self.differentiable = (
            self.given.dtype,
            self.given.torch_dtype,
            self.given.differentiable,
        )
        self.nbytes = self.given.nbytes  # read to see how much memory a value may take

    def _size(self, func: OpOverload, given: object) -> Any:
        found = _answer(self.tensor, func) if "sizes" in self.asks else None
        return given if found is None else found

    @property
    def shape(self) -> Row:
        """The sizes."""
        return tuple(exact(list(self._size(A.sym_size.default, self.given.shape))))

    @property
    def torch_size(self) -> object:
        """The sizes, as programs see them."""
        return Size(visible(self.shape))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._size(A.dim.default, self.given.ndim)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return exact(self._size(A.sym_numel.default, self.given.size))

    @property
    def device(self) -> Any:
        """The placement."""
        found = _answer(self.tensor, DEVICE) if "device" in self.asks else None
        return self.given.device if found is None else devices.placement(found)

    @property
    def sds(self) -> object:
        """Shape and dtype as JAX has them."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype)


def kinds_of(policy: str | None, device: bool, layout: bool) -> frozenset[str]:
    """What a class computes, by the arguments of ``_make_wrapper_subclass``.

    Raises:
        ValueError: for a policy that there is none of.
    """
    if policy not in (None, "strides", "sizes"):
        raise ValueError(f"Unknown sizes_strides_policy: {policy}; expected 'strides' or 'sizes'")
    asked = (
        ("sizes", policy == "sizes"),
        ("strides", policy),
        ("device", device),
        ("layout", layout),
    )
    return frozenset([kind for kind, is_asked in asked if is_asked])


def look_of(t: Tensor, storage: NoData, aval: Aval, offset: int, asks: frozenset[str]) -> Look:
    """How a wrapper looks at its storage."""
    return Asking(t, storage, aval, offset, asks) if asks else Look(t, storage, aval, offset)
