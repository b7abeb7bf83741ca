"""The operators' signatures that declarations state (``schemas`` in ``ops/_facts.py``), written out
as ``schemas.txt`` has them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from ..bind.cores import COMPOSITES, Composite
from ..ops._declare import OPS, STATIC, Op, Param
from .functions import flat

_ITEM = re.compile(r"(\w*)(\.?\w*)(\(.*\) -> [^;]*?)?( ;.*)?$")
_TYPES = {
    "Array": "Tensor", "Array | None": "Tensor?", "list[Array]": "Tensor[]",
    "list[Array | None]": "Tensor?[]", "Number": "Scalar", "Number | None": "Scalar?",
    "Array | Number": "Tensor", "Array | Number | None": "Tensor?", "Array | Power": "Tensor",
    "Dtype": "ScalarType", "Dtype | None": "ScalarType?", "bool | None": "bool?",
    "int | None": "int?", "float | None": "float?", "str | None": "str?",
    "int | tuple[int, ...]": "int[1]", "int | tuple[int, ...] | None": "int[1]?",
    "tuple[int, ...]": "int[]", "tuple[int, ...] | None": "int[]?", "int | float": "Scalar",
    "tuple[float, ...]": "float[]",
}  # fmt: skip
_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#: Overloads that take a number for one of two operands, which are it by place.
_NUMBERS = {"Scalar": 1, "Tensor_Scalar": 1, "Scalar_Tensor": 0}


def _stated(record: Op | Composite) -> tuple[str, tuple[str, ...]]:
    """The packet of a declaration's own name, and what the declaration states of overloads."""
    own = flat(record.path)
    stated: tuple[str, ...] | None = getattr(record.body, "schemas", None)
    if stated is None:
        packet, _, overload = (getattr(record, "aten", None) or "").partition(".")
        stated = (
            (f".{overload.removeprefix('default')}",)
            if packet == own and record.namespace != "_C"
            else ()
        )
    return own, stated


def packets() -> dict[str, dict[int, Op | Composite]]:
    """The declarations that state overloads of each packet, by their places among all: found
    without writing any overload."""
    found: dict[str, dict[int, Op | Composite]] = {}
    for place, record in enumerate((*OPS.values(), *COMPOSITES)):
        own, stated = _stated(record)
        heads = {item.partition("(")[0].partition(" ")[0].partition(".")[0] for item in stated}
        for packet in heads:
            found.setdefault(packet or own, {})[place] = record
    return found


def lines_of(record: Op | Composite) -> Iterator[str]:
    """The lines of ``schemas.txt`` that a declaration stands for."""
    own, stated = _stated(record)
    mine: list[str] = []
    for item in stated:
        found = _ITEM.match(item)
        assert found is not None, (record.path, item)
        packet, overload, signature, variants = found.groups()
        if packet and not (overload or signature or variants):
            for line in mine:  # the same by another name
                yield packet + line.removeprefix(own)
            continue
        overload = overload.removeprefix(".")
        if signature is None:
            variants = _variants(record, overload) if variants is None else variants
            signature = _signature(record, overload)
        signature = signature.replace("...", f"*, {_FACTORY}")
        line = (
            (packet or own)
            + (f".{overload}" if overload else "")
            + signature
            + (variants or "").removesuffix(" ;")
        )
        if not packet:
            mine.append(line)
        yield line


def _signature(record: Op | Composite, overload: str) -> str:
    """The parameters and results of an overload, as the kernel's own are."""
    params = record.params if isinstance(record, Op) else list(_params_of(record))
    family = getattr(record, "family", "")
    names = getattr(record, "spelled", {})
    number = _NUMBERS.get(overload)
    found: list[str] = []
    for i, p in enumerate(params):
        if p.keyword_only and "*" not in found:
            found.append("*")
        # what only Python's function has
        if p.name in ("size_average", "reduce", "inplace") and not p.required:
            continue
        name = p.name
        if not i and name == "input":
            name = names.get(name) or "self"
        if p.name == "dtype" and family in ("factory", "like"):
            found.append(_FACTORY)
        elif p.annotation == "str" and p.name == "reduction":
            found.append("int reduction=1")
        else:
            kind = (
                "Scalar"
                if i == number or overload == f"{name}_scalar"
                else _TYPES.get(p.annotation, p.annotation)
            )
            if family == "view" and not i:
                kind = "Tensor(a)"
            found.append(f"{kind} {name}" + ("" if p.required else f"={_default(p.default)}"))
    if family == "like":
        found.append("MemoryFormat? memory_format=None")
    return f"({', '.join(found)}) -> {_results(record, family)}"


def _params_of(record: Composite) -> Iterator[Param]:
    """The parameters of a composite; its declaration says which hold tensors."""
    for p in inspect.signature(record.body).parameters.values():
        if p.name == "out" and p.kind is p.KEYWORD_ONLY:
            continue
        kind = (
            "Tensor"
            if p.name in record.operands
            else "Tensor[]"
            if p.name in record.lists
            else str(p.annotation)
        )
        if p.name == "generator":
            kind = "Generator"
        if p.default is None and not kind.endswith("None"):
            kind += "?"
        yield Param(p.name, STATIC, p.default, p.kind is p.KEYWORD_ONLY, kind)


def _results(record: Op | Composite, family: str) -> str:
    if family == "view":
        return "Tensor(a)"
    fields = getattr(record, "fields", ())
    if fields:
        return f"({', '.join(f'Tensor {name}' for name in fields)})"
    annotation = str(record.body.__annotations__.get("return", "Any"))
    if annotation in ("bool", "int"):
        return annotation
    count = annotation.count("Array") or annotation.count("Tensor") or annotation.count("Any")
    return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"


def _default(x: object) -> str:
    if isinstance(x, (tuple, list)):
        return f"[{', '.join(map(str, x))}]"
    if isinstance(x, str):
        return f'"{x}"'
    return str(x) if not isinstance(x, float) else f"{int(x)}." if x.is_integer() else f"{x:.17g}"


def _variants(record: Op | Composite, overload: str) -> str:
    """In place and with ``out``, where the function is so."""
    found = ["_"] if record.inplace else []
    if record.out if isinstance(record, Op) else "out" in inspect.signature(record.body).parameters:
        names = getattr(record, "fields", ())
        found.append(
            "="
            + (f"{overload}_out" if overload else "out")
            + (f":{','.join(names)}" if names else "")
        )
    return f" ; {' '.join(found)}" if found else ""


def declared() -> Iterator[str]:
    """The lines of all declarations."""
    for record in (*OPS.values(), *COMPOSITES):
        yield from lines_of(record)
