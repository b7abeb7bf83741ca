"""Padding: ``constant_pad_nd`` and ``nn.functional.pad`` in all its modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, Number, guard_range, shape
from ._derivatives import A, derivative
from ._facts import schemas
from ._fitting import number_as
from ._hosted import REALS, hosted
from ._nodes import Made
from ._numeric import require
from ._sizes import numbers, surely

#: Smaller arrays are joined from parts.
_MANY = 1 << 14
_MODES = ("reflect", "replicate", "circular")


@shape(method=False, aten="constant_pad_nd", strides="padded")
@schemas("(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor ; =out")
def constant_pad_nd(input: Array, pad: tuple[int, ...], value: Number = 0) -> Array:
    """Adds ``pad[0]`` elements of ``value`` before and ``pad[1]`` after the last dimension, the
    next pair for the one before it, and so on.

    Negative numbers crop.

    Shapes: the input's, each padded dimension longer by the sum of its pair.

    Dtypes: any, kept; ``value`` is cast.

    Raises:
        RuntimeError: if ``pad`` is of odd length or too long, or a size would become negative.

    Example:
        >>> import jtorch as torch
        >>> torch.constant_pad_nd(torch.tensor([[1, 2]]), (1, 0, 0, 1), 9)
        tensor([[9, 1, 2],
                [9, 9, 9]])
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)}while the input has {input.ndim}dimensions."
        )
    config = [(0, 0, 0)] * input.ndim
    for i in range(len(pad) // 2):
        axis = input.ndim - 1 - i
        low, high, size = pad[2 * i], pad[2 * i + 1], input.shape[axis]
        if numbers(low, high) and surely(lambda: size + min(low, 0) + min(high, 0) < 0):  # noqa: B023
            raise RuntimeError("narrow(): length must be non-negative.")
        if surely(lambda: size + low + high < 0):  # noqa: B023
            raise RuntimeError(
                f"The input size {size}, plus negative padding {low} and {high} resulted in a "
                f"negative output size, which is invalid. Check dimension {axis} of your input."
            )
        config[axis] = (low, high, 0)
    filling = (
        number_as(value, input.dtype)
        if input.dtype.kind in "iu"
        else lax.convert_element_type(value, input.dtype)
    )
    return lax.pad(input, filling, config)


derivative(A.constant_pad_nd, self=lambda g, pad: A.constant_pad_nd.default(g, [-p for p in pad]))


def _node_of_pad(made: Made) -> str:
    mode = made.given("mode") or "constant"
    n = len(made.given("pad") or ()) // 2
    return {
        "reflect": f"ReflectionPad{n}DBackward0",
        "replicate": f"ReplicationPad{n}DBackward0",
        "circular": "torch::autograd::CopySlices",
    }.get(str(mode), "ConstantPadNdBackward0")


@shape(
    namespace="nn.functional",
    aten="pad",
    strides="padded_so",
    native=False,
    node=_node_of_pad,
    autocast="cpu edges",
    implicit=True,
)
@schemas('(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor')
def pad(
    input: Array, pad: tuple[int, ...], mode: str = "constant", value: Number | None = None
) -> Array:
    """Pads the last dimensions: with ``value`` (``"constant"``), mirrored (``"reflect"``), by the
    edge (``"replicate"``), or around (``"circular"``).

    Args:
        input: the tensor.
        pad: the numbers to add before and after, in pairs, from the last dimension on.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: the number to pad with, of the constant mode; 0 if it is None.

    Shapes: ``pad`` holds a pair for the last dimension, then one for the one before it, ...;
    negative numbers crop. The modes other than constant pad all but the first one or two
    dimensions, at most three.

    Dtypes: any, kept; ``"reflect"`` and ``"replicate"`` take no bool tensors.

    Raises:
        RuntimeError: if ``pad`` does not fit the input, or a value is given in another mode than
            constant.
        NotImplementedError: for an unknown mode, or another number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (1, 2), value=7)
        tensor([[7, 1, 2, 3, 7, 7]])
        >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (1, 2), mode="reflect")
        tensor([[2, 1, 2, 3, 2, 1]])
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.ndim}")  # fmt: skip
    if value is not None and jnp.iscomplexobj(value):
        raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
    if mode == "constant":
        if value is not None and input.dtype.kind in "iu":
            # torch's value is a float, which bytes take no negative one of
            value = jnp.asarray(value).astype(np.float64)
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None:
        guard_range(
            value, 0, 0, RuntimeError, f'Padding mode "{mode}" doesn\'t take in value argument'
        )
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) not in (2, 4, 6) or input.ndim not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    n = len(pad) // 2
    if mode != "circular":
        require(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{n}d", input, "ifc")
    if mode != "circular" and 0 in input.shape[-n - 1 :]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and "
            f"other non-zero dimensions for input, but got: {list(input.shape)}"
        )
    pairs = tuple([(pad[2 * i], pad[2 * i + 1]) for i in range(n)])
    _check(input, mode, pairs)
    if mode != "circular":
        whole = type(input.size) is int and input.size >= _MANY and min(pad) >= 0
        return (_at_once if whole else _step_by_step)(
            input, pairs=pairs, reflect=int(mode == "reflect")
        )
    result = input
    for i, (low, high) in enumerate(pairs):
        result = _circular(result, input.ndim - 1 - i, low, high)
    return result


def _check(x: Array, mode: str, pairs: tuple[tuple[int, int], ...]) -> None:
    n, made = len(pairs), list(x.shape)
    for i, (low, high) in enumerate(pairs):
        axis = x.ndim - 1 - i
        size = x.shape[axis]
        if mode == "reflect" and (low >= size or high >= size):
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({low}, {high}) at dimension {axis} of input "
                f"{list(x.shape)}"
            )
        if mode == "circular" and (low > size or high > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        made[axis] = size + low + high
        if mode == "circular" and made[axis] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if mode == "circular":
        return
    if all(m < 1 for m in made[-n:]):
        was, now = (
            [f"{k}: {m}" for k, m in zip("DHW"[-n:], sizes[-n:], strict=True)]
            for sizes in (x.shape, made)
        )
        gap = " " * (n == 2 and mode == "replicate")
        raise RuntimeError(
            f"input ({' '.join(was[:-1])}{', ' * (n > 1)}{was[-1]}{gap}) is too small. Calculated "
            f"output {' '.join(now)}"
        )
    if (bad := next((m for m in made[-n:] if m < 0), None)) is not None:
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {made}")


def _step_by_step(x: Array, *, pairs: tuple[tuple[int, int], ...], reflect: int) -> Array:
    """Reflect and replicate, dimension by dimension from the last one on. Its derivative adds up
    slices."""
    for i, (low, high) in enumerate(pairs):
        x = _mirrored(x, "reflect" if reflect else "replicate", x.ndim - 1 - i, low, high)
    return x


def _places(size: int, low: int, high: int, reflect: int) -> np.ndarray:
    """Where the elements of a padded dimension come from."""
    at = np.arange(-low, size + high)
    if reflect:
        at = np.abs(at)
        return np.where(at >= size, 2 * (size - 1) - at, at)
    return np.clip(at, 0, size - 1)


def _by_numpy(
    pairs: tuple[tuple[int, int], ...], reflect: int
) -> Callable[[np.ndarray], np.ndarray]:
    def padded(x: np.ndarray) -> np.ndarray:
        lead = x.ndim - len(pairs)
        shape = [
            n + low + high for n, (low, high) in zip(x.shape[lead:], reversed(pairs), strict=True)
        ]
        found = np.empty((*x.shape[:lead], *shape), x.dtype)
        middle = tuple(
            [
                slice(low, low + n)
                for n, (low, _) in zip(x.shape[lead:], reversed(pairs), strict=True)
            ]
        )
        found[(..., *middle)] = x
        for i, (low, high) in enumerate(pairs):
            axis, n = x.ndim - 1 - i, x.shape[x.ndim - 1 - i]
            # Of the dimensions before this one only the middle is there yet.
            before = (*[slice(None)] * lead, *middle[: axis - lead])
            places = _places(n, low, high, reflect) + low
            for edge in (slice(0, low), slice(low + n, low + n + high)):
                if edge.start < edge.stop:
                    found[(*before, edge)] = found[(*before, places[edge])]
        return found

    return padded


def _gathered(x: Array, pairs: tuple[tuple[int, int], ...], reflect: int) -> Array:
    for i, (low, high) in enumerate(pairs):
        axis = x.ndim - 1 - i
        if low or high:
            x = jnp.take(x, _places(x.shape[axis], low, high, reflect), axis=axis, mode="clip")
    return x


def _shape(x: Any, *, pairs: tuple[tuple[int, int], ...], reflect: int) -> tuple[int, ...]:
    del reflect
    lead = x.ndim - len(pairs)
    return (
        *x.shape[:lead],
        *[n + low + high for n, (low, high) in zip(x.shape[lead:], reversed(pairs), strict=True)],
    )


@hosted(
    _by_numpy,
    ns=0.3,
    calls=12,
    dtypes=REALS,
    elementwise=False,
    kept=True,
    shape=_shape,
    linear=_step_by_step,
)
def _at_once(x: Array, *, pairs: tuple[tuple[int, int], ...], reflect: int) -> Array:
    """The same by numbers known beforehand: on the CPU XLA takes a third of the time for gathering
    that it takes for joining."""
    return lax.platform_dependent(
        x,
        cpu=functools.partial(_gathered, pairs=pairs, reflect=reflect),
        default=functools.partial(_step_by_step, pairs=pairs, reflect=reflect),
    )


def _mirrored(x: Array, mode: str, axis: int, low: int, high: int) -> Array:
    """Reflect and replicate: what is cropped counts for what is mirrored, so first pad, then
    crop."""
    size = x.shape[axis]
    parts = [x]
    if low > 0:
        edge = (
            lax.slice_in_dim(x, 1, low + 1, axis=axis)
            if mode == "reflect"
            else lax.slice_in_dim(x, 0, 1, axis=axis)
        )
        parts.insert(0, lax.rev(edge, (axis,)) if mode == "reflect" else _spread(edge, axis, low))
    if high > 0:
        edge = (
            lax.slice_in_dim(x, size - 1 - high, size - 1, axis=axis)
            if mode == "reflect"
            else lax.slice_in_dim(x, size - 1, size, axis=axis)
        )
        parts.append(lax.rev(edge, (axis,)) if mode == "reflect" else _spread(edge, axis, high))
    made = lax.concatenate(parts, axis) if len(parts) > 1 else x
    return lax.slice_in_dim(made, max(-low, 0), made.shape[axis] - max(-high, 0), axis=axis)


def _spread(edge: Array, axis: int, n: int) -> Array:
    full = tuple(n if d == axis else s for d, s in enumerate(edge.shape))
    return lax.broadcast_in_dim(edge, full, tuple(range(edge.ndim)))


def _circular(x: Array, axis: int, low: int, high: int) -> Array:
    """What is cropped does not come around again, so first crop, then pad; the right end copies
    what stands after the left padding."""
    x = lax.slice_in_dim(x, max(-low, 0), x.shape[axis] - max(-high, 0), axis=axis)
    size = x.shape[axis]
    if max(low, high) > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    parts = [x]
    if low > 0:
        parts.insert(0, lax.slice_in_dim(x, size - low, size, axis=axis))
    if high > 0:
        parts.append(lax.slice_in_dim(x, 0, high, axis=axis))
    return lax.concatenate(parts, axis) if len(parts) > 1 else x
