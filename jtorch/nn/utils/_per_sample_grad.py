"""A module's gradients sample by sample: `call_for_per_sample_grads`, which leaves each in its
parameter's `grad_sample`.

Every parameter goes into the forward as an `_ExpandedWeight`, which knows the parameter it stands
for and the size of the batch. A function that treats the samples of its first argument apart
(`_PER_SAMPLE`) runs on the plain parameters, and its backward takes the function's own derivative
under `vmap`, one sample at a time. Any other function that meets such a weight raises: nobody knows
there which dimension is the batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch
from jtorch import Tensor
from jtorch.autograd import Function
from jtorch.nn import Module
from jtorch.nn import functional as F
from jtorch.utils import _pytree as pytree

if TYPE_CHECKING:
    from ..._src.facts.kinds import Operand
    from ...autograd.function_node import FunctionCtx


_CONVOLUTIONS = {F.conv1d, F.conv2d, F.conv3d}
_PER_SAMPLE = {F.linear, F.embedding, F.layer_norm, F.group_norm, F.instance_norm, *_CONVOLUTIONS}
_ORDER = {
    F.embedding: ("input", "weight", "padding_idx"),
    F.instance_norm: ("input", "running_mean", "running_var", "weight", "bias", "use_input_stats"),
}
_RECURRENT = ("rnn_tanh", "rnn_relu", "lstm", "gru")


class _ExpandedWeight(Tensor):
    """A parameter on its way through a forward whose backward fills the parameter's
    `grad_sample`."""

    origin: Tensor
    batch_size: int
    mean: bool

    @classmethod
    def over(cls, origin: Tensor, batch_size: int, mean: bool) -> _ExpandedWeight:
        made = Tensor._make_subclass(cls, origin.detach(), True)
        made.origin, made.batch_size, made.mean = origin, batch_size, mean
        return made

    @classmethod
    def __torch_function__(
        cls,
        func: Any,
        types: tuple[type, ...],
        args: tuple[object, ...] = (),
        kwargs: dict[str, Tensor | bool | float] | None = None,
    ) -> Tensor | jtorch.dtype:
        name = getattr(func, "__name__", str(func))
        if name == "__get__":
            return super().__torch_function__(func, types, args, kwargs or {})
        if name in _RECURRENT:
            raise NotImplementedError(
                f"call_for_per_sample_grads: {name} is not offered; only functions that keep "
                "samples apart are"
            )
        if func not in _PER_SAMPLE:
            raise RuntimeError(f"Expanded Weights encountered but cannot handle function {name}")
        kwargs = kwargs or {}
        leaves = (*args, *kwargs.values())
        _check(name, func, leaves)
        return _PerSample.apply(func, tuple(kwargs), *leaves)


def _check(name: str, func: Callable[..., object], leaves: tuple[object, ...]) -> None:
    input = leaves[0]
    if isinstance(input, _ExpandedWeight):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. "
            f"Input must be a Tensor, got ExpandedWeight in function {name}"
        )
    if not isinstance(input, Tensor):
        raise RuntimeError(
            "Expanded Weights requires a Tensor as the first input to get the batch dimension, "
            f"got {type(input).__name__} in function {name}"
        )
    if input.dim() == 0:
        raise RuntimeError(
            "Expanded Weights requires a batch dimension but got an input of size 0 in function "
            f"{name}"
        )
    if input.shape[0] == 0:
        raise RuntimeError(
            f"0 is not a valid batch size for Expanded Weights but got input tensor of {input} in "
            f"function {name}"
        )
    for leaf in leaves[1:]:
        if isinstance(leaf, _ExpandedWeight):
            if leaf.batch_size != input.shape[0]:
                raise RuntimeError(
                    "Expected ExpandedWeights to have batch size matching input but got input "
                    f"batch size of {input.shape[0]} with ExpandedWeight of batch size "
                    f"{leaf.batch_size}"
                )
            if func in _CONVOLUTIONS and leaf.origin.dim() > 1 and input.dim() != leaf.origin.dim():
                raise RuntimeError(
                    f"Expanded Weights expected a batch of inputs in function {name}, got an input "
                    f"of rank {input.dim()}"
                )
        elif isinstance(leaf, Tensor) and leaf.requires_grad:
            raise RuntimeError(
                "ExpandedWeights currently does not support a mixture of ExpandedWeight parameters "
                "and normal Parameters. Please file and issue with pytorch/pytorch"
            )
    if func is F.linear and input.dim() < 2:
        raise RuntimeError(
            "Input does not have a batch dimension. Expanded Weights expected input of at least "
            f"rank 2, got of rank {input.dim()}"
        )


class _PerSample(Function):
    """One call of a function on expanded weights: the function's value; backward, the gradients of
    each sample."""

    @staticmethod
    def forward(ctx: Any, func: Any, names: tuple[str, ...], *leaves: Any) -> Any:
        ctx.expanded = {
            i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, _ExpandedWeight)
        }
        ctx.func, ctx.names = func, names
        plain = [
            leaf.origin.detach() if isinstance(leaf, _ExpandedWeight) else leaf for leaf in leaves
        ]
        ctx.save_for_backward(*(leaf if isinstance(leaf, Tensor) else None for leaf in plain))
        ctx.others = [None if isinstance(leaf, Tensor) else leaf for leaf in plain]
        return _called(func, names, plain)

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: object) -> tuple[object, ...]:
        (grad,) = grad_outputs
        func, names = ctx.func, ctx.names
        leaves = [o if s is None else s for s, o in zip(ctx.saved_tensors, ctx.others, strict=True)]
        leaves = _of_samples(func, names, leaves)
        input, places = leaves[0], list(ctx.expanded)

        def run(input: Tensor, *weights: Tensor) -> Any:
            filled = list(leaves)
            filled[0] = input
            for place, weight in zip(places, weights, strict=True):
                filled[place] = weight
            return _called(func, names, filled)

        weights = [leaves[place] for place in places]

        def of_one(input: Tensor, grad: Tensor) -> object:
            _, pull = jtorch.func.vjp(lambda *w: run(input.unsqueeze(0), *w), *weights)
            return pull(grad.unsqueeze(0))

        for expanded, each in zip(
            ctx.expanded.values(), jtorch.func.vmap(of_one)(input, grad), strict=True
        ):
            origin: Any = expanded.origin
            each = each * expanded.batch_size if expanded.mean else each
            before = getattr(origin, "grad_sample", None)
            origin.grad_sample = each if before is None else before + each
        of_input = None
        if ctx.needs_input_grad[2]:
            _, pull = jtorch.func.vjp(lambda x: run(x, *weights), input)
            (of_input,) = pull(grad)
        return (None, None, of_input, *(None for _ in leaves[1:]))


def _called(func: Callable[..., object], names: tuple[str, ...], leaves: list[Tensor]) -> object:
    cut = len(leaves) - len(names)
    return func(*leaves[:cut], **dict(zip(names, leaves[cut:], strict=True)))


def _of_samples(func: Any, names: tuple[str, ...], leaves: list[object]) -> list[Operand]:
    """The arguments of the second run, which the derivative is taken of.

    Running statistics are not to move again; rows at `padding_idx` have gradients here as any
    other, which is PyTorch's.
    """
    at = {name: i for i, name in enumerate(_ORDER.get(func, ())[: len(leaves) - len(names)])}
    at |= {name: len(leaves) - len(names) + i for i, name in enumerate(names)}
    drop = {at.get("padding_idx")} if func is F.embedding else set()
    if func is F.instance_norm and ("use_input_stats" not in at or leaves[at["use_input_stats"]]):
        drop = {at.get("running_mean"), at.get("running_var")}
    return [None if i in drop else leaf for i, leaf in enumerate(leaves)]


def _batch_size(args: tuple[Tensor, ...], kwargs: object, batch_first: bool) -> int:
    found: int | None = None
    for leaf in pytree.tree_leaves((args, kwargs)):
        if not isinstance(leaf, Tensor):
            continue
        size = leaf.shape[0] if batch_first else leaf.shape[1]
        if found is not None and found != size:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {found} and "
                f"one with batch size {size}. Please specify it explicitly using the batch size "
                "kwarg in call_for_per_sample_grads"
            )
        found = size
    if found is None:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify "
            "it explicitly"
        )
    return found


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Tensor]:
    """The module's forward, after whose `backward` each trainable parameter holds its samples'
    gradients in `grad_sample`.

    The parameters' `grad` stays as it was. With `loss_reduction="mean"` the gradients are
    multiplied by the size of the batch, which undoes a mean over it. Rows at an embedding's
    `padding_idx` have gradients, as in PyTorch.

    Args:
        module: what is called; its trainable parameters must have no `grad_sample` yet.
        batch_size: the number of samples; by default the first dimension of the tensors that are
            given.
        loss_reduction: `"sum"` or `"mean"`, as the loss reduces the samples.
        batch_first: whether that dimension is the first of the tensors, or the second.

    Raises:
        RuntimeError: for functions that do not keep samples apart, or a batch size that cannot be
            found or does not fit.
        NotImplementedError: for recurrent layers, whose steps share their weights; PyTorch takes
            them.
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}"
        )
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}"
        )
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for "
                "multiple calls without clearing gradients. Please clear out the grad_sample "
                f"parameter of {weight} or post an issue to pytorch/pytorch to prioritize correct "
                "behavior"
            )

    @functools.wraps(module.forward)
    def forward(*args: Tensor, **kwargs: object) -> Tensor:
        size = _batch_size(args, kwargs, batch_first) if batch_size is None else batch_size
        params = {
            name: _ExpandedWeight.over(p, size, loss_reduction == "mean") if p.requires_grad else p
            for name, p in module.named_parameters()
        }
        return jtorch.func.functional_call(module, params, args, kwargs)

    return forward
