"""Proxies: what flows through a function while it is traced; every operation on one becomes a
node."""

from __future__ import annotations

import copy
import dis
import enum
import inspect
import operator
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.overrides import is_tensor_method_or_property, resolve_name

from . import traceback as fx_traceback
from ._code import MAGIC
from ._compatibility import compatibility as compatibility
from .graph import Graph
from .node import Argument, Node, Target, map_aggregate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._src.facts.kinds import Values


BASE_TYPES = (
    str,
    int,
    float,
    bool,
    complex,
    type(None),
    type(...),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
)
BASE_TYPES += (torch.Tensor, enum.Enum)


#: The notes that nodes hand on to those made of them.
COPIED_META = frozenset((
    "nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id",
    "has_backward_hook", "from_node", "quantization_tag", "_numeric_debug_handle", "custom",
    "partitioner_tag", "stack_trace",
))  # fmt: skip


def refuse_writing(target: Any, kwargs: Mapping[str, object]) -> None:
    """Raises for a function of ``torch`` that writes: in place, or into ``out``.

    Raises:
        RuntimeError: naming the operator that does.
    """
    name = getattr(target, "__name__", "")
    if resolve_name(target) is None or not (name.endswith("_") or kwargs.get("out") is not None):
        return
    packet = getattr(torch.ops.aten, name, None)
    overload = getattr(packet, "out" if kwargs.get("out") is not None else "default", None)
    if overload is None:
        return
    raise RuntimeError(
        f"Tried to trace mutable operation {overload._schema}. FX only supports functional code, "
        "so operations that mutate operands in-place (e.g. via `out` arguments) are not supported"
    )


class TraceError(ValueError):
    """The function does something that cannot be traced."""


