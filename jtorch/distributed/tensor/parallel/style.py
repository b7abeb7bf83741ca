"""How modules are made parallel: which way their parameters are cut, and how their inputs and
outputs lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn

from .. import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

if TYPE_CHECKING:
    from ...._src.facts.kinds import Named
    from ...device_mesh import DeviceMesh


__all__ = [
    "ParallelStyle", "RowwiseParallel", "SequenceParallel", "ColwiseParallel", "PrepareModuleInput",
    "PrepareModuleInputOutput", "PrepareModuleOutput",
]  # fmt: skip


class ParallelStyle(ABC):
    """What ``parallelize_module`` does to a module: ``_apply(module, device_mesh)``."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: nn.Module, device_mesh: object) -> nn.Module: ...

    def _distributed(self, p: torch.Tensor, device_mesh: Any, placement: Placement) -> nn.Parameter:
        made = distribute_tensor(p, device_mesh, [placement], src_data_rank=self.src_data_rank)
        return nn.Parameter(made, requires_grad=p.requires_grad)


def _laid(
    t: torch.Tensor,
    mesh: Any,
    layouts: Sequence[Placement] | None,
    wanted: Sequence[Placement] | None,
) -> Any:
    """A tensor that lies as ``layouts`` says, brought to where it is wanted."""
    if not isinstance(t, DTensor):
        t = DTensor.from_local(t, mesh, layouts, run_check=False)
    return t if layouts == wanted else t.redistribute(placements=wanted)


def _given_out(outputs: Any, layouts: object, local: bool) -> Any:
    if outputs.placements != layouts:
        outputs = outputs.redistribute(placements=layouts)
    return outputs.to_local() if local else outputs


class _Parallel(ParallelStyle):
    """A style of ``Linear`` and ``Embedding``."""

    #: How parameters are cut: of a Linear, and of an Embedding; by name or ``""`` for all.
    linear: dict[str, Placement]
    embedding: Placement
    inside: Callable[[nn.Module], Placement]

    def __init__(
        self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool
    ) -> None:
        super().__init__()
        self.input_layouts = (input_layouts,)
        self.output_layouts = (output_layouts,)
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: Any) -> nn.Module:
        if not isinstance(module, (nn.Linear, nn.Embedding)):
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
            )
        self.desired_input_layouts = (type(self).inside(module),)

        def partition(name: str, part: nn.Module, mesh: object) -> None:
            del name
            for key, p in list(part.named_parameters()):
                cut = (
                    self.linear.get(key, self.linear[""])
                    if isinstance(part, nn.Linear)
                    else self.embedding
                )
                part.register_parameter(key, self._distributed(p, mesh, cut))

        return distribute_module(
            module,
            device_mesh,
            partition,
            lambda _, inputs, mesh: _laid(
                inputs[0], mesh, self.input_layouts, self.desired_input_layouts
            ),
            lambda _, outputs, _mesh: _given_out(
                outputs, self.output_layouts, self.use_local_output
            ),
        )

    def __repr__(self) -> str:
        said = (
            f"input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output}"
        )
        return f"{type(self).__name__}({said})"


class ColwiseParallel(_Parallel):
    """Cuts the outputs of a ``Linear``, or the columns of an ``Embedding``.

    Args:
        input_layouts: how the input lies; ``Replicate()`` by default.
        output_layouts: how the output is to lie; ``Shard(-1)`` by default.
        use_local_output: gives each process's part as a plain tensor.
    """

    linear = {"": Shard(0)}
    embedding = Shard(1)

    @staticmethod
    def inside(_module: nn.Module) -> Placement:
        """How the input must lie."""
        return Replicate()

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output
        )
        self.desired_input_layouts = (Replicate(),)


class RowwiseParallel(_Parallel):
    """Cuts the inputs of a ``Linear``, or the rows of an ``Embedding``.

    Args:
        input_layouts: how the input lies; ``Shard(-1)`` by default.
        output_layouts: how the output is to lie; ``Replicate()`` by default.
        use_local_output: gives each process's part as a plain tensor.
    """

    linear = {"": Replicate(), "weight": Shard(1)}
    embedding = Shard(0)

    @staticmethod
    def inside(module: nn.Module) -> Placement:
        """How the input must lie."""
        return Shard(-1) if isinstance(module, nn.Linear) else Replicate()

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output
        )


