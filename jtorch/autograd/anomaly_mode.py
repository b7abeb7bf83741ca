"""Looking for the operation whose gradient is not a number."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import numpy as np

from . import tape

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]

_state = {"on": False, "nan": True}
_plain: dict[str, Any] = {}


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
        _plain["init"], _plain["apply"] = tape.Node.__init__, tape.Node.apply
        tape.Node.__init__, tape.Node.apply = _remembering, _checking  # type: ignore[method-assign]
    elif not on and _plain:
        tape.Node.__init__, tape.Node.apply = _plain.pop("init"), _plain.pop("apply")  # type: ignore[method-assign]


def _remembering(node: tape.Node, *args: Any) -> None:
    _plain["init"](node, *args)
    node.metadata["traceback_"] = traceback.format_stack()[:-1]


def _checking(node: tape.Node, grads: list[Any]) -> list[Any]:
    found = _plain["apply"](node, grads)
    if _state["nan"]:
        from ..engine import numbers_of

        for j, v in enumerate(found):
            if v is not None and bool(np.isnan(numbers_of(v)).any()):
                stack = node.metadata.get("traceback_")
                if stack:
                    warnings.warn(
                        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(stack)}", stacklevel=2
                    )
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {j}th output.")
    return found


class detect_anomaly:
    """A block in which ``backward`` raises at the first operation that gives nan, and shows where that operation was called.

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
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
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
