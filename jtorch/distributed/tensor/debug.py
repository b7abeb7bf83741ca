"""``CommDebugMode``, which counts the collectives of a block, and a drawing of how tensors lie."""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from types import TracebackType
from typing import Any

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.autograd.engine import is_walking
from jtorch.nn.modules.module import register_module_forward_pre_hook

from .. import _operators  # noqa: F401  (states the operators that are counted)
from .._counting import LISTENERS
from . import DTensor
from ._utils import _compute_local_shape_and_global_offset

__all__ = ["CommDebugMode", "visualize_sharding"]

_EVERYTHING = "Global"


class CommDebugMode:
    """A block that counts the collectives begun in it, by operator, and by the module that began
    them.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.distributed.tensor.debug import CommDebugMode
        >>> mode = CommDebugMode()
        >>> with mode:
        ...     y = torch.ones(2) + 1
        >>> mode.get_total_counts()
        0
    """

    def __init__(self) -> None:
        self._clear()
        self._handle = None

    def _clear(self) -> None:
        self.comm_counts: dict[Any, int] = defaultdict(int)
        self.comm_module_counts: dict[str, dict[str, dict[Any, int]]] = {}
        self._stack: list[str] = []
        self._names: dict[int, str] = {}
        self._order: list[str] = []
        self._parameters = {}
        self._placements: dict[str, object] = {}

    def __enter__(self) -> CommDebugMode:
        self._clear()
        self._handle = register_module_forward_pre_hook(self._entered)
        LISTENERS.append(self._begun)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        LISTENERS.remove(self._begun)
        self._handle.remove()

    def _begun(self, namespace: str, name: str) -> None:
        operator = getattr(getattr(torch.ops, namespace), name)
        self.comm_counts[operator] += 1
        direction = "backward" if is_walking() else "forward"
        for module in (_EVERYTHING, *self._stack):
            counts = self.comm_module_counts.setdefault(
                module, {"forward": defaultdict(int), "backward": defaultdict(int)}
            )
            counts[direction][operator] += 1

    def _entered(self, module: Any, _: object) -> None:
        name = self._names.get(id(module))
        if name is None:
            name = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(id(inner), f"{name}.{path}" if path else name)
        self._stack.append(name)

        def left(*_: object) -> None:
            handle.remove()
            self._stack.pop()

        # The last of the module's own hooks: those of tensor parallelism belong to it.
        handle = module.register_forward_hook(left, always_call=True)
        if name in self._order:
            return
        self._order.append(name)
        for key, p in module.named_parameters(recurse=False):
            self._parameters.setdefault(name, {})[key] = p.data
            if isinstance(p, DTensor):
                self._placements[f"{name}.{key}"] = p.placements

    def get_total_counts(self) -> int:
        """How many collectives there were."""
        return sum(self.comm_counts.values())

    def get_comm_counts(self) -> dict[Any, int]:
        """Operator -> how many there were of it."""
        return self.comm_counts

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """Module -> its own parameters, of the modules that were called."""
        return self._parameters

    def get_sharding_info(self) -> dict[str, Any]:
        """Parameter -> its placements, of those that are distributed."""
        return self._placements

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """The counts as text, a line for each module and each operator it began; nothing of single
        operations, whatever ``noise_level``."""
        del noise_level
        lines = []
        for module in (_EVERYTHING, *self._order):
            depth = 0 if module == _EVERYTHING else module.count(".") + 1
            lines.append(f"{'  ' * depth}{module}")
            for direction, counts in self.comm_module_counts.get(module, {}).items():
                for operator, n in counts.items():
                    lines.append(f"{'  ' * (depth + 1)}*{operator}: {n} ({direction})")
        return "\n".join(lines) + "\n"

    def log_comm_debug_tracing_table_to_file(
        self, file_name: str = "comm_mode_log.txt", noise_level: int = 3
    ) -> None:
        """Writes that text to a file."""
        with open(file_name, "w") as f:
            f.write(self.generate_comm_debug_tracing_table(noise_level))

    def generate_json_dump(
        self, file_name: str = "comm_mode_log.json", noise_level: int = 3
    ) -> None:
        """Not offered."""
        del file_name, noise_level
        raise not_offered(
            "torch.distributed.tensor.debug.CommDebugMode.generate_json_dump",
            "use get_comm_counts and comm_module_counts",
        )


def visualize_sharding(dtensor: DTensor, header: str = "", use_rich: bool = False) -> None:
    """Prints which processes hold which rows and columns, once for all processes: on the first of
    the mesh.

    Args:
        dtensor: a tensor of one or two dimensions; nothing is printed of one without elements.
        header: accepted, as in PyTorch, which does not print it.
        use_rich: accepted: the table is text, as PyTorch prints it without the package of that
            name.

    Raises:
        RuntimeError: for more dimensions.
    """
    del header, use_rich
    if dtensor.numel() == 0:
        return
    if dtensor.ndim >= 3:
        raise RuntimeError("visualize sharding supports only 1D or 2D DTensor")
    mesh = dtensor.device_mesh
    here = mesh.get_coordinate()
    if here is None or any(here):
        return
    held = {}
    ranks = mesh.mesh.flatten().tolist()
    for rank, at in zip(ranks, itertools.product(*map(range, mesh.shape)), strict=True):
        sizes, offsets = _compute_local_shape_and_global_offset(
            dtensor.shape, tuple(mesh.shape), at, dtensor.placements
        )
        ends = [(first, first + n - 1) for first, n in zip(offsets, sizes, strict=True)]
        held.setdefault(tuple(([*ends, (0, 0)])[:2]), []).append(rank)
    rows, columns = (sorted({place[i] for place in held}) for i in (0, 1))
    lines = [["", *(f"Col {first}-{last}" for first, last in columns)]]
    for row in rows:
        cells = [held.get((row, column)) for column in columns]
        lines.append(
            [
                f"Row {row[0]}-{row[1]}",
                *(f"{mesh.device_type}:{','.join(map(str, c))}" if c else "" for c in cells),
            ]
        )
    widths = [
        max(len(line[i]) + (2 if line is lines[0] else 0) for line in lines)
        for i in range(len(columns) + 1)
    ]
    lines.insert(1, ["-" * n for n in widths])
    sys.stdout.write(
        "\n".join(
            "  ".join(cell.ljust(n) for cell, n in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
        + "\n"
    )


__getattr__ = _refusals.missing(__name__)
