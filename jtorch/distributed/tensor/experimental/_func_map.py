"""Functions of plain tensors on the parts of distributed ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch.utils import _pytree as pytree

from .. import DTensor


def local_map(
    func: Callable[..., object] | None = None,
    out_placements: object = None,
    in_placements: object = None,
    in_grad_placements: object = None,
    device_mesh: object = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """The function that calls ``func`` on each process's parts of its DTensors, and makes DTensors
    of what it returns.

    Args:
        out_placements: the placements of the result, or a tuple with those of each, None for what
            is no tensor.
        in_placements: the placements that the inputs must have, one for each, None for what is no
            DTensor.
        in_grad_placements: the placements of their gradients.
        device_mesh: the mesh of the results; that of the first DTensor by default.
        redistribute_inputs: brings inputs to ``in_placements``, which is an error otherwise.

    Raises:
        ValueError: from the function, for an input under other placements.
        AssertionError: from the function, if the numbers of placements do not fit.
    """
    options = (out_placements, in_placements, in_grad_placements, device_mesh)
    if func is None:
        return lambda f: local_map(f, *options, redistribute_inputs=redistribute_inputs)
    return functools.partial(_mapped, func, *options, redistribute_inputs)


def _mapped(
    func: Callable[..., object],
    outs: Any,
    ins: Any,
    grads: Any,
    mesh: Any,
    redistribute: bool,
    /,
    *args: object,
    **kwargs: object,
) -> object:
    flat, structure = pytree.tree_flatten(args)
    if ins is not None and len(ins) != len(flat):
        raise AssertionError(
            f"in_placements length {len(ins)} does not match the number of input args {len(flat)}!"
        )
    found, local = False, []
    for i, x in enumerate(flat):
        wanted = None if ins is None else ins[i]
        if not isinstance(x, DTensor):
            if not isinstance(x, torch.Tensor) and wanted is not None:
                raise AssertionError(
                    f"Non-Tensor input {x} expects None placements but received {wanted}!"
                )
            local.append(x)
            continue
        found = True
        mesh = mesh or x.device_mesh
        if ins is not None:
            if wanted is None:
                raise AssertionError(f"DTensor input {x} expects placements but received {wanted}!")
            if x.placements != tuple(wanted):
                if not redistribute:
                    raise ValueError(
                        f"arg {x} in local_map has a mismatched placements: arg placements is "
                        f"{x.placements} but the input placements is {tuple(wanted)}! If "
                        "redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                    )
                x = x.redistribute(placements=tuple(wanted))
        if grads is None:
            local.append(x.to_local())
            continue
        if grads[i] is None:
            raise AssertionError(
                f"DTensor input {x} expects in grad placements but received {grads[i]}!"
            )
        local.append(x.to_local(grad_placements=tuple(grads[i])))
    out = func(*pytree.tree_unflatten(local, structure), **kwargs)
    if not found:
        return out
    flat_out, shape = pytree.tree_flatten(out)
    placements = outs if isinstance(outs, tuple) else (outs,)
    if len(placements) != len(flat_out):
        raise AssertionError(
            "local_map requires one PlacementType be provided for each output value, received "
            f"{len(placements)} out_placements but {len(flat_out)} is expected!"
        )
    made: list[Any] = []
    for x, p in zip(flat_out, placements, strict=True):
        if isinstance(x, DTensor):
            raise AssertionError(f"torch.Tensor output expected but received {type(x)}: {x}")
        if not isinstance(x, torch.Tensor):
            if p is not None:
                raise AssertionError(
                    f"Non-tensor output {x} expects None placements but received {p}!"
                )
            made.append(x)
        else:
            made.append(DTensor.from_local(x, mesh, p, run_check=False))
    return pytree.tree_unflatten(made, shape)
