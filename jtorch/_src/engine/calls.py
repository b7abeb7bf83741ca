"""Calls: a kernel with its static arguments, ready to be recorded and run. Interned by the floor
that makes them."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from . import any_size, limits, pace, programs, room, sized, tracing, values
from .guarded import Guarded
from .values import META, Aval, Several, aval_of

if TYPE_CHECKING:
    from ..facts.kinds import Function, Row, Tree


class Call:
    """One kernel with static arguments fixed: ``fn(*arrays, *numbers)`` gives an array, a tuple of
    arrays, or ``Guarded``.

    Attributes:
        kinds: one letter a number: ``f``loat, ``i``nteger, ``b``ool, ``c``omplex.
        shapes: result avals (and checks) by operand avals, filled as the call is first recorded
            with them.
        warm: operand avals for which the kernel alone has been compiled in this process.
        extra: for the floor that made the call (its op, derivative calls, ...).
        whole: that it is a program by itself, worth compiling with donation even where nothing else
            is recorded.
        demanded: that somebody asked for it to be compiled.
        apart: that it takes long to compile and serves many shapes of its surroundings: not
            compiled into traces seen but once.
        view: that what it gives needs no memory of its own.
        place: of a view, and of a write into one, which elements of the first operand it is of: two
            with the same place have all of them in common, in the same order, or none. None if
            there is no telling.
        identity: what the kernel is, the same in every process (see ``programs``); None if there is
            no telling.
        bounds: gives the interval of its integers from those of its operands, where its jaxpr does
            not show it; None otherwise.
        chains: for a program made of recorded steps, what may answer each of its checks.
        general: of an elementwise kernel, gives what stands for it with operands of all sizes (see
            ``any_size``); None for others.
        forms: what tracing it for all sizes has shown, by operand avals.
        blocks: as a kernel for a block of elements of large arrays, how far it is from being
            compiled (see ``blocks``), by operand avals.
        kin: to which family of calls it belongs that are the same but for sizes (see ``sized``);
            None if to none.
        last: the operand avals that it was traced with last, and what that gave (see ``tracing``),
            until it is settled how to run it.
    """

    __slots__ = (
        "name",
        "fn",
        "kinds",
        "shapes",
        "warm",
        "extra",
        "whole",
        "demanded",
        "apart",
        "identity",
        "bounds",
        "chains",
        "view",
        "place",
        "general",
        "forms",
        "blocks",
        "kin",
        "traces",
        "_alone",
        "_jitted",
        "_inside",
        "__weakref__",
    )

    def __init__(
        self,
        name: str,
        fn: Function,
        kinds: tuple[str, ...] = (),
        extra: Any = None,
        identity: str | None = None,
    ) -> None:
        self.name = name
        self.fn = fn
        self.kinds = kinds
        self._jitted = None
        self._inside = None
        self.traces = {}
        self.shapes: dict[tuple[Aval, ...], Shapes] = {}
        self.warm: set[tuple[Aval, ...]] = set()
        self.extra = extra
        self.whole = self.demanded = self.apart = self.view = False
        self.identity = identity
        self.bounds: Callable[..., Any] | None = None
        self.chains = None
        self.place: Any = None
        self.general = None
        self.forms = None
        self.blocks = None
        self.kin: sized.Kin | None = None
        self._alone = None
        CALLS.add(self)

    @property
    def jitted(self) -> Any:
        """What runs the kernel compiled, or makes it part of what is being traced; made when it is
        first needed."""
        if self._jitted is None:
            # operands say on which device, even if that is all
            self._jitted = jax.jit(self.fn, inline=True, keep_unused=True)
        return self._jitted

    @jitted.setter
    def jitted(self, jitted: Any) -> None:
        self._jitted = jitted

    @property
    def inside(self) -> Function:
        """As ``jitted``, for what JAX may differentiate: with the derivative that the floor above
        states to it."""
        if self._inside is None:
            fn = None if stated is None else stated(self)
            self._inside = self.jitted if fn is None else jax.jit(fn, inline=True, keep_unused=True)
        return self._inside

    @property
    def alone(self) -> Function:
        """The kernel as a program by itself; ``jitted`` is what can become part of another, which
        takes no options of the compiler."""
        if self._alone is None:
            pieces = type(self.jitted) is not _Jitted
            self._alone = (
                self.jitted
                if pieces
                else jax.jit(self.fn, keep_unused=True, compiler_options=programs.OPTIONS)
            )
        return self._alone

    def unload(self) -> None:
        """Drops what was compiled."""
        if self._jitted is not None:
            self._jitted.clear_cache()
        if self._alone is not None:
            self._alone.clear_cache()
        if self._inside is not None:
            self._inside.clear_cache()

    def __repr__(self) -> str:
        return f"<call {self.name}>"


_Jitted = type(jax.jit(lambda: 0))
#: Gives a call's kernel with a derivative of its own, or None where JAX's is meant; written by the
#: floor that knows derivatives.
stated: Callable[[Call], Function | None] | None = None
#: All calls there are.
CALLS: weakref.WeakSet[Call] = weakref.WeakSet()


def all_calls() -> list[Call]:
    """The calls there are, while other threads may make more."""
    while True:
        with contextlib.suppress(RuntimeError):  # the set has changed while it was looked through
            return list(CALLS)


class Estimate(NamedTuple):
    """What running a kernel by itself takes, in seconds: ``calls`` of NumPy, or of the compiled
    kernel, and ``work`` on arrays; the number of its ``equations``, as far as it is known; how many
    steps of a compiled program are ``apart`` from others; and how much of the work is ``far`` from
    the caches."""

    calls: float
    work: float
    equations: int
    apart: int = 0
    far: float = 0.0


class Shapes:
    """What a call gives for operands of certain avals: one aval or a tuple, and the checks on
    values; and what runs it by itself.

    Attributes:
        run: takes the operands and numbers, and gives what the kernel does.
        quick: does so for operands that are all NumPy arrays, and raises what it likes where
            ``run`` might not; None if there is no such.
        alone: how often the kernel ran in traces so short that recording them was of no use (see
            ``record``).
        back: by how much that was last set back, as nobody read what it gave.
        on_host: that ``run`` takes and may give NumPy arrays.
        over: that these may write into their first operand if it was given up
            (``host.rules.to_write``).
        estimate: what running takes; None until it is settled how the call is to run
            (``tiers.settle``).
        fitting: what the kernel is for all sizes (see ``any_size``); None where it was traced for
            these.
        counting: makes of a function one that counts its runs, towards compiling the kernel; None
            where nothing is counted.
        replacing: ``quick`` where results may be written into operands (``tiers.replacing``); None
            until asked for, False if none is.
    """

    __slots__ = (
        "alone", "back", "checks", "counting", "estimate", "fitting", "flows", "jaxpr", "mixed",
        "on_host", "outs", "over", "quick", "replacing", "run",
    )  # fmt: skip

    def __init__(self, outs: Aval | tuple[Aval, ...], checks: Row, mixed: bool) -> None:
        self.outs, self.checks = outs, checks
        self.run: Function
        self.jaxpr: Any = None  # once it was asked for
        self.flows = {}  # where results have their elements from (see ``checks``)
        self.on_host = True
        self.over = False
        self.quick = None
        self.counting = None
        self.replacing = None
        self.alone = self.back = 0
        self.estimate: Estimate | None = None
        self.fitting: any_size.Fitting | sized.Sized | None = None
        #: Operands on several devices: immediate mode must bring them together first.
        self.mixed = mixed

    def traced(self, call: Call, avals: tuple[Aval, ...]) -> Any:
        """The closed jaxpr of the kernel."""
        if self.jaxpr is None:
            self.jaxpr = tracing.traced(call, avals)[0]
        return self.jaxpr


#: Shapes of operands of one call that are remembered.
MANY = 256


def shapes_of(call: Call, avals: tuple[Aval, ...], device: object) -> Shapes:
    """The result avals of ``call``, by tracing the kernel once for each new tuple of operand avals.

    Raises:
        RuntimeError: if operands lie on different devices; and whatever the kernel raises for wrong
            shapes or dtypes.
    """
    found = call.shapes.get(avals)
    if found is not None:
        return found
    place = common_device(call, avals, device)
    outs, checks, fitting = _described(call, avals, place)
    limits.check(outs, call.view)
    found = Shapes(outs, checks, len({a.device for a in avals}) > 1)
    found.fitting = fitting
    begin(call, avals, found)
    call.shapes[avals] = found
    if len(call.shapes) > MANY:
        _forget_half(call)
    room.one_more()
    return found


def known(call: Call, avals: tuple[Aval, ...]) -> Shapes:
    """What is known of a call that was recorded; found once more if it has been forgotten since."""
    found = call.shapes.get(avals)
    return shapes_of(call, avals, values.default_device()) if found is None else found


def _forget_half(call: Call) -> None:
    """Forgets the older half of what a call gives for certain operands, but for what is compiled: a
    program may meet ever new shapes."""
    for avals, shapes in list(call.shapes.items())[: MANY // 2]:
        if shapes.on_host or shapes.estimate is None:
            call.shapes.pop(avals, None)
            call.warm.discard(avals)


def abstract(call: Call, avals: tuple[Aval, ...] = ()) -> Aval | tuple[Aval, ...]:
    """What ``call`` gives on the meta device, where nothing is stored; the operands may lie
    elsewhere.

    Raises:
        RuntimeError: as ``shapes_of``, but for lack of memory.
    """
    known = _abstract.setdefault(call, {})
    found = known.get(avals)
    if found is None:
        outs = _described(call, avals, META)[0]
        limits.check(outs, call.view)
        found = known[avals] = outs
    return found


_abstract = weakref.WeakKeyDictionary()


def _described(
    call: Call, avals: tuple[Aval, ...], place: object
) -> tuple[Aval | tuple[Aval, ...], Row, any_size.Fitting | sized.Sized | None]:
    """The result avals of ``call`` on ``place``, and its checks on values: from what it is for all
    sizes, which comes last, from what an earlier process kept, or by tracing the kernel."""
    # sizes of an export: facts of one process
    symbolic = not all(type(n) is int for a in avals for n in a.shape)
    fitting = None if symbolic else _fitting(call, avals)
    if fitting is not None:
        outs = tuple([aval_of(shape, dtype, place) for shape, dtype in fitting.outs()])
        fitting.teach(call)
        return outs[0] if fitting.form.single else outs, fitting.checks(), fitting
    key = None if symbolic else programs.key_of("shapes", call.identity, avals)
    fact = programs.remembered(key)
    if fact is not None:
        sized.met(call, avals)
        return *_recalled(call, fact, place), None
    with kernel_errors(call.name):
        result = tracing.traced(call, avals)[1]
    checks = ()
    if isinstance(result, Guarded):
        result, checks = result.outs, result.checks
    outs = (
        tuple(aval_of(r.shape, r.dtype, place) for r in result)
        if isinstance(result, (tuple, list))
        else aval_of(result.shape, result.dtype, place)
    )
    if key is not None:
        _remember(key, call, outs, checks)
    if not symbolic:
        sized.met(call, avals)
    return outs, checks, None


def _fitting(call: Call, avals: tuple[Aval, ...]) -> any_size.Fitting | sized.Sized | None:
    """What a call is for all sizes: as an elementwise kernel from its first call on, or as its
    family has shown."""
    found = None if call.general is None else any_size.fitting(call, avals)
    return sized.fitting(call, avals) if found is None else found


def _of_symbols(outs: Aval | tuple[Aval, ...]) -> bool:
    """Whether a result has sizes that vary: what is made of nothing but such a size (``arange``)
    has no operand that JAX traces."""
    return not all(
        type(n) is int
        for a in (outs if isinstance(outs, (tuple, list)) else (outs,))
        for n in a.shape
    )


def begin(call: Call, avals: tuple[Aval, ...], shapes: Shapes) -> None:
    """Has the tier of a call by itself chosen, and its program looked for, or made, when it is
    first run."""
    if values.lost is not None:
        shapes.run = values.lost
        values.lost()

    def run(*args: object) -> Tree:
        from . import tiers

        if any(isinstance(a, jax.core.Tracer) for a in args) or _of_symbols(shapes.outs):
            return call.jitted(*args)
        tiers.settle(call, avals, shapes)
        if not shapes.on_host:
            args = (*tiers.all_moved(args[: len(avals)], avals), *args[len(avals) :])
        return shapes.run(*args)

    shapes.quick = None
    shapes.run, shapes.on_host, shapes.estimate = run, True, None


def compiled_alone(call: Call, avals: tuple[Aval, ...], shapes: Shapes) -> Function:
    """The program of a call by itself, looked for, or made, when it is first run."""
    key = None if shapes.mixed else programs.key_of("kernel", call.identity, avals)
    if key is None:  # as it is wherever there are several devices
        return (
            pace.Paced(call.alone) if any(pace.is_bounded(a.device) for a in avals) else call.alone
        )
    jitted, in_pieces = call.jitted, None
    if type(jitted) is not _Jitted:
        jitted, in_pieces = jitted.whole, jitted.pieces

    def run(*args: jax.Array | int) -> Tree:
        if in_pieces is not None and (found := in_pieces(args)) is not None:
            return found
        if any(isinstance(a, jax.core.Tracer) for a in args):
            return jitted(*args)
        out: Any = 0 if type(shapes.outs) is Aval else (0,) * len(shapes.outs)
        program = call.alone if in_pieces is None else jitted
        shapes.run = programs.ready(
            program, key, args, Guarded(out, 0, shapes.checks) if shapes.checks else out
        )
        return shapes.run(*args)

    return run


def _remember(key: str, call: Call, outs: Aval | tuple[Aval, ...], checks: Row) -> None:
    """Keeps what tracing a call showed for the next process."""
    named = [(programs.name_of_type(kind), message, span) for kind, message, span in checks]
    if any(name is None for name, *_ in named):
        return
    single = type(outs) is Aval
    described = tuple([(a.shape, a.dtype.name) for a in ((outs,) if type(outs) is Aval else outs)])
    extra = call.extra
    programs.remember(
        key,
        (single, described, tuple(named), None if extra is None else (extra.single, extra.hidden)),
    )


def _recalled(
    call: Call, fact: Row, place: object
) -> tuple[Aval | tuple[Aval, ...], tuple[object, ...]]:
    """What an earlier process kept about a call, which also tells the floor above what it learns by
    tracing."""
    single, described, named, learnt = fact
    outs = tuple([aval_of(shape, np.dtype(name), place) for shape, name in described])
    if learnt is not None:
        call.extra.single, call.extra.hidden = learnt
    return outs[0] if single else outs, tuple(
        [(programs.type_named(name), message, span) for name, message, span in named]
    )


def common_device(call: Call, avals: tuple[Aval, ...], default: object) -> Any:
    """Where a call's operands meet.

    Raises:
        RuntimeError: if they lie on devices that do not go together, in torch's words.
    """
    if not avals:
        return default
    place = avals[0].device
    for a in avals:
        if a.device is place or a.device == place:
            continue
        spread = next((b.device for b in avals if type(b.device) is Several), None)
        if spread is not None and all(
            b.device is spread or b.device in spread.device_set or _is_number(b) for b in avals
        ):
            return spread
        # A 0-dim tensor on the host goes along with an accelerator's operands, as in torch.
        first_dimensioned = next((b.device for b in avals if b.ndim), place)
        for b in avals:
            if b.device != first_dimensioned and not _is_number(b):
                names = " and ".join(dict.fromkeys(device_name(c.device) for c in avals))
                if META in (b.device, first_dimensioned):
                    found, wanted = device_name(b.device), device_name(first_dimensioned)
                    raise RuntimeError(
                        f"Tensor on device {found} is not on the expected device {wanted}!"
                    )
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, {names}! (in {call.name})"
                )
        return first_dimensioned
    return place


def _is_number(aval: Aval) -> bool:
    return not aval.ndim and getattr(aval.device, "platform", "") == "cpu"


def device_name(device: Any) -> str:
    """``cpu``, ``cuda:0``, ``meta``: the name torch's messages use for a placement."""
    if device == META:
        return META
    if type(device) is Several:
        return repr(device)
    platform = device.platform
    if platform == "cpu":
        return "cpu" if device.id == 0 else f"cpu:{device.id}"
    return f"{ {'gpu': 'cuda', 'rocm': 'cuda'}.get(platform, platform) }:{device.id}"


@contextlib.contextmanager
def kernel_errors(name: str) -> Iterator[None]:
    """Turns JAX's own complaints about a kernel's operands into one plain RuntimeError naming the
    op; torch-worded errors pass."""
    try:
        yield
    except MemoryError as error:
        raise limits.translated(error) or error from None
    except (
        TypeError,
        ValueError,
        IndexError,
        AssertionError,
        ZeroDivisionError,
        OverflowError,
    ) as error:
        if not _raised_by_jax(error):
            raise (isinstance(error, ValueError) and limits.translated(error)) or _plain(
                error
            ) from None
        reason = str(error).split("\n")[0]
        raise RuntimeError(f"{name}(): invalid operands: {reason}") from None
    except Exception as error:
        _plain(error)
        raise


def _plain(error: Exception) -> Exception:
    """The error without the note on its own frames that JAX adds to whatever passes through it."""
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [note for note in notes if "JAX has removed its internal frames" not in note]
        if not notes:
            del error.__notes__
    return error


def _raised_by_jax(error: BaseException) -> bool:
    tb = error.__traceback__
    if tb is None:
        return False
    while tb.tb_next is not None:
        tb = tb.tb_next
    return tb.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in ("jtorch", "torch")
