"""device objects, the jax devices they stand for, and the default device. Imports JAX inside
functions only.

A *placement* is what the engine keeps for a value: a ``jax.Device``, a ``jax.sharding.Sharding`` or
``"meta"``.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...dispatch import (
    ACTIVE,
    MISSING,
    TorchFunctionMode,
    add_plain,
    mode_stack,
    override,
    push_mode,
    remove_mode,
)

if TYPE_CHECKING:
    from .kinds import Function


#: torch's device types, in the order of its messages; ``tpu`` is jtorch's own.
TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip

#: Device type -> JAX platforms that serve it, the first one there is.
_PLATFORMS = {
    "cpu": ("cpu",),
    "cuda": ("cuda", "rocm"),
    "hip": ("rocm",),
    "tpu": ("tpu",),
    "mps": ("METAL", "mps"),
}
#: JAX platform (``device.platform``) -> device type.
_TYPE_OF = {
    "cpu": "cpu",
    "gpu": "cuda",
    "cuda": "cuda",
    "rocm": "cuda",
    "tpu": "tpu",
    "METAL": "mps",
    "mps": "mps",
}
META = "meta"

_Callable = TypeVar("_Callable", bound=Callable[..., Any])

_new = object.__new__
_interned: dict[tuple[str, int | None], device] = {}


def _intern(kind: str, index: int | None) -> device:
    found = _interned.get((kind, index))
    if found is None:
        made = _new(device)
        object.__setattr__(made, "type", kind)
        object.__setattr__(made, "index", index)
        found = _interned.setdefault((kind, index), made)
    return found


class device:
    """Where a tensor lies: ``device("cuda:0")``, ``device("cuda", 0)``, ``device(0)`` or
    ``device(another)``.

    As a context manager or decorator it is the device of the factories called inside.

    Args:
        args: a name such as ``"cuda:0"``, a type and an index, an index, or a device.
        kwargs: ``type`` and ``index`` by name.

    Raises:
        RuntimeError: for a string that names no device.

    Example:
        >>> import jtorch as torch
        >>> torch.device("cuda:1").index, torch.device("cpu").type
        (1, 'cpu')
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    if TYPE_CHECKING:  # what a checker sees of the constructor

        @overload
        def __init__(self, device: device | str | int, /) -> None: ...
        @overload
        def __init__(self, *, device: device | str | int) -> None: ...
        @overload
        def __init__(self, type: str, index: int) -> None: ...
        def __init__(self, *args: object, **kwargs: object) -> None: ...

    else:

        def __new__(cls, *args: object, **kwargs: object) -> Any:
            if ACTIVE.modes:
                answer = override(device, (), args, kwargs or None)
                if answer is not MISSING:
                    return answer
            return _construct(args, kwargs)

    def __init_subclass__(cls) -> None:
        raise TypeError("type 'torch.device' is not an acceptable base type")

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("type", "index"):
            raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")
        raise AttributeError(f"'torch.device' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')"
            if self.index is None
            else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        # Equal devices are the same object: see ``_intern``.
        return self is other if isinstance(other, device) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[type[device], tuple[str] | tuple[str, int]]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: object) -> device:
        return self

    def __enter__(self) -> device:
        push_mode(DeviceContext(self))
        return self

    def __exit__(self, *exc: object) -> None:
        entered = next(
            (
                m
                for m in reversed(mode_stack())
                if isinstance(m, DeviceContext) and m.device is self
            ),
            None,
        )
        if entered is None:
            raise RuntimeError(
                f"the device context {self!r} is left in a thread or block that has not entered it"
            )
        remove_mode(entered)

    def __call__(self, func: _Callable) -> _Callable:
        """Decorator: ``func`` runs with this device as the default."""
        return _decorated(self, func)  # type: ignore[return-value]


