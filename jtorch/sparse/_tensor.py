"""Sparse tensors: a subclass of Tensor that holds positions and values, and the table of what is
done with them.

Public functions come here after the override protocol has found nobody to ask
(``dispatch.LAYOUTS``). An op without an entry runs as for dense tensors: composed functions then
find the entries of their parts, and a kernel that wants the elements gets torch's error. Gradients
are those of the values, which are an ordinary tensor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dispatch
from .._src.bind.bound import BOUND, POINTWISE
from .._src.engine import SPECIAL, Laid, aval_of, numbers_of, record
from .._src.facts import layouts
from .._src.facts.errors import no_kernel
from .._src.facts.size import Size
from .._src.tensor.running import check_cast, converted
from ..autograd.grad_mode import MODE, unrecorded
from ..core import Tensor, from_value
from ..dispatch import disabled_torch_function_impl

if TYPE_CHECKING:
    from .._src.facts.kinds import Decorator, Function, Tree
    from ..autograd.tape import Node


_new = object.__new__

#: The word for each layout in torch's messages, and the backend that kernels are looked for in.
NAMES = {
    layouts.strided: "Strided", layouts.sparse_coo: "Sparse", layouts.sparse_csr: "SparseCsr",
    layouts.sparse_csc: "SparseCsc", layouts.sparse_bsr: "SparseBsr",
    layouts.sparse_bsc: "SparseBsc",
}  # fmt: skip
#: Layouts whose rows (rather than columns) are compressed, and those of blocks.
BY_ROW = frozenset((layouts.sparse_csr, layouts.sparse_bsr))
COMPRESSED = frozenset(
    (layouts.sparse_csr, layouts.sparse_csc, layouts.sparse_bsr, layouts.sparse_bsc)
)
BLOCKED = frozenset((layouts.sparse_bsr, layouts.sparse_bsc))


class SparseTensor(Tensor):
    """A tensor of which only some elements are specified, by their positions and values.

    Attributes:
        _kind: the layout.
        _at: for COO ``(indices,)`` of shape ``(sparse_dim, nnz)``, else the compressed and the
            plain indices.
        _vals: the values, an ordinary tensor; the history of the whole is its history.
        _sorted: for COO, whether indices are sorted and unique.
        _whole: the dense tensor that it was made of, for derivatives of all elements (see
            ``_whole.py``), if there is one.
    """

    __torch_function__ = disabled_torch_function_impl

    _kind: Any
    _at: tuple[Tensor, ...]
    _vals: Tensor
    _dims: Size
    _sorted: bool
    _whole: Any = None
    _made_of = frozenset(("_kind", "_at", "_vals", "_dims", "_sorted", "_whole"))

    def _read(self) -> Any:
        """A value that stands for the whole tensor, which kernels refuse."""
        found = _new(SparseValue)
        found.aval = self._aval
        found.array, found.index, found.meta, found.trace = None, 0, None, SPECIAL
        found.tensor = self
        return found

    @property
    def _al(self) -> Any:
        raise could_not_run(_calling.name or "as_strided", self)

    @property
    def _writes(self) -> int:
        return self._vals._writes

    @property
    def _aval(self) -> Any:
        found = self._vals._aval
        return aval_of(tuple(self._dims), found.dtype, found.device)

    def _sync(self) -> None:
        self._vals.requires_grad  # noqa: B018 (brings a view's history up to date)

    def _edge(self) -> tuple[Node | int, ...] | Tensor:
        self._sync()
        return self._vals._edge()

    def _check_origin(self) -> None:
        pass

    def jax(self) -> Any:
        """The same tensor as JAX has it: a ``BCOO``, or ``BCSR`` for CSR."""
        from jax.experimental import sparse

        if self._kind is layouts.sparse_coo:
            return sparse.BCOO((self._vals.jax(), self._at[0].jax().T), shape=tuple(self._dims))
        if self._kind is layouts.sparse_csr:
            crow, col = self._at
            return sparse.BCSR((self._vals.jax(), col.jax(), crow.jax()), shape=tuple(self._dims))
        raise could_not_run("_to_jax", self)

    # Programs that look see what they would see in PyTorch, where the layout is no class.
    __class__ = property(lambda self: Tensor)
    # What the floors below look at is the values' state.
    _rg = property(lambda self: self._vals._rg, lambda self, x: setattr(self._vals, "_rg", x))
    _node = property(lambda self: self._vals._node, lambda self, x: setattr(self._vals, "_node", x))
    _nr = property(lambda self: self._vals._nr, lambda self, x: setattr(self._vals, "_nr", x))


class SparseValue(Laid):
    """What reading a sparse tensor gives: gradients can be added up, everything else is refused."""

    __slots__ = ()

    def run(self, call: Any, ins: Any, numbers: tuple[object, ...]) -> Any:
        """The sum of gradients, or an error that names the op."""
        op = call.extra.op
        if op.path == "_C._accumulate":
            a, b = (v.tensor if isinstance(v, Laid) else from_value(v) for v in ins)
            with unrecorded():
                found = (
                    TABLE["add"](b, a)
                    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor)
                    else TABLE["add"](a, b)
                )
            return found._v or found._read()
        # only leaves take sparse gradients: on the way they are dense
        if call.name.endswith("_backward"):
            dense = (TABLE["to_dense"](v.tensor) if isinstance(v, Laid) else None for v in ins)
            return record(
                call,
                [v if d is None else d._v or d._read() for d, v in zip(dense, ins, strict=True)],
                numbers,
            )
        raise could_not_run(_calling.name or op.aten or op.name, self.tensor)

    def unreadable(self, what: str = "item") -> Exception:
        """The error for reading it on the host."""
        return could_not_run(_calling.name or "_local_scalar_dense", self.tensor)


def make(
    kind: Any,
    indices: tuple[Tensor, ...],
    values: Tensor,
    size: tuple[int, ...] | list[int] | Size,
    coalesced: bool = False,
) -> SparseTensor:
    """A sparse tensor of its parts, unchecked."""
    made = _new(SparseTensor)
    made._kind, made._at, made._vals = kind, indices, values
    made._dims = size if type(size) is Size else Size(size)
    made._sorted = coalesced or (kind is layouts.sparse_coo and indices[0]._aval.shape[1] < 2)
    return made


def coo(
    indices: Tensor,
    values: Tensor,
    size: tuple[int, ...] | list[int] | Size,
    coalesced: bool = False,
) -> SparseTensor:
    """A COO tensor of its parts, unchecked."""
    return make(layouts.sparse_coo, (indices,), values, size, coalesced)


def like(t: SparseTensor, values: Tensor) -> SparseTensor:
    """A tensor with the positions of ``t`` and other values."""
    return make(t._kind, t._at, values, t._dims, t._sorted)


def become(t: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Changes ``t`` in place to what ``other`` is.

    Raises:
        RuntimeError: if ``t`` is a leaf that requires grad, or the dtype does not fit.
    """
    if t._rg and t._node is None and MODE.enabled:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    values = other._vals
    if values.dtype is not t.dtype:
        check_cast(values.dtype, t.dtype)
        values = converted(values, t.dtype)
    version = t._vals._version
    t._kind, t._at, t._vals, t._dims, t._sorted, t._whole = (
        other._kind,
        other._at,
        values,
        other._dims,
        other._sorted,
        other._whole,
    )
    if values._version <= version and values._node is None and values._al is None:
        values._ver = version + 1
    return t


