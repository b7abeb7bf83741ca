"""Exported programs: their graphs, what their sizes may be, files, functional form and
StableHLO."""

from __future__ import annotations

import copy
import io
import json
import re
import zipfile

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn
from jtorch._decomp import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    register_decomposition,
)
from jtorch._dynamo.exc import UserError
from jtorch.export import Dim, ExportedProgram, export, load, save, stablehlo
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from jtorch.nn import functional as F


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.last = (
            nn.Conv2d(3, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.Linear(16, 10),
        )

    def forward(self, x: torch.Tensor, *, scale: float = 1.0) -> dict[str, object]:
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return {"out": self.last(x.view(x.size(0), -1)) * scale, "twice": 2 * x.shape[0]}


BATCH = {"x": {0: Dim("batch")}, "scale": None}


def _program(train: bool = False) -> tuple[nn.Module, ExportedProgram]:
    net = Net().train(train)
    return net, export(net, (torch.randn(3, 3, 4, 4),), {"scale": 2.0}, dynamic_shapes=BATCH)


def _targets(program: ExportedProgram) -> list[str]:
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


@pytest.mark.parametrize("train", [False, True])
def test_a_program_runs_for_other_sizes_as_the_module_does(train: bool) -> None:
    net, program = _program(train)
    other, x = copy.deepcopy(net), torch.randn(5, 3, 4, 4)
    wanted, module = net(x, scale=2.0), program.module()
    assert module.get_parameter("conv.weight") is net.conv.weight  # state is shared
    net.load_state_dict(other.state_dict())
    found = module(x, scale=2.0)
    torch.testing.assert_close(found["out"], wanted["out"])
    assert found["twice"] == 10
    assert int(net.norm.num_batches_tracked) == int(train)


def test_graph_and_signature() -> None:
    _, program = _program(True)
    assert _targets(program)[:5] == [
        "aten.sym_size.int", "aten.conv2d.default", "aten.add_.Tensor", "aten.batch_norm.default",
        "aten.relu.default",
    ]  # fmt: skip
    signature = program.graph_signature
    assert signature.parameters[:2] == ("conv.weight", "conv.bias")
    assert signature.buffers == (
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    )
    assert signature.user_inputs == ("x", 2.0)
    node = next(n for n in program.graph.nodes if n.name == "conv2d")
    assert str(list(node.meta["val"].shape)) == "[s77, 4, 4, 4]"
    assert list(node.meta["nn_module_stack"].values())[-1][0] == "conv"
    assert "USER_INPUT" in str(program)
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program()


def test_tracing_leaves_the_module_alone() -> None:
    net = Net()
    before = dict(net.state_dict(keep_vars=True))
    export(net, (torch.randn(3, 3, 4, 4),))
    after = net.state_dict(keep_vars=True)
    assert all(after[k] is v for k, v in before.items())
    assert int(net.norm.num_batches_tracked) == 0


@pytest.mark.parametrize(
    ("x", "scale", "message"),
    [
        (torch.ones(3, 3, 4, 5), 2.0, r"x.size\(\)\[3\] == 4, got 5"),
        (torch.ones(3, 3, 4), 2.0, r"x.dim\(\) is 3, expected 4"),
        (torch.ones(3, 3, 4, 4), 3.0, "scale == 2.0"),
    ],
)
def test_calls_are_checked(x: torch.Tensor, scale: float, message: str) -> None:
    _, program = _program()
    with pytest.raises((AssertionError, IndexError), match=message):
        program.module()(x, scale=scale)


def test_other_dtypes_and_further_dimensions_are_taken() -> None:
    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor, k: float) -> torch.Tensor:
            return x * k

    call = export(Scaled(), (torch.ones(3, dtype=torch.int32), 2)).module()
    for x in (
        torch.ones(3, dtype=torch.int64),
        torch.ones(3, dtype=torch.float64),
        torch.ones(3, 2, dtype=torch.int32),
    ):
        found = call(x, 2.0)
        assert found.dtype is x.dtype and torch.equal(found, x * 2)


