"""``torch._foreach_*``: one operation on lists of tensors. Each is the operation of one tensor,
called for every item; the engine runs what was recorded as one program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...core import BIRTHS, Tensor
from ...dispatch import TENSORS
from ..bind.cores import composite
from ..bind.everything import _C as BELOW
from ..bind.everything import PUBLIC, L, M, T
from ..engine import SPECIAL
from ..protocol.state import ACTIVE
from ..tensor.running import write_all

if TYPE_CHECKING:
    from ..engine.values import Aval
    from ..facts.kinds import Operands


_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p
    log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""".split()


def _tensors(name: str, items: object) -> list[Tensor]:
    if not isinstance(items, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not "
            f"{type(items).__name__}"
        )
    if not items:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(items)


#: How often in-place forms write into the items, for operations that may do so themselves.
ONCE = (1,)
#: Shorter lists are taken item by item: the engine would have a kernel for each of their lengths to
#: trace.
MANY = 8


def _together(items: Sequence[Tensor], written: bool = False) -> bool:
    """Whether one operation may take all of a list, because nobody could tell: many plain tensors
    with data, of one floating-point dtype, on one device, of which no history is recorded, while no
    mode is entered; views, too, if something is ``written``."""
    if len(items) < MANY or ACTIVE.modes or not TENSORS.issuperset(map(type, items)):
        return False
    values: list[Any] = [t._v for t in items]
    if MODE.enabled and any([t._rg for t in items]):  # noqa: C419 (a list is faster)
        return False
    if None in values:
        if not written:  # results may be laid out as views are
            return False
        values = [t._v or t._read() for t in items]
    first = values[0].aval
    dtype, device = first.torch_dtype, first.device
    return dtype.is_floating_point and all(
        [  # noqa: C419
            v.trace is not SPECIAL and (a := v.aval).torch_dtype is dtype and a.device == device
            for v in values
        ]
    )


def _apart(items: Operands) -> bool:
    """Whether tensors that may be taken together have memory of their own each, so that they may be
    written at once."""
    if BIRTHS or len(set(map(id, items))) != len(items):
        return False
    memory = _memory(items)
    if len(set(memory)) < len(memory):
        return False
    # a list is faster
    return all([(t._ver >= 0 if t._al is None else _has_views(t)) for t in items])  # noqa: C419


def _has_views(t: Tensor) -> bool:
    """Whether a tensor that is no view itself, and may be written, has some."""
    return t._al.base is None and t._strides is None and t._al.counter.n >= 0


def _memory(items: Operands) -> list[int]:
    """The memory of those tensors that others may have, too."""
    return [t._al.storage.address for t in items if t._al is not None]


def _write_alone(
    items: Operands, whole: Callable[[Sequence[Any]], tuple[Tensor, ...] | None]
) -> Operands:
    """Writes what ``whole`` computes into those of the tensors that have memory of their own, and
    returns the others: all, if it cannot."""
    if BIRTHS or len(set(map(id, items))) != len(items):
        return items
    alone = [t for t in items if t._al is None and t._ver >= 0]
    if not _together(alone) or (made := whole(alone)) is None:
        return items
    write_all(alone, made)
    return () if len(alone) == len(items) else [t for t in items if t._al is not None or t._ver < 0]


def _all_alike(items: Operands, *others: Any, written: bool = False) -> bool:
    """Whether one operation may take several lists: of plain tensors of single or double precision,
    each of its item's shape."""
    if not all(isinstance(o, (list, tuple)) and len(o) == len(items) for o in others):
        return False
    if not all(_together(o, written) for o in (items, *others)):
        return False
    first = items[0]._aval
    dtype, device, shapes = first.torch_dtype, first.device, _shapes(items)
    if dtype.itemsize < 4:
        return False
    for other in others:
        a = other[0]._aval
        if a.torch_dtype is not dtype or a.device != device or _shapes(other) != shapes:
            return False
    return True


def _shapes(items: Sequence[Tensor]) -> list[object]:
    return [(v.aval if (v := t._v) is not None else t._aval).shape for t in items]


