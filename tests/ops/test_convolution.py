"""Convolutions and their gradients against plain loops in NumPy, for every formulation that shapes
can choose."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import _convolving
from jtorch._src.ops._convolving import Geometry

F = torch.nn.functional


def _loops(x: np.ndarray, w: np.ndarray, geo: Geometry) -> np.ndarray:
    """The definition: each result is the sum of a window times the kernel."""
    padded = np.pad(x, [(0, 0), (0, 0), *geo.padding])
    out = geo.out_size(x.shape[2:], w.shape[2:])
    result = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    per_group, outs = w.shape[1], w.shape[0] // geo.groups
    for o in range(w.shape[0]):
        first = o // outs * per_group
        for at in itertools.product(*map(range, out)):
            index = tuple(
                slice(i * s, i * s + (k - 1) * d + 1, d)
                for i, s, k, d in zip(at, geo.stride, w.shape[2:], geo.dilation, strict=True)
            )
            window = padded[(slice(None), slice(first, first + per_group), *index)]
            result[(slice(None), o, *at)] = (window * w[o]).reshape(x.shape[0], -1).sum(1)
    return result


def _geo(
    n: int, stride: int = 1, padding: tuple[int, int] = (0, 0), dilation: int = 1, groups: int = 1
) -> Geometry:
    return Geometry((stride,) * n, (padding,) * n, (dilation,) * n, groups)


#: Input shape, weight shape, geometry; the comment names the formulation that the CPU takes.
CASES = {
    "few terms": ((2, 2, 7, 6), (4, 2, 3, 3), _geo(2, padding=(1, 1))),
    "depthwise": ((2, 4, 7, 6), (4, 1, 3, 3), _geo(2, padding=(1, 1), groups=4)),
    "depthwise, two each, strided": ((2, 3, 9, 8), (6, 1, 3, 3), _geo(2, 2, (1, 1), groups=3)),
    "depthwise of many rows": ((9, 4, 7, 6), (4, 1, 3, 3), _geo(2, padding=(1, 1), groups=4)),
    "depthwise of many rows, two each, strided": (
        (16, 3, 9, 8),
        (6, 1, 3, 3),
        _geo(2, 2, (1, 1), groups=3),
    ),
    "depthwise of long rows": ((2, 3, 140), (3, 1, 5), _geo(1, padding=(2, 2), groups=3)),
    "depthwise, dilated": (
        (1, 3, 9, 9),
        (3, 1, 3, 2),
        _geo(2, padding=(2, 0), dilation=2, groups=3),
    ),
    "one tap": ((2, 5, 4, 6), (3, 5, 1, 1), _geo(2)),
    "one tap, strided, padded, grouped": ((2, 6, 5, 5), (4, 3, 1, 1), _geo(2, 2, (1, 0), groups=2)),
    "patches": ((2, 5, 7, 8), (4, 5, 3, 3), _geo(2, 3)),
    "groups one by one": ((2, 8, 6, 6), (8, 4, 3, 3), _geo(2, padding=(1, 1), groups=2)),
    "few outputs": ((2, 8, 7, 6), (3, 8, 3, 3), _geo(2, padding=(1, 1))),
    "few outputs, uneven padding and dilation": ((2, 9, 9, 8), (2, 9, 3, 2), _geo(2, 1, (2, 1), 2)),
    "few outputs of rows": ((2, 7, 11), (2, 7, 4), _geo(1, padding=(1, 2))),
    "few outputs of three dimensions": ((1, 8, 4, 5, 5), (1, 8, 2, 3, 3), _geo(3, padding=(1, 0))),
    "one channel, many taps": ((2, 1, 9, 8), (2, 1, 7, 5), _geo(2, padding=(3, 2))),
    "three channels to one, many taps, strided": ((2, 3, 9, 9), (1, 3, 7, 5), _geo(2, 2, (3, 2))),
    "general": ((2, 8, 7, 6), (5, 8, 3, 3), _geo(2, padding=(1, 1))),
    "general, uneven padding, stride and dilation": (
        (2, 8, 9, 8),
        (5, 8, 3, 2),
        _geo(2, 2, (2, 1), 2),
    ),
    "general, rows that no window reaches": ((1, 8, 10, 10), (5, 8, 3, 3), _geo(2, 3, (1, 0))),
    "kernel larger than the image": ((2, 8, 2, 2), (5, 8, 3, 3), _geo(2, padding=(1, 1))),
    "kernel larger than the result, strided": ((2, 8, 4, 4), (5, 8, 3, 3), _geo(2, 2, (1, 1))),
    "kernel larger than the row": ((2, 8, 3), (4, 8, 5), _geo(1, padding=(2, 2))),
    "few positions of many weights": ((2, 64, 4, 3), (256, 64, 3, 3), _geo(2, padding=(1, 1))),
    "one dimension": ((3, 8, 11), (4, 8, 4), _geo(1, 2, (1, 2))),
    "three dimensions": ((2, 5, 4, 5, 6), (4, 5, 3, 2, 3), _geo(3, padding=(1, 1))),
    "three dimensions, strided, grouped": (
        (1, 6, 5, 5, 5),
        (4, 3, 2, 2, 2),
        _geo(3, 2, (1, 0), groups=2),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_each_formulation_is_the_definition(case: str, dtype: str) -> None:
    x_shape, w_shape, geo = CASES[case]
    r = np.random.RandomState(0)
    x, w = r.randn(*x_shape).astype(dtype), r.randn(*w_shape).astype(dtype)
    found = np.asarray(jax.jit(lambda x, w: _convolving.forward(x, w, geo))(x, w))
    wanted = _loops(x.astype(np.float64), w.astype(np.float64), geo)
    # Sums round by what their terms are, not by what is left of them.
    terms = _loops(np.abs(x).astype(np.float64), np.abs(w).astype(np.float64), geo)
    assert found.shape == wanted.shape and found.dtype == dtype
    assert (np.abs(found - wanted) <= 2 * np.finfo(dtype).eps * terms).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_the_adjoint_maps(case: str, dtype: str) -> None:
    """``<g, conv(x, w)>`` is bilinear in x and w: its gradients g_x and g_w satisfy
    ``<g_x, x'> == <g, conv(x', w)>`` for every x'."""
    x_shape, w_shape, geo = CASES[case]
    r = np.random.RandomState(1)
    x, w = r.randn(*x_shape).astype(dtype), r.randn(*w_shape).astype(dtype)
    g = r.randn(x_shape[0], w_shape[0], *geo.out_size(x_shape[2:], w_shape[2:])).astype(dtype)
    tol = 1e-4 if dtype == "float32" else 1e-12
    g_x = np.asarray(jax.jit(lambda g, w: _convolving.grad_input(g, w, x_shape, geo))(g, w))
    g_w = np.asarray(jax.jit(lambda g, x: _convolving.grad_weight(g, x, w_shape, geo))(g, x))
    assert g_x.shape == x_shape and g_w.shape == w_shape
    for _ in range(3):
        other_x, other_w = r.randn(*x_shape), r.randn(*w_shape)
        scale = np.abs(g).sum() * 3
        assert (
            abs((g_x * other_x).sum() - (g * _loops(other_x, w.astype("float64"), geo)).sum())
            < tol * scale
        )
        assert (
            abs((g_w * other_w).sum() - (g * _loops(x.astype("float64"), other_w, geo)).sum())
            < tol * scale
        )


