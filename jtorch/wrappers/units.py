"""``UnitTensor``: tensors with physical units, which go through arithmetic, functions and gradients
and are checked on the way.

Written as an outsider would: with the public namespace, ``TensorLike`` and the registry of the
``pint`` package (extra ``units``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import BoundArguments
from typing import Any

import pint

import jtorch as torch
from jtorch.overrides import resolve_name

from . import coverage, trees
from .tensor_like import TensorLike

Tensor: Any = torch.Tensor


class UnitError(ValueError):
    """Operands whose units do not go together."""


class UnitTensor(TensorLike):
    """A tensor with a unit.

    Sums, comparisons and joins convert to the first operand's unit; products, quotients and powers
    have the unit that follows; functions such as ``exp`` want numbers without dimension. Numbers
    and plain tensors have none. A gradient has the unit of what is differentiated by that of its
    tensor. Functions whose effect on units is not defined are refused.

    Args:
        data: a tensor or what ``torch.as_tensor`` takes.
        unit: a pint unit, or text such as ``"m / s ** 2"``, read by pint's application registry.
        options: ``dtype`` and the like, for ``torch.as_tensor``.

    Raises:
        UnitError: when operands do not go together.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.wrappers import UnitTensor
        >>> way, time = UnitTensor([3.0, 6.0], "km"), UnitTensor([2.0, 3.0], "minute")
        >>> (way / time).to_unit("m/s")
        UnitTensor(tensor([25.0000, 33.3333]), 'meter / second')
        >>> way + UnitTensor(500.0, "m")
        UnitTensor(tensor([3.5000, 6.5000]), 'kilometer')
        >>> way + time
        Traceback (most recent call last):
        ...
        jtorch.wrappers.units.UnitError: torch.add(): 'kilometer' ([length]) and 'minute' ([time]) do not go together
    """  # noqa: E501

    __slots__ = ("_data", "_gradient_unit", "unit", "__weakref__")

    def __init__(self, data: Any, unit: Any = "dimensionless", **options: Any) -> None:
        if isinstance(data, UnitTensor):
            raise TypeError("the data have a unit already; to_unit() converts")
        self._data = torch.as_tensor(data, **options)
        self.unit = _registry().Unit(unit)
        self._gradient_unit: Any = None
        if self._data.requires_grad and self._data.is_leaf:
            _note_gradients(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Applies the rule of ``func``; other array types decide for themselves."""
        if not all(issubclass(t, (UnitTensor, torch.Tensor)) for t in types):
            return NotImplemented
        rule = _rules().get(func)
        if rule is None:
            raise NotImplementedError(f"{_name(func)} of a UnitTensor: {_UNDEFINED}")
        return rule(func, *args, **(kwargs or {}))

    @property
    def magnitude(self) -> torch.Tensor:
        """The numbers, in this tensor's unit."""
        return self._data

    def to_unit(self, unit: Any) -> UnitTensor:
        """The same quantity in another unit of its dimension.

        Raises:
            UnitError: if it has another dimension.
        """
        unit = _registry().Unit(unit)
        return UnitTensor(_converted(self, unit, "to_unit()"), unit)

    def __repr__(self) -> str:
        return f"UnitTensor({self._data!r}, {str(self.unit)!r})"

    def __reduce_ex__(self, protocol: object) -> Any:
        return UnitTensor, (self._data, str(self.unit))


_UNDEFINED = "its effect on units is not defined"


def _registry() -> Any:
    return pint.get_application_registry()


def _name(func: Callable[..., object]) -> str:
    return resolve_name(func) or func.__name__


# ---- units of operands ---------------------------------------------------------------------------


def _unit(x: object) -> Any:
    return x.unit if isinstance(x, UnitTensor) else _registry().Unit("")


def _factor(source: Any, target: Any, where: str) -> tuple[float, bool]:
    """What to multiply numbers in one unit with, to have them in another; or to divide by, which is
    exact for whole factors."""
    if source == target:
        return 1.0, False
    quantity = _registry().Quantity
    if source.dimensionality != target.dimensionality:
        dims = [f"'{u}' ({u.dimensionality})" for u in (target, source)]
        raise UnitError(f"{where}: {dims[0]} and {dims[1]} do not go together")
    if quantity(0.0, source).to(target).magnitude != 0:
        raise UnitError(f"{where}: '{source}' and '{target}' have different zeros")
    factor = float(quantity(1.0, source).to(target).magnitude)
    if abs(factor) >= 1:
        return _whole(factor), False
    return _whole(float(quantity(1.0, target).to(source).magnitude)), True


