"""Tensors as JAX pytrees: they cross ``jax.jit``, ``jax.grad``, ``jax.vmap``, ``lax.scan`` and
every function on trees."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...autograd.grad_mode import MODE
from ...core import BIRTHS, INTERNAL, Tensor, born
from ..engine import META, SPECIAL, Meta, concrete, copied, meta_value
from ..engine.record import leaf
from ..facts import dtypes
from ..tensor.own_attributes import everything

if TYPE_CHECKING:
    from ..engine.values import Value
    from ..facts.kinds import Named


_new = object.__new__

#: Classes that are nodes. JAX can neither be asked for this nor made to forget one.
_NODES: set[type] = set()


class Held:
    """What stands in a leaf that is no array: JAX fills trees with numbers, shapes, strings and
    marks of its own.

    Such a tensor can be taken apart again; whatever asks it for data, a shape or a dtype is told
    what it holds.
    """

    __slots__ = ("leaf", "tree")

    def __init__(self, leaf: Any, tree: Kind) -> None:
        self.leaf, self.tree = leaf, tree

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"this tensor has no data: a function on trees put {self.leaf!r} in its place"
        )


class Attributes:
    """What a program has set on an instance: equal where the attributes are, hashable whatever they
    are."""

    __slots__ = ("all",)

    def __init__(self, found: Named) -> None:
        self.all = found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attributes) or self.all.keys() != other.all.keys():
            return False
        return all(_same(a, other.all[name]) for name, a in self.all.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.all))

    def __repr__(self) -> str:
        return repr(self.all)


def _same(a: object, b: object) -> bool:
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError, RuntimeError):  # arrays among them compare element by element
        return False


def _flatten(t: Tensor) -> tuple[tuple[Any, ...], Any]:
    held = t._al
    if type(held) is Held:
        return (held.leaf,), held.tree
    if t._aval.device is META:
        child = jax.ShapeDtypeStruct(tuple(t.shape), t._aval.dtype)
    else:
        child = t.jax()
    return (child,), Kind(type(t), _asks(t, child), _attributes(t), _uses(t))


#: Whether what is made of a leaf requires grad, and whether ``to_jax`` has to look where it goes.
#: What is computed from a leaf that is watched (``PASSED``) is watched as long as JAX traces; what
#: comes out at last is a constant.
NO, YES, WATCHED, PASSED = 0, 1, 2, 3


class Uses:
    """What became of the trees that a thread made of a tensor, one after the other.

    JAX takes the arguments of a compiled function apart several times: for the key by which it
    finds programs, for its own caches, and for the function that it traces. All of these trees
    share one such object, so that all are known to be keys (``key``) when the last is put together
    of tracers. Whatever puts one together, or compares it with another, ends the sharing
    (``open``).
    """

    __slots__ = ("key", "open")

    def __init__(self) -> None:
        self.key, self.open = False, True


class _Last(threading.local):
    """By tensor, what a thread last made of it. An entry goes with its tensor."""

    def __init__(self) -> None:
        self.uses = {}


_LAST = _Last()


def _uses(t: Tensor) -> Uses:
    if t._passed is not None:  # an argument of a function that is traced, which it hands on
        t._passed.key = True
    kept = _LAST.uses
    number = id(t)
    found = kept.get(number)
    if found is not None and found[0]() is t:
        if found[1].open:
            return found[1]
        reference = found[0]
    else:
        reference = weakref.ref(t, lambda _: kept.pop(number, None))
    made = Uses()
    kept[number] = (reference, made)
    return made


class Kind:
    """What a tree knows of a tensor beside its array.

    Trees with and without ``requires_grad`` are alike: a tangent has the structure of its primal, a
    gradient that of its parameter. Only where JAX looks for a function that it has compiled are
    leaves that are watched told apart from others: what was compiled for these has not been looked
    at. Such a tree is known by its ``uses``; those with something else in the place of the array
    have none.
    """

    __slots__ = ("cls", "asks", "attributes", "uses")

    def __init__(
        self, cls: type, asks: int, attributes: Attributes | None, uses: Uses | None
    ) -> None:
        self.cls, self.asks, self.attributes, self.uses = cls, asks, attributes, uses

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kind):
            return False
        if self is other:
            return True
        if self.cls is not other.cls or self.attributes != other.attributes:
            return False
        if self.uses is None or other.uses is None:
            return True
        if (self.asks >= WATCHED) == (other.asks >= WATCHED):
            if self.uses.key or other.uses.key:
                # JAX has several tables of what it compiled: what it finds in one goes into the
                # next under the tree of this call.
                for uses in (self.uses, other.uses):
                    uses.key, uses.open = True, False
            return True
        if self.uses.key or other.uses.key:
            return False
        self.uses.open = other.uses.open = False
        return True

    def __hash__(self) -> int:
        return hash(self.cls)

    def __repr__(self) -> str:
        return f"{self.cls.__name__}{'' if self.asks == NO else ', requires_grad=True'}"


def _asks(t: Tensor, child: object) -> int:
    """What the tree remembers of ``requires_grad``.

    Raises:
        RuntimeError: for a result of recorded operations, outside JAX's transformations: its
            history would end here.
    """
    if not t._rg:
        return NO
    if isinstance(child, jax.core.Tracer):  # gradients are JAX's there
        leaf = t.is_leaf
        if MODE.enabled and (not leaf or _is_watched(t._read())) and _directly(child):
            # a function of JAX's calls another: ``jnp.abs`` calls ``jnp.absolute``
            return WATCHED if leaf else PASSED
        return YES if leaf else NO
    if not MODE.enabled:
        return YES if t.is_leaf else NO
    if not t.is_leaf:
        raise RuntimeError(CUT)
    return WATCHED


def _is_watched(value: Any) -> bool:
    """Whether a value is a tracer that stands for a tensor which requires grad and was recorded
    outside."""
    return value.meta is not None and value.meta.watched


def to_jax(self: Tensor) -> jax.Array:
    """The tensor for a function of JAX, which asks for it: ``jnp.sin(x)``, ``x * jnp.ones(3)``;
    ``Tensor.__jax_array__``.

    Inside a JAX transformation gradients are JAX's, and its tracers pass.

    Raises:
        RuntimeError: if autograd records and the tensor requires grad: JAX's result would be cut
            off from its history.
    """
    if self._rg and MODE.enabled:
        value = self._read()
        if value.trace is not SPECIAL:
            raise RuntimeError(CUT)
        array = self.jax()
        if (_is_watched(value) or not self.is_leaf) and _directly(array):
            raise RuntimeError(CUT)
        return array
    return self.jax()


CUT = (
    "Can't give JAX a Tensor that requires grad: no gradient would come back. Use tensor.detach() "
    "for its numbers, or make the function an operator with jtorch.library.jax_op() to have its "
    "gradient."
)


#: Where JAX's own functions are written.
_JAX = os.path.join(os.path.dirname(jax.__file__), "")


def _traced_function(tracer: jax.Array) -> tuple[str, str]:
    """What JAX notes of the function that it traces: for what (``"jit"``, ``"scan"`` ...), and
    where that function is written. Tracers of derivatives and of batches have no such note."""
    noted = getattr(getattr(getattr(tracer, "_trace", None), "frame", None), "debug_info", None)
    return (
        (noted.traced_for, (noted.func_src_info or "").partition(" at ")[2])
        if noted is not None
        else ("", "")
    )


def _directly(tracer: Any) -> bool:
    """Whether a function of JAX that compiles itself, as most of ``jax.numpy``, was called with the
    tensor that a tracer stands for, and no function of the user's that was given to ``jax.jit``."""
    return _traced_function(tracer)[1].startswith(_JAX)


