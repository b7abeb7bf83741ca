"""Convolutions and transposed convolutions in one, two and three dimensions, over
``_convolving``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ._convolution_arguments import check_rank, geometry_of, transposed_geometry_of
from ._convolving import computed, forward, grad_input, grad_weight
from ._declare import Array, defvjp, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._nodes import Made, Rule
from ._numeric import unsupported

_SAVES = ("input", "weight")


# ------------------------------------------------------------------------------ biases


def _add_bias(
    convolve: Callable[[Array, Array], Array], x: Array, weight: Array, bias: Array | None
) -> Array:
    """What a convolution of the two gives, with the bias: halves are rounded once, after that is
    added, where single precision is used."""
    if bias is None:
        return convolve(x, weight)
    result = convolve(computed(x), computed(weight))
    return (result + computed(bias).reshape(1, -1, *(1,) * (result.ndim - 2))).astype(
        np.result_type(x.dtype, bias.dtype)
    )


def _bias_gradient(g: Array, bias: Array | None) -> Array | None:
    """``g`` has its batch dimension."""
    return None if bias is None else jnp.sum(g, (0, *range(2, g.ndim)), dtype=g.dtype)


# ------------------------------------------------------------------------------- plain convolutions


def _conv(
    name: str,
    n: int,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride,
    padding,
    dilation,
    groups: int,
) -> Array:
    check_rank(name, input, n)
    x = input[None] if input.ndim == n + 1 else input
    geo = geometry_of(name, x, weight, bias, stride, padding, dilation, groups, n)
    result = _add_bias(lambda x, weight: forward(x, weight, geo), x, weight, bias)
    return result[0] if input.ndim == n + 1 else result


def _conv_rule(name: str, n: int):
    def rule(
        g: Array,
        _result: None,
        input: Array,
        weight: Array,
        bias=None,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
    ):
        unbatched = input.ndim == n + 1
        x, g = (input[None], g[None]) if unbatched else (input, g)
        geo = geometry_of(name, x, weight, bias, stride, padding, dilation, groups, n)
        g, x, w = _conjugated(g, x, weight)
        gx, gw = grad_input(g, w, x.shape, geo), grad_weight(g, x, w.shape, geo)
        return (
            gx[0] if unbatched else gx,
            gw,
            _bias_gradient(g, bias),
        )

    return rule


def _conjugated(g: Array, x: Array, w: Array) -> tuple[Array, Array, Array]:
    """Factors of complex gradients are conjugated."""
    return (g, jnp.conj(x), jnp.conj(w)) if jnp.iscomplexobj(x) else (g, x, w)


def _node_of_convolution(n: int) -> Rule:
    def rule(made: Made) -> str:
        if made.ndims[0] == n + 1:
            return "SqueezeBackward1"
        return "AddBackward0" if made.is_complex else "ConvolutionBackward0"

    return rule


@op(
    method=False,
    aliases=("nn.functional.conv1d",),
    aten="conv1d",
    saves=_SAVES,
    strides="filtered",
    node=_node_of_convolution(1),
    autocast="lower",
    opaque=True,
)
@schemas(
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], "
    "SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    ".padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str "
    'padding="valid", SymInt[1] dilation=[1], '
    "SymInt groups=1) -> Tensor",
)
def conv1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Array:
    """Correlates sequences with ``weight`` and adds ``bias`` to each output channel. ``padding``
    may be ``"same"`` or ``"valid"``.

    Shapes: input (N, C, L) or (C, L), weight (O, C / groups, K), bias (O) -> (N, O, L') or (O, L').
    Dtypes: all but bool, one for all operands.

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv1d(torch.tensor([[1.0, 2.0, 4.0, 8.0]]), torch.tensor([[[-1.0, 1.0]]]))
        tensor([[1., 2., 4.]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@op(
    method=False,
    aliases=("nn.functional.conv2d",),
    aten="conv2d",
    saves=_SAVES,
    strides="weighted",
    node=_node_of_convolution(2),
    autocast="lower",
    opaque=True,
)
@schemas(
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
    "padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    ".padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str "
    'padding="valid", SymInt[2] dilation=[1, '
    "1], SymInt groups=1) -> Tensor",
)
def conv2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Array:
    """Correlates images with ``weight`` and adds ``bias`` to each output channel. ``padding`` may
    be ``"same"`` or ``"valid"``.

    Args:
        input: a batch of images, with channels, or one image.
        weight: a kernel for each output channel.
        bias: a number for each output channel, or None.
        stride: how far the kernel moves: a number, or one for each dimension.
        padding: zeros to add at each side, or ``"valid"`` or ``"same"``.
        dilation: how far apart the kernel's elements are.
        groups: in how many groups channels are connected.

    Shapes: input (N, C, H, W) or (C, H, W), weight (O, C / groups, KH, KW), bias (O) -> (N, O, H',
    W') or (O, H', W').
    Dtypes: all but bool, one for all operands.

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv2d(torch.arange(9.0).reshape(1, 3, 3), torch.ones(1, 1, 2, 2))
        tensor([[[ 8., 12.],
                 [20., 24.]]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@op(
    method=False,
    aliases=("nn.functional.conv3d",),
    aten="conv3d",
    saves=_SAVES,
    strides="weighted",
    node=_node_of_convolution(3),
    autocast="lower",
    opaque=True,
)
@schemas(
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
    "padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
    ".padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str "
    'padding="valid", '
    "SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
)
def conv3d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Array:
    """Correlates volumes with ``weight`` and adds ``bias`` to each output channel. ``padding`` may
    be ``"same"`` or ``"valid"``.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), weight (O, C / groups, KD, KH, KW), bias (O) ->
    (N, O, D', H', W') or (O, D', H', W').
    Dtypes: all but bool, one for all operands.

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv3d(torch.ones(1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2))
        tensor([[[[8.]]]])
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


# -------------------------------------------------------------------------- transposed convolutions


def _conv_transpose(
    name: str, n: int, input, weight, bias, stride, padding, output_padding, groups, dilation
) -> Array:
    check_rank(name, input, n)
    x = input[None] if input.ndim == n + 1 else input
    geo, shape = transposed_geometry_of(
        x, weight, bias, stride, padding, output_padding, groups, dilation, n
    )
    result = _add_bias(lambda x, weight: grad_input(x, weight, shape, geo), x, weight, bias)
    return result[0] if input.ndim == n + 1 else result


def _conv_transpose_rule(n: int):
    def rule(
        g,
        _result,
        input,
        weight,
        bias=None,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
    ):
        unbatched = input.ndim == n + 1
        x, g = (input[None], g[None]) if unbatched else (input, g)
        geo, _ = transposed_geometry_of(
            x, weight, bias, stride, padding, output_padding, groups, dilation, n
        )
        g, x, w = _conjugated(g, x, weight)
        gx, gw = forward(g, w, geo), grad_weight(x, g, w.shape, geo)
        return (
            gx[0] if unbatched else gx,
            gw,
            _bias_gradient(g, bias),
        )

    return rule


@op(
    method=False,
    aliases=("nn.functional.conv_transpose1d",),
    aten="conv_transpose1d",
    saves=_SAVES,
    strides="filtered",
    node=_node_of_convolution(1),
    autocast="lower",
    implicit=True,
    opaque=True,
)
@schemas(
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], "
    "SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor",
)
def conv_transpose1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Array:
    """The transpose (the gradient for the input) of ``conv1d``: each input element adds a scaled
    kernel to the result.

    Shapes: input (N, C, L) or (C, L), weight (C, O / groups, K), bias (O) -> (N, O, L') or (O, L')
    with ``L' = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1``.

    Dtypes: floating-point, complex and int64, one for all operands; others are refused
    (NotImplementedError).

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 10.0]]]))
        tensor([[ 1., 12., 20.]])
    """
    return _conv_transpose(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@op(
    method=False,
    aliases=("nn.functional.conv_transpose2d",),
    aten="conv_transpose2d.input",
    saves=_SAVES,
    strides="weighted",
    node=_node_of_convolution(2),
    autocast="lower",
    implicit=True,
    opaque=True,
)
@schemas(
    ".input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
    "padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) "
    "-> Tensor",
)
def conv_transpose2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Array:
    """The transpose (the gradient for the input) of ``conv2d``; sizes as for ``conv_transpose1d``
    in each dimension.

    Shapes: input (N, C, H, W) or (C, H, W), weight (C, O / groups, KH, KW), bias (O) -> (N, O, H',
    W') or (O, H', W').
    Dtypes: floating-point, complex and int64, one for all operands; others are refused
    (NotImplementedError).

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv_transpose2d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2, 2), stride=2)
        tensor([[[1., 1., 2., 2.],
                 [1., 1., 2., 2.]]])
    """
    return _conv_transpose(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@op(
    method=False,
    aliases=("nn.functional.conv_transpose3d",),
    aten="conv_transpose3d.input",
    saves=_SAVES,
    strides="weighted",
    node=_node_of_convolution(3),
    autocast="lower",
    implicit=True,
    opaque=True,
)
@schemas(
    ".input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
    "padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] "
    "dilation=[1, 1, 1]) -> Tensor",
)
def conv_transpose3d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Array:
    """The transpose (the gradient for the input) of ``conv3d``; sizes as for ``conv_transpose1d``
    in each dimension.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), weight (C, O / groups, KD, KH, KW), bias (O) ->
    (N, O, D', H', W') or (O, D', H', W').
    Dtypes: floating-point, complex and int64, one for all operands; others are refused
    (NotImplementedError).

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv_transpose3d(torch.tensor([[[[2.0]]]]), torch.ones(1, 1, 1, 1, 3))
        tensor([[[[2., 2., 2.]]]])
    """
    return _conv_transpose(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


for _n, _kernel in enumerate((conv1d, conv2d, conv3d), 1):
    defvjp(_kernel, _conv_rule(_kernel.__name__, _n), saves=_SAVES)
for _n, _kernel in enumerate((conv_transpose1d, conv_transpose2d, conv_transpose3d), 1):
    defvjp(_kernel, _conv_transpose_rule(_n), saves=_SAVES)


# ---------------------------------------------------------------------------------- other entrances


@op(method=False, aten="convolution", saves=_SAVES, opaque=True)
@schemas(
    "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] "
    "dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor ; =out",
)
def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    output_padding: tuple[int, ...],
    groups: int,
) -> Array:
    """The general form of the convolutions in one to three dimensions, plain or ``transposed``;
    every input has a batch dimension.

    Shapes: as for ``conv1d`` to ``conv3d`` and ``conv_transpose1d`` to ``conv_transpose3d``, always
    with N.
    Dtypes: as for these.

    Raises:
        RuntimeError: if shapes, types or numbers do not fit together.

    Example:
        >>> import jtorch as torch
        >>> x, weight = torch.tensor([[[1.0, 2.0, 4.0]]]), torch.tensor([[[-1.0, 1.0]]])
        >>> torch.convolution(x, weight, None, [1], [0], [1], False, [0], 1)
        tensor([[[1., 2.]]])
    """
    n = weight.ndim - 2
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
            f"{list(weight.shape)}, but got {input.ndim}-dimensional input of size "
            f"{list(input.shape)} instead"
        )
    if transposed:
        return _conv_transpose(
            "convolution", n, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _conv("convolution", n, input, weight, bias, stride, padding, dilation, groups)


def _convolution_rule(
    g, _result, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    n = weight.ndim - 2
    if transposed:
        return _conv_transpose_rule(n)(
            g, None, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _conv_rule("convolution", n)(
        g, None, input, weight, bias, stride, padding, dilation, groups
    )


defvjp(convolution, _convolution_rule, saves=_SAVES)


def _convolution_formula(
    g: object,
    input: object,
    weight: object,
    bias_: Any,
    stride: object,
    padding: object,
    dilation: object,
    transposed: object,
    output_padding: object,
    groups: object,
    wants: object,
) -> object:
    sizes = [0] if bias_ is None else bias_.shape
    return A.convolution_backward.default(
        g,
        input,
        weight,
        sizes,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        wants,
    )


derivative(A.convolution, input__weight__bias=_convolution_formula)


@op(
    method=False,
    aliases=("nn.functional.conv_tbc",),
    aten="conv_tbc",
    saves=_SAVES,
    autocast="lower",
)
@schemas(". ; =out")
def conv_tbc(input: Array, weight: Array, bias: Array, pad: int = 0) -> Array:
    """Correlates sequences whose dimensions are (time, batch, channels) with ``weight``,
    zero-padded by ``pad`` on both sides.

    Shapes: input (T, B, C), weight (K, C, O), bias (O) -> (T + 2 * pad - K + 1, B, O).
    Dtypes: all but bool, one for all operands.

    Raises:
        RuntimeError: if shapes do not fit together.

    Example:
        >>> import jtorch as torch
        >>> torch.conv_tbc(
        ...     torch.tensor([[[1.0]], [[2.0]], [[4.0]]]),
        ...     torch.tensor([[[-1.0]], [[1.0]]]),
        ...     torch.zeros(1),
        ... ).flatten()
        tensor([1., 2.])
    """
    _check_tbc(input, weight, bias, pad)
    result = _conv("conv_tbc", 1, *_tbc_operands(input, weight), bias, 1, pad, 1, 1)
    return result.transpose(2, 0, 1)


def _check_tbc(input: Array, weight: Array, bias: Array, pad: int) -> None:
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    length = input.shape[0] + 2 * pad - weight.shape[0] + 1
    if length < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {length}: [{length}, "
            f"{input.shape[1]}, {weight.shape[2]}]"
        )
    if input.dtype == bool:
        raise unsupported("addmm_impl_cpu_", input)


def _tbc_operands(input: Array, weight: Array) -> tuple[Array, Array]:
    return input.transpose(1, 2, 0), weight.transpose(2, 1, 0)


def _conv_tbc_rule(
    g: Array, _result: None, input: Array, weight: Array, bias: Array, pad: int = 0
) -> tuple[Array, Array, Array | None]:
    gx, gw, gb = _conv_rule("conv_tbc", 1)(
        g.transpose(1, 2, 0), None, *_tbc_operands(input, weight), bias, 1, pad, 1, 1
    )
    return gx.transpose(2, 0, 1), gw.transpose(2, 1, 0), gb


defvjp(conv_tbc, _conv_tbc_rule, saves=_SAVES)
