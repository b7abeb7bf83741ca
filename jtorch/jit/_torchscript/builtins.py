"""What the code of archives calls on numbers, texts, lists and dicts, and on tensors beyond the
operators."""

from __future__ import annotations

import functools
import math
import operator as op
import re
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import jtorch as torch
from jtorch.futures import Future

from ..._src.facts.errors import not_offered
from .kinds import CodeError
from .layers import LAYERS, is_nested
from .operators import FORMATS, NUMBERS, Operator, dtype_of, operator

Tensor = torch.Tensor


def _wrapped(n: Any) -> Any:
    """A whole number as 64 bits hold it."""
    if type(n) is int and not -(1 << 63) <= n < 1 << 63:
        return (n + (1 << 63)) % (1 << 64) - (1 << 63)
    return n


def _arithmetic(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b: _wrapped(f(a, b))


def _times(a: Any, b: Any) -> Any:
    return _wrapped(a * b)


def _divided(a: Any, b: Any) -> Any:
    if b == 0 and not isinstance(a, complex):
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _floored(a: Any, b: Any) -> Any:
    if b == 0 and isinstance(b, float):
        return _divided(float(a), b)
    return _wrapped(a // b)


def _remainder(a: Any, b: Any) -> Any:
    if b == 0 and isinstance(b, float):
        return math.nan
    return a % b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return a**b
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan if a else math.inf


def _rounded(a: Any, decimals: int = 0) -> float:
    del decimals
    return float(round(a)) if math.isfinite(a) else float(a)


def _whole(f: Callable[[Any], int]) -> Callable[[Any], int]:
    return lambda a: int(f(a))


def _of_float(name: str) -> Callable[..., Any]:
    f = getattr(math, name)

    def call(*args: Any) -> Any:
        try:
            return f(*args)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if name.startswith("log") and args[0] == 0 else math.nan

    return call


def _logarithm(*args: Any) -> Any:
    made = _of_float("log")
    return made(args[0]) if len(args) == 1 else _divided(made(args[0]), made(args[1]))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and any(isinstance(x, Tensor) for x in a):
        return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def _sliced(x: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[slice(start, end, step)]


def _sort(items: list[Any], reverse: bool = False) -> None:
    order: Any = _order(items)
    items.sort(key=order, reverse=reverse)


def _order(items: Any) -> Any:
    found = getattr(type(items[0]), "_script_methods", {}).get("__lt__") if items else None
    if found is None:
        return None
    return functools.cmp_to_key(lambda a, b: -1 if found(a, b) else 1)


#: What takes tensors as well: with one among its first two arguments it is an operator.
_MIXED: dict[str, Callable[..., Any]] = {
    "add": _arithmetic(op.add), "sub": _arithmetic(op.sub), "mul": _times, "div": _divided,
    "floordiv": _floored, "remainder": _remainder, "fmod": math.fmod, "pow": _power,
    "eq": _same, "ne": lambda a, b: not _same(a, b),
    "lt": op.lt, "gt": op.gt, "le": op.le, "ge": op.ge, "neg": op.neg, "abs": abs,
    "__and__": op.and_, "__or__": op.or_, "__xor__": op.xor,
    "__lshift__": _arithmetic(op.lshift), "__rshift__": op.rshift,
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc),
    "round": _rounded, "log": _logarithm, "slice": _sliced,
    "min": min, "max": max, "sum": sum, "any": any, "all": all, "sort": _sort,
    "gcd": math.gcd, "copysign": math.copysign, "isnan": lambda x: x != x,
    "isinf": lambda x: x in (math.inf, -math.inf), "isfinite": math.isfinite,
    "real": lambda x: complex(x).real, "imag": lambda x: complex(x).imag,
    "angle": lambda x: math.atan2(complex(x).imag, complex(x).real),
    "add_": lambda a, b: (a.extend(b), a)[1],
    "index": lambda x, item, *span: x.index(item, *span),
    "count": lambda x, item, *span: x.count(item, *span),
    "split": lambda text, by=None, most=-1: text.split(by, most),
    "replace": lambda text, old, new, most=-1: text.replace(old, new, most),
    "copy": lambda x: x.copy(), "complex": complex,
}  # fmt: skip
_MIXED.update(
    (name, _of_float(name))
    for name in (
        "sqrt exp expm1 log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh "
        "acosh atanh erf erfc gamma lgamma"
    ).split()
)


class Interrupted(Exception):
    """What code raised; it becomes ``torch.jit.Error``, with the place, where Python called it."""


def _raise(message: str, kind: str | None = None) -> NoReturn:
    raise Interrupted(message if kind is None else f"{kind}: {message}")


def _shown(x: Any) -> str:
    """A value as TorchScript prints it."""
    if isinstance(x, float):
        text = f"{x:g}" if math.isfinite(x) else str(x)
        return f"{text}." if re.fullmatch(r"-?\d+", text) else text
    if isinstance(x, list):
        return "[" + ", ".join(_quoted(i) for i in x) + "]"
    if isinstance(x, tuple):
        return "(" + ", ".join(_quoted(i) for i in x) + ("," if len(x) == 1 else "") + ")"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{_quoted(k)}: {_quoted(v)}" for k, v in x.items()) + "}"
    return str(x)


def _quoted(x: Any) -> str:
    return f'"{x}"' if isinstance(x, str) else _shown(x)


def _format(text: str, *values: Any) -> str:
    found = iter(values)

    def put(match: re.Match[str]) -> str:
        del match
        try:
            return _shown(next(found))
        except StopIteration:
            raise RuntimeError(f"Too few arguments for format string: {text}") from None

    return re.sub(r"\{\}", put, text)


def _percent(text: str, *values: Any) -> str:
    given: Any = list(values)
    one = len(given) == 1 and type(given[0]) is tuple
    return text % (given[0] if one else tuple(given))


def _item(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _to_int(x: Any) -> int:
    return int(_item(x))


def _to_float(x: Any) -> float:
    return float(_item(x))


def _to_bool(x: Any) -> bool:
    return bool(x)


def _tensor(
    data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype_of(dtype) or data.dtype)
    return torch.tensor(data, dtype=dtype_of(dtype), device=device, requires_grad=requires_grad)


def _delete(container: Any, key: Any) -> None:
    del container[key]


def _set_item(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def _pop(container: Any, *key: Any) -> Any:
    return container.pop(*key)


def _length(low: int, high: int, step: int) -> int:
    if step == 0:
        raise RuntimeError("range() arg 3 must not be zero")
    return len(range(low, high, step))


def _listed(x: Any) -> list[Any]:
    return x.tolist() if isinstance(x, Tensor) else list(x)


def _tolist(x: Tensor, dim: int = 0, kind: int = 0) -> Any:
    del dim, kind
    return x.tolist()


def _extremum(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda first, *more: f(first, *more) if more else f(first)


def _unwrapped(x: Any) -> Any:
    if x is None:
        raise RuntimeError("Unwrapping null optional")
    return x


def _device(kind: str, index: int | None = None) -> torch.device:
    return torch.device(kind) if index is None else torch.device(kind, index)


def _warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, stacklevel=stacklevel + 1)


def _waited(future: Any) -> Any:
    return future.wait() if isinstance(future, Future) else future


def _filled(name: str) -> Callable[..., Any]:
    """An initialisation without a gradient."""

    def call(tensor: Tensor, *args: Any) -> Tensor:
        with torch.no_grad():
            return getattr(tensor, name)(*args)

    return call


def _interpolate(
    x: Tensor, size: Any = None, scale: Any = None, mode: str = "nearest", corners: Any = None,
    recompute: Any = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    return torch.nn.functional.interpolate(
        x, size, scale, mode, corners, recompute, antialias=antialias
    )


def _to(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``to`` in each of its forms: what is given says which one it is."""
    given = list(args)
    names = ("non_blocking", "copy", "memory_format")
    if given and (given[0] is None or isinstance(given[0], (str, torch.device))):
        kwargs["device"] = given.pop(0)
    if given and isinstance(given[0], Tensor):
        other = given.pop(0)
        kwargs |= {"dtype": other.dtype, "device": other.device}
    elif given and (given[0] is None or type(given[0]) is int):
        kwargs["dtype"] = given.pop(0)
    kwargs.update(zip(names, given, strict=False))
    if kwargs.get("memory_format") is not None:
        kwargs["memory_format"] = FORMATS.get(kwargs["memory_format"], kwargs["memory_format"])
    kwargs["dtype"] = dtype_of(kwargs.get("dtype"))
    for name in ("layout", "pin_memory"):
        kwargs.pop(name, None)
    return x.to(**{n: v for n, v in kwargs.items() if v is not None})


def _copy_into(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    if not isinstance(source, Tensor):
        source = torch.tensor(source, device=x.device)
    return x.copy_(source, non_blocking)


_TEXTS = (
    "lower upper strip lstrip rstrip startswith endswith find rfind rindex join capitalize title "
    "swapcase center ljust rjust zfill expandtabs splitlines rsplit partition rpartition isalnum "
    "isalpha isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper"
).split()

#: What never is an operator.
_PURE: dict[str, Callable[..., Any]] = {
    "len": len, "append": lambda x, item: (x.append(item), x)[1],
    "insert": lambda x, i, item: x.insert(i, item), "extend": lambda x, more: x.extend(more),
    "pop": _pop, "remove": lambda x, item: x.remove(item), "reverse": lambda x: x.reverse(),
    "clear": lambda x: x.clear(), "Delete": _delete, "_set_item": _set_item,
    "__getitem__": lambda x, i: x[i], "__contains__": lambda x, item: item in x,
    "list": _listed, "sorted": lambda x: sorted(x, key=_order(x)), "dict": dict,
    "keys": lambda x: list(x.keys()), "values": lambda x: list(x.values()),
    "items": lambda x: list(x.items()), "get": lambda x, k, d=None: x.get(k, d),
    "setdefault": lambda x, k, d: x.setdefault(k, d), "popitem": lambda x: x.popitem(),
    "update": lambda x, more: x.update(more),
    "__is__": lambda a, b: a is b, "__isnot__": lambda a, b: a is not b,
    "__not__": op.not_, "str": _shown, "format": _format, "percentFormat": _percent,
    "hash": hash, "ord": ord, "chr": chr, "hex": hex, "oct": oct, "bin": bin,
    "divmod": lambda a, b: (_floored(a, b), _remainder(a, b)), "factorial": math.factorial,
    "degrees": math.degrees, "radians": math.radians, "fabs": math.fabs, "modf": math.modf,
    "frexp": math.frexp, "ldexp": math.ldexp, "mathremainder": math.remainder,
    "__round_to_zero_floordiv": lambda a, b: int(a / b) if abs(a) < 1 << 52 else
    (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1),
    "Int": _to_int, "Float": _to_float, "Bool": _to_bool, "Complex": complex,
    "IntImplicit": _to_int, "FloatImplicit": _to_float, "ComplexImplicit": _item,
    "ScalarImplicit": _item, "item": _item, "tensor": _tensor,
    "__derive_index": lambda i, low, step: low + i * step, "__range_length": _length,
    "device": _device, "warn": _warn, "is_scripting": lambda: True,
    "is_grad_enabled": torch.is_grad_enabled, "set_grad_enabled": torch._C._set_grad_enabled,
    "_unwrap_optional": _unwrapped, "wait": _waited,  "dim": lambda x: x.dim(),
    "numel": lambda x: x.numel(), "data": lambda x: x.data,
    "stride": lambda x, *d: x.stride(*d) if d else list(x.stride()),
    "_infer_size": lambda a, b: list(torch.broadcast_shapes(a, b)),
    "_no_grad_uniform_": _filled("uniform_"), "_no_grad_normal_": _filled("normal_"),
    "_no_grad_fill_": _filled("fill_"), "_no_grad_zero_": _filled("zero_"),
    "to": _to, "copy_": _copy_into,
    "__interpolate": _interpolate, "__upsample": _interpolate,
    "__upsample_nearest": lambda x, size=None, scale=None: _interpolate(x, size, scale),
    "__upsample_bilinear": lambda x, size=None, scale=None:
    _interpolate(x, size, scale, "bilinear", True),
    "_get_tracing_state": lambda: False,
}  # fmt: skip
_PURE.update(LAYERS)
_PURE.update((name, getattr(str, name)) for name in _TEXTS)
_PURE["size"] = lambda x, *d: x.size(*d) if d else list(x.size())


def _attribute(name: str) -> Callable[..., Any]:
    return lambda x: getattr(x, name)


#: The namespace ``prim``.
_PRIM: dict[str, Callable[..., Any]] = {
    "dtype": lambda x: NUMBERS[x.dtype], "device": _attribute("device"),
    "layout": lambda x: 0 if x.layout is torch.strided else 1,
    "shape": lambda x: list(x.shape), "RaiseException": _raise,
    "NumToTensor": lambda x: torch.tensor(
        x, dtype=torch.float64 if isinstance(x, float) else None
    ),
    "min": _extremum(min), "max": _extremum(max), "abs": abs, "rangelist": lambda n: list(range(n)),
    "tolist": _tolist, "IfThenElse": lambda c, a, b: a if c else b,
    "unchecked_unwrap_optional": lambda x: x, "unchecked_cast": lambda x: x,
    "TupleIndex": lambda x, i: x[i], "StringIndex": lambda x, i: x[i],
    "EnumValue": _attribute("value"), "EnumName": _attribute("name"),
    "Uninitialized": lambda: None, "id": id, "type": _attribute("type"),
    "index": _attribute("index"), "VarConcat": lambda *x: torch.cat(list(x[:-1]), x[-1]),
    "VarStack": lambda *x: torch.stack(list(x[:-1]), x[-1]), "AutogradZero": lambda: None,
    "is_cpu": lambda x: x.device.type == "cpu",
    **{name: _attribute(name) for name in (
        "grad", "requires_grad", "data", "is_cuda", "itemsize", "nbytes", "name", "is_sparse",
        "is_meta", "is_mkldnn", "is_quantized", "is_xpu", "is_mps", "T", "H", "mT",
        "mH", "is_sparse_csr", "real", "imag", "ndim",
    )},
}  # fmt: skip
_PRIM["raise_exception"], _PRIM["is_nested"] = _raise, is_nested


def _mixed(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    made = None if name == "floordiv" else operator("aten", name.strip("_") and name)

    def call(*args: Any, **kwargs: Any) -> Any:
        for x in args[:2]:
            if isinstance(x, Tensor):
                if made is None:
                    raise RuntimeError(f"aten::{name} is not for tensors")
                return made(*args, **kwargs)
        return plain(*args, **kwargs)

    return call


def _special(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return plain
    made = Operator(packet)
    return lambda *args: made(*args) if any(isinstance(x, Tensor) for x in args) else plain(*args)


def bare(name: str) -> Callable[..., Any] | None:
    """What the code calls by its name alone, None if there is nothing."""
    return builtin("aten", name) if name in ("sorted", "divmod", "sum", "any", "all") else None


_made: dict[tuple[str, str], Callable[..., Any]] = {}


def builtin(namespace: str, name: str) -> Callable[..., Any]:
    """What the code calls ``torch.<name>`` or ``ops.<namespace>.<name>``.

    Raises:
        CodeError: if there is nothing of that name.
        NotImplementedError: when it is called, for PyTorch's own that is not offered.
    """
    key = (namespace, name)
    if key not in _made:
        _made[key] = _found(namespace, name)
    return _made[key]


def _found(namespace: str, name: str) -> Callable[..., Any]:
    if namespace == "prim":
        if name in _PRIM:
            return _PRIM[name]
    elif namespace == "aten":
        if name in _PURE:
            return _PURE[name]
        if name.startswith("as_") and name[3:] in _PURE:  # the same, but for a tensor's copy
            return _PURE[name[3:]]
        if name in _MIXED:
            return (_special if name.startswith("__") else _mixed)(name, _MIXED[name])
        if not name.startswith("__"):
            found = operator(namespace, name)
            if found is not None:
                return found
    else:
        found = operator(namespace, name)
        if found is None:
            raise CodeError(
                f"Unknown builtin op: {namespace}::{name}.\n"
                f"Could not find any similar ops to {namespace}::{name}. This op may not exist or "
                "may not be currently supported in TorchScript."
            )
        return found

    def absent(*args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        raise not_offered(f"the operator {namespace}::{name}", "the file's code calls it")

    return absent
