"""Activation checkpointing: a part of the model forgets what it computed and computes it again in
backward."""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.aten.state import STATE
from jtorch._src.protocol.recorded import recorder
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor.running import UNSAVED

from .._src.facts.warned_once import outside
from ._pytree import tree_leaves
from ._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
    modes,
)

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


__all__ = [
    "CheckpointPolicy",
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_USE_REENTRANT = (
    "the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is "
    "recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True. Refer to docs for more details on the differences between the two "
    "variants."
)
_DEFAULT_DETERMINISM_MODE = "default"


def get_device_states(*args: object) -> tuple[list[int], list[torch.Tensor]]:
    """The indices of the accelerators that tensors among the arguments lie on, and the states of
    their generators (one serves all)."""
    ids = [
        x.device.index or 0
        for x in tree_leaves(args)
        if isinstance(x, torch.Tensor) and x.device.type not in ("cpu", "meta")
    ]
    states: Any = [torch.get_rng_state() for _ in ids]
    return ids, states


def set_device_states(
    devices: list[int], states: list[torch.Tensor], *, device_type: str | None = None
) -> None:
    """Gives the generators of accelerators their states (one serves all)."""
    del device_type
    for _, state in zip(devices, states, strict=False):
        torch.set_rng_state(state)


class CheckpointError(RuntimeError):
    """The second computation saved other tensors than the first."""


def detach_variable(inputs: tuple[object, ...]) -> tuple[Any, ...]:
    """The inputs with tensors detached from their history; those that require gradients still
    do."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
        for x in inputs
    )


def check_backward_validity(inputs: Iterable[object]) -> None:
    """Warns if no input requires gradients."""
    if not any(x.requires_grad for x in inputs if isinstance(x, torch.Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
            stacklevel=outside(),
        )


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Contexts for the first and second computation that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class _Surroundings:
    """What a computation depends on besides its arguments: the random generator's state and
    autocasting."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.rng = torch.default_generator.get_state() if preserve_rng_state else None
        self.key = torch.random.key_now() if preserve_rng_state else None
        self.autocast: Named | None = None
        if hasattr(torch, "is_autocast_enabled") and torch.is_autocast_enabled("cpu"):
            self.autocast = {
                "enabled": True,
                "dtype": torch.get_autocast_dtype("cpu"),
                "cache_enabled": torch.is_autocast_cache_enabled(),
            }

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Within, everything is as it was; after, as it is now."""
        now = torch.default_generator.get_state() if self.rng is not None else None
        autocast = (
            torch.autocast("cpu", **self.autocast) if self.autocast else contextlib.nullcontext()
        )
        drawing = (
            torch.random.drawing_from(self.key)
            if self.rng is not None
            else contextlib.nullcontext()
        )
        try:
            if self.rng is not None:
                torch.default_generator.set_state(self.rng)
            with autocast, drawing, torch.enable_grad():
                yield
        finally:
            if now is not None:
                torch.default_generator.set_state(now)


class CheckpointFunction(torch.autograd.Function):
    """The reentrant variant: the function runs without recording, and again, recorded, within
    backward."""

    _derived_by_jax = True

    @staticmethod
    def forward(
        ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Runs the function without recording."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.inputs = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        # no ``no_grad``: a forward is not recorded, and JAX is to differentiate this one
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Runs the function again and walks back through it; gradients of tensors it closes over
        are accumulated on the way.

        Raises:
            RuntimeError: within ``autograd.grad`` or ``backward(inputs=...)``.
        """
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.places, ctx.saved_tensors):
            inputs[i] = tensor
        with ctx.surroundings.restored():
            detached = detach_variable(tuple(inputs))
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [
            (o, g) for o, g in zip(outputs, args) if isinstance(o, torch.Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in detached))


class _Slot:
    """Stands in the graph for a tensor that was not kept."""

    __slots__ = ("index", "__weakref__")

    def __init__(self, index: int) -> None:
        self.index = index


class _Enough(Exception):
    """Stops the second computation when all that was saved has been computed."""


def _describe(x: torch.Tensor) -> dict[str, object]:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


