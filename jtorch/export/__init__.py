"""``torch.export``: a module as a graph of operators, to be saved, or lowered to StableHLO for
other programs to run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._decomp import core_aten_decompositions
from jtorch._dynamo.exc import UserError
from jtorch._functorch._aot_autograd.subclass_parametrization import taken_apart
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor import unknowns
from jtorch._src.tensor.shape_env import ConstraintViolation, ShapeEnv
from jtorch._src.tensor.size_texts import evaluate
from jtorch.fx.experimental.proxy_tensor import _asserts_kept
from jtorch.utils import _pytree as pytree
from jtorch.utils._python_dispatch import is_traceable_wrapper_subclass

from . import _trace
from ._asserts import assert_said
from ._plan import Plan, plan, spread
from ._solving import solved
from .dynamic_shapes import (
    AdditionalInputs,
    ConstraintError,
    Dim,
    Range,
    Reals,
    ShapesCollection,
    dims,
)
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Named, Values


__all__ = [
    "AdditionalInputs", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram",
    "FlatArgsAdapter", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection",
    "UnflattenedModule", "default_decompositions", "dims", "export", "load", "register_dataclass",
    "save", "stablehlo", "unflatten",
]  # fmt: skip


def export(
    mod: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """``mod`` called once on ``args`` and ``kwargs``, as the graph of operators that it calls; no
    data is computed with.

    Sizes are numbers unless ``dynamic_shapes`` says otherwise: a dict by the arguments' names, or a
    tuple, with a ``Dim`` for each dimension that varies; a ``ShapesCollection``, or
    ``AdditionalInputs``. A program that decides by such a size in a way that does not hold for all
    it may have is refused. Parameters that are wrappers of tensors
    (``is_traceable_wrapper_subclass``) become the tensors in them, with the names that
    ``unwrap_tensor_subclass_parameters`` gives, as in PyTorch after ``run_decompositions``. Of
    ``Dim.AUTO`` and ``Dim.DYNAMIC`` it is found out which must be equal,
    or lie within bounds; ``Dim.AUTO`` is a number where that does not help. The graph is in the
    shape of PyTorch's: parameters and buffers are inputs, composite operators stay whole.

    Args:
        strict: whether ``assert`` statements about tensors become checks in the graph; otherwise
            they decide by data, which is refused. PyTorch reads the bytecode then; here the module
            is run either way, so that other Python code is executed and not kept.

    Raises:
        ValueError: if ``mod`` is no module.
        UserError: if the arguments do not fit each other, or something is returned that is no
            tensor, number or container.
        UserError: if the program does not hold for all sizes.
        AssertionError: for an additional example that the program may not be given.
        DataDependentOutputException: if it decides by data.
        NotImplementedError: for ``preserve_module_call_signature``.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.export import Dim, export
        >>> program = export(
        ...     torch.nn.Linear(2, 3), (torch.ones(4, 2),), dynamic_shapes=({0: Dim("batch")},)
        ... )
        >>> program.module()(torch.zeros(7, 2)).shape
        torch.Size([7, 3])
    """
    del prefer_deferred_runtime_asserts_over_guards  # no assumption is put off
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if preserve_module_call_signature:
        raise not_offered(
            "export(preserve_module_call_signature=...)",
            "modules of an unflattened program take the tensors that they use",
        )
    if not isinstance(args, tuple):
        raise UserError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    if any(map(is_traceable_wrapper_subclass, mod.parameters())):
        with taken_apart(mod):
            return export(mod, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict)
    kwargs = kwargs or {}
    more = dynamic_shapes if isinstance(dynamic_shapes, AdditionalInputs) else None
    if isinstance(dynamic_shapes, (AdditionalInputs, ShapesCollection)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    names = _trace.argument_names(mod.forward, args, kwargs)
    values = (*args, *kwargs.values())
    specs = spread(
        _trace.joined_rest(
            mod.forward, args, _trace.by_position(mod.forward, args, kwargs, dynamic_shapes)
        ),
        names,
        values,
    )
    flat = pytree.tree_leaves((args, kwargs))
    made = plan(
        [(source, v, s) for source, v, s in zip(_sources(names, values), flat, specs, strict=True)]
    )

    def traced_with(plan: Plan) -> tuple[ShapeEnv | _trace.Traced, ...]:
        env = ShapeEnv(plan.symbols, strict=True)
        try:
            return _trace.trace(mod, args, kwargs, plan, env, plan.sizes), env
        except Exception as error:
            met = (
                env.mentioned(str(error))
                if type(error) in (RuntimeError, IndexError, ValueError)
                else []
            )
            if not met:
                raise
            # sizes that are alike in the example may have to be one
            raise ConstraintViolation(str(error), met, met) from error

    with _asserts_kept(strict):
        made, (traced, env) = solved(made, flat, traced_with)
        ranges = _ranges(mod, args, kwargs, made, traced, env)
    signature = ModuleCallSignature([], [], traced.in_spec, traced.out_spec)
    modules = [
        ModuleCallEntry(name, None if name else signature)
        for name, _ in mod.named_modules(remove_duplicate=False)
    ]
    state, constants = _state(mod, traced)
    program = ExportedProgram(
        traced.root, traced.graph, traced.signature, state, ranges, modules, (args, kwargs),
        constants,
        sizes=made.sizes, names=names,
    )  # fmt: skip
    if more is not None:
        more.verify(program)
    return program


def _sources(names: list[str], values: tuple[object, ...]) -> list[str]:
    """Where each leaf is found, as PyTorch writes it."""
    found = []
    for name, value in zip(names, values, strict=True):
        for path, _ in pytree.tree_flatten_with_path(value)[0]:
            found.append(
                f"L['{name}']"
                + "".join([f"[{getattr(k, 'key', getattr(k, 'idx', k))!r}]" for k in path])
            )
    return found


def _state(mod: torch.nn.Module, traced: _trace.Traced) -> tuple[Named, Named]:
    state: Named = {}
    for path, module in mod.named_modules(remove_duplicate=False):  # without hooks, which rename
        module._save_to_state_dict(state, f"{path}." if path else "", True)
    constants = dict(traced.constants)
    buffers = dict(mod.named_buffers())
    for name in traced.signature.non_persistent_buffers:
        constants[name] = buffers[name]
    return state, constants


def _ranges(
    mod: object,
    args: tuple[torch.Tensor, ...],
    kwargs: dict[str, float],
    made: Plan,
    traced: _trace.Traced,
    env: ShapeEnv,
) -> dict[object, Range]:
    """What the sizes may be. The trace took them for at least 2: whether 1 and 0 give the same
    program is tried."""
    found: dict[Any, Range] = {}
    data = unknowns.of(env)
    allowed = {**made.ranges, **{n: Range(*data.bounds[n]) for n in data.sizes}}

    for name, range in allowed.items():
        least = 0 if range.lower is None else range.lower
        low = 2
        while low > least and _same_at(mod, args, kwargs, made, traced, env, name, low - 1):
            low -= 1
        found[name] = Range(max(low, least), range.upper)
    for name, bounds in data.bounds.items():
        given = found.get(name)
        low = None if given is None else given.lower
        if given is not None and low is not None and given.upper is not None and low > given.upper:
            raise ConstraintError(
                f"Constraints violated: the program is another one for each number that {name} may "
                f"be ({Range(*bounds)})"
            )
        if low is not None and (bounds[0] is None or low > bounds[0]):
            data.bounds[name] = low, bounds[1]
        found.setdefault(name, Range(*bounds))
    assert_said(traced.tracer)
    symbols = {env.symbol(name): found[name] for name in [*made.ranges, *data.bounds]}
    return {**symbols, **dict.fromkeys(data.floats, Reals())}


def _same_at(
    mod: Any,
    args: tuple[torch.Tensor, ...],
    kwargs: dict[str, float],
    made: Plan,
    traced: _trace.Traced,
    env: ShapeEnv,
    name: str,
    n: int,
) -> bool:
    """Whether the program is the same where a size is ``n``."""
    hints = {**{s: hint for s, (hint, _, _) in made.symbols.items()}, name: n}
    sizes: Values = made.sizes
    other_env = ShapeEnv(made.symbols, strict=True)
    if name in made.symbols:
        other_env = ShapeEnv(strict=True)
        sizes = [None if s is None else [_trace_size(x, hints) for x in s] for s in made.sizes]
        if any(x < 0 for s in sizes if s is not None for x in s):
            return False
    else:
        unknowns.of(other_env).fixed[name] = n
    before = env.hints.get(name)
    try:
        other = _trace.trace(mod, args, kwargs, made, other_env, sizes)
        env.hints[name] = n
        return _trace.evaluated(traced.graph, hints) == _trace.evaluated(other.graph, hints)
    except Exception:  # it does not run at all with such a size
        return False
    finally:
        env.hints.pop(name, None)
        if before is not None:
            env.hints[name] = before


def _trace_size(x: int | str, hints: dict[str, int]) -> object:
    return evaluate(x, hints) if isinstance(x, str) else x


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | object,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Writes a program to a file (``.pt2``) that ``load`` reads: the graph as text, tensors as
    ``torch.save`` writes them, no code.

    Raises:
        ValueError: if ``ep`` is no program.
        TypeError: for nodes, constants or containers that text cannot stand for.
    """
    from ._files import write

    del opset_version, pickle_protocol
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}' instead."
        )
    write(ep, f, extra_files or {})


