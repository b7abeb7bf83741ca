"""The context that ``forward`` and ``backward`` of a ``Function`` share, and the node that one
application leaves in the graph."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._src.engine import Value, record
from .._src.facts.size import SYMBOLIC
from .._src.hooks import function_class
from .._src.ops._declare import OPS
from .._src.ops._kernel import Fixed, call_of
from .._src.tensor.running import UNSAVED, converted
from .._src.tensor.shape_env import visible
from ..core import Tensor, detached, from_value
from ..dispatch import LAYOUTS, disabled_torch_dispatch_impl
from .grad_mode import MODE, enable_grad
from .items import _item, _tensor
from .names import plain_name
from .nodes import Shown
from .saved import SavedInput
from .tape import FREED, SAVING, Above, Edge, Node, next_seq, packed_by, unpacked_by

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Function, Operand, Row, Values


class FunctionCtx:
    """What ``forward`` notes for ``backward``; any other attribute may be set on it too."""

    needs_input_grad: tuple[bool, ...] = ()
    #: Whether results that were marked as not differentiable reach ``backward`` as zeros, too.
    _materialize_non_diff_grads = True

    def __init__(self) -> None:
        self._to_save: Row = ()
        self._forward_saved: Arguments = ()
        self._for_jvp = None
        self._non_differentiable: tuple[object, ...] = ()
        self._dirty: Row = ()
        self._materialize = True
        self._node: Any = None  # a weak reference to the node, once there is one

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors (or None) for ``backward``, which finds them in ``saved_tensors``.

        Args:
            tensors: inputs or results that ``backward`` needs, and None.

        Raises:
            TypeError: for anything else.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for ``jvp``."""
        for t in tensors:
            if not isinstance(t, Tensor) and t is not None:
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
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
        if self._for_jvp is not None:
            return self._for_jvp
        node = None if self._node is None else self._node()
        if node is None:
            return self._to_save
        if node.freed:
            raise RuntimeError(FREED)
        return node.unpack_saved()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[object, ...]:
        """What ``save_for_backward`` was given, as objects that hooks can be put on.

        Raises:
            RuntimeError: after the graph was freed.
        """
        node = None if self._node is None else self._node()
        if node is None:
            return ()
        if node.freed:
            raise RuntimeError(FREED)
        return tuple([SavedInput._of(node, i) for i in range(len(node.stored))])

    def __getattr__(self, name: str) -> Any:
        """The public side of the node, which in torch is the same object."""
        if name in _SHARED:
            node = None if self.__dict__.get("_node") is None else self._node()
            if node is not None:
                return getattr(node, name)
            if name == "name":
                return lambda: type(self).__name__
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


_SHARED = frozenset(
    (
        "name",
        "_input_metadata",
        "next_functions",
        "metadata",
        "register_hook",
        "register_prehook",
        "_sequence_nr",
        "requires_grad",
    )
)


def context_class(name: str) -> type[FunctionCtx]:
    """The class of the contexts of one ``Function``."""
    return type(
        name, (FunctionCtx,), {"__module__": "torch.autograd.function", "__qualname__": name}
    )


