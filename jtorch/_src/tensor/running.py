"""Running calls on tensors: record, attach history, wrap; in-place and ``out=`` writes. Floor 2:
knows no single op."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from sys import getrefcount as _refs
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import FORWARD, MODE, no_grad
from ...autograd.names import INPLACE_VIEWS
from ...autograd.tape import Node
from ...core import (
    BIRTHS,
    DETACHED,
    Tensor,
    alias_of,
    born,
    contiguous_strides,
    from_value,
    is_contiguous,
    is_dense,
)
from ..engine import META, SPECIAL, STOPPING, Call, Lifted, Value, numbers_of, put, record
from ..facts import dtypes
from ..facts.devices import device, placement
from ..facts.errors import uncastable, wrong_out_dtype
from ..facts.layouts import coincide
from ..facts.size import SYMBOLIC, less
from ..facts.warned_once import outside
from ..ops._facts import Facts
from .cells import OVERLAP
from .module_state import check_buffer
from .resizing import look_at
from .setting import set_at_once
from .writing import (
    INFERENCE,
    assign,
    check_inplace,
    check_lifted,
    check_overlap,
    overlapping,
    retain_again,
    stale,
)

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Operands, Tree


_new = object.__new__


def apply(
    call: Call, tensors: Sequence[Tensor], ins: Sequence[Value], numbers: Arguments = ()
) -> Tree:
    """Runs ``call`` on tensors whose values are ``ins``: a tensor, or a tuple of tensors."""
    # The first operand that requires grad decides; with none, which is most calls, nothing of
    # autograd is touched.
    for t in tensors:
        if t._rg:
            if MODE.enabled and call.extra.differentiable:
                return _apply_tracked(call, tensors, ins, numbers)
            break
    out = record(call, ins, numbers)
    if type(out) is not list:
        r = _new(Tensor)
        r._v = out
        if BIRTHS:
            r._birth = born()
        return r
    made = []
    for v in out:  # hundreds for a step of an optimiser
        r = _new(Tensor)
        r._v = v
        made.append(r)
    if BIRTHS:
        _told(made)
    return tuple(made)


def _apply_tracked(
    call: Call, tensors: Sequence[Tensor], ins: Sequence[Value], numbers: tuple[float, ...]
) -> tuple[Tensor, ...] | Tensor:
    edges = []
    unsure = False
    for t, v in zip(tensors, ins, strict=True):
        if not t._rg or not v.aval.differentiable:
            edges.append(None)
            if (t._ver if t._al is None else t._al.counter.n) < 0:
                unsure = True
        elif t._al is None:
            if t._node is not None:
                edges.append((t._node, t._nr))
                continue
            edges.append(t)
            if t._ver < 0:
                unsure = True
        else:
            if t._al.origin is not None:
                t._check_origin()
            edges.append(t._edge())
    # A kernel with a ``fwd`` of its own gives residuals, too: only recorded calls pay for computing
    # them.
    info = call.extra
    if info.tracked is not None:
        call = info.tracked
    out = record(call, ins, numbers)
    if type(out) is not list:
        r = _new(Tensor)
        r._v = out
        if BIRTHS:
            r._birth = born()
        if out.aval.differentiable:
            r._node = Node(call, ins, edges, numbers, (out,))
            r._rg = True
            if unsure:
                check_saved(r._node, tensors)
        # they are asked for a dtype
        elif info.op.family == "reduction" and any(e is not None for e in edges):
            raise RuntimeError(f"Autograd not support dtype: {out.aval.torch_dtype.scalar_name}")
        return r
    node = Node(call, ins, edges, numbers, out)
    if unsure:
        check_saved(node, tensors)
    constant = info.op.constant
    made = []
    for j in range(node.visible):
        v = out[j]
        r = _new(Tensor)
        r._v = v
        if v.aval.differentiable and j not in constant:
            r._node, r._nr, r._rg = node, j, True
        made.append(r)
    if BIRTHS:
        _told(made)
    return made[0] if call.extra.single else tuple(made)


def _told(made: Sequence[Tensor]) -> None:
    for r in made:
        r._birth = born()


def check_saved(node: Node, tensors: Sequence[Tensor]) -> None:
    """Raises torch's error if a node saves a tensor made in inference mode (or would in torch,
    which saves no residuals)."""
    info = node.call.extra
    kept = (True,) * len(tensors) if info.hidden else node.kept
    if any(
        t._inference and keep and checked
        for t, keep, checked in zip(tensors, kept, info.checked, strict=False)
    ):
        raise RuntimeError(UNSAVED)


UNSAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)


# ---- strides of pointwise results ----------------------------------------------------------------

_layouts: dict[Any, tuple[int, ...] | None] = {}


def preserve_layout(result: Tensor, source: Tensor) -> Tensor:
    """Gives a copy the strides of a dense source, and those of the pointwise rule otherwise."""
    strides = source._strides
    if strides is not None:
        if is_dense(source._aval.shape, strides):
            result._strides = strides
        else:
            keep_layout(result, (source,))
    return result


def keep_layout(result: Tensor, tensors: Sequence[Tensor], number: bool = False) -> Tensor:
    """Gives a pointwise result the memory order that torch's iterator would choose from its
    operands' strides.

    ``number`` says that a Python number is among the operands, which counts as one of another
    shape.
    """
    shape = result._aval.shape
    # one answer about all elements, such as ``equal``
    if any(t._aval.ndim > len(shape) for t in tensors):
        return result
    operands = tuple(
        [(t._aval.shape, t._strides or contiguous_strides(t._aval.shape)) for t in tensors]
    )
    if number:
        operands += (((), ()),)
    key = (shape, operands)
    if key in _layouts:
        strides = _layouts[key]
    else:
        strides = _layouts[key] = pointwise_strides(shape, operands)
    if strides is not None:
        result._strides = strides
    return result


def _is_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a 4-dim tensor lies in memory with channels innermost; strides of dimensions of size
    1 do not matter."""
    expected = 1
    for i in (1, 3, 2, 0):
        if shape[i] != 1 and strides[i] != expected:
            return False
        expected *= shape[i]
    return True


