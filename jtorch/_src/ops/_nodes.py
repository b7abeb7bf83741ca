"""What a declaration says of the name of its node in a graph where that depends on how it was
called, and the rules that several ops share.

Most names are the operation's in capitals. Where torch has several derivatives for one function
they are numbered; functions that torch composes of others carry the name of the last of them,
although they are one node here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...autograd.tape import Node


class Made:
    """The call that a node records: what was given for its parameters, the avals of its operands,
    and which of these require grad."""

    def __init__(self, node: Node) -> None:
        info = node.call.extra
        self.layout: dict[str, Any] = {
            p.name: entry for p, entry in zip(info.op.params, info.layout, strict=False)
        }
        self.avals = node.avals
        self.needs = [e is not None for e in node.edges]

    def given(self, name: str) -> Any:
        """A fixed argument's value, ``"T"`` for a tensor, None where nothing was given."""
        entry = self.layout.get(name)
        return getattr(entry, "value", entry)

    def is_tensor(self, name: str) -> bool:
        """Whether a tensor was given."""
        return self.layout.get(name) == "T"

    @property
    def is_complex(self) -> bool:
        """Whether the first operand is complex."""
        return self.avals[0].torch_dtype.is_complex

    @property
    def ndims(self) -> list[int]:
        """The number of dimensions of each operand."""
        return [v.ndim for v in self.avals]


Rule = Callable[[Made], str]


def along(name: str) -> Rule:
    """A reduction: another derivative where dimensions are given."""
    return lambda made: f"{name}Backward{0 if made.given('dim') is None else 1}"


def by_operand(name: str, argument: str, tensor: int, number: int) -> Rule:
    """``name`` with one number if ``argument`` is a tensor, another if it is a Python number."""
    return lambda made: f"{name}Backward{tensor if made.is_tensor(argument) else number}"


def by_numbers(name: str) -> Rule:
    """``name`` with 0 for two tensors, 1 where ``input`` is a number, and 2 where ``other`` is."""
    return lambda made: (
        f"{name}Backward{2 if not made.is_tensor('other') else 0 if made.is_tensor('input') else 1}"
    )


def by_weight(plain: str | Rule, mean: str = "DivBackward0") -> Rule:
    """The name of a loss: where there is a weight for each element, that of the weighted
    reduction."""
    ends = {"mean": mean, "sum": "SumBackward0", "none": "MulBackward0"}

    def name(made: Made) -> str:
        if made.is_tensor("weight"):
            return ends[str(made.given("reduction") or "mean")]
        return plain if isinstance(plain, str) else plain(made)

    return name


def by_reduction(none: str | Rule) -> Rule:
    """The name of a loss: that of its reduction."""
    ends = {"mean": "MeanBackward0", "sum": "SumBackward0", "batchmean": "DivBackward0"}
    return lambda made: (
        ends.get(str(made.given("reduction") or "mean"))
        or (none if isinstance(none, str) else none(made))
    )
