"""Two-in-four sparsity: the classes that packages subclass and compare with. XLA has no kernels for
it, so that none is ever made."""

from __future__ import annotations

from typing import NoReturn

from .._src.facts.errors import not_offered
from .._src.refusals.reasons import TWO_IN_FOUR
from ..core import Tensor

__all__ = [
    "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS", "to_sparse_semi_structured",
]  # fmt: skip


class SparseSemiStructuredTensor(Tensor):
    """A matrix of which two in four neighbours are zero. Not offered: it can be subclassed and
    compared with."""

    BACKEND: str
    _DEFAULT_ALG_ID = 0
    _DTYPE_SHAPE_CONSTRAINTS: dict[object, object] = {}
    _FORCE_CUTLASS = False
    _FUSE_TRANSPOSE = False

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        """Refuses."""
        del args, kwargs
        raise not_offered(f"torch.sparse.{cls.__name__}", TWO_IN_FOUR)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """That of CUTLASS. Not offered."""

    BACKEND = "cutlass"


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """That of cuSPARSELt. Not offered."""

    BACKEND = "cusparselt"


def to_sparse_semi_structured(
    original_tensor: Tensor, transposed: bool = False
) -> SparseSemiStructuredTensor:
    """Not offered."""
    del original_tensor, transposed
    raise not_offered("torch.sparse.to_sparse_semi_structured", TWO_IN_FOUR)