def _written_alike(items: Sequence[object], *others: Any) -> bool:
    """As ``_all_alike``, where the results go into the first list: nothing that one item is
    computed from is an item before it."""
    if not _all_alike(items, *others, written=True) or not _apart(items):
        return False
    ids, memory = set(map(id, items)), set(_memory(items))
    return all(
        other is items or (ids.isdisjoint(map(id, other)) and memory.isdisjoint(_memory(other)))
        for other in others
    )


def _is_plain_number(number: float) -> bool:
    return type(number) in (float, int)


def _is_factor(number: Tensor | float, item: Aval) -> bool:
    """Whether a number, or a tensor without dimensions, is one that what is like an item can be
    multiplied by in its dtype."""
    if type(number) in (float, int):
        return item.torch_dtype.itemsize >= 4
    if type(number) is not Tensor or (MODE.enabled and number._rg):
        return False
    a = number._aval
    return a.ndim == 0 and a.torch_dtype is item.torch_dtype and a.device == item.device


def _multiplied(
    items: Sequence[object], other: float, inplace: bool = False
) -> tuple[Tensor, ...] | None:
    """The products of ``_foreach_mul``, where one operation can compute them."""
    if not isinstance(other, (list, tuple)):
        return (
            None
            if inplace and not _apart(items)
            else _scaled(items, other, ONCE if inplace else None)
        )
    if not (_written_alike if inplace else _all_alike)(items, other):
        return None
    return BELOW._products_of_each(items, other, writes=ONCE if inplace else None)


def _divided(
    items: Sequence[object], other: object, inplace: bool = False
) -> tuple[Tensor, ...] | None:
    """The quotients of ``_foreach_div``, where one operation can compute them."""
    if not (_written_alike if inplace else _all_alike)(items, other):
        return None
    return BELOW._quotients_of_each(items, other, writes=ONCE if inplace else None)


def _scaled(
    items: Operands, factor: Tensor | float, writes: tuple[int, ...] | None = None
) -> tuple[Tensor, ...] | None:
    """All tensors of a list times one factor, where one operation can do that."""
    if not _together(items, writes is not None) or not _is_factor(factor, items[0]._aval):
        return None
    return BELOW._scaled(items, factor, writes=writes)


def _have_norms(items: Operands, ord: float) -> bool:
    """Whether one operation may take the norms of all tensors of a list."""
    # an error is one of each
    return _together(items) and (0 < ord < math.inf or all([t._aval.size for t in items]))  # noqa: C419


def _total_norm_of(items: Sequence[object], ord: float) -> Tensor | None:
    """The norm of all tensors of a list as one vector, where one operation can compute it."""
    return BELOW._total_norm(items, ord) if _have_norms(items, ord) else None


def _scale_(items: Sequence[Tensor], factor: Tensor) -> None:
    """Multiplies all tensors of a list by one factor, in place."""
    for t in _write_alone(items, lambda alone: _scaled(alone, factor, ONCE)):
        M.mul_(t, factor if factor.device == t.device else factor.to(t.device))


def _clamp_(items: Sequence[object], low: float, high: float) -> None:
    """Moves the elements of all tensors of a list into an interval, in place."""
    for t in _write_alone(
        items,
        lambda alone: (
            BELOW._clamped(alone, low, high, writes=ONCE)
            if alone[0]._aval.torch_dtype.itemsize >= 4
            else None
        ),
    ):
        M.clamp_(t, min=low, max=high)


def _each(items: Sequence[object], others: object) -> Operands:
    """One right-hand side for each tensor: items of a list, or the same number or tensor for
    all."""
    if not isinstance(others, (list, tuple)):
        return [others] * len(items)
    if len(others) != len(items):
        if others and isinstance(others[0], Tensor):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(items)} and "
                f"{len(others)}"
            )
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return others


def _same_length(items: Sequence[object], *others: Any) -> None:
    for other in others:
        if len(other) != len(items):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(items)} and "
                f"{len(other)}"
            )


def _documented(text: str, lists: str, single: str) -> str:
    """A docstring of ``text``, and of an example that sets the operation on lists beside that of
    one tensor."""
    return f"""{text.rstrip()}

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.tensor([0.25]), torch.tensor([0.5, 1.0])
        >>> torch.allclose(torch.{lists}[1], torch.{single})
        True
    """


