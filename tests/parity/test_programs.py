"""Random programs behave here as on PyTorch, step by step. ``python -m tools.campaigns.programs``
runs as many as one likes."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tools.campaigns import programs  # noqa: E402
from tools.campaigns._program_kernels import KERNELS  # noqa: E402
from tools.campaigns._program_steps import FAMILIES, PREAMBLE, SCENERY, Fields, Unfilled, literal  # noqa: E402

pytestmark = pytest.mark.parity

#: How many programs each test runs in all.
EXAMPLES = int(os.environ.get("JTORCH_PROGRAMS", "80"))
#: The tests are split so that processes can share them.
PARTS = 4
MODE = os.environ.get("JTORCH_EXECUTION", "deferred")
EVERYTHING = tuple(f for f in FAMILIES if f not in KERNELS)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _run(seeds: range, layout: bool, times: int, **options) -> None:
    for seed in seeds:
        steps = programs.write(seed, 5 + seed * 7 % 21, templates=12, **options)
        found = programs.difference(steps, [MODE], layout, times=times)
        if found is not None:
            small, found = programs.shorter(steps, found, layout)
            pytest.fail(f"seed {seed}\n{programs.script(small, found)}")


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_of_views_writes_and_gradients(part: int) -> None:
    """Their values, and how they lie in memory."""
    seeds = range(part * 1000, part * 1000 + EXAMPLES // PARTS)
    _run(
        seeds,
        layout=True,
        times=1,
        families=("views", "writes", "values", "gradients"),
        dtypes=("float32",),
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_of_everything(part: int) -> None:
    _run(
        range(10_000 + part * 1000, 10_000 + part * 1000 + EXAMPLES // PARTS // 2),
        layout=False,
        times=2,
        families=EVERYTHING,
    )


def test_programs_of_kernels() -> None:
    """Those that take shapes of their own, with what they are made from."""
    _run(
        range(30_000, 30_000 + EXAMPLES // 10),
        layout=False,
        times=2,
        families=("views", "writes", *KERNELS),
    )


def test_a_wrong_result_is_found_and_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    right = programs.jtorch.Tensor.neg
    monkeypatch.setattr(programs.jtorch.Tensor, "neg", lambda t: right(t) + (t.dim() == 2))
    lines = [
        "t0 = torch.tensor([[1.0, 2.0]], dtype=torch.float64)",
        "t1 = t0 * 2",
        "t2 = t1[0]",
        "t3 = t0.neg()",
        "t4 = t2 + 1",
    ]
    steps = [(line, False) for line in lines]
    found = programs.difference(steps, [MODE], False)
    assert found is not None and found.kind == "values"
    small, found = programs.shorter(steps, found, False)
    assert [line for line, _ in small] == [lines[0], lines[3]]
    assert "t3" in programs.script(small, found)
    compile(programs.script(small, found), "script", "exec")


def test_roundings_that_a_program_magnifies_are_no_difference() -> None:
    lines = [
        "t0 = torch.tensor([0.3, 0.7], dtype=torch.float64)",
        "t1 = t0.sin().exp().tanh()",
        "t2 = (t1 - t1.float().double()) * 1e9",
    ]
    steps = [(line, False) for line in lines]
    theirs = programs.run(torch, steps, False)
    at = programs.Difference(MODE, 2, "values", "t2 ")
    assert not programs._well_determined([*steps[:2], (lines[2], True)], at, False, theirs)
    exact = [*steps[:1], ("t1 = t0 * 2", False), ("t2 = t1 + 1", True)]
    assert programs._well_determined(exact, at, False, programs.run(torch, exact, False))


def test_a_shape_that_follows_from_our_own_numbers_is_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [
        "t0 = torch.tensor([0.5, 0.5], dtype=torch.float64)",
        "t1 = t0.cos()",
        "t2 = t1.unique()",
    ]
    right = programs.jtorch.Tensor.cos
    apart = programs.jtorch.tensor([1.0, 1 + 1e-15], dtype=programs.jtorch.float64)
    monkeypatch.setattr(programs.jtorch.Tensor, "cos", lambda t: right(t) * apart)
    assert programs.difference([(line, False) for line in lines], [MODE], False) is None
    monkeypatch.setattr(programs.jtorch.Tensor, "unique", lambda t: t[:0] * 1)
    found = programs.difference([(line, False) for line in lines], [MODE], False)
    assert found is not None and found.kind == "shape"


def test_what_torch_reaches_by_its_own_rounding_is_no_difference() -> None:
    lines = [
        "t0 = torch.tensor([0.3, 0.5], dtype=torch.float32)",
        "t1 = t0.sin()",
        "t2 = (t1 - t1.clone().double().float()) + t1 * 1e4",
    ]
    steps = [(line, True) for line in lines]
    ours, theirs = programs.run(torch, steps, False), programs.run(torch, steps, False)
    at = programs.Difference(MODE, 2, "values", "t2 ")
    ours.seen[2]["t2"].values[0] *= 1 + 1e-7
    assert programs._moves_as_far(steps, at, ours, theirs)
    ours.seen[2]["t2"].values[0] *= 1.001
    assert not programs._moves_as_far(steps, at, ours, theirs)


def test_exact_numbers_are_not_shaken() -> None:
    env = {
        "t0": torch.tensor([0.75, 0.1, -3.0, float("inf")]),
        "t1": torch.tensor([1, 2]),
        "t2": torch.tensor([0.5 + 0.1j]),
    }
    before = {name: t.clone() for name, t in env.items()}
    programs._shake(env, programs.np.random.default_rng(1))
    moved = {name: (t != before[name]).tolist() for name, t in env.items()}
    assert moved == {"t0": [False, True, False, False], "t1": [False, False], "t2": [True]}


def test_what_follows_from_our_own_numbers_is_no_difference() -> None:
    lines = [
        "t0 = torch.tensor([0.0, 0.5], dtype=torch.float32)",
        "t1 = t0.cos()",
        "t2 = t1.view(torch.int32).clone()",
    ]
    steps = [(line, True) for line in lines]
    ours = programs.run(torch, steps, False)
    ours.seen[1]["t1"].values[0] -= 6e-8
    ours.seen[2]["t2"].values[0] -= 1
    at = programs.Difference(MODE, 2, "values", "t2 ")
    assert programs._follows(steps, at, ours)
    ours.seen[2]["t2"].values[0] -= 1
    assert not programs._follows(steps, at, ours)


def test_every_statement_can_run() -> None:
    """One that PyTorch refuses every time would test nothing."""
    left = {template for family in FAMILIES.values() for template in family}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(40):
            left -= _running(left, random.Random(seed))
    assert not left


def _running(templates: set[str], rng: random.Random) -> set[str]:
    """Those that run on tensors drawn at random."""
    env = {"torch": torch}
    exec(PREAMBLE + SCENERY, env)
    for i in range(10):
        exec(f"t{i} = {literal(rng)}", env)
        if env[f"t{i}"].is_floating_point() and i % 2:
            env[f"t{i}"].requires_grad_().sum().backward()
            env[f"t{i}0"] = env[f"t{i}"] * 1
    exec("backward(t0)", env)  # some use gradients
    found: set[str] = set()
    for template in sorted(templates) * 2:  # some use what others name
        if template in found:
            continue
        try:
            exec(
                template.format_map(
                    Fields(
                        rng, {k: v for k, v in env.items() if k[0] == "t" and k[1:].isdigit()}, "t"
                    )
                ),
                env,
            )
        except (
            Unfilled,
            RuntimeError,
            IndexError,
            TypeError,
            ValueError,
            NotImplementedError,
            AttributeError,
            NameError,
        ):
            continue
        found.add(template)
    return found


def test_the_reasons_are_those_of_the_document() -> None:
    text = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
    assert all(word in text for word in ("contracts", "too small for a full mantissa"))


def test_views_that_must_not_be_asked_are_no_leaves() -> None:
    base = torch.ones(2, requires_grad=True) * 1
    with torch.no_grad():
        view = base[:1]
    base.mul_(2)
    fields = Fields(random.Random(0), {"t0": view}, "t1")
    with pytest.raises(Unfilled):
        fields["l"]
