"""Modules of tensor parallelism under ``DistributedDataParallel``: it sees the local parts of their
parameters."""

from __future__ import annotations

from typing import Any

from jtorch import nn

from .. import DTensor

__all__: list[str] = []


def _put(module: nn.Module, name: str, parameter: object) -> None:
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    delattr(owner, last)
    setattr(owner, last, parameter)


def _localize_dtensor(
    module: nn.Module, *_: object, ignored_params: set[nn.Parameter] | None = None
) -> None:
    """Puts the local parts, which remember how the whole lies, in place of parameters that are
    DTensors."""
    left_out = {id(p) for p in ignored_params or ()}
    for name, parameter in list(module.named_parameters()):
        if isinstance(parameter, DTensor) and id(parameter) not in left_out:
            local: Any = nn.Parameter(parameter.to_local())
            local._st_info = parameter._spec
            _put(module, name, local)


def _reconstruct_dtensor(module: nn.Module, _input: object) -> None:
    """Puts DTensors, whose gradients go to the local parts, in place of those."""
    for name, parameter in list(module.named_parameters()):
        spec = getattr(parameter, "_st_info", None)
        if spec is not None:
            whole = DTensor.from_local(
                parameter, spec.mesh, spec.placements, run_check=False, shape=spec.shape,
                stride=tuple(spec.stride)
            )  # fmt: skip
            _put(module, name, whole)


def _pre_dp_module_transform(module: nn.Module) -> None:
    """Has the parameters of a module be local parts between its calls, and DTensors during them."""
    _localize_dtensor(module)
    module.register_forward_pre_hook(_reconstruct_dtensor)
    module.register_forward_hook(_localize_dtensor)
