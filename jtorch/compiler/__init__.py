"""``torch.compile`` and ``torch.compiler``: a function becomes one program, its Python code runs no
more.

The first run teaches which code the function consists of; the next one is recorded, with everything
that it read and wrote: parameters, buffers, gradients, an optimiser's state, random numbers. From
then on a call checks that nothing Python could see has changed, and records the whole as a single
operation.
"""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._src import hooks as _hooks
from .._src.facts.errors import not_offered
from .._src.refusals import stand_ins as _refusals
from ..core import Tensor
from ._capture import CAPTURING
from ._entry import STANCE, Compiled, Recompiling, Settings, Unsupported
from ._numpy import wrap_numpy

if TYPE_CHECKING:
    from .._src.facts.kinds import Tree


_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
#: Names of backends that mean "compile", and "run as written".
_COMPILING = ("inductor", "cudagraphs", "openxla", "xla", "tvm")
_EAGER = (
    "eager", "eager_noexcept", "eager_debug", "aot_eager", "aot_eager_decomp_partition",
    "aot_eager_default_partitioner", "pre_dispatch_eager",
)  # fmt: skip
#: Options of PyTorch's own compiler that say how fast, not what: XLA decides these things by
#: itself.
_HINTS = frozenset((
    "epilogue_fusion", "max_autotune", "max_autotune_gemm", "max_autotune_pointwise",
    "fallback_random", "shape_padding", "triton.cudagraphs", "triton.cudagraph_trees",
    "trace.enabled", "trace.graph_diagram", "coordinate_descent_tuning", "freezing",
))  # fmt: skip
#: Backends of programs' own, by name.
_REGISTERED: dict[str, Callable[..., object]] = {}
_TAGS: dict[str, tuple[str, ...]] = {}

_functions = weakref.WeakSet()


class InvalidBackend(RuntimeError):
    """The name of a backend that there is not."""


