"""The graph as programs see it: nodes, gradient edges, and hooks on what is saved for ``backward``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core import Tensor
from .tape import SAVING, AccumulateGrad
from .tape import Node as Node

__all__ = ["GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]


class GradientEdge(NamedTuple):
    """Where a gradient comes from: a node and the number of its output."""

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that computes the gradient of ``tensor``.

    Raises:
        RuntimeError: if it does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    return GradientEdge(AccumulateGrad(tensor) if node is None else node, tensor.output_nr)


class saved_tensors_hooks:
    """A block in which what operations save for ``backward`` passes through ``pack_hook`` now and ``unpack_hook`` then."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _disabled:
            raise RuntimeError(_disabled[-1])
        SAVING.hooks = [*SAVING.hooks, (self.pack_hook, self.unpack_hook)]

    def __exit__(self, *exc: object) -> None:
        SAVING.hooks = SAVING.hooks[:-1]


_disabled: list[str] = []


class disable_saved_tensors_hooks:
    """A block in which entering ``saved_tensors_hooks`` raises ``error_message``."""

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        _disabled.append(self.message)

    def __exit__(self, *exc: object) -> None:
        _disabled.pop()


class save_on_cpu(saved_tensors_hooks):
    """A block in which saved tensors are kept in host memory and moved back for ``backward``."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> tuple[Any, Tensor]:
            return t.device, t.cpu()  # type: ignore[attr-defined]

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, t = packed
            return t.to(device)  # type: ignore[attr-defined]

        super().__init__(pack, unpack)
