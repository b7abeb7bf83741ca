"""Notes that nodes made in a block are to carry."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._src.refusals import stand_ins as _refusals
from ._compatibility import compatibility as compatibility

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

    return [current_meta["stack_trace"]] if "stack_trace" in current_meta else traceback.format_list(traceback.extract_stack()[:-1])


__getattr__ = _refusals.missing(__name__)
