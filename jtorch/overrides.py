"""``torch.overrides``: the override protocol for those who write handlers, modes and overridable
functions.

The lists of functions are read from the table that binding fills (``dispatch.PUBLIC``), so that
they cannot fall behind.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from . import dispatch
from ._src.bind.cores import ALIASES, COMPOSITES, written_in
from ._src.bind.forms import paths_of
from ._src.facts.devices import FACTORIES
from ._src.facts.errors import not_offered
from ._src.ops._declare import OPS
from ._src.protocol.overridable import TensorProperty
from ._src.protocol.withheld import SIMPLE_WRAPPERS, known_signature
from .core import Tensor
from .dispatch import (
    NOWRAP,
    PUBLIC,
    BaseTorchFunctionMode,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    redispatch_function,
    wrap_torch_function,
)
from .dispatch import EnableTorchFunction as _enable_torch_function
from .dispatch import current_mode as _get_current_function_mode
from .dispatch import is_torch_function_mode_enabled as _is_torch_function_mode_enabled
from .dispatch import mode_off as _pop_mode_temporarily
from .dispatch import mode_stack as _get_current_function_mode_stack
from .dispatch import pop_mode as _pop_mode
from .dispatch import push_mode as _push_mode

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
    "normalize_call",
    "redispatch_function",
]
_REEXPORTED = (  # names that libraries import from here although torch does not list them
    BaseTorchFunctionMode,
    TorchFunctionMode,
    has_torch_function_unary,
    has_torch_function_variadic,
    _enable_torch_function,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _is_torch_function_mode_enabled,
    _pop_mode,
    _pop_mode_temporarily,
    _push_mode,
)

#: The namespaces whose functions are listed, in torch's order.
_NAMESPACES = (
    "torch", "torch.functional", "torch.nn.functional", "torch.nn.init", "torch.Tensor",
    "torch.linalg", "torch.fft", "torch.special",
)  # fmt: skip

#: Functions that ask their operands, and that torch lists as ignored all the same, beside those of
#: which declarations say it: they belong to other runtimes, or are no declared functions.
_IGNORED_BY_CHOICE = {
    name: frozenset(names.split())
    for name, names in {
        "torch": """can_cast cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
            cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
            cudnn_grid_sampler cudnn_is_acceptable import_ir_module import_ir_module_from_buffer
            merge_type_from_type_comment miopen_ctc_loss mkldnn_adaptive_avg_pool2d
            mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
            mkldnn_rnn_layer parse_ir parse_schema parse_type_comment promote_types quantized_gru
            quantized_lstm result_type unify_type_list""",
        "torch.nn.functional": """scaled_grouped_mm""",
        "torch.Tensor": """__dir__ __hash__ __init__ __new__ _dtensor__new__ _philox_normal_
            _philox_uniform_ _reduce_ex_internal _rev_view_func_unsafe _to_sparse _to_sparse_bsc
            _to_sparse_bsr _to_sparse_csc _to_sparse_csr _view_func _view_func_unsafe new_empty
            new_ones new_zeros stride to_padded_tensor""",
    }.items()
}
#: The functions of ``torch.nn.init`` that ask the tensor they fill. Their names end like those of
#: methods, so that no list has them.
_ASKING_INITIALISERS = ("uniform_", "normal_", "constant_", "kaiming_uniform_")
#: Functions of ``torch`` that are listed where they are written, under ``torch.functional``, alone.
_LISTED_ONCE = frozenset(("lu", "pca_lowrank", "svd_lowrank", "unique"))


def _namespace(name: str) -> Any:
    """The module, or the class Tensor, that a dotted name of torch stands for."""
    return Tensor if name == "torch.Tensor" else importlib.import_module("j" + name)


def _attributes(namespace: object) -> Iterator[tuple[str, object]]:
    """Names and values of a namespace's attributes that can be keys."""
    for name in dir(namespace):
        value = getattr(namespace, name, None)
        # whose hash is that of the dict behind it
        if getattr(value, "__hash__", None) is not None and type(value) is not MappingProxyType:
            yield name, value


def _entry_of(function: object) -> dispatch.Public | None:
    name = dispatch.NAMES.get(function)
    return None if name is None else PUBLIC[name]


def _is_builtin(function: Callable[..., object]) -> bool:
    """Whether a public function is one that PyTorch has in C++."""
    entry = _entry_of(function)
    return (
        entry is not None
        and (entry.native or entry.path == "torch.nn.functional.rrelu_")
        and entry.path not in SIMPLE_WRAPPERS
    )


