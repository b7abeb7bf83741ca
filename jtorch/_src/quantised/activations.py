"""Activations of quantised tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bind.everything import PUBLIC, F, T
from ..facts import dtypes
from .methods import _written
from .tensor import (
    OneGrid,
    QuantizedTensor,
    could_not_run,
    enter,
    floats,
    is_quantised,
    like,
    made,
    not_strided,
    rounded,
)


@enter("relu")
def relu(input: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
    """The larger of each number and 0."""
    if isinstance(input._grid, OneGrid):
        found = made(T.clamp(input._ints, min=input._grid.zero), input._grid)
    else:
        found = like(input, T.relu(floats(input)))
    return _written(input, found) if inplace else found


enter("relu_")(lambda input: relu(input, True))


@enter("clamp", "clip", "hardtanh")
def clamp(input: QuantizedTensor, min: Any = None, max: Any = None, **_: Any) -> QuantizedTensor:
    """Numbers within bounds that are rounded to the grid."""
    low, high = (
        None if x is None else like(input, T.full((), float(x), dtype=dtypes.float32))._ints
        for x in (min, max)
    )
    return made(T.clamp(input._ints, low, high), input._grid)


@enter("hardtanh")
def hardtanh(
    input: QuantizedTensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> QuantizedTensor:
    """Numbers within bounds."""
    found = clamp(input, min_val, max_val)
    return _written(input, found) if inplace else found


enter("hardtanh_")(lambda input, a=-1.0, b=1.0: hardtanh(input, a, b, True))
enter("clamp_", "clip_")(lambda input, min=None, max=None: _written(input, clamp(input, min, max)))


def _fixed(name: str, scale: float, zero: dict[Any, int]) -> Callable[..., Any]:
    """A function whose results lie in one interval, and have a grid of their own for it."""
    path = name if name in PUBLIC else f"nn.functional.{name}"

    def applied(input: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
        found = PUBLIC[path](floats(input, True))
        grid = OneGrid(scale, zero[input._ints.dtype])
        made_ = rounded(found, grid, input._ints.dtype, True)
        return _written(input, made_) if inplace else made_

    return applied


_UNIT = {dtypes.uint8: 0, dtypes.int8: -128, dtypes.int32: 0}
for _name in ("sigmoid", "hardsigmoid"):
    enter(_name)(_fixed(_name, 1.0 / 256, _UNIT))
enter("tanh")(_fixed("tanh", 2.0 / 256, {dtypes.uint8: 128, dtypes.int8: 0, dtypes.int32: 0}))


@enter("leaky_relu")
def leaky_relu(
    input: QuantizedTensor, negative_slope: float = 0.01, inplace: bool = False
) -> QuantizedTensor:
    """Negative numbers times a slope, on the same grid."""
    found = F.leaky_relu(floats(input, True), negative_slope)
    found = rounded(found, input._grid, input._ints.dtype, True)
    return _written(input, found) if inplace else found


@enter("prelu")
def prelu(input: QuantizedTensor, weight: Any) -> Any:
    """Is refused unless both are quantised."""
    if not is_quantised(weight):
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and "
            f"{weight.dtype.scalar_name}"
        )
    raise not_strided()


@enter("dropout")
def dropout(
    input: QuantizedTensor, p: float = 0.5, training: bool = True, *_: Any, **__: Any
) -> QuantizedTensor:
    """Nothing where nothing is dropped."""
    if training and p:
        raise could_not_run("bernoulli_.float")
    return input
