"""Masked tensors: reductions that leave elements out, and a tensor type whose elements can be
absent."""

from __future__ import annotations

from typing import Any

from .functions import amax as amax
from .functions import amin as amin
from .functions import argmax as argmax
from .functions import argmin as argmin
from .functions import cumprod as cumprod
from .functions import cumsum as cumsum
from .functions import log_softmax as log_softmax
from .functions import logaddexp as logaddexp
from .functions import logsumexp as logsumexp
from .functions import mean as mean
from .functions import median as median
from .functions import norm as norm
from .functions import normalize as normalize
from .functions import prod as prod
from .functions import softmax as softmax
from .functions import softmin as softmin
from .functions import std as std
from .functions import sum as sum  # noqa: A004  (torch's name)
from .functions import var as var
from .sparse import SparseMasked as SparseMasked
from .tensor import MaskedTensor as MaskedTensor
from .tensor import as_masked_tensor as as_masked_tensor
from .tensor import is_masked_tensor as is_masked_tensor
from .tensor import masked_tensor as masked_tensor


def __getattr__(name: str) -> Any:
    """``COVERAGE``: made when first asked for, since all namespaces must be there."""
    if name == "COVERAGE":
        from .handlers import coverage

        return coverage()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
