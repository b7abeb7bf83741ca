"""Stores: in memory, in a file, over TCP, and parts of others."""

from __future__ import annotations

import contextlib
import datetime
import socket
import threading
import time
from typing import Any

import pytest
from worlds import free_port

import jtorch.distributed as dist
from jtorch.distributed import _wire

SHORT = datetime.timedelta(seconds=0.1)


@pytest.fixture(params=["hash", "file", "tcp", "client", "prefix"])
def store(request, tmp_path):
    if request.param == "hash":
        yield dist.HashStore()
    elif request.param == "file":
        yield dist.FileStore(str(tmp_path / "store"), 1)
    else:
        server = dist.TCPStore("127.0.0.1", 0, None, True)
        client = dist.TCPStore("127.0.0.1", server.port, None, False)
        yield {"tcp": server, "client": client, "prefix": dist.PrefixStore("a", client)}[
            request.param
        ]
        client._close()
        server._close()


def test_values(store) -> None:
    store.set("key", "text")
    store.set("bytes", b"\x00\xff")
    assert store.get("key") == b"text" and store.get("bytes") == b"\x00\xff"
    assert store.add("count", 3) == 3 and store.add("count", -1) == 2 and store.get("count") == b"2"
    assert store.check(["key", "count"]) and not store.check(["key", "absent"])
    assert store.num_keys() == 3 and len(store.list_keys()) == 3
    assert store.delete_key("count") and not store.delete_key("count")
    store.append("key", "s")
    assert store.multi_get(["key", "bytes"]) == [b"texts", b"\x00\xff"]
    assert (
        store.compare_set("key", "other", "new") == b"texts"
        and store.compare_set("key", "texts", "new") == b"new"
    )
    assert (
        store.compare_set("first", "", "x") == b"x" and store.compare_set("none", "y", "z") == b"y"
    )
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert (
        store.queue_len("q") == 2 and store.queue_pop("q") == b"1" and store.queue_pop("q") == b"2"
    )


def test_keys_and_values_of_other_types(store) -> None:
    for key, value in (("key", 5), ("key", None), (None, "5"), (b"key", "5")):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            store.set(key, value)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        store.get(5)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        store.wait([None])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        store.add("key", 1.5)
    with pytest.raises(
        dist.DistStoreError, match="multiSet keys and values vectors must be of same size"
    ):
        store.multi_set(["key", "other"], ["5"])
    assert store.list_keys() == []


def test_barriers(store) -> None:
    thread = threading.Thread(target=lambda: store.clone().barrier("here", 2))
    thread.start()
    store.barrier("here", 2)
    thread.join()
    with pytest.raises(dist.DistStoreError):
        store.barrier("there", 2, SHORT)


def test_prefixes() -> None:
    class Kept(dist.Store):
        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, str] = {}

        def set(self, key: str, value: str) -> None:
            self.values[key] = value

        def get(self, key: str) -> str:
            return self.values[key]

    kept = Kept()
    store = dist.PrefixStore("a", dist.PrefixStore("b", kept))
    store.set("key", "text")
    assert kept.values == {"b/a/key": "text"} and store.get("key") == b"text"
    assert store._underlying_non_prefix_store is kept
    whole = dist.HashStore()
    whole.set("other", "1")
    store = dist.PrefixStore("a", whole)
    store.set("key", "2")
    assert store.list_keys() == ["key"] and sorted(whole.list_keys()) == ["a/key", "other"]


def test_those_who_join_a_store_do_not_wait_for_the_others() -> None:
    server = dist.TCPStore("127.0.0.1", 0, 3, True, wait_for_workers=False)
    client = dist.TCPStore("127.0.0.1", server.port, 3, False, SHORT)
    client.set("key", "there")
    assert server.get("key") == b"there"
    client._close()
    server._close()


def test_waiting(store) -> None:
    over_tcp = isinstance(store, (dist.TCPStore, dist.PrefixStore))
    with pytest.raises(
        dist.DistStoreError, match="wait timeout after 100ms" if over_tcp else "^Wait timeout$"
    ):
        store.wait(["never"], SHORT)
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    of_file = isinstance(store, dist.FileStore)
    with pytest.raises(
        dist.DistStoreError,
        match="^Timeout waiting for key: never after 100 ms$" if of_file else "(?i)^wait timeout",
    ):
        store.get("never")
    store.set("text", "v")
    if not over_tcp:  # where the server hangs up, as PyTorch's
        with pytest.raises(ValueError, match="stoll"):
            store.add("text", 1)
    store.set_timeout(datetime.timedelta(seconds=20))

    def later() -> None:
        time.sleep(0.05)
        store.set("late", b"x" * 100_000)

    thread = threading.Thread(target=later)
    thread.start()
    store.wait(["late"])
    assert len(store.get("late")) == 100_000
    thread.join()


