"""What torch calls the nodes of its graph: ``MulBackward0``. The ops say it themselves where it is
not their name in capitals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .._src.ops._nodes import Made

if TYPE_CHECKING:
    from ..core import Tensor
    from .tape import Node


def camel(name: str) -> str:
    """``log_softmax`` as ``LogSoftmax``; a letter after a digit is a capital too: ``Log1P``."""
    words = "".join(w[:1].upper() + w[1:] for w in name.strip("_").split("_"))
    return re.sub(r"\d[a-z]", lambda m: m[0].upper(), words)


#: Views that are made in place have derivatives of their own in torch.
INPLACE_VIEWS = {
    "AsStridedBackward0": "AsStridedBackward1",
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
    "TBackward0": "TBackward1",
    "TransposeBackward0": "TransposeBackward1",
    "UnsqueezeBackward0": "UnsqueezeBackward1",
}


def name_of(node: Node) -> str:
    """The name of a node that has none of its own."""
    info = node.call.extra
    rule = info.op.node if info.name == info.op.name else None
    if rule is None:
        return f"{camel(info.name)}Backward0"
    return rule if isinstance(rule, str) else rule(Made(node))


#: Nodes that are no derivative of an operation have the namespace of their class in their name.
OF_CLASSES = {n: f"torch::autograd::{n}" for n in ("CopyBackwards", "NotImplemented")}


def named(result: object, name: str) -> Any:
    """A result whose node is called ``name``: that of a function which this package composes of
    others. Each of several, too."""
    for t in result if isinstance(result, (tuple, list)) else (result,):
        node = getattr(t, "_node", None)
        if node is not None:
            node.label = name
    return result


def written(t: Tensor, name: str) -> Tensor:
    """A tensor after an in-place change that torch calls ``name``. What was written through a view
    is the base's, under another name."""
    return named(t, name) if t._al is None or t._al.base is None else t


def plain_name(name: str) -> str:
    """A node's name as torch's messages about saved tensors and views give it: ``Mul``."""
    return re.sub(r"Backward\d*$", "", name)
