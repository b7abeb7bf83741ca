"""Corners that further calls drawn at random showed: values, dtypes, strides, what is refused and
in which words."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

NORMS = [
    "t.renorm(t.tensor([[-2.25, 0.0, -2.75]]), 300, 1, 1e10)",
    "t.renorm(t.tensor([[-2.25, 0.0, 3.0]], dtype=t.bfloat16), 300, 1, 2.5)",
    "t.renorm(t.tensor([[[1e30]], [[-2e30]]]), 2, 0, 1.5e30)",
    "t.renorm(t.tensor([[-2.25], [3.0]]), float('inf'), 0, 2.5)",
    "t.tensor([[3 + 4j], [0j]]).renorm_(300, 0, 2.5)",
]
NORM_DTYPES = [
    *(
        f"t.linalg.matrix_norm(t.eye(2, dtype=t.complex64), {order}, dtype=t.float64)"
        for order in ("'fro'", "'nuc'", 2, 1)
    ),
    "t.linalg.norm(t.eye(2, dtype=t.float64), 'nuc', dtype=t.complex128)",
    "t.linalg.matrix_norm(t.eye(2, dtype=t.float64), dtype=t.float32)",
    "t.linalg.matrix_norm(t.eye(2, dtype=t.float64), dtype=t.int32)",
    "t.linalg.matrix_norm(t.eye(2, dtype=t.float16), 2, dtype=t.float64)",
    "t.linalg.matrix_norm(t.eye(2, dtype=t.float16), 1, dtype=t.bfloat16)",
    "t.linalg.matrix_norm(t.eye(2), dtype=t.float64)",
    "t.linalg.vector_norm(t.eye(2, dtype=t.float64), dtype=t.float32)",
]
MARGINS = [
    "F.soft_margin_loss(t.zeros(3), t.ones(3, dtype=t.float64), reduction='sum').round(decimals=4)",
    (
        "F.soft_margin_loss(t.zeros(3, dtype=t.complex64), t.ones(3, dtype=t.float64), "
        "reduction='none').real.round(decimals=4)"
    ),
    (
        "F.soft_margin_loss(t.tensor([0.0, 1.0, 1.0], dtype=t.float16), t.tensor([70000.0, 1e6, "
        "-1e6]), reduction='none')"
    ),
    "F.soft_margin_loss(t.zeros(3, dtype=t.float64), t.ones(3, dtype=t.uint8)).round(decimals=4)",
    "F.soft_margin_loss(t.zeros(3, dtype=t.float64), t.ones(3, dtype=t.bool)).round(decimals=4)",
    "F.soft_margin_loss(t.ones(3), t.ones(3, dtype=t.complex64))",
    "F.soft_margin_loss(t.ones(3, dtype=t.int64), t.ones(3))",
    "F.soft_margin_loss(t.ones(3, dtype=t.bool), t.ones(3))",
]
WEIGHTS = [
    "F.binary_cross_entropy_with_logits(X, X, weight=W)",
    "F.binary_cross_entropy_with_logits(X, X, pos_weight=W, reduction='none')",
    "F.binary_cross_entropy_with_logits(X, X.double(), weight=X.detach())",
    "F.binary_cross_entropy_with_logits(X.double(), X, pos_weight=W)",
    "F.binary_cross_entropy_with_logits(X.half(), X, weight=W, reduction='none')",
    "F.binary_cross_entropy_with_logits(X, X, weight=W.to(t.complex64))",
    "F.binary_cross_entropy_with_logits(X, X, pos_weight=W.to(t.complex64))",
    "F.binary_cross_entropy_with_logits(X, X.long())",
    "F.binary_cross_entropy_with_logits(X.long(), X)",
    "F.binary_cross_entropy(X.sigmoid(), X, weight=W)",
    "F.binary_cross_entropy(X.sigmoid(), X, weight=W.long(), reduction='none')",
    "F.binary_cross_entropy(X.sigmoid(), X, weight=W.to(t.complex64))",
    "F.binary_cross_entropy(X.sigmoid(), X.double(), weight=W)",
    "F.cross_entropy(X, X, weight=W)",
    "F.cross_entropy(X, X, weight=W, label_smoothing=0.5, reduction='none')",
    "F.cross_entropy(X.half(), X.half(), weight=W.float(), reduction='sum')",
    "F.cross_entropy(X, t.tensor([1, 2]), weight=W)",
    "F.nll_loss(X, t.tensor([1, 2]), weight=W)",
]
IN_PLACE = [
    *(
        f"t.tensor([1, 100, 200], dtype=t.{kind}).{name}(0)"
        for kind in ("uint8", "int32", "float32")
        for name in ("cumsum_", "cumprod_")
    ),
    "t.tensor([True, False]).cumsum_(0)",
    "t.tensor([True, False]).cumprod_(0)",
    "t.tensor([], dtype=t.bool).cumsum_(0)",
    "t.tensor(True).cumsum_(0)",
    "t.tensor([True, True]).cumsum_(0, dtype=t.int64)",
    "t.tensor([1.0, 2.0]).cumsum_(0, dtype=t.int64)",
    "t.tensor([1, 2]).cumsum_(0, dtype=t.float32)",
    "t.tensor([1, 2], dtype=t.int32).cumprod_(0, dtype=t.complex64)",
    "t.tensor([1, 2], dtype=t.int32).cumprod_(0, dtype=t.int32)",
]
DISTINCT = [
    *(
        f"t.{name}(t.tensor(3), dim={dim})"
        for name in ("unique", "unique_consecutive")
        for dim in (0, -1, 1)
    ),
    *(
        f"t.{name}({x}, dim={dim})"
        for name in ("unique", "unique_consecutive")
        for x in (
            "t.arange(24.0).reshape(2, 3, 4)",
            "t.zeros(2, 3, 4)",
            "t.ones(2, 3, 4).permute(2, 0, 1)",
        )
        for dim in (0, 1, -1)
    ),
    "t.unique(t.zeros(2, 3), dim=1)",
    "t.unique(t.zeros(2, 0), dim=1)",
]
COMPLEX = [
    "t.unique(t.ones(2, 3, dtype=t.complex64), dim=0)",
    "t.unique(t.ones(2, 3, dtype=t.complex64))",
    "t.unique_consecutive(t.ones(2, 3, dtype=t.complex128), dim=1)",
    "t.unique_consecutive(t.ones(2, 3, dtype=t.complex128))",
    "t.searchsorted(t.tensor([0, 1]), t.ones(2, dtype=t.complex64))",
    "t.searchsorted(t.tensor([0.0, 1.0], dtype=t.float64), t.ones(2, dtype=t.complex64))",
    "t.searchsorted(t.tensor([0j, 1.0]), t.ones(2))",
    "t.bucketize(t.ones(2, dtype=t.complex128), t.tensor([0.0, 1.0]))",
]
BLOCKS = [
    "t.block_diag(t.tensor(2.5, dtype=t.float64), t.ones(2, 2))",
    "t.block_diag(t.tensor(2.5), t.ones(2, 2, dtype=t.int8))",
    "t.block_diag(t.tensor(2.5), t.tensor(1, dtype=t.float16))",
    "t.block_diag(t.tensor([2.5], dtype=t.float64), t.ones(2, 2))",
    "t.block_diag(t.tensor(5, dtype=t.int64), t.tensor([True]))",
]
WHOLE = [
    *(
        f"t.ones(3, requires_grad=True).{name}(0, dtype=t.int32)"
        for name in ("sum", "prod", "cumsum", "cumprod", "nansum")
    ),
    "t.sum(t.ones(3, requires_grad=True), dtype=t.bool)",
    "t.ones(3, requires_grad=True).prod(dtype=t.int64)",
    "t.ones(3, requires_grad=True).detach().sum(dtype=t.int64)",
    "t.ones(3, requires_grad=True).argmax()",
    "t.ones(3, requires_grad=True).count_nonzero()",
    "t.ones(3, requires_grad=True).all()",
]
BOUNDS = [
    "F.hardtanh_(t.tensor([-2.0, 0.5, 3.0]), 1, 0)",
    "F.hardtanh_(t.tensor([-2, 0, 3]), 3, 2)",
    "F.hardtanh_(t.tensor([-2.0, 0.5]), 1, float('nan'))",
    "F.hardtanh(t.tensor([-2.0, 0.5, 3.0]), 1, 0)",
    "F.hardtanh(t.tensor([-2.0, 0.5, 3.0]), max_val=-2)",
    "F.hardtanh(t.tensor([-2.0, 0.5, 3.0]), 1, 0, inplace=True)",
    "F.hardtanh(t.tensor([-2.0, 0.5, 3.0]), 1, 2, inplace=True)",
    "t.clamp_(t.tensor([-2.0, 0.5, 3.0]), 1, 0)",
    "t.func.vmap(lambda v: F.hardtanh_(v, 1, 0))(t.tensor([-2.0, 0.5, 3.0]))",
]
POINTS = [
    "t.trapezoid(t.ones(3), dx=True)",
    "t.cumulative_trapezoid(t.ones(3), dx=True)",
    "t.trapezoid(t.ones(3), dx=1j)",
    "t.special.zeta(t.tensor([float('nan')]), -0.0)",
    "t.special.zeta(float('nan'), t.tensor([-1.0, 0.0, -1.5, 2.0]))",
    "t.special.zeta(t.tensor([float('inf'), 1.5, 1.0, 0.5]), t.tensor([-1.0, 0.0, -1.5, 2.0]))",
]


def _outcome(t: Any, call: str) -> tuple[str, ...]:
    try:
        made = eval(call, {"t": t, "F": t.nn.functional})
    except (RuntimeError, NotImplementedError, IndexError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    return (
        str(made.dtype).split(".")[1],
        str(tuple(made.shape)),
        str(made.stride()),
        str(made.tolist()),
        str(made.requires_grad),
    )


@pytest.mark.parametrize(
    "call",
    NORMS
    + IN_PLACE
    + DISTINCT
    + BLOCKS
    + WHOLE
    + POINTS
    + BOUNDS
    + NORM_DTYPES
    + MARGINS
    + COMPLEX,
)
def test_call(call: str) -> None:
    assert _outcome(jtorch, call) == _outcome(torch, call)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3])
def test_gradient_of_renorm_at_zero(p: float) -> None:
    found = []
    for t in (torch, jtorch):
        x = t.tensor([[0.0, 1.0, 4.0], [0.0, 0.0, 0.0]], dtype=t.float64, requires_grad=True)
        (t.renorm(x, p, 0, 1.0) * t.tensor([1.0, 3.0, -2.0])).sum().backward()
        found.append(x.grad.flatten().tolist())
    assert found[1] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("call", WEIGHTS)
def test_weights_of_other_dtypes(call: str) -> None:
    found: list[Any] = []
    for t in (torch, jtorch):
        x = t.tensor([[0.0, 0.25, 1.0], [0.5, 0.75, 0.0]], requires_grad=True)
        names = {
            "t": t,
            "F": t.nn.functional,
            "X": x,
            "W": t.tensor([1.0, 2.0, 3.0], dtype=t.float64),
        }
        try:
            made = eval(call, names)
        except (RuntimeError, NotImplementedError) as error:
            found.append((type(error).__name__, str(error)))
            continue
        made.sum().backward()
        found.append(
            (str(made.dtype).split(".")[1], pytest.approx(made.flatten().tolist(), rel=3e-3))
        )
        found.append(
            (
                str(x.grad.dtype).split(".")[1],
                pytest.approx(x.grad.flatten().tolist(), rel=3e-3, abs=1e-3),
            )
        )
    half = len(found) // 2
    assert [name for name, _ in found[half:]] == [name for name, _ in found[:half]]
    for (_, mine), (_, theirs) in zip(found[half:], found[:half], strict=True):
        assert mine == theirs if isinstance(theirs, str) else mine.expected == theirs


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nodes_of_weighted_losses(name: str, reduction: str) -> None:
    found = []
    for t in (torch, jtorch):
        x = t.ones(2, requires_grad=True)
        made = getattr(t.nn.functional, name)(x, t.ones(2), weight=t.ones(2), reduction=reduction)
        found.append(made.grad_fn.name())
    assert found[1] == found[0]
