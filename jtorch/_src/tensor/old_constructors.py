"""``Tensor(...)``, ``FloatTensor(...)`` and ``x.new(...)``: one constructor that takes sizes, data,
a storage or a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...autograd.grad_mode import MODE
from ...core import Tensor, from_host
from ...dispatch import ACTIVE
from ..bind.factories import unwritten
from ..engine.limits import check_size
from ..facts import devices, dtypes
from ..facts.determinism import ASKED
from ..facts.errors import type_name
from ..facts.layouts import strided
from ..hooks import seen_making
from .creation import tensor

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Keywords


#: What may be given by its name, besides ``device``.
_ALONE = ("storage", "other", "size", "data")
#: The dtypes that C++ calls by another name than Python does.
_IN_CXX = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def made(
    args: tuple[object, ...],
    kwargs: Keywords,
    dtype: dtypes.dtype,
    place: devices.device | str | None,
    new: bool = False,
) -> Tensor:
    """A tensor of a dtype on a device, as the old constructors make it.

    Args:
        args: sizes one by one, or a ``Size``, a sequence of data, a storage (which is shared) or a
            tensor (likewise).
        kwargs: ``size``, ``data``, ``storage`` or ``other`` by name, and ``device``, of the same
            kind as ``place``.
        dtype: the dtype.
        place: the device of the constructor; None for the default one.
        new: whether this is ``x.new``.

    Raises:
        TypeError: for what fits none of these, and tensors of another dtype.
        RuntimeError: for storages of another dtype, and devices of another kind.
    """
    name, value = _given(args, kwargs)
    device = kwargs.get("device")
    if name == "other" and device is not None and not new:
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
            "supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."
        )
    if name == "other" and device is not None:
        raise RuntimeError(
            "Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  "
            "Use torch.as_tensor(...) instead."
        )
    where = _place(device, place)
    if name == "storage":
        return _on_storage(value, dtype, where)
    if name == "other":
        asked, found = _options(dtype, where), _options(value.dtype, value.device)
        if asked != found:
            raise TypeError(f"expected {asked} (got {found})")
        return (
            value.as_subclass(Tensor)
            if not ACTIVE.modes
            else seen_making(lambda: value.as_subclass(Tensor), other=value)
        )
    if name == "data":
        return (
            _of_data(value, dtype, where)
            if not ACTIVE.modes
            else seen_making(lambda: _of_data(value, dtype, where))
        )
    size = tuple(value)
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    check_size(size, dtype.np.itemsize, None if where is None else devices.placement(where))
    if not ACTIVE.modes:
        return _of_size(size, dtype, where)
    options = {
        "dtype": dtype,
        "layout": strided,
        "device": devices.of_placement(devices.placement(where)),
    }
    return seen_making(lambda: _of_size(size, dtype, where), size, **options)


def _of_size(size: tuple[int, ...], dtype: dtypes.dtype, where: object) -> Tensor:
    made = from_host(np.zeros(size, dtype.np), where)
    return _uncounted(unwritten(made) if ASKED.fills and not made.is_meta else made)


def _given(args: Arguments, kwargs: dict[str, object]) -> tuple[str, Any]:
    """Which overload a call means, and what it was given for it."""
    first: Any = args[0] if args else None
    words = [k for k in kwargs if k != "device"]
    if len(words) > 1 or (words and (args or words[0] not in _ALONE)):
        _refuse(args, kwargs)
    if words:
        name, value = words[0], kwargs[words[0]]
        if name == "size" and not (
            isinstance(value, (tuple, list)) and all(_is_size(n) for n in value)
        ):
            _refuse(args, kwargs)
        if name != "data":
            return name, value
    elif not args:
        return "size", (0,)
    elif len(args) > 1 or (_is_size(first) and not isinstance(first, Tensor)):
        if isinstance(first, (tuple, list)) or (len(args) > 1 and not _is_size(first)):
            _refuse(args, kwargs)
        for k, n in enumerate(args):
            if not _is_size(n):
                raise TypeError(
                    f"new(): argument 'size' failed to unpack the object at pos {k + 1} with error "
                    f'"type must be tuple of ints,but got {type_name(n)}"'
                )
        return "size", tuple([n.__index__() for n in args])
    else:
        value = first
    if hasattr(value, "untyped") and not isinstance(value, Tensor):
        return "storage", value
    if isinstance(value, Tensor):
        return "other", value
    if type(value).__name__ == "Size":
        return "size", value
    return "data", value


def _is_size(value: list[float]) -> bool:
    return (
        not isinstance(value, bool)
        and hasattr(type(value), "__index__")
        and not (isinstance(value, np.ndarray) and value.ndim)
    )


def _refuse(args: tuple[object, ...], kwargs: dict[str, object]) -> NoReturn:
    from ..bind.argument_errors import MISSING_DEFAULT, Parameter, Signature, combination

    device = Parameter("device", "Device?", True, None)
    known = [Signature([device])]
    known += [
        Signature([Parameter(name, kind, False, MISSING_DEFAULT)])
        for name, kind in (("storage", "Storage"), ("other", "Tensor"))
    ]
    with_device = (("size", "SymInt[]"), ("data", "object"))
    known += [
        Signature([Parameter(name, kind, False, MISSING_DEFAULT), device])
        for name, kind in with_device
    ]
    for signature, word in ((known[1], "torch.Storage"), (known[4], "object")):
        signature.parameters[0].words = word
    raise TypeError(combination("new", known, args, kwargs))


def _place(device: Any, place: devices.device | str | None) -> devices.device | str | None:
    if device is None:
        return place
    asked = devices.device(device) if not isinstance(device, devices.device) else device
    expected = devices.of_placement(devices.placement(place)).type
    if asked.type != expected:
        raise RuntimeError(
            f"legacy constructor expects device type: {expected} but device type: {asked.type} was "
            "passed"
        )
    return asked


def _on_storage(storage: object, dtype: dtypes.dtype, where: object) -> Tensor:
    mine = getattr(storage, "dtype", dtype)
    if mine is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {dtype.scalar_name} or an UntypedStorage, but got type "
            f"{mine.scalar_name} for argument 1 'storage'"
        )
    return from_host(np.zeros((0,), dtype.np), where).set_(storage)  # a look at the same memory


def _of_data(value: list[float], dtype: dtypes.dtype, where: object) -> Tensor:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(value)}'")
    if (
        isinstance(value, dict)
        or not hasattr(value, "__len__")
        or not hasattr(value, "__getitem__")
    ):
        raise TypeError(f"new(): data must be a sequence (got {type_name(value)})")
    return _uncounted(tensor(value, dtype=dtype, device=where))


def _uncounted(made: Tensor) -> Tensor:
    if MODE.inference:
        made._uncount()
    return made


def _options(dtype: dtypes.dtype, device: str | devices.device | int | None) -> str:
    """A kind of tensor as PyTorch's C++ prints it."""
    name = str(dtype).removeprefix("torch.")
    rest = (
        "layout=Strided, requires_grad=false (default), pinned_memory=false (default), "
        "memory_format=(nullopt)"
    )
    return (
        f"TensorOptions(dtype={_IN_CXX.get(name, name)}, "
        f"device={devices.of_placement(devices.placement(device))}, {rest})"
    )
