"""What is written where it lies: whether a value is NumPy's, or soon made, and calls of which
results take the places of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from . import tiers, values
from .at_once import _ArrayImpl
from .calls import Call, Shapes
from .record import AT_ONCE, HOLDING, LOCAL, Trace, flush, record_again
from .tiers import FEW
from .trie import ROOT
from .values import Value

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Bytes of the largest array that is copied from XLA's memory into NumPy's so that parts of it can
#: be written where they lie.
MOST_COPIED = 1 << 26


def at_hand(v: Value) -> bool:
    """Whether a value that part after part is written into is a NumPy array, so that the next part
    can be written where it lies.

    What is pending is run if it is little that NumPy runs. Else few such writes are recorded like
    all else; from some on in one trace they are what the program does, so that it is run.
    """
    if type(v.array) is ndarray:
        return v.trace is None
    trace = LOCAL.trace
    if (
        trace is None
        or type(v) is not Value
        or not values.on_host(v.aval.device)
        or HOLDING.stack
        or trace.ahead is None
    ):
        return False
    if v.aval.nbytes > MOST_COPIED:
        return False
    trace.writes += 1
    if v.trace is not None and v.trace is not trace:
        return False
    if trace.writes <= FEW and not (v.array is None and is_small(trace)):
        return False
    flush(trace)
    if v.trace is None and (v.meta is None or not v.meta.keep) and type(v.array) is _ArrayImpl:
        v.array = np.array(v.array)
    return v.trace is None and type(v.array) is ndarray


def is_small(trace: Trace) -> bool:
    """Whether what is pending is little that NumPy runs, and that no program would run faster."""
    state = trace.state
    small = state.small
    if small is None:
        if state.depth > FEW or HOLDING.stack:
            return False
        small = state.small = tiers.small(state.steps())
    return bool(small)


def made_at_hand(v: Value) -> np.ndarray | None:
    """The NumPy array of a value that is to be written into a part at hand, so that the value
    counts as read; None if it is none.

    What is pending is run if it is little that NumPy runs: recording the write would have to record
    all that reads the memory after it.
    """
    trace = LOCAL.trace
    if v.array is None and trace is not None and v.trace is trace:
        if not is_small(trace):
            return None
        flush(trace)
    if type(v.array) is not ndarray or v.trace is not None:
        return None
    if trace is not None and trace.ahead:
        trace.ahead = []
    return v.array


def replacing(
    call: Call, ins: Sequence[Value], spans: Sequence[tuple[int, int]]
) -> tuple[Function, Shapes] | None:
    """What runs a call at once as ``record`` would, but that it may write its first results into
    the operands of these spans, and what is known of the call; None where it would not be run at
    once, or write none."""
    trace = LOCAL.trace
    if trace is not None and (trace.state is not ROOT or trace.ahead is None):
        return None
    avals = tuple([v.aval for v in ins])
    found = call.shapes.get(avals)
    if found is None or found.quick is None or (trace is not None and found.alone < AT_ONCE):
        return None
    run: Any = found.replacing
    if run is None:
        run = tiers.replacing(
            call, avals, found, [i for begin, end in spans for i in range(begin, end)]
        )
    return (run, found) if run else None


def ran_at_once(found: Shapes) -> None:
    """Notes that a call was run as it was called."""
    if (trace := LOCAL.trace) is not None and (ahead := trace.ahead) is not None:
        ahead.append(found)
        if len(ahead) > FEW:
            record_again(trace)
