"""Kernels on JAX arrays for user operators: recorded, fused and differentiated like the operators
of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._src.aten.schema import Schema
from .._src.facts.dtypes import dtype
from .._src.ops._declare import OPTIONAL_TENSOR, STATIC, TENSOR, TENSOR_LIST, Op, Param
from .._src.ops._kernel import Fixed, T, call_of
from .._src.tensor.running import apply
from ..core import Tensor

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand


def _kind(declared: str) -> int:
    base = declared.partition("(")[0]
    if not base.startswith("Tensor"):
        return STATIC
    if declared.endswith("[]"):
        return TENSOR_LIST
    return OPTIONAL_TENSOR if declared.endswith("?") else TENSOR


class JaxKernel:
    """A function of arrays with the parameters of a schema. Tensors come as arrays, everything else
    as it is and hashable."""

    def __init__(
        self, schema: Schema, body: Callable[..., Any], differentiable: bool = True
    ) -> None:
        self.name = schema.name.replace("::", "_")
        self.schema, self.body = schema, body
        params = tuple(
            [
                Param(a.name, _kind(a.type), a.default_value, a.kwarg_only, a.type)
                for a in schema.arguments
            ]
        )
        self.op = Op(
            name=self.name,
            body=self._run,
            params=params,
            namespace="user",
            family="user",
            differentiable=differentiable,
            module=body.__module__,
        )

    def _run(self, *args: object, **kwargs: object) -> Operand:
        out = self.body(*args, **kwargs)
        return tuple(out) if isinstance(out, list) else out

    def __call__(self, values: list[Operand]) -> Tensor | tuple[Tensor, ...]:
        """The results as tensors, recorded."""
        layout: list[Any] = []
        tensors: list[Tensor] = []
        for p, x in zip(self.op.params, values, strict=True):
            if p.kind == STATIC:
                layout.append(Fixed(_static(x)))
            elif p.kind == TENSOR_LIST and x is not None:
                layout.append(tuple([t is not None for t in x]))
                tensors += [t for t in x if t is not None]
            elif x is None:
                layout.append(None)
            else:
                layout.append(T)
                tensors.append(x)
        call = call_of(self.op, tuple(layout))
        return apply(call, tensors, [t._read() for t in tensors])


def _static(x: float) -> object:
    """An argument that is no tensor, as a kernel is given it: dtypes as NumPy's, lists as
    tuples."""
    if isinstance(x, dtype):
        return x.np
    return tuple([_static(i) for i in x]) if isinstance(x, (list, tuple)) else x
