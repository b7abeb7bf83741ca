"""Programs kept between processes: machine code and result shapes, found by what a program is made
of instead of by tracing it. Floor 1.

JAX's persistent cache has to be asked with the lowered program, and tracing and lowering one takes
10 to 30 ms of Python, several times what loading its machine code takes. Here a program is named by
its ops, their static arguments and the shapes of their operands, together with everything else that
decides what code comes out: this package's sources, the versions of what compiles, the processor,
settings.

Only where all data lie on one CPU device. Machine code can do anything, so files count only where
nobody but the user can have written them (``_kept_files``); one that is damaged, or was made by
other versions, is made again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib
import io
import itertools
import marshal
import math
import os
import pickle
import platform
import re
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jaxlib.version
import numpy as np

from ..facts import dtypes
from ..keeping import files as _kept_files
from ..keeping import folders as _cache_folders
from . import ahead, heap
from .values import Aval

if TYPE_CHECKING:
    from ..facts.kinds import Function
    from .guarded import Guarded
    from .trie import State


try:  # what JAX itself takes into account when it decides whether a function has to be traced again
    from jax._src.config import trace_context as _trace_context
except ImportError:  # nothing is kept then
    _trace_context: Any = None

_HEADER = b"jtorch program 2\n"
#: How everything is compiled. By itself XLA leaves out a rounding to bfloat16 where the next op
#: casts back: numbers would depend on what an op is compiled together with.
OPTIONS = {"xla_allow_excess_precision": False}
#: Entries and bytes of the table of facts, above which those not used for longest are removed.
MAX_ENTRIES, MAX_TABLE = 40_000, 24 << 20


class Unnamed(Exception):
    """Something has no text that means the same in every process."""


_NAMED = (int, bool, str, bytes, type(None))


def _text(x: Any) -> str:
    """What ``x`` is, the same in every process, and different for what differs in value or type.

    Raises:
        Unnamed: if nothing is known that does.
    """
    kind = type(x)
    if kind in _NAMED:
        return repr(x)
    if kind is float:
        return x.hex()
    if kind is complex:
        return f"({x.real.hex()},{x.imag.hex()})"
    if kind is Aval:
        return _text_of_aval(x)
    if isinstance(x, (tuple, list)):
        return f"{kind.__name__}({','.join(map(_text, x))})"
    if kind is slice:
        return f"slice{_text((x.start, x.stop, x.step))}"
    if x is ...:
        return "..."
    if isinstance(x, np.dtype):
        return f"np.{x!r}"
    found = repr(x)
    # dtypes, memory formats, layouts
    if kind.__module__.partition(".")[0] in ("jtorch", "torch") and found.startswith("torch."):
        return found
    raise Unnamed(found)


@functools.cache
def _text_of_aval(aval: Aval) -> str:
    return f"{aval.dtype.name}{list(aval.shape)}{'m' if aval.device == 'meta' else ''}"


def identity(*parts: object) -> str | None:
    """A name for what is made of ``parts``, the same in every process; None if one of them is None
    or has none."""
    if any(p is None for p in parts):
        return None
    try:
        text = "\0".join([_text(p) for p in parts])
    except Unnamed:
        return None
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def identity_of_steps(steps: Sequence[State], *parts: object) -> str | None:
    """The name of recorded steps and what else belongs to them; None if one of their calls has
    none."""
    found: list[Any] = []
    for s in steps:
        name = s.call.identity
        if name is None:
            return None
        found += (name, s.ids, s.avals)
    return identity(found, *parts)


# -------------------------------------------------------------------------------- what else decides

#: What kernels and the programs made of them can depend on: by the order of the floors nothing
#: above.
_DECIDING = (
    "",
    "autograd",
    "compiler",
    "func",
    "_src/facts",
    "_src/engine",
    "_src/engine/host",
    "_src/ops",
    "_src/tensor",
    "_src/bind",
)


def _sources(package: str = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))) -> str:
    """The names, sizes and times of the files that decide what a program is."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in _DECIDING:
        with os.scandir(os.path.join(package, folder)) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.name.endswith(".py"):
                    stat = entry.stat()
                    digest.update(f"{entry.path}{stat.st_size},{stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def _processor() -> str:
    """What decides which instructions may be used, and for how many threads code is made."""
    described = ""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        described = file.read(8192)
    lines = [
        line
        for line in described.splitlines()
        if line.startswith(("model name", "flags", "Features", "CPU part"))
    ]
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}{platform.processor()}{sorted(set(lines))}{threads}"


