"""Programs that write part after part into tensors, beside PyTorch: who else looks at the memory,
and who only did before."""

from __future__ import annotations

import importlib
import random
from typing import Any

import numpy as np
import pytest

import jtorch

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Tensor.mT is deprecated")]
torch = pytest.importorskip("torch")

OTHERS = [
    "view",
    "look",
    "keep",
    "own",
    "item",
    "list",
    "detach",
    "data",
    "numpy",
    "add",
    "swap",
    "flat",
    "parts",
]
DTYPES = ("float32", "float64", "int64", "uint8", "bool")


def _index(draw: random.Random, shape: tuple[int, ...]) -> Any:
    def one(n: int) -> Any:
        kind = draw.randrange(4)
        if kind < 2 and n:
            return draw.randrange(-n, n)
        return slice(
            draw.choice([None, 0, 1, -2]),
            draw.choice([None, 2, n, n + 3]),
            draw.choice([None, 1, 2]),
        )

    if shape and draw.random() < 0.3:
        return one(shape[0])
    return tuple([one(n) for n in shape[: draw.randint(0, len(shape))]])


def _program(seed: int) -> list[tuple[Any, ...]]:
    """Steps as data, so that both sides take the same."""
    draw = random.Random(seed)
    steps: list[tuple[Any, ...]] = []
    for _ in range(60):
        kind = draw.choice(["number"] * 6 + ["row"] * 3 + ["computed"] * 3 + OTHERS)
        steps.append((kind, draw.randrange(1 << 30), draw.random()))
    return steps


def _run(lib: Any, steps: list[tuple[Any, ...]], dtype: str) -> list[Any]:
    pool: list[Any] = [
        lib.arange(24).reshape(4, 6).to(getattr(lib, dtype)).clone(),
        lib.zeros(5, 3, dtype=getattr(lib, dtype)),
    ]
    seen: list[Any] = []
    kept: list[Any] = []
    for kind, seed, chance in steps:
        draw = random.Random(seed)
        at = draw.randrange(len(pool))
        t = pool[at]
        try:
            if kind == "number":
                t[_index(draw, t.shape)] = draw.choice([True, 7, 3, 0.5, -1, 200, float("inf")])
            elif kind == "row":
                index = _index(draw, t.shape)
                source = pool[draw.randrange(len(pool))][_index(draw, (2, 2))].clone()
                t[index] = source if chance < 0.6 else t[index].flip(0)
            elif kind == "computed":
                index, other = _index(draw, t.shape), pool[draw.randrange(len(pool))]
                value = other[_index(draw, other.shape)] * 2 + t[index]
                if chance < 0.5:
                    t[index] = value
                elif chance < 0.75:
                    t[index] += value
                else:
                    t[index].copy_(value).add_(1)
            elif kind == "parts":
                pool += (
                    t.chunk(2)
                    if chance < 0.4
                    else t.split(1, -1)[:2]
                    if chance < 0.7
                    else t.unbind()[-2:]
                )
            elif kind == "view":
                pool.append(t[_index(draw, t.shape)])
            elif kind == "look":
                pool.append((t.mT, t.unsqueeze(0), t[:, None], t.flatten())[draw.randrange(4)])
            elif kind == "flat":
                pool.append(t.reshape(-1))
            elif kind == "keep":
                kept.append((t.clone(), t * 1, t.sum(0)))
            elif kind == "own":
                pool[at] = t.clone() if chance < 0.5 else t + 0
            elif kind == "item":
                seen.append(t[tuple([draw.randrange(n or 1) for n in t.shape])].item())
            elif kind == "list":
                seen.append(t.tolist())
            elif kind == "detach":
                pool.append(t.detach())
            elif kind == "data":
                pool.append(t.data)
            elif kind == "numpy":
                kept.append(
                    lib.from_numpy(t.numpy())
                    if chance < 0.3
                    else lib.from_numpy(np.array(t.numpy()))
                )
            elif kind == "add":
                t[_index(draw, t.shape)] += 1
            else:
                t[0], t[-1] = t[-1].clone(), t[0].clone()
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            seen.append((kind, type(error).__name__))
    seen += [t.tolist() for t in pool]
    seen += [p.tolist() for k in kept for p in (k if type(k) is tuple else (k,))]
    seen += [(t._version, tuple(t.shape), t.storage_offset()) for t in pool]
    return seen


