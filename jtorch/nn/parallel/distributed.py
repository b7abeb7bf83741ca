"""``DistributedDataParallel``: each process has the whole module and its own part of the batch;
gradients are averaged."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ..._src import hooks
from ..modules.module import Module
from ._reducer import GradBucket, Reducer

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, Values


#: Dtypes as C++ calls them.
_C_NAMES = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16"}

__all__ = ["DistributedDataParallel"]


def _find_tensors(obj: object) -> Iterable[torch.Tensor]:
    """The tensors in nested lists, tuples, dicts and dataclasses, as wrappers around this class
    look for them in outputs."""
    if isinstance(obj, torch.Tensor):
        return [obj]
    if isinstance(obj, (list, tuple)):
        return itertools.chain(*map(_find_tensors, obj))
    if isinstance(obj, dict):
        return itertools.chain(*map(_find_tensors, obj.values()))
    if is_dataclass(obj):
        return itertools.chain(*(_find_tensors(getattr(obj, f.name)) for f in fields(obj)))
    return []


_MIB = 1 << 20
#: Bytes of the first bucket and of the others, unless ``bucket_cap_mb`` says.
_FIRST, _OTHERS = _MIB, 25 * _MIB
_BOTH = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is "
    "deprecated and its value is ignored when `forward_sync_buffers` is provided."
)
_DEPRECATED = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you "
    "rely on buffers NOT being synced at init (e.g. rank-local buffers), keep using "
    "`broadcast_buffers=False` until `init_sync_buffers` is available."
)


def _joining() -> Any:
    """What gives processes different numbers of batches; not loaded with ``torch.nn``."""
    from jtorch.distributed.algorithms import join

    return join


class _BufferCommHookLocation(Enum):
    """When a hook combines buffers."""

    PRE_FORWARD = auto()
    POST_FORWARD = auto()


@dataclass
class _MixedPrecision:
    """Dtypes that ``DistributedDataParallel(mixed_precision=...)`` would compute and send in, which
    is refused."""

    param_dtype: object = None
    reduce_dtype: object = None
    buffer_dtype: object = None


class DistributedDataParallel(Module):
    """``module`` under the name ``module``, whose gradients are averaged over the processes at the
    end of each backward pass.

    The parameters and buffers of rank 0 are everybody's at first, and its buffers before each
    ``forward``, unless ``forward_sync_buffers`` is False. ``find_unused_parameters`` is for passes
    that leave out parameters.

    Args:
        module: the module, equal on all processes.
        device_ids: the device of this process in a list, or None for a module that lies on several
            or on the CPU.
        output_device: the device of a module on one accelerator: results stay where they are
            computed.
        dim: the dimension of batches.
        broadcast_buffers: deprecated; send the buffers of rank 0 at first and before each
            ``forward``.
        init_sync: compare modules, and send parameters and buffers of rank 0 at first.
        process_group: the processes that take part; all if it is None.
        bucket_cap_mb: how much is sent at once, in MiB.
        find_unused_parameters: look, in each pass, which parameters take part.
        check_reduction: deprecated, without effect but a warning.
        gradient_as_bucket_view: let gradients be views of the memory that is sent.
        static_graph: say that every pass uses the same parameters.
        delay_all_reduce_named_params: parameters by name whose gradients are averaged by
            themselves.
        param_to_hook_all_reduce: the parameter whose gradient says when.
        mixed_precision: refused unless it is None.
        device_mesh: a mesh of one dimension, in place of ``process_group``.
        skip_all_reduce_unused_params: accepted, without effect.
        bucket_cap_mb_list: how much is sent at once in each of the first buckets, in MiB.
        batched_grad_copy: accepted, without effect: gradients are copied as one batch anyway.
        forward_sync_buffers: send the buffers of rank 0 before each ``forward``; yes if it is None.

    Raises:
        ValueError: without a process group, or for ``device_ids`` of a module on the CPU.
        RuntimeError: if no parameter requires grad, or the processes' modules differ.
        NotImplementedError: for ``mixed_precision``, in whose place there is autocast, and
            parameters that are DTensors without a ``device_mesh`` that is a part of theirs.
    """

    def __init__(
        self,
        module: Module,
        device_ids: object = None,
        output_device: object = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: object = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        del skip_all_reduce_unused_params, batched_grad_copy
        if mixed_precision is not None:
            raise NotImplementedError(
                "DistributedDataParallel(mixed_precision=...) is not offered by jtorch: use "
                "autocast or a comm hook"
            )
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the "
                "same time."
            )
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group(mesh_dim=0)
            # what is beside it may be tensor parallelism
            if device_mesh._get_root_mesh() is not device_mesh:
                hooks.local_parameters(module)
        distributed = torch.distributed
        distributed.get_world_size(process_group)  # raises without a group
        if not isinstance(process_group, (distributed.ProcessGroup, type(None))):
            raise TypeError(
                "DistributedDataParallel(): argument 'process_group' must be ProcessGroup, not "
                f"{type(process_group).__name__}"
            )
        self.process_group = distributed.distributed_c10d.world(process_group)
        delayed: list[Any] = list(delay_all_reduce_named_params or ())
        self.parameters_to_ignore = {
            *getattr(module, "_ddp_params_and_buffers_to_ignore", ()),
            *(name for name, _ in delayed),
        }
        self._module_parameters = [
            p for name, p in module.named_parameters() if name not in self.parameters_to_ignore
        ]
        if not delayed and not any(p.requires_grad for p in self._module_parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        self.module = module
        self._place(device_ids, output_device)
        if any(isinstance(p, torch.nn.UninitializedParameter) for p in self._module_parameters):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with "
                "`DistributedDataParallel`. Run a dummy forward pass to correctly initialize the "
                "modules"
            )
        if any(hasattr(p, "placements") for p in self._module_parameters):
            raise NotImplementedError(
                "DistributedDataParallel of parameters that are DTensors is not offered by jtorch "
                "without device_mesh=mesh[name] for the dimension of their mesh that has copies of "
                "the data"
            )
        if check_reduction:
            warnings.warn(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. "
                "Please avoid using it.",
                FutureWarning,
                stacklevel=2,
            )
        self.dim = dim
        self.find_unused_parameters, self.static_graph = find_unused_parameters, False
        if broadcast_buffers is not None:
            warnings.warn(
                _DEPRECATED if forward_sync_buffers is None else _BOTH, FutureWarning, stacklevel=2
            )
        initial = (
            broadcast_buffers is None or bool(broadcast_buffers) or forward_sync_buffers is not None
        )
        self.forward_sync_buffers = (
            initial if forward_sync_buffers is None else forward_sync_buffers
        )
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._join_config = None
        #: What is done with buffers instead of sending those of rank 0.
        self._buffer_hook: Any = None
        #: Whether passes in which fewer processes take part are divided by the number of all.
        self._divides = True
        chosen = self._chosen()
        if init_sync:
            self._check_same(chosen)
            self._broadcast(self._states(initial), 0)
        size = None if bucket_cap_mb is None else int(bucket_cap_mb * _MIB)
        self.bucket_bytes_cap_list = [int(each * _MIB) for each in bucket_cap_mb_list or ()]
        self._caps = self.bucket_bytes_cap_list or ([_FIRST, _OTHERS] if size is None else [size])
        self.bucket_bytes_cap = max(
            self.bucket_bytes_cap_list or [_OTHERS if size is None else size]
        )
        self._make_reducer()
        self._delayed = _Delayed(self, delayed, param_to_hook_all_reduce) if delayed else None
        if any(hasattr(p, "_in_backward_optimizers") for _, p in chosen):
            self.reducer.steps = torch.distributed.optim.apply_optimizer_in_backward._taken_over(
                p for _, p in chosen
            )
        if static_graph:
            self._set_static_graph()

    def _chosen(self) -> Values:
        named = self.module.named_parameters()
        return [
            (name, p)
            for name, p in named
            if p.requires_grad and name not in self.parameters_to_ignore
        ]

    def _place(self, device_ids: Any, output_device: Any) -> None:
        """Takes notes of devices, and refuses those that a module does not lie on."""
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {p.device for p in self.module.parameters()}
        types = {d.type for d in devices}
        if len(types) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, but "
                f"input module parameters locate in {types}."
            )
        self.is_multi_device_module = len(devices) > 1
        self.device, self.device_type = next(iter(devices)), next(iter(types))
        if not device_ids or self.device_type == "cpu" or self.is_multi_device_module:
            if device_ids or output_device:
                raise ValueError(
                    "DistributedDataParallel device_ids and output_device arguments only work with "
                    "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                    f"{device_ids}, output_device {output_device}, and module parameters {devices}."
                )
            self.device_ids = self.output_device = None
        else:
            self.device_ids, self.output_device = (
                device_ids,
                device_ids[0] if output_device is None else output_device,
            )

    def _make_reducer(self) -> None:
        sparse = {
            f"{at}.weight" if at else "weight"
            for at, m in self.module.named_modules()
            if isinstance(m, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and m.sparse
        }
        find, listed = (
            self.find_unused_parameters and not self.static_graph,
            bool(self.bucket_bytes_cap_list),
        )
        self.reducer = Reducer(
            self._chosen(),
            self.process_group,
            self._caps,
            find,
            self.gradient_as_bucket_view,
            sparse,
            listed,
        )
        if self.static_graph:
            self.reducer.be_static()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: object
    ) -> None:
        """Says which parameters and buffers, by name, a module's ``DistributedDataParallel`` is to
        leave alone."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        """Says that all passes reach the same parameters.

        Raises:
            RuntimeError: once there has been a pass.
        """
        if self.static_graph:
            warnings.warn(
                "You've set static_graph to be True, no need to set it again.", stacklevel=2
            )
            return
        if self.reducer.started:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after "
                "DistributedDataParallel is constructed."
            )
        self.static_graph = True
        self.reducer.be_static()

    def _get_ddp_logging_data(self) -> dict[str, object]:
        """Facts about the module, under PyTorch's names; libraries look for advice to give in it.

        Differs from torch: times and sizes of buckets are left out: the gradients of a pass travel
        together.
        """
        distributed, parameters = torch.distributed, self.reducer.parameters
        facts: Named = {
            "backend_name": distributed.get_backend(self.process_group),
            "device_ids": ", ".join(map(str, self.device_ids or ())),
            "dtypes": ", ".join(
                sorted({_C_NAMES.get(p.dtype.scalar_name, p.dtype.scalar_name) for p in parameters})
            ),
            "module_name": type(self.module).__name__,
            "broadcast_buffers": int(self.broadcast_buffers),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "has_sync_bn": int(any(isinstance(m, torch.nn.SyncBatchNorm) for m in self.modules())),
            "is_multi_device_module": int(self.is_multi_device_module),
            "num_parameter_tensors": len(parameters),
            "output_device": -1
            if self.output_device is None
            else torch.device(self.output_device).index or 0,
            "rank": distributed.get_rank(self.process_group),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "world_size": distributed.get_world_size(self.process_group),
        }
        for name in (
            "MASTER_ADDR",
            "MASTER_PORT",
            "CUDA_VISIBLE_DEVICES",
            "GLOO_SOCKET_IFNAME",
            "TORCH_DISTRIBUTED_DEBUG",
        ):
            facts[name.lower()] = os.environ.get(name, "N/A")
        if self.reducer.hook is not None:
            facts["comm_hook"] = getattr(self.reducer.hook[1], "__qualname__", "")
        if self.static_graph:
            facts["static_graph"] = 1
        return facts

    @property
    def broadcast_buffers(self) -> bool:
        """``forward_sync_buffers``, as it was called before."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def _states(self, buffers: bool = True) -> list[torch.Tensor]:
        named = [*self.module.named_parameters(), *(self.module.named_buffers() if buffers else ())]
        return [t.detach() for name, t in named if name not in self.parameters_to_ignore]

    def _check_same(self, chosen: list[tuple[str, object]]) -> None:
        hooks.same_parameters(self.process_group, [p for _, p in chosen])

    def _broadcast(self, tensors: list[torch.Tensor], src: int) -> None:
        """Writes one process's tensors, by its rank in the group, into all: those of one dtype at
        once."""
        if self.process_group.size() == 1 or not tensors:
            return
        import numpy as np

        from jtorch.distributed._arrays import made, taken, written

        by_dtype = {}
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
        return (
            self.require_forward_param_sync
            and self.broadcast_buffers
            and bool(self._buffers_of_module())
        )

    def _buffers_of_module(self) -> dict[str, torch.Tensor]:
        return {
            name: b
            for name, b in self.module.named_buffers()
            if name not in self.parameters_to_ignore
        }

    def _sync_buffers(self, src: int = 0) -> None:
        with torch.no_grad():
            if self._buffer_hook is None:
                self._broadcast(list(self._buffers_of_module().values()), src)
                return
            hook, state, _ = self._buffer_hook
            for future in hook(state, self._buffers_of_module()) or ():
                future.wait()

    def _register_buffer_comm_hook(
        self, state: object, hook: object, comm_hook_location: object = None
    ) -> None:
        """Has ``hook(state, buffers by name)`` combine buffers; it returns futures that are waited
        for.

        Args:
            state: given to the hook.
            hook: the hook.
            comm_hook_location: whether it is called before each ``forward`` or, by default, after
                it.
        """
        if not callable(hook):
            raise AssertionError(f"hook must be callable, got {type(hook)}")
        self._buffer_hook = hook, state, comm_hook_location or _BufferCommHookLocation.POST_FORWARD

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Calls the module."""
        inputs, kwargs = self._pre_forward(*inputs, **kwargs)
        return self._post_forward(self.module(*inputs, **kwargs))

    def _pre_forward(
        self, *inputs: object, **kwargs: object
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """What comes before the module: buffers, and whether the pass before is over."""
        if self._delayed is not None:
            self._delayed.clear()
        if torch.is_grad_enabled() and not self.require_backward_grad_sync:
            self.reducer.closed = False
        elif torch.is_grad_enabled():
            self.reducer.check_finished()
            if self._join_config is not None:
                running = _joining().Join.notify_join_context(self)
                self.reducer.divisor = None if self._divides else running
        if (
            self._buffer_hook is None or self._buffer_hook[2] is _BufferCommHookLocation.PRE_FORWARD
        ) and self.will_sync_module_buffers():
            self._sync_buffers(self._authority(True) if self._join_config is not None else 0)
        return inputs, kwargs

    def _post_forward(self, outputs: object) -> object:
        """What comes after it: gradients are expected of what it gives."""
        if (
            self._buffer_hook is not None
            and self._buffer_hook[2] is _BufferCommHookLocation.POST_FORWARD
            and self.will_sync_module_buffers()
        ):
            self._sync_buffers()
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            self.reducer.prepare_for_backward(outputs)
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
        """Has ``hook(state, bucket)`` combine the gradients of each bucket; it returns a future of
        the flat tensor.

        Raises:
            TypeError: if it is not callable.
            ValueError: for annotations that say otherwise.
            RuntimeError: if there is one.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        bucket = signature.parameters.get("bucket")
        said, given = (
            inspect.Signature.empty if bucket is None else bucket.annotation,
            signature.return_annotation,
        )
        if said not in (inspect.Signature.empty, GradBucket, Any) and not isinstance(said, str):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        if given not in (
            inspect.Signature.empty,
            torch.futures.Future[torch.Tensor],
            Any,
        ) and not isinstance(given, str):
            raise ValueError(
                "Communication hook: return annotation should be "
                "torch.futures.Future[torch.Tensor]."
            )
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook = (state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: object) -> None:
        """``register_comm_hook`` with one of two hooks by name."""
        default_hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        known = torch.distributed.BuiltinCommHookType
        if not isinstance(comm_hook_type, known):
            raise TypeError(
                "_register_builtin_comm_hook(): expected a BuiltinCommHookType, but got "
                f"{comm_hook_type!r}"
            )
        hook = (
            default_hooks.allreduce_hook
            if comm_hook_type is known.ALLREDUCE
            else default_hooks.fp16_compress_hook
        )
        self.register_comm_hook(self.process_group, hook)

    def _register_fused_optim(
        self, optim: Any, *args: object, optim_params: Any = None, **kwargs: object
    ) -> None:
        """Has an optimiser step with the gradients of each bucket as soon as they are combined."""
        hooks = torch.distributed.algorithms.ddp_comm_hooks
        chosen = None if optim_params is None else list(optim_params)
        if chosen is not None and not chosen:
            raise ValueError(
                "Overlapped optimizer must be given at least one parameter in optim_params"
            )
        state = hooks.optimizer_overlap_hooks._OptimizerHookState(
            torch.distributed.optim.utils.as_functional_optim(optim, *args, **kwargs), chosen
        )
        hook = hooks.optimizer_overlap_hooks._hook_then_optimizer(
            hooks.default_hooks.allreduce_hook, state
        )
        self.register_comm_hook(self.process_group, hook)

    # Uneven numbers of batches.

    def _authority(self, running: bool) -> int:
        """The last process that still has batches: whose buffers count."""
        rank = torch.tensor([self.process_group.rank() if running else -1])
        torch.distributed.all_reduce(rank, torch.distributed.ReduceOp.MAX, group=self.process_group)
        return int(rank.item())

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Any:
        """A block in which processes may have different numbers of batches: those that are through
        go on to add zeros.

        Sums are divided by the number of processes; with ``divide_by_initial_world_size=False`` by
        that of those that still have batches.
        """
        return _joining().Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

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
    def join_device(self) -> torch.device:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group."""
        return self.process_group

    def __getstate__(self) -> Any:
        if self.process_group is not torch.distributed.group.WORLD:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        if self._delayed is not None:
            raise NotImplementedError(
                "copying or pickling a DistributedDataParallel with delay_all_reduce_named_params "
                "is not offered by jtorch"
            )
        state = self.__dict__.copy()
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.process_group = torch.distributed.distributed_c10d.world(None)
        self._make_reducer()


class _Delayed:
    """Parameters that the reducer leaves alone: their gradients lie in one tensor, which is
    averaged once that of another is there.

    Args:
        ddp: the module.
        named: the parameters by name.
        trigger: the other one.
    """

    def __init__(
        self, ddp: DistributedDataParallel, named: list[Any], trigger: torch.Tensor
    ) -> None:
        self.group, self.parameters = ddp.process_group, [p for _, p in named]
        with torch.no_grad():
            ddp._broadcast([p.detach() for p in self.parameters], 0)
        self.sizes = [p.numel() for p in self.parameters]
        self.buffer = torch.zeros(sum(self.sizes), device=ddp.device)
        trigger.register_hook(self._average)

    def clear(self) -> None:
        """Has gradients that are None be parts of the tensor, which are zero at first."""
        if all(p.grad is None for p in self.parameters):
            self.buffer.zero_()
        for part, p in zip(self.buffer.split(self.sizes), self.parameters, strict=True):
            if p.grad is None:
                p.grad = part.view(p.shape).zero_()

    def _average(self, grad: torch.Tensor) -> torch.Tensor:
        self.buffer.div_(self.group.size())
        torch.distributed.all_reduce(self.buffer, group=self.group)
        return grad
