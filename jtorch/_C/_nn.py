"""What modules reach for in ``torch._C._nn``: how ``Module.to`` reads its arguments, and functions
under their low-level names."""

from __future__ import annotations

from typing import Any

from .. import ops as _ops
from .._src.aten.schema import texts_of
from .._src.protocol.withheld import known_signature
from ..core import Tensor as _Tensor
from ..nn import functional as _functional
from ..nn.modules._moving import _parse_to as _parse_to

log_sigmoid = _functional.logsigmoid


def gelu_(input: _Tensor, *, approximate: str = "none") -> object:
    """``nn.functional.gelu`` in place."""
    return input.copy_(_functional.gelu(input, approximate=approximate))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    found = getattr(_functional, name, None)
    if found is None or not _takes_the_same(name, found):
        found = getattr(_ops.aten, name, None) if texts_of(name) else found
    if found is None:
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    return found


def _takes_the_same(name: str, function: Any) -> bool:
    """Whether a function takes and gives what the operator of its name does: some have a reduction
    by name, or give places if asked."""
    if not texts_of(name):
        return True
    mine = list(known_signature(function).parameters)
    theirs = [a.name for a in getattr(_ops.aten, name).default._schema.arguments]
    same = mine[1 : len(theirs)] == theirs[1:] and "reduction" not in theirs
    return same and ("return_indices" not in mine or "return_indices" in theirs)
