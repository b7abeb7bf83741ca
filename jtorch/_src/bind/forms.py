"""The public forms of an op, made around its core: functions under all their paths, methods,
in-place methods and operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import MODE, no_grad
from ...autograd.names import camel, written
from ...core import Tensor, from_host
from ...dispatch import TENSORS
from ..facts import dtypes
from ..facts.errors import CPP_NAMES, given_twice
from ..ops._declare import (
    OPTIONAL_TENSOR,
    TENSOR,
    TENSOR_LIST,
    TENSOR_OR_NUMBER,
    TENSOR_OR_STATIC,
    Op,
)
from ..protocol.overridable import specialise
from ..tensor.running import inplace
from ..tensor.writing import check_inplace, check_overlap
from .bound import BOUND, POINTWISE
from .cores import (
    ALIASES,
    GENERATED_NAMES,
    Composite,
    bound_sources,
    compile_function,
    inplace_code,
    parameters_of,
    signature_of,
)

if TYPE_CHECKING:
    from ..facts.kinds import Function, Keywords


# ---- spellings -----------------------------------------------------------------------------------


def spellings(op: Op, path: str) -> dict[str, str]:
    """The names of the op's parameters on a public path, where they are others: ``op.spelled``, for
    this path if it is by paths."""
    by_path = any(isinstance(names, dict) for names in op.spelled.values())
    return op.spelled.get(path, {}) if by_path else op.spelled


def spelled(
    signature: inspect.Signature, names: dict[str, str]
) -> tuple[inspect.Signature, list[str]]:
    """The signature with PyTorch's ``names`` for a public path, and the lines that give the op's
    parameters their values."""
    params, lines = [], []
    for p in signature.parameters.values():
        name = names.get(p.name, p.name)
        if not name:
            lines.append(f"{p.name} = {p.default!r}")
            continue
        if name.endswith("/"):
            name, p = name[:-1], p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if name != p.name:
            lines.append(f"{p.name} = {name}")
        params.append(p.replace(name=name))
    return signature.replace(parameters=params), lines


# ---- public callables ----------------------------------------------------------------------------

#: Operators that PyTorch writes in Python, beside the reflected ones that it does not share with
#: the plain operator.
_IN_PYTHON = frozenset(("__pow__", "__ipow__", "__floordiv__"))
COMMUTATIVE = frozenset("+*&|^")
#: Operator methods of each sign: (name, in-place name, reflected name, swapped operands in the
#: reflected form).
OPERATORS = {
    "+": ("__add__", "__iadd__", "__radd__"),
    "-": ("__sub__", "__isub__", "__rsub__"),
    "*": ("__mul__", "__imul__", "__rmul__"),
    "/": ("__truediv__", "__itruediv__", "__rtruediv__"),
    "//": ("__floordiv__", "__ifloordiv__", "__rfloordiv__"),
    "%": ("__mod__", "__imod__", "__rmod__"),
    "**": ("__pow__", "__ipow__", "__rpow__"),
    "@": ("__matmul__", None, "__rmatmul__"),
    "&": ("__and__", "__iand__", "__rand__"),
    "|": ("__or__", "__ior__", "__ror__"),
    "^": ("__xor__", "__ixor__", "__rxor__"),
    "<<": ("__lshift__", "__ilshift__", "__rlshift__"),
    ">>": ("__rshift__", "__irshift__", "__rrshift__"),
    "==": ("__eq__", None, None),
    "!=": ("__ne__", None, None),
    "<": ("__lt__", None, None),
    "<=": ("__le__", None, None),
    ">": ("__gt__", None, None),
    ">=": ("__ge__", None, None),
    "neg": ("__neg__", None, None),
    "pos": ("__pos__", None, None),
    "abs": ("__abs__", None, None),
    "invert": ("__invert__", None, None),
}


def paths_of(record: Op | Composite) -> list[str]:
    """The paths of a declaration's public forms that give a result of their own: functions, methods
    and operators under all names."""
    found = [record.path, *record.aliases]
    if record.method or record.namespace == "Tensor":
        method = record.method if isinstance(record.method, str) else record.name
        found += [f"Tensor.{name}" for name in (method, *record.aliases) if "." not in name]
    for sign in getattr(record, "operators", ()):
        plain, _, reflected = OPERATORS[sign]
        found += [f"Tensor.{name}" for name in (plain, reflected) if name is not None]
    return found


def inplace_names(record: Op | Composite) -> list[str]:
    """The names of a declaration's in-place forms, Python's operators among them; a function that
    is one by itself has its own name."""
    if not record.inplace:
        return [record.name] if record.name.endswith("_") else []
    names = [f"{path.rpartition('.')[2]}_" for path in (record.path, *record.aliases)]
    return names + [
        name
        for sign in getattr(record, "operators", ())
        if (name := OPERATORS[sign][1]) is not None
    ]


def repeats_of(record: Op | Composite) -> bool | tuple[str, str]:
    """How ``check_inplace`` is to take a tensor with elements that several indices share."""
    return (
        (f"{record.name}_", record.repeats)
        if record.repeats not in ("", "silently")
        else bool(record.repeats)
    )


def _operand_names(op: Op) -> tuple[list[str], list[str]]:
    operands = [
        p.name
        for p in op.params
        if p.kind in (TENSOR, OPTIONAL_TENSOR, TENSOR_OR_NUMBER, TENSOR_OR_STATIC)
    ]
    lists = [p.name for p in op.params if p.kind == TENSOR_LIST]
    return operands, lists


def _aliases(op: Op, native: bool = True) -> dict[str, tuple[str, ...]]:
    """NumPy's names of parameters, which PyTorch's parser knows, and thus its functions written in
    C++."""
    taken = {p.name for p in op.params}
    found = {
        p.name: tuple([a for a in ALIASES[p.name] if a not in taken])
        for p in op.params
        if p.name in ALIASES
    }
    return found if native else {n: a for n, a in found.items() if n not in ("input", "other")}


def annotations_of(op: Op, path: str = "") -> dict[str, str]:
    """What the op says of its parameters, by the names that they have on a public path."""
    names = spellings(op, path)
    return {names.get(p.name, p.name).rstrip("/"): p.annotation for p in op.params}


def public_function(op: Op, path: str | None = None) -> Callable[..., object]:
    """``torch.<path>``: the op with override checks."""
    bound = BOUND[op.path]
    path = path or op.path
    label = f"torch.{path}"
    told = {
        "wrapped": op.body,
        "doc": op.body.__doc__,
        "native": op.is_native(path),
        "parsed": True,
        "old_orders": op.old_orders,
        "unsaid": op.unsaid,
    }
    operands, lists = _operand_names(op)
    if op.out:
        operands.append("out")
    if op.varargs and op.params[0].name == op.varargs:
        impl = _spread(bound.core, op, method=False)
        return specialise(impl, label, operands, lists, annotations=annotations_of(op), **told)
    lines, names = bound_sources[op.path]
    signature, core = signature_of(op), bound.core
    if others := spellings(op, path):
        signature, first = spelled(signature, others)
        lines = [*first, *lines]
        operands = [others.get(n, n) for n in operands]
        core = _method_core(op, op.name, lines, names, signature)
    if op.before is not None:
        mine = op.before.__code__
        lines, names = (
            [f"_before({', '.join(mine.co_varnames[: mine.co_argcount])})", *lines],
            {**names, "_before": op.before},
        )
        core = _method_core(op, op.name, lines, names, signature)
    return specialise(
        core,
        label,
        operands,
        lists,
        signature=signature,
        aliases=_aliases(op, told["native"]),
        body="\n".join(lines),
        names=names,
        annotations=annotations_of(op, path),
        **told,
    )


def method(op: Op, name: str) -> Function:
    """``torch.Tensor.<name>``."""
    bound = BOUND[op.path]
    operands, lists = _operand_names(op)
    first = op.params[0].name
    operands = ["self" if n == first else n for n in operands]
    label = f"torch.Tensor.{name}"
    told = {
        "wrapped": op.body,
        "doc": op.body.__doc__,
        "native": op.is_native(f"Tensor.{name}"),
        "parsed": True,
        "old_orders": op.old_orders,
        "unsaid": op.unsaid,
    }
    if op.varargs:
        spread = _spread(bound.core, op, method=True)
        return specialise(spread, label, operands, lists, annotations=annotations_of(op), **told)
    lines, names = bound_sources[op.path]
    body = [f"{first} = self", *([] if not op.out else ["out = None"]), *lines]
    signature = signature_of(op, "self")
    if others := spellings(op, f"Tensor.{name}"):
        signature, renaming = spelled(signature, others)
        body = [*renaming, *body]
        operands = [others.get(n, n) for n in operands]
    impl = _method_core(op, name, body, names, signature)
    return specialise(
        impl,
        label,
        operands,
        lists,
        signature=signature,
        aliases=_aliases(op),
        body="\n".join(body),
        names=names,
        annotations=annotations_of(op, f"Tensor.{name}"),
        **told,
    )


def _method_core(
    op: Op, name: str, body: list[str], names: dict[str, object], signature: inspect.Signature
) -> Function:
    safe = name if name.isidentifier() else "method"
    scope = dict(names)
    text = (
        f"def {safe}({parameters_of(signature, scope)}):\n"
        + "\n".join("    " + line for line in body)
        + "\n"
    )
    made = compile_function(text, safe, scope, f"core of torch.Tensor.{name}", signature)
    made.__doc__ = op.body.__doc__
    return made


def _spread(core: Callable[..., object], op: Op, *, method: bool) -> Function:
    """A form that takes the ``varargs`` parameter spread, packed, or by keyword."""
    name = op.varargs
    place = next(i for i, p in enumerate(op.params) if p.name == name)
    before = [p.name for p in op.params[:place]]

    spread: Function
    if place == 0:

        def all_spread(*args: Any, **kwargs: Any) -> Any:
            if name in kwargs:
                return core(once(op.name, name, args, kwargs), **kwargs)
            return core(packed(args), **kwargs)

        spread = all_spread
    else:

        def rest_spread(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            if name in kwargs:
                return core(self, once(op.name, name, args, kwargs), **kwargs)
            if not args:
                raise TypeError(f'{op.name}() missing 1 required positional arguments: "{name}"')
            return core(self, packed(args), **kwargs)

        spread = rest_spread
    params = [
        inspect.Parameter("self" if method else n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for n in before
    ]
    params.append(inspect.Parameter(name or "", inspect.Parameter.VAR_POSITIONAL))
    rest = op.params[place + 1 :]
    params += [
        inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default) for p in rest
    ]
    params.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    spread.__signature__ = inspect.Signature(params)
    spread.__doc__ = op.body.__doc__
    spread.__name__ = op.name
    return spread


def once(function: str, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """The argument given by name, which is taken out of ``kwargs``.

    Raises:
        TypeError: if it is given by position, too.
    """
    if args:
        raise given_twice(function, name)
    return kwargs.pop(name)


def packed(args: tuple[object, ...]) -> Any:
    """One sequence of what was given one by one or as a sequence: ``x.view(2, 3)`` and
    ``x.view((2, 3))``."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return tuple(args[0])
    return args


