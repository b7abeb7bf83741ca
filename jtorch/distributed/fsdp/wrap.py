"""Policies that say which submodules a wrapper goes around."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jtorch import nn

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Named


__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap",
    "lambda_auto_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy",
    "wrap",
]  # fmt: skip


def always_wrap_policy(*args: object, **kwargs: object) -> bool:
    """Every module."""
    return True


class _Policy:
    """Base of policies that are objects."""


class ModuleWrapPolicy(_Policy):
    """Modules of some classes."""

    def __init__(self, module_classes: Iterable[type[nn.Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: nn.Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether to go into a module (always), or to wrap it."""
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({self._module_classes})"


class CustomPolicy(_Policy):
    """Modules for which a function says so; it may give the wrapper's arguments too."""

    def __init__(self, lambda_fn: Callable[[nn.Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn


def lambda_auto_wrap_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[nn.Module], bool]
) -> bool:
    """Modules for which a function says so."""
    del nonwrapped_numel
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[nn.Module]],
) -> bool:
    """Modules of some classes, the layers of a transformer."""
    del nonwrapped_numel
    return recurse or isinstance(module, tuple(transformer_layer_cls))


_module_wrap_policy = transformer_auto_wrap_policy


def _wrap_module_cls_individually(
    module: nn.Module,
    module_classes: Iterable[type],
    recurse: bool,
    *args: object,
    **kwargs: object,
) -> bool:
    """Modules of some classes."""
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]
) -> bool:
    """Modules that one of several policies names."""
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


def size_based_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[nn.Module]] | None = None,
    exclude_wrap_modules: set[type[nn.Module]] | None = None,
) -> bool:
    """Modules with at least ``min_num_params`` parameters that are not wrapped yet."""
    leaves = (
        size_based_auto_wrap_policy.FORCE_LEAF_MODULES  # type: ignore[attr-defined]
        if force_leaf_modules is None
        else force_leaf_modules
    )
    excluded = (
        size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES  # type: ignore[attr-defined]
        if exclude_wrap_modules is None
        else exclude_wrap_modules
    )
    return nonwrapped_numel >= min_num_params and not isinstance(
        module, tuple(leaves if recurse else excluded)
    )


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {nn.ModuleList, nn.ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {nn.MultiheadAttention}  # type: ignore[attr-defined]

#: The wrapper and its arguments in the blocks of ``enable_wrap``.
_enabled: list[tuple[Function, Named]] = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A block in which ``wrap`` puts ``wrapper_cls`` around modules."""
    if _enabled:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested "
            "autowrap."
        )
    _enabled.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _enabled.pop()


def wrap(module: nn.Module, **wrap_overrides: Any) -> nn.Module:
    """The module in the wrapper of the enclosing ``enable_wrap``; the module itself outside of
    one."""
    if not _enabled:
        return module
    wrapper, given = _enabled[-1]
    return wrapper(module, **{**given, **wrap_overrides, **getattr(module, "_wrap_overrides", {})})


def _wrap(module: nn.Module, wrapper_cls: Function, **kwargs: Any) -> nn.Module:
    """The module in its wrapper; what the module wants to have otherwise goes first."""
    return wrapper_cls(module, **{**kwargs, **getattr(module, "_wrap_overrides", {})})


def _recursive_wrap(
    module: nn.Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Any,
    ignored_modules: set[nn.Module],
    ignored_params: set[nn.Parameter],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[nn.Module, int]:
    """Wraps the submodules that a policy names, and the module itself if it is named and not
    ``only_wrap_children``.

    Gives the module, or its wrapper, and how many elements the parameters in wrappers have.

    Raises:
        AssertionError: if a submodule has such a wrapper already.
    """
    for _, child in module.named_modules():
        if (
            child not in ignored_modules
            and isinstance(wrapper_cls, type)
            and isinstance(child, wrapper_cls)
        ):
            raise AssertionError(f"Child {child} is already wrapped by {wrapper_cls}")
    whole = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=whole):
        return module, 0
    inside = 0
    for name, child in module.named_children():
        if child not in ignored_modules:
            made, count = _recursive_wrap(
                child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
            )
            setattr(module, name, made)
            inside += count
    if not only_wrap_children and auto_wrap_policy(
        module=module, recurse=False, nonwrapped_numel=whole - inside
    ):
        return _wrap(module, wrapper_cls, **kwargs), whole
    return module, inside
