"""For programs of JAX that use torch's modules and functions: ``functionalize`` makes a module a
pure function, ``with_key`` feeds it keys.

Tensors are trees with one leaf, so that they go through ``jax.jit``, ``jax.grad``, ``jax.vmap``,
``jax.lax`` and ``optax`` as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ._src.facts import dtypes
from .core import Tensor, wrap
from .nn.modules.module import Module
from .nn.utils.stateless import _reparametrize_module
from .random import with_key as with_key
from .utils import _pytree

__all__ = ["functionalize", "with_key"]

Arrays = dict[str, jax.Array]


def functionalize(module: Module) -> tuple[Callable[..., tuple[Any, Arrays]], Arrays, Arrays]:
    """A module as a pure function of its parameters and buffers: ``apply, params, buffers``.

    ``apply(params, buffers, *args, **kwargs)`` calls the module with these in place of its own and
    returns ``(output, new_buffers)``, where the buffers are what the call has made of them (the
    running statistics of a BatchNorm). The module itself stays as it is. Arrays among the arguments
    become tensors, tensors of the output arrays; containers that ``torch.utils._pytree`` knows (the
    outputs of Hugging Face models) become JAX trees. Whether the module trains is as ``train()``
    and ``eval()`` say when ``apply`` is called, or traced.

    Random functions need ``with_key`` around ``apply``. State that is neither parameter nor buffer
    is not seen.

    Raises:
        KeyError: by ``apply``, if names are missing or unknown.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import jtorch as torch
        >>> apply, params, buffers = torch.jax.functionalize(torch.nn.BatchNorm1d(2))
        >>> y, buffers = jax.jit(apply)(
        ...     params, buffers, jnp.array([[0.0, 1.0], [2.0, 1.0]], "float32")
        ... )
        >>> buffers["running_mean"]
        Array([0.1, 0.1], dtype=float32)
    """
    params: Arrays = {name: p.detach().jax() for name, p in module.named_parameters()}
    buffers: Arrays = {name: b.detach().jax() for name, b in module.named_buffers()}

    def apply(params: Any, buffers: Any, *args: Any, **kwargs: Any) -> tuple[Any, Arrays]:
        _check_names("parameters", params, parameters_known)
        _check_names("buffers", buffers, buffers_known)
        given = {name: _tensor(x) for name, x in (*params.items(), *buffers.items())}
        with _reparametrize_module(module, given, tie_weights=True):
            made = module(*_tensors(args), **_tensors(kwargs))
        return _arrays(made), {name: given[name].detach().jax() for name in buffers}

    parameters_known, buffers_known = frozenset(params), frozenset(buffers)
    return apply, params, buffers


def _check_names(what: str, given: Any, known: frozenset[str]) -> None:
    if given.keys() != known:
        missing, more = sorted(known - given.keys()), sorted(given.keys() - known)
        raise KeyError(
            f"apply(): the {what} are not those of the module: missing {missing}, unknown {more}"
        )


def _tensor(x: object) -> Any:
    return (
        wrap(x)
        if isinstance(x, jax.Array) and x.dtype in dtypes.BY_NP
        else wrap(jax.numpy.asarray(x))
        if _is_numpy(x)
        else x
    )


def _is_numpy(x: object) -> bool:
    return isinstance(x, np.ndarray) and x.dtype in dtypes.BY_NP


def _tensors(tree: object) -> Any:
    """The tree with tensors for arrays."""
    return jax.tree.map(_tensor, tree, is_leaf=lambda x: isinstance(x, Tensor))


def _arrays(tree: object) -> Any:
    """The tree with arrays for tensors, as a tree of JAX's."""
    _make_known(tree)
    return _pytree.tree_map_only(Tensor, lambda t: t.jax(), tree)


def _make_known(tree: object) -> None:
    """Registers with JAX the containers in a tree that only torch's registry knows."""
    kind = type(tree)
    node = _pytree.SUPPORTED_NODES.get(kind)
    if node is None:
        return
    children, _ = node.flatten_fn(tree)
    if jax.tree_util.all_leaves([tree]):  # for JAX it is none

        def flatten(x: object) -> tuple[Any, _Context]:
            found, context = node.flatten_fn(x)
            return found, _Context(context)

        jax.tree_util.register_pytree_node(
            kind, flatten, lambda context, leaves: node.unflatten_fn(list(leaves), context.value)
        )
    for child in children:
        _make_known(child)


class _Context:
    """What a container keeps beside its leaves, hashable whatever it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Context) and self.value == other.value

    def __hash__(self) -> int:
        return hash(repr(self.value))
