"""Functions that make tensors, as dispatch modes see them: size first, ``device`` and
``pin_memory`` filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.everything import M, T
from ..facts import devices, dtypes
from ..facts.layouts import preserve_format
from ..facts.size import SYMBOLIC, SymFloat
from .functions import route
from .overloads import OpOverloadPacket, aten
from .routes_shape import size_of
from .state import STATE, Kernel

if TYPE_CHECKING:
    from ..facts.kinds import Named


A = aten


def options(
    dtype: Any, device: str | None, pin_memory: bool | None = False, layout: object = None
) -> Named:
    """The keywords that factories arrive with."""
    place = devices.get_default_device() if device is None else device
    place = place if isinstance(place, devices.device) else devices.device(place)
    found: dict[str, Any] = {} if dtype is None else {"dtype": _dtype(dtype)}
    del layout
    return {**found, "device": place, "pin_memory": bool(pin_memory)}


def _dtype(dtype: Any) -> Any:
    return {
        float: dtypes.float64,
        int: dtypes.int64,
        bool: dtypes.bool_,
        complex: dtypes.complex128,
    }.get(dtype, dtype)


def finish(t: Tensor, requires_grad: bool) -> Tensor:
    """The tensor as a leaf that requires grad, if asked for."""
    if requires_grad:
        t.requires_grad_()
    return t


def _sized(packet: OpOverloadPacket) -> None:
    name = packet.__name__

    def make(
        *size: object, out: object = None, dtype: object = None, layout: object = None,
        device: str | None = None, pin_memory: bool = False, requires_grad: bool = False,
        generator: object = None, names: object = None, memory_format: object = None,
        **kwargs: object,
    ) -> Tensor:  # fmt: skip
        del names
        if "size" in kwargs:
            size = (kwargs.pop("size"),)
        if kwargs:
            return NotImplemented
        if out is not None:
            return packet.out(size_of(size), out=out)
        more = options(dtype, device, pin_memory, layout)
        if memory_format not in (None, preserve_format) and name == "empty":
            more["memory_format"] = memory_format
        if generator is not None:
            return finish(
                packet.generator(size_of(size), generator=generator, **more), requires_grad
            )
        overload = packet.memory_format if name == "empty" else packet.default
        return finish(overload(size_of(size), **more), requires_grad)

    route(getattr(T, name))(make)


for _packet in (A.zeros, A.ones, A.empty, A.rand, A.randn):
    _sized(_packet)


@route(T.full)
def full(
    size: object, fill_value: object, *, out: object = None, dtype: object = None,
    layout: object = None,
    device: str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    names: object = None,
) -> Tensor:  # fmt: skip
    """``full.default``."""
    del names
    if out is not None:
        return A.full.out(size_of((size,)), fill_value, out=out)
    if isinstance(fill_value, Tensor):
        fill_value = A._local_scalar_dense.default(fill_value)
    return finish(
        A.full.default(size_of((size,)), fill_value, **options(dtype, device, pin_memory, layout)),
        requires_grad,
    )


@route(T.arange)
def arange(
    start: float = 0, end: object = None, step: object = None, *, out: object = None,
    dtype: object = None,
    layout: object = None, device: str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """``arange.default``, ``.start`` or ``.start_step``."""
    if out is not None:
        return NotImplemented
    more = options(dtype, device, pin_memory, layout)
    if end is None:
        found = A.arange.default(start, **more)
    elif step is None:
        found = A.arange.start(start, end, **more)
    else:
        found = A.arange.start_step(start, end, step, **more)
    return finish(found, requires_grad)


@route(T.eye)
def eye(
    n: int, m: object = None, *, out: object = None, dtype: object = None, layout: object = None,
    device: str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``eye.default`` or ``eye.m``."""
    if out is not None:
        return NotImplemented
    more = options(dtype, device, pin_memory, layout)
    return finish(A.eye.default(n, **more) if m is None else A.eye.m(n, m, **more), requires_grad)


def _with_ends(packet: OpOverloadPacket, start: object, end: object) -> Any:
    kinds = ["Tensor" if isinstance(x, Tensor) else "Scalar" for x in (start, end)]
    return packet.default if kinds == ["Scalar", "Scalar"] else getattr(packet, "_".join(kinds))


