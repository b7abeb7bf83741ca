"""What each public function does with masked tensors: the table that
``MaskedTensor.__torch_function__`` looks into.

Functions are named once, by what they are (``UNARY``, ``BINARY``, ...); their methods, in-place
forms and operators are found from there. What is in no group is declined, as PyTorch declines it,
even where a meaning could be thought of: a program sees the same errors.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.errors import not_offered
from ...nn._reduction import legacy_get_string
from ..coverage import cover, overridable_functions
from . import functions as masked
from . import sparse
from .masks import any_over, canonical_dim
from .tensor import MaskedTensor, joined

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Operand, Tree


UNARY = """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh
    arctanh bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp
    exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative
    positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square
    tan tanh trunc""".split()
BINARY = """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift div divide floor_divide fmod logaddexp logaddexp2 mul multiply nextafter
    remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal lt less
    maximum minimum fmax fmin not_equal""".split()
#: Applied to data and mask alike.
RESHAPING = """select transpose swapaxes swapdims split chunk t __getitem__ expand expand_as
    broadcast_to view view_as reshape reshape_as cat concat concatenate stack hstack vstack dstack
    column_stack row_stack unsqueeze unfold narrow flatten ravel unflatten tensor_split hsplit
    vsplit dsplit atleast_1d atleast_2d atleast_3d nn.functional.unfold nn.functional.fold clone
    contiguous mT""".split()
#: Applied to the data; the mask stays.
KEEPING = "detach conj resolve_conj resolve_neg real requires_grad_ ones_like".split()
CONVERSIONS = "to type type_as float double half int long short char bool cpu cuda".split()
REDUCTIONS = "sum mean amin amax argmin argmax prod all norm var std".split()
#: Facts about the data, and what autograd keeps for them; the mask plays no part.
FACTS = """dim ndimension size numel nelement element_size stride storage_offset data_ptr
    is_contiguous is_floating_point is_complex is_signed get_device backward register_hook
    register_post_accumulate_grad_hook retain_grad __len__ is_pinned is_shared is_inference is_conj
    is_neg is_same_size __dir__ __format__ detach_ dim_order has_names is_coalesced
    has_file""".split()
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__mod__": "remainder", "__floordiv__": "floor_divide",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__eq__": "eq",
    "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
}  # fmt: skip
_REFLECTED = {
    "__rtruediv__": "div",
    "__rdiv__": "div",
    "__rfloordiv__": "floor_divide",
    "__rmod__": "remainder",
}
_UNARY_OPERATORS = {
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__invert__": "bitwise_not",
}
#: Other public names of functions above.
_SPECIAL = {"psi": "digamma", "gammaln": "lgamma", "expit": "sigmoid"}

#: Where the operator that arrives is not the default overload of the function's own name.
_OVERLOADS = {
    "unbind": "unbind.int", "log_softmax": "_log_softmax.default",
    "masked_fill": "masked_fill.Scalar", "fill_": "fill_.Scalar", "__setitem__": "fill_.Tensor",
    "matmul": "mm.default", "__matmul__": "mm.default", "xlogy": "xlogy.Tensor",
}  # fmt: skip

TABLE: dict[Any, Callable[..., Any]] = {}
_off = torch._C.DisableTorchFunctionSubclass


def handle(
    cls: type,
    func: Callable[..., object],
    types: Iterable[type],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> Any:
    """The answer of ``MaskedTensor.__torch_function__``."""
    if any(t is not Tensor and not issubclass(t, MaskedTensor) for t in types):
        return NotImplemented
    handler = _table().get(func)
    if handler is None and hasattr(
        func, "overloads" if not hasattr(func, "overloadpacket") else "overloadpacket"
    ):
        handler = _of_operator(func)
    if handler is not None:
        return handler(*args, **kwargs)
    if getattr(func, "__name__", "") in ("__get__", "__set__", "__delete__"):
        with _off():
            return func(*args, **kwargs)
    return _decline(cls, func)


def _of_operator(func: Any) -> Any:
    """The handler of the public function that an operator of ``torch.ops.aten`` is; None if there
    is none."""
    packet = getattr(func, "overloadpacket", func)
    if not str(packet).startswith("aten."):
        return None
    name = packet.__name__
    return TABLE.get(getattr(Tensor, name, None)) or TABLE.get(getattr(torch, name, None))


def _decline(cls: type, func: Callable[..., object]) -> NoReturn:
    operator = _operator_name(func)
    warnings.warn(
        f"{operator.split('.')[1]} is not implemented for MaskedTensor: what it should do with "
        "absent elements is not defined",
        stacklevel=4,
    )
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{operator}'; all __torch_dispatch__ handlers "
        "returned NotImplemented:\n"
        "\n"
        f"  - tensor subclass {cls!r}\n"
        "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _operator_name(func: Callable[..., object]) -> str:
    """The ATen name of a function that no handler knows: ``aten.cumsum.default``."""
    if hasattr(func, "overloadpacket"):
        return str(func)
    name = (torch.overrides.resolve_name(func) or func.__name__).rsplit(".", 1)[-1]
    if name in _OVERLOADS:
        return f"aten.{_OVERLOADS[name]}"
    packet = getattr(getattr(getattr(torch, "ops", None), "aten", None), name, None)
    overloads = packet.overloads() if packet is not None else ["default"]
    return f"aten.{name}.{overloads[0] if 'default' not in overloads else 'default'}"


# ---- data and masks of arguments -----------------------------------------------------------------


def data_of(x: Tree) -> Tree:
    """``x`` with each masked tensor replaced by its data, also inside lists and tuples."""
    if isinstance(x, MaskedTensor):
        return x.get_data()
    if type(x) in (list, tuple):
        return type(x)([data_of(item) for item in x])
    return x


def mask_of(x: Tree) -> Tree:
    """``x`` with each masked tensor replaced by its mask, also inside lists and tuples."""
    if isinstance(x, MaskedTensor):
        return x.get_mask()
    if type(x) in (list, tuple):
        return type(x)([mask_of(item) for item in x])
    return x


def rejoined(data: object, mask: Any) -> Any:
    """Results for data and for masks, joined tensor by tensor."""
    if isinstance(data, (list, tuple)):
        return type(data)([rejoined(d, m) for d, m in zip(data, mask, strict=True)])
    if isinstance(data, Tensor):
        if mask.dtype is not torch.bool:
            raise TypeError("mask must have dtype bool.")
        return joined(data, mask)
    return data


def _check_masks(a: object, b: object) -> None:
    if isinstance(a, MaskedTensor) and isinstance(b, MaskedTensor):
        one, other = a.get_mask(), b.get_mask()
        same = torch.equal if one.layout is other.layout is torch.strided else sparse.matching
        if one is not other and not same(one, other):
            raise ValueError(
                "Input masks must match. If you need support for this, please open an issue on "
                "Github."
            )


# ---- handlers ------------------------------------------------------------------------------------


def _unary(func: Function, input: Tensor, *args: Any, **kwargs: Any) -> object:
    if any(isinstance(x, Tensor) for x in args) or not isinstance(input, MaskedTensor):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    if any(kwargs.get(name) is not None for name in ("out", "decimals")):
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, "
            "please open an issue on Github."
        )
    data = input.get_data()
    if isinstance(input, sparse.SparseMasked):
        return joined(sparse.over_values(func, data, *args, **kwargs), input.get_mask())
    return joined(func(data, *args, **kwargs), input.get_mask())


def _unary_in_place(func: Function, input: object, *args: object, **kwargs: object) -> object:
    if any(isinstance(x, Tensor) for x in args):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    if isinstance(input, sparse.SparseMasked):
        func(input._vals, *args, **kwargs)
        return input
    with _off():
        return func(input, *args, **kwargs)


def _binary(func: Function, input: Tensor, other: Operand, *args: Any, **kwargs: Any) -> object:
    if any(
        kwargs.get(name, default) is not default
        for name, default in (("alpha", 1), ("rounding_mode", None), ("out", None))
    ):
        raise ValueError("len(kwargs) must equal 0")
    _check_masks(input, other)
    mask = input.get_mask() if isinstance(input, MaskedTensor) else other.get_mask()
    if isinstance(input, sparse.SparseMasked):
        data = input.get_data()
        beside = sparse.values_beside(data, data_of(other))
        return joined(sparse.over_values(func, data, beside, *args, **kwargs), mask)
    result = func(_beside(input, other), _beside(other, input), *args, **kwargs)
    return joined(result, mask if mask.shape == result.shape else mask.expand(result.shape))


def _beside(x: object, other: object) -> Operand:
    """The data of ``x``; hidden NaNs are taken out where they would reach the gradient of an
    ordinary tensor."""
    if not isinstance(x, MaskedTensor):
        return x
    data = x.get_data()
    if isinstance(other, Tensor) and not isinstance(other, MaskedTensor) and other.requires_grad:
        data = torch.where(x.get_mask(), data, torch.ones_like(data))
    return data


def _reflected(func: Callable[..., object], input: Tensor, other: int) -> object:
    return _binary(lambda a, b: func(b, a), input, other)


def _binary_in_place(
    func: Callable[..., object], input: object, other: object, **kwargs: object
) -> object:
    if not isinstance(input, MaskedTensor):
        raise TypeError(
            f"{func.__name__}: a MaskedTensor cannot be written into an ordinary tensor"
        )
    _check_masks(input, other)
    if isinstance(input, sparse.SparseMasked):
        func(input._vals, sparse.values_beside(input.get_data(), data_of(other)), **kwargs)
        return input
    with _off():
        return func(input, data_of(other), **kwargs)


def _reshaping(func: Callable[..., object], *args: object, **kwargs: object) -> object:
    if kwargs.get("out") is not None:
        raise not_offered(f"{func.__name__}(out=...) of masked tensors", "a result has two parts")
    by_name = {n: data_of(x) for n, x in kwargs.items()}
    data = func(*data_of(args), **by_name)
    return rejoined(data, func(*mask_of(args), **{n: mask_of(x) for n, x in kwargs.items()}))


def _like_other(func: Callable[..., object], input: object, other: object) -> object:
    """``view_as`` and its kin: only the other's shape counts."""
    if not isinstance(input, MaskedTensor):
        return func(input, data_of(other))
    return rejoined(func(input.get_data(), data_of(other)), func(input.get_mask(), data_of(other)))


