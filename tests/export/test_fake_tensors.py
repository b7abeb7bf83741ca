"""Fake tensors: shapes, strides, dtypes and devices without data, sizes that are symbols, and what
asks for data."""

from __future__ import annotations

import copy
import operator

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn
from jtorch._guards import active_fake_mode, detect_fake_mode
from jtorch._src.tensor.shape_env import ConstraintViolation
from jtorch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    is_fake,
    unset_fake_temporarily,
)
from jtorch.fx.experimental.symbolic_shapes import (
    ShapeEnv,
    free_symbols,
    guard_or_false,
    statically_known_true,
)
from jtorch.nn import functional as F


def test_metadata_is_that_of_the_real_tensor() -> None:
    mode = FakeTensorMode()
    real = torch.randn(4, 3, dtype=torch.float64).t()[1:]
    fake = mode.from_tensor(real)
    assert (fake.shape, fake.stride(), fake.dtype, fake.device) == (
        real.shape,
        real.stride(),
        real.dtype,
        real.device,
    )
    assert fake.storage_offset() == real.storage_offset() == 1
    assert mode.from_tensor(real) is fake
    assert is_fake(fake)
    assert not is_fake(real)
    assert repr(fake) == "FakeTensor(..., size=(2, 4), dtype=torch.float64)"


def test_modules_are_made_and_run_without_data() -> None:
    with FakeTensorMode() as mode:
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5)
        )
        out = net(torch.randn(2, 3, 8, 8))
        out.sum().backward()
    assert out.shape == (2, 5)
    assert all(
        isinstance(p, nn.Parameter) and isinstance(p.grad, FakeTensor) and p.grad.shape == p.shape
        for p in net.parameters()
    )
    assert isinstance(copy.deepcopy(net)[0].weight, nn.Parameter)
    assert detect_fake_mode([out]) is mode
    assert active_fake_mode() is None


def test_a_parameter_of_a_real_module_stays_one() -> None:
    mode = FakeTensorMode()
    fake = mode.from_tensor(nn.Linear(2, 3).weight)
    assert isinstance(fake, nn.Parameter)
    assert fake.requires_grad
    assert fake.is_leaf


def test_devices_that_are_not_there_can_be_claimed() -> None:
    with FakeTensorMode():
        x = torch.ones(3, device="cuda")
        assert str(x.device) == "cuda:0"
        assert (x + 1).device == x.device
        assert (x * torch.tensor(2.0)).device == x.device
        assert str(x.to("cpu").device) == "cpu"
        with pytest.raises(FakeTensorDeviceMismatchError, match="cuda:0 and cpu"):
            x + torch.ones(3)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda x: x.sum().item(), DataDependentOutputException),
        (lambda x: bool(x.sum() > 0), DataDependentOutputException),
        (lambda x: x.tolist(), DataDependentOutputException),
        (lambda x: x.nonzero(), DynamicOutputShapeException),
        (lambda x: x.unique(), DynamicOutputShapeException),
        (lambda x: x[x > 0], DynamicOutputShapeException),
    ],
)
def test_what_depends_on_data_raises(ask: object, error: type[Exception]) -> None:
    x = FakeTensorMode().from_tensor(torch.ones(3))
    with pytest.raises(error):
        ask(x)  # type: ignore[operator]


def test_numbers_that_the_program_wrote_down_are_known_until_they_change() -> None:
    with FakeTensorMode():
        two = torch.tensor(2)
        assert two.item() == 2
        assert two.add_(1) is two
        assert (two.item(), int(two * two), bool(two > 2)) == (3, 9, True)
        two.add_(torch.randint(3, ()))
        with pytest.raises(DataDependentOutputException):
            two.item()
        assert torch.div(3, 2).item() == 1.5  # type: ignore[call-overload]


def test_constants_that_share_memory_change_together() -> None:
    with FakeTensorMode():
        x = torch.tensor([1.0])
        y = x[0]
        y.add_(2)
        assert (x.item(), y.item()) == (3.0, 3.0)
        x[:].copy_(torch.rand(1))
        assert x.constant is None
        assert y.constant is None
        x = torch.tensor([1])
        x.expand([4])[0] = 2
        assert x.constant is None


