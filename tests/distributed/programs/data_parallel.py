"""Data parallel training with two processes, beside one process that sees everything."""

import time
from typing import Any

from _cases import RANK, WORLD, raises, run, same

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed import _lanes
from jtorch.distributed._composable import replicate
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from jtorch.distributed.tensor import distribute_module
from jtorch.nn.parallel import DistributedDataParallel as DDP
from jtorch.utils.flop_counter import FlopCounterMode


def net(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def data() -> Any:
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(5))


def mine(x: Any) -> Any:
    return x[RANK::WORLD]


def check_gradients_are_those_of_the_whole_batch() -> None:
    switches = ("gradient_as_bucket_view", "static_graph", "find_unused_parameters")
    for options in ({}, {"bucket_cap_mb": 0.0001}, *({name: True} for name in switches)):
        model, whole = DDP(net(RANK), **options), net(0)  # rank 0's parameters win
        for m, x in ((model, mine(data())), (whole, data())):
            opt = torch.optim.SGD(m.parameters(), 0.5, momentum=0.9)
            for _ in range(3):
                opt.zero_grad()
                m(x).square().mean().backward()
                opt.step()
        for p, q in zip(model.module.parameters(), whole.parameters(), strict=True):
            assert torch.allclose(p, q, atol=1e-6), options
            assert torch.allclose(p.grad, q.grad, atol=1e-6), options
        assert next(iter(model.state_dict())) == "module.0.weight"
        facts = model._get_ddp_logging_data()
        assert (facts["world_size"], facts["rank"], facts.get("static_graph", 0)) == (
            WORLD,
            RANK,
            "static_graph" in options,
        )
        size = sum(p.numel() * 4 for p in model.parameters())
        assert (facts["total_parameter_size_bytes"], facts["dtypes"], facts["output_device"]) == (
            size,
            "float",
            -1,
        )
        assert facts["master_addr"] == "127.0.0.1" and "comm_hook" not in facts


def check_large_arrays_of_two_processes() -> None:
    n, ops = 70_001, dist.ReduceOp
    whole = torch.arange(n) % 5 + 1
    before, _lanes.PIECE = _lanes.PIECE, 1 << 16
    try:
        for dtype in (torch.float32, torch.bfloat16, torch.complex64, torch.int64, torch.bool):
            mine, theirs = ((whole + r * (whole % 3)).to(dtype) for r in (RANK, 1 - RANK))
            cases = {
                ops.SUM: torch.add,
                ops.PRODUCT: torch.mul,
                ops.MAX: torch.maximum,
                ops.BAND: torch.bitwise_and,
            }
            few = 1 if dtype.is_complex else 3 if dtype.is_floating_point else 4
            for op, function in list(cases.items())[:few]:
                t = mine.clone()
                dist.all_reduce(t, op)
                assert torch.equal(t, function(mine, theirs)), (dtype, op)
    finally:
        _lanes.PIECE = before


def check_a_pass_that_fails_when_all_have_agreed() -> None:
    group = dist.new_group([0, 1])
    torch.manual_seed(0)
    model: Any = DDP(nn.Linear(200, 200), process_group=group)
    x = mine(torch.randn(4, 200))
    model(x).sum().backward()
    loss = model(x).sum()
    if RANK:
        model.reducer._fill = lambda *_: 1 / 0
    begun = time.monotonic()
    with raises(ZeroDivisionError if RANK else dist.DistBackendError):
        loss.backward()
    assert time.monotonic() - begun < 10
    with raises(dist.DistBackendError):  # the group's processes are no longer at one place
        dist.barrier(group)
    dist.barrier()


