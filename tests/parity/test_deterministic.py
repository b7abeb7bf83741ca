"""What programs see when they ask for deterministic algorithms: memory that nobody wrote is filled,
and some functions refuse or warn."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

DTYPES = (
    "float32 float64 float16 bfloat16 float8_e5m2 float8_e4m3fn int8 uint8 int16 int32 int64 "
    "uint16 uint32 uint64 bool complex64"
)
UNWRITTEN = [
    *[f"t.empty(2, dtype=t.{dtype})" for dtype in DTYPES.split()],
    "t.empty((1, 2, 1, 2), memory_format=t.channels_last)",
    "t.empty(2, requires_grad=True)",
    "t.empty(3, out=t.zeros(3))",
    "t.empty_like(t.ones(2, 3).t())",
    "t.empty_like(t.ones(2), dtype=t.int16)",
    "t.empty_strided((2, 2), (1, 2))",
    "t.empty_permuted((2, 3), (1, 0))",
    "t.ones(2).new_empty(2)",
    "t.ones(2).new_empty((2,), dtype=t.int32)",
    "t.ones(2).new_empty_strided((2, 2), (1, 2))",
    "t.ones(2).new(2)",
    "t.Tensor(2)",
    "t.LongTensor(2)",
    "t.ops.aten.empty.memory_format([2])",
    "t.vmap(t.empty_like)(t.ones(2, 3))",
    "t.vmap(lambda x: x.new_empty(2))(t.ones(2, 3))",
    "t.nn.Linear(1, 2).to_empty(device='cpu').weight",
    "t.nn.utils.skip_init(t.nn.Linear, 1, 2).bias",
    "t.empty(2, device='meta')",
    # resizing
    "t.arange(4.0).resize_(6)",
    "t.arange(6.0).resize_(2).resize_(5)",
    "t.arange(4).resize_(2, 4)",
    "t.arange(4.0)[2:].resize_(4)",
    "t.arange(4.0).resize_as_(t.ones(3, 3))",
    "t.tensor([]).resize_(3)",
    "t.arange(4.0).resize_((1, 2, 2, 2), memory_format=t.channels_last)",
    (
        "t.empty(0, dtype=t.int32).set_(t.zeros(7, dtype=t.uint8).untyped_storage(), 0, "
        "(1,)).resize_(3)"
    ),
    "t.zeros(1).resize_(3)._version",
    # what is written by others
    "t.zeros(2) + t.eye(2)",
    "t.add(t.ones(2), 1, out=t.empty(0))",
    "t.empty(0).set_(t.zeros(4).untyped_storage(), 0, (2,))",
    "t.nn.BatchNorm1d(2).running_mean",
]
REFUSED = [
    "t.zeros(3).put_(t.tensor([0, 1]), t.ones(2))",
    "t.zeros(3).put(t.tensor([0, 1]), t.ones(2))",
    "t.quantize_per_tensor(t.ones(3), 0.1, 10, t.qint8).resize_(2)",
    "t.zeros(3).put_(t.tensor([0, 1]), t.ones(2), accumulate=True)",
    "t.zeros(3).put_(t.tensor([0.0, 1]), t.ones(2))",
    "t.zeros(3).put_(t.tensor([0, 1, 2]), t.ones(2))",
    (
        "t.zeros(3, device='meta').put(t.ones(2, dtype=t.long, device='meta'), t.ones(2, "
        "device='meta')).shape"
    ),
    *[
        f"t.nn.functional.max_unpool{n}d({', '.join(operands)}, 2{size})"
        for n, x in ((1, "t.ones(1, 1, 2)"), (2, "t.ones(1, 1, 2, 1)"), (3, "t.ones(1, 2, 1, 1)"))
        for operands, size in (
            ((x, f"t.zeros_like({x}, dtype=t.long)"), ""),
            ((x, f"t.zeros_like({x}, dtype=t.int32)"), ""),
            ((x, f"t.zeros_like({x}, dtype=t.long)"), f", output_size={(9,) * n}"),
            ((f"{x}[:0]", f"t.zeros_like({x}[:0], dtype=t.long)"), ""),
        )
    ],
    "t.nn.MaxUnpool1d(2)(t.ones(1, 1), t.ones(1, 1, dtype=t.long))",
]


@pytest.fixture(autouse=True)
def _asked() -> Iterator[None]:
    for module in (torch, jtorch):
        module.use_deterministic_algorithms(True)
    yield
    for module in (torch, jtorch):
        module.use_deterministic_algorithms(False)


def _said(module: Any, case: str) -> str:
    """What a call gives, or refuses, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = eval(case, {"t": module})
            given = f"{found} {found.stride() if hasattr(found, 'stride') else ''}"
        except Exception as error:
            given = f"{type(error).__name__}: {error}"
    words = [
        str(w.message).partition(" (Triggered")[0] for w in caught if "determinis" in str(w.message)
    ]
    return given + "".join(f"\nwarns: {w}" for w in words)


@pytest.mark.parametrize("case", UNWRITTEN)
def test_memory_that_nobody_wrote_is_filled(case):
    assert _said(jtorch, case) == _said(torch, case)


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("warn_only", [False, True])
def test_functions_that_are_not_deterministic_in_pytorch_say_so(case, warn_only):
    for module in (torch, jtorch):
        module.use_deterministic_algorithms(True, warn_only=warn_only)
    assert _said(jtorch, case) == _said(torch, case)


@pytest.mark.parametrize("case", UNWRITTEN[:1] + REFUSED[:1])
def test_nothing_is_said_where_it_was_not_asked_for(case):
    for module in (torch, jtorch):
        module.use_deterministic_algorithms(False)
    assert "determinis" not in _said(jtorch, case)
    assert "nan" not in _said(jtorch, case)


def test_memory_may_be_left_as_it_is():
    for module in (torch, jtorch):
        settings = importlib.import_module(f"{module.__name__}.utils.deterministic")
        assert settings.fill_uninitialized_memory is True
        with pytest.raises(RuntimeError, match="expected a bool, but got int"):
            settings.fill_uninitialized_memory = 1
        settings.fill_uninitialized_memory = False
        try:
            assert module._C._get_deterministic_fill_uninitialized_memory() is False
            if module is jtorch:
                assert module.empty(2).tolist() == [0, 0]
        finally:
            settings.fill_uninitialized_memory = True
        assert module.empty(1).isnan().all()


def test_programs_are_made_anew():
    @jtorch.compile
    def like(x):
        return jtorch.empty_like(x)

    x = jtorch.ones(2)
    assert [like(x).isnan().all().item() for _ in range(2)] == [True, True]
    jtorch.use_deterministic_algorithms(False)
    assert like(x).tolist() == [0, 0]


def test_dispatch_modes_see_the_operator_alone():
    def seen(module: Any) -> tuple[list[str], Any]:
        names = []

        class Shown(
            importlib.import_module(f"{module.__name__}.utils._python_dispatch").TorchDispatchMode
        ):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                names.append(str(func))
                return func(*args, **(kwargs or {}))

        with Shown():
            made = module.empty(2), module.zeros(2).new_empty(2), module.zeros(1).resize_(2)
        return names, [x.tolist()[-1] != x.tolist()[-1] for x in made]

    assert seen(jtorch) == seen(torch)
