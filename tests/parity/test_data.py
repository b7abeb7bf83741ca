"""Samplers, splits and loaders draw PyTorch's numbers in PyTorch's order."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

Point = collections.namedtuple("Point", "x y")


def plain(x: Any) -> Any:
    """Tensors as (dtype, list); containers with the names of their types."""
    if isinstance(x, jtorch.Tensor | torch.Tensor):
        return (str(x.dtype), x.tolist())
    if isinstance(x, dict):
        return (type(x).__name__, {k: plain(v) for k, v in x.items()})
    if isinstance(x, list | tuple):
        return (type(x).__name__, [plain(v) for v in x])
    return x


def both(make: Any) -> None:
    """``make(lib)`` gives the same with either library, and leaves the generator in the same
    state."""
    results = []
    for lib in (jtorch, torch):
        lib.manual_seed(5)
        results.append((plain(make(lib)), lib.rand(3).tolist()))
    assert results[0] == results[1]


SAMPLERS = {
    "sequential": lambda D, lib: D.SequentialSampler(range(5)),
    "random": lambda D, lib: D.RandomSampler(range(50)),
    "replacement": lambda D, lib: D.RandomSampler(range(7), replacement=True, num_samples=70),
    "more": lambda D, lib: D.RandomSampler(range(7), num_samples=17),
    "fewer": lambda D, lib: D.RandomSampler(range(7), num_samples=3),
    "generator": lambda D, lib: D.RandomSampler(range(9), generator=lib.Generator().manual_seed(3)),
    "subset": lambda D, lib: D.SubsetRandomSampler([3, 1, 4, 15, 92]),
    "weighted": lambda D, lib: D.WeightedRandomSampler([0.1, 5.0, 0.3, 2.0], 12),
    "weighted-once": lambda D, lib: D.WeightedRandomSampler(
        [0.1, 5.0, 0.3, 2.0], 3, replacement=False
    ),
    "batches": lambda D, lib: D.BatchSampler(D.RandomSampler(range(10)), 3, False),
    "whole-batches": lambda D, lib: D.BatchSampler(D.SequentialSampler(range(10)), 3, True),
    "distributed": lambda D, lib: D.DistributedSampler(range(11), 3, 1, seed=2),
    "distributed-drop": lambda D, lib: D.DistributedSampler(
        range(11), 3, 2, drop_last=True, shuffle=False
    ),
}


def test_a_pass_with_replacement_may_be_endless_in_effect() -> None:
    """Nothing is made ahead for indices that are not asked for."""

    def make(lib: Any) -> Any:
        indices = iter(lib.utils.data.RandomSampler(range(7), replacement=True, num_samples=10**13))
        return [next(indices) for _ in range(40)]

    both(make)


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name: str) -> None:
    def make(lib: Any) -> Any:
        sampler = SAMPLERS[name](lib.utils.data, lib)
        return [list(sampler), list(sampler), len(sampler)]

    both(make)


@pytest.mark.parametrize("lengths", [[6, 4], [0.5, 0.3, 0.2], [0.33, 0.33, 0.34]])
def test_random_split(lengths: list[float]) -> None:
    both(lambda lib: [list(s) for s in lib.utils.data.random_split(range(10), lengths)])
    both(
        lambda lib: [
            s.indices
            for s in lib.utils.data.random_split(
                range(10), lengths, generator=lib.Generator().manual_seed(1)
            )
        ]
    )


def rows(lib: Any, n: int = 10) -> Any:
    x = lib.tensor(np.arange(2 * n, dtype=np.float32).reshape(n, 2).tolist())
    return lib.utils.data.TensorDataset(x, lib.arange(n))


class Mixed:
    """Samples of every kind that the default collation knows."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib

    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> Any:
        return {
            "tensor": self.lib.tensor([i, i + 1]),
            "int": i,
            "float": i / 2,
            "text": f"sample {i}",
            "array": np.full((2, 2), i, np.int16),
            "numpy": np.float32(i),
            "pair": (i, [i, float(i)]),
            "point": Point(i, -i),
            "random": self.lib.rand(1),
        }


