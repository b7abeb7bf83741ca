"""Strides of results over PyTorch's OpInfo database, of operands in several memory orders: what
``stride()`` and ``is_contiguous`` show."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

from opinfo_running import counterpart, ours  # noqa: E402  (imports PyTorch)
from test_opinfo import OPS  # noqa: E402
from torch.testing._internal.common_methods_invocations import BinaryUfuncInfo, UnaryUfuncInfo  # noqa: E402

import jtorch  # noqa: E402

#: Operators whose results' strides differ, each with its reason; strict.
DIFFERING: dict[str, str] = {
    "unsafe_chunk": "the parts are copies of their own, and so begin their storages",
    "unsafe_split": "the parts are copies of their own, and so begin their storages",
    "stft": "PyTorch lets the order of a batch of signals show in the result",
    "kron": "PyTorch lets the order of transposed factors show in the result",
    "nn.functional.conv_transpose3d": (
        "PyTorch chooses the order together with an algorithm, by the sizes"
    ),
    "chalf": "there are no complex numbers of half precision",
}


# ---- operands in other memory orders -------------------------------------------------------------


def _columns(t: Any) -> Any:
    return t.mT.contiguous().mT if t.dim() >= 2 else t


def _reversed(t: Any) -> Any:
    dims = tuple(range(t.dim()))[::-1]
    return t.permute(dims).contiguous().permute(dims)


def _channels_last(t: Any) -> Any:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return t.contiguous(memory_format=formats[t.dim()]) if t.dim() in formats else t


ORDERS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t,
    "columns": _columns,
    "reversed": _reversed,
    "channels last": _channels_last,
}


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """``function`` of each strided tensor within a sample."""
    if isinstance(value, torch.Tensor):
        return function(value) if value.layout is torch.strided else value
    if isinstance(value, dict):
        return {k: _mapped(function, v) for k, v in value.items()}
    if (
        isinstance(value, (list, tuple))
        and not hasattr(value, "_fields")
        and not isinstance(value, torch.Size)
    ):
        return type(value)([_mapped(function, v) for v in value])
    return value


def _tensors(value: Any, layouts: list[Any]) -> None:
    """Collects the layouts of the tensors within a sample's argument."""
    if isinstance(value, torch.Tensor):
        layouts.append(value.layout)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _tensors(v, layouts)


def _converted(value: Any) -> Any:
    """A sample's argument for our library, with the same strides."""
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        t = value.detach().resolve_conj().resolve_neg()
        if t.stride() == torch.empty(t.shape).stride() and not t.storage_offset():
            return ours(t)
        elements = t.untyped_storage().nbytes() // t.element_size()
        return jtorch.as_strided(
            ours(t.as_strided((elements,), (1,), 0)), tuple(t.shape), t.stride(), t.storage_offset()
        )
    if isinstance(value, dict):
        return {k: _converted(v) for k, v in value.items()}
    if (
        isinstance(value, (list, tuple))
        and not hasattr(value, "_fields")
        and not isinstance(value, torch.Size)
    ):
        return type(value)([_converted(v) for v in value])
    return ours(value)


# ---- comparing -----------------------------------------------------------------------------------


def _seen(result: Any) -> Any:
    """What a program sees of the memory order of a result."""
    if isinstance(result, (torch.Tensor, jtorch.Tensor)):
        if str(result.layout) != "torch.strided":
            return None
        library = torch if isinstance(result, torch.Tensor) else jtorch
        formats = [
            result.is_contiguous(),
            result.is_contiguous(memory_format=library.channels_last),
        ]
        return tuple(result.shape), tuple(result.stride()), result.storage_offset(), *formats
    if isinstance(result, (list, tuple)) and not isinstance(result, (torch.Size, jtorch.Size)):
        return [_seen(r) for r in result]
    return None


def _rank(sample: Any) -> int:
    """How much a sample's memory order can tell."""
    shapes: list[Any] = []
    _mapped(lambda t: shapes.append(t.shape), [sample.input, sample.args, sample.kwargs])
    return max([min(len(s), 4) for s in shapes if 0 not in s], default=0)


def _sample(op: Any) -> Any:
    """Of an operator's first samples the one of most dimensions."""
    found = None
    for i, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=False)):
        if found is None or _rank(sample) > _rank(found):
            found = sample
        if i == 5 or _rank(found) == 4:
            break
    return found


