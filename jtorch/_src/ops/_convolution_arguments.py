"""What convolutions are given: numbers for each dimension, types and shapes that fit together, and
the geometry that follows."""

from __future__ import annotations

import numpy as np

from ..facts import dtypes
from ._convolving import Geometry
from ._declare import Array
from ._matrix import cpp_name
from ._numeric import unsupported


def _expand(name: str, value: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    values = (value,) if isinstance(value, int) else tuple(value)
    if len(values) not in (1, n):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the "
            f"convolution dimensions, but got {name}={list(values)}"
        )
    return values * n if len(values) == 1 else values


def _check_types(
    input: Array, weight: Array, bias: Array | None, n: int, transposed: bool = False
) -> None:
    if input.dtype == bool or (transposed and input.dtype.kind in "iu" and input.dtype != np.int64):
        plain = (
            "slow_conv2d_cpu"
            if n < 3
            else "slow_conv3d_cpu"
            if weight.shape[2:] == (1, 1, 1)
            else "compute_columns3d"
        )
        raise unsupported(
            f"slow_conv_transpose{max(n, 2)}d_out_cpu" if transposed else plain, input
        )
    if (
        bias is not None
        and bias.dtype != input.dtype
        and not (transposed and input.dtype != weight.dtype)
    ):
        raise RuntimeError(
            f"Input type ({cpp_name(input)}) and bias type ({cpp_name(bias)}) should be the same"
        )
    if input.dtype != weight.dtype:
        expected, found = (
            dtypes.from_np(input.dtype).scalar_name,
            dtypes.from_np(weight.dtype).scalar_name,
        )
        raise RuntimeError(f"expected scalar type {expected} but found {found}")


def check_rank(name: str, input: Array, n: int) -> None:
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input "
            f"of size: {list(input.shape)}"
        )


def _check_numbers(
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    for i, p in enumerate(padding):
        if p >= 2**62:
            raise RuntimeError(
                f"Given padding={p} at dimension {i} , expected padding to be at most {2**62 - 1}"
            )
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d < 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if any(d == 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_shapes(
    input: Array,
    weight: Array,
    bias: Array | None,
    groups: int,
    transposed: bool,
    geo: Geometry,
    output_padding: tuple[int, ...],
) -> None:
    shape, kernel = list(weight.shape), weight.shape[2:]
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {shape} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{shape}] instead"
        )
    channels, outs = (
        (weight.shape[0], weight.shape[1] * groups)
        if transposed
        else (weight.shape[1] * groups, weight.shape[0])
    )
    given = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {shape}"
    if input.shape[1] != channels:
        raise RuntimeError(
            f"{given}, expected input{list(input.shape)} to have {channels} channels, but got "
            f"{input.shape[1]} channels instead"
        )
    if bias is not None and bias.shape != (outs,):
        start = given if transposed else f"Given weight of size {shape}"
        raise RuntimeError(
            f"{start}, expected bias to be 1-dimensional with {outs} elements, but got bias of "
            f"size {list(bias.shape)} instead"
        )
    if 0 in kernel:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got kernel size {list(kernel)}"
        )
    size = input.shape[2:]
    if transposed:
        _check_transposed(size, kernel, geo, output_padding)
        return
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, geo.dilation, strict=True)]
    padded = [n + lo + hi for n, (lo, hi) in zip(size, geo.padding, strict=True)]
    if any(p < r for p, r in zip(padded, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel "
            f"size: ({' x '.join(map(str, reach))}). Kernel size can't be greater than actual "
            "input size"
        )
    if 0 in size:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(input.shape)}"
        )