LOADERS = {
    "plain": lambda D, lib: D.DataLoader(rows(lib), batch_size=3),
    "shuffled": lambda D, lib: D.DataLoader(rows(lib), batch_size=4, shuffle=True),
    "own generator": lambda D, lib: D.DataLoader(
        rows(lib), batch_size=4, shuffle=True, generator=lib.Generator().manual_seed(7)
    ),
    "dropping": lambda D, lib: D.DataLoader(rows(lib), batch_size=4, drop_last=True),
    "one by one": lambda D, lib: D.DataLoader(rows(lib, 3), batch_size=None),
    "subset": lambda D, lib: D.DataLoader(
        D.random_split(rows(lib), [7, 3])[0], batch_size=3, shuffle=True
    ),
    "batch sampler": lambda D, lib: D.DataLoader(rows(lib), batch_sampler=[[1, -1], [0, 5, 5]]),
    "collate": lambda D, lib: D.DataLoader(
        rows(lib), batch_size=2, collate_fn=lambda b: [x[1] for x in b]
    ),
    "mixed": lambda D, lib: D.DataLoader(Mixed(lib), batch_size=3, shuffle=True),
    "concatenated": lambda D, lib: D.DataLoader(rows(lib, 3) + rows(lib, 4), batch_size=2),
    "stacked": lambda D, lib: D.DataLoader(
        D.StackDataset(a=rows(lib, 3), b=range(3)), batch_size=2
    ),
    "list": lambda D, lib: D.DataLoader([(1, 2.0), (3, 4.0)], batch_size=2),
    # PyTorch's workers are forked, which a process with XLA's threads does not survive: there, the
    # oracle works without.
    "workers": lambda D, lib: D.DataLoader(
        rows(lib), batch_size=3, shuffle=True, num_workers=int(lib is jtorch)
    ),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loaders(name: str) -> None:
    def make(lib: Any) -> Any:
        loader = LOADERS[name](lib.utils.data, lib)
        return [list(loader), list(loader), len(loader)]

    both(make)


def test_workers_seeds() -> None:
    """Each worker's generators are seeded as PyTorch's."""
    from torch.utils.data._utils.worker import _generate_state

    from jtorch.utils.data._utils.worker import seed_everything

    state = np.random.get_state()
    try:
        for base, worker in ((1234567890123456789, 3), (7, 0)):
            assert seed_everything(base, worker) == base + worker
            ours = np.random.rand(3).tolist()
            np.random.seed(_generate_state(base, worker))
            assert ours == np.random.rand(3).tolist()
    finally:
        np.random.set_state(state)


MISTAKES = {
    "workers": lambda D: D.DataLoader([1], num_workers=-1),
    "timeout": lambda D: D.DataLoader([1], timeout=-1),
    "prefetch": lambda D: D.DataLoader([1], prefetch_factor=2),
    "persistent": lambda D: D.DataLoader([1], persistent_workers=True),
    "sampler and shuffle": lambda D: D.DataLoader([1], sampler=[0], shuffle=True),
    "batch sampler": lambda D: D.DataLoader([1], batch_sampler=[[0]], batch_size=2),
    "no batches to drop": lambda D: D.DataLoader([1], batch_size=None, drop_last=True),
    "batch size": lambda D: D.DataLoader([1], batch_size=0),
    "stream shuffled": lambda D: D.DataLoader(type("S", (D.IterableDataset,), {})(), shuffle=True),
    "stream sampled": lambda D: D.DataLoader(type("S", (D.IterableDataset,), {})(), sampler=[0]),
    "context": lambda D: D.DataLoader([1], multiprocessing_context="spawn"),
    "samples": lambda D: D.RandomSampler([1], num_samples=0),
    "empty": lambda D: D.RandomSampler([]),
    "replacement": lambda D: D.RandomSampler([1], replacement=1),
    "weights": lambda D: D.WeightedRandomSampler([[1.0]], 2),
    "rank": lambda D: D.DistributedSampler([1], 2, 2),
    "lengths": lambda D: D.random_split([1, 2, 3], [1, 1]),
    "fractions": lambda D: D.random_split([1, 2, 3], [1.5, -0.5]),
    "unequal": lambda D: next(iter(D.DataLoader([[1], [1, 2]], batch_size=2))),
    "unknown": lambda D: next(iter(D.DataLoader([object()]))),
    "fixed": lambda D: setattr(D.DataLoader([1]), "batch_size", 3),
    "stack": lambda D: D.StackDataset([1], [1, 2]),
    "concatenation": lambda D: D.ConcatDataset([]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_words_of_errors(name: str) -> None:
    words = []
    for lib in (jtorch, torch):
        with pytest.raises(Exception) as caught:
            MISTAKES[name](lib.utils.data)
        words.append((caught.type, str(caught.value)))
    assert words[0] == words[1]
