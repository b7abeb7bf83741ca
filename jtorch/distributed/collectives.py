"""Collectives on tensors. Each reads its operands first, so that nothing of it is ever recorded:
processes cut their traces differently."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._src.bind.everything import T
from ..autograd.grad_mode import no_grad
from ..core import Tensor
from . import debugging
from ._arrays import bytes_of, made, numpy_dtype, taken, written
from ._backends import ReduceOp, operation
from ._lanes import GATHERED, Disagreement, Ticket, folded
from .group import GroupMember, ProcessGroup, world
from .monitoring import wait_for_all
from .works import Work, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._lanes import Alone


def refuse(name: str, value: object) -> None:
    """Raises the error of an argument that is no tensor."""
    raise TypeError(
        f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
        f"             but got {type(value)} instead."
    )


def check_tensor(value: object, name: str) -> None:
    """Refuses what is no tensor.

    Raises:
        TypeError: for it.
    """
    if not isinstance(value, Tensor):
        refuse(name, value)


def check_tensors(values: object, name: str) -> None:
    """Refuses what is no list of tensors.

    Raises:
        TypeError: for it.
    """
    if not isinstance(values, (list, tuple)) or not all(isinstance(t, Tensor) for t in values):
        told = (
            f" with elements of type {[type(v) for v in values]}."
            if isinstance(values, (list, tuple))
            else " instead."
        )
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(values)}{told}"
        )


def check_same_dtype(*tensors: Any) -> None:
    """Refuses tensors of several dtypes.

    Raises:
        ValueError: for them.
    """
    flat: list[Tensor] = []
    for t in tensors:
        flat += t if isinstance(t, (list, tuple)) else [t]
    for t in flat[1:]:
        if t.dtype != flat[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {flat[0].dtype} and  "
                f"{t.dtype}"
            )


def check_places(places: Sequence[Tensor], like: Tensor, name: str) -> None:
    """Refuses tensors that are to hold others like one, and have another shape.

    Raises:
        RuntimeError: for the first of them.
    """
    for i, t in enumerate(places):
        if t.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {i} (expected "
                f"{_sizes(like)}, got {_sizes(t)})"
            )


def _sizes(t: Tensor) -> str:
    """A shape as PyTorch's C++ code writes it."""
    return f"({', '.join(map(str, t.shape))})"


def outside(group: object) -> bool:
    """Whether this process is not in the group, and so does nothing."""
    return (
        group is not None
        and not isinstance(group, (ProcessGroup, str))
        and group == GroupMember.NON_GROUP_MEMBER
    )


def root_of(
    pg: ProcessGroup, rank: int | None, in_group: int | None, name: str, default: int | None = 0
) -> int:
    """The place in the group of a rank that is given as a global or a group rank.

    Raises:
        ValueError: if both are given, or neither where there is no default, or the group has not
            that rank.
        RuntimeError: for a place that the group has not.
    """
    if in_group is not None:
        if rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        root = in_group
    elif rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        root = default
    elif pg is GroupMember.WORLD:
        root = rank
    elif rank not in pg.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {pg}")
    else:
        root = pg.ranks.index(rank)
    if not 0 <= root < pg.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
    return root


def what_is_done(name: str, *facts: object) -> str:
    """What the processes must agree on, in words."""
    return "|".join([name, *map(str, facts)])


def shape_words(t: Tensor) -> str:
    """A tensor's shape, for comparison between processes where ``TORCH_DISTRIBUTED_DEBUG=DETAIL``
    asks for it."""
    return str(tuple(t.shape)) if debugging.get_debug_level() == debugging.DebugLevel.DETAIL else ""


def averaged(total: np.ndarray, kind: str, processes: int) -> np.ndarray:
    """The sum, or the mean."""
    return (total / processes).astype(total.dtype, copy=False) if kind == "avg" else total


def reducing(
    name: str, array: np.ndarray, kind: str, words: str, ahead: Ticket | None = None
) -> Callable[[Alone], np.ndarray]:
    """The task that combines the processes' arrays; ``ahead`` is what ``agreeing`` gave for it."""
    what = what_is_done(name, kind, array.dtype.name, words)

    def task(lane: Alone) -> np.ndarray:
        if ahead is not None and ahead.error is not None:
            raise ahead.error
        return averaged(
            lane.combine(
                what, array.reshape(-1), "sum" if kind == "avg" else kind, ahead is not None
            ),
            kind,
            lane.size,
        )

    return task


