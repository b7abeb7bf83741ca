"""``DataLoader``: batches of a dataset in the sampler's order, made here or in worker processes."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
import queue
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import jtorch as torch
from jtorch._src.tensor import shared_memory
from jtorch._utils import ExceptionWrapper

from . import _utils
from ._utils import pipes
from ._utils.collate import default_collate as default_collate
from ._utils.collate import default_convert as default_convert
from ._utils.fetch import _DatasetKind
from ._utils.worker import RESUME, Job, NotLoaded, _IterableDatasetStopIteration
from ._utils.worker import get_worker_info as get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Self

    from ..._src.facts.kinds import Values


__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]

_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[Any]], Any]

_T_co = TypeVar("_T_co", covariant=True)


def _sharding_worker_init_fn(
    worker_init_fn: _worker_init_fn_t | None, world_size: int, rank_id: int, worker_id: int
) -> None:
    """Gives a worker its part of a pipe: the parts go over the processes first, then over their
    workers."""
    info = get_worker_info()
    if info is None:
        raise AssertionError("Worker info is None in sharding worker init function")
    if not pipes.is_pipe(info.dataset):
        raise AssertionError("datapipe must be an instance of IterDataPipe or MapDataPipe")
    pipes.shard(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of streams: it asks for one more, without end."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """Iterates over a dataset in batches.

    Orders and seeds are PyTorch's. Batches of a ``TensorDataset`` (and of its ``Subset``) under the
    default collation are taken out at once instead of row by row.

    Args:
        dataset: where examples come from: with ``__getitem__`` and ``__len__``, or an
            ``IterableDataset``.
        batch_size: examples in a batch; None for examples as they come.
        shuffle: whether each epoch has another order.
        sampler: gives the indices in their order, in place of ``shuffle``.
        batch_sampler: gives lists of indices, in place of ``batch_size``, ``shuffle``, ``sampler``
            and ``drop_last``.
        num_workers: how many processes fetch examples; 0 for this one.
        collate_fn: makes a batch of a list of examples; tensors are stacked if it is not given.
        pin_memory: without effect, see below.
        drop_last: whether a last batch that is not full is left out.
        timeout: how many seconds to wait for a batch of the workers; 0 for ever.
        worker_init_fn: called in each worker with its number before it begins.
        multiprocessing_context: how workers are started: a context of ``multiprocessing`` or the
            name of one.
        generator: draws the order, and the seeds of the workers.
        prefetch_factor: how many batches each worker prepares ahead; 2 if there are workers.
        persistent_workers: whether workers go on living after an epoch.
        pin_memory_device: without effect, see below.
        in_order: whether batches of several workers come in the order of the sampler.

    Differs from torch:
        Workers are started afresh, and kept for the next iterator; classes and functions of the
        main program reach them by value. They are forks, which compute what NumPy can (see
        ``docs/host-tier.md``) and serve one iterator, where ``multiprocessing_context`` is
        ``"fork"``, or where none is given and the dataset or a function cannot be sent: locks,
        queues and values of ``multiprocessing``, classes of modules that no other process finds.
        ``pin_memory`` changes nothing: transfers to an accelerator are asynchronous already.
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers "
                "> 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        self.dataset = pipes.wrapped(dataset)
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            switched = pipes.is_iterated(dataset)
            if switched:
                pipes.switch_shuffling(dataset, shuffle)
            for name, value, unspecified in (
                ("shuffle", shuffle, switched or shuffle in {False, None}),
                ("sampler", sampler, sampler is None),
                ("batch_sampler", batch_sampler, batch_sampler is None),
            ):
                if not unspecified:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but "
                        f"got {name}={value}"
                    )
        else:
            shuffle = bool(shuffle)
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = (
            collate_fn
            if collate_fn is not None
            else default_collate
            if self._auto_collation
            else default_convert
        )
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        if num_workers > 0 and not _wants_fork(self):
            _workers()[0].prepare(num_workers)
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """The context that was asked for."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        if multiprocessing_context is not None:
            if self.num_workers <= 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading "
                    f"(num_workers > 0), but got num_workers={self.num_workers}"
                )
            if isinstance(multiprocessing_context, str):
                methods = multiprocessing.get_all_start_methods()
                if multiprocessing_context not in methods:
                    raise ValueError(
                        "multiprocessing_context option should specify a valid start method in "
                        f"{methods!r}, but got multiprocessing_context={multiprocessing_context!r}"
                    )
                multiprocessing_context = multiprocessing.get_context(multiprocessing_context)
            if not isinstance(multiprocessing_context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string "
                    "specifying the start method, but got "
                    f"multiprocessing_context={multiprocessing_context}"
                )
        self.__multiprocessing_context = multiprocessing_context

    def __setattr__(self, attr: str, val: object) -> None:
        fixed = (
            "batch_size",
            "batch_sampler",
            "sampler",
            "drop_last",
            "dataset",
            "persistent_workers",
        )
        if self.__initialized and attr in fixed:
            raise ValueError(
                f"{attr} attribute should not be set after {self.__class__.__name__} is initialized"
            )
        super().__setattr__(attr, val)

    def _get_iterator(self) -> Any:
        return (
            _SingleProcessDataLoaderIter(self)
            if self.num_workers == 0
            else _MultiProcessingDataLoaderIter(self)
        )

    def __iter__(self) -> Any:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is not None and not self._iterator._can_go_on():
            self._iterator = None
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns of more workers than there are processors."""
        if not self.num_workers:
            return
        with_set = hasattr(os, "sched_getaffinity")
        cpus = len(os.sched_getaffinity(0)) if with_set else os.cpu_count()
        if cpus is None or self.num_workers > cpus:
            aside = "" if with_set else " (`cpuset` is not taken into account)"
            suggestion = (
                (
                    "DataLoader is not able to compute a suggested max number of worker in current "
                    "system."
                )
                if cpus is None
                else f"Our suggested max number of worker in current system is {cpus}{aside}, "
                "which is smaller than what this DataLoader is going to create."
            )
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. "
                f"{suggestion} Please be aware that excessive worker creation might get DataLoader "
                "running slow or even freeze, lower the worker number to avoid potential "
                "slowness/freeze if necessary.",
                stacklevel=3,
            )


