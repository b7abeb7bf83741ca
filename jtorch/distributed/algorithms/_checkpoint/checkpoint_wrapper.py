"""Modules in a wrapper that computes their activations again in the backward pass, or keeps them in
the host's memory."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from jtorch import nn
from jtorch.autograd.graph import save_on_cpu
from jtorch.distributed.fsdp.wrap import CustomPolicy, lambda_auto_wrap_policy
from jtorch.utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(enum.Enum):
    """How activations are computed again."""

    REENTRANT = 1
    NO_REENTRANT = 2


def _rename(state_dict: dict[str, object], old: str, new: str) -> None:
    for key in [key for key in state_dict if key.startswith(old)]:
        state_dict[new + key[len(old) :]] = state_dict.pop(key)


class ActivationWrapper(nn.Module):
    """A module around another, under whose names its parameters are saved and loaded."""

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_CHECKPOINT_WRAPPED_MODULE), name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: object) -> Iterator[tuple[str, nn.Parameter]]:
        """Parameters under the names that they have without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(
        module: nn.Module, state_dict: dict[str, object], prefix: str, *args: object
    ) -> dict[str, object]:
        _rename(state_dict, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(
        module: nn.Module, state_dict: dict[str, object], prefix: str, *args: object
    ) -> None:
        _rename(state_dict, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


class OffloadWrapper(ActivationWrapper):
    """What the module saves for its backward pass lies in the host's memory."""

    def forward(self, *args: object, **kwargs: object) -> Any:
        """The module's result."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """What the module saves for its backward pass is computed again there."""

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., object] | None = None,
        **checkpoint_fn_kwargs: object,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = functools.partial(
                checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT
            )
        self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: object, **kwargs: object) -> Any:
        """The module's result."""
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        names, split = tuple(kwargs), len(args)

        def by_position(*given: object) -> Any:  # this kind of checkpoint takes no keywords
            return self._checkpoint_wrapped_module(
                *given[:split], **dict(zip(names, given[split:], strict=True))
            )

        return self.checkpoint_fn(by_position, *args, *kwargs.values())


def offload_wrapper(module: nn.Module) -> nn.Module:
    """The module, with what it saves in the host's memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: nn.Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., object] | None = None,
    **checkpoint_fn_kwargs: object,
) -> nn.Module:
    """The module, with what it saves computed again in the backward pass, by
    ``torch.utils.checkpoint`` or by ``checkpoint_fn``."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def _numel(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def _wrap_children(
    module: nn.Module, policy: Callable[..., bool], wrapper: Callable[..., nn.Module]
) -> int:
    """Wraps below ``module`` what the policy names; returns how many elements of parameters are
    wrapped then."""
    total, wrapped = _numel(module), 0
    if not policy(module=module, recurse=True, nonwrapped_numel=total):
        return 0
    for name, child in module.named_children():
        size, inside = _numel(child), _wrap_children(child, policy, wrapper)
        if policy(module=child, recurse=False, nonwrapped_numel=size - inside):
            setattr(module, name, wrapper(child))
            inside = size
        wrapped += inside
    return wrapped


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[..., nn.Module] = checkpoint_wrapper,
    check_fn: Callable[[nn.Module], bool] = lambda _: True,
    auto_wrap_policy: object = None,
) -> None:
    """Puts ``checkpoint_wrapper_fn`` around the submodules that ``check_fn``, or a policy, names;
    in place, and not around the model."""
    if isinstance(auto_wrap_policy, CustomPolicy):
        _wrap_with_arguments(model, auto_wrap_policy._lambda_fn, checkpoint_wrapper_fn)
        return
    if auto_wrap_policy is not None and not callable(auto_wrap_policy):
        raise ValueError(
            f"Expected {auto_wrap_policy} to be callable or be a pre-defined wrap policy"
        )
    policy: Any = auto_wrap_policy or functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    _wrap_children(model, policy, checkpoint_wrapper_fn)


def _wrap_with_arguments(
    module: nn.Module, choose: Callable[[Any], Any], wrapper: Callable[..., nn.Module]
) -> None:
    for name, child in module.named_children():
        _wrap_with_arguments(child, choose, wrapper)
        arguments = choose(child)
        if arguments:
            setattr(
                module, name, wrapper(child, **(arguments if isinstance(arguments, dict) else {}))
            )
