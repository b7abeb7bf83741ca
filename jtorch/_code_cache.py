"""Keeps the code objects of generated functions between processes, as Python keeps those of modules. Floor 0.

The public functions are generated from their declarations when the package is imported; compiling their sources would take most of that
time. The file lies beside the compiled XLA programs (see ``caching``) and is as trusted as Python's own ``.pyc`` files. It holds what the
last import used, so it does not grow.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import tempfile
from pathlib import Path
from types import CodeType

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
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "jtorch" / "xla"


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
    try:
        data = path.read_bytes()
    except OSError:
        return
    head = len(_HEADER)
    payload = data[head + 16 :]
    # A file that was cut short or damaged is made again.
    if data[:head] == _HEADER and data[head : head + 16] == hashlib.blake2b(payload, digest_size=16).digest():
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
    payload = marshal.dumps(_used)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(_HEADER + hashlib.blake2b(payload, digest_size=16).digest() + payload)
        os.replace(name, path)
    except OSError:
        pass
