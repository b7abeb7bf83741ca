"""Scripted and traced modules and functions: Python that runs as it is written, under the types
that PyTorch gives them.

A scripted module is a copy of the module that shares its parameters, buffers and submodules'
tensors, and keeps its own attributes.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import textwrap
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import jtorch as torch
from jtorch import nn
from jtorch.nn.parameter import is_lazy

from .._C import _answers
from .._src.facts.errors import not_offered
from ._outputs import check_output

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType


NO_PROGRAM = (
    "TorchScript is a program format of its own; functions and modules run as the Python that they "
    "are"
)


#: Names of modules that hold others or tensors, of which each copy needs its own.
_HELD = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


def check_initialised(module: nn.Module) -> None:
    """Raises torch's error for a lazy module whose tensors have no sizes yet."""
    for what, tensors in (("parameters", module._parameters), ("buffers", module._buffers)):
        for name, tensor in tensors.items():
            if is_lazy(tensor):
                raise RuntimeError(
                    f"'{torch.typename(module)}' has uninitialized {what} {name}. Did you forget "
                    "to run a forward pass?"
                )
    for child in module.children():
        check_initialised(child)


def prepared(module: Any, seen: dict[int, Any] | None = None) -> Any:
    """What stands for a module where it is scripted: what its ``__prepare_scriptable__`` gives. As
    in PyTorch its submodules are replaced in the module itself.
    """
    seen = {} if seen is None else seen
    if not isinstance(module, nn.Module) or isinstance(module, ScriptModule):
        return module
    if id(module) in seen:
        return seen[id(module)]
    before, prepare = module, getattr(module, "__prepare_scriptable__", None)
    module = module if prepare is None else prepare()
    seen[id(before)] = module
    if isinstance(module, ScriptModule):
        return module
    table = vars(module)
    for children in (table.get("_modules", {}), table):
        for name, child in list(children.items()):
            if isinstance(child, nn.Module):
                children[name] = prepared(child, seen)
    return module


def tracing() -> ModuleType:
    """The module that makes graphs, which loads much."""
    return importlib.import_module("jtorch.jit._tracing")


def archives() -> ModuleType:
    """The module that reads archives, which loads much."""
    return importlib.import_module("jtorch.jit._torchscript.reading")


def writing() -> ModuleType:
    """The module that writes archives."""
    return importlib.import_module("jtorch.jit._torchscript.saving")


class ScriptModule(nn.Module):
    """The type of scripted modules. A subclass may be written by hand, with ``script_method`` over
    its methods; its submodules become scripted modules once it is initialised.
    """

    __constants__: object = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__init__")
        if own is None or cls.__module__ == __name__:
            return

        @functools.wraps(own)
        def __init__(self: object, *args: object, **kwargs: object) -> None:
            own(self, *args, **kwargs)
            if type(self) is cls:
                for name, child in self._modules.items():
                    self._modules[name] = None if child is None else scripted(child)

        cls.__init__ = __init__

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return type(self).__name__

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """``torch.jit.save(self, f, _extra_files)``."""
        writing().save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Any = None) -> bytes:
        """What ``save`` writes."""
        return writing().buffer(self, _extra_files)

    @property
    def code(self) -> NoReturn:
        """Not offered."""
        raise not_offered("torch.jit.ScriptModule.code", NO_PROGRAM)

    @property
    def graph(self) -> NoReturn:
        """Not offered."""
        raise not_offered("torch.jit.ScriptModule.graph", NO_PROGRAM)

    inlined_graph = graph


class RecursiveScriptModule(ScriptModule):
    """A module that ``script`` was given: its own class with the repr and the rules of scripted
    modules."""

    _original: type
    _presented = "RecursiveScriptModule"

    @property
    def original_name(self) -> str:
        """The name of the class of the module that was scripted."""
        return self._original.__name__

    def _get_name(self) -> str:
        return self._presented or self._original.__name__

    def extra_repr(self) -> str:
        """``original_name=...``."""
        return f"original_name={self.original_name}"

    __repr__ = nn.Module.__repr__

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(
            f"Tried to serialize object __torch__.{self.original_name} which does not have a "
            "__getstate__ method defined!"
        )


class TracedModule(RecursiveScriptModule):
    """A submodule of a module that was traced."""

    _presented = ""


class TopLevelTracedModule(TracedModule):
    """A module that ``trace`` was given."""

    _example: Any = None

    @property
    def inlined_graph(self) -> Any:
        """The operators that a call on the example calls, those of submodules among them."""
        if self._example is None:
            raise not_offered(
                "torch.jit.ScriptModule.inlined_graph", "trace_module keeps no example"
            )
        return tracing().module_graph(self, *self._example)

    @property
    def graph(self) -> Any:
        """``inlined_graph``, for a module without submodules."""
        if any(True for _ in self.children()):
            raise not_offered(
                "torch.jit.ScriptModule.graph",
                "calls of submodules are no nodes; inlined_graph shows theirs",
            )
        return self.inlined_graph


class FrozenScriptModule(RecursiveScriptModule):
    """A module whose parameters and submodules are constants of its program."""

    _inner: Any

    def forward(self, *args: object, **kwargs: object) -> Any:
        """What the module computed."""
        return self._inner[0](*args, **kwargs)


