"""``FullyShardedDataParallel``, the older class: a module around the sharded one, with states under
the names of the module inside."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered

from ..collectives import broadcast
from ..device_mesh import DeviceMesh, init_device_mesh
from ..group import get_rank, get_world_size, world
from ..objects import all_gather_object
from ..tensor import DTensor
from ._param_group import Layout
from ._sharding import FSDPModule, apply_sharding
from .api import (
    BackwardPrefetch,
    CPUOffload,
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from .wrap import CustomPolicy, _Policy

if TYPE_CHECKING:
    from ..._src.facts.kinds import Keywords, Values
    from ._param_group import Param


__all__ = ["FullyShardedDataParallel"]

_NAME = "torch.distributed.fsdp.FullyShardedDataParallel"
_INSIDE = "_fsdp_wrapped_module"
_PREFIX = f"{_INSIDE}."


def _settings(
    kind: StateDictType, config: object = None, optim_config: object = None
) -> StateDictSettings:
    if kind is StateDictType.LOCAL_STATE_DICT:
        raise not_offered(
            f"{_NAME}.state_dict_type(StateDictType.LOCAL_STATE_DICT)",
            "there are no flat parameters; use SHARDED_STATE_DICT",
        )
    whole = kind is StateDictType.FULL_STATE_DICT
    config = config or (FullStateDictConfig() if whole else ShardedStateDictConfig())
    optim_config = optim_config or (
        FullOptimStateDictConfig() if whole else ShardedOptimStateDictConfig()
    )
    if not isinstance(config, FullStateDictConfig if whole else ShardedStateDictConfig):
        raise RuntimeError(f"Expected state_dict_config of {kind}, but got {type(config)}")
    return StateDictSettings(kind, config, optim_config)


def _own_part(p: Param, whole: torch.Tensor) -> torch.Tensor:
    """What of a whole parameter, or of its gradient, is this process's."""
    return whole.narrow(p.dim, min(p.layout.rank * p.rows, p.size[p.dim]), p.own_shape()[p.dim])


