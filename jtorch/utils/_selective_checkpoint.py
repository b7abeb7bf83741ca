"""Selective checkpointing: which operators' results a checkpointed call keeps, told to it by the
two contexts of its computations."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import jtorch as torch


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with the result of an operator; those of offloading compute
    again, as there is one memory."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told besides the operator and its arguments: the result.

    ``is_recompute`` is always False, as policies are asked in the first computation only.
    """

    def __init__(self, *, is_recompute: bool, op_output: object = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def modes() -> Any:
    """The module of dispatch modes, imported where one is wanted: operators are told to modes from
    then on, which every call pays for."""
    from . import _selective_modes

    return _selective_modes


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The contexts for ``checkpoint(context_fn=)`` that keep the results of some operators and
    compute the others again.

    ``policy_fn_or_list`` is a list of operators whose results are kept, or a function of a
    :class:`SelectiveCheckpointContext`, an operator and its arguments that gives a
    :class:`CheckpointPolicy`, or a bool. ``allow_cache_entry_mutation`` allows that what was kept
    is written to before it is used.

    Raises:
        ValueError: if something in the list is no operator.
        TypeError: if it is neither a list nor a function.

    Examples:
        >>> import functools
        >>> from jtorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> keep = functools.partial(
        ...     create_selective_checkpoint_contexts, [torch.ops.aten.sin.default]
        ... )
        >>> x = torch.tensor([0.5], requires_grad=True)
        >>> checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False, context_fn=keep).backward()
        >>> x.grad
        tensor([-0.4048])
    """
    if isinstance(policy_fn_or_list, list):
        operators = policy_fn_or_list
        for op in operators:
            if not isinstance(op, torch._ops.OpOverload):
                more = ""
                if isinstance(op, torch._ops.OpOverloadPacket):
                    more = (
                        "Please update the OpOverloadPacket to a specific OpOverload.For example, "
                        "if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type "
                    f"{type(op)}. {more}"
                )

        def policy(
            _: SelectiveCheckpointContext, op: object, *_args: object, **_kwargs: object
        ) -> Any:
            return op in operators
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")

    def kept(out: object, op: object, args: Iterable[object], kwargs: Any) -> bool:
        choice = policy(
            SelectiveCheckpointContext(is_recompute=False, op_output=out), op, *args, **kwargs
        )
        return choice is True or choice in (
            CheckpointPolicy.MUST_SAVE,
            CheckpointPolicy.PREFER_SAVE,
        )

    storage = modes().new_storage()
    return modes().CachingMode(kept, storage), modes().CachedMode(
        storage, allow_cache_entry_mutation
    )