def test_what_no_size_may_be_is_refused_when_called() -> None:
    linear = nn.Linear(4, 2)
    program = export(linear, (torch.ones(3, 4),), dynamic_shapes=({0: Dim("b", min=2, max=5)},))
    assert repr(program.range_constraints) == "{s31: VR[2, 5]}"
    for n, bound in ((1, ">= 2"), (6, "<= 5")):
        with pytest.raises(AssertionError, match=rf"size\(\)\[0\] {bound}, got {n}"):
            program.module()(torch.ones(n, 4))


class Decides(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum() if x.shape[0] == 1 else x + 1


def test_a_program_that_is_another_for_a_size_of_1_does_not_take_it() -> None:
    program = export(Decides(), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    assert [r.lower for r in program.range_constraints.values()] == [2]
    with pytest.raises(AssertionError, match=">= 2, got 1"):
        program.module()(torch.ones(1))
    same = export(nn.ReLU(), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    assert same.module()(torch.ones(0)).shape == (0,)


class Branches(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.shape[0] > 2 else x


@pytest.mark.parametrize(
    ("module", "shape"),
    [(Branches(), (3,)), (nn.Linear(4, 2), (3, 4)), (nn.Flatten(0), (3, 4))],
    ids=["branch", "weight", "flatten"],
)
def test_assumptions_about_sizes_are_refused(module: nn.Module, shape: tuple[int, ...]) -> None:
    last = len(shape) - 1
    if isinstance(module, nn.Flatten):
        assert export(module, (torch.ones(shape),), dynamic_shapes=({last: Dim("n")},)).module()(
            torch.ones(3, 9)
        ).shape == (27,)
        return
    with pytest.raises(UserError, match="Constraints violated"):
        export(module, (torch.ones(shape),), dynamic_shapes=({last: Dim("n")},))
    program = export(module, (torch.ones(shape),), dynamic_shapes=({last: Dim.AUTO},))
    assert str(program.range_constraints) == (
        "{s77: VR[3, int_oo]}" if isinstance(module, Branches) else "{}"
    )


def test_an_automatic_size_that_is_fixed_leaves_others_free() -> None:
    program = export(
        nn.Linear(4, 2), (torch.ones(3, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)
    )
    assert program.module()(torch.ones(5, 4)).shape == (5, 2)
    with pytest.raises(AssertionError, match=r"input.size\(\)\[1\] == 4, got 3"):
        program.module()(torch.ones(5, 3))


def test_guards_say_what_does_not_hold(capsys) -> None:
    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, k: int = 2) -> torch.Tensor:
            return x * k + y

    b = Dim("b", min=2, max=8)
    given = torch.ones(3, 4)
    call = export(
        Scaled(), (given, given), {"k": 3}, dynamic_shapes={"x": {0: b}, "y": {0: b}, "k": None}
    ).module()
    for args, k, words in (
        ((torch.ones(9, 4), torch.ones(9, 4)), 3, "x.size()[0] <= 8"),
        ((torch.ones(3, 5), given), 3, "x.size()[1] == 4"),
        ((given, torch.ones(4, 4)), 3, "y.size()[0] == x.size()[0]"),
        ((given, given), 4, "k == 3"),
    ):
        with pytest.raises(AssertionError, match=re.escape(f"Guard failed: {words}, got")):
            call(*args, k=k)
    half = export(
        nn.Flatten(), (torch.ones(4, 2, 3),), dynamic_shapes=({0: 2 * Dim("q", min=1, max=8)},)
    ).module()
    # of a size that stands nowhere by itself
    with pytest.raises(AssertionError, match=r"size\(\)\[0\] <= 16, got 18"):
        half(torch.ones(18, 2, 3))
    assert capsys.readouterr().err == ""  # it is no operation of the graph that failed


def test_shared_and_derived_dimensions() -> None:
    class Add(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, x, y[:1]]) + y

    n = Dim("n")
    program = export(
        Add(), (torch.ones(3), torch.ones(7)), dynamic_shapes={"x": {0: n}, "y": {0: 2 * n + 1}}
    )
    assert program.module()(torch.ones(5), torch.ones(11)).shape == (11,)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(5), torch.ones(12))
    with pytest.raises(UserError, match="elsewhere"):
        export(Add(), (torch.ones(3), torch.ones(4)), dynamic_shapes={"x": {0: n}, "y": {0: n}})


@pytest.mark.parametrize(
    ("dynamic", "message"),
    [({"y": None}, "top-level keys must be the arg names"), ((None, None), "mismatch"),
     (({5: Dim("n")},), "dimensions"),
     (({0: "n"},), "expected a Dim"), (({0: 4},), "does not match input size")],
)  # fmt: skip
def test_wrong_dynamic_shapes(dynamic: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        export(nn.ReLU(), (torch.ones(3),), dynamic_shapes=dynamic)


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="to be an instance of"):
        export(lambda x: x, (torch.ones(1),))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="Expecting `args` to be a tuple"):
        export(nn.ReLU(), [torch.ones(1)])  # type: ignore[arg-type]

    class Reads(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(GuardOnDataDependentSymNode, match="data-dependent expression"):
        export(Reads(), (torch.ones(2),))


def test_attention_keeps_batch_and_length() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    program = export(
        layer, (torch.randn(2, 5, 8),), dynamic_shapes=({0: Dim("b"), 1: Dim("t", max=64)},)
    )
    assert "aten.scaled_dot_product_attention.default" in _targets(program)
    x = torch.randn(3, 7, 8)
    torch.testing.assert_close(program.module()(x), layer(x))
    with pytest.raises(AssertionError, match="<= 64, got 65"):
        program.module()(torch.randn(1, 65, 8))


class Frozen(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            y = x * 2
        return y, x * y


def test_history_is_recorded_where_the_program_does() -> None:
    program = export(Frozen(), (torch.ones(2),))
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    for found in (program, program.run_decompositions(), load(file)):
        x = torch.ones(2, requires_grad=True)
        y, z = found.module()(x)
        assert not y.requires_grad
        z.sum().backward()
        assert x.grad.tolist() == [2, 2]
        assert torch.is_grad_enabled()


class Writes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))
        self.scale = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.scale
        y[:, 0] = 5
        y.t()[1].mul_(3)
        v = y.view(-1)
        y.add_(1)
        self.count.add_(1)
        self.count = self.count * 2
        x.sub_(1)
        return v + torch.tensor(1.0)


def test_functional_form_has_no_writes_and_writes_the_same() -> None:
    module, x = Writes(), torch.randn(3, 4)
    program = export(module, (x.clone(),))
    functional = program.run_decompositions()
    assert not [
        n
        for n in functional.graph.nodes
        if getattr(getattr(n.target, "_schema", None), "writes", ())
    ]
    kinds = [s.kind.name for s in functional.graph_signature.output_specs]
    assert kinds == ["BUFFER_MUTATION", "USER_INPUT_MUTATION", "USER_OUTPUT"]
    results = []
    for run in (
        copy.deepcopy(module),
        copy.deepcopy(program).module(),
        copy.deepcopy(functional).module(),
    ):
        given = x.clone()
        out = run(given)
        results.append((out, given, run.get_buffer("count")))
    for found in results[1:]:
        for a, b in zip(found, results[0], strict=True):
            torch.testing.assert_close(a, b)


def test_decompositions_can_be_chosen() -> None:
    program = export(nn.Sequential(nn.Linear(2, 3), nn.GELU()), (torch.ones(4, 2),))
    assert _targets(program.run_decompositions({})) == ["aten.linear.default", "aten.gelu.default"]
    assert "aten.permute.default" in _targets(program.run_decompositions())
    table = get_decompositions([torch.ops.aten.gelu, torch.ops.aten.addmm])
    assert "aten.erf.default" in _targets(program.run_decompositions(table))
    x = torch.randn(4, 2)
    torch.testing.assert_close(program.run_decompositions(table).module()(x), program.module()(x))


WRITTEN = sorted(
    str(op) for op, f in decomposition_table.items() if f.__module__.endswith("decompositions")
)


@pytest.mark.parametrize("op", WRITTEN)
def test_decompositions_compute_what_their_operators_do(op: str) -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    examples = {
        "transpose.int": (x, 0, 1), "stack.default": ([x, y], 1),
        "_unsafe_view.default": (x, [4, 3]), "zeros.default": ([2, 3],), "ones.default": ([2, 3],),
        "masked_fill.Scalar": (x, x > 0, 1.0), "masked_fill.Tensor": (x, x > 0, torch.tensor(1.0)),
        "rsub.Tensor": (x, y), "rsub.Scalar": (x, 2, 3), "addmm.default": (y[:, :3], x, y.t()),
        "addcmul.default": (x, y, y), "addcdiv.default": (x, y, y), "std.correction": (x, [1]),
        "threshold_backward.default": (x, y, 0), "sigmoid_backward.default": (x, y),
        "tanh_backward.default": (x, y), "_softmax.default": (x, 1, False),
        "_log_softmax.default": (x, 0, False), "native_layer_norm.default": (x, [4], y[0], None,
            1e-5), "mse_loss.default": (x, y), "dropout.default": (x, 0.5, False),
        "_scaled_dot_product_flash_attention_for_cpu.default": [torch.randn(2, 3, 5,
            4) for _ in range(3)],
    }  # fmt: skip
    found = next(o for o in decomposition_table if str(o) == op)
    args = examples.get(op.removeprefix("aten."), (x,))
    torch.testing.assert_close(decomposition_table[found](*args), found(*args))


def test_registering_decompositions() -> None:
    table: dict[object, object] = {}

    @register_decomposition(torch.ops.aten.sin.default, table)  # type: ignore[arg-type]
    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.cos.default(x - torch.pi / 2)

    graph = make_fx(lambda x: x.sin(), decomposition_table=table)(torch.ones(2)).graph  # type: ignore[arg-type]
    assert [str(n.target) for n in graph.nodes if n.op == "call_function"] == [
        "aten.sub.Tensor",
        "aten.cos.default",
    ]
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_decomposition(torch.ops.aten.sin.default, table)(sine)  # type: ignore[arg-type]
    assert set(core_aten_decompositions()) <= set(decomposition_table)


@pytest.mark.parametrize("train", [False, True])
def test_files(train: bool) -> None:
    _, program = _program(train)
    file = io.BytesIO()
    save(program, file, extra_files={"note.txt": "hello"})
    file.seek(0)
    extra = {"note.txt": ""}
    found = load(file, extra_files=extra)
    assert extra == {"note.txt": "hello"}
    assert _targets(found) == _targets(program)
    assert str(found.range_constraints) == str(program.range_constraints)
    x = torch.randn(4, 3, 4, 4)
    torch.testing.assert_close(found.module()(x, scale=2.0), program.module()(x, scale=2.0))
    torch.testing.assert_close(
        found.run_decompositions().module()(x, scale=2.0)["out"].shape, torch.Size([4, 10])
    )


@pytest.mark.parametrize(
    "target",
    ["os.system.default", "getattr", "aten.__init__.__globals__", "aten.add.__class__", "eval"],
)
def test_files_run_nothing(target: str) -> None:
    file = io.BytesIO()
    save(export(nn.ReLU(), (torch.ones(2),)), file)
    changed = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "program.json":
                text = json.loads(data)
                text["nodes"][1]["target"] = target
                data = json.dumps(text).encode()
            new.writestr(name, data)
    changed.seek(0)
    with pytest.raises(ValueError, match="no program that"):
        load(changed)


def test_files_of_something_else() -> None:
    for content in (b"", b"not a zip file"):
        with pytest.raises(ValueError, match="no program"):
            load(io.BytesIO(content))
    with pytest.raises(TypeError, match="ExportedProgram"):
        save(nn.ReLU(), io.BytesIO())  # type: ignore[arg-type]


def test_stablehlo_has_symbolic_sizes() -> None:
    net, program = _program()
    lowered = stablehlo(program)
    assert str(lowered.in_avals[-1]) == "float32[s77,3,4,4]"
    state = {k: v.detach().jax() for k, v in (*net.named_parameters(), *net.named_buffers())}
    x = torch.randn(6, 3, 4, 4)
    (out, twice), changed = lowered.call(state, x.jax())
    np.testing.assert_allclose(
        np.asarray(out), net(x, scale=2.0)["out"].detach().numpy(), atol=1e-5
    )
    assert int(twice) == 12
    assert changed == {}


def test_stablehlo_gives_what_buffers_become() -> None:
    net, program = _program(True)
    state = {k: v.detach().jax() for k, v in (*net.named_parameters(), *net.named_buffers())}
    x = torch.randn(6, 3, 4, 4)
    _, changed = stablehlo(program).call(state, x.jax())
    net(x)
    np.testing.assert_allclose(
        np.asarray(changed["norm.running_mean"]), net.norm.running_mean.numpy(), atol=1e-6
    )
    assert int(changed["norm.num_batches_tracked"]) == 1
    with pytest.raises(NotImplementedError, match="random numbers"):
        stablehlo(export(nn.Dropout(), (torch.ones(3),)))


def test_stablehlo_of_what_is_made_of_sizes_alone() -> None:
    class Positions(nn.Module):
        def forward(self, x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
            ones = torch.full((x.shape[0], 1), 2.0)
            return table[torch.arange(x.shape[1]) + 1] * ones * x

    sizes = ({0: Dim("b", min=2, max=16), 1: Dim("s", min=2, max=32)}, None)
    exported = stablehlo(
        export(Positions(), (torch.ones(2, 7), torch.arange(64.0)), dynamic_shapes=sizes)
    )
    (found,), _ = exported.call({}, np.ones((3, 4), np.float32), np.arange(64, dtype=np.float32))
    assert found.tolist() == [[2.0, 4.0, 6.0, 8.0]] * 3
    # nothing with sizes that vary is left to be run
    assert (torch.arange(3) + 1).tolist() == [1, 2, 3]


def test_functional_programs_follow_changes_of_shape_in_place() -> None:
    class Turned(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[object, ...]:
            y, z = (x * 2).transpose_(0, 1), x + 1
            z.unsqueeze_(0)
            z.squeeze_(0)
            z.t_()
            z.add_(1)
            return y + z, y.shape

    x = torch.randn(2, 3)
    program = export(Turned(), (x,)).run_decompositions()
    assert not any("_." in target for target in _targets(program))
    found, shape = program.module()(x)
    torch.testing.assert_close(found, Turned()(x)[0])
    assert shape == (3, 2)
    cells = nn.GRU(3, 4, batch_first=True)
    given = torch.randn(2, 5, 3)
    torch.testing.assert_close(
        export(cells, (given,)).run_decompositions().module()(given)[0], cells(given)[0]
    )


def test_functional_programs_refuse_changes_of_views_in_place() -> None:
    class Square(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * 2
            row = y[0]
            y.t_()
            return row + 1

    with pytest.raises(NotImplementedError, match=r"t_\.default of a tensor with views"):
        export(Square(), (torch.randn(3, 3),)).run_decompositions()


@pytest.mark.parametrize("kind", ["Dropout", "Dropout2d"])
def test_dropout_in_place(kind: str):
    module = nn.Sequential(nn.Conv2d(2, 2, 1), getattr(nn, kind)(0.5, inplace=True)).eval()
    x = torch.ones(1, 2, 3, 3)
    program = torch.export.export(module, (x,))
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert called == [
        "aten.conv2d.default",
        f"aten.{'feature_' if kind != 'Dropout' else ''}dropout_.default",
    ]
    assert torch.equal(program.module()(x), module(x))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_maxima_without_their_places_are_one_tensor(n: int) -> None:
    pool = getattr(F, f"adaptive_max_pool{n}d")

    class Pool(nn.Module):
        def forward(
            self, x: torch.Tensor
        ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
            return pool(x, 2), pool(x, 2, return_indices=True)

    x = torch.randn(2, 3, *[8] * n)
    program = export(Pool(), (x,))
    torch.testing.assert_close(program.module()(x), Pool()(x))
    assert _targets(program)[0] == f"aten.adaptive_max_pool{n}d.default"
