"""``autograd.Function``: operations whose gradient a program writes itself.

``forward`` runs with recording off; what it returns becomes the result of one node whose ``backward`` is the program's. Both styles are
offered: ``forward(ctx, *args)``, and ``forward(*args)`` with ``setup_context(ctx, inputs, output)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..applying import converted
from ..core import Tensor, detached, from_value
from ..engine import Value, record
from ..ops._declare import OPS
from ..ops._kernel import call_of
from .engine import _item, _tensor
from .grad_mode import MODE
from .tape import FREED, Edge, Node, _numbers


class FunctionCtx:
    """What ``forward`` notes for ``backward``; any other attribute may be set on it too."""

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self._to_save: tuple[Any, ...] = ()
        self._forward_saved: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._materialize = True
        self._node: FunctionNode | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors (or None) for ``backward``, which finds them in ``saved_tensors``.

        Raises:
            TypeError: for anything else.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for ``jvp``."""
        self._forward_saved = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Says which inputs ``forward`` changed in place; they must be returned."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says which outputs have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients reach ``backward`` as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` was given.

        Raises:
            RuntimeError: after the graph was freed, or if a saved tensor was changed in place.
        """
        node = self._node
        if node is None:
            return self._to_save
        if node.freed:
            raise RuntimeError(FREED)
        return node.unpack()

    saved_variables = saved_tensors


#: Older names of the same.
BackwardCFunction = FunctionCtx
_ContextMethodMixin = FunctionCtx


class FunctionNode(Node):
    """The node of one application of a ``Function``."""

    __slots__ = ("ctx", "function", "stored", "freed", "materialize", "non_differentiable", "given")

    def __init__(self, function: type[Function], ctx: FunctionCtx, edges: Sequence[Edge], given: int, results: Sequence[Any]) -> None:
        self.call = None
        self.saved = []
        self.hooked = None
        self.avals = ()
        self.outs = tuple([t._aval for t in results])
        self.visible = len(results)
        self.edges = edges
        self.numbers = ()
        self.seq = _numbers()
        self.hooks = self.prehooks = self.retained = self.meta = None
        self.label = f"{function.__name__}Backward"
        self.ctx, self.function = ctx, function
        self.given = given
        self.stored: tuple[Any, ...] = ()
        self.freed = False
        self.materialize = ctx._materialize
        self.non_differentiable: frozenset[int] = frozenset()

    def keep(self, saved: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Takes what was saved: inputs as the objects themselves, outputs by number, so that the node does not refer to itself."""
        kept: list[Any] = []
        for t in saved:
            place = next((j for j, o in enumerate(outputs) if o is t), None)
            if t is None or place is None:
                kept.append((t, None if t is None else t._version, None))
            else:
                kept.append((detached(t), t._version, place))
        self.stored = tuple(kept)

    def unpack(self) -> tuple[Any, ...]:
        """The saved tensors, outputs with this node as their history."""
        found = []
        for t, version, place in self.stored:
            if t is not None and t._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[{t.type()} {list(t.shape)}] is at version {t._version}; expected version {version} instead. Hint: enable anomaly "
                    "detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
                )
            if place is not None:
                r = from_value(t._read())
                if place not in self.non_differentiable and r._aval.differentiable:
                    r._node, r._nr, r._rg = self, place, True
                found.append(r)
            else:
                found.append(t)
        return tuple(found)

    def release(self) -> None:
        """Lets go of what was saved; going through this node once more is an error."""
        self.saved = None
        self.freed = True
        self.stored = ()

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        """The inputs' gradients, without history."""
        return self._run([None if g is None else from_value(g) for g in grads], False)

    def apply_tracked(self, grads: list[Any]) -> list[Any]:
        """As ``apply``, on (value, edge) pairs, recording what ``backward`` does so that it can be differentiated again."""
        return self._run([None if g is None else _tensor(g, True) for g in grads], True)

    def _run(self, grads: list[Any], create_graph: bool) -> list[Any]:
        if self.freed:
            raise RuntimeError(FREED)
        if self.materialize:
            grads = [_zeros(a) if g is None else g for g, a in zip(grads, self.outs, strict=True)]
        function = self.function
        backward = function.backward if _overrides(function, "backward") else function.vjp
        if not _overrides(function, "backward") and not _overrides(function, "vjp"):
            raise NotImplementedError(
                "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
            )
        enabled, MODE.enabled = MODE.enabled, create_graph
        try:
            found = backward(self.ctx, *grads)
        finally:
            MODE.enabled = enabled
        return self._checked(found if isinstance(found, tuple) else (found,), create_graph)

    def _checked(self, found: tuple[Any, ...], create_graph: bool) -> list[Any]:
        name, expected = self.label, self.given
        if len(found) > expected and all(g is None for g in found[expected:]):
            found = found[:expected]
        if len(found) != expected:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(found)})")
        result = []
        for i, (g, edge, aval) in enumerate(zip(found, self.edges, self.avals, strict=True)):
            if g is not None and not isinstance(g, Tensor):
                raise TypeError(f"expected Variable or None (got {type(g).__name__})")
            if aval is None:
                if g is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding forward "
                        "input was not a Variable"
                    )
                result.append(None)
                continue
            if edge is None or g is None:
                result.append(None)
                continue
            result.append(_item(_fitted(name, i, g, aval), create_graph))
        return result