class _BaseDataLoaderIter:
    def __init__(self, loader: DataLoader) -> None:
        self._dataset = loader.dataset
        self._shared_seed: int | None = None
        self._sow(loader)
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._sampler_iter = iter(self._index_sampler)
        # Drawn without workers too: the default generator must move on alike, whatever num_workers
        # is.
        self._base_seed = int(
            torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        )
        self._num_yielded = 0
        # What iterators of other packages read that continue this class: nothing is pinned, as
        # ``pin_memory`` says.
        self._pin_memory = False
        self._pin_memory_device: str | None = None
        self._world_size, self._rank = pipes.place()

    def __iter__(self) -> Self:
        return self

    def _sow(self, loader: DataLoader[object]) -> None:
        if pipes.is_iterated(self._dataset):
            self._shared_seed = pipes.shared_seed(loader.generator)
            pipes.sow(self._dataset, self._shared_seed)

    def _reset(self, loader: DataLoader[object], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._sow(loader)

    def _next_index(self) -> object:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> list[torch.Tensor | int] | torch.Tensor:
        data = self._next_data()
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and expected is not None
            and self._num_yielded > expected
        ):
            text = (
                f"Length of IterableDataset {self._dataset} was reported to be {expected}(when "
                f"accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                text += (
                    "For multiprocessing data-loading, this could be caused by not properly "
                    "configuring the IterableDataset replica at each worker. Please see "
                    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset "
                    "for examples."
                )
            warnings.warn(text, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[object]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if pipes.is_pipe(self._dataset):
            pipes.shard(self._dataset, *pipes.place())
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> list[torch.Tensor]:
        return self._dataset_fetcher.fetch(self._next_index())


def _workers() -> tuple[ModuleType, ...]:
    """The modules that have to do with worker processes, which few programs need."""
    from ._utils import pool, transport

    return pool, transport


def _wants_fork(loader: DataLoader[object]) -> bool:
    context = loader.multiprocessing_context
    return context is not None and context.get_start_method() == "fork"


def _packed(jobs: list[Job], loader: DataLoader[object]) -> Values | None:
    """What is sent to workers that are started afresh; None where it cannot be sent and they may be
    forks instead, which inherit it.

    Raises:
        Exception: what pickling raised, if another start method was asked for, or there are no
            forks.
    """
    _, transport = _workers()
    try:
        return [transport.dumps(job) for job in jobs]
    except Exception:
        if not _may_fork(loader):
            raise
        return None


def _may_fork(loader: DataLoader[object]) -> bool:
    return (
        loader.multiprocessing_context is None and "fork" in multiprocessing.get_all_start_methods()
    )


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands indices to workers round robin, a few ahead, and gives their batches back in order.

    ``_task_info`` holds for each batch on its way the worker, and the batch itself where it came
    too early.
    """

    def __init__(self, loader: DataLoader[object]) -> None:
        pool, transport = _workers()
        super().__init__(loader)
        self._shutdown = True  # until there is something to shut down
        self._prefetch_factor = loader.prefetch_factor or 0
        if self._prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        self._in_order = loader.in_order
        self._loads, self._dumps, self._give_back = transport.loads, transport.dumps, pool.give_back
        jobs = [
            Job(
                kind=self._dataset_kind,
                dataset=self._dataset,
                auto_collation=self._auto_collation,
                collate_fn=self._collate_fn,
                drop_last=self._drop_last,
                base_seed=self._base_seed,
                init_fn=loader.worker_init_fn,
                worker_id=i,
                num_workers=self._num_workers,
                shared_seed=self._shared_seed,
                place=pipes.place() if pipes.is_pipe(self._dataset) else (1, 0),
                sharing=shared_memory.STRATEGY[0],
            )
            for i in range(self._num_workers)
        ]
        self._results = queue.SimpleQueue()
        payloads = None if _wants_fork(loader) else _packed(jobs, loader)
        # until a worker has loaded its own
        self._jobs = jobs if payloads is not None and _may_fork(loader) else None
        self._fork = pool.fork
        taken: Sequence[Any] = (
            pool.fork(jobs, self._results)
            if payloads is None
            else pool.take(self._num_workers, self._results)
        )
        self._workers = list(taken)
        self._number_of = {
            getattr(worker, "worker", worker): i for i, worker in enumerate(self._workers)
        }
        self._shutdown = False
        for worker, payload in zip(self._workers, payloads or ()):
            worker.send_packed(payload)
        self._generation = 0
        self._asked: dict[int, tuple[int, object]] = {}
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader[object], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = 0
        self._rcvd_idx = 0
        self._task_info = {}
        self._tasks_outstanding = 0
        self._workers_status = [True] * self._num_workers
        self._workers_num_tasks = [0] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        self._generation += 1
        if not first_iter:
            for worker in self._workers:
                worker.send((RESUME, self._shared_seed))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _receive(self) -> tuple[int, Any]:
        """The next message of this pass.

        Raises:
            RuntimeError: if a worker has died, or nothing came in time.
        """
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            wait = (
                _utils.MP_STATUS_CHECK_INTERVAL
                if deadline is None
                else max(0.0, deadline - time.monotonic())
            )
            try:
                worker, message = self._results.get(timeout=wait)
            except queue.Empty:
                if deadline is not None:
                    self._shutdown_workers(healthy=False)
                    raise RuntimeError(
                        f"DataLoader timed out after {self._timeout} seconds"
                    ) from None
                continue
            if worker not in self._number_of:  # one that a fork has taken the place of
                continue
            if message is None:
                worker.join()
                pids = ", ".join(str(w.pid) for w in self._workers if not w.is_alive())
                self._shutdown_workers(healthy=False)
                raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")
            (job, generation, number), data = self._loads(message)
            if job == worker.job and generation == self._generation:
                if self._jobs is not None:
                    if isinstance(data, NotLoaded):
                        self._begin_again(self._jobs)
                        continue
                    self._jobs = None
                return number, data

    def _begin_again(self, jobs: list[Job]) -> None:
        """Puts forks in the place of workers that could not load their job, which a fork
        inherits."""
        self._jobs = None
        for worker in self._workers:
            self._give_back(worker, True)
        self._workers[:] = self._fork(jobs, self._results)
        self._number_of = {worker: i for i, worker in enumerate(self._workers)}
        for number, (worker_id, index) in self._asked.items():
            worker = self._workers[worker_id]
            worker.send(((worker.job, self._generation, number), index))
        self._asked = {}

    def _next_data(self) -> list[torch.Tensor | int] | torch.Tensor:
        while True:
            # Skip batches of streams that ended before them.
            while self._rcvd_idx < self._send_idx:
                info = self._task_info.get(self._rcvd_idx)
                if info is not None:
                    if len(info) == 2 or self._workers_status[info[0]]:
                        break
                    del self._task_info[self._rcvd_idx]
                self._rcvd_idx += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if len(self._task_info[self._rcvd_idx]) == 2:
                worker_id, data = self._task_info.pop(self._rcvd_idx)
                self._rcvd_idx += 1
                return self._process_data(data, worker_id)
            if self._shutdown:
                raise RuntimeError("DataLoader workers were shut down by an earlier error")
            number, data = self._receive()
            self._tasks_outstanding -= 1
            if isinstance(data, _IterableDatasetStopIteration):
                self._workers_status[data.worker_id] = False
                self._try_put_index()
                continue
            if number != self._rcvd_idx and self._in_order:
                self._task_info[number] += (data,)
                continue
            worker_id = self._task_info.pop(number)[0]
            if number == self._rcvd_idx:
                self._rcvd_idx += 1
            return self._process_data(data, worker_id)

    def _try_put_index(self) -> None:
        max_tasks = self._prefetch_factor * self._num_workers
        try:
            index = self._next_index()
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker_id = next(self._worker_queue_idx_cycle)
            if self._workers_status[worker_id]:
                fair = max_tasks // sum(self._workers_status)
                if self._in_order or self._workers_num_tasks[worker_id] < fair:
                    break
        else:
            return
        worker = self._workers[worker_id]
        worker.send(((worker.job, self._generation, self._send_idx), index))
        if self._jobs is not None:
            self._asked[self._send_idx] = (worker_id, index)
        self._task_info[self._send_idx] = (worker_id,)
        self._workers_num_tasks[worker_id] += 1
        self._tasks_outstanding += 1
        self._send_idx += 1

    def _process_data(
        self, data: list[torch.Tensor | int] | torch.Tensor, worker_id: int
    ) -> list[torch.Tensor | int] | torch.Tensor:
        self._workers_num_tasks[worker_id] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _can_go_on(self) -> bool:
        """Whether another pass can be made with these workers: not after an error of theirs, nor
        when one has died since."""
        if not self._shutdown and not all(worker.is_alive() for worker in self._workers):
            self._shutdown_workers(healthy=False)
        return not self._shutdown

    def _shutdown_workers(self, healthy: bool = True) -> None:
        if self._shutdown:
            return
        self._shutdown = True
        for worker in self._workers:
            self._give_back(worker, healthy)

    def __del__(self) -> None:
        try:
            self._shutdown_workers()
        except Exception:  # the interpreter may be on its way out
            pass
