"""Padding with constants, reflections, edge values and wrapped values."""

from __future__ import annotations

from jtorch import Tensor

from .. import functional as F
from ..common_types import _size_2_t, _size_4_t, _size_6_t
from .batchnorm import _expect
from .module import Module
from .utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

_sextuple = _ntuple(6, "_sextuple")


class _CircularPadNd(Module):
    __constants__ = ["padding"]
    padding: tuple[int, ...]

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> the same with longer spatial dimensions."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")

    def extra_repr(self) -> str:
        return f"{self.padding}"


class CircularPad1d(_CircularPadNd):
    """Pads with the values of the other end. ``padding``: an int or (left, right).
    Shapes: ``(N, C, W)`` or ``(C, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


class CircularPad2d(_CircularPadNd):
    """Pads with the values of the other end. ``padding``: an int or (left, right, top, bottom).
    Shapes: ``(N, C, H, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 3, 4)


class CircularPad3d(_CircularPadNd):
    """Pads with the values of the other end. ``padding``: an int or six of them, last dimension
    first. Shapes: ``(N, C, D, H, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4, 5)


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]
    value: float
    padding: tuple[int, ...]

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> the same with longer last dimensions."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with ``value``. ``padding``: an int or (left, right).

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
        value: what is added.
    """

    def __init__(self, padding: _size_2_t, value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with ``value``. ``padding``: an int or (left, right, top,
    bottom).

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
        value: what is added.
    """

    def __init__(self, padding: _size_4_t, value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with ``value``. ``padding``: an int or six of them, last
    dimension first.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
        value: what is added.
    """

    def __init__(self, padding: _size_6_t, value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class _ReflectionPadNd(Module):
    __constants__ = ["padding"]
    padding: tuple[int, ...]

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> the same with longer spatial dimensions."""
        return F.pad(input, self.padding, "reflect")

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads with the input mirrored at its edge. ``padding``: an int or (left, right).
    Shapes: ``(N, C, W)`` or ``(C, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Pads with the input mirrored at its edge. ``padding``: an int or (left, right, top, bottom).
    Shapes: ``(N, C, H, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Pads with the input mirrored at its edge. ``padding``: an int or six of them, last dimension
    first. Shapes: ``(N, C, D, H, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(Module):
    __constants__ = ["padding"]
    padding: tuple[int, ...]

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> the same with longer spatial dimensions."""
        return F.pad(input, self.padding, "replicate")

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads with the value at the edge. ``padding``: an int or (left, right). Shapes: ``(N, C, W)``
    or ``(C, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Pads with the value at the edge. ``padding``: an int or (left, right, top, bottom).
    Shapes: ``(N, C, H, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Pads with the value at the edge. ``padding``: an int or six of them, last dimension first.
    Shapes: ``(N, C, D, H, W)``.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class ZeroPad1d(ConstantPad1d):
    """Pads the last dimension with zeros. ``padding``: an int or (left, right).

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pads the last two dimensions with zeros. ``padding``: an int or (left, right, top, bottom).

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pads the last three dimensions with zeros. ``padding``: an int or six of them, last dimension
    first.

    Args:
        padding: how much is added on each side, one number, or two for each dimension beginning
            with the last.
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"{self.padding}"
