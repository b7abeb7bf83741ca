"""Traced modules and functions as programs: the operators that a call on the example calls, with
sizes that follow those of the inputs."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jtorch as torch
from jtorch import nn

from ..._src.facts.errors import not_offered
from .._script import SAVING, FrozenScriptModule, ScriptFunction, TracedModule, has_branches
from .classes import Classes, described, path_of
from .kinds import Kind
from .objects import LoadedModule
from .reading import load
from .texts import chain, listed, literal
from .writing import Held, Program, write

Tensor = torch.Tensor

#: Arithmetic of sizes.
_SIZES = {
    operator.add: "torch.add({}, {})", operator.sub: "torch.sub({}, {})",
    operator.mul: "torch.mul({}, {})", operator.floordiv: "torch.floordiv({}, {})",
    operator.mod: "torch.remainder({}, {})", operator.truediv: "torch.div({}, {})",
    operator.neg: "torch.neg({})", operator.pow: "int(torch.pow({}, {}))",
    torch.sym_max: "ops.prim.max({}, {})", torch.sym_min: "ops.prim.min({}, {})",
    torch.sym_float: "float({})", torch.sym_int: "int({})", math.floor: "torch.floor({})",
    math.ceil: "torch.ceil({})", math.trunc: "int({})",
    operator.eq: "torch.eq({}, {})", operator.ne: "torch.ne({}, {})",
    operator.lt: "torch.lt({}, {})", operator.le: "torch.le({}, {})",
    operator.gt: "torch.gt({}, {})", operator.ge: "torch.ge({}, {})",
}  # fmt: skip
#: What begins the names of operators that say something, and compute nothing.
_CHECKS = ("_assert_", "sym_constrain_")


class _Called(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = [function]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        return self.function[0](*args, **kwargs)


def _refused(why: str) -> NotImplementedError:
    return not_offered("torch.jit.save of a traced module", why)


# ---- inputs ------------------------------------------------------------------------------------


def _each(x: Any, change: Callable[[int, Tensor], Any], count: list[int]) -> Any:
    """An example with ``change`` of the number and the value of each tensor in its place."""
    if isinstance(x, Tensor):
        count[0] += 1
        return change(count[0] - 1, x)
    if isinstance(x, (list, tuple)):
        return type(x)(_each(i, change, count) for i in x)
    return {k: _each(v, change, count) for k, v in x.items()} if isinstance(x, dict) else x


def _places(example: Any) -> list[tuple[int, int]]:
    """The dimensions that may vary, by the number of the tensor and their own."""
    found: list[tuple[int, int]] = []
    _each(example, lambda i, x: found.extend((i, d) for d, n in enumerate(x.shape) if n), [0])
    return found


def _with_two(example: Any, chosen: set[tuple[int, int]]) -> Any:
    """The example with two elements where it has one and that may vary, so that no step takes them
    for one."""

    def change(i: int, x: Tensor) -> Tensor:
        sizes = [2 if n == 1 and (i, d) in chosen else n for d, n in enumerate(x.shape)]
        return x.detach().expand(sizes).clone() if list(x.shape) != sizes else x

    return _each(example, change, [0])


def _varying(example: Any, chosen: set[tuple[int, int]]) -> Any:
    """What ``dynamic_shapes`` says of an example."""
    auto = torch.export.Dim.AUTO

    def change(i: int, x: Tensor) -> Any:
        return {d: auto for d in range(x.dim()) if (i, d) in chosen}

    return _each(example, change, [0])


def _kind(x: Any) -> str:
    """The type of an input.

    Raises:
        NotImplementedError: for what a trace has no input of.
    """
    if isinstance(x, Tensor):
        return "Tensor"
    if isinstance(x, tuple):
        return f"Tuple[{', '.join(map(_kind, x)) or '()'}]"
    if isinstance(x, list) and x and len(set(map(_kind, x))) == 1:
        return f"List[{_kind(x[0])}]"
    if isinstance(x, dict) and x and len(set(map(_kind, x.values()))) == 1:
        return f"Dict[str, {_kind(next(iter(x.values())))}]"
    raise _refused(f"a {type(x).__name__} among the example's inputs")


def _leaves(x: Any, text: str) -> Iterator[str]:
    """Expressions for the tensors of an input, in order."""
    if isinstance(x, Tensor):
        yield text
    elif isinstance(x, (list, tuple)):
        for i, item in enumerate(x):
            yield from _leaves(item, f"({text})[{i}]")
    else:
        for key, item in x.items():
            yield from _leaves(item, f"({text})[{literal(key)}]")


def _names(function: Callable[..., Any], count: int, keywords: list[str]) -> list[str]:
    """What the inputs are called."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        found = []
    plain = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = plain[:count] + [f"argument_{i + 1}" for i in range(len(plain[:count]), count)]
    return [*names, *keywords]


