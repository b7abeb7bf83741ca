"""``fully_shard``: each process keeps a part of a module's parameters, and has them whole while the
module runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch.utils._pytree import tree_leaves, tree_map

from ..device_mesh import DeviceMesh, init_device_mesh
from ..group import get_world_size, init_process_group, is_initialized
from ..utils import _get_root_modules
from ._param_group import Layout, ParamGroup
from .api import MixedPrecisionPolicy, OffloadPolicy

__all__ = [
    "FSDPModule",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]


class FSDPState:
    """What a module knows of its parameters' group, and of the model that it is a part of."""

    def __init__(
        self,
        modules: list[nn.Module],
        group: ParamGroup,
        mp_policy: MixedPrecisionPolicy,
        automatic: bool,
    ) -> None:
        self.modules, self.group, self.mp_policy = modules, group, mp_policy
        #: Whether the parameters stay whole after forward if the module turns out to be the
        #: outermost.
        self.automatic = automatic
        self.root: FSDPState | None = None
        self._of_model: list[FSDPState] = []
        self._ran: set[int] = set()
        group.of_model = self.groups

    def groups(self) -> list[ParamGroup]:
        """The groups of the whole model."""
        return [state.group for state in (self.root or self)._of_model] or [self.group]

    def begin(self) -> None:
        """Makes this the outermost module, unless it is known to be inside of another."""
        if self.root is not None:
            return
        found: dict[int, FSDPState] = {}
        for top in self.modules:
            for module in top.modules():
                state = getattr(module, "_fsdp_state", None)
                if state is not None:
                    found[id(state)] = state
        for state in found.values():
            state.root = self
        self._of_model = list(found.values())
        if self.automatic:
            self.group.reshard_after_forward = False

    def before(self, module: nn.Module, args: object, kwargs: object) -> tuple[Any, Any]:
        """Gathers the parameters, and casts what the module gets."""
        self.begin()
        dtype = self.mp_policy.param_dtype
        if dtype is not None and self.mp_policy.cast_forward_inputs:
            args, kwargs = tree_map(_cast_to(dtype), args), tree_map(_cast_to(dtype), kwargs)
        self.group.unshard()
        self._ran.discard(id(module))
        return args, kwargs

    def after(self, module: nn.Module, output: object) -> Any:
        """Lets go of whole parameters once all modules of the group have run, and casts what they
        give."""
        if torch.is_grad_enabled():
            for tensor in tree_leaves(output):
                if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                    tensor.register_hook(self._before_backward)
        self._ran.add(id(module))
        if len(self._ran) == len(self.modules):
            self._ran.clear()
            if self.group.reshard_after_forward:
                self.group.reshard()
        dtype = self.mp_policy.output_dtype
        return output if dtype is None else tree_map(_cast_to(dtype), output)

    def _before_backward(self, _: object) -> None:
        self.group.unshard_again()


def _cast_to(dtype: torch.dtype) -> Callable[[Any], Any]:
    def cast(value: object) -> Any:
        return (
            value.to(dtype)
            if isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and value.dtype is not dtype
            else value
        )

    return cast


class UnshardHandle:
    """What ``unshard(async_op=True)`` gives."""

    def wait(self) -> None:
        """The parameters are whole already."""


