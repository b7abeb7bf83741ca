"""Writes in place that torch makes of expanded tensors, and of whole ones by index."""

from __future__ import annotations

import operator

import pytest

import jtorch as torch

OVERLAP = "more than one element of the written-to tensor"


def test_triangles_of_expanded_tensors() -> None:
    base = torch.tensor([1.0, 2.0, 3.0])
    x = base.expand(2, 3)
    assert (
        x.tril_() is x and x.tolist() == [[1.0, 0.0, 0.0]] * 2 and base.tolist() == [1.0, 0.0, 0.0]
    )
    assert torch.ones(3, 1).expand(3, 3).triu_().tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3]
    assert torch.ones(1).expand(3, 3).tril_().tolist() == [[0.0] * 3] * 3
    assert torch.ones(2, 2).expand(2, 2, 2).tril_().tolist() == [[[1.0, 0.0], [1.0, 1.0]]] * 2


def test_thresholds_of_expanded_tensors() -> None:
    x = torch.tensor([1.0, 2.0]).expand(2, 2)
    assert torch.threshold_(x, 1.0, 0.0).tolist() == [[0.0, 2.0]] * 2
    assert torch.nn.functional.threshold(x, 2.0, 5.0, inplace=True).tolist() == [[5.0, 5.0]] * 2


def test_results_do_not_go_to_expanded_tensors_of_another_shape() -> None:
    with pytest.raises(RuntimeError, match=OVERLAP):
        torch.add(torch.ones(3), 1, out=torch.ones(3).expand(2, 3))


@pytest.mark.parametrize(
    "sign", "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split()
)
def test_operators_do_not_write_where_they_read(sign: str) -> None:
    x = (
        torch.arange(4)
        if sign in ("iand", "ior", "ixor", "ilshift", "irshift")
        else torch.arange(4.0)
    )
    part = x[1:]
    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single "
        "memory location",
    ):
        getattr(operator, sign)(part, x[:3])
    getattr(operator, sign)(part, x[1:])  # the same memory
    assert x[0] == 0


def test_masks_on_expanded_tensors_warn_of_both_functions() -> None:
    x = torch.zeros(2, 1).expand(2, 3)
    with pytest.warns(UserWarning, match="expanded tensors") as seen:
        x[torch.tensor([[True] * 3, [False] * 3])] = 1.0
    assert [str(w.message).split()[2] for w in seen] == ["index_put_", "masked_fill_"]
    assert x.tolist() == [[1.0] * 3, [0.0] * 3]


@pytest.mark.parametrize(
    "index", [slice(None), slice(0, None), slice(0, 9), slice(None, None, 1), ...], ids=str
)
def test_everything_by_index_is_no_view(index: object) -> None:
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad"):
        torch.ones(2, requires_grad=True)[index] = 0.0  # type: ignore[index]
    y = torch.ones(2, requires_grad=True) * 1
    y[index] = 5.0  # type: ignore[index]
    assert y.grad_fn.name() == "FillBackward3" and y.tolist() == [5.0, 5.0]
    y[index] = torch.ones(2)  # type: ignore[index]
    assert y.grad_fn.name() == "torch::autograd::CopyBackwards"


@pytest.mark.parametrize(
    "index", [slice(-2, None), slice(None, None, 2), slice(1, None), None], ids=str
)
def test_parts_by_index_are_views(index: object) -> None:
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad"):
        torch.ones(2, requires_grad=True)[index] = 0.0  # type: ignore[index]


def test_rows_are_renormalised_in_place() -> None:
    table = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert torch.embedding_renorm_(table, torch.tensor([1]), 5.0, 2.0) is table
    torch.testing.assert_close(table, torch.tensor([[3.0, 4.0], [3.0, 4.0]]))


SHARED = "some elements of the input tensor and the written-to tensor"


def _numbers() -> torch.Tensor:
    return torch.arange(6.0)