def agreeing(
    name: str, array: np.ndarray, kind: str, words: str, pg: ProcessGroup
) -> Ticket | None:
    """Has the processes agree on what ``reducing`` is going to do while the array's elements are
    computed still.

    That has to follow before anything else of the group, or else nothing of it may. None where
    agreeing takes no step of its own.
    """
    if array.nbytes <= GATHERED:
        return None
    what = what_is_done(name, kind, array.dtype.name, words)
    return pg._submit(name, lambda lane: lane.round(what, None, array.nbytes))


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: object = None, async_op: bool = False
) -> Work | None:
    """Combines the processes' tensors, which have one shape and dtype, in place in each.

    Args:
        tensor: what each process gives, and where the result is written.
        op: what combines: a ``ReduceOp``.
        group: the processes that take part; all if it is None.
        async_op: return at once with a handle to wait on.

    Raises:
        DistBackendError: if it fails, or has not ended in time.
        RuntimeError: for sparse tensors and another operation than the sum.
    """
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    pg = world(group)
    kind = operation(op, numpy_dtype(tensor), "all_reduce")
    if tensor.is_sparse:
        return _sparse_all_reduce(tensor, kind, pg, async_op)
    task = reducing("all_reduce", taken(tensor), kind, shape_words(tensor))
    return start("all_reduce", pg, task, lambda total: written(tensor, total), [tensor], async_op)


def _sparse_all_reduce(tensor: Tensor, kind: str, pg: ProcessGroup, async_op: bool) -> Work | None:
    """The sum of sparse tensors: each process gets all elements and adds up those of the same
    place."""
    if kind != "sum":
        raise RuntimeError("unsupported reduction operation")
    mine: Any = tensor.detach().coalesce()
    places, elements = taken(mine.indices()), taken(mine.values())
    shape = tuple(mine.shape)
    what = what_is_done("all_reduce of sparse tensors", elements.dtype.name, shape, places.shape[0])

    def task(lane: Any) -> object:
        return lane.gather(f"{what}|places", bytes_of(places), False), lane.gather(
            f"{what}|elements", bytes_of(elements), False
        )

    def write(found: Any) -> None:
        rows = [made(np.array(r).view(np.int64).reshape(places.shape[0], -1)) for r in found[0]]
        values = [
            made(np.array(r).view(elements.dtype).reshape(-1, *elements.shape[1:]))
            for r in found[1]
        ]
        with no_grad():
            tensor.copy_(T.sparse_coo_tensor(T.cat(rows, 1), T.cat(values), shape).coalesce())

    return start("all_reduce", pg, task, write, [tensor], async_op)


def all_reduce_coalesced(
    tensors: object, op: object = ReduceOp.SUM, group: object = None, async_op: bool = False
) -> Any:
    """``all_reduce`` of several tensors of one dtype at once; with ``async_op`` it gives a future,
    which is done."""
    work = all_reduced_together(tensors, op, group, async_op)
    return None if work is None else work.get_future()


