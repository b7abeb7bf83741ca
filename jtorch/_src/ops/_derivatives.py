"""Derivatives as operators, stated with the functions: what those see of a backward pass who see
operators (modes, wrappers, exports).

The gradients that ``defvjp`` gives are computed on arrays. Here operators are called, in PyTorch's
order. None is loaded before one is called: until then ``A.mul.Tensor`` is a name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import hooks

if TYPE_CHECKING:
    from ...core import Tensor


class _Overload:
    """An overload of an operator by its name; calling it finds it."""

    __slots__ = ("name", "packet")

    def __init__(self, packet: _Packet, name: str) -> None:
        self.packet, self.name = packet, name

    @property
    def path(self) -> str:
        return f"{self.packet.name}.{self.name}"

    def __call__(self, *args: object, **kwargs: object) -> tuple[Tensor, ...] | Tensor:
        found = getattr(getattr(D.A, self.packet.name), self.name)
        setattr(self.packet, self.name, found)  # the next one who names it has the operator itself
        return found(*args, **kwargs)


class _Packet:
    """The overloads of an operator, by the operator's name."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name

    def __getattr__(self, overload: str) -> Any:
        return _Overload(self, overload)

    @property
    def path(self) -> str:
        return f"{self.name}.default"


class _Operators:
    """ATen's operators by name, as ``torch.ops.aten`` has them."""

    def __getattr__(self, name: str) -> Any:
        return self.__dict__.setdefault(name, _Packet(name))


class _Parts:
    """What many formulas are made of: the functions of ``aten/formulas.py``, by name."""

    def __getattr__(self, name: str) -> Any:
        return self.__dict__.setdefault(name, getattr(hooks.operator_derivatives.get(), name))


A = _Operators()
D = _Parts()


@dataclasses.dataclass(slots=True)
class Stated:
    """A derivative: of which operators, for which of their results, and the formulas by operand."""

    operators: tuple[str, ...]
    results: tuple[int, ...] | None
    formulas: dict[str, Callable[..., object]]


#: All derivatives as they were stated; ``aten/derivatives.py`` reads them when the first one is
#: asked for.
STATED: list[Stated] = []


def derivative(
    *operators: _Overload, results: tuple[int, ...] | None = None, **formulas: Callable[..., object]
) -> None:
    """States the derivative of operators, of a packet its default overload: for each operand a
    function of what its parameters name.

    Parameters of a function: ``g`` (the gradient of the first result), ``grads`` (of all),
    ``node``, operands and other arguments by their names, ``result`` or ``result1`` (results),
    ``self_`` and ``result_`` (what is known without the data: shape, dtype, ...), ``wants`` (which
    of several operands need a gradient). A function that serves several operands is given under
    their names joined with ``__``.
    """
    STATED.append(Stated(tuple([operator.path for operator in operators]), results, formulas))