class FSDPModule:
    """What ``fully_shard`` adds to a module's class."""

    _fsdp_state: FSDPState
    _orig_cls_mro_index: int = 2

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """An object of the module's own class: containers make such of their parts."""
        own = cls.__mro__[cls._orig_cls_mro_index]
        made = own.__new__(own, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self) -> FSDPState:
        return self._fsdp_state

    def _states(self, recurse: bool = True) -> Iterable[FSDPState]:
        if not recurse:
            return [self._fsdp_state]
        modules: Any = self.modules()  # of nn.Module
        return [module._fsdp_state for module in modules if isinstance(module, FSDPModule)]

    def reshard(self) -> None:
        """Puts the shards of the module's own group back in place of whole parameters."""
        self._fsdp_state.group.reshard()

    def _reshard_for_state(self) -> None:
        self.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the parameters of the module's own group. With ``async_op`` it gives a handle,
        and is done all the same."""
        self._fsdp_state.group.unshard()
        return UnshardHandle() if async_op else None

    def reset_iter_state(self) -> None:
        """Lets go of what an iteration that failed has left: whole parameters, and gradients that
        were not reduced."""
        for state in self._states():
            state._ran.clear()
            state.group.forget()

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Of no effect: a pass is done when it ends."""

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether passes reduce gradients. Those that are not reduced are added to those of later
        passes."""
        for state in self._states(recurse):
            state.group.reduces = state.group.reduces_copies = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are reduced over the processes that hold copies, on meshes of two
        dimensions."""
        for state in self._states(recurse):
            state.group.reduces_copies = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether shards take the place of whole parameters after forward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for state in self._states(recurse):
            state.automatic = False
            state.group.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Whether shards take the place of whole parameters after a backward pass."""
        for state in self._states(recurse):
            state.group.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Of no effect: parameters are gathered while what was called before is still pending."""
        _check_modules(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Of no effect: a backward pass gathers nothing."""
        _check_modules(modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """By what sums of gradients are divided, in place of the number of processes."""
        self._fsdp_state.group.factor = factor

    def set_reduce_scatter_divide_factor(self, factor: float) -> None:
        """``set_gradient_divide_factor`` under its older name."""
        self.set_gradient_divide_factor(factor)

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Whether the hook of ``set_all_reduce_hook`` gets sums, which are divided after it, in
        place of averages."""
        self._fsdp_state.group.forces_sums = enable

    def set_reduce_scatter_unused_params(
        self, reduce_scatter_unused_params: bool, *, recurse: bool = True
    ) -> None:
        """Whether parameters that a pass did not use count as zeros where others of their group
        have gradients."""
        for state in self._states(recurse):
            state.group.fills_unused = reduce_scatter_unused_params

    def set_reduce_scatter_max_input_buffers(
        self, max_input_buffers: int, *, recurse: bool = True
    ) -> None:
        """Of no effect: one group is reduced at a time."""

    def set_separate_reduce_scatter_group(
        self, enable: bool = True, *, recurse: bool = True
    ) -> None:
        """Of no effect: gathering and reducing do not overlap."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Of no effect: a backward pass gathers nothing."""

    def set_post_optim_event(self, event: Any) -> None:
        """Of no effect: there are no streams."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Of no effect: memory is JAX's."""

    def set_custom_all_gather(self, comm: Any) -> None:
        """Not offered."""
        raise not_offered(
            "torch.distributed.fsdp.FSDPModule.set_custom_all_gather",
            "parameters are gathered by XLA's collectives",
        )

    def set_custom_reduce_scatter(self, comm: Any) -> None:
        """Not offered."""
        raise not_offered(
            "torch.distributed.fsdp.FSDPModule.set_custom_reduce_scatter",
            "gradients are reduced by XLA's collectives",
        )

    def set_all_reduce_hook(self, hook: Any, *, stream: Any = None) -> None:
        """Has ``hook(tensor)`` called with the reduced gradients of the module's own group, which
        it may change in place.

        Raises:
            ValueError: for a ``stream`` on a mesh of two dimensions.
        """
        if stream is not None and self._fsdp_state.group.layout.copies_group is not None:
            raise ValueError("stream cannot be set when using native HSDP")
        self._fsdp_state.group.hook = hook

    def set_symm_mem_for_comm(self, backend: str = "NCCL") -> None:
        """Not offered."""
        raise not_offered(
            "torch.distributed.fsdp.FSDPModule.set_symm_mem_for_comm",
            "there is no symmetric memory",
        )

    def _set_unshard_async_op(self, async_op: bool) -> None:
        """Of no effect: gathering is done when it returns."""

    def _apply(self, *args: object, **kwargs: object) -> object:
        self.reshard()
        done = super()._apply(*args, **kwargs)  # of nn.Module
        for p in self._fsdp_state.group.params:
            p.refresh()
        return done


def _check_modules(modules: Iterable[object]) -> None:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")


def _no_deepcopy(*args: object, **kwargs: object) -> Any:  # noqa: ARG001
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


class Kind(NamedTuple):
    """What a function makes of modules: the prefix of their classes' names, what these derive from,
    and those that have been made."""

    prefix: str
    base: type[FSDPModule]
    made: dict[type, type]

    def class_of(self, own: type) -> type:
        """The class that objects of another get."""
        if own not in self.made:
            self.made[own] = type(
                f"{self.prefix}{own.__name__}", (self.base, own), {"__deepcopy__": _no_deepcopy}
            )
        return self.made[own]


_SHARDED = Kind("FSDP", FSDPModule, {})


def get_cls_to_fsdp_cls() -> dict[type, type]:
    """Class -> the class that its sharded objects have."""
    return _SHARDED.made


def _managed(
    modules: list[nn.Module], ignored: set[nn.Parameter]
) -> list[tuple[nn.Parameter, list[tuple[nn.Module, str]]]]:
    """The parameters of the modules that no other group has, each with its places and in the order
    of the modules."""
    seen: set[int] = set()
    found: dict[int, tuple[nn.Parameter, list[tuple[nn.Module, str]]]] = {}

    def visit(module: nn.Module) -> None:
        if (
            id(module) in seen
            or isinstance(module, FSDPModule)
            or getattr(module, "_is_replicate_managed_module", False)
        ):
            return
        seen.add(id(module))
        for name, parameter in module._parameters.items():
            if parameter is not None and not any(parameter is other for other in ignored):
                found.setdefault(id(parameter), (parameter, []))[1].append((module, name))
        for child in module.children():
            visit(child)

    for module in modules:
        visit(module)
    return list(found.values())


def checked_modules(module: Any, function: str = "fully_shard") -> list[nn.Module]:
    """The modules that a function was given, without those that are parts of others among them.

    Raises:
        AssertionError: for one that it has been applied to.
        ValueError: for a container without ``forward``.
    """
    modules = [module] if isinstance(module, nn.Module) else list(module)
    for given in modules:
        if isinstance(given, FSDPModule):
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. "
                f"{function} has already been applied to the following module:\n"
                f"{given}"
            )
        if isinstance(given, (nn.ModuleList, nn.ModuleDict)):
            raise ValueError(
                f"{function} does not support containers that do not implement forward: {given}"
            )
    return _get_root_modules(modules)