def host(t: Tensor) -> np.ndarray:
    """The data of an index tensor, on the host."""
    return numbers_of(t._v or t._read())


def nnz(t: SparseTensor) -> int:
    """How many elements (or blocks) are specified, in each batch."""
    return t._at[0]._aval.shape[1] if t._kind is layouts.sparse_coo else t._at[1]._aval.shape[-1]


def sparse_dim(t: SparseTensor) -> int:
    """How many dimensions are indexed."""
    return t._at[0]._aval.shape[0] if t._kind is layouts.sparse_coo else 2


# ---- errors --------------------------------------------------------------------------------------


class _Calling(threading.local):
    """The name of the public function that runs, for errors of what it calls."""

    name: str | None = None


_calling = _Calling()


@contextmanager
def calling(name: str) -> Iterator[None]:
    """A block in which missing kernels are reported as those of ``name``."""
    before = _calling.name
    if before is None:
        _calling.name = name
    try:
        yield
    finally:
        _calling.name = before


def could_not_run(name: str, t: Any) -> NotImplementedError:
    """torch's error for an op that a layout has no kernel for."""
    kind = t._kind if isinstance(t, SparseTensor) else layouts.strided
    word = {layouts.strided: "", layouts.sparse_coo: "Sparse"}.get(kind, "SparseCsr")
    return no_kernel(name, f"{word}{t.device.type.upper()}")


def expected(name: str, what: str, t: object) -> RuntimeError:
    """torch's error for a function of another layout: ``coalesce expected sparse coordinate tensor
    layout but got Strided``."""
    kind = t._kind if isinstance(t, SparseTensor) else layouts.strided
    return RuntimeError(f"{name} expected {what} layout but got {NAMES[kind]}")


# ---- the table -----------------------------------------------------------------------------------

