"""Methods and properties of sparse tensors that are no arithmetic: dtype and device, history and
gradients, copies, pickling."""

from __future__ import annotations

import copy as copy_module
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

import jtorch

from .._src.facts import layouts
from .._src.tensor.state import attributes_of
from ..autograd import engine as autograd_engine
from ..core import Tensor
from ._elementwise import sparse_mask
from ._from_parts import empty, empty_like
from ._make import batch_dims, dense_dim, to_dense
from ._resizing import may_resize
from ._shape import item_at
from ._tensor import (
    BLOCKED,
    BY_ROW,
    COMPRESSED,
    GETTERS,
    NAMES,
    SETTERS,
    SparseTensor,
    _Layout,
    become,
    calling,
    could_not_run,
    getter,
    host,
    like,
    make,
    nnz,
    sparse_dim,
    sparse_op,
)
from ._text import describe
from ._whole import following

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand
    from ..utils.hooks import RemovableHandle


# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch

# ---- dtype and device ----------------------------------------------------------------------------


def _moved(t: SparseTensor, values: Tensor) -> SparseTensor:
    if values is t._vals:
        return t
    device = values.device
    at = tuple(i.to(device) for i in t._at)
    if device.type == "meta" and t.device.type != "meta":  # no elements: none are known there
        axis = batch_dims(t) if t._kind in COMPRESSED else 0
        at, values = (*at[:-1], at[-1].narrow(-1, 0, 0)), values.narrow(axis, 0, 0)
    return make(t._kind, at, values, t._dims, t._sorted)


