"""``TwoTensor``: a wrapper of two tensors, on each of which every operator is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch.utils import _pytree as pytree
from jtorch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing


class TwoTensor(torch.Tensor):
    """Two tensors of one shape and dtype that look like one."""

    a: torch.Tensor
    b: torch.Tensor

    @staticmethod
    def __new__(
        cls: Any,
        a: torch.Tensor,
        b: torch.Tensor,
        outer_size: Any = None,
        outer_stride: Any = None,
        *,
        requires_grad: bool | None = None,
    ) -> Any:
        assert a.device == b.device
        assert a.layout == b.layout
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            a.size() if outer_size is None else outer_size,
            strides=a.stride() if outer_stride is None else outer_stride,
            storage_offset=a.storage_offset(),
            device=a.device,
            layout=a.layout,
            requires_grad=a.requires_grad if requires_grad is None else requires_grad,
            dtype=a.dtype,
        )
        made.a, made.b = a, b
        return made

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()

    def __repr__(self, **_: Any) -> str:
        return f"TwoTensor({self.a!r}, {self.b!r})"

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, torch.Tensor], meta: Any, outer_size: Any, outer_stride: Any
    ) -> TwoTensor:
        del meta
        return TwoTensor(inner_tensors["a"], inner_tensors["b"], outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        named = kwargs or {}
        results = []
        for part in ("a", "b"):
            given = pytree.tree_map(
                lambda x, part=part: getattr(x, part) if isinstance(x, TwoTensor) else x,
                (args, named),
            )
            results.append(func(*given[0], **given[1]))
        first, spec = pytree.tree_flatten(results[0])
        both = [
            TwoTensor(x, y) if isinstance(x, torch.Tensor) else x
            for x, y in zip(first, pytree.tree_leaves(results[1]), strict=True)
        ]
        return return_and_correct_aliasing(func, args, named, pytree.tree_unflatten(both, spec))

    def get_elem_a(self) -> torch.Tensor:
        """The first tensor."""
        return self.a


class TwoTensorMode(TorchDispatchMode):
    """A block in which operators that make tensors of nothing make ``TwoTensor``."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """What the operator gives, twice where it was given no tensors."""
        del types
        result = func(*args, **(kwargs or {}))
        given = pytree.tree_leaves((args, kwargs or {}))
        if any(isinstance(x, torch.Tensor) for x in given) or not isinstance(result, torch.Tensor):
            return result
        return TwoTensor(result, result.clone())
