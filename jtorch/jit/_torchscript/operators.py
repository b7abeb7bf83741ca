"""Calls of operators from the code of archives: the overload is chosen by the arguments, and
numbers become the dtypes, layouts and memory formats that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch

from ..._src.facts.errors import not_offered
from .kinds import CodeError

Tensor = torch.Tensor

#: Dtypes by their numbers in files.
DTYPES = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64,
    5: torch.float16, 6: torch.float32, 7: torch.float64, 9: torch.complex64,
    10: torch.complex128, 11: torch.bool, 12: torch.qint8, 13: torch.quint8, 14: torch.qint32,
    15: torch.bfloat16,
}  # fmt: skip
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
FORMATS = {
    0: torch.contiguous_format, 1: torch.preserve_format, 2: torch.channels_last,
    3: torch.channels_last_3d,
}  # fmt: skip


def dtype_of(x: Any) -> Any:
    """The dtype with a number.

    Raises:
        NotImplementedError: for those that are not here.
    """
    if not isinstance(x, int):
        return x
    if x not in DTYPES:
        raise not_offered(f"torch.jit.load: the dtype number {x}", "there is none like it here")
    return DTYPES[x]


def _layout(x: Any) -> Any:
    if not isinstance(x, int):
        return x
    return torch.strided if x == 0 else torch.sparse_coo


def _format(x: Any) -> Any:
    return FORMATS[x] if isinstance(x, int) else x


_MADE = {"ScalarType": dtype_of, "Layout": _layout, "MemoryFormat": _format}


def _is_int(x: object) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _fits(kind: str, x: Any, lenient: bool) -> bool:
    """Whether a value of TorchScript may stand for a parameter."""
    if kind.endswith("?"):
        if x is None:
            return True
        kind = kind[:-1]
    if x is None:
        return False
    base, bracket, size = kind.partition("[")
    if bracket:
        if isinstance(x, (list, tuple)):
            return all(_fits(base, i, lenient) for i in x)
        return size != "]" and _fits(base, x, lenient)
    if isinstance(x, Tensor):
        return base == "Tensor" or (lenient and base in ("Scalar", "int", "SymInt", "float"))
    if base == "Tensor":
        return lenient and isinstance(x, (int, float, complex))
    if base == "Scalar":
        return isinstance(x, (int, float, complex)) and (lenient or not isinstance(x, bool))
    if base == "bool":
        return isinstance(x, bool)
    if base in ("int", "SymInt"):
        return _is_int(x) or (lenient and isinstance(x, bool)) or type(x).__name__ == "SymInt"
    if base == "float":
        return isinstance(x, float) or (lenient and isinstance(x, (int, float)))
    if base == "ScalarType":
        return _is_int(x) or isinstance(x, torch.dtype)
    if base in ("Layout", "MemoryFormat"):
        return _is_int(x) or isinstance(x, (torch.layout, torch.memory_format))
    if base == "str":
        return isinstance(x, str)
    if base == "Device":
        return isinstance(x, (str, torch.device))
    return not isinstance(x, (int, float, str, list, tuple))


def _choose(packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for lenient in (False, True):
        for overload in packet.all():
            arguments = overload._schema.arguments
            names = {a.name for a in arguments}
            if len(args) > overload._schema.count or not names.issuperset(kwargs):
                continue
            if all(
                (i < len(args) and _fits(a.type, args[i], lenient))
                or (i >= len(args) and a.name in kwargs and _fits(a.type, kwargs[a.name], lenient))
                or (i >= len(args) and a.name not in kwargs and a.has_default_value())
                for i, a in enumerate(arguments)
            ):
                return overload
    return None


def _key(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return (list, *sorted({t.__name__ for t in map(type, x)}))
    return type(x)


class Operator:
    """An operator with all its overloads, called by position or by name."""

    def __init__(self, packet: Any) -> None:
        self._packet, self._found = packet, {}
        self._name = packet._qualified_op_name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = (*map(_key, args), *kwargs, *map(_key, kwargs.values()))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._prepared(args, kwargs)
        overload, made, several = found
        if made:
            args = tuple([made[i](x) if i in made else x for i, x in enumerate(args)])
            kwargs = {n: made[n](x) if n in made else x for n, x in kwargs.items()}
        result = overload(*args, **kwargs)
        return list(result) if several else result

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        overload = _choose(self._packet, args, kwargs)
        last = len(args) - 1
        while overload is None and last >= 0 and _is_int(args[last]):  # as in view(2, 3)
            overload = _choose(self._packet, (*args[:last], list(args[last:])), kwargs)
            if overload is not None:
                return _gathered(overload, last), {}, False
            last -= 1
        if overload is None:
            given = ", ".join(type(x).__name__ for x in (*args, *kwargs.values()))
            raise RuntimeError(
                f"Arguments for call are not valid: {self._name} has no variant for ({given})"
            )
        schema = overload._schema
        made = {
            key: _MADE[a.type.rstrip("?")]
            for i, a in enumerate(schema.arguments)
            if a.type.rstrip("?") in _MADE
            for key in (i, a.name)
        }
        several = len(schema.returns) == 1 and str(schema.returns[0].type).startswith("Tensor[")
        return overload, made, several


def _gathered(overload: Any, start: int) -> Callable[..., Any]:
    """The overload with a list for the arguments from a place on."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = {n: dtype_of(x) if n == "dtype" else x for n, x in kwargs.items()}
        return overload(*args[:start], list(args[start:]), **made)

    return call


#: Operators that have another home here: public functions, and methods of tensors.
_FUNCTIONS = (
    "_shape_as_tensor _weight_norm can_cast manual_seed promote_types "
    "result_type get_autocast_dtype _fused_dropout initial_seed seed"
).split()
_METHODS = "cpu cuda requires_grad_ element_size is_leaf retains_grad output_nr backward".split()


def _elsewhere(name: str) -> Callable[..., Any] | None:
    if name in _FUNCTIONS and hasattr(torch, name):
        return getattr(torch, name)
    if name in _METHODS:

        def method(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            member = getattr(tensor, name)
            return member(*args, **kwargs) if callable(member) else member

        return method
    found = getattr(torch, name, None)
    if found is None or found not in torch.overrides.get_testing_overrides():
        return None

    def function(*args: Any, **kwargs: Any) -> Any:
        if "dtype" in kwargs:
            kwargs["dtype"] = dtype_of(kwargs["dtype"])
        return found(*args, **kwargs)

    return function


def operator(namespace: str, name: str) -> Callable[..., Any] | None:
    """An operator as TorchScript calls it, None if there is none of that name here.

    Raises:
        CodeError: for names that no operator can have.
    """
    if not name.isidentifier() or name.startswith("__") or not namespace.isidentifier():
        raise CodeError(f"Unknown builtin op: {namespace}::{name}.")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if isinstance(packet, torch._ops.OpOverloadPacket):
        return Operator(packet)
    if namespace == "quantized" and hasattr(packet, "_qualified_op_name"):
        return packet
    return _elsewhere(name) if namespace == "aten" else None
