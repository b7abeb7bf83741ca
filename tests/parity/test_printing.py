"""Printed tensors, character for character, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jtorch._src.facts import dtypes  # noqa: E402
from jtorch._src.tensor import printing  # noqa: E402

pytestmark = pytest.mark.parity

SHAPES = [
    (), (0,), (1,), (3,), (7,), (30,), (2, 3), (0, 3), (2, 0), (3, 1, 4), (2, 2, 2, 2), (5, 40),
    (1001,),
    (40, 30), (8, 9, 20), (1, 1, 1500),
]  # fmt: skip
FLOATS = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
]
INTS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *INTS, "bool", "complex64", "complex128"]
STYLES = ["whole", "normal", "wide", "tiny", "huge", "special"]


def sample(rng, shape, style):
    """Doubles of one style: it decides the notation that torch chooses."""
    x = rng.normal(size=shape)
    if style == "whole":
        return np.round(x * 5)
    if style == "wide":
        return x * 10.0 ** rng.integers(-6, 7, shape)
    if style == "tiny":
        return x * 1e-7
    if style == "huge":
        return np.round(x * 1e4) * (1e5 if rng.random() < 0.5 else 1.0)
    if style == "special":
        odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        return np.where(rng.random(shape) < 0.3, odd, x if rng.random() < 0.5 else np.round(x))
    return x


def make(rng, shape, name, style):
    t = getattr(torch, name)
    x = np.asarray(sample(rng, shape, style))
    if name == "bool":
        return torch.from_numpy(np.asarray(x > 0))
    if t.is_complex:
        return torch.complex(
            *(
                torch.from_numpy(np.asarray(part))
                for part in (x, sample(rng, shape, rng.choice(STYLES)))
            )
        ).to(t)
    if not t.is_floating_point:
        with np.errstate(all="ignore"):
            return torch.from_numpy(
                np.asarray(np.nan_to_num(x * 100.0, posinf=7, neginf=7), np.int64)
            ).to(t)
    return torch.from_numpy(np.asarray(x)).to(t)


def array_of(t):
    d = dtypes.BY_NAME[str(t.dtype).removeprefix("torch.")]
    if t.dtype.is_floating_point and t.dtype not in (torch.float16, torch.float32, torch.float64):
        with np.errstate(invalid="ignore"):
            return t.float().numpy().astype(d.np), d
    return t.numpy(), d


def ours(t, **options):
    array, d = array_of(t.detach())
    return printing.describe(array, t.shape, d, **options)


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_shapes_and_styles(name):
    rng = np.random.default_rng(DTYPES.index(name))
    for shape in SHAPES:
        for style in STYLES:
            t = make(rng, shape, name, style)
            assert ours(t) == repr(t), (shape, style)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2}, {"precision": 8}, {"precision": 0}, {"threshold": 5},
        {"threshold": 5, "edgeitems": 1}, {"edgeitems": 2, "linewidth": 30},
        {"threshold": 3, "edgeitems": 0},
        {"edgeitems": 0}, {"linewidth": 10}, {"linewidth": 200}, {"profile": "short"},
        {"profile": "full"}, {"sci_mode": True}, {"sci_mode": False},
        {"profile": "short", "precision": 6, "sci_mode": True},
    ],
)  # fmt: skip
def test_options(options):
    rng = np.random.default_rng(3)
    torch.set_printoptions(**options)
    try:
        with printing.printoptions(**options):
            assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
            for name in ("float32", "int64", "complex64", "bool"):
                for shape in SHAPES:
                    for style in STYLES:
                        t = make(rng, shape, name, style)
                        assert ours(t) == repr(t), (name, shape, style)
    finally:
        torch.set_printoptions(profile="default", sci_mode=None)


def test_random_arrays():
    rng = np.random.default_rng(7)
    for _ in range(1500):
        shape = tuple(rng.integers(0, 6, rng.integers(0, 5)))
        t = make(rng, shape, rng.choice(DTYPES), rng.choice(STYLES))
        assert ours(t) == repr(t)


@pytest.mark.parametrize("columns", [3, 8, 9, 10, 11, 12])
def test_suffixes_and_breaking_of_lines(columns):
    t = torch.arange(float(columns)).reshape(1, columns) * 1.37
    leaf = t.clone().requires_grad_()
    assert ours(leaf, requires_grad=True) == repr(leaf)
    made = leaf * 2
    assert ours(made, grad_fn="MulBackward0") == repr(made)
    assert ours(t.half()) == repr(t.half())
    made = (leaf.double() * 2).expand(2, columns)
    assert ours(made, grad_fn="ExpandBackward0") == repr(made)


def test_meta():
    for shape, options in (
        ((2, 3), {}),
        ((0,), {"dtype": torch.int64}),
        ((), {"requires_grad": True}),
    ):
        t = torch.empty(shape, device="meta", **options)
        d = dtypes.BY_NAME[str(t.dtype).removeprefix("torch.")]
        assert printing.describe(
            None, t.shape, d, device="meta", requires_grad=t.requires_grad
        ) == repr(t)


def test_subclass_and_contents():
    class Named(torch.Tensor):
        pass

    t = torch.arange(20).reshape(2, 10).as_subclass(Named)
    assert ours(t.as_subclass(torch.Tensor), name="Named") == repr(t)
    assert ours(torch.ones(2), contents="<3>") == torch.ones(2).__repr__(tensor_contents="<3>")


def test_default_dtype(monkeypatch):
    torch.set_default_dtype(torch.float64)
    monkeypatch.setattr(dtypes, "_default", dtypes.float64)
    try:
        for name in ("float32", "float64", "complex64", "complex128"):
            t = torch.ones(2).to(getattr(torch, name))
            assert ours(t) == repr(t)
    finally:
        torch.set_default_dtype(torch.float32)