@route(T.linspace)
def linspace(
    start: object, end: object, steps: int, *, out: object = None, dtype: object = None,
    layout: object = None, device: str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``linspace.default``, or the overload for ends that are tensors."""
    if out is not None:
        return NotImplemented
    return finish(
        _with_ends(A.linspace, start, end)(
            start, end, steps, **options(dtype, device, pin_memory, layout)
        ),
        requires_grad,
    )


@route(T.logspace)
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: object = None,
    dtype: object = None,
    layout: object = None, device: str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``logspace.default``, or the overload for ends that are tensors."""
    if out is not None:
        return NotImplemented
    return finish(
        _with_ends(A.logspace, start, end)(
            start, end, steps, base, **options(dtype, device, pin_memory, layout)
        ),
        requires_grad,
    )


@route(T.randint)
def randint(
    *args: Any, generator: object = None, out: object = None, dtype: object = None,
    layout: object = None,
    device: str | None = None, pin_memory: bool = False, requires_grad: bool = False, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """``randint.default`` or ``randint.low``."""
    given = list(args)
    low = kwargs.pop("low", None)
    high = kwargs.pop("high", None)
    size = kwargs.pop("size", None)
    if size is None and given:
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None and given:
        low = given.pop()
    if kwargs or given or out is not None or generator is not None or size is None or high is None:
        return NotImplemented
    more = options(dtype, device, pin_memory, layout)
    found = (
        A.randint.default(high, list(size), **more)
        if low is None
        else A.randint.low(low, high, list(size), **more)
    )
    return finish(found, requires_grad)


@route(T.randperm)
def randperm(
    n: int, *, generator: object = None, out: object = None, dtype: object = None,
    layout: object = None, device: str | None = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """``randperm.default``."""
    if out is not None or generator is not None:
        return NotImplemented
    return finish(
        A.randperm.default(n, **options(dtype, device, pin_memory, layout)), requires_grad
    )


def _kind_of_symbols(data: list[int] | float) -> object:
    """The dtype of numbers, also in sequences, among which are sizes that vary; None for others."""
    kinds = set(map(type, _leaves(data)))
    if not any(issubclass(kind, SymFloat) or kind in SYMBOLIC for kind in kinds):
        return None
    if complex in kinds:
        return dtypes.of_number(1j)
    return (
        dtypes.get_default_dtype()
        if any(issubclass(kind, (float, SymFloat)) for kind in kinds)
        else dtypes.int64
    )


def _leaves(data: list[int] | float) -> list[float]:
    """What nested lists and tuples hold."""
    return (
        [x for item in data for x in _leaves(item)] if isinstance(data, (list, tuple)) else [data]
    )


def _of_symbols(data: object, more: Mapping[str, object]) -> Any:
    if isinstance(data, (list, tuple)):
        return A.stack.default([_of_symbols(item, more) for item in data])
    return (
        data.to(more["device"], more["dtype"])
        if isinstance(data, Tensor)
        else A.scalar_tensor.default(data, **more)
    )


@route(T.tensor)
def tensor(
    data: list[int] | float,
    *,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Made outside dispatch, then ``lift_fresh.default``; of sizes that vary,
    ``scalar_tensor.default`` of each number."""
    if isinstance(data, Tensor):
        return NotImplemented
    if SYMBOLIC and (kind := _kind_of_symbols(data)) is not None:
        return finish(_of_symbols(data, options(dtype or kind, device, pin_memory)), requires_grad)
    with Kernel():
        made = T.tensor(data, dtype=dtype, device=device, pin_memory=pin_memory)
    return finish(A.lift_fresh.default(made), requires_grad)


@route(T.as_tensor, T.from_numpy, T.asarray)
def as_tensor(data: Tensor, dtype: object = None, device: object = None, **kwargs: object) -> Any:
    """Tensors are converted by ``to``; other data is made outside dispatch, then lifted."""
    if kwargs:
        return NotImplemented
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if SYMBOLIC and _kind_of_symbols(data) is not None:
        return tensor(data, dtype=dtype, device=device)
    with Kernel():
        made = T.as_tensor(data, dtype=dtype, device=device)
    return A.lift_fresh.default(made)


def seen_making(
    make: Callable[[], Tensor], size: Any = None, other: Tensor | None = None, **given: object
) -> Tensor:
    """What ``make`` gives, where dispatch modes are on made by the operator that they see:
    ``empty``, ``alias`` or ``lift_fresh``."""
    if STATE.off or not STATE.modes:
        return make()
    if size is not None:
        return A.empty.memory_format(list(size), **given)
    if other is not None:
        return A.alias.default(other)
    with Kernel():
        made = make()
    return A.lift_fresh.default(made)


@route(M.new_tensor)
def new_tensor(self: Tensor, data: object, **kwargs: object) -> Tensor:
    """As ``tensor``, with the dtype and device of another."""
    kwargs = {
        "dtype": self._aval.torch_dtype,
        **{k: x for k, x in kwargs.items() if k != "layout" and x is not None},
    }
    kwargs.setdefault("device", self.device)
    return tensor(data, **kwargs)


@route(T.scalar_tensor)
def scalar_tensor(
    s: object,
    *,
    dtype: object = None,
    layout: object = None,
    device: str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``scalar_tensor.default``."""
    return finish(
        A.scalar_tensor.default(s, **options(dtype, device, pin_memory, layout)), requires_grad
    )


# ---- like another tensor -------------------------------------------------------------------------


def _stated(
    dtype: dtypes.dtype | None, layout: object, device: devices.device | int | str, pin_memory: bool
) -> dict[str, object]:
    """The keywords that were given, and whether to pin."""
    more: Named = {} if dtype is None else {"dtype": _dtype(dtype)}
    if layout is not None:
        more["layout"] = layout
    if device is not None:
        more["device"] = (
            devices.device(device) if not isinstance(device, devices.device) else device
        )
    return {**more, "pin_memory": bool(pin_memory)}


def _like(packet: OpOverloadPacket, *extra: str) -> None:
    def make(
        input: Tensor, *args: object, dtype: dtypes.dtype | None = None, layout: object = None,
        device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
        memory_format: dtypes.memory_format = preserve_format, **kwargs: object,
    ) -> Tensor:  # fmt: skip
        given = [*args, *[kwargs.pop(n) for n in extra[len(args) :] if n in kwargs]]
        if kwargs or len(given) != len(extra):
            return NotImplemented
        more = _stated(dtype, layout, device, pin_memory)
        if memory_format not in (None, preserve_format):
            more["memory_format"] = memory_format
        return finish(packet.default(input, *given, **more), requires_grad)

    route(getattr(T, packet.__name__))(make)


for _packet in (A.zeros_like, A.ones_like, A.empty_like, A.rand_like, A.randn_like):
    _like(_packet)
_like(A.full_like, "fill_value")


@route(T.randint_like)
def randint_like(
    input: Tensor,
    *args: object,
    dtype: object = None,
    device: object = None,
    pin_memory: bool = False,
    **kwargs: object,
) -> Tensor:
    """``randint_like.default`` or ``.low_dtype``."""
    given = [*args, *[kwargs.pop(n) for n in ("low", "high") if n in kwargs]]
    if kwargs or not given:
        return NotImplemented
    more: Named = {
        **({} if dtype is None else {"dtype": dtype}),
        **({} if device is None else {"device": device}),
    }
    more["pin_memory"] = bool(pin_memory)
    return (
        A.randint_like.default(input, given[0], **more)
        if len(given) == 1
        else A.randint_like.low_dtype(input, *given, **more)
    )


def _new(packet: OpOverloadPacket, *extra: str) -> None:
    def make(
        self: Tensor, *args: object, dtype: dtypes.dtype | None = None, layout: object = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False, **kwargs: object,
    ) -> Tensor:  # fmt: skip
        more = _stated(dtype, layout, device, pin_memory)
        names = ("size", *extra)
        if extra:
            given = [*args, *[kwargs.pop(n) for n in names[len(args) :] if n in kwargs]]
        else:
            given = [size_of((kwargs.pop("size"),) if "size" in kwargs else args)]
        if kwargs or len(given) != len(names):
            return NotImplemented
        given[0] = size_of((given[0],))
        return finish(packet.default(self, *given, **more), requires_grad)

    route(getattr(M, packet.__name__))(make)


for _packet in (A.new_zeros, A.new_ones, A.new_empty):
    _new(_packet)
_new(A.new_full, "fill_value")
_new(A.new_empty_strided, "stride")
