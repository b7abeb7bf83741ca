"""Selective checkpointing: a policy says of each operator of a checkpointed call whether its results are kept or computed again."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import jtorch as torch

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

__all__ = ["SAC_IGNORED_OPS", "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with the result of an operation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


#: What has a result kept. (There is one memory on the CPU; on accelerators results are kept where they are.)
_KEPT = frozenset((
    True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD,
))  # fmt: skip
#: Operators of which no policy is asked: they compute nothing.
SAC_IGNORED_OPS = {torch.ops.aten.detach.default}


class SelectiveCheckpointContext:
    """What a policy is told of the call: whether it is computed again, and what the operator gave."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """A result that was kept, with its version; none of what an operator has ``written`` into, which nothing is that can be handed over."""

    __slots__ = ("value", "version")

    def __init__(self, value: Any, written: bool) -> None:
        tensor = isinstance(value, torch.Tensor)
        self.value = value.detach() if tensor else value
        self.version = -1 if written else value._version if tensor else 0

    def get(self, mutable: bool) -> Any:
        """The result.

        Raises:
            RuntimeError: if it was written into since, unless it is ``mutable``.
        """
        if not mutable and isinstance(self.value, torch.Tensor) and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


#: In the place of a result that is computed again, and of one that was handed over.
_AGAIN, _GONE = object(), object()
#: What was done with the results of each operator, call by call.
_Calls = dict[Any, list[Any]]


class _First(TorchDispatchMode):
    """The first computation: keeps the results that the policy wants."""

    def __init__(self, policy: Callable[..., Any], calls: _Calls) -> None:
        super().__init__()
        self.policy, self.calls = policy, calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        asked = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        kept = isinstance(asked, (bool, CheckpointPolicy)) and asked in _KEPT
        written = func._schema.is_mutable
        self.calls.setdefault(func, []).append(tree_map(lambda x: _Kept(x, written), out) if kept else _AGAIN)
        return out


class _Second(TorchDispatchMode):
    """The second computation: takes the results that were kept."""

    def __init__(self, calls: _Calls, mutable: bool) -> None:
        super().__init__()
        self.calls, self.mutable = calls, mutable
        self.at: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.at = {}
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in SAC_IGNORED_OPS:
            place = self.at.get(func, 0)
            self.at[func] = place + 1
            calls = self.calls.get(func, ())
            held = calls[place] if place < len(calls) else _AGAIN
            if held is _GONE:
                raise RuntimeError(
                    "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                    "activation checkpoint."
                )
            if held is not _AGAIN:
                found = tree_map(lambda kept: kept.get(self.mutable), held)
                self.calls[func][place] = _GONE
                return found
        return func(*args, **(kwargs or {}))


def _of_list(wanted: frozenset[Any]) -> Callable[..., Any]:
    """The policy that keeps what some operators give."""

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:  # noqa: ARG001
        return CheckpointPolicy.MUST_SAVE if op in wanted else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """Contexts for ``checkpoint(..., use_reentrant=False, context_fn=...)`` that keep what a policy wants and compute the rest again.

    Args:
        policy_fn_or_list: ``f(context, operator, *args, **kwargs)``, asked in the first computation, that gives a ``CheckpointPolicy`` (or
            True for results that are kept), or a list of the operators whose results are kept.
        allow_cache_entry_mutation: whether results that were kept may have been written into since.

    Raises:
        TypeError, ValueError: for anything else.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, torch._ops.OpOverload):
                more = ""
                if isinstance(op, torch._ops.OpOverloadPacket):
                    more = (
                        "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change "
                        "it to `torch.ops.aten.mm.default`."
                    )
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {more}")
        policy = _of_list(frozenset(policy_fn_or_list))
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    calls: _Calls = {}
    return _First(policy, calls), _Second(calls, allow_cache_entry_mutation)
