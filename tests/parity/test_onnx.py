"""Graphs of ONNX's operators are PyTorch's: operators by kind, names, shapes, results."""

from __future__ import annotations

import collections
import io
import logging
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx", reason="needs the package onnx")
pytest.importorskip("onnxscript", reason="needs the package onnxscript")
runtime = pytest.importorskip("onnxruntime", reason="needs the package onnxruntime")
# (of PyTorch's own trees)
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def _net(t: Any) -> Any:
    nn = t.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
            )
            self.layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
            self.last = nn.Linear(4, 3)
            self.register_buffer("scale", t.full((3,), 2.0), persistent=False)

        def forward(self, x: Any, index: Any) -> Any:
            y = self.layer(self.conv(x).flatten(2).transpose(1, 2))
            z = self.last(y)
            h = z.mean(1)
            rows = z[:, index] * self.scale
            return {
                "rows": t.cat([rows, index.unsqueeze(1) + rows], 1),
                "kept": (t.where(h > 0, h, 0.5), y.argmax(-1), (y > 0).sum(1), x.shape[0] * h),
            }

    return Net().eval()


def _described(t: Any) -> tuple[Any, ...]:
    t.manual_seed(0)
    net, x = _net(t), t.randn(3, 3, 4, 4)
    index = t.tensor([1, 3])
    program = t.onnx.export(
        net, (x, index), verbose=False,
        output_names=["rows", "kept", "place", "count", "size"],
        dynamic_shapes={"x": {0: "batch"}, "index": None},
    )  # fmt: skip
    file = io.BytesIO()
    file.write(program.model_proto.SerializeToString())
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    graph = program.model.graph
    given = {"x": t.randn(2, 3, 4, 4).numpy(), "index": index.numpy()}
    return (
        collections.Counter(node.op_type for node in graph),
        [(v.name, str(v.dtype), str(v.shape)) for v in (*graph.inputs, *graph.outputs)],
        {name for name in graph.initializers if "." in name or name == "scale"},
        (program.model.opset_imports, program.model.ir_version, program.model.producer_name),
    ), session.run(None, given)


def test_graphs_names_and_results() -> None:
    logging.disable(logging.WARNING)  # PyTorch tells of packages that are not there
    try:
        (ours, mine), (theirs, other) = _described(jtorch), _described(torch)
    finally:
        logging.disable(logging.NOTSET)
    assert ours == theirs
    for first, second in zip(mine, other, strict=True):
        torch.testing.assert_close(torch.from_numpy(first), torch.from_numpy(second))
