"""The parameters of a module that ``fully_shard`` shards: gathered in one collective, their
gradients reduced in one.

A parameter lies in its module as a ``DTensor`` (sharded) or as a plain parameter (whole). Whole
parameters are leaves of their own, made anew at each gathering: what a backward pass needs of them
is held by its graph. A pass leaves its gradients here, leaf by leaf, and they are reduced once it
is over, so that it runs as one program.
"""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch.autograd.engine import outermost_walk, queue_callback

from .._arrays import made, taken
from .._lanes import folded
from ..device_mesh import DeviceMesh
from ..tensor import DTensor, Replicate, Shard
from ..tensor._dtensor_spec import DTensorSpec, TensorMeta
from ..tensor.placement_types import _StridedShard
from ..works import start
from .api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy


class Layout:
    """Which processes share the shards of parameters, and which hold copies of them.

    Args:
        mesh: of one dimension, or of two: the first are copies, the second shards.
        shards: whether parameters are cut at all.
    """

    def __init__(self, mesh: DeviceMesh, shards: bool = True) -> None:
        self.mesh = mesh
        self.shard_group = mesh.get_group(mesh.ndim - 1) if shards else None
        self.copies_group = mesh.get_group(0) if mesh.ndim == 2 or not shards else None
        self.size = mesh.size(mesh.ndim - 1) if shards else 1
        self.rank = mesh.get_local_rank(mesh.ndim - 1) if shards else 0

    @property
    def total(self) -> int:
        """How many processes the gradients of a parameter come from."""
        return self.mesh.size()


def _set(module: nn.Module, name: str, parameter: object) -> None:
    # Not by attribute, which takes longer, unless the class wants to know (recurrent networks keep
    # lists of their weights).
    if type(module).__setattr__ is nn.Module.__setattr__:
        module._parameters[name] = parameter
    else:
        setattr(module, name, parameter)


