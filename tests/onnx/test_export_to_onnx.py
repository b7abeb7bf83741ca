"""Models as graphs of ONNX's operators, run by onnxruntime: they give what the modules give."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.export import Dim

onnx = pytest.importorskip("onnx", reason="needs the package onnx")
onnxscript = pytest.importorskip("onnxscript", reason="needs the package onnxscript")
pytest.importorskip("onnxruntime", reason="needs the package onnxruntime")

F = nn.functional
R = torch.randn


def made(forward: Any, **parts: nn.Module) -> nn.Module:
    """A module with a function as its ``forward``."""
    module = type("Made", (nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def _attention(self: Any, x: torch.Tensor) -> torch.Tensor:
    b, t, c = x.shape
    q, k, v = self.qkv(x).view(b, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
    scores = (q @ k.transpose(-2, -1)) * (c // 2) ** -0.5
    scores = scores.masked_fill(torch.tril(torch.ones(t, t)) == 0, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)


def _written(self: Any, x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 1] = 2
    y[0] += 1
    y[y > 1] = 0
    return y


def _without_gradients(self: Any, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
    return y + 1


B = {0: Dim("batch")}
BT = {0: Dim("batch"), 1: Dim("time")}

#: By name: the module, example arguments, what varies, and further arguments.
MODELS: dict[str, Any] = {
    "linear": (
        nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), (R(3, 4),), (B,), (R(5, 4),),
    ),
    "images": (
        nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
            nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 2),
        ),
        (R(1, 3, 8, 8),), (B,), (R(3, 3, 8, 8),),
    ),
    "other windows": (
        made(lambda self, x: (
            F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, 2), F.lp_pool2d(x, 2, 2),
            F.interpolate(x, size=(3, 4), mode="bilinear"), F.pad(x, (1, 2), value=3.0),
            F.interpolate(x, scale_factor=2, mode="nearest-exact"),
        )),
        (R(2, 3, 6, 8),), None, None,
    ),
    "lstm": (nn.LSTM(3, 5, batch_first=True), (R(2, 4, 3),), (BT,), (R(3, 6, 3),)),
    "gru": (nn.GRU(3, 5, num_layers=2, bidirectional=True), (R(4, 2, 3),), None, None),
    "embedding": (
        made(lambda self, i: self.e(i).mean(1), e=nn.Embedding(10, 4)),
        (torch.randint(0, 10, (2, 5)),), (BT,), (torch.randint(0, 10, (4, 3)),),
    ),
    "encoder": (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (R(2, 5, 8),), (BT,), (R(3, 7, 8),),
    ),
    "attention": (made(_attention, qkv=nn.Linear(8, 24)), (R(2, 5, 8),), (BT,), (R(3, 7, 8),)),
    "heads": (
        made(lambda self, q, k: self.a(q, k, k), a=nn.MultiheadAttention(8, 2, batch_first=True)),
        (R(2, 5, 8), R(2, 4, 8)), None, None,
    ),
    "scaled": (
        made(lambda self, q, m: (
            F.scaled_dot_product_attention(q, q, q, is_causal=True),
            F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        )),
        (R(2, 2, 5, 4), torch.rand(2, 1, 5, 5) > 0.3), None, None,
    ),
    "norms": (
        nn.Sequential(nn.LayerNorm((4, 5)), nn.GroupNorm(2, 4), nn.RMSNorm(5)), (R(2, 4, 5),), None,
        None,
    ),
    "places": (
        made(lambda self, x, i: (
            x[:, 1:3], x[..., -1], x[i], x[:, i], x.gather(0, i[None]), torch.where(x > 0, x, 0),
            x.index_fill(0, i, 2.0), x.index_add(0, i, x[:2]), x.scatter(0, i[None], 5.0),
        )),
        (R(4, 5), torch.tensor([1, 3])), None, None,
    ),
    "writes": (made(_written), (R(4, 5),), None, None),
    "joined": (
        made(lambda self, x, i: (
            torch.cat([x, i]), torch.stack([x, x + 1], 1), *x.split(2, 1), *x.chunk(2), x.flip(1),
            torch.hstack([x, x]), x.repeat(2, 1), x.roll(1, 0),
        )),
        (R(4, 5), torch.randint(0, 9, (4, 5))), None, None,
    ),
    "reduced": (
        made(lambda self, x: (
            x.sum(), x.mean(1), x.amax(0), *x.max(1), x.std(1), x.var(0, unbiased=False),
            x.norm(dim=1), (x > 0).sum(1), x.prod(1), x.argmax(1), x.logsumexp(1), x.cumsum(1),
            *x.topk(2), *x.sort(1), torch.einsum("ij,kj->ik", x, x),
        )),
        (R(4, 5),), None, None,
    ),
    "dtypes": (
        made(lambda self, x, i: (
            x * i, x > i, i / 2, i // 2, i % 3, i * 2.5, x.double() + i, x.long(), i.sum(),
            i.sigmoid(), x.half() * 2, torch.pow(2, i), x.clamp(0, 1), torch.add(x, i, alpha=2),
            ~(x > 0),
        )),
        (R(4, 5), torch.randint(0, 5, (4, 5))), None, None,
    ),
    "functions": (
        made(lambda self, x: (
            F.elu(x), F.softplus(x), F.mish(x), F.hardswish(x), F.glu(x, 0), F.log_softmax(x, 1),
            torch.special.entr(x.abs()), torch.hypot(x, x), torch.block_diag(x, x),
        )),
        (R(4, 5),), None, None,
    ),
    "losses": (
        made(lambda self, x, t: (
            F.mse_loss(x, t), F.cross_entropy(x, t.argmax(1)), F.triplet_margin_loss(x, t, t + 1),
            F.kl_div(x.log_softmax(1), t.softmax(1), reduction="batchmean"),
            F.poisson_nll_loss(x, t),
        )),
        (R(4, 5), R(4, 5)), None, None,
    ),
    "sizes": (
        made(lambda self, x: (
            torch.zeros(x.shape[0], 2) + 1, torch.arange(x.shape[1]) + x, x.sum() / x.shape[0],
            x[:, : x.shape[1] // 2], x.view(-1), torch.full((2, x.shape[0]), 3.0),
        )),
        (R(4, 6),), ({0: Dim("a"), 1: 2 * Dim("half")},), (R(3, 8),),
    ),
    "branches": (
        made(lambda self, x: torch.cond(
            x.sum() > 0, lambda y: (y.sin() + x, y * 2), lambda y: (y.cos(), x - 1), (x,)
        )),
        (torch.ones(2, 3),), None, (-torch.ones(2, 3),),
    ),
    "loops": (
        made(lambda self, x: torch._higher_order_ops.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 + x), (torch.tensor(0), x)
        )),
        (R(2, 3),), None, None,
    ),
    "data decide": (made(lambda self, x: (x.nonzero(), x[x > 0])), (R(2, 3),), None, None),
    "complex": (made(lambda self, x: torch.fft.rfft(x).abs()), (R(4, 8),), None, None),
    "without gradients": (made(_without_gradients), (R(2),), None, None),
    "vmap": (
        made(lambda self, x: torch.vmap(lambda row: row.sum() * row)(x)), (R(2, 3),), None, None,
    ),
    "nested": (
        made(lambda self, x, d: {"s": x + d["a"], "t": (d["b"][0], [None, d["b"][1] * 2])}),
        (R(2), {"a": R(2), "b": [R(1), R(3)]}), None, None,
    ),
}  # fmt: skip


def leaves(x: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    return [t for t in torch.utils._pytree.tree_leaves(x) if t is not None]


@pytest.mark.parametrize("name", MODELS)
def test_models_give_what_their_modules_give(name: str) -> None:
    module, args, shapes, more = MODELS[name]
    module.eval()
    kwargs = None
    if isinstance(args[-1], dict):  # which would be keyword arguments
        args, kwargs = args[:-1], {"d": args[-1]}
    program = torch.onnx.export(module, args, kwargs=kwargs, dynamic_shapes=shapes)
    onnx.checker.check_model(program.model_proto)
    for given in (args, *([] if more is None else [more if type(more) is tuple else (more,)])):
        want = leaves(module(*given, **(kwargs or {})))
        got = program(*given, **(kwargs or {}))
        assert len(want) == len(got)
        for first, second in zip(want, got, strict=True):
            torch.testing.assert_close(second, first, atol=1e-4, rtol=1e-3, equal_nan=True)


# ---- names -------------------------------------------------------------------------------------


def names(values: Any) -> list[tuple[str, str]]:
    """Names and shapes of a graph's inputs or results."""
    return [(v.name, str(v.shape)) for v in values]


