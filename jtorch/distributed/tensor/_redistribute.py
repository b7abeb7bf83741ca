"""From some placements to others: which collectives run, in which order, and what autograd
remembers of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch

from .. import _done_collectives as funcol
from .. import collectives
from .._counting import functional
from ..device_mesh import DeviceMesh
from ._dtensor_spec import DTensorSpec, TensorMeta, cuts, plainly
from ._utils import assert_no_mixed_partial_types
from .placement_types import Placement, Replicate, _is_shard_like, _padded

if TYPE_CHECKING:
    from ...autograd.function_node import FunctionCtx


class _Walk:
    """One redistribution of a local tensor. ``order`` says which mesh dimensions cut each dimension
    of the tensor, in turn."""

    def __init__(
        self, local: torch.Tensor, mesh: DeviceMesh, shape: Any, current: Any, target: Any
    ) -> None:
        self.local, self.mesh, self.shape = local, mesh, shape
        self.now: list[Placement] = list(current)
        self.goal: tuple[Placement, ...] = tuple(target)
        self.sizes = mesh.shape
        self.place = mesh.get_coordinate() or ()
        self.order = cuts(self.sizes, current)
        self.wanted = cuts(self.sizes, target)
        self.plain: dict[int, Any] = {
            i: plainly(self.sizes, current, i) for i, p in enumerate(current) if _is_shard_like(p)
        }
        self.cut: dict[int, Any] = {
            i: plainly(self.sizes, target, i) for i, p in enumerate(target) if _is_shard_like(p)
        }

    def run(self) -> torch.Tensor:
        """Takes partial sums together, then cuts apart in the order opposite to that in which they
        were made, and makes the new ones."""
        for i, p in enumerate(self.now):
            if p.is_partial() and self.goal[i] != p:
                self._reduce(i)
        for i in self._surplus():
            self._join(i)
        for i, p in enumerate(self.goal):
            if p.is_partial() and self.now[i] != p:
                self._partition(i)
        for d, dims in self.wanted.items():
            for i in dims[len(self.order.get(d, ())) :]:
                self._split(i)
        return self.local

    def _kept(self, d: int) -> int:
        """How many of the cuts of a dimension stay."""
        kept = 0
        for i, j in zip(self.order.get(d, ()), self.wanted.get(d, ()), strict=False):
            if i != j or self.plain[i] != self.cut[j]:
                break
            kept += 1
        return kept

    def _surplus(self) -> list[int]:
        """The cuts to undo, the last first; those that other dimensions' cuts can take the place of
        come last."""
        found = []
        for d, dims in self.order.items():
            found += reversed(dims[self._kept(d) :])
        rank = {i: k for k, i in enumerate(found)}
        return sorted(
            found,
            key=lambda i: (
                (_is_shard_like(self.goal[i]), rank[i])
                if self._free(found, i)
                else (False, rank[i])
            ),
        )

    def _free(self, found: list[int], i: int) -> bool:
        """Whether no cut of the same dimension must be undone after this one."""
        d = self.plain[i].dim
        return not any(self.plain[j].dim == d for j in found[found.index(i) + 1 :])

    def _ready(self, i: int) -> Any:
        """The cut of mesh dimension ``i`` that is wanted, if it is the next that its dimension
        needs."""
        p = self.cut.get(i)
        if p is None:
            return None
        have, want = self.order.get(p.dim, []), self.wanted[p.dim]
        return (
            p if self._kept(p.dim) == len(have) and want[len(have) : len(have) + 1] == [i] else None
        )

    def _size(self, d: int, before: int | None = None) -> int:
        """How long this process's part of a dimension is, before the cut of a mesh dimension."""
        n = self.shape[d]
        for j in self.order.get(d, ()):
            if j == before:
                break
            n = len(self.plain[j]._positions(n, self.sizes[j])[self.place[j]])
        return n

    def _reduce(self, i: int) -> None:
        partial = self.now[i]
        p = self._ready(i)
        if p is not None:
            if self.sizes[i] > 1:
                self.local = partial._reduce_shard_value(self.local, self.mesh, i, p)
            self._note(i, p)
            return
        if self.sizes[i] > 1:
            self.local = partial._reduce_value(self.local, self.mesh, i)
        self.now[i] = Replicate()

    def _note(self, i: int, p: Any) -> None:
        self.order.setdefault(p.dim, []).append(i)
        self.plain[i], self.now[i] = p, self.goal[i]

    def _join(self, i: int) -> None:
        p = self.plain[i]
        n = self._size(p.dim, i)
        self.order[p.dim].remove(i)
        to = self._ready(i)
        if to is not None and to.dim != p.dim and to.is_shard() and p.is_shard():
            if self.sizes[i] > 1:
                self.local = self._exchanged(i, p, to, n)
            self._note(i, to)
            return
        if self.sizes[i] > 1:
            self.local = self._gathered(i, p, n)
        self.now[i] = Replicate()

    @functional("all_gather_into_tensor")
    def _gathered(self, i: int, p: Any, n: int) -> torch.Tensor:
        held = p._positions(n, self.sizes[i])
        lengths = [len(h) for h in held]
        mine = _padded(self.local.contiguous(), p.dim, max(lengths) - lengths[self.place[i]])
        rows = [torch.empty_like(mine) for _ in held]
        collectives.all_gather(rows, mine, group=self.mesh.get_group(i))
        whole = torch.cat(
            [r.narrow(p.dim, 0, k) for r, k in zip(rows, lengths, strict=True)], p.dim
        )
        if p.is_shard():
            return whole
        flat = [k for h in held for k in h]
        back = torch.tensor(
            sorted(range(n), key=flat.__getitem__), dtype=torch.int64, device=whole.device
        )
        return whole.index_select(p.dim, back)

    @functional("all_to_all_single")
    def _exchanged(self, i: int, p: Any, to: Any, n: int) -> torch.Tensor:
        size, me = self.sizes[i], self.place[i]
        pieces = [t.contiguous() for t in to._pieces(self.local, size)]
        lengths = [len(h) for h in p._positions(n, size)]
        shape = list(pieces[me].shape)
        shapes = [[*shape[: p.dim], k, *shape[p.dim + 1 :]] for k in lengths]
        counts = [torch.Size(s).numel() for s in shapes]
        sent = torch.cat([t.reshape(-1) for t in pieces])
        got = funcol.all_to_all_single(sent, counts, [t.numel() for t in pieces], (self.mesh, i))
        return torch.cat(
            [t.reshape(s) for t, s in zip(got.split(counts), shapes, strict=True)], p.dim
        )

    def _partition(self, i: int) -> None:
        p: Any = self.goal[i]
        if not self.now[i].is_replicate():
            raise RuntimeError(f"redistribute from {self.now[i]} to {p} not supported yet")
        if self.sizes[i] > 1:
            self.local = p._partition_value(self.local, self.mesh, i)
        self.now[i] = p

    def _split(self, i: int) -> None:
        p = self.cut[i]
        if self.sizes[i] > 1:
            self.local = p._pieces(self.local, self.sizes[i])[self.place[i]].clone(
                memory_format=torch.contiguous_format
            )
        self._note(i, p)