def compile(
    model: Callable[..., object] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: object = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: object = None,
) -> Any:
    """``model`` compiled: a function becomes a function, a module an ``OptimizedModule`` around it.

    Everything a call reads or writes without being given it (parameters, buffers, gradients,
    optimiser state, random numbers) is an input or output of the program; a whole training step
    compiles as it is written. Where the function reads a value on the host, changes Python objects,
    or calls what cannot be repeated, it runs as written, with one warning.

    Args:
        fullgraph: raise instead, where the function decides by a value, as by ``if x.sum() > 0``.
            What gives numbers (``item``) or tensors whose sizes data decide (``x[mask]``) is no
            reason, as in PyTorch; the function then runs as it is written.
        dynamic: whether sizes vary from call to call. Each shape has a program of its own, so True
            says that there may be any number of shapes: one is compiled when it comes for the
            fourth time, and until then runs as written, which waits for no compiler. False compiles
            each shape that comes twice. None begins with that, and goes on as True after 8 shapes,
            unless
            ``torch._dynamo.config.automatic_dynamic_shapes`` is False. With ``fullgraph=True`` each
            shape is looked at the first time.
        backend: ``"inductor"`` and its like compile by XLA; ``"eager"`` and its like run the
            function as written. A function is given the program's operations as ``GraphModule``
            with example inputs, and returns what runs in its place; where a value is needed one
            graph ends and the next begins. The Python code then runs in every call, and graphs that
            were met before are found again.
        mode, options: how hard PyTorch's compiler tries; XLA knows one way.
        disable: return ``model`` itself.
        recompile_limit: programs for one signature of tensors, beyond which the function runs as
            written (8).
        model: the function or module; without it, a decorator is given.
        name: accepted, without effect.
        isolate_recompiles: accepted: each compiled function has programs of its own.
        shapes_spec: refused.

    Raises:
        RuntimeError: for an unknown mode, option or backend, or if both ``mode`` and ``options``
            are given.
        NotImplementedError: for ``shapes_spec``.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if backend is None:
        backend = _default_backend[0]
    if isinstance(backend, str):
        backend = _REGISTERED.get(backend, backend)
    if callable(backend):
        return _with_backend(model, backend, fullgraph, mode, options, disable, shapes_spec)
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    for key in options or ():
        if key.replace("-", "_") not in _HINTS:
            raise RuntimeError(
                f"Unexpected optimization option {key}, known options are {sorted(_HINTS)}"
            )
    if shapes_spec is not None:
        raise not_offered("compile(shapes_spec=...)", "each shape has a program of its own")
    if backend not in _COMPILING and backend not in _EAGER:
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )
    if model is None:

        def decorate(given: Callable[..., object]) -> object:
            if given is None:
                raise RuntimeError("Model can't be None")
            return compile(
                given, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                options=options, name=name, disable=disable, recompile_limit=recompile_limit,
                isolate_recompiles=isolate_recompiles,
            )  # fmt: skip

        return decorate
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    limit = recompile_limit or config.recompile_limit
    if dynamic is None and not config.automatic_dynamic_shapes:
        dynamic = False
    settings = Settings(fullgraph, 1 << 30 if dynamic else limit, name, dynamic)
    if isinstance(model, _hooks.nn.get().Module):
        return _hooks.dynamo.get().eval_frame.OptimizedModule(
            model, None if backend in _EAGER else settings
        )
    if backend in _EAGER:
        # another function, as in torch
        return functools.wraps(model)(lambda *args, **kwargs: model(*args, **kwargs))  # noqa: PLW0108
    return compiled_function(model, settings)


def _with_backend(
    model: object,
    backend: object,
    fullgraph: bool,
    mode: object,
    options: object,
    disable: bool,
    shapes_spec: object,
) -> object:
    """``compile`` with a function that compiles graphs."""
    if shapes_spec is not None:
        raise not_offered("compile(shapes_spec=...)", "each shape has a graph of its own")
    if model is None:
        return lambda given: _with_backend(given, backend, fullgraph, mode, options, disable, None)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    given = {
        **({} if mode is None else {"mode": mode}),
        **({} if options is None else {"options": options}),
    }
    if isinstance(model, _hooks.nn.get().Module):
        made = _hooks.dynamo.get().eval_frame.OptimizedModule(model)
        object.__setattr__(
            made,
            "forward",
            _hooks.dynamo.get().pieces.with_backend(model.__call__, backend, fullgraph, given),
        )
        return made
    return _hooks.dynamo.get().pieces.with_backend(model, backend, fullgraph, given)


def _interrupted(reason: str) -> Any:
    """Ends what is being recorded for a backend; gives a block that is not part of it."""
    pieces = sys.modules.get(f"{__name__.partition('.')[0]}._dynamo.pieces")
    return contextlib.nullcontext() if pieces is None else pieces.interrupt(reason)


def compiled_function(model: Callable[..., object], settings: Settings) -> Callable[..., Any]:
    """``model`` with the programs made of it, as a function."""
    compiled = Compiled(model, settings)
    _functions.add(compiled)

    def call(*args: Tensor | int, **kwargs: object) -> Tree:
        return compiled(args, kwargs)

    with contextlib.suppress(AttributeError, TypeError):
        functools.update_wrapper(call, model)
    call._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    call.compiled = compiled  # type: ignore[attr-defined]
    return call


class _Config(types.ModuleType):
    """``torch._dynamo.config``, as far as it means something here; other settings are kept and have
    no effect."""

    def __init__(self, name: str, doc: str | None) -> None:
        super().__init__(name, doc)
        self.__dict__.update(
            recompile_limit=8, cache_size_limit=8, accumulated_recompile_limit=256,
            suppress_errors=False, verbose=False, disable=False, capture_scalar_outputs=False,
            capture_dynamic_output_shape_ops=False, optimize_ddp=True,
            automatic_dynamic_shapes=True, assume_static_by_default=True,
            inline_inbuilt_nn_modules=True, error_on_recompile=False, trace_autograd_ops=False,
            skip_fwd_side_effects_in_bwd_under_checkpoint=False,
            reorderable_logging_functions=set(), job_id=None, dynamic_shapes=True,
            log_file_name=None, fail_on_recompile_limit_hit=False,
            allow_unspec_int_on_nn_module=False, wrap_top_frame=False,
            skip_tensor_guards_with_matching_dict_tags=True, enable_cpp_symbolic_shape_guards=False,
            force_disable_caches=False, compiled_autograd=False,
        )  # fmt: skip

    def __setattr__(self, name: str, value: bool) -> None:
        self.__dict__[name] = value
        if name == "cache_size_limit":
            self.__dict__["recompile_limit"] = value
        elif name == "error_on_recompile":
            Recompiling.error = bool(value)
        elif name == "fail_on_recompile_limit_hit":
            Recompiling.limit = bool(value)

    @contextlib.contextmanager
    def patch(self, changes: Any = None, value: object = None, /, **more: object) -> Iterator[None]:
        """A block (or decorator) with other settings: ``patch("name", value)``,
        ``patch({"name": value})`` or ``patch(name=value)``."""
        changes = {
            **(
                changes
                if isinstance(changes, dict)
                else {}
                if changes is None
                else {changes: value}
            ),
            **more,
        }
        before = {k: self.__dict__.get(k) for k in changes}
        for k, v in changes.items():
            setattr(self, k, v)
        try:
            yield
        finally:
            for k, v in before.items():
                setattr(self, k, v)


config = _Config(f"{__name__.partition('.')[0]}._dynamo.config", _Config.__doc__)
sys.modules[f"{__name__}.config"] = config  # which ``torch.compiler.config`` is another name of
_default_backend: list[object] = ["inductor"]


def reset() -> None:
    """Forgets all programs: functions are recorded and compiled (or taken from the cache on disk)
    anew."""
    from .._src.ops._kernel import forget_calls

    for compiled in list(_functions):
        compiled.reset()
    pieces = sys.modules.get(f"{__name__.partition('.')[0]}._dynamo.pieces")
    if pieces is not None:
        pieces.reset()
    forget_calls()


def is_compiling() -> bool:
    """Whether the caller is being recorded to be compiled, or traced for export."""
    return CAPTURING.now is not None or _exporting.depth > 0


def is_dynamo_compiling() -> bool:
    """As ``is_compiling``."""
    return is_compiling()


class _Exporting(threading.local):
    depth = export = 0


_exporting = _Exporting()


@contextlib.contextmanager
def exporting(*, export: bool = True) -> Iterator[None]:
    """A block in which programs are told that they are being traced: for export, or to be
    compiled."""
    _exporting.depth += 1
    _exporting.export += export
    try:
        yield
    finally:
        _exporting.depth -= 1
        _exporting.export -= export


def is_exporting() -> bool:
    """Whether the caller is being traced by ``torch.export``."""
    return _exporting.export > 0


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of backends that compile; with no ``exclude_tags``, also of those that run
    functions as written."""
    hidden = set(exclude_tags or ())
    registered = [name for name in _REGISTERED if not hidden.intersection(_TAGS[name])]
    return sorted(
        (*_COMPILING, *registered) if exclude_tags else (*_COMPILING, *_EAGER, *registered)
    )