# ---- the graph ---------------------------------------------------------------------------------


class _Code:
    """The statements of one graph."""

    def __init__(self, exported: Any, leaves: list[str], frozen: bool) -> None:
        self._exported, self._leaves, self._frozen = exported, iter(leaves), frozen
        self.names: dict[Any, str] = {}
        self._prefix = "_" if not any(re.match(r"_\d", x) for x in leaves) else "value_"
        self.lines: list[str] = []
        self.constants: list[Any] = []
        self.random = False

    def _put(self, node: Any, text: str) -> None:
        name = self.names[node] = f"{self._prefix}{len(self.names)}"
        self.lines.append(f"    {name} = {text}\n")

    def constant(self, value: Any) -> str:
        """``CONSTANTS.c0``, say, for a tensor."""
        self.constants.append(value)
        return f"CONSTANTS.c{len(self.constants) - 1}"

    def _placeholder(self, node: Any, specs: dict[str, Any]) -> None:
        spec = specs[node.name]
        kind, target = spec.kind.name, spec.target
        if kind == "USER_INPUT":
            text = next(self._leaves)
        elif kind == "CONSTANT_TENSOR":
            text = self.constant(self._exported.constants[target].detach())
        elif kind not in ("PARAMETER", "BUFFER"):
            raise _refused(f"an input of the kind {kind}")
        elif self._frozen:
            found = self._exported.state_dict.get(target)
            found = self._exported.constants[target] if found is None else found
            text = self.constant(found.detach())
        else:
            text = chain("self", target)
        self._put(node, text)

    def text(self, x: Any) -> str:
        """An argument without a schema."""
        if isinstance(x, torch.fx.Node):
            return self.names[x]
        return literal(x)

    def _given(self, kind: str, x: Any) -> str:
        kind = kind.removesuffix("?")
        if isinstance(x, (list, tuple)):
            return listed(list(x), kind, lambda i: self._given(kind.partition("[")[0], i))
        if kind == "float" and type(x) is int:
            x = float(x)
        return self.text(x)

    def _call(self, node: Any) -> None:
        target = node.target
        if target is operator.getitem:
            self._put(node, f"({self.text(node.args[0])})[{self.text(node.args[1])}]")
        elif target in _SIZES:
            self._put(node, _SIZES[target].format(*map(self.text, node.args)))
        elif target is torch._C._set_grad_enabled:
            return
        elif isinstance(target, torch._ops.OpOverload):
            self._operator(node, target)
        else:
            raise _refused(f"it calls {getattr(target, '__name__', target)}")

    def _operator(self, node: Any, overload: Any) -> None:
        name, namespace = overload.overloadpacket.__name__, overload.namespace
        if name.startswith(_CHECKS):
            return
        if (namespace, name) == ("aten", "sym_size"):
            self._put(node, f"torch.size({', '.join(map(self.text, node.args))})")
            return
        if name in ("lift_fresh_copy", "lift_fresh"):
            self._put(node, f"torch.clone({self.text(node.args[0])})")
            return
        if namespace == "jtorch":
            raise _refused(f"{name} is an operator of this package")
        self.random |= "nondeterministic_seeded" in {t.name for t in overload.tags}
        schema, parts = overload._schema, []
        for a, x in zip(schema.arguments, node.args, strict=False):
            parts.append(self._given(a.type, x))
        kinds = {a.name: a.type for a in schema.arguments}
        plain = [a.name for a in schema.arguments[len(node.args) : schema.count]]
        for key, x in node.kwargs.items():
            if plain[:1] == [key] and len(parts) == schema.count - len(plain):
                plain.pop(0)
            parts.append(f"{key}={self._given(kinds[key], x)}")
        home = "torch." if namespace == "aten" else f"ops.{namespace}."
        self._put(node, f"{home}{name}({', '.join(parts)})")

    def write(self, result: Callable[[list[str]], str]) -> None:
        """Writes all statements."""
        specs = {s.arg.name: s for s in self._exported.graph_signature.input_specs}
        needed = _needed(self._exported.graph)
        for node in self._exported.graph.nodes:
            if node not in needed and node.op != "placeholder":
                continue
            if node.op == "placeholder":
                self._placeholder(node, specs)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                kinds = {s.kind.name for s in self._exported.graph_signature.output_specs}
                if kinds - {"USER_OUTPUT"}:
                    raise _refused(f"an output of the kind {kinds}")
                found = [self._result(x) for x in node.args[0]]
                self.lines.append(f"    return {result(found)}\n")
            else:
                raise _refused(f"its graph has a node {node.op}")

    def _result(self, x: Any) -> str:
        if not isinstance(x, torch.fx.Node):
            if x is None:
                return "None"
            raise _refused(f"it returns a {type(x).__name__} beside tensors")
        if "val" in x.meta and not isinstance(x.meta["val"], Tensor):
            raise _refused("it returns a size beside tensors")
        return self.names[x]


