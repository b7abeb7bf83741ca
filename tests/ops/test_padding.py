"""Padding in every mode, against NumPy's ``pad``."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import functional as F

TOO_MUCH = "Padding size should be less than the corresponding input dimension"
NUMPY_MODE = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPY_MODE)
@pytest.mark.parametrize(
    ("shape", "pad"),
    [
        ((2, 5), (2, 1)),
        ((1, 2, 5), (0, 3)),
        ((2, 3, 4), (1, 2, 2, 0)),
        ((1, 2, 3, 4, 5), (1, 1, 2, 0, 0, 2)),
    ],
)
def test_modes_follow_numpy(mode: str, shape: tuple[int, ...], pad: tuple[int, ...]) -> None:
    x = torch.arange(float(np.prod(shape))).reshape(shape)
    pairs = [(0, 0)] * (len(shape) - len(pad) // 2) + [
        (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
    ]
    np.testing.assert_array_equal(
        F.pad(x, pad, mode).numpy(), np.pad(x.numpy(), pairs, NUMPY_MODE[mode])
    )


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_many_elements(mode: str) -> None:
    x = torch.arange(3.0 * 80 * 90).reshape(3, 80, 90).requires_grad_()
    wanted = np.pad(x.detach().numpy(), ((0, 0), (4, 0), (2, 79)), NUMPY_MODE[mode])
    made = F.pad(x, (2, 79, 4, 0), mode)
    np.testing.assert_array_equal(made.detach().numpy(), wanted)
    weight = torch.arange(float(wanted.size)).reshape(wanted.shape) % 7
    (made * weight).sum().backward()
    places = np.pad(
        np.arange(x.numel()).reshape(x.shape), ((0, 0), (4, 0), (2, 79)), NUMPY_MODE[mode]
    )
    np.testing.assert_array_equal(
        x.grad.numpy().reshape(-1), np.bincount(places.reshape(-1), weight.numpy().reshape(-1))
    )
    np.testing.assert_array_equal(
        torch.vmap(lambda a: F.pad(a, (2, 79), mode))(x).detach().numpy(), wanted[:, 4:]
    )


def test_constant_pads_and_crops() -> None:
    x = torch.tensor([[1, 2, 3]])
    assert F.pad(x, (1, -1), value=9).tolist() == [[9, 1, 2]]
    assert F.pad(x, (0, 0, 1, 0)).tolist() == [[0, 0, 0], [1, 2, 3]]
    assert torch.constant_pad_nd(x, (-1, 1), 9.5).tolist() == [[2, 3, 9]]


def test_gradients() -> None:
    for mode, expected in [
        ("reflect", [1.0, 3.0, 1.0]),
        ("replicate", [2.0, 1.0, 2.0]),
        ("circular", [2.0, 1.0, 2.0]),
    ]:
        x = torch.ones(1, 3, requires_grad=True)
        F.pad(x, (1, 1), mode).sum().backward()
        assert x.grad.tolist() == [expected], mode


def test_negative_padding_mirrors_what_it_crops() -> None:
    x = torch.tensor([[0.0, 1.0, 2.0]])
    assert F.pad(x, (-1, 2), "reflect").tolist() == [[1.0, 2.0, 1.0, 0.0]]
    assert F.pad(x, (-1, 2), "circular").tolist() == [[1.0, 2.0, 1.0, 2.0]]


@pytest.mark.parametrize(
    ("pad", "mode", "error", "words"),
    [
        ((1,), "constant", RuntimeError, "Padding length must be divisible by 2"),
        ((3, 0), "reflect", RuntimeError, TOO_MUCH),
        ((4, 0), "circular", RuntimeError, "Padding value causes wrapping around more than once."),
        (
            (1, 1, 1, 1),
            "replicate",
            NotImplementedError,
            "Padding size 4 is not supported for 2D input tensor.",
        ),
        ((1, 1), "sideways", NotImplementedError, "Unrecognised padding mode sideways"),
        ((-2, -2), "constant", RuntimeError, "narrow(): length must be non-negative."),
    ],
)
def test_refuses(pad: tuple[int, ...], mode: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        F.pad(torch.zeros(2, 3), pad, mode)
    assert words in str(caught.value)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_crops_all_of_some_dimensions(mode: str) -> None:
    x = torch.ones(1, 2, 3, requires_grad=True)
    for pad, shape in [((-3, 0, 1, 1), (1, 4, 0)), ((1, 1, -1, -1), (1, 0, 5))]:
        made = F.pad(x, pad, mode)
        assert made.shape == shape
        assert torch.autograd.grad(made.sum(), x)[0].tolist() == [[[0.0] * 3] * 2]
    assert F.pad(torch.ones(1, 2, 3, 4), (-4, 0, -3, 0, 0, 0), mode).shape == (1, 2, 0, 0)


@pytest.mark.parametrize(
    ("shape", "pad", "mode", "words"),
    [
        (
            (1, 2, 2, 2),
            (0, 0, 2, 0),
            "reflect",
            (
                f"Argument #6: {TOO_MUCH}, but got: padding (2, 0) at dimension 2 of input [1, 2, "
                "2, 2]"
            ),
        ),
        (
            (1, 2, 2, 2),
            (0, 0, 0, 0, 0, 2),
            "reflect",
            (
                f"Argument #8: {TOO_MUCH}, but got: padding (0, 2) at dimension 1 of input [1, 2, "
                "2, 2]"
            ),
        ),
        ((1, 2), (-3, 0), "reflect", "input (W: 2) is too small. Calculated output W: -1"),
        (
            (1, 2, 3),
            (-3, 0, -2, 0),
            "reflect",
            "input (H: 2, W: 3) is too small. Calculated output H: 0 W: 0",
        ),
        (
            (1, 2, 3),
            (-3, 0, -2, 0),
            "replicate",
            "input (H: 2, W: 3 ) is too small. Calculated output H: 0 W: 0",
        ),
        (
            (1, 2, 3, 4),
            (-4, 0, -3, 0, -2, 0),
            "replicate",
            "input (D: 2 H: 3, W: 4) is too small. Calculated output D: 0 H: 0 W: 0",
        ),
        (
            (1, 2, 3),
            (1, 1, -3, 0),
            "replicate",
            "Trying to create tensor with negative dimension -1: [1, -1, 5]",
        ),
    ],
)
def test_names_the_dimensions_that_do_not_fit(
    shape: tuple[int, ...], pad: tuple[int, ...], mode: str, words: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        F.pad(torch.zeros(shape), pad, mode)
    assert str(caught.value) == words


def test_a_value_belongs_to_constant_mode() -> None:
    with pytest.raises(
        RuntimeError, match='Padding mode "reflect" doesn\'t take in value argument'
    ):
        F.pad(torch.zeros(2, 3), (1, 1), "reflect", 1.0).tolist()
    assert F.pad(torch.zeros(2, 3), (1, 1), "reflect", 0.0).shape == (2, 5)