@pytest.mark.parametrize("part", range(8))
def test_programs_of_writes(part: int) -> None:
    for seed in range(part * 40, part * 40 + 40):
        steps, dtype = _program(seed), DTYPES[seed % len(DTYPES)]
        assert repr(_run(jtorch, steps, dtype)) == repr(_run(torch, steps, dtype)), (seed, dtype)


def test_backward_refuses_what_was_overwritten() -> None:
    def run(lib: Any) -> str:
        w = lib.ones(3, requires_grad=True)
        x = lib.zeros(4, 3)
        for i in range(4):
            x[i] = lib.arange(3.0) + i
        x.tolist()
        y = (w * x[1]).sum()
        x[1, 0] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            y.backward()
        return str(caught.value)

    assert "version 5; expected version 4" in run(torch)
    assert "version 5; expected version 4" in run(jtorch)


@pytest.mark.parametrize("strides", [(2, 2), (1, 2), (1, 1), (2, 1), (3, 1), (1, 3), (1, 4)])
def test_views_of_which_several_indices_mean_one_place(strides: tuple[int, int]) -> None:
    def run(lib: Any, write: Any) -> list[Any]:
        lib.manual_seed(3)
        base = lib.arange(20.0) + 0.5
        view = lib.as_strided(base, (3, 2), strides, 1)
        write(lib, view)
        seen = base.tolist() if strides[0] == 2 else None  # read before the view, and after it
        return [view.tolist(), base.tolist(), seen or base.tolist(), (view * 2).tolist()]

    writes = [
        lambda lib, x: x.copy_(lib.arange(6.0).reshape(3, 2)),
        lambda lib, x: x.fill_(3.0),
        lambda lib, x: x[1:].copy_(lib.arange(4.0).reshape(2, 2)),
        lambda lib, x: x.uniform_(),
        lambda lib, x: x.random_(10),
        lambda lib, x: x.normal_(),
        lambda lib, x: lib.mul(lib.arange(6.0).reshape(3, 2), 3, out=x),
    ]
    for write in writes:
        assert run(jtorch, write) == run(torch, write)


def test_windows_that_overlap_are_written() -> None:
    for lib in (torch, jtorch):
        x = lib.arange(8.0)
        x.unfold(0, 3, 2).copy_(lib.arange(9.0).reshape(3, 3))
        assert x.tolist() == [0, 1, 3, 4, 6, 7, 8, 7]


def test_places_that_coincide_without_data_and_in_transformations() -> None:
    def run(lib: Any) -> list[Any]:
        # 2^40 places are not to be looked at
        huge = lib.empty_strided((1 << 20, 1 << 20), (1, 1), device="meta").mul_(2)
        with importlib.import_module(f"{lib.__name__}._subclasses.fake_tensor").FakeTensorMode():
            fake = lib.empty_strided((1 << 15, 1 << 15), (1, 1)).mul_(2)

        def windows(x: Any) -> Any:
            y = x.clone()
            y.unfold(0, 3, 2).copy_(x[:3].expand(3, 3) * x[0])
            return (y * lib.arange(7.0)).sum()

        mapped = lib.func.vmap(
            lambda x: x.clone().unfold(0, 3, 2).copy_(lib.arange(9.0).reshape(3, 3))
        )(lib.ones(2, 7))
        return [
            tuple(huge.shape),
            tuple(fake.shape),
            mapped.tolist(),
            lib.func.jvp(windows, (lib.arange(7.0) + 1,), (lib.ones(7),))[0].item(),
        ]

    assert run(jtorch) == run(torch)
