"""Meshes of processes, with a group along each dimension. Meshes of devices are
``jax.sharding.Mesh``."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Sequence
from typing import Any

import jtorch as torch

from .group import (
    ProcessGroup,
    _resolve_process_group,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
    world,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Processes laid out in a grid.

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
        backend_override: object = None,
        _init_backend: bool = True,
        _rank: int | None = None,
        _layout: object = None,
        _root: DeviceMesh | None = None,
    ) -> None:
        del backend_override, _rank, _layout  # of no effect here
        self.device_type = device_type
        # whatever the default device is
        self.mesh = torch.as_tensor(mesh, dtype=torch.int32, device="cpu")
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._root = _root
        self._flattened: dict[str, DeviceMesh] = {}
        self._ranks: list[int] = self.mesh.flatten().tolist()
        if len(set(self._ranks)) != len(self._ranks):
            raise ValueError(f"ranks list must not contain duplicate entries, got {self._ranks}")
        self._groups = []
        self._coordinate: tuple[int, ...] | None = None
        if _init_backend:
            if not is_initialized():
                init_process_group("gloo")
            ranks = self.mesh.numel()
            if ranks > get_world_size():
                size = get_world_size()
                raise RuntimeError(
                    f"Mesh should not be bigger than default world size {size}, but found {ranks} "
                    "ranks!"
                )
            self._groups = [self._along(d) for d in range(self.mesh.ndim)]
            _KNOWN[self._key()] = self
        if is_initialized():
            own = get_rank()
            if own in self._ranks:
                self._coordinate = self._place(self._ranks.index(own))

    def _place(self, at: int) -> tuple[int, ...]:
        found = []
        for size in reversed(self.shape):
            found.append(at % size)
            at //= size
        return tuple(reversed(found))

    def _along(self, dim: int) -> ProcessGroup | None:
        """Makes the groups along a dimension, which all processes do; this process's."""
        rows = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.shape[dim]).tolist()
        if len(rows) == 1 and rows[0] == list(range(get_world_size())):
            return world()
        name = self.mesh_dim_names[dim] if self.mesh_dim_names else f"dim_{dim}"
        found = None
        for row in rows:
            # parts lie in the order of the mesh
            made = new_group(row, group_desc=f"mesh_{name}", sort_ranks=False)
            found = made if isinstance(made, ProcessGroup) else found
        return found

    @classmethod
    def from_group(
        cls,
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """The mesh of a group, or of one group for each dimension, for which ``mesh`` gives the
        ranks.

        Raises:
            ValueError: if they do not fit.
        """
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        if mesh is None:
            if len(groups) != 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = torch.tensor(world(groups[0]).ranks, dtype=torch.int32, device="cpu")
        made = cls(device_type, mesh, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if made.ndim != len(groups):
            found = f"{made.mesh.tolist()} and {len(groups)} groups"
            raise ValueError(
                f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {found}"
            )
        made._groups = groups
        _KNOWN[made._key()] = made
        return made

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
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}."
            )
        return [known.index(name) for name in names]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the processes along a dimension that this one is among.

        Raises:
            RuntimeError: if the mesh has several dimensions and none is said.
        """
        dim = self._dim(
            mesh_dim,
            "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use "
            "`get_all_groups()` instead.",
        )
        return self._group_of(dim)

    def _group_of(self, dim: int) -> object:
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        found = self._groups[dim]
        # of a world that is no more: the next has its own of that name
        if isinstance(found, ProcessGroup) and found.has_ended():
            found = self._groups[dim] = _resolve_process_group(found.group_name)
        return found

    def get_all_groups(self) -> list[Any]:
        """The groups, one for each dimension."""
        return [self._group_of(d) for d in range(self.ndim)]

    def get_rank(self) -> int:
        """The process's rank."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The process's place along a dimension.

        Raises:
            RuntimeError: if it is not in the mesh.
        """
        dim = self._dim(mesh_dim)
        if self._coordinate is None:
            raise RuntimeError(f"rank {get_rank()} is not in {self}")
        return self._coordinate[dim]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The process's place; None outside of the mesh."""
        return self._coordinate

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of some dimensions, at this process's place in the others.

        Raises:
            KeyError: for names that are not there, or not in the mesh's order.
        """
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if (
            self.mesh_dim_names
            and all(name in self.mesh_dim_names for name in names)
            and self._names(*names) != sorted(self._names(*names))
        ):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in "
                "ascending order."
            )
        return self._sliced(names)

    def _sliced(self, names: tuple[str, ...]) -> DeviceMesh:
        root = self._get_root_mesh()
        if len(names) == 1 and names[0] in root._flattened:
            return root._flattened[names[0]]
        dims = self._names(*names)
        if names == self.mesh_dim_names:
            return self
        place = self._coordinate or (0,) * self.ndim
        index = tuple(slice(None) if d in dims else place[d] for d in range(self.ndim))
        kept = sorted(dims)
        mesh = self.mesh[index].permute([kept.index(d) for d in dims])
        made = self._of(mesh, names)
        made._groups = [self._group_of(d) for d in dims] if self._groups else []
        _KNOWN.setdefault(made._key(), made)
        return made

    def _of(self, mesh: object, names: tuple[str, ...] | None) -> DeviceMesh:
        return DeviceMesh(
            self.device_type,
            mesh,
            mesh_dim_names=names,
            _init_backend=False,
            _root=self._get_root_mesh(),
        )

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def _flatten(
        self, mesh_dim_name: str | None = None, backend_override: object = None
    ) -> DeviceMesh:
        """The mesh with all dimensions made one. All processes of the whole mesh call this."""
        del backend_override
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        root = self._get_root_mesh()
        if name in root._flattened:
            return root._flattened[name]
        made = self._of(self.mesh.flatten(), (name,))
        if self.ndim == 1:
            made._groups = list(self._groups)
        else:
            made._groups = [_ordered_group(made._ranks, name)] if self._groups else []
        root._flattened[name] = made
        return made

    def _unflatten(
        self,
        dim: int | str,
        mesh_sizes: tuple[int, ...],
        mesh_dim_names: tuple[str, ...],
        backend_override: object = None,
    ) -> DeviceMesh:
        """The mesh with one dimension made several. All processes of the whole mesh call this.

        Raises:
            ValueError: for a dimension that there is not.
            RuntimeError: for other than one name for each size, or sizes that do not fit.
        """
        del backend_override
        if isinstance(dim, int) and dim >= self.ndim:
            raise ValueError(f"dim {dim} specified in `_unflatten` is out of range {self.ndim}")
        if isinstance(dim, str) and dim not in (self.mesh_dim_names or ()):
            raise ValueError(f"dim {dim} specified in `_unflatten` is not in {self.mesh_dim_names}")
        if len(mesh_sizes) != len(mesh_dim_names):
            raise RuntimeError("mesh_dim_names must have same length as mesh_sizes in _unflatten!")
        at = self._names(dim)[0] if isinstance(dim, str) else dim
        names = list(self.mesh_dim_names or [f"dim_{d}" for d in range(self.ndim)])
        names[at : at + 1] = mesh_dim_names
        made = self._of(self.mesh.unflatten(at, tuple(mesh_sizes)), tuple(names))
        if self._groups:
            new = range(at, at + len(mesh_sizes))
            kept = iter([*self._groups[:at], *self._groups[at + 1 :]])
            made._groups = [made._along(d) if d in new else next(kept) for d in range(made.ndim)]
        return made

    @staticmethod
    def _concatenate(device_mesh_list: list[DeviceMesh]) -> DeviceMesh:
        """The mesh of the dimensions of several parts of one mesh.

        Raises:
            RuntimeError: for parts of different meshes, or that share a dimension.
        """
        root = device_mesh_list[0]._get_root_mesh()
        if any(part._get_root_mesh() is not root for part in device_mesh_list):
            raise RuntimeError(
                "Cannot concatenate DeviceMeshes derived from different device meshs"
            )
        names = tuple(name for part in device_mesh_list for name in part.mesh_dim_names or ())
        if len(set(names)) != len(names) or any(
            name not in (root.mesh_dim_names or ()) for name in names
        ):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {device_mesh_list}")
        return root._sliced(names)

    def _get_mesh_dim_by_name(self, mesh_dim_name: str) -> int:
        """The number of a dimension.

        Raises:
            KeyError: if none has that name.
        """
        names = self.mesh_dim_names
        if not names:
            raise KeyError("No `mesh_dim_names` found.")
        if mesh_dim_name not in names:
            words = (
                f"Mesh dimension '{mesh_dim_name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={names}",
            )
            raise KeyError(*words)
        return names.index(mesh_dim_name)

    def _get_root_mesh(self) -> DeviceMesh:
        return self if self._root is None else self._root

    def __enter__(self) -> DeviceMesh:
        _CURRENT.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _CURRENT.pop()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> object:
        found = self.__dict__.get("_identity")
        if found is None:
            found = self.__dict__["_identity"] = (
                self.device_type,
                self.shape,
                self.mesh_dim_names,
                tuple(self._ranks),
            )
        return found

    def __repr__(self) -> str:
        names = self.mesh_dim_names or itertools.repeat(None)
        sizes = [
            str(size) if name is None else f"{name}={size}"
            for name, size in zip(names, self.shape, strict=False)
        ]
        shape = (
            f"({', '.join(sizes)}{',' if len(sizes) == 1 and self.mesh_dim_names is None else ''})"
        )
        offsets = [math.prod(self.shape[d + 1 :]) for d in range(self.ndim)]
        steps = [
            self._ranks[offsets[d]] - self._ranks[0] if size > 1 else "()"
            for d, size in enumerate(self.shape)
        ]
        strides = f"({', '.join(map(str, steps))}{',' if self.ndim == 1 else ''})"
        return f"DeviceMesh({shape}, '{self.device_type}', stride={strides})"


def _ordered_group(ranks: list[int], name: str) -> object:
    """A group of ranks as they are numbered in a mesh, which those among them make."""
    return new_group(
        ranks, use_local_synchronization=True, group_desc=f"mesh_{name}", sort_ranks=False
    )


#: Meshes whose blocks are entered.
_CURRENT: list[DeviceMesh] = []


#: Meshes that are in use, by what makes two of them equal.
_KNOWN: weakref.WeakValueDictionary[object, DeviceMesh] = weakref.WeakValueDictionary()


def known_mesh(device_type: str, ranks: object, names: tuple[str, ...] | None) -> DeviceMesh:
    """A mesh that equals what is asked for; makes one if there is none, which all processes do
    then."""
    bare = DeviceMesh(device_type, ranks, mesh_dim_names=names, _init_backend=False)
    found = _KNOWN.get(bare._key())
    if found is None:
        found = (
            bare if not is_initialized() else DeviceMesh(device_type, ranks, mesh_dim_names=names)
        )
    return found


def current_mesh() -> DeviceMesh:
    """The mesh whose block was entered last.

    Raises:
        RuntimeError: outside of any.
    """
    if not _CURRENT:
        raise RuntimeError("No device mesh is currently active!")
    return _CURRENT[-1]


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: object = None,
) -> DeviceMesh:
    """A mesh of the given sizes, in the order of ranks; makes the default group if there is none.

    Raises:
        RuntimeError: if the mesh has more places than there are processes, or names that do not
            fit.
    """
    del backend_override
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
                f"{mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    return DeviceMesh(
        device_type,
        torch.arange(math.prod(mesh_shape), device="cpu").reshape(mesh_shape),
        mesh_dim_names=mesh_dim_names,
    )