class Two(nn.Module):
    """Two inputs, a buffer that is no parameter, and two results."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("loose", torch.full((2,), 0.5), persistent=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor, *, w: torch.Tensor | None = None) -> Any:
        """A layer of the sum, and the sums of rows."""
        z = x + y if w is None else x + y + w
        return self.layer(z) * self.loose, z.sum(1)


PAIR = torch.ones(2, 3), torch.ones(2, 3)


def test_names_are_those_of_the_module_or_those_that_are_asked_for() -> None:
    graph = torch.onnx.export(Two().eval(), PAIR, dynamic_shapes=({0: "b"}, {0: "b"})).model.graph
    assert names(graph.inputs) == [("x", "[b,3]"), ("y", "[b,3]")]
    assert names(graph.outputs) == [("mul", "[b,2]"), ("sum_1", "[b]")]
    assert {"layer.weight", "layer.bias", "loose"} <= set(graph.initializers)
    program = torch.onnx.export(
        Two().eval(), PAIR, kwargs={"w": torch.ones(3)},
        input_names=["first", "mul"], output_names=["last"],
    )  # fmt: skip
    graph = program.model.graph
    assert [v.name for v in graph.inputs] == ["first", "mul", "w"]
    assert [v.name for v in graph.outputs] == ["last", "sum_1"]
    program(*PAIR, w=torch.ones(3))
    with pytest.raises(ValueError, match=r"Input names cannot be duplicated: \['a'\]"):
        torch.onnx.export(Two().eval(), PAIR, input_names=["a", "a"])


def test_dimensions_keep_their_names_in_what_follows_from_them() -> None:
    module = made(lambda self, x: (torch.cat([x, x], 1), x.reshape(-1)))
    for shapes in (({0: "b", 1: Dim("c")},), {"x": {0: Dim("b"), 1: Dim("c")}}):
        graph = torch.onnx.export(
            module.eval(), (torch.ones(1, 3),), dynamic_shapes=shapes
        ).model.graph
        assert names(graph.inputs) == [("x", "[b,c]")]
        assert names(graph.outputs) in (
            [("cat", "[b,2*c]"), ("view", "[c*b]")],
            [("cat", "[b,2*c]"), ("view", "[b*c]")],
        )
    with pytest.warns(UserWarning, match="'dynamic_axes' is not recommended"):
        program = torch.onnx.export(
            module, (torch.ones(2, 3),), input_names=["p"], dynamic_axes={"p": {1: "wide"}}
        )
    assert names(program.model.graph.inputs) == [("p", "[2,wide]")]
    program.rename_axes({"wide": "w"})
    assert names(program.model.graph.outputs)[0] == ("cat", "[2,2*w]")


# ---- files -------------------------------------------------------------------------------------


def test_files(tmp_path: Any) -> None:
    module, path = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).eval(), tmp_path / "model.onnx"
    x = R(2, 32)
    program = torch.onnx.export(module, (x,), path)
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.data"]
    import onnxruntime

    def run(where: Any) -> torch.Tensor:
        session = onnxruntime.InferenceSession(str(where), providers=["CPUExecutionProvider"])
        return torch.from_numpy(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])

    torch.testing.assert_close(run(path), module(x))
    program.save(tmp_path / "one.onnx")
    assert not (tmp_path / "one.onnx.data").exists()
    torch.testing.assert_close(run(tmp_path / "one.onnx"), module(x))
    program.save(tmp_path / "bare.onnx", include_initializers=False)
    assert not onnx.load(tmp_path / "bare.onnx").graph.initializer
    program.save(tmp_path / "open.onnx", keep_initializers_as_inputs=True)
    assert {"0.weight", "0.bias"} <= {v.name for v in onnx.load(tmp_path / "open.onnx").graph.input}
    torch.testing.assert_close(run(tmp_path / "one.onnx"), program(x)[0])  # it is as it was
    file = io.BytesIO()
    with pytest.warns(DeprecationWarning, match="BytesIO"):
        torch.onnx.export(module, (x,), file)
    assert onnx.load_model_from_string(file.getvalue()).graph.input[0].name == "input"


# ---- programs ----------------------------------------------------------------------------------


def test_what_a_program_offers() -> None:
    module = Two().eval()
    program = torch.onnx.export(module, PAIR, verify=True, optimize=False)
    torch.testing.assert_close(program.call_reference(*PAIR), tuple(module(*PAIR)))
    (inner,) = program.compute_values(["linear"], PAIR)
    torch.testing.assert_close(inner, module.layer(PAIR[0] + PAIR[1]))
    (first, second) = torch.onnx.verification.verify_onnx_program(program)
    assert (first.name, second.max_abs_diff) == ("mul", 0.0)
    program.apply_weights({"layer.weight": torch.zeros(2, 3), "layer.bias": torch.ones(2)})
    assert program(*PAIR)[0].tolist() == [[0.5, 0.5]] * 2
    with pytest.raises(AssertionError):
        torch.onnx.testing.assert_onnx_program(program)
    assert program.model_proto.opset_import[0].version == 20
    assert "Gemm" in repr(program)


def test_translations_of_ones_own() -> None:
    op = onnxscript.opset18
    program = torch.onnx.export(
        made(lambda self, x: x.erfinv()).eval(),
        (torch.zeros(2),),
        custom_translation_table={torch.ops.aten.erfinv.default: lambda x: op.Add(x, 1.0)},
    )
    assert program(torch.zeros(2))[0].tolist() == [1.0, 1.0]


def test_versions_of_operators(caplog: Any) -> None:
    module, x = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()).eval(), (R(2, 3),)
    for version in (17, 18, 21):
        program = torch.onnx.export(module, x, opset_version=version)
        assert program.model.opset_imports[""] == version
        torch.testing.assert_close(program(*x)[0], module(*x))
    program = torch.onnx.export(made(lambda self, x: x.mean(1)).eval(), x, opset_version=17)
    assert program.model.opset_imports[""] == 18
    assert "Failed to convert the model to the target version 17" in caplog.text


# ---- what is left as it was --------------------------------------------------------------------


class Counting(nn.Module):
    """Changes a buffer, and draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("count", torch.zeros(()))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Batch normalisation in the mode that it is in."""
        assert torch.onnx.is_in_onnx_export()
        self.count += 1
        return self.drop(self.norm(x)) + self.count


def test_an_export_leaves_everything_as_it_was(tmp_path: Any) -> None:
    module = Counting()
    calls: list[object] = []
    module.register_forward_hook(lambda *args: calls.append(args))
    before = {k: v.clone() for k, v in module.state_dict().items()}
    random = torch.get_rng_state()
    with pytest.warns(UserWarning, match="Exporting a model while it is in training mode"):
        torch.onnx.export(module, (torch.ones(4, 3),))
    module.eval()
    program = torch.onnx.export(module, (torch.ones(4, 3),), verify=True)
    torch.onnx.testing.assert_onnx_program(program)
    for _ in range(2):  # nothing is counted
        assert program(torch.zeros(4, 3))[0].tolist() == [[1.0] * 3] * 4
    with pytest.warns(DeprecationWarning, match="legacy"):
        torch.onnx.export(module.train(), torch.ones(4, 3), tmp_path / "old.onnx", dynamo=False)
    assert module.training
    assert module.norm.training
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(before[k], v) for k, v in module.state_dict().items())
    assert not torch.onnx.is_in_onnx_export()


def test_errors_name_the_operator_and_leave_no_file(tmp_path: Any) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"aten\._linalg_svd") as caught:
        torch.onnx.export(made(lambda self, x: torch.linalg.svdvals(x)).eval(), (R(2, 2),), path)
    assert "Error when translating node" in str(caught.value.__cause__)
    decides = made(lambda self, x: x if x.sum() > 0 else -x).eval()
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"torch\.export") as caught:
        torch.onnx.export(decides, (R(2, 2),), path)
    assert "data-dependent" in str(caught.value.__cause__)
    with pytest.raises(torch.onnx.OnnxExporterError, match="returns tensors, not 3"):
        torch.onnx.export(made(lambda self, x: (x, 3)).eval(), (R(2),), path)
    fixed = made(lambda self, x: x.view(2, 3)).eval()
    with pytest.raises(torch.onnx.OnnxExporterError, match="Constraints violated"):
        torch.onnx.export(fixed, (R(2, 3),), path, dynamic_shapes=({0: "b"},))
    with pytest.raises(NotImplementedError, match="report"):
        torch.onnx.export(fixed, (R(2, 3),), path, report=True)
    with pytest.raises(torch.onnx.OnnxExporterError, match="proj_size"):
        torch.onnx.export(nn.LSTM(3, 4, proj_size=2).eval(), (R(2, 1, 3),), path)
    assert os.listdir(tmp_path) == []
    assert not torch.onnx.is_in_onnx_export()


# ---- the older interface -----------------------------------------------------------------------


def test_the_older_interface_takes_axes_exactly(tmp_path: Any) -> None:
    path = tmp_path / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        done = torch.onnx.export(
            Two(), PAIR, path, dynamo=False, input_names=["p", "q"], output_names=["r"],
            dynamic_axes={"p": {0: "batch"}, "q": {0: "other"}, "r": [0]}, opset_version=18,
            do_constant_folding=True,
        )  # fmt: skip
        assert done is None
        graph = onnx.load(path).graph

        def sizes(value: Any) -> list[Any]:
            return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]

        assert [sizes(v) for v in graph.input] == [["batch", 3], ["other", 3]]
        assert sizes(graph.output[0]) == ["r_dynamic_axes_1", 2]
        with pytest.raises(NotImplementedError, match=r"opset_version=9"):
            torch.onnx.export(Two(), PAIR, tmp_path / "other.onnx", dynamo=False, opset_version=9)
        with pytest.raises(ValueError, match="dynamic_axes"):
            torch.onnx.export(
                Two(), PAIR, tmp_path / "other.onnx", dynamo=False, dynamic_shapes=({0: "b"}, None)
            )
        with pytest.raises(NotImplementedError, match="training"):
            torch.onnx.export(
                Two(), PAIR, tmp_path / "other.onnx", dynamo=False,
                training=torch.onnx.TrainingMode.TRAINING,
            )  # fmt: skip
        with pytest.raises(NotImplementedError, match="custom_opsets"):
            torch.onnx.export(
                Two(), PAIR, tmp_path / "other.onnx", dynamo=False, custom_opsets={"a": 1}
            )
    assert os.listdir(tmp_path) == ["model.onnx"]


# ---- without PyTorch ---------------------------------------------------------------------------


def test_the_functions_of_onnxscript_have_this_package_for_torch() -> None:
    torch.onnx.export(nn.ReLU().eval(), (torch.ones(1),))
    assert sys.modules["onnxscript.function_libs.torch_lib.ops.core"].torch is torch
