"""``t[index]`` and ``t[index] = value`` without the oracle: NumPy's values where the two agree,
aliasing, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch

S = slice


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(24.0).reshape(2, 3, 4)


INDICES = [
    0,
    -1,
    (1, 2, 3),
    S(0, 1),
    (S(None), S(1, None), S(None, None, 2)),
    (..., 0),
    (0, ..., 1),
    None,
    (S(None), None, 1),
    ([0, 1], [2, 0]),
    ([0, 1], S(None), [2, 0]),
    (S(None), [0, 2]),
    (S(None), [0, 2], [1, 1]),
    (S(None), [[0], [2]], [1, 3]),
    (S(None), [0, 2, 1], [1, 1, 0]),
    np.array([[1], [0]]),
    np.arange(24).reshape(2, 3, 4) % 5 == 0,
    (S(None), np.array([True, False, True])),
    (np.array([True, False]), S(None), [1]),
    (..., np.array([True, False, True, False])),
    [],
    (),
]


def as_tensors(index):
    if isinstance(index, np.ndarray):
        return torch.tensor(index)
    return tuple(map(as_tensors, index)) if isinstance(index, tuple) else index


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_follows_numpy(x: torch.Tensor, index) -> None:
    expected = x.numpy().copy()[index if not isinstance(index, list) else np.array(index, np.int64)]
    np.testing.assert_array_equal(x[as_tensors(index)].numpy(), expected)
    np.testing.assert_array_equal(x[index].numpy(), expected)


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("kind", ["number", "tensor"])
def test_writing_follows_numpy(x: torch.Tensor, index, kind: str) -> None:
    expected = x.numpy().copy()
    place = index if not isinstance(index, list) else np.array(index, np.int64)
    shape = expected[place].shape
    value = (
        np.float32(-1)
        if kind == "number"
        else -np.arange(1.0, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    )
    expected[place] = value
    x[as_tensors(index)] = -1 if kind == "number" else torch.tensor(value)
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize(
    "index", [0, (S(None), 1), S(1, 2), (..., 0), None, ..., (), True, (0, None)], ids=repr
)
def test_basic_results_are_views(x: torch.Tensor, index) -> None:
    if index is True:
        assert x[True].shape == (1, 2, 3, 4)
        return
    part = x[index]
    assert part is not x
    part.fill_(-1)
    assert (x == -1).sum().item() == part.numel()


def test_advanced_results_are_copies(x: torch.Tensor) -> None:
    for index in ([0, 1], torch.tensor([0]), x > 3):
        x[index].fill_(-1)
    assert (x == -1).sum().item() == 0


def test_zero_dim_integer_tensors_select(x: torch.Tensor) -> None:
    part = x[torch.tensor(1)]
    assert part.shape == (3, 4)
    part.fill_(0)
    assert x[1].sum().item() == 0.0


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 9), IndexError, "index 9 is out of bounds for dimension 2 with size 4"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (S(None, None, -1), ValueError, "step must be greater than zero"),
        (0.5, IndexError, "are valid indices (got float)"),
        ("a", TypeError, "new(): invalid data type 'str'"),
        ([9], IndexError, "index 9 is out of bounds for dimension 0 with size 2"),
        ([-3], IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
        (
            ([0, 1], [0, 1, 2]),
            IndexError,
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
        ),
        (
            [True],
            IndexError,
            (
                "The shape of the mask [1] at index 0 does not match the shape of the indexed "
                "tensor [2, 3, 4] at index 0"
            ),
        ),
        (np.array([1.5]), None, ""),
    ],
)
def test_errors(x: torch.Tensor, index, error: type[Exception] | None, words: str) -> None:
    if error is None:
        assert x[index].shape == (1, 3, 4)  # torch cuts fractions of NumPy indices
        return
    with pytest.raises(error) as caught:
        x[index].tolist()
    assert words in str(caught.value)


def test_index_tensors_are_whole_numbers(x: torch.Tensor) -> None:
    with pytest.raises(
        IndexError, match="tensors used as indices must be long, int, byte or bool tensors"
    ):
        x[torch.tensor([0.0])]
    with pytest.warns(UserWarning, match=r"indexing with dtype torch.uint8 is now deprecated"):
        assert x[torch.tensor([1, 0], dtype=torch.uint8)].shape == (1, 3, 4)


def test_zero_dim_tensors() -> None:
    s = torch.tensor(3.0)
    assert s[None].shape == (1,)
    assert s[True].tolist() == [3.0]
    assert s[False].shape == (0,)
    s[...] = 4
    assert s.item() == 4.0
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        s[0]
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        s[:]


@pytest.mark.parametrize(
    ("index", "value", "error", "words"),
    [
        (0, [1.0], TypeError, "can't assign a list to a torch.FloatTensor"),
        (0, np.float32(1), TypeError, "can't assign a numpy.float32 to a torch.FloatTensor"),
        (0, None, TypeError, "can't assign a NoneType to a torch.FloatTensor"),
        (0, 1j, RuntimeError, "value cannot be converted to type float without overflow"),
        (
            0,
            torch.ones(3),
            RuntimeError,
            (
                "The expanded size of the tensor (4) must match the existing size (3) at "
                "non-singleton dimension 1."
            ),
        ),
        (
            [0],
            torch.ones(5),
            RuntimeError,
            (
                "shape mismatch: value tensor of shape [5] cannot be broadcast to indexing result "
                "of shape [1, 3, 4]"
            ),
        ),
        (
            [0],
            torch.ones(4).long(),
            RuntimeError,
            (
                "Index put requires the source and destination dtypes match, got Float for the "
                "destination"
            ),
        ),
    ],
)
def test_values_that_cannot_be_written(
    x: torch.Tensor, index, value, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        x[index] = value
    assert words in str(caught.value)
    assert x.sum().item() == 276.0


def test_a_mask_wants_as_many_values_as_it_selects(x: torch.Tensor) -> None:
    x[x > 21] = torch.tensor([7.0, 8.0])
    assert x.flatten()[-2:].tolist() == [7.0, 8.0]
    with pytest.raises(
        RuntimeError,
        match=r"shape mismatch: value tensor of shape \[2\] cannot be broadcast to indexing result "
        r"of shape \[24\]",
    ):
        x[x > -1] = torch.tensor([7.0, 8.0])
        x.tolist()


def test_gradients_flow_through_reads_and_writes() -> None:
    leaf = torch.zeros(4, requires_grad=True)
    value = torch.ones(2, requires_grad=True)
    y = leaf * 1
    y[torch.tensor([0, 2])] = value
    y[3] = 5.0
    (y * torch.tensor([1.0, 2.0, 3.0, 4.0]) + y[[1, 1, 1, 1]]).sum().backward()
    assert leaf.grad.tolist() == [0.0, 6.0, 0.0, 0.0]
    assert value.grad.tolist() == [1.0, 3.0]


def test_a_leaf_cannot_be_written() -> None:
    leaf = torch.zeros(2, requires_grad=True)
    for index in (0, [0], torch.tensor([True, False])):
        with pytest.raises(RuntimeError, match=r"a (view of a )?leaf Variable that requires grad"):
            leaf[index] = 1.0


def test_writes_are_seen_through_other_views(x: torch.Tensor) -> None:
    row, column = x[0], x[:, 0]
    x[0, 0] = 100.0
    assert row[0].tolist() == [100.0] * 4
    assert column[0].tolist() == [100.0] * 4
    row[[1, 2]] = -1.0
    assert x[0, 1:].sum().item() == -8.0


def test_a_list_that_stands_for_a_tuple_warns():
    x = torch.arange(6).reshape(2, 3)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[[0], [1]]].tolist() == [1]
    assert x[[0, 1]].shape == (2, 3)


def test_index_tensors_and_masks_by_themselves_mean_what_their_parts_mean() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    i, j = torch.tensor([[0], [2]]), torch.tensor([1, 3])
    n = x.numpy()
    turned = torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0)
    for index in (
        (S(None), i),
        (S(None), i, j),
        (torch.tensor([1, 0]), S(None)),
        (j - 1, S(None), j),
    ):
        at = tuple(k.numpy() if isinstance(k, torch.Tensor) else k for k in index)
        if isinstance(index[0], torch.Tensor):
            index = (index[0] % 2, *index[1:])
            at = (at[0] % 2, *at[1:])
        np.testing.assert_array_equal(x[index].numpy(), n[at])
        np.testing.assert_array_equal(turned[index].numpy(), turned.numpy()[at])
    with pytest.raises(IndexError, match="too many indices"):
        x[i, j, j, j]
    with pytest.raises(IndexError, match=r"out of range|out of bounds"):
        x[:, torch.tensor([3])]
    mask = x % 5 == 0
    np.testing.assert_array_equal(x[mask].numpy(), n[mask.numpy()])
    np.testing.assert_array_equal(torch.masked_select(x, mask).numpy(), n[mask.numpy()])
    turned = x.permute(2, 1, 0)
    np.testing.assert_array_equal(
        turned[turned % 5 == 0].numpy(), turned.numpy()[turned.numpy() % 5 == 0]
    )
    with pytest.raises(IndexError, match="shape of the mask"):
        x[torch.ones(2, 3, 5, dtype=torch.bool)]
    g = x.clone().requires_grad_()
    g[:, torch.tensor([0, 0])].sum().backward()
    assert g.grad[:, 0].unique().tolist() == [2.0] and g.grad[:, 1:].abs().sum().item() == 0


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0), (2, 3), (2, 1, 2)])
def test_tables_of_positions(shape: tuple[int, ...]) -> None:
    x = torch.arange(float(np.prod(shape))).reshape(shape)
    for found in (torch.nonzero(x), torch.argwhere(x)):
        assert found.dtype is torch.int64
        np.testing.assert_array_equal(found.numpy(), np.argwhere(x.numpy()))


def test_numbers_by_masks_without_dimensions() -> None:
    x = torch.tensor(3.0)
    assert x[torch.tensor(True)].tolist() == [3.0] and x[torch.tensor(False)].tolist() == []
    x[torch.tensor(True)] = 4.0
    assert x.item() == 4.0
