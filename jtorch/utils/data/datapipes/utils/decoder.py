"""Decoders of files by their extensions, for the pipe that routes them."""

from __future__ import annotations

import io
import json
import os
import pickle
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .common import StreamWrapper

if TYPE_CHECKING:
    from types import ModuleType


__all__ = [
    "Decoder",
    "ImageHandler",
    "MatHandler",
    "audiohandler",
    "basichandlers",
    "extension_extract_fn",
    "handle_extension",
    "imagehandler",
    "mathandler",
    "videohandler",
]


def basichandlers(extension: str, data: Any) -> Any:
    """Text, whole numbers, JSON, pickles and files of ``save``, by their extensions; None for
    others."""
    if extension in "txt text transcript":
        return data.decode("utf-8")
    if extension in ("cls", "cls2", "class", "count", "index", "inx", "id"):
        try:
            return int(data)
        except ValueError:
            return None
    if extension in "json jsn":
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    if extension == "pt":
        return torch.load(io.BytesIO(data))
    return None


#: What an image becomes: its container, its numbers, its mode.
imagespecs: dict[str, tuple[str, str | None, str]] = {
    f"{prefix}{mode}{bits}": (container, "uint8" if bits else "float", mode)
    for prefix, container in (("", "numpy"), ("torch", "torch"))
    for mode in ("l", "rgb", "rgba")
    for bits in ("8", "")
}
imagespecs["torch"] = ("torch", "float", "rgb")
imagespecs |= {f"pil{mode}": ("pil", None, mode or "rgb") for mode in ("l", "", "rgb", "rgba")}


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """A handler that calls ``f`` for keys which end with the first of some extensions that is not
    longer than the key."""
    targets = [target.split(".") for target in extensions.lower().split()]

    def handler(key: str, data: object) -> object:
        parts = key.lower().split(".")
        for target in targets:
            if len(target) <= len(parts):
                return f(data) if parts[-len(target) :] == target else None
        return None

    return handler


def _needed(name: str, package: str, purpose: str) -> ModuleType:
    """A module that a handler cannot do without.

    Raises:
        ModuleNotFoundError: if it is not installed.
    """
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"Package `{name.partition('.')[0]}` is required to be installed for {purpose}."
            f"Please use `pip install {package}` to install the package"
        ) from error


class ImageHandler:
    """Decodes images to arrays, tensors or Pillow's images, as a specification such as
    ``"torchrgb"`` says."""

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension: str, data: bytes) -> Any:
        """What the file holds; None for other extensions."""
        if extension.lower() not in ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"):
            return None
        np = _needed("numpy", "numpy", "default image decoder")
        images = _needed("PIL.Image", "Pillow", "default image decoder")
        container, numbers, mode = imagespecs[self.imagespec]
        with io.BytesIO(data) as stream:
            image = images.open(stream)
            image.load()
            image = image.convert(mode.upper())
        if container == "pil":
            return image
        array = np.asarray(image)
        if array.dtype != np.uint8:
            raise AssertionError(f"numpy image array should be type uint8, but got {array.dtype}")
        if container == "numpy":
            return array if numbers == "uint8" else array.astype("f") / 255.0
        pixels = torch.tensor(np.array(array.transpose(2, 0, 1)))
        return pixels if numbers == "uint8" else pixels / 255.0


def imagehandler(imagespec: str) -> ImageHandler:
    """A handler of images."""
    return ImageHandler(imagespec)


def _by_file(extension: str, data: bytes, load: Callable[[str], object]) -> object:
    """What a loader makes of a file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"file.{extension}")
        with open(path, "wb") as stream:
            stream.write(data)
        return load(path)


def videohandler(extension: str, data: bytes) -> Any:
    """Decodes videos with torchvision."""
    if extension not in ("mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv"):
        return None
    return _by_file(
        extension,
        data,
        _needed("torchvision.io", "torchvision", "default video file loader").read_video,
    )


def audiohandler(extension: str, data: bytes) -> Any:
    """Decodes sounds with torchaudio."""
    if extension not in ("flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"):
        return None
    return _by_file(
        extension, data, _needed("torchaudio", "torchaudio", "default audio file loader").load
    )


class MatHandler:
    """Decodes MATLAB's files with SciPy."""

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.sio = _needed("scipy.io", "scipy", "mat file")
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        """What the file holds; None for other extensions."""
        if extension != "mat":
            return None
        with io.BytesIO(data) as stream:
            return self.sio.loadmat(stream, **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: object) -> MatHandler:
    """A handler of MATLAB's files."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """The extension of a path, without its dot."""
    return os.path.splitext(pathname)[1][1:]


class Decoder:
    """Gives items to the first of some handlers that makes something of them."""

    def __init__(
        self, *handler: Callable[..., Any], key_fn: Callable[[str], str] = extension_extract_fn
    ) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Callable[..., Any]) -> None:
        """Puts handlers before those that are there."""
        self.handlers = [*handler, *self.handlers]

    @staticmethod
    def _is_stream_handle(data: object) -> bool:
        stream = data.file_obj if isinstance(data, StreamWrapper) else data
        return isinstance(stream, (io.BufferedIOBase, io.RawIOBase))

    def decode1(self, key: str, data: Any) -> Any:
        """What the handlers make of one item; itself if none does."""
        if not data:
            return data
        if self._is_stream_handle(data):
            stream, data = data, b"".join(data)
            stream.close()
        for handler in self.handlers:
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data: Any) -> dict[str, Any]:
        """Decodes a pair of a path and data, or many."""
        result = {}
        for key, value in [data] if isinstance(data, tuple) else data or ():
            if key[0] == "_" and isinstance(value, bytes):
                result[key] = value.decode("utf-8")
            else:
                result[key] = self.decode1(self.key_fn(key), value)
        return result

    def __call__(self, data: Any) -> dict[str, Any]:
        """The same as ``decode``."""
        return self.decode(data)
