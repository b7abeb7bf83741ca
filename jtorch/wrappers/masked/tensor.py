"""``MaskedTensor``: a tensor some of whose elements are absent, as a Tensor subclass that uses
nothing but ``__torch_function__``.

The object itself is an ordinary tensor that holds the data; the mask is an attribute of it. What
each function does with the two is decided in ``handlers.py``.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

import jtorch as torch
from jtorch import Tensor

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values
    from ...autograd.function_node import FunctionCtx


_DTYPES = (
    torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32,
    torch.int64,
)  # fmt: skip
_NUMBER = "{0:8.4f}"


class MaskedTensor(Tensor):
    """Data and a mask of the same shape, True where an element is present.

    Functions on it work on the present elements: pointwise ones keep the mask, reductions leave the
    absent elements out, and a result that depends on no present element is absent itself. Gradients
    are masked tensors with the same mask.

    Raises:
        TypeError: if data or mask are no plain tensors, or of unsupported dtypes.
        ValueError: if their shapes differ.

    Data and mask may be sparse, in COO or CSR layout: what is stored may be present, and functions
    of single elements, ``to_dense`` and reductions of all elements are offered.

    Differs from torch: the mask of a gradient is always that of its tensor, where PyTorch also
    takes out what no path through indexing reached.

    Examples:
        >>> import jtorch as torch, warnings
        >>> warnings.simplefilter("ignore")
        >>> m = torch.masked.masked_tensor(
        ...     torch.tensor([1.0, 2.0, 4.0]), torch.tensor([True, False, True])
        ... )
        >>> m.mean()
        MaskedTensor(  2.5000, True)
        >>> m * 2
        MaskedTensor(
          [  2.0000,       --,   8.0000]
        )
    """

    _masked_mask: Tensor

    @staticmethod
    def __new__(
        cls: type[MaskedTensor], data: Any, mask: Any, requires_grad: bool = False
    ) -> MaskedTensor:
        """Copies data and mask; the result is a leaf."""
        _check_types(data, mask)
        _warn_prototype()
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=2 if cls is MaskedTensor else 3,
            )
        data, mask = _checked(data, mask)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        made = joined(data.detach().clone(), mask.clone(), cls)
        if requires_grad:
            made.requires_grad_()
        return made

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        """As the constructor, but differentiable in ``data``."""
        _check_types(data, mask)
        _warn_prototype()
        data, mask = _checked(data, mask)
        if data.layout is not torch.strided:
            return joined(data.clone(), mask.clone())
        return joined(_Masking.apply(data, mask, _mark_of(data)), mask.clone())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs what ``handlers.py`` says about ``func``; declines, with a warning, what it does not
        know."""
        from .handlers import handle

        return handle(cls, func, types, args, kwargs or {})

    @classmethod
    def unary(cls, fn: Callable[[Tensor], Tensor], data: Tensor, mask: Tensor) -> MaskedTensor:
        """``fn`` of the data, under the mask."""
        return MaskedTensor(fn(data), mask)

    def get_data(self) -> Tensor:
        """The data, absent elements included, as an ordinary tensor; gradients flow through it."""
        return self.as_subclass(Tensor)

    def get_mask(self) -> Tensor:
        """The mask: True where an element is present."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """An ordinary tensor with ``value`` at the absent elements."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def is_sparse_coo(self) -> bool:
        """Whether the data are in COO layout."""
        return False

    def is_sparse_csr(self) -> bool:
        """Whether the data are in CSR layout."""
        return False

    def __repr__(self) -> str:
        data, mask = self.get_data().detach().tolist(), self.get_mask().tolist()
        if self.dim() == 0:
            return f"MaskedTensor({_number(data) if mask else '--'}, {mask})"
        text = "\n".join("  " + line for line in _text(data, mask, self.dim()).split("\n"))
        return f"MaskedTensor(\n{text}\n)"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: object) -> Any:
        return _rebuild, (self.get_data().detach(), self.get_mask(), self.requires_grad)

    def __copy__(self) -> MaskedTensor:
        return _rebuild(self.get_data().detach(), self.get_mask(), self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskedTensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment. If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        made = memo[id(self)] = _rebuild(
            self.get_data().detach().clone(), self.get_mask().clone(), self.requires_grad
        )
        return made


def _rebuild(data: Tensor, mask: Tensor, requires_grad: bool) -> MaskedTensor:
    made = joined(data, mask)
    if requires_grad:
        made.requires_grad_()
    return made


def _number(x: object) -> str:
    return _NUMBER.format(x) if isinstance(x, float) else str(x)


def _text(data: Values, mask: Values, ndim: int) -> str:
    """Nested brackets, two spaces deeper at each level."""
    if ndim == 1:
        texts = [_number(x) for x in data]
        width = max(
            [len(text) if present else 8 for text, present in zip(texts, mask, strict=True)],
            default=0,
        )
        return (
            "["
            f"{', '.join(text if present else '--'.rjust(width) for text, present in zip(texts, mask, strict=True))}"  # noqa: E501
            "]"
        )
    rows = [_text(d, m, ndim - 1).replace("\n", "\n  ") for d, m in zip(data, mask, strict=True)]
    return "[\n" + ",\n".join("  " + row for row in rows) + "\n]"


def is_masked_tensor(obj: object, /) -> TypeGuard[MaskedTensor]:
    """Whether an object is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def masked_tensor(data: object, mask: object, requires_grad: bool = False) -> MaskedTensor:
    """A MaskedTensor with copies of data and mask; a leaf."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A MaskedTensor through which gradients reach ``data``.

    Gradient: zero at absent elements; if ``data`` is a leaf, its ``grad`` becomes a MaskedTensor.
    """
    return MaskedTensor._from_values(data, mask)


#: What makes one object of data and mask where data are of a class of their own (``sparse.py``).
JOINING: dict[type, Callable[[Any, Any], MaskedTensor]] = {}


def joined(data: Tensor, mask: Tensor, cls: type[MaskedTensor] = MaskedTensor) -> MaskedTensor:
    """Data, a result that nobody else holds, and a mask as one object: the data's own, told to be
    of another class.

    ``as_subclass`` would make another object, and another step of the history.
    """
    if (join := JOINING.get(type(data))) is not None:
        return join(data, mask)
    data.__class__ = cls
    data._masked_mask = mask
    return data  # type: ignore[return-value]


# ---- checks --------------------------------------------------------------------------------------


def _check_types(data: object, mask: object) -> None:
    for name, x in (("data", data), ("mask", mask)):
        if isinstance(x, MaskedTensor) or not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a Tensor")


def _checked(data: Any, mask: Any) -> tuple[Any, Any]:
    """Data and mask, of which sparse ones have their elements in the same places, sorted."""
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if type(data) is not type(mask):
        raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
    if data.layout is not torch.strided:
        data, mask = _placed(data, mask)
    if mask.dtype is not torch.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    return data, mask


def _placed(data: Any, mask: Any) -> tuple[Any, Any]:
    """Sparse data and mask. Where the mask does not have as many elements as the data, the data get
    those of the mask.

    Raises:
        ValueError: if their elements lie in other places.
        TypeError: for other layouts.
    """
    if data.layout is torch.sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
        parts, message = (
            ("indices",),
            "data and mask are both sparse COO tensors but do not have the same indices.",
        )
    elif data.layout is torch.sparse_csr:
        message = (
            "data and mask are both sparse CSR tensors but do not share either crow or col indices."
        )
        parts = ("crow_indices", "col_indices")
    else:
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data._nnz() != mask._nnz() and data.size() == mask.size():
        data = data.to_dense().sparse_mask(mask)
    if not all(torch.equal(getattr(data, part)(), getattr(mask, part)()) for part in parts):
        raise ValueError(message)
    return data, mask


def _warn_prototype() -> None:
    warnings.warn(
        "MaskedTensor is in prototype stage, as PyTorch's is: its interface may still change.",
        UserWarning,
        stacklevel=4,
    )


# ---- gradients that reach plain tensors ----------------------------------------------------------


class _Masking(torch.autograd.Function):
    """The identity, whose gradient leaves out the absent elements."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor, mark: object) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.mark = mark
        return data.clone()

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        if ctx.mark is not None:
            ctx.mark.append(mask)
        return torch.where(mask, grad, torch.zeros_like(grad)), None, None


def _mark_of(data: Tensor) -> list[Tensor] | None:
    """The list in which ``_Masking`` leaves its mask when a gradient for the leaf ``data`` has gone
    through it."""
    if not (data.requires_grad and data.is_leaf):
        return None
    mark = getattr(data, "_masks_of_grad", None)
    if mark is None:
        mark = data._masks_of_grad = []
        masks: list[Tensor] = []

        def take(_: Tensor) -> None:  # runs for ``autograd.grad`` too, whose gradient is not stored
            masks[:] = mark
            mark.clear()

        def mask_stored(leaf: Tensor) -> None:
            if masks and type(leaf.grad) is Tensor:
                joined(leaf.grad, functools.reduce(torch.logical_or, masks))

        data.register_hook(take)
        data.register_post_accumulate_grad_hook(mask_stored)
    return mark
