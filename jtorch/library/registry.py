"""User operators: what is registered for each, and how a call of one runs.

An operator has kernels by device type, on tensors, or one kernel on JAX arrays for all devices; a
derivative; a function of shapes for tensors without data; a rule for ``vmap``. The last three
follow from a JAX kernel where they are not given.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from .._C._functorch import is_batchedtensor
from .._src.aten.calling import call, operands
from .._src.aten.overloads import OpOverload, OpOverloadPacket, fits, namespace_of
from .._src.aten.recording import Rule
from .._src.aten.state import STATE, modes_off
from .._src.engine import Lifted
from ..autograd import traced_function
from ..dispatch import MISSING, override
from .kernels import JaxKernel
from .numbers_given import as_number, of_numpy
from .tags import Tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._src.facts.kinds import Arguments, Function, Keywords, Operands, Row, Tree, Values
    from ..autograd.function_node import FunctionCtx
from .recording import Noted, Unknown, function_of, memory_of, nested_as, no_formula
from .texts import as_written, check_form, check_types, split_name

#: Device types as dispatch keys name them.
KEYS = {"CPU": "cpu", "CUDA": "cuda", "XPU": "xpu", "MPS": "mps", "XLA": "xla", "Meta": "meta"}


class _Below(threading.local):
    """Whether operators run below autograd, as the kernels that are registered for the key
    ``Autograd`` want it."""

    active = False


BELOW = _Below()


class UserOverload(OpOverload):
    """An operator that the program has defined."""

    def __init__(self, packet: OpOverloadPacket, overload: str, text: str) -> None:
        super().__init__(packet, overload, text)
        self.user = UserOp(self)

    def __call__(self, /, *args: object, **kwargs: object) -> Tree:
        """Calls the operator: handlers of operands are asked first."""
        found = override(self, (*args, *kwargs.values()), args, kwargs or None)
        if found is not MISSING:
            return found
        return self.user.called(*self.check(args, kwargs))

    redispatch = __call__

    def check(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with Python's numbers for what can be made one. Raises torch's error for
        the first of a wrong type."""
        schema, given, named = self._schema, list(args), dict(kwargs)
        for i, a in enumerate(schema.arguments):
            if i < len(args):
                x = args[i]
            elif a.name in kwargs:
                x = kwargs[a.name]
            else:
                continue
            if not fits(a.type, x):
                number = as_number(a.type, x)
                if number is not None:
                    if i < len(given):
                        given[i] = number
                    else:
                        named[a.name] = number
                    continue
                kind = a.type.replace("SymInt", "int")
                raise RuntimeError(
                    f"{schema.name}() Expected a value of type '{kind}' for argument '{a.name}' "
                    f"but instead found type '{type(x).__name__}'.\n"
                    f"Position: {i}\n"
                    f"Value: {x!r}\n"
                    f"Declaration: {schema}\n"
                    f"Cast error details: Unable to cast {x} to {kind}"
                )
        return tuple(given), named