class Widths(nn.Module):
    """Parameters of three dtypes, whose sizes are no multiples of anything."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Parameter(torch.arange(float(n))) for n in (1, 17, 3))
        self.d, self.e = (
            nn.Parameter(torch.ones(5, 3, dtype=torch.float64)),
            nn.Parameter(torch.ones(7, dtype=torch.bfloat16)),
        )

    def forward(self, x: Any) -> Any:
        return sum((p.double() * x).sum() for p in self.parameters())


def check_gradients_outlive_their_pass() -> None:
    for options in ({}, {"gradient_as_bucket_view": True}):
        model = DDP(Widths(), **options)
        kept = []
        for i in range(3):
            model.zero_grad(set_to_none=True)
            model(1.0 + i + RANK).backward()
            kept.append([p.grad for p in model.parameters()])
        # the memory that is sent is used again, that of what came is not
        for i, grads in enumerate(kept):
            for p, g in zip(model.parameters(), grads, strict=True):
                assert g.dtype == p.dtype and torch.equal(g, torch.full_like(p, 1.5 + i)), (i, g)


def check_accumulation_without_exchange() -> None:
    model, whole = DDP(net()), net()
    with model.no_sync():
        model(mine(data())).square().mean().backward()
    assert not torch.allclose(model.module[0].weight.grad, torch.zeros(8, 4))
    local = model.module[0].weight.grad.clone()
    rows = [torch.zeros_like(local) for _ in range(WORLD)]
    dist.all_gather(rows, local)
    assert not torch.allclose(rows[0], rows[1])
    model(mine(data())).square().mean().backward()
    (2 * whole(data()).square().mean()).backward()
    assert torch.allclose(model.module[0].weight.grad, whole[0].weight.grad, atol=1e-6)
    # Loops may decide for the exchange after the forward pass, as accelerate's
    # trigger_sync_in_backward does.
    model.zero_grad()
    with model.no_sync():
        loss = model(mine(data())).square().mean()
    model.reducer.prepare_for_backward([])
    (2 * loss).backward()
    assert torch.allclose(model.module[0].weight.grad, whole[0].weight.grad, atol=1e-6)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.never = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: Any, second: bool, aside: bool = False) -> Any:
        return {
            "y": [self.a(x) + self.b(x) if second else self.a(x)],
            "aside": self.never(x) if aside else None,
        }


def check_unused_parameters() -> None:
    torch.manual_seed(1)
    model = DDP(Branches(), find_unused_parameters=True)
    for _ in range(2):
        model(data(), RANK == 1)["y"][0].sum().backward()
    assert model.module.never.weight.grad is None
    row = data().sum(0)  # used in one of two processes, twice
    assert torch.allclose(model.module.b.weight.grad, torch.stack([row, row]), atol=1e-5)
    model.zero_grad()
    # an output that the loss does not depend on
    model(mine(data()), True, True)["y"][0].sum().backward()
    assert model.module.never.weight.grad is None
    assert torch.allclose(
        model.module.a.weight.grad, torch.stack([data().sum(0) / 2] * 2), atol=1e-5
    )
    static = DDP(Branches(), static_graph=True)
    for _ in range(2):
        static(data(), False)["y"][0].sum().backward()
        assert static.module.b.weight.grad is None and static.module.never.weight.grad is None
    plain = DDP(Branches())
    plain(data(), True)["y"][0].sum().backward()
    with raises(RuntimeError, "Parameter indices which did not receive grad for rank"):
        plain(data(), True)


class Again(nn.Module):
    """A layer in two checkpoints: in reentrant ones backward passes within the pass come to it one
    after another."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.between, self.reentrant = nn.Linear(4, 4), nn.Linear(4, 4), reentrant

    def forward(self, x: Any) -> Any:
        from jtorch.utils.checkpoint import checkpoint

        return checkpoint(
            self.a,
            self.between(checkpoint(self.a, x, use_reentrant=self.reentrant)),
            use_reentrant=self.reentrant,
        )


def check_static_graphs_count_what_comes_again() -> None:
    found = []
    for reentrant in (True, False):
        model, grads = DDP(Again(reentrant), static_graph=True), []
        for i in range(3):
            model.zero_grad()
            model((mine(data()) + i).requires_grad_()).square().sum().backward()
            grads += [p.grad.clone() for p in model.parameters()]
        found.append(grads)
    for p, q in zip(*found, strict=True):
        same(p, q)
        rows = [torch.zeros_like(p) for _ in range(WORLD)]
        dist.all_gather(rows, p)
        same(rows[0], rows[1])
    # what comes later would be this process's alone
    with raises(RuntimeError, "marked as ready twice"):
        DDP(Again(True), find_unused_parameters=True)(data().requires_grad_()).sum().backward()


