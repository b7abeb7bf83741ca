"""``autocast``: a block in which functions choose the precision of their operands."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .._src.facts.errors import must_be
from .._src.protocol.recorded import RECORDED
from ..dispatch import TorchFunctionMode, push_mode, redispatch_function, remove_mode
from .policies import callables, policy_of

if TYPE_CHECKING:
    from .._src.facts.kinds import Named, Tree


class _State(threading.local):
    """What the thread's blocks have set, by device type."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes = {}
        self.cache = True
        self.mode: _Casting | None = None


_state = _State()


_KINDS = frozenset(("cpu", "cuda", "ipu", "xpu", "mps", "hpu", "mtia", "maia", "tpu", "xla"))


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` knows the type of a device, which may be given with its number.

    Raises:
        TypeError: if it is no text.
        RuntimeError: if it names no device.
    """
    return _type_of(device_type, "_is_autocast_available") in _KINDS


def _type_of(device_type: Any, function: str) -> str:
    """The type of a device by its name, which may have a number.

    Raises:
        TypeError: if it is no text.
        RuntimeError: if it names no device.
    """
    must_be(str, "str", function, "device_type", 1, device_type)
    return torch.device(device_type).type


#: Devices whose lower precision has more bits for the fraction.
_HALF = frozenset(("cuda", "mps", "ipu", "xpu", "mtia", "maia", "privateuseone"))


def get_autocast_dtype(device_type: str) -> Any:
    """The lower precision of a device type.

    Raises:
        TypeError: if it is no text.
        RuntimeError: if it names no device.
    """
    kind = _type_of(device_type, "get_autocast_dtype")
    return _state.dtypes.get(kind, torch.float16 if kind in _HALF else torch.bfloat16)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets the lower precision of a device type.

    Raises:
        TypeError: if the one is no text, or the other no dtype.
        RuntimeError: if it names no device.
    """
    kind = _type_of(device_type, "set_autocast_dtype")
    must_be(torch.dtype, "torch.dtype", "set_autocast_dtype", "dtype", 2, dtype)
    _state.dtypes[kind] = dtype


def is_autocast_enabled(device_type: Any = "cuda") -> bool:
    """Whether a block is active for a device type (default: CUDA).

    Raises:
        TypeError: if it is no text.
        RuntimeError: if it names no device.
    """
    return _state.enabled.get(_type_of(device_type, "is_autocast_enabled"), False)


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """Turns casting on or off: ``set_autocast_enabled(device_type, enabled)``, or without a device
    type for CUDA.

    Raises:
        TypeError: if the one is no text, or the other no bool.
        RuntimeError: if it names no device.
    """
    names = ("device_type", "enabled")[2 - max(len(args) + len(kwargs), 1) :]
    given = dict(zip(names, args, strict=False)) | kwargs
    kind = _type_of(given.get("device_type", "cuda"), "set_autocast_enabled")
    on: Any = given.get("enabled")
    must_be(bool, "bool", "set_autocast_enabled", "enabled", len(names), on)
    _state.enabled[kind] = on
    if any(_state.enabled.values()):
        if _state.mode is None:
            _state.mode = _Casting()
            # what is recorded are the calls as they were written
            push_mode(_state.mode, outermost=RECORDED.recorder is not None)
        _state.mode.refresh()
    elif _state.mode is not None:
        remove_mode(_state.mode)
        _state.mode = None


def is_autocast_cpu_enabled() -> bool:
    """Whether a block is active for the CPU."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> Any:
    """The lower precision of the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """The lower precision of CUDA."""
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled() -> bool:
    """What was last set."""
    return _state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Remembered: a weight that is cast several times in one program is cast once by the
    compiler."""
    _state.cache = enabled


def clear_autocast_cache() -> None:
    """Nothing to do: there is no cache."""


_nesting = 0


def autocast_increment_nesting() -> int:
    """Counts one block more, and gives the number."""
    global _nesting
    _nesting += 1
    return _nesting


def autocast_decrement_nesting() -> int:
    """Counts one block less, and gives the number."""
    global _nesting
    _nesting -= 1
    return _nesting


# The switches of single device types, from before they were arguments.


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Turns casting on or off for the CPU."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: object) -> None:
    """Sets the lower precision of the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: object) -> None:
    """Sets the lower precision of CUDA."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_xla_enabled() -> bool:
    """Whether a block is active for XLA devices."""
    return is_autocast_enabled("xla")


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Turns casting on or off for XLA devices."""
    set_autocast_enabled("xla", enabled)


def get_autocast_xla_dtype() -> Any:
    """The lower precision of XLA devices."""
    return get_autocast_dtype("xla")


def set_autocast_xla_dtype(dtype: object) -> None:
    """Sets the lower precision of XLA devices."""
    set_autocast_dtype("xla", dtype)


def is_autocast_ipu_enabled() -> bool:
    """Whether a block is active for IPUs."""
    return is_autocast_enabled("ipu")


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Turns casting on or off for IPUs."""
    set_autocast_enabled("ipu", enabled)


def get_autocast_ipu_dtype() -> Any:
    """The lower precision of IPUs."""
    return get_autocast_dtype("ipu")


def set_autocast_ipu_dtype(dtype: object) -> None:
    """Sets the lower precision of IPUs."""
    set_autocast_dtype("ipu", dtype)


class _Casting(TorchFunctionMode):
    """The function mode behind ``autocast``: casts the operands of the functions that have a
    policy."""

    def __init__(self) -> None:
        self.acts_on = set()

    def refresh(self) -> None:
        """Takes on the functions that have a policy for an enabled device type."""
        self.acts_on = callables(tuple([kind for kind, on in _state.enabled.items() if on]))

    def __torch_function__(
        self, func: Any, types: tuple[object, ...], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        kind = _device_of((args, kwargs)) or ""  # no tensors: no policy
        policy = policy_of(func, kind) if _state.enabled.get(kind) else None
        if policy == "edges":
            policy = _policy_of_edges(args, kwargs)
        if policy is None:  # a function written with others, which have their policies
            push_mode(self)
            try:
                return redispatch_function(func, types, args, kwargs)
            finally:
                remove_mode(self)
        if policy == "state":
            # after batch sizes
            at = (
                2
                if len(args) > 2
                and isinstance(args[1], torch.Tensor)
                and args[1].dtype is torch.int64
                else 1
            )
            state = args[at] if len(args) > at else kwargs["hx"]
            wanted = next(_tensors(state)).dtype
            args, kwargs = (
                _cast(_cast(x, get_autocast_dtype(kind), kind), wanted, kind)
                for x in (args, kwargs)
            )
            if len(args) > at:
                args = (*args[:at], state, *args[at + 1 :])
            else:
                kwargs["hx"] = state
            return func(*args, **kwargs)
        target = _target(policy, kind, (args, kwargs))
        if target is not None:
            args, kwargs = _cast(args, target, kind), _cast(kwargs, target, kind)
        found = func(*args, **kwargs)
        return _cast(found, get_autocast_dtype(kind), kind) if policy == "result" else found


def _tensors(tree: object) -> Any:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for x in tree:
            yield from _tensors(x)
    elif isinstance(tree, dict):
        for x in tree.values():
            yield from _tensors(x)


def _device_of(tree: tuple[object, ...]) -> str | None:
    for t in _tensors(tree):
        return t.device.type
    return None


def _castable(t: torch.Tensor, kind: str) -> bool:
    return t.is_floating_point() and t.dtype is not torch.float64 and t.device.type == kind


def _policy_of_edges(args: Any, kwargs: Any) -> str | None:
    """The policy of ``pad(input, pad, mode)``, by name or by position."""
    sizes = args[1] if len(args) > 1 else kwargs.get("pad", ())
    mode = args[2] if len(args) > 2 else kwargs.get("mode")
    return "float32" if mode == "replicate" or (mode == "reflect" and len(sizes) < 6) else None


def _target(policy: str, kind: str, tree: tuple[object, ...]) -> Any:
    if policy == "lower":
        return get_autocast_dtype(kind)
    if policy == "matrices":
        return get_autocast_dtype(kind) if any(t.ndim > 1 for t in _tensors(tree)) else None
    floats = [t.dtype for t in _tensors(tree) if _castable(t, kind)]
    if policy in ("float32", "result"):
        return torch.float32 if any(d in (torch.float16, torch.bfloat16) for d in floats) else None
    return torch.float32 if torch.float32 in floats and len(set(floats)) > 1 else None


def _cast(tree: object, target: torch.dtype, kind: str) -> Tree:
    if isinstance(tree, torch.Tensor):
        return tree.to(target) if _castable(tree, kind) and tree.dtype is not target else tree
    if isinstance(tree, (tuple, list)) and not hasattr(tree, "_fields"):
        return type(tree)([_cast(x, target, kind) for x in tree])
    if isinstance(tree, dict):
        return {k: _cast(v, target, kind) for k, v in tree.items()}
    return tree


class autocast:
    """A block (or decorated function) in which matrix products and the like run in ``dtype``, and
    sensitive functions in float32.

    Args:
        device_type: the operands it is for: ``"cpu"``, ``"cuda"``, ...
        dtype: default: bfloat16, on CUDA float16.
        cache_enabled: accepted; the compiler casts a weight once in each program anyway.
        enabled: whether the block changes anything.
    """

    def __init__(
        self,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        _check_device_type(device_type)
        if device_type not in _KINDS:
            torch.device(device_type)  # its error for what is no type of device at all
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        if enabled and device_type == "cuda" and not torch.cuda.is_available():
            warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2
            )
            enabled = False
        elif (
            enabled
            and device_type != "cuda"
            and self.fast_dtype not in (torch.bfloat16, torch.float16)
        ):
            warnings.warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. "
                "Disabling autocast.\n"
                f"{device_type.upper()} Autocast only supports dtypes of torch.bfloat16, "
                "torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before = []

    def __enter__(self) -> autocast:
        self._before.append(
            (
                is_autocast_enabled(self.device),
                get_autocast_dtype(self.device),
                is_autocast_cache_enabled(),
            )
        )
        set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        set_autocast_enabled(self.device, self._enabled)
        return self

    def __exit__(self, *exc: object) -> None:
        enabled, dtype, cache = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cache)

    def __call__(self, func: Any) -> Any:
        """Decorator: ``func`` runs in such a block."""
        return autocast_decorator(self, func)


def _enter_autocast(
    device_type: str,
    dtype: torch.dtype | None = None,
    enabled: bool = True,
    cache_enabled: bool | None = None,
) -> autocast:
    """Enters a block, as graphs do that have no blocks; gives what ``_exit_autocast`` leaves."""
    return autocast(device_type, dtype, enabled, cache_enabled).__enter__()


def _exit_autocast(mode: autocast) -> None:
    """Leaves the block that ``_enter_autocast`` has entered."""
    mode.__exit__(None, None, None)


def enabled_now() -> Named:
    """The device types whose operands are cast here, and to what."""
    return {kind: get_autocast_dtype(kind) for kind, on in _state.enabled.items() if on}


@contextlib.contextmanager
def casting(wanted: Named) -> Iterator[None]:
    """A block in which ``enabled_now`` is as it was elsewhere."""
    now = enabled_now()
    with contextlib.ExitStack() as stack:
        for kind in {**now, **wanted}:
            if now.get(kind) is not wanted.get(kind):
                stack.enter_context(autocast(kind, wanted.get(kind), kind in wanted))
        yield


def autocast_decorator(autocast_instance: Any, func: Callable[..., object]) -> Any:
    """``func`` run in a block, each call in one of its own."""

    @functools.wraps(func)
    def decorated(*args: object, **kwargs: object) -> object:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


def _check_device_type(device_type: str) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(
    fwd: Callable[..., object] | None = None,
    *,
    device_type: str,
    cast_inputs: torch.dtype | None = None,
) -> Any:
    """Decorator of ``forward`` of an ``autograd.Function``: with ``cast_inputs`` it runs in that
    dtype, without autocast."""
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: object, **kwargs: object) -> object:
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type) and cast_inputs is None
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                ctx,
                *_cast(args, cast_inputs, device_type),
                **_cast(kwargs, cast_inputs, device_type),
            )

    return decorated


def custom_bwd(bwd: Callable[..., object] | None = None, *, device_type: str) -> Any:
    """Decorator of ``backward``: it runs under the autocast of ``forward``."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: object, **kwargs: object) -> object:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorated
