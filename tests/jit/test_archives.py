"""Archives of TorchScript: what is read of them, what is written, and what is refused."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn

HEAD = "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"


def archive(code: str, more: bytes = b"", version: str = "10", **files: bytes) -> io.BytesIO:
    """An archive of a module ``Net`` without attributes but for its mode."""
    data = b"\x80\x02c__torch__\nNet\n)\x81}(X\x08\x00\x00\x00training\x89" + more + b"ub."
    records = {
        "data.pkl": data, "constants.pkl": b"\x80\x02).", "version": version.encode(),
        "code/__torch__.py": code.encode(), **files,
    }  # fmt: skip
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, record in records.items():
            file.writestr(f"net/{name}", record)
    made.seek(0)
    return made


def method(body: str, given: str = "x: Tensor", result: str = "Tensor") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}  def forward(self: __torch__.Net,\n    {given}) -> {result}:\n{lines}"


def test_code_runs_with_its_own_rules_of_numbers() -> None:
    body = """out = annotate(List[float], [])
i = 0
while torch.lt(i, n):
  if torch.eq(torch.remainder(i, 2), 0):
    _0 = torch.append(out, torch.div(i, 2))
  else:
    _0 = torch.append(out, torch.pow(i, 2))
  i = torch.add(i, 1)
for j in range(2):
  _1 = torch.append(out, float(torch.floordiv(torch.neg(j), 2)))
a, b, = (torch.format("{} {}", [1, n], 2.), {"k": torch.mul(x, inf)})
return (out, a, b["k"], torch.__is__(None, None), torch.slice([1, 2, 3], 1))"""
    code = method(body, "x: Tensor,\n    n: int=3", "Any")
    net = torch.jit.load(archive(code))
    out, text, scaled, same, rest = net(torch.ones(1))
    assert out == [0.0, 1.0, 1.0, 0.0, -1.0] and all(type(x) is float for x in out)
    assert (text, same, rest) == ("[1, 3] 2.", True, [2, 3]) and scaled.item() == float("inf")
    assert net.original_name == "Net" and not net.training and net.code.startswith("def forward(")


def test_dtypes_devices_and_writes() -> None:
    body = """y = torch.zeros([2, torch.size(x, 0)], dtype=7, layout=0, device=torch.device("cpu"))
_0 = torch.copy_(torch.select(y, 0, 1), x)
_1 = torch.add_(torch.select(x, 0, 0), 5)
return torch.to(y, ops.prim.dtype(x))"""
    x = torch.tensor([1.0, 2.0])
    net = torch.jit.load(archive(method(body)), map_location="cpu")
    assert torch.equal(net(x), torch.tensor([[0.0, 0.0], [1.0, 2.0]])) and x[0].item() == 6
    assert torch.jit.load(archive(method(body)), map_location="meta")(x).device.type == "meta"


def test_errors_have_the_place_and_the_kind() -> None:
    body = """if torch.gt(torch.dim(x), 1):
  ops.prim.RaiseException("no", "builtins.ValueError")
else:
  pass