def test_of_several_numbers_none_is_known() -> None:
    with FakeTensorMode():
        x = torch.tensor([1.0, 2.0])
        with pytest.raises(DataDependentOutputException):
            x.sum().item()
        assert torch.rand_like(torch.tensor([0.5])).constant is None


def test_views_share_memory() -> None:
    mode = FakeTensorMode()
    real = torch.rand(3, 4)
    row = real[1]
    x, fake_row = mode.from_tensor(real), mode.from_tensor(row)
    place = x.untyped_storage()._cdata
    assert fake_row.untyped_storage()._cdata == place
    with mode:
        assert x[1]._base is x
        assert [t.untyped_storage()._cdata == place for t in (x[1], x.t(), x.detach(), x + 1)] == [
            True,
            True,
            True,
            False,
        ]
        grown = torch.empty(2)
        place = grown.untyped_storage()._cdata
        grown.resize_(4)
        assert (grown.untyped_storage()._cdata, grown.untyped_storage().nbytes()) == (place, 16)


def test_copies_of_real_tensors_may_be_fake() -> None:
    mode = FakeTensorMode()
    net = nn.BatchNorm2d(3)
    with FakeCopyMode(mode):
        made = copy.deepcopy(net)
        assert isinstance(torch.ones(2).clone(), FakeTensor)
    assert all(isinstance(t, FakeTensor) for t in (*made.parameters(), *made.buffers()))
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in made.parameters())
    assert type(net.weight) is nn.Parameter


def test_real_tensors_are_refused_unless_allowed() -> None:
    x = FakeTensorMode().from_tensor(torch.ones(3))
    with pytest.raises(
        AssertionError,
        match=r"Please convert all Tensors to FakeTensors first .* Found in aten.add.Tensor",
    ):
        x + torch.ones(3)
    assert (
        FakeTensorMode(allow_non_fake_inputs=True).from_tensor(torch.ones(3)) + torch.ones(3)
    ).shape == (3,)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        x + FakeTensorMode().from_tensor(torch.ones(3))


def test_errors_of_shapes_are_the_usual_ones() -> None:
    with FakeTensorMode(), pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.ones(3, 4) @ torch.ones(3, 4)


def test_changes_of_shape_in_place_are_seen() -> None:
    with FakeTensorMode():
        x = torch.ones(3, 4)
        x.t_()
        assert x.shape == (4, 3)
        assert x.stride() == (1, 4)
        x.unsqueeze_(0)
        assert x.shape == (1, 4, 3)


def test_the_mode_can_be_left_for_a_while() -> None:
    with FakeTensorMode() as mode:
        with unset_fake_temporarily() as left:
            assert left is mode
            assert torch.tensor(3.0).sum().item() == 3
        assert isinstance(torch.ones(1), FakeTensor)


# ---- symbols -------------------------------------------------------------------------------------


def _symbolic(strict: bool = True) -> tuple[FakeTensorMode, ShapeEnv]:
    env = ShapeEnv({"b": (3, 2, None), "t": (5, 2, 64)}, strict=strict)
    return FakeTensorMode(shape_env=env), env


