"""``torch.nn.functional``: the functions that ops of namespace ``nn.functional`` declare."""

from __future__ import annotations

import enum
import importlib
from inspect import Parameter, Signature
from typing import TYPE_CHECKING as TYPE_CHECKING
from typing import Any
from typing import Optional as Optional

from .._src.bind.hints import hinted as _hinted
from .._src.bind.namespace import fill as _fill
from .._src.protocol.slow_path import QUESTIONS as _QUESTIONS
from .._src.protocol.withheld import give_signature, known_signature
from .._src.refusals.stand_ins import find as _find
from ..core import Tensor
from ..dispatch import handle_torch_function as handle_torch_function
from ..dispatch import has_torch_function as has_torch_function
from ..dispatch import has_torch_function_unary as has_torch_function_unary
from ..dispatch import has_torch_function_variadic as has_torch_function_variadic

__all__: list[str] = []
_fill(globals(), "nn.functional")
_QUESTIONS["torch.nn.functional"] = globals()


def _say_tensors() -> None:
    """Gives functions that PyTorch writes in Python its annotations, and the other signatures the
    class of their first operands, which programs look for in order to find functions of tensors."""
    for name in __all__:
        function = globals()[name]
        before = known_signature(function)
        found = _hinted(f"nn.functional.{name}", before)
        if found is not None:
            give_signature(function, found)
            hints = {n: p.annotation for n, p in found.parameters.items()}
            function.__annotations__ = {**hints, "return": found.return_annotation}
            continue
        first, *rest = before.parameters.values()
        if (
            first.annotation in ("Any", "Tensor", first.empty)
            and first.kind is first.POSITIONAL_OR_KEYWORD
        ):
            first = Parameter(first.name, first.kind, default=first.default, annotation=Tensor)
            give_signature(
                function, Signature([first, *rest], return_annotation=before.return_annotation)
            )


_say_tensors()


#: The numbers by which ``torch.grid_sampler`` knows what ``grid_sample`` calls by name.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


class ScalingType(enum.Enum):
    """What one scale stands for in a product of scaled matrices."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """In which order the scales of a product of scaled matrices lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Any,
    if_false: Any,
    module_name: str,
    func_name: str,
) -> Any:
    """A function that calls ``if_true`` or ``if_false``, whichever one of its arguments says.

    Args:
        arg_name, arg_index, default: the argument, its place among the positional ones, and its
            value if it is left out.
        module_name, func_name: where the function says it comes from.
    """

    def fn(*args: object, **kwargs: object) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    doc = if_true.__doc__ if if_true.__doc__ is not None else if_false.__doc__
    fn.__doc__, fn.__module__, fn.__name__ = doc, module_name, func_name
    return fn


def assert_int_or_pair(arg: list[int], arg_name: str, message: str) -> None:
    """Checks that an argument is a number or two of them.

    Raises:
        AssertionError: with ``message``, formatted with the argument's name.
    """
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))


def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``threshold``, under its old name."""
    return globals()["threshold"](input, threshold, value, inplace)


#: What PyTorch's file imports under these names, and programs take from it.
_HOMES = {
    "_VF": "jtorch._VF", "_Reduction": "jtorch.nn._reduction",
    "_unpool_output_size": "jtorch._src.ops.unpooling",
    **dict.fromkeys(("_list_with_default", "_pair", "_single", "_triple"),
                    "jtorch.nn.modules.utils"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "grad":
        return importlib.import_module(f"{__package__}.grad")
    if name in ("_canonical_mask", "_none_or_dtype"):
        from .modules import _masks

        return getattr(_masks, name[1:])
    if name in _HOMES:
        home = importlib.import_module(_HOMES[name])
        return home if name in ("_VF", "_Reduction") else getattr(home, name)
    if name.startswith("_") and not name.startswith("__"):
        inner = importlib.import_module("jtorch._src.neighbours.within.functional_parts")
        if name in inner.__all__:
            return getattr(inner, name)
    return _find(__name__, name)
