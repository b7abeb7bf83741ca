"""Half precision: what many elements are added up in, or multiplied, is PyTorch's choice, element
by element or in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity
TYPES = ("bfloat16", "float16")
N = 1200


def _outcome(namespace: Any, program: Any, dtype: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """What a program gives on one side, and the gradients of its operands."""
    xs = [namespace.tensor(a, dtype=getattr(namespace, dtype), requires_grad=True) for a in arrays]
    out = program(namespace, *xs)
    weights = namespace.tensor(
        np.linspace(0.5, 1, out.numel()).reshape(tuple(out.shape)), dtype=out.dtype
    )
    grads = namespace.autograd.grad(out, xs, weights, allow_unused=True)
    return [x.detach().double().numpy() for x in (out, *grads) if x is not None]


def _both(
    program: Any, dtype: str, *arrays: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What a program gives on both sides."""
    theirs, ours = (_outcome(n, program, dtype, *arrays) for n in (torch, jtorch))
    return theirs, ours


def _rand(*shape: int) -> np.ndarray:
    return np.random.RandomState(len(shape)).rand(*shape)


def _zeros(n: Any) -> Any:
    return n.zeros(N, dtype=n.int64)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("program", "shapes"),
    [
        (lambda n, x, s: x.scatter_add(0, _zeros(n), s), [(2,), (N,)]),
        (
            lambda n, x, s: (
                x.detach().scatter(0, _zeros(n), s.detach(), reduce="add") * s[0] * x[0]
            ),
            [(2,), (N,)],
        ),
        (
            lambda n, x, s: (
                x.detach().scatter(0, _zeros(n), s.detach() * 0 + 0.996, reduce="multiply")
                * s[0]
                * x[0]
            ),
            [(2,), (N,)],
        ),
        (
            lambda n, x, s: x.scatter_add(0, n.zeros(N // 2, 2, dtype=n.int64), s),
            [(3, 2), (N // 2, 2)],
        ),
        (lambda n, x, s: x.scatter_reduce(0, _zeros(n), s, "sum"), [(2,), (N,)]),
        (lambda n, x, s: x.scatter_reduce(0, _zeros(n), s, "mean"), [(2,), (N,)]),
        (
            lambda n, x, s: x.scatter_reduce(0, _zeros(n), s, "mean", include_self=False),
            [(2,), (N,)],
        ),
        (lambda n, x, s: x.scatter_reduce(0, _zeros(n), s * 0 + 0.996, "prod"), [(2,), (N,)]),
        (lambda n, x, s: x.scatter_reduce(0, _zeros(n), s * 0 + 0.5, "amax"), [(2,), (N,)]),
        (lambda n, x, s: x.index_add(0, _zeros(n), s), [(2,), (N,)]),
        (lambda n, x, s: x.index_add(0, _zeros(n), s), [(2, 3), (N, 3)]),
        (lambda n, x, s: x.index_add(1, _zeros(n), s), [(2, 3), (2, N)]),
        (lambda n, x: x.gather(0, _zeros(n)), [(3,)]),
        (lambda n, x: x.gather(1, n.zeros(2, N, dtype=n.int64)), [(2, 3)]),
        (lambda n, x: n.take_along_dim(x, _zeros(n), 0), [(3,)]),
        (lambda n, x: n.take_along_dim(x, n.zeros(N, 1, dtype=n.int64), 0), [(3, 2)]),
        (lambda n, x: x.index_select(0, _zeros(n)), [(3,)]),
        (lambda n, x: x.index_select(0, _zeros(n)), [(3, 2)]),
        (lambda n, x: x.index_select(1, _zeros(n)), [(2, 3)]),
        (lambda n, x: x[_zeros(n)], [(3,)]),
        (lambda n, x: x[_zeros(n)], [(3, 2)]),
    ],
)
def test_what_meets_at_one_place(program: Any, shapes: list[tuple[int, ...]], dtype: str) -> None:
    theirs, ours = _both(program, dtype, *[_rand(*s) for s in shapes])
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize(("shape", "dim"), [((N,), 0), ((N, 2), 0), ((2, N), 1)])
def test_index_reduce_adds_in_half_precision(
    shape: tuple[int, ...], dim: int, mean: bool, dtype: str
) -> None:
    found = []
    for n in (torch, jtorch):
        source = n.tensor(_rand(*shape) if mean else np.full(shape, 1.004), dtype=getattr(n, dtype))
        into = n.ones([2 if d == dim else k for d, k in enumerate(shape)], dtype=source.dtype)
        found.append(
            into.index_reduce(dim, _zeros(n), source, "mean" if mean else "prod").double().numpy()
        )
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("program", "shapes"),
    [
        (lambda n, x, w: n.nn.functional.conv1d(x, w, groups=3), [(2, 3, 700), (3, 1, 300)]),
        (lambda n, x, w: n.nn.functional.conv2d(x, w, stride=2), [(2, 3, 40, 40), (4, 3, 9, 9)]),
        (lambda n, x, w: n.nn.functional.conv_transpose2d(x, w), [(2, 3, 20, 20), (3, 4, 9, 9)]),
        (
            lambda n, x, w: n.nn.functional.conv3d(x, w, padding=1),
            [(1, 2, 9, 9, 9), (3, 2, 5, 5, 5)],
        ),
    ],
)
def test_convolutions_round_once(program: Any, shapes: list[tuple[int, ...]], dtype: str) -> None:
    arrays = [_rand(*s) for s in shapes]
    ours = _outcome(jtorch, program, dtype, *arrays)
    exact = [torch.tensor(a, dtype=getattr(torch, dtype)).double().numpy() for a in arrays]
    wide = _outcome(torch, program, "float64", *exact)  # PyTorch's own in halves can take minutes
    for k, (a, b) in enumerate(zip(wide, ours, strict=True)):
        error = np.abs(a - b).max() / np.abs(a).max()
        assert error < (1 if k == 0 else 2) * 2.0 ** (-8 if dtype == "bfloat16" else -11), k


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_epsilon_of_rms_norm(dtype: str, weighted: bool) -> None:
    def program(n: Any, x: Any, w: Any) -> Any:
        return n.nn.functional.rms_norm(x, (8,), w if weighted else None)

    theirs, ours = _both(program, dtype, 0.01 * _rand(3, 8), _rand(8))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(
            b,
            a,
            rtol=2 * 2.0 ** {"bfloat16": -8, "float16": -10, "float32": -17, "float64": -40}[dtype],
            atol=1e-6,
        )


@pytest.mark.parametrize("dtype", TYPES)
def test_operators_of_rms_norm(dtype: str) -> None:
    seen: list[list[str]] = []
    for n in (torch, jtorch):
        lines: list[str] = []

        class Watch(n.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                out = func(*args, **(kwargs or {}))
                lines.append(f"{func} {out.dtype}")  # noqa: B023 (called in this turn)
                return out

        x, w = (n.ones(shape, dtype=getattr(n, dtype)) for shape in ((2, 8), (8,)))
        with Watch():
            n.nn.functional.rms_norm(x, (8,), w)
        seen.append(lines)
    assert seen[1] == seen[0]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": True}, {"enable_gqa": True}, {"attn_mask": "bool"}, {"attn_mask": "float"}],
    ids=lambda o: "-".join(o) or "plain",
)
def test_attention_keeps_scores_in_single_precision(dtype: str, options: dict[str, Any]) -> None:
    drawn = np.random.RandomState(0)
    sizes = (2, 4, 33, 16), *[(2, 2 if "enable_gqa" in options else 4, 33, 16)] * 2
    arrays = [drawn.randn(*size) for size in sizes]
    mask = drawn.rand(33, 33)

    def program(n: Any, q: Any, k: Any, v: Any) -> Any:
        kind = options.get("attn_mask")
        given = (
            n.tensor(mask > 0.3)
            if kind == "bool"
            else n.tensor(mask, dtype=q.dtype if kind else None)
        )
        return n.nn.functional.scaled_dot_product_attention(
            q, k, v, **(options | ({"attn_mask": given} if kind else {}))
        )

    theirs, mine = _both(program, dtype, *arrays)
    whole, _ = _both(
        program,
        "float64",
        *[np.asarray(torch.tensor(a, dtype=getattr(torch, dtype)).double()) for a in arrays],
    )
    assert np.mean(theirs[0] == mine[0]) > 0.6
    for exact, there, here in zip(whole, theirs, mine, strict=True):
        assert np.square(here - exact).mean() < 1.2 * np.square(there - exact).mean()


@pytest.mark.parametrize(
    "name",
    ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"],
)
def test_convolutions_round_once_with_their_bias(name: str) -> None:
    drawn, n = np.random.RandomState(0), int(name[-2])
    weight = (8, 3, *[3] * n) if "transpose" in name else (6, 4, *[3] * n)
    arrays = [drawn.randn(2, 8, *[7] * n), drawn.randn(*weight), drawn.randn(6)]
    theirs, mine = _both(
        lambda n, x, w, b: getattr(n.nn.functional, name)(x, w, b, groups=2), "bfloat16", *arrays
    )
    assert np.mean(theirs[0] == mine[0]) > 0.99


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("RNN", {}),
        ("RNN", {"nonlinearity": "relu"}),
        ("GRU", {"num_layers": 2}),
        ("LSTM", {}),
        ("LSTM", {"bidirectional": True, "num_layers": 2}),
        ("LSTM", {"bias": False}),
        ("LSTM", {"proj_size": 3}),
    ],
)
@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
def test_recurrent_layers_round_where_torch_does(
    kind: str, options: dict[str, Any], dtype: str
) -> None:
    drawn = np.random.RandomState(0)
    arrays = [drawn.randn(9, 2, 6)]
    arrays += [
        drawn.randn(*p.shape) / 2 for p in getattr(torch.nn, kind)(6, 8, **options).parameters()
    ]

    def program(n: Any, x: Any, *weights: Any) -> Any:
        layer = getattr(n.nn, kind)(6, 8, **options).to(x.dtype)
        names = [name for name, _ in layer.named_parameters()]
        return n.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,))[0]

    theirs, mine = _both(program, dtype, *arrays)
    assert np.mean(theirs[0] == mine[0]) > 0.98
    for a, b in zip(theirs[1:], mine[1:], strict=True):
        assert np.abs(a - b).mean() < (0.02 if dtype == "bfloat16" else 0.0025) * np.abs(a).mean()
