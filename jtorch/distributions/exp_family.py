"""Exponential families."""

from __future__ import annotations

import jtorch as torch
from jtorch import Tensor

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with densities ``exp(<t(x), natural parameters> - log normalizer(natural
    parameters) + carrier measure(x))``."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: object) -> Tensor:
        """The log normaliser, a function of the natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """The mean of the carrier measure."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """From the log normaliser and its gradient, which is the mean of the sufficient
        statistics."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = torch.autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for p, g in zip(parameters, gradients, strict=True):
            result = result - (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
