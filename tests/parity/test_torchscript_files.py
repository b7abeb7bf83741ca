"""Archives of TorchScript that PyTorch wrote, read here, and the other way."""

from __future__ import annotations

import io
import math
from typing import Any, NamedTuple

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity
nn, F = torch.nn, torch.nn.functional


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start

    def up(self, by: int) -> int:
        self.n += by
        return self.n


class Control(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.names = ["a", "b"]
        self.calls = 0

    @torch.jit.export
    def count(self) -> int:
        self.calls += 1
        return self.calls

    def forward(self, x, n: int, given: torch.Tensor | None = None):
        found: dict[str, int] = {}
        counter = Counter(2)
        for i, layer in enumerate(self.layers):
            found[self.names[i]] = counter.up(i)
            x = layer(x)
        while n > 0:
            n -= 1
            if n == 2:
                continue
            x = x * 2 + n / 2
            if float(x.sum()) > 1e6:
                break
        if given is not None:
            x = x + given
        x[0, ::2] = -1
        text = "{} {}".format(found["b"], math.floor(2.5))
        return Pair(x, n), self.count(), text, [i * i for i in range(3)], x.shape


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.lstm = nn.LSTM(4, 3, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(6, 4, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        x = F.interpolate(F.max_pool2d(x, 2), scale_factor=2.0, mode="bilinear")
        y = x.flatten(2).transpose(1, 2)
        z, (h, c) = self.lstm(y)
        z, _ = self.gru(z)
        return self.encoder(z).softmax(-1), h, c


def same(a: Any, b: Any) -> None:
    if isinstance(b, torch.Tensor):
        assert str(a.dtype) == str(b.dtype) and a.requires_grad == b.requires_grad
        torch.testing.assert_close(
            torch.tensor(a.tolist(), dtype=b.dtype), b.detach(), rtol=1e-4, atol=1e-5
        )
    elif isinstance(b, (list, tuple)):
        assert isinstance(a, list) == isinstance(b, list) and len(a) == len(b)
        for i, j in zip(a, b, strict=True):
            same(i, j)
    else:
        assert type(a) is type(b) and a == b


def ours(x: Any) -> Any:
    return jtorch.tensor(x.tolist()) if isinstance(x, torch.Tensor) else x


def both(module: Any) -> tuple[Any, Any]:
    """A program as PyTorch and as this package reads it."""
    data = torch.jit.script(module).save_to_buffer()
    return torch.jit.load(io.BytesIO(data)), jtorch.jit.load(io.BytesIO(data))


def test_scripted_modules_give_the_same() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 4)
    for module, args in (
        (Control(), (torch.ones(3, 4), 5)),
        (Control(), (torch.ones(3, 4), 2, torch.ones(4))),
        (Layers().eval(), (x,)),
        (Layers(), (x,)),
        (Layers().requires_grad_(False).eval(), (x,)),
    ):
        theirs, mine = both(module)
        wanted = theirs(*[a.clone() if isinstance(a, torch.Tensor) else a for a in args])
        same(mine(*map(ours, args)), wanted)
        assert repr(mine) == repr(theirs)
        for (name, a), (other, b) in zip(
            mine.state_dict().items(), theirs.state_dict().items(), strict=True
        ):
            assert name == other
            same(a, b)


def test_gradients_of_what_is_loaded() -> None:
    torch.manual_seed(0)
    theirs, mine = both(Layers())
    x = torch.randn(2, 3, 4, 4)
    for module, given in ((theirs, x), (mine, ours(x))):
        module(given)[0].square().sum().backward()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        same(a.grad, b.grad)


class Net(jtorch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = jtorch.nn.Parameter(jtorch.randn(1, 9, 4))
        self.layers = jtorch.nn.Sequential(jtorch.nn.Linear(4, 12), jtorch.nn.ReLU())
        self.norm = jtorch.nn.BatchNorm1d(4)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        x = x + self.table[:, :length]
        q, k, v = self.layers(x).reshape(batch, length, 3, 2, 2).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * width**-0.5
        scores = scores.masked_fill(
            jtorch.ones(length, length, dtype=jtorch.bool).triu(1), float("-inf")
        )
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        y[:, 0] = 0
        return self.norm(y.transpose(1, 2)), {"scores": scores, "sum": y.sum((0, 1))}


def half(x: jtorch.Tensor, n: int) -> jtorch.Tensor:
    for i in range(n):
        x = x / 2 if i % 2 == 0 else -x
    return x


class Scripted(jtorch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = jtorch.nn.ModuleList([
            jtorch.nn.Sequential(jtorch.nn.Linear(4, 4), jtorch.nn.LayerNorm(4)),
            jtorch.nn.GELU(),
            jtorch.nn.Tanh(),
        ])  # fmt: skip
        self.calls = 0

    def forward(self, x: jtorch.Tensor, n: int, more: jtorch.Tensor | None = None) -> Any:
        found: list[jtorch.Tensor] = []
        for layer in self.layers:
            x = layer(x)
            found.append(x)
        if more is not None and n > 1:
            x = x + more
        self.calls += 1
        x = x.clone()
        x[:, 0] *= n
        while x.abs().sum() > 4:
            x = half(x, n + self.calls)
        return x, [f.sum() for f in found], self.calls


Scripted.forward.__annotations__["return"] = tuple[jtorch.Tensor, list[jtorch.Tensor], int]


def test_scripted_modules_are_read_by_pytorch() -> None:
    jtorch.manual_seed(0)
    net = Scripted()
    theirs = torch.jit.load(io.BytesIO(jtorch.jit.script(net).save_to_buffer()))
    for shape, n, more in (((2, 4), 1, None), ((5, 4), 2, jtorch.ones(4)), ((1, 4), 3, None)):
        x = jtorch.randn(*shape)
        given = None if more is None else torch.tensor(more.tolist())
        found = theirs(torch.tensor(x.tolist()), n, given)
        same(net(x, n, more), found)


@pytest.mark.parametrize("training", [False, True])
def test_traced_modules_are_read_by_pytorch(training: bool) -> None:
    jtorch.manual_seed(0)
    net = Net().train(training)
    x = jtorch.randn(1, 3, 4)
    data = jtorch.jit.trace(net, x, check_trace=False, strict=False).save_to_buffer()
    theirs = torch.jit.load(io.BytesIO(data))
    assert list(theirs.state_dict()) == list(net.state_dict())
    x = jtorch.randn(3, 5, 4)
    found, wanted = theirs(torch.tensor(x.tolist())), net(x)
    same(wanted[0], found[0])
    for key, value in found[1].items():
        same(wanted[1][key], value)
    for key, value in theirs.state_dict().items():
        same(net.state_dict()[key], value)