def inplace_doc(name: str, path: str, target: str = "the tensor") -> str:
    """The docstring of the in-place form of a function, which describes the arguments."""
    return f"""In-place form of ``{name}``.

    The result of ``torch.{path}``, where arguments, dtypes and errors are described, is written \
into
    {target}, which is returned.

    Raises:
        RuntimeError: if the result has another shape, or a dtype that cannot be cast to the one \
that
            is there; while operations are recorded, for a leaf that requires grad.
    """


def inplace_method(op: Op, name: str, prefix: str = "torch.Tensor") -> Callable[..., object]:
    """``torch.Tensor.<name>_``: the result is written into the first operand, which is returned."""
    core = BOUND[op.path].core
    operands, lists = _operand_names(op)
    first = op.params[0].name
    signature = signature_of(op, "self" if prefix.endswith("Tensor") else first)
    if not prefix.endswith("Tensor"):
        signature = signature.replace(
            parameters=[p for p in signature.parameters.values() if p.name != "out"]
        )
    me = "self" if prefix.endswith("Tensor") else first
    operands = [me if n == first else n for n in operands]
    names = {**GENERATED_NAMES, "_core": core}
    others = ", ".join(n for n in (operands if op.family in POINTWISE else op.unmixed) if n != me)
    repeats = f", {repeating!r}" if (repeating := repeats_of(op)) else ""
    given = ", ".join(
        f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name
        for p in signature.parameters.values()
    )
    body = [
        f"if type({me}) not in _TENSORS and not isinstance({me}, _Tensor):",
        f"    raise _must_be_tensor({name!r}, {me!r}, 1, {me})",
        f"_check_inplace({me}{repeats})",
        *([f"if {me}._al is not None: _check_overlap({me}, ({others},))"] if others else []),
        *([f"_check_overlap({me}, ({', '.join(op.unshared)},), True)"] if op.unshared else []),
        *inplace_code(op, me, f"_core({given})", names),
    ]
    if op.computes_out:
        names["_of_own"] = _of_own
        body.insert(-1, f"dtype = _of_own({me}, dtype)")
    if op.written is not None:
        names["_written"] = op.written
        body.insert(2, f"_written({me})")
    if op.unrecorded:
        names["_unrecorded"] = unrecorded
        body = [body[0], body[1], f"return _unrecorded({me}, [{others}], lambda: _core({given}))"]
    elif not op.differentiable and op.family == "comparison":
        names["_cut"] = cut
        body[-1] = f"return _cut({op.name!r}, {me}, [{others}], _core({given}))"
    names["_TENSORS"] = TENSORS
    text = (
        f"def {name}({parameters_of(signature, names)}):\n"
        + "\n".join("    " + line for line in body)
        + "\n"
    )
    impl = compile_function(text, name, names, f"core of {prefix}.{name}", signature)
    doc = inplace_doc(op.name, op.path, "the tensor" if me == "self" else f"``{me}``")
    return specialise(
        impl,
        f"{prefix}.{name}",
        operands,
        lists,
        signature=signature,
        aliases=_aliases(op),
        body="\n".join(body),
        names=names,
        doc=doc,
        wrapped=op.body,
        annotations=annotations_of(op),
        old_orders=op.old_orders,
        unsaid=op.unsaid,
    )


