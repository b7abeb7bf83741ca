"""Keeps the code objects of generated functions between processes, as Python keeps those of modules. Floor 0.

The public functions are generated from their declarations when the package is imported; compiling their sources would take most of that
time. The file lies beside the compiled XLA programs (``_cache_folders``), where only the user can have written it (``_kept_files``). It
holds what the last import used, so it does not grow; there is one for each Python and copy of the package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
from types import CodeType

from jtorch import _cache_folders

_HEADER = b"jtorch code 1\n"
_known: dict[bytes, bytes] = {}
_used: dict[bytes, bytes] = {}
_state = {"loaded": False, "new": False}


def _place() -> str:
    """The name of the file for this Python and this copy of the package."""
    return hashlib.blake2b(importlib.util.MAGIC_NUMBER + os.path.dirname(__file__).encode(), digest_size=8).hexdigest()


def _load() -> None:
    _state["loaded"] = True
    store = _cache_folders.store("code", _HEADER)
    payload = None if store is None else store.read(_place())  # one that was cut short or damaged is made again
    if payload is not None:
        _known.update(marshal.loads(payload))


def compiled(text: str, filename: str) -> CodeType:
    """The code object of a module's text."""
    if not _state["loaded"]:
        _load()
    key = hashlib.blake2b(f"{filename}\0{text}".encode(), digest_size=16).digest()
    stored = _known.get(key)
    if stored is not None:
        _used[key] = stored
        return marshal.loads(stored)
    code = compile(text, filename, "exec", dont_inherit=True)
    _used[key] = marshal.dumps(code)
    _state["new"] = True
    return code


def save() -> None:
    """Writes what was used, if any of it was new. The file is replaced at once; a folder that cannot be written is left alone."""
    if not _state["new"]:
        return
    _state["new"] = False
    store = _cache_folders.store("code", _HEADER)
    if store is not None:
        store.write(_place(), marshal.dumps(_used))
