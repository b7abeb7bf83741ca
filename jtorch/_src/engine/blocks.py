"""Elementwise kernels on large arrays of ever new sizes: one compiled program, for a block of
elements, serves all of them. Floor 1.

A program that meets a new length in each step compiles nothing, since nothing comes twice, and
NumPy takes several times as long as XLA's code for what has many steps (``gelu``, ``silu``, their
derivatives). What a kernel computes at each place does not depend on sizes, if it is elementwise as
``any_size`` shows; so it can be compiled for so many elements in a row, and run over all of them
block by block. The last block ends where the array does, and computes some elements once more: all
elements are computed by the same code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import any_size
from .host.recipes import Recipe
from .values import Aval, aval_of

if TYPE_CHECKING:
    from .calls import Call, Shapes

#: Elements of a block. Smaller arrays are left to NumPy.
BLOCK = 1 << 16
#: To which bytes memory must be aligned for XLA to read it where it lies.
_LINE = 64
#: Parameters of equations that say nothing but how large arrays are.
_SIZES = frozenset(("shape", "broadcast_dimensions", "sharding"))


class Blocks:
    """A kernel for blocks of elements, and how much longer until it is compiled.

    Attributes:
        call, avals: the kernel, and its operands for one block.
        left: the seconds that are to be lost before it is compiled.
        due: what is left when something has to be done.
        shapes: what is known of the kernel once it is compiled; None before.
    """

    __slots__ = ("_lock", "_trays", "avals", "call", "due", "left", "shapes")

    def __init__(self, call: Call, avals: tuple[Aval, ...], left: float, due: float) -> None:
        self.call, self.avals, self.left, self.due = call, avals, left, due
        self.shapes: Shapes | None = None
        self._lock = threading.Lock()
        self._trays: list[_Tray | None] | None = None

    def run(
        self,
        arrays: Sequence[object],
        numbers: Sequence[object],
        outs: Sequence[Aval],
        moved: Callable[[Any, Any], Any],
    ) -> list[np.ndarray]:
        """What the kernel gives for operands of any size; ``moved`` makes them what compiled
        programs take."""
        assert self.shapes is not None
        size = outs[0].size
        full = [a.size > 1 for a in self.avals]
        given = [
            np.asarray(a).reshape(-1 if yes else b.shape)
            for a, b, yes in zip(arrays, self.avals, full, strict=True)
        ]
        singles = [
            None if yes else moved(a, b.device)
            for a, b, yes in zip(given, self.avals, full, strict=True)
        ]
        results = [np.empty(o.shape, o.dtype) for o in outs]
        flat = [r.reshape(-1) for r in results]
        single = type(self.shapes.outs) is Aval
        # Another thread that computes the same at this moment has its own operands made for each
        # block.
        held = self._lock.acquire(blocking=False)
        trays = self._trays if held else None
        if held:
            # Those of a run that an error ends are not taken again: its program may still read
            # them.
            self._trays = None
            trays = trays or [
                _tray(a, moved) if yes else None for a, yes in zip(self.avals, full, strict=True)
            ]
        try:
            for start in (*range(0, size - BLOCK, BLOCK), size - BLOCK):
                end = start + BLOCK
                block = list(singles)
                for i, (a, b, yes) in enumerate(zip(given, self.avals, full, strict=True)):
                    if not yes:
                        continue
                    tray = trays[i] if trays is not None else None
                    block[i] = (
                        moved(a[start:end], b.device)
                        if tray is None
                        else tray.with_numbers(a[start:end])
                    )
                found = self.shapes.run(*block, *numbers)
                for r, x in zip(flat, (found,) if single else found, strict=True):
                    r[start:end] = x
            if held:
                self._trays = trays
        finally:
            if held:
                self._lock.release()
        return results


class _Tray:
    """Memory for a block that NumPy writes and a compiled program reads, so that no array has to be
    made for each block.

    What a program reads must not change while it runs: whoever holds the tray has all of its
    results before it writes again.
    """

    __slots__ = ("_array", "_memory")

    def __init__(self, memory: np.ndarray, array: object) -> None:
        self._memory, self._array = memory, array

    def with_numbers(self, numbers: np.ndarray) -> object:
        """The array for the program, which holds these numbers."""
        np.copyto(self._memory, numbers)
        return self._array


def _tray(aval: Aval, moved: Callable[[Any, Any], Any]) -> _Tray | None:
    """A tray for operands like this; None where JAX copies what it is given."""
    room = np.empty(aval.nbytes + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    memory = room[start : start + aval.nbytes].view(aval.dtype).reshape(aval.shape)
    array = moved(memory, aval.device)
    try:
        shared = array.unsafe_buffer_pointer() == memory.ctypes.data
    except (AttributeError, RuntimeError):  # not an array of one device
        return None
    return _Tray(memory, array) if shared else None


class _Unfit(Exception):
    """Some operand is neither of the full size nor a single element."""


def blocks_of(
    call: Call, avals: tuple[Aval, ...], shapes: Shapes, seconds: float, head_start: float
) -> Blocks | None:
    """The kernel for blocks that serves a call, which takes so many seconds to compile; None where
    there is none."""
    fitting = shapes.fitting
    outs = (shapes.outs,) if type(shapes.outs) is Aval else shapes.outs
    if (
        type(fitting) is not any_size.Fitting
        or not outs
        or outs[0].size < BLOCK
        or any(o.shape != outs[0].shape for o in outs)
    ):
        return None
    shape = outs[0].shape

    def stand(a: Aval) -> Aval:
        if a.shape == shape:
            return aval_of((BLOCK,), a.dtype, a.device)
        if a.size != 1:
            raise _Unfit
        return aval_of((1,) if a.ndim else (), a.dtype, a.device)

    general: Any = call.general
    try:
        found = general(call, avals, stand)
    except _Unfit:
        return None
    if found is None:
        return None
    traced, small, _ = found
    if small == avals:  # it is the kernel for a block
        return None
    if traced.blocks is None:
        traced.blocks = {}
    if small not in traced.blocks:
        flat = any_size.fitting(traced, small)
        same = flat is not None and _alike(flat.form.recipe, fitting.form.recipe)
        traced.blocks[small] = (
            Blocks(traced, small, seconds, (1 - head_start) * seconds) if same else None
        )
    return traced.blocks[small]


def _alike(a: Recipe, b: Recipe) -> bool:
    """Whether two recipes compute the same function of elements, whatever the sizes are."""
    if (
        len(a.steps) != len(b.steps)
        or a.outs != b.outs
        or [x.dtype for x in a.ins] != [x.dtype for x in b.ins]
    ):
        return False
    if [(c.dtype, c.tobytes()) for c in a.constants] != [
        (c.dtype, c.tobytes()) for c in b.constants
    ]:
        return False
    return all(_key(s) == _key(t) for s, t in zip(a.steps, b.steps, strict=True))


def _key(step: Any) -> object:
    params = {name: repr(x) for name, x in step.params.items() if name not in _SIZES}
    return step.name, step.ins, step.out, [o.dtype for o in step.outs], params
