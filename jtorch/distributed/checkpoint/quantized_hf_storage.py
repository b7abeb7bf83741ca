"""Checkpoints of quantised weights in the safetensors format, read as numbers of full precision."""

from __future__ import annotations

import os
from typing import Any

import jtorch as torch
from jtorch._src.facts.errors import not_offered

from . import _safetensors
from .hf_storage import HuggingFaceStorageReader
from .metadata import Metadata

__all__ = ["QuantizedHuggingFaceStorageReader"]

_WEIGHT, _SCALE = ".weight", ".weight_scale_inv"


class QuantizedHuggingFaceStorageReader(HuggingFaceStorageReader):
    """Reads weights that are quantised by blocks: ``x.weight`` times the element of
    ``x.weight_scale_inv`` of its block.

    Args:
        path: the folder.
        thread_count: how many files are read at once.
        target_dtype: the dtype in which products are computed and given.
        block_size: rows and columns of a block.

    Raises:
        NotImplementedError: when reading, for tensors in the MXFP4 format (``_blocks`` beside
            ``_scales``).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        thread_count: int = 1,
        target_dtype: torch.dtype = torch.float32,
        block_size: int = 128,
    ) -> None:
        super().__init__(path, thread_count)
        self.target_dtype, self.block_size = target_dtype, block_size
        #: Of each scale, the file that it is in.
        self._scales: dict[str, str] = {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the headers of the files say; quantised weights have the shape they are written
        with."""
        metadata = super().read_metadata(*args, **kwargs)
        self._scales = {name: path for path, name in self._entries if name.endswith(_SCALE)}
        names = {name for _, name in self._entries}
        if any(
            name.endswith("_blocks") and f"{name.removesuffix('_blocks')}_scales" in names
            for name in names
        ):
            raise not_offered(
                "torch.distributed.checkpoint.QuantizedHuggingFaceStorageReader",
                "of the MXFP4 format, blocks of fp8 are read",
            )
        return metadata

    def _whole(
        self, stream: object, entry: _safetensors.Entry, path: str, name: str
    ) -> torch.Tensor:
        tensor = super()._whole(stream, entry, path, name)
        scale = f"{name.removesuffix(_WEIGHT)}{_SCALE}"
        if not name.endswith(_WEIGHT) or scale not in self._scales:
            return tensor
        where = self._scales[scale]
        with self.fs.create_stream(where, "rb") as other:
            factors = _safetensors.read_tensor(other, self._entries[where, scale], where).to(
                self.target_dtype
            )
        tensor = tensor.to(self.target_dtype)
        for dim in range(tensor.dim()):
            factors = factors.repeat_interleave(self.block_size, dim).narrow(
                dim, entry.offset[dim], tensor.shape[dim]
            )
        return tensor * factors
