"""The methods of process groups: collectives as PyTorch's C++ class has them, with lists of one
tensor, ranks of the group, and options.

Each returns a ``Work`` at once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import Tensor
from . import _operands as operands
from . import barriers, point_to_point
from . import collectives as c
from ._arrays import bytes_of, numpy_dtype, taken, written
from ._backends import ReduceOp
from ._lanes import folded
from .constants import default_pg_timeout
from .group import ProcessGroup, get_global_rank
from .works import Work, start

if TYPE_CHECKING:
    from .._src.engine.sized import Sized


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

    reduceOp: object = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of ``allreduce_coalesced``."""


class BarrierOptions(_Options):
    """Options of ``barrier``."""

    device_ids: list[int] | None = None


class BroadcastOptions(_Options):
    """Options of ``broadcast``; ``rootRank`` is a rank of the group."""

    rootRank: int = 0
    rootTensor: int = 0


class GatherOptions(_Options):
    """Options of ``gather``; ``rootRank`` is a rank of the group."""

    rootRank: int = 0


class ReduceOptions(GatherOptions):
    """Options of ``reduce``."""

    reduceOp: object = ReduceOp.SUM
    rootTensor: int = 0


class ReduceScatterOptions(AllreduceOptions):
    """Options of ``reduce_scatter``."""


class ScatterOptions(GatherOptions):
    """Options of ``scatter``."""


