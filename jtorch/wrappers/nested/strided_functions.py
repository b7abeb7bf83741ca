"""The functions of strided nested tensors that need more than their buffer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.errors import canonical_dim
from ..._src.tensor.state import attributes_of
from ..._utils import _rebuild_nested_tensor
from .strided import TABLE, Form, StridedNestedTensor, row_major, write_back
from .tensor import Nested

if TYPE_CHECKING:
    from ..._src.facts.kinds import Arguments, Row, Values


_NO_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
_ISSUE = "if you need this feature, please open an issue on github describing your use case."


#: What asks for a size of the items where there are none.
_NO_ITEMS = "Dimension specified as {} but tensor has no dimensions"


def _place(nt: StridedNestedTensor, dim: int, more: int = 0) -> int:
    return canonical_dim(int(dim), nt._form.rank + 1 + more)


def _refused(
    name: str, what: str = "the strided layout has it for few operands"
) -> NotImplementedError:
    return NotImplementedError(
        f"{name} is not offered by jtorch for nested tensors: {what}; use layout=torch.jagged"
    )


# ---- what it tells of itself ---------------------------------------------------------------------


@TABLE.implements("shape.__get__")
def shape(input: StridedNestedTensor) -> Any:
    """Refused, as in torch: there is no one size."""
    raise RuntimeError(_NO_SIZES)


@TABLE.implements("stride")
def stride(input: StridedNestedTensor, dim: object = None) -> Any:
    """Refused, as in torch."""
    raise RuntimeError(_NO_SIZES.replace("sizes", "strides"))


@TABLE.implements("size")
def size(input: StridedNestedTensor, dim: int | None = None) -> int:
    """The size of one dimension, if all items have the same."""
    if dim is None:
        raise RuntimeError(_NO_SIZES)
    place = _place(input, dim)
    if not place:
        return len(input._sizes)
    found = {s[place - 1] for s in input._sizes}
    if len(found) != 1:
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return found.pop()


@TABLE.implements("dim", "ndimension", "ndim.__get__")
def dim(input: StridedNestedTensor) -> int:
    """The number of dimensions, the batch included."""
    return input._form.rank + 1


@TABLE.implements("numel", "nelement")
def numel(input: StridedNestedTensor) -> int:
    """The number of elements of all items."""
    return input._form.numel


@TABLE.implements("nbytes.__get__")
def nbytes(input: StridedNestedTensor) -> int:
    """Bytes of all elements."""
    return input._form.numel * input._values.element_size()


@TABLE.implements("layout.__get__")
def layout(input: StridedNestedTensor) -> Any:
    """``torch.strided``."""
    return torch.strided


@TABLE.implements("is_nested.__get__")
def is_nested(input: StridedNestedTensor) -> bool:
    """True."""
    return True


@TABLE.implements("__len__")
def length(input: StridedNestedTensor) -> int:
    """The number of items."""
    return len(input._sizes)


@TABLE.implements("_nested_tensor_size")
def nested_size(input: StridedNestedTensor) -> Tensor:
    """The sizes of the items, a row for each."""
    return StridedNestedTensor._nested_tensor_size(input)


@TABLE.implements("_nested_tensor_strides")
def nested_strides(input: StridedNestedTensor) -> Tensor:
    """The strides of the items, a row for each."""
    return StridedNestedTensor._nested_tensor_strides(input)


@TABLE.implements("_nested_tensor_storage_offsets")
def nested_starts(input: StridedNestedTensor) -> Tensor:
    """Where the items start in the buffer."""
    return StridedNestedTensor._nested_tensor_storage_offsets(input)


@TABLE.implements("is_contiguous")
def is_contiguous(
    input: StridedNestedTensor, memory_format: torch.memory_format | None = None
) -> bool:
    """Whether the items lie one behind the other, each in row-major order."""
    return input._form.is_packed()


@TABLE.implements("is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the items have the same sizes."""
    if input.is_nested != other.is_nested:
        said = [
            f"{who} is {'' if t.is_nested else 'not '}nested."
            for who, t in (("Self", input), ("Other", other))
        ]
        raise RuntimeError(
            f"Expected both self and other to be nested tensors. {said[0]} While {said[1]}"
        )
    return (
        isinstance(other, StridedNestedTensor)
        and isinstance(input, StridedNestedTensor)
        and input._sizes == other._sizes
    )


