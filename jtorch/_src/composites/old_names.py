"""Old spellings of Tensor methods that programs still use, and functions that were removed and say
what to use instead."""

from __future__ import annotations

from typing import Any

from ...core import Tensor, detached
from ..bind.bound import BOUND
from ..bind.cores import composite
from ..bind.everything import F, T
from ..facts import dtypes
from ..ops._facts import schemas
from ..tensor import old_constructors
from ..tensor.running import write_out


@composite(namespace="Tensor", operands=("self", "other"))
def __div__(self: Tensor, other: Any) -> Tensor:
    """``self / other``, under Python 2's name.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([3.0]).__div__(2)
        tensor([1.5000])
    """
    return BOUND["div"].core(self, other)


@composite(namespace="Tensor", operands=("self", "other"))
def __idiv__(self: Tensor, other: Any) -> Tensor:
    """``self /= other``, under Python 2's name.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([3.0]).__idiv__(2)
        tensor([1.5000])
    """
    return self.div_(other)


@composite(namespace="Tensor", operands=("self", "other"), native=False)
def __rdiv__(self: Tensor, other: Any) -> Tensor:
    """``other / self``: what ``/`` calls with a number on its left.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([2.0, 4.0]).__rdiv__(1)
        tensor([0.5000, 0.2500])
    """
    try:
        return BOUND["reciprocal"].core(self) * other
    except TypeError:
        return NotImplemented


@composite(namespace="Tensor", operands=("self",))
def __long__(self: Tensor) -> int:
    """``int(self)``, under Python 2's name.

    Raises:
        ValueError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([2.5]).__long__()
        2
    """
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return int(self)


@composite(namespace="Tensor", operands=("self",))
def __nonzero__(self: Tensor) -> bool:
    """``bool(self)``, under Python 2's name.

    Raises:
        RuntimeError: unless there is exactly one element.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([2.5]).__nonzero__()
        True
    """
    return bool(self)


@composite(namespace="Tensor", operands=("self", "key"), ignored=True)
def __delitem__(self: Tensor, key: Any) -> None:
    """Elements cannot be deleted.

    Raises:
        TypeError: always.
    """
    raise TypeError("Tensor does not support deleting items")


@composite(namespace="Tensor", operands=("self",), native=False, ignored=True, dispatched="never")
def new(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """A tensor of this one's dtype and device: empty, of the given sizes (uninitialised, here
    zeros), of given data, or a tensor itself.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1]).new([2.5, 3])
        tensor([2, 3])
    """
    return old_constructors.made(args, kwargs, self.dtype, self.device, new=True)


@composite(namespace="Tensor", operands=("self",), native=False, ignored=True)
def reinforce(self: Tensor, reward: Any) -> Any:
    """Removed: use ``torch.distributions`` and its ``log_prob``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_REINFORCE)


_REINFORCE = (
    "reinforce() was removed.\n"
    "Use torch.distributions instead.\n"
    "See https://pytorch.org/docs/main/distributions.html\n"
    "\nInstead of:\n"
    "\n"
    "probs = policy_network(state)\n"
    "action = probs.multinomial()\n"
    "next_state, reward = env.step(action)\n"
    "action.reinforce(reward)\n"
    "action.backward()\n\nUse:\n\nprobs = policy_network(state)\n"
    "# NOTE: categorical is equivalent to what used to be called multinomial\n"
    "m = torch.distributions.Categorical(probs)\n"
    "action = m.sample()\n"
    "next_state, reward = env.step(action)\n"
    "loss = -m.log_prob(action) * reward\n"
    "loss.backward()\n"
)


@composite(namespace="Tensor", operands=("self", "other"), native=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What becomes of a parameter when a state dict holds ``other`` for it: a copy written into it,
    or (``assign``) ``other`` itself.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2).module_load(torch.ones(2))
        tensor([1., 1.])
    """
    if assign:
        return detached(other)
    return detached(self.copy_(other))


@composite(namespace="Tensor", operands=("self",), native=False)
def __setstate__(self: Tensor, state: Any) -> Any:
    """Gives the tensor the memory and the flags of an old pickle:
    ``(storage, offset, size, stride)``, or three items with a tensor first.

    Raises:
        RuntimeError: for tensors that are no leaves.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(1)
        >>> x.__setstate__((torch.tensor([2.0]), True, None))
        >>> x
        tensor([2.], requires_grad=True)
    """
    if not self.is_leaf:
        raise RuntimeError("__setstate__() can be only called on leaf Tensors")
    if len(state) == 4:
        self.set_(*state)
        return None
    if len(state) == 5:
        self.data, self.requires_grad = state[0], state[3]
    else:
        self.data, self.requires_grad, _ = state
    return None


# ---- copies that the runtime makes ---------------------------------------------------------------


@composite(method=True, operands=("input",), ignored=("Tensor._conj_physical",), lazy="conj")
@schemas(". ; =out")
def _conj_physical(input: Tensor) -> Any:
    """``conj_physical``; real tensors are returned as they are.

    Shapes: input (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1 + 2j])._conj_physical()
        tensor([1.-2.j])
    """
    return BOUND["conj_physical"].core(input) if input.dtype.is_complex else input


@composite(namespace="Tensor", operands=("self",), ignored=True)
@schemas(".")
def _lazy_clone(self: Tensor) -> Any:
    """``clone``, copied at once here.

    Shapes: self (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2])._lazy_clone()
        tensor([1, 2])
    """
    return T.clone(self)


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)")
def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    """The tensor in float32, if it is of half precision and its device is among those asked for.

    Shapes: self (*) -> (*).

    Example:
        >>> import jtorch as torch
        >>> torch.ones(1).half()._autocast_to_full_precision(False, True).dtype
        torch.float32
    """
    wanted = cuda_enabled if self.device.type == "cuda" else cpu_enabled
    return (
        self.to(dtypes.float32)
        if wanted and self.dtype in (dtypes.float16, dtypes.bfloat16)
        else self
    )