class FunctionView(Shown):
    """A ``FunctionNode`` as ``grad_fn``: what programs set on its context is seen here too."""

    __slots__ = ("_node", "__weakref__")

    def __init__(self, node: FunctionNode) -> None:
        object.__setattr__(self, "_node", node)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_node").ctx, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._node.ctx, name, value)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What programs see: the class of the function's contexts, which in torch are the nodes."""
        return object.__getattribute__(self, "_node").function._backward_cls

    def name(self) -> str:
        """The name torch prints: that of the function, and ``Backward``."""
        return self._node.name()

    def notes(self) -> Any:
        """The node's rare attributes."""
        return self._node.notes()

    def _operands(self) -> list[tuple[Any, bool, int | None]]:
        return self._node._operands()

    def _sequence_nr(self) -> int:
        return self._node.seq

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self._node.name()} object at {id(self._node):#x}>"


_views: dict[str, type] = {}
_NONE: dict[int, Any] = {}


def _laid(tensors: Sequence[Any]) -> dict[int, Any]:
    """Those of a layout of their own, by their places."""
    if LAYOUTS.keys().isdisjoint(map(type, tensors)):
        return _NONE
    return {i: t.detach() for i, t in enumerate(tensors) if type(t) in LAYOUTS}


class FunctionNode(Node):
    """The node of one application of a ``Function``."""

    __slots__ = (
        "ctx",
        "freed",
        "function",
        "laid_inputs",
        "laid_outputs",
        "materialize",
        "non_differentiable",
        "stored",
        "view",
        "wraps",
    )

    def __init__(
        self,
        function: Any,
        ctx: FunctionCtx,
        edges: Sequence[Edge],
        inputs: Sequence[Tensor | None],
        outputs: Sequence[object],
    ) -> None:
        self.call = None
        self.saved, self.hooked, self.rare = [], None, None
        self.avals = tuple([None if t is None else t._aval for t in inputs])
        self.outs = tuple([o._aval if isinstance(o, Tensor) else None for o in outputs])
        self.visible = len(outputs)
        self.edges, self.numbers, self.kept = edges, (), ()
        self.seq = next_seq()
        self.label = f"{function.__name__}Backward"
        self.ctx, self.function = ctx, function
        self.stored: tuple[Any, ...] = ()
        self.freed = False
        self.materialize = ctx._materialize
        self.non_differentiable: frozenset[int] = frozenset()
        self.view: Any = None
        #: Whether a wrapper takes part, so that gradients are tensors of its class.
        self.wraps = any(
            type(t) is not Tensor and isinstance(t, Tensor) and _handles(type(t))
            for t in (*inputs, *outputs)
        )
        #: Inputs and outputs in another layout, whose gradients have it for ``backward`` and not in
        #: the graph.
        self.laid_inputs, self.laid_outputs = _laid(inputs), _laid(outputs)

    def shown(self) -> FunctionView:
        """What ``grad_fn`` gives: the same object as long as someone refers to it."""
        found = self.view() if self.view is not None else None
        if found is None:
            name = self.name()
            kind = _views.get(name)
            if kind is None:
                kind = _views[name] = type(
                    name,
                    (FunctionView,),
                    {"__slots__": (), "__module__": "torch.autograd.function"},
                )
            found = kind(self)
            self.view = weakref.ref(found)
        return found

    def _operands(self) -> list[tuple[Any, bool, int | None]]:
        both = zip(self.edges, self.avals, strict=True)
        return [(e, a is not None, i) for i, (e, a) in enumerate(both)]

    def keep(
        self, saved: Sequence[Tensor | None], outputs: Sequence[object], made: Sequence[object]
    ) -> None:
        """Takes what was saved: inputs as the objects themselves, outputs by number, so that the
        node does not refer to itself."""
        kept = []
        hooks = SAVING.hooks[-1] if SAVING.hooks else None
        for t in saved:
            place = next(
                (
                    j
                    for j, (o, m) in enumerate(zip(outputs, made, strict=True))
                    if t is not None and (o is t or m is t)
                ),
                None,
            )
            if t is None:
                kept.append((None, 0, None, None))
                continue
            version = t._writes
            if version < 0:
                raise RuntimeError(UNSAVED)
            if hooks is not None:
                inner, SAVING.hooks = SAVING.hooks, []
                try:
                    packed = packed_by(hooks[0], t if place is None else detached(t))
                    kept.append((packed, t._edge() if place is None else None, place, hooks[1]))
                finally:
                    SAVING.hooks = inner
            else:
                kept.append(
                    (
                        t if place is None else t.detach() if type(t) in LAYOUTS else detached(t),
                        version,
                        place,
                        None,
                    )
                )
        self.stored = tuple(kept)
        self.ctx._node = weakref.ref(self)
        self.ctx._to_save = self.ctx._dirty = self.ctx._non_differentiable = ()

    def unpack_saved(self) -> tuple[Any, ...]:
        """The saved tensors, outputs with this node as their history."""
        found = []
        t: Any
        for t, version, place, unhook in self.stored:
            if unhook is not None:
                t = _with_history(unpacked_by(unhook, t), version)
            elif t is not None and t._writes != version:
                self._stale(t, version, place)
            if place is not None:
                if type(t) in LAYOUTS:
                    r = t.detach()
                else:
                    r = (
                        detached(t)
                        if t._al is not None and t._al.storage.detach is not None
                        else from_value(t._read())
                    )
                if place not in self.non_differentiable and r._aval.differentiable:
                    r._node, r._nr, r._rg = self, place, True
                found.append(r)
            else:
                found.append(t)
        return tuple(found)

    def _stale(self, t: Tensor, version: int, place: int | None) -> None:
        if place is not None:
            made = f", which is output {place} of {plain_name(self.name())},"
        else:
            made = (
                f", which is output {t._nr} of {plain_name(t._node.name())},"
                if t._node is not None
                else ""
            )
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [{t.type()} {list(t.shape)}]{made} is at version {t._writes}; expected "
            f"version {version} instead. Hint: enable anomaly detection to find the operation that "
            "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
            "check_nan=False)."
        )

    def release(self) -> None:
        """Lets go of what was saved; going through this node once more is an error if there was
        anything."""
        if self.stored:
            self.saved = None
            self.freed = True
            self.stored = ()
            self.laid_inputs = self.laid_outputs = _NONE

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        """The inputs' gradients, without history."""
        if self.wraps:
            raise Above
        return self._items([None if g is None else from_value(g) for g in grads], False)

    def apply_tracked(self, grads: Values) -> Values:
        """As ``apply``, on (value, edge) pairs, recording what ``backward`` does so that it can be
        differentiated again."""
        if self.wraps:
            raise Above
        return self._items([None if g is None else _tensor(g, True) for g in grads], True)

    def _items(self, grads: list[Tensor | None], create_graph: bool) -> Values:
        return [
            None if g is None else _item(g, create_graph)
            for g in self.run_on_tensors(grads, create_graph)
        ]

    def run_on_tensors(
        self, grads: list[Any], create_graph: bool, zeros: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        """The inputs' gradients, from tensors of any class. ``zeros`` makes those that are
        absent."""
        if self.freed:
            raise RuntimeError(FREED)
        for j, o in self.laid_outputs.items():
            if grads[j] is not None or (self.materialize and j not in self.non_differentiable):
                grads[j] = LAYOUTS[type(o)].laid(o, grads[j])
        if self.materialize:
            without = () if self.ctx._materialize_non_diff_grads else self.non_differentiable
            absent = [
                g is None and a is not None and j not in without
                for j, (g, a) in enumerate(zip(grads, self.outs, strict=True))
            ]
            zeros = zeros or _zeros
            grads = [
                zeros(a) if missing else g
                for missing, g, a in zip(absent, grads, self.outs, strict=True)
            ]
        backward = _backward_of(self.function)
        enabled, MODE.enabled = MODE.enabled, create_graph
        try:
            found = backward(self.ctx, *grads)
        finally:
            MODE.enabled = enabled
        return self._checked(found if isinstance(found, tuple) else (found,))

    def _checked(self, found: tuple[Tensor | None, ...]) -> list[Operand]:
        name, expected = self.label, len(self.avals)
        if len(found) > expected and all(g is None for g in found[expected:]):
            found = found[:expected]
        if len(found) != expected:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, "
                f"got {len(found)})"
            )
        result = []
        for i, (g, edge, aval) in enumerate(zip(found, self.edges, self.avals, strict=True)):
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            if aval is None:
                if g is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different than None at position "
                        f"{i + 1}, but the corresponding forward input was not a Variable"
                    )
                result.append(None)
                continue
            if edge is None or g is None:
                result.append(None)
                continue
            free = type(edge) is not tuple and edge._grad_kind is not None
            g = _fitted(name, i, g, aval, free)
            t = self.laid_inputs.get(i)
            result.append(
                g
                if t is None
                else LAYOUTS[type(t)].fitted(
                    t, g, f"Function {name} returned an invalid gradient at index {i}"
                )
            )
        return result


