"""Tensors in the layout ``torch._mkldnn``: opaque, for the operations that PyTorch gives to
MKL-DNN, and for no others.

Their elements are kept in an ordinary tensor, as XLA lays them out; what a program may do with
them, and what it is told when it asks for more, is as in PyTorch. Their histories and gradients are
those of that tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ...autograd import engine as autograd_engine
from ...autograd.names import named
from ...core import Tensor
from ...dispatch import disabled_torch_function_impl
from ..bind.bound import BOUND, POINTWISE
from ..bind.cores import COMPOSITES, Composite
from ..bind.everything import PUBLIC
from ..bind.forms import OPERATORS, inplace_names, paths_of
from ..engine import SPECIAL, Laid, numbers_of, record
from ..facts import dtypes, layouts
from ..facts.errors import no_kernel
from ..ops._declare import OPS, Op
from ..ops.views import VIEWS
from .printing import _grad_fn_name, add_suffixes, numbers

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Function, Keywords, Named, Operand, Tree
    from ..protocol.slow_path import Caller


_new = object.__new__
#: The operator that all looks at parts of memory come to.
_VIEW = (OPS["_C._as_strided"].aten or "").partition(".")[0]
_DTYPES = frozenset((dtypes.float32, dtypes.bfloat16, dtypes.float16, dtypes.uint8, dtypes.int8))


class OpaqueTensor(Tensor):
    """A tensor whose memory is not to be seen.

    Attributes:
        _dense: an ordinary tensor with the same elements, whose history is this one's.
    """

    __torch_function__ = disabled_torch_function_impl

    _dense: Tensor

    def _read(self) -> Any:
        """A value that stands for the tensor, which kernels refuse."""
        found = _new(OpaqueValue)
        found.aval = self._aval
        found.array, found.index, found.meta, found.trace = None, 0, None, SPECIAL
        found.tensor = self
        return found

    @property
    def _al(self) -> Any:
        raise could_not_run(_VIEW)

    @property
    def _writes(self) -> int:
        return self._dense._writes

    @property
    def _aval(self) -> Any:
        return self._dense._aval

    def _sync(self) -> None:
        self._dense.requires_grad  # noqa: B018 (brings a view's history up to date)

    def _edge(self) -> Any:
        return self._dense._edge()

    def _check_origin(self) -> None:
        pass

    def jax(self) -> Any:
        """The elements."""
        return self._dense.jax()

    # Programs that look see what they would see in PyTorch, where the layout is no class.
    __class__ = property(lambda _: Tensor)
    # What the floors below look at is the ordinary tensor's state.
    _rg = property(lambda self: self._dense._rg, lambda self, x: setattr(self._dense, "_rg", x))
    _node = property(
        lambda self: self._dense._node, lambda self, x: setattr(self._dense, "_node", x)
    )
    _nr = property(lambda self: self._dense._nr, lambda self, x: setattr(self._dense, "_nr", x))


class OpaqueValue(Laid):
    """What reading such a tensor gives: as a gradient it is used by its elements, everything else
    is refused."""

    __slots__ = ()

    def run(self, call: Any, ins: Any, numbers: Arguments) -> Any:
        """What a derivative makes of it, or an error that names the operation."""
        op = call.extra.op
        if op.path == "_C._accumulate" or call.name.endswith("_backward"):
            return record(
                call, [_values(v.tensor) if isinstance(v, Laid) else v for v in ins], numbers
            )
        raise could_not_run(op.aten or op.name)

    def unreadable(self, what: str = "item") -> Exception:
        """The error for reading it on the host."""
        return could_not_run("_local_scalar_dense")


def _values(t: Tensor | int) -> Any:
    return plain(t)._read()


def could_not_run(name: str) -> NotImplementedError:
    """torch's error for an operation that the layout has no kernel for."""
    return no_kernel(name, "MkldnnCPU")


def opaque(dense: Tensor) -> OpaqueTensor:
    """The opaque tensor of an ordinary one."""
    made = _new(OpaqueTensor)
    made._dense = dense
    return made


def plain(x: Tensor | int) -> Tree:
    """The ordinary tensor of an opaque one; anything else as it is."""
    return x._dense if type(x) is OpaqueTensor else x


def to_mkldnn(dense: Tensor, dtype: object = None) -> OpaqueTensor:
    """A copy of a tensor in the layout.

    Raises:
        RuntimeError: for dtypes that MKL-DNN has not.
    """
    if dense.dtype not in _DTYPES or dense.device.type != "cpu":
        raise RuntimeError(
            "dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input"
        )
    made: Any = dense
    made = made.clone(memory_format=layouts.contiguous_format)
    return opaque(named(made if dtype is None else made.to(dtype), "ToMkldnnBackward0"))


def zeros(size: Sequence[int], dtype: object, device: object) -> OpaqueTensor:
    """Zeros in the layout."""
    return to_mkldnn(PUBLIC["zeros"](tuple(size), dtype=dtype, device=device))


# ---- calls ---------------------------------------------------------------------------------------