def whole_mesh(names: tuple[str, ...] | None = None) -> DeviceMesh:
    """The mesh of all processes, along one dimension."""
    if not is_initialized():
        init_process_group("gloo")
    device = torch.accelerator.current_accelerator()
    return init_device_mesh(
        "cpu" if device is None else device.type, (get_world_size(),), mesh_dim_names=names
    )


def _checked_mesh(mesh: DeviceMesh | None) -> DeviceMesh:
    mesh = mesh or whole_mesh()
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    return mesh


def fully_shard(
    module: object,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[nn.Parameter], object] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(),
    ignored_params: set[nn.Parameter] | None = None,
    dp_mesh_dims: object = None,
) -> Any:
    """Spreads the parameters of a module over processes, which have them whole while the module
    runs.

    The parameters become ``DTensor`` s of which each process holds a part along the first
    dimension, and so do their gradients and the state of optimisers made of them. They are gathered
    before ``forward``; gradients are averaged over the processes after a backward pass, each
    process getting its part. Parameters of submodules to which this was applied before are left to
    those: apply it from the inside out, to the blocks of a model and then to the model.

    Args:
        module: the module, changed in place; or several that are gathered together.
        mesh: the processes; all if it is left out. With two dimensions the first are copies, the
            second shards.
        reshard_after_forward: whether shards take the place of whole parameters after ``forward``;
            by default in all but the outermost module. 1 means False and other numbers True. The
            values that the backward pass needs are kept by its graph either way.
        shard_placement_fn: gives ``Shard(dim)`` for a parameter that is to be cut along another
            dimension.
        mp_policy: dtypes to compute and to reduce in.
        offload_policy: ``CPUOffloadPolicy()`` keeps shards in the host's memory.
        ignored_params: parameters to leave alone.

    Returns:
        The module, of a class derived from ``FSDPModule`` and its own.

    Raises:
        ValueError: for containers without ``forward``, parameters without dimensions and meshes of
            other dimensions.
        AssertionError: for a module that has been sharded.
        NotImplementedError: for ``dp_mesh_dims``.
    """
    if dp_mesh_dims is not None:
        raise not_offered(
            "torch.distributed.fsdp.fully_shard(dp_mesh_dims=)",
            "give the dimensions of the mesh to shard over as mesh",
        )
    modules = checked_modules(module)
    mesh = _checked_mesh(mesh)
    automatic = reshard_after_forward is None
    if not automatic and not isinstance(reshard_after_forward, bool):
        if not isinstance(reshard_after_forward, int):
            words = "a bool or an int representing the group size to reshard to"
            raise ValueError(
                f"reshard_after_forward should be {words}, not {reshard_after_forward}"
            )
        size = mesh.size(mesh.ndim - 1)
        if reshard_after_forward < 1 or size % reshard_after_forward:
            raise ValueError(
                f"If passing reshard_after_forward as an int, it should be a factor of {size}, not "
                f"{reshard_after_forward}"
            )
        reshard_after_forward = reshard_after_forward != 1
    apply_sharding(
        modules, Layout(mesh), automatic, automatic or bool(reshard_after_forward),
        shard_placement_fn, mp_policy, offload_policy, ignored_params or set(),
    )  # fmt: skip
    return module