@composite(namespace="Tensor", operands=("self",))
@schemas(
    "(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype, ScalarType "
    "cpu_dtype) -> Tensor(a)"
)
def _autocast_to_reduced_precision(
    self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: Any, cpu_dtype: Any
) -> Tensor:
    """The tensor in the dtype for its device, if it is float32 and its device is among those asked
    for.

    Shapes: self (*) -> (*).

    Example:
        >>> import jtorch as torch
        >>> torch.ones(1)._autocast_to_reduced_precision(
        ...     False, True, torch.float16, torch.bfloat16
        ... ).dtype
        torch.bfloat16
    """
    wanted, dtype = (
        (cuda_enabled, cuda_dtype) if self.device.type == "cuda" else (cpu_enabled, cpu_dtype)
    )
    return self.to(dtype) if wanted and self.dtype is dtypes.float32 else self


@composite(
    namespace="Tensor", operands=("self", "mat1", "mat2"), ignored=True, autocast="cpu lower"
)
@schemas(
    "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool "
    "use_gelu=False) -> Tensor ; =out"
)
def _addmm_activation(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    use_gelu: bool = False,
) -> Any:
    """``relu`` (or ``gelu``, with ``use_gelu``) of ``addmm``.

    Shapes: self broadcastable to (n, p), mat1 (n, m), mat2 (m, p) -> (n, p).
    Dtypes: as for ``addmm``.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2)._addmm_activation(torch.tensor([[1.0, -1.0]]), torch.eye(2))
        tensor([[1., 0.]])
    """
    found = T.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return F.gelu(found) if use_gelu else T.relu(found)


