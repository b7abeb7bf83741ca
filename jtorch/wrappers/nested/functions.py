"""What each overridable function means for nested tensors: tables by name, filled by the modules
beside this one, looked up by function.

A function stands in one of four sets: it works unchanged on the packed values, is handled
specially, delegates (its body runs, and the functions that it calls come here again), or is refused
with a reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch import overrides

from ..._src.facts.errors import not_offered

if TYPE_CHECKING:
    from ..._src.aten.overloads import OpOverload
    from ..._src.facts.kinds import Function


#: The kinds of an entry.
UNCHANGED, SPECIAL, DELEGATES, REFUSED = KINDS = ("unchanged", "special", "delegates", "refused")

#: Where names without a dot are looked for: in these a name means the same thing.
_ALIKE = ("", "Tensor", "nn.functional", "special")
#: Why a function is refused that no other reason names.
DEFAULT_REASON = (
    "nothing is known of its meaning for ragged dimensions; use values(), or unbind() and the "
    "items one by one"
)
#: Spellings of keyword arguments that handlers need not know.
_SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "self": "input"}


class Table:
    """The meaning of every function for one layout."""

    def __init__(
        self, layout: str, unchanged: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    ) -> None:
        self.layout = layout
        self.apply = unchanged
        self.unchanged: set[str] = set()
        self.special: dict[str, Callable[..., Any]] = {}
        self.delegates: set[str] = set()
        self.reasons: list[tuple[Callable[[str], bool], str]] = []
        self._found: dict[object, tuple[str, object]] = {}

    def implements(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: the function takes the arguments of the functions called ``names`` and does
        their work.

        A name is a path (``Tensor.to``, ``linalg.norm``), or the last part of one in torch,
        torch.Tensor, nn.functional and special.
        """

        def declare(handler: Callable[..., object]) -> Callable[..., Any]:
            for name in names:
                self.special[name] = handler
            return handler

        return declare

    def find(self, func: Any) -> tuple[str, Any]:
        """The kind of ``func``, and its handler or the reason why it is refused."""
        found = self._found.get(func)
        if found is None:
            found = self._found[func] = self._classify(func)
        return found

    def _classify(self, func: OpOverload | Callable[..., object]) -> tuple[str, object]:
        path = overrides.resolve_name(func)
        if path is None:
            own = f"{func.__module__}.{func.__name__}".removeprefix("j").removeprefix("torch.")
            if own in self.special:
                return SPECIAL, self.special[own]
            # a function that torch does not know: its body is made of functions that it does
            return DELEGATES, None
        path = path.removeprefix("torch.")
        space, _, name = (
            path.removesuffix(".__get__")
            .removesuffix(".__set__")
            .removesuffix(".__delete__")
            .rpartition(".")
        )
        name += path[len(space) + bool(space) + len(name) :]
        if space.startswith("aten."):  # an overload, which takes its function's arguments
            space, name = "", space.removeprefix("aten.")
        keys = (path, name) if space in _ALIKE else (path,)
        for key in keys:
            if key in self.special:
                return SPECIAL, self.special[key]
            if key in self.unchanged:
                return UNCHANGED, None
            if key in self.delegates:
                return DELEGATES, None
        copied = name.removesuffix("_copy")
        if copied != name and copied in self.special:
            return SPECIAL, _copying(self.special[copied])
        if space == "nn.init" or space.startswith(("autograd", "nested")):
            return DELEGATES, None
        return REFUSED, next(
            (reason for applies, reason in self.reasons if applies(path)), DEFAULT_REASON
        )

    def answer(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of ``func(*args, **kwargs)``."""
        kind, handler = self.find(func)
        if kind == UNCHANGED:
            return self.apply(func, args, kwargs)
        if kind == SPECIAL:
            return handler(*args, **_respelled(func, kwargs))
        if kind == DELEGATES:
            return overrides.redispatch_function(func, types, args, kwargs)
        raise not_offered(
            f"{overrides.resolve_name(func)} of nested tensors with the {self.layout} layout",
            handler,
        )

    def coverage(self) -> dict[str, Any]:
        """All overridable functions by kind: sets, and for the refused ones a dict to the
        reasons."""
        found: dict[str, Any] = {UNCHANGED: set(), SPECIAL: set(), DELEGATES: set(), REFUSED: {}}
        for functions in overrides.get_overridable_functions().values():
            for func in functions:
                kind, reason = self.find(func)
                if kind == REFUSED:
                    found[kind][func] = reason
                else:
                    found[kind].add(func)
        return found


def _copying(view: Function) -> Callable[..., object]:
    """What returns copies of the views that ``view`` returns."""

    def copies(*args: object, **kwargs: object) -> object:
        found = view(*args, **kwargs)
        return (
            type(found)([x.clone() for x in found])
            if isinstance(found, (tuple, list))
            else found.clone()
        )

    return copies


def _respelled(func: Callable[..., object], kwargs: dict[str, object]) -> dict[str, object]:
    """Keyword arguments under the names that handlers use.

    Raises:
        NotImplementedError: for ``out=``.
    """
    if not kwargs:
        return kwargs
    if kwargs.get("out") is not None:
        raise not_offered(
            f"{overrides.resolve_name(func)}(out=...) of nested tensors",
            "their results are new structures",
        )
    return {_SPELLINGS.get(name, name): value for name, value in kwargs.items() if name != "out"}
