"""Which sizes of a program's inputs vary: ``Dim``, and the symbols that an exported program has for
them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

import jtorch as torch
from jtorch._dynamo.exc import UserError
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor.shape_env import ConstraintViolation
from jtorch.utils import _pytree as pytree

__all__ = [
    "AdditionalInputs",
    "Dim",
    "ShapesCollection",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
]

UNBOUNDED = "int_oo"


class _Hint:
    """``Dim.AUTO``, ``Dim.DYNAMIC`` or ``Dim.STATIC``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A size that may be any number within bounds, and is the same wherever the dimension is used.

    ``Dim.AUTO`` is a size that varies if the program lets it, ``Dim.DYNAMIC`` one that must,
    ``Dim.STATIC`` one that does not. From a dimension others follow by multiplying with, and
    adding, whole numbers: ``2 * batch + 1``.

    Args:
        name: what the dimension is called; an identifier.
        min: the least size, 0 if not given.
        max: the largest size.

    Raises:
        AssertionError: for a name that is no identifier, or bounds that exclude each other.
    """

    AUTO = _Hint("AUTO")
    DYNAMIC = _Hint("DYNAMIC")
    STATIC = _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low = 0 if min is None else min
        if max is not None and max <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={low}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, max
        #: The dimension that this one is computed of: ``times * root + plus``.
        self.root, self.times, self.plus = self, 1, 0

    def _derived(self, times: int, plus: int) -> Dim:
        made = Dim.__new__(Dim)
        made.root, made.times, made.plus = self.root, self.times * times, self.plus * times + plus
        factor = self.root.__name__ if made.times == 1 else f"{made.times}*{self.root.__name__}"
        made.__name__ = factor + (
            f" + {made.plus}" if made.plus > 0 else f" - {-made.plus}" if made.plus < 0 else ""
        )
        made.min = self.root.min * made.times + made.plus
        made.max = None if self.root.max is None else self.root.max * made.times + made.plus
        return made

    def __add__(self, other: int) -> Dim:
        return self._derived(1, _whole(other, "add"))

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self._derived(1, -_whole(other, "subtract"))

    def __rsub__(self, other: int) -> Dim:
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. Please declare the opposite operation instead."
        )

    def __mul__(self, other: int) -> Dim:
        if _whole(other, "multiply") <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was "
                "expected."
            )
        return self._derived(other, 0)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        bounds = f", min={self.min}" if self.min else ""
        return f"Dim('{self.__name__}'{bounds}{'' if self.max is None else f', max={self.max}'})"


def _whole(other: int, verb: str) -> int:
    if type(other) is not int:
        raise NotImplementedError(
            f"Attempted to {verb} {other} with a Dim, where an integer was expected."
        )
    return other


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions with the same bounds."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: object) -> Any:
    """``dynamic_shapes`` as an error of ``export`` suggests to write them.

    Raises:
        AssertionError: if the text suggests nothing.
    """
    fixes = {}
    named = {
        dim.__name__: dim for dim in pytree.tree_leaves(dynamic_shapes) if isinstance(dim, Dim)
    }
    for line in msg.partition("Suggested fixes:")[2].splitlines():
        name, sign, text = line.strip().partition(" = ")
        if sign:
            fixes[name] = _read(ast.parse(text, mode="eval").body, {**named, **fixes})
    if not fixes:
        raise AssertionError("the message suggests no fixes")

    def fixed(dim: object) -> Any:
        if not isinstance(dim, Dim) or dim.root.__name__ not in fixes:
            return dim
        root = fixes[dim.root.__name__]
        return root if dim.root is dim else root * dim.times + dim.plus

    return pytree.tree_map(fixed, dynamic_shapes)


def _read(node: ast.AST, named: Mapping[str, object]) -> Any:
    """What a suggestion says: a number, a new dimension, or one that is computed of others."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return named.get(node.id) or Dim(node.id)
    if isinstance(node, ast.BinOp):
        left, right = _read(node.left, named), _read(node.right, named)
        return (
            left * right
            if isinstance(node.op, ast.Mult)
            else left + right
            if isinstance(node.op, ast.Add)
            else left - right
        )
    if isinstance(node, ast.Call):
        bounds: dict[Any, Any] = {k.arg: _read(k.value, named) for k in node.keywords}
        return Dim(_read(node.args[0], named), **bounds)
    raise ValueError(f"{ast.unparse(node)} is no suggestion")


class ConstraintError(UserError, ConstraintViolation):
    """What is said of sizes holds neither for the example nor for the program. PyTorch raises its
    base, ``torch._dynamo.exc.UserError``."""


