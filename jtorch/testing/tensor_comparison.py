"""What ``assert_close`` compares of two tensors: attributes, then the elements, or the indices and
values of sparse layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch.autograd.jacobians import keeps_elsewhere

if TYPE_CHECKING:
    from .comparison import Checks


#: Relative and absolute tolerances.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7), torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
    torch.quint8: (1.3e-6, 1e-5), torch.qint8: (1.3e-6, 1e-5), torch.qint32: (1.3e-6, 1e-5),
}  # fmt: skip
#: The names of the two tensors of indices that compressed layouts have.
_COMPRESSED = {
    torch.sparse_csr: ("CSR", "crow_indices", "col_indices"),
    torch.sparse_bsr: ("BSR", "crow_indices", "col_indices"),
    torch.sparse_csc: ("CSC", "ccol_indices", "row_indices"),
    torch.sparse_bsc: ("BSC", "ccol_indices", "row_indices"),
}  # fmt: skip
_LAYOUTS = {torch.strided, torch.jagged, torch.sparse_coo, *_COMPRESSED}


class Differs(Exception):
    """What differs, in words."""


def compare(actual: torch.Tensor, expected: torch.Tensor, options: Checks) -> None:
    """Compares two tensors; the ``options`` are those of ``comparison.Checks``.

    Raises:
        Differs: if they differ.
        ValueError: for a layout that is not compared.
    """
    for t in (actual, expected):
        if t.layout not in _LAYOUTS:
            raise ValueError(f"Unsupported tensor layout {t.layout}")
    asked = {
        "shape": True,
        "is_quantized": True,
        "qscheme()": actual.is_quantized,
        "layout": options.layout,
        "device": options.device,
        "dtype": options.dtype,
    }
    for name, wanted in asked.items():
        if not wanted:
            continue
        a, e = (getattr(t, name.removesuffix("()")) for t in (actual, expected))
        if name.endswith("()"):
            a, e = a(), e()
        if a != e:
            raise Differs(f"The values for attribute '{name}' do not match: {a} != {e}.")
    if (
        options.stride
        and actual.layout is expected.layout is torch.strided
        and actual.stride() != expected.stride()
    ):
        raise Differs(
            f"The values for attribute 'stride()' do not match: {actual.stride()} != "
            f"{expected.stride()}."
        )
    if "meta" in (actual.device.type, expected.device.type):
        return
    tolerances = options.tolerances(actual.dtype, expected.dtype)
    with torch.no_grad():
        for a, e, what, exact in _parts(*_made_alike(actual.detach(), expected.detach())):
            rtol, atol = (0, 0) if exact else tolerances
            _compare_values(a, e, what, rtol, atol, options.equal_nan)


def _made_alike(actual: torch.Tensor, expected: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two tensors on one device, of one layout and dtype."""
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype is not expected.dtype:
        common = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    if actual.layout is not expected.layout:
        actual, expected = (
            t if t.layout is torch.strided else t.to_dense() for t in (actual, expected)
        )
    return actual, expected


def _parts(actual: torch.Tensor, expected: torch.Tensor) -> Iterator[tuple[Any, Any, str, bool]]:
    """The tensors with the elements to compare, what they are called, and whether they have to be
    equal."""
    if actual.is_quantized and expected.is_quantized:
        yield actual.dequantize(), expected.dequantize(), "Quantized tensor-likes", False
    elif actual.layout is torch.strided:
        yield _as_plain(actual), _as_plain(expected), "Tensor-likes", False
    elif actual.layout is torch.jagged:
        yield actual.values(), expected.values(), "Tensor-likes", False
    elif actual.layout is torch.sparse_coo:
        if (a := actual.sparse_dim()) != (e := expected.sparse_dim()):
            raise Differs(
                f"The number of sparse dimensions in sparse COO tensors does not match: {a} != {e}"
            )
        _same_count(actual, expected, "COO")
        yield actual._indices(), expected._indices(), "Sparse COO indices", True
        yield actual._values(), expected._values(), "Sparse COO values", False
    else:
        name, *indices = _COMPRESSED[actual.layout]
        _same_count(actual, expected, name)
        for which in indices:
            yield (
                getattr(actual, which)(),
                getattr(expected, which)(),
                f"Sparse {name} {which}",
                True,
            )
        yield actual.values(), expected.values(), f"Sparse {name} values", False


def _same_count(actual: torch.Tensor, expected: torch.Tensor, name: str) -> None:
    if (a := actual._nnz()) != (e := expected._nnz()):
        raise Differs(
            f"The number of specified values in sparse {name} tensors does not match: {a} != {e}"
        )


def _as_plain(t: torch.Tensor) -> torch.Tensor:
    """What a class keeps elsewhere is read element by element."""
    return (
        torch.tensor([e.item() for e in t.reshape(-1).unbind()], dtype=t.dtype).reshape(t.shape)
        if keeps_elsewhere(t)
        else t
    )


def _compare_values(
    actual: torch.Tensor,
    expected: torch.Tensor,
    what: str,
    rtol: float,
    atol: float,
    equal_nan: bool,
) -> None:
    if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:
        _compare_bits(actual, expected, what, rtol, atol)
        return
    close = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.all():
        return
    if not close.shape:
        raise Differs(numbers_in_words(actual.item(), expected.item(), rtol, atol))
    a, e = (
        t if t.is_floating_point() or t.is_complex() else t.to(torch.int64)
        for t in (actual, expected)
    )
    absolute = (a - e).abs().masked_fill(close, 0)
    relative = ((a - e).abs() / e.abs()).masked_fill(close, 0)
    exact = rtol == 0 and atol == 0
    raise Differs(
        f"{what} are not {'equal' if exact else 'close'}!\n\n{_count(close)}\n"
        f"{_greatest('absolute', absolute, exact, atol)}\n"
        f"{_greatest('relative', relative, exact, rtol)}"
    )


def _compare_bits(
    actual: torch.Tensor, expected: torch.Tensor, what: str, rtol: float, atol: float
) -> None:
    if rtol or atol:
        raise Differs(
            f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low "
            "dimensional floats. Please use rtol=0.0 and atol=0.0."
        )
    same = actual.view(torch.uint8) == expected.view(torch.uint8)
    if same.all():
        return
    if not same.shape:
        raise Differs(numbers_in_words(actual.item(), expected.item(), rtol, atol))
    first = _place(int((~same).flatten().to(torch.uint8).argmax()), same.shape)
    raise Differs(
        f"{what} are not 'equal'!\n"
        f"\n{_count(same)}\n"
        f"The first mismatched element is at index {first}."
    )


def _count(close: torch.Tensor) -> str:
    bad, all_of_them = int((~close).sum()), close.numel()
    return f"Mismatched elements: {bad} / {all_of_them} ({bad / all_of_them:.1%})"


def _greatest(name: str, differences: torch.Tensor, exact: bool, allowed: float) -> str:
    flat = differences.flatten()
    i = int(flat.argmax())
    where = _place(i, differences.shape)
    return (
        f"Greatest {name} difference: {flat[i].item()} at index "
        f"{where}{'' if exact else f' (up to {allowed} allowed)'}"
    )


def _place(i: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        i, k = divmod(i, size)
        index.append(k)
    return tuple(reversed(index))


def numbers_in_words(actual: object, expected: Any, rtol: float, atol: float) -> str:
    """How far two numbers, or tensors without dimensions, are from each other."""
    exact = rtol == 0 and atol == 0
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n"
        f"\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}\n"
        f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}"
    )
