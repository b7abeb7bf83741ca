"""Dual tensors are on the memory of their value, and their tangents are the tensors that were
given."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.autograd import forward_ad as fw


def lists(*tensors):
    return [t.tolist() for t in tensors]


@pytest.fixture
def pair():
    x, t = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)
    with fw.dual_level():
        yield x, t, fw.make_dual(x, t)


def test_writes_into_a_dual_tensor_are_seen_outside(pair):
    x, t, d = pair
    d.mul_(2)
    assert lists(x, t, d) == [[2.0, 4.0, 6.0], [2.0, 2.0, 2.0], [2.0, 4.0, 6.0]]
    d[0] = 5.0
    d[1:].mul_(d[1:].clone())
    assert lists(x, t) == [[5.0, 16.0, 36.0], [0.0, 16.0, 24.0]]
    d.view(3, 1).fill_(9.0)
    assert lists(x, t) == [[9.0] * 3, [0.0] * 3]
    assert fw.unpack_dual(x).tangent is None and x._version == d._version == 4


def test_writes_into_value_and_tangent_are_seen_in_a_dual_tensor(pair):
    x, t, d = pair
    part = d[1:]
    x.add_(1)
    t.fill_(3.0)
    assert lists(d, part, fw.unpack_dual(part).tangent, fw.unpack_dual(d * d).tangent) == [
        [2.0, 3.0, 4.0],
        [3.0, 4.0],
        [3.0, 3.0],
        [12.0, 18.0, 24.0],
    ]
    x.resize_(5)
    assert lists(d) == [[2.0, 3.0, 4.0]]


def test_unpacked_parts_are_on_the_memory_of_each(pair):
    x, t, d = pair
    value, tangent = fw.unpack_dual(d)
    assert (
        tangent is t
        and value.data_ptr() == x.data_ptr() == d.data_ptr()
        and not value.requires_grad
    )
    value.mul_(2)
    below = fw.unpack_dual(d[1:])
    below.primal.zero_()
    below.tangent.fill_(7.0)
    assert lists(x, t, d) == [[2.0, 0.0, 0.0], [1.0, 7.0, 7.0], [2.0, 0.0, 0.0]]
    assert value._version == x._version == 2


def test_other_layouts_of_tangents_are_copied():
    with fw.dual_level():
        x, t = torch.arange(6.0).reshape(2, 3).t(), torch.ones(3, 2)
        d = fw.make_dual(x, t)
        d.mul_(3)
        assert lists(t, fw.unpack_dual(d).tangent) == [[[1.0] * 2] * 3, [[3.0] * 2] * 3]
        assert fw.unpack_dual(d).tangent.stride() == d.stride() == (1, 3) and x[1].tolist() == [
            3.0,
            12.0,
        ]
        y, t = torch.arange(6.0)[2:], torch.ones(4)
        d = fw.make_dual(y, t)
        d.mul_(3)
        assert lists(y, t) == [[6.0, 9.0, 12.0, 15.0], [1.0] * 4]
        assert d.storage_offset() == 2 and d.as_strided((2,), (2,), 3).tolist() == [9.0, 15.0]
        with pytest.raises(
            NotImplementedError, match="as_strided of a dual tensor, beyond the value"
        ):
            d.as_strided((2,), (2,), 1)


def test_versions_count_for_both(pair):
    x, t, d = pair
    w = torch.ones(3, requires_grad=True)
    first, second = (w * x).sum(), (w * t).sum()
    d.add_(d)
    for out in (first, second):
        with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
            out.backward()


def test_histories(pair):
    x, _, d = pair
    w = torch.full((3,), 2.0, requires_grad=True)
    d.mul_(w)
    assert d.requires_grad and x.tolist() == [2.0, 4.0, 6.0]
    assert torch.autograd.grad(fw.unpack_dual(d).tangent.sum(), w)[0].tolist() == [1.0, 1.0, 1.0]
    y = torch.ones(2, requires_grad=True)
    apart = fw.make_dual(y, torch.ones(2))
    apart.mul_(2)
    assert lists(y, apart) == [[1.0, 1.0], [2.0, 2.0]]
    with torch.no_grad():
        fw.make_dual(y, torch.ones(2)).mul_(2)
    assert y.tolist() == [2.0, 2.0]


def test_values_that_come_to_require_grad(pair):
    x, _, d = pair
    x.requires_grad_()
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        d.add_(1)
    with torch.no_grad():
        d.add_(1)
    assert x.tolist() == [2.0, 3.0, 4.0]
    y = torch.ones(2)
    d = fw.make_dual(y, torch.ones(2))
    y.mul_(torch.ones(2, requires_grad=True))
    with pytest.raises(NotImplementedError, match="share no history"):
        d.add_(1)


def test_detaching(pair):
    x, t, d = pair
    z = d.detach()
    z.mul_(2)
    assert (
        lists(x, d, t) == [[2.0, 4.0, 6.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]
        and fw.unpack_dual(z).tangent is None
    )
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        d.detach_()
    y = d.clone()
    y.detach_()
    assert (
        fw.unpack_dual(y).tangent is None
        and fw.unpack_dual(y * 2).tangent is None
        and y._version == 0
    )
    y = d.clone()
    part = y[:1]
    y.detach_()
    assert fw.unpack_dual(y).tangent is None and part.tolist() == [2.0]


def test_sizes_do_not_change(pair):
    _, _, d = pair
    for size in (3, 5):
        with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
            d.resize_(size)


def test_after_the_level():
    x, t = torch.ones(2), torch.ones(2)
    with fw.dual_level():
        d = fw.make_dual(x, t)
    d.mul_(3)
    x.add_(1)
    assert lists(x, d, t) == [[4.0, 4.0], [4.0, 4.0], [1.0, 1.0]]
    del x
    d.add_(1)
    assert d.tolist() == [5.0, 5.0]


def test_in_inference_mode():
    with torch.inference_mode(), fw.dual_level():
        x, t = torch.ones(2), torch.ones(2)
        d = fw.make_dual(x, t)
        d += 1
        assert lists(x) == [[2.0, 2.0]] and not d._is_view()


def test_views_of_other_dtypes():
    with fw.dual_level():
        x, t = torch.ones(2, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64)
        d = fw.make_dual(x, t)
        torch.view_as_real(d).mul_(2)
        d.real.add_(1)
        assert lists(x, t) == [[3, 3], [2, 2]]
        assert lists(fw.unpack_dual(d.imag).tangent) == [[0.0, 0.0]]


def test_numpy_shares_the_value_of_a_dual_tensor() -> None:
    x = torch.ones(4)
    with fw.dual_level():
        d = fw.make_dual(x, torch.full((4,), 2.0))
        array, part = d.numpy(), d[1:].numpy()
        part[0] = 7
        assert x.tolist() == array.tolist() == [1.0, 7.0, 1.0, 1.0]
        d.mul_(2)
        assert (
            array.tolist() == [2.0, 14.0, 2.0, 2.0]
            and fw.unpack_dual(d).tangent.tolist() == [4.0] * 4
        )
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            torch.add(torch.ones(4), torch.ones(4), out=d)


def test_tangents_without_elements_are_kept_wherever_they_begin() -> None:
    value, tangent = (torch.ones(1).as_strided((0,), (1,), offset) for offset in (1, 0))
    with fw.dual_level():
        assert fw.unpack_dual(fw.make_dual(value, tangent)).tangent is tangent
