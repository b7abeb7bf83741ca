"""The names of process groups where PyTorch's C++ keeps them."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals
from ..distributed.group import FileStore as FileStore
from ..distributed.group import HashStore as HashStore
from ..distributed.group import ProcessGroup as ProcessGroup
from ..distributed.group import ReduceOp as ReduceOp
from ..distributed.group import Store as Store
from ..distributed.group import TCPStore as TCPStore
from ..distributed.group import Work as Work

__getattr__ = _refusals.missing(__name__)
