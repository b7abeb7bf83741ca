"""Classes of tensors that say what tensors their instances hold: ``__tensor_flatten__`` and
``__tensor_unflatten__``.

Apart from the other helpers for such classes, which load ATen's operators: modules ask this.
"""

from __future__ import annotations

from ...core import Tensor


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether ``t`` is a tensor of a class that says what tensors it holds: ``__tensor_flatten__``
    and ``__tensor_unflatten__``."""
    return (
        isinstance(t, Tensor)
        and type(t) is not Tensor
        and is_traceable_wrapper_subclass_type(type(t))
    )


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class says what tensors its instances hold."""
    return (
        issubclass(t, Tensor)
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )
