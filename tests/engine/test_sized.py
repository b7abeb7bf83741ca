"""Kernels are traced once for all sizes of what varies, and give what tracing them for each
gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch import nn
from jtorch._src.engine import calls, sized, supposing, tracing, values
from jtorch._src.engine.calls import Call, Guarded, shapes_of
from jtorch._src.engine.host.fitted import told
from jtorch._src.engine.host.recipes import recipe_of
from jtorch._src.engine.host.sizes import value_of
from jtorch._src.engine.sized import Family, Kin
from jtorch._src.engine.values import aval_of, default_device
from jtorch._src.engine.varying import symbols
from jtorch._src.ops._kernel import forget_calls

pytestmark = pytest.mark.skipif(
    values.tier == "xla", reason="XLA's programs are traced for each size"
)
F = nn.functional
#: After these it is clear what varies.
FIRST = (9, 11, 13, 15, 17)


@pytest.fixture
def traced(monkeypatch):
    """The names of kernels that are traced, as they are; nothing is known from earlier, and what is
    learnt is kept in ``facts``."""
    names = []
    real, attempted = tracing.traced, tracing.attempted
    facts = {}

    def watched(call, avals):
        names.append(call.name)
        return real(call, avals)

    monkeypatch.setattr(tracing, "traced", watched)
    monkeypatch.setattr(calls.programs, "remembered", facts.get)
    monkeypatch.setattr(  # what nothing is kept of has no key
        calls.programs, "remember", lambda key, fact: key and facts.__setitem__(key, fact)
    )
    monkeypatch.setattr(tracing, "attempted", attempted)
    forget_calls()
    watched.facts, watched.names = facts, names
    yield watched
    forget_calls()


LEAVES = []


def _random(*shape):
    LEAVES.append(torch.randn(*shape, requires_grad=True))
    return LEAVES[-1]


def _positions(n, count):
    return torch.arange(n) % count


def _masked(n):
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(
        _random(2, 2, n, 4), _random(2, 2, n, 4), _random(2, 2, n, 4), attn_mask=mask
    )


CASES = {
    "softmax": lambda n: F.softmax(_random(4, n), -1),
    "layer_norm": lambda n: F.layer_norm(_random(3, n, 8), (8,), _random(8), _random(8)),
    "linear": lambda n: F.linear(_random(2, n, 8), _random(16, 8), _random(16)),
    "matmul": lambda n: _random(2, n, 8) @ _random(2, 8, n),
    "attention": _masked,
    "mean": lambda n: _random(4, n, 8).mean(1),
    "sum": lambda n: _random(n, n).sum((0, 1)),
    "var": lambda n: _random(4, n).var(1),
    "max": lambda n: _random(4, n).max(1)[0],
    "sort": lambda n: _random(4, n).sort(1)[0],
    "topk": lambda n: _random(4, n).topk(3)[0],
    "cumsum": lambda n: _random(4, n).cumsum(1),
    "cat": lambda n: torch.cat([_random(n, 6), _random(3, 6)]),
    "view": lambda n: _random(4, n, 6).transpose(0, 1).reshape(4 * n, 6),
    "slice": lambda n: _random(4, 512, 3)[:, 1 : n - 1],
    "expand": lambda n: _random(1, 6).expand(n, 6),
    "embedding": lambda n: F.embedding(_positions(n, 9), _random(9, 4)),
    "index_select": lambda n: _random(n, 6).index_select(0, _positions(7, n)),
    "index_add": lambda n: torch.zeros(10, 6).index_add(0, _positions(n, 10), _random(n, 6)),
    "scatter": lambda n: torch.zeros(n, 6).scatter_add(
        0, _positions(8, n)[:, None].expand(8, 6), _random(8, 6)
    ),
    "gather": lambda n: _random(n, 6).gather(1, _positions(n, 6)[:, None]),
    "cross_entropy": lambda n: F.cross_entropy(_random(n, 6), _positions(n, 6)),
    "lstm": lambda n: nn.LSTM(4, 5)(_random(n, 2, 4))[0],
    "conv1d": lambda n: F.conv1d(_random(2, 3, n), _random(4, 3, 3), _random(4), padding=1),
    "batch_norm": lambda n: nn.BatchNorm1d(6)(_random(n, 6)),
    "pad": lambda n: F.pad(_random(n, 6), (0, 0, 1, 2)),
    "tril": lambda n: torch.tril(_random(n, n)),
    "factories": lambda n: (
        torch.arange(n).float()
        + torch.linspace(0, 1, n)
        + torch.full((n,), 2.0) @ torch.eye(n)
        + torch.ones(n, n)[0]
    ),
    "inplace": lambda n: _random(n, 3).clone().mul_(2).add_(1),
}
#: Around what kernels choose by: rows of 32, 64 and 128, powers of two, and sizes that others have.
SIZES = (11, 23, 37, 5, 8, 32, 64, 96, 256)


#: Those whose second derivatives are looked at, too.
TWICE = (
    "softmax",
    "layer_norm",
    "linear",
    "matmul",
    "mean",
    "var",
    "cumsum",
    "index_select",
    "cross_entropy",
    "slice",
    "view",
)


@pytest.mark.parametrize(
    ("name", "twice"), [*[(name, False) for name in CASES], *[(name, True) for name in TWICE]]
)
def test_gives_what_tracing_gives(name, twice, traced, monkeypatch):
    served = []
    real = sized.fitting

    def checked(call, avals):
        found = real(call, avals)
        if found is not None and not getattr(checked, "within", False):
            checked.within = True
            closed, out = tracing.traced(call, avals)
            checks = ()
            if isinstance(out, Guarded):
                out, checks = out.outs, out.checks
            outs = [
                (tuple(x.shape), x.dtype)
                for x in (out if isinstance(out, (tuple, list)) else (out,))
            ]
            assert found.outs() == outs
            assert found.checks() == tuple(checks)
            assert found.form.used == tracing.used(closed)
            assert told(found.recipe()) == told(recipe_of(closed))
            served.append(call.name)
            checked.within = False
        return found

    monkeypatch.setattr(sized, "fitting", checked)
    for n in SIZES:
        LEAVES.clear()
        out = CASES[name](n)
        if twice:
            gradients = torch.autograd.grad((out * out).sum(), LEAVES, create_graph=True)
            sum([(g * g).sum() for g in gradients]).backward()
        elif out.requires_grad:
            (out * out).sum().backward()
        out.sum().item()
    assert served


def _step(n):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    x = torch.from_numpy(np.sin(np.arange(3 * n * 8, dtype="f")).reshape(3, n, 8))
    out = (layer(x) * x.cos()).sum()
    out.backward()
    return [out.item(), *[float(p.grad.square().sum()) for p in layer.parameters()]]


def test_a_further_length_traces_nothing(traced):
    for n in FIRST:
        _step(n)
    traced.names.clear()
    found = _step(19)
    assert traced.names == []
    forget_calls()
    traced.facts.clear()
    np.testing.assert_allclose(found, _step(19), rtol=1e-4)  # traced for its sizes


def test_forms_are_kept(traced):
    for n in FIRST:
        F.layer_norm(torch.ones(2, n, 8), (8,)).sum().item()
    forget_calls()  # what a new process knows are the facts
    for n in (31, 32, 35, 37, 41):
        F.layer_norm(torch.ones(2, n, 8), (8,)).sum().item()
    traced.names.clear()
    found = F.layer_norm(torch.from_numpy(np.arange(2 * 43 * 8, dtype="f").reshape(2, 43, 8)), (8,))
    assert traced.names == []
    np.testing.assert_allclose(found.numpy().std(-1), 1, rtol=1e-3)


def test_messages_have_the_sizes_at_hand(traced):
    for n in (*FIRST, 19):
        torch.ones(n, 2)[torch.tensor([n - 1])].sum().item()
    with pytest.raises(IndexError, match="index 30 is out of bounds for dimension 0 with size 23"):
        torch.ones(23, 2)[torch.tensor([30])].sum().item()


def test_sizes_that_do_not_fit_are_refused(traced):
    for n in (*FIRST, 19):
        (torch.ones(2, n) @ torch.ones(n, 3)).sum().item()
    with pytest.raises(
        RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x21 and 22x3\)"
    ):
        torch.ones(2, 21) @ torch.ones(22, 3)


# ---- kernels that look at sizes


def _run(fn, sizes):
    """What a kernel of one operand gives for the sizes in order, and for which of them it was
    served."""
    call = Call("kernel", fn, identity=None)
    call.kin = Kin(Family(None, lambda items: call), ())
    call.identity = "kernel of a test"
    found, served = [], []
    for n in sizes:
        avals = (aval_of((n,), np.dtype("float32"), default_device()),)
        shapes = shapes_of(call, avals, default_device())
        if shapes.fitting is not None:
            served.append(n)
        found.append(np.asarray(shapes.run(np.ones(n, "float32"))).tolist())
    return found, served


def test_a_kernel_that_looks_for_one_size(traced):
    found, served = _run(
        lambda x: jnp.sum(x) * (2.0 if x.shape[0] == 40 else 1.0), (*FIRST, 40, 41)
    )
    assert found == [9.0, 11.0, 13.0, 15.0, 17.0, 80.0, 41.0]
    assert 41 in served
    assert 40 not in served


def test_a_kernel_that_looks_at_parity(traced):
    found, served = _run(
        lambda x: jnp.sum(x) * (2.0 if x.shape[0] % 2 else 1.0), (*FIRST, 19, 22, 21, 24, 26)
    )
    assert found == [18.0, 22.0, 26.0, 30.0, 34.0, 38.0, 22.0, 42.0, 24.0, 26.0]
    assert {19, 21} <= set(served)


def test_a_kernel_that_compares(traced):
    found, served = _run(
        lambda x: jnp.sum(x) * (2.0 if x.shape[0] > 30 else 1.0), (*FIRST, 19, 40, 41)
    )
    assert found == [9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 80.0, 82.0]
    assert served == []  # JAX cannot tell


def test_what_tables_compare_decides_nothing(monkeypatch):
    (n,) = symbols(())[:1]

    def looked_up(key):
        return key == 8

    assert jax.core.ShapedArray.__new__.__code__ in supposing.TABLES
    with pytest.raises(supposing.Unsupposed), supposing.supposing((8,)):
        looked_up(n)
    monkeypatch.setattr(supposing, "TABLES", frozenset([looked_up.__code__]))
    with supposing.supposing((8,)) as choices:
        assert not looked_up(n)
    assert not choices


def test_values_of_sizes(traced):
    found, served = _run(lambda x: jnp.sum(x) / x.shape[0] + 1 / (x.shape[0] - 1), (*FIRST, 31))
    assert served
    np.testing.assert_allclose(found, [1 + 1 / (n - 1) for n in (*FIRST, 31)], rtol=1e-6)


def test_small_sizes_are_traced(traced):
    _, served = _run(jnp.sum, (*FIRST, 19, 1, 2, 3, 4))
    assert served == [19]


# ---- sizes as texts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("n", 5),
        ("2*n + 1", 11),
        ("-n + 3", -2),
        ("n^2 - m", 18),
        ("floordiv(n, 2)", 2),
        ("mod(n + 1, 4)", 2),
        ("max(n, m)", 7),
    ],
)
def test_sizes_as_texts(text, value):
    assert value_of(text, {"n": 5, "m": 7}) == value


@pytest.mark.parametrize("text", ["n < m", "n != 0", "m >= n + 1", "n == 5"])
def test_comparisons_as_texts(text):
    assert value_of(text, {"n": 5, "m": 7}) is True


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "n.real",
        "(lambda: 1)()",
        "[n]",
        "n if m else 1",
        "max(*n)",
        "'n'",
        "n < m < n",
    ],
)
def test_texts_are_no_code(text):
    with pytest.raises(ValueError, match="no size"):
        value_of(text, {"n": 5, "m": 7})
