"""``make_fx``: a function becomes a graph of the operators that it calls, as a dispatch mode sees
them."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
import jtorch._higher_order_ops  # (so that branches and loops are captured)
from jtorch._guards import detect_fake_mode
from jtorch._src.aten.calling import classes
from jtorch._src.aten.state import STATE
from jtorch._src.aten.wrapping import is_transformed
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor import unknowns
from jtorch._src.tensor.shape_env import ShapeEnv, parsed
from jtorch._src.tensor.size_texts import evaluate
from jtorch._src.tensor.symbols import Float, Sym, Truth
from jtorch._subclasses._wrappers import takes_over
from jtorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from jtorch.utils import _pytree as pytree
from jtorch.utils._python_dispatch import TorchDispatchMode

from ..graph import Graph, _PyTreeCodeGen
from ..graph_module import GraphModule
from ..passes.shape_prop import _extract_tensor_metadata
from ..proxy import Proxy, TracerBase

if TYPE_CHECKING:
    from ..._src.aten.overloads import OpOverload
    from ..._src.facts.kinds import Tree


__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "disable_proxy_modes_tracing",
    "get_proxy_mode",
    "make_fx",
]

_OF_SIZES = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": torch.sym_max,
    "min": torch.sym_min,
}
_OF_SIGNS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_OF_COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip
_TRUTH = "truth"
_running: list[ProxyTorchDispatchMode] = []


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of the innermost trace that is running."""
    return _running[-1] if _running else None


@contextlib.contextmanager
def running(mode: ProxyTorchDispatchMode) -> Iterator[None]:
    """A block in which ``mode`` is that of the innermost trace."""
    _running.append(mode)
    try:
        yield
    finally:
        _running.pop()


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """A block whose operators run without being added to a graph."""
    mode = get_proxy_mode()
    if mode is None:
        yield
        return
    before, mode.enabled = mode.enabled, False
    try:
        yield
    finally:
        mode.enabled = before


