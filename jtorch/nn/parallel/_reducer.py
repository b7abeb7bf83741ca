"""What ``DistributedDataParallel`` does with gradients: flat buckets that are combined over the
processes once all gradients are there."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache, partial
from itertools import accumulate
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch.autograd.engine import outermost_walk, queue_callback

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Values


_PRIOR = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your "
)
_CHANGED = "training graph has changed in this iteration, e.g., one parameter is "
_STATIC = " this is not compatible with static_graph set to True."
_UNUSED = (
    f"{_PRIOR}module has parameters that were not used in producing loss. You can enable unused "
    "parameter detection by passing the keyword argument `find_unused_parameters=True` to "
    "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function "
    "outputs participate in calculating loss. "
)
_PLACES = (
    "\nIf you already have done the above, then the distributed data parallel module wasn't able "
    "to locate the output tensors in the return value of your module's `forward` function. Please "
    "include the loss function and the structure of the return value of `forward` of your module "
    "when reporting this issue (e.g. list, dict, iterable)."
)
_NO_LONGER = (
    f"{_PRIOR}{_CHANGED}used in first iteration, but then got unused in the second "
    f"iteration.{_STATIC}"
)
_NOT_BEFORE = (
    f"Your {_CHANGED}unused in first iteration, but then got used in the second iteration.{_STATIC}"
)
_NAMES = (
    "\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO "
    "or DETAIL to print out information about which particular parameters did not receive gradient "
    "on this rank as part of this error"
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following "
    "reasons: 1) Use of a module parameter outside the `forward` function. Please make sure model "
    "parameters are not shared across multiple concurrent forward-backward passes. or try to use "
    "_set_static_graph() as a workaround if this module graph does not change during training "
    "loop.2) Reused parameters in multiple reentrant backward passes. For example, if you use "
    "multiple `checkpoint` functions to wrap the same part of your model, it would result in the "
    "same set of parameters been used by different reentrant backward passes multiple times, and "
    "hence marking a variable ready multiple times. DDP does not support such use cases in "
    "default. You can try to use _set_static_graph() as a workaround if your module graph does not "
    "change over iterations.\n"
)


@cache
def _transport() -> SimpleNamespace:
    """What sends and receives, which programs of one process never load."""
    from jtorch.distributed import _arrays, _programs, collectives, works

    return SimpleNamespace(arrays=_arrays, programs=_programs, collectives=collectives, works=works)


class BuiltinCommHookType(IntEnum):
    """Hooks that ``DistributedDataParallel`` knows by name: means over the processes, sent as they
    are or in float16."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class GradBucket:
    """The gradients of some parameters in one flat tensor, as comm hooks get them."""

    def __init__(
        self, index: int, count: int, buffer: torch.Tensor, parameters: list[torch.Tensor]
    ) -> None:
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
        return [
            part.view(p.shape)
            for part, p in zip(self._buffer.split(sizes), self._parameters, strict=True)
        ]

    def parameters(self) -> list[torch.Tensor]:
        """The parameters."""
        return list(self._parameters)


def tensors_in(value: object) -> Iterator[torch.Tensor]:
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


def reached(outputs: object) -> set[int]:
    """The ids of the leaves that outputs depend on."""
    found, seen = set(), set()
    pending = []
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
        self.parts = [
            self.whole[at:end].reshape(shape)
            for (at, end), shape in zip(self.bounds, self.shapes, strict=True)
        ]


