"""States and checkpoints of modules sharded over four processes, and the older class."""

import os
from pathlib import Path
from typing import Any

from _cases import RANK, raises, run
from sharded import Block, ids, mine, net, same_as, sharded, train

import jtorch as torch
import jtorch.distributed as dist
import jtorch.distributed.checkpoint as dcp
from jtorch import nn
from jtorch.distributed.checkpoint.staging import BlockingAsyncStager
from jtorch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp import (
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    OptimStateKeyType,
    ShardingStrategy,
    StateDictType,
)
from jtorch.distributed.fsdp.wrap import ModuleWrapPolicy
from jtorch.distributed.tensor import DTensor

FOLDER = Path(os.environ["WORLD_FOLDER"])


def check_states() -> None:
    model, other = sharded(0), sharded(1)
    opt, second = (torch.optim.AdamW(m.parameters(), 0.05) for m in (model, other))
    train(model, opt, [mine(ids(0))])
    first = model.state_dict()
    other.load_state_dict(first)
    same_as(other, model_of(first))
    m, o = get_state_dict(model, opt)
    assert all(isinstance(v, DTensor) for v in m.values()) and isinstance(
        o["state"]["embed.weight"]["exp_avg"], DTensor
    )
    # not the same tensors
    set_state_dict(
        other, second, model_state_dict=m, optim_state_dict=BlockingAsyncStager().stage(o)
    )
    full = StateDictOptions(full_state_dict=True, cpu_offload=True)
    states = (
        get_model_state_dict(model, options=full),
        get_optimizer_state_dict(model, opt, options=full),
    )
    assert (not states[0] and not states[1]) == (RANK > 0)
    third = sharded(2)
    third_opt = torch.optim.AdamW(third.parameters(), 0.05)
    spread = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(third, states[0], options=spread)
    set_optimizer_state_dict(third, third_opt, states[1], options=spread)
    with torch.device("meta"):
        fourth = sharded(3)
    assert not set_model_state_dict(fourth, states[0], options=spread).missing_keys
    assert {p.to_local().device.type for p in fourth.parameters()} == {"cpu"}
    fourth_opt = torch.optim.AdamW(fourth.parameters(), 0.05)
    set_optimizer_state_dict(fourth, fourth_opt, states[1], options=spread)
    trained = ((model, opt), (other, second), (third, third_opt), (fourth, fourth_opt))
    losses = [train(a, b, [mine(ids(i)) for i in range(1, 3)]) for a, b in trained]
    assert torch.allclose(torch.tensor(losses[0]), torch.tensor(losses[1:]), atol=1e-6), losses
    flat = get_optimizer_state_dict(
        model, opt, options=StateDictOptions(flatten_optimizer_state_dict=True)
    )
    assert "state.blocks.0.up.weight.exp_avg" in flat
    part = {"blocks.0.up.bias": torch.full((7,), 0.5)}  # the rest of a whole state stays as it is
    assert not set_model_state_dict(
        other, part, options=StateDictOptions(full_state_dict=True)
    ).missing_keys
    assert torch.equal(other.blocks[0].up.bias.full_tensor(), part["blocks.0.up.bias"])
    with raises(ValueError, "full_state_dict must be True"):
        set_model_state_dict(model, {}, options=StateDictOptions(broadcast_from_rank0=True))


def model_of(state: Any) -> Any:
    made = net()
    made.load_state_dict({name: value.full_tensor() for name, value in state.items()})
    return made


def check_checkpoints_of_other_meshes() -> None:
    model, opt = sharded(), None
    opt = torch.optim.AdamW(model.parameters(), 0.05)
    train(model, opt, [mine(ids(0))])
    m, o = get_state_dict(model, opt)
    metadata = dcp.save({"model": m, "opt": o}, checkpoint_id=FOLDER / "sharded")
    # five rows: two, two, one and none
    assert len(metadata.state_dict_metadata["model.head.weight"].chunks) == 4
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
    other = sharded(1, mesh=mesh)
    second = torch.optim.AdamW(other.parameters(), 0.05)
    m, o = get_state_dict(other, second)
    dcp.load({"model": m, "opt": o}, checkpoint_id=FOLDER / "sharded")
    set_state_dict(other, second, model_state_dict=m, optim_state_dict=o)
    a, b = (
        train(n, p, [mine(ids(i)) for i in range(1, 3)]) for n, p in ((model, opt), (other, second))
    )
    assert max(abs(x - y) for x, y in zip(a, b, strict=True)) < 1e-6
    whole = net(3)
    plain = whole.state_dict()
    dcp.load({"model": plain}, checkpoint_id=FOLDER / "sharded", no_dist=True)
    assert not torch.allclose(plain["head.weight"], net().head.weight)


