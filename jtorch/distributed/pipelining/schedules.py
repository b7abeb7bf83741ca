"""Schedules: in which order the processes of a pipeline work on the microbatches of a batch.

Numbers do not depend on the schedule, but for the order in which gradients of microbatches are
added up. Each process goes through its own list of actions, and waits for what an action needs from
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ..._src.refusals import stand_ins as _refusals
from . import _orders
from ._orders import BACKWARD_INPUT as BACKWARD_INPUT
from ._orders import BACKWARD_WEIGHT as BACKWARD_WEIGHT
from ._orders import FORWARD as FORWARD
from ._orders import FULL_BACKWARD as FULL_BACKWARD
from ._orders import OVERLAP_F_B as OVERLAP_F_B
from ._orders import RECV_B as RECV_B
from ._orders import RECV_F as RECV_F
from ._orders import REDUCE_GRAD as REDUCE_GRAD
from ._orders import RESHARD as RESHARD
from ._orders import SEND_B as SEND_B
from ._orders import SEND_F as SEND_F
from ._orders import UNSHARD as UNSHARD
from ._orders import B as B
from ._orders import F as F
from ._orders import I as I
from ._orders import W as W
from ._orders import _Action as _Action
from ._orders import _ComputationType as _ComputationType
from ._utils import generate_stage_to_rank_mapping
from .microbatch import TensorChunkSpec, _split_tensor, merge_chunks, split_args_kwargs_into_chunks
from .stage import _PipelineStageBase

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


_TARGETS = TensorChunkSpec(0)


class _PipelineSchedule:
    """What all schedules have in common: parts of arguments, losses, and a step."""

    def __init__(
        self,
        n_microbatches: int,
        loss_fn: Callable[..., torch.Tensor] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
    ) -> None:
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec, self._output_merge_spec = (
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
        )
        self._has_backward = loss_fn is not None
        self._backward_requires_autograd = True
        self._internal_losses: dict[int, torch.Tensor] = {}
        self._local = {}
        self.pipeline_order = {}

    def _actions(self) -> list[_Action]:
        raise NotImplementedError

    def step(
        self,
        *args: object,
        target: torch.Tensor | None = None,
        losses: list[object] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, object] | None = None,
        **kwargs: object,
    ) -> Any:
        """A batch through the pipeline, forward and, with a loss, backward. All processes call it.

        Args:
            args: the model's positional arguments, in the process of the first stage.
            target: what the loss compares with, in the process of the last stage.
            losses: a list, whose elements become the microbatches' losses in the process of the
                last stage.
            return_outputs: whether the result is wanted.
            loss_kwargs: further arguments of the loss.
            kwargs: arguments by name, in parts like the others; each process's go to its own
                stages.

        Returns:
            the model's result in the process of the last stage, None in the others.

        Raises:
            RuntimeError: if gradients are switched off though there is a loss.
            ValueError: if the batch cannot be parted into so many microbatches.
        """
        if self._has_backward and self._backward_requires_autograd and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not "
                "be used under torch.no_grad() context. Please call eval() instead."
            )
        for stage in self._local.values():
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        if args or kwargs:
            parts, named = split_args_kwargs_into_chunks(
                args, kwargs, self._n_microbatches, self._args_chunk_spec, self._kwargs_chunk_spec
            )
        else:
            parts, named = [()] * self._n_microbatches, [{}] * self._n_microbatches
        targets = (
            None if target is None else list(_split_tensor(target, _TARGETS, self._n_microbatches))
        )
        self._step_microbatches(
            parts, named, targets, losses, return_outputs, loss_kwargs=loss_kwargs
        )
        for stage in self._local.values():
            if stage.is_last and return_outputs:
                return merge_chunks(stage.output_chunks, self._output_merge_spec)
        return None

    def eval(
        self,
        *args: Any,
        target: torch.Tensor | None = None,
        losses: Values | None = None,
        **kwargs: Any,
    ) -> object:
        """A batch through the pipeline, forward only; as ``step``.

        Differs from torch: gradients of earlier steps stay as they are; PyTorch divides them once
        more.
        """
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _check_inputs(
        self, arg_mbs: Any, kwarg_mbs: Any, target_mbs: object, losses: object
    ) -> tuple[list[object], list[object]]:
        for name, given in (
            ("arg_mbs", arg_mbs),
            ("kwarg_mbs", kwarg_mbs),
            ("target_mbs", target_mbs),
        ):
            if given is None:
                continue
            if not isinstance(given, list):
                raise TypeError(f"{name} must be a list but got a {type(given)}")
            if len(given) != self._n_microbatches:
                raise ValueError(f"Expecting {self._n_microbatches} {name} but got {len(given)}")
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        none: Values = [()] * self._n_microbatches
        unnamed: Values = [{}] * self._n_microbatches
        return none if arg_mbs is None else arg_mbs, unnamed if kwarg_mbs is None else kwarg_mbs

    def _step_microbatches(
        self,
        arg_mbs: Sequence[object] | None = None,
        kwarg_mbs: Sequence[object] | None = None,
        target_mbs: Sequence[object] | None = None,
        losses: list[object] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, object] | None = None,
    ) -> None:
        """A step with arguments that are parted already."""
        parts, named = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        self._internal_losses.clear()
        passes: Counter[int] = Counter()
        for stage in self._local.values():
            stage.chunks = self._n_microbatches
        actions = self._actions()
        if self._has_backward:
            for stage in {action.stage_index for action in actions if action.computation_type is I}:
                self._local[stage].check_parting()
        for action in actions:
            for part in action.sub_actions or (action,):
                self._perform(part, parts, named, target_mbs, return_outputs, loss_kwargs, passes)
        if losses is not None and any(stage.is_last for stage in self._local.values()):
            if len(self._internal_losses) != self._n_microbatches:
                raise RuntimeError(
                    f"Expecting {self._n_microbatches} losses but got {len(self._internal_losses)}"
                )
            losses[:] = [self._internal_losses[i] for i in range(self._n_microbatches)]
        self._internal_losses.clear()

    def _perform(
        self,
        action: _Action,
        parts: Any,
        named: Any,
        targets: Any,
        keep: bool,
        loss_kwargs: Any,
        passes: Counter[int],
    ) -> None:
        stage, kind = self._local[action.stage_index], action.computation_type
        chunk: Any = action.microbatch_index
        if kind is F:
            output = stage.forward_one_chunk(
                chunk, parts[chunk], named[chunk], save_forward_output=keep
            )
            if stage.is_last and self._loss_fn is not None:
                self._internal_losses[chunk] = self._loss_fn(
                    output, targets[chunk], **(loss_kwargs or {})
                )
        elif not self._has_backward:
            return
        elif kind is REDUCE_GRAD:
            stage.perform_reduce_grad(self._n_microbatches if self.scale_grads else 1)
        elif kind is W:
            passes[stage.stage_index] += 1
            stage.backward_weight_one_chunk(
                chunk, last_backward=passes[stage.stage_index] == self._n_microbatches
            )
        else:
            passes[stage.stage_index] += kind is B
            loss = self._internal_losses[chunk] if stage.is_last else None
            last = kind is B and passes[stage.stage_index] == self._n_microbatches
            stage.backward_one_chunk(chunk, loss=loss, full_backward=kind is B, last_backward=last)


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage in each process.

    Args:
        stage: this process's stage.
        n_microbatches: in how many parts batches go through.
        loss_fn: called with the last stage's result and the target; without it there is no backward
            pass.
        args_chunk_spec: along which dimension positional arguments are cut, the first without it.
        kwargs_chunk_spec: the same of arguments by name.
        output_merge_spec: how results are put together; along the first dimension without it.
        scale_grads: whether gradients are divided by the number of microbatches, as is right for
            losses that are means.
    """

    def __init__(
        self,
        stage: _PipelineStageBase,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )
        self._stage, self._num_stages = stage, stage.num_stages
        self._local = {stage.stage_index: stage}
        self.pipeline_order = {
            s: _orders.with_reductions(self._order(s), n_microbatches)
            for s in range(self._num_stages)
        }

    def _order(self, stage: int) -> _orders.Order:
        raise NotImplementedError

    def _actions(self) -> list[_Action]:
        return self.pipeline_order[self._stage.stage_index]


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Forward passes only.

    Raises:
        RuntimeError: in ``step``, if a target or losses are given.
    """

    def _order(self, stage: int) -> _orders.Order:
        return [_Action(stage, F, i) for i in range(self._n_microbatches)]

    def _step_microbatches(
        self,
        arg_mbs: Sequence[object] | None = None,
        kwarg_mbs: Sequence[object] | None = None,
        target_mbs: Sequence[object] | None = None,
        losses: list[object] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, object] | None = None,
    ) -> None:
        if target_mbs is not None or losses is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        super()._step_microbatches(
            arg_mbs, kwarg_mbs, target_mbs, losses, return_outputs, loss_kwargs
        )


class ScheduleGPipe(PipelineScheduleSingle):
    """All forward passes of a batch, then all backward passes. Its arguments are those of
    ``PipelineScheduleSingle``."""

    def _order(self, stage: int) -> _orders.Order:
        return _orders.fill_and_drain(stage, self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward and one backward pass by turns, so that no more microbatches are under way than
    there are stages.

    Args:
        stage: this process's stage.
        n_microbatches: in how many parts batches go through, at least as many as there are stages.
        loss_fn: called with the last stage's result and the target; without it there is no backward
            pass.
        args_chunk_spec: along which dimension positional arguments are cut, the first without it.
        kwargs_chunk_spec: the same of arguments by name.
        output_merge_spec: how results are put together; along the first dimension without it.
        scale_grads: whether gradients are divided by the number of microbatches, as is right for
            losses that are means.

    Raises:
        ValueError: if there are fewer microbatches than stages.

    Differs from torch: ``pipeline_order`` is what is done; PyTorch's leaves out the last stage's
    first microbatch.
    """

    def __init__(
        self,
        stage: _PipelineStageBase,
        n_microbatches: int,
        loss_fn: Callable[..., object] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(
            stage,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )
        if n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({n_microbatches}) must be greater than or equal to the "
                f"number of stages ({self._num_stages})."
            )

    def _order(self, stage: int) -> _orders.Order:
        return _orders.one_and_one(stage, self._num_stages, self._n_microbatches)


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules with several stages in each process.

    Args:
        stages: this process's stages.
        n_microbatches: in how many parts batches go through.
        loss_fn: called with the last stage's result and the target; without it there is no backward
            pass.
        args_chunk_spec: along which dimension positional arguments are cut, the first without it.
        kwargs_chunk_spec: the same of arguments by name.
        output_merge_spec: how results are put together; along the first dimension without it.
        use_full_backward: no longer of effect.
        scale_grads: whether gradients are divided by the number of microbatches, as is right for
            losses that are means.
        backward_requires_autograd: whether ``step`` is refused where gradients are switched off.
    """

    #: How stages are dealt out.
    _style = "loop"

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: object = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
    ) -> None:
        super().__init__(
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )
        del use_full_backward
        self._stages, self._num_stages, self.n_local_stages = (
            stages,
            stages[0].num_stages,
            len(stages),
        )
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        self._backward_requires_autograd = backward_requires_autograd
        self.stage_index_to_group_rank = generate_stage_to_rank_mapping(
            self.pp_group_size, self._num_stages, self._style
        )
        self._local = {stage.stage_index: stage for stage in stages}
        for stage in stages:
            stage.stage_index_to_group_rank = self.stage_index_to_group_rank
            stage.neighbours = self._local
        self.pipeline_order = self._plan()
        self.pipeline_order_with_comms = {
            rank: _orders.with_reductions(order, n_microbatches)
            for rank, order in self.pipeline_order.items()
        }

    def _plan(self) -> dict[int, _orders.Order]:
        """The order of each process.

        Raises:
            ValueError: if this process's stages are not those that it is dealt.
        """
        own = sorted(s for s, rank in self.stage_index_to_group_rank.items() if rank == self.rank)
        if sorted(self._local) != own:
            raise ValueError(
                f"Process {self.rank} of this schedule has the stages {own}, but was given "
                f"{sorted(self._local)}."
            )
        return {rank: self._order(rank) for rank in range(self.pp_group_size)}

    def _order(self, rank: int) -> _orders.Order:
        raise NotImplementedError

    def _actions(self) -> list[_Action]:
        return self.pipeline_order_with_comms[self.rank]


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """The same, as schedules of this module are made.

    Args:
        stages: this process's stages.
        n_microbatches: in how many parts batches go through.
        loss_fn: called with the last stage's result and the target; without it there is no backward
            pass.
        args_chunk_spec: along which dimension positional arguments are cut, the first without it.
        kwargs_chunk_spec: the same of arguments by name.
        output_merge_spec: how results are put together; along the first dimension without it.
        scale_grads: whether gradients are divided by the number of microbatches, as is right for
            losses that are means.
        backward_requires_autograd: whether ``step`` is refused where gradients are switched off.
        defer_pp_recv: of no effect: what is received lies in the mailbox until it is wanted.
    """

    def __init__(
        self,
        stages: list[object],
        n_microbatches: int,
        loss_fn: Callable[..., object] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        del defer_pp_recv
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd,
        )


class ScheduleLoopedBFS(_PipelineScheduleRuntime):
    """All microbatches through one of a process's stages before the next begins.

    Args:
        stages: this process's stages: with ``n`` processes those whose number is its rank, modulo
            ``n``.
        n_microbatches: in how many parts batches go through.
        loss_fn: called with the last stage's result and the target; without it there is no backward
            pass.
        output_merge_spec: how results are put together; along the first dimension without it.
        scale_grads: whether gradients are divided by the number of microbatches, as is right for
            losses that are means.
        backward_requires_autograd: whether ``step`` is refused where gradients are switched off.
        defer_pp_recv: of no effect: what is received lies in the mailbox until it is wanted.
    """

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: Callable[..., object] | None = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            output_merge_spec=output_merge_spec,
            scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd,
            defer_pp_recv=defer_pp_recv,
        )

    def _order(self, rank: int) -> _orders.Order:
        return _orders.breadth_first(
            rank, self.pp_group_size, self.n_local_stages, self._n_microbatches
        )


class ScheduleInterleaved1F1B(_PipelineScheduleRuntime):
    """One forward and one backward pass by turns, over several stages of each process.

    With ``n`` processes these are the stages whose number is its rank, modulo ``n``. Microbatches
    go in rounds of at least ``n``. The arguments are those of ``PipelineScheduleMulti``, but for
    ``use_full_backward``, and ``defer_pp_recv``, which has no effect.

    Raises:
        ValueError: if the microbatches cannot be parted into rounds of one size, or the stages are
            others.
    """

    def _order(self, rank: int) -> _orders.Order:
        at_once = _orders.rounds_of(self.pp_group_size, self._n_microbatches, "Interleaved 1F1B")
        return _orders.interleaved(
            rank,
            self.pp_group_size,
            self.n_local_stages,
            self._n_microbatches,
            at_once,
            parted=False,
        )


class ScheduleInterleavedZeroBubble(_PipelineScheduleRuntime):
    """As ``ScheduleInterleaved1F1B``, but gradients of parameters are computed where the process
    would wait.

    The way from results to parameters is gone once more for that, so that a step computes more than
    with the other schedules.

    Raises:
        ValueError: if the microbatches cannot be parted into rounds of one size, or the stages are
            others.
        NotImplementedError: in ``step``, if a stage is sharded by ``fully_shard``.
    """

    def _order(self, rank: int) -> _orders.Order:
        at_once = _orders.rounds_of(self.pp_group_size, self._n_microbatches, "Zero bubble")
        return _orders.interleaved(
            rank,
            self.pp_group_size,
            self.n_local_stages,
            self._n_microbatches,
            at_once,
            parted=True,
        )

    def _plan(self) -> dict[int, _orders.Order]:
        return _orders.with_waits(super()._plan(), self._num_stages - 1)


class ScheduleZBVZeroBubble(_PipelineScheduleRuntime):
    """Two stages of each process, one on the way forth and one on the way back.

    With ``n`` processes these are the stages ``rank`` and ``2 * n - 1 - rank``. Backward passes are
    parted as in ``ScheduleInterleavedZeroBubble``, and the arguments are the same.

    Raises:
        ValueError: if a process has another number of stages, or others.
        NotImplementedError: in ``step``, if a stage is sharded by ``fully_shard``.
    """

    _style = "v"

    def _plan(self) -> dict[int, _orders.Order]:
        if self.n_local_stages != 2:
            raise ValueError(
                f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}."
            )
        return super()._plan()

    def _order(self, rank: int) -> _orders.Order:
        return _orders.forth_and_back(rank, self.pp_group_size, self._n_microbatches)


class ScheduleDualPipeV(ScheduleZBVZeroBubble):
    """As ``ScheduleZBVZeroBubble``, but forward and backward passes come in pairs, and most
    backward passes are not parted.

    Raises:
        ValueError: if there are fewer microbatches than stages, or as with
            ``ScheduleZBVZeroBubble``.
        NotImplementedError: in ``step``, if a stage is sharded by ``fully_shard``.

    Differs from torch: the two passes of a pair run one after the other.
    """

    def _plan(self) -> dict[int, _orders.Order]:
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                "DualPipeV requires at least as many microbatches as stages, but got "
                f"{self._n_microbatches} microbatches and {self._num_stages} stages."
            )
        return super()._plan()

    def _order(self, rank: int) -> _orders.Order:
        return _orders.in_pairs(rank, self.pp_group_size, self._n_microbatches)


def get_schedule_class(schedule_name: str) -> Any:
    """A schedule by its name, in small or capital letters.

    Raises:
        ValueError: if there is none.
    """
    known = {
        "1F1B": Schedule1F1B,
        "Interleaved1F1B": ScheduleInterleaved1F1B,
        "GPipe": ScheduleGPipe,
        "LoopedBFS": ScheduleLoopedBFS,
        "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
        "PipelineScheduleSingle": PipelineScheduleSingle,
        "PipelineScheduleMulti": PipelineScheduleMulti,
        "ZBVZeroBubble": ScheduleZBVZeroBubble,
        "DualPipeV": ScheduleDualPipeV,
    }
    for name, schedule in known.items():
        if name.lower() == schedule_name.lower():
            return schedule
    raise ValueError(
        f"Unknown schedule name '{schedule_name}'. The valid options are {list(known)}"
    )


__getattr__ = _refusals.missing(__name__)
