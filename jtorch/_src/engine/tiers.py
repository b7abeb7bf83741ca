"""Which tier runs what: NumPy on the host, a kernel compiled by itself, or a whole trace compiled
as one program (decision 0018).

On the CPU everything begins on the host, where nothing has to be compiled. What a compiler would
save is added up, run by run, and when it has come to what compiling costs, the kernel or the trace
is compiled. Both are estimates that follow from the jaxprs and from constants below: no clock is
asked, so that a program takes the same way each time, and gives the same bits.

``JTORCH_TIERS`` fixes the tier: ``host`` compiles nothing that NumPy can run, ``xla`` runs nothing
by NumPy.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from . import programs, tracing, values
from .blocks import BLOCK, Blocks, blocks_of
from .calls import Call, Estimate, Guarded, Shapes, compiled_alone, known
from .checks import test_of
from .host.many import in_order
from .host.recipes import Recipe, Unstaged, packed, recipe_of, unpacked
from .host.rules import BYTE
from .host.short import SMALL, Form, shortened, silence
from .host.staging import CODE_AFTER, Program, made, stage
from .intervals import Interval, join
from .signalled import is_signalled
from .values import Aval

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Row
    from .trie import State

try:  # ``numpy.errstate`` takes three times as long
    from numpy._core._ufunc_config import _extobj_contextvar as _errors

    with np.errstate(all="ignore"):
        _ignoring = _errors.get()
    _ignore, _heed = _errors.set, _errors.reset
    _silent = silence(_ignoring, _errors)
except ImportError:
    _ignoring = {"all": "ignore"}
    _silent = None

    def _ignore(settings: Any) -> object:
        return np.seterr(**settings)

    def _heed(token: Any) -> None:
        np.seterr(**token)


#: Seconds: calling a compiled kernel and a compiled trace; a step of a trace that runs op by op.
LAUNCH, LAUNCH_TRACE, STEP = 6e-6, 8e-6, 0.5e-6
#: Seconds for each array that a compiled program is given or gives, beyond so many, which calling a
#: kernel has in it.
ARRAY, ARRAYS = 1e-6, 8
#: Seconds for what a compiled program has a step of its own for (``Program.apart``), beside the
#: work that it is.
APART = 1.5e-6
#: Traces of more ops are never taken for small ones.
FEW = 16
#: Seconds to compile one kernel; and for each of its equations.
KERNEL, EQUATION = 0.06, 0.0004
#: Seconds to compile a trace: a fixed part and a part for each op.
TRACE, TRACE_OP = 0.06, 0.008
#: More results of a kernel than this are compiled one by one, each in so many seconds.
MANY, RESULT = 24, 0.05
#: A kernel by itself must have lost so many times what compiling it takes: the trace that it is
#: part of may come again, and be compiled.
PATIENCE = 2.0
#: What part of it has come together when another thread begins to compile what will be taken into
#: use when all of it has (``ahead``).
HEAD_START = 0.5
#: How much of the work on arrays beyond the nearest caches a compiled kernel saves, a compiled
#: trace, which keeps less in memory between ops, and a kernel that computes blocks.
SAVED, SAVED_TRACE, SAVED_BLOCKS = 0.3, 0.5, 0.6
#: How much each of them saves of the work on arrays beyond all caches (``Program.far``), for which
#: NumPy takes half as long again as rules say.
SAVED_FAR = 1.1
#: How many times the work that NumPy does faster (``Rule.kept``) counts as lost in what is
#: compiled, of which a part is (``SAVED``).
LOST = 2.5

#: XLA's code for one step that waits for memory is no faster than NumPy's on so few as two.
PROCESSORS = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)

#: Where nothing runs on the host, seconds that compiling what came twice may take: at all, for each
#: time that something ran, and of which one program may take no more than so many.
GRACE, SHARE, LONG = 20.0, 0.01, 4.0

#: Seconds that compiling traces should have taken by now.
compiled_seconds = 0.0
_ndarray = np.ndarray
_Jitted = type(jax.jit(lambda: 0))
#: Numbers as they are given to kernels, by kind.
_ZEROS = {"f": 0.0, "i": 0, "b": False, "c": 0j}
_SCALARS = {
    "f": np.float64,
    "i": np.int64,
    "b": np.bool_,
    "c": np.complex128,
}


class ignoring:
    """While it lasts NumPy says nothing about overflow, NaN and the like: kernels' numbers are what
    they are."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _ignore(_ignoring)

    def __exit__(self, *exc: object) -> None:
        _heed(self._token)


