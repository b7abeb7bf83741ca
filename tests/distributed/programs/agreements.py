"""Objects that processes agree on, states that are copied or sent, and optimisers that step in the
backward pass."""

import contextlib
import io
import logging
from typing import Any

from _cases import RANK, WORLD, raises, run, same

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed import _state_dict_utils as states
from jtorch.distributed import c10d_logger, collective_utils
from jtorch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from jtorch.distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks import (
    _hook_then_optimizer,
    _OptimizerHookState,
)
from jtorch.distributed.checkpoint.state_dict import _init_optim_state
from jtorch.distributed.optim import (
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
    as_functional_optim,
)
from jtorch.distributed.tensor import DTensor, Shard, distribute_tensor, init_device_mesh
from jtorch.distributed.tensor.debug import visualize_sharding
from jtorch.nn.parallel import DistributedDataParallel as DDP


def check_values_and_failures_of_one_are_everybodys() -> None:
    group = dist.group.WORLD

    def failing_on_1() -> int:
        if RANK == 1:
            raise ValueError("not here")
        return 3

    assert collective_utils.broadcast(lambda: RANK + 5, rank=1, pg=group) == 6
    assert collective_utils.all_gather(lambda: [RANK], "stage", group) == [
        [r] for r in range(WORLD)
    ]
    with raises(RuntimeError, "Rank 1 failed: stage s: exception not here"):
        collective_utils.broadcast(failing_on_1, stage_name="s", rank=1, pg=group)
    with raises(RuntimeError, "not here"):
        collective_utils.all_gather(failing_on_1, "s", group)
    with raises(RuntimeError, "Unexpected stage name received from rank 1: 1"):
        collective_utils.all_gather(0, str(RANK), group)
    with raises(TypeError, "Object type at index 1 is <class 'str'>"):
        collective_utils.all_gather_object_enforce_type(
            group, [None] * WORLD, "a" if RANK == 1 else 1
        )
    generator = torch.Generator().manual_seed(1)
    assert collective_utils._check_rng_sync(generator, group) is None
    generator.manual_seed(RANK)
    assert "desync" in str(collective_utils._check_rng_sync(generator, group))


def state() -> dict[str, Any]:
    whole = torch.arange(15.0).view(5, 3)
    return {
        "a": distribute_tensor(whole, init_device_mesh("cpu", (WORLD,)), [Shard(0)]),
        "b": {"c": torch.ones(2) + RANK, "d": [1, None]},
    }


def check_states_are_gathered_and_copied() -> None:
    given = state()
    whole = states._gather_state_dict(given)
    assert not isinstance(whole["a"], DTensor) and whole["b"]["d"] == [1, None]
    same(whole["a"], torch.arange(15.0).view(5, 3))
    assert (states._gather_state_dict(given, ranks_only=(1,)) == {}) is (RANK != 1)
    fresh = states._create_cpu_state_dict(given)
    assert states._check_state_dict_similarity(given, fresh) and not fresh["b"]["c"].any()
    copied = states._copy_state_dict(given, fresh)
    assert copied["a"] is fresh["a"]
    same(fresh["a"].full_tensor(), whole["a"])
    same(fresh["b"]["c"], given["b"]["c"])
    with raises(states.CompanionMismatch):
        states._copy_state_dict(given, {"a": fresh["a"]})
    with raises(ValueError, "Unexpected value type"):
        states._offload_state_dict_to_cpu({"a": object()})


def check_states_are_sent_from_rank_0() -> None:
    given = (
        {"a": torch.arange(15.0).view(5, 3), "c": torch.tensor([7.0]), "n": 3} if RANK == 0 else {}
    )
    local = {"a": state()["a"] * 0, "c": torch.zeros(1), "n": 0, "other": 1}
    states._broadcast_state_dict(given, local, torch.device("cpu"), strict=True)
    same(local.pop("a").full_tensor(), torch.arange(15.0).view(5, 3))
    same(local.pop("c"), torch.tensor([7.0]))
    assert local == {"n": 3}
    flat, paths = states._flatten_state_dict({"a": {"b": [1, (2, 3)]}})
    assert flat == {"a.b.0": 1, "a.b.1.0": 2, "a.b.1.1": 3}
    assert states._unflatten_state_dict(flat, paths) == {"a": {"b": [1, [2, 3]]}}


def net() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))


def batch(k: int, rank: int = RANK) -> torch.Tensor:
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(10 * k + rank))


def step(model: Any, k: int) -> None:
    model(batch(k)).pow(2).sum().backward()


def mean_step(model: Any, k: int) -> None:
    """The gradients of all processes' batches, averaged."""
    (sum(model(batch(k, r)).pow(2).sum() for r in range(WORLD)) / WORLD).backward()


