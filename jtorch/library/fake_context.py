"""``get_ctx``: what the functions that ``register_fake`` was given ask for sizes that depend on
data."""

from __future__ import annotations

import warnings
from typing import Any

import jtorch as torch

from .._src.aten.state import STATE
from .._src.tensor.symbols import Sym
from .._src.tensor.unknowns import of

__all__ = ["FakeImplCtx", "get_ctx"]


class FakeImplCtx:
    """What a function that gives an operator's results without data may ask while it runs."""

    def __init__(self, _fake_mode: Any, _op: object) -> None:
        self._fake_mode, self._op = _fake_mode, _op
        self._shape_env = _fake_mode.shape_env

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A new symbol for a size of a result, which depends on the elements of the operands, and
        lies between ``min`` and ``max``.

        Raises:
            DynamicOutputShapeException: if the tensors without data are of a mode without symbols.
            ValueError: if ``min`` is negative, or a bound is a symbol.
        """
        if self._shape_env is None:
            raise torch._subclasses.fake_tensor.DynamicOutputShapeException(self._op)
        if isinstance(min, Sym) or isinstance(max, Sym):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be "
                "statically known ints but got SymInt. This is not supported."
            )
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal "
                "to 0: this API can only create non-negative sizes."
            )
        return of(self._shape_env).number(min, max, size=True)

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        """The old name of ``new_dynamic_size``, with another default."""
        words = "`create_unbacked_symint` is deprecated, please use `new_dynamic_size` instead"
        warnings.warn(words, FutureWarning, stacklevel=2)
        return self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeImplCtx:
    """What a function that ``register_fake`` was given may ask while it runs:
    ``get_ctx().new_dynamic_size()`` is a size that data decide.

    Outside of such functions it is None.

    Raises:
        RuntimeError: if the function was called with tensors on ``meta``, whose sizes are numbers.

    Example:
        >>> import jtorch as torch
        >>> @torch.library.custom_op("example::places", mutates_args=())
        ... def places(x: torch.Tensor) -> torch.Tensor:
        ...     return x.nonzero()
        >>> @places.register_fake
        ... def _(x):
        ...     return x.new_empty(
        ...         torch.library.get_ctx().new_dynamic_size(), x.dim(), dtype=torch.int64
        ...     )
        >>> class Module(torch.nn.Module):
        ...     def forward(self, x):
        ...         return places(x)
        >>> torch.export.export(Module(), (torch.ones(3),)).module()(torch.tensor([0.0, 1.0, 0.0]))
        tensor([[1]])
    """
    if STATE.fake is None:
        none: Any = None  # programs ask in such functions alone, and need not look for None
        return none
    mode, op = STATE.fake
    if mode is None:
        raise RuntimeError(
            f"{op._name} ({_place(op.user.fake)}): You're trying to run this operator with meta "
            "Tensors (as opposed to FakeTensors), but this operator may return an output Tensor "
            "with data-dependent shape. Meta Tensors don't support operators with outputs that "
            "have data-dependent shapes but FakeTensors do. If your operator does not return an "
            "output with data-dependent shape, make sure the FakeTensor and/or meta kernel does "
            "not call torch.library.get_ctx(). Otherwise, please use FakeTensors."
        )
    return FakeImplCtx(mode, op)


def _place(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "unknown" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
