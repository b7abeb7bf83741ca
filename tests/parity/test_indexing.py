"""``t[index]`` and ``t[index] = value`` against PyTorch: chosen expressions and random ones, with
gradients, aliasing and errors."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jtorch

torch = pytest.importorskip("torch")
# by both, with other words
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")]


class Index:
    """An object that can stand for an int."""

    def __index__(self) -> int:
        return 1


READS = """
a[0] | a[-1] | a[2] | a[-3] | a[0, 3] | a[0, 0, 0] | a[None, 0, 0, 0] | a[..., ...]
a[0, ..., 0, 0] | a[::-1] | a[::0] | a[1:0] | a[5:]
a[0.5] | a['a'] | a[L(1.)] | a[True] | a[False] | a[True, 0] | a[:, True] | a[np.True_]
a[L(True)] | a[L(1)] | a[np.int64(1)] | a[L(5)]
a[L([5])] | a[L([-3])] | a[[0, 1]] | a[[0, 1], [0, 1]] | a[[[0, 1], [0, 1]]] | a[(0, 1)]
a[[True, False]] | a[[True, False, True]]
a[:, [True, False]] | a[L([True, False, True])] | a[a > 2] | a[L([[True, False, True]])]
a[a > 2, 0] | a[L([1, 0], dtype=t.int32)]
a[L([1, 0], dtype=t.int16)] | a[range(2)] | a[slice(0, 1)] | a[:L(1)] | a[:np.int64(1)] | a[:1.5]
a[[0, 1], :, None]
a[[0, 1], None, [0, 1]] | a[[]] | a[[], :] | a[()] | a[[[0]], [1]] | a[[0, 1], [0, 1, 2]]
a[[slice(0, 1)]] | a[[None]]
a[[0, slice(None)]] | a[[...]] | a[np.array([0, 1])] | a[np.array([True, False])] | a[np.array(1)]
a[np.array([0.5])]
a[t.zeros(0, dtype=t.int64)] | a[t.zeros(0, dtype=t.bool)] | a[t.zeros(2, 0, dtype=t.bool)] | a[a]
s[0] | s[None] | s[...] | s[L(True)]
s[:] | s[L([0])] | s[True] | s[False] | a[{}] | a[None, None] | a[1:2:2] | a[[1.5]] | a[['a']]
a[L([0, 1]), 0] | b[:, [0, 1], :, [0, 1]]
b[:, [0, 1], 0] | b[:, [0, 1], 0, [1, 2]] | b[0, :, [0, 1]] | b[:, 0, [0, 1]] | b[[0, 1], :, 0]
b[L(0), :, [0, 1]]
b[np.array(0), :, [0, 1]] | a[[0, 1], True] | a[True, [0, 1]] | a[False, [0, 1]] | a[:, False]
a[True, True, False]
a[L(True), L([0, 1])] | a[:, L(True)] | e[L([0])] | e[0] | a[[0] * 40] | a[[[0]] * 40]
a[np.array([[0, 1], [0, 1]])]
a[np.array([[0, 1], [0, 1]]), :] | a[[L(0), L(1)]] | a[[L(0), 1]] | a[L(0),] | a[Index()]
a[Index(), 0] | a[range(2), 0]
a[np.array(True)] | a[0, np.array(True)] | a[:, np.int32(1)] | a[[True]] | a[:, None, [0, 1]]
a[1, None, [0, 1]] | a[0][L(5):]
a[0][-2:] | a[0][-100:2] | a[0][2:1] | a[0][::2] | a[0][L(0):L(2)] | a[b'a'] | a['ab', 0]
a[0, 1.0] | a[[1j]] | a[None, 5]
a[:, None, 5] | b[b[..., 0] > 9] | b[:, b[0, :, 0, 0] > 9] | b[..., b[0, 0, 0] > 2]
b[0, b[0, :, :, 0] > 9]
b[b[:, 0, 0, 0] > 9, :, [0]] | b[b[..., 0, 0] > 9, t.zeros(5, dtype=t.int64)] | b[..., 0, [0, 1]]
b[[0, 1], ..., [0, 1]]
b[None, [0, 1], [0, 1]] | s[()] | a[[[True, False, True]]]
"""

WRITES = """
a;0;1 | a;(0, 0);L([1.]) | a;0;L([1., 2.]) | a;0;L([[1., 2., 3.]]) | a;0;L([[[1.]]])
a;0;t.zeros(2, 3) | a;[0];t.zeros(2, 3)
a;[0];t.zeros(1, 1, 3) | a;[0, 1];L([1., 2.]) | a;a > 2;1 | a;a > 2;L([1., 2., 3.])
a;a > 2;L([1., 2.]) | a;a > 2;L([[1., 2., 3.]])
a;a > 2;L(7) | a;a > 2;L([7]) | a;[0];L([7]) | a;[0];7 | a;[0];7.5 | i;0;7.5 | i;[0];7.5
i;L([True, False]);7.5 | i;0;L(7.5)
i;[0];L(7.5) | i;0;1j | a;0;1j | a;0;[1., 2., 3.] | a;0;np.array([1, 2, 3]) | a;0;(1, 2, 3)
a;0;'a' | a;0;None | a;0;True | a;a[0] > 1;1
a;L([True, False, False]);1 | a;True;1 | a;False;1 | a;None;1 | a;...;1 | a;L(True);1 | a;2;1
a;[2];1 | a;(slice(None), [0, 2]);5
a;([0, 1], [0, 1]);L([5., 6.]) | a;(slice(None), None, 0);5 | a;[];5 | a;(a > 2, 0);5
a;(0, a[0] > 1);5 | a;slice(None, None, -1);1
a;(slice(None), [True, False, True]);L([5., 6.]) | a;0;np.float32(2) | a;0;np.float64(2)
a;0;np.int32(2) | a;0;np.bool_(True)
a;0;Index() | a;[True, False];L([1., 2., 3.]) | a;[True, False];L([[1., 2., 3.]])
a;a > 2;L([[1.], [2.], [3.]]) | a;a > 2;t.zeros(0)
a;a > 9;t.zeros(0) | a;a > 9;L([1.]) | a;a > 2;L([1, 2, 3]) | a;a > 2;1j | a;a > 2;'a' | a;[0];1j
a;[0];None
a;(slice(None), L([True, False, True]));5 | a;(0, L([True, False, True]));L([5., 6.])
a;(L([True, False]), L([0]));5
a;slice(0, 1);L([[1., 2., 3.], [1, 2, 3]]) | s;();1 | s;...;1 | s;0;1 | s;None;1 | s;L(True);1
s;True;1 | s;slice(None);1 | a;L(1);7
a;L([1]);7 | a;(L([1, 0]), L([0, 1]));L(7.) | a;(False, 0);7 | a;(True, 0);7 | a;(None, 0);7
a;0;t.zeros(1, 1, 2) | a;(0, 0);L([1., 2.])
a;(0, 0);t.zeros(1, 1) | a;[0];L([1j, 2, 3]) | a;(slice(None), slice(None));t.zeros(2, 1, 3)
b;(slice(None), [0, 1], slice(None), [0, 1]);1
b;(slice(None), [0, 1], slice(None), [0, 1]);t.arange(16.).reshape(2, 2, 4)
b;(..., 0);t.ones(4) | b;(slice(None), b[0, :, 0, 0] > 9);t.ones(5) | b;b[..., 0] > 9;t.ones(5)
b;(1, slice(0, 2), [1, 2]);t.arange(5.)
"""


def cases(text: str) -> list[str]:
    return [c.strip() for line in text.strip().splitlines() for c in line.split(" | ")]


def names(t: Any) -> dict[str, Any]:
    return {
        "t": t, "np": np, "L": t.tensor, "Index": Index, "a": t.arange(6.0).reshape(2, 3),
        "b": t.arange(120.0).reshape(2, 3, 4, 5), "s": t.tensor(3.0), "e": t.zeros(0, 3),
        "i": t.tensor([1, 2]),
    }  # fmt: skip


def outcome(f: Any) -> Any:
    """What a call gives, in a form that compares: shape and values, or the type and first line of
    the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = f()
            return (tuple(found.shape), str(found.dtype), found.tolist())
        except Exception as error:
            # Errors that depend on values end with the op and the line that recorded it.
            return type(error).__name__, re.sub(
                r" \(in \w+, recorded at .*\)$", "", str(error).split("\n")[0]
            )


