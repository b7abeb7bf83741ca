"""What a backward pass works on: values, or pairs of a value and its history where derivatives are
recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._src.engine import Laid, Value, record
from .._src.ops._declare import OPS
from .._src.ops._kernel import T, call_of
from ..core import Tensor, from_value
from .tape import tracked

if TYPE_CHECKING:
    from .._src.facts.kinds import Tree


def _call(name: str, operands: int) -> Any:
    return call_of(OPS[f"_C.{name}"], (T,) * operands)


def _add_values(a: Value, b: Value) -> Value:
    """The sum of two gradients."""
    return record(_call("_accumulate", 2), (a, b))


def _add_pairs(a: tuple[Value, object], b: tuple[Value, object]) -> tuple[object, ...]:
    """The sum of two gradients with their histories."""
    return tracked(_call("_accumulate", 2), [a, b])[0]


def _tensor(pair: Tree, create_graph: bool) -> Tensor:
    """A gradient as a tensor, with its history if derivatives are recorded."""
    if isinstance(pair, Tensor):  # a walk on tensors
        return pair
    if not create_graph:
        return pair.tensor if isinstance(pair, Laid) else from_value(pair)
    v, edge = pair
    if isinstance(v, Laid):
        return v.tensor
    t = from_value(v)
    if type(edge) is tuple:
        t._node, t._nr, t._rg = edge[0], edge[1], True
    # the value of a leaf itself: it needs a node of its own to be another tensor
    elif edge is not None:
        t = _alias_node(v, edge)
    return t


def _alias_node(v: Value, edge: tuple[object, ...] | Tensor) -> Tensor:
    """A value of a history as another tensor, with a node of its own."""
    copied = tracked(call_of(OPS["clone"], (T,)), [(v, edge)])[0]
    t = from_value(copied[0])
    t._node, t._nr, t._rg = copied[1][0], copied[1][1], True
    return t


def _item(grad: Tensor, create_graph: bool) -> Tree:
    """What the task works on: a value, or a (value, edge) pair when the derivative is recorded."""
    v = grad._v or grad._read()
    return (v, grad._edge()) if create_graph else v