for _class, _home in (
    (ScriptModule, "torch.jit._script"),
    (RecursiveScriptModule, "torch.jit._script"),
    (TracedModule, "torch.jit._trace"),
    (TopLevelTracedModule, "torch.jit._trace"),
):
    _class.__module__ = _home


@functools.cache
def _class_for(kind: type, original: type) -> type:
    name = "RecursiveScriptModule" if kind is FrozenScriptModule else kind.__name__
    bases = (kind,) if issubclass(kind, FrozenScriptModule) else (kind, original)
    return type(
        name, bases, {"__module__": kind.__module__, "_original": original, "__qualname__": name}
    )


def _empty(kind: type, original: type) -> Any:
    return object.__new__(_class_for(kind, original))


def scripted(
    module: nn.Module,
    kind: type = RecursiveScriptModule,
    inner: type | None = None,
    memo: dict[int, Any] | None = None,
) -> Any:
    """A scripted copy of ``module`` that shares its tensors; a scripted module itself."""
    if isinstance(module, ScriptModule):
        return module
    memo = {} if memo is None else memo
    if id(module) in memo:
        return memo[id(module)]
    made = memo[id(module)] = _empty(kind, type(module))
    state = made.__dict__
    state.update(module.__dict__)
    state.update({name: copy.copy(state[name]) for name in _HELD})
    state.update(
        {
            name: value.copy()
            for name, value in state.items()
            if name.endswith("_hooks") and isinstance(value, dict)
        }
    )
    inner = inner or kind
    for name, child in state["_modules"].items():
        state["_modules"][name] = None if child is None else scripted(child, inner, inner, memo)
    return made


def frozen(module: object, preserved: Any = None) -> Any:
    """A module that computes what ``module`` does, without parameters or submodules of its own.

    Raises:
        RuntimeError: if ``module`` is not scripted, or in training mode.
    """
    if not isinstance(module, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    if isinstance(module, FrozenScriptModule):
        return module
    if module.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    made = _empty(FrozenScriptModule, getattr(module, "_original", type(module)))
    nn.Module.__init__(made)
    made.training = False
    inner = copy.deepcopy(module)
    inner.requires_grad_(False)
    object.__setattr__(made, "_inner", (inner,))  # in a tuple: nothing of it is a submodule
    for name in preserved or ():
        head = name.partition(".")[0]  # of a submodule's attribute, the submodule
        object.__setattr__(made, head, getattr(inner, head))
    return made


#: The attribute of methods that ``export`` was given.
EXPORTED = "_torchscript_exported"
#: Whether a trace is made that is to be saved.
SAVING = threading.local()


def has_branches(function: Any) -> bool:
    """Whether a function decides or repeats, or does not say."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return True
    kinds = (ast.If, ast.IfExp, ast.While, ast.For, ast.Try)
    return any(isinstance(node, kinds) for node in ast.walk(tree))


def seen_whole(function: Any) -> None:
    """Says that a scripted function is called.

    Raises:
        NotImplementedError: where a trace is made to be saved, which would hold only one of the
            branches that the function has.
    """
    if getattr(SAVING, "now", False) and has_branches(function):
        name = getattr(function, "__qualname__", type(function).__name__)
        raise not_offered(
            "torch.jit.save of a traced module",
            f"it calls {name}, a scripted function with branches, of which a trace shows one",
        )


class ScriptFunction:
    """A function that ``script`` or ``trace`` was given: calls go to it as it is."""

    __name__ = "ScriptFunction"
    _example: Any = None

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        name = getattr(function, "__name__", type(function).__name__)
        self.name = "_lambda" if name == "<lambda>" else name
        self.qualified_name = f"__torch__.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = _answers.TRACING.now
        if tracer is not None and not tracer.quiet:
            return tracer.call_function(self._function, self.name, args, kwargs)
        seen_whole(self._function)
        return self._function(*args, **kwargs)

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """``torch.jit.save(self, f, _extra_files)``."""
        writing().save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Any = None) -> bytes:
        """What ``save`` writes."""
        return writing().buffer(self, _extra_files)

    @property
    def code(self) -> NoReturn:
        """Not offered."""
        raise not_offered("torch.jit.ScriptFunction.code", NO_PROGRAM)

    @property
    def graph(self) -> Any:
        """The operators that a traced function calls on its example."""
        if self._example is None or self._example[1]:
            raise not_offered("torch.jit.ScriptFunction.graph", NO_PROGRAM)
        code = getattr(self._function, "__code__", None)
        names = [] if code is None else list(code.co_varnames[: code.co_argcount])
        return tracing().function_graph(self._function, self._example[0], names)

    inlined_graph = graph

    def __deepcopy__(self, memo: Mapping[int, object]) -> Any:
        return self

    def __reduce__(self) -> Any:
        import pickle

        raise pickle.PickleError("ScriptFunction cannot be pickled")


ScriptFunction.__module__ = "torch.jit"


def traced_runs(func: object, run: Callable[[], object], check: bool, strict: bool) -> None:
    """Runs an example as often as tracing does, where that shows in buffers or in the random
    numbers that follow, and looks at what it gives."""
    before: Any = torch.default_generator.get_state()
    check_output(run(), strict)
    after: Any = torch.default_generator.get_state()
    drew = not torch.equal(before, after)
    module = isinstance(func, nn.Module)
    if not check or not (drew or (module and func.training and any(True for _ in func.buffers()))):
        return
    for _ in range(3):
        run()
    if module:
        with torch.random.fork_rng():
            run()