def _gather_gradients(params: Sequence[Any]) -> None:
    """Gives whole parameters their whole gradients."""
    for p in params:
        if p.tensor_mesh is not None:
            raise not_offered(
                f"{_NAME}.summon_full_params(with_grads=True)",
                "a parameter is a DTensor; use its gradient's full_tensor()",
            )
        if p.sharded.grad is not None:
            p.whole.grad = p.sharded.grad.full_tensor()


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters are spread over processes as ``fully_shard`` does it.

    Parameters keep their names and shapes, whatever ``use_orig_params`` is: they are ``DTensor`` s,
    not parts of flat ones.

    Args:
        module: the module, which is changed.
        process_group: the processes; all if it is left out. With a hybrid strategy two groups:
            those that share shards, and those that hold copies of this process's.
        sharding_strategy: ``FULL_SHARD``, ``SHARD_GRAD_OP`` (the same, whole between forward and
            backward), ``NO_SHARD``, or ``HYBRID_SHARD`` and ``_HYBRID_SHARD_ZERO2``, which shard as
            the first two do among some processes, of which there are copies: without groups or mesh
            among those of each host.
        cpu_offload: keep shards in the host's memory.
        auto_wrap_policy: says which submodules get a wrapper of their own.
        mixed_precision: dtypes to compute and reduce in.
        ignored_modules, ignored_states: what to leave alone.
        param_init_fn: fills a module that is on the ``meta`` device; by default its
            ``reset_parameters``.
        device_id: the device that the module is moved to first.
        sync_module_states: take the parameters and buffers of the first process.
        device_mesh: the processes, as a mesh of one dimension, or with a hybrid strategy of two:
            copies, and shards.
        backward_prefetch, forward_prefetch, limit_all_gathers: of no effect.

    Raises:
        NotImplementedError: for states of type ``LOCAL_STATE_DICT``.
        ValueError: if strategy and groups do not fit.
    """

    _fsdp_wrapped_module: nn.Module
    #: Whether a block of ``summon_full_params`` is entered.
    _summoned = False

    def __init__(
        self,
        module: nn.Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: object = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[nn.Module] | None = None,
        param_init_fn: Callable[[nn.Module], None] | None = None,
        device_id: int | torch.device | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: object = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        hybrid = strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
        if process_group is not None and device_mesh is not None:
            raise ValueError(
                "Cannot pass both process_group and device_mesh at the same time. Please just pass "
                "only one of them."
            )
        if hybrid and device_mesh is None:  # made once, for the wrappers inside as well
            device_mesh = _hybrid_mesh(process_group)
        pair = hybrid and process_group is not None
        if (
            hybrid != (device_mesh is not None and device_mesh.ndim == 2)
            or isinstance(process_group, tuple) != pair
        ):
            raise ValueError(
                f"{strategy} needs "
                f"{'two groups, or a mesh of two dimensions' if hybrid else 'one group or mesh of one dimension'}"  # noqa: E501
                f": process_group={process_group}, device_mesh={device_mesh}"
            )
        options = {
            "process_group": None if hybrid else process_group, "sharding_strategy": strategy,
            "cpu_offload": cpu_offload, "mixed_precision": mixed_precision,
            "param_init_fn": param_init_fn, "device_id": device_id,
            "sync_module_states": sync_module_states, "use_orig_params": use_orig_params,
            "device_mesh": device_mesh, "backward_prefetch": backward_prefetch,
            "forward_prefetch": forward_prefetch, "limit_all_gathers": limit_all_gathers,
        }  # fmt: skip
        ignored = _ignored(ignored_modules, ignored_states)
        self.sharding_strategy, self.process_group, self.cpu_offload = (
            strategy,
            process_group,
            cpu_offload or CPUOffload(),
        )
        self.mixed_precision = mixed_precision or MixedPrecision()
        self._use_orig_params = use_orig_params
        self.compute_device = torch.device("cpu" if device_id is None else device_id)
        if auto_wrap_policy is not None:
            _wrap_inside(
                module,
                auto_wrap_policy,
                {**options, "ignored_states": list(ignored)},
                {id(m) for m in ignored_modules or ()},
            )
        mesh = device_mesh or _mesh_of(process_group)
        _materialize(module, param_init_fn, mesh.device_type)
        if device_id is not None:
            kind = mesh.device_type
            module.to(
                torch.device(kind, device_id)
                if isinstance(device_id, int) and kind != "cpu"
                else kind
            )
        if sync_module_states:
            _take_first(module, mesh, ignored)
        self._buffers_to(module)
        policy = MixedPrecisionPolicy(
            self.mixed_precision.param_dtype, self.mixed_precision.reduce_dtype, None,
            self.mixed_precision.cast_forward_inputs
            or self.mixed_precision.cast_root_forward_inputs,
        )  # fmt: skip
        layout = Layout(mesh, strategy is not ShardingStrategy.NO_SHARD)
        offload = CPUOffloadPolicy() if self.cpu_offload.offload_params else OffloadPolicy()
        reshard = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        apply_sharding([module], layout, False, reshard, None, policy, offload, ignored)
        self._fsdp_wrapped_module = module
        self._state_settings = _settings(StateDictType.FULL_STATE_DICT)
        self._register_state_dict_hook(_state_given)
        self._register_load_state_dict_pre_hook(self._state_taken)

    def _buffers_to(self, module: nn.Module) -> None:
        dtype = self.mixed_precision.buffer_dtype
        if dtype is not None:
            for inner in module.modules():
                for name, buffer in inner._buffers.items():
                    if buffer is not None and buffer.is_floating_point():
                        inner._buffers[name] = buffer.to(dtype)

    # ---- the module inside -----------------------------------------------------------------------

    @property
    def module(self) -> Any:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _INSIDE:
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._fsdp_wrapped_module[key]  # type: ignore[index]  # of containers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module inside."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters with their names: in a block of ``summon_full_params`` those that they
        have without wrappers."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, "") if self._summoned else name, p

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The buffers, likewise."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield name.replace(_PREFIX, "") if self._summoned else name, buffer

    def check_is_root(self) -> bool:
        """Whether the module is the outermost that is sharded."""
        state = self._fsdp_wrapped_module._fsdp_state
        state.begin()
        return state.root is state

    @staticmethod
    def fsdp_modules(module: nn.Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module; only the outermost with ``root_only``."""
        found = [inner for inner in module.modules() if isinstance(inner, FullyShardedDataParallel)]
        if root_only:
            inside = {
                id(inner)
                for wrapper in found
                for inner in wrapper.modules()
                if inner is not wrapper
            }
            found = [wrapper for wrapper in found if id(wrapper) not in inside]
        return found

    def _sharded(self) -> list[FSDPModule]:
        return [module for module in self.modules() if isinstance(module, FSDPModule)]

    def apply(self, fn: Callable[[nn.Module], None]) -> Any:
        """Calls a function on the module inside and all of its submodules, with whole
        parameters."""
        with self.summon_full_params(self):
            return super().apply(fn)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which passes do not reduce gradients; they are added to those of the next pass
        that does."""
        groups = [module._get_fsdp_state().group for module in self._sharded()]
        before = [group.reduces for group in groups]
        for group in groups:
            group.reduces = False
        try:
            yield
        finally:
            for group, reduces in zip(groups, before, strict=True):
                group.reduces = reduces

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> torch.Tensor:
        """Scales the gradients of all processes so that their norm is at most ``max_norm``; the
        norm before."""
        total: Any = nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: nn.Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Generator[None, None, None]:
        """A block in which parameters are whole, and with ``with_grads`` their gradients, too.

        What is written into them is kept, unless not ``writeback``; gradients that are taken
        away come back, and those of parameters that had none are lost.

        Raises:
            NotImplementedError: for ``with_grads`` with ``offload_to_cpu``, with
                ``use_orig_params=False``, or with parameters that are DTensors as they are; for
                ``writeback`` with ``rank0_only``.
        """
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        original = all(wrapper._use_orig_params for wrapper in wrappers)
        if with_grads and (offload_to_cpu or not original):
            raise NotImplementedError(
                f"with_grads=True, use_orig_params={original}, offload_to_cpu={offload_to_cpu} is "
                "not supported yet"
            )
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        own = (
            module._fsdp_wrapped_module if isinstance(module, FullyShardedDataParallel) else module
        )
        found = [m for m in (own.modules() if recurse else [own]) if isinstance(m, FSDPModule)]
        groups = [m._get_fsdp_state().group for m in found]
        for group in groups:
            group.reshard()
            group.unshard()
        params = [p for group in groups for p in group.params]
        if with_grads:
            _gather_gradients(params)
        before = [wrapper._summoned for wrapper in wrappers]
        for wrapper in wrappers:
            wrapper._summoned = True
        try:
            yield
        finally:
            for wrapper, summoned in zip(wrappers, before, strict=True):
                wrapper._summoned = summoned
            with torch.no_grad():
                for p in params if writeback else ():
                    whole: Any = p.whole
                    p.local.copy_(
                        _own_part(p, whole.to_local() if isinstance(whole, DTensor) else whole)
                    )
                    if with_grads and p.sharded.grad is not None and whole.grad is not None:
                        p.sharded.grad._local_tensor.copy_(_own_part(p, whole.grad))
            for group in groups:
                group.reshard()

    @staticmethod
    def _optim_state_dict_impl(*args: object, **kwargs: object) -> dict[str, object]:
        """Not offered: what ``optim_state_dict`` is made of in PyTorch."""
        del args, kwargs
        raise not_offered(
            f"{_NAME}._optim_state_dict_impl",
            "use optim_state_dict, which gives the same for these wrappers",
        )

    # ---- states ----------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Says what the states of the wrappers in a module are from now on; what they were."""
        new = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = (
            wrappers[0]._state_settings if wrappers else _settings(StateDictType.FULL_STATE_DICT)
        )
        for wrapper in wrappers:
            wrapper._state_settings = new
        return before

    @staticmethod
    def get_state_dict_type(module: nn.Module) -> StateDictSettings:
        """What the states of the wrappers in a module are."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        return wrappers[0]._state_settings if wrappers else _settings(StateDictType.FULL_STATE_DICT)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Generator[None, None, None]:
        """A block in which the states of the wrappers in a module are of a type."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = [wrapper._state_settings for wrapper in wrappers]
        FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for wrapper, settings in zip(wrappers, before, strict=True):
                wrapper._state_settings = settings

    def _state_taken(self, state_dict: dict[str, object], prefix: str, *_: object) -> None:
        """Puts names back that a state does not have, and cuts whole tensors."""
        from ..checkpoint.state_dict import _fitted

        own = dict(self._fsdp_wrapped_module.named_parameters(remove_duplicate=False))
        for key in [
            key
            for key in state_dict
            if key.startswith(prefix) and not key.startswith(prefix + _PREFIX)
        ]:
            name = key[len(prefix) :]
            value = state_dict.pop(key)
            raw = next((known for known in own if known.replace(_PREFIX, "") == name), name)
            state_dict[prefix + _PREFIX + name] = _fitted(value, own[raw]) if raw in own else value

    @staticmethod
    def optim_state_dict(
        model: nn.Module,
        optim: Any,
        optim_state_dict: dict[str, Any] | None = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state of an optimiser of the model's parameters by their names, of the type that was
        set."""
        from ..checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

        del group
        if optim_state_dict is not None:
            raise not_offered(
                f"{_NAME}.optim_state_dict(optim_state_dict=)",
                "the state is taken from the optimiser",
            )
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        config = settings.optim_state_dict_config
        found = get_optimizer_state_dict(
            model, optim, options=StateDictOptions(full_state_dict=whole)
        )
        if config.offload_to_cpu:
            found["state"] = {
                name: {k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in values.items()}
                for name, values in found["state"].items()
            }
        return {} if whole and config.rank0_only and get_rank() else found

    @staticmethod
    def optim_state_dict_to_load(
        model: nn.Module, optim: Any, optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False, load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What ``optim.load_state_dict`` takes, of what ``optim_state_dict`` gave: tensors of its
        own."""
        from ..checkpoint.state_dict import (
            StateDictOptions,
            _copied,
            _for_optimizer,
            _from_rank_0,
            _names,
        )

        del group
        if is_named_optimizer:
            raise not_offered(
                f"{_NAME}.optim_state_dict_to_load(is_named_optimizer=True)",
                "there are no named optimisers",
            )
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        if settings.state_dict_type is StateDictType.FULL_STATE_DICT and getattr(
            settings.optim_state_dict_config, "rank0_only", False
        ):
            optim_state_dict = _from_rank_0(optim_state_dict)
        made = _for_optimizer(
            optim, _names(model), optim_state_dict, StateDictOptions(strict=False)
        )
        made["state"] = _copied(made["state"])
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def full_optim_state_dict(
        model: nn.Module,
        optim: Any,
        optim_input: Any = None,
        rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The whole state of an optimiser; on the first process alone with ``rank0_only``."""
        del optim_input, group
        config = FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=rank0_only)
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, None, config
        ):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def sharded_optim_state_dict(model: nn.Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """The state of an optimiser, sharded."""
        del group
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Not offered."""
        raise not_offered(
            f"{_NAME}.register_comm_hook", "gradients are reduced in the host's memory"
        )

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any],
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """This process's part of what ``full_optim_state_dict`` gave, as an optimiser of the
        model's parameters loads it."""
        return _of_whole(full_optim_state_dict, model, optim_input, optim, False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """The same, of what the first process has."""
        del group
        return _of_whole(full_optim_state_dict, model, optim_input, optim, True)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: nn.Module, optim: Any
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of what ``sharded_optim_state_dict`` gave."""
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            return FullyShardedDataParallel.optim_state_dict_to_load(
                model, optim, sharded_optim_state_dict
            )

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: OptimStateKeyType, model: nn.Module,
        optim_input: Any = None, optim: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The state of an optimiser of a module that is not wrapped, keyed by names instead of
        numbers or by numbers instead of names.

        Raises:
            ValueError: if it is keyed by neither.
        """
        kinds = {type(key) for key in optim_state_dict["state"]} or {str}
        if kinds not in ({int}, {str}):
            raise ValueError(
                f"Invalid parameter ID or name: the state has keys of {len(kinds)} types"
            )
        if kinds == {str if optim_state_key_type is OptimStateKeyType.PARAM_NAME else int}:
            return optim_state_dict
        groups = (
            [list(optim_input or model.parameters())]
            if optim is None
            else [group["params"] for group in optim.param_groups]
        )
        called = {parameter: name for name, parameter in model.named_parameters()}
        names = [called[parameter] for group in groups for parameter in group]
        new: dict[Any, Any] = (
            dict(enumerate(names)) if kinds == {int} else {name: i for i, name in enumerate(names)}
        )
        return {
            "state": {new[key]: value for key, value in optim_state_dict["state"].items()},
            "param_groups": [
                {**group, "params": sorted(new[key] for key in group["params"])}
                for group in optim_state_dict["param_groups"]
            ],
        }

    #: Its states are copies, as PyTorch's are, which gathers them.
    _gives_copies = True


def _of_whole(
    state: Any, model: nn.Module, given: Any, optim: object, first: bool
) -> dict[str, object]:
    """What an optimiser loads, of a whole state that each process has, or only the ``first``; by
    default one of the model's parameters."""
    if optim is None:
        optim = torch.optim.Optimizer(given if given is not None else model.parameters(), {})
    config = FullOptimStateDictConfig(rank0_only=first)
    with FullyShardedDataParallel.state_dict_type(
        model, StateDictType.FULL_STATE_DICT, None, config
    ):
        return FullyShardedDataParallel.optim_state_dict_to_load(
            model, optim, state if state is not None else {}
        )


def _state_given(
    module: FullyShardedDataParallel,
    state_dict: dict[str, object],
    prefix: str,
    local_metadata: object,
) -> None:
    """Takes the wrapper's part out of names, and makes values whole where that is wanted."""
    del local_metadata
    settings, start = module._state_settings, prefix + _PREFIX
    whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT
    drops = whole and settings.state_dict_config.rank0_only and get_rank() != 0
    with torch.no_grad():
        for key in [key for key in state_dict if key.startswith(start)]:
            value = state_dict.pop(key)
            if isinstance(value, DTensor):  # a copy: training goes on with the shard
                value = value.full_tensor() if whole else value.detach().clone()
            if settings.state_dict_config.offload_to_cpu and isinstance(value, torch.Tensor):
                value = value.cpu()
            if not drops:
                state_dict[prefix + key[len(start) :]] = value


@contextlib.contextmanager
def as_shards(module: nn.Module) -> Iterator[None]:
    """A block in which the states of the wrappers in a module are sharded."""
    with FullyShardedDataParallel.state_dict_type(module, StateDictType.SHARDED_STATE_DICT):
        yield


def _mesh_of(process_group: object) -> DeviceMesh:
    device = torch.accelerator.current_accelerator()
    kind = "cpu" if device is None else device.type
    return (
        init_device_mesh(kind, (get_world_size(),))
        if process_group is None
        else DeviceMesh.from_group(process_group, kind)
    )


def _hybrid_mesh(groups: object) -> DeviceMesh:
    """The mesh of two groups, or with a row for each host."""
    device = torch.accelerator.current_accelerator()
    kind = "cpu" if device is None else device.type
    if groups is None:
        within = int(os.environ.get("LOCAL_WORLD_SIZE", get_world_size()))
        return init_device_mesh(kind, (get_world_size() // within, within))
    if not isinstance(groups, tuple) or len(groups) != 2:
        raise ValueError(
            "Expected process_group to be passed in as a pair of groups for a hybrid strategy, but "
            f"got {type(groups)}"
        )
    shards, copies = map(world, groups)
    rows: Values = [None] * copies.size()
    all_gather_object(rows, list(shards.ranks), group=copies)
    return DeviceMesh.from_group([copies, shards], kind, torch.tensor(rows, device="cpu"))


def _ignored(modules: Iterable[nn.Module] | None, states: Any) -> set[nn.Parameter]:
    if modules is not None and states is not None:
        raise ValueError(
            "Cannot pass both ignored_modules and ignored_states at the same time. Please just "
            "pass ignored_states."
        )
    found: set[nn.Parameter] = set()
    for item in [*(modules or ()), *(states or ())]:
        found |= set(item.parameters()) if isinstance(item, nn.Module) else {item}
    return found


def _materialize(module: nn.Module, fill: Callable[[nn.Module], None] | None, device: str) -> None:
    for inner in list(module.modules()):
        own = [t for t in (*inner._parameters.values(), *inner._buffers.values()) if t is not None]
        if not any(t.is_meta and not isinstance(t, DTensor) for t in own):
            continue
        if fill is not None:
            fill(inner)
            continue
        inner.to_empty(device=device, recurse=False)
        reset = getattr(inner, "reset_parameters", None) or getattr(
            inner, "_reset_parameters", None
        )
        if reset is None:
            raise ValueError(
                f"{type(inner).__name__} is on the meta device and has no reset_parameters(); give "
                "param_init_fn"
            )
        reset()


def _take_first(module: nn.Module, mesh: DeviceMesh, ignored: set[nn.Parameter]) -> None:
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if not isinstance(tensor, DTensor) and not any(tensor is other for other in ignored):
                for d in range(mesh.ndim):
                    broadcast(tensor.detach(), group=mesh.get_group(d), group_src=0)


def _wrap_inside(module: nn.Module, policy: Any, options: Keywords, skipped: set[int]) -> None:
    """Puts wrappers around the submodules that a policy names, from the inside out."""
    chosen = {}
    if isinstance(policy, CustomPolicy):
        for inner in module.modules():
            said = policy._lambda_fn(inner)
            if said:
                chosen[id(inner)] = said if isinstance(said, dict) else {}

    def wants(child: nn.Module, count: int) -> bool:
        if isinstance(policy, CustomPolicy):
            return id(child) in chosen
        if isinstance(policy, _Policy):
            return bool(policy(child, recurse=False, nonwrapped_numel=count))  # type: ignore[operator]
        return bool(policy(module=child, recurse=False, nonwrapped_numel=count))

    def enters(child: nn.Module, count: int) -> bool:
        if isinstance(policy, _Policy):
            return True
        return bool(policy(module=child, recurse=True, nonwrapped_numel=count))

    def visit(parent: nn.Module) -> int:
        """Wraps below a module; the number of elements that were put into wrappers."""
        wrapped = 0
        for name, child in list(parent.named_children()):
            if isinstance(child, FullyShardedDataParallel) or id(child) in skipped:
                continue
            count = sum(p.numel() for p in child.parameters())
            if not enters(child, count):
                if wants(child, count):
                    setattr(
                        parent,
                        name,
                        FullyShardedDataParallel(child, **{**options, **chosen.get(id(child), {})}),
                    )
                    wrapped += count
                continue
            inside = visit(child)
            if wants(child, count - inside) and not isinstance(
                child, (nn.ModuleList, nn.ModuleDict)
            ):
                setattr(
                    parent,
                    name,
                    FullyShardedDataParallel(child, **{**options, **chosen.get(id(child), {})}),
                )
                inside = count
            wrapped += inside
        return wrapped

    visit(module)