@pytest.mark.parametrize("expression", cases(READS))
def test_reading(expression: str) -> None:
    mine, theirs = (outcome(lambda t=t: eval(expression, names(t))) for t in (jtorch, torch))
    assert mine == theirs


@pytest.mark.parametrize("case", cases(WRITES))
def test_writing(case: str) -> None:
    def run(t: Any) -> Any:
        scope = names(t)
        target, index, value = (eval(part, scope) for part in case.split(";"))
        target[index] = value
        return target

    mine, theirs = (outcome(lambda t=t: run(t)) for t in (jtorch, torch))
    assert mine == theirs


# ---- random expressions --------------------------------------------------------------------------


@st.composite
def shapes_and_indices(draw: Any) -> tuple[tuple[int, ...], list[Any]]:
    """A shape and an index for it; tensors stand as NumPy arrays, to be made tensors of either
    library."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    common = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    items: list[Any] = []
    dim, ellipsis = 0, False
    while dim < len(shape) and draw(st.booleans() if items else st.just(True)):
        n = shape[dim]
        kind = draw(
            st.sampled_from(
                ["int", "slice", "none", "ellipsis", "tensor", "tensor", "mask", "list", "bool"]
            )
        )
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-n - 1, n + 1)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "none":
            items.append(None)
            continue
        elif kind == "bool":
            if True not in [i for i in items if isinstance(i, bool)]:
                items.append(True)
            continue
        elif kind == "ellipsis":
            if not ellipsis:
                items.append(Ellipsis)
                ellipsis = True
                dim = min(len(shape), dim + draw(st.integers(0, len(shape) - dim)))
            continue
        elif kind in ("tensor", "list"):
            sizes = tuple(draw(st.sampled_from([1, c])) for c in common)[
                draw(st.integers(0, len(common))) :
            ]
            flat = [draw(st.integers(-n, n - 1)) for _ in range(int(np.prod(sizes)))]
            array = np.array(flat, np.int64).reshape(sizes)
            items.append(array if kind == "tensor" else array.tolist())
        else:
            mask = np.array([draw(st.booleans()) for _ in range(n)])
            if ellipsis and n != shape[dim]:
                continue
            items.append(mask)
        dim += 1
    return shape, items


def as_index(t: Any, items: list[Any]) -> Any:
    made = tuple(t.tensor(i) if isinstance(i, np.ndarray) else i for i in items)
    return made[0] if len(made) == 1 else made


@settings(max_examples=150, deadline=None)
@given(shapes_and_indices())
def test_random_reading(case: Any) -> None:
    shape, items = case
    data = np.arange(float(np.prod(shape)), dtype=np.float64).reshape(shape)

    def run(t: Any) -> Any:
        x = t.tensor(data, requires_grad=True)
        found = x[as_index(t, items)]
        weights = t.arange(float(found.numel()), dtype=t.float64).reshape(found.shape)
        (found * weights).sum().backward()
        return t.cat(
            [
                found.detach().reshape(-1),
                x.grad.reshape(-1),
                t.tensor([float(found.dim())], dtype=t.float64),
            ]
        ).reshape(1, -1)

    mine, theirs = (outcome(lambda t=t: run(t)) for t in (jtorch, torch))
    assert mine == theirs


def positions_repeat(shape: tuple[int, ...], items: list[Any]) -> bool:
    """Whether some element is written more than once, where the order is anybody's guess."""
    seen = torch.arange(int(np.prod(shape))).reshape(shape)[as_index(torch, items)]
    return seen.numel() != seen.unique().numel()


