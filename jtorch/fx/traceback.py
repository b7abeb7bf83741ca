"""Notes that nodes made in a block are to carry."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._src.refusals import stand_ins as _refusals
from ._compatibility import compatibility as compatibility

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


class NodeSourceAction(enum.Enum):
    """What a pass did to a node."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """A node that another one was made of, by which pass, and where that one came from itself: an
    entry of ``node.meta["from_node"]``.

    Args:
        node: the node; None where there is none.
        pass_name: what made the new one.
        action: what it did: one or several of ``NodeSourceAction``.
    """

    def __init__(
        self,
        node: Any,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        self.pass_name = pass_name
        self.action = [action] if isinstance(action, NodeSourceAction) else list(action or [])
        self.name = "" if node is None else node.name
        self.target = "" if node is None else str(node.target)
        self.graph_id = -1 if node is None else id(node.graph)
        self.from_node: list[NodeSource] = (
            [] if node is None else list(node.meta.get("from_node", []))
        )

    def _get_action_string(self) -> str:
        return "+".join([a.name.lower() for a in self.action])

    def print_readable(self, indent: int = 0) -> str:
        """The node and those it came from, a line each, those further back further to the right."""
        said = (
            f"(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
            f"graph_id={self.graph_id})"
        )
        return f"{' ' * indent}{said}\n" + "".join(
            [source.print_readable(indent + 4) for source in self.from_node]
        )

    __repr__ = __str__ = lambda self: self.print_readable()

    def to_dict(self) -> dict[str, Any]:
        """The same as texts and numbers."""
        return {
            "name": self.name, "target": self.target, "graph_id": self.graph_id,
            "pass_name": self.pass_name, "action": self._get_action_string(),
            "from_node": [source.to_dict() for source in self.from_node],
        }  # fmt: skip

    @classmethod
    def _from_dict(cls, d: Named | None) -> NodeSource | None:
        if d is None:
            return None
        made = cls(None, d["pass_name"], [NodeSourceAction(a) for a in d["action"].split("+") if a])
        made.name, made.target, made.graph_id = d["name"], d["target"], d["graph_id"]
        made.from_node = [
            found for source in d["from_node"] if (found := cls._from_dict(source)) is not None
        ]
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(str(self.to_dict()))


current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A block in which ``has_preserved_node_meta`` is ``enable``."""
    global should_preserve_node_meta
    before, should_preserve_node_meta = should_preserve_node_meta, enable
    saved = current_meta.copy()
    try:
        yield
    finally:
        should_preserve_node_meta = before
        current_meta.clear()
        current_meta.update(saved)


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A block whose notes are in ``get_current_meta()["custom"]``."""
    before = current_meta.get("custom")
    current_meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            current_meta.pop("custom", None)
        else:
            current_meta["custom"] = before


def has_preserved_node_meta() -> bool:
    """Whether nodes keep the notes of those that they come from."""
    return should_preserve_node_meta


def get_current_meta() -> dict[str, Any]:
    """The notes of this block."""
    return current_meta


def set_stack_trace(stack: list[str]) -> None:
    """Notes where the current node comes from."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[dict[str, Any]]:
    """A block with the notes of a node."""
    del pass_name
    saved = current_meta.copy()
    if should_preserve_node_meta and node.meta:
        current_meta.update(node.meta)
    try:
        yield current_meta
    finally:
        current_meta.clear()
        current_meta.update(saved)


def format_stack() -> list[str]:
    """Where the caller is, as lines of text."""
    import traceback

    return (
        [current_meta["stack_trace"]]
        if "stack_trace" in current_meta
        else traceback.format_list(traceback.extract_stack()[:-1])
    )


__getattr__ = _refusals.missing(__name__)
