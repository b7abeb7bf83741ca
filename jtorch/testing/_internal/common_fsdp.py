"""Tests of modules whose parameters are shared out among processes: cases, models, and what is put
in the place of collectives."""

# ruff: noqa: PT009  (helpers of unittest)

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from enum import Enum, auto
from typing import Any

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from jtorch.distributed.fsdp import CPUOffload as CPUOffload
from jtorch.distributed.fsdp import FullyShardedDataParallel as FSDP
from jtorch.distributed.fsdp import fully_shard as fully_shard
from jtorch.distributed.tensor import DTensor, Shard, distribute_tensor
from jtorch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from jtorch.nn.parallel import DistributedDataParallel as DDP
from jtorch.testing._internal.common_distributed import FILE_SCHEMA as FILE_SCHEMA
from jtorch.testing._internal.common_distributed import TEST_SKIPS as TEST_SKIPS
from jtorch.testing._internal.common_distributed import (
    MultiProcContinuousTest,
    MultiProcessTestCase,
    MultiThreadedTestCase,
    run_subtests,
)
from jtorch.testing._internal.common_utils import TEST_CUDA as TEST_CUDA
from jtorch.testing._internal.common_utils import TEST_HPU as TEST_HPU
from jtorch.testing._internal.common_utils import TEST_XPU as TEST_XPU

DEVICE_TYPE = "cuda" if torch.cuda.is_available() else "cpu"
DEVICE_COUNT = torch.cuda.device_count() if DEVICE_TYPE == "cuda" else 1
DISTRIBUTED_BACKEND = "nccl" if DEVICE_TYPE == "cuda" else "gloo"


class FSDPInitMode(Enum):
    """Whether the parts of a model are wrapped."""

    NO_FSDP = auto()
    RECURSIVE = auto()


class DEVICEInitMode(Enum):
    """When a model moves to the device: before it is wrapped, after, or never."""

    DEVICE_BEFORE = auto()
    DEVICE_AFTER = auto()
    DEVICE_NEVER = auto()


# ---- parts ---------------------------------------------------------------------------------------


def get_devtype() -> torch.device:
    """The type of the devices that tests use."""
    return torch.device(DEVICE_TYPE)


def subtest_name(test_name_mapping: dict[str, str], *args: object) -> str:
    """The names of values, joined."""
    return "_".join(test_name_mapping[str(x)] if x is not None else "none" for x in args)


def get_full_params(model: nn.Module, recurse: bool = True) -> list[torch.Tensor]:
    """Copies of all parameters as they are when they are gathered."""
    with FSDP.summon_full_params(model, recurse=recurse):
        return [p.detach().clone() for p in model.parameters()]


def _move_to_device(model: nn.Module, move_to_device: bool) -> nn.Module:
    return model.to(DEVICE_TYPE) if move_to_device else model


def _maybe_wrap_fsdp(model: nn.Module, wrap_fsdp: bool, *args: Any, **kwargs: Any) -> nn.Module:
    return FSDP(model, *args, **kwargs) if wrap_fsdp else model


def _zero_model(model: nn.Module, zero_buffers: bool = False, summon_full: bool = True) -> None:
    """Sets parameters, and buffers if wanted, to zero."""
    block = FSDP.summon_full_params(model) if summon_full else contextlib.nullcontext()
    with block, torch.no_grad():
        for t in (*model.parameters(), *(model.buffers() if zero_buffers else ())):
            t.zero_()


def _get_state_dict(model: nn.Module, cpu_offload: bool = False, half: bool = False) -> Any:
    if not cpu_offload:
        model = model.to(DEVICE_TYPE)
    return (model.half() if half else model).state_dict()


def _broadcast_state_dict(rank: int, state_dict: dict[str, Any]) -> dict[str, Any]:
    """The first rank's, in all processes."""
    del rank
    held = [{k: v.cpu() if torch.is_tensor(v) else v for k, v in state_dict.items()}]
    dist.broadcast_object_list(held, src=0)
    return {k: v.to(DEVICE_TYPE) if torch.is_tensor(v) else v for k, v in held[0].items()}


def _assert_module_states(
    model: nn.Module,
    process_group: Any,
    assert_fn: Callable[[torch.Tensor, torch.Tensor], Any],
) -> None:
    """Calls ``assert_fn`` on the first rank's parameters and buffers with each other's."""
    states = [(n, t.detach().cpu()) for n, t in (*model.named_parameters(), *model.named_buffers())]
    everyone: list[Any] = [None] * dist.get_world_size(process_group)
    dist.all_gather_object(everyone, states, group=process_group)
    for other in everyone[1:]:
        for (_, mine), (_, its) in zip(everyone[0], other, strict=True):
            assert_fn(mine, its)


