"""Logs for TensorBoard, read back with its own package."""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import io
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


def events(folder: Path) -> list[Any]:
    """What the logs of a folder hold."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto import event_pb2

    paths = (
        os.path.join(root, file)
        for root, _, files in os.walk(folder)
        for file in files
        if "tfevents" in file
    )
    return [
        event_pb2.Event.FromString(raw) for path in paths for raw in RawEventFileLoader(path).Load()
    ]


def values(folder: Path) -> dict[str, Any]:
    """What the logs of a folder hold, by tag."""
    return {
        value.tag: (event.step, value) for event in events(folder) for value in event.summary.value
    }


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
        writer.add_hparams(
            {"lr": 0.1, "name": "adam", "none": None}, {"accuracy": 0.5}, run_name="run"
        )
        with pytest.raises(
            NotImplementedError, match=r"SummaryWriter\.add_onnx_graph is not offered"
        ):
            writer.add_onnx_graph("model.onnx")
    found = values(tmp_path)
    assert found["loss"][0] == 3 and found["loss"][1].simple_value == 1.5
    assert (
        list(found["new"][1].tensor.float_val) == [2]
        and found["new"][1].metadata.plugin_data.plugin_name == "scalars"
    )
    assert (
        list(found["weights"][1].histo.bucket) == [0, 1, 0, 0, 2]
        and found["weights"][1].histo.sum == 2
    )
    assert found["words/text_summary"][1].tensor.string_val == [b"hello"]
    assert (
        list(found["whole"][1].tensor.int64_val) == list(range(6))
        and found["accuracy"][1].simple_value == 0.5
    )
    assert found["sound"][1].audio.length_frames == 50 and {
        "both",
        "_hparams_/session_start_info",
    } <= set(found)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["both_a", "both_b", "run"]


@needs
@pytest.mark.filterwarnings("ignore")
def test_curves_layouts_and_meshes(tmp_path: Path) -> None:
    from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

    from jtorch.utils.tensorboard import SummaryWriter

    labels, predictions = (
        torch.tensor([0, 1, 1, 0, 1, 1]),
        torch.tensor([0.1, 0.9, 0.5, 0.5, 0.0, 1.0]),
    )
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve(
            "curve", labels, predictions, 1, num_thresholds=5, weights=2 * torch.ones(6)
        )
        writer.add_pr_curve_raw(
            "raw", [1, 2], [3, 4], [1, 1], [0, 0], [0.25, 0.5], [1, 1], num_thresholds=200
        )
        writer.add_custom_scalars(
            {"a": {"b": ["Multiline", ["x", "y"]], "c": ["Margin", ["x", "y", "z"]]}}
        )
        writer.add_mesh(
            "shape",
            torch.ones(1, 4, 3),
            faces=torch.tensor([[[0, 1, 2]]]),
            config_dict={"camera": 1},
        )
        with pytest.raises(
            ValueError, match=r"should be of shape BxNx3, but got torch.Size\(\[4, 3\]\)"
        ):
            writer.add_mesh("flat", torch.ones(4, 3))
        with pytest.raises(AssertionError, match=r"Expected 3 tags, got 2\."):
            writer.add_custom_scalars_marginchart(["x", "y"])
    found = values(tmp_path)
    rows = np.array(found["curve"][1].tensor.float_val).reshape(6, 5)
    assert rows[:4].tolist() == [[8, 6, 6, 4, 2], [4, 2, 2, 0, 0], [0, 2, 2, 4, 4], [0, 2, 2, 4, 6]]
    assert np.allclose(rows[4:], [[2 / 3, 0.75, 0.75, 1, 1], [1, 0.75, 0.75, 0.5, 0.25]])
    assert list(found["raw"][1].tensor.float_val) == [1, 2, 3, 4, 1, 1, 0, 0, 0.25, 0.5, 1, 1]
    assert found["raw"][1].metadata.plugin_data.content == b"\x10\x7f"
    layout = Layout.FromString(found["custom_scalars__config__"][1].tensor.string_val[0])
    assert [chart.title for chart in layout.category[0].chart] == ["b", "c"]
    assert {"shape_VERTEX", "shape_FACE"} <= set(found) and list(
        found["shape_FACE"][1].tensor.float_val
    ) == [0, 1, 2]


@needs
@pytest.mark.filterwarnings("ignore")
def test_points_for_the_projector(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    from jtorch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(
            torch.tensor([[1.5, 2], [0, 3]]),
            ["a", "b"],
            torch.ones(2, 3, 4, 4),
            global_step=1,
            tag="a/b",
        )
        writer.add_embedding(
            np.arange(2).reshape(1, 2), [["x", 1]], metadata_header=["name", "kind"]
        )
        for arguments, words in (
            ((torch.ones(4, 2), ["a"]), "#labels should equal"),
            ((torch.ones(4, 2), None, torch.ones(3, 3, 2, 2)), "#images should equal"),
            ((torch.ones(4),), "mat should be 2D"),
        ):
            with pytest.raises(AssertionError, match=words):
                writer.add_embedding(*arguments, tag="no")
    first, second = tmp_path / "00001" / "a%2fb", tmp_path / "00000" / "default"
    assert (first / "tensors.tsv").read_text() == "1.5\t2.0\n0.0\t3.0\n" and (
        first / "metadata.tsv"
    ).read_text() == "a\nb\n"
    assert (first / "sprite.png").exists() and (
        second / "metadata.tsv"
    ).read_text() == "name\tkind\nx\t1\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert (
        'tensor_name: "a/b:00001"' in config
        and 'tensor_path: "00000/default/tensors.tsv"' in config
    )


@needs
@pytest.mark.filterwarnings("ignore")
def test_films_and_images_with_boxes(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    from jtorch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", torch.arange(3.0).reshape(3, 1, 1, 1, 1).expand(3, 2, 3, 4, 5) / 2)
        writer.add_image_with_boxes(
            "boxes", torch.zeros(3, 40, 40), torch.tensor([[2.0, 3, 30, 32]]), labels="a"
        )
    found = values(tmp_path)
    film = image.open(io.BytesIO(found["film"][1].image.encoded_image_string))
    assert film.format == "GIF" and film.size == (20, 4)
    film = np.asarray(film.convert("RGB"))
    assert film[0, ::5, 0].tolist() == [0, 127, 255, 0]
    drawn = np.asarray(image.open(io.BytesIO(found["boxes"][1].image.encoded_image_string)))
    assert drawn[5, 2].tolist() == [255, 0, 0] and drawn[8, 20].tolist() == [0, 0, 0]


@needs
@pytest.mark.filterwarnings("ignore")
def test_graph_of_a_module(tmp_path: Path) -> None:
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    from jtorch import nn
    from jtorch.utils.tensorboard import SummaryWriter

    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1)))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.ones(4, 2))
    assert all(m.training for m in model.modules())
    (event,) = [e for e in events(tmp_path) if e.graph_def]
    nodes = {n.name: n for n in GraphDef.FromString(event.graph_def).node}
    by_kind = [(n.name.rpartition("/")[0], n.op) for n in nodes.values() if n.op.startswith("aten")]
    assert by_kind == [
        ("Sequential/Linear[0]", "aten::linear"),
        ("Sequential/Sequential[1]/Dropout[0]", "aten::dropout"),
        ("Sequential/Sequential[1]/Linear[1]", "aten::linear"),
    ]
    last = nodes["output/output.1"]
    assert [d.size for d in last.attr["_output_shapes"].list.shape[0].dim] == [4, 1]
    linear = nodes[last.input[0]]
    assert [nodes[i].op for i in linear.input] == [
        "aten::dropout",
        "prim::GetAttr",
        "prim::GetAttr",
    ]
    assert linear.input[1].startswith("Sequential/Sequential[1]/Linear[1]/weight/")
