"""Gradients of random numbers with respect to the parameters of their distributions, and the ops
that carry them.

A number that was drawn by rejection has a derivative all the same: that of the inverse of its
cumulative distribution function at the point drawn (implicit reparameterisation). For gamma and
beta numbers no closed form is known, so PyTorch takes series where these converge, saddle point
expansions where parameters are large, and fitted rational functions elsewhere. The same regions,
expansions and fitted coefficients are used here, so that the same numbers come out (they have three
to four digits in places).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, defvjp, op, without_derivative
from ._facts import schemas
from ._numeric import require_full

_WIDE = np.dtype(np.float64)
#: Below this the series converges fast; PyTorch writes it in single precision.
_SMALL = float(np.float32(0.8))


def _horner(x: Array, coefficients: tuple[float, ...]) -> Array:
    """The polynomial of these coefficients, lowest first."""
    y = jnp.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y


# ---- gamma ---------------------------------------------------------------------------------------

#: Fitted to the gradient's logarithm, a rational function of log(alpha) whose coefficients are
#: quadratic in log(x / alpha).
_GAMMA_FIT = (
    (
        (0.16009398, 0.53487893, 0.040121004),
        (-0.094634809, 0.1298071, -0.0065914022),
        (0.025146376, 0.065735949, -0.0026286047),
        (-0.0030648343, -0.0015649758, -0.0013441777),
    ),
    (
        (1.0, 0.16639465, 0.017050642),
        (0.32668115, 0.020070113, -0.0021309326),
        (0.10406089, -0.0035938915, 0.00085092367),
        (0.0014179084, -0.00058392623, -1.5247877e-07),
    ),
)


def _gamma_series(a: Array, x: Array) -> Array:
    """The gradient for small ``x``, from the power series of the incomplete gamma function."""
    factor, below = jnp.ones_like(x), a
    first, second = 1 / a, 1 / (a * a)
    for i in range(1, 6):
        factor, below = factor * (-x / i), below + 1
        first, second = first + factor / below, second + factor / (below * below)
    found = x * jnp.exp(x) * (second - (jnp.log(x) - lax.digamma(a)) * first)
    return jnp.where(jnp.isnan(found), 0.0, found)


def _gamma_saddle(a: Array, x: Array) -> Array:
    """The gradient for large ``a``, by Rice's expansion, which near ``x == a`` is replaced by its
    limit's Taylor polynomial."""
    squared = a * a
    inner = 1440 * squared + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    near = (1 + 24 * a * (1 + 12 * a)) * inner / (1244160 * squared * squared)
    root, apart, log_ratio = jnp.sqrt(8 * a), a - x, jnp.log(x / a)
    tail = jnp.power(x - a - a * log_ratio, -1.5)
    both = root / apart + jnp.where(x < a, -tail, tail)
    term = log_ratio * both - jnp.sqrt(2 / a) * (a + x) / (apart * apart)
    stirling = 1 + (1 + 1 / (24 * a)) / (12 * a)
    return jnp.where((0.9 * a <= x) & (x <= 1.1 * a), near, -stirling * x * term / root)


def _gamma_fit(a: Array, x: Array) -> Array:
    """The gradient where neither is small nor large."""
    u, v = jnp.log(x / a), jnp.log(a)
    above, below = jnp.zeros_like(u), jnp.zeros_like(u)
    for p, q in zip(_GAMMA_FIT[0][::-1], _GAMMA_FIT[1][::-1], strict=True):
        above, below = above * v + _horner(u, p), below * v + _horner(u, q)
    return jnp.exp(above / below)


def _gamma_gradient(concentration: Array, sample: Array) -> Array:
    a, x = concentration.astype(_WIDE), sample.astype(_WIDE)
    usual = jnp.where(a > 8, _gamma_saddle(a, x), _gamma_fit(a, x))
    return jnp.where(x < _SMALL, _gamma_series(a, x), usual).astype(concentration.dtype)


