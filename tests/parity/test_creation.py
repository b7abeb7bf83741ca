"""Factories and conversions from Python and NumPy data against PyTorch: values, dtypes, errors and
warnings."""

from __future__ import annotations

import array
import decimal
import fractions
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


class Sequence:
    """A sequence by its methods alone."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        if i >= 2:
            raise IndexError
        return i


class Float:
    """An object that converts to float, which torch does not ask for."""

    def __float__(self) -> float:
        return 1.5


class Index:
    """An object that can stand for an int."""

    def __index__(self) -> int:
        return 3


EXPRESSIONS = r"""
t.tensor([1,2.])
t.tensor([True,2])
t.tensor([True,2.])
t.tensor([1,1j])
t.tensor([])
t.tensor([[],[]]).shape
t.tensor(())
t.tensor([[1],[1,2]])
t.tensor([[1,2],[1]])
t.tensor([[1,2],3])
t.tensor([1,[2]])
t.tensor([1,'a'])
t.tensor('a')
t.tensor(None)
t.tensor([None])
t.tensor(object())
t.tensor({})
t.tensor({1:2})
t.tensor({1,2})
t.tensor(range(3))
t.tensor(Sequence())
t.tensor(Float())
t.tensor(Index())
t.tensor(np.ones(2, np.float32))
t.tensor([np.ones(2, np.float32),np.ones(2, np.float32)])
t.tensor(np.float32(1))
t.tensor(np.float64(1))
t.tensor(np.int32(1))
t.tensor([np.float32(1),np.float32(2)])
t.tensor([np.float64(1)])
t.tensor([np.int16(1),2])
t.tensor([np.bool_(True)])
t.tensor([np.zeros(2,np.float32),np.zeros(2,np.float32)])
t.tensor(np.zeros(2,np.uint16))
t.tensor(np.array(['a']))
t.tensor(np.array([object()]))
t.tensor(np.arange(3)[::-1])
t.from_numpy(np.arange(3)[::-1])
t.from_numpy(np.array(['a']))
t.from_numpy(np.array(None))
t.from_numpy([1])
t.from_numpy(np.float32(1))
t.from_numpy(np.zeros(2,'>f4'))
t.from_numpy(np.zeros(2,dtype=np.longdouble))
t.tensor([L(1.),L(2.)])
t.tensor([L([1.]),L([2.])])
t.tensor([L([1.,2]),L([2.,3])])
t.tensor([L(1),L(2.)])
t.tensor([L(1),2.5])
t.tensor([L(1.,dtype=t.float64),1])
t.tensor(L(1.))
t.tensor([1,2],dtype=float)
t.tensor([1.5],dtype=t.int64)
t.tensor([1.5],dtype=int)
t.tensor(1.5,dtype=t.int64)
t.tensor(1e30,dtype=t.int64)
t.tensor(float('nan'),dtype=t.int64)
t.tensor([300],dtype=t.uint8)
t.tensor([-1],dtype=t.uint8)
t.tensor([2**40],dtype=t.int32)
t.tensor(2**63)
t.tensor(2**63,dtype=t.uint64)
t.tensor(2**64)
t.tensor([2**63])
t.tensor(1e40,dtype=t.float32)
t.tensor(1e300,dtype=t.float16)
t.tensor(1j,dtype=t.float32)
t.tensor([1j],dtype=t.float32)
t.tensor([1,2],dtype=t.bool)
t.tensor([0.5,0],dtype=t.bool)
t.tensor([1],requires_grad=True)
t.tensor([1.],requires_grad=True).requires_grad
t.tensor(data=[1])
t.tensor()
t.tensor([1],[2])
t.tensor([1],dtype='a')
t.tensor([1],foo=1)
t.tensor(fractions.Fraction(1,2))
t.tensor(decimal.Decimal(1))
t.tensor(array.array('i',[1,2]))
t.tensor(b'ab')
t.tensor(memoryview(b'ab'))
t.tensor(bytearray(b'ab'))
t.tensor([[1,2],[3,4]],dtype=t.float16)
t.tensor([[[1,2]],[[3]]])
t.tensor([[[1,2]],[[3,4],[5,6]]])
t.tensor(['ab','cd'])
t.tensor([[1,2],[3,'a']])
t.as_tensor([1,2])
t.as_tensor(a) is a
t.as_tensor(a,dtype=t.float64).dtype
t.as_tensor(np.float32(3))
t.as_tensor(None)
t.asarray([1,2])
t.asarray(3)
t.asarray(L([1.]),dtype=t.int64)
t.asarray(L([1.]),dtype=t.int64,copy=False)
t.asarray([1.],copy=False)
t.asarray(np.zeros(2),copy=True)
t.asarray(np.float32(1))
t.asarray(b'\0\0\0\0',dtype=t.int32)
t.asarray(b'\0\0\0',dtype=t.int32)
t.asarray(array.array('f',[1.]))
t.asarray('a')
t.asarray([1],requires_grad=True)
t.asarray(None)
t.frombuffer(b'abcd',dtype=t.uint8)
t.frombuffer(bytearray(b'abcd'),dtype=t.uint8)
t.frombuffer(bytearray(b'abcd'),dtype=t.uint8,offset=5)
t.frombuffer(bytearray(b'abcd'),dtype=t.uint8,offset=1,count=9)
t.frombuffer(bytearray(b'abcd'),dtype=t.int32,offset=1)
t.frombuffer(bytearray(b'abcde'),dtype=t.int32)
t.frombuffer(bytearray(b''),dtype=t.int32)
t.frombuffer(bytearray(b'abcd'),dtype=t.uint8,count=0)
t.frombuffer(bytearray(b'abcd'),dtype=t.uint8,count=-5)
t.frombuffer([1],dtype=t.uint8)
t.arange(5)
t.arange(5.)
t._assert_tensor_metadata(t.ones(2, 3), [2, 3], (3, 1), t.float, device='cpu', layout=t.strided)
t._assert_tensor_metadata(t.ones(2, 3), [2, 4])
t._assert_tensor_metadata(t.ones(2, 3), stride=[1, 3])
t._assert_tensor_metadata(t.ones(2, 3), None, None, t.int)
t._assert_tensor_metadata(t.ones(2, 3), dtype=float)
t._assert_tensor_metadata(t.ones(2, 3), device='meta')
t._assert_tensor_metadata(t.ones(2, 3), layout=t.sparse_coo)
[t.ones(2).to(x).dtype.itemsize for x in (bool, int, float, complex)]
t.ones(2).to(dtype=bool)
t.ones(2).to('cpu', float)
t.ones(2).to(device='cpu', dtype=int)
t.ones(2).to(str)
t.nn.Parameter(t.ones(2)).to(float)
t.nn.Linear(1, 1).to(float).weight.dtype
t.nn.Linear(1, 1).to('cpu', float).weight.dtype
t.nn.Linear(1, 1).to(int)
t.ones(2, dtype=t.double).view(int)
t.ones(2, 2).to_sparse().to(bool).to_dense()
t.sparse_coo_tensor([[0, 1], [0, 1]], [1, 0], (2, 2), dtype=bool, check_invariants=False).to_dense()
t.ones(2, 2).to_sparse().sum(0, dtype=float).to_dense()
t.quasirandom.SobolEngine(2).draw(2, dtype=float)
t.finfo(float).bits, t.iinfo(int).bits, t.finfo(complex).bits
t.finfo(int)
t.iinfo(bool)
t.promote_types(float, int)
t.promote_types(bool, t.half)
t.promote_types(str, int)
t.can_cast(float, int), t.can_cast(int, complex)
t.ones(2).__repr__(tensor_contents='abc')
t.Tensor.__repr__(t.nn.Parameter(t.ones(2)), tensor_contents='abc')
t.jit.wait(None)
t.futures.wait_all((None,))
t.futures.Future().__reduce_ex__(2)
[t.arange(a, b, c, dtype=d).tolist() for d in (t.uint8, t.int16, t.int64) for a in (-3, -4.5, 0.5) for b in (5, 4.7) for c in (1, 1.5)]
t.arange(0, 3, 0.5, dtype=t.int32)
t.arange(2.5, dtype=t.int16)
t.arange(3, dtype=t.int64, out=t.zeros(3))
t.zeros(3, dtype=t.int64, out=t.zeros(3))
t.ones(3, layout=t.sparse_coo, out=t.zeros(3))
t.full((3,), 1, layout=t.sparse_csr, out=t.zeros(3))
t.empty(3, dtype=t.int64, out=t.zeros(3))
t.eye(2, dtype=t.int64, out=t.zeros(2, 2))
t.rand(3, dtype=t.float64, out=t.zeros(3))
t.randint(3, (3,), dtype=t.int64, out=t.zeros(3))
t.randperm(3, dtype=t.int64, out=t.zeros(3))
t.linspace(0, 1, 3, dtype=t.complex64, out=t.zeros(3))
t.zeros(3, device='meta', out=t.zeros(3))
t.zeros(3, dtype=t.float32, layout=t.strided, device='cpu', out=t.ones(3))
t.arange(1,5,2)
t.arange(5,1)
t.arange(5,1,-1)
t.arange(1,5,-1)
t.arange(1,5,0)
t.arange(0,1,0.1)
t.arange(True)
t.arange(L(3))
t.arange(L(3.))
t.arange(3,dtype=t.float16)
t.arange(0.5,3.5,dtype=t.int64)
t.arange(0,3,0.5,dtype=t.int64)
t.arange(float('inf'))
t.arange(float('nan'))
t.arange(1j)
t.arange(3,dtype=t.bool)
t.arange(2,dtype=t.bool)
t.arange(end=4)
t.arange(start=1,end=4)
t.arange(1,end=4)
t.arange(1,step=2)
t.arange()
t.arange('a')
t.range(0,3)
t.range(3)
t.range(1,3,0)
t.range(3,1)
t.range(0,3,dtype=t.int64)
t.linspace(0,1,5)
t.linspace(0,1,1)
t.linspace(0,1,0)
t.linspace(0,1,-1)
t.linspace(0,10,5,dtype=t.int64)
t.linspace(0,10,4,dtype=t.int64)
t.linspace(0,1,11,dtype=t.float16)
t.linspace(0.3,7,30,dtype=t.bfloat16)
t.linspace(0.3,7,1,dtype=t.bfloat16)
t.linspace(L(0.),L(1.),3)
t.linspace(L([0.]),1,3)
t.linspace(0,1j,3)
t.linspace(0,1,steps=3)
t.logspace(0,2,3)
t.logspace(0,2,3,base=2)
t.logspace(0,2,0)
t.logspace(0,3,4,dtype=t.int64)
t.eye(2)
t.eye(2,3)
t.eye(-1)
t.eye(2,-1)
t.eye(2,dtype=t.int64)
t.zeros(2,3)
t.zeros((2,3))
t.zeros([2,3])
t.zeros(())
t.zeros(2,-1)
t.zeros(L(2))
t.zeros(np.int64(2))
t.zeros(2,dtype='a')
t.zeros(2,3,foo=3)
t.zeros(size=(2,3)).shape
t.ones(2,dtype=int)
t.full((2,),3)
t.full((2,),3.)
t.full((2,),True)
t.full((2,),1j)
t.full((2,),1,dtype=t.float32)
t.full((2,),L(3.5))
t.full((2,),1.5,dtype=t.int64)
t.full((-2,),1.5,dtype=t.int64)
t.full((2,),1j,dtype=t.float32)
t.full((2,),300,dtype=t.uint8)
t.full((2,),1e40)
t.full_like(a,3)
t.full_like(L([1,2]),2.7)
t.full_like(a,1j)
t.full_like(a,L(1.))
t.zeros_like(a,dtype=t.int64)
t.zeros_like(3)
a.new_zeros(2)
a.new_zeros((2,))
a.new_zeros(())
a.new_zeros()
a.new_full((2,),3)
L([1]).new_full((2,),3.5)
a.new_tensor([1,2])
L([1]).new_tensor([1.5,2])
a.new_tensor(L([1,2]))
a.new_ones(2,dtype=t.int64)
t.scalar_tensor(3)
t.scalar_tensor(3,dtype=t.int64)
t.scalar_tensor(True)
t.empty_strided((2,3),(1,2)).stride()
t.empty_strided((2,3),(1,))
t.empty_permuted((2,3,5),(0,2,1)).stride()
t.empty_permuted((2,3),(0,0))
t.empty_permuted((2,3),(0,))
t.hann_window(5)
t.hann_window(5,False)
t.hann_window(0)
t.hann_window(1)
t.hann_window(-1)
t.hamming_window(5,True,0.5,0.5)
t.blackman_window(5)
t.bartlett_window(5)
t.bartlett_window(4,False)
t.kaiser_window(5)
t.kaiser_window(5,False,6.)
t.signal.windows.hann(5)
t.signal.windows.hann(5,sym=False)
t.signal.windows.hann(-5)
t.arange(3,out=t.zeros(3))
t.asarray(np.float32(1), copy=False)
t.asarray(np.int32(1), copy=False, device='meta')
t.asarray(np.array([1]), requires_grad=True)
t.asarray(np.int32(1), requires_grad=True)
t.asarray(t.tensor([1]), requires_grad=True)
t.frombuffer(bytearray(8), dtype=t.int32, requires_grad=True)
t.sparse_coo_tensor([[0]], [1], (2,), requires_grad=True)
"""  # noqa: E501


def outcome(t: Any, expression: str) -> Any:
    scope = {
        "t": t,
        "np": np,
        "L": t.tensor,
        "Sequence": Sequence,
        "Float": Float,
        "Index": Index,
        "array": array,
        "decimal": decimal,
    }
    scope |= {"fractions": fractions, "a": t.arange(6.0).reshape(2, 3)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = eval(expression, scope)
            words = [(w.category.__name__, str(w.message).split(" (Triggered")[0]) for w in caught]
            if isinstance(found, t.Tensor):
                return (
                    tuple(found.shape),
                    str(found.dtype),
                    found.requires_grad,
                    found.tolist(),
                    words,
                )
        except Exception as error:
            text = str(error).split("\n")[0].split(" - got")[0]
            return type(error).__name__, re.sub(r" \(in \w+, recorded at .*\)$", "", text)
        return (
            str(found)
            if isinstance(found, t.dtype)
            else tuple(found)
            if isinstance(found, tuple)
            else found
        ), words


def close(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(map(close, mine, theirs))
    if isinstance(mine, float) and isinstance(theirs, float):
        return mine == pytest.approx(theirs, rel=1e-6, abs=1e-6, nan_ok=True)
    return mine == theirs


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_agrees(expression: str) -> None:
    mine, theirs = (outcome(t, expression) for t in (jtorch, torch))
    assert close(mine, theirs), (mine, theirs)


def asarrays(lib: Any) -> Iterator[object]:
    """What ``asarray`` makes of tensors that require gradients, and what becomes of these."""
    for options in (
        {}, {"requires_grad": False}, {"requires_grad": True}, {"requires_grad": None},
        {"dtype": lib.float64}, {"dtype": lib.float64, "requires_grad": False}, {"copy": True},
        {"copy": True, "requires_grad": True}, {"copy": False},
    ):  # fmt: skip
        leaf, plain = lib.ones(2, requires_grad=True), lib.ones(2)
        for given in (leaf * 2, leaf, plain):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = lib.asarray(given, **options)
            yield made is given, made.requires_grad, type(made.grad_fn).__name__
        yield leaf.requires_grad, plain.requires_grad


def test_arrays_of_tensors_keep_their_history() -> None:
    assert list(asarrays(jtorch)) == list(asarrays(torch))
