"""``autograd.Function``: operations whose gradient a program writes itself.

``forward`` runs with recording off; what it returns becomes the result of one node whose
``backward`` is the program's. Both styles are offered: ``forward(ctx, *args)``, and
``forward(*args)`` with ``setup_context(ctx, inputs, output)``.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._src import hooks
from .._src.engine import Lifted
from .._src.facts.errors import type_name
from .._src.facts.warned_once import outside
from .._src.protocol.recorded import recorder
from .._src.tensor.looking import same_memory
from .._src.tensor.writing import assign, bump, check_inplace
from ..core import Tensor, detached, from_value
from ..dispatch import LAYOUTS, disabled_torch_function_impl
from . import traced_function
from .dual import Dual, Level, enter, leave, zeros_like
from .function_node import FunctionCtx as FunctionCtx
from .function_node import FunctionNode, context_class
from .grad_mode import MODE

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Operands


__all__ = ["Function", "FunctionCtx", "once_differentiable"]

#: Older names of the same.
BackwardCFunction = FunctionCtx
_ContextMethodMixin = FunctionCtx


class FunctionMeta(type):
    """Gives each ``Function`` the class of its contexts, named as torch prints it:
    ``<Name>Backward``."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        cls._backward_cls = context_class(f"{name}Backward")
        super().__init__(name, bases, attributes)


class Function(metaclass=FunctionMeta):
    """Base of operations with a gradient of their own: subclass it, write ``forward`` and
    ``backward``, call ``apply``.

    ``vmap(info, in_dims, *args) -> (output, out_dims)``, or ``generate_vmap_rule =
    True``, makes it work under ``vmap``; ``jvp`` in forward mode.

    Args:
        args: none: the class is not instantiated.
        kwargs: none.

    Example:
        >>> import jtorch as torch
        >>> class Doubled(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * g
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Doubled.apply(x).backward()
        >>> x.grad
        tensor(2.)
    """

    generate_vmap_rule = False
    # whether JAX, where it traces, differentiates ``forward`` and never asks for ``backward``
    _derived_by_jax = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there is nothing to call on an instance."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the result; in the first style its first argument is ``ctx``."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """In the second style, notes on ``ctx`` what ``backward`` needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    # ``kwargs`` lets checkers accept overrides of any number of them
    def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any:
        """One gradient for each argument of ``forward``, None where there is none."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any:
        """The derivative in forward mode: one tangent for each output, of one (or None) for each
        argument."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the results for a batch: ``(output, out_dims)`` of arguments whose examples lie
        along ``in_dims``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs ``forward`` and records one node for it."""
        if overrides(cls, "setup_context"):
            args = _bound(cls.forward, args, kwargs)
        elif kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(kwargs))}'")
        found = recorder()
        return _apply(cls, args) if found is None else found.applied(cls, args)


class InplaceFunction(Function):
    """A ``Function`` that says whether it works in place; kept for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def overrides(function: type, name: str) -> bool:
    """Whether a subclass has its own method of that name."""
    return getattr(function, name) is not getattr(Function, name)


def _bound(
    forward: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[object, ...]:
    """All arguments by position, defaults filled in."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


# ---- applying ------------------------------------------------------------------------------------


def _apply(function: type[Function], args: Arguments) -> tuple[object, ...] | Tensor:
    if len(MODE.transforms) > MODE.batching and not overrides(function, "setup_context"):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            f"jacrev, ...), it must override the setup_context staticmethod. {_VMAP_DOCS}"
        )
    tensors = [a if isinstance(a, Tensor) else None for a in args]
    for t in tensors:
        if (
            t is not None
            and type(t) is not Tensor
            and (own := getattr(type(t), "_apply_function", None)) is not None
        ):
            return own(function, args)
    lifted = [
        v for v in [None if t is None else t._read() for t in tensors] if isinstance(v, Lifted)
    ]
    if MODE.transforms and not lifted:  # a rule for ``vmap`` hears of tensors in containers, too
        lifted = [v for v in [t._read() for t in _held(args)] if hasattr(v, "physical")]
    if lifted:
        inner = max(lifted, key=lambda v: v.order)
        if type(inner) is Dual:
            if inner.level.alive:
                if MODE.enabled and any(_needs(tensors)) and _differentiated_inside(tensors):
                    return _recorded_with_tangents(function, args, tensors, inner.level)
                return _forward_mode(function, args, inner.level)[0]
        elif hasattr(inner, "physical") and _has_own_rule(function):
            over_examples = functools.partial(hooks.own_rule, function.vmap, args, inner.level)
            if (
                MODE.enabled
                and any(_needs(tensors))
                and MODE.transforms
                and MODE.transforms[-1] is not None
            ):
                # the gradient is asked for inside, of each example
                return _run(function, args, tensors, forward=over_examples)[0]
            return over_examples()
    if traced_function.takes(tensors) and not function._derived_by_jax:
        return traced_function.apply(function, _run, args, tensors)
    return _run(function, args, tensors)[0]