class _Frame:
    """One checkpointed call: what was saved in its first computation, and the tensors of the
    second."""

    def __init__(self, again: Callable[[], None], early_stop: bool, compare: bool) -> None:
        self.again = again
        self.early_stop = early_stop
        self.compare = compare
        self.slots: list[weakref.ref[_Slot]] = []
        self.descriptions: list[dict[str, object]] = []
        self.tensors: dict[int, torch.Tensor] = {}
        # whether the first computation has come to its end: it may hold a backward pass of its own
        self.complete = False

    def pack(self, x: torch.Tensor) -> _Slot:
        slot = _Slot(len(self.slots))
        self.slots.append(weakref.ref(slot))
        self.descriptions.append(_describe(x))
        return slot

    def unpack(self, slot: _Slot) -> torch.Tensor:
        if slot.index not in self.tensors:  # not computed yet, or used up by an earlier backward
            self.compute_again()
        return self.tensors.pop(slot.index)

    def compute_again(self) -> None:
        found: list[torch.Tensor] = []

        def keep(x: torch.Tensor) -> torch.Tensor:
            index = len(found)
            if index >= len(self.slots):
                # what is needed is there, and the first computation will save the rest
                if not self.complete:
                    found.append(x.detach())
                    return found[index]
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                    "during the original forward pass."
                )
            found.append(x.detach())
            if self.early_stop and index + 1 == len(self.slots):
                raise _Enough
            return found[index]

        try:
            with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
                self.again()
        except _Enough:
            pass
        if len(found) < len(self.slots) or (self.complete and len(found) > len(self.slots)):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.slots)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        if self.compare:
            self.check(found)
        self.tensors = {
            i: x for i, (x, slot) in enumerate(zip(found, self.slots)) if slot() is not None
        }

    def check(self, found: list[torch.Tensor]) -> None:
        text = ""
        for i, (x, before) in enumerate(zip(found, self.descriptions)):
            if _describe(x) != before:
                text += (
                    f"tensor at position {i}:\n"
                    f"saved metadata: {before}\n"
                    f"recomputed metadata: {_describe(x)}\n"
                )
        if text:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                "different metadata than during the forward pass.\n"
                f"{text}"
            )


def _is_dispatched() -> bool:
    return bool(STATE.modes)


def _alike(dispatched: bool) -> AbstractContextManager[Any]:
    """A block in which functions are computed as operators, below dispatch modes, or as functions,
    whichever modes are on.

    Operators save other tensors, or in another order, than functions do, so both computations of a
    checkpoint are to be of one kind.
    """
    if dispatched == _is_dispatched():
        return contextlib.nullcontext()
    if not dispatched:
        return torch._C._DisableTorchDispatch()
    return modes().Passing()