class Param:
    """One parameter: its places, its shard, and how both relate.

    Attributes:
        sharded: the ``DTensor`` that programs and optimisers see.
        whole: the plain parameter, while there is one.
    """

    def __init__(
        self,
        parameter: nn.Parameter,
        places: list[tuple[nn.Module, str]],
        layout: Layout,
        shard: Any,
        offloaded: bool,
    ) -> None:
        self.places, self.layout, self.dim = places, layout, shard.dim
        self.tensor_mesh = None
        data: Any = parameter.detach()
        shape, stride = parameter.size(), parameter.stride()
        if isinstance(parameter, DTensor):  # sharded already, for tensor parallelism
            self.tensor_mesh = parameter.device_mesh, parameter.placements
            data = parameter.to_local().detach()
        if not data.is_contiguous():
            raise NotImplementedError(
                "FSDP does not support non-contiguous parameters yet: "
                f"param.shape={parameter.shape} param.stride()={parameter.stride()}"
            )
        self.size = tuple(data.shape)
        if self.dim and self.size[self.dim] % layout.size:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {self.dim}: {data.size()} (world "
                f"size: {layout.size})"
            )
        self.spec = self._spec(shard, TensorMeta(shape, tuple(stride), data.dtype))
        self.rows = -(-self.size[self.dim] // layout.size)
        begin = min(layout.rank * self.rows, self.size[self.dim])
        local = data.narrow(self.dim, begin, min(self.rows, self.size[self.dim] - begin)).clone(
            memory_format=torch.contiguous_format
        )
        if offloaded and not local.is_meta:
            local = local.cpu()
        self.sharded: Any = nn.Parameter(
            DTensor(local, self.spec, requires_grad=False), requires_grad=parameter.requires_grad
        )
        for name, value in vars(parameter).items():  # what a program has set on it
            if not hasattr(self.sharded, name):
                setattr(self.sharded, name, value)
        self.whole: nn.Parameter | None = None
        #: The last whole one: graphs that will need it hold it.
        self.last: Callable[[], nn.Parameter | None] = lambda: None
        self.register(self.sharded)

    def _spec(self, shard: Any, meta: TensorMeta) -> DTensorSpec:
        layout = self.layout
        copies = (Replicate(),) * (layout.mesh.ndim - (layout.shard_group is not None))
        cut: tuple[Any, ...] = (shard,) if layout.shard_group is not None else ()
        if self.tensor_mesh is None:
            return DTensorSpec(layout.mesh, copies + cut, meta)
        mesh, placements = self.tensor_mesh
        pieces = math.prod(mesh.size(i) for i, p in enumerate(placements) if p.is_shard(self.dim))
        if cut and pieces > 1:
            cut = (_StridedShard(shard.dim, split_factor=pieces),)
        names = (*(layout.mesh.mesh_dim_names or ()), *(mesh.mesh_dim_names or ()))
        whole = layout.mesh._get_root_mesh()
        if len(names) != layout.mesh.ndim + mesh.ndim or whole is not mesh._get_root_mesh():
            raise ValueError(
                "FSDP of parameters that are DTensors needs meshes that are named dimensions of "
                "one mesh"
            )
        return DTensorSpec(whole._sliced(names), (*copies, *cut, *placements), meta)

    def register(self, parameter: object) -> None:
        """Puts a tensor where the module looks for the parameter."""
        for module, name in self.places:
            _set(module, name, parameter)

    def refresh(self) -> None:
        """Takes over what has been put in the parameter's place: a moved tensor, or a loaded
        one."""
        module, name = self.places[0]
        found = module._parameters[name]
        if found is not self.sharded and found is not self.whole and isinstance(found, DTensor):
            self.sharded = found
            self.register(found)

    @property
    def local(self) -> torch.Tensor:
        """This process's part."""
        return self.sharded._local_tensor

    @property
    def padded(self) -> int:
        """The elements of the largest part."""
        return (
            math.prod(self.size) // max(self.size[self.dim], 1) * self.rows
            if self.size[self.dim]
            else 0
        )

    def assembled(self, parts: list[np.ndarray]) -> np.ndarray:
        """The whole of the parts of all processes, which come flat and padded."""
        found = [
            part[: math.prod(shape)].reshape(shape)
            for part, shape in zip(parts, self._shapes(), strict=True)
        ]
        return np.concatenate(found, axis=self.dim) if len(found) > 1 else np.array(found[0])

    def divided(self, whole: np.ndarray) -> list[np.ndarray]:
        """The parts of all processes, flat."""
        ends = np.cumsum([shape[self.dim] for shape in self._shapes()])[:-1]
        return [
            np.ascontiguousarray(part).reshape(-1) for part in np.split(whole, ends, axis=self.dim)
        ]

    def own_shape(self) -> tuple[int, ...]:
        """The shape of this process's part."""
        return self._shapes()[self.layout.rank]

    def _shapes(self) -> list[tuple[int, ...]]:
        total = self.size[self.dim]
        counts = [max(0, min(self.rows, total - i * self.rows)) for i in range(self.layout.size)]
        return [(*self.size[: self.dim], count, *self.size[self.dim + 1 :]) for count in counts]


_NUMBERS = itertools.count()


class ParamGroup:
    """The parameters of one call of ``fully_shard``.

    Args:
        parameters: with the modules and names under which they are found.
        placement: says for a parameter along which dimension it is cut; None for the first.
    """

    def __init__(
        self,
        name: str,
        parameters: list[tuple[nn.Parameter, list[tuple[nn.Module, str]]]],
        layout: Layout,
        placement: Callable[[nn.Parameter], Any] | None,
        mp_policy: MixedPrecisionPolicy,
        offload_policy: OffloadPolicy,
    ) -> None:
        self.number = next(_NUMBERS)
        self.name, self.layout, self.mp_policy = name, layout, mp_policy
        self.of_model: Callable[[], list[ParamGroup]] = lambda: [self]
        offloaded = isinstance(offload_policy, CPUOffloadPolicy)
        self.params = [
            Param(p, places, layout, _shard(placement, p), offloaded) for p, places in parameters
        ]
        self.is_whole = False
        self.reshard_after_forward = True
        self.reshard_after_backward = self.reduces = self.reduces_copies = True
        self.fills_unused = False
        self.factor: float | None = None
        #: Whether sums are divided after ``hook`` has been called with them, rather than before.
        self.forces_sums = False
        #: Called with what has been reduced over all processes.
        self.hook: Callable[[torch.Tensor], Any] | None = None
        #: Whether gradients that are not reduced lie on the whole parameters, for the program to
        #: see.
        self._on_leaves = False
        self._grads: dict[int, torch.Tensor] = {}
        #: Reduced over the shards and not yet over the copies.
        self._partial: dict[int, np.ndarray] = {}

    # ---- parameters ------------------------------------------------------------------------------

    def unshard(self) -> None:
        """Gathers the parameters, unless they are whole."""
        if self.is_whole:
            return
        for p in self.params:
            p.refresh()
        waiting = [name for p in self.params if p.local.is_meta for _, name in p.places]
        if waiting:
            raise RuntimeError(
                "FSDP parameters should be materialized from meta device before training, but the "
                f"following were still on meta device: {waiting}\n"
                "For example, call module.to_empty(device) to materialize to device and call "
                "module.reset_parameters() on each module to initialize values."
            )
        by_dtype = {}
        for i, p in enumerate(self.params):
            by_dtype.setdefault(self._computed_in(p.sharded.dtype), []).append(i)
        with torch.no_grad():
            for dtype, numbers in by_dtype.items():
                self._gather(dtype, numbers)
        self.is_whole = True

    def unshard_again(self) -> None:
        """Before a backward pass, parts of which may compute forward anew: the parameters of then,
        gathered only if nobody holds them."""
        if self.is_whole:
            return
        held = [p.last() for p in self.params]
        if any(leaf is None for leaf in held):
            self.unshard()
            return
        for p, leaf in zip(self.params, held, strict=True):
            p.whole = leaf
            p.register(leaf)
        self.is_whole = True

    def _computed_in(self, dtype: torch.dtype) -> torch.dtype:
        wanted = self.mp_policy.param_dtype
        return wanted if wanted is not None and dtype.is_floating_point else dtype

    def _gather(self, dtype: torch.dtype, numbers: list[int]) -> None:
        params = [self.params[i] for i in numbers]
        locals_ = [
            taken(p.local if p.local.dtype is dtype else p.local.to(dtype)).reshape(-1)
            for p in params
        ]
        if self.layout.size == 1:
            rows = [np.concatenate(locals_) if len(locals_) > 1 else locals_[0]]
        else:
            flat = np.zeros(sum(p.padded for p in params), locals_[0].dtype)
            at = 0
            for p, local in zip(params, locals_, strict=True):
                flat[at : at + local.size] = local
                at += p.padded
            rows = self._all_gathered(flat)
        at = 0
        for i, p in zip(numbers, params, strict=True):
            whole: Any = made(p.assembled([row[at : at + p.padded] for row in rows]))
            at += p.padded
            if self.layout.mesh.device_type != "cpu":
                whole = whole.to(self.layout.mesh.device_type)
            if p.tensor_mesh is not None:
                mesh, placements = p.tensor_mesh
                whole = DTensor(
                    whole, DTensorSpec(mesh, placements, p.spec.tensor_meta), requires_grad=False
                )
            leaf = nn.Parameter(whole, requires_grad=p.sharded.requires_grad)
            if leaf.requires_grad:
                leaf.register_post_accumulate_grad_hook(self._note(i))
            p.whole, p.last = leaf, weakref.ref(leaf)
            p.register(leaf)

    def _all_gathered(self, flat: np.ndarray) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        what = f"all_gather of {self.name} {flat.dtype.name}"
        data = flat.view(np.uint8)
        start(
            "all_gather_into_tensor",
            self.layout.shard_group,
            lambda lane: lane.gather(what, data),
            found.extend,
            None,
            False,
        )
        return [np.ascontiguousarray(row).view(flat.dtype) for row in found]

    def reshard(self) -> None:
        """Puts the shards back in place of whole parameters."""
        if self.is_whole:
            self._take_from_leaves()
            self.is_whole = False
            for p in self.params:
                p.refresh()
                p.register(p.sharded)
                p.whole = None

    # ---- gradients -------------------------------------------------------------------------------

    def _note(self, index: int) -> Callable[[torch.Tensor], None]:
        def note(leaf: torch.Tensor) -> None:
            grad, leaf.grad = leaf.grad, None
            if grad is None:
                return
            if isinstance(grad, DTensor):
                grad = grad.redistribute(placements=self.params[index].tensor_mesh[1]).to_local()  # type: ignore[index]
            grad = grad.detach()
            _PASS.reached(self)
            kept = self._grads.get(index)
            if self.mp_policy.reduce_dtype is not None and (kept is not None or not self.reduces):
                grad = grad.to(self.mp_policy.reduce_dtype)
            self._grads[index] = grad if kept is None else kept + grad

        return note

    def finish_pass(self) -> None:
        """Reduces what a backward pass has left, if it is to be reduced, and lets go of whole
        parameters."""
        if self.reshard_after_backward:
            self.reshard()
        if not self.reduces:
            self._leave_on_leaves()
            return
        self._take_from_leaves()
        if not self._grads:
            return
        grads, self._grads = self._grads, {}
        if self.fills_unused:
            for i, p in enumerate(self.params):
                if i not in grads and p.sharded.requires_grad:
                    grads[i] = torch.zeros(p.size, dtype=self._computed_in(p.sharded.dtype))
        by_dtype = {}
        for i in sorted(grads):
            by_dtype.setdefault(self.mp_policy.reduce_dtype or grads[i].dtype, []).append(i)
        with torch.no_grad():
            for dtype, numbers in by_dtype.items():
                self._reduce(dtype, {i: grads[i] for i in numbers})

    def _leave_on_leaves(self) -> None:
        for i, p in enumerate(self.params):
            if (
                p.whole is not None
                and i in self._grads
                and self._grads[i].dtype is p.whole.dtype
                and p.tensor_mesh is None
            ):
                p.whole.grad = self._grads.pop(i)
                self._on_leaves = True

    def _take_from_leaves(self) -> None:
        if self._on_leaves:
            self._on_leaves = False
            for i, p in enumerate(self.params):
                if p.whole is not None and p.whole.grad is not None:
                    kept, grad = self._grads.get(i), p.whole.grad.detach()
                    self._grads[i] = grad if kept is None else kept + grad
                    p.whole.grad = None

    def _reduce(self, dtype: torch.dtype, grads: dict[int, torch.Tensor]) -> None:
        before, between, after = self._factors(dtype)
        arrays = {
            i: _divided(taken(grad if grad.dtype is dtype else grad.to(dtype)), before)
            for i, grad in grads.items()
        }
        own = self._reduce_scattered(arrays)
        if self.layout.copies_group is not None:
            for i, kept in self._partial.items():
                if i in own:
                    own[i] = own[i] + kept
            if not self.reduces_copies:
                self._partial.update(own)
                return
            self._partial = {i: kept for i, kept in self._partial.items() if i not in own}
            own = self._all_reduced(own)
        if self.hook is not None:
            own = self._hooked({i: _divided(array, between) for i, array in own.items()})
        else:
            after *= between
        for i, array in own.items():
            p = self.params[i]
            total: Any = made(_divided(array, after).reshape(p.own_shape()))
            self._give(p, total.to(p.local.device).to(p.sharded.dtype))

    def _factors(self, dtype: torch.dtype) -> tuple[float, float, float]:
        """What gradients are divided by before they are added up, before the hook sees sums, and
        after that."""
        divisor = float(self.layout.total if self.factor is None else self.factor)
        if dtype in (torch.float32, torch.bfloat16):
            return (1.0, 1.0, divisor) if self.forces_sums else (1.0, divisor, 1.0)
        before = 1.0
        # about the root, so that neither sums nor summands leave the range
        while divisor % before == 0 and divisor / before > before:
            before *= 2
        return before, 1.0, divisor / before

    def _hooked(self, own: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """What the hook makes of gradients: they are one tensor, in which each parameter has as
        much room as its largest part needs."""
        assert self.hook is not None
        ends = [*itertools.accumulate(self.params[i].padded for i in own)]
        flat = np.zeros(ends[-1], next(iter(own.values())).dtype)
        places = {
            i: slice(begin, begin + own[i].size) for i, begin in zip(own, [0, *ends], strict=False)
        }
        for i, place in places.items():
            flat[place] = own[i]
        tensor = made(flat)
        self.hook(tensor)
        changed = taken(tensor)
        return {i: changed[place] for i, place in places.items()}

    def _reduce_scattered(self, arrays: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """The sum of this process's parts over the processes that share shards."""
        if self.layout.size == 1:
            return {i: array.reshape(-1) for i, array in arrays.items()}
        pieces = [self.params[i].divided(array) for i, array in arrays.items()]
        flat = [
            np.concatenate([piece[rank] for piece in pieces]) for rank in range(self.layout.size)
        ]
        dtype = flat[0].dtype
        what = (
            f"reduce_scatter of {self.name} {dtype.name} {len(arrays)} of "
            f"{sum(a.size for a in arrays.values())}"
        )
        parts = [part.view(np.uint8) for part in flat]

        def task(lane: Any) -> np.ndarray:
            rows = [
                np.array(row).view(dtype)
                for row in lane.exchange(what, parts, len({part.size for part in parts}) == 1)
            ]
            if dtype.itemsize < 4:  # sums of half precision are rounded once
                return folded([row.astype(np.float32) for row in rows], "sum").astype(dtype)
            return folded(rows, "sum")

        found: list[np.ndarray] = []
        start("reduce_scatter_tensor", self.layout.shard_group, task, found.append, None, False)
        ends = np.cumsum([piece[self.layout.rank].size for piece in pieces])[:-1]
        return dict(zip(arrays, np.split(found[0], ends), strict=True))

    def _all_reduced(self, own: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """The sum over the processes that hold copies."""
        flat = np.concatenate(list(own.values()))
        what = f"all_reduce of {self.name} {flat.dtype.name} {flat.size}"
        found: list[np.ndarray] = []
        start(
            "all_reduce",
            self.layout.copies_group,
            lambda lane: lane.combine(what, flat, "sum"),
            found.append,
            None,
            False,
        )
        ends = np.cumsum([array.size for array in own.values()])[:-1]
        return dict(zip(own, np.split(found[0], ends), strict=True))

    def _give(self, p: Param, local: torch.Tensor) -> None:
        grad = DTensor(local, p.spec, requires_grad=False)
        held = p.sharded.grad
        if held is None:
            p.sharded.grad = grad
        else:
            held.add_(grad)  # the tensor stays, for those who hold it
        for hook in list((p.sharded._post_accumulate_grad_hooks or {}).values()):
            hook(p.sharded)

    def forget(self) -> None:
        """Lets go of gradients that a failed iteration has left."""
        self._grads, self._partial = {}, {}
        self.reshard()


def _divided(array: np.ndarray, divisor: float) -> np.ndarray:
    if divisor == 1:
        return array
    if array.dtype.itemsize < 4:
        return (array.astype(np.float32) / np.float32(divisor)).astype(array.dtype)
    return array / array.dtype.type(divisor)


def _shard(placement: Callable[[nn.Parameter], object] | None, parameter: nn.Parameter) -> Shard:
    found = None if placement is None else placement(parameter)
    if found is None:
        return Shard(0)
    if type(found) is not Shard:
        raise not_offered(
            "torch.distributed.fsdp.fully_shard(shard_placement_fn=)",
            f"of results it takes Shard, not {found!r}",
        )
    return Shard(found.dim % parameter.dim())


class _Pass(threading.local):
    """The groups that the backward pass which is going on in this thread has left gradients in."""

    def __init__(self) -> None:
        self._walk = None
        self._groups: dict[int, ParamGroup] = {}

    def reached(self, group: ParamGroup) -> None:
        """Has a group finish, with those of the same model, when the pass is over."""
        # Passes within a pass, as reentrant checkpoints have them, are parts of it: what they need
        # must stay whole.
        if self._walk is not outermost_walk():  # another pass, perhaps after one that failed
            self._walk = outermost_walk()
            queue_callback(self._end, outermost=True)
        self._groups[group.number] = group

    def _end(self) -> None:
        """Finishes the groups in an order that all processes have."""
        self._walk = None
        reached, self._groups = self._groups, {}
        for group in list(reached.values()):
            reached.update({other.number: other for other in group.of_model()})
        for number in sorted(reached, reverse=True):
            reached[number].finish_pass()


_PASS = _Pass()