class SequenceParallel(ParallelStyle):
    """Runs a module such as ``LayerNorm``, ``RMSNorm`` or ``Dropout`` on parts along the sequence;
    its parameters are replicated.

    Args:
        sequence_dim: the dimension of the sequence.
        use_local_output: gives each process's part as a plain tensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__()
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: Any) -> nn.Module:
        def partition(name: str, part: nn.Module, mesh: DeviceMesh | None) -> None:
            del name
            for key, p in list(part.named_parameters()):
                part.register_parameter(
                    key, nn.Parameter(DTensor.from_local(p, mesh, [Replicate()], run_check=False))
                )

        def enter(part: nn.Module, inputs: Any, mesh: DeviceMesh | None) -> Any:
            t = inputs[0]
            if isinstance(t, DTensor):
                return (
                    t
                    if t.placements == self.sequence_sharding
                    else t.redistribute(placements=self.sequence_sharding)
                )
            if isinstance(t, torch.Tensor):
                return DTensor.from_local(t, mesh, self.sequence_sharding, run_check=False)
            raise ValueError(
                f"expecting input of {part} to be a torch.Tensor or DTensor, but got {t}"
            )

        leave = (
            (lambda _, outputs, _mesh: outputs.to_local())
            if self.use_local_output
            else (lambda _, outputs, _mesh: outputs)
        )
        return distribute_module(module, device_mesh, partition, enter, leave)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(sequence_dim={self.sequence_sharding[0].dim}, "
            f"use_local_output={self.use_local_output})"
        )


def _several(layouts: object) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(ParallelStyle):
    """Brings the inputs of a module to where they are wanted.

    Args:
        input_layouts: how each input lies, None for what stays as it is.
        desired_input_layouts: how it is to lie.
        input_kwarg_layouts: the same for inputs by name.
        desired_input_kwarg_layouts: how they are to lie.
        use_local_output: gives the module each process's part as a plain tensor.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        desired_input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = (
            _several(input_layouts),
            _several(desired_input_layouts),
        )
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError(
                    "input_layouts and desired_input_layouts should have same length!"
                )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(
            self.desired_input_kwarg_layouts
        ):
            raise AssertionError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _one(self, t: object, mesh: object, layout: Any, wanted: Any) -> Any:
        if layout is None:
            return t
        if not isinstance(t, torch.Tensor):
            raise AssertionError("expecting input to be a torch.Tensor!")
        made = _laid(t, mesh, (layout,), (layout,) if wanted is None else (wanted,))
        return made.to_local() if self.use_local_output else made

    def _inputs(self, inputs: object, mesh: object) -> Any:
        if self.input_layouts is None:
            return inputs
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(given) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(
            [
                self._one(*x)
                for x in zip(
                    given,
                    [mesh] * len(given),
                    self.input_layouts,
                    self.desired_input_layouts,
                    strict=True,
                )
            ]
        )

    def _named(self, kwargs: dict[str, object], mesh: object) -> Named:
        return {
            k: self._one(
                x, mesh, self.input_kwarg_layouts.get(k), self.desired_input_kwarg_layouts.get(k)
            )
            for k, x in kwargs.items()
        }

    def _apply(self, module: nn.Module, device_mesh: object) -> nn.Module:
        if self.with_kwargs:
            module.register_forward_pre_hook(
                lambda _, inputs, kwargs: (
                    self._inputs(inputs, device_mesh),
                    self._named(kwargs, device_mesh),
                ),
                with_kwargs=True,
            )
        else:
            module.register_forward_pre_hook(lambda _, inputs: self._inputs(inputs, device_mesh))
        return module

    def _said(self) -> str:
        return (
            f"input_layouts={self.input_layouts}, "
            f"desired_input_layouts={self.desired_input_layouts}, "
            f"input_kwarg_layouts={self.input_kwarg_layouts}, "
            f"desired_input_kwarg_layouts={self.desired_input_kwarg_layouts}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._said()}, use_local_output={self.use_local_output})"


class PrepareModuleOutput(ParallelStyle):
    """Brings the outputs of a module to where they are wanted.

    Args:
        output_layouts: how each output lies, None for what stays as it is.
        desired_output_layouts: how it is to lie.
        use_local_output: gives each process's part as a plain tensor.
    """

    def __init__(
        self,
        *,
        output_layouts: Placement | tuple[Placement | None, ...],
        desired_output_layouts: Placement | tuple[Placement, ...],
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts, self.desired_output_layouts = (
            _several(output_layouts),
            _several(desired_output_layouts),
        )
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                "output_layouts and desired_output_layouts should have same length!"
            )

    def _outputs(self, outputs: Any, mesh: object) -> Any:
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(given) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = []
        for t, layout, wanted in zip(
            given, self.output_layouts, self.desired_output_layouts, strict=True
        ):
            if layout is None:
                made.append(t)
                continue
            out = _laid(t, mesh, (layout,), (wanted,))
            made.append(out.to_local() if self.use_local_output else out)
        return made[0] if len(made) == 1 else tuple(made)

    def _apply(self, module: nn.Module, device_mesh: object) -> nn.Module:
        module.register_forward_hook(
            lambda _, _inputs, outputs: self._outputs(outputs, device_mesh)
        )
        return module

    def _said(self) -> str:
        said = (
            f"output_layouts={self.output_layouts}, "
            f"desired_output_layouts={self.desired_output_layouts}"
        )
        return f"{said}, use_local_output={self.use_local_output}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._said()})"


class PrepareModuleInputOutput(ParallelStyle):
    """``PrepareModuleInput`` and ``PrepareModuleOutput`` of one module."""

    def __init__(
        self,
        *,
        input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        desired_input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Placement | tuple[Placement | None, ...],
        desired_output_layouts: Placement | tuple[Placement, ...],
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: nn.Module, device_mesh: object) -> nn.Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)

    def __repr__(self) -> str:
        inputs = self.prepare_module_input
        return (
            f"{type(self).__name__}({inputs._said()}, use_local_input={inputs.use_local_output}, "
            f"{self.prepare_module_output._said()})"
        )
