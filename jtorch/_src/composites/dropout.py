"""Dropout in all its forms: masks are drawn on the host, one kernel multiplies them in."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Tensor, from_value
from ...dispatch import ACTIVE
from ...random import examples
from ..bind.cores import composite
from ..bind.everything import _C, PUBLIC, T
from ..draws import sampling as _sampling
from ..draws.by_dtype import serial
from ..engine import META, meta_value
from ..facts import dtypes
from ..facts.warned_once import outside
from ..ops._facts import schemas
from ..tensor.running import inplace as write_into
from ..tensor.writing import check_inplace
from .filling import blank, numbers, strides_of

if TYPE_CHECKING:
    from ..facts.kinds import Function


def _mask(input: Tensor, p: float, feature: bool) -> Tensor:
    """A mask of the elements that stay, or of the channels: one for each of the first two
    dimensions."""
    shape, strides = input._aval.shape, strides_of(input)
    if feature:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape, strides = (*shape[:2], *(1 for _ in shape[2:])), None
    elif 0 in strides:  # expanded dimensions have an order in dense memory
        strides = strides_of(T.empty_like(input.detach()))
    # which see the numbers drawn: a trace that kept them would drop the same elements ever after
    if ACTIVE.modes:
        if examples():
            room = blank(input, shape)
        else:
            room = (
                T.zeros(shape, dtype=input.dtype, device=input.device)
                if feature
                else T.empty_like(input.detach())
            )
        return room.bernoulli_(1 - p) != 0
    if input._aval.device == META:
        return from_value(meta_value(tuple(shape), np.dtype(np.bool_)))
    return numbers(
        serial(_sampling.below, 1 - p), None, shape, strides, np.dtype(np.bool_), input.device
    )


def _dropped(
    input: Tensor, p: float, train: bool, feature: bool = False, alpha: bool = False
) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * T.zeros((), dtype=input.dtype, device=input.device)
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}"
        )
    if input.dtype.is_complex:
        raise NotImplementedError(
            f'"bernoulli_scalar_cpu_" not implemented for {input.dtype.scalar_name!r}'
        )
    mask = _mask(input, p, feature)
    return (
        _C._alpha_dropout(input, mask, float(p))._written(1)
        if alpha
        else _C._dropout(input, mask, 1.0 - p)
    )


@composite(operands=("input",), opaque=True, implicit=("dropout",))
@schemas("(Tensor input, float p, bool train) -> Tensor")
def dropout(input: Tensor, p: float, train: bool) -> Any:
    """Sets elements to zero with probability ``p`` and scales the others by ``1 / (1 - p)``; the
    input itself unless ``train``.

    Shapes: that of ``input``.

    Dtypes: floating-point ones.

    Raises:
        RuntimeError: if ``p`` is not between 0 and 1, or (unless nothing or everything is dropped)
            for integers.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.dropout(torch.ones(4), 0.5, True)
        tensor([0., 0., 2., 0.])
    """
    return _dropped(input, p, train)


@composite(operands=("input",), dispatched="in parts", implicit=True)
@schemas("(Tensor input, float p, bool train) -> Tensor")
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` of whole channels: the first two dimensions are batch and channels.

    Shapes: (N, C, *) -> the same; of two dimensions at least.

    Raises:
        RuntimeError: if ``p`` is not between 0 and 1, for integers, or for fewer than two
            dimensions.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.feature_dropout(torch.ones(1, 3, 2), 0.5, True)
        tensor([[[0., 0.],
                 [0., 0.],
                 [2., 2.]]])
    """
    return _dropped(input, p, train, feature=True)


@composite(operands=("input",), dispatched="in parts", implicit=True)
@schemas("(Tensor input, float p, bool train) -> Tensor")
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout to SELU's saturation value, which keeps mean and variance of standard normal inputs.

    Shapes: that of ``input``.

    Raises:
        RuntimeError: if ``p`` is not between 0 and 1, or for integers.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.alpha_dropout(torch.zeros(4), 0.5, True)
        tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """
    return _dropped(input, p, train, alpha=True)


@composite(operands=("input",), dispatched="in parts", implicit=True)
@schemas("(Tensor input, float p, bool train) -> Tensor")
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels.

    Shapes: (N, C, *) -> the same; of two dimensions at least.

    Raises:
        RuntimeError: if ``p`` is not between 0 and 1, for integers, or for fewer than two
            dimensions.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.feature_alpha_dropout(torch.zeros(1, 2, 2), 0.5, True)
        tensor([[[-0.7792, -0.7792],
                 [-0.7792, -0.7792]]])
    """
    return _dropped(input, p, train, feature=True, alpha=True)


def _written(input: Tensor, made: Tensor) -> Tensor:
    """``made`` written into ``input``, as the in-place forms do."""
    if made is input:
        return input
    check_inplace(input)
    return write_into(input, made)


