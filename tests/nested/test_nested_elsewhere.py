"""Nested tensors with the rest of the package: gradients, copies and files, JAX's transformations,
the protocol."""

from __future__ import annotations

import copy
import gc
import io
import pickle

import jax
import pytest
from nested_items import LAYOUTS, assert_items, items, jagged  # type: ignore[import-not-found]

import jtorch as torch
from jtorch import nn, overrides
from jtorch.nested import as_nested_tensor, nested_tensor
from jtorch.wrappers.nested import NestedTensor, ragged

F = nn.functional


# ---- autograd ------------------------------------------------------------------------------------


@LAYOUTS
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x, F.gelu, lambda x: F.softmax(x, -1), lambda x: F.softmax(x, 1),
        lambda x: x.transpose(1, 2), lambda x: F.linear(x, torch.arange(6.0).view(2, 3) * 0.1),
        lambda x: x.sum(-1, keepdim=True), lambda x: x.select(-1, 1),
        lambda x: F.layer_norm(x, (3,), torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)),
        lambda x: x.chunk(3, -1)[2],
    ],
)  # fmt: skip
def test_gradients_reach_constituents(layout, f):
    a = [x.requires_grad_() for x in items(2, 4)]
    f(as_nested_tensor(a, layout=layout))
    sum(
        (x * (i + 1)).pow(2).sum()
        for i, x in enumerate(f(as_nested_tensor(a, layout=layout)).unbind())
    ).backward()
    found = [x.grad for x in a]
    b = [x.requires_grad_() for x in items(2, 4)]
    sum((f(x.unsqueeze(0)) * (i + 1)).pow(2).sum() for i, x in enumerate(b)).backward()
    for x, y in zip(found, [x.grad for x in b], strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


def test_gradients_of_padded_forms():
    for f, g in [
        (lambda x: x.to_padded_tensor(1.0).pow(2).sum(), lambda x: x.pow(2).sum()),
        (lambda x: x.sum(1).pow(3).sum(), lambda x: x.sum(0).pow(3).sum()),
        (lambda x: x.mean(1).pow(3).sum(), lambda x: x.mean(0).pow(3).sum()),
        (lambda x: x.max(1).values.pow(2).sum(), lambda x: x.max(0).values.pow(2).sum()),
        (lambda x: (x * torch.arange(6.0).view(2, 1, 3)).values().pow(2).sum(), None),
        (lambda x: (x.transpose(1, 2) @ x).pow(2).sum(), lambda x: (x.T @ x).pow(2).sum()),
    ]:
        a, b = ([x.requires_grad_() for x in items(2, 4)] for _ in range(2))
        f(as_nested_tensor(a, layout=torch.jagged)).backward()
        if g is None:
            sum(
                (x * torch.arange(6.0).view(2, 1, 3)[i]).pow(2).sum() for i, x in enumerate(b)
            ).backward()
        else:
            sum(g(x) for x in b).backward()
        for x, y in zip(a, b, strict=True):
            torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-4)


@LAYOUTS
def test_nested_leaves(layout):
    nt = nested_tensor(items(2, 4), layout=layout, requires_grad=True)
    assert nt.is_leaf
    assert nt.requires_grad
    y = nt * 3
    assert not y.is_leaf
    assert y.grad_fn is not None
    y.backward(torch.ones_like(y))
    assert type(nt.grad) is type(nt)
    assert nt.grad is nt.grad
    assert_items(nt.grad, [torch.full_like(x, 3.0) for x in nt.unbind()])
    (nt * 2).values().sum().backward()
    assert nt.grad.values().unique().tolist() == [5]
    nt.grad = None
    assert nt.grad is None
    (found,) = torch.autograd.grad(nt * nt, nt, torch.ones_like(nt))
    assert_items(found, [2 * x for x in nt.unbind()])
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        (nt * 1).backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        nt.add_(1)
    with torch.no_grad():
        assert not (nt * 2).requires_grad
    seen = []
    nt.register_hook(lambda g: seen.append(g.is_nested) or g * 2)
    (nt * 1).values().sum().backward()
    assert seen == [True]
    assert nt.grad.values().unique().tolist() == [2]


def test_second_derivatives():
    a = items(2, 4)[0].requires_grad_()
    nt = as_nested_tensor([a, items(2, 4)[1]], layout=torch.jagged)
    (first,) = torch.autograd.grad(nt.pow(3).sum(1).sum(), a, create_graph=True)
    first.sum().backward()
    torch.testing.assert_close(a.grad, 6 * a.detach())
    padded = as_nested_tensor([a, a], layout=torch.jagged).to_padded_tensor(0.0)
    (first,) = torch.autograd.grad(padded.pow(3).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), a)
    torch.testing.assert_close(second, 12 * a.detach())


def test_module_weights_get_dense_gradients():
    model = nn.Sequential(
        nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU(), nn.Dropout(0.0), nn.Linear(4, 2)
    )
    model(jagged(2, 4)).values().sum().backward()
    assert [type(p.grad) for p in model.parameters()] == [torch.Tensor] * 6


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        assert ctx.needs_input_grad == (True, False)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert g.is_nested and x.is_nested
        return g * ctx.factor + x * 0, None


