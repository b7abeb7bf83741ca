"""How operators run on plain tensors: by the public function of the same name, or as stated here
where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import Tensor
from .. import hooks
from ..bind.cores import COMPOSITES
from ..bind.everything import PUBLIC
from ..ops._declare import OPS
from ..ops._hosted import FORMULAS
from ..protocol.withheld import known_signature
from ..tensor.running import write_out
from .by_names import differentiated_by, through_python
from .overloads import OpOverload, OpOverloadPacket, aten
from .pulling import through

if TYPE_CHECKING:
    from ..facts.kinds import Decorator, Operand


#: Kernels by packet name, or by packet and overload name: functions with the schema's parameters.
KERNELS: dict[str, Callable[..., object]] = {}
#: What ``autocast`` does to operators that are no public functions, by packet name: as declarations
#: of functions state it.
POLICIES: dict[str, str] = {}
_PREFIXES = {"linalg_": "linalg.", "special_": "special.", "fft_": "fft."}


def kernel(*operators: OpOverload | OpOverloadPacket | str, autocast: str = "") -> Decorator:
    """Declares how operators run, with all their overloads or one; as text where it is not certain
    that there are such."""

    def declare(body: Callable[..., object]) -> Callable[..., object]:
        for operator in operators:
            name = operator if isinstance(operator, str) else operator.__name__
            KERNELS[name] = body
            if autocast:
                POLICIES[name] = autocast
        return body

    return declare


def kernel_of(func: OpOverload) -> Callable[[list[Any]], Any]:
    """The function of a value for each parameter that runs an operator."""
    found = func.kernel
    if found is None:
        found = func.kernel = _find(func)
    return found


def _find(func: OpOverload) -> Callable[..., object]:
    hooks.operator_kernels.get()
    schema = func._schema
    name = func._opname
    stated = KERNELS.get(f"{name}.{func._overloadname}") or (
        None if schema.outs else KERNELS.get(name)
    )
    if stated is not None:
        body = stated

        def run_stated(values: Sequence[object]) -> object:
            args, kwargs = func.trimmed(values)
            return body(*args, **kwargs)

        run_stated.body = body  # type: ignore[attr-defined]
        return run_stated
    if schema.outs:
        return _writing(func)
    public = _public(name)
    if public is None and name.endswith("_") and not name.startswith("__"):
        return _in_place(func)
    if public is None and name.endswith("_backward"):
        found = _backward(func)
        if found is not None:
            return found
    if public is None:
        raise NotImplementedError(
            f"{func}: this operator is not offered here; no function computes it"
        )

    by_name = through_python(func, public)
    if by_name is not None:
        return by_name
    named = _named(func, public)
    if named:
        names = [a.name for a in schema.arguments]
        fixed = (
            {"return_indices": True}
            if len(schema.returns) == 2 and "return_indices" in parameters_of_public(public)
            else {}
        )

        def run_named(values: Sequence[object]) -> object:
            args, kwargs = func.trimmed(values)
            given = dict(zip(names[named.start :], args[named.start :])) | kwargs
            return public(
                *args[: named.start], **{named.to.get(k, k): v for k, v in given.items()}, **fixed
            )

        return run_named

    def run_public(values: list[object]) -> object:
        args, kwargs = func.trimmed(values)
        return public(*args, **kwargs)

    # for who has trimmed the arguments already
    run_public.body = public  # type: ignore[attr-defined]
    return run_public


def _backward(func: OpOverload) -> Callable[[list[Any]], Any] | None:
    """The gradient of a function of one tensor, from the function; None for operators that are not
    that."""
    forward = differentiated_by(func)
    if forward is None:
        return None
    places = {a.name: i for i, a in enumerate(func._schema.arguments)}
    order = [places[a.name] for a in forward._schema.arguments]
    at = forward._schema.places["self"]

    def run(values: list[object]) -> Any:
        given = [values[i] for i in order]
        return through(
            lambda x: kernel_of(forward)([*given[:at], x, *given[at + 1 :]]), given[at], values[0]
        )

    return run


class _Named(NamedTuple):
    """From which argument on a function is given them by name, and what it calls those it calls
    otherwise."""

    start: int
    to: dict[str, str]


def _named(func: OpOverload, public: Callable[..., object]) -> _Named | None:
    """How to call a function that has an operator's parameters, but at other places; None if they
    are where the operator's are.

    What the function has no name for stays where it is: it tells by type what is meant.
    """
    mine = parameters_of_public(public)
    for i, argument in enumerate(func._schema.arguments):
        if argument.kwarg_only or i == 0:
            continue
        if i < len(mine) and mine[i] == argument.name:
            continue
        rest = [a.name for a in func._schema.arguments[i:]]
        to = {name: name if name in mine else f"_{name}" for name in rest}
        return _Named(i, to) if set(to.values()) <= set(mine) else None
    return None


def parameters_of_public(public: Callable[..., object]) -> list[str]:
    """The names of a function's parameters, in order; none if they cannot be told."""
    try:
        return list(known_signature(public).parameters)
    except (TypeError, ValueError):
        return []


