"""The pieces of ``DataParallel``: only one replica is offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.facts.devices import device
from ..modules.module import Module


def refuse_several(name: str, devices: Sequence[object] | None) -> None:
    """Raises if ``devices`` are more than one."""
    if devices is not None and len(devices) > 1:
        raise NotImplementedError(
            f"{name} over {len(devices)} devices is not offered by jtorch: one process computes on "
            "all devices with a sharded batch (distribute_tensor), for which no replicas are made"
        )


# nothing is copied
def replicate(
    network: Module,
    devices: Sequence[int | device],
    detach: bool = False,  # noqa: ARG001
) -> list[Module]:
    """The network itself as its only replica."""
    refuse_several("replicate", devices)
    return [network]


# nothing is split
def scatter(inputs: object, target_gpus: Sequence[object], dim: int = 0) -> Any:  # noqa: ARG001
    """``inputs`` as the only part."""
    refuse_several("scatter", target_gpus)
    return [inputs]


# nothing is joined
def gather(outputs: Sequence[object], target_device: object, dim: int = 0) -> Any:  # noqa: ARG001
    """The only part."""
    refuse_several("gather", outputs)
    return outputs[0]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[object],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: object = None,  # noqa: ARG001 (operations follow their operands)
) -> list[Any]:
    """Calls each module with its inputs, one after the other; their computations overlap where JAX
    can."""
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs "
            f"{len(inputs)}"
        )
    kwargs = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    return [
        m(*(i if isinstance(i, (list, tuple)) else (i,)), **k)
        for m, i, k in zip(modules, inputs, kwargs, strict=True)
    ]
