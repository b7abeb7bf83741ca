"""From public functions to operators: which operators a call of a function is, where wrappers or
dispatch modes are to see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import dispatch, return_types
from ...autograd.dual import INNER
from ...core import Tensor
from ...dispatch import ACTIVE, MISSING
from ..engine import Transformed, Value, record
from ..facts import dtypes
from ..facts.layouts import contiguous_format
from ..facts.size import SYMBOLIC
from ..ops._declare import DTYPE, STATIC, TENSOR_LIST, Op
from ..ops._kernel import Fixed, T
from ..tensor.symbols import exact
from . import functions
from .by_names import from_python
from .calling import handles, invoke
from .composite_operators import is_composite
from .functions import ALIASES, DECOMPOSED, IN_PARTS, NEVER, PREFIXES, ROUTES
from .generic import one_result, step_of
from .overloads import OpOverload, OpOverloadPacket, aten, wrapping_numbers
from .routes_factories import options
from .routes_products import products
from .routes_shape import is_contiguous
from .routes_tensor import is_wrapper
from .routes_whole import BODIES, WHOLE, packet_of
from .schema import texts_of
from .state import STATE, Below, Quiet
from .transformed import aligned
from .values import Held, Unreadable, held, shadow, tensor_of

if TYPE_CHECKING:
    from ..engine.calls import Call
    from ..facts.kinds import Arguments, Keywords, Named, Row, Tree
    from ..protocol.slow_path import Caller
    from .schema import Schema


functions.load()

# ---- public calls --------------------------------------------------------------------------------


#: How deep lists of operands are looked into; data may be nested deeper, and without end.
_NESTED = 3


def wrappers(operands: Iterable[Any], depth: int = 0) -> bool:
    """Whether an operand, also inside lists and tuples, is of a class with
    ``__torch_dispatch__``."""
    for x in operands:
        kind = type(x)
        if kind is Tensor:
            continue
        if isinstance(x, Tensor):
            if handles(kind):
                return True
        elif kind in (list, tuple) and depth < _NESTED and wrappers(x, depth + 1):
            return True
    return False


def below(caller: Caller, args: tuple[object, ...], kwargs: Keywords) -> Any:
    """A public call as operators; MISSING if it is an ordinary one, or a function that is no
    operator."""
    state = STATE
    if state.off or not (state.modes or wrappers(args) or (kwargs and wrappers(kwargs.values()))):
        return MISSING
    path = dispatch.NAMES.get(caller.func, "").removeprefix("torch.")
    if SYMBOLIC:  # below here sizes that vary are JAX's expressions
        args, kwargs = exact(args), {k: exact(x) for k, x in kwargs.items()}
    # a function's body calls another public function
    if _stand_ins(args) or (kwargs and _stand_ins(kwargs.values())):
        out = _named(path, caller, _originals(args), {k: _originals(x) for k, x in kwargs.items()})
        return out if out is MISSING else _shadows(out)
    return _named(path, caller, args, kwargs)


def _stand_ins(operands: Iterable[Any], depth: int = 0) -> bool:
    """Whether there are tensors that stand for others among the operands."""
    for x in operands:
        if type(x) is Tensor:
            if type(x._v) is Held:
                return True
        elif type(x) in (list, tuple) and depth < _NESTED and _stand_ins(x, depth + 1):
            return True
    return False


def _originals(x: Tree) -> Tree:
    if type(x) is Tensor:
        return x._v.tensor if type(x._v) is Held else x
    return type(x)([_originals(i) for i in x]) if type(x) in (list, tuple) else x


def _shadows(x: Tensor) -> object:
    if isinstance(x, Tensor):
        return shadow(x)
    if isinstance(x, tuple):
        items = [_shadows(i) for i in x]
        return tuple(items) if type(x) is tuple else type(x)(items)
    return [_shadows(i) for i in x] if type(x) is list else x


_routes: dict[str, object] = {}


def route_of(path: str) -> Any:
    """What a public path is: a function that writes it with operators, an operator's packet,
    ``NEVER``, or None."""
    found = _routes.get(path, MISSING)
    if found is MISSING:
        found = _routes[path] = _route(path)
    return found


def _route(path: str) -> object:
    namespace, _, leaf = path.rpartition(".")
    if path in NEVER and path not in ROUTES:
        return NEVER
    for key in (path, leaf) if namespace in ("Tensor", "nn.functional") else (path,):
        if key in ROUTES:
            return ROUTES[key]
    names = [PREFIXES.get(namespace, "") + leaf, leaf]
    for name in names:
        name = ALIASES.get(name, name)
        if name in ROUTES and "." not in name:
            return ROUTES[name]
        if texts_of(name) and path not in IN_PARTS:
            packet = getattr(aten, name)
            parts = all(is_composite(o) for o in packet.all() if not o._schema.outs)
            return (None if parts else from_python(path, packet)) or packet
    return None


_whole: Named = {}


def _whole_route(path: str) -> Any:
    """As ``route_of``, for an exporter: composite operators are not taken apart."""
    found = _whole.get(path, MISSING)
    if found is not MISSING:
        return found
    usual = route_of(path)
    namespace, _, leaf = path.rpartition(".")
    name = ALIASES.get(leaf, leaf)
    packet = None if usual is NEVER else packet_of([PREFIXES.get(namespace, "") + name, name])
    special = WHOLE.get(path) or (None if packet is None else from_python(path, packet))

    def run(*args: object, **kwargs: object) -> Tree:
        if special is not None:
            out = special(*args, **kwargs)
            if out is not NotImplemented or path in BODIES:
                return out
        if callable(usual) and not isinstance(usual, OpOverloadPacket):
            return usual(*args, **kwargs)
        return NotImplemented

    if special is None and (
        usual is NEVER or packet is None or isinstance(usual, OpOverloadPacket)
    ):
        found = usual
    elif special is None:
        found = Either(packet, run)
    else:
        found = Either(None, run, path in BODIES)
    _whole[path] = found
    return found


class Either:
    """The operator of a function's name, and where its arguments do not fit that, a function that
    writes it with operators.

    ``body``: where that declines, the function's own body runs.
    """

    def __init__(
        self, packet: OpOverloadPacket | None, otherwise: Callable[..., object], body: bool = False
    ) -> None:
        self.packet, self.otherwise, self.body = packet, otherwise, body


def _named(path: str, caller: Caller, args: tuple[object, ...], kwargs: dict[str, object]) -> Tree:
    route = route_of(path) if not STATE.whole else _whole_route(path)
    if route is NEVER:
        return MISSING
    alias_of = caller.layout.alias_of
    if alias_of and kwargs:
        kwargs = {alias_of.get(n, n): x for n, x in kwargs.items()}
    if isinstance(route, OpOverloadPacket):
        positional = [p.name for p in caller.layout.positional]
        out = _direct(route, positional, args, kwargs, not caller.native)
        if out is not MISSING:
            return _with_names(path, out)
    elif type(route) is Either:
        if route.packet is not None:
            out = _direct(
                route.packet,
                [p.name for p in caller.layout.positional],
                args,
                kwargs,
                not caller.native,
            )
            if out is not MISSING:
                return _with_names(path, out)
        with Quiet():
            out = route.otherwise(*args, **kwargs)
        if out is not NotImplemented:
            return out
        if route.body:
            return MISSING
    elif route is not None:
        with Quiet():  # its operators are the function's own
            out = route(*args, **kwargs)
        if out is not NotImplemented:
            return out
    return _shadowed(caller, args, kwargs)


def resolve(
    packet: OpOverloadPacket,
    positional: Sequence[str],
    args: tuple[object, ...],
    kwargs: Keywords,
    in_python: bool = False,
) -> Tree:
    """The overload that a call means, and its arguments; None if there is none.

    ``in_python``: PyTorch writes the function in Python, so that the order of its parameters need
    not be the operator's.
    """
    kwargs = {k: x for k, x in kwargs.items() if k != "out" or x is not None}
    outs = kwargs.pop("out", None)
    for overload in packet.all():
        schema = overload._schema
        if schema.outs:
            continue
        if in_python and _elsewhere(positional, len(args), schema):
            continue
        mine, named = _spread(overload, args), {}
        for k, x in kwargs.items():
            if k in schema.places:
                named[k] = x
            elif k in positional and len(mine) <= positional.index(k) < schema.count:
                named[schema.arguments[positional.index(k)].name] = x
            elif x is None or (k == "pin_memory" and not x):
                continue
            else:
                break
        else:
            if overload.accepts(mine, named, False) or (
                packet.__name__ in wrapping_numbers() and overload.accepts(mine, named, True)
            ):
                if outs is not None:
                    return _out_form(overload, mine, named, outs)
                return overload, mine, named
    return None


def _elsewhere(positional: Sequence[str], given: int, schema: Schema) -> bool:
    """Whether arguments by position would come to parameters that have other names, of which the
    function or the operator knows both."""
    every = [a.name for a in schema.arguments]
    return any(
        p != s and (p in every or s in positional)
        for p, s in zip(positional[:given], every, strict=False)
    )


def _spread(overload: OpOverload, args: tuple[object, ...]) -> Row:
    """Sizes given one by one as a list, where the operator's last parameter by position takes a
    list."""
    arguments = overload._schema.arguments
    for i, a in enumerate(arguments[: overload._schema.count]):
        if a.type.startswith(("int[", "SymInt[")) and len(args) > i:
            rest = args[i:]
            one = len(rest) == 1 and a.type.endswith("[]")
            if all(type(x) is int for x in rest) and (
                one or (len(rest) > 1 and len(args) > overload._schema.count)
            ):
                return (*args[:i], list(rest))
    return args


def _out_form(
    overload: OpOverload, args: tuple[Tensor | int, ...], kwargs: dict[str, object], outs: Tensor
) -> Any:
    names = [a.name for a in overload._schema.arguments]
    for other in overload._overloadpacket.all():
        schema = other._schema
        if schema.outs and [a.name for a in schema.arguments if not a.is_out] == names:
            given = outs if isinstance(outs, (tuple, list)) else (outs,)
            if len(given) == len(schema.outs):
                return (
                    other,
                    args,
                    {
                        **kwargs,
                        **{
                            schema.arguments[i].name: o
                            for i, o in zip(schema.outs, given, strict=True)
                        },
                    },
                )
    return None


def _direct(
    packet: OpOverloadPacket,
    positional: Sequence[str],
    args: Arguments,
    kwargs: Keywords,
    in_python: bool = False,
) -> Tree:
    found = resolve(packet, positional, args, kwargs, in_python)
    if found is None:
        return MISSING
    overload, args, kwargs = found
    schema = overload._schema
    # a factory: told where, and not to pin
    if not schema.tensors and "device" in schema.places and "pin_memory" in schema.places:
        kwargs = {**kwargs, **options(None, kwargs.get("device"), kwargs.get("pin_memory"))}
    if packet.__name__ in ("max", "min") and overload._overloadname == "other":
        overload = aten.maximum.default if packet.__name__ == "max" else aten.minimum.default
    return overload, invoke(overload, overload.complete(args, kwargs))


def _with_names(path: str, found: Row) -> object:
    """The result as the public function gives it: a named tuple where the operator's results have
    names."""
    overload, out = found
    if isinstance(out, list):
        return tuple(out)
    if isinstance(out, tuple):
        fields = tuple([r.name for r in overload._schema.returns])
        if None not in fields:
            return return_types.make(
                path.rpartition(".")[2] if "linalg" not in path else path.replace(".", "_"), fields
            )(out)
    return out


# ---- functions without an operator ---------------------------------------------------------------


def _shadowed(caller: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """Runs a function's body on tensors that stand for its operands: what it does to them comes
    back as operators."""
    made: list[tuple[Tensor, Tensor, Any]] = []

    def enter(x: Tree) -> Tree:
        if isinstance(x, Tensor):
            for original, stand_in, _ in made:
                if original is x:
                    return stand_in
            stand_in = shadow(x)
            made.append((x, stand_in, stand_in._v))
            return stand_in
        if type(x) in (list, tuple):
            return type(x)([enter(i) for i in x])
        return x

    try:
        result = caller.run(enter(args), {k: enter(x) for k, x in kwargs.items()})
    except Unreadable:
        if any(is_wrapper(original) for original, _, _ in made):
            raise
        STATE.off = True  # it looks at data: modes do not see inside
        try:
            return caller.run(args, kwargs)
        finally:
            STATE.off = False
    for original, stand_in, value in made:
        now = stand_in._read()
        if now is not value and stand_in._version:
            aten.copy_.default(original, leave(now))
    return _unshadowed(result, made)


def _unshadowed(x: object, made: Sequence[tuple[Tensor, Tensor, object]]) -> object:
    if isinstance(x, Tensor):
        for original, stand_in, _ in made:
            if x is stand_in:
                return original
        v = x._v if x._v is not None else x._read()
        return v.tensor if type(v) is Held else x
    if isinstance(x, tuple):
        items = [_unshadowed(i, made) for i in x]
        return tuple(items) if type(x) is tuple else type(x)(items)
    return [_unshadowed(i, made) for i in x] if type(x) is list else x


def leave(v: Value) -> Tensor:
    """The tensor that a value stands for."""
    return tensor_of(v)


# ---- calls of the engine -------------------------------------------------------------------------


def perform(
    call: Any, tensors: list[Tensor], numbers: Sequence[object], hidden: bool = False
) -> Tree:
    """A call of the engine on tensors, as operators; with ``hidden``, also the results that it
    keeps for its derivative."""
    info = call.extra
    op: Op = info.op
    examples = getattr(call.fn, "of_examples", None)
    if examples is not None:
        operands = aligned(examples[0], examples[1], tensors)
        if operands is not None:
            return perform(examples[0], operands, numbers, hidden)
    if examples is not None or getattr(call.fn, "of_tangents", None) is not None:
        out = products(call, tensors, numbers, _arguments)
        return (
            invoke(step_of(call, tensors), [*tensors, *numbers]) if out is NotImplemented else out
        )
    keeps = hidden and op.fwd is not None and info.tracked is None
    if info.layout and len(info.layout) == len(op.params) and not keeps:
        args, kwargs = _arguments(op, info.layout, tensors, numbers)
        key = op.path
        # the engine's copies are packed; what a body made of them later, it did to its stand-in
        if key == "clone":
            return _packed_copy(tensors[0])
        route = ROUTES.get(key) or route_of(key if not key.startswith("_C.") else f"_C{key[2:]}")
        if route is not NEVER and route is not None:
            if isinstance(route, OpOverloadPacket):
                out = _direct(route, [p.name for p in op.params], args, kwargs)
                if out is not MISSING:
                    return out[1]
            else:
                out = route(*args, **kwargs)
                if out is not NotImplemented:
                    return out
    func = step_of(call, tensors)
    return invoke(func, [*tensors, *numbers])


def _packed_copy(t: Tensor) -> Tensor:
    return (
        aten.clone.default(t)
        if is_contiguous(t)
        else aten.clone.default(t, memory_format=contiguous_format)
    )


def _arguments(
    op: Op, layout: Sequence[Any], tensors: list[Tensor], numbers: Sequence[object]
) -> tuple[Arguments, Keywords]:
    """The arguments that a call was made of."""
    next_tensor, next_number = iter(tensors).__next__, iter(numbers).__next__
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p, entry in zip(op.params, layout, strict=True):
        if p.kind == DTYPE:
            value = None if entry.value is None else dtypes.from_np(entry.value)
        elif p.kind == STATIC:
            value = entry.value
        elif entry is T:
            value = next_tensor()
        elif p.kind == TENSOR_LIST:
            value = (
                None if entry is None else [next_tensor() if present else None for present in entry]
            )
        elif isinstance(entry, Fixed):
            value = entry.value
        elif entry is None:
            value = None if p.required else p.default
        else:
            value = next_number()
        if p.keyword_only:
            kwargs[p.name] = value
        else:
            args.append(value)

    return tuple(args), kwargs


def _run_held(call: Call, ins: Sequence[Value], numbers: Arguments) -> object:
    """What ``Held`` values do with a call of the engine."""
    if STATE.off and not STATE.inside:
        raise RuntimeError(
            f"{call.name}: a tensor of a class with __torch_dispatch__ has no data of its own for "
            "this operator to run on; its handler must run operators on the tensors it holds"
        )
    run = outside if STATE.inside else perform
    out = run(call, [leave(v) for v in ins], numbers)
    if isinstance(out, (tuple, list)):
        return [_value(t) for t in out]
    v = _value(out)
    return v if one_result(call) else [v]


def outside(call: object, tensors: list[Tensor], numbers: Sequence[object]) -> Tree:
    """A call made inside a transformation, on tensors outside, as operators that modes see."""
    before = STATE.inside, STATE.off
    STATE.inside = STATE.off = False
    try:
        with Below():  # the history is that of the tensors inside
            return perform(call, tensors, numbers, hidden=True)
    finally:
        STATE.inside, STATE.off = before


def _record(call: Call, ins: Sequence[Value], numbers: tuple[float, ...]) -> object:
    """Runs a call of a transformation on the values that its own are made of."""
    if (
        not STATE.modes
        or (STATE.off and not STATE.inside)
        or any(isinstance(v, Transformed) for v in ins)
    ):
        return record(call, ins, numbers)
    out = outside(call, [leave(v) for v in ins], numbers)
    if isinstance(out, (tuple, list)):
        return [_value_outside(t) for t in out]
    return _value_outside(out) if one_result(call) else [_value_outside(out)]


def _value_outside(t: Tensor) -> Value:
    return t._v or t._read() if type(t) is Tensor else held(t)


def _value(t: Any) -> Value:
    return held(t) if STATE.modes or type(t) is not Tensor else t._v or t._read()


def _watched() -> bool:
    return bool(STATE.modes) and not STATE.off


INNER.record, INNER.tensor, INNER.watched = _record, leave, _watched
Held.runner = staticmethod(_run_held)
ACTIVE.below = below
__all__ = ["DECOMPOSED", "below", "perform", "resolve", "route_of"]
