"""The inverse of maximum pooling: values put back where the maxima were found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from ..facts import dtypes
from ..facts.errors import HIGHEST_LONG
from ._declare import Array, defvjp, guard_range, op
from ._derivatives import A, derivative
from ._facts import schemas
from .adaptive_pooling import _refuse

if TYPE_CHECKING:
    from collections.abc import Callable


def _per_dim(value: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def unpool_size(size, kernel_size, stride, padding, output_size, n: int) -> tuple[int, ...]:
    """The last ``n`` sizes of a result, which are those given where they could be pooled to
    ``size``."""
    kernel, pad = _per_dim(kernel_size, n), _per_dim(padding, n)
    strides = kernel if stride is None else _per_dim(stride, n)
    if len(kernel) > min(n, len(strides), len(pad)):
        raise IndexError("tuple index out of range")
    words = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}[
        max(n, 2)
    ]
    if len(kernel) < n:
        raise RuntimeError(
            f"There should be exactly {words} in output_size, but got {len(kernel) + (n == 1)} "
            "elements."
        )
    for name, given in (("stride", strides), ("padding", pad)):
        if n == 3 and len(given) > n:
            raise RuntimeError(
                f"There should be exactly {words} in {name}, but got: {len(given)} elements."
            )
    default = [
        (s - 1) * st + k - 2 * p
        for s, st, k, p in zip(size[-n:], strides, kernel, pad, strict=False)
    ]
    if output_size is None:
        return _possible(default, n)
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(output_size)}'"
        )
    for d in range(n):
        low, high = default[d] - strides[d], default[d] + strides[d]
        if not low < output_size[d] < high:
            raise ValueError(
                f'invalid output_size "{tuple(output_size)}" (dim {d} must be between {low} and '
                f"{high})"
            )
    return _possible(output_size, n)


def _unpool_output_size(
    input: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_size: Sequence[int] | None,
) -> list[int]:
    """The spatial sizes that unpooling gives, or ``output_size`` where they could be pooled from
    it; PyTorch's layers have it so."""
    sizes = tuple(kernel_size)
    return list(
        unpool_size(input.shape, sizes, tuple(stride), tuple(padding), output_size, len(sizes))
    )


def _possible(size: Sequence[int], n: int) -> tuple[int, ...]:
    """The size, if a tensor can have it.

    Raises:
        ValueError: if it is negative.
        TypeError: if it has more than 64 bits.
        RuntimeError: if there would be more elements than those can count.
    """
    dims = max(n, 2)  # torch runs the one-dimensional case as a two-dimensional one
    for d, m in enumerate(size):
        if m < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{d}]={m}"
            )
        if m > HIGHEST_LONG:
            raise TypeError(
                f"max_unpool{dims}d(): argument 'output_size' failed to unpack the object at pos "
                f"{d + 1} with error "
                '"Overflow when unpacking long long"'
            )
    if math.prod(size) > HIGHEST_LONG:
        raise RuntimeError("numel: integer multiplication overflow")
    return tuple(size)


def _unpool(n: int, input, indices, kernel_size, stride, padding, output_size) -> Array:
    if input.ndim not in (n + 1, n + 2):
        dim = max(n, 2)
        raise RuntimeError(
            f"Input to max_unpooling{dim}d should be a {dim + 1}d or {dim + 2}d Tensor, but got a "
            f"tensor with {input.ndim + dim - n} dimensions."
        )
    if n == 3 and stride is not None and any(s <= 0 for s in _per_dim(stride, n)):
        raise RuntimeError(
            f"strides should be greater than zero, but got stride: {list(_per_dim(stride, n))}"
        )
    size = unpool_size(input.shape, kernel_size, stride, padding, output_size, n)
    if indices.dtype != np.int64:
        given = "" if n == 3 else f" but got: {dtypes.from_np(indices.dtype).scalar_name}"
        raise RuntimeError(f"elements in indices should be type int64{given}")
    if indices.shape != input.shape:
        one = (1,) if n == 1 else ()  # torch runs the one-dimensional case as a two-dimensional one
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*input.shape, *one]}) but got indices tensor with shape: {[*indices.shape, *one]}"
        )
    _refuse(f"max_unpool{max(n, 2)}d", input)
    lead, total = input.shape[:-n], math.prod(size)
    if not total:
        return jnp.zeros((*lead, *size), input.dtype)
    volume = "x".join(map(str, size if n > 1 else (*size, 1)))
    guard_range(
        jnp.flip(indices),  # torch names the last
        0,
        total - 1,
        RuntimeError,
        f"Found an invalid max index: {{}} (output volumes are of size {volume})",
        of=indices,
    )
    planes, count = math.prod(lead), math.prod(input.shape[-n:])
    rows = jnp.arange(planes, dtype=np.int64)[:, None]
    filled = (
        jnp.zeros((planes, total), input.dtype)
        .at[rows, indices.reshape(planes, count)]
        .set(input.reshape(planes, count), mode="drop")
    )
    return filled.reshape(*lead, *size)


