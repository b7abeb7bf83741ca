"""Makes functions of generated text: their code is compiled when they are first called, and kept
between processes. Floor 0.

The public functions are generated from their declarations when the package is imported. Compiling
all of that text would take as long as the rest of the import, for 2,700 functions of which a
program calls some hundred (decision 0019). The file of code objects lies beside the compiled XLA
programs (``_cache_folders``), where only the user can have written it (``_kept_files``); there is
one for each Python and copy of the package. Code is found by the text that it was made of, so it
cannot be stale.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import linecache
import marshal
import os
from types import CodeType, FunctionType
from typing import Any

from jtorch._src.keeping import folders as _cache_folders

_HEADER = b"jtorch code 2\n"
#: Code objects in the file; those not used for longest are left out. Twice as many as there are, as
#: other versions leave theirs.
_MOST = 6000
_known: dict[bytes, bytes] = {}
_used: dict[bytes, bytes] = {}
_state = {"loaded": False, "new": False}


def _place() -> str:
    """The name of the file for this Python and this copy of the package."""
    return hashlib.blake2b(
        importlib.util.MAGIC_NUMBER + os.path.dirname(__file__).encode(), digest_size=8
    ).hexdigest()


def _load() -> None:
    _state["loaded"] = True
    store = _cache_folders.store("code", _HEADER)
    # one that was cut short or damaged is made again
    payload = None if store is None else store.read(_place())
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


def _stub(*args: object, **kwargs: object) -> object:
    make: Any = "make"
    return make()(*args, **kwargs)


#: The warnings module does not count frames of such files when it looks for the line that a warning
#: is about: the first call of a function must name the same line as the others.
_STUB_FILE = "<jtorch, a first call: importlib _bootstrap>"


def function(text: str, name: str, names: dict[str, object], filename: str) -> FunctionType:
    """The function ``name`` that ``text`` defines, with the globals ``names``; its source shows in
    tracebacks.

    It has its code, and the defaults of its parameters, from its first call on; it is the same
    object before and after.
    """

    def make() -> FunctionType:
        # Tracebacks and debuggers find the text there, as they do for the functions that
        # dataclasses make.
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        scope: dict[str, Any] = {}
        exec(compiled(text, filename), names, scope)
        whole = scope[name]
        made.__defaults__, made.__kwdefaults__ = whole.__defaults__, whole.__kwdefaults__
        made.__code__ = whole.__code__  # last: another thread may call it meanwhile
        return made

    code = _STUB_CODE.replace(
        co_name=name,
        co_qualname=name,
        co_consts=tuple([make if c == "make" else c for c in _STUB_CODE.co_consts]),
    )
    made = FunctionType(code, names, name)
    return made


_STUB_CODE = _stub.__code__.replace(co_filename=_STUB_FILE, co_firstlineno=1)


@atexit.register
def save() -> None:
    """Adds what is new to the file, as another process may have left it by now. A folder that
    cannot be written is left alone."""
    if not _state["new"]:
        return
    _state["new"] = False
    store = _cache_folders.store("code", _HEADER)
    if store is not None:
        payload = store.read(_place())
        before = {} if payload is None else marshal.loads(payload)
        # those used now at the end
        entries = {k: v for k, v in before.items() if k not in _used} | _used
        store.write(_place(), marshal.dumps(dict(list(entries.items())[-_MOST:])))
