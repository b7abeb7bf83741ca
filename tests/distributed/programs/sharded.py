"""Modules sharded over four processes, beside the same modules in one: values and policies."""

import os
from pathlib import Path
from typing import Any

from _cases import RANK, WORLD, raises, run

import jtorch as torch
from jtorch import nn
from jtorch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
)
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
    register_fsdp_forward_method,
)
from jtorch.distributed.tensor import DTensor, Replicate, Shard
from jtorch.utils.checkpoint import checkpoint
from jtorch.utils.flop_counter import FlopCounterMode

FOLDER = Path(os.environ["WORLD_FOLDER"])


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 7),
            nn.Linear(7, width, bias=False),
        )

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 6)
        self.blocks = nn.ModuleList(Block(6) for _ in range(2))
        self.head = nn.Linear(6, 5, bias=False)
        self.head.weight = self.embed.weight  # one parameter in two places

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

    def scores(self, ids: Any) -> Any:
        return self(ids).sum()


def net(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return Net()


def sharded(seed: int = 0, **options: Any) -> Any:
    made = net(seed)
    for block in made.blocks:
        fully_shard(block, **options)
    return fully_shard(made, **options)


def ids(step: int) -> Any:
    return torch.randint(5, (WORLD * 2, 3), generator=torch.Generator().manual_seed(step))


def train(model: Any, opt: Any, batches: Any, clip: float | None = None) -> list[float]:
    losses = []
    for x in batches:
        loss = model(x).square().mean()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
        opt.zero_grad()
        losses.append(loss.item())
    return losses


def mine(x: Any) -> Any:
    return x[RANK * 2 : RANK * 2 + 2]


def same_as(model: Any, whole: Any, tolerance: float = 1e-5) -> None:
    state = whole.state_dict()
    for name, value in get_model_state_dict(
        model, options=StateDictOptions(full_state_dict=True)
    ).items():
        assert torch.allclose(value, state[name], atol=tolerance), name


def check_numbers_of_processes_to_reshard_to() -> None:
    for number, whole in ((1, True), (2, False), (WORLD, False)):
        model = fully_shard(nn.Linear(4, 4), reshard_after_forward=number)
        model(torch.ones(2, 4))
        assert isinstance(model.weight, DTensor) is not whole, number


def check_training_is_that_of_the_whole_batch() -> None:
    for options in (
        {},
        {"reshard_after_forward": False},
        {"reshard_after_forward": 2},
        {"offload_policy": CPUOffloadPolicy(pin_memory=False)},
    ):
        model, whole = sharded(**options), net()
        assert (
            isinstance(model, FSDPModule)
            and type(model).__name__ == "FSDPNet"
            and isinstance(model, Net)
        )
        assert isinstance(model.head.weight, DTensor) and model.head.weight is model.embed.weight
        assert len(list(model.parameters())) == len(list(whole.parameters()))
        opts = [torch.optim.AdamW(m.parameters(), 0.05) for m in (model, whole)]
        batches = [ids(i) for i in range(3)]
        train(model, opts[0], [mine(x) for x in batches], clip=0.1)
        train(whole, opts[1], batches, clip=0.1)
        same_as(model, whole)
        assert opts[0].state[model.head.weight]["exp_avg"].placements == (Shard(0),)


def check_gradients_wait() -> None:
    model, whole = sharded(), net()
    for i in range(3):
        model.set_requires_gradient_sync(i == 2)
        model(mine(ids(i))).square().mean().backward()
        whole(ids(i)).square().mean().backward()
        assert (model.blocks[0].up.weight.grad is None) == (i < 2)
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        assert isinstance(p.grad, DTensor) and torch.allclose(
            p.grad.full_tensor(), q.grad, atol=1e-6
        )
    model(mine(ids(4))).square().mean().backward()  # adds to what is there
    whole(ids(4)).square().mean().backward()
    assert torch.allclose(model.head.weight.grad.full_tensor(), whole.head.weight.grad, atol=1e-6)


def check_whole_gradients_that_wait_are_seen() -> None:
    torch.manual_seed(0)
    model, plain = fully_shard(nn.Linear(3, 2)), nn.Linear(3, 2)
    plain.load_state_dict(
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    )
    model.set_reshard_after_backward(False)
    for synced in (False, False, True):
        x = torch.full((1, 3), 1.0 + RANK) if not synced else torch.ones(1, 3)
        model.set_requires_gradient_sync(synced)
        for m in (model, plain):
            m(x).square().sum().backward()
        if not synced:  # whole, and this process's own
            assert not isinstance(model.weight, DTensor) and torch.allclose(
                model.weight.grad, plain.weight.grad, atol=1e-5
            )
    assert model.weight.grad is None  # no shard's
    mean = plain.weight.grad.clone()
    torch.distributed.all_reduce(mean)
    model.reshard()
    assert torch.allclose(model.weight.grad.full_tensor(), mean / WORLD, atol=1e-4)


def check_hooks_see_what_is_reduced() -> None:
    rows = torch.arange(6.0).reshape(2, 3)
    for mesh in (
        init_device_mesh("cpu", (WORLD,)),
        init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards")),
    ):
        for forced in (False, True):
            model: Any = fully_shard(nn.Linear(3, 5, bias=False), mesh=mesh)
            seen: list[Any] = []
            model.set_force_sum_reduction_for_comms(forced)
            model.set_all_reduce_hook(lambda t, seen=seen: (seen.append(t.clone()), t.mul_(2)))
            (model(rows) * (1 + RANK)).sum().backward()
            mean = rows.sum(0) * 2.5
            assert torch.allclose(model.weight.grad.full_tensor(), (2 * mean).expand(5, 3))
            mine = model.weight.grad.to_local().shape[0]
            most = 2 if mesh.ndim == 1 else 3  # what the largest part has room for
            expected = torch.zeros(most, 3)
            expected[:mine] = mean * (WORLD if forced else 1)
            assert len(seen) == 1 and torch.allclose(seen[0], expected.reshape(-1)), (
                seen,
                expected,
            )
    with raises(ValueError, "stream cannot be set"):
        model.set_all_reduce_hook(print, stream=object())


def check_sums_of_halves_stay_in_range() -> None:
    model: Any = fully_shard(
        nn.Linear(2, 4, bias=False), mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float16)
    )
    (model(torch.ones(1, 2)) * 30000.0).sum().backward()  # four of which are no half
    assert model.weight.grad.full_tensor().eq(30000).all()