#: What errors call what the layout has no kernel for, where it is neither a view nor a new tensor
#: like another.
_PARTS = {
    **dict.fromkeys(("narrow", "select", "split", "chunk", "unbind"), _VIEW),
    "unfold": "unfold",
}
_VIEWS = frozenset(path.rpartition(".")[2] for path in VIEWS) - _PARTS.keys()
#: What a program is told of an opaque tensor, by the last part of the public name.
_TABLE: Named = {}


#: Names of nodes that are not those of ordinary tensors.
_NODES = {"linear": "MkldnnLinearBackward0", "reshape": "MkldnnReshapeBackward0"}
_WRITING = frozenset(name for _, name, _ in OPERATORS.values() if name is not None)


@functools.cache
def _offered() -> dict[str, Op | Composite]:
    """The functions with kernels for the layout, under the last parts of all their names."""
    found: dict[str, Op | Composite] = {}
    for made in (*OPS.values(), *COMPOSITES):
        if made.opaque:
            names = [path.rpartition(".")[2] for path in paths_of(made)]
            found.update(dict.fromkeys([*names, *inplace_names(made)], made))
    return found


class _Layout:
    """What ``dispatch.LAYOUTS`` holds for opaque tensors."""

    def call(
        self, caller: Caller, operand: Tensor, args: tuple[Tensor, ...], kwargs: Keywords
    ) -> Any:
        """A public function called with an opaque operand."""
        path = dispatch.name_of(caller.func).removeprefix("torch.")
        name = path.rpartition(".")[2]
        if (body := _TABLE.get(name)) is not None:
            return body(*args, **kwargs)
        record = _offered().get(name)
        given = [*args, *kwargs.values()]
        needs = 0 if record is None or record.opaque is True else record.opaque
        if any(
            isinstance(x, Tensor | float | int) and type(x) is not OpaqueTensor
            for x in given[:needs]
        ):
            raise RuntimeError("itensor_from_mkldnn expects MKL-DNN tensor input")
        if record is not None and (needs or type(given[0]) is OpaqueTensor):
            if (condition := _CONDITIONS.get(record.name)) is not None:
                condition(*args, **kwargs)
            result = caller.run(
                tuple(plain(x) for x in args), {n: plain(x) for n, x in kwargs.items()}
            )
            if name in _WRITING or (name.endswith("_") and not name.startswith("__")):
                return args[0]
            if isinstance(result, tuple):
                return tuple(map(opaque, result))
            return opaque(named(result, _NODES[record.name]) if record.name in _NODES else result)
        bound = BOUND.get(path.removeprefix("Tensor."))
        if bound is not None and bound.op.family in POINTWISE:
            raise RuntimeError("unsupported tensor layout: Mkldnn")
        if name.endswith("_like"):
            raise could_not_run("empty_strided")
        if name in _VIEWS:
            raise could_not_run(_VIEW)
        raise could_not_run(_PARTS.get(name) or (name if bound is None else bound.op.aten or name))

    def get(self, name: str, t: OpaqueTensor, plain: Callable[..., object]) -> Any:
        """A property."""
        if name in _PROPERTIES:
            return _PROPERTIES[name]
        found = getattr(t._dense, name)
        return opaque(found) if isinstance(found, Tensor) else found

    def set(self, name: str, t: OpaqueTensor, value: object, plain: object) -> None:
        """Sets a property."""
        setattr(t._dense, name, value._dense if type(value) is OpaqueTensor else value)

    def item(self, t: Tensor, index: int) -> Any:
        """``t[index]``: elements are not to be seen."""
        raise could_not_run(_VIEW)

    def set_item(self, t: Tensor, index: int, value: int) -> None:
        """``t[index] = value``, likewise."""
        raise could_not_run(_VIEW)

    def dense(
        self, roots: Sequence[Tensor], targets: Any, given: Sequence[Tensor]
    ) -> tuple[Any, Any, Any]:
        """What ``backward`` works on in place of opaque tensors."""
        inner = None if targets is None else tuple(map(plain, targets))
        return tuple(map(plain, roots)), inner, tuple(map(plain, given))

    def laid(self, t: OpaqueTensor, grad: Any) -> OpaqueTensor:
        """The gradient of a function's result as ``backward`` takes it; zeros for None."""
        return opaque(
            PUBLIC["zeros"](t._dense.shape, dtype=t._dense.dtype, device=t._dense.device)
            if grad is None
            else grad
        )

    def fitted(self, t: object, grad: Tensor | int, wrong: str) -> Any:
        """The gradient that ``backward`` gives for an opaque operand as the graph takes it."""
        return plain(grad)

    def grad(
        self, outs: Sequence[Tensor], targets: Sequence[Tensor], given: Sequence[Any], *options: Any
    ) -> tuple[Operand, ...]:
        """``autograd.grad``; the gradients of opaque tensors are opaque."""
        found = autograd_engine.grad(
            tuple(map(plain, outs)), tuple(map(plain, targets)), tuple(map(plain, given)), *options
        )
        return tuple(
            [
                opaque(g) if type(t) is OpaqueTensor and g is not None else g
                for g, t in zip(found, targets, strict=True)
            ]
        )


dispatch.LAYOUTS[OpaqueTensor] = _Layout()


