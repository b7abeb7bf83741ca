"""``MaskedTensor`` under PyTorch's names for its parts."""

from __future__ import annotations

from .binary import _apply_native_binary as _apply_native_binary
from .binary import _is_native_binary as _is_native_binary
from .core import MaskedTensor as MaskedTensor
from .core import is_masked_tensor as is_masked_tensor
from .creation import as_masked_tensor as as_masked_tensor
from .creation import masked_tensor as masked_tensor
from .reductions import _apply_reduction as _apply_reduction
from .reductions import _is_reduction as _is_reduction
from .unary import _apply_native_unary as _apply_native_unary
from .unary import _is_native_unary as _is_native_unary

__all__: list[str] = []
