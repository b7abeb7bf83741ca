"""``torch.masked``: reductions and normalisations under a mask, and ``MaskedTensor``."""

from __future__ import annotations

from collections.abc import Callable

import jtorch as torch

from .._src.refusals import stand_ins as _refusals
from ..wrappers.masked import MaskedTensor as MaskedTensor
from ..wrappers.masked import amax as amax
from ..wrappers.masked import amin as amin
from ..wrappers.masked import argmax as argmax
from ..wrappers.masked import argmin as argmin
from ..wrappers.masked import as_masked_tensor as as_masked_tensor
from ..wrappers.masked import cumprod as cumprod
from ..wrappers.masked import cumsum as cumsum
from ..wrappers.masked import is_masked_tensor as is_masked_tensor
from ..wrappers.masked import log_softmax as log_softmax
from ..wrappers.masked import logaddexp as logaddexp
from ..wrappers.masked import logsumexp as logsumexp
from ..wrappers.masked import masked_tensor as masked_tensor
from ..wrappers.masked import mean as mean
from ..wrappers.masked import median as median
from ..wrappers.masked import norm as norm
from ..wrappers.masked import normalize as normalize
from ..wrappers.masked import prod as prod
from ..wrappers.masked import softmax as softmax
from ..wrappers.masked import softmin as softmin
from ..wrappers.masked import std as std
from ..wrappers.masked import sum as sum  # noqa: A004  (torch's name)
from ..wrappers.masked import var as var
from ..wrappers.masked.masks import canonical_dim as _canonical_dim
from ..wrappers.masked.masks import filled as _filled
from ..wrappers.masked.masks import identity as _reduction_identity
from ..wrappers.masked.masks import input_mask as _input_mask
from ..wrappers.masked.masks import output_mask as _output_mask
from ..wrappers.masked.masks import where as _where

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "MaskedTensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
# names that libraries import from here
_HELPERS = (_canonical_dim, _input_mask, _output_mask, _reduction_identity, _where)


def _combine_input_and_mask(
    op: Callable[..., object], input: torch.Tensor, mask: torch.Tensor | None, *args: object
) -> torch.Tensor:
    """``input`` with absent elements replaced by what changes nothing in ``op``."""
    if is_masked_tensor(input):
        input, mask = input.get_data(), input.get_mask()
    return _filled(op.__name__, input, mask, *args)


__getattr__ = _refusals.missing(__name__)
