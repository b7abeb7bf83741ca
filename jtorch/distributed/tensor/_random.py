"""Random numbers of distributed tensors: each process draws its part from its own generator, as
PyTorch does on the CPU."""

from __future__ import annotations

import warnings

import jtorch as torch

from ..device_mesh import DeviceMesh

__all__ = ["is_rng_supported_mesh", "manual_seed"]


def is_rng_supported_mesh(device_mesh: DeviceMesh) -> bool:
    """Whether the parts of a tensor are drawn as one. They are not."""
    del device_mesh
    return False


def manual_seed(seed: int, device_mesh: DeviceMesh) -> None:
    """Seeds the processes of a mesh, but not those of a mesh of CPUs, as in PyTorch.

    Raises:
        RuntimeError: in a process outside of the mesh.

    Warns:
        UserWarning: on a mesh of CPUs, where nothing is done; call ``torch.manual_seed``.
    """
    if device_mesh.device_type == "cpu":
        warnings.warn(
            f"DTensor manual_seed() may not have complete support on {device_mesh.device_type} "
            "device mesh",
            stacklevel=2,
        )
        return
    if device_mesh.get_coordinate() is None:
        raise RuntimeError(
            "manual_seed requires the current rank to be a part of the device mesh otherwise "
            "DTensor RNG state on the rank will not be initialized and the behavior of DTensor "
            "random ops is undefined."
        )
    torch.manual_seed(seed)
