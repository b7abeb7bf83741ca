"""What a jagged tensor tells of itself, conversion to Python, copies and moves, pickling, gradients
of leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from ..._src.tensor.state import attributes_of
from .compacting import compact
from .dims import outer, require_jagged
from .jagged import TABLE
from .pointwise import wrapped
from .ragged import Cut
from .tensor import Nested, NestedTensor, _rebuild_njt, build, size_of

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Operand, Row, Tree


# ---- sizes ---------------------------------------------------------------------------------------


@TABLE.implements("shape.__get__")
def shape(input: NestedTensor) -> Any:
    """The sizes, with the symbolic one in the ragged place."""
    return size_of(input)


@TABLE.implements("size")
def size(input: NestedTensor, dim: int | None = None) -> Any:
    """All sizes, or one."""
    return size_of(input) if dim is None else input._size[outer(input, dim)]


@TABLE.implements("stride")
def stride(input: NestedTensor, dim: int | None = None) -> Row:
    """The strides of the packed values, after the batch's, which is symbolic."""
    strides = input._strides
    return strides if dim is None else strides[outer(input, dim)]


@TABLE.implements("dim", "ndimension", "ndim.__get__")
def dim(input: NestedTensor) -> int:
    """The number of dimensions, the batch included."""
    return len(input._size)


@TABLE.implements("numel", "nelement")
def numel(input: NestedTensor) -> int:
    """The number of elements of all items."""
    if input._cut.lengths is None:
        return input._values.numel()
    dense = [n for i, n in enumerate(input._values.shape) if i != input._ragged_idx - 1]
    found = sum(input._cut.host[1])
    for n in dense:
        found *= n
    return found


@TABLE.implements("nbytes.__get__")
def nbytes(input: NestedTensor) -> int:
    """Bytes of all elements."""
    return numel(input) * input._values.element_size()


@TABLE.implements("layout.__get__")
def layout(input: NestedTensor) -> Any:
    """``torch.jagged``."""
    return torch.jagged


@TABLE.implements("is_nested.__get__")
def is_nested(input: NestedTensor) -> bool:
    """True."""
    return True


@TABLE.implements("names.__get__")
def names(input: NestedTensor) -> Any:
    """Not there, as in torch."""
    raise AttributeError("'NestedTensor' object has no attribute 'names'")


@TABLE.implements("__len__")
def length(input: NestedTensor) -> int:
    """The number of items."""
    return input._cut.batch


