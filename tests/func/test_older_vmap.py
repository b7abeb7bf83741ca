"""The ``vmap`` that came before ``torch.vmap``: its own rules for dimensions, results, gradients
and random numbers."""

from __future__ import annotations

import functools

import pytest

import jtorch as torch
from jtorch._vmap_internals import _vmap, vmap


@pytest.fixture
def x():
    return torch.arange(24.0).reshape(2, 3, 4)


def test_warns_and_maps(x):
    with pytest.warns(FutureWarning, match="Please use `torch.vmap`"):
        found = vmap(torch.mul, (0, None))(x, torch.tensor(2.0))
    assert found.tolist() == (x * 2).tolist()


def test_results_lie_where_they_are_wanted(x):
    one, two = _vmap(lambda a: (a + 1, a.sum()), 1, (-1, 0))(x)
    assert one.tolist() == (x + 1).movedim(1, -1).tolist()
    assert two.tolist() == x.sum((0, 2)).tolist()
    none, kept = _vmap(lambda a: [None, a], allow_none_pass_through=True)(x)
    assert none is None and kept is x
    assert _vmap(functools.partial(torch.add, 1))(x).tolist() == (x + 1).tolist()


@pytest.mark.parametrize(
    ("function", "dims", "out_dims", "words"),
    [
        (
            lambda a: 3.0,
            0,
            0,
            "`<lambda>` must only return Tensors, got type <class 'float'> as the return",
        ),
        (lambda a: [a], 0, 0, "must only return Tensors, got type <class 'list'> as the return"),
        (lambda a: (a, 3), 0, 0, "must only return Tensors, got type <class 'int'> for return 1"),
        (torch.neg, -1, 0, r"expected in_dim to satisfy 0 <= in_dim < 3"),
        (
            torch.neg,
            3,
            0,
            r"Got in_dim=3 for some input, but that input is a Tensor of dimensionality 3",
        ),
        (torch.neg, 0, (0, 0), r"`out_dims` must have one dim per output \(got 1 outputs\)"),
        (torch.neg, 0, "0", "`out_dims` must be an int or a tuple of int"),
        (torch.neg, 0, (None,), "`out_dims` must be an int or a tuple of int"),
    ],
)
def test_refuses_dimensions_and_results(x, function, dims, out_dims, words):
    with pytest.raises(ValueError, match=words):
        _vmap(function, dims, out_dims)(x)


