"""Cells of recurrent networks, losses of several parts, and pooling of rows, as operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core import Tensor
from ..bind.everything import F, S, T
from ..facts import dtypes
from .by_names import reduction_of
from .functions import route
from .overloads import aten
from .routes_math import linear
from .routes_nn import _reduced

A = aten

# ---- cells ---------------------------------------------------------------------------------------


def elman_step(
    apply: Callable[..., object], of_input: object, hx: object, w_hh: object, b_hh: object
) -> object:
    """``apply`` on the sum of what comes from the input and from the state."""
    return apply(A.add_.Tensor(linear(hx, w_hh, b_hh), of_input))


def _cell(name: str, apply: Callable[..., object]) -> None:
    def run(
        input: object,
        hx: object,
        w_ih: object,
        w_hh: object,
        b_ih: object = None,
        b_hh: object = None,
    ) -> Any:
        hidden = linear(hx, w_hh, b_hh)
        return apply(A.add_.Tensor(linear(input, w_ih, b_ih), hidden))

    route(name)(run)


_cell("rnn_tanh_cell", A.tanh.default)
_cell("rnn_relu_cell", A.relu.default)


def lstm_step(of_input: object, h: object, c: object, w_hh: object, b_hh: object) -> Any:
    """Four gates from the sum of what comes from the input and from the state."""
    return _lstm_gates(A.add_.Tensor(linear(h, w_hh, b_hh), of_input), c)


def _lstm_gates(gates: Tensor, c: object) -> object:
    parts = A.unsafe_split.Tensor(gates, gates._aval.shape[1] // 4, 1)
    come, forget = A.sigmoid_.default(parts[0]), A.sigmoid_.default(parts[1])
    new, out = A.tanh_.default(parts[2]), A.sigmoid_.default(parts[3])
    kept = A.mul.Tensor(forget, c)
    c = A.add_.Tensor(kept, A.mul.Tensor(come, new))
    return A.mul.Tensor(out, A.tanh.default(c)), c


@route(T.lstm_cell)
def lstm_cell(
    input: Tensor, hx: Any, w_ih: object, w_hh: object, b_ih: object = None, b_hh: object = None
) -> Any:
    """Four gates from one sum of two linear maps."""
    h, c = hx
    gates = linear(h, w_hh, b_hh)
    return _lstm_gates(A.add_.Tensor(gates, linear(input, w_ih, b_ih)), c)


def gru_step(of_input: Tensor, hx: object, w_hh: Tensor, b_hh: object) -> Tensor:
    """Three gates from parts of what comes from the input and from the state."""
    size = w_hh._aval.shape[1]
    parts = A.unsafe_split.Tensor(of_input, size, 1)
    of_hidden = A.unsafe_split.Tensor(linear(hx, w_hh, b_hh), size, 1)
    reset = A.sigmoid_.default(A.add_.Tensor(of_hidden[0], parts[0]))
    update = A.sigmoid_.default(A.add_.Tensor(of_hidden[1], parts[1]))
    new = A.tanh_.default(A.add.Tensor(parts[2], A.mul_.Tensor(of_hidden[2], reset)))
    return A.add_.Tensor(A.mul_.Tensor(A.sub.Tensor(hx, new), update), new)


@route(T.gru_cell)
def gru_cell(
    input: Tensor,
    hx: object,
    w_ih: object,
    w_hh: Tensor,
    b_ih: object = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Three gates from parts of two linear maps."""
    return gru_step(linear(input, w_ih, b_ih), hx, w_hh, b_hh)


# ---- losses of several parts ---------------------------------------------------------------------


@route(F.margin_ranking_loss)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
) -> Any:
    """The difference times the negative sign, above the margin."""
    if input1._aval.ndim != target._aval.ndim:
        return NotImplemented
    difference = A.sub.Tensor(input1, input2)
    difference = A.mul.Tensor(A.neg.default(target), difference)
    found = A.clamp_min_.default(A.add.Scalar(difference, margin), 0)
    return _reduced(found, reduction_of(size_average, reduce, reduction))