@op(method=False, broadcast=True, aten="_standard_gamma_grad")
@schemas(". ; =out")
def _standard_gamma_grad(self: Array, output: Array) -> Array:
    """The derivative of gamma numbers ``output`` of rate 1 with respect to their concentrations
    ``self``.

    Shapes: self and output (*) -> (*).
    Dtypes: float32 and float64 -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch._standard_gamma_grad(torch.tensor([2.0]), torch.tensor([1.5]))
        tensor([0.9366])
    """
    require_full("_standard_gamma_grad_cpu", self)
    return _gamma_gradient(self, output)


without_derivative(
    _standard_gamma_grad,
    NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented."),
)


@op(
    namespace="_C",
    saves=("concentration", "sample"),
    aten="_standard_gamma",
    node="StandardGammaBackward0",
)
def _gamma_drawn(sample: Array, concentration: Array) -> Array:
    """Gamma numbers of rate 1, as a result that depends on their concentrations."""
    return sample


def _gamma_drawn_rule(
    g: Array, result: None, sample: Array, concentration: Array
) -> tuple[None, Array]:
    return None, g * _gamma_gradient(concentration, sample)


defvjp(_gamma_drawn, _gamma_drawn_rule, saves=("sample", "concentration"))


# ---- beta and Dirichlet --------------------------------------------------------------------------

