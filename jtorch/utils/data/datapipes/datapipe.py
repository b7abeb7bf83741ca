"""Bases of data pipes, and the methods that classes register on them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from jtorch._src.refusals import stand_ins as _refusals

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState
from ._typing import _DataPipeMeta, _IterDataPipeMeta

if TYPE_CHECKING:
    from ...._src.facts.kinds import Function


__all__ = ["DataChunk", "DFIterDataPipe", "IterDataPipe", "MapDataPipe"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

#: What makes no pipe of data frames out of one: it gives rows or lists.
UNTRACABLE_DATAFRAME_PIPES = ["batch", "groupby", "_dataframes_as_tuples", "trace_as_dataframe"]


class DataChunk(list[_T]):
    """A batch of a pipe: a list.

    Args:
        items: what the batch holds.
    """

    def __init__(self, items: Iterable[_T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The items in brackets."""
        return indent + "[" + ", ".join(str(item) for item in iter(self)) + "]"

    def __iter__(self) -> Iterator[_T]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[_T]:
        """The items."""
        yield from self.items


def _of_data_frames(names: str) -> dict[str, Callable[..., object]]:
    why = "pipes of data frames are left out; use pandas in functions of pipes"
    return {
        name: _refusals.make(f"torch.utils.data.IterDataPipe.{name}", why) for name in names.split()
    }


def _register(
    functions: dict[str, Callable[..., object]], name: str, made: Callable[..., object], shown: type
) -> None:
    """Puts ``made`` among the functions that act as methods, documented as what it makes.

    Raises:
        Exception: if the name is taken.
    """
    if name in functions:
        raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")
    made.__doc__ = shown.__doc__
    functions[name] = made


class _Pipe:
    """What both kinds of pipe have in common: functions that act as methods, hooks of pickling, and
    short names."""

    functions: dict[str, Callable[..., Any]]
    reduce_ex_hook: Callable[..., object] | None = None
    getstate_hook: Callable[..., object] | None = None
    str_hook: Callable[..., Any] | None = None
    repr_hook: Callable[..., Any] | None = None
    #: ``IterDataPipe`` or ``MapDataPipe``: hooks are theirs, whichever class they are set by.
    _kind: type[_Pipe]

    def __getattr__(self, attribute_name: str) -> Any:
        found = self.functions.get(attribute_name)
        if found is None:
            raise AttributeError(
                f"'{self.__class__.__name__}' object has no attribute '{attribute_name}"
            )
        bound = functools.partial(found, self)
        bound.__doc__ = found.__doc__
        return bound

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., object]) -> None:
        """Lets ``pipe.function_name(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def set_getstate_hook(cls, hook_fn: Function | None) -> None:
        """Lets a function choose what of every pipe's state is pickled; None takes it back."""
        if cls._kind.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls._kind.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Function | None) -> None:
        """Lets a function pickle every pipe, or leave it alone by ``NotImplementedError``; None
        takes it back."""
        if cls._kind.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls._kind.reduce_ex_hook = hook_fn

    def __getstate__(self) -> Any:
        hook = self._kind.getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, *args: Any, **kwargs: object) -> object:
        hook = self._kind.reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    def __repr__(self) -> str:
        return str(self.__class__.__qualname__) if self.repr_hook is None else self.repr_hook(self)

    def __str__(self) -> str:
        return str(self.__class__.__qualname__) if self.str_hook is None else self.str_hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_Pipe, IterableDataset[_T_co], metaclass=_IterDataPipeMeta):
    """Base of datasets that are gone through, and have the methods that other pipes register.

    A pipe has one iterator at a time: a new one ends the one before, and calls ``reset``.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(6)).map(str).batch(4))
        [['0', '1', '2', '3'], ['4', '5']]
    """

    functions: dict[str, Callable[..., Any]] = _of_data_frames(
        "_dataframes_as_tuples _dataframes_concat _dataframes_filter _dataframes_per_row "
        "_dataframes_shuffle _to_dataframes_pipe trace_as_dataframe"
    )
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state: _SnapshotState = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[object] | None = None

    def __iter__(self) -> Iterator[_T_co]:
        return self  # type: ignore[return-value]

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Lets ``pipe.function_name(...)`` make another pipe.

        Raises:
            Exception: if the name is taken.
        """

        def made(source_dp: object, *args: object, **kwargs: object) -> Any:
            pipe = cls_to_register(source_dp, *args, **kwargs)
            frames = enable_df_api_tracing or isinstance(source_dp, DFIterDataPipe)
            if (
                frames
                and isinstance(pipe, IterDataPipe)
                and function_name not in UNTRACABLE_DATAFRAME_PIPES
            ):
                return pipe.trace_as_dataframe()
            return pipe

        _register(cls.functions, function_name, made, cls_to_register)

    def reset(self) -> None:
        """Called where the pipe is gone through again; nothing to do unless a class says so."""


class DFIterDataPipe(IterDataPipe[_T_co]):
    """Base of pipes of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[_T_co], metaclass=_DataPipeMeta):
    """Base of datasets whose items are asked for by key, and have the methods that other pipes
    register.

    Examples:
        >>> from jtorch.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("abcde").map(ord).batch(2)[1]
        [99, 100]
    """

    functions: dict[str, Callable[..., Any]] = {}

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any) -> None:
        """Lets ``pipe.function_name(...)`` make another pipe.

        Raises:
            Exception: if the name is taken.
        """

        def made(source_dp: object, *args: object, **kwargs: object) -> Any:
            return cls_to_register(source_dp, *args, **kwargs)

        _register(cls.functions, function_name, made, cls_to_register)


IterDataPipe._kind = IterDataPipe
MapDataPipe._kind = MapDataPipe


class _DataPipeSerializationWrapper:
    """What a loader holds in place of a pipe."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    def __init__(self, datapipe: IterDataPipe[object]) -> None:
        super().__init__(datapipe)
        self._datapipe_iter: Iterator[object] | None = None

    def __getstate__(self) -> Any:
        # The iterator stays: a copy begins anew.
        state = {"_datapipe": self._datapipe, "_datapipe_iter": None}
        hook = IterDataPipe.getstate_hook
        return state if hook is None else hook(state)

    def __iter__(self) -> _IterDataPipeSerializationWrapper:
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self) -> object:
        if self._datapipe_iter is None:
            raise AssertionError(
                "Iterator has not been initialized; call __iter__() before __next__()"
            )
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]
