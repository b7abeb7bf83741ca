"""Types that annotations of scripted functions name: Python's own, as these run as Python."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

from .._src.refusals import stand_ins as _refusals
from ..futures import Future as Future

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Future",
    "List",
    "Optional",
    "Tuple",
    "Union",
]


class BroadcastingListCls:
    """The annotation of a list that one number may stand for."""

    def __getitem__(self, types: object) -> None:
        return


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingListCls()

__getattr__ = _refusals.missing(__name__)
