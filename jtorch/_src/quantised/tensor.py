"""Tensors whose dtype is quantised: integers in an ordinary tensor, with a scale and a zero point.

Public functions come here after the override protocol has found nobody to ask
(``dispatch.LAYOUTS``). What rearranges elements runs on the integers; what ``table.py`` and
``methods.py`` enter does as they say; everything else is refused, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ...core import Tensor
from ...dispatch import disabled_torch_function_impl
from ..bind.bound import BOUND, POINTWISE
from ..bind.everything import _C, PUBLIC
from ..engine import SPECIAL, Laid
from ..facts import dtypes, layouts
from ..facts.errors import no_kernel, not_offered
from ..facts.warned_once import warn_once

if TYPE_CHECKING:
    from ..facts.kinds import Function
    from ..protocol.slow_path import Caller

_new = object.__new__

#: Quantised dtype -> that of its integers.
STORED = {
    dtypes.ABSENT["quint8"]: dtypes.uint8,
    dtypes.ABSENT["qint8"]: dtypes.int8,
    dtypes.ABSENT["qint32"]: dtypes.int32,
}
QUANTISED = {stored: kind for kind, stored in STORED.items()}

_WARNING = (
    "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation "
    "functions that produce tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are "
    "deprecated and will be removed in a future PyTorch release. Please see "
    "https://github.com/pytorch/pytorch/issues/184982 for more information."
)


class OneGrid:
    """The scale and zero point of a whole tensor."""

    __slots__ = ("scale", "zero")
    scheme = layouts.per_tensor_affine

    def __init__(self, scale: float, zero: int) -> None:
        self.scale, self.zero = scale, zero

    def operands(self, ndim: int) -> tuple[float, int]:
        """Scale and zero point as kernels take them."""
        return self.scale, self.zero

    def weights(self) -> tuple[float, int]:
        """The same, of a weight whose rows may have grids of their own."""
        return self.scale, self.zero

    def same(self, other: object) -> bool:
        """Whether another grid is the same."""
        return isinstance(other, OneGrid) and other.scale == self.scale and other.zero == self.zero


class ManyGrids:
    """A scale and a zero point for each index of a dimension; zero points may be floats."""

    __slots__ = ("axis", "scales", "zeros")

    def __init__(self, scales: Tensor, zeros: Tensor, axis: int) -> None:
        self.scales, self.zeros, self.axis = scales, zeros, axis

    @property
    def scheme(self) -> Any:
        """``per_channel_affine``, or the scheme of floats."""
        if self.zeros.dtype.is_floating_point:
            return layouts.per_channel_affine_float_qparams
        return layouts.per_channel_affine

    def operands(self, ndim: int) -> tuple[Tensor, Tensor]:
        """Scales and zero points along their dimension."""
        shape = [1] * ndim
        shape[self.axis] = -1
        return self.scales.reshape(shape), self.zeros.reshape(shape)

    def weights(self) -> tuple[Tensor, Tensor]:
        """Scales and zero points of a weight's rows."""
        return self.scales, self.zeros

    def same(self, other: object) -> bool:
        """Whether other grids are the same."""
        return (
            isinstance(other, ManyGrids)
            and other.axis == self.axis
            and bool(PUBLIC["equal"](other.scales, self.scales))
            and bool(PUBLIC["equal"](other.zeros, self.zeros))
        )


Grid = OneGrid | ManyGrids


class QuantizedTensor(Tensor):
    """A tensor of integers that stand for numbers.

    Attributes:
        _ints: the integers, an ordinary tensor, whose memory, strides and version are this one's.
        _grid: which numbers they stand for.
    """

    __torch_function__ = disabled_torch_function_impl

    _ints: Tensor
    _grid: Grid
    _made_of = frozenset(("_ints", "_grid"))

    def _read(self) -> Any:
        """A value that stands for the tensor, which kernels refuse."""
        found = _new(QuantizedValue)
        found.aval = self._aval
        found.array, found.index, found.meta, found.trace = None, 0, None, SPECIAL
        found.tensor = self
        return found

    @property
    def _al(self) -> Any:
        return self._ints._al

    @property
    def _writes(self) -> int:
        return self._ints._writes

    @property
    def _aval(self) -> Any:
        return self._ints._aval

    def _sync(self) -> None:
        pass

    def _edge(self) -> Any:
        return self._ints._edge()

    def _check_origin(self) -> None:
        pass

    def jax(self) -> Any:
        """The integers."""
        return self._ints.jax()

    # Programs that look see what they would see in PyTorch, where there is one class.
    __class__ = property(lambda _: Tensor)
    _rg = property(lambda _: False, lambda *_: None)
    _node = property(lambda _: None, lambda *_: None)
    _nr = property(lambda _: 0, lambda *_: None)