def _unpool_rule(n: int):
    def rule(g, _result, input, indices, _kernel_size, _stride=None, _padding=0, _output_size=None):
        planes, count = math.prod(input.shape[:-n]), math.prod(input.shape[-n:])
        taken = jnp.take_along_axis(
            g.reshape(planes, math.prod(g.shape[-n:])), indices.reshape(planes, count), 1
        )
        return taken.reshape(input.shape), None

    return rule


def _alert(n: int):
    """What PyTorch says is not deterministic, which it calls when it knows the size of the
    result."""

    def caller(input, kernel_size, stride, padding, output_size) -> str:
        if input.ndim in (n + 1, n + 2):
            unpool_size(input.shape, kernel_size, stride, padding, output_size, n)
        return f"max_unpooling{max(n, 2)}d_forward_out"

    return caller


@op(namespace="nn.functional", native=False, node="SqueezeBackward1", nondeterministic=_alert(1))
def max_unpool1d(
    input: Array,
    indices: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Array:
    """Puts the maxima that ``max_pool1d`` found back to their places in zeros.

    Shapes: input and indices (N, C, L) or (C, L) -> (N, C, L') or (C, L') with ``L' = (L - 1) *
    stride - 2 * padding + kernel_size``, or as ``output_size`` says.

    Dtypes: floating-point -> the same; others are refused (NotImplementedError). ``indices`` are
    int64.

    Raises:
        ValueError: if ``output_size`` does not fit the pooling's numbers.
        RuntimeError: if an index lies outside.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_unpool1d(torch.tensor([[4.0, 3.0]]), torch.tensor([[1, 2]]), 2)
        tensor([[0., 4., 3., 0.]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@op(
    namespace="nn.functional",
    aten="max_unpool2d",
    strides="image",
    native=False,
    autocast="cpu float32",
    nondeterministic=_alert(2),
)
@schemas("(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor ; =out")
def max_unpool2d(
    input: Array,
    indices: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Array:
    """Puts the maxima that ``max_pool2d`` found back to their places in zeros.

    Shapes: input and indices (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W'), each size
    as for ``max_unpool1d``.
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). ``indices`` are
    int64.

    Raises:
        ValueError: if ``output_size`` does not fit the pooling's numbers.
        RuntimeError: if an index lies outside.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_unpool2d(torch.tensor([[[9.0]]]), torch.tensor([[[2]]]), 2)
        tensor([[[0., 0.],
                 [9., 0.]]])
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@op(
    namespace="nn.functional",
    aten="max_unpool3d",
    native=False,
    autocast="cpu float32",
    nondeterministic=_alert(3),
)
@schemas(
    "(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor "
    "; =out"
)
def max_unpool3d(
    input: Array,
    indices: Array,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Array:
    """Puts the maxima that ``max_pool3d`` found back to their places in zeros.

    Shapes: input and indices (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H',
    W'), each size as for ``max_unpool1d``.
    Dtypes: floating-point -> the same; others are refused (NotImplementedError). ``indices`` are
    int64.

    Raises:
        ValueError: if ``output_size`` does not fit the pooling's numbers.
        RuntimeError: if an index lies outside.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.max_unpool3d(
        ...     torch.tensor([[[[9.0]]]]), torch.tensor([[[[5]]]]), 2
        ... ).flatten()
        tensor([0., 0., 0., 0., 0., 9., 0., 0.])
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


for _n, _kernel in enumerate((max_unpool1d, max_unpool2d, max_unpool3d), 1):
    defvjp(_kernel, _unpool_rule(_n), saves=("indices",))


def _unpool_formula(n: int) -> Callable[..., object]:
    def formula(g: object, self_: Any, indices: object) -> Any:
        flat = [*self_.shape[:-n], -1]
        indices = A.view.default(indices, flat)
        return A.view.default(A.gather.default(A.view.default(g, flat), -1, indices), self_.shape)

    return formula


derivative(A.max_unpool2d, self=_unpool_formula(2))
derivative(A.max_unpool3d, self=_unpool_formula(3))
