"""``ScalarTensor`` and ``DiagonalTensor``: matrices that are stored as one number, or as their
diagonal.

Both come in the two forms in which such a type can treat functions it has no formula for: refusing
them, so that no large matrix arises by mistake, and falling back to a dense tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import jtorch as torch
from jtorch.overrides import is_tensor_method_or_property

from . import coverage, trees
from .tensor_like import TensorLike

if TYPE_CHECKING:
    from .._src.facts.kinds import Decorator, Function


Tensor: Any = torch.Tensor


class CompactTensor(TensorLike):
    """Base of types with a table of formulas, one for each function they know; ``dense()`` gives
    the ordinary tensor.

    A subclass has the formulas of its bases and may have others, or decline by returning
    NotImplemented. ``falls_back`` decides about functions without a formula: run on dense tensors,
    or declined.
    """

    formulas: ClassVar[dict[Any, Callable[..., Any]]] = {}
    falls_back: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.formulas = {}

    @classmethod
    def implements(cls, *functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: enters a formula for functions (properties stand for their getters)."""

        def enter(formula: Callable[..., object]) -> Function:
            cls.formulas.update(
                dict.fromkeys(
                    [f.__get__ if isinstance(f, property) else f for f in functions], formula
                )
            )
            return formula

        return enter

    @classmethod
    def formula_for(cls, func: Any) -> Callable[..., Any] | None:
        """The formula of this class or of the nearest base that has one."""
        for base in cls.__mro__:
            found = base.__dict__.get("formulas", {}).get(func)
            if found is not None:
                return found
        return None

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The formula's result; without one, that of dense tensors, or NotImplemented."""
        if not all(issubclass(t, (torch.Tensor, CompactTensor)) for t in types):
            return NotImplemented  # another array type is involved, which may know more
        formula = cls.formula_for(func)
        if formula is not None:
            return formula(*args, **(kwargs or {}))
        if not cls.falls_back:
            return NotImplemented
        return func(*_dense(args), **_dense(kwargs or {}))

    def dense(self) -> torch.Tensor:
        """The matrix as an ordinary tensor."""
        raise NotImplementedError

    def tensor(self) -> torch.Tensor:
        """Another name of ``dense``."""
        return self.dense()


def _dense(x: Any) -> Any:
    if isinstance(x, CompactTensor):
        return x.dense()
    if type(x) in (list, tuple):
        return type(x)([_dense(item) for item in x])
    if type(x) is dict:
        return {k: _dense(item) for k, item in x.items()}
    return x


# ---- multiples of the identity -------------------------------------------------------------------