@sparse_op("to")
def to(input: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another dtype, on another device."""
    if not isinstance(input, SparseTensor):  # a dense tensor as another one
        other = kwargs.pop("other", None) or args[0]
        return input.to(other.device, other.dtype, *args[1:], **kwargs)
    if kwargs.get("memory_format") not in (None, layouts.preserve_format):
        raise RuntimeError("memory format option is only supported by strided tensors")
    if args and isinstance(args[0], SparseTensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    if isinstance(kwargs.get("other"), SparseTensor):
        other = kwargs.pop("other")
        args = (other.device, other.dtype)
    return _moved(input, input._vals.to(*args, **kwargs))


def _by_values(name: str) -> None:
    def method(input: SparseTensor, *args: object, **kwargs: object) -> SparseTensor:
        return _moved(input, getattr(input._vals, name)(*args, **kwargs))

    sparse_op(name)(method)


for (
    _name
) in "float double half bfloat16 int long short char byte bool cfloat cdouble cpu cuda".split():
    _by_values(_name)


@sparse_op("type_as")
def type_as(input: Any, other: Any) -> Any:
    """The tensor in another's dtype and on its device."""
    return input.to(other.device, other.dtype)


@sparse_op("type")
def type_(input: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        if input._kind in COMPRESSED:
            raise RuntimeError(f"Unimplemented backend SparseCsr{input.device.type.upper()}")
        name = input._vals.type()
        return (
            name.replace("torch.", "torch.sparse.", 1)
            if name.count(".") == 1
            else name.replace(".", ".sparse.", 2).replace(".sparse.", ".", 1)
        )
    if isinstance(dtype, str):
        dtype = dtype.replace(".sparse", "")
    return _moved(input, input._vals.type(dtype))


# ---- history -------------------------------------------------------------------------------------


@sparse_op("detach")
def detach(input: SparseTensor) -> Any:
    """The same elements without history."""
    return like(input, input._vals.detach())


@sparse_op("detach_")
def detach_(input: Any) -> SparseTensor:
    """Forgets the history in place."""
    input._vals = input._vals.detach()
    return input


@sparse_op("requires_grad_")
def requires_grad_(input: SparseTensor, requires_grad: bool = True) -> Tensor:
    """Sets ``requires_grad`` in place."""
    if requires_grad and not input._vals._aval.differentiable:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    _set_requires_grad(input, requires_grad)
    return input


def _set_requires_grad(t: SparseTensor, value: bool) -> None:
    if value and not t._vals._rg:
        t._vals = t._vals.detach()  # the values may be a tensor that the program has too
    t._vals.requires_grad = value


def _as_gradient(t: SparseTensor, values: Tensor | None) -> SparseTensor | None:
    """The gradient of the whole; where a place is specified more than once, it has the gradient of
    its element once."""
    if values is None:
        return None
    at = t._at
    if t._kind is layouts.sparse_coo and not t._sorted:
        _, first = np.unique(host(at[0]), axis=1, return_index=True)
        if len(first) < nnz(t):
            kept = torch.tensor(np.sort(first), device=values.device)
            at, values = (at[0].index_select(1, kept),), values.index_select(0, kept)
    return make(t._kind, at, values, t._dims, t._sorted)


def _values_of_gradient(t: SparseTensor, grad: Tensor) -> Tensor:
    """The part of a gradient that meets the specified elements of ``t``."""
    if tuple(grad.shape) != tuple(t._dims):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and output[0] has a "
            f"shape of {t._dims}."
        )
    if (
        isinstance(grad, SparseTensor)
        and grad._kind is t._kind
        and all(a is b for a, b in zip(grad._at, t._at, strict=True))
    ):
        return grad._vals
    return sparse_mask(grad, t)._vals


def _get_grad(t: SparseTensor) -> SparseTensor | None:
    return _as_gradient(t, t._vals.grad)


def _set_grad(t: SparseTensor, value: Tensor | None) -> None:
    t._vals.grad = None if value is None else _values_of_gradient(t, value)


SETTERS["grad"] = _set_grad
GETTERS["grad"] = _get_grad
SETTERS["requires_grad"] = _set_requires_grad


@sparse_op("backward", "autograd.backward")
def backward(
    input: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: object = None,
) -> None:
    """Adds gradients to the leaves that the tensor depends on."""
    if isinstance(input, SparseTensor):
        if gradient is None:
            if input.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = like(input, torch.ones_like(input._vals))
        input, gradient = input._vals, _values_of_gradient(input, gradient)
    elif isinstance(gradient, SparseTensor) and input._node is not None:
        gradient = to_dense(gradient)
    autograd_engine.backward(
        input, None if gradient is None else (gradient,), retain_graph, create_graph, inputs
    )


@sparse_op("register_hook")
def register_hook(input: SparseTensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Calls ``hook`` with the gradient, a sparse tensor."""

    def run(grad: Tensor) -> Any:
        changed = hook(_as_gradient(input, grad))
        return None if changed is None else _values_of_gradient(input, changed)

    return input._vals.register_hook(run)


@sparse_op("retain_grad")
def retain_grad(input: Tensor) -> None:
    """Makes a tensor that is no leaf keep its gradient."""
    input._vals.retain_grad()


def _dense_parts(
    layout: _Layout,
    roots: tuple[Tensor, ...],
    targets: tuple[Tensor, ...] | None,
    given: tuple[Tensor | None, ...],
) -> tuple[object, ...]:
    """Roots, targets and given gradients of a walk with the values of sparse tensors in their
    place."""
    grads = []
    for root, g in zip(roots, given, strict=True):
        if isinstance(root, SparseTensor):
            g = (
                torch.ones_like(root._vals)
                if g is None and root.numel() == 1
                else g
                if g is None
                else _values_of_gradient(root, g)
            )
        # only leaves take sparse gradients
        elif isinstance(g, SparseTensor) and root._node is not None:
            g = to_dense(g)
        grads.append(g)
    values = [x._vals if isinstance(x, SparseTensor) else x for x in roots]
    wanted = targets and [x._vals if isinstance(x, SparseTensor) else x for x in targets]
    return tuple(values), wanted, tuple(grads)


def _grad(
    layout: _Layout,
    outs: tuple[Tensor, ...],
    targets: tuple[Tensor, ...],
    given: tuple[Tensor | None, ...],
    *options: Any,
) -> tuple[Operand, ...]:
    """``autograd.grad`` where outputs or inputs are sparse; gradients of sparse inputs are
    sparse."""
    values, wanted, grads = _dense_parts(layout, outs, targets, given)
    found = autograd_engine.grad(values, wanted, grads, *options)
    return tuple(
        _as_gradient(t, g) if isinstance(t, SparseTensor) else g
        for t, g in zip(targets, found, strict=True)
    )


def _laid(layout: _Layout, t: SparseTensor, grad: Tensor | None) -> SparseTensor:
    """The gradient of the values as one of the whole; zeros for None."""
    return like(t, torch.zeros_like(t._vals) if grad is None else grad)


def _fitted(layout: _Layout, t: SparseTensor, grad: Tensor, wrong: str) -> Tensor:
    """A gradient of the whole as one of the values.

    Raises:
        RuntimeError: that begins with ``wrong``, if the gradient has another sparse layout.
    """
    if isinstance(grad, SparseTensor) and grad._kind is not t._kind:
        raise RuntimeError(
            f"{wrong} - expected layout {NAMES[t._kind]} but got {NAMES[grad._kind]}"
        )
    return _values_of_gradient(t, grad)


_Layout.dense = _dense_parts
_Layout.grad = _grad
_Layout.laid = _laid
_Layout.fitted = _fitted


def _delegated(name: str) -> None:
    GETTERS[name] = lambda t: getattr(t._vals, name)


for (
    _name
) in "requires_grad is_leaf grad_fn output_nr retains_grad _version _backward_hooks".split():
    _delegated(_name)


@getter("data")
def _data(t: SparseTensor) -> SparseTensor:
    return like(t, t._vals.data)


def _set_data(t: SparseTensor, value: Any) -> None:
    if not isinstance(value, SparseTensor):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    t._kind, t._at, t._dims, t._sorted = value._kind, value._at, value._dims, value._sorted
    wanted = t._vals._rg
    t._vals = value._vals.detach()
    if wanted:
        t._vals.requires_grad = True


SETTERS["data"] = _set_data
GETTERS["_base"] = lambda t: None
GETTERS["layout"] = lambda t: t._kind
GETTERS["is_sparse"] = lambda t: t._kind is layouts.sparse_coo
GETTERS["is_sparse_csr"] = lambda t: t._kind is layouts.sparse_csr


@getter("nbytes")
def _nbytes(t: object) -> Any:
    raise RuntimeError(
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent "
        "tensors, add the nbytes of the indices and values.  If you want the size of the  "
        "equivalent dense tensor, multiply numel() by element_size()"
    )


@getter("real")
def _real(t: SparseTensor) -> SparseTensor:
    return like(t, t._vals.real)


@getter("imag")
def _imag(t: SparseTensor) -> SparseTensor:
    return like(t, t._vals.imag)


# ---- memory --------------------------------------------------------------------------------------


@sparse_op("clone")
@following()
def clone(input: Tensor, *, memory_format: object = None) -> Tensor:
    """A copy with its own memory."""
    if memory_format not in (None, layouts.preserve_format):
        raise RuntimeError(
            "unsupported memory format option "
            f"{'Contiguous' if memory_format is layouts.contiguous_format else 'ChannelsLast'}"
        )
    return make(
        input._kind,
        tuple(i.clone() for i in input._at),
        input._vals.clone(),
        input._dims,
        input._sorted,
    )


@sparse_op("copy_")
def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Takes over the elements of another sparse tensor of the layout.

    Raises:
        RuntimeError: if the layouts or sizes do not allow that.
    """
    kinds = [t._kind if isinstance(t, SparseTensor) else layouts.strided for t in (input, src)]
    if not COMPRESSED.isdisjoint(kinds):
        return input if src is input else _copy_compressed(input, src, *kinds)
    if not (isinstance(input, SparseTensor) and isinstance(src, SparseTensor)):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{input.type()} and src type = "
            f"{src.type() if isinstance(src, Tensor) else type(src).__name__}"
        )
    if src is input:
        return input
    may_resize(input, src._dims, sparse_dim(src), dense_dim(src))
    values = src._vals.to(device=input.device, dtype=input.dtype)
    copied = make(
        src._kind,
        tuple(i.to(input.device).clone() for i in src._at),
        values.clone(),
        src._dims,
        src._sorted,
    )
    return become(input, copied)


def _copy_compressed(input: Any, src: Any, own: Any, other: Any) -> SparseTensor:
    if own not in COMPRESSED:
        raise RuntimeError(
            f"copy_sparse_compressed_ expected sparse compressed tensor layout but got {NAMES[own]}"
        )
    if own is not other:
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not "
            f"supported. self layout is {NAMES[own]} and src layout is {NAMES[other]}"
        )
    if nnz(input) != nnz(src):
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified "
            "elements are supported."
        )
    sides = [[tuple(t._dims)[k + batch_dims(t)] for k in (0, 1)] for t in (input, src)]
    # PyTorch looks at the first only: elements could lie outside then
    for k in (0, 1) if own in BY_ROW else (1, 0):
        a, b = sides[0][k], sides[1][k]
        if a < b or (a != b and k == (own not in BY_ROW)):
            raise RuntimeError(
                "torch.copy_: expected shapes of self and src to match along dimension "
                f"{k + batch_dims(input)} for {NAMES[own]} layout but the corresponding dimensions "
                f"of self and src are {a} and {b}, respectively."
            )
    if own in BLOCKED:
        blocks = [list(t._vals.shape[-2 - dense_dim(t) :][:2]) for t in (input, src)]
        if blocks[0] != blocks[1]:
            raise RuntimeError(
                "torch.copy_: copy of sparse compressed tensors having different block sizes is "
                f"not supported. self and src block sizes are {blocks[0]} and {blocks[1]}, "
                "respectively."
            )
    values = src._vals.to(device=input.device, dtype=input.dtype).expand(input._vals.shape)
    at = tuple(
        i.to(input.device).expand(j.shape).clone() for i, j in zip(src._at, input._at, strict=True)
    )
    return become(input, make(own, at, values.clone(), input._dims))


@sparse_op("zero_")
def zero_(input: SparseTensor) -> SparseTensor:
    """Forgets all elements."""
    return become(input, empty_like(input, input._kind, input.dtype, input.device))


@sparse_op("fill_")
def fill_(input: SparseTensor, value: object) -> SparseTensor:
    """Writes a number to the specified elements of a compressed layout."""
    if input._kind not in COMPRESSED:
        raise could_not_run("fill_.Scalar", input)
    return become(input, like(input, torch.full_like(input._vals, value)))


@sparse_op("resize_")
def resize_(input: Tensor, *size: object, **kwargs: object) -> None:
    """Not for COO tensors."""
    if input._rg:
        raise RuntimeError("cannot resize variables that require grad")
    raise could_not_run("resize_", input)


def _same_layout(input: Tensor, layout: Any) -> None:
    """Raises RuntimeError where a tensor like one of a compressed layout is to have another."""
    if layout not in (None, input._kind):
        raise RuntimeError(
            "empty_like with different sparse layout is not supported (self is "
            f"{NAMES[input._kind]} but you requested {NAMES.get(layout, 'Strided')})"
        )


def _check_format(input: Tensor, memory_format: object) -> None:
    """Raises RuntimeError for memory formats, which sparse tensors do not have."""
    if memory_format is None:
        return
    if input._kind is layouts.sparse_coo:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if memory_format is layouts.preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    for name, rank in (("channels_last", 4), ("channels_last_3d", 5)):
        if memory_format is getattr(layouts, name) and len(input._dims) != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")


