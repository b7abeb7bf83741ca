"""One call by itself: the short way of a call that was seen before, the long way of others, and
errors in torch's words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .. import hooks
from . import values as _values
from .calls import Call, Guarded, Shapes, shapes_of
from .checks import failure, refuted
from .signalled import is_signalled
from .tiers import device_array, moved
from .values import (
    META,
    SPECIAL,
    Aval,
    Lifted,
    Value,
    concrete,
    default_device,
    is_jax_default,
    meta_value,
    placed,
    unbound,
)

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Operand


try:
    from jax._src.core import trace_state_clean as outside_jax
except ImportError:  # JAX has no public name for this; without it every run takes the safe way

    def outside_jax() -> bool:
        """Whether no transformation of JAX is running."""
        return False


# XLA's CPU client hands every program of more than about a thousand flops to another thread. Waking
# that thread and then the waiting one costs 40 to 90 microseconds, several times what a small
# program takes; PyTorch computes on the calling thread, too. This has an effect only before the
# first use of JAX.
if os.environ.get("JTORCH_CPU_ASYNC", "0") != "1":
    jax.config.update("jax_cpu_enable_async_dispatch", False)

_new = object.__new__
_ArrayImpl = type(jax.device_put(np.zeros(1)))
_Jitted = type(jax.jit(lambda: 0))
_ndarray = np.ndarray

#: How a kept program refuses arrays that it was not made for, and how NumPy may fail where XLA
#: gives numbers: the kernel is compiled then.
_REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError)


def quickly(
    shapes: Shapes, ins: Sequence[Value], numbers: tuple[float, ...]
) -> Value | list[Value] | None:
    """The value, or values, of a call that NumPy runs, the shortest way there is; None if it has to
    go another one."""
    quick = shapes.quick
    if quick is None:
        return None
    try:
        if len(ins) == 2:  # the commonest cases, unrolled
            v, w = ins
            a = v.array
            b = w.array
            if type(a) is not _ndarray or type(b) is not _ndarray:
                return None
            out = quick(a, b, *numbers) if numbers else quick(a, b)
        elif len(ins) == 1:
            v = ins[0]
            a = v.array
            if type(a) is not _ndarray:
                return None
            out = quick(a, *numbers) if numbers else quick(a)
        elif not ins:
            out = quick(*numbers)
        else:
            arrays = [v.array for v in ins]
            for a in arrays:
                if type(a) is not _ndarray:
                    return None
            out = quick(*arrays, *numbers)
    except Exception as error:
        if is_signalled(error):
            raise
        return None  # the longer way finds out
    if type(out) is not _ndarray:
        return several(shapes, out)
    v = _new(Value)
    v.aval = shapes.outs
    v.array = out
    v.index = 0
    v.trace = v.meta = None
    return v


def immediately(
    call: Call, ins: Sequence[Value], numbers: tuple[object, ...]
) -> Value | list[Value]:
    """Runs one call now. Operands may be tracers (then so is the result) or without data (then only
    shapes are computed)."""
    args: Sequence[Any]
    if len(ins) == 2 and not numbers:  # the two commonest cases, unrolled
        v, w = ins
        a, b = args = v.array, w.array
        shapes = call.shapes.get((v.aval, w.aval))
        if (
            shapes is None
            or shapes.mixed
            or a is None
            or b is None
            or v.trace is SPECIAL
            or w.trace is SPECIAL
        ):
            return _immediately(call, ins, numbers)
        if not shapes.on_host and (type(a) is _ndarray or type(b) is _ndarray):
            args = device_array(v), device_array(w)
    elif len(ins) == 1 and not numbers:
        v = ins[0]
        args = (v.array,)
        shapes = call.shapes.get((v.aval,))
        if shapes is None or v.array is None or v.trace is SPECIAL:
            return _immediately(call, ins, numbers)
        if not shapes.on_host and type(v.array) is _ndarray:
            args = (device_array(v),)
    else:
        args = []
        avals = []
        for v in ins:
            array = v.array
            if array is None or v.trace is SPECIAL:
                return _immediately(call, ins, numbers)
            args.append(array)
            avals.append(v.aval)
        shapes = call.shapes.get(tuple(avals))
        if (
            shapes is None
            or shapes.mixed
            or not (args or (shapes.on_host and shapes.estimate is not None))
        ):
            return _immediately(call, ins, numbers)
        if not shapes.on_host:
            args = [device_array(v) for v in ins]
        args += numbers
    try:
        result = shapes.run(*args)
    except (jax.errors.JaxRuntimeError, MemoryError) as error:
        raise translate(error, call.name, None) from error
    except _REFUSALS as error:
        result = again(call, shapes, args, error)
    if type(result) is not _ArrayImpl and type(result) is not _ndarray:
        return several(shapes, result)
    # What the result is was learnt when the call was first seen: asking the array would take
    # longer.
    v = _new(Value)
    v.aval = shapes.outs
    v.array = result
    v.index = 0
    v.trace = v.meta = None
    return v


def again(call: Call, shapes: Shapes, args: Sequence[object], error: Exception) -> Any:
    """Runs a call by itself after an error: a kept program takes only what it was made for, such as
    arrays laid out in one way."""
    if not outside_jax():
        return call.jitted(*args)  # becomes part of what JAX is tracing
    if (
        getattr(shapes.run, "run", shapes.run) is call.alone
        or is_signalled(error)
        or (shapes.on_host and _values.tier == "host")
    ):
        raise error
    shapes.quick = None
    shapes.run, shapes.on_host = call.alone, False
    return call.alone(*args)


def several(shapes: Shapes, result: Any) -> Value | list[Value]:
    """The value, or values, of a result that is not one array: several, checks on values, or
    tracers.

    Inside a JAX transformation even concrete operands give tracers.
    """
    if type(result) is Guarded:
        _checked(result)
        result = result.outs
    avals = shapes.outs
    if type(avals) is Aval:
        return _known(result, avals)
    made = []
    for r, aval in zip(result, avals, strict=True):
        if type(r) is not _ndarray:
            made.append(_known(r, aval))
            continue
        v = _new(Value)
        v.aval = aval
        v.array = r
        v.index = 0
        v.trace = v.meta = None
        made.append(v)
    return made


def _of_host(result: object) -> bool:
    """Whether NumPy has computed what a kernel gave."""
    if type(result) is Guarded:
        result = result.flags
    elif type(result) is tuple and result:
        result = result[0]
    return type(result) is _ndarray


def _known(result: Operand, aval: Aval) -> Value:
    if type(result) is not _ArrayImpl and type(result) is not _ndarray:
        return concrete(result)
    v = _new(Value)
    v.aval = aval
    v.array = result
    v.index = 0
    v.trace = v.meta = None
    return v


def unguarded(result: object) -> Any:
    """What a call run by itself gave, without its checks, which are made."""
    if type(result) is Guarded:
        _checked(result)
        return result.outs
    return result


def _checked(result: Guarded) -> None:
    """Raises the first check of a call run by itself that failed; those of tracers are not made."""
    if not isinstance(result.flags, jax.core.Tracer):
        error = failure(result.flags, result.checks)
        if error is not None:
            raise error


def _order(v: Lifted) -> int:
    return v.order


def _immediately(call: Call, ins: Sequence[Value], numbers: Arguments) -> Value | list[Value]:
    arrays = []
    for v in ins:
        a = v.array
        if a is None:
            lifted = [v for v in ins if isinstance(v, Lifted)]
            if lifted:
                return max(lifted, key=_order).run(call, ins, numbers)
            if v.aval.device == META:
                return _meta(call, ins)
            a = hooks.read(v)
        arrays.append(a)
    if not arrays and not is_jax_default(default_device()):
        shapes_of(call, (), default_device())  # refuses impossible sizes
        with placed(default_device()):
            result = unguarded(call.jitted(*numbers))
        return (
            concrete(result)
            if not isinstance(result, (tuple, list))
            else [concrete(r) for r in result]
        )
    if len(ins) > 1:
        place = ins[0].aval.device
        for v in ins:
            if v.aval.device is not place and v.aval.device != place:
                # An error in torch too, unless the others are 0-dim.
                shapes_of(call, tuple([v.aval for v in ins]), default_device())
                arrays = [v.array for v in hooks.gathered(call, ins)]
                break
    run = within = call.inside
    known = None
    if not any(v.trace is SPECIAL for v in ins):
        # so that the next time takes the short way
        known = shapes_of(call, tuple([v.aval for v in ins]), default_device())
        run = known.run
    if known is None or not known.on_host:
        arrays = [
            moved(a, v.aval.device) if type(a) is _ndarray else a
            for a, v in zip(arrays, ins, strict=True)
        ]
        if known is None:  # inside a transformation, which may spread what it runs over devices
            arrays = [unbound(a) for a in arrays]
    try:
        result = run(*arrays, *numbers)
    except Exception as error:
        if is_signalled(error):
            raise
        # a wrong shape or device: raises in torch's words
        shapes_of(call, tuple([v.aval for v in ins]), default_device())
        if run is within or run is call.jitted or not isinstance(error, _REFUSALS):
            raise translate(error, call.name, None) from error
        if known is not None and known.on_host and _values.tier == "host" and outside_jax():
            raise
        result, known = call.jitted(*arrays, *numbers), None  # see ``again``
    if known is not None and _of_host(result):
        return several(known, result)
    if type(result) is Guarded:
        _checked(result)
        if (
            isinstance(result.flags, jax.core.Tracer)
            and (error := refuted(result.checks, ins, numbers)) is not None
        ):
            raise error
        result = result.outs
    if type(result) is tuple:
        return [concrete(r) for r in result]
    if isinstance(result, list):
        return [concrete(r) for r in result]
    return concrete(result)


def _meta(call: Call, ins: Sequence[Value]) -> Value | list[Value]:
    outs = shapes_of(call, tuple([v.aval for v in ins]), default_device() if not ins else META).outs
    if type(outs) is Aval:
        return meta_value(outs.shape, outs.dtype)
    return [meta_value(a.shape, a.dtype) for a in outs]


def translate(error: BaseException, name: str, line: tuple[str, int] | None) -> BaseException:
    """An error of a failing op as the user should see it: which op, and the line that recorded
    it."""
    where = f" (recorded at {line[0]}:{line[1]})" if line else ""
    text = str(error).strip()
    if isinstance(error, MemoryError):
        return OutOfMemoryError(f"{name}{where}: out of memory: {text}")
    if isinstance(error, jax.errors.JaxRuntimeError):
        if "RESOURCE_EXHAUSTED" in text:
            return OutOfMemoryError(f"{name}{where}: out of memory: {text}")
        return RuntimeError(f"{name}{where}: {text}")
    try:
        return type(error)(f"{name}{where}: {text}")
    except Exception:
        return RuntimeError(f"{name}{where}: {text}")


class OutOfMemoryError(RuntimeError):
    """The device could not hold an op's result."""

    __module__ = "jtorch"
