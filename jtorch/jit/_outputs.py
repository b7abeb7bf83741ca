"""What traced functions may return."""

from __future__ import annotations

import warnings
from typing import Any

import jtorch as torch

_FEW = (
    "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
    "functions"
)
_NUMBERS = (bool, int, float, complex, str, type(None))


def _container(kind: str) -> str:
    return (
        f"Encountering a {kind} at the output of the tracer might cause the trace to be incorrect, "
        "this is only valid if the container structure does not change based on the module's "
        "inputs. Consider using a constant container instead (e.g. for `list`, use a `tuple` "
        "instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know "
        "the side effects, pass strict=False to trace() to allow this behavior."
    )


def _unknown(x: object, why: str) -> RuntimeError:
    return RuntimeError(f"Tracer cannot infer type of {x}\n:{why}")


def check_output(x: Any, strict: bool) -> None:
    """Looks at what a traced function returned.

    Args:
        x: the result.
        strict: whether lists are warned of, and dicts refused.

    Raises:
        RuntimeError: for what is no tensor and no tuple, list or dict of tensors.
    """
    if x is None:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in "
            "traces, so it would be a no-op."
        )
    _look(x, strict)


def _look(x: Any, strict: bool) -> None:
    if isinstance(x, torch.Tensor):
        return
    if isinstance(x, tuple):
        for item in x:
            _look(item, strict)
    elif isinstance(x, list):
        _look_at_list(x, strict)
    elif isinstance(x, dict):
        _look_at_dict(x, strict)
    elif isinstance(x, _NUMBERS):
        raise RuntimeError(_FEW)
    else:
        raise _unknown(
            x,
            "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported "
            "as inputs or outputs of traced functions, but instead got value of type "
            f"{type(x).__name__}.",
        )


def _look_at_list(x: list[Any], strict: bool) -> None:
    if not x:
        raise _unknown(x, "List trace inputs must have elements")
    if not all(isinstance(item, torch.Tensor) for item in x):
        raise RuntimeError(_FEW)
    if strict:
        warnings.warn(_container("list"), torch.jit.TracerWarning, stacklevel=6)


def _look_at_dict(x: dict[Any, Any], strict: bool) -> None:
    if not x:
        raise _unknown(x, "Dictionary inputs must have entries")
    if strict:
        raise RuntimeError(_container("dict"))
    for item in x.values():
        parts = item if isinstance(item, tuple) else (item,)
        if not all(isinstance(part, torch.Tensor) for part in parts):
            raise RuntimeError(
                f"output 1 ({x}) of traced region cannot be understood by the tracer, only outputs "
                "matching dict[Union[str, Tensor], Union[Tensor, Tuple[Tensor, ...]]] can be a "
                "dictionary output of a traced function"
            )