def all_reduced_together(tensors: Any, op: Any, group: object, async_op: bool) -> Work | None:
    """What ``all_reduce_coalesced`` does, as a work."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensors(tensors, "tensor")
    check_same_dtype(tensors)
    if outside(group):
        return None
    check_some(tensors, "allreduce_coalesced_")
    pg = world(group)
    kind = operation(op, numpy_dtype(tensors[0]), "all_reduce_coalesced")
    flat = np.concatenate([taken(t).reshape(-1) for t in tensors])

    def write(total: np.ndarray) -> None:
        _spread(tensors, total)

    task = reducing("all_reduce_coalesced", flat, kind, _each_size(tensors))
    return start("all_reduce_coalesced", pg, task, write, list(tensors), async_op)


def check_some(tensors: Sequence[Tensor], name: str) -> None:
    """Refuses an empty list.

    Raises:
        NotImplementedError: for it, as PyTorch's dispatcher has it.
    """
    if not tensors:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of "
            f"Tensors), but no fallback function is registered for schema c10d::{name}."
        )


def _each_size(tensors: Sequence[Tensor]) -> str:
    """How many elements each of several tensors has, for comparison between processes; their shapes
    where those are compared."""
    return ", ".join(shape_words(t) or str(t.numel()) for t in tensors)


def _spread(tensors: Sequence[Tensor], flat: np.ndarray) -> None:
    at = 0
    for t in tensors:
        n = t.numel()
        written(t, flat[at : at + n])
        at += n


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combines the processes' tensors in place in one of them."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    pg = world(group)
    root = root_of(pg, dst, group_dst, "reduce", default=None)
    kind = operation(op, numpy_dtype(tensor), "reduce")
    task = reducing(f"reduce to {root}", taken(tensor), kind, shape_words(tensor))
    return start(
        "reduce",
        pg,
        task,
        lambda total: written(tensor, total) if pg.rank() == root else None,
        [tensor],
        async_op,
    )


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: object = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Writes one process's tensor into all, bit by bit.

    Args:
        tensor: what is sent, and elsewhere where it is written.
        src: the rank that sends.
        group_src: that rank within the group, in place of ``src``.
        group: the processes that take part; all if it is None.
        async_op: return at once with a handle to wait on.
    """
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    pg = world(group)
    root = root_of(pg, src, group_src, "broadcast", default=None)
    array = taken(tensor)
    what = what_is_done(f"broadcast from {root}", array.dtype.name, shape_words(tensor))

    def task(lane: object) -> np.ndarray:
        return sent_by(lane, what, bytes_of(array), root)

    def write(data: np.ndarray) -> None:
        if pg.rank() != root:
            written(tensor, data.view(array.dtype))

    return start("broadcast", pg, task, write, [tensor], async_op)


