"""Weights as ``torch.ops.quantized`` takes them: what PyTorch packs for its kernels, and shows as
``torch.ScriptObject``. Here they hold the tensors that they were made of."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from ...core import Tensor
from .. import hooks
from ..bind.everything import T
from ..facts import dtypes

_NAMES: dict[str, type[Packed]] = {}


class ScriptObject:
    """An object of one of PyTorch's classes in C++, known by its name.

    Which class it is comes with its state, so that files of PyTorch can be read.
    """

    __module__ = "jtorch"

    _name: ClassVar[str] = ""
    #: Files name such objects as PyTorch's.
    _is_script_object: ClassVar[bool] = True

    def _type(self) -> str:
        return self._name

    def _state(self) -> Any:
        raise NotImplementedError(f"{self!r} has no state")

    def _restore(self, state: Any) -> None:
        raise NotImplementedError(f"{self!r} takes no state")

    def __repr__(self) -> str:
        return f"ScriptObject <{self._name}>"

    __str__ = __repr__

    def __getstate__(self) -> tuple[Any, str]:
        return self._state(), self._name

    def __setstate__(self, state: tuple[Any, str]) -> None:
        inner, name = state
        self.__class__ = _NAMES[name]
        self._restore(inner)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return hooks.rebuilding.get()._empty_script_object, (), self.__getstate__()

    def __deepcopy__(self, memo: Any) -> Any:
        found = memo[id(self)] = object.__new__(ScriptObject)
        found.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return found


def packed_class(name: str) -> type[Packed] | None:
    """The class that files call so, None if there is none."""
    return _NAMES.get(name)


class Packed(ScriptObject):
    """Packed weights of some kind."""

    def __init_subclass__(cls, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name:
            cls._name = f"__torch__.torch.classes.{name}"
            _NAMES[cls._name] = cls


class LinearWeight(Packed, name="quantized.LinearPackedParamsBase"):
    """A matrix and a bias; ``half`` where the matrix has half precision."""

    def __init__(self, weight: Any, bias: Tensor | None) -> None:
        self.weight, self._bias = weight, bias

    def unpack(self) -> tuple[Any, Tensor | None]:
        """Weight and bias."""
        return self.weight, self._bias

    def bias(self) -> Tensor | None:
        """What is added to the product."""
        return self._bias

    def _state(self) -> Any:
        return self.weight, self._bias

    def _restore(self, state: Any) -> None:
        self.weight, self._bias = state


class ConvWeight(Packed, name="quantized.Conv2dPackedParamsBase"):
    """A convolution's weight, bias and how its windows lie."""

    spatial: ClassVar[int] = 2

    def __init__(
        self,
        weight: Any,
        bias: Tensor | None,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        output_padding: Any = (),
        transposed: bool = False,
    ) -> None:
        self.weight, self._bias, self._groups = weight, bias, int(groups)
        self._stride, self._padding = [*map(int, stride)], [*map(int, padding)]
        self._dilation = [*map(int, dilation)]
        self._output_padding = [*map(int, output_padding)] or [0] * len(self._stride)
        self.transposed = bool(transposed)

    def _weight_dims(self) -> int:
        return self.spatial + 2

    def unpack(self) -> tuple[Any, Tensor | None]:
        """Weight and bias."""
        return self.weight, self._bias

    def bias(self) -> Tensor | None:
        """What is added to the products of windows."""
        return self._bias

    def groups(self) -> int:
        """How many convolutions of parts of the channels these are."""
        return self._groups

    def stride(self) -> list[int]:
        """The distances of windows."""
        return self._stride

    def padding(self) -> list[int]:
        """How far windows reach beyond the borders."""
        return self._padding

    def output_padding(self) -> list[int]:
        """How much is added to one side of a transposed convolution's result."""
        return self._output_padding

    def dilation(self) -> list[int]:
        """The distances of a window's elements."""
        return self._dilation

    def transpose(self) -> bool:
        """Whether the convolution is a transposed one."""
        return self.transposed

    def _state(self) -> Any:
        numbers = [
            self.spatial, *self._stride, *self._padding, *self._dilation, *self._output_padding,
            self._groups, int(self.transposed),
        ]  # fmt: skip
        packed = T.tensor(numbers, dtype=dtypes.int16)
        return "2", [packed, self.weight], [self._bias]

    def _restore(self, state: Any) -> None:
        _, (packed, weight), (bias,) = state
        spatial, *rest = packed.tolist()
        parts = [rest[i * spatial : (i + 1) * spatial] for i in range(4)]
        groups, flags = rest[4 * spatial :][:2]
        stride, padding, dilation, output = parts
        ConvWeight.__init__(
            self, weight, bias, stride, padding, dilation, groups, output, bool(flags & 1)
        )


class Conv3dWeight(ConvWeight, name="quantized.Conv3dPackedParamsBase"):
    """The same in three dimensions."""

    spatial = 3


class EmbeddingWeight(Packed, name="quantized.EmbeddingPackedParamsBase"):
    """A table of rows with a grid each."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def _state(self) -> Any:
        return 1, [self.weight], [], [8]

    def _restore(self, state: Any) -> None:
        _, (self.weight,), _, _ = state


class CellWeights(Packed, name="rnn.CellParamsBase"):
    """The two products of a recurrent layer in one direction."""

    def __init__(
        self, ih: LinearWeight, hh: LinearWeight, bias_ih: Any, bias_hh: Any, reduce: bool
    ) -> None:
        self.ih, self.hh, self.bias_ih, self.bias_hh, self.reduce = ih, hh, bias_ih, bias_hh, reduce
        self.half = False

    def _state(self) -> Any:
        if self.half:
            return "quantized_fp16", [], [], [], [self.ih, self.hh]
        return (
            "quantized_dynamic",
            [self.bias_ih, self.bias_hh],
            [],
            [int(self.reduce)],
            [self.ih, self.hh],
        )

    def _restore(self, state: Any) -> None:
        kind, biases, _, flags, packed = state
        self.half = kind == "quantized_fp16"
        self.ih, self.hh = packed
        self.bias_ih, self.bias_hh = biases or (self.ih.bias(), self.hh.bias())
        self.reduce = bool(flags[0]) if flags else False