#: Fitted correction to the approximation below: numerator and denominator, for powers of log(x) and
#: of log(alpha / x) a cubic each.
_BETA_FIT = (
    (
        (
            (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
            (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
            (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
        ),
        (
            (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
            (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
            (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
        ),
        (
            (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
            (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
            (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
        ),
    ),
    (
        (
            (1.0, -0.02924021934, -0.04438342661, 0.007285809825),
            (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
            (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
        ),
        (
            (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
            (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
            (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
        ),
        (
            (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
            (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
            (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
        ),
    ),
)


def _digamma(x: Array) -> Array:
    return lax.digamma(x.astype(_WIDE)).astype(x.dtype)


def _beta_first_small(x: Array, a: Array, b: Array) -> Array:
    """The gradient with respect to the first concentration ``a``, for ``x`` near 0, from a power
    series."""
    factor = _digamma(a) - _digamma(a + b) - jnp.log(x)
    above, total = jnp.ones_like(x), (factor + 1 / a) / a
    for i in range(1, 11):
        above, below = above * ((i - b) * x / i), a + i
        total = total + above / below * (factor + 1 / below)
    found = x * jnp.power(1 - x, -b) * total
    return jnp.where(jnp.isnan(found), 0.0, found)


def _beta_second_small(x: Array, a: Array, b: Array) -> Array:
    """The gradient with respect to the second concentration ``b``, for ``x`` near 0, from a power
    series."""
    factor = _digamma(a + b) - _digamma(b)
    above, falling, slope = jnp.ones_like(x), jnp.ones_like(x), jnp.zeros_like(x)
    total = factor / a
    for i in range(1, 9):
        above = above * (-x / i)
        falling, slope = falling * (b - i), slope * (b - i) + falling
        total = total + above / (a + i) * (slope + factor * falling)
    found = -jnp.power(1 - x, 1 - b) * total
    return jnp.where(jnp.isnan(found), 0.0, found)


def _stirling(n: Array) -> Array:
    return 1 + 1 / (12 * n) + 1 / (288 * n * n)


def _beta_saddle(x: Array, a: Array, b: Array) -> Array:
    """The gradient with respect to ``a`` where both concentrations are large; near the mean its
    singularity is replaced by a polynomial."""
    n = a + b
    mean = a / n
    deviation = jnp.sqrt(a * b / (n + 1)) / n
    b2, b3 = b * b, b * b * b
    polynomial = 8 * (1 - x) * (135 * b - 11)
    polynomial = (453 + 1620 * b * (1 - x) - 455 * x) * b + a * polynomial
    polynomial = 3 * (59 + 180 * b - 90 * x) * b2 + a * polynomial
    polynomial = (43 + 20 * (16 + 27 * b) * x) * b3 + a * polynomial
    polynomial = 47 * x * b2 * b2 + a * polynomial
    near = (
        (1 + 12 * a)
        * (1 + 12 * b)
        / (n * n)
        / (1 - x)
        * polynomial
        / (12960 * a * a * a * b2 * (1 + 12 * n))
    )

    apart = a * (x - 1) + b * x
    first = (2 * a * a * (x - 1) + a * b * (x - 1) - x * b2) / (
        jnp.sqrt(2 * a / b) * jnp.power(n, 1.5) * apart * apart
    )
    log_a, log_b = jnp.log(a / (n * x)), jnp.log(b / (n * (1 - x)))
    tail = jnp.power(b * log_b + a * log_a, -1.5)
    rest = 0.5 * log_a * (jnp.sqrt(8 * a * b / n) / apart + jnp.where(x < mean, tail, -tail))
    far = (
        _stirling(a) * _stirling(b) / _stirling(n) * (-x / jnp.sqrt(2 * a * b / n)) * (first + rest)
    )
    return jnp.where((mean - 0.1 * deviation <= x) & (x <= mean + 0.1 * deviation), near, far)


def _beta_fit(x: Array, a: Array, n: Array) -> Array:
    """The gradient with respect to ``a`` elsewhere: an approximation times a fitted correction."""
    u = jnp.log(x)
    v = jnp.log(a) - u
    w = jnp.log(n) - v
    parts = []
    for table in _BETA_FIT:
        total, power = jnp.zeros_like(x), jnp.ones_like(x)
        for row in table:
            inner = _horner(w, row[0]) + v * (_horner(w, row[1]) + v * _horner(w, row[2]))
            total, power = total + power * inner, power * u
        parts.append(total)
    return parts[0] / parts[1] * (x * (lax.digamma(n) - lax.digamma(a)) / (n - a))


@op(method=False, broadcast=True, aten="_dirichlet_grad")
@schemas(". ; =out")
def _dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """The derivative of beta numbers ``x`` with respect to their first concentration ``alpha``,
    divided by ``1 - x``.

    Args:
        total: the sum of both concentrations; for Dirichlet numbers that of all.

    Shapes: x, alpha and total (*) -> (*).
    Dtypes: float32 and float64 -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch._dirichlet_grad(torch.tensor([0.25]), torch.tensor([2.0]), torch.tensor([5.0]))
        tensor([0.1802])
    """
    require_full("_dirichlet_grad_cpu", x)
    y, a, n = x.astype(_WIDE), alpha.astype(_WIDE), total.astype(_WIDE)
    beta, edge = total - alpha, total * x * (1 - x)
    found = jnp.where((a > 6) & (beta > 6), _beta_saddle(y, a, n - a), _beta_fit(y, a, n)).astype(
        x.dtype
    )
    # The series are summed in the precision of the operands, where PyTorch cancels as much.
    found = jnp.where((x >= 0.5) & (edge < 0.75), -_beta_second_small(1 - x, beta, alpha), found)
    return jnp.where((x <= 0.5) & (edge < 2.5), _beta_first_small(x, alpha, beta), found)


without_derivative(
    _dirichlet_grad, RuntimeError("derivative for aten::_dirichlet_grad is not implemented")
)


@op(namespace="_C", saves=(), aten="binomial", node="NotImplemented")
def _drawn_without_rule(sample: Array, parameters: list[Array], name: str) -> Array:
    """The sample, as a result that depends on the parameters of its distribution but has no
    derivative."""
    return sample


def _no_rule(
    g: Array, result: None, sample: Array, parameters: list[Array], name: str
) -> tuple[None, ...]:
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


defvjp(_drawn_without_rule, _no_rule, saves=())
