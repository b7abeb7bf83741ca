"""Public view functions: each gives a tensor that shares its operand's storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...autograd.tape import Node
from ...core import Tensor, alias_of, contiguous_strides, detached, lazy_bits
from ..bind.arguments import plain, sizes, whole
from ..bind.cores import composite, signature_of
from ..bind.forms import annotations_of, packed, spelled, spellings
from ..engine import SPECIAL, Aval, Call, Transformed, limits, record, shapes_of
from ..facts import dtypes
from ..facts.errors import (
    HIGHEST_LONG,
    canonical_dim,
    check_long,
    check_longs,
    given_twice,
    must_be_tensor,
    not_offered,
)
from ..facts.size import SYMBOLIC, slice_bounds
from ..facts.warned_once import warn_once
from ..ops import views as view_ops
from ..ops._declare import OPS, Op, Param
from ..ops._facts import schemas
from ..ops._kernel import Fixed, T, caches, call_of
from ..protocol.overridable import specialise
from .aliases import start_of
from .cells import Alias, Counter, Step, bits_of
from .looking import small_view, view
from .recorded import count_apart, give_back
from .running import rebind
from .view_steps import detaching, dynamic_step, memory_steps, step_of
from .writing import check_captured, check_inplace

if TYPE_CHECKING:
    from ..facts.kinds import Tree


_geometries: dict[Any, Any] = {}
#: Annotations of parameters that tuples of ints are given for as they are.
_SIZES = frozenset(
    (
        "tuple[int, ...]",
        "int | tuple[int, ...]",
        "int | tuple[int, ...] | None",
        "tuple[int, ...] | None",
    )
)
_INT = frozenset((int,))


def _is_ready(value: Tree, p: Param) -> bool:
    """Whether an argument is what the view op gets as it is."""
    kind = type(value)
    return (
        kind is int
        or value is p.default
        or (kind is tuple and p.annotation in _SIZES and set(map(type, value)) == _INT)
    )


def make_view(record_: view_ops.View, t: Tensor, statics: tuple[object, ...]) -> Tensor:
    """The view of ``t`` that a view op gives."""
    aval = t._aval
    if record_.bits is not None:
        record_.bits(*lazy_bits(t))  # raises where torch does
    key = (record_, statics, aval, t._strides)
    found = _geometries.get(key)
    offset = t._al.offset if t._al is not None else 0
    if found is None:
        for p, value in zip(record_.op.params[1:], statics, strict=False):
            check_longs(record_.op.name, p.name, value)
        found = record_.geometry(aval.shape, t._strides or contiguous_strides(aval.shape), *statics)
        strides, delta = (None, 0) if found is None else found
        found = _geometries[key] = (
            () if strides is None else strides,
            delta,
            step_of(record_, statics),
            None,
        )
    strides, delta, step, small = found
    if (
        small is not None
        and not t._rg
        and (made := small_view(t, (step,), strides, offset + delta, small)) is not None
    ):
        return made
    if not record_.geometric:  # counted in elements of the new size
        out = shapes_of(step.get, (aval,), aval.device).outs
        offset = offset * aval.dtype.itemsize // out.dtype.itemsize
    made = view(t, step, strides, offset + delta)
    if small is None and made._al.direct:
        _geometries[key] = strides, delta, step, made._aval  # known from now on
    return made


def _public(record_: view_ops.View) -> Callable[..., Tensor]:
    op = record_.op
    params = op.params[1:]
    #: What completes so many arguments.
    others = [tuple([p.default for p in params[n:]]) for n in range(len(params) + 1)]

    def core(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise must_be_tensor(op.name, "input", 1, input)
        if op.itself is not None and op.itself(input._aval.dtype):
            return input
        if not kwargs and len(args) < len(others):
            for x in args:
                if type(x) is not int:
                    break
            else:
                return make_view(record_, input, args + others[len(args)])
            if all(map(_is_ready, args, params)):
                return make_view(record_, input, args + others[len(args)])
        statics = [
            x if type(x) is int else plain(op.name, p, i + 2, x)
            for i, (p, x) in enumerate(zip(params, args, strict=False))
        ]
        rest = params[len(statics) :]
        if kwargs and not kwargs.keys() <= {p.name for p in rest}:
            name = next(n for n in kwargs if n not in {p.name for p in rest})
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{name}'")
        statics += [
            plain(op.name, p, 2, kwargs[p.name]) if p.name in kwargs else p.default for p in rest
        ]
        return make_view(record_, input, tuple(statics))

    core.__doc__ = op.body.__doc__
    core.__signature__ = signature_of(op)
    return core


def bind_view(record_: view_ops.View) -> dict[str, Callable[..., object]]:
    """The public forms of a view op by path: ``torch.x``, ``torch.Tensor.x``, and the in-place
    ``torch.Tensor.x_``."""
    op = record_.op
    core = _public(record_)
    found: dict[str, Callable[..., Any]] = {}
    if op.namespace == "_C":
        return {f"_C.{op.name}": core}
    names = [op.name, *op.aliases]
    for name in names:
        if op.namespace == "torch":
            found[name] = _callable(core, op, f"torch.{name}", "input")
        if op.method or op.namespace == "Tensor":
            found[f"Tensor.{name}"] = _callable(core, op, f"torch.Tensor.{name}", "self")
        if op.inplace:

            def update(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
                check_inplace(self, idempotent=True)
                return rebind(self, core(self, *args, **kwargs))

            signature = signature_of(op, "self")
            if others := spellings(op, f"Tensor.{name}_"):
                signature = spelled(signature, others)[0]
            update.__signature__ = signature
            found[f"Tensor.{name}_"] = specialise(
                update,
                f"torch.Tensor.{name}_",
                ["self"],
                signature=signature,
                doc=_inplace_doc(name),
                annotations=annotations_of(op, f"Tensor.{name}_"),
                unsaid=op.unsaid,
            )
    return found


def _inplace_doc(name: str) -> str:
    return f"""In-place form of ``{name}``.

    The tensor becomes the view of its memory that ``Tensor.{name}`` gives, where arguments and
    errors are described, and is returned.

    Raises:
        RuntimeError: while operations are recorded, for a leaf that requires grad.
    """


def _callable(core: Callable[..., object], op: Op, label: str, first: str) -> Callable[..., object]:
    told = {
        "wrapped": op.body,
        "doc": op.body.__doc__,
        "annotations": annotations_of(op, label.removeprefix("torch.")),
        "unsaid": op.unsaid,
    }
    if op.varargs == op.params[1].name if len(op.params) > 1 else False:

        def spread(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            if op.varargs in kwargs:
                if args:
                    raise given_twice(op.name, op.varargs)
                return core(self, kwargs.pop(op.varargs), **kwargs)
            if not args:
                raise TypeError(
                    f'{op.name}() missing 1 required positional arguments: "{op.varargs}"'
                )
            return core(self, packed(args), **kwargs)

        spread.__name__ = op.name
        if first == "input":
            return specialise(core, label, ["input"], signature=signature_of(op), **told)
        return specialise(spread, label, ["self"], **told)
    signature = signature_of(op, first)
    path = label.removeprefix("torch.")
    if others := spellings(op, path):
        signature = spelled(signature, others)[0]  # the core takes them by position
    return specialise(core, label, [first], signature=signature, **told)


_V = view_ops.VIEWS
_VIEW_SHAPE, _SLICE, _SLICE_AT = _V["Tensor._view_shape"], _V["_C._slice"], _V["_C._slice_at"]
_SELECT, SELECT_AT = _V["_C._select"], _V["_C._select_at"]
_VIEW_DTYPE, _EXPAND = _V["_C._view_dtype"], _V["Tensor.expand"]


def is_data(t: Tensor) -> bool:
    """Whether ``t`` is data rather than something computed: then positions are inputs of the
    program, not part of it."""
    if t._rg:
        return False
    v = t._v
    if v is None:
        al = t._al
        if al.storage.host is not None:
            return True
        v = al.storage.value or alias_of(t).storage.value
        if v is None:  # it has become NumPy's
            return True
    return v.array is not None and v.trace is not SPECIAL


#: Positions at which pending values were indexed, by shape, dimension and length.
_positions: dict[Any, set[int]] = {}
caches.append(_positions)


def _varies(t: Tensor, dim: int, start: int, length: int) -> bool:
    """Whether so many positions occur that they become inputs of the program. A few are better
    constants, which fuse."""
    seen = _positions.setdefault((t._aval, dim, length), set())
    if len(seen) < _MOST_CONSTANTS:
        seen.add(start)
    return start not in seen


_MOST_CONSTANTS = 3


def _check_tensor(name: str, t: Tensor) -> None:
    if not isinstance(t, Tensor):
        raise must_be_tensor(name, "input", 1, t)


@composite(method=True, operands=("input",))
@schemas(".int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
def select(input: Tensor, dim: int, index: int) -> Any:
    """One element of a dimension, which disappears; a view.

    Shapes: that of ``input`` without dimension ``dim``.

    Raises:
        IndexError: if ``index`` or ``dim`` is out of range, or the tensor has no dimension.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> x.select(1, 0)
        tensor([1, 3])
    """
    _check_tensor("select", input)
    shape = input._aval.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = canonical_dim(whole("select", "dim", dim), len(shape)), whole("select", "index", index)
    n = shape[d]
    if not -n <= i < n:
        check_long(i)
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {d}"
        )
    if i < 0:
        i += n
    return select_at(input, d, i)


def select_at(t: Tensor, dim: int, index: int) -> Tensor:
    """``select`` with checked arguments."""
    strides = t._strides or contiguous_strides(t._aval.shape)
    step = (
        dynamic_step(SELECT_AT, dim, index)
        if is_data(t) or _varies(t, dim, index, 1)
        else step_of(_SELECT, (dim, index))
    )
    offset = (t._al.offset if t._al is not None else 0) + strides[dim] * index
    return view(t, step, (*strides[:dim], *strides[dim + 1 :]), offset)


#: XLA does not count beyond 64 bits where a slice would end: longer steps are taken as steps over
#: the whole dimension.
MOST_STEP = 2**31


def slice_at(t: Tensor, dim: int, start: int, stop: int, step: int) -> Tensor:
    """Elements ``start:stop:step`` of a dimension, bounds within it; a view."""
    strides = t._strides or contiguous_strides(t._aval.shape)
    stop = stop if type(stop) in SYMBOLIC else max(stop, start)
    size = t._aval.shape[dim]
    if step > MOST_STEP and step + size > HIGHEST_LONG + 1:
        shape, stride = [*t._aval.shape], [*strides]
        shape[dim], stride[dim] = -1, min(step, HIGHEST_LONG)
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={shape} and strides={stride}"
        )
    offset = (t._al.offset if t._al is not None else 0) + strides[dim] * start
    return view(
        t,
        sliced_step(t, dim, size, start, stop, step),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]),
        offset,
    )


def sliced_step(t: Tensor, dim: int, size: int, start: int, stop: int, step: int) -> Step:
    """The step to elements ``start:stop:step`` of a dimension of so many."""
    if step > MOST_STEP:
        return step_of(_SLICE, (dim, start, stop, min(step, max(1, size))))
    if (
        step == 1
        and (start, stop) != (0, size)
        and (is_data(t) or _varies(t, dim, start, stop - start))
    ):
        return dynamic_step(_SLICE_AT, dim, start, stop - start)
    return step_of(_SLICE, (dim, start, stop, step))


@composite(namespace="_C", operands=("input",))
def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, stop: int | None = None, step: int = 1
) -> Tensor:
    """``input[start:stop:step]`` of one dimension with Python's rules for bounds; a view."""
    shape = input._aval.shape
    if not shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = canonical_dim(dim, len(shape))
    if step <= 0:
        raise ValueError("step must be greater than zero")
    a, b, c = slice_bounds(slice(start, stop, step), shape[d])
    return slice_at(input, d, a, b, c)


