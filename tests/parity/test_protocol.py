"""The same calls under jtorch and under PyTorch: who is asked, with what, in which order, and what
comes out.

``d`` is a duck that answers with what it was told, ``t`` a tensor, ``s`` and ``q`` of unrelated
subclasses, ``s2`` of a subclass of the class of ``s``; ``logged`` tells what the handler of a
subclass sees, ``moded`` what a function mode sees.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

oracle = pytest.importorskip("torch")
import jtorch  # noqa: E402

EXPRESSIONS = """
torch.add(d,1) ;; torch.add(t,d,alpha=2) ;; torch.add(input=d,other=1) ;; torch.sum(d,0)
torch.sum(d,dim=0,keepdim=True)
torch.cat((t,d),0) ;; torch.cat(tensors=[d,t],dim=1) ;; torch.stack([d])
torch.einsum("i,j",t,d) ;; torch.einsum("i,j",[t,d])
F.dropout(d) ;; F.dropout(d,0.3,training=False) ;; F.softmax(d,dim=1) ;; F.linear(t,d)
F.linear(d,t,bias=t) ;; F.conv2d(d,t)
torch.split(d,2) ;; torch.split(d,[1,2],dim=1) ;; torch.unique(d)
torch.unique(d,return_inverse=True) ;; torch.tensordot(d,t,1)
torch.norm(d) ;; torch.norm(d,p=2,dim=1) ;; torch.meshgrid(d,t) ;; torch.where(d,t,t)
torch.where(t>0,d,1) ;; t+d ;; d+t ;; t-d
d-t ;; t*d ;; t/d ;; d/t ;; t//d ;; d//t ;; t**d ;; d**t ;; t%d ;; d%t ;; t@d ;; d@t ;; t==d
t!=d ;; t<d ;; d<t ;; d<=t ;; t&d
t.add(d) ;; t.add_(d) ;; t.mul_(d) ;; t[d] ;; t[0,d] ;; t[[d]] ;; t[None,d] ;; t[d,...]
torch.zeros_like(d)
torch.full_like(d,2) ;; torch.zeros(d) ;; torch.ones(2,d) ;; torch.narrow(t,0,0,d)
torch.reshape(t,d) ;; t.reshape(d) ;; t.view(d)
t.expand(d) ;; torch.arange(d) ;; torch.full((2,),d) ;; torch.linspace(d,1,2) ;; torch.eye(d)
torch.tensor(d)
torch.as_tensor(d) ;; torch.is_tensor(d) ;; torch.rand_like(d) ;; torch.nn.Linear(2,3)(d)
torch.nn.ReLU()(d)
torch.nn.Dropout(0.1)(d) ;; torch.nn.Softmax(1)(d) ;; torch.nn.CrossEntropyLoss()(d,t)
torch.nn.LayerNorm(2)(d)
torch.nn.Conv1d(1,1,1)(d) ;; torch.nn.Embedding(2,2)(d) ;; torch.nn.init.uniform_(d)
torch.nn.init.constant_(d,2.)
torch.linalg.norm(d) ;; torch.linalg.svd(d) ;; torch.fft.fft(d) ;; torch.special.erf(d)
torch.max(d) ;; torch.max(d,1)
torch.max(t,d) ;; torch.sort(d) ;; torch.topk(d,1) ;; torch.abs(t,out=d)
torch.max(t,0,out=(d,d)) ;; torch.index_put(t,(d,),t)
torch.block_diag(t,d) ;; torch.atleast_1d(d) ;; torch.cdist(d,t) ;; torch.stft(d,2)
torch.istft(d,2) ;; torch.lu(d)
torch.broadcast_tensors(d,t) ;; torch.numel(d) ;; torch.is_floating_point(d) ;; torch.clamp(t,d)
torch.clamp(t,max=d)
torch.manual_seed(0) and 0 ;; s+1 ;; 1+s ;; s+s2 ;; s2+s ;; s+q ;; torch.add(s,q) ;; q-s
s.sum() ;; s[0] ;; s[s>1] ;; list(s)
s.data ;; s.detach() ;; s.clone() ;; s.to(torch.float64) ;; s.new_zeros(2) ;; torch.zeros_like(s)
s.shape ;; s.size()
s.tolist() ;; s.numpy().tolist() ;; s.item() if 0 else 0 ;; s.max(0) ;; torch.sort(s)
torch.split(s,1) ;; s.unbind()
torch.stack([t,s]) ;; F.relu(s) ;; torch.nn.Linear(2,2)(s).shape ;; s.requires_grad_()
s.add_(1) ;; torch.add(t,t,out=s)
copy.copy(s) ;; pickle.loads(pickle.dumps(s)) ;; repr(s) ;; str(s) ;; f"{s}" ;; hash(s)==hash(s)
s.as_subclass(torch.Tensor)
t.as_subclass(dict) ;; torch.tensor(s) ;; torch.as_tensor(s) ;; S([1.,2.]) ;; S(2).shape
torch.nn.Parameter(s)
isinstance(torch.nn.Parameter(s.detach()),torch.nn.Parameter)
type(torch.nn.Parameter(t)+1).__name__ ;; reversed(s) ;; 2. in s
len(s) ;; bool(s[0]) ;; float(s[0]) ;; int(s[0]) ;; s.grad ;; s.is_leaf ;; divmod(t,2)
round(t) ;; abs(d) ;; -t
logged(lambda x:x+1) ;; logged(lambda x:1-x) ;; logged(lambda x:x[0]) ;; logged(lambda x:x.shape)
logged(lambda x:x.sum(0,keepdim=True)) ;; logged(lambda x:list(x)) ;; logged(lambda x:x.T)
logged(lambda x:x.add_(1))
logged(lambda x:torch.square(x)) ;; logged(lambda x:F.softmax(x*0,0)) ;; logged(lambda x:len(x))
logged(lambda x:x.tolist())
logged(lambda x:x<1) ;; logged(lambda x:x**2) ;; logged(lambda x:2**x) ;; logged(lambda x:x//1)
logged(lambda x:1/x)
logged(lambda x:-x) ;; logged(lambda x:x.grad) ;; logged(lambda x:setattr(x,"requires_grad",True))
logged(lambda x:x.requires_grad_().sum().backward()) ;; logged(lambda x:x.__setitem__(0,3.))
logged(lambda x:1. in x)
logged(lambda x:bool(x[0])) ;; logged(lambda x:repr(x)) ;; logged(lambda x:x.new_ones(2))
logged(lambda x:x.to("cpu"))
logged(lambda x:torch.cat([x,x])) ;; logged(lambda x:x.numpy()) ;; logged(lambda x:x.data)
logged(lambda x:setattr(x,"data",torch.ones(2))) ;; logged(lambda x:hash(x) and 1)
logged(lambda x:isinstance(x,torch.Tensor))
logged(lambda x:x.size(0)) ;; logged(lambda x:x.dim())
logged(lambda x:x.unsqueeze(0).squeeze()) ;; moded(lambda: torch.zeros(2))
moded(lambda: torch.tensor([1.])+1) ;; moded(lambda: t.shape) ;; moded(lambda: t[0])
moded(lambda: F.relu(t))
moded(lambda: F.dropout(t,0.)) ;; moded(lambda: torch.arange(3))
moded(lambda: torch.is_tensor(t)) ;; moded(lambda: t.tolist())
moded(lambda: s+1) ;; moded(lambda: d+t) ;; moded(lambda: torch.randn(1).shape)
moded(lambda: torch.as_tensor([1]))
moded(lambda: torch.Tensor([1.])) ;; moded(lambda: torch.from_numpy(t.numpy()))
moded(lambda: torch.nn.Parameter(t).shape)
moded(lambda: torch.manual_seed(0) and 1)
moded(lambda: t.clone().requires_grad_().sum().backward())
moded(lambda: torch.stack([t,t])) ;; moded(lambda: t.add_(0)) ;; moded(lambda: torch.full((2,),1.))
moded(lambda: torch.empty(2).shape) ;; moded(lambda: torch.eye(2))
moded(lambda: torch.einsum("i,i",t,t))
moded(lambda: torch.split(t,1)) ;; moded(lambda: iter(t) and 1) ;; moded(lambda: len(t))
moded(lambda: bool(t[0]))
moded(lambda: -t) ;; moded(lambda: 1-t) ;; moded(lambda: t**2) ;; moded(lambda: t//1)
ov.has_torch_function((t,))
ov.has_torch_function((s,)) ;; ov.has_torch_function([d]) ;; ov.is_tensor_like(d)
ov.is_tensor_like(D) ;; ov.is_tensor_like(5)
ov.resolve_name(torch.add) ;; ov.resolve_name(torch.Tensor.add)
ov.resolve_name(torch.Tensor.shape.__get__)
ov.resolve_name(F.linear) ;; ov.resolve_name(len) ;; ov.resolve_name(torch.linalg.norm)
ov.resolve_name(torch.Tensor.__add__)
ov.resolve_name(torch.Tensor.__getitem__) ;; ov.is_tensor_method_or_property(torch.Tensor.add)
ov.is_tensor_method_or_property(torch.add)
ov.is_tensor_method_or_property(torch.Tensor.T.__get__)
ov.handle_torch_function(torch.add,(d,),d,1) ;; ov.handle_torch_function(torch.add,(t,),t,1)
torch._C._is_torch_function_enabled()
d & t ;; d | t ;; d ^ t ;; t & d
"""


class S(jtorch.Tensor):
    pass


class _Names:
    """Everything that an expression of the list may name, for one of the two namespaces."""

    def __init__(self, torch):
        self.torch, self.F, self.ov, self.copy, self.pickle = (
            torch,
            torch.nn.functional,
            torch.overrides,
            copy,
            pickle,
        )
        self.logged, self.moded, outer = self._logged, self._moded, self

        class D:
            def __repr__(self):
                return "d"

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                name = torch.overrides.resolve_name(func) or func.__name__
                return (
                    "hit",
                    name.replace("jtorch", "torch"),
                    shown(torch, types),
                    shown(torch, args),
                    shown(torch, kwargs),
                )

        class Q(torch.Tensor):
            pass

        class S2(outer_class(torch)):
            pass

        class L(torch.Tensor):
            log: list = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.log.append(
                    (
                        func.__name__,
                        shown(torch, types),
                        len(args),
                        shown(torch, kwargs) if kwargs else kwargs,
                    )
                )
                return super().__torch_function__(func, types, args, kwargs)

        class Mode(torch.overrides.TorchFunctionMode):
            def __init__(self):
                super().__init__()
                self.log = []

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.log.append(
                    (func.__name__, shown(torch, types), shown(torch, kwargs) if kwargs else kwargs)
                )
                return func(*args, **(kwargs or {}))

        self.D, self.S, self.Q, self.S2, self.L, self.Mode, self.d = (
            D,
            outer_class(torch),
            Q,
            S2,
            L,
            Mode,
            D(),
        )
        outer.t = torch.tensor([1.0, 2.0])
        self.s, self.q, self.s2 = (outer.t.clone().as_subclass(cls) for cls in (self.S, Q, S2))

    def _logged(self, call):
        self.L.log = []
        return outcome(
            self.torch, lambda: call(self.torch.tensor([1.0, 2.0]).as_subclass(self.L))
        ), list(self.L.log)

    def _moded(self, call):
        with self.Mode() as mode:
            found = outcome(self.torch, call)
        return found, mode.log


_CLASSES: dict = {jtorch: S}


def outer_class(torch):
    """A subclass that pickle can find, for each namespace."""
    if torch not in _CLASSES:
        _CLASSES[torch] = type(
            "S", (torch.Tensor,), {"__module__": __name__, "__qualname__": "_Other"}
        )
        globals()["_Other"] = _CLASSES[torch]
    return _CLASSES[torch]


def shown(torch, x):
    if isinstance(x, type):
        return x.__name__
    if isinstance(x, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return f"{type(x).__name__}{x.detach().tolist()}"
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [shown(torch, item) for item in x]
    if isinstance(x, dict):
        return {k: shown(torch, item) for k, item in x.items()}
    if callable(x):
        return getattr(x, "__name__", str(x))
    text = repr(x)
    return type(x).__name__ if " at 0x" in text else text


def outcome(torch, call):
    try:
        return shown(torch, call())
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0][:90].replace("jtorch", "torch")


def told(torch, expression):
    names = vars(_Names(torch))
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(outcome(torch, lambda: eval(expression, names))).replace("jtorch", "torch")


@pytest.mark.parametrize(
    "expression",
    [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" ;; ")],
)
def test_expression(expression):
    assert told(jtorch, expression) == told(oracle, expression)


#: Calls that mix tensors of both packages, and what they say.
MIXED = {
    "theirs": (lambda x, y: oracle.add(x, x), "add of PyTorch itself was called with a tensor of"),
    "theirs in Python": (
        lambda x, y: oracle.nn.functional.dropout(x, 0.5),
        "dropout of PyTorch itself was called with a tensor of jtorch",
    ),
    "their module": (lambda x, y: oracle.nn.Linear(3, 3)(x), "linear of PyTorch itself was called"),
    "ours": (jtorch.add, "argument 'other' .position 2. must be Tensor"),
    "our operator": (lambda x, y: x + y, "unsupported operand"),
    "their operator": (lambda x, y: y + x, "unsupported operand"),
    "our list": (lambda x, y: jtorch.cat([x, y]), "expected Tensor as element 1 in argument 0"),
}


@pytest.mark.parametrize("name", MIXED)
def test_tensors_of_both_packages_are_refused_in_words(name: str) -> None:
    call, words = MIXED[name]
    with pytest.raises(TypeError, match=words):
        call(jtorch.ones(3), oracle.ones(3))
