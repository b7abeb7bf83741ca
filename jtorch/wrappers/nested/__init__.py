"""Nested tensors: batches of tensors of different sizes, as users of the override protocol.

A nested tensor is a Tensor subclass that holds a plain tensor with the data of all items, and
answers each function in its ``__torch_function__`` with public functions of that tensor, so that
autograd, deferral and devices work as they do for any program. ``COVERAGE`` says how each
overridable function is answered by the jagged layout, ``STRIDED_COVERAGE`` by the strided one.
"""

from __future__ import annotations

from typing import Any

from . import (  # noqa: F401  (they fill the tables)
    attention,
    indexing,
    jagged,
    losses,
    metadata,
    normalizing,
    products,
    reductions,
    strided,
    strided_functions,
    strided_kernels,
    trees,
    views,
)
from .constructing import as_nested_tensor as as_nested_tensor
from .constructing import masked_select as masked_select
from .constructing import narrow as narrow
from .constructing import nested_tensor as nested_tensor
from .constructing import nested_tensor_from_jagged as nested_tensor_from_jagged
from .constructing import to_padded_tensor as to_padded_tensor
from .ragged import NestedInt as NestedInt
from .strided import StridedNestedTensor as StridedNestedTensor
from .tensor import NestedTensor as NestedTensor


def __getattr__(name: str) -> Any:
    if name in ("COVERAGE", "STRIDED_COVERAGE"):
        found = (jagged if name == "COVERAGE" else strided).TABLE.coverage()
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
