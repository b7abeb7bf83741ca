"""Reading by position: values by NumPy, bounds, masks and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(12.0).reshape(3, 4)


def test_gather_and_take_along_dim(x: torch.Tensor) -> None:
    index = torch.tensor([[0, 2, 1, 0], [2, 2, 0, 1]])
    expected = np.take_along_axis(x.numpy(), index.numpy(), 0)
    np.testing.assert_array_equal(torch.gather(x, 0, index).numpy(), expected)
    np.testing.assert_array_equal(x.take_along_dim(index, 0).numpy(), expected)
    # a smaller index reads the front corner
    assert x.gather(1, torch.tensor([[3]])).tolist() == [[3.0]]
    assert torch.take_along_dim(x, torch.tensor([5, 0])).tolist() == [5.0, 0.0]
    assert x.take_along_dim(torch.tensor([[1]]), 1).tolist() == [[1.0], [5.0], [9.0]]


def test_index_select_and_take(x: torch.Tensor) -> None:
    assert x.index_select(1, torch.tensor([3, 3, 0])).tolist() == [
        [3.0, 3.0, 0.0],
        [7.0, 7.0, 4.0],
        [11.0, 11.0, 8.0],
    ]
    assert torch.take(x, torch.tensor([[0, -1]])).tolist() == [[0.0, 11.0]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: x.gather(0, torch.tensor([[3]])),
            RuntimeError,
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
        (
            lambda x: x.gather(0, torch.tensor([[-1]])),
            RuntimeError,
            "index -1 is out of bounds for dimension 0 with size 3",
        ),
        (
            lambda x: x.gather(0, torch.tensor([0])),
            RuntimeError,
            "Index tensor must have the same number of dimensions as input tensor",
        ),
        (
            lambda x: x.gather(0, torch.tensor([[0.0]])),
            RuntimeError,
            "gather(): Expected dtype int32/int64 for index",
        ),
        (
            lambda x: x.gather(0, torch.zeros(1, 5, dtype=torch.int64)),
            RuntimeError,
            "to be no larger than self [3, 4] apart from dimension 0",
        ),
        (lambda x: x.index_select(0, torch.tensor([3])), IndexError, "index out of range in self"),
        (
            lambda x: x.index_select(0, torch.tensor([[0]])),
            IndexError,
            "index_select(): Index is supposed to be a vector",
        ),
        (
            lambda x: torch.take(x, torch.tensor([12])),
            IndexError,
            "tried to access index 12 on a tensor of 12 elements",
        ),
        (
            lambda x: x.masked_fill(x, 0),
            RuntimeError,
            "masked_fill_ only supports boolean masks, but got mask with dtype float",
        ),
        (
            lambda x: x.masked_fill(x > 1, torch.ones(2)),
            RuntimeError,
            "masked_fill_ only supports a 0-dimensional value tensor",
        ),
        (
            lambda x: x.half().masked_fill(x > 1, 1e9),
            RuntimeError,
            "value cannot be converted to type c10::Half without overflow",
        ),
        (
            lambda x: x.masked_scatter(x > 1, torch.ones(2)),
            RuntimeError,
            "Number of elements of source < number of ones in mask",
        ),
    ],
)
def test_refuses(x: torch.Tensor, call, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call(x).tolist()  # values are checked when they are needed
    assert words in str(caught.value)


def test_a_wrong_position_does_not_spoil_what_comes_after(x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError):
        x.gather(0, torch.tensor([[9]])).tolist()
    assert (x + 1).sum().item() == 78.0


def test_nonzero(x: torch.Tensor) -> None:
    even = x % 2 == 0
    np.testing.assert_array_equal(torch.nonzero(even).numpy(), np.argwhere(even.numpy()))
    rows, columns = even.nonzero(as_tuple=True)
    assert rows.dtype is torch.int64
    assert torch.equal(x[rows, columns], x[even])
    assert torch.nonzero(torch.tensor(3)).shape == (1, 0)
    assert [i.tolist() for i in torch.nonzero(torch.tensor(3), as_tuple=True)] == [[0]]
    places = torch.empty(0, 2, dtype=torch.int64)
    with pytest.raises(
        RuntimeError, match="nonzero does not support the out kwarg when as_tuple is True"
    ):
        torch.nonzero(torch.ones(2, 2), out=places, as_tuple=True)
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not tuple"):
        torch.nonzero(torch.ones(2, 2), out=(places, places), as_tuple=True)
    assert torch.nonzero(
        torch.eye(2), out=places, as_tuple=False
    ) is places and places.tolist() == [[0, 0], [1, 1]]
    assert torch.nonzero_static(torch.tensor([0, 5, 0, 6]), size=3).tolist() == [[1], [3], [-1]]


def test_masks(x: torch.Tensor) -> None:
    mask = torch.tensor([True, False, True, False])
    assert torch.masked_select(x, mask).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert x.masked_fill(mask, -1)[0].tolist() == [-1.0, 1.0, -1.0, 3.0]
    assert x[0].masked_scatter(mask, torch.tensor([7.0, 8.0, 9.0])).tolist() == [7.0, 1.0, 8.0, 3.0]
    assert torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 7.9).tolist() == [7, 2]


def test_gradients_count_what_was_read(x: torch.Tensor) -> None:
    for read, expected in [
        (
            lambda x: x.gather(1, torch.tensor([[0, 0, 1]])),
            [[2.0, 1.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4],
        ),
        (lambda x: x.index_select(0, torch.tensor([1, 1])), [[0.0] * 4, [2.0] * 4, [0.0] * 4]),
        (
            lambda x: x.take(torch.tensor([-1, -1, 0])),
            [[1.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0, 0.0, 0.0, 2.0]],
        ),
        (lambda x: x.masked_fill(x > 3, 0.0), [[1.0] * 4, [0.0] * 4, [0.0] * 4]),
        (lambda x: x.masked_select(x > 9), [[0.0] * 4, [0.0] * 4, [0.0, 0.0, 1.0, 1.0]]),
    ]:
        leaf = x.clone().requires_grad_()
        read(leaf).sum().backward()
        assert leaf.grad.tolist() == expected


@pytest.mark.parametrize(("size", "dim", "index", "error", "words"), [
    ((0, 2), 0, 0, RuntimeError, "self indexing axis dim should be positive"),
    ((3, 2), 1, 2, RuntimeError, "INDICES element is out of DATA bounds, id=2 axis_dim=2"),
    ((2, 0), 0, -1, RuntimeError, "INDICES element is out of DATA bounds, id=-1 axis_dim=2"),
    ((3, 2), 0, 3, IndexError, "index out of range in self"),
])  # fmt: skip
def test_selection_out_of_range(size, dim, index, error, words):
    with pytest.raises(error, match=words):
        torch.ones(size).index_select(dim, torch.tensor([index]))


def test_index_select_of_nothing() -> None:
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.zeros(0).index_select(0, torch.tensor([0]))
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        torch.zeros(0, 3).index_select(0, torch.tensor([0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_complex_numbers_fill_real_tensors_if_they_are_real(dtype: torch.dtype) -> None:
    x = torch.zeros(2, 3, dtype=dtype)
    x[:, torch.tensor([True, False, True])] = torch.tensor(2 + 0j)
    assert x.tolist() == [[2, 0, 2]] * 2
    assert x.masked_fill(x == 0, torch.tensor(3 + 0j)).tolist() == [[2, 3, 2]] * 2
    with pytest.raises(
        RuntimeError, match=r"value cannot be converted to type .* without overflow"
    ):
        x[torch.tensor([True, False])] = torch.tensor(2 + 1j)
    assert x.tolist() == [[2, 0, 2]] * 2


def test_complex_numbers_fill_bools() -> None:
    assert torch.zeros(2, dtype=torch.bool).masked_fill(
        torch.tensor([True, False]), torch.tensor(1j)
    ).tolist() == [True, False]


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(2, 3, 4), (28, 25, 30)])
def test_gradients_of_gather_add_up(shape: tuple[int, ...], dtype: torch.dtype, dim: int) -> None:
    """Few and many of them, of an index that is smaller than the tensor in other dimensions."""
    x = torch.zeros(*shape, dtype=dtype, requires_grad=True)
    rng = np.random.default_rng(dim)
    i = rng.integers(0, shape[dim], [n if d == dim else n - 1 for d, n in enumerate(shape)])
    g = rng.integers(0, 3, i.shape).astype(np.float32)
    x.gather(dim, torch.tensor(i)).backward(torch.tensor(g, dtype=dtype))
    expected = np.zeros(shape, np.float32)
    np.add.at(
        expected,
        tuple(i if d == dim else c for d, c in enumerate(np.indices(i.shape, sparse=True))),
        g,
    )
    np.testing.assert_array_equal(x.grad.float().numpy(), expected)  # pyright: ignore[reportOptionalMemberAccess]


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (2, 5, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_positions_along_an_inner_dimension(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    dim = shape.index(5)
    x = torch.arange(math.prod(shape)).reshape(shape).to(dtype)
    i = torch.tensor([[4, 0, 0], [1, 3, 4]])
    expected = np.take(x.float().numpy(), i[0].numpy(), dim)
    np.testing.assert_array_equal(x.index_select(dim, i[0]).float().numpy(), expected)
    index = (slice(None),) * dim + (i,)
    np.testing.assert_array_equal(
        x[index].float().numpy(), np.take(x.float().numpy(), i.numpy(), dim)
    )


@pytest.mark.parametrize("wrong", [10, -11, 10**7, -(10**7), 2**40])
def test_many_wrong_positions_are_refused_and_touch_nothing(wrong: int) -> None:
    places = torch.zeros(20000, dtype=torch.int64)
    places[777] = wrong
    x, ones = torch.zeros(10), torch.ones(20000)
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        x.index_put((places + 0,), ones, accumulate=True).sum().item()
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)|index out"):
        x.index_add(0, places * 1, ones).sum().item()
    assert x.index_add(0, torch.zeros_like(places), ones).tolist() == [20000.0] + [0.0] * 9
