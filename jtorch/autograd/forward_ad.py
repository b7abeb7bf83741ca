"""Forward-mode differentiation: tensors that carry a tangent with them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core import Tensor
from ..dispatch import handle_torch_function, has_torch_function_variadic
from . import dual, pairs
from .grad_mode import FORWARD, _Decorating

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

#: As torch: there is at most one level, numbered 0; -1 if there is none.
_current_level = -1


_levels: list[dual.Level] = []


def enter_dual_level() -> int:
    """Starts a level, within which tensors may carry tangents, and gives its number.

    Raises:
        RuntimeError: if there is one already.
    """
    global _current_level
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = dual.Level()
    level.__enter__()
    _levels.append(level)
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: tangents are gone.

    Raises:
        RuntimeError: if it is not the level that was entered last.
    """
    global _current_level
    if level is None:
        level = _current_level
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _levels.pop().__exit__()
    _current_level = -1


def check_pair(tensor: Tensor, tangent: Tensor) -> None:
    """Raises torch's errors for a value and a tangent that do not fit."""
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    if not tangent.dtype.is_floating_point and not tangent.dtype.is_complex:
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """``tensor`` with a tangent: what is computed of it gets the tangent that follows from it.

    Raises:
        RuntimeError: outside of a level, or if the two do not fit.
        ValueError: if one of them is not of a floating-point or complex dtype.

    Handlers of subclasses are asked as for an operation, so that the result is of the subclass
    unless they say otherwise.

    The result shares memory with ``tensor``, and its tangent is ``tangent`` itself where the two
    have the same strides: what is written into one is seen in the other.

    Differs from torch:
        If one of the two requires grad, the result has memory of its own.

    Example:
        >>> import jtorch as torch
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     print(fwAD.unpack_dual(x * x).tangent)
        tensor(6.)
    """
    number = _current_level if level is None else level
    if number < 0 or not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    check_pair(tensor, tangent)
    if not FORWARD.enabled:
        return tensor
    v = tensor._read()
    if type(v) is dual.Dual and v.level is _levels[-1]:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            f"same level {number} is not supported."
        )
    t = tangent._read()
    if type(t) is dual.Dual and t.level is _levels[-1]:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level{number} "
            "is not supported."
        )
    return entered(tensor, tangent, _levels[-1])


def entered(tensor: Tensor, tangent: Tensor, level: dual.Level, apart: bool = False) -> Tensor:
    """The tensor of a value and its tangent, of the class that operations of the two have;
    ``apart``: in memory of its own."""
    if not (type(tensor) is Tensor is type(tangent)) and has_torch_function_variadic(
        tensor, tangent
    ):
        return handle_torch_function(
            _make_dual, (tensor, tangent), tensor, tangent, level=level, apart=apart
        )
    return _make_dual(tensor, tangent, level, apart)


def _make_dual(primal: Tensor, tangent: Tensor, level: dual.Level, apart: bool = False) -> Tensor:
    return dual.enter(primal, tangent, level) if apart else pairs.make(primal, tangent, level)


def _unpack_dual(tensor: Tensor, level: dual.Level) -> tuple[Tensor, Tensor | None]:
    return pairs.unpack(tensor, level) or _left(tensor, level)


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` gives: the value and its tangent, or None if it has none."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's value and its tangent. Both have a history, as far as the tensor has one.

    Example:
        >>> import jtorch as torch
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     print(fwAD.unpack_dual(x + x))
        UnpackedDualTensor(primal=tensor(6.), tangent=tensor(2.))
    """
    number = _current_level if level is None else level
    if number < 0 or not _levels:
        return UnpackedDualTensor(tensor, None)
    if not FORWARD.enabled:
        return UnpackedDualTensor(dual.leave(tensor, _levels[-1])[0], None)
    if type(tensor) is not Tensor and has_torch_function_variadic(tensor):
        return UnpackedDualTensor(
            *handle_torch_function(_unpack_dual, (tensor,), tensor, level=_levels[-1])
        )
    return UnpackedDualTensor(*_unpack_dual(tensor, _levels[-1]))


def _left(tensor: Tensor, level: dual.Level) -> tuple[Tensor, Tensor | None]:
    primal, tangent = dual.leave(tensor, level)
    given = getattr(tensor._v, "given", None)  # as long as nothing was written into either
    if given is not None and tangent is not None and given._read() is tangent._read():
        tangent = given
    return primal, tangent


class dual_level(_Decorating):
    """A level as a block; also a decorator of functions.

    Example:
        >>> import jtorch as torch
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        >>> fwAD.unpack_dual(x).tangent is None
        True
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return FORWARD.enabled


class _set_fwd_grad_enabled(_Decorating):
    """Sets whether ``make_dual`` and what is computed of its results give tangents, until the end
    of the block."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.previous = mode, FORWARD.enabled
        FORWARD.enabled = mode

    def __enter__(self) -> None:
        FORWARD.enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        FORWARD.enabled = self.previous

    def clone(self) -> Any:
        """Another one like it, for one more entering."""
        return type(self)(self.mode)
