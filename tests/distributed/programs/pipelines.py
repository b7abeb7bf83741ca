"""Pipelines of four processes: their numbers are those of the model in one piece."""

import contextlib
from collections.abc import Callable
from typing import Any

from _cases import RANK, WORLD, raises, run, same

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp import fully_shard
from jtorch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    _ScheduleForwardOnly,
)
from jtorch.distributed.pipelining._utils import (
    PipeliningMetadataError,
    generate_stage_to_rank_mapping,
)
from jtorch.nn.parallel import DistributedDataParallel

CPU = torch.device("cpu")


class Part(nn.Module):
    """Takes one tensor or two, and gives two but at the end."""

    def __init__(self, index: int, last: bool) -> None:
        super().__init__()
        torch.manual_seed(index)
        self.one, self.other, self.unused, self.last = (
            nn.Linear(3, 3),
            nn.Linear(3, 3),
            nn.Linear(1, 1),
            last,
        )

    def forward(self, a: Any, b: Any = None, *, scale: float = 1.0, mask: Any = None) -> Any:
        first = torch.tanh(self.one(a)) * scale
        if mask is not None:
            first = first * mask
        second = first if b is None else self.other(b) + first
        return second if self.last else (first, second)


def whole(parts: list[nn.Module], x: Any, **kwargs: Any) -> Any:
    for part in parts:
        x = part(*(x if isinstance(x, tuple) else (x,)), **kwargs)
    return x


def data(rows: int = 8) -> tuple[Any, Any, Any]:
    torch.manual_seed(99)
    return torch.randn(rows, 3), torch.randn(rows, 3), torch.rand(rows, 1)


def wanted(stages: int, microbatches: int, rows: int = 8) -> tuple[Any, list[Any], list[nn.Module]]:
    """The result, the losses and the parts with gradients, without a pipeline."""
    parts: list[nn.Module] = [Part(i, i == stages - 1) for i in range(stages)]
    x, y, mask = data(rows)
    results, losses = [], []
    for a, b, m in zip(*(t.tensor_split(microbatches) for t in (x, y, mask)), strict=True):
        results.append(whole(parts, a, scale=1.5, mask=m))
        losses.append(nn.functional.mse_loss(results[-1], b))
        (losses[-1] / microbatches).backward()
    return torch.cat(results).detach(), losses, parts


def agrees(
    kind: Any,
    local: int,
    microbatches: int,
    style: str = "loop",
    rows: int = 8,
    single: bool = False,
) -> None:
    count = WORLD * local
    own = [
        i for i, rank in generate_stage_to_rank_mapping(WORLD, count, style).items() if rank == RANK
    ]
    stages = [PipelineStage(Part(i, i == count - 1), i, count, CPU) for i in own]
    schedule = kind(stages[0] if single else stages, microbatches, loss_fn=nn.functional.mse_loss)
    (x, y, mask), (result, losses, parts) = data(rows), wanted(count, microbatches, rows)
    args, target = ([x] if 0 in own else []), (y if count - 1 in own else None)
    for _ in range(2):
        said: list[Any] = []
        out = schedule.step(*args, target=target, losses=said, scale=1.5, mask=mask)
        assert len(said) == (microbatches if count - 1 in own else 0)
        if count - 1 in own:
            same(out, result)
            same(torch.stack(said).detach(), torch.stack(losses).detach())
            assert not out.requires_grad
        for stage in stages:
            for (name, p), (_, q) in zip(
                stage.submod.named_parameters(),
                parts[stage.stage_index].named_parameters(),
                strict=True,
            ):
                assert (p.grad is None) == (q.grad is None), name
                if p.grad is not None and q.grad is not None:
                    same(p.grad, q.grad)
                    p.grad = None
    with torch.no_grad():
        out = schedule.eval(*args, target=target, scale=1.5, mask=mask)
    assert (out is None) != (count - 1 in own)
    if out is not None:
        same(out, result)


def check_gpipe() -> None:
    agrees(ScheduleGPipe, 1, 2, single=True)


def check_one_forward_one_backward() -> None:
    agrees(Schedule1F1B, 1, 8, single=True)


def check_breadth_first() -> None:
    agrees(ScheduleLoopedBFS, 2, 4)


