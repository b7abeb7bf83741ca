"""What a declaration says about an op: its record, the decorators that make it, gradient rules and
value checks.

``docs/internals.md`` describes the annotations and options for authors of ops.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import operator
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._facts import Facts
from ._nodes import Rule

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand


Array: TypeAlias = jax.Array
#: A Python number for the caller, a 0-d array for the kernel: what the checker takes for both.
Number: TypeAlias = Any
#: A tensor, or a Python number that is static if there is a formula of its own for it (``x ** 2``),
#: else an input of the program.
Power: TypeAlias = Any
Dtype: TypeAlias = Any

F = TypeVar("F", bound=Callable[..., Any])

#: Kinds of parameters; see ``docs/internals.md``.
TENSOR, OPTIONAL_TENSOR, TENSOR_OR_NUMBER, NUMBER, TENSOR_LIST, DTYPE, STATIC, TENSOR_OR_STATIC = (
    range(8)
)

_KINDS = {
    "Array": TENSOR,
    "Array | None": OPTIONAL_TENSOR,
    "Array | Number": TENSOR_OR_NUMBER,
    "Array | Number | None": TENSOR_OR_NUMBER,
    "Array | float": TENSOR_OR_STATIC,
    "Array | float | None": TENSOR_OR_STATIC,
    "Array | Power": TENSOR_OR_STATIC,
    "Number": NUMBER,
    "Number | None": NUMBER,
    "list[Array]": TENSOR_LIST,
    "list[Array | None]": TENSOR_LIST,
    "list[Array] | None": TENSOR_LIST,
    "Dtype": DTYPE,
    "Dtype | None": DTYPE,
}


@dataclasses.dataclass(eq=False, slots=True)
class Param:
    """One parameter of an op."""

    name: str
    kind: int
    default: Any
    keyword_only: bool
    annotation: str

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def holds_tensors(self) -> bool:
        return self.kind in (
            TENSOR,
            OPTIONAL_TENSOR,
            TENSOR_OR_NUMBER,
            TENSOR_LIST,
            TENSOR_OR_STATIC,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """How the graph shows what an in-place form wrote: the node's name, where it is not the
    function's.

    PyTorch takes derivatives of such forms from the result. ``tells``, of some of the parameters,
    says whether that can be done for them; else a derivative is refused with a RuntimeError of
    these ``words``.
    """

    node: str
    tells: Callable[..., bool] | None = None
    words: str = ""

    def refusal(self, *args: object) -> str:
        """Why there is no derivative for these arguments of ``tells``, or nothing."""
        return "" if self.tells is None or self.tells(*args) else self.words


@dataclasses.dataclass(eq=False)
class Op(Facts):
    """Everything that is known of one op; variants, overrides, stubs and tests are derived from
    it."""

    name: str
    body: Callable[..., Any]
    params: tuple[Param, ...]
    namespace: str = "torch"
    aliases: tuple[str, ...] = ()
    method: bool | str = False
    inplace: bool | str | tuple[str, ...] = False
    out: bool = False
    operators: tuple[str, ...] = ()
    promote: str | tuple[str, ...] | None = None
    check: Callable[[list[Any]], None] | None = None
    check_if: Callable[[dict[str, Any]], Callable[[list[Any]], None] | None] | None = None
    admits: Callable[[dict[str, Any]], None] | None = None
    warns: Callable[..., None] | None = None
    before: Callable[..., None] | None = None
    nondeterministic: Callable[..., str | None] | None = None
    underivable: dict[str, Callable[..., str | None]] = dataclasses.field(default_factory=dict)
    underived: dict[str, str] = dataclasses.field(default_factory=dict)
    broadcast: bool = False
    elementwise: bool = False
    varargs: str | None = None
    spelled: dict[str, Any] = dataclasses.field(default_factory=dict)
    listed: dict[str, Callable[[Any], Any]] = dataclasses.field(default_factory=dict)
    returns: str | None = None
    fields: tuple[str, ...] = ()
    itself: Callable[[Any], bool] | None = None
    laid: str | None = None
    unrecorded: bool = False
    written: Callable[[Any], None] | None = None
    replaces: tuple[str, ...] = ()
    unshared: tuple[str, ...] = ()
    unmixed: tuple[str, ...] = ()
    constant: tuple[int, ...] = ()
    saves: tuple[str, ...] | None = None
    unchecked: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    wraps: bool = False
    shown: tuple[int | None, ...] = ()
    absent: bool = False
    host: bool = False
    apart: bool = False
    wide: bool = False
    fits: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    truncates: bool = False
    alike: tuple[str, ...] = ()
    computes_out: bool = False
    sequence: bool | str = False
    strides: str | None = None
    aten: str | None = None
    bounds: Callable[..., Any] | None = None
    family: str = "op"
    rule: Callable[..., Any] | None = None
    fwd: Callable[..., Any] | None = None
    node: str | Rule | None = None
    refusal: Exception | None = None
    in_place: Written | None = None
    module: str = ""

    @property
    def path(self) -> str:
        """The public name without ``torch.``: ``add``, ``nn.functional.relu``."""
        return self.name if self.namespace == "torch" else f"{self.namespace}.{self.name}"

    def __repr__(self) -> str:
        return f"<op {self.path}>"


#: Every declared op by its public path.
OPS: dict[str, Op] = {}
_BY_BODY: dict[Callable[..., object], Op] = {}


def _params_of(body: Callable[..., object]) -> tuple[Param, ...]:
    params = []
    for p in inspect.signature(body).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(f"{body.__name__}: a kernel takes no *{p.name}; use varargs='{p.name}'")
        annotation = (
            p.annotation
            if isinstance(p.annotation, str)
            else getattr(p.annotation, "__name__", str(p.annotation))
        )
        kind = _KINDS.get(annotation, STATIC)
        params.append(Param(p.name, kind, p.default, p.kind is p.KEYWORD_ONLY, annotation))
    return tuple(params)


def op(
    *,
    name: str | None = None,
    method: bool | str | None = None,
    operators: str | tuple[str, ...] = (),
    **options: Any,
) -> Callable[[F], F]:
    """Declares the decorated kernel as an op and returns it unchanged. ``docs/internals.md`` lists
    the options."""

    def declare(body: F) -> F:
        params = _params_of(body)
        namespace = options.get("namespace", "torch")
        is_method = method
        if is_method is None:
            first = params[0].name if params else ""
            is_method = (
                namespace in ("torch", "special", "Tensor")
                and first in ("input", "self")
                and params[0].holds_tensors
            )
        record = Op(
            name=name or body.__name__,
            body=body,
            params=params,
            method=is_method,
            operators=tuple(operators.split()) if isinstance(operators, str) else operators,
            module=body.__module__,
            **options,
        )
        if record.path in OPS:
            raise ValueError(
                f"op {record.path} is declared twice: in {OPS[record.path].module} and "
                f"{record.module}"
            )
        OPS[record.path] = record
        _BY_BODY[body] = record
        return body

    return declare


def _family(family: str, **preset: Any) -> Callable[..., Callable[[F], F]]:
    def decorator(**options: Any) -> Callable[[F], F]:
        return op(**{"family": family, **preset, **options})

    decorator.__name__ = family
    decorator.__doc__ = (
        f"Declares an op of the {family} family: ``op`` with {preset} unless said otherwise."
    )
    return decorator


#: How ``div`` promotes: as ``"float"``, but as ``"common"`` with a ``rounding_mode``.
UNLESS_ROUNDED = "float unless rounding_mode"

unary = _family("unary", elementwise=True, promote="float", broadcast=True, out=True)
binary = _family("binary", elementwise=True, promote="common", broadcast=True, out=True)
comparison = _family(
    "comparison", elementwise=True, promote="common", broadcast=True, out=True, differentiable=False
)
pointwise = _family("pointwise", elementwise=True, promote="common", broadcast=True, out=True)
reduction = _family("reduction", out=True)
shape = _family("shape", saves=())


def find(body: Callable[..., object]) -> Op:
    """The record of a declared kernel."""
    return _BY_BODY[body]


def defvjp(
    body: Callable[..., object],
    rule: Callable[..., object],
    *,
    saves: tuple[str, ...] | None = None,
    fwd: Function | None = None,
    shown: tuple[int | None, ...] = (),
    absent: bool = False,
) -> None:
    """Gives the op of ``body`` a hand-written gradient; see ``docs/internals.md`` for the form of
    ``rule`` and ``fwd``.

    ``shown`` tells of the residuals of ``fwd`` which are results that the caller sees, by their
    numbers: in-place changes of these are refused. With ``absent`` the rule gets None for results
    that no gradient comes from, which then add nothing; else it gets zeros.
    """
    record = find(body)
    record.rule, record.fwd, record.shown, record.absent = rule, fwd, shown, absent
    if saves is not None:
        record.saves = saves


def without_derivative(body: Callable[..., object], error: Exception) -> None:
    """States that the op of ``body`` has a derivative that nobody knows: ``error`` is raised when a
    backward pass comes to it.

    Of a RuntimeError the node is PyTorch's ``NotImplemented``, which its operators without a
    formula have; others have a name of their own.
    """

    def rule(*_: object, **__: object) -> Any:
        raise error

    defvjp(body, rule, saves=())
    record = find(body)
    record.refusal = error
    if type(error) is RuntimeError and record.node is None:
        record.node = "NotImplemented"


@dataclasses.dataclass(slots=True)
class Guard:
    """A check on values inside a kernel: raised by the call if ``bad`` turns out true.

    ``span`` says where the elements of ``array``, an operand or a number as the kernel got it, may
    lie: ``(low, high, hole, skip)``; ``exact`` that the check fails if one lies elsewhere.
    """

    bad: Any
    exc_type: type[Exception]
    message: str
    value: Any
    array: Any = None
    span: tuple[float, float, float | None, float | None] | None = None
    exact: bool = True


class _Collectors(threading.local):
    def __init__(self) -> None:
        self.stack: list[list[Guard] | None] = []
        self.derivatives: list[list[Guard]] = []


_collectors = _Collectors()


def guard(bad: Array, exc_type: type[Exception], message: str, value: Array | None = None) -> None:
    """States in a kernel that ``bad`` (a bool array, any shape) must be false everywhere.

    ``{}`` in ``message`` is replaced by ``value`` (an integer array of the same shape, at the first
    bad place). Outside the engine, for instance when a kernel is called directly or under
    ``jax.jit``, nothing is checked. The call runs at once, with what it depends on: where the check
    is about the elements of one operand, ``guard_range`` costs less.
    """
    stack = _collectors.stack
    if stack and stack[-1] is not None:
        stack[-1].append(Guard(bad, exc_type, message, value))


def guard_gradient(bad: object, exc_type: type[Exception], message: str) -> None:
    """As ``guard``, in a rule of ``defvjp``: what the gradients of results must fulfil for the
    operand's to have a meaning."""
    if _collectors.derivatives:
        _collectors.derivatives[-1].append(Guard(bad, exc_type, message, None))


