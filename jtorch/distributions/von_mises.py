"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import jax

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

#: Polynomials for modified Bessel functions of orders 0 and 1: of (x / 3.75)^2 below 3.75, and of
#: 3.75 / x above. M. Abramowitz and I. Stegun, "Handbook of mathematical functions", 9.8.1 to
#: 9.8.4.
_BELOW = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_ABOVE = (
    (
        0.39894228,
        0.1328592e-1,
        0.225319e-2,
        -0.157565e-2,
        0.916281e-2,
        -0.2057706e-1,
        0.2635537e-1,
        -0.1647633e-1,
        0.392377e-2,
    ),
    (
        0.39894228,
        -0.3988024e-1,
        -0.362018e-2,
        0.163801e-2,
        -0.1031555e-1,
        0.2282967e-1,
        -0.2895312e-1,
        0.1787654e-1,
        -0.420059e-2,
    ),
)


def _polynomial(y: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """Horner's scheme, lowest coefficient first."""
    found: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        found = c + y * found
    return found


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """The logarithm of the modified Bessel function of the first kind, of positive numbers, to
    seven digits."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    small = _polynomial((x / 3.75) * (x / 3.75), _BELOW[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _ABOVE[order]).log()
    return torch.where(x < 3.75, small.log(), large)


def _with_key(
    again: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], x: Tensor, done: Tensor
) -> Tensor:
    """The rounds of a rejection as a loop of JAX, which needs no values while it is traced; each
    round has a key of its own."""

    def body(state: Any) -> tuple[None, Tensor, Tensor]:
        key, x, done = state
        with torch.random.drawing_from(key):
            x, done = again(x, done)
            return torch.random.key_now(), x, done

    state = (torch.random.next_key(None), x, done)
    return jax.lax.while_loop(lambda state: ~state[2].all().jax(), body, state)[1]


def _rejection_sample(loc: Tensor, concentration: Tensor, proposal_r: Tensor, x: Tensor) -> Tensor:
    """Angles drawn by rejection, all of a batch in every round; what was accepted stays.

    Source: D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", 1979.
    """

    def again(x: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
        u1, u2, u3 = torch.rand((3, *x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = torch.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
        return torch.where(accept, (u3 - 0.5).sign() * f.acos(), x), done | accept

    done = torch.zeros(x.shape, dtype=torch.bool, device=loc.device)
    if torch.random.key_now() is not None:
        x = _with_key(again, x, done)
    elif any(isinstance(t._read().array, jax.core.Tracer) for t in (concentration, proposal_r)):
        raise RuntimeError(
            "VonMises.sample(): how many numbers rejection draws depends on values that are not "
            "known while JAX traces; put jtorch.jax.with_key(key) around the code that draws them"
        )
    else:
        while not done.all():
            x, done = again(x, done)
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles around ``loc``: the circle's normal distribution, with ``concentration`` in the place
    of 1 / variance.

    Samples are drawn in double precision and have no gradient.
    """

    arg_constraints: dict[str, Constraint] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support: Constraint = constraints.real
    has_rsample = False

    def __init__(
        self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        try:
            return super().expand(batch_shape)
        except NotImplementedError:
            validate_args = self.__dict__.get("_validate_args")
            return type(self)(
                self.loc.expand(batch_shape),
                self.concentration.expand(batch_shape),
                validate_args=validate_args,
            )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        density = self.concentration * torch.cos(value - self.loc)
        return (
            density - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, order=0)
        )

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that is proposed from; for small
        concentrations its Taylor expansion."""
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    @torch.no_grad()
    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Angles in [-pi, pi)."""
        x = torch.empty(
            self._extended_shape(sample_shape), dtype=self._loc.dtype, device=self.loc.device
        )
        return _rejection_sample(self._loc, self._concentration, self._proposal_r, x).to(
            self.loc.dtype
        )

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the length of the mean of the unit vectors."""
        first = _log_modified_bessel_fn(self.concentration, order=1)
        return 1 - (first - _log_modified_bessel_fn(self.concentration, order=0)).exp()