def _held(given: object) -> list[Tensor]:
    """The tensors in arguments, and in the lists, tuples and dicts among them."""
    if isinstance(given, (list, tuple, dict)):
        return [
            t
            for part in (given.values() if isinstance(given, dict) else given)
            for t in _held(part)
        ]
    return [given] if isinstance(given, Tensor) else []


def _needs(tensors: Operands) -> tuple[bool, ...]:
    return tuple([t is not None and t._rg for t in tensors])


def _run(
    function: type[Function],
    args: Arguments,
    tensors: Sequence[object],
    shown: tuple[bool, ...] | None = None,
    forward: Callable[[], Any] | None = None,
) -> tuple[Any, Any, tuple[Any, Any]]:
    """The result of a ``Function``, its context, and the tensors that it marked as dirty and as not
    differentiable.

    ``shown`` is what the context says of the arguments that need gradients, if that is not told by
    the tensors themselves; ``forward`` is called for what the function's own would give.
    """
    ctx = function._backward_cls()
    needs = _needs(tensors)
    ctx.needs_input_grad = needs if shown is None else shown
    tracked = MODE.enabled and any(needs)
    enabled, MODE.enabled = MODE.enabled, False
    try:
        if overrides(function, "setup_context"):
            output = function.forward(*args) if forward is None else forward()
            function.setup_context(ctx, args, output)
        else:
            output = function.forward(ctx, *args)
    finally:
        MODE.enabled = enabled
    several = isinstance(output, (tuple, list))
    outputs = list(output) if several else [output]
    _check_dirty(ctx, outputs, tensors, tracked)
    marked = (ctx._dirty, ctx._non_differentiable)
    if tracked:
        made = _record(function, ctx, args, tensors, outputs)
    else:
        made = [_plain(o, ctx, tensors) for o in outputs]
    return (tuple(made) if several else made[0]), ctx, marked


def _plain(o: Tensor, ctx: FunctionCtx, tensors: Operands) -> Tensor:
    """An output without history: an input returned as it is becomes a view of itself, and what was
    written stays what it was."""
    if any(o is d for d in ctx._dirty):
        return o
    if isinstance(o, Tensor) and any(o is t for t in tensors):
        if type(o) in LAYOUTS:
            return o.detach()
        if (own := _seen_by_class(o)) is not None:
            return own
        return detached(o) if o._rg else same_memory(o, o, "function")
    if isinstance(o, Tensor) and _is_view(o) and any(_shares(t, o._al.storage) for t in tensors):
        o._al.origin = "function"
    return o


def _seen_by_class(o: Tensor) -> Tensor | None:
    """A tensor on the same memory as the class makes it, if that hears of functions; else None."""
    if type(o) is Tensor or type(o).__torch_function__ is disabled_torch_function_impl:
        return None
    enabled, MODE.enabled = MODE.enabled, False
    try:
        made = o.view_as(o)
    finally:
        MODE.enabled = enabled
    if isinstance(made, Tensor) and _is_view(made):
        made._al.origin = "function"
    return made


def _check_dirty(
    ctx: FunctionCtx, outputs: list[object], inputs: Sequence[object], tracked: bool
) -> None:
    for t in ctx._dirty:
        if not any(o is t for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        if not any(t is x for x in inputs):
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
                "have been mutated should be passed to ctx.mark_dirty().",
                stacklevel=outside(),
            )
        elif MODE.enabled and t._rg and t._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation."
            )
        if not (tracked and _is_view(t)):
            bump(t)
            continue
        check_inplace(t)
        if len(outputs) > 1:
            raise RuntimeError(SEVERAL)


SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
    "should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
    "inplace that returns a single Tensor and a second one that does the other operations). You "
    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)


def _is_view(t: Tensor) -> bool:
    """Whether a tensor's history is that of a part of another's memory."""
    return type(t) not in LAYOUTS and t._al is not None and t._al.base is not None


def _shares(t: Tensor | None, storage: object) -> bool:
    """Whether an operand lies in a storage; those of other layouts lie in none."""
    return (
        t is not None and type(t) not in LAYOUTS and t._al is not None and t._al.storage is storage
    )


