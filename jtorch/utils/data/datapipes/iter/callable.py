"""Pipes that call a function on each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from jtorch._src.facts.errors import not_offered

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import _check_unpickable_fn, length_of, picked, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[_T_co]):
    """``fn`` of each item, or of some of its columns, in whose place (or in that of ``output_col``;
    -1: at the end) the result goes.

    Raises:
        ValueError: if ``fn`` takes another number of arguments than ``input_col`` has columns, or
            ``output_col`` is several, or alone.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([(1, 2), (3, 4)]).map(int.__neg__, input_col=1, output_col=-1))
        [(1, 2, -2), (3, 4, -4)]
    """

    datapipe: IterDataPipe[Any]
    fn: Callable[..., Any]

    def __init__(
        self,
        datapipe: IterDataPipe,
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(fn)
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]  # type: ignore[misc]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> object:
        result = self.fn(*picked(data, self.input_col))
        if self.input_col is None:
            return result
        changed = list(data) if isinstance(data, tuple) else data
        if self.output_col is None:
            first, *others = (
                self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
            )
            changed[first] = result
            for column in sorted(others, reverse=True):
                del changed[column]
        elif self.output_col == -1:
            changed.append(result)
        else:
            changed[self.output_col] = result
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


def _collate_frames(item: object) -> None:
    del item
    raise not_offered(
        "torch.utils.data.datapipes.iter.Collator with a dict",
        "pipes of data frames are left out; give a function",
    )


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe[Any]):
    """Each item collated to tensors, by ``default_collate`` or another function.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[1, 2], [3, 4]]).collate())
        [tensor([1, 2]), tensor([3, 4])]
    """

    def __init__(
        self,
        datapipe: IterDataPipe,
        conversion: object = default_collate,
        collate_fn: Callable[..., object] | None = None,
    ) -> None:
        if collate_fn is None:
            collate_fn = conversion if callable(conversion) else _collate_frames
        super().__init__(datapipe, fn=collate_fn)
