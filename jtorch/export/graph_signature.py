"""What the inputs and outputs of an exported graph stand for."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

__all__ = [
    "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature",
    "InputKind", "InputSpec", "OutputKind", "OutputSpec", "SymBoolArgument", "SymFloatArgument",
    "SymIntArgument", "TensorArgument", "TokenArgument",
]  # fmt: skip


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A size, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A float that is computed of sizes or data, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A truth value that is computed of sizes or data, by the name of its node."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """A Python value that the program was traced with."""

    name: str
    value: Any = None


@dataclasses.dataclass
class TokenArgument:
    """Never made here."""

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """Never made here."""

    name: str
    class_fqn: str = ""


class InputKind(enum.Enum):
    """What an input stands for."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What an output stands for."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


def _written(arg: TensorArgument, kind: Any, target: object, persistent: bool | None = None) -> str:
    value = f"{arg.name}: {kind.name}"
    if target is not None:
        value += f" target={target!r}"
    return value if persistent is None else f"{value} persistent={persistent}"


@dataclasses.dataclass
class InputSpec:
    """One input: its node, what it stands for, and the name of the parameter, buffer or
    constant."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")

    def __str__(self) -> str:
        return _written(self.arg, self.kind, self.target, self.persistent)


@dataclasses.dataclass
class OutputSpec:
    """One output: its node, what it stands for, and the name of what is changed by it."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        return _written(self.arg, self.kind, self.target)


@dataclasses.dataclass
class ExportBackwardSignature:
    """Never made here: derivatives are not exported."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(
            [s.target for s in self.input_specs if s.kind is kind and s.target is not None]
        )

    def _named(self, kind: InputKind) -> dict[str, str]:
        return {
            s.arg.name: s.target
            for s in self.input_specs
            if s.kind is kind and s.target is not None
        }

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that no state dict holds."""
        return tuple(
            [
                s.target
                for s in self.input_specs
                if s.kind is InputKind.BUFFER and s.target and s.persistent is False
            ]
        )

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the tensors that the program found elsewhere."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The nodes of the caller's tensors, and the values of other arguments."""
        specs = [s for s in self.input_specs if s.kind is InputKind.USER_INPUT]
        return tuple(
            [s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name for s in specs]
        )

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The nodes of what the caller gets, and other values."""
        specs = [
            s
            for s in self.output_specs
            if s.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        ]
        return tuple(
            [s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name for s in specs]
        )

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Nodes and the parameters that they stand for."""
        return self._named(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Nodes and the buffers that they stand for."""
        return self._named(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Nodes and the constants that they stand for."""
        return self._named(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Outputs and the buffers that get their values."""
        return {
            s.arg.name: s.target
            for s in self.output_specs
            if s.kind is OutputKind.BUFFER_MUTATION and s.target is not None
        }

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Outputs and the arguments that get their values."""
        return {
            s.arg.name: s.target
            for s in self.output_specs
            if s.kind is OutputKind.USER_INPUT_MUTATION and s.target is not None
        }

    @property
    def backward_signature(self) -> None:
        """None: derivatives are not exported."""
        return

    def __str__(self) -> str:
        lines = [
            "\n# inputs",
            *map(str, self.input_specs),
            "\n# outputs",
            *map(str, self.output_specs),
        ]
        return "\n".join(lines) + "\n"
