"""Collectives that return new tensors. They are done when they return: there is nothing to wait
for.

A group is a ``ProcessGroup``, its name, a list of ranks, a mesh of one dimension, or
``(mesh, dimension)``. All have gradients, which are collectives too: every process has to take part
in the backward pass. Those of combinations are of sums alone.
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch

from . import collectives as c
from ._counting import functional
from .group import ProcessGroup, ReduceOp, new_group, world

if TYPE_CHECKING:
    from ..autograd.function_node import FunctionCtx


_made: dict[Any, Any] = {}


def group_of(group: object) -> ProcessGroup:
    """The group that is meant.

    Raises:
        ValueError: for what means none.
    """
    if isinstance(group, (ProcessGroup, str)) or group is None:
        return world(group)
    if isinstance(group, tuple) and len(group) == 2 and hasattr(group[0], "get_group"):
        return group[0].get_group(group[1])
    if hasattr(group, "get_group"):
        return group.get_group()
    if isinstance(group, list):
        ranks = tuple(group[0] if group and isinstance(group[0], list) else group)
        key = (world(), ranks)
        if key not in _made:
            _made[key] = (
                world()
                if ranks == world().ranks
                else new_group(list(ranks), use_local_synchronization=True)
            )
        return _made[key]
    raise ValueError(
        "Invalid type for group, must be one of List, ProcessGroup, DeviceMesh or (DeviceMesh, "
        f"int), not {type(group)}"
    )


def _op(name: object) -> object:
    if not isinstance(name, str):
        return name
    if name.upper() not in ReduceOp.RedOpType.__members__:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return ReduceOp.RedOpType[name.upper()]


def own_copy(t: torch.Tensor) -> torch.Tensor:
    """A tensor's elements in memory of their own, without history."""
    return t.detach().contiguous().clone()


def into(output: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Writes a result into a tensor, whatever that requires."""
    with torch.no_grad():
        return output.copy_(result)


@functional("all_reduce")
def _all_reduce(self: torch.Tensor, reduceOp: object, pg: ProcessGroup) -> torch.Tensor:
    result = own_copy(self)
    c.all_reduce(result, _op(reduceOp), group=pg)
    return result


def all_reduce(self: torch.Tensor, reduceOp: str, group: object, tag: str = "") -> torch.Tensor:
    """The processes' tensors, combined."""
    return _Reduced.apply(self, reduceOp, group_of(group), "all_reduce")


@functional("broadcast")
def _broadcast(self: torch.Tensor, src: int, pg: ProcessGroup) -> torch.Tensor:
    result = own_copy(self)
    c.broadcast(result, src, group=pg)
    return result


def broadcast(self: torch.Tensor, src: int, group: object, tag: str = "") -> torch.Tensor:
    """The tensor of rank ``src``. As in PyTorch the gradient of each process goes to its own
    tensor."""
    return _Spread.apply(self, src, group_of(group))


@functional("all_gather_into_tensor")
def _all_gather(self: torch.Tensor, gather_dim: int, pg: ProcessGroup) -> torch.Tensor:
    rows = [torch.empty_like(self) for _ in range(pg.size())]
    with torch.no_grad():
        c.all_gather(rows, own_copy(self), group=pg)
        return torch.cat(rows, gather_dim)


def all_gather_tensor(
    self: torch.Tensor, gather_dim: int, group: object, tag: str = ""
) -> torch.Tensor:
    """The processes' tensors, joined along a dimension."""
    return _Gathered.apply(self, gather_dim, group_of(group))


def reduce_scatter_tensor(
    self: torch.Tensor, reduceOp: str, scatter_dim: int, group: object, tag: str = ""
) -> torch.Tensor:
    """This process's part, along a dimension, of the processes' tensors, combined.

    Raises:
        AssertionError: if the dimension is no multiple of the number of processes.
    """
    return _Scattered.apply(self, reduceOp, scatter_dim, group_of(group), "reduce_scatter_tensor")


@functional("reduce_scatter_tensor")
def _reduce_scatter(
    self: torch.Tensor, reduceOp: object, scatter_dim: int, pg: ProcessGroup
) -> torch.Tensor:
    if self.shape[scatter_dim] % pg.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of "
            f"group_size {pg.size()}"
        )
    with torch.no_grad():
        parts = [own_copy(t) for t in self.chunk(pg.size(), scatter_dim)]
        result = torch.empty_like(parts[0])
        c.reduce_scatter(result, parts, _op(reduceOp), group=pg)
    return result


def all_to_all_single(
    self: torch.Tensor,
    output_split_sizes: object,
    input_split_sizes: object,
    group: object,
    tag: str = "",
) -> torch.Tensor:
    """What each process has for this one."""
    return _Exchanged.apply(self, output_split_sizes, input_split_sizes, group_of(group))


@functional("all_to_all_single")
def _all_to_all(
    self: torch.Tensor, output_split_sizes: Any, input_split_sizes: object, pg: ProcessGroup
) -> torch.Tensor:
    shape = list(self.shape)
    if output_split_sizes is not None:
        shape[0] = sum(output_split_sizes)
    result = torch.empty(shape, dtype=self.dtype, device=self.device)
    c.all_to_all_single(result, own_copy(self), output_split_sizes, input_split_sizes, group=pg)
    return result


