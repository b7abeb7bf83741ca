"""Compiled functions do what the functions do: numbers, state, histories, aliases, random streams,
guards and fallbacks."""

# ruff: noqa: PLW0108, PT031  (what is compiled is written out)

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F


def programs(fn: Any) -> Any:
    return fn.compiled


def assert_close(a: Any, b: Any) -> None:
    if isinstance(a, torch.Tensor):
        assert isinstance(b, torch.Tensor)
        assert (a.dtype, a.shape, a.requires_grad, a.stride()) == (
            b.dtype,
            b.shape,
            b.requires_grad,
            b.stride(),
        )
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_close(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            assert_close(a[k], b[k])
    else:
        assert a == b


def both(
    make: Callable[[Callable[[Any], Any]], Callable[[int], Any]],
    calls: int = 5,
    replays: int | None = 2,
    **options: Any,
) -> Any:
    """Runs what ``make`` builds, as written and compiled, and compares what each call returns."""
    results, made = [], []

    def compiling(fn: Any) -> Any:
        made.append(torch.compile(fn, **options))
        return made[-1]

    for compile_ in (lambda f: f, compiling):
        torch.manual_seed(0)
        run = make(compile_)
        results.append(
            [
                copy.deepcopy(
                    [t.detach() if isinstance(t, torch.Tensor) else t for t in _flat(run(i))]
                )
                for i in range(calls)
            ]
        )
    assert_close(results[1], results[0])
    if replays is not None:
        assert not programs(made[0]).abandoned, programs(made[0]).reason
        assert programs(made[0]).replays >= replays, programs(made[0]).failures
    return made[0]


def _flat(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in _flat(y)]
    if isinstance(x, dict):
        return _flat(list(x.values()))
    return [x]


def model() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"])
def test_whole_training_step(name: str) -> None:
    def make(compile_: Any) -> Any:
        m = model()
        opt = getattr(torch.optim, name)(
            m.parameters(), lr=0.05, **({"momentum": 0.9} if name == "SGD" else {})
        )

        def step(x: Any, y: Any) -> Any:
            opt.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            opt.step()
            return loss

        step = compile_(step)

        def run(i: int) -> Any:
            loss = step(torch.full((2, 4), i / 7), torch.tensor([0, i % 3]))
            return [
                loss,
                *m.parameters(),
                *[p.grad for p in m.parameters()],
                *[v for s in opt.state.values() for v in s.values()],
            ]

        return run

    both(make, calls=6, replays=3)


def test_loss_of_a_compiled_step_has_a_freed_graph() -> None:
    m = model()

    @torch.compile
    def step(x: Any) -> Any:
        loss = m(x).sum()
        loss.backward()
        return loss

    for _ in range(4):
        loss = step(torch.ones(2, 4))
        assert loss.requires_grad
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    assert programs(step).replays


def test_compiled_module_with_backward_outside() -> None:
    def make(compile_: Any) -> Any:
        m = model()
        forward = compile_(lambda x: m(x).tanh())
        opt = torch.optim.SGD(m.parameters(), lr=0.1)

        def run(i: int) -> Any:
            x = torch.full((2, 4), i / 7, requires_grad=True)
            y = forward(x)
            opt.zero_grad()
            (y * y).sum().backward()
            grads = [p.grad.clone() for p in m.parameters()]
            opt.step()
            return [y, x.grad, *grads]

        return run

    both(make, calls=6)


def test_gradient_flows_through_to_earlier_history_and_twice() -> None:
    def make(compile_: Any) -> Any:
        f = compile_(lambda x, w: (x * w).sin())
        w = torch.tensor([2.0, 3.0], requires_grad=True)

        def run(i: int) -> Any:
            x = torch.tensor([0.5, 0.25 * i], requires_grad=True)
            y = f(x.exp(), w).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            (h,) = torch.autograd.grad(g.sum(), x)
            w.grad = None
            f(x.exp(), w).sum().backward()
            return [y, g, h, w.grad]

        return run

    both(make, calls=5, replays=5)


def test_dropout_continues_the_stream() -> None:
    def make(compile_: Any) -> Any:
        drop = nn.Dropout(0.4)
        f = compile_(lambda x: drop(x) + torch.rand(3) + torch.randn(2, 3))
        return lambda i: [f(torch.ones(2, 3)), torch.rand(2)]

    both(make)


def test_several_results_and_unused_gradients() -> None:
    def make(compile_: Any) -> Any:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        f = compile_(lambda x: {"a": x * w, "b": (x + w).exp(), "n": 3, "same": x})

        def run(i: int) -> Any:
            x = torch.tensor([1.0, float(i)])
            out = f(x)
            assert out["same"] is x
            w.grad = None
            out["b"].sum().backward()
            return [out, w.grad]

        return run

    both(make)


def test_state_found_and_written_back() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.hidden = torch.zeros(3)
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x: Any) -> Any:
            self.total += x.sum(0)
            self.hidden = torch.tanh(self.hidden + x.mean(0)).detach()
            return self.norm(x) + self.hidden

    def make(compile_: Any) -> Any:
        m = Counter()
        f = compile_(m.forward)

        def run(i: int) -> Any:
            y = f(torch.arange(6.0).reshape(2, 3) * (i + 1))
            return [y, m.total, m.hidden, m.norm.running_mean, m.norm.num_batches_tracked]

        return run

    both(make)


