"""In-place powers in double precision."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ..bind.bound import BOUND
from ..bind.cores import composite
from ..facts import dtypes
from ..tensor.running import inplace
from ..tensor.writing import check_inplace


@composite(namespace="Tensor", operands=("self", "exponent"), dispatched="in parts")
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place form of ``float_power``, for tensors of double precision.

    Shapes: the exponent broadcasts to that of the tensor.

    Dtypes: float64, or complex128 if an operand is complex.

    Raises:
        RuntimeError: for tensors of other dtypes; while operations are recorded, for a leaf that
            requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([2.0, 3.0], dtype=torch.float64).float_power_(2)
        tensor([4., 9.], dtype=torch.float64)
    """
    complex_exponent = (
        exponent.dtype.is_complex if isinstance(exponent, Tensor) else isinstance(exponent, complex)
    )
    wanted = dtypes.complex128 if self.dtype.is_complex or complex_exponent else dtypes.float64
    if self.dtype is not wanted:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the "
            f"operation's result requires dtype {wanted.scalar_name}"
        )
    check_inplace(self)
    return inplace(self, BOUND["float_power"].core(self, exponent))