def register_backend(compiler_fn: object = None, name: str | None = None, tags: Any = ()) -> Any:
    """Gives a function that compiles graphs a name for ``torch.compile(backend=name)``; without the
    function, a decorator.

    Args:
        compiler_fn: takes a ``GraphModule`` and example inputs, and returns what runs in its place.
        name: the name (that of the function).
        tags: with ``"debug"`` or ``"experimental"`` among them, ``list_backends`` leaves it out if
            it is not asked for all.

    Raises:
        AssertionError: if it is no function, or the name is taken.

    Example:
        >>> import jtorch as torch
        >>> @torch._dynamo.register_backend(name="as_is")
        ... def as_is(graph, inputs):
        ...     return graph.forward
        >>> torch.compile(lambda x: x + 1, backend="as_is")(torch.ones(1))
        tensor([2.])
    """
    if compiler_fn is None:
        return lambda given: register_backend(given, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    called = name or compiler_fn.__name__
    if called in (*_COMPILING, *_EAGER, *_REGISTERED):
        raise AssertionError(f"duplicate name: {called}")
    _REGISTERED[called] = compiler_fn
    _TAGS[called] = tuple(tags)
    return compiler_fn


def lookup_backend(compiler_fn: object) -> Any:
    """The function that compiles graphs for a backend's name; a function is one itself.

    Raises:
        InvalidBackend: for a name that there is not.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in _REGISTERED:
        return _REGISTERED[compiler_fn]
    if compiler_fn not in _COMPILING and compiler_fn not in _EAGER:
        raise InvalidBackend(
            f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )
    if compiler_fn in _COMPILING:
        return lambda graph, _: compile(graph)
    return lambda graph, _: graph.forward


def get_default_backend() -> Any:
    """The backend that ``compile`` uses if it is not told one."""
    return _default_backend[0]


def set_default_backend(backend: object) -> None:
    """Sets the backend that ``compile`` uses if it is not told one; None is the first one again,
    ``"inductor"``."""
    if backend is None:
        backend = "inductor"
    if not callable(backend):
        lookup_backend(backend)
    _default_backend[0] = backend


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` as a function that is never part of a program: what calls it runs as written. Without
    ``fn``, a decorator."""
    if fn is None:
        return lambda given: disable(given, recursive, reason=reason)
    if isinstance(fn, type):
        return fn
    what = f"it calls {getattr(fn, '__name__', fn)!s}, which is disabled" + (
        f" ({reason})" if reason else ""
    )

    def call(*args: object, **kwargs: object) -> Tensor:
        now = CAPTURING.now
        if now is not None and now.refusal is None:
            now.refusal = what
        with _interrupted(what):
            return fn(*args, **kwargs)

    if isinstance(fn, _hooks.nn.get().Module):
        fn.forward = disable(fn.forward, recursive, reason=reason)
        return fn
    with contextlib.suppress(AttributeError, TypeError):
        functools.update_wrapper(call, fn)
    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    call._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    return call


def graph_break(msg: str = "") -> None:
    """Says that a program must not go on here: the function that is being recorded stays as
    written."""
    now = CAPTURING.now
    if now is not None and now.refusal is None:
        now.refusal = "it asks for a graph break" + (f": {msg}" if msg else "")
    _interrupted("it asks for a graph break" + (f": {msg}" if msg else ""))


def allow_in_graph(fn: object) -> Any:
    """``fn`` itself: every function may be part of a program."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: object) -> Any:
    """``fn`` itself: what it returned while it was recorded stays in the program anyway."""
    return fn


def substitute_in_graph(
    original_fn: object,
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Any:
    """A decorator that returns what it is given: functions are recorded as they run, so none needs
    a stand-in."""
    return lambda traceable: traceable


def nested_compile_region(
    fn: object = None,
    *,
    options: object = None,
    max_reuse_entries: int = 8,
    reuse_hash_fn: object = None,
) -> Any:
    """``fn`` itself, or a decorator that returns what it is given: XLA sees the whole program."""
    return (lambda given: given) if fn is None else fn


def cudagraph_mark_step_begin() -> None:
    """Says that a step begins: what is pending runs."""
    from .._src import engine

    engine.flush()


class set_stance:
    """A block, decorator or plain call that says how compiled functions behave: ``"default"``,
    ``"force_eager"``, ``"fail_on_recompile"``, ``"eager_on_recompile"``.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: object = None,
    ) -> None:
        known = (
            "default",
            "eager_then_compile",
            "aot_eager_then_compile",
            "force_eager",
            "eager_on_recompile",
            "fail_on_recompile",
        )
        if stance not in known:
            shown = f"DynamoStance(stance={stance!r}, skip_guard_eval_unsafe=False, backend=None)"
            raise RuntimeError(f"invalid torch.compile stance '{shown}'")
        if skip_guard_eval_unsafe:
            raise not_offered(
                "set_stance(skip_guard_eval_unsafe=True)",
                "guards are how the right program is found",
            )
        if force_backend is not None:
            raise not_offered("set_stance(force_backend=...)", "XLA is the one compiler")
        self.stance = stance
        self.before = (STANCE.eager, STANCE.fail)
        self._set()

    def _set(self) -> None:
        STANCE.eager, STANCE.fail = (
            self.stance in ("force_eager", "eager_on_recompile"),
            self.stance == "fail_on_recompile",
        )

    def __enter__(self) -> set_stance:
        self._set()
        return self

    def __exit__(self, *exc: object) -> None:
        STANCE.eager, STANCE.fail = self.before

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn`` in such a block."""
        STANCE.eager, STANCE.fail = self.before

        @functools.wraps(fn)
        def call(*args: object, **kwargs: object) -> Any:
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return call


__all__ = [
    "InvalidBackend", "Unsupported", "allow_in_graph", "assume_constant_result", "compile",
    "cudagraph_mark_step_begin", "disable", "get_default_backend", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset",
    "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip


__getattr__ = _refusals.missing(__name__)
