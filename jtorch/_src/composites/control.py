"""Branches and loops that depend on tensors: Python's in eager programs, XLA's inside a JAX
transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ...core import Tensor, wrap
from ..bind.cores import composite
from ..engine import SPECIAL
from ..engine.keys import drawing_from, go_on_from, key_now
from ..facts.size import SymBool

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Tree, Values


#: Filled by ``_higher_order_ops``: what a call becomes while a program is traced into a graph, or
#: on tensors without data.
captured: Function | None = None


def _capture(name: str, *args: object) -> Tree:
    return NotImplemented if captured is None else captured(name, *args)


def _is_traced(t: object) -> bool:
    if not isinstance(t, Tensor):
        return False
    v = t._read()
    return v.trace is SPECIAL and v.array is not None


def _is_tensor(x: tuple[Tensor | str, ...] | Tensor | str) -> bool:
    return isinstance(x, Tensor)


def _tensors_of(tree: object) -> list[object]:
    return jax.tree.leaves(tree, is_leaf=_is_tensor)


def _arrays(tree: tuple[Tensor, ...] | Tensor) -> tuple[list[Any], Any]:
    """The leaves of nested operands as arrays, and their structure."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=_is_tensor)
    return [x.jax() if isinstance(x, Tensor) else jnp.asarray(x) for x in leaves], structure


class _OnArrays:
    """A function of tensors as JAX's control flow calls it: on lists of arrays and the key that
    random numbers come from, which it gives back as it is afterwards. It remembers the structure of
    its results."""

    def __init__(self, function: Function, structure: Any) -> None:
        self.function, self.structure, self.result = function, structure, None

    def __call__(self, given: tuple[list[jax.Array], Any]) -> tuple[list[jax.Array], Any]:
        with drawing_from(given[1]):
            found = self.function(*jax.tree.unflatten(self.structure, [wrap(a) for a in given[0]]))
            arrays, self.result = _arrays(found)
            return arrays, key_now()


@composite(operands=("pred",), native=False, ignored=True, dispatched="never")
def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """``true_fn(*operands)`` if ``pred`` holds, else ``false_fn(*operands)``.

    Inside ``jax.jit`` and ``compile`` both are traced, and the program takes one of them; they must
    then give results of equal shapes and dtypes.

    Raises:
        RuntimeError: if ``pred`` is neither a bool nor a tensor of one element, a branch cannot be
            called, or an operand is no tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(1),))
        tensor(2)
    """
    if not isinstance(pred, (bool, int, float, Tensor, SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(
        isinstance(x, (Tensor, int)) for x in _tensors_of(operands)
    ):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )
    found = _capture("cond", pred, true_fn, false_fn, tuple(operands))
    if found is not NotImplemented:
        return found
    if _is_traced(pred):
        arrays, structure = _arrays(tuple(operands))
        true, false = _OnArrays(true_fn, structure), _OnArrays(false_fn, structure)
        chosen = pred.jax().reshape(()).astype(bool)
        found, key = jax.lax.cond(chosen, true, false, (arrays, key_now()))
        go_on_from(key)
        return jax.tree.unflatten(true.result, [wrap(a) for a in found])
    return true_fn(*operands) if pred else false_fn(*operands)


@composite(native=False, ignored=True, dispatched="never")
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """Replaces ``carried_inputs`` by what ``body_fn`` makes of them for as long as ``cond_fn`` of
    them holds.

    Inside ``jax.jit`` and ``compile`` it is one loop of the program, if the condition depends on
    values that are not known.

    Returns: a tuple of what is carried at last.

    Raises:
        RuntimeError: if a function cannot be called, or the inputs are no tuple.

    Example:
        >>> import jtorch as torch
        >>> torch.while_loop(lambda i: i < 5, lambda i: (i + 2,), (torch.tensor(0),))
        (tensor(6),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple, but got "
            f"{carried_inputs}."
        )
    carried = tuple(carried_inputs)
    captive = _capture("while_loop", cond_fn, body_fn, carried)
    if captive is not NotImplemented:
        return captive
    holds = cond_fn(*carried)
    if _is_traced(holds):
        arrays, structure = _arrays(carried)
        body, test = (
            _OnArrays(lambda *items: tuple(body_fn(*items)), structure),
            _OnArrays(cond_fn, structure),
        )
        found, key = jax.lax.while_loop(
            lambda given: test(given)[0][0].reshape(()).astype(bool), body, (arrays, key_now())
        )
        go_on_from(key)
        return jax.tree.unflatten(structure, [wrap(a) for a in found])
    while holds:
        found = body_fn(*carried)
        carried = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        holds = cond_fn(*carried)
    return carried


def looped(
    combine: Callable[[Values, Values], tuple[Values, Values]],
    carry: list[Operand],
    xs: list[Operand],
) -> tuple[list[Tensor], list[Tensor]] | None:
    """A loop along the first dimension of tensors as one of JAX's, where their values are JAX's;
    None elsewhere."""
    if not any(_is_traced(t) for t in (*carry, *xs)):
        return None

    def one(given: tuple[list[Any], Any], slices: list[Any]) -> tuple[Any, list[Any]]:
        with drawing_from(given[1]):
            new, y = combine([wrap(a) for a in given[0]], [wrap(a) for a in slices])
            return ([t.jax() for t in new], key_now()), [t.jax() for t in y]

    first = ([t.jax() for t in carry], key_now())
    (last, key), ys = jax.lax.scan(one, first, [t.jax() for t in xs])
    go_on_from(key)
    return [wrap(a) for a in last], [wrap(a) for a in ys]
