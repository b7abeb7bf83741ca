"""Data pipes give PyTorch's items, orders, lengths, warnings and errors, in loaders with and
without workers."""

from __future__ import annotations

import importlib
import pickle
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def negative(x: Any) -> Any:
    return -x


def fails(x: Any) -> Any:
    raise ValueError("no")


def is_small(x: int) -> bool:
    return x < 3


def third(x: int) -> int:
    return x % 3


def second(x: int) -> int:
    return x % 2


def modules(lib: Any) -> Any:
    name = lib.__name__
    load = importlib.import_module
    return types.SimpleNamespace(
        lib=lib,
        data=load(f"{name}.utils.data"),
        it=load(f"{name}.utils.data.datapipes.iter"),
        mp=load(f"{name}.utils.data.datapipes.map"),
        graph=load(f"{name}.utils.data.graph"),
        settings=load(f"{name}.utils.data.graph_settings"),
        snapshot=load(f"{name}.utils.data.datapipes.utils.snapshot"),
        numbers=load(f"{name}.utils.data.datapipes.iter").IterableWrapper(range(10)),
        keyed=load(f"{name}.utils.data.datapipes.map").SequenceWrapper(range(7)),
    )


def lists(pipes: Any) -> Any:
    return [list(pipe) for pipe in pipes]


def shape(graph: Any) -> Any:
    return [(type(pipe).__name__, shape(below)) for pipe, below in graph.values()]


def invalidated(m: Any) -> Any:
    first, second = iter(m.numbers), iter(m.numbers)
    next(first)
    next(second)
    return next(first)


def kept_while_pickled(m: Any) -> Any:
    pipe = m.numbers.shuffle()
    iterator = iter(pipe)
    taken = [next(iterator), next(iterator)]
    other = pickle.loads(pickle.dumps(pipe))
    return taken, other._number_of_samples_yielded, list(iterator)


def restored(m: Any) -> Any:
    pipe = m.numbers.map(negative)
    m.snapshot._simple_graph_snapshot_restoration(pipe, 4)
    return list(pipe), list(pipe), pipe._number_of_samples_yielded


def restored_twice(m: Any) -> Any:
    pipe = m.numbers.map(negative)
    m.snapshot._simple_graph_snapshot_restoration(pipe, 4)
    m.snapshot._simple_graph_snapshot_restoration(pipe, 4)


def own_iterator(m: Any) -> Any:
    class Counter(m.data.IterDataPipe):
        resets = 0

        def __iter__(self) -> Any:
            self.n = 0
            return self

        def __next__(self) -> int:
            self.n += 1
            if self.n > 3:
                raise StopIteration
            return self.n

        def reset(self) -> None:
            Counter.resets += 1

    pipe = Counter()
    return list(pipe), list(pipe), pipe._number_of_samples_yielded, Counter.resets, repr(pipe)


def children_reset(m: Any) -> Any:
    first, second = m.numbers.fork(2)
    return next(iter(first)), list(second), next(iter(first))


def demux_left(m: Any) -> Any:
    even, odd = m.numbers.demux(2, second)
    iterator = iter(even)
    next(iterator)
    del iterator
    return list(odd), list(even)


def sharded(m: Any, *places: Any) -> Any:
    pipe = m.numbers.sharding_filter()
    for place in places:
        pipe.apply_sharding(*place)
    return list(pipe), len(pipe)


