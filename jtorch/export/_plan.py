"""What is said of the sizes of a program's inputs, as symbols for its trace."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._dynamo.exc import UserError
from jtorch._src.facts.errors import not_offered
from jtorch._src.tensor.size_texts import evaluate
from jtorch.utils import _pytree as pytree

from .dynamic_shapes import ConstraintError, Dim, Range, _Hint

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["Plan", "plan", "spread"]


class Plan:
    """What each leaf of the inputs is traced with.

    Attributes:
        sizes: for each leaf None, or a list with a number or the text of an expression for each
            dimension.
        symbols: for ``ShapeEnv``: ``{name: (hint, lowest, highest)}``.
        ranges: what callers may give.
        automatic: the symbols that may turn out to be numbers.
        places: the leaf and dimension of each symbol that is a size as it is.
        dims: the names of symbols that have one.
        fixes: what was found to hold beside what was said: the symbol that is changed, and how its
            ``Dim`` would be declared.
    """

    def __init__(self) -> None:
        self.sizes: list[Values | None] = []
        self.symbols: dict[str, tuple[int, int, int | None]] = {}
        self.ranges: dict[str, Range] = {}
        self.automatic: dict[str, None] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.fixes: list[tuple[str, str]] = []
        self.dims: dict[str, str] = {}
        self._taken: set[int] = set()
        self._roots: dict[str, tuple[Dim, str]] = {}

    def name(self, source: str) -> str:
        """The symbol of a size, as PyTorch names it: by a number made of where the size is
        found."""
        number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
        while number in self._taken:
            number += 1
        self._taken.add(number)
        return f"s{number}"

    def static(self, leaf: int, dim: int, n: int) -> None:
        """Takes a size for a number after all, wherever it is."""
        sizes = self.sizes[leaf]
        assert sizes is not None
        name = sizes[dim]

        def known(s: int | str) -> Any:
            if not isinstance(s, str) or not re.search(rf"\b{name}\b", s):
                return s
            text = re.sub(rf"\b{name}\b", str(n), s)
            return text if re.search(r"[a-z]", text) else evaluate(text, {})

        self.sizes = [None if sizes is None else [known(s) for s in sizes] for sizes in self.sizes]
        self.forget(name)

    def replace(self, name: str, text: str) -> None:
        """Says what a size is, wherever it is one or a part of one."""

        def said(s: Any) -> Any:
            if not isinstance(s, str):
                return s
            return text if s == name else re.sub(rf"\b{name}\b", f"({text})", s)

        self.sizes = [None if sizes is None else [said(s) for s in sizes] for sizes in self.sizes]

    def forget(self, name: str) -> None:
        """Takes out a symbol that no size is."""
        for mapping in (self.symbols, self.ranges, self.automatic, self.places):
            mapping.pop(name, None)


def _entry(spec: Any, dim: int, ndim: int) -> Dim | _Hint | None:
    if spec is None:
        return None
    if isinstance(spec, dict):
        return spec.get(dim, spec.get(dim - ndim))
    return spec[dim]


def plan(leaves: list[tuple[str, object, object]]) -> Plan:
    """The symbols of a program's inputs, each given as (source, value, what varies of it).

    Raises:
        ConstraintError: where the example contradicts what is said of its sizes.
    """
    made = Plan()
    for source, value, spec in leaves:
        if not isinstance(value, torch.Tensor):
            if spec is not None and not (isinstance(spec, _Hint) and spec is not Dim.DYNAMIC):
                if spec is Dim.DYNAMIC and type(value) is int:
                    raise not_offered(
                        "export of whole numbers that vary",
                        f"{source} becomes a part of the graph; give a tensor",
                    )
                raise _user_error(
                    f"Expected {source} to be a tensor, as its dynamic shape is {spec!r}, but it "
                    f"is a {type(value).__name__}"
                )
            made.sizes.append(None)
            continue
        if spec is not None and not isinstance(spec, (dict, list, tuple)):
            raise _user_error(
                f"Unexpected dynamic_shape {spec!r} of {source}: expected a dict, list, tuple or "
                "None"
            )
        if isinstance(spec, (list, tuple)) and len(spec) != value.ndim:
            raise _user_error(
                f"Expected {value.ndim} entries in the dynamic shape of {source}, one for each "
                f"dimension, got {len(spec)}"
            )
        if isinstance(spec, dict) and any(
            type(d) is not int or not -value.ndim <= d < value.ndim for d in spec
        ):
            raise _user_error(
                f"Unexpected dimensions in the dynamic shape {spec!r} of {source}, which has "
                f"{value.ndim}"
            )
        sizes = []
        for d, n in enumerate(value.shape):
            sizes.append(
                _size(
                    made,
                    len(made.sizes),
                    f"{source}.size()[{d}]",
                    d,
                    n,
                    _entry(spec, d, value.ndim),
                )
            )
        made.sizes.append(sizes)
    return made


def _size(made: Plan, leaf: int, where: str, d: int, n: int, dim: Dim | _Hint | None) -> Any:
    if dim is None or dim is Dim.STATIC:
        return n
    if type(dim) is int:
        if dim != n:
            raise _user_error(
                f"Static shape constraint of {dim} does not match input size of {n}, for {where}"
            )
        return n
    if dim is Dim.AUTO or dim is Dim.DYNAMIC:
        if n in (0, 1):
            if dim is Dim.DYNAMIC:
                raise ConstraintError(
                    f"Constraints violated: {where} is {n} in the example; sizes of 0 and 1 are "
                    "taken for numbers"
                )
            return n
        name = made.name(where)
        made.symbols[name], made.ranges[name] = (n, 2, None), Range(0, None)
        made.places[name] = leaf, d
        if dim is Dim.AUTO:
            made.automatic[name] = None
        return name
    if not isinstance(dim, Dim):
        raise _user_error(
            f"Unexpected dimension {dim!r} for {where}: expected a Dim, a number or None"
        )
    root = dim.root
    hint, rest = divmod(n - dim.plus, dim.times)
    if rest or hint < 0:
        raise ConstraintError(
            f"Constraints violated ({dim.__name__})! {where} is {n}: {dim.__name__} for no "
            f"{root.__name__}"
        )
    known = made._roots.get(root.__name__)
    if known is None:
        name = made.name(where)
        if n in (0, 1):
            raise ConstraintError(
                f"Constraints violated ({root.__name__})! You marked {root.__name__} as dynamic "
                f"but the example specialized it to be a constant ({n}); sizes of 0 and 1 are "
                "taken for numbers. Give an example with a larger size."
            )
        if hint not in Range(root.min, root.max):
            raise ConstraintError(
                f"Constraints violated ({root.__name__})! {where} is {n}, which is outside of "
                f"{Range(root.min, root.max)}"
            )
        made._roots[root.__name__] = root, name
        made.symbols[name] = hint, max(root.min, 2), root.max
        made.ranges[name] = Range(root.min, root.max)
        made.dims[name] = root.__name__
        if dim is root:
            made.places[name] = leaf, d
    else:
        other, name = known
        if (other.min, other.max) != (root.min, root.max):
            raise _user_error(
                f"Found different definitions {other!r} and {root!r} for the same symbolic "
                "dimension"
            )
        if made.symbols[name][0] != hint:
            raise ConstraintError(
                f"Constraints violated ({root.__name__})! {where} is {n}, but {dim.__name__} is "
                f"{made.symbols[name][0] * dim.times + dim.plus} elsewhere"
            )
    factor = name if dim.times == 1 else f"{dim.times}*{name}"
    return (
        factor
        if not dim.plus
        else f"{factor} + {dim.plus}"
        if dim.plus > 0
        else f"{factor} - {-dim.plus}"
    )


def _user_error(text: str) -> Exception:
    return UserError(text)


def spread(
    dynamic_shapes: tuple[object, ...] | dict[str, object] | None,
    names: list[str],
    args: tuple[torch.Tensor | float, ...],
) -> Values:
    """What varies of each leaf of the arguments, given by name or by position, nested as they are.

    Raises:
        UserError: where it does not fit the arguments.
    """
    if dynamic_shapes is None:
        return [None] * len(pytree.tree_leaves(args))
    if isinstance(dynamic_shapes, dict):
        if set(dynamic_shapes) != set(names):
            raise _user_error(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {names} of `inputs`, but here they are {list(dynamic_shapes)}."
            )
        given = [dynamic_shapes[n] for n in names]
    elif isinstance(dynamic_shapes, (list, tuple)):
        given = list(dynamic_shapes)
        if len(given) != len(names):
            sizes = f"{len(names)} and {len(given)} items"
            raise _user_error(
                f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {sizes}"
            )
    else:
        raise _user_error(
            "Expected dynamic_shapes to be a dict, list, tuple or None, got "
            f"{type(dynamic_shapes).__name__}"
        )
    found: list[Any] = []
    for name, arg, spec in zip(names, args, given, strict=True):
        found += _spread(name, arg, spec)
    return found


def _spread(name: str, arg: object, spec: object) -> Values:
    if spec is None:
        return [None] * len(pytree.tree_leaves(arg))
    if isinstance(arg, (list, tuple)) and not isinstance(arg, torch.Size):
        if not isinstance(spec, (list, tuple)) or len(spec) != len(arg):
            raise _user_error(
                "Detected mismatch between the structure of `inputs` and `dynamic_shapes` at "
                f"{name}"
            )
        return [
            leaf
            for i, (a, s) in enumerate(zip(arg, spec, strict=True))
            for leaf in _spread(f"{name}[{i}]", a, s)
        ]
    if isinstance(arg, dict):
        if not isinstance(spec, dict) or set(spec) != set(arg):
            raise _user_error(
                "Detected mismatch between the structure of `inputs` and `dynamic_shapes` at "
                f"{name}"
            )
        return [leaf for k in arg for leaf in _spread(f"{name}['{k}']", arg[k], spec[k])]
    if not pytree.tree_structure(arg).is_leaf():
        children = list(pytree.SUPPORTED_NODES[type(arg)].flatten_fn(arg)[0])
        if type(spec) is type(arg):  # (what a collection tells)
            spec = list(pytree.SUPPORTED_NODES[type(arg)].flatten_fn(spec)[0])
        return _spread(name, children, spec)
    return [spec]
