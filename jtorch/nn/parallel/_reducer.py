"""What ``DistributedDataParallel`` does with gradients: flat buckets that are combined over the processes once all gradients are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np

import jtorch as torch
from jtorch.autograd.engine import queue_callback

_PRIOR = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has "
    "parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
    "participate in calculating loss. \nIf you already have done the above, then the distributed data parallel module wasn't able to "
    "locate the output tensors in the return value of your module's `forward` function.\n"
)


@cache
def _transport() -> Any:
    """What sends and receives, which programs of one process never load."""
    from jtorch.distributed import _arrays, _programs, collectives, works

    return SimpleNamespace(arrays=_arrays, programs=_programs, collectives=collectives, works=works)


class GradBucket:
    """The gradients of some parameters in one flat tensor, as comm hooks get them."""

    def __init__(self, index: int, count: int, buffer: torch.Tensor, parameters: list[torch.Tensor]) -> None:
        self._index, self._count, self._buffer, self._parameters = index, count, buffer, parameters

    def index(self) -> int:
        """Its number: that of the last parameters is 0."""
        return self._index

    def is_last(self) -> bool:
        """Whether it is the last one of this backward pass."""
        return self._index == self._count - 1

    def buffer(self) -> torch.Tensor:
        """The flat tensor."""
        return self._buffer

    def set_buffer(self, buffer: torch.Tensor) -> None:
        """Replaces the flat tensor."""
        self._buffer = buffer

    def gradients(self) -> list[torch.Tensor]:
        """Views of the flat tensor, one for each parameter."""
        sizes = [p.numel() for p in self._parameters]
        return [part.view(p.shape) for part, p in zip(self._buffer.split(sizes), self._parameters, strict=True)]

    def parameters(self) -> list[torch.Tensor]:
        """The parameters."""
        return list(self._parameters)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in what a module returned."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from tensors_in(item)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from tensors_in(getattr(value, name))


def reached(outputs: Any) -> set[int]:
    """The ids of the leaves that outputs depend on."""
    found, seen = set(), set()
    pending: list[Any] = []
    for t in tensors_in(outputs):
        if t.grad_fn is not None:
            pending.append(t.grad_fn)
        elif t.requires_grad:
            found.add(id(t))
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.add(id(leaf))
        pending += [following for following, _ in node.next_functions]
    return found


class Flat:
    """Memory for the gradients of some parameters, kept from pass to pass.

    Each part begins where XLA takes memory as it is, as do the gradients that come back.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        programs = _transport().programs
        dtype = parameters[0]._aval.dtype
        unit = programs.ALIGNED // dtype.itemsize
        self.shapes = [tuple(p.shape) for p in parameters]
        sizes = [p.numel() for p in parameters]
        ends = [*accumulate(-(-n // unit) * unit for n in sizes)]
        self.bounds = [(at, at + n) for at, n in zip([0, *ends], sizes, strict=False)]
        self.whole = programs.aligned((ends[-1],), dtype)
        self.parts = [self.whole[at:end].reshape(shape) for (at, end), shape in zip(self.bounds, self.shapes, strict=True)]


class Reducer:
    """Collects the gradients of a backward pass and combines them.

    Args:
        parameters: those that require grad, with their names.
        group: the processes.
        cap: bytes of a bucket, and of the first.
        find_unused: whether a pass may leave out parameters.
        as_view: whether gradients become views of the buckets.
        sparse: names of parameters whose gradients are sparse tensors, which are combined by themselves.
    """

    def __init__(
        self,
        parameters: Sequence[tuple[str, torch.Tensor]],
        group: Any,
        cap: tuple[int, int],
        find_unused: bool,
        as_view: bool,
        sparse: Collection[str] = (),
    ) -> None:
        self.names, self.parameters = [n for n, _ in parameters], [p for _, p in parameters]
        self.group, self.find_unused, self.as_view = group, find_unused, as_view
        self.sparse = [i for i, n in enumerate(self.names) if n in sparse]
        #: By how much sums are divided; by the number of processes if it is None.
        self.divisor: int | None = None
        self.hook: tuple[Any, Callable[..., Any]] | None = None
        #: What is done with gradients that are combined, if anything.
        self.steps: Callable[[], None] | None = None
        self.static = False
        #: With ``static``, what the first pass has used anywhere.
        self._fixed: set[int] | None = None
        self._expecting = self._begun = False
        self._pending: set[int] = set()
        self._used: set[int] = set()
        # As in PyTorch the first pass, which may still tell in which order gradients come, has one bucket.
        self._cap = cap
        self._regroup = not find_unused
        self._joined = self._whole()
        self._memory: dict[int, Flat] = {}
        self.buckets = self._joined if self._regroup else self._in_buckets(cap)
        self._handles = [p.register_post_accumulate_grad_hook(self._note(i)) for i, p in enumerate(self.parameters)]

    def _note(self, index: int) -> Callable[[Any], None]:
        return lambda _: self._ready(index)

    def _whole(self) -> list[list[int]]:
        found: dict[Any, list[int]] = {}
        for i, p in enumerate(self.parameters):
            if i not in self.sparse:
                found.setdefault(p.dtype, []).append(i)
        return list(found.values())

    def _in_buckets(self, cap: tuple[int, int]) -> list[list[int]]:
        found: list[list[int]] = []
        open_ones: dict[Any, tuple[list[int], int]] = {}
        for i in reversed(range(len(self.parameters))):
            if i in self.sparse:
                continue
            p = self.parameters[i]
            items, size = open_ones.get(p.dtype, ([], 0))
            items.append(i)
            size += p.numel() * p.element_size()
            if size >= cap[0 if not found else 1]:
                found.append(items)
                items, size = [], 0
            open_ones[p.dtype] = items, size
        return found + [items for items, _ in open_ones.values() if items]

    def detach(self) -> None:
        """Takes the hooks away."""
        for handle in self._handles:
            handle.remove()

    def _rebuild_buckets(self) -> bool:
        return False

    def prepare(self, outputs: Any) -> None:
        """Expects a backward pass from what the module returned.

        Raises:
            RuntimeError: if the last one has left out parameters that it should have reached.
        """
        self.check_finished()
        self._expecting, self._begun = True, False
        self._pending = set(range(len(self.parameters)))
        self._used = set()
        if self.static and self._fixed is not None:
            self._pending &= self._fixed
        elif self.find_unused or self.static:
            found = reached(outputs)
            self._pending = {i for i, p in enumerate(self.parameters) if id(p) in found}
        if not self._pending:
            self._finish()

    def check_finished(self) -> None:
        """Raises the error of parameters that have got no gradient."""
        if self._expecting and self._begun and self._pending:
            missing = " ".join(map(str, sorted(self._pending)))
            rank = torch.distributed.get_rank()
            words = f"{_PRIOR}Parameter indices which did not receive grad for rank {rank}: {missing}"
            if torch.distributed.get_debug_level() != torch.distributed.DebugLevel.OFF:
                names = ", ".join(self.names[i] for i in sorted(self._pending))
                words += f"\nParameters which did not receive grad for rank {rank}: {names}"
            raise RuntimeError(words)

    def _ready(self, index: int) -> None:
        if not self._expecting:
            return
        if index not in self._pending and not self.static:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module "
                "parameter outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes. "
                f"Parameter at index {index} with name {self.names[index]} has been marked as ready twice, or was not among the parameters "
                "that the outputs of forward depend on."
            )
        if not self._begun:
            self._begun = True
            if self.find_unused or self.static:
                queue_callback(self._over)
        self._used.add(index)
        self._pending.discard(index)
        if not self._pending:
            self._finish()

    def _over(self) -> None:
        """The pass is over: what outputs depend on, but not what the pass began from, has no part in it."""
        if self._expecting and self._pending:
            self._finish()

    def _finish(self) -> None:
        self._expecting = False
        with torch.no_grad():
            used = self._used_anywhere()
            self.combine(used)
        if self.steps is not None:
            self.steps()

    def _used_anywhere(self) -> set[int] | None:
        """Which parameters some process has used; None for all."""
        if self.static and self._fixed is not None:
            return self._fixed
        if not self.find_unused and not self.static:
            return None
        flags = torch.zeros(len(self.parameters), dtype=torch.int32)
        if self._used:
            flags[sorted(self._used)] = 1
        torch.distributed.all_reduce(flags, torch.distributed.ReduceOp.MAX, group=self.group)
        found = {i for i, flag in enumerate(flags.tolist()) if flag}
        if self.static:
            self._fixed = found
        return found

    def combine(self, used: set[int] | None) -> None:
        """Averages the gradients over the processes; those of parameters that nobody has used stay what they are."""
        # Without a hook nobody sees buckets: one message for each dtype has the least to wait for.
        if self.hook is None:
            self._combine_joined(used)
        else:
            arrays = _transport().arrays
            taken = arrays.taken
            flats = [arrays.made(np.concatenate([self._gradient(i, taken) for i in bucket])) for bucket in self.buckets]
            for bucket, flat in zip(self.buckets, self._hooked(flats, taken), strict=True):
                self._put_back(bucket, flat, used)
        for i in self.sparse:
            self._combine_sparse(self.parameters[i])
        if self._regroup:
            self._regroup, self.buckets = False, self._in_buckets(self._cap)

    def _combine_joined(self, used: set[int] | None) -> None:
        transport = _transport()
        taken = transport.arrays.taken
        n = self.group.size() if self.divisor is None else self.divisor
        works = []
        for k, bucket in enumerate(self._joined):
            flat = self._memory.get(k)
            if flat is None:
                flat = self._memory[k] = Flat([self.parameters[i] for i in bucket])
            for part, i in zip(flat.parts, bucket, strict=True):
                grad = self.parameters[i].grad
                if grad is None:
                    part[...] = 0
                elif part.itemsize < 4:  # a half has no digits for one third
                    np.divide(taken(grad), n, out=part)
                else:  # before they are added up, as in PyTorch
                    np.multiply(taken(grad), 1 / n, out=part)
            task = transport.collectives.reducing("DistributedDataParallel", flat.whole, "sum", f"bucket {k}")
            works.append(transport.works.start("all_reduce", self.group, task, partial(self._take_back, bucket, flat, used), None, True))
        for work in works:
            work.wait()

    def _take_back(self, bucket: list[int], flat: Flat, used: set[int] | None, total: np.ndarray) -> None:
        whole = _transport().arrays.made(total) if self.as_view else None
        for i, (at, end), shape in zip(bucket, flat.bounds, flat.shapes, strict=True):
            if used is None or i in used:
                self._give(self.parameters[i], total[at:end].reshape(shape) if whole is None else whole[at:end].view(shape))

    def _combine_sparse(self, p: torch.Tensor) -> None:
        grad = p.grad if p.grad is not None else torch.zeros_like(p, layout=torch.sparse_coo)
        torch.distributed.all_reduce(grad, group=self.group)
        p.grad = grad / (self.group.size() if self.divisor is None else self.divisor)

    def _gradient(self, i: int, taken: Any) -> np.ndarray:
        p = self.parameters[i]
        return np.zeros(p.numel(), p._aval.dtype) if p.grad is None else taken(p.grad).reshape(-1)

    def _hooked(self, buffers: list[Any], taken: Any) -> list[np.ndarray]:
        assert self.hook is not None
        state, hook = self.hook
        futures = []
        for k, buffer in enumerate(buffers):
            bucket = GradBucket(k, len(buffers), buffer, [self.parameters[i] for i in self.buckets[k]])
            future = hook(state, bucket)
            if not isinstance(future, torch.futures.Future):
                raise RuntimeError(f"Expected a DDP communication hook to return a torch.futures.Future, but it returned {type(future)}")
            futures.append(future)
        found = []
        for future in futures:
            value = future.wait()
            value = value[0] if isinstance(value, (list, tuple)) else value
            found.append(taken(value).reshape(-1))
        return found

    def _put_back(self, bucket: list[int], flat: np.ndarray, used: set[int] | None) -> None:
        whole = _transport().arrays.made(flat) if self.as_view else None
        at = 0
        for i in bucket:
            p, n = self.parameters[i], self.parameters[i].numel()
            if used is None or i in used:
                self._give(p, flat[at : at + n].reshape(tuple(p.shape)) if whole is None else whole[at : at + n].view(p.shape))
            at += n

    @staticmethod
    def _give(p: torch.Tensor, grad: Any) -> None:
        now, arrays = p.grad, _transport().arrays
        if isinstance(grad, torch.Tensor):
            p.grad = grad
        elif now is None:
            p.grad = arrays.made(grad, p)
        else:
            arrays.written(now, grad)