def pointwise_strides(
    shape: tuple[int, ...], operands: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
) -> tuple[int, ...] | None:
    """The strides that torch's iterator gives a new result, from its operands' shapes and strides;
    None for contiguous ones."""
    ndim = len(shape)
    same = [s for sh, s in operands if sh == shape]
    if (
        ndim == 4
        and len(same) == len(operands)
        and all(_is_channels_last(shape, s) and not is_contiguous(shape, s) for s in same)
    ):
        _, c, h, w = (max(n, 1) for n in shape)
        return (h * w * c, 1, w * c, c)
    if len(same) == len(operands) and all(s == same[0] for s in same) and is_dense(shape, same[0]):
        return None if is_contiguous(shape, same[0]) else same[0]
    if same and len(same) == len(operands) and all(is_contiguous(shape, s) for s in same):
        return None
    columns = []
    for sh, s in operands:
        lead = ndim - len(sh)
        columns.append(
            [0] * lead
            + [
                0 if n == 1 and shape[i + lead] != 1 else st
                for i, (n, st) in enumerate(zip(sh, s, strict=True))
            ]
        )
    order = list(range(ndim - 1, -1, -1))  # from the fastest dimension

    def before(a: int, b: int) -> int:
        for c in columns:
            if c[a] == 0 or c[b] == 0:
                continue
            if c[a] != c[b]:
                return 1 if (less(c[b], c[a]) if SYMBOLIC else c[a] > c[b]) else -1
            if less(shape[b], shape[a]) if SYMBOLIC else shape[a] > shape[b]:
                return 1
        return 0

    # insertion sort: ambiguous comparisons keep looking further down, as torch's does
    for i in range(1, ndim):
        at = i
        for j in range(i - 1, -1, -1):
            found = before(order[j], order[at])
            if found > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif found < 0:
                break
    strides = [0] * ndim
    step = 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    found = tuple(strides)
    return None if found == contiguous_strides(shape) else found


# ---- writing -------------------------------------------------------------------------------------


def cast_call(dtype: dtypes.dtype) -> Call:
    """The call that converts to ``dtype``; set by the floor above, which knows the op."""
    raise NotImplementedError


def settled(t: Tensor, result: Tensor) -> Tensor:
    """A result that is written into repeated elements, with one value for each; set by the floor
    above, which knows the ops."""
    raise NotImplementedError


def check_cast(result: dtypes.dtype, target: dtypes.dtype) -> None:
    """Raises torch's error if a result may not be written into a tensor of ``target``."""
    if result is not target and not dtypes.can_cast(result, target):
        raise RuntimeError(
            f"result type {result.scalar_name} can't be cast to the desired output type "
            f"{target.scalar_name}"
        )


