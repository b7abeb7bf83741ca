"""Operators called by position: what a parameter means to the operator, it means to the function
that runs it."""

from __future__ import annotations

import inspect

import pytest

import jtorch
import jtorch as torch
from jtorch._src import hooks
from jtorch._src.aten import kernels
from jtorch._src.aten.schema import texts
from jtorch.utils._python_dispatch import TorchDispatchMode

#: Names for the same thing: the operator's, and the function's.
SAME = {
    ("sections", "indices_or_sections"), ("indices", "indices_or_sections"),
    ("tensor_indices_or_sections", "indices_or_sections"), ("split_size", "split_size_or_sections"),
    ("test_element", "test_elements"), ("self", "input"), ("value", "src"), ("src", "other"),
    ("from", "from_"), ("scales", "scale"), ("zero_points", "zero_point"),
    ("the_template", "tensor"),
}  # fmt: skip
#: Parameters whose place the function gives to several things, and tells them by their type or
#: number.
TOLD_APART = {
    ("add", "alpha"),
    ("sub", "alpha"),
    ("add_", "alpha"),
    ("sub_", "alpha"),
    ("subtract_", "alpha"),
}
#: Operators that the function takes as they are, by the kinds of what it gets.
WHOLE = {"gru", "lstm", "rnn_relu", "rnn_tanh"}


def test_functions_that_run_operators_have_their_parameters():
    hooks.operator_kernels.get()
    wrong = []
    for name in texts():
        for func in getattr(jtorch.ops.aten, name).all():
            if (
                func._schema.outs
                or name in WHOLE
                or name in kernels.KERNELS
                or f"{name}.{func._overloadname}" in kernels.KERNELS
            ):
                continue
            public = kernels._public(name)
            if public is None:
                continue
            if kernels._named(func, public) is not None:
                continue
            mine = list(inspect.signature(public).parameters.values())
            if any(p.kind is p.VAR_POSITIONAL for p in mine):
                continue
            for i, argument in enumerate(func._schema.arguments):
                if (
                    argument.kwarg_only
                    or i == 0
                    or (name, argument.name) in TOLD_APART
                    or argument.name in ("out_dtype", "generator")
                ):
                    continue
                at = (
                    mine[i].name
                    if i < len(mine) and mine[i].kind is not inspect.Parameter.KEYWORD_ONLY
                    else ""
                )
                if at != argument.name and (argument.name, at) not in SAME:
                    wrong.append((str(func), argument.name, at))
    assert wrong == []


@pytest.mark.parametrize("space", [torch.ops.aten, torch._C._nn], ids=["aten", "nn"])
def test_reductions_are_numbers(space):
    x, y, labels = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.zeros(2, 2), torch.tensor([0, 1])
    assert space.mse_loss(x, y, 2).item() == 39.0 and space.mse_loss(x, y, 0).shape == (2, 2)
    assert space.l1_loss(x, y, 2).item() == 11.0 and space.l1_loss(x, y).item() == 2.75
    assert space.nll_loss(x, labels, None, 2, -100).item() == -6.0
    assert space.nll_loss(x, labels, None, 0, 1).tolist() == [-1.0, 0.0]
    assert space.multi_margin_loss(x, labels, 1, 1.0, None, 0).tolist() == [1.0, 0.0]
    assert space.multilabel_margin_loss(x, torch.tensor([[1, -1], [0, -1]]), 0).tolist() == [
        0.0,
        1.5,
    ]


@pytest.mark.parametrize("space", [torch.ops.aten, torch._C._nn], ids=["aten", "nn"])
def test_windows_are_given_and_returned_as_operators_do(space):
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    largest, places = space.max_pool2d_with_indices(image, [2, 2])
    assert largest.flatten().tolist() == [5, 7, 13, 15] and places.flatten().tolist() == [
        5,
        7,
        13,
        15,
    ]
    back = space.max_unpool2d(largest, places, [4, 4])
    assert back.flatten().nonzero().flatten().tolist() == [5, 7, 13, 15]
    assert space.max_unpool3d(
        largest[None], places[None], [1, 4, 4], [1, 1, 1], [0, 0, 0]
    ).shape == (1, 1, 1, 4, 4)
    assert [t.shape for t in space.adaptive_max_pool2d(image, [1, 1])] == [(1, 1, 1, 1)] * 2
    assert len(space.fractional_max_pool2d(image, [2, 2], [2, 2], torch.full((1, 1, 2), 0.3))) == 2