def load(
    f: str | os.PathLike[str] | object,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """The program that ``save`` wrote. A file cannot make anything run: it names operators of
    ``torch.ops`` and arithmetic on sizes only.

    Raises:
        ValueError: if the file is no such program, or is damaged. Files of PyTorch's are not read.
    """
    from ._files import read

    del expected_opset_version
    return read(f, extra_files)


def stablehlo(ep: ExportedProgram, *, platforms: tuple[str, ...] | None = None) -> Any:
    """The program as ``jax.export.Exported``: StableHLO, whose sizes are symbols where the
    program's are.

    Its inputs are a dict of parameters, buffers and constants by name, and the caller's tensors; it
    gives the leaves of the result, and a dict of what buffers become. ``mlir_module()`` is the
    text, ``serialize()`` bytes, ``call`` runs it.

    Raises:
        NotImplementedError: if random numbers are drawn, which are PyTorch's, made on the host.
    """
    from ._stablehlo import exported

    return exported(ep, platforms)


def default_decompositions() -> dict[Any, Callable[..., Any]]:
    """How ``run_decompositions`` writes operators outside of the core set with others."""
    return dict(core_aten_decompositions())


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Makes a dataclass a container of what its fields hold.

    Raises:
        AssertionError: if it is no dataclass.
    """
    import dataclasses

    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    fields = [f.name for f in dataclasses.fields(cls)]
    pytree.register_pytree_node(
        cls,
        lambda x: ([getattr(x, n) for n in fields], None),
        lambda values, _: cls(**dict(zip(fields, values, strict=True))),
        flatten_with_keys_fn=lambda x: (
            [(pytree.GetAttrKey(n), getattr(x, n)) for n in fields],
            None,
        ),
        serialized_type_name=serialized_type_name or f"{cls.__module__}.{cls.__qualname__}",
    )


__getattr__ = _refusals.missing(__name__)
