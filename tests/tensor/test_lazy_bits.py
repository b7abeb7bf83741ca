"""Conjugates and negatives as views: bits, memory shared both ways, histories, copies, files, and
what refuses such tensors."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import jtorch as torch


def complexes(requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2 + 0j]], requires_grad=requires_grad)


def bits(x: torch.Tensor) -> tuple[bool, bool]:
    return x.is_conj(), x.is_neg()


def test_a_conjugate_is_a_view_with_a_bit():
    x = complexes()
    y = x.conj()
    assert bits(y) == (True, False) and bits(x) == (False, False)
    assert y._is_view() and y._base is x
    assert y.data_ptr() == x.data_ptr() and y.stride() == x.stride()
    assert y.tolist() == [[1 - 2j, 3 + 1j], [-0.5j, 2 - 0j]]
    assert torch.is_conj(y) and not torch.is_neg(y)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: x.conj().conj(), (False, False)),
        (lambda x: x.mH, (True, False)),
        (lambda x: x.H, (True, False)),
        (lambda x: x.adjoint(), (True, False)),
        (lambda x: x.conj().mH, (False, False)),
        (lambda x: x.conj().mT[0], (True, False)),
        (lambda x: x.conj().detach(), (True, False)),
        (lambda x: x.conj().contiguous(), (True, False)),
        (lambda x: x.conj().mT.contiguous(), (False, False)),
        (lambda x: x.conj().expand(2, 2, 2), (True, False)),
        (lambda x: x.conj().as_strided((3,), (1,)), (True, False)),
        (lambda x: x.conj().unbind()[1], (True, False)),
        (lambda x: x.conj().real, (False, False)),
        (lambda x: x.conj().imag, (False, True)),
        (lambda x: x.imag, (False, False)),
        (torch._neg_view, (False, True)),
        (lambda x: torch._neg_view(x).conj(), (True, True)),
        (lambda x: torch._neg_view(x).conj().imag, (False, False)),
        (lambda x: torch.view_as_real(torch._neg_view(x)), (False, True)),
        (lambda x: torch.view_as_complex(torch._neg_view(torch.view_as_real(x))), (False, True)),
        (lambda x: x.conj().clone(), (False, False)),
        (lambda x: x.conj() * 1, (False, False)),
        (lambda x: x.conj().conj_physical(), (False, False)),
        (lambda x: x.conj().resolve_conj(), (False, False)),
        (lambda x: x.conj().resolve_neg(), (True, False)),
        (lambda x: x.conj().imag.resolve_neg(), (False, False)),
        (lambda x: x.conj().to(torch.complex128), (False, False)),
        (lambda x: torch.zeros_like(x.conj()), (False, False)),
        (lambda x: torch.cat([x.conj(), x.conj()]), (False, False)),
    ],
)
def test_which_results_carry_a_bit(make, expected):
    assert bits(make(complexes())) == expected


def test_real_tensors_have_no_bits():
    x = torch.ones(2)
    assert x.conj() is x and x.resolve_conj() is x and x.resolve_neg() is x and not x.is_conj()


def test_writes_through_a_conjugate_change_what_it_looks_at():
    x = complexes()
    y = x.conj()
    y.mul_(2j)
    assert y.tolist() == [[4 + 2j, -2 + 6j], [1 + 0j, 4j]]
    assert x.tolist() == [[4 - 2j, -2 - 6j], [1 - 0j, -4j]]
    assert x._version == y._version == 1
    x.mul_(2)
    assert y[0, 0].item() == 8 + 4j
    x.conj()[1, 1] = 5j
    assert x[1, 1].item() == -5j
    x.conj().imag.fill_(7)
    assert x.imag.tolist() == [[-7, -7], [-7, -7]]
    x.mH[0].copy_(torch.tensor([1j, 2j]))
    assert x[:, 0].tolist() == [-1j, -2j]
    torch.mul(complexes(), 2, out=x.conj())
    assert x.tolist() == [[2 - 4j, 6 + 2j], [-1j, 4 - 0j]]


def test_a_tensor_takes_over_its_own_conjugate():
    x = complexes()
    assert x.copy_(x.conj()).tolist() == complexes().conj().tolist()


def test_writes_to_repeated_conjugates():
    x = complexes()
    x.conj().unfold(0, 1, 1).fill_(3j)
    assert x.tolist() == [[-3j, -3j], [-3j, -3j]]
    x = torch.tensor([1 + 2j])
    x.conj().as_strided((1, 1), (1, 1)).mul_(1j)
    assert x.tolist() == [2 - 1j]


def test_memory_of_numpy():
    array = np.array([1 + 2j, 3 - 1j])
    y = torch.from_numpy(array).conj()
    y.mul_(2j)
    assert array.tolist() == [4 - 2j, -2 - 6j]
    array[0] = 9j
    assert y[0].item() == -9j and y.imag[0].item() == -9


def test_what_refuses_bits():
    y = complexes().conj()
    for f in (y.numpy, lambda: np.asarray(y)):
        with pytest.raises(
            RuntimeError, match=r"conjugate bit set. Use tensor.resolve_conj\(\).numpy\(\)"
        ):
            f()
    with pytest.raises(
        RuntimeError, match=r"negative bit set. Use tensor.resolve_neg\(\).numpy\(\)"
    ):
        y.imag.numpy()
    with pytest.raises(RuntimeError, match="unresolved conjugated tensors"):
        torch.view_as_real(y)
    with pytest.raises(
        RuntimeError, match="conjugate view tensors when converting to a different dtype"
    ):
        y.view(torch.int64)
    with pytest.raises(RuntimeError, match="negative bit set when converting to a different dtype"):
        y.imag.view(torch.int32)
    with pytest.raises(BufferError, match="conjugate bit"):
        torch.from_dlpack(y)
    with pytest.raises(RuntimeError, match="bool"):
        torch._neg_view(torch.tensor([True]))
    assert y.numpy(force=True).tolist() == y.tolist()


def test_gradients_pass_through_lazy_views():
    x = complexes(requires_grad=True)
    y = x.conj()
    assert y.grad_fn.name() == "ConjBackward0"
    assert torch._neg_view(x).grad_fn.name() == "NegViewBackward0"
    (y * y * x).sum().abs().backward()
    lazy, x.grad = x.grad, None
    z = x.conj_physical()
    (z * z * x).sum().abs().backward()
    assert torch.allclose(lazy, x.grad)
    x.grad = None
    (x.conj().imag ** 2).sum().backward()
    assert x.grad.tolist() == [[4j, -2j], [1j, 0j]]


def test_histories_follow_writes_through_a_conjugate():
    x = complexes(requires_grad=True)
    base = x * 1
    y = base.conj()
    y.mul_(2j)
    assert y.grad_fn.name() == "ConjBackward0"
    (base.real).sum().backward()  # base is now conj(2j * conj(x)) = -2j * x
    assert x.grad.tolist() == [[2j, 2j], [2j, 2j]]
    x.grad = None
    base = x * 1
    y = base.conj()
    base.mul_(2j)
    (y.imag).sum().backward()  # -imag(2j * x) = -2 * real(x)
    assert x.grad.tolist() == [[-2, -2], [-2, -2]]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x.conj().mul_(2)


def test_function_transformations():
    x = complexes()
    assert torch.func.vmap(lambda row: row.conj())(x).tolist() == x.conj().tolist()
    found = torch.func.grad(lambda t: (t.conj() * t).sum().real)(x)
    assert found.tolist() == (2 * x).tolist()

    def negated(t):
        t = t.clone()
        t.conj().imag.mul_(-1)
        return t

    assert torch.func.vmap(negated)(x).tolist() == x.conj().tolist()


def test_copies_and_pickles():
    y = complexes().conj()
    assert bits(copy.copy(y)) == (True, False)
    deep = copy.deepcopy(y)
    assert bits(deep) == (False, False) and deep.tolist() == y.tolist()
    assert copy.deepcopy(y.imag).stride() == (2, 1)
    for t in (y, y.imag, torch._neg_view(y)):
        back = pickle.loads(pickle.dumps(t))
        assert bits(back) == bits(t) and back.tolist() == t.tolist()


def saved_and_loaded(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


def test_files_keep_the_bits_and_the_memory_that_is_shared():
    x = complexes()
    x, y, n = saved_and_loaded([x, x.conj(), torch._neg_view(x)])
    assert [bits(t) for t in (x, y, n)] == [(False, False), (True, False), (False, True)]
    x.mul_(2)
    assert y.tolist() == x.conj_physical().tolist() and n.tolist() == (-x).tolist()
    part = complexes().conj().imag
    back = saved_and_loaded(part)
    assert (
        bits(back) == (False, True)
        and back.tolist() == part.tolist()
        and back.stride() == part.stride()
    )


def test_set_keeps_the_bits_of_the_tensor_that_is_set():
    x, y = complexes(), complexes()
    assert y.set_(x.conj()).tolist() == x.tolist() and not y.is_conj()
    z = x.conj().detach()
    assert z.set_(y).is_conj() and z.tolist() == y.conj().tolist()


def test_views_are_not_detached_in_place():
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        complexes().conj().detach_()


def test_a_compiled_function_tells_conjugates_apart():
    @torch.compile
    def f(x):
        return x * 2 if x.is_conj() else x * 3

    x = complexes()
    for _ in range(3):
        assert torch.equal(f(x.detach()[:]), x * 3)
        assert torch.equal(f(x.conj().detach()), x.conj() * 2)


def test_operators_see_copies_of_lazy_operands():
    from jtorch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func).removeprefix("aten."))
            return func(*args, **(kwargs or {}))

    def names(f):
        with Names() as mode:
            found = f()
        return mode.names, found

    x, y = complexes(), complexes().conj()
    assert names(lambda: y + 1)[0] == ["clone.default", "add.Tensor"]
    assert names(lambda: x.mH @ x)[0] == ["transpose.int", "_conj.default", "mm.default"]
    assert names(lambda: y.imag)[0] == [
        "_conj.default",
        "view_as_real.default",
        "_neg_view.default",
        "select.int",
    ]
    assert names(y.resolve_conj)[0] == ["clone.default"] and names(x.resolve_conj)[0] == []
    done, found = names(lambda: y.mul_(2j))
    assert done == ["clone.default", "mul_.Tensor", "copy_.default"] and found is y
    assert y.tolist() == (complexes().conj() * 2j).tolist() and y.is_conj()
    done, found = names(lambda: x.mT)
    assert done == ["transpose.int"] and found.tolist() == [[1 + 2j, 0.5j], [3 - 1j, 2 + 0j]]
