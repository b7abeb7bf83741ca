"""First tangents that are written in place: the tensor and its views have them, tensors that were
detached from it have not."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import jtorch as torch
from jtorch.autograd import forward_ad as fw


def tangents(*tensors):
    return [None if (t := fw.unpack_dual(x).tangent) is None else t.tolist() for x in tensors]


def pair(*sizes):
    return fw.make_dual(torch.full(sizes, 2.0), torch.ones(sizes))


@pytest.fixture
def level():
    with fw.dual_level():
        yield


def test_a_tensor_does_not_get_what_is_written_into_a_detached_one(level):
    x = torch.arange(4.0)
    d, data = x.detach(), x.data
    below, part = d[1:], d.view(2, 2)[1]
    part.mul_(pair(2))
    assert tangents(x, x[1:], data, d, below, part) == [
        None,
        None,
        None,
        [0.0, 0.0, 2.0, 3.0],
        [0.0, 2.0, 3.0],
        [2.0, 3.0],
    ]
    assert x.tolist() == d.tolist() == [0.0, 1.0, 4.0, 6.0] and x._version == part._version == 1
    data.copy_(pair(4))
    assert (
        tangents(x, data) == [None, [1.0] * 4]
        and d.tolist() == [2.0] * 4
        and data._version == x._version == 1
    )
    x[:2].mul_(3)
    assert tangents(x, d, data) == [None, [0.0, 0.0, 2.0, 3.0], [1.0] * 4]


def test_a_detached_tensor_does_not_get_what_is_written_into_the_tensor(level):
    x = torch.arange(4.0)
    before, early = x[1:], x.detach()
    x.add_(pair(4))
    after, late = x[2:], x[1:].detach()
    assert tangents(x, before, after, early, late) == [[1.0] * 4, [1.0] * 3, [1.0] * 2, None, None]
    before.fill_(5.0)
    assert tangents(x, after) == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0]] and early.tolist() == [
        2.0,
        5.0,
        5.0,
        5.0,
    ]
    late.copy_(pair(3))
    assert tangents(x, late) == [[1.0, 0.0, 0.0, 0.0], [1.0] * 3] and x.tolist() == [2.0] * 4


def test_what_is_detached_from_a_dual_tensor_gets_tangents_of_its_own(level):
    for d in (pair(3), pair(3) * 1):
        z = d.detach()[1:]
        z.mul_(pair(2))
        assert tangents(d, z) == [[1.0] * 3, [2.0] * 2] and d.tolist() == [2.0, 4.0, 4.0]
        torch.add(torch.ones(2), torch.ones(2), out=d.detach()[1:])
        assert d.tolist() == [2.0, 2.0, 2.0]


def test_memory_of_numpy(level):
    array = np.ones(3, np.float32)
    x = torch.from_numpy(array)
    part = x[1:]
    x.mul_(pair(3))
    assert tangents(x, part) == [[1.0] * 3, [1.0] * 2] and array.tolist() == [2.0] * 3


def test_when_the_level_has_ended():
    x = torch.arange(4.0)
    d, part = x.detach(), x[1:]
    with fw.dual_level():
        x.mul_(pair(4))
        part.t()
        x.unsqueeze_(0)
        assert tangents(x, d, part) == [[[0.0, 1.0, 2.0, 3.0]], None, [1.0, 2.0, 3.0]]
    x.squeeze_()
    again, other = copy.deepcopy([x, d])
    again.add_(1)
    assert other.tolist() == [1.0, 3.0, 5.0, 7.0]
    part[0] = 9.0
    assert d.tolist() == x.tolist() == [0.0, 9.0, 4.0, 6.0]
    x.resize_(5)
    assert x.numel() == 5 and part.tolist() == [9.0, 4.0, 6.0]
    with fw.dual_level():
        d.copy_(pair(4))
        d.detach_()
        assert tangents(d, x) == [None, None]


def test_inside_transformations():
    def f(x):
        d = x.detach()
        d.mul_(x)
        made = torch.zeros(2)
        seen = made.detach()
        made[:1].add_(x[:1])
        return x * 1, d * 1, made * 1, seen * x

    x = torch.tensor([1.0, 2.0])
    value, direction = torch.func.jvp(f, (x,), (torch.ones(2),))
    assert [v.tolist() for v in value] == [[1.0, 4.0], [1.0, 4.0], [1.0, 0.0], [1.0, 0.0]]
    assert [v.tolist() for v in direction] == [[1.0, 1.0], [1.0, 2.0], [1.0, 0.0], [1.0, 0.0]]
    assert x.tolist() == [1.0, 4.0]  # which `d` looks at
    by_column = torch.func.jacfwd(f)(torch.tensor([1.0, 2.0]))
    assert (
        by_column[1].tolist() == [[1.0, 0.0], [0.0, 2.0]]
        and by_column[0].tolist() == torch.eye(2).tolist()
    )

    def of_examples(x):
        def one(x):
            made = torch.zeros_like(x)
            seen = made.detach()
            made.add_(x)
            return made * 1, seen * 1

        return torch.vmap(one)(x)

    assert [
        v.tolist() for v in torch.func.jvp(of_examples, (torch.ones(2),), (torch.ones(2),))[1]
    ] == [[1.0, 1.0], [0.0, 0.0]]

    def cube(x):
        made = x * x
        seen = made.detach()
        made.mul_(x)
        return made, seen * x

    second = torch.func.jacfwd(torch.func.jacfwd(cube))(torch.tensor(2.0))
    assert [v.item() for v in second] == [12.0, 0.0]


def test_inference_mode_has_no_forward_derivatives(level):
    x = pair(2)
    part = x[0]
    with torch.inference_mode():
        assert tangents(x, x * 2, part, fw.make_dual(torch.ones(1), torch.ones(1))) == [None] * 4
        x.mul_(3)
        part.add_(1)
        other = pair(2)
        with torch.inference_mode(False):
            assert tangents(x * 1) == [[1.0, 1.0]]
    assert tangents(x, part, x * 1, other) == [
        [1.0, 1.0],
        1.0,
        [1.0, 1.0],
        None,
    ] and x.tolist() == [7.0, 6.0]

    def f(x):
        with torch.inference_mode():
            y = x * 2
        return y + x

    assert torch.func.jvp(f, (torch.ones(1),), (torch.ones(1),))[1].tolist() == [1.0]
