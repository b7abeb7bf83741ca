"""The words for arguments that fit no signature, as PyTorch's parser of arguments chooses them.

Asked only after a call has failed: the overloads of the function are read from the operator tables,
the arguments are matched against them, and unless one fits, the error names what does not. Matching
is lenient where a type is unknown, so that a call that PyTorch would accept keeps the error it had.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Tensor
from .. import hooks
from ..facts import devices, dtypes, layouts
from ..facts.errors import type_name as _name
from ..facts.size import SYMBOLIC
from ..ops._declare import OPS
from .cores import COMPOSITES

if TYPE_CHECKING:
    from ..aten.schema import Schema
    from ..facts.kinds import Keywords, Tree


#: How the parser calls a type of the tables, and how signatures are sorted.
_KINDS = {
    "Tensor": ("Tensor", "Tensor"), "Scalar": ("Number", "Scalar"), "int": ("int", "int64_t"),
    "SymInt": ("int", "SymInt"), "float": ("float", "double"), "bool": ("bool", "bool"),
    "str": ("str", "c10::string_view"), "ScalarType": ("torch.dtype", "ScalarType"),
    "Layout": ("torch.layout", "Layout"), "Device": ("torch.device", "Device"),
    "Generator": ("torch.Generator", "Generator"),
    "MemoryFormat": ("torch.memory_format", "MemoryFormat"),
    "Tensor[]": ("tuple of Tensors", "TensorList"), "int[]": ("tuple of ints", "IntArrayRef"),
    "SymInt[]": ("tuple of ints", "SymIntArrayRef"),
    "float[]": ("tuple of floats", "ArrayRef<double>"),
    "bool[]": ("tuple of bools", "ArrayRef<bool>"),
    "Scalar[]": ("tuple of Scalars", "ArrayRef<Scalar>"),
}  # fmt: skip
#: The default of a parameter that must be given.
MISSING_DEFAULT = object()


@functools.cache
def numbers_may_stand(function: str) -> bool:
    """Whether numbers may stand for the tensors of a function, a method or its in-place form."""
    name = function.rstrip("_")
    return any(
        f.numbers_do and name in (f.name.rstrip("_"), *f.aliases)
        for f in (*OPS.values(), *COMPOSITES)
    )


class Parameter:
    """One parameter of a signature."""

    __slots__ = ("name", "type", "words", "sort", "optional", "length", "keyword_only", "default")

    def __init__(self, name: str, kind: str, keyword_only: bool, default: Any) -> None:
        self.name, self.keyword_only, self.default = name, keyword_only, default
        if kind.startswith("ScalarType") and default is not MISSING_DEFAULT:
            self.default = None
        self.optional = kind.endswith("?")
        bare = kind.rstrip("?")
        found = re.match(r"(\w+\??)\[(\d*)\]$", bare)
        self.length = int(found.group(2) or 0) if found else None
        self.type = f"{found.group(1).rstrip('?')}[]" if found else bare
        self.words, self.sort = _KINDS.get(self.type, (self.type, self.type))
        if self.length:
            self.sort += f"[{self.length}]"

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING_DEFAULT

    def text(self) -> str:
        """``tuple of ints dim = None``."""
        if self.required:
            return f"{self.words} {self.name}"
        value = self.default
        if isinstance(value, str):
            value = f'"{value}"'
        elif isinstance(value, list):
            value = (
                value[0]
                if value and len(set(value)) == 1
                else "None"
                if not value
                else tuple(value)
            )
        return f"{self.words} {self.name} = {value}"

    def key(self) -> str:
        """What signatures are sorted by: the type, the name and the default."""
        return f"{self.sort} {self.name}" + ("" if self.required else f"={self.default}")

    def accepts(self, value: Tree, numbers_do: bool) -> bool:
        """Whether a value is of the type, as far as can be told."""
        if value is None:
            return self.optional or self.default is None or self.default == []
        kind = self.type
        if kind == "Tensor":
            return isinstance(value, Tensor) or (numbers_do and _is_number(value))
        if kind == "Scalar":
            return _is_number(value) or _is_plain_scalar(value)
        if kind == "int":
            return _is_long(value) or (
                _is_plain_scalar(value) and value.dtype.category == dtypes.INTEGRAL
            )
        if kind == "SymInt":
            return _is_int(value)
        if kind == "float":
            return (
                _is_number(value) and not isinstance(value, (complex, np.complexfloating))
            ) or _is_plain_scalar(value)
        if kind == "bool":
            return isinstance(value, bool)
        if kind == "str":
            return isinstance(value, str)
        if kind == "ScalarType":
            return isinstance(value, (dtypes.dtype, type))
        if kind == "Layout":
            return isinstance(value, layouts.layout)
        if kind == "MemoryFormat":
            return isinstance(value, layouts.memory_format)
        if kind == "Device":
            return isinstance(value, (devices.device, str, int))
        if kind == "Tensor[]":
            return isinstance(value, (list, tuple)) and all(
                x is None or isinstance(x, Tensor) for x in value
            )
        if kind in ("int[]", "SymInt[]"):
            if self.length and _is_int(value):
                return True
            return isinstance(value, (list, tuple)) and (not value or _is_int(value[0]))
        if kind.endswith("[]"):
            return isinstance(value, (list, tuple)) or (bool(self.length) and _is_number(value))
        return True

    def refusal(self, function: str, position: int | None, value: object) -> TypeError:
        """The error for a value of another type."""
        where = f"{function}(): argument '{self.name}'" + (
            f" (position {position})" if position is not None else ""
        )
        if (
            self.type in ("int[]", "SymInt[]")
            and isinstance(value, (list, tuple))
            and position is not None
        ):
            return TypeError(
                f"{where} must be tuple of ints, but found element of type {_name(value[0])} at "
                "pos 0"
            )
        if self.type == "Tensor[]" and isinstance(value, (list, tuple)):
            for k, x in enumerate(value):
                if not isinstance(x, Tensor):
                    return TypeError(
                        f"expected Tensor as element {k} in argument {(position or 1) - 1}, but "
                        f"got {_name(x)}"
                    )
        return TypeError(f"{where} must be {self.words}, not {_name(value)}")


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_))


def _is_plain_scalar(value: object) -> bool:
    return isinstance(value, Tensor) and value.dim() == 0 and not value.requires_grad


def _is_long(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_int(value: object) -> bool:
    """Whether a value can be a size: also what Python can count with."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, Tensor):
        return value.dtype.category <= dtypes.INTEGRAL and value.numel() == 1
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and np.issubdtype(value.dtype, np.integer)
    return (
        isinstance(value, (int, np.integer))
        or hasattr(type(value), "__index__")
        or type(value) in SYMBOLIC
    )