def settle(call: Call, avals: tuple[Aval, ...], shapes: Shapes) -> None:
    """Decides how a call by itself is to run, the first time that it is about to: by NumPy, if all
    of it has rules."""
    program = None
    outs = (shapes.outs,) if type(shapes.outs) is Aval else shapes.outs
    place = outs[0].device if outs else None
    if not shapes.mixed and not call.demanded and values.on_host(place) and values.lost is None:
        with contextlib.suppress(Unstaged):
            program = stage(_recipe(call, avals, shapes))
    if program is None:
        shapes.estimate = Estimate(LAUNCH, BYTE * sum([a.nbytes for a in (*avals, *outs)]), 0)
        shapes.run, shapes.on_host = values.alone or compiled_alone(call, avals, shapes), False
    else:
        calls = program.calling
        work = (
            max(0.0, program.cost - program.kept - program.even - program.near - calls)
            - LOST * program.kept
        )
        shapes.estimate = estimate = Estimate(
            calls, work, program.equations, program.apart, program.far
        )
        shapes.over = program.over
        saved = (
            0.0
            if program.streams and PROCESSORS <= 2
            else _saved(call, estimate, len(avals) + len(program.outs))
        )
        # Known without a run, so that a first call on large arrays does not take NumPy's time and
        # the compiler's.
        if values.alone is None and saved > PATIENCE * kernel_seconds(estimate):
            # one run would take longer than the compiler does
            _compile_alone(call, avals, shapes, estimate)
        else:
            shapes.run = _runner(call, avals, shapes, program, saved)
    call.traces.pop(avals, None)


def _handed(count: int) -> float:
    """What it takes to give a compiled kernel, and to take from it, so many arrays."""
    return ARRAY * max(0, count - ARRAYS)


def _saved(call: Call, estimate: Estimate, arrays: int) -> float:
    """What a run of a call by itself would take less if it were compiled; 0 where that is out of
    the question."""
    if values.tier == "host" or call.whole:
        return 0.0
    return (
        estimate.calls
        + _saved_work(estimate, SAVED)
        - LAUNCH
        - APART * estimate.apart
        - _handed(arrays)
    )


def _saved_work(estimate: Estimate, share: float) -> float:
    """How much of the work on arrays compiling saves, ``share`` of that within the caches."""
    return share * estimate.work + (SAVED_FAR - share) * estimate.far


def _compile_alone(call: Call, avals: tuple[Aval, ...], shapes: Shapes, estimate: Estimate) -> None:
    """Has a call by itself run by a compiled program from now on, which is looked for, or made,
    when it is first run."""
    shapes.quick = None
    shapes.run, shapes.on_host = compiled_alone(call, avals, shapes), False
    shapes.estimate = estimate._replace(
        calls=LAUNCH + APART * estimate.apart, work=(1 - SAVED) * estimate.work, far=0.0
    )


def kernel_seconds(estimate: Estimate) -> float:
    """What compiling a kernel by itself takes."""
    return KERNEL + EQUATION * estimate.equations


def settled(call: Call, avals: tuple[Aval, ...]) -> Shapes:
    """What is known of a call, how it is to run included."""
    shapes = known(call, avals)
    if shapes.estimate is None:
        settle(call, avals, shapes)
    return shapes


def _recipe(call: Call, avals: tuple[Aval, ...], shapes: Shapes) -> Recipe:
    """What a kernel computes: kept by an earlier process, or from its jaxpr."""
    if shapes.fitting is not None:
        return shapes.fitting.recipe()
    key = programs.key_of("recipe", call.identity, avals)
    fact = programs.remembered(key)
    if fact is not None:
        return unpacked(fact)
    recipe = recipe_of(shapes.jaxpr or tracing.traced(call, avals)[0])
    with contextlib.suppress(Unstaged):
        programs.remember(key, packed(recipe))
    return recipe


