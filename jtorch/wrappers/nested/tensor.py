"""``NestedTensor``, the jagged layout: packed values, a cut of them into items, and a handler that
looks up what a function means here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.size import Size
from .ragged import Cut, NestedInt, pack, pad

if TYPE_CHECKING:
    from ..._src.facts.kinds import Keywords, Row


__all__ = ["Nested", "NestedTensor"]


class Nested(Tensor):
    """What both layouts have in common: the data are a plain tensor, ``_values``, which also
    carries the autograd history.

    An instance holds no data itself: a function that reached a kernel without going through the
    handler fails instead of computing on something that has another shape than the caller believes.
    """

    _values: Tensor
    #: What each function means; the modules with the functions set it.
    _table: ClassVar[Any]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for other in types:
            if not issubclass(other, Nested) and not _is_transparent(other):
                return NotImplemented
        return cls._table.answer(func, types, args, kwargs or {})

    @staticmethod
    def _apply_function(function: type, args: tuple[object, ...]) -> object:
        """``autograd.Function.apply`` with nested tensors among its arguments."""
        from .custom import apply

        return apply(function, args)

    def _read(self) -> Any:
        raise RuntimeError(
            "a nested tensor has no data of one shape: this function knows nothing of nested "
            "tensors; use .values()"
        )

    def _like(self, values: Tensor) -> Any:
        """A nested tensor of this one's structure on other values."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        """Another tensor on the same data, a leaf."""
        made = self._like(self._values.detach().requires_grad_(self._values.requires_grad))
        made.__dict__.update(
            {
                name: value
                for name, value in vars(self).items()
                if name not in vars(made) and name != "_grad_seen"
            }
        )
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        return self._table.special["__reduce_ex__"](self, protocol)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes the attributes that a program had set; what the parts of the tensor are called in
        files says nothing new."""
        own = vars(self)
        own.update(
            {
                name: value
                for name, value in state.items()
                if name not in own and not (name[:1] == "_" and hasattr(type(self), name))
            }
        )

    def values(self) -> Tensor:
        """The packed data of all items, a view: in-place changes show in the nested tensor."""
        return self._values.view_as(self._values)


def _is_transparent(cls: type) -> bool:
    """Whether a class has nothing to say about functions: Tensor, Parameter, subclasses that keep
    the default handler."""
    handler = getattr(cls, "__torch_function__", None)
    own = getattr(handler, "__func__", None)
    return own is _default_handler or handler is torch._C._disabled_torch_function_impl


_default_handler = Tensor.__torch_function__.__func__


class NestedTensor(Nested):
    """A batch of tensors that differ in one dimension: layout ``torch.jagged``.

    The items lie one behind the other in ``values``, packed along dimension ``_ragged_idx - 1``;
    ``offsets (B + 1)`` says where each starts, ``lengths (B)`` how long it is if there are holes
    between them. ``shape`` has a symbolic size, ``j1``, in the ragged place; tensors made on the
    same offsets object have the same one, and only they can be combined.

    Shapes: values ``(sum of lengths, *)`` -> ``(B, j, *)``.
    """

    _cut: Cut
    _ragged_idx: int
    _size: tuple[Any, ...]
    _made_of = frozenset(("_values", "_cut", "_ragged_idx", "_size", "_grad_seen"))

    def __new__(
        cls,
        values: Tensor,
        offsets: Tensor,
        *,
        lengths: Tensor | None = None,
        requires_grad: bool = False,
        _ragged_idx: int = 1,
        _metadata_cache: dict[str, Any] | None = None,
    ) -> NestedTensor:
        """A nested tensor on these very values; a leaf's gradients are accumulated in it."""
        if offsets.dim() != 1:
            raise AssertionError(f"offsets must be 1D, but got {offsets.dim()}D")
        if isinstance(values, Nested):
            raise AssertionError("values must not be a NestedTensor")
        if values.device != offsets.device:
            raise AssertionError(
                "values and offsets must be on the same device, but got "
                f"values.device={values.device} and offsets.device={offsets.device}"
            )
        if lengths is not None and offsets.shape[0] - 1 != lengths.shape[0]:
            raise AssertionError(
                "offsets and lengths batch sizes must match: offsets.shape[0] - 1 = "
                f"{offsets.shape[0] - 1}, lengths.shape[0] = {lengths.shape[0]}"
            )
        cut = Cut(offsets, lengths)
        if _metadata_cache:
            cut.ragged.know(
                _stated(_metadata_cache, "min_seqlen"), _stated(_metadata_cache, "max_seqlen")
            )
        made = build(values, cut, _ragged_idx, cls)
        if requires_grad:
            values.requires_grad_()
        return made

    def _like(self, values: Tensor, ragged_idx: int | None = None) -> NestedTensor:
        return build(
            values, self._cut, self._ragged_idx if ragged_idx is None else ragged_idx, type(self)
        )

    # ---- structure -------------------------------------------------------------------------------

    def offsets(self) -> Tensor:
        """Where each item starts in the packed dimension, and where the last one ends: int64
        ``(B + 1,)``."""
        return self._cut.offsets

    def lengths(self) -> Tensor | None:
        """The lengths of the items, ``(B,)``; None where the offsets tell them."""
        return self._cut.lengths

    @property
    def _offsets(self) -> Tensor:
        return self._cut.offsets

    @property
    def _lengths(self) -> Tensor | None:
        return self._cut.lengths

    @property
    def _max_seqlen(self) -> int:
        """The length of the longest item."""
        return self._cut.largest

    @property
    def _min_seqlen(self) -> int:
        """The length of the shortest item."""
        return self._cut.smallest

    def _get_max_seqlen(self) -> int:
        return self._cut.largest

    def _get_min_seqlen(self) -> int:
        return self._cut.smallest

    @property
    def _max_seqlen_tensor(self) -> Tensor:
        return torch.zeros(self._cut.largest, 0)

    @property
    def _min_seqlen_tensor(self) -> Tensor:
        return torch.zeros(self._cut.smallest, 0)

    @property
    def _strides(self) -> Row:
        strides = self._values.stride()
        return (self._cut.size * strides[self._ragged_idx - 1], *strides)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A dense copy: items filled up with ``padding`` to the longest one, or to ``output_size``;
        longer ones are cut.

        Raises:
            RuntimeError: for nested tensors with holes.
        """
        return torch.nested.to_padded_tensor(self, padding, output_size)

    # ---- computing -------------------------------------------------------------------------------

    def _rows(self) -> Tensor:
        """The values with the packed dimension in front."""
        return (
            self._values if self._ragged_idx == 1 else self._values.movedim(self._ragged_idx - 1, 0)
        )

    def _from_rows(self, rows: Tensor) -> NestedTensor:
        """What ``_rows`` did, undone on other values."""
        return self._like(rows if self._ragged_idx == 1 else rows.movedim(0, self._ragged_idx - 1))

    def _padded(self, padding: Any = 0.0, width: int | None = None) -> Tensor:
        """The dense form, in the places of this tensor's dimensions."""
        found = pad(self._rows(), self._cut, padding, width)
        return found if self._ragged_idx == 1 else found.movedim(1, self._ragged_idx)

    def _present(self, width: int) -> Tensor:
        """Which places of the padded form hold data, bool ``(B, width)``."""
        return self._cut.present(width)

    def _repacked(self, padded: Tensor) -> NestedTensor:
        """A padded form (ragged dimension next to the batch) as a nested tensor of this structure,
        without its holes."""
        return self._like(pack(padded, self._cut, self._total()))

    def _total(self) -> int:
        """The size of the packed dimension."""
        return self._values.shape[self._ragged_idx - 1]

    # ---- Python ----------------------------------------------------------------------------------

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        """The names of the attributes that hold tensors, and the rest."""
        names = ["_values", "_offsets"] + (["_lengths"] if self._cut.lengths is not None else [])
        if self._cut.ragged.knows_extremes:
            names += ["_min_seqlen_tensor", "_max_seqlen_tensor"]
        return names, {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Tensor], meta: dict[str, Any], outer_size: Any, outer_stride: Any
    ) -> NestedTensor:
        """The nested tensor of the parts that ``__tensor_flatten__`` named."""
        cache = {
            name: inner_tensors.get(f"_{name}_tensor") for name in ("min_seqlen", "max_seqlen")
        }
        return NestedTensor(
            inner_tensors["_values"],
            inner_tensors["_offsets"],
            lengths=inner_tensors.get("_lengths"),
            requires_grad=meta["requires_grad"],
            _ragged_idx=meta["ragged_idx"],
            _metadata_cache=cache,
        )


