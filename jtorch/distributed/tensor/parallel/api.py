"""``parallelize_module``: styles for the parts of a module, by their names."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from jtorch import nn

from ...device_mesh import DeviceMesh, current_mesh
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> nn.Module:
    """Makes a module, or parts of it, parallel along a mesh of one dimension.

    Args:
        parallelize_plan: a style, or a dict of names of parts, in which ``*`` stands for anything
            between dots, and their styles.
        src_data_rank: the process whose parameters count; None for each process's own.

    Raises:
        TypeError: for another plan.

    Warns:
        UserWarning: if there is no plan, or a name fits no part.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so "
            "this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        token, _, rest = path.partition(".")
        if not path:
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        parts = [part for name, part in module.named_children() if fnmatch(name, token)]
        if not parts:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token "
                f"'{token}' in module {module}, skipping this plan entry.",
                stacklevel=2,
            )
        for part in parts:
            parallelize_module(
                part, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank
            )
    return module
