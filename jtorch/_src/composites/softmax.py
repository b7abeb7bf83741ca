"""The softmax functions of ``nn.functional``, which choose a dimension when none is given."""

from __future__ import annotations

import warnings
from typing import Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import T
from ..facts.warned_once import outside


def implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension along which PyTorch computes where none is given, with a warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


@composite(namespace="nn.functional", operands=("input",), native=False, autocast="cuda float32")
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: Any = 3, dtype: Any = None
) -> Tensor:
    """``torch.softmax``; without ``dim`` along dimension 0 of inputs with 0, 1 or 3 dimensions,
    else 1, with a warning.

    Args:
        input: the tensor.
        dim: the dimension along which the results sum to 1.
        _stacklevel: PyTorch's own, for its warning where ``dim`` is missing.
        dtype: the dtype to convert to before.

    Shapes: that of ``input``.

    Dtypes: floating-point ones; ``dtype`` converts first.

    Raises:
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for integers, unless ``dtype`` is given.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@composite(namespace="nn.functional", operands=("input",), native=False, autocast="cuda float32")
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: Any = 3, dtype: Any = None
) -> Tensor:
    """``torch.log_softmax``; for inputs without ``dim`` see ``softmax``.

    Args:
        input: the tensor.
        dim: the dimension along which the exponentials sum to 1.
        _stacklevel: PyTorch's own, for its warning where ``dim`` is missing.
        dtype: the dtype to convert to before.

    Shapes: that of ``input``.

    Dtypes: floating-point ones; ``dtype`` converts first.

    Raises:
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for integers, unless ``dtype`` is given.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@composite(namespace="nn.functional", operands=("input",), native=False, autocast="cuda float32")
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: Any = 3, dtype: Any = None
) -> Tensor:
    """The softmax of ``-input``; for inputs without ``dim`` see ``softmax``.

    Shapes: that of ``input``.

    Dtypes: floating-point ones; ``dtype`` converts first.

    Raises:
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for integers, unless ``dtype`` is given.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.softmin(torch.tensor([0.0, 1.0]), dim=0)
        tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = implicit_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@composite(namespace="nn.functional", operands=("logits",), native=False)
def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution along ``dim``; with ``hard`` one-hot, with the
    gradient of the soft sample.

    ``eps`` has no effect, as in torch.

    Shapes: that of ``logits``.

    Dtypes: floating-point ones.

    Raises:
        IndexError: if ``dim`` is out of range.

    Source: Jang, Gu and Poole, Categorical reparameterization with Gumbel-softmax (2017).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.functional.gumbel_softmax(torch.zeros(3), hard=True)
        tensor([0., 0., 1.])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=outside())
    noise = -T.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return T.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft
