"""Files of TensorBoard's projector: points, what is said of each, their images, and the list of
all."""

# pyright: reportMissingImports=false

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._convert_np import make_np
from ._pictures import grid

if TYPE_CHECKING:
    from ..._src.engine.sized import Sized


def _write(path: str, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def make_tsv(metadata: Any, save_path: str, metadata_header: list[str] | None = None) -> None:
    """Writes what is said of each point, a line each: a word, or one for each name of the header.

    Raises:
        AssertionError: if the header has other columns than the lines.
    """
    if metadata_header:
        if len(metadata_header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(str(cell) for cell in row) for row in [metadata_header, *metadata]]
    else:
        lines = [str(word) for word in metadata]
    _write(os.path.join(save_path, "metadata.tsv"), lines)


def make_mat(matlist: Iterable[Any], save_path: str) -> None:
    """Writes the points, a line each."""
    _write(
        os.path.join(save_path, "tensors.tsv"), ("\t".join(str(n) for n in row) for row in matlist)
    )


def make_sprite(label_img: object, save_path: str) -> None:
    """Writes the points' images into one square image. Needs the package ``pillow``."""
    from PIL import Image

    images = make_np(label_img)
    columns = math.ceil(len(images) ** 0.5)
    joined = grid(images, columns)
    size = max(joined.shape[:2])
    square = np.zeros((size, size, 3))
    square[: joined.shape[0], : joined.shape[1]] = joined
    Image.fromarray((square * 255).clip(0, 255).astype(np.uint8)).save(
        os.path.join(save_path, "sprite.png")
    )


def get_embedding_info(
    metadata: object, label_img: Any, subdir: str, global_step: object, tag: str
) -> object:
    """What the list says of one set of points."""
    from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

    info = EmbeddingInfo(
        tensor_name=f"{tag}:{str(global_step).zfill(5)}", tensor_path=f"{subdir}/tensors.tsv"
    )
    if metadata is not None:
        info.metadata_path = f"{subdir}/metadata.tsv"
    if label_img is not None:
        info.sprite.image_path = f"{subdir}/sprite.png"
        info.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
    return info


def write_pbtxt(save_path: str, contents: str) -> None:
    """Writes the list of all sets of points."""
    _write(os.path.join(save_path, "projector_config.pbtxt"), [contents.rstrip("\n")])


def folder_of(tag: str, global_step: object) -> str:
    """The folder of one set of points, below that of the logs."""
    for character in "%/\\":
        tag = tag.replace(character, f"%{ord(character):02x}")
    return f"{str(global_step).zfill(5)}/{tag}"


def write(
    folder: str,
    points: np.ndarray,
    metadata: Sized,
    label_img: Any,
    metadata_header: list[str] | None,
) -> None:
    """Writes one set of points.

    Raises:
        AssertionError: if there are more or fewer words or images than points, or the points are no
            matrix.
    """
    if metadata is not None:
        if len(points) != len(metadata):
            raise AssertionError("#labels should equal with #data points")
        make_tsv(metadata, folder, metadata_header)
    if label_img is not None:
        if len(points) != label_img.shape[0]:
            raise AssertionError("#images should equal with #data points")
        make_sprite(label_img, folder)
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    make_mat(points.tolist(), folder)
