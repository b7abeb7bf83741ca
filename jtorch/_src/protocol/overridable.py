"""Makes public callables of implementations: functions, methods, operators and properties that
honour the override protocol.

A generated callable has one positional-only parameter per position, one stopper after them, and one
parameter per keyword, all with the default ``MISSING``. So it knows exactly what was given by
position and what by keyword, as handlers must be told, and CPython still calls it by its fastest
path, which ``*args`` and ``**kwargs`` would forbid. ``inspect.signature`` shows the real signature,
unless it is withheld.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ...dispatch import (
    ACTIVE,
    LAYOUTS,
    MANY,
    MISSING,
    NOWRAP,
    PLAIN,
    STATIC,
    TENSORS,
    add_plain,
    all_plain,
    override,
    quick,
    register,
)
from ..facts.dtypes import dtype
from ..facts.static_types import STATIC_TABLES, Static, static_of
from ..keeping import code as _code_cache
from .shared_arguments import completed
from .slow_path import EMPTY, Caller, Layout
from .withheld import known_signature, withhold_signature

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Named


_SEQUENCES = frozenset((list, tuple))

#: What generated code finds under its names.
_NAMES = {
    "__name__": __name__, "_M": MISSING, "_ACTIVE": ACTIVE, "_PLAIN": PLAIN, "_STATIC": STATIC,
    "_TENSORS": TENSORS, "_SEQUENCES": _SEQUENCES, "_all_plain": PLAIN.issuperset,
    "_all_plain_items": all_plain, "_all_static": STATIC.issuperset,
}  # fmt: skip


#: Operators that handlers are told by themselves; the others by the method of the same meaning.
_TOLD_BY_THEMSELVES = frozenset(
    f"torch.Tensor.{name}"
    for name in (
        "__pow__",
        "__floordiv__",
        "__and__",
        "__or__",
        "__xor__",
        "__lshift__",
        "__rshift__",
        "__invert__",
        "__eq__",
    )
)
#: The ``__name__`` that torch gives some operator methods.
_OPERATOR_NAMES = {
    "__abs__": "abs", "__neg__": "neg", "__pos__": "positive", "__pow__": "pow", "__ipow__": "pow_",
    "__itruediv__": "__idiv__", "__rtruediv__": "__rdiv__",
}  # fmt: skip


#: Modules whose functions have its name before their own.
_PREFIXED = frozenset(("linalg", "fft", "special"))


def _check(value: str, kind: str | Static) -> str:
    """An expression that is true if ``value`` needs a closer look."""
    if isinstance(kind, Static):
        return kind.check(value)
    if kind == "self":
        return f"type({value}) not in _TENSORS"
    if kind == "list":
        plain = (
            f"_all_plain(map(type, {value})) if len({value}) < {MANY} else "
            f"_all_plain_items({value})"
        )
        return f"type({value}) not in _SEQUENCES or not ({plain})"
    if kind == "any":
        return (
            f"type({value}) not in _PLAIN and (type({value}) not in _SEQUENCES or not "
            f"_all_plain_items({value}))"
        )
    return f"type({value}) not in {'_PLAIN' if kind == 'tensor' else '_STATIC'}"


def _statics(annotations: Mapping[str, object], kinds: Mapping[str, str]) -> dict[str, Static]:
    """What the annotations of parameters that hold no tensors say, where they say it."""
    found = {n: static_of(a) for n, a in annotations.items() if n not in kinds and type(a) is str}
    return {n: s for n, s in found.items() if s is not None}


class _Source:
    """Collects the text of a generated callable."""

    def __init__(self, names: Named) -> None:
        self.lines: list[str] = []
        self.names = names
        #: The tuples of what was given, as an expression.
        self.given = ""

    def literal(self, value: Any, hint: str) -> str:
        """An expression for a default value."""
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        self.names[f"_default_{hint}"] = value
        return f"_default_{hint}"


def _merge(
    value: str,
    sources: Sequence[str],
    default: str | None,
    kind: str | Static,
    slow: str,
    unlike: str = "",
) -> list[str]:
    """Lines that set ``value`` to the one of ``sources`` that was given, or to the default; without
    one the slow path complains. ``unlike`` says what else leads there where it was given."""
    first, *rest = sources
    none_given = (
        _merge(value, rest, default, kind, slow, unlike)
        if rest
        else [slow if default is None else f"{value} = {default}"]
    )
    given_twice = "".join(f"{other} is not _M or " for other in rest)
    return [
        f"if {first} is _M:",
        *("    " + line for line in none_given),
        f"elif {given_twice}{unlike.format(first)}{_check(first, kind)}:",
        f"    {slow}",
        "else:",
        f"    {value} = {first}",
    ]


def _unlike(name: str, caller: Caller) -> str:
    """What is asked of a parameter that only some overloads have, where it was given."""
    other = caller.unsaid.get(name)
    if other is None:
        return ""
    if not other:
        return "{} is None or "
    places = [p.name for p in caller.layout.positional]
    given = [other, f"_{places.index(other)}"] if other in places else [other]
    return f"_M is {' is '.join(given)} or "


def _fixed_form(
    source: _Source, name: str, caller: Caller, kinds: Mapping[str, str | Static], body: str | None
) -> None:
    """The text for a signature without ``*args`` and ``**kwargs``."""
    layout, by_keyword = caller.layout, set(caller.layout.keywords)
    slots = [f"_{i}" for i in range(len(layout.positional))]
    # Operators, and methods of no argument but self, can be given nothing else: their plain
    # parameters are required.
    bare = not caller.names and not any(p.default is not EMPTY for p in layout.positional)
    if bare:
        header = (
            [
                *(
                    f"{s}=_M" if s == "_0" and caller.is_method and caller.alone else s
                    for s in slots
                ),
                "/",
            ]
            if slots
            else []
        )
    else:
        header = [f"{slot}=_M" for slot in slots]
        header += ["_over=_M", "/"] + [f"{k}=_M" for k in caller.names]
    positional, named = slots if bare else [*slots, "_over"], caller.names
    source.given = (
        f"({''.join(s + ', ' for s in positional)}), ({''.join(k + ', ' for k in named)})"
    )
    slow = f"return _slow({source.given})"

    # One condition decides between this text and the slow path. It must hold for the calls that
    # programs make most, tensors by position, and cost them next to nothing: a type in a set is
    # asked for, never ``isinstance``, as subclasses may override.
    doubtful, absent, merges, values = ["_ACTIVE.modes"], [] if bare else ["_over"], [], []
    for slot, p in zip(slots, layout.positional, strict=True):
        kind = kinds.get(p.name, "static")
        if p.default is EMPTY and (kind != "static" or p.name not in by_keyword):
            # Operands are mostly given by position: only that is fast.
            check = _check(slot, kind)
            doubtful.append(f"({check})" if kind == "any" else check)
            values.append(slot)
            absent += [p.name] if p.name in by_keyword else []
        else:
            default = None if p.default is EMPTY else source.literal(p.default, p.name)
            sources = [p.name, slot] if p.name in by_keyword else [slot]
            unlike = _unlike(p.name, caller)
            merges += _merge(f"v{slot}", sources, default, kind, slow, unlike)
            values.append(f"v{slot}")
    for p in layout.keyword_only:
        default = None if p.default is EMPTY else source.literal(p.default, p.name)
        kind, unlike = kinds.get(p.name, "static"), _unlike(p.name, caller)
        merges += _merge(f"v_{p.name}", [p.name], default, kind, slow, unlike)
        values.append(f"v_{p.name}")
    absent += list(layout.alias_of)
    if absent:
        doubtful.append(f"not (_M is {' is '.join(absent)})")
    lines = [
        f"if {' or '.join(doubtful)}:",
        *[f"    {line}" for line in _slow_lines(slow, slots, absent, named, caller)],
        *merges,
    ]
    if body is not None:
        # The core's text stands in the public function itself: one Python call less on each
        # operation. The inlined body reads the parameters under their own names.
        lines += [f"{n} = {v}" for n, v in zip(caller.all_names, values, strict=True)]
        lines += body.splitlines()
    else:
        count = len(values) if caller.all_positional else len(slots)
        by_name = [
            f"{p.name}={v}" for p, v in zip(layout.keyword_only, values[len(slots) :], strict=True)
        ]
        lines.append(
            "return "
            f"_impl({', '.join(values[:count] + ([] if caller.all_positional else by_name))})"
        )
    source.lines = [f"def {name}({', '.join(header)}):", *("    " + line for line in lines)]


def _slow_lines(
    slow: str, slots: list[str], absent: list[str], named: Sequence[str], caller: Caller
) -> list[str]:
    """The way to the handlers, short if nothing was given by keyword."""
    if not caller.native:
        return [slow]
    names = [*(["_over"] if "_over" in absent else []), *named]
    ask = f"return _ask(({''.join(s + ', ' for s in slots)}))"
    return (
        [f"if _M is {' is '.join(names)}:", f"    {ask}", slow.replace("_slow", "_ask")]
        if names
        else [ask]
    )


def _open_form(
    source: _Source, name: str, caller: Caller, kinds: Mapping[str, str | Static]
) -> None:
    """The text for a signature with ``*args`` or ``**kwargs``."""
    star = caller.layout.star
    kind = kinds.get(star.name) if star is not None else "tensor"
    if isinstance(kind, Static):
        doubtful = kind.check("_a")
    else:
        doubtful = f"type(_a) not in {'_PLAIN' if kind in ('tensor', 'any') else '_STATIC'}"
    self_, first = ("_0, /, ", "_0, ") if caller.is_method else ("", "")
    slow = f"return _call(({first}*_args,), _kwargs)"
    if caller.native:
        slow = f"return _ask(({first}*_args,)) if not _kwargs else _call(({first}*_args,), _kwargs)"
    unlike = " or not _caller.is_declared(_kwargs)" if caller.statics else ""
    source.lines = [
        f"def {name}({self_}*_args, **_kwargs):",
        f"    if _ACTIVE.modes{' or type(_0) not in _TENSORS' if caller.is_method else ''}:",
        f"        {slow}",
        "    for _a in _args:",
        f"        if {doubtful}:",
        f"            {slow}",
        "    if not _kwargs:",
        f"        return _impl({first}*_args)",
        *(
            ()
            if isinstance(kind, Static)
            else (f"    if not _all_plain(map(type, _kwargs.values())){unlike}:",)
        ),
        f"    {slow}" if isinstance(kind, Static) else f"        {slow}",
        f"    return {'_run' if caller.layout.alias_of else '_impl'}({first}*_args, **_kwargs)",
    ]


def _indent_into_try(lines: list[str], handler: Sequence[str]) -> list[str]:
    head, *body = lines
    return [
        head,
        "    try:",
        *("    " + line for line in body),
        *("    " + line for line in handler),
    ]


def _is_own(impl: Callable[..., object]) -> bool:
    return (getattr(impl, "__module__", None) or "").startswith("jtorch")


def _is_tensor(value: object) -> bool:
    tensor = dispatch.tensor_type()
    return tensor is None or isinstance(value, tensor)


def _is_declined(value: object, error: TypeError) -> bool:
    """Whether an operator of a tensor leaves an operand that it does not know to that. JAX's errors
    of tracers speak of their values."""
    return _is_tensor(value) and not type(error).__module__.startswith("jax")


#: Operators leave what they cannot do to the other operand; called on what is no tensor they are
#: methods like others.
_DECLINE = (
    "except TypeError as _error:",
    "    if not _is_declined(_0, _error): raise",
    "    return NotImplemented",
)


def specialise(
    impl: Callable[..., object],
    public: str,
    operands: Iterable[str] = (),
    lists: Iterable[str] = (),
    *,
    native: bool = True,
    parsed: bool | None = None,
    opaque: bool = True,
    overridable: bool = True,
    operator: bool = False,
    otherwise: Callable[[Any, Any], Any] | None = None,
    reports: Any = None,
    signature: inspect.Signature | None = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    all_positional: bool = False,
    body: str | None = None,
    names: Mapping[str, object] | None = None,
    extract: Callable[..., Iterable[object]] | None = None,
    doc: str | None = None,
    wrapped: Callable[..., object] | None = None,
    enter: bool = True,
    annotations: Mapping[str, Any] | None = None,
    old_orders: tuple[str, ...] = (),
    asks: str = "",
    unsaid: tuple[str, ...] = (),
) -> Callable[..., Any]:
    """The public callable for ``impl``, known as ``public``: ``torch.add``, or the method
    ``torch.Tensor.add``.

    ``impl`` is called with a value for every parameter: positional ones by position, keyword-only
    ones by keyword (by position too with ``all_positional``). ``operands`` names the parameters
    that hold tensors, ``lists`` those that hold lists of them. Every argument may be a duck; of the
    other parameters only containers are not looked into.

    Args:
        native: whether PyTorch has this function in C++ (see ``dispatch.override``).
        parsed: whether arguments that do not fit are explained as PyTorch's parser does; by default
            if ``native``.
        opaque: whether the body calls no public function.
        overridable: False for functions that only modes see, such as factories.
        operator: a TypeError becomes NotImplemented, as Python's operator methods want it.
        otherwise: called before that with the operands, to give a result all the same.
        reports: the callable that handlers are told, if another one (``Tensor.add`` for
            ``Tensor.__add__``).
        signature: the public signature, if not that of ``impl``.
        aliases: more spellings of keywords: ``{"dim": ("axis",)}``.
        body: source lines to put in place of the call of ``impl``, reading the parameters by name;
            ``impl`` then serves the slow path only. ``names`` are the globals it needs.
        extract: called with the arguments, returns the operands to ask (by default all arguments,
            in order).
        wrapped: ``__wrapped__``, where ``inspect.getsource`` lands; ``impl`` if not given.
        enter: whether to enter the callable into the table of public functions.
        old_orders, asks, unsaid: the parameters of deprecated overloads, who is asked, and what
            only some overloads have, as ``ops/_facts.py`` tells.
        annotations: of the parameters by name, if not those of the signature: a parameter that is
            said to be an int takes no bool.
    """
    if asks == "self":
        extract = _self_alone
    elif asks:
        overridable, extract = False, _no_operands
    if asks == "nobody":
        if enter:
            register(public, impl, overridable=False, native=native)
        return impl
    prefix, _, name = public.rpartition(".")
    is_method = prefix == "torch.Tensor"
    parsed = native if parsed is None else parsed
    sig = signature or signature_of(impl)
    layout = Layout(sig, is_method, aliases or {})
    caller = Caller(impl, name, layout, is_method, native, opaque)
    caller.all_positional = all_positional
    caller.takes_keywords = not all_positional and not layout.alias_of and _fills_in(impl, sig)
    caller.extract, caller.old_orders, caller.space = extract, old_orders, prefix
    kinds: Named = dict.fromkeys(operands, "tensor") | dict.fromkeys(lists, "list")
    if extract is not None:
        kinds = dict.fromkeys(sig.parameters, "any")
    if is_method and layout.positional:
        kinds[layout.positional[0].name] = "self"
    if annotations is None:
        annotations = {n: p.annotation for n, p in sig.parameters.items()}
    if layout.star is not None and layout.star.name in annotations:
        # Its items are given one by one, or all in one sequence.
        items = annotations[layout.star.name]
        annotations = {
            **annotations,
            layout.star.name: f"int | {items}" if items == "tuple[int, ...]" else items,
        }
    caller.statics = _statics(annotations, kinds)
    if native and not operator:
        caller.tensors = frozenset(
            n for n, k in kinds.items() if k == "tensor" and annotations.get(n) in _ONLY_TENSORS
        )
        kinds |= {n: "self" for n in caller.tensors if annotations[n] == "Tensor"}
    caller.unsaid = {n: other for n, _, other in (item.partition(":") for item in unsaid)}
    kinds |= caller.statics

    own = {
        "_impl": impl,
        "_slow": caller.given,
        "_call": caller,
        "_caller": caller,
        "_ask": quick(caller),
        "_explained": caller.explained,
    }
    if otherwise is not None:
        own["_otherwise"] = otherwise
    source = _Source({**_NAMES, **STATIC_TABLES, **(names or {}), **own})
    # The code carries the public name, for tracebacks; a name that is no identifier for ``def`` is
    # given afterwards.
    def_name = name if name.isidentifier() else "function"
    if layout.open_ended:
        source.names["_run"] = lambda *args, **kwargs: caller.run(args, kwargs)
        _open_form(source, def_name, caller, kinds)
    else:
        _fixed_form(source, def_name, caller, kinds, body)
    lines = source.lines
    if operator:
        lines = _indent_into_try(
            lines,
            _DECLINE if otherwise is None else (*_DECLINE[:-1], "    return _otherwise(_0, _1)"),
        )
    elif (
        parsed
        and prefix in _EXPLAINED
        and name.isidentifier()
        and not name.startswith("__")
        and _is_own(impl)
    ):
        caller.path = public.removeprefix("torch.")
        given = "(*_args,), _kwargs" if layout.open_ended else source.given
        if layout.open_ended and is_method:
            given = "(_0, *_args), _kwargs"
        handler = (
            "except (TypeError, AttributeError):",
            f"    _better = _explained({given})",
            "    if _better is None: raise",
            *(
                ("    if type(_better) is tuple: return _caller.func(*_better[0], **_better[1])",)
                if old_orders
                else ()
            ),
            "    raise _better from None",
        )
        lines = _indent_into_try(lines, handler)
    function: Any = _code_cache.function(
        "\n".join(lines) + "\n", def_name, source.names, f"<{public}>"
    )

    # PyTorch's functions of these modules have their namespace in their name, which handlers see.
    space = prefix.removeprefix("torch.")
    function.__name__ = f"{space}_{name}" if space in _PREFIXED else _OPERATOR_NAMES.get(name, name)
    function.__qualname__ = f"Tensor.{name}" if is_method else name
    function.__module__ = (
        "jtorch" + prefix.removeprefix("torch").removesuffix(".Tensor")
        if prefix.startswith("torch")
        else prefix
    )
    function.__doc__ = completed(impl.__doc__ if doc is None else doc, sig.parameters)
    function.__signature__ = sig
    function.__wrapped__ = impl if wrapped is None else wrapped
    function._implementation = impl
    caller.func = function if reports is None or public in _TOLD_BY_THEMSELVES else reports
    caller.handlers_off = asks == "modes"
    if enter:
        register(public, function, overridable=overridable, native=native)
    if native and not dispatch.tells_signatures:
        withhold_signature(function)
    return function


#: What is annotated so takes neither numbers nor arrays.
_ONLY_TENSORS = ("Tensor", "Tensor | None")
#: ``inspect.signature``, asked once for each function: several public forms are made from it.
signature_of = functools.cache(known_signature)


def _self_alone(self: Tensor, *_args: object) -> tuple[object, ...]:
    return (self,)


def _no_operands(*_args: object, **_kwargs: object) -> tuple[object, ...]:
    return ()


def _fills_in(impl: Callable[..., object], sig: inspect.Signature) -> bool:
    """Whether ``impl`` itself has the defaults of the public signature."""
    try:
        own = signature_of(impl).parameters
    except (TypeError, ValueError):
        return False
    return all(
        n in own and own[n].default is p.default and own[n].kind is p.kind
        for n, p in sig.parameters.items()
    )


# --------------------------------------------------------------------------------------- properties


#: The properties that compute a tensor, and so are operators to those below.
_COMPUTED = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))
_NAMES["_is_declined"] = _is_declined
#: Namespaces whose functions parse their arguments as PyTorch's parser does.
_EXPLAINED = frozenset(
    ("torch", "torch.Tensor", "torch.linalg", "torch.fft", "torch.special", "torch.nn.functional")
)


#: The properties that hand out a stored tensor: the same object each time, of its own class.
_STORED = frozenset(("grad", "_grad", "_base"))


class TensorProperty(property):
    """A property of Tensor with a name; handlers are told its bound ``__get__``, ``__set__`` or
    ``__delete__``."""

    __name__: str
    __qualname__: str  # pyright: ignore[reportIncompatibleVariableOverride]
    __objclass__: type | None = None


class _ReadOnly(TensorProperty):
    """One that cannot be set."""

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(
            f"attribute '{self.__name__}' of 'torch._C.TensorBase' objects is not writable"
        )


def specialise_property(
    name: str,
    get: Callable[..., object],
    set: Callable[..., object] | None = None,
    delete: Callable[..., object] | None = None,
    doc: str | None = None,
) -> TensorProperty:
    """The overridable property ``torch.Tensor.name`` and its entry in the table."""
    slot: list[TensorProperty] = []

    def ask(which: str, self: object, *values: object) -> Any:
        return override(
            getattr(slot[0], which), (self,), (self, *values), None, types=(type(self),)
        )

    def getter(self: Any) -> Any:
        if ACTIVE.modes or type(self) not in TENSORS:
            tensor = dispatch.tensor_type()
            if tensor is not None and not isinstance(self, tensor):
                kind = type(self).__name__
                raise TypeError(
                    f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
                    f"'{kind}' object"
                )
            answer = ask("__get__", self)
            if answer is not MISSING:
                return answer
            if (
                name in _COMPUTED
                and ACTIVE.below is not None
                and (answer := ACTIVE.below(caller, (self,), {})) is not MISSING
            ):
                return answer
            if type(self) in LAYOUTS:
                return LAYOUTS[type(self)].get(name, self, get)
        return get(self)

    def setter(self: Any, value: Any) -> None:
        if ACTIVE.modes or type(self) not in TENSORS:
            if ask("__set__", self, value) is not MISSING:
                return
            if type(self) in LAYOUTS:
                LAYOUTS[type(self)].set(name, self, value, set)
                return
        set(self, value)  # type: ignore[misc]

    def deleter(self: object) -> None:
        if (ACTIVE.modes or type(self) not in TENSORS) and ask("__delete__", self) is not MISSING:
            return
        delete(self)  # type: ignore[misc]

    made = (TensorProperty if set else _ReadOnly)(
        getter, setter if set else None, deleter if delete else None, doc or get.__doc__
    )
    made.__name__, made.__qualname__ = name, f"TensorBase.{name}"
    made.__doc__ = doc or get.__doc__  # the class's own would be shown
    slot.append(made)
    caller = Caller(get, name, Layout(inspect.signature(get), True, {}), False, True, True)
    caller.func, caller.all_positional = made.__get__, True
    register(f"torch.Tensor.{name}.__get__", made.__get__)
    if name in _STORED:
        NOWRAP.add(made.__get__)
    return made


# ------------------------------------------------------------------------------ decorated functions


def verify_matching_signatures(
    implementation: Callable[..., object], dispatcher: Callable[..., object]
) -> None:
    """Checks, at import, that a dispatcher takes what its implementation takes.

    Raises:
        RuntimeError: unless names, varargs, keywords and the number of defaults agree and the
            dispatcher's defaults are all None.
    """
    wanted, found = inspect.getfullargspec(implementation), inspect.getfullargspec(dispatcher)
    if (
        wanted.args != found.args
        or wanted.varargs != found.varargs
        or wanted.varkw != found.varkw
        or wanted.kwonlyargs != found.kwonlyargs
        or len(wanted.defaults or ()) != len(found.defaults or ())
        or set(wanted.kwonlydefaults or ()) != set(found.kwonlydefaults or ())
    ):
        raise RuntimeError(
            f"implementation and dispatcher for {implementation} have different function signatures"
        )
    if any(
        d is not None for d in (*(found.defaults or ()), *(found.kwonlydefaults or {}).values())
    ):
        raise RuntimeError("dispatcher functions can only use None for default argument values")


def torch_function_dispatch(
    extractor: Callable[..., Iterable[Any]] | None,
    *,
    public: str | None = None,
    native: bool = True,
    verify: bool = True,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Decorator that makes a function overridable, at the cost that the functions of ``torch``
    have.

    Handlers are told the arguments as the caller gave them. Plain operands are recognised by their
    types without calling the extractor.

    Args:
        extractor: has the function's signature, with None for every default, and returns the
            operands to ask, in order; they may be lists. None stands for all arguments.
        public: the dotted name for messages, if not that of module and function.
        native: whether handlers are told as by PyTorch's functions in C++, which do not list exact
            Tensor in ``types``. False adds the defaults to ``kwargs``, as those in Python do.
        verify: whether to compare the two signatures at once.
        options: those of ``specialise``.

    The plain body stays reachable as ``f._implementation``.

    Raises:
        RuntimeError: at decoration, if the signatures differ.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.dispatch import torch_function_dispatch
        >>> @torch_function_dispatch(lambda x, weight=None: (x, weight))
        ... def weighted(x, weight=1.0):
        ...     return x * weight
        >>> class Answer:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__, kwargs
        >>> weighted(torch.ones(2), weight=Answer())[0]
        'weighted'
    """

    def decorator(implementation: Callable[..., object]) -> Callable[..., object]:
        if verify and extractor is not None:
            verify_matching_signatures(implementation, extractor)
        module = implementation.__module__.split(".")
        path = public or ".".join(
            ["torch" if module[0] == "jtorch" else module[0], *module[1:], implementation.__name__]
        )
        return specialise(
            implementation, path, native=native, opaque=False, extract=extractor, **options
        )

    return decorator


add_plain(dtype)
