"""The autograd functions that record calls of operators, and their rules for batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Operands, Row, Tree
    from ..autograd.function_node import FunctionCtx
    from .registry import UserOp, UserOverload


def no_formula(overload: UserOverload) -> str:
    """The words for an operator whose derivative nobody registered."""
    return (
        f"Trying to backward through {overload} but no autograd formula was registered. Please use "
        "register_autograd to add one."
    )


class Unknown(torch.autograd.Function):
    """A result of a kernel whose gradient nobody knows."""

    @staticmethod
    def forward(ctx: Any, words: str, result: Tensor, *operands: Tensor) -> Tensor:
        """The result itself; the operands get the history."""
        ctx.words = words
        return result.view_as(result)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: object) -> Any:
        """Raises RuntimeError: nobody knows."""
        raise RuntimeError(ctx.words)


def memory_of(t: Tensor) -> Tensor | int:
    """What two tensors that share memory have in common."""
    return t._al.storage.address if t._al is not None else t


class Noted:
    """A context for a derivative that is made of operators."""

    needs_input_grad: tuple[bool, ...] = ()
    saved_tensors: tuple[Any, ...] = ()
    materialize = True

    def save_for_backward(self, *tensors: object) -> None:
        """Keeps tensors."""
        self.saved_tensors = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are missing come as zeros, or as None."""
        self.materialize = value

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Without effect here."""


def function_of(op: UserOp) -> type:
    """The ``autograd.Function`` that records a call of the operator."""
    overload = op.overload

    def forward(counts: list[int | None], *flat: object) -> Any:
        out = op.compute(op.regroup(counts, flat))
        if op.returns_lists:  # Function sees tensors among its results only
            return _spread(out)
        return tuple(out) if isinstance(out, list) else out

    def setup_context(ctx: Any, inputs: Arguments, output: Tree) -> None:
        counts, flat = inputs[0], inputs[1:]
        ctx._counts = counts
        all_needs = ctx.needs_input_grad[1:]
        ctx.needs_input_grad = _grouped(op, counts, all_needs)
        if op.returns_lists:
            ctx._lengths = output[0]
            output = tuple(nested_as(output[0], output[1:]))
        values = op.regroup(counts, flat)
        ctx._needed = _given(overload, values)
        op.set_up(
            ctx, values, list(output) if op.returns_list and isinstance(output, tuple) else output
        )

    def backward(ctx: FunctionCtx, *grads: object) -> tuple[Tensor | None, ...]:
        if op.returns_lists:
            grads = tuple(nested_as(ctx._lengths, grads[1:]))
        got = op.gradients(ctx, (list(grads),) if op.returns_list else grads)
        arguments = overload._schema.arguments
        if len(got) < ctx._needed:
            raise RuntimeError(
                f"{overload}: the registered backward returned an incorrect number of gradients "
                f"(expected {len(arguments)}, got {len(got)})"
            )
        for place, g in enumerate(got[len(arguments) :], len(arguments) + 1):
            if g is not None:
                raise RuntimeError(
                    f"function {name}Backward returned a gradient different than None at position "
                    f"{place}, but the corresponding forward input was not a Variable"
                )
        got = (*got[: len(arguments)], *[None] * (len(arguments) - len(got)))
        flat: list[Any] = [None]
        for count, a, g in zip(ctx._counts, arguments, got, strict=True):
            if count is not None and a.type.startswith("Tensor"):
                flat.extend([None] * count if g is None else g)
            else:
                flat.append(g)
        return tuple(flat)

    def vmap(
        info: object, in_dims: tuple[object, ...], counts: Sequence[int | None], *flat: object
    ) -> object:
        out, dims = over_examples(op, info, in_dims[1:], counts, flat)
        if not op.returns_lists:
            return out, dims
        spread = _spread(out)
        if isinstance(dims, (list, tuple)):
            return spread, (None, *_spread(dims)[1:])
        return spread, (None, *[dims] * (len(spread) - 1))

    plain: dict[str, Any] = {
        "forward": forward,
        "setup_context": setup_context,
        "backward": backward,
        "vmap": vmap,
    }
    name = f"GeneratedBackwardFor_{overload._namespace}_{overload._opname}_{overload._overloadname}"
    methods = {n: staticmethod(f) for n, f in plain.items()}
    kind: Any = type(torch.autograd.Function)
    return kind(name, (torch.autograd.Function,), methods)


def _given(overload: UserOverload, values: Sequence[object]) -> int:
    """How many arguments PyTorch hands to the kernel by position: the last ones that have their
    default values are left out."""
    many = overload._schema.count
    while many:
        last, value = overload._schema.arguments[many - 1], values[many - 1]
        if (
            not last.has_default_value()
            or isinstance(value, torch.Tensor)
            or value != last.default_value
        ):
            break
        many -= 1
    return many


def _spread(results: Sequence[object]) -> Row:
    """How long the lists among several results are (None for what is no list), and all of them one
    by one."""
    lengths = tuple([len(x) if isinstance(x, (list, tuple)) else None for x in results])
    flat = [t for x in results for t in (x if isinstance(x, (list, tuple)) else (x,))]
    return (lengths, *flat)


def nested_as(lengths: Sequence[int | None], flat: Sequence[object]) -> list[object]:
    """The inverse of ``_spread``."""
    rest = iter(flat)
    return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in lengths]


def _grouped(
    op: UserOp, counts: Sequence[int | None], flat: Sequence[object]
) -> tuple[object, ...]:
    return tuple(op.regroup(counts, flat))


def over_examples(
    op: UserOp, info: Any, in_dims: Sequence[Any], counts: Sequence[int | None], flat: Operands
) -> Row:
    """The operator for a batch: by its own rule, by its JAX kernel, or example by example."""
    values = op.regroup(counts, flat)
    if op.vmap is not None:
        dims = tuple(op.regroup(counts, in_dims))[: op.overload._schema.count]
        args, kwargs = op.given(values)
        return op.vmap(info, dims, *args, **kwargs)
    if op.jax is not None and op.kernel_for(values) is None:
        mapped = torch.func.vmap(
            lambda *examples: _tupled(op.jax(op.regroup(counts, examples))),  # type: ignore[misc]
            in_dims=tuple(in_dims),
        )
        return mapped(*flat), 0
    if op.returns_lists:
        name = f"{op.overload._namespace}::{op.overload._opname}"
        raise RuntimeError(
            f"Batching rule not implemented for {name}. We could not generate a fallback."
        )
    rows = []
    for i in range(info.batch_size):
        example = [x if d is None else x.select(d, i) for x, d in zip(flat, in_dims, strict=True)]
        args, kwargs = op.given(op.regroup(counts, example))
        rows.append(op.overload(*args, **kwargs))
    if isinstance(rows[0], (tuple, list)):
        return tuple([torch.stack(column) for column in zip(*rows, strict=True)]), 0
    return torch.stack(rows), 0


def _tupled(out: object) -> object:
    return tuple(out) if isinstance(out, list) else out