def _whole(factor: float) -> float:
    """The factor without the rounding error of its computation, if it is a whole number."""
    return float(round(factor)) if abs(factor - round(factor)) <= 1e-12 * factor else factor


def _converted(x: object, unit: object, where: str) -> torch.Tensor:
    """The numbers of ``x`` in ``unit``."""
    factor, divide = _factor(_unit(x), unit, where)
    data = _numbers(x)
    return data if factor == 1 else data / factor if divide else data * factor


def _numbers(x: Any) -> Any:
    if isinstance(x, UnitTensor):
        return x._data
    if type(x) in (list, tuple):
        return type(x)([_numbers(item) for item in x])
    if type(x) is dict:
        return {k: _numbers(item) for k, item in x.items()}
    return x


def _with_unit(result: object, unit: object) -> object:
    """Each tensor of a result with the unit."""
    if isinstance(result, torch.Tensor):
        return UnitTensor(result, unit)
    if isinstance(result, (list, tuple)) and not isinstance(result, torch.Size):
        return getattr(type(result), "_make", type(result))(
            [_with_unit(item, unit) for item in result]
        )
    return result


def _first(args: Any) -> UnitTensor:
    """The first operand with a unit, also in lists."""
    for x in args:
        if isinstance(x, UnitTensor):
            return x
        if type(x) in (list, tuple) and any(isinstance(item, UnitTensor) for item in x):
            return _first(x)
    raise UnitError("no operand has a unit")


# ---- rules ---------------------------------------------------------------------------------------
# ``rule(func, *args, **kwargs)``. Which arguments are quantities is told by their names.


def _bound(
    func: Callable[..., object], args: tuple[torch.Tensor | UnitTensor | int, ...], kwargs: Any
) -> BoundArguments:
    if kwargs.get("out") is not None:
        raise NotImplementedError(
            f"{_name(func)}(out=...) with a UnitTensor: the unit of what is written to would change"
        )
    return coverage.signature(func).bind(*args, **kwargs)


def _run(func: Callable[..., object], bound: BoundArguments) -> Any:
    return func(*bound.args, **bound.kwargs)


def _keeping(func: Callable[..., object], *args: Any, **kwargs: object) -> object:
    """One quantity, rearranged or reduced: the unit stays."""
    if kwargs.get("out") is not None:
        _bound(func, args, kwargs)
    unit = _first((*args, *kwargs.values())).unit
    return _with_unit(func(*_numbers(args), **_numbers(kwargs)), unit)


