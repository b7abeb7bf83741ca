"""``loss_parallel``: cross entropy of scores that are cut along the classes, without gathering
them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jtorch as torch

from ... import _done_collectives as funcol
from .. import DTensor
from .._dispatch import BARE, DISPATCHER, Call, results
from .._dtensor_spec import DTensorSpec
from .._redistribute import redistribute_local_tensor
from ..placement_types import Partial, Placement, Replicate, Shard

__all__ = ["loss_parallel"]


def _cut(placements: tuple[Placement, ...], dim: int) -> int:
    """The dimension of the mesh that cuts the classes."""
    found = [i for i, p in enumerate(placements) if p.is_shard(dim)]
    if len(found) != 1:
        raise ValueError(
            f"loss_parallel() requires exactly one mesh dim to shard tensor dimension {dim}, but "
            f"got placements {placements} with {len(found)} such mesh dim(s)."
        )
    for i, p in enumerate(placements):
        if i != found[0] and not (p.is_shard() or p.is_replicate()):
            raise ValueError(
                f"loss_parallel() expects non-TP mesh dims to be Shard or Replicate, got {p} at "
                f"dim {i}."
            )
    return found[0]


def _made(
    local: torch.Tensor, spec: DTensorSpec, placements: tuple[Placement, ...], meta: Any
) -> DTensor:
    return DTensor(local, DTensorSpec(spec.mesh, placements, meta), requires_grad=False)


def _log_softmax(call: Call) -> DTensor:
    x, dim = call.values[0], call.arg("dim")
    spec = x._spec
    dim %= max(x.ndim, 1)
    group = (spec.mesh, _cut(spec.placements, dim))
    local = x._local_tensor
    top = (
        local.amax(dim, keepdim=True)
        if local.shape[dim]
        else local.new_full(_one(local, dim), float("-inf"))
    )
    shifted = local - funcol.all_reduce(top, "max", group)
    total = funcol.all_reduce(shifted.exp().sum(dim, keepdim=True), "sum", group)
    call.specs = [spec]
    return _made(shifted - total.log(), spec, spec.placements, results(call)[0])


def _one(t: torch.Tensor, dim: int) -> list[int]:
    return [1 if d == dim else n for d, n in enumerate(t.shape)]


def _log_softmax_backward(call: Call) -> object:
    grad, out, dim = call.values[0], call.values[1], call.arg("dim")
    spec = out._spec
    dim %= max(out.ndim, 1)
    group = (spec.mesh, _cut(spec.placements, dim))
    g = redistribute_local_tensor(
        grad._local_tensor,
        grad._spec,
        DTensorSpec(spec.mesh, spec.placements, grad._spec.tensor_meta),
    )
    total = funcol.all_reduce(g.sum(dim, keepdim=True), "sum", group)
    return _made(
        (g - out._local_tensor.exp() * total).to(call.arg("input_dtype")),
        spec,
        spec.placements,
        spec.tensor_meta,
    )


class _Loss:
    """The operands of one loss: scores, targets and weights, each as this process has it."""

    def __init__(self, call: Call) -> None:
        x = call.arg("self")
        self.x, self.spec = x, x._spec
        self.channel = 1 if x.ndim >= 2 else 0
        self.cut = _cut(self.spec.placements, self.channel)
        ch = self.channel
        #: How targets lie: as the scores, less the classes.
        self.placements = tuple(
            [
                Replicate()
                if i == self.cut
                else Shard(p.dim - (p.dim > ch))
                if isinstance(p, Shard)
                else p
                for i, p in enumerate(self.spec.placements)
            ]
        )
        self.target = _plain(call.arg("target"), self.placements, self.spec.mesh)
        weight = call.arg("weight")
        self.weight = (
            None
            if weight is None
            else _plain(weight, (Replicate(),) * self.spec.mesh.ndim, self.spec.mesh)
        )
        self.reduction = call.arg("reduction")
        self.counts = self.target != call.arg("ignore_index")
        self.safe = torch.where(self.counts, self.target, torch.zeros_like(self.target))
        n, start = Shard.local_shard_size_and_offset(
            x.shape[ch], self.spec.mesh.size(self.cut), self.spec.mesh.get_local_rank(self.cut)
        )
        classes = torch.arange(start, start + n)
        if self.target.ndim + 1 > 1 and x.ndim > 1:
            classes = classes.reshape([n if d == ch else 1 for d in range(x.ndim)])
        #: Where a score is the one of its target.
        self.hit = classes == self.safe.unsqueeze(ch)

    def weights(self) -> torch.Tensor:
        """The weight of each target; none of those that are ignored."""
        dtype = self.x.dtype
        return (
            self.counts.to(dtype)
            if self.weight is None
            else self.weight[self.safe] * self.counts.to(dtype)
        )

    def zero(self) -> torch.Tensor:
        """Zeros like this process's scores."""
        return torch.zeros_like(self.x._local_tensor)