def _public(name: str) -> Callable[..., object] | None:
    if name.endswith("_") and not name.startswith("__"):
        return PUBLIC.get(f"Tensor.{name}") or PUBLIC.get(f"nn.functional.{name}")
    for prefix, namespace in _PREFIXES.items():
        if name.startswith(prefix):
            found = PUBLIC.get(namespace + name.removeprefix(prefix))
            if found is not None:
                return found
    return PUBLIC.get(name) or PUBLIC.get(f"nn.functional.{name}") or PUBLIC.get(f"Tensor.{name}")


def functional_of(func: OpOverload) -> OpOverload | None:
    """The operator of the same meaning that gives a new tensor, for one that writes into ``out`` or
    in place."""
    schema = func._schema
    first = 0 if schema.outs else 1  # what is written in place is always called self
    names = [a.name for a in schema.arguments if not a.is_out][first:]
    kinds = [a.type for a in schema.arguments if not a.is_out]
    plain = func._opname if schema.outs else func._opname.rstrip("_")
    packets = [getattr(aten, name, None) for name in (plain, f"{plain}_functional")]
    for other in [other for packet in packets if packet is not None for other in packet.all()]:
        arguments = other._schema.arguments
        if (
            not other._schema.writes
            and [a.name for a in arguments[first:]] == names
            and [a.type for a in arguments] == kinds
        ):
            return other
    return None


def _writing(func: OpOverload) -> Callable[..., object]:
    base = functional_of(func)
    if base is None:
        raise NotImplementedError(
            f"{func}: this operator is not offered here; no function computes it"
        )
    count, name = len(func._schema.arguments) - len(func._schema.outs), func._opname
    facts = OPS.get(name) or next(
        (c for c in COMPOSITES if c.namespace == "torch" and c.name == name), None
    )

    def run_out(values: list[Tensor | int]) -> object:
        result = kernel_of(base)(values[:count])
        outs = values[count:]
        if isinstance(result, (tuple, list)):
            return tuple(
                [write_out(r, o, name, facts=facts) for r, o in zip(result, outs, strict=True)]
            )
        return write_out(result, outs[0], name, facts=facts)

    return run_out


def _in_place(func: OpOverload) -> Callable[[list[Any]], Any]:
    base = functional_of(func)
    if base is None:
        raise NotImplementedError(
            f"{func}: this operator is not offered here; no function computes it"
        )

    def run_in_place(values: list[Operand]) -> Tensor:
        return values[0].copy_(kernel_of(base)(values))

    return run_in_place


def formula_of(equation: str) -> Callable[..., object] | None:
    """The formula that an equation of a kernel stands for, by its name; None if it is one of
    JAX's."""
    return FORMULAS.get(equation)