def _noted(t: Tensor, tracer: jax.Array, uses: Uses) -> None:
    """Marks trees as keys whose tensors a function of JAX was traced with, and has those of
    compiled functions marked that hand on what they were given: whether that requires grad is part
    of the result."""
    purpose, file = _traced_function(tracer)
    if file.startswith(_JAX):
        uses.key = True
    elif purpose == "jit":
        t._passed = uses


def _attributes(t: Tensor) -> Attributes | None:
    if type(t) is Tensor:
        return None
    found = {name: value for name, value in everything(t).items() if name not in INTERNAL}
    return Attributes(found) if found else None


def _unflatten(aux: Kind, children: tuple[jax.Array, ...]) -> Any:
    cls, asks, attributes = aux.cls, aux.asks, aux.attributes
    (child,) = children
    if isinstance(child, _TREES) and _of_tensors(child):
        # a tree of trees, as ``jax.jacfwd`` makes them: a Jacobian is one tensor, or one for each
        # of several arguments
        return child
    value = _value(child)
    if value is None:
        t = _new(cls)
        t._al = Held(child, Kind(cls, asks, attributes, None))
    else:
        traced = value.trace is SPECIAL
        if asks >= WATCHED and traced:
            value.meta = Meta(keep=True)
            value.meta.watched = True
        t = _new(cls)
        t._v = value
        if aux.uses is not None:
            aux.uses.open = False
            if traced:
                _noted(t, child, aux.uses)
        if BIRTHS:
            t._birth = born()
        t._rg = asks != NO and (asks != PASSED or traced) and t._aval.differentiable
    if attributes is not None:
        everything(t).update(attributes.all)
    return t


