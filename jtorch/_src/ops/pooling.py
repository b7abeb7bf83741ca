"""Pooling over sliding windows: maximum and average in one, two and three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._declare import Array, defvjp, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._pooling import (
    Windows,
    flat_index,
    out_size,
    spread_evenly,
    spread_to_tap,
    window_argmax,
    window_max,
    window_sum,
)
from ._sizes import counted, counting, numbers

if TYPE_CHECKING:
    from ..facts.kinds import Tree


_WORDS = {2: "two", 3: "three"}
_AXES = {2: "HW", 3: "THW"}

# ---------------------------------------------------------------------------------------- arguments


def _expand(function: str, name: str, value: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    """``value`` for each of ``n`` dimensions, or torch's error for another number of them."""
    values = (value,) if isinstance(value, int) else tuple(value)
    if len(values) not in (1, n):
        if n == 1 and function == "max_pool1d":
            article = (
                "None, an int, list of ints, or" if name == "stride" else "an int, list of ints or"
            )
            raise RuntimeError(
                f"max_pool1d() {name} must be {article} tuple of ints of size 1 but got size "
                f"{len(values)}"
            )
        if n == 1:
            raise RuntimeError(
                f"{function}() argument '{name}' should contain one int (got {len(values)})"
            )
        either = {"stride": "must either be omitted,", "dilation": "must be either"}.get(
            name, "must either be"
        )
        raise RuntimeError(
            f"{function}: {name} {either} a single int, or a tuple of {_WORDS[n]} ints"
        )
    # (PyTorch has no such limit for ``max_pool1d``, and would look at each place of the window.)
    if (function != "max_pool1d" or name == "kernel_size") and any(
        not -(2**31) <= v < 2**31 for v in values
    ):
        raise RuntimeError("value cannot be converted to type int without overflow")
    return values * n if len(values) == 1 else values


def _check_rank(function: str, input: Array, n: int) -> None:
    if n == 1:
        if function == "avg_pool1d" and input.ndim not in (2, 3):
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument "
                "#1 'self' (while checking arguments for avg_pool1d)"
            )
        if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
            raise RuntimeError(
                f"{function}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size "
                f"for input, but got:{list(input.shape)}"
            )
        return
    if function == "avg_pool2d" and input.ndim < 3:  # torch looks at dimension -3 first
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{input.ndim}, "
            f"{input.ndim - 1}], but got -3)"
        )
    if function == "avg_pool2d" and input.ndim > 4:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(input.shape)}"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")


def _check_filled(function: str, input: Array, n: int) -> None:
    """Only the batch may be empty."""
    if n == 1 or 0 not in input.shape[-n - 1 :]:
        return
    if n == 2:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(input.shape)}"
        )
    name = (
        "avg_pool3d()" if function == "avg_pool3d" else "max_pool3d_with_indices_out_cpu_template()"
    )
    raise RuntimeError(
        f"{name}: Expected input's non-batch dimensions to have positive length, but input has a "
        # torch names the size, not the dimension
        f"shape of {list(input.shape)} and non-batch dimension 0 has length zero!"
    )


def _windows(
    function: str,
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None,
    padding: int | tuple[int, ...],
    dilation: int | tuple[int, ...],
    ceil_mode: bool,
    n: int,
    plain_1d: bool = False,
) -> Windows:
    """The checked windows. ``plain_1d``: torch's separate code for ``max_pool1d`` without indices
    or gradient, with words of its own."""
    kernel = _expand(function, "kernel_size", kernel_size, n)
    strides = kernel if stride is None or stride == () else _expand(function, "stride", stride, n)
    paddings, dilations = (
        _expand(function, "padding", padding, n),
        _expand(function, "dilation", dilation, n),
    )
    _check_rank(function, input, n)
    if plain_1d:
        _check_1d(kernel[0], strides[0], paddings[0], dilations[0])
    if 0 in strides:
        raise RuntimeError("stride should not be zero")
    for p, k, d in zip(paddings, kernel, dilations, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )
    for name, values in (("kernel size", kernel), ("stride", strides), ("dilation", dilations)):
        if any(v <= 0 for v in values):
            told = " ".join(
                f"{'k' if name == 'kernel size' else 'd' if name == 'stride' else name}{a}: {v}"
                for a, v in _named(values)
            )
            raise RuntimeError(f"{name} should be greater than zero, but got {told}")
    _check_filled(function, input, n)
    size = input.shape[-n:]
    if n == 3:
        _check_3d(function, size, kernel, paddings)
    out = tuple(
        out_size(*each, ceil_mode)
        for each in zip(size, kernel, strides, paddings, dilations, strict=True)
    )
    if any(o < 1 for o in out):
        if plain_1d:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {out[0]}")
        planes = input.shape[-n - 1]
        # torch runs the one-dimensional case as a two-dimensional one
        ones = (1,) if n == 1 else ()
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (planes, *ones, *size)))}). Calculated output "
            f"size: ({'x'.join(map(str, (planes, *ones, *out)))}). Output size is too small"
        )
    return Windows(size, kernel, strides, paddings, dilations, out)