def _keeping(func: Function, input: Tensor, *args: Any, **kwargs: Any) -> object:
    if func is torch.Tensor.requires_grad_:
        with _off():
            return func(input, *args, **kwargs)
    return joined(func(input.get_data(), *args, **kwargs), input.get_mask())


def _conversion(
    func: Callable[..., object], input: object, *args: object, **kwargs: object
) -> object:
    if not isinstance(input, MaskedTensor):
        return func(input, *data_of(args), **kwargs)
    data = func(input.get_data(), *data_of(args), **kwargs)
    if not isinstance(data, Tensor):  # ``type()`` tells a name
        return data
    return joined(data, input.get_mask().to(data.device))


def _reduction(
    name: str,
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    **options: object,
) -> MaskedTensor:
    if isinstance(input, sparse.SparseMasked):
        if dim is not None or keepdim or dtype is not None or any(options.values()):
            return _decline(MaskedTensor, getattr(Tensor, name))
        return sparse.reduced(name, functools.partial(_reduced, name), input)
    data, mask = input.get_data(), input.get_mask()
    if options.pop("out", None) is not None:
        raise not_offered(f"{name}(out=...) of a masked tensor", "a result has two parts")
    if isinstance(dim, bool):  # ``std(unbiased)``
        options["unbiased"], dim = dim, None
    if name == "all":
        filled, dims = data.masked_fill(~mask, True), dim
        result = torch.all(filled) if dims is None else torch.all(filled, dim=dims, keepdim=keepdim)
    else:
        given = {
            "dim": dim,
            "keepdim": keepdim,
            "dtype": dtype,
            **{n: x for n, x in options.items() if x is not None},
        }
        result = getattr(masked, name)(data, mask=mask, **given)
    return joined(result, any_over(mask, canonical_dim(dim, mask.dim()), bool(keepdim)))