@route(F.avg_pool1d, T.avg_pool1d)
def avg_pool1d(
    input: Tensor,
    kernel_size: object,
    stride: object = None,
    padding: object = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """``avg_pool2d`` of rows."""
    (k,) = kernel_size if isinstance(kernel_size, (list, tuple)) else (kernel_size,)
    given = stride if isinstance(stride, (list, tuple)) else (k if stride is None else stride,)
    s = given[0] if given else k
    (p,) = padding if isinstance(padding, (list, tuple)) else (padding,)
    found = A.avg_pool2d.default(
        A.unsqueeze.default(input, -2), [1, k], [1, s], [0, p], ceil_mode, count_include_pad
    )
    return A.squeeze.dim(found, -2)


@route(F.adaptive_avg_pool1d, T.adaptive_avg_pool1d)
def adaptive_avg_pool1d(input: Tensor, output_size: object) -> Tensor:
    """``_adaptive_avg_pool2d`` of rows."""
    (n,) = output_size if isinstance(output_size, (list, tuple)) else (output_size,)
    x = A.unsqueeze.default(input, -2)
    found = A.mean.dim(x, [-1, -2], True) if n == 1 else A._adaptive_avg_pool2d.default(x, [1, n])
    return A.squeeze.dim(found, -2)


@route(F.adaptive_max_pool1d, T.adaptive_max_pool1d)
def adaptive_max_pool1d(input: Tensor, output_size: object, return_indices: bool = False) -> Any:
    """``adaptive_max_pool2d`` of rows."""
    (n,) = output_size if isinstance(output_size, (list, tuple)) else (output_size,)
    found, places = A.adaptive_max_pool2d.default(A.unsqueeze.default(input, -2), [1, n])
    found, places = A.squeeze.dim(found, -2), A.squeeze.dim(places, -2)
    return (found, places) if return_indices else found


@route(S.ndtr)
def ndtr(input: Tensor, *, out: object = None) -> Tensor:
    """By ``erf``."""
    if out is not None or not input._aval.differentiable:
        return NotImplemented
    inner = A.erf.default(A.mul.Scalar(input, math.sqrt(0.5)))
    return A.mul.Scalar(A.add.Scalar(inner, 1), 0.5)


@route(T.float_power)
def float_power(input: Tensor, exponent: object, *, out: object = None) -> Tensor:
    """``pow`` of doubles."""
    if out is not None or isinstance(exponent, complex) or isinstance(input, complex):
        return NotImplemented
    given = [t for t in (input, exponent) if isinstance(t, Tensor)]
    dtype = (
        dtypes.complex128 if any(t._aval.torch_dtype.is_complex for t in given) else dtypes.float64
    )
    if not isinstance(input, Tensor):
        (power,) = [
            t if t._aval.torch_dtype is dtype else A._to_copy.default(t, dtype=dtype) for t in given
        ]
        return A.pow.Scalar(float(input), power)
    base, *power = [
        t if t._aval.torch_dtype is dtype else A._to_copy.default(t, dtype=dtype) for t in given
    ]
    return A.pow.Tensor_Tensor(base, power[0]) if power else A.pow.Tensor_Scalar(base, exponent)


@route(F.grid_sample, T.grid_sampler)
def grid_sample(
    input: Tensor,
    grid: object,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: object = None,
) -> Tensor:
    """``grid_sampler_2d.default`` or ``grid_sampler_3d.default``."""
    if input._aval.ndim not in (4, 5):
        return NotImplemented
    ways = {"bilinear": 0, "nearest": 1, "bicubic": 2}.get(mode, mode)
    edges = {"zeros": 0, "border": 1, "reflection": 2}.get(padding_mode, padding_mode)
    sampler = A.grid_sampler_2d if input._aval.ndim == 4 else A.grid_sampler_3d
    return sampler.default(input, grid, ways, edges, bool(align_corners))


@route(F.dropout2d, F.dropout1d, F.dropout3d)
def dropout_nd(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> object:
    """A mask of one number for each channel."""
    if (
        inplace
        or not training
        or p in (0.0, 1.0)
        or not 0 < p < 1
        or input._aval.ndim not in (4, 5)
        or not input._aval.size
    ):
        return NotImplemented
    noise = A.new_empty.default(input, [*input._aval.shape[:2], *[1] * (input._aval.ndim - 2)])
    noise = A.div_.Scalar(A.bernoulli_.float(noise, 1 - p), 1 - p)
    return A.mul.Tensor(input, noise)