def _check_transposed(
    size: tuple[int, ...], kernel: tuple[int, ...], geo: Geometry, output_padding: tuple[int, ...]
) -> None:
    if any(
        p >= s and p >= d for p, s, d in zip(output_padding, geo.stride, geo.dilation, strict=True)
    ):
        # torch runs the one-dimensional case as a two-dimensional one of height 1.
        names = ("depth", "height", "width")[-max(len(size), 2) :]
        lists = [
            (0,) * (len(names) - len(size)) + output_padding,
            (1,) * (len(names) - len(size)) + geo.stride,
        ]
        lists.append((1,) * (len(names) - len(size)) + geo.dilation)
        told = [f"{what}_{name}: {v}" for what,
                values in zip(("output_padding", "stride", "dilation"), lists, strict=True)
                for name, v in zip(names, values, strict=True)]  # fmt: skip
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"{' '.join(told)}"
        )
    out = _transposed_size(size, kernel, geo)
    if any(o < 1 for o in out):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, size))}). Calculated output size "
            f"per channel: ({' x '.join(map(str, out))}). Output size is too small"
        )


def _transposed_size(
    size: tuple[int, ...], kernel: tuple[int, ...], geo: Geometry
) -> tuple[int, ...]:
    return tuple(
        (n - 1) * s - lo - hi + d * (k - 1) + 1
        for n, k, s, (lo, hi), d in zip(
            size, kernel, geo.stride, geo.padding, geo.dilation, strict=True
        )
    )


def geometry_of(
    name: str,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: int | tuple[int, ...],
    padding: int | tuple[int, ...] | str,
    dilation: int | tuple[int, ...],
    groups: int,
    n: int,
) -> Geometry:
    """The checked geometry of a plain convolution; ``input`` has its batch dimension."""
    if weight.ndim != n + 2:
        if weight.ndim < 3:
            raise RuntimeError("weight should have at least three dimensions")
        n_weight = weight.ndim - 2
        if padding == "same":
            raise RuntimeError(
                f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional "
                f"weight{list(weight.shape)}, but got {input.ndim}-dimensional input of size "
                f"{list(input.shape)} instead"
            )
        _expand("stride", (stride,) * n if isinstance(stride, int) else stride, n_weight)
        raise RuntimeError(
            f"Expected {n + 2}D weight for {name}, but got weight of size: {list(weight.shape)}"
        )
    strides, dilations = _expand("stride", stride, n), _expand("dilation", dilation, n)
    if isinstance(padding, str):
        pairs = _named_padding(padding, strides, dilations, weight.shape[2:])
        _check_numbers(strides, (), dilations, (), groups)
    else:
        paddings = _expand("padding", padding, n)
        _check_numbers(strides, paddings, dilations, (), groups)
        pairs = tuple((p, p) for p in paddings)
    _check_types(input, weight, bias, n)
    geo = Geometry(strides, pairs, dilations, groups)
    _check_shapes(input, weight, bias, groups, False, geo, ())
    return geo


def _named_padding(
    padding: str, stride: tuple[int, ...], dilation: tuple[int, ...], kernel: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    if padding == "valid":
        return ((0, 0),) * len(stride)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple((t // 2, t - t // 2) for t in totals)


def transposed_geometry_of(
    input, weight, bias, stride, padding, output_padding, groups, dilation, n
):
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 2}D weight for conv_transpose{n}d, but got weight of size: "
            f"{list(weight.shape)}"
        )
    strides, paddings = _expand("stride", stride, n), _expand("padding", padding, n)
    dilations, extra = (
        _expand("dilation", dilation, n),
        _expand("output_padding", output_padding, n),
    )
    _check_numbers(strides, paddings, dilations, extra, groups)
    _check_types(input, weight, bias, n, transposed=True)
    # Extra rows of the result are rows less of padding at the end of the convolution that this one
    # is the transpose of.
    geo = Geometry(
        strides, tuple((p, p - e) for p, e in zip(paddings, extra, strict=True)), dilations, groups
    )
    _check_shapes(input, weight, bias, groups, True, geo, extra)
    size = _transposed_size(input.shape[2:], weight.shape[2:], geo)
    return geo, (input.shape[0], weight.shape[1] * groups, *size)