class _Place(NamedTuple):
    """Where things are kept: machine code by what was compiled and the ``compiler``, facts also by
    this package's ``sources``."""

    store: _kept_files.Store
    compiler: str
    sources: str


@functools.cache
def _place() -> _Place | None:
    """None where nothing is kept."""
    store = _cache_folders.store("programs", _HEADER)
    if (
        store is None
        or _trace_context is None
        or jax.default_backend() != "cpu"
        or jax.device_count() != 1
    ):
        return None
    if not _kept_files.make_folder(store.folder):
        return None
    named = ("XLA_FLAGS", "NPROC", "OMP_NUM_THREADS")
    settings = sorted(
        (k, v) for k, v in os.environ.items() if k in named or k.startswith(("JTORCH_", "JAX_"))
    )
    settings = [(k, v) for k, v in settings if "CACHE" not in k and "AHEAD" not in k]
    parts = (
        sys.version,
        jax.__version__,
        jaxlib.version.__version__,
        np.__version__,
        _processor(),
        settings,
    )
    compiler = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    sources = hashlib.blake2b(f"{compiler}{_sources()}".encode(), digest_size=16).hexdigest()
    jax.monitoring.register_event_listener(_heard)
    return _Place(store, compiler, sources)


_contexts: dict[object, str | None] = {}
#: Settings under which JAX runs programs by its Python code.
WATCHING = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_check_tracer_leaks")


def _context() -> str | None:
    """A text for all settings that programs depend on, as they are now; None where nothing is
    kept."""
    place = _place()
    if place is None:
        return None
    settings = _trace_context()
    key = (settings, dtypes.get_default_dtype())
    try:
        return _contexts[key]
    except KeyError:
        pass
    except TypeError:  # unhashable
        return None
    text = None
    if not any(getattr(jax.config, name, False) for name in WATCHING):
        text = f"{place.sources}{[t for s in settings if ' at 0x' not in (t := repr(s))]}{key[1]}"
        text = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()  # it is part of every key
    _contexts[key] = text
    return text


def key_of(*parts: object) -> str | None:
    """The key under which something is kept, or None if it cannot be kept here and now, or a part
    has no name."""
    if any(p is None for p in parts):
        return None
    context = _context()
    return None if context is None else identity(context, *parts)


# -------------------------------------------------------------------------------------------- files


class _Table:
    """What was learnt: small facts by key, in one file that is read when the first is asked for and
    written now and then, and at exit."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] | None = None
        self.used: dict[str, bytes] = {}
        self.new = 0
        self.lock = threading.Lock()

    @staticmethod
    def read() -> dict[str, bytes]:
        place = _place()
        data = None if place is None else place.store.read(f"facts-{place.sources}")
        return {} if data is None else marshal.loads(data)

    def get(self, key: str) -> Any:
        if self.known is None:
            self.known = self.read()
        data = self.known.get(key) or self.used.get(key)
        if data is None:
            return None
        self.used[key] = data
        return marshal.loads(data)

    def put(self, key: str, fact: Any) -> None:
        self.used[key] = marshal.dumps(fact)
        self.new += 1
        if self.new >= 64 and self.new >= len(self.used) // 2:
            self.save()

    def save(self) -> None:
        """Adds what is new to the file, as another process may have left it by now."""
        with self.lock:
            place = _place() if self.new else None
            if place is None:
                return
            used = dict(self.used)
            # those used now at the end
            entries = {k: v for k, v in self.read().items() if k not in used} | used
            place.store.write(f"facts-{place.sources}", marshal.dumps(_newest(entries)))
            self.new = 0


def _newest(entries: dict[str, bytes]) -> dict[str, bytes]:
    """As many of the last entries as may be kept."""
    left = MAX_TABLE
    found = []
    for item in itertools.islice(reversed(entries.items()), MAX_ENTRIES):
        left -= len(item[0]) + len(item[1])
        if left < 0:
            break
        found.append(item)
    return dict(reversed(found))


_table = _Table()


@atexit.register
def _at_exit() -> None:
    _table.save()


def remembered(key: str | None) -> Any:
    """What ``remember`` was told under a key; None if nothing."""
    return None if key is None else _table.get(key)


def remember(key: str | None, fact: tuple[object, ...] | bool | str) -> None:
    """Keeps a fact made of numbers, texts and tuples."""
    if key is not None:
        _table.put(key, fact)


def name_of_type(kind: type) -> tuple[str, str] | None:
    """Module and name under which a type is found again; None if it is not."""
    place = kind.__module__, kind.__qualname__
    return place if type_named(place) is kind else None


def type_named(place: tuple[str, str]) -> Any:
    """The reverse of ``name_of_type``; None if there is no such type."""
    package, dot, rest = place[0].partition(".")
    # which some types of this package say: PyTorch itself, where it is installed, has others
    if package == "torch":
        package = __name__.partition(".")[0]
    try:
        return getattr(importlib.import_module(package + dot + rest), place[1], None)
    except ImportError:
        return None


# ------------------------------------------------------------------------------------- machine code

#: A default that is stated: so JAX neither hands out a program that it has in memory, and which may
#: be from its own cache, nor finds one in that. Such a program could not be written once more, as
#: it lacks the names of its functions.
_APART = {"xla_embed_ir_in_executable": False, **OPTIONS}


class _Heard(threading.local):
    """How often JAX's own cache has answered all the same, in this thread."""

    hits = 0


