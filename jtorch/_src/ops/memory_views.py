"""View ops that look at memory otherwise than by dimensions: by strides, in its own order, at parts
of numbers, as another dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.dtypes import int64
from ..facts.layouts import is_contiguous, strided
from ._declare import Array, Dtype, defvjp, op
from ._derivatives import A, D, derivative
from ._numeric import scalar_name
from ._sizes import fewer
from .views import Ints, _put_permute, view

if TYPE_CHECKING:
    from ..aten.recording import About, OperatorNode


# ---- strides -------------------------------------------------------------------------------------


#: Up to so many positions are a constant of the program; more are computed where they are used, and
#: take no memory.
_FEW = 1024


def _flat_positions(size: Ints, stride: Ints, offset: int) -> Array | np.ndarray:
    """Where in flat memory each element of a strided look lies."""
    if fewer(math.prod(size), _FEW + 1):
        found = np.full((1,) * len(size), offset, np.int64)
        for i, (n, s) in enumerate(zip(size, stride, strict=True)):
            found = found + (np.arange(n, dtype=np.int64) * s).reshape(
                (n,) + (1,) * (len(size) - 1 - i)
            )
        return found.reshape(size)
    kind = np.dtype(
        np.int32 if _reach(size, stride, offset) <= np.iinfo(np.int32).max else np.int64
    )
    places = jnp.full(size, offset, kind)
    for i, (n, s) in enumerate(zip(size, stride, strict=True)):
        if n > 1 and s:
            places = places + lax.broadcasted_iota(kind, size, i) * kind.type(s)
    return places


def _reach(size: Ints, stride: Ints, offset: int) -> int:
    """How many elements of the memory lie before the end of a strided look."""
    return (
        0
        if 0 in size
        else 1 + offset + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    )


def _distinct(size: Ints, stride: Ints) -> bool:
    """Whether it is plain that no two elements lie in one place."""
    inner = 0
    for s, n in sorted([(s, n) for n, s in zip(size, stride, strict=True) if n != 1]):
        if s <= inner:
            return False
        inner += (n - 1) * s
    return True


def _put_as_strided(parent: Array, value: Array, size: Ints, stride: Ints, offset: int) -> Array:
    flat = parent.reshape(-1)
    if 0 in size:
        return parent
    if is_contiguous(size, stride):
        return lax.dynamic_update_slice(flat, value.reshape(-1), (offset,)).reshape(parent.shape)
    return (
        flat.at[_flat_positions(size, stride, offset).reshape(-1)]
        .set(value.reshape(-1))
        .reshape(parent.shape)
    )


@view(
    _put_as_strided,
    lambda shape, strides, size, stride, offset: (stride, offset),
    namespace="_C",
    repeats=lambda size, stride, offset: not _distinct(size, stride),
    name="_as_strided",
    aten="as_strided.default",
)
def _as_strided(input: Array, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Array:
    """Any strided look at the flat memory of a contiguous base."""
    flat = input.reshape(-1)
    # repeated elements are read once
    once = tuple([1 if s == 0 else n for n, s in zip(size, stride, strict=True)])
    if 0 in size:
        return jnp.zeros(size, flat.dtype)
    if is_contiguous(once, stride):
        found = lax.slice(flat, (offset,), (offset + math.prod(once),)).reshape(once)
    else:
        found = flat[_flat_positions(once, stride, offset)]
    return found if once == size else jnp.broadcast_to(found, size)


def _packed(g: object) -> bool:
    return D.is_packed(g)


def _reach_formula(size: list[int], stride: list[int]) -> int:
    return sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def _overlaps(size: list[int], stride: list[int]) -> bool:
    """Whether two places of a strided tensor may be one."""
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False


def _as_strided_formula(
    g: object,
    self_: About,
    size: list[int],
    stride: list[int],
    storage_offset: int,
    grads: object,
    node: OperatorNode,
) -> object:
    begin = self_.offset
    start = begin if storage_offset is None else storage_offset
    mine, strides = self_.shape, self_.stride()
    if 0 in mine or 0 in size:
        return A.new_zeros.default(g, mine)
    # a tensor that lies as the operand does: its elements count for nothing
    if _overlaps(mine, strides):
        memory = A.new_zeros.default(g, [begin + _reach_formula(mine, strides) + 1])
        return D.general(
            grads,
            node,
            A.as_strided.default(memory, mine, strides, begin),
            size,
            stride,
            storage_offset,
        )
    low = min(begin, start)
    length = (
        max(begin + _reach_formula(mine, strides), start + _reach_formula(size, stride)) - low + 1
    )
    memory = A.new_zeros.default(g, [length])
    if _overlaps(size, stride):
        every = A.arange.start(0, length, dtype=int64, layout=strided, device=node.about[0].device)
        places = A.as_strided.default(every, list(size), list(stride), start - low)
        flat = (
            A.view.default(g, [math.prod(size)]) if _packed(g) else D.reshaped(g, [math.prod(size)])
        )
        memory = A.index_add_.default(memory, 0, D.reshaped(places, [math.prod(size)]), flat)
    else:
        A.copy_.default(A.as_strided.default(memory, list(size), list(stride), start - low), g)
    return A.as_strided.default(memory, mine, strides, begin - low)


derivative(A.as_strided, self=_as_strided_formula)


def _put_first(parent: Array, value: Array, numel: int) -> Array:
    return lax.dynamic_update_slice(parent, value[: parent.shape[0]], (0,))


@view(_put_first, lambda shape, strides, numel: ((1,), 0), namespace="_C", name="_first")
def _first(input: Array, numel: int) -> Array:
    """The first elements of flat memory, and zeros where it has become smaller than what was made
    on it."""
    missing = numel - input.shape[0]
    return (
        lax.slice(input, (0,), (numel,))
        if missing <= 0
        else lax.pad(input, np.zeros((), input.dtype), ((0, missing, 0),))
    )


@op(namespace="_C", method=False, saves=(), aten="as_strided.default", node="AsStridedBackward0")
def _as_strided_part(
    input: Array,
    strides: tuple[int, ...],
    start: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
) -> Array:
    """``as_strided`` of a tensor that covers a part of its storage, for derivatives: what lies
    outside that part counts as zeros."""
    mine, asked = (
        _flat_positions(input.shape, strides, start),
        _flat_positions(size, stride, offset),
    )
    total = max(1, _reach(input.shape, strides, start), _reach(size, stride, offset))
    return jnp.zeros(total, input.dtype).at[mine.reshape(-1)].set(input.reshape(-1))[asked]


def _as_strided_part_rule(
    g: Array,
    result: Array,
    input: Array,
    strides: Ints,
    start: int,
    size: Ints,
    stride: Ints,
    offset: int,
) -> tuple[Array]:
    mine, asked = (
        _flat_positions(input.shape, strides, start),
        _flat_positions(size, stride, offset),
    )
    total = max(1, _reach(input.shape, strides, start), _reach(size, stride, offset))
    memory = jnp.zeros(total, g.dtype).at[asked.reshape(-1)].add(g.reshape(-1))
    found = memory[mine]
    if _distinct(input.shape, strides):
        return (found,)
    times = jnp.zeros(total, g.dtype).at[mine.reshape(-1)].add(1)[mine]
    return (found / times,)  # elements that share memory share its gradient


defvjp(_as_strided_part, _as_strided_part_rule)


def _put_memory(parent: Array, value: Array, order: Ints) -> Array:
    return _put_permute(parent, value.reshape(tuple(parent.shape[i] for i in order)), order)


@view(
    _put_memory,
    lambda shape, strides, order: ((1,), 0),
    namespace="_C",
    name="_memory",
    node="AsStridedBackward0",
)
def _memory(input: Array, order: tuple[int, ...]) -> Array:
    """The elements in the order in which they lie in memory, where ``order`` lists the dimensions
    from the outermost."""
    return jnp.transpose(input, order).reshape(-1)


# ---- types ---------------------------------------------------------------------------------------


def _complex_of(real_dtype: np.dtype) -> object:
    return {
        np.dtype("float32"): np.dtype("complex64"),
        np.dtype("float64"): np.dtype("complex128"),
    }.get(np.dtype(real_dtype))


def _put_real(parent: Array, value: Array) -> Array:
    return lax.complex(value, jnp.imag(parent)) if jnp.iscomplexobj(parent) else value


def _put_imag(parent: Array, value: Array) -> Array:
    return lax.complex(jnp.real(parent), value)


def _geometry_part(shape: Ints, strides: Ints) -> tuple[Ints, int]:
    return tuple(2 * s for s in strides), 0


@view(
    _put_real,
    _geometry_part,
    geometric=False,
    bits=lambda conj, neg: (False, neg),
    namespace="_C",
    name="_real",
    aten="real.default",
    node="SelectBackward0",
)
def _real(input: Array) -> Array:
    """The real parts of a complex tensor, as a view."""
    return jnp.real(input)


@view(
    _put_imag,
    lambda shape, strides: (tuple(2 * s for s in strides), 1),
    geometric=False,
    bits=lambda conj, neg: (False, neg != conj),
    namespace="_C",
    name="_imag",
    aten="imag.default",
    node="SelectBackward0",
)
def _imag(input: Array) -> Array:
    """The imaginary parts of a complex tensor, as a view."""
    return jnp.imag(input)


def _as_real_bits(conj: bool, neg: bool) -> tuple[bool, bool]:
    if conj:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )
    return conj, neg


def _put_view_as_real(parent: Array, value: Array) -> Array:
    return lax.complex(value[..., 0], value[..., 1])


@view(
    _put_view_as_real,
    lambda shape, strides: ((*(2 * s for s in strides), 1), 0),
    geometric=False,
    bits=_as_real_bits,
    method=False,
    aten="view_as_real.default",
)
def view_as_real(input: Array) -> Array:
    """Complex numbers as pairs of real ones in a new last dimension of size 2; a view.

    Args:
        input: a complex tensor.

    Shapes: (*) -> (*, 2).

    Dtypes: complex64 -> float32, complex128 -> float64.

    Raises:
        RuntimeError: for real tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.view_as_real(torch.tensor([1 + 2j, 3j]))
        tensor([[1., 2.],
                [0., 3.]])
    """
    if not jnp.iscomplexobj(input):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return jnp.stack([jnp.real(input), jnp.imag(input)], -1)


derivative(A.view_as_real, self=lambda g: A.view_as_complex.default(D.packed(g)))


def _geometry_view_as_complex(shape: Ints, strides: Ints) -> tuple[Ints, int]:
    if not shape or shape[-1] != 2:
        raise RuntimeError(
            "Tensor must have a last dimension of size 2"
            if shape
            else "Input tensor must have one or more dimensions"
        )
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return tuple(s // 2 for s in strides[:-1]), 0


def _put_view_as_complex(parent: Array, value: Array) -> Array:
    return jnp.stack([jnp.real(value), jnp.imag(value)], -1)


@view(
    _put_view_as_complex,
    _geometry_view_as_complex,
    geometric=False,
    method=False,
    aten="view_as_complex.default",
    autocast="cpu float32",
)
def view_as_complex(input: Array) -> Array:
    """Pairs of real numbers in the last dimension as complex ones; a view.

    Shapes: (*, 2) -> (*).

    Dtypes: float32 -> complex64, float64 -> complex128.

    Raises:
        RuntimeError: unless the last dimension has size 2 and stride 1, and the dtype is a
            floating-point one.
        NotImplementedError: for float16.

    Example:
        >>> import jtorch as torch
        >>> torch.view_as_complex(torch.tensor([[1.0, 2.0], [0.0, 3.0]]))
        tensor([1.+2.j, 0.+3.j])
    """
    if _complex_of(input.dtype) is None:
        if input.dtype == np.float16:
            raise NotImplementedError(
                "view_as_complex: float16 is not offered, as there is no arithmetic on complex32"
            )
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, "
            f"but got a tensor of scalar type: {scalar_name(input.dtype)}"
        )
    return lax.complex(input[..., 0], input[..., 1])


derivative(A.view_as_complex, self=lambda g: A.view_as_real.default(g))


def _put_view_dtype(parent: Array, value: Array, dtype: object) -> Array:
    return _bitcast(value, parent.dtype)


def _bitcast(x: Array, dtype: np.dtype) -> Array:
    old, new = np.dtype(x.dtype), np.dtype(dtype)
    if old == new:
        return x
    if old == np.bool_:
        return _bitcast(x.astype(np.uint8), new)
    if new == np.bool_:
        return _bitcast(x, np.dtype(np.uint8)) != 0
    if not x.ndim and "c" in (old.kind, new.kind) and old.itemsize == new.itemsize:
        return _bitcast(x.reshape(1), new).reshape(())
    if old.kind == "c":
        pair = jnp.stack([jnp.real(x), jnp.imag(x)], -1)
        return _bitcast(pair.reshape(*x.shape[:-1], 2 * x.shape[-1]) if x.ndim else pair, new)
    if new.kind == "c":
        part = np.dtype(f"f{new.itemsize // 2}")
        parts = _bitcast(x, part)
        pairs = parts.reshape(*parts.shape[:-1], parts.shape[-1] // 2, 2)
        return lax.complex(pairs[..., 0], pairs[..., 1])
    if old.itemsize == new.itemsize:
        return lax.bitcast_convert_type(x, new)
    if old.itemsize > new.itemsize:
        ratio = old.itemsize // new.itemsize  # (-1 would not do, as there may be no elements)
        return lax.bitcast_convert_type(x, new).reshape(
            *x.shape[:-1], ratio * x.shape[-1] if x.ndim else ratio
        )
    ratio = new.itemsize // old.itemsize
    return lax.bitcast_convert_type(x.reshape(*x.shape[:-1], x.shape[-1] // ratio, ratio), new)


def _geometry_view_dtype(shape: Ints, strides: Ints, ratio: object) -> tuple[Ints, int] | None:
    return None


def _view_dtype_bits(conj: bool, neg: bool) -> tuple[bool, bool]:
    if conj or neg:
        which = "conjugate view tensors" if conj else "tensors with negative bit set"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {which} when converting to a different dtype."
        )
    return conj, neg


@view(
    _put_view_dtype,
    _geometry_view_dtype,
    geometric=False,
    bits=_view_dtype_bits,
    namespace="_C",
    name="_view_dtype",
    differentiable=False,
    aten="view.dtype",
)
def _view_dtype(input: Array, dtype: Dtype) -> Array:
    """The same bytes as another dtype; the last dimension shrinks or grows with the size of an
    element."""
    return _bitcast(input, dtype)