def check_older_class() -> None:
    shards = dist.new_subgroups_by_enumeration([[0, 1], [2, 3]])[0]
    copies = dist.new_subgroups_by_enumeration([[0, 2], [1, 3]])[0]
    for strategy, groups in (
        (ShardingStrategy.FULL_SHARD, None), (ShardingStrategy.SHARD_GRAD_OP, None),
        (ShardingStrategy.NO_SHARD, None), (ShardingStrategy.HYBRID_SHARD, (shards, copies)),
    ):  # fmt: skip
        model = FullyShardedDataParallel(
            net(RANK), groups, sharding_strategy=strategy,
            auto_wrap_policy=ModuleWrapPolicy({Block}), sync_module_states=True,
            use_orig_params=True,
            cpu_offload=CPUOffload(offload_params=strategy is ShardingStrategy.FULL_SHARD),
        )  # fmt: skip
        whole = net()
        assert len(FullyShardedDataParallel.fsdp_modules(model)) == 3 and model.check_is_root()
        opts = [torch.optim.AdamW(m.parameters(), 0.05) for m in (model, whole)]
        for i in range(2):
            with model.no_sync():
                model(mine(ids(i))).square().mean().backward()
            whole(ids(i)).square().mean().backward()
            model(mine(ids(i + 5))).square().mean().backward()
            whole(ids(i + 5)).square().mean().backward()
            with FullyShardedDataParallel.summon_full_params(model, with_grads=True):
                for p, q in zip(model.parameters(), whole.parameters(), strict=True):
                    assert torch.allclose(p.grad, q.grad, atol=1e-6), strategy
                    p.grad.mul_(2)
                    q.grad.mul_(2)
            norms = model.clip_grad_norm_(0.1), nn.utils.clip_grad_norm_(whole.parameters(), 0.1)
            assert type(norms[0]) is torch.Tensor and torch.allclose(*norms, atol=1e-6)
            for opt in opts:
                opt.step()
                opt.zero_grad()
        state = model.state_dict()
        assert list(state) == list(whole.state_dict())
        for name, value in whole.state_dict().items():
            assert type(state[name]) is torch.Tensor and torch.allclose(
                state[name], value, atol=1e-5
            ), (strategy, name)
        other = FullyShardedDataParallel(
            net(9), groups, sharding_strategy=strategy, auto_wrap_policy=ModuleWrapPolicy({Block})
        )
        other.load_state_dict(state)
        second = torch.optim.AdamW(other.parameters(), 0.05)
        given = FullyShardedDataParallel.optim_state_dict(model, opts[0])
        second.load_state_dict(
            FullyShardedDataParallel.optim_state_dict_to_load(other, second, given)
        )
        a, b = (
            train(m, o, [mine(ids(7)), mine(ids(8))])
            for m, o in ((model, opts[0]), (other, second))
        )
        assert max(abs(x - y) for x, y in zip(a, b, strict=True)) < 1e-6
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(True, True)
        ):
            assert bool(model.state_dict()) == (RANK == 0)
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            cut = model.state_dict()
            assert all(isinstance(value, DTensor) for value in cut.values())
            model.load_state_dict(cut)
        with FullyShardedDataParallel.summon_full_params(model), torch.no_grad():
            assert [name for name, _ in model.named_parameters()] == [
                name for name, _ in whole.named_parameters()
            ]
            model.module.head.weight.fill_(2.0)
        assert model.state_dict()["embed.weight"].eq(2).all()
        assert list(get_model_state_dict(model)) == list(whole.state_dict())