def _needed(graph: Any) -> set[Any]:
    """The nodes whose results, or writes, can be seen: not those that checks alone are made of."""
    needed: set[Any] = set()
    for node in reversed(list(graph.nodes)):
        writes = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
        if node.op == "output" or writes or node in needed:
            needed.add(node)
            needed.update(node.all_input_nodes)
    return needed


def _returned(x: Any, leaves: Iterator[str]) -> tuple[str, str]:
    """The expression and the type of what is returned."""
    if isinstance(x, Tensor):
        return next(leaves), "Tensor"
    if x is None:
        next(leaves)
        return "None", "NoneType"
    if type(x) is tuple or (isinstance(x, tuple) and hasattr(x, "_fields")):
        found = [_returned(i, leaves) for i in x]
        texts = ", ".join(t for t, _ in found) + ("," if len(found) == 1 else "")
        return f"({texts})", f"Tuple[{', '.join(k for _, k in found) or '()'}]"
    if isinstance(x, list) and x:
        found = [_returned(i, leaves) for i in x]
        if len({k for _, k in found}) == 1:
            return f"[{', '.join(t for t, _ in found)}]", f"List[{found[0][1]}]"
    if isinstance(x, dict) and x:
        found = [(literal(k), *_returned(v, leaves)) for k, v in x.items()]
        if len({k for *_, k in found}) == 1:
            texts = ", ".join(f"{key}: {text}" for key, text, _ in found)
            return f"{{{texts}}}", f"Dict[str, {found[0][2]}]"
    raise _refused(f"it returns a {type(x).__name__} that is not of one type")


@contextlib.contextmanager
def _saving() -> Iterator[None]:
    """A block in which scripted functions with branches are refused."""
    before, SAVING.now = getattr(SAVING, "now", False), True
    try:
        yield
    finally:
        SAVING.now = before


def _export(module: nn.Module, example: Any, chosen: set[tuple[int, int]]) -> Any:
    """The graph of a call, where the chosen dimensions vary; None if they cannot.

    Raises:
        NotImplementedError: for what cannot be shown at all.
    """
    args, kwargs = _with_two(example, chosen)
    sizes, named = _varying(example, chosen)
    shapes: Any = {"args": sizes, **({"kwargs": named} if named else {})}
    if not isinstance(module, _Called):
        shapes = {**dict(zip(_names(module.forward, len(args), []), sizes, strict=True)), **named}
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(), _saving():
            warnings.simplefilter("ignore")
            return torch.export.export(module, args, kwargs, dynamic_shapes=shapes or None)
    except Exception as e:
        if "DataDependent" in type(e).__name__:
            raise _refused(
                f"Python reads the values of tensors, so that a branch was chosen ({e})"
            ) from e
        if isinstance(e, NotImplementedError):
            raise
        if not chosen:
            raise _refused(f"its operators could not be shown ({type(e).__name__}: {e})") from e
        return None


