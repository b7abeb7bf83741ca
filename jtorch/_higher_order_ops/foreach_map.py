"""A function for each of many tensors."""

from __future__ import annotations

from collections.abc import Callable

from .._src.refusals import stand_ins as _refusals

__all__ = ["foreach_map"]


def foreach_map(op: Callable[..., object], *operands: object, **kwargs: object) -> list[object]:
    """``[op(a, b, ..., **kwargs) for a, b, ... in zip(*operands)]``, where what is no list or tuple
    goes along with each.

    Raises:
        ValueError: for lists of different lengths, of which torch leaves out what is too many, and
            if none is given.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._higher_order_ops.foreach_map import foreach_map
        >>> foreach_map(torch.add, [torch.tensor(1.0), torch.tensor(2.0)], 3)
        [tensor(4.), tensor(5.)]
    """
    lengths = {len(x) for x in operands if isinstance(x, (list, tuple))}
    if len(lengths) != 1:
        raise ValueError(f"foreach_map takes lists of one length, got lengths {sorted(lengths)}")
    (n,) = lengths
    rows = zip(*[x if isinstance(x, (list, tuple)) else [x] * n for x in operands], strict=True)
    return [op(*row, **kwargs) for row in rows]


__getattr__ = _refusals.missing(__name__)