@composite(method=True, operands=("input",))
@schemas(
    "(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    ".Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` elements of a dimension from ``start`` on; a view.

    Args:
        input: the tensor.
        dim: the dimension that is cut.
        start: the first index, or a tensor with it; negative ones count from the end.
        length: how many there are.

    Shapes: that of ``input``, with size ``length`` in dimension ``dim``.

    Raises:
        IndexError, RuntimeError: if they are not all there.

    Example:
        >>> import jtorch as torch
        >>> torch.narrow(torch.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    _check_tensor("narrow", input)
    shape = input._aval.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.dim() or start.dtype.category != dtypes.INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d, s, n = (
        canonical_dim(whole("narrow", "dim", dim), len(shape)),
        whole("narrow", "start", start),
        whole("narrow", "length", length),
    )
    if n < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[d]
    if not -size <= s <= size:
        check_long(s)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size}], but got {s})"
        )
    s = s + size if s < 0 else s
    if s + n > size:
        check_long(n)
        raise RuntimeError(f"start ({s}) + length ({n}) exceeds dimension size ({size}).")
    return slice_at(input, d, s, s + n, 1)


def _size(name: str, args: Sequence[Any]) -> tuple[int, ...]:
    packed = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    for x in packed:
        if type(x) is not int:
            return sizes(name, "size", packed)
    return tuple(packed)


@composite(method=True, operands=("input",), ignored=("as_strided",))
@schemas(
    "(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a) ; _"
)
def as_strided(
    input: Tensor, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None = None
) -> Tensor:
    """Any strided look at the tensor's storage.

    Shapes: ``size``.

    Raises:
        RuntimeError: if it reaches beyond the storage, or a stride is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.as_strided(torch.arange(4), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    _check_tensor("as_strided", input)
    if (
        type(size) is tuple
        and type(stride) is tuple
        and (known := _known_part(input, size, stride, storage_offset)) is not None
    ):
        return known
    size, stride = _size("as_strided", (size,)), _size("as_strided", (stride,))
    check_longs("as_strided", "size", size)
    check_longs("as_strided", "stride", stride)
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape")  # noqa: F541
    offset = (
        input.storage_offset()
        if storage_offset is None
        else whole("as_strided", "storage_offset", storage_offset)
    )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    limits.check_size(size, 1, view=True)
    al = alias_of(input)
    storage = al.storage
    base = storage.aval if storage.value is None else storage.value.aval
    if isinstance(storage.value, Transformed) and storage.value.start(storage) is not None:
        _check_part(input, al, size, stride, offset)
        # which refuses parts that have gaps
        memory_steps(base, storage.strides, (), (), 0, base.dtype)
        offset -= start_of(al)
    last = (
        offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1
        if 0 not in size
        else offset
    )
    itemsize = input._aval.dtype.itemsize
    if last * itemsize > HIGHEST_LONG:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    if 0 not in size and last * itemsize > base.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {itemsize} requiring a storage size of {last * itemsize} are out of bounds "
            f"for storage of size {base.nbytes}"
        )
    dtype = input._aval.dtype
    if dtype != base.dtype and base.nbytes % itemsize and itemsize % base.dtype.itemsize:
        raise not_offered(
            f"as_strided of a view as {input.dtype}",
            f"its storage of {base.nbytes} bytes is no whole number of elements",
        )
    steps = memory_steps(base, storage.strides, size, stride, offset, dtype, bits_of(al.chain))
    root = _whole(al) if al.chain else input
    bits = sum(bits_of(al.chain))  # whose steps come last, of the memory as it is looked at
    for step in steps[: len(steps) - 1 - bits]:
        root = view(root, step, (1,), 0)
    for step in steps[len(steps) - 1 - bits : -1]:
        root = view(root, step, stride, offset)
    made = view(root, steps[-1], stride, offset)
    if (
        len(steps) == 1
        and root is input
        and not al.chain
        and base is input._aval
        and len(_regions) < _MOST_REGIONS
    ):
        _regions[base, size, stride, offset] = steps[0], made._aval
    if al.chain:
        made._al.base = al.base if al.base is not None else input
        made._al.origin = al.origin if MODE.enabled else "no_grad"
        v = input._v or input._read()
        if input._rg and MODE.enabled and v.aval.differentiable:
            if al.origin is not None:
                input._check_origin()
            geometry = (
                input._strides or contiguous_strides(v.aval.shape),
                al.offset,
                size,
                stride,
                offset,
            )
            made._node = Node(
                _part_call(geometry), (v,), (input._edge(),), (), (made._v or made._read(),)
            )
            made._rg = True
    return made


#: Looks at the whole memory of tensors that were made before: the step and the description of each.
_regions: dict[Any, tuple[Step, Aval]] = {}
caches.append(_regions)
_MOST_REGIONS = 4096


def _known_part(
    t: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int | None
) -> Tensor | None:
    """``as_strided`` of memory at hand as it was seen before; None where it is not to be had so."""
    al = t._al
    if (
        t._rg
        or t._strides is not None
        or (al is not None and (al.chain or al.offset or al.storage.strides is not None))
    ):
        return None
    if set(map(type, size + stride)) != _INT or not (offset is None or type(offset) is int):
        return None
    known = _regions.get((t._aval, size, stride, offset or 0))
    return None if known is None else small_view(t, (known[0],), stride, offset or 0, known[1])


def _check_part(
    t: Tensor, al: Alias, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    """Raises torch's error for a look at memory beyond one example of a ``vmap``; refuses one
    beyond the value of a dual tensor."""
    if 0 in size:
        return
    shape, begin = t._aval.shape, start_of(al)
    last = offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    pair = [getattr(al.storage, name, None) for name in ("primal", "tangent")]
    if pair[0] is not None and not any(hasattr(t._read(), "physical") for t in pair):
        if offset < begin or (last - begin) * t._aval.dtype.itemsize > al.storage.aval.nbytes:
            raise not_offered(
                "as_strided of a dual tensor, beyond the value that it was made of,",
                "its tangent has no more elements",
            )
        return
    start = al.offset + begin
    end = (
        start
        + 1
        + sum(
            [
                (n - 1) * s
                for n, s in zip(shape, t._strides or contiguous_strides(shape), strict=True)
            ]
        )
    )
    if 0 not in shape and start <= offset and last <= end:
        return
    within = (
        (
            "`tensor` has no storage but the passed-in (size, stride, storage_offset) imply a "
            "result with some storage."
        )
        if 0 in shape
        else f"`result` can access some memory in range [{offset}, {last}], but `tensor` can only "
        f"access some memory in range [{start}, {end}]."
    )
    raise RuntimeError(
        f"result = tensor.as_strided({list(size)}, {list(stride)}, {offset}) can access memory "
        f"outside of `tensor`. {within} This is not supported inside of vmap, please try to "
        "rewrite the `as_strided` call as a sequence of PyTorch view operations"
    )


def _part_call(geometry: tuple[object, ...]) -> Call:
    return call_of(OPS["_C._as_strided_part"], (T, *[Fixed(g) for g in geometry]))


def _whole(al: Any) -> Tensor:
    """A tensor without history that looks at the whole storage of an alias."""
    storage = al.storage
    r = object.__new__(Tensor)
    r._al = made = type(al)(storage, (), storage.value, None, 0, 0)
    made.version, made.counter, made.aval, made.strides = (
        storage.version,
        al.counter,
        storage.aval,
        storage.strides,
    )
    r._strides = storage.strides
    return r


@composite(namespace="torch", method=False, operands=("input",), implicit=True)
@schemas("(Tensor(a) self) -> Tensor(a)")
def real(input: Tensor) -> Tensor:
    """The real parts: a view of a complex tensor, the tensor itself if it is real.

    Shapes: that of ``input``.

    Dtypes: complex ones -> the real type; others as they are.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1 + 2j, 3 - 1j])
        >>> torch.real(x)
        tensor([1., 3.])
    """
    _check_tensor("real", input)
    return make_view(_V["_C._real"], input, ()) if input.dtype.is_complex else input


@composite(namespace="torch", method=False, operands=("input",), implicit=True)
@schemas("(Tensor(a) self) -> Tensor(a)")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view.

    Shapes: that of ``input``.

    Dtypes: complex ones -> the real type.

    Raises:
        RuntimeError: for real tensors.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1 + 2j, 3 - 1j])
        >>> torch.imag(x)
        tensor([ 2., -1.])
    """
    _check_tensor("imag", input)
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return make_view(_V["_C._imag"], input, ())


@composite(method=True, operands=("input",), opaque=True)
@schemas("(Tensor(a) self) -> Tensor(a) ; _")
def detach(input: Tensor) -> Any:
    """The same data without history; in-place changes are seen in both.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> (2 * x).detach().requires_grad
        False
    """
    _check_tensor("detach", input)
    made = detached(input)
    if input._inference and made._al is not None:
        made._al.counter = Counter(count_apart(input))
    return made


@composite(namespace="Tensor", operands=("self",), differentiable=False, lazy="conj neg")
def detach_(self: Tensor) -> Tensor:
    """Cuts the tensor from its history, in place.

    Raises:
        RuntimeError: for views, whose history belongs to their base.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True) * 2
        >>> x.detach_().requires_grad
        False
    """
    if MODE.starts:
        check_captured(self)
    al = self._al
    # made by `make_dual`
    if self._is_view() or (
        al is not None and al.storage.primal is not None and al.storage.within is None
    ):
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    self._node, self._nr, self._rg = None, 0, False
    if self._lent:
        give_back(self)
    v = self._read()
    while (al := self._al) is not None and al.storage.within is not None:
        al.storage.give_up(self)
    if isinstance(v, Transformed) and (stopped := record(detaching().get, (v,), ())) is not v:
        al = self._al
        if al is None:
            self._v = stopped
        else:
            al.now(stopped, al.storage.put(al, stopped))
    return self


def with_bits(t: Tensor, bits: tuple[bool, bool]) -> Tensor:
    """A tensor without history on the same memory, with the conjugate bit and the negative bit as
    told."""
    for path, mine, wanted in zip(("conj", "_neg_view"), lazy_bits(t), bits, strict=True):
        if mine != wanted:
            t = detached(make_view(_V[path], t, ()))
    return t


@composite(method=True, operands=("input",), implicit=True)
@schemas("(Tensor(a) self) -> Tensor(a)")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions; a view.

    Shapes: (*, m, n) -> (*, n, m).

    Raises:
        RuntimeError: for vectors.

    Example:
        >>> import jtorch as torch
        >>> torch.adjoint(torch.tensor([[1 + 1j, 2 + 0j]]))
        tensor([[1.-1.j],
                [2.-0.j]])
    """
    return _adjoint(input)


def warn_of_number(name: str, advice: str) -> None:
    """Warns once that a name for matrices was used on a tensor without dimensions."""
    warn_once(f"{name} is deprecated on 0-D tensors. {advice}")


def warn_of_reversal(t: Tensor) -> None:
    """Warns once that ``x.T`` was used on what is no matrix."""
    if t.dim() == 0:
        warn_of_number("Tensor.T", "This function is the identity in these cases.")
    else:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )


def _adjoint(t: Tensor, name: str = "adjoint()") -> Tensor:
    if t.dim() == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    if t.dim() == 0:
        warn_of_number(name, "Consider using x.conj().")
    r = make_view(_V["transpose"], t, (-2, -1)) if t.dim() else t
    return make_view(_V["conj"], r, ()) if t.dtype.is_complex else r
