"""``save`` and ``load`` as the package offers them: two functions that load the machinery
(``serialization``) when they are first called.

They stand in the package's namespace from the start, since programs look for them there to wrap
them.
"""

from __future__ import annotations

import pickle
from typing import Any

from .. import hooks
from ..protocol.recorded import apart

DEFAULT_PROTOCOL = 2


@apart("torch.save")
def save(
    obj: object,
    f: object,
    pickle_module: object = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object to a path or a file-like object, in PyTorch's format.

    Tensors that share a storage share it in the file, which holds whole storages. jtorch's classes
    are written under PyTorch's names.

    Args:
        obj: what is written.
        f: a path, or a file-like object that can be written to.
        pickle_module: what writes the pickle.
        pickle_protocol: the pickle protocol.
        _use_new_zipfile_serialization: False writes PyTorch's format of before 1.6.
        _disable_byteorder_record: leave out the record of the byte order.

    Raises:
        AttributeError: if ``f`` is neither a path nor writable.
        RuntimeError: if the folder does not exist.

    Differs from torch:
        A file at a path is replaced at once when the new one is complete; a failure leaves the old
        one.
    """
    hooks.serialization.get()._write(
        obj,
        f,
        pickle_module,
        pickle_protocol,
        _use_new_zipfile_serialization,
        _disable_byteorder_record,
    )


def load(
    f: object,
    map_location: object = None,
    pickle_module: object = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: object,
) -> Any:
    """Reads what ``save`` wrote, here or in PyTorch.

    Args:
        f: a path, or a file-like object that can seek.
        map_location: where storages go: a device, a dict from old to new places, or
            ``fn(storage, location)``.
        pickle_module: what reads the pickle, with ``weights_only=False``.
        weights_only: refuse everything but tensors, containers, numbers and what
            ``add_safe_globals`` allowed. The default is True.
        mmap: read storages from the file when they are first used; ``f`` must be a path.
        pickle_load_args: options of ``pickle_module.load``, with ``weights_only=False``.

    Raises:
        UnpicklingError: for what ``weights_only`` refuses.
        RuntimeError: if the file is damaged.
    """
    return hooks.serialization.get()._read(
        f, map_location, pickle_module, weights_only, mmap, pickle_load_args
    )


save.__module__ = load.__module__ = f"{__name__.partition('.')[0]}.serialization"
