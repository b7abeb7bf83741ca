"""Pointwise ops against PyTorch on edge values: values and dtypes, or the error, for each element
type; first and second derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

UNARY = """neg positive abs sign sgn signbit reciprocal square sqrt rsqrt exp exp2 expm1 log log2
log10 log1p ceil floor round trunc frac nan_to_num deg2rad rad2deg angle conj_physical sin cos tan
asin acos atan sinh cosh tanh asinh acosh atanh sinc isnan isinf isfinite isneginf isposinf isreal
logical_not bitwise_not erf erfc erfinv lgamma digamma i0 logit sigmoid frexp relu selu celu
special.i0e special.i1 special.i1e special.ndtr special.ndtri special.log_ndtr special.entr
special.erfcx special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0
special.bessel_y1 special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0
special.modified_bessel_k1 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
special.spherical_bessel_j0 nn.functional.relu6 nn.functional.leaky_relu nn.functional.elu
nn.functional.gelu nn.functional.silu nn.functional.mish nn.functional.softplus
nn.functional.softsign nn.functional.hardtanh nn.functional.hardsigmoid nn.functional.hardswish
nn.functional.hardshrink nn.functional.softshrink nn.functional.tanhshrink
nn.functional.logsigmoid"""

BINARY = """add sub rsub mul div true_divide floor_divide remainder fmod pow float_power maximum
minimum fmax fmin clamp_min clamp_max hypot copysign heaviside nextafter ldexp xlogy gcd lcm
logaddexp logaddexp2 atan2 eq ne lt le gt ge isclose logical_and logical_or logical_xor bitwise_and
bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift igamma igammac special.xlog1py
special.zeta complex polar special.chebyshev_polynomial_t special.chebyshev_polynomial_u
special.chebyshev_polynomial_v special.chebyshev_polynomial_w special.shifted_chebyshev_polynomial_t
special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
special.shifted_chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he
special.laguerre_polynomial_l special.legendre_polynomial_p"""

#: Calls with numbers and options; ``x`` and ``y`` are tensors of one dtype, ``t`` is the library.
CALLS = """x + 1 | x - 1 | 1 - x | x * 2.5 | 2 / x | x // 2 | 2 // x | x % 2
-5 % x | x ** 2 | x ** 3 | x ** -1 | x ** 0.5 | x ** 0 | x ** 2.5
2 ** x | 0.5 ** x | x ** True | x ** 2j | x + 1j | x & 1 | x << 1 | x >> 1 | x & 1.0 | x < 1j
x == 1j | x - True | x < 0.5
t.add(x, y, alpha=2) | t.add(x, y, alpha=0.5) | t.add(x, y, alpha=True) | t.sub(x, y, alpha=1j)
t.rsub(x, 2, alpha=3)
t.div(x, y, rounding_mode='trunc') | t.div(x, y, rounding_mode='floor')
t.div(x, y, rounding_mode='up') | t.clamp(x, 0, 1)
t.clamp(x, -0.5, 0.5) | t.clamp(x, min=y) | t.clamp(x, y, y + 1) | t.clamp(x) | t.lerp(x, y, 0.3)
t.lerp(x, y, y) | t.addcmul(x, x, y)
t.addcmul(x, x, y, value=3) | t.addcdiv(x, x, y) | t.addcdiv(x, x, y, value=3)
t.where(x == y, x, y) | t.where(x == y, x, 1.0)
t.where(x == y, 1, y) | t.where(x, x, y) | t.round(x, decimals=1) | t.round(x, decimals=-1)
t.nan_to_num(x, 1.0, 2.0, 3.0)
t.logit(x, 0.1) | t.polygamma(1, x) | t.polygamma(2, x) | t.polygamma(-1, x)
t.mvlgamma(x + 3, 2) | t.mvlgamma(x, 0) | t.allclose(x, y)
t.equal(x, y) | t.isclose(x, y, rtol=0.5) | t.isclose(x, y, rtol=-1)
t.isclose(x, x, equal_nan=True) | t.float_power(x, 2)
t.float_power(2, x) | t.xlogy(x, 2) | t.xlogy(2, x) | t.copysign(x, -1) | t.threshold(x, 0.5, 2.0)
f.gelu(x, approximate='tanh') | f.gelu(x, approximate='x') | f.leaky_relu(x, 0.2) | f.elu(x, 0.5)
f.celu(x, 2.0) | f.celu(x, 0.0)
f.hardtanh(x, -0.5, 0.75) | f.hardtanh(x, 1.0, 0.0) | f.softplus(x, 2, 1.1)
f.softshrink(x, 0.25) | f.softshrink(x, -1.0)
f.hardshrink(x, 0.25) | f.prelu(x, y[:1]) | f.prelu(x, y) | f.prelu(x, y[0]) | f.glu(x[:6])
f.glu(x[:5]) | f.glu(x[0])"""

EXPRESSIONS = [
    *(f"t.{name}(x)" for name in UNARY.split()),
    *(f"t.{name}(x, y)" for name in BINARY.split()),
    *(call.strip() for call in CALLS.replace("\n", "|").split("|")),
]
EXPRESSIONS = [e.replace("t.nn.functional.", "f.") for e in EXPRESSIONS]

DTYPES = ["bool", "uint8", "int64", "bfloat16", "float32", "float64", "complex64"]
EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -2.5,
    0.01,
    30.0,
    np.nan,
    np.inf,
    -np.inf,
    0.1,
    0.9,
]
OTHERS = [2.0, 1.0, 0.5, -0.5, 1.0, 3.0, -2.0, 3.0, 2.0, 0.25, np.nan, 1.0, 3.0, 2.0, np.inf, -1.0]

#: XLA rounds 0 * inf and the like in complex arithmetic by other rules than libstdc++, so
#: infinities stay out there.
COMPLEX_EDGES = [0.5 + 0.5j, 1 - 2j, -1.5 + 0.25j, 2.0, 0.25j, -0.5 - 0.5j, 3 + 1j, 1j]
COMPLEX_OTHERS = [1 + 1j, 0.5, -0.25j, 2 - 1j, 1.5, 0.5 + 2j, 1j, -1.0]

TOLERANCE = {
    "bfloat16": (2e-2, 1e-5),
    "float32": (5e-6, 1e-6),
    "complex64": (2e-5, 2e-6),
    "float64": (1e-9, 1e-12),
}

#: Where values may differ, by expression and dtype, and why.
DIFFERENT_VALUES = {
    (
        "t.special.ndtr(x)",
        "bfloat16",
    ): "torch rounds to bfloat16 between the steps of 1 + erf, which loses the lower tail",
    **dict.fromkeys(
        [("f.gelu(x)", d) for d in ("bfloat16", "float32")],
        "infinity at infinity, where torch gives NaN",
    ),
    ("t.polygamma(2, x)", "float32"): "a sum that cancels at -2.5: both are off in the fifth digit",
    (
        "t.special.airy_ai(x)",
        "float64",
    ): "torch leaves out the leading 1 of some denominators, which costs it half its digits",
    ("x - 1", "bool"): "known gap: after promotion nothing tells that an operand was bool",
    ("1 - x", "bool"): "known gap: after promotion nothing tells that an operand was bool",
    (
        "t.rsub(x, 2, alpha=3)",
        "bool",
    ): "known gap: after promotion nothing tells that an operand was bool",
    **dict.fromkeys(
        [
            ("x - True", d)
            for d in ("uint8", "int64", "bfloat16", "float32", "float64", "complex64")
        ],
        "known gap: after promotion nothing tells that an operand was bool",
    ),
}

#: Expressions whose derivatives differ at infinities or kinks, and why.
DIFFERENT_DERIVATIVES = {
    "f.mish(x)": "1 at infinity, where torch gives NaN",
    "f.softsign(x)": "0 at infinity, where torch gives NaN",
    "x ** 2j": "NaN at infinity, where torch gives 0",
    "f.hardswish(x)": "torch's second derivative at NaN is 0",
    "f.prelu(x, y[:1])": "torch's third derivative at 0 takes the other side",
    "f.prelu(x, y[0])": "torch's third derivative at 0 takes the other side",
}


def operands(library: Any, dtype: str, requires_grad: bool = False) -> tuple[Any, Any]:
    if dtype == "complex64":
        values: list[Any] = [COMPLEX_EDGES, COMPLEX_OTHERS]
    elif dtype in ("bool", "uint8", "int64"):
        values = [[0, 1, 2, 3, 7, 12, 100], [1, 1, 3, 2, 2, 8, 7]]
        if dtype == "int64":
            values = [[0, 1, -2, 3, -7, 12, 100], [1, -1, 3, -2, 2, 8, 7]]
    else:
        values = [EDGES, OTHERS]
    kind = getattr(library, dtype)
    return tuple(library.tensor(v, dtype=kind, requires_grad=requires_grad) for v in values)  # type: ignore[return-value]


def outcome(library: Any, expression: str, dtype: str) -> Any:
    x, y = operands(library, dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, {"t": library, "f": library.nn.functional, "x": x, "y": y})
            return [read(r) for r in (result if isinstance(result, tuple) else (result,))]
    except Exception as error:
        return error


def read(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    name = str(value.dtype).removeprefix("torch.")
    return name, (value.float() if name == "bfloat16" else value).detach().numpy()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_dtypes_and_errors(expression: str) -> None:
    for dtype in DTYPES:
        if (expression, dtype) in DIFFERENT_VALUES:
            continue
        expected, found = outcome(torch, expression, dtype), outcome(jtorch, expression, dtype)
        where = f"{expression} on {dtype}"
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), f"{where}: torch raises {expected!r}"
            wanted = RuntimeError if isinstance(expected, NotImplementedError) else type(expected)
            assert isinstance(found, wanted), f"{where}: {found!r}, but torch raises {expected!r}"
            continue
        if isinstance(found, Exception):
            raise AssertionError(f"{where}: {found!r}, but torch gives a result") from found
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            if isinstance(theirs, bool):
                assert ours is theirs, where
                continue
            assert ours[0] == theirs[0], f"{where}: dtype {ours[0]}, but torch gives {theirs[0]}"
            rtol, atol = TOLERANCE.get(dtype, (5e-6, 1e-6))
            np.testing.assert_allclose(ours[1], theirs[1], rtol, atol, err_msg=where)


def derivatives(library: Any, expression: str) -> Any:
    """First derivatives of a weighted sum, and second ones of a weighted sum of these."""
    x, y = operands(library, "float64", requires_grad=True)
    result = eval(expression, {"t": library, "f": library.nn.functional, "x": x, "y": y})
    result = result[0] if isinstance(result, tuple) else result
    if isinstance(result, bool) or not result.requires_grad:
        return None
    weights = library.arange(1.0, result.numel() + 1, dtype=library.float64)
    total = (result.real * weights + result.imag if result.is_complex() else result * weights).sum()
    first = library.autograd.grad(total, [x, y], allow_unused=True, create_graph=True)
    second: list[Any] = [None, None]
    if any(g is not None and g.requires_grad for g in first):
        total = sum(
            (g * g * 0.5).sum() + g.sum() for g in first if g is not None and g.requires_grad
        )
        second = library.autograd.grad(total, [x, y], allow_unused=True)
    return [None if g is None else (g + 0.0).detach().numpy() for g in (*first, *second)]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_derivatives(expression: str) -> None:
    if expression in DIFFERENT_DERIVATIVES:
        pytest.skip(DIFFERENT_DERIVATIVES[expression])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = derivatives(torch, expression)
    except (RuntimeError, TypeError, IndexError, ValueError):
        pytest.skip("torch has no such derivative, or raises on float64")
    found = derivatives(jtorch, expression)
    assert (found is None) == (expected is None)
    for order, (ours, theirs) in enumerate(zip(found or [], expected or [], strict=True)):
        if theirs is None:
            assert ours is None or not np.any(ours), f"derivative {order}"
            continue
        ours = np.zeros_like(theirs) if ours is None else ours
        # Second derivatives at kinks and infinities go through 0 * inf by other routes: only finite
        # ones are compared.
        at = np.isfinite(theirs) if order > 1 else np.ones(theirs.shape, bool)
        np.testing.assert_allclose(
            ours[at], theirs[at], 1e-7, 1e-9, err_msg=f"derivative {order} of {expression}"
        )
