"""``python -m jtorch script.py [args]``: runs a program as Python would, with ``import torch``
meaning jtorch.

Also ``-m module [args]``, ``-c code [args]``, ``-`` for a program on standard input, and the
interactive prompt without arguments. ``cache`` shows what is kept on disk between runs, and
``cache --clear`` removes it; a program of that name runs as ``./cache``. ``typings`` writes stubs
with which type checkers know ``import torch``. ``--version`` says what versions this is and
follows.
"""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from jtorch._src.start.children import hand_on
from jtorch._src.start.install import install

_USAGE = (
    "usage: python -m jtorch [-m module | -c code | script.py | -] [arguments]\n"
    "   or: python -m jtorch cache [--clear]\n"
    "   or: python -m jtorch typings [folder]"
)


def _fresh_main() -> dict[str, object]:
    """The namespace of a new ``__main__`` module, as Python has it before a program starts."""
    # The module running now must stay alive, and must not be found under the name that is the
    # program's.
    sys.modules["jtorch.__main__"] = sys.modules["__main__"]
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={}, __package__=None, __spec__=None)
    sys.modules["__main__"] = main
    return main.__dict__


def _set_first_path(directory: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = directory


def _code_of(path: str) -> CodeType:
    """The compiled script; like Python, exits with status 2 if it cannot be read."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as e:
        print(
            f"{sys.executable}: can't open file {path!r}: [Errno {e.errno}] {e.strerror}",
            file=sys.stderr,
        )
        sys.exit(2)
    if path.endswith(".pyc"):
        import marshal

        return marshal.loads(source[16:])
    return compile(source, path, "exec", dont_inherit=True)


def _run_script(path: str) -> None:
    full = os.path.abspath(path)
    if os.path.isdir(full) or (os.path.isfile(full) and _is_archive(full)):
        _set_first_path(path)
        _fresh_main()
        runpy._run_module_as_main("__main__", False)
        return
    namespace = _fresh_main()
    namespace.update(__file__=full, __cached__=None, __loader__=SourceFileLoader("__main__", full))
    _set_first_path(os.path.dirname(os.path.realpath(full)))
    exec(_code_of(full), namespace)


def _is_archive(path: str) -> bool:
    import zipfile

    return not path.endswith((".py", ".pyc")) and zipfile.is_zipfile(path)


def _run_module(name: str) -> None:
    _fresh_main()
    _set_first_path(os.getcwd())
    runpy._run_module_as_main(name)


def _run_text(text: str | bytes, filename: str) -> None:
    namespace = _fresh_main()
    _set_first_path("")
    exec(compile(text, filename, "exec", dont_inherit=True), namespace)


def _remember(text: str) -> None:
    """Lets tracebacks show the lines of ``-c``, as Python's own do from 3.13 on."""
    if sys.version_info >= (3, 13):
        import linecache

        linecache.cache["<string>"] = (len(text), None, text.splitlines(keepends=True), "<string>")


def _interact() -> None:
    import code

    namespace = _fresh_main()
    _set_first_path("")
    banner = f"Python {sys.version} on {sys.platform}\nimport torch gives jtorch."
    code.interact(banner, local=namespace, exitmsg="")


def _versions() -> str:
    import jax

    from jtorch import version

    torch_version = version.__version__.partition("+")[0]
    return (
        f"jtorch {version.jtorch} (PyTorch {torch_version}, JAX {jax.__version__}, Python "
        f"{sys.version.split()[0]})"
    )


def _run(arguments: list[str]) -> None:
    first = arguments[0] if arguments else "-"
    if first in ("-h", "--help"):
        print(_USAGE)
        print(__doc__)
    elif first in ("-V", "--version"):
        print(_versions())
    elif first.startswith(("-m", "-c")):
        value, rest = (
            (first[2:], arguments[1:])
            if len(first) > 2
            else (arguments[1] if len(arguments) > 1 else None, arguments[2:])
        )
        if value is None:
            print(f"Argument expected for the {first} option\n{_USAGE}", file=sys.stderr)
            sys.exit(2)
        sys.argv = [first[:2], *rest]
        if first[1] == "m":
            _run_module(value)
        else:
            _remember(value)
            _run_text(value, "<string>")
    elif first == "-":
        sys.argv = arguments or [""]
        if sys.stdin is not None and not sys.stdin.isatty():
            _run_text(sys.stdin.buffer.read(), "<stdin>")
        else:
            _interact()
    elif first == "cache":
        from jtorch._src.keeping.command import run

        sys.exit(run(arguments[1:]))
    elif first == "typings":
        from jtorch._src.start.typings import run

        sys.exit(run(arguments[1:]))
    elif first.startswith("-"):
        print(f"Unknown option: {first}\n{_USAGE}", file=sys.stderr)
        sys.exit(2)
    else:
        sys.argv = arguments
        _run_script(first)


def _without_runner(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on."""
    own = (__file__, runpy.__file__, "<frozen runpy>")
    while traceback is not None and traceback.tb_frame.f_code.co_filename in own:
        traceback = traceback.tb_next
    return traceback


def main() -> None:
    """Runs what ``sys.argv`` names. Exceptions leave as they are, so that Python gives them its own
    exit codes."""
    install()
    hand_on()
    try:
        _run(sys.argv[1:])
    except SystemExit:
        raise
    except BaseException:
        # Whoever reports it, Python or a hook that the program has set, sees a traceback that
        # begins with the program.
        report = sys.excepthook

        def excepthook(
            kind: type[BaseException], value: BaseException, traceback: TracebackType | None
        ) -> None:
            shown = _without_runner(traceback)
            report(kind, value.with_traceback(shown), shown)

        sys.excepthook = excepthook
        raise


if __name__ == "__main__":
    main()