def _reduced(name: str, data: Tensor, mask: Tensor) -> Tensor:
    """A reduction of all present elements."""
    if name == "all":
        return torch.all(data.masked_fill(~mask, True))
    return getattr(masked, name)(data, mask=mask)


def _norm(
    input: Tensor,
    p: str = "fro",
    dim: int | None = None,
    keepdim: bool = False,
    out: object = None,
    dtype: torch.dtype | None = None,
) -> object:
    return _reduction(
        "norm", input, dim, keepdim, dtype=dtype, out=out, ord=2.0 if p in ("fro", None) else p
    )


def _softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> MaskedTensor:
    data, mask = input.get_data(), input.get_mask()
    if dim is None:
        raise TypeError("softmax() of a MaskedTensor needs a dim")
    # Where nothing is present the elements count as they are, so that no NaN arises, seen or
    # hidden.
    counted = mask | ~mask.any(dim=dim, keepdim=True)
    filled = torch.where(counted, data, torch.full_like(data, -torch.inf))
    return joined(torch.nn.functional.softmax(filled, dim, dtype=dtype), mask)


def _where(
    condition: Tensor, input: Tensor | None = None, other: Tensor | None = None
) -> MaskedTensor:
    if not isinstance(condition, Tensor) or input is None or other is None:
        raise ValueError("__torch_function__, torch.where: len(args) must be 3 but got fewer")

    def both(x: Tensor) -> tuple[Tensor, ...]:
        if isinstance(x, MaskedTensor):
            return x.get_data(), x.get_mask()
        return x, torch.ones_like(x, dtype=torch.bool)

    (a, a_mask), (b, b_mask) = both(input), both(other)
    condition = data_of(condition)
    return joined(torch.where(condition, a, b), torch.where(condition, a_mask, b_mask))


