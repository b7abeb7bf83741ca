"""Collectives that return new tensors. They are done when they return: ``wait_tensor`` has nothing to wait for.

A group is a ``ProcessGroup``, its name, a list of ranks, a mesh of one dimension, or ``(mesh, dimension)``.
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from typing import Any

import jtorch as torch

from . import collectives as c
from ._counting import functional
from .group import ProcessGroup, ReduceOp, new_group, world


class AsyncCollectiveTensor(torch.Tensor):
    """A tensor whose collective may be running still; none is made here."""


_made: dict[Any, Any] = {}


def _group(group: Any) -> ProcessGroup:
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
            _made[key] = world() if ranks == world().ranks else new_group(list(ranks), use_local_synchronization=True)
        return _made[key]
    raise ValueError(f"Invalid type for group, must be one of List, ProcessGroup, DeviceMesh or (DeviceMesh, int), not {type(group)}")


def _op(name: Any) -> Any:
    if not isinstance(name, str):
        return name
    if name.upper() not in ReduceOp.RedOpType.__members__:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return ReduceOp.RedOpType[name.upper()]


def _start(t: torch.Tensor) -> torch.Tensor:
    return t.detach().contiguous().clone()


def wait_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor."""
    return tensor


@functional("all_reduce")
def all_reduce(self: torch.Tensor, reduceOp: str, group: Any, tag: str = "") -> torch.Tensor:
    """The processes' tensors, combined."""
    result = _start(self)
    c.all_reduce(result, _op(reduceOp), group=_group(group))
    return result


@functional("broadcast")
def broadcast(self: torch.Tensor, src: int, group: Any, tag: str = "") -> torch.Tensor:
    """The tensor of rank ``src``."""
    result = _start(self)
    c.broadcast(result, src, group=_group(group))
    return result