class Range:
    """The numbers that a size may be, or a number that is read from data; printed
    ``VR[0, int_oo]``."""

    def __init__(self, lower: int | None, upper: int | None) -> None:
        self.lower, self.upper = lower, upper

    def __repr__(self) -> str:
        return (
            f"VR[{f'-{UNBOUNDED}' if self.lower is None else self.lower}, "
            f"{UNBOUNDED if self.upper is None else self.upper}]"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __contains__(self, n: int) -> bool:
        return (self.lower is None or self.lower <= n) and (self.upper is None or n <= self.upper)


class Reals(Range):
    """The floats that a number read from data may be; printed ``VR[-oo, oo]``."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def __repr__(self) -> str:
        return "VR[-oo, oo]"


class ShapesCollection:
    """What varies of tensors, told by the tensors themselves: for arguments that are nested or
    many.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.export import Dim, ShapesCollection, export
        >>> x, shapes = torch.ones(4, 2), ShapesCollection()
        >>> shapes[x] = {0: Dim("batch")}
        >>> export(torch.nn.Linear(2, 3), (x,), dynamic_shapes=shapes).module()(
        ...     torch.ones(7, 2)
        ... ).shape
        torch.Size([7, 3])
    """

    def __init__(self) -> None:
        self._shapes = {}

    def __setitem__(self, t: object, shape: object) -> None:
        if not isinstance(t, torch.Tensor):
            raise AssertionError(
                f"Cannot assign shape to non-tensor or non-_IntWrapper type {type(t)}"
            )
        known = self._shapes.get(id(t))
        if known is not None and known[1] != shape:
            raise AssertionError(
                f"Shapes assigned to input do not match: expected {known[1]}, got {shape}"
            )
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t: Any) -> Any:
        if id(t) not in self._shapes:
            self._shapes[id(t)] = t, {}
        return self._shapes[id(t)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """What ``export`` is told, by the arguments' names.

        Raises:
            ValueError: if a tensor is none of the arguments.
        """
        met: set[int] = set()

        def told(x: object) -> object:
            if id(x) not in self._shapes:
                return None
            met.add(id(x))
            return self._shapes[id(x)][1]

        found = pytree.tree_map(told, _by_name(m, args, kwargs))
        if met != self._shapes.keys():
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors "
                "were copied when passing them as args? Maybe such tensors are contained in "
                "classes that were not registered with pytree?"
            )
        return found


class AdditionalInputs:
    """More examples of arguments: the sizes in which they differ from the first are those that
    vary."""

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[object, ...], dict[str, object] | None]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Adds an example.

        Raises:
            AssertionError: if ``args`` is no tuple or ``kwargs`` no dict.
        """
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """What ``export`` is told, by the arguments' names.

        Raises:
            ValueError: if examples are nested differently, or differ in what cannot vary.
        """
        first = _by_name(m, args, kwargs)
        return pytree.tree_map(
            _varying, first, *[_by_name(m, *example) for example in self._examples]
        )

    def verify(self, ep: Any) -> None:
        """Checks that the program may be given each example, without running it.

        Raises:
            AssertionError: for one that it may not.
        """
        for args, kwargs in self._examples:
            ep.flat_inputs(args, kwargs or {})


def _varying(*values: object) -> object:
    """What varies of an argument, of which there are several examples."""
    shapes = [tuple(x.shape) if isinstance(x, torch.Tensor) else None for x in values]
    if None not in shapes:
        if len({len(s) for s in shapes if s is not None}) > 1:
            raise ValueError(f"Node arity mismatch: examples have shapes {shapes}")
        return tuple(
            [
                None if len(set(sizes)) == 1 else Dim.DYNAMIC
                for sizes in zip(*[s for s in shapes if s is not None])
            ]
        )
    if all(type(x) is int for x in values):
        return None if len(set(values)) == 1 else Dim.DYNAMIC
    if any(s is not None for s in shapes) or any(x != values[0] for x in values):
        raise ValueError(
            "The following inputs were found to have differing values, but they cannot be marked "
            f"as dynamic: {values}."
        )
    return None


def _by_name(
    m: Any, args: tuple[object, ...], kwargs: dict[str, object] | None
) -> dict[str, object]:
    """The arguments of a call by the names of the parameters."""
    signature = inspect.signature(m.forward if isinstance(m, torch.nn.Module) else m)
    found = dict(signature.bind(*args, **(kwargs or {})).arguments)
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            found.update(found.pop(p.name, {}))
    return found


__getattr__ = _refusals.missing(__name__)
