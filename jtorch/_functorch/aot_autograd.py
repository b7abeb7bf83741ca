"""Functions as graphs of operators ahead of time, forward and backward: ``aot_function``,
``aot_module`` and backends made of compilers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.export._trace import keeps
from jtorch.func import functional_call
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.utils import _pytree as pytree

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Keywords, Tree, Values
    from ..autograd.function_node import FunctionCtx


__all__ = [
    "aot_autograd",
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "make_boxed_compiler",
    "make_boxed_func",
    "nop",
]


def make_boxed_func(f: Callable[..., object]) -> Callable[..., object]:
    """``f`` as a function of one list of arguments, as compilers may return it."""

    def call(args: list[torch.Tensor]) -> Tree:
        return f(*args)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def make_boxed_compiler(compiler: Function) -> Callable[..., object]:
    """``compiler``, whose results take their arguments in one list."""

    def boxed(module: object, inputs: object) -> object:
        return make_boxed_func(compiler(module, inputs))

    return boxed


def nop(module: Any, inputs: object) -> object:
    """A compiler that runs graphs as they are."""
    del inputs
    return make_boxed_func(module.forward)


def _run(compiled: Callable[..., object], args: list[torch.Tensor]) -> Values:
    found = compiled(list(args)) if getattr(compiled, "_boxed_call", False) else compiled(*args)
    return list(found) if isinstance(found, (list, tuple)) else [found]


class _Graphs:
    """What the compilers made for arguments of one kind."""

    def __init__(
        self,
        fn: Callable[..., Any],
        flat: list[Any],
        spec: pytree.TreeSpec,
        options: dict[str, Any],
    ) -> None:
        self.places = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor)]
        self.out_spec: Any = None
        self.results = []
        self.fn, self.flat, self.spec = (
            fn,
            [None if isinstance(x, torch.Tensor) else x for x in flat],
            spec,
        )
        tensors = [flat[i].detach().requires_grad_(flat[i].requires_grad) for i in self.places]
        self.wanted = [i for i, t in enumerate(tensors) if t.requires_grad]
        table = options["decompositions"]
        plain = [t.detach() for t in tensors]
        with torch.no_grad():
            forward = make_fx(self.outputs, table, "fake")(*plain)
        drawn = [n.target for n in forward.graph.nodes if n.op == "call_function" and keeps(n)]
        if any(getattr(getattr(n.target, "_schema", None), "writes",
                       ()) and n.args[0].op == "placeholder" for n in forward.graph.nodes
               if n.op == "call_function"):  # fmt: skip
            raise not_offered(
                "functorch.compile.aot_function", "the function writes to its arguments"
            )
        self.backward = None
        self.differentiable = [
            i for i, t in enumerate(self.example) if t.is_floating_point() or t.is_complex()
        ]
        if self.wanted and torch.is_grad_enabled() and self.differentiable:
            if drawn:
                raise not_offered(
                    "functorch.compile.aot_function",
                    f"{drawn[0]} draws or writes, and is computed again for the derivative",
                )
            grads = [torch.ones_like(self.example[i]) for i in self.differentiable]
            joint = make_fx(self.derivative, table, "real")(*plain, *grads)
            self.backward = options["bw_compiler"](joint, [*plain, *grads])
        self.forward = options["fw_compiler"](forward, plain)

    def outputs(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The function's result as a flat tuple of tensors."""
        flat = list(self.flat)
        for i, t in zip(self.places, tensors, strict=True):
            flat[i] = t
        args, kwargs = pytree.tree_unflatten(flat, self.spec)
        leaves, self.out_spec = pytree.tree_flatten(self.fn(*args, **kwargs))
        self.results = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        self.example = [x for x in leaves if isinstance(x, torch.Tensor)]
        return tuple(self.example)

    def derivative(self, *given: torch.Tensor) -> list[torch.Tensor]:
        """The gradients of the tensors that want one, from all tensors and the results' gradients:
        everything is computed again."""
        tensors, grads = given[: len(self.places)], given[len(self.places) :]
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_(i in self.wanted) for i, t in enumerate(tensors)]
            outs = self.outputs(*leaves)
            pairs = [
                (outs[i], g)
                for i, g in zip(self.differentiable, grads, strict=True)
                if outs[i].requires_grad
            ]
            wanted = [leaves[i] for i in self.wanted]
            found = torch.autograd.grad(
                [o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True
            )
        return [torch.zeros_like(w) if g is None else g for g, w in zip(found, wanted, strict=True)]

    def call(
        self, tensors: list[torch.Tensor]
    ) -> tuple[torch.Tensor, ...] | dict[str, torch.Tensor | int] | torch.Tensor:
        """The function's result for other tensors of the same kind."""
        outs = (
            _Run.apply(self, *tensors)
            if self.backward is not None
            else tuple(_run(self.forward, tensors))
        )
        given = iter(outs)
        n = len(self.results)
        leaves = [next(given) if x is None and i < n else x for i, x in enumerate(self.results)]
        return pytree.tree_unflatten(leaves, self.out_spec)


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graphs: _Graphs, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.graphs = graphs
        ctx.save_for_backward(*tensors)
        outs = tuple(_run(graphs.forward, list(tensors)))
        ctx.mark_non_differentiable(
            *[o for i, o in enumerate(outs) if i not in graphs.differentiable]
        )
        return outs

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        graphs = ctx.graphs
        found = iter(
            _run(graphs.backward, [*ctx.saved_tensors, *[grads[i] for i in graphs.differentiable]])
        )
        return (
            None,
            *[next(found) if i in graphs.wanted else None for i in range(len(ctx.saved_tensors))],
        )


def aot_function(
    fn: Callable[..., object],
    fw_compiler: Callable[..., object],
    bw_compiler: Callable[..., object] | None = None,
    partition_fn: object = None,
    decompositions: dict[object, Callable[..., object]] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., object] | None = None,
    **options: object,
) -> Function:
    """``fn`` run by what ``fw_compiler`` makes of its graph of operators, and its derivative by
    what ``bw_compiler`` makes of its own.

    The graph of the derivative takes the arguments and the results' gradients, and computes again
    what it needs in between. Second derivatives are not offered. Graphs are made anew for other
    shapes, dtypes and values of what are no tensors.

    Raises:
        NotImplementedError: for functions that write to their arguments, and for derivatives of
            those that draw random numbers.
    """
    # there is one partition
    del partition_fn, num_params_buffers, keep_inference_input_mutations, options
    given = {
        "fw_compiler": fw_compiler,
        "bw_compiler": bw_compiler or fw_compiler,
        "decompositions": decompositions,
    }
    if inference_compiler is not None:
        given["inference_compiler"] = inference_compiler
    made: dict[Any, _Graphs] = {}

    def call(
        *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, ...] | dict[str, torch.Tensor | int] | torch.Tensor:
        flat, spec = pytree.tree_flatten((args, kwargs))
        kinds = tuple([(tuple(x.shape), x.stride(), x.dtype, str(x.device), x.requires_grad)
                       if isinstance(x, torch.Tensor) else repr(x)
                       for x in flat])  # fmt: skip
        key = (kinds, str(spec), torch.is_grad_enabled())
        graphs = made.get(key)
        if graphs is None:
            graphs = made[key] = _Graphs(fn, flat, spec, given)
        return graphs.call([flat[i] for i in graphs.places])

    return call


