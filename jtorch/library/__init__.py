"""Operators of one's own: ``custom_op``, ``Library`` and what can be registered for an operator.

An operator is called as ``torch.ops.<namespace>.<name>``. Its kernel is a function of tensors, or
one of JAX arrays (``jax_op``, ``register_kernel("jax")``), which then is fused, differentiated and
vectorised like any function of this package.
"""

from __future__ import annotations

from .checking import OpCheckError as OpCheckError
from .checking import opcheck as opcheck
from .custom import CustomOpDef as CustomOpDef
from .custom import custom_op as custom_op
from .custom import jax_op as jax_op
from .custom import triton_op as triton_op
from .custom import wrap_triton as wrap_triton
from .definitions import Library as Library
from .definitions import _scoped_library as _scoped_library
from .definitions import define as define
from .definitions import fallthrough_kernel as fallthrough_kernel
from .definitions import get_kernel as get_kernel
from .definitions import impl as impl
from .definitions import impl_abstract as impl_abstract
from .definitions import register_autocast as register_autocast
from .definitions import register_autograd as register_autograd
from .definitions import register_fake as register_fake
from .definitions import register_kernel as register_kernel
from .definitions import register_torch_dispatch as register_torch_dispatch
from .definitions import register_vmap as register_vmap
from .fake_context import get_ctx as get_ctx
from .registry import lookup as lookup
from .schemas import infer_schema as infer_schema

__all__ = [
    "Library", "impl", "define", "fallthrough_kernel", "impl_abstract", "register_autocast",
    "register_fake", "register_torch_dispatch", "register_vmap", "get_ctx", "get_kernel",
    "custom_op", "triton_op", "wrap_triton", "infer_schema",
]  # fmt: skip
