"""The objects of ``torch.ops``: namespaces, operator packets and overloads. An overload is what
``__torch_dispatch__`` is told."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ...dispatch import ACTIVE, MISSING, PLAIN, override
from ..facts import devices, dtypes
from ..facts.size import SYMBOLIC
from ..facts.tags import Tag
from ..hooks import late_operators, operator_calls, operator_tags
from ..ops._declare import OPS
from ..refusals import names as _refused
from ..refusals import stand_ins as _refusals
from ..tensor.symbols import Float, Sym
from .schema import NO_DEFAULT, Argument, Schema, texts, texts_of

if TYPE_CHECKING:
    from ..facts.kinds import Keywords, Row, Tree, Values


def _is_int(x: object) -> bool:
    return (isinstance(x, int) and not isinstance(x, bool)) or type(x) in SYMBOLIC or type(x) is Sym


def _is_number(x: object) -> bool:
    if isinstance(x, (int, float, complex, Sym, Float)) or type(x) in SYMBOLIC:
        return True
    return isinstance(x, Tensor) and x._aval.ndim == 0 and not x._rg and type(x) is Tensor


def _is_ints(x: object) -> bool:
    return isinstance(x, (list, tuple)) and all(
        (hasattr(i, "__index__") and not isinstance(i, bool)) or type(i) in SYMBOLIC for i in x
    )


_CHECKS = {
    "Tensor": lambda x: isinstance(x, Tensor),
    "Tensor[]": lambda x: isinstance(x, (list, tuple)) and all(isinstance(i, Tensor) for i in x),
    "Tensor?[]": lambda x: (
        isinstance(x, (list, tuple)) and all(i is None or isinstance(i, Tensor) for i in x)
    ),
    "Scalar": _is_number,
    "int": _is_int,
    "SymInt": _is_int,
    "float": lambda x: isinstance(x, (int, float, Float)) and not isinstance(x, bool),
    "bool": lambda x: isinstance(x, bool),
    "str": lambda x: isinstance(x, str),
    "ScalarType": lambda x: isinstance(x, dtypes.dtype) or x in dtypes.OF_PYTHON,
    "Device": lambda x: isinstance(x, (str, devices.device, int)),
    "Generator": lambda x: not isinstance(x, (Tensor, int, float, str, list, tuple)),
}


def fits(kind: str, x: object) -> bool:
    """Whether an argument may stand for a parameter of a type, as PyTorch's parser sees it."""
    if kind.endswith("?"):
        if x is None:
            return True
        kind = kind[:-1]
    if x is None:
        return False
    base = kind.partition("[")[0]
    if kind.endswith("]") and base in ("int", "SymInt"):
        return _is_ints(x) or (_is_int(x) and not kind.endswith("[]"))
    if kind.endswith("]") and base in ("float", "Scalar", "bool"):
        return isinstance(x, (list, tuple)) and all(_CHECKS[base](i) for i in x)
    check = _CHECKS.get(kind)
    return check is None or check(x)


def converted(a: Argument, x: object) -> Tree:
    """An argument as the operator is given it: lists for tuples, dtype and device objects, floats
    where floats are due."""
    if x is None or isinstance(x, Tensor):
        return x
    kind = a.type.rstrip("?")
    if kind.endswith("]"):
        if isinstance(x, (list, tuple)):
            return [
                i.__index__()
                if hasattr(i, "__index__") and not isinstance(i, (bool, Tensor, Sym))
                else i
                for i in x
            ]
        size = kind[kind.index("[") + 1 : -1]
        return [x] * int(size) if size else x
    if kind == "float" and type(x) is int:
        return float(x)
    if kind == "ScalarType" and x in dtypes.OF_PYTHON:
        return dtypes.OF_PYTHON[x]
    if kind == "Device" and isinstance(x, (str, int)):
        return devices.device(x)
    return x