def _decorated(place: device, func: Callable[..., object]) -> Function:
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all "
            "methods should have the context manager applied. Decorate the methods individually."
        )
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args: object, **kwargs: object) -> Any:
            inner = func(*args, **kwargs)
            step: Callable[[], Any] = functools.partial(next, inner)
            while True:
                # The context is left while the generator is suspended: the caller's factories are
                # none of its business.
                try:
                    with place:
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                    step = functools.partial(inner.send, sent)
                except GeneratorExit:
                    with place:
                        inner.close()
                    raise
                except BaseException as e:  # thrown in by the caller: the generator's to handle
                    step = functools.partial(inner.throw, e)

        return generator

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        with place:
            return func(*args, **kwargs)

    return wrapper


# ------------------------------------------------------------------------------------- construction


def _construct(args: tuple[object, ...], kwargs: dict[str, str]) -> device:
    names = dict(kwargs)
    first = args[0] if args else names.pop("device", MISSING)
    if first is MISSING:
        first = names.pop("type", MISSING)
    index = args[1] if len(args) > 1 else names.pop("index", None)
    if len(args) > 2 or names or first is MISSING:
        raise _invalid(args, kwargs)
    if isinstance(first, device) and index is None:
        return first
    if isinstance(first, str):
        if index is None:
            return _parse(first)
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(
                f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}"
            )
        if ":" in first:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly: "
                f"{first}"
            )
        return _intern(_parse(first).type, _not_negative(index))
    if isinstance(first, int) and not isinstance(first, bool) and index is None:
        _not_negative(first)
        kind = accelerator_type()
        if kind is None:
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return _intern(kind, first)
    raise _invalid(args, kwargs)


def _not_negative(index: int) -> int:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    return index


def _invalid(args: tuple[object, ...], kwargs: Mapping[str, object]) -> TypeError:
    got = ", ".join(
        [*(type(a).__name__ for a in args), *(f"{k}={type(v).__name__}" for k, v in kwargs.items())]
    )
    return TypeError(
        f"device() received an invalid combination of arguments - got ({got}), but expected one "
        "of:\n"
        " * (torch.device device)\n * (str type, int index = -1)\n"
    )


@functools.cache
def _parse(text: str) -> device:
    if not text:
        raise RuntimeError("Device string must not be empty")
    kind, colon, number = text.partition(":")
    wrong = RuntimeError(f"Invalid device string: '{text}'")
    if colon and not (
        number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")
    ):
        raise wrong
    if kind not in TYPES and kind != "tpu":
        letters = kind.replace("_", "")
        if not (letters.isascii() and letters.isalpha()):
            raise wrong
        raise RuntimeError(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {kind}"
        )
    if len(number) > 9:
        raise RuntimeError(f"Could not parse device index '{number}' in device string '{text}'")
    return _intern(kind, int(number) if colon else None)


def as_device(value: object, function: str = "to") -> device:
    """The device that an argument ``device=`` means.

    Raises:
        TypeError: if it is neither a device, nor a string or index.
    """
    if isinstance(value, device):
        return value
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return _construct((value,), {})
    raise TypeError(
        f"{function}(): argument 'device' must be torch.device, not {type(value).__name__}"
    )


# -------------------------------------------------------------------------------------- jax devices


@functools.cache
def jax_devices(kind: str) -> tuple[object, ...]:
    """This process's jax devices of a device type; empty if there are none."""
    import jax

    if kind == "xla":  # what no device type of PyTorch's names
        return () if jax.default_backend() in _TYPE_OF else tuple(jax.local_devices())
    for platform in _PLATFORMS.get(kind, ()):
        try:
            return tuple(jax.local_devices(backend=platform))
        except RuntimeError:
            continue
    return ()


@functools.cache
def accelerator_type() -> str | None:
    """The type of the accelerator that JAX found, or None if there is only the CPU."""
    import jax

    kind = _TYPE_OF.get(jax.default_backend(), "xla")
    return None if kind == "cpu" else kind


device.__module__ = "jtorch"  # where pickles find it


