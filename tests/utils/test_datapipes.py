"""Data pipes: items, one iterator at a time, copies, files, graphs, and loaders around them."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch.utils.data import (
    DataLoader,
    DFIterDataPipe,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
    graph,
    graph_settings,
    guaranteed_datapipes_determinism,
    non_deterministic,
)
from jtorch.utils.data.datapipes.iter import (
    Batcher,
    FileLister,
    FileOpener,
    IterableWrapper,
    Shuffler,
)
from jtorch.utils.data.datapipes.map import SequenceWrapper
from jtorch.utils.data.datapipes.utils.common import StreamWrapper


def test_classes_register_methods() -> None:
    class Source(IterDataPipe):
        def __iter__(self) -> Iterator[int]:
            yield from range(3)

    @functional_datapipe("twice")
    class Twice(IterDataPipe):
        def __init__(self, source: IterDataPipe) -> None:
            self.source = source

        def __iter__(self) -> Iterator[int]:
            for x in self.source:
                yield 2 * x

    try:
        assert list(Source().twice()) == [0, 2, 4] and [
            x.tolist() for x in DataLoader(Source().twice(), 2)
        ] == [[0, 2], [4]]
        with pytest.raises(Exception, match="already taken"):
            functional_datapipe("twice")(Twice)
    finally:
        del IterDataPipe.functions["twice"]
    assert not hasattr(Source(), "no_such_method")


def test_offered_pipes_can_be_subclassed() -> None:
    @functional_datapipe("summed")
    class Summed(Batcher):
        def __init__(self, source: IterDataPipe, size: int) -> None:
            super().__init__(source, size, wrapper_class=sum)

    try:
        assert list(IterableWrapper(range(5)).summed(2)) == [1, 5, 4]
    finally:
        del IterDataPipe.functions["summed"]


def test_one_iterator_at_a_time() -> None:
    pipe = IterableWrapper(range(4)).map(str)
    first = iter(pipe)
    assert next(first) == "0"
    second = iter(pipe)
    assert next(first) == "1"  # the second has not begun
    assert next(second) == "0"
    with pytest.raises(
        RuntimeError,
        match="This iterator has been invalidated because another iterator has been created",
    ):
        next(first)
    assert list(second) == ["1", "2", "3"]


def test_items_are_copies() -> None:
    items: list[Any] = [[1], [2]]
    for item in IterableWrapper(items):
        item.append(0)
    assert items == [[1], [2]]
    for item in IterableWrapper(items, deepcopy=False):
        item.append(0)
    assert items == [[1, 0], [2, 0]]
    with pytest.warns(UserWarning, match="can not be deepcopied"):
        assert list(IterableWrapper(x for x in range(2))) == [0, 1]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("b.txt", "a.txt", "c.bin", "inner/d.txt"):
        (tmp_path / name).write_text(f"in {name}")
    names = FileLister(str(tmp_path), "*.txt", recursive=True)
    assert [Path(p).name for p in names] == ["a.txt", "b.txt", "d.txt"]
    opened = list(FileOpener(FileLister(str(tmp_path), "a.*")))
    assert opened[0][1].read() == "in a.txt"
    stream = opened[0][1].file_obj
    del opened
    gc.collect()
    assert stream.closed
    assert [
        piece
        for _, piece in FileOpener(FileLister(str(tmp_path), "*.bin"), mode="b").read_from_stream(4)
    ] == [b"in c", b".bin"]
    with pytest.raises(ValueError, match="Invalid mode w"):
        FileOpener([], mode="w")


def test_streams_of_streams(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    parent = StreamWrapper((tmp_path / "a").open())
    child = StreamWrapper(parent.file_obj, parent, name="child")
    parent.autoclose()
    assert not parent.closed and "child" in repr(child)
    StreamWrapper.close_streams({"some": [child]})
    assert child.closed and parent.closed


def test_graphs() -> None:
    source = IterableWrapper(range(8))
    shuffled = source.shuffle()
    pipe = shuffled.zip(source.map(str)).sharding_filter()
    found = {
        type(p).__name__.removesuffix("IterDataPipe")
        for p in graph_settings.get_all_graph_pipes(graph.traverse_dps(pipe))
    }
    assert found == {"ShardingFilter", "Zipper", "Shuffler", "Mapper", "IterableWrapper"}
    assert graph_settings.apply_shuffle_settings(pipe, False) is pipe and list(shuffled) == list(
        range(8)
    )
    graph_settings.apply_sharding(pipe, 4, 3)
    assert len(pipe) == 2
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        assert isinstance(graph_settings.apply_shuffle_settings(source, True), Shuffler)
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        graph_settings.apply_sharding(pipe.batch(2).sharding_filter(), 2, 0)


def test_seeds_of_loaders() -> None:
    pipe = IterableWrapper(range(20)).shuffle()
    orders = []
    for _ in range(2):
        torch.manual_seed(3)
        loader = DataLoader(pipe, None)
        orders.append([list(loader), list(loader)])
    assert (
        orders[0] == orders[1]
        and orders[0][0] != orders[0][1]
        and sorted(orders[0][0]) == list(range(20))
    )
    # Shuffled or not, the default generator moves on alike.
    states = []
    for shuffle in (True, False):
        torch.manual_seed(3)
        list(DataLoader(pipe, None, shuffle=shuffle))
        states.append(torch.rand(2).tolist())
    assert states[0] == states[1]


# said where dill is not installed
@pytest.mark.filterwarnings("ignore:.*function is not supported by pickle")
def test_workers_share_out_and_shuffle_alike() -> None:
    pipe = IterableWrapper(range(12)).shuffle().sharding_filter().map(lambda x: 10 * x)
    loader = DataLoader(pipe, None, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    assert sorted(first) == sorted(second) == [10 * x for x in range(12)] and first != second
    keyed = SequenceWrapper(range(6)).map(lambda x: x + 1)
    assert [x.tolist() for x in DataLoader(keyed, 3, num_workers=1)] == [[1, 2, 3], [4, 5, 6]]


def test_determinism() -> None:
    anyway = non_deterministic(Shuffler)
    by_size = non_deterministic(lambda source, **kwargs: len(source) > 2)(Shuffler)
    few = IterableWrapper(range(2))
    with guaranteed_datapipes_determinism():
        with pytest.raises(
            TypeError, match="ShufflerIterDataPipe is non-deterministic, but you set"
        ):
            anyway(few)
        with pytest.raises(TypeError, match="is non-deterministic with the inputs"):
            by_size(IterableWrapper(range(3)))
        assert sorted(by_size(few)) == [0, 1]
    assert sorted(anyway(few)) == [0, 1]


def test_data_frames_are_refused_by_name() -> None:
    with pytest.raises(
        NotImplementedError, match=r"IterDataPipe\.trace_as_dataframe is not offered"
    ):
        IterableWrapper([1]).trace_as_dataframe()

    class Frames(DFIterDataPipe):
        def __iter__(self) -> Iterator[int]:
            yield 1

    assert list(Frames().batch(2)) == [[1]]
    with pytest.raises(NotImplementedError, match="pipes of data frames are left out"):
        Frames().map(str)
    CaptureDataFrame = importlib.import_module(
        "jtorch.utils.data.datapipes.dataframe"
    ).CaptureDataFrame

    assert issubclass(type("Mine", (CaptureDataFrame,), {}), CaptureDataFrame)
    with pytest.raises(NotImplementedError, match="CaptureDataFrame is not offered"):
        CaptureDataFrame()


def test_keyed_pipes() -> None:
    pipe = SequenceWrapper({"a": 1, "b": 2}).map(float)
    assert (
        pipe["b"] == 2.0
        and isinstance(pipe, MapDataPipe)
        and isinstance(pipe.shuffle(indices=["a"]), IterDataPipe)
    )
    assert sorted(pipe.shuffle(indices=["a", "b"])) == [1.0, 2.0]


def test_programs_without_pipes_do_not_load_them() -> None:
    program = (
        "import sys; from jtorch.utils.data import DataLoader; list(DataLoader([1, 2])); "
        "sys.exit(any('datapipes' in name or 'utils.data.graph' in name for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
