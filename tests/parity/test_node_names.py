"""What ``grad_fn`` is called after every operation in PyTorch's database of samples, compared with
PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch as oracle
from opinfo_running import _has_layouts, counterpart, ours
from torch.testing._internal.common_methods_invocations import op_db

import jtorch as torch

# samples, and torch's own functions, warn of old names
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

#: Names that differ, and why.
DIFFERENT = {
    **dict.fromkeys(
        ("positive", "conj", "conj_physical", "cartesian_prod"),
        "PyTorch gives the operand itself, here it is a result",
    ),
    **dict.fromkeys(("__rsub__", "sort", "round"), "two overloads are one operation here"),
    "svd": "PyTorch transposes one of the results afterwards, here all are results of one node",
    "to_sparse": "a sparse tensor's history is that of its values",
    "nn.functional.linear_cross_entropy": "PyTorch may compute it in chunks, with a node for that",
    **dict.fromkeys(
        (
            "matmul",
            "__rmatmul__",
            "nn.functional.unfold",
            "nn.functional.local_response_norm",
            "diff",
        ),
        "samples without elements",
    ),
}


def operations() -> Iterator[Any]:
    """The entries of the database to compare, with an identifier."""
    for op in op_db:
        if (
            op.supports_autograd
            and op.supports_dtype(oracle.float64, "cpu")
            and op.name not in DIFFERENT
        ):
            yield pytest.param(op, id=f"{op.name}.{op.variant_test_name}".rstrip("."))


def names(result: Any) -> list[str]:
    """The names of the nodes of all tensors in a result."""
    if isinstance(result, (oracle.Tensor, torch.Tensor)):
        return [type(result.grad_fn).__name__]
    return [n for r in result for n in names(r)] if isinstance(result, (list, tuple)) else []


def tensors(given: Any) -> list[Any]:
    """The tensors in nested arguments."""
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, (list, tuple)):
        return [t for x in given for t in tensors(x)]
    return [given] if isinstance(given, (oracle.Tensor, torch.Tensor)) else []


@pytest.mark.parametrize("op", list(operations()))
def test_node_names(op: Any) -> None:
    try:
        mine = counterpart(op.op)
    except (AttributeError, NotImplementedError):
        pytest.skip("not offered")
    seen = set()
    for sample in itertools.islice(op.sample_inputs("cpu", oracle.float64, requires_grad=True), 6):
        arguments = (sample.input, tuple(sample.args), dict(sample.kwargs))
        if _has_layouts(arguments):
            continue
        try:
            expected = names(op.op(sample.input, *sample.args, **sample.kwargs))
        except Exception:  # such as a layout that only other devices have
            continue
        if tuple(expected) in seen:
            continue
        seen.add(tuple(expected))
        first, args, kwargs = converted = [ours(x) for x in arguments]
        for a, b in zip(tensors(arguments), tensors(converted), strict=True):
            b.requires_grad_(a.requires_grad)
        with torch.autograd.set_grad_enabled(True):
            try:
                found = names(mine(first, *args, **kwargs))
            except NotImplementedError:
                pytest.skip("not offered")
        assert found == expected


@pytest.mark.parametrize(
    "change",
    [
        "copy_",
        "zero_",
        "fill_",
        "t_",
        "squeeze_",
        "unsqueeze_",
        "normal_",
        "bernoulli_",
        "exponential_",
    ],
)
def test_names_of_changes_in_place(change: str) -> None:
    made = []
    for library in (oracle, torch):
        x = library.ones(2, 1, requires_grad=True) * 0.5
        arguments = {"copy_": (x,), "fill_": (2.0,), "unsqueeze_": (0,)}.get(change, ())
        made.append(type(getattr(x, change)(*arguments).grad_fn).__name__)
    assert made[0] == made[1]


def test_names_of_views_after_a_change() -> None:
    made = []
    for library in (oracle, torch):
        x = library.ones(3, 4, requires_grad=True) * 1
        row, flat = x[0], x.view(-1)
        x.mul_(2)
        row.mul_(2)
        made.append(
            [
                type(t.grad_fn).__name__
                for t in (x, row, flat, 1 - x, 2 / x, x[x > 0], x.t().reshape(-1))
            ]
        )
    assert made[0] == made[1]


def test_parts_of_tensor_split_may_be_changed() -> None:
    made = []
    for library in (oracle, torch):
        leaf = library.ones(4, requires_grad=True)
        x = leaf * 1
        first, second = x.tensor_split(2)
        first.mul_(3)
        with pytest.raises(RuntimeError, match="Output 0 of Split is a view"):
            x.split(2)[0].mul_(2)
        (x * second.sum()).sum().backward()
        made.append(leaf.grad.tolist())
    assert made[0] == made[1]


#: Expressions in ``t``, in ``x`` that requires grad, and ``n``, a tensor of one float.
BY_CALL = """
t.xlogy(x, 2.0) | t.xlogy(2.0, x) | t.xlogy(x, x) | t.special.xlog1py(x, 1) | x.mul(1).xlogy_(2.0)
t.special.xlog1py(2.0, x) | t.special.zeta(2.0, x) | t.special.zeta(x, 2.0) | t.special.zeta(x, x)
t.floor_divide(x, 2) | (x * 1).copy_(x) | t.bernoulli(x, 0.5) | t.bernoulli(x) | x.heaviside(x)
t.frobenius_norm(x, 1) | t.nuclear_norm(x, False) | t.nuclear_norm(x)
t.native_dropout(x, 0.5, True)[0]
t.fused_moving_avg_obs_fake_quant(x, n, n, n * 0, n, n, n.int(), 0.1, 0, 255, 0)
""".replace("\n", " | ")


def test_names_of_calls() -> None:
    made: list[dict[str, tuple[str, str]]] = []
    for library in (oracle, torch):
        given = {"t": library, "x": library.full((2, 3), 0.5, requires_grad=True)}
        given["n"] = library.ones(1)
        nodes = {s: eval(s, given).grad_fn for s in BY_CALL.strip(" |").split(" | ")}
        made.append({s: (type(node).__name__, node.name()) for s, node in nodes.items()})
    assert made[1] == made[0]