def check_graphs_that_change() -> None:
    for passes, words in (
        (
            (False, False, True),
            "one parameter is unused in first iteration, but then got used in the second iteration",
        ),
        (
            (True, False, False),
            "one parameter is used in first iteration, but then got unused in the second iteration",
        ),
    ):
        model = DDP(Branches(), static_graph=True)
        for second in passes[:2]:
            model(data(), second)["y"][0].sum().backward()
        with raises(RuntimeError, words):
            model(data(), passes[2])["y"][0].sum().backward()
    seen, whole = DDP(net(), static_graph=True), net()
    for _ in range(2):
        seen.zero_grad()
        with FlopCounterMode(display=False):
            seen(mine(data())).square().mean().backward()
    whole(data()).square().mean().backward()
    assert torch.allclose(seen.module[0].weight.grad, whole[0].weight.grad, atol=1e-6)
    late = DDP(net())
    late(data()).sum().backward()
    with raises(RuntimeError, "should be called before training loop starts"):
        late._set_static_graph()


def check_buffers_follow_rank_0() -> None:
    model = DDP(nn.BatchNorm1d(4, affine=True))
    model(data() + RANK)
    model(data())
    rows = [torch.zeros(4) for _ in range(WORLD)]
    dist.all_gather(rows, model.module.running_mean)
    before = data().mean(0) * 0.1 * 0.9 + data().mean(0) * 0.1  # rank 0 never saw the shifted data
    for row in rows:
        assert torch.allclose(row, before, atol=1e-6)


def check_buffers_that_are_not_sent() -> None:
    def module() -> Any:
        found = nn.BatchNorm1d(4)
        found.running_mean.fill_(RANK)
        return found

    for options, first, later in (
        ({}, 0.0, True), ({"broadcast_buffers": False}, float(RANK), False),
        ({"forward_sync_buffers": False}, 0.0, False),
    ):  # fmt: skip
        model = DDP(module(), **options)
        assert (
            model.module.running_mean.tolist() == [first] * 4 and model.broadcast_buffers is later
        )
        model.module.running_mean.fill_(5.0 + RANK)
        model.eval()(data())
        assert model.module.running_mean.tolist() == [5.0 + (0 if later else RANK)] * 4, options


def check_hooks_for_buffers() -> None:
    from jtorch.nn.parallel.distributed import _BufferCommHookLocation as At

    def summed(state: Any, buffers: Any) -> Any:
        state.append(sorted(buffers))
        return [
            dist.all_reduce(b, async_op=True).get_future()
            for b in buffers.values()
            if b.is_floating_point()
        ]

    # the hook comes before the layer, or after it
    for at, mean, root in ((At.PRE_FORWARD, 3.0, 2**0.5), (None, 1.0 + RANK, 1.0)):
        model, seen = DDP(nn.BatchNorm1d(4)), []
        model._register_buffer_comm_hook(seen, summed, at)
        model.eval()
        model.module.running_mean.fill_(1.0 + RANK)
        out = model(torch.zeros(2, 4))
        assert (
            model.module.running_mean.tolist() == [3.0] * 4
            and len(seen) == 1
            and "running_var" in seen[0]
        )
        assert bool((out * root + mean).abs().max() < 1e-4), (at, out)


