"""The methods of process groups: collectives as PyTorch's C++ class has them, with lists of one tensor, ranks of the group, and options.

Each returns a ``Work`` at once.
"""

from __future__ import annotations

import datetime
from typing import Any

from ..core import Tensor
from . import collectives as c
from . import point_to_point
from ._backends import ReduceOp
from .constants import default_pg_timeout
from .group import ProcessGroup, get_global_rank
from .works import Work


class _Options:
    """What a collective is told besides tensors."""

    timeout: datetime.timedelta = default_pg_timeout
    asyncOp: bool = True


class AllgatherOptions(_Options):
    """Options of ``allgather``."""


class AllToAllOptions(_Options):
    """Options of ``alltoall``."""


class AllreduceOptions(_Options):
    """Options of ``allreduce``."""

    reduceOp: Any = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of ``allreduce_coalesced``."""


class BarrierOptions(_Options):
    """Options of ``barrier``."""

    device_ids: Any = None


class BroadcastOptions(_Options):
    """Options of ``broadcast``; ``rootRank`` is a rank of the group."""

    rootRank: int = 0
    rootTensor: int = 0


class GatherOptions(_Options):
    """Options of ``gather``; ``rootRank`` is a rank of the group."""

    rootRank: int = 0


class ReduceOptions(GatherOptions):
    """Options of ``reduce``."""

    reduceOp: Any = ReduceOp.SUM
    rootTensor: int = 0


class ReduceScatterOptions(AllreduceOptions):
    """Options of ``reduce_scatter``."""


class ScatterOptions(GatherOptions):
    """Options of ``scatter``."""


def _one(tensors: Any, name: str) -> Any:
    """The tensor of a list of one, or the list that it holds."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"ProcessGroup.{name} takes one tensor, or list of tensors, for each process: {len(tensors)} were given")
    return tensors[0]


def _operation(given: Any) -> Any:
    return getattr(given, "reduceOp", given)


def _root(given: Any) -> int:
    if getattr(given, "rootTensor", 0):
        raise RuntimeError(f"invalid root tensor: {given.rootTensor}")
    return int(getattr(given, "rootRank", given))


def allreduce(self: Any, tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None, op: Any = None) -> Any:
    """``all_reduce``; ``opts``, or ``op``, is an operation or ``AllreduceOptions``."""
    del timeout
    return c.all_reduce(_one(tensors, "allreduce"), _operation(opts if op is None else op), self, True)


def allreduce_coalesced(self: Any, tensors: Any, opts: Any = ReduceOp.SUM) -> Any:
    """``all_reduce`` of several tensors."""
    return c.all_reduced_together(tensors, _operation(opts), self, True)


def broadcast(self: Any, tensors: Any, opts: Any = 0, timeout: Any = None) -> Any:
    """``broadcast``; ``opts`` is a rank of the group or ``BroadcastOptions``."""
    del timeout
    return c.broadcast(_one(tensors, "broadcast"), group=self, async_op=True, group_src=_root(opts))


def reduce(self: Any, tensors: Any, opts: Any = 0, op: Any = ReduceOp.SUM, timeout: Any = None) -> Any:
    """``reduce``; ``opts`` is a rank of the group or ``ReduceOptions``."""
    del timeout
    return c.reduce(_one(tensors, "reduce"), op=getattr(opts, "reduceOp", op), group=self, async_op=True, group_dst=_root(opts))


def allgather(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None) -> Any:
    """``all_gather``."""
    del opts, timeout
    outputs = output_tensors if isinstance(output_tensors[0], Tensor) else _one(output_tensors, "allgather")
    return c.all_gather(outputs, _one(input_tensors, "allgather"), self, True)


def allgather_coalesced(self: Any, output_lists: Any, input_list: Any, opts: Any = None) -> Any:
    """``all_gather_coalesced``: ``output_lists[i][j]`` is tensor ``j`` of process ``i``; it is done when this returns."""
    del opts
    c.all_gather_coalesced(output_lists, input_list, self)
    return Work("allgather_coalesced", self, result=output_lists)


def _each(call: Any, name: str, outputs: Any, inputs: Any) -> list[Any]:
    if len(outputs) != len(inputs):
        raise ValueError(f"ProcessGroup.{name} takes as many outputs as inputs, not {len(outputs)} and {len(inputs)}")
    return [call(*pair) for pair in zip(outputs, inputs, strict=True)]


def allgather_into_tensor_coalesced(self: Any, outputs: Any, inputs: Any, opts: Any = None) -> Any:
    """``all_gather_into_tensor`` of several tensors; it is done when this returns."""
    del opts
    _each(lambda out, t: c.all_gather_into_tensor(out, t, self), "allgather_into_tensor_coalesced", outputs, inputs)
    return Work("allgather_into_tensor_coalesced", self, result=outputs)


