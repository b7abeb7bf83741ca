"""Look-ups by index, and bags."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine.host.staging import stage
from jtorch._src.ops import _bags, embedding

F = torch.nn.functional


def _table() -> torch.Tensor:
    return torch.arange(8.0).reshape(4, 2).requires_grad_()


def test_rows_and_gradient() -> None:
    w = _table()
    y = F.embedding(torch.tensor([[1, 1], [3, 0]]), w)
    assert y.tolist() == [[[2, 3], [2, 3]], [[6, 7], [0, 1]]]
    y.backward(torch.ones_like(y))
    assert w.grad.tolist() == [[1, 1], [2, 2], [0, 0], [1, 1]]


def test_padding_gets_no_gradient() -> None:
    for padding in (1, -3):
        w = _table()
        F.embedding(torch.tensor([1, 2]), w, padding_idx=padding).sum().backward()
        assert w.grad.tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]]


def test_gradient_by_frequency() -> None:
    w = _table()
    F.embedding(torch.tensor([1, 1, 1, 2]), w, scale_grad_by_freq=True).sum().backward()
    assert w.grad.tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]


def test_max_norm_shrinks_rows_in_place() -> None:
    w = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    version = w._version
    y = F.embedding(torch.tensor([0, 1, 0]), w, max_norm=1.0)
    np.testing.assert_allclose(w.numpy(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], 1e-6)
    np.testing.assert_allclose(y.numpy(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], 1e-6)
    assert w._version > version


@pytest.mark.parametrize("index", [4, -1])
def test_out_of_range(index: int) -> None:
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(torch.tensor([0, index]), _table()).tolist()


def test_sparse_changes_no_values() -> None:
    assert F.embedding(torch.tensor([0]), _table(), sparse=True).tolist() == [[0, 1]]
    assert F.embedding(torch.tensor([0]), _table().detach(), sparse=True).tolist() == [[0, 1]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    w = _table()
    indices, offsets = torch.tensor([1, 3, 3, 0]), torch.tensor([0, 2, 2])
    y = F.embedding_bag(indices, w, offsets, mode=mode)
    rows = [w.detach().numpy()[i] for i in ([1, 3], [], [3, 0])]
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    assert y.tolist() == [reduce(r, 0).tolist() if len(r) else [0, 0] for r in rows]
    y.sum().backward()
    share = {"sum": [1, 1, 0, 2], "mean": [0.5, 0.5, 0, 1], "max": [0, 0, 0, 2]}
    assert w.grad.tolist() == [[n, n] for n in share[mode]]


def test_bags_with_weights_and_padding() -> None:
    w, weights = _table(), torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = F.embedding_bag(
        torch.tensor([[1, 2], [3, 2]]), w, mode="sum", per_sample_weights=weights, padding_idx=2
    )
    assert y.tolist() == [[2, 3], [18, 21]]
    y.sum().backward()
    assert weights.grad.tolist() == [[5, 0], [13, 0]]
    assert w.grad.tolist() == [[0, 0], [1, 1], [0, 0], [3, 3]]


@pytest.mark.parametrize("look_up", [
    lambda weight: torch.nn.functional.embedding(torch.tensor([0]), weight, max_norm=0.1),
    lambda weight: torch.nn.functional.embedding_bag(torch.tensor([[0]]), weight, max_norm=0.1),
])  # fmt: skip
def test_tables_that_a_function_captured_are_not_renormalised(look_up):
    weight = torch.ones(2, 2)
    with pytest.raises(
        RuntimeError,
        match=r"in-place operation \(aten::embedding_renorm_\) that would mutate a captured Tensor",
    ):
        torch.func.grad(lambda x: look_up(weight).sum() + x)(torch.tensor(1.0))
    assert weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    look_up(weight)
    assert weight[0].norm().item() < 0.2


def test_an_empty_table_has_no_rows():
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        torch.nn.functional.embedding(torch.tensor([0]), torch.ones(0, 2))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 2])
def test_equal_bags_are_bags_like_others(mode: str, padding_idx: int | None) -> None:
    indices = torch.tensor(np.random.default_rng(0).integers(0, 6, (5, 4)))
    indices[3] = 2  # nothing counts there
    table = np.random.default_rng(1).standard_normal((6, 3)).astype(np.float32)
    found = []
    for given in ((indices, None), (indices.reshape(-1), torch.arange(0, 20, 4))):
        weight = torch.tensor(table, requires_grad=True)
        made = F.embedding_bag(given[0], weight, given[1], mode=mode, padding_idx=padding_idx)
        (made * torch.arange(15.0).reshape(5, 3)).sum().backward()
        found.append((made.detach().numpy(), weight.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5, atol=1e-6)


def test_equal_bags_are_reduced() -> None:
    indices, offsets = np.zeros(12, np.int64), np.arange(0, 12, 4)
    text = [
        str(
            jax.make_jaxpr(
                lambda w, width=width: embedding._embedding_bag(
                    w, indices, offsets, False, "mean", None, False, -1, width
                )
            )(np.ones((3, 2)))
        )
        for width in (4, 0)
    ]
    assert ["unequal" in t for t in text] == [False, True] and not any("scatter" in t for t in text)


@pytest.mark.parametrize("columns", [1, 4, 16, 17, 64, 65])
@pytest.mark.parametrize("bags", [5, 600])  # put together, and by SciPy
def test_sums_of_bags_by_xla_and_by_host(columns: int, bags: int) -> None:
    rng = np.random.default_rng(columns)
    table, indices = rng.standard_normal((9, columns)), rng.integers(0, 9, (bags, 7))
    expected = [sum((table[i] for i in row), np.zeros(columns)) for row in indices]
    np.testing.assert_allclose(
        jax.jit(_bags.sums_of_bags)(table, indices), expected, rtol=1e-12, atol=1e-12
    )
    by_host = stage(jax.make_jaxpr(_bags.sums_of_bags)(table, indices))
    assert by_host is not None
    found = by_host(table, indices)[0]
    np.testing.assert_array_equal(found, expected) if columns > 1 else np.testing.assert_allclose(
        found, expected, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", [-1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_unequal_bags_by_xla_and_by_scipy(last: bool, padding: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    table, indices, offsets = (
        rng.standard_normal((9, 5)),
        rng.integers(0, 9, 40),
        np.array([0, 0, 3, 11, 11, 37]),
    )
    weights = rng.standard_normal(40) if weighted else None
    bounds = list(offsets) if last else [*offsets, 40]
    factors = np.where(indices == padding, 0.0, 1.0 if weights is None else weights)
    expected = [
        (table[indices[a:b]] * factors[a:b, None]).sum(0) for a, b in itertools.pairwise(bounds)
    ]

    def sums(table: jax.Array, indices: jax.Array, offsets: jax.Array) -> jax.Array:
        return _bags.sums_of_unequal_bags(
            table,
            indices,
            offsets,
            None if weights is None else jax.numpy.asarray(weights),
            last,
            padding,
        )

    by_host = stage(jax.make_jaxpr(sums)(table, indices, offsets))
    assert by_host is not None
    for found in (jax.jit(sums)(table, indices, offsets), by_host(table, indices, offsets)[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("offsets", [[1, 3], [0, 3, 2, 5], [0, 2**40], [0, -5, 3]])
def test_wrong_offsets_are_refused_and_touch_nothing(offsets: list[int]) -> None:
    given, indices = torch.tensor(offsets), torch.tensor([0, 1, 2, 3, 4, 5])
    with pytest.raises(RuntimeError, match=r"offsets|Expected i < index_size"):
        F.embedding_bag(indices, torch.ones(10, 4), given, mode="sum").sum().item()
    sums = jax.make_jaxpr(
        lambda table, places, begins: _bags.sums_of_unequal_bags(
            table, places, begins, None, False, -1
        )
    )
    operands = np.ones((10, 4), np.float32), indices.numpy() + 6, given.numpy()
    by_host = stage(sums(*operands))
    assert by_host is not None
    assert np.isfinite(by_host(*operands)[0]).all()  # memory must not suffer


def test_means_of_unequal_bags() -> None:
    table = torch.tensor([[1.0], [2.0], [float("inf")], [4.0]], requires_grad=True)
    means = F.embedding_bag(
        torch.tensor([0, 1, 3, 2, 1]), table, torch.tensor([0, 2, 2]), padding_idx=2
    )
    assert means.tolist() == [[1.5], [0.0], [3.0]]
    means.sum().backward()
    assert table.grad.tolist() == [[0.5], [1.0], [0.0], [0.5]]


def test_numbers_outside_a_bag_do_not_reach_it() -> None:
    table = torch.tensor([[1.0], [float("inf")], [float("nan")], [-0.0]])
    sums = F.embedding_bag(torch.tensor([[0, 3], [1, 0], [2, 0], [3, 3]]), table, mode="sum")
    np.testing.assert_array_equal(sums.numpy(), [[1.0], [np.inf], [np.nan], [0.0]])


def test_rows_without_elements() -> None:
    assert F.embedding_bag(torch.tensor([[1, 1], [3, 0]]), torch.zeros(4, 0)).shape == (2, 0)
    w = torch.zeros(4, 0, requires_grad=True)
    F.embedding(torch.tensor([[1, 1], [3, 0]]), w).sum().backward()
    assert w.grad.shape == (4, 0)


@pytest.mark.parametrize("wrong", [10, -1, 10**7, -(10**7), 2**40])
def test_wrong_indices_of_many_bags_are_refused_and_touch_nothing(wrong: int) -> None:
    indices = torch.zeros(5000, 4, dtype=torch.int64)
    indices[77, 1] = wrong
    with pytest.raises(RuntimeError, match=f"found idx to be {wrong}"):
        F.embedding_bag(indices + 0, torch.ones(10, 4), mode="sum").sum().item()
    by_host = stage(
        jax.make_jaxpr(_bags.sums_of_bags)(np.ones((10, 4), np.float32), indices.numpy())
    )
    assert by_host is not None
    # memory must not suffer
    assert np.isfinite(by_host(np.ones((10, 4), np.float32), indices.numpy())[0]).all()


def test_bags_whose_offsets_become_smaller_are_refused() -> None:
    """Always: PyTorch refuses them in those kernels alone that it has for some processors."""
    for mode in ("sum", "mean", "max"):
        with pytest.raises(RuntimeError, match=r"Expected i < index_size to be true"):
            F.embedding_bag(
                torch.tensor([0, 1, 1]), torch.ones(3, 2), torch.tensor([0, 2, 1]), mode=mode
            )