def check_delayed_gradients() -> None:
    module, whole = net(RANK), net(0)
    p = dict(module.named_parameters())
    late = [(name, p[name]) for name in ("2.weight", "2.bias")]
    with raises(ValueError, "need to be set at the same time"):
        DDP(module, delay_all_reduce_named_params=late)
    model = DDP(module, delay_all_reduce_named_params=late, param_to_hook_all_reduce=p["0.bias"])
    for m, x in ((model, mine(data())), (whole, data())):
        opt = torch.optim.SGD(m.parameters(), 0.5)
        for _ in range(3):
            opt.zero_grad()
            m(x).square().mean().backward()
            opt.step()
    for a, b in zip(model.module.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def check_copies_of_wrappers() -> None:
    import copy
    import pickle

    whole = net()
    whole(data()).square().mean().backward()
    model = DDP(net(), bucket_cap_mb_list=[0.0001])
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        copied(mine(data())).square().mean().backward()
        assert torch.allclose(copied.module[0].weight.grad, whole[0].weight.grad, atol=1e-6)
    assert model.module[0].weight.grad is None
    with raises(RuntimeError, "only supported when using DDP with the default process group"):
        pickle.dumps(DDP(net(), process_group=dist.new_group([0, 1])))


def check_options_that_are_refused() -> None:
    with raises(NotImplementedError, "mixed_precision"):
        DDP(net(), mixed_precision=object())
    with raises(
        RuntimeError, "not needed when a module doesn't have any parameter that requires a gradient"
    ):
        DDP(nn.ReLU())
    with raises(ValueError, "can only be None or contain a single element"):
        DDP(net(), device_ids=[0, 1])
    with raises(RuntimeError, "uninitialized parameters can't be used"):
        DDP(nn.LazyLinear(3))
    with raises(NotImplementedError, "parameters that are DTensors"):
        DDP(distribute_module(net(), init_device_mesh("cpu", (WORLD,))))
    with raises(TypeError, "process_group"):
        DDP(net(), process_group=3)
    assert DDP(net(), output_device=0).output_device is None


def check_comm_hooks() -> None:
    from jtorch.distributed.algorithms.ddp_comm_hooks import default_hooks

    expected = net()
    expected(data()).square().mean().backward()
    for hook, tolerance in (
        (default_hooks.allreduce_hook, 1e-6),
        (default_hooks.bf16_compress_hook, 2e-2),
    ):
        model = DDP(net())
        model.register_comm_hook(None, hook)
        model(mine(data())).square().mean().backward()
        assert torch.allclose(
            model.module[0].weight.grad, expected[0].weight.grad, atol=tolerance
        ), hook
    seen = []

    def hook(state: Any, bucket: Any) -> Any:
        seen.append(
            (
                state,
                bucket.index(),
                bucket.is_last(),
                len(bucket.gradients()),
                len(bucket.parameters()),
            )
        )
        future: Any = torch.futures.Future()
        future.set_result(bucket.buffer() * 0)
        return future

    model = DDP(net())
    model.register_comm_hook("state", hook)
    model(data()).sum().backward()
    assert seen == [("state", 0, True, 4, 4)] and all(
        p.grad.eq(0).all() for p in model.parameters()
    )
    first: list[Any] = []
    small = DDP(net(), bucket_cap_mb=0.0001)
    small.register_comm_hook(
        first, lambda s, b: s.append(b.buffer().numel()) or default_hooks.allreduce_hook(None, b)
    )
    for _ in range(2):
        small(data()).sum().backward()
    assert first == [58, 26, 32]  # all at once until it is known that everything is used
    with raises(RuntimeError, "can only be called once"):
        model.register_comm_hook(None, hook)
    listed: list[Any] = []
    model = DDP(net(), bucket_cap_mb_list=[0.0001, 1])
    model.register_comm_hook(
        None,
        lambda s, b: listed.append(b.buffer().numel()) or default_hooks.allreduce_hook(None, b),
    )
    for _ in range(2):
        model(data()).sum().backward()
    assert listed == [26, 32, 26, 32]
    for kind, width in (
        (dist.BuiltinCommHookType.ALLREDUCE, 1e-6),
        (dist.BuiltinCommHookType.FP16_COMPRESS, 2e-3),
    ):
        model = DDP(net())
        model._register_builtin_comm_hook(kind)
        model(mine(data())).square().mean().backward()
        assert torch.allclose(model.module[0].weight.grad, expected[0].weight.grad, atol=width)
    fused = DDP(net())
    fused._register_fused_optim(torch.optim.SGD, lr=0.5)
    fused(mine(data())).square().mean().backward()
    assert torch.allclose(
        fused.module[0].weight, net()[0].weight - 0.5 * expected[0].weight.grad, atol=1e-6
    )
    returns: Any = lambda state, bucket: None  # noqa: E731
    returns.__annotations__ = {"bucket": int}
    with raises(ValueError, "bucket annotation should be dist.GradBucket"):
        DDP(net()).register_comm_hook(None, returns)
    returns.__annotations__ = {"bucket": dist.GradBucket, "return": int}
    with raises(ValueError, "return annotation should be"):
        DDP(net()).register_comm_hook(None, returns)


def check_gradients_of_low_rank() -> None:
    from jtorch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
        PowerSGDState,
        powerSGD_hook,
    )

    for options in ({}, {"warm_start": False}, {"orthogonalization_epsilon": 1e-8}):
        model, whole = DDP(nn.Linear(8, 9)), nn.Linear(8, 9)
        whole.load_state_dict(model.module.state_dict())
        state = PowerSGDState(None, 8, start_powerSGD_iter=2, min_compression_rate=0.1, **options)
        model.register_comm_hook(state, powerSGD_hook)
        x = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))
        for _ in range(4):
            model.zero_grad()
            model(mine(x)).square().mean().backward()
        whole(x).square().mean().backward()
        # as many columns as there are: nothing is lost but by rounding
        assert torch.allclose(model.module.weight.grad, whole.weight.grad, atol=1e-5), options
        assert (
            torch.allclose(model.module.bias.grad, whole.bias.grad, atol=1e-6) and state.iter == 4
        )
    narrow = DDP(nn.Linear(8, 9))
    state = PowerSGDState(None, 1, start_powerSGD_iter=2)
    narrow.register_comm_hook(state, powerSGD_hook)
    for _ in range(3):
        narrow.zero_grad()
        narrow(mine(x)).square().mean().backward()
    assert int(torch.linalg.matrix_rank(narrow.module.weight.grad, atol=1e-6)) == 1
    assert state.error_dict[0].abs().sum() > 0  # comes with the next ones


