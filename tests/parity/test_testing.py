"""``torch.testing``: what ``assert_close`` takes, and the words for what it does not; the tensors
of ``make_tensor``, draw by draw."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings(
        "ignore:Sparse (CSR|CSC|BSR|BSC) tensor support", "ignore:Sparse invariant checks"
    ),
]

CASES = r"""
a,a | a,b | a,b2 | a,a.to_dense() | a,a.to_dense(),check_layout=False | a,h | h,h
b2,b2.coalesce() | a.coalesce(),b
b2,b2.to_sparse_csr(),check_layout=False | b2,b2.double() | b2,b2.double(),check_dtype=False
csr,csr | csr,csc | csr,csr*2 | csc,csc*2
bsr,bsr | bsr,bsr*2 | bsc,bsc*2 | csr,(t([[0.,0,],[1,1]])).to_sparse_csr()
csr,t([[0.,1],[1,0]]).to_sparse_csr()
csc,t([[0.,1],[1,0]]).to_sparse_csc() | bsr,torch.ones(4,4).to_sparse_bsr((1,1))
bsr,(torch.ones(4,4)*t([1,1,0,0.])).to_sparse_bsr((2,2)) | csr,csr.double(),check_dtype=False
a,b,rtol=1,atol=1 | [a],[b]
{'x':csr},{'x':csr*2} | c.conj(),c.conj().resolve_conj() | c.conj(),c | c.conj().imag,t([-2.,0])
c,c*2 | t(1),t(2) | t([1,2]),t([1,3])
t([1.]),t([1.1]) | t([True,False]),t([True,True]) | t(True),t(False) | t(1.5),t(2.5)
t([1.,nan]),t([1.,nan])
t([1.,nan]),t([1.,nan]),equal_nan=True | t([1.,nan]),t([1.,2]) | t([1.,inf]),t([1.,2])
t([1.,inf]),t([1.,inf])
t([1.,inf]),t([1.,-inf]) | t([0.,1]),t([1.,0]) | t([[1.,2],[3,4]]),t([[1.,2],[3,5]])
t([1.]),t([2]) | t([1.]),t([2]),check_dtype=False
t([2.]),t([2]),check_dtype=False | t([2**62,0]),t([2**62+1,1])
t([255],dtype=torch.uint8),t([0],dtype=torch.uint8)
t([-128],dtype=torch.int8),t([127],dtype=torch.int8)
t([1.],dtype=torch.bfloat16),t([1.1],dtype=torch.bfloat16)
t([1.],dtype=torch.float16),t([1.1],dtype=torch.float16)
t([1.],dtype=torch.bfloat16),t([1.1],dtype=torch.float16),check_dtype=False
t([1.]).to(torch.float8_e4m3fn),t([2.]).to(torch.float8_e4m3fn)
t([1],dtype=torch.uint16),t([2],dtype=torch.uint16)
t([1],dtype=torch.uint64),t([2**63],dtype=torch.uint64) | 1,1 | 1,2 | 1,2. | 1,1.0
1,1.0,check_dtype=False | 1.,nan | nan,nan
nan,nan,equal_nan=True | 1j,1 | 1j,2j | True,False | True,True | inf,inf | inf,1. | 0,1 | 1,0
1e-9,0. | np.bool_(True),True
np.bool_(True),np.bool_(False) | None,None | None,1 | 1,None | None,t(1) | t(1),None | "a","a"
"a","b" | "a",1 | [],[] | [],[1]
[1],(1,) | (1,),[2] | [[1],[2]],[[1],[3]] | {},{} | {},{1:2} | {1:2},{1:3} | {1:[1,2]},{1:[1,3]}
OrderedDict(a=1),{'a':1}
{'a':1,'b':2},{'b':2,'a':1} | {'a':1,'c':1},{'b':1,'d':2} | t(1.),1. | 1.,t(1.) | t([1.]),[1.]
[1.],t([1.]) | np.array([1.]),t([1.])
np.array([1.]),np.array([1.]) | np.array([1.]),np.array([2.]) | np.array(1),np.array(2)
np.float64(1),np.float64(2) | np.float64(1),2.
np.float64(1),1. | np.float32(1),1. | np.int64(1),1 | np.array(['a']),np.array(['b'])
np.float32(1),np.float64(1)
torch.ones(2),torch.ones(3) | torch.ones(2),torch.ones(1,2)
torch.ones(2,device='meta'),torch.ones(2,device='meta')
torch.ones(2),torch.ones(2,device='meta')
torch.ones(2),torch.ones(2,device='meta'),check_device=False
torch.ones(2,2).t(),torch.ones(2,2),check_stride=True
torch.ones(3,2).t(),torch.ones(2,3),check_stride=True
torch.ones(0),torch.ones(0) | torch.ones(0,2),torch.ones(0,3)
torch.nn.Parameter(torch.ones(2)),torch.ones(2)
torch.nn.Parameter(torch.ones(2)),torch.ones(2),allow_subclasses=False
torch.ones(2),torch.ones(2).as_subclass(Sub),allow_subclasses=False
torch.ones(2).as_subclass(Sub),torch.ones(2)
torch.nn.Parameter(torch.ones(2)),torch.ones(2).as_subclass(Sub)
torch.ones(2),torch.zeros(2),msg="x"
torch.ones(2),torch.zeros(2),msg=lambda m:"y"+m
[torch.ones(2)],[torch.zeros(2)],msg=lambda m:"y"+m | [1],[1,2],msg="q"
{'a':1},{},msg="w" | 1,2,msg="z" | 1,2,rtol=1 | 1,2,atol=1 | 1,2,rtol=1,atol=1 | 1,2,rtol=0,atol=0
t([1.]),t([2.]),rtol=0,atol=0
t(1.),t(2.),rtol=0,atol=0.5 | t([1.]),t([2.]),rtol=0.,atol=0.5 | [1,"a"],[1,"a"] | {1,2},{1,2}
range(3),range(3) | range(3),[0,1,2]
torch.Size([1]),torch.Size([1]) | torch.float32,torch.float32
torch.device('cpu'),torch.device('cpu') | [None],[None] | [None],[1]
[[1,[t([1.])]]],[[1,[t([2.])]]] | {'a':{'b':t(1.)}},{'a':{'b':t(2.)}}
{'b':t(1.),0:3},{'b':t(2.),0:3} | t([1+1j]),t([1+2j])
t(1+1j),t(1+2j) | t([1+0j]),t([1.]) | t([1.]),t([1+0j]),check_dtype=False
t([complex(nan,0)]),t([complex(0,nan)]),equal_nan=True
torch.zeros(1).expand(2),torch.zeros(2) | torch.ones(2).requires_grad_(),torch.ones(2)
t([[1.,2]]),t([[1.,2.1]]) | t([]),t([])
t([1.,2,3,4]),t([1.,5,7,4.5]) | 1+0j,1+1e-9j | 3,3+0j | t([1e30]),t([1.]) | t([1e-30]),t([0.])
t([1.,2]).to_mkldnn(),t([1.,2])
2**70,2**70 | 2**70,2**71 | f8(1.,2.),f8(1.,3.) | f8(1.,2.),f8(1.,3.),rtol=1,atol=1
f8(1.,2.),f8(1.,2.)
f8(1.,2.),f8(3.,2.),rtol=0,atol=0 | t(1.).to(torch.float8_e5m2),t(2.).to(torch.float8_e5m2)
f8(nan),f8(nan),equal_nan=True
t([1.,2]).to_mkldnn(),t([1.,2]).to_mkldnn() | t([1.]),t([1,2]) | t([1.]),t([1],device='meta')
t([[1.,2]]).to_sparse(),t([[1,2]])
t([[1.,2]]).to_sparse(),t([[1,2]],device='meta') | t([1.]).to_sparse(),t([2.]).to_sparse()
torch.zeros(2).to_sparse(),torch.zeros(2).to_sparse()
t([1.]).to_sparse(),t([1.]).to_sparse(),rtol=0,atol=0
t([1.]).to_sparse(),t([2.]).to_sparse(),rtol=0,atol=0 | t(1.).to_sparse(),t(2.).to_sparse()
Arr([1.]),Arr([1.]) | Arr([1.]),Arr([2.])
[np.float64(1)],[2.0] | np.int64(3),np.float32(3) | np.int64(3),3.0 | np.complex64(1j),1j
np.uint8(3),np.int64(4)
np.uint8(3),4,check_dtype=False | np.float16(1),np.float16(1.1)
t([2**62]),t([2**62+1]),rtol=0,atol=1
t([2**62]),t([2**62+1]),rtol=1e-3,atol=0 | t([2**62,1]),t([2**62+1.,1]),check_dtype=False
t([3],dtype=torch.int8),t([4.]),check_dtype=False | t([1.,2,3]),t([1.,nan,4]) | t([inf]),t([nan])
t([complex(inf,nan)]),t([complex(1,nan)]),equal_nan=True | t([1e38]),t([-3e38])
t([6e4],dtype=torch.float16),t([-6e4],dtype=torch.float16) | t([True]),t([1]),check_dtype=False
t([True]),t([0]),check_dtype=False
t([1.0]),t([1+1j]),check_dtype=False | torch.ones(2,2).to_sparse(),torch.ones(2,2).to_sparse_csr()
csr,csr.cpu(),check_stride=True
torch.ones(2,2),torch.ones(2,2).double().t() | t([1.]).neg(),torch._neg_view(t([1.]))
torch.ones(3).cumsum(0),t([1.,2,4]),rtol=1e-6,atol=0 | Sub([1.]),Sub([2.])
torch.ones(2,1,2),torch.zeros(2,1,2)
torch.ones(1,dtype=torch.complex64).to_sparse(),2*torch.ones(1,dtype=torch.complex64).to_sparse()
t([1,2]).to_sparse(),t([1,3]).to_sparse()
"""


class Arr:
    """What NumPy, but not PyTorch, takes for an array."""

    def __init__(self, x: Any) -> None:
        self.x = np.array(x)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x


def _names(n: Any) -> dict[str, Any]:
    t = n.tensor
    a = n.sparse_coo_tensor(t([[0, 0], [1, 1]]), t([1.0, 2.0]), (2, 2))
    b, b2 = (n.sparse_coo_tensor(t([[0, i], [1, 1]]), t([1.0, 2.5]), (2, 2)) for i in (0, 1))
    return {
        "torch": n, "t": t, "np": np, "nan": float("nan"), "inf": float("inf"),
        "OrderedDict": OrderedDict, "Arr": Arr, "Sub": type("Sub", (n.Tensor,), {}), "a": a, "b": b,
        "b2": b2, "c": t([1 + 2j, 3]), "h": n.sparse_coo_tensor(t([[0, 1]]), n.ones(2, 2), (2, 2)),
        "csr": b2.to_dense().to_sparse_csr(), "csc": b2.to_dense().to_sparse_csc(),
        "bsr": n.ones(4, 4).to_sparse_bsr((2, 2)), "bsc": n.ones(4, 4).to_sparse_bsc((2, 2)),
        "f8": lambda *x: t(x).to(n.float8_e4m3fn),
        "nj": lambda *x: n.nested.nested_tensor([t(y) for y in x], layout=n.jagged),
    }  # fmt: skip


def _outcome(n: Any, text: str) -> str:
    try:
        eval(f"torch.testing.assert_close({text})", _names(n))
    except (AssertionError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}".replace("jtorch", "torch")
    return "close"


@pytest.mark.parametrize(
    "text", [t for line in CASES.strip().splitlines() for t in line.split(" | ")]
)
def test_comparisons(text: str) -> None:
    assert _outcome(jtorch, text) == _outcome(torch, text)


BOUNDS: list[dict[str, Any]] = [
    {}, {"low": 1, "high": 0}, {"low": 1, "high": 1}, {"low": -2.0**70, "high": 2.0**70},
    {"low": -float("inf"), "high": float("inf")}, {"low": 5, "high": 3000},
    {"low": 1e39, "high": 1e40}, {"low": -1e40, "high": -1e39}, {"low": 2.2, "high": 4.1},
    {"low": float("nan")}, {"low": 0}, {"high": 0}, {"low": 20}, {"high": -20},
    {"low": 1e300, "high": 1e301}, {"requires_grad": True}, {"noncontiguous": True},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Passing `low==high`:FutureWarning")
@pytest.mark.parametrize(
    "dtype",
    "bool uint8 int8 int64 uint16 float16 bfloat16 float32 float64 complex64 float8_e4m3fn".split(),
)
def test_random_tensors(dtype: str) -> None:
    for options in BOUNDS:
        found = []
        for n in (torch, jtorch):
            n.manual_seed(3)
            try:
                t = n.testing.make_tensor((2, 5), dtype=getattr(n, dtype), device="cpu", **options)
            except (ValueError, RuntimeError) as error:
                found.append(f"{type(error).__name__}: {error}".replace("jtorch", "torch"))
            else:
                wide = t.detach().to(n.complex128 if t.is_complex() else n.float64)
                found.append(
                    (str(t.dtype).split(".")[1], t.stride(), t.requires_grad, repr(wide.tolist()))
                )
        assert found[1] == found[0], options


def test_one_value_is_no_interval() -> None:
    for n in (torch, jtorch):
        with pytest.warns(FutureWarning, match=r"^Passing `low==high`"):
            assert n.testing.make_tensor(
                2, dtype=n.float32, device="cpu", low=1, high=1
            ).tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore:.*quantized tensor")
@pytest.mark.parametrize("options", [{}, {"check_dtype": False}])
def test_quantised_tensors_are_compared_with_their_schemes(options: dict[str, bool]) -> None:
    told: list[list[str]] = []
    for n in (torch, jtorch):
        told.append([])
        a, zeros = n.tensor([1.0, 2]), n.tensor([0, 0])
        q = n.quantize_per_tensor(a, 1.0, 0, n.qint32)
        many = n.quantize_per_channel(a, n.ones(2), zeros, 0, n.qint32)
        finer = n.quantize_per_tensor(a, 0.5, 0, n.qint32)
        for x, y in ((a, q), (q, a), (q, many), (many, q), (q, q), (many, many), (q, finer)):
            try:
                n.testing.assert_close(x, y, **options)
            except AssertionError as error:
                told[-1].append(str(error))
            else:
                told[-1].append("close")
    assert told[0] == told[1]