def _compared(how: Callable[..., object], x: Array, limit: float) -> Operand:
    """How an array compares with a number. Positions are compared in JAX's primitives: they are
    traced for each new size."""
    if type(limit) is int and x.dtype in _POSITIONS and abs(limit) <= np.iinfo(x.dtype).max:
        return how(x, x.dtype.type(limit))
    return _COMPARED[how](x, limit)


_POSITIONS = np.dtype(np.int32), np.dtype(np.int64)
_COMPARED: dict[Any, Callable[[Any, Any], Any]] = {
    lax.lt: operator.lt,
    lax.gt: operator.gt,
    lax.eq: operator.eq,
}


def guard_range(
    x: Array,
    low: float | None,
    high: float | None,
    exc_type: type[Exception],
    message: str,
    *,
    hole: float | None = None,
    skip: float | None = None,
    of: Array | None = None,
    nan: bool = False,
    loose: bool = False,
) -> None:
    """States in a kernel that ``low <= x <= high`` everywhere, and ``x != hole``; elements equal to
    ``skip`` may lie anywhere.

    What is known of the operand answers that without running anything: its numbers where it is
    concrete, and where it is pending the interval that the kernels before it imply.

    Args:
        x: an array of real numbers.
        low: the least that is allowed; None for no limit.
        high: the greatest.
        exc_type: what is raised, with ``message``.
        message: may hold ``{}``, for the first integer that is not allowed.
        hole: a number in between that is not allowed.
        skip: a number that is always allowed.
        of: the operand, as the kernel got it, whose elements ``x`` has, if it is not ``x`` itself.
        nan: whether NaN is allowed.
        loose: that elements of ``of`` outside may be right, too, as ``x`` are not all of them.
    """
    stack = _collectors.stack
    if not stack or stack[-1] is None:
        return
    x = jnp.asarray(x)
    if not x.size:
        return
    bad = None
    for outside in (
        None if low is None else _compared(lax.lt, x, low),
        None if high is None else _compared(lax.gt, x, high),
        None if hole is None else _compared(lax.eq, x, hole),
    ):
        if outside is not None:
            bad = outside if bad is None else lax.bitwise_or(bad, outside)
    assert bad is not None
    integral = jnp.issubdtype(x.dtype, jnp.integer)
    if not integral and not nan:
        bad = bad | jnp.isnan(x)
    if skip is not None:
        bad = bad & (x != skip)
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    span = least, most, hole, skip
    stack[-1].append(
        Guard(
            bad,
            exc_type,
            message,
            x if integral else None,
            x if of is None else of,
            span,
            not (nan or loose),
        )
    )


@contextlib.contextmanager
def collecting(guards: list[Guard] | None) -> Iterator[None]:
    """Collects the guards of kernels traced inside; None discards them."""
    _collectors.stack.append(guards)
    try:
        yield
    finally:
        _collectors.stack.pop()


@contextlib.contextmanager
def collecting_of_rule(guards: list[Guard]) -> Iterator[None]:
    """Collects what a rule states inside by ``guard_gradient``; the guards of kernels are
    discarded."""
    _collectors.derivatives.append(guards)
    try:
        with collecting(None):
            yield
    finally:
        _collectors.derivatives.pop()