CASES: dict[str, Callable[[Any], Any]] = {
    "chain": lambda m: list(m.numbers.map(negative).filter(lambda x: x < -3).batch(2)),
    "batch-chunk": lambda m: [
        (type(b).__name__, b.as_str("> ")) for b in m.numbers.batch(4, drop_last=True)
    ],
    "unbatch": lambda m: list(m.it.IterableWrapper([[1, [2]], [3]]).unbatch(-1)),
    "unbatch-too-deep": lambda m: list(m.numbers.batch(2).unbatch(2)),
    "groups": lambda m: list(m.numbers.groupby(third)),
    "groups-full": lambda m: list(
        m.numbers.groupby(
            third, buffer_size=4, group_size=3, guaranteed_group_size=2, keep_key=True
        )
    ),
    "groups-fail": lambda m: list(m.numbers.groupby(third, group_size=2, buffer_size=3)),
    "groups-dropped": lambda m: list(
        m.numbers.groupby(third, group_size=2, buffer_size=3, drop_remaining=True)
    ),
    "columns": lambda m: list(m.it.IterableWrapper([(1, 2, 3)]).map(max, input_col=[0, 2])),
    "columns-out": lambda m: list(m.it.IterableWrapper([{"a": 1}]).map(negative, "a", "b")),
    "columns-many": lambda m: m.numbers.map(negative, input_col=[0, 1]),
    "columns-out-alone": lambda m: m.numbers.map(negative, output_col=1),
    "filter-not-bool": lambda m: list(m.numbers.filter(negative)),
    "collate": lambda m: [x.tolist() for x in m.numbers.batch(5).collate()],
    "concat": lambda m: list(m.numbers.concat(m.numbers.map(negative))),
    "concat-nothing": lambda m: m.it.Concater(),
    "zip": lambda m: list(m.it.IterableWrapper("abc").zip(m.it.IterableWrapper("xy"))),
    "zip-other": lambda m: m.numbers.zip([1]),
    "mux": lambda m: list(m.it.IterableWrapper("abc").mux(m.it.IterableWrapper("xy"))),
    "mux-itself": lambda m: list(m.numbers.mux(m.numbers.map(negative))),
    "fork": lambda m: lists(m.numbers.fork(3)),
    "fork-one": lambda m: m.numbers.fork(1) is m.numbers,
    "fork-none": lambda m: m.numbers.fork(0),
    "fork-behind": lambda m: lists(m.numbers.fork(2, buffer_size=2)),
    "fork-together": lambda m: list(zip(*m.numbers.fork(2, buffer_size=1))),
    "fork-again": children_reset,
    "fork-way": lambda m: m.numbers.fork(2, copy="some"),
    "demux": lambda m: lists(m.numbers.demux(2, second)),
    "demux-none": lambda m: lists(
        m.numbers.demux(2, lambda x: None if x > 5 else x % 2, drop_none=True)
    ),
    "demux-out-of-range": lambda m: lists(m.numbers.demux(2, third)),
    "demux-full": lambda m: lists(m.numbers.demux(2, second, buffer_size=1)),
    "demux-left": demux_left,
    "sampler": lambda m: list(m.it.Sampler(m.numbers, m.data.RandomSampler)),
    "shuffle": lambda m: [
        list(m.numbers.shuffle(buffer_size=4)),
        list(m.numbers.shuffle().set_shuffle(False)),
    ],
    "shuffle-seed": lambda m: list(m.numbers.shuffle().set_seed(3)),
    "shuffle-none": lambda m: m.numbers.shuffle(buffer_size=0),
    "shards": lambda m: sharded(m, (3, 1)),
    "shards-of-groups": lambda m: sharded(m, (2, 1, 2), (2, 1, 3)),
    "shards-mixed": lambda m: sharded(m, (2, 1, 2), (2, 1)),
    "shards-beyond": lambda m: sharded(m, (2, 2)),
    "shards-twice": lambda m: m.settings.apply_sharding(
        m.numbers.sharding_filter().sharding_filter(), 2, 1
    ),
    "graph": lambda m: shape(
        m.graph.traverse_dps(m.numbers.zip(m.numbers.shuffle().map(negative), m.numbers))
    ),
    "graph-old": lambda m: shape(m.graph.traverse(m.numbers.shuffle(), True)),
    "graph-of-nothing": lambda m: m.graph.traverse_dps([1]),
    "lengths": lambda m: (
        len(m.numbers.batch(3)),
        len(m.numbers.map(negative).zip(m.numbers).concat(m.numbers)),
    ),
    "no-length": lambda m: len(m.numbers.filter(is_small)),
    "error": lambda m: list(m.numbers.map(fails).batch(2)),
    "no-such": lambda m: m.numbers.nothing,
    "no-such-key": lambda m: m.keyed.nothing,
    "taken": lambda m: m.data.functional_datapipe("map")(type("X", (m.data.IterDataPipe,), {})),
    "names": lambda m: (
        sorted(m.data.IterDataPipe.functions),
        sorted(m.data.MapDataPipe.functions),
    ),
    "one-iterator": invalidated,
    "own-iterator": own_iterator,
    "pickled": kept_while_pickled,
    "restored": restored,
    "restored-twice": restored_twice,
    "decoded": lambda m: list(
        m.it.IterableWrapper([("a.json", b"[1]"), ("b.txt", b"x"), ("c.7", b"z")]).routed_decode()
    ),
    "keyed": lambda m: list(m.keyed.map(negative).concat(m.keyed).batch(4)),
    "keyed-zip": lambda m: (m.keyed.zip(m.keyed.map(negative))[2], len(m.keyed.zip(m.keyed))),
    "keyed-beyond": lambda m: m.keyed.batch(2)[4],
    "keyed-shuffle": lambda m: [
        list(m.keyed.shuffle()),
        list(m.keyed.shuffle(indices=[5, 6]).set_seed(1)),
    ],
    "loader": lambda m: [x.tolist() for x in m.data.DataLoader(m.numbers.shuffle(), 3)],
    "loader-not-shuffled": lambda m: [
        x.tolist() for x in m.data.DataLoader(m.numbers.shuffle(), 3, shuffle=False)
    ],
    "loader-shuffled": lambda m: [
        x.tolist() for x in m.data.DataLoader(m.numbers, 3, shuffle=True)
    ],
    "loader-error": lambda m: list(m.data.DataLoader(m.numbers.map(fails))),
    "loader-length": lambda m: (
        len(m.data.DataLoader(m.numbers, 3)),
        repr(m.data.DataLoader(m.numbers).dataset),
    ),
    "loader-keyed": lambda m: [
        x.tolist() for x in m.data.DataLoader(m.keyed.map(negative), 2, shuffle=True)
    ],
    "deterministic": lambda m: m.data.non_deterministic(m.it.Shuffler)(m.numbers) and None,
}


def outcome(case: Callable[[Any], Any], lib: Any) -> Any:
    m = modules(lib)
    lib.manual_seed(5)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = repr(case(m))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    said = sorted({str(w.message) for w in warned if "dill" not in str(w.message)})
    return result.replace("jtorch", "torch"), said, lib.rand(2).tolist()


@pytest.mark.parametrize("name", CASES)
def test_pipes(name: str) -> None:
    assert outcome(CASES[name], jtorch) == outcome(CASES[name], torch)


@pytest.mark.filterwarnings("ignore:os.fork")
def test_loaders_with_workers() -> None:
    def passes(lib: Any) -> Any:
        m = modules(lib)
        lib.manual_seed(0)
        pipe = m.numbers.shuffle().sharding_filter().map(negative)
        loader = m.data.DataLoader(pipe, 2, shuffle=True, num_workers=2, persistent_workers=True)
        return [[x.tolist() for x in loader] for _ in range(2)], lib.rand(2).tolist()

    assert passes(jtorch) == passes(torch)