def check_interleaved() -> None:
    agrees(ScheduleInterleaved1F1B, 2, 8)
    agrees(ScheduleInterleaved1F1B, 3, 2)


def check_interleaved_parted() -> None:
    agrees(ScheduleInterleavedZeroBubble, 2, 4)


def check_forth_and_back() -> None:
    agrees(ScheduleZBVZeroBubble, 2, 4, style="v")


def check_in_pairs() -> None:
    agrees(ScheduleDualPipeV, 2, 8, style="v")


def check_parts_of_other_sizes() -> None:
    agrees(ScheduleGPipe, 1, 4, rows=7, single=True)


def check_gradients_are_added_and_not_divided() -> None:
    stage = PipelineStage(nn.Linear(2, 2), RANK, WORLD, CPU)
    schedule = ScheduleGPipe(
        stage, 2, loss_fn=lambda out, target: (out - target).sum(), scale_grads=False
    )
    x = torch.ones(4, 2)

    def step() -> None:
        schedule.step(*([x] if RANK == 0 else []), target=x if RANK == WORLD - 1 else None)

    step()
    first = stage.submod.weight.grad.clone()
    step()
    same(stage.submod.weight.grad, 2 * first)
    before = stage.submod.weight.grad.clone()
    schedule.eval(*([x] if RANK == 0 else []), target=x if RANK == WORLD - 1 else None)
    same(stage.submod.weight.grad, before)


def check_inputs_that_require_grad() -> None:
    x = torch.ones(4, 2, requires_grad=True)
    stage = PipelineStage(nn.Identity(), RANK, WORLD, CPU)
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda out, target: (out * target).sum())
    schedule.step(
        *([x] if RANK == 0 else []),
        target=torch.arange(8.0).reshape(4, 2) if RANK == WORLD - 1 else None,
    )
    if RANK == 0:
        same(x.grad, torch.arange(8.0).reshape(4, 2))


def check_keywords_that_require_grad_in_parted_passes() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.tensor(2.0))

        def forward(self, x: Any, by: Any) -> Any:
            return x * by * self.weight

    by = torch.full((4, 1), 0.5, requires_grad=True)
    own = [RANK, 2 * WORLD - 1 - RANK]
    stages = [PipelineStage(Scaled(), i, 2 * WORLD, CPU) for i in own]
    schedule = ScheduleZBVZeroBubble(
        stages, 2, loss_fn=lambda out, target: (out * target).sum(), scale_grads=False
    )
    x = torch.ones(4, 1)
    schedule.step(*([x] if RANK == 0 else []), target=x if 2 * WORLD - 1 in own else None, by=by)
    same(by.grad, torch.full((4, 1), 4.0))  # twice d/d(by) of a product of eight pairs 0.5 * 2
    for stage in stages:
        same(stage.submod.weight.grad, torch.tensor(2.0))


def check_forward_only() -> None:
    stage = PipelineStage(nn.Linear(2, 2), RANK, WORLD, CPU)
    schedule = _ScheduleForwardOnly(stage, 2)
    out = schedule.step(*([torch.ones(4, 2)] if RANK == 0 else []))
    assert (out is not None) == (RANK == WORLD - 1)
    with raises(RuntimeError, "Forward-only schedule does not support loss computation"):
        schedule.step(target=torch.ones(4))