def _handles(cls: type) -> bool:
    """Whether a class takes part in ``__torch_dispatch__``."""
    return (
        getattr(cls, "__torch_dispatch__", disabled_torch_dispatch_impl)
        is not disabled_torch_dispatch_impl
    )


def _with_history(t: Tensor, edge: Edge) -> Tensor:
    """What an unpack hook made of a saved tensor, with the history that the tensor had."""
    if edge is None or t is edge:
        return t
    r = from_value(t._read())
    if type(edge) is not tuple:  # a leaf, which has no node to name: that of a view leads to it
        with enable_grad():
            edge = edge.view_as(edge)._edge()
    r._node, r._nr, r._rg = edge[0], edge[1], True
    return r


def _backward_of(function: type) -> Function:
    """``backward`` of a ``Function``, or ``vjp`` in its place."""
    base = function_class.get()
    backward, vjp = (
        getattr(function, name) is not getattr(base, name) for name in ("backward", "vjp")
    )
    if backward and vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return function.vjp if vjp else function.backward if backward else base.backward


def _fitted(name: str | None, i: int, g: Tensor, aval: Any, free: bool = False) -> Tensor:
    """A gradient in its input's shape, and in its dtype unless it is ``free``."""
    shape, wanted = tuple(g._aval.shape), tuple(aval.shape)
    if shape != wanted and SYMBOLIC:  # sizes that are equal for all that is known of them
        shape, wanted = visible(shape), visible(wanted)
    if shape != wanted:
        lead = len(shape) - len(wanted)
        fits = lead >= 0 and all(n in (1, m) for n, m in zip(wanted, shape[lead:], strict=True))
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {i} - got {list(shape)} "
                f"but expected shape compatible with {list(wanted)}"
            )
        axes = [
            *range(lead),
            *[k + lead for k, n in enumerate(wanted) if n == 1 and shape[k + lead] != 1],
        ]
        g = g.sum(axes).reshape(wanted)
    if g._aval.torch_dtype is not aval.torch_dtype and not free:
        g = g.to(aval.torch_dtype) if type(g) in LAYOUTS else converted(g, aval.torch_dtype)
    return g


def _zeros(aval: Any) -> Tensor:
    return from_value(record(call_of(OPS["zeros"], (Fixed(aval.shape), Fixed(aval.dtype))), ()))