def _fake(mode: FakeTensorMode, *sizes: object, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    env = mode.shape_env
    assert env is not None
    wanted = [env.symbol(s) if isinstance(s, str) else s for s in sizes]
    with unset_fake_temporarily():
        real = torch.zeros([getattr(s, "hint", s) for s in wanted], dtype=dtype)
    return mode.from_tensor(real, symbolic_context=wanted)


CASES = {
    "linear": (lambda x: F.linear(x("b", 8), x(4, 8), x(4)), "[b, 4]"),
    "conv2d": (lambda x: F.conv2d(x("b", 3, 16, 16), x(5, 3, 3, 3), stride=2), "[b, 5, 7, 7]"),
    "conv1d": (lambda x: F.conv1d(x("b", 3, "t"), x(5, 3, 3), padding=1), "[b, 5, t]"),
    "max_pool1d": (lambda x: F.max_pool1d(x("b", 3, "t"), 2), "[b, 3, ((t - 2)//2) + 1]"),
    "batch_norm": (lambda x: F.batch_norm(x("b", 3, 4), x(3), x(3), training=True), "[b, 3, 4]"),
    "attention": (
        lambda x: F.scaled_dot_product_attention(
            x("b", 2, "t", 4), x("b", 2, "t", 4), x("b", 2, "t", 4)
        ),
        "[b, 2, t, 4]",
    ),
    "embedding": (lambda x: F.embedding(x("b", "t", dtype=torch.int64), x(10, 4)), "[b, t, 4]"),
    "cross_entropy": (lambda x: F.cross_entropy(x("b", 4), x("b", dtype=torch.int64)), "[]"),
    "layer_norm": (lambda x: F.layer_norm(x("b", "t", 8), (8,)), "[b, t, 8]"),
    "softmax": (lambda x: x("b", "t").softmax(-1), "[b, t]"),
    "matmul": (lambda x: x("b", "t", 4) @ x("b", 4, "t"), "[b, t, t]"),
    "flatten": (lambda x: x("b", 3, 4).flatten(1), "[b, 12]"),
    "view": (lambda x: x("b", "t", 8).view(-1, 8), "[b*t, 8]"),
    "view of size": (
        lambda x: (lambda y: y.view(y.size(0), y.size(1), 2, -1))(x("b", "t", 8)),
        "[b, t, 2, 4]",
    ),
    "cat": (lambda x: torch.cat([x("b", 4), x(1, 4), x("b", 4)]), "[2*b + 1, 4]"),
    "slice": (lambda x: x("b", "t")[1:, :-1], "[b - 1, t - 1]"),
    "slice by size": (
        lambda x: (lambda y: y[: y.shape[1] // 2])(x("b", "t")),
        "[Min((t//2), b), t]",
    ),
    "chunk": (lambda x: x("b", 8).chunk(2, 1)[1], "[b, 4]"),
    "arange": (lambda x: torch.arange(x("b", "t").shape[1]) + x("b", 1), "[b, t]"),
    "zeros": (lambda x: torch.zeros(x("b", 1).shape[0] + 1, 2), "[b + 1, 2]"),
    "expand": (lambda x: x(1, 8).expand(x("b", 1).shape[0], -1), "[b, 8]"),
    "std": (lambda x: x("b", 8).std(0), "[8]"),
    "mean": (lambda x: x("b", "t", 8).mean((0, 1)), "[8]"),
    "topk": (lambda x: x("b", 8).topk(2)[0], "[b, 2]"),
    "cumsum": (lambda x: x("b", 8).cumsum(0), "[b, 8]"),
    "tril": (lambda x: torch.tril(x("t", "t")), "[t, t]"),
    "dropout": (lambda x: F.dropout(x("b", 8)), "[b, 8]"),
    "masked_fill": (lambda x: x("b", "t").masked_fill(x("b", "t") > 0, 0.0), "[b, t]"),
    "gather": (lambda x: x("b", 8).gather(1, x("b", 2, dtype=torch.int64)), "[b, 2]"),
    "einsum": (lambda x: torch.einsum("bi,oi->bo", x("b", 8), x(4, 8)), "[b, 4]"),
    "scalar": (lambda x: x("b", 8) * x("b", 8).shape[0], "[b, 8]"),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes_stay_symbols(name: str) -> None:
    mode, env = _symbolic()
    run, wanted = CASES[name]
    with mode:
        out = run(lambda *s, **k: _fake(mode, *s, **k))
    assert str(list(out.shape)) == wanted
    assert env.guards == []


def test_derivatives_have_symbolic_sizes() -> None:
    mode, _ = _symbolic()
    with mode:
        x = _fake(mode, "b", 8).requires_grad_()
        w = _fake(mode, 4, 8).requires_grad_()
        F.linear(x, w).relu().sum().backward()
    assert str(list(x.grad.shape)) == "[b, 8]"
    assert w.grad.shape == (4, 8)


def test_sizes_compute_and_compare() -> None:
    _, env = _symbolic()
    b, t = env.symbol("b"), env.symbol("t")
    assert isinstance(b, torch.SymInt)
    assert not isinstance(b, int)
    assert str(2 * b + t // 2 - 1) == "(t//2) + 2*b - 1"
    assert (2 * b + t // 2).hint == 8
    assert b - b == 0
    assert (b * t) // t == b
    assert bool(b != 0)
    assert bool(b >= 2)
    assert not bool(t > 64)
    assert statically_known_true(b > 1)
    assert not statically_known_true(b > 2)
    assert guard_or_false(b == 3) is False
    assert free_symbols(b * t) == {"b", "t"}
    assert env.guards == []


@pytest.mark.parametrize(
    "decide",
    [
        lambda b: bool(b > 3),
        int,
        lambda b: bool(b == 3),
        lambda b: list(range(b)),
        lambda b: b.__index__(),
    ],
)
def test_deciding_by_a_size_is_refused_or_noted(decide: object) -> None:
    _, strict = _symbolic()
    with pytest.raises(ConstraintViolation, match="Constraints violated"):
        decide(strict.symbol("b"))  # type: ignore[operator]
    _, env = _symbolic(strict=False)
    decide(env.symbol("b"))  # type: ignore[operator]
    (guard,) = env.guards
    assert guard.expr({"b": 3, "t": 5})
    assert not guard.expr({"b": 8, "t": 5})


def test_floats_of_sizes_are_answered_from_the_example() -> None:
    _, env = _symbolic(strict=False)
    half = env.symbol("b") / 2
    assert isinstance(half, torch.SymFloat) and str(half) == "b/2" and env.guards == []
    assert half == env.hints["b"] / 2
    assert [str(g) for g in env.guards] == [f"b == {env.hints['b']}"]


def test_sizes_of_0_and_1_stay_numbers_and_equal_ones_share_a_symbol() -> None:
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(torch.zeros(3, 1, 4).transpose(0, 2))
    assert str(list(x.shape)) == "[s0, 1, s1]"
    assert str(list(x.stride())) == "[1, s0, s0]"
    y = mode.from_tensor(torch.zeros(3, 4))
    assert str(list((y @ x[:, 0]).shape)) == "[s1, s1]"
    assert env.guards == []


def test_a_kernel_that_must_know_a_size_gets_the_examples() -> None:
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(torch.zeros(6))
    assert [p.shape[0] for p in x.split(2)] == [2, 2, 2]
    assert env.guards
    assert all(g.expr({"s0": 6}) for g in env.guards)
    assert not all(g.expr({"s0": 7}) for g in env.guards)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_optimisers_update_fake_parameters(kind: type[torch.optim.Optimizer]) -> None:
    with FakeTensorMode():
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = kind(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.randn(2, 3)).sum().backward()
            optimizer.step()
        kept = optimizer.state_dict()
        optimizer.load_state_dict(kept)
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
    averages = [s["exp_avg"] for s in optimizer.state.values() if "exp_avg" in s]
    assert all(isinstance(a, FakeTensor) for a in averages) and len(averages) == (
        0 if kind is torch.optim.SGD else 4
    )


def test_numbers_in_indices_are_constants() -> None:
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.randn(3, 4))
        for index in ([0, 1], np.array([0, 1]), range(2)):
            assert tuple(x[index].shape) == (2, 4)
            assert tuple(x[:, index].shape) == (3, 2)
        x[[0, 1]] = 1.0
        assert torch.logdet(mode.from_tensor(torch.eye(2))).shape == ()


def test_masks_that_are_written_to_decide_no_size() -> None:
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.randn(4, 3).t())
        x[x > 0] = 1.0
        assert tuple(x.index_put((x > 0,), torch.ones(())).shape) == (3, 4)
        assert x.index_put((x > 0,), torch.ones(())).stride() == (1, 3)


def test_sizes_beside_floats_and_bits_of_sizes():
    env = ShapeEnv()
    (n,) = FakeTensorMode(shape_env=env).from_tensor(torch.ones(5)).shape
    assert bool(n == 5.0) and not bool(n != 5.0) and not bool(n == 5.5) and bool(n != 5.5)
    for other in (4.5, 5.0, 5.5, float("inf"), float("-inf"), float("nan")):
        for sign in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            assert bool(sign(n, other)) is sign(5, other)
            assert bool(sign(other, n)) is sign(other, 5)
    assert [int(m) for m in (n | 8, 2 | n, n ^ 1, 3 ^ n)] == [5 | 8, 2 | 5, 5 ^ 1, 3 ^ 5]
