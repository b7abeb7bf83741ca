"""Every operator of PyTorch's OpInfo database on tensors without data, and traced by JAX's ``jit``
and ``vmap`` with tensors as pytrees.

Shapes and dtypes must be those of the real call. Programs are traced and not compiled, so that all
of it takes seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

# imports PyTorch
from opinfo_running import _has_layouts, counterpart, first_samples, ours  # noqa: E402
from test_opinfo import OPS  # noqa: E402

import jtorch  # noqa: E402

#: Operators that JAX cannot trace, each with its reason.
NOT_TRACED = {
    **dict.fromkeys(
        ("masked_select", "unique", "unique_consecutive", "nonzero", "argwhere"),
        "the shape depends on values",
    ),
    "to_sparse": "how many elements are stored depends on values",
    **dict.fromkeys(
        ("linspace.tensor_overload", "logspace.tensor_overload", "narrow"),
        "a number is read from a tensor",
    ),
    "index_put": "the sample's mask is turned into positions",
    **dict.fromkeys(("multinomial", "normal", "bernoulli"), "numbers are drawn on the host"),
    **dict.fromkeys(
        ("linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"),
        "LAPACK is called on the host",
    ),
}
#: Operators that need data, besides those that PyTorch refuses.
NEED_DATA = {
    "index_put": "the sample's mask is turned into positions",
}


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, jtorch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for x in value for t in _tensors(x)] if isinstance(value, (list, tuple)) else []


def _with(value: Any, tensors: Iterator[Any]) -> Any:
    """``value`` with other tensors in the places of its own."""
    if isinstance(value, jtorch.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {k: _with(x, tensors) for k, x in value.items()}
    return (
        type(value)([_with(x, tensors) for x in value]) if type(value) in (list, tuple) else value
    )


def _theirs(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, dict):
        return {k: _theirs(x) for k, x in value.items()}
    return type(value)([_theirs(x) for x in value]) if type(value) in (list, tuple) else value


def _described(tensors: list[Any]) -> list[Any]:
    return [(tuple(t.shape), str(t.dtype)) for t in tensors]


def _prepared(op: Any) -> tuple[Any, Callable[..., list[Any]], list[Any], list[Any]]:
    """The sample, the call as a function of its tensors, those tensors, and what the real results
    look like."""
    if torch.float32 not in op.supported_dtypes("cpu") or op.full_name == "chalf":
        pytest.skip("it does not know float32")
    samples = first_samples(op, torch.float32, 1)
    if (
        not samples
        or _has_layouts((samples[0].input, samples[0].args, samples[0].kwargs))
        or "device" in samples[0].kwargs
    ):
        pytest.skip("no sample of strided tensors alone")
    sample = samples[0]
    function = counterpart(op.op)
    given = tuple(ours(x) for x in (sample.input, sample.args, sample.kwargs))

    def call(*tensors: Any) -> list[Any]:
        input, args, kwargs = _with(given, iter(tensors))
        return _tensors(function(input, *args, **kwargs))

    operands = _tensors(given)
    real = _described(call(*operands))
    if not operands or not real:
        pytest.skip("no tensor goes in, or none comes out")
    return sample, call, operands, real


def _check_without_data(
    op: Any, sample: Any, call: Callable[..., list[Any]], operands: list[Any], real: list[Any]
) -> None:
    try:
        op.op(_theirs(sample.input), *_theirs(sample.args), **_theirs(sample.kwargs))
    except Exception:  # PyTorch itself needs data
        return
    found = call(*[t.to("meta") for t in operands])
    assert _described(found) == real
    assert all(t.is_meta for t in found)


def _check_traced(call: Callable[..., list[Any]], operands: list[Any], real: list[Any]) -> None:
    def arrays(*tensors: Any) -> list[Any]:
        return [t.jax() for t in call(*tensors)]

    shapes = [shape for shape, _ in real]
    assert [tuple(x.shape) for x in jax.eval_shape(arrays, *operands)] == shapes
    batches = [jtorch.tensor(np.stack([t.detach().numpy()] * 2)) for t in operands]
    assert [tuple(x.shape) for x in jax.eval_shape(jax.vmap(arrays), *batches)] == [
        (2, *shape) for shape in shapes
    ]


@pytest.mark.parametrize("op", OPS, ids=[op.full_name for op in OPS])
def test_operator(op: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample, call, operands, real = _prepared(op)
        if op.full_name not in NEED_DATA:
            _check_without_data(op, sample, call, operands, real)
        if op.full_name not in NOT_TRACED:
            _check_traced(call, operands, real)


def test_lists_name_operators() -> None:
    """No entry of the lists above is stale."""
    assert not {*NOT_TRACED, *NEED_DATA} - {op.full_name for op in OPS}
