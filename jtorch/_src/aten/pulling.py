"""Gradients of a function of tensors, for operators that are derivatives of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...autograd import engine as autograd_engine
from ...autograd.grad_mode import MODE
from ...core import detached

if TYPE_CHECKING:
    from ..facts.kinds import Operands


def vjp(
    fn: Callable[..., object],
    tensors: Operands,
    grads: object,
    mask: Sequence[bool] | None = None,
) -> list[None]:
    """The gradients of ``fn``'s tensors (those that ``mask`` wants) from those of its results;
    differentiable where recording is on."""
    create = MODE.enabled
    wanted = []
    given = []
    for i, t in enumerate(tensors):
        if t is None or (mask is not None and not mask[i]):
            given.append(t)
            continue
        if not (create and t._rg):
            t = detached(t, stops=False)  # forward derivatives go through
            t._rg = t._aval.differentiable
        given.append(t)
        wanted.append(t)
    enabled, MODE.enabled = MODE.enabled, True
    try:
        out = fn(*given)
    finally:
        MODE.enabled = enabled
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    given_grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
    pairs = [(o, g) for o, g in zip(outs, given_grads, strict=False) if g is not None and o._rg]
    found = iter(
        autograd_engine.grad(
            [o for o, _ in pairs],
            wanted,
            [g for _, g in pairs],
            create_graph=create,
            allow_unused=True,
        )
        if pairs
        else [None] * len(wanted)
    )
    return [
        None if t is None or (mask is not None and not mask[i]) else next(found)
        for i, t in enumerate(tensors)
    ]


def through(fn: Callable[..., object], x: object, g: object) -> None:
    """The gradient of a function of one tensor."""
    return vjp(fn, [x], g)[0]