class Scope:
    """A module by its path and class: where a node was traced."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """While it is entered, ``scope`` tells of the module that ``current_scope`` names."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = scope.module_path, scope.module_type
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TracerBase:
    """What makes nodes from operations, and decides what may be an argument."""

    graph: Graph
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    #: The modules whose ``forward`` runs, outermost first, by path: the path and the class.
    module_stack: dict[str, tuple[str, type]] = {}
    scope: Scope
    #: For each node by name, the path and the class of the module that it was traced in.
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a node to the graph, with the notes of those that it comes from and the modules that
        are being traced.

        Raises:
            RuntimeError: for an operation that writes into its arguments, if
                ``check_mutable_operations``.
        """
        if kind == "call_function" and self.check_mutable_operations:
            refuse_writing(target, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        scope = self.__dict__.get("scope")
        if scope is not None:
            self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        if kind not in ("placeholder", "output"):
            if self.record_stack_traces:
                node.stack_trace = "".join(
                    traceback.StackSummary.from_list(_user_frames()).format()
                )
            if fx_traceback.has_preserved_node_meta():
                node.meta.update(
                    {
                        k: copy.copy(v)
                        for k, v in fx_traceback.get_current_meta().items()
                        if k in COPIED_META
                    }
                )
            elif self.module_stack:
                node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy for a node's result."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Adds a node and gives the proxy for its result."""
        made_args, made_kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(made_args, tuple):
            raise AssertionError("args must be a tuple")
        node = self.create_node(kind, target, made_args, made_kwargs, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """What stands for ``a`` among a node's arguments: the node of a proxy, containers of such,
        plain values.

        Raises:
            NotImplementedError: for other objects.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(x) for x in a]
            return type(a)(*items) if hasattr(a, "_make") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            for k in a:
                if isinstance(k, Proxy):
                    raise RuntimeError(
                        "Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                        f"{k}"
                    )
            return {self._key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            kwargs = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", a.__class__, (), kwargs)
        if (
            isinstance(a, BASE_TYPES)
            or a is ...
            or isinstance(a, type)
            or inspect.isroutine(a)
            or (callable(a) and hasattr(a, "__name__"))
        ):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, k: str) -> str:
        def refuse(x: str) -> str:
            if isinstance(x, (Proxy, Node)):
                raise RuntimeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {k}"
                )
            return x

        return map_aggregate(self.create_arg(k), refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Called where a proxy decides; a tracer that can choose overrides this."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a proxy is iterated; a tracer that knows the length overrides this."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj: Proxy) -> Proxy:
        """Called where a proxy is unpacked with ``**``."""
        return Attribute(obj, "keys")()


def _user_frames() -> Values:
    return [
        f for f in traceback.extract_stack() if "/jtorch/fx/" not in f.filename.replace("\\", "/")
    ]


class GraphAppendingTracer(TracerBase):
    """A tracer that only adds to a graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


class Proxy:
    """Stands for a value while a function is traced. Operators, methods, attributes and functions
    of ``torch`` become nodes."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in (
            "__array__",
            "__array_interface__",
            "__array_struct__",
            "__jax_array__",
            "__fx_create_arg__",
            "__len__",
            "__dlpack__",
        ):
            raise AttributeError(k)  # numbers, NumPy and JAX ask for these
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: Any) -> Proxy:
        made = Proxy.__new__(Proxy)
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """The call of the value, recorded."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        if caller is not None:
            for instruction in dis.get_instructions(caller.f_code):
                if instruction.offset == caller.f_lasti:
                    if instruction.opname == "UNPACK_SEQUENCE":
                        return (self[i] for i in range(instruction.argval))  # type: ignore[index]
                    break
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            frame = inspect.currentframe()
            caller = frame.f_back if frame is not None else None
            if caller is not None:
                steps = list(dis.get_instructions(caller.f_code))
                at = next((i for i, s in enumerate(steps) if s.offset == caller.f_lasti), None)
                ahead = steps[at + 1 : at + 2] if at is not None else []
                if (ahead and ahead[0].opname == "LOAD_ASSERTION_ERROR") or (
                    at is not None and steps[at].opname.endswith("JUMP_IF_TRUE")
                ):
                    self.tracer.create_proxy("call_function", torch._assert, (self, "<assert>"), {})
                    return True
        return self.tracer.to_bool(self)

    def keys(self) -> Proxy:
        """For ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Proxy:
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        tracers = {}

        def find(a: Proxy | int | str) -> Proxy | int | str:
            if isinstance(a, cls):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if is_tensor_method_or_property(orig_method):
            if orig_method.__name__ == "__get__":  # a property
                name = getattr(getattr(orig_method, "__self__", None), "__name__", "")
                return tracer.create_proxy("call_function", getattr, (args[0], name), {})
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        # PyTorch's functions of these names call the methods
        if orig_method in (torch.nn.functional.sigmoid, torch.nn.functional.tanh):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy(
            "call_function",
            orig_method,
            args,
            kwargs,
            name=tracer.graph._target_to_str(orig_method.__name__),
        )


class Attribute(Proxy):
    """An attribute of a proxy: a node of its own only if it is used other than by calling it."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The node, made when it is first asked for: calling a method does not fetch it."""
        if self._node is None:
            self._node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            ).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """The call of the method, recorded."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter's proxy that still knows shape and size."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected torch.nn.Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self) -> torch.Size:
        """The parameter's shape."""
        return self.param.size()

    def dim(self) -> int:
        """The parameter's number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The parameter's number of elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The parameter's number of elements."""
        return self.param.nelement()


def _operator(name: str, target: Callable[..., object]) -> Callable[..., Proxy]:
    def method(*args: Any, **kwargs: object) -> Proxy:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    method.__name__ = name
    return method


def _reflected(name: str, target: Callable[..., object]) -> Callable[..., object]:
    def method(self: Proxy, rhs: object) -> Any:
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    method.__name__ = name
    return method


for _name in MAGIC:
    setattr(
        Proxy,
        f"__{_name.strip('_')}__",
        _operator(f"__{_name.strip('_')}__", getattr(operator, _name)),
    )
for _name in (
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "getitem",
    "matmul",
):
    if _name != "getitem":
        setattr(
            Proxy,
            f"__r{_name.strip('_')}__",
            _reflected(f"__r{_name.strip('_')}__", getattr(operator, _name)),
        )


__getattr__ = _refusals.missing(__name__)
