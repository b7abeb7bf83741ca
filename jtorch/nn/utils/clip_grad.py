"""Clipping gradients by norm and by value."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

import jtorch as torch
from jtorch import Tensor

__all__: list[str] = ["clip_grad_norm_", "clip_grad_norm", "clip_grad_value_"]


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [grad for p in parameters if (grad := p.grad) is not None]


@torch.no_grad()
def _get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
) -> Tensor:
    """The norm of all ``tensors`` taken as one vector. ``foreach`` changes nothing: the ops run as
    one program in any case.

    Raises:
        RuntimeError: if it is not finite and ``error_if_nonfinite``.
    """
    tensors = _as_list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    total = torch._C._total_norm_of(tensors, norm_type)
    if total is None:
        device = tensors[0].device
        norms = [
            n if n.device == device else n.to(device)
            for n in [torch.linalg.vector_norm(t, norm_type) for t in tensors]
        ]
        total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@torch.no_grad()
def _clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,  # noqa: ARG001
) -> None:
    """Scales the gradients of ``parameters`` in place by ``max_norm / total_norm`` if that is less
    than 1."""
    _clip(_grads(_as_list(parameters)), max_norm, total_norm)


def _clip(grads: list[Tensor], max_norm: float, total_norm: Tensor) -> None:
    if grads:  # always multiplied: asking whether the factor is 1 would wait for the device
        torch._C._scale_(grads, torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0))


@torch.no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of ``parameters`` in place so that their total norm is at most
    ``max_norm``; returns the norm before.

    Args:
        parameters: a tensor, or several, whose gradients are scaled.
        max_norm: the largest norm that stays.
        norm_type: the order of the norm.
        error_if_nonfinite: raise if the norm is infinite or NaN.
        foreach: PyTorch's choice of implementation; all gradients are scaled in one program here.
    """
    found = _as_list(parameters)
    if isinstance(parameters, types.GeneratorType) and not found:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3
        )
    grads = _grads(found)
    total = _get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _clip(grads, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The deprecated name of ``clip_grad_norm_``."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor],
    clip_value: float,
    foreach: bool | None = None,  # noqa: ARG001
) -> None:
    """Clamps the gradients of ``parameters`` in place to [-clip_value, clip_value]."""
    limit = float(clip_value)
    torch._C._clamp_(_grads(_as_list(parameters)), -limit, limit)
