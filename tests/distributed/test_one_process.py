"""Groups, meshes and wrappers of one process."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed._composable import checkpoint
from jtorch.distributed._composable.contract import _get_registry, contract
from jtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from jtorch.distributed.fsdp import fully_shard
from jtorch.distributed.tensor import Shard, distribute_tensor
from jtorch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29555",
        "RANK": "0",
        "WORLD_SIZE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("group")
def test_the_address_may_be_a_name() -> None:
    assert dist.is_initialized() and dist.get_world_size() == 1
    c10d = dist.distributed_c10d
    assert (
        c10d._get_default_group() is dist.group.WORLD
        and c10d._world.default_pg is dist.group.WORLD
        and len(c10d._pg_map) == 1
    )
    assert not dist._rank_not_in_group(None)


@pytest.mark.usefixtures("group")
def test_meshes() -> None:
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    assert mesh["dp"].shape == (1,) and mesh["dp", "tp"] is mesh and mesh.get_coordinate() == (0, 0)
    assert mesh._flatten("all")["all"].size() == 1 and mesh["all"].mesh_dim_names == ("all",)
    assert dist.DeviceMesh is DeviceMesh and hash(mesh) == hash(
        init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    )
    with mesh as current:
        assert current is mesh
    with pytest.raises(RuntimeError, match="found 2 ranks"):
        init_device_mesh("cpu", (2,))


@pytest.mark.parametrize("change", ["t_", "unsqueeze_", "swapdims_"])
@pytest.mark.usefixtures("group")
def test_distributed_tensors_keep_their_shapes(change: str) -> None:
    x = distribute_tensor(torch.arange(3.0).view(3, 1), init_device_mesh("cpu", (1,)), [Shard(0)])
    numbers = {"unsqueeze_": (0,), "swapdims_": (0, 1)}.get(change, ())
    with pytest.raises(
        NotImplementedError,
        match=r"Operator aten\.\w+_\.\w+ does not have a sharding strategy registered",
    ):
        getattr(x, change)(*numbers)
    assert x.shape == (3, 1)


@pytest.mark.usefixtures("group")
def test_collectives_with_gradients() -> None:
    from jtorch.distributed import nn

    x = torch.ones(2, requires_grad=True)
    (nn.all_reduce(x * 2) + nn.all_gather(x)[0] + nn.broadcast(x, 0)).sum().backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(ValueError, match="that is 1"):
        nn.scatter([x, x])


def test_collectives_need_a_group() -> None:
    from jtorch.distributed import nn

    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        nn.all_reduce(torch.ones(1))


def test_checkpointed_modules_keep_their_names() -> None:
    from jtorch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 1)))
    state, x = net.state_dict(), torch.ones(1, 2)
    expected = net(x)
    wrappers.apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, torch.nn.Linear))
    assert isinstance(net[0], wrappers.CheckpointWrapper) and isinstance(
        net[1][0], wrappers.CheckpointWrapper
    )
    assert list(net.state_dict()) == list(state) and not any(net.load_state_dict(state))
    assert torch.equal(net(x), expected) and torch.equal(wrappers.offload_wrapper(net)(x), expected)


def test_states_by_name() -> None:
    from jtorch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    model, optim = get_state_dict(net, optimizer)
    assert set(optim["state"]) == {"weight", "bias"} and optim["param_groups"][0]["params"] == [
        "weight",
        "bias",
    ]
    other = torch.nn.Linear(2, 1)
    fresh = torch.optim.Adam(other.parameters())
    set_state_dict(other, fresh, model_state_dict=model, optim_state_dict=optim)
    assert torch.equal(other.weight, net.weight) and torch.equal(
        fresh.state[other.bias]["exp_avg"], optimizer.state[net.bias]["exp_avg"]
    )


def test_functions_that_change_modules_in_place() -> None:
    class Kept:
        value = 0

    @contract(state_cls=Kept)
    def mark(module: Any, value: int) -> None:
        for one in module if isinstance(module, list) else [module]:
            mark.state(one).value = value

    @contract()
    def rename(module: Any) -> None:
        module.other = nn.Linear(1, 1)

    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    assert (
        mark(model, 3) is model
        and mark.state(model).value == 3
        and list(_get_registry(model) or {}) == ["mark"]
    )
    assert mark.state(model[0]) is None
    with pytest.raises(AssertionError, match="can only be applied to a module once"):
        mark(model, 4)
    with pytest.raises(RuntimeError, match="cannot modify FQNs"):
        rename(model)
    pair = [nn.Linear(1, 1), nn.Linear(1, 1)]
    assert mark(pair, 5) is pair and mark.state(pair[0]) is mark.state(pair[1])


def test_activations_computed_again_in_place() -> None:
    model, calls = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), []
    plain = nn.Sequential(*model)
    model[0].register_forward_hook(lambda *_: calls.append(1))
    x = torch.ones(2, 3)
    plain(x).sum().backward()
    expected = model[0].weight.grad.clone()
    model.zero_grad()
    calls.clear()
    assert checkpoint(model, preserve_rng_state=False) is model
    model(x).sum().backward()
    assert len(calls) == 2 and torch.equal(model[0].weight.grad, expected)
    checkpoint.state(model).enable_hook = False
    model(x).sum().backward()
    assert len(calls) == 3
    with pytest.raises(NotImplementedError, match="use_reentrant"):
        checkpoint(nn.Linear(1, 1), use_reentrant=True)
    with pytest.raises(ValueError, match="nothing"):
        checkpoint(nn.Linear(1, 1), nothing=1)


@pytest.mark.parametrize(
    ("device_id", "words"),
    [
        (
            torch.device("cpu"),
            "init_process_group device_id parameter must be an accelerator with an index",
        ),
        (
            torch.device("cuda", 0),
            "device_id cuda:0 does not match the current compilation's accelerator support: None",
        ),
        (0, "device_id is an int, but no accelerator support is found"),
    ],
)
def test_a_group_is_bound_to_an_accelerator_that_is_there(device_id: Any, words: str) -> None:
    if torch.accelerator.is_available():
        pytest.skip("this machine has an accelerator")
    with pytest.raises(ValueError, match=words):
        dist.init_process_group(
            "gloo", store=dist.HashStore(), rank=0, world_size=1, device_id=device_id
        )
    assert not dist.is_initialized()


@pytest.mark.usefixtures("group")
def test_a_new_group_keeps_its_device() -> None:
    assert dist.new_group([0], device_id=torch.device("cuda", 0)).bound_device_id == torch.device(
        "cuda", 0
    )
    with pytest.raises(ValueError, match="must be an accelerator with an index"):
        dist.new_group([0], device_id=torch.device("cpu"))


@pytest.mark.parametrize(
    "name", ["device_mesh", "experimental", "_utils", "_shards_wrapper", "api", "placement_types"]
)
def test_the_older_name_of_tensor_holds_what_pytorch_redirects(name: str) -> None:
    older = importlib.import_module(f"jtorch.distributed._tensor.{name}")
    home = importlib.import_module(
        f"jtorch.distributed.tensor{'' if name == 'api' else '.' + name}"
    )
    wanted = {
        "device_mesh": "init_device_mesh",
        "_utils": "compute_local_shape_and_global_offset",
        "api": "DTensor",
    }
    wanted |= {
        "experimental": "local_map",
        "_shards_wrapper": "LocalShardsWrapper",
        "placement_types": "Shard",
    }
    assert getattr(older, wanted[name]) is getattr(home, wanted[name])


@pytest.mark.usefixtures("group")
def test_gradients_of_parallel_layers_add_up() -> None:
    mesh = init_device_mesh("cpu", (1,))
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    layers = parallelize_module(
        copy.deepcopy(plain), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}
    )
    for _ in range(3):
        x = torch.rand(5, 3)
        plain(x).square().sum().backward()
        layers(x).square().sum().backward()
    for mine, its in zip(plain.parameters(), layers.parameters(), strict=True):
        torch.testing.assert_close(its.grad.full_tensor(), mine.grad)
        assert its.grad._version == 2


@pytest.mark.usefixtures("group")
def test_meshes_lie_on_the_cpu_whatever_the_default_device_is() -> None:
    with torch.device("meta"):
        for mesh in (
            init_device_mesh("cpu", (1,)),
            DeviceMesh("cpu", [0]),
            DeviceMesh.from_group(dist.group.WORLD, "cpu"),
        ):
            assert mesh.mesh.device.type == "cpu" and mesh.mesh.tolist() == [0]
        layer = fully_shard(nn.Linear(2, 3))
    assert layer.weight.device.type == "meta"
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        DeviceMesh("cpu", torch.empty(1, device="meta"))


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize(
    ("batched", "expected"),
    [
        (False, [203.8416, 475.5928, 390.6676, 105.1744]),
        (True, [203.5099, 479.8365, 386.5638, 105.0004]),
    ],
)
def test_low_rank_gradients_are_drawn_by_shapes(batched: bool, expected: list[float]) -> None:
    from jtorch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
        PowerSGDState,
        powerSGD_hook,
    )

    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 9), nn.Linear(9, 8), nn.Linear(8, 8))
    for i, p in enumerate(net.parameters()):
        p.data = torch.linspace(-1, 1, p.numel()).view(p.shape).roll(i)
    model = nn.parallel.DistributedDataParallel(net)
    state = PowerSGDState(
        None,
        1,
        start_powerSGD_iter=2,
        batch_tensors_with_same_shape=batched,
        min_compression_rate=1,
    )
    model.register_comm_hook(state, powerSGD_hook)
    for _ in range(3):
        model.zero_grad()
        model(torch.linspace(-1, 1, 40).view(5, 8)).square().mean().backward()
    found = [
        p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None and p.ndim == 2
    ]
    assert found == pytest.approx(expected, rel=1e-4)  # PyTorch's
    assert state.compression_stats() == (pytest.approx(305 / 99), 305, 99)


@pytest.mark.usefixtures("group")
def test_placements_that_do_not_fit_are_refused() -> None:
    mesh = init_device_mesh("cpu", (1,))
    with pytest.raises(AssertionError, match="Sharding dim 3 greater than tensor ndim 2"):
        distribute_tensor(torch.ones(2, 2), mesh, [Shard(3)])
    with pytest.raises(RuntimeError, match="unsupported placements x on device mesh dimension 0"):
        distribute_tensor(torch.ones(2, 2), mesh, ["x"])  # type: ignore[list-item]


@pytest.mark.usefixtures("group")
def test_parameters_of_an_optimizer_in_parts() -> None:
    from jtorch.distributed.optim import ZeroRedundancyOptimizer

    for params, kind, words in (
        ([], ValueError, "ZeroRedundancyOptimizer got an empty parameter list"),
        (3, TypeError, "should be an iterable of Tensors or dicts, but got int"),
        ([1], TypeError, "should be an iterable of Tensors or dicts"),
        (torch.ones(2), TypeError, "should be an iterable of Tensors, but got"),
    ):
        with pytest.raises(kind, match=words):
            ZeroRedundancyOptimizer(params, torch.optim.SGD, lr=0.1)


def test_the_launcher_takes_the_time_to_end_in() -> None:
    from jtorch.distributed.run import config_from_args, parse_args

    config = config_from_args(
        parse_args(["--shutdown-timeout=3", "--nproc-per-node=1", "train.py"])
    )[0]
    assert config.shutdown_timeout == 3


def test_jobs_of_one_machine_choose_their_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    from jtorch.distributed import run as launcher

    seen: list[tuple[str, bool]] = []

    def launch(config: Any, command: Any) -> Any:
        seen.append((config.rdzv_endpoint, config.run_id == "none"))
        return lambda *arguments: None

    monkeypatch.setattr(launcher, "elastic_launch", launch)
    for options, endpoint in {
        "": "localhost:0", "--nnodes=1:1 --master-addr=10.0.0.1": "localhost:0",
        "--master-port=29500": "127.0.0.1:29500", "--nnodes=2 --node-rank=1": "127.0.0.1:29500",
        "--rdzv-endpoint=localhost:29501": "localhost:29501",
    }.items():  # fmt: skip
        launcher.run(launcher.parse_args([*options.split(), "train.py"]))
        assert seen.pop() == (endpoint, endpoint != "localhost:0"), options
