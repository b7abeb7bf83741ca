"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from jtorch import Tensor

from ..modules.module import Module
from ..parallel import DataParallel

__all__ = ["functional_call"]

_MISSING: Any = object()


def _untie(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """``given`` with a value for every name of a tensor that one of its names stands for.

    Raises:
        ValueError: if names of one tensor are given different values.
    """
    names_of: dict[Tensor, set[str]] = {}
    for name, tensor in (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ):
        names_of.setdefault(tensor, set()).add(name)
    found = dict(given)
    for names in names_of.values():
        with_value = names & given.keys()
        if len(names) == 1 or not with_value:
            continue
        values = {id(given[name]): given[name] for name in with_value}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        found.update(dict.fromkeys(names, next(iter(values.values()))))
    return found


def _swap(module: Module, path: str, value: Tensor, for_tensor: bool = False) -> Any:
    """Puts ``value`` (``_MISSING``: nothing) at ``path`` and returns what was there.

    Raises:
        KeyError: if ``path`` ends without a name.
        TypeError: with ``for_tensor``, if what is there is anything but a tensor.
    """
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    for table in (owner._parameters, owner._buffers):
        if name in table:
            before = table[name]
            if value is _MISSING:
                del table[name]
            else:
                table[name] = value
            return before
    before = getattr(owner, name, _MISSING)
    if (
        for_tensor
        and before is not _MISSING
        and before is not None
        and not isinstance(before, Tensor)
    ):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if value is not _MISSING:
        setattr(owner, name, value)
    elif before is not _MISSING:
        delattr(owner, name)
    return before


def _check_keys(module: Module, given: dict[str, Tensor]) -> None:
    own = {
        name
        for name, _ in (
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        )
    }
    messages = []
    for what, keys in (
        ("Unexpected", [k for k in given if k not in own]),
        ("Missing", sorted(own - given.keys())),
    ):
        if keys:
            messages.append(f"{what} key(s): {', '.join(map(repr, keys))}.")
    if messages:
        details = "\n\t".join(messages)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{details}")


@contextlib.contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Inside the block, ``module`` has the given tensors; what it has at the end (new buffers) is
    written into the dictionary."""
    given = _untie(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_keys(module, given)
    originals = {}
    try:
        for path, value in given.items():
            originals[path] = _swap(module, path, value, for_tensor=True)
        yield
    finally:
        back = reversed(originals.items()) if stack_weights else originals.items()
        news = {path: _swap(module, path, value) for path, value in back}
        parameters_and_buffers.update({k: news[k] for k in parameters_and_buffers if k in news})


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The deprecated place of ``torch.func.functional_call``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: tuple[Tensor, ...] | Tensor | None = None,
    kwargs: dict[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> object:
    """Calls ``module`` with the given tensors in place of its own; ``args`` is a tuple or the only
    argument.

    Raises:
        RuntimeError: for scripted and traced modules, and ``DataParallel``.
        KeyError: for a name that is empty.
        TypeError: for a value that is no tensor, and for a name that the module has for something
            else.
    """
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    jit = sys.modules.get("jtorch.jit")  # without it there are no such modules
    if jit is not None and isinstance(module, jit.ScriptModule):
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    for value in parameters_and_buffers.values():
        if not isinstance(value, Tensor) and value is not None:
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(
        module, parameters_and_buffers, tie_weights=tie_weights, strict=strict
    ):
        return module(*args, **(kwargs or {}))