class _Current(threading.local):
    """The index that ``cuda`` without index means, and the entry of ``set_default_device``, for one
    thread."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.default: DeviceContext | None = None


_current = _Current()


def current_index(kind: str) -> int:
    """The index that a device type without one stands for in this thread."""
    return _current.index.get(kind, 0)


def set_current_index(kind: str, index: int) -> None:
    """Sets the index that a device type without one stands for in this thread.

    Raises:
        RuntimeError: if there is no such device.
    """
    placement(_intern(kind, index))
    _current.index[kind] = index


def cpu_placement() -> object:
    """The jax device of host memory."""
    return jax_devices("cpu")[0]


def placement(value: device | str | int | None = None) -> Any:
    """The jax device for a device (None: the CPU, as in torch), or ``"meta"``.

    Raises:
        RuntimeError: if JAX has no such device here; AssertionError for the types of which PyTorch
            says so.
    """
    if value is None:
        return cpu_placement()
    d = value if type(value) is device else as_device(value)
    if d.type == META:
        return META
    found = jax_devices(d.type)
    index = current_index(d.type) if d.index is None else d.index
    if index < len(found):
        return found[index]
    if not found:
        raise _unavailable(d)
    there = "is 1 device" if len(found) == 1 else f"are {len(found)} devices"
    raise RuntimeError(f"invalid device ordinal: '{d}', but there {there} of type {d.type}")


def _unavailable(d: device) -> Exception:
    """PyTorch's error for a device type that is not there: programs look at its type and words."""
    error: Exception
    if d.type in ("cuda", "xpu"):
        error = AssertionError(f"Torch not compiled with {d.type.upper()} enabled")
    elif d.type in ("mps", "xla"):
        error = RuntimeError(f"PyTorch is not linked with support for {d.type} devices")
    else:
        return RuntimeError(f"device '{d}' is not available: JAX found {_there()}")
    error.add_note(f"device '{d}' is not available: JAX found {_there()}")
    return error


def _there() -> str:
    counts: dict[str, int] = {}
    for kind in ("cpu", "cuda", "tpu", "mps"):
        if n := len(jax_devices(kind)):
            counts[kind] = n
    return "no other than " + ", ".join(f"{kind} ({n})" for kind, n in counts.items())


_of: dict[Any, device] = {}


def of_placement(place: object) -> device:
    """The device of a value that lies at ``place``; of a sharded one, the type its shards lie
    on."""
    found = _of.get(place)
    if found is None:
        found = _of[place] = _device_of(place)
    return found


def _device_of(place: Any) -> device:
    if place == META:
        return _intern(META, None)
    shards = getattr(place, "device_set", None)
    if shards is not None:
        return _intern(_TYPE_OF.get(next(iter(shards)).platform, "xla"), None)
    kind = _TYPE_OF.get(place.platform, "xla")
    there = jax_devices(kind)
    index = there.index(place) if place in there else place.id
    return _intern(kind, None if kind == "cpu" and index == 0 else index)


# ----------------------------------------------------------------------------------- default device

#: The functions that a device context gives its device, filled in as they are made;
#: ``torch.normal`` and ``*_like`` functions are none.
FACTORIES: set[object] = set()


class DeviceContext(TorchFunctionMode):
    """The function mode behind ``with torch.device(...)``: gives its device to factories that were
    not given one."""

    acts_on: Collection[object] | None = FACTORIES

    def __init__(self, place: device | str | int) -> None:
        self.device = as_device(place)

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in FACTORIES and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def set_default_device(device: Any) -> None:
    """Sets the device of factories in this thread, as the outermost device context would; None
    takes it off.

    Example:
        >>> import jtorch as torch
        >>> torch.set_default_device("meta")
        >>> torch.zeros(1).device
        device(type='meta')
        >>> torch.set_default_device(None)
    """
    entry = None if device is None else DeviceContext(device)
    if _current.default is not None:
        remove_mode(_current.default)
    _current.default = entry
    if entry is not None:
        push_mode(entry, outermost=True)


def get_default_device() -> device:
    """The device of factories that are not given one: of the innermost device context, else of
    ``set_default_device``, else the CPU.

    Example:
        >>> import jtorch as torch
        >>> with torch.device("meta"):
        ...     torch.get_default_device()
        device(type='meta')
    """
    found = next((m.device for m in reversed(mode_stack()) if isinstance(m, DeviceContext)), None)
    if found is None:
        return _intern("cpu", None)
    if found.index is None and found.type not in ("cpu", META):
        return of_placement(placement(found))
    return found


add_plain(device)
