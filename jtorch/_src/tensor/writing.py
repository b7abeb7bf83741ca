"""Writing into tensors in place: what torch refuses, versions, and the histories of views of the
memory that changed."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import FORWARD, MODE
from ...autograd.names import plain_name
from ...autograd.tape import Node, next_seq, tracked
from ...core import Tensor
from .. import hooks
from ..engine import (
    LOCAL,
    META,
    SPECIAL,
    STOPPING,
    Lifted,
    Meta,
    Transformed,
    Value,
    passing,
    record,
    stopping,
)
from ..engine.record import number_in
from ..facts.errors import not_offered
from ..facts.layouts import contiguous_strides, is_dense
from ..facts.warned_once import outside
from .aliases import BIRTHS, DETACHED, derived
from .cells import OVERLAP, OVERTAKEN, Alias, rejoin, repeating, writable
from .module_state import check_buffer, check_state
from .own_attributes import OwnRef
from .view_history import AMBIGUOUS, CUSTOM, MULTI, UNMIXED, base_steps
from .view_steps import detaching

if TYPE_CHECKING:
    pass


def check_inplace(t: Tensor, idempotent: bool | tuple[str, str] | None = False) -> None:
    """Raises torch's errors for in-place changes that autograd forbids, and for writes to repeated
    elements unless each gets one value.

    With a function's name and Python's notation for it as ``idempotent``, such writes are warned
    of, as deprecated; None says that it is an ``out=``.
    """
    al = t._al
    if al is not None and al.storage.refusal is not None:
        raise RuntimeError(al.storage.refusal)
    count = t._ver if al is None else al.counter.n
    if (
        count < 0
        and not MODE.inference
        and (count < DETACHED or (al is not None and al.base is not None))
    ):
        raise RuntimeError(INFERENCE)
    if BIRTHS and idempotent is not None and MODE.starts:
        check_captured(t)
    if t._rg and MODE.enabled:
        if t._v is None:
            t._sync()
        al = t._al
        if al is not None and al.origin == "inference" and al.base is not None:
            raise RuntimeError(
                "A view was created in inference mode and is being modified inplace in normal mode."
                + UNMIXED
            )
        if al is not None and al.base is not None and al.origin is not None:
            raise _not_rebased(t, al)
        if (
            al is not None
            and al.base is not None
            and (al.base._node is None or _is_argument(al.base))
        ):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        if t._node is None or _is_argument(t):
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
    # no history passes through integers
    elif MODE.enabled and al is not None and al.base is not None and t._aval.differentiable:
        base = al.base
        if al.origin == "inference" and base._rg:
            raise RuntimeError(
                "A view was created in inference mode and is being modified inplace in normal mode."
                + UNMIXED
            )
        if al.origin in ("no_grad", "function") and base._rg:
            raise _not_rebased(t, al)
        if base._rg and base._node is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
    if (
        idempotent is not True
        and t._strides is not None
        and t._al is not None
        and overlapping(t._aval.shape, t._strides)
    ):
        if not idempotent:
            raise RuntimeError(OVERLAP)
        name, example = idempotent
        warnings.warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
            f"performing this operation. This also applies to advanced indexing e.g. {example}",
            stacklevel=outside(),
        )


def _is_argument(t: Tensor) -> bool:
    """Whether a function transformation that is running differentiates by a tensor: to the function
    it is a leaf, whatever lies outside."""
    return bool(MODE.transforms) and any(
        transform is not None and transform.differentiates_by(t) for transform in MODE.transforms
    )


def check_captured(t: Tensor) -> None:
    """Raises torch's error if a function that is being differentiated changes a tensor that was
    there before: nobody would know of it."""
    if (
        (t._birth if t._al is None else t._al.storage.birth) < MODE.starts[-1]
        and (operator := hooks.writer())
        and not _is_given(t)
    ):
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
            f"call in-place operation ({operator}) that would mutate a captured Tensor. This is "
            "not supported; please rewrite the function being transformed to explicitly accept the "
            "mutated Tensor(s) as inputs."
        )


def _is_given(t: Tensor) -> bool:
    """Whether each of the functions being differentiated that did not make a tensor was given it,
    or its memory, as an argument."""
    birth = t._birth if t._al is None else t._al.storage.birth
    storage = None if t._al is None else t._al.storage
    for start in reversed(MODE.starts):
        if birth >= start:
            return True
        if not any(
            t is g or (storage is not None and g._al is not None and g._al.storage is storage)
            for g in MODE.given.get(start, ())
        ):
            return False
    return True


INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)


def _not_rebased(t: Tensor, al: Alias) -> RuntimeError:
    """The error for an in-place change that autograd would record, of a view whose base cannot take
    over its history."""
    why = {"no_grad": AMBIGUOUS, "function": CUSTOM}.get(al.origin, MULTI)  # type: ignore[arg-type]
    if t._node is None:
        return RuntimeError(
            (
                "A view was created in no_grad mode and is being modified inplace with grad mode "
                "enabled."
            )
            + why
        )
    which = f"Output {t._nr} of {plain_name(t._node.name())} is a view "
    if al.origin == "no_grad":
        which += "of a view which was created in no_grad mode "
        return RuntimeError(which + "and is being modified inplace with grad mode enabled." + why)
    return RuntimeError(which + "and is being modified inplace." + why)


def overlapping(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether an expanded dimension makes indices share memory; like torch, does not look for other
    ways of overlapping."""
    return 0 not in shape and any(s == 0 and n > 1 for n, s in zip(shape, strides, strict=True))


SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)


def check_overlap(t: Tensor, operands: Sequence[object], whole: bool = False) -> None:
    """Raises torch's error if an operand shares a part of the memory, but not all of it, with the
    tensor that is written.

    With ``whole``, an operand that shares all of it is refused too.
    """
    al = t._al
    if al is None and not whole:
        return
    for o in operands:
        if o is t:
            if whole:
                raise RuntimeError(SHARED)
            continue
        if (
            al is None
            or not isinstance(o, Tensor)
            or o._al is None
            or o._al.storage.address != al.storage.address
        ):
            continue
        a, b = t._aval, o._aval
        mine, its = (
            t._strides or contiguous_strides(a.shape),
            o._strides or contiguous_strides(b.shape),
        )
        if not (is_dense(a.shape, mine) and is_dense(b.shape, its)) or not a.size or not b.size:
            continue
        start, other = al.offset, o._al.offset
        if (start, a.size) == (other, b.size):
            if mine == its and not whole:
                continue
        elif start + a.size <= other or other + b.size <= start:
            continue
        raise RuntimeError(SHARED)


def check_lifted(t: Tensor, v: Value) -> None:
    """Raises torch's error if the value of one example of a ``vmap`` is written into a tensor that
    all examples share.

    Likewise for a tracer that would outlive its transformation of JAX in the state of a module.
    """
    if not isinstance(v, Lifted):
        check_state(t, v)
        return
    if v.may_replace(t._read()):
        if t._al is not None and isinstance(v, Transformed):
            hooks.set_apart(t, v)
        return
    raise hooks.shared_by_examples(v)


def stale(v: Value | Meta | None, owner: Tensor, version: int, node: Node | None = None) -> None:
    """Marks a value, or what has these facts, as superseded.

    Uses of it saved before ``node``, the operation that overwrote it, must be refused by
    ``backward``.
    """
    if v is None:
        return
    mark = (version, OwnRef(owner), node.seq if node is not None else next_seq())
    if type(v) is Meta:
        v.stale = mark
    elif v.meta is None:
        v.meta = Meta(stale=mark)
    else:
        v.meta.stale = mark


def _supersede(storage: Any, owner: Tensor, version: int, node: Node | None = None) -> None:
    """Marks the values that were read from memory that is, or was, NumPy's."""
    seen, storage.seen = storage.seen, None
    for v in seen:
        stale(v, owner, version, node)


def bump(t: Tensor) -> None:
    """Counts a change of ``t`` in place, as if it had been written."""
    al = t._al
    if al is None:
        stale(t._v, t, t._ver)
        t._ver += 1
    else:
        stale(al.storage.value, t, al.counter.n)
        stale(al.value, t, al.counter.n)
        if al.storage.seen is not None:
            _supersede(al.storage, t, al.counter.n)
        al.counter.n += 1