def _needs_affine(
    input: object,
    mean: object = None,
    var: object = None,
    weight: object = None,
    *_: object,
    **__: object,
) -> None:
    if weight is None:
        raise RuntimeError("mkldnn_batch_norm: currently mkldnn only support affine model")


def _needs_evaluation(
    input: object, p: float = 0.5, training: bool = True, *_: object, **__: object
) -> None:
    if training:
        raise could_not_run("empty_strided")


def _needs_tensors(a: Tensor, b: Tensor | int | None = None, **_: object) -> None:
    if isinstance(b, Tensor) and type(a) is not type(b):
        raise RuntimeError("itensor_from_mkldnn expects MKL-DNN tensor input")


_CONDITIONS: Named = {
    "batch_norm": _needs_affine, "dropout": _needs_evaluation, "mul": _needs_tensors,
}  # fmt: skip

_PROPERTIES: dict[str, object] = {"layout": layouts._mkldnn, "is_mkldnn": True}


def _says(*names: str) -> Function:
    def enter(body: Callable[..., object]) -> Function:
        for name in names:
            _TABLE[name] = body
        return body

    return enter


@_says("__repr__")
def _describe(t: Tensor, *, tensor_contents: object = None) -> str:
    text = (
        numbers(numbers_of(t._dense._read()), len("tensor("))
        if tensor_contents is None
        else str(tensor_contents)
    )
    suffixes = [f"size={tuple(t.shape)}"] if t.numel() == 0 and t.dim() != 1 else []
    if t.dtype is not dtypes.get_default_dtype():
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append("layout=torch._mkldnn")
    made_by = _grad_fn_name(t)
    if made_by is not None:
        suffixes.append(f"grad_fn=<{made_by}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    return add_suffixes("tensor(" + text, suffixes, len("tensor("), False)


@_says("item")
def _item(t: Tensor) -> None:
    if t.numel() != 1:
        raise RuntimeError(f"a Tensor with {t.numel()} elements cannot be converted to Scalar")
    raise could_not_run("_local_scalar_dense")


@_says("to_dense")
def _to_dense(t: Tensor, dtype: object = None, *, masked_grad: bool | None = None) -> Tensor:
    found = named(t._dense.clone(), "ToDenseBackward0")
    return found if dtype is None else found.to(dtype)


@_says("to", "type", "float", "half", "bfloat16", "double", "cpu")
def _moved(t: Tensor, *args: dtypes.dtype, **kwargs: object) -> Tensor:
    wanted = [*args, kwargs.get("dtype"), kwargs.get("device")]
    if kwargs.get("copy") or any(isinstance(x, dtypes.dtype) and x is not t.dtype for x in wanted):
        raise could_not_run("empty_strided")
    return t


_TABLE["float"] = lambda t, **_: _moved(t, dtypes.float32)
_TABLE["half"] = lambda t, **_: _moved(t, dtypes.float16)
_TABLE["bfloat16"] = lambda t, **_: _moved(t, dtypes.bfloat16)
_TABLE["double"] = lambda t, **_: _moved(t, dtypes.float64)


@_says("requires_grad_")
def _requires_grad_(t: Tensor, requires_grad: bool = True) -> Tensor:
    t._dense.requires_grad_(requires_grad)
    return t


@_says("detach_")
def _detach_(t: OpaqueTensor) -> object:
    t._dense = t._dense.detach()
    return t


@_says("backward")
def _backward(
    t: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: object = None,
) -> None:
    autograd_engine.backward(
        t, None if gradient is None else (gradient,), retain_graph, create_graph, inputs
    )


@_says("view")
def _view(*_: Tensor | int, **__: object) -> Any:
    raise RuntimeError(
        "Currently Mkldnn tensor does not support view. Change to use reshape instead"
    )


@_says("transpose_", "swapaxes_", "swapdims_")
def _transpose_(*_: Tensor | int, **__: object) -> Any:
    raise RuntimeError("mkldnn_transpose_: in-place mkldnn operations are not supported yet")


@_says("numpy", "__array__")
def _numpy(*_: Tensor, **__: object) -> Any:
    raise TypeError("can't convert Mkldnn layout tensor to numpy. Use Tensor.to_dense() first.")


@_says("data_ptr", "tolist")
def _data_ptr(*_: Tensor) -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@_says("untyped_storage", "storage", "is_shared", "share_memory_")
def _storage(*_: Tensor) -> Any:
    raise NotImplementedError("Cannot access storage of OpaqueTensorImpl")


def _told(name: str) -> None:
    _TABLE[name] = lambda t, *args, **kwargs: getattr(t._dense, name)(*args, **kwargs)


for _name in """size dim ndimension numel nelement element_size is_floating_point is_complex
    is_contiguous storage_offset get_device retain_grad register_hook is_inference is_conj is_neg
    __len__ __hash__""".split():
    _told(_name)


@_says("stride")
def _stride(t: Any, dim: int | None = None) -> object:
    # there are none: torch shows what their places hold
    strides = (1,) + (0,) * (t.dim() - 1) if t.dim() else ()
    return strides if dim is None else strides[dim]
