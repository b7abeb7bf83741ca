"""Arguments that PyTorch refuses, or takes, where Python would do otherwise."""

from __future__ import annotations

import pytest

import jtorch as torch

F = torch.nn.functional


def test_clamp_wants_tensors_or_numbers() -> None:
    x = torch.arange(4.0)
    for call in (
        lambda: torch.clamp(x, 1, torch.ones(4)),
        lambda: torch.clamp(x, torch.ones(4), 2),
        lambda: torch.clip(x, 1, torch.ones(4)),
        lambda: x.clamp_(1, torch.ones(4)),
    ):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            call()
    assert torch.clamp(x, 1, torch.tensor(2.0)).tolist() == [1, 1, 2, 2]
    assert (
        torch.clamp(x, torch.ones(4)).tolist()
        == torch.clamp(x, torch.ones(4), x + 1).tolist()
        == [1, 1, 2, 3]
    )


def test_float_power_in_place_wants_double_precision() -> None:
    assert torch.arange(3.0, dtype=torch.float64).float_power_(2).tolist() == [0, 1, 4]
    assert torch.full((1,), 2.0, dtype=torch.complex128).float_power_(
        torch.tensor([2])
    ).tolist() == [4]
    for base, exponent, wanted in (
        (
            torch.ones(2, requires_grad=True),
            2,
            "Float but the operation's result requires dtype Double",
        ),
        (
            torch.ones(2, dtype=torch.int64),
            2,
            "Long but the operation's result requires dtype Double",
        ),
        (
            torch.ones(2, dtype=torch.float64),
            1j,
            "Double but the operation's result requires dtype ComplexDouble",
        ),
    ):
        with pytest.raises(
            RuntimeError, match=f"the base given to float_power_ has dtype {wanted}"
        ):
            base.float_power_(exponent)


@pytest.mark.parametrize("flag", [{}, [], None, 1, "a", 0.5])
def test_flags_of_unique_are_flags(flag: object) -> None:
    x = torch.arange(4.0)
    with pytest.raises(TypeError, match="argument 'sorted' must be bool"):
        torch.unique(x, flag)
    with pytest.raises(TypeError, match="argument 'return_counts' must be bool"):
        torch.unique(x, return_counts=flag)
    with pytest.raises(TypeError, match=r"argument 'return_inverse'.* must be bool"):
        torch.unique_consecutive(x, flag)


def test_type_wants_a_dtype() -> None:
    x = torch.arange(2.0)
    for given in (torch.ones(1), 3, [], torch.device("cpu")):
        with pytest.raises(TypeError, match="dtype must be a type, str, or dtype object"):
            x.type(given)
    with pytest.raises(ValueError, match="invalid type: 'int'"):
        x.type(int)
    assert (
        x.type(torch.int32).dtype is torch.int32
        and x.type("torch.DoubleTensor").dtype is torch.float64
    )


def test_bounds_of_activations_must_fit() -> None:
    x = torch.arange(3.0)
    for call in (
        lambda: F.hardtanh(x.to(torch.int8), -200, 200),
        lambda: F.hardtanh(x.half(), -1e5, 1e5),
        lambda: F.hardshrink(x, 1e39),
        lambda: F.elu(x, 1e39),
        lambda: F.celu(x, 1e39),
    ):
        with pytest.raises(
            RuntimeError, match=r"value cannot be converted to type .* without overflow"
        ):
            call()
    for call in (lambda: F.hardshrink(x, 2**70), lambda: F.hardtanh(x.long(), 0, 2**70)):
        with pytest.raises(OverflowError, match="int too big to convert"):
            call()
    with pytest.raises(
        RuntimeError,
        match=r"lambda must be in range \[0, 3.40282e\+38\] for input dtype Float, but found inf",
    ):
        F.softshrink(x, float("inf"))
    assert F.hardtanh(x, -float("inf"), 1).tolist() == [0, 1, 1] and F.hardshrink(
        x, 1
    ).tolist() == [0, 0, 2]


def test_paddings_of_convolutions_are_counted() -> None:
    for conv in (F.conv1d, F.conv_transpose1d):
        with pytest.raises(
            RuntimeError, match="expected padding to be at most 4611686018427387903"
        ):
            conv(torch.ones(1, 1, 4), torch.ones(1, 1, 2), padding=2**62)


def test_einsum_promotes_where_nothing_is_summed() -> None:
    x = torch.arange(3.0, requires_grad=True)
    made = torch.einsum("i,j->ij", x, torch.ones(2, dtype=torch.float64))
    assert made.dtype is torch.float64
    made.sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [2, 2, 2]
    assert torch.einsum("i,->i", x.detach(), torch.tensor(2)).tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.einsum("i,i->", x, x.double())


def test_results_that_nobody_has_changed_say_so() -> None:
    x = torch.zeros(3, 4)
    assert (
        torch.select_scatter(x, torch.ones(4), 0, 1)._version
        == torch.slice_scatter(x, torch.ones(1, 4), 0, 1, 2)._version
        == 0
    )
    assert (
        torch.diagonal_scatter(x, torch.ones(3))._version
        == torch.as_strided_scatter(x, torch.ones(2), (2,), (1,))._version
        == 0
    )
    assert F.one_hot(torch.arange(3))._version == 2  # torch fills zeros and scatters ones


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {})]
)
def test_states_of_another_shape_are_refused(name: str, options: dict) -> None:
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = getattr(torch.optim, name)([p], lr=0.1, **options)
    p.grad = torch.ones(3)
    optimizer.step()
    state = optimizer.state_dict()
    for key, value in state["state"][0].items():
        if value.dim():
            state["state"][0][key] = torch.ones(5)
    optimizer.load_state_dict(state)
    with pytest.raises(
        RuntimeError,
        match=r"size of tensor a \(5\) must match the size of tensor b \(3\) at non-singleton "
        r"dimension 0",
    ):
        optimizer.step()
