"""Meshes of processes: all of size 1, as a group has one process. Meshes of devices are ``jax.sharding.Mesh``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jtorch as torch

from .group import get_rank, get_world_size, init_process_group, is_initialized, world

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The process laid out in a grid whose sides are 1.

    Args:
        device_type: the type of the processes' devices.
        mesh: the ranks, as nested lists or a tensor.
        mesh_dim_names: names of the dimensions, by which the mesh can be sliced.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _rank: int | None = None,
        _layout: Any = None,
        _root: DeviceMesh | None = None,
    ) -> None:
        del backend_override, _rank, _layout  # of no effect with one process
        self.device_type = device_type
        self.mesh = torch.as_tensor(mesh, dtype=torch.int32)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._root = _root
        self._flattened: dict[str, DeviceMesh] = {}
        if _init_backend:
            if not is_initialized():
                init_process_group("gloo")
            ranks = self.mesh.numel()
            if ranks > get_world_size():
                size = get_world_size()
                raise RuntimeError(f"Mesh should not be bigger than default world size {size}, but found {ranks} ranks!")

    @classmethod
    def from_group(
        cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> DeviceMesh:
        """The mesh of a group, or of one group for each dimension."""
        shape = (1,) * len(group) if isinstance(group, (list, tuple)) else (1,)
        return cls(device_type, torch.zeros(shape) if mesh is None else mesh, mesh_dim_names=mesh_dim_names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, in all or along one dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _dim(self, mesh_dim: int | str | None, *more: str) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    *more,
                )
            return 0
        return self._names(mesh_dim)[0] if isinstance(mesh_dim, str) else mesh_dim

    def _names(self, *names: str) -> list[int]:
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        known = list(self.mesh_dim_names)
        if any(name not in known for name in names):
            valid = [*known, *self._get_root_mesh()._flattened]
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}.")
        return [known.index(name) for name in names]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the processes along a dimension."""
        self._dim(
            mesh_dim,
            "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead.",
        )
        return world()

    def get_all_groups(self) -> list[Any]:
        """The groups, one for each dimension."""
        return [world() for _ in self.shape]

    def get_rank(self) -> int:
        """The process's rank."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The process's place along a dimension."""
        self._dim(mesh_dim)
        return 0

    def get_coordinate(self) -> tuple[int, ...]:
        """The process's place."""
        return (0,) * self.ndim

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of some dimensions."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if len(names) == 1 and names[0] in self._flattened:
            return self._flattened[names[0]]
        self._names(*names)
        return self if names == self.mesh_dim_names else self._of((1,) * len(names), names)

    def _of(self, shape: tuple[int, ...], names: tuple[str, ...] | None) -> DeviceMesh:
        mesh = self.mesh.reshape(shape)
        return DeviceMesh(self.device_type, mesh, mesh_dim_names=names, _init_backend=False, _root=self._get_root_mesh())

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The mesh with all dimensions made one."""
        del backend_override
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        made = self._of((1,), (name,))
        self._get_root_mesh()._flattened[name] = made
        return made

    def _get_root_mesh(self) -> DeviceMesh:
        return self if self._root is None else self._root

    def __enter__(self) -> DeviceMesh:
        _CURRENT.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _CURRENT.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.device_type, self.shape, self.mesh_dim_names

    def __repr__(self) -> str:
        names = self.mesh_dim_names or itertools.repeat(None)
        sizes = [str(size) if name is None else f"{name}={size}" for name, size in zip(names, self.shape, strict=False)]
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 and self.mesh_dim_names is None else ''})"
        strides = f"({', '.join(['()'] * self.ndim)}{',' if self.ndim == 1 else ''})"
        return f"DeviceMesh({shape}, '{self.device_type}', stride={strides})"


#: Meshes whose blocks are entered.
_CURRENT: list[DeviceMesh] = []


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """A mesh of the given sizes, in the order of ranks; makes the default group if there is none.

    Raises:
        RuntimeError: if the mesh has more places than there are processes, or names that do not fit.
    """
    del backend_override
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    return DeviceMesh(device_type, torch.arange(math.prod(mesh_shape)).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
