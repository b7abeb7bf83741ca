"""What a tensor tells about itself beyond its metadata, and calls that exist for other runtimes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binding import composite
from ..core import Tensor, alias_of, detached
from ..engine import META
from ..errors import not_offered


@composite(namespace="Tensor", operands=("self",))
def untyped_storage(self: Any) -> Any:
    """The memory the tensor looks at."""
    from ..storages import storage_of

    return storage_of(self)


@composite(namespace="Tensor", operands=("self",))
def storage(self: Any) -> Any:
    """The memory the tensor looks at, with its dtype."""
    from ..storages import TypedStorage, storage_of

    return TypedStorage(wrap_storage=storage_of(self), dtype=self.dtype)


@composite(namespace="Tensor", operands=("self",))
def is_floating_point(self: Any) -> Any:
    """Whether the dtype is a real floating-point type."""
    return self.dtype.is_floating_point


@composite(namespace="Tensor", operands=("self",))
def is_complex(self: Any) -> Any:
    """Whether the dtype is complex."""
    return self.dtype.is_complex


@composite(namespace="Tensor", operands=("self",))
def is_signed(self: Any) -> Any:
    """Whether the dtype holds negative numbers."""
    return self.dtype.is_signed


@composite(method=True, operands=("input",))
def is_conj(input: Any) -> Any:
    """Whether the conjugate bit is set: never, conjugation is computed here."""
    return False


@composite(method=True, operands=("input",))
def is_neg(input: Any) -> Any:
    """Whether the negative bit is set: never, negation is computed here."""
    return False


@composite(method=True, operands=("input",))
def resolve_conj(input: Any) -> Any:
    """The tensor itself: there is no lazy conjugation here."""
    return input


@composite(method=True, operands=("input",))
def resolve_neg(input: Any) -> Any:
    """The tensor itself: there is no lazy negation here."""
    return input


@composite(namespace="Tensor", operands=("self",))
def is_inference(self: Any) -> Any:
    """Whether the tensor was made in inference mode."""
    return self._inference


@composite(namespace="Tensor", operands=("self", "tensor"))
def is_set_to(self: Any, tensor: Any) -> Any:
    """Whether both look at the same memory in the same way."""
    a, b = alias_of(self), alias_of(tensor)
    return a.storage is b.storage and a.offset == b.offset and self.shape == tensor.shape and self.stride() == tensor.stride()


@composite(namespace="Tensor", operands=("self", "other"))
def is_same_size(self: Any, other: Any) -> Any:
    """Whether both have one shape."""
    return tuple(self.shape) == tuple(other.shape)


@composite(namespace="Tensor", operands=("self",))
def get_device(self: Any) -> Any:
    """The index of the accelerator, or -1 on the CPU."""
    d = self.device
    if d.type in ("cpu", META):
        return -1
    return d.index or 0


@composite(namespace="Tensor", operands=("self",))
def dim_order(self: Any, *, ambiguity_check: bool = False) -> Any:
    """The dimensions from the outermost in memory to the innermost."""
    strides = self.stride()
    return tuple(sorted(range(len(strides)), key=lambda i: (-strides[i], i)))


@composite(namespace="Tensor", operands=("self",))
def is_pinned(self: Any, device: Any = None) -> Any:
    """False: JAX manages host memory itself."""
    return False


@composite(namespace="Tensor", operands=("self",))
def pin_memory(self: Any, device: Any = None) -> Any:
    """The tensor itself: JAX manages host memory itself."""
    return self


@composite(namespace="Tensor", operands=("self",), native=False)
def is_shared(self: Any) -> Any:
    """Whether other processes can see the memory: they cannot."""
    return False


@composite(namespace="Tensor", operands=("self",), native=False)
def share_memory_(self: Any) -> Any:
    """Not offered: JAX arrays cannot lie in memory that processes share."""
    raise not_offered("Tensor.share_memory_", "JAX arrays cannot lie in memory that processes share")


@composite(namespace="Tensor", operands=("self",))
def record_stream(self: Any, stream: Any) -> Any:
    """Nothing to do: XLA keeps memory alive as long as it is used."""


@composite(namespace="Tensor", operands=("self",))
def is_coalesced(self: Any) -> Any:
    """Only sparse tensors can tell."""
    raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got Strided")


@composite(namespace="Tensor", operands=("self",))
def resize_(self: Any, *sizes: Any, memory_format: Any = None) -> Any:
    """Gives the tensor another size; new elements are zero, old ones stay in memory order.

    Raises:
        RuntimeError: for tensors that require grad, and for views of other tensors' memory that would have to grow.
    """
    size = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else tuple(int(s) for s in sizes)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if tuple(self.shape) == size:
        return self
    numel = int(np.prod(size, dtype=np.int64))
    old = self.numel()
    if self._al is not None and numel <= old and self.is_contiguous():
        made = self.flatten()[:numel].view(size)
    else:
        flat = self.detach().reshape(-1)
        if numel > old:
            flat = _grown(flat, numel)
        made = flat[:numel].view(size)
    version = self._version
    self._v, self._al, self._strides = made._v, made._al, made._strides
    if self._al is not None:
        self._al.base = None
    self._ver = version + 1
    return self


def _grown(flat: Tensor, numel: int) -> Tensor:
    from ..binding import BOUND

    return BOUND["cat"].core([flat, flat.new_zeros(numel - flat.numel())])  # type: ignore[attr-defined]


@composite(namespace="Tensor", operands=("self", "tensor"))
def resize_as_(self: Any, tensor: Any, *, memory_format: Any = None) -> Any:
    """``resize_`` to the size of another tensor."""
    return resize_(self, tuple(tensor.shape))


@composite(namespace="Tensor", operands=("self", "source"))
def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Makes the tensor look at another tensor's memory, or at none."""
    if source is None:
        made = detached(self)[:0] if self.dim() else detached(self).reshape(1)[:0]  # type: ignore[index]
    elif isinstance(source, Tensor):
        made = detached(source) if size is None else source.as_strided(size, stride, storage_offset).detach()  # type: ignore[attr-defined]
    else:
        raise not_offered("Tensor.set_(storage)", "only a tensor can be the source")
    if made._aval.torch_dtype is not self._aval.torch_dtype:
        raise RuntimeError(f"Could not set tensor of type {made.dtype} to a tensor of type {self.dtype}")
    self._v, self._al, self._strides = None, alias_of(made), made._strides
    return self


@composite(namespace="Tensor", operands=("self",))
def apply_(self: Any, callable: Any) -> Any:
    """Replaces each element by what a Python function gives for it; slow, on the host."""
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    array = np.array(self.detach().cpu().numpy())
    found = np.array([callable(x) for x in array.reshape(-1).tolist()], array.dtype).reshape(array.shape)
    from ..core import from_host

    return self.copy_(from_host(found))


@composite(namespace="Tensor", operands=("self", "tensor"))
def map_(self: Any, tensor: Any, callable: Any) -> Any:
    """Replaces each element by what a Python function gives for it and its counterpart; slow, on the host."""
    if self.requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    a, b = np.array(self.detach().numpy()), np.broadcast_to(np.array(tensor.detach().numpy()), tuple(self.shape))
    found = np.array([callable(x, y) for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)], a.dtype).reshape(
        a.shape
    )
    from ..core import from_host

    return self.copy_(from_host(found))
