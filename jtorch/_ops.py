"""The classes behind ``torch.ops``: operators by name and signature."""

from __future__ import annotations

from . import _refusals
from .aten import lowering as _lowering  # noqa: F401  (calls of operators need it)
from .aten.overloads import OpOverload as OpOverload
from .aten.overloads import OpOverloadPacket as OpOverloadPacket
from .aten.overloads import _OpNamespace as _OpNamespace
from .aten.overloads import namespace_of as _namespace_of


def namespace(name: str) -> _OpNamespace:
    """``torch.ops.<name>``; a namespace without operators if nobody has defined any."""
    return _namespace_of(name)


__getattr__ = _refusals.missing(__name__)