@pytest.mark.parametrize(
    "case",
    ["kernel larger than the image", "kernel larger than the row", "few positions of many weights"],
)
def test_small_images_are_products_of_matrices(case: str) -> None:
    x_shape, w_shape, geo = CASES[case]
    x, w = (np.ones(shape, np.float32) for shape in (x_shape, w_shape))
    g = np.ones((x_shape[0], w_shape[0], *geo.out_size(x_shape[2:], w_shape[2:])), np.float32)
    for traced in (
        jax.make_jaxpr(lambda x, w: _convolving.forward(x, w, geo))(x, w),
        jax.make_jaxpr(lambda g, w: _convolving.grad_input(g, w, x_shape, geo))(g, w),
    ):
        text = str(traced)
        assert "dot_general" in text and "conv_general_dilated" not in text


def test_few_outputs_and_channels_need_no_convolution_of_xlas() -> None:
    """XLA's routine takes 2 to 50 times as long where there are few of either."""

    def primitives(function: object, *operands: np.ndarray) -> str:
        return str(jax.make_jaxpr(function)(*operands))

    for case, forward in (("few outputs", False), ("one channel, many taps", True)):
        x_shape, w_shape, geo = CASES[case]
        x, w = (np.ones(shape, np.float32) for shape in (x_shape, w_shape))
        g = np.ones((x_shape[0], w_shape[0], *geo.out_size(x_shape[2:], w_shape[2:])), np.float32)
        texts = [
            primitives(lambda g, w, s=x_shape, geo=geo: _convolving.grad_input(g, w, s, geo), g, w)
        ]
        if forward:
            texts.append(primitives(lambda x, w, geo=geo: _convolving.forward(x, w, geo), x, w))
        else:
            texts.append(
                primitives(
                    lambda g, x, s=w_shape, geo=geo: _convolving.grad_weight(g, x, s, geo), g, x
                )
            )
        assert not any("conv_general_dilated" in text for text in texts)


