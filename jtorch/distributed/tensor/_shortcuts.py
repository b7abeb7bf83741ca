"""Calls on distributed tensors that are like one before: what was found out then is kept, so that
only the part is computed.

A call is taken here if it was one operator that wrote nothing. The key is the callable, how and
where its tensors lie, and its other arguments; the numbers that elementwise operators are given
count by their type.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src import hooks
from jtorch._src.aten import families
from jtorch._src.aten.calling import requires_grad, run
from jtorch._src.aten.kernels import kernel_of
from jtorch._src.aten.overloads import OpOverload
from jtorch._src.aten.state import STATE, Below, Kernel
from jtorch._src.aten.viewing import mark_view
from jtorch._src.aten.wrapping import like
from jtorch._src.facts.dtypes import get_default_dtype
from jtorch.autograd.grad_mode import MODE
from jtorch.dispatch import ACTIVE, MISSING

from ._dispatch import BARE, BY_NUMBER, DISPATCHER, WHOLE, Call, Plan
from ._redistribute import redistribute_local_tensor

if TYPE_CHECKING:
    pass


#: What is kept at most; beyond, all of it is forgotten.
LIMIT = 10_000
_NUMBERS = frozenset({int, float})
_LISTS = frozenset({list, tuple, torch.Size})
_WORDS = frozenset({int, float, bool, type(None), str, torch.dtype})


class _Way:
    """What a call does: the operator that it is, what each process computes for it, and what its
    results are like.

    Attributes:
        func: the operator.
        template: its arguments, without those of the call; ``local`` likewise, for the parts.
        places: pairs of numbers: an argument of the call, and what it is of the operator's.
        moves: operands that are brought elsewhere first, by the number of the operator's argument:
            from where, and to where.
        models: a tensor like each result, and how it lies.
        body: what computes the part from the first ``count`` arguments and ``named`` ones; None for
            the operator's kernel.
    """

    __slots__ = (
        "func",
        "template",
        "local",
        "places",
        "moves",
        "models",
        "body",
        "count",
        "named",
        "view",
        "held",
    )

    def __init__(
        self, call: Call, plan: Plan, places: list[tuple[int, int]], results: list[Any]
    ) -> None:
        func = self.func = call.func
        self.places = places
        self.template = [None if isinstance(x, torch.Tensor) else x for x in call.values]
        self.local = [plan.values.get(i, x) for i, x in enumerate(self.template)]
        self.moves = [
            (at[0], spec, target)
            for at, spec, target in zip(call.leaves, call.specs, plan.targets, strict=True)
            if spec.placements != target.placements
        ]
        self.models = [(like(t, _CLS), t._spec) for t in results]
        self.view, self.held = plan.view, call.specs
        given, self.named = func.trimmed(
            [0.5 if any(i == j for _, j in places) else x for i, x in enumerate(self.local)]
        )
        self.count = len(given)
        #: Without what must be looked at each time: whether an argument is the default.
        self.body = (
            getattr(kernel_of(func), "body", None)
            if all(j < self.count for _, j in places)
            else None
        )


class _Notes(threading.local):
    """What the dispatcher has carried out since a thread began to find out what a call does; None
    while it does not."""

    def __init__(self) -> None:
        self.calls = None


_NOTES = _Notes()
#: The specs in a key are told by their identity, and are kept alive by what the key leads to.
_WAYS: dict[Any, Any] = {}
#: Callables that are elementwise operators.
_LOOSE: set[object] = set()


def short(callee: object, args: tuple[torch.Tensor, ...], kwargs: dict[str, object]) -> object:
    """The answer of a call that is like one before; MISSING if it has to go the long way.
    ``callee`` is an operator, or a slow path."""
    if STATE.off or BARE or _NOTES.calls is not None:
        return MISSING
    loose = callee in _LOOSE
    records = MODE.enabled and any(type(x) is _CLS and requires_grad(x) for x in args)
    key: list[Any] = [callee, records, get_default_dtype()]
    some = False
    for x in args:
        kind = type(x)
        if kind is _CLS:
            some = True
            key += (id(x._spec), x._al.aval.device)
        elif loose and kind in _NUMBERS:
            key.append(kind)
        elif kind in _WORDS:
            key += (kind, _told(x))
        elif kind in _LISTS and all(type(n) in _WORDS for n in x):
            key += (kind, len(x), *map(type, x), *map(_told, x))
        else:
            return MISSING
    if not some:
        return MISSING
    if kwargs:
        for name, x in kwargs.items():
            if type(x) not in _WORDS:
                return MISSING
            key += (name, type(x), _told(x))
    identity = tuple(key)
    way = _WAYS.get(identity)
    if way is None:
        return _found_out(callee, args, kwargs, identity)
    way = way[0]
    return MISSING if way is None else _taken(way, args, records)


def _told(x: object) -> object:
    """An argument in a key: two zeros are equal to Python, and are not the same."""
    return x if x or type(x) is not float else str(x)


def _taken(way: _Way, args: tuple[object, ...], records: bool) -> object:
    func, record = way.func, None
    values: list[Any] = way.local.copy()
    for i, j in way.places:
        x = args[i]
        if type(x) is _CLS:
            if way.view and hasattr(x, "_behind"):
                return MISSING
            values[j] = x._local_tensor
        else:
            values[j] = x
    given = values
    if way.view or records:
        given = way.template.copy()
        for i, j in way.places:
            given[j] = args[i]
        if records:
            record = hooks.operator_recording.get().begin(
                func, given, [x for x in args if type(x) is _CLS]
            )
    with Below():
        for j, spec, target in way.moves:
            values[j] = redistribute_local_tensor(values[j], spec, target)
        if way.body is None:
            out = run(func, values)
        else:
            with Kernel():
                out = way.body(*values[: way.count], **way.named)
        made: Any
        if len(way.models) == 1:
            model, spec = way.models[0]
            made = like(model, _CLS)
            made._local_tensor, made._spec = out, spec
            if MODE.inference and out._inference:
                made._uncount()
        else:
            found = []
            for (model, spec), part in zip(way.models, out, strict=True):
                t = like(model, _CLS)
                t._local_tensor, t._spec = part, spec
                if MODE.inference and part._inference:
                    t._uncount()
                found.append(t)
            made = tuple(found)
    if way.view:
        mark_view(func, given, made)
    return made if record is None else record.finish(made)


def _found_out(
    callee: Any, args: tuple[object, ...], kwargs: dict[str, object], identity: tuple[object, ...]
) -> object:
    """The answer of a call that goes the long way, of which is noted what it does."""
    calls = []
    _NOTES.calls = calls
    try:
        answer = (
            callee.redispatch(*args, **kwargs)
            if isinstance(callee, OpOverload)
            else callee(args, kwargs)
        )
    finally:
        _NOTES.calls = None
    way = _way_of(calls, answer, args)
    if way is not None and not kwargs and _is_elementwise(way.func, args, dict(way.places)):
        _LOOSE.add(callee)
        loose = [(id(x._spec), x._al.aval.device) if type(x) is _CLS else (type(x),) for x in args]
        identity = (*identity[:3], *itertools.chain(*loose))
    if len(_WAYS) >= LIMIT:
        _WAYS.clear()
    _WAYS[identity] = (way, [x._spec for x in args if type(x) is _CLS])
    return answer


def _is_elementwise(func: OpOverload, args: Sequence[object], places: dict[int, int]) -> bool:
    """Whether of the arguments that are no tensors nothing counts but their types."""
    return (
        families.family(func) in families.ELEMENTWISE
        and func._opname not in BY_NUMBER
        and all(
            type(x) is _CLS or (type(x) in _NUMBERS and i in places) for i, x in enumerate(args)
        )
    )


def _way_of(
    calls: list[tuple[Call, Plan, object]], answer: object, args: Sequence[object]
) -> _Way | None:
    """What a call does that was carried out by these operators; None for what is not kept."""
    if not calls:
        return None
    call, plan, out = calls[0]
    results = list(answer) if type(answer) is tuple else [answer]
    # what autograd saves of the results is theirs, not the call's
    if out is not answer or any(
        c.name != "detach" or all(c.values[0] is not t for t in results) for c, _, _ in calls[1:]
    ):
        return None
    if (
        any(type(t) is not _CLS for t in results)
        or call.schema.writes
        or any(r.type != "Tensor" for r in call.schema.returns)
    ):
        return None
    if (
        plan.run is not None
        or call.name in WHOLE
        or families.is_random(call.func)
        or call.mesh.get_coordinate() is None
    ):
        return None
    # which may be conjugated lazily
    if any(k is not None for _, k in call.leaves) or any(
        s._meta().dtype.is_complex for s in call.specs
    ):
        return None
    given = [x for x in args if type(x) is _CLS]
    meant = [call.leaf(at) for at in call.leaves]
    if len(given) != len(meant) or any(a is not b for a, b in zip(given, meant, strict=True)):
        return None
    if plan.view and (
        hasattr(given[0], "_behind")
        or any(s.placements != t.placements for s, t in zip(call.specs, plan.targets, strict=True))
    ):
        return None
    places: list[tuple[int, int]] = []
    leaves = iter(call.leaves)
    for i, x in enumerate(args):
        if type(x) is _CLS:
            places.append((i, next(leaves)[0]))
        elif (
            type(x) in _NUMBERS
            and i < len(call.values)
            and call.values[i] is x
            and i not in plan.values
        ):
            # a number for the formula, not a size or dimension
            places += (
                [(i, i)] if call.schema.arguments[i].type.startswith(("Scalar", "Tensor")) else []
            )
    return _Way(call, plan, places, results)


def forget() -> None:
    """Has all calls find out anew what they do."""
    _WAYS.clear()


def note(call: Call, plan: Plan, out: object) -> None:
    """Tells what the dispatcher has carried out."""
    if _NOTES.calls is not None:
        _NOTES.calls.append((call, plan, out))


def install(cls: object) -> None:
    """Has calls on distributed tensors come here first."""
    global _CLS
    _CLS = cls
    DISPATCHER.note = note
    ACTIVE.short = short


_CLS: Any = None