def check_averages_of_parameters() -> None:
    from jtorch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
        PostLocalSGDState,
        post_localSGD_hook,
    )
    from jtorch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from jtorch.distributed.optim import PostLocalSGDOptimizer

    model = DDP(net())
    alone = dist.new_subgroups(group_size=1)[0]
    model.register_comm_hook(
        PostLocalSGDState(None, alone, start_localSGD_iter=1), post_localSGD_hook
    )
    opt = PostLocalSGDOptimizer(
        torch.optim.SGD(model.parameters(), 0.1), PeriodicModelAverager(period=2, warmup_steps=2)
    )
    equal = []
    for _ in range(4):
        opt.zero_grad()
        (model(data() + RANK).square().mean()).backward()
        opt.step()
        rows = [torch.zeros(8, 4) for _ in range(WORLD)]
        dist.all_gather(rows, model.module[0].weight.detach())
        equal.append(torch.allclose(rows[0], rows[1]))
    assert equal == [True, False, True, False] and opt.state_dict()["step"] == 4


def check_hooks_by_name() -> None:
    from jtorch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook

    expected = net()
    expected(data()).square().mean().backward()
    largest = max(float(p.grad.abs().max()) for p in expected.parameters())
    for name, error in {
        "ALLREDUCE": 1e-6,
        "FP16_COMPRESS": 1e-3,
        "QUANTIZE_PER_TENSOR": 2 / 255,
        "QUANTIZE_PER_CHANNEL": 2 / 255,
    }.items():
        model = DDP(net())
        register_ddp_comm_hook(DDPCommHookType[name], model, dist.group.WORLD)
        model(mine(data())).square().mean().backward()
        for p, q in zip(model.parameters(), expected.parameters(), strict=True):
            assert float((p.grad - q.grad).abs().max()) <= 2 * error * largest + 1e-7, name
            assert error < 1e-2 or not torch.equal(p.grad, q.grad), name
    model = DDP(net())
    DDPCommHookType.NOOP.value(model=model)
    model(mine(data())).square().mean().backward()
    assert not torch.allclose(model.module[0].weight.grad, expected[0].weight.grad)


def check_gradients_in_eight_bits() -> None:
    from jtorch.distributed.algorithms.ddp_comm_hooks import quantization_hooks as hooks
    from jtorch.nn.parallel._reducer import GradBucket

    def sent(hook: Any, t: Any, **options: Any) -> Any:
        return hook(None, GradBucket(0, 1, t, []), **options).wait()

    steps = torch.tensor([-1.0, 0.0, 1.0, 50.0, 154.0])  # rank 0: in steps of 155 / 255
    width = torch.tensor(155.0) / 255
    ours = (torch.round(steps / width) + torch.round(1 / width)).clamp(0, 255) - torch.round(
        1 / width
    )
    same(sent(hooks.quantization_pertensor_hook, steps * (1 - RANK)), ours * width / WORLD)
    # each row of two has steps of its own: 1, 513 / 255 and none
    rows = torch.tensor([0.0, 255.0, 3.0, -510.0, 0.0])
    got = sent(hooks.quantization_perchannel_hook, rows, bucket_size=2)
    assert (
        got.shape == (5,)
        and got[:2].tolist() == [0.0, 255.0]
        and got[4] == 0
        and abs(float(got[2]) - 3) <= 513 / 510
    )
    same(sent(hooks.quantization_pertensor_hook, torch.zeros(4)), [0.0] * 4)


