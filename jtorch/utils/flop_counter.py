"""Counting the floating-point operations of matrix products, convolutions and attention."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jtorch as torch
from jtorch._ops import OpOverloadPacket

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = torch.ops.aten

#: Operator -> what counts its operations, from its arguments and ``out_val``, its result.
flop_registry: dict[Any, Callable[..., int]] = {}


def get_shape(value: Any) -> torch.Size:
    """A tensor's shape; anything else as it is."""
    return value.shape if isinstance(value, torch.Tensor) else value


def shape_wrapper(formula: Callable[..., int]) -> Callable[..., int]:
    """A formula of tensors, from one of shapes: it gets these in place of tensors, and the result's
    as ``out_shape``."""

    def of_tensors(*args: object, out_val: object = None, **kwargs: object) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    of_tensors.__wrapped__ = formula  # type: ignore[attr-defined]
    return of_tensors


def register_flop_formula(
    targets: object, get_raw: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Says that the decorated function counts the operations of one or several operators.

    Args:
        targets: ``torch.ops.namespace.name``, or a list of such.
        get_raw: the function wants the tensors, and the result as ``out_val``; otherwise it gets
            their shapes, and ``out_shape``.

    Raises:
        ValueError: for what is no operator.
        RuntimeError: for an operator that has a formula.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        made = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    "(i.e. torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got "
                    f"{target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = made
        return made

    return register


@register_flop_formula(aten.mm)
def mm_flop(
    a_shape: Any, b_shape: Any, *args: object, out_shape: object = None, **kwargs: object
) -> int:
    """Of a matrix product: a multiplication and an addition for each row, column and summand."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: object, a_shape: Any, b_shape: Any, out_shape: object = None, **kwargs: object
) -> int:
    """Of a matrix product that is added to something."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: object = None, **kwargs: object) -> int:
    """Of a batch of matrix products."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: object, a_shape: Any, b_shape: Any, out_shape: object = None, **kwargs: Any
) -> int:
    """Of a batch of matrix products that is added to something."""
    return 2 * math.prod(a_shape) * b_shape[-1]


def conv_flop_count(
    x_shape: Sequence[int],
    w_shape: Sequence[int],
    out_shape: Sequence[int],
    transposed: bool = False,
) -> int:
    """Of a convolution: the filter at each place of the result, of the input for a transposed one;
    padding counts, a bias does not."""
    places = math.prod((x_shape if transposed else out_shape)[2:])
    return 2 * x_shape[0] * places * math.prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any,
    w_shape: Any,
    _bias: object,
    _stride: object,
    _padding: object,
    _dilation: object,
    transposed: bool,
    *args: object,
    out_shape: Any,
) -> int:
    """Of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any,
    x_shape: object,
    w_shape: Any,
    _bias: object,
    _stride: object,
    _padding: object,
    _dilation: object,
    transposed: bool,
    _output_padding: object,
    _groups: object,
    output_mask: Sequence[bool],
    out_shape: Any,
) -> int:
    """Of the two convolutions that give the gradients of the input and of the weight, as far as
    they are wanted."""

    def swapped(shape: Any) -> tuple[int, ...]:
        return (shape[1], shape[0], *shape[2:])

    found = 0
    if output_mask[0]:
        found += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        x, g = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        found += conv_flop_count(swapped(x), swapped(g), swapped(out_shape[1]))
    return found


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Of attention: of the products with the keys and with the values."""
    return 2 * math.prod(query_shape[:-1]) * key_shape[-2] * (query_shape[-1] + value_shape[-1])


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def sdpa_flop(
    query_shape: object,
    key_shape: object,
    value_shape: object,
    *args: Any,
    out_shape: object = None,
    **kwargs: Any,
) -> int:
    """Of attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu_backward)
def sdpa_backward_flop(
    grad_out_shape: object,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: object = None,
    **kwargs: Any,
) -> int:
    """Of attention's gradients: the weights once more, and two products for each of the two of the
    forward pass."""
    return (
        2
        * math.prod(query_shape[:-1])
        * key_shape[-2]
        * (3 * query_shape[-1] + 2 * value_shape[-1])
    )


def _attention(query: Any, key: Any, value: Any, *args: object, **kwargs: object) -> int:
    return sdpa_flop_count(query.shape, key.shape, value.shape)


def _attention_backward(
    grads: object, query: Any, key: Any, value: Any, *args: object, **kwargs: object
) -> int:
    return 2 * sdpa_flop_count(query.shape, key.shape, value.shape)


#: Operators of this package, which have a version for each way to call them.
_OWN = {"jtorch.attention": _attention, "jtorch.attention_backward": _attention_backward}


_SUFFIXES = ["", "K", "M", "B", "T"]


def _unit(number: int) -> int:
    """Which thousand a number is written in: the one that leaves two to four digits before the
    point."""
    return max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))


def _table(rows: list[tuple[str, str, str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    widths = [
        max(widths[0], len("Module") + 2),
        max(widths[1], len("FLOP") + 2),
        max(widths[2], len("% Total") + 2),
    ]
    lines = [("Module", "FLOP", "% Total"), tuple("-" * w for w in widths), *rows]
    return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in lines)


class FlopCounterMode:
    """A block whose floating-point operations are counted, for each operator, and for each module
    that ran it.

    Args:
        depth: how deep the table goes into modules.
        display: whether the table is printed at the end.
        custom_mapping: formulas of more operators, as for ``register_flop_formula``.

    Differs from torch: attention counts on the CPU too.

    Example:
        >>> import jtorch as torch
        >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_total_flops()
        48
    """

    def __init__(
        self,
        mods: object = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            import warnings

            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = {
            **flop_registry,
            **{
                k: f if getattr(f, "_get_raw", False) else shape_wrapper(f)
                for k, f in (custom_mapping or {}).items()
            },
        }
        self.mod_tracker = ModuleTracker()
        self.mode: _Mode | None = None

    def get_total_flops(self) -> int:
        """All operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Module -> operator -> operations; the module ``"Global"`` is the whole block."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, of modules down to a depth."""
        depth = depth or self.depth or 10**6
        whole = self.get_total_flops()
        unit = _unit(whole)

        def row(name: str, count: int) -> tuple[str, str, str]:
            written = f"{count / 1000**unit:.3f}{_SUFFIXES[unit]}" if unit else str(count)
            return name, written, "0%" if whole == 0 else f"{count / whole:.2%}"

        def rows_of(module: str) -> list[tuple[str, str, str]]:
            counts = self.flop_counts[module]
            return [
                row(module, sum(counts.values())),
                *(row(f"- {op}", n) for op, n in counts.items()),
            ]

        rows: list[tuple[str, str, str]] = []
        subsumed = False
        for module in sorted(self.flop_counts):
            level = module.count(".")
            if module != "Global" and level < depth:
                subsumed |= sum(self.flop_counts[module].values()) >= whole
                rows += rows_of(module)
        if "Global" in self.flop_counts and not subsumed:  # else a module says it all
            rows = rows_of("Global") + rows
        return _table(rows or [("Global", "0", "0%")])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Mode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.mode is not None, "the block was not entered"
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))  # noqa: T201

    def _count(self, operator: object, out: object, args: Iterable[object], kwargs: Any) -> None:
        formula = self.flop_registry.get(operator) or _OWN.get(str(operator))
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for module in set(self.mod_tracker.parents):
                self.flop_counts[module][operator] += count


class _Mode(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        self.counter._count(func._overloadpacket, out, args, kwargs or {})
        return out
