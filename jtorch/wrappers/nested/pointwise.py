"""Functions that work element by element: which ones they are, and how dense operands are aligned
with ragged ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch import Tensor, overrides

from ..._src.bind.bound import POINTWISE
from ..._src.bind.forms import OPERATORS
from .ragged import NestedInt, pack, spread
from .tensor import Nested, NestedTensor, structure_matches

if TYPE_CHECKING:
    from ..._src.aten.overloads import OpOverload
    from ..._src.facts.kinds import Arguments, Operand


#: Functions that act on each element but are no ops of an elementwise family: conversions, copies
#: of themselves, random draws, losses.
_ALSO = """
    alpha_dropout alpha_dropout_ bernoulli bernoulli_ cauchy_ conj dropout dropout_ exponential_
    fill fill_ geometric_ imag.__get__ imag is_complex is_conj is_floating_point is_inference is_neg
    is_signed log_normal_ masked_fill masked_fill_ normal_ random_ real real.__get__ resolve_conj
    resolve_neg rrelu rrelu_ uniform_ zero_ apply_ map_ dtype.__get__ device.__get__ is_cpu.__get__
    is_cuda.__get__ is_ipu.__get__ is_maia.__get__ is_meta.__get__ is_mkldnn.__get__ is_mps.__get__
    is_mtia.__get__ is_quantized.__get__ is_sparse.__get__ is_sparse_csr.__get__ is_vulkan.__get__
    is_xla.__get__ is_xpu.__get__ itemsize.__get__ is_leaf.__get__ grad_fn.__get__ output_nr.__get__
    requires_grad.__get__ requires_grad.__set__ retains_grad.__get__ element_size get_device
    requires_grad_ retain_grad is_pinned is_shared detach detach_ data.__get__ pin_memory
    record_stream share_memory_ untyped_storage storage storage_offset
""".split()
#: Of an elementwise family, but not of ragged tensors: a weight for each channel, a tensor of its
#: own kind.
_NOT = ("prelu",)


@functools.cache
def names() -> frozenset[str]:
    """The names of all elementwise functions, methods and operators, in-place forms included: read
    from the declarations."""
    from ..._src.ops._declare import OPS

    found = set(_ALSO)
    for op in OPS.values():
        if op.family not in POINTWISE or op.namespace == "_C" or op.name in _NOT:
            continue
        own = {op.name, *(alias.rpartition(".")[2] for alias in op.aliases)}
        found |= own | {f"{name}_" for name in own}
        for sign in op.operators:
            found.update(name for name in OPERATORS[sign] if name)
    return frozenset(found)


@functools.cache
def _overload(func: Callable[..., object]) -> str:
    """The ATen name that torch's messages use for a function of two operands: ``add.Tensor``."""
    from ..._src.ops._declare import OPS

    name = func.__name__.strip("_")
    op = OPS.get(name)
    overload = (op.aten if op is not None else None) or f"{name}.default"
    return overload.replace(".", "_.", 1) if is_inplace(func) else overload


@functools.cache
def is_inplace(func: OpOverload | Callable[..., object]) -> bool:
    """Whether a function writes into its first operand: ``add_``, ``__iadd__``."""
    name = (overrides.resolve_name(func) or func.__name__).rpartition(".")[2]
    if name.startswith("__"):
        return name in _INPLACE_OPERATORS
    return name.endswith("_")


_INPLACE_OPERATORS = frozenset(
    f"__i{name}__"
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "div",
    )
)