def test_in_place_writes_on_arguments_and_views() -> None:
    def make(compile_: Any) -> Any:
        def fn(x: Any, y: Any) -> Any:
            x.add_(1)
            y[0] = x[1]
            x.view(-1)[2:4].mul_(3)
            return y[1:], x

        f = compile_(fn)
        kept = torch.arange(6.0).reshape(2, 3)

        def run(i: int) -> Any:
            y = torch.full((2, 3), float(i))
            before = (kept._version, y._version)
            tail, same = f(kept, y)
            assert same is kept
            tail += 100
            return [kept, y, tail, kept._version - before[0], y._version - before[1]]

        return run

    both(make)


def test_results_that_alias_arguments() -> None:
    def make(compile_: Any) -> Any:
        f = compile_(lambda x: (x.t(), x.detach(), x * 2))

        def run(i: int) -> Any:
            x = torch.full((2, 3), float(i))
            t, d, _ = f(x)
            t[0, 0] = 7
            d[1, 1] = 9
            return [x, t, d]

        return run

    both(make)


def test_views_among_arguments() -> None:
    def make(compile_: Any) -> Any:
        def fn(a: Any, b: Any) -> Any:
            a.mul_(2)
            return a + b

        f = compile_(fn)

        def run(i: int) -> Any:
            base = torch.arange(8.0) + i
            return [f(base[:4], base[2:6]), base]

        return run

    both(make)


def test_numpy_memory_is_read_anew() -> None:
    memory = np.zeros(3, np.float32)
    shared = torch.from_numpy(memory)
    f = torch.compile(lambda x: x * 2 + shared)
    for i in range(5):
        memory[:] = i
        assert f(shared).tolist() == [3.0 * i] * 3


def test_gradients_accumulate() -> None:
    def make(compile_: Any) -> Any:
        m = model()

        def accumulate(x: Any) -> Any:
            m(x).sum().backward()

        f = compile_(accumulate)

        def run(i: int) -> Any:
            if i == 4:
                m.zero_grad()
            f(torch.full((2, 4), float(i)))
            return [p.grad for p in m.parameters()]

        return run

    both(make, calls=8)


def test_hooks_run() -> None:
    def make(compile_: Any) -> Any:
        m = model()
        m[0].register_forward_hook(lambda mod, args, out: out * 2)
        m[2].weight.register_hook(lambda g: g * 3)
        f = compile_(lambda x: m(x))

        def run(i: int) -> Any:
            m.zero_grad()
            y = f(torch.full((2, 4), i / 5))
            y.sum().backward()
            return [y, *[p.grad for p in m.parameters()]]

        return run

    both(make)


def test_guards() -> None:
    class Config:
        scale = 2.0

    config = Config()
    options = {"shift": 1, "list": [1, 2]}
    drop = nn.Dropout(0.5)

    @torch.compile
    def f(x: Any, k: Any = 1) -> Any:
        return drop(x * config.scale + options["shift"] + sum(options["list"]) + k)

    def expected(x: Any, k: int) -> list[float]:
        return (x * config.scale + options["shift"] + sum(options["list"]) + k).tolist()

    drop.eval()
    for change in (
        lambda: None,
        lambda: setattr(config, "scale", 3.0),
        lambda: options.update(shift=5),
        lambda: options["list"].append(4),
        lambda: setattr(Config, "other", 3),
    ):
        change()
        for k in (1, 1, 1, 2, 2):
            for x in (torch.ones(3), torch.ones(2, dtype=torch.float64)):
                assert f(x, k).tolist() == expected(x, k)
    assert programs(f).replays > 10
    drop.train()
    torch.manual_seed(0)
    first = f(torch.ones(50), 1)
    assert 0 < (first == 0).sum().item() < 50


def test_learning_rates_are_inputs() -> None:
    def make(compile_: Any) -> Any:
        m = model()
        opt = torch.optim.AdamW(m.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)

        def step(x: Any) -> None:
            opt.zero_grad()
            m(x).pow(2).sum().backward()
            opt.step()

        f = compile_(step)

        def run(i: int) -> Any:
            f(torch.full((2, 4), i / 9))
            schedule.step()
            return list(m.parameters())

        return run

    f = both(make, calls=12, replays=6)
    assert programs(f).captures <= 5