_answers = _Heard()
#: In place of the name of a program's file: it cannot be kept.
_NOT_KEPT = ""
#: Calls of code outside the program, as the text of a lowered one shows them. Those of LAPACK are
#: all that can be made in another process.
_OUTSIDE = re.compile(r"custom_call @([\w.$]+)")
_LAPACK = "lapack-"


def _heard(event: str, **_: object) -> None:
    if event == "/jax/compilation_cache/cache_hits":
        _answers.hits += 1


def ready(
    jitted: Callable[..., object],
    key: str | None,
    args: tuple[object, ...],
    out: tuple[object, ...] | Guarded | int,
) -> Function:
    """The compiled program of ``jitted`` for ``args``: loaded if it was kept under ``key``, or else
    compiled, and kept.

    Args:
        out: something of the structure of what it gives.
    """
    place = _place() if key is not None else None
    if place is None:
        return jitted
    file = remembered(key)
    if file == _NOT_KEPT:
        return jitted
    trees = jax.tree.structure((args, {})), jax.tree.structure(out)
    found = None if file is None else _load(place, file, trees)
    if found is None:
        found = _made_once(jitted, key, args, place, trees, file)  # type: ignore[arg-type]
    return found


#: Held while a program is made, by its key: of threads that need the same one, the first makes it,
#: and the others load it.
_making: weakref.WeakValueDictionary[str, _Making] = weakref.WeakValueDictionary()


class _Making:
    """A lock that goes away when nobody has or awaits it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


def _made_once(
    jitted: Any,
    key: str,
    args: tuple[object, ...],
    place: _Place,
    trees: tuple[object, object],
    before: str | None,
) -> Callable[..., object]:
    """A program that is not kept under its key, or not in the file ``before``."""
    making = _making.setdefault(key, _Making())
    with making.lock:
        file = remembered(key)
        if file == _NOT_KEPT:
            return jitted
        if file != before and (found := _load(place, file, trees)) is not None:
            return found
        made = ahead.taken(key)
        if made is not None:
            found, file = made
            remember(key, file)
            return found
        lowered = jitted.lower(*args)
        file = _file(place, lowered.as_text())
        # the same program, made by other sources
        found = None if file == _NOT_KEPT else _load(place, file, trees)
        if found is None:
            found, file = _compiled(lowered, place, file) if file != _NOT_KEPT else (jitted, file)
        if found is not jitted:
            _forget(jitted)
        remember(key, file)
        return found


def _forget(jitted: object) -> None:
    """Has JAX forget what it keeps of a function that has been lowered, and will not be called: the
    jaxpr, and with it the module, which takes three times the memory of the program itself."""
    clear = getattr(jitted, "clear_cache", None)
    if clear is not None:
        clear()
        forget_pruned()


def forget_pruned() -> None:
    """Empties the one cache of JAX whose entries keep themselves alive.

    From 0.11 on, the step that drops unused inputs maps a program to itself when all inputs are
    kept: a weak key that its own value holds.
    """
    from jax._src.interpreters import pxla

    clear = getattr(getattr(pxla, "_dce_jaxpr", None), "cache_clear", None)
    if clear is not None:
        clear()


def begin(jitted: Any, key: str | None, args: tuple[object, ...]) -> None:
    """Has the program that ``ready`` will be asked for compiled by another thread, unless it is
    kept, or nothing can be kept."""
    place = _place() if key is not None and ahead.possible() else None
    if place is None or key is None or ahead.submitted(key) or remembered(key) is not None:
        return
    lowered = jitted.lower(*args)
    file = _file(place, lowered.as_text())
    if file != _NOT_KEPT and place.store.read(file) is None:
        _forget(jitted)
        ahead.submit(key, lambda: _compiled(lowered, place, file))


def _file(place: _Place, text: str) -> str:
    """The name of the file of a lowered program; ``_NOT_KEPT`` if it calls what only this process
    knows."""
    outside = set(_OUTSIDE.findall(text)) - {"Sharding", "annotate_device_placement"}
    if not all(name.startswith("lapack_") for name in outside):
        return _NOT_KEPT
    return (_LAPACK if outside else "") + hashlib.blake2b(
        f"{place.compiler}{OPTIONS}{text}".encode(), digest_size=16
    ).hexdigest()


@functools.cache
def _lapack() -> None:
    """Has JAX look up LAPACK's functions, as lowering a program that calls them does."""
    from jaxlib import lapack

    lapack._lapack.initialize()  # type: ignore[attr-defined]


