"""Logs for TensorBoard, read back with its own package."""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jtorch as torch

MISSING = importlib.util.find_spec("tensorboard") is None
needs = pytest.mark.skipif(MISSING, reason="the package tensorboard is not installed")


@pytest.mark.skipif(not MISSING, reason="the package tensorboard is installed")
def test_without_the_package_importing_fails() -> None:
    with pytest.raises(ModuleNotFoundError, match="tensorboard"):
        import jtorch.utils.tensorboard  # noqa: F401


def values(folder: Path) -> dict[str, Any]:
    """What the logs of a folder hold, by tag."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto import event_pb2

    found: dict[str, Any] = {}
    for root, _, files in os.walk(folder):
        for file in files:
            for raw in RawEventFileLoader(os.path.join(root, file)).Load():
                event = event_pb2.Event.FromString(raw)
                for value in event.summary.value:
                    found[value.tag] = (event.step, value)
    return found


@needs
@pytest.mark.filterwarnings("ignore")
def test_records(tmp_path: Path) -> None:
    from jtorch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(1.5), 3)
        writer.add_scalar("new", 2, 4, new_style=True)
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 5)
        writer.add_histogram("weights", torch.tensor([0.0, 1.0, 1.0]), bins=4)
        writer.add_text("words", "hello")
        writer.add_tensor("whole", torch.arange(6).reshape(2, 3))
        writer.add_audio("sound", np.sin(np.arange(50) / 5), sample_rate=8000)
        writer.add_hparams({"lr": 0.1, "name": "adam", "none": None}, {"accuracy": 0.5}, run_name="run")
        with pytest.raises(NotImplementedError, match=r"SummaryWriter\.add_graph is not offered"):
            writer.add_graph(torch.nn.Linear(1, 1))
    found = values(tmp_path)
    assert found["loss"][0] == 3 and found["loss"][1].simple_value == 1.5
    assert list(found["new"][1].tensor.float_val) == [2] and found["new"][1].metadata.plugin_data.plugin_name == "scalars"
    assert list(found["weights"][1].histo.bucket) == [0, 1, 0, 0, 2] and found["weights"][1].histo.sum == 2
    assert found["words/text_summary"][1].tensor.string_val == [b"hello"]
    assert list(found["whole"][1].tensor.int64_val) == list(range(6)) and found["accuracy"][1].simple_value == 0.5
    assert found["sound"][1].audio.length_frames == 50 and {"both", "_hparams_/session_start_info"} <= set(found)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["both_a", "both_b", "run"]
