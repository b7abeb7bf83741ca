"""Modules whose ``forward`` is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, ForwardRef

import jtorch as torch
from jtorch import nn

from .._src.refusals import stand_ins as _refusals
from ._compatibility import compatibility as compatibility
from .graph import Graph, PythonCode

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Named
    from ..nn.modules.module import Module
    from .node import Node


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()
#: How names of files of generated code begin, and those of this package.
_GENERATED, _PACKAGE = "<eval_with_key>", str(Path(__file__).parents[1]) + os.sep


def _method_from_src(name: str, src: str, table: Named) -> Function:
    """The function ``name`` of a source text; tracebacks show its lines."""
    table = table.copy()
    file = f"{_GENERATED}.{next(_numbers)}"
    linecache.cache[file] = (len(src), None, src.splitlines(True), file)
    # annotations are what they say, not texts
    exec(compile(src, file, "exec", dont_inherit=True), table)
    return table[name]


def _copy_attr(from_module: object, to_module: Module, target: str) -> None:
    """Copies the attribute at a dotted path, with empty modules on the way."""
    *prefix, field = target.split(".")
    for item in prefix:
        f, t = getattr(from_module, item, None), getattr(to_module, item, None)
        if f is t:
            return
        if t is None:
            t = nn.Module()
            setattr(to_module, item, t)
        from_module, to_module = f, t
    original = getattr(from_module, field)
    if isinstance(original, torch.Tensor) and not isinstance(original, nn.Parameter):
        to_module.register_buffer(field, original)
    else:
        setattr(to_module, field, original)


def _assign_attr(value: object, to_module: Module, target: str) -> None:
    """Sets the attribute at a dotted path, with empty modules on the way."""
    *prefix, field = target.split(".")
    for item in prefix:
        t = getattr(to_module, item, None)
        if t is None:
            t = nn.Module()
            setattr(to_module, item, t)
        to_module = t
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _get_attr(module: object, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _forward_from_src(src: str, table: dict[str, object]) -> Callable[..., object]:
    return _method_from_src("forward", src, table)


def _keep_unused(made: nn.Module, body: Named) -> None:
    """Gives a module what another, of which these are the attributes, has besides what the graph
    names."""
    for kind in ("_parameters", "_buffers", "_modules"):
        mine = getattr(made, kind)
        for name, value in body.get(kind, {}).items():
            if not hasattr(made, name):
                mine[name] = value
                if name in body.get("_non_persistent_buffers_set", ()):
                    made._non_persistent_buffers_set.add(name)
            # made anew, for what the graph names in it
            elif isinstance(value, nn.Module) and mine.get(name) not in (None, value):
                _keep_unused(mine[name], value.__dict__)


class _CodeOnlyModule(nn.Module):
    def __init__(self, body: dict[str, object]) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[str, Any], import_block: str) -> nn.Module:
    """A ``GraphModule`` from its pickled attributes: the code is traced again."""
    fn_src = body.get("_code") or body["code"]
    forward = _forward_from_src(import_block + fn_src, {"torch": torch})
    return _deserialize(forward, body)


def _deserialize(
    forward: Callable[..., object], body: dict[str, object], graph_module_cls: Any = None
) -> nn.Module:
    from ._symbolic_trace import Tracer

    body.pop("_graphmodule_graph", None)
    name = body.pop("_graphmodule_cls_name", "GraphModule")
    _CodeOnlyModule.forward = forward

    class KeepModules(body.pop("_tracer_cls", None) or Tracer):  # type: ignore[misc]
        def is_leaf_module(self, _: object, __: str) -> bool:
            return True

    root = _CodeOnlyModule(body)
    graph = KeepModules().trace(root)
    made = (graph_module_cls or GraphModule)(root, graph, class_name=name)
    _keep_unused(made, body)
    for k, v in body.items():
        if not hasattr(made, k):
            setattr(made, k, v)
    return made


#: Where calls of generated code lead to programs: modules, and checks of what an exported program
#: is given.
_PROGRAMS = tuple(_PACKAGE + name + os.sep for name in ("nn", "export"))


def _where(tb: TracebackType | None) -> tuple[str, int] | None:
    """The file and line of generated code in which an operation failed; None where the error comes
    from other code that it called."""
    found = None
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if file.startswith(_GENERATED):
            found = file, tb.tb_lineno
        elif (caller := tb.tb_frame.f_globals.get("_caller")) is not None:
            found = found if caller.native else None  # PyTorch has it in C++, or in Python
        elif not file.startswith(_PACKAGE) or file.startswith(_PROGRAMS):
            found = None
        tb = tb.tb_next
    return found


def _pointed_at(file: str, line: int) -> str:
    """The lines of generated code around the one in which an operation failed."""
    lines = [text.rstrip("\n") for text in linecache.getlines(file)]
    marker = "~" * len(lines[line - 1].strip()) + "~~~ <--- HERE"
    return "\n".join([
        (f"Call using an FX-traced Module, line {line} of the traced Module's generated forward "
         "function:"),
        *lines[max(line - 2, 0) : line], "", marker, *lines[line : line + 2], "",
    ])  # fmt: skip


class GraphModule(nn.Module):
    """A module made from a graph; assigning ``graph`` or calling ``recompile`` writes its code
    anew.

    Args:
        root: the module (or a dictionary by dotted names) that has the submodules, parameters and
            buffers which the graph names.
        class_name: the name of the class, as it is printed.
    """

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """An instance of a new subclass."""
        # Every instance has a class of its own, because forward is a method of it.
        plain: Any = next(
            base for base in cls.__mro__ if base.__qualname__.split(".")[-1] != "GraphModuleImpl"
        )

        class GraphModuleImpl(plain):
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    assert isinstance(node.target, str)
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            wanted = []
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if node.target not in root:
                        raise RuntimeError(
                            f"Node {node} referenced target {node.target} but that target was not "
                            "provided in ``root``!"
                        )
                    wanted.append(node.target)
            for target in sorted(wanted, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if self.graph._tracer_cls and "<locals>" not in self.graph._tracer_cls.__qualname__:
            self._tracer_cls = self.graph._tracer_cls
        self._tracer_extras: dict[str, object] = {}
        self.meta: dict[str, Any] = {}
        self._create_node_hooks: list[object] = []
        self._erase_node_hooks: list[object] = []
        self._replace_hooks: list[object] = []

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        """Takes over a graph and writes its code."""
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python source of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Writes the code anew, after the graph was edited."""
        info = getattr(self._graph._codegen, "pytree_info", None)
        if info is not None and info.in_spec is not None:
            self._in_spec, self._out_spec = info.in_spec, info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        cls = type(self)
        cls.forward = _method_from_src(self._graph._codegen._func_name, made.src, made.globals)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls ``forward`` and the hooks; where an operation of the generated code fails, its
        lines are shown on the standard error."""
        try:
            return super().__call__(*args, **kwargs)
        except Exception as e:
            where = _where(e.__traceback__)
            if where is None:
                raise
            # that is what it is for
            print(traceback.format_exc(), _pointed_at(*where), sep="\n", file=sys.stderr)  # noqa: T201
            raise e.with_traceback(None) from None

    def _replicate_for_data_parallel(self) -> GraphModule:
        made = self.__copy__()
        made._is_replica = True
        return made

    # ---- submodules ------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Adds a submodule at a dotted path, with empty modules on the way; False where something
        else is in the way."""
        *prefix, field = target.split(".")
        mod: nn.Module = self
        for item in prefix:
            sub = getattr(mod, item, None)
            if sub is None:
                sub = nn.Module()
                setattr(mod, item, sub)
            if not isinstance(sub, nn.Module):
                return False
            mod = sub
        mod.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes a submodule out; False if there is none."""
        *prefix, field = target.split(".")
        mod = self
        for item in prefix:
            if not hasattr(mod, item):
                return False
            mod = getattr(mod, item)
        if not isinstance(getattr(mod, field, None), nn.Module):
            return False
        delattr(mod, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes out the submodules that the graph does not name."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                assert isinstance(node.target, str)
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    try:
                        sub = self.get_submodule(node.target)
                    except AttributeError:
                        continue
                    used.update(f"{node.target}.{n}" for n, _ in sub.named_modules() if n)
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # ---- copies ----------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        fake = _CodeOnlyModule(
            copy.deepcopy({k: v for k, v in self.__dict__.items() if k != "_graph"}, memo)
        )
        # torch's copies have the plain name, too
        GraphModule.__init__(made, fake, copy.deepcopy(self.graph, memo))
        _keep_unused(made, fake.__dict__)
        kept = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
                "_forward_hooks", "_forward_pre_hooks",
                "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs",
                "_forward_hooks_always_called")  # fmt: skip
        for name in kept:
            if name in self.__dict__:
                setattr(made, name, copy.copy(self.__dict__[name]))
        made.meta = copy.deepcopy(self.meta, memo)
        for k, v in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, k, v)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, self.__class__.__name__)
        made.meta = self.meta
        return made

    def __reduce__(self) -> Any:
        body = self.__dict__.copy()
        made = self._graph.python_code(root_module="self")
        body.pop("_graph", None)
        body["_code"] = made.src
        return reduce_graph_module, (body, _imports(made.globals))

    def __reduce_package__(self, exporter: Any) -> Any:
        del exporter
        raise NotImplementedError("GraphModule in torch.package: packages are not offered")

    # ---- texts -----------------------------------------------------------------------------------

    def __str__(self) -> str:
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, note])

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **more: Any,
    ) -> str:
        """The code as a class, printed and returned."""
        del include_stride, include_device, colored, more
        text = _readable(self, self.__class__.__name__)
        if print_output:
            print(text)  # noqa: T201 (that is what it is for)
        return text

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes the code and the state as a Python package."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        torch.save(self.state_dict(), place / "state_dict.pt")
        body = self.code.strip("\n").replace("\n", "\n    ")
        lines = [
            "import torch",
            "from torch.nn import *",
            f"class {module_name}(torch.nn.Module):",
            "    def __init__(self):",
        ]
        lines.append("        super().__init__()")
        for name, module in self.named_children():
            torch.save(module, place / f"{name}.pt")
            lines.append(
                f"        self.{name} = torch.load(r'{place / name}.pt', weights_only=False)"
            )
        for name, p in self._parameters.items():
            lines.append(
                f"        self.{name} = torch.nn.Parameter(torch.empty({list(p.shape)}, "
                f"dtype={p.dtype}))"
            )
        for name, b in self._buffers.items():
            lines.append(
                f"        self.register_buffer('{name}', torch.empty({list(b.shape)}, "
                f"dtype={b.dtype}))"
            )
        lines += [
            f"        self.load_state_dict(torch.load(r'{place}/state_dict.pt'))",
            f"    {body}",
            "",
        ]
        (place / "module.py").write_text("\n".join(lines))
        (place / "__init__.py").write_text("from .module import *\n")


def _imports(table: Named) -> str:
    lines = []
    for name, obj in table.items():
        if name == "torch":
            lines.append(
                "import torch" if obj.__name__ == "torch" else f"import {obj.__name__} as torch"
            )
        elif name in ("inf", "nan"):
            lines.append(f"from math import {name}")
        elif name == "device":
            lines.append(f"from {torch.__name__} import device")
        elif isinstance(obj, ModuleType):
            lines.append(f"import {obj.__name__} as {name}")
        elif name == "NoneType":
            lines.append("NoneType = type(None)")
        elif isinstance(obj, (str, type(...), ForwardRef)):
            lines.append(
                f"{name} = {(obj.__forward_arg__ if isinstance(obj, ForwardRef) else obj)!r}"
            )
        else:
            module = getattr(obj, "__module__", "builtins")
            called = getattr(obj, "__qualname__", None) or getattr(obj, "_name", name)
            lines.append(f"from {module} import {called} as {name}")
    return "\n".join(lines) + "\n"


_SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64",
    "complex128": "c128",
}  # fmt: skip


def _annotation(node: Node) -> str:
    """What is known of a node's value: ``"f32[2, 3]"``, or ``"Sym(s77)"``; nothing if nothing
    is."""
    val = node.meta.get("val")
    if isinstance(val, torch.Tensor):
        kind = str(val.dtype).removeprefix("torch.")
        return f': "{_SHORT.get(kind, kind)}[{", ".join(map(str, val.shape))}]"'
    return f': "Sym({val})"' if isinstance(val, torch.SymInt) else ""


def _annotated(lines: list[str], nodes: Any) -> list[str]:
    """The code with what is known of values; only that of graphs whose arguments are the function's
    own."""
    known = {n.name: text for n in nodes if (text := _annotation(n))}
    found = []
    for line in lines:
        if line.startswith("def ") and "*args" not in line:
            head, _, rest = line.partition("(")
            names, _, end = rest.rpartition("):")
            if names and all(p.strip().isidentifier() for p in names.split(",")):
                line = (
                    f"{head}("
                    f"{', '.join([p.strip() + known.get(p.strip(), '') for p in names.split(',')])}"
                    f"):{end}"
                )
        else:
            name, sign, value = line.strip().partition(" = ")
            if sign and name in known:
                line = f"    {name}{known[name]} = {value}"
        found.append(line)
    return found


def _readable(module: GraphModule, name: str) -> str:
    code = module._code.lstrip("\n")
    lines = _annotated(code.split("\n"), module.graph.nodes)
    body: list[str] = []
    noted = False
    for line in lines:
        text = line.strip()
        if line.startswith("    ") and text and not noted:
            plain = text.partition(" = ")
            is_placeholder = plain[2] in [
                n.target.lstrip("*") for n in module.graph.nodes if n.op == "placeholder"
            ]
            if not is_placeholder and not text.startswith("return"):
                if body and not body[-1].startswith("def "):
                    body.append("")
                body.append("    # No stacktrace found for following nodes")
                noted = True
        body.append(line)
    text = "\n".join(("    " + line) if line.strip() else line.strip() for line in body)
    return f"class {name}(torch.nn.Module):\n{text}"


__getattr__ = _refusals.missing(__name__)
