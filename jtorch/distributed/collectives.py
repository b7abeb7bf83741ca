"""Collectives of a group of one process."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import Tensor
from ..dtypes import BY_NAME
from .group import GroupMember, ReduceOp, Work, no_peer, world


def _check(name: str, value: Any, group: Any, ranks: Sequence[int | None] = ()) -> bool:
    """Whether this process takes part.

    Raises:
        TypeError: for something else than tensors.
        ValueError: without a group, or for a rank that is not in it.
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return False
    world(group)
    for t in value if isinstance(value, (list, tuple)) else (value,):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(t)} instead."
            )
    for rank in ranks:
        if rank not in (None, 0):
            raise ValueError(f"rank {rank} is not part of the group, which has rank 0 only")
    return True


def _done(async_op: bool, result: Any = None) -> Work | None:
    return Work(result) if async_op else None


def _copy(target: Tensor, source: Tensor) -> None:
    from ..autograd.grad_mode import no_grad

    with no_grad():
        target.copy_(source)  # type: ignore[attr-defined]


def _alone(name: str, tensors: Any) -> Any:
    if not isinstance(tensors, (list, tuple)) or len(tensors) != 1:
        raise ValueError(f"{name} should have as many tensors as the group has processes, that is 1")
    return tensors[0]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combines the processes' tensors, in each: leaves the only one as it is."""
    return _done(async_op, [tensor]) if _check("tensor", tensor, group) else None


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Combines the processes' tensors in one of them: leaves the only one as it is."""
    return _done(async_op, [tensor]) if _check("tensor", tensor, group, (dst, group_dst)) else None


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Sends a tensor to all: leaves the only one as it is."""
    return _done(async_op, [tensor]) if _check("tensor", tensor, group, (src, group_src)) else None


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the processes' tensors into ``tensor_list``."""
    if not _check("tensor", tensor, group):
        return None
    _copy(_alone("tensor_list", tensor_list), tensor)
    return _done(async_op, tensor_list)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the processes' tensors into one."""
    if not _check("input_tensor", input_tensor, group):
        return None
    _copy(output_tensor, input_tensor.reshape(output_tensor.shape))  # type: ignore[attr-defined]
    return _done(async_op, [output_tensor])


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copies the processes' tensors into ``gather_list`` of one of them."""
    if not _check("tensor", tensor, group, (dst, group_dst)):
        return None
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _copy(_alone("gather_list", gather_list), tensor)
    return _done(async_op, gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each process one tensor of ``scatter_list``."""
    if not _check("tensor", tensor, group, (src, group_src)):
        return None
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy(tensor, _alone("scatter_list", scatter_list))
    return _done(async_op, [tensor])


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combines the processes' lists, and gives each process one item."""
    if not _check("output", output, group):
        return None
    _copy(output, _alone("input_list", input_list))
    return _done(async_op, [output])


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combines the processes' tensors, and gives each process one part."""
    if not _check("output", output, group):
        return None
    _copy(output, input.reshape(output.shape))  # type: ignore[attr-defined]
    return _done(async_op, [output])


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False) -> Work | None:
    """Each process sends one tensor of its list to each process."""
    if not _check("output_tensor_list", output_tensor_list, group):
        return None
    _copy(_alone("output_tensor_list", output_tensor_list), _alone("input_tensor_list", input_tensor_list))
    return _done(async_op, output_tensor_list)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """Each process sends one part of its tensor to each process."""
    if not _check("output", output, group):
        return None
    for sizes, t in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes and list(sizes) != [t.shape[0]]:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
    _copy(output, input)
    return _done(async_op, [output])


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts the processes' objects, pickled and unpickled, into ``object_list``."""
    if _check("obj", (), group):
        _alone("object_list", object_list)
        object_list[0] = _sent(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """Puts the processes' objects into a list of one of them."""
    if _check("obj", (), group, (dst, group_dst)):
        if not object_gather_list:
            raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
        _alone("object_gather_list", object_gather_list)
        object_gather_list[0] = _sent(obj)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Gives each process one object of a list."""
    if _check("obj", (), group, (src, group_src)):
        if not scatter_object_output_list:
            raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
        scatter_object_output_list[0] = _sent(_alone("scatter_object_input_list", scatter_object_input_list))


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Sends a list of objects to all: leaves the only one as it is."""
    _check("object_list", (), group, (src, group_src))


def _sent(obj: Any) -> Any:
    import pickle

    return pickle.loads(pickle.dumps(obj))


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Waits for all processes: there is only this one."""
    return _done(async_op) if _check("group", (), group) else None


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Waits for all processes: there is only this one."""
    _check("group", (), group)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Not offered: there is nobody to send to."""
    no_peer("send")


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Not offered: there is nobody to receive from."""
    no_peer("recv")


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Not offered: there is nobody to send to."""
    no_peer("isend")


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Not offered: there is nobody to receive from."""
    no_peer("irecv")


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Not offered: there is nobody to send to."""
    no_peer("send_object_list")


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Not offered: there is nobody to receive from."""
    no_peer("recv_object_list")


class P2POp:
    """A ``isend`` or ``irecv`` for ``batch_isend_irecv``."""

    def __init__(
        self, op: Any, tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0, group_peer: int | None = None
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Starts several sends and receives, each of which needs another process."""
    if not p2p_op_list:
        raise IndexError("list index out of range")
    return [found for p in p2p_op_list if (found := p.op(p.tensor, p.peer, p.group, p.tag)) is not None]


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> tuple[Tensor, Tensor]:
    """The pickle of an object as bytes in a tensor, and how many they are."""
    import pickle

    from .. import frombuffer, tensor

    data = frombuffer(bytearray(pickle.dumps(obj)), dtype=BY_NAME["uint8"]).to(device or "cpu")
    return data, tensor([data.numel()], device=device or "cpu")


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: Any = None) -> Any:
    """The object whose pickle a tensor holds."""
    import pickle

    return pickle.loads(bytes(tensor[: int(tensor_size)].tolist()))  # type: ignore[index,attr-defined]