def check_gradients_that_modes_see() -> None:
    model, whole = sharded(), net()
    with FlopCounterMode(display=False):
        model(mine(ids(0))).square().mean().backward()
    whole(ids(0)).square().mean().backward()
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(p.grad.full_tensor(), q.grad, atol=1e-6)


def check_passes_within_passes() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return checkpoint(
                self.a, self.b(checkpoint(self.a, x, use_reentrant=True)), use_reentrant=True
            )

    whole, x = Twice(), torch.arange(8.0 * WORLD).reshape(2 * WORLD, 4) / 10
    (whole(x.requires_grad_()).square().sum() / WORLD).backward()
    for parts in ((), ("a", "b")):
        model = Twice()
        for name in parts:
            fully_shard(getattr(model, name))
        fully_shard(model)
        model(mine(x.detach()).requires_grad_()).square().sum().backward()
        for p, q in zip(model.parameters(), whole.parameters(), strict=True):
            assert torch.allclose(p.grad.full_tensor(), q.grad, rtol=1e-4), parts


def check_copies_of_shards() -> None:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
    model, whole = sharded(mesh=mesh), net()
    assert model.head.weight.placements == (Replicate(), Shard(0))
    for i in range(2):
        model.set_requires_all_reduce(i == 1)
        model(mine(ids(i))).square().mean().backward()
        whole(ids(i)).square().mean().backward()
    assert torch.allclose(model.head.weight.grad.full_tensor(), whole.head.weight.grad, atol=1e-6)


def check_other_dtypes() -> None:
    seen = []
    model = net()
    for block in model.blocks:
        fully_shard(block, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    fully_shard(model, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32))
    model.blocks[0].up.register_forward_hook(
        lambda m, args, out: seen.append((m.weight.dtype, args[0].dtype, out.dtype))
    )
    out = model(mine(ids(0)))
    out.square().mean().backward()
    assert seen == [(torch.bfloat16,) * 3] and out.dtype is torch.float32
    grad = model.head.weight.grad
    whole = net()
    whole(ids(0)).square().mean().backward()
    assert grad.dtype is torch.float32
    error = (grad.full_tensor() - whole.head.weight.grad).norm() / whole.head.weight.grad.norm()
    assert 1e-5 < error < 2e-2, error


def check_parameters_come_and_go() -> None:
    model = sharded()
    assert [type(p) is nn.Parameter for p in (model.head.weight, model.blocks[0].up.weight)] == [
        False,
        False,
    ]
    with torch.no_grad():
        model(mine(ids(0)))
    assert [type(p) is nn.Parameter for p in (model.head.weight, model.blocks[0].up.weight)] == [
        True,
        False,
    ]
    assert all(isinstance(value, DTensor) for value in model.state_dict().values())
    assert isinstance(model.head.weight, DTensor)
    model.unshard(async_op=True).wait()
    assert tuple(model.head.weight.shape) == (5, 6) and type(model.head.weight) is nn.Parameter
    model.reshard()
    model.set_reshard_after_backward(False)
    model(mine(ids(0))).sum().backward()
    assert type(model.head.weight) is nn.Parameter
    model.reset_iter_state()
    assert isinstance(model.head.weight, DTensor)
    register_fsdp_forward_method(model, "scores")
    assert torch.allclose(model.scores(ids(0)), net().scores(ids(0)), atol=1e-5)
    called = []
    model.reshard()
    model.head.weight.register_post_accumulate_grad_hook(lambda p: called.append(p.grad.placements))
    model(mine(ids(0))).sum().backward()
    assert called == [(Shard(0),)]