@TABLE.implements("__repr__")
def text(input: StridedNestedTensor, *, tensor_contents: object = None) -> str:
    """The text that torch prints: all items."""
    tracked = input.requires_grad
    with torch.no_grad():
        items = [
            repr(x.detach().requires_grad_(tracked)).replace("\n", "\n  ") for x in unbind(input)
        ]
    history = ""
    if input.grad_fn is not None:
        history = f", grad_fn=<{input.grad_fn.name()}>"
    elif tracked:
        history = ", requires_grad=True"
    return "nested_tensor([\n" + ",\n".join(f"  {x}" for x in items) + f"\n]{history})"


@TABLE.implements("item")
def item(input: StridedNestedTensor) -> bool | float | int:
    """The only element."""
    return input._flat().item()


@TABLE.implements("__bool__", "__nonzero__", "is_nonzero")
def truth(input: StridedNestedTensor) -> bool:
    """The truth of the only element."""
    return bool(input._flat())


@TABLE.implements("tolist", "numpy", "__array__")
def numpy(input: StridedNestedTensor, *args: object, **options: object) -> Any:
    """Refused, as in torch."""
    raise RuntimeError(_NO_SIZES)


@TABLE.implements("__reduce_ex__")
def reduce_ex(input: StridedNestedTensor, protocol: object) -> tuple[object, ...]:
    """Pickled by its buffer and where the items lie in it; history is left out."""
    parts = (
        input._values.detach(),
        input._nested_tensor_size(),
        input._nested_tensor_strides(),
        input._nested_tensor_storage_offsets(),
    )
    return _rebuild_nested_tensor, parts, attributes_of(input) or None


@TABLE.implements("__deepcopy__")
def deepcopy(input: StridedNestedTensor, memo: Any) -> Tensor:
    """A leaf with its own data."""
    import copy

    if id(input) not in memo:
        if not input.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment."
            )
        made = memo[id(input)] = input._like(
            input._values.detach().clone().requires_grad_(input.requires_grad)
        )
        for name, value in attributes_of(input).items():
            setattr(made, name, copy.deepcopy(value, memo))
    return memo[id(input)]


# ---- copies, gradients: as for jagged tensors ----------------------------------------------------


for _name in (
    "Tensor.backward", "autograd.backward", "autograd.grad", "grad.__get__", "_grad.__get__",
    "grad.__set__", "_grad.__set__", "grad.__delete__", "values", "to_padded_tensor", "_is_view",
    "__setstate__", "register_hook", "register_post_accumulate_grad_hook", "_base.__get__",
    "_version.__get__",
):  # fmt: skip
    from .jagged import TABLE as _JAGGED

    TABLE.implements(_name)(_JAGGED.special[_name])


@TABLE.implements("clone")
def clone(
    input: StridedNestedTensor, *, memory_format: object = torch.preserve_format
) -> StridedNestedTensor:
    """A copy; in contiguous format, packed."""
    if memory_format not in (None, torch.preserve_format, torch.contiguous_format):
        name = "".join(
            word.capitalize() for word in str(memory_format).removeprefix("torch.").split("_")
        )
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone "
            f"with memory format: {name}"
        )
    if (
        input._form.is_packed()
        or memory_format is torch.contiguous_format
        or input._values.shape[0] != input._form.numel
    ):
        return StridedNestedTensor.contiguous_of(
            input._flat().clone(), input._sizes, input._form.rank
        )
    return input._like(input._values.clone())


@TABLE.implements("contiguous")
def contiguous(
    input: StridedNestedTensor, memory_format: object = torch.contiguous_format
) -> StridedNestedTensor:
    """The tensor itself if it is contiguous, else a packed copy."""
    return input if input._form.is_packed() else clone(input, memory_format=memory_format)


def _converted(nt: StridedNestedTensor, values: Tensor) -> StridedNestedTensor:
    return nt if values is nt._values else nt._like(values)


@TABLE.implements("to")
def to(input: StridedNestedTensor, *args: object, **options: object) -> Any:
    """Another dtype or device."""
    options.pop("layout", None)
    return _converted(
        input,
        input._values.to(*(x._values if isinstance(x, Nested) else x for x in args), **options),
    )


def _declare(names: str, owner: object) -> None:
    for name in names.split():
        func = getattr(owner, name, None)
        if func is None:
            continue

        def handler(
            input: StridedNestedTensor,
            *args: object,
            func: Callable[..., object] = func,
            **options: object,
        ) -> object:
            options.pop("layout", None)
            found = func(input._values, *args, **options)
            return _converted(input, found) if isinstance(found, Tensor) else found

        handler.__doc__ = f"``{name}`` of the buffer."
        TABLE.implements(name)(handler)