def test_what_does_not_speak_the_language_is_let_go() -> None:
    server = dist.TCPStore("127.0.0.1", 0, None, True)
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        s.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert s.recv(1) == b""
    server.set("still", "there")
    assert server.get("still") == b"there"
    with pytest.raises(dist.DistNetworkError, match="failed to listen"):
        dist.TCPStore("127.0.0.1", server.port, None, True)
    server._close()
    with pytest.raises(dist.DistNetworkError, match="timed out"):
        dist.TCPStore("127.0.0.1", server.port, None, False, timeout=SHORT)


def listening() -> Any:
    found = socket.socket()
    # who comes after it need not wait for its connections to be forgotten
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", 0))
    found.listen()
    return found, found.getsockname()[1]


def test_a_port_that_others_have_taken() -> None:
    taken, port = listening()  # and never answers
    with taken:
        with pytest.raises(
            dist.DistNetworkError,
            match=r"timed out after 200ms while trying to connect to \(127.0.0.1, \d+\)\. timed "
            r"out",
        ):
            dist.TCPStore("127.0.0.1", port, 2, False, datetime.timedelta(seconds=0.2))
        with pytest.raises(
            dist.DistNetworkError,
            match="code: -98, name: EADDRINUSE, message: address already in use",
        ):
            dist.TCPStore("127.0.0.1", port, 2, True, datetime.timedelta(seconds=0.2))
    taken, port = listening()

    def greets() -> None:
        connection, _ = taken.accept()
        with connection, taken:
            connection.sendall(b"220 welcome to another service")
            connection.recv(1000)

    threading.Thread(target=greets).start()
    with pytest.raises(
        dist.DistNetworkError, match="Ping failed, invalid value returned from server"
    ):
        dist.TCPStore("127.0.0.1", port, 2, False)


def test_a_port_that_lets_go_of_those_who_come_too_early() -> None:
    first, port = listening()
    stores = []

    def begins() -> None:
        connection, _ = first.accept()
        connection.close()
        first.close()
        stores.append(dist.TCPStore("127.0.0.1", port, None, True))

    beginning = threading.Thread(target=begins)
    beginning.start()
    client = dist.TCPStore("127.0.0.1", port, None, False)
    beginning.join()
    stores[0].set("a", "b")
    assert client.get("a") == b"b"


def test_those_who_never_come() -> None:
    some, port = datetime.timedelta(seconds=0.2), free_port()
    for _ in range(2):  # the port is free again
        with pytest.raises(
            dist.DistStoreError,
            match=r"Timed out after 0 seconds waiting for clients\. 1/2 clients joined\.",
        ):
            dist.TCPStore("127.0.0.1", port, 2, True, some)
    for rank, kind in ((0, dist.DistStoreError), (1, dist.DistNetworkError)):
        with pytest.raises(kind):
            dist.init_process_group(
                "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2, timeout=some
            )
        assert not dist.is_initialized()
    with pytest.raises(ValueError, match="world size cannot be 0"):
        dist.TCPStore("127.0.0.1", port, 0, True)
    with pytest.raises(RuntimeError, match="No rendezvous handler for ://"):
        dist.init_process_group("gloo", init_method="", rank=0, world_size=2)


def test_a_server_that_ends_answers_what_it_has_carried_out(monkeypatch):
    """Whoever takes what was brought may end before the one that brought it has heard so."""
    send, late = _wire._send, threading.Event()

    def slow(connection, value):
        if value == ["", None]:  # the answer
            late.wait(0.2)
        send(connection, value)

    monkeypatch.setattr(_wire, "_send", slow)
    server = _wire.Server("", 0)
    client = _wire.Client("127.0.0.1", server.port, 5.0)
    outcome = []
    thread = threading.Thread(
        target=lambda: outcome.append(client.ask("set", 5.0, "key", b"value"))
    )
    thread.start()
    assert server.memory.ask("get", 5.0, "key") == b"value"
    server.close()
    thread.join()
    assert outcome == [None]
    client.close()
    waits = _wire.Server("", 0)
    client = _wire.Client("127.0.0.1", waits.port, 5.0)
    failed = []

    def wait():
        try:
            client.ask("get", 30.0, "never")
        except dist.DistNetworkError as error:
            failed.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while not waits.memory.waiting:
        pass
    begun = time.monotonic()
    waits.close()  # who waits is not waited for
    thread.join(10)
    assert time.monotonic() - begun < 1
    assert "the other side has closed the connection" in failed[0]


def test_a_server_that_has_ended_is_not_awaited() -> None:
    server = _wire.Server("127.0.0.1", 0)
    client = _wire.Client("127.0.0.1", server.port, 5.0)
    server.close()
    begun = time.monotonic()
    for _ in range(2):  # the second time there is no connection left
        with pytest.raises(dist.DistNetworkError):
            client.ask("check", 60.0, ["a"])
    assert time.monotonic() - begun < 5


def test_no_thread_of_theirs_is_listed() -> None:
    before = set(threading.enumerate())
    server = dist.TCPStore("127.0.0.1", 0, None, True)
    client = dist.TCPStore("127.0.0.1", server.port, None, False)
    client.set("a", "b")
    assert server.get("a") == b"b" and set(threading.enumerate()) == before
