"""``torch.ops.quantized``: products, convolutions and pointwise functions of quantised tensors."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ...core import Tensor
from ..aten.overloads import _OpNamespace, namespace_of
from ..bind.everything import _C, F, T
from ..facts import dtypes
from ..facts.errors import not_offered
from . import making
from .activations import clamp
from .methods import joined
from .packed import CellWeights, Conv3dWeight, ConvWeight, EmbeddingWeight, LinearWeight
from .tensor import (
    OneGrid,
    QuantizedTensor,
    could_not_run,
    floats,
    is_quantised,
    like,
    made,
    one_grid,
    rounded,
)

_SPACE: _OpNamespace = namespace_of("quantized")


class Operator:
    """One of ``torch.ops.quantized``: called with tensors and packed weights."""

    def __init__(self, name: str, body: Callable[..., Any]) -> None:
        self.__name__ = name
        self.__module__ = "torch._ops.quantized"
        self.__doc__ = body.__doc__
        self._body = body
        self._qualified_op_name = f"quantized::{name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._body(*args, **kwargs)

    @property
    def default(self) -> Operator:
        """The operator itself, which has one signature."""
        return self

    def overloads(self) -> list[str]:
        """The names of its signatures."""
        return ["default"]

    def __str__(self) -> str:
        return f"quantized.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='quantized.{self.__name__}')>"

    def __deepcopy__(self, memo: object) -> Operator:
        return self

    def __reduce__(self) -> Any:
        return _by_name, (self.__name__,)


def _by_name(name: str) -> Any:
    return getattr(_SPACE, name)


def operator(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: enters an operator under its names."""

    def enter(body: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            setattr(_SPACE, name, Operator(name, body))
        return body

    return enter


def _shifted() -> bool:
    """Whether the engine chosen is one that rounds after the zero point was added."""
    found = sys.modules.get("jtorch.backends.quantized")
    return found is None or found.engine in ("x86", "onednn")


def _onednn() -> bool:
    found = sys.modules.get("jtorch.backends.quantized")
    return found is not None and found.engine == "onednn"


def _quantised(x: Any, name: str) -> QuantizedTensor:
    if not is_quantised(x):
        raise could_not_run(name) if x is None else _not_quantised(name)
    return x


def _not_quantised(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend. This could be "
        "because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build)."
    )


# ---- linear --------------------------------------------------------------------------------------


@operator("linear_prepack", "linear_prepack_legacy")
def linear_prepack(W: Any, B: Any = None) -> LinearWeight:
    """A quantised matrix and a bias, packed."""
    weight = _quantised(W, "linear_prepack")
    if weight._ints.dim() != 2:
        raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be "
                           "2-dimensional.")  # fmt: skip
    return LinearWeight(weight, B)


@operator("linear_prepack_fp16", "linear_prepack_fp16_legacy")
def linear_prepack_fp16(W: Tensor, B: Any = None) -> LinearWeight:
    """A matrix rounded to half precision, and a bias."""
    most = dtypes.finfo(dtypes.float16).max
    return LinearWeight(T.clamp(W.detach(), -most, most).half().float(), B)


@operator("linear_unpack", "linear_unpack_fp16", "linear_unpack_legacy",
          "linear_unpack_fp16_legacy")  # fmt: skip
def linear_unpack(W_prepack: LinearWeight) -> Any:
    """The matrix and the bias."""
    return W_prepack.unpack()


def _detached(bias: Any) -> Any:
    return None if bias is None else bias.detach()


def _linear(X: Any, W: LinearWeight, scale: float, zero: int, relu: bool = False) -> Any:
    x = _quantised(X, "linear_relu" if relu else "linear")
    of, out = one_grid(x, "input has one scale"), OneGrid(float(scale), int(zero))
    ints = _C._quantized_linear(
        x._ints, of.scale, of.zero, W.weight._ints, *W.weight._grid.weights(), _detached(W._bias),
        out.scale, out.zero, relu, _onednn(),
    )  # fmt: skip
    return made(ints, out)


