"""Transforms from unconstrained numbers to a region: ``biject_to`` finds bijective ones,
``transform_to`` convenient ones.

``transform_to`` may have more unconstrained numbers than the region has dimensions, and is what
optimisers want; ``biject_to`` has a Jacobian, and is what samplers want.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import constraints, transforms
from ._transform import Transform
from .utils import _all_numbers

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions from constraints to transforms, by the kind of constraint.

    Examples:
        >>> from jtorch.distributions import biject_to, constraints
        >>> biject_to(constraints.simplex)
        StickBreakingTransform()
    """

    def __init__(self) -> None:
        self._registry = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Registers a function for a kind of constraint (a class, or an object of it); without a
        function, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{kind}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform to a region.

        Raises:
            NotImplementedError: if none is registered.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _for(*kinds: object) -> Callable[[Any], Any]:
    """Registers a function for these kinds in both registries."""

    def register(factory: Callable[..., object]) -> Function:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_for(constraints.real)
def _transform_to_real(constraint: object) -> Transform:
    return transforms.identity_transform


@_for(constraints.greater_than, constraints.greater_than_eq)
def _transform_to_greater_than(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_for(constraints.less_than)
def _transform_to_less_than(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_for(constraints.interval, constraints.half_open_interval)
def _transform_to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if _all_numbers(low, high) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


@_for(constraints.corr_cholesky)
def _transform_to_corr_cholesky(constraint: object) -> Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: object) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: object) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: object) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_semidefinite)
@transform_to.register(constraints.positive_definite)
def _transform_to_positive_definite(constraint: object) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _register_nested(registry: ConstraintRegistry) -> None:
    """Constraints made of others take the transforms of their parts from the same registry."""

    def independent(c: Any) -> object:
        return transforms.IndependentTransform(
            registry(c.base_constraint), c.reinterpreted_batch_ndims
        )

    def cat(c: Any) -> transforms.CatTransform:
        return transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)

    def stack(c: constraints._Sequence) -> transforms.StackTransform:
        return transforms.StackTransform([registry(part) for part in c.cseq], c.dim)

    registry.register(constraints.independent, independent)
    registry.register(constraints.cat, cat)
    registry.register(constraints.stack, stack)


_register_nested(biject_to)
_register_nested(transform_to)
