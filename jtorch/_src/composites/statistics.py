"""Covariance and correlation of variables."""

from __future__ import annotations

import warnings
from typing import Any

import jax

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C
from ..facts import dtypes
from ..facts.warned_once import outside
from ..ops._facts import schemas

_FREEDOM = (
    "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
    "observations."
)


def _value(t: Any) -> float | None:
    """A number that a tensor holds; None while JAX traces, when it is not known."""
    try:
        return float(t.item())
    except (jax.errors.ConcretizationTypeError, RuntimeError):
        return None


def _check_weights(name: str, w: Tensor, observations: int, floating: bool) -> None:
    kind = "floating point" if floating else "integral"
    if w.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.dim()} "
            "dimensions"
        )
    right = w.dtype.is_floating_point if floating else w.dtype.category == dtypes.INTEGRAL
    if not right:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{w.dtype.scalar_name} dtype"
        )
    if w.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {w.numel()} != {observations}"
        )
    smallest = _value(w.min()) if w.numel() else None
    if smallest is not None and smallest < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite(
    method=True, operands=("input", "fweights", "aweights"), autocast="cpu result", implicit=True
)
@schemas(".")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None
) -> Tensor:
    """The covariance matrix of the variables in the rows of ``input``, whose columns are
    observations.

    Each observation counts ``fweights`` times (integers) and with weight ``aweights``; the sum of
    squares is divided by the sum of weights less ``correction``.

    Shapes: input (variables, observations) -> (variables, variables); input (observations) or () ->
    ().

    Dtypes: integers give the default dtype.

    Raises:
        RuntimeError: for more than two dimensions, bool, or weights of another kind or number,
            negative, or zero in sum.

    Example:
        >>> import jtorch as torch
        >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.dim()} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.dim() == 2 else input.reshape(1, -1)
    observations = x.shape[1]
    if fweights is None and aweights is None:
        if observations <= correction:
            warnings.warn(_FREEDOM, stacklevel=outside())
        return _C._cov(x, correction)
    weights: Any = None
    if fweights is not None:
        _check_weights("fweights", fweights, observations, False)
        weights = fweights.reshape(-1)
    if aweights is not None:
        _check_weights("aweights", aweights, observations, True)
        weights = aweights.reshape(-1) if weights is None else weights * aweights.reshape(-1)
    total = weights.sum()
    if observations and _value(total) == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x * weights).sum(1) / total
    scale = (
        correction
        if aweights is None
        else correction * (weights * aweights.reshape(-1)).sum() / total
    )
    freedom = total - scale
    known = _value(freedom)
    if known is not None and known <= 0:
        warnings.warn(_FREEDOM, stacklevel=outside())
    centred = x - mean.unsqueeze(1)
    return (centred @ (centred * weights).mT.conj() / freedom.clamp_min(0)).squeeze()


@composite(method=True, operands=("input",), autocast="cpu result", implicit=True)
@schemas(".")
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation of the variables in the rows of ``input``, whose columns are
    observations; see ``cov``.

    Shapes: input (variables, observations) -> (variables, variables); input (observations) or () ->
    ().

    Raises:
        RuntimeError: for more than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.dim()} dimensions"
        )
    x = input if input.dim() == 2 else input.reshape(1, -1)
    if x.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if x.shape[1] <= 1:
        warnings.warn(_FREEDOM, stacklevel=outside())
    return _C._corrcoef(x)