def aot_module(mod: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
    """A module that runs ``mod`` as ``aot_function`` runs functions, its parameters and buffers as
    arguments."""

    def call(
        state: dict[str, torch.Tensor], args: tuple[torch.Tensor, ...], kwargs: Keywords
    ) -> torch.Tensor:
        return functional_call(mod, state, args, kwargs)

    compiled = aot_function(call, *args, **kwargs)

    class AOTModule(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: object, **kwargs: object) -> torch.Tensor:
            state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
            return compiled(state, args, kwargs)

    return AOTModule()


def aot_module_simplified(
    mod: Any,
    args: object,
    fw_compiler: Callable[..., object],
    bw_compiler: Callable[..., object] | None = None,
    *more: Any,
    **options: object,
) -> Function:
    """``mod``, a graph that a backend was given, as ``aot_function`` runs functions."""
    del args
    if any(True for _ in mod.parameters()):
        return aot_module(mod, fw_compiler, bw_compiler, *more, **options)
    return aot_function(mod.forward, fw_compiler, bw_compiler, *more, **options)


def aot_autograd(**options: Any) -> Callable[..., object]:
    """A backend for ``torch.compile`` of compilers of operators:
    ``aot_autograd(fw_compiler=...)``."""

    def backend(module: object, inputs: list[torch.Tensor], **more: object) -> object:
        del more
        return aot_module_simplified(module, inputs, **options)

    return backend


__getattr__ = _refusals.missing(__name__)
