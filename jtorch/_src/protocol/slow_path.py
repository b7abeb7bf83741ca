"""The slow path of public callables: handlers are asked, arguments judged and bound to parameters,
errors put in torch's words. Floor 0."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ...dispatch import ACTIVE, LAYOUTS, MISSING, DisableTorchFunctionSubclass, of_layout, override
from .. import hooks
from ..facts.errors import type_name
from ..facts.static_types import Static

if TYPE_CHECKING:
    from ..facts.kinds import Tree


#: The globals of modules whose functions PyTorch writes in Python: what they call there (first
#: ``has_torch_function``) can be replaced.
QUESTIONS: dict[str, dict[str, object]] = {}

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
EMPTY = inspect.Parameter.empty


def _is_tensor(value: object) -> bool:
    kind = dispatch.tensor_type()
    return kind is None or isinstance(value, kind)


class Layout:
    """The parameters of one public callable, sorted by how they can be given."""

    def __init__(
        self, signature: inspect.Signature, is_method: bool, aliases: Mapping[str, Sequence[str]]
    ) -> None:
        params = list(signature.parameters.values())
        self.positional = [p for p in params if p.kind in POSITIONAL]
        self.keyword_only = [p for p in params if p.kind is p.KEYWORD_ONLY]
        self.star = next((p for p in params if p.kind is p.VAR_POSITIONAL), None)
        self.varkw = any(p.kind is p.VAR_KEYWORD for p in params)
        by_keyword = [p for p in self.positional if p.kind is not p.POSITIONAL_ONLY]
        if is_method and by_keyword and by_keyword[0] is self.positional[0]:
            del by_keyword[0]
        self.keywords = [p.name for p in by_keyword + self.keyword_only]
        self.alias_of = {
            alias: name
            for name, spellings in aliases.items()
            if name in self.keywords
            for alias in spellings
        }
        self.order = {p.name: i for i, p in enumerate(params)}

    @property
    def open_ended(self) -> bool:
        """Whether there are ``*args`` or ``**kwargs``."""
        return self.star is not None or self.varkw


class Caller:
    """The slow path of one public callable: asks, and runs the implementation if nobody answers."""

    def __init__(
        self,
        impl: Callable[..., object],
        name: str,
        layout: Layout,
        is_method: bool,
        native: bool,
        opaque: bool,
    ) -> None:
        self.impl, self.name, self.layout = impl, name, layout
        self.is_method, self.native, self.opaque = is_method, native, opaque
        self.names = (*layout.keywords, *layout.alias_of)
        params = [*layout.positional, *layout.keyword_only]
        self.all_names = tuple([p.name for p in params])
        self.defaults = tuple([p.default for p in params])
        required = [p.name for p in params if p.default is EMPTY]
        self.required_after = [
            frozenset(required).difference(self.all_names[:n])
            for n in range(len(layout.positional) + 1)
        ]
        self.alone = is_method and len(params) == 1 and not layout.open_ended
        self.takes_out = "out" in self.all_names or layout.open_ended
        self.all_positional = False
        self.takes_keywords = False
        self.func: Any = None
        self.path = self.space = ""
        self.old_orders: tuple[str, ...] = ()
        self.handlers_off = False
        self.relevant: set[str] | None = None
        self.extract = None
        self.statics: dict[str, Static] = {}
        self.tensors: frozenset[str] = frozenset()
        #: Parameters whose None is none of the overloads', or, with another one's name, that only
        #: overloads with that one have.
        self.unsaid: dict[str, str] = {}

    def given(self, positional: tuple[object, ...], named: tuple[object, ...]) -> Tree:
        """The call with what the generated callable was given."""
        # By identity throughout: == would ask the operands.
        count = len(positional)
        while count and positional[count - 1] is MISSING:
            count -= 1
        return self(
            positional[:count], {n: x for n, x in zip(self.names, named) if x is not MISSING}
        )

    def __call__(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Tree:
        """The answer of who is asked, else what the implementation makes of the arguments.

        Raises:
            TypeError: for a method of what is no tensor.
        """
        if (
            ACTIVE.short is not None
            and not ACTIVE.modes
            and (answer := ACTIVE.short(self, args, kwargs)) is not MISSING
        ):
            return answer
        if self.is_method:
            tensor = dispatch.tensor_type()
            if not args:
                raise TypeError(f"unbound method TensorBase.{self.name}() needs an argument")
            if tensor is not None and not isinstance(args[0], tensor):
                owner = "torch._C.TensorBase"
                raise TypeError(
                    f"descriptor '{self.name}' for '{owner}' objects doesn't apply to a "
                    f"'{type_name(args[0])}' object"
                )
        operands = self.operands(args, kwargs)
        state = dispatch._state
        if state.mark is not None and dispatch.is_plain_but_marked(operands):
            return dispatch.run_marked(self.func, args, kwargs)
        if self.native:
            # PyTorch tells a mode the class of a method's self where the method takes nothing else.
            types = (type(args[0]),) if self.alone else None
            answer = override(self.func, operands, args, kwargs or None, True, self.opaque, types)
        else:
            if self.space in QUESTIONS and self.is_passed_by(QUESTIONS[self.space], operands):
                self.look(args, kwargs)
            answer = override(
                self.func, operands, *self.with_defaults(args, kwargs), False, self.opaque
            )
        if answer is not MISSING:
            return answer
        if ACTIVE.below is not None and (answer := ACTIVE.below(self, args, kwargs)) is not MISSING:
            return answer
        if LAYOUTS and (special := of_layout((*args, *kwargs.values()))) is not None:
            return LAYOUTS[type(special)].call(self, special, args, kwargs)
        if self.statics or self.unsaid or self.tensors:
            args, kwargs = self.verified(args, kwargs)
        if self.handlers_off:
            with DisableTorchFunctionSubclass():
                result = self.run(args, kwargs)
        else:
            result = self.run(args, kwargs)
        return result if state.mark is None else state.mark(result, (*args, *kwargs.values()))

    def is_passed_by(self, names: Mapping[str, Any], operands: Collection[object]) -> bool:
        """Whether the function's module has another ``has_torch_function`` than ours, which says
        that nobody is to be asked."""
        if names["has_torch_function_variadic"] is not dispatch.has_torch_function_variadic:
            return not names["has_torch_function_variadic"](*operands)
        return False

    def is_declared(self, kwargs: Mapping[str, object]) -> bool:
        """Whether keyword arguments are of the types that their annotations name."""
        statics = self.statics
        return all(n not in statics or statics[n].takes(x) for n, x in kwargs.items())

    def look(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Lets arguments with handlers decide as Python code does that is given them: flags, words,
        and sizes that may be a number.

        That is what such a function does by itself, before it comes to what PyTorch has in C++,
        where handlers are asked after all.
        """
        given = [
            (s, x, d)
            for n, x, d in zip(self.all_names, self.bind(args, kwargs), self.defaults)
            if (s := self.statics.get(n))
        ]
        for static, value, default in sorted(given, key=lambda item: str not in item[0].types):
            if dispatch._handler_of(value) is not None:
                static.decide(value, default)

    def verified(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The arguments, with ints for all that Python counts with.

        Raises:
            TypeError: if an argument is of another type than its annotation says, and PyTorch's
                parser does not take it either.
        """
        statics, alias_of = self.statics, self.layout.alias_of
        names: Iterable[str] = self.all_names
        if self.layout.star is not None:
            names = (
                *self.all_names[: len(self.layout.positional)],
                *[self.layout.star.name] * len(args),
            )
        given = (*zip(names, args), *((alias_of.get(n, n), x) for n, x in kwargs.items()))
        doubtful = [
            (n, i, x) for i, (n, x) in enumerate(given) if n in statics and not statics[n].takes(x)
        ]
        if not doubtful and not self.is_unlike(given):
            return args, kwargs
        fits = (
            self.native
            and bool(self.path)
            and hooks.judged(self.path, args, kwargs, self.takes_out, self.all_names)
        )
        if isinstance(fits, TypeError):
            raise fits
        if not fits:
            strict = self.native and not self.path.startswith("nn.functional.")
            for n, i, x in doubtful:
                if (
                    not self.native
                    and (error := hooks.refused(self.name, n, statics[n].words, x)) is not None
                ):
                    raise error
                if statics[n].refuses(x, strict):
                    where = f" (position {i + 1 - self.is_method})" if i < len(args) else ""
                    raise TypeError(
                        f"{self.name}(): argument '{n}'{where} must be {statics[n].words}, not "
                        f"{type_name(x)}"
                    )
        plain = {i: statics[n].plain(x) for n, i, x in doubtful}
        args = tuple([plain.get(i, x) for i, x in enumerate(args)])
        return args, {n: plain.get(i, x) for i, (n, x) in enumerate(kwargs.items(), len(args))}

    def is_unlike(self, given: Sequence[tuple[str, object]]) -> bool:
        """Whether arguments, by the names of their parameters, may fit no overload together, or one
        is no tensor where only those are taken."""
        names, unsaid = {n for n, _ in given}, self.unsaid
        if self.tensors and any(
            n in self.tensors and x is not None and not _is_tensor(x) for n, x in given
        ):
            return True
        return any(
            (x is None if not unsaid[n] else unsaid[n] not in names)
            for n, x in given
            if n in unsaid
        )

    def explained(
        self, positional: tuple[object, ...], named: tuple[object, ...] | dict[str, object]
    ) -> Exception | tuple[object, ...] | None:
        """The error for arguments that fit no signature, in torch's words; None where they do.

        For a deprecated overload, the arguments by position and by keyword with which to call
        again.
        """
        values = named.values() if isinstance(named, dict) else named
        if dispatch.is_torch_function_enabled() and dispatch._collect(
            [*positional, *values], False
        ):
            return None  # a handler was asked: what it raises is its own
        count = len(positional)
        while count and positional[count - 1] is MISSING:
            count -= 1
        over = count - len(self.layout.positional)
        if over > 0 and not isinstance(named, dict):
            # More than fit by position went on into the keywords, from the first on.
            more = next((k for k, x in enumerate(named) if x is MISSING), len(named))
            positional, count = (*positional[:count], *named[:more]), count + more
            named = {n: x for n, x in zip(self.names[more:], named[more:]) if x is not MISSING}
        if not isinstance(named, dict):
            # The body may have given keywords their values already: what was given by position, and
            # defaults, do not count.
            taken = dict(zip(self.all_names, self.defaults, strict=True))
            for n in self.all_names[:count]:
                taken[n] = MISSING
            given = ((n, x, taken.get(n, EMPTY)) for n, x in zip(self.names, named))
            named = {
                n: x
                for n, x, known in given
                if x is not MISSING and known is not MISSING and x is not known
            }
        if self.old_orders:
            again = hooks.rearranged(self.path, self.old_orders, positional[:count], named)
            if again is not None:
                return again
        return hooks.explain(self.path, positional[:count], named, self.takes_out, self.all_names)

    def operands(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Collection[object]:
        """Everything that may be asked, in the order of the parameters."""
        if self.extract is not None:
            return tuple(self.extract(*args, **kwargs))
        if not kwargs:
            return args
        # else they come in the order of the parameters
        if len(kwargs) > 1 and self.layout.open_ended:
            order = self.layout.order
            kwargs = dict(sorted(kwargs.items(), key=lambda item: order.get(item[0], len(order))))
        return (*args, *kwargs.values())

    def with_defaults(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The call as functions written in Python pass it on: required arguments by position, the
        others by keyword."""
        layout = self.layout
        if layout.star is not None:
            return args, {
                **{p.name: p.default for p in layout.keyword_only if p.default is not EMPTY},
                **kwargs,
            }
        if layout.varkw:
            return args, kwargs
        values = self.bind(args, kwargs)
        params = [*layout.positional, *layout.keyword_only]
        first, rest = [], {}
        for p, value in zip(params, values, strict=True):
            if (p.default is EMPTY and p.kind is not p.KEYWORD_ONLY) or p.kind is p.POSITIONAL_ONLY:
                first.append(value)
            else:
                rest[p.name] = value
        return tuple(first), rest

    def run(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Tree:
        """What the implementation makes of the arguments."""
        layout = self.layout
        if layout.open_ended:
            return self.impl(*args, **{layout.alias_of.get(n, n): x for n, x in kwargs.items()})
        if self.takes_keywords:
            if (
                not kwargs
                and len(args) < len(self.required_after)
                and not self.required_after[len(args)]
            ):
                return self.impl(*args)
            if self.is_complete(args, kwargs):
                return self.impl(*args, **kwargs)
        values = self.bind(args, kwargs)
        if self.all_positional:
            return self.impl(*values)
        count = len(layout.positional)
        return self.impl(
            *values[:count],
            **{p.name: x for p, x in zip(layout.keyword_only, values[count:], strict=True)},
        )

    def is_complete(self, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
        """Whether every required argument is given and none twice."""
        count = len(args)
        return (
            count < len(self.required_after)
            and self.required_after[count] <= kwargs.keys()
            and (not kwargs or kwargs.keys().isdisjoint(self.all_names[:count]))
        )

    def bind(self, args: tuple[object, ...], kwargs: dict[str, object]) -> list[object]:
        """One value for each parameter, defaults filled in.

        Raises:
            TypeError: for a missing, doubled or surplus argument.
        """
        if self.layout.alias_of:
            kwargs = {self.layout.alias_of.get(n, n): x for n, x in kwargs.items()}
        count, given = len(self.layout.positional), len(args)
        if given > count:
            s = "" if count == 1 else "s"
            raise TypeError(
                f"{self.name}() takes {count} positional argument{s} but {given} were given"
            )
        values: list[Any] = list(args)
        if not kwargs:
            values += self.defaults[given:]
        else:
            for name in self.all_names[:given]:
                if name in kwargs:
                    raise TypeError(f"{self.name}() got multiple values for argument '{name}'")
            values += [
                kwargs.get(n, d)
                for n, d in zip(self.all_names[given:], self.defaults[given:], strict=True)
            ]
        missing = [f'"{n}"' for n, x in zip(self.all_names, values, strict=True) if x is EMPTY]
        if missing:
            raise TypeError(
                f"{self.name}() missing {len(missing)} required positional arguments: "
                f"{', '.join(missing)}"
            )
        return values
