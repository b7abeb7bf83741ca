"""Exported programs whose numbers and sizes data decide have PyTorch's operators, bounds and
words."""

from __future__ import annotations

import re
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def checked(t: Any, x: Any, n: Any) -> Any:
    k = n.item()
    t._check(k >= 0)
    t._check(k < 5)
    return t.zeros(k, 3), x[:k], x + k


def equal(t: Any, x: Any, n: Any) -> Any:
    del n
    a, b = x[x > 0], x[x < 1]
    t._check(a.shape[0] == b.shape[0])
    return a * b


def branch(t: Any, x: Any, n: Any) -> Any:
    return t.cond(n.item() > 3, lambda y: y.sin(), lambda y: y.cos(), (x,))


def again(x: Any, n: Any) -> Any:
    mask = x > 0
    return (x + 1)[mask] * x[mask] + n.item() + n.item()


CASES: dict[str, Any] = {
    "float": lambda t, x, n: x * x.max().item(),
    "int": lambda t, x, n: (x + n.item(), n.item() * 2),
    "bool": lambda t, x, n: (x.sum() > 0).item(),
    "mask": lambda t, x, n: (x[x > 0] * 2, x.masked_select(x < 0).sum()),
    "again": lambda t, x, n: again(x, n),
    "nonzero": lambda t, x, n: x[t.nonzero(x)[:, 0]],
    "zeros": lambda t, x, n: t.zeros(n.item()),
    "slice": lambda t, x, n: x[: n.item()],
    "repeats": lambda t, x, n: t.repeat_interleave(x, x.abs().long()),
    "range": lambda t, x, n: t.sym_constrain_range(n.item(), min=2, max=5),
    "checked": checked,
    "equal": equal,
    "branch": branch,
}


def _program(t: Any, f: Any) -> tuple[Any, ...]:
    class Module(t.nn.Module):
        def forward(self, x: Any, n: Any) -> Any:
            return f(t, x, n)

    args = t.arange(6.0) - 2, t.tensor(4)
    program = t.export.export(Module(), args)
    rows = [
        str(n.target).partition(" at 0x")[0]
        for n in program.graph.nodes
        if n.op == "call_function" and "getitem" not in str(n.target)
    ]
    rows = [r for r in rows if "_assert_tensor_metadata" not in r]
    words = re.findall(
        r'"Runtime assertion failed for expression (.*) on node', program.graph_module.code
    )
    out = program.module()(*args)
    leaves = [x for x in (out if isinstance(out, tuple) else (out,)) if x is not None]
    values = [
        x.double().mul(1e5).round().tolist() if isinstance(x, t.Tensor) else x for x in leaves
    ]
    return rows, words, {str(k): str(v) for k, v in program.range_constraints.items()}, values


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str) -> None:
    assert _program(jtorch, CASES[name]) == _program(torch, CASES[name])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: int(x.sum()),
        lambda x: x + 1 if x.long().sum().item() > 3 else x,
    ],
)
def test_words(f: Any) -> None:
    said = []
    for t in (jtorch, torch):
        module = type("Module", (t.nn.Module,), {"forward": lambda self, x: f(x)})()
        with pytest.raises(t.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode) as info:
            t.export.export(module, (t.ones(2),))
        said.append(str(info.value).split("\nCaused by")[0])
    assert said[1].startswith(said[0])


def test_operators_of_unique() -> None:
    for t in (jtorch, torch):
        x = t.tensor([1, 1, 2])
        found = [
            t.ops.aten.unique_consecutive(x, False, True),
            t.ops.aten._unique2(x),
            t.ops.aten.unique_consecutive(x.view(3, 1), dim=0),
        ]
        assert [[y.tolist() for y in part] for part in found] == [
            [[1, 2], [], [2, 1]],
            [[1, 2], [], []],
            [[[1], [2]], [0, 0, 1], [2, 1]],
        ]
