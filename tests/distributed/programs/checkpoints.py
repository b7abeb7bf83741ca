"""Checkpoints of three processes: replicas, failures, processes that save alone, and saves beside
other collectives."""

import os
from pathlib import Path
from typing import Any

from _cases import RANK, WORLD, raises, run, same

import jtorch as torch
import jtorch.distributed as dist
import jtorch.distributed.checkpoint as dcp
from jtorch.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files_on_every_rank,
)
from jtorch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    set_model_state_dict,
)
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.tensor import DTensor, Shard, distribute_tensor
from jtorch.nn.parallel import DistributedDataParallel

FOLDER = Path(os.environ["WORLD_FOLDER"])


def check_replicas_are_written_once() -> None:
    state = {name: torch.full((4,), 1.0) for name in "abcdef"} | {"n": {"x": 1}}
    metadata = dcp.save(state, checkpoint_id=FOLDER / "replicas")
    places = {index.fqn: info.relative_path for index, info in metadata.storage_data.items()}
    assert len(places) == 7 and set(places.values()) == {
        f"__{rank}_0.distcp" for rank in range(WORLD)
    }
    found = {name: torch.zeros(4) for name in "abcdef"} | {"n": {"x": 0}}
    dcp.load(found, checkpoint_id=FOLDER / "replicas")
    assert found["n"]["x"] == 1 and all(found[name].eq(1).all() for name in "abcdef")
    first = dcp.save(
        state,
        checkpoint_id=FOLDER / "first",
        planner=dcp.DefaultSavePlanner(dedup_save_to_lowest_rank=True),
    )
    assert {info.relative_path for info in first.storage_data.values()} == {"__0_0.distcp"}
    dcp.save(
        state,
        checkpoint_id=FOLDER / "first",
        planner=dcp.DefaultSavePlanner(dedup_save_to_lowest_rank=True),
    )
    dist.barrier()
    # nothing is left of the one before
    assert len(list((FOLDER / "first").glob("*.distcp"))) == WORLD


def check_different_states_make_one_checkpoint() -> None:
    dcp.save(
        {f"of {RANK}": torch.full((2,), float(RANK)), "all": RANK},
        checkpoint_id=FOLDER / "different",
    )
    found = {f"of {rank}": torch.zeros(2) for rank in range(WORLD)}
    dcp.load(found, checkpoint_id=FOLDER / "different")
    assert [value[0].item() for value in found.values()] == list(range(WORLD))


def check_failures_are_everybodys() -> None:
    with raises(dcp.CheckpointException, "(RANK 1)"):
        dcp.load({"absent" if RANK == 1 else "all": 0}, checkpoint_id=FOLDER / "different")
    with raises(dcp.CheckpointException, "Missing key in checkpoint state_dict: absent."):
        dcp.load({"absent": 0}, checkpoint_id=FOLDER / "different")
    t = torch.ones(1)
    dist.all_reduce(t)  # the group is as good as before
    assert t.item() == WORLD


def check_states_of_wrappers() -> None:
    model = DistributedDataParallel(torch.nn.Linear(2, 3))
    found = get_model_state_dict(model)
    assert set(found) == {"weight", "bias"}
    del found["bias"]
    with raises(RuntimeError, "Missing key: bias."):
        set_model_state_dict(model, found)
    assert set_model_state_dict(
        model, found, options=StateDictOptions(strict=False)
    ).missing_keys == ["module.bias"]


def check_alone() -> None:
    dcp.save(
        {"mine": torch.full((2,), float(RANK))},
        checkpoint_id=FOLDER / "alone",
        use_collectives=False,
    )
    assert set(os.listdir(FOLDER / "alone")) == {
        f"__{rank}{end}" for rank in range(WORLD) for end in (".metadata", "_0.distcp")
    }
    found = {"mine": torch.zeros(2)}
    dcp.load(found, checkpoint_id=FOLDER / "alone")
    assert found["mine"][0].item() == RANK
    own = FOLDER / f"no group {RANK}"
    dcp.save({"mine": torch.full((2,), float(RANK))}, checkpoint_id=own, no_dist=True)
    dcp.load(found, checkpoint_id=own, no_dist=True)
    assert found["mine"][0].item() == RANK


def check_background_beside_other_collectives() -> None:
    state = {f"t{i}": torch.full((50,), float(i)) for i in range(20)}
    written = dcp.async_save(state, checkpoint_id=FOLDER / "background")
    for _ in range(20):
        t = torch.ones(3)
        dist.all_reduce(t)
        assert t[0].item() == WORLD
    for value in state.values():
        value.zero_()
    again = dcp.async_save(state, checkpoint_id=FOLDER / "later")
    written.result()
    again.result()
    found = {f"t{i}": torch.zeros(50) for i in range(20)}
    dcp.load(found, checkpoint_id=FOLDER / "background")
    assert [value[0].item() for value in found.values()] == list(range(20))


def check_safetensors() -> None:
    mesh = init_device_mesh("cpu", (WORLD,))

    def state(scale: float) -> dict[str, Any]:
        rows, columns = torch.arange(20.0).reshape(5, 4) * scale, torch.arange(24).reshape(3, 8)
        held = {
            "rows": distribute_tensor(rows, mesh, [Shard(0)]),
            "columns": distribute_tensor(columns * int(scale), mesh, [Shard(1)]),
        }
        return held | {
            "same": torch.arange(6.0).to(torch.bfloat16) * scale,
            "one": torch.tensor(scale),
        }

    def others() -> dict[str, Any]:  # they lie otherwise than they were written
        rows, columns = torch.zeros(5, 4), torch.zeros(3, 8, dtype=torch.int64)
        held = {"rows": distribute_tensor(rows, mesh, [Shard(1)]), "columns": columns}
        return held | {"same": torch.zeros(6, dtype=torch.bfloat16), "one": torch.tensor(0.0)}

    def found(folder: Path) -> None:
        read = others()
        dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(folder))
        for name, value in state(2.0).items():
            full = [t.full_tensor() if isinstance(t, DTensor) else t for t in (read[name], value)]
            same(*full)

    folder = FOLDER / "parts"
    if RANK == 0:
        folder.mkdir()
        (folder / "shard-00009-model-00001-of-00001.safetensors").write_bytes(b"of more processes")
    dist.barrier()
    dcp.save(state(2.0), storage_writer=dcp.HuggingFaceStorageWriter(folder, save_distributed=True))
    names = [f"shard-{rank:05d}-model-00001-of-00001.safetensors" for rank in range(1, WORLD + 1)]
    dist.barrier()
    assert sorted(os.listdir(folder)) == names
    found(folder)
    mapping = {"rows": 1, "columns": 2, "same": 2, "one": 3}
    consolidate_safetensors_files_on_every_rank(str(folder), str(FOLDER / "by all"), mapping)
    assert len(os.listdir(FOLDER / "by all")) == 4
    found(FOLDER / "by all")
    writer = dcp.HuggingFaceStorageWriter(
        FOLDER / "joined", save_distributed=True, enable_consolidation=True
    )
    dcp.save(state(2.0), storage_writer=writer)
    found(FOLDER / "joined")
    found(FOLDER / "joined" / "sharded")
    with raises(dcp.CheckpointException, "save_distributed=True"):
        dcp.save(state(2.0), storage_writer=dcp.HuggingFaceStorageWriter(FOLDER / "clash"))
    dist.barrier()
    assert not os.listdir(FOLDER / "clash")


if __name__ == "__main__":
    run(dict(globals()))  # warnings leave a name behind