@sparse_op("empty_like")
def empty_like_(
    input: Any, *, dtype: Any = None, layout: jtorch.layout | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: object = None,
) -> Tensor:  # fmt: skip
    """A tensor with the same size; of a compressed layout, with the same positions and any numbers,
    else without elements."""
    dtype, device = dtype or input.dtype, device or input.device
    if input._kind in COMPRESSED:
        _same_layout(input, layout)
        _check_format(input, memory_format)
        return _alike(
            input,
            torch.empty_like(input._vals, dtype=dtype, device=device, requires_grad=requires_grad),
        )
    if layout is layouts.strided:
        return torch.empty(
            tuple(input._dims), dtype=dtype, device=device, requires_grad=requires_grad
        )
    _check_format(input, memory_format)
    return empty_like(input, layout or input._kind, dtype, device, requires_grad)


def _alike(t: SparseTensor, values: Tensor) -> SparseTensor:
    """A tensor with copies of the positions of ``t`` and other values."""
    return make(
        t._kind, tuple(i.to(values.device).clone() for i in t._at), values, t._dims, t._sorted
    )


@sparse_op("zeros_like")
def zeros_like(
    input: Any, *, dtype: Any = None, layout: jtorch.layout | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: object = None,
) -> Any:  # fmt: skip
    """A tensor of the same size and layout without specified elements."""
    dtype, device = dtype or input.dtype, device or input.device
    if layout is layouts.strided:
        if input._kind in COMPRESSED:
            _same_layout(input, layout)
        return torch.zeros(
            tuple(input._dims), dtype=dtype, device=device, requires_grad=requires_grad
        )
    if input._kind is layouts.sparse_coo:
        _check_format(input, memory_format)
    return empty_like(input, layout or input._kind, dtype, device, requires_grad)


