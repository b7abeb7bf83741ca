"""Helpers of wrappers for several processes."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn
from jtorch.nn.utils.rnn import PackedSequence

from .collectives import broadcast as _broadcast
from .group import world as _world
from .objects import all_gather_object as _all_gather_object

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Values


def _pack_kwargs(*args: object, **kwargs: object) -> tuple[tuple[object, ...], tuple[str, ...]]:
    """All arguments in a row, and the names of the last of them."""
    return (*args, *kwargs.values()), tuple(kwargs)


def _unpack_kwargs(
    flat_args: tuple[object, ...], kwarg_keys: tuple[str, ...]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments of ``_pack_kwargs`` again.

    Raises:
        AssertionError: for more names than arguments.
    """
    if len(kwarg_keys) > len(flat_args):
        raise AssertionError(f"too many keys {len(kwarg_keys)} vs. {len(flat_args)}")
    cut = len(flat_args) - len(kwarg_keys)
    return flat_args[:cut], dict(zip(kwarg_keys, flat_args[cut:], strict=True))


def _apply_to_tensors(fn: Callable[[Any], Any], container: object) -> Any:
    """What a function makes of the tensors in lists, tuples, dicts, sets, packed sequences and data
    classes."""

    def apply(x: object) -> Any:
        if isinstance(x, torch.Tensor):
            return fn(x)
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            return dataclasses.replace(
                x, **{f.name: apply(getattr(x, f.name)) for f in dataclasses.fields(x)}
            )
        if isinstance(x, OrderedDict):
            return x.__class__((key, apply(value)) for key, value in x.items())
        if isinstance(x, PackedSequence):
            apply(x.data)
            return x
        if isinstance(x, dict):
            return {key: apply(value) for key, value in x.items()}
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(apply, x))
        if isinstance(x, (list, tuple, set)):
            return type(x)(map(apply, x))
        return x

    return apply(container)


def _cast_forward_inputs(
    dtype: torch.dtype | None, *args: object, **kwargs: object
) -> tuple[object, object]:
    """The arguments with floating tensors in another dtype."""
    if dtype is None:
        return args, kwargs

    def cast(x: torch.Tensor) -> torch.Tensor:
        return x.to(dtype) if x.is_floating_point() else x

    return _apply_to_tensors(cast, args), _apply_to_tensors(cast, kwargs)


def _to_kwargs(
    inputs: Arguments,
    kwargs: Mapping[str, object] | None,
    target_device: torch.device,
    use_side_stream_for_tensor_copies: bool,
) -> tuple[tuple[object, ...], tuple[dict[str, object], ...]]:
    """The arguments on a device, each kind in a tuple of one."""
    del use_side_stream_for_tensor_copies

    def move(x: Any) -> object:
        return x.to(target_device)

    return (_apply_to_tensors(move, tuple(inputs)),), (_apply_to_tensors(move, dict(kwargs or {})),)


def _p_assert(cond: object, s: str, raise_assertion_error: bool = True) -> None:
    """Raises AssertionError where a condition does not hold."""
    if not cond and raise_assertion_error:
        raise AssertionError(s)


def _verify_param_shape_across_processes(
    process_group: object, tensors: list[torch.Tensor], logger: object = None
) -> None:
    """Nothing, if the tensors of all processes have the same shapes and dtypes.

    Raises:
        RuntimeError: if they do not, or if some process has more of them.
    """
    del logger
    group = _world(process_group)
    if group.size() == 1:
        return
    rows: Values = [None] * group.size()
    _all_gather_object(rows, [(tuple(t.shape), str(t.dtype)) for t in tensors], group=group)
    mine = group.rank()
    for rank, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {mine} has {len(rows[mine])} "
                f"params, while rank {rank} has inconsistent {len(row)} params."
            )
        for i, (theirs, own) in enumerate(zip(row, rows[mine], strict=False)):
            if theirs != own:
                raise RuntimeError(
                    f"[{mine}]: params[{i}] in this process with sizes {list(own[0])} ({own[1]}) "
                    f"appears not to match sizes of the same param in process {rank}: "
                    f"{list(theirs[0])} ({theirs[1]})."
                )


def _sync_module_states(
    module: nn.Module,
    process_group: object,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Container[str],
    broadcast_buffers: bool = True,
) -> None:
    """Gives all processes the parameters and buffers of one, a rank of the group; they have the
    same shapes."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [t.detach() for name, t in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


def _sync_params_and_buffers(
    process_group: object, module_states: list[torch.Tensor], broadcast_bucket_size: int, src: int
) -> None:
    """Writes the tensors of one process, a rank of the group, into those of all."""
    del broadcast_bucket_size
    group = _world(process_group)
    for t in module_states if group.size() > 1 else ():
        _broadcast(t, group_src=src, group=group)


def _replace_by_prefix(state_dict: dict[str, object], old_prefix: str, new_prefix: str) -> None:
    """Renames the keys of a dict that begin in a certain way.

    Raises:
        ValueError: where both beginnings are the same.
    """
    if old_prefix == new_prefix:
        raise ValueError("old_prefix and new_prefix must be distinct")
    for key in [key for key in state_dict if key.startswith(old_prefix)]:
        state_dict[new_prefix + key[len(old_prefix) :]] = state_dict.pop(key)


def _get_root_modules(modules: list[nn.Module]) -> list[nn.Module]:
    """Those that are not parts of others among them."""
    inner = {id(part) for module in modules for part in module.modules() if part is not module}
    return [module for module in modules if id(module) not in inner]