@functional("all_gather_into_tensor")
def all_gather_tensor(self: torch.Tensor, gather_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """The processes' tensors, joined along a dimension."""
    pg = _group(group)
    rows = [torch.empty_like(self) for _ in range(pg.size())]
    with torch.no_grad():
        c.all_gather(rows, _start(self), group=pg)
        return torch.cat(rows, gather_dim)


@functional("reduce_scatter_tensor")
def reduce_scatter_tensor(self: torch.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """This process's part, along a dimension, of the processes' tensors, combined.

    Raises:
        AssertionError: if the dimension is no multiple of the number of processes.
    """
    pg = _group(group)
    if self.shape[scatter_dim] % pg.size():
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of group_size {pg.size()}")
    with torch.no_grad():
        parts = [_start(t) for t in self.chunk(pg.size(), scatter_dim)]
        result = torch.empty_like(parts[0])
        c.reduce_scatter(result, parts, _op(reduceOp), group=pg)
    return result


@functional("all_to_all_single")
def all_to_all_single(self: torch.Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> torch.Tensor:
    """What each process has for this one."""
    shape = list(self.shape)
    if output_split_sizes is not None:
        shape[0] = sum(output_split_sizes)
    result = torch.empty(shape, dtype=self.dtype, device=self.device)
    c.all_to_all_single(result, _start(self), output_split_sizes, input_split_sizes, group=_group(group))
    return result


@functional("all_to_all_single")
def permute_tensor(self: torch.Tensor, src_dst: list[int], group: Any, tag: str = "") -> torch.Tensor:
    """The tensor of the process that sends to this one: process ``i`` sends to process ``src_dst[i]``."""
    pg = _group(group)
    to = src_dst[pg.rank()]
    n = self.numel()
    sent, got = [n if i == to else 0 for i in range(pg.size())], [n if d == pg.rank() else 0 for d in src_dst]
    result = torch.empty(sum(got), dtype=self.dtype, device=self.device)
    c.all_to_all_single(result, _start(self).reshape(-1), got, sent, group=pg)
    return result.reshape(self.shape)


@functional("all_reduce_coalesced")
def all_reduce_coalesced(self: list[torch.Tensor], reduceOp: str, group: Any, tag: str = "") -> list[torch.Tensor]:
    """``all_reduce`` of each."""
    return [all_reduce(t, reduceOp, group) for t in self]


@functional("all_gather_into_tensor_coalesced")
def all_gather_into_tensor_coalesced(self: list[torch.Tensor], group: Any, tag: str = "") -> list[torch.Tensor]:
    """``all_gather_tensor`` of each, along the first dimension."""
    return [all_gather_tensor(t, 0, group) for t in self]


@functional("reduce_scatter_tensor_coalesced")
def reduce_scatter_tensor_coalesced(
    inputs: list[torch.Tensor], reduceOp: str, scatter_dim: list[int], group: Any, tag: str = ""
) -> list[torch.Tensor]:
    """``reduce_scatter_tensor`` of each."""
    return [reduce_scatter_tensor(t, reduceOp, dim, group) for t, dim in zip(inputs, scatter_dim, strict=True)]


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: torch.Tensor, dim: int, group: Any) -> torch.Tensor:
        ctx.dim, ctx.group = dim, group
        return all_gather_tensor(t, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return _Scattered.apply(grad, "sum", ctx.dim, ctx.group), None, None


class _Scattered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: torch.Tensor, op: str, dim: int, group: Any) -> torch.Tensor:
        ctx.op, ctx.dim, ctx.group = op, dim, group
        return reduce_scatter_tensor(t, op, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        if ctx.op not in ("sum", "avg"):
            raise RuntimeError(f"reduce_scatter_tensor has no derivative for {ctx.op}")
        whole = _Gathered.apply(grad, ctx.dim, ctx.group)
        return whole / ctx.group.size() if ctx.op == "avg" else whole, None, None, None


class _Exchanged(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: torch.Tensor, outputs: Any, inputs: Any, group: Any) -> torch.Tensor:
        ctx.outputs, ctx.inputs, ctx.group = outputs, inputs, group
        return all_to_all_single(t, outputs, inputs, group)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return _Exchanged.apply(grad, ctx.inputs, ctx.outputs, ctx.group), None, None, None


def all_gather_tensor_autograd(self: torch.Tensor, gather_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """``all_gather_tensor`` with a gradient."""
    return _Gathered.apply(self, gather_dim, _group(group))


def reduce_scatter_tensor_autograd(self: torch.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """``reduce_scatter_tensor`` with a gradient."""
    return _Scattered.apply(self, reduceOp, scatter_dim, _group(group))


def all_to_all_single_autograd(
    self: torch.Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> torch.Tensor:
    """``all_to_all_single`` with a gradient."""
    return _Exchanged.apply(self, output_split_sizes, input_split_sizes, _group(group))


def _no_handle(async_op: bool) -> None:
    if async_op:
        raise AssertionError("Can't remap async version of inplace op to functional collective")


def _into(output: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return output.copy_(result)


def all_reduce_inplace(tensor: torch.Tensor, op: Any = "sum", group: Any = None, async_op: bool = False, tag: str = "") -> torch.Tensor:
    """``all_reduce`` into the tensor itself."""
    _no_handle(async_op)
    return _into(tensor, all_reduce(tensor, op, world() if group is None else group))


def all_gather_tensor_inplace(
    output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any = None, async_op: bool = False, tag: str = "", gather_dim: int = 0
) -> torch.Tensor:
    """``all_gather_tensor`` into a tensor."""
    _no_handle(async_op)
    return _into(output_tensor, all_gather_tensor(input_tensor, gather_dim, world() if group is None else group))


def reduce_scatter_tensor_inplace(
    output: torch.Tensor,
    input: torch.Tensor,
    op: Any = "sum",
    group: Any = None,
    async_op: bool = False,
    scatter_dim: int = 0,
    tag: str = "",
) -> torch.Tensor:
    """``reduce_scatter_tensor`` into a tensor."""
    _no_handle(async_op)
    return _into(output, reduce_scatter_tensor(input, op, scatter_dim, world() if group is None else group))


def all_to_all_inplace(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
    tag: str = "",
) -> torch.Tensor:
    """``all_to_all_single`` into a tensor."""
    _no_handle(async_op)
    return _into(output, all_to_all_single(input, output_split_sizes, input_split_sizes, world() if group is None else group))


def all_gather_inplace(
    tensor_list: list[torch.Tensor], tensor: torch.Tensor, group: Any = None, async_op: bool = False, tag: str = ""
) -> Any:
    """The processes' tensors, which may differ in their first dimension, into those of a list."""
    _no_handle(async_op)
    c.all_gather(tensor_list, _start(tensor), group=_group(group))
    return tensor_list


#: Newer names.
all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
all_gather_single_coalesced, reduce_scatter_single_coalesced = all_gather_into_tensor_coalesced, reduce_scatter_tensor_coalesced
all_gather_single_autograd, reduce_scatter_single_autograd = all_gather_tensor_autograd, reduce_scatter_tensor_autograd
