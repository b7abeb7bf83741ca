"""``autograd.Function`` on values that JAX traces: its ``backward`` is stated to JAX as the
derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from .._src.engine import Lifted, read
from .._src.engine.keys import drawing_from, go_on_from, key_now
from .._src.engine.values import concrete
from ..core import Tensor, from_value
from ..dispatch import LAYOUTS
from .function_node import FunctionCtx, _backward_of, _fitted, _zeros
from .grad_mode import MODE

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


#: Stands for a traced value in what a context holds.
_TRACED = object()


def takes(tensors: Sequence[Tensor | None]) -> bool:
    """Whether JAX traces one of the operands, all of which are plain."""
    values = [t._read() for t in tensors if t is not None and type(t) not in LAYOUTS]
    return any(isinstance(v.array, jax.core.Tracer) for v in values) and not any(
        isinstance(v, Lifted) for v in values
    )


def apply(function: Any, run: Function, args: tuple[object, ...], tensors: Sequence[Any]) -> Any:
    """The results of ``run``, which runs ``forward``, with ``backward`` as their derivative in
    JAX's reverse mode.

    Raises:
        TypeError: JAX's, in forward mode.
        NotImplementedError: if the function writes to its arguments.
    """
    places = [i for i, t in enumerate(tensors) if t is not None]
    avals = [None if t is None else t._aval for t in tensors]
    shown = tuple([a is not None and a.differentiable for a in avals])
    made: dict[str, Any] = {}

    def forward(key: Any, *arrays: Any) -> tuple[tuple[list[Any], Any], FunctionCtx]:
        values = list(args)
        for i, a in zip(places, arrays, strict=True):
            values[i] = from_value(concrete(jnp.asarray(a)))
        # What draws inside splits the key: what comes after begins with what is left of it.
        with drawing_from(key):
            output, ctx, (dirty, _) = run(
                function,
                tuple(values),
                [v if isinstance(v, Tensor) else None for v in values],
                shown,
            )
            key = key_now()
        if dirty:
            raise NotImplementedError(
                f"{function.__name__}: a Function that writes to its arguments, inside a JAX "
                "transformation"
            )
        made["several"] = isinstance(output, tuple)
        outputs = made["outputs"] = list(output) if made["several"] else [output]
        return ([o.jax() for o in outputs if isinstance(o, Tensor)], key), ctx

    @jax.custom_vjp
    def call(key: object, *arrays: object) -> tuple[list[Any], Any]:
        return forward(key, *arrays)[0]

    def keeping(key: object, *arrays: object) -> tuple[tuple[list[object], Any], list[object]]:
        (outs, key), ctx = forward(key, *arrays)
        made["kind"], made["avals"] = (
            type(ctx),
            [o._aval if isinstance(o, Tensor) else None for o in made["outputs"]],
        )
        given = {
            k: v
            for k, v in vars(ctx).items()
            if k not in ("_node", "_dirty", "_non_differentiable", "_forward_saved")
        }
        leaves, made["tree"] = jax.tree.flatten(given)
        made["leaves"] = [_TRACED if isinstance(x, jax.core.Tracer) else x for x in leaves]
        kept = [x for x in leaves if isinstance(x, jax.core.Tracer)]
        made["results"] = [next((j for j, o in enumerate(outs) if o is x), None) for x in kept]
        outs, kept = linking(list(arrays), kept, outs)
        return (outs, key), kept

    @jax.custom_vjp
    def linked(arrays: list[object], kept: list[object], outs: list[object]) -> list[object]:
        """The results as functions of the operands by ``backward``, for derivatives of
        derivatives."""
        return outs

    def linking(
        arrays: list[object], kept: Sequence[object], outs: list[object]
    ) -> tuple[list[object], list[object]]:
        outs = linked(arrays, kept, outs)
        return outs, [
            x if j is None else outs[j] for x, j in zip(kept, made["results"], strict=True)
        ]

    def backward(kept: list[object], gradients: list[object]) -> tuple[Any, ...]:
        ctx = made["kind"]()
        there, given = iter(kept), iter(gradients)
        leaves = [next(there) if x is _TRACED else x for x in made["leaves"]]
        vars(ctx).update(jax.tree.unflatten(made["tree"], leaves))
        grads = [None if a is None else _gradient(next(given), a) for a in made["avals"]]
        enabled, MODE.enabled = MODE.enabled, False
        try:
            found = _backward_of(function)(ctx, *grads)
        finally:
            MODE.enabled = enabled
        found = found if isinstance(found, tuple) else (found,)
        name = f"{function.__name__}Backward"
        if len(found) < len(args) or any(g is not None for g in found[len(args) :]):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {len(args)}, "
                f"got {len(found)})"
            )
        return tuple(
            [
                _cotangent(_fitted(name, i, found[i], avals[i]))
                if shown[i] and found[i] is not None
                else None
                for i in places
            ]
        )

    call.defvjp(keeping, lambda kept, given: (None, *backward(kept, given[0])))
    linked.defvjp(linking, lambda kept, gradients: (list(backward(kept, gradients)), None, None))
    found, key = call(key_now(), *[read(tensors[i]._read()) for i in places])
    go_on_from(key)
    arrays = iter(found)
    outputs = [
        from_value(concrete(jnp.asarray(next(arrays)))) if isinstance(o, Tensor) else o
        for o in made["outputs"]
    ]
    return tuple(outputs) if made["several"] else outputs[0]


def _gradient(cotangent: Any, aval: object) -> Tensor:
    """A cotangent of JAX's, which for complex numbers is the conjugate of the gradient."""
    return (
        _zeros(aval)
        if cotangent.dtype == jax.dtypes.float0
        else from_value(concrete(jnp.conj(cotangent)))
    )


def _cotangent(gradient: Tensor) -> object:
    return jnp.conj(gradient.jax())
