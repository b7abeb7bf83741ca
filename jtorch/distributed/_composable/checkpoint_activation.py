"""``checkpoint``: activations are computed again in the backward pass, without a wrapper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch import nn
from jtorch.utils import checkpoint as recomputing

from .._composable_state import _State
from .contract import contract

if TYPE_CHECKING:
    pass


class _CheckpointState(_State):
    """Whether activations are dropped."""

    enable_hook: bool = True


class _Recomputed:
    """The ``forward`` of a module that drops activations."""

    def __init__(self, forward: Any, state: _CheckpointState, given: dict[str, Any]) -> None:
        self.forward, self.state, self.given = forward, state, given

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.state.enable_hook:
            return self.forward(*args, **kwargs)
        return recomputing.checkpoint(
            self.forward, *args, use_reentrant=False, **self.given, **kwargs
        )


_OPTIONS = ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


@contract(_CheckpointState)
def checkpoint(module: nn.Module, **kwargs: object) -> nn.Module:
    """Has a module's activations computed again in the backward pass; the module is changed in
    place.

    Args:
        module: the module.
        kwargs: options of ``torch.utils.checkpoint.checkpoint``.

    Raises:
        NotImplementedError: for ``use_reentrant=True``.
        ValueError: for other options.
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. Please use "
            "torch.utils.checkpoint.checkpoint instead."
        )
    unknown = [name for name in kwargs if name not in _OPTIONS]
    if unknown:
        raise ValueError("Unexpected keyword arguments: " + ",".join(unknown))
    given = {name: value for name, value in kwargs.items() if value is not None}
    module.forward = _Recomputed(module.forward, checkpoint.state(module), given)
    return module
