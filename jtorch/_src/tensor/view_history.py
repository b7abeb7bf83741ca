"""The histories of views: what becomes of them when the memory is changed in place, and where torch
refuses that. Floor 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...autograd.grad_mode import MODE
from ...autograd.names import plain_name
from ...autograd.tape import tracked
from ..facts.errors import not_offered
from ..facts.layouts import contiguous_strides, is_dense
from .cells import Alias, Step, bits_of, rejoin
from .view_steps import memory_steps, same_step

if TYPE_CHECKING:
    from ...core import Tensor

AMBIGUOUS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
UNMIXED = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the inference_mode block (if "
    "you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked)."
)
CUSTOM = (
    " This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)
MULTI = (
    " This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)


def check_origin(t: Tensor, al: Alias) -> None:
    """Raises torch's error for views whose history cannot follow a change of their base."""
    if al.base is None or not (al.base._rg or t._node) or al.gen == al.counter.n:
        return
    if al.origin == "inference":
        raise RuntimeError(
            (
                "A view was created in inference mode and its base or another view of its base has "
                "been modified inplace in normal mode."
            )
            + UNMIXED
        )
    if t._node is None:
        which = (
            "A view was created in no_grad mode and its base or another view of its base has been "
            "modified inplace with grad mode enabled."
        )
    else:
        name = plain_name(t._node.name())
        of = "of a view which was created in no_grad mode " if al.origin == "no_grad" else ""
        mode = " with grad mode enabled" if of else ""
        which = (
            f"Output {t._nr} of {name} is a view {of}and its base or another view of its base has "
            f"been modified inplace{mode}."
        )
    raise RuntimeError(which + {"no_grad": AMBIGUOUS, "function": CUSTOM}.get(al.origin, MULTI))  # type: ignore[arg-type]


def base_steps(al: Alias) -> Sequence[Step]:
    """The steps from the view's base to the view.

    Raises:
        NotImplementedError: where the base was itself reshaped in place after the view was made,
            and does not cover the storage.
    """
    base = al.base
    for each in (base._al, al):
        rejoin(each)
    chain = base._al.chain
    if al.chain[: len(chain)] == chain:
        return al.chain[len(chain) :]
    strides = base._strides or contiguous_strides(base._aval.shape)
    if base._aval.size != al.storage.aval.size or not is_dense(base._aval.shape, strides):
        raise not_offered(
            "autograd through a view whose base was reshaped in place",
            "the base no longer covers the view's memory",
        )
    bits = tuple([mine != its for mine, its in zip(bits_of(al.chain), bits_of(chain), strict=True)])
    shown = al.strides or contiguous_strides(al.aval.shape)
    return memory_steps(base._aval, strides, al.aval.shape, shown, al.offset, al.aval.dtype, bits)  # type: ignore[arg-type]


def refresh_history(t: Tensor, al: Alias) -> None:
    """Makes a view's history anew from its base's after the memory was changed in place, as torch
    does."""
    base = al.base
    al.gen = al.counter.n
    version = al.storage.version
    pair = (base._read(), base._edge())
    enabled, MODE.enabled = MODE.enabled, True
    try:
        # A view that its base has come to be like is still a view, with a node of its own.
        steps = base_steps(al) or [same_step(al.aval.ndim)]
        for step in steps:
            pair = tracked(step.get, [pair], step.numbers)[0]
    finally:
        MODE.enabled = enabled
    if base._al.storage is al.storage:  # else the base was given other data: the view keeps its own
        al.now(pair[0], version)
    edge = pair[1]
    if type(edge) is tuple and steps and all(step.geometric for step in steps):
        edge[0].label = "AsStridedBackward0"  # torch takes such a view by its strides
    if edge is None:
        t._node, t._nr = None, 0
        t._rg = False
    else:
        t._node, t._nr = edge
        t._rg = True