class Product(torch.autograd.Function):
    @staticmethod
    def forward(x, w):
        return x @ w, x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, w = ctx.saved_tensors
        return g @ w.t() + h, x.values().t() @ g.values()


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_functions_of_their_own(layout):
    nt = nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=layout, requires_grad=True)
    out = Scaled.apply(nt, 2.0)
    assert (
        type(out) is type(nt)
        and out.requires_grad
        and type(out.grad_fn).__name__ == "ScaledBackward"
    )
    torch.nested.to_padded_tensor(out, 0.0).sum().backward()
    assert [g.sum().item() for g in nt.grad.unbind()] == [12.0, 24.0]


def test_functions_of_nested_and_dense_tensors():
    nt = nested_tensor(
        [torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged, requires_grad=True
    )
    w = torch.ones(3, 2, requires_grad=True)
    product, same = Product.apply(nt, w)
    assert same is not nt and same.is_nested
    (product.values().sum() + same.values().sum()).backward()
    assert w.grad.tolist() == [[6.0] * 2] * 3
    assert nt.grad.values().tolist() == [[3.0] * 3] * 6


# ---- copies --------------------------------------------------------------------------------------


@LAYOUTS
def test_copies_and_moves(layout):
    nt = nested_tensor(items(2, 4), layout=layout)
    nt.note = "kept"
    for made in (copy.deepcopy(nt), pickle.loads(pickle.dumps(nt)), copy.copy(nt)):
        assert type(made) is type(nt)
        assert_items(made, nt.unbind())
        assert made.note == "kept"
    file = io.BytesIO()
    torch.save({"x": nt}, file)
    file.seek(0)
    assert_items(torch.load(file)["x"], nt.unbind())
    assert nt.double().dtype is torch.float64
    assert nt.float() is nt
    assert nt.to("cpu") is nt
    assert nt.half().layout is layout
    assert_items(torch.zeros_like(nt), [torch.zeros_like(x) for x in nt.unbind()])
    changed = nt.clone()
    changed.copy_(nt * 2)
    assert_items(changed, [2 * x for x in nt.unbind()])
    assert nt.is_same_size(changed)
    leaf = copy.deepcopy(nt.requires_grad_())
    assert leaf.requires_grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(nt * 2)


def test_structure_survives_copies():
    nt = jagged(2, 4)
    assert (nt + copy.deepcopy(nt)).shape == nt.shape
    assert (nt.double() + nt).shape == nt.shape
    assert nt.to("meta").shape == nt.shape
    assert pickle.loads(pickle.dumps(nt)).shape != nt.shape
    names, context = nt.__tensor_flatten__()
    assert names[:2] == ["_values", "_offsets"]
    assert context == {"requires_grad": False, "ragged_idx": 1}
    parts = {name: getattr(nt, name) for name in names}
    assert NestedTensor.__tensor_unflatten__(parts, context, None, None).shape == nt.shape


def test_structures_are_forgotten():
    gc.collect()
    before = len(ragged._known)
    nt = jagged(2, 4)
    assert len(ragged._known) == before + 1
    del nt
    gc.collect()
    assert len(ragged._known) == before


def test_jax_transformations():
    nt = jagged(2, 4)
    out = jax.jit(lambda x: F.softmax(x * 2, 1))(nt)
    assert out.shape == nt.shape
    assert_items(out, [F.softmax(x * 2, 0) for x in nt.unbind()])
    gradient = jax.grad(lambda x: (x * x).sum().jax())(nt)
    assert_items(gradient, [2 * x for x in nt.unbind()])
    assert_items(jax.jit(lambda x: x + 1)(nested_tensor(items(2, 4))), [x + 1 for x in items(2, 4)])


# ---- the protocol --------------------------------------------------------------------------------


def test_modes_see_operations_with_the_class():
    seen = []

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return func(*args, **(kwargs or {}))

    nt = jagged(2, 4)
    with Mode():
        nt + 1
        torch.cat([nt, nt], -1)
    assert seen == [(torch.Tensor.add, (NestedTensor,)), (torch.cat, (NestedTensor,))]


def test_other_types_come_first():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(types)

    nt = jagged(2, 4)
    assert nt + Duck() == ("add", 2)
    assert torch.where(nt > 0, nt, Duck()) == ("where", 2)

    class Mine(NestedTensor):
        pass

    mine = Mine(nt.values(), nt.offsets())
    assert type(mine + 1) is Mine
    assert type(mine * nt) is Mine


def test_kernels_do_not_compute_on_packed_values_unasked():
    nt = jagged(2, 4)
    with (
        torch._C.DisableTorchFunctionSubclass(),
        pytest.raises(RuntimeError, match="no data of one shape"),
    ):
        torch.exp(nt)


def test_views_of_flat_buffers():
    sizes = torch.tensor([[2, 3], [4, 3]])
    where = torch._nested_compute_contiguous_strides_offsets(sizes)
    buffer = torch.arange(18.0, requires_grad=True)
    torch._nested_view_from_buffer(buffer, sizes, *where).unbind()[1].sum().backward()
    assert buffer.grad.tolist() == [0] * 6 + [1] * 12
    buffer = torch.arange(20.0)
    view = torch._nested_view_from_buffer(buffer, sizes, *where)
    view.mul_(2)
    view.unbind()[0].zero_()
    assert buffer.tolist() == [0] * 6 + [2.0 * i for i in range(6, 18)] + [18, 19]
    for wrong, message in (
        ((buffer.view(4, 5), sizes, *where), "one dimension, got 2"),
        ((buffer[:17], sizes, *where), "reach 18 elements, the buffer has 17"),
        ((buffer, sizes, where[0], where[1][:1]), "do not go together"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch._nested_view_from_buffer(*wrong)
