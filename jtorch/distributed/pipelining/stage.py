"""A part of a model that runs in one process, and what it passes to those before and after it.

Activations and gradients travel with their shapes and dtypes, so that nothing is asked of the
modules beforehand. A message is known by its stage, its microbatch and the number of the step, and
lies in the receiver's mailbox until it is wanted: the order in which processes send does not
matter.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn

from ..._src.facts.errors import not_offered
from ..._src.refusals import stand_ins as _refusals
from ...nn.parallel import DistributedDataParallel
from ...utils._pytree import tree_leaves
from .._arrays import made, taken
from ..fsdp import FSDPModule
from ..group import ProcessGroup, get_rank, get_world_size, world
from ..point_to_point import fetch_message, post_message
from ..tensor import DTensor
from ._utils import PipeliningMetadataError, generate_stage_to_rank_mapping

if TYPE_CHECKING:
    from ..._src.facts.kinds import Row, Values


def _normalize_model_output_as_tuple(output: Any) -> tuple[object, ...]:
    """What a module gave: a tuple of tensors, a list, or one."""
    return tuple(output) if type(output) in (tuple, list) else (output,)


def _tensors(value: object, what: str, none: bool = False) -> tuple[object, ...] | None:
    """A tensor or several as a tuple.

    Raises:
        PipeliningMetadataError: for anything else, and for None but where it stands for no
            gradient.
    """
    if value is None:
        return None
    found = _normalize_model_output_as_tuple(value)
    for i, t in enumerate(found):
        if not (isinstance(t, torch.Tensor) or (none and t is None)):
            raise PipeliningMetadataError(
                f"{what}[{i}] is {type(t).__name__}: stages pass tensors to one another, give the "
                "rest as keywords"
            )
    return found


def _checked(said: Row | None, found: Iterable[Any], where: str) -> None:
    """Whether tensors are what was said of them when the stage was made.

    Raises:
        PipeliningMetadataError: if a shape or a dtype is another.
    """
    if said is None:
        return
    found = tuple(found)
    if len(said) != len(found):
        raise PipeliningMetadataError(f"{where}: expected {len(said)} tensors, got {len(found)}")
    for i, (a, b) in enumerate(zip(said, found, strict=True)):
        if a is not None and b is not None and (a.shape != b.shape or a.dtype != b.dtype):
            raise PipeliningMetadataError(
                f"{where}[{i}]: expected shape {tuple(a.shape)} and dtype {a.dtype}, got "
                f"{tuple(b.shape)} and {b.dtype}"
            )


class _PipelineStageBase:
    """What schedules ask of a stage."""

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        group: ProcessGroup | None = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group, self.dw_builder = device, group, dw_builder
        self.group_rank, self.group_size = get_rank(group), get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}"
            )
        self.has_backward = False
        self.chunks: int | None = None
        self.log_prefix = f"[Stage {stage_index}]"
        self.stage_index_to_group_rank = generate_stage_to_rank_mapping(self.group_size, num_stages)
        self.output_chunks = []
        #: Stages of this process by number, which are given things directly.
        self.neighbours = {}
        self._step = 0
        self._begin()

    def _begin(self) -> None:
        self._arrived = {}
        self._forwarded = {}
        self._gradients: dict[int, tuple[object, ...]] = {}
        self._later: dict[int, Callable[[bool], None]] = {}

    @property
    def is_first(self) -> bool:
        """Whether no stage comes before."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether no stage comes after."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Forgets everything of the step before."""
        self._begin()
        self.output_chunks.clear()
        self._step += 1

    # What is passed on.

    def _send(self, kind: str, to: int, chunk: int, tensors: Values) -> None:
        """Gives tensors, or None for some, to a neighbouring stage."""
        if to in self.neighbours:
            self.neighbours[to]._arrived[kind, chunk] = [
                None if t is None else (t.detach(), t.requires_grad) for t in tensors
            ]
            return
        if any(isinstance(t, DTensor) for t in tensors):
            raise not_offered(
                "torch.distributed.pipelining",
                "stages pass no DTensors to one another; give their parts, to_local()",
            )
        pg = world(self.group)
        data = pickle.dumps(
            (self._step, [None if t is None else (taken(t), t.requires_grad) for t in tensors])
        )
        post_message(
            pg, data, pg.ranks[self.stage_index_to_group_rank[to]], f"stage {to} {kind} {chunk}"
        )

    def _receive(self, kind: str, source: int, chunk: int) -> Values:
        """What a neighbouring stage has given: pairs of a tensor and whether it requires grad, or
        None.

        Raises:
            RuntimeError: if the other process has gone on without this one.
        """
        if source in self.neighbours:
            return self._arrived.pop((kind, chunk))
        pg = world(self.group)
        while True:
            data = fetch_message(
                pg,
                pg.ranks[self.stage_index_to_group_rank[source]],
                f"stage {self.stage_index} {kind} {chunk}",
            )
            step, found = pickle.loads(data)
            if step == self._step:
                return [
                    None if pair is None else (made(pair[0]).to(self.device), pair[1])
                    for pair in found
                ]
            if step > self._step:
                raise RuntimeError(
                    f"{self.log_prefix} stage {source} is in its step {step}, this one in its step "
                    f"{self._step}: all processes of a pipeline must take the same steps"
                )

    def forward_one_chunk(
        self,
        fwd_chunk_id: int,
        args: tuple[object, ...],
        kwargs: dict[str, object] | None = None,
        save_forward_output: bool = True,
    ) -> Any:
        """Runs the module on a microbatch, and passes on what it gives.

        Args:
            fwd_chunk_id: the microbatch.
            args: positional arguments, which the first stage uses; the others take what the one
                before gave.
            kwargs: arguments by name.
            save_forward_output: whether the last stage keeps the result.

        Raises:
            RuntimeError: if the module fails.
        """
        if not self.is_first:
            grad = self.has_backward and torch.is_grad_enabled()
            args = tuple(
                t.requires_grad_(needs and grad)
                for t, needs in self._receive("forward", self.stage_index - 1, fwd_chunk_id)
            )
        self._check(fwd_chunk_id, "input", args)
        kwargs = kwargs or {}
        try:
            if isinstance(self.submod, DistributedDataParallel):
                with self.submod.no_sync():
                    output = self.submod(*args, **kwargs)
            else:
                output = self.submod(*args, **kwargs)
        except Exception as e:
            raise RuntimeError(
                f"{self.log_prefix} failed to run forward:\n"
                f"args: {_shown(args)}\n"
                f"kwargs: {_shown(kwargs)}"
            ) from e
        outputs = _normalize_model_output_as_tuple(output)
        if self.is_last:
            if save_forward_output:
                self.output_chunks.append(output)
        else:
            passed: Any = _tensors(output, f"output of stage {self.stage_index}")
            self._check(fwd_chunk_id, "output", passed)
            self._send("forward", self.stage_index + 1, fwd_chunk_id, list(passed))
        if self.has_backward:
            self._forwarded[fwd_chunk_id] = (
                outputs,
                [*tree_leaves(args), *tree_leaves(kwargs)],
                len(tree_leaves(args)),
            )
        return output

    def _check(self, chunk: int, what: str, found: object) -> None:
        """Compares with what was said of the stage, if anything was."""

    # The way back.

    def backward_one_chunk(
        self,
        bwd_chunk_id: int,
        loss: torch.Tensor | None = None,
        full_backward: bool = True,
        last_backward: bool = False,
    ) -> None:
        """The backward pass of a microbatch, whose gradients of inputs are passed back.

        Args:
            bwd_chunk_id: the microbatch.
            loss: of the last stage, what the pass begins from.
            full_backward: without it gradients of the parameters are left to
                ``backward_weight_one_chunk``.
            last_backward: whether parameters get no more gradients in this step.
        """
        if not self.has_backward:
            return
        outputs, inputs, positional = self._forwarded.pop(bwd_chunk_id)
        if self.is_last:
            roots, grads = ([loss], [None]) if loss.requires_grad else ([], [])
        else:
            given = self._receive("backward", self.stage_index + 1, bwd_chunk_id)
            self._check(
                bwd_chunk_id, "output_grad", [None if pair is None else pair[0] for pair in given]
            )
            pairs = [
                (t, None if pair is None else pair[0])
                for t, pair in zip(outputs, given, strict=True)
                if t.requires_grad
            ]
            roots, grads = [t for t, _ in pairs], [g for _, g in pairs]
        if self.dw_builder is not None:
            self._walk(roots, grads, None, last_backward)
            run = self.dw_builder()
            if full_backward:
                run()
            else:
                self._later[bwd_chunk_id] = lambda _: run()
        elif full_backward:
            self._walk(roots, grads, None, last_backward)
        else:
            self.check_parting()
            self._walk_to_inputs(
                bwd_chunk_id, roots, grads, inputs[:positional], inputs[positional:]
            )
        if not self.is_first:
            # What has no part in the result has a gradient all the same, of zeros, since the other
            # stage waits for one.
            found = [
                torch.zeros_like(t) if t.grad is None and t.requires_grad else t.grad
                for t in inputs[:positional]
            ]
            self._check(bwd_chunk_id, "input_grad", found)
            self._send("backward", self.stage_index - 1, bwd_chunk_id, found)
            for t in inputs[:positional]:
                # the second half of a pass may come here again, and must not add to what was passed
                # on
                t.grad = None
        if self.is_last and not self.is_first:
            _let_go(outputs)

    def check_parting(self) -> None:
        """Whether backward passes can be parted.

        Raises:
            NotImplementedError: if the module is sharded.
        """
        if isinstance(self.submod, FSDPModule):
            raise not_offered(
                "torch.distributed.pipelining",
                "schedules that part backward passes do not work on fully_shard's modules",
            )

    def _walk_to_inputs(
        self,
        chunk: int,
        roots: Sequence[object],
        grads: Sequence[object],
        received: Values,
        named: Values,
    ) -> None:
        """The first half of a pass: gradients of what came from the stage before. The second half
        is kept for later.

        It takes the way of the first once more, from the results to the parameters, as far as
        parameters are all there is to reach.
        """
        needed = [] if self.is_first else [t for t in received if t.requires_grad]
        if needed and roots:
            torch.autograd.backward(roots, grads, retain_graph=True, inputs=needed)
        more = any(isinstance(t, torch.Tensor) and t.requires_grad for t in named)
        weights = (
            None
            if self.is_first or more
            else [p for p in self.submod.parameters() if p.requires_grad]
        )

        def rest(last: bool) -> None:
            if weights is None or weights:
                self._walk(roots, grads, weights, last)
            if self.is_last and not self.is_first:
                _let_go(roots)

        self._later[chunk] = rest

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """The rest of a pass that ``backward_one_chunk(full_backward=False)`` has begun: gradients
        of the parameters.

        Raises:
            AssertionError: if it has not.
        """
        if not self.has_backward:
            return
        if bwd_chunk_id not in self._later:
            raise AssertionError(
                f"{self.log_prefix} Attempted to run backward_weight_one_chunk for chunk "
                f"{bwd_chunk_id} without first calling `backward_one_chunk(full_backward=False)`"
            )
        self._later.pop(bwd_chunk_id)(last_backward)

    def _walk(
        self,
        roots: Sequence[object],
        grads: Sequence[object],
        inputs: Sequence[object] | None,
        last: bool,
    ) -> None:
        """A backward pass. Gradients are combined over copies of the module in the last one
        only."""
        module = self.submod
        if not roots:
            return
        if isinstance(module, DistributedDataParallel):
            if not last:
                with module.no_sync():
                    torch.autograd.backward(roots, grads, inputs=inputs)
                return
            module.reducer.prepare_for_backward(roots)
        elif isinstance(module, FSDPModule):
            module.set_is_last_backward(last)
            module.set_reshard_after_backward(last)
            module.set_requires_gradient_sync(last)
        torch.autograd.backward(roots, grads, inputs=inputs)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divides the parameters' gradients."""
        if grad_scale_factor != 1:
            with torch.no_grad():
                for p in self.submod.parameters():
                    if p.grad is not None:
                        p.grad.div_(grad_scale_factor)

    def perform_reduce_grad(self, grad_scale_factor: int) -> None:
        """What comes after the last backward pass of a step: gradients are divided by the number of
        microbatches."""
        self.scale_grads(grad_scale_factor)


