"""Keeps the code objects of generated functions between processes, as Python keeps those of modules. Floor 0.

The public functions are generated from their declarations when the package is imported; compiling their sources would take most of that
time. The file lies beside the compiled XLA programs (see ``caching``), where only the user can have written it (``_kept_files``). It holds
what the last import used, so it does not grow.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
from pathlib import Path
from types import CodeType

from jtorch import _kept_files

_HEADER = b"jtorch code 1\n"
_known: dict[bytes, bytes] = {}
_used: dict[bytes, bytes] = {}
_state = {"loaded": False, "new": False}


def folder() -> Path | None:
    """Where files that may be made again are kept: ``JTORCH_CACHE_DIR``, or a folder in the user's cache; None with ``JTORCH_CACHE=0``."""
    if os.environ.get("JTORCH_CACHE", "1") == "0":
        return None
    own = os.environ.get("JTORCH_CACHE_DIR")
    if own:
        return Path(os.path.abspath(own))
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # as XDG's rules have it
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "jtorch" / "xla" if os.path.isabs(base) else None  # without a home, none


def _path() -> Path | None:
    found = folder()
    if found is None:
        return None
    place = hashlib.blake2b(importlib.util.MAGIC_NUMBER + os.path.dirname(__file__).encode(), digest_size=8).hexdigest()
    return found.parent / f"{found.name}-code" / place


def _load() -> None:
    _state["loaded"] = True
    path = _path()
    if path is None:
        return
    payload = _kept_files.read(path, _HEADER)  # one that was cut short or damaged is made again
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
    path = _path()
    if path is None or not _state["new"]:
        return
    _state["new"] = False
    _kept_files.write(path, _HEADER, marshal.dumps(_used))