def in_copies(wrap: Callable[[nn.Module, Any], nn.Module], kind: Any, local: int) -> None:
    """Two pipelines of two processes, whose stages are copies of each other, on halves of a
    batch."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp"))
    group, half, count = mesh.get_group("pp"), mesh.get_local_rank("dp"), 2 * local
    own = list(range(mesh.get_local_rank("pp"), count, 2))
    x, y, mask = data()
    _, _, parts = wanted(count, 8)

    def build(i: int) -> nn.Module:
        part = Part(i, i == count - 1)
        part.unused.requires_grad_(False)  # copies expect gradients of all parameters
        if i == 0:
            part.other.requires_grad_(False)
        return wrap(part, mesh["dp"])

    stages = [PipelineStage(build(i), i, count, CPU, group=group) for i in own]
    schedule = kind(stages if local > 1 else stages[0], 4, loss_fn=nn.functional.mse_loss)
    for _ in range(2):
        schedule.step(
            *([x.chunk(2)[half]] if 0 in own else []),
            target=y.chunk(2)[half],
            scale=1.5,
            mask=mask.chunk(2)[half],
        )
        for stage in stages:
            named = dict(parts[stage.stage_index].named_parameters())
            for name, p in stage.submod.named_parameters():
                if p.requires_grad:
                    grad: Any = p.grad
                    same(
                        grad.full_tensor() if hasattr(grad, "full_tensor") else grad,
                        named[name.removeprefix("module.")].grad,
                    )
                    p.grad = None


def _copied(part: nn.Module, mesh: Any) -> nn.Module:
    return DistributedDataParallel(part, process_group=mesh.get_group())


def _sharded(part: nn.Module, mesh: Any) -> nn.Module:
    return fully_shard(part, mesh=mesh)


def check_copies() -> None:
    in_copies(_copied, Schedule1F1B, 1)
    in_copies(_copied, ScheduleInterleavedZeroBubble, 2)


def check_shards() -> None:
    in_copies(_sharded, ScheduleGPipe, 1)
    in_copies(_sharded, ScheduleInterleaved1F1B, 2)
    with raises(NotImplementedError, "schedules that part backward passes"):
        in_copies(_sharded, ScheduleInterleavedZeroBubble, 2)
    dist.barrier()


def check_what_stages_say() -> None:
    example = torch.zeros(2, 3)
    stage = PipelineStage(
        nn.Linear(3, 3), RANK, WORLD, CPU, input_args=example, output_args=(example,)
    )
    schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss)
    x = torch.ones(4, 3)
    schedule.step(*([x] if RANK == 0 else []), target=x)
    assert stage.submod.weight.grad is not None
    bad = PipelineStage(nn.Linear(3, 3), 0, WORLD, CPU, output_args=torch.zeros(2, 4))
    with raises(PipeliningMetadataError, "Stage 0 microbatch 0 output[0]: expected shape (2, 4)"):
        bad.forward_one_chunk(0, (torch.ones(2, 3),))
    with raises(PipeliningMetadataError, "output of stage 0[0] is str"):
        PipelineStage(_Says("x"), 0, WORLD, CPU).forward_one_chunk(0, (x,))
    with raises(RuntimeError, "[Stage 0] failed to run forward"):
        PipelineStage(nn.Linear(2, 2), 0, WORLD, CPU).forward_one_chunk(0, (x,))
    with raises(ValueError, f"Stage index {WORLD} is out of range of {WORLD}"):
        PipelineStage(nn.Linear(2, 2), WORLD, WORLD, CPU)
    with raises(
        RuntimeError, f"Pipeline group size {WORLD} cannot be larger than number of stages 1"
    ):
        PipelineStage(nn.Linear(2, 2), 0, 1, CPU)
    with raises(RuntimeError, "Please call eval() instead"), torch.no_grad():
        schedule.step(x)
    with raises(ValueError, "Expecting 2 arg_mbs but got 1"):
        schedule.step(torch.ones(1, 3))


class _Says(nn.Module):
    def __init__(self, what: Any) -> None:
        super().__init__()
        self.what = what

    def forward(self, x: Any) -> Any:
        return self.what


def check_steps_that_failed_leave_nothing() -> None:
    """What was sent in a step that failed is not taken for that of the next one."""

    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.now = False

        def forward(self, x: Any) -> Any:
            if self.now:
                raise ValueError("on purpose")
            return x + 1

    stage = PipelineStage(Fails(), RANK, WORLD, CPU)
    schedule = _ScheduleForwardOnly(stage, 2)
    stage.submod.now = RANK == 1
    if RANK < 2:  # the others would wait for what does not come
        with (
            contextlib.nullcontext()
            if RANK == 0
            else raises(RuntimeError, "[Stage 1] failed to run forward")
        ):
            schedule.step(*([torch.zeros(2)] if RANK == 0 else []))
    else:
        stage.clear_runtime_states()
    dist.barrier()
    stage.submod.now = False
    out = schedule.step(*([torch.ones(2)] if RANK == 0 else []))
    if RANK == WORLD - 1:
        same(out, torch.full((2,), 1.0 + WORLD))


run(dict(globals()))
