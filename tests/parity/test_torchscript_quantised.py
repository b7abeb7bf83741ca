"""Scripted quantised models go from one to the other."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def static(t: Any) -> tuple[Any, Any]:
    nn, q = t.nn, t.ao.quantization

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.conv, self.norm, self.relu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
            self.other, self.pool = nn.Conv2d(4, 4, 1), nn.AdaptiveAvgPool2d(2)
            self.skip = nn.quantized.FloatFunctional()
            self.first, self.act, self.second = nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 5)

        def forward(self, x):
            x = self.relu(self.norm(self.conv(self.quant(x))))
            x = t.flatten(self.pool(self.skip.add(x, self.other(x))), 1)
            return self.dequant(self.second(self.act(self.first(x))))

    t.manual_seed(0)
    net = Net().eval()
    q.fuse_modules(net, [["conv", "norm", "relu"], ["first", "act"]], inplace=True)
    t.backends.quantized.engine = "fbgemm"
    net.qconfig = q.get_default_qconfig("fbgemm")
    prepared = q.prepare(net)
    t.manual_seed(1)
    x = t.randn(4, 3, 8, 8)
    prepared(x)
    return q.convert(prepared), x


def dynamic(t: Any) -> tuple[Any, Any]:
    t.manual_seed(0)
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 2))
    return t.ao.quantization.quantize_dynamic(net), t.randn(2, 3)


def sent(source: Any, target: Any, module: Any) -> Any:
    file = io.BytesIO()
    source.jit.save(module, file)
    file.seek(0)
    return target.jit.load(file)


@pytest.mark.parametrize("make", [static, dynamic])
def test_models_go_from_one_to_the_other(make: Callable[[Any], tuple[Any, Any]]) -> None:
    for source, target in ((jtorch, torch), (torch, jtorch), (jtorch, jtorch)):
        module, x = make(source)
        loaded = sent(source, target, source.jit.script(module))
        wanted = torch.tensor(module(x).tolist())
        given = target.tensor(x.tolist())
        torch.testing.assert_close(torch.tensor(loaded(given).tolist()), wanted)
        if target is jtorch:  # what was loaded can be written again
            again = sent(jtorch, source, loaded)
            torch.testing.assert_close(torch.tensor(again(x).tolist()), wanted)
