"""Checkpoints in PyTorch's files: what is written and read, by one process here and by several in
``programs/checkpoints.py``."""

from __future__ import annotations

import collections
import io
import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from worlds import PROGRAMS, cases, check, free_port

import jtorch as torch
import jtorch.distributed.checkpoint as dcp
from jtorch.distributed.checkpoint import _metadata_file, _nested_dict, format_utils, metadata
from jtorch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from jtorch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys


@pytest.fixture(autouse=True)
def _alone():
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="torch.distributed is disabled|Detected an existing checkpoint"
        )
        yield


def state(scale: float = 1.0) -> dict[str, Any]:
    return {
        "a": torch.arange(12.0).reshape(3, 4) * scale,
        "bf": torch.ones(2, dtype=torch.bfloat16) * scale,
        "n": {"l": [scale, "two", torch.ones(2) * scale], "t": torch.tensor(3.0) * scale},
        "o": collections.OrderedDict(x=(1, scale)),
        "part": torch.arange(10)[2:4],
        "p": torch.nn.Parameter(torch.ones(2) * scale),
    }


def test_round_trip(tmp_path: Path) -> None:
    metadata = dcp.save(state(), checkpoint_id=tmp_path / "c")
    assert sorted(os.listdir(tmp_path / "c")) == [".metadata", "__0_0.distcp"]
    assert sorted(metadata.state_dict_metadata) == [
        "a",
        "bf",
        "n.l.0",
        "n.l.1",
        "n.l.2",
        "n.t",
        "o.x",
        "p",
        "part",
    ]
    found = state(0.0)
    held = found["a"]
    dcp.load(found, checkpoint_id=tmp_path / "c")
    assert found["a"] is held and torch.equal(held, state()["a"])  # in place
    assert (
        found["n"]["l"][:2] == [1.0, "two"]
        and torch.equal(found["n"]["l"][2], torch.ones(2))
        and found["o"]["x"] == (1, 1.0)
    )
    assert torch.equal(found["bf"], torch.ones(2, dtype=torch.bfloat16)) and torch.equal(
        found["p"], torch.ones(2)
    )
    whole = _load_state_dict_from_keys({"n.l", "part"}, checkpoint_id=tmp_path / "c")
    assert (
        whole["n"]["l"][:2] == [1.0, "two"]
        and whole["part"].tolist() == [2, 3]
        and set(whole) == {"n", "part"}
    )


def test_other_dtypes_and_meta(tmp_path: Path) -> None:
    dcp.save({"a": torch.arange(4.0)}, checkpoint_id=tmp_path)
    found = {"a": torch.zeros(4, dtype=torch.float64)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].dtype is torch.float64 and found["a"].tolist() == [0, 1, 2, 3]
    found = {"a": torch.empty(4, device="meta")}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].tolist() == [0, 1, 2, 3]


def test_what_is_refused(tmp_path: Path) -> None:
    dcp.save({"a": torch.arange(4.0), "n": 1}, checkpoint_id=tmp_path)
    for wanted, words in (
        ({"b": torch.ones(2)}, "Missing key in checkpoint state_dict: b."),
        ({"a": torch.ones(2)}, "Size mismatch"),
    ):
        with pytest.raises(dcp.CheckpointException, match=words) as caught:
            dcp.load(wanted, checkpoint_id=tmp_path)
        assert list(caught.value.failures) == [0] and not isinstance(caught.value, Exception)
    partly = {"a": torch.zeros(4), "b": 7}
    dcp.load(partly, checkpoint_id=tmp_path, planner=DefaultLoadPlanner(allow_partial_load=True))
    assert partly["b"] == 7 and partly["a"].tolist() == [0, 1, 2, 3]
    with pytest.raises(dcp.CheckpointException, match="already exists"):
        dcp.save(
            {"a": torch.ones(4)}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False)
        )
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
        dcp.save({})
    with pytest.raises(dcp.CheckpointException, match="duplicated flatten key"):
        dcp.save({"a.b": 1, "a": {"b": 2}}, checkpoint_id=tmp_path)
    with pytest.raises(NotImplementedError, match="SAFETENSORS"):
        dcp.FileSystemWriter(
            tmp_path, serialization_format=dcp.filesystem.SerializationFormat.SAFETENSORS
        )


def test_a_failed_save_leaves_the_earlier_checkpoint(tmp_path: Path) -> None:
    dcp.save(state(), checkpoint_id=tmp_path)

    class Failing(dcp.DefaultSavePlanner):
        def resolve_data(self, write_item: Any) -> Any:
            if write_item.index.fqn == "part":
                raise OSError("no space left")
            return super().resolve_data(write_item)

    with pytest.raises(dcp.CheckpointException, match="no space left"):
        dcp.save(state(2.0), checkpoint_id=tmp_path, planner=Failing())
    found = state(0.0)
    dcp.load(found, checkpoint_id=tmp_path)
    assert torch.equal(found["a"], state()["a"]) and found["o"]["x"] == (1, 1.0)
    dcp.save(state(3.0), checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2  # nothing is left of those before
    dcp.load(found, checkpoint_id=tmp_path)
    assert torch.equal(found["a"], state(3.0)["a"])


def test_background_saves_what_was_there(tmp_path: Path) -> None:
    tensor = torch.arange(4.0) * 2
    written = dcp.async_save({"a": tensor, "l": [tensor]}, checkpoint_id=tmp_path)
    tensor.zero_()
    assert isinstance(written.result(), dcp.Metadata)
    found = {"a": torch.zeros(4), "l": [torch.zeros(4)]}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].tolist() == found["l"][0].tolist() == [0, 2, 4, 6]


