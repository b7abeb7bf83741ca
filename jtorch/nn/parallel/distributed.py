"""``DistributedDataParallel``: each process has the whole module and its own part of the batch; gradients are averaged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jtorch as torch

from ..modules.module import Module
from ._reducer import Reducer

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20
#: Bytes of the first bucket and of the others, unless ``bucket_cap_mb`` says.
_FIRST, _OTHERS = _MIB, 25 * _MIB


def _joining() -> Any:
    """What gives processes different numbers of batches; not loaded with ``torch.nn``."""
    from jtorch.distributed.algorithms import join

    return join


class DistributedDataParallel(Module):
    """``module`` under the name ``module``, whose gradients are averaged over the processes at the end of each backward pass.

    The parameters and buffers of rank 0 are everybody's at first, and its buffers before each ``forward``, unless ``broadcast_buffers``
    is False. ``find_unused_parameters`` is for passes that leave out parameters.

    Args:
        module: the module, equal on all processes.
        device_ids: the device of this process in a list, or None for a module that lies on several or on the CPU.
        output_device: accepted: results stay where they are computed.
        dim: the dimension of batches.
        broadcast_buffers: send the buffers of rank 0 before each ``forward``.
        init_sync: send parameters and buffers of rank 0 at first.
        process_group: the processes that take part; all if it is None.
        bucket_cap_mb: how much is sent at once, in MiB.
        find_unused_parameters: look, in each pass, which parameters take part.
        check_reduction: deprecated, without effect.
        gradient_as_bucket_view: let gradients be views of the memory that is sent.
        static_graph: say that every pass uses the same parameters.
        delay_all_reduce_named_params: refused unless it is None.
        param_to_hook_all_reduce: refused unless it is None.
        mixed_precision: refused unless it is None.
        device_mesh: a mesh of one dimension, in place of ``process_group``.
        skip_all_reduce_unused_params: accepted, without effect.

    Raises:
        ValueError: without a process group, or for ``device_ids`` of a module on the CPU.
        RuntimeError: if no parameter requires grad, or the processes' modules differ.
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
        del check_reduction, skip_all_reduce_unused_params
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        for name, value in {
            "mixed_precision": mixed_precision, "delay_all_reduce_named_params": delay_all_reduce_named_params,
            "param_to_hook_all_reduce": param_to_hook_all_reduce,
        }.items():  # fmt: skip
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel({name}=...) is not offered by jtorch: use autocast or a comm hook")
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group(mesh_dim=0)
        distributed = torch.distributed
        distributed.get_world_size(process_group)  # raises without a group
        self.process_group = distributed.distributed_c10d.world(process_group)
        self.module = module
        devices = {p.device for p in module.parameters()}
        if (device_ids or output_device is not None) and all(d.type == "cpu" for d in devices):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules "
                f"or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters {devices}."
            )
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.device, self.device_type = next(iter(devices)), next(iter(devices)).type
        self.broadcast_buffers, self.find_unused_parameters, self.static_graph = broadcast_buffers, find_unused_parameters, False
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._join_config: Any = None
        #: Whether passes in which fewer processes take part are divided by the number of all.
        self._divides = True
        chosen = [(name, p) for name, p in module.named_parameters() if p.requires_grad and name not in self.parameters_to_ignore]
        self._check_same(chosen)
        if init_sync:
            self._broadcast(self._states(), 0)
        size = None if bucket_cap_mb is None else int(bucket_cap_mb * _MIB)
        cap = (_FIRST, _OTHERS) if size is None else (size, size)
        sparse = {
            f"{at}.weight" if at else "weight"
            for at, m in module.named_modules()
            if isinstance(m, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and m.sparse
        }
        self.reducer = Reducer(
            chosen, self.process_group, cap, find_unused_parameters and not static_graph, gradient_as_bucket_view, sparse
        )
        self.bucket_bytes_cap = cap[1]
        if any(hasattr(p, "_in_backward_optimizers") for _, p in chosen):
            self.reducer.steps = torch.distributed.optim.apply_optimizer_in_backward._taken_over(p for _, p in chosen)
        if static_graph:
            self._set_static_graph()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Says which parameters and buffers, by name, a module's ``DistributedDataParallel`` is to leave alone."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        """Says that all passes reach the same parameters."""
        self.static_graph = self.reducer.static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Facts about the module, under PyTorch's names; libraries look for advice to give in it."""
        distributed = torch.distributed
        return {
            "world_size": distributed.get_world_size(self.process_group),
            "rank": distributed.get_rank(self.process_group),
            "module_name": type(self.module).__name__,
            "backend_name": distributed.get_backend(self.process_group),
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "broadcast_buffers": self.broadcast_buffers,
            "static_graph": self.static_graph,
            "num_parameter_tensors": len(self.reducer.parameters),
            "bucket_cap_bytes": self.bucket_bytes_cap,
        }

    def _states(self) -> list[torch.Tensor]:
        named = [*self.module.named_parameters(), *self.module.named_buffers()]
        return [t.detach() for name, t in named if name not in self.parameters_to_ignore]

    def _check_same(self, chosen: list[Any]) -> None:
        if self.process_group.size() == 1:
            return
        rows: list[Any] = [None] * self.process_group.size()
        torch.distributed.all_gather_object(rows, [(tuple(p.shape), str(p.dtype)) for _, p in chosen], group=self.process_group)
        mine = self.process_group.rank()
        for rank, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {mine} has {len(rows[mine])} params, while rank {rank} has "
                    f"inconsistent {len(row)} params."
                )
            for i, (theirs, own) in enumerate(zip(row, rows[mine], strict=False)):
                if theirs != own:
                    raise RuntimeError(
                        f"[{mine}]: params[{i}] in this process with sizes {list(own[0])} ({own[1]}) appears not to match sizes of the "
                        f"same param in process {rank}: {list(theirs[0])} ({theirs[1]})."
                    )

    def _broadcast(self, tensors: list[torch.Tensor], src: int) -> None:
        """Writes one process's tensors, by its rank in the group, into all: those of one dtype at once."""
        if self.process_group.size() == 1 or not tensors:
            return
        import numpy as np

        from jtorch.distributed._arrays import made, taken, written

        by_dtype: dict[Any, list[torch.Tensor]] = {}
        for t in tensors:
            by_dtype.setdefault(t.dtype, []).append(t)
        for same in by_dtype.values():
            flat = made(np.concatenate([taken(t).reshape(-1) for t in same]))
            torch.distributed.broadcast(flat, group_src=src, group=self.process_group)
            if self.process_group.rank() != src:
                array, at = taken(flat), 0
                for t in same:
                    written(t, array[at : at + t.numel()])
                    at += t.numel()

    # Passes.

    def will_sync_module_buffers(self) -> bool:
        """Whether the next ``forward`` takes over rank 0's buffers."""
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._buffers_of_module())

    def _buffers_of_module(self) -> list[torch.Tensor]:
        return [b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _sync_buffers(self, src: int = 0) -> None:
        with torch.no_grad():
            self._broadcast(self._buffers_of_module(), src)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Calls the module."""
        inputs, kwargs = self._pre_forward(*inputs, **kwargs)
        return self._post_forward(self.module(*inputs, **kwargs))

    def _pre_forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What comes before the module: buffers, and whether the pass before is over."""
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.reducer.check_finished()
            if self._join_config is not None:
                running = _joining().Join.notify_join_context(self)
                self.reducer.divisor = None if self._divides else running
        if self.will_sync_module_buffers():
            self._sync_buffers(self._authority(True) if self._join_config is not None else 0)
        return inputs, kwargs

    def _post_forward(self, outputs: Any) -> Any:
        """What comes after it: gradients are expected of what it gives."""
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            self.reducer.prepare(outputs)
        else:
            self.require_forward_param_sync = False
        return outputs

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients are not averaged over processes."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Has ``hook(state, bucket)`` combine the gradients of each bucket; it returns a future of the flat tensor.

        Raises:
            TypeError: if it is not callable.
            RuntimeError: if there is one.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook = (state, hook)

    # Uneven numbers of batches.

    def _authority(self, running: bool) -> int:
        """The last process that still has batches: whose buffers count."""
        rank = torch.tensor([self.process_group.rank() if running else -1])
        torch.distributed.all_reduce(rank, torch.distributed.ReduceOp.MAX, group=self.process_group)
        return int(rank.item())

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Any:
        """A block in which processes may have different numbers of batches: those that are through go on to add zeros.

        Sums are divided by the number of processes; with ``divide_by_initial_world_size=False`` by that of those that still have batches.
        """
        return _joining().Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> Any:
        """What a process does in place of a pass when it has no batch."""
        ddp = self
        self._divides = kwargs.get("divide_by_initial_world_size", True)

        class Hook(_joining().JoinHook):
            def main_hook(self) -> None:
                if ddp.will_sync_module_buffers():
                    ddp._sync_buffers(ddp._authority(False))
                reducer = ddp.reducer
                reducer._used = set()
                reducer.divisor = None if ddp._divides else self.running
                kept = [p.grad for p in reducer.parameters]
                for p in reducer.parameters:
                    p.grad = None
                with torch.no_grad():
                    reducer.combine(reducer._used_anywhere())
                for p, grad in zip(reducer.parameters, kept, strict=True):
                    p.grad = grad

            def post_hook(self, is_last_joiner: bool) -> None:
                ddp.reducer.divisor = None
                with torch.no_grad():
                    ddp._broadcast(ddp._states(), ddp._authority(is_last_joiner))

        return Hook()

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group."""
        return self.process_group

    def __getstate__(self) -> Any:
        raise NotImplementedError("pickling a DistributedDataParallel is not offered by jtorch: save its state_dict(), or that of .module")