@settings(max_examples=150, deadline=None)
@given(shapes_and_indices(), st.sampled_from(["number", "scalar", "full", "row"]))
def test_random_writing(case: Any, what: str) -> None:
    shape, items = case
    try:
        repeated = positions_repeat(shape, items)
    except (IndexError, RuntimeError):
        repeated = True
    if repeated and what in ("full", "row"):
        return
    data = np.arange(float(np.prod(shape)), dtype=np.float64).reshape(shape)

    def run(t: Any) -> Any:
        x = t.tensor(data, requires_grad=True)
        y = x * 2
        index = as_index(t, items)
        sizes = tuple(y[index].shape)
        if what == "number":
            value: Any = -1
        else:
            sizes = {"scalar": (), "full": sizes, "row": sizes[-1:]}[what]
            value = (
                t.arange(float(np.prod(sizes)), dtype=t.float64).reshape(sizes) - 7
            ).requires_grad_()
        y[index] = value
        weights = t.arange(float(y.numel()), dtype=t.float64).reshape(y.shape)
        (y * weights).sum().backward()
        parts = [y.detach().reshape(-1), x.grad.reshape(-1)]
        if what != "number":
            parts.append(value.grad.reshape(-1))
        return t.cat(parts)

    mine, theirs = (outcome(lambda t=t: run(t)) for t in (jtorch, torch))
    assert mine == theirs


def test_views_alias() -> None:
    """What torch makes a view is one: a write through the result is seen in the tensor, and only
    then."""
    for expression in (
        "x[0]",
        "x[:, 1]",
        "x[..., 0]",
        "x[None]",
        "x[:1]",
        "x[...]",
        "x[()]",
        "x[t.tensor(1)]",
        "x[[0, 1]]",
        "x[x > 1]",
        "x[True]",
    ):
        seen = []
        for t in (jtorch, torch):
            x = t.arange(6.0).reshape(2, 3)
            eval(expression, {"x": x, "t": t}).fill_(9)
            seen.append(x.tolist())
        assert seen[0] == seen[1], expression
