"""Operators of quantised graphs give PyTorch's numbers, dtypes and errors."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def _calls(t: Any) -> list[Any]:
    q = t.ops.quantized_decomposed
    x = t.tensor([[-1.5, 0.25, 0.75], [2.5, 100.0, -0.0]])
    ints = t.tensor([[-128, 5, 127], [0, 1, 2]], dtype=t.int8)
    s, z = t.tensor([0.1, 0.5]), t.tensor([1, -3])
    rows, zeros = s.view(2, 1), z.view(2, 1)
    one, three = t.tensor(0.1), t.tensor(3)
    return [
        lambda: q.quantize_per_tensor(x, 0.1, 3, -128, 127, t.int8),
        lambda: q.quantize_per_tensor(x.half(), 0.1, 3, 0, 255, t.uint8),
        lambda: q.quantize_per_tensor(x.double(), 0.1, 3, 0, 255, t.uint8),
        lambda: q.quantize_per_tensor(x, 0.1, 3, -129, 127, t.int8),
        lambda: q.quantize_per_tensor(x, 0.1, 3, 0, 300, t.uint8),
        lambda: q.quantize_per_tensor(x, 0.1, 3, 0, 300, t.int64),
        lambda: q.quantize_per_tensor.tensor(x, one, three, -128, 127, t.int8),
        lambda: q.quantize_per_tensor.tensor(x, s, three, -128, 127, t.int8),
        lambda: q.quantize_per_tensor.tensor2(x, one, three, t.tensor(-128), t.tensor(127), t.int8),
        lambda: q.dequantize_per_tensor(ints, 0.1, 3, -128, 127, t.int8),
        lambda: q.dequantize_per_tensor(
            ints, 0.1, 3, -128, 127, t.int8, out_dtype=t.bfloat16
        ).float(),
        lambda: q.dequantize_per_tensor(ints, 0.1, 3, -128, 127, t.uint8),
        lambda: q.dequantize_per_tensor(ints.long(), 0.1, 3, -128, 127, t.int64),
        lambda: q.dequantize_per_tensor.tensor(ints, one, three, -128, 127, t.int8),
        lambda: q.quantize_per_channel(x, s, z, 0, -128, 127, t.int8),
        lambda: q.quantize_per_channel(
            x, t.tensor([0.1, 0.2, 0.3]), t.tensor([1, 2, 3]), 1, -128, 127, t.int8
        ),
        lambda: q.quantize_per_channel(x, s, z, 2, -128, 127, t.int8),
        lambda: q.dequantize_per_channel(ints, s, z, 0, -128, 127, t.int8),
        lambda: q.dequantize_per_channel(ints, s, None, 0, -128, 127, t.int8, out_dtype=t.float16),
        lambda: q.convert_element_type.no_fuse(x, t.int32),
        *[
            lambda y=y: q.choose_qparams.tensor(y, -128, 127, 1e-5, t.int8)
            for y in (x, x.abs(), -x.abs(), x * 0, x.half(), x.double())
        ],
        lambda: q.choose_qparams.tensor(x + 5, 5, 20, 1e-5, t.uint8),
        *[
            lambda d=d: q.choose_qparams_symmetric.tensor(x, 0, 255, 1e-5, d)
            for d in (t.uint8, t.int8)
        ],
        *[lambda y=y: q.choose_qparams_per_token(y, t.int8) for y in (x, x * 0, x.half())],
        lambda: q.choose_qparams_per_token(x, t.uint8),
        *[
            lambda y=y: q.choose_qparams_per_token_asymmetric(y, t.int8)
            for y in (x, x.abs(), x * 0, x.half())
        ],
        lambda: q.quantize_per_token(x, rows, zeros, -128, 127, t.int8),
        lambda: q.quantize_per_token(x, rows[:1], zeros, -128, 127, t.int8),
        lambda: q.quantize_per_token(x, rows, zeros[:1], -128, 127, t.int8),
        lambda: q.quantize_per_token(x, s, z, -128, 127, t.int8),
        lambda: q.dequantize_per_token(ints, rows, zeros, -128, 127, t.int8, t.float16),
        lambda: q.quantize_per_channel_group(
            t.arange(8.0).view(2, 4), t.full((2, 2), 0.1), t.ones(2, 2).int(), -8, 7, t.int8, 2
        ),
        lambda: q.quantize_per_channel_group(x, s, z, -8, 7, t.int8, 2),
        lambda: q.dequantize_per_channel_group(
            ints[:, :2], rows, zeros.float(), -8, 7, t.int8, 2, t.float32
        ),
        lambda: q.dequantize_per_channel_group(
            ints[:, :2], rows, None, -8, 7, t.int8, 1, t.float32
        ),
    ]


def _told(call: Any, t: Any) -> Any:
    try:
        found = call()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return [
        (str(x.dtype).rpartition(".")[2], x.tolist())
        for x in (found if isinstance(found, tuple) else (found,))
    ]


@pytest.fixture(scope="module", autouse=True)
def _defined() -> None:
    for t in (jtorch, torch):
        importlib.import_module(f"{t.__name__}.ao.quantization.fx._decomposed")


def test_operators() -> None:
    for number, (mine, its) in enumerate(zip(_calls(jtorch), _calls(torch), strict=True)):
        assert _told(mine, jtorch) == _told(its, torch), number


def test_graphs() -> None:
    programs = []
    for t in (jtorch, torch):

        class Module(t.nn.Module):
            def forward(self, x: Any) -> Any:
                q = t.ops.quantized_decomposed  # noqa: B023
                y = q.quantize_per_tensor.default(x, 0.1, 3, -128, 127, t.int8)  # noqa: B023
                z = q.dequantize_per_tensor.default(y, 0.1, 3, -128, 127, t.int8)  # noqa: B023
                return z, q.quantize_per_tensor.tensor(
                    z,
                    z[0] * 0.1,
                    t.tensor(3),  # noqa: B023
                    -128,
                    127,
                    t.int8,  # noqa: B023
                )

        program = t.export.export(Module(), (t.ones(2),))
        programs.append(
            [
                (str(n.target), [str(a) for a in n.args if not hasattr(a, "op")])
                for n in program.graph.nodes
                if "quantized" in str(n.target)
            ]
        )
        out, again = program.module()(t.ones(2))
        assert out.tolist() == pytest.approx([1.0, 1.0])
        assert again.tolist() == [13, 13]
    assert programs[0] == programs[1]