def test_optimiser_state_loaded_in_between() -> None:
    def make(compile_: Any) -> Any:
        m = model()
        opt = torch.optim.Adam(m.parameters(), lr=0.1)

        def step(x: Any) -> None:
            opt.zero_grad()
            m(x).pow(2).sum().backward()
            opt.step()

        f = compile_(step)
        saved: list[Any] = []

        def run(i: int) -> Any:
            if i == 3:
                saved.append((copy.deepcopy(m.state_dict()), copy.deepcopy(opt.state_dict())))
            if i == 6:
                m.load_state_dict(saved[0][0])
                opt.load_state_dict(saved[0][1])
            f(torch.full((2, 4), i / 9))
            return list(m.parameters())

        return run

    both(make, calls=10)


def test_grad_modes_are_guarded() -> None:
    w = torch.ones(2, requires_grad=True)
    f = torch.compile(lambda x: x * w)
    for _ in range(3):
        assert f(torch.ones(2)).requires_grad
        with torch.no_grad():
            assert not f(torch.ones(2)).requires_grad
        with torch.inference_mode():
            assert f(torch.ones(2)).tolist() == [1, 1]


def test_values_that_decide_fall_back_with_one_warning() -> None:
    @torch.compile
    def f(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    with pytest.warns(UserWarning, match="reads a value at .*test_compiler"):
        assert f(torch.ones(2)).tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(-torch.ones(2)).tolist() == [-2, -2]


def test_fullgraph_raises() -> None:
    f = torch.compile(lambda x: x if x.sum() > 0 else -x, fullgraph=True)
    with pytest.raises(RuntimeError, match="fullgraph=True"):
        f(torch.ones(2))


def test_what_cannot_be_repeated_is_not() -> None:
    seen: list[Any] = []

    def counts(x: Any) -> Any:
        seen.append(len(seen))
        return x + len(seen)

    f = torch.compile(counts)
    with pytest.warns(UserWarning, match="changes Python objects"):
        assert [f(torch.zeros(1)).item() for _ in range(9)] == [float(i + 1) for i in range(9)]

    g = torch.compile(lambda x: x + random.random())
    with pytest.warns(UserWarning, match=r"random\(\)"):
        assert len({g(torch.zeros(1)).item() for _ in range(5)}) == 5

    numbers = iter(range(9))
    h = torch.compile(lambda x: x + next(numbers))
    with pytest.warns(UserWarning, match="iterator"):
        assert [h(torch.zeros(1)).item() for _ in range(5)] == [0, 1, 2, 3, 4]

    step = 0

    @torch.compile
    def k(x: Any) -> Any:
        nonlocal step
        step += 1
        return x + step

    with pytest.warns(UserWarning, match="changes Python objects"):
        assert [k(torch.zeros(1)).item() for _ in range(9)] == [float(i + 1) for i in range(9)]


def test_printing_goes_on(capsys: Any) -> None:
    def talks(x: Any) -> Any:
        print("called")  # noqa: T201
        return x * 2

    f = torch.compile(talks)
    with pytest.warns(UserWarning, match=r"print\(\)"):
        for _ in range(4):
            f(torch.ones(1))
    assert capsys.readouterr().out == "called\n" * 4


def test_errors_pass_through() -> None:
    @torch.compile
    def f(x: Any) -> Any:
        if x.shape[0] == 3:
            raise KeyError("three")
        return x + 1

    for _ in range(3):
        assert f(torch.ones(2)).tolist() == [2, 2]
        with pytest.raises(KeyError, match="three"):
            f(torch.ones(3))


def test_checks_on_values_are_kept() -> None:
    table = nn.Embedding(4, 2)
    f = torch.compile(lambda i: table(i))
    for _ in range(3):
        f(torch.tensor([1, 2]))
    with pytest.raises(IndexError, match="out of range"):
        f(torch.tensor([7])).sum().item()
    with pytest.raises(IndexError, match="out of range"):
        f(torch.tensor([1, 7])).sum().item()


def test_module() -> None:
    m = model()
    c = torch.compile(m)
    assert list(c.state_dict()) == [f"_orig_mod.{k}" for k in m.state_dict()]
    assert c._orig_mod is m
    assert repr(c).startswith("OptimizedModule(\n  (_orig_mod): Sequential(")
    assert isinstance(c, nn.Module)
    likewise = c.dynamo_ctx(m.forward)  # how programs compile the methods of a module
    torch.testing.assert_close(likewise(torch.ones(2, 4)), m(torch.ones(2, 4)))
    assert likewise._torchdynamo_orig_callable == m.forward
    c.eval()
    assert not m.training
    c.note = 3
    assert m.note == 3
    assert [p is q for p, q in zip(c.parameters(), m.parameters(), strict=True)] == [True] * 4
    x = torch.ones(2, 4)
    for _ in range(4):
        assert_close(c(x), m(x))
    assert programs(c.forward).replays == 3
    again = copy.deepcopy(c)
    assert_close(again(x), m(x))
    m.compile()
    for _ in range(3):
        assert_close(m(x), m.forward(x))


def test_autocast_inside_and_outside() -> None:
    m = nn.Linear(4, 4)

    def inside(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return m(x)

    f, g = torch.compile(inside), torch.compile(lambda x: m(x))
    x = torch.ones(2, 4)
    for _ in range(4):
        assert f(x).dtype is torch.bfloat16
        assert g(x).dtype is torch.float32
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert g(x).dtype is torch.bfloat16


def test_nested_and_disabled() -> None:
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + 1)
    for _ in range(4):
        assert outer(torch.ones(2)).tolist() == [3, 3]
    assert programs(outer).replays == 2

    @torch.compiler.disable
    def plain(x: Any) -> Any:
        assert not torch.compiler.is_compiling() or True
        return x * 3

    f = torch.compile(lambda x: plain(x) + 1)
    with pytest.warns(UserWarning, match="plain, which is disabled"):
        assert f(torch.ones(1)).item() == 4


def test_is_compiling_and_stances() -> None:
    seen: list[bool] = []
    f = torch.compile(lambda x: x * (2 if torch.compiler.is_compiling() else 3))
    assert f(torch.ones(1)).item() == 2
    with torch.compiler.set_stance("force_eager"):
        assert f(torch.ones(1)).item() == 3
    with (
        torch.compiler.set_stance("fail_on_recompile"),
        pytest.raises(RuntimeError, match="fail_on_recompile"),
    ):
        f(torch.ones(2))
    # what was met before is none, however often the function had to be looked at
    with torch.compiler.set_stance("fail_on_recompile"):
        assert f(torch.ones(1)).item() == 2
    assert not torch.compiler.is_compiling()
    assert seen == []


def test_arguments_of_compile() -> None:
    def f(x: Any) -> Any:
        return x

    with pytest.raises(RuntimeError, match="Unrecognized mode=zz"):
        torch.compile(f, mode="zz")
    with pytest.raises(RuntimeError, match="Unexpected optimization option zz"):
        torch.compile(f, options={"zz": 1})
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(f, mode="default", options={"max_autotune": True})
    with pytest.raises(RuntimeError, match="Invalid backend: 'zz'"):
        torch.compile(f, backend="zz")
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)
    assert torch.compile(f, disable=True) is f
    assert torch.compile(mode="reduce-overhead", dynamic=True)(f).__name__ == "f"
    assert torch.compile(f, backend="eager")(3) == 3