def _inplace_doc(name: str) -> str:
    return f"""In-place form of ``_foreach_{name}``.

    The results are written into the tensors of the first list.
    """


def _unary(op: str) -> None:
    def plain(self: Any) -> Any:
        return tuple([PUBLIC[op](t) for t in _tensors(f"_foreach_{op}", self)])

    def inplace(self: Any) -> Any:
        items = _tensors(f"_foreach_{op}_", self)
        for t in items:
            PUBLIC[f"Tensor.{op}_"](t)
        return self

    plain.__doc__ = _documented(
        f"``torch.{op}`` of each tensor of a list.", f"_foreach_{op}([x, y])", f"{op}(y)"
    )
    inplace.__doc__ = _documented(
        f"``Tensor.{op}_`` of each tensor of a list.", f"_foreach_{op}_([x, y.clone()])", f"{op}(y)"
    )
    composite(name=f"_foreach_{op}", lists=("self",))(plain)
    composite(name=f"_foreach_{op}_", lists=("self",))(inplace)


for _op in _UNARY:
    _unary(_op)


def _binary(
    name: str, op: str, whole: Callable[..., tuple[Tensor, ...] | None] | None = None
) -> None:
    """Declares ``_foreach_<name>`` and its in-place form for an operation of two operands;
    ``whole`` computes all at once, if it can."""

    def plain(self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None) -> Any:
        items = _tensors(f"_foreach_{name}", self)
        given = _other(f"_foreach_{name}", other, scalar, scalars)
        if whole is not None and (made := whole(items, given)) is not None:
            return made
        return tuple([PUBLIC[op](t, o) for t, o in zip(items, _each(items, given), strict=True)])

    def inplace(self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None) -> Any:
        items = _tensors(f"_foreach_{name}_", self)
        given = _other(f"_foreach_{name}_", other, scalar, scalars)
        if whole is not None and (made := whole(items, given, True)) is not None:
            write_all(items, made)
            return self
        for t, o in zip(items, _each(items, given), strict=True):
            PUBLIC[f"Tensor.{op}_"](t, o)
        return self

    what_it_does = f"""``torch.{op}`` of each tensor of a list and a number, or the items of a
    list of tensors or numbers.

    Raises:
        RuntimeError: if the list is empty, or the other has another length.
    """
    plain.__doc__ = _documented(
        what_it_does, f"_foreach_{name}([x, y], [2.0, 3.0])", f"{op}(y, 3.0)"
    )
    inplace.__doc__ = _documented(
        _inplace_doc(name), f"_foreach_{name}_([x, y.clone()], [2.0, 3.0])", f"{op}(y, 3.0)"
    )
    for body, suffix in ((plain, ""), (inplace, "_")):
        composite(name=f"_foreach_{name}{suffix}", operands=("other",), lists=("self",))(body)


def _other(name: str, other: list[Tensor] | float, scalar: object, scalars: object) -> object:
    """What was given as the right-hand side, under whichever name."""
    given = [x for x in (other, scalar, scalars) if x is not None]
    if len(given) != 1:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: it takes one of other, scalar "
            "and scalars"
        )
    return given[0]


for _op, _function in {"mul": "mul", "div": "div", "clamp_max": "clamp_max",
                       "clamp_min": "clamp_min",
                       "maximum": "clamp_min", "minimum": "clamp_max"}.items():  # fmt: skip
    _binary(_op, _function, {"mul": _multiplied, "div": _divided}.get(_op))


def _terms(
    name: str, alpha: int, other: list[Tensor] | int, scalar: object, scalars: object
) -> object:
    """As ``_other``; ``alpha`` scales tensors only."""
    found = _other(name, other, scalar, scalars)
    first = found[0] if isinstance(found, (list, tuple)) and found else found
    if alpha != 1 and not isinstance(first, Tensor):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: alpha goes with tensors only"
        )
    return found


