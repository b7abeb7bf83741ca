"""Tensors in the layout ``torch._mkldnn``: what they allow, what they refuse, their gradients, and
the kernel that PyTorch would choose."""

from __future__ import annotations

import pytest

import jtorch as torch
import jtorch.nn.functional as F


def test_an_opaque_tensor_tells_its_layout_and_shows_its_elements() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    m = x.t().to_mkldnn()
    assert (m.layout, m.is_mkldnn, x.is_mkldnn) == (torch._mkldnn, True, False)
    assert (m.shape, m.dtype, m.device.type, m.numel()) == ((3, 2), torch.float32, "cpu", 6)
    assert torch.equal(m.to_dense(), x.t()) and m.to_dense().layout is torch.strided
    assert m.to_dense().is_contiguous()
    assert repr(torch.ones(2).to_mkldnn()) == "tensor([1., 1.], layout=torch._mkldnn)"
    x.zero_()
    assert m.to_dense().sum() == 15  # a copy
    assert torch.empty(2, 3, layout=torch._mkldnn).shape == (2, 3)


def test_operations_keep_the_layout() -> None:
    x = torch.arange(48.0).reshape(1, 2, 4, 6) - 20
    m = x.to_mkldnn()
    for found, expected in [
        (m + m, x + x), (m * 2, x * 2), (3 * m, 3 * x), (m.relu(), x.relu()),
        (torch.sigmoid(m), x.sigmoid()), (m.softmax(1), x.softmax(1)),
        (m.transpose(1, 2), x.transpose(1, 2)), (m.reshape(8, 6), x.reshape(8, 6)),
        (F.max_pool2d(m, 2), F.max_pool2d(x, 2)),
        (F.linear(m, torch.ones(5, 6)), F.linear(x, torch.ones(5, 6))),
        (torch.nn.Conv2d(2, 3, 3).eval()(m), None),
    ]:  # fmt: skip
        assert found.layout is torch._mkldnn
        assert expected is None or torch.equal(found.to_dense(), expected)
    n = m.clone()
    assert n.relu_() is n and n.add_(m) is n and torch.equal(n.to_dense(), x.relu() + x)
    assert m.float() is m and m.cpu() is m and m.detach().layout is torch._mkldnn