class QuantizedValue(Laid):
    """What reading such a tensor gives: kernels that want numbers are refused."""

    __slots__ = ()

    def run(self, call: Any, ins: Any, numbers: Any) -> Any:
        """An error that names the operation."""
        op = call.extra.op
        raise could_not_run(op.aten or op.name)

    def unreadable(self, what: str = "item") -> Exception:
        """The error for reading it on the host."""
        return could_not_run("_local_scalar_dense")


def could_not_run(name: str) -> NotImplementedError:
    """torch's error for an operation that has no kernel for quantised tensors."""
    return no_kernel(name.removesuffix(".default"), "QuantizedCPU")


def not_strided() -> RuntimeError:
    """torch's error where a number or a float would take part."""
    return RuntimeError(
        "empty_strided not supported on quantized tensors yet see "
        "https://github.com/pytorch/pytorch/issues/74540"
    )


def made(ints: Tensor, grid: Grid) -> QuantizedTensor:
    """The quantised tensor of integers."""
    found = _new(QuantizedTensor)
    found._ints, found._grid = ints, grid
    return found


def created(ints: Tensor, grid: Grid) -> QuantizedTensor:
    """A new quantised tensor, of which PyTorch warns once."""
    warn_once(_WARNING)
    return made(ints, grid)


def is_quantised(x: object) -> bool:
    """Whether something is a quantised tensor."""
    return type(x) is QuantizedTensor


def floats(t: QuantizedTensor, fused: bool = False) -> Tensor:
    """The numbers that a tensor stands for."""
    return _C._dequantize_affine(t._ints, *t._grid.operands(t._ints.dim()), fused)


def rounded(x: Tensor, grid: Grid, stored: dtypes.dtype, after: bool = False) -> QuantizedTensor:
    """The nearest tensor on a grid; ``after`` as ``_quantize_affine`` has it."""
    return made(_C._quantize_affine(x, *grid.operands(x.dim()), stored, after), grid)


def like(t: QuantizedTensor, x: Tensor) -> QuantizedTensor:
    """Numbers on the grid of ``t``."""
    return rounded(x, t._grid, t._ints.dtype)


def one_grid(t: QuantizedTensor, what: str) -> OneGrid:
    """The grid of a tensor that has one.

    Raises:
        RuntimeError: if it has one for each channel.
    """
    if not isinstance(t._grid, OneGrid):
        raise RuntimeError(what)
    return t._grid


# ---- calls ---------------------------------------------------------------------------------------

#: What is done in place of a function, by the last part of its public name.
TABLE: dict[str, Function] = {}
GETTERS: dict[str, Callable[[QuantizedTensor], Any]] = {}

#: Functions that only rearrange elements, or say something of memory: they run on the integers.
_REARRANGE = frozenset(
    """view reshape flatten unflatten t transpose permute swapaxes swapdims movedim moveaxis
    unsqueeze squeeze expand expand_as select narrow chunk split split_with_sizes tensor_split
    unbind index_select repeat tile flip rot90 contiguous detach view_as reshape_as diagonal
    as_strided unfold pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle
    clone alias ravel numpy_T hsplit vsplit dsplit broadcast_to atleast_1d atleast_2d atleast_3d
    __iter__ take_along_dim unsafe_chunk unsafe_split cpu cuda""".split()
)
_KEEP_CHANNELS = frozenset("clone contiguous detach alias cpu cuda".split())
_TOLD = frozenset(
    """size dim ndimension numel nelement element_size is_complex is_contiguous storage_offset
    get_device is_inference is_conj is_neg stride data_ptr untyped_storage is_shared
    share_memory_ __len__ __hash__ is_pinned is_set_to has_names is_distributed dim_order
    is_coalesced resolve_conj resolve_neg""".split()
)
_VALUES_FIRST = frozenset("sort topk max min msort".split())


def enter(*names: str) -> Callable[[Function], Function]:
    """Decorator: enters what these functions do with a quantised tensor."""

    def put(body: Function) -> Function:
        for name in names:
            TABLE[name] = body
        return body

    return put


def _ints_of(x: Any) -> Any:
    if type(x) is QuantizedTensor:
        return x._ints
    if type(x) in (list, tuple) or isinstance(x, list):
        return type(x)(map(_ints_of, x))
    return x