def check(op: Any) -> None:
    """Compares the strides of an operator's results for one sample in every memory order.

    Raises:
        AssertionError: naming the order and both results.
    """
    sample = _sample(op)
    layouts: list[Any] = []
    _tensors([sample.input, sample.args, list(sample.kwargs.values())], layouts)
    if any(layout is not torch.strided for layout in layouts):
        return
    mine = counterpart(op.op)
    known = set()
    for order, function in ORDERS.items():
        given = _mapped(function, (sample.input, sample.args, sample.kwargs))
        strides: list[Any] = []
        _mapped(lambda t, strides=strides: strides.append(t.stride()), given)
        if tuple(strides) in known:
            continue
        known.add(tuple(strides))
        converted = _converted(given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old names
            torch.manual_seed(0)
            try:
                expected = op.op(given[0], *given[1], **given[2])
            except (RuntimeError, NotImplementedError):  # a view that these strides do not allow
                continue
            jtorch.manual_seed(0)
            found = mine(converted[0], *converted[1], **converted[2])
        assert _seen(found) == _seen(expected), f"{op.full_name}, operands in {order}: {strides}"


def _is_chosen(op: Any) -> bool:
    """A part that names choose, so that a run is short: half, and a fifth of the functions of
    single elements, which follow one rule."""
    one_in = 5 if isinstance(op, (BinaryUfuncInfo, UnaryUfuncInfo)) else 2
    return (
        torch.float32 in op.dtypes
        and hashlib.sha256(op.full_name.encode()).digest()[0] % one_in == 0
    )


def _cases() -> list[Any]:
    found = []
    for op in OPS:
        if _is_chosen(op) or op.full_name in DIFFERING:
            reason = DIFFERING.get(op.full_name)
            found.append(
                pytest.param(
                    op,
                    id=op.full_name,
                    marks=[pytest.mark.xfail(strict=True, reason=reason)] if reason else [],
                )
            )
    return found


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("op", _cases())
def test_strides_of_results(op: Any) -> None:
    check(op)


def test_no_exception_is_stale() -> None:
    assert set(DIFFERING) <= {op.full_name for op in OPS}


EQUATIONS = [
    ("a...b,b...->a...", (2, 3, 5), (5, 3)),
    ("a...b,b...c->a...c", (2, 3, 4, 5), (5, 3, 4, 2)),
    ("bhqk,bkhd->bqhd", (2, 3, 4, 5), (2, 5, 3, 6)),
    ("bhqk,bkhd->bqhd", (1, 3, 4, 5), (1, 5, 3, 6)),
    ("bij,bjk->ikb", (2, 3, 4), (2, 4, 5)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("ba,db->da", (2, 1), (3, 2)),
    ("ij,kl->ilkj", (2, 5), (3, 4)),
    ("ij,j->ji", (2, 5), (5,)),
    ("bij,bij->jib", (2, 3, 4), (2, 3, 4)),
    ("...b,...aba->a...", (2, 3, 2), (3, 2, 3)),
    ("e,ab,cb->ce", (3,), (1, 4), (3, 4)),
    ("ba,e,db,cf->cea", (4, 4), (2,), (3, 4), (4, 1)),
    ("dce,d,ef,fbc->cdf", (4, 1, 2), (4,), (2, 2), (2, 3, 3)),
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EQUATIONS])
def test_strides_of_sums_of_products(
    equation: str, shapes: list[tuple[int, ...]], turned: bool
) -> None:
    def strides(library: Any) -> Any:
        operands = [
            library.ones(s[::-1]).permute(*range(len(s))[::-1]) if turned else library.ones(s)
            for s in shapes
        ]
        return library.einsum(equation, *operands).stride()

    assert strides(jtorch) == strides(torch)


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (4,),
        (0,),
        (4, 4),
        (1, 4),
        (4, 4, 1),
        (2, 3, 4),
        (2, 0, 3),
        (1, 2, 3, 4),
        (2, 3, 4, 5),
        (2, 3, 1, 4),
    ],
)
@pytest.mark.parametrize("laid", ["rows", "reversed", "channels_last", "expanded"])
def test_order_of_dimensions(shape: tuple[int, ...], laid: str) -> None:
    if laid == "channels_last" and len(shape) != 4:
        pytest.skip("images only")

    def found(module: Any) -> list[Any]:
        x = module.empty(shape)
        if laid == "reversed":
            x = x.permute(tuple(reversed(range(len(shape)))))
        elif laid == "expanded":
            x = x.expand(3, *shape)
        elif laid == "channels_last":
            x = x.to(memory_format=module.channels_last)
        told: list[Any] = []
        for check in (
            False,
            True,
            [module.channels_last],
            [module.contiguous_format, module.channels_last],
            (module.channels_last,),
            1,
        ):
            try:
                told.append(x.dim_order(ambiguity_check=check))
            except (RuntimeError, TypeError) as error:
                told.append((type(error), str(error)))
        return told

    assert found(jtorch) == found(torch)