def _of_own(t: Tensor, dtype: dtypes.dtype) -> object:
    """The dtype in which an in-place form computes: its tensor's own, which is all that may be
    asked for."""
    if dtype is not None and dtype is not t.dtype:
        mine, its = t.dtype.scalar_name, dtype.scalar_name
        mine, its = CPP_NAMES.get(mine, mine), CPP_NAMES.get(its, its)
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {mine} and output tensor dtype {its} should "
            "match"
        )
    return t.dtype


def unrecorded(t: Tensor, others: list[Tensor], compute: Callable[[], Any]) -> Tensor:
    """Writes what is computed into a tensor, unseen by autograd: leaves may require grad, and
    histories stay."""
    with no_grad():
        check_inplace(t)
        if t._al is not None:
            check_overlap(t, others)
        return inplace(t, compute())


def cut(name: str, t: Tensor, others: list[object], result: Tensor) -> Any:
    """Writes a result through which no gradient passes into a tensor: its history and the operands'
    end here, with zeros."""
    tracked = [x for x in (t, *others) if isinstance(x, Tensor) and x._rg] if MODE.enabled else []
    if not tracked or not t._aval.differentiable:
        return inplace(t, result)
    made = result.to(t.dtype)
    nowhere = result.new_zeros((), dtype=dtypes.bool_)
    for x in tracked:
        if x.is_complex() and not t.is_complex():
            x = x.real
        made = BOUND["_C._where"].core(nowhere, x, made)
    return written(
        inplace(t, made), f"{camel(name)}Backward{int(any(isinstance(x, Tensor) for x in others))}"
    )


