"""Activation functions."""

from __future__ import annotations

import warnings
from typing import Any

import jtorch as torch
from jtorch import Tensor

from ...types import Device, _dtype
from .. import functional as F
from ..init import constant_
from ..parameter import Parameter
from ._attention import MultiheadAttention
from .module import Module

__all__ = [
    "Threshold", "ReLU", "RReLU", "Hardtanh", "ReLU6", "Sigmoid", "Hardsigmoid", "Tanh", "SiLU",
    "Mish", "Hardswish", "ELU", "CELU", "SELU", "GLU", "GELU", "Hardshrink", "LeakyReLU",
    "LogSigmoid", "Softplus", "Softshrink", "MultiheadAttention", "PReLU", "Softsign", "Tanhshrink",
    "Softmin", "Softmax", "Softmax2d", "LogSoftmax",
]  # fmt: skip


class _Inplace(Module):
    """An activation whose only setting is ``inplace``."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


def _and_inplace(module: Any) -> str:
    return ", inplace=True" if module.inplace else ""


class Threshold(Module):
    """``x`` where ``x > threshold``, else ``value``.

    Args:
        threshold: inputs that are not greater are replaced.
        value: by this.
        inplace: whether the input is overwritten by the result.
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"threshold={self.threshold}, value={self.value}{_and_inplace(self)}"


class ReLU(_Inplace):
    """``max(x, 0)``.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.relu(input, inplace=self.inplace)


class RReLU(Module):
    """``x`` where positive, else ``a·x`` with ``a`` drawn from U(lower, upper) in training, their
    mean in evaluation.

    Args:
        lower: the smallest slope for negative inputs.
        upper: the largest one.
        inplace: whether the input is overwritten by the result.
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"lower={self.lower}, upper={self.upper}{_and_inplace(self)}"


class Hardtanh(Module):
    """``x`` clamped to [min_val, max_val].

    Args:
        min_val: the smallest result.
        max_val: the largest result.
        inplace: whether the input is overwritten by the result.
        min_value, max_value: deprecated names of the same.
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for new, old in (("min_val", min_value), ("max_val", max_value)):
            if old is not None:
                message = f"keyword argument `{new}ue` is deprecated and renamed to `{new}`"
                warnings.warn(message, FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"min_val={self.min_val}, max_val={self.max_val}{_and_inplace(self)}"


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    Args:
        *args, **kwargs: none.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return torch.sigmoid(input)


class Hardsigmoid(_Inplace):
    """``min(max(x + 3, 0), 6) / 6``.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return ""  # torch shows nothing here


class Tanh(Module):
    """``tanh(x)``.

    Args:
        *args, **kwargs: none.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return torch.tanh(input)


class SiLU(_Inplace):
    """``x · sigmoid(x)``.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.silu(input, inplace=self.inplace)


class Mish(_Inplace):
    """``x · tanh(softplus(x))``.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.mish(input, inplace=self.inplace)


class Hardswish(_Inplace):
    """``x · min(max(x + 3, 0), 6) / 6``.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return ""  # torch shows nothing here


class ELU(Module):
    """``x`` where positive, else ``alpha·(exp(x) - 1)``.

    Args:
        alpha: where negative inputs go to, with its sign changed.
        inplace: whether the input is overwritten by the result.
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"alpha={self.alpha}{_and_inplace(self)}"


class CELU(Module):
    """``max(0, x) + min(0, alpha·(exp(x/alpha) - 1))``.

    Args:
        alpha: where negative inputs go to, with its sign changed.
        inplace: whether the input is overwritten by the result.
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"alpha={self.alpha}{_and_inplace(self)}"


class SELU(_Inplace):
    """``scale · ELU(x, alpha)`` with the constants that keep mean 0 and variance 1.

    Args:
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.selu(input, self.inplace)


class GLU(Module):
    """``a · sigmoid(b)``, a and b the halves of the input along ``dim``. Shapes: ``(*, 2n, *)`` ->
    ``(*, n, *)``.

    Args:
        dim: the dimension that is halved.
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """``(*, 2n, *)`` -> ``(*, n, *)``."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"dim={self.dim}"


class GELU(Module):
    """``x · Φ(x)``, Φ the normal distribution function; ``approximate="tanh"`` approximates it.

    Args:
        approximate: ``"none"``, or ``"tanh"`` for the approximation by that function.
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """``x`` where ``|x| > lambd``, else 0.

    Args:
        lambd: inputs between its negative and it become zero.
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"{self.lambd}"


class LeakyReLU(Module):
    """``x`` where positive, else ``negative_slope·x``.

    Args:
        negative_slope: the slope for negative inputs.
        inplace: whether the input is overwritten by the result.
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"negative_slope={self.negative_slope}{_and_inplace(self)}"


class LogSigmoid(Module):
    """``log(sigmoid(x))``.

    Args:
        *args, **kwargs: none.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.logsigmoid(input)


class Softplus(Module):
    """``log(1 + exp(beta·x)) / beta``, and ``x`` where ``beta·x > threshold``.

    Args:
        beta: how sharp the bend is.
        threshold: where ``input * beta`` is greater, the result is the input.
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """``x`` moved towards 0 by ``lambd``, and 0 where ``|x| <= lambd``.

    Args:
        lambd: what is taken off the absolute value.
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return str(self.lambd)


class PReLU(Module):
    """``x`` where positive, else ``weight·x``; ``weight`` is learned, one for all or one per
    channel (dimension 1).

    Args:
        num_parameters: how many slopes there are: one, or one for each channel.
        init: the slope to begin with.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slopes to ``init``."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """``x / (1 + |x|)``.

    Args:
        *args, **kwargs: none.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    Args:
        *args, **kwargs: none.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.tanhshrink(input)


class _AlongDim(Module):
    """A function along one dimension, which old pickles may lack."""

    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """``softmax(-x)`` along ``dim``.

    Args:
        dim: along which to normalise.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    Args:
        dim: along which to normalise.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of images. Shapes: ``(N, C, H, W)`` or ``(C, H, W)`` -> the same.

    Args:
        *args, **kwargs: none.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, H, W)`` -> the same."""
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """``log(softmax(x))`` along ``dim``.

    Args:
        dim: along which to normalise.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.log_softmax(input, self.dim, _stacklevel=5)
