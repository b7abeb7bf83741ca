"""The graph as programs see it: nodes, gradient edges, hooks on several gradients, and hooks on
what is saved for ``backward``."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._src.facts.errors import not_offered
from .._src.tensor.writing import bump
from ..core import Tensor
from .accumulate import end_of
from .engine import GradientEdge as GradientEdge
from .engine import walk_now
from .function_node import FunctionCtx
from .nodes import Shown
from .tape import SAVING

if TYPE_CHECKING:
    from .._src.facts.devices import device


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "region_activation_memory_budget",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class _Nodes(type):
    """The class of :class:`Node`, which has nodes as its instances, and the contexts of custom
    functions, which are nodes in PyTorch."""

    def __instancecheck__(cls, instance: FunctionCtx | Node | type | None) -> bool:
        return isinstance(instance, (Shown, FunctionCtx))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (Shown, FunctionCtx))


class Node(metaclass=_Nodes):
    """What every ``grad_fn`` is an instance of.

    Example:
        >>> import jtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> isinstance((2 * x).grad_fn, torch.autograd.graph.Node)
        True
    """


def _node_of(tensor: Tensor) -> Any:
    """The node that computes the gradient of a tensor: its own, or that of a leaf; None if there is
    none."""
    if not tensor.requires_grad:
        return None
    node = tensor.grad_fn
    return end_of(tensor) if node is None else node


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that computes the gradient of ``tensor``.

    Raises:
        RuntimeError: if it does not require grad.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> y = x * x
        >>> edge = torch.autograd.graph.get_gradient_edge(y)
        >>> torch.autograd.grad(edge, x)
        (tensor(6.),)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(_node_of(tensor), tensor.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts an in-place change of tensors that was made where it could not be seen.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2)
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        bump(t)


# ---- several gradients ---------------------------------------------------------------------------


class _Multi:
    """The gradients of some tensors, collected in each walk."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., Any], mode: str) -> None:
        self.nodes = [_node_of(t) for t in tensors]
        if None in self.nodes:
            raise AssertionError("Expected gradient function to be set")
        self.fn, self.mode = fn, mode
        self.lock = threading.Lock()
        # id(walk) -> [walk, gradients, how many are still to come]
        self.walks = {}

    def hook(self, i: int) -> Callable[[Tensor], None]:
        """The hook of one of the tensors."""

        def seen(grad: Tensor) -> None:
            walk = walk_now()
            with self.lock:
                state = self.walks.get(id(walk))
                if state is None:
                    self.walks = {k: s for k, s in self.walks.items() if not s[0].done}
                    expected = (
                        1 if self.mode == "any" else sum(walk.will_reach(n) for n in self.nodes)
                    )
                    state = self.walks[id(walk)] = [walk, [None] * len(self.nodes), expected]
                state[1][i] = grad
                state[2] -= 1
                complete = state[2] == 0
            if complete:
                self.fn(grad if self.mode == "any" else state[1])

        return seen


class _Handles:
    """Removes the hooks of several tensors at once."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Removes them."""
        for h in self.handles:
            h.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: str = "all",
) -> Any:
    """Calls ``fn`` once in a walk: with all gradients of ``tensors`` (None where a walk has none),
    or in mode ``"any"`` with the first.

    Raises:
        ValueError: for another mode.
        AssertionError: if a tensor does not require grad.

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook(
        ...     (x, y), lambda grads: print(grads)
        ... )
        >>> (x * y).backward()
        [tensor(2.), tensor(1.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    multi = _Multi(tensors, fn, mode)
    return _Handles(tuple([t.register_hook(multi.hook(i)) for i, t in enumerate(tensors)]))


# ---- saved tensors -------------------------------------------------------------------------------


class saved_tensors_hooks:
    """A block in which what operations save for ``backward`` passes through ``pack_hook`` now and
    ``unpack_hook`` then.

    Example:
        >>> import jtorch as torch
        >>> def pack(x):
        ...     print("kept", x.item())
        ...     return x
        >>> x = torch.tensor(4.0, requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        ...     y = x.sqrt()
        kept 2.0
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if SAVING.disabled:
            raise RuntimeError(SAVING.disabled[-1])
        SAVING.hooks = [*SAVING.hooks, (self.pack_hook, self.unpack_hook)]

    def __exit__(self, *exc: object) -> None:
        SAVING.hooks = SAVING.hooks[:-1]


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A block in which entering ``saved_tensors_hooks`` raises ``error_message``; also a decorator.

    Example:
        >>> import jtorch as torch
        >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     try:
        ...         torch.autograd.graph.save_on_cpu().__enter__()
        ...     except RuntimeError as error:
        ...         print(error)
        not here
    """
    if SAVING.hooks:
        raise RuntimeError(error_message)
    SAVING.disabled.append(error_message)
    try:
        yield
    finally:
        SAVING.disabled.pop()


class save_on_cpu(saved_tensors_hooks):
    """A block in which saved tensors are kept in host memory and moved back for ``backward``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        del pin_memory, device_type  # host memory is host memory here, whatever device it came from

        def pack(t: Tensor) -> tuple[device, Tensor]:
            return t.device, t.cpu()

        def unpack(packed: tuple[object, Tensor]) -> Tensor:
            device, t = packed
            return t.to(device)

        super().__init__(pack, unpack)


class _AllowMutationOnSavedContext:
    """What ``allow_mutation_on_saved_tensors`` gives."""

    def clear(self) -> None:
        """Nothing is kept apart from the graph, so that there is nothing to clear."""


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """A block in which tensors that were saved for ``backward`` may be changed in place: what was
    saved is what they were.

    Raises:
        RuntimeError: if blocks are nested.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     a = x.clone()
        ...     y = a * a
        ...     _ = a.zero_()
        ...     y.backward()
        >>> x.grad
        tensor([6.])
    """
    if SAVING.lenient:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    SAVING.lenient = True
    try:
        yield _AllowMutationOnSavedContext()
    finally:
        SAVING.lenient = False


# ---- not for JAX ---------------------------------------------------------------------------------


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Without effect: XLA orders work itself, so that gradients cannot come from another stream."""
    del enabled


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Without effect: there is no capture of streams."""
    del enabled


def region_activation_memory_budget(budget: float) -> Any:
    """Not offered: what a compiled program keeps for ``backward`` is XLA's choice."""
    raise not_offered(
        "region_activation_memory_budget()",
        "XLA chooses itself what to keep and what to compute again; use checkpoint()",
    )