def _fitted(name: str | None, i: int, g: Tensor, aval: Any) -> Tensor:
    """A gradient in its input's shape and dtype."""
    if tuple(g.shape) != aval.shape:
        lead = g.dim() - len(aval.shape)
        fits = lead >= 0 and all(n in (1, m) for n, m in zip(aval.shape, g.shape[lead:], strict=True))
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {i} - got {list(g.shape)} but expected shape compatible with "
                f"{list(aval.shape)}"
            )
        axes = [*range(lead), *[k + lead for k, n in enumerate(aval.shape) if n == 1 and g.shape[k + lead] != 1]]
        g = g.sum(axes).reshape(aval.shape)  # type: ignore[attr-defined]
    if g._aval.torch_dtype is not aval.torch_dtype:
        g = converted(g, aval.torch_dtype)
    return g


def _zeros(aval: Any) -> Tensor:
    call = call_of(OPS["zeros"], _size_layout(aval))
    return from_value(record(call, ()))


def _size_layout(aval: Any) -> tuple[Any, ...]:
    from ..ops._kernel import Fixed

    return (Fixed(aval.shape), Fixed(aval.dtype))


def _overrides(function: type, name: str) -> bool:
    return getattr(function, name) is not getattr(Function, name)


class Function:
    """Base of operations with a gradient of their own: subclass it, write ``forward`` and ``backward``, call ``apply``."""

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function is not allowed"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the result; in the first style its first argument is ``ctx``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """In the second style, notes on ``ctx`` what ``backward`` needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient for each argument of ``forward``, None where there is none."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The derivative in forward mode."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs ``forward`` and records one node for it."""
        return _apply(cls, args, kwargs)


def _apply(function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    new_style = _overrides(function, "setup_context")
    ctx = FunctionCtx()
    tensors = [a if isinstance(a, Tensor) else None for a in args]
    for t in tensors:
        if t is not None:
            t._read()
    needs = tuple([t is not None and t._rg for t in tensors])
    ctx.needs_input_grad = needs
    tracked = MODE.enabled and any(needs)
    enabled, MODE.enabled = MODE.enabled, False
    try:
        if new_style:
            output = function.forward(*args, **kwargs)
            function.setup_context(ctx, args, output)
        else:
            output = function.forward(ctx, *args, **kwargs)
    finally:
        MODE.enabled = enabled
    several = isinstance(output, (tuple, list))
    outputs = list(output) if several else [output]
    _check_dirty(ctx, outputs, tensors)
    if not tracked:
        ctx._node = None
        return output
    return _record(function, ctx, args, tensors, outputs, output, several)


def _check_dirty(ctx: FunctionCtx, outputs: list[Any], inputs: list[Any]) -> None:
    for t in ctx._dirty:
        if not any(o is t for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                "inplace must all be outputs of the Function."
            )
        if MODE.enabled and t._rg and t._node is None and any(t is x for x in inputs):
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")


def _record(
    function: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], tensors: list[Any], outputs: list[Any], output: Any, several: bool
) -> Any:
    edges = [None if t is None or not t._rg or not t._aval.differentiable else t._edge() for t in tensors]
    results = [o for o in outputs if isinstance(o, Tensor)]
    node = FunctionNode(function, ctx, edges, len(args), results)
    node.avals = tuple([None if t is None else t._aval for t in tensors])  # type: ignore[assignment]
    quiet = {j for j, o in enumerate(results) if any(o is n for n in ctx._non_differentiable) or not o._aval.differentiable}
    node.non_differentiable = frozenset(quiet)
    made = []
    for j, o in enumerate(results):
        dirty = any(o is d for d in ctx._dirty)
        if not dirty and any(o is t for t in tensors):  # an input returned as it is becomes a tensor of its own
            fresh = from_value(o._read()) if o._al is None else _same_view(o)
            o = fresh
        if j not in quiet:
            if o._al is not None and o._al.base is not None and not dirty:
                o = _same_view(o)
            o._node, o._nr, o._rg = node, j, True
        made.append(o)
    node.keep([_now(t, results, made) for t in ctx._to_save], made)
    ctx._node = node
    ctx._to_save = ()
    found = iter(made)
    rebuilt = [next(found) if isinstance(o, Tensor) else o for o in outputs]
    if not several:
        return rebuilt[0]
    return tuple(rebuilt)


def _now(saved: Any, before: Sequence[Any], after: Sequence[Any]) -> Any:
    """A saved output as the object that is returned."""
    for b, a in zip(before, after, strict=True):
        if saved is b and a is not b:
            return saved
    return saved


def _same_view(t: Tensor) -> Tensor:
    return detached(t)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``backward``: it runs without recording, and differentiating its result raises.

    Raises:
        RuntimeError: when the gradient of the gradient is asked for.
    """

    @functools.wraps(fn)
    def run(ctx: Any, *args: Any) -> Any:
        wanted = MODE.enabled and any(isinstance(a, Tensor) and a._rg for a in args)
        enabled, MODE.enabled = MODE.enabled, False
        try:
            found = fn(ctx, *args)
        finally:
            MODE.enabled = enabled
        if not wanted:
            return found
        outputs = found if isinstance(found, tuple) else (found,)
        marked = [_twice(o, args) if isinstance(o, Tensor) else o for o in outputs]
        return tuple(marked) if isinstance(found, tuple) else marked[0]

    return run


class _Twice(FunctionNode):
    """A node that refuses to be differentiated."""

    __slots__ = ()

    def _run(self, grads: list[Any], create_graph: bool) -> list[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _twice(t: Tensor, args: Sequence[Any]) -> Tensor:
    inputs = [a for a in args if isinstance(a, Tensor) and a._rg]
    r = detached(t)
    if r._aval.differentiable:
        node = _Twice(Function, FunctionCtx(), [a._edge() for a in inputs], len(inputs), [r])
        node.label = "ErrorBackward"
        r._node, r._nr, r._rg = node, 0, True
    return r