def _plain(t: torch.Tensor, placements: tuple[Placement, ...], mesh: object) -> torch.Tensor:
    if isinstance(t, DTensor):
        if t.placements != placements:
            raise RuntimeError(f"Expected {placements} but got {t.placements}.")
        return t._local_tensor
    if any(p.is_shard() for p in placements):
        raise ValueError(
            "loss_parallel() requires a DTensor (not a plain torch.Tensor) when the derived "
            f"placements {placements} contain Shard — this happens on a multi-dimensional mesh "
            "with a batch-sharded non-TP dim. Wrap the tensor with DTensor.from_local or "
            "distribute_tensor to make the sharding explicit."
        )
    del mesh
    return t


def _nll_loss(call: Call) -> object:
    loss = _Loss(call)
    spec, ch = loss.spec, loss.channel
    if loss.reduction == 1 and spec.mesh.ndim > 1:
        raise NotImplementedError(
            "loss_parallel() with reduction='mean' is only supported on one-dimensional "
            f"DeviceMesh; got mesh with ndim={spec.mesh.ndim}. Use reduction='sum' or 'none' "
            "instead."
        )
    picked = torch.where(loss.hit, loss.x._local_tensor, loss.zero()).sum(ch)
    picked = funcol.all_reduce(picked, "sum", (spec.mesh, loss.cut))
    weights = loss.weights()
    each = -picked * weights
    total = weights.sum() if loss.reduction else weights.new_zeros(())
    shape = list(loss.x.shape)
    del shape[ch]
    placements: Any = loss.placements
    if loss.reduction:
        each = each.sum() if loss.reduction == 2 else each.sum() / total
        shape = []
        placements = [
            Partial() if p.is_shard() and i != loss.cut else Replicate()
            for i, p in enumerate(spec.placements)
        ]
    meta = torch.empty(shape, dtype=loss.x.dtype, device="meta")
    return _made(each, spec, tuple(placements), DISPATCHER.meta(meta)), total


def _nll_loss_backward(call: Call) -> object:
    loss = _Loss(call)
    spec, ch = loss.spec, loss.channel
    grad = call.arg("grad_output")
    wanted = loss.placements if loss.reduction == 0 else (Replicate(),) * spec.mesh.ndim
    g = grad
    if isinstance(grad, DTensor):
        g = redistribute_local_tensor(
            grad._local_tensor, grad._spec, DTensorSpec(spec.mesh, wanted, grad._spec.tensor_meta)
        )
    if loss.reduction == 1:
        total = call.arg("total_weight")
        g = g / (total._local_tensor if isinstance(total, DTensor) else total)
    each = -(g * loss.weights())
    local = torch.where(loss.hit, each.unsqueeze(ch), loss.zero())
    return _made(local, spec, spec.placements, spec.tensor_meta)


_STANDING = {
    "_log_softmax": _log_softmax,
    "_log_softmax_backward_data": _log_softmax_backward,
    "nll_loss_forward": _nll_loss,
    "nll_loss2d_forward": _nll_loss,
    "nll_loss_backward": _nll_loss_backward,
    "nll_loss2d_backward": _nll_loss_backward,
}


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """A block in which ``cross_entropy``, and its ``backward``, work on scores that are cut along
    the classes.

    The scores are a DTensor of which exactly one dimension of the mesh cuts the classes. Targets
    are class indices, plain or as a DTensor that lies as the scores do without the classes. On one
    dimension of a mesh the loss is replicated.

    Raises:
        ValueError: if the scores lie otherwise.
        NotImplementedError: for means on a mesh of several dimensions.
    """
    before = {name: BARE.get(name) for name in _STANDING}
    BARE.update(_STANDING)
    try:
        yield
    finally:
        for name, body in before.items():
            if body is None:
                del BARE[name]
            else:
                BARE[name] = body
