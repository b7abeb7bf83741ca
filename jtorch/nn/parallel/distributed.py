"""``DistributedDataParallel`` in a group of one process: a module that passes calls on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jtorch as torch

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """``module`` under the name ``module``; gradients of a single process need no averaging.

    Raises:
        ValueError: without a process group.
        RuntimeError: if no parameter requires grad.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        if mixed_precision is not None:
            raise NotImplementedError("DistributedDataParallel(mixed_precision=...) is not offered by jtorch: use torch.autocast")
        if device_mesh is not None:
            raise NotImplementedError(
                "DistributedDataParallel(device_mesh=...) is not offered by jtorch: a process group has one process here"
            )
        torch.distributed.get_world_size(process_group)  # raises without a group
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.process_group = process_group
        self.broadcast_buffers, self.find_unused_parameters, self.static_graph = broadcast_buffers, find_unused_parameters, static_graph
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Calls the module."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients are not averaged over processes."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Iterator[None]:
        """A block in which processes may have different numbers of batches: one process always has its own."""
        yield

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Not offered."""
        raise NotImplementedError(
            "DistributedDataParallel.register_comm_hook is not offered by jtorch: a single process communicates nothing"
        )