def operator_methods(
    op: Op, sign: str, made: Callable[..., object]
) -> dict[str, Callable[..., object]]:
    """The Python operators of an op; ``made`` is the method that handlers are told."""
    plain_name, inplace_name, reflected = OPERATORS[sign]
    core = BOUND[op.path].core
    found: dict[str, Callable[..., Any]] = {}
    if len(op.params) == 1 or sign in ("neg", "pos", "abs", "invert"):
        signature = inspect.Signature(
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
        )
        found[plain_name] = specialise(
            _inverted(core) if sign == "invert" else _one(core),
            f"torch.Tensor.{plain_name}",
            ["self"],
            signature=signature,
            reports=made,
            doc=op.body.__doc__,
        )
        return found
    signature = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in ("self", "other")]
    )
    operands = ["self", "other"]
    options: Keywords = {"signature": signature, "operator": True, "doc": op.body.__doc__}
    lines, names = bound_sources[op.path]
    a, b, *rest = op.params
    body = [
        f"{a.name} = self; {b.name} = other" if (a.name, b.name) != ("self", "other") else "pass"
    ]
    body += [f"{p.name} = _d_{p.name}" for p in rest] + (["out = None"] if op.out else []) + lines
    # PyTorch's ``==`` asks its left operand alone and then calls the method, which asks both.
    alone = plain_name == "__eq__"
    found[plain_name] = specialise(
        _two(made if alone else core),
        f"torch.Tensor.{plain_name}",
        operands,
        asks="self" if alone else "",
        otherwise=_equals_array(made) if alone else None,
        reports=made,
        body="\n".join(body),
        names=names,
        native=plain_name not in _IN_PYTHON,
        **options,
    )
    if reflected is not None:
        own = reflected if sign not in COMMUTATIVE else None
        # PyTorch's reflected sums and products are the methods: the tensor is the first operand.
        swapped = [f"{a.name} = other; {b.name} = self", *body[1:]] if own else body
        found[reflected] = specialise(
            (lambda self, other: core(other, self)) if own else _two(core),
            f"torch.Tensor.{reflected}",
            operands,
            reports=None if own else made,
            body="\n".join(swapped),
            names=names,
            native=own is None,
            otherwise=_over_unknown if sign == "/" else None,
            **options,
        )
    if inplace_name is not None and op.inplace:
        pointwise = op.family in POINTWISE

        def update(self: Tensor, other: Any) -> Tensor:
            if self._al is not None and self._al.storage.refusal is not None:
                self = BOUND["clone"].core(self)  # ``x[i] += 1`` writes what comes of it into ``x``
            check_inplace(self)
            if self._al is not None and pointwise:
                check_overlap(self, (other,))
            return inplace(self, core(self, other))

        found[inplace_name] = specialise(
            update,
            f"torch.Tensor.{inplace_name}",
            operands,
            native=inplace_name not in _IN_PYTHON,
            **options,
        )
    return found


