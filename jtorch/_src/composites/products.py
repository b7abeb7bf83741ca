"""Functions that multiply by description: ``einsum`` in both notations, and chains of matrices."""

from __future__ import annotations

import functools
import string
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.names import named
from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, L, T
from ..facts import dtypes
from ..facts.errors import must_be_tensor, type_name
from ..facts.warned_once import outside
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Values


_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _from_sublists(args: Sequence[Any]) -> tuple[str, Values]:
    """Translates ``operand, labels, operand, labels, ..., [output labels]`` into an equation."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )

    def term(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else _letter(label) for label in labels)

    pairs = len(args) // 2
    equation = ",".join(term(args[2 * i + 1]) for i in range(pairs))
    if len(args) % 2:
        equation += "->" + term(args[-1])
    return equation, [args[2 * i] for i in range(pairs)]


def _letter(label: Tensor | int) -> str:
    if not 0 <= label < 52:
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    return _LETTERS[label]


def _terms(equation: str) -> tuple[list[list[str]], list[str] | None]:
    """The labels of every operand and of the output (None if it is left out), ``"..."`` among them.

    Raises:
        RuntimeError: for anything but letters, ellipses, commas and one arrow.
    """
    inputs, arrow, output = equation.partition("->")
    terms, start = [], 0
    for i, term in enumerate(inputs.split(",")):
        terms.append(_labels(term, f"for operand {i}", start))
        start += len(term) + 1
    return terms, _labels(output, "for output", len(inputs) + 2) if arrow else None


def _labels(term: str, where: str, start: int) -> list[str]:
    found: list[str] = []
    i = 0
    while i < len(term):
        if term[i] == " ":
            i += 1
        elif term[i] == ".":
            output = where == "for output"
            if "..." in found:
                again = (
                    "but an ellipsis (...) was already found"
                    if output
                    else "for which an ellipsis was already found"
                )
                raise RuntimeError(f"einsum(): found '.' {where} {again}")
            if term[i : i + 3] != "...":
                raise RuntimeError(
                    f"einsum(): found '.' {where} that is not part of any "
                    f"ellipsis{' (...)' if output else ''}"
                )
            found.append("...")
            i += 3
        elif term[i] in _LETTERS:
            found.append(term[i])
            i += 1
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
    return found


@composite(lists=("args",), native=False, home="functional", autocast="lower", implicit=True)
@schemas("(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor")
def einsum(*args: Any) -> Any:
    """Sums products of elements, as an equation over the operands' dimensions says:
    ``einsum("ij,jk->ik", a, b)``.

    Also as ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. Without ``->`` the labels that occur once
    stay, sorted; ``...`` stands for any number of broadcast dimensions; dimensions of size 1
    broadcast; a label twice in one operand takes the diagonal.

    Args:
        args: the equation and then the operands, or operands each followed by the list of its
            dimensions' labels, and at last the output's.

    Shapes: any that fit the equation -> the sizes of the output's labels.

    Dtypes: all operands of one dtype where two are long in a label that is summed; others promote.
    Integers that are summed before they meet another operand become int64.

    Raises:
        RuntimeError: for an equation that is wrong or does not fit the operands.
        ValueError: if operands are missing.

    Example:
        >>> import jtorch as torch
        >>> a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([10, 1])
        >>> torch.einsum("ij,j->i", a, b)
        tensor([12, 34])
        >>> torch.einsum("ii", a)
        tensor(5)
    """
    return _einsum(*args)


def _einsum(*args: Any) -> object:
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], list(args[1:])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return T.einsum(equation, *operands[0])
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}"
        )
    terms, output = _terms(equation)
    if len(terms) != len(operands):
        word = "more" if len(operands) > len(terms) else "fewer"
        raise RuntimeError(
            f"einsum(): {word} operands were provided than specified in the equation"
        )
    return _contract(operands, terms, output)


def _contract(operands: list[Tensor], terms: list[list[str]], output: list[str] | None) -> object:
    labels, sizes = [], {}
    covered = 0
    for i, (x, term) in enumerate(zip(operands, terms, strict=True)):
        extra = x.dim() - sum(label != "..." for label in term)
        if extra < 0 or (extra > 0 and "..." not in term):
            given = f"({sum(label != '...' for label in term)})"
            relation, ending = (
                ("is more than", "")
                if "..." in term
                else ("does not match", " and no ellipsis was given")
            )
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation {given} {relation} the number "
                f"of dimensions ({x.dim()}) for operand {i}{ending}"
            )
        covered = max(covered, extra if "..." in term else 0)
        names: list[int] = []
        for label in term:
            names.extend(range(-extra, 0) if label == "..." else [ord(label)])
        seen: dict[int, int] = {}
        for name, n in zip(names, x.shape, strict=True):
            if seen.setdefault(name, n) != n:
                sizes_differ = f"the sizes don't match, {n} != {seen[name]}"
                raise RuntimeError(
                    f"einsum(): subscript {chr(name)} is repeated for operand {i} but "
                    f"{sizes_differ}"
                )
            if sizes.setdefault(name, n) != n and 1 not in (n, sizes[name]):
                if name < 0:
                    raise RuntimeError(
                        f"einsum(): dimension {name + extra} covered by ellipsis in operand {i}has "
                        f"size {n} which does not broadcast with previously seen ellipsis with "
                        f"size {sizes[name]} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {chr(name)} has size {n} for operand {i} which does not "
                    f"broadcast with previously seen size {sizes[name]}"
                )
            sizes[name] = max(sizes[name], n) if 0 not in (n, sizes[name]) else 0
        labels.append(tuple(names))
    wanted = _output(output, terms, covered)
    if len(operands) == 1 and set(labels[0]) == set(wanted):
        return _rearranged(operands[0], labels[0], wanted)
    operands, matrices = _summed_alone(operands, labels, wanted)
    if not matrices:
        common = functools.reduce(dtypes.promote_types, [x.dtype for x in operands])
        operands = [x if x.dtype is common else x.to(common) for x in operands]
    return named(_C._einsum(operands, tuple(labels), wanted), _last_step(labels, wanted))


def _summed_alone(
    operands: list[Tensor], labels: list[tuple[int, ...]], wanted: tuple[int, ...]
) -> tuple[list[Tensor], bool]:
    """The operands, those that are summed before they meet another in the dtype of their sums; and
    whether some share what is summed.

    What two operands share is summed by products of matrices, which have one dtype. Other products
    promote.
    """
    only = len(operands) == 1
    long = [
        {name for name, n in zip(names, x.shape, strict=True) if n != 1 or only}
        for x, names in zip(operands, labels, strict=True)
    ]
    summed = {name for names in labels for name in names} - set(wanted)
    sharing = {name: sum(name in names for names in long) for name in summed}
    found = []
    for x, names in zip(operands, long, strict=True):
        alone = any(sharing.get(name) == 1 for name in names)
        found.append(x.to(dtypes.int64) if alone and x.dtype.category < dtypes.FLOATING else x)
    return found, any(n > 1 for n in sharing.values())


def _rearranged(x: Tensor, names: tuple[int, ...], wanted: tuple[int, ...]) -> object:
    """Another look at the operand's memory, as torch's is where nothing is summed: diagonals, then
    a permutation."""
    left = list(names)
    for name in dict.fromkeys(names):
        while left.count(name) > 1:
            first = left.index(name)
            second = left.index(name, first + 1)
            x = x.diagonal(dim1=first, dim2=second)  # the diagonal becomes the last dimension
            left = [n for i, n in enumerate(left) if i not in (first, second)] + [name]
    return x.permute([left.index(name) for name in wanted])


def _last_step(labels: list[tuple[int, ...]], output: tuple[int, ...]) -> str:
    """What torch computes last: it multiplies operands two at a time, by a matrix product where a
    label is summed."""
    summed = {x for names in labels for x in names} - set(output)
    if len(labels) == 1:
        return "SumBackward1" if summed else "PermuteBackward0"
    return "ViewBackward0" if summed else "MulBackward0"


def _output(output: list[str] | None, terms: list[list[str]], covered: int) -> tuple[int, ...]:
    used = [label for term in terms for label in term]
    ellipsis = tuple(range(-covered, 0))
    if output is None:
        once = sorted({label for label in used if label != "..." and used.count(label) == 1})
        return ellipsis + tuple(map(ord, once))
    names: list[int] = []
    for label in output:
        if label == "...":
            names.extend(ellipsis)
            continue
        if label not in used:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input "
                "operand"
            )
        if ord(label) in names:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the output"
            )
        names.append(ord(label))
    return tuple(names)


@composite(lists=("matrices",), native=False, home="functional", autocast="lower", implicit=True)
@schemas(".")
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """The product of matrices; deprecated in favour of ``linalg.multi_dot``.

    Shapes: (n, m), (m, k), ... -> (n, last).

    Raises:
        RuntimeError: if they are no matrices, or the sizes do not fit.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.chain_matmul(torch.ones(2, 1), torch.ones(1, 3), torch.ones(3, 1))
        tensor([[3.],
                [3.]])
    """
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters.",
        stacklevel=outside(),
    )
    for matrix in matrices:
        if isinstance(matrix, Tensor) and matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1 and out is None:
        if matrices[0].dim() != 2:
            raise RuntimeError("chain_matmul(): Expected one or more 2D matrices")
        return matrices[0].clone()
    return L.multi_dot(list(matrices), out=out)


@composite(
    namespace="nn.functional", operands=("x1", "x2"), aliases=("pairwise_distance",), implicit=True
)
@schemas(".")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Any:
    """The ``p``-norms over the last dimension of ``x1 - x2 + eps``.

    Shapes: (*, D) that broadcast -> (*), or (*, 1) with ``keepdim``.

    Dtypes: floating-point and complex ones -> the real type of the result type.

    Raises:
        RuntimeError: if the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2))
        tensor([5.0000])
    """
    for i, (name, x) in enumerate((("x1", x1), ("x2", x2)), 1):
        if not isinstance(x, Tensor):
            raise must_be_tensor("pairwise_distance", name, i, x)
    return named(L.vector_norm(x1 - x2 + eps, p, -1, keepdim), "NormBackward1")