def _filled_like(name: str) -> None:
    refused = {
        "ones_like": "fill_.Scalar",
        "full_like": "fill_.Scalar",
        "rand_like": "uniform_",
        "randn_like": "normal_",
    }[name]

    def filled(
        input: SparseTensor, *args: object, layout: object = None, **kwargs: object
    ) -> Tensor:
        options = {
            "dtype": input.dtype,
            "device": input.device,
            **{k: v for k, v in kwargs.items() if v is not None},
        }
        memory_format = options.pop("memory_format", None)
        if input._kind in COMPRESSED:
            _same_layout(input, layout)
            _check_format(input, memory_format)
            if name == "rand_like":
                raise could_not_run(refused, input)
            return _alike(input, getattr(torch, name)(input._vals, *args, **options))
        if layout is not layouts.strided:
            raise could_not_run(refused, input)
        return getattr(torch, name.removesuffix("_like"))(tuple(input._dims), *args, **options)

    sparse_op(name)(filled)


for _name in ("ones_like", "full_like", "rand_like", "randn_like"):
    _filled_like(_name)


@sparse_op("new_zeros", "new_empty")
def new_zeros(
    input: Any,
    *size: Any,
    dtype: Any = None,
    layout: object = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: object,
) -> Any:
    """A tensor of another size in the same layout without specified elements."""
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if layout is layouts.strided:
        return torch.zeros(
            shape,
            dtype=dtype or input.dtype,
            device=device or input.device,
            requires_grad=requires_grad,
        )
    return empty(
        shape, layout or input._kind, dtype or input.dtype, device or input.device, 0, requires_grad
    )


