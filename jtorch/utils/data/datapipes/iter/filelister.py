"""The pipe of file names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import get_file_pathnames_from_root, no_length
from .utils import IterableWrapperIterDataPipe

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["FileListerIterDataPipe"]


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe[str]):
    """The paths of the files in one folder or several whose names fit one of some Unix patterns."""

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        super().__init__()
        if isinstance(root, str):
            root = [root]
        self.datapipe: IterDataPipe[str] = (
            root if isinstance(root, IterDataPipe) else IterableWrapperIterDataPipe(root)
        )
        self.masks = masks
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self) -> Iterator[str]:
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )

    def __len__(self) -> int:
        if self.length == -1:
            raise no_length(self)
        return self.length