@functools.cache
def _ignored(prefix: str) -> frozenset[str]:
    """The names of a namespace's functions that torch lists as ignored although they ask."""
    start = "" if prefix in ("torch", "torch.functional") else prefix.removeprefix("torch.") + "."
    found = set(_IGNORED_BY_CHOICE.get(prefix, ()))
    for record in (*OPS.values(), *COMPOSITES):
        if record.ignored:
            paths = paths_of(record) if isinstance(record.ignored, bool) else record.ignored
            found |= {path.removeprefix(start) for path in paths if path.startswith(start)}
    return frozenset(found)


def _is_private(name: str) -> bool:
    return name.startswith("_") or name.endswith("_") or not name[0].islower()


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that handlers can override: lists by namespace (modules and the class Tensor),
    and ``[__get__]`` by property."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    for prefix in _NAMESPACES:
        namespace, ignored = _namespace(prefix), _ignored(prefix)
        if prefix == "torch.nn.init":
            continue
        listed = {}  # a dict as an ordered set
        for name, value in _attributes(namespace):
            if isinstance(value, TensorProperty):
                found[value] = [value.__get__]
            elif (
                name not in ignored
                and (namespace is Tensor or not _is_private(name))
                and not (prefix == "torch" and name in _LISTED_ONCE)
                and (entry := _entry_of(value)) is not None
                and entry.overridable
                and value not in FACTORIES
            ):
                listed[value] = None
        if listed:
            found[namespace] = list(listed)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The public functions that cannot be overridden: they take no operand, or make tensors of what
    is none."""
    overridable = {f for functions in get_overridable_functions().values() for f in functions}
    found: set[Any] = set()
    for name in _NAMESPACES:
        namespace = _namespace(name)
        for attribute, value in _attributes(namespace):
            if (
                isinstance(value, ModuleType)
                or not callable(value)
                or (namespace is not Tensor and _is_private(attribute))
            ):
                continue
            if isinstance(value, type) and value.__module__.partition(".")[0] not in (
                "jtorch",
                "torch",
            ):
                continue
            if value not in overridable:
                found.add(value)
    return found


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each overridable function a lambda with its parameters that returns -1."""
    ignored = get_ignored_functions()
    found: dict[Any, Callable[..., Any]] = {}
    for entry in PUBLIC.values():
        if entry.overridable and entry.function not in ignored and entry.function not in FACTORIES:
            found.setdefault(entry.function, _dummy(entry.function))
    init = _namespace("torch.nn.init")
    for name in _ASKING_INITIALISERS:
        found[getattr(init, name)] = _dummy(getattr(init, name))
    return found


def _getter_dummy(self: object) -> int:  # noqa: ARG001
    return -1


