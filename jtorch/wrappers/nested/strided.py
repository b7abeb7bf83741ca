"""``StridedNestedTensor``: items of any sizes of one rank in a flat buffer, and the table of the
functions that it knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch import Tensor

from .functions import Table
from .pointwise import is_inplace
from .tensor import Nested

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Keywords


__all__ = ["TABLE", "Form", "StridedNestedTensor", "from_items"]

Sizes = tuple[tuple[int, ...], ...]


def row_major(size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous item."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


NOTHING_TO_PAD = "to_padded_tensor: at least one constituent tensor should have non-zero numel"


class Form:
    """Where the items lie in the buffer: size, strides and start of each. Index arrays that follow
    from it are kept."""

    __slots__ = ("_index", "_whole", "rank", "sizes", "starts", "strides")

    def __init__(self, sizes: Sizes, strides: Sizes, starts: tuple[int, ...], rank: int) -> None:
        self.sizes, self.strides, self.starts, self.rank = sizes, strides, starts, rank
        self._index: tuple[np.ndarray, np.ndarray] | None = None
        self._whole: bool | None = None

    @staticmethod
    def packed(sizes: Any, rank: int | None = None) -> Form:
        """Items one behind the other, each in row-major order."""
        sizes = tuple(tuple(s) for s in sizes)
        starts, end = [], 0
        for size in sizes:
            starts.append(end)
            end += math.prod(size)
        return Form(
            sizes,
            tuple(row_major(s) for s in sizes),
            tuple(starts),
            len(sizes[0]) if rank is None else rank,
        )

    @property
    def numel(self) -> int:
        """The number of elements of all items."""
        return sum(math.prod(size) for size in self.sizes)

    def is_packed(self) -> bool:
        """Whether the items are contiguous, one behind the other."""
        if self._whole is None:
            other = Form.packed(self.sizes, self.rank)
            self._whole = (self.strides, self.starts) == (other.strides, other.starts)
        return self._whole

    def fits(self, other: Form) -> bool:
        """Whether two nested tensors can share one order of their buffers."""
        return self is other or (self.sizes, self.strides, self.starts) == (
            other.sizes,
            other.strides,
            other.starts,
        )

    def largest(self) -> tuple[int, ...]:
        """The sizes that hold every item."""
        return (
            tuple(max(column) for column in zip(*self.sizes, strict=True))
            if self.sizes
            else (0,) * self.rank
        )

    def index(self) -> tuple[np.ndarray, np.ndarray]:
        """For each place of the padded form ``(B, *largest)`` the place in the buffer, and whether
        there is one."""
        if self._index is None:
            top, batch = self.largest(), len(self.sizes)
            index = np.asarray(self.starts, np.int64).reshape(batch, *(1,) * self.rank)
            present = np.ones((batch, *top), bool)
            for d in range(self.rank):
                place = np.arange(top[d]).reshape(
                    1, *(-1 if i == d else 1 for i in range(self.rank))
                )
                column = (batch, *(1,) * self.rank)
                index = index + place * np.asarray([s[d] for s in self.strides], np.int64).reshape(
                    column
                )
                present = present & (
                    place < np.asarray([s[d] for s in self.sizes], np.int64).reshape(column)
                )
            self._index = np.where(present, np.broadcast_to(index, present.shape), 0), present
        return self._index

    def order(self) -> np.ndarray:
        """The places of the elements in the buffer, item by item, each in row-major order."""
        index, present = self.index()
        return index[present]


class StridedNestedTensor(Nested):
    """A batch of tensors of one rank and any sizes: layout ``torch.strided``.

    The items are views of one flat buffer, ``values()``. Few functions know this layout; the jagged
    one knows nearly all.
    """

    _form: Form
    _made_of = frozenset(("_values", "_form", "_grad_seen"))

    @staticmethod
    def of(values: Tensor, form: Form) -> StridedNestedTensor:
        """A nested tensor on a flat buffer."""
        made = object.__new__(StridedNestedTensor)
        made._values, made._form = values, form
        return made

    @staticmethod
    def contiguous_of(values: Tensor, sizes: Any, rank: int | None = None) -> StridedNestedTensor:
        """A nested tensor of items that lie one behind the other in ``values``."""
        return StridedNestedTensor.of(values, Form.packed(sizes, rank))

    def _like(self, values: Tensor) -> StridedNestedTensor:
        return StridedNestedTensor.of(values, self._form)

    @property
    def _sizes(self) -> Sizes:
        return self._form.sizes

    # ---- computing -------------------------------------------------------------------------------

    def _flat(self) -> Tensor:
        """The elements item by item, each in row-major order."""
        if self._form.is_packed() and self._values.shape[0] == self._form.numel:
            return self._values
        return self._values.index_select(0, _host(self._form.order(), self._values))

    def _padded(self, padding: Any = 0.0) -> Tensor:
        """The dense form ``(B, *largest)``."""
        index, present = self._form.index()
        if not index.size or not self._values.numel():
            return torch.full(
                index.shape, padding, dtype=self._values.dtype, device=self._values.device
            )
        found = self._values.index_select(0, _host(index.reshape(-1), self._values)).view(
            index.shape
        )
        return found if present.all() else found.masked_fill(~_host(present, self._values), padding)

    def _present(self, width: int) -> Tensor:
        """Which places of the first ragged dimension hold data, bool ``(B, width)``."""
        lengths = np.asarray([s[0] for s in self._form.sizes], np.int64)
        return _host(np.arange(width) < lengths[:, None], self._values)

    def _repacked(self, padded: Tensor) -> StridedNestedTensor:
        """A dense ``(B, longest, *)`` as items that are as long as this tensor's."""
        rest = tuple(padded.shape[2:])
        return from_padded(padded, [(s[0], *rest) for s in self._form.sizes])

    def _to_padded(
        self, padding: bool | complex | float | int | None, output_size: tuple[int, ...] | None
    ) -> Tensor:
        if not self._form.sizes:
            return self._values.new_empty(0)
        if not self._form.rank:
            raise RuntimeError(
                "to_padded_tensor(): a nested tensor of 0-dim items has nothing to pad"
            )
        if not self._form.is_packed():
            raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
        if not self._form.numel:
            raise RuntimeError(NOTHING_TO_PAD)
        found = self._padded(padding)
        if output_size is None:
            return found
        size = tuple(output_size)
        if len(size) != found.dim():
            raise RuntimeError(
                "Length of output_size does not match NestedTensor dims. Broadcasting is not "
                "supported."
            )
        if any(want < have for want, have in zip(size, found.shape, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not "
                "supported."
            )
        more = [
            n
            for want, have in zip(reversed(size), reversed(found.shape), strict=True)
            for n in (0, want - have)
        ]
        return torch.nn.functional.pad(found, more, value=padding)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A dense copy, the items filled up with ``padding`` to the largest sizes or to
        ``output_size``.

        Raises:
            RuntimeError: if ``output_size`` is too small.
        """
        return torch.nested.to_padded_tensor(self, padding, output_size)

    # ---- torch's names for the structure ---------------------------------------------------------

    def _nested_tensor_size(self) -> Tensor:
        return torch.tensor([list(s) for s in self._form.sizes], dtype=torch.int64)

    def _nested_tensor_strides(self) -> Tensor:
        return torch.tensor([list(s) for s in self._form.strides], dtype=torch.int64)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        return torch.tensor(list(self._form.starts), dtype=torch.int64)


def _host(array: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(like.device)


def from_padded(padded: Tensor, sizes: object) -> StridedNestedTensor:
    """The items of the given sizes out of a dense ``(B, *)``, packed."""
    form = Form.packed(sizes, padded.dim() - 1)
    present = np.ones(tuple(padded.shape), bool)
    for d in range(padded.dim() - 1):
        place = np.arange(padded.shape[d + 1]).reshape(
            1, *(-1 if i == d else 1 for i in range(padded.dim() - 1))
        )
        present &= place < np.asarray([s[d] for s in form.sizes], np.int64).reshape(
            -1, *(1,) * (padded.dim() - 1)
        )
    flat = padded.reshape(-1)
    return StridedNestedTensor.of(
        flat if present.all() else flat.index_select(0, _host(np.flatnonzero(present), flat)), form
    )


def from_items(items: list[Tensor], dtype: Any, device: Any) -> StridedNestedTensor:
    """The items copied into one buffer, with their history."""
    for i, t in enumerate(items):
        if i and t.dim() != items[i - 1].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{t.dim()} for Tensor at index {i} and dimension {items[i - 1].dim()} for Tensor "
                f"at index {i - 1}."
            )
    if not items:
        return StridedNestedTensor.contiguous_of(torch.zeros(0, dtype=dtype, device=device), (), 0)
    kind = items[0].dtype if dtype is None else dtype
    place = items[0].device if device is None else device
    flat = torch.cat([t.reshape(-1).to(device=place, dtype=kind) for t in items])
    return StridedNestedTensor.contiguous_of(flat, [tuple(t.shape) for t in items])


def from_parts(
    buffer: Tensor, sizes: Tensor, strides: Tensor, starts: Tensor
) -> StridedNestedTensor:
    """The nested tensor that torch's names for the structure describe."""
    rows = [tuple(map(tuple, x.tolist())) for x in (sizes, strides)]
    return StridedNestedTensor.of(
        buffer,
        Form(rows[0], rows[1], tuple(starts.tolist()), sizes.shape[1] if sizes.dim() > 1 else 0),
    )


#: Functions of one operand, and of numbers, that act on the buffer.
_UNCHANGED = """
    abs abs_ absolute __abs__ neg neg_ negative __neg__ relu relu_ gelu silu silu_ tanh tanh_ sqrt
    sin cos sgn sgn_ isinf isnan isneginf isposinf isreal logical_not logical_not_ dropout dropout_
    alpha_dropout fill_ zero_ normal_ absolute_ negative_ positive __pos__ conj conj_physical real
    real.__get__ softsign tanhshrink dtype.__get__ device.__get__ is_cpu.__get__ is_cuda.__get__
    is_ipu.__get__ is_maia.__get__ is_meta.__get__ is_mkldnn.__get__ is_mps.__get__ is_mtia.__get__
    is_quantized.__get__ is_sparse.__get__ is_sparse_csr.__get__ is_vulkan.__get__ is_xla.__get__
    is_xpu.__get__ itemsize.__get__ is_leaf.__get__ grad_fn.__get__ output_nr.__get__
    requires_grad.__get__ requires_grad.__set__ retains_grad.__get__ element_size get_device
    requires_grad_ retain_grad is_pinned is_shared detach detach_ data.__get__ pin_memory
    record_stream untyped_storage storage storage_offset is_complex is_floating_point is_inference
    is_signed is_conj is_neg resolve_conj resolve_neg
""".split()


def apply(func: Callable[..., object], args: tuple[object, ...], kwargs: Keywords) -> Any:
    """``func`` on the buffer of the one nested operand."""
    nt: Any = next(x for x in (*args, *kwargs.values()) if isinstance(x, Nested))
    if is_inplace(func) and nt._values.shape[0] != nt._form.numel:
        return write_back(nt, lambda flat: func(*(flat if x is nt else x for x in args), **kwargs))
    found = func(
        *(x._values if x is nt else x for x in args),
        **{n: x._values if x is nt else x for n, x in kwargs.items()},
    )
    if isinstance(found, Tensor):
        return nt if found is nt._values else nt._like(found)
    return found


def write_back(nt: StridedNestedTensor, change: Function) -> StridedNestedTensor:
    """Changes the elements of a nested tensor that is a part of its buffer, and no others."""
    flat = change(nt._flat().clone())
    nt._values.index_copy_(0, _host(nt._form.order(), nt._values), flat)
    return nt


TABLE = Table("strided", apply)
StridedNestedTensor._table = TABLE
TABLE.unchanged |= set(_UNCHANGED)
TABLE.delegates |= {"__iter__", "__format__", "nn.functional.softmin"}
TABLE.reasons += [
    (
        lambda _: True,
        "this layout has few functions; the jagged one, layout=torch.jagged, has nearly all",
    )
]
