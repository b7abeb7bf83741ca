"""Products with weights of few bits: numbers and errors are PyTorch's."""

from __future__ import annotations

import pytest
import torch as oracle

import jtorch as torch

pytestmark = pytest.mark.parity


def ours(x):
    half = x.dtype in (oracle.bfloat16, oracle.float16)
    made = torch.from_numpy((x.float() if half else x).numpy().copy())
    return made.to(getattr(torch, str(x.dtype)[6:]))


def operands(dtype, rows=5, n=48, k=64):
    g = oracle.Generator().manual_seed(0)
    x = oracle.randn(rows, k, generator=g).to(dtype)
    eight = oracle.randint(-128, 128, (n, k), generator=g, dtype=oracle.int8)
    scales = (oracle.rand(n, generator=g) / 100).to(dtype)
    four = oracle.randint(0, 16, (n, k), generator=g, dtype=oracle.int32)
    groups = oracle.randn(k // 32, n, 2, generator=g).to(dtype)
    return x, eight, scales, four, groups


@pytest.mark.parametrize("dtype", [oracle.float32, oracle.bfloat16, oracle.float16])
def test_numbers(dtype):
    x, eight, scales, four, groups = operands(dtype)
    pairs = [
        (
            oracle._weight_int8pack_mm(x, eight, scales),
            torch._weight_int8pack_mm(ours(x), ours(eight), ours(scales)),
        ),
        (
            oracle._weight_int4pack_mm_for_cpu(
                x, oracle._convert_weight_to_int4pack_for_cpu(four, 2), 32, groups
            ),
            torch._weight_int4pack_mm_for_cpu(
                ours(x), torch._convert_weight_to_int4pack_for_cpu(ours(four), 2), 32, ours(groups)
            ),
        ),
    ]
    for expected, found in pairs:
        assert str(found.dtype) == str(expected.dtype)
        step = 4e-6 if dtype is oracle.float32 else oracle.finfo(dtype).eps
        torch.testing.assert_close(
            found.float(), ours(expected.float()), rtol=0, atol=step * expected.abs().max().item()
        )


def words(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return "nothing was raised"


@pytest.mark.parametrize(
    "change",
    [
        lambda t, x, w, s, q, g: t._weight_int8pack_mm(x.double(), w, s),
        lambda t, x, w, s, q, g: t._weight_int8pack_mm(x, w.int(), s),
        lambda t, x, w, s, q, g: t._weight_int8pack_mm(x, w, s[:3]),
        lambda t, x, w, s, q, g: t._weight_int8pack_mm(x[:, :31].contiguous(), w, s),
        lambda t, x, w, s, q, g: t._weight_int8pack_mm(x.bfloat16(), w, s),
        lambda t, x, w, s, q, g: t._weight_int8pack_mm(x, w, s.double()),
        lambda t, x, w, s, q, g: t._convert_weight_to_int4pack_for_cpu(q.long(), 2),
        lambda t, x, w, s, q, g: t._convert_weight_to_int4pack_for_cpu(q[:, :31], 2),
        lambda t, x, w, s, q, g: t._convert_weight_to_int4pack_for_cpu(q[:15], 2),
        lambda t, x, w, s, q, g: t._convert_weight_to_int4pack_for_cpu(q[0], 2),
        lambda t, x, w, s, q, g: t._weight_int4pack_mm_for_cpu(
            x, t._convert_weight_to_int4pack_for_cpu(q, 2), 16, g
        ),
        lambda t, x, w, s, q, g: t._weight_int4pack_mm_for_cpu(
            x, t._convert_weight_to_int4pack_for_cpu(q, 2), 128, g
        ),
        lambda t, x, w, s, q, g: t._weight_int4pack_mm_for_cpu(
            x.double(), t._convert_weight_to_int4pack_for_cpu(q, 2), 32, g
        ),
        lambda t, x, w, s, q, g: t._weight_int4pack_mm_for_cpu(x, q, 32, g),
        lambda t, x, w, s, q, g: t._weight_int4pack_mm_for_cpu(
            x, t._convert_weight_to_int4pack_for_cpu(q, 2), 32, g[:, :3]
        ),
    ],
)
def test_errors(change):
    given = operands(oracle.float32)
    expected = words(lambda: change(oracle, *given))
    assert expected != "nothing was raised"
    assert words(lambda: change(torch, *map(ours, given))) == expected