def _dummy(func: Callable[..., object]) -> Callable[..., object]:
    if getattr(func, "__name__", "") == "__get__":
        return _getter_dummy
    texts: list[str] = []
    defaults = {}
    starred = only_by_position = False
    parameters = list(known_signature(func).parameters.values())
    if (
        parameters
        and all(p.default is not p.empty for p in parameters)
        and parameters[0].kind is not parameters[0].KEYWORD_ONLY
    ):
        # No overload can do without its first operand, although another one takes the second by
        # keyword alone.
        parameters[0] = parameters[0].replace(default=inspect.Parameter.empty)
    for p in parameters:
        if only_by_position and p.kind is not p.POSITIONAL_ONLY:
            texts.append("/")
        only_by_position = p.kind is p.POSITIONAL_ONLY
        if p.kind is p.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        if p.default is not p.empty:
            defaults[f"_{p.name}"] = p.default
            text += f"=_{p.name}"
        texts.append(text)
    if only_by_position:
        texts.append("/")
    return eval(f"lambda {', '.join(texts)}: -1", defaults)


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose results the default handler does not convert: they hand out what is
    stored."""
    return set(NOWRAP)


def resolve_name(f: Callable[..., object]) -> str | None:
    """The dotted name of a function, which evaluates to it (``torch.add``,
    ``torch.Tensor.shape.__get__``); None if it is unknown."""
    if hasattr(f, "overloadpacket") or hasattr(f, "overloads"):  # operators of torch.ops
        return str(f)
    name = dispatch.NAMES.get(f)
    if name is not None:
        own = name.removeprefix("torch.")
        return f"torch.functional.{own}" if own in _written_in_functional() else name
    owner = getattr(f, "__self__", None)
    if isinstance(owner, TensorProperty):
        return f"torch.Tensor.{owner.__name__}.{f.__name__}"
    return _other_names().get(f)


@functools.cache
def _written_in_functional() -> set[str]:
    return written_in("functional")


@functools.cache
def _other_names() -> dict[Callable[..., object], str]:
    """Names of public functions that are not in the table."""
    found: dict[Any, str] = {}
    for prefix in _NAMESPACES:
        namespace = _namespace(prefix)
        for name in dir(namespace):
            value = getattr(namespace, name, None)
            if (
                callable(value)
                and getattr(value, "__hash__", None) is not None
                and not isinstance(value, type)
            ):
                found.setdefault(value, f"{prefix}.{name}")
    return found


def is_tensor_method_or_property(func: Callable[..., object]) -> bool:
    """Whether ``func``, as a handler gets it, is a method of Tensor or a property's getter: it
    wants a tensor as its first argument."""
    return func.__name__ == "__get__" or func in _tensor_methods(len(PUBLIC))


@functools.lru_cache(1)
# read anew when the table has grown
def _tensor_methods(size_of_table: int) -> frozenset[Callable[..., object]]:  # noqa: ARG001
    return frozenset(get_overridable_functions().get(Tensor, ()))


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor or has a handler, even a disabled one."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def normalize_call(
    func: Callable[..., object], args: tuple[object, ...] = (), kwargs: dict[str, int] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with its incomplete argument list filled out with defaults: arguments by position
    first, keyword-only ones by name.

    For handlers that want to see every argument, however the caller spelled the call:
    ``torch.sum(x, axis=1)``, ``x.sum(1)`` and ``torch.sum(input=x, dim=1, keepdim=False)`` give the
    same. Works for the functions, methods and operators that handlers are told, whether of
    ``__torch_function__`` or ``__torch_dispatch__``, and for any function with a signature. Sizes
    that a method takes spread stay as they were given.

    Raises:
        TypeError: for a missing, doubled or unknown argument.

    Examples:
        >>> import jtorch as torch
        >>> torch.overrides.normalize_call(torch.add, (1,), {"other": 2})
        ((1, 2), {'alpha': 1, 'out': None})
        >>> torch.overrides.normalize_call(torch.softmax, ("x", 1))
        (('x', 1, None), {'out': None})
        >>> torch.overrides.normalize_call(
        ...     torch.ops.aten.add.Tensor, (torch.ones(1), torch.ones(1))
        ... )[1]
        {'alpha': 1}
    """
    kwargs = dict(kwargs or {})
    schema = getattr(func, "_schema", None)
    if schema is not None and hasattr(func, "complete"):
        values = func.complete(args, kwargs)  # type: ignore[attr-defined]
        names = [a.name for a in schema.arguments]
        return tuple(values[: schema.count]), dict(
            zip(names[schema.count :], values[schema.count :], strict=True)
        )
    signature = known_signature(func)
    for name, spellings in ALIASES.items():
        for spelling in spellings:
            if (
                spelling in kwargs
                and spelling not in signature.parameters
                and name in signature.parameters
            ):
                if name in kwargs:
                    raise TypeError(f"{func.__name__}() got multiple values for argument '{name}'")
                kwargs[name] = kwargs.pop(spelling)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    first: list[Any] = []
    rest: dict[str, Any] = {}
    for name, p in signature.parameters.items():
        value = bound.arguments[name]
        if p.kind is p.VAR_POSITIONAL:
            first.extend(value)
        elif p.kind is p.VAR_KEYWORD:
            rest.update(value)
        elif p.kind is p.KEYWORD_ONLY:
            rest[name] = value
        else:
            first.append(value)
    return tuple(first), rest


def _get_overloaded_args(
    relevant_args: Iterable[object], get_type_fn: Callable[[Any], type] | None = None
) -> list[object]:
    """The operands that are asked, in the order of asking."""
    if get_type_fn is not None and get_type_fn is not type:
        raise not_offered(
            "overrides._get_overloaded_args(get_type_fn=...)", "handlers are found by type"
        )
    return [operand for _, operand, _ in dispatch._collect(relevant_args, True, 0)]


def _len_torch_function_stack() -> int:
    return len(_get_current_function_mode_stack())


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A block inside a ``__torch_dispatch__`` handler in which operators on inner tensors record
    history again."""
    with dispatch.reentrant():
        yield
