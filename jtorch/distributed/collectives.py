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
from ._arrays import bytes_of, made, numpy_dtype, taken, written
from ._backends import ReduceOp, operation
from ._lanes import GATHERED, Disagreement, Ticket, folded
from .group import ProcessGroup, world
from .works import Work, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._lanes import Alone
from ._operands import (
    averaged,
    check_places,
    check_same_dtype,
    check_some,
    check_tensor,
    check_tensors,
    outside,
    root_of,
    shape_words,
    sizes_of,
    sizes_of_each,
    what_is_done,
)


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

    task = reducing("all_reduce_coalesced", flat, kind, sizes_of_each(tensors))
    return start("all_reduce_coalesced", pg, task, write, list(tensors), async_op)


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
                    f"{sizes_of(like)}, got {sizes_of(t)})"
                )
            if t.dtype != like.dtype:
                raise RuntimeError(
                    f"{words}invalid tensor type at index {i} (expected {like.type()}, got "
                    f"{t.type()})"
                )
    arrays = [taken(t) for t in input_tensor_list]
    what = what_is_done(
        "all_gather_coalesced", arrays[0].dtype.name, sizes_of_each(input_tensor_list)
    )
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