_early_stop: bool | None = None
#: Whether calls keep a log, whatever they say themselves.
_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether calls within stop their second computation as soon as nothing more is needed,
    whatever they say themselves."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def checkpoint(
    function: Callable[..., object],
    *args: object,
    use_reentrant: bool | None = None,
    context_fn: Callable[
        [], tuple[AbstractContextManager[object], AbstractContextManager[object]]
    ] = noop_context_fn,
    determinism_check: str = _DEFAULT_DETERMINISM_MODE,
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)`` that keeps its arguments only and is computed again in
    backward.

    ``preserve_rng_state`` (True unless given) makes the second computation draw the same random
    numbers. ``context_fn`` gives contexts for the two computations; ``determinism_check="none"``
    leaves out the comparison of shapes.

    Raises:
        CheckpointError: in backward, if the second computation saves other tensors.
        RuntimeError: if an argument was made in inference mode, as it is kept for backward.

    Differs from torch:
        ``debug=True`` is not offered. Within one recorded step XLA may still merge both
        computations.
    """
    if use_reentrant is None:
        later = (
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception."
        )
        warnings.warn(f"torch.utils.checkpoint: {_USE_REENTRANT.format(later)}", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        if recorder() is not None:  # what a graph keeps is for who compiles it to decide
            return function(*args)
        return CheckpointFunction.apply(function, preserve, *args)
    if debug if _debug is None else _debug:
        raise NotImplementedError(
            "checkpoint(debug=True) is not offered by jtorch: it keeps no log of operations"
        )
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if recorder() is not None:
        return function(*args, **kwargs)
    first, second = context_fn()
    surroundings = _Surroundings(preserve)

    seen: list[bool] = []

    def again() -> None:
        around = contextlib.nullcontext() if seen[0] else _alike(False)
        with (
            around,
            surroundings.restored(),
            second,
            _alike(True) if seen[0] else contextlib.nullcontext(),
        ):
            function(*args, **kwargs)

    stop = early_stop if _early_stop is None else _early_stop
    frame = _Frame(again, stop, determinism_check == "default")
    if not torch.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    if any(isinstance(x, torch.Tensor) and x.is_inference() for x in args):
        raise RuntimeError(UNSAVED)
    with torch.autograd.graph.saved_tensors_hooks(frame.pack, frame.unpack), first:
        seen.append(_is_dispatched() or hasattr(type(second), "__torch_dispatch__"))
        with _alike(seen[0]):
            result = function(*args, **kwargs)
    frame.complete = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: object
) -> torch.Tensor:
    """Applies a list of functions (or ``Sequential``) in ``segments`` parts, all but the last one
    checkpointed."""
    if use_reentrant is None:
        later = "In version 2.9 we will raise an exception if use_reentrant is not passed."
        warnings.warn(
            f"torch.utils.checkpoint.checkpoint_sequential: {_USE_REENTRANT.format(later)}",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def part(start: int, end: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def forward(x: torch.Tensor) -> torch.Tensor:
            for f in functions[start:end]:
                x = f(x)
            return x

        return forward

    size = len(functions) // segments
    for k in range(segments - 1):
        input = checkpoint(
            part(k * size, (k + 1) * size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return part(size * (segments - 1), len(functions))(input)


class DefaultDeviceType:
    """Of which kind of device the states of generators are kept where no argument of ``checkpoint``
    is a tensor."""

    _chosen: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Chooses it."""
        DefaultDeviceType._chosen = device

    @staticmethod
    def get_device_type() -> str:
        """What was chosen, or else the accelerator's type, ``"cpu"`` where there is none."""
        found = torch.accelerator.current_accelerator()
        return DefaultDeviceType._chosen or ("cpu" if found is None else found.type)


def _infer_device_type(*args: object) -> str:
    """The type of the accelerators that tensors among the arguments lie on, the first of several;
    else ``DefaultDeviceType``'s."""
    kinds = {
        x.device.type: None
        for x in tree_leaves(args)
        if isinstance(x, torch.Tensor) and x.device.type not in ("cpu", "meta")
    }
    if len(kinds) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of "
            f"devices: {sorted(kinds)}. Device state will only be saved for devices of a single "
            f"device type, the first: {next(iter(kinds))}",
            stacklevel=outside(),
        )
    return next(iter(kinds), DefaultDeviceType.get_device_type())


def _get_device_module(device: str = "cuda") -> object:
    """The module of ``torch`` that is named for a type of device; for ``meta``, which has none, the
    device."""
    return torch.device("meta") if device == "meta" else getattr(torch, device)


def _get_autocast_kwargs(
    device_type: str = "cuda",
) -> tuple[dict[str, object] | None, dict[str, object]]:
    """What ``torch.autocast`` must be given to be as it is now: for a type of device (None if it
    has no autocast), and for the CPU."""

    def now(kind: str) -> Named:
        return {
            "enabled": torch.is_autocast_enabled(kind),
            "dtype": torch.get_autocast_dtype(kind),
            "cache_enabled": torch.is_autocast_cache_enabled(),
        }

    return (now(device_type) if torch.amp.is_autocast_available(device_type) else None), now("cpu")


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block in which calls of ``checkpoint`` keep a log of operations, or none, whatever they say
    themselves; None leaves it to them.

    Raises:
        NotImplementedError: for True, as ``checkpoint(debug=True)`` does.
    """
    global _debug
    if enabled:
        raise NotImplementedError(
            "set_checkpoint_debug_enabled(True) is not offered by jtorch: it keeps no log of "
            "operations"
        )
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


_missing = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    if name != "SAC_IGNORED_OPS":
        return _missing(name)
    found = globals()[name] = {
        functools.reduce(getattr, path.split("."), torch.ops) for path in modes().IGNORED
    }
    return found