class PythonKeyTracer(TracerBase):
    """What adds nodes to the graph of a trace, and keeps the tensors that the function did not get
    as arguments."""

    def __init__(self) -> None:
        self.graph = Graph(tracer_cls=type(self))
        self.root = torch.nn.Module()
        #: By identity: tensors and their values, kept alive, with the proxies of what computed
        #: them. Transformations hand on other tensors with the same values.
        self.known: dict[int, tuple[Any, Proxy]] = {}
        #: Tensors from outside with the names that they got, by identity.
        self.constants: dict[int, tuple[torch.Tensor, str]] = {}
        #: Sizes that vary, by the text of their expressions: the proxies of the nodes that compute
        #: them.
        self.sizes: dict[str, Proxy] = {}
        #: Which of them data decide, if that is known.
        self.data: Any = None
        #: Where each symbol can be read: the proxy of a tensor and the dimension, or of the number
        #: (None) or truth value that it is.
        self.sources: dict[str, tuple[Proxy, Any]] = {}

    def track(self, value: Tree, proxy: Proxy) -> None:
        """Says that a tensor, or each of several, is the result of a node."""
        if isinstance(value, FakeTensor):
            self.known[id(value)] = value, proxy
            proxy.node.meta["val"] = value
            proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(value)
            self._sizes_from_data(value, proxy)
        elif isinstance(value, torch.Tensor):
            for key in (value, value._read()):
                self.known[id(key)] = key, proxy
            with disable_proxy_modes_tracing():
                proxy.node.meta["val"] = proxy.node.meta["tensor_meta"] = value.detach()
        elif isinstance(value, Sym):
            self.sizes.setdefault(str(value.expr), proxy)
            proxy.node.meta["val"] = value
        elif isinstance(value, Float):
            self.sizes.setdefault(f"float {value!r}", proxy)
            proxy.node.meta["val"] = value
        elif isinstance(value, Truth):
            self.sizes.setdefault(f"bool {value!r}", proxy)
            self.sources.setdefault(str(value.sides[1]), (proxy, _TRUTH))
            proxy.node.meta["val"] = value
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                if isinstance(item, (torch.Tensor, tuple, list)):
                    self.track(
                        item, self.create_proxy("call_function", operator.getitem, (proxy, i), {})
                    )

    def _sizes_from_data(self, value: FakeTensor, proxy: Proxy) -> None:
        """A tensor whose size data decide tells what the symbol of the size is."""
        env = value.fake_mode.shape_env
        if env is not None and env.data is not None:
            for dim, n in enumerate(value._aval.shape):
                name = env.data.bare(n)
                if name and str(n) not in self.sizes and str(n) not in self.sources:
                    self.size_of_data(name, str(n), proxy, dim)

    def size_of_data(self, name: str, text: str, proxy: Proxy, dim: int) -> None:
        """Says where a size that data decide is read."""
        self.sources.setdefault(text, (proxy, dim))
        proxy.node.meta.setdefault("unbacked_sizes", {})[name] = dim

    def proxy_of(self, tensor: torch.Tensor) -> Proxy | None:
        """The proxy of what computed a tensor, if that is known."""
        found = self.known.get(id(tensor)) or (
            None if isinstance(tensor, FakeTensor) else self.known.get(id(tensor._read()))
        )
        return None if found is None else found[1]

    def begin(self, value: object, proxy: Proxy) -> None:
        """``track`` for an argument, whose sizes tell what their symbols are."""
        self.track(value, proxy)
        if isinstance(value, Sym):
            self.sources.setdefault(str(value.expr), (proxy, None))
        if isinstance(value, FakeTensor):
            for dim, n in enumerate(value.shape):
                if isinstance(n, Sym):
                    self.sources.setdefault(str(n.expr), (proxy, dim))

    def size(self, n: Sym) -> Proxy:
        """The proxy of a size that varies: nodes that compute it from the sizes of arguments are
        added where there are none yet."""
        return self._size(n.env, str(n.expr))

    def _size(self, env: ShapeEnv, text: str) -> Any:
        found = self.sizes.get(text)
        if found is not None:
            return found
        source = self.sources.get(text)
        if source is not None:
            proxy, dim = source
            size_of = torch.ops.aten.sym_size.int
            if dim is _TRUTH:
                made = self.create_proxy("call_function", torch.sym_ite, (proxy, 1, 0), {})
            else:
                made = (
                    proxy
                    if dim is None
                    else self.create_proxy(
                        "call_function", size_of, (proxy, dim), {}, "sym_size_int"
                    )
                )
        else:
            made = self._computed(env, ast.parse(text.replace("^", "**"), mode="eval").body)
        if isinstance(made, Proxy):
            self.sizes[text] = made
            made.node.meta["val"] = env.wrap(parsed(text, env))
        return made

    def float_of(self, a: Float) -> Proxy:
        """The proxy of a float that is computed of sizes: nodes that compute it are added where
        there are none yet."""
        text = f"float {a!r}"
        made = self.sizes.get(text)
        if made is None:
            target = getattr(torch if a.target.startswith("sym_") else operator, a.target)
            parts = [
                self.float_of(p) if type(p) is Float else self.size(p) if type(p) is Sym else p
                for p in a.parts
            ]
            made = self.sizes[text] = self.create_proxy("call_function", target, tuple(parts), {})
            made.node.meta["val"] = a
        return made

    def truth_of(self, a: Truth) -> Proxy:
        """The proxy of a comparison of sizes, or of numbers that data decide."""
        text = f"bool {a!r}"
        made = self.sizes.get(text)
        if made is None:
            sign, *sides = a.sides
            target, parts = _OF_COMPARISONS[sign], [self.side_of(a.env, x) for x in sides]
            made = self.sizes[text] = self.create_proxy("call_function", target, tuple(parts), {})
            made.node.meta["val"] = a
        return made

    def side_of(self, env: ShapeEnv, x: object) -> Any:
        """What a comparison's node compares: numbers, and proxies of sizes and floats."""
        return (
            x
            if type(x) in (int, float)
            else self.float_of(x)
            if type(x) is Float
            else self.size(x if type(x) is Sym else Sym(env, x))
        )

    def _computed(self, env: ShapeEnv, node: ast.AST) -> object:
        """What computes an expression of sizes, operation by operation."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._size(env, node.id) if node.id in self.sources else self._root(env, node.id)
        if isinstance(node, ast.UnaryOp):
            return self.create_proxy(
                "call_function", operator.neg, (self._part(env, node.operand),), {}
            )
        if isinstance(node, ast.Call):
            target = _OF_SIZES[node.func.id]
            return self.create_proxy(
                "call_function", target, tuple([self._part(env, a) for a in node.args]), {}
            )
        assert isinstance(node, ast.BinOp)
        left, right, target = node.left, node.right, _OF_SIGNS[type(node.op)]
        if target is operator.mul and isinstance(left, ast.Constant):  # as programs write it
            left, right = right, left
        return self.create_proxy(
            "call_function", target, (self._part(env, left), self._part(env, right)), {}
        )

    def _root(self, env: ShapeEnv, name: str) -> object:
        """A symbol of which the arguments' sizes are only multiples, plus a number."""
        if self.lift is not None:
            return self.lift(env.wrap(parsed(name, env)))
        for text in self.sources:
            names = env.names_in([text])
            if len(names) == 1 and str(env._exprs[names[0]]) == name:
                low, high = (evaluate(text, {name: n}) for n in (0, 1))
                size = self._size(env, text)
                if low:
                    size = self.create_proxy("call_function", operator.sub, (size, low), {})
                return self.create_proxy("call_function", operator.floordiv, (size, high - low), {})
        raise RuntimeError(f"the size {name} is not one of an argument")

    def _part(self, env: ShapeEnv, node: ast.AST) -> object:
        return (
            node.value
            if isinstance(node, ast.Constant)
            else self._size(env, ast.unparse(node).replace(" ** ", "^"))
        )

    #: In the graph of a function that an operator takes: gives the proxy of a value from outside.
    lift: Callable[[Any], Any] | None = None

    def create_arg(self, a: object) -> Any:
        """The node of a tensor's proxy; tensors from outside become attributes of the graph's
        module."""
        if isinstance(a, torch.Tensor):
            found = self.proxy_of(a)
            return (self._constant(a) if found is None else found).node
        if isinstance(a, Sym):
            made = self.size(a)
            return made.node if isinstance(made, Proxy) else made
        if isinstance(a, Float):
            return self.float_of(a).node
        if isinstance(a, Truth):
            return self.truth_of(a).node
        if isinstance(a, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
            return a
        return super().create_arg(a)

    def _constant(self, tensor: torch.Tensor) -> Proxy:
        if self.lift is not None:
            return self.lift(tensor)
        # kept, it would be the example's value, or none
        if isinstance(tensor, FakeTensor) or is_transformed(tensor):
            raise not_offered(
                "tracing into a graph",
                "a value comes from where the trace does not see, as inside torch.vmap, "
                "torch.func.jvp, or torch.func.grad of tensors without data; write the function "
                "without them, or give it to jtorch.jax.functionalize and JAX",
            )
        found = self.constants.get(id(tensor))
        if found is None:
            kind = (
                "_param_constant" if isinstance(tensor, torch.nn.Parameter) else "_tensor_constant"
            )
            name = f"{kind}{sum(known.startswith(kind) for _, known in self.constants.values())}"
            self.constants[id(tensor)] = found = tensor, name
            setattr(self.root, name, tensor)
        made = self.create_proxy("get_attr", found[1], (), {})
        with disable_proxy_modes_tracing():
            made.node.meta["val"] = tensor.detach()
        return made


class GradTracer(PythonKeyTracer):
    """Adds nodes that switch the recording of history where the program does."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = self.grad = torch.is_grad_enabled()

    def create_node(self, kind: str, *args: Any, **kwargs: object) -> Any:
        """Adds a node to the graph."""
        now = self.begun if kind == "output" else torch.is_grad_enabled()
        if kind in ("call_function", "output") and now != self.grad:
            self.grad = now
            super().create_node("call_function", torch._C._set_grad_enabled, (now,), {})
        return super().create_node(kind, *args, **kwargs)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """The mode of one trace: each operator becomes a node, and runs on the tensors given."""

    def __init__(
        self,
        tracer: PythonKeyTracer,
        decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    ) -> None:
        super().__init__()
        self.tracer = tracer
        self.decompositions = decomposition_table or {}
        self.enabled = True
        #: Tensors made of Python data, by identity.
        self.fixed: set[int] = set()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if not self.enabled:
            return func(*args, **kwargs)
        if takes_over(types, FakeTensor) and any(
            _is_unknown(x, self.tracer) for x in pytree.tree_leaves((args, kwargs))
        ):
            return NotImplemented  # what a wrapper holds may be in the graph, it is not
        decomposed = self.decompositions.get(func)
        if decomposed is not None:
            with self:
                out = decomposed(*args, **kwargs)
            if out is not NotImplemented:
                return out
        tracked = any(
            isinstance(x, torch.Tensor) and self.tracer.proxy_of(x) is not None
            for x in pytree.tree_leaves((args, kwargs))
        )
        if func is torch.ops.aten._local_scalar_dense.default and id(args[0]) in self.fixed:
            return func(*args)  # the same whatever the arguments are
        # in the graph the constant must not be changed in place
        if func is torch.ops.aten.lift_fresh.default:
            func = torch.ops.aten.lift_fresh_copy.default
        if tracked and _tells_data(func) and not isinstance(args[0], FakeTensor):
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - "
                "erroring out! It's likely that this is caused by data-dependent control flow or "
                "similar.  It may be possible to trace this with dynamic shapes; try setting "
                "tracing_mode='symbolic' in your make_fx call."
            )
        proxy = self.tracer.create_proxy(
            "call_function", func, args, kwargs, func.overloadpacket.__name__
        )
        data = self.tracer.data
        before = 0 if data is None else len(data.made)
        result = func(*args, **kwargs)
        if data is not None and len(data.made) > before:
            proxy.node.meta["unbacked_bindings"] = data.made[before:]
        if type(result) is int:
            proxy.node.meta["val"] = result
        self.tracer.track(result, proxy)
        if func is torch.ops.aten.lift_fresh_copy.default:
            self.fixed.add(id(result))
        return result


def _is_unknown(x: object, tracer: PythonKeyTracer) -> bool:
    """Whether something is a wrapper that has no node in the graph."""
    return (
        isinstance(x, torch.Tensor)
        and takes_over(classes([x]), FakeTensor)
        and tracer.proxy_of(x) is None
    )


def _tells_data(func: OpOverload) -> bool:
    """Whether an operator gives numbers of its operands to Python."""
    returns = [r.type for r in func._schema.returns]
    return returns == ["Scalar"] or (returns == ["bool"] and not func._opname.startswith("is_"))


@contextlib.contextmanager
def _composites_whole() -> Iterator[None]:
    """A block in which composite operators are not taken apart."""
    before, STATE.whole = STATE.whole, True
    try:
        yield
    finally:
        STATE.whole = before


@contextlib.contextmanager
def _asserts_kept(kept: bool = True) -> Iterator[None]:
    """A block in which ``assert`` statements that ask for the truth of tensors become checks in the
    graph."""
    before, STATE.asserting = STATE.asserting, STATE.asserting or kept
    try:
        yield
    finally:
        STATE.asserting = before


def _names(f: Callable[..., object], args: tuple[torch.Tensor, ...]) -> list[str]:
    """What the arguments are called; by number where the function takes any."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    plain = len(named) >= len(args) and not any(
        p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )
    return (
        named[: len(args)]
        if plain and not isinstance(f, torch.nn.Module)
        else [f"arg{i}" for i in range(len(args))]
    )