class UserPacket(OpOverloadPacket):
    """The overloads of a user operator."""

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Calls the only overload, or the first one that the arguments fit."""
        overloads = self.all()
        if len(overloads) == 1:
            return overloads[0](*args, **kwargs)
        named = {name: of_numpy(x) for name, x in kwargs.items()}
        return super().__call__(*map(of_numpy, args), **named)


def lookup(namespace: str, name: str) -> UserPacket | None:
    """The user operator of that name, with all its overloads; None if there is none."""
    found = namespace_of(namespace).__dict__.get(name)
    return found if isinstance(found, UserPacket) else None


def define(namespace: str, text: str, tags: Any = ()) -> UserOverload:
    """Enters an operator from its schema, without the namespace, with what is said of it: a tag, or
    several.

    Raises:
        RuntimeError: if there is one of that name already, or for types that there are not.
    """
    given, text = text, as_written(text)
    check_form(given)
    head = text.partition("(")[0].strip()
    check_types(given)
    name, _, overload = head.partition(".")
    overload = overload or "default"
    owner = namespace_of(namespace)
    packet = lookup(namespace, name)
    if packet is None:
        packet = owner.__dict__[name] = owner._packets[name] = UserPacket(namespace, name, {})
    if overload in packet._signatures:
        raise RuntimeError(
            f"Tried to register an operator ({namespace}::{text}) with the same name and overload "
            "name multiple times. Each overload's schema should only be registered with a single "
            "call to def()."
        )
    packet._signatures[overload] = text
    made = packet.__dict__[overload] = UserOverload(packet, overload, text)
    made._tags = [tags] if isinstance(tags, Tag) else list(tags)
    for register in _PENDING.pop((namespace, name, overload), ()):
        register(made)
    return made


#: What waits for operators to be defined.
_PENDING: dict[tuple[str, str, str], list[Callable[[UserOverload], None]]] = {}


def when_defined(op: object, register: Callable[[UserOverload], None]) -> None:
    """Registers something for an operator now, or as soon as it is defined: a library may bring its
    kernels first."""
    if isinstance(op, str):
        namespace, name, overload = split_name(op)
        known = lookup(namespace, name)
        if (known is None or overload not in known._signatures) and getattr(
            namespace_of(namespace), name, None
        ) is None:
            _PENDING.setdefault((namespace, name, overload), []).append(register)
            return
    register(found(op))


def forget(overload: UserOverload) -> None:
    """Takes an operator out again."""
    packet = overload._overloadpacket
    packet._signatures.pop(overload._overloadname, None)
    packet.__dict__.pop(overload._overloadname, None)
    if not packet._signatures:
        owner = namespace_of(overload._namespace)
        owner.__dict__.pop(packet.__name__, None)
        owner._packets.pop(packet.__name__, None)


def found(op: object) -> UserOverload:
    """The user operator that a name, an overload, a packet or a ``CustomOpDef`` stands for.

    Raises:
        RuntimeError: if there is none of that name.
        ValueError: for something else.
    """
    op = getattr(op, "_opoverload", op)
    if isinstance(op, str):
        namespace, name, overload = split_name(op)
        packet = lookup(namespace, name)
        if packet is None or overload not in packet._signatures:
            if getattr(namespace_of(namespace), name, None) is not None:
                raise NotImplementedError(
                    f"{op}: registering something for an operator of PyTorch's is not offered; "
                    "define your own"
                )
            raise RuntimeError(f"operator {op} does not exist")
        return getattr(packet, overload)
    if isinstance(op, UserPacket):
        return op.all()[0]  # type: ignore[return-value]
    if isinstance(op, UserOverload):
        return op
    if isinstance(op, (OpOverload, OpOverloadPacket)):
        raise NotImplementedError(
            f"{op}: registering something for an operator of PyTorch's is not offered; define your "
            "own"
        )
    raise ValueError(
        f"expected the name of an operator, an operator or a custom op, got {type(op).__name__}"
    )


class UserOp:
    """What is registered for one operator.

    Attributes:
        kernels: functions of tensors by device type; under None one for every device.
        composite: a function of tensors that autograd sees through.
        autograd_key: a function that is called in place of the operator, to do what autograd has to
            do.
        jax: a kernel on arrays, for every device that has no other.
        rule: ``(backward, setup_context)``.
        autocast: the dtype of floating point arguments, by device type, where autocasting is on.
        autocast_keys: a function that is called instead of the operator, by device type, where
            autocasting is on.
    """

    def __init__(self, overload: UserOverload) -> None:
        self.overload = overload
        self.kernels: dict[str | None, Callable[..., Any]] = {}
        self.disabled: set[str] = set()
        self.composite: Callable[..., Any] | None = None
        self.autograd_key: Callable[..., Any] | None = None
        self.jax: JaxKernel | None = None
        self.fake: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        self.rule: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None
        self.autocast: dict[str, Any] = {}
        self.autocast_keys: dict[str, Callable[..., Any]] = {}
        self.dispatch: dict[type, Callable[..., Any]] = {}
        self.where = ""  # where the Python function comes from, for messages
        # made by ``custom_op``: autograd does not look into its kernels, which are held to what the
        # schema says
        self.opaque = False
        overload.kernel = self.run
        overload.derivative = self._derivative()
        self.function = function_of(self)

    # ---- calling ---------------------------------------------------------------------------------

    def called(self, args: tuple[object, ...], kwargs: Keywords) -> Tree:
        """A call from Python: what was registered for modes and classes is asked first."""
        overload = self.overload
        if self.autocast_keys:
            tensors = operands(overload, overload.complete(args, kwargs))
            kind = tensors[0].device.type if tensors else "cpu"
            if kind in self.autocast_keys and torch.is_autocast_enabled(kind):
                return self.autocast_keys[kind](*args, **kwargs)
        if self.autocast:
            args, kwargs = self._cast(args, kwargs)
        if self.dispatch:
            answer = self._dispatched(args, kwargs)
            if answer is not MISSING:
                return answer
        if self.composite is not None and self.jax is None and not self.kernels:
            positional, named = overload.trimmed(overload.complete(args, kwargs))
            return self.composite(*positional, **named)
        return call(overload, args, kwargs)

    def run(self, values: Values) -> Tree:
        """Runs the operator on plain tensors, and lets autograd remember it."""
        if self.autograd_key is not None and not BELOW.active:
            return self.autograd_key(*self.given(values)[0], **self.given(values)[1])
        if (
            not self.opaque
            and self.rule is None
            and (kernel := self.kernel_for(values)) is not None
            and not self._mapped(values)
        ):
            return self._seen_through(kernel, values)
        if self.overload._schema.is_mutable:
            return self.compute(values)
        if self.jax is not None and self.rule is None and self.kernel_for(values) is None:
            return self.jax(values)
        if not self._remembered(values):
            out = self.compute(values)
            return list(out) if self.returns_list and isinstance(out, tuple) else out
        flat = []
        # Function sees tensors among its arguments only
        for i, a in enumerate(self.overload._schema.arguments):
            if a.type.startswith("Tensor") and isinstance(values[i], (list, tuple)):
                flat.extend(values[i])
            else:
                flat.append(values[i])
        out = self.function.apply(
            [len(v) if isinstance(v, (list, tuple)) else None for v in values], *flat
        )
        if self.returns_lists:
            return tuple(nested_as(out[0], out[1:]))
        return list(out) if self.returns_list and isinstance(out, tuple) else out

    def _remembered(self, values: list[object]) -> bool:
        """Whether somebody derives the call, or maps it."""
        tensors = operands(self.overload, values)
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            return True
        return any(isinstance(t._read(), Lifted) for t in tensors) or traced_function.takes(tensors)

    def _mapped(self, values: list[object]) -> bool:
        """Whether the rule for ``vmap`` that was registered has a say."""
        return self.vmap is not None and any(map(is_batchedtensor, operands(self.overload, values)))

    def _seen_through(self, kernel: Function, values: list[object]) -> object:
        """A kernel in whose functions autograd sees: nothing was registered that says otherwise."""
        args, kwargs = self.given(values)
        out = kernel(*args, **kwargs)
        if not torch.is_grad_enabled() or self.overload._schema.is_mutable:
            return out
        if not any(t.requires_grad for t in operands(self.overload, values)):
            return out

        def noted(x: Tensor) -> Tensor:
            """A result that no function of PyTorch's made of the operands has a gradient that
            nobody knows."""
            if (
                not isinstance(x, Tensor)
                or x.requires_grad
                or not (x.dtype.is_floating_point or x.dtype.is_complex)
            ):
                return x
            return Unknown.apply(
                no_formula(self.overload),
                x,
                *[t for t in operands(self.overload, values) if t.requires_grad],
            )

        return type(out)([noted(x) for x in out]) if type(out) in (list, tuple) else noted(out)

    @property
    def returns_lists(self) -> bool:
        """Whether one of several results is a list of tensors."""
        returns = self.overload._schema.returns
        return len(returns) > 1 and any(x.type == "Tensor[]" for x in returns)

    @property
    def returns_list(self) -> bool:
        """Whether the result is a list of tensors."""
        returns = self.overload._schema.returns
        return len(returns) == 1 and returns[0].type == "Tensor[]"

    def given(self, values: Sequence[object]) -> tuple[Arguments, Keywords]:
        """The call as kernels are given it: every argument."""
        schema = self.overload._schema
        return tuple(values[: schema.count]), {
            a.name: x
            for a, x in zip(schema.arguments[schema.count :], values[schema.count :], strict=True)
        }

    def regroup(self, counts: Sequence[int | None], flat: Operands) -> Values:
        """One value for each parameter, from a flat list in which lists of tensors are spread."""
        found: list[Any] = []
        rest = iter(flat)
        for count, a in zip(counts, self.overload._schema.arguments, strict=True):
            spread = count is not None and a.type.startswith("Tensor")
            found.append([next(rest) for _ in range(count)] if spread else next(rest))  # type: ignore[arg-type]
        return found

    def kernel_for(self, values: Values) -> Function | None:
        """The function of tensors for the devices of the operands."""
        tensors = operands(self.overload, values)
        device = next(
            (t.device.type for t in tensors if t.dim()),
            tensors[0].device.type if tensors else self._asked_for(values),
        )
        if device == "meta":
            return None
        mine = None if device in self.disabled else self.kernels.get(device)
        return mine or self.kernels.get(None)

    def _asked_for(self, values: Values) -> str:
        """The device type that an operator without tensors is given; the CPU if it is given none.

        Raises:
            RuntimeError: where it has kernels by device types, and none for that.
        """
        place = next(
            (
                i
                for i, a in enumerate(self.overload._schema.arguments)
                if a.type.startswith("Device")
            ),
            None,
        )
        device = (
            "cpu" if place is None or values[place] is None else torch.device(values[place]).type
        )
        if (
            place is not None
            and self.kernels
            and None not in self.kernels
            and device not in self.kernels
        ):
            raise RuntimeError(
                f"{self.overload._opname} does not have a kernel registered for {device}. Please "
                "use register_kernel to do so."
            )
        return device

    def _on_meta(self, fake: Function, args: Row, kwargs: Keywords) -> Tree:
        """What the function for tensors without data gives, which may ask for no sizes that
        depend on data unless it is within a mode for such tensors."""
        before = STATE.fake
        STATE.fake = (None, self.overload) if before is None else before
        try:
            return fake(*args, **kwargs)
        finally:
            STATE.fake = before

    def compute(self, values: list[Any]) -> Tree:
        """Runs a kernel, without recording; checks that what it gives is its own."""
        args, kwargs = self.given(values)
        tensors: Any = operands(self.overload, values)
        if any(t.device.type == "meta" for t in tensors):
            if self.fake is not None:
                return self._on_meta(self.fake, args, kwargs)
            if self.overload._schema.is_mutable and not self.overload._schema.returns:
                return None  # nothing of the tensors but their elements could change
            if self.jax is None:
                raise RuntimeError(
                    f"There was no fake impl registered for {self.label}. This is necessary for "
                    "torch.compile/export/fx tracing to work. Please use "
                    f"`{self.overload._opname}.register_fake` to add an fake impl."
                )
        kernel = self.kernel_for(values)
        before = [t._writes for t in tensors]
        with torch.no_grad():
            if kernel is not None:
                out = kernel(*args, **kwargs)
            elif self.jax is not None:
                out = self.jax(values)
            elif self.composite is not None:
                out = self.composite(*args, **kwargs)
            else:
                device = tensors[0].device.type.upper() if tensors else "CPU"
                raise NotImplementedError(
                    f"Could not run '{self.overload.name()}' with arguments from the '{device}' "
                    "backend. This could be because the operator doesn't exist for this backend; "
                    "register a kernel for it."
                )
        self._check_results(out, tensors, before, values)
        return out

    @property
    def label(self) -> str:
        """The operator as messages name it."""
        return f"<CustomOpDef({self.overload._namespace}::{self.overload._opname})>"

    def _check_results(
        self,
        out: Any,
        tensors: Sequence[Tensor],
        before: Sequence[int],
        values: Values,
    ) -> None:
        schema = self.overload._schema
        written = set()
        for i in schema.writes:
            for t in values[i] if isinstance(values[i], list) else (values[i],):
                if isinstance(t, Tensor):
                    written.add(id(t))
                    torch.autograd.graph.increment_version(t)
        for t, version in zip(tensors, before, strict=True):
            if id(t) not in written and t._writes != version:
                raise RuntimeError(
                    f"{self.overload._name}: the operator has changed an argument in place that "
                    "its schema does not declare to be mutated; name it in mutates_args."
                )
        seen = [memory_of(t) for t in tensors]
        for t in out if isinstance(out, (tuple, list)) else (out,):
            if not isinstance(t, Tensor):
                continue
            here = memory_of(t)
            if any(here is x for x in seen):
                raise RuntimeError(
                    f"{self.overload._opname} (with implementation in {self.where}): The output of "
                    "this custom operator (1) must not also be an input to this custom operator "
                    "and (2) may not alias any inputs to this custom operator or other returns. "
                    "The most common way to trigger this error is if we have y = custom_op(x) and "
                    "y and x are the same Tensor. Please instead return a clone of the offending "
                    "output tensor(s) (e.g. return x.clone()) or refactor the custom operator to "
                    "not return y."
                )
            seen.append(here)

    # ---- what is registered for modes, classes and autocast --------------------------------------

    def _cast(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Arguments, Keywords]:
        tensors = operands(self.overload, self.overload.complete(args, kwargs))
        device = tensors[0].device.type if tensors else "cpu"
        dtype = self.autocast.get(device)
        if dtype is None or not torch.is_autocast_enabled(device):
            return args, kwargs

        def cast(x: object) -> Any:
            if isinstance(x, (list, tuple)):
                return [cast(i) for i in x]
            return (
                x.to(dtype)
                if isinstance(x, Tensor) and x.is_floating_point() and x.dtype is not torch.float64
                else x
            )

        return tuple([cast(x) for x in args]), {n: cast(x) for n, x in kwargs.items()}

    def _dispatched(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        types = tuple(
            dict.fromkeys(
                type(t)
                for t in operands(self.overload, self.overload.complete(args, kwargs))
                if type(t) is not Tensor
            )
        )
        for mode in reversed(STATE.modes):
            fn = next((f for cls, f in self.dispatch.items() if isinstance(mode, cls)), None)
            if fn is not None:
                with modes_off():
                    return fn(mode, self.overload, types, args, kwargs)
        for cls in types:
            fn = next((f for known, f in self.dispatch.items() if issubclass(cls, known)), None)
            if fn is not None:
                return fn(self.overload, types, args, kwargs)
        return MISSING

    # ---- derivatives -----------------------------------------------------------------------------

    def gradients(self, ctx: FunctionCtx | Noted, grads: Sequence[object]) -> Row:
        """What the registered ``backward`` gives: one for each argument.

        Raises:
            RuntimeError: if there is none.
        """
        if self.rule is None:
            raise RuntimeError(no_formula(self.overload))
        got = self.rule[0](ctx, *grads)
        return got if isinstance(got, tuple) else (got,)

    def set_up(self, ctx: FunctionCtx | Noted, values: Sequence[object], output: object) -> None:
        """Calls the registered ``setup_context``, if there is one."""
        if self.rule is None or self.rule[1] is None:
            return
        args, kwargs = self.given(values)
        if kwargs:
            self.rule[1](ctx=ctx, inputs=args, keyword_only_inputs=kwargs, output=output)
        else:
            self.rule[1](ctx=ctx, inputs=args, output=output)

    def _derivative(self) -> Rule | None:
        """The derivative as it is recorded for wrappers and under dispatch modes."""
        schema = self.overload._schema
        names = tuple([schema.arguments[i].name for i in schema.tensors])
        if not names or schema.writes:
            return None
        results = (
            ["result"]
            if len(schema.returns) == 1
            else [f"result{j}" for j in range(len(schema.returns))]
        )
        uses = ("grads", *[a.name for a in schema.arguments], *results)

        def formula(grads: list[object], *given: object) -> Any:
            values, outs = list(given[: len(schema.arguments)]), given[len(schema.arguments) :]
            ctx = Noted()
            self.set_up(ctx, values, outs[0] if len(outs) == 1 else tuple(outs))
            if len(outs) > 1:  # numbers beside tensors have no gradient, but a place
                each = iter(grads)
                grads = [next(each) if isinstance(out, Tensor) else None for out in outs]
                if ctx.materialize:
                    grads = [
                        torch.zeros_like(out) if g is None and isinstance(out, Tensor) else g
                        for g, out in zip(grads, outs, strict=True)
                    ]
            got = self.gradients(ctx, grads)
            chosen = tuple([got[i] if i < len(got) else None for i in schema.tensors])
            return chosen if len(names) > 1 else chosen[0]

        return Rule([(names, formula, uses)], None)
