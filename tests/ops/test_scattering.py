"""Writing by position: values by loops in NumPy, gradients by finite differences, torch's words for
what does not fit."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine.host.staging import stage
from jtorch._src.ops import _added, scattering

INDEX = np.array([[0, 2, 1], [2, 2, 0]])
SRC = np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
NUMPY = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def base() -> np.ndarray:
    return np.arange(1.0, 10.0).reshape(3, 3)


def columns() -> np.ndarray:
    return np.broadcast_to(np.arange(3), INDEX.shape)


@pytest.mark.parametrize("reduce", NUMPY)
def test_scatter_reduce_with_self(reduce: str) -> None:
    expected = base()
    NUMPY[reduce].at(expected, (INDEX, columns()), SRC)
    found = torch.tensor(base()).scatter_reduce(0, torch.tensor(INDEX), torch.tensor(SRC), reduce)
    np.testing.assert_allclose(found.numpy(), expected)


@pytest.mark.parametrize(
    ("reduce", "start"), [("sum", 0.0), ("prod", 1.0), ("amax", -np.inf), ("amin", np.inf)]
)
def test_scatter_reduce_without_self(reduce: str, start: float) -> None:
    expected = base()
    expected[INDEX, columns()] = start
    NUMPY[reduce].at(expected, (INDEX, columns()), SRC)
    found = torch.tensor(base()).scatter_reduce(
        0, torch.tensor(INDEX), torch.tensor(SRC), reduce, include_self=False
    )
    np.testing.assert_allclose(found.numpy(), expected)


def test_mean_of_integers_is_rounded_down() -> None:
    found = torch.tensor([1, 2]).scatter_reduce(
        0, torch.tensor([0, 0]), torch.tensor([3, 4]), "mean"
    )
    assert found.tolist() == [2, 2]


@pytest.mark.parametrize("reduce", [*NUMPY, "mean"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_gradient(reduce: str, include_self: bool) -> None:
    index = torch.tensor(INDEX)
    x = torch.tensor(base() / 7, requires_grad=True)
    src = torch.tensor(SRC / 11, requires_grad=True)
    weights = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)

    def loss(x: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        return (x.scatter_reduce(0, index, src, reduce, include_self=include_self) * weights).sum()

    loss(x, src).backward()
    step = 1e-6
    for t in (x, src):
        for place in [(0, 0), (1, 1), (1, 2)]:
            shift = torch.zeros(t.shape, dtype=t.dtype)
            shift[place] = step
            high, low = (
                loss(*(u.detach() + sign * shift if u is t else u.detach() for u in (x, src)))
                for sign in (1, -1)
            )
            assert t.grad[place].item() == pytest.approx((high - low).item() / (2 * step), abs=1e-5)


def test_ties_share_the_gradient() -> None:
    x = torch.tensor([5.0, 1.0], requires_grad=True)
    src = torch.tensor([5.0, 5.0], requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 0]), src, "amax").sum().backward()
    assert x.grad.tolist() == pytest.approx([1 / 3, 1.0])
    assert src.grad.tolist() == pytest.approx([1 / 3, 1 / 3])


def test_products_with_zeros_have_gradients() -> None:
    src = torch.tensor([0.0, 3.0], requires_grad=True)
    torch.tensor([2.0]).scatter_reduce(0, torch.tensor([0, 0]), src, "prod").sum().backward()
    assert src.grad.tolist() == [6.0, 0.0]


def test_scatter_writes_tensors_and_numbers() -> None:
    x = torch.zeros(2, 3)
    assert x.scatter(1, torch.tensor([[2], [0]]), 5.0).tolist() == [
        [0.0, 0.0, 5.0],
        [5.0, 0.0, 0.0],
    ]
    assert x.scatter(1, torch.tensor([[2], [0]]), value=5).tolist() == [
        [0.0, 0.0, 5.0],
        [5.0, 0.0, 0.0],
    ]
    assert x.scatter(0, torch.tensor([[1, 0]]), torch.tensor([[7.0, 8.0, 9.0]])).tolist() == [
        [0.0, 8.0, 0.0],
        [7.0, 0.0, 0.0],
    ]
    assert (x + 2).scatter(1, torch.tensor([[0], [0]]), 3.0, reduce="multiply")[:, 0].tolist() == [
        6.0,
        6.0,
    ]
    assert x.scatter_(1, torch.tensor([[0]]), 1.0) is x
    assert x[0, 0].item() == 1.0


def test_scatter_gradient() -> None:
    x, src = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    (x.scatter(0, torch.tensor([2, 0]), src) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 0.0]
    assert src.grad.tolist() == [3.0, 1.0]


def test_index_add_copy_and_fill() -> None:
    x = torch.zeros(3, 2)
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    index = torch.tensor([2, 0])
    assert x.index_add(0, index, rows, alpha=2).tolist() == [[6.0, 8.0], [0.0, 0.0], [2.0, 4.0]]
    assert x.index_add(0, torch.tensor([1, 1]), rows)[1].tolist() == [4.0, 6.0]
    assert x.index_copy(0, index, rows).tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    assert x.index_fill(0, torch.tensor([-1]), 9).tolist() == [[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]]
    assert torch.tensor([False, True]).index_add(
        0, torch.tensor([0]), torch.tensor([True])
    ).tolist() == [True, True]
    assert x.index_reduce(0, index, rows, "amax").tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]


def test_put_and_index_put() -> None:
    x = torch.zeros(2, 2)
    twice = torch.tensor([-1, -1])
    assert x.put(twice, torch.tensor([3.0, 4.0]), accumulate=True).tolist() == [
        [0.0, 0.0],
        [0.0, 7.0],
    ]
    index = (torch.tensor([0, 0]), torch.tensor([1, 1]))
    assert x.index_put(index, torch.tensor(2.0), accumulate=True).tolist() == [
        [0.0, 4.0],
        [0.0, 0.0],
    ]
    assert x.index_put((torch.tensor([True, False]),), torch.tensor([5.0, 6.0])).tolist() == [
        [5.0, 6.0],
        [0.0, 0.0],
    ]
    assert x.index_put_(index, torch.tensor(1.0)) is x
    assert x[0, 1].item() == 1.0


def test_parts_written_over_a_copy() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    src = torch.ones(3, requires_grad=True)
    found = torch.select_scatter(x, src, 0, -1)
    assert found.tolist() == [[0.0] * 3, [1.0] * 3]
    (found * 2).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3, [0.0] * 3]
    assert src.grad.tolist() == [2.0] * 3
    assert torch.slice_scatter(torch.zeros(4), torch.ones(2), 0, 0, 4, 2).tolist() == [
        1.0,
        0.0,
        1.0,
        0.0,
    ]
    assert torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(1), 1).tolist() == [
        [0.0, 1.0],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x, i: x.scatter(0, i + 9, x),
            RuntimeError,
            "index 9 is out of bounds for dimension 0 with size 2",
        ),
        (
            lambda x, i: x.scatter(0, i, x.long()),
            RuntimeError,
            "scatter(): Expected self.dtype to be equal to src.dtype",
        ),
        (
            lambda x, i: x.scatter_add(0, i[0], x),
            RuntimeError,
            "Index tensor must have the same number of dimensions as self tensor",
        ),
        (
            lambda x, i: x.scatter_reduce(0, i, x, "median"),
            RuntimeError,
            "reduce argument must be either sum, prod, mean, amax or amin",
        ),
        (
            lambda x, i: x.index_add(0, i[0], x[:1]),
            RuntimeError,
            "Number of indices (2) should be equal to source.size(dim): (1), for dim: 0",
        ),
        (
            lambda x, i: x.index_copy(0, i[0] + 5, x),
            IndexError,
            "index_copy_(): index 5 is out of bounds for dimension 0 with size 2",
        ),
        (
            lambda x, i: x.index_fill(0, i.int()[0], 1),
            IndexError,
            "index_fill_(): Expected dtype int64 for index.",
        ),
        (
            lambda x, i: x.put(i, x.long()),
            RuntimeError,
            "put_(): self and source expected to have the same dtype",
        ),
        (
            lambda x, i: x.index_put((i[0], i[0], i[0]), x),
            IndexError,
            "too many indices for tensor of dimension 2 (got 3)",
        ),
    ],
)
def test_refuses(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call(torch.zeros(2, 2), torch.zeros(2, 2, dtype=torch.int64)).tolist()
    assert words in str(caught.value)


def test_scatter_reduce_takes_max_and_min_without_a_derivative() -> None:
    index, src = torch.tensor([0, 0, 1]), torch.tensor([1.0, 3.0, -2.0])
    assert torch.zeros(2).scatter_reduce(0, index, src, "max").tolist() == [3.0, 0.0]
    assert torch.zeros(2).scatter_reduce(0, index, src, "min", include_self=False).tolist() == [
        1.0,
        -2.0,
    ]
    with pytest.raises(
        RuntimeError,
        match="Expected 'reduce' to be one of 'sum', 'prod', 'mean', 'amax', 'amin' but got max",
    ):
        torch.zeros(2).scatter_reduce(0, index, src.requires_grad_(), "max").sum().backward()


def test_index_add_leaves_complex_infinities() -> None:
    source = torch.tensor([complex(np.inf, np.inf)])
    assert torch.zeros(1, dtype=torch.complex64).index_add(
        0, torch.tensor([0]), source
    ).tolist() == [complex(np.inf, np.inf)]


def test_positions_are_single_numbers() -> None:
    """Rows of coordinates, which XLA would have to join first, take twice the time."""
    x, i = np.zeros((5, 6, 7), np.float32), np.zeros((2, 6, 7), np.int64)
    text = str(jax.make_jaxpr(lambda x, i: scattering.scatter_add(x, 1, i, x))(x, i[:, :3]))
    assert "scatter_dims_to_operand_dims=(0,)" in text and "concatenate" not in text


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scattering_into_parts_along_every_dimension(dim: int) -> None:
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((4, 5, 6)), rng.standard_normal((3, 4, 5))
    i = rng.integers(0, x.shape[dim], (3, 4, 5))
    added, last = x.copy(), x.copy()
    for at in np.ndindex(*i.shape):
        place = (*at[:dim], i[at], *at[dim + 1 :])
        added[place] += s[at]
        last[place] = s[at]
    p, q = torch.tensor(x, requires_grad=True), torch.tensor(s, requires_grad=True)
    made = torch.scatter_add(p, dim, torch.tensor(i), q)
    np.testing.assert_allclose(made.detach().numpy(), added)
    np.testing.assert_array_equal(torch.scatter(p, dim, torch.tensor(i), q).detach().numpy(), last)
    weight = rng.standard_normal(x.shape)
    (made * torch.tensor(weight)).sum().backward()
    np.testing.assert_array_equal(p.grad.numpy(), weight)
    np.testing.assert_array_equal(
        q.grad.numpy(),
        np.take_along_axis(weight[tuple(slice(n) for n in _reach(x, i, dim))], i, dim),
    )


def _reach(x: np.ndarray, i: np.ndarray, dim: int) -> list[int]:
    return [n if d == dim else m for d, (n, m) in enumerate(zip(x.shape, i.shape, strict=True))]


@pytest.mark.parametrize("include_self", [True, False])
def test_products_with_two_zeros_have_second_derivatives(include_self: bool) -> None:
    x = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    src = torch.tensor([0.0, 0.0, 5.0, 0.0, 7.0], dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 0, 0, 1, 1])
    y = x.scatter_reduce(0, index, src, "prod", include_self=include_self).sum()
    (g,) = torch.autograd.grad(y, src, create_graph=True)
    (second,) = torch.autograd.grad(g[0], src)
    assert g.tolist() == [0.0, 0.0, 0.0, 21.0 if include_self else 7.0, 0.0]
    assert second.tolist() == [0.0, 10.0 if include_self else 5.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize(
    ("shape", "positions", "axis"),
    [
        ((300, 200), (300, 200), 1),
        ((300, 200), (250, 150), 0),
        ((40, 30, 50), (90, 30, 20), 0),
        ((40, 30, 50), (40, 20, 30), 1),
        ((7,), (20000,), 0),
    ],
)
def test_many_numbers_are_added_one_after_another(
    dtype: type, shape: tuple[int, ...], positions: tuple[int, ...], axis: int
) -> None:
    rng = np.random.default_rng(0)
    x, numbers = (rng.standard_normal(s) * 9 for s in (shape, positions))
    x, numbers = np.abs(x).astype(dtype), np.abs(numbers).astype(dtype)
    places = rng.integers(0, shape[axis], positions)
    expected, index = x.copy(), list(np.indices(positions, sparse=True))
    index[axis] = places
    np.add.at(expected, tuple(index), numbers)
    assert _added.can_be_added(x, places)
    np.testing.assert_array_equal(
        torch.tensor(x).scatter_add(axis, torch.tensor(places), torch.tensor(numbers)).numpy(),
        expected,
    )
    for at in (places, places.astype(np.int32)):
        by_host = stage(
            jax.make_jaxpr(lambda *a: _added.added_along(*a, axis=axis))(x, at, numbers)
        )
        np.testing.assert_array_equal(by_host(x, at, numbers)[0], expected)
    np.testing.assert_array_equal(
        jax.jit(lambda *a: _added.added_along(*a, axis=axis))(x, places, numbers), expected
    )


def test_many_places_outside_are_refused_and_touch_nothing() -> None:
    x, places = torch.zeros(3, 6000), torch.zeros(3, 6000, dtype=torch.int64)
    for wrong in (6000, -1, 2**40):
        places[1, 7] = wrong
        with pytest.raises(RuntimeError, match="out of bounds for dimension 1 with size 6000"):
            x.scatter_add(1, places, torch.ones(3, 6000)).sum().item()
        by_host = stage(
            jax.make_jaxpr(lambda *a: _added.added_along(*a, axis=1))(
                x.numpy(), places.numpy(), x.numpy()
            )
        )
        assert by_host(x.numpy(), places.numpy(), np.ones((3, 6000), np.float32))[0].sum() == 18000


def test_many_numbers_added_have_derivatives_and_batches() -> None:
    rng = np.random.default_rng(0)
    x, y = (torch.tensor(rng.standard_normal((130, 130))) for _ in range(2))
    places = torch.tensor(rng.integers(0, 130, (130, 130)))
    added = torch.func.vmap(lambda a, b: a.scatter_add(1, places, b), in_dims=(None, 0))(
        x, torch.stack([y, 2 * y])
    )
    np.testing.assert_allclose(
        (added[1] - added[0]).numpy(),
        (torch.zeros_like(x).scatter_add(1, places, y)).numpy(),
        atol=1e-12,
    )
    _, slope = torch.func.jvp(lambda a, b: a.scatter_add(1, places, b), (x, y), (x, y))
    np.testing.assert_allclose(slope.numpy(), added[0].numpy(), atol=1e-12)


def test_tensors_without_dimensions_are_no_numbers() -> None:
    x, one = torch.zeros(2, 2), torch.zeros(2, 2, dtype=torch.int64)
    with pytest.raises(
        RuntimeError, match=r"scatter\(\): Expected self.dtype to be equal to src.dtype"
    ):
        x.scatter(1, one, torch.tensor(2))
    with pytest.raises(
        RuntimeError, match="Index tensor must have the same number of dimensions as src tensor"
    ):
        x.scatter_(1, one, torch.tensor(2.0))
    with pytest.raises(RuntimeError, match=r"to be no larger size than src \[\]"):
        torch.zeros(2).scatter(0, torch.tensor([0, 1]), torch.tensor(2.0))
    assert torch.zeros(2).scatter(0, torch.tensor([1]), torch.tensor(2.0)).tolist() == [0.0, 2.0]
    assert (
        x.scatter(1, one, 2).tolist() == x.scatter(1, one, value=2.0).tolist() == [[2.0, 0.0]] * 2
    )