class OpOverload:
    """One operator with one signature: ``torch.ops.aten.add.Tensor``."""

    def __init__(self, packet: OpOverloadPacket, overload: str, text: str) -> None:
        self._overloadpacket = packet
        self._overloadname = overload
        self._text = text
        self._parsed: Schema | None = None
        self._opname = packet.__name__
        self._namespace = packet._namespace
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self._name = f"{self._namespace}::{self._opname}" + (
            "" if overload == "default" else f".{overload}"
        )
        self.__module__ = f"torch._ops.{self._namespace}"
        #: What the floor below keeps for this operator: how it runs on plain tensors, its
        #: derivative, what writes it with others.
        self.kernel: Any = None
        self.derivative: Any = NO_DEFAULT
        self.parts: Any = False
        self._tags: list[Tag] | None = None

    @property
    def _schema(self) -> Schema:
        if self._parsed is None:
            self._parsed = Schema(self._text, self._namespace)
        return self._parsed

    @property
    def namespace(self) -> str:
        """``aten``, or another namespace of ``torch.ops``."""
        return self._namespace

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The operator with all its signatures."""
        return self._overloadpacket

    @property
    def op(self) -> OpOverload:
        """The callable itself."""
        return self

    @property
    def is_view(self) -> bool:
        """Whether the result shares memory with an operand."""
        return self._schema.is_view

    @property
    def tags(self) -> list[Tag]:
        """What is said of the operator, by whoever defined it.

        Differs from torch: of PyTorch's own operators only ``inplace_view`` and
        ``nondeterministic_seeded`` are told.
        """
        found = self._tags
        if found is None:
            found = self._tags = operator_tags(self)
        return [*found]

    def name(self) -> str:
        """``aten::add.Tensor``."""
        return self._name

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"
        )

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: object = None) -> OpOverload:
        return self

    def __reduce__(self) -> Row:
        return _operator_by_name, (self._namespace, self._opname, self._overloadname)

    def __call__(self, /, *args: object, **kwargs: object) -> Tree:
        """Runs the operator; handlers of functions, modes and wrapper classes are asked."""
        if (
            ACTIVE.short is not None
            and not ACTIVE.modes
            and (answer := ACTIVE.short(self, args, kwargs)) is not MISSING
        ):
            return answer
        found = _overridden(self, args, kwargs)
        return operator_calls.get().call(self, args, kwargs) if found is MISSING else found

    def redispatch(self, /, *args: object, **kwargs: object) -> Tensor | None:
        """Runs the operator; modes and wrapper classes are asked."""
        return operator_calls.get().call(self, args, kwargs)

    def decompose(self, *args: object, **kwargs: object) -> Any:
        """The call written with other operators; NotImplemented where the operator is none that
        PyTorch takes apart."""
        return operator_calls.get().decompose(self, args, kwargs)

    def _can_decompose(self) -> bool:
        return operator_calls.get().parts_of(self) is not None

    def complete(self, args: Sequence[object], kwargs: Keywords) -> Values:
        """One value for each parameter of the schema.

        Raises:
            RuntimeError: for arguments that are missing, too many or unknown, in torch's words.
        """
        schema = self._schema
        arguments = schema.arguments
        if len(args) > schema.count and len(args) + len(kwargs) <= len(arguments):
            raise RuntimeError(
                f"{schema.name}() takes {schema.count} positional argument(s) but {len(args)} "
                f"was/were given.  Declaration: {schema}"
            )
        if len(args) > schema.count:
            raise RuntimeError(
                f"{schema.name}() expected at most {len(arguments)} argument(s) but received "
                f"{len(args) + len(kwargs)} argument(s). Declaration: {schema}"
            )
        values: list[Any] = [converted(a, x) for a, x in zip(arguments, args, strict=False)]
        used = 0
        for a in arguments[len(args) :]:
            if a.name in kwargs:
                values.append(converted(a, kwargs[a.name]))
                used += 1
            elif a.default_value is not NO_DEFAULT:
                values.append(a.default_value)
            else:
                raise RuntimeError(
                    f"{schema.name}() is missing value for argument '{a.name}'. Declaration: "
                    f"{schema}"
                )
        if used < len(kwargs):
            for name in kwargs:
                if name not in schema.places:
                    raise RuntimeError(
                        f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: "
                        f"{schema}"
                    )
            raise RuntimeError(
                f"{schema.name}() got more than one value for an argument. Declaration: {schema}"
            )
        return values

    def trimmed(self, values: Sequence[object]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call as handlers are told it: without arguments that equal their defaults."""
        schema = self._schema
        arguments = schema.arguments
        count = schema.count
        while count and _is_default(arguments[count - 1], values[count - 1]):
            count -= 1
        kwargs = {
            a.name: x
            for a, x in zip(arguments[schema.count :], values[schema.count :], strict=True)
            if not _is_default(a, x)
        }
        return tuple(values[:count]), kwargs

    def accepts(self, args: Sequence[object], kwargs: dict[str, object], numbers: bool) -> bool:
        """Whether the arguments fit the schema; with ``numbers``, Python numbers fit where tensors
        are due."""
        schema = self._schema
        if len(args) > schema.count:
            return False
        used = 0
        for i, a in enumerate(schema.arguments):
            if i < len(args):
                x = args[i]
            elif a.name in kwargs:
                x = kwargs[a.name]
                used += 1
            elif a.default_value is not NO_DEFAULT:
                continue
            else:
                return False
            number = isinstance(x, (int, float, complex, Sym, Float)) or type(x) in SYMBOLIC
            if not fits(a.type, x) and not (numbers and a.type == "Tensor" and number):
                return False
        return used == len(kwargs)


def _is_default(a: Argument, x: object) -> bool:
    default = a.default_value
    if default is NO_DEFAULT or isinstance(x, Tensor):
        return False
    if default is None or x is None:
        return default is x
    if isinstance(default, bool) or isinstance(x, bool):
        return default is x
    if isinstance(x, (int, float, list)):
        return (type(x) is type(default) and x == default) or (
            a.type == "Scalar" and type(default) is type(x) and x == default
        )
    return bool(x == default)


def _operator_by_name(namespace: str, name: str, overload: str) -> OpOverload:
    return getattr(getattr(namespace_of(namespace), name), overload)


_operator_by_name.__module__ = "jtorch._utils"  # where pickles find it


