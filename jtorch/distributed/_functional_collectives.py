"""Collectives that return new tensors, in a group of one process."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from typing import Any

import jtorch as torch


class AsyncCollectiveTensor(torch.Tensor):
    """A tensor whose collective may be running still; with one process, none is."""


def wait_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor: nothing is awaited."""
    return tensor


def all_reduce(self: torch.Tensor, reduceOp: str, group: Any, tag: str = "") -> torch.Tensor:
    """The processes' tensors, combined."""
    return self.clone()


def broadcast(self: torch.Tensor, src: int, group: Any, tag: str = "") -> torch.Tensor:
    """The tensor of rank ``src``."""
    return self.clone()


def all_gather_tensor(self: torch.Tensor, gather_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """The processes' tensors, joined along a dimension."""
    return self.clone()


def reduce_scatter_tensor(self: torch.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """This process's part of the processes' tensors, combined."""
    return self.clone()


def all_to_all_single(self: torch.Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> torch.Tensor:
    """What each process has for this one."""
    return self.clone()


def all_to_all_single_autograd(
    self: torch.Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> torch.Tensor:
    """What each process has for this one."""
    return self.clone()


def permute_tensor(self: torch.Tensor, src_dst: list[int], group: Any, tag: str = "") -> torch.Tensor:
    """The tensor of the process that sends to this one."""
    return self.clone()
