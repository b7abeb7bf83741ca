"""What a module keeps for its backward pass, cut over the processes of a mesh that all have the
same."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch.distributed.device_mesh import DeviceMesh

from .. import DTensor, Replicate, Shard

__all__ = ["input_reshard"]


def input_reshard(
    module: torch.nn.Module, tp_device_mesh: DeviceMesh, input_reshard_dim: int | None = None
) -> torch.nn.Module:
    """Has a module keep, of the tensors that its backward pass needs, only each process's part, and
    gather them when they are used.

    All processes of the mesh have to be given the same inputs, as those of tensor parallelism are.
    As in PyTorch, tensors that are no DTensors count as equal on all of them: the module must not
    keep plain ones that differ (a ``ColwiseParallel`` layer's local outputs).

    Args:
        module: the module, which is changed in place.
        tp_device_mesh: a mesh of one dimension.
        input_reshard_dim: the dimension along which tensors are cut; with None the module stays
            what it is.

    Returns:
        The module.
    """
    if input_reshard_dim is None:
        return module
    cut, whole = [Shard(input_reshard_dim)], [Replicate()]

    def pack(x: torch.Tensor) -> Any:
        if isinstance(x, DTensor):
            return (
                x.redistribute(tp_device_mesh, cut)
                if all(p.is_replicate() for p in x.placements)
                else x
            )
        if x.dim() == 0 or x.numel() < tp_device_mesh.size():
            return x
        return _Part(
            DTensor.from_local(x, tp_device_mesh, whole, run_check=False).redistribute(
                tp_device_mesh, cut
            )
        )

    def unpack(x: torch.Tensor) -> torch.Tensor:
        if isinstance(x, _Part):
            return x.of.redistribute(tp_device_mesh, whole).to_local()
        if isinstance(x, DTensor) and len(x.placements) == 1 and x.placements[0].is_shard():
            return x.redistribute(tp_device_mesh, whole)
        return x

    open_ones = []

    def before(*_: object) -> None:
        hooks = torch.autograd.graph.saved_tensors_hooks(pack, unpack)
        hooks.__enter__()
        open_ones.append(hooks)

    def after(*_: object) -> None:
        open_ones.pop().__exit__()

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after, always_call=True)
    return module


class _Part:
    """What is kept of a tensor that is none of a mesh."""

    def __init__(self, of: DTensor) -> None:
        self.of = of
