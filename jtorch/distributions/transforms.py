"""The transforms of random variables: of numbers, of vectors and matrices, and of parts of a
tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import jtorch as torch
import jtorch.nn.functional as F
from jtorch import Tensor
from jtorch.nn.functional import pad, softplus
from jtorch.types import _Number

from . import constraints
from ._transform import ComposeTransform as ComposeTransform
from ._transform import IndependentTransform as IndependentTransform
from ._transform import Stateless, Transform, need_dims
from ._transform import _InverseTransform as _InverseTransform
from ._transform import identity_transform as identity_transform
from .constraints import Constraint
from .distribution import Distribution
from .utils import (
    _all_numbers,
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "Transform",
    "identity_transform",
]


# ---- elementwise transforms ----------------------------------------------------------------------


class ExpTransform(Stateless):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """``y = x ** exponent`` for positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(cache_size, PowerTransform, self.exponent)

    @lazy_property
    def sign(self) -> Tensor:
        """That of the exponent, a tensor."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return torch.broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return torch.broadcast_shapes(shape, self.exponent.shape)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    info = torch.finfo(x.dtype)
    return torch.clamp(torch.sigmoid(x), min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(Stateless):
    """``y = 1 / (1 + exp(-x))``, kept off 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = torch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Stateless):
    """``y = log(1 + exp(x))``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Stateless):
    """``y = tanh(x)``. Far from 0 it cannot be inverted; a cache helps."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2) without cancellation
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Stateless):
    """``y = |x|``; of its two inverses the positive one."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    Args:
        event_dim: how many dimensions a point has.
    """

    bijective = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """As given."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The real numbers, or vectors and so on of them."""
        return (
            constraints.independent(constraints.real, self.event_dim)
            if self.event_dim
            else constraints.real
        )

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """The same."""
        return self.domain

    def with_cache(self, cache_size: int = 1) -> AffineTransform:
        return (
            self
            if self._cache_size == cache_size
            else AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        for mine, its in ((self.loc, other.loc), (self.scale, other.scale)):
            if mine != its if _all_numbers(mine, its) else not (mine == its).all().item():
                return False
        return True

    @property
    def sign(self) -> Tensor | int:
        """That of the scale: a number or a tensor, as it is."""
        if _all_numbers(self.scale):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape, n = x.shape, self.event_dim
        scale = self.scale
        found = (
            torch.full_like(x, math.log(abs(scale)))
            if isinstance(scale, _Number)
            else torch.abs(scale).log()
        )
        if n:
            found = found.view(found.size()[:-n] + (-1,)).sum(-1)
            shape = shape[:-n]
        return found.expand(shape)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return torch.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape


# ---- transforms of vectors and matrices ----------------------------------------------------------


class ReshapeTransform(Transform):
    """Gives the last dimensions, ``in_shape``, the shape ``out_shape``."""

    bijective = True

    def __init__(self, in_shape: torch.Size, out_shape: torch.Size, cache_size: int = 0) -> None:
        self.in_shape = torch.Size(in_shape)
        self.out_shape = torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """Real numbers of ``in_shape``."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Real numbers of ``out_shape``."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(cache_size, ReshapeTransform, self.in_shape, self.out_shape)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    @staticmethod
    def _exchanged(shape: Any, old: torch.Size, new: torch.Size) -> Any:
        need_dims(shape, len(old))
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._exchanged(shape, self.out_shape, self.in_shape)


class CorrCholeskyTransform(Transform):
    """Vectors of ``D (D - 1) / 2`` numbers to Cholesky factors of ``D x D`` correlation matrices.

    The numbers, through tanh, are partial correlations: each tells which share of what is left of a
    row's length an element takes.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + torch.eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        # Each element was multiplied by what was left of its row; those next to the diagonal by
        # what is left after them.
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return 0.5 * left.log().sum(-1) + tanh

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        need_dims(shape, 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (d, d)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        need_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(Stateless):
    """Softmax. Not bijective: what is added to all numbers is lost."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        shares = (x - x.max(-1, True)[0]).exp()
        return shares / shares.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        need_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Stateless):
    """Vectors to vectors of one more number whose sum is 1: each number breaks its share off what
    is left of a stick."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Tensor, n: int) -> Tensor:
        """Logarithms of how many parts each number leaves over: shifted by them, zeros make equal
        parts."""
        return (n + 1 - x.new_ones(n).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        share = _clipped_sigmoid(x - self._offset(x, x.shape[-1]))
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        left = torch.clamp(1 - parts.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._offset(y, parts.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x, x.shape[-1])
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        need_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        need_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Stateless):
    """Square matrices to lower triangular ones with a positive diagonal: its exponential."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Stateless):
    """Square matrices to positive definite ones, by their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


# ---- transforms of parts -------------------------------------------------------------------------


class _PartsTransform(Transform):
    """Another transform for each part of a tensor along ``dim``."""

    def __init__(self, tseq: Sequence[Any], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        """Whether all transforms are."""
        return all(t.bijective for t in self.transforms)

    def _check(
        self, value: Tensor, dims_of: str, size_of: str, wanted: int, wanted_name: str
    ) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for {dims_of} with {value.dim()} dimensions"
            )
        if value.size(self.dim) != wanted:
            raise AssertionError(
                f"{size_of}.size({self.dim}) = {value.size(self.dim)} must equal {wanted_name} "
                f"{wanted}"
            )


class CatTransform(_PartsTransform):
    """A transform for each part of ``lengths`` along ``dim``, as ``torch.cat`` joins them.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.distributions.transforms import (
        ...     CatTransform,
        ...     ExpTransform,
        ...     identity_transform,
        ... )
        >>> CatTransform([ExpTransform(), identity_transform], dim=0, lengths=[1, 2])(
        ...     torch.zeros(3)
        ... )
        tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @lazy_property
    def event_dim(self) -> int:
        """The largest of the transforms'."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """Of all parts together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(cache_size, CatTransform, self.transforms, self.dim, self.lengths)

    def _parts(self, value: Tensor, name: str, dims_of: str = "tensor") -> list[Tensor]:
        self._check(value, dims_of, name, self.length, "length")
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [
            value.narrow(self.dim, start, length)
            for start, length in zip(starts, self.lengths, strict=True)
        ]

    def _call(self, x: Tensor) -> Tensor:
        return torch.cat(
            [t(part) for t, part in zip(self.transforms, self._parts(x, "x"), strict=True)],
            dim=self.dim,
        )

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.cat(
            [t.inv(part) for t, part in zip(self.transforms, self._parts(y, "y"), strict=True)],
            dim=self.dim,
        )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found: list[Any] = []
        for t, before, after in zip(
            self.transforms, self._parts(x, "x", "x"), self._parts(y, "y", "y"), strict=True
        ):
            found.append(
                _sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim)
            )
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return torch.cat(found, dim=dim)
        total: Any = sum(found)
        return total

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """The transforms', joined."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """The transforms', joined."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """A transform for each index along ``dim``, as ``torch.stack`` joins them."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(cache_size, StackTransform, self.transforms, self.dim)

    def _slice(self, value: Tensor, name: str = "x", dims_of: str = "tensor") -> list[Tensor]:
        self._check(value, dims_of, name, len(self.transforms), "len(transforms)")
        return [value.select(self.dim, i) for i in range(value.size(self.dim))]

    def _call(self, x: Tensor) -> Tensor:
        return torch.stack(
            [t(part) for t, part in zip(self.transforms, self._slice(x), strict=True)], dim=self.dim
        )

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.stack(
            [t.inv(part) for t, part in zip(self.transforms, self._slice(y, "y"), strict=True)],
            dim=self.dim,
        )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(
            self.transforms, self._slice(x, "x", "x"), self._slice(y, "y", "y"), strict=True
        )
        return torch.stack(
            [t.log_abs_det_jacobian(before, after) for t, before, after in pairs], dim=self.dim
        )

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """The transforms', joined."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """The transforms', joined."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """Numbers to their cumulative probabilities under a distribution."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1  # type: ignore[assignment]

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Self:
        return self._cached(cache_size, CumulativeDistributionTransform, self.distribution)