@composite(operands=("input", "other", "out"))
def _add_relu(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Any:
    """``relu`` of ``input + alpha * other``.

    Shapes: input and other (*), broadcast.
    Dtypes: as for ``add``.

    Example:
        >>> import jtorch as torch
        >>> torch._add_relu(torch.tensor([-3.0, 2.0]), torch.tensor([1.0, 1.0]))
        tensor([0., 3.])
    """
    found = T.relu(T.add(input, other, alpha=alpha))
    return found if out is None else write_out(found, out, "_add_relu")


@composite(operands=("input", "other"))
def _add_relu_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """In-place form of ``_add_relu``: the result is written into ``input``, which is returned.

    Shapes: input (*), other broadcastable to (*).
    Dtypes: as for ``add_``.

    Example:
        >>> import jtorch as torch
        >>> torch._add_relu_(torch.tensor([-3.0, 2.0]), torch.tensor([1.0, 1.0]))
        tensor([0., 3.])
    """
    return input.add_(other, alpha=alpha).relu_()


@composite(method=True, operands=("input",), ignored=("Tensor._conj",))
@schemas("(Tensor(a) self) -> Tensor(a)")
def _conj(input: Tensor) -> Any:
    """``conj`` of a complex tensor; a view.

    Shapes: input (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1 + 2j])._conj()
        tensor([1.-2.j])
    """
    return T.conj(input)


@composite(method=True, operands=("input",))
@schemas(
    ".self ; =self_out",
    ".tensors(Tensor[] tensors) -> Tensor[]",
    ".tensors_out(Tensor[] tensors, *, Tensor(a!)[] out) -> ()",
)
def dequantize(input: Tensor) -> Tensor:
    """The numbers that a quantised tensor stands for, or each of a list; other tensors in
    float32.

    Example:
        >>> import jtorch as torch
        >>> torch.dequantize(torch.tensor([1, 2]))
        tensor([1., 2.])
    """
    if not isinstance(input, Tensor):
        return tuple(T.dequantize(x) for x in input)
    return input.to(dtypes.float32)


@composite(operands=("input", "mat2"))
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """``mm``, under an old name.

    Example:
        >>> import jtorch as torch
        >>> torch.dsmm(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))
        tensor([[11.]])
    """
    return T.mm(input, mat2)


@composite(operands=("input", "mat2"))
def hsmm(input: Tensor, mat2: Tensor) -> Any:
    """``hspmm``, under an old name.

    Example:
        >>> import jtorch as torch
        >>> torch.hsmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
    """
    return T.hspmm(input, mat2)


@composite(operands=("input", "mat1", "mat2"))
def saddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """``sspaddmm``, under an old name.

    Example:
        >>> import jtorch as torch
        >>> sparse = torch.eye(2).to_sparse()
        >>> torch.saddmm(sparse, sparse, torch.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
    return T.sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha, out=out)


# ---- removed linear algebra ----------------------------------------------------------------------

_REMOVED = "This function was deprecated since version 1.9 and is now removed."
_EIG = (
    f"{_REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather "
    "than real tensors mimicking complex tensors.\n"
    "\nL, _ = torch.eig(A) should be replaced with:\n"
    "L_complex = torch.linalg.eigvals(A)\n"
    "\nand\n"
    "\n"
    "L, V = torch.eig(A, eigenvectors=True) should be replaced with:\n"
    "L_complex, V_complex = torch.linalg.eig(A)"
)
_LSTSQ = (
    f"{_REMOVED} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n"
    "`torch.linalg.lstsq` has reversed arguments and does not return the QR decomposition in the "
    "returned tuple (although it returns other information about the problem).\n"
    "\n"
    "To get the QR decomposition consider using `torch.linalg.qr`.\n"
    "\nThe returned solution in `torch.lstsq` stored the residuals of the solution in the last m - "
    "n columns of the returned value whenever m > n. In torch.linalg.lstsq, the residuals are in "
    "the field 'residuals' of the returned named tuple.\n"
    "\nThe unpacking of the solution, as in\n"
    "X, _ = torch.lstsq(B, A).solution[:A.size(1)]\n"
    "should be replaced with:\nX = torch.linalg.lstsq(A, B).solution"
)
_SOLVE = (
    f"{_REMOVED} `torch.solve` is deprecated in favor of `torch.linalg.solve`. "
    "`torch.linalg.solve` has its arguments reversed and does not return the LU factorization.\n"
    "\nTo get the LU factorization see `torch.lu`, which can be used with `torch.lu_solve` or "
    "`torch.lu_unpack`.\n"
    "X = torch.solve(B, A).solution should be replaced with:\n"
    "X = torch.linalg.solve(A, B)"
)
_SYMEIG = (
    f"{_REMOVED} The default behavior has changed from using the upper triangular portion of the "
    "matrix by default to using the lower triangular portion.\n"
    "\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\n"
    "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n"
    "\nand\n"
    "\nL, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
    "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
)
_RANK = (
    f"{_REMOVED}\n"
    "Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was "
    "renamed in `torch.linalg.matrix_rank()` to 'hermitian'."
)


@composite(operands=("self",), native=False, ignored=True)
def eig(self: Tensor, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> Any:
    """Removed: use ``linalg.eig``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_EIG)


@composite(operands=("input", "A"), native=False, ignored=True)
def lstsq(input: Tensor, A: Any, *, out: Any = None) -> Any:
    """Removed: use ``linalg.lstsq``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_LSTSQ)


@composite(operands=("input", "A"), native=False, ignored=True)
def solve(input: Tensor, A: Any, *, out: Any = None) -> Any:
    """Removed: use ``linalg.solve``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_SOLVE)


@composite(operands=("input",), native=False, ignored=True)
def symeig(
    input: Tensor, eigenvectors: bool = False, upper: bool = True, *, out: Any = None
) -> Any:
    """Removed: use ``linalg.eigh``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_SYMEIG)


@composite(operands=("input",), native=False, ignored=True)
def matrix_rank(input: Tensor, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> Any:
    """Removed: use ``linalg.matrix_rank``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_RANK)


@composite(namespace="Tensor", name="eig", operands=("self",), native=False, ignored=True)
def _eig_method(self: Tensor, eigenvectors: bool = False) -> Any:
    """Removed: use ``linalg.eig``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_EIG)


@composite(namespace="Tensor", name="lstsq", operands=("self", "other"), native=False, ignored=True)
def _lstsq_method(self: Tensor, other: Any) -> Any:
    """Removed: use ``linalg.lstsq``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_LSTSQ)


@composite(namespace="Tensor", name="solve", operands=("self", "other"), native=False, ignored=True)
def _solve_method(self: Tensor, other: Any) -> Any:
    """Removed: use ``linalg.solve``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_SOLVE)


@composite(namespace="Tensor", name="symeig", operands=("self",), native=False, ignored=True)
def _symeig_method(self: Tensor, eigenvectors: bool = False) -> Any:
    """Removed: use ``linalg.eigh``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(_SYMEIG)