def _record(
    function: type[Function],
    ctx: FunctionCtx,
    args: tuple[object, ...],
    tensors: Operands,
    outputs: list[object],
) -> list[object]:
    edges = [
        None if t is None or not t._rg or not t._aval.differentiable else t._edge() for t in tensors
    ]
    node = FunctionNode(function, ctx, edges, tensors, outputs)
    made: list[Any] = []
    for j, o in enumerate(outputs):
        if not isinstance(o, Tensor):
            made.append(o)
            continue
        quiet = any(o is n for n in ctx._non_differentiable) or not o._aval.differentiable
        dirty = any(o is d for d in ctx._dirty)
        if quiet:
            node.non_differentiable |= {j}
        if not dirty:
            if type(o) in LAYOUTS:
                o = o.detach()
            elif any(o is t for t in tensors):
                o = same_memory(o, o, "function") if (own := _seen_by_class(o)) is None else own
            elif o._al is not None and o._al.storage.detach is None and not quiet:
                source = next((t for t in tensors if _shares(t, o._al.storage)), None)
                o = detached(o) if source is None else same_memory(o, source, "function")
        if dirty and _is_view(o):
            # the base's history goes through the function as well
            assign(o, o._read(), None if quiet else (node, j))
        elif not quiet:
            o._node, o._nr, o._rg = node, j, True
        made.append(o)
    node.keep(ctx._to_save, outputs, made)
    return made


# ---- under transformations -----------------------------------------------------------------------


def _differentiated_inside(tensors: Sequence[Tensor | None]) -> bool:
    """Whether the gradients that a call with tangents is recorded for are asked for while the
    tangents are computed."""
    return bool(MODE.transforms and MODE.transforms[-1] is not None) or any(
        t is not None and t._rg and t._node is None for t in tensors
    )


def _recorded_with_tangents(
    function: type[Function], args: tuple[Tensor, ...], tensors: Operands, level: Level
) -> Any:
    """One node on values with tangents: what ``backward`` finds saved has those of arguments and
    results, and so has what it gives."""
    enabled, MODE.enabled = MODE.enabled, False
    try:
        output, ctx, pairs = _forward_mode(function, args, level, _needs(tensors))
    finally:
        MODE.enabled = enabled
    several = isinstance(output, tuple)
    outputs = list(output) if several else [output]
    if ctx._dirty:
        raise NotImplementedError(
            f"{function.__name__}: gradients, inside of forward mode, of a Function that writes to "
            "its arguments"
        )
    whole = {id(value): pair for value, pair in pairs if isinstance(value, Tensor)}
    ctx._to_save = tuple([whole.get(id(t), t) for t in ctx._to_save])
    made = _record(function, ctx, args, tensors, outputs)
    return tuple(made) if several else made[0]


def _forward_mode(
    function: type[Function],
    args: Arguments,
    level: Level,
    shown: tuple[bool, ...] | None = None,
) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """Runs ``forward`` on values, and ``jvp`` on their tangents.

    Returns: the result, the context, and each value among arguments and results with what has its
    tangent too.
    """
    pairs = [leave(a, level) if isinstance(a, Tensor) else (a, None) for a in args]
    values = tuple([p for p, _ in pairs])
    output, ctx, (dirty, quiet) = _run(
        function, values, [v if isinstance(v, Tensor) else None for v in values], shown
    )
    if not overrides(function, "jvp"):
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )
    given = []
    for v, t in pairs:
        missing = (
            t is None and isinstance(v, Tensor) and v._aval.differentiable and ctx._materialize
        )
        given.append(from_value(zeros_like(v._read())) if missing else t)
    ctx._for_jvp = ctx._forward_saved
    try:
        tangents = function.jvp(ctx, *given)
    finally:
        ctx._for_jvp = None
    several = isinstance(output, tuple)
    outputs = output if several else (output,)
    made = []
    for i, (o, t) in enumerate(zip(outputs, _tangents(tangents, len(outputs)), strict=True)):
        if t is None or not isinstance(o, Tensor):
            made.append(o)
            continue
        if not o._aval.differentiable or any(o is n for n in quiet):
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {i}, but  the corresponding "
                "forward output is not a differentiable Tensor.You should return None at that "
                "position instead."
            )
        if tuple(t.shape) != o._aval.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(o.shape)} while "
                f"the given forward gradient is of size {list(t.shape)}."
            )
        if any(o is d for d in dirty):  # written in place: the tensor itself gets the tangent
            if not any(t is g for g in given):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients "
                    "inplace. If the forward is modifying an input inplace, then the jvp function "
                    "must modify the corresponding gradient inplace."
                )
            target = next(a for a, (v, _) in zip(args, pairs, strict=True) if v is o)
            pair = enter(o, t, level)
            target._v, target._al = pair._v, None
            target._node, target._nr, target._rg = pair._node, pair._nr, pair._rg
            made.append(target)
        else:
            made.append(enter(o, t, level))
    return (
        (tuple(made) if several else made[0]),
        ctx,
        [*zip(values, args, strict=True), *zip(outputs, made, strict=False)],
    )


