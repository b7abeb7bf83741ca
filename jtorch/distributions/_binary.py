"""What distributions share that are described by probabilities or by their log odds."""

from __future__ import annotations

from typing import TypeVar

import jtorch as torch
from jtorch import Tensor

from .distribution import Distribution
from .utils import _batch_of, broadcast_all, lazy_property, logits_to_probs, probs_to_logits

_P = TypeVar("_P")


def one_of(probs: _P | None, logits: _P | None) -> _P:
    """The one that is given; refuses both and neither.

    Raises:
        ValueError: unless exactly one is given.
    """
    if logits is None and probs is not None:
        return probs
    if logits is not None and probs is None:
        return logits
    raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Binary(Distribution):
    """A distribution with ``probs`` or ``logits``: the one that was not given is computed when it
    is asked for."""

    _param: Tensor

    def _set_parameter(self, probs: object, logits: object) -> torch.Size:
        """Keeps the one that is given as a tensor; returns the batch shape."""
        one_of(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            self._param = self.probs
        else:
            (self.logits,) = broadcast_all(logits)
            self._param = self.logits
        return _batch_of(self._param, logits if probs is None else probs)

    def _set_with_count(self, total_count: object, probs: object, logits: object) -> torch.Size:
        """The same with a number of trials that is broadcast with it."""
        one_of(probs, logits)
        if probs is not None:
            total_count, self.probs = broadcast_all(total_count, probs)
            self._param = self.probs
        else:
            total_count, self.logits = broadcast_all(total_count, logits)
            self._param = self.logits
        self.total_count = total_count.type_as(self._param)
        return self._param.size()

    def _new(self, *args: object, **kwargs: object) -> Tensor:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> torch.Size:
        """The shape of the parameter."""
        return self._param.size()

    def _counting(self, n: int, expand: bool) -> Tensor:
        """The numbers below ``n`` along a new first dimension."""
        values = torch.arange(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
