"""What update rules share: option checks and arithmetic with coefficients that may be numbers or
0-dim tensors.

Step counts are tensors and are never read on the host, so that a step stays one recorded trace;
bias corrections are therefore computed as 0-dim float64 tensors, with the precision that PyTorch
has by computing them in Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._fused import COMMON, plain_gradients, plan_for
from .optimizer import Optimizer, _get_scalar_dtype, _run_closure, _to_scalar

if TYPE_CHECKING:
    from .._src.facts.kinds import Named, Operand, Values


def check_lr(lr: torch.Tensor | float, words: str = "Invalid learning rate: {}") -> None:
    """Refuses a negative ``lr`` and tensors of more than one element."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(words.format(lr))


def check_not_negative(words: str, value: Any) -> None:
    """``ValueError("Invalid <words>: <value>")`` unless ``value >= 0``."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {words}: {value}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuses averages' coefficients outside of [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Refuses combinations that name two implementations at once."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def new_step(group: Named) -> torch.Tensor:
    """A step count of zero."""
    return torch.zeros((), dtype=_get_scalar_dtype(is_fused=group.get("fused")))


def zeros(p: torch.Tensor) -> torch.Tensor:
    """A buffer like ``p``."""
    return torch.zeros_like(p, memory_format=torch.preserve_format)


def pick(states: Iterable[dict[str, object]], name: str) -> list[Operand]:
    """One buffer of every state; None where there is none."""
    return [state.get(name) for state in states]


def advance(step: torch.Tensor) -> torch.Tensor:
    """Counts one step and returns the count, a tensor in float64."""
    step += 1
    return step.double()


def add_scaled_(target: torch.Tensor, update: torch.Tensor, factor: torch.Tensor | float) -> None:
    """``target += factor * update`` for a number or a 0-dim tensor."""
    if isinstance(factor, torch.Tensor):
        target.add_(update * factor)
    else:
        target.add_(update, alpha=factor)


def in_parts(
    params: list[torch.Tensor], grads: list[torch.Tensor], *buffers: Values
) -> tuple[Values, ...] | None:
    """The lists with what this process has of each tensor, where a class of parameters offers that
    for updates element by element."""
    kind = next((type(p) for p in params if hasattr(type(p), "_parts_for_updates")), None)
    return None if kind is None else kind._parts_for_updates(params, grads, *buffers)


def changed_in_parts(*lists: Values) -> None:
    """Counts the changes that were made to parts of tensors."""
    torch.autograd.graph.increment_version([t for ts in lists for t in ts if t is not None])


def decayed(grad: torch.Tensor, param: torch.Tensor, weight_decay: Any) -> torch.Tensor:
    """The gradient with that of the L2 penalty."""
    if isinstance(weight_decay, torch.Tensor):
        return grad + param * weight_decay
    return grad if weight_decay == 0 else grad.add(param, alpha=weight_decay)


def as_real(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The tensors, or their real views if the first is complex: updates treat the two parts as
    numbers of their own."""
    return (
        tuple(torch.view_as_real(t) for t in tensors) if torch.is_complex(tensors[0]) else tensors
    )


def no_amp(grad_scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> None:
    """Update rules take gradients that are unscaled already."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


#: Options that say how PyTorch is to compute a step, of which there is one way here.
_WAYS = frozenset(("foreach", "fused", "capturable", "differentiable"))
#: Options of which PyTorch only asks whether they are true.
_FLAGS = frozenset(("centered", "decoupled_weight_decay", "maximize"))


def update_lists(
    optimizer: Optimizer,
    closure: Callable[[], object] | None,
    rule: Callable[..., None],
    whole: Callable[..., tuple[torch.Tensor, ...]],
    buffers: str,
    writes: tuple[int, ...],
    needs: dict[str, str] | None = None,
    **pairs: tuple[str, str],
) -> Any:
    """A step of an optimiser whose rule works on lists.

    ``whole`` computes it for plain parameters at once, as one operation; ``rule`` does so for
    others, by public operations in place.

    Args:
        buffers: the names of what the state has for each parameter, as ``rule`` and ``whole`` take
            them behind parameters and gradients; those of numbers, of which ``whole`` gets one for
            all parameters, come last.
        writes: how often PyTorch writes into the parameters, and into each of the buffers.
        needs: the options without which there is no such buffer.
        pairs: which parameters of ``rule`` and ``whole`` the parts of an option are given as that
            is a pair.
    """
    loss = _run_closure(closure)
    names = tuple(buffers.split())
    code = rule.__code__
    named = code.co_varnames[2 + len(names) : code.co_argcount + code.co_kwonlyargcount]
    for group in optimizer.param_groups:
        there = tuple(
            [name for name in names if not needs or name not in needs or group[needs[name]]]
        )
        plan, grads = plan_for(optimizer, group, there, _named)
        options = {name: group[name] for name in named if name in group and name not in _WAYS}
        options.update({name: bool(options[name]) for name in _FLAGS & options.keys()})
        for name, parts in pairs.items():
            options.update(zip(parts, group[name], strict=True))
        at_once = plan.plain and not group["differentiable"] and all(map(plain_gradients, grads))
        for bucket, bucket_grads in zip(plan.buckets, grads):
            if not at_once:
                rule(
                    bucket.params,
                    bucket_grads,
                    *[pick(bucket.states, name) for name in names],
                    **options,
                )
                continue
            if "lr" in options:
                options["lr"] = _to_scalar(options["lr"])
            held = [bucket.buffers.get(name, []) for name in names]
            given = [h[0] if n in COMMON else h for n, h in zip(names, held)]
            decays = bool(options.get("decoupled_weight_decay")) and group["weight_decay"] != 0
            counts = (writes[0] + decays, *writes[1:])
            of_lists = counts[: len(counts) - len(COMMON.intersection(names))]
            new = whole(bucket.params, bucket_grads, *given, **options, writes=of_lists)
            _write(bucket.params, held, names, new, counts)
    return loss


def _named(_state: dict[str, torch.Tensor], names: tuple[str, ...]) -> tuple[str, ...]:
    return names


def _write(
    params: list[torch.Tensor],
    held: list[list[torch.Tensor]],
    names: Iterable[str],
    new: tuple[torch.Tensor, ...],
    writes: tuple[int, ...],
) -> None:
    """Writes what was computed for a bucket; results for numbers go into those of all its
    parameters."""
    begin = len(params)
    tensors, news, counts = list(params), list(new[:begin]), [writes[0]] * begin
    for name, own, count in zip(names, held, writes[1:]):
        taken = 1 if name in COMMON else len(own)
        tensors += own
        news += new[begin : begin + taken] * (len(own) // taken if taken else 0)
        counts += [count] * len(own)
        begin += taken
    torch._C._swap_(tensors, news, counts)


def in_one_way(functional: Callable[..., None]) -> Callable[..., None]:
    """What PyTorch calls ``_single_tensor_adam``, ``_multi_tensor_adam`` and the like: lists come
    by position, options by name.

    ``functional`` is all of them here.
    """

    def run(*lists: object, **options: object) -> None:
        parameters = inspect.signature(functional).parameters
        names = [
            n
            for n, p in parameters.items()
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
        ]
        names += [n for n in ("grad_scale", "found_inf") if n in parameters]
        functional(**dict(zip(names, lists, strict=True)), **options)

    return run