def _in_place(plain: Function) -> None:
    """Declares the in-place form of one of the functions above; its example is the same."""
    name = plain.__name__
    _, _, example = (plain.__doc__ or "").partition("Example:")

    def written(input: Tensor, p: float, train: bool) -> Tensor:
        return _written(input, plain(input, p, train))

    written.__name__ = written.__qualname__ = f"{name}_"
    written.__doc__ = f"""In-place form of ``{name}``.

    The result is written into ``input``, which is returned; errors are those of ``{name}``.

    Example:{example.replace(f"{name}(", f"{name}_(")}"""
    schemas("(Tensor(a!) self, float p, bool train) -> Tensor(a!)")(written)
    composite(operands=("input",), dispatched="in parts", writes="mul_")(written)


for _plain in (dropout, feature_dropout, alpha_dropout, feature_alpha_dropout):
    _in_place(_plain)


# ---- nn.functional -------------------------------------------------------------------------------


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _call(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    _check(p)
    return PUBLIC[f"{name}_" if inplace else name](input, p, training)


@composite(
    namespace="nn.functional", name="dropout", operands=("input",), native=False, opaque=True
)
def _functional_dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Sets elements to zero with probability ``p`` and scales the others by ``1 / (1 - p)``; the
    input itself unless ``training``.

    Shapes: that of ``input``.

    Dtypes: floating-point ones.

    Raises:
        ValueError: if ``p`` is not between 0 and 1.
        RuntimeError: for integers.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.dropout(torch.ones(4))
        tensor([0., 0., 2., 0.])
    """
    return _call("dropout", input, p, training, inplace)


@composite(
    namespace="nn.functional",
    name="alpha_dropout",
    operands=("input",),
    native=False,
    dispatched="in parts",
)
def _functional_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout to SELU's saturation value, which keeps mean and variance of standard normal inputs.

    Shapes: that of ``input``.

    Raises:
        ValueError: if ``p`` is not between 0 and 1.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.alpha_dropout(torch.zeros(4), training=True)
        tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """
    return _call("alpha_dropout", input, p, training, inplace)


@composite(
    namespace="nn.functional",
    name="feature_alpha_dropout",
    operands=("input",),
    native=False,
    dispatched="in parts",
)
def _functional_feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of whole channels: the first two dimensions are batch and channels.

    Shapes: (N, C, *) -> the same; of two dimensions at least.

    Raises:
        ValueError: if ``p`` is not between 0 and 1.
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.feature_alpha_dropout(torch.zeros(1, 2, 2), training=True)
        tensor([[[-0.7792, -0.7792],
                 [-0.7792, -0.7792]]])
    """
    return _call("feature_alpha_dropout", input, p, training, inplace)


@composite(namespace="nn.functional", operands=("input",), native=False)
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of sequences.

    Shapes: (N, C, L) or (C, L) -> the same.

    Raises:
        ValueError: if ``p`` is not between 0 and 1.
        RuntimeError: for another number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.dropout1d(torch.ones(3, 2))
        tensor([[0., 0.],
                [0., 0.],
                [2., 2.]])
    """
    _check(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _batched(input, p, training, inplace, ndim == 2)


@composite(namespace="nn.functional", operands=("input",), native=False)
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of images.

    Shapes: (N, C, H, W) -> the same; inputs of 3 dimensions are taken as (N, C, L), with a warning.

    Raises:
        ValueError: if ``p`` is not between 0 and 1.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.dropout2d(torch.ones(1, 3, 1, 2))
        tensor([[[[0., 0.]],
        <BLANKLINE>
                 [[0., 0.]],
        <BLANKLINE>
                 [[2., 2.]]]])
    """
    _check(p)
    ndim = input.dim()
    if ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {ndim}-D input to dropout2d, which is deprecated and will "
            "result in an error in a future release. To retain the behavior and silence this "
            "warning, please use dropout instead. Note that dropout2d exists to provide "
            "channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an "
            "optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=outside(),
        )
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=outside(),
        )
    return _call("feature_dropout", input, p, training, inplace)


@composite(namespace="nn.functional", operands=("input",), native=False)
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of volumes.

    Shapes: (N, C, D, H, W) or (C, D, H, W) -> the same.

    Raises:
        ValueError: if ``p`` is not between 0 and 1.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.dropout3d(torch.ones(3, 1, 1, 2)).flatten()
        tensor([0., 0., 0., 0., 2., 2.])
    """
    _check(p)
    ndim = input.dim()
    if ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {ndim}-D input to dropout3d, which is deprecated and will "
            "result in an error in a future release. To retain the behavior and silence this "
            "warning, please use dropout instead. Note that dropout3d exists to provide "
            "channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an "
            "optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=outside(),
        )
    return _batched(input, p, training, inplace, ndim != 5)


def _batched(input: Tensor, p: float, training: bool, inplace: bool, single: bool) -> Tensor:
    """Feature dropout with a batch dimension added for the time being where there is none."""
    if not single:
        return _call("feature_dropout", input, p, training, inplace)
    batch = input.unsqueeze(0)
    made = _call("feature_dropout", batch, p, training, False)
    if made is batch and inplace:  # nothing was dropped
        return input
    return _written(input, made.squeeze(0).clone()) if inplace else made.squeeze(0)