def _let_go(outputs: Iterable[object]) -> None:
    """Results keep no graph once the pass is over."""
    for t in outputs:
        if isinstance(t, torch.Tensor) and not t._is_view():
            t.detach_()


def _shown(values: object) -> str:
    """Arguments by shapes and dtypes."""
    if isinstance(values, torch.Tensor):
        return f"Tensor({tuple(values.shape)}, grad={values.requires_grad}, dtype={values.dtype})"
    if isinstance(values, dict):
        return "{" + ", ".join(f"{k}: {_shown(v)}" for k, v in values.items()) + "}"
    if isinstance(values, (tuple, list)):
        return "(" + ", ".join(map(_shown, values)) + ")"
    return repr(values)


class PipelineStage(_PipelineStageBase):
    """A part of a model, as a stage of a pipeline over processes.

    Args:
        submodule: the part; it takes and gives a tensor or several. It may be a
            ``DistributedDataParallel``, or sharded by ``fully_shard``.
        stage_index: its number.
        num_stages: how many there are.
        device: where it runs.
        input_args: tensors such as a microbatch's, by which shapes and dtypes are checked; so are
            the next ones.
        output_args: such as it gives.
        output_grads: such as their gradients.
        input_grads: such as its inputs' gradients.
        group: the processes; all of them without it.
        dw_builder: gives a function that computes the parameters' gradients, for modules that do so
            by themselves.
        get_mesh: not used, since stages pass no DTensors to one another.

    Raises:
        ValueError: for a number that is too large.
        RuntimeError: if there are fewer stages than processes.
        PipeliningMetadataError: for something else than tensors; in a step, if they are not as was
            said.

    Differs from torch: activations travel with their shapes. So modules are not run beforehand, on
        memory that holds anything, to find them out; microbatches may be of different sizes; and
        whether gradients are needed is what activations say, not what was said here. Stages pass no
        DTensors to one another (``NotImplementedError``).
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: object,
        input_args: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
        output_args: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
        output_grads: torch.Tensor | tuple[torch.Tensor | None, ...] | None = None,
        input_grads: torch.Tensor | tuple[torch.Tensor | None, ...] | None = None,
        group: ProcessGroup | None = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
        get_mesh: object = None,
    ) -> None:
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)
        del get_mesh
        self._said = {
            "input": _tensors(input_args, "input_args"),
            "output": _tensors(output_args, "output_args"),
            "output_grad": _tensors(output_grads, "output_grads", none=True),
            "input_grad": _tensors(input_grads, "input_grads", none=True),
        }

    def _check(self, chunk: int, what: str, found: Any) -> None:
        _checked(self._said[what], found, f"Stage {self.stage_index} microbatch {chunk} {what}")


__getattr__ = _refusals.missing(__name__)