def apply(func: Callable[..., object], args: Arguments, kwargs: dict[str, object]) -> Any:
    """``func`` on the packed values of nested operands; dense operands are broadcast. Tensors among
    the results become nested."""
    if len(args) == 1 and not kwargs:
        nt = args[0]
        return wrapped(func(nt._values), nt)
    nested: list[Any] = [x for x in (*args, *kwargs.values()) if isinstance(x, Nested)]
    first = nested[0]
    for x in (*args, *kwargs.values()):
        if isinstance(x, NestedInt):
            raise RuntimeError(f"NestedTensor {_overload(func)}: invalid argument {x}")
    for other in nested[1:]:
        if not isinstance(other, NestedTensor) or not _agrees(first, other):
            raise _mismatch(func, first, other)
    if is_inplace(func) and not isinstance(args[0], Nested):
        raise _mismatch(func, args[0], first)

    def inner(x: object) -> Operand:
        if isinstance(x, Nested):
            return x._values
        return aligned(x, first, func) if isinstance(x, Tensor) else x

    result = func(*map(inner, args), **{name: inner(x) for name, x in kwargs.items()})
    for given in nested:  # in place, or out=
        if result is given._values:
            return given
    return wrapped(result, first)


def wrapped(result: object, nt: NestedTensor) -> Any:
    """Tensors become nested ones of the structure of ``nt``, except 0-dim ones; tuples and named
    results are rebuilt, the rest stays."""
    if isinstance(result, Tensor):
        if result is nt._values:
            return nt
        return nt._like(result) if result.dim() or not nt._values.dim() else result
    if isinstance(result, (tuple, list)) and any(isinstance(x, Tensor) for x in result):
        return type(result)([wrapped(x, nt) for x in result])
    return result


def _agrees(a: NestedTensor, b: NestedTensor) -> bool:
    same = (
        a._cut is b._cut
        or (a._cut.ragged is b._cut.ragged)
        or (a._cut.lengths is None and b._cut.lengths is None)
    )
    return (
        same
        and a._ragged_idx == b._ragged_idx
        and len(a._size) == len(b._size)
        and structure_matches(a, b._size)
    )


def _mismatch(func: object, a: object, b: object) -> RuntimeError:
    both = isinstance(a, NestedTensor) and isinstance(b, NestedTensor)
    shapes = (a._size, b._size) if both else (_shape(a), _shape(b))
    return RuntimeError(
        f"cannot call binary pointwise function {_overload(func)} with inputs of shapes "
        f"{shapes[0]} and {shapes[1]}"
    )


def _shape(x: Any) -> Any:
    return x.shape if not isinstance(x, Nested) or isinstance(x, NestedTensor) else "(strided)"


def aligned(t: Tensor, nt: NestedTensor, func: object) -> Tensor:
    """A dense operand as one that broadcasts with the packed values of ``nt``.

    Trailing dimensions broadcast as they are; ``(B, 1, *)`` gives each item one row,
    ``(B, longest, *)`` each position its own.

    Raises:
        RuntimeError: if the shapes do not fit.
    """
    if not t.dim():
        return t
    ndim = len(nt._size)
    if t.dim() > ndim:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    ones = 0
    while ones < t.dim() and t.shape[ones] == 1:
        ones += 1
    trailing = t.shape[ones:]
    from_right = ndim - nt._ragged_idx
    if ndim >= len(trailing) + 2 and (len(trailing) < from_right or trailing[-from_right] == 1):
        return t.reshape(trailing) if ones else t
    if t.dim() != ndim or t.shape[0] != nt._cut.batch:
        raise _mismatch(func, nt, t)
    total, size = nt._total(), t.shape[nt._ragged_idx]
    front = t if nt._ragged_idx == 1 else t.movedim(nt._ragged_idx, 1)
    if size == 1:
        rows = spread(front.squeeze(1), nt._cut, total)
    else:
        wanted = [n if i != nt._ragged_idx else nt._cut.largest for i, n in enumerate(t.shape)]
        t.expand(wanted)  # torch's error, unless the size is that of the longest item
        if nt._cut.lengths is not None:
            raise NotImplementedError(
                "a dense operand with a size for each ragged position cannot be used with holes "
                "between the items"
            )
        rows = pack(front, nt._cut, total)
    return rows if nt._ragged_idx == 1 else rows.movedim(0, nt._ragged_idx - 1)