_declare(
    "cpu cuda float double half bfloat16 int long short char byte bool cfloat cdouble chalf xpu "
    "ipu mtia type",
    Tensor,
)
_declare("empty_like zeros_like ones_like randn_like", torch)


@TABLE.implements("type_as")
def type_as(input: Tensor, other: Tensor) -> StridedNestedTensor | Tensor:
    """Converted to the type of another tensor."""
    target = other._values if isinstance(other, Nested) else other
    return (
        _converted(input, input._values.type_as(target))
        if isinstance(input, StridedNestedTensor)
        else input.type_as(target)
    )


@TABLE.implements("copy_")
def copy_(input: object, src: object, non_blocking: bool = False) -> Any:
    """The data of a nested tensor with items of the same sizes."""
    if not isinstance(src, StridedNestedTensor) or not isinstance(input, StridedNestedTensor):
        raise RuntimeError("get_nested_tensor_impl requires a NestedTensor.")
    if input._sizes != src._sizes:
        raise RuntimeError(
            "copy_ only supports tensors that are the same size for Nested implementations"
        )
    if input._form.fits(src._form) and input._values.shape[0] == input._form.numel:
        input._values.copy_(src._values)
        return input
    return write_back(input, lambda _: src._flat().to(input._values.dtype))


# ---- shapes --------------------------------------------------------------------------------------


def _reformed(
    nt: StridedNestedTensor,
    sizes: Values,
    strides: Values,
    starts: tuple[int, ...] | list[int] | None = None,
) -> StridedNestedTensor:
    starts = nt._form.starts if starts is None else tuple(starts)
    rank = len(sizes[0]) if sizes else nt._form.rank
    return StridedNestedTensor.of(
        nt._values, Form(tuple(map(tuple, sizes)), tuple(map(tuple, strides)), starts, rank)
    )


def _each(nt: StridedNestedTensor, change: Callable[..., object]) -> StridedNestedTensor:
    """Sizes and strides of every item changed alike."""
    return _reformed(nt, [change(s) for s in nt._form.sizes], [change(s) for s in nt._form.strides])


@TABLE.implements("transpose", "swapaxes", "swapdims")
def transpose(input: StridedNestedTensor, dim0: int, dim1: int) -> StridedNestedTensor:
    """Two dimensions of every item exchanged."""
    a, b = _place(input, dim0), _place(input, dim1)
    if a == b:
        return input
    if 0 in (a, b):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")

    def swapped(numbers: tuple[int, ...]) -> list[int]:
        found = list(numbers)
        found[a - 1], found[b - 1] = found[b - 1], found[a - 1]
        return found

    return _each(input, swapped)


@TABLE.implements("mT.__get__", "mH.__get__", "adjoint")
def matrix_transpose(input: StridedNestedTensor) -> StridedNestedTensor:
    """The last two dimensions of every item exchanged."""
    return transpose(input, -2, -1)


@TABLE.implements("atleast_1d", "atleast_2d")
def at_least(*tensors: object) -> Any:
    """Nested tensors have two dimensions at least."""
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


@TABLE.implements("atleast_3d")
def atleast_3d(*tensors: object) -> Any:
    """A dimension of size 1 behind those of nested tensors of two."""
    found = [
        unsqueeze(t, 2) if isinstance(t, StridedNestedTensor) and t._form.rank == 1 else t
        for t in tensors
    ]
    return found[0] if len(found) == 1 else tuple(found)


@TABLE.implements("unsqueeze")
def unsqueeze(input: StridedNestedTensor, dim: int) -> StridedNestedTensor:
    """A new dimension of size 1 in every item."""
    place = _place(input, dim, 1)
    if not place:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the "
            f"moment {_ISSUE}"
        )
    if not input._form.sizes:
        raise IndexError(_NO_ITEMS.format(0))
    sizes = [(*s[: place - 1], 1, *s[place - 1 :]) for s in input._form.sizes]
    pairs = zip(input._form.sizes, input._form.strides, strict=True)
    strides = [
        (*t[: place - 1], t[place - 1] * s[place - 1] if place <= len(s) else 1, *t[place - 1 :])
        for s, t in pairs
    ]
    return _reformed(input, sizes, strides)