def check_sharded_parity(
    cls: Any,
    replicated_module: nn.Module,
    sharded_module: nn.Module,
    prefixes_to_ignore: tuple[str, ...] = (),
) -> None:
    """Compares a module's distributed parameters and gradients with a whole one's."""
    pairs = zip(
        replicated_module.named_parameters(), sharded_module.named_parameters(), strict=True
    )
    for (name, whole), (sharded_name, part) in pairs:
        for prefix in prefixes_to_ignore:
            sharded_name = sharded_name.replace(prefix, "")
        cls.assertEqual(name, sharded_name)
        cls.assertIsInstance(part, DTensor)
        assert isinstance(part, DTensor)
        mesh, placements = part.device_mesh, part.placements
        if tuple(placements) == (Shard(0), Shard(0)):
            raise AssertionError("two meshes that both divide the first dimension have an order")
        spread = distribute_tensor(whole.detach(), mesh, placements)
        cls.assertEqual(part.to_local(), spread.to_local())
        if whole.grad is None:
            cls.assertIsNone(part.grad)
            continue
        cls.assertIsNotNone(part.grad)
        found: Any = part.grad
        spread = distribute_tensor(whole.grad, mesh, placements)
        cls.assertEqual(found.to_local(), spread.to_local())


def _replaced(
    owner: Any, name: str
) -> Callable[[Callable[..., Any]], AbstractContextManager[None]]:
    """Puts another function in the place of one for a block, at whose ends all processes meet."""

    @contextlib.contextmanager
    def block(new: Callable[..., Any]) -> Iterator[None]:
        before = getattr(owner, name)
        dist.barrier()
        setattr(owner, name, new)
        try:
            yield
        finally:
            dist.barrier()
            setattr(owner, name, before)

    return block


patch_all_gather = _replaced(dist, "all_gather_into_tensor")
patch_reduce_scatter = _replaced(dist, "reduce_scatter_tensor")
patch_all_reduce = _replaced(dist, "all_reduce")


def _not_here(name: str) -> Any:
    def refuse(*_: object, **__: object) -> Any:
        """There is no such step here.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{name} is not offered by jtorch: its fully_shard has no step of that kind to replace"
        )

    refuse.__name__ = name
    return refuse


patch_foreach_all_gather = _not_here("patch_foreach_all_gather")
patch_foreach_reduce = _not_here("patch_foreach_reduce")
patch_post_backward = _not_here("patch_post_backward")
patch_register_post_backward_hook_backward = _not_here("patch_register_post_backward_hook_backward")
patch_reshard = _not_here("patch_reshard")
patch_unshard = _not_here("patch_unshard")


def reduce_scatter_with_assert(
    cls: Any,
    orig_reduce_scatter: Callable[..., Any],
    assert_fn: Callable[[torch.Tensor], Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A ``reduce_scatter_tensor`` that calls ``assert_fn`` with its result's tensor first."""
    del cls
    output = args[0] if args else kwargs["output"]
    assert_fn(output)
    return orig_reduce_scatter(*args, **kwargs)


# ---- models --------------------------------------------------------------------------------------


class FSDPTestModel(nn.Module, ABC):
    """A model that knows inputs and a loss for itself."""

    @abstractmethod
    def get_input(self, device: Any) -> tuple[torch.Tensor, ...]:
        """Inputs for the model."""

    @abstractmethod
    def get_loss(self, input: Any, output: Any) -> torch.Tensor:
        """The loss of an output."""

    @abstractmethod
    def run_backward(self, loss: torch.Tensor) -> None:
        """The backward pass."""

    @staticmethod
    @abstractmethod
    def init(*args: Any, **kwargs: Any) -> nn.Module:
        """A model."""