@TABLE.implements("dim_order")
def dim_order(input: NestedTensor, *, ambiguity_check: bool = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost, the batch first."""
    return (0, *(d + 1 for d in input._values.dim_order(ambiguity_check=ambiguity_check)))


@TABLE.implements("is_contiguous")
def is_contiguous(input: NestedTensor, memory_format: Any = torch.contiguous_format) -> bool:
    """Whether the items lie one behind the other without holes, each in row-major order."""
    if input._cut.lengths is not None:
        return False
    return memory_format is torch.preserve_format or input._values.is_contiguous(
        memory_format=memory_format
    )


@TABLE.implements("is_same_size")
def is_same_size(input: object, other: object) -> bool:
    """Whether both have one shape, the ragged size included."""
    return (
        isinstance(input, NestedTensor)
        and isinstance(other, NestedTensor)
        and tuple(input._size) == tuple(other._size)
    )


@TABLE.implements("is_set_to")
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same memory in the same way."""
    return is_same_size(input, tensor) and input._values.is_set_to(tensor._values)


@TABLE.implements("_version.__get__")
def version(input: Nested) -> int:
    """How often the data was changed in place."""
    return input._values._version


@TABLE.implements("data_ptr")
def data_ptr(input: NestedTensor) -> int:
    """0, as for every tensor that holds others."""
    return 0


@TABLE.implements("_base.__get__")
def base(input: Nested) -> Any:
    """None: views of nested tensors are new nested tensors on views."""


# ---- Python --------------------------------------------------------------------------------------


@TABLE.implements("__repr__")
def text(input: NestedTensor, *, tensor_contents: object = None) -> str:
    """The text that torch prints: the structure, not the data."""
    history = ", requires_grad=True" if input.requires_grad else ""
    if input.grad_fn is not None:
        history = f", grad_fn={input.grad_fn}"
    whole = input._cut.lengths is None and input._values.is_contiguous()
    return (
        f"NestedTensor(size={tuple(input._size)}, offsets={input._cut.offsets}{history}, "
        f"contiguous={whole})"
    )


@TABLE.implements("values")
def values(input: Nested) -> Tensor:
    """The packed data, a view."""
    return Nested.values(input)


@TABLE.implements("to_padded_tensor")
def to_padded_tensor(input: Tensor, padding: float, output_size: object = None) -> Tensor:
    """A dense copy, the items filled up."""
    return input.to_padded_tensor(padding, output_size)


@TABLE.implements("_is_view")
def is_view(input: Nested) -> bool:
    """Whether the data are a view of other tensors' memory."""
    return bool(input._values._is_view())


@TABLE.implements("__setstate__")
def set_state(input: Nested, state: Any) -> None:
    """Takes the attributes that a program had set."""
    Nested.__setstate__(input, state)


@TABLE.implements("item")
def item(input: NestedTensor) -> bool | float | int:
    """The only element."""
    return compact(input)._values.item()


@TABLE.implements("__bool__", "__nonzero__", "is_nonzero")
def truth(input: NestedTensor) -> bool:
    """The truth of the only element."""
    return bool(compact(input)._values)


@TABLE.implements("__float__", "__int__", "__complex__", "__index__")
def number(input: NestedTensor) -> Any:
    """Of more than one element no number can be made."""
    if numel(input) != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(input)


@TABLE.implements("tolist")
def tolist(input: NestedTensor) -> Any:
    """Refused, as in torch."""
    raise RuntimeError(
        f".tolist() is not supported for tensor subclasses, got {type(input).__name__}"
    )


@TABLE.implements("numpy", "__array__")
def numpy(input: NestedTensor, *args: object, **options: object) -> Any:
    """Refused, as in torch."""
    raise RuntimeError(".numpy() is not supported for tensor subclasses.")


@TABLE.implements("__reduce_ex__")
def reduce_ex(input: NestedTensor, protocol: object) -> tuple[object, ...]:
    """Pickled by values, offsets and lengths; history is left out."""
    parts: dict[str, Any] = {
        "values": input._values.detach(),
        "offsets": input._cut.offsets,
        "lengths": input._cut.lengths,
        "_ragged_idx": input._ragged_idx,
        "_metadata_cache": {},
        "requires_grad": input.requires_grad,
    }
    if input._cut.ragged.knows_extremes:
        parts["_metadata_cache"] = {
            "min_seqlen": input._min_seqlen_tensor,
            "max_seqlen": input._max_seqlen_tensor,
        }
    return _rebuild_njt, (parts,), attributes_of(input) or None


@TABLE.implements("__deepcopy__")
def deepcopy(input: NestedTensor, memo: Any) -> NestedTensor:
    """A leaf with its own data on the same offsets, so that it combines with the original."""
    if id(input) in memo:
        return memo[id(input)]
    if not input.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    import copy

    made = memo[id(input)] = input._like(input._values.detach().clone())
    if input.requires_grad:
        made._values.requires_grad_()
    if input._values.grad is not None:
        made._values.grad = input._values.grad.clone()
    for name, value in attributes_of(input).items():
        setattr(made, name, copy.deepcopy(value, memo))
    return made


# ---- copies and moves ----------------------------------------------------------------------------


@TABLE.implements("clone")
def clone(
    input: NestedTensor, *, memory_format: torch.memory_format | None = torch.preserve_format
) -> NestedTensor:
    """A copy on the same structure; in contiguous format, one without holes."""
    if input._cut.lengths is not None and memory_format is torch.contiguous_format:
        return compact(input)
    return input._like(input._values.clone(memory_format=memory_format))


@TABLE.implements("contiguous")
def contiguous(
    input: NestedTensor, memory_format: object = torch.contiguous_format
) -> NestedTensor:
    """The tensor itself if it is contiguous, else a copy that is."""
    return (
        input if is_contiguous(input, memory_format) else clone(input, memory_format=memory_format)
    )


def _moved(nt: NestedTensor, values: Tensor) -> NestedTensor:
    """A nested tensor on values of another dtype or device, with the same ragged size."""
    return (
        nt
        if values is nt._values
        else build(values, nt._cut.moved(values.device), nt._ragged_idx, type(nt))
    )


@TABLE.implements("to")
def to(input: NestedTensor, *args: object, **options: object) -> Tensor:
    """Another dtype or device, on the same structure."""
    given = [x._values if isinstance(x, Nested) else x for x in args]
    options.pop("layout", None)
    return _moved(input, input._values.to(*given, **options))


def _declare_moves() -> None:
    """``cpu()``, ``float()`` and the like: on the values."""
    for name in (
        "cpu cuda float double half bfloat16 int long short char byte bool cfloat cdouble chalf "
        "xpu ipu mtia"
    ).split():
        method = getattr(Tensor, name, None)
        if method is None:
            continue

        def handler(
            input: NestedTensor, *args: object, method: Function = method, **options: object
        ) -> object:
            return _moved(input, method(input._values, *args, **options))

        handler.__doc__ = f"``{name}()`` of the values, on the same structure."
        TABLE.implements(name)(handler)


_declare_moves()


@TABLE.implements("type")
def type_(input: NestedTensor, *args: Any, **options: Any) -> NestedTensor | str:
    """The name of the type, or the tensor converted to another."""
    found = input._values.type(*args, **options)
    return _moved(input, found) if isinstance(found, Tensor) else found


@TABLE.implements("type_as")
def type_as(input: Tensor, other: Tensor) -> NestedTensor | Tensor:
    """Converted to the type of another tensor."""
    target = other._values if isinstance(other, Nested) else other
    return (
        _moved(input, input._values.type_as(target))
        if isinstance(input, NestedTensor)
        else input.type_as(target)
    )


def _declare_likes() -> None:
    """``zeros_like`` and its relatives."""
    for (
        name
    ) in "empty_like zeros_like ones_like full_like rand_like randn_like randint_like".split():
        factory = getattr(torch, name)

        def handler(
            input: NestedTensor, *args: object, factory: Function = factory, **options: object
        ) -> object:
            options.pop("layout", None)  # it stays jagged
            return _moved(input, factory(input._values, *args, **options))

        handler.__doc__ = f"``{name}`` of the values, on the same structure."
        TABLE.implements(name)(handler)


_declare_likes()


def _declare_news() -> None:
    """``new_zeros`` and its relatives: only of no dimensions, as in torch."""
    for name in "new_empty new_zeros new_ones new_full".split():
        method = getattr(Tensor, name)

        def handler(
            input: NestedTensor, *args: Any, method: Callable[..., object] = method, **options: Any
        ) -> object:
            size = options.get("size", args[0] if args else ())
            if isinstance(size, int) or len(size):
                raise RuntimeError("new_empty() not supported for NJT with shape != ()")
            return method(input._values, *args, **options)

        handler.__doc__ = (
            f"A 0-dim tensor of the dtype and device; other sizes of ``{name}`` would need offsets."
        )
        TABLE.implements(f"Tensor.{name}")(handler)


_declare_news()


@TABLE.implements("Tensor.new_tensor")
def new_tensor(input: NestedTensor, data: Any, **options: Any) -> Tensor:
    """A dense tensor of the dtype and device."""
    return input._values.new_tensor(data, **options)


@TABLE.implements("copy_")
def copy_(input: Tensor, src: NestedTensor, non_blocking: bool = False) -> Any:
    """The data of another nested tensor with items of the same sizes."""
    schema = "copy_default(self: jt_all, src: jt_all, non_blocking: any?)"
    require_jagged(input, schema, "self", contiguous=False)
    require_jagged(src, schema, "src", contiguous=False)
    if input._cut.ragged is src._cut.ragged and input._size == src._size:
        input._values.copy_(src._values, non_blocking)
        return input
    mine, its = input.unbind(), src.unbind()
    if [x.shape for x in mine] != [x.shape for x in its]:
        raise RuntimeError(
            f"copy_(): expected compatible input and src shapes, but got: {input.shape} and "
            f"{src.shape}"
        )
    if input._cut.lengths is None and input._ragged_idx == src._ragged_idx:
        input._values.copy_(compact(src)._values, non_blocking)
    else:
        # into the places between holes: as many writes as there are items
        for x, y in zip(mine, its, strict=True):
            x.copy_(y, non_blocking)
    return input


@TABLE.implements("equal")
def equal(input: object, other: object) -> bool:
    """Whether both are nested and have items of the same sizes and values."""
    if not (isinstance(input, NestedTensor) and isinstance(other, NestedTensor)) or len(
        input._size
    ) != len(other._size):
        return False
    if input._ragged_idx != other._ragged_idx or input._cut.host[1] != other._cut.host[1]:
        return False
    return torch.equal(compact(input)._values, compact(other)._values)


@TABLE.implements("allclose")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements of two tensors of one structure are close."""
    close: Any = torch.isclose(input, other, rtol, atol, equal_nan)
    return bool(compact(close)._values.all())


# ---- gradients -----------------------------------------------------------------------------------


@TABLE.implements("grad.__get__", "_grad.__get__")
def grad(input: NestedTensor) -> Any:
    """The gradient accumulated so far, a nested tensor of this structure."""
    found = input._values.grad
    if found is None:
        return None
    seen = input.__dict__.get("_grad_seen")
    if seen is None or seen._values is not found:
        seen = input.__dict__["_grad_seen"] = input._like(found)
    return seen


@TABLE.implements("grad.__set__", "_grad.__set__")
def set_grad(input: NestedTensor, value: Tensor) -> None:
    """Replaces the gradient."""
    if isinstance(value, Tensor) and not isinstance(value, NestedTensor):
        raise RuntimeError(
            "the gradient of a nested tensor must be a nested tensor of its structure"
        )
    input._values.grad = None if value is None else value._values
    input.__dict__["_grad_seen"] = value


@TABLE.implements("grad.__delete__")
def delete_grad(input: NestedTensor) -> None:
    """Forgets the gradient."""
    set_grad(input, None)


@TABLE.implements("data.__set__")
def set_data(input: NestedTensor, value: NestedTensor) -> None:
    """Takes over another nested tensor's data and structure."""
    input._values.data = value._values
    input._cut, input._ragged_idx, input._size = value._cut, value._ragged_idx, value._size


def unwrap_gradient(nt: Nested, gradient: object) -> Tensor | None:
    """A gradient of ``nt`` as one of its values.

    Raises:
        RuntimeError: unless it has the structure of ``nt``.
    """
    if gradient is None:
        return None
    if not isinstance(gradient, type(nt)) or not same_structure(nt, gradient):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {_describe(gradient)} and output[0] "
            f"has a shape of {_describe(nt)}."
        )
    return gradient._values


