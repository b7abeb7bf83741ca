"""Symbolic tracing: running a function on proxies, with modules and wrapped functions as single
nodes."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import functools
import inspect
import itertools
import math
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch.utils import _pytree as pytree

from .._C import ScriptObject as ScriptObject
from ._code import WRAPPED
from ._compatibility import compatibility as compatibility
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .node import Argument, has_side_effect
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Named, Row
    from ..nn.modules.module import Module


_wrapped_fns_to_patch: dict[tuple[int, str], Named] = {}
#: Classes and names of their methods whose calls are nodes if one of the arguments is traced.
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_proxyable_classes: dict[type, None] = {}
_is_fx_tracing_flag = False
#: What modules' attributes and calls are while nothing is traced.
_orig_module_getattr, _orig_module_call = torch.nn.Module.__getattr__, torch.nn.Module.__call__


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass of classes whose construction from proxies becomes a node."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: Any) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        instance: Any = object.__new__(cls) if cls.__new__ is object.__new__ else cls.__new__(cls)  # type: ignore[call-overload]
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)
            return instance
        found = [p for p in pytree.tree_leaves((args, kwargs)) if isinstance(p, Proxy)]
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(instance, *args, **kwargs)
        return instance


class PHBase:
    """Stands for an argument that stays an argument among ``concrete_args``."""

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """As ``PHBase``, with attributes that tracers may look at."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


PH = PHBase()


def _first_proxy(*args: object) -> Proxy | None:
    found: list[Proxy] = []

    def look(x: object) -> None:
        if isinstance(x, Proxy):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            for y in x:
                look(y)
        elif isinstance(x, dict):
            for y in x.values():
                look(y)
        elif isinstance(x, slice):
            look((x.start, x.stop, x.step))

    look(args)
    return found[0] if found else None


def _create_wrapped_func(orig_fn: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(orig_fn)
    def wrapped(*args: object, **kwargs: object) -> Any:
        proxy = _first_proxy(args, kwargs)
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        return orig_fn(*args, **kwargs)

    wrapped.__fx_wrapped__ = True
    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Proxy]:
    method = getattr(cls, name)

    @functools.wraps(method)
    def wrapped(*args: object, **kwargs: object) -> Proxy:
        proxy = _first_proxy(args, kwargs)
        if proxy is not None:
            return proxy.tracer.create_proxy("call_method", name, args, kwargs)
        return method(*args, **kwargs)

    return wrapped


def wrap(fn_or_name: str | Callable[..., object]) -> Any:
    """Says, at the top of a module, that a function of it (or its name) is a single node wherever
    it is called while tracing.

    Raises:
        RuntimeError: if it is given neither, or if it is called inside a function.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    found = fn_or_name if callable(fn_or_name) else frame.f_globals.get(name)
    if found is not None:
        WRAPPED.add(found)
    return fn_or_name


class _Patcher:
    """Replaces names in dictionaries and attributes of classes for the time of a block."""

    def __init__(self) -> None:
        self._made: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self._seen: set[int] = set()

    def patch(
        self,
        frame_dict: dict[str, object],
        name: str,
        new_fn: Callable[..., object],
        deduplicate: bool = True,
    ) -> None:
        """Puts ``new_fn`` into a dictionary. ``deduplicate`` changes nothing, as in PyTorch."""
        del deduplicate
        before = frame_dict.get(name, _Patcher)

        def undo() -> None:
            if before is _Patcher:
                frame_dict.pop(name, None)
            else:
                frame_dict[name] = before

        self._do(functools.partial(frame_dict.__setitem__, name, new_fn), undo)

    def patch_method(
        self, cls: type, name: str, new_fn: Callable[..., object], deduplicate: bool = True
    ) -> None:
        """Gives a class a method. ``deduplicate`` changes nothing, as in PyTorch."""
        del deduplicate
        own = name in cls.__dict__
        before = cls.__dict__.get(name)

        def undo() -> None:
            if own:
                setattr(cls, name, before)
            else:
                delattr(cls, name)

        self._do(functools.partial(setattr, cls, name, new_fn), undo)

    def _do(self, do: Callable[[], None], undo: Callable[[], None]) -> None:
        self._made.append((do, undo))
        do()

    def visit_once(self, thing: object) -> bool:
        """Whether an object was not seen before."""
        new = id(thing) not in self._seen
        self._seen.add(id(thing))
        return new

    def revert_all_patches(self) -> None:
        """Takes all back, until ``reapply_all_patches``."""
        for _, undo in reversed(self._made):
            undo()

    def reapply_all_patches(self) -> None:
        """Puts all in place again."""
        for do, _ in self._made:
            do()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: object) -> None:
        self.revert_all_patches()
        self._made.clear()
        self._seen.clear()


#: The patcher of the trace that is being made; None outside.
CURRENT_PATCHER: _Patcher | None = None


@contextlib.contextmanager
def _new_patcher() -> Iterator[_Patcher]:
    """A patcher for the time of a block, as the thread's current one."""
    global CURRENT_PATCHER
    before = CURRENT_PATCHER
    try:
        with _Patcher() as patcher:
            CURRENT_PATCHER = patcher
            yield patcher
    finally:
        CURRENT_PATCHER = before


