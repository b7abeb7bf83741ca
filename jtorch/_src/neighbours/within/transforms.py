"""``torch._functorch``: where PyTorch defines the transformations of ``torch.func``, with what it
does not show there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jtorch as torch
from jtorch.func import functional_call as functional_call
from jtorch.func import functionalize as functionalize
from jtorch.func import grad as grad
from jtorch.func import grad_and_value as grad_and_value
from jtorch.func import hessian as hessian
from jtorch.func import jacfwd as jacfwd
from jtorch.func import jacrev as jacrev
from jtorch.func import jvp as jvp
from jtorch.func import linearize as linearize
from jtorch.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from jtorch.func import stack_module_state as stack_module_state
from jtorch.func import vjp as vjp
from jtorch.func import vmap as vmap

__all__ = [
    "batch_norm_without_running_stats", "chunk_vmap", "construct_stacked_leaf", "functional_call",
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def chunk_vmap(
    func: Callable[..., object],
    in_dims: Any = 0,
    out_dims: object = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> object:
    """``vmap`` that goes through the examples in ``chunks`` parts, one after the other.

    Raises:
        ValueError: if there is not at least one part.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._functorch.apis import chunk_vmap
        >>> chunk_vmap(torch.sum, chunks=3)(torch.ones(5, 2))
        tensor([2., 2., 2., 2., 2.])
    """
    if chunks < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunks})")
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)

    def wrapped(*args: object, **kwargs: object) -> Any:
        flat, spec = torch.utils._pytree.tree_flatten(args)
        dims = torch.utils._pytree._broadcast_to_and_flatten(
            in_dims if isinstance(in_dims, int) else tuple(in_dims), spec
        )
        if dims is None:
            raise ValueError(
                f"vmap({getattr(func, '__name__', func)}, in_dims={in_dims}, ...): in_dims does "
                "not fit the inputs"
            )
        size = next((x.shape[d] for x, d in zip(flat, dims, strict=True) if d is not None), 0)
        inner = vmap(
            func,
            in_dims=in_dims,
            out_dims=out_dims,
            randomness=randomness,
            chunk_size=-(-size // chunks) or None,
        )
        return inner(*args, **kwargs)

    return wrapped


def construct_stacked_leaf(tensors: Sequence[torch.Tensor], name: str) -> torch.Tensor:
    """The tensors of several models under one name, stacked as a leaf.

    Raises:
        RuntimeError: if some require gradients and others do not.
    """
    wanted = [t.requires_grad for t in tensors]
    if any(wanted) and not all(wanted):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    stacked = torch.stack(list(tensors))
    return stacked.detach().requires_grad_() if all(wanted) else stacked


def batch_norm_without_running_stats(module: torch.nn.Module) -> None:
    """Takes the running statistics off a layer that normalises batches, so that it may be
    vectorised; other layers stay as they are."""
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.track_running_stats:
        module.running_mean = module.running_var = module.num_batches_tracked = None
        module.track_running_stats = False