def check_meta_initialisation() -> None:
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 3))
    fully_shard(model)
    with raises(RuntimeError, "should be materialized from meta device"):
        model(torch.ones(1, 6))
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    assert torch.allclose(model(torch.ones(1, 6)), torch.full((1, 3), 7.5))
    model.reshard()
    assert model[0].weight.device.type == "cpu" and model[0].weight.to_local().shape == (1, 6)


def check_conversions() -> None:
    model, whole = sharded(), net()
    kept = model.head.weight
    model(mine(ids(0))).sum().backward()
    model.to(torch.float64)
    whole.to(torch.float64)
    assert (
        model.head.weight is kept
        and kept.dtype is kept.to_local().dtype is kept.grad.to_local().dtype is torch.float64
    )
    out = model(ids(0))
    assert out.dtype is torch.float64 and torch.allclose(out, whole(ids(0)))
    out.sum().backward()
    assert kept.grad.dtype is torch.float64


def check_what_is_refused() -> None:
    model = sharded()
    with raises(AssertionError, "has already been applied"):
        fully_shard(model)
    with raises(ValueError, "containers that do not implement forward"):
        fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
    with raises(AssertionError, "does not support deepcopy"):
        __import__("copy").deepcopy(model)
    with raises(ValueError, "should be a factor of 4"):
        fully_shard(nn.Linear(2, 2), reshard_after_forward=3)
    with raises(ValueError, "should be a bool or an int"):
        fully_shard(nn.Linear(2, 2), reshard_after_forward="yes")  # type: ignore[arg-type]
    with raises(ValueError, "HYBRID_SHARD needs two groups"):
        FullyShardedDataParallel(
            nn.Linear(2, 2),
            sharding_strategy=ShardingStrategy.HYBRID_SHARD,
            device_mesh=model.head.weight.device_mesh,
        )
    scalar = nn.Module()
    scalar.factor = nn.Parameter(torch.tensor(1.0))
    with raises(ValueError, "scalar parameters. Change factor"):
        fully_shard(scalar)
    part = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    fully_shard(part)
    assert type(part[:1]) is nn.Sequential


def check_gradients_are_added_up_in_place() -> None:
    model = sharded()
    model(mine(ids(0))).square().mean().backward()
    kept = model.head.weight.grad
    once = kept.full_tensor()
    model(mine(ids(0))).square().mean().backward()
    assert model.head.weight.grad is kept
    assert torch.allclose(kept.full_tensor(), 2 * once, atol=1e-6)


def check_copies_instead_of_shards() -> None:
    from jtorch.distributed._composable.replicate_with_fsdp import ReplicateModule, replicate

    model, whole = replicate(net()), net()
    assert isinstance(model, ReplicateModule) and type(model).__name__ == "ReplicateNet"
    model(mine(ids(0))).square().mean().backward()
    whole(ids(0)).square().mean().backward()
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        assert p.placements == (Replicate(),) and torch.allclose(
            p.grad.to_local(), q.grad, atol=1e-6
        )
    with raises(ValueError, "1D DeviceMesh"):
        replicate(net(), mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b")))
    with raises(RuntimeError, "already managed by `fully_shard`"):
        replicate(sharded())
    with raises(AssertionError, "replicate has already been applied"):
        replicate(model)


def check_copies_of_tensor_parallel_modules() -> None:
    from jtorch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    def layers() -> nn.Sequential:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    inner, whole = parallelize_module(layers(), mesh["tp"], plan), layers()
    with raises(NotImplementedError, "without device_mesh"):
        nn.parallel.DistributedDataParallel(inner, process_group=mesh["dp"].get_group())
    model = nn.parallel.DistributedDataParallel(inner, device_mesh=mesh["dp"])
    optimisers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, whole)]
    for i in range(3):
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(i))
        losses = [
            m(t).square().mean()
            for m, t in ((model, x.chunk(2)[mesh["dp"].get_local_rank()]), (whole, x))
        ]
        for loss, optimiser in zip(losses, optimisers, strict=True):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            assert torch.allclose(model(x), whole(x), atol=1e-5), i


def check_activations_that_are_computed_again() -> None:
    from jtorch.utils.checkpoint import checkpoint

    model, whole = sharded(), net()
    for m in (model, whole):
        for block in m.blocks:
            inner = block.forward
            block.forward = lambda x, inner=inner: checkpoint(inner, x, use_reentrant=False)
    model(mine(ids(0))).square().mean().backward()
    whole(ids(0)).square().mean().backward()
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(p.grad.full_tensor(), q.grad, atol=1e-6)


if __name__ == "__main__":
    run(dict(globals()))
