"""Matrix products of several groups at once, whose sizes differ."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, T
from ..ops.scaled_products import check_grouped
from .filling import is_example, is_traced


def _readable(offs: Tensor) -> bool:
    """Whether the program may look where groups end: no transformation runs that does not know."""
    known = type(offs) is Tensor and not offs.is_meta
    return known and not is_example(offs) and not is_traced(offs)


def _edges(offs: Tensor) -> list[tuple[int, int]]:
    ends = offs.tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


@composite(
    namespace="nn.functional",
    operands=("mat_a", "mat_b", "offs", "bias"),
    native=False,
    ignored=True,
)
def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """One matrix product for each group: a dimension of a 2-d operand is cut into groups that end
    at ``offs``.

    Shapes, with G groups: mat_a (M, K) cut along M, mat_b (G, K, N) -> (M, N); mat_a (G, M, K),
    mat_b (K, N) cut along N -> (M, N); mat_a (M, K), mat_b (K, N) both cut along K -> (G, M, N);
    mat_a (G, M, K), mat_b (G, K, N) -> (G, M, N), without ``offs``.

    Rows beyond the last group are zero.

    Where groups end is read, so that each group's product takes its own time; where it cannot be
    read (``jax.jit``, ``vmap``, exports) each takes as long as one with all rows.

    Raises:
        RuntimeError: if ``offs`` is missing or not wanted, shapes do not fit, there is a bias, or
            ``out_dtype`` is another dtype.

    Example:
        >>> import jtorch as torch
        >>> F = torch.nn.functional
        >>> a, b = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
        >>> F.grouped_mm(a, b, offs=torch.tensor([1, 3]))
        tensor([[1., 1.],
                [2., 2.],
                [2., 2.]])
    """
    check_grouped(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a @ mat_b
    if not _readable(offs):
        return _C._grouped_mm(mat_a, mat_b, offs)
    edges = _edges(offs)
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        return T.stack([mat_a[:, a:b] @ mat_b[a:b] for a, b in edges])
    if mat_a.dim() == 2:
        parts, cut, total = (
            [mat_a[a:b] @ mat_b[g] for g, (a, b) in enumerate(edges)],
            0,
            mat_a.shape[0],
        )
    else:
        parts, cut, total = (
            [mat_a[g] @ mat_b[:, a:b] for g, (a, b) in enumerate(edges)],
            1,
            mat_b.shape[1],
        )
    found = T.cat(parts, cut)
    short = total - found.shape[cut]
    if short:
        size = (short, found.shape[1]) if cut == 0 else (found.shape[0], short)
        found = T.cat([found, found.new_zeros(size)], cut)
    return found
