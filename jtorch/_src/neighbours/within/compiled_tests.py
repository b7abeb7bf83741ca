"""``torch._dynamo.testing`` and ``test_case``: backends that count and keep graphs, for tests of
what ``torch.compile`` makes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import jtorch as torch
from jtorch.compiler import lookup_backend
from jtorch.testing._internal.common_utils import TestCase as _TestCase
from jtorch.testing._internal.common_utils import run_tests as _run_tests

if TYPE_CHECKING:
    from ...facts.kinds import Function


__all__ = [
    "CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "TestCase",
    "collect_results",
    "normalize_gm", "rand_strided", "reduce_to_scalar_loss", "requires_bwd_pass", "reset_rng_state",
    "run_tests",
]  # fmt: skip


class CompileCounter:
    """A backend that runs graphs as they are, and counts them and their calls.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._dynamo.testing import CompileCounter
        >>> counter = CompileCounter()
        >>> torch.compile(lambda x: (x + 1) * 2, backend=counter)(torch.ones(2))
        tensor([4., 4.])
        >>> counter.frame_count, counter.op_count
        (1, 2)
    """

    def __init__(self) -> None:
        self.frame_count = self.op_count = 0
        self.clear()

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[object]) -> Function:
        del example_inputs
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Counts from 0 again."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend:
    """A backend that counts and keeps graphs, and gives them to another, which is named."""

    def __init__(self, backend: str) -> None:
        self.frame_count = self.op_count = 0
        self.backend = backend
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[object]) -> Function:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Counts from 0 again, and forgets the graphs."""
        self.frame_count = self.op_count = 0
        self.graphs = []


class EagerAndRecordGraphs:
    """A backend that keeps graphs and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[object]) -> Function:
        del example_inputs
        self.graphs.append(gm)
        return gm.forward


def reset_rng_state(use_xla: bool = False) -> None:
    """Seeds PyTorch's, Python's and NumPy's generators with 1337."""
    del use_xla
    torch.manual_seed(1337)
    random.seed(1337)
    np.random.seed(1337)


def rand_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    extra_size: int = 0,
) -> torch.Tensor:
    """Random numbers of a shape and strides: normal ones, integers from 0 or 1 on for dtypes
    without fractions."""
    needed = (
        sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 + extra_size
        if all(size)
        else extra_size
    )
    if dtype.is_floating_point or dtype.is_complex:
        memory = torch.randn(
            needed, dtype=torch.float32 if dtype.itemsize == 1 else dtype, device=device
        ).to(dtype)
    else:
        memory = torch.randint(
            0, 2 if dtype is torch.bool else 10, (needed,), dtype=dtype, device=device
        )
    return torch.as_strided(memory, tuple(size), tuple(stride))


def normalize_gm(gm_str: str) -> str:
    """A printed graph without comments, empty lines and spaces at the ends of lines."""
    kept = (line.partition("#")[0].rstrip() for line in gm_str.splitlines())
    return "\n".join(line for line in kept if line) + "\n"


def requires_bwd_pass(out: object) -> bool:
    """Whether a gradient can be taken of a result or a part of it."""
    return any(
        isinstance(x, torch.Tensor) and x.requires_grad
        for x in torch.utils._pytree.tree_leaves(out)
    )


def reduce_to_scalar_loss(out: torch.Tensor) -> torch.Tensor:
    """The mean of a result, or of the means of its parts."""
    if isinstance(out, torch.Tensor):
        return out.sum() / out.numel()
    parts = list(out.values()) if isinstance(out, dict) else list(out)
    return sum(reduce_to_scalar_loss(part) for part in parts) / len(parts)  # type: ignore[return-value]


def collect_results(
    model: torch.nn.Module, prediction: object, loss: object, example_inputs: object
) -> list[object]:
    """What a training step left: prediction, loss, gradients, parameters and buffers, and gradients
    of the inputs."""
    gradients = {f"{name}.grad": p.grad for name, p in model.named_parameters()}
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    inputs = torch.utils._pytree.tree_leaves(example_inputs)
    return [
        prediction,
        loss,
        gradients,
        state,
        [x.grad for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad],
    ]


class TestCase(_TestCase):
    """A test that begins and ends without compiled functions."""

    def setUp(self) -> None:
        torch._dynamo.reset()
        super().setUp()

    def tearDown(self) -> None:
        super().tearDown()
        torch._dynamo.reset()


def run_tests(needs: str | tuple[str, ...] = ()) -> None:
    """Runs the tests of the calling script, if the modules that they need are installed."""
    for module in (needs,) if isinstance(needs, str) else needs:
        __import__(module)
    _run_tests()