#: What is done in place of an op: by the last part of its public name, or the whole path below
#: ``torch`` outside ``torch`` and ``Tensor``.
TABLE: dict[str, Function] = {}
#: Operators by the function that they are.
OPERATORS = {
    "__radd__": "add", "__rmul__": "mul", "__iadd__": "add_", "__isub__": "sub_",
    "__imul__": "mul_", "__itruediv__": "div_", "__truediv__": "div", "true_divide": "div",
    "divide": "div", "multiply": "mul", "subtract": "sub", "negative": "neg",
    "__ifloordiv__": "floor_divide_", "__floordiv__": "floor_divide", "__pow__": "pow",
    "__neg__": "neg", "__abs__": "abs", "__eq__": "eq", "__matmul__": "matmul", "absolute": "abs",
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "fix": "trunc",
    "concat": "cat", "concatenate": "cat", "swapaxes": "transpose", "swapdims": "transpose",
    "adjoint": "mT", "spmm": "mm",
}  # fmt: skip


def sparse_op(*names: str) -> Decorator:
    """Decorator: enters what these public names do when an operand is sparse."""

    def enter(body: Callable[..., object]) -> Function:
        for name in names:
            TABLE[name] = body
        return body

    return enter


_keys: dict[Any, tuple[str, str]] = {}


def _key(func: Callable[..., object]) -> tuple[str, str]:
    """The key of a public function in the table, and its path below ``torch``."""
    found = _keys.get(func)
    if found is None:
        path = dispatch.name_of(func).removeprefix("torch.")
        last = path.rpartition(".")[2]
        name = last if path in (last, f"Tensor.{last}") else path
        if path.startswith("special."):
            name = last
        name = OPERATORS.get(
            name,
            OPERATORS.get(name[:-1], name[:-1]) + "_"
            if name[-1:] == "_" and name[:2] != "__"
            else name,
        )
        found = _keys[func] = (name, path)
    return found


class _Layout:
    """What ``dispatch.LAYOUTS`` holds for sparse tensors."""

    def call(
        self, caller: Any, operand: SparseTensor, args: tuple[object, ...], kwargs: dict[str, float]
    ) -> Tree:
        """A public function called with a sparse operand."""
        name, path = _key(caller.func)
        if caller.layout.alias_of:
            kwargs = {caller.layout.alias_of.get(n, n): x for n, x in kwargs.items()}
        body = TABLE.get(name)
        if body is not None:
            with calling(_aten(path, name, args)):
                return body(*args, **kwargs)
        if (
            name[-1:] == "_"
            and name[-2:] != "__"
            and name[:-1] in TABLE
            and isinstance(args[0], SparseTensor)
        ):
            with calling(_aten(path, name, args)):
                return become(args[0], TABLE[name[:-1]](*args, **kwargs))
        if operand._kind in COMPRESSED:
            bound = BOUND.get(path.removeprefix("Tensor."))
            if bound is not None and bound.op.family in POINTWISE:
                raise RuntimeError(f"unsupported tensor layout: {NAMES[operand._kind]}")
        with calling(_aten(path, name, args)):
            return caller.run(args, kwargs)

    def get(self, name: str, t: SparseTensor, plain: Callable[..., object]) -> Any:
        """A property read from a sparse tensor."""
        body = GETTERS.get(name)
        if body is not None:
            return body(t)
        with calling(name):
            return plain(t)

    def set(self, name: str, t: SparseTensor, value: object, plain: Callable[..., object]) -> None:
        """A property set on a sparse tensor."""
        body = SETTERS.get(name)
        if body is not None:
            body(t, value)
        else:
            with calling(name):
                plain(t, value)


def _aten(path: str, name: str, args: tuple[object, ...]) -> str:
    """The ATen overload that an error names."""
    plain = path.removeprefix("Tensor.")
    bound = (
        BOUND.get(path)
        or BOUND.get(plain)
        or BOUND.get(plain.rstrip("_"))
        or (BOUND.get(name) if plain in OPERATORS else None)
    )
    if bound is None or not bound.op.aten:
        return _OVERLOADS.get(name, name)
    aten = bound.op.aten
    base, _, overload = aten.partition(".")
    if name.endswith("_") and not base.endswith("_"):
        base += "_"
    if overload == "Tensor" and len(args) > 1 and not isinstance(args[1], Tensor):
        overload = "Scalar"
    return f"{base}.{overload}" if overload else base


#: Overloads that errors name where no declaration tells them.
_OVERLOADS = {
    "__getitem__": "as_strided", "__setitem__": "copy_", "fill_": "fill_.Scalar",
    "squeeze": "as_strided", "narrow": "as_strided", "mean": "mean.dim", "view_as": "view",
    "sort": "sort.stable", "softmax": "_softmax", "log_softmax": "_log_softmax",
}  # fmt: skip

GETTERS: dict[str, Callable[[Any], Any]] = {}
SETTERS: dict[str, Callable[[Any, Any], None]] = {}


def getter(name: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: enters how a property is read."""

    def enter(body: Callable[..., object]) -> Callable[[Any], Any]:
        GETTERS[name] = body
        return body

    return enter


dispatch.LAYOUTS[SparseTensor] = _Layout()
