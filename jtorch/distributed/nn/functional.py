"""Collectives that autograd records: the derivative of each is another, so that there are
derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .. import collectives as c
from ..group import ReduceOp, world

if TYPE_CHECKING:
    from ...autograd.function_node import FunctionCtx


def broadcast(tensor: torch.Tensor, src: int, group: object = None) -> torch.Tensor:
    """The tensor of rank ``src``, whose gradient is the sum over the processes."""
    return _Broadcast.apply(tensor, src, world(group))


def gather(tensor: torch.Tensor, dst: int = 0, group: object = None) -> tuple[torch.Tensor, ...]:
    """The processes' tensors in rank ``dst``, zeros in the others."""
    return _Gather.apply(tensor, dst, world(group))


def scatter(tensors: Sequence[torch.Tensor], src: int = 0, group: object = None) -> torch.Tensor:
    """This process's one of rank ``src``'s tensors; the others give tensors of the same shapes."""
    return _Scatter.apply(src, world(group), *_each(tensors, group))


def reduce(
    tensor: torch.Tensor, dst: int, op: object = ReduceOp.SUM, group: object = None
) -> torch.Tensor:
    """The processes' tensors, combined in rank ``dst``; the others get their own."""
    return _Reduce.apply(tensor, dst, op, world(group))


def reduce_scatter(
    output: torch.Tensor,
    input_list: Sequence[torch.Tensor],
    op: object = ReduceOp.SUM,
    group: object = None,
) -> torch.Tensor:
    """This process's one of the processes' lists, combined."""
    return _ReduceScatter.apply(op, world(group), output, *_each(input_list, group))


def all_gather(tensor: torch.Tensor, group: object = None) -> tuple[torch.Tensor, ...]:
    """The processes' tensors."""
    return _AllGather.apply(tensor, world(group))


def all_to_all(
    output_tensor_list: Sequence[torch.Tensor],
    input_tensor_list: Sequence[torch.Tensor],
    group: object = None,
) -> tuple[torch.Tensor, ...]:
    """What each process has for this one."""
    return _AllToAll.apply(
        world(group), tuple(t.shape for t in output_tensor_list), *_each(input_tensor_list, group)
    )


def all_to_all_single(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: object = None,
    input_split_sizes: object = None,
    group: object = None,
) -> torch.Tensor:
    """What each process has for this one, in one tensor."""
    return _AllToAllSingle.apply(
        input, tuple(output.shape), output_split_sizes, input_split_sizes, world(group)
    )


def all_reduce(
    tensor: torch.Tensor, op: object = ReduceOp.SUM, group: object = None
) -> torch.Tensor:
    """The processes' tensors, combined; the gradient is combined in the same way."""
    return _AllReduce.apply(tensor, op, world(group))


def _each(tensors: Sequence[torch.Tensor], group: object) -> Sequence[torch.Tensor]:
    size = world(group).size()
    if len(tensors) != size:
        raise ValueError(
            f"expected as many tensors as the group has processes, that is {size}, but got "
            f"{len(tensors)}"
        )
    return tensors


def _own(t: torch.Tensor) -> torch.Tensor:
    return t.detach().contiguous().clone()


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, src: int, group: Any) -> torch.Tensor:
        ctx.src, ctx.group = src, group
        result = _own(tensor)
        c.broadcast(result, src, group=group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        total = _Reduce.apply(grad, ctx.src, ReduceOp.SUM, ctx.group)
        return (
            total if torch.distributed.get_rank() == ctx.src else torch.zeros_like(total),
            None,
            None,
        )


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, dst: int, group: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        rows = [torch.zeros_like(tensor) for _ in range(group.size())]
        c.gather(
            _own(tensor), rows if torch.distributed.get_rank() == dst else None, dst, group=group
        )
        return tuple(rows)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> Any:
        return _Scatter.apply(ctx.dst, ctx.group, *grads), None, None


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.src, ctx.group = src, group
        result = torch.zeros_like(tensors[0])
        c.scatter(
            result,
            [_own(t) for t in tensors] if torch.distributed.get_rank() == src else None,
            src,
            group=group,
        )
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return None, None, *_Gather.apply(grad, ctx.src, ctx.group)


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, dst: int, op: object, group: Any) -> torch.Tensor:
        ctx.dst, ctx.group = dst, group
        result = _own(tensor)
        c.reduce(result, dst, op, group=group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return _Broadcast.apply(grad, ctx.dst, ctx.group), None, None, None


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, op: object, group: Any, output: torch.Tensor, *tensors: torch.Tensor
    ) -> torch.Tensor:
        ctx.group = group
        result = torch.zeros_like(output)
        c.reduce_scatter(result, [_own(t) for t in tensors], op, group=group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return None, None, None, *_AllGather.apply(grad, ctx.group)


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, group: Any) -> Any:
        ctx.group = group
        rows = [torch.zeros_like(tensor) for _ in range(group.size())]
        c.all_gather(rows, _own(tensor), group=group)
        return tuple(rows)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> Any:
        return _ReduceScatter.apply(ReduceOp.SUM, ctx.group, grads[0], *grads), None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *tensors: torch.Tensor) -> Any:
        ctx.group, ctx.shapes = group, tuple(t.shape for t in tensors)
        rows = [
            torch.zeros(shape, dtype=tensors[0].dtype, device=tensors[0].device) for shape in shapes
        ]
        c.all_to_all(rows, [_own(t) for t in tensors], group=group)
        return tuple(rows)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _AllToAllSingle(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, tensor: torch.Tensor, shape: Any, outputs: Any, inputs: Any, group: Any
    ) -> torch.Tensor:
        ctx.group, ctx.shape, ctx.outputs, ctx.inputs = group, tuple(tensor.shape), outputs, inputs
        result = torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
        c.all_to_all_single(result, _own(tensor), outputs, inputs, group=group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return (
            _AllToAllSingle.apply(grad, ctx.shape, ctx.inputs, ctx.outputs, ctx.group),
            None,
            None,
            None,
            None,
        )


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, op: Any, group: Any) -> torch.Tensor:
        ctx.op, ctx.group = op, group
        result = _own(tensor)
        c.all_reduce(result, op, group=group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> Any:
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None
