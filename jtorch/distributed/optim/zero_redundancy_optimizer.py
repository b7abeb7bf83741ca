"""``ZeroRedundancyOptimizer``: each process keeps the optimizer's state of some parameters, updates
these and sends them to the others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch

from .._arrays import made, taken, written
from ..algorithms.join import Join, JoinHook

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, Values


__all__ = ["ZeroRedundancyOptimizer"]


def _checked(params: Any) -> Values:
    """Parameters or groups of them as a list.

    Raises:
        TypeError: for something else.
        ValueError: if there are none.
    """
    if isinstance(params, torch.Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {torch.typename(params)}"
        )
    try:
        found = list(params)
    except TypeError:
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but got "
            f"{torch.typename(params)}"
        ) from None
    if not found:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not all(isinstance(p, torch.Tensor) for p in found) and not all(
        isinstance(p, dict) for p in found
    ):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    return found


class ZeroRedundancyOptimizer(torch.optim.Optimizer):
    """An optimizer of the class ``optimizer_class`` for this process's share of the parameters.

    Parameters are dealt out by size, the largest first, to the process with the least. Every
    process needs all gradients, as after ``DistributedDataParallel``'s backward pass.

    Args:
        params: parameters or groups of them, the same in all processes.
        optimizer_class: what is made for the share.
        process_group: the processes; by default all.
        defaults: given to ``optimizer_class``.
    """

    def __init__(
        self,
        params: object,
        optimizer_class: type[torch.optim.Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(overlap_with_ddp=True) is not offered by jtorch: leave it "
                "False"
            )
        del parameters_as_bucket_view  # parameters are sent in flat tensors anyway
        self.process_group = torch.distributed.distributed_c10d.world(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._optimizer_class, self._optim_defaults = optimizer_class, defaults
        self._whole: Named | None = None
        self.optim: Any = None
        super().__init__(_checked(params), defaults)
        self._deal()
        self._join_config = None

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters; those that were there before stay where they are."""
        super().add_param_group(param_group)
        if self.optim is None:
            return
        if not self.optim.state:
            self._deal()
            return
        group = self.param_groups[-1]
        loads = [0] * self.world_size
        for p in (p for g in self.param_groups[:-1] for p in g["params"]):
            loads[self._owner[id(p)]] += p.numel()
        self._assign(group, loads)
        self.optim.add_param_group(self._share(group))

    def _assign(self, group: Named, loads: list[int]) -> None:
        """Gives each parameter of a group to the process with the least."""
        for p in sorted(group["params"], key=lambda p: -p.numel()):
            owner = loads.index(min(loads))
            loads[owner] += p.numel()
            self._owner[id(p)] = owner

    def _deal(self) -> None:
        """Fixes the owner of each parameter, and makes the optimizer of this process's."""
        loads, self._owner = [0] * self.world_size, {}
        for group in self.param_groups:
            self._assign(group, loads)
        self.optim = self._optimizer_class(
            [self._share(group) for group in self.param_groups], **self._optim_defaults
        )
        for group, public in zip(self.optim.param_groups, self.param_groups, strict=True):
            for key, value in group.items():
                public.setdefault(key, value)

    def _share(self, group: Named) -> Named:
        """A group with this process's parameters alone; there may be none."""
        return {**group, "params": [p for p in group["params"] if self._owner[id(p)] == self.rank]}

    def _settings(self, back: bool = False) -> None:
        """Gives the share's groups the settings of the public ones, or the other way round
        (schedulers change the public ones)."""
        for group, public in zip(self.optim.param_groups, self.param_groups, strict=True):
            source, target = (group, public) if back else (public, group)
            for key, value in source.items():
                if key != "params":
                    target[key] = value

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> float | None:
        """Updates this process's share, and takes over what the others have updated."""
        if self._join_config is not None:
            Join.notify_join_context(self)
        self._settings()
        loss = (
            self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        )
        self._settings(back=True)
        self._send()
        return loss

    def _send(self) -> None:
        everything = [p for group in self.param_groups for p in group["params"]]
        works = []
        for owner in range(self.world_size):
            by_dtype = {}
            for p in everything:
                if self._owner[id(p)] == owner:
                    by_dtype.setdefault(p.dtype, []).append(p)
            for same in by_dtype.values():
                flat = made(np.concatenate([taken(p).reshape(-1) for p in same]))
                work = torch.distributed.broadcast(
                    flat, group_src=owner, group=self.process_group, async_op=True
                )
                works.append((work, flat, same, owner))
        for work, flat, same, owner in works:
            work.wait()
            if owner != self.rank:
                array, at = taken(flat), 0
                for p in same:
                    written(p.detach(), array[at : at + p.numel()])
                    at += p.numel()

    # States.

    def _numbers(self) -> dict[int, int]:
        return {
            id(p): i
            for i, p in enumerate(p for group in self.param_groups for p in group["params"])
        }

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the states of all processes in rank ``to`` of the group, whose ``state_dict``
        then has all; all processes call this."""
        numbers = self._numbers()
        own = {
            numbers[id(p)]: self.optim.state[p]
            for g in self.optim.param_groups
            for p in g["params"]
            if id(p) in numbers
        }
        rows: Values | None = [None] * self.world_size if self.rank == to else None
        torch.distributed.gather_object(own, rows, group_dst=to, group=self.process_group)
        self._whole = None if rows is None else {k: v for row in rows for k, v in row.items()}

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, where ``consolidate_state_dict`` has gathered it.

        Raises:
            RuntimeError: elsewhere.
        """
        if self._whole is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to "
                "save the global state."
            )
        numbers = self._numbers()
        groups = [
            {
                **{k: v for k, v in group.items() if k != "params"},
                "params": [numbers[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        return {"state": dict(sorted(self._whole.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes this process's share out of the state of all parameters."""
        state_dict = copy.deepcopy(state_dict)
        for group, loaded in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({k: v for k, v in loaded.items() if k != "params"})
        everything = [p for group in self.param_groups for p in group["params"]]
        numbers = [i for group in state_dict["param_groups"] for i in group["params"]]
        number = {id(p): i for p, i in zip(everything, numbers, strict=True)}
        own, at, groups = {}, 0, []
        for group in self.optim.param_groups:
            ids = []
            for p in group["params"]:
                if id(p) in number and number[id(p)] in state_dict["state"]:
                    own[at] = state_dict["state"][number[id(p)]]
                ids.append(at)
                at += 1
            groups.append({**{k: v for k, v in group.items() if k != "params"}, "params": ids})
        self.optim.load_state_dict({"state": own, "param_groups": groups})
        self._settings()

    # Uneven numbers of batches.

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process does in place of a step when it has no batch: a step, as the others need
        its share."""
        del kwargs
        optimizer = self

        class Hook(JoinHook):
            def main_hook(self) -> None:
                optimizer.step()

        return Hook()

    @property
    def join_device(self) -> torch.device:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The group."""
        return self.process_group