@contextlib.contextmanager
def _maybe_revert_all_patches() -> Iterator[None]:
    """Takes the current trace's replacements back for the time of a block; nothing outside of a
    trace."""
    patcher = CURRENT_PATCHER
    if patcher is None:
        yield
        return
    patcher.revert_all_patches()
    try:
        yield
    finally:
        patcher.reapply_all_patches()


def _autowrap_check(
    patcher: _Patcher, frame_dict: dict[str, object], function_ids: set[int]
) -> None:
    """Makes single nodes of the functions in a dictionary that are known by their identity."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _create_wrapped_func(value))


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Makes single nodes of what ``wrap`` was given."""
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        if name in frame_dict:
            found = frame_dict[name]
        elif hasattr(builtins, name):
            found = getattr(builtins, name)
        else:
            continue
        if not getattr(found, "__fx_wrapped__", False):
            patcher.patch(frame_dict, name, _create_wrapped_func(found))


class Tracer(TracerBase):
    """Traces functions and modules. Override ``is_leaf_module``, ``create_arg``, ``call_module``, …
    to trace differently.

    Args:
        autowrap_modules: modules whose functions become single nodes when they are given proxies.
        autowrap_functions: more such functions.
        param_shapes_constant: parameters' shapes are numbers, not nodes.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[object, ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(v)
            for m in autowrap_modules
            for n, v in vars(m).items()
            if not n.startswith("_") and callable(v)
        }
        self._autowrap_function_ids |= {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[object, str] | None = None
        self.root_module_name = ""
        self.tensor_attrs: dict[object, str] = {}
        self._qualname_counter: dict[str, int] = collections.defaultdict(int)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.scope, self.node_name_to_scope = Scope("", None), {}

    # ---- what is what ----------------------------------------------------------------------------

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name of an attribute that the root does not have yet."""
        i = self._qualname_counter[prefix]
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        self._qualname_counter[prefix] = i + 1
        return f"{prefix}{i}"

    def create_arg(self, a: Any) -> Argument:
        """What stands for ``a`` among a node's arguments; parameters, buffers and other tensors are
        fetched from the root."""
        if isinstance(a, torch.nn.Parameter):
            for name, p in self.root.named_parameters():
                if a is p:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, torch.nn.Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node(
                "call_function", a.__class__, tuple(self.create_arg(x) for x in a), {}
            )
        if isinstance(a, torch.Tensor):
            name = self.tensor_attrs.get(a) if self._hashable(a) else None
            if name is None:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{a.__class__.__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    @staticmethod
    def _hashable(a: object) -> bool:
        return a.__class__.__hash__ is not None

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether calls of a module are single nodes: those of ``torch.nn`` are, except
        ``Sequential``."""
        del module_qualified_name
        name = m.__class__.__module__
        return (name.startswith(("torch.nn", "torch.ao.nn", "jtorch.nn"))) and not isinstance(
            m, torch.nn.Sequential
        )

    def path_of_module(self, mod: Any) -> str:
        """The dotted name of a module below the root.

        Raises:
            NameError: if it is not there.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for n, p in self.root.named_modules():
            if mod is p:
                return n
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The call of a module: a node for a leaf, otherwise what its ``forward`` does."""
        path = self.path_of_module(m)
        before, calls = self.module_stack, self.num_calls.get(path, 0)
        self.num_calls[path] = calls + 1
        self.module_stack = collections.OrderedDict(before)
        self.module_stack[f"{path}@{calls}" if calls else path] = (path, type(m))
        try:
            with ScopeContextManager(self.scope, Scope(path, type(m))):
                if not self.is_leaf_module(m, path):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.module_stack = before

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """The fetching of an attribute of a module: a node for parameters, and for buffers if
        ``proxy_buffer_attributes``."""

        def fetched(items: Any) -> object:
            for n, p in items:
                if attr_val is p:
                    if n not in parameter_proxy_cache:
                        options = {}
                        # a tracer's own `create_proxy` may not have it
                        knows = (
                            "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters
                        )
                        if (
                            knows
                            and self.param_shapes_constant
                            and isinstance(attr_val, torch.nn.Parameter)
                        ):
                            options["proxy_factory_fn"] = lambda node, n=n: ParameterProxy(
                                self, node, n, attr_val
                            )
                        parameter_proxy_cache[n] = self.create_proxy(
                            "get_attr", n, (), {}, **options
                        )
                    return parameter_proxy_cache[n]
            return None

        found = None
        if isinstance(attr_val, torch.nn.Parameter):
            found = fetched(self.root.named_parameters())
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            found = fetched(self.root.named_buffers())
        return attr_val if found is None else found

    # ---- tracing ---------------------------------------------------------------------------------

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """Placeholders for a function's parameters; gives the function to call and what to call it
        with."""
        fn = inspect.unwrap(root_fn)
        code: CodeType = fn.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args: list[Any] = []
        start = 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            start = 1
        signature = inspect.signature(fn)
        concrete = dict(concrete_args) if isinstance(concrete_args, dict) else concrete_args
        if isinstance(concrete, tuple):
            # as many parameters as arguments, none of them specialised
            if total == start and code.co_flags & inspect.CO_VARARGS:
                args.extend(
                    [
                        self.create_proxy("placeholder", f"input_{i}", (), {})
                        for i in range(len(concrete))
                    ]
                )
                return root_fn, args
            if len(concrete) != len(names[start:total]):
                raise RuntimeError(
                    f"Tracing expected {len(names[start:total])} arguments but got {len(concrete)} "
                    "concrete arguments"
                )
            concrete = dict(zip(names[start:total], concrete))
        notes = _annotations(fn)

        def placeholder(name: str) -> object:
            if concrete is not None and name in concrete:
                return self._specialised(name, concrete[name], signature.parameters[name].default)
            default: Row = ()
            if not name.startswith("*"):
                value = signature.parameters[name].default
                default = () if value is inspect.Parameter.empty else (value,)
            return self.create_proxy("placeholder", name, default, {}, type_expr=notes.get(name))

        args.extend([placeholder(names[i]) for i in range(start, code.co_argcount)])
        keywords = {names[i]: placeholder(names[i]) for i in range(code.co_argcount, total)}
        stars = []
        more: Any = None
        at = total
        if code.co_flags & inspect.CO_VARARGS:
            stars = [placeholder("*" + names[at])]
            at += 1
        if code.co_flags & inspect.CO_VARKEYWORDS:
            more = placeholder("**" + names[at])
        called = (
            root_fn
            if not keywords and not stars and more is None
            else _call_with(root_fn, fn, keywords, stars, more)
        )
        if concrete is None or not any(_is_tree(v) for v in concrete.values()):
            return called, args
        leaves, spec = pytree.tree_flatten(tuple(args[start:]))
        info = _PyTreeInfo(names[start:total], spec, None)
        self.graph._codegen = codegen = _PyTreeCodeGen(info)

        @functools.wraps(called)
        def flat(*given: object) -> Any:
            result, out_spec = pytree.tree_flatten(
                called(*given[:start], *pytree.tree_unflatten(given[start:], spec))
            )
            codegen.pytree_info = info._replace(out_spec=out_spec)
            return result

        return flat, [*args[:start], *leaves]

    def _specialised(self, name: str, value: object, default: object) -> object:
        numbers = itertools.count(1)

        def one(x: object) -> object:
            number = next(numbers)
            given = () if default is inspect.Parameter.empty or _is_tree(value) else (default,)
            out = self.create_proxy("placeholder", f"{name}_{number}", given, {})
            if isinstance(x, PHBase):
                if isinstance(x, PHWithMeta):
                    out.node.meta.update(x.__dict__)
                return out
            if isinstance(x, (bool, int, float, str)) or x is None:
                if x is None:
                    self.create_proxy("call_function", _assert_is_none, (
                        out,
                        f"{name} has been specialized to have value {x} but got another value"),
                                      {})  # fmt: skip
                else:
                    torch._assert(
                        out == x,
                        f"{name} has been specialized to have value {x} but got another value",
                    )
            return x

        return pytree.tree_map(one, value)

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module's ``forward``, or of a function."""
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            if isinstance(root, torch.nn.Module):
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(
                        f"traced_func_name={self.traced_func_name} doesn't exist in "
                        f"{type(root).__name__}"
                    )
                self.root = root
                fn = getattr(type(root), self.traced_func_name)
                self.root_module_name = root._get_name()
                self.submodule_paths = {mod: name for name, mod in root.named_modules()}
            else:
                self.root = torch.nn.Module()
                fn = root
            self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
            self.tensor_attrs, self.num_calls = {}, {}
            self._collect_tensors(self.root, [])
            if isinstance(fn, functools.partial):
                fn = _plain(fn)
            _check_traceable(fn)
            given = fn
            fn, args = self.create_args_for_root(
                fn, isinstance(root, torch.nn.Module), concrete_args
            )
            with _new_patcher() as patcher:
                self._patch(patcher, fn)
                result = fn(*args)
            notes = _annotations(inspect.unwrap(fn)) if fn is given else {}
            self.create_node(
                "output", "output", (self.create_arg(result),), {}, type_expr=notes.get("return")
            )
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def _collect_tensors(self, m: Module, prefix: list[str]) -> None:
        for k, v in m.__dict__.items():
            if isinstance(v, torch.Tensor):
                self.tensor_attrs[v] = ".".join([*prefix, k])
        for k, child in m.named_children():
            self._collect_tensors(child, [*prefix, k])

    def _patch(self, patcher: _Patcher, fn: Callable[..., object]) -> None:
        cache = {}
        # those of a trace around this one
        original_getattr, original_call = torch.nn.Module.__getattr__, torch.nn.Module.__call__
        tracer = self

        @functools.wraps(original_getattr)
        def getattr_(mod: Module, name: str) -> object:
            return tracer.getattr(name, original_getattr(mod, name), cache)

        @functools.wraps(original_call)
        def call(mod: Module, *args: Proxy, **kwargs: object) -> Any:
            return tracer.call_module(
                mod, lambda *a, **k: original_call(mod, *a, **k), args, kwargs
            )

        patcher.patch_method(torch.nn.Module, "__getattr__", getattr_, deduplicate=False)
        patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
        _patch_wrapped_functions(patcher)
        for scope in (
            getattr(inspect.unwrap(fn), "__globals__", {}),
            *map(vars, self._autowrap_search),
        ):
            _autowrap_check(patcher, scope, self._autowrap_function_ids)

    def __deepcopy__(self, memo: Any) -> Tracer:
        made = type(self).__new__(type(self))
        for k, v in self.__dict__.items():
            made.__dict__[k] = v if k == "_autowrap_search" else copy.deepcopy(v, memo)
        return made


def _check_traceable(fn: Callable[..., object]) -> None:
    """Raises for what has no body to trace: anything but functions written in Python, and what
    PyTorch has in C++."""
    kind: str | None = None
    if not isinstance(fn, (FunctionType, MethodType)):
        kind = (
            f"{type(fn).__module__}.{type(fn).__qualname__}"
            if type(fn).__module__ != "builtins"
            else type(fn).__qualname__
        )
    elif torch.overrides._is_builtin(fn):
        kind = (
            "method_descriptor"
            if torch.overrides.is_tensor_method_or_property(fn)
            else "builtin_function_or_method"
        )
    if kind is not None:
        raise AssertionError(f"Expected FunctionType, got <class '{kind}'>")


def _annotations(fn: Callable[..., object]) -> dict[str, object]:
    """A function's annotations; those of this package, texts that say ``Any`` or ``object`` where
    PyTorch says nothing, as it has them."""
    notes = getattr(fn, "__annotations__", {})
    if not (getattr(fn, "__module__", None) or "").startswith(("jtorch.", "torch.")):
        return notes
    try:
        # what kernels call what they are given
        found = typing.get_type_hints(fn, localns={"Array": torch.Tensor})
    except Exception:
        return {}
    return {k: v for k, v in found.items() if v is not Any and v is not object}


def _assert_is_none(value: object, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _is_tree(x: object) -> bool:
    return not pytree.tree_structure(x).is_leaf()


def _plain(fn: functools.partial[object]) -> Function:
    inner = fn.func

    def call(*args: object) -> Any:
        return inner(*fn.args, *args, **fn.keywords)

    names = [n for n in inspect.signature(fn).parameters if n not in fn.keywords]
    code = call.__code__.replace(co_name=inner.__name__)
    made = FunctionType(code, call.__globals__, inner.__name__, None, call.__closure__)
    text = f"lambda {', '.join(names)}: call({', '.join(names)})"
    return eval(text, {"call": made})


def _call_with(
    root_fn: Callable[..., object],
    fn: Callable[..., object],
    keywords: Mapping[str, object],
    stars: list[object],
    more: object,
) -> Function:
    """A function that is called with the plain arguments and runs the body with proxies for
    ``*args`` and ``**kwargs`` themselves."""
    if not stars and more is None:

        @functools.wraps(root_fn)
        def call(*args: object) -> Any:
            return root_fn(*args, **keywords)

        return call
    # The body is compiled as one that takes them as ordinary parameters.
    code = fn.__code__
    total = code.co_argcount + code.co_kwonlyargcount + len(stars) + (more is not None)
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    plain = FunctionType(
        code.replace(co_argcount=total, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags),
        fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__,
    )  # fmt: skip
    rest = [*keywords.values(), *stars, *([more] if more is not None else [])]

    @functools.wraps(fn)
    def spread(*args: object) -> Any:
        return plain(*args, *rest)

    return spread


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A ``GraphModule`` that does what a module or function does, found by running it on proxies.

    Args:
        concrete_args: values for parameters that decide what is run; they are checked when the
            graph runs.

    Raises:
        TraceError: if a traced value decides what is run.

    Examples:
        >>> import jtorch as torch
        >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> gm(torch.tensor([-1.0, 2.0]))
        tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def _assert_is_none_registered() -> None:
    has_side_effect(_assert_is_none)


_assert_is_none_registered()
