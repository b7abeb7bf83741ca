"""Lowering an exported program to StableHLO: its operators are run inside a JAX transformation,
whose sizes may be symbols."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import export as jax_export

import jtorch as torch
from jtorch._higher_order_ops.operators import graphs_of
from jtorch._src.facts.errors import not_offered
from jtorch._src.facts.size import SYMBOLIC
from jtorch._src.tensor.shape_env import bounds_of_products
from jtorch._src.tensor.size_texts import evaluate
from jtorch.autograd.grad_mode import unrecorded
from jtorch.core import wrap
from jtorch.fx.node import map_arg

from ._trace import keeps
from .graph_signature import InputKind, OutputKind

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Named, Row, Values
    from ..fx.node import Node
    from ..nn.modules.module import Module
    from .exported_program import ExportedProgram


def exported(program: ExportedProgram, platforms: tuple[str, ...] | None) -> object:
    """``jax.export.Exported`` of a program."""
    for node in (n for graph in graphs_of(program.graph_module) for n in graph.nodes):
        schema = getattr(node.target, "_schema", None)
        if node.meta.get("unbacked_bindings"):
            raise not_offered(
                "export.stablehlo",
                f"data decide a number or a size that {node.target} gives, and StableHLO's sizes "
                "are known",
            )
        drawing = schema is not None and not schema.writes and keeps(node)
        if drawing and not (
            "dropout" in node.target._opname and (len(node.args) < 3 or not node.args[2])
        ):
            raise not_offered(
                "export.stablehlo",
                f"{node.target} draws PyTorch's random numbers, which are made on the host",
            )
    written = any(
        getattr(getattr(n.target, "_schema", None), "writes", ()) or _trains(n)
        for n in program.graph.nodes
    )
    if written and all(
        s.kind is OutputKind.USER_OUTPUT for s in program.graph_signature.output_specs
    ):
        program = program.run_decompositions({})
    state = {
        s.target: program.value_of(s)
        for s in program.graph_signature.input_specs
        if s.kind is not InputKind.USER_INPUT
    }
    state_specs = {
        name: jax.ShapeDtypeStruct(tuple(t.shape), t.dtype.np) for name, t in state.items()
    }
    run = _runner(program)
    lows = {name: r.lower for name, r in program.ranges.items()}
    last: Exception | None = None
    for least in (0, 2):  # kernels may have to know that a size is not 1
        specs = _specs(program, {name: max(low, least) for name, low in lows.items()})
        try:
            # what is made of a size alone must not wait for a trace outside of JAX's
            with torch.execution("immediate"):
                return jax_export.export(jax.jit(run), platforms=platforms)(state_specs, *specs)
        except Exception as error:
            if not lows or least == 2:
                raise
            last = error
    raise AssertionError(last)


def _trains(node: Node) -> bool:
    """Whether a normalisation moves its running statistics, which its schema does not say."""
    return (
        node.target is torch.ops.aten.batch_norm.default
        and node.args[3] is not None
        and node.args[5] is True
    )


def _specs(program: ExportedProgram, lows: dict[str, int]) -> Values:
    """The caller's tensors as JAX describes them, with symbols of one scope."""
    dims = {}
    if lows:
        bounds = [f"{n} >= {low}" for n, low in lows.items()]
        bounds += [f"{n} <= {r.upper}" for n, r in program.ranges.items() if r.upper is not None]
        scope = jax_export.SymbolicScope(bounds + bounds_of_products(lows))
        dims = dict(zip(lows, jax_export.symbolic_shape(", ".join(lows), scope=scope), strict=True))
        SYMBOLIC.update(map(type, dims.values()))
    users = [s for s in program.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
    vals = {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"}
    found = []
    for spec, sizes in zip(users, program._sizes, strict=True):
        if sizes is not None:
            shape = tuple([evaluate(n, dims) if isinstance(n, str) else n for n in sizes])
            found.append(jax.ShapeDtypeStruct(shape, vals[spec.arg.name].dtype.np))
    return found


def _runner(program: Any) -> Function:
    signature = program.graph_signature

    def run(state: dict[str, jax.Array], *inputs: object) -> tuple[Values, Named]:
        given = iter(inputs)
        values: list[Any] = []
        for node, spec in zip(
            [n for n in program.graph.nodes if n.op == "placeholder"],
            signature.input_specs,
            strict=True,
        ):
            if spec.kind is not InputKind.USER_INPUT:
                values.append(wrap(state[spec.target]))
            else:
                values.append(
                    wrap(next(given)) if hasattr(node.meta["val"], "dtype") else node.meta["val"]
                )
        with unrecorded():
            outs = _interpreted(program.graph_module, values)
        results = []
        changed = {}
        for value, spec in zip(outs, signature.output_specs, strict=True):
            array = (
                value.jax()
                if isinstance(value, torch.Tensor)
                else jnp.asarray(value)
                if type(value) in SYMBOLIC
                else value
            )
            if spec.kind is OutputKind.USER_OUTPUT:
                if array is not None:
                    results.append(array)
            else:
                changed[spec.target] = array
        return results, changed

    return run


def _interpreted(module: Module, values: list[torch.Tensor]) -> tuple[object, ...]:
    """What a graph gives for the values of its inputs."""
    inputs = iter(values)
    env: dict[Any, Any] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            env[node] = next(inputs)
        elif node.op == "output":
            return map_arg(node.args[0], lambda n: env[n])
        elif node.op == "get_attr":  # a graph that an operator takes
            inner = module.get_submodule(node.target)
            env[node] = lambda *given, inner=inner: _interpreted(inner, list(given))
        else:
            args = map_arg(node.args, lambda n: env[n])
            kwargs = map_arg(node.kwargs, lambda n: env[n])
            if (of_sizes := _OF_SIZES.get(node.target)) is not None:
                env[node] = of_sizes(*args)
            else:
                for name, x in kwargs.items():
                    _refuse_float(node.target, name, x)
                env[node] = node.target(*_numbers(node, args), **kwargs)
    raise AssertionError("a graph without an output")


_COMPARISONS = frozenset(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
)


def _float_of(size: object) -> jax.Array:
    return jnp.asarray(size, jnp.float64)


#: Functions of sizes, and of floats that are computed of them, on JAX's expressions and values.
_OF_SIZES = {
    torch.sym_float: _float_of, torch.sym_sqrt: lambda x: jnp.sqrt(_float_of(x)),
    operator.truediv: lambda a, b: _float_of(a) / _float_of(b),
}  # fmt: skip


def _refuse_float(target: object, name: str, x: object) -> None:
    if isinstance(x, jax.Array):
        raise not_offered(
            "export.stablehlo",
            f"{target} takes a number for '{name}', which is computed of sizes that vary here",
        )


def _numbers(node: Node, args: tuple[object, ...]) -> Row:
    """Sizes that an operator takes for numbers, and floats that were computed of sizes, as
    tensors."""
    target = node.target
    if target in _COMPARISONS:  # of sizes: a value that the program finds
        return tuple([wrap(jnp.asarray(x, jnp.int64)) if type(x) in SYMBOLIC else x for x in args])
    schema = getattr(target, "_schema", None)
    if schema is None or not SYMBOLIC:
        return args
    found = list(args)
    for i, (a, x) in enumerate(zip(schema.arguments, args, strict=False)):
        if (
            type(x) in SYMBOLIC
            and a.type.rstrip("?") in ("Tensor", "Scalar")
            and a.name not in ("start", "end", "step")
        ):
            found[i] = wrap(jnp.asarray(x, jnp.int64))
        elif isinstance(x, jax.Array):
            if a.type.rstrip("?") not in ("Tensor", "Scalar") or not any(
                isinstance(t, torch.Tensor) for t in args
            ):
                _refuse_float(target, a.name, x)
            # a number takes part in the dtype that a tensor without dimensions of that dtype has
            made = node.meta["val"]
            double = getattr(made, "dtype", None) in (torch.float64, torch.complex128)
            found[i] = wrap(jnp.asarray(x, jnp.float64 if double else jnp.float32))
    return tuple(found)