class MLP(nn.Module):
    """Two linear layers, a ReLU behind each; ``with_buffer`` adds a buffer to what they give."""

    def __init__(
        self,
        dim: int,
        device: Any = None,
        *,
        bias: bool = True,
        with_buffer: bool = False,
        dim_multiplier: int = 4,
    ) -> None:
        super().__init__()
        hidden = dim_multiplier * dim
        self.in_proj = nn.Linear(dim, hidden, device=device, bias=bias)
        self.out_proj = nn.Linear(hidden, dim, device=device, bias=bias)
        self.buffer: Any
        if with_buffer:
            self.register_buffer("buffer", torch.randn((dim,), device=device))
        else:
            self.buffer = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Through both."""
        z = self.out_proj(self.in_proj(x).relu()).relu()
        return z if self.buffer is None else z + self.buffer

    def reset_parameters(self) -> None:
        """Draws the buffer anew."""
        if self.buffer is not None:
            torch.nn.init.normal_(self.buffer)


class MLPStack(nn.Sequential):
    """Three ``MLP``, between which the sequence may be divided."""

    def __init__(self, mlp_dim: int, *, with_seq_parallel: bool = False) -> None:
        layers: list[nn.Module] = [MLP(mlp_dim, dim_multiplier=n) for n in (3, 4, 3)]
        if with_seq_parallel:
            layers.append(nn.LayerNorm(mlp_dim, bias=False))
        super().__init__(*layers)
        self.with_seq_parallel = with_seq_parallel

    def parallelize(
        self, tp_mesh: Any, dp_mesh: Any, use_activation_checkpointing: bool, **fsdp_kwargs: Any
    ) -> MLPStack:
        """Spreads the hidden features over one mesh and the parameters over the other."""
        if self.with_seq_parallel:
            plan: dict[str, Any] = {"3": SequenceParallel(sequence_dim=0)}
            ends: Any = Shard(0)
            for i in range(3):
                plan[f"{i}.in_proj"] = ColwiseParallel(
                    **({"input_layouts": ends} if i else {}), use_local_output=False
                )
                plan[f"{i}.out_proj"] = RowwiseParallel(output_layouts=ends, use_local_output=False)
        else:
            plan = {
                f"{i}.{n}": kind(use_local_output=False)
                for i in range(3)
                for n, kind in (("in_proj", ColwiseParallel), ("out_proj", RowwiseParallel))
            }
            plan["2.out_proj"] = RowwiseParallel()
        parallelize_module(self, tp_mesh, plan)
        for i, module in enumerate(list(self)):
            if isinstance(module, nn.LayerNorm):
                continue
            if use_activation_checkpointing:
                module = checkpoint_wrapper(module)
                self[i] = module
            fully_shard(module, mesh=dp_mesh, **fsdp_kwargs)
        fully_shard(self, mesh=dp_mesh, **fsdp_kwargs)
        return self


class DoubleLinear(nn.Module):
    """Two linear layers side by side, of which the second may stay unused."""

    def __init__(self, dim: int, use_second_linear: bool = True) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.relu = nn.ReLU()
        self.use_second_linear = use_second_linear

    def forward(self, x: torch.Tensor) -> Any:
        """One result, or two."""
        first = self.relu(self.lin1(x))
        return (first, self.relu(self.lin2(x))) if self.use_second_linear else first


class NestedWrappedModule(FSDPTestModel):
    """Linear layers, some of which are wrapped by themselves."""

    def __init__(
        self,
        group: Any,
        wrap_fsdp: bool,
        device_init_mode: DEVICEInitMode,
        deterministic: bool,
        **fsdp_kwargs: Any,
    ) -> None:
        super().__init__()
        self.rank, self.world_size = group.rank(), group.size()
        moves = device_init_mode == DEVICEInitMode.DEVICE_BEFORE

        def wrapped(layer: nn.Module) -> nn.Module:
            return FSDP(layer, group, **fsdp_kwargs) if wrap_fsdp else layer

        if deterministic:
            torch.manual_seed(0)
        linear = [
            _move_to_device(nn.Linear(*sizes), moves)
            for sizes in ((8, 4), (4, 16), (16, 16), (16, 4), (4, 8))
        ]
        inner = nn.Sequential(wrapped(linear[1]), linear[2])
        self.module = nn.Sequential(linear[0], wrapped(inner), wrapped(linear[3]), linear[4])

    def get_input(self, device: Any) -> tuple[torch.Tensor, ...]:
        """A batch of four, another in each process."""
        torch.manual_seed(1 + self.rank)
        return (torch.rand(4, 8, device=device),)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Through all."""
        return self.module(x)

    def get_loss(self, input: Any, output: torch.Tensor) -> torch.Tensor:
        """The sum."""
        del input
        return output.sum()

    def run_backward(self, loss: torch.Tensor) -> None:
        """The backward pass."""
        loss.backward()

    @classmethod
    def init(
        cls,
        group: Any,
        fsdp_init_mode: FSDPInitMode,
        device_init_mode: DEVICEInitMode,
        fsdp_kwargs: dict[str, Any] | None = None,
        deterministic: bool = False,
    ) -> nn.Module:
        """A model, its parts wrapped or not."""
        model = cls(
            group,
            wrap_fsdp=fsdp_init_mode == FSDPInitMode.RECURSIVE,
            device_init_mode=device_init_mode,
            deterministic=deterministic,
            **(fsdp_kwargs or {}),
        )
        return _move_to_device(model, device_init_mode == DEVICEInitMode.DEVICE_AFTER)


class AlwaysWrapNestedWrappedModule(NestedWrappedModule):
    """The same, wrapped as a whole too."""

    @classmethod
    def init(
        cls,
        group: Any,
        fsdp_init_mode: FSDPInitMode,
        device_init_mode: DEVICEInitMode,
        fsdp_kwargs: dict[str, Any] | None = None,
        deterministic: bool = False,
    ) -> nn.Module:
        """A model, wrapped if its parts are."""
        model = super().init(group, fsdp_init_mode, device_init_mode, fsdp_kwargs, deterministic)
        if fsdp_init_mode == FSDPInitMode.NO_FSDP:
            return model
        whole = FSDP(model, group, **(fsdp_kwargs or {}))
        return _move_to_device(whole, device_init_mode == DEVICEInitMode.DEVICE_AFTER)