def test_stateful_objects_and_planners_of_a_program(tmp_path: Path) -> None:
    class Counter:
        steps = 3

        def state_dict(self) -> dict[str, Any]:
            return {"steps": self.steps}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self.steps = state_dict["steps"]

    class Doubled(dcp.DefaultSavePlanner):
        def transform_object(self, write_item: Any, object: Any) -> Any:
            return super().transform_object(
                write_item, object * 2 if isinstance(object, torch.Tensor) else object
            )

    counter = Counter()
    assert isinstance(counter, dcp.stateful.Stateful)
    dcp.save({"c": counter, "w": torch.ones(2)}, checkpoint_id=tmp_path, planner=Doubled())
    counter.steps = 0
    found = {"c": counter, "w": torch.zeros(2)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert counter.steps == 3 and found["c"] is counter and found["w"].tolist() == [2, 2]


def test_files_of_threads_and_of_pieces(tmp_path: Path) -> None:
    for options, count in (({"thread_count": 2}, 2), ({"single_file_per_rank": False}, 9)):
        folder = tmp_path / str(count)
        dcp.save(state(), storage_writer=dcp.FileSystemWriter(folder, **options))
        assert len(list(folder.glob("*.distcp"))) == count
        found = state(0.0)
        dcp.load(found, checkpoint_id=folder)
        assert torch.equal(found["a"], state()["a"]) and found["n"]["l"][1] == "two"


def test_conversions(tmp_path: Path) -> None:
    torch.save({"a": torch.arange(3.0), "n": {"k": [1, 2]}}, tmp_path / "in.pt")
    format_utils.torch_save_to_dcp(tmp_path / "in.pt", tmp_path / "c")
    format_utils.dcp_to_torch_save(tmp_path / "c", tmp_path / "out.pt")
    found = torch.load(tmp_path / "out.pt")
    assert found["a"].tolist() == [0, 1, 2] and found["n"] == {"k": [1, 2]}


@pytest.mark.parametrize(
    ("nested", "names"),
    [
        ({"a": [1, 2]}, ["a"]),
        ({"a": (1, torch.ones(1))}, ["a"]),
        ({"a": [{"b": 1}, [2, 3]]}, ["a.0.b", "a.1"]),
        ({"a": {}, "b": []}, ["b"]),
        ({"a": {1: 2, "x": {}}}, ["a.1"]),
        ({"a": {"b": [1, {"c": torch.ones(1)}]}}, ["a.b.0", "a.b.1.c"]),
    ],
)
def test_names_of_nested_values(nested: Any, names: list[str]) -> None:
    flat, paths = _nested_dict.flatten_state_dict(nested)
    assert list(flat) == names
    assert (
        list(_nested_dict.flatten_state_dict(_nested_dict.unflatten_state_dict(flat, paths))[0])
        == names
    )


class Bomb:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def test_metadata_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    good = metadata.Metadata({}, planner_data={"a": ("a", 0)}, version="1.0.0")
    assert _metadata_file.read(_metadata_file.write(good)) == good
    for bad in (
        Bomb(os.system, f"touch {marker}"), Bomb(eval, "1"),
        Bomb(getattr, metadata.Metadata, "__init__"), Bomb(torch.ones, 3), subprocess.Popen,
        {"x": io.BytesIO()}, [1],
    ):  # fmt: skip
        with pytest.raises(pickle.UnpicklingError):
            _metadata_file.read(pickle.dumps(bad))
    # what would change a class rather than an object, and pickles that end too early
    path = b"ctorch.distributed.checkpoint.metadata\nMetadata\n"
    for raw in (
        path + b"(N}X\x07\x00\x00\x00versionX\x01\x00\x00\x00xstb.",
        path,
        b"",
        b"\x80\x04]h\x05.",
    ):
        with pytest.raises(pickle.UnpicklingError):
            _metadata_file.read(raw)
    assert not marker.exists() and metadata.Metadata({}).version is None


@pytest.mark.parametrize("name", cases("checkpoints"))
def test_several_processes(name: str) -> None:
    check("checkpoints", 3, name)


@pytest.mark.parametrize("how", ["save", "async_save"])
def test_a_killed_process_leaves_the_earlier_checkpoint(how: str, tmp_path: Path) -> None:
    environment = dict(
        os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port())
    )
    command = [sys.executable, str(PROGRAMS / "killed_saving.py"), str(tmp_path), how]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started = [
        subprocess.Popen(command, env=dict(environment, RANK=str(rank)), **pipes)
        for rank in range(2)
    ]
    try:
        outputs = [p.communicate(timeout=300)[0] for p in started]
    finally:
        for p in started:
            p.kill()
    assert started[1].returncode == -signal.SIGKILL and started[0].returncode == 1, outputs
    assert "DistBackendError" in outputs[0] and "gather_object" in outputs[0]
    found = {name: torch.zeros(1000) for name in ("a", "b", "c", "d")}
    dcp.load(found, checkpoint_id=tmp_path)
    assert all(value.eq(1).all() for value in found.values())
