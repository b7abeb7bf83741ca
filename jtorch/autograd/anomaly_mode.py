"""Looking for the operation whose gradient is not a number."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._src.engine import Transformed, numbers_of
from . import tape
from .function_node import FunctionNode
from .nodes import shown

if TYPE_CHECKING:
    from .._src.engine.values import Value
    from .._src.facts.kinds import Values


__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
]

_state = {"on": False, "nan": True}
#: What the two kinds of nodes do while the checks are off.
_plain: dict[type, tuple[Any, Any, Any]] = {}
#: The nodes whose derivatives are being computed, the innermost last: what they record is induced
#: by them.
_running: list[tape.Node] = []


def is_anomaly_enabled() -> bool:
    """Whether ``backward`` looks for anomalies."""
    return _state["on"]


def is_anomaly_check_nan_enabled() -> bool:
    """Whether it looks for nan."""
    return _state["nan"]


def _set(on: bool, nan: bool) -> None:
    """Turns the checks on or off. While they are off, nodes run the code that they always run."""
    _state["on"], _state["nan"] = on, nan
    if on and not _plain:
        for kind in (tape.Node, FunctionNode):
            _plain[kind] = init, apply, apply_tracked = (
                kind.__init__,
                kind.apply,
                kind.apply_tracked,
            )
            kind.__init__ = _remembering(init)
            kind.apply, kind.apply_tracked = _checking(apply), _checking(apply_tracked)
    elif not on:
        for kind, found in _plain.items():
            kind.__init__, kind.apply, kind.apply_tracked = found
        _plain.clear()


def _remembering(init: Callable[..., None]) -> Callable[..., None]:
    """Nodes keep where they were made, and what they were made by."""

    def made(node: tape.Node, *args: object) -> None:
        init(node, *args)
        node.metadata["traceback_"] = traceback.format_stack()[:-1]
        if _running:
            node.metadata["parent_"] = shown(_running[-1])

    return made


def _checking(apply: Callable[..., Values]) -> Callable[..., Values]:
    """Nodes look for nan in what they give."""

    def checked(node: tape.Node, grads: Sequence[object]) -> Values:
        _running.append(node)
        try:
            found = apply(node, grads)
        except tape.Above:
            raise
        except Exception:
            _tell(node)
            raise
        finally:
            _running.pop()
        if _state["nan"]:
            for j, item in enumerate(found):
                v = item[0] if type(item) is tuple else item
                if v is not None and _has_nan(v):
                    _tell(node)
                    raise RuntimeError(
                        f"Function '{node.name()}' returned nan values in its {j}th output."
                    )
        return found

    return checked


def _has_nan(v: Value) -> bool:
    # of a value with a tangent, that value; of one example, all of them
    while isinstance(v, Transformed):
        v = v.apart()[0][0]
    return bool(np.isnan(numbers_of(v)).any())


def _tell(node: FunctionNode | tape.Node) -> None:
    """Warns where a node, and what induced it, was made. Where warnings are errors they are
    printed, and the error goes on its way."""
    try:
        _warn_of(node)
    except Warning as warning:
        traceback.print_exception(warning)


def _warn_of(node: FunctionNode | tape.Node) -> None:
    stack = node.metadata.get("traceback_")
    if not stack:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information.",
            stacklevel=4,
        )
        return
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
        f"{''.join(stack)}",
        stacklevel=4,
    )
    while (parent := node.metadata.get("parent_")) is not None:
        stack = parent.metadata.get("traceback_")
        if not stack:
            warnings.warn(
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass "
                "information available. Enable detect anomaly during forward pass for more "
                "information.",
                stacklevel=4,
            )
            return
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call "
            "that induced the previous calculation:\n"
            f"{''.join(stack)}",
            stacklevel=4,
        )
        node = parent


class detect_anomaly:
    """A block in which ``backward`` raises at the first operation that gives nan, and shows where
    that operation was called.

    Raises:
        RuntimeError: in ``backward``, at the first nan.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> x = torch.tensor(0.0, requires_grad=True)
        >>> try:
        ...     with warnings.catch_warnings():
        ...         warnings.simplefilter("ignore")
        ...         with torch.autograd.detect_anomaly():
        ...             (x.sqrt() * 0).backward()
        ... except RuntimeError as error:
        ...     print(error)
        Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.previous = dict(_state)
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.previous = dict(_state)
        _set(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _set(self.previous["on"], self.previous["nan"])


class set_detect_anomaly:
    """As ``detect_anomaly``, on or off, at once; a block restores what was before.

    Example:
        >>> import jtorch as torch
        >>> with torch.autograd.set_detect_anomaly(True):
        ...     torch.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.previous = dict(_state)
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(self.previous["on"], self.previous["nan"])
