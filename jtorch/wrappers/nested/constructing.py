"""The functions of ``torch.nested``: constructors of both layouts, padding, narrowing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.errors import not_offered
from .ragged import Cut
from .strided import StridedNestedTensor, from_items
from .tensor import Nested, NestedTensor, build

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def _check_layout(layout: object) -> object:
    if layout is None:
        return torch.strided
    if layout not in (torch.strided, torch.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout


def nested_tensor(
    tensor_list: Sequence[object],
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A nested tensor, a leaf, with a copy of the items: tensors, or what ``torch.tensor`` takes.

    The layout is ``torch.strided`` by default; ``torch.jagged`` can do more, and is ragged in one
    dimension.

    Raises:
        RuntimeError: if the items do not go together: dtypes, dimensions, sizes.

    Examples:
        >>> import jtorch as torch
        >>> torch.nested.nested_tensor([[1.0, 2.0], [3.0]])
        nested_tensor([
          tensor([1., 2.]),
          tensor([3.])
        ])
    """
    layout = _check_layout(layout)
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(
            "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor"
        )
    if any(isinstance(x, Nested) for x in tensor_list):
        raise not_offered("nested_tensor of nested tensors", "nested tensors have one level")
    items = [x.detach() if isinstance(x, Tensor) else torch.as_tensor(x) for x in tensor_list]
    with torch.no_grad():
        made = _from_list(items, layout, dtype, device, copy=True)
    if requires_grad:
        made.requires_grad_()
    return made.pin_memory() if pin_memory else made


def as_nested_tensor(
    ts: Any, dtype: object = None, device: object = None, layout: object = None
) -> Any:
    """A nested tensor of tensors, with their history: gradients reach them.

    A dense tensor is a batch of items of one size, and shares its memory. A nested one of the
    layout is returned as it is.

    Raises:
        TypeError: for anything but a tensor, or a list or tuple of tensors.
        RuntimeError: for a tensor of less than two dimensions, or a nested one of another layout.
    """
    is_list = isinstance(ts, (list, tuple)) and all(isinstance(t, Tensor) for t in ts)
    if not isinstance(ts, Tensor) and not is_list:
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of "
            "tensors "
        )
    if isinstance(ts, Tensor) and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if isinstance(ts, Nested):
        if layout is not ts.layout:
            raise RuntimeError(
                "as_nested_tensor(): Converting between nested tensor layouts is not supported"
            )
        return ts.to(device=device, dtype=dtype) if device is not None or dtype is not None else ts
    layout = _check_layout(layout)
    if is_list:
        return _from_list(list(ts), layout, dtype, device, copy=False)
    moved = ts if device is None and dtype is None else ts.to(device=device, dtype=dtype)
    if layout is torch.strided:
        return StridedNestedTensor.contiguous_of(
            moved.reshape(-1), [tuple(moved.shape[1:])] * moved.shape[0]
        )
    batch, width = moved.shape[:2]
    with torch.no_grad():
        offsets = torch.arange(batch + 1, dtype=torch.int64, device=moved.device) * width
    cut = Cut(offsets)
    cut.ragged.know(width, width)
    return build(moved.contiguous().flatten(0, 1), cut)


def _from_list(
    items: list[Tensor], layout: object, dtype: object, device: object, copy: bool
) -> Tensor:
    if layout is torch.strided:
        return from_items(items, dtype, device)
    if not items:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what, name in (("dtype", "have the same dtype"), ("device", "be on the same device")):
        if len({getattr(t, what) for t in items}) != 1:
            raise RuntimeError(
                f"When constructing a nested tensor, all tensors in list must {name}"
            )
    if len({t.dim() for t in items}) != 1:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same dim"
        )
    if not items[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    sizes = [tuple(t.shape) for t in items]
    ragged = [d for d in range(items[0].dim()) if any(s[d] != sizes[0][d] for s in sizes)]
    if len(ragged) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note "
            "that the jagged layout only allows for a single ragged dimension. For example: (B, *, "
            "D_0, D_1, ..., D_N), with ragged * dim."
        )
    d = ragged[0] if ragged else 0
    values = torch.cat(items, d) if len(items) > 1 or not copy else items[0].clone()
    if dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
    lengths = [s[d] for s in sizes]
    ends = [0]
    for n in lengths:
        ends.append(ends[-1] + n)
    offsets = torch.tensor(ends, dtype=torch.int64, device=values.device)
    cut = Cut(offsets)
    cut.ragged.know(min(lengths), max(lengths))
    return build(values, cut, d + 1)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A differentiable view of packed ``values``, cut into items at ``offsets``.

    With ``lengths`` alone the items lie one behind the other; with both, item i is
    ``values[offsets[i] : offsets[i] + lengths[i]]``. ``min_seqlen`` and ``max_seqlen`` save reading
    them from the device.

    Raises:
        RuntimeError: if neither offsets nor lengths are given.
        ValueError: for a ``jagged_dim`` below 1.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            )
        offsets, lengths = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), None
    if jagged_dim is None:
        jagged_dim = 1
    elif jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    cache = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    return NestedTensor(
        values.view_as(values),
        offsets,
        lengths=lengths,
        _ragged_idx=jagged_dim,
        _metadata_cache=cache,
    )


