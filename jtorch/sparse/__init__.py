"""``torch.sparse``: functions of sparse tensors. The tensors themselves are in ``_tensor``, what is
done with them in its siblings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.bind.everything import PUBLIC
from .._src.facts.errors import not_offered
from .._src.tensor import legacy_classes as _legacy_classes
from ..core import Tensor

# they fill the table
from . import _elementwise, _methods, _products, _reductions, _shape  # noqa: F401
from ._checks import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from ._tensor import SparseTensor
from .semi_structured import SparseSemiStructuredTensor as SparseSemiStructuredTensor
from .semi_structured import (
    SparseSemiStructuredTensorCUSPARSELT as SparseSemiStructuredTensorCUSPARSELT,
)
from .semi_structured import SparseSemiStructuredTensorCUTLASS as SparseSemiStructuredTensorCUTLASS
from .semi_structured import to_sparse_semi_structured as to_sparse_semi_structured

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm",
    "sampled_addmm", "softmax", "spdiags", "spsolve", "sum",
]  # fmt: skip

mm = PUBLIC["sparse.mm"]
addmm = PUBLIC["sparse.addmm"]
sampled_addmm = PUBLIC["sparse.sampled_addmm"]
sum = PUBLIC["sparse.sum"]
softmax = PUBLIC["sparse.softmax"]
log_softmax = PUBLIC["sparse.log_softmax"]
spdiags = PUBLIC["sparse.spdiags"]


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Not offered, as in PyTorch's builds for the CPU."""
    raise not_offered(
        "sparse.spsolve",
        "it needs a sparse direct solver, which JAX has not; use torch.linalg.solve with "
        "to_dense()",
    )


def as_sparse_gradcheck(gradcheck: Any) -> Callable[..., bool]:
    """``gradcheck`` for functions of sparse tensors: their specified elements are the variables.

    >>> import jtorch as torch
    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda s: torch.sparse.mm(s, torch.ones(2, 2, dtype=torch.float64)), x)
    True
    """

    def check(func: Callable[..., object], inputs: object, **kwargs: object) -> bool:
        kwargs.pop("masked", None)
        given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        flat = [
            x._vals.detach().requires_grad_(x.requires_grad) if isinstance(x, SparseTensor) else x
            for x in given
        ]

        def rebuilt(*values: Any) -> object:
            from ._tensor import like

            made = [
                like(x, v) if isinstance(x, SparseTensor) else v
                for x, v in zip(given, values, strict=True)
            ]
            out = func(*made)
            outs = out if isinstance(out, (tuple, list)) else (out,)
            dense = [o.to_dense() if isinstance(o, SparseTensor) else o for o in outs]
            return tuple(dense) if len(dense) > 1 else dense[0]

        return gradcheck(rebuilt, tuple(flat), **kwargs)

    return check


def __getattr__(name: str) -> Any:
    if name in _legacy_classes.NAMES:
        return _legacy_classes.sparse_tensor_type(name)
    raise AttributeError(f"module 'torch.sparse' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_legacy_classes.NAMES})
