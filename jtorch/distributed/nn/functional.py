"""Collectives that autograd records: with one process each gives what it is given, in a tensor of its own."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch as torch

from ..group import ReduceOp
from ..group import world as _world


def _own(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    _world(group)
    return tensor.clone()


def _only(tensors: Sequence[torch.Tensor], group: Any) -> torch.Tensor:
    if len(tensors) != 1:
        raise ValueError(f"expected as many tensors as the group has processes, that is 1, but got {len(tensors)}")
    return _own(tensors[0], group)


def broadcast(tensor: torch.Tensor, src: int, group: Any = None) -> torch.Tensor:
    """The tensor of rank ``src``."""
    return _own(tensor, group)


def gather(tensor: torch.Tensor, dst: int = 0, group: Any = None) -> tuple[torch.Tensor, ...]:
    """The processes' tensors."""
    return (_own(tensor, group),)


def scatter(tensors: Sequence[torch.Tensor], src: int = 0, group: Any = None) -> torch.Tensor:
    """This process's part of rank ``src``'s tensors."""
    return _only(tensors, group)


def reduce(tensor: torch.Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> torch.Tensor:
    """The processes' tensors, combined."""
    return _own(tensor, group)


def reduce_scatter(output: torch.Tensor, input_list: Sequence[torch.Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> torch.Tensor:
    """This process's part of the processes' lists, combined."""
    return _only(input_list, group)


def all_gather(tensor: torch.Tensor, group: Any = None) -> tuple[torch.Tensor, ...]:
    """The processes' tensors."""
    return (_own(tensor, group),)


def all_to_all(
    output_tensor_list: Sequence[torch.Tensor], input_tensor_list: Sequence[torch.Tensor], group: Any = None
) -> tuple[torch.Tensor, ...]:
    """What each process has for this one."""
    return (_only(input_tensor_list, group),)


def all_to_all_single(
    output: torch.Tensor, input: torch.Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> torch.Tensor:
    """What each process has for this one, in one tensor."""
    return _own(input, group)


def all_reduce(tensor: torch.Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> torch.Tensor:
    """The processes' tensors, combined."""
    return _own(tensor, group)
