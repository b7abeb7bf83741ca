"""Function transformations: ``vmap``, ``grad``, ``vjp``, ``jvp``, ``jacrev``, ``jacfwd``,
``hessian``, ``functional_call``.

Derivatives are taken by the tape, so that ``detach``, ``no_grad`` and custom functions mean what
they mean elsewhere; ``vmap`` turns each call on batched values into one call of the kernel under
``jax.vmap``. Everything is recorded like other code, and nests.
"""

from __future__ import annotations

from . import capturing as capturing
from .batching import vmap as vmap
from .calling import functional_call as functional_call
from .calling import functionalize as functionalize
from .calling import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from .calling import stack_module_state as stack_module_state
from .rearranging import rearrange as rearrange
from .transforms import debug_unwrap as debug_unwrap
from .transforms import grad as grad
from .transforms import grad_and_value as grad_and_value
from .transforms import hessian as hessian
from .transforms import jacfwd as jacfwd
from .transforms import jacrev as jacrev
from .transforms import jvp as jvp
from .transforms import linearize as linearize
from .transforms import vjp as vjp

__all__ = [
    "grad", "grad_and_value", "vmap", "replace_all_batch_norm_modules_", "functionalize", "hessian",
    "jacfwd", "jacrev", "jvp", "linearize", "rearrange", "vjp", "functional_call",
    "stack_module_state", "debug_unwrap",
]  # fmt: skip