def to_padded_tensor(
    input: Any, padding: float, output_size: Any = None, out: object = None
) -> Tensor:
    """A dense copy of a nested tensor, its items filled up with ``padding`` to the largest size or
    to ``output_size``.

    Raises:
        RuntimeError: if ``output_size`` is too small for a strided tensor (of a jagged one it cuts
            items), for jagged ones with holes.
    """
    if not isinstance(input, Nested):
        # a type around a nested one
        if (
            out is None
            and not isinstance(input, Tensor)
            and hasattr(type(input), "__torch_function__")
        ):
            return input.to_padded_tensor(padding, output_size)
        raise not_offered(
            f"to_padded_tensor of a {type(input).__name__}", "only nested tensors can be padded"
        )
    if out is not None:
        raise not_offered("to_padded_tensor(out=...)", "the result is a new tensor")
    if not isinstance(input, NestedTensor):
        return input._to_padded(padding, output_size)
    if input._cut.lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    return input._padded(padding, None if output_size is None else output_size[input._ragged_idx])


def narrow(tensor: Tensor, dim: int, start: object, length: object, layout: object = None) -> Any:
    """From each row of a dense tensor the stretch from ``start``, of ``length``; both may be
    tensors with a number for each row.

    Jagged: a view of ``tensor``, with holes. Strided: a copy, ints only.

    Raises:
        RuntimeError: for other dimensions than 1 (jagged), tensors (strided), tensors that do not
            broadcast to the rows.
    """
    for name, given in (("start", start), ("length", length)):
        if not isinstance(given, (int, torch.SymInt, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    layout = torch.strided if layout is None else layout
    if layout is torch.strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(torch.unbind(tensor), layout=torch.strided).narrow(
            dim, start, length
        )
    if layout is not torch.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    starts, lengths = (
        x if isinstance(x, Tensor) else torch.tensor([x], device=tensor.device, dtype=torch.int64)
        for x in (start, length)
    )
    batch, width = tensor.shape[0], tensor.shape[1] if tensor.dim() > 1 else 0
    if any(
        x.dim() > 1 or (x.dim() == 1 and x.shape[0] not in (1, batch)) for x in (starts, lengths)
    ):
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must "
            "be Tensors that broadcast to input.shape[0]"
        )
    if tensor.dim() < 2:
        raise AssertionError("tensor must at least be 2D for the nested narrow op to work")
    with torch.no_grad():
        starts, lengths = starts.expand(batch), lengths.expand(batch)
        first = torch.arange(batch, dtype=torch.int64, device=tensor.device) * width + starts
        offsets = torch.cat([first, first[-1:] + lengths[-1:]])
        begins, sizes = first.tolist(), lengths.tolist()
    values = tensor.view(-1, *tensor.shape[2:])
    if all(b + n == after for b, n, after in zip(begins, sizes, begins[1:], strict=False)):
        return _extremes(
            NestedTensor(values[begins[0] : begins[-1] + sizes[-1]], offsets - offsets[0]), sizes
        )
    return _extremes(NestedTensor(values, offsets, lengths=lengths.clone()), sizes)


def _extremes(nt: NestedTensor, sizes: list[int]) -> NestedTensor:
    nt._cut.ragged.know(min(sizes), max(sizes))
    return nt


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """The elements of each row of ``tensor`` where ``mask`` is True: a jagged tensor with an item
    for each row.

    Raises:
        RuntimeError: for nested operands.
    """
    if isinstance(tensor, StridedNestedTensor) or isinstance(mask, StridedNestedTensor):
        raise not_offered(
            "masked_select of strided nested tensors", "it makes a nested tensor of a dense one"
        )
    for name, given in (("tensor, given", tensor), ("mask, given:", mask)):
        if given.layout is not torch.strided:
            raise RuntimeError(
                f"torch.nested.masked_select requires a strided {name} {given.layout}"
            )
    counts = mask.expand(tensor.shape).sum(tensor.dim() - 1).view(-1)
    return NestedTensor(
        tensor.masked_select(mask), torch.nn.functional.pad(counts.cumsum(0), (1, 0))
    )
