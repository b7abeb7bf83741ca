"""Operators that PyTorch has none for: inner steps of this package's functions, and derivatives
without a formula of their own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...autograd import engine as autograd_engine
from ...autograd.grad_mode import MODE
from ...core import Tensor, detached, from_value
from ..engine import record
from ..engine.calls import shapes_of
from ..engine.values import default_device
from ..ops._forward import by_itself
from ..tensor.running import apply
from .calling import invoke
from .kernels import kernel_of
from .overloads import OpOverload, jtorch
from .rules import Rule
from .schema import _split

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..engine.calls import Call
    from ..facts.kinds import Values
    from .recording import OperatorNode


_steps: dict[Any, OpOverload] = {}
_numbers = itertools.count()


def one_result(call: Call) -> bool:
    """Whether a call of the engine that has been traced gives one value, and no list of them."""
    info = call.extra
    return getattr(info, "single", True) and not getattr(info, "hidden", 0)


def step_of(call: Call, operands: Sequence[Tensor]) -> OpOverload:
    """The operator that runs one call of the engine, whose static arguments are part of it:
    ``jtorch.<name>.<number>``."""
    found = _steps.get(call)
    if found is None:
        # tells how many results there are
        shapes_of(call, tuple([t._aval for t in operands]), default_device())
        tensors = len(operands)
        single = one_result(call)
        parameters = [f"Tensor t{i}" for i in range(tensors)] + [
            f"Scalar n{i}" for i in range(len(call.kinds))
        ]
        its = call if getattr(call.fn, "of_examples", None) is None else by_itself(call, tensors)
        text = (
            f"{call.name.strip('_')}.v{next(_numbers)}({', '.join(parameters)}) -> "
            f"{'Tensor' if single else 'Tensor[]'}"
        )
        found = _steps[call] = jtorch.define(text)

        def run(values: list[Tensor]) -> list[Tensor] | Tensor:
            operands = values[:tensors]
            ins = [t._v or t._read() for t in operands]
            if getattr(its.extra, "hidden", 0):  # what it keeps for its derivative are results here
                return [from_value(v) for v in record(call, ins, tuple(values[tensors:]))]
            out = apply(its, operands, ins, tuple(values[tensors:]))
            return list(out) if isinstance(out, tuple) else out

        found.kernel = run
    return found


_derivatives: dict[OpOverload, OpOverload] = {}


def backward_of(func: OpOverload) -> OpOverload:
    """The operator that computes the gradients of another one's operands:
    ``jtorch.<name>_backward``.

    Its arguments are the results' gradients (None for none), those of the operator, and which
    operands want a gradient.
    """
    found = _derivatives.get(func)
    if found is None:
        schema = func._schema
        inside = schema.text.partition("(")[2].rpartition(" -> ")[0][:-1]
        parameters = [p.replace(" grad_outputs", " grad_grad_outputs") for p in _split(inside)]
        taken = sum("output_mask" in p for p in parameters)
        mask = [f"bool[] output_mask{taken or ''}"]
        if "*" not in parameters:
            mask.insert(0, "*")
        overload = "" if func._overloadname == "default" else f".{func._overloadname}"
        text = (
            f"{func._opname}_backward{overload}("
            f"{', '.join(['Tensor?[] grad_outputs', *parameters, *mask])}) -> Tensor?[]"
        )
        found = _derivatives[func] = jtorch.define(text)
        found.kernel = _vjp(func)
    return found


def _vjp(func: OpOverload) -> Callable[..., object]:
    places = func._schema.tensors

    def run(values: Values) -> Values:
        grads, rest, mask = values[0], list(values[1:-1]), values[-1]
        create = MODE.enabled
        wanted: list[Tensor] = []
        at = 0

        def leaf(t: Tensor) -> Any:
            nonlocal at
            if not isinstance(t, Tensor):
                return t
            at += 1
            if not mask[at - 1]:
                return t
            if not (create and t._rg):
                t = detached(t, stops=False)  # forward derivatives go through
                t._rg = True
            wanted.append(t)
            return t

        for i in places:
            rest[i] = (
                [leaf(t) for t in rest[i]] if isinstance(rest[i], (list, tuple)) else leaf(rest[i])
            )
        enabled, MODE.enabled = MODE.enabled, True
        try:
            out = kernel_of(func)(rest)
        finally:
            MODE.enabled = enabled
        # those that a node counts
        outs = [o for o in (out if isinstance(out, (tuple, list)) else [out]) if o is not None]
        pairs = [(o, g) for o, g in zip(outs, grads, strict=True) if g is not None and o._rg]
        if not pairs:
            found = iter([None] * len(wanted))
        else:
            found = iter(
                autograd_engine.grad(
                    [o for o, _ in pairs],
                    wanted,
                    [g for _, g in pairs],
                    create_graph=create,
                    allow_unused=True,
                )
            )
        return [next(found) if want else None for want in mask]

    return run


def generic_rule(func: OpOverload) -> Rule | None:
    """A derivative by ``backward_of``, for operators without a formula."""
    schema = func._schema
    if schema.writes or not any(r.type.startswith("Tensor") for r in schema.returns):
        return None
    names = tuple([schema.arguments[i].name for i in schema.tensors])
    uses = ("grads", "node", *[a.name for a in schema.arguments])

    def gradients(
        grads: list[Tensor], node: OperatorNode, *values: Tensor
    ) -> list[Tensor] | Tensor:
        backward = backward_of(func)
        flat = invoke(backward, [grads, *values, [e is not None for e in node.edges]])
        out: dict[str, Any] = dict.fromkeys(names)
        for (name, k, _), g in zip(node.slots, flat, strict=True):
            if k is None:
                out[name] = g
            else:
                out[name] = out[name] or {}
                out[name][k] = g
        return [out[n] for n in names] if len(names) != 1 else out[next(iter(names))]

    return Rule([(names, gradients, uses)], None)