def redistribute_local_tensor(
    local_tensor: torch.Tensor,
    current_spec: DTensorSpec,
    target_spec: DTensorSpec,
    *,
    async_op: bool = False,
    is_explicit: bool = False,
) -> torch.Tensor:
    """What this process holds under other placements. All processes of the mesh call it.

    Raises:
        NotImplementedError: for another mesh.
        RuntimeError: for ``Shard`` to ``Partial``.
    """
    del async_op, is_explicit
    if current_spec.mesh != target_spec.mesh:
        raise NotImplementedError("Cross device mesh comm not supported yet!")
    current, target = current_spec.placements, target_spec.placements
    assert_no_mixed_partial_types(current)
    assert_no_mixed_partial_types(target)
    if current == target or current_spec.mesh.get_coordinate() is None:
        return local_tensor
    for a, b in zip(current, target, strict=True):
        if b.is_partial() and _is_shard_like(a):
            raise RuntimeError(f"redistribute from {a} to {b} not supported yet")
        if b.is_partial() and a.is_partial() and a != b:
            raise AssertionError(
                f"Redistribution from one partial type ({a}) to another ({b}) is unsupported."
            )
    with torch.no_grad():
        return _Walk(local_tensor, current_spec.mesh, current_spec.shape, current, target).run()


def _cast(spec: DTensorSpec, dtype: torch.dtype) -> DTensorSpec:
    meta = spec._meta()
    return (
        spec
        if meta.dtype == dtype
        else DTensorSpec(spec.mesh, spec.placements, TensorMeta(meta.shape, meta.stride, dtype))
    )


def _redistributed(
    t: Any, placements: tuple[Placement, ...], op_dtype: Any, out_dtype: Any
) -> object:
    local = t._local_tensor if t._local_tensor.dtype == op_dtype else t._local_tensor.to(op_dtype)
    current = _cast(t._spec, op_dtype)
    target = DTensorSpec(current.mesh, placements, current.tensor_meta)
    local = redistribute_local_tensor(local, current, target, is_explicit=True)
    if local.dtype != out_dtype:
        local = local.to(out_dtype)
    return type(t)(local, _cast(target, out_dtype), requires_grad=t.requires_grad)


class Redistribute(torch.autograd.Function):
    """``redistribute``; its gradient is redistributed back, but to ``Replicate`` where it was
    ``Partial``."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Any,
        device_mesh: object,
        placements: tuple[Placement, ...],
        op_dtype: object,
        out_dtype: object,
        back_dtype: object,
    ) -> Any:
        if device_mesh != input.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        ctx.placements, ctx.input_dtype, ctx.back_dtype, ctx.out_dtype = (
            input.placements,
            input.dtype,
            back_dtype,
            out_dtype,
        )
        ctx.mesh = device_mesh
        return _redistributed(input, placements, op_dtype, out_dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Any) -> Any:
        back = tuple(
            [
                Replicate() if p.is_partial() and q != p else p
                for q, p in zip(grad.placements, ctx.placements, strict=True)
            ]
        )
        return (
            Redistribute.apply(
                grad, ctx.mesh, back, ctx.back_dtype, ctx.input_dtype, ctx.out_dtype
            ),
            None,
            None,
            None,
            None,
            None,
        )