class Reducer:
    """Collects the gradients of a backward pass and combines them.

    Args:
        parameters: those that require grad, with their names.
        group: the processes.
        cap: bytes of the first buckets of a dtype; the last number is that of all others, too.
        find_unused: whether a pass may leave out parameters.
        as_view: whether gradients become views of the buckets.
        sparse: names of parameters whose gradients are sparse tensors, which are combined by
            themselves.
        listed: whether the sizes are those of buckets one by one.
    """

    def __init__(
        self,
        parameters: Sequence[tuple[str, torch.Tensor]],
        group: Any,
        cap: Sequence[int],
        find_unused: bool,
        as_view: bool,
        sparse: Collection[str] = (),
        listed: bool = False,
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
        #: With ``static``, what the first pass has used anywhere, and how often it came to each
        #: parameter here.
        self._fixed: set[int] | None = None
        self._times: Counter[int] | None = None
        self._seen: Counter[int] = Counter()
        #: Whether a pass has been prepared, ever.
        self.started = False
        #: The outermost walk in which gradients were combined, until it is over.
        self._walk = None
        #: Whether that was before any, as nothing could be seen that leads to parameters (reentrant
        #: checkpoints hide it).
        self.closed = False
        self._expecting = self._begun = False
        self._pending: set[int] = set()
        self._used: set[int] = set()
        # As in PyTorch the first pass, which may still tell in which order gradients come, has one
        # bucket for each dtype, unless sizes are listed; with ``static`` the first two, as the
        # first one is counted.
        self._cap = cap
        self._regroup = 0 if find_unused else 1
        self._joined = self._whole()
        self._memory: list[Flat] = []
        self.buckets = self._at_first() if listed or not self._regroup else self._joined
        self._handles = [
            p.register_post_accumulate_grad_hook(self._note(i))
            for i, p in enumerate(self.parameters)
        ]

    def _note(self, index: int) -> Callable[..., object]:
        return lambda _: self._ready(index)

    def _whole(self) -> list[list[int]]:
        found: dict[Any, list[int]] = {}
        for i, p in enumerate(self.parameters):
            if i not in self.sparse:
                found.setdefault(p.dtype, []).append(i)
        return list(reversed(found.values()))

    def _in_buckets(self, cap: Sequence[int], order: Iterable[int]) -> list[list[int]]:
        found: list[list[int]] = []
        full: Counter[Any] = Counter()
        open_ones = {}
        for i in order:
            if i in self.sparse:
                continue
            p = self.parameters[i]
            items, size = open_ones.get(p.dtype, ([], 0))
            items.append(i)
            size += p.numel() * p.element_size()
            if size >= cap[min(full[p.dtype], len(cap) - 1)]:
                full[p.dtype] += 1
                found.append(items)
                items, size = [], 0
            open_ones[p.dtype] = items, size
        return found + [items for items, _ in open_ones.values() if items]

    def _at_first(self) -> list[list[int]]:
        """Buckets before it is known in which order gradients come, those of the last parameters
        first."""
        return sorted(
            self._in_buckets(self._cap, range(len(self.parameters))), key=min, reverse=True
        )

    def be_static(self) -> None:
        """Has all passes be like the first one."""
        self.static, self.find_unused, self._regroup = True, False, 2

    def detach(self) -> None:
        """Takes the hooks away."""
        for handle in self._handles:
            handle.remove()

    def _rebuild_buckets(self) -> bool:
        return False

    def prepare_for_backward(self, outputs: object) -> None:
        """Expects a backward pass from what the module returned.

        Raises:
            RuntimeError: if the last one has left out parameters that it should have reached.
        """
        self.check_finished()
        self._expecting, self._begun, self.started = True, False, True
        self._pending = set(range(len(self.parameters)))
        self._used = set()
        self._walk, self.closed = None, False
        self._seen = Counter()
        if self.static and self._times is not None:
            self._pending = set(self._times)
        elif self.find_unused or self.static:
            found = reached(outputs)
            self._pending = {i for i, p in enumerate(self.parameters) if id(p) in found}
            if not self._pending and not self.static:
                self.closed = True
                self._finish()

    def check_finished(self) -> None:
        """Raises the error of parameters that have got no gradient."""
        if self._expecting and self._begun and self._pending:
            missing = sorted(self._pending)
            rank = torch.distributed.get_rank(self.group)
            words = (
                _NO_LONGER if self.static else _UNUSED if self.find_unused else _UNUSED + _PLACES
            )
            indices = (
                f"\nParameter indices which did not receive grad for rank {rank}: "
                f"{' '.join(map(str, missing))}"
            )
            if torch.distributed.get_debug_level() == torch.distributed.DebugLevel.OFF:
                raise RuntimeError(words + indices + _NAMES)
            names = ", ".join(self.names[i] for i in reversed(missing))
            raise RuntimeError(
                f"{words}\nParameters which did not receive grad for rank {rank}: {names}{indices}"
            )

    def _twice(self, index: int) -> RuntimeError:
        return RuntimeError(
            f"{_TWICE}Parameter at index {index} with name {self.names[index]} has been marked as "
            "ready twice. This means that multiple autograd engine  hooks have fired for this "
            "particular parameter during this iteration."
        )

    def _ready(self, index: int) -> None:
        if not self._expecting:
            # What comes after gradients have been combined, in the same pass, would be this
            # process's alone.
            if self.closed or (self._walk is not None and self._walk() is outermost_walk()):
                raise RuntimeError(_NOT_BEFORE) if self.static else self._twice(index)
            return
        if not self._begun:
            self._begun = True
            queue_callback(self._over, outermost=True)
        first = self.static and self._times is None
        if not first and index not in self._pending:
            raise RuntimeError(_NOT_BEFORE) if self.static else self._twice(index)
        self._used.add(index)
        self._seen[index] += 1
        if first or (self._times is not None and self._seen[index] < self._times[index]):
            return  # of a first pass nobody knows how often it comes to a parameter
        self._pending.discard(index)
        if not self._pending:
            self._walk = weakref.ref(outermost_walk())
            self._finish()

    def _over(self) -> None:
        """The pass is over: what outputs depend on, but not what the pass began from, has no part
        in it."""
        self._walk = None
        if not self._expecting:
            return
        if self.static and self._times is None:
            self._times = self._seen
            self._finish()
        elif self.find_unused and not self.static and self._pending:
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
        """Averages the gradients over the processes; those of parameters that nobody has used stay
        what they are."""
        # Without a hook nobody sees buckets: one message for each dtype has the least to wait for.
        if self.hook is None:
            self._combine_joined(used)
        else:
            arrays = _transport().arrays
            taken = arrays.taken
            flats = [
                arrays.made(np.concatenate([self._gradient(i, taken) for i in bucket]))
                for bucket in self.buckets
            ]
            for bucket, flat in zip(self.buckets, self._hooked(flats, taken), strict=True):
                self._put_back(bucket, flat, used)
        for i in self.sparse:
            self._combine_sparse(self.parameters[i])
        if self._regroup:
            self._regroup -= 1
            if not self._regroup:
                self.buckets = self._in_buckets(self._cap, reversed(range(len(self.parameters))))

    def _combine_joined(self, used: set[int] | None) -> None:
        transport = _transport()
        taken = transport.arrays.taken
        n = self.group.size() if self.divisor is None else self.divisor
        collectives = transport.collectives
        for k in range(len(self._memory), len(self._joined)):
            self._memory.append(Flat([self.parameters[i] for i in self._joined[k]]))
        asked = [
            ("DistributedDataParallel", flat.whole, "sum", f"bucket {k}")
            for k, flat in enumerate(self._memory)
        ]
        # goes on while gradients are computed
        ahead = [collectives.agreeing(*facts, self.group) for facts in asked]
        try:
            self._fill(n, taken)
        except BaseException:
            if any(ahead):  # nothing follows what has been agreed: the others must not wait for it
                self.group.abort()
            raise
        works = []
        for k, bucket in enumerate(self._joined):
            task = collectives.reducing(*asked[k], ahead[k])
            write = partial(self._take_back, bucket, self._memory[k], used)
            works.append(transport.works.start("all_reduce", self.group, task, write, None, True))
        for work in works:
            work.wait()

    def _fill(self, n: int, taken: Function) -> None:
        """Writes the gradients, divided by a number, into the memory that is sent."""
        for flat, bucket in zip(self._memory, self._joined, strict=True):
            for part, i in zip(flat.parts, bucket, strict=True):
                grad = self.parameters[i].grad
                if grad is None:
                    part[...] = 0
                elif part.itemsize < 4:  # a half has no digits for one third
                    np.divide(taken(grad), n, out=part)
                else:  # before they are added up, as in PyTorch
                    np.multiply(taken(grad), 1 / n, out=part)

    def _take_back(
        self, bucket: list[int], flat: Flat, used: set[int] | None, total: np.ndarray
    ) -> None:
        whole = _transport().arrays.made(total) if self.as_view else None
        for i, (at, end), shape in zip(bucket, flat.bounds, flat.shapes, strict=True):
            if used is None or i in used:
                self._give(
                    self.parameters[i],
                    total[at:end].reshape(shape) if whole is None else whole[at:end].view(shape),
                )

    def _combine_sparse(self, p: torch.Tensor) -> None:
        grad = p.grad if p.grad is not None else torch.zeros_like(p, layout=torch.sparse_coo)
        torch.distributed.all_reduce(grad, group=self.group)
        p.grad = grad / (self.group.size() if self.divisor is None else self.divisor)

    def _gradient(self, i: int, taken: Function) -> np.ndarray:
        p = self.parameters[i]
        return np.zeros(p.numel(), p._aval.dtype) if p.grad is None else taken(p.grad).reshape(-1)

    def _hooked(self, buffers: Values, taken: Function) -> list[np.ndarray]:
        assert self.hook is not None
        state, hook = self.hook
        futures = []
        for k, buffer in enumerate(buffers):
            bucket = GradBucket(
                k, len(buffers), buffer, [self.parameters[i] for i in self.buckets[k]]
            )
            future = hook(state, bucket)
            if not isinstance(future, torch.futures.Future):
                raise RuntimeError(
                    "Expected a DDP communication hook to return a torch.futures.Future, but it "
                    f"returned {type(future)}"
                )
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
                self._give(
                    p,
                    flat[at : at + n].reshape(tuple(p.shape))
                    if whole is None
                    else whole[at : at + n].view(p.shape),
                )
            at += n

    @staticmethod
    def _give(p: torch.Tensor, grad: object) -> None:
        now, arrays = p.grad, _transport().arrays
        if isinstance(grad, torch.Tensor):
            p.grad = grad
        elif now is None:
            p.grad = arrays.made(grad, p)
        else:
            arrays.written(now, grad)
