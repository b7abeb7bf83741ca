"""Overloads with numbers in front, such as ``add(input, alpha, other)``, that PyTorch still takes
and warns of, once in a process.

Asked only after a call has failed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core import Tensor
from ..facts.warned_once import outside, state
from .argument_errors import MISSING_DEFAULT, Parameter, Signature, numbers_may_stand, signatures

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Keywords


_NUMBERS = frozenset(("alpha", "beta", "value"))
_warned = False


def rearranged(
    path: str, orders: Sequence[str], args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[Arguments, Keywords] | None:
    """The arguments of ``torch.<path>`` in today's order, if they fit a deprecated overload, whose
    ``orders`` there are; None if not."""
    prefix, _, name = path.rpartition(".")
    method = prefix == "Tensor"
    for order in orders:
        names = order.split()
        if method:  # the tensor stands in front
            names.remove("input")
            names.insert(0, "input")
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or kwargs.keys() & given.keys():
            continue
        given.update(kwargs)
        out = given.pop("out", None)
        if given.keys() != set(names) or (out is not None and method):
            continue
        if all(_fits(n, x, name) for n, x in given.items()):
            _warn(name, names[1:] if method else names, method)
            options = {n: given.pop(n) for n in names if n in _NUMBERS}
            if out is not None:
                options["out"] = out
            return tuple([given[n] for n in names if n in given]), options
    return None


def _fits(parameter: str, value: object, name: str) -> bool:
    number = isinstance(value, (bool, int, float, complex))
    if parameter in _NUMBERS:
        return number or (isinstance(value, Tensor) and not value.dim() and not value.requires_grad)
    return isinstance(value, Tensor) or (
        number and parameter in ("input", "other") and numbers_may_stand(name)
    )


def _warn(name: str, names: list[str], method: bool) -> None:
    global _warned
    if _warned and not state["always"]:
        return
    _warned = True
    parameters = [
        Parameter(n, "Scalar" if n in _NUMBERS else "Tensor", False, MISSING_DEFAULT) for n in names
    ]
    if not method:
        parameters.append(Parameter("out", "Tensor?", True, None))
    lines = [f"This overload of {name} is deprecated:", f"\t{name}{Signature(parameters).text()}"]
    lines.append("Consider using one of the following signatures instead:")
    lines += [f"\t{name}{s.text()}" for s in signatures(name, method, not method)]
    warnings.warn("\n".join(lines), UserWarning, stacklevel=outside())