def _named(values: tuple[int, ...]) -> list[tuple[str, int]]:
    values = (1, *values) if len(values) == 1 else values
    return list(zip(_AXES[len(values)], values, strict=True))


def _check_1d(kernel: int, stride: int, padding: int, dilation: int) -> None:
    for name, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={padding} and kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")


def _check_3d(
    function: str, size: tuple[int, ...], kernel: tuple[int, ...], padding: tuple[int, ...]
) -> None:
    if function == "avg_pool3d" and any(n < k for n, k in zip(size, kernel, strict=True)):
        image = " ".join(f"{a}: {v}" for a, v in zip("THW", size, strict=True))
        window = " ".join(f"k{a}: {k}" for a, k in zip("THW", kernel, strict=True))
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
    if any(p > k // 2 for p, k in zip(padding, kernel, strict=True)):
        (kt, kh, kw), (pt, ph, pw) = kernel, padding
        raise RuntimeError(
            "pad should be smaller than or equal to half of kernel size, but got "
            f"kT: {kt} kW: {kw} kH: {kh} padT: {pt} padW: {pw} padH: {ph}"
        )


def _refuse_types(name: str, input: Array, refused: tuple[str, ...]) -> None:
    if input.dtype.name in refused:
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{dtypes.from_np(input.dtype).scalar_name}'"
        )


# ------------------------------------------------------------------------------------------ maximum


def _max_windows(
    function, input, kernel_size, stride, padding, dilation, ceil_mode, n: int, return_indices: bool
) -> Windows:
    _refuse_types(function, input, ("bool", "complex64", "complex128"))
    return _windows(
        function,
        input,
        kernel_size,
        stride,
        padding,
        dilation,
        ceil_mode,
        n,
        n == 1 and not return_indices,
    )


def _max_pool(
    function, n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
) -> Tree:
    win = _max_windows(
        function, input, kernel_size, stride, padding, dilation, ceil_mode, n, return_indices
    )
    if not return_indices:
        return window_max(input, win)
    values, tap = window_argmax(input, win)
    return values, flat_index(tap, win)


