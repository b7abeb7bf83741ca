"""``replicate`` by what ``fully_shard`` is made of: parameters and gradients are DTensors that are
whole in each process."""

from __future__ import annotations

from typing import Any

from jtorch import nn
from jtorch._src.facts.errors import not_offered

from ..device_mesh import DeviceMesh
from ..fsdp import FSDPModule
from ..fsdp._param_group import Layout
from ..fsdp._sharding import Kind, apply_sharding, checked_modules, whole_mesh
from ..fsdp.api import MixedPrecisionPolicy, OffloadPolicy
from .contract import _get_registry, contract


class ReplicateModule(FSDPModule):
    """What ``replicate`` adds to a module's class."""

    _orig_cls_mro_index = 3


_REPLICATED = Kind("Replicate", ReplicateModule, {})
cls_to_replicate_cls = _REPLICATED.made


@contract()
def replicate(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(),
    ignored_params: set[nn.Parameter] | None = None,
    dp_mesh_dims: object = None,
) -> object:
    """Has the gradients of a module averaged over processes, each of which keeps all of its
    parameters.

    Args:
        module: the module, changed in place; or several.
        mesh: the processes, along one dimension; all if it is left out.
        mp_policy: dtypes to compute and to reduce in.
        offload_policy: where the parameters lie between calls.
        ignored_params: parameters to leave alone.

    Raises:
        RuntimeError: for a module of ``fully_shard``.
        ValueError: for a mesh of several dimensions.
        NotImplementedError: for ``dp_mesh_dims``.
    """
    if dp_mesh_dims is not None:
        raise not_offered(
            "torch.distributed._composable.replicate_with_fsdp.replicate(dp_mesh_dims=)",
            "give that dimension as mesh",
        )
    given = [module] if isinstance(module, nn.Module) else list(module)
    if not all(is_composable_with_replicate(one) for one in given):
        raise RuntimeError(
            "Cannot apply `replicate()` on a Module already managed by `fully_shard`"
        )
    modules = checked_modules(module, "replicate")
    mesh = mesh or whole_mesh(("replicate",))
    if mesh.ndim != 1:
        raise ValueError(f"replicate expects a 1D DeviceMesh but got {mesh}")
    apply_sharding(
        modules, Layout(mesh, shards=False), True, True, None, mp_policy, offload_policy,
        ignored_params or set(), _REPLICATED
    )  # fmt: skip
    return module


def is_composable_with_replicate(module: nn.Module) -> bool:
    """Whether ``fully_shard`` has been left out."""
    sharded = isinstance(module, FSDPModule) and not isinstance(module, ReplicateModule)
    return not sharded and "fully_shard" not in (_get_registry(module) or {})