def _telling(func: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Facts, indices, signs: no unit."""
    return func(*_numbers(args), **_numbers(kwargs))


_QUANTITIES = frozenset(
    "self input other tensors min max value src end prepend append x1 x2 mat tensor b".split()
)


def _together(
    func: Callable[..., object], args: tuple[UnitTensor, ...], kwargs: object
) -> tuple[BoundArguments, object]:
    """All quantities in the first one's unit."""
    bound = _bound(func, args, kwargs)
    unit = _first(bound.arguments.values()).unit
    for name, x in bound.arguments.items():
        if name not in _QUANTITIES or x is None:
            bound.arguments[name] = _numbers(x)
        elif type(x) in (list, tuple):
            bound.arguments[name] = [_converted(item, unit, f"{_name(func)}()") for item in x]
        else:
            bound.arguments[name] = _converted(x, unit, f"{_name(func)}()")
    return bound, unit


def _same(func: Callable[..., object], *args: Any, **kwargs: object) -> object:
    """Quantities of one kind make one of that kind."""
    bound, unit = _together(func, args, kwargs)
    return _with_unit(_run(func, bound), unit)


def _comparing(func: Any, *args: Any, **kwargs: object) -> object:
    """Quantities of one kind are compared: no unit. Equality of other kinds is false, as in
    Python."""
    bound, _ = _together(func, args, kwargs)
    return _run(func, bound)


def _in_place(func: Any, self: Any, *args: Any, **kwargs: object) -> UnitTensor:
    """Quantities of one kind change one of that kind, which is returned."""
    if not isinstance(self, UnitTensor):
        raise UnitError(f"{_name(func)}(): a plain tensor cannot take a quantity")
    bound, _ = _together(func, (self, *args), kwargs)
    _run(func, bound)
    return self


def _scaling(func: Callable[..., object], self: object, *args: object, **kwargs: object) -> object:
    """A quantity is changed by numbers without dimension, and returned."""
    one = _registry().Unit("")
    func(
        _numbers(self),
        *[_converted(x, one, f"{_name(func)}()") if isinstance(x, UnitTensor) else x for x in args],
        **kwargs,
    )
    return self


def _pure(func: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Numbers without dimension, in and out."""
    one, where = _registry().Unit(""), f"{_name(func)}()"
    given = [_converted(x, one, where) if isinstance(x, UnitTensor) else _numbers(x) for x in args]
    return _with_unit(func(*given, **{k: _numbers(x) for k, x in kwargs.items()}), one)


def _product(func: Callable[..., object], *args: Any, **kwargs: object) -> Any:
    """The units multiply; what is added to a product has its unit."""
    bound = _bound(func, args, kwargs)
    unit = _registry().Unit("")
    for name, x in bound.arguments.items():
        if name in ("bias", "scale"):
            continue
        for item in x if type(x) in (list, tuple) else (x,):
            if isinstance(item, UnitTensor):
                unit = unit * item.unit
    for name, x in bound.arguments.items():
        bound.arguments[name] = (
            _converted(x, unit, f"{_name(func)}()")
            if name == "bias" and x is not None
            else _numbers(x)
        )
    return _with_unit(_run(func, bound), unit)


def _quotient(func: Callable[..., object], input: object, other: object, **kwargs: object) -> Any:
    return _with_unit(func(_numbers(input), _numbers(other), **kwargs), _unit(input) / _unit(other))


def _reflected_quotient(func: Callable[..., object], self: object, other: object) -> object:
    return _with_unit(func(_numbers(self), _numbers(other)), _unit(other) / _unit(self))


def _power(func: Callable[..., object], input: object, exponent: object) -> object:
    if isinstance(exponent, UnitTensor):
        exponent = _converted(exponent, _registry().Unit(""), f"{_name(func)}()")
    if not isinstance(input, UnitTensor):
        return _with_unit(func(input, exponent), _registry().Unit(""))
    power = (
        exponent.item()
        if isinstance(exponent, torch.Tensor) and exponent.numel() == 1
        else exponent
    )
    if isinstance(power, torch.Tensor):
        if not input.unit.dimensionless:
            raise UnitError(f"{_name(func)}(): '{input.unit}' needs one exponent for all elements")
        return _pure(func, input, exponent)
    return _with_unit(func(input._data, exponent), input.unit**power)


def _raising(power: float) -> Callable[..., Any]:
    def rule(func: Callable[..., object], input: Any, *args: object, **kwargs: object) -> Any:
        return _with_unit(func(_numbers(input), *args, **kwargs), input.unit**power)

    return rule


def _prod(func: Any, input: Any, *args: object, **kwargs: object) -> object:
    data = func(input._data, *args, **kwargs)
    factors = input.numel() // max(data.numel(), 1) if data.numel() else 1
    return _with_unit(data, input.unit**factors)


def _set_item(func: Callable[..., object], self: object, index: object, value: object) -> None:
    if not isinstance(self, UnitTensor):
        raise UnitError("a quantity cannot be written into a plain tensor")
    func(self._data, _numbers(index), _converted(value, self.unit, "assignment"))


def _conversion(func: Callable[..., object], self: Any, *args: object, **kwargs: object) -> object:
    """``to`` and its kin, which change dtype and device."""
    result = func(self._data, *_numbers(args), **_numbers(kwargs))
    return self if result is self._data else _with_unit(result, self.unit)


# ---- gradients -----------------------------------------------------------------------------------

_differentiated: ContextVar[object] = ContextVar("unit of what is differentiated", default=None)


@contextmanager
def _differentiating(unit: object) -> Any:
    token = _differentiated.set(unit)
    try:
        yield
    finally:
        _differentiated.reset(token)


def _note_gradients(leaf: UnitTensor) -> None:
    """Has the unit of each gradient that reaches a leaf noted.

    The hook refers to the tensor of numbers, not to the leaf, and so keeps no cycle alive.
    """
    units = leaf._gradient_unit = []
    own = leaf.unit

    def note(_: object) -> None:
        of = _differentiated.get()
        unit = (_registry().Unit("") if of is None else of) / own
        if units and units[0].dimensionality != unit.dimensionality:
            raise UnitError(
                f"backward(): gradients in '{units[0]}' and '{unit}' do not go together"
            )
        units[:] = [unit]

    leaf._data.register_post_accumulate_grad_hook(note)


def _requires_grad(
    func: Callable[..., object], self: UnitTensor, *args: object, **kwargs: object
) -> object:
    func(self._data, *args, **kwargs)
    if self._gradient_unit is None and self._data.requires_grad and self._data.is_leaf:
        _note_gradients(self)
    return self


def _grad(func: Callable[..., object], self: UnitTensor) -> UnitTensor | None:
    grad = func(self._data)
    if grad is None:
        return None
    units = self._gradient_unit
    return UnitTensor(grad, units[0] if units else 1 / self.unit)


def _set_grad(func: Callable[..., object], self: UnitTensor, value: object) -> None:
    func(self._data, _numbers(value))
    self._gradient_unit = None if value is None else [_unit(value)]
    if self._data.requires_grad and self._data.is_leaf:
        before = self._gradient_unit
        _note_gradients(self)
        self._gradient_unit[:] = before or []


def _backward(
    func: Callable[..., object], self: UnitTensor, gradient: object = None, **kwargs: object
) -> None:
    with _differentiating(self.unit * _unit(gradient)):
        func(self._data, gradient=_numbers(gradient), **_numbers(kwargs))


def _autograd_grad(
    func: Any, outputs: Any, inputs: Any, grad_outputs: object = None, **kwargs: object
) -> object:
    """One gradient for each input, in the outputs' unit by the input's."""
    if len({str(_unit(y).dimensionality) for y in outputs}) != 1:
        raise UnitError(
            "autograd.grad(): the outputs are of different dimensions, and their gradients would "
            "be added"
        )
    unit = _unit(outputs[0])
    outputs = [_converted(y, unit, "autograd.grad()") for y in outputs]
    found = func(outputs, _numbers(inputs), grad_outputs=_numbers(grad_outputs), **kwargs)
    return tuple(
        [
            None if g is None else UnitTensor(g, unit / _unit(x))
            for x, g in zip(inputs, found, strict=True)
        ]
    )


# ---- which function has which rule ---------------------------------------------------------------

KEEPING = """abs absolute neg negative positive sum nansum mean nanmean median nanmedian mode std
    amax amin max min cummax cummin cumsum aminmax quantile nanquantile kthvalue sort topk msort
    diff flip fliplr flipud roll rot90 t transpose swapaxes swapdims permute movedim moveaxis
    reshape view view_as reshape_as flatten unflatten ravel squeeze unsqueeze expand expand_as
    broadcast_to repeat tile repeat_interleave select narrow index_select gather take take_along_dim
    masked_select __getitem__ unbind split split_with_sizes chunk tensor_split hsplit vsplit dsplit
    diagonal diag diag_embed diagflat tril triu trace clone detach contiguous atleast_1d atleast_2d
    atleast_3d unfold ceil floor trunc fix round frac nan_to_num relu leaky_relu renorm pad dropout
    alpha_dropout zeros_like empty_like T mT H mH real imag data __reversed__ avg_pool1d avg_pool2d
    avg_pool3d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d interpolate norm linalg.norm linalg.vector_norm linalg.matrix_norm
    linalg.svdvals linalg.eigvalsh""".split()
SAME = """add sub subtract rsub maximum minimum fmax fmin hypot fmod remainder cat concat
    concatenate stack hstack vstack dstack column_stack row_stack where clamp clip clamp_min
    clamp_max __radd__ __rsub__ lerp masked_fill dist block_diag broadcast_tensors
    combinations""".split()
IN_PLACE = (
    "add_ sub_ subtract_ clamp_ clip_ clamp_min_ clamp_max_ copy_ masked_fill_ fill_ remainder_ "
    "fmod_ __iadd__ __isub__"
).split()
SCALING = (
    "mul_ multiply_ div_ divide_ true_divide_ neg_ negative_ abs_ absolute_ zero_ round_ floor_ "
    "ceil_ trunc_ __imul__"
).split()
COMPARING = """eq ne lt le gt ge not_equal less less_equal greater greater_equal equal allclose
    isclose isin __contains__ searchsorted bucketize""".split()
PURE = """exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh
    atanh arcsin arccos arctan arcsinh arccosh arctanh sigmoid logit erf erfc erfinv lgamma digamma
    softmax log_softmax logsumexp softplus gelu silu elu selu mish celu sinc cumprod logcumsumexp
    xlogy special.entr binary_cross_entropy binary_cross_entropy_with_logits kl_div cross_entropy
    nll_loss special.ndtr logaddexp logaddexp2 softsign tanhshrink logsigmoid""".split()
PRODUCT = """mul multiply matmul mm bmm mv dot vdot inner outer ger kron cross linalg.cross
    linalg.vecdot linalg.matmul linalg.multi_dot tensordot chain_matmul linear conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d __rmul__ __rmatmul__""".split()
TELLING = """sign sgn signbit isnan isinf isfinite isposinf isneginf isreal argmax argmin argsort
    count_nonzero nonzero logical_not logical_and logical_or logical_xor any all ones_like shape
    size dim ndim ndimension numel nelement dtype device layout requires_grad is_leaf grad_fn
    storage_offset data_ptr is_contiguous is_floating_point is_complex element_size itemsize nbytes
    is_sparse is_nested is_cuda is_cpu is_meta __len__ type is_conj is_neg retains_grad get_device
    output_nr is_quantized retain_grad stride""".split()
CONVERSIONS = "to double float half bfloat16 cpu cuda type_as".split()

_found: dict[object, Callable[..., object]] = {}


def _rules() -> dict[Any, Callable[..., Any]]:
    """The table, made when the whole namespace is there."""
    if _found:
        return _found
    groups: list[tuple[Any, Callable[..., Any]]] = [
        (KEEPING, _keeping), (SAME, _same), (COMPARING, _comparing), (PURE, _pure),
        (PRODUCT, _product), (TELLING, _telling), (IN_PLACE, _in_place), (SCALING, _scaling),
        (CONVERSIONS, _conversion), ("div divide true_divide", _quotient),
        ("__rtruediv__", _reflected_quotient), ("pow float_power __pow__", _power),
        ("sqrt", _raising(0.5)), ("square", _raising(2)), ("rsqrt", _raising(-0.5)),
        ("reciprocal", _raising(-1)), ("var", _raising(2)), ("linalg.inv inverse", _raising(-1)),
        ("prod", _prod), ("__setitem__", _set_item), ("requires_grad_", _requires_grad),
        ("grad", _grad), ("Tensor.backward", _backward),
    ]  # fmt: skip
    for names, rule in groups:
        _found.update(dict.fromkeys(coverage.named(names), rule))
    for func in coverage.named("mse_loss"):
        _found[func] = lambda func, input, target, *args, **kwargs: _with_unit(
            func(_numbers(input), _converted(target, _unit(input), "mse_loss()"), *args, **kwargs),
            _unit(input) ** 2,
        )
    for func in coverage.named("l1_loss"):
        _found[func] = _loss
    _found[Tensor.grad.__set__] = _set_grad
    _found[Tensor.data.__get__] = _keeping
    _found[Tensor.requires_grad.__set__] = _requires_grad
    _found[Tensor.__format__] = _format
    _found[torch.autograd.grad] = _autograd_grad
    return _found


def _format(func: Callable[..., object], self: UnitTensor, spec: str) -> str:
    """The formatted number and its unit."""
    return f"{func(self._data, spec)} {self.unit}" if spec else repr(self)


def _loss(
    func: Callable[..., object], input: object, target: object, *args: object, **kwargs: object
) -> object:
    unit = _first((input, target)).unit
    where = f"{_name(func)}()"
    return _with_unit(
        func(_converted(input, unit, where), _converted(target, unit, where), *args, **kwargs), unit
    )


def __getattr__(name: str) -> Any:
    """``COVERAGE``: made when first asked for, since all namespaces must be there."""
    if name == "COVERAGE":
        rules = _rules()
        delegates = {f for f, rule in rules.items() if rule is _telling}
        special = {f for f, rule in rules.items() if rule not in (_telling, _keeping)}
        unchanged = {f for f, rule in rules.items() if rule is _keeping}
        refused = {f: _UNDEFINED for f in coverage.overridable_functions() if f not in rules}
        found = coverage.cover(special, delegates, refused)
        assert found["unchanged"] <= unchanged
        return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def _joined(data: Any, unit: str) -> UnitTensor:
    """A UnitTensor on whatever a tree holds, a tensor or a placeholder."""
    made = object.__new__(UnitTensor)
    made._data, made.unit, made._gradient_unit = data, _registry().Unit(unit), None
    return made


trees.register(UnitTensor, lambda x: (x._data, str(x.unit)), _joined)
