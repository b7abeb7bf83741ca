"""Kullback-Leibler divergences: those of pairs of distributions, and the table in which others are
entered."""

from __future__ import annotations

from . import _kl_mixed as _kl_mixed
from . import _kl_same as _kl_same
from ._kl_same import *  # noqa: F403
from ._kl_table import _KL_MEMOIZE as _KL_MEMOIZE
from ._kl_table import _KL_REGISTRY as _KL_REGISTRY
from ._kl_table import _batch_trace_XXT as _batch_trace_XXT
from ._kl_table import _dispatch_kl as _dispatch_kl
from ._kl_table import _infinite_like as _infinite_like
from ._kl_table import _Match as _Match
from ._kl_table import _x_log_x as _x_log_x
from ._kl_table import kl_divergence as kl_divergence
from ._kl_table import register_kl as register_kl

__all__ = ["register_kl", "kl_divergence"]