def _runner(
    call: Call, avals: tuple[Aval, ...], shapes: Shapes, program: Program, saved: float
) -> Function:
    """What runs a call by NumPy, and has it compiled once that would have been worth while."""
    estimate, checks = shapes.estimate, shapes.checks
    assert estimate is not None
    n = len(avals)
    scalars = tuple([_SCALARS[k] for k in call.kinds])
    single = type(shapes.outs) is Aval
    owned = not call.view
    left = PATIENCE * kernel_seconds(estimate) if saved > 0 else 0.0
    due = (1 - HEAD_START) * left  # what is left when something has to be done
    gain = _gained(shapes, avals) if saved > 0 else 0.0
    blocks = blocks_of(call, avals, shapes, left, HEAD_START) if gain > 0 else None
    runs = 0

    def run(*args: object) -> Any:
        nonlocal runs
        runs += 1
        if runs > CODE_AFTER:
            code, short = _code(call, avals, shapes, program, walked)
            if saved > 0:
                code, short, shapes.counting = counted(code), counted(short), counted
            shapes.quick, shapes.run = short, code
            return shapes.run(*args)
        count()
        return walked(*args)

    def walked(*args: Any) -> object:
        given = [a if type(a) is _ndarray else np.asarray(a) for a in args[:n]]
        if scalars:
            given += [make(x) for make, x in zip(scalars, args[n:], strict=True)]
        with ignoring():
            found = program.run(*given)
        outs = [_owned(x) for x in found] if owned else [_looked_at(x) for x in found]
        if checks:
            flags = outs.pop()
            return Guarded(outs[0] if single else tuple(outs), flags, checks)
        return outs[0] if single else tuple(outs)

    def over_blocks(*args: object) -> object:
        count()
        if values.alone is not None:
            return walked(*args)
        assert blocks is not None
        found = blocks.run(
            args[:n], args[n:], (shapes.outs,) if type(shapes.outs) is Aval else shapes.outs, moved
        )
        return found[0] if single else tuple(found)

    def count() -> None:
        nonlocal left
        if saved > 0:
            left -= saved
            if blocks is not None and shapes.run is not over_blocks and _in_blocks(blocks, gain):
                shapes.quick, shapes.run = None, over_blocks
            if left <= due:
                look()

    def look() -> None:
        nonlocal due
        if values.alone is not None:
            return
        if due:
            _begin_alone(call, avals, shapes)
            due = 0.0
        if left <= 0:
            _compile_alone(call, avals, shapes, estimate)

    def counted(code: Callable[..., object]) -> Function:
        if blocks is not None:

            def run(*args: object) -> Any:
                count()
                return code(*args)

            return run

        def run(*args: object) -> Any:
            nonlocal left
            left -= saved
            if left <= due:
                look()
            return code(*args)

        return run

    return over_blocks if blocks is not None and blocks.shapes is not None else run