def _copy(self: Tensor, src: object, non_blocking: bool = False) -> Tensor:
    _check_masks(self, src)
    with _off():
        return torch.Tensor.copy_(self, data_of(src), non_blocking)


def _scalar(func: Callable[..., object], self: Tensor) -> object:
    if self.numel() == 1 and not self.get_mask().item():
        raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
    return func(self.get_data())


def _without_strides(func: Function, input: object, *args: object, **kwargs: object) -> object:
    if isinstance(input, sparse.SparseMasked):
        raise ValueError(f"MaskedTensors with sparse data do not have {func.__name__}")
    return (_reshaping if func.__name__ == "contiguous" else _facts)(func, input, *args, **kwargs)


def _is_any_true(self: Tensor) -> MaskedTensor:
    if self.dtype is not torch.bool:
        raise ValueError("__torch_dispatch__, aten._is_any_true: expected a boolean tensor")
    if isinstance(self, sparse.SparseMasked):
        raise ValueError("MaskedTensors with sparse data do not have aten._is_any_true")
    return joined((self.get_data() & self.get_mask()).any(), torch.tensor(True))


def _facts(func: Callable[..., object], *args: object, **kwargs: object) -> object:
    with _off():
        return func(*args, **kwargs)


def _grad(self: Tensor) -> MaskedTensor | None:
    with _off():
        grad = self.grad
        if isinstance(self, sparse.SparseMasked):
            return None if grad is None else joined(grad, self.get_mask())
        if isinstance(grad, Tensor) and not isinstance(grad, MaskedTensor):
            grad = joined(grad, self.get_mask())
            Tensor.grad.__set__(self, grad)  # so that it is the same object the next time
    return grad


def _data(self: Any) -> MaskedTensor:
    with _off():
        return joined(self.data, self.get_mask())