def _odd_item(values: object) -> int | None:
    """The place of the first item, but for the very first one, that is no size: overloads are
    chosen without a look at those."""
    if isinstance(values, (list, tuple)):
        for k, x in enumerate(values):
            if k and not (isinstance(x, bool) or _is_int(x)):
                return k
    return None


def _listed_types(value: object) -> str:
    """The name of a value's type, with those of its items for lists and tuples."""
    if isinstance(value, (list, tuple)):
        items = ", ".join(_name(x) for x in value)
        return f"{_name(value)} of " + (
            f"[{items}]"
            if isinstance(value, list)
            else f"({items},)"
            if len(value) == 1
            else f"({items})"
        )
    return _name(value)


class Signature:
    """One overload as Python sees it."""

    def __init__(self, parameters: list[Parameter]) -> None:
        self.parameters = parameters
        self.positional = [p for p in parameters if not p.keyword_only]
        self.least = sum(p.required for p in parameters)

    def text(self) -> str:
        """``(Tensor input, Tensor other, *, Number alpha = 1)``."""
        items = [p.text() for p in self.positional]
        keywords = [p.text() for p in self.parameters if p.keyword_only]
        return "(" + ", ".join([*items, *(["*", *keywords] if keywords else [])]) + ")"

    def key(self) -> str:
        """What signatures are sorted by."""
        items = [p.key() for p in self.positional]
        keywords = [p.key() for p in self.parameters if p.keyword_only]
        return "(" + ", ".join([*items, *(["*", *keywords] if keywords else [])]) + ")"

    def problem(
        self, function: str, args: Sequence[object], kwargs: dict[str, object]
    ) -> TypeError | None:
        """The error of a call that does not fit; None if it does."""
        positional = self.positional
        # A list of numbers that is the only positional parameter may be given spread.
        packs = (
            bool(args)
            and len(positional) == 1
            and positional[0].type in ("int[]", "SymInt[]")
            and _is_int(args[0])
        )
        if len(args) > len(positional) and not packs:
            least, n = sum(p.required for p in positional), len(positional)
            takes = (
                f"{n} positional argument{'' if n == 1 else 's'}"
                if least == n
                else f"from {least} to {n} positional arguments"
            )
            return TypeError(f"{function}() takes {takes} but {len(args)} were given")
        numbers_do = numbers_may_stand(function)
        missing = []
        for i, p in enumerate(self.parameters):
            if i < len(args) and not p.keyword_only:
                if packs:
                    continue
                if p.name in kwargs:
                    return TypeError(f"{function}() got multiple values for argument '{p.name}'")
                if not p.accepts(args[i], numbers_do):
                    return p.refusal(function, i + 1, args[i])
            elif p.name in kwargs:
                if not p.accepts(kwargs[p.name], numbers_do):
                    return p.refusal(function, None, kwargs[p.name])
            elif p.required:
                missing.append(f'"{p.name}"')
        if missing:
            s = "s" if len(missing) == 1 else ""  # PyTorch's own plural
            return TypeError(
                f"{function}() missing {len(missing)} required positional argument{s}: "
                f"{', '.join(missing)}"
            )
        known = {p.name for p in self.parameters}
        for name in kwargs:
            if name not in known and name not in _SPELLINGS:
                return TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        return None

    def unpacking(self, function: str, args: Sequence[Any], kwargs: Keywords) -> TypeError | None:
        """The error of a call that fits, but for a later item of a list of sizes."""
        values = {p.name: x for p, x in zip(self.positional, args, strict=False)} | kwargs
        if len(args) > len(self.positional):
            values[self.positional[0].name] = args
        for p in self.parameters:
            if p.type in ("int[]", "SymInt[]") and (k := _odd_item(values.get(p.name))) is not None:
                got = _name(values[p.name][k])
                return TypeError(
                    f"{function}(): argument '{p.name}' failed to unpack the object at pos {k + 1} "
                    f'with error "type must be tuple of ints,but got {got}"'
                )
        return None