def inplace(t: Tensor, result: Tensor) -> Tensor:
    """Writes an op's result into its first operand, as the op's in-place form does."""
    mine, its = t._aval, result._aval
    if mine is not its:
        if its.shape != mine.shape:
            raise RuntimeError(
                f"output with shape {list(mine.shape)} doesn't match the broadcast shape "
                f"{list(its.shape)}"
            )
        if mine.torch_dtype is not its.torch_dtype:
            check_cast(its.torch_dtype, mine.torch_dtype)
            result = converted(result, mine.torch_dtype)
    al = t._al
    if al is None:
        v: Value = result._v or result._read()
        if v.trace is SPECIAL:
            check_lifted(t, v)
        elif t._state and not t._rg:
            check_buffer(t)
        old = t._v
        if old is None:  # another thread has made a view
            return inplace(t, result)
        if (v.trace is SPECIAL or old.trace is SPECIAL) and (
            STOPPING.within is not None or not FORWARD.enabled
        ):
            return assign(t, v, (result._node, result._nr) if result._rg else None)
        # Unless somebody else holds the old value, a graph mostly, nobody needs to be told that it
        # is superseded.
        held = _refs(old) > ALONE
        # from here on no call, so that no other thread comes in between and makes one
        if t._al is not None:
            return inplace(t, result)
        t._v = v
        t._ver += 1
        if held:
            stale(old, t, t._ver - 1, result._node)
        if result._rg:
            t._node, t._nr, t._rg = result._node, result._nr, True
            if t._retains:
                retain_again(t)
        return t
    if al.chain and not result._rg and set_at_once(t, (), result):
        return t
    if t._strides is not None and mine.device != META and coincide(mine.shape, t._strides):
        result = settled(t, result)
    return assign(
        t, result._v or result._read(), (result._node, result._nr) if result._rg else None
    )


def _count_alone() -> int:
    """References to a value that one tensor alone has, as functions that write into many tensors
    count them."""
    t = _new(Tensor)
    t._v = Value()
    old = t._v
    return _refs(old)


ALONE = _count_alone()