def test_refuses_gradients_of_examples(x):
    w = torch.ones(4, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside torch.vmap"):
        _vmap(lambda a: w.sum().backward())(x)
    with pytest.raises(RuntimeError, match=r"any outputs are vmapped tensors \(output 0 is"):
        _vmap(lambda a: torch.autograd.grad((w * a).sum(), w)[0])(x)
    out = (y * 2).sum()
    with pytest.raises(RuntimeError, match=r"any inputs are vmapped tensors \(input 0 is"):
        _vmap(lambda a: torch.autograd.grad(out, a)[0])(y)
    product = w * 3
    found = _vmap(lambda g: torch.autograd.grad(product, w, g)[0])(torch.eye(4))
    assert found.tolist() == (torch.eye(4) * 3).tolist()


def test_refuses_random_numbers(x):
    with pytest.raises(
        RuntimeError, match="We do not yet support calling random operations inside of vmap"
    ):
        _vmap(torch.rand_like)(x)


@pytest.mark.parametrize(
    ("product", "words", "older"),
    [
        (
            torch.mm,
            "mm(a, b). a has dim 1and b has dim 2but expected",
            "expected matrix (got `self` of size [4])",
        ),
        (
            torch.mv,
            "mv(a, b). a has dim 1and b has dim 2but expected",
            "and vector (got `other` of size [3, 4])",
        ),
        (
            torch.bmm,
            "b has dim 2but expected them to have dim 3 and dim 3",
            "and 3D `other` (got `other` of size",
        ),
        (
            torch.dot,
            "Got wrong shapes for dot",
            "dot(self, other): Shape mismatch: vector (got `self` of size [4]) and vector",
        ),
    ],
)
def test_products_of_examples_that_do_not_fit(x, product, words, older):
    for vmapped, expected in ((torch.vmap, words), (_vmap, older)):
        with pytest.raises(RuntimeError) as caught:
            vmapped(product)(x[:, 0], x)
        assert expected in str(caught.value)
    with pytest.raises(RuntimeError, match="same number of elements"):
        torch.vmap(torch.dot)(x[:, 0], x[:, 0, :2])


# ---- memory of examples, of either vmap ----------------------------------------------------------


def test_an_argument_that_comes_back_is_itself(x):
    assert torch.vmap(lambda a: a, 2, 2)(x) is x
    assert torch.vmap(torch.Tensor.contiguous, 2, 2)(x.transpose(0, 1)).shape == (3, 2, 4)
    moved = torch.vmap(lambda a: a, 2, 0)(x)
    assert moved is not x and moved.data_ptr() == x.data_ptr()


def test_examples_know_where_they_lie(x):
    part = x[:, 1:, 2:]
    assert torch.vmap(lambda a: a * 0 + a.storage_offset())(part).unique().tolist() == [6.0]
    assert torch.vmap(lambda a: a * 0 + a[1].storage_offset())(x[:, 1:]).unique().tolist() == [8.0]
    assert torch.vmap(lambda a: a[0].view(torch.int32) * 0 + a.view(torch.int32).storage_offset())(
        x[:, 1:]
    ).unique().tolist() == [4]
    whole = x[:, 1:]
    found = torch.vmap(lambda a: a.as_strided((2, 2), (4, 1), a.storage_offset() + 1))(whole)
    assert found.tolist() == x[:, 1:, 1:3].tolist()
    assert torch.vmap(lambda a: a.as_strided((2,), (4,)))(whole).tolist() == x[:, 1:, 0].tolist()

    def written(a):
        a.as_strided((2,), (2,), a.storage_offset() + 4).zero_()
        return a.clone()

    y = x.clone()
    assert torch.vmap(written)(y[:, 1:])[:, 1].tolist() == [
        [0.0, 9.0, 0.0, 11.0],
        [0.0, 21.0, 0.0, 23.0],
    ]
    assert y[:, 2].tolist() == [[0.0, 9.0, 0.0, 11.0], [0.0, 21.0, 0.0, 23.0]]


@pytest.mark.parametrize("offset", [3, 11])
def test_looks_beyond_an_example_are_refused(x, offset):
    words = (
        rf"in range \[{offset}, {offset + 3}\], but `tensor` can only access some memory in range "
        r"\[4, 12\]. This is not supported"
    )
    with pytest.raises(RuntimeError, match=words):
        torch.vmap(lambda a: a.as_strided((2,), (2,), offset))(x[:, 1:])
    with pytest.raises(RuntimeError, match="`tensor` has no storage but"):
        torch.vmap(lambda a: a[:0].as_strided((2,), (2,), 4))(x[:, 1:])
    with pytest.raises(NotImplementedError, match="the memory of one example of a vmap"):
        torch.vmap(lambda a: a.as_strided((2,), (8,), 0))(x[:, ::2])
    assert torch.vmap(lambda a: a.as_strided((0,), (2,), 99))(x).shape == (2, 0)


def test_strided_memory_has_a_place_for_each_example(x):
    def made(a):
        new = a.new_empty_strided((2, 3), (1, 2))
        new.zero_()
        new.add_(a.sum())
        return new, a * 0 + new.stride(0)

    found, strides = torch.vmap(made)(x)
    assert found[:, 1, 1].tolist() == x.sum((1, 2)).tolist() and strides.unique().tolist() == [1.0]
    assert torch.vmap(lambda a: a.new_empty_strided((2,), (1,), requires_grad=True) * 1)(
        x
    ).shape == (2, 2)