#: NumPy's names of parameters.
_SPELLINGS = frozenset(("axis", "keepdims", "x", "x1", "x2"))
#: Types of which the first comes after the second where signatures are else alike.
_AFTER = {
    ("Scalar", "Tensor"),
    ("Scalar[]", "Tensor[]"),
    ("int[]", "int"),
    ("SymInt[]", "SymInt"),
    ("Tensor[]", "Tensor"),
}


def _comes_after(a: Signature, b: Signature) -> bool:
    mine, others = ([p for p in s.parameters if p.name != "out"] for s in (a, b))
    if len(mine) != len(others):
        return False
    pairs = [(x.type, y.type) for x, y in zip(mine, others, strict=True)]
    return all(x == y or (x, y) in _AFTER for x, y in pairs) and any(x != y for x, y in pairs)


def _in_order(signatures: list[Signature]) -> list[Signature]:
    """Signatures by their texts, those with tensors before those with numbers in their place."""
    found = sorted(signatures, key=Signature.key)
    waits = {i: {j for j, b in enumerate(found) if _comes_after(a, b)} for i, a in enumerate(found)}
    order = [i for i, before in waits.items() if not before]
    waits = {i: before for i, before in waits.items() if before}
    for i in order:  # grows while it is walked
        for j in sorted(waits):
            waits[j].discard(i)
            if not waits[j]:
                del waits[j]
                order.append(j)
    return [found[i] for i in order]


_found: dict[tuple[str, bool, bool], list[Signature]] = {}
#: Overloads that Python does not see: those with a number where any number is a tensor, and one
#: that another covers.
_HIDDEN = frozenset(
    f"{name}.Scalar"
    for name in ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide")
) | {"range.default"}