@sparse_op("new")
def new(input: Any, *args: Any, device: object = None) -> Any:
    """A COO tensor in the same dtype: empty, of a size, or of indices and values."""
    dtype, device = input.dtype, device or input.device
    if len(args) in (2, 3) and all(isinstance(x, Tensor) for x in args[:2]):
        return torch.sparse_coo_tensor(*args, dtype=dtype, device=device)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args
    if all(type(n) is int for n in sizes):
        return torch.zeros(
            tuple(sizes) or (0,), dtype=dtype, device=device, layout=layouts.sparse_coo
        )
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        raise TypeError(
            "SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() "
            "or construct a strided tensor and convert it to sparse via to_sparse."
        )
    given = ", ".join(
        "torch.storage.TypedStorage" if isinstance(x, torch.TypedStorage) else type(x).__name__
        for x in args
    )
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({given}), but expected one "
        "of:\n"
        " * (*, torch.device device = None)\n"
        " * (Tensor indices, Tensor values, *, torch.device device = None)\n"
        " * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)\n"
        " * (tuple of ints size, *, torch.device device = None)\n"
    )


@sparse_op("new_tensor")
def new_tensor(input: SparseTensor, data: object, **options: Any) -> Tensor:
    """A dense tensor of data in the same dtype and on the same device."""
    return input._vals.new_tensor(data, **options)


# ---- what has no meaning -------------------------------------------------------------------------


def _raising(name: str, error: Callable[[Any], Exception]) -> None:
    def refuse(input: Tensor, *args: object, **kwargs: object) -> Any:
        raise error(input)

    sparse_op(name)(refuse)


def _strides_error(t: Tensor) -> Exception:
    return RuntimeError("Sparse CSR tensors do not have strides")


@sparse_op("stride")
def stride(input: Tensor, dim: int | None = None) -> Any:
    """COO tensors have strides of zero."""
    if input._kind in COMPRESSED:
        raise _strides_error(input)
    return (0,) * len(input._dims) if dim is None else 0


@sparse_op("is_contiguous")
def is_contiguous(input: Any, memory_format: Any = None) -> bool:
    """Never."""
    if input._kind in COMPRESSED:
        raise RuntimeError("Tensors of type SparseCsrTensorImpl do not have is_contiguous")
    return False


@sparse_op("storage_offset")
def storage_offset(input: Any) -> int:
    """Zero."""
    if input._kind in COMPRESSED:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return 0


@sparse_op("item")
def item(input: Tensor) -> Any:
    """The only element."""
    if input.numel() != 1:
        raise RuntimeError(f"a Tensor with {input.numel()} elements cannot be converted to Scalar")
    return to_dense(input).item()


def _from_item(name: str, kind: Callable[[Any], Any]) -> None:
    def convert(input: Tensor) -> object:
        if input.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return kind(item(input))

    sparse_op(name)(convert)


for _name, _kind in {
    "__float__": float,
    "__int__": int,
    "__complex__": complex,
    "__index__": int,
}.items():
    _from_item(_name, _kind)


@sparse_op("__bool__", "is_nonzero")
def _bool(input: Tensor) -> bool:
    if input.numel() != 1:
        words = "no values" if input.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {words} is ambiguous")
    return bool(item(input))


def _no_numpy(t: Tensor) -> Exception:
    return TypeError(
        f"can't convert {NAMES[t._kind]} layout tensor to numpy. Use Tensor.to_dense() first."
    )


for _name in ("numpy", "__array__"):
    _raising(_name, _no_numpy)
for _name in ("data_ptr", "tolist"):
    _raising(
        _name,
        lambda t: RuntimeError("Cannot access data pointer of Tensor that doesn't have storage"),
    )
for _name in ("storage", "untyped_storage", "_typed_storage", "is_shared", "share_memory_"):
    _raising(
        _name,
        lambda t: NotImplementedError(
            f"Cannot access storage of Sparse{'Csr' if t._kind in COMPRESSED else ''}TensorImpl"
        ),
    )


# ---- copies, pickling, text ----------------------------------------------------------------------


