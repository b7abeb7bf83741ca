"""What makes masked tensors."""

from ...wrappers.masked import as_masked_tensor as as_masked_tensor
from ...wrappers.masked import masked_tensor as masked_tensor

__all__ = ["as_masked_tensor", "masked_tensor"]
