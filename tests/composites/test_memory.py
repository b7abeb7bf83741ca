"""Methods that give a tensor other memory or size, elements computed in Python, and old
spellings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jtorch as torch


def test_set_looks_at_a_storage() -> None:
    a = torch.arange(6.0)
    b = torch.zeros(0).set_(a.untyped_storage(), 1, (2, 2), (2, 1))
    assert b.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    b.add_(10)
    assert a.tolist() == [0.0, 11.0, 12.0, 13.0, 14.0, 5.0]
    with pytest.raises(RuntimeError, match="Expected a Storage of type long int"):
        torch.zeros(0, dtype=torch.int64).set_(a.storage())


def test_as_strided_in_place_keeps_the_memory() -> None:
    x = torch.arange(4.0)
    y = x.view(2, 2)
    assert x.as_strided_((2, 2), (1, 1)).tolist() == [[0.0, 1.0], [1.0, 2.0]]
    y[0, 1] = 7.0
    assert x[0, 1].item() == 7.0
    assert torch.arange(3).unsqueeze_(0).shape == (1, 3)


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_as_strided_of_a_view_that_requires_grad(mode: str) -> None:
    with torch.execution(mode):
        x = torch.arange(6.0).requires_grad_()
        part = (x * 2).view(3, 2)[1:]
        found = part.as_strided((2, 2), (1, 2)).as_strided((2, 2), (1, 1))
        assert found.tolist() == [[4, 6], [6, 8]]
        found.sum().backward()
        assert x.grad.tolist() == [0, 0, 2, 4, 2, 0]


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (2, 5), (6, 1)])
def test_fill_diagonal_follows_numpy(shape: tuple[int, int], wrap: bool) -> None:
    expected = np.zeros(shape)
    np.fill_diagonal(expected, 2, wrap=wrap)
    assert torch.zeros(shape).fill_diagonal_(2, wrap=wrap).tolist() == expected.tolist()


def test_fill_diagonal_refuses() -> None:
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        torch.zeros(2, 3, 2).fill_diagonal_(1)


def test_elements_that_python_computes() -> None:
    x, y = torch.tensor([1, 2]), torch.tensor([10, 20])
    assert x.clone().apply_(lambda a: a * 3).tolist() == [3, 6]
    assert x.clone().map_(y, lambda a, b: a + b).tolist() == [11, 22]
    assert x.clone().map2_(y, y, lambda a, b, c: a + b + c).tolist() == [21, 42]
    with pytest.raises(RuntimeError, match=r"Can't call map_\(\) on Variable that requires grad"):
        torch.ones(2, requires_grad=True).map_(torch.ones(2), max)


def test_new_follows_dtype() -> None:
    x = torch.tensor([1, 2], dtype=torch.int32)
    assert x.new().tolist() == []
    assert x.new(2, 3).shape == (2, 3)
    assert x.new([1.5, 2]).tolist() == [1, 2]
    assert x.new([1.5]).dtype is torch.int32
    with pytest.raises(TypeError, match="must be a sequence"):
        x.new(2.5)


def test_old_operators() -> None:
    x = torch.tensor([2.0, 4.0])
    assert x.__div__(2).tolist() == [1.0, 2.0]
    assert x.__rdiv__(1).tolist() == [0.5, 0.25]
    assert x[0].__long__() == 2
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(2, 1).shape == (2, 1)
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]


@pytest.mark.parametrize("name", ["eig", "symeig", "matrix_rank"])
def test_removed_functions_say_what_to_use(name: str) -> None:
    with pytest.raises(RuntimeError, match="This function was deprecated since version") as caught:
        getattr(torch, name)(torch.eye(2))
    assert "torch.linalg" in str(caught.value)


def test_a_product_in_place_makes_a_new_tensor() -> None:
    x = y = torch.ones(2, 2)
    y @= torch.full((2, 2), 2.0)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert y.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_from_file_shares_memory(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    torch.from_file(path, shared=True, size=3).add_(1)
    torch.from_file(path, size=3).add_(1)  # a private copy
    assert torch.from_file(path, size=3).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="unable to open file"):
        torch.from_file(str(tmp_path / "none"), size=1)


def test_what_is_left_out_says_why() -> None:
    with pytest.raises(NotImplementedError, match=r"quantized_max_pool2d is not offered by jtorch"):
        torch.quantized_max_pool2d(torch.ones(1, 1, 2, 2), 2)
    with pytest.raises(
        NotImplementedError, match=r"torch\.mkldnn_max_pool2d is not offered by jtorch"
    ):
        torch.mkldnn_max_pool2d(torch.ones(1, 1, 2, 2), 2)


PARTS = {
    "window": (lambda x: x.unfold(0, 2, 1)[0], [1, 2, 2, 3]),
    "last window": (lambda x: x.unfold(0, 2, 1)[1], [0, 2, 3, 3]),
    "strided": (lambda x: x.as_strided((2, 2), (1, 1))[0], [1, 2, 2, 3]),
    "every other": (lambda x: x.as_strided((3, 2), (1, 1))[::2], [1, 2, 3, 4]),
    "expanded": (lambda x: x.expand(2, 4)[0], [1, 2, 3, 4]),
}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_views_that_repeat_memory_are_written(name: str, tracked: bool) -> None:
    part, expected = PARTS[name]
    x = torch.arange(4.0)
    scale = torch.ones((), requires_grad=tracked)
    part(x).add_(scale)
    assert x.tolist() == expected and x.requires_grad == tracked
    if tracked:
        x.sum().backward()
        assert scale.grad.item() == part(torch.arange(4)).numel()


@pytest.mark.parametrize(
    ("equation", "shape", "strides"),
    [("ij->ji", (2, 3), (1, 3)), ("ii->i", (3, 3), (4,)), ("ij", (2, 3), (3, 1))],
)
def test_einsum_that_sums_nothing_looks_at_its_operand(equation, shape, strides):
    x = torch.ones(shape)
    y = torch.einsum(equation, x)
    assert y.stride() == strides
    y.zero_()
    assert x.sum().item() == x.numel() - y.numel()