return torch.mm(x, x)"""
    net = torch.jit.load(archive(method(body)))
    with pytest.raises(torch.jit.Error, match=r"line 8, in forward\nbuiltins\.ValueError: no"):
        net(torch.ones(1, 1))
    with pytest.raises(RuntimeError, match=r"TorchScript interpreter(.|\n)*line 11, in forward"):
        net(torch.ones(1))
    with pytest.raises(RuntimeError, match=r"forward\(\) is missing value for argument 'x'"):
        net()
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'Tensor' for argument 'x'"):
        net("text")


@pytest.mark.parametrize(
    "body",
    [
        "import os\nreturn x",
        "return x.__class__",
        "return (x).jax()",
        "return __import__(x)",
        'return getattr(self, "__class__")',
        'return torch.format("{}", open)',
        "return torch.load(x)",
        "return torch._ops.x(x)",
        "return torch.__class__(x)",
        "return (lambda: x)()",
        "return (i for i in x)",
        "return eval(x)",
        "return ops.os.system(x)",
        "return __torch__.os.system(x)",
        "def f(y=exec): return y\nreturn f(x)",
    ],
)
def test_code_reaches_nothing_but_operators(body: str) -> None:
    with pytest.raises(RuntimeError):
        torch.jit.load(archive(method(body)))(torch.ones(1))


def test_pickles_reach_nothing_but_the_archives_classes(tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    given = b"X\x01\x00\x00\x00a" + pickle.dumps(Runs(), 2)[2:-1]
    with pytest.raises(RuntimeError, match=r"data\.pkl is damaged.*not an allowed global"):
        torch.jit.load(archive(HEAD + "  a : Any\n", given))
    assert not list(tmp_path.iterdir())


def test_archives_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"The provided filename .*none\.pt does not exist"):
        torch.jit.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="failed finding central directory"):
        torch.jit.load(io.BytesIO(b"hello"))
    weights = io.BytesIO()
    torch.save({"a": 1}, weights)
    weights.seek(0)
    with pytest.raises(RuntimeError, match=r"locating file constants\.pkl: file not found"):
        torch.jit.load(weights)
    code = method("return x")
    with pytest.raises(RuntimeError, match="file with version 11, but the maximum supported"):
        torch.jit.load(archive(code, version="11"))
    with pytest.raises(ValueError, match="map_location should be either None, string or"):
        torch.jit.load(archive(code), map_location=lambda s, _: s)
    with pytest.raises(RuntimeError, match="Unknown builtin op: nowhere::f"):
        torch.jit.load(archive(method("return ops.nowhere.f(x)")))


def test_load_sends_archives_of_programs_to_jit() -> None:
    with pytest.warns(UserWarning, match="looks like a TorchScript archive"):
        made = torch.load(archive(method("return x")), weights_only=False)
    assert isinstance(made, torch.jit.ScriptModule)
    with (
        pytest.warns(UserWarning, match="looks like a TorchScript archive"),
        pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript"),
    ):
        torch.load(archive(method("return x")))


def test_old_versions_divide_as_they_did() -> None:
    code = method("return torch.div(x, 2)")
    for version, wanted in (("3", [1, -1]), ("10", [1.5, -1.5])):
        net = torch.jit.load(archive(code, version=version))
        assert net(torch.tensor([3, -3])).tolist() == wanted


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2))
        self.out = nn.Linear(2, 3)
        self.register_buffer("shift", torch.ones(3), persistent=False)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> dict[str, torch.Tensor]:
        y = self.layers(x)
        y = y.view(y.size(0), 2, -1).mean(-1)
        return {"out": self.out(y) * scale + self.shift, "size": y * y.shape[0]}


def test_traced_modules_are_written_with_sizes_that_follow_the_inputs(tmp_path: Path) -> None:
    net = Net().eval()
    traced = torch.jit.trace(net, (torch.ones(1, 1, 5, 5), torch.ones(3)), strict=False)
    traced.save(tmp_path / "net.pt", _extra_files={"note": "text"})
    extra = {"note": b"", "other": b""}
    made = torch.jit.load(tmp_path / "net.pt", _extra_files=extra)
    assert extra == {"note": b"text", "other": b""}
    x, scale = torch.randn(4, 1, 6, 7), torch.tensor(2.0)
    for key, value in net(x, scale.expand(3)).items():
        assert torch.allclose(made(x, scale.expand(3))[key], value, atol=1e-6)
    assert {*net.state_dict(), "shift"} == set(made.state_dict())
    assert made.layers.original_name == "Sequential" and not made.training
    made(x, scale.expand(3))["out"].sum().backward()
    assert made.out.weight.grad is not None
    with pytest.raises(RuntimeError):  # its own call was not recorded
        made.layers(x)


def test_what_is_loaded_is_written_again_and_copied() -> None:
    traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
    made = torch.jit.load(io.BytesIO(traced.save_to_buffer()))
    with torch.no_grad():
        made.weight.fill_(2)
    again = torch.jit.load(io.BytesIO(made.save_to_buffer()))
    assert torch.equal(again.weight, made.weight) and again.code == made.code
    other = made.__deepcopy__({})
    other.double()
    assert other.weight.dtype is torch.float64 and made.weight.dtype is torch.float32


def test_functions_and_frozen_modules_are_written() -> None:
    given = (torch.ones(1, 2), torch.ones(2, 2))
    function = torch.jit.trace(lambda x, y: (x @ y, [x]), given, strict=False)
    made = torch.jit.load(io.BytesIO(function.save_to_buffer()))
    product, (x,) = made(torch.full((3, 2), 2.0), torch.ones(2, 2))
    assert product.tolist() == [[4.0, 4.0]] * 3 and x.shape == (3, 2)
    net = nn.Linear(2, 1).eval()
    frozen = torch.jit.freeze(torch.jit.trace(net, torch.ones(1, 2)))
    made = torch.jit.load(io.BytesIO(frozen.save_to_buffer()))
    assert not list(made.parameters())
    assert torch.allclose(made(torch.ones(3, 2)), net(torch.ones(3, 2)))


SCALE = 2.5


def scaled(x: torch.Tensor, n: int = 2) -> torch.Tensor:
    if n > 1:
        x = x * n
    return x + SCALE


class Branches(nn.Module):
    given: torch.Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU())
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.register_buffer("shift", torch.ones(8))
        self.given, self.times, self.names = None, 3, ["a", "b"]

    @torch.jit.export
    def count(self) -> int:
        self.times += 1
        return self.times

    def chosen(self, x: torch.Tensor, flag: bool) -> torch.Tensor:
        return x * self.times if flag else x - len(self.names)

    def forward(self, x: torch.Tensor, n: int, more: torch.Tensor | None = None) -> torch.Tensor:
        """Of each kind of statement one."""
        y = self.first(x).flatten(1)[:, :8]
        for i, layer in enumerate(self.layers):
            y = nn.functional.relu(layer(y)) + i
        for j in range(n):
            if j == 2:
                break
            y = y * self.shift
        y = self.chosen(y, y.size(0) > 1)
        if more is not None:
            y = y + more
        while y.abs().sum() > 10:
            y = y / 2
        if n > 9:
            raise ValueError(f"{n} is too much")
        z = scaled(y, n)
        z[0] = 0.0
        z[:, 1] += 2
        return torch.cat([z, y], dim=1).view(z.size(0), -1).softmax(-1).to(torch.float64)


def test_scripted_modules_keep_their_branches() -> None:
    net = Branches().eval()
    made = torch.jit.load(io.BytesIO(torch.jit.script(net).save_to_buffer()))
    x = torch.randn(1, 1, 2, 4)
    for args in ((x, 1), (x.expand(3, 1, 2, 4), 4), (x, 2, torch.ones(8))):
        assert torch.allclose(made(*args), net(*args))
    with pytest.raises(torch.jit.Error, match=r"builtins\.ValueError: 10 is too much"):
        made(x, 10)
    assert made.count() == 4 and made.times == 4 and made.code.count("if ") == 3


def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class Held(nn.Module):
    table: dict[str, int]

    def __init__(self, function: object) -> None:
        super().__init__()
        self.act, self.table = function, {"a": 2}
        self.cell = nn.GRUCell(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.dropout(self.cell(x), 0.5, self.training)
        return self.act(x) * self.table["a"]


@pytest.mark.parametrize("function", [nn.functional.relu, torch.sin, shifted])
def test_functions_that_modules_hold_are_written(function: object) -> None:
    net = Held(function).eval()
    made = torch.jit.load(io.BytesIO(torch.jit.script(net).save_to_buffer()))
    x = torch.randn(3, 2)
    assert torch.allclose(made(x), net(x))


def test_attributes_that_no_method_uses_are_written() -> None:
    net = Held(torch.relu)
    net.more, net.number, net.names, net.other = 3 + 5j, 2.5, ["a"], object()
    made = torch.jit.load(io.BytesIO(torch.jit.script(net).save_to_buffer()))
    assert (made.more, made.number, made.names) == (3 + 5j, 2.5, ["a"])
    assert not hasattr(made, "other")


class Stated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.randn(2)

    @torch.jit.export
    def __getstate__(self):
        return (self.table * 2, self.training)

    @torch.jit.export
    def __setstate__(self, state):
        self.table = state[0]
        self.training = state[1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.table


def test_modules_that_say_their_state_are_written() -> None:
    net = nn.Sequential(Stated()).eval()
    made = torch.jit.load(io.BytesIO(torch.jit.script(net).save_to_buffer()))
    x = torch.ones(2)
    assert torch.allclose(made(x), 1 + 2 * net[0].table) and not getattr(made, "0").training


def test_frozen_scripted_modules_are_written() -> None:
    net = Branches().eval()
    frozen = torch.jit.freeze(torch.jit.script(net))
    made = torch.jit.load(io.BytesIO(frozen.save_to_buffer()))
    x = torch.randn(1, 1, 2, 4)
    assert torch.allclose(made(x, 1), net(x, 1)) and torch.allclose(made(x, 4), net(x, 4))
    assert not list(made.parameters()) and not made.state_dict()


def test_quantised_layers_are_written() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    made = torch.ao.quantization.quantize_dynamic(net)
    loaded = torch.jit.load(io.BytesIO(torch.jit.script(made).save_to_buffer()))
    x = torch.randn(2, 3)
    assert torch.equal(loaded(x), made(x))
    x = torch.quantize_per_channel(torch.randn(2, 3), torch.ones(3), torch.zeros(3), 1, torch.qint8)
    held = Held(torch.relu)
    held.grid = x
    loaded = torch.jit.load(io.BytesIO(torch.jit.script(held).save_to_buffer()))
    assert torch.equal(loaded.grid.int_repr(), x.int_repr())


def parts(x: torch.Tensor) -> list[torch.Tensor]:
    found = torch.jit.annotate(list[torch.Tensor], [])
    for part in torch.split(x, [1, 2]):
        found.append(part * torch.tensor(2.0))
    return found


def test_annotations_in_expressions_are_written() -> None:
    made = torch.jit.load(io.BytesIO(torch.jit.script(parts).save_to_buffer()))
    assert [p.tolist() for p in made(torch.ones(3))] == [[2.0], [2.0, 2.0]]


def test_scripted_programs_without_a_text_are_refused_by_name(tmp_path: Path) -> None:
    class Tries(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            try:
                return x
            except ValueError:
                return x

    class Without(nn.Module):
        @torch.no_grad()
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    def reads(x: torch.Tensor) -> torch.Tensor:
        return x + io.DEFAULT_BUFFER_SIZE + len(io.__all__)

    hooked = nn.Linear(1, 1)
    hooked.register_forward_hook(lambda *_: None)
    for program, why in (
        (Tries(), r"Tries\.forward has Try in line 2"),
        (Without(), r"Without\.forward has the decorator torch\.no_grad"),
        (reads, r"reads has io\.__all__, which is no constant"),
        (hooked, "Linear has hooks"),
        (nn.MultiheadAttention(2, 1), "MultiheadAttention"),
    ):
        with pytest.raises(NotImplementedError, match=why):
            torch.jit.script(program).save(tmp_path / "f.pt")
    assert not list(tmp_path.iterdir())


@torch.jit.script
def choose(x: torch.Tensor) -> torch.Tensor:
    if x.size(0) > 1:
        return x + 1
    return x


def test_traces_that_show_one_branch_are_refused_and_write_nothing(tmp_path: Path) -> None:
    def by_value(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    for function, why in (
        (by_value, "Python reads the values"),
        (lambda x: choose(x) * 2, "choose, a scripted function with branches"),
    ):
        traced = torch.jit.trace(function, torch.ones(2))
        with pytest.raises(NotImplementedError, match=why):
            torch.jit.save(traced, tmp_path / "f.pt")
    assert not list(tmp_path.iterdir())
