"""Every operator of PyTorch's OpInfo database: values, dtypes, shapes and structure of the results,
as functions, methods and in place.

Each runs in float32 and in one more of its dtypes, which its name chooses, so that a run is short
and the same every time.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

from opinfo_running import check, counterpart, first_samples  # noqa: E402  (imports PyTorch)
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

#: Operators whose results are right in many ways, or not determined: only shapes and dtypes are
#: compared.
SHAPES_ONLY = {
    "empty": "memory as it comes", "empty_like": "memory as it comes",
    "new_empty": "memory as it comes", "empty_strided": "memory as it comes",
    "new_empty_strided": "memory as it comes", "empty_permuted": "memory as it comes",
    "linalg.eig": "eigenvectors have any phase", "linalg.svd": "singular vectors have any sign",
    "svd": "singular vectors have any sign", "linalg.eigh": "eigenvectors have any sign",
    "svd_lowrank": "singular vectors have any sign",
    "pca_lowrank": "singular vectors have any sign",
}  # fmt: skip
#: Operators that fail, each with its reason; strict.
FAILING = {
    "chalf": "there are no complex numbers of half precision",
}
#: Those that fail in their second dtype only; strict.
FAILING_IN_ANOTHER_DTYPE = {
    "special.bessel_y0": (
        "PyTorch is off by 1e-8 in float64, where SciPy and jtorch agree to the last digits"
    ),
    "matrix_exp": "PyTorch gives NaN in bfloat16, where its steps overflow",
}
#: Operators whose order of equal elements is not determined: only in float32 are values compared.
WITH_TIES = ("topk", "mode", "sort", "argsort")
_OTHERS = (torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64)


def _is_public(op: Any) -> bool:
    """Not PyTorch's own internals: private functions, operators of ``torch.ops``, and CUDA's own
    kernels."""
    return op.name.startswith("__r") or not (
        op.name.startswith(("_", "jiterator", "ops.", "torch.")) or op.name in _INTERNAL
    )


#: Operators of the database that have no public Python entrance.
_INTERNAL = ("native_dropout_backward", "slice", "max_pool2d_with_indices_backward")
OPS = [op for op in op_db if _is_public(op)]


def _marked(ops: list[Any], failing: dict[str, str]) -> list[Any]:
    def marks(name: str) -> list[Any]:
        return [pytest.mark.xfail(strict=True, reason=failing[name])] if name in failing else []

    return [pytest.param(op, id=op.full_name, marks=marks(op.full_name)) for op in ops]


def _another_dtype(op: Any) -> Any:
    """One more dtype that the operator knows, chosen by its name."""
    known = [d for d in _OTHERS if d in op.supported_dtypes("cpu")]
    return (
        known[int(hashlib.md5(op.full_name.encode()).hexdigest(), 16) % len(known)]
        if known
        else None
    )


def _run(op: Any, function: Any, dtype: Any, count: int) -> None:
    shapes_only = op.name in SHAPES_ONLY or (op.name in WITH_TIES and dtype is not torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what either library warns of is not compared here
        samples = first_samples(op, dtype, count)
        ran = [check(op, function, sample, shapes_only) for sample in samples]
    if samples and not any(ran):
        pytest.skip("PyTorch itself cannot run it here")


@pytest.mark.parametrize("op", _marked(OPS, FAILING))
def test_function(op: Any) -> None:
    dtype = torch.float32 if torch.float32 in op.supported_dtypes("cpu") else _another_dtype(op)
    if dtype is None:
        pytest.skip("it knows none of the dtypes compared")
    _run(op, op.op, dtype, 1)


@pytest.mark.parametrize("op", _marked(OPS, FAILING | FAILING_IN_ANOTHER_DTYPE))
def test_another_dtype(op: Any) -> None:
    dtype = _another_dtype(op)
    if dtype is None:
        pytest.skip("it knows none of the dtypes compared")
    _run(op, op.op, dtype, 2)


METHODS = [
    op
    for op in OPS
    if op.method_variant is not None
    and torch.float32 in op.supported_dtypes("cpu")
    and op.full_name != "chalf"
]


@pytest.mark.parametrize("op", METHODS, ids=[op.full_name for op in METHODS])
def test_method(op: Any) -> None:
    _run(op, op.method_variant, torch.float32, 1)


INPLACE = [
    op
    for op in OPS
    if op.inplace_variant is not None and torch.float32 in op.supported_dtypes("cpu")
]


@pytest.mark.parametrize("op", INPLACE, ids=[op.full_name for op in INPLACE])
def test_in_place(op: Any) -> None:
    _run(op, op.inplace_variant, torch.float32, 1)


def test_lists_name_operators() -> None:
    """No entry of the lists above is stale."""
    names = {op.full_name for op in OPS} | {op.name for op in OPS}
    assert not {*SHAPES_ONLY, *FAILING, *FAILING_IN_ANOTHER_DTYPE, *WITH_TIES} - names


def test_no_helper_is_lost() -> None:
    """Every operator has a counterpart, found without running it."""
    missing = []
    for op in OPS:
        try:
            counterpart(op.op)
        except AttributeError as error:
            missing.append(f"{op.full_name}: {error}")
    assert not missing