def write_all(tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """``inplace`` of many tensors and results of the same dtypes and shapes, without histories;
    nothing if they have been written."""
    if results[0] is tensors[0]:
        return
    for t, r in zip(tensors, results, strict=True):
        old, v = t._v, r._v
        if (
            t._al is not None
            or old is None
            or v is None
            or v.trace is SPECIAL
            or old.trace is SPECIAL
            or t._state
        ):
            inplace(t, r)
            continue
        # Unless somebody else holds the old value, a graph mostly, nobody needs to be told that it
        # is superseded.
        held = _refs(old) > (ALONE if old.trace is None else ALONE + 1)
        # another thread has made a view; from here on no call, so that none comes in between
        if t._al is not None:
            inplace(t, r)
            continue
        t._v = v
        t._ver += 1
        if held:
            stale(old, t, t._ver - 1)


def converted(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    """``t`` in another dtype, with history."""
    v = t._v or t._read()
    return apply(cast_call(dtype), (t,), (v,))


def write_out(
    result: Any,
    out: object,
    name: str,
    operands: Operands = (),
    whole: bool = False,
    field: str = "",
    facts: Facts | None = None,
    asked: bool = False,
    recorded: bool = False,
    underivable: bool = False,
) -> object:
    """Writes a result (or a tuple of them) into what the caller gave as ``out=`` and returns that.

    ``operands`` must not share a part of the memory of ``out``; with ``whole``, not all of it
    either. ``field`` is the result's name, where it is one of several. ``facts`` of the function
    say which words it has for an ``out`` of another dtype. ``asked`` says that the caller gave the
    size, so that ``out`` may get it without a warning; ``recorded`` that autograd knows the
    function, whatever its result is here; ``underivable`` that it knows no derivative of it, so
    that what is written into a tensor with a history would have a wrong one.

    Raises:
        RuntimeError: if the dtype does not fit, an operand or ``out`` requires grad, or memory is
            shared.
        TypeError: if ``out`` is no tensor.
    """
    if isinstance(result, tuple):
        if facts is not None and facts.out_of_one is not None:
            if isinstance(out, Tensor):
                raise RuntimeError(facts.out_of_one)
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(
                f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}"
            )
        fields = getattr(result, "_fields", ("",) * len(result))
        named = zip(result, out, fields, strict=True)
        written = [
            write_out(r, o, name, operands, whole, field, facts, asked, recorded, underivable)
            for r, o, field in named
        ]
        return getattr(type(result), "_written", type(result))(written)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    # Autograd does not know the functions that give such results.
    unseen = out._rg and not recorded and not underivable and not result._aval.differentiable
    if MODE.enabled and (result._rg or out._rg) and not unseen:
        raise RuntimeError(
            f"{'aten::' * underivable}{name}(): functions with out=... arguments don't support "
            "automatic differentiation, but one of the arguments requires grad."
        )
    v = result._v or result._read()
    for t, x in ((result, v), (out, out._v if out._al is None else out._al.storage.value)):
        # parts of it may be detached
        if x is not None and x.trace is SPECIAL and isinstance(shown := t._read(), Lifted):
            shown.refuse_out(name)
    if v.trace is SPECIAL and isinstance(v, Lifted) and not v.may_replace(out._read()):
        raise RuntimeError(
            f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work "
            "on out= or view ops."
        )
    mine, its = out._aval, result._aval
    if mine.device != its.device:
        raise RuntimeError(
            f"Expected out tensor to have device {result.device}, but got {out.device} instead"
        )
    if mine.torch_dtype is not its.torch_dtype:
        names = its.torch_dtype.scalar_name, mine.torch_dtype.scalar_name
        also = facts is not None and names[1] in facts.out_also.split()
        if facts is not None:
            if facts.castable is not None and not dtypes.can_cast(
                its.torch_dtype, mine.torch_dtype
            ):
                raise uncastable(facts.castable, field, *names)
            words = (
                facts.out_dtype.get(field) if isinstance(facts.out_dtype, dict) else facts.out_dtype
            )
            if words == "found of real" and any(t._aval.dtype.kind == "c" for t in operands):
                words = None
            if words is not None and not also:
                raise wrong_out_dtype(words, *names, getattr(facts, "returns", None) or name, field)
        if not also:
            check_cast(its.torch_dtype, mine.torch_dtype)
        result = converted(result, mine.torch_dtype)
    if whole and operands:
        check_inplace(out, None)
        check_overlap(out, operands, whole)
    if mine.shape != its.shape:
        if out._strides is not None and overlapping(mine.shape, out._strides):
            raise RuntimeError(OVERLAP)
        if mine.size != 0 and not asked:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(mine.shape)}, which does not match the required output shape "
                f"{list(its.shape)}. This behavior is deprecated, and in a future PyTorch release "
                "outputs will not be resized unless they have zero elements. You can explicitly "
                "reuse an out tensor t by resizing it, inplace, to zero elements with "
                "t.resize_(0).",
                stacklevel=outside(),
            )
        if out._al is not None:  # others may look at its memory, which grows
            look_at(
                out,
                out._al,
                its.shape,
                result._strides or contiguous_strides(its.shape),
                out._al.offset,
            )
            return assign(out, result._v or result._read(), None)
        out._strides = result._strides
        out._v = result._v or result._read()
        out._ver += 1
        return out
    if unseen and MODE.enabled:
        with no_grad():
            check_inplace(out, None)
            return assign(out, result._v or result._read(), None)
    check_inplace(out, None)
    if operands and not whole:
        check_overlap(out, operands)
    if out._strides is not None and mine.device != META and coincide(mine.shape, out._strides):
        result = settled(out, result)
    return assign(out, result._v or result._read(), None)


def host_array(t: Tensor) -> np.ndarray:
    """The tensor's data as a NumPy array of its own."""
    return numbers_of(t._v or t._read())


def of_host_array(array: np.ndarray, device: device | int | str | None) -> Tensor:
    """A tensor on ``device`` with the elements of an array, which is nobody else's from now on."""
    return from_value(put(array, placement(device)))


def rebind(t: Tensor, view: Tensor) -> Tensor:
    """Makes ``t`` look at its storage as ``view`` does: in-place view ops such as ``t_`` and
    ``squeeze_``."""
    al = alias_of(view)
    if al.counter.n < 0 and not MODE.inference and (al.base is not t or al.counter.n < DETACHED):
        raise RuntimeError(INFERENCE)
    if al.base is t:
        al.base = None
    elif t._al is not None and t._al.base is not None:
        al.origin = t._al.origin  # it is what it was: in which mode it is reshaped does not matter
    # in this order: other threads look for a value first
    t._al, t._v, t._strides = al, None, view._strides
    if view._rg:
        t._node, t._nr = view._node, view._nr
        if t._node is not None and (name := INPLACE_VIEWS.get(t._node.name())) is not None:
            t._node.label = name
    # else the view is still to be computed
    current = al.value is not None and al.version == al.storage.version
    al.storage.touched()
    al.counter.n += 1
    if current:
        al.version = al.storage.version
    return t