def _sums(name: str, sign: int) -> None:
    """Declares ``_foreach_add`` or ``_foreach_sub``, which know ``alpha``."""

    def plain(
        self: Any, other: Any = None, *, alpha: Any = 1, scalar: Any = None, scalars: Any = None
    ) -> Any:
        items = _tensors(f"_foreach_{name}", self)
        found = _terms(f"_foreach_{name}", alpha, other, scalar, scalars)
        if _is_plain_number(alpha) and _all_alike(items, found):
            return BELOW._sums_of_each(items, found, sign * alpha, sign * alpha != 1)
        given = _each(items, found)
        return tuple([PUBLIC[name](t, o, alpha=alpha) for t, o in zip(items, given, strict=True)])

    def inplace(
        self: Any, other: Any = None, *, alpha: Any = 1, scalar: Any = None, scalars: Any = None
    ) -> Any:
        items = _tensors(f"_foreach_{name}_", self)
        found = _terms(f"_foreach_{name}_", alpha, other, scalar, scalars)
        if _is_plain_number(alpha) and _written_alike(items, found):
            write_all(
                items,
                BELOW._sums_of_each(items, found, sign * alpha, sign * alpha != 1, writes=ONCE),
            )
            return self
        given = _each(items, found)
        for t, o in zip(items, given, strict=True):
            PUBLIC[f"Tensor.{name}_"](t, o, alpha=alpha)
        return self

    what = "plus" if sign > 0 else "minus"
    what_it_does = f"""Each tensor of a list {what} ``alpha`` times a number, or the items of a
    list of tensors or numbers.

    Raises:
        RuntimeError: if the list is empty, or the other has another length.
        TypeError: for ``alpha`` with numbers.
    """
    plain.__doc__ = _documented(
        what_it_does, f"_foreach_{name}([x, y], [x, y], alpha=3)", f"{name}(y, y, alpha=3)"
    )
    inplace.__doc__ = _documented(
        _inplace_doc(name),
        f"_foreach_{name}_([x, y.clone()], [x, y], alpha=3)",
        f"{name}(y, y, alpha=3)",
    )
    for body, suffix in ((plain, ""), (inplace, "_")):
        composite(name=f"_foreach_{name}{suffix}", operands=("other",), lists=("self",))(body)


_sums("add", 1)
_sums("sub", -1)


@composite(operands=("self", "exponent"))
def _foreach_pow(self: Sequence[Tensor], exponent: Any) -> Any:
    """``torch.pow`` of each tensor of a list and a number or the items of a list; or of a number
    and each tensor of a list.

    Raises:
        RuntimeError: if a list is empty, or they differ in length.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_pow([torch.tensor([2.0]), torch.tensor([3.0, 4.0])], [3.0, 2.0])
        (tensor([8.]), tensor([ 9., 16.]))
        >>> torch._foreach_pow(2, [torch.tensor([3.0])])
        (tensor([8.]),)
    """
    if isinstance(self, (bool, int, float, complex)):
        return tuple([T.pow(self, e) for e in _tensors("_foreach_pow", exponent)])
    items = _tensors("_foreach_pow", self)
    return tuple([T.pow(t, e) for t, e in zip(items, _each(items, exponent), strict=True)])


@composite(operands=("exponent",), lists=("self",))
def _foreach_pow_(self: Sequence[Tensor], exponent: Any) -> Any:
    """In-place form of ``_foreach_pow``.

    Raises:
        RuntimeError: if a list is empty, or they differ in length.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_pow_([torch.tensor([3.0, 4.0])], 2)
        [tensor([ 9., 16.])]
    """
    items = _tensors("_foreach_pow_", self)
    for t, e in zip(items, _each(items, exponent), strict=True):
        t.pow_(e)
    return self


