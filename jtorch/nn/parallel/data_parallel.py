"""``DataParallel`` on one device: a module that passes calls on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..._src.facts.devices import device
from ..modules.module import Module
from .replicate import refuse_several

if TYPE_CHECKING:
    pass


__all__ = ["DataParallel", "data_parallel"]


_T = TypeVar("_T", bound=Module)


class DataParallel(Module, Generic[_T]):
    """Wraps a module under the name ``module`` and calls it.

    Args:
        module: what is run.
        device_ids: the devices that take parts of the batch; all if None.
        output_device: where the results are gathered; the first device if None.
        dim: along which the batch is divided.

    Differs from torch: no batch is split. Several ``device_ids`` are refused; without them,
    everything runs on the module's device.
    """

    module: _T

    def __init__(
        self,
        module: _T,
        device_ids: Sequence[int | device] | None = None,
        output_device: int | device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        refuse_several("DataParallel", device_ids)
        self.module = module
        self.device_ids = list(device_ids) if device_ids is not None else []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Calls the wrapped module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: object,
    device_ids: Sequence[int | device] | None = None,
    output_device: int | device | None = None,  # noqa: ARG001 (there is one device)
    dim: int = 0,  # noqa: ARG001
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Calls ``module`` with ``inputs`` (a tuple of arguments or the only one) on one device."""
    refuse_several("data_parallel", device_ids)
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*args, **(module_kwargs or {}))
