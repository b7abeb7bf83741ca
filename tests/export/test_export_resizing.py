"""Sizes that are made of sizes that vary: resized images, pools, pieces and ranges keep them, in
the graph and in StableHLO."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._src.tensor.shape_env import ConstraintViolation
from jtorch.export import Dim, export, stablehlo
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.nn import functional as F


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


TABLE = torch.arange(48.0).reshape(1, 3, 4, 4).sin()

PROGRAMS = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest of a size": lambda x: F.interpolate(x[..., ::2, ::2], size=x.shape[2:]),
    "exact": lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
    "smaller": lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear"),
    "corners": lambda x: F.interpolate(
        x, scale_factor=(1.5, 0.75), mode="bilinear", align_corners=True
    ),
    "no change": lambda x: F.interpolate(x, size=(x.shape[2], x.shape[3] * 2), mode="bilinear"),
    "anew": lambda x: F.interpolate(
        x, scale_factor=1.25, mode="bilinear", recompute_scale_factor=True
    ),
    "cubic": lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"),
    "positions": lambda x: x + F.interpolate(TABLE, size=x.shape[2:], mode="bicubic"),
    "rows": lambda x: F.interpolate(x.flatten(1, 2), scale_factor=0.5, mode="linear"),
    "area": lambda x: F.interpolate(x, scale_factor=0.75, mode="area"),
    "there and back": lambda x: F.interpolate(F.interpolate(x, scale_factor=2.0), scale_factor=0.5),
    "means": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "means of half": lambda x: F.adaptive_avg_pool2d(x, (x.shape[2] // 2, 3)),
    "largest": lambda x: F.adaptive_max_pool2d(x, (1, 3)),
    "places of the largest": lambda x: F.adaptive_max_pool2d(x, (2, None), return_indices=True)[1],
    "pool": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "powers": lambda x: F.lp_pool2d(x, 2, 2),
    "filled up": lambda x: F.pad(x, (0, (8 - x.shape[3] % 8) % 8)),
    "places": lambda x: x.argmax(-1),
    "sorted": lambda x: x.topk(2, -1)[0],
    "ones": lambda x: torch.eye(x.shape[2]) @ x,
    "distances": lambda x: torch.cdist(x, x + 1),
    "sampled": lambda x: F.grid_sample(
        x,
        F.affine_grid(TABLE[:, 0, :2, :3].expand(x.shape[0], 2, 3), x.shape, False),
        align_corners=False,
    ),
    "corners sampled": lambda x: F.affine_grid(
        TABLE[:, 0, :2, :3].expand(x.shape[0], 2, 3), x.shape, True
    ),
    "windows": lambda x: F.unfold(x, 3, padding=1, stride=2),
    "windows that fit": lambda x: F.unfold(x, 3),
    "windows added up": lambda x: F.fold(F.unfold(x, 2), x.shape[2:], 2),
    "places of windows": lambda x: F.avg_pool2d(x, 3, 1).flatten(2).transpose(1, 2),
    "a row for all": lambda x: x[:, :, 1:, 1:].reshape(x.shape[0], -1).softmax(-1),
    "as many": lambda x: torch.arange((x.shape[2] - 1) * (x.shape[3] - 1)),
    "range": lambda x: x * torch.arange(1, x.shape[3] + 1, dtype=torch.float32),
}
SIZES = ({0: Dim("batch", min=2), 2: Dim("height", min=4), 3: Dim("width", min=4)},)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_of_sizes(name) -> None:
    module = Of(PROGRAMS[name])
    program = export(module, (torch.ones(2, 3, 8, 8),), dynamic_shapes=SIZES)
    lowered, state = (
        stablehlo(program),
        {name: value.jax() for name, value in program.constants.items()},
    )
    for size in ((4, 3, 16, 10), (2, 3, 5, 7)):
        x = torch.arange(float(torch.Size(size).numel())).reshape(size).cos()
        wanted = module(x)
        torch.testing.assert_close(program.module()(x), wanted)
        ((found,), _) = lowered.call(state, x.jax())
        torch.testing.assert_close(torch.from_jax(found), wanted, rtol=1e-5, atol=1e-5)


def test_windows_of_a_size_that_varies() -> None:
    program = export(
        Of(lambda x: x.unfold(1, 3, 1)), (torch.ones(2, 8),), dynamic_shapes=({1: Dim("length")},)
    )
    x = torch.randn(2, 5)
    torch.testing.assert_close(program.module()(x), x.unfold(1, 3, 1))


def test_the_last_nan_is_the_largest() -> None:
    program = export(
        Of(lambda x: F.adaptive_max_pool2d(x, (1, 2), return_indices=True)),
        (torch.ones(2, 1, 8, 8),),
        dynamic_shapes=SIZES,
    )
    x = torch.zeros(2, 1, 4, 6)
    x[0, 0, 1, 1] = x[0, 0, 2, 1] = x[1, 0, 3, 5] = torch.nan
    found, _ = stablehlo(program).call({}, x.jax())
    for got, wanted in zip(found, program.module()(x), strict=True):
        torch.testing.assert_close(torch.from_jax(got), wanted, equal_nan=True)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_gradients_of_resized_images(mode) -> None:
    def function(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(F.interpolate(x, scale_factor=1.5, mode=mode).square().sum(), x)[
            0
        ]

    x = torch.randn(2, 2, 6, 5)
    traced = make_fx(function, tracing_mode="symbolic")(torch.randn(3, 2, 8, 10))
    torch.testing.assert_close(traced(x), function(x))


def test_factors_that_round_are_not_assumed() -> None:
    program = Of(lambda x: F.interpolate(x, scale_factor=0.1))
    with pytest.raises(ConstraintViolation, match=r"not by 0\.1"):
        export(program, (torch.ones(2, 3, 20, 20),), dynamic_shapes=SIZES)
    assert export(program, (torch.ones(2, 3, 20, 20),)).module()(
        torch.ones(2, 3, 20, 20)
    ).shape == (2, 3, 2, 2)


def test_how_a_convolution_is_computed_decides_nothing() -> None:
    conv = nn.Conv1d(4, 2, 3).requires_grad_(False)
    module = Of(lambda x: conv(x.mT))
    sizes = ({0: Dim("batch", min=2, max=64), 1: Dim("length", min=4, max=64)},)
    program = export(module, (torch.ones(2, 5, 4),), dynamic_shapes=sizes)
    x = torch.arange(84.0).reshape(3, 7, 4).sin()
    torch.testing.assert_close(program.module()(x), module(x))
