"""Files of exported programs: a zip archive of the graph as JSON and of tensors as ``torch.save``
writes them. Reading one runs nothing."""

from __future__ import annotations

import io
import json
import operator
import zipfile
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._higher_order_ops.operators import OPERATORS
from jtorch._src.tensor import unknowns
from jtorch._src.tensor.shape_env import ShapeEnv
from jtorch._src.tensor.symbols import Float, Sym, Truth
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.fx.experimental.proxy_tensor import _composites_whole
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node, map_arg
from jtorch.fx.passes.shape_prop import _extract_tensor_metadata
from jtorch.utils import _pytree as pytree

from ._asserts import computed, is_assertion
from .dynamic_shapes import Range, Reals
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._higher_order_ops.operators import HigherOrderOperator
    from .._src.aten.overloads import OpOverload
    from .._src.facts.kinds import Function, Named
    from ..nn.modules.module import Module


_FORMAT = "jtorch-exported-program-1"
_LARGEST = 1 << 28
#: What a graph may call besides operators.
_FUNCTIONS: Named = {
    "getitem": operator.getitem, "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "pow": operator.pow,
    "set_grad_enabled": torch._C._set_grad_enabled, "truediv": operator.truediv, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    **{f"sym_{name}": getattr(torch, f"sym_{name}") for name in ("float", "sqrt", "max", "min",
        "ite")},
    **{f"higher_order.{name}": op for name, op in OPERATORS.items()},
}  # fmt: skip
_NAMES = {id(f): n for n, f in _FUNCTIONS.items()}
_ARGUMENTS = {
    "tensor": TensorArgument, "size": SymIntArgument, "float": SymFloatArgument,
    "bool": SymBoolArgument, "constant": ConstantArgument,
}  # fmt: skip


# ---- writing -------------------------------------------------------------------------------------


def _encoded(x: Any) -> Any:
    if x is None or type(x) in (bool, int, str):
        return x
    if type(x) is float:
        return {"float": x.hex()}
    if type(x) is complex:
        return {"complex": [x.real.hex(), x.imag.hex()]}
    if isinstance(x, Node):
        return {"node": x.name}
    if type(x) in (list, tuple) or isinstance(x, list):
        return {"tuple" if type(x) is tuple else "list": [_encoded(i) for i in x]}
    if isinstance(x, torch.Size):
        return {"tuple": [_encoded(i) for i in x]}
    if isinstance(x, dict) and all(type(k) is str for k in x):
        return {"dict": {k: _encoded(v) for k, v in x.items()}}
    if isinstance(x, slice):
        return {"slice": [_encoded(x.start), _encoded(x.stop), _encoded(x.step)]}
    for kind in ("dtype", "device", "layout", "memory_format"):
        if isinstance(x, getattr(torch, kind)):
            return {kind: str(x).removeprefix("torch.")}
    raise TypeError(
        f"torch.export.save: a graph with a {type(x).__name__} among its arguments cannot be "
        "written"
    )


def _target(node: Node) -> str:
    if node.op != "call_function":
        return str(node.target)
    name = _NAMES.get(id(node.target))
    if name is not None:
        return name
    if not hasattr(node.target, "_schema"):
        raise TypeError(f"torch.export.save: a graph that calls {node.target} cannot be written")
    return str(node.target)


def _argument(arg: TensorArgument) -> dict[str, str | None]:
    kind = next(k for k, c in _ARGUMENTS.items() if type(arg) is c)
    return {"kind": kind, "name": arg.name, "value": _encoded(getattr(arg, "value", None))}


def write(program: ExportedProgram, f: Any, extra: dict[str, str]) -> None:
    """``torch.export.save``."""
    signature = program.module_call_graph[0].signature
    assert signature is not None
    old = program.graph_signature
    symbols = {
        str(k): [k.hint, r.lower, r.upper]
        for k, r in program.range_constraints.items()
        if not k.on_data
    }
    unknown = {
        str(k): [r.lower, r.upper] for k, r in program.range_constraints.items() if k.on_data
    }
    text = {
        "format": _FORMAT, **_written(program.graph_module), "symbols": symbols,
        "unknowns": unknown,
        "sizes": program._sizes, "names": program._names,
        "modules": [entry.fqn for entry in program.module_call_graph[1:]],
        "inputs": [{"kind": s.kind.name, "arg": _argument(s.arg), "target": s.target,
                    "persistent": s.persistent} for s in old.input_specs],
        "outputs": [{"kind": s.kind.name, "arg": _argument(s.arg), "target": s.target}
                    for s in old.output_specs],
        "in_spec": pytree.treespec_dumps(signature.in_spec),
        "out_spec": pytree.treespec_dumps(signature.out_spec),
    }  # fmt: skip
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("program.json", json.dumps(text))
        for name, tensors in (("state_dict", program.state_dict), ("constants", program.constants)):
            buffer = io.BytesIO()
            torch.save(dict(tensors), buffer)
            archive.writestr(f"{name}.pt", buffer.getvalue())
        for name, content in extra.items():
            archive.writestr(
                f"extra_files/{name}",
                content if isinstance(content, (bytes, str)) else str(content),
            )


