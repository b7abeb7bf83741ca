"""Layers and functions in archives that this package writes: PyTorch computes the same."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import jtorch
from jtorch import nn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def theirs(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(theirs, x))
    return torch.from_numpy(x.detach().numpy().copy()) if isinstance(x, jtorch.Tensor) else x


def same(mine: Any, found: Any) -> None:
    if isinstance(mine, tuple):
        assert len(mine) == len(found)
        for a, b in zip(mine, found, strict=True):
            same(a, b)
    elif isinstance(mine, jtorch.Tensor):
        assert tuple(mine.shape) == tuple(found.shape)
        torch.testing.assert_close(theirs(mine), theirs(found) if isinstance(found, jtorch.Tensor)
                                   else found.detach(), rtol=1e-5, atol=1e-5)  # fmt: skip
    else:
        assert mine == found


def check(module: Any, *args: Any) -> None:
    jtorch.manual_seed(0)
    data = jtorch.jit.script(module).save_to_buffer()
    wanted = module(*args)
    same(wanted, torch.jit.load(io.BytesIO(data))(*map(theirs, args)))
    same(wanted, jtorch.jit.load(io.BytesIO(data))(*args))


def r(*shape: int) -> jtorch.Tensor:
    return jtorch.randn(*shape, generator=jtorch.Generator().manual_seed(sum(shape)))


IMAGE = r(2, 4, 6, 6)
LAYERS: list[Callable[[], Any]] = [
    lambda: nn.AdaptiveAvgPool2d(1), lambda: nn.AdaptiveAvgPool2d((2, 3)),
    lambda: nn.AdaptiveMaxPool2d(2), lambda: nn.AvgPool2d(2, divisor_override=3),
    lambda: nn.MaxPool2d(3, 2, 1), lambda: nn.Conv2d(4, 2, 3, padding="same"),
    lambda: nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"),
    lambda: nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="reflect"),
    lambda: nn.BatchNorm2d(4, track_running_stats=False), lambda: nn.InstanceNorm2d(4, affine=True),
    lambda: nn.RMSNorm(6), nn.Mish, lambda: nn.CELU(0.5), nn.SELU,
    lambda: nn.SiLU(inplace=False), lambda: nn.Hardtanh(-0.5, 0.2), nn.Hardshrink,
    nn.Softshrink, nn.Softsign, nn.Tanhshrink,
    lambda: nn.Threshold(0.1, 2.0), nn.LogSigmoid, lambda: nn.GLU(1),
    lambda: nn.Softmin(1), nn.Softmax2d, lambda: nn.PixelShuffle(2),
    lambda: nn.PixelUnshuffle(2), lambda: nn.ChannelShuffle(2), lambda: nn.Unflatten(1, (2, 2)),
    lambda: nn.Unfold(2, padding=1), lambda: nn.ConstantPad2d(1, 0.5), lambda: nn.ZeroPad2d(1),
    lambda: nn.ReflectionPad2d((1, 2, 0, 1)), lambda: nn.ReplicationPad2d(1),
    lambda: nn.CircularPad2d(2), lambda: nn.Upsample(scale_factor=2),
    lambda: nn.Upsample(size=(3, 5)), lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"),
    lambda: nn.Upsample(size=9, mode="bilinear", align_corners=True),
    lambda: nn.Dropout2d().eval(), lambda: nn.AlphaDropout().eval(),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(LAYERS)))
def test_layers_of_images(number: int) -> None:
    check(LAYERS[number](), IMAGE)


def test_layers_of_other_inputs() -> None:
    check(nn.InstanceNorm2d(4), r(4, 5, 5))
    check(nn.Upsample(scale_factor=2), r(2, 3, 4))
    check(nn.Upsample(scale_factor=2), r(2, 3, 2, 3, 4))
    check(nn.Fold((4, 4), 2), r(1, 8, 9))
    check(nn.MaxPool3d(2), r(1, 2, 4, 4, 4))
    check(nn.Conv1d(4, 2, 3, padding=1, padding_mode="replicate"), r(2, 4, 5))
    check(nn.Embedding(5, 3, padding_idx=0), jtorch.tensor([[0, 2], [4, 0]]))
    check(nn.CosineSimilarity(), r(3, 4), r(3, 4) + 1)
    check(nn.PairwiseDistance(), r(3, 4), r(3, 4) + 1)
    check(nn.Bilinear(4, 3, 2), r(5, 4), r(5, 3))


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(reduction: str) -> None:
    x, y, classes = r(3, 4), r(3, 4) + 0.5, jtorch.tensor([0, 3, 1])
    for loss in (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss):
        check(loss(reduction=reduction), x, y)
    check(nn.KLDivLoss(reduction=reduction), x, y.softmax(1))
    check(nn.BCELoss(reduction=reduction), x.sigmoid(), y.sigmoid())
    check(nn.BCEWithLogitsLoss(reduction=reduction, pos_weight=r(4).exp()), x, y.sigmoid())
    check(nn.CrossEntropyLoss(reduction=reduction, label_smoothing=0.1), x, classes)
    check(nn.NLLLoss(weight=r(4).exp(), reduction=reduction), x, classes)
    check(nn.TripletMarginLoss(reduction=reduction), x, y, x + 1)
    check(nn.CosineEmbeddingLoss(reduction=reduction), x, y, jtorch.tensor([1, -1, 1]))


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("settings", [{}, {"num_layers": 2, "bidirectional": True, "bias": False}])
def test_recurrent_layers(settings: dict[str, Any], batch_first: bool) -> None:
    n = 4 if settings else 1
    x, h = r(3, 3, 4), r(n, 3, 5)
    for made in (nn.GRU, nn.RNN):
        layer = made(4, 5, batch_first=batch_first, **settings)
        for args in ((x,), (x, h), (x[0],), (x[0], h[:, 0])):
            check(layer, *args)
    check(nn.RNN(4, 5, nonlinearity="relu", **settings), x)
    lstm = nn.LSTM(4, 5, batch_first=batch_first, **settings)
    for args in ((x,), (x, (h, h + 1)), (x[0],), (x[0], (h[:, 0], h[:, 1]))):
        check(lstm, *args)
    check(nn.LSTM(4, 5, proj_size=2, **settings), x)


def test_cells() -> None:
    x, h = r(3, 4), r(3, 5)
    for layer in (nn.GRUCell(4, 5), nn.RNNCell(4, 5, nonlinearity="relu", bias=False)):
        for args in ((x,), (x, h), (x[0],), (x[0], h[0])):
            check(layer, *args)
    for args in ((x,), (x, (h, h + 1)), (x[0],), (x[0], (h[0], h[1]))):
        check(nn.LSTMCell(4, 5), *args)


class Parts(NamedTuple):
    rows: jtorch.Tensor
    count: int = 3


def doubled(x: jtorch.Tensor) -> jtorch.Tensor:
    return x * 2


class Net(nn.Module):
    table: dict[str, list[int]]
    order: jtorch.jit.Final[int]

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.functional.relu
        self.own = doubled
        self.table = {"a": [1, 2], "b": []}
        self.sizes = {"x": 3}
        self.order = 2
        self.lstm = nn.LSTM(4, 4)

    def forward(self, x: jtorch.Tensor, given: Parts) -> tuple[Parts, jtorch.Tensor]:
        y, (h, _) = self.lstm(self.own(self.act(x)))
        z = nn.functional.dropout(h, 0.5, self.training) + self.table["a"][1] + self.sizes["x"]
        loss = nn.functional.mse_loss(z, z + self.order, reduction="sum")
        target = jtorch.zeros(y.size(0), 4, dtype=jtorch.int64)
        loss = loss + nn.functional.cross_entropy(y, target, label_smoothing=0.1)
        return Parts(count=given.count + 1, rows=y + given.rows), loss


# Names in strings are found in the module, where those of a program without `torch` would be.
for _class in (Parts, Net):
    _class.__annotations__.update(
        {
            k: eval(v, globals()) if isinstance(v, str) else v
            for k, v in _class.__annotations__.items()
        }
    )


def test_functions_named_tuples_and_dicts_of_a_module() -> None:
    net = Net().eval()
    check(net, r(2, 3, 4), Parts(r(2, 3, 4)))
