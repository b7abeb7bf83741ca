"""Values: what tensors hold. A value is concrete (a ``jax.Array``) or pending (an index into a
trace that has not run yet)."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import jax
import numpy as np

from ..facts import dtypes
from .stopping import STOPPING, stopped

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Function, Operand, Row, Values


@final
class Aval:
    """Shape, dtype and placement of a value. Interned: equal avals are the same object, so that
    keys hash by identity."""

    __slots__ = (
        "shape",
        "dtype",
        "device",
        "ndim",
        "size",
        "nbytes",
        "torch_dtype",
        "sds",
        "torch_size",
        "differentiable",
    )

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, device: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.torch_dtype = dtypes.BY_NP.get(dtype)
        self.differentiable = (
            self.torch_dtype is not None and self.torch_dtype.category >= dtypes.FLOATING
        )
        self.sds = jax.ShapeDtypeStruct(shape, dtype)
        self.torch_size = None  # the floor above caches its Size object here

    def __repr__(self) -> str:
        return f"{self.torch_dtype}{list(self.shape)}@{self.device}"


#: Placement of values that have no data.
META = "meta"

TIERS = ("auto", "host", "xla")


def _chosen() -> str:
    chosen = os.environ.get("JTORCH_TIERS", "auto")
    if chosen not in TIERS:
        raise ValueError(f"JTORCH_TIERS must be one of {', '.join(TIERS)}, got {chosen!r}")
    return chosen


#: Which tiers run kernels: see ``tiers``.
tier = _chosen()

_avals: dict[Row, Aval] = {}


def aval_of(shape: tuple[int, ...], dtype: np.dtype, device: object) -> Aval:
    """The interned aval."""
    key = (shape, dtype, device)
    found = _avals.get(key)
    if found is None:
        found = _avals.setdefault(key, Aval(shape, dtype, device))
    return found


class Value:
    """One immutable array, now or later.

    ``array`` is the ``jax.Array``, a NumPy array where the host made it, or None while pending.
    ``trace`` is the trace that knows this value under ``index`` (an output if non-negative, else an
    input), ``SPECIAL`` for values that are never recorded (tracers, meta values), or None. ``meta``
    is for the floors above (``Meta``): that the array must not be donated, or that an in-place
    write has superseded it.
    """

    __slots__ = ("aval", "array", "index", "trace", "meta", "__weakref__")

    aval: Aval
    array: Any
    index: int
    trace: Any
    meta: Any


class Lifted(Value):
    """A value that is not an array of the engine's: it says itself how a call on it runs. Never
    recorded; its ``trace`` is ``SPECIAL``.

    Of several kinds among the operands of a call the one of the highest ``order`` runs it.
    ``depth`` says in how many transformations.
    """

    __slots__ = ()

    order = 0
    depth = 1

    def run(self, call: Any, ins: Any, numbers: Arguments) -> Any:
        """The result, or list of results, of a call that has this value among its operands."""
        raise NotImplementedError

    def plain(self, what: str = "item") -> Value:
        """The value to read in its place on the host.

        Raises:
            Exception: ``unreadable``, if there is none.
        """
        raise self.unreadable(what)

    def unreadable(self, what: str = "item") -> Exception:
        """The error for reading it on the host, as ``what`` does."""
        raise NotImplementedError

    def may_replace(self, current: Value) -> bool:
        """Whether it may be written where ``current`` is."""
        return True

    def overwritten(self, new: Value) -> Value:
        """What is there once ``new`` is written over it while forward derivatives are off."""
        return new

    def refuse_out(self, name: str) -> None:
        """Raises the error for a function that got, or is to write, this value by ``out=``, if
        there is one."""


class Transformed(Lifted):
    """The value of a tensor inside a transformation, made of values of the tensors outside, on
    which calls run in the end."""

    __slots__ = ()

    def over(self, physical: Value) -> Value:
        """The value that stands for ``physical`` as this one does for its own."""
        raise NotImplementedError

    def apart(self) -> tuple[tuple[Value, ...], Callable[..., Value]]:
        """The values outside that it is made of, and what makes one like it of such values, without
        keeping these."""
        raise NotImplementedError

    def start(self, storage: Any) -> int | None:
        """Where in the memory outside the first element of ``storage`` lies, if it stands for one
        example of what lies there; else None."""
        return None


class Laid(Lifted):
    """The value of a tensor in another layout than strided: stands for ``tensor`` as a whole."""

    __slots__ = ("tensor",)

    tensor: Any


class Meta:
    """Rare facts about a value: ``keep`` forbids donating its array; ``stale`` is set when an
    in-place write superseded the value, and ``source`` are the facts about the value that a view's
    value was read from, which may become stale itself (not that value, which would be kept alive);
    ``bounds`` remembers in which intervals its elements lie (see ``checks``). ``watched`` marks a
    tracer that stands for a tensor which requires grad and was recorded outside."""

    __slots__ = ("keep", "stale", "source", "bounds", "watched", "__weakref__")

    def __init__(
        self, keep: bool = False, stale: object = None, source: Meta | None = None
    ) -> None:
        self.keep, self.stale, self.source, self.watched = keep, stale, source, False
        self.bounds: dict[Any, Any] | None = None


class _Special:
    """The trace of values that are run at once wherever they appear."""

    def __repr__(self) -> str:
        return "SPECIAL"


SPECIAL = _Special()
_new = object.__new__


def placement_of(array: jax.Array) -> Any:
    """The jax device of an array, or ``Several`` where it lies on more than one."""
    devices = array.devices()
    if len(devices) == 1:
        return next(iter(devices))
    key = frozenset(devices)
    return _several.get(key) or _several.setdefault(key, Several(array.sharding))


@final
class Several:
    """The placement of arrays that are spread over several devices: which devices these are, not
    how each array is cut.

    How results are cut is XLA's decision (GSPMD). ``replicated`` is the sharding of what comes from
    one of the devices to join them.
    """

    __slots__ = ("device_set", "platform", "replicated")

    def __init__(self, sharding: Any) -> None:
        mesh = getattr(sharding, "mesh", None)
        found = (
            sorted(sharding.device_set, key=lambda d: d.id) if mesh is None else mesh.devices.flat
        )
        self.device_set = frozenset(sharding.device_set)
        self.platform: str = next(iter(self.device_set)).platform
        self.replicated = jax.sharding.NamedSharding(
            jax.sharding.Mesh(np.array(list(found)), ("devices",)), jax.sharding.PartitionSpec()
        )

    def __repr__(self) -> str:
        return f"{len(self.device_set)} {self.platform} devices"


_several: dict[frozenset[Any], Several] = {}


def concrete(array: jax.Array) -> Value:
    """The value of a ``jax.Array`` or of a tracer."""
    v = _new(Value)
    v.index = 0
    v.meta = None
    v.array = array
    if isinstance(array, jax.core.Tracer):
        if STOPPING.within is not None:
            v.array = array = stopped(array)
        v.trace = SPECIAL
        v.aval = aval_of(array.shape, array.dtype, default_device())
    else:
        v.trace = None
        v.aval = aval_of(array.shape, array.dtype, placement_of(array))
    return v


def copied(array: np.ndarray) -> Value:
    """The value of a copy of a NumPy array. (``jnp.array`` would compile a program for each new
    shape.)"""
    if array.dtype == np.bool_:  # memory of others may hold any bytes
        return put(array.view(np.uint8) != 0, default_device())
    return put(np.array(array, order="C"), default_device())


def put(array: np.ndarray, place: object) -> Value:
    """The value of a NumPy array that nobody else writes to, on a device."""
    if alone is None and not on_host(place):
        return concrete(jax.device_put(array, place))
    # (In a forked process, JAX might have one of its threads copy the array, which this process has
    # not.)
    if not array.flags.c_contiguous:
        array = array.copy()
    v = _new(Value)
    v.index, v.meta, v.array, v.trace = 0, None, array, None
    v.aval = aval_of(array.shape, array.dtype, place)
    return v


def settled(array: np.ndarray, aval: Aval) -> Value:
    """The value of a NumPy array in row-major order that nobody writes to, of which all is
    known."""
    v = _new(Value)
    v.aval, v.array, v.index, v.trace, v.meta = aval, array, 0, None, None
    return v


def on_host(place: object) -> bool:
    """Whether values on a device may be NumPy arrays."""
    return (
        tier != "xla" and getattr(place, "platform", None) == "cpu" and type(place) is not Several
    )


def meta_value(shape: tuple[int, ...], dtype: np.dtype) -> Value:
    """A value without data, on the meta device."""
    v = _new(Value)
    v.index, v.meta, v.array, v.trace = 0, None, None, SPECIAL
    v.aval = aval_of(shape, dtype, META)
    return v


_bridge = sys.modules.get("jax._src.xla_bridge")
#: Whether JAX has been used before this package.
EARLY: bool = _bridge is None or _bridge.backends_are_initialized()

_default: Values = []
#: Where nothing may be compiled, nor run that is: raises the error that says so (``forking``).
alone: Function | None = None
#: Where nothing may be run: waits for the end of the process (``exiting``).
lost: Function | None = None


def default_device() -> Any:
    """The jax device where values go unless told otherwise: the CPU, as in torch, where JAX has
    one."""
    if not _default:
        if lost is not None:
            lost()
        try:
            _default.append(jax.local_devices(backend="cpu")[0])
        except RuntimeError:  # JAX_PLATFORMS leaves the CPU out
            _default.append(jax.local_devices()[0])
    return _default[0]


def placed(device: object) -> Any:
    """A context in which programs without committed inputs run on ``device``."""
    return (
        jax.default_device(device) if isinstance(device, jax.Device) else contextlib.nullcontext()
    )


def is_jax_default(device: object) -> bool:
    """Whether JAX itself would put new arrays on ``device``."""
    if not _jax_default:
        _jax_default.append(jax.local_devices()[0])
    return device is _jax_default[0]


_jax_default: list[object] = []


def unbound(array: jax.Array) -> Operand:
    """An array for programs of JAX, which may move it to where others are: ``shard_map`` and
    ``jit`` refuse to spread one that is bound to a device. On a device that is not JAX's own choice
    it stays bound, as does all where there is but one device."""
    if not _more_devices:
        _more_devices.append(len(jax.local_devices()) > 1)
    if (
        not _more_devices[0]
        or not isinstance(array, jax.Array)
        or isinstance(array, jax.core.Tracer)
        or not array.committed
    ):
        return array
    if len(found := array.devices()) != 1 or not is_jax_default(next(iter(found))):
        return array
    return type(array)(array.aval, array.sharding, [array], committed=False, _skip_checks=True)  # type: ignore[call-arg]


_more_devices: list[bool] = []
