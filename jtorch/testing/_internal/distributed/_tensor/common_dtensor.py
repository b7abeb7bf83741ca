"""Tests of distributed tensors: cases whose processes have a mesh, and calls with every placement
of their arguments."""

# ruff: noqa: PT009  (helpers of unittest)

from __future__ import annotations

import functools
import itertools
import os
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jtorch as torch
import jtorch.distributed as dist
from jtorch.distributed.device_mesh import DeviceMesh as DeviceMesh
from jtorch.distributed.tensor import Placement, Replicate, Shard, distribute_tensor
from jtorch.testing._internal.common_distributed import (
    ACCELERATOR_DIST_BACKENDS as ACCELERATOR_DIST_BACKENDS,
)
from jtorch.testing._internal.common_distributed import TEST_SKIPS as TEST_SKIPS
from jtorch.testing._internal.common_distributed import (
    MultiProcContinuousTest,
    MultiProcessTestCase,
    MultiThreadedTestCase,
)
from jtorch.testing._internal.common_distributed import run_subtests as run_subtests
from jtorch.testing._internal.common_distributed import skip_if_lt_x_gpu as skip_if_lt_x_gpu
from jtorch.utils import _pytree as pytree

from ._models import Attention as Attention
from ._models import FeedForward as FeedForward
from ._models import MLPModule as MLPModule
from ._models import MLPStacked as MLPStacked
from ._models import ModelArgs as ModelArgs
from ._models import RMSNormPython as RMSNormPython
from ._models import Transformer as Transformer
from ._models import TransformerBlock as TransformerBlock

DEVICE_COUNT = torch.cuda.device_count() if torch.cuda.is_available() else 0
DEVICE_TYPE = "cuda" if DEVICE_COUNT > 1 else "cpu"
PG_BACKEND = "nccl" if DEVICE_TYPE == "cuda" else "gloo"
NUM_DEVICES = min(4, DEVICE_COUNT) if DEVICE_TYPE == "cuda" else 4

skip_unless_torch_gpu = unittest.skipUnless(torch.cuda.is_available(), "no GPU")