class _Layout:
    """What ``dispatch.LAYOUTS`` holds for quantised tensors."""

    def call(
        self, caller: Caller, operand: QuantizedTensor, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """A public function called with a quantised operand."""
        path = dispatch.name_of(caller.func).removeprefix("torch.")
        name = path.rpartition(".")[2]
        if caller.layout.alias_of:
            kwargs = {caller.layout.alias_of.get(n, n): x for n, x in kwargs.items()}
        body = TABLE.get(name)
        if body is not None:
            return body(*args, **kwargs)
        if name in _TOLD:
            return getattr(operand._ints, name)(*args[1:], **kwargs)
        if name[-1:] == "_" and name[:-1] in _REARRANGE and name[:2] != "__":
            changed = self._rearranged(caller, name[:-1], operand, args, kwargs)
            operand._grid = changed._grid
            return operand
        if name in _REARRANGE:
            return self._rearranged(caller, name, operand, args, kwargs)
        raise refused(path, name, args)

    @staticmethod
    def _rearranged(
        caller: Caller, name: str, operand: QuantizedTensor, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        if any(isinstance(x, dtypes.dtype) for x in (*args, *kwargs.values())):
            raise not_offered(f"{name} of a quantised tensor as another dtype", "see int_repr")
        grid = operand._grid
        if isinstance(grid, ManyGrids) and name not in _KEEP_CHANNELS:
            found = TABLE["_by_channel"](name, operand, args, kwargs)
            if found is not None:
                return found
        result = caller.run(tuple(map(_ints_of, args)), {n: _ints_of(x) for n, x in kwargs.items()})
        if isinstance(result, Tensor):
            return made(result, grid)
        return type(result)(made(x, grid) for x in result)

    def get(self, name: str, t: QuantizedTensor, plain: Callable[..., Any]) -> Any:
        """A property."""
        body = GETTERS.get(name)
        if body is not None:
            return body(t)
        found = getattr(t._ints, name)
        return made(found, t._grid) if isinstance(found, Tensor) else found

    def set(self, name: str, t: QuantizedTensor, value: Any, plain: object) -> None:
        """Sets a property."""
        if name == "requires_grad":
            if value:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        elif name == "data":
            t._ints, t._grid = value._ints, value._grid
        else:
            setattr(t._ints, name, value)

    def item(self, t: QuantizedTensor, index: Any) -> Any:
        """``t[index]``."""
        return TABLE["__getitem__"](t, index)

    def set_item(self, t: Any, index: Any, value: Any) -> None:
        """``t[index] = value``, rounded to the grid."""
        TABLE["__setitem__"](t, index, value)

    def parts(self, t: QuantizedTensor) -> tuple[Tensor, tuple[Any, ...]]:
        """The integers, and scheme and numbers of the grid as PyTorch's files have them."""
        grid = t._grid
        if isinstance(grid, OneGrid):
            return t._ints, (grid.scheme, grid.scale, grid.zero)
        return t._ints, (layouts.per_channel_affine, grid.scales, grid.zeros, grid.axis)


#: The overloads that errors name, where a function is made of others or its declaration tells
#: another one.
_OVERLOADS = {
    "sum": "sum.IntList_out", "softmax": "_softmax.out", "log_softmax": "_log_softmax.out",
    "matmul": "mm.out", "__matmul__": "mm.out", "mm": "mm.out", "linear": "mm.out",
    "var": "var.correction", "where": "where.self", "zeros_like": "zero_", "new_zeros": "zero_",
    "rand_like": "uniform_", "elu": "elu.out", "pow": "pow.Tensor_Scalar_out",
    "__pow__": "pow.Tensor_Scalar_out", "batch_norm": "native_batch_norm",
}  # fmt: skip


def refused(path: str, name: str, args: tuple[Any, ...]) -> Exception:
    """The error of a function that quantised tensors have not."""
    if name in _OVERLOADS:
        return could_not_run(_OVERLOADS[name])
    bound = BOUND.get(path.removeprefix("Tensor.")) or BOUND.get(name) or BOUND.get(name[:-1])
    plain = name.strip("_")
    if bound is None and plain[:1] in "ri":
        bound = BOUND.get(plain[1:])
    op = None if bound is None else bound.op
    if op is not None and op.family in POINTWISE and len(args) > 1:
        others = [x for x in args[:2] if not is_quantised(x)]
        if any(isinstance(x, int | float) for x in others):
            return not_strided()
    aten = (None if op is None else op.aten) or name
    if op is not None and op.out:
        base, _, overload = aten.partition(".")
        inner = overload not in ("", "default", "Tensor")
        return could_not_run(f"{base}.{overload}_out" if inner else f"{base}.out")
    return could_not_run(aten)


LAYOUT = dispatch.LAYOUTS[QuantizedTensor] = _Layout()
