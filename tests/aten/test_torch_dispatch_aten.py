"""``torch.ops.aten``: names, schemas, calls; which operators public functions are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from dispatching import Noting, names, wrapper  # type: ignore[import-not-found]

import jtorch as torch
import jtorch.nn.functional as F
from jtorch._ops import OpOverload, OpOverloadPacket
from jtorch.overrides import normalize_call, resolve_name

aten: Any = torch.ops.aten


def test_packets_and_overloads():
    add = aten.add.Tensor
    assert isinstance(add, OpOverload)
    assert isinstance(aten.add, OpOverloadPacket)
    assert add is aten.add.Tensor
    assert add.overloadpacket is aten.add
    assert (str(add), add.__name__, add.name(), aten.add.__name__) == (
        "aten.add.Tensor",
        "add.Tensor",
        "aten::add.Tensor",
        "add",
    )
    assert aten.add.overloads()[0] == "Tensor"
    assert repr(add) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert {add: 1}[aten.add.Tensor] == 1
    assert copy.deepcopy(add) is add
    assert pickle.loads(pickle.dumps(add)) is add
    assert resolve_name(add) == "aten.add.Tensor"


def test_schemas():
    schema = aten.sum.dim_IntList._schema
    assert str(schema) == (
        "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
        "dtype=None) -> Tensor"
    )
    assert [a.name for a in schema.arguments] == ["self", "dim", "keepdim", "dtype"]
    assert [a.kwarg_only for a in schema.arguments] == [False, False, False, True]
    assert schema.arguments[2].default_value is False
    assert not schema.is_mutable
    assert (
        str(aten.add_.Tensor._schema)
        == "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    )
    assert aten.add_.Tensor._schema.is_mutable
    assert str(aten.add.out._schema) == (
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    )
    assert aten.view.default.is_view
    assert [r.name for r in aten.max.dim._schema.returns] == ["values", "indices"]


def test_unknown_names():
    with pytest.raises(
        AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'no_such_op'"
    ):
        aten.no_such_op
    with pytest.raises(
        AttributeError, match=r"The underlying op of 'aten\.add' has no overload name 'Nope'"
    ):
        aten.add.Nope
    with pytest.raises(AttributeError, match="'_OpNamespace' 'mine' object has no attribute 'op'"):
        torch.ops.mine.op
    with pytest.raises(ImportError):
        __import__("jtorch.ops.no_such_module")


def test_calls_on_plain_tensors():
    t = torch.tensor([[1.0, 2.0]])
    assert aten.add.Tensor(t, t, alpha=2).tolist() == [[3.0, 6.0]]
    assert aten.add(t, 1).tolist() == [[2.0, 3.0]]
    assert aten.sum.dim_IntList(t, [1], True).tolist() == [[3.0]]
    assert aten.add_.Tensor(t.clone(), 1).tolist() == [[2.0, 3.0]]
    o = torch.zeros(1, 2)
    assert aten.mul.out(t, t, out=o) is o
    assert o.tolist() == [[1.0, 4.0]]
    p = torch.ones(2, requires_grad=True)
    aten.mul.Tensor(p, 3).sum().backward()
    assert p.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"aten::add\(\) is missing value for argument 'other'"):
        aten.add.Tensor(t)
    with pytest.raises(
        RuntimeError, match="Unknown keyword argument 'foo' for operator 'aten::add'"
    ):
        aten.add.Tensor(t, t, foo=1)


_HINGE = """zeros_like.default empty_like.default fill_.Scalar sub_.Tensor clamp_min_.default
    ne.Scalar where.self ne.Scalar where.self add.Tensor mean.default"""
_COSINE = """sum.dim_IntList mul.Tensor sum.dim_IntList mul.Tensor sum.dim_IntList add.Scalar
    mul.Tensor sum.dim_IntList add.Scalar mul.Tensor sqrt_.default div.Tensor zeros_like.default
    empty_like.default fill_.Scalar sub_.Tensor sub.Scalar clamp_min_.default eq.Scalar where.self
    eq.Scalar where.self add.Tensor mean.default"""
_NORM = "sub.Tensor add.Scalar norm.ScalarOpt_dim"
_GAUSSIAN = """lt.Scalar any.default _local_scalar_dense.default clone.default clamp_.default
    log.default sub.Tensor pow.Tensor_Scalar div.Tensor add.Tensor mul.Tensor mean.default"""
_SOFT = """log_sigmoid_forward.default mul.Tensor rsub.Scalar neg.default
    log_sigmoid_forward.default mul.Tensor add.Tensor neg.default sum.dim_IntList div.Tensor
    mean.default"""
_RESPONSE = """view.default mul.Tensor unsqueeze.default constant_pad_nd.default avg_pool2d.default
    squeeze.dim mul.Tensor add.Tensor pow.Tensor_Scalar div.Tensor"""
_AREAS = """slice.Tensor slice.Tensor sub.Tensor slice.Tensor slice.Tensor add.Tensor mul.Tensor sum.dim_IntList div.Scalar"""  # noqa: E501
_ONE_HOT = "max.default _local_scalar_dense.default unsqueeze.default eq.Tensor _to_copy.default"

CASES: dict[str, list[tuple[str, Any]]] = {
    "arithmetic": [
        ("mul.Tensor", lambda x: x * 2), ("sub.Tensor", lambda x: x - x),
        ("rsub.Scalar", lambda x: 1 - x),
        ("div.Tensor", lambda x: x / 2), ("neg.default", lambda x: -x),
        ("pow.Tensor_Scalar", lambda x: x**2),
        ("pow.Scalar", lambda x: 2**x), ("remainder.Scalar", lambda x: x % 2),
        ("floor_divide.default", lambda x: x // 2),
        ("reciprocal.default mul.Tensor", lambda x: 1 / x), ("abs.default", abs),
        ("maximum.default", lambda x: torch.max(x, x)),
        ("div.Tensor_mode", lambda x: torch.div(x, 2, rounding_mode="floor")),
        ("clamp.default", lambda x: x.clamp(0, 1)), ("add_.Tensor", lambda x: x.add_(1)),
        ("mul_.Tensor", lambda x: x.__imul__(2)),
    ],
    "comparison": [
        ("eq.Tensor", lambda x: x == x), ("gt.Scalar", lambda x: x > 0),
        ("lt.Scalar", lambda x: x < 0.5), ("ne.Scalar", lambda x: x != 1),
        ("gt.Scalar where.self", lambda x: torch.where(x > 0, x, x)),
        ("isnan.default", torch.isnan),
    ],
    "reductions": [
        ("sum.default", lambda x: x.sum()), ("sum.dim_IntList", lambda x: x.sum(1)),
        ("mean.default", lambda x: x.mean()), ("mean.dim", lambda x: x.mean(0)),
        ("max.dim", lambda x: x.max(1)), ("var.correction", lambda x: x.var(1)),
        ("linalg_vector_norm.default", lambda x: x.norm()),
        ("cumsum.default", lambda x: x.cumsum(0)), ("argmax.default", lambda x: x.argmax()),
        ("logsumexp.default", lambda x: x.logsumexp(1)), ("sort.default", lambda x: x.sort(1)),
    ],
    "shapes": [
        ("view.default", lambda x: x.view(3, 2)), ("view.default", lambda x: x.reshape(6)),
        ("t.default", lambda x: x.t()), ("permute.default", lambda x: x.permute(1, 0)),
        ("permute.default", lambda x: x.T), ("transpose.int", lambda x: x.transpose(0, 1)),
        ("select.int", lambda x: x[0]), ("index.Tensor", lambda x: x[torch.tensor([0])]),
        ("unsqueeze.default", lambda x: x[None]), ("slice.Tensor", lambda x: x[:, 1:]),
        ("expand.default", lambda x: x.expand(2, 2, 3)),
        ("unsqueeze.default", lambda x: x.unsqueeze(0)), ("squeeze.default", lambda x: x.squeeze()),
        ("squeeze.dim", lambda x: x.squeeze(0)), ("split.Tensor", lambda x: x.split(1)),
        ("split.Tensor", lambda x: x.chunk(2)), ("unbind.int", lambda x: x.unbind()), ("cat.default", lambda x: torch.cat([x, x])), ("stack.default", lambda x: torch.stack([x, x])), ("detach.default", lambda x: x.detach()),  # noqa: E501
        ("clone.default", lambda x: x.clone()), ("", lambda x: x.contiguous()),
        ("t.default clone.default _unsafe_view.default", lambda x: x.t().reshape(6)),
        ("select.int fill_.Tensor", lambda x: x.__setitem__(0, 1.0)),
        ("select.int copy_.default", lambda x: x.__setitem__(0, torch.ones(3))),
    ],
    "conversions": [
        ("_to_copy.default", lambda x: x.to(torch.float64)),
        ("_to_copy.default", lambda x: x.double()), ("", lambda x: x.float()),
        ("sum.default _local_scalar_dense.default", lambda x: x.sum().item()),
        ("sum.default _local_scalar_dense.default", lambda x: bool(x.sum())),
        ("", lambda x: (x.shape, x.size(0), x.dim(), x.stride())),
    ],
    "functional": [
        ("relu.default", F.relu), ("gelu.default", F.gelu),
        ("_softmax.default", lambda x: F.softmax(x, 1)),
        ("_log_softmax.default", lambda x: x.log_softmax(1)),
        ("native_layer_norm.default", lambda x: F.layer_norm(x, (3,))),
        ("t.default addmm.default", lambda x: F.linear(torch.ones(5, 3), x, torch.ones(2))),
        ("t.default mm.default", lambda x: F.linear(torch.ones(5, 3), x)),
        ("mm.default", lambda x: x @ torch.ones(3, 3)), ("mv.default", lambda x: x @ torch.ones(3)),
        ("_log_softmax.default nll_loss_forward.default",
         lambda x: F.cross_entropy(x, torch.tensor([0, 1]))),
        ("", lambda x: F.dropout(x, 0.5, False)), ("mse_loss.default", lambda x: F.mse_loss(x, x)),
    ],
    "losses": [
        (_HINGE, lambda x: F.hinge_embedding_loss(x, x)),
        (_COSINE, lambda x: F.cosine_embedding_loss(x, x, x.sum(1))),
        (f"{_NORM} {_NORM} add.Scalar sub.Tensor clamp_min.default mean.default",
         lambda x: F.triplet_margin_loss(x, x, x)),
        (_GAUSSIAN, lambda x: F.gaussian_nll_loss(x, x, x)),
        ("mul.Tensor exp.default sub.Tensor mean.default", lambda x: F.poisson_nll_loss(x, x)),
        (_SOFT, lambda x: F.multilabel_soft_margin_loss(x, x)),
    ],
    "of several steps": [
        ("unsqueeze.default upsample_nearest1d.default",
         lambda x: F.interpolate(x[None], scale_factor=2, recompute_scale_factor=True)),
        ("unsqueeze.default _upsample_nearest_exact1d.default",
         lambda x: F.interpolate(x[None], 6, mode="nearest-exact")),
        ("view.default _upsample_bicubic2d_aa.default",
         lambda x: F.interpolate(x.view(1, 1, 2, 3), 2, mode="bicubic", antialias=True)),
        (_RESPONSE, lambda x: F.local_response_norm(x.view(1, 2, 3), 2)),
        (_AREAS, lambda x: torch.trapezoid(x, x)), ("sort.default", torch.msort),
        ("ones_like.default", torch.isreal), ("view.default diag_embed.default", torch.diagflat),
        ("mm.default mm.default view.default",
         lambda x: torch.linalg.multi_dot([torch.ones(1, 2), x, torch.ones(3, 3)])),
        ("unsqueeze.default expand.default cumprod.default new_ones.default cat.default",
         torch.linalg.vander),
        ("sum.default linspace.Scalar_Tensor", lambda x: torch.linspace(0, x.sum(), 3)),
        ("sum.default unsqueeze.default nonzero.default unbind.int",
         lambda x: x.sum().nonzero(as_tuple=True)),
        (f"_to_copy.default {_ONE_HOT}", lambda x: F.one_hot(x.long())),
    ],
}  # fmt: skip


@pytest.mark.parametrize("family", CASES)
def test_operators_of_functions(family):
    W = wrapper()
    for want, call in CASES[family]:
        x = W(torch.ones(2, 3))
        W.log.clear()
        call(x)
        assert " ".join(n.removeprefix("aten.") for n in names(W.log)) == " ".join(want.split())


def test_gradients_below_the_functions():
    W = wrapper()
    x = W(torch.tensor([[1.0, 2.0, 3.0]])).requires_grad_()
    calls = (
        lambda x: torch.nextafter(x, x + 1),
        lambda x: x.mean(0),
        lambda x: x.sum().mean(0),
        lambda x: x.sum().mean(-1, keepdim=True),
    )
    for call in calls:
        (found,) = torch.autograd.grad(call(x).sum(), x)
        plain = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
        (wanted,) = torch.autograd.grad(call(plain).sum(), plain)
        assert type(found) is W and found.elem.tolist() == wanted.tolist()
    packed, pivots = torch.linalg.lu_factor(x.T @ x + W(torch.eye(3)))
    assert [t.requires_grad for t in torch.lu_unpack(packed, pivots)] == [False, True, True]
    parts = torch.linalg.lstsq(
        torch.ones(3, 2, requires_grad=True), torch.ones(3, 1), driver="gelsd"
    )
    assert [t.requires_grad for t in parts] == [True, True, False, False]


def test_softmax_arguments():
    W = wrapper()
    x = W(torch.ones(2, 3))
    F.softmax(x, 1)
    assert W.log[0][1][1:] == (1, False)
    found = x.max(1)
    assert type(found).__name__ == "max"
    assert (type(found.values), type(found.indices)) == (W, W)


def test_modes_see_inside_functions_without_an_operator():
    log: list[str] = []
    with Noting(log):
        found = torch.cov(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
    assert type(found) is torch.Tensor
    assert found.tolist() == [[0.5, 1.0], [1.0, 2.0]]
    assert log


def test_normalize_call():
    assert (
        normalize_call(torch.sum, ("x",), {"axis": 1})[0]
        == normalize_call(torch.sum, (), {"input": "x", "dim": 1})[0]
    )
    args, kwargs = normalize_call(torch.add, (1,), {"other": 2})
    assert (args, kwargs["alpha"]) == ((1, 2), 1)
    assert normalize_call(torch.Tensor.sum, ("x", 1)) == (("x", 1, False), {"dtype": None})
    t = torch.ones(1)
    args, kwargs = normalize_call(aten.sum.dim_IntList, (t, 0))
    assert (args[1:], kwargs) == (([0], False), {"dtype": None})
    with pytest.raises(TypeError):
        normalize_call(torch.add, (1,), {"axis": 2})

    def own(a, *rest, b=3, **more):
        return a, rest, b, more

    assert normalize_call(own, (1, 2), {"c": 4}) == ((1, 2), {"b": 3, "c": 4})


def test_packets_have_their_operator_as_a_function():
    packet = torch.ops.aten.add
    assert (
        packet.op is packet.op
        and packet.op.__module__ == packet.__module__
        and packet.op.__name__ == "add"
    )
    assert packet.op(torch.ones(1), 2).tolist() == [3.0]


def test_losses_of_parts_are_told_the_weight_of_the_whole():
    aten = torch.ops.aten
    scores, targets = torch.zeros(3, 4), torch.tensor([1, -100, 2])
    loss, weight = aten.nll_loss_forward.default(scores, targets, None, 1, -100)
    assert weight.item() == 2
    g = aten.nll_loss_backward.default(
        torch.ones_like(loss), scores, targets, None, 1, -100, weight * 2
    )
    assert g.tolist() == [[0, -0.25, 0, 0], [0, 0, 0, 0], [0, 0, -0.25, 0]]
    nothing = aten.nll_loss_backward.default(
        torch.ones_like(loss), scores, targets * 0 - 100, None, 1, -100, weight * 0
    )
    assert nothing.count_nonzero() == 0


def test_families_are_read_from_declarations():
    from jtorch._src.aten.families import ELEMENTWISE, family, is_random

    aten = torch.ops.aten
    for op in (
        aten.add.Tensor,
        aten.gelu_.default,
        aten.gelu_backward.default,
        aten.logical_and.default,
        aten.special_erfcx.default,
    ):
        assert family(op) in ELEMENTWISE, op
    for op in (
        aten.sum.default,
        aten.mm.default,
        aten.view.default,
        aten.embedding_backward.default,
    ):
        assert family(op) not in ELEMENTWISE, op
    assert not is_random(aten.add.Tensor)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("gelu", ()),
        ("hardtanh", (-1, 1)),
        ("softplus", (1, 20)),
        ("glu", (0,)),
        ("mse_loss", (torch.zeros(4), 1)),
        ("huber_loss", (torch.zeros(4), 2, 0.5)),
        ("binary_cross_entropy", (torch.full((4,), 0.25), None, 1)),
        ("reflection_pad1d", ([1, 1],)),
    ],
)
def test_derivatives_that_follow_from_their_operator(name, args):
    aten = torch.ops.aten
    x = torch.tensor(
        [[0.2, 0.9, 0.4, 0.7]] if "pad" in name else [0.2, 0.9, 0.4, 0.7], requires_grad=True
    )
    y = getattr(aten, name)(x, *args)
    g = torch.arange(y.numel()).reshape(y.shape) + 1.0
    (expected,) = torch.autograd.grad(y, x, g)
    with torch.no_grad():
        assert torch.equal(getattr(aten, f"{name}_backward")(g, x, *args), expected)


def test_losses_of_operators_take_the_mean_where_functions_of_torch_do_not():
    x, y = torch.tensor([0.5, 1.0]), torch.tensor([1.0, 0.0])
    for name, more in (
        ("kl_div", ()),
        ("hinge_embedding_loss", ()),
        ("soft_margin_loss", ()),
        ("binary_cross_entropy_with_logits", ()),
    ):
        operator = getattr(torch.ops.aten, name)
        assert torch.equal(operator(x, y, *more), operator(x, y, *more, reduction=0).mean())


@pytest.mark.parametrize("dim", [0, 1, 2, -1, None])
@pytest.mark.parametrize("keepdim", [False, True])
def test_quantiles_of_several_dimensions(dim, keepdim):
    values = torch.tensor(
        [3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 5.5, 3.5, 8.0, 7.0, 0.5, 2.5, 4.5, 6.5, 8.5, 0.0]
    ).view(3, 2, 3)
    x, W = values.clone().requires_grad_(), wrapper()
    for q in (0.3, torch.tensor([0.25, 0.5])):
        for function in (torch.quantile, torch.nanquantile):
            wanted = function(x, q, dim, keepdim)
            assert torch.allclose(function(W(values), q, dim, keepdim).elem, wanted)
            with torch.utils._python_dispatch.BaseTorchDispatchMode():
                found = function(x, q, dim, keepdim)
                (grad,) = torch.autograd.grad(found.square().sum(), x)
            assert torch.allclose(found, wanted)
            assert torch.allclose(grad, torch.autograd.grad(wanted.square().sum(), x)[0])


def test_softmax_of_nothing_has_no_gradient():
    x = torch.tensor([[1.0, 2.0], [-float("inf"), -float("inf")]], requires_grad=True)
    out = torch.ops.aten._safe_softmax(x, 1)
    assert out[1].tolist() == [0.0, 0.0]
    (grad,) = torch.autograd.grad(out[:, 0].sum(), x)
    assert torch.allclose(grad, torch.tensor([[0.1966119, -0.1966119], [0.0, 0.0]]))
