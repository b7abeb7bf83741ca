"""What a transform of random variables is, and those that are made of others: inverses,
compositions, and more dimensions in a point."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .utils import _sum_rightmost, lazy_property


class Transform:
    """A function ``y = f(x)`` between regions, its inverse, and the logarithm of how much it
    stretches volumes.

    Derived classes implement ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.

    Args:
        cache_size: 1 to remember the latest pair, so that the inverse of what was just computed is
            what it was computed from; or 0.

    Attributes:
        domain, codomain: the regions of ``x`` and of ``y``.
        bijective: whether ``f(f.inv(y)) == y`` and ``f.inv(f(x)) == x`` for all.
        sign: +1 or -1 if ``f`` is monotonous.
    """

    __module__ = "jtorch.distributions.transforms"  # the name that files know it by

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> Any:
        """How many dimensions a point has, where that is the same before and after."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse; its own inverse is this."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """+1 or -1 if the function is monotonous."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Self:
        """The same transform with another ``cache_size``."""
        if self._cache_size != cache_size and type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return self._cached(cache_size, type(self))

    def _cached(self, cache_size: int, made: Callable[..., object], *arguments: object) -> Any:
        """This, or what ``made`` makes of the arguments with another ``cache_size``."""
        return self if self._cache_size == cache_size else made(*arguments, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """``f(x)``."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        """The function itself."""
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        """Its inverse."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |dy/dx|`` for each point."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of ``f(x)`` for that of ``x``."""
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of ``x`` for that of ``f(x)``."""
        return shape


class Stateless(Transform):
    """Transforms without parameters: all of one kind are equal."""

    def __eq__(self, other: object) -> bool:
        kind = next(c for c in type(self).__mro__ if Stateless in c.__bases__)
        return isinstance(other, kind)


def need_dims(shape: Any, n: int) -> None:
    """Raises torch's error for a shape of fewer than ``n`` dimensions."""
    if len(shape) < n:
        raise ValueError("Too few dimensions on input")


# ---- transforms made of others -------------------------------------------------------------------


class _InverseTransform(Transform):
    """The inverse of a transform, which does all the work."""

    __module__ = "jtorch.distributions.transforms"  # the name that files know it by

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def _forward(self) -> Any:
        if self._inv is None:
            raise AssertionError("_inv must not be None")
        return self._inv

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """Where the transform leads to."""
        return self._forward().codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """Where the transform comes from."""
        return self._forward().domain

    @property
    def bijective(self) -> bool:
        """As of the transform."""
        return self._forward().bijective

    @property
    def sign(self) -> Any:
        """As of the transform."""
        return self._forward().sign

    @property
    def inv(self) -> Transform:
        """The transform."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._forward().with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward() == other._inv

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._forward()._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._forward().log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._forward().inverse_shape(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._forward().forward_shape(shape)


def _widened(
    constraint: constraints._GreaterThan | constraints._Interval | constraints._Real,
    event_dim: int,
    name: str,
) -> Constraint:
    """A constraint whose points have ``event_dim`` dimensions."""
    if event_dim < constraint.event_dim:
        raise AssertionError(
            f"event_dim {event_dim} must be >= {name}.event_dim {constraint.event_dim}"
        )
    return (
        constraint
        if event_dim == constraint.event_dim
        else constraints.independent(constraint, event_dim - constraint.event_dim)
    )


class ComposeTransform(Transform):
    """Transforms one after the other, the first of ``parts`` first."""

    __module__ = "jtorch.distributions.transforms"  # the name that files know it by

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The first part's, with as many dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        n = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            n = max(n + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, n, "domain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """The last part's, with as many dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        n = self.parts[0].domain.event_dim
        for part in self.parts:
            n = max(n + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, n, "codomain")

    @lazy_property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self) -> int:
        """The product of the parts'."""
        return functools.reduce(operator.mul, (p.sign for p in self.parts), 1)

    @property
    def inv(self) -> Transform:
        """The inverses in reverse."""
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(cache_size, ComposeTransform, self.parts)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return torch.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms, n = [], self.domain.event_dim
        for part, before, after in zip(self.parts, points[:-1], points[1:], strict=True):
            terms.append(
                _sum_rightmost(part.log_abs_det_jacobian(before, after), n - part.domain.event_dim)
            )
            n += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return (
            self.__class__.__name__
            + "(\n    "
            + ",\n    ".join(repr(p) for p in self.parts)
            + "\n)"
        )


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last ``reinterpreted_batch_ndims`` batch dimensions belong to a point."""

    __module__ = "jtorch.distributions.transforms"  # the name that files know it by

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(
            cache_size, IndependentTransform, self.base_transform, self.reinterpreted_batch_ndims
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The base's, with more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """The base's, with more dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """As of the base."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """As of the base."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        need_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        need_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(
            self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims
        )

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
        )

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)
