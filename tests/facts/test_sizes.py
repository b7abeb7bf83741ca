"""Sizes and numbers that no tensor can have: refused when they are asked for, in torch's words, and
never by the end of the process."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import intervals, limits, stats, values
from jtorch.nn import functional as F

OVERFLOWED = r"^Storage size calculation overflowed with sizes=\["
NO_MEMORY = (
    r"DefaultCPUAllocator: can't allocate memory: you tried to allocate \d+ bytes. Error code 12 "
    r"\(Cannot allocate memory\)"
)
HUGE = 2**40
x = torch.zeros(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(HUGE, HUGE), lambda: torch.empty(HUGE, HUGE),
        lambda: torch.full((HUGE, HUGE), 1.0), lambda: torch.rand(HUGE, HUGE),
        lambda: torch.randint(5, (HUGE, HUGE)), lambda: torch.arange(2**62),
        lambda: torch.linspace(0, 1, 2**62), lambda: torch.tril_indices(2**31, 2**31),
        lambda: torch.randperm(2**62), lambda: torch.hann_window(2**62),
        lambda: x.repeat(HUGE, HUGE),
        lambda: x.new_zeros(HUGE, HUGE), lambda: torch.nn.Linear(HUGE, HUGE),
        lambda: F.pad(x, (2**62, 0)), lambda: torch.fft.fft(x, n=2**62),
        lambda: F.one_hot(torch.tensor([2**62])), lambda: torch.diag(x, 2**62),
        lambda: torch.multinomial(torch.ones(3), 2**62, True),
        lambda: torch.zeros(HUGE, HUGE, device="meta"),
        lambda: torch.rand(HUGE, HUGE, device="meta"),
        lambda: torch.cat([torch.zeros(2**60, device="meta")] * 4),
        lambda: torch.zeros(2**62, 2**62, 0),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_is_refused(call):
    with pytest.raises(RuntimeError, match=OVERFLOWED):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(2**62, 0), lambda: torch.empty(2**63 - 1, 0).tolist(),
        lambda: torch.zeros(1, 0).expand(2**62, 0) + 1,
        lambda: torch.nonzero_static(torch.tensor(1.0), size=2**62),
        lambda: torch.zeros(2**40, 0, 2**40),
    ],
)  # fmt: skip
def test_empty_tensors_that_no_array_can_be_are_refused(call):
    with pytest.raises(NotImplementedError, match=r"an empty tensor of sizes .* is not offered"):
        call()


def test_empty_tensors_of_many_rows():
    assert torch.zeros(2**40, 0).exp().shape == (2**40, 0)
    assert torch.zeros(2**62, 0, device="meta").exp().shape == (2**62, 0)


def test_what_is_repeated_is_looked_at_once():
    assert intervals.of_array(np.broadcast_to(np.int64(3), (1 << 40, 2)), None) == (3, 3)


def test_windows_and_degrees_beyond_everything():
    x = torch.ones(1, 2, 1)
    assert torch.equal(F.local_response_norm(x, 2**40, beta=1.0), x)
    high = torch.special.shifted_chebyshev_polynomial_t(torch.tensor([3.0, -1.0]), 2**31)
    assert high.isnan().all()  # the recurrence has nothing else after some hundred degrees
    # of a degree below zero, as for PyTorch
    assert torch.special.laguerre_polynomial_l(torch.tensor([0.5]), 2**63 - 1).item() == 0


def test_strides_of_empty_tensors_must_be_countable_too():
    with pytest.raises(RuntimeError, match=r"^Stride calculation overflowed$"):
        torch.zeros(0, 2**62, 2**62)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(HUGE), lambda: torch.empty(2**60, dtype=torch.uint8),
        lambda: torch.rand(HUGE), lambda: torch.arange(HUGE), lambda: torch.eye(2**20),
        lambda: torch.tril_indices(2**20, 2**20), lambda: torch.randperm(HUGE),
        lambda: torch.kaiser_window(HUGE), lambda: x.expand(HUGE, 3).clone(),
        lambda: x.expand(HUGE, 3) + 1, lambda: torch.zeros(2**20, 1) + torch.zeros(2**20),
        lambda: torch.outer(torch.zeros(2**20), torch.zeros(2**20)),
        lambda: torch.ones_like(x.expand(HUGE, 3)), lambda: x.repeat(HUGE),
        lambda: torch.bincount(torch.tensor([HUGE])), lambda: torch.nn.Linear(2**20, 2**20),
        lambda: F.interpolate(x[None, None], HUGE), lambda: torch.combinations(torch.zeros(2**10),
            5), lambda: torch.multinomial(torch.ones(3), HUGE, True),
        lambda: torch.bernoulli(torch.zeros(1).expand(HUGE)),
    ],
)  # fmt: skip
def test_what_the_machine_has_no_memory_for_is_refused_when_it_is_asked_for(call):
    with pytest.raises(RuntimeError, match=NO_MEMORY):
        call()


def test_the_limit_of_the_process_counts(monkeypatch):
    monkeypatch.setattr(limits, "available_bytes", lambda: 2**31)
    with pytest.raises(RuntimeError, match=NO_MEMORY):
        torch.zeros(2**30 + 7)
    assert torch.zeros(2**28 + 7).shape == (2**28 + 7,)


def test_without_data_sizes_need_only_be_countable():
    assert torch.zeros(2**20, 2**20, device="meta").shape == (2**20, 2**20)
    # what was learnt on one device is not taken for another
    with pytest.raises(RuntimeError, match=NO_MEMORY):
        torch.zeros(2**20, 2**20)
    t = torch.zeros(2**30, 1, device="meta") + torch.zeros(2**30, device="meta")
    assert t.shape == (2**30, 2**30) and torch.empty_like(t).shape == t.shape
    assert x.expand(HUGE, 3).shape == (HUGE, 3) and torch.zeros_like(
        x.expand(HUGE, 3), device="meta"
    ).shape == (HUGE, 3)
    with pytest.raises(RuntimeError, match=r"^numel: integer multiplication overflow$"):
        torch.zeros(1).expand(HUGE, HUGE)


# ---- views that are larger than memory -----------------------------------------------------------


def test_parts_of_wide_views():
    y = torch.arange(3.0)
    e = y.expand(HUGE, 3)
    kept = e[7], e[5:9, 1:], e[:, 2][100], e.t()[1, :: 2**39], e.unsqueeze(0)[0, 3, 0]
    z = torch.ones(2) + 1  # nothing wide is computed along with it
    assert (
        z.tolist() == [2, 2] and kept[0].tolist() == [0, 1, 2] and kept[1].tolist() == [[1, 2]] * 4
    )
    assert kept[2].item() == 2 and kept[3].tolist() == [1, 1] and kept[4].item() == 0
    y += 1
    assert (
        kept[0].tolist() == [1, 2, 3]
        and kept[1].tolist() == [[2, 3]] * 4
        and e[2**39].tolist() == [1, 2, 3]
    )
    kept[0].add_(1)
    assert y.tolist() == [2, 3, 4] and e[1, 0].item() == 2
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        e.add_(1)
    low, high = e.chunk(2)
    rows = e.unsqueeze(0).unbind(0)
    assert low.shape == high.shape == (HUGE // 2, 3) and low[3].tolist() == high[
        -1
    ].tolist() == rows[0][9].tolist() == [2, 3, 4]
    a = y.as_strided((HUGE, 2), (0, 1), 1)
    assert a[3].tolist() == [3, 4] and a.shape == (HUGE, 2)


def test_a_refused_result_leaves_nothing_behind_in_the_trace():
    z = torch.ones(2) + 1
    for call in (lambda: x.expand(HUGE, 3) + 1, lambda: torch.ones_like(x.expand(HUGE, 3))):
        with pytest.raises(RuntimeError, match=NO_MEMORY):
            call()
    assert z.tolist() == [2, 2]


def test_derivatives_pass_through_wide_views():
    y = torch.arange(3.0, requires_grad=True)
    e = y.expand(2**24, 3)  # 192 MiB if it were computed
    e[5].pow(2).sum().backward()
    assert y.grad.tolist() == [0, 2, 4]
    assert e[5].requires_grad and e[5].is_contiguous() and not e.is_contiguous()


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_sums_of_wide_views_run_as_one_program():
    with torch.execution("deferred"):
        one = torch.ones(1)
        assert one.item() == 1
        stepped = stats.stepped
        # 2 GiB if it were computed
        assert one.expand(2**29 + 5).sum(dtype=torch.float64).item() == 2**29 + 5
        assert stats.stepped == stepped


LOOKS = [
    ((40, 50), (1, 1), 2),
    ((30, 1, 60), (60, 7, 1), 5),
    ((50, 40), (0, 2), 1),
    ((2, 600), (3, 4), 0),
]


@pytest.mark.parametrize(("size", "stride", "offset"), LOOKS)
def test_large_strided_looks(size, stride, offset):
    memory = torch.arange(3000.0)
    expected = [
        offset + sum(i * s for i, s in zip(index, stride))
        for index in itertools.product(*map(range, size))
    ]
    look = memory.as_strided(size, stride, offset)
    assert look.flatten().tolist() == expected
    look_ = memory.clone().requires_grad_()
    look_.as_strided(size, stride, offset).sum().backward()
    assert look_.grad.tolist() == [float(expected.count(i)) for i in range(3000)]


# ---- Python numbers of more bits than there are --------------------------------------------------

LONG = "Overflow when unpacking long long"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: torch.zeros(2**63), TypeError,
         f"zeros(): argument 'size' failed to unpack the object at pos 1 with error \"{LONG}\""),
        (lambda: torch.zeros(1, device="meta").new_empty(2, 2**64), TypeError, "at pos 2"),
        (lambda: x.view(2**64), TypeError, "view(): argument 'size' failed"),
        (lambda: x.expand(2**64), TypeError, "expand(): argument 'size'"),
        (lambda: x.sum(2**63), ValueError, LONG), (lambda: x.unsqueeze(-(2**64)), ValueError, LONG),
        (lambda: x[2**63], ValueError, LONG), (lambda: x.narrow(0, 0, 2**64), ValueError, LONG),
        (lambda: x.roll(2**63), ValueError, LONG), (lambda: torch.eye(2**64), ValueError, LONG),
        (lambda: x.topk(2**64), ValueError, LONG), (lambda: torch.linspace(0, 1, 2**63), ValueError,
                                                    LONG),
        (lambda: torch.randperm(2**63), ValueError, LONG),
        (lambda: x.as_strided((2**63,), (1,)), TypeError, "as_strided(): argument 'size'"),
        (lambda: x.clone().resize_(2**63), TypeError, "resize_(): argument 'size'"),
        (lambda: torch.rand(2**64), TypeError, "argument 'size'"),
        (lambda: torch.randint(2**64, (2,)), ValueError, LONG),
        (lambda: x.split(2**64), ValueError, LONG),
        (lambda: x + 2**64, OverflowError, "int too big to convert"),
        (lambda: x - -(2**64), OverflowError, "can't convert negative int"),
        (lambda: x.fill_(2**64), OverflowError, "int too big to convert"),
        (lambda: torch.full((2,), 2**64), OverflowError, "int too big"),
        (lambda: torch.full((2,), 2**63), RuntimeError,
         "value cannot be converted to type int64_t without overflow"),
        (lambda: torch.arange(2**63), RuntimeError,
         "value cannot be converted to type int64_t without overflow"),
        (lambda: torch.arange(1e300), RuntimeError, "invalid size, possible overflow?"),
        (lambda: torch.add(x.long(), 1, alpha=2**63), RuntimeError,
         "value cannot be converted to type int64_t without overflow"),
        (lambda: x[:: 2**63], RuntimeError,
         "Storage size calculation overflowed with sizes=[-1] and strides=[9223372036854775807]"),
    ],
)  # fmt: skip
def test_numbers_of_more_than_64_bits(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_numbers_of_64_bits_without_sign():
    assert (torch.ones(2) + 2**63).tolist() == [2.0**63] * 2 and torch.full(
        (1,), 2**63, dtype=torch.float64
    ).item() == 2.0**63
    # wraps around, as in torch
    assert (torch.ones(2, dtype=torch.int64) + 2**63).tolist() == [1 - 2**63] * 2
    assert (
        torch.full((1,), 2**63, dtype=torch.uint64).item() == 2**63
        and torch.zeros(1).fill_(2**63).item() == 2.0**63
    )


def test_long_steps_of_slices():
    y = torch.arange(10)
    assert (
        y[:: 2**62].tolist() == [0]
        and y[3 :: 2**40].tolist() == [3]
        and y[:: 2**62].stride() == (2**62,)
    )
    y.tolist()  # the numbers are at hand
    assert y[:: 2**62].tolist() == [0] and y[3 :: 2**60].tolist() == [3]
    y[4 :: 2**62] = 7
    y[5 :: 2**62].add_(1)
    assert y.tolist() == [0, 1, 2, 3, 7, 6, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "call",
    [
        lambda u: u.clamp(0, 300), lambda u: u.clamp(max=300), lambda u: u.clamp_(min=-300),
        lambda u: torch.clamp_max(u, 300), lambda u: torch.where(u > 0, u, 300),
        lambda u: torch.where(u > 0, -300, u), lambda u: torch.add(u, u, alpha=300),
        lambda u: torch.addcmul(u, u, u, value=300),
    ],
)  # fmt: skip
def test_numbers_that_the_dtype_cannot_hold(call):
    with pytest.raises(
        RuntimeError, match=r"^value cannot be converted to type uint8_t without overflow$"
    ):
        call(torch.ones(2, dtype=torch.uint8))
    assert call(torch.ones(2, dtype=torch.int32)).dtype == torch.int32


def test_fractions_that_the_dtype_cannot_hold():
    for call in (
        lambda: x.clamp(max=1e60),
        lambda: torch.where(x > 0, x, 1e60),
        lambda: torch.add(x, x, alpha=1e60),
    ):
        with pytest.raises(
            RuntimeError, match=r"^value cannot be converted to type float without overflow$"
        ):
            call()
    inf = float("inf")
    assert (
        torch.ones(2).clamp(-inf, inf).tolist() == [1, 1]
        and torch.ones(1).clamp(float("nan")).isnan().item()
    )
    # negative numbers wrap around
    assert torch.ones(2, dtype=torch.uint8).clamp(-5, 10).tolist() == [10, 10]


def test_sums_compute_in_the_dtype_of_out():
    y = torch.full((3,), 1.7)
    long = torch.zeros((), dtype=torch.int64)
    assert torch.sum(y, 0, out=long).item() == 3 and torch.prod(y, 0, out=long).item() == 1
    assert torch.cumsum(y, 0, out=torch.zeros(3, dtype=torch.int64)).tolist() == [1, 2, 3]
    with pytest.raises(
        RuntimeError, match=r"^Expected out tensor to have dtype double, but got long int instead$"
    ):
        torch.sum(y, 0, dtype=torch.float64, out=long)


def test_large_numbers_where_fractions_are_due():
    half = torch.full((2,), 0.5)
    # as in torch, eps is a fraction and may be any number
    assert torch.logit(half, 2**64).isnan().all()
    assert (
        F.layer_norm(half, (2,), eps=2.0**64).tolist()
        == F.layer_norm(half, (2,), eps=2**64).tolist()
    )
    for call in (lambda: x.chunk(2**64), lambda: x.unsafe_chunk(2**64)):
        with pytest.raises(ValueError, match=LONG):
            call()
    with pytest.raises(
        TypeError,
        match=r"split_with_sizes\(\): argument 'split_sizes' failed to unpack the object at pos 2",
    ):
        x.split([1, 2**64])
    with pytest.raises(
        TypeError, match=r"einsum\(\): argument 'equation' \(position 1\) must be str, not list"
    ):
        torch.einsum([x], "i->")


@pytest.mark.parametrize("options",
                         [{"kernel_size": 2**62, "padding": 2**61},
                          {"kernel_size": 2, "stride": 2**62},
                                     {"kernel_size": 2, "padding": 2**31}])  # fmt: skip
@pytest.mark.parametrize("pool", ["max_pool2d", "avg_pool2d", "avg_pool1d"])
def test_windows_beyond_32_bits_are_refused(pool, options):
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type int without overflow"
    ):
        getattr(torch.nn.functional, pool)(torch.ones(*[1] * int(pool[-2]), 4, 4), **options)


def test_the_window_of_a_line_beyond_32_bits_is_refused():
    with pytest.raises(RuntimeError):
        torch.nn.functional.max_pool1d(torch.ones(1, 1, 6), 2**62, padding=2**61)
