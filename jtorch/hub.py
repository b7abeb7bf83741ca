"""Models of repositories with a ``hubconf.py``, and state dicts that lie in the cache: what
``torch.hub`` does without a network."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlparse
from urllib.request import urlopen

import jtorch as torch

from ._src.facts.errors import not_offered

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

#: Eight hexadecimal digits or more after a dash: the start of a file's SHA-256, in its name.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
READ_DATA_CHUNK = 128 * 1024

_hub_dir: str | None = None


try:
    from tqdm import tqdm  # type: ignore[assignment]
except ImportError:

    class tqdm:
        """Counts without showing a bar: what stands in where the package tqdm is not installed."""

        def __init__(self, iterable: Any = None, total: Any = None, **options: object) -> None:
            self.iterable, self.total, self.n = iterable, total, 0

        def __iter__(self) -> Iterator[Any]:
            return iter(self.iterable)

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exc: object) -> None:
            self.close()

        def update(self, n: int = 1) -> None:
            """Counts on."""
            self.n += n

        def close(self) -> None:
            """Does nothing."""


# ---- places --------------------------------------------------------------------------------------


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of the cache: as ``set_dir`` says, ``$TORCH_HOME/hub``,
    ``$XDG_CACHE_HOME/torch/hub`` or ``~/.cache/torch/hub``."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of the cache."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# ---- repositories --------------------------------------------------------------------------------


def _cached(github: str) -> str:
    """The folder in which a repository lies, where PyTorch would have put it.

    Raises:
        NotImplementedError: if it is not there.
    """
    repo, _, ref = github.partition(":")
    owner, slash, name = repo.partition("/")
    if not slash or "/" in name:
        raise ValueError(
            f"Invalid repository: {github!r}. It should have the form repo_owner/repo_name[:ref]"
        )
    for branch in [ref] if ref else ["main", "master"]:
        folder = os.path.join(get_dir(), "_".join([owner, name, branch.replace("/", "_")]))
        if os.path.exists(folder):
            return folder
    place = os.path.join(get_dir(), f"{owner}_{name}_{(ref or 'main').replace('/', '_')}")
    raise not_offered(
        "torch.hub with source='github'",
        f"it opens no network connections; put a copy of {github} at {place}",
    )


def _folder(repo_or_dir: str, source: str, force_reload: bool, verbose: bool) -> str:
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return os.fspath(repo_or_dir)
    if force_reload:
        raise not_offered("torch.hub with force_reload=True", "it opens no network connections")
    folder = _cached(repo_or_dir)
    if verbose:
        sys.stderr.write(f"Using cache found in {folder}\n")
    return folder


@contextlib.contextmanager
def _first_on_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _import_module(name: str, path: str) -> object:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _hubconf(folder: str) -> Any:
    return _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))


def _entry(module: object, model: object) -> Any:
    """A function that a ``hubconf.py`` offers, if what it depends on is there."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [
        p for p in getattr(module, VAR_DEPENDENCY, None) or [] if not importlib.util.find_spec(p)
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def load(
    repo_or_dir: Any,
    model: str,
    *args: object,
    source: str = "github",
    trust_repo: object = None,  # noqa: ARG001 (asked before downloading, and nothing is downloaded)
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,  # noqa: ARG001 (likewise)
    **kwargs: object,
) -> Any:
    """What the function ``model`` of a repository's ``hubconf.py`` gives for the arguments.

    Args:
        repo_or_dir: a folder for ``source="local"``; otherwise ``owner/name[:ref]``, which must be
            in the cache.

    Raises:
        NotImplementedError: if it would have to be downloaded.
    """
    folder = _folder(repo_or_dir, source, force_reload, verbose)
    with _first_on_path(folder):
        return _entry(_hubconf(folder), model)(*args, **kwargs)


def list(
    github: Any,
    force_reload: bool = False,
    skip_validation: bool = False,  # noqa: ARG001
    trust_repo: object = None,  # noqa: ARG001
    verbose: bool = True,
) -> Any:
    """The names of the functions that a repository in the cache offers."""
    folder = _folder(github, "github", force_reload, verbose)
    with _first_on_path(folder):
        module = _hubconf(folder)
    return [
        name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")
    ]


def help(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,  # noqa: ARG001
    trust_repo: object = None,  # noqa: ARG001
) -> Any:
    """The docstring of a function that a repository in the cache offers."""
    folder = _folder(github, "github", force_reload, True)
    with _first_on_path(folder):
        return _entry(_hubconf(folder), model).__doc__


# ---- files ---------------------------------------------------------------------------------------


def download_url_to_file(
    url: str,
    dst: str,
    hash_prefix: str | None = None,
    progress: bool = True,  # noqa: ARG001
) -> None:
    """Copies what ``file:`` URL stands for to ``dst``, complete or not at all.

    Args:
        hash_prefix: how the SHA-256 of the file must begin.

    Raises:
        NotImplementedError: for URLs of a network.
        RuntimeError: if the SHA-256 is another.
    """
    if urlparse(url).scheme != "file":
        place = os.path.expanduser(dst)
        raise not_offered(
            "torch.hub.download_url_to_file",
            f"it opens no network connections; put the file of {url} at {place}",
        )
    dst = os.path.expanduser(dst)
    temporary = f"{dst}.{uuid.uuid4().hex}.partial"
    sha256 = hashlib.sha256()
    try:
        with urlopen(url) as source, open(temporary, "xb") as target:
            while chunk := source.read(READ_DATA_CHUNK):
                target.write(chunk)
                sha256.update(chunk)
        digest = sha256.hexdigest()
        if hash_prefix is not None and digest[: len(hash_prefix)] != hash_prefix:
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
        shutil.move(temporary, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)


def _loaded_from_zip(
    path: str, model_dir: str, map_location: str | None, weights_only: bool
) -> Any:
    """The one file in an old zip archive of checkpoints."""
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory(dir=model_dir) as folder:
        members = archive.infolist()
        if len(members) != 1:
            raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
        return torch.load(
            archive.extract(members[0], folder),
            map_location=map_location,
            weights_only=weights_only,
        )


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """The object in the file of a URL, which must be in ``model_dir``
    (``get_dir() + "/checkpoints"``) unless it is a ``file:`` URL.

    Raises:
        NotImplementedError: if it would have to be downloaded.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    try:
        os.makedirs(folder)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            of_torch = any(n.endswith("/data.pkl") for n in archive.namelist())
        if not of_torch:
            return _loaded_from_zip(path, folder, map_location, weights_only)
    return torch.load(path, map_location=map_location, weights_only=weights_only)