def _tangents(given: tuple[Tensor, ...] | Tensor, count: int) -> tuple[Tensor] | tuple[Tensor, ...]:
    """What ``jvp`` returned, one for each of ``count`` results.

    Raises:
        RuntimeError: if there are more or fewer, or some are neither tensors nor None.
    """
    found = given if isinstance(given, tuple) else (given,)
    for i, t in enumerate(found):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(t).__name__}) for grad output {i}."
            )
    if len(found) != count:
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {count} but "
            f"got {len(found)})"
        )
    return found


_VMAP_DOCS = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def _has_own_rule(function: type[Function]) -> bool:
    """Whether a function has a rule of its own for ``vmap``; else it runs on examples like other
    code.

    Raises:
        RuntimeError: if it says neither, or both.
    """
    name = function.__name__
    own = overrides(function, "vmap")
    if function.generate_vmap_rule:
        if own:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an "
                "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
                f"overridden vmap staticmethod to avoid ambiguity. {_VMAP_DOCS}"
            )
        return False
    if not own:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override "
            f"and implement the vmap staticmethod or set generate_vmap_rule=True. {_VMAP_DOCS}"
        )
    return True


# ---- once ----------------------------------------------------------------------------------------


def once_differentiable(fn: Callable[..., object]) -> Callable[..., Any]:
    """Decorator of ``backward``: it runs without recording, and differentiating its result raises.

    Raises:
        RuntimeError: when the gradient of the gradient is asked for.

    Example:
        >>> import jtorch as torch
        >>> class Squared(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     @torch.autograd.function.once_differentiable
        ...     def backward(ctx, g):
        ...         return 2 * ctx.saved_tensors[0] * g
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Squared.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    @functools.wraps(fn)
    def run(ctx: object, *args: object) -> Any:
        wanted = MODE.enabled and any(isinstance(a, Tensor) and a._rg for a in args)
        enabled, MODE.enabled = MODE.enabled, False
        try:
            found = fn(ctx, *args)
        finally:
            MODE.enabled = enabled
        if not wanted:
            return found
        marked = [
            _twice(o) if isinstance(o, Tensor) else o
            for o in (found if isinstance(found, tuple) else (found,))
        ]
        return tuple(marked) if isinstance(found, tuple) else marked[0]

    return run


class _Twice(FunctionNode):
    """A node that refuses to be differentiated."""

    __slots__ = ()

    def run_on_tensors(self, grads: list[object], create_graph: bool) -> list[object]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def _twice(t: Tensor) -> Tensor:
    """A result whose history ends in an error. As in torch, the history leads to nothing else."""
    r, end = detached(t), detached(t)
    if r._aval.differentiable:
        end._rg = True
        r._node, r._rg = _Twice(Function, FunctionCtx(), [end], [end], [r]), True
        r._node.label = "ErrorBackward"
    return r


class NestedIOFunction(Function):
    """Kept for the name: not offered.

    Raises:
        NotImplementedError: when applied.
    """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Raises."""
        raise NotImplementedError(
            "NestedIOFunction is not offered by jtorch: it is the old form of Function, with "
            "non-static methods"
        )


def _nested_map(
    condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None
) -> Callable[[Any], Any]:
    """What maps a tree of lists, tuples and dictionaries: ``fn`` of the leaves that ``condition``
    takes; None stays None.

    Raises:
        ValueError: by what is returned, for any other leaf.
    """

    def mapped(tree: Any) -> Any:
        if condition(tree):
            return fn(tree)
        if tree is None:
            return None
        if isinstance(tree, (list, tuple)):
            items = [mapped(item) for item in tree]
            kind: Any = type(tree)
            return kind(*items) if hasattr(tree, "_fields") else kind(items)
        if isinstance(tree, dict):
            return {key: mapped(item) for key, item in tree.items()}
        accepted = "" if condition_msg is None else f". Accepted types: {condition_msg}, or "
        raise ValueError(
            f"Auto nesting doesn't know how to process an input object of type {type_name(tree)}"
            + (accepted and f"{accepted}lists/tuples of them")
        )

    return mapped