#: What the file of a program may name: the classes in which JAX describes an executable. The
#: executable itself is bytes for XLA.
_DESCRIBING = frozenset(
    "UnloadedMeshExecutable DeviceList ShapedArray dtype _unpickle_named_sharding AbstractMesh P "
    "PartitionSpec AxisType ManualAxisType MemorySpace _unpickle_single_device_sharding Layout "
    "AutoLayoutSingleton AllArgsInfo DebugInfo ArgInfo".split()
)


def _described(module: str, name: str) -> bool:
    """Whether the file of a program may name something."""
    root = module.partition(".")[0]
    return (root in ("jax", "jaxlib", "numpy") and name in _DESCRIBING) or (
        module == "ml_dtypes" and "." not in name
    )


@functools.cache
def _reader() -> type:
    """What reads an executable, and no names but those of its parts."""
    from jax.experimental import serialize_executable

    class Reader(serialize_executable._JaxPjrtUnpickler):
        def find_class(self, module: str, name: str) -> Callable[..., object] | type:
            if not _described(module, name):
                raise pickle.UnpicklingError(f"{module}.{name} is no part of a program")
            found = super().find_class(module, name)
            return _only(found) if name == "AutoLayoutSingleton" else found

    return Reader


def _only(kind: type) -> type:
    """In place of the class of what JAX compares by identity: makes that which JAX has. With
    another one avals would differ from JAX's."""
    only = sys.modules[kind.__module__].AutoLayout
    return type(kind.__name__, (), {"__new__": lambda _: only})


def _load(place: _Place, file: str, trees: tuple[Any, Any]) -> Callable[..., object] | None:
    payload = place.store.read(file)
    if payload is None:
        return None
    try:
        if file.startswith(_LAPACK):
            _lapack()
        unloaded, arguments, no_kwargs = _reader()(
            io.BytesIO(payload), jax.devices()[0].client
        ).load()
        return jax.stages.Compiled(
            unloaded.load(), [], trees[0].unflatten(arguments), trees[1], no_kwargs=no_kwargs
        )
    # made by a compiler that its name does not tell from this one: it is compiled, and written,
    # anew
    except Exception:
        return None


class _OnceOnDisk:
    """While a thread is in this block, JAX does not write programs to its own persistent cache."""

    def __init__(self) -> None:
        self.inside = 0
        self.before = 0.0
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.before = jax.config.jax_persistent_cache_min_compile_time_secs
                jax.config.update("jax_persistent_cache_min_compile_time_secs", math.inf)

    def __exit__(self, *exc: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                jax.config.update("jax_persistent_cache_min_compile_time_secs", self.before)


_ONCE_ON_DISK = _OnceOnDisk()


def _compiled(lowered: Any, place: _Place, file: str) -> tuple[Function, str]:
    """The compiled program, and the file that keeps it: ``_NOT_KEPT`` if it calls back into this
    process."""
    from jax.experimental import serialize_executable

    hits = _answers.hits
    with _ONCE_ON_DISK:
        found = lowered.compile(_APART)
    heap.compiled()
    unloaded = getattr(found._executable, "_unloaded_executable", None)
    effects = ("host_callbacks", "keepalive", "ordered_effects", "unordered_effects")
    if (
        hits != _answers.hits
        or unloaded is None
        or any(getattr(unloaded, name, True) for name in effects)
    ):
        return found, _NOT_KEPT
    try:
        payload = serialize_executable.serialize(found)[0]
    except Exception:  # of a kind that cannot be written
        return found, _NOT_KEPT
    # not there if it failed, which is noticed when it is looked for
    place.store.write(file, payload)
    return found, file


def forked() -> None:
    """Frees, in a child process, the locks of threads that are not there."""
    _table.lock, _ONCE_ON_DISK.lock = threading.Lock(), threading.Lock()
    _making.clear()
    ahead.forked()