class _Info:
    """How the graph's flat inputs and outputs are nested."""

    def __init__(
        self, orig_args: list[str], in_spec: pytree.TreeSpec, out_spec: pytree.TreeSpec
    ) -> None:
        self.orig_args, self.in_spec, self.out_spec = orig_args, in_spec, out_spec


def make_fx(
    f: Callable[..., object],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
) -> Callable[..., GraphModule]:
    """A function that calls ``f`` once and returns a ``GraphModule`` of the operators that ran,
    derivatives among them.

    ``decomposition_table`` says which operators are written with others. Tensors from outside
    become attributes of the module. ``tracing_mode="fake"`` traces without data, ``"symbolic"``
    also without sizes, which become nodes; what was concluded from the example's sizes all the same
    is in the module's ``shape_env.guards``. ``pre_dispatch`` shows composite operators (``linear``)
    whole, and where the recording of history is switched.

    Raises:
        ValueError: for an unknown ``tracing_mode``.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.fx.experimental.proxy_tensor import make_fx
        >>> print(make_fx(lambda x: x.sin() + 1)(torch.ones(2)).code.strip())
        def forward(self, x_1):
            sin = torch.ops.aten.sin.default(x_1);  x_1 = None
            add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
            return add
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise ValueError(f"Unexpected tracing type: {tracing_mode}")
    # of the other modes
    del (
        _allow_non_fake_inputs,
        _allow_fake_constant,
        _error_on_data_dependent_ops,
        record_module_stack,
    )

    @functools.wraps(f)
    def wrapped(*args: torch.Tensor) -> GraphModule:
        tracer = GradTracer() if pre_dispatch else PythonKeyTracer()
        tracer.record_stack_traces = record_stack_traces
        names = _names(f, args)
        env = ShapeEnv() if tracing_mode == "symbolic" else None
        tracer.data = None if env is None else unknowns.of(env)
        fake = (
            None
            if tracing_mode == "real"
            else detect_fake_mode(args) or FakeTensorMode(allow_non_fake_inputs=True, shape_env=env)
        )
        in_specs = []
        flat_args = []
        for name, arg in zip(names, args, strict=True):
            flat, spec = pytree.tree_flatten(arg)
            in_specs.append(spec)
            for i, leaf in enumerate(flat, 1):
                proxy = tracer.create_proxy("placeholder", f"{name}_{i}", (), {})
                if isinstance(leaf, torch.Tensor):
                    leaf = (
                        leaf.detach().requires_grad_(leaf.requires_grad)
                        if id(leaf) in tracer.known
                        else leaf
                    )
                    leaf = leaf if fake is None else fake.from_tensor(leaf)
                elif type(leaf) is int and env is not None and leaf not in (0, 1):
                    leaf = env.create_symbol(leaf)
                if isinstance(leaf, (torch.Tensor, Sym)):
                    tracer.begin(leaf, proxy)
                flat_args.append(leaf)
        in_spec = pytree.tree_structure(args)
        mode = ProxyTorchDispatchMode(tracer, decomposition_table)
        with (
            running(mode),
            fake or contextlib.nullcontext(),
            mode,
            _composites_whole() if pre_dispatch else contextlib.nullcontext(),
        ):
            result = f(*pytree.tree_unflatten(flat_args, in_spec))
        flat, out_spec = pytree.tree_flatten(result)
        nested = any(not spec.is_leaf() for spec in in_specs)
        # A result in a tuple stays one; of an argument that is nested, the graph has flat inputs
        # and outputs.
        output = (
            flat
            if nested
            else tuple(result)
            if type(result) is not tuple and isinstance(result, tuple)
            else result
        )
        returned = getattr(f, "__annotations__", {}).get("return")
        tracer.create_node("output", "output", (tracer.create_arg(output),), {}, type_expr=returned)
        if nested:
            tracer.graph.set_codegen(_PyTreeCodeGen(_Info(names, in_spec, out_spec)))
        made = GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", type(f).__name__))
        if env is not None:
            made.shape_env = env
        return made

    return wrapped


__getattr__ = _refusals.missing(__name__)
