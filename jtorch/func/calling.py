"""Modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jtorch

from .._src import hooks
from .._src.aten.state import STATE
from .._src.protocol.recorded import apart
from .transforms import inside


def functional_call(
    module: object,
    parameter_and_buffer_dicts: object,
    args: object = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls ``module`` with the given parameters and buffers in place of its own.

    Raises:
        ValueError: if the dictionaries are none, or two of them have a key in common.

    Example:
        >>> import jtorch as torch
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> torch.func.functional_call(
        ...     layer, {"weight": torch.tensor([[5.0]])}, torch.tensor([2.0])
        ... )
        tensor([10.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        given = {}
        repeated = []
        for d in parameter_and_buffer_dicts:
            if not isinstance(d, dict):
                raise ValueError(
                    "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
                )
            repeated += [k for k in d if k in given]
            given = {**given, **d}
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
                "ambiguous"
            )
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return hooks.functional_call(
        module, given, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of one class, each stacked along a new
    first dimension, by name.

    Raises:
        RuntimeError: if there are none, or they are of different classes, modes or
            ``requires_grad``.

    Example:
        >>> import jtorch as torch
        >>> layers = [torch.nn.Linear(2, 3) for _ in range(4)]
        >>> parameters, buffers = torch.func.stack_module_state(layers)
        >>> parameters["weight"].shape
        torch.Size([4, 3, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) != 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {k: _stacked(tuple([p[k] for p in parameters]), k) for k in parameters[0]},
        {k: _stacked(tuple([b[k] for b in buffers]), k) for k in buffers[0]},
    )


def _stacked(tensors: tuple[jtorch.Tensor, ...], name: str) -> jtorch.Tensor:
    requiring = {t.requires_grad for t in tensors}
    if len(requiring) != 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result = jtorch.stack(tensors)
    return result.detach().requires_grad_() if requiring.pop() else result


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` as it is: what it computes is the same, and JAX arrays are never changed in place
    underneath.

    ``make_fx`` of it gives a graph in which nothing is written in place, but for one ``copy_`` at
    the end into each argument that ``func`` changed. ``remove="mutations_and_views"`` has views be
    operators that give new tensors, too (``view_copy``).

    Raises:
        RuntimeError: for another ``remove``.
        NotImplementedError: while it is traced, for writes without such a form (into an
            ``as_strided`` view, ``resize_``).

    Example:
        >>> import jtorch as torch
        >>> def filled(x):
        ...     y = x.clone()
        ...     y.fill_(7)
        ...     return y
        >>> torch.func.functionalize(filled)(torch.zeros(2))
        tensor([7., 7.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the "
            "program, and replaced with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    def again(f: Callable[..., object], *args: object, **kwargs: object) -> Any:
        return functionalize(f, remove=remove)(*args, **kwargs)

    @functools.wraps(func)
    @apart("torch.func.functionalize", func, again, remove)
    def wrapped(*args: jtorch.Tensor, **kwargs: Any) -> tuple[jtorch.Tensor, ...] | jtorch.Tensor:
        with inside():
            return (
                hooks.functional_tracing(func, args, kwargs, remove)
                if STATE.modes
                else func(*args, **kwargs)
            )

    return wrapped


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Makes every batch normalisation below ``root`` use the statistics of its batch, and keep
    none. Returns ``root``.

    Example:
        >>> import jtorch as torch
        >>> layer = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
        >>> torch.func.replace_all_batch_norm_modules_(layer)[0].track_running_stats
        False
    """
    for module in root.modules():
        if isinstance(module, jtorch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