def signatures(name: str, method: bool, out: bool) -> list[Signature]:
    """The overloads of an operator, in the order in which messages list them."""
    key = (name, method, out)
    if key not in _found:
        notation = hooks.schemas.get()
        texts = notation.texts_of(name)
        made = []
        known = [notation.Schema(text) for text in texts.values()]
        for overload, text in texts.items():
            if f"{name.rstrip('_')}.{overload}" in _HIDDEN or "Dimname" in text:
                continue
            schema = notation.Schema(text)
            if any(a.is_out for a in schema.arguments):
                continue
            parameters = []
            if method and not any(
                a.name == "self" and a.type == "Tensor" for a in schema.arguments
            ):
                continue
            for a in schema.arguments:
                if method and a.name == "self":
                    continue
                default = (
                    MISSING_DEFAULT if a.default_value is notation.NO_DEFAULT else a.default_value
                )
                called = "input" if a.name == "self" and a.type == "Tensor" else a.name
                parameters.append(
                    Parameter(
                        called, a.type, a.kwarg_only, False if called == "pin_memory" else default
                    )
                )
            factory = any(p.name == "pin_memory" for p in parameters)
            if factory:
                parameters.append(Parameter("requires_grad", "bool?", True, False))
            shown = overload not in _WITHOUT_OUT and f"{name}.{overload}" not in _WITHOUT_OUT
            if out and not method and shown and _writes_out(schema, known):
                given = Parameter(
                    "out", "Tensor[]?" if len(schema.returns) > 1 else "Tensor?", True, None
                )
                at = (
                    next(k for k, p in enumerate(parameters) if p.name == "dtype")
                    if factory
                    else len(parameters)
                )
                parameters.insert(at, given)
            made.append(Signature(parameters))
        _found[key] = _in_order(made)
    return _found[key]


#: Overloads whose variants with ``out`` Python does not see.
_WITHOUT_OUT = frozenset(("Scalar_Tensor", "sum.default"))
#: Functions whose parser is written by hand, with names of its own.
_OWN_WORDS = frozenset(("copy_", "to", "new_tensor"))


def _writes_out(schema: Schema, known: Sequence[Schema]) -> bool:
    """Whether there is an overload of the same parameters that writes into ``out``."""
    mine = [a.type for a in schema.arguments if a.name not in _OPTIONS]
    for other in known:
        theirs = [a for a in other.arguments if a.name not in _OPTIONS]
        if any(a.is_out for a in theirs) and [a.type for a in theirs if not a.is_out] == mine:
            return True
    return False


#: What factories take and their forms with ``out`` do not.
_OPTIONS = frozenset(("dtype", "layout", "device", "pin_memory"))
#: What functions of ``torch`` take beside the parameters of their operators.
_OF_FACTORIES = _OPTIONS | {"requires_grad", "out", "names", "generator"}


def explain(
    path: str,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    out: bool,
    own: Sequence[str] = (),
) -> TypeError | None:
    """The error for a call of ``torch.<path>`` if its arguments fit no overload; None if they fit
    one, or nothing is known."""
    found = judged(path, args, kwargs, out, own)
    return found if isinstance(found, TypeError) else None


def judged(
    path: str,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    out: bool,
    own: Sequence[str] = (),
) -> TypeError | bool:
    """The error for a call of ``torch.<path>`` if its arguments fit no overload; True if they fit
    one, False if nothing is known.

    ``own`` names the function's parameters: in ``nn.functional`` some have more than the operator
    of their name.
    """
    prefix, _, last = path.rpartition(".")
    method = prefix == "Tensor"
    name = f"{prefix}_{last}" if prefix in ("linalg", "fft", "special") else last
    if name in _OWN_WORDS:
        return False
    if method:
        args = args[1:]
    if any(_is_duck(x) for x in (*args, *kwargs.values())):
        return False
    known = signatures(name, method, out)
    if not known:
        return False
    theirs = {p.name for s in known for p in s.parameters} | (
        _OF_FACTORIES if not prefix else frozenset()
    )
    if prefix in ("nn.functional", "") and not theirs.issuperset(own[1:]):
        return False
    problems = [s.problem(name, args, kwargs) for s in known]
    for s, p in zip(known, problems, strict=True):
        if p is None:
            return s.unpacking(name, args, kwargs) or True
    if len(known) == 1 and not numbers_may_stand(name):
        return problems[0] or True
    given = len(args) + len(kwargs)
    plausible = [
        p
        for s, p in zip(known, problems, strict=True)
        if p is not None and s.least <= given <= len(s.parameters)
    ]
    if len(plausible) == 1:
        return plausible[0]
    return TypeError(combination(name, known, args, kwargs))


