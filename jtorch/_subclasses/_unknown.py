"""What operators give on tensors without data where data decide it: numbers and sizes that are
symbols (``_src/tensor/unknowns.py``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._src.aten.overloads import aten as A
from .._src.aten.state import STATE
from .._src.facts.devices import device
from .._src.facts.dtypes import BY_NAME, dtype
from .._src.facts.errors import broadcast_shapes
from .._src.facts.size import SYMBOLIC
from .._src.tensor.shape_env import ShapeEnv
from .._src.tensor.symbols import GuardOnDataDependentSymNode, Sym, Truth, Undecided, exact, shown
from .._src.tensor.unknowns import of
from ..autograd.grad_mode import no_grad
from ..core import Tensor
from ._constants import mapped

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload
    from .._src.facts.kinds import Decorator, Function
    from .fake_tensor import FakeTensorMode


__all__ = ["answered", "note_sizes", "refuse"]

_LONG = BY_NAME["int64"]
_RULES: dict[object, Callable[..., object]] = {}


def _rule(*funcs: object) -> Decorator:
    """Says what operators give; ``NotImplemented`` where data do not decide."""

    def add(f: Callable[..., object]) -> Function:
        _RULES.update(dict.fromkeys(funcs, f))
        return f

    return add


def answered(mode: FakeTensorMode, func: OpOverload, values: list[object]) -> tuple[object] | None:
    """What an operator gives, if the program says it or numbers or sizes depend on data; without
    symbols, only where sizes do not."""
    user = getattr(func, "user", None)
    if user is not None and user.fake is not None:
        return (_as_stated(mode, func, values),)
    rule = _RULES.get(func)
    if rule is None or (mode.shape_env is None and func not in _ALWAYS):
        return None
    named = {a.name: x for a, x in zip(func._schema.arguments, values, strict=True) if a.kwarg_only}
    found = rule(mode, func, *values[: len(values) - len(named)], **named)
    return None if found is NotImplemented else (found,)


def _as_stated(mode: FakeTensorMode, func: Any, values: list[object]) -> Tensor:
    """What a program's own operator gives by the function that it registered for tensors without
    data."""
    args, kwargs = func.user.given(
        [
            mapped(lambda x: mode._fake(func, x, values) if isinstance(x, Tensor) else x, x)
            for x in values
        ]
    )
    before, STATE.fake = STATE.fake, (mode, func)
    try:
        with mode, no_grad():
            return func.user.fake(*args, **kwargs)
    finally:
        STATE.fake = before


def note_sizes(env: ShapeEnv | None, shape: Iterable[object]) -> None:
    """Says that the sizes of a result are none below 0."""
    if env is not None and env.data is not None:
        for n in shape:
            if type(n) in SYMBOLIC:
                env.data.at_least_0(n)


def refuse(env: ShapeEnv | None, varying: list[object], error: Exception) -> None:
    """Refuses an operator that failed on sizes that depend on data, where no example says what they
    are."""
    if env is None or env.data is None:
        return
    unknown = [n for n in varying if env.data.among(n)]
    if unknown and isinstance(error, (Undecided, TypeError)):
        text = str(error).splitlines()[0]
        raise GuardOnDataDependentSymNode(
            ", ".join(dict.fromkeys(map(shown, unknown)))
        ) from RuntimeError(text)
    if unknown:
        raise error


def _size(mode: Any, most: Any) -> Any:
    """A size of at most ``most``."""
    known = of(mode.shape_env)
    most = exact(most)
    high = known.interval(most)[1] if type(most) in SYMBOLIC else most
    return known.number(0, int(high) if high is not None and high < math.inf else None, size=True)


def _once(t: Tensor, what: str, make: Callable[[], object]) -> object:
    """What data decide of a tensor is the same as often as it is asked for, until the tensor is
    written to."""
    known = t.__dict__.setdefault("_read_of_data", {})
    version, found = known.get(what, (None, None))
    if version != t._version:
        found = make()
        known[what] = t._version, found
    return found


def _count(mode: object, t: Tensor) -> object:
    """How many elements of a tensor are not zero."""
    return _once(t, "count", lambda: _size(mode, t._aval.size))


def _empty(mode: Any, like: Tensor, shape: Iterable[object], dtype: dtype | None = None) -> Tensor:
    with mode:
        return A.empty.memory_format(
            [mode.shape_env.wrap(exact(n)) for n in shape],
            dtype=dtype or like.dtype,
            device=like.device,
        )


@_rule(A.item.default, A._local_scalar_dense.default)
def _item(mode: Any, func: object, self: Tensor) -> object:
    del func
    kind = self.dtype.np.kind if hasattr(self.dtype, "np") else ""
    known = of(mode.shape_env)
    if kind == "c":
        return NotImplemented
    return _once(
        self, "item", known.truth if kind == "b" else known.number if kind in "iu" else known.real
    )


@_rule(A._assert_scalar.default)
def _assert_scalar(mode: object, func: object, self: object, message: str) -> None:
    """It is said already where it is a comparison of symbols; what is false however data are fails
    at once."""
    del mode, func
    if not isinstance(self, Truth) and not self:
        raise RuntimeError(message)


@_rule(A.sym_constrain_range.default, A.sym_constrain_range_for_size.default)
def _constrain(
    mode: object, func: object, size: object, *, min: int | None, max: int | None
) -> object:
    del mode
    if not isinstance(size, Sym) or not size.on_data:
        return NotImplemented
    if func is A.sym_constrain_range_for_size.default:
        min = 0 if min is None else min
    number: Any = size
    for within in (min is None or number >= min, max is None or number <= max):
        if not (within.expected() if isinstance(within, Truth) else within):
            raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")
    return None


@_rule(A.nonzero.default)
def _nonzero(mode: object, func: object, self: Tensor) -> Tensor:
    del func
    return _empty(mode, self, (_count(mode, self), self.ndim), _LONG)


@_rule(A.where.default)
def _where(mode: object, func: object, condition: Tensor) -> list[Tensor]:
    del func
    n = _count(mode, condition)
    return [_empty(mode, condition, (n,), _LONG) for _ in range(condition.ndim)]


@_rule(A.argwhere.default)
def _argwhere(mode: object, func: object, self: Tensor) -> Tensor:
    return _nonzero(mode, func, self)


@_rule(A.masked_select.default)
def _masked_select(mode: object, func: object, self: Tensor, mask: Tensor) -> object:
    del func
    shape = broadcast_shapes(self._aval.shape, mask._aval.shape)
    return _empty(mode, self, (_size(mode, math.prod(shape)),))


@_rule(A._unique2.default)
def _unique2(
    mode: object,
    func: object,
    self: Tensor,
    sorted: bool,
    return_inverse: bool,
    return_counts: bool,
) -> tuple[Tensor, ...]:
    del func, sorted
    n = _size(mode, self._aval.size)
    inverse = _empty(mode, self, self.shape if return_inverse else (0,), _LONG)
    return (
        _empty(mode, self, (n,)),
        inverse,
        _empty(mode, self, (n if return_counts else 0,), _LONG),
    )


@_rule(A.unique_consecutive.default)
def _unique_consecutive(
    mode: object,
    func: object,
    self: Tensor,
    return_inverse: bool,
    return_counts: bool,
    dim: int | None,
) -> tuple[Tensor, ...]:
    if dim is not None and (dim, self.ndim) != (0, 1):
        return _unique_dim(mode, func, self, dim, True, return_inverse, return_counts)
    return _unique2(mode, func, self, True, return_inverse, return_counts)


@_rule(A.unique_dim.default)
def _unique_dim(
    mode: FakeTensorMode,
    func: object,
    self: Tensor,
    dim: int,
    sorted: bool,
    return_inverse: bool,
    return_counts: bool,
) -> tuple[Tensor, ...]:
    del func, sorted, return_inverse, return_counts  # it gives both, as PyTorch's does
    shape = list(self.shape)
    dim = range(len(shape))[dim]
    m, shape[dim] = shape[dim], _size(mode, self._aval.shape[dim])
    return (
        _empty(mode, self, shape),
        _empty(mode, self, (m,), _LONG),
        _empty(mode, self, (shape[dim],), _LONG),
    )


@_rule(A.repeat_interleave.Tensor)
def _repeats(mode: object, func: object, repeats: Tensor, *, output_size: object = None) -> object:
    del func
    return (
        NotImplemented
        if output_size is not None
        else _empty(mode, repeats, (_size(mode, None),), _LONG)
    )


@_rule(A.repeat_interleave.self_Tensor)
def _repeat_interleave(
    mode: FakeTensorMode,
    func: object,
    self: Tensor,
    repeats: Tensor,
    dim: int | None,
    *,
    output_size: object,
) -> object:
    del func, repeats
    if output_size is not None:
        return NotImplemented
    if dim is None:
        return _empty(mode, self, (_size(mode, None),))
    shape = list(self.shape)
    shape[range(len(shape))[dim]] = _size(mode, None)
    return _empty(mode, self, shape)


@_rule(A.bincount.default)
def _bincount(
    mode: Any, func: object, self: Tensor, weights: Tensor | None, minlength: object
) -> object:
    del func
    n = of(mode.shape_env).number(minlength if type(minlength) is int else 0, size=True)
    kind = (
        _LONG
        if weights is None
        else weights.dtype
        if str(weights.dtype) == "torch.float32"
        else BY_NAME["float64"]
    )
    return _empty(mode, self, (n,), kind)


@_rule(A.randperm.default)
def _randperm(
    mode: object,
    func: object,
    n: object,
    *,
    dtype: object,
    layout: object,
    device: object,
    pin_memory: object,
) -> object:
    del func, layout, pin_memory
    return _made_of(mode, n, dtype, device) if isinstance(n, Sym) else NotImplemented


@_rule(A.arange.start, A.arange.start_step)
def _arange(
    mode: object,
    func: object,
    start: int,
    end: object,
    step: float = 1,
    *,
    dtype: dtype | None,
    layout: object,
    device: device,
    pin_memory: bool | None,
) -> object:
    del func, layout, pin_memory
    if (
        not isinstance(start, Sym)
        or not all(isinstance(x, (int, Sym)) for x in (end, step))
        or type(step) is not int
        or not step
    ):
        return NotImplemented
    n: Any = (end - start + step - 1) // step if step > 0 else (start - end - step - 1) // -step
    return _made_of(mode, n.__sym_max__(0) if isinstance(n, Sym) else max(n, 0), dtype, device)


def _made_of(mode: Any, n: object, dtype: object, device: object) -> object:
    with mode:
        return A.empty.memory_format(
            [n], dtype=dtype if type(dtype) is type(_LONG) else _LONG, device=device
        )


def _masks(indices: Sequence[object]) -> bool:
    return any(isinstance(i, Tensor) and i.dtype.np.kind == "b" for i in indices)


@_rule(A.index.Tensor)
def _index(
    mode: FakeTensorMode, func: Callable[..., object], self: Tensor, indices: list[Tensor | None]
) -> object:
    """Masks as the places where they are true."""
    if not _masks(indices):
        return NotImplemented
    places = []
    for i in indices:
        if isinstance(i, Tensor) and i.dtype.np.kind == "b":
            n = _count(mode, i)
            places += [_empty(mode, self, (n,), _LONG) for _ in range(i.ndim)]
        else:
            places.append(i)
    with mode:
        return func(self, places)


@_rule(A.select.int)
def _select(
    mode: FakeTensorMode, func: Callable[..., object], self: Tensor, dim: int, index: Sym | int
) -> object:
    if not isinstance(index, Sym) or not index.on_data:
        return NotImplemented
    with mode:
        return func(self, dim, 0)


@_rule(A.slice.Tensor)
def _slice(
    mode: object, func: object, self: Tensor, dim: int, start: object, end: object, step: int
) -> object:
    """Between places that are not known to lie in the dimension there is a number of elements that
    data decide."""
    del func
    size = self.shape[dim]
    if not any(isinstance(x, Sym) and x.on_data for x in (size, start, end, step)):
        return NotImplemented
    first = _place(0 if start is None else start, size)
    last = _place(size if end is None else end, size)
    if first is not None and last is not None and type(step) is int and statically(first <= last):
        return _view(mode, self, dim, (last - first + step - 1) // step, step)
    return _view(mode, self, dim, _size(mode, size), step)


def _place(x: Any, size: Any) -> Any:
    """A place in a dimension, counted from the front; None where it is not known whether it lies in
    it."""
    if type(x) is int and x >= 1 << 62:
        return size
    if statically(x < 0):
        x = x + size
    if not statically(x >= 0):
        return 0 if statically(x <= 0) else None
    return x if statically(x <= size) else size if statically(x >= size) else None


def statically(a: Truth | bool) -> bool:
    """Whether something holds whatever data are."""
    try:
        return a.holds() if isinstance(a, Truth) else bool(a)
    except Undecided:
        return False


def _view(mode: Any, self: Tensor, dim: int, n: Any, step: Any) -> object:
    shape, strides = list(self.shape), list(self.stride())
    shape[dim], strides[dim] = n, strides[dim] * step
    with mode:
        return A.empty_strided.default(shape, strides, dtype=self.dtype, device=self.device)


@_rule(A.index_put_.default, A._index_put_impl_.default)
def _index_put_(
    mode: object,
    func: object,
    self: Tensor,
    indices: list[Tensor],
    values: Tensor,
    accumulate: bool,
    unsafe: bool = False,
) -> object:
    """Where masks decide how many places there are, values are only known to fit where the program
    runs."""
    del mode, func, values, accumulate, unsafe
    return self if _masks(indices) else NotImplemented


@_rule(A.index_put.default)
def _index_put(
    mode: Any, func: object, self: Tensor, indices: list[object], values: Tensor, accumulate: bool
) -> object:
    del func, values, accumulate
    if not _masks(indices):
        return NotImplemented
    with mode:
        return A.clone.default(self)


#: What is answered where no sizes are symbols, too.
_ALWAYS = frozenset((A.index_put.default, A.index_put_.default, A._index_put_impl_.default))
