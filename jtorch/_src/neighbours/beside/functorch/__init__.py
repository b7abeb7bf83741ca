"""``functorch``, the older place of ``torch.func``, with modules as functions of their
parameters."""

from __future__ import annotations

from jtorch._src.neighbours.beside.functorch._stateless import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from jtorch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.torch_version import __version__

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap", "__version__",
]  # fmt: skip