def _written(module: Module) -> Named:
    """A graph, and those that its operators take."""
    nodes = []
    for n in module.graph.nodes:
        val = n.meta.get("val") if n.op == "placeholder" else None
        meta = None
        if isinstance(val, torch.Tensor):
            meta = {"size": [str(s) if isinstance(s, Sym) else s for s in val.shape],
                    "dtype": str(val.dtype).removeprefix("torch."),
                    "stride": [str(s) if isinstance(s, Sym) else s for s in val.stride()],
                    "requires_grad": val.requires_grad}  # fmt: skip
        kwargs = {k: _encoded(v) for k, v in n.kwargs.items()}
        args = [_encoded(a) for a in n.args]
        nodes.append({"op": n.op, "name": n.name, "target": _target(n), "args": args,
                      "kwargs": kwargs, "val": meta,
                      "data": n.meta.get("unbacked_bindings", []),
                      "data_sizes": n.meta.get("unbacked_sizes", {}),
                      "modules": [[key, *said] for key,
                                  said in n.meta.get("nn_module_stack", {}).items()]})  # fmt: skip
    return {
        "nodes": nodes,
        "graphs": {name: _written(child) for name, child in module.named_children()},
    }


# ---- reading -------------------------------------------------------------------------------------


def _decoded(x: Any, nodes: dict[str, Node]) -> Any:
    if x is None or type(x) in (bool, int, str):
        return x
    ((kind, value),) = x.items()
    if kind == "float":
        return float.fromhex(value)
    if kind == "complex":
        return complex(*map(float.fromhex, value))
    if kind == "node":
        return nodes[value]
    if kind in ("list", "tuple"):
        items = [_decoded(i, nodes) for i in value]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {k: _decoded(v, nodes) for k, v in value.items()}
    if kind == "slice":
        return slice(*[_decoded(i, nodes) for i in value])
    if kind == "device":
        return torch.device(value)
    found = getattr(torch, value) if kind in ("dtype", "layout", "memory_format") else None
    if not isinstance(found, getattr(torch, kind)):
        raise ValueError(f"{value!r} is no {kind}")
    return found


def _called(target: str) -> HigherOrderOperator | OpOverload | Callable[..., object]:
    if target in _FUNCTIONS:
        return _FUNCTIONS[target]
    parts = target.split(".")
    if len(parts) != 3 or not all(p.isidentifier() for p in parts):
        raise ValueError(f"{target!r} is no operator")
    found = getattr(getattr(getattr(torch.ops, parts[0]), parts[1]), parts[2])
    if not hasattr(found, "_schema"):
        raise ValueError(f"{target!r} is no operator")
    return found