@pytest.mark.parametrize("padding", [0, "same", "valid", (1, 2)])
def test_function_adds_bias_and_has_second_derivatives(padding: object) -> None:
    r = np.random.RandomState(2)
    x = torch.tensor(r.randn(1, 2, 4, 5), requires_grad=True)
    w = torch.tensor(r.randn(3, 2, 3, 3), requires_grad=True)
    b = torch.tensor(r.randn(3), requires_grad=True)
    call = lambda x, w, b: F.conv2d(x, w, b, padding=padding)  # noqa: E731
    pads = {
        0: ((0, 0), (0, 0)),
        "valid": ((0, 0), (0, 0)),
        "same": ((1, 1), (1, 1)),
        (1, 2): ((1, 1), (2, 2)),
    }[padding]  # type: ignore[index]
    wanted = (
        _loops(x.detach().numpy(), w.detach().numpy(), Geometry((1, 1), pads, (1, 1), 1))
        + b.detach().numpy()[:, None, None]
    )
    np.testing.assert_allclose(call(x, w, b).detach().numpy(), wanted, 1e-10)
    assert torch.autograd.gradcheck(call, (x, w, b))
    # the others are made of the same pieces, and take as long to compile
    if padding in (0, "same"):
        assert torch.autograd.gradgradcheck(call, (x, w, b))


def test_transposed_is_the_adjoint() -> None:
    r = np.random.RandomState(3)
    x = torch.tensor(r.randn(1, 2, 4, 4), requires_grad=True)
    w = torch.tensor(r.randn(2, 3, 3, 3), requires_grad=True)  # from 2 to 3 channels
    y = F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)
    assert y.shape == (1, 3, 8, 8)
    other = torch.tensor(r.randn(1, 3, 8, 8))
    back = F.conv2d(other, w.detach(), stride=2, padding=1)
    np.testing.assert_allclose((y * other).sum().item(), (x * back).sum().item(), rtol=1e-10)
    assert torch.autograd.gradcheck(
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), (x, w)
    )


def test_complex_and_half_types() -> None:
    r = np.random.RandomState(4)
    x, w = (
        r.randn(1, 3, 5, 5) + 1j * r.randn(1, 3, 5, 5),
        r.randn(2, 3, 2, 2) + 1j * r.randn(2, 3, 2, 2),
    )
    np.testing.assert_allclose(
        F.conv2d(torch.tensor(x), torch.tensor(w)).numpy(), _loops(x, w, _geo(2)), 1e-10
    )
    found = F.conv2d(
        torch.tensor(x.real, dtype=torch.bfloat16), torch.tensor(w.real, dtype=torch.bfloat16)
    )
    assert found.dtype is torch.bfloat16
    np.testing.assert_allclose(
        found.float().numpy(), _loops(x.real, w.real, _geo(2)), rtol=0.1, atol=0.1
    )


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "options", "words"),
    [
        (
            (1, 3, 5, 5),
            (2, 4, 3, 3),
            {},
            "expected input[1, 3, 5, 5] to have 4 channels, but got 3 channels instead",
        ),
        ((1, 3, 2, 2), (2, 3, 3, 3), {}, "Kernel size can't be greater than actual input size"),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"stride": 0}, "non-positive stride is not supported"),
        (
            (1, 3, 5, 5),
            (2, 3, 3, 3),
            {"padding": "same", "stride": 2},
            "padding='same' is not supported for strided convolutions",
        ),
        ((5, 5), (2, 3, 3, 3), {}, "Expected 3D (unbatched) or 4D (batched) input to conv2d"),
    ],
)
def test_errors_are_torchs(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], options: dict, words: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        F.conv2d(torch.zeros(x_shape), torch.zeros(w_shape), **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_images_without_channels_give_the_bias_and_its_gradient(n: int) -> None:
    conv = getattr(torch.nn.functional, f"conv{n}d")
    x, weight = torch.ones(2, 0, *[4] * n), torch.ones(3, 0, *[3] * n)
    bias = torch.tensor([1.0, 2, 3], requires_grad=True)
    y = conv(x, weight, bias)
    assert y.shape == (2, 3, *[2] * n)
    assert y.sum((0, *range(2, n + 2))).tolist() == [2**n * 2, 2**n * 4, 2**n * 6]
    y.sum().backward()
    assert bias.grad.tolist() == [2 * 2**n] * 3
    # of no image, it is zero
    (none,) = torch.autograd.grad(conv(x[:0], weight, bias).sum(), bias)
    assert none.tolist() == [0] * 3