def sent_by(lane: Any, what: str, data: np.ndarray, root: int) -> np.ndarray:
    """The bytes of one process: of large arrays the bits are added to zeros, which moves fewer of
    them than a gather."""
    if data.size <= 4096 or lane.size == 1:
        return lane.gather(what, data)[root]
    padded = np.zeros(-(-data.size // 8) * 8, np.uint8)
    if lane.rank == root:
        padded[: data.size] = data
    return lane.combine(what, padded.view(np.uint64), "sum").view(np.uint8)[: data.size]


def all_gather(
    tensor_list: Any, tensor: Tensor, group: object = None, async_op: bool = False
) -> Work | None:
    """Copies the processes' tensors into ``tensor_list``, which has one for each.

    Args:
        tensor_list: a tensor for the part of each process.
        tensor: this process's part.
        group: the processes that take part; all if it is None.
        async_op: return at once with a handle to wait on.
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_same_dtype(tensor_list, tensor)
    if outside(group):
        return None
    pg = world(group)
    if len(tensor_list) != pg.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{pg.size()}, got {len(tensor_list)})"
        )
    # else the processes' tensors may have several sizes
    if len({t.shape for t in tensor_list}) == 1:
        check_places(tensor_list, tensor, "allgather")
    array = taken(tensor)
    what = what_is_done("all_gather", array.dtype.name)
    expected = [t.numel() * array.itemsize for t in tensor_list]

    def task(lane: Alone) -> list[np.ndarray]:
        return _fitting(lane.gather(what, bytes_of(array), False), expected, pg)

    def write(rows: list[np.ndarray]) -> None:
        for t, row in zip(tensor_list, rows, strict=True):
            written(t, row.view(array.dtype))

    return start("all_gather", pg, task, write, list(tensor_list), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: object = None, async_op: bool = False
) -> Work | None:
    """Copies the processes' tensors into one, one after another along the first dimension or along
    a new one before it.

    Raises:
        RuntimeError: if the output has not the size of all inputs.
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    check_same_dtype(output_tensor, input_tensor)
    if outside(group):
        return None
    pg = world(group)
    if output_tensor.numel() != input_tensor.numel() * pg.size():
        raise RuntimeError(
            "output tensor size must be equal to world_size times input tensor size, got "
            f"{tuple(output_tensor.shape)} for {pg.size()} times {tuple(input_tensor.shape)}"
        )
    array = taken(input_tensor)
    what = what_is_done("all_gather_into_tensor", array.dtype.name, shape_words(input_tensor))
    return start(
        "all_gather_into_tensor", pg, lambda lane: lane.gather(what, bytes_of(array)),
        lambda rows: written(output_tensor, np.concatenate(rows).view(array.dtype)),
        [output_tensor], async_op,
    )  # fmt: skip


def all_gather_single(
    output: Tensor, input: Tensor, group: object = None, async_op: bool = False
) -> Work | None:
    """``all_gather_into_tensor`` under its newer name."""
    return all_gather_into_tensor(output, input, group, async_op)


def all_gather_coalesced(
    output_tensor_lists: object,
    input_tensor_list: Any,
    group: object = None,
    async_op: bool = False,
) -> Any:
    """``all_gather`` of several tensors of one dtype at once: ``output_tensor_lists[i][j]`` is
    tensor ``j`` of process ``i``.

    With ``async_op`` it gives a future, which is done.

    Raises:
        RuntimeError: if there is not a list for each process, or it has not a tensor of each one's
            dtype and shape.
        DistBackendError: if the processes' tensors have other sizes.
    """
    if outside(group):
        return None
    check_tensors(input_tensor_list, "tensor")
    check_same_dtype(input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        check_tensors(outputs, "output_tensor_lists")
        check_same_dtype(outputs)
    check_some(input_tensor_list, "allgather_coalesced_")
    pg = world(group)
    words = "ProcessGroupGloo::allgather_coalesced: "
    if len(output_tensor_lists) != pg.size():
        raise RuntimeError(f"{words}output lists should be equal to world size")
    for outputs in output_tensor_lists:
        if len(outputs) != len(input_tensor_list):
            raise RuntimeError(
                f"{words}invalid output size: (expected length {len(input_tensor_list)}, got "
                f"{len(outputs)})"
            )
        for i, (t, like) in enumerate(zip(outputs, input_tensor_list, strict=True)):
            if t.shape != like.shape:
                raise RuntimeError(
                    f"{words}invalid size of output tensor at index {i} (expected length "
                    f"{_sizes(like)}, got {_sizes(t)})"
                )
            if t.dtype != like.dtype:
                raise RuntimeError(
                    f"{words}invalid tensor type at index {i} (expected {like.type()}, got "
                    f"{t.type()})"
                )
    arrays = [taken(t) for t in input_tensor_list]
    what = what_is_done("all_gather_coalesced", arrays[0].dtype.name, _each_size(input_tensor_list))
    data = np.concatenate([bytes_of(a) for a in arrays])

    def write(rows: list[np.ndarray]) -> None:
        for row, outputs in zip(rows, output_tensor_lists, strict=True):
            _spread(outputs, np.array(row).view(arrays[0].dtype))

    work = start(
        "all_gather_coalesced",
        pg,
        lambda lane: lane.gather(what, data),
        write,
        output_tensor_lists,
        async_op,
    )
    return None if work is None else work.get_future()


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int | None = None,
    group: object = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copies the processes' tensors into ``gather_list`` of one of them."""
    check_tensor(tensor, "tensor")
    if gather_list:
        check_tensors(gather_list, "gather_list")
    else:
        gather_list = []
    check_same_dtype(tensor, gather_list)
    if outside(group):
        return None
    pg = world(group)
    root = root_of(pg, dst, group_dst, "gather")
    if pg.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        if len(gather_list) != pg.size():
            raise RuntimeError(
                f"ProcessGroupGloo::gather: Incorrect output list size {len(gather_list)}. Output "
                f"list size should be {pg.size()}, same as size of the process group."
            )
        check_places(gather_list, tensor, "gather")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    array = taken(tensor)
    what = what_is_done(f"gather to {root}", array.dtype.name, shape_words(tensor))

    def write(rows: list[np.ndarray]) -> None:
        for t, row in zip(gather_list, rows, strict=False):
            written(t, row.view(array.dtype))

    return start(
        "gather", pg, lambda lane: lane.gather(what, bytes_of(array)), write, gather_list, async_op
    )


def scatter(
    tensor: Tensor,
    scatter_list: Any = None,
    src: int | None = None,
    group: object = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each process one tensor of one process's ``scatter_list``."""
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_tensors(scatter_list, "scatter_list")
    else:
        scatter_list = []
    check_same_dtype(tensor, scatter_list)
    if outside(group):
        return None
    pg = world(group)
    root = root_of(pg, src, group_src, "scatter")
    if pg.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        if len(scatter_list) != pg.size():
            raise ValueError(
                f"Argument ``scatter_list`` must have a tensor for each of the {pg.size()} "
                f"processes, not {len(scatter_list)}"
            )
        check_places(scatter_list, tensor, "scatter")
        parts = [bytes_of(taken(t)) for t in scatter_list]
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    else:
        parts = [np.zeros(tensor.numel() * numpy_dtype(tensor).itemsize, np.uint8)] * pg.size()
    dtype = numpy_dtype(tensor)
    what = what_is_done(f"scatter from {root}", dtype.name, shape_words(tensor))

    def task(lane: Any) -> np.ndarray:
        return np.array(lane.exchange(what, parts)[root])

    return start(
        "scatter", pg, task, lambda data: written(tensor, data.view(dtype)), [tensor], async_op
    )


def _reduce_scattered(
    name: str, output: Tensor, arrays: list[np.ndarray], op: Any, pg: ProcessGroup, async_op: bool
) -> Work | None:
    dtype = numpy_dtype(output)
    kind = operation(op, dtype, name)
    what = what_is_done(name, kind, dtype.name)
    parts = [bytes_of(a) for a in arrays]

    def task(lane: Any) -> np.ndarray:
        # Not XLA's reduce_scatter, whose results on the CPU are now and then those of another call;
        # parts are added in the order of ranks.
        given = _fitting(lane.exchange(what, parts), [parts[lane.rank].size] * lane.size, pg)
        rows = [np.array(row).view(dtype) for row in given]
        return averaged(folded(rows, "sum" if kind == "avg" else kind), kind, lane.size)

    return start(name, pg, task, lambda total: written(output, total), [output], async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Any,
    op: object = ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """Combines the processes' lists, and gives each process its item."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    check_same_dtype(output, input_list)
    if outside(group):
        return None
    pg = world(group)
    if len(input_list) != pg.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    check_places([output], input_list[pg.rank()], "reduce_scatter")
    return _reduce_scattered(
        "reduce_scatter", output, [taken(t) for t in input_list], op, pg, async_op
    )


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: object = ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """Combines the processes' tensors, and gives each process its part along the first dimension.

    Raises:
        RuntimeError: if the input has not the size of all outputs.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    if outside(group):
        return None
    pg = world(group)
    if input.numel() != output.numel() * pg.size():
        raise RuntimeError(
            "input tensor must be the same size as output size times world size, got "
            f"{tuple(input.shape)} for {pg.size()} times {tuple(output.shape)}"
        )
    arrays = list(taken(input).reshape(pg.size(), -1))
    return _reduce_scattered("reduce_scatter_tensor", output, arrays, op, pg, async_op)


def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: object = ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """``reduce_scatter_tensor`` under its newer name."""
    return reduce_scatter_tensor(output, input, op, group, async_op)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: object = None, async_op: bool = False
) -> Work | None:
    """Each process sends one tensor of its list to each process; their shapes may differ."""
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    check_same_dtype(output_tensor_list, input_tensor_list)
    if outside(group):
        return None
    pg = world(group)
    for side, tensors in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(tensors) != pg.size():
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {side} tensor list size {len(tensors)} does not "
                f"match world size {pg.size()}"
            )
    arrays = [taken(t) for t in input_tensor_list]
    dtype = arrays[0].dtype
    what = what_is_done("all_to_all", dtype.name)

    parts = [bytes_of(a) for a in arrays]
    expected = [t.numel() * dtype.itemsize for t in output_tensor_list]

    def task(lane: Any) -> list[np.ndarray]:
        return _fitting(lane.exchange(what, parts, False), expected, pg)

    def write(rows: list[np.ndarray]) -> None:
        for t, row in zip(output_tensor_list, rows, strict=True):
            written(t, np.array(row).view(dtype))

    return start("all_to_all", pg, task, write, output_tensor_list, async_op)


def _fitting(rows: list[np.ndarray], expected: list[int], pg: ProcessGroup) -> list[np.ndarray]:
    """What each process has sent, if it is as many bytes as this one has room for: none is written
    unless all are.

    Raises:
        Disagreement: if one sent another amount.
    """
    for rank, row, size in zip(pg.ranks, rows, expected, strict=True):
        if row.size != size:
            raise Disagreement(f"rank {rank} sent {row.size} bytes where {size} are expected")
    return rows


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """Each process sends one part of its tensor, along the first dimension, to each process; by
    default all parts are equal.

    Raises:
        RuntimeError: if sizes do not fit.
        DistBackendError: if a process sends more or less than another expects of it.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    if outside(group):
        return None
    pg = world(group)
    n = pg.size()
    for sizes, t in ((output_split_sizes, output), (input_split_sizes, input)):
        if not t.dim():
            raise RuntimeError(
                "all_to_all_single splits its tensors along the first dimension, which tensors "
                "without dimensions have not"
            )
        if sizes and len(sizes) != n:
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sizes and (sum(sizes) != t.shape[0] or min(sizes) < 0):
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        if not sizes and t.shape[0] % n:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    array = taken(input)
    dtype = array.dtype
    what = what_is_done("all_to_all_single", dtype.name)
    sizes = input_split_sizes or [array.shape[0] // n] * n
    parts = [bytes_of(a) for a in np.split(array, np.cumsum(sizes)[:-1])]
    of_one = output.numel() // output.shape[0] * dtype.itemsize if output.numel() else 0
    expected = [rows * of_one for rows in output_split_sizes or [output.shape[0] // n] * n]

    def task(lane: Any) -> list[np.ndarray]:
        return _fitting(lane.exchange(what, parts, False), expected, pg)

    def write(rows: list[np.ndarray]) -> None:
        written(output, np.concatenate(rows).view(dtype))

    return start("all_to_all_single", pg, task, write, [output], async_op)


def barrier(
    group: object = None, async_op: bool = False, device_ids: object = None, timeout: object = None
) -> Work | None:
    """Waits until all processes of the group have come here.

    Args:
        device_ids: accepted, for PyTorch's GPU backends.
        timeout: how long to wait; that of the group if it is None.
        group: the processes that take part; all if it is None.
        async_op: return at once with a handle to wait on.
    """
    del device_ids
    if outside(group):
        return None
    pg = world(group)
    if timeout is None:
        return start(
            "barrier",
            pg,
            lambda lane: lane.round("barrier", None, 0),
            lambda _: None,
            None,
            async_op,
        )
    work = start(
        "barrier", pg, lambda lane: lane.round("barrier", None, 0), lambda _: None, None, True
    )
    if async_op:
        return work
    assert work is not None
    work.wait(timeout)
    return None


def monitored_barrier(
    group: object = None, timeout: Any = None, wait_all_ranks: bool = False
) -> None:
    """Waits until all processes of the group have come here; names those that do not.

    Raises:
        RuntimeError: on rank 0, naming the first rank that has not come in time (all of them with
            ``wait_all_ranks``); on the others, that rank 0 has not let them go.
    """
    if not outside(group):
        pg = world(group)
        wait_for_all(pg, pg.timeout if timeout is None else timeout, wait_all_ranks)


def _all_gather_base(
    output_tensor: Tensor, input_tensor: Tensor, group: object = None, async_op: bool = False
) -> Work | None:
    """``all_gather_into_tensor`` under its older name."""
    warnings.warn(
        "`torch.distributed._all_gather_base` is a private function and will be deprecated. Please "
        "use `torch.distributed.all_gather_single` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def _reduce_scatter_base(
    output: Tensor,
    input: Tensor,
    op: object = ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """``reduce_scatter_tensor`` under its older name."""
    warnings.warn(
        "`torch.distributed._reduce_scatter_base` is a private function and will be deprecated. "
        "Please use `torch.distributed.reduce_scatter_single` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return reduce_scatter_tensor(output, input, op, group, async_op)