def read(f: Any, extra: dict[str, str] | None) -> ExportedProgram:
    """``torch.export.load``."""
    try:
        with zipfile.ZipFile(f) as archive:
            if archive.getinfo("program.json").file_size > _LARGEST:
                raise ValueError("its graph is too large")
            text = json.loads(archive.read("program.json"))
            if not isinstance(text, dict) or text.get("format") != _FORMAT:
                raise ValueError(f"its format is not {_FORMAT}")
            state, constants = (
                torch.load(io.BytesIO(archive.read(f"{n}.pt")), weights_only=True)
                for n in ("state_dict", "constants")
            )
            if extra is not None:
                for name in extra:
                    extra[name] = archive.read(f"extra_files/{name}").decode()
        return _program(text, state, constants)
    except (
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        AssertionError,
        RecursionError,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(
            f"torch.export.load: this is no program that torch.export.save has written: {error}"
        ) from error


def _program(
    text: Named, state: dict[str, torch.Tensor], constants: dict[str, torch.Tensor]
) -> ExportedProgram:
    symbols = {
        n: (max(int(hint), 2), max(int(low), 2), high)
        for n, (hint, low, high) in text["symbols"].items()
    }
    env = ShapeEnv(symbols, strict=True)
    data = unknowns.of(env)
    data.bounds.update(
        {
            n: (low, high)
            for n, (low, high) in text.get("unknowns", {}).items()
            if not n.startswith("zuf")
        }
    )
    mode = FakeTensorMode(shape_env=env, static_shapes=True, allow_non_fake_inputs=True)

    def size(n: int | str) -> Sym | int:
        return env.wrap(env.parse(n)) if isinstance(n, str) else int(n)

    module = _read_graph(text, mode, size)
    graph = module.graph
    _propagated(module, mode)
    inputs = [
        InputSpec(InputKind[s["kind"]], _read_argument(s["arg"]), s["target"], s["persistent"])
        for s in text["inputs"]
    ]
    outputs = [
        OutputSpec(OutputKind[s["kind"]], _read_argument(s["arg"]), s["target"])
        for s in text["outputs"]
    ]
    for spec, node in zip(inputs, [n for n in graph.nodes if n.op == "placeholder"], strict=True):
        if isinstance(spec.arg, ConstantArgument):
            node.meta["val"] = spec.arg.value
    ranges: dict[object, Range] = {
        env.symbol(n): Range(low, high) for n, (_, low, high) in text["symbols"].items()
    }
    ranges |= {
        env.symbol(n): Range(low, high) for n, (low, high) in data.bounds.items()
    } | dict.fromkeys(data.floats, Reals())
    entry = ModuleCallEntry(
        "",
        ModuleCallSignature(
            [], [], pytree.treespec_loads(text["in_spec"]), pytree.treespec_loads(text["out_spec"])
        ),
    )
    return ExportedProgram(
        module,
        graph,
        ExportGraphSignature(inputs, outputs),
        state,
        ranges,
        [entry, *(ModuleCallEntry(name) for name in text.get("modules", ()))],
        None,
        constants,
        sizes=text["sizes"],
        names=text["names"],
    )


def _read_graph(text: Named, mode: FakeTensorMode, size: Function) -> GraphModule:
    """A graph as a module, with those that its operators take as its children."""
    root = torch.nn.Module()
    for name, inner in text.get("graphs", {}).items():
        root.add_module(str(name), _read_graph(inner, mode, size))
    graph = Graph()
    nodes: dict[str, Node] = {}
    for row in text["nodes"]:
        if row["op"] not in ("placeholder", "call_function", "output") and (
            row["op"] != "get_attr" or row["target"] not in root._modules
        ):
            raise ValueError(f"it has a node {row['op']!r}")
        target = _called(row["target"]) if row["op"] == "call_function" else str(row["target"])
        args = tuple([_decoded(a, nodes) for a in row["args"]])
        node = graph.create_node(
            row["op"],
            target,
            args,
            {k: _decoded(v, nodes) for k, v in row["kwargs"].items()},
            name=row["name"],
        )
        nodes[row["name"]] = node
        node.name = row["name"]
        if row["val"] is not None:
            v = row["val"]
            sizes = [size(n) for n in v["size"]]
            real = torch.empty(
                [getattr(n, "hint", n) for n in sizes],
                dtype=_decoded({"dtype": v["dtype"]}, {}),
                device="meta",
            )
            fake = mode.from_tensor(
                real.requires_grad_() if v["requires_grad"] else real, symbolic_context=sizes
            )
            fake.fake_device = torch.device("cpu")
            node.meta["val"], node.meta["tensor_meta"] = fake, _extract_tensor_metadata(fake)
        if row.get("data"):
            node.meta["unbacked_bindings"] = list(map(str, row["data"]))
        if row.get("data_sizes"):
            node.meta["unbacked_sizes"] = {
                str(name): int(dim) for name, dim in row["data_sizes"].items()
            }
        if row.get("modules"):
            node.meta["nn_module_stack"] = {
                str(key): (str(path), str(kind)) for key, path, kind in row["modules"]
            }
        if row["op"] == "get_attr":
            node.meta["val"] = root._modules[row["target"]]
    return GraphModule(root, graph)


def _read_argument(x: Named) -> object:
    made = _ARGUMENTS[x["kind"]](str(x["name"]))
    if isinstance(made, ConstantArgument):
        made.value = _decoded(x["value"], {})
    return made


def _propagated(module: GraphModule, mode: FakeTensorMode) -> None:
    """Finds the shapes of all nodes."""
    with torch.set_grad_enabled(torch.is_grad_enabled()), mode, _composites_whole():
        for node in module.graph.nodes:
            if is_assertion(node):
                said = node.args[0].meta["val"]
                if not isinstance(said, Truth):
                    continue
                sides = [x if type(x) is Float else said.env.wrap(x) for x in said.sides[1:]]
                compared = _FUNCTIONS[_NAMES[id(node.args[0].target)]](*sides)
                if isinstance(compared, Truth):
                    compared.expected()
                if said.sides[0] == "==":  # which the bounds may say, too
                    said.env.data.equate(*said.sides[1:])
            elif node.op == "call_function":
                args = map_arg(node.args, lambda n: n.meta.get("val"))
                found = computed(node, args)
                if found is not None:
                    node.meta["val"] = found
                    continue
                if mode.shape_env is not None and mode.shape_env.data is not None:
                    mode.shape_env.data.again = list(node.meta.get("unbacked_bindings", ()))
                node.meta["val"] = node.target(
                    *args, **map_arg(node.kwargs, lambda n: n.meta.get("val"))
                )
                if isinstance(node.meta["val"], torch.Tensor):
                    node.meta["tensor_meta"] = _extract_tensor_metadata(node.meta["val"])
