"""Losses that compare element by element, on jagged tensors of one structure."""

from __future__ import annotations

from collections.abc import Callable

import jtorch as torch
from jtorch import overrides

from .compacting import compact
from .jagged import TABLE
from .pointwise import apply
from .tensor import NestedTensor

#: Their sums and means count all elements; ``none`` keeps the structure.
_NAMES = """
    l1_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits
    poisson_nll_loss gaussian_nll_loss soft_margin_loss hinge_embedding_loss margin_ranking_loss
    kl_div
""".split()


def _declare(path: str, func: Callable[..., object]) -> None:
    def handler(*args: object, **options: object) -> object:
        given = [compact(x) if isinstance(x, NestedTensor) else x for x in args]
        named = {n: compact(x) if isinstance(x, NestedTensor) else x for n, x in options.items()}
        if named.get("reduction") == "batchmean":
            named["reduction"] = "sum"
            first = next(x for x in given if isinstance(x, NestedTensor))
            return apply(func, tuple(given), named) / first._cut.batch
        return apply(func, tuple(given), named)

    handler.__doc__ = f"``{path}`` of all elements."
    TABLE.implements(path)(handler)


def _declare_all() -> None:
    for name in _NAMES:
        for path, owner in ((f"nn.functional.{name}", torch.nn.functional), (name, torch)):
            func = getattr(owner, name, None)
            if func is not None and overrides.resolve_name(func) is not None:
                _declare(path, func)


_declare_all()
