"""Which truth a program asks for in an ``assert`` statement, found in its bytecode. Floor 0."""

from __future__ import annotations

import dis
import sys

#: What is looked through for the program: this package under either name, and the code that it
#: makes.
_OURS = frozenset(("jtorch", "torch", "contextlib", "functools"))
_NO_STEPS = frozenset(("CACHE", "EXTENDED_ARG", "NOT_TAKEN", "TO_BOOL"))


def asserted() -> str | None:
    """The message of the ``assert`` that asks for a truth now, as far as it is a text; None where
    it is asked for by something else."""
    frame = sys._getframe(1)
    while (
        frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS
    ):
        frame = frame.f_back
    steps = [
        s
        for s in dis.get_instructions(frame.f_code)
        if s.offset >= frame.f_lasti and s.opname not in _NO_STEPS
    ][:4]
    if (
        sys.version_info >= (3, 13)
        and steps
        and steps[0].opname == "COMPARE_OP"
        and (steps[0].arg or 0) & 16
    ):
        del steps[0]  # the comparison asks for its own truth
    if len(steps) < 3 or "JUMP" not in steps[0].opname or not steps[0].opname.endswith("IF_TRUE"):
        return None
    if (
        steps[1].opname != "LOAD_ASSERTION_ERROR"
        and steps[1].argval is not AssertionError
        and steps[1].argrepr != "AssertionError"
    ):
        return None
    return (
        steps[2].argval
        if steps[2].opname == "LOAD_CONST" and isinstance(steps[2].argval, str)
        else "assertion error"
    )
