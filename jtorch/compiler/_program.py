"""Recorded steps as one call of the engine, and its derivative as another. Knows neither tensors
nor Python state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from .._src.engine import Aval, Call, Guarded
from .._src.engine.apart import kernels
from .._src.engine.checks import chains
from .._src.engine.programs import identity, identity_of_steps
from .._src.engine.trie import State
from .._src.ops._declare import Op
from .._src.ops._kernel import Info

if TYPE_CHECKING:
    from .._src.facts.kinds import Row, Tree


_OP = Op(
    name="compiled_function",
    body=lambda *arrays: arrays,
    params=(),
    namespace="_C",
    family="derived",
)


def run_steps(
    steps: Sequence[State],
    leaves: Sequence[object],
    numbers: Sequence[object],
    flags: list[object] | None,
) -> list[object]:
    """All results of recorded steps on arrays, while they are traced."""
    results = []
    at = 0
    for s, kernel in zip(steps, kernels(steps), strict=True):
        call: Any = s.call
        k = len(call.kinds)
        out = kernel(
            *[leaves[-i - 1] if i < 0 else results[i] for i in s.ids], *numbers[at : at + k]
        )
        at += k
        if isinstance(out, Guarded):
            if flags is not None:
                flags.append(out.flags)
            out = out.outs
        if isinstance(out, (tuple, list)):
            results.extend(out)
        else:
            results.append(out)
    return results


class Backward:
    """What the derivative of a program is made of.

    Attributes:
        steps: recorded on the forward program's residuals and operands, and on gradients of its
            results.
        sources: for each input of them, ``("operand", i)``, ``("residual", i)`` or
            ``("gradient", i)``.
        gradients: for each operand of the forward program, the number of the result that is its
            gradient, or None.
        numbers: Python numbers of the steps, after those of the forward program.
    """

    __slots__ = ("gradients", "identity", "kinds", "numbers", "sources", "steps")

    def __init__(
        self,
        steps: Sequence[State],
        sources: list[tuple[str, int]],
        gradients: list[int | None],
        numbers: list[object],
    ) -> None:
        self.steps, self.sources, self.gradients, self.numbers = steps, sources, gradients, numbers
        self.kinds = tuple([k for s in steps for k in s.call.kinds])
        self.identity = identity_of_steps(steps, sources, gradients)


def forward_call(
    name: str,
    steps: Sequence[State],
    n_leaves: int,
    outs: Sequence[int],
    hidden: int,
    backward: Backward | None,
) -> Call:
    """The call ``(*inputs, *numbers) -> results``; the last ``hidden`` of them are residuals for
    the derivative."""
    outs = tuple(outs)
    kinds = tuple([k for s in steps for k in s.call.kinds])
    n_numbers = len(kinds)
    own = identity_of_steps(
        steps, n_leaves, outs, hidden, kinds if backward is None else backward.identity
    )
    checks = tuple([(kind, message, None) for s in steps for kind, message, _ in s.checks])

    def fn(*flat: object) -> Tree:
        flags = []
        leaves = flat[:n_leaves]
        results = run_steps(steps, leaves, flat[n_leaves : n_leaves + n_numbers], flags)
        found = tuple([results[i] if i >= 0 else leaves[-i - 1] for i in outs])
        return Guarded(found, jnp.concatenate(flags), checks) if flags else found

    fn.__name__ = fn.__qualname__ = name
    info = Info(_OP, ())
    info.kernel, info.single, info.hidden = fn, False, hidden
    info.name = _OP.name
    needed = (
        {i for kind, i in backward.sources if kind == "operand"} if backward is not None else set()
    )
    info.saved = info.checked = tuple([i in needed for i in range(n_leaves)])
    if backward is None:
        info.differentiable = False
    else:
        kinds += backward.kinds
        info.vjps = _Derivatives(info, backward, n_leaves, n_numbers, kinds, own)
    call = Call(name, fn, kinds, info, own)
    call.whole = call.demanded = True
    call.chains = chains(steps)
    return call


class _Derivatives(dict[Any, Call]):
    """Derivative calls, made from the recorded backward steps when they are first asked for."""

    def __init__(
        self,
        info: Info,
        backward: Backward,
        n_leaves: int,
        n_numbers: int,
        kinds: tuple[str, ...],
        forward: str | None,
    ) -> None:
        self.info, self.backward, self.n_leaves, self.n_numbers, self.kinds = (
            info,
            backward,
            n_leaves,
            n_numbers,
            kinds,
        )
        self.forward = forward  # what the forward call is in every process

    def get(self, key: Row, default: object = None) -> Any:
        """The derivative for ``(operand avals, needed operands, given gradients, recompute, kept
        operands)``."""
        found = super().get(key)
        if found is None:
            found = self[key] = self._make(*key)
        return found

    def _make(
        self,
        avals: tuple[Aval, ...],
        needs: tuple[bool, ...],
        given: tuple[bool, ...],
        recompute: bool,
        kept: tuple[bool, ...],
    ) -> Call:
        info, backward, n_numbers = self.info, self.backward, self.n_numbers
        hidden, n_saved, n_given = info.hidden, sum(kept), sum(given)
        visible = []

        def fn(*flat: object) -> Row:
            saved = iter(flat[:n_saved])
            operands = [
                next(saved) if keep else jnp.zeros(a.shape, a.dtype)
                for keep, a in zip(kept, avals, strict=True)
            ]
            at = n_saved + (0 if recompute else hidden)
            residuals = flat[n_saved:at]
            numbers = flat[at + n_given :]
            results = None
            if recompute or not all(given):
                results = info.kernel(*operands, *numbers)
                results = results.outs if isinstance(results, Guarded) else results
                if recompute:
                    residuals = results[len(results) - hidden :]
            cotangents = iter(flat[at : at + n_given])
            gradients = [
                next(cotangents) if have else jnp.zeros_like(results[i])  # type: ignore[index]
                for i, have in enumerate(given)
            ]
            pools = {"operand": operands, "residual": residuals, "gradient": gradients}
            found = run_steps(
                backward.steps,
                [pools[kind][i] for kind, i in backward.sources],
                numbers[n_numbers:],
                None,
            )
            return tuple([
                (jnp.zeros(avals[i].shape, avals[i].dtype) if (g := backward.gradients[i]) is None
                 else found[g] if g >= 0
                 else pools[backward.sources[-g - 1][0]][backward.sources[-g - 1][1]])
                for i, need in enumerate(needs) if need
            ])  # fmt: skip

        del visible
        fn.__name__ = fn.__qualname__ = "compiled_function_backward"
        derived = Info(
            Op(
                name="compiled_function_backward",
                body=_OP.body,
                params=(),
                namespace="_C",
                family="derived",
            ),
            (),
        )
        derived.saved = derived.checked = (True,) * (
            n_saved + (0 if recompute else hidden) + n_given
        )
        derived.single = False
        derived.kernel = fn
        name = self.forward and identity("vjp", self.forward, avals, needs, given, recompute, kept)
        return Call(fn.__name__, fn, self.kinds, derived, name)