def test_retain_graph_and_saved_tensors_survive() -> None:
    def make(compile_: Any) -> Any:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        f = compile_(lambda x: (x * w).exp())

        def run(i: int) -> Any:
            y = f(torch.tensor([0.1 * i, 0.2]))
            w.grad = None
            y.sum().backward(retain_graph=True)
            y.sum().backward()
            return [w.grad]

        return run

    both(make)


def test_reset() -> None:
    f = torch.compile(lambda x: x + 1)
    for _ in range(3):
        f(torch.ones(1))
    torch.compiler.reset()
    assert not programs(f).entries
    assert f(torch.ones(1)).item() == 2


def test_failures_leave_recording_as_it_was() -> None:
    @torch.compile
    def f(x: Any) -> Any:
        y = x + 1
        raise ValueError(str(y.shape))

    for _ in range(2):
        with pytest.raises(ValueError, match="2"):
            f(torch.ones(2))
        assert (torch.ones(3) * 2).tolist() == [2, 2, 2]
    assert torch._engine.LOCAL.trace is None or torch._engine.LOCAL.trace.limit < 1 << 30
    assert not torch._engine.HOLDING.stack


def test_global_hooks_are_guarded() -> None:
    m = nn.Linear(2, 2)
    f = torch.compile(lambda x: m(x))
    plain, *_ = [f(torch.ones(1, 2)) for _ in range(3)]
    handle = nn.modules.module.register_module_forward_hook(lambda mod, args, out: out + 1)
    try:
        assert_close(f(torch.ones(1, 2)).detach(), (plain + 1).detach())
    finally:
        handle.remove()
    assert_close(f(torch.ones(1, 2)), plain)


def test_callbacks_of_the_collector_are_not_the_functions() -> None:
    import gc
    import time

    def callback(phase: str, info: Any) -> None:
        time.perf_counter()

    def f(x: Any) -> Any:
        for _ in range(2000):
            cycle: list[Any] = []
            cycle.append(cycle)
        return x + 1

    gc.callbacks.append(callback)
    try:
        compiled = torch.compile(f)
        for _ in range(3):
            assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    finally:
        gc.callbacks.remove(callback)