def _inverted(core: Callable[..., object]) -> Callable[..., object]:
    def inverted(self: Tensor) -> Any:
        try:
            return core(self)
        except NotImplementedError as e:
            if not str(e).startswith('"bitwise_not_cpu"'):
                raise
            # The operator has words of its own for numbers that have no bits.
            raise TypeError(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
            ) from None

    return inverted


def _one(core: Callable[..., object]) -> Callable[[Any], Any]:
    """A core as the method of one operand that Python calls; also hides the core's other
    parameters."""

    def call(self: Tensor) -> Any:
        return core(self)

    return call


def _equals_array(made: Callable[..., object]) -> Callable[..., object]:
    """``==`` takes NumPy's arrays for tensors, as no other operator does."""

    def equals(self: Tensor, other: object) -> object:
        if not isinstance(other, np.ndarray) or other.dtype not in dtypes.BY_NP:
            return NotImplemented
        return made(self, from_host(other))

    return equals


def _over_unknown(self: object, other: object) -> object:
    """The reflected division leaves what it does not know to the product with the reciprocal:
    NumPy's arrays know that."""
    if isinstance(other, (Tensor, bool, int, float, complex)):
        return NotImplemented
    try:
        return BOUND["reciprocal"].core(self) * other
    except TypeError:
        return NotImplemented


def _two(core: Callable[..., object]) -> Callable[..., object]:
    def call(self: Tensor, other: Any) -> Any:
        return core(self, other)

    return call
