"""Names for what an annotation can say no more of than that it is open.

Where values of any kind may stand, these say what part they play. They are for type checkers:
modules import them under ``if TYPE_CHECKING``. Floor 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

#: What is called with whatever it takes: a program's function, an operator, one found by its name.
Function: TypeAlias = Callable[..., Any]
#: What is given a function and gives another in its place.
Decorator: TypeAlias = Callable[[Function], Function]
#: What is given by position in one call.
Arguments: TypeAlias = tuple[Any, ...]
#: What is given by keyword in one call.
Keywords: TypeAlias = dict[str, Any]
#: Values by their names: attributes, what a file or a state holds, what generated code finds.
Named: TypeAlias = dict[str, Any]
#: Things of several kinds in a fixed order: a key, a form, the layout of a call.
Row: TypeAlias = tuple[Any, ...]
#: Values in order, whatever they are: operands, results, the leaves of a tree.
Values: TypeAlias = list[Any]
#: What is computed with: a tensor, an array of JAX or NumPy, a tracer, or a number.
Operand: TypeAlias = Any
#: What one calculation is given, in order.
Operands: TypeAlias = Sequence[Operand]
#: A value, or a list, tuple or dict of trees.
Tree: TypeAlias = Any
#: A tensor, or an object of another class that takes a tensor's part.
TensorLike: TypeAlias = Any