@pytest.mark.parametrize("write", [
    lambda x, i: x.index_copy_(0, i, x[:2]),
    lambda x, i: x.index_add_(0, i, x[:2]),
    lambda x, i: x.index_reduce_(0, i, x[:2], "prod"),
    lambda x, i: x.scatter_(0, i, x),
    lambda x, i: x.scatter_add_(0, i, x[:2]),
    lambda x, i: x.scatter_reduce_(0, i, x[:2], "sum"),
    lambda x, i: x.put_(i, x[:2]),
    lambda x, i: x.index_put_((i,), x[:2]),
    lambda x, i: x.__setitem__(i, x[:2]),
    lambda x, i: x.__setitem__(x > 3, x[:2]),
    lambda _, i: i.index_fill_(0, i, 1),
    lambda _, i: i.scatter_(0, i, 1),
    lambda _, i: i.__setitem__(i, 1),
    lambda x, _: (m := x > 1)[1:].masked_fill_(m[:-1], True),
])  # fmt: skip
def test_what_is_written_must_not_lie_in_the_memory_that_is_written_into(write) -> None:
    with pytest.raises(RuntimeError, match=SHARED):
        write(_numbers(), torch.tensor([0, 1]))


def test_parts_that_do_not_meet_may_be_written() -> None:
    x = _numbers()
    x[:3][torch.tensor([0, 1])] = x[4:]
    assert x.tolist() == [4.0, 5.0, 2.0, 3.0, 4.0, 5.0]
    mask = x > 4
    mask[mask] = False
    assert not mask.any()
    assert mask.masked_fill_(mask, True) is mask


class Marked(torch.Tensor):
    """A subclass that changes nothing."""


@pytest.mark.parametrize("cls", [torch.Tensor, Marked])
def test_the_same_memory_under_another_class(cls: type) -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = x * 2
    z = y.as_subclass(cls)
    z *= 0.5
    z[1:] += y[:2].clone()
    y.mul_(3)
    assert type(z) is cls and z._base is y and z.tolist() == y.tolist() == [0.0, 3.0, 9.0]
    (z * z).sum().backward()
    # z is 3 * (x0, x1 + x0, x2 + x1)
    assert x.grad is not None and x.grad.tolist() == [18.0, 72.0, 54.0]


def test_tensors_copied_into_views_end_where_the_view_says() -> None:
    base = torch.zeros(3, 4)
    base[0] = torch.arange(4.0)
    base.t()[1].copy_(torch.tensor([5.0, 6.0, 7.0]))
    view = base[1:, 2:]
    view.copy_(torch.ones(2, 2))
    assert base.tolist() == [[0.0, 5.0, 2.0, 3.0], [0.0, 6.0, 1.0, 1.0], [0.0, 7.0, 1.0, 1.0]]
    view += 1  # what was copied from stays as it is
    assert view.sum().item() == 8 and base[1, 2].item() == 2


def test_what_is_copied_into_a_view_replaces_its_history() -> None:
    leaf = torch.ones(2, 3, requires_grad=True)
    base = leaf * 2
    row = base[0]
    with torch.no_grad():
        other = torch.full((3,), 5.0)
    row.copy_(other)
    base.sum().backward()
    assert leaf.grad.tolist() == [[0.0] * 3, [2.0] * 3]
    held = torch.zeros(3)
    source = torch.ones(3)
    held[:].copy_(source)
    source += 1
    assert held.tolist() == [1.0] * 3


def test_what_was_read_before_a_view_is_written_is_refused() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    y = x.exp()
    y[0].copy_(torch.zeros(2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_splits_of_tensors_that_lie_otherwise() -> None:
    x = torch.arange(12).reshape(3, 4)
    for _ in range(2):
        assert [p.tolist() for p in x.t().chunk(2)] == [
            [[0, 4, 8], [1, 5, 9]],
            [[2, 6, 10], [3, 7, 11]],
        ]
        assert [p.stride() for p in x.chunk(2)] == [(4, 1)] * 2 and [
            p.storage_offset() for p in x.chunk(2)
        ] == [0, 8]
        assert [p.storage_offset() for p in x[1:].chunk(2)] == [4, 8]
        assert [p.tolist() for p in x[1:].unbind(1)] == [[4, 8], [5, 9], [6, 10], [7, 11]]
    first, _ = x.float().chunk(2)
    first.zero_()
    assert first.sum().item() == 0