@sparse_op("__deepcopy__")
def __deepcopy__(self: Tensor, memo: Any) -> Tensor:
    """A copy with its own memory."""
    if id(self) in memo:
        return memo[id(self)]
    values = copy_module.deepcopy(self._vals, memo)
    made = memo[id(self)] = make(
        self._kind, tuple(i.clone() for i in self._at), values, self._dims, self._sorted
    )
    for k, v in attributes_of(self).items():
        made.__dict__[k] = copy_module.deepcopy(v, memo)
    return made


def parts_for_saving(t: SparseTensor) -> tuple[object, ...]:
    """The layout and the parts of a tensor, as torch's files have them."""
    if t._kind is layouts.sparse_coo:
        return t._kind, (t._at[0], t._vals.detach(), t._dims, t._sorted)
    return t._kind, (*t._at, t._vals.detach(), t._dims)


def rebuild(layout: jtorch.layout, data: tuple[object, ...]) -> SparseTensor:
    """The tensor of what ``parts_for_saving`` gave."""
    if layout is layouts.sparse_coo:
        if len(data) == 3:  # written before torch noted whether a tensor was coalesced
            data = (*data, False)
        indices, values, size, coalesced = data
        return torch.sparse_coo_tensor(indices, values, size, is_coalesced=coalesced)
    if layout in COMPRESSED:
        starts, others, values, size = data
        return torch.sparse_compressed_tensor(starts, others, values, size, layout=layout)
    raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")


def _rebuild_leaf(
    layout: jtorch.layout,
    data: tuple[jtorch.Size | Tensor | bool, ...],
    attributes: dict[str, object],
    requires_grad: bool = False,
) -> SparseTensor:
    made = rebuild(layout, data)
    if requires_grad:
        made.requires_grad_()
    made.__dict__.update(attributes)
    return made


@sparse_op("__reduce_ex__")
def __reduce_ex__(self: Any, protocol: int) -> tuple[object, ...]:
    """Pickles layout and parts; only parameters require grad afterwards, as in PyTorch."""
    attributes = attributes_of(self)
    return _rebuild_leaf, (
        *parts_for_saving(self),
        attributes,
        "_is_param" in attributes and self.requires_grad,
    )


def _copied(t: SparseTensor) -> SparseTensor:
    made = like(t, t._vals.detach().requires_grad_(t.requires_grad))
    made.__dict__.update(attributes_of(t))
    return made


SparseTensor.__copy__ = _copied


@sparse_op("__repr__")
def __repr__(self: SparseTensor, *, tensor_contents: object = None) -> str:
    """The text that torch prints."""
    return describe(self, tensor_contents)


@sparse_op("__format__")
def __format__(self: object, format_spec: str) -> str:
    """The ``repr``."""
    return object.__format__(self, format_spec)


# ---- indexing ------------------------------------------------------------------------------------


def _item(layout: _Layout, t: SparseTensor, index: object) -> Tensor:
    with calling("index.Tensor"):
        return item_at(t, index)


def _set_item(layout: object, t: SparseTensor, index: object, value: object) -> None:
    raise could_not_run("copy_" if isinstance(index, (int, slice)) else "index_put_", t)


_Layout.item = _item
_Layout.set_item = _set_item


# ---- as a tree of arrays -------------------------------------------------------------------------


def _flatten(t: SparseTensor) -> tuple[tuple[Any, ...], Any]:
    return (t._vals, *t._at), (t._kind, t._dims, t._sorted)


def _unflatten(aux: Any, children: Any) -> SparseTensor:
    kind, size, coalesced = aux
    values, *indices = children
    made = object.__new__(SparseTensor)
    made._kind, made._at, made._vals, made._dims, made._sorted = (
        kind,
        tuple(indices),
        values,
        size,
        coalesced,
    )
    return made


jax.tree_util.register_pytree_node(SparseTensor, _flatten, _unflatten)


@sparse_op("resolve_conj", "resolve_neg")
def resolved(input: Tensor) -> Tensor:
    """The tensor itself, which has no bits of its own: its values know theirs."""
    return input
