"""The old ``size_average``/``reduce`` arguments of losses, translated into ``reduction``."""

from __future__ import annotations

import warnings

from .._src.facts.warned_once import outside


def get_enum(reduction: str) -> int:
    """The number ATen uses for a reduction: none 0, mean 1, sum 2."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=outside(),
        )
        return 1
    numbers = {"none": 0, "mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The ``reduction`` that ``size_average`` and ``reduce`` (None: True) stand for."""
    if reduce is not None and not reduce:
        found = "none"
    else:
        found = "sum" if size_average is not None and not size_average else "mean"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' "
            "instead.",
            stacklevel=outside(),
        )
    return found


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """``get_enum`` of what ``legacy_get_string`` finds."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