def _stated(cache: dict[str, Tensor], name: str) -> int | None:
    """An extreme length as a number; torch keeps it as the first size of an empty tensor."""
    found = cache.get(name)
    return found.shape[0] if isinstance(found, Tensor) else found


def build(values: Tensor, cut: Cut, ragged_idx: int = 1, cls: Any = NestedTensor) -> Any:
    """A ``NestedTensor`` on ``values``, unchecked."""
    made = object.__new__(cls)
    made._values, made._cut, made._ragged_idx = values, cut, ragged_idx
    shape = values.shape
    made._size = (cut.batch, *shape[: ragged_idx - 1], cut.size, *shape[ragged_idx:])
    return made


def size_of(nt: NestedTensor) -> Size:
    """The shape, with the symbolic size in the ragged place."""
    return Size(nt._size)


def _rebuild_njt(constructor_kwargs: Keywords) -> NestedTensor:
    """Makes a jagged nested tensor again when one is unpickled."""
    return NestedTensor(**constructor_kwargs)


for _known in (NestedTensor, _rebuild_njt):  # where files and programs look for them
    _known.__module__ = "jtorch.nested._internal.nested_tensor"


def structure_matches(nt: NestedTensor, size: Any) -> bool:
    """Whether ``size`` agrees with the batch and ragged dimensions; -1 agrees with all."""
    end = nt._ragged_idx + 1
    return len(size) >= end and all(
        _same(a, b) for a, b in zip(nt._size[:end], size[:end], strict=True)
    )


def _same(mine: object, given: object) -> bool:
    return mine == given or (not isinstance(given, NestedInt) and given == -1)
