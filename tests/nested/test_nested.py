"""Nested tensors against the same computation on each item."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from nested_items import LAYOUTS, assert_items, items, jagged  # type: ignore[import-not-found]

import jtorch as torch
from jtorch import nn, overrides
from jtorch.nested import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)
from jtorch.wrappers import nested as package
from jtorch.wrappers.nested import NestedTensor, StridedNestedTensor, constructing, views
from jtorch.wrappers.nested.functions import KINDS

F = nn.functional


# ---- coverage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["COVERAGE", "STRIDED_COVERAGE"])
def test_every_overridable_function_stands_in_exactly_one_set(name):
    coverage = getattr(package, name)
    assert tuple(coverage) == KINDS
    overridable = {
        f for functions in overrides.get_overridable_functions().values() for f in functions
    }
    sets = [set(kind) for kind in coverage.values()]
    assert sum(map(len, sets)) == len(set().union(*sets))
    assert set().union(*sets) == overridable
    assert all(
        isinstance(reason, str) and len(reason) > 20 for reason in coverage["refused"].values()
    )
    assert min(map(len, sets)) > 0


def test_refused_functions_say_so():
    nt = jagged(2, 4)
    with pytest.raises(
        NotImplementedError,
        match=r"torch\.linalg\.inv of nested tensors with the jagged layout is not offered.*one "
        r"size",
    ):
        torch.linalg.inv(nt)
    with pytest.raises(NotImplementedError, match=r"strided layout is not offered.*jagged"):
        nested_tensor(items(2, 4)).exp()


def _elementwise():
    """Functions of torch that act on each element of their operands, with how many they take."""
    for func in package.COVERAGE["unchanged"]:
        name = overrides.resolve_name(func)
        if (
            name.count(".") == 1
            and not name.endswith("_")
            and "dropout" not in name
            and name not in ("torch.bernoulli", "torch.rrelu")
        ):
            for count in (1, 2):
                try:
                    result = func(*[torch.empty(2, device="meta")] * count)
                except (TypeError, RuntimeError, NotImplementedError):
                    continue
                if isinstance(result, torch.Tensor):
                    yield func, count
                    break


def test_elementwise_functions_keep_the_structure():
    nt = jagged(2, 3).to("meta")
    found = list(_elementwise())
    for func, count in found:
        result = func(*[nt] * count)
        assert type(result) is NestedTensor, overrides.resolve_name(func)
        assert result.shape == nt.shape
        assert result.dtype is func(*[nt.values()] * count).dtype
    assert len(found) > 100


def test_elementwise_functions_act_on_each_item():
    a = items(2, 3)
    nt, packed = nested_tensor(a, layout=torch.jagged), torch.cat(a)
    unary = sorted((overrides.resolve_name(f), f) for f, count in _elementwise() if count == 1)
    for name, func in unary[::9]:
        torch.testing.assert_close(func(nt).values(), func(packed), equal_nan=True, msg=name)


# ---- construction --------------------------------------------------------------------------------


@LAYOUTS
def test_constituents(layout):
    a = items(2, 4)
    nt = nested_tensor(a, layout=layout)
    assert nt.is_nested
    assert nt.layout is layout
    assert (nt.dim(), nt.size(0), nt.size(2), nt.size(-1), nt.numel(), nt.nbytes) == (
        3,
        2,
        3,
        3,
        18,
        72,
    )
    assert_items(nt, a)
    assert isinstance(nt, torch.Tensor)
    assert type(nt) is (NestedTensor if layout is torch.jagged else StridedNestedTensor)
    a[0].zero_()
    assert nt[0].abs().sum() > 0  # a copy
    assert nt.is_leaf
    assert not nt.requires_grad


def test_ragged_size_is_symbolic():
    nt, other = jagged(2, 4), jagged(2, 4)
    j = nt.shape[1]
    assert isinstance(j, torch.SymInt)
    assert repr(j).startswith("j")
    assert j == nt.size(1) == (nt + 1).size(1) == nt.double().size(1)
    assert j != other.size(1)
    assert j != 3
    assert (j >= 2, j >= 1, j > 1, j < 2, j >= 2, j <= j, j < j) == (
        True,
        True,
        True,
        False,
        True,
        True,
        False,
    )
    assert (repr(j * 2), j * 2 == j, 2 * j == j * 2) == (f"2*{j}", False, True)
    for undecided in (lambda: j >= 3, lambda: j <= 2, lambda: j > other.size(1)):
        with pytest.raises(ValueError, match="indeterminate"):
            undecided()
    for unknown in (
        lambda: j + 1,
        lambda: int(j),
        lambda: j - 1,
        lambda: list(range(j)),
        lambda: -j,
    ):
        with pytest.raises(AttributeError):
            unknown()
    assert nt.stride() == (j * 3, 3, 1)


def test_jagged_parts_and_repr():
    nt = jagged(2, 4)
    assert nt.offsets().tolist() == [0, 2, 6]
    assert nt.offsets().dtype is torch.int64
    assert nt.lengths() is None
    assert nt.values().shape == (6, 3)
    j = nt.size(1)
    assert repr(nt) == f"NestedTensor(size=(2, {j}, 3), offsets=tensor([0, 2, 6]), contiguous=True)"
    assert "requires_grad=True, contiguous" in repr(nt.requires_grad_())
    assert ", grad_fn=<MulBackward0" in repr(nt * 2)
    nt.detach().values().mul_(0)
    assert nt.values().abs().sum() == 0  # views of one memory


def test_strided_repr_and_parts():
    nt = nested_tensor([[0.0, 1.0, 2.0], [3.0]])
    assert repr(nt) == "nested_tensor([\n  tensor([0., 1., 2.]),\n  tensor([3.])\n])"
    assert (
        repr(nested_tensor([[1.0]], requires_grad=True))
        == "nested_tensor([\n  tensor([1.], requires_grad=True)\n], requires_grad=True)"
    )
    assert nt.values().tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular"):
        nt.size(1)
    for refused in (lambda: nt.shape, nt.stride):
        with pytest.raises(RuntimeError, match="doesn't support"):
            refused()
    nt.unbind()[0].mul_(10)
    assert nt.values().tolist() == [0, 10, 20, 3]  # constituents are views


def test_errors_of_construction():
    with pytest.raises(RuntimeError, match="empty tensor list"):
        nested_tensor([], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        nested_tensor([torch.ones(2), torch.ones(2).double()], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="must have the same dim"):
        nested_tensor([torch.ones(2), torch.ones(2, 2)], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="zero-dim"):
        nested_tensor([torch.tensor(1.0)], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="single ragged dimension"):
        nested_tensor([torch.ones(2, 3), torch.ones(3, 4)], layout=torch.jagged)
    with pytest.raises(
        RuntimeError,
        match="Found dimension 2 for Tensor at index 1 and dimension 1 for Tensor at index 0",
    ):
        nested_tensor([torch.ones(2), torch.ones(2, 2)])
    with pytest.raises(RuntimeError, match="Specified layout is unsupported for nested tensors"):
        nested_tensor([torch.ones(2)], layout=torch.sparse_coo)
    with pytest.raises(TypeError, match="Expected first argument to be a tensor or a list"):
        as_nested_tensor([[1.0]])
    with pytest.raises(RuntimeError, match=r"dim\(\) > 1"):
        as_nested_tensor(torch.ones(2))
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts"):
        as_nested_tensor(jagged(2, 4), layout=torch.strided)
    nt = jagged(2, 4)
    assert as_nested_tensor(nt, layout=torch.jagged) is nt


def test_ragged_in_another_dimension():
    a = [torch.ones(3, 2), torch.ones(3, 5)]
    nt = nested_tensor(a, layout=torch.jagged)
    assert nt.shape[1] == 3
    assert nt.shape[2] == nt.shape[2]
    assert_items(nt * 2, [x * 2 for x in a])
    assert nt.values().shape == (3, 7)


@LAYOUTS
def test_dense_batches_share_memory(layout):
    x = torch.arange(12.0).view(2, 3, 2)
    nt = as_nested_tensor(x, layout=layout)
    assert_items(nt, list(x))
    x.mul_(2)
    assert nt[1].tolist() == x[1].tolist()


def test_from_jagged():
    v = torch.arange(12.0).view(6, 2)
    offsets = torch.tensor([0, 2, 3, 6])
    nt = nested_tensor_from_jagged(v, offsets)
    assert_items(nt, [v[:2], v[2:3], v[3:]])
    v.mul_(2)
    assert nt[2].tolist() == v[3:].tolist()  # a view
    assert nested_tensor_from_jagged(v, offsets).shape == nt.shape
    assert nested_tensor_from_jagged(v, offsets.clone()).shape != nt.shape
    assert nested_tensor_from_jagged(v, lengths=torch.tensor([2, 1, 3])).offsets().tolist() == [
        0,
        2,
        3,
        6,
    ]
    holes = nested_tensor_from_jagged(v, offsets, torch.tensor([1, 1, 2]))
    assert_items(holes, [v[:1], v[2:3], v[3:5]])
    assert not holes.is_contiguous()
    assert holes.numel() == 8
    with pytest.raises(RuntimeError, match="At least one of offsets or lengths is required"):
        nested_tensor_from_jagged(v)
    with pytest.raises(ValueError, match="Expected jagged_dim >=1, but got 0"):
        nested_tensor_from_jagged(v, offsets, jagged_dim=0)
    w = torch.arange(6.0).view(2, 3)
    assert_items(
        nested_tensor_from_jagged(w, torch.tensor([0, 1, 3]), jagged_dim=2), [w[:, :1], w[:, 1:]]
    )


def test_narrow_of_dense():
    base = torch.arange(12.0).view(3, 4)
    nt = narrow(base, 1, torch.tensor([0, 1, 2]), torch.tensor([2, 3, 1]), layout=torch.jagged)
    assert [x.tolist() for x in nt.unbind()] == [[0, 1], [5, 6, 7], [10]]
    assert nt.lengths().tolist() == [2, 3, 1]
    base.mul_(2)
    assert nt[2].tolist() == [20]  # a view
    assert narrow(base, 1, 0, 4, layout=torch.jagged).is_contiguous()
    assert [x.tolist() for x in narrow(base, 0, 1, 2).unbind()] == base[1:].tolist()
    for arguments, message in [
        ((base, 1, "a", 2), "start must be an integer or a tensor"),
        ((base, 1, 0, None), "length must be an integer or a tensor"),
        ((base, 0, 0, 1, torch.jagged), "jagged layout only supports dim=1"),
        (
            (base, 1, torch.tensor([0, 1]), 2, torch.jagged),
            "must be Tensors that broadcast to input.shape",
        ),
        (
            (base, 1, torch.tensor([0]), 2),
            "start and length must be integers for the strided layout NT impl",
        ),
    ]:
        with pytest.raises(RuntimeError, match=message):
            narrow(*arguments)


def test_masked_select():
    t = torch.arange(6.0).view(2, 3)
    nt = masked_select(t, t > 1)
    assert [x.tolist() for x in nt.unbind()] == [[2], [3, 4, 5]]
    twice = nt.masked_select(nt > 3)
    assert [x.tolist() for x in twice.unbind()] == [[], [4, 5]]


@LAYOUTS
def test_padding(layout):
    nt = nested_tensor([[0.0, 1.0, 2.0], [3.0]], layout=layout)
    assert to_padded_tensor(nt, -1.0).tolist() == [[0, 1, 2], [3, -1, -1]]
    assert nt.to_padded_tensor(0.0, (2, 4)).tolist() == [[0, 1, 2, 0], [3, 0, 0, 0]]
    if layout is torch.strided:
        with pytest.raises(RuntimeError, match="Truncation is not supported"):
            nt.to_padded_tensor(0.0, (2, 2))
    else:
        assert nt.to_padded_tensor(0.0, (2, 2)).tolist() == [[0, 1], [3, 0]]


# ---- elementwise ---------------------------------------------------------------------------------


@LAYOUTS
def test_arithmetic(layout):
    a = items(2, 4)
    nt = nested_tensor(a, layout=layout)
    for f in (
        lambda x: x + 1,
        lambda x: 2 * x,
        lambda x: x - x,
        lambda x: x * x,
        lambda x: x / 2,
        lambda x: -x,
        F.relu,
        F.gelu,
    ):
        assert_items(f(nt), [f(x) for x in a])
    same = nt.clone()
    assert same.add_(1) is same
    same += nt
    assert_items(same, [2 * x + 1 for x in a])


def test_operands_of_a_jagged_tensor():
    a = items(2, 4)
    nt = nested_tensor(a, layout=torch.jagged)
    row, rows, places = (
        torch.tensor([1.0, 2.0, 3.0]),
        torch.arange(6.0).view(2, 1, 3),
        torch.arange(24.0).view(2, 4, 3),
    )
    for f in (lambda x, o: x + o, lambda x, o: o - x):
        assert_items(f(nt, row), [f(x, row) for x in a])
        assert_items(f(nt, rows), [f(x, rows[i]) for i, x in enumerate(a)])
        assert_items(f(nt, places), [f(x, places[i, : len(x)]) for i, x in enumerate(a)])
    turned = nt.transpose(1, 2)
    assert_items(turned + rows.transpose(1, 2), [(x + rows[i]).T for i, x in enumerate(a)])
    assert_items(torch.addcmul(nt, nt, row), [torch.addcmul(x, x, row.expand_as(x)) for x in a])
    assert_items(torch.where(nt > 0, nt, 0.0), [x.clamp(min=0) for x in a])
    with pytest.raises(
        RuntimeError,
        match=r"cannot call binary pointwise function add.Tensor with inputs of shapes \(2, j\d+, "
        r"3\) and",
    ):
        nt + jagged(2, 4)
    with pytest.raises(RuntimeError, match="inputs of shapes"):
        nt + torch.ones(3, 1, 3)
    with pytest.raises(RuntimeError, match="inputs of shapes"):
        turned + torch.ones(6)  # as many as there are packed positions
    with pytest.raises(NotImplementedError, match="larger dim"):
        nt + torch.ones(1, 2, 1, 3)
    with pytest.raises(RuntimeError, match="invalid argument j"):
        nt * nt.size(1)


def test_strided_operands():
    nt = nested_tensor(items(2, 4))
    with pytest.raises(
        RuntimeError,
        match="Expected both self and other to be nested, but got a nested self and non-nested "
        "other",
    ):
        nt + torch.ones(3)
    with pytest.raises(RuntimeError, match="does not support broadcasting"):
        nt + nested_tensor(items(2, 3))
    with pytest.raises(RuntimeError, match="eq does not support nested tensor as other value"):
        nt == nt  # noqa: B015
    turned = nt.transpose(1, 2)
    assert_items(turned + turned.contiguous(), [(2 * x).T for x in items(2, 4)])
    left, _ = nt.clone().chunk(3, -1)[:2]
    whole = left._values
    left.mul_(0)  # a part of the buffer: the rest stays
    assert (whole.view(-1, 3)[:, 0] == 0).all()
    assert (whole.view(-1, 3)[:, 1] != 0).all()


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "prod", "std", "logsumexp"])
def test_reductions(name):
    a = items(2, 4)
    nt, turned = (
        nested_tensor(a, layout=torch.jagged),
        nested_tensor(a, layout=torch.jagged).transpose(1, 2),
    )
    f = getattr(torch, name)
    whole = torch.cat(a)
    if name != "logsumexp":
        torch.testing.assert_close(f(nt), f(whole))
    torch.testing.assert_close(f(nt, 1), torch.stack([f(x, 0) for x in a]))
    torch.testing.assert_close(
        f(nt, 1, keepdim=True), torch.stack([f(x, 0, keepdim=True) for x in a])
    )
    assert_items(f(nt, -1), [f(x, 1) for x in a])
    assert_items(f(nt, 2, keepdim=True), [f(x, 1, keepdim=True) for x in a])
    torch.testing.assert_close(f(turned, 2), torch.stack([f(x, 0) for x in a]))
    assert_items(f(turned, 1), [f(x, 1) for x in a])
    if name != "prod":
        torch.testing.assert_close(f(nt, (0, 1)), f(whole, 0))
    with pytest.raises(RuntimeError, match="reducing along the batch dimension but not"):
        f(nt, 0)


def test_extrema_and_logic():
    a = items(2, 4)
    nt = nested_tensor(a, layout=torch.jagged)
    for name in ("max", "min"):
        f = getattr(torch, name)
        values, indices = f(nt, 1)
        assert type(f(nt, 1)).__name__ == name
        torch.testing.assert_close(values, torch.stack([f(x, 0).values for x in a]))
        assert indices.tolist() == [f(x, 0).indices.tolist() for x in a]
        assert_items(f(nt, -1).indices, [f(x, 1).indices for x in a])
        assert f(nt) == f(torch.cat(a))
        assert getattr(torch, f"arg{name}")(nt, 1).tolist() == indices.tolist()
    assert (nt > -9).all().item()
    assert (nt > 0).any(1).tolist() == [(x > 0).any(0).tolist() for x in a]
    assert_items((nt > 0).all(-1), [(x > 0).all(-1) for x in a])
    whole = nested_tensor([[1, 2], [3]], layout=torch.jagged)
    assert (whole.sum(1).dtype, whole.sum(1).tolist(), whole.amax(1).tolist()) == (
        torch.int64,
        [3, 3],
        [2, 3],
    )
    with pytest.raises(
        RuntimeError, match=r"sum\(\): reducing along a ragged and non-batch dimension"
    ):
        nt.sum((1, 2))


def test_reductions_leave_holes_out():
    v = torch.arange(12.0).view(6, 2)
    nt = nested_tensor_from_jagged(v, torch.tensor([0, 2, 4, 6]), torch.tensor([1, 2, 1]))
    assert nt.sum().item() == sum(x.sum().item() for x in nt.unbind())
    assert nt.mean().item() == pytest.approx(nt.sum().item() / 8)
    with pytest.raises(RuntimeError, match="holes"):
        nt.sum(1)
    assert_items(nt.sum(-1), [x.sum(-1) for x in nt.unbind()])
    assert_items(nt.contiguous(), nt.unbind())
    assert nt.contiguous().lengths() is None


# ---- kernels -------------------------------------------------------------------------------------


@LAYOUTS
def test_products(layout):
    a = items(2, 4)
    nt, w, b = nested_tensor(a, layout=layout), torch.arange(6.0).view(2, 3) * 0.1, torch.ones(2)
    assert_items(F.linear(nt, w, b), [F.linear(x, w, b) for x in a])
    batch = torch.arange(12.0).view(2, 3, 2)
    assert_items(torch.bmm(nt, batch), [x @ batch[i] for i, x in enumerate(a)])
    if layout is torch.strided:
        assert_items(nt @ nt.transpose(1, 2), [x @ x.T for x in a])
        return
    assert_items(nt @ w.T, [x @ w.T for x in a])
    assert_items(w @ nt.transpose(1, 2), [w @ x.T for x in a])
    torch.testing.assert_close(nt.transpose(1, 2) @ nt, torch.stack([x.T @ x for x in a]))
    with pytest.raises(RuntimeError, match=r"matmul\(\): not supported between inputs of shapes"):
        nt @ nt.transpose(1, 2)
    holes = narrow(
        torch.ones(2, 4, 3), 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged
    )
    with pytest.raises(
        ValueError, match="expected input to be a contiguous jagged layout NestedTensor"
    ):
        F.linear(holes, w)


@LAYOUTS
def test_normalization(layout):
    a = items(2, 4)
    nt, w, b = nested_tensor(a, layout=layout), torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)
    assert_items(F.softmax(nt, -1), [F.softmax(x, -1) for x in a])
    assert_items(F.softmax(nt, 1), [F.softmax(x, 0) for x in a])
    with pytest.raises(RuntimeError):
        F.softmax(nt, 0)
    assert_items(F.layer_norm(nt, (3,), w, b), [F.layer_norm(x, (3,), w, b) for x in a])
    if layout is torch.jagged:
        assert_items(F.log_softmax(nt, 1), [F.log_softmax(x, 0) for x in a])
        assert_items(F.layer_norm(nt, nt.shape[1:]), [F.layer_norm(x, x.shape) for x in a])
        assert_items(F.rms_norm(nt, (3,)), [F.rms_norm(x, (3,)) for x in a])
        assert_items(nt.cumsum(1), [x.cumsum(0) for x in a])
        assert_items(
            nt.sort(1, descending=True).values, [x.sort(0, descending=True).values for x in a]
        )
        assert_items(F.normalize(nt, dim=-1), [F.normalize(x, dim=-1) for x in a])


def test_losses():
    a, b = items(2, 4), [x.cos() for x in items(2, 4)]
    x = nested_tensor(a, layout=torch.jagged)
    y = nested_tensor_from_jagged(torch.cat(b), x.offsets())
    torch.testing.assert_close(F.mse_loss(x, y), F.mse_loss(torch.cat(a), torch.cat(b)))
    assert_items(
        F.l1_loss(x, y, reduction="none"),
        [F.l1_loss(p, q, reduction="none") for p, q in zip(a, b, strict=True)],
    )


@LAYOUTS
def test_embedding(layout):
    weight = torch.arange(12.0).view(4, 3)
    nt = nested_tensor([torch.tensor([0, 3]), torch.tensor([1, 2, 1])], layout=layout)
    assert_items(F.embedding(nt, weight), [weight[[0, 3]], weight[[1, 2, 1]]])


def heads(x):
    """``(L, 8)`` of one item as ``(1, 2, L, 4)``."""
    return x.view(1, -1, 2, 4).transpose(1, 2)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k = items(3, 1, 5, width=8), items(2, 4, 1, width=8)
    nq, nk = (
        nested_tensor(x, layout=torch.jagged).unflatten(-1, [2, 4]).transpose(1, 2) for x in (q, k)
    )
    if causal:
        k, nk = q, nq
    out = F.scaled_dot_product_attention(nq, nk, nk, is_causal=causal)
    expected = [
        F.scaled_dot_product_attention(heads(x), heads(y), heads(y), is_causal=causal)[0]
        for x, y in zip(q, k, strict=True)
    ]
    assert_items(out, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="Expected query, key, and value to be nested tensors"):
        F.scaled_dot_product_attention(nq, nk, torch.ones(3, 2, 5, 4))
    with pytest.raises(ValueError, match="Masks are not yet supported!"):
        F.scaled_dot_product_attention(nq, nk, nk, torch.ones(1))


@LAYOUTS
def test_attention_layers(layout):
    torch.manual_seed(0)
    a = items(3, 1, 5, width=8)
    nt = nested_tensor(a, layout=layout)
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    out, weights = layer(nt, nt, nt)
    alone = [layer(x[None], x[None], x[None]) for x in a]
    assert_items(out, [y[0] for y, _ in alone], rtol=1e-4, atol=1e-5)
    assert weights.shape == (3, 5, 5)
    torch.testing.assert_close(weights[0, :3, :3], alone[0][1][0])
    assert weights[0, 3:].abs().sum() == 0
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    out = encoder(nt)
    assert_items(out, [encoder(x[None])[0] for x in a], rtol=1e-4, atol=1e-4)
    sum(x.square().sum() for x in out.unbind()).backward()
    assert encoder.self_attn.in_proj_weight.grad.abs().sum() > 0
    with pytest.raises(AssertionError, match="batch_first was not True"):
        nn.MultiheadAttention(8, 2)(nt, nt, nt)


# ---- shapes --------------------------------------------------------------------------------------


@LAYOUTS
def test_views(layout):
    a = items(2, 4)
    nt = nested_tensor(a, layout=layout)
    for f, g in [
        (lambda x: x.transpose(1, 2), lambda x: x.T),
        (lambda x: x.unsqueeze(-1), lambda x: x.unsqueeze(-1)),
        (lambda x: x.unsqueeze(1).squeeze(1), lambda x: x),
        (lambda x: x.view(2, -1, 1, 3), lambda x: x.view(-1, 1, 3)),
        (lambda x: x.reshape(2, -1, 3, 1), lambda x: x.view(-1, 3, 1)),
        (lambda x: x.select(-1, 1), lambda x: x[:, 1]),
        (lambda x: x[..., 0], lambda x: x[:, 0]),
        (lambda x: x.chunk(3, -1)[1], lambda x: x[:, 1:2]),
        (lambda x: x.split([1, 2], -1)[1], lambda x: x[:, 1:]),
        (lambda x: x.mT, lambda x: x.T),
        (lambda x: torch.cat([x, x], -1), lambda x: torch.cat([x, x], -1)),
    ]:
        assert_items(f(nt), [g(x) for x in a])
    nt.transpose(1, 2)[0].mul_(0)
    assert nt[0].abs().sum() == 0  # views


def test_jagged_shapes():
    a = items(2, 4)
    nt = nested_tensor(a, layout=torch.jagged)
    assert_items(nt.unflatten(-1, [1, 3]).flatten(-2), a)
    assert_items(nt.permute(0, 2, 1), [x.T for x in a])
    assert_items(torch.stack([nt, nt], -1), [torch.stack([x, x], -1) for x in a])
    assert_items(
        nt.unsqueeze(-1).expand(2, -1, 3, 2), [x.unsqueeze(-1).expand(-1, 3, 2) for x in a]
    )
    assert_items(F.pad(nt, (0, 1)), [F.pad(x, (0, 1)) for x in a])
    assert [x.size(0) for x in nt.chunk(2)] == [1, 1]
    assert_items(nt.index_select(0, torch.tensor([1, 0, 1])), [a[1], a[0], a[1]])
    for refused, kind, message in [
        (
            lambda: nt.transpose(0, 1),
            ValueError,
            "Transpose is not supported on the batch dimension for jagged NT",
        ),
        (lambda: nt.view(-1, 3), RuntimeError, r"view\(\): cannot view shape"),
        (nt.flatten, RuntimeError, r"flatten\(\): not supported for NestedTensor on dim=0"),
        (
            lambda: nt.unbind(1),
            RuntimeError,
            r"unbind\(\): only supported for NestedTensor on dim=0",
        ),
        (
            lambda: nt.unsqueeze(0),
            RuntimeError,
            r"unsqueeze\(\): not supported for NestedTensor on dim=0",
        ),
        (
            lambda: torch.cat([nt, nt], 1),
            RuntimeError,
            r"cat\(\): not supported for NestedTensor on ragged dim",
        ),
        (lambda: torch.stack([nt, jagged(2, 4)], -1), RuntimeError, "same nested structure"),
        (lambda: nt[0:1], RuntimeError, r"slice\(\): not supported for NestedTensor on dim=0"),
        (lambda: nt[5], IndexError, "out of range"),
    ]:
        with pytest.raises(kind, match=message):
            refused()


@LAYOUTS
def test_indexing(layout):
    a = items(2, 4)
    nt = nested_tensor(a, layout=layout)
    assert nt[0].tolist() == a[0].tolist()
    assert nt[-1, 1].tolist() == a[1][1].tolist()
    assert nt[0, :, 1].tolist() == a[0][:, 1].tolist()
    assert [x.tolist() for x in nt] == [x.tolist() for x in a]
    assert len(nt) == 2
    with pytest.raises(IndexError):
        nt[2]
    nt[0] = 5.0
    nt[1, 0] = torch.tensor([7.0, 8.0, 9.0])
    assert nt[0].tolist() == [[5.0] * 3] * 2
    assert nt[1, 0].tolist() == [7, 8, 9]


def test_indexing_by_item_and_position():
    a = items(2, 4)
    nt = nested_tensor(a, layout=torch.jagged)
    rows, places = torch.tensor([0, 1, 1]), torch.tensor([1, 3, 0])
    assert nt[rows, places].tolist() == [a[0][1].tolist(), a[1][3].tolist(), a[1][0].tolist()]
    nt[rows, places] = torch.zeros(3)
    assert nt[1].sum(1).eq(0).tolist() == [True, False, False, True]
    with pytest.raises(RuntimeError, match="out of bounds"):
        nt[rows, torch.tensor([2, 0, 0])]


def test_narrow_with_tuples():
    a = items(3, 5)
    nt = nested_tensor(a, layout=torch.jagged)
    part = torch.narrow(nt, 1, (0, 2), (2, 3))
    assert_items(part, [a[0][:2], a[1][2:]])
    assert part.lengths().tolist() == [2, 3]
    assert_items(torch.narrow(nt, (1, 2), (1, 0), ((2, 4), 2)), [a[0][1:3, :2], a[1][1:5, :2]])
    assert_items(torch.narrow(nt, (0, 1), (1, 1), (1, 2)), [a[1][1:3]])
    strided = nested_tensor(a)
    assert_items(torch.narrow(strided, (1,), ((0, 2),), ((2, 3),)), [a[0][:2], a[1][2:]])
    with pytest.raises(
        RuntimeError, match=r"start \(2\) \+ length \(2\) exceeds dimension size \(3\) of item 0"
    ):
        torch.narrow(nt, 1, (2, 0), (2, 2))
    with pytest.raises(RuntimeError, match="not supported for NestedTensor on ragged dim"):
        torch.narrow(nt, 1, 0, 1)


def test_empty_items_and_single_items():
    nt = nested_tensor([torch.zeros(0, 3), torch.ones(2, 3)], layout=torch.jagged)
    assert nt.sum(1).tolist() == [[0, 0, 0], [2, 2, 2]]
    assert nt.to_padded_tensor(9.0).tolist() == [[[9.0] * 3] * 2, [[1.0] * 3] * 2]
    assert [len(x) for x in F.softmax(nt, 1).unbind()] == [0, 2]
    none = nested_tensor([torch.zeros(0, 3)], layout=torch.jagged)
    assert none.to_padded_tensor(0.0).shape == (1, 0, 3)
    assert none.sum(1).tolist() == [[0, 0, 0]]
    assert repr(nested_tensor([])) == "nested_tensor([\n\n])"


@pytest.mark.parametrize("module", [constructing, views])
def test_examples(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 0


OVERLOADS: dict[str, Any] = {
    "sum.dim_IntList": lambda op, nt: (op(nt, [1], True), torch.sum(nt, [1], True)),
    "mean.dim": lambda op, nt: (op(nt, [2]), torch.mean(nt, [2])),
    "amax.default": lambda op, nt: (op(nt, [1], False), torch.amax(nt, [1])),
    "relu.default": lambda op, nt: (op(nt - 2), torch.relu(nt - 2)),
    "add.Tensor": lambda op, nt: (op(nt, nt, alpha=2), 3 * nt),
    "select.int": lambda op, nt: (op(nt, 2, 1), nt.select(2, 1)),
    "softmax.int": lambda op, nt: (op(nt, 2), torch.softmax(nt, 2)),
    "layer_norm.default": lambda op, nt: (op(nt, [2]), torch.nn.functional.layer_norm(nt, (2,))),
    "cat.default": lambda op, nt: (op([nt, nt], 2), torch.cat([nt, nt], 2)),
}


@pytest.mark.parametrize("name", OVERLOADS)
def test_operators_by_their_aten_names(name: str) -> None:
    nt = torch.nested.nested_tensor(
        [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])], layout=torch.jagged
    )
    packet, _, overload = name.partition(".")
    found, expected = OVERLOADS[name](getattr(getattr(torch.ops.aten, packet), overload), nt)
    assert [x.tolist() for x in found.unbind()] == [x.tolist() for x in expected.unbind()]
