"""Collectives that return new tensors, as ``AsyncCollectiveTensor``, which may be waited for; they
are done when they return.

A group is a ``ProcessGroup``, its name, a list of ranks, a mesh of one dimension, or
``(mesh, dimension)``. All have gradients, which are collectives too: every process has to take part
in the backward pass. Those of combinations are of sums alone.
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jtorch as torch

from .._C import _disabled_torch_function_impl
from .._C._functorch import maybe_current_level
from . import _done_collectives as done
from . import collectives as c
from .group import world


class AsyncCollectiveTensor(torch.Tensor):
    """What a functional collective gives: a tensor that may be waited for, though its elements are
    there.

    What is computed from it is a plain tensor; unlike in PyTorch its views are, too.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.distributed._functional_collectives import AsyncCollectiveTensor
        >>> AsyncCollectiveTensor(torch.ones(2)).wait()
        tensor([1., 1.])
    """

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, elem: torch.Tensor) -> Any:
        """The tensor, which shares memory with the one that is given."""
        return elem.as_subclass(cls)

    @property
    def completed(self) -> bool:
        """True."""
        return True

    @property
    def elem(self) -> torch.Tensor:
        """The plain tensor."""
        return self.as_subclass(torch.Tensor)

    def trigger_wait(self) -> torch.Tensor:
        """The plain tensor."""
        return self.elem

    def wait(self) -> torch.Tensor:
        """The plain tensor."""
        return self.elem

    def __repr__(self) -> str:
        return f"AsyncCollectiveTensor({self.elem!r})"


AsyncCollectiveTensor.__module__ = "torch.distributed._functional_collectives"


def wait_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The plain tensor."""
    return tensor.elem if isinstance(tensor, AsyncCollectiveTensor) else tensor


def _handle(found: object) -> Any:
    """Plain tensors as such that may be waited for; as in PyTorch not inside of ``vmap`` and its
    kind."""
    if isinstance(found, list):
        return [_handle(t) for t in found]
    return (
        AsyncCollectiveTensor(found)
        if type(found) is torch.Tensor and maybe_current_level() is None
        else found
    )


def _waitable(function: Callable[..., object]) -> object:
    @functools.wraps(function)
    def called(*args: object, **kwargs: object) -> Any:
        return _handle(function(*args, **kwargs))

    called.__module__ = __name__
    return called


all_reduce, broadcast = _waitable(done.all_reduce), _waitable(done.broadcast)
reduce_scatter_tensor, all_to_all_single = (
    _waitable(done.reduce_scatter_tensor),
    _waitable(done.all_to_all_single),
)
permute_tensor, all_reduce_coalesced = (
    _waitable(done.permute_tensor),
    _waitable(done.all_reduce_coalesced),
)
all_gather_into_tensor_coalesced = _waitable(done.all_gather_into_tensor_coalesced)
reduce_scatter_tensor_coalesced = _waitable(done.reduce_scatter_tensor_coalesced)


def all_gather_tensor(
    self: torch.Tensor, gather_dim: int, group: object, tag: str = ""
) -> torch.Tensor:
    """The processes' tensors, joined along a dimension; as in PyTorch a plain tensor if that is not
    the first."""
    found = done.all_gather_tensor(self, gather_dim, group, tag)
    return found if gather_dim else _handle(found)


#: Names from when the others had no gradients.
all_gather_tensor_autograd, reduce_scatter_tensor_autograd = (
    all_gather_tensor,
    reduce_scatter_tensor,
)
all_to_all_single_autograd = all_to_all_single


def _no_handle(async_op: bool) -> None:
    if async_op:
        raise AssertionError("Can't remap async version of inplace op to functional collective")


def all_reduce_inplace(
    tensor: torch.Tensor,
    op: str = "sum",
    group: object = None,
    async_op: bool = False,
    tag: str = "",
) -> torch.Tensor:
    """``all_reduce`` into the tensor itself."""
    _no_handle(async_op)
    return done.into(tensor, done.all_reduce(tensor, op, world() if group is None else group))


def all_gather_tensor_inplace(
    output_tensor: torch.Tensor,
    input_tensor: torch.Tensor,
    group: object = None,
    async_op: bool = False,
    tag: str = "",
    gather_dim: int = 0,
) -> torch.Tensor:
    """``all_gather_tensor`` into a tensor."""
    _no_handle(async_op)
    return done.into(
        output_tensor,
        done.all_gather_tensor(input_tensor, gather_dim, world() if group is None else group),
    )


def reduce_scatter_tensor_inplace(
    output: torch.Tensor,
    input: torch.Tensor,
    op: str = "sum",
    group: object = None,
    async_op: bool = False,
    scatter_dim: int = 0,
    tag: str = "",
) -> torch.Tensor:
    """``reduce_scatter_tensor`` into a tensor."""
    _no_handle(async_op)
    return done.into(
        output,
        done.reduce_scatter_tensor(input, op, scatter_dim, world() if group is None else group),
    )


def all_to_all_inplace(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: object = None,
    input_split_sizes: object = None,
    group: object = None,
    async_op: bool = False,
    tag: str = "",
) -> torch.Tensor:
    """``all_to_all_single`` into a tensor."""
    _no_handle(async_op)
    return done.into(
        output,
        done.all_to_all_single(
            input, output_split_sizes, input_split_sizes, world() if group is None else group
        ),
    )


def all_gather_inplace(
    tensor_list: list[torch.Tensor],
    tensor: torch.Tensor,
    group: object = None,
    async_op: bool = False,
    tag: str = "",
) -> object:
    """The processes' tensors, which may differ in their first dimension, into those of a list."""
    _no_handle(async_op)
    c.all_gather(tensor_list, done.own_copy(tensor), group=done.group_of(group))
    return tensor_list


#: Newer names.
all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
all_gather_single_coalesced, reduce_scatter_single_coalesced = (
    all_gather_into_tensor_coalesced,
    reduce_scatter_tensor_coalesced,
)
all_gather_single_autograd, reduce_scatter_single_autograd = (
    all_gather_tensor_autograd,
    reduce_scatter_tensor_autograd,
)
