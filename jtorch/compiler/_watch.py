"""Watching one run of a function: which code ran, what it did that a program cannot repeat, and
where random numbers came from."""

from __future__ import annotations

import dis
import gc
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._src.bind.host_cores import read_at_hand
from .._src.composites import filling
from .._src.engine.record import _run, array_of
from .._src.engine.values import concrete, put
from .._src.tensor import numbers
from .._src.tensor.cells import Storage
from ..core import Tensor
from ._world import is_library

if TYPE_CHECKING:
    from .._src.engine.values import Value
    from .._src.facts.kinds import Tree


#: C functions whose results, or whose effects, differ from call to call, by module.
_IMPURE_MODULES = frozenset(
    ("time", "posix", "nt", "_random", "random", "_io", "_socket", "select", "_thread", "_signal")
)
_IMPURE_BUILTINS = frozenset(("print", "input", "open", "exec", "breakpoint", "globals"))
#: Modules whose Python functions may do such things on their own account.
_TRUSTED = frozenset(("jtorch", "torch",
                      "jax", "jaxlib", "etils", "numpy", "importlib", "warnings", "linecache",
                      "tokenize", "functools", "contextlib", "typing", "inspect", "weakref", "abc",
                      "threading", "copy", "ast", "dis", "re", "enum", "dataclasses",
                      "collections"))  # fmt: skip


class Draw:
    """One filling of an array with random numbers, to be done again before each run of the
    program."""

    __slots__ = ("arguments", "array", "device", "dtype")

    def __init__(self, arguments: tuple[Any, ...], array: np.ndarray) -> None:
        self.arguments, self.array = arguments, array
        self.dtype: Any = None
        self.device: Any = None

    def again(self) -> Value:
        """The next numbers, as a value."""
        array = filling.drawn(*self.arguments)
        return filling.taken(array.astype(self.dtype, copy=False), self.device)._v


class Watch:
    """Sees every call while a function runs, through the interpreter's profiling hook.

    Attributes:
        codes: code that ran outside of libraries, with its globals.
        names: the identifiers and text constants in it.
        made: ids of the values that were made from Python or NumPy data, which are kept alive in
            ``keep``.
        hosted: values read from NumPy's memory, by id, each with how it was looked at.
        draws: random numbers drawn, and the ids of the values that hold them.
        impure: the first thing seen that a program cannot repeat, in words.
        reads: whether a value was read on the host that is not the same in each run.
        line: where one was first read.
        decides: where one first answered a question that Python code then acts on.
    """

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self.codes = {}
        self.names: set[str] = set()
        self.made: dict[int, Any] = {}
        self.hosted: dict[int, tuple[object, object]] = {}
        self.draws: list[tuple[Draw, object]] = []
        self.waiting: Draw | None = None
        self.impure: str | None = None
        self.reads = False
        self.line: tuple[str, int] | None = None
        self.decides: tuple[str, int] | None = None
        # the call of a function that reads, if what it gives is not known yet
        self._asked = None
        self.hinted = False
        self._known = {}

    def run(self, fn: Callable[..., object], args: tuple[Tensor | int, ...], kwargs: Any) -> Tree:
        """``fn(*args, **kwargs)``, watched. Another profiler of the thread sees the calls too."""
        before = sys.getprofile()
        self._before = before
        collecting = gc.isenabled()
        # what the collector's callbacks and finalizers do would look like calls of the function
        gc.disable()
        sys.setprofile(self._event)
        try:
            return fn(*args, **kwargs)
        finally:
            sys.setprofile(before)
            if collecting:
                gc.enable()

    def _event(self, frame: Any, event: Any, arg: np.ndarray) -> None:
        if event == "call":
            code = frame.f_code
            if code not in self._known:
                scope = frame.f_globals
                own = is_library(scope.get("__name__"))
                self._known[code] = own
                if not own:
                    self._learn(code, scope)
            if code is _FLUSH and self.line is None:
                self.line = _user_line(frame)
            elif code is _READ or code is _AT_HAND:
                self._note_read(frame, frame.f_locals["v"])
            elif code is _SHARED:
                self._note_read(frame, None)
        elif event == "return":
            code = frame.f_code
            if frame is self._asked:
                self._asked = None
                if self.decides is None and _is_bool(arg):
                    self.decides = _user_line(frame)
            if (code is _CONCRETE or code is _PUT) and arg is not None:
                self.made[id(arg)] = arg
            elif code is _NUMBER and arg is not None:
                self._note_read(frame, frame.f_locals["t"]._v, number=True)
            elif code is _HOSTED and arg is not None:
                alias = frame.f_locals["alias"]
                if alias.storage.host is not None:
                    self.hosted[id(arg)] = (alias, arg)
            elif code is _KEYED and arg is not None:
                self.impure = "random numbers were drawn from a JAX key"
            elif code is _DRAWN and arg is not None:
                if self.waiting is not None:
                    self.impure = "random numbers were drawn and used on the host"
                f = frame.f_locals
                self.waiting = Draw((f["draw"], f["twister"], f["shape"], f["strides"]), arg)
            elif code is _TAKEN and arg is not None and self.waiting is not None:
                draw, self.waiting = self.waiting, None
                array = frame.f_locals["array"]
                if array.shape != draw.array.shape or not np.array_equal(
                    array, draw.array.astype(array.dtype), equal_nan=True
                ):
                    self.impure = "random numbers were drawn and used on the host"
                draw.dtype, draw.device, draw.array = array.dtype, frame.f_locals["device"], None
                self.draws.append((draw, arg._v))
                self.made.pop(id(arg._v), None)  # another one in each run
        elif event == "c_call" and self.impure is None:
            self._builtin(frame, arg)
        if self._before is not None:
            self._before(frame, event, arg)

    def _note_read(self, frame: Any, v: object, number: bool = False) -> None:
        """Notes that a value is read, computed already or not, which constants of the function may
        be."""
        if (self.reads and self.decides) or id(v) in self.made or self._capture.arranging:
            return
        self.line = self.line or _user_line(frame)
        if self.decides is None:
            called, answer = _asking(frame)
            if answer:
                self.decides = _user_line(frame)
            elif not number and called is not None and not called.f_code.co_name.startswith("__"):
                self._asked = called
        self.reads = True

    def _learn(self, code: types.CodeType, scope: dict[str, object]) -> None:
        self.codes[code] = scope
        self.names.update(code.co_names)
        self.names.update(c for c in code.co_consts if type(c) is str)

    def _builtin(self, frame: object, f: object) -> None:
        name = getattr(f, "__name__", "")
        owner = getattr(f, "__self__", None)
        module = getattr(f, "__module__", None) or type(owner).__module__
        if module == "builtins" and type(owner) is not types.ModuleType:
            module = type(owner).__module__
        suspect = module.partition(".")[0] in _IMPURE_MODULES or (
            module == "builtins" and name in _IMPURE_BUILTINS
        )
        suspect = suspect or module.startswith("numpy.random")
        if not suspect:
            return
        if not self._on_account_of_program(frame):
            return
        where = _user_line(frame)
        self.impure = f"it calls {name}()" + (f" at {where[0]}:{where[1]}" if where else "")

    def _on_account_of_program(self, frame: Any) -> bool:
        """Whether the program called what this frame calls, rather than this package or the
        machinery of imports."""
        nearest = True
        while frame is not None and frame.f_code is not _RUN:
            scope = frame.f_globals.get("__name__", "")
            if scope.startswith("importlib."):
                return False
            if nearest and scope.partition(".")[0] in _TRUSTED:
                return False
            nearest = nearest and is_library(scope)
            frame = frame.f_back
        return True


