"""``torch.nn``: modules, their parameters, and what initializes and wraps them."""

from __future__ import annotations

from typing import Any

from jtorch._src.refusals import stand_ins as _refusals

from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter

from . import functional as functional  # isort: skip
from . import init as init  # isort: skip
from .modules import *  # isort: skip  # noqa: F403
from . import attention as attention  # isort: skip
from . import grad as grad  # isort: skip
from . import modules as modules  # isort: skip
from . import parallel as parallel  # isort: skip
from . import parameter as parameter  # isort: skip
from . import utils as utils  # isort: skip
from .parallel import DataParallel as DataParallel  # isort: skip


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments for factories such as ``torch.empty`` among ``kwargs``: device, dtype,
    memory_format.

    A ``factory_kwargs`` entry may hold them in a dictionary of its own.

    Raises:
        TypeError: if there are other arguments, or one is given twice.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    expected = simple | {"factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - expected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in found:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        found[key] = kwargs[key]
    return found


__getattr__ = _refusals.missing(__name__)
