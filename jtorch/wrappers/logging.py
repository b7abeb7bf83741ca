"""``LoggingTensor`` and ``LoggingTensorMode``: the ATen trace of a program, forward and backward.

A ``LoggingTensor`` holds a tensor and notes every operator that reaches it; the mode notes all
operators of a block, on plain tensors too. Both write to the innermost ``capture_logs`` block of
the thread.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jtorch
from jtorch.overrides import is_tensor_like
from jtorch.utils._python_dispatch import TorchDispatchMode
from jtorch.utils._pytree import tree_leaves, tree_map

torch: Any = jtorch  # methods of Tensor are bound at run time

__all__ = ["Log", "LoggingTensor", "LoggingTensorMode", "capture_logs", "log_input"]


class Log(list[str]):
    """The lines of one trace. Tensors are numbered as they first appear; ``calls`` keeps what was
    called: operator, arguments, results.

    Attributes:
        calls: ``(operator, args, kwargs, result)`` of each line of an operator, with numbered names
            in place of tensors.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._next = 0

    def name(self, t: Any) -> str:
        """``$0``, ``$1``, ...: the name of a tensor in this trace."""
        key = _identity(t)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._next
            self._next += 1
        return f"${number}"

    def shown(self, x: Any) -> str:
        """An argument or result as the trace shows it."""
        if isinstance(x, torch.Tensor):
            return self.name(x)
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(self.shown(i) for i in x)}]"
        return repr(x)

    def note(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """Adds the line ``$2 = aten.mul.Tensor($0, $1)``."""

        def named(x: object) -> Any:
            return tree_map(lambda t: self.name(t) if isinstance(t, torch.Tensor) else t, x)

        given = ", ".join(
            [*[self.shown(a) for a in args], *[f"{k}={self.shown(x)}" for k, x in kwargs.items()]]
        )
        results = (
            ", ".join(self.shown(t) for t in result)
            if isinstance(result, (list, tuple))
            else self.shown(result)
        )
        self.append(f"{results} = {func}({given})")
        self.calls.append((func, named(tuple(args)), named(dict(kwargs)), named(result)))


class _Identity:
    """Stands for one tensor: tensors compare element by element, so they cannot be keys
    themselves."""

    __slots__ = ("__weakref__",)


def _identity(t: object) -> _Identity:
    found = t.__dict__.get("_logged")
    if found is None:
        found = t.__dict__["_logged"] = _Identity()
    return found


class _Current(threading.local):
    def __init__(self) -> None:
        self.logs: list[Log] = []


_current = _Current()


@contextlib.contextmanager
def capture_logs(is_mode: bool = False) -> Iterator[Log]:
    """A block whose operators on ``LoggingTensor`` (with ``is_mode`` all operators) are noted in
    the list that it gives.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.wrappers.logging import LoggingTensor, capture_logs, log_input
        >>> with capture_logs() as log:
        ...     x = LoggingTensor(torch.tensor([3.0]), requires_grad=True)
        ...     log_input("x", x)
        ...     y = x * x
        ...     g = LoggingTensor(torch.tensor([1.0]))
        ...     log_input("g", g)
        ...     (dx,) = torch.autograd.grad(y, x, g)
        >>> print("\\n".join(log))
        $0 = input('x')
        $1 = aten.mul.Tensor($0, $0)
        $2 = input('g')
        $3 = aten.mul.Tensor($2, $0)
        $4 = aten.mul.Tensor($2, $0)
        $5 = aten.add.Tensor($4, $3)
        >>> with capture_logs(is_mode=True) as log:
        ...     y = torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3))
        >>> print("\\n".join(log[-2:]))
        $2 = aten.t.default($1)
        $3 = aten.mm.default($0, $2)
    """
    log = Log()
    _current.logs.append(log)
    try:
        with LoggingTensorMode() if is_mode else contextlib.nullcontext():
            yield log
    finally:
        _current.logs.remove(log)


def log_input(name: str, t: object) -> None:
    """Notes a tensor as an input of the program: ``$0 = input('x')``."""
    if _current.logs:
        log = _current.logs[-1]
        log.append(f"{log.name(t)} = input({name!r})")


def _noted(
    func: object, args: tuple[object, ...], kwargs: Mapping[str, object], result: object
) -> object:
    if _current.logs:
        _current.logs[-1].note(func, args, kwargs, result)
    return result


class LoggingTensor(torch.Tensor):
    """A tensor that runs every operator on the tensor it holds, and notes it.

    ``elem`` is the tensor inside, which requires no grad: history belongs to the wrapper, so that
    backward operators are noted as well.
    """

    elem: Any

    @staticmethod
    def __new__(cls, elem: Any, *, requires_grad: bool | None = None) -> Any:
        """A wrapper with the metadata of ``elem``; it requires grad if ``elem`` does, unless said
        otherwise."""
        return torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
            requires_grad=elem.requires_grad if requires_grad is None else requires_grad,
        )

    def __init__(self, elem: jtorch.Tensor, *, requires_grad: bool | None = None) -> None:
        self.elem = elem.detach() if elem.requires_grad else elem

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{type(self).__name__}({self.elem!r})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["elem"], self.requires_grad

    @classmethod
    def __tensor_unflatten__(
        cls, inner: dict[str, Any], requires_grad: Any, size: Any, stride: Any
    ) -> Any:
        return cls(inner["elem"], requires_grad=requires_grad)

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}

        def inside(x: object) -> Any:
            return x.elem if isinstance(x, cls) else x

        def outside(x: jtorch.Tensor) -> jtorch.Tensor:
            return cls(x) if is_tensor_like(x) and not isinstance(x, (cls, type)) else x

        given, named = tree_map(inside, args), tree_map(inside, kwargs)
        held = tree_leaves((given, named), is_leaf=is_tensor_like)
        run = (
            func
            if all(isinstance(x, torch.Tensor) or not is_tensor_like(x) for x in held)
            else _public(func)
        )
        return _noted(
            func, args, kwargs, tree_map(outside, run(*given, **named), is_leaf=is_tensor_like)
        )


def _public(func: Any) -> Callable[..., object]:
    """The public function that does what an operator does: types that only handle functions are
    operands of no operator."""
    name = func.overloadpacket.__name__
    return getattr(torch, name, None) or (
        lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    )


class LoggingTensorMode(TorchDispatchMode):
    """A block in which all operators are noted."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        return _noted(func, args, kwargs, func(*args, **kwargs))
