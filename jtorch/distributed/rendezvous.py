"""How the processes of a group find one another: ``env://``, ``tcp://``, ``file://``, and what
programs register."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

from .constants import default_pg_timeout
from .stores import FileStore, HashStore, PrefixStore, Store, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Found = tuple[Store, int, int]
_handlers: dict[str, Callable[..., Iterator[Found]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Found]]) -> None:
    """Has ``handler(url, ...)`` serve addresses of a scheme: a generator of
    ``(store, rank, world_size)``.

    Raises:
        RuntimeError: if the scheme has one.
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: object) -> Iterator[Found]:
    """A generator of ``(store, rank, world_size)`` for an address.

    Raises:
        RuntimeError: if ``url`` is no string, a number no int, or nobody serves the scheme.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    parts = urlsplit(url if isinstance(url, str) else url.decode())
    if rank != -1 or world_size != -1:
        query = dict(parse_qsl(parts.query))
        for name, value in (("rank", rank), ("world_size", world_size)):
            if value != -1:
                query[name] = str(value)
        parts = parts._replace(query="&".join(f"{k}={v}" for k, v in query.items()))
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    return _handlers[parts.scheme](parts.geturl(), **kwargs)


def _missing(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def tcp_store(
    host: str, port: int, rank: int, world_size: int, timeout: datetime.timedelta
) -> Store:
    """The store that rank 0 holds, or the launcher where it says so."""
    if world_size == 1:  # nobody else will ask
        return HashStore()
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(
            f"/worker/attempt_{attempt}",
            TCPStore(host, port, world_size, False, timeout, wait_for_workers=False),
        )
    return TCPStore(host, port, world_size, rank == 0, timeout)


def _file(
    url: str, timeout: datetime.timedelta = default_pg_timeout, **kwargs: object
) -> Iterator[Found]:
    del timeout, kwargs
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    if not parts.path:
        raise _missing("file", "path missing")
    for name in ("rank", "world_size"):
        if name not in query:
            raise _missing("file", f"{name.replace('_', ' ')} parameter missing")
    rank, world_size = int(query["rank"]), int(query["world_size"])
    yield FileStore(parts.path, world_size), rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _tcp(
    url: str, timeout: datetime.timedelta = default_pg_timeout, **kwargs: object
) -> Iterator[Found]:
    del kwargs
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    if parts.port is None:
        raise _missing("tcp", "port number missing")
    for name in ("rank", "world_size"):
        if name not in query:
            raise _missing("tcp", f"{name.replace('_', ' ')} parameter missing")
    rank, world_size = int(query["rank"]), int(query["world_size"])
    yield tcp_store(parts.hostname or "", parts.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _env(
    url: str, timeout: datetime.timedelta = default_pg_timeout, **kwargs: object
) -> Iterator[Found]:
    del kwargs
    query = dict(parse_qsl(urlsplit(url).query))

    def given(name: str) -> str:
        if name not in os.environ:
            raise _missing("env", f"environment variable {name} expected, but not set")
        return os.environ[name]

    rank = int(query.get("rank") or given("RANK"))
    world_size = int(query.get("world_size") or given("WORLD_SIZE"))
    host, port = given("MASTER_ADDR"), int(given("MASTER_PORT"))
    yield tcp_store(host, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


for _scheme, _handler in (("file", _file), ("tcp", _tcp), ("env", _env)):
    register_rendezvous_handler(_scheme, _handler)