def _one(tensors: Sized, words: str) -> Any:
    """The tensor of a list of one, or the list that it holds; otherwise an error with ``words``."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise RuntimeError(words)
    return tensors[0]


def _several(tensors: Any, name: str) -> list[Tensor]:
    """A list of tensors that are alike.

    Raises:
        RuntimeError: for another shape or dtype than the first one's.
        NotImplementedError: for an empty list.
    """
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    operands.check_some(found, f"{name}_")
    operands.check_tensors(found, "tensors")
    for i, t in enumerate(found[1:]):
        if t.dtype != found[0].dtype:
            words = f"invalid tensor type at index {i} (expected {found[0].dtype}, got {t.dtype})"
            raise RuntimeError(f"ProcessGroupGloo::{name}: {words}")
    operands.check_places(found[1:], found[0], name)
    return found


def _operation(given: object) -> Any:
    return getattr(given, "reduceOp", given)


def _root(given: Any) -> int:
    return int(getattr(given, "rootRank", given))


def allreduce(
    self: Any, tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None, op: Any = None
) -> Any:
    """``all_reduce``; ``opts``, or ``op``, is an operation or ``AllreduceOptions``. All tensors of
    all lists are combined to one.

    Raises:
        NotImplementedError: for means of several tensors, which PyTorch divides in the first one
            alone.
    """
    del timeout
    each, operation = _several(tensors, "allreduce"), _operation(opts if op is None else op)
    if len(each) == 1:
        return c.all_reduce(each[0], operation, self, True)
    kind = c.operation(operation, numpy_dtype(each[0]), "all_reduce")
    if kind == "avg":
        raise NotImplementedError(
            "ProcessGroup.allreduce with ReduceOp.AVG is not offered by jtorch for several tensors"
        )
    own = folded([taken(t).reshape(-1) for t in each], kind)

    def write(total: Any) -> None:
        for t in each:
            written(t, total.copy())

    task = c.reducing("all_reduce", own, kind, operands.shape_words(each[0]))
    return start("all_reduce", self, task, write, each, True)


def allreduce_coalesced(self: Any, tensors: Any, opts: Any = ReduceOp.SUM) -> Any:
    """``all_reduce`` of several tensors."""
    return c.all_reduced_together(tensors, _operation(opts), self, True)


def broadcast(self: Any, tensors: Any, opts: Any = 0, timeout: Any = None) -> Any:
    """``broadcast``; ``opts`` is a rank of the group or ``BroadcastOptions``. One tensor of the
    root's is written into all of all lists.

    Raises:
        RuntimeError: if the list has not the root's tensor.
    """
    del timeout
    each, first = _several(tensors, "broadcast"), int(getattr(opts, "rootTensor", 0))
    if not 0 <= first < len(each):
        raise RuntimeError(f"ProcessGroupGloo::broadcast: invalid root tensor: {first}")
    if len(each) == 1:
        return c.broadcast(each[0], group=self, async_op=True, group_src=_root(opts))
    root = operands.root_of(self, None, _root(opts), "broadcast")
    array = taken(each[first])
    what = operands.what_is_done(
        f"broadcast from {root}", array.dtype.name, operands.shape_words(each[first])
    )

    def write(data: Any) -> None:
        for t in each:
            written(t, data.view(array.dtype).copy())

    return start(
        "broadcast",
        self,
        lambda lane: c.sent_by(lane, what, bytes_of(array), root),
        write,
        each,
        True,
    )


def reduce(
    self: Any, tensors: Any, opts: Any = 0, op: Any = ReduceOp.SUM, timeout: Any = None
) -> Any:
    """``reduce``; ``opts`` is a rank of the group or ``ReduceOptions``."""
    del timeout
    if getattr(opts, "rootTensor", 0):
        raise RuntimeError(f"ProcessGroupGloo::reduce: invalid root tensor: {opts.rootTensor}")
    one = _one(tensors, "ProcessGroupGloo::reduce: requires a single-element tensor list")
    return c.reduce(
        one, op=getattr(opts, "reduceOp", op), group=self, async_op=True, group_dst=_root(opts)
    )


def allgather(
    self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None
) -> Any:
    """``all_gather``; of several tensors each, every list of outputs gets those of one process
    after those of another.

    Raises:
        RuntimeError: if there is not a list for each input, or not a place in it for each process's
            input.
    """
    del opts, timeout
    each = _several(input_tensors, "allgather")
    lists = [output_tensors] if isinstance(output_tensors[0], Tensor) else list(output_tensors)
    if len(lists) != len(each):
        raise RuntimeError(
            "ProcessGroupGloo::allgather: requires input/output tensor lists to have the same "
            "length"
        )
    if len(each) == 1:
        return c.all_gather(lists[0], each[0], self, True)
    n = len(each) * self.size()
    for i, places in enumerate(lists):
        if len(places) != n:
            words = (
                f"invalid output tensor list at index {i} (expected length {n}, got {len(places)})"
            )
            raise RuntimeError(f"ProcessGroupGloo::allgather: {words}")
        operands.check_places(places, each[0], "allgather")
    array = np.concatenate([taken(t).reshape(-1) for t in each])
    what = operands.what_is_done("all_gather", array.dtype.name)

    def write(rows: Any) -> None:
        parts = np.concatenate(rows).view(array.dtype).reshape(n, -1)
        for places in lists:
            for t, part in zip(places, parts, strict=True):
                written(t, part.copy())

    return start(
        "all_gather", self, lambda lane: lane.gather(what, bytes_of(array)), write, lists, True
    )


def allgather_coalesced(self: Any, output_lists: Any, input_list: Any, opts: Any = None) -> Any:
    """``all_gather_coalesced``: ``output_lists[i][j]`` is tensor ``j`` of process ``i``; it is done
    when this returns."""
    del opts
    c.all_gather_coalesced(output_lists, input_list, self)
    return Work("allgather_coalesced", self, result=output_lists)


def _each(call: Callable[..., object], name: str, outputs: Any, inputs: Any) -> list[object]:
    if len(outputs) != len(inputs):
        raise ValueError(
            f"ProcessGroup.{name} takes as many outputs as inputs, not {len(outputs)} and "
            f"{len(inputs)}"
        )
    return [call(*pair) for pair in zip(outputs, inputs, strict=True)]


def allgather_into_tensor_coalesced(self: Any, outputs: Any, inputs: Any, opts: Any = None) -> Any:
    """``all_gather_into_tensor`` of several tensors; it is done when this returns."""
    del opts
    _each(
        lambda out, t: c.all_gather_into_tensor(out, t, self),
        "allgather_into_tensor_coalesced",
        outputs,
        inputs,
    )
    return Work("allgather_into_tensor_coalesced", self, result=outputs)


def reduce_scatter_tensor_coalesced(
    self: Any, outputs: Any, inputs: Any, opts: Any = ReduceOp.SUM
) -> Any:
    """``reduce_scatter_tensor`` of several tensors; ``opts`` is an operation or
    ``ReduceScatterOptions``. It is done when this returns."""
    op = _operation(opts)
    _each(
        lambda out, t: c.reduce_scatter_tensor(out, t, op, self),
        "reduce_scatter_tensor_coalesced",
        outputs,
        inputs,
    )
    return Work("reduce_scatter_tensor_coalesced", self, result=outputs)


def _allgather_base(self: object, output: Tensor, input: Tensor, opts: object = None) -> object:
    """``all_gather_into_tensor``."""
    del opts
    return c.all_gather_into_tensor(output, input, self, True)


def gather(
    self: Any, output_tensors: Any, input_tensors: Any, opts: Any = 0, timeout: Any = None
) -> Any:
    """``gather``; ``opts`` is a rank of the group or ``GatherOptions``."""
    del timeout
    outputs = (
        output_tensors[0]
        if output_tensors and not isinstance(output_tensors[0], Tensor)
        else output_tensors
    )
    return c.gather(
        _one(
            input_tensors, "ProcessGroupGloo::gather: requires a single-element input tensor list"
        ),
        outputs or None,
        group=self,
        async_op=True,
        group_dst=_root(opts),
    )


def scatter(
    self: Any, output_tensors: Any, input_tensors: Any, opts: Any = 0, timeout: Any = None
) -> Any:
    """``scatter``; ``opts`` is a rank of the group or ``ScatterOptions``."""
    del timeout
    inputs = (
        input_tensors[0]
        if input_tensors and not isinstance(input_tensors[0], Tensor)
        else input_tensors
    )
    return c.scatter(
        _one(
            output_tensors,
            "ProcessGroupGloo::scatter: requires a single-element output tensor list",
        ),
        inputs or None,
        group=self,
        async_op=True,
        group_src=_root(opts),
    )


def reduce_scatter(
    self: Any,
    output_tensors: Any,
    input_tensors: Any,
    opts: Any = ReduceOp.SUM,
    timeout: Any = None,
) -> Any:
    """``reduce_scatter``; ``opts`` is an operation or ``ReduceScatterOptions``."""
    del timeout
    words = "reduce_scatter only supports 1 output"
    output, inputs = (
        _one(output_tensors, words),
        input_tensors if isinstance(input_tensors[0], Tensor) else _one(input_tensors, words),
    )
    return c.reduce_scatter(output, inputs, _operation(opts), self, True)


def _reduce_scatter_base(
    self: object, outputTensor: Tensor, inputTensor: Tensor, opts: object = ReduceOp.SUM
) -> object:
    """``reduce_scatter_tensor``."""
    return c.reduce_scatter_tensor(outputTensor, inputTensor, _operation(opts), self, True)


def alltoall(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
    """``all_to_all``."""
    del opts
    return c.all_to_all(output_tensors, input_tensors, self, True)


def alltoall_base(
    self: Any,
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any,
    input_split_sizes: Any,
    opts: Any = None,
) -> Any:
    """``all_to_all_single``."""
    del opts
    return c.all_to_all_single(output, input, output_split_sizes, input_split_sizes, self, True)


def barrier(self: Any, opts: Any = None, timeout: Any = None) -> Any:
    """``barrier``."""
    del opts
    return barriers.barrier(self, True, timeout=timeout)


def monitored_barrier(self: Any, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """``monitored_barrier``."""
    barriers.monitored_barrier(self, timeout, wait_all_ranks)


def send(self: Any, tensors: Any, dstRank: int, tag: int) -> Any:
    """``isend`` to a rank of the group."""
    return point_to_point.isend(
        _one(tensors, "ProcessGroupGloo::send takes a single tensor"),
        get_global_rank(self, dstRank),
        self,
        tag,
    )


def recv(self: Any, tensors: Any, srcRank: int, tag: int) -> Any:
    """``irecv`` from a rank of the group."""
    return point_to_point.irecv(
        _one(tensors, "ProcessGroupGloo::recv takes a single tensor"),
        get_global_rank(self, srcRank),
        self,
        tag,
    )


def recv_anysource(self: Any, tensors: Any, tag: int) -> Any:
    """``irecv`` from anyone."""
    return point_to_point.irecv(
        _one(tensors, "ProcessGroupGloo::recvAnySource takes a single tensor"), None, self, tag
    )


for _method in (
    allreduce, allreduce_coalesced, broadcast, reduce, allgather, allgather_coalesced,
    allgather_into_tensor_coalesced, _allgather_base, gather, scatter, reduce_scatter,
    reduce_scatter_tensor_coalesced, _reduce_scatter_base, alltoall, alltoall_base, barrier,
    monitored_barrier, send, recv, recv_anysource,
):  # fmt: skip
    setattr(ProcessGroup, _method.__name__, _method)

OPTIONS = (
    AllToAllOptions, AllgatherOptions, AllreduceCoalescedOptions, AllreduceOptions, BarrierOptions,
    BroadcastOptions, GatherOptions, ReduceOptions, ReduceScatterOptions, ScatterOptions,
)  # fmt: skip
for _kind in OPTIONS:
    _kind.__module__ = "torch._C._distributed_c10d"