def same_structure(a: Tensor, b: Tensor) -> bool:
    """Whether items have the same sizes, on the same offsets or on equal ones."""
    if isinstance(a, NestedTensor):
        if a._size == b._size:
            return True
        return (
            a._values.shape == b._values.shape
            and a._ragged_idx == b._ragged_idx
            and a._cut.host == b._cut.host
        )
    return a._sizes == b._sizes


def _describe(t: Any) -> object:
    return t.shape if isinstance(t, NestedTensor) or not isinstance(t, Nested) else t._sizes


@TABLE.implements("Tensor.backward")
def backward(
    input: Tensor,
    gradient: object = None,
    retain_graph: object = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds gradients to the leaves; ``gradient`` is nested like the tensor."""
    if inputs is not None:
        inputs = [
            x._values if isinstance(x, Nested) else x
            for x in ([inputs] if isinstance(inputs, Tensor) else inputs)
        ]
    if isinstance(input, Nested):
        input._values.backward(unwrap_gradient(input, gradient), retain_graph, create_graph, inputs)
    else:
        input.backward(gradient, retain_graph, create_graph, inputs)


@TABLE.implements("autograd.backward")
def autograd_backward(
    tensors: object,
    grad_tensors: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: object = None,
) -> None:
    """``autograd.backward`` of nested and dense tensors."""
    roots, given = _roots(tensors, grad_tensors)
    targets = (
        None
        if inputs is None
        else [x._values if isinstance(x, Nested) else x for x in _several(inputs)]
    )
    torch.autograd.backward(roots, given, retain_graph, create_graph, targets)


@TABLE.implements("autograd.grad")
def autograd_grad(
    outputs: object, inputs: object, grad_outputs: object = None, **options: Any
) -> tuple[Operand, ...]:
    """``autograd.grad``: the gradients of nested inputs are nested."""
    roots, given = _roots(outputs, grad_outputs)
    wanted = _several(inputs)
    options.pop("only_inputs", None)
    found = torch.autograd.grad(
        roots, [x._values if isinstance(x, Nested) else x for x in wanted], given, **options
    )
    return tuple(
        x._like(g) if isinstance(x, Nested) and g is not None else g
        for x, g in zip(wanted, found, strict=True)
    )


def _several(given: Tree) -> tuple[Tensor, ...]:
    return (given,) if isinstance(given, Tensor) else tuple(given)


def _roots(tensors: object, gradients: object) -> tuple[list[object], object]:
    roots = _several(tensors)
    given = (None,) * len(roots) if gradients is None else _several(gradients)
    pairs = zip(roots, given, strict=False)
    unwrapped = [unwrap_gradient(t, g) if isinstance(t, Nested) else g for t, g in pairs]
    return [
        t._values if isinstance(t, Nested) else t for t in roots
    ], None if gradients is None else unwrapped


def _declare_hooks() -> None:
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        method = getattr(Tensor, name)

        def handler(
            input: Nested,
            hook: Callable[..., object],
            method: Callable[..., object] = method,
            name: str = name,
        ) -> object:
            if name != "register_hook":
                return method(input._values, lambda _: hook(input))

            def run(gradient: Tensor) -> Any:
                found = hook(input._like(gradient))
                return found._values if isinstance(found, Nested) else found

            return method(input._values, run)

        handler.__doc__ = f"``{name}``; the hook is given nested tensors."
        TABLE.implements(name)(handler)


_declare_hooks()


@TABLE.implements("masked_select")
def masked_select(input: NestedTensor, mask: Tensor) -> NestedTensor:
    """The elements where a mask of the same structure is True, an item for each item."""
    if len(input._size) > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if not isinstance(mask, NestedTensor) or input._size != mask._size:
        raise RuntimeError(
            f"Mask with shape {mask.shape} is not compatible with input's shape {input.shape}"
        )
    chosen = torch.nn.functional.pad(mask._values.cumsum(0), (1, 0))
    return build(
        input._values.masked_select(mask._values), Cut(chosen[input._cut.offsets]), 1, type(input)
    )


@TABLE.implements("frexp")
def frexp(input: NestedTensor) -> Any:
    """Mantissa and exponent."""
    return wrapped(torch.frexp(input._values), input)
