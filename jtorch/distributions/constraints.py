"""Regions of valid values: what parameters must satisfy, and where samples lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

import jtorch as torch
from jtorch import Tensor

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "half_open_interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_semidefinite",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


def _traced(flags: Tensor) -> bool:
    """Whether JAX traces them, so that they have no values."""
    return type(flags) is Tensor and isinstance(flags._read().array, jax.core.Tracer)


def _holds(flags: Tensor) -> bool:
    """Whether all flags are set. Of those that JAX traces nothing is known that could be
    refused."""
    return _traced(flags) or bool(torch._is_all_true(flags))


class Constraint:
    """A region.

    Attributes:
        is_discrete: whether it consists of separate points.
        event_dim: how many of a value's last dimensions make one point; ``check`` removes them.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Which of the points that ``value`` holds lie in the region."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class _WithBounds(Constraint):
    """A region that is described by bounds, which its ``repr`` shows."""

    def _bounds(self) -> Named:
        return {k: v for k, v in vars(self).items() if k in ("lower_bound", "upper_bound")}

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__[1:]}("
            f"{', '.join(f'{k}={v}' for k, v in self._bounds().items())})"
        )


# ---- regions that depend on parameters -----------------------------------------------------------


class _Dependent(Constraint):
    """Stands for a region that is known only when the parameters are. Its static attributes may be
    given all the same."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """As given.

        Raises:
            NotImplementedError: if it was not.
        """
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        """As given.

        Raises:
            NotImplementedError: if it was not.
        """
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(
        self, *, is_discrete: object = NotImplemented, event_dim: object = NotImplemented
    ) -> _Dependent:
        """The same with static attributes: ``constraints.dependent(is_discrete=True,
        event_dim=1)``."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: object) -> bool:
    """Whether a constraint stands for one that depends on parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives a constraint; on the class it is a dependent constraint itself.

    Examples:
        >>> from jtorch.distributions import Uniform
        >>> Uniform.support.event_dim, Uniform(0.0, 2.0).support
        (0, Interval(lower_bound=0.0, upper_bound=2.0))
    """

    def __init__(
        self,
        fn: Callable[..., object] | None = None,
        *,
        is_discrete: bool | None = NotImplemented,
        event_dim: int | None = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., object]) -> _DependentProperty:
        """As a decorator with static attributes:
        ``@constraints.dependent_property(is_discrete=True, event_dim=1)``."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---- regions made of others ----------------------------------------------------------------------


def _need_constraint(base: _GreaterThan | _Interval | _Real) -> None:
    if not isinstance(base, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base).__name__}")


class _Wrapping(Constraint):
    """A region that takes its attributes from a base."""

    base_constraint: Any

    @property
    def is_discrete(self) -> bool:
        """The base's."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The base's."""
        return self.base_constraint.event_dim


class _IndependentConstraint(_Wrapping):
    """Points whose last ``reinterpreted_batch_ndims`` dimensions all hold points of the base."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        _need_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                "reinterpreted_batch_ndims must be an int, got "
                f"{type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def event_dim(self) -> int:
        """The base's and the reinterpreted ones."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        found, n = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if found.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return found.reshape(found.shape[: found.dim() - n] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__[1:]}({self.base_constraint!r}, "
            f"{self.reinterpreted_batch_ndims})"
        )


class MixtureSameFamilyConstraint(_Wrapping):
    """Where samples of a mixture lie: in the support of all its components, which have one more
    batch dimension."""

    def __init__(self, base_constraint: Any) -> None:
        _need_constraint(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        n = self.event_dim
        found = self.base_constraint.check(value.unsqueeze(-1 - n))
        if value.dim() < n:
            raise ValueError(f"Expected value.dim() >= {n} but got {value.dim()}")
        return found.reshape(found.shape[: value.dim() - n] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Sequence(Constraint):
    """A region with another constraint for each part along a dimension."""

    def __init__(self, cseq: Sequence[Any], dim: int) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether any part is discrete."""
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for value with {value.dim()} dimensions"
            )


class _Cat(_Sequence):
    """Parts of ``lengths`` along ``dim``, as ``torch.cat`` joins them."""

    def __init__(
        self, cseq: Sequence[object], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})"
            )

    @property
    def event_dim(self) -> int:
        """The largest of the parts'."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        start, found = 0, []
        for c, length in zip(self.cseq, self.lengths, strict=True):
            found.append(c.check(value.narrow(self.dim, start, length)))
            start += length
        return torch.cat(found, self.dim)


class _Stack(_Sequence):
    """Parts along ``dim``, as ``torch.stack`` joins them."""

    def __init__(self, cseq: Sequence[object], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        """The largest of the parts', and one more if they are joined inside of it."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return torch.stack([c.check(v) for v, c in zip(parts, self.cseq, strict=False)], self.dim)


# ---- numbers -------------------------------------------------------------------------------------


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _IntegerInterval(_WithBounds):
    """The integers from ``lower_bound`` to ``upper_bound``."""

    is_discrete = True

    def __init__(self, lower_bound: Tensor | float, upper_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_WithBounds):
    """The integers up to ``upper_bound``."""

    is_discrete = True

    def __init__(self, upper_bound: Tensor | float) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_WithBounds):
    """The integers from ``lower_bound`` on."""

    is_discrete = True

    def __init__(self, lower_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers, infinities too, but not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_WithBounds):
    """Numbers above ``lower_bound``."""

    def __init__(self, lower_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_WithBounds):
    """Numbers from ``lower_bound`` on."""

    def __init__(self, lower_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_WithBounds):
    """Numbers below ``upper_bound``."""

    def __init__(self, upper_bound: Tensor | float) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_WithBounds):
    """Numbers from ``lower_bound`` to ``upper_bound``, both included."""

    def __init__(self, lower_bound: Tensor | float, upper_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_WithBounds):
    """Numbers from ``lower_bound`` to below ``upper_bound``."""

    def __init__(self, lower_bound: Tensor | float, upper_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


# ---- vectors -------------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors of one 1 and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of non-negative numbers whose sum is 1, within 1e-6."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of non-negative numbers whose sum is at most ``upper_bound``."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Tensor | float) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


# ---- matrices ------------------------------------------------------------------------------------


class _LowerTriangular(Constraint):
    """Square matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal and rows of length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = 10 * value.size(-1) * torch.finfo(value.dtype).eps
        lengths: Tensor = torch.linalg.norm(value.detach(), dim=-1)
        return _LowerCholesky().check(value) & (lengths - 1.0).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return torch.full(
            size=value.shape[:-2], fill_value=square, dtype=torch.bool, device=value.device
        )


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if not _holds(square):
            return square
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if _holds(symmetric) else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if _holds(symmetric) else symmetric


# ---- public names --------------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
