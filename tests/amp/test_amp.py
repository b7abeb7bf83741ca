"""``autocast`` and ``GradScaler``."""

from __future__ import annotations

import pickle

import pytest

import jtorch as torch

HALF = torch.bfloat16


def test_functions_choose_their_precision():
    x = torch.ones(3, 3)
    with torch.autocast("cpu"):
        assert (
            (x @ x).dtype
            is torch.mm(x, x).dtype
            is x.matmul(x).dtype
            is torch.nn.Linear(3, 2)(x).dtype
            is HALF
        )
        assert x.exp().dtype is torch.float32
        assert torch.nn.functional.mse_loss(x.to(HALF), x.to(HALF)).dtype is torch.float32
        assert torch.cat([x, x.to(HALF)]).dtype is torch.float32
        assert torch.mm(x.double(), x.double()).dtype is torch.float64
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
        assert torch.is_autocast_enabled("cpu")
    assert (x @ x).dtype is torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_functions_made_of_others_cast_inside():
    attention = torch.nn.MultiheadAttention(4, 2)
    x = torch.ones(3, 4)
    with torch.autocast("cpu", dtype=torch.float16):
        assert attention(x, x, x)[0].dtype is torch.float16


def test_gradients_have_the_parameters_dtype():
    layer = torch.nn.Linear(2, 1)

    @torch.autocast("cpu")
    def run():
        return layer(torch.ones(1, 2))

    run().float().sum().backward()
    assert layer.weight.grad.dtype is torch.float32


def test_unknown_device_types():
    with pytest.raises(
        RuntimeError,
        match=r"Expected one of cpu, cuda, .* device type at start of device string: toaster",
    ):
        torch.autocast("toaster")
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        assert not torch.autocast("cpu", dtype=torch.float32)._enabled


def test_scaler_skips_and_adapts():
    w = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    scales, weights = [], []
    for factor in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        weights.append(w.item())
    assert scales == [4, 8, 4, 4]
    assert weights == [0, -1, -1, -2]
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_scaler_refuses_two_steps():
    w = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.item() == 1
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)


def test_recurrent_modules_take_the_lower_precision():
    x = torch.ones(3, 1, 2)
    for made in (torch.nn.LSTM(2, 2), torch.nn.GRU(2, 2), torch.nn.RNN(2, 2)):
        with torch.autocast("cpu"):
            assert made(x.bfloat16())[0].dtype is torch.bfloat16
    for made in (torch.nn.LSTMCell(2, 2), torch.nn.GRUCell(2, 2), torch.nn.RNNCell(2, 2)):
        with torch.autocast("cpu"):
            of_half = made(x[0].bfloat16())
        assert (of_half[0] if isinstance(of_half, tuple) else of_half).dtype is torch.bfloat16
    # the state decides, as nothing but products is in the lower precision
    with torch.autocast("cpu"):
        assert (
            torch.nn.LSTMCell(2, 2)(x[0])[1].dtype
            is torch.nn.GRUCell(2, 2)(x[0]).dtype
            is torch.float32
        )


def test_products_of_vectors_keep_their_precision():
    a = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert torch.inner(a[0], a[0]).dtype is torch.float32
        assert torch.inner(a, a).dtype is torch.bfloat16
        assert torch.cov(a).dtype is torch.linalg.pinv(a).dtype is torch.bfloat16


def test_optimisers_that_scale_themselves():
    seen = []

    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    weight = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = Own([weight], 0.1), torch.amp.GradScaler("cpu", init_scale=4.0)
    for factor in (1.0, float("inf")):
        weight.grad = None
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert seen == [(4.0, 0.0), (4.0, 1.0)]
    assert not hasattr(optimizer, "grad_scale")
    assert scaler.get_scale() == 2.0


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("kind", [torch.nn.Parameter, type("Own", (torch.nn.Parameter,), {})])
def test_fused_steps_divide_by_the_scale_and_leave_the_gradients_so(make, kind):
    """Also those of parameters that no operation on lists takes."""
    weights = [kind(torch.ones(2)) for _ in "ab"]
    optimizer, other = make(weights[:1], lr=0.1, fused=True), make(weights[1:], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for factor in (1.0, float("inf")):
        for w, scale in zip(weights, (4, 1), strict=True):
            w.grad = torch.full_like(w, scale * factor)
        gradient = weights[0].grad
        scaler.scale(torch.ones(()))
        scaler.step(optimizer)
        scaler.update()
        if factor == 1:
            other.step()
            assert weights[0].grad is gradient and torch.equal(gradient, weights[1].grad)
    assert torch.equal(*weights) and scaler.get_scale() == 2.0


def test_scalers_travel_between_steps():
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], 0.1)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(
        AssertionError, match="may only be pickled at the beginning of an iteration"
    ):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    scaler.update()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()


def test_old_names():
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"), torch.cpu.amp.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16


def test_scales_of_scalers_that_libraries_wrote():
    found, inverse = torch.zeros(1), torch.tensor(0.5)
    grads = [torch.tensor([2.0, 4.0]), torch.tensor([1.0, 3.0], dtype=torch.float16)]
    assert torch._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse) is None
    assert (
        [g.tolist() for g in grads] == [[1, 2], [0.5, 1.5]]
        and found.item() == 0
        and grads[1].dtype is torch.float16
    )
    torch._amp_foreach_non_finite_check_and_unscale_(
        [torch.tensor([1.0, float("inf")])], found, inverse
    )
    assert found.item() == 1
    for wrong, words in (
        ((torch.zeros(2), inverse), "found_inf must be a 1-element"),
        ((found, inverse.double()), "inv_scale must be a float"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch._amp_foreach_non_finite_check_and_unscale_(grads, *wrong)
    with pytest.raises(NotImplementedError, match="'Long'"):
        torch._amp_foreach_non_finite_check_and_unscale_(
            [torch.ones(2, dtype=torch.int64)], found, inverse
        )

    scale, steps = torch.tensor(4.0), torch.tensor(0, dtype=torch.int32)
    seen = []
    for overflow in (0.0, 0.0, 1.0):
        assert torch._amp_update_scale_(scale, steps, torch.tensor(overflow), 2.0, 0.5, 2) is scale
        seen.append((scale.item(), steps.item()))
    assert seen == [(4, 1), (8, 0), (4, 0)]
    scale.fill_(3e38)
    torch._amp_update_scale_(scale, steps, torch.tensor(0.0), 2.0, 0.5, 1)
    # what would be infinite stays
    assert scale.item() == torch.tensor(3e38).item() and steps.item() == 0
    with pytest.raises(RuntimeError, match="growth_tracker must be an int tensor"):
        torch._amp_update_scale_(scale, steps.long(), torch.tensor(0.0), 2.0, 0.5, 1)


def test_types_of_devices_that_autocast_knows():
    assert all(torch.amp.is_autocast_available(kind) for kind in ("cpu", "cpu:0", "cuda:1", "ipu"))
    assert not torch.amp.is_autocast_available("meta")
    for wrong, kind, words in (("not a real device", RuntimeError, "Invalid device string"),
                               ("bad", RuntimeError, "Expected one of cpu, "),
                               (None, TypeError, "must be str, not NoneType")):  # fmt: skip
        with pytest.raises(kind, match=words):
            torch.amp.is_autocast_available(wrong)
