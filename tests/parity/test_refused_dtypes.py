"""Element types that functions refuse: PyTorch's type of error and its words.

What PyTorch takes is not compared; uint16 to uint64, for which it has kernels here and there, are
left out.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

DTYPES = "bool uint8 int8 int32 int64 float16 bfloat16 float32 complex64".split()

#: ``a`` is a matrix (2, 2), ``v`` its first row, ``i`` a batch of one image (1, 1, 2, 2), ``k`` a
#: kernel, ``p`` pivots.
CALLS = """t.linalg.cholesky(a) | t.cholesky(a) | t.linalg.cholesky_ex(a) | t.cholesky_inverse(a)
t.cholesky_solve(a, a)
t.linalg.qr(a) | t.qr(a) | t.geqrf(a) | t.linalg.householder_product(a, v) | t.orgqr(a, v)
t.ormqr(a, v, a)
t.linalg.lu(a) | t.linalg.lu_factor(a) | t.linalg.lu_factor_ex(a) | t.linalg.lu_solve(a, p, a)
t.lu_solve(a, a, p)
t.linalg.inv(a) | t.inverse(a) | t.linalg.inv_ex(a) | t.linalg.solve(a, a) | t.linalg.solve_ex(a, a)
t.linalg.solve_triangular(a, a, upper=True) | t.triangular_solve(a, a) | t.linalg.matrix_exp(a)
t.linalg.det(a) | t.det(a) | t.linalg.slogdet(a) | t.slogdet(a) | t.logdet(a)
t.linalg.eigh(a) | t.linalg.eigvalsh(a) | t.linalg.eig(a) | t.linalg.eigvals(a)
t.linalg.svd(a) | t.linalg.svdvals(a) | t.svd(a) | t.linalg.pinv(a) | t.linalg.matrix_rank(a)
t.linalg.cond(a) | t.linalg.cond(a, 1)
t.linalg.cond(a, 'nuc') | t.linalg.matrix_norm(a) | t.linalg.matrix_norm(a, 2)
t.conv1d(i[0, :, :1], k[0]) | t.conv2d(i, k) | t.conv3d(i[None], k[None])
t.conv3d(i[None], i[None]) | t.conv_tbc(i[0], k[0], k[0, 0, 0])
t.conv_transpose1d(i[0, :, :1], k[0]) | t.conv_transpose2d(i, k)
t.conv_transpose3d(i[None], k[None])
t.nn.functional.max_unpool1d(i[0, 0, :1, :1], z[0, 0, :1, :1], 2)
t.nn.functional.max_unpool2d(i[..., :1, :1], z[..., :1, :1], 2)
t.nn.functional.max_unpool3d(i[..., :1, :1], z[..., :1, :1], 2) | t.cosine_similarity(a, a)
t.nn.functional.nll_loss(a, z[0, 0, 0]) | t.nn.functional.nll_loss(i, z[0])
t.nn.functional.cross_entropy(a, z[0, 0, 0])"""
CASES = [c.strip() for line in CALLS.splitlines() for c in line.split("|")]


def _error(t: Any, call: str, dtype: str) -> tuple[type | None, str]:
    a = t.tensor([[2.0, 1.0], [1.0, 3.0]]).to(getattr(t, dtype))
    image, kernel = a[None, None], a[None, None, :1, :1]
    names = {
        "t": t, "a": a, "v": a[0], "i": image, "k": kernel, "p": t.tensor([1, 2], dtype=t.int32),
        "z": t.zeros(1, 1, 2, 2, dtype=t.int64),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(call, names)
        except Exception as e:
            return type(e), str(e).splitlines()[0]
    return None, ""


@pytest.mark.parametrize("call", CASES)
def test_words(call: str) -> None:
    for dtype in DTYPES:
        expected = _error(torch, call, dtype)
        if expected[0] is not None:
            assert _error(jtorch, call, dtype) == expected, dtype
        elif dtype == "float32":
            assert _error(jtorch, call, dtype) == (None, "")
