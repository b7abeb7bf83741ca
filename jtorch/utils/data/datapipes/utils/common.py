"""What pipes share: checks of their functions, files found and opened, and streams that close
themselves."""

from __future__ import annotations

import fnmatch
import functools
import importlib.util
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from io import IOBase
from typing import Any

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]

DILL_AVAILABLE = importlib.util.find_spec("dill") is not None


def no_length(pipe: object) -> TypeError:
    """The error of a pipe that does not know its length."""
    return TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def length_of(pipe: object, source: object) -> int:
    """The length of what a pipe wraps.

    Raises:
        TypeError: if it has none.
    """
    if isinstance(source, Sized):
        return len(source)
    raise no_length(pipe)


def lengths_of(pipe: object, sources: Iterable[Any]) -> list[int]:
    """The lengths of what a pipe wraps.

    Raises:
        TypeError: if one of them has none.
    """
    if all(isinstance(source, Sized) for source in sources):
        return [len(source) for source in sources]
    raise no_length(pipe)


def picked(data: Any, input_col: Any) -> tuple[Any, ...]:
    """The arguments that a function of some columns gets of an item."""
    if input_col is None:
        return (data,)
    if isinstance(input_col, (list, tuple)):
        return tuple(data[col] for col in input_col)
    return (data[input_col],)


def validate_input_col(
    fn: Callable[..., object], input_col: int | tuple[Any, ...] | list[Any] | None
) -> None:
    """Looks whether a function takes as many arguments as columns were named.

    Raises:
        ValueError: if it takes more or fewer, or has keyword-only parameters without a default.
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # of a builtin
        return
    wanted = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    needed = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    named = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(named, "__name__", repr(named))
    if needed:
        raise ValueError(
            f"The function {name} takes {len(needed)} non-default keyword-only parameters, which "
            "is not allowed."
        )
    if len(parameters) < wanted:
        if not any_number:
            raise ValueError(
                f"The function {name} takes {len(parameters)} parameters, but {wanted} are "
                "required."
            )
        return
    too_many = any(p.default is p.empty for p in positional[wanted:])
    too_few = len(positional) < wanted and not any_number
    if too_many or too_few:
        raise ValueError(
            f"The function {name} takes {len(positional)} positional parameters, but {wanted} are "
            "required."
        )


def _is_local(fn: object) -> bool:
    if hasattr(fn, "__code__"):
        return bool(fn.__code__.co_flags & inspect.CO_NESTED)
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    return "<locals>" in getattr(named, "__qualname__", "")


def _check_unpickable_fn(fn: object) -> None:
    """Warns of functions that pickle does not take.

    Raises:
        TypeError: if it is no function.
    """
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    if isinstance(fn, functools.partial):
        fn = fn.func
    if DILL_AVAILABLE:
        return
    kind = (
        "Local"
        if _is_local(fn)
        else "Lambda"
        if getattr(fn, "__name__", "") == "<lambda>"
        else None
    )
    if kind is not None:
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or "
            "functools.partial instead.",
            stacklevel=2,
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a file name fits one of some Unix patterns; all do if there are none."""
    if not masks:
        return True
    return any(
        fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks)
    )


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The files of a folder (or the file) whose names fit, in the order of their names unless that
    does not matter.

    Raises:
        OSError: if a folder cannot be read; a warning names it first.
    """

    def onerror(error: OSError) -> None:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    def shown(path: str) -> str:
        return os.path.abspath(path) if abspath else path

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield shown(root)
        return
    for folder, folders, files in os.walk(root, onerror=onerror):
        if not non_deterministic:
            files.sort()
            folders.sort()  # in place: os.walk goes on through this list
        for name in files:
            if match_masks(name, masks):
                yield os.path.join(shown(folder), name)
        if not recursive:
            break


def get_file_binaries_from_pathnames(
    pathnames: object, mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Opens files one after the other."""
    if not isinstance(pathnames, Iterable):
        pathnames = [pathnames]
    if mode in ("b", "t"):
        mode = "r" + mode
    for pathname in pathnames:
        if not isinstance(pathname, str):
            raise TypeError(f"Expected string type for pathname, but got {type(pathname)}")
        yield pathname, StreamWrapper(open(pathname, mode, encoding=encoding))  # noqa: SIM115


def validate_pathname_binary_tuple(data: object) -> None:
    """Refuses what is no pair of a path and a stream.

    Raises:
        TypeError: if it is none.
    """
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(
            "pathname within the tuple should have string type pathname, but it is type "
            f"{type(data[0])}"
        )
    if not isinstance(data[1], (IOBase, StreamWrapper)):
        raise TypeError(
            "binary stream within the tuple should have IOBase orits subclasses as type, but it is "
            f"type {type(data[1])}"
        )


class StreamWrapper:
    """A stream that is closed when nobody holds it any more, or when the last stream that was made
    of it is."""

    session_streams: dict[Any, int] = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.child_counter = 0
        self.parent_stream = parent_stream
        self.close_on_last_child = False
        self.name = name
        self.closed = False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(
                    f"Parent stream should be StreamWrapper, {type(parent_stream)} was given"
                )
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Closes the streams in dicts, lists and tuples, down to ten levels."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (dict, list, tuple)):
            for item in v.values() if isinstance(v, dict) else v:
                cls.close_streams(item, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Closes the stream, and the one it was made of if that waits for its last."""
        if self.closed:
            return
        if StreamWrapper.debug_unclosed_streams:
            del StreamWrapper.session_streams[self]
        if self.__dict__.get("parent_stream") is not None:
            self.parent_stream.child_counter -= 1
            if not self.parent_stream.child_counter and self.parent_stream.close_on_last_child:
                self.parent_stream.close()
        try:
            self.file_obj.close(*args, **kwargs)
        except AttributeError:  # no file
            pass
        self.closed = True

    def autoclose(self) -> None:
        """Closes the stream as soon as all streams made of it are closed."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self) -> list[str]:
        return list({*self.__dict__, *StreamWrapper.__dict__, *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.closed:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return (
            f"StreamWrapper<{self.file_obj!r}>"
            if self.name is None
            else f"StreamWrapper<{self.name},{self.file_obj!r}>"
        )

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.__dict__.update(
            file_obj=obj,
            child_counter=0,
            parent_stream=None,
            close_on_last_child=False,
            name=None,
            closed=False,
        )
