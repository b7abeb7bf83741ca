"""Would the program catch an error that is raised now? Read from the exception tables of the code that is running.

Kernels state checks on values (``guard``), and a recorded op fails only when its trace runs. A program that catches the error around the
call (``try: torch.linalg.cholesky(a)``) must get it there, so such a call runs at once; all others stay recorded.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, TypeAlias

from .trie import is_own

#: What an ``except`` clause names: a name, an attribute's owner and name, or several of them.
_Expression: TypeAlias = "str | tuple[_Expression, str] | list[_Expression] | None"
#: What is done at a place of the code if an error is raised there: clauses (None: whatever it is), and where the search goes on.
_Handler: TypeAlias = "tuple[tuple[_Expression, ...], int]"

#: Context managers that take errors, by the name they are called by.
_TAKING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
_LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_MATCHES = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH"})
#: What an expression never does, so that it is the body of a ``finally``.
_STATEMENTS = frozenset({"RERAISE", "PUSH_EXC_INFO", "POP_EXCEPT", "POP_TOP"})
_ENDS = ("STORE_", "RETURN_", "DELETE_", "END_")
#: Classes that programs name to be safe from everything.
_EVERYTHING = frozenset({Exception, BaseException})

#: How many functions out a handler of everything is far away.
_FAR = 3

#: Exception tables and handlers by code object (which is kept, so that its id stays its own).
_known: dict[int, tuple[CodeType, list[tuple[int, int, int]], dict[int, _Handler]]] = {}
_KNOWN_LIMIT = 4096


def caught(kinds: tuple[type[Exception], ...]) -> bool:
    """Whether the code that is running would catch one of ``kinds``.

    Handlers of everything count only in the functions nearest to the call. Programs, notebooks and test runners have them around their
    whole work, which ends with an error just as well when it is raised later, and running at each such call would cost them their speed.
    """
    distance = 0
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if (distance < _FAR or code.co_exceptiontable) and not is_own(frame):  # most frames of a deep stack end here
            for clause in _clauses(code, frame.f_lasti):
                if _matches(clause, frame, kinds, distance):
                    return True
            distance += code.co_name != "<lambda>"
        frame = frame.f_back
    return False


def _matches(clause: _Expression, frame: FrameType, kinds: tuple[type[Exception], ...], distance: int) -> bool:
    named: Any = BaseException
    if clause is not None:
        try:
            named = _value(clause, frame)
        except Exception:
            named = BaseException  # not to be told
    for cls in named if isinstance(named, tuple) else (named,):
        for kind in kinds:
            if isinstance(cls, type) and issubclass(kind, cls):
                # Errors with a class of their own are there to be caught; a wrong index is more often a mistake.
                own = issubclass(kind, RuntimeError) and kind is not RuntimeError
                if distance < (_FAR if own else 1) or not (cls in _EVERYTHING or (cls is RuntimeError and not own)):
                    return True
    return False


def _value(expression: _Expression, frame: FrameType) -> Any:
    if isinstance(expression, str):
        for names in (frame.f_globals, frame.f_builtins):
            if expression in names:
                return names[expression]
        return frame.f_locals[expression]
    if isinstance(expression, list):
        return tuple([_value(e, frame) for e in expression])
    assert expression is not None
    return getattr(_value(expression[0], frame), expression[1])


def _clauses(code: CodeType, place: int) -> Iterator[_Expression]:
    """What the handlers around a place of the code name, innermost first."""
    if not code.co_exceptiontable:
        return
    found = _known.get(id(code))
    if found is None:
        if len(_known) >= _KNOWN_LIMIT:
            _known.clear()
        found = _known[id(code)] = code, list(_table(code.co_exceptiontable)), {}
    _, table, handlers = found
    seen: set[int] = set()
    while True:
        entry = next((e for e in table if e[0] <= place < e[1]), None)
        if entry is None or entry[2] in seen:
            return
        start, _, target = entry
        seen.add(target)
        handler = handlers.get(target)
        if handler is None:
            handler = handlers[target] = _handler(code, start, target)
        yield from handler[0]
        place = handler[1]


def _table(packed: bytes) -> Iterator[tuple[int, int, int]]:
    """The ranges of code of an exception table and their targets: numbers of six bits a byte, four to an entry."""
    numbers: list[int] = []
    value = 0
    for byte in packed:
        value = value << 6 | byte & 63
        if not byte & 64:  # the last byte of a number
            numbers.append(value)
            value = 0
    for i in range(0, len(numbers) - 3, 4):
        start = 2 * numbers[i]
        yield start, start + 2 * numbers[i + 1], 2 * numbers[i + 2]


def _handler(code: CodeType, start: int, target: int) -> _Handler:
    """What the handler at ``target`` of the code from ``start`` on names, and from where an error that it lets pass is raised again."""
    instructions = list(dis.get_instructions(code))
    first = next((i for i, x in enumerate(instructions) if x.offset >= target), len(instructions))
    clauses: list[_Expression] = []
    stack: list[_Expression] = []
    at = first
    by_offset = {x.offset: i for i, x in enumerate(instructions)}
    if at < len(instructions) and instructions[at].opname == "PUSH_EXC_INFO":
        at += 1
        if at < len(instructions) and instructions[at].opname == "WITH_EXCEPT_START":
            if _called(instructions, start) & _TAKING:
                clauses.append(None)
            return tuple(clauses), target
        while at < len(instructions):
            x = instructions[at]
            if x.opname in _LOADS:
                stack.append(x.argval)
            elif x.opname == "LOAD_ATTR":
                stack.append((stack.pop(), x.argval) if stack else None)
            elif x.opname == "BUILD_TUPLE":
                size = x.arg or 0
                stack[len(stack) - size :] = [list(stack[len(stack) - size :])]
            elif x.opname in _MATCHES:
                clauses.append(stack[0] if len(stack) == 1 else None)
                at += 1
                while at < len(instructions) and "JUMP" not in instructions[at].opname:
                    at += 1
                if at == len(instructions):
                    break
                at = by_offset.get(instructions[at].argval, len(instructions))  # where the next clause begins
                stack = []
                continue
            elif x.opname == "POP_TOP" and not stack:  # ``except:``
                clauses.append(None)
                break
            elif x.opname in _STATEMENTS or x.opname.startswith(_ENDS) or "JUMP" in x.opname:
                break
            elif x.opname not in ("NOP", "CACHE", "NOT_TAKEN", "PUSH_NULL"):
                stack = [None]  # a class that is computed: it may be anything
            at += 1
    return tuple(clauses), instructions[at].offset if at < len(instructions) else target


def _called(instructions: list[dis.Instruction], start: int) -> set[Any]:
    """The names in the expression of a ``with`` whose body begins at ``start``."""
    begin = next((i for i, x in enumerate(instructions) if x.offset >= start), len(instructions))
    return {x.argval for x in instructions[max(0, begin - 24) : begin] if x.opname.startswith("LOAD_") and x.opname != "LOAD_CONST"}