def assign(t: Tensor, v: Value, edge: Any) -> Tensor:
    """Writes a new value of the same aval into ``t``, through its view chain, with ``edge`` as the
    new history.

    Raises:
        RuntimeError: if an operand requires grad and ``t`` is a view whose base cannot take over
            the history; nothing is written then.
    """
    if v.trace is SPECIAL:
        check_lifted(t, v)
    else:
        owner = t if (al := t._al) is None or al.base is None else al.base
        if owner._state and not owner._rg:
            check_buffer(owner)
    if STOPPING.within is not None and stopping():
        with passing():
            return _assign_apart(t, v, edge)
    al = t._al  # now: reading the tensor may have given up an alias without views
    if (
        al is not None
        and al.base is not None
        and al.base._al is not None
        and al.base._al.storage is not al.storage
    ):
        rejoin(al)
    whole = t._v if al is None else al.storage.value
    if (
        whole is not None
        and whole.trace is SPECIAL
        and not FORWARD.enabled
        and isinstance(was := t._read(), Lifted)
    ):
        v = was.overwritten(v)
    if (
        edge is not None
        and al is not None
        and al.origin is not None
        and al.base is not None
        and MODE.enabled
    ):
        raise _not_rebased(t, al)
    if al is None:
        old = t._v
        if t._al is not None:  # another thread has made a view
            return assign(t, v, edge)
        t._v = v
        t._ver += 1
        stale(old, t, t._ver - 1, edge[0] if type(edge) is tuple else None)
        _set_history(t, edge)
        return t
    storage = al.storage
    # what is written through ``.data`` escapes the version check, as in torch
    if al.counter is storage.counter or al.counter.heeded:
        before = al.counter.n
        node = edge[0] if type(edge) is tuple else None
        stale(storage.value, t, before, node)
        stale(al.value, t, before, node)
        if storage.seen is not None:
            _supersede(storage, t, before, node)
    elif whole is not None:  # unless a write that is counted follows
        storage.overwritten(whole)
    del whole  # so that nobody else has it, and the part may be written where it lies
    al.counter.n += 1
    base = al.base
    if base is None:
        al.now(v, storage.put(al, v))
        if edge is not None:
            _set_history(t, edge)
        return t
    if MODE.enabled and (edge is not None or base._rg):
        if (
            type(edge) is tuple
            and type(was := t._edge()) is tuple
            and edge[0].edges
            and edge[0].edges[0] == was
        ):
            edge[0].edges = [_unhooked(was, base._edge()), *edge[0].edges[1:]]
        version = _rebase(al, v, edge)
    else:
        version = storage.put(al, v)
    if storage.host is None:
        al.now(v, version)
        if al.chain:
            derived(v, storage.value)
    return t


def _assign_apart(t: Tensor, v: Value, edge: Any) -> Tensor:
    """``assign`` under a ``no_grad`` at which JAX's derivatives end: other numbers, with the
    derivatives that were there."""
    step = detaching()
    assert step.put is not None
    before = t._v if t._al is None else t._al.storage.value
    if v.trace is SPECIAL and v.aval.device != META:
        v = record(step.get, (v,))
    assign(t, v, edge)
    if (
        before is None
        or before.trace is not SPECIAL
        or before.aval.device == META
        or not before.aval.differentiable
    ):
        return t
    al = t._al
    if al is None:
        if t._v is not None and t._v.aval is before.aval:
            t._v = record(step.put, (before, t._v))
    elif (now := al.storage.value) is not None and now.aval is before.aval:
        al.storage.value = now = record(step.put, (before, now))
        al.now(now if not al.chain else al.storage.get(al), al.version)
    return t


def _set_history(t: Tensor, edge: tuple[Node | int, ...] | None) -> None:
    if edge is not None:  # without one nothing was recorded, and what was before still holds
        t._node, t._nr = edge
        t._rg = True
        if t._retains:
            retain_again(t)


