"""``TensorLike``: Tensor's operators, methods and properties for types that are no tensors but have
a ``__torch_function__``.

The override protocol carries functions of the namespace to such a type. What Python itself looks up
on an object, it does not carry: ``x + 1``, ``x.sum()``, ``x.shape``. This base hands each of them
to the protocol, as Tensor would.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jtorch
from jtorch.overrides import handle_torch_function

if TYPE_CHECKING:
    pass


torch: Any = jtorch  # its functions take more than their annotations say: what has a handler
Tensor: Any = torch.Tensor


def ask(func: Any, *args: Any, **kwargs: Any) -> Any:
    """What the handlers among the arguments, also in lists of them, answer to the call
    ``func(*args, **kwargs)``.

    Raises:
        TypeError: if nobody answers.
    """
    operands = []
    for x in (*args, *kwargs.values()):
        operands += x if type(x) in (list, tuple) else (x,)
    return handle_torch_function(func, operands, *args, **kwargs)


class TensorLike:
    """Base of duck types: operators call functions of ``torch``; methods and properties ask with
    those of Tensor.

    A subclass defines ``__torch_function__``, which gets ``torch.add`` for ``x + y``,
    ``torch.Tensor.sum`` for ``x.sum()`` and ``torch.Tensor.shape.__get__`` for ``x.shape``. Its own
    methods and properties go before those of Tensor.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.wrappers import TensorLike
        >>> class Told(TensorLike):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return torch.overrides.resolve_name(func), args[1:]
        >>> Told() + 1
        ('torch.add', (1,))
        >>> Told().view(2, 3)
        ('torch.Tensor.view', (2, 3))
        >>> Told().shape
        ('torch.Tensor.shape.__get__', ())
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy arrays leave operators to this type

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") else getattr(Tensor, name, None)
        if isinstance(found, property):
            return ask(found.__get__, self)
        if not callable(found):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return functools.partial(ask, found, self)

    def __dir__(self) -> list[str]:
        return sorted(
            {*super().__dir__(), *(name for name in dir(Tensor) if not name.startswith("_"))}
        )

    @property
    def requires_grad(self) -> Any:
        """Whether operations on the tensor are recorded."""
        return ask(Tensor.requires_grad.__get__, self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        ask(Tensor.requires_grad.__set__, self, value)

    @property
    def grad(self) -> Any:
        """The accumulated gradient, or None."""
        return ask(Tensor.grad.__get__, self)

    @grad.setter
    def grad(self, value: Any) -> None:
        ask(Tensor.grad.__set__, self, value)

    @property
    def data(self) -> Any:
        """The same data without history."""
        return ask(Tensor.data.__get__, self)

    @data.setter
    def data(self, value: Any) -> None:
        ask(Tensor.data.__set__, self, value)

    # ---- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return torch.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return torch.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return torch.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return torch.rsub(self, other)

    def __mul__(self, other: Any) -> Any:
        return torch.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return torch.mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return torch.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return ask(Tensor.__rtruediv__, self, other)

    def __floordiv__(self, other: Any) -> Any:
        return torch.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return ask(Tensor.__rfloordiv__, self, other)

    def __mod__(self, other: Any) -> Any:
        return torch.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return torch.remainder(other, self)

    def __pow__(self, other: Any) -> Any:
        return torch.pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return torch.pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return torch.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return torch.matmul(other, self)

    def __neg__(self) -> Any:
        return torch.neg(self)

    def __pos__(self) -> Any:
        return torch.positive(self)

    def __abs__(self) -> Any:
        return torch.abs(self)

    # ---- bits ------------------------------------------------------------------------------------

    def __invert__(self) -> Any:
        return torch.bitwise_not(self)

    def __and__(self, other: Any) -> Any:
        return torch.bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return torch.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return torch.bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return torch.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return torch.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return torch.bitwise_xor(other, self)

    def __lshift__(self, other: Any) -> Any:
        return torch.bitwise_left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return torch.bitwise_left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return torch.bitwise_right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return torch.bitwise_right_shift(other, self)

    # ---- comparison ------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        return torch.eq(self, other)

    def __ne__(self, other: object) -> Any:
        return torch.ne(self, other)

    def __lt__(self, other: Any) -> Any:
        return torch.lt(self, other)

    def __le__(self, other: Any) -> Any:
        return torch.le(self, other)

    def __gt__(self, other: Any) -> Any:
        return torch.gt(self, other)

    def __ge__(self, other: Any) -> Any:
        return torch.ge(self, other)

    __hash__ = object.__hash__  # by identity, although == compares elements

    # ---- in place --------------------------------------------------------------------------------

    def __iadd__(self, other: Any) -> Any:
        return ask(Tensor.add_, self, other)

    def __isub__(self, other: Any) -> Any:
        return ask(Tensor.sub_, self, other)

    def __imul__(self, other: Any) -> Any:
        return ask(Tensor.mul_, self, other)

    def __itruediv__(self, other: Any) -> Any:
        return ask(Tensor.div_, self, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return ask(Tensor.floor_divide_, self, other)

    def __imod__(self, other: Any) -> Any:
        return ask(Tensor.remainder_, self, other)

    def __ipow__(self, other: Any) -> Any:
        return ask(Tensor.pow_, self, other)

    def __iand__(self, other: Any) -> Any:
        return ask(Tensor.bitwise_and_, self, other)

    def __ior__(self, other: Any) -> Any:
        return ask(Tensor.bitwise_or_, self, other)

    def __ixor__(self, other: Any) -> Any:
        return ask(Tensor.bitwise_xor_, self, other)

    def __ilshift__(self, other: Any) -> Any:
        return ask(Tensor.bitwise_left_shift_, self, other)

    def __irshift__(self, other: Any) -> Any:
        return ask(Tensor.bitwise_right_shift_, self, other)

    def __imatmul__(self, other: Any) -> Any:
        return ask(Tensor.__imatmul__, self, other)

    # ---- items and conversion --------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return ask(Tensor.__getitem__, self, index)

    def __setitem__(self, index: object, value: Any) -> None:
        ask(Tensor.__setitem__, self, index, value)

    def __len__(self) -> int:
        return ask(Tensor.__len__, self)

    def __iter__(self) -> Iterator[Any]:
        if ask(Tensor.dim, self) == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(ask(Tensor.unbind, self, 0))

    def __reversed__(self) -> Any:
        return ask(Tensor.__reversed__, self)

    def __contains__(self, element: object) -> bool:
        return ask(Tensor.__contains__, self, element)

    def __bool__(self) -> bool:
        return ask(Tensor.__bool__, self)

    def __int__(self) -> int:
        return ask(Tensor.__int__, self)

    def __index__(self) -> int:
        return ask(Tensor.__index__, self)

    def __float__(self) -> float:
        return ask(Tensor.__float__, self)

    def __complex__(self) -> complex:
        return ask(Tensor.__complex__, self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return ask(Tensor.__array__, self, dtype)

    def __format__(self, format_spec: str) -> str:
        return ask(Tensor.__format__, self, format_spec)

    def __dlpack__(self, **options: Any) -> Any:
        return ask(Tensor.__dlpack__, self, **options)

    def __dlpack_device__(self) -> Any:
        return ask(Tensor.__dlpack_device__, self)