# ---- cases ---------------------------------------------------------------------------------------


class FSDPTestMixin:
    """What all cases have."""

    rank: Any
    world_size: Any
    assertEqual: Any

    def run_subtests(self, *args: Any, **kwargs: Any) -> None:
        """Every combination of the named values."""
        run_subtests(self, *args, **kwargs)

    def _train_for_several_steps(
        self, model: Any, num_steps: int, autocast: bool, lr: float = 0.01, **options: Any
    ) -> Any:
        """The loss after some steps of SGD with momentum."""
        if any(options.values()):
            raise NotImplementedError(f"_train_for_several_steps: {sorted(options)}")
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        loss: Any = None
        for _ in range(num_steps):
            optimizer.zero_grad()
            with torch.amp.autocast(DEVICE_TYPE, enabled=autocast):
                given = model.module.get_input(torch.device(DEVICE_TYPE))
                output = model(*given)
                loss = model.module.get_loss(given, output).to(DEVICE_TYPE)
            model.module.run_backward(loss)
            optimizer.step()
        return loss.detach()

    def _test_fsdp_parity(
        self,
        model_class: Any,
        fsdp_init_mode: FSDPInitMode,
        device_init_mode: DEVICEInitMode,
        ref_init_fn: Callable[..., Any] | None = None,
        num_iters: int = 2,
        save_model: bool = True,
        init_kwargs: dict[str, Any] | None = None,
        **fsdp_kwargs: Any,
    ) -> None:
        """Compares training with that of ``DistributedDataParallel``."""
        del save_model
        group: Any = dist.distributed_c10d._get_default_group()
        options = init_kwargs or {}
        plain = model_class.init(
            group,
            FSDPInitMode.NO_FSDP,
            DEVICEInitMode.DEVICE_BEFORE,
            deterministic=True,
            **options,
        )
        reference = DDP(plain) if ref_init_fn is None else ref_init_fn(plain)
        expected = self._train_for_several_steps(reference, num_iters, False)
        parameters = [p.detach().clone() for p in reference.parameters()]
        model = model_class.init(
            group, fsdp_init_mode, device_init_mode, fsdp_kwargs, deterministic=True, **options
        )
        if not isinstance(model, FSDP):
            model = FSDP(model, group, **fsdp_kwargs)
        found = self._train_for_several_steps(model, num_iters, False)
        self.assertEqual(expected, found)
        self.assertEqual(parameters, get_full_params(model))


class FSDPTest(FSDPTestMixin, MultiProcessTestCase):
    """Tests whose processes are started and find a default group."""

    @property
    def world_size(self) -> int:
        """How many processes run a test."""
        return min(torch.cuda.device_count(), 8) if DEVICE_TYPE == "cuda" else 4

    @property
    def process_group(self) -> Any:
        """The default group."""
        return dist.distributed_c10d._get_default_group()

    @property
    def init_method(self) -> str:
        """Where the processes meet."""
        return f"{FILE_SCHEMA}{self.file_name}"

    def setUp(self) -> None:
        """Starts the processes."""
        super().setUp()
        os.environ["WORLD_SIZE"] = str(self.world_size)
        self._spawn_processes()

    def run_test(self, test_name: str, parent_pipe: Any) -> None:
        """Makes the group before the test."""
        dist.init_process_group(
            init_method=self.init_method,
            backend=DISTRIBUTED_BACKEND,
            world_size=int(self.world_size),
            rank=self.rank,
        )
        if DEVICE_TYPE == "cuda":
            torch.cuda.set_device(self.rank % DEVICE_COUNT)
        dist.barrier()
        super().run_test(test_name, parent_pipe)


class FSDPTestContinuous(FSDPTestMixin, MultiProcContinuousTest):
    """Tests of a class that find a default group."""

    world_size = 4

    @classmethod
    def backend_str(cls) -> str:
        """The group's backend."""
        return DISTRIBUTED_BACKEND

    @property
    def process_group(self) -> Any:
        """The default group."""
        return dist.distributed_c10d._get_default_group()


class FSDPTestMultiThread(FSDPTestMixin, MultiThreadedTestCase):
    """Tests whose ranks are threads in PyTorch, and processes here."""

    @property
    def world_size(self) -> int:
        """How many ranks run a test."""
        return DEVICE_COUNT

    def setUp(self) -> None:
        """Starts the ranks."""
        super().setUp()
        self._spawn_threads()
