"""Samples whose drawing takes as many random words as chance wants: gamma, Dirichlet, Poisson and
binomial numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.dual import NOT_YET, has_tangent, refuse_tangents
from ...autograd.grad_mode import MODE
from ...autograd.names import named
from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, T
from ..draws import key_sampling as _key_sampling
from ..draws import rejection as _rejection
from ..engine import META
from ..facts import dtypes
from ..facts.errors import must_be_tensor
from ..ops._derivatives import A, D, derivative
from ..ops._facts import schemas
from .filling import sampled

if TYPE_CHECKING:
    from ..draws.mt19937 import Twister


_FULL = (dtypes.float32, dtypes.float64)


def _check(kernel: str, input: Tensor, *more: dtypes.dtype) -> None:
    """Refuses dtypes that torch has no kernel for."""
    if input.dtype not in _FULL + more:
        raise NotImplementedError(f'"{kernel}" not implemented for {input.dtype.scalar_name!r}')


def _tracked(*tensors: Tensor) -> list[Tensor]:
    """The operands through which derivatives are being computed."""
    return [t for t in tensors if (t._rg and MODE.enabled) or has_tangent(t)]


def _poisson(twister: Twister, rates: np.ndarray) -> np.ndarray:
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _rejection.poisson(twister, rates.reshape(-1)).astype(rates.dtype).reshape(rates.shape)


def _binomial(twister: Twister, trials: np.ndarray, chances: np.ndarray) -> np.ndarray:
    return (
        _rejection.binomial(twister, trials.reshape(-1), chances.reshape(-1))
        .astype(trials.dtype)
        .reshape(trials.shape)
    )


def _gamma(twister: Twister, concentrations: np.ndarray) -> np.ndarray:
    found = _rejection.gamma(twister, concentrations.reshape(-1)).astype(concentrations.dtype)
    smallest = np.finfo(found.dtype).tiny
    # what is not a number becomes it, as in torch
    return np.where(found > smallest, found, smallest).reshape(concentrations.shape)


def _dirichlet(twister: Twister, concentrations: np.ndarray) -> np.ndarray:
    drawn = _rejection.gamma(twister, concentrations.reshape(-1).astype(np.float64))
    smallest = np.finfo(np.float64).tiny
    drawn = np.where(drawn > smallest, drawn, smallest).reshape(concentrations.shape)
    parts = (drawn / drawn.sum(-1, keepdims=True)).astype(concentrations.dtype)
    one = parts.dtype.type(1) if parts.dtype.itemsize > 4 else np.float32(1)
    return np.clip(
        parts, np.finfo(parts.dtype).tiny, np.nextafter(one, one - one).astype(parts.dtype)
    )


@composite(operands=("input",))
@schemas(". ; =out")
def poisson(input: Tensor, generator: Any = None) -> Any:
    """Poisson numbers of the rates that ``input`` holds, of its dtype. Gradients are zero.

    Shapes: input (*) -> (*).
    Dtypes: real floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: if a rate is negative or not a number.

    Examples:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.poisson(torch.tensor([0.5, 4.0, 100.0]))
        tensor([ 2.,  5., 94.])
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("poisson", "input", 1, input)
    _check("poisson_cpu", input, dtypes.float16, dtypes.bfloat16)
    if input._aval.device == META:
        return T.empty_like(input)
    made = sampled(_poisson, _key_sampling.poisson, generator, input)
    tracked = _tracked(input)
    return named(_C._drawn(made, tracked), "PoissonBackward0") if tracked else made


derivative(A.poisson, self=lambda g: D.zeros(g))


@composite(operands=("count", "prob"))
@schemas(". ; =out")
def binomial(count: Any, prob: Any, generator: Any = None) -> Tensor:
    """Binomial numbers: how many of ``count`` trials succeed, each with probability ``prob``, of
    the dtype of ``count``.

    Shapes: count (*A), prob broadcastable to (*A) -> (*A).

    Dtypes: float32 and float64, both the same.

    Raises:
        ValueError: for other than floating-point types.
        RuntimeError: if the dtypes differ.

    Examples:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.binomial(torch.tensor([10.0, 100.0]), torch.tensor([0.5, 0.9]))
        tensor([ 7., 89.])
    """
    for position, (name, given) in enumerate((("count", count), ("prob", prob)), 1):
        if not isinstance(given, Tensor):
            raise must_be_tensor("binomial", name, position, given)
        if not given.dtype.is_floating_point:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{given.dtype.scalar_name}"
            )
    _check("binomial_cpu", count)
    if count.dtype is not prob.dtype:
        raise RuntimeError(
            f"Found dtype {prob.dtype.scalar_name} but expected {count.dtype.scalar_name}"
        )
    refuse_tangents("aten::binomial that does not support it.", count, prob)
    if count._aval.device == META:
        return T.empty_like(count)
    made = sampled(_binomial, _key_sampling.binomial, generator, count, prob.expand(count.shape))
    tracked = _tracked(count, prob)
    return _C._drawn_without_rule(made, tracked, "binomial") if tracked else made


@composite(operands=("self",))
@schemas(". ; =out")
def _standard_gamma(self: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of rate 1 and the concentrations that ``self`` holds; their gradients are those
    of implicit reparameterisation.

    Shapes: self (*) -> (*).
    Dtypes: float32 and float64 -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch._standard_gamma(torch.tensor([1.0, 100.0]))
        tensor([ 2.8824, 96.7659])
    """
    _check("gamma_cpu", self)
    refuse_tangents(f"_standard_gamma that does not support it {NOT_YET}", self)
    if self._aval.device == META:
        return T.empty_like(self)
    made = sampled(_gamma, _key_sampling.gamma, generator, self)
    return _C._gamma_drawn(made, self) if _tracked(self) else made


@composite(operands=("self",))
@schemas(". ; =out")
def _sample_dirichlet(self: Tensor, generator: Any = None) -> Tensor:
    """Points of the simplex, Dirichlet distributed: the rows of ``self`` (along its last axis) hold
    the concentrations.

    Shapes: self (*, n) -> (*, n), whose rows add up to 1.
    Dtypes: float32 and float64 -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> (torch._sample_dirichlet(torch.tensor([[1.0, 2.0, 3.0]])).sum(-1) - 1).abs() < 1e-6
        tensor([True])
    """
    _check("dirichlet", self)
    refuse_tangents("aten::_sample_dirichlet that does not support it.", self)
    if self._aval.device == META:
        return T.empty_like(self)
    made = sampled(_dirichlet, _key_sampling.dirichlet, generator, self)
    tracked = _tracked(self)
    return _C._drawn_without_rule(made, tracked, "_sample_dirichlet") if tracked else made