@operator("linear")
def linear(X: Any, W_prepack: LinearWeight, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """A linear layer of integers."""
    return _linear(X, W_prepack, Y_scale_i, Y_zero_point_i)


@operator("linear_relu")
def linear_relu(X: Any, W_prepack: LinearWeight, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """A linear layer of integers, and the larger of its numbers and 0."""
    return _linear(X, W_prepack, Y_scale_i, Y_zero_point_i, True)


@operator("linear_leaky_relu")
def linear_leaky_relu(
    X: Any, W_prepack: LinearWeight, Y_scale_i: float, Y_zero_point_i: int, negative_slope: float
) -> Any:
    """A linear layer of integers whose negative numbers are multiplied by a slope."""
    return _after(
        X, W_prepack, Y_scale_i, Y_zero_point_i, lambda y: F.leaky_relu(y, negative_slope)
    )


@operator("linear_tanh")
def linear_tanh(X: Any, W_prepack: LinearWeight, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """A linear layer of integers, and its hyperbolic tangent."""
    return _after(X, W_prepack, Y_scale_i, Y_zero_point_i, T.tanh)


def _after(X: Any, W: LinearWeight, scale: float, zero: int, f: Callable[[Any], Any]) -> Any:
    x = _quantised(X, "linear")
    numbers = F.linear(floats(x), floats(W.weight), _detached(W._bias))
    return rounded(f(numbers), OneGrid(float(scale), int(zero)), x._ints.dtype)


def _dynamic(X: Any, W: LinearWeight, reduce_range: bool, relu: bool) -> Any:
    if is_quantised(X) or X.dtype is not dtypes.float32:
        raise RuntimeError("quantized::linear_dynamic (fbgemm): The input must be a float tensor.")
    if X.shape[-1] != W.weight._ints.shape[1]:
        raise RuntimeError(
            "The number of columns in the X tensor must match the number of rows in the weight "
            f"matrix: {X.shape[-1]} and {W.weight._ints.shape[1]}."
        )
    return _C._quantized_linear_dynamic(
        X.detach(), W.weight._ints, *W.weight._grid.weights(), _detached(W._bias),
        bool(reduce_range), relu,
    )  # fmt: skip


@operator("linear_dynamic")
def linear_dynamic(X: Tensor, W_prepack: LinearWeight, reduce_range: bool = False) -> Any:
    """A linear layer of floats that are rounded to integers by their range."""
    return _dynamic(X, W_prepack, reduce_range, False)


@operator("linear_relu_dynamic")
def linear_relu_dynamic(X: Tensor, W_prepack: LinearWeight, reduce_range: bool = False) -> Any:
    """The same, and the larger of its numbers and 0."""
    return _dynamic(X, W_prepack, reduce_range, True)


@operator("linear_dynamic_fp16")
def linear_dynamic_fp16(X: Tensor, W_prepack: LinearWeight) -> Any:
    """A linear layer whose matrix has half precision."""
    return F.linear(X.detach(), W_prepack.weight, _detached(W_prepack._bias))


@operator("linear_relu_dynamic_fp16")
def linear_relu_dynamic_fp16(X: Tensor, W_prepack: LinearWeight) -> Any:
    """The same, and the larger of its numbers and 0."""
    return T.relu(linear_dynamic_fp16(X, W_prepack))


# ---- convolutions --------------------------------------------------------------------------------


def _wide(w: QuantizedTensor) -> QuantizedTensor:
    """A weight of one dimension as one of two."""
    return made(w._ints.unsqueeze(-2), w._grid)


def _prepack(n: int, transposed: bool) -> Callable[..., Any]:
    def prepack(
        weight: Any, bias: Any, stride: Any, padding: Any, *more: Any, **named: Any
    ) -> ConvWeight:
        """A convolution's weight and bias, packed."""
        _quantised(weight, f"conv{n}d_prepack")
        output: Any = named.get("output_padding", ())
        rest = [*more]
        if transposed and len(rest) == 3:
            output = rest.pop(0)
        dilation = rest[0] if rest else named["dilation"]
        groups = rest[1] if len(rest) > 1 else named["groups"]
        if n == 1:
            weight = _wide(weight)
            stride, padding, dilation = [1, *stride], [0, *padding], [1, *dilation]
            output = [0, *output] if output else output
        kind = Conv3dWeight if n == 3 else ConvWeight
        return kind(weight, bias, stride, padding, dilation, groups, output, transposed)

    return prepack


def _unpack(n: int) -> Callable[..., Any]:
    def unpack(packed_weights: ConvWeight) -> Any:
        """The weight and the bias."""
        weight, bias = packed_weights.unpack()
        return (made(weight._ints.squeeze(-2), weight._grid) if n == 1 else weight), bias

    return unpack


for _n in (1, 2, 3):
    operator(f"conv{_n}d_prepack")(_prepack(_n, False))
    operator(f"conv_transpose{_n}d_prepack")(_prepack(_n, True))
    operator(f"conv{_n}d_unpack", f"conv_transpose{_n}d_unpack")(_unpack(_n))
for _n in (2, 3):
    for _part in ("stride", "padding", "output_padding", "dilation"):
        operator(f"conv{_n}d_{_part}", f"conv_transpose{_n}d_{_part}")(
            lambda packed, _part=_part: getattr(packed, _part)()
        )
    operator(f"conv{_n}d_groups", f"conv_transpose{_n}d_groups")(lambda packed: packed.groups())
    operator(f"conv{_n}d_transpose", f"conv_transpose{_n}d_transpose")(
        lambda packed: int(packed.transposed)
    )


def _conv(x: Any, w: ConvWeight, scale: Any, zero: Any, relu: bool, name: str) -> Any:
    x = _quantised(x, name)
    of, out = one_grid(x, "input has one scale"), OneGrid(float(scale), int(zero))
    if x._ints.dim() != w._weight_dims():
        raise RuntimeError(f"Expected {w._weight_dims()}D input to {name}")
    if w.transposed:
        numbers = _transposed_sum(x, w)
        return rounded(T.relu(numbers) if relu else numbers, out, x._ints.dtype)
    ints = _C._quantized_conv(
        x._ints, of.scale, of.zero, w.weight._ints, *w.weight._grid.weights(), _detached(w._bias),
        out.scale, out.zero, tuple(w._stride), tuple(w._padding), tuple(w._dilation), w._groups,
        relu, _shifted() and w._groups <= 100,
    )  # fmt: skip
    return made(ints, out)


def _transposed_sum(x: Any, w: ConvWeight) -> Any:
    """A transposed convolution as floats: of whole numbers in double precision, which is exact."""
    grid = w.weight._grid
    zeros = grid.zero if isinstance(grid, OneGrid) else grid.operands(w.weight._ints.dim())[1]
    weight = w.weight._ints.double() - zeros
    function = F.conv_transpose3d if w.spatial == 3 else F.conv_transpose2d
    of = x._grid
    total = function(
        x._ints.double() - of.zero, weight, None, w._stride, w._padding, w._output_padding,
        w._groups, w._dilation,
    )  # fmt: skip
    scales, _ = grid.weights()
    product = of.scale * scales
    if isinstance(scales, Tensor):
        product = product.float().reshape(1, -1, *[1] * w.spatial)
    found = (total.float() * product).float()
    return found if w._bias is None else found + w._bias.detach().reshape(1, -1, *[1] * w.spatial)


def _flat(n: int, f: Callable[[Any], Any], x: Any) -> Any:
    """Applies a function of images to rows."""
    if n != 1:
        return f(x)
    if is_quantised(x):
        found = f(made(x._ints.unsqueeze(-2), x._grid))
        return made(found._ints.squeeze(-2), found._grid)
    return f(x.unsqueeze(-2)).squeeze(-2)


def _enter_conv(n: int, name: str, relu: bool) -> None:
    @operator(name)
    def conv(qx: Any, packed_weight: ConvWeight, output_scale: Any, output_zero_point: Any) -> Any:
        """A convolution of integers."""
        _quantised(qx, name)
        return _flat(
            n, lambda x: _conv(x, packed_weight, output_scale, output_zero_point, relu, name), qx
        )


for _n in (1, 2, 3):
    _enter_conv(_n, f"conv{_n}d", False)
    _enter_conv(_n, f"conv{_n}d_relu", True)
    _enter_conv(_n, f"conv_transpose{_n}d", False)


def _enter_dynamic(n: int, name: str, transposed: bool) -> None:
    @operator(name)
    def conv(qx: Tensor, packed_weight: ConvWeight, reduce_range: bool = False) -> Any:
        """A convolution of floats that are rounded to integers by their range."""
        w = packed_weight

        def one(x: Any) -> Any:
            if transposed:
                q = making.quantize_per_tensor_dynamic(x, dtypes.ABSENT["quint8"], reduce_range)
                return _transposed_sum(q, w)
            return _C._quantized_conv_dynamic(
                x.detach(), w.weight._ints, *w.weight._grid.weights(), _detached(w._bias),
                tuple(w._stride), tuple(w._padding), tuple(w._dilation), w._groups,
                bool(reduce_range),
            )  # fmt: skip

        return _flat(n, one, qx)


for _n in (1, 2, 3):
    _enter_dynamic(_n, f"conv{_n}d_dynamic", False)
    _enter_dynamic(_n, f"conv_transpose{_n}d_dynamic", True)


@operator("conv2d_add")
def conv2d_add(
    qx: Any, qaccum: Any, packed_weight: ConvWeight, output_scale: Any, output_zero_point: Any
) -> Any:
    """A convolution of integers, and another tensor added."""
    return _conv_add(qx, qaccum, packed_weight, output_scale, output_zero_point, False)


@operator("conv2d_add_relu")
def conv2d_add_relu(
    qx: Any, qaccum: Any, packed_weight: ConvWeight, output_scale: Any, output_zero_point: Any
) -> Any:
    """The same, and the larger of its numbers and 0."""
    return _conv_add(qx, qaccum, packed_weight, output_scale, output_zero_point, True)


def _conv_add(x: Any, y: Any, w: ConvWeight, scale: Any, zero: Any, relu: bool) -> Any:
    numbers = F.conv2d(
        floats(x), floats(w.weight), _detached(w._bias), w._stride, w._padding, w._dilation,
        w._groups,
    ) + floats(y)  # fmt: skip
    out = OneGrid(float(scale), int(zero))
    return rounded(T.relu(numbers) if relu else numbers, out, x._ints.dtype)


# ---- pointwise -----------------------------------------------------------------------------------


@operator("cat")
def cat(qx: Any, dim: int, scale: Any = None, zero_point: Any = None) -> Any:
    """Tensors one after the other, on a grid; that of the first if none is given."""
    return _joined(qx, dim, scale, zero_point, False)


@operator("cat_relu")
def cat_relu(qx: Any, dim: int, scale: Any = None, zero_point: Any = None) -> Any:
    """The same, and the larger of its numbers and 0."""
    return _joined(qx, dim, scale, zero_point, True)


def _joined(qx: Any, dim: int, scale: Any, zero: Any, relu: bool) -> Any:
    first = one_grid(qx[0], "Only per-tensor quantization is supported in 'cat'!")
    grid = OneGrid(
        first.scale if scale is None else float(scale), first.zero if zero is None else int(zero)
    )
    return joined(qx, dim, grid, relu)


def _apart(x: Any, name: str, f: Callable[[Any], Any], scale: Any, zero: Any) -> Any:
    """A function of a quantised tensor on a grid of its own."""
    x = _quantised(x, name)
    out = OneGrid(float(scale), int(zero))
    return rounded(f(floats(x, True)), out, x._ints.dtype, True)


@operator("hardswish")
def hardswish(input: Any, output_scale: Any, output_zero_point: Any) -> Any:
    """Hardswish."""
    return _apart(input, "hardswish", F.hardswish, output_scale, output_zero_point)


@operator("sigmoid")
def sigmoid(qx: Any, output_scale: Any, output_zero_point: Any) -> Any:
    """Sigmoid."""
    return _apart(qx, "sigmoid", T.sigmoid, output_scale, output_zero_point)


@operator("elu")
def elu(
    self: Any, output_scale: Any, output_zero_point: Any, alpha: Any = 1, scale: Any = 1,
    input_scale: Any = 1,
) -> Any:  # fmt: skip
    """ELU."""
    if scale != 1 or input_scale != 1:
        raise not_offered("quantized::elu(scale, input_scale)", "the function has no such factors")
    return _apart(self, "elu", lambda x: F.elu(x, alpha), output_scale, output_zero_point)


@operator("celu")
def celu(self: Any, output_scale: Any, output_zero_point: Any, alpha: Any = 1) -> Any:
    """CELU."""
    return _apart(self, "celu", lambda x: F.celu(x, alpha), output_scale, output_zero_point)


@operator("leaky_relu")
def leaky_relu(
    qx: Any,
    negative_slope: float,
    inplace: bool,  # noqa: ARG001
    output_scale: Any,
    output_zero_point: Any,
) -> Any:
    """Negative numbers times a slope, on a grid of its own."""
    f = functools.partial(F.leaky_relu, negative_slope=negative_slope)
    return _apart(qx, "leaky_relu", f, output_scale, output_zero_point)


@operator("prelu")
def prelu(qx: Any, weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
    """Negative numbers times slopes, on a grid of its own.

    Differs from torch: positive numbers stay as they are. PyTorch multiplies them by what the grid
    of the slopes has for 1, which is less where it ends before.
    """
    x = _quantised(qx, "prelu")
    out = OneGrid(float(output_scale), int(output_zero_point))
    slopes = floats(weight) if is_quantised(weight) else weight.detach()
    return rounded(F.prelu(floats(x), slopes), out, x._ints.dtype, True)


@operator("softmax")
def softmax(qx: Any, dim: int, output_scale: Any, output_zero_point: Any) -> Any:
    """Softmax on a grid of its own."""
    x = _quantised(qx, "softmax")
    out = OneGrid(float(output_scale), int(output_zero_point))
    return rounded(F.softmax(floats(x), dim), out, x._ints.dtype)


@operator("threshold")
def threshold(qx: Any, threshold: float, value: float) -> Any:
    """A number in place of those that are not larger."""
    return like(qx, F.threshold(floats(qx), threshold, value))


operator("relu6")(lambda qx, *_: clamp(qx, 0, 6))
operator("clamp")(clamp)


@operator("dropout")
def _dropout(
    self: Any,
    output_scale: Any,  # noqa: ARG001
    output_zero_point: Any,  # noqa: ARG001
    p: Any = 0.5,  # noqa: ARG001
    training: bool = False,  # noqa: ARG001
) -> Any:
    """The tensor itself: as in PyTorch, nothing is dropped."""
    return self


# ---- normalisation -------------------------------------------------------------------------------


def _enter_norm(name: str, relu: bool) -> None:
    @operator(name)
    def batch_norm(
        qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float,
        output_scale: Any, output_zero_point: Any,
    ) -> Any:  # fmt: skip
        """Batch normalisation by given statistics."""
        x = _quantised(qx, name)
        given = [None if v is None else v.detach() for v in (mean, var, weight, bias)]
        found = F.batch_norm(floats(x), *given, False, 0.0, eps)
        out = OneGrid(float(output_scale), int(output_zero_point))
        return rounded(T.relu(found) if relu else found, out, x._ints.dtype)


for _n in ("", "1d", "2d", "3d"):
    _enter_norm(f"batch_norm{_n}", False)
    _enter_norm(f"batch_norm{_n}_relu", True)


def _normalised(x: Any, f: Callable[[Any], Any], scale: Any, zero: Any) -> Any:
    out = OneGrid(float(scale), int(zero))
    return rounded(f(floats(x)), out, x._ints.dtype)


@operator("layer_norm")
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float,
    output_scale: Any, output_zero_point: Any,
) -> Any:  # fmt: skip
    """Layer normalisation."""
    return _normalised(
        input,
        lambda x: F.layer_norm(x, normalized_shape, _detached(weight), _detached(bias), eps),
        output_scale,
        output_zero_point,
    )


@operator("group_norm")
def group_norm(
    qx: Any, num_groups: int, weight: Any, bias: Any, eps: float,
    output_scale: Any, output_zero_point: Any,
) -> Any:  # fmt: skip
    """Group normalisation."""
    return _normalised(
        qx,
        lambda x: F.group_norm(x, num_groups, _detached(weight), _detached(bias), eps),
        output_scale,
        output_zero_point,
    )


@operator("instance_norm")
def instance_norm(
    qx: Any, weight: Any, bias: Any, eps: float, output_scale: Any, output_zero_point: Any
) -> Any:
    """Instance normalisation."""
    return _normalised(
        qx,
        lambda x: F.instance_norm(x, weight=_detached(weight), bias=_detached(bias), eps=eps),
        output_scale,
        output_zero_point,
    )


# ---- embeddings ----------------------------------------------------------------------------------


@operator("embedding_bag_prepack")
def embedding_bag_prepack(weight: Any) -> EmbeddingWeight:
    """A table of rows with a grid each, packed."""
    return EmbeddingWeight(_quantised(weight, "embedding_bag_prepack"))


operator("embedding_bag_unpack")(lambda W_prepack: W_prepack.weight)


@operator("embedding_byte")
def embedding_byte(weight: EmbeddingWeight, indices: Tensor, pruned_weights: bool = False) -> Any:  # noqa: ARG001
    """Rows of a table, as floats."""
    return F.embedding(indices, floats(weight.weight))


@operator("embedding_bag_byte")
def embedding_bag_byte(
    weight: EmbeddingWeight,
    indices: Tensor,
    offsets: Any = None,
    scale_grad_by_freq: bool = False,  # noqa: ARG001
    mode: int = 0,
    pruned_weights: bool = False,  # noqa: ARG001
    per_sample_weights: Any = None,
    compressed_indices_mapping: Any = None,  # noqa: ARG001
    include_last_offset: bool = False,
) -> Any:
    """Sums of a table's rows, as floats."""
    if mode != 0:
        raise RuntimeError("embedding_bag_byte_rowwise_offsets: only mode 'sum' is supported")
    return F.embedding_bag(
        indices, floats(weight.weight), None if indices.dim() > 1 else offsets, mode="sum",
        per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
    )  # fmt: skip


# ---- recurrent layers ----------------------------------------------------------------------------


@operator("make_quantized_cell_params_dynamic")
def make_quantized_cell_params_dynamic(
    w_ih: LinearWeight, w_hh: LinearWeight, bias_ih: Any, bias_hh: Any, reduce_range: bool = False
) -> CellWeights:
    """The products of a recurrent layer."""
    return CellWeights(w_ih, w_hh, bias_ih, bias_hh, reduce_range)


@operator("make_quantized_cell_params_fp16")
def make_quantized_cell_params_fp16(w_ih: LinearWeight, w_hh: LinearWeight) -> CellWeights:
    """The same with matrices of half precision."""
    made_ = CellWeights(w_ih, w_hh, w_ih.bias(), w_hh.bias(), False)
    made_.half = True
    return made_
