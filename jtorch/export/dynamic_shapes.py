"""Which sizes of a program's inputs vary: ``Dim``, and the symbols that an exported program has for them."""

from __future__ import annotations

import hashlib
from typing import Any

import jtorch as torch
from jtorch._dynamo.exc import UserError
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor.shape_env import ConstraintViolation
from jtorch.utils import _pytree as pytree

__all__ = ["Dim", "dims", "refine_dynamic_shapes_from_suggested_fixes"]

UNBOUNDED = "int_oo"


class _Hint:
    """``Dim.AUTO``, ``Dim.DYNAMIC`` or ``Dim.STATIC``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A size that may be any number within bounds, and is the same wherever the dimension is used.

    ``Dim.AUTO`` is a size that varies if the program lets it, ``Dim.DYNAMIC`` one that must, ``Dim.STATIC`` one that does not. From a
    dimension others follow by multiplying with, and adding, whole numbers: ``2 * batch + 1``.

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
        made.__name__ = factor + (f" + {made.plus}" if made.plus > 0 else f" - {-made.plus}" if made.plus < 0 else "")
        made.min = self.root.min * made.times + made.plus
        made.max = None if self.root.max is None else self.root.max * made.times + made.plus
        return made

    def __add__(self, other: int) -> Dim:
        return self._derived(1, _whole(other, "add"))

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self._derived(1, -_whole(other, "subtract"))

    def __rsub__(self, other: int) -> Dim:
        raise NotImplementedError(f"Attempted to negate {self.__name__}. Please declare the opposite operation instead.")

    def __mul__(self, other: int) -> Dim:
        if _whole(other, "multiply") <= 0:
            raise NotImplementedError(f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected.")
        return self._derived(other, 0)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        bounds = f", min={self.min}" if self.min else ""
        return f"Dim('{self.__name__}'{bounds}{'' if self.max is None else f', max={self.max}'})"


def _whole(other: Any, verb: str) -> int:
    if type(other) is not int:
        raise NotImplementedError(f"Attempted to {verb} {other} with a Dim, where an integer was expected.")
    return other


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions with the same bounds."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:  # noqa: ARG001
    """Not offered: errors suggest no code.

    Raises:
        NotImplementedError: always.
    """
    raise not_offered("export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes", "errors say which size is at fault, in words")


class ConstraintError(UserError, ConstraintViolation):
    """What is said of sizes holds neither for the example nor for the program. PyTorch raises its base, ``torch._dynamo.exc.UserError``."""


class Range:
    """The numbers that a size may be, or a number that is read from data; printed ``VR[0, int_oo]``."""

    def __init__(self, lower: int | None, upper: int | None) -> None:
        self.lower, self.upper = lower, upper

    def __repr__(self) -> str:
        return f"VR[{f'-{UNBOUNDED}' if self.lower is None else self.lower}, {UNBOUNDED if self.upper is None else self.upper}]"

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


class Plan:
    """What each leaf of the inputs is traced with.

    Attributes:
        sizes: for each leaf None, or a list with a number or the text of an expression for each dimension.
        symbols: for ``ShapeEnv``: ``{name: (hint, lowest, highest)}``.
        ranges: what callers may give.
        automatic: the symbols that may turn out to be numbers, with the leaf and dimension of each.
    """

    def __init__(self) -> None:
        self.sizes: list[list[Any] | None] = []
        self.symbols: dict[str, tuple[int, int, int | None]] = {}
        self.ranges: dict[str, Range] = {}
        self.automatic: dict[str, tuple[int, int]] = {}
        self.dims: dict[str, str] = {}
        self._taken: set[int] = set()
        self._roots: dict[str, tuple[Dim, str]] = {}

    def name(self, source: str) -> str:
        """The symbol of a size, as PyTorch names it: by a number made of where the size is found."""
        number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
        while number in self._taken:
            number += 1
        self._taken.add(number)
        return f"s{number}"

    def static(self, leaf: int, dim: int, n: int) -> None:
        """Takes a size for a number after all."""
        sizes = self.sizes[leaf]
        assert sizes is not None
        name = sizes[dim]
        sizes[dim] = n
        for mapping in (self.symbols, self.ranges, self.automatic):
            mapping.pop(name, None)


def _entry(spec: Any, dim: int, ndim: int) -> Any:
    if spec is None:
        return None
    if isinstance(spec, dict):
        return spec.get(dim, spec.get(dim - ndim))
    return spec[dim]


def plan(leaves: list[tuple[str, Any, Any]]) -> Plan:
    """The symbols of a program's inputs, each given as (source, value, what varies of it).

    Raises:
        ConstraintError: where the example contradicts what is said of its sizes.
    """
    made = Plan()
    for source, value, spec in leaves:
        if not isinstance(value, torch.Tensor):
            if spec is not None and not (isinstance(spec, _Hint) and spec is not Dim.DYNAMIC):
                raise _user_error(f"Expected {source} to be a tensor, as its dynamic shape is {spec!r}, but it is a {type(value).__name__}")
            made.sizes.append(None)
            continue
        if spec is not None and not isinstance(spec, (dict, list, tuple)):
            raise _user_error(f"Unexpected dynamic_shape {spec!r} of {source}: expected a dict, list, tuple or None")
        if isinstance(spec, (list, tuple)) and len(spec) != value.ndim:
            raise _user_error(f"Expected {value.ndim} entries in the dynamic shape of {source}, one for each dimension, got {len(spec)}")
        if isinstance(spec, dict) and any(type(d) is not int or not -value.ndim <= d < value.ndim for d in spec):
            raise _user_error(f"Unexpected dimensions in the dynamic shape {spec!r} of {source}, which has {value.ndim}")
        sizes: list[Any] = []
        for d, n in enumerate(value.shape):
            sizes.append(_size(made, len(made.sizes), f"{source}.size()[{d}]", d, n, _entry(spec, d, value.ndim)))
        made.sizes.append(sizes)
    return made


def _size(made: Plan, leaf: int, where: str, d: int, n: int, dim: Any) -> Any:
    if dim is None or dim is Dim.STATIC:
        return n
    if type(dim) is int:
        if dim != n:
            raise _user_error(f"Static shape constraint of {dim} does not match input size of {n}, for {where}")
        return n
    if dim is Dim.AUTO or dim is Dim.DYNAMIC:
        if n in (0, 1):
            if dim is Dim.DYNAMIC:
                raise ConstraintError(f"Constraints violated: {where} is {n} in the example; sizes of 0 and 1 are taken for numbers")
            return n
        name = made.name(where)
        made.symbols[name], made.ranges[name] = (n, 2, None), Range(0, None)
        if dim is Dim.AUTO:
            made.automatic[name] = leaf, d
        return name
    if not isinstance(dim, Dim):
        raise _user_error(f"Unexpected dimension {dim!r} for {where}: expected a Dim, a number or None")
    root = dim.root
    hint, rest = divmod(n - dim.plus, dim.times)
    if rest or hint < 0:
        raise ConstraintError(f"Constraints violated ({dim.__name__})! {where} is {n}: {dim.__name__} for no {root.__name__}")
    known = made._roots.get(root.__name__)
    if known is None:
        name = made.name(where)
        if n in (0, 1):
            raise ConstraintError(
                f"Constraints violated ({root.__name__})! You marked {root.__name__} as dynamic but the example specialized it to be a "
                f"constant ({n}); sizes of 0 and 1 are taken for numbers. Give an example with a larger size."
            )
        if hint not in Range(root.min, root.max):
            raise ConstraintError(
                f"Constraints violated ({root.__name__})! {where} is {n}, which is outside of {Range(root.min, root.max)}"
            )
        made._roots[root.__name__] = root, name
        made.symbols[name] = hint, max(root.min, 2), root.max
        made.ranges[name] = Range(root.min, root.max)
        made.dims[name] = root.__name__
    else:
        other, name = known
        if (other.min, other.max) != (root.min, root.max):
            raise _user_error(f"Found different definitions {other!r} and {root!r} for the same symbolic dimension")
        if made.symbols[name][0] != hint:
            raise ConstraintError(
                f"Constraints violated ({root.__name__})! {where} is {n}, but {dim.__name__} is "
                f"{made.symbols[name][0] * dim.times + dim.plus} elsewhere"
            )
    factor = name if dim.times == 1 else f"{dim.times}*{name}"
    return factor if not dim.plus else f"{factor} + {dim.plus}" if dim.plus > 0 else f"{factor} - {-dim.plus}"


def _user_error(text: str) -> Exception:
    return UserError(text)


def spread(dynamic_shapes: Any, names: list[str], args: Any) -> list[Any]:
    """What varies of each leaf of the arguments, given by name or by position, nested as they are.

    Raises:
        UserError: where it does not fit the arguments.
    """
    if dynamic_shapes is None:
        return [None] * len(pytree.tree_leaves(args))
    if isinstance(dynamic_shapes, dict):
        if set(dynamic_shapes) != set(names):
            raise _user_error(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                f"{names} of `inputs`, but here they are {list(dynamic_shapes)}."
            )
        given = [dynamic_shapes[n] for n in names]
    elif isinstance(dynamic_shapes, (list, tuple)):
        given = list(dynamic_shapes)
        if len(given) != len(names):
            sizes = f"{len(names)} and {len(given)} items"
            raise _user_error(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {sizes}")
    else:
        raise _user_error(f"Expected dynamic_shapes to be a dict, list, tuple or None, got {type(dynamic_shapes).__name__}")
    found: list[Any] = []
    for name, arg, spec in zip(names, args, given, strict=True):
        found += _spread(name, arg, spec)
    return found


def _spread(name: str, arg: Any, spec: Any) -> list[Any]:
    if spec is None:
        return [None] * len(pytree.tree_leaves(arg))
    if isinstance(arg, (list, tuple)) and not isinstance(arg, torch.Size):
        if not isinstance(spec, (list, tuple)) or len(spec) != len(arg):
            raise _user_error(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes` at {name}")
        return [leaf for i, (a, s) in enumerate(zip(arg, spec, strict=True)) for leaf in _spread(f"{name}[{i}]", a, s)]
    if isinstance(arg, dict):
        if not isinstance(spec, dict) or set(spec) != set(arg):
            raise _user_error(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes` at {name}")
        return [leaf for k in arg for leaf in _spread(f"{name}['{k}']", arg[k], spec[k])]
    if not pytree.tree_structure(arg).is_leaf():
        raise _user_error(f"dynamic_shapes of {name}: sizes inside a {type(arg).__name__} cannot be given; use tuples, lists and dicts")
    return [spec]


__getattr__ = _refusals.missing(__name__)
