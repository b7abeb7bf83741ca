"""Errors against PyTorch: the inputs that its OpInfo database knows to be wrong (every third op),
and calls that fit no signature."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

EVERY = 3
SAMPLES = 4
#: What the error inputs of an op need that is not offered, or is raised later: positions out of
#: range show when results are read.
LATE = ("gather", "scatter", "scatter_add", "take_along_dim", "index_select", "embedding")
#: Ops that are not compared, with the reason.
LEFT_OUT = {
    "jiterator": "compiles CUDA sources",
    "nn.functional.scaled_mm": "float8 products of accelerators",
    "torch.ops": "no public function",
}


def ops() -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    found = [
        op
        for op in op_db
        if op.error_inputs_func is not None and not any(name in op.name for name in LEFT_OUT)
    ]
    return found[::EVERY]


def converted(x: Any, memo: dict[int, Any]) -> Any:
    """torch's objects as jtorch's; tensors that are the same object stay so, and memory that is
    shared stays shared."""
    if isinstance(x, torch.Tensor):
        if id(x) not in memo:
            storage = x.untyped_storage()
            key = (storage.data_ptr(), x.dtype)
            if (
                x.numel()
                and not (x.dtype.is_floating_point and x.dtype.itemsize == 1)
                and x.dtype is not torch.bfloat16
            ):
                if key not in memo:
                    whole = torch.tensor([], dtype=x.dtype).set_(storage).detach()
                    memo[key] = jtorch.from_numpy(np.array(whole.numpy()))
                made = jtorch.as_strided(memo[key], tuple(x.shape), x.stride(), x.storage_offset())
            else:
                made = jtorch.empty(tuple(x.shape), dtype=converted(x.dtype, memo))
            memo[id(x)] = made.detach().requires_grad_(x.requires_grad) if x.requires_grad else made
        return memo[id(x)]
    if isinstance(x, torch.Size):
        return tuple(x)
    if isinstance(x, (list, tuple)):
        return type(x)(converted(item, memo) for item in x)
    if isinstance(x, dict):
        return {k: converted(v, memo) for k, v in x.items()}
    if isinstance(x, torch.dtype | torch.layout | torch.memory_format):
        return getattr(jtorch, str(x).removeprefix("torch."))
    if isinstance(x, torch.device):
        return jtorch.device(str(x))
    return x


def counterpart(op: Any) -> Any:
    found: Any = jtorch
    for part in op.name.split("."):
        found = getattr(found, part, None)
    return found


@pytest.mark.parametrize("op", ops(), ids=lambda op: op.full_name)
def test_error_inputs(op: Any) -> None:
    function = counterpart(op)
    if function is None or not callable(op.op) or getattr(op.op, "__name__", "") == "<lambda>":
        pytest.skip("called through a helper of the database")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, given in enumerate(op.error_inputs("cpu")):
            if i == SAMPLES:
                break
            sample = given.sample_input
            try:
                op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception as e:
                expected = e
            else:
                continue  # no error in this build of PyTorch
            if op.name in LATE and "out of" in str(expected):
                continue
            memo: dict[Any, Any] = {}
            with pytest.raises(Exception) as caught:
                function(
                    converted(sample.input, memo),
                    *converted(sample.args, memo),
                    **converted(sample.kwargs, memo),
                )
            assert type(caught.value).__name__ in [
                c.__name__ for c in type(expected).__mro__[:-2]
            ], (i, repr(expected), repr(caught.value))


CALLS = """
torch.bitwise_and(2, 3) | torch.remainder(2, 3) | torch.xlogy(2, 3) | torch.fmod(2, 3)
torch.pow(2, 3) | torch.eq(2, 3) | torch.lt(2, 3)
torch.logical_and(2, 3) | torch.maximum(2, 3) | torch.copysign(2, 3) | torch.special.zeta(2, 3)
torch.special.chebyshev_polynomial_t(2, 3)
torch.rsub(2, 3) | torch.float_power(2, 3) | torch.Tensor.__radd__(2, x)
torch.Tensor.__rand__(2, 3) | torch.Tensor.add(2, 3)
torch.add(x)
torch.add(x, x, x, x) | torch.add(x, 'a') | torch.sin() | torch.sin(2) | torch.sin(x, x)
torch.sin(x, foo=1) | torch.sum(x, dim='a')
torch.sum(x, 1, 2, 3, 4) | torch.add(x, x, alpha='a') | torch.cat(x) | torch.cat([x, 1])
torch.cat(1) | torch.reshape(x, ('a',))
torch.clamp(x, 'a') | torch.mm(x, 1) | torch.mm(x) | x.add() | x.add(1, 2, 3) | x.sum('a')
x.view('a') | x.view(1.5) | torch.zeros('a')
torch.zeros(1.5) | torch.full((2,)) | torch.full((2,), 'a') | torch.where(x, 1)
torch.where(x > 0, 'a', 1) | torch.softmax(x)
torch.softmax(x, 'a') | torch.max(x, 'a') | torch.topk(x, 'a') | torch.topk(x) | x.permute('a')
torch.transpose(x, 0) | torch.stack(x)
torch.gather(x, 0, 1) | torch.index_select(x, 0, [1]) | torch.matmul(x, 'a')
torch.nn.functional.linear(x)
torch.nn.functional.linear(x, 1)
torch.nn.functional.conv2d(x, x, 1) | x.fill_('a') | x.copy_('a') | torch.rand('a')
torch.eye('a') | torch.mean(x, 'a') | torch.cumsum(x)
torch.cumsum(x, 'a') | torch.flatten(1) | torch.squeeze(x, 'a') | torch.unsqueeze(x)
torch.chunk(x) | torch.roll(x) | torch.flip(x, 'a')
torch.masked_fill(x, 1, 2) | torch.lerp(x, x, 'a') | torch.pow(x) | torch.std(x, 'a')
torch.argmax(x, 'a') | torch.fft.fft(x, 'a')
x.scatter_(0, 1, 1) | torch.allclose(x, 1) | torch.equal(x, 1) | torch.isclose(x, 1)
torch.ones(2, dtype=1)
x.var(unbiased=True, correction=1) | torch.trapezoid(x, x, dx=2) | x.sum(keepdim='a', dim=1)
torch.mm(x, x, out=torch.zeros(3, dtype=torch.float64)) | torch.abs(x, out=x.double())
torch.take(x, torch.tensor([0]), out=x)
"""


def words(call: str, m: Any) -> str:
    try:
        return repr(eval(call, {"torch": m, "x": m.ones(3)}))
    except Exception as e:
        return re.sub(r"\s+", " ", f"{type(e).__name__}: {e}").strip()


@pytest.mark.parametrize(
    "call", [c.strip() for line in CALLS.strip().splitlines() for c in line.split(" | ")]
)
def test_calls_that_fit_no_signature(call: str) -> None:
    assert words(call, jtorch) == words(call, torch)