class DTensorTestMixin:
    """What all cases have."""

    world_size: Any
    rank: Any
    subTest: Any
    assertEqual: Any
    is_local_tensor_enabled = False

    @property
    def device_type(self) -> str:
        """The type of the mesh's devices."""
        return "cpu" if DEVICE_TYPE == "cuda" and self.world_size > DEVICE_COUNT else DEVICE_TYPE

    def build_device_mesh(self) -> DeviceMesh:
        """A mesh of one dimension with all ranks."""
        return DeviceMesh(self.device_type, list(range(self.world_size)))

    def init_manual_seed_for_rank(self) -> None:
        """Seeds the default generator, each rank's in its own way."""
        torch.manual_seed(self.rank)

    def _test_op_on_dtensor(self, op_call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Compares a call on distributed tensors with the one on whole ones."""
        mesh = next(
            x.device_mesh for x in pytree.tree_leaves((args, kwargs)) if hasattr(x, "device_mesh")
        )
        whole_args, whole_kwargs = pytree.tree_map(
            lambda x: x.full_tensor() if hasattr(x, "full_tensor") else x, (args, kwargs)
        )
        expected = pytree.tree_leaves(op_call(*whole_args, **whole_kwargs))
        found = pytree.tree_leaves(op_call(*args, **kwargs))
        del mesh
        for e, f in zip(expected, found, strict=True):
            self.assertEqual(f.full_tensor() if hasattr(f, "full_tensor") else f, e)

    def _test_op(
        self, mesh: DeviceMesh, op_call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """Compares a call with every placement of its tensors with the one on whole tensors."""
        expected = pytree.tree_leaves(op_call(*args, **kwargs))
        for given, named in DTensorConverter(mesh, args, kwargs):
            found = pytree.tree_leaves(op_call(*given, **named))
            for e, f in zip(expected, found, strict=True):
                self.assertEqual(f.full_tensor() if hasattr(f, "full_tensor") else f, e)

    def run_subtests(self, *args: Any, **kwargs: Any) -> None:
        """Every combination of the named values."""
        run_subtests(self, *args, **kwargs)


class DTensorTestBase(DTensorTestMixin, MultiProcessTestCase):
    """Tests whose processes are started; ``with_comms`` makes their group."""

    @property
    def world_size(self) -> int:
        """How many processes run a test."""
        return NUM_DEVICES

    @property
    def backend(self) -> str:
        """The group's backend."""
        return PG_BACKEND

    def init_pg(self, eager_init: object = False, backend: str | None = None) -> None:
        """Makes the default group."""
        del eager_init
        dist.init_process_group(
            backend=backend or self.backend,
            world_size=self.world_size,
            rank=self.rank,
            init_method=f"file://{self.file_name}",
        )
        if DEVICE_TYPE == "cuda":
            torch.cuda.set_device(self.rank)

    def destroy_pg(self, device_id: int | None = None) -> None:
        """Leaves it, once all are there."""
        del device_id
        dist.barrier()
        dist.destroy_process_group()

    def setUp(self) -> None:
        """Starts the processes."""
        super().setUp()
        os.environ["WORLD_SIZE"] = str(self.world_size)
        self._spawn_processes()


class DTensorContinuousTestBase(DTensorTestMixin, MultiProcContinuousTest):
    """Tests that find a group."""

    world_size = NUM_DEVICES

    @classmethod
    def backend_str(cls) -> str:
        """The group's backend."""
        return PG_BACKEND


class DTensorOpTestBase(DTensorTestMixin, MultiThreadedTestCase):
    """Tests of operators that find a group."""

    @property
    def world_size(self) -> int:
        """How many ranks run a test."""
        return NUM_DEVICES

    def setUp(self) -> None:
        """Starts the ranks."""
        super().setUp()
        self._spawn_threads()


def with_comms(eager_init: Any = False, backend: str | None = None) -> Any:
    """Runs a test inside a default group, which is made before it and left after it."""
    if callable(eager_init):
        return with_comms()(eager_init)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            self.init_pg(eager_init, backend)
            result = test(self, *args, **kwargs)
            self.destroy_pg()
            return result

        return wrapper

    return decorate


class DTensorConverter:
    """Goes through all placements of a call's tensors on a mesh: copies, and shards of each
    dimension that the mesh divides."""

    def __init__(
        self,
        mesh: DeviceMesh,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        replicate_only: bool = False,
    ) -> None:
        self.mesh, self.args, self.kwargs = mesh, args, kwargs
        self.hit = self.miss = 0
        leaves, self.spec = pytree.tree_flatten((args, kwargs))
        self.leaves = leaves
        self.choices = [
            [Replicate()] if replicate_only else self.gen_sharding_choices_for_arg(x)
            for x in leaves
            if isinstance(x, torch.Tensor)
        ]

    def successful(self) -> bool:
        """Whether all tensors could be spread."""
        return self.hit > 0 and self.miss == 0

    def is_supported_tensor(self, t: torch.Tensor) -> bool:
        """Whether a tensor can be spread: one of an ordinary layout, and no duck."""
        return type(t) in (torch.Tensor, torch.nn.Parameter) and t.layout is torch.strided

    def gen_sharding_choices_for_arg(self, arg: torch.Tensor) -> Sequence[Placement]:
        """The placements of one tensor."""
        found: list[Placement] = [Replicate()]
        if arg.dtype is not torch.bool:
            size = self.mesh.size()
            found += [Shard(d) for d, n in enumerate(arg.shape) if n > 1 and n % size == 0]
        return found

    def to_dist_tensor(
        self, t: torch.Tensor, mesh: DeviceMesh, placements: list[Placement]
    ) -> torch.Tensor:
        """A tensor spread over the mesh; itself where that cannot be."""
        if not self.is_supported_tensor(t):
            self.miss += 1
            return t
        self.hit += 1
        spread = distribute_tensor(t.detach(), mesh, placements)
        made = spread.requires_grad_(t.requires_grad)
        return torch.nn.Parameter(made) if isinstance(t, torch.nn.Parameter) else made

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for chosen in itertools.product(*self.choices):
            left = iter(chosen)
            made = [
                self.to_dist_tensor(x, self.mesh, [next(left)])
                if isinstance(x, torch.Tensor)
                else x
                for x in self.leaves
            ]
            args, kwargs = pytree.tree_unflatten(made, self.spec)
            yield args, kwargs
