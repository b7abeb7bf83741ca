"""Overloads with numbers in front, such as ``add(input, alpha, other)``, that PyTorch still takes and warns of, once in a process.

Asked only after a call has failed.
"""

from __future__ import annotations

import warnings
from typing import Any

from .argument_errors import MISSING_DEFAULT, Parameter, Signature, signatures
from .core import Tensor
from .warned_once import outside, state

#: Each function's parameters in the order of its deprecated overloads.
_ORDERS = {
    "add": ("input alpha other",),
    "sub": ("input alpha other",),
    "addcmul": ("input value tensor1 tensor2",),
    "addcdiv": ("input value tensor1 tensor2",),
    "addmm": ("beta input alpha mat1 mat2", "beta input mat1 mat2"),
    "addmv": ("beta input alpha mat vec", "beta input mat vec"),
    "addr": ("beta input alpha vec1 vec2", "beta input vec1 vec2"),
    "addbmm": ("beta input alpha batch1 batch2", "beta input batch1 batch2"),
    "baddbmm": ("beta input alpha batch1 batch2", "beta input batch1 batch2"),
}
_NUMBERS = frozenset(("alpha", "beta", "value"))
_warned = False


def rearranged(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of ``torch.<path>`` in today's order, if they fit a deprecated overload; None if they do not."""
    prefix, _, name = path.rpartition(".")
    method = prefix == "Tensor"
    for order in _ORDERS[name.rstrip("_")]:
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


def _fits(parameter: str, value: Any, name: str) -> bool:
    number = isinstance(value, (bool, int, float, complex))
    return number if parameter in _NUMBERS else isinstance(value, Tensor) or (number and name in ("add", "sub") and parameter == "other")


def _warn(name: str, names: list[str], method: bool) -> None:
    global _warned
    if _warned and not state["always"]:
        return
    _warned = True
    parameters = [Parameter(n, "Scalar" if n in _NUMBERS else "Tensor", False, MISSING_DEFAULT) for n in names]
    if not method:
        parameters.append(Parameter("out", "Tensor?", True, None))
    lines = [f"This overload of {name} is deprecated:", f"\t{name}{Signature(parameters).text()}"]
    lines.append("Consider using one of the following signatures instead:")
    lines += [f"\t{name}{s.text()}" for s in signatures(name, method, not method)]
    warnings.warn("\n".join(lines), UserWarning, stacklevel=outside())
