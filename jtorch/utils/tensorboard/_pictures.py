"""Records of images, images with boxes, and films, for TensorBoard's logs."""

# pyright: reportMissingImports=false

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from ._convert_np import make_np


def _to_hwc(array: np.ndarray, dataformats: str) -> np.ndarray:
    """An image, or several in a grid, as height, width and three channels."""
    if len(set(dataformats)) != len(dataformats):
        raise AssertionError(
            f"You can not use the same dimension shordhand twice. input_format: {dataformats}"
        )
    if len(dataformats) != array.ndim:
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, "
            f"input_format: {dataformats}"
        )
    order = dataformats.upper()
    if len(order) == 4:
        return grid(array.transpose([order.find(c) for c in "NCHW"]))
    if len(order) == 3:
        found = array.transpose([order.find(c) for c in "HWC"])
        return np.concatenate([found] * 3, 2) if found.shape[2] == 1 else found
    return np.stack([array.transpose([order.find(c) for c in "HW"])] * 3, 2)


def grid(images: np.ndarray, columns: int = 8) -> np.ndarray:
    """Images of channels, height and width beside each other, as height, width and channels."""
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    count, channels, height, width = images.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    canvas = np.zeros((channels, height * rows, width * columns), images.dtype)
    for i, one in enumerate(images):
        y, x = divmod(i, columns)
        canvas[:, y * height : (y + 1) * height, x * width : (x + 1) * width] = one
    return canvas.transpose(1, 2, 0)


def _bytes(array: np.ndarray) -> np.ndarray:
    """Floats from 0 to 1 as bytes; bytes as they are."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def _record(tag: str, size: tuple[int, int, int], encoded: bytes) -> object:
    height, width, channels = size
    proto = Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=encoded
    )
    return Summary(value=[Summary.Value(tag=tag, image=proto)])


def _picture(
    tag: str,
    shown: np.ndarray,
    rescale: float,
    boxes: np.ndarray | None = None,
    labels: list[str] | None = None,
) -> object:
    from PIL import Image

    height, width, channels = shown.shape
    picture = Image.fromarray(shown)
    if boxes is not None:
        picture = draw_boxes(picture, boxes, labels)
    picture = picture.resize(
        (int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS
    )
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return _record(tag, (height, width, channels), buffer.getvalue())


def image(tag: str, tensor: object, rescale: float = 1, dataformats: str = "NCHW") -> object:
    """An image: of bytes, or of floats from 0 to 1. Needs the package ``pillow``."""
    return _picture(tag, _bytes(_to_hwc(make_np(tensor), dataformats)), rescale)


def image_boxes(
    tag: str, tensor_image: object, tensor_boxes: object, rescale: float = 1,
    dataformats: str = "CHW", labels: list[str] | None = None
) -> object:  # fmt: skip
    """An image with boxes, left, upper, right and lower edge each. Needs the package ``pillow``."""
    shown = make_np(tensor_image).astype(np.float32) * (
        1 if make_np(tensor_image).dtype == np.uint8 else 255
    )
    shown = _to_hwc(shown, dataformats).clip(0, 255).astype(np.uint8)
    return _picture(tag, shown, rescale, make_np(tensor_boxes), labels)


def draw_boxes(disp_image: Any, boxes: np.ndarray, labels: list[str] | None = None) -> Any:
    """An image of ``pillow`` with boxes and what they are called drawn into it."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(disp_image)
    for i, (left, upper, right, lower) in enumerate(boxes[:, :4].tolist()):
        pen.line(
            [(left, upper), (left, lower), (right, lower), (right, upper), (left, upper)],
            fill="Red",
            width=2,
        )
        if labels is not None:
            _, _, width, height = pen.textbbox((0, 0), labels[i])
            margin = math.ceil(0.05 * height)
            below = lower - height - 2 * margin
            pen.rectangle([(left, below), (left + width, lower)], fill="Red")
            pen.text((left + margin, lower - height - margin), labels[i], fill="black")
    return disp_image


def video(tag: str, tensor: object, fps: float = 4) -> object:
    """Films of bytes, or of floats from 0 to 1, beside each other:
    ``(films, frames, channels, height, width)``. Needs ``pillow``.

    Differs from torch: the package ``moviepy`` is not asked for.
    """
    from PIL import Image

    array = make_np(tensor)
    frames = [
        Image.fromarray(frame.squeeze(2) if frame.shape[2] == 1 else frame)
        for frame in _bytes(_prepare_video(array))
    ]
    buffer = io.BytesIO()
    frames[0].save(
        buffer, format="GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0
    )
    return _record(tag, (frames[0].height, frames[0].width, array.shape[2]), buffer.getvalue())


def _prepare_video(films: np.ndarray) -> np.ndarray:
    """Films in rows and columns, each a power of two, the rest black:
    ``(frames, height, width, channels)``."""
    count, length, channels, height, width = films.shape
    whole = 1 << (count - 1).bit_length()
    films = np.concatenate(
        [films, np.zeros((whole - count, length, channels, height, width), films.dtype)]
    )
    rows = 1 << (count.bit_length() - 1) // 2
    films = films.reshape(rows, whole // rows, length, channels, height, width)
    return films.transpose(2, 0, 4, 1, 5, 3).reshape(
        length, rows * height, whole // rows * width, channels
    )
