"""The base of all distributions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Self

import jtorch as torch
from jtorch import Tensor

from .._src.facts.warned_once import outside
from . import constraints
from .constraints import Constraint
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them.

    Args:
        batch_shape: the shape over which parameters are batched.
        event_shape: the shape of one sample.
        validate_args: whether to check parameters here and values in ``log_prob``, ``cdf`` and the
            like; by default as ``set_default_validate_args`` says.

    Raises:
        ValueError: if a parameter violates its constraint.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions validate where they are not told: on by default, off under
        ``python -O``."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: torch.Size = torch.Size(),
        event_shape: torch.Size = torch.Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints "
                "= {}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=outside(),
            )
            return
        checked = []
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it would be computed from another parameter, which is checked
            value = getattr(self, name)
            checked.append((name, value, constraint, torch._is_all_true(constraint.check(value))))
        flags = [valid for *_, valid in checked if not constraints._traced(valid)]
        # Read once: reading waits for what is pending.
        if not flags or constraints._holds(torch.stack(flags) if len(flags) > 1 else flags[0]):
            return
        for name, value, constraint, valid in checked:
            if not constraints._holds(valid):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n"
                    f"{value}"
                )

    # ---- shapes ----------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> torch.Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> torch.Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = torch.Size()) -> torch.Size:
        """The shape of what ``sample(sample_shape)`` gives."""
        if not isinstance(sample_shape, torch.Size):
            sample_shape = torch.Size(sample_shape)
        return torch.Size(sample_shape + self._batch_shape + self._event_shape)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        """The same distribution with its batch expanded to ``batch_shape``; parameters are views,
        nothing is checked anew.

        Args:
            _instance: for classes that derive from one with parameters: the object to fill in.
        """
        raise NotImplementedError

    def _get_checked_instance(self, cls: Any, _instance: object = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(
        self, cls: object, batch_shape: Iterable[object], _instance: object, **ranks: int
    ) -> Any:
        """What ``expand`` of ``cls`` returns: a copy whose attributes named here, those that were
        set, are expanded.

        Args:
            ranks: for each attribute, how many of its last dimensions belong to an event and stay.
        """
        new = self._get_checked_instance(cls, _instance)
        batch_shape = torch.Size(batch_shape)
        for name, rank in ranks.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(batch_shape + value.shape[value.dim() - rank :])
        return self._finished(cls, new, batch_shape)

    def _finished(self, cls: Any, new: Distribution, batch_shape: torch.Size) -> Any:
        """Ends an ``expand``: initialises what comes above ``cls`` in ``new``, without checks, and
        takes over the setting for later."""
        super(cls, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    # ---- what a distribution has -----------------------------------------------------------------

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraints that parameters must satisfy, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Constraint:
        """The region in which samples lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The mode."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Samples, ``sample_shape`` many for each distribution of the batch; without gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Samples with gradients to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``n`` samples. Use ``sample((n,))`` instead."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(torch.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or of the probability at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of numbers up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number up to which lies the probability ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension; ``expand`` repeats
        them for the whole batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, one for each distribution of the batch."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    # ---- validation and text ---------------------------------------------------------------------

    def _validate_sample(self, value: Tensor) -> None:
        """Checks a value whose probability is asked for.

        Raises:
            ValueError: if it is no tensor, its shape does not fit, or it lies outside of the
                support.
        """
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event = value.size(), self._event_shape
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {event}."
            )
        expected = self._batch_shape + event
        for given, wanted in zip(reversed(shape), reversed(expected), strict=False):
            if given != 1 and wanted != 1 and given != wanted:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {shape} vs "
                    f"{expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=outside(),
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not constraints._holds(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                "invalid values:\n"
                f"{value}"
            )

    def __repr__(self) -> str:
        given = {
            name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__
        }
        shown = ", ".join(
            (
                f"{name}: "
                f"{value if value.numel() == 1 and not constraints._traced(value) else value.size()}"  # noqa: E501
            )
            for name, value in given.items()
        )
        return f"{self.__class__.__name__}({shown})"