def check_averages_within_groups_of_several_sizes() -> None:
    from jtorch.distributed.algorithms.model_averaging.hierarchical_model_averager import (
        HierarchicalModelAverager,
    )

    averager = HierarchicalModelAverager({1: 1, 2: WORLD}, warmup_steps=1)
    seen = []
    for _ in range(5):
        p = nn.Parameter(torch.full((2,), float(RANK)))
        p.grad = torch.ones(2)
        averager.average_parameters([p])
        seen.append(p.tolist() == [0.5, 0.5])
    assert seen == [False, False, True, False, True] and averager.step == 5
    for sizes, words in (
        ({}, "must not be empty"),
        ({0: 2}, "positive value"),
        ({2: 1}, "must be equal to the size"),
    ):
        with raises(ValueError, words):
            HierarchicalModelAverager(sizes)


def check_uneven_numbers_of_batches() -> None:
    model = DDP(net())
    opt = torch.optim.SGD(model.parameters(), 0.1)
    with model.join():
        for _ in range(2 + 2 * RANK):
            opt.zero_grad()
            model(data()).square().mean().backward()
            opt.step()
    rows = [torch.zeros(8, 4) for _ in range(WORLD)]
    dist.all_gather(rows, model.module[0].weight.detach())
    assert torch.equal(rows[0], rows[1])  # both have the parameters of the last
    for initial in (True, False):
        model = DDP(net())
        with model.join(divide_by_initial_world_size=initial):
            for _ in range(1 + RANK):
                model.zero_grad()
                model(data()).square().mean().backward()
                alone = model.module[0].weight.grad.clone()
        if RANK:
            whole = net()
            whole(data()).square().mean().backward()
            assert torch.allclose(
                alone, whole[0].weight.grad / (WORLD if initial else 1), atol=1e-6
            )
    with (
        raises(RuntimeError, "exhausted inputs" if RANK else "exhausted all inputs"),
        model.join(throw_on_early_termination=True),
    ):
        for _ in range(1 + RANK):
            model(data()).square().mean().backward()


def check_sparse_gradients() -> None:
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(6, 3, sparse=True), nn.Linear(3, 1)))
    for times in (1, 2):
        model(torch.tensor([RANK, 2])).sum().backward()
        grad = model.module[0].weight.grad
        row = model.module[1].weight.detach()[0]
        assert grad.is_sparse and torch.allclose(
            grad.to_dense(), torch.outer(torch.tensor([0.5, 0.5, 1.0, 0, 0, 0]) * times, row)
        )
    t = torch.sparse_coo_tensor([[0, RANK]], [1.0, 2.0], (4,))
    dist.all_reduce(t)
    same(t.to_dense(), [4.0, 2.0, 0.0, 0.0])
    with raises(RuntimeError, "unsupported reduction operation"):
        dist.all_reduce(t, dist.ReduceOp.MAX)


def check_what_is_left_alone() -> None:
    module = net(RANK)
    DDP._set_params_and_buffers_to_ignore_for_model(module, ["0.weight"])
    model = DDP(module)
    model(mine(data())).sum().backward()
    assert torch.equal(module[0].weight, net(RANK)[0].weight) and torch.equal(
        module[2].weight, net(0)[2].weight
    )
    rows = [torch.zeros(8, 4) for _ in range(WORLD)]
    dist.all_gather(rows, module[0].weight.grad)
    assert not torch.equal(rows[0], rows[1])


