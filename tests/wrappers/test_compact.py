"""ScalarTensor and DiagonalTensor, refusing and falling back."""

from __future__ import annotations

import jax
import pytest

import jtorch as torch
from jtorch.wrappers import (
    CompactTensor,
    DiagonalTensor,
    DiagonalTensorWithFallback,
    ScalarTensor,
    ScalarTensorWithFallback,
    compact,
)
from jtorch.wrappers.coverage import overridable_functions

V = torch.tensor([1.0, 2.0, 4.0])
MATRICES = [ScalarTensor(3, 2.0), DiagonalTensor(V)]
DENSE = torch.arange(9.0).reshape(3, 3) + 1


def as_dense(x):
    return x.dense() if isinstance(x, CompactTensor) else x


@pytest.mark.parametrize("x", MATRICES, ids=str)
@pytest.mark.parametrize(
    ("function", "stays"),
    [
        (lambda x: x + x, True), (lambda x: torch.add(x, x, alpha=2), True),
        (lambda x: x + DENSE, False), (lambda x: DENSE + x, False), (lambda x: x - 2 * x, True),
        (lambda x: DENSE - x, False), (lambda x: x - DENSE, False), (lambda x: x * 3, True),
        (lambda x: x * x, True), (lambda x: x * DENSE, False), (lambda x: x / 4, True),
        (lambda x: x @ x, True), (lambda x: x @ DENSE, False), (lambda x: DENSE @ x, False),
        (lambda x: x @ V, False), (lambda x: -x, True), (lambda x: x.T, True),
        (lambda x: x.t(), True), (lambda x: x.clone(), True), (lambda x: x.trace(), False),
        (lambda x: x.sum(), False), (lambda x: torch.sum(x, 1), False),
        (lambda x: torch.sum(x, 0, keepdim=True), False), (torch.mean, False), (torch.det, False), (torch.logdet, False), (torch.linalg.inv, True), (lambda x: torch.linalg.solve(x, DENSE), False), (lambda x: torch.matrix_power(x, 3), True),  # noqa: E501
        (torch.diagonal, False), (lambda x: x.diag(), False),
    ],
)  # fmt: skip
def test_formulas_agree_with_dense_matrices(x, function, stays):
    found = function(x)
    assert (
        torch.allclose(as_dense(found), function(x.dense()))
        and isinstance(found, CompactTensor) == stays
    )


def test_vector_times_matrix_scales_its_entries():
    assert (V @ DiagonalTensor(V)).tolist() == [1, 4, 16] and (V @ ScalarTensor(3, 2)).tolist() == [
        2,
        4,
        8,
    ]
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        DiagonalTensor(V) @ torch.ones(2, 2)


def test_mixed_kinds_and_sizes():
    total = ScalarTensor(3, 1.0) + DiagonalTensor(V)
    assert type(total) is DiagonalTensor and total.entries.tolist() == [2, 3, 5]
    with pytest.raises(ValueError, match="one size, not 2 and 3"):
        ScalarTensor(2, 1) + ScalarTensor(3, 1)
    assert (
        torch.mean(ScalarTensor(5, 2)).item() == pytest.approx(0.4)
        and repr(ScalarTensor(5, 2)) == "ScalarTensor(N=5, value=2)"
    )
    assert DiagonalTensor(2, 3.0).dense().tolist() == [[3, 0], [0, 3]]
    with pytest.raises(ValueError, match="must be a vector"):
        DiagonalTensor(torch.ones(2, 2))


@pytest.mark.parametrize("x", MATRICES, ids=str)
def test_facts(x):
    assert (
        x.shape == (3, 3)
        and x.size(0) == 3
        and x.dim() == x.ndim == 2
        and torch.numel(x) == x.numel() == 9
        and len(x) == 3
    )
    assert x.dtype is torch.float32 and not x.requires_grad


def test_refusing_and_falling_back():
    with pytest.raises(TypeError, match=r"torch\.exp"):
        torch.exp(ScalarTensor(2, 1.0))
    with pytest.raises(TypeError, match="exp"):
        ScalarTensor(2, 1.0).exp()
    with pytest.raises(TypeError):
        ScalarTensor(2, 1.0) / DENSE
    found = torch.exp(ScalarTensorWithFallback(2, 1.0))
    assert type(found) is torch.Tensor and torch.equal(found, torch.exp(torch.eye(2)))
    d = DiagonalTensorWithFallback(V)
    assert (
        torch.equal(torch.cat([d, DENSE]), torch.cat([d.dense(), DENSE]))
        and type(d + d) is DiagonalTensorWithFallback
    )


def test_gradients_reach_the_entries():
    v = V.clone().requires_grad_()
    (DiagonalTensor(v) @ DENSE).sum().backward()
    assert v.grad.tolist() == DENSE.sum(1).tolist()
    a = torch.tensor(2.0, requires_grad=True)
    torch.det(ScalarTensor(3, a)).backward()
    assert a.grad.item() == 12 and ScalarTensor(3, a).requires_grad


def test_tables_are_inherited_and_overridden():
    class Named(DiagonalTensor):
        pass

    @Named.implements(torch.neg)
    def neg(input):
        return "own"

    @Named.implements(torch.add)
    def add(input, other, *, alpha=1):
        return NotImplemented

    assert (
        torch.neg(Named(V)) == "own"
        and type(torch.neg(DiagonalTensor(V))) is DiagonalTensor
        and torch.trace(Named(V)).item() == 7
    )
    # the base class is asked next
    assert type(torch.add(Named(V), DiagonalTensor(V))) in (Named, DiagonalTensor)
    with pytest.raises(TypeError):
        torch.add(Named(V), Named(V))


def test_other_array_types_are_left_to_decide():
    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "other"

    assert torch.add(ScalarTensor(2, 1), Other()) == "other"


def test_trees():
    f = jax.jit(lambda x: x + x)
    assert (
        f(DiagonalTensor(V)).entries.tolist() == [2, 4, 8]
        and f(ScalarTensor(3, torch.tensor(2.0))).value.item() == 4
    )


@pytest.mark.parametrize("name", ["COVERAGE", "FALLBACK_COVERAGE"])
def test_coverage_partitions_the_list(name):
    sets = getattr(compact, name)
    every = overridable_functions()
    parts = [set(sets[part]) for part in ("unchanged", "special", "delegates", "refused")]
    assert set().union(*parts) == every and sum(map(len, parts)) == len(every)
    assert (
        torch.mean in sets["special"]
        and torch.exp in sets["refused" if name == "COVERAGE" else "delegates"]
    )
    assert all(sets["refused"].values()) and len(sets["special"]) > 40


def test_what_coverage_refuses_is_refused():
    s, refused = ScalarTensor(2, 1.0), compact.COVERAGE["refused"]
    for func in (
        torch.exp,
        torch.sort,
        torch.cat,
        torch.Tensor.view,
        torch.nn.functional.linear,
        torch.linalg.eigh,
    ):
        assert func in refused
        with pytest.raises(TypeError):
            torch.overrides.handle_torch_function(func, (s,), s)