def test_scales_of_elu_in_place():
    x = torch.tensor([-1.0, 2.0])
    torch.ops.aten.elu_(x, 1, 3.0, 0.5)
    assert x.tolist() == pytest.approx([3 * (2.718281828**-0.5 - 1), 6.0])


def test_operators_that_take_dimensions_apart():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.ops.aten.tensordot(x, x, [0], [0]).tolist() == [[10.0, 14.0], [14.0, 20.0]]
    assert torch.ops.aten.cdist(x, x, 1.0, 2).tolist() == [[0.0, 4.0], [4.0, 0.0]]
    assert torch.ops.aten.nuclear_norm(x, True).shape == (1, 1)
    assert torch.ops.aten.stft(torch.arange(8.0), 4, 2, 4, None, False, True, True).shape == (3, 3)


@pytest.mark.parametrize(
    "indices",
    [
        [None, torch.tensor([1, 0, 1])],
        [None, None, torch.tensor([[3, 3]])],
        [torch.tensor([1, 1, 0]), None, torch.tensor([2, 2, 2])],
        [None, torch.tensor([[True, False, True, True]] * 3)],
    ],
)
def test_repeated_positions_behind_dimensions_that_are_not_indexed_add_up(indices):
    x = torch.arange(24.0).reshape(2, 3, 4)
    values = (
        torch.arange(x[tuple(slice(None) if i is None else i for i in indices)].numel()).float() + 1
    )
    values = values.reshape(x[tuple(slice(None) if i is None else i for i in indices)].shape)
    expected = x.clone()
    # each dimension that is not indexed, spelled as positions along it
    grid = torch.arange(24).reshape(2, 3, 4)[
        tuple(slice(None) if i is None else i for i in indices)
    ]
    expected.view(-1).index_add_(0, grid.reshape(-1), values.reshape(-1))
    assert torch.ops.aten.index_put(x, indices, values, True).tolist() == expected.tolist()
    assert (
        torch.ops.aten.index_put_(x, indices, values, True) is x and x.tolist() == expected.tolist()
    )


class _Calls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func), *[x if isinstance(x, (int, float)) else "t" for x in args]))
        return func(*args, **(kwargs or {}))


def test_numbers_where_tensors_are_due_stay_where_they_are():
    x, mask = torch.zeros(3), torch.tensor([True, False, True])
    cases = {
        lambda: torch.add(1, x): [("aten.add.Tensor", 1, "t")],
        lambda: torch.mul(2, 3): [("aten.mul.Tensor", 2, 3)],
        lambda: torch.div(3, 2): [("aten.div.Tensor", 3, 2)],
        lambda: torch.where(mask, 1, 2): [
            ("aten.scalar_tensor.default", 2),
            ("aten.scalar_tensor.default", 1),
            ("aten.where.self",) + ("t",) * 3,
        ],
        lambda: torch.float_power(2, x): [
            ("aten._to_copy.default", "t"),
            ("aten.pow.Scalar", 2.0, "t"),
        ],
        lambda: x.resize_(3): [("aten.resize_.default", "t", "t")],
        lambda: x.new_tensor(2): [("aten.lift_fresh.default", "t")],
        lambda: x.__setitem__(0, 1): [
            ("aten.lift_fresh.default", "t"),
            ("aten.select.int", "t", 0, 0),
            ("aten.copy_.default", "t", "t"),
        ],
        lambda: x.__setitem__(..., 1): [
            ("aten.lift_fresh.default", "t"),
            ("aten.fill_.Tensor", "t", "t"),
        ],
    }
    for call, wanted in cases.items():
        plain = call()
        with _Calls() as mode:
            found = call()
        assert mode.calls == wanted
        assert plain is None or (found.dtype == plain.dtype and torch.equal(found, plain))


@pytest.mark.parametrize("space", [torch.ops.aten, torch._C._nn], ids=["aten", "_nn"])
def test_likelihoods_of_images(space):
    x = torch.arange(12.0).reshape(1, 3, 2, 2).requires_grad_()
    labels = torch.tensor([[[0, 1], [2, 0]]])
    out = space.nll_loss2d(x, labels, None, 0, 1)
    assert out.tolist() == [[[-0.0, -0.0], [-10.0, -3.0]]]
    space.nll_loss2d(x, labels, None, 2, -100).backward()
    assert torch.equal(x.grad, -torch.nn.functional.one_hot(labels).permute(0, 3, 1, 2).float())
    with pytest.raises(RuntimeError, match="only batches of spatial targets supported"):
        space.nll_loss2d(x, labels[0], None, 1, -100)
    with pytest.raises(RuntimeError, match="only batches of spatial inputs supported"):
        space.nll_loss2d(x[0], labels, None, 1, -100)
