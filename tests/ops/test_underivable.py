"""Arguments with respect to which PyTorch has no derivative, and which it refuses by the call."""

from __future__ import annotations

import pytest

import jtorch

CASES = {
    "nll_loss": lambda t, w: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), w),
    "nll_loss in planes": lambda t, w: t.nn.functional.nll_loss(
        t.ones(1, 4, 2, 2), t.zeros(1, 2, 2, dtype=t.int64), w
    ),
    "cross_entropy": lambda t, w: t.nn.functional.cross_entropy(
        t.ones(3, 4), t.tensor([0, 1, 2]), w, label_smoothing=0.1
    ),
    "cross_entropy of shares": lambda t, w: t.nn.functional.cross_entropy(
        t.ones(3, 4), t.ones(3, 4), w
    ),
    "multi_margin_loss": lambda t, w: t.nn.functional.multi_margin_loss(
        t.ones(3, 4), t.tensor([0, 1, 2]), weight=w
    ),
    "binary_cross_entropy": lambda t, w: t.nn.functional.binary_cross_entropy(
        t.ones(3, 4), t.ones(3, 4), w
    ),
    "binary_cross_entropy of other sizes": lambda t, w: t.nn.functional.binary_cross_entropy(
        t.ones(3), t.ones(2), w
    ),
    "binary_cross_entropy_with_logits": lambda t, w: (
        t.nn.functional.binary_cross_entropy_with_logits(t.ones(3, 4), t.ones(3, 4), w)
    ),
    "its pos_weight": lambda t, w: t.nn.functional.binary_cross_entropy_with_logits(
        t.ones(3, 4), t.ones(3, 4), pos_weight=w[:3]
    ),
    "scores of other sizes": lambda t, w: t.nn.functional.binary_cross_entropy_with_logits(
        t.ones(3), t.ones(2), w
    ),
    "batch_norm": lambda t, w: t.nn.functional.batch_norm(t.ones(3, 4), w, t.ones(4)),
    "batch_norm in training": lambda t, w: t.nn.functional.batch_norm(
        t.ones(3, 4), t.ones(4), w * 1, training=True
    ),
    "batch_norm of other sizes": lambda t, w: t.nn.functional.batch_norm(
        t.ones(3, 3), t.ones(3), w
    ),
    "instance_norm": lambda t, w: t.nn.functional.instance_norm(
        t.ones(3, 4, 5), w, t.ones(4), use_input_stats=False
    ),
    "fake quantisation": lambda t, w: t.fake_quantize_per_tensor_affine(
        t.ones(3), w[0], t.zeros(1, dtype=t.int32), 0, 255
    ),
    "of channels": lambda t, w: t.fake_quantize_per_channel_affine(
        t.ones(4, 3), w, t.zeros(4, dtype=t.int32), 0, 0, 255
    ),
    "of channels with places": lambda t, w: t.fake_quantize_per_channel_affine(
        t.ones(4, 3), t.ones(4), w * 0, 0, 0, 255
    ),
    "fractional_max_pool2d": lambda t, w: t.nn.functional.fractional_max_pool2d(
        t.ones(1, 2, 4, 4), 2, output_size=2, _random_samples=w.reshape(1, 2, 2) / 2
    ),
    "fractional_max_pool3d": lambda t, w: t.nn.functional.fractional_max_pool3d(
        t.ones(1, 1, 4, 4, 4), 2, output_size=2, _random_samples=w[:3].reshape(1, 1, 3) / 2
    ),
    "pinv": lambda t, w: t.linalg.pinv(t.eye(2), atol=w[0] / 8),
    "pinv with a share": lambda t, w: t.linalg.pinv(t.eye(2), rtol=w[0] / 8),
    "singular values of lstsq": lambda t, w: (
        t.linalg.lstsq(w.reshape(2, 2) + t.eye(2), t.eye(2), driver="gelsd").singular_values
    ),
    "soft_margin_loss": lambda t, w: t.nn.functional.soft_margin_loss(t.ones(3, 4), w),
    "an unknown reduction": lambda t, w: t.nn.functional.nll_loss(
        t.ones(3, 4), t.tensor([0, 1, 2]), w, reduction="x"
    ),
    "batches with a history outside": lambda t, w: t.func.vmap(
        lambda v: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), v)
    )(t.stack([w, w])),
    "func.grad": lambda t, w: t.func.grad(
        lambda v: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), v)
    )(w),
}


def _outcome(t, f, recorded: bool) -> tuple[str, ...]:
    w = t.ones(4, requires_grad=True)
    try:
        with t.set_grad_enabled(recorded):
            return "taken", str(f(t, w).requires_grad)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__, str(error)


#: Functions with an operand that nobody knows the derivative of: the call is taken, the derivative
#: refused.
UNKNOWN = {
    "igamma": (lambda t, a, b: t.igamma(a, b)),
    "igammac": (lambda t, a, b: t.igammac(a, b)),
    "special.gammainc": (lambda t, a, b: t.special.gammainc(a, b)),
    "zeta": (lambda t, a, b: t.special.zeta(a, b)),
    "zeta of a number": (lambda t, a, b: t.special.zeta(a, 2.0) * b),
}


def _derived(t, f, way: str) -> tuple[str, ...]:
    a, b = t.tensor([2.0, 3.0], requires_grad=True), t.tensor([1.5, 2.5], requires_grad=True)
    try:
        if way == "forward":
            return ("taken", str(t.func.jvp(lambda v: f(t, v, b), (a.detach(),), (t.ones(2),))))
        if way == "transformed":
            return ("taken", str(t.func.grad(lambda v: f(t, v, b).sum())(a.detach())))
        made = f(t, a.detach() if way == "the other" else a, b)
        made.sum().backward()
        return "taken", str(a.grad), *[f"{x:.4f}" for x in b.grad.tolist()]
    except NotImplementedError as error:
        return type(error).__name__, str(error)


@pytest.mark.parity
@pytest.mark.parametrize("way", ["backward", "the other", "forward", "transformed"])
@pytest.mark.parametrize("case", UNKNOWN)
def test_derivatives_that_nobody_knows_are_refused_as_in_torch(case, way):
    torch = pytest.importorskip("torch")
    assert _derived(jtorch, UNKNOWN[case], way) == _derived(torch, UNKNOWN[case], way)


@pytest.mark.parity
@pytest.mark.parametrize("of_input", [False, True])
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_second_derivatives_by_the_other_operand(name, of_input):
    torch = pytest.importorskip("torch")
    found = []
    for t in (jtorch, torch):
        a, b = (
            t.tensor([2.0, 3.0], requires_grad=of_input),
            t.tensor([1.5, 2.5], requires_grad=True),
        )
        (first,) = t.autograd.grad(getattr(t, name)(a, b).sum(), b, create_graph=True)
        found.append(t.autograd.grad(first.sum(), b)[0].tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-5)


@pytest.mark.parity
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_histories_of_such_arguments_are_refused_as_in_torch(case, recorded):
    torch = pytest.importorskip("torch")
    assert _outcome(jtorch, CASES[case], recorded) == _outcome(torch, CASES[case], recorded)