def _gained(shapes: Shapes, avals: tuple[Aval, ...]) -> float:
    """What a run would take less if a compiled program computed blocks of it: arrays are brought
    there, and back."""
    outs = (shapes.outs,) if type(shapes.outs) is Aval else shapes.outs
    if not outs or shapes.estimate is None:
        return 0.0
    moving = BYTE * sum([a.nbytes for a in (*avals, *outs)])
    launching = LAUNCH * (1 + outs[0].size // BLOCK)
    return _saved_work(shapes.estimate, SAVED_BLOCKS) - launching - moving


def _in_blocks(blocks: Blocks, gain: float) -> bool:
    """Counts a run that a kernel for blocks would have made shorter; whether there is one by
    now."""
    if blocks.shapes is not None:
        return True
    blocks.left -= gain
    if blocks.left > blocks.due or values.alone is not None:
        return False
    shapes = settled(blocks.call, blocks.avals)
    if blocks.due:
        _begin_alone(blocks.call, blocks.avals, shapes)
        blocks.due = 0.0
    if blocks.left > 0:
        return False
    if shapes.on_host:
        assert shapes.estimate is not None
        _compile_alone(blocks.call, blocks.avals, shapes, shapes.estimate)
    blocks.shapes = shapes
    return True


def _begin_alone(call: Call, avals: tuple[Aval, ...], shapes: Shapes) -> None:
    """Has a kernel compiled that will soon be."""
    if shapes.mixed or type(call.jitted) is not _Jitted:
        return
    args = (*[a.sds for a in avals], *[_ZEROS[k] for k in call.kinds])
    try:
        programs.begin(call.alone, programs.key_of("kernel", call.identity, avals), args)
    except Exception as error:  # of lowering it, which will be tried once more
        if is_signalled(error):
            raise


def soon(state: State) -> bool:
    """Whether a trace has come so often that another thread may begin to compile it."""
    if (
        state.worth is None
        or state.begun
        or not values.on_host(state.device)
        or values.tier == "host"
    ):
        return False
    saved, compiling = state.worth
    return saved * state.spent > HEAD_START * compiling


def _code(
    call: Call,
    avals: tuple[Aval, ...],
    shapes: Shapes,
    program: Program,
    walked: Callable[..., object],
) -> tuple[Function, Function]:
    """What ``walked`` does, as generated functions: one that always does, and a shorter one for
    NumPy arrays (``Shapes.quick``)."""
    n = len(avals)
    outs = (shapes.outs,) if type(shapes.outs) is Aval else shapes.outs
    results = [f"r{k}" for k in range(len(program.outs))]
    flags = results.pop() if shapes.checks else ""
    found = results[0] if type(shapes.outs) is Aval else f"({', '.join(results)},)"
    names = {
        "Guarded": Guarded,
        "checks": shapes.checks,
        "ignore": _ignore,
        "nothing": _ignoring,
        "heed": _heed,
    }
    sizes = [a.nbytes for a in avals], [*[a.nbytes for a in outs], 0]
    last = f"return Guarded({found}, {flags}, checks)" if flags else f"return {found}"
    scalars = [_SCALARS[k] for k in call.kinds]
    short = shortened(program, Form(n, scalars, sizes, call.view, names, last), _silent)
    given = [f"v{i}" for i in range(program.given)]
    lines = [
        f"def run({', '.join(given)}):",
        *[f"    if type({v}) is not ndarray: {v} = asarray({v})" for v in given[:n]],
    ]
    # Another thread may be in the context in which NumPy is silent.
    code = [
        f"    try: return short({', '.join(given)})",
        f"    except RuntimeError: return walked({', '.join(given)})",
    ]
    run = made(
        [*lines, *code],
        {"ndarray": _ndarray, "asarray": np.asarray, "short": short, "walked": walked},
    )
    spans = [span for _, _, span in shapes.checks]
    if flags and all(
        span is not None and (span[0] >= n or avals[span[0]].dtype.isbuiltin == 1) for span in spans
    ):
        # Where looking at the operands tells that no check fails, the flags need not be computed.
        recipe = _recipe(call, avals, shapes)
        program = stage(recipe._replace(outs=recipe.outs[:-1]), _intervals(spans))
        lean = shortened(
            program, Form(n, scalars, sizes, call.view, names, f"return {found}"), _silent
        )
        tests = {
            f"test{k}": test_of(span, avals[span[0]].dtype if span[0] < n else None)
            for k, span in enumerate(spans)
        }
        told = " and ".join([f"test{k}(v{span[0]})" for k, span in enumerate(spans)])
        every = ", ".join(given)
        lines = [
            f"def run({every}):",
            f"    if {told}: return lean({every})",
            f"    return whole({every})",
        ]
        short = made(lines, {**tests, "lean": lean, "whole": short})
    return run, short


def replacing(call: Call, avals: tuple[Aval, ...], shapes: Shapes, places: Sequence[int]) -> Any:
    """What ``shapes.quick`` does, for a kernel whose first results may be written into the operands
    of these numbers, which they are like; False if none would be.

    Where it fails it may have written some.
    """
    program = stage(_recipe(call, avals, shapes), places=places)
    n, outs = len(avals), shapes.outs if type(shapes.outs) is tuple else (shapes.outs,)
    shapes.replacing = False
    if (
        program.placed
        and not shapes.checks
        and all([avals[i] is a for i, a in zip(places, outs, strict=False)])  # noqa: C419
    ):
        last = f"return ({', '.join([f'r{k}' for k in range(len(outs))])},)"
        names = {"ignore": _ignore, "nothing": _ignoring, "heed": _heed}
        form = Form(
            n,
            [_SCALARS[k] for k in call.kinds],
            ([a.nbytes for a in avals], [a.nbytes for a in outs]),
            call.view,
            names,
            last,
        )
        run = shortened(program, form, None)
        shapes.replacing = run if shapes.counting is None else shapes.counting(run)
    return shapes.replacing


def _intervals(spans: Sequence[Any]) -> dict[int, Interval]:
    """Where the elements of operands lie for which the tests of spans hold."""
    found: dict[int, Interval] = {}
    for at, low, high, _, skip, _ in spans:
        interval = (low, high) if skip is None else join((low, high), (skip, skip))
        before = found.get(at, interval)
        found[at] = max(before[0], interval[0]), min(before[1], interval[1])
    return found


def _owned(x: np.generic | np.ndarray) -> np.ndarray:
    """A result as an array in row-major order that does not hold on to another's memory."""
    if type(x) is not _ndarray:
        return np.asarray(x)
    if x.base is not None or not x.flags.c_contiguous:
        return in_order(x)
    return x


def _looked_at(x: np.ndarray) -> np.ndarray:
    """A result that may share an operand's memory; small ones are in row-major order all the
    same."""
    if type(x) is not _ndarray:
        return np.asarray(x)
    return x if x.nbytes > SMALL or x.flags.c_contiguous else x.copy()


def estimate_of(steps: Sequence[State]) -> tuple[float, float]:
    """What a compiled program of recorded steps saves in one run, in seconds, and what compiling it
    takes."""
    saved, compiling = -LAUNCH_TRACE, TRACE
    many = made = 0
    used: set[int] = set()
    for s in steps:
        call = s.call
        estimate = settled(call, s.avals).estimate  # type: ignore[arg-type]
        assert estimate is not None
        saved += STEP + estimate.calls + _saved_work(estimate, SAVED_TRACE)
        saved -= APART * estimate.apart
        compiling += TRACE_OP + EQUATION * estimate.equations
        used.update(s.ids)
        made += 1 if type(s.outs) is Aval else len(s.outs)
        if isinstance(s.outs, tuple) and len(s.outs) > MANY and not call.whole:
            many += len(s.outs)  # most of them become code of their own
    # Its inputs, and its outputs, which are nearly all that nothing in it uses.
    saved -= ARRAY * (sum([i < 0 for i in used]) + made - sum([i >= 0 for i in used]))
    return saved, compiling + RESULT * many


def small(steps: Sequence[State]) -> Row:
    """What runs each of few recorded steps that NumPy runs, and that no program would run faster;
    () otherwise."""
    if len(steps) > FEW:
        return ()
    found = [(settled(s.call, s.avals), s.ids, len(s.call.kinds)) for s in steps]  # type: ignore[arg-type, union-attr]
    if not all(shapes.on_host for shapes, _, _ in found) or (
        (len(steps) > 1 or steps[0].call.whole) and estimate_of(steps)[0] > 0
    ):
        return ()
    return tuple(found)


def may_compile(seconds: float, runs: int) -> bool:
    """Whether a trace that came again, where nothing runs on the host, may be compiled after so
    many runs of traces."""
    return seconds <= LONG and compiled_seconds + seconds < GRACE + SHARE * runs


def device_array(v: values.Value) -> Any:
    """A value's array as a ``jax.Array``, which takes the place of a NumPy array from now on; a
    tracer, or None, as it is."""
    a = v.array
    if type(a) is _ndarray and values.alone is None:
        a = v.array = moved(a, v.aval.device)
    return a


try:
    from jax._src.lib import xla_client as _xla_client  # type: ignore[attr-defined]

    _put = _xla_client.batched_device_put
except (ImportError, AttributeError):
    _put = None
_places: dict[object, object] = {}


def all_moved(arrays: Sequence[object], avals: Sequence[Aval]) -> list[object]:
    """Operands for a compiled program."""
    return [
        moved(a, v.device) if type(a) is _ndarray else a for a, v in zip(arrays, avals, strict=True)
    ]


def moved(array: np.ndarray, place: object) -> Operand:
    """A NumPy array, which nobody will write to, as a ``jax.Array`` on a device; itself where
    nothing can be done with such."""
    if values.alone is not None:
        return array
    if _put is not None and type(place) is jax.Device:
        sharding = _places.get(place)
        if sharding is None:
            sharding = _places[place] = jax.sharding.SingleDeviceSharding(place)
        return _put(
            jax.core.ShapedArray(array.shape, array.dtype), sharding, [array], [place], True
        )
    return jax.device_put(array, place)