def _addc(op: str) -> None:
    """Declares ``_foreach_addcmul`` or ``_foreach_addcdiv``."""

    def values(items: Sequence[object], value: object, scalars: object) -> Sequence[Any]:
        given = value if scalars is None else scalars
        if isinstance(given, Tensor):
            if given.device.type != "cpu":
                raise RuntimeError(f"Expected scalars to be on CPU, got {given.device} instead.")
            if not given.is_contiguous():
                raise RuntimeError("Expected scalars to be contiguous.")
            if given.dim() != 1:
                raise RuntimeError(
                    "Expected packed scalar Tensor to be of dimension 1. "
                    f"Got {given.dim()} instead."
                )
            if given.numel() != len(items):
                raise RuntimeError(
                    f"Expected length of scalars to match input of length {len(items)} but got "
                    f"{given.numel()} instead."
                )
            given = given.tolist()
        return _each(items, given)

    def plain(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        items = _tensors(f"_foreach_{op}", self)
        _same_length(items, tensor1, tensor2)
        if scalars is None and _is_plain_number(value) and _all_alike(items, tensor1, tensor2):
            return BELOW._terms_of_each(items, tensor1, tensor2, value, op == "addcdiv")
        rows = zip(items, tensor1, tensor2, values(items, value, scalars), strict=True)
        return tuple([PUBLIC[op](t, a, b, value=v) for t, a, b, v in rows])

    def inplace(
        self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> Any:
        items = _tensors(f"_foreach_{op}_", self)
        _same_length(items, tensor1, tensor2)
        if scalars is None and _is_plain_number(value) and _written_alike(items, tensor1, tensor2):
            write_all(
                items,
                BELOW._terms_of_each(items, tensor1, tensor2, value, op == "addcdiv", writes=ONCE),
            )
            return self
        rows = zip(items, tensor1, tensor2, values(items, value, scalars), strict=True)
        for t, a, b, v in rows:
            PUBLIC[f"Tensor.{op}_"](t, a, b, value=v)
        return self

    what_it_does = f"""``torch.{op}`` of each tensor of three lists, with one ``value``
    or a list of them.

    Raises:
        RuntimeError: if the lists differ in length.
    """
    plain.__doc__ = _documented(
        what_it_does, f"_foreach_{op}([x, y], [x, y], [x, y], 3)", f"{op}(y, y, y, value=3)"
    )
    inplace.__doc__ = _documented(
        _inplace_doc(op),
        f"_foreach_{op}_([x, y.clone()], [x, y], [x, y], 3)",
        f"{op}(y, y, y, value=3)",
    )
    for body, suffix in ((plain, ""), (inplace, "_")):
        composite(name=f"_foreach_{op}{suffix}", lists=("self", "tensor1", "tensor2"))(body)


_addc("addcmul")
_addc("addcdiv")


def _weights(items: Sequence[object], weights: object, weight: object) -> Sequence[Any]:
    return _each(items, weight if weights is None else weights)


@composite(operands=("weights", "weight"), lists=("self", "tensors1"))
def _foreach_lerp(
    self: Sequence[Tensor], tensors1: Any, weights: Any = None, *, weight: Any = None
) -> Any:
    """``torch.lerp`` of each tensor of two lists, with one weight or a list of them.

    Raises:
        RuntimeError: if a list is empty, or they differ in length.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_lerp([torch.tensor([0.0])], [torch.tensor([4.0])], 0.25)
        (tensor([1.]),)
    """
    items = _tensors("_foreach_lerp", self)
    _same_length(items, tensors1)
    number = weight if weights is None else weights
    if _is_plain_number(number) and _all_alike(items, tensors1):
        return BELOW._lerps_of_each(items, tensors1, number)
    return tuple(
        [
            T.lerp(a, b, w)
            for a, b, w in zip(items, tensors1, _weights(items, weights, weight), strict=True)
        ]
    )


@composite(operands=("weights", "weight"), lists=("self", "tensors1"))
def _foreach_lerp_(
    self: Sequence[Tensor], tensors1: Any, weights: Any = None, *, weight: Any = None
) -> Any:
    """In-place form of ``_foreach_lerp``.

    Raises:
        RuntimeError: if a list is empty, or they differ in length.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_lerp_([torch.tensor([0.0])], [torch.tensor([4.0])], 0.25)
        [tensor([1.])]
    """
    items = _tensors("_foreach_lerp_", self)
    _same_length(items, tensors1)
    number = weight if weights is None else weights
    if _is_plain_number(number) and _written_alike(items, tensors1):
        write_all(items, BELOW._lerps_of_each(items, tensors1, number, writes=ONCE))
        return self
    for a, b, w in zip(items, tensors1, _weights(items, weights, weight), strict=True):
        a.lerp_(b, w)
    return self


@composite(lists=("self",))
def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> Any:
    """The vector norm of each tensor of a list, over all its elements.

    Shapes: any -> () for each.

    Dtypes: floating-point and complex ones -> the real type; ``dtype`` converts first.

    Raises:
        RuntimeError: if the list is empty, or for integers.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_norm([torch.tensor([3.0, 4.0])])
        (tensor(5.),)
    """
    items = _tensors("_foreach_norm", self)
    if dtype is None and type(ord) in (int, float) and _have_norms(items, ord):
        return BELOW._norm_of_each(items, float(ord))
    return tuple([L.vector_norm(t, ord, dtype=dtype) for t in items])


@composite(lists=("self",))
def _foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> Any:
    """The sum of the absolute values to the power ``ord`` of each tensor of a list: its norm before
    the root.

    Shapes: any -> () for each.

    Raises:
        RuntimeError: if the list is empty.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_powsum([torch.tensor([3.0, 4.0])])
        (tensor(25.),)
    """
    found = [
        (t if dtype is None else t.to(dtype)).abs().pow(ord).sum()
        for t in _tensors("_foreach_powsum", self)
    ]
    return tuple(found)


@composite(lists=("self",))
def _foreach_max(self: Sequence[Tensor]) -> Any:
    """The largest element of each tensor of a list.

    Shapes: any -> () for each.

    Raises:
        RuntimeError: if the list is empty, or a tensor.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_max([torch.tensor([1, 3]), torch.tensor([2])])
        (tensor(3), tensor(2))
    """
    items = _tensors("_foreach_max", self)
    if any(not t.numel() for t in items):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is "
            "undefined."
        )
    return tuple([T.max(t) for t in items])


@composite(lists=("self", "mat2"))
def _foreach_mm(self: Sequence[Tensor], mat2: Any) -> Any:
    """The matrix products of the items of two lists.

    Shapes: (n, m), (m, k) -> (n, k) for each pair.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_mm([torch.tensor([[1.0, 2.0]])], [torch.tensor([[3.0], [4.0]])])
        (tensor([[11.]]),)
    """
    items = _tensors("_foreach_mm", self)
    if len(mat2) != len(items):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    return tuple([T.mm(a, b) for a, b in zip(items, mat2, strict=True)])


@composite(lists=("self",))
def _foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> Any:
    """A copy of each tensor of a list.

    Raises:
        RuntimeError: if the list is empty.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_clone([torch.tensor([1, 2])])
        (tensor([1, 2]),)
    """
    options = {} if memory_format is None else {"memory_format": memory_format}
    return tuple([T.clone(t, **options) for t in _tensors("_foreach_clone", self)])


@composite(lists=("self",))
def _foreach_zero_(self: Sequence[Tensor]) -> Any:
    """Writes zero into every tensor of a list.

    Raises:
        RuntimeError: if the list is empty.

    Example:
        >>> import jtorch as torch
        >>> tensors = [torch.tensor([1, 2])]
        >>> torch._foreach_zero_(tensors)
        [tensor([0, 0])]
    """
    items = _tensors("_foreach_zero_", self)
    for t in _write_alone(items, BELOW._zeroed):
        t.zero_()
    return self


@composite(lists=("self", "src"))
def _foreach_copy_(self: Sequence[Tensor], src: Any, non_blocking: bool = False) -> Any:
    """``Tensor.copy_`` of the items of two lists.

    Shapes: each of ``src`` broadcasts to its tensor of ``self``.

    Raises:
        RuntimeError: if a list is empty, or they differ in length.

    Example:
        >>> import jtorch as torch
        >>> torch._foreach_copy_([torch.zeros(2)], [torch.tensor([1, 2])])
        [tensor([1., 2.])]
    """
    items = _tensors("_foreach_copy_", self)
    for t, s in zip(items, _each(items, src), strict=True):
        t.copy_(s, non_blocking)
    return self