def check_optimizers_step_in_the_backward_pass() -> None:
    for registers in (True, False):
        model, reference = net(), net()
        _apply_optimizer_in_backward(
            torch.optim.SGD, model[0].parameters(), {"lr": 0.1}, register_hook=registers
        )
        assert len(_get_in_backward_optimizers(model)) == 2
        optimizer = torch.optim.SGD(reference[0].parameters(), lr=0.1)
        wrapped = DDP(model)
        for k in range(3):
            wrapped.zero_grad()
            reference.zero_grad()
            step(wrapped, k)
            mean_step(reference, k)
            assert model[0].weight.grad is None
            same(model[2].weight.grad, reference[2].weight.grad)
            optimizer.step()
        for p, q in zip(model.parameters(), reference.parameters(), strict=True):
            same(p, q)
    alone, reference = net(), net()
    _apply_optimizer_in_backward(torch.optim.Adam, alone.parameters(), {"lr": 0.1})
    step(alone, 0)
    step(reference, 0)
    torch.optim.Adam(reference.parameters(), lr=0.1).step()
    same(alone[0].weight, reference[0].weight)


def check_hooks_that_step_optimizers() -> None:
    model, reference = net(), net()
    functional = as_functional_optim(torch.optim.SGD, lr=0.1)
    wrapped = DDP(model)
    state = _OptimizerHookState(functional, [model[0].weight])
    wrapped.register_comm_hook(None, _hook_then_optimizer(default_hooks.allreduce_hook, state))
    step(wrapped, 0)
    mean_step(reference, 0)
    same(model[0].weight, reference[0].weight - 0.1 * reference[0].weight.grad)
    same(model[2].weight, reference[2].weight)
    with raises(ValueError, "must implement method step_param"):
        _OptimizerHookState(object())


def check_buckets_of_low_rank() -> None:
    # 37 gradients are a square of 7
    for rank, feedback, warm in ((7, True, True), (7, False, False), (1, True, True)):
        model, reference = net(), net()
        wrapped = DDP(model)
        hook_state = powerSGD_hook.PowerSGDState(
            None, rank, 2, use_error_feedback=feedback, warm_start=warm
        )
        wrapped.register_comm_hook(hook_state, powerSGD_hook.batched_powerSGD_hook)
        for k in range(4):
            wrapped.zero_grad()
            reference.zero_grad()
            step(wrapped, k)
            mean_step(reference, k)
            exact = torch.cat([p.grad.flatten() for p in reference.parameters()])
            got = torch.cat([p.grad.flatten() for p in model.parameters()])
            if rank == 7 or k < 2:
                assert torch.allclose(got, exact, atol=1e-4), (rank, k)
            else:
                assert not torch.allclose(got, exact, atol=1e-4), (rank, k)
        assert bool(hook_state.error_dict) is feedback


def check_optimizers_get_their_state_without_a_step() -> None:
    model = net()
    kept = model[0].weight.clone()
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=0.1)
    _init_optim_state(optimizer)
    assert (
        len(optimizer.state) == 4
        and optimizer.param_groups[0]["lr"] == 1e-3
        and model[0].weight.grad is None
    )
    same(model[0].weight, kept)


def check_layouts_are_drawn() -> None:
    written = io.StringIO()
    mesh = init_device_mesh("cpu", (WORLD,))
    with contextlib.redirect_stdout(written):
        visualize_sharding(distribute_tensor(torch.ones(5, 3), mesh, [Shard(0)]))
        visualize_sharding(distribute_tensor(torch.ones(0, 3), mesh, [Shard(0)]))
    lines = ["         Col 0-2", "-------  ---------", "Row 0-2  cpu:0", "Row 3-4  cpu:1"]
    assert written.getvalue().splitlines() == (lines if RANK == 0 else [])
    with raises(RuntimeError, "only 1D or 2D"):
        visualize_sharding(distribute_tensor(torch.ones(2, 1, 1), mesh, [Shard(0)]))


def check_squeeze_goes_by_the_whole() -> None:
    x = torch.arange(3.0).view(3, 1)  # the second of two processes has one row
    d = distribute_tensor(x, init_device_mesh("cpu", (WORLD,)), [Shard(0)])
    for squeezed, expected in (
        (d.squeeze(0), x),
        (d.squeeze(1), x[:, 0]),
        (d.squeeze(), x[:, 0]),
        (d.squeeze((0, 1)), x[:, 0]),
    ):
        assert squeezed.to_local().ndim == squeezed.ndim == expected.ndim
        same(squeezed.full_tensor(), expected)


def check_loggers_hear_of_errors() -> None:
    said: list[Any] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.msg)

    c10d_logger._c10d_logger.addHandler(Handler())

    @c10d_logger._exception_logger
    def failing(group: Any = None) -> None:
        raise KeyError(str(group))

    with raises(KeyError):
        failing()
    assert (
        said[0]["func_name"] == "failing"
        and said[0]["world_size"] == str(WORLD)
        and said[0]["backend"] == "gloo"
    )


if __name__ == "__main__":
    run(globals())