def check_states_of_the_older_class_are_copies() -> None:
    # PyTorch gathers them, so that a state may be saved while training goes on, and two optimisers
    # may load one.
    for kind in (StateDictType.SHARDED_STATE_DICT, StateDictType.FULL_STATE_DICT):
        model = FullyShardedDataParallel(net(), auto_wrap_policy=ModuleWrapPolicy({Block}))
        opt = torch.optim.Adam(model.parameters(), 0.05)
        train(model, opt, [mine(ids(0))])
        with FullyShardedDataParallel.state_dict_type(
            model,
            kind,
            None,
            FullOptimStateDictConfig(rank0_only=False)
            if kind is StateDictType.FULL_STATE_DICT
            else None,
        ):
            states = [
                model.state_dict(),
                FullyShardedDataParallel.optim_state_dict(model, opt)["state"]["embed.weight"],
            ]
            states.append(get_optimizer_state_dict(model, opt)["state"]["embed.weight"])
            before = [{k: whole_of(v).clone() for k, v in state.items()} for state in states]
            given = FullyShardedDataParallel.optim_state_dict(model, opt)
            opt.load_state_dict(
                FullyShardedDataParallel.optim_state_dict_to_load(model, opt, given)
            )
            states.append(given["state"]["embed.weight"])
            before.append({k: whole_of(v).clone() for k, v in states[-1].items()})
            train(model, opt, [mine(ids(1))])
            for then, now in zip(before, states, strict=True):
                assert all(torch.equal(value, whole_of(now[key])) for key, value in then.items()), (
                    kind
                )


def whole_of(t: torch.Tensor) -> torch.Tensor:
    return t.full_tensor() if isinstance(t, DTensor) else t


def check_whole_states_of_optimisers() -> None:
    model = FullyShardedDataParallel(net(), auto_wrap_policy=ModuleWrapPolicy({Block}))
    opt = torch.optim.Adam(model.parameters(), 0.05)
    train(model, opt, [mine(ids(0)), mine(ids(1))])
    state = model.state_dict()
    found = FullyShardedDataParallel.full_optim_state_dict(model, opt, rank0_only=False)
    first = FullyShardedDataParallel.full_optim_state_dict(model, opt)
    assert bool(first) == (RANK == 0)
    losses = []
    for step in range(4):
        other = FullyShardedDataParallel(net(9), auto_wrap_policy=ModuleWrapPolicy({Block}))
        other.load_state_dict(state)
        second = torch.optim.Adam(other.parameters(), 0.05)
        if step == 0:
            given = FullyShardedDataParallel.shard_full_optim_state_dict(found, other, optim=second)
        elif step == 1:
            given = FullyShardedDataParallel.shard_full_optim_state_dict(found, other)
        elif step == 2:
            given = FullyShardedDataParallel.scatter_full_optim_state_dict(
                first or None, other, optim=second
            )
        else:
            sharded = FullyShardedDataParallel.sharded_optim_state_dict(model, opt)
            given = FullyShardedDataParallel.flatten_sharded_optim_state_dict(
                sharded, other, second
            )
        second.load_state_dict(given)
        losses.append(train(other, second, [mine(ids(7)), mine(ids(8))]))
    losses.append(train(model, opt, [mine(ids(7)), mine(ids(8))]))
    assert all(abs(x - y) < 1e-6 for row in losses for x, y in zip(row, losses[-1], strict=True)), (
        losses
    )
    # An optimiser of the module without its wrapper, and back.
    plain = net()
    numbered = FullyShardedDataParallel.rekey_optim_state_dict(
        found, OptimStateKeyType.PARAM_ID, plain
    )
    third = torch.optim.Adam(plain.parameters(), 0.05)
    third.load_state_dict(numbered)
    for name, p in plain.named_parameters():
        assert torch.equal(third.state[p]["exp_avg"], found["state"][name]["exp_avg"])
    named = FullyShardedDataParallel.rekey_optim_state_dict(
        third.state_dict(), OptimStateKeyType.PARAM_NAME, plain, optim=third
    )
    assert set(named["state"]) == set(found["state"])
    assert (
        FullyShardedDataParallel.rekey_optim_state_dict(named, OptimStateKeyType.PARAM_NAME, plain)
        is named
    )


if __name__ == "__main__":
    run(dict(globals()))