def reduce_scatter_tensor_coalesced(self: Any, outputs: Any, inputs: Any, opts: Any = ReduceOp.SUM) -> Any:
    """``reduce_scatter_tensor`` of several tensors; ``opts`` is an operation or ``ReduceScatterOptions``. It is done when this returns."""
    op = _operation(opts)
    _each(lambda out, t: c.reduce_scatter_tensor(out, t, op, self), "reduce_scatter_tensor_coalesced", outputs, inputs)
    return Work("reduce_scatter_tensor_coalesced", self, result=outputs)


def _allgather_base(self: Any, output: Any, input: Any, opts: Any = None) -> Any:
    """``all_gather_into_tensor``."""
    del opts
    return c.all_gather_into_tensor(output, input, self, True)


def gather(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = 0, timeout: Any = None) -> Any:
    """``gather``; ``opts`` is a rank of the group or ``GatherOptions``."""
    del timeout
    outputs = output_tensors[0] if output_tensors and not isinstance(output_tensors[0], Tensor) else output_tensors
    return c.gather(_one(input_tensors, "gather"), outputs or None, group=self, async_op=True, group_dst=_root(opts))


def scatter(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = 0, timeout: Any = None) -> Any:
    """``scatter``; ``opts`` is a rank of the group or ``ScatterOptions``."""
    del timeout
    inputs = input_tensors[0] if input_tensors and not isinstance(input_tensors[0], Tensor) else input_tensors
    return c.scatter(_one(output_tensors, "scatter"), inputs or None, group=self, async_op=True, group_src=_root(opts))


def reduce_scatter(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None) -> Any:
    """``reduce_scatter``; ``opts`` is an operation or ``ReduceScatterOptions``."""
    del timeout
    inputs = input_tensors if isinstance(input_tensors[0], Tensor) else _one(input_tensors, "reduce_scatter")
    return c.reduce_scatter(_one(output_tensors, "reduce_scatter"), inputs, _operation(opts), self, True)


def _reduce_scatter_base(self: Any, outputTensor: Any, inputTensor: Any, opts: Any = ReduceOp.SUM) -> Any:
    """``reduce_scatter_tensor``."""
    return c.reduce_scatter_tensor(outputTensor, inputTensor, _operation(opts), self, True)


def alltoall(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
    """``all_to_all``."""
    del opts
    return c.all_to_all(output_tensors, input_tensors, self, True)


def alltoall_base(self: Any, output: Any, input: Any, output_split_sizes: Any, input_split_sizes: Any, opts: Any = None) -> Any:
    """``all_to_all_single``."""
    del opts
    return c.all_to_all_single(output, input, output_split_sizes, input_split_sizes, self, True)


def barrier(self: Any, opts: Any = None, timeout: Any = None) -> Any:
    """``barrier``."""
    del opts
    return c.barrier(self, True, timeout=timeout)


def monitored_barrier(self: Any, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """``monitored_barrier``."""
    c.monitored_barrier(self, timeout, wait_all_ranks)


def send(self: Any, tensors: Any, dstRank: int, tag: int) -> Any:
    """``isend`` to a rank of the group."""
    return point_to_point.isend(_one(tensors, "send"), get_global_rank(self, dstRank), self, tag)


def recv(self: Any, tensors: Any, srcRank: int, tag: int) -> Any:
    """``irecv`` from a rank of the group."""
    return point_to_point.irecv(_one(tensors, "recv"), get_global_rank(self, srcRank), self, tag)


def recv_anysource(self: Any, tensors: Any, tag: int) -> Any:
    """``irecv`` from anyone."""
    return point_to_point.irecv(_one(tensors, "recv_anysource"), None, self, tag)


for _method in (
    allreduce, allreduce_coalesced, broadcast, reduce, allgather, allgather_coalesced, allgather_into_tensor_coalesced, _allgather_base,
    gather, scatter, reduce_scatter, reduce_scatter_tensor_coalesced, _reduce_scatter_base, alltoall, alltoall_base, barrier,
    monitored_barrier, send, recv, recv_anysource,
):  # fmt: skip
    setattr(ProcessGroup, _method.__name__, _method)

OPTIONS = (
    AllToAllOptions, AllgatherOptions, AllreduceCoalescedOptions, AllreduceOptions, BarrierOptions, BroadcastOptions, GatherOptions,
    ReduceOptions, ReduceScatterOptions, ScatterOptions,
)  # fmt: skip
for _kind in OPTIONS:
    _kind.__module__ = "torch._C._distributed_c10d"