class ScalarTensor(CompactTensor):
    """``value`` times the identity matrix of order ``N``. Functions without a formula are refused.

    ``value`` is a number or a 0-dim tensor; gradients reach the latter.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.wrappers import ScalarTensor
        >>> s = ScalarTensor(5, 2)
        >>> torch.mean(s)
        tensor(0.4000)
        >>> torch.add(s, s)
        ScalarTensor(N=5, value=4)
        >>> s @ torch.arange(5.0)
        tensor([0., 2., 4., 6., 8.])
        >>> torch.exp(s)
        Traceback (most recent call last):
        ...
        TypeError: Multiple dispatch failed for 'torch.exp'; all __torch_function__ handlers returned NotImplemented:
        ...
    """  # noqa: E501

    def __init__(self, N: int, value: Any) -> None:
        self.N = int(N)
        self.value = value

    def dense(self) -> torch.Tensor:
        """The matrix as an ordinary tensor."""
        return self.value * torch.eye(self.N, dtype=_dtype(self.value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(N={self.N}, value={self.value})"


class ScalarTensorWithFallback(ScalarTensor):
    """A ScalarTensor of which functions without a formula make an ordinary tensor."""

    falls_back = True


# ---- diagonal matrices ---------------------------------------------------------------------------


class DiagonalTensor(CompactTensor):
    """A square matrix that is zero off its diagonal. Functions without a formula are refused.

    Args:
        diagonal: the entries, as a vector; or the order ``N`` of the matrix.
        value: with ``N``, the value of all entries.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.wrappers import DiagonalTensor
        >>> d = DiagonalTensor(torch.tensor([1.0, 2.0]))
        >>> (d @ d + d).diagonal()
        tensor([2., 6.])
        >>> torch.linalg.solve(d, torch.tensor([[2.0], [2.0]]))
        tensor([[2.],
                [1.]])
    """

    def __init__(self, diagonal: Any, value: Any = None) -> None:
        if value is not None:
            diagonal = value * torch.ones(int(diagonal), dtype=_dtype(value))
        self.entries: torch.Tensor = torch.as_tensor(diagonal)
        if self.entries.dim() != 1:
            raise ValueError(
                f"the diagonal must be a vector, not of shape {tuple(self.entries.shape)}"
            )

    @property
    def N(self) -> int:
        """The order of the matrix."""
        return self.entries.shape[0]

    def dense(self) -> torch.Tensor:
        """The matrix as an ordinary tensor."""
        return torch.diag(self.entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.entries})"


class DiagonalTensorWithFallback(DiagonalTensor):
    """A DiagonalTensor of which functions without a formula make an ordinary tensor."""

    falls_back = True


def _dtype(value: object) -> torch.dtype:
    return (
        value.dtype
        if isinstance(value, torch.Tensor)
        else torch.result_type(torch.ones((), dtype=torch.float32), value)
    )


# ---- formulas ------------------------------------------------------------------------------------
# Written once for both types: ``_entries`` is the number, or the vector, and ``_like`` makes a
# matrix of another.


def _entries(x: Any) -> Any:
    return x.value if isinstance(x, ScalarTensor) else x.entries


def _like(x: Any, entries: Any) -> Any:
    return type(x)(x.N, entries) if isinstance(x, ScalarTensor) else type(x)(entries)


def _pair(a: Any, b: CompactTensor) -> tuple[Any, Any, Any]:
    """Entries of two compact matrices and the one whose type the result has.

    Raises:
        ValueError: if their sizes differ.
    """
    if a.N != b.N:
        raise ValueError(f"the matrices must have one size, not {a.N} and {b.N}")
    return (
        _entries(a),
        _entries(b),
        b if isinstance(a, ScalarTensor) and isinstance(b, DiagonalTensor) else a,
    )


def _number(x: torch.Tensor | int) -> bool:
    return isinstance(x, (int, float, complex)) or (isinstance(x, torch.Tensor) and x.dim() == 0)


def implements_for_both(*functions: object) -> Decorator:
    """Enters a formula into the tables of both types."""

    def enter(formula: Callable[..., object]) -> Function:
        for cls in (ScalarTensor, DiagonalTensor):
            cls.implements(*functions)(formula)
        return formula

    return enter


@implements_for_both(torch.add, Tensor.add, Tensor.__radd__)
def add(
    input: DiagonalTensor | DiagonalTensorWithFallback | ScalarTensor,
    other: torch.Tensor | CompactTensor,
    *,
    alpha: int = 1,
) -> Any:
    """Compact if both operands are; a dense tensor with any other."""
    if isinstance(input, CompactTensor) and isinstance(other, CompactTensor):
        a, b, kind = _pair(input, other)
        return _like(kind, a + alpha * b)
    return torch.add(_dense(input), _dense(other), alpha=alpha)


@implements_for_both(torch.sub, torch.subtract, Tensor.sub)
def sub(
    input: torch.Tensor | DiagonalTensor | ScalarTensor,
    other: torch.Tensor | DiagonalTensor | ScalarTensor,
    *,
    alpha: int = 1,
) -> torch.Tensor | DiagonalTensor | ScalarTensor:
    """As ``add``."""
    return add(input, other, alpha=-alpha)


@implements_for_both(torch.rsub, Tensor.__rsub__)
def rsub(input: object, other: object) -> Any:
    """``other - input``."""
    return add(other, input, alpha=-1)


@implements_for_both(torch.mul, torch.multiply, Tensor.mul, Tensor.__rmul__)
def mul(input: Any, other: Any) -> Any:
    """Compact with numbers and compact matrices: zeros stay zeros."""
    if not isinstance(input, CompactTensor):
        input, other = other, input
    if isinstance(other, CompactTensor):
        a, b, kind = _pair(input, other)
        return _like(kind, a * b)
    if _number(other):
        return _like(input, _entries(input) * other)
    return torch.mul(input.dense(), other)


@implements_for_both(torch.div, torch.true_divide, Tensor.div)
def div(input: DiagonalTensor | ScalarTensor, other: torch.Tensor | int) -> Any:
    """Compact by numbers; declined otherwise, for zeros would be divided by."""
    return (
        _like(input, _entries(input) / other)
        if isinstance(input, CompactTensor) and _number(other)
        else NotImplemented
    )


@implements_for_both(
    torch.matmul,
    torch.mm,
    torch.mv,
    Tensor.matmul,
    Tensor.mm,
    Tensor.mv,
    Tensor.__rmatmul__,
    torch.linalg.matmul,
)
def matmul(
    input: torch.Tensor | DiagonalTensor | ScalarTensor,
    other: torch.Tensor | DiagonalTensor | ScalarTensor,
) -> torch.Tensor | DiagonalTensor | ScalarTensor:
    """Scales rows or columns; compact if both operands are."""
    if isinstance(input, CompactTensor) and isinstance(other, CompactTensor):
        return mul(input, other)
    compact, dense = (input, other) if isinstance(input, CompactTensor) else (other, input)
    axis = -1 if dense.dim() == 1 or compact is other else -2
    if dense.shape[axis] != compact.N:
        raise RuntimeError(
            f"a matrix of order {compact.N} and one of shape {tuple(dense.shape)} cannot be "
            "multiplied"
        )
    entries = _entries(compact)
    if isinstance(compact, DiagonalTensor) and axis == -2:
        entries = entries.unsqueeze(-1)
    return entries * dense


@implements_for_both(torch.neg, torch.negative, Tensor.neg)
def neg(input: DiagonalTensor | ScalarTensor) -> DiagonalTensor | ScalarTensor:
    """Compact."""
    return _like(input, -_entries(input))


@implements_for_both(
    torch.t,
    Tensor.t,
    Tensor.T,
    Tensor.mT,
    torch.clone,
    Tensor.clone,
    torch.positive,
    Tensor.positive,
)
def same(input: DiagonalTensor | ScalarTensor) -> DiagonalTensor | ScalarTensor:
    """The transpose of a diagonal matrix is the same one."""
    return _like(input, _entries(input))


@implements_for_both(torch.trace, Tensor.trace)
def trace(input: DiagonalTensor | ScalarTensor) -> torch.Tensor:
    """The sum of the diagonal."""
    if isinstance(input, ScalarTensor):
        return torch.as_tensor(input.value * input.N)
    return input.entries.sum()


@implements_for_both(torch.sum, Tensor.sum)
def sum_(
    input: DiagonalTensor | ScalarTensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """The sum of all elements; along a dimension, what stands on the diagonal."""
    if dim is None:
        return trace(input).to(dtype=dtype)
    if isinstance(dim, (list, tuple)) or not -2 <= dim < 2:
        return NotImplemented
    return (
        diagonal(input).to(dtype=dtype)
        if not keepdim
        else diagonal(input).to(dtype=dtype).unsqueeze(dim)
    )


@implements_for_both(torch.mean, Tensor.mean)
def mean(input: DiagonalTensor | ScalarTensor) -> torch.Tensor:
    """The mean of all elements, zeros included."""
    return trace(input) / input.N**2


@implements_for_both(torch.det, Tensor.det, torch.linalg.det)
def det(input: DiagonalTensor | ScalarTensor) -> torch.Tensor:
    """The product of the diagonal."""
    return (
        torch.as_tensor(input.value) ** input.N
        if isinstance(input, ScalarTensor)
        else input.entries.prod()
    )


@implements_for_both(torch.logdet, Tensor.logdet)
def logdet(input: DiagonalTensor | ScalarTensor) -> torch.Tensor:
    """The sum of the logarithms of the diagonal, NaN for a negative determinant."""
    found = diagonal(input).abs().log().sum()
    return torch.where(diagonal(input).sign().prod() >= 0, found, torch.nan)


@implements_for_both(torch.inverse, Tensor.inverse, torch.linalg.inv)
def inverse(input: DiagonalTensor | ScalarTensor) -> DiagonalTensor | ScalarTensor:
    """Compact."""
    return _like(input, 1 / _entries(input))


@implements_for_both(torch.linalg.solve)
def solve(A: DiagonalTensor | ScalarTensor, B: torch.Tensor) -> torch.Tensor:
    """``X`` with ``A @ X == B``."""
    return matmul(inverse(A), B)


@implements_for_both(torch.matrix_power, Tensor.matrix_power, torch.linalg.matrix_power)
def matrix_power(input: DiagonalTensor | ScalarTensor, n: int) -> DiagonalTensor | ScalarTensor:
    """Compact."""
    return _like(input, _entries(input) ** n)


@implements_for_both(torch.matrix_exp, Tensor.matrix_exp, torch.linalg.matrix_exp)
def matrix_exp(input: Any) -> Any:
    """Compact."""
    return _like(input, torch.exp(torch.as_tensor(_entries(input))))


@implements_for_both(torch.diagonal, Tensor.diagonal, torch.diag, Tensor.diag)
def diagonal(input: DiagonalTensor | ScalarTensor) -> torch.Tensor:
    """The diagonal as a vector."""
    if isinstance(input, ScalarTensor):
        return torch.as_tensor(input.value) * torch.ones(input.N, dtype=_dtype(input.value))
    return input.entries.clone()


@implements_for_both(Tensor.shape)
def shape(self: DiagonalTensor | ScalarTensor) -> Any:
    """``N`` by ``N``."""
    return torch.Size((self.N, self.N))


@implements_for_both(Tensor.size)
def size(self: DiagonalTensor | ScalarTensor, dim: int | None = None) -> int:
    """All sizes, or one."""
    return shape(self) if dim is None else shape(self)[dim]


@implements_for_both(Tensor.dim, Tensor.ndimension, Tensor.ndim)
def dim(self: DiagonalTensor | ScalarTensor) -> int:  # noqa: ARG001
    """Two."""
    return 2


@implements_for_both(torch.numel, Tensor.numel, Tensor.nelement)
def numel(self: DiagonalTensor | ScalarTensor) -> int:
    """Zeros count."""
    return self.N**2


@implements_for_both(Tensor.__len__)
def length(self: DiagonalTensor | ScalarTensor) -> int:
    """The number of rows."""
    return self.N


@implements_for_both(Tensor.dtype)
def dtype(self: object) -> Any:
    """The type of the entries."""
    return _dtype(_entries(self))


@implements_for_both(Tensor.requires_grad)
def requires_grad(self: DiagonalTensor | ScalarTensor) -> bool:
    """Whether gradients reach the entries."""
    return bool(getattr(_entries(self), "requires_grad", False))


def _coverage(cls: type[CompactTensor]) -> coverage.Coverage:
    formulas = {f for base in cls.__mro__ for f in base.__dict__.get("formulas", {})}
    every = coverage.overridable_functions()
    needs_tensor = {
        f: "a method or property of Tensor has no compact form"
        for f in every
        if is_tensor_method_or_property(f)
    }
    if cls.falls_back:
        return coverage.cover(formulas, (), {}, rest="delegates")
    refused = {f: reason for f, reason in needs_tensor.items() if f not in formulas}
    return coverage.cover(
        formulas, (), refused, rest="refused", why="there is no formula that keeps the result small"
    )


def __getattr__(name: str) -> Any:
    """``COVERAGE`` (of the refusing form), ``FALLBACK_COVERAGE``: made when first asked for, since
    all namespaces must be there."""
    if name == "COVERAGE":
        return _coverage(ScalarTensor)
    if name == "FALLBACK_COVERAGE":
        return _coverage(ScalarTensorWithFallback)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


trees.register(
    ScalarTensor, lambda x: (x.value, (x.N, type(x))), lambda value, rest: rest[1](rest[0], value)
)


def _diagonal_of(entries: torch.Tensor, cls: type[DiagonalTensor]) -> DiagonalTensor:
    """A DiagonalTensor on whatever a tree holds, a tensor or a placeholder."""
    made = object.__new__(cls)
    made.entries = entries
    return made


trees.register(DiagonalTensor, lambda x: (x.entries, type(x)), _diagonal_of)
