"""From declarations to cores: argument code is generated once per op, and compiled into a function
of torch's parameters."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ... import return_types
from ...autograd.dual import NOT_YET, has_tangent
from ...autograd.grad_mode import MODE
from ...autograd.names import named
from ...core import BIRTHS, Tensor, born
from ...dispatch import TENSORS
from .. import hooks
from ..engine import SPECIAL, Value, record, record_one, record_two
from ..facts.determinism import ASKED, alert
from ..facts.errors import HIGHEST_LONG, LOWEST_LONG, must_be_tensor
from ..facts.static_types import STATIC_TABLES, static_of
from ..keeping import code as _code_cache
from ..ops._declare import (
    DTYPE,
    NUMBER,
    OPS,
    OPTIONAL_TENSOR,
    STATIC,
    TENSOR,
    TENSOR_LIST,
    TENSOR_OR_NUMBER,
    TENSOR_OR_STATIC,
    Op,
    Param,
)
from ..ops._facts import Facts
from ..ops._kernel import NUMBERS, Fixed, T, apart
from ..tensor import result_strides
from ..tensor.replacing import replaced
from ..tensor.running import apply, inplace, write_out
from ..tensor.writing import check_inplace, check_overlap
from .arguments import KINDS, NONE, check_numbers, coerce, number, unsigned
from .bound import BOUND, POINTWISE, Bound
from .host_cores import host_code

if TYPE_CHECKING:
    from ..facts.kinds import Decorator, Named


_EMPTY = inspect.Parameter.empty
#: Powers that have formulas of their own.
POWERS = frozenset((-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0))
#: More names of parameters: NumPy's, and those of overloads for numbers.
ALIASES = {
    "input": ("x", "a", "x1"), "other": ("x2",), "dim": ("axis",), "keepdim": ("keepdims",),
    "elements": ("element",), "test_elements": ("test_element",),
}  # fmt: skip


def _operand(
    name: str, p: Param, position: int, indent: str = "", collect: bool = True
) -> list[str]:
    """Code that reads a tensor operand into ``v_<name>``."""
    lines = [
        "try:",
        f"    v_{p.name} = {p.name}._v",
        "except AttributeError:",
        f"    raise _must_be_tensor({name!r}, {p.name!r}, {position}, {p.name}) from None",
        f"if v_{p.name} is None:",
        f"    v_{p.name} = {p.name}._read()",
    ]
    if collect:
        lines += [f"_ins.append(v_{p.name})", f"_ts.append({p.name})"]
    return [indent + line for line in lines]


def _code(op: Op, names: dict[str, object]) -> list[str]:
    """Source lines that compute the op from its parameters, by name, ending in ``return``."""
    params = op.params
    simple = all(p.kind in (TENSOR, STATIC, DTYPE) for p in params)
    lines: list[str] = []
    exact = _exact(op)
    if not simple:
        lines.append("_ins = []; _ts = []; _numbers = []" + ("; _far = False" if exact else ""))
    keys = []
    for i, p in enumerate(params):
        n = p.name
        if p.kind == TENSOR:
            lines += _operand(op.name, p, i + 1, collect=not simple)
            continue
        keys.append(f"k_{n}")
        if p.kind in (STATIC, DTYPE):
            if "tuple" in p.annotation:
                lines += [f"k_{n} = tuple({n}) if type({n}) is list else {n}"]
            elif "float" in p.annotation:
                keys[-1] = (
                    f"({n} or _apart({n}) if type({n}) is float else _apart({n}) if type({n}) is "
                    f"complex else {n})"
                )
            else:
                keys[-1] = n
        elif p.kind == OPTIONAL_TENSOR:
            lines += [
                f"if {n} is None:",
                f"    k_{n} = None",
                "else:",
                *_operand(op.name, p, i + 1, "    "),
                f"    k_{n} = _T",
            ]
        elif p.kind == TENSOR_LIST:
            if n in op.replaces:
                lines.append(f"_b_{n} = len(_ins)")
            lines += [
                f"if {n} is None:",
                f"    k_{n} = None",
                "else:",
                f"    k_{n} = _items({op.name!r}, {n!r}, {i + 1}, {n}, _ins, _ts)",
            ]
            if n in op.replaces:
                lines.append(f"_e_{n} = len(_ins)")
        else:
            names[f"_d_{n}"] = None if p.required else p.default
            lines += [
                *([] if p.required else [f"if {n} is _d_{n}:", f"    k_{n} = None", "else:"]),
                *[
                    ("" if p.required else "    ") + line
                    for line in (
                        [
                            f"k_{n} = _KINDS.get(type({n}))",
                            f"if k_{n} is None:",
                            *_number_or_tensor(op, p, i + 1),
                            f"elif k_{n} is not _NONE:",
                            *_take_number(op, p),
                            *_refuse_none(op, p, i + 1),
                        ]
                    )
                ],
            ]
    if op.underived:
        names |= {"_without_slope": _without_slope, "_Tensor": Tensor}
        lines = [
            f"if isinstance({n}, _Tensor): {n} = _without_slope({n}, {of!r}, {op.aten!r})"
            for n, of in op.underived.items()
        ] + lines
    if op.computes_out:
        lines = [
            "if out is not None and dtype is None:",
            "    dtype = getattr(out, 'dtype', None)",
            *lines,
        ]
    if any(p.name == "inplace" for p in params):
        # The functional form's flag: the result is written into the first operand, as the in-place
        # method does.
        values = {p.name: "False" if p.name == "inplace" else p.name for p in params}
        given = ", ".join(
            f"{p.name}={values[p.name]}" if p.keyword_only else values[p.name] for p in params
        )
        first = params[0].name
        quiet = ", True" if op.repeats == "silently" else ""
        lines = [
            "if inplace:",
            f"    _check_inplace({first}{quiet})",
            *["    " + line for line in inplace_code(op, first, f"_bound.core({given})", names)],
            *lines,
        ]
    if op.itself:  # nothing to compute for some dtypes: the result is the tensor, not a copy of it
        first = params[0].name
        names["_itself"] = op.itself
        lines += [
            f"if _itself(v_{first}.aval.dtype){' and out is None' if op.out else ''}:",
            f"    return {first}",
        ]
    tensors = ", ".join(p.name for p in params if p.kind == TENSOR)
    values = ", ".join(f"v_{p.name}" for p in params if p.kind == TENSOR)
    comma = "," if simple and tensors and "," not in tensors else ""
    key = f"({', '.join(keys)}{',' if len(keys) == 1 else ''})"
    known = [
        "try:",
        "    _call = _calls[_key]",
        "except (KeyError, TypeError):",
        "    _call = _bound.call(_key)",
    ]
    if doubt := _doubt(op, names):
        known = [
            f"if {doubt}:",
            "    _call = _bound.call(_key)",
            "else:",
            *["    " + line for line in known],
        ]
    if exact and not simple:
        given = ", ".join(f"{n!r}: ({n}, k_{n})" for n in exact)
        facts = (op.fits if op.promote else (), op.single, op.truncates)
        others = [
            f"k_{p.name}"
            for p in params
            if p.kind in (TENSOR_OR_NUMBER, TENSOR_OR_STATIC) and p.name not in exact
        ]
        say = (
            f", ({', '.join(others)},)"
            if others and op.promote and not isinstance(op.promote, tuple)
            else ""
        )
        lines.append(f"if _far: _check_numbers({_promoted(op)}, {{{given}}}, *{facts!r}{say})")
    if op.warns is not None:
        names["_warns"] = op.warns
        lines.append(f"_warns({', '.join(inspect.signature(op.warns).parameters)})")
    if op.nondeterministic is not None:
        names |= {"_ASKED": ASKED, "_alert": alert, "_nondeterministic": op.nondeterministic}
        given = ", ".join(inspect.signature(op.nondeterministic).parameters)
        lines.append(
            f"if _ASKED.on and (_caller := _nondeterministic({given})) is not None: _alert(_caller)"
        )
    kinds = {p.name: p.kind for p in params}
    for name, operator in op.underivable.items():
        names[f"_operator_{name}"] = operator
        given = ", ".join(inspect.signature(operator).parameters)
        tensor = (
            f"k_{name} is _T"
            if kinds[name] in (TENSOR_OR_NUMBER, TENSOR_OR_STATIC)
            else f"{name} is not None"
        )
        lines.append(
            f"if {tensor} and {name}._rg and _MODE.enabled and v_{name}.trace is not _SPECIAL:"
        )
        lines.append(f"    _refuse_gradient({name!r}, _operator_{name}({given}))")
    lines += [f"_key = {key}", *known]
    if simple:
        if tensors and (op.strides is None or result_strides.is_of_strided(op.strides)):
            lines += _fast(op)
        lines.append(f"_ts = ({tensors}{comma})")
        lines.append(f"_r = _apply(_call, _ts, ({values}{comma}))")
    else:
        if op.replaces:
            spans = ", ".join([f"(_b_{n}, _e_{n})" for n in op.replaces])
            lines.append("if writes is not None:")
            lines.append(
                f"    _r = _replaced(_call, _ts, _ins, tuple(_numbers), ({spans},), writes)"
            )
            lines.append("    if _r is not None: return _r")
        lines.append("_r = _apply(_call, _ts, _ins, tuple(_numbers))")
    if op.family in POINTWISE or op.returns:
        lines.append("_r = _bound.finish(_r, _ts)")
    if op.strides is not None:
        lines += result_strides.code(op.strides, names)
    if op.laid:  # the flag that asks for a sparse gradient
        lines += [f"if {op.laid} and _r._rg: _lay(_r)"]
    if op.out:
        lines += [
            "if out is not None:",
            f"    return _write_out(_r, out, {op.name!r}{_apart(op)}{_words(op, names)})",
        ]
    lines.append("return _r")
    return lines


def inplace_code(op: Op, first: str, result: str, names: Named) -> list[str]:
    """Source lines that write ``result``, an expression, into the first operand and return that."""
    if op.in_place is None:
        return [f"return _inplace({first}, {result})"]
    names["_in_place"] = op.in_place
    tells = op.in_place.tells
    given = ", ".join(inspect.signature(tells).parameters) if tells is not None else ""
    return [f"return _written({first}, {result}, _in_place.node, _in_place.refusal({given}))"]


def write(t: Tensor, result: Tensor, node: str, refusal: str = "") -> Tensor:
    """Writes a result into the first operand of its function, whose in-place form has another node,
    or no derivative.

    Raises:
        RuntimeError: with the words of ``refusal``, if there are, where a tangent goes through the
            tensor.
    """
    if refusal and (result._rg or result._read().trace is SPECIAL):
        if has_tangent(result):
            raise RuntimeError(refusal)
        result = BOUND["_C.irreversible"].core(result, refusal)
    return inplace(t, named(result, node))


def _without_slope(t: Tensor, of: str, operator: str) -> Tensor:
    """An operand that nobody knows the derivative of, as a tensor that refuses one: ``of`` says of
    which function, and which operand."""
    if t._read().trace is SPECIAL and has_tangent(t):
        raise NotImplementedError(
            f"Trying to use forward AD with {operator} that does not support it {NOT_YET}"
        )
    return (
        BOUND["_C.underived"].core(t, of)
        if (t._rg and MODE.enabled) or t._read().trace is SPECIAL
        else t
    )


def _refuse_gradient(name: str, operator: str | None) -> None:
    """Raises torch's error for an argument that requires grad, with respect to which ``operator``
    has no derivative (None: it has one)."""
    if operator is not None:
        raise RuntimeError(
            f"The function '{operator}' is not differentiable with respect to argument '{name}'. "
            "This input cannot have requires_grad True."
        )


def _lay(t: Tensor) -> None:
    """Has the operation that made the tensor give a sparse gradient."""
    node: Any = t._node
    node.__class__ = hooks.sparse_gradients.get().LAID[node.call.extra.op.name]


def _apart(op: Op) -> str:
    """The arguments that tell which tensors the memory of ``out`` must not be shared with."""
    return (
        ", _ts, True"
        if op.out_apart == "wholly"
        else ", _ts"
        if op.out_apart or op.family in POINTWISE
        else ""
    )


def _words(op: Op, names: dict[str, object]) -> str:
    """The arguments that tell what is said of an ``out`` of another dtype, where the op has words
    of its own, and if it requires grad."""
    names["_op"] = op
    known = (
        ", underivable=True"
        if op.node == "NotImplemented"
        else ", recorded=True"
        if op.differentiable
        else ""
    )
    return (", facts=_op" if op.out_dtype or op.castable else "") + known


def _doubt(op: Op, names: dict[str, object]) -> str:
    """An expression that is true where an internal op got what only equals an int, so that a
    remembered call may not be the right one.

    Public functions look at the types of their arguments; composites hand theirs to internal ops as
    they came.
    """
    if op.namespace != "_C":
        return ""
    statics = [(p.name, static_of(p.annotation)) for p in op.params if p.kind == STATIC]
    names |= STATIC_TABLES
    return " or ".join(
        s.check(name)
        for name, s in statics
        if s is not None and int in s.types | (s.items or set())
    )


def _number_or_tensor(op: Op, p: Param, position: int) -> list[str]:
    n = p.name
    if p.kind == NUMBER:
        return [
            f"    {n} = _number({op.name!r}, {n!r}, {n}); k_{n} = _KINDS[type({n})]",
            *_take_number(op, p),
        ]
    return [
        "    try:",
        f"        v_{n} = {n}._v",
        "    except AttributeError:",
        f"        {n} = _coerce({op.name!r}, {n!r}, {position}, {n}); k_{n} = _KINDS[type({n})]",
        *["        " + line.strip() for line in _take_number(op, p)],
        "    else:",
        f"        if v_{n} is None: v_{n} = {n}._read()",
        f"        _ins.append(v_{n}); _ts.append({n}); k_{n} = _T",
    ]


def _refuse_none(op: Op, p: Param, position: int) -> list[str]:
    """None is an answer only where the annotation says so."""
    if "None" in p.annotation or p.default is None:
        return []
    if p.kind == NUMBER:
        return [
            "else:",
            (
                f"    raise TypeError(\"{op.name}(): argument '{p.name}' must be Number, not "
                'NoneType")'
            ),
        ]
    return ["else:", f"    raise _must_be_tensor({op.name!r}, {p.name!r}, {position}, None)"]


def _exact(op: Op) -> list[str]:
    """The parameters whose numbers must fit the dtype: those that are never tensors, and what the
    declaration names."""
    return [p.name for p in op.params if p.kind == NUMBER or p.name in op.fits]


def _promoted(op: Op) -> str:
    """The tensors whose dtype numbers must fit: where nothing is promoted, the first one."""
    return "_ts[:1]" if op.promote is None else "_ts"


def _take_number(op: Op, p: Param) -> list[str]:
    if p.annotation == "Array | Power":
        return [f"    k_{p.name} = _power({p.name}, _numbers)"]
    if p.kind == TENSOR_OR_STATIC:
        return [f"    k_{p.name} = _Fixed({p.name})"]
    n = p.name
    fits = f"{LOWEST_LONG} <= {n} <= {HIGHEST_LONG}"  # written out: that is faster than names
    exact = n in _exact(op)
    lines = [
        (
            f"    if k_{n} == 'i' and not {fits}: k_{n}, {n} = _unsigned({n}, {exact}, "
            f"{_promoted(op)}, {op.promote!r})"
        )
    ]
    # a look that is enough for nearly all numbers; negative fractions do not fit unsigned numbers
    if exact:
        negative = (
            f" or k_{n} == 'f' and {n} < 0 and _ins[0].aval.dtype.kind == 'u'"
            if op.truncates
            else ""
        )
        lines.append(f"    if k_{n} in 'if' and not -128 <= {n} <= 127{negative}: _far = True")
    return [*lines, f"    _numbers.append({n})"]


def _fast_tensors(op: Op, operands: Sequence[Param], names: dict[str, object]) -> list[str]:
    """The path of several tensors that need nothing special: no list, no number, no keyword."""
    rest = op.params[len(operands) :]
    names["_tt"] = tuple(T for p in operands if p.kind != TENSOR) + (None,) * len(rest)
    given = [p.name for p in operands]
    types = " and ".join([f"type({n}) in _TENSORS" for n in given])
    condition = "".join(f" and {p.name} is _d_{p.name}" for p in rest) + (
        " and out is None" if op.out else ""
    )
    values = [f"_{chr(ord('a') + i)}" for i in range(len(given))]
    record = (
        f"_record_two(_call, {', '.join(values)})"
        if len(given) == 2
        else f"_record(_call, ({', '.join(values)}))"
    )
    return [
        f"if {types}{condition}:",
        "    " + "; ".join([f"{v} = {n}._v" for v, n in zip(values, given, strict=True)]),
        *[f"    if {v} is None: {v} = {n}._read()" for v, n in zip(values, given, strict=True)],
        (
            "    if not "
            f"({' or '.join([f'{n}._rg' for n in given] + [f'{n}._strides' for n in given])}):"
        ),
        "        _call = _calls.get(_tt)",
        "        if _call is not None:",
        f"            _v = {record}",
        *(["            if type(_v) is list: return _bound.wrapped(_v)"] if len(given) > 2 else []),
        "            _r = _new(_Tensor); _r._v = _v",
        "            if _BIRTHS: _r._birth = _born()",
        "            return _r",
        *(_fast_number(op, names) if len(given) == 2 else []),
    ]


def _fast_number(op: Op, names: dict[str, object]) -> list[str]:
    """The path of a tensor and an ordinary number that need nothing special."""
    a, b, *rest = op.params
    if b.annotation != "Array | Number":
        return []
    names["_tf"], names["_ti"] = [
        tuple([T] * (a.kind != TENSOR) + [k] + [None] * len(rest)) for k in "fi"
    ]
    others = "".join(f" and {p.name} is _d_{p.name}" for p in rest) + (
        " and out is None" if op.out else ""
    )
    small = f"-128 <= {b.name} <= 127"
    floats = (
        f"type({b.name}) is float and {small}"
        if b.name in _exact(op)
        else f"type({b.name}) is float"
    )
    return [
        (
            f"elif ({floats} or type({b.name}) is int and {small}) and type({a.name}) in "
            f"_TENSORS{others}:"
        ),
        f"    _a = {a.name}._v",
        f"    if _a is None: _a = {a.name}._read()",
        f"    if not ({a.name}._rg or {a.name}._strides):",
        f"        _call = _calls.get(_tf if type({b.name}) is float else _ti)",
        "        if _call is not None:",
        f"            _r = _new(_Tensor); _r._v = _record(_call, (_a,), ({b.name},))",
        "            if _BIRTHS: _r._birth = _born()",
        "            return _r",
    ]


def _fast(op: Op) -> list[str]:
    """The path of tensors that need nothing special, once the call is known: ``_apply`` without
    what there is nothing to do for."""
    given = [p.name for p in op.params if p.kind == TENSOR]
    values = ", ".join([f"v_{n}" for n in given])
    record = {1: f"_record_one(_call, {values})", 2: f"_record_two(_call, {values})"}.get(
        len(given), f"_record(_call, ({values}))"
    )
    several = "_bound.wrapped(_v)"
    return [
        (
            f"if not ({' or '.join([f'{n}._rg or {n}._strides' for n in given])})"
            f"{' and out is None' if op.out else ''}:"
        ),
        f"    _v = {record}",
        "    if type(_v) is not list:",
        "        _r = _new(_Tensor); _r._v = _v",
        "        if _BIRTHS: _r._birth = _born()",
        "        return _r",
        f"    return {f'_bound.returns({several})' if op.returns else several}",
    ]


def _tensors_of(op: Op) -> list[Param]:
    """The operands of an op that is one of two or more tensors and nothing else that has to be
    given, with one result; else none."""
    count = next(
        (
            i
            for i, p in enumerate(op.params)
            if p.kind not in (TENSOR, TENSOR_OR_NUMBER, TENSOR_OR_STATIC)
        ),
        len(op.params),
    )
    operands, rest = op.params[:count], op.params[count:]
    if count < 2 or op.returns or op.underived or any(p.kind != NUMBER or p.required for p in rest):
        return []
    if count == 2:  # of others the operands are read one by one
        return list(operands) if op.family in ("binary", "comparison") else []
    plain = op.strides is None or result_strides.is_of_strided(op.strides)
    alone = (
        all(p.required for p in operands)
        and any(p.kind != TENSOR for p in op.params)
        and not op.itself
        and not op.laid
    )
    return list(operands) if plain and alone and not op.computes_out else []


def _items(
    name: str, argument: str, position: int, items: object, ins: list[Value], ts: list[Tensor]
) -> tuple[bool, ...]:
    """Reads a list of tensors; tells which items are there."""
    if not isinstance(items, (list, tuple)):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be tuple of Tensors, not "
            f"{type(items).__name__}"
        )
    try:
        values = [t._v for t in items]
    except AttributeError:  # one is missing, or no tensor
        values = [None]
    if None not in values:
        ins += values  # type: ignore[arg-type]
        ts += items
        return (True,) * len(values)
    present = []
    for i, t in enumerate(items):
        if t is None:
            present.append(False)
            continue
        try:
            v = t._v
        except AttributeError:
            raise TypeError(
                f"expected Tensor as element {i} in argument {position - 1}, but got "
                f"{type(t).__name__}"
            ) from None
        ins.append(v if v is not None else t._read())
        ts.append(t)
        present.append(True)
    return tuple(present)


def _power(value: float, numbers: list[object]) -> Fixed | str:
    """The key of a number in a power: it is part of the program only if there is a formula of its
    own for it."""
    if type(value) is float and value not in POWERS:
        numbers.append(value)
        return NUMBERS[float]
    return Fixed(value)


#: What generated code finds under its names.
GENERATED_NAMES = {
    "_must_be_tensor": must_be_tensor, "_items": _items, "_KINDS": KINDS, "_NONE": NONE, "_T": T,
    "_Fixed": Fixed, "_apart": apart, "_coerce": coerce,
    "_number": number, "_apply": apply, "_replaced": replaced, "_write_out": write_out,
    "_record": record, "_record_one": record_one, "_record_two": record_two,
    "_new": object.__new__, "_Tensor": Tensor, "_BIRTHS": BIRTHS, "_born": born,
    "_unsigned": unsigned, "_check_numbers": check_numbers,
    "_lay": _lay, "_MODE": MODE, "_SPECIAL": SPECIAL, "_refuse_gradient": _refuse_gradient,
    "_check_inplace": check_inplace, "_inplace": inplace, "_written": write, "_power": _power,
    "_check_overlap": check_overlap, "__name__": "jtorch._src.bind.cores",
}  # fmt: skip


def compile_function(
    text: str, name: str, names: Named, label: str, signature: inspect.Signature
) -> Callable[..., object]:
    """The function that ``text`` defines, of which ``signature`` tells before its first call; its
    source shows in tracebacks."""
    made = _code_cache.function(text, name, names, f"<{label}>")
    made.__signature__ = signature
    return made


def bind(op: Op) -> Bound:
    """Makes the op's core: a function of its parameters (and ``out``) with torch's names and
    defaults, without override checks."""
    bound = Bound(op)
    if op.returns:
        bound.returns = return_types.make(op.returns, op.fields)
    names: Named = {
        **GENERATED_NAMES,
        "_bound": bound,
        "_calls": bound.calls,
        "_TENSORS": TENSORS,
    }
    if op.host:
        body = host_code(op, names, _words(op, names) if op.out else "")
    else:
        body = _code(op, names)
        if operands := _tensors_of(op):
            body = [*_fast_tensors(op, operands, names), *body]
    signature = signature_of(op)
    text = (
        f"def {op.name}({parameters_of(signature, names)}):\n"
        + "\n".join("    " + line for line in body)
        + "\n"
    )
    core = compile_function(text, op.name, names, f"core of torch.{op.path}", signature)
    core.__doc__ = op.body.__doc__
    bound.core = core
    bound.calls.clear()
    BOUND[op.path] = bound
    bound_sources[op.path] = (body, names)
    return bound


#: Body lines and names of each core, for inlining into public callables.
bound_sources: dict[str, tuple[list[str], dict[str, object]]] = {}


def signature_of(op: Op, first: str | None = None) -> inspect.Signature:
    """The public signature: the kernel's, with ``out`` where the op has it; ``first`` renames the
    first parameter (``self``)."""
    params = []
    for i, p in enumerate(op.params):
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if p.keyword_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        name = first if first and i == 0 else p.name
        params.append(inspect.Parameter(name, kind, default=p.default))
    if op.out and first is None:
        params.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    if op.replaces:
        params.append(inspect.Parameter("writes", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(params)


def parameters_of(signature: inspect.Signature, names: Named) -> str:
    """The parameter list of a ``def``; ``names`` gets the defaults that are no literals."""
    found = []
    star = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            found.append("*")
            star = True
        if p.default is _EMPTY:
            found.append(p.name)
        else:
            names[f"_d_{p.name}"] = p.default
            found.append(f"{p.name}=_d_{p.name}")
    return ", ".join(found)


def composite(
    *,
    namespace: str = "torch",
    name: str | None = None,
    method: bool | str = False,
    operands: Sequence[str] = (),
    lists: Sequence[str] = (),
    aliases: Sequence[str] = (),
    varargs: str | None = None,
    inplace: bool | str = False,
    **facts: Any,
) -> Decorator:
    """Declares a public function that is written with other public functions; overridable like an
    op.

    Args:
        namespace: where it lives: ``torch``, ``nn.functional``, ``Tensor`` (method only),
            ``_C``, ...
        method: also a Tensor method (of that name, if a string).
        operands, lists: the parameters that hold tensors, and lists of them.
        aliases: more public paths.
        varargs: the second parameter, which the method also accepts spread: ``x.reshape(2, 3)``.
        inplace: also ``name_``, which writes the result into its first operand; if ``"unshared"``,
            that must not share memory with others.
        facts: what PyTorch does with it, as ops state it too (``ops/_facts.py``).
    """

    def declare(body: Callable[..., object]) -> Callable[..., object]:
        given = (
            body,
            name or body.__name__,
            namespace,
            method,
            tuple(operands),
            tuple(lists),
            tuple(aliases),
            varargs,
            inplace,
        )
        COMPOSITES.append(Composite(*given, **facts))
        _FACTS[body] = COMPOSITES[-1]
        return body

    return declare


@dataclasses.dataclass(eq=False)
class Composite(Facts):
    """What ``composite`` was told."""

    body: Callable[..., Any]
    name: str
    namespace: str
    method: bool | str
    operands: tuple[str, ...]
    lists: tuple[str, ...]
    aliases: tuple[str, ...]
    varargs: str | None
    inplace: bool | str

    @property
    def path(self) -> str:
        """The public name without ``torch.``."""
        return self.name if self.namespace == "torch" else f"{self.namespace}.{self.name}"


COMPOSITES: list[Composite] = []
_FACTS: dict[Callable[..., object], Facts] = {}


def facts_of(body: Callable[..., object]) -> Facts:
    """What a composite's declaration says, for its body."""
    return _FACTS[body]


def written_in(home: str) -> set[str]:
    """The public functions that PyTorch writes in the module ``torch.<home>``, which offers and
    names them."""
    return {f.name for f in (*OPS.values(), *COMPOSITES) if f.home == home}


def bind_all() -> None:
    """Makes the cores of all declared ops."""
    for op in list(OPS.values()):
        if op.path not in BOUND and op.family not in ("view", "factory", "like"):
            bind(op)
