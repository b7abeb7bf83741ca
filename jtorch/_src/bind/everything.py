"""Binds every declaration to its public forms and keeps them by path."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ..facts.devices import FACTORIES
from ..ops._declare import OPS, Op
from ..protocol.overridable import signature_of as function_signature
from ..protocol.overridable import specialise
from ..protocol.slow_path import QUESTIONS
from ..tensor.running import inplace
from ..tensor.writing import check_inplace, check_overlap
from . import cores as binding
from . import factories
from . import forms as public_forms
from .bound import BOUND
from .cores import COMPOSITES, Composite

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Keywords, Named


#: Every public callable by its path without ``torch.``: ``add``, ``Tensor.add_``,
#: ``nn.functional.relu``, ``_C._slice``.
PUBLIC: Named = {}


class Public:
    """The public functions of a namespace, by attribute."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        found = PUBLIC.get(self._prefix + name)
        if found is None:
            raise AttributeError(f"no public function {self._prefix}{name}")
        self.__dict__[name] = found
        return found


class Replaceable:
    """The functions that stand in a public module now.

    What PyTorch writes in Python calls its neighbours by the module's names, where programs may
    have put functions of their own.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return QUESTIONS[self._module][name]


#: What functions that PyTorch writes in ``torch.nn.functional`` call there.
functional = Replaceable("torch.nn.functional")

#: ``torch``, ``nn.functional``, the methods, ``linalg``, ``special`` and ``fft``.
T, F, M, L, S, FFT = map(Public, ("", "nn.functional.", "Tensor.", "linalg.", "special.", "fft."))

#: Properties of tensors that composites declare, and what sets them.
PROPERTIES: dict[str, Callable[[Any], Any]] = {}
PROPERTY_SETTERS: dict[str, Callable[[Any, Any], None]] = {}

#: Internal ops, as composites and optimisers call them: ``_C._max_dim(...)``. No override checks.
_C = types.SimpleNamespace()


def _add(path: str, made: object) -> None:
    PUBLIC[path] = made
    dispatch.register(
        f"torch.{path}",
        made,
        overridable=dispatch.PUBLIC[f"torch.{path}"].overridable
        if f"torch.{path}" in dispatch.PUBLIC
        else True,
    )


def _bind_op(op: Op) -> None:
    if op.family == "factory":
        _bind_factory(op)
        return
    if op.family == "like":
        PUBLIC[op.path] = factories.like(op, op.path)
        return
    core = BOUND[op.path].core
    if op.namespace == "_C":
        setattr(_C, op.name, core)
        return
    method_name = None
    if op.namespace != "Tensor":
        made = public_forms.public_function(op)
        PUBLIC[op.path] = made
        for alias in op.aliases:
            _bind_alias(op, alias)
        if op.method:
            method_name = op.method if isinstance(op.method, str) else op.name
    else:
        method_name = op.name
        for alias in op.aliases:
            _bind_alias(op, alias)
    made_method = None
    if method_name:
        names = [method_name]
        if op.namespace in ("torch", "Tensor") and op.method is not False:
            names += [a for a in op.aliases if "." not in a]
        for name in names:
            found = public_forms.method(op, name)
            PUBLIC[f"Tensor.{name}"] = found
            made_method = made_method or found
    if op.inplace:
        for name in [op.name, *[a for a in op.aliases if "." not in a]]:
            if op.namespace == "Tensor" or (op.namespace == "torch" and op.method is not False):
                PUBLIC[f"Tensor.{name}_"] = public_forms.inplace_method(op, f"{name}_")
            if op.namespace == "torch" and (
                op.inplace == "both" or (isinstance(op.inplace, tuple) and name in op.inplace)
            ):
                PUBLIC[f"{name}_"] = public_forms.inplace_method(op, f"{name}_", "torch")
            if op.namespace == "nn.functional":
                PUBLIC[f"nn.functional.{name}_"] = public_forms.inplace_method(
                    op, f"{name}_", "torch.nn.functional"
                )
    for sign in op.operators:
        for name, found in public_forms.operator_methods(
            op, sign, made_method or PUBLIC[op.path]
        ).items():
            PUBLIC[f"Tensor.{name}"] = found


def _bind_alias(op: Op, alias: str) -> None:
    if alias.startswith("Tensor."):
        PUBLIC[alias] = public_forms.method(op, alias.removeprefix("Tensor."))
    elif "." not in alias and op.namespace != "torch":
        PUBLIC[alias if op.namespace != "Tensor" else f"Tensor.{alias}"] = (
            public_forms.public_function(op, alias)
            if op.namespace != "Tensor"
            else public_forms.method(op, alias)
        )
    else:
        path = alias if "." in alias or op.namespace == "torch" else f"{op.namespace}.{alias}"
        PUBLIC[path] = public_forms.public_function(op, path)


def _bind_factory(op: Op) -> None:
    if op.namespace == "_C":
        setattr(_C, op.name, factories.factory(op, op.path))
        return
    made = factories.factory(op, op.path)
    PUBLIC[op.path] = made
    FACTORIES.add(made)
    for alias in op.aliases:
        PUBLIC[alias] = made


def _bind_composite(c: Composite) -> None:
    operands, lists = list(c.operands), list(c.lists)
    if c.namespace == "_C":
        setattr(_C, c.name, c.body)
        return
    body = c.body
    doc = body.__doc__
    path = c.name if c.namespace == "torch" else f"{c.namespace}.{c.name}"
    options: Keywords = {
        "native": c.native,
        "opaque": c.native,
        "doc": doc,
        "wrapped": body,
        "aliases": _spellings(c),
        "unsaid": c.unsaid,
    }
    options["asks"] = c.asks
    if c.namespace != "Tensor":
        PUBLIC[path] = specialise(body, f"torch.{path}", operands, lists, **options)
        if c.factory:
            FACTORIES.add(PUBLIC[path])
        for alias in c.aliases:
            PUBLIC[alias] = (
                _method_form(c, alias.removeprefix("Tensor."), options)
                if alias.startswith("Tensor.")
                else specialise(body, f"torch.{alias}", operands, lists, **options)
            )
    if c.method or c.namespace == "Tensor":
        names = [
            c.method if isinstance(c.method, str) else c.name,
            *[a for a in c.aliases if "." not in a],
        ]
        for name in names:
            PUBLIC[f"Tensor.{name}"] = _method_form(c, name, options)
    if c.inplace:
        PUBLIC[f"Tensor.{c.name}_"] = _inplace_form(c, options)


def _spellings(c: Composite) -> dict[str, tuple[str, ...]]:
    names = function_signature(c.body).parameters
    if not c.native:
        return {n: binding.ALIASES[n] for n in ("dim", "keepdim") if n in names}
    return {
        n: tuple([a for a in others if a not in names])
        for n, others in binding.ALIASES.items()
        if n in names
    }


def _method_form(c: Composite, name: str, options: Keywords) -> Callable[..., object]:
    body = c.body
    signature = function_signature(body)
    params = list(signature.parameters.values())
    first = params[0]
    operands = ["self" if n == first.name else n for n in c.operands]
    params[0] = first.replace(name="self")
    impl = body
    if c.varargs:

        def spread(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            if c.varargs in kwargs:
                return body(self, public_forms.once(name, c.varargs, args, kwargs), **kwargs)
            if not args:
                raise TypeError(f'{name}() missing 1 required positional arguments: "{c.varargs}"')
            return body(self, public_forms.packed(args), **kwargs)

        spread.__name__ = name
        return specialise(spread, f"torch.Tensor.{name}", ["self"], **{**options, "aliases": None})
    if any(p.name == "out" for p in params):
        params = [p for p in params if p.name != "out"]
    return specialise(
        impl,
        f"torch.Tensor.{name}",
        operands,
        list(c.lists),
        signature=signature.replace(parameters=params),
        **options,
    )


def _inplace_form(c: Composite, options: Keywords) -> Callable[..., object]:
    body = c.body
    signature = function_signature(body)
    params = [p for p in signature.parameters.values() if p.name != "out"]
    params[0] = params[0].replace(name="self")

    idempotent = public_forms.repeats_of(c)

    def update(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_inplace(self, idempotent)
        if c.inplace == "unshared":
            check_overlap(
                self,
                [
                    t
                    for x in (*args, *kwargs.values())
                    for t in (x if isinstance(x, (list, tuple)) else (x,))
                ],
                True,
            )
        return inplace(self, body(self, *args, **kwargs))

    operands = ["self", *c.operands[1:]]
    return specialise(
        update,
        f"torch.Tensor.{c.name}_",
        operands,
        list(c.lists),
        signature=signature.replace(parameters=params),
        **{**options, "doc": public_forms.inplace_doc(c.name, c.name)},
    )


def bind_forms() -> None:
    """Makes the public forms of all ops and composites, except those of views."""
    for op in list(OPS.values()):
        if op.family != "view":
            _bind_op(op)
    for c in COMPOSITES:
        _bind_composite(c)
    for record in (*OPS.values(), *COMPOSITES):
        _bind_as_one(record)


def _bind_as_one(record: Op | Composite) -> None:
    """Has ``nn.functional`` hold ``torch``'s own function, as PyTorch does, where both are in C++:
    handlers and graphs are told of one function, however it is called."""
    paths = [record.path, *record.aliases]
    for path in paths:
        name = path.removeprefix("nn.functional.")
        if name == path:
            continue
        spelled = not isinstance(record, Composite) and path in record.spelled
        same = name in paths and record.is_native(path) and record.is_native(name) and not spelled
        if same:
            _add(path, PUBLIC[name])
        if record.inplace and f"{path}_" in PUBLIC and f"{name}_" in PUBLIC:
            same, path = True, f"{path}_"
            _add(path, PUBLIC[f"{name}_"])
        if same:
            dispatch.NAMES[PUBLIC[path]] = f"torch.{path}"  # the name that PyTorch resolves it to


#: Methods of the class itself that are public functions too; none is an operator.
CORE_METHODS = (
    "dim", "ndimension", "size", "numel", "nelement", "element_size", "stride", "storage_offset",
    "data_ptr", "is_contiguous", "requires_grad_",
)  # fmt: skip