_TREES = (Tensor, tuple, list, dict)


def _of_tensors(tree: object) -> bool:
    """Whether a tree has tensors with data for leaves. (Functions on trees are given arrays and
    make trees of arrays.)"""
    leaves = jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, Tensor))
    return bool(leaves) and all(isinstance(x, Tensor) and type(x._al) is not Held for x in leaves)


def _value(child: jax.Array) -> Value | None:
    """The value that a leaf stands for, or None."""
    if isinstance(child, jax.core.Tracer):
        return concrete(child) if child.dtype in dtypes.BY_NP else None
    if isinstance(child, jax.Array):
        # a typed random key is no number
        return leaf(child) if child.dtype in dtypes.BY_NP else None
    if isinstance(child, jax.ShapeDtypeStruct):
        return meta_value(child.shape, child.dtype) if child.dtype in dtypes.BY_NP else None
    if isinstance(child, (np.ndarray, np.generic)) and child.dtype in dtypes.BY_NP:
        return copied(np.asarray(child))
    return None


def _parts(t: Tensor) -> tuple[tuple[Any, ...], Any]:
    held = t._al
    if type(held) is Held:
        return held.leaf, held.tree
    names, context = t.__tensor_flatten__()
    size, stride = tuple(t.shape), tuple(t.stride())
    return tuple(getattr(t, name) for name in names), (
        type(t),
        tuple(names),
        Attributes({"context": context}),
        size,
        stride,
    )


def _whole(aux: Any, children: tuple[Tensor, ...]) -> Any:
    cls, names, context, size, stride = aux
    if any(not isinstance(child, Tensor) or type(child._al) is Held for child in children):
        t = _new(cls)
        t._al = Held(tuple(children), aux)
        return t
    return cls.__tensor_unflatten__(
        dict(zip(names, children, strict=True)), context.all["context"], size, stride
    )


def known(cls: type) -> None:
    """Makes a subclass of Tensor a node of JAX's trees, unless its author has done so: called where
    the first instance is made.

    A class with ``__tensor_flatten__`` is taken apart by it; of others, the array is the one leaf.
    """
    if cls in _NODES:
        return
    _NODES.add(cls)
    parts = hasattr(cls, "__tensor_flatten__") and hasattr(cls, "__tensor_unflatten__")
    try:
        jax.tree_util.register_pytree_node(
            cls, *((_parts, _whole) if parts else (_flatten, _unflatten))
        )
    except ValueError:  # its author has
        pass


def register(cls: type = Tensor) -> None:
    """Makes a Tensor class a pytree node with one leaf, its array."""
    _NODES.add(cls)
    jax.tree_util.register_pytree_node(cls, _flatten, _unflatten)
    cls.__jax_array__ = to_jax
    cls.__numpy_dtype__ = property(_numpy_dtype)
    _say_how(cls)


def _numpy_dtype(self: Tensor) -> object:
    """NumPy's dtype of the elements: ``jnp.result_type(x)``, with which many functions on arrays
    begin."""
    return self.dtype.__numpy_dtype__


def _say_how(cls: type) -> None:
    """Has JAX's functions that take the type of a result, as ``jax.grad`` of its function's, say
    what to return instead of a tensor."""

    def refuse(t: object) -> Any:
        raise TypeError(
            f"a {type(t).__name__} is a tree for JAX; where it wants an array, as jax.grad of the "
            "function's result, return tensor.jax()"
        )

    kinds = getattr(jax._src.core, "pytype_aval_mappings", None)
    if kinds is not None:
        kinds[cls] = refuse
