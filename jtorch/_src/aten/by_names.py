"""Functions whose Python form says in words what their operator is told otherwise, as both
signatures show.

``inplace=True`` is another operator, ``reduction="sum"`` a number. Both ways: how such a function
calls its operator, and how the function computes it. And which operators are each other's
derivatives, as their names say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..bind.everything import PUBLIC
from ..protocol.withheld import known_signature
from .overloads import OpOverload, OpOverloadPacket, aten

if TYPE_CHECKING:
    from ..facts.kinds import Operand


#: The reductions of losses; an operator is told one by its place.
REDUCTIONS = ("none", "mean", "sum")


def reduction_of(size_average: object, reduce: object, reduction: str) -> int:
    """The number of a reduction, which may be told by the older parameters.

    Raises:
        ValueError: if there is none of that name.
    """
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return REDUCTIONS.index(reduction)


def _in_words(parameters: dict[str, inspect.Parameter]) -> bool:
    return "reduction" in parameters and isinstance(parameters["reduction"].default, str)


def from_python(path: str, packet: OpOverloadPacket) -> Callable[..., object] | None:
    """How a public function calls its operator; None where it has the operator's own parameters.

    What is made gives ``NotImplemented`` where the function does more than its operator: it
    broadcasts the operands of a loss.
    """
    parameters = dict(known_signature(PUBLIC[path]).parameters) if path in PUBLIC else {}
    worded = _in_words(parameters)
    if not parameters.keys() & {"reduction", "inplace"} or "default" not in packet.overloads():
        return None
    overload, schema = packet.default, packet.default._schema
    places = schema.places
    names = [name if name in places or name != "input" else "self" for name in parameters]
    more = {
        name: p.default for name, p in parameters.items() if name not in places and name != "input"
    }
    if more.keys() - {"inplace", "size_average", "reduce", "weight"}:
        return None
    others = {}  # defaults of its own: numbers of another type, too, which its operator is shown
    for name, p in zip(names, parameters.values(), strict=True):
        if name in places and p.default is not p.empty and not (name == "reduction" and worded):
            theirs = schema.arguments[places[name]].default_value
            if type(theirs) is not type(p.default) or theirs != p.default:
                others[name] = p.default
    written = getattr(aten, f"{packet.__name__}_", None) if "inplace" in parameters else None

    def run(*args: Any, **kwargs: Any) -> Any:
        given = {**others, **dict(zip(names, args, strict=False)), **kwargs}
        if "input" in given and "self" in places:
            given["self"] = given.pop("input")
        extra = {name: given.pop(name, default) for name, default in more.items()}
        if extra.pop("inplace", False):
            return NotImplemented if written is None else written.default(**given)
        if worded:
            given["reduction"] = reduction_of(
                extra.pop("size_average", None),
                extra.pop("reduce", None),
                given.get("reduction", "mean"),
            )
            pair = given.get("self", given.get("input")), given.get("target")
            if None not in pair and pair[0]._aval.shape != pair[1]._aval.shape:
                return NotImplemented
        if any(x is not None for x in extra.values()):
            return NotImplemented
        return overload(**given)

    return run


def through_python(
    func: OpOverload, public: Callable[..., object]
) -> Callable[[list[Any]], Any] | None:
    """How a public function computes its operator, a loss; None for others. Parameters have the
    same names, and may have other defaults."""
    schema = func._schema
    if "reduction" not in schema.places:
        return None
    parameters = dict(known_signature(public).parameters)
    first = next(iter(parameters))
    names = [first if a.name == "self" else a.name for a in schema.arguments]
    if not parameters.keys() >= set(names):
        return None
    worded, at = _in_words(parameters), schema.places["reduction"]

    def run(values: list[Operand]) -> Any:
        given = dict(zip(names, values, strict=True))
        if worded:
            given["reduction"] = REDUCTIONS[values[at]]
        return public(**given)

    return run


def differentiated_by(func: OpOverload) -> OpOverload | None:
    """The operator of which another one, ``x_backward`` with the gradient and the parameters of
    ``x``, gives the gradient of ``self``."""
    name, schema = func._opname.removesuffix("_backward"), func._schema
    packet = getattr(aten, name, None)
    if (
        name == func._opname
        or not isinstance(packet, OpOverloadPacket)
        or "default" not in packet.overloads()
    ):
        return None
    first, *rest = [a.name for a in schema.arguments]
    forward = packet.default._schema
    if (
        not first.startswith("grad")
        or set(rest) != set(forward.places)
        or "self" not in rest
        or len(schema.returns) != 1
    ):
        return None
    return packet.default