def check_modules_that_differ_are_refused() -> None:
    with raises(RuntimeError, "appears not to match sizes"):
        DDP(nn.Linear(2 + RANK, 3))
    with raises(RuntimeError, "DDP expects same model across all ranks"):
        DDP(nn.Linear(2, 3, bias=bool(RANK)))
    with raises(ValueError, "device_ids"):
        DDP(nn.Linear(2, 3), device_ids=[0])


def check_batch_statistics_of_all_processes() -> None:
    together, whole = nn.SyncBatchNorm(3), nn.BatchNorm2d(3)
    x = torch.randn(5, 3, 2, 2, generator=torch.Generator().manual_seed(3))
    part = (x[:2] if RANK == 0 else x[2:]).clone().requires_grad_()  # uneven
    x = x.requires_grad_()
    weights = torch.arange(60.0).reshape(5, 3, 2, 2)
    y, z = together(part), whole(x)
    (y * (weights[:2] if RANK == 0 else weights[2:])).sum().backward()
    (z * weights).sum().backward()
    rows = slice(0, 2) if RANK == 0 else slice(2, 5)
    assert torch.allclose(y, z[rows], atol=1e-5) and torch.allclose(
        part.grad, x.grad[rows], atol=1e-3
    )
    assert torch.allclose(together.running_var, whole.running_var, atol=1e-5)
    total = together.weight.grad.clone()
    dist.all_reduce(total)
    assert torch.allclose(total, whole.weight.grad, rtol=1e-4)


def check_states_of_optimizers_in_parts() -> None:
    from jtorch.distributed.optim import ZeroRedundancyOptimizer

    model, whole = DDP(net()), net()
    parts = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.05)
    plain = torch.optim.AdamW(whole.parameters(), lr=0.05)
    for _ in range(3):
        for m, x, opt in ((model, mine(data()), parts), (whole, data(), plain)):
            opt.zero_grad()
            m(x).square().mean().backward()
            opt.step()
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-5)
    assert 0 < len(parts.optim.state) < 4
    more = nn.Parameter(torch.ones(3))
    parts.add_param_group({"params": [more], "lr": 0.5})  # what has a state keeps it
    assert len(parts.param_groups) == 2 and 0 < len(parts.optim.state) < 4
    more.grad = torch.ones(3)
    parts.step()
    plain.step()
    assert torch.allclose(more, torch.full((3,), 0.495), atol=1e-4)  # on all processes
    parts.param_groups.pop()
    # each process has all groups, with none or some of the parameters
    assert parts.optim.param_groups.pop()["lr"] == 0.5
    parts.consolidate_state_dict(to=0)
    if RANK == 0:
        state = parts.state_dict()
        assert sorted(state["state"]) == [0, 1, 2, 3]
        assert torch.allclose(
            state["state"][3]["exp_avg"], plain.state[whole[2].bias]["exp_avg"], atol=1e-6
        )
    else:
        with raises(RuntimeError, "has not been consolidated on this rank"):
            parts.state_dict()


def check_collectives_with_gradients() -> None:
    from jtorch.distributed import nn as dnn

    x = torch.full((2,), RANK + 1.0, requires_grad=True)
    (dnn.all_reduce(x * x).sum() * (RANK + 1)).backward()
    same(x.grad, [6.0 * (RANK + 1)] * 2)
    x = torch.full((2,), RANK + 1.0, requires_grad=True)
    sum((row * (i + 1 + RANK)).sum() for i, row in enumerate(dnn.all_gather(x))).backward()
    same(x.grad, [3.0 + 2 * RANK] * 2)
    x = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(dnn.all_reduce(x**3).sum(), x, create_graph=True)
    g.sum().backward()
    same(x.grad, [6.0 * WORLD] * 2)
    from jtorch.distributed import _functional_collectives as fc

    t = torch.arange(4.0).reshape(2, 2) + RANK
    same(fc.all_gather_tensor(t, 1, dist.group.WORLD), [[0, 1, 1, 2], [2, 3, 3, 4]])
    same(fc.reduce_scatter_tensor(t, "avg", 1, [0, 1]), [[0.5 + RANK], [2.5 + RANK]])
    same(fc.permute_tensor(t, [1, 0], dist.group.WORLD), torch.arange(4.0).reshape(2, 2) + 1 - RANK)