def _unhooked(edge: object, end: tuple[Node | int, ...]) -> Any:
    """The history of a view up to that of its base, without the hooks on the way: what is written
    into the view takes its place in the base, and in torch such hooks no longer see a gradient
    then."""
    if edge == end or type(edge) is not tuple:
        return edge
    node = edge[0]
    behind = _unhooked(node.edges[0], end) if node.edges else None
    rare = node.rare
    seen = rare is not None and (rare.tensor_hooks or rare.retained or rare.prehooks or rare.hooks)
    if not seen and (not node.edges or behind is node.edges[0]):
        return edge
    node = copy.copy(node)
    # walks visit the latest nodes first: it stands where the other did, and both may be met
    node.seq += 0.5
    node.edges = [behind, *node.edges[1:]]
    node.rare = None
    if rare is not None and rare.label is not None:
        node.notes().label = rare.label
    return node, edge[1]


def retain_again(t: Tensor) -> None:
    """Makes a tensor that keeps its gradient do so after an in-place change gave it another
    node."""
    hooks.retain(t)


#: So often a write into a part is begun anew when another thread has written in between.
_ATTEMPTS = 8


def _rebase(al: Alias, v: Value, edge: Any) -> int:
    """An in-place change of a view: the base's history becomes "base with the view's part
    replaced", and views read theirs from it.

    Gives the storage's new version.
    """
    base = al.base
    steps = base_steps(al)
    if repeating(steps):
        if base._al.chain:
            raise not_offered(
                "an in-place change under autograd of an expanded view of a detached view",
                "its history does not cover the whole storage",
            )
        steps = writable(al, steps)
    attempts = 0
    while True:
        since = al.storage.version if steps and attempts < _ATTEMPTS else None
        attempts += 1
        # none where the view is all of the base, as from `as_subclass`
        parents = [(base._read(), base._edge())] if steps else []
        for step in steps[:-1]:
            parents.append(tracked(step.get, [parents[-1]], step.numbers)[0])
        pair = (v, edge)
        for step, parent in zip(reversed(steps), reversed(parents), strict=True):
            assert step.put is not None
            pair = tracked(step.put, [parent, pair], step.numbers)[0]
        value, new_edge = pair
        base_al = base._al
        version = al.storage.put(base_al, value, since)
        if version != OVERTAKEN:  # by another thread, which has written into another part
            break
    base_al.now(value, version)
    _set_history(base, new_edge)
    if new_edge is not None and type(new_edge) is tuple and new_edge[0].label is None:
        new_edge[0].label = "torch::autograd::CopySlices"
    return version


def undoable(tensors: Sequence[Tensor]) -> None:
    """Has tensors, whose new values have been recorded, get back those that they have now if the
    new ones cannot be computed.

    A step of training that needs more memory than there is could otherwise not be followed by a
    smaller one.
    """
    trace = LOCAL.trace
    if trace is not None and trace.state.parent is not None:  # else they have been computed
        places = [
            None if (v := t._v) is None else v.index if v.trace is trace else number_in(trace, v)
            for t in tensors
        ]
        trace.undo.append(partial(_get_back, tensors, places))


def _get_back(
    tensors: Sequence[Tensor], places: list[int | None], values: list[Value], inputs: list[Value]
) -> None:
    for t, i in zip(tensors, places, strict=True):
        v = t._v
        if i is not None and v is not None and v.array is None:
            old = values[i] if i >= 0 else inputs[-i - 1]
            if not getattr(old.array, "is_deleted", bool)():
                t._v = old


def swap(t: Tensor, v: Value, count: int = 1) -> None:
    """Gives ``t`` a new value without history, as optimisers do under ``no_grad`` by so many
    writes."""
    if v.trace is SPECIAL:
        check_state(t, v)
    old = t._v
    if (al := t._al) is None and (v.trace is not SPECIAL or not stopping()):
        t._v = v
        t._ver += count
        if t._rg:  # state of an optimiser is hardly ever part of a graph
            stale(old, t, t._ver - count)
    else:
        assign(t, v, None)
        if al is None:
            t._ver += count - 1
        else:
            al.counter.n += count - 1