def permute_tensor(
    self: torch.Tensor, src_dst: list[int], group: object, tag: str = ""
) -> torch.Tensor:
    """The tensor of the process that sends to this one: process ``i`` sends to process
    ``src_dst[i]``."""
    pg = group_of(group)
    to = src_dst[pg.rank()]
    n = self.numel()
    sent, got = (
        [n if i == to else 0 for i in range(pg.size())],
        [n if d == pg.rank() else 0 for d in src_dst],
    )
    return all_to_all_single(self.reshape(-1), got, sent, pg).reshape(self.shape)


@functional("all_reduce_coalesced")
def all_reduce_coalesced(
    self: list[torch.Tensor], reduceOp: str, group: object, tag: str = ""
) -> list[torch.Tensor]:
    """``all_reduce`` of each."""
    pg = group_of(group)
    return [_Reduced.apply(t, reduceOp, pg, "all_reduce_coalesced") for t in self]


@functional("all_gather_into_tensor_coalesced")
def all_gather_into_tensor_coalesced(
    self: list[torch.Tensor], group: object, tag: str = ""
) -> list[torch.Tensor]:
    """``all_gather_tensor`` of each, along the first dimension."""
    return [all_gather_tensor(t, 0, group) for t in self]


@functional("reduce_scatter_tensor_coalesced")
def reduce_scatter_tensor_coalesced(
    inputs: list[torch.Tensor], reduceOp: str, scatter_dim: list[int], group: object, tag: str = ""
) -> list[torch.Tensor]:
    """``reduce_scatter_tensor`` of each."""
    pg, name = group_of(group), "reduce_scatter_tensor_coalesced"
    return [
        _Scattered.apply(t, reduceOp, dim, pg, name)
        for t, dim in zip(inputs, scatter_dim, strict=True)
    ]


def _only_sums(name: str, op: Any) -> None:
    text = op.lower() if isinstance(op, str) else op.name.lower()
    if text != "sum":
        raise RuntimeError(f"{name} backward only supports 'sum' reduction, got '{text}'")


def _batched_first(t: torch.Tensor, at: int, dim: int) -> tuple[torch.Tensor, int]:
    """A tensor of ``vmap`` with its own dimension first, and where a dimension of one of the
    tensors is then."""
    return t.movedim(at, 0), dim % (t.ndim - 1) + 1


class _Reduced(torch.autograd.Function):
    @staticmethod
    def forward(t: torch.Tensor, op: object, group: object, name: str) -> Any:
        return _all_reduce(t, op, group)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: object) -> None:
        _, ctx.op, ctx.group, ctx.name = inputs

    @staticmethod
    def vmap(info: object, in_dims: Any, t: torch.Tensor, *others: object) -> Any:
        return _Reduced.apply(t, *others), in_dims[0]

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        _only_sums(ctx.name, ctx.op)
        return _Reduced.apply(grad, "sum", ctx.group, ctx.name), None, None, None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(t: torch.Tensor, src: int, group: object) -> Any:
        return _broadcast(t, src, group)

    @staticmethod
    def setup_context(ctx: object, inputs: object, output: object) -> None:
        pass

    @staticmethod
    def vmap(info: object, in_dims: Any, t: torch.Tensor, *others: object) -> Any:
        return _Spread.apply(t, *others), in_dims[0]

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return grad, None, None


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(t: torch.Tensor, dim: int, group: object) -> Any:
        return _all_gather(t, dim, group)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: object) -> None:
        _, ctx.dim, ctx.group = inputs

    @staticmethod
    def vmap(info: object, in_dims: Any, t: torch.Tensor, dim: int, group: object) -> Any:
        t, dim = _batched_first(t, in_dims[0], dim)
        return _Gathered.apply(t, dim, group), 0

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return (
            _Scattered.apply(grad, "sum", ctx.dim, ctx.group, "reduce_scatter_tensor"),
            None,
            None,
        )


class _Scattered(torch.autograd.Function):
    @staticmethod
    def forward(t: torch.Tensor, op: object, dim: int, group: object, name: str) -> Any:
        return _reduce_scatter(t, op, dim, group)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: object) -> None:
        _, ctx.op, ctx.dim, ctx.group, ctx.name = inputs

    @staticmethod
    def vmap(
        info: object, in_dims: Any, t: torch.Tensor, op: object, dim: int, group: object, name: str
    ) -> Any:
        t, dim = _batched_first(t, in_dims[0], dim)
        return _Scattered.apply(t, op, dim, group, name), 0

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        _only_sums(ctx.name, ctx.op)
        return _Gathered.apply(grad, ctx.dim, ctx.group), None, None, None, None


class _Exchanged(torch.autograd.Function):
    @staticmethod
    def forward(t: torch.Tensor, outputs: object, inputs: object, group: object) -> Any:
        return _all_to_all(t, outputs, inputs, group)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: object) -> None:
        _, ctx.outputs, ctx.inputs, ctx.group = inputs

    @staticmethod
    def vmap(info: object, in_dims: Any, t: torch.Tensor, *others: object) -> Any:
        # of the others the first is divided among processes
        return _Exchanged.apply(t.movedim(in_dims[0], -1), *others), -1

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return _Exchanged.apply(grad, ctx.inputs, ctx.outputs, ctx.group), None, None, None
