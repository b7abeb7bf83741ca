"""``replicate``: ``DistributedDataParallel`` without a wrapper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.nn.parallel import DistributedDataParallel

from .._composable_state import _State
from ..fsdp import FSDPModule
from .contract import contract


class _ReplicateState(_State):
    """The exchange of a module's gradients, which its first call makes."""

    def __init__(self) -> None:
        self.ddp: Any = None
        self.no_sync = False
        self.hooks = []
        self.given = {}
        self.ignored: set[nn.Module] = set()

    def _parameters(self, module: nn.Module) -> list[nn.Parameter]:
        if module in self.ignored or isinstance(module, FSDPModule):
            return []
        own = list(module.parameters(recurse=False))
        return own + [p for part in module.children() for p in self._parameters(part)]

    def before(self, module: nn.Module, args: Iterable[object], kwargs: Any) -> Any:
        """Makes parameters those of rank 0 at the first call."""
        if self.ddp is None:
            left_out = {id(p) for part in self.ignored for p in part.parameters()}
            chosen = [p for p in dict.fromkeys(self._parameters(module)) if id(p) not in left_out]
            self.ddp = DistributedDataParallel(nn.ParameterList(chosen), **self.given)
            for state, hook in self.hooks:
                self.ddp.register_comm_hook(state, hook)
        self.ddp.require_backward_grad_sync = not self.no_sync
        return self.ddp._pre_forward(*args, **kwargs)

    def after(self, module: nn.Module, args: object, outputs: object) -> Any:
        """Has the backward pass of what comes out average gradients."""
        del module, args
        return self.ddp._post_forward(outputs)


class DDP:
    """The class that a module gets besides its own."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """A module of the class that was changed."""
        return cls.__mro__[2](*args, **kwargs)

    def __deepcopy__(self, memo: object) -> Any:
        raise AssertionError(
            "DDP does not support deepcopy. Please use state dict for serialization."
        )

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Whether gradients are averaged at the end of the passes to come."""
        replicate.state(self).no_sync = not requires_gradient_sync

    def register_comm_hook(self, state: object, hook: object) -> None:
        """``DistributedDataParallel.register_comm_hook``."""
        kept = replicate.state(self)
        if kept.ddp is None:
            kept.hooks.append((state, hook))
        else:
            kept.ddp.register_comm_hook(state, hook)


@contract(state_cls=_ReplicateState)
def replicate(
    module: nn.Module, ignored_modules: Iterable[nn.Module] | None = None, **kwargs: Any
) -> nn.Module:
    """Has the gradients of a module averaged over processes; the module is changed in place.

    Args:
        module: the module.
        ignored_modules: parts of it whose parameters are left alone.
        kwargs: those of ``DistributedDataParallel``, and ``device_id``.

    Raises:
        RuntimeError: for a module of ``fully_shard``, or a ``device_id`` that is none.
    """
    device = kwargs.pop("device_id", None)
    if device is not None and not isinstance(device, (int, torch.device)):
        raise RuntimeError(f"Expected device_id to be int or torch.device, but got {type(device)}")
    if isinstance(module, FSDPModule):
        raise RuntimeError(
            "Cannot apply `replicate()` on a Module already managed by `fully_shard`"
        )
    mesh = kwargs.get("device_mesh")
    if mesh is not None and mesh._get_root_mesh() is not mesh:
        raise NotImplementedError(
            "replicate(device_mesh=) with a part of a mesh is not offered by jtorch: use "
            "fully_shard on a mesh of two dimensions"
        )
    if device is not None and torch.device(device).type != "cpu":
        kwargs["device_ids"] = [device]
    state = replicate.state(module)
    state.ignored, state.given = set(ignored_modules or ()), kwargs
    module.register_forward_pre_hook(state.before, with_kwargs=True)
    module.register_forward_hook(state.after)
    own = type(module)
    module.__class__ = type(f"DDP{own.__name__}", (DDP, own), {})
    return module
