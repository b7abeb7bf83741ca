"""Shapes and dtypes of all nodes, found by running the graph on an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jtorch as torch

from .._compatibility import compatibility as compatibility
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

if TYPE_CHECKING:
    pass


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    memory_format = None
    if include_contiguity:
        for candidate in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d):
            if candidate is not torch.contiguous_format and result.dim() != (
                4 if candidate is torch.channels_last else 5
            ):
                continue
            if result.is_contiguous(memory_format=candidate):
                memory_format = candidate
                break
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a graph and notes each result's ``meta["tensor_meta"]`` and ``meta["type"]``."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """The value of one node, noted."""
        try:
            result = super().run_node(n)
        except Exception as e:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from e
        seen = False

        def note(obj: torch.Tensor) -> Any:
            nonlocal seen
            if isinstance(obj, torch.Tensor):
                seen = True
                return _extract_tensor_metadata(obj)
            return obj

        meta = map_aggregate(result, note)
        if seen:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs on an example, without data if there is a mode for that, and returns the result."""
        mode = self.fake_mode
        if mode is None:
            return super().run(*args)
        fakes = [mode.from_tensor(t) if isinstance(t, torch.Tensor) else t for t in args]
        # parameters and buffers are the module's own
        before, mode.allow_non_fake_inputs = mode.allow_non_fake_inputs, True
        try:
            with mode:
                return super().run(*fakes)
        finally:
            mode.allow_non_fake_inputs = before