def _user_line(frame: Any) -> tuple[str, int] | None:
    while frame is not None:
        if not is_library(frame.f_globals.get("__name__")):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _is_bool(x: object) -> bool:
    return type(x) is bool


def _asking(frame: Any) -> tuple[Any, bool]:
    """The program's call that comes to a read, and whether it asks by a branch (not by ``bool()``
    or ``assert``), or for a text.

    What gives numbers, or tensors whose sizes data decide, is in PyTorch's graphs; functions that
    give a bool are not.
    """
    called = None
    while frame is not None and is_library(frame.f_globals.get("__name__")):
        called, frame = frame, frame.f_back
    name = "" if called is None else called.f_code.co_name
    if name != "__bool__" or frame is None:
        return called, name in ("__repr__", "__str__")
    following = _following(frame)
    return called, not following[0].opname.startswith("CALL") and asserted_by(frame) is None


def _following(frame: Any) -> list[dis.Instruction]:
    """The instructions from the one on that asks for a truth value."""
    # from Python 3.13 on a comparison asks by itself
    asking = ("CACHE", "TO_BOOL", "COMPARE_OP", "NOT_TAKEN")
    return [
        i
        for i in dis.get_instructions(frame.f_code)
        if i.offset >= frame.f_lasti and i.opname not in asking
    ]


def asserted_by(frame: object) -> str | None:
    """What an ``assert`` statement says where it is that which asks for a truth value (its text, if
    it is a constant), else None."""
    following = _following(frame)
    if (
        not following[0].opname.startswith("POP_JUMP")
        or "ASSERT" not in (following[1].opname + str(following[1].argval)).upper()
    ):
        return None
    said = following[2]
    return (
        said.argval
        if said.opname == "LOAD_CONST" and type(said.argval) is str
        else "assertion error"
    )


def program_frame(frame: Any) -> object:
    """The program's innermost frame, or None."""
    while frame is not None and is_library(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame


_RUN = Watch.run.__code__
_FLUSH = _run.__code__
_READ = array_of.__code__
_AT_HAND = read_at_hand.__code__
_SHARED = numbers.host_memory.__code__
_NUMBER = numbers._number.__code__
_CONCRETE = concrete.__code__
_PUT = put.__code__
_HOSTED = Storage.get.__code__
_DRAWN = filling.drawn.__code__
_KEYED = filling.key_for.__code__
_TAKEN = filling.taken.__code__
