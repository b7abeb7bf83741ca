"""The context in which factories make tensors on a device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._src.facts.devices import FACTORIES, device
from .._src.facts.devices import DeviceContext as DeviceContext

if TYPE_CHECKING:
    from .._src.facts.kinds import Decorator, Function


def _device_constructors() -> set[object]:
    """The functions that a device context gives its device."""
    return set(FACTORIES)


def device_decorator(device: Function, func: Callable[..., object]) -> Callable[..., object]:
    """``func`` with a device as the default; ``device`` may be a function that gives such a
    context."""

    @functools.wraps(func)
    def decorated(*args: object, **kwargs: object) -> object:
        with device():
            return func(*args, **kwargs)

    return decorated


def set_device(device: device | int | str) -> Decorator:
    """A decorator that runs a function with a device as the default.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.utils._device import set_device
        >>> set_device("meta")(lambda: torch.ones(2))().device
        device(type='meta')
    """
    return lambda func: device_decorator(lambda: DeviceContext(device), func)