def _max_gradients(kernel, function: str, n: int, always_indices: bool) -> None:
    """The maximum's place is found once, in the forward pass, and kept."""

    def fwd(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        with_indices = always_indices or return_indices
        win = _max_windows(
            function, input, kernel_size, stride, padding, dilation, ceil_mode, n, with_indices
        )
        values, tap = window_argmax(input, win)
        if not with_indices:
            return values, (tap,)
        places = flat_index(tap, win)
        return (values, places), (tap, places)

    def rule(
        g,
        residuals,
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        with_indices = always_indices or return_indices
        win = _max_windows(
            function, input, kernel_size, stride, padding, dilation, ceil_mode, n, with_indices
        )
        return (spread_to_tap(g[0] if with_indices else g, residuals[0], win),)

    defvjp(kernel, rule, fwd=fwd, saves=("input",), shown=(None, 1))


@op(
    namespace="nn.functional",
    aliases=("max_pool1d",),
    aten="max_pool1d",
    strides="signal if return_indices",
    native=("max_pool1d",),
    node="SqueezeBackward1",
    spelled={"max_pool1d": {"return_indices": ""}},
    implicit=True,
)
@schemas(
    "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], "
    "bool ceil_mode=False) -> Tensor"
)
def max_pool1d(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | tuple[Array, Array]:
    """The maximum of each window of a sequence; with ``return_indices`` also its place.

    Shapes: input (N, C, L) or (C, L) -> (N, C, L') or (C, L').

    Dtypes: real ones, kept; the indices are int64.

    Gradient: goes to the first maximum.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for bool and complex tensors.

    Differs from torch: integers are taken without ``return_indices`` too.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[3., 5.]])
        >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 3, stride=1)
        tensor([[3., 5.]])
    """
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@op(
    namespace="nn.functional",
    aliases=("max_pool2d",),
    aten="max_pool2d",
    strides="image",
    native=("max_pool2d",),
    node="MaxPool2DWithIndicesBackward0",
    spelled={"max_pool2d": {"return_indices": ""}},
    implicit=True,
    opaque=True,
)
@schemas(
    "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool "
    "ceil_mode=False) -> Tensor"
)
def max_pool2d(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | tuple[Array, Array]:
    """The maximum of each window of an image; with ``return_indices`` also its place, counted row
    by row.

    Shapes: input (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W').

    Dtypes: real ones, kept; the indices are int64.

    Gradient: goes to the first maximum.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> x = torch.arange(16.0).reshape(1, 4, 4)
        >>> torch.nn.functional.max_pool2d(x, 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
        >>> torch.nn.functional.max_pool2d(x, 2, return_indices=True)[1]
        tensor([[[ 5,  7],
                 [13, 15]]])
    """
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@op(
    namespace="nn.functional",
    aliases=("max_pool3d",),
    aten="max_pool3d",
    strides="volumes",
    native=("max_pool3d",),
    node="MaxPool3DWithIndicesBackward0",
    autocast="cpu float32",
    spelled={"max_pool3d": {"return_indices": ""}},
    implicit=True,
    opaque=True,
)
@schemas(
    "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool "
    "ceil_mode=False) -> Tensor"
)
def max_pool3d(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | tuple[Array, Array]:
    """The maximum of each window of a volume; with ``return_indices`` also its place, counted plane
    by plane and row by row.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W').

    Dtypes: real ones, kept; the indices are int64.

    Gradient: goes to the first maximum.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    return _max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@op(
    namespace="nn.functional",
    aliases=("max_pool1d_with_indices",),
    native=("max_pool1d_with_indices",),
    aten="max_pool1d_with_indices",
    strides="signal",
    node="SqueezeBackward1",
    spelled={"max_pool1d_with_indices": {"return_indices": ""}},
    dispatched="in parts",
)
@schemas(
    "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], "
    "bool ceil_mode=False) -> (Tensor, Tensor)",
)
def max_pool1d_with_indices(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Array, Array]:
    """``max_pool1d`` that always returns the indices too.

    Shapes: input (N, C, L) or (C, L) -> twice (N, C, L') or (C, L').

    Dtypes: real ones, kept; the indices are int64.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        (tensor([[3., 5.]]), tensor([[1, 3]]))
    """
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )


@op(namespace="nn.functional", aten="max_pool2d_with_indices", strides="image", native=False)
@schemas(
    "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool "
    "ceil_mode=False) -> (Tensor, Tensor) ; =out:out,indices",
)
def max_pool2d_with_indices(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Array, Array]:
    """``max_pool2d`` that always returns the indices too.

    Shapes: input (N, C, H, W) or (C, H, W) -> twice (N, C, H', W') or (C, H', W').

    Dtypes: real ones, kept; the indices are int64.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_pool2d_with_indices(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
        (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )


derivative(
    A.max_pool2d_with_indices,
    results=(0,),
    self=lambda g, self, kernel_size, stride, padding, dilation, ceil_mode, result1: (
        A.max_pool2d_with_indices_backward.default(
            g, self, kernel_size, stride, padding, dilation, ceil_mode, result1
        )
    ),
)


@op(namespace="nn.functional", aten="max_pool3d_with_indices", strides="volumes", native=False)
@schemas(
    "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool "
    "ceil_mode=False) -> (Tensor, Tensor) ; =out:out,indices",
)
def max_pool3d_with_indices(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Array, Array]:
    """``max_pool3d`` that always returns the indices too.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> twice (N, C, D', H', W') or (C, D', H', W').

    Dtypes: real ones, kept; the indices are int64.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_pool3d_with_indices(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return _max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )


derivative(
    A.max_pool3d_with_indices,
    results=(0,),
    self=lambda g, self, kernel_size, stride, padding, dilation, ceil_mode, result1: (
        A.max_pool3d_with_indices_backward.default(
            g, self, kernel_size, stride, padding, dilation, ceil_mode, result1
        )
    ),
)


_MAX_POOLS = (
    (max_pool1d, max_pool1d_with_indices),
    (max_pool2d, max_pool2d_with_indices),
    (max_pool3d, max_pool3d_with_indices),
)
for _n, _kernels in enumerate(_MAX_POOLS, 1):
    for _kernel in _kernels:
        _max_gradients(_kernel, f"max_pool{_n}d", _n, _kernel is _kernels[1])


# ------------------------------------------------------------------------------------------ average


def _counts(
    win: Windows, count_include_pad: bool, divisor_override: int | None
) -> Array | np.ndarray | int:
    """What each window's sum is divided by. Padding counts at most as far as it was asked for, not
    what ``ceil_mode`` adds."""
    if divisor_override is not None:
        return divisor_override
    counts = []
    for n, k, s, p, o in zip(win.size, win.kernel, win.stride, win.padding, win.out, strict=True):
        known = numbers(n, o)
        xp, size = np if known else jnp, counted(n, np.dtype(np.int64))
        start = counting(o) * s - p
        end = xp.minimum(start + k, size + p)
        counts.append(
            end - start if count_include_pad else xp.minimum(end, size) - xp.maximum(start, 0)
        )
    total = counts[0]
    for i, each in enumerate(counts[1:], 1):
        total = total[..., None] * each.reshape((1,) * i + each.shape)
    if not isinstance(total, np.ndarray):
        return total
    return int(total.flat[0]) if (total == total.flat[0]).all() else total


def _divide(total: Array, counts: Array | np.ndarray | int) -> Array:
    divisor = jnp.asarray(counts, total.dtype)
    if divisor.ndim:
        divisor = jnp.broadcast_to(
            divisor.reshape((1,) * (total.ndim - divisor.ndim) + divisor.shape), total.shape
        )
    else:
        divisor = jnp.broadcast_to(divisor, total.shape)
    return lax.div(total, divisor)  # integers are divided towards zero


def _avg_windows(
    function, input, kernel_size, stride, padding, ceil_mode, divisor_override, n: int
) -> Windows:
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    win = _windows(function, input, kernel_size, stride, padding, 1, ceil_mode, n)
    refused = ("bool", "uint8", "int8", "int16", "int32", "complex64", "complex128")
    _refuse_types("avg_pool3d_out_frame" if n == 3 else "avg_pool2d", input, refused)
    return win


def _avg_pool(
    function, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
) -> Array:
    win = _avg_windows(
        function, input, kernel_size, stride, padding, ceil_mode, divisor_override, n
    )
    wide = _accumulator(input)
    return _divide(window_sum(wide, win), _counts(win, count_include_pad, divisor_override)).astype(
        input.dtype
    )


def _accumulator(x: Array) -> Array:
    """Halves are summed in float32."""
    return (
        x.astype(np.float32)
        if x.dtype.itemsize == 2 and jnp.issubdtype(x.dtype, jnp.floating)
        else x
    )


def _avg_gradient(kernel, function: str, n: int) -> None:
    def rule(
        g,
        _result,
        input,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        win = _avg_windows(
            function, input, kernel_size, stride, padding, ceil_mode, divisor_override, n
        )
        share = _divide(_accumulator(g), _counts(win, count_include_pad, divisor_override))
        return (spread_evenly(share, win).astype(g.dtype),)

    defvjp(kernel, rule, saves=())


@op(
    namespace="nn.functional",
    aliases=("avg_pool1d",),
    aten="avg_pool1d",
    strides="signal",
    node="SqueezeBackward1",
    implicit=True,
)
@schemas(
    "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, "
    "bool count_include_pad=True) -> Tensor ; =out",
)
def avg_pool1d(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """The average of each window of a sequence; padding counts as zeros, or not at all without
    ``count_include_pad``.

    Shapes: input (N, C, L) or (C, L) -> (N, C, L') or (C, L').

    Dtypes: real floating-point ones and int64, kept.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[2.0000, 3.5000]])
        >>> torch.nn.functional.avg_pool1d(
        ...     torch.tensor([[2.0, 4.0]]), 2, padding=1, count_include_pad=False
        ... )
        tensor([[2., 4.]])
    """
    return _avg_pool(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


@op(namespace="nn.functional", aten="avg_pool2d", strides="image", opaque=True)
@schemas(
    "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None) -> Tensor ; =out",
)
def avg_pool2d(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The average of each window of an image, or its sum divided by ``divisor_override``.

    Shapes: input (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W').

    Dtypes: real floating-point ones and int64, kept.

    Raises:
        RuntimeError: for more dimensions, windows that do not fit, or a divisor 0.
        IndexError: for fewer than three dimensions.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    return _avg_pool(
        "avg_pool2d",
        2,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


@op(namespace="nn.functional", aten="avg_pool3d", autocast="cpu float32", opaque=True)
@schemas(
    "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None) -> Tensor ; =out",
)
def avg_pool3d(
    input: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The average of each window of a volume, or its sum divided by ``divisor_override``.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W').

    Dtypes: real floating-point ones and int64, kept.

    Raises:
        RuntimeError: for other dimensions, windows that do not fit, or a divisor 0.
        NotImplementedError: for other dtypes.

    Differs from torch: float16 and bfloat16 are taken, as PyTorch does on GPUs.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    return _avg_pool(
        "avg_pool3d",
        3,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


for _n, _kernel in enumerate((avg_pool1d, avg_pool2d, avg_pool3d), 1):
    _avg_gradient(_kernel, f"avg_pool{_n}d", _n)