@TABLE.implements("squeeze")
def squeeze(input: StridedNestedTensor, dim: Any = None) -> StridedNestedTensor:
    """Dimensions of size 1 left out of every item."""
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at "
            f"the moment, however you can use squeeze(Tensor self, int dim) instead {_ISSUE}"
        )
    dims = {_place(input, d) for d in (dim if isinstance(dim, (tuple, list)) else [dim])}
    if 0 in dims:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment "
            f"{_ISSUE}"
        )
    if input._form.rank == 1 and 1 in dims and all(s[0] == 1 for s in input._sizes):
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing a nested tensor of singleton tensors is not "
            f"supported {_ISSUE}"
        )
    gone = {d - 1 for d in dims if all(s[d - 1] == 1 for s in input._sizes)}
    return _each(input, lambda numbers: [n for i, n in enumerate(numbers) if i not in gone])


def _new_sizes(nt: StridedNestedTensor, given: Arguments, name: str) -> list[tuple[int, ...]]:
    """The items' sizes for a view: -1 is what a dimension had, behind the old ones what is left."""
    wanted = (
        list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)
    )
    if not wanted:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not nt._sizes:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if wanted[0] != len(nt._sizes):
        raise RuntimeError(
            f"{name}: For now nested {name} cannot change or infer the implicit batch dimension"
        )
    if invalid := [n for n in wanted[1:] if n < -1]:
        raise RuntimeError(f"invalid shape dimension {invalid[0]}")
    rank = nt._form.rank
    # where dimensions are added, one of the old ones may be what it was, and none of the new ones
    # found out
    if len(wanted) - 1 > rank:
        if wanted[1 : rank + 1].count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if -1 in wanted[rank + 1 :]:
            raise RuntimeError("nested tensor does not infer shape")
    found = []
    for old in nt._sizes:
        new = [old[i] if n == -1 and i < len(old) else n for i, n in enumerate(wanted[1:])]
        if new.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        count = math.prod(old)
        if -1 in new:
            known = math.prod(n for n in new if n != -1)
            new[new.index(-1)] = count // known if known else 0
        if math.prod(new) != count:
            raise RuntimeError(f"shape '{wanted}' is invalid for input of size {count}")
        found.append(tuple(new))
    return found


@TABLE.implements("view", "_view_shape")
def view(input: StridedNestedTensor, *size: object) -> StridedNestedTensor:
    """The same data with items of other sizes."""
    sizes = _new_sizes(input, size, "view")
    if tuple(sizes) == input._sizes:
        return input._like(input._values.view_as(input._values))
    if any(t != row_major(s) for s, t in zip(input._form.sizes, input._form.strides, strict=True)):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _reformed(input, sizes, [row_major(s) for s in sizes])


@TABLE.implements("reshape")
def reshape(input: StridedNestedTensor, *shape: object) -> StridedNestedTensor:
    """As ``view``, with a copy where the memory needs one."""
    sizes = _new_sizes(input, shape, "reshape")
    return (
        view(input, *shape)
        if input._form.is_packed()
        else StridedNestedTensor.contiguous_of(input._flat(), sizes)
    )


@TABLE.implements("view_as")
def view_as(input: StridedNestedTensor, other: object) -> Any:
    """A view with items of the sizes of another's."""
    if not input._form.is_packed():
        raise RuntimeError("view_as(): the nested tensor must be contiguous; use reshape_as()")
    return reshape_as(input, other)


@TABLE.implements("reshape_as")
def reshape_as(input: StridedNestedTensor, other: Any) -> StridedNestedTensor:
    """Items of the sizes of another's."""
    if [math.prod(s) for s in input._sizes] != [math.prod(s) for s in other._sizes]:
        raise RuntimeError(
            "reshape_as(): the items of both nested tensors must have the same numbers of elements"
        )
    return StridedNestedTensor.contiguous_of(input._flat(), other._sizes)


# ---- parts ---------------------------------------------------------------------------------------


def _item(nt: StridedNestedTensor, index: int) -> Tensor:
    size, steps, start = nt._form.sizes[index], nt._form.strides[index], nt._form.starts[index]
    if steps == row_major(size):
        return nt._values.narrow(0, start, math.prod(size)).view(size)
    return nt._values.as_strided(size, steps, nt._values.storage_offset() + start)


@TABLE.implements("unbind")
def unbind(input: StridedNestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The items, as views of the buffer."""
    place = _place(input, dim)
    if place:
        raise RuntimeError(
            f"NestedTensor can only be unbound along dimension 0 got dimension {place} instead."
        )
    return tuple(_item(input, i) for i in range(len(input._sizes)))


@TABLE.implements("select")
def select(input: StridedNestedTensor, dim: int, index: int) -> StridedNestedTensor | Tensor:
    """One item, or one place of a dimension of every item."""
    place = _place(input, dim)
    if not place:
        if not -len(input._sizes) <= index < len(input._sizes):
            raise IndexError(
                f"index {index} is out of bounds for dimension 0 with size {len(input._sizes)}"
            )
        return _item(input, index % len(input._sizes))
    d, starts = place - 1, []
    for i, (s, t, start) in enumerate(
        zip(input._form.sizes, input._form.strides, input._form.starts, strict=True)
    ):
        if not -s[d] <= index < s[d]:
            raise IndexError(
                f"index {index} is out of bounds for dimension {d} of the {i}th constituent tensor "
                f"with size {s[d]}"
            )
        starts.append(start + t[d] * (index % s[d]))
    left = _each(input, lambda numbers: [*numbers[:d], *numbers[d + 1 :]])
    return _reformed(input, list(left._form.sizes), list(left._form.strides), starts)


@TABLE.implements("__getitem__")
def getitem(input: object, index: object) -> Tensor:
    """An item, a part of it, or one place of a dimension of every item."""
    if not isinstance(input, StridedNestedTensor):
        raise _refused("indexing with a nested tensor")
    indices = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(i, (Tensor, list, bool)) for i in indices):
        raise _refused("indexing with tensors")
    if Ellipsis in indices:
        at = indices.index(Ellipsis)
        count = input._form.rank + 1 - sum(i is not None and i is not Ellipsis for i in indices)
        indices[at : at + 1] = [Ellipsis] * count
    if indices and isinstance(indices[0], int):
        rest = tuple(slice(None) if i is Ellipsis else i for i in indices[1:])
        found = select(input, 0, indices[0])
        return found[rest] if rest else found
    nt, place = input, 0
    for i in indices:
        if isinstance(i, slice):
            raise _refused("slicing of nested tensors")
        if i is None:
            nt = unsqueeze(nt, place)
        elif i is not Ellipsis:
            nt, place = select(nt, place, i), place - 1
        place += 1
    return nt


@TABLE.implements("__setitem__")
def setitem(input: object, index: object, value: object) -> None:
    """Writes into an item, or one place of a dimension of every item."""
    target = getitem(input, index)
    if isinstance(value, Tensor) and (value.dim() or isinstance(value, Nested)):
        target.copy_(value)
    else:
        target.fill_(value)


def _last(nt: StridedNestedTensor, dim: Any, name: str) -> int:
    """The size of the last dimension, if that is the one and it is regular."""
    place = _place(nt, dim)
    if not nt._form.sizes:
        raise IndexError(_NO_ITEMS.format(1))
    if place != nt._form.rank:
        raise RuntimeError(
            f"{name} for nested tensors is currently only supported for the last dimension."
        )
    return size(nt, -1)


def _columns(nt: StridedNestedTensor, widths: list[int]) -> tuple[StridedNestedTensor, ...]:
    """Parts of the last dimension, views."""
    found, begin = [], 0
    for width in widths:
        starts = [
            start + begin * t[-1]
            for start, t in zip(nt._form.starts, nt._form.strides, strict=True)
        ]
        found.append(
            _reformed(
                nt, [(*s[:-1], width) for s in nt._form.sizes], list(nt._form.strides), starts
            )
        )
        begin += width
    return tuple(found)


@TABLE.implements("chunk")
def chunk(input: StridedNestedTensor, chunks: int, dim: int = 0) -> tuple[StridedNestedTensor, ...]:
    """Equal parts of the last dimension."""
    width = _last(input, dim, "Chunk")
    if width % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension "
            f"divisible by chunks, got: {width} % {chunks} != 0"
        )
    return _columns(input, [width // chunks] * chunks)


@TABLE.implements("split_with_sizes")
def split_with_sizes(
    input: StridedNestedTensor, split_sizes: list[int], dim: int = 0
) -> tuple[StridedNestedTensor, ...]:
    """Parts of the last dimension, of the sizes given."""
    width = _last(input, dim, "split_with_sizes")
    if sum(split_sizes) != width:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {width} (input tensor's size "
            f"at dimension {input._form.rank}), but got split_sizes={list(split_sizes)}"
        )
    return _columns(input, list(split_sizes))


@TABLE.implements("split")
def split(
    tensor: StridedNestedTensor,
    split_size_or_sections: object = None,
    dim: int = 0,
    **spelled: object,
) -> Row:
    """Parts of the last dimension, of the sizes given."""
    sizes = spelled.get("split_size", spelled.get("split_sizes", split_size_or_sections))
    if isinstance(sizes, int):
        raise _refused("split into parts of one size")
    return split_with_sizes(tensor, sizes, dim)


@TABLE.implements("narrow")
def narrow(
    input: StridedNestedTensor, dim: tuple[int, ...] | int, start: Any, length: Any
) -> StridedNestedTensor:
    """A stretch of the batch; as an extension, of several dimensions, with tuples of one number for
    each item.

    See the jagged ``narrow``.
    """
    if isinstance(dim, (tuple, list)):
        for d, s, n in sorted(
            zip(dim, start, length, strict=True), key=lambda entry: _place(input, entry[0]) == 0
        ):
            input = _narrowed(input, _place(input, d), s, n)
        return input
    place = _place(input, dim)
    if place and isinstance(start, int) and isinstance(length, int):
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    return _narrowed(input, place, start, length)


def _narrowed(nt: StridedNestedTensor, place: int, start: Any, length: Any) -> StridedNestedTensor:
    form, batch = nt._form, len(nt._sizes)
    if not place:
        if start + length > batch:
            raise RuntimeError(
                f"start ({start}) + length ({length}) exceeds dimension size ({batch})."
            )
        some = slice(start, start + length)
        return _reformed(nt, list(form.sizes[some]), list(form.strides[some]), form.starts[some])
    starts, lengths = ([x] * batch if isinstance(x, int) else list(x) for x in (start, length))
    d = place - 1
    for i, (s, n, own) in enumerate(zip(starts, lengths, form.sizes, strict=True)):
        if s < 0 or n < 0 or s + n > own[d]:
            raise RuntimeError(
                f"start ({s}) + length ({n}) exceeds dimension size ({own[d]}) of item {i}."
            )
    sizes = [(*own[:d], n, *own[d + 1 :]) for own, n in zip(form.sizes, lengths, strict=True)]
    begins = [b + t[d] * s for b, t, s in zip(form.starts, form.strides, starts, strict=True)]
    return _reformed(nt, sizes, list(form.strides), begins)


@TABLE.implements("cat", "concat", "concatenate")
def cat(tensors: Sequence[StridedNestedTensor], dim: int = 0) -> StridedNestedTensor:
    """The items of several nested tensors one after the other, or joined along a dimension."""
    first = next(t for t in tensors if isinstance(t, StridedNestedTensor))
    place = _place(first, dim)
    if any(not isinstance(t, StridedNestedTensor) for t in tensors):
        raise RuntimeError("Expected each tensor in given list to be nested.")
    for i, t in enumerate(tensors):
        if not t._sizes:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {i}) cannot be concatenated"
                if i
                else _NO_SIZES
            )
    if not place:
        sizes = [s for t in tensors for s in t._sizes]
        return StridedNestedTensor.contiguous_of(torch.cat([t._flat() for t in tensors]), sizes)
    if len({len(t._sizes) for t in tensors}) != 1:
        raise RuntimeError("cat(): expected all nested tensors to have the same number of items")
    places, sizes = _joined_places(tensors, place - 1)
    flat = torch.cat([t._flat() for t in tensors])
    return StridedNestedTensor.contiguous_of(
        torch.index_select(flat, 0, torch.from_numpy(places).to(flat.device)), sizes
    )


def _joined_places(
    tensors: Sequence[StridedNestedTensor], dim: int
) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Where each element of the joined items lies among the elements of all tensors, and the items'
    sizes: one gather does the rest.

    Raises:
        RuntimeError: if two items that are to be joined differ in another dimension.
    """
    begin, places, sizes = 0, [], []
    per_tensor = []
    for t in tensors:
        blocks = []
        for size in t._sizes:
            count = math.prod(size)
            blocks.append(np.arange(begin, begin + count).reshape(size))
            begin += count
        per_tensor.append(blocks)
    for blocks in zip(*per_tensor, strict=True):
        first = blocks[0].shape
        for b in blocks:
            if b.ndim != len(first) or any(
                n != m for d, (n, m) in enumerate(zip(b.shape, first, strict=True)) if d != dim
            ):
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected sizes "
                    f"{list(first)} but got {list(b.shape)}"
                )
        block = np.concatenate(blocks, dim)
        places.append(block.reshape(-1))
        sizes.append(block.shape)
    return np.concatenate(places) if places else np.zeros(0, np.int64), sizes