def apply_sharding(
    modules: list[nn.Module],
    layout: Layout,
    automatic: bool,
    reshard: bool,
    placement: Callable[[nn.Parameter], object] | None,
    mp_policy: MixedPrecisionPolicy,
    offload_policy: OffloadPolicy,
    ignored: set[nn.Parameter],
    kind: Kind = _SHARDED,
) -> None:
    """Has a group of parameters lie as ``layout`` says while the modules do not run, and the
    modules be of the classes of ``kind``."""
    parameters = _managed(modules, ignored)
    for parameter, places in parameters:
        if parameter.dim() == 0:
            name = next(
                (name for top in modules for name, p in top.named_parameters() if p is parameter),
                places[0][1],
            )
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with "
                "numel equal to 1."
            )
    device = layout.mesh.device_type
    for top in modules:
        for inner in top.modules():
            for name, buffer in inner._buffers.items():
                if buffer is not None and not buffer.is_meta and buffer.device.type != device:
                    inner._buffers[name] = buffer.to(device)
    title = type(modules[0]).__name__
    group = ParamGroup(title, parameters, layout, placement, mp_policy, offload_policy)
    group.reshard_after_forward = reshard
    state = FSDPState(modules, group, mp_policy, automatic)
    for top in modules:
        top._fsdp_state = state
        top.__class__ = kind.class_of(type(top))
        top.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
        top.register_forward_hook(lambda m, _, output: state.after(m, output))
        top.register_state_dict_pre_hook(lambda *_: group.reshard())
        top.register_load_state_dict_pre_hook(lambda *_: group.reshard())
        top.register_load_state_dict_post_hook(lambda *_: _refresh(group))


def _refresh(group: ParamGroup) -> None:
    for p in group.params:
        p.refresh()


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Has another method than ``forward`` find the parameters whole. Of no effect for modules that
    are not sharded.

    Raises:
        ValueError: if there is no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)
    state = module._get_fsdp_state()

    def wrapped(_: object, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs)
        return state.after(module, method(*args, **kwargs))

    setattr(module, method_name, wrapped.__get__(module, type(module)))


def share_comm_ctx(modules: list[FSDPModule]) -> None:
    """Of no effect: there are no streams to share."""
    _check_modules(modules)
