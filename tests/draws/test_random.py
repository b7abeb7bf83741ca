"""Random numbers are PyTorch's: the expected values below were printed by PyTorch 2.13 on a CPU."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
import jtorch.nn.functional as F
from jtorch._src.draws import box_muller as _box_muller
from jtorch._src.draws import sampling as _sampling
from jtorch._src.draws import twisting as _twisting
from jtorch._src.draws.mt19937 import STATE_BYTES, Twister
from jtorch._src.engine import values
from jtorch._src.facts import native, warned_once


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def near(found, expected, **kwargs) -> None:
    np.testing.assert_allclose(
        np.asarray(found.numpy(), np.float64), expected, rtol=0, atol=6e-5, **kwargs
    )


def test_rand() -> None:
    near(torch.rand(3), [0.4963, 0.7682, 0.0885])


def test_rand_of_double_takes_two_words() -> None:
    near(torch.rand(3, dtype=torch.float64), [0.9701, 0.7078, 0.4594])


def test_randn_of_few() -> None:
    near(torch.randn(3), [1.5410, -0.2934, -2.1788])


def test_randn_of_sixteen_is_made_in_blocks() -> None:
    near(torch.randn(16)[:4], [-1.1258, -1.1524, -0.2506, -0.4339])


def test_randint() -> None:
    assert torch.randint(0, 10, (8,)).tolist() == [4, 9, 3, 0, 3, 9, 7, 3]


def test_randperm() -> None:
    assert torch.randperm(8).tolist() == [4, 0, 7, 3, 2, 5, 1, 6]


def test_multinomial() -> None:
    p = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert torch.multinomial(p, 3).tolist() == [2, 1, 3]
    assert torch.multinomial(p, 6, replacement=True).tolist() == [3, 3, 1, 2, 2, 1]


def test_dropout() -> None:
    assert F.dropout(torch.ones(8), 0.5).tolist() == [0, 0, 2, 0, 0, 0, 2, 2]


def test_exponential() -> None:
    near(torch.empty(3).exponential_(), [3.5083, 1.2304, 0.6150])


def test_a_generator_takes_over_what_another_left() -> None:
    """What a twister leaves behind is seeded anew: nothing of its stream, its place in it or its
    kept number goes on."""
    wanted = torch.randn(5, generator=torch.Generator().manual_seed(3))
    for n in (1, 3, 700):
        first = torch.Generator().manual_seed(n)
        torch.randn(n, generator=first)
        del first
        assert torch.equal(torch.randn(5, generator=torch.Generator().manual_seed(3)), wanted)
    kept = [torch.Generator().manual_seed(n) for n in range(3)]
    assert len({torch.rand(1, generator=g).item() for g in kept}) == 3


@pytest.mark.parametrize("count", [1, 2, 7, 32, 33, 40])
def test_few_normal_numbers_are_those_of_many(count: int) -> None:
    """Python's way for few pairs and NumPy's for many draw the same words in the same order."""
    whole, parts = Twister(5), Twister(5)
    many = _sampling.normal_serial(whole, 2 * count * 3)
    few = np.concatenate([_sampling.normal_serial(parts, 2 * count) for _ in range(3)])
    np.testing.assert_allclose(few, many, rtol=0, atol=1e-15)


@pytest.mark.parametrize("count", [0, 1, 2, 31, 128])
def test_few_even_numbers_are_those_of_many(count: int) -> None:
    few, many = Twister(3), Twister(3)
    for _ in range(20):
        found = _sampling.uniform64(few, count)
        high, low = many.halves(count)
        assert found.dtype == np.float64
        assert found.tolist() == [
            (h % 2**21 * 2**32 + k) / 2**53
            for h, k in zip(high.tolist(), low.tolist(), strict=True)
        ]
    assert few.bits32(1) == many.bits32(1)


def test_a_normal_number_of_a_pair_is_kept_for_the_next_call() -> None:
    first = torch.randn(1).item()
    second = torch.randn(1).item()
    torch.manual_seed(0)
    assert torch.randn(2).tolist() == [first, second]


def test_memory_order_decides() -> None:
    across = torch.empty(3, 2).t().uniform_()
    torch.manual_seed(0)
    assert across.equal(torch.rand(3, 2).t())


def test_views_are_filled_in_place() -> None:
    x = torch.zeros(4, 4)
    x[:, ::2].uniform_(1, 2)
    assert (x[:, ::2] >= 1).all() and not x[:, 1::2].any()


# ---- states --------------------------------------------------------------------------------------


def test_a_state_has_pytorchs_size_and_restores() -> None:
    torch.randn(7)
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.numel() == STATE_BYTES == 5056
    expected = torch.randn(5).tolist()
    torch.set_rng_state(state)
    assert torch.randn(5).tolist() == expected


def test_a_fresh_state_is_laid_out_as_pytorch_does() -> None:
    state = torch.manual_seed(5).get_state().numpy()
    assert state[:24].tolist() == [5, *[0] * 7, 1, 0, 0, 0, 1, 0, 0, 0, *[0] * 8]
    torch.rand(1)
    assert torch.get_rng_state().numpy()[8:18].tolist() == [112, 2, 0, 0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625, 1248])
def test_states_restore_at_every_place_of_the_cycle(draws: int) -> None:
    a, b = Twister(3), Twister(4)
    a.bits32(draws)
    b.set_state(a.get_state())
    assert (a.bits32(700) == b.bits32(700)).all()


def test_bad_states_are_refused() -> None:
    with pytest.raises(
        RuntimeError,
        match="Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to "
        "be 3",
    ):
        torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(TypeError, match="RNG state must be a torch"):
        torch.set_rng_state(torch.zeros(5056))


def test_generators() -> None:
    g = torch.Generator().manual_seed(0)
    near(torch.rand(3, generator=g), [0.4963, 0.7682, 0.0885])
    assert g.initial_seed() == 0 and torch.Generator().initial_seed() == 67280421310721
    twin = g.clone_state()
    restored = pickle.loads(pickle.dumps(g))
    expected = torch.rand(2, generator=g).tolist()
    assert (
        torch.rand(2, generator=twin).tolist()
        == torch.rand(2, generator=restored).tolist()
        == expected
    )
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
    assert isinstance(copy.deepcopy(g), torch.Generator)


def test_a_given_generator_leaves_the_default_one_alone() -> None:
    torch.rand(3, generator=torch.Generator())
    near(torch.rand(1), [0.4963])


def test_seed_is_not_repeated() -> None:
    assert torch.seed() != torch.seed()
    assert torch.initial_seed() != 0


def test_fork_rng() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        torch.rand(3)
    near(torch.rand(1), [0.4963])


# ---- arguments -----------------------------------------------------------------------------------


def test_options_of_factories() -> None:
    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    assert x.dtype is torch.float64 and x.requires_grad and x.is_leaf
    assert (
        torch.rand((2, 3)).shape
        == torch.rand(size=(2, 3)).shape
        == torch.rand(torch.Size([2, 3])).shape
    )
    out = torch.empty(3)
    assert torch.rand(3, out=out) is out and out.any()
    assert torch.rand(3, device="meta").device.type == "meta"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.rand(-1),
            RuntimeError,
            r"Trying to create tensor with negative dimension -1: \[-1\]",
        ),
        (
            lambda: torch.rand(2.5),
            TypeError,
            r"rand\(\): argument 'size' \(position 1\) must be tuple of ints, not float",
        ),
        (
            lambda: torch.rand(3, dtype=torch.int64),
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Long'",
        ),
        (
            lambda: torch.randint(3, 3, (2,)),
            RuntimeError,
            "random_ expects 'from' to be less than 'to', but got from=3 >= to=3",
        ),
        (
            lambda: torch.randint(0, 300, (2,), dtype=torch.uint8),
            RuntimeError,
            "to - 1 is out of bounds for unsigned char",
        ),
        (
            lambda: torch.empty(3).uniform_(3, 2),
            RuntimeError,
            "uniform_ expects to return a .from, to. range, but found from=3 > to=2",
        ),
        (
            lambda: torch.empty(3).normal_(0, -1),
            RuntimeError,
            "normal expects std >= 0.0, but found std -1",
        ),
        (
            lambda: torch.empty(3).bernoulli_(1.5),
            RuntimeError,
            r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5",
        ),
        (
            lambda: torch.empty(3).expand(2, 3).uniform_(),
            RuntimeError,
            "more than one element of the written-to tensor refers to a single",
        ),
        (
            lambda: torch.multinomial(torch.ones(2), 3),
            RuntimeError,
            "cannot sample n_sample > prob_dist.size",
        ),
        (
            lambda: torch.multinomial(-torch.ones(2), 1),
            RuntimeError,
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            lambda: torch.normal(torch.zeros(2), -torch.ones(2)),
            RuntimeError,
            "normal expects all elements of std >= 0.0",
        ),
        (
            lambda: F.dropout(torch.ones(3), 1.5),
            ValueError,
            "dropout probability has to be between 0 and 1, but got 1.5",
        ),
        (lambda: torch.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
        (
            lambda: torch.ones(2, requires_grad=True).uniform_(),
            RuntimeError,
            "a leaf Variable that requires grad",
        ),
    ],
)
def test_errors(call, kind, text) -> None:
    with pytest.raises(kind, match=text):
        call()


# ---- gradients -----------------------------------------------------------------------------------


def test_filling_cuts_the_gradient() -> None:
    x = torch.ones(3, requires_grad=True)
    (x * 2).uniform_().sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_dropout_passes_the_gradient_of_what_stays() -> None:
    x = torch.ones(8, requires_grad=True)
    F.dropout(x, 0.5).sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 0, 0, 0, 2, 2]


def test_dropout_in_place_and_without_effect() -> None:
    x = torch.ones(8)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 0.5, inplace=True) is x and x.tolist() == [0, 0, 2, 0, 0, 0, 2, 2]
    assert not F.dropout(torch.ones(4), 1.0).any()


def test_feature_dropout_drops_channels() -> None:
    x = F.dropout2d(torch.ones(4, 6, 3, 3), 0.5).reshape(24, 9)
    assert (x == x[:, :1]).all() and {0.0, 2.0} == set(x[:, 0].tolist())


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = F.alpha_dropout(torch.randn(200_000), 0.3, training=True)
    assert abs(x.mean().item()) < 0.02 and abs(x.std().item() - 1) < 0.02


# ---- the numbers themselves ----------------------------------------------------------------------


def test_trials_compare_53_bits() -> None:
    a, b = Twister(1), Twister(1)
    for p in (0.0, 2.0**-53, 0.3, 0.5, 1 - 2.0**-53, 1.0):
        assert (_sampling.below(a, 5000, p) == (_sampling.uniform64(b, 5000) < p)).all()


def test_uniform_numbers_never_reach_the_upper_end() -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        x = torch.empty(100_000, dtype=dtype).uniform_(1000, 1001)
        assert (x >= 1000).all() and not (x > 1001).any()
    assert (torch.rand(100_000, dtype=torch.bfloat16) < 1).all()


def test_moments() -> None:
    x = torch.randn(200_000, dtype=torch.float64).numpy()
    assert abs(x.mean()) < 0.01 and abs(x.std() - 1) < 0.01 and abs((x**4).mean() - 3) < 0.1
    assert abs(torch.empty(200_000).geometric_(0.25).mean().item() - 4) < 0.05
    assert abs(torch.empty(200_000).log_normal_(0, 0.5).log().std().item() - 0.5) < 0.01
    assert abs(np.median(torch.empty(200_000).cauchy_(2, 1).numpy()) - 2) < 0.02


def test_a_permutation_has_everything_once() -> None:
    assert sorted(torch.randperm(1000).tolist()) == list(range(1000))


@pytest.mark.parametrize("n", [_sampling._SWAPPED, _sampling._SWAPPED + 77])
def test_large_permutations_are_those_of_single_swaps(monkeypatch, n: int) -> None:
    many, single = Twister(5), Twister(5)
    found = _sampling.permutation(many, n)
    assert found.dtype == np.int64 and sorted(found.tolist()) == list(range(n))
    monkeypatch.setattr(_sampling, "_SWAPPED", n + 1)
    np.testing.assert_array_equal(found, _sampling.permutation(single, n))
    assert many.bits32(3).tolist() == single.bits32(3).tolist()


def test_permutations_of_more_numbers_than_float32_tells_apart() -> None:
    n = (1 << 24) + 3
    places = np.arange(n - 1, dtype=np.int32)
    places[[0, 5]] = n - 1, n - 2
    found = _sampling._swapped(n, places)
    assert found[[0, 5, n - 2, n - 1]].tolist() == [n - 1, n - 2, 5, 0]
    assert np.array_equal(found[6 : n - 2], np.arange(6, n - 2))


@pytest.mark.parametrize("span", [1, 2, 64, 100, 1 << 16, (1 << 28) - 1, 3 << 30])
@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_remainders_of_many_words(span: int, kind: type) -> None:
    words = np.random.default_rng(0).integers(0, np.iinfo(kind).max, 70_001, kind, endpoint=True)
    words[:3] = 0, np.iinfo(kind).max, span
    np.testing.assert_array_equal(_sampling._remainders(words.copy(), span), words % kind(span))


def test_compiled_normal_numbers_are_looked_at_once() -> None:
    program = _box_muller._compiled()
    assert _box_muller._same_bits(program)
    assert _box_muller._same_bits(_box_muller._program(_box_muller._in_float64))
    wrong = program(np.full((_box_muller.ROWS, 2, 8), 3, np.uint32))
    assert not _box_muller._same_bits(lambda words: wrong)
    assert not _box_muller._same_bits(
        lambda words: np.nextafter(np.asarray(program(words)), np.float32(9))
    )


@pytest.mark.parametrize("rows", [rows for _, rows in _sampling._SIZES])
def test_compiled_normal_numbers_of_every_size(rows: int) -> None:
    assert _box_muller._same_bits(_box_muller._compiled(rows), rows)


@pytest.mark.parametrize("before", [0, 1, 623, 624, 1000])
@pytest.mark.parametrize("n", [_twisting.LARGE, _twisting.LARGE + 623, 3 * _twisting.CALL + 625])
def test_compiled_words_are_those_of_numpy(
    before: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Twister(9), Twister(9)
    for twister in (one, other):
        twister.bits32(before)
    assert not _twisting.worth(_twisting.LARGE - 1)
    monkeypatch.setattr(_twisting, "worth", lambda n: False)
    wanted = other.bits32(n)
    filled, fill = [], _twisting.fill
    monkeypatch.setattr(_twisting, "worth", lambda n: True)
    monkeypatch.setattr(
        _twisting, "fill", lambda key, words: filled.append(words.size) or fill(key, words)
    )
    np.testing.assert_array_equal(one.bits32(n), wanted)
    assert filled or n < _twisting.LARGE + 624
    np.testing.assert_array_equal(one.get_state(), other.get_state())
    np.testing.assert_array_equal(one.bits32(700), other.bits32(700))


@pytest.mark.parametrize("place", [0, 1, 300, 623, 624])
def test_words_come_in_one_order_however_many_are_asked_for(place: int) -> None:
    start = Twister(7)
    start.bits32(place)
    state = start.get_state()
    wanted = np.random.MT19937()
    wanted._legacy_seeding(7)
    words = wanted.random_raw(place + 5000)[place:]
    one = Twister(0)
    one.set_state(state)
    at = 0
    for n in (1, 15, 700, 0, 624, 3, 1300, 600, 16, 8):
        found = one.bits32(n)
        np.testing.assert_array_equal(found, words[at : at + n])
        found[:] = 0  # who is given words may write over them
        at += n
    assert one.word() == words[at] and one.bits32(2).tolist() == words[at + 1 : at + 3].tolist()
    back = one.position()
    one.bits32(900)
    one.return_to(back, 2)
    np.testing.assert_array_equal(one.words(4), words[at + 5 : at + 9])
    other = Twister(1)
    other.set_state(one.get_state())
    np.testing.assert_array_equal(other.bits32(650), one.bits32(650))


def test_normal_numbers_made_ahead_are_those_that_come_next() -> None:
    sizes = (16, 48, 16, 5, 32, 256, 16, 37, 64, 16, 16, 128, 240)

    def drawn(generator: Any, each: Any) -> list[Any]:
        return [each(n, generator) for n in sizes]

    one, other = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    found = drawn(one, lambda n, g: torch.randn(n, generator=g).tolist())

    def anew(n: int, g: Any) -> Any:
        g.set_state(g.get_state())  # forgets what was made ahead
        return torch.randn(n, generator=g).tolist()

    assert found == drawn(other, anew)
    assert one.get_state().tolist() == other.get_state().tolist()
    x = torch.randn(16, generator=one)
    x.zero_()  # a copy: the next ones are as they were
    assert torch.randn(16, generator=one).count_nonzero() == 16


def test_many_words_are_compiled_once_that_has_paid(monkeypatch) -> None:
    # whichever the others run in: this is about the choice
    monkeypatch.setattr(values, "tier", "auto")
    monkeypatch.setattr(_twisting, "_PRICE", 3 * _twisting.LARGE)
    monkeypatch.setattr(_twisting, "_drawn", 0)
    asked = []
    fill = _twisting.fill
    monkeypatch.setattr(
        _twisting, "fill", lambda key, words: asked.append(words.size) or fill(key, words)
    )
    generator = torch.Generator()

    def drawn() -> bytes:
        return torch.rand(_twisting.LARGE, generator=generator.manual_seed(1)).numpy().tobytes()

    first = drawn()
    assert [drawn() == first for _ in range(4)] == [True] * 4
    assert asked == [_twisting.LARGE] * 2
    monkeypatch.setattr(values, "tier", "host")
    assert drawn() == first
    assert len(asked) == 2


def test_small_fills_are_compiled_once_that_has_paid(monkeypatch) -> None:
    monkeypatch.setattr(_sampling, "_PRICE", 1e-3)
    monkeypatch.setattr(_sampling, "_spent", [0.0] * len(_sampling._SIZES))
    asked = []
    monkeypatch.setattr(_sampling, "_native_blocks", None)
    normal = _box_muller.normal
    monkeypatch.setattr(
        _box_muller, "normal", lambda words: asked.append(words.size) or normal(words)
    )
    generator = torch.Generator()

    def drawn() -> list[bytes]:
        return [
            torch.randn(n, generator=generator.manual_seed(n)).numpy().tobytes()
            for n in (16, 37, 64 * 16, 64 * 16 + 1)
        ]

    first = drawn()
    assert asked == []
    for _ in range(4):
        assert drawn() == first
    assert set(asked) == {624, 48, 64 * 16}
    monkeypatch.setattr(values, "tier", "host")
    assert normal(np.zeros(16, np.uint32)) is None
    assert drawn() == first


def test_large_fills_are_the_same_bit_for_bit(monkeypatch) -> None:
    n = _sampling._LARGE + 5
    large = _sampling.normal(Twister(3), n, 1.0, 2.0, np.dtype(np.float32))
    monkeypatch.setattr(_sampling, "_LARGE", 2 * n)
    np.testing.assert_array_equal(
        large, _sampling.normal(Twister(3), n, 1.0, 2.0, np.dtype(np.float32))
    )


def test_large_fills_inside_jit() -> None:
    x = torch.randn(_sampling._LARGE)
    torch.manual_seed(0)
    warned_once._given.clear()
    with pytest.warns(UserWarning, match="with_key"):
        assert jax.jit(lambda a: a + torch.randn(_sampling._LARGE).jax()[7])(0.0) == x[7].item()


def test_dropout_of_expanded_tensors_draws_in_the_order_of_dense_memory() -> None:
    torch.manual_seed(3)
    kept = torch.nn.functional.dropout(torch.ones(3).expand(2, 2, 3), 0.5)
    assert kept.tolist() == [[[2, 2, 0], [2, 0, 0]], [[2, 2, 2], [0, 2, 0]]]  # PyTorch's


def test_versions_of_drawn_tensors() -> None:
    x = torch.full((2, 3), 0.5)
    assert (
        torch.rand_like(x)._version
        == torch.randint_like(x, 3)._version
        == torch.bernoulli(x)._version
        == 0
    )
    assert torch.alpha_dropout(x, 0.5, True)._version == 1
    assert torch.nn.utils.rnn.pad_sequence([x[0], x[0, :2]])._version == 3


def test_draws_into_tensors_of_other_dtypes():
    p = torch.tensor([0.0, 1.0])
    assert torch.bernoulli(p, out=torch.empty(2, dtype=torch.int64)).tolist() == [0, 1]
    assert torch.bernoulli(p, out=torch.empty(2, dtype=torch.bool)).tolist() == [False, True]
    with pytest.raises(NotImplementedError, match=r"bernoulli_tensor_cpu_self_.*ComplexFloat"):
        torch.bernoulli(p, out=torch.empty(2, dtype=torch.complex64))
    with pytest.raises(NotImplementedError, match=r"normal_kernel_cpu.*Long"):
        torch.normal(p, p, out=torch.empty(2, dtype=torch.int64))


def test_bounds_that_a_dtype_cannot_tell_apart():
    with pytest.warns(
        UserWarning, match=r"to - 1 is out of bounds \[-\(2\^8\), 2\^8\].*c10::BFloat16"
    ):
        torch.randint(0, 1000, (2,), dtype=torch.bfloat16)
    with pytest.warns(UserWarning, match=r"from is out of bounds \[-\(2\^11\), 2\^11\].*c10::Half"):
        torch.empty(2, dtype=torch.float16).random_(-5000, 0)


def test_few_uniform_numbers_are_those_of_many_wherever_blocks_of_words_end() -> None:
    for draw, each in ((_sampling.uniform32, 1), (_sampling.uniform64, 2)):
        many, few = Twister(3), Twister(3)
        few.bits32(1)
        many.bits32(1)
        sizes = [5, 0, 128, 1, 77, 100, 16, 128, 128, 3, 90, 128, 128, 40] * 3
        wanted = draw(many, sum(sizes))
        np.testing.assert_array_equal(np.concatenate([draw(few, n) for n in sizes]), wanted)
        np.testing.assert_array_equal(few.get_state(), many.get_state())
        few.bits32(few._block.size - few._at - 2 * each + 1)
        before = few.get_state()
        assert few.at_hand(2, each, _sampling.singles if each == 1 else _sampling.doubles) is None
        np.testing.assert_array_equal(few.get_state(), before)


@pytest.mark.skipif(native.extension() is None, reason="the extension was not built: no compiler")
def test_normal_numbers_in_c_are_those_of_numpy() -> None:
    make = native.extension().normal
    words = np.random.default_rng(0).integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    words[:16], words[16:32], words[32:48], words[48:64] = (
        0,
        0xFFFFFF,
        np.arange(16),
        0xFFFFFF - np.arange(16),
    )
    wanted = _sampling._blocks_of_numpy(words.copy())
    for n in (0, 16, 624, 4096, words.size):  # the largest without Python's lock
        np.testing.assert_array_equal(make(words[:n]).view(np.int32), wanted[:n].view(np.int32))
    for bad in (
        words[:15],
        words.reshape(-1, 16),
        words[::2],
        words.view(np.int32),
        words.astype(">u4"),
        words.tolist(),
        None,
    ):
        with pytest.raises(TypeError, match="blocks of 16"):
            make(bad)
