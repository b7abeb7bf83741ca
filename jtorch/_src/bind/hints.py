"""The annotations that functions which PyTorch writes in Python have there, read from their
declarations.

PyTorch's are objects, and say of sizes that may be a number nothing (None, or its type where the
default is None), as its compiler of scripts wanted it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ...core import Tensor
from ..facts import dtypes
from ..ops._declare import OPS
from .cores import COMPOSITES, Composite

_PLAIN: dict[str, Any] = {
    "Array": Tensor, "Tensor": Tensor, "Number": float, "float": float, "int": int, "bool": bool,
    "str": str, "None": None, "Dtype": dtypes.dtype, "tuple[int, ...]": list[int],
    "tuple[float, ...]": list[float], "list[Array]": list[Tensor], "list[Tensor]": list[Tensor],
    "tuple[Array, Array]": tuple[Tensor, Tensor], "tuple[Tensor, Tensor]": tuple[Tensor, Tensor],
    "tuple[Tensor, Tensor | None]": tuple[Tensor, Tensor | None],
}  # fmt: skip


@functools.cache
def meant(annotation: str) -> Any:
    """The object that PyTorch has for a declaration's annotation; Any where that says nothing."""
    text = annotation.replace("int | None, ...", "int, ...")
    parts = [text] if text in _PLAIN else text.split(" | ")
    if any(p not in _PLAIN for p in parts):
        return Any
    if "int" in parts and "tuple[int, ...]" in parts:
        return None
    found = _PLAIN[parts[0]]
    for part in parts[1:]:
        if part not in ("float", "Number") or found is not float:
            found = found | _PLAIN[part]
    return found


def hinted(path: str, signature: inspect.Signature) -> inspect.Signature | None:
    """The signature of ``torch.<path>`` with PyTorch's annotations; None where PyTorch has the
    function in C++, or it is not declared."""
    record = OPS.get(path) or _composites().get(path)
    if record is None or record.is_native(path):
        return None
    if isinstance(record, Composite):
        declared = {n: p.annotation for n, p in signature.parameters.items()}
        result, tensors = signature.return_annotation, set(record.operands)
    else:
        declared = {p.name: p.annotation for p in record.params}
        result = record.body.__annotations__.get("return", "Array")
        tensors = set()
    params = []
    for n, p in signature.parameters.items():
        kind = declared.get(n)
        hint = kind if isinstance(kind, type) else meant(kind) if isinstance(kind, str) else Any
        if hint is None and p.default is None:
            hint = type(None)
        if hint is Any and n in tensors:
            hint = Tensor if p.default is not None else Tensor | None
        params.append(inspect.Parameter(n, p.kind, default=p.default, annotation=hint))
    given = meant(result) if isinstance(result, str) else Tensor
    return inspect.Signature(params, return_annotation=Tensor if given is Any else given)


@functools.cache
def _composites() -> dict[str, Composite]:
    return {c.path: c for c in COMPOSITES}