def _graphs(module: nn.Module, example: Any) -> Iterator[Any]:
    """Graphs of a call, those first that hold for most sizes."""
    every = _places(example)
    found = _export(module, example, set(every))
    if found is not None:
        yield found
    able: set[tuple[int, int]] = set()
    for d in sorted({d for _, d in every}):
        together = {place for place in every if place[1] == d}
        parts = [together] if _export(module, example, together) is not None else []
        if not parts and len(together) > 1:
            parts = [{p} for p in together if _export(module, example, {p}) is not None]
        able.update(*parts)
    for chosen in (able, {place for place in able if place[1] == 0}, set()):
        found = _export(module, example, set(chosen))
        if found is not None:
            yield found


def program(module: Any) -> Program:
    """What is written for a traced module or function.

    Raises:
        NotImplementedError: for what the format, or this package, has no words for.
    """
    frozen = isinstance(module, FrozenScriptModule)
    function = isinstance(module, ScriptFunction)
    inner = module._inner[0] if frozen else module
    args, kwargs = inner._example
    run: Any = _Called(module._function) if function else inner
    for name, child in () if function else inner.named_modules():
        if not isinstance(child, TracedModule):
            kind = getattr(child, "_original", type(child))
            if kind is nn.Sequential:
                continue
            if isinstance(child, LoadedModule) or has_branches(kind.forward):
                raise _refused(f"{name} is a scripted module, of whose branches a trace shows one")
    with torch.no_grad(), torch.random.fork_rng():
        result = _kept_state(run, lambda: run(*args, **kwargs))
    for exported in _graphs(run, (args, kwargs)):
        made, random = _program(module, exported, result)
        if _gives(made, inner, result, random):
            return made
    raise _refused("what it computes depends on sizes in a way that its operators do not show")


def _gives(program: Program, module: Any, wanted: Any, random: bool) -> bool:
    """Whether what would be written gives the example's result, as its sizes may have been
    replaced."""
    written = io.BytesIO()
    write(program, written, None)
    made = load(io.BytesIO(written.getvalue()))
    args, kwargs = module._example
    try:
        with torch.no_grad(), torch.random.fork_rng():
            found = made(*args, **kwargs)
    except RuntimeError as e:
        if isinstance(e, NotImplementedError):
            raise
        return False
    return all(
        a is b
        if a is None or b is None
        else (
            a.shape == b.shape
            and a.dtype == b.dtype
            and (random or bool(torch.isclose(a, b, 1e-3, 1e-4, equal_nan=True).all()))
        )
        for a, b in zip(_flat(found), _flat(wanted), strict=True)
    )


def _flat(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    return [t for i in x for t in _flat(i)] if isinstance(x, (list, tuple)) else [x]


def _program(module: Any, exported: Any, result: Any) -> tuple[Program, bool]:
    """The program of a graph, and whether it draws random numbers."""
    frozen = isinstance(module, FrozenScriptModule)
    function = isinstance(module, ScriptFunction)
    inner = module._inner[0] if frozen else module
    args, kwargs = inner._example
    names = _names(module._function if function else inner.forward, len(args), list(kwargs))
    values = [*args, *kwargs.values()]
    kinds = [_kind(x) for x in values]
    leaves = [text for x, name in zip(values, names, strict=True) for text in _leaves(x, name)]
    code = _Code(exported, leaves, frozen)
    texts: list[str] = []

    def returned(found: list[str]) -> str:
        text, kind = _returned(result, iter(found))
        texts.append(kind)
        return text

    code.write(returned)
    given = "".join(f",\n    {n}: {k}" for n, k in zip(names, kinds, strict=True))
    method = f"  def forward(self: @{given}) -> {texts[0]}:\n{''.join(code.lines)}"
    classes = Classes()
    if function:
        held = _alone("__torch__.PlaceholderModule", method, classes)
    elif frozen:
        held = _alone(path_of(module), method, classes)
    else:
        held = described(module, classes, method)
    return Program(held, classes.files(), tuple(code.constants)), code.random


def _alone(path: str, method: str, classes: Classes) -> Held:
    """A module without attributes."""
    text = f"  __parameters__ = []\n  __buffers__ = []\n  training : bool\n{method}"
    path = classes.name(path, text)
    classes.add(path, f"class {path.rpartition('.')[2]}(Module):")
    return Held(0, path, [("training", Kind("bool"), False)])


def _kept_state(module: nn.Module, run: Callable[[], Any]) -> Any:
    """What ``run`` gives; the buffers stay what they were."""
    before = [(b, b.detach().clone()) for b in module.buffers()]
    try:
        return run()
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)
