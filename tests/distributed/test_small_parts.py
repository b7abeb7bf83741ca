"""Small functions of PyTorch's distributed modules, against PyTorch's own."""

from __future__ import annotations

import importlib
import itertools
from types import SimpleNamespace
from typing import Any

import pytest


def both(module: str) -> list[Any]:
    pytest.importorskip("torch")
    return [importlib.import_module(f"{root}.distributed.{module}") for root in ("jtorch", "torch")]


@pytest.mark.parity
def test_how_chunks_lie_to_each_other() -> None:
    ours, theirs = both("checkpoint.resharding")
    places = [
        SimpleNamespace(offsets=(i, j), sizes=(n, 2))
        for i, j, n in itertools.product((0, 1, 3), (0, 2), (1, 3))
    ]
    overlaps = 0
    for a, b in itertools.product(places, places):
        found = ours._check_shard_metadata_pair_overlap(a, b)
        assert found == theirs._check_shard_metadata_pair_overlap(a, b)
        region = ours._shards_get_overlap_region_wrt_saved_tensor(a, b)
        assert region == theirs._shards_get_overlap_region_wrt_saved_tensor(a, b)
        overlaps += found
    assert 0 < overlaps < len(places) ** 2


@pytest.mark.parity
def test_options_of_launchers() -> None:
    ours, theirs = both("run")
    for text in ("2", "1:3"):
        assert ours.parse_min_max_nnodes(text) == theirs.parse_min_max_nnodes(text)
    for run in (ours, theirs):
        with pytest.raises(RuntimeError, match='nnodes=1:2:3 is not in "MIN:MAX" format'):
            run.parse_min_max_nnodes("1:2:3")
    for options in (
        ["--master-port=5"],
        ["--rdzv-endpoint=h:1"],
        ["--rdzv-backend=c10d"],
        ["--master-addr=h", "--master-port=7"],
    ):
        ends = [run.get_rdzv_endpoint(run.parse_args([*options, "x.py"])) for run in (ours, theirs)]
        assert ends[0] == ends[1]
    assert ours.get_use_env(SimpleNamespace()) is theirs.get_use_env(SimpleNamespace()) is True
    for launch in both("launch"):
        assert (
            launch.parse_args(["x.py"]).use_env is False
            and launch.parse_args(["--use-env", "x.py"]).use_env is True
        )
        with pytest.raises(ValueError, match="you must also set the '--use-env' flag"):
            launch.launch(launch.parse_args(["--no-python", "x.py"]))


@pytest.mark.parity
def test_ranks_as_text() -> None:
    ours, theirs = both("collective_utils")
    for ranks in ([3], [0, 1, 2, 5, 8, 14, 13], [4, 2], [9, 1, 5], [0, 2, 3, 4, 9]):
        assert ours._summarize_ranks(ranks) == theirs._summarize_ranks(ranks)
    for module in (ours, theirs):
        with pytest.raises(AssertionError, match="duplicates"):
            module._summarize_ranks([1, 1])


def test_flags_that_cannot_be_set() -> None:
    config = importlib.import_module("jtorch.distributed.config")
    config.use_torchcomms = False
    with pytest.raises(NotImplementedError, match="use_torchcomms"):
        config.use_torchcomms = True
    with pytest.raises(AttributeError, match="does not exist"):
        config.compile_on_two_ranks = True
    assert not config.use_torchcomms