def _overridden(
    operator: OpOverload | OpOverloadPacket, args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    """The answer of a handler or mode for functions; MISSING if there is nobody to ask, as for
    plain tensors."""
    if (
        not ACTIVE.modes
        and PLAIN.issuperset(map(type, args))
        and (not kwargs or PLAIN.issuperset(map(type, kwargs.values())))
    ):
        return MISSING
    return override(operator, (*args, *kwargs.values()), args, kwargs)


@functools.cache
def wrapping_numbers() -> frozenset[str]:
    """Packets whose Python functions take a number where a tensor is due, before any overload for
    numbers is looked at."""
    names = {name for op in OPS.values() if op.wraps_numbers for name in (op.name, *op.aliases)}
    return frozenset([*names, *[f"{name}_" for name in names]])


class OpOverloadPacket:
    """An operator with all its overloads: ``torch.ops.aten.add``."""

    def __init__(self, namespace: str, name: str, signatures: dict[str, str]) -> None:
        self._namespace = namespace
        self.__name__ = name
        self.__qualname__ = self._qualified_op_name = f"{namespace}::{name}"
        self.__module__ = f"torch._ops.{namespace}"
        self._signatures = signatures
        self._op = None

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._signatures)

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":
            return "torch.ops"
        signatures = self.__dict__.get("_signatures", {})
        if name not in signatures:
            if name.startswith("__"):
                raise AttributeError(
                    f"'{self._qualified_op_name}' can't have an overload name beginning with '__'"
                )
            raise AttributeError(
                f"The underlying op of '{self._namespace}.{self.__dict__.get('__name__')}' has no "
                f"overload name '{name}'"
            )
        made = OpOverload(self, name, signatures[name])
        self.__dict__[name] = made
        return made

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __iter__(self) -> Any:
        return iter(self._signatures)

    def __deepcopy__(self, memo: object = None) -> OpOverloadPacket:
        return self

    @property
    def op(self) -> Any:
        """The operator as a plain function."""
        if self._op is None:

            def op(*args: object, **kwargs: object) -> Any:
                return self(*args, **kwargs)

            op.__name__ = op.__qualname__ = self.__name__
            op.__module__ = self.__module__
            self._op = op
        return self._op

    def all(self) -> list[OpOverload]:
        """The overloads themselves."""
        return [getattr(self, name) for name in self._signatures]

    def resolve(self, args: Sequence[object], kwargs: dict[str, object]) -> OpOverload | None:
        """The first overload that the arguments fit."""
        numbers = self.__name__ in wrapping_numbers()
        for overload in self.all():
            if overload.accepts(args, kwargs, numbers):
                return overload
        if not numbers:
            for overload in self.all():
                if overload.accepts(args, kwargs, True):
                    return overload
        return None

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Runs the first overload that the arguments fit; handlers of functions are asked
        before."""
        answer = _overridden(self, args, kwargs)
        if answer is not MISSING:
            return answer
        found = self.resolve(args, kwargs)
        if found is None:
            tried = "\n".join(str(o._schema) for o in self.all())
            raise RuntimeError(
                "Overloaded torch operator invoked from Python failed to match any schema:\n"
                f"{self._qualified_op_name}() was called with arguments that fit none of\n"
                f"{tried}"
            )
        return found.redispatch(*args, **kwargs)


class _OpNamespace(types.ModuleType):
    """``torch.ops.aten`` and its like."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__file__ = "torch.ops"
        self._packets: dict[str, OpOverloadPacket] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(dir(self))

    def __dir__(self) -> list[str]:
        return sorted(texts() if self.__dict__["name"] == "aten" else self._packets)

    def __getattr__(self, name: str) -> Any:
        namespace = self.__dict__.get("name", "?")
        known = texts_of(name) if namespace == "aten" else {}
        if known:
            made = OpOverloadPacket("aten", name, known)
            self.__dict__[name] = made
            return made
        late_operators(namespace)
        if name in self.__dict__:
            return self.__dict__[name]
        if name in _refused.names().get(f"ops.{namespace}", ()):
            self.__dict__[name] = _refusals.find(f"jtorch.ops.{namespace}", name)
            return self.__dict__[name]
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")

    def define(self, text: str) -> OpOverload:
        """Enters an operator that PyTorch does not have, from its schema, and gives it."""
        head = text.partition("(")[0]
        name, _, overload = head.partition(".")
        packet = self.__dict__.get(name)
        if packet is None:
            packet = self.__dict__[name] = self._packets[name] = OpOverloadPacket(
                self.name, name, {}
            )
        packet._signatures[overload or "default"] = text
        return getattr(packet, overload or "default")


_namespaces: dict[str, _OpNamespace] = {}


def namespace_of(name: str) -> _OpNamespace:
    """``torch.ops.<name>``."""
    found = _namespaces.get(name)
    if found is None:
        found = _namespaces[name] = _OpNamespace(name)
    return found


aten = namespace_of("aten")
#: Operators of this package that PyTorch has none for: derivatives without a formula of their own,
#: inner steps of some functions.
jtorch = namespace_of("jtorch")