def _autograd_grad(
    outputs: object, inputs: tuple[Tensor, ...], *args: Any, **kwargs: object
) -> object:
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with _off():
        found = torch.autograd.grad(outputs, inputs, *args, **kwargs)
    return tuple(
        [
            joined(g, x.get_mask()) if isinstance(x, MaskedTensor) and g is not None else g
            for g, x in zip(found, inputs, strict=True)
        ]
    )


def _no_conversion(name: str, text: str, end: str = ".") -> Function:
    def refuse(*args: object, **kwargs: object) -> Any:  # noqa: ARG001
        raise RuntimeError(f".{name}() is not supported for tensor subclasses{text}{end}")

    return refuse


def _compositions() -> dict[str, Callable[..., object]]:
    """Functions that PyTorch builds of those above: here too, by formulas."""
    F = torch.nn.functional

    def reduced(loss: Tensor, reduction: str) -> Any:
        return {"mean": torch.mean, "sum": torch.sum, "none": lambda x: x}[reduction](loss)

    def l1_loss(
        input: Any,
        target: Any,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        weight: Any = None,
    ) -> Any:
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        loss = torch.abs(input - target)
        return reduced(loss if weight is None else loss * weight, reduction)

    def kl_div(
        input: Any,
        target: Tensor,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> Any:
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        if log_target:
            loss = torch.exp(target) * (target - input)
        else:
            loss = torch.xlogy(target, target) - target * input
        if reduction == "batchmean":
            return torch.sum(loss) / input.shape[0]
        return reduced(loss, reduction)

    def inactive(name: str) -> Callable[..., object]:
        def dropout(
            input: object,
            p: float = 0.5,  # noqa: ARG001
            training: bool = True,
            inplace: bool = False,  # noqa: ARG001
        ) -> Any:
            if training:
                return _decline(MaskedTensor, getattr(F, name))
            return input

        return dropout

    dropouts = (
        "dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "alpha_dropout",
        "feature_alpha_dropout",
    )
    return {
        **{f"nn.functional.{name}": inactive(name) for name in dropouts},
        "nn.functional.kl_div": kl_div,
        "nn.functional.softmin": lambda input, dim=None, _stacklevel=3, dtype=None: _softmax(
            -input, dim, dtype=dtype
        ),
        "special.ndtr": lambda input: (torch.erf(input * 0.5**0.5) + 1) * 0.5,
        "outer": lambda input, vec2: input.unsqueeze(-1) * vec2,
        "isfinite": lambda input: torch.eq(input, input) * torch.ne(torch.abs(input), torch.inf),
        "isreal": lambda input: (
            torch.eq(input, input) if not input.dtype.is_complex else torch.eq(torch.imag(input), 0)
        ),
        "nn.functional.softsign": lambda input: input / (torch.abs(input) + 1),
        "nn.functional.tanhshrink": lambda input: input - torch.tanh(input),
        "nn.functional.l1_loss": l1_loss,
    }


# ---- the table -----------------------------------------------------------------------------------


def _found(name: str) -> list[Callable[..., object]]:
    """The public callables of a name: in torch (or the module that the name tells), of Tensor, a
    property's getter."""
    found = []
    owner: Any = torch
    *modules, last = name.split(".")
    for module in modules:
        owner = getattr(owner, module)
    for place in (owner, Tensor) if not modules else (owner,):
        f = getattr(place, last, None)
        if isinstance(f, property):
            f = f.__get__
        if callable(f):
            found.append(f)
    return found


def _enter(names: Iterable[str], handler: Callable[..., object], *, inner: bool = True) -> None:
    for name in names:
        for f in _found(name):
            TABLE[f] = functools.partial(handler, f) if inner else handler


def _table() -> dict[object, Callable[..., object]]:
    """The table, filled when it is first asked: the whole namespace must be there."""
    if TABLE:
        return TABLE
    special = {
        n: getattr(torch.special, n) for n in [*UNARY, *_SPECIAL] if hasattr(torch.special, n)
    }
    for f in special.values():
        TABLE[f] = functools.partial(_unary, f)
    _enter(UNARY, _unary)
    _enter([f"{n}_" for n in UNARY], _unary_in_place)
    _enter(_UNARY_OPERATORS, _unary)
    _enter(["__pow__"], _unary)
    _enter([f"{n}_" for n in [*BINARY, "pow"]], _binary_in_place)
    _enter(
        [f"__i{n[2:]}" for n in _OPERATORS if not n.startswith("__r")] + ["__ipow__", "__idiv__"],
        _binary_in_place,
    )
    TABLE[Tensor.pow_] = functools.partial(_unary_in_place, Tensor.pow_)
    _enter(BINARY, _binary)
    for name, meant in _OPERATORS.items():
        for f in _found(name):
            TABLE[f] = functools.partial(_binary, getattr(torch, meant))
    for name, meant in _REFLECTED.items():
        for f in _found(name):
            TABLE[f] = functools.partial(_reflected, getattr(torch, meant))
    _enter(RESHAPING, _reshaping)
    _enter(["expand_as", "view_as", "reshape_as"], _like_other)
    _enter(KEEPING, _keeping)
    _enter(CONVERSIONS, _conversion)
    for name in REDUCTIONS:
        for f in _found(name):
            TABLE[f] = functools.partial(_reduction, name) if name != "norm" else _norm
    _enter(["softmax", "nn.functional.softmax", "special.softmax"], _softmax, inner=False)
    _enter(["where"], _where, inner=False)
    _enter(["copy_"], _copy, inner=False)
    _enter(
        ["item", "__bool__", "__float__", "__int__", "__index__", "__complex__", "is_nonzero"],
        _scalar,
    )
    _enter(FACTS, _facts)
    _enter(["is_contiguous", "contiguous"], _without_strides)
    _enter(["values", "indices"], sparse.part)
    _enter(["to_dense"], sparse.to_dense, inner=False)
    _enter(["to_sparse", "to_sparse_coo"], sparse.to_sparse, inner=False)
    _enter(["to_sparse_csr"], sparse.to_sparse_csr, inner=False)
    _enter(["_is_any_true"], _is_any_true, inner=False)
    TABLE[Tensor.where] = lambda self, condition, other: _where(condition, self, other)
    TABLE[Tensor.grad.__get__] = _grad
    TABLE[Tensor.data.__get__] = _data
    TABLE[torch.autograd.grad] = _autograd_grad
    TABLE[torch.autograd.backward] = functools.partial(_facts, torch.autograd.backward)
    TABLE[Tensor.numpy] = _no_conversion("numpy", "")
    TABLE[Tensor.__array__] = TABLE[Tensor.numpy]
    TABLE[Tensor.tolist] = _no_conversion("tolist", ", got MaskedTensor", "")
    TABLE[Tensor.__repr__] = lambda self, **_: MaskedTensor.__repr__(self)
    for name, f in _compositions().items():
        _enter([name], f, inner=False)
    for name in ("T", "H", "mH"):  # permutations, which are declined
        TABLE[getattr(Tensor, name).__get__] = lambda self: _decline(type(self), torch.permute)
    return TABLE


def coverage() -> dict[str, Any]:
    """What becomes of each overridable function: facts are told by the data, and what has no
    handler is declined."""
    table = _table()
    facts = {f for f, handler in table.items() if getattr(handler, "func", None) is _facts}
    getters = {f for f in overridable_functions() if f.__name__ == "__get__" and f not in table}
    unchanged = {
        f
        for f, handler in table.items()
        if getattr(handler, "func", None) in (_reshaping, _keeping, _conversion)
    }
    sets = cover(
        table.keys() - facts - unchanged,
        facts | getters,
        {},
        rest="refused",
        why="absent elements have no meaning to it",
    )
    sets["unchanged"] = {f for f in unchanged if sets["refused"].pop(f, None)}
    return sets