def test_operators_called_by_name() -> None:
    x = torch.arange(48.0).reshape(1, 2, 4, 6) - 20
    m, w = x.to_mkldnn().requires_grad_(), torch.ones(3, 2, 3, 3)
    found = torch.ops.aten.convolution(m, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
    assert found.layout is torch._mkldnn and torch.equal(found.to_dense(), F.conv2d(x, w))
    found.backward(torch.ones(found.shape).to_mkldnn())
    assert m.grad is not None and m.grad.layout is torch._mkldnn
    assert torch.equal(torch.ops.aten.relu(m.detach()).to_dense(), x.relu())
    with pytest.raises(RuntimeError):
        torch.ops.aten.sin(m)


def test_what_is_refused() -> None:
    m = torch.ones(2, 3).to_mkldnn()
    for error, words, f in [
        (RuntimeError, "does not support view. Change to use reshape", lambda: m.view(6)),
        (
            NotImplementedError,
            "'aten::as_strided' with arguments from the 'MkldnnCPU' backend",
            lambda: m[0],
        ),
        (NotImplementedError, "arguments from the 'MkldnnCPU' backend", m.sum),
        (RuntimeError, "unsupported tensor layout: Mkldnn", m.exp),
        (RuntimeError, "expects MKL-DNN tensor input", lambda: m + torch.ones(2, 3)),
        (RuntimeError, "expects MKL-DNN tensor input", lambda: m + 1),
        (TypeError, "can't convert Mkldnn layout tensor to numpy", m.numpy),
        (RuntimeError, "that doesn't have storage", m.data_ptr),
        (NotImplementedError, "Cannot access storage of OpaqueTensorImpl", m.untyped_storage),
        (NotImplementedError, "empty_strided", lambda: m.to(torch.float64)),
        (RuntimeError, "dense_to_mkldnn expects float", lambda: torch.arange(3).to_mkldnn()),
        (NotImplementedError, "as_strided", lambda: m.__setitem__(0, 1)),
    ]:
        with pytest.raises(error, match=words):
            f()


def test_gradients_go_through_the_layout() -> None:
    x, w = (
        torch.arange(8.0).reshape(1, 2, 4).requires_grad_(),
        torch.ones(3, 2, 2, requires_grad=True),
    )
    y = F.conv1d(x.to_mkldnn(), w)
    assert y.layout is torch._mkldnn and y.grad_fn.name() == "ConvolutionBackward0"
    y.backward(torch.ones(1, 3, 3).to_mkldnn())
    assert x.grad.layout is torch.strided and x.grad.tolist() == [[[3.0, 6.0, 6.0, 3.0]] * 2]
    assert w.grad[0].tolist() == [[3.0, 6.0], [15.0, 18.0]]
    m = torch.ones(2).to_mkldnn().requires_grad_()
    assert m.is_leaf and x.to_mkldnn().grad_fn.name() == "ToMkldnnBackward0"
    (m * m).to_dense().sum().backward()
    assert m.grad.layout is torch._mkldnn and m.grad.to_dense().tolist() == [2.0, 2.0]
    (g,) = torch.autograd.grad((m * 3).to_dense().sum(), m)
    assert g.layout is torch._mkldnn and g.to_dense().tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("sizes", "kernel", "dilation", "transposed", "groups", "dtype", "expected"),
    [
        ((1, 6, 9), (12, 6, 3), 1, False, 1, torch.float32, "Slow2d"),
        ((2, 6, 9), (12, 6, 3), 1, False, 1, torch.float32, "Mkldnn"),
        ((1, 6, 9, 9), (12, 6, 5, 5), 1, False, 1, torch.float32, "Mkldnn"),
        ((1, 6, 9, 9), (12, 2, 3, 3), 1, False, 3, torch.float32, "Mkldnn"),
        ((2, 6, 9, 9), (12, 6, 3, 3), 2, False, 1, torch.float64, "SlowDilated2d"),
        ((2, 6, 9, 9, 9), (6, 12, 3, 3, 3), 1, True, 1, torch.float64, "SlowTranspose3d"),
        ((0, 6, 9), (12, 6, 3), 1, False, 1, torch.float32, "Empty"),
    ],
)
def test_the_kernel_that_pytorch_would_choose(
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    dilation: int,
    transposed: bool,
    groups: int,
    dtype: torch.dtype,
    expected: str,
) -> None:
    x, w, d = torch.zeros(sizes, dtype=dtype), torch.zeros(kernel, dtype=dtype), len(sizes) - 2
    options = (None, (1,) * d, (0,) * d, (dilation,) * d, transposed, (0,) * d, groups)
    assert torch._C._select_conv_backend(x, w, *options) is torch._C._ConvBackend[expected]
    if dtype is torch.float32:
        found = torch._C._select_conv_backend(x.to_mkldnn(), w, *options)
        assert found is (
            torch._C._ConvBackend.MkldnnEmpty
            if expected == "Empty"
            else torch._C._ConvBackend.Mkldnn
        )


def test_functions_are_known_under_all_their_names() -> None:
    x = torch.ones(2, 3).to_mkldnn()
    for y in (torch.special.expit(x), x.swapdims(0, 1), x.multiply(2), x * 2):
        assert y.layout is torch._mkldnn
    assert x.tanh_() is x
    assert x.multiply_(2) is x
    x *= 0
    assert x.to_dense().eq(0).all()
    for call in (lambda: x.transpose_(0, 1), lambda: x.swapdims_(0, 1)):
        with pytest.raises(
            RuntimeError,
            match="mkldnn_transpose_: in-place mkldnn operations are not supported yet",
        ):
            call()


def test_views_and_new_tensors_like_it_are_refused_by_what_makes_them() -> None:
    x = torch.ones(2, 3).to_mkldnn()
    for call in (x.diagonal, lambda: x.movedim(0, 1), lambda: x.split(1), x.unbind):
        with pytest.raises(NotImplementedError, match="'aten::as_strided'"):
            call()
    with pytest.raises(NotImplementedError, match="'aten::empty_strided'"):
        torch.randint_like(x, 2)
