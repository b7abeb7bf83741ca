"""Small models to be quantised in tests, as ``TestHelperModules``."""

from __future__ import annotations

import jtorch as torch
from jtorch import nn


class _ControlFlow(nn.Module):
    """A map over branches."""

    def forward(
        self, xs: torch.Tensor, pred1: torch.Tensor, pred2: torch.Tensor, y: torch.Tensor
    ) -> torch.Tensor:
        """The sum with ``y`` of what the branches give."""

        def nested(y: torch.Tensor) -> torch.Tensor:
            return torch.cond(pred2, lambda y: y + y, lambda y: torch.mm(y, y), [y])

        y = torch.cond(pred1, lambda y: torch.mm(y, y), nested, [y])
        found = torch._higher_order_ops.map(lambda x, y: x + y, xs, y)
        return (found + y) @ y

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Arguments."""
        return torch.ones(2, 2), torch.tensor([False]), torch.tensor([False]), torch.ones(2, 2)


class _Conv2dPropAnnotaton(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.linear = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(nn.functional.hardtanh(self.conv(x).view(-1, 3), -0.5, 0.5))


class _Conv2dWithObsSharingOps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.hardtanh = nn.Hardtanh()
        self.adaptive_avg_pool2d = nn.AdaptiveAvgPool2d((1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mean(self.hardtanh(self.adaptive_avg_pool2d(self.conv(x))))


class _Conv2dWithTwoLinearPermute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.linear1 = nn.Linear(16, 8, bias=False)
        self.linear2 = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear2(self.linear1(torch.permute(self.conv(x), (0, 2, 3, 1))))


class _Conv2dWithTwoLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.linear1 = nn.Linear(64, 8, bias=False)
        self.linear2 = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear2(self.linear1(torch.reshape(self.conv(x), (2, 64))))


class _ConvLinearWPermute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.linear1 = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear1(torch.permute(self.conv(x), (0, 2, 3, 1)))


class _TwoLinearModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1 = nn.Linear(8, 16, bias=False)
        self.linear2 = nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear2(self.linear1(x))

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Arguments."""
        return (torch.randn(2, 8),)


class _ConvMaxPool2d(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 1)
        self.pool = nn.MaxPool2d(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(self.conv(x))


class _ConvWithAdaptiveAvgPool2d(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.adaptive_avg_pool2d = nn.AdaptiveAvgPool2d((1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.adaptive_avg_pool2d(self.conv(x))


class _ConvWithBNRelu(nn.Module):
    def __init__(
        self, relu: bool, dim: int = 2, bn: bool = True, bias: bool = True, padding: int = 0
    ) -> None:
        super().__init__()
        convs = {1: nn.Conv1d, 2: nn.Conv2d}
        norms = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d}
        self.conv = convs[dim](3, 3, 3, bias=bias, padding=padding)
        self.bn = norms[dim](3) if bn else nn.Identity()
        self.relu = nn.ReLU() if relu else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.bn(self.conv(x)))


class _ConvTWithBNRelu(nn.Module):
    def __init__(self, relu: bool, dim: int = 2, bn: bool = True, bias: bool = True) -> None:
        super().__init__()
        convs = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d}
        norms = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d}
        self.convt = convs[dim](3, 3, 3, bias=bias)
        self.bn = norms[dim](3) if bn else nn.Identity()
        self.relu = nn.ReLU() if relu else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.bn(self.convt(x)))


class _Conv2dThenConv1d(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1d = nn.Conv1d(3, 3, 3)
        self.conv2d = nn.Conv2d(3, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(self.conv2d(x).squeeze(0))

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Arguments."""
        return (torch.randn(1, 3, 5, 5),)


class _TwoConvs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 3, 3)
        self.conv2 = nn.Conv2d(3, 3, 3)


class _Conv2dWithCat(_TwoConvs):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = self.conv1(x), self.conv2(y)
        return torch.cat([x, y], dim=1)


class _Conv2dWithTwoCat(_TwoConvs):
    def forward(
        self, x1: torch.Tensor, x2: torch.Tensor, x3: torch.Tensor, x4: torch.Tensor
    ) -> torch.Tensor:
        x1, x2 = self.conv1(x1), self.conv2(x2)
        y = torch.cat([x1, x2], dim=1)
        return torch.cat([x3 + x4, y])


class _Conv2dWithSplit(_TwoConvs):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = torch.split(self.conv1(x), 2, dim=1)
        return torch.cat([first, second], dim=1)

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Arguments."""
        return (torch.randn(1, 3, 16, 16),)


class _ThreeAdd(nn.Module):
    def forward(
        self, x1: torch.Tensor, x2: torch.Tensor, x3: torch.Tensor, x4: torch.Tensor
    ) -> torch.Tensor:
        y = x1 + x2
        z = x3 + x4
        return y + z


class _EmbeddingModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(num_embeddings=10, embedding_dim=12)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return self.emb(indices)


class _EmbeddingConvLinearModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(num_embeddings=10, embedding_dim=8)
        self.conv = nn.Conv2d(8, 16, (1, 3))
        self.linear = nn.Linear(16, 8)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        found = torch.permute(torch.unsqueeze(self.emb(indices), dim=0), (0, 3, 1, 2))
        return self.linear(torch.squeeze(torch.permute(self.conv(found), (0, 2, 3, 1)), dim=0))


class _AddInplaceAdd(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x + y
        x += y
        return x


class _MulInplaceMul(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x * y
        x *= y
        return x


class _AddMulScalar(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 3
        x = x * 3
        x += 3
        x *= 3
        return x


class _ConvBnReLU2dAndLinearReLU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv_bn_relu = _ConvWithBNRelu(relu=True)
        self.linear = nn.Linear(3, 8, bias=False)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.permute(self.conv_bn_relu(x), (0, 2, 3, 1)))


class _GroupwiseConv2d(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, groups=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Arguments."""
        return (torch.randn(2, 4, 10, 10),)


class _LinearReluModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(5, 5).to(dtype=torch.float)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.fc(x))


class TestHelperModules:
    """The models by name."""

    __test__ = False


for _made in [
    v
    for v in vars().copy().values()
    if isinstance(v, type) and issubclass(v, nn.Module) and v is not _TwoConvs
]:
    _made.__name__ = _made.__name__.lstrip("_")
    _made.__qualname__ = f"TestHelperModules.{_made.__name__}"
    setattr(TestHelperModules, _made.__name__, _made)