def check_meshes() -> None:
    from jtorch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("replicate", "shard"))
    assert (
        mesh.get_coordinate() == (0, RANK)
        and mesh["shard"].get_local_rank() == RANK
        and mesh["shard"].size() == 2
    )
    assert dist.get_process_group_ranks(mesh.get_group("shard")) == [0, 1] and mesh[
        "replicate"
    ].mesh.tolist() == [RANK]
    assert (
        dist.get_process_group_ranks(mesh.get_group(0)) == [RANK]
        and repr(mesh["shard"]) == "DeviceMesh((shard=2), 'cpu', stride=(1,))"
    )
    for group in (mesh.get_group("shard"), mesh._flatten().get_group()):
        t = torch.ones(1)
        dist.all_reduce(t, group=group)
        same(t, [2.0])
    model = DDP(net(RANK), device_mesh=mesh["shard"])
    model(mine(data())).sum().backward()
    with raises(RuntimeError, "found 4 ranks"):
        init_device_mesh("cpu", (2, 2))


def check_all_skip_a_step_if_one_found_an_infinity() -> None:
    own = nn.Parameter(torch.ones(2))  # each process has another part
    opt = torch.optim.SGD([own], 1.0)
    scaler = ShardedGradScaler("cpu", init_scale=4.0, growth_interval=1)
    for bad, value, scale in ((True, 1.0, 2.0), (False, 0.0, 4.0)):
        opt.zero_grad()
        scaler.scale(own.sum()).backward()
        if bad and RANK == 1:
            own.grad[0] = float("inf")
        scaler.step(opt)
        scaler.update()
        assert own.tolist() == [value, value] and scaler.get_scale() == scale
    alone = ShardedGradScaler("cpu", init_scale=4.0, process_group=dist.new_subgroups(1)[0])
    alone.scale(own.sum()).backward()
    own.grad.fill_(float("inf") if RANK == 1 else 4.0)
    alone.step(opt)
    assert own.tolist() == ([0.0, 0.0] if RANK == 1 else [-1.0, -1.0])
    half = nn.Parameter(torch.ones(2, dtype=torch.float16))
    half.grad = torch.full((2,), 8.0, dtype=torch.float16)
    alone.unscale_(torch.optim.SGD([half], 1.0))
    assert half.grad.tolist() == [2.0, 2.0]


def check_a_rank_may_read_values_alone() -> None:
    model = DDP(net())
    total = torch.zeros(())
    for step in range(3):
        loss = model(mine(data())).square().mean()
        if RANK == 0 and step:
            total = total + loss.item()
        loss.backward()
        if RANK == 1:
            assert (
                model.module[0].weight.grad.sum().item() == model.module[0].weight.grad.sum().item()
            )
    assert model(data()).isfinite().all()


def check_replicate_changes_modules_in_place() -> None:
    def made() -> nn.Module:
        torch.manual_seed(RANK)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    model, wrapped = replicate(made()), nn.parallel.DistributedDataParallel(made())
    assert (
        type(model).__name__ == "DDPSequential"
        and isinstance(model, nn.Sequential)
        and "0.weight" in model.state_dict()
    )
    x = torch.ones(2, 3) * (RANK + 1)
    for one in (model, wrapped):
        one(x).pow(2).sum().backward()
    for p, q in zip(model.parameters(), wrapped.parameters(), strict=True):
        same(p.detach(), q.detach())
        same(p.grad, q.grad)
    model.zero_grad()
    model.set_requires_gradient_sync(False)
    model(x).sum().backward()
    found = [torch.zeros(()) for _ in range(WORLD)]
    dist.all_gather(found, model[0].weight.grad.sum())
    assert found[0] != found[1]
    part = made()
    part = replicate(part, ignored_modules=[part[2]])
    part.register_comm_hook(None, lambda _, bucket: _done(bucket.buffer() * 0))
    part(x).sum().backward()
    assert not part[0].weight.grad.any() and part[2].weight.grad.any()
    with raises(AssertionError, "does not support deepcopy"):
        __import__("copy").deepcopy(model)
    with raises(RuntimeError, "device_id"):
        replicate(made(), device_id="cpu")


def _done(value: torch.Tensor) -> Any:
    future: Any = torch.futures.Future()
    future.set_result(value)
    return future


run(dict(globals()))