def refused(
    function: str, name: str, words: str, value: tuple[object, ...] | list[object]
) -> TypeError | None:
    """The error for an argument that a function written in Python hands to one of the same name in
    C++; None if nothing is known."""
    found = [
        (i, p)
        for s in signatures(function, False, False)
        for i, p in enumerate(s.parameters)
        if p.name == name and p.words == words
    ]
    if not found or any(p.accepts(value, False) for _, p in found):
        return None
    i, p = found[0]
    return p.refusal(function, None if p.keyword_only else i + 1, value)


def _is_duck(value: object, depth: int = 0) -> bool:
    """Whether a value is no tensor but takes part in the override protocol, or holds one that does.

    Sequences are looked into as deep as arguments may be nested: one may hold itself.
    """
    if isinstance(value, (list, tuple)):
        return depth < 3 and any(_is_duck(x, depth + 1) for x in value)
    return not isinstance(value, Tensor) and hasattr(value, "__torch_function__")


def combination(
    name: str, known: list[Signature], args: tuple[object, ...], kwargs: dict[str, object]
) -> str:
    """The long message: what was given, and every overload, with the mismatches of those of as many
    parameters."""
    got = _listed([_name(a) for a in args], [f"{k}={_name(v)}" for k, v in sorted(kwargs.items())])
    start = f"{name}() received an invalid combination of arguments - got "
    if len(known) == 1:
        shown = _marked(known[0], args, kwargs) if _as_many(known[0], args, kwargs) else f"({got})"
        return f"{start}{shown}, but expected {known[0].text()}"
    lines = [f"{start}({got}), but expected one of:"]
    for s in known:
        lines.append(f" * {s.text()}")
        if not _as_many(s, args, kwargs):
            continue
        names = [p.name for p in s.parameters]
        wrong = [k for k in kwargs if k not in names]
        if wrong:
            lines.append(
                "      didn't match because some of the keywords were incorrect: "
                f"{', '.join(wrong)}"
            )
        else:
            lines.append(
                "      didn't match because some of the arguments have invalid types: "
                f"{_marked(s, args, kwargs)}"
            )
    return "\n".join(lines) + "\n"


def _as_many(s: Signature, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    # The star between the two kinds of parameters counts as one, as it does in PyTorch.
    return len(args) + len(kwargs) == len(s.parameters) + any(p.keyword_only for p in s.parameters)


def _marked(s: Signature, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """The given types, those that do not fit between exclamation marks; only a few types are told
    apart here."""
    slots = list(s.positional)
    if any(p.keyword_only for p in s.parameters):
        slots += [None, *[p for p in s.parameters if p.keyword_only]]
    shown = []
    for slot, value in zip(slots, args, strict=False):
        shown.append(_listed_types(value) if _fits(slot, value) else f"!{_listed_types(value)}!")
    by_name = {p.name: p for p in s.parameters}
    listed = [
        (k, _fits(by_name[k], v), f"{k}={_listed_types(v)}") for k, v in sorted(kwargs.items())
    ]
    named = [text if fits else f"!{text}!" for _, fits, text in listed]
    return "(" + _listed(shown, named) + ")"


def _listed(args: list[str], kwargs: list[str]) -> str:
    # PyTorch leaves a comma at the end where nothing was given by position.
    return ", ".join([*args, *kwargs]) + (", " if kwargs and not args else "")


def _fits(p: Parameter | None, value: object) -> bool:
    if p is None:
        return False
    if p.type in ("int", "SymInt"):
        return type(value) is int
    if p.type == "float":
        return type(value) in (float, int)
    return p.words == _name(value)
